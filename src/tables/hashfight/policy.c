/*
 * HashFight: the policy, which is what the API's table calls. Here are the options, creating and
 * destroying, lookups, and what concerns the whole table; policy.h says which file has the rest.
 *
 * The paper builds a table once and throws it away for a change. Here
 *
 *   a call that inserts into an empty table builds one generation of its elements as they are;
 *   every other call that changes something is sorted by key, stably, and each run of equal keys
 *   performed at once, in the caller's order, where the key is (passes WANT and FOLD). Before that
 *   keys that are nowhere and are to be inserted get a place: in the buffer as long as it has room,
 *   else in a new generation, together with the buffer and with those generations that are not much
 *   larger than what comes. So a key is moved a logarithmic number of times, most keys are in the
 *   first generation that a lookup reads, and there are few generations.
 *
 * All this happens with the gate held alone: lookups see the table before or after. What can fail
 * (memory, a budget) happens before the first change; then the new keys are not done, and what is
 * there already still can be.
 */
#include "tables/hashfight/policy.h"

#include "base/system.h"

#define DEFAULT_SLOTS_PER_KEY 1.75
#define LEAST_SLOTS_PER_KEY 1.03
#define MOST_SLOTS_PER_KEY 2.0
#define LEAST_MAX_FILL 0.48 /* where slots_per_key follows from it */

/* Pairs that may be left for the tail, all regions together, before another round is made for them:
 * they fit in a core's first cache. Chosen, not tuned. */
#ifndef BH_HF_TAIL_KEYS
#define BH_HF_TAIL_KEYS 32
#endif

/* min_fill's default, as a share of the fill that a table has when it is built. */
#define DEFAULT_MIN_SHARE 0.5

