/* The stripes of a table, and the gate held alone; see counts.h. */
#include "tables/counts.h"

uint64_t bh__enter_alone(bh_table *table)
{
    const bh_system *system = &table->backend->system;

    bh__gate_enter_alone(&table->gate, system);
    bh__stripes_collect(table);
    /* Policies take room and enter what was done as slices do. There they see no other counts than the table's. */
    table->stripes = NULL;
    return system->clock_nanoseconds(system->state);
}

void bh__leave_alone(bh_table *table, uint64_t since)
{
    const bh_system *system = &table->backend->system;
    const uint64_t held = system->clock_nanoseconds(system->state) - since;
    const uint64_t most = table->slots / (BH_STRIPES_PART * BH_STRIPES);

    if (held > table->longest_pause_ns)
        table->longest_pause_ns = held;
    table->times_alone++;
    table->stripe_most = (uint32_t)(most < BH_STRIPE_MOST ? most : BH_STRIPE_MOST);
    table->stripes = table->stripes_kept;
    bh__gate_leave_alone(&table->gate);
}

/* Moves a stripe's count to the table's. No slice runs. */
static void collect(uint64_t *part, uint64_t *whole)
{
    *whole += *part;
    *part = 0;
}

void bh__stripes_collect(bh_table *table)
{
    uint32_t i;

    for (i = 0; table->stripes_kept && i < BH_STRIPES; i++) {
        bh__stripe *stripe = &table->stripes_kept[i];

        collect(&stripe->room, &table->room);
        collect(&stripe->keys, &table->keys);
        collect(&stripe->erases, &table->erases);
        collect(&stripe->changes, &table->changes);
    }
}

void bh__stripes_give(bh_table *table)
{
    const bh_system *system = &table->backend->system;
    const uint64_t since = bh__enter_alone(table);
    const bh__stripe none = {0, 0, 0, 0, 0};
    bh__stripe *stripes = table->stripes_kept;
    uint32_t i;

    if (!stripes) {
        stripes = (bh__stripe *)system->allocate(system->state, BH_STRIPES * sizeof *stripes);
        for (i = 0; stripes && i < BH_STRIPES; i++)
            stripes[i] = none;
        table->stripes_kept = stripes;
    }
    bh__leave_alone(table, since);
}

void bh__stripes_destroy(bh_table *table)
{
    const bh_system *system = &table->backend->system;

    if (table->stripes_kept)
        system->release(system->state, table->stripes_kept, BH_STRIPES * sizeof(bh__stripe));
}

uint64_t bh__stripe_take_room(bh_table *table, bh__stripe *stripe, uint64_t wanted)
{
    const uint64_t taken = bh__take(&stripe->room, wanted, 0), missing = wanted - taken;
    uint64_t later, got;

    if (!missing)
        return wanted;
    later = bh__atomic_load(&table->room, __ATOMIC_RELAXED) / (2 * BH_STRIPES);
    later = later < table->stripe_most ? later : table->stripe_most;
    got = bh__take(&table->room, missing + later, 0);
    if (got <= missing)
        return taken + got;
    bh__tally(&stripe->room, got - missing, 0);
    return wanted;
}

void bh__stripe_give_room(bh_table *table, bh__stripe *stripe, uint64_t unused)
{
    const uint64_t left = bh__atomic_load(&table->room, __ATOMIC_RELAXED) / BH_STRIPE_ROOM_PART;
    uint64_t most = BH_STRIPE_ROOM_LEAST + table->stripe_most;

    most = most < left ? most : left;
    if (bh__atomic_load(&stripe->room, __ATOMIC_RELAXED) + unused <= most)
        bh__tally(&stripe->room, unused, 0);
    else
        bh__tally(&table->room, unused + bh__atomic_exchange(&stripe->room, 0, __ATOMIC_RELAXED),
                  0);
}

/* Counts in a stripe, and in the table when that has become much. (Written as `more ? bh__atomic_add(part, more) + more : 0` gcc 12.2 makes
 * the sum twice the old value: docs/decisions/0052.) */
static void count(const bh_table *table, uint64_t *part, uint64_t *whole, uint64_t more)
{
    const uint64_t most = table->stripe_most;
    uint64_t sum;

    if (!more)
        return;
    if (most) {
        sum = bh__atomic_add(part, more, __ATOMIC_SEQ_CST) + more;
        if (sum + most <= 2 * most)
            return;
        more = bh__atomic_exchange(part, 0, __ATOMIC_SEQ_CST);
    }
    bh__atomic_add(whole, more, __ATOMIC_SEQ_CST);
}

void bh__stripe_count(bh_table *table, bh__stripe *stripe, uint64_t more_keys, uint64_t erased,
                      int changed)
{
    count(table, &stripe->keys, &table->keys, more_keys);
    count(table, &stripe->erases, &table->erases, erased);
    if (changed)
        bh__tally(&stripe->changes, 1, 0);
}

uint64_t bh__keys_summed(const bh_table *table)
{
    uint64_t sum = bh__atomic_load(&table->keys, __ATOMIC_SEQ_CST);
    uint32_t i;

    for (i = 0; table->stripes && i < BH_STRIPES; i++)
        sum += bh__atomic_load(&table->stripes[i].keys, __ATOMIC_SEQ_CST);
    return bh__as_keys(table, sum);
}
