/*
 * DACHash: the policy, which is what the API's table calls. Here are the options, creating and destroying,
 * what concerns the whole table, and what to do when operations of a slice stalled; policy.h says which
 * file has the rest.
 *
 * max_fill and min_fill say, for this design, how many keys there are for each slot of a first node; so
 * max_fill may be above 1. The paper's *expected length* is keys / (16 * buckets): with 7 slots in a node
 * 0.44 at max_fill 1. Departures from the paper:
 *   - the array of buckets doubles and halves (the paper's has one size for good);
 *   - the stack of nodes grows, within the budgets;
 *   - chains are cleaned by bh_compact(), and when the stack is empty and many keys have been erased (there,
 *     when it is empty).
 */
#include "tables/dachash/policy.h"

#include "base/system.h"

#define DEFAULT_MAX_FILL 1.0
#define HIGHEST_MAX_FILL 4.0

#define DEFAULT_NODE 64 /* a line */

/* When the stack is empty, chains are cleaned if at least this part of the keys has been erased since; and if
 * it cannot grow, if at least the second part has: cleaning reads all keys, so each erasure pays for that many. */
#define CLEAN_PART 8
#define CLEAN_PART_FULL 64

static bh_status choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    const uint32_t least = BH_DA_NARROW(o->key_bytes, o->value_bytes) ? 16 : 32;
    uint32_t *node = &o->dachash.node_bytes;

    if (!*node)
        *node = DEFAULT_NODE;
    if (*node < least || *node > BH_DA_NODE_MOST || (*node & (*node - 1)))
        return bh__fail(
            BH_ERR_ARGUMENT,
            "dachash.node_bytes is %u; with keys of %u and values of %u bytes it can be "
            "%s32, 64 or 128",
            *node, o->key_bytes, o->value_bytes, least == 16 ? "16, " : "");
    if (o->dachash.reserved)
        return bh__fail(BH_ERR_ARGUMENT, "dachash.reserved is %u; it must be 0",
                        o->dachash.reserved);
    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (!(o->max_fill > 0 && o->max_fill <= HIGHEST_MAX_FILL))
        return bh__fail(BH_ERR_ARGUMENT,
                        "max_fill is %g; it must be above 0 and, with BH_DACHASH, at most %g",
                        o->max_fill, HIGHEST_MAX_FILL);
    if (o->min_fill == 0)
        o->min_fill = o->max_fill / 4;
    if (!bh__fill_is_at_most(&o->min_fill, o->max_fill / 2))
        return bh__fail(
            BH_ERR_ARGUMENT,
            "min_fill is %g; with max_fill %g it must be at most %.9g, or a table that has "
            "just grown would be too empty",
            o->min_fill, o->max_fill, o->max_fill / 2);
    return BH_OK;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    const bh_table_options *o;
    bh_table checked = *plan;
    bh__da_table *t;
    bh_da_geometry *g;
    uint64_t buckets;
    uint32_t slots;
    bh_status status = choose_options(&checked);

    if (status)
        return status;
    o = &checked.options;
    buckets = bh__da_buckets_for(&checked, o->capacity);
    if (!buckets)
        return bh__fail(BH_ERR_ARGUMENT, "capacity %llu is more than a table can address",
                        (unsigned long long)o->capacity);
    t = (bh__da_table *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->table.floor_keys = o->capacity;
    t->buckets.memory = 0;
    t->nodes.memory = 0;

    g = &t->geometry;
    __builtin_memset(g, 0, sizeof *g); /* a GPU compares all of its bytes */
    slots = bh__da_slots(&checked);
    g->seed = bh_seed_expand(o->seed);
    g->node_shift = 4;
    while (1u << g->node_shift < o->dachash.node_bytes)
        g->node_shift++;
    g->first = BH_DA_STACK_BYTES / o->dachash.node_bytes;
    g->positions = BH_DA_STRIDE(o->key_bytes, o->value_bytes) == 2
                       ? ((1u << 2 * slots) - 1) & 0x55555555u
                       : (1u << slots) - 1;
    g->values = BH_DA_VALUES(o->key_bytes, o->value_bytes, o->dachash.node_bytes);

    status = bh__da_lay_out(t, buckets);
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

    bh__block_destroy(&bh__da_of(table)->buckets, &table->backend->growing);
    bh__block_destroy(&bh__da_of(table)->nodes, &table->backend->growing);
    system->release(system->state, table, sizeof(bh__da_table));
}

static const void *geometry(const bh_table *table)
{
    return &((const bh__da_table *)table)->geometry;
}

