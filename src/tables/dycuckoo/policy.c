/*
 * DyCuckoo: the policy, which is what the API's table calls. Here are the options, creating and
 * destroying, and what concerns the whole table; policy.h says which file has the rest.
 *
 * From the paper, section IV: d subtables, the smallest is doubled when the table is fuller
 * than max_fill (a little less while they differ in size), and the largest is halved when the
 * table is emptier than min_fill, so that none is ever more than twice as large as another and
 * only one is ever rewritten. Departures:
 *   - growing also reads the other subtables once and brings home the keys that now have room
 *     there;
 *   - which two subtables a key has, and which comes first, follows from its hash alone (the
 *     paper draws subtables with probabilities that follow their fill, so nothing tells where a
 *     key lives first);
 *   - a halving for whose keys there is no room is undone;
 *   - a key that finds no place is first placed along a longer path with the gate held alone, and
 *     only if there is none does the table grow. It does not grow without end: a table that is
 *     emptier than min_fill allows takes another seed instead, once, and then answers
 *     BH_ERR_FULL.
 */
#include "tables/dycuckoo/policy.h"

#include "base/system.h"

#define DEFAULT_MAX_FILL 0.85

static int choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    double d;

    if (!o->dycuckoo.subtables)
        o->dycuckoo.subtables = BH_DY_DEFAULT_SUBTABLES;
    if (o->dycuckoo.subtables < 2 || o->dycuckoo.subtables > BH_DY_SUBTABLES_MOST) {
        bh__fail(BH_ERR_ARGUMENT, "dycuckoo.subtables is %u; it must be from 2 to %d",
                 o->dycuckoo.subtables, BH_DY_SUBTABLES_MOST);
        return 0;
    }
    if (o->dycuckoo.reserved) {
        bh__fail(BH_ERR_ARGUMENT, "dycuckoo.reserved is %u; it must be 0", o->dycuckoo.reserved);
        return 0;
    }
    d = (double)o->dycuckoo.subtables;
    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (!(o->max_fill > 0 && o->max_fill <= BH_DY_HIGHEST_MAX_FILL)) {
        bh__fail(BH_ERR_ARGUMENT, "max_fill is %g; it must be above 0 and at most %g", o->max_fill,
                 BH_DY_HIGHEST_MAX_FILL);
        return 0;
    }
    if (o->min_fill == 0)
        o->min_fill = BH_DY_DEFAULT_MIN_FILL < BH_DY_MARGIN * o->max_fill * d / (d + 1)
                          ? BH_DY_DEFAULT_MIN_FILL
                          : BH_DY_MARGIN * o->max_fill * d / (d + 1);
    if (!bh__fill_is_at_most(&o->min_fill, o->max_fill * d / (d + 1))) {
        bh__fail(BH_ERR_ARGUMENT,
                 "min_fill is %g; with max_fill %g and %u subtables it must be at most %g, or a "
                 "table that has just grown would be too empty",
                 o->min_fill, o->max_fill, o->dycuckoo.subtables, o->max_fill * d / (d + 1));
        return 0;
    }
    return 1;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    bh__dy_table *t;
    bh_dy_geometry *g;
    uint64_t buckets;
    uint32_t d, i, j;
    bh_status status;
    bh_table checked = *plan;

    if (!choose_options(&checked))
        return BH_ERR_ARGUMENT;
    if (checked.options.schedule == BH_SCHEDULE_REGIONS && bh__on_device(plan->backend) &&
        bh_dy_is_apart(&checked.options) !=
            BH_DY_APART_BY_DEFAULT(checked.options.key_bytes, checked.options.value_bytes))
        return bh__fail(BH_ERR_UNSUPPORTED, "on a GPU BH_SCHEDULE_REGIONS is for tables of "
                                            "BH_DYCUCKOO with values where they are by default");
    if (!bh__dy_buckets_for(&checked, checked.options.capacity, &buckets))
        return bh__fail(BH_ERR_ARGUMENT, "capacity %llu is more than a table can address",
                        (unsigned long long)checked.options.capacity);
    t = (bh__dy_table *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->scratch.memory = 0;
    t->scratch.bytes = 0;
    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        t->block[i].memory = 0;

    g = &t->geometry;
    d = checked.options.dycuckoo.subtables;
    g->seed = bh_seed_expand(checked.options.seed);
    g->subtables = d;
    g->spread = checked.experimental.spread == BH_SPREAD_THEOREM1;
    t->table.hints = g->spread ? 0 : BH_HINT_CLAIMS; /* claims.h */
    g->pairs = 0;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++)
            if (i != j)
                g->pair[g->pairs++] = (uint8_t)(i | j << 4);

    t->table.floor_keys = checked.options.capacity;
    status = bh__dy_lay_out(t, buckets);
    if (status) {
        system->release(system->state, t, sizeof *t);
        return status;
    }
    *made = &t->table;
    return BH_OK;
}