static int choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    double fill;

    if (o->hashfight.slots_per_key == 0) {
        o->hashfight.slots_per_key = DEFAULT_SLOTS_PER_KEY;
        if (o->max_fill != 0 && !(o->max_fill >= LEAST_MAX_FILL && o->max_fill <= 1)) {
            bh__fail(BH_ERR_ARGUMENT, "max_fill is %g; it must be from %g to 1", o->max_fill,
                     LEAST_MAX_FILL);
            return 0;
        }
        /* A table that is to be less full has more slots. */
        if (o->max_fill != 0 && o->max_fill < bh__hf_natural_fill(table))
            o->hashfight.slots_per_key = 1 / o->max_fill;
    } else if (!(o->hashfight.slots_per_key >= LEAST_SLOTS_PER_KEY &&
                 o->hashfight.slots_per_key <= MOST_SLOTS_PER_KEY)) {
        bh__fail(BH_ERR_ARGUMENT, "hashfight.slots_per_key is %g; it must be from %g to %g",
                 o->hashfight.slots_per_key, LEAST_SLOTS_PER_KEY, MOST_SLOTS_PER_KEY);
        return 0;
    }
    if (!o->hashfight.tail_keys)
        o->hashfight.tail_keys = BH_HF_TAIL_KEYS;
    /* What is built has always the same fill, so max_fill holds always or never. */
    fill = bh__hf_natural_fill(table);
    if (o->max_fill == 0)
        o->max_fill = fill;
    if (!(o->max_fill >= fill * 0.999 && o->max_fill <= 1)) {
        bh__fail(
            BH_ERR_ARGUMENT,
            "max_fill is %g; with hashfight.slots_per_key %g a table is built with %.2f of its "
            "slots in use, so it must be at least that, and at most 1",
            o->max_fill, o->hashfight.slots_per_key, fill);
        return 0;
    }
    if (o->min_fill == 0)
        o->min_fill = DEFAULT_MIN_SHARE * fill;
    if (!bh__fill_is_at_most(&o->min_fill, 0.75 * fill)) {
        bh__fail(BH_ERR_ARGUMENT,
                 "min_fill is %g; with hashfight.slots_per_key %g it must be at "
                 "most %g, or a table that was just built would be too empty",
                 o->min_fill, o->hashfight.slots_per_key, 0.75 * fill);
        return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------------------------------------
 * Lookups by region
 * --------------------------------------------------------------------------------------------- */

/* Lookups by region are the paper's passes by region of memory. They pay nowhere by themselves (docs/decisions/0043). */
static bh_status find(bh_table *table, const bh__batch *batch)
{
    bh__batch lookups = *batch;

    lookups.by_place = table->options.schedule == BH_SCHEDULE_REGIONS;
    return table->backend->slices(table->backend, table, &lookups);
}

static bh_status perform(bh_table *table, const bh__batch *batch)
{
    return batch->ops || batch->op != BH_FIND ? bh__hf_modify(table, batch) : find(table, batch);
}

/* ---------------------------------------------------------------------------------------------
 * The whole table
 * --------------------------------------------------------------------------------------------- */

/* Makes room for so many keys, which the table keeps until compact. */
static bh_status keep_room(bh__hf_table *t, uint64_t keys)
{
    bh_status status = bh__hf_make_spare(t, keys);
    bh__hf_plan p;

    if (!status && keys > t->table.floor_keys) {
        t->table.floor_keys = keys;
        if (keys > BH_HF_BUFFER_MOST &&
            bh__hf_make_plan(&t->table, keys, bh__hf_payload_most(&t->table), &p))
            t->floor_slots = bh__hf_slots(&t->table, &p.g) + BH_HF_BUFFER_MOST;
        bh__hf_publish(t);
    }
    return status;
}

static bh_status create(const bh_table *plan_of_table, bh_table **made)
{
    const bh__backend *backend = plan_of_table->backend;
    const bh_system *system = &backend->system;
    const bh_table_options *o;
    bh_table checked = *plan_of_table;
    bh__block none = {0, 0, 0};
    bh__memory small = backend->memory;
    bh_status status;
    bh__hf_table *t;
    bh__arena a = {0, 0};
    uint64_t i;

    if (!choose_options(&checked))
        return BH_ERR_ARGUMENT;
    o = &checked.options;
    t = (bh__hf_table *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->builder = bh__on_device(checked.backend) ? &bh__hf_far : &bh__hf_near;
    t->geometry.seed = bh_seed_expand(o->seed);
    t->geometry.generations = 0;
    for (i = 0; i < BH_HF_GENERATIONS_MOST; i++)
        t->block[i] = none;
    small.pages = BH_PAGES_SMALL;
    t->spare = none;
    t->gone = t->held = t->floor_slots = 0;
    t->shrink_below = UINT64_MAX;

    bh__cut(&a, BH_HF_BUFFER_MOST, o->key_bytes);
    bh__cut(&a, BH_HF_BUFFER_MOST, o->value_bytes);
    bh__cut(&a, BH_HF_BUFFER_MOST, 1);
    bh__cut(&a, t->builder->aside_bytes(&checked), 1);
    status = bh__table_block(&checked, &small, a.at, &t->buffer);
    if (!status) {
        a.at = (uint64_t)(uintptr_t)t->buffer.memory;
        t->tail.regions = t->tail.rounds = t->tail.region_lines = t->tail.tail = 0;
        t->tail.tail_room = BH_HF_BUFFER_MOST;
        t->tail.lines = a.at;
        t->tail.tail_keys = bh__cut(&a, BH_HF_BUFFER_MOST, o->key_bytes);
        t->tail.tail_values = bh__cut(&a, BH_HF_BUFFER_MOST, o->value_bytes);
        t->tail.tail_gone = bh__cut(&a, BH_HF_BUFFER_MOST, 1);
        t->aside = a.at;
        bh__hf_publish(t);
        status = keep_room(t, o->capacity);
        if (status)
            bh__block_destroy(&t->buffer, &backend->memory);
    }
    if (status) {
        system->release(system->state, t, sizeof *t);
        return status;
    }
    *made = &t->table;
    return BH_OK;
}

static void destroy(bh_table *table)
{
    bh__hf_table *t = bh__hf_of(table);
    bh_system system = table->backend->system;
    const bh__memory *memory = &table->backend->memory;
    uint64_t i;

    for (i = 0; i < BH_HF_GENERATIONS_MOST; i++)
        bh__block_destroy(&t->block[i], memory);
    bh__block_destroy(&t->buffer, memory);
    bh__block_destroy(&t->spare, memory);
    system.release(system.state, table, sizeof *t);
}

static const void *geometry(const bh_table *table)
{
    return &((const bh__hf_table *)table)->geometry;
}

static bh_status reserve(bh_table *table, uint64_t keys)
{
    return keep_room(bh__hf_of(table), keys);
}

static void shrink(bh_table *table)
{
    (void)table; /* the call that erases does it: see perform_runs */
}

static bh_status compact(bh_table *table)
{
    bh__hf_table *t = bh__hf_of(table);
    uint64_t large = bh__hf_large(t);
    bh__hf_plan p;

    table->floor_keys = t->floor_slots = 0;
    bh__hf_drop_spare(t);
    bh__hf_publish(t);
    /* Not for less than 1/32 of the memory, nor where all keys are in the buffer. */
    if (!large || (t->geometry.generations == 1 &&
                   bh__hf_make_plan(table, table->keys, table->options.value_bytes, &p) &&
                   p.bytes >= t->block[0].committed - t->block[0].committed / 32))
        return BH_OK;
    return bh__hf_rebuild(t);
}

static bh_status clear(bh_table *table)
{
    bh__hf_drop_all(bh__hf_of(table));
    table->changes++;
    return BH_OK;
}

static const void *typical_page(const bh_table *table)
{
    const bh__hf_table *t = (const bh__hf_table *)table;
    const bh__block *block = bh__hf_large(t)   ? &t->block[0]
                             : t->spare.memory ? &t->spare
                                               : &t->buffer;

    return block->memory + block->committed / 2 / BH__PAGE_SMALL * BH__PAGE_SMALL;
}

const bh__policy bh__hashfight_policy = {
    .name = "hashfight",
    .regions = BH_ON_CORES,
    .by_operation = 0,
    .places = BH_HF_PASS_PLACES,
    .outgrows_device = 0,
    .create = create,
    .destroy = destroy,
    .geometry = geometry,
    .resolve = 0,
    .reserve = reserve,
    .expect = 0,
    .expect_erasures = 0,
    .shrink = shrink,
    .compact = compact,
    .clear = clear,
    .export_pairs = bh__hf_export_pairs,
    .stats = 0,
    .typical_page = typical_page,
    .perform = perform,
};