/* Elements of the slice found their chains full and the stack empty: more nodes, by cleaning or growing. */
static bh_status more_nodes(bh__da_table *t, uint64_t wanted)
{
    bh_table *table = &t->table;
    bh_status status;

    if (table->erases > table->keys / CLEAN_PART && !bh__da_clean(t, 0))
        return bh__da_refused("to close up chains");
    status = bh__da_have_free(t, wanted);
    if (!status)
        return BH_OK;
    if (table->erases > table->keys / CLEAN_PART_FULL && !bh__da_clean(t, 0))
        return bh__da_refused("to close up chains");
    /* Fewer than one for each are better than none: they run again. */
    return bh__da_have_free(t, 1) ? status : BH_OK;
}

/* Elements of the slice found no room: answers whether there may be some now. */
static int more_room(bh__da_table *t, bh__slice *slice, int *may_grow, bh_status *why)
{
    const bh_table *table = &t->table;
    bh_status status;

    /* Running slices set room aside that they may not need: now that none runs, there may be some for those
     * who found none. */
    if (table->room && (slice->reasons & BH_REASON_ROOM) && !(slice->hints & BH_HINT_AGAIN)) {
        slice->hints |= BH_HINT_AGAIN;
        return 1;
    }
    if (!*may_grow)
        return 0;
    status = bh__da_split_for(t, slice->stalled);
    if (!status)
        return 1;
    *why = status;
    *may_grow = 0;
    return table->room != 0;
}

static bh__resolved resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why)
{
    bh__da_table *t = bh__da_of(table);
    bh_status status = BH_OK;

    /* Another slice's may have been resolved meanwhile. */
    if (slice->reasons & BH_DA_REASON_TURNOVER) {
        t->geometry.turnover = 1;
        return BH_RESOLVED_AGAIN;
    }
    if (slice->reasons & BH_DA_REASON_NODE) {
        status = more_nodes(t, slice->stalled);
        if (!status)
            return BH_RESOLVED_AGAIN;
        if (*may_grow)
            *why = status;
    }
    /* With more buckets chains are shorter, and fewer nodes wanted. */
    if (more_room(t, slice, may_grow, why))
        return BH_RESOLVED_AGAIN;
    /* An ordered slice ends at the first that stalls: the others were not tried. */
    slice->refused = slice->ordered ? 1 : slice->stalled;
    return BH_RESOLVED_REFUSED;
}

static bh_status clear(bh_table *table)
{
    bh__da_table *t = bh__da_of(table);
    const bh__backend *backend = table->backend;

    if (!backend->clear(backend, &t->buckets, t->buckets.committed, BH_TRY))
        return bh__da_refused("to clear the table");
    (void)backend->clear(backend, &t->nodes, t->nodes.committed, BH_MUST);
    table->keys = 0;
    table->erases = 0;
    table->changes++;
    t->geometry.turnover = 0;
    bh__da_publish(t);
    return BH_OK;
}

/* A position counts the nodes of the array, and then those of the stack. */
static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    const bh_da_geometry *g = &bh__da_of(table)->geometry;
    bh__exported out = {keys, values, room, 0};
    bh__arrays from;

    from.count = 2;
    from.slots = bh__da_slots(table);
    from.places = BH_DA_PLACES;
    from.pass = BH_DA_PASS_EXPORT;
    from.pairs = table->keys;
    from.array[0].lines = g->buckets;
    from.array[0].count = bh__da_buckets(g);
    from.array[1].lines = g->nodes + ((uint64_t)g->first << g->node_shift);
    from.array[1].count = g->nodes_most;
    if (!bh__export_buckets(table, &from, at, &out, BH_TRY))
        return BH__EXPORT_REFUSED;
    return out.copied;
}

static void stats(bh_table *table, bh_table_stats *stats)
{
    const bh_da_geometry *g = &bh__da_of(table)->geometry;

    stats->chains = bh__da_buckets(g);
    if (bh__da_nodes_used(bh__da_of(table), &stats->nodes_used))
        stats->nodes_free = g->nodes_most - stats->nodes_used;
}

static const void *typical_page(const bh_table *table)
{
    const bh__block *block = &((const bh__da_table *)table)->buckets;

    return block->memory + block->committed - BH__PAGE_SMALL;
}

/* clang-format off */
const bh__policy bh__dachash_policy = {
    .name = "dachash", .regions = BH_ON_CORES | BH_ON_GPU | BH_ON_GPU_SORTED, .by_operation = UINT64_C(1) << 23, .places = BH_DA_PASS_PLACES, .outgrows_device = 0, .create = create, .destroy = destroy, .geometry = geometry,
    .resolve = resolve, .reserve = bh__da_reserve, .expect = bh__da_expect, .expect_erasures = 0, .shrink = bh__da_shrink,
    .compact = bh__da_compact, .clear = clear, .export_pairs = export_pairs,
    .stats = stats, .typical_page = typical_page, .perform = 0};
/* clang-format on */