static void destroy(bh_table *table)
{
    const bh_system *system = &table->backend->system;
    bh__scratch *scratch = &bh__dy_of(table)->scratch;

    bh__dy_destroy_blocks(bh__dy_of(table)->block, &table->backend->growing);
    if (scratch->memory)
        system->release(system->state, scratch->memory, scratch->bytes);
    system->release(system->state, table, sizeof(bh__dy_table));
}

static const void *geometry(const bh_table *table)
{
    return &((const bh__dy_table *)table)->geometry;
}

static bh_status clear(bh_table *table)
{
    bh__dy_table *t = bh__dy_of(table);
    uint32_t i;

    for (i = 0; i < t->geometry.subtables; i++)
        if (!table->backend->clear(table->backend, &t->block[i],
                                   bh_dy_buckets(&t->geometry, i) * bh__dy_bucket_bytes(table),
                                   i ? BH_MUST : BH_TRY) &&
            !i)
            return bh__dy_refused("to clear the table");
    table->keys = 0;
    table->erases = 0;
    table->changes++;
    bh__dy_publish(t);
    return BH_OK;
}

/* A position counts the buckets of all subtables, one after the other. */
static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    const bh_dy_geometry *g = &bh__dy_of(table)->geometry;
    bh__exported out = {keys, values, room, 0};
    bh__arrays from;
    uint32_t i;

    from.count = g->subtables;
    from.slots = bh__dy_slots_per_bucket(table);
    from.places = 16;
    from.pass = BH_DY_PASS_EXPORT;
    from.pairs = table->keys;
    for (i = 0; i < from.count; i++) {
        from.array[i].lines = g->subtable[i].lines;
        from.array[i].count = bh_dy_buckets(g, i);
    }
    if (!bh__export_buckets(table, &from, at, &out, BH_TRY))
        return BH__EXPORT_REFUSED;
    return out.copied;
}

/* The last page: the memory from before the table grew may lie on pages of another size. */
static const void *typical_page(const bh_table *table)
{
    const bh__block *block = ((const bh__dy_table *)table)->block;

    return block->memory + block->committed - BH__PAGE_SMALL;
}

const bh__policy bh__dycuckoo_policy = {
    .name = "dycuckoo",
    .regions = BH_ON_CORES | BH_ON_GPU,
    .by_operation = UINT64_C(1) << 21,
    .places = BH_DY_PASS_PLACES,
    .outgrows_device = 0,
    .create = create,
    .destroy = destroy,
    .geometry = geometry,
    .resolve = bh__dy_resolve,
    .reserve = bh__dy_reserve,
    .expect = bh__dy_expect,
    .expect_erasures = 0,
    .shrink = bh__dy_shrink,
    .compact = bh__dy_compact,
    .clear = clear,
    .export_pairs = export_pairs,
    .stats = 0,
    .typical_page = typical_page,
    .perform = 0,
};
