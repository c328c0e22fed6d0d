/*
 * Linear probing: the policy. One block of lines, as many as max_fill needs for the keys; it grows and
 * shrinks by being built anew with twice or half as many, or as many as are asked for. For as long as
 * that takes both are there; what cannot be had leaves the table as it was.
 */
#include "base/error.h"
#include "tables/budget.h"

#include "probing/layout.h"

#define LINES_LEAST 4
#define DEFAULT_MAX_FILL 0.7
#define HIGHEST_MAX_FILL 0.97
#define PASS_LINES 4096

typedef struct probing {
    bh_table table;
    bh_lp_geometry geometry;
    bh__block block;
} probing;

static probing *of(bh_table *table)
{
    return (probing *)table;
}

static uint64_t slots_per_line(const bh_table *table)
{
    return BH_LP_SLOTS(table->options.key_bytes, table->options.value_bytes);
}

/* Lines for so many keys; 0 where they are more than can be addressed. */
static uint64_t lines_for(const bh_table *table, uint64_t keys)
{
    const double wanted =
        (double)keys / (table->options.max_fill * (double)slots_per_line(table)) + 1;
    uint64_t lines;

    if (wanted > (double)(1ull << 56))
        return 0;
    lines = (uint64_t)wanted;
    while ((uint64_t)(table->options.max_fill * (double)(lines * slots_per_line(table))) < keys)
        lines++;
    return lines < LINES_LEAST ? LINES_LEAST : lines;
}

/* Brings what follows from the number of lines in line with it. */
static void publish(probing *t)
{
    bh_table *table = &t->table;
    const bh_table_options *o = &table->options;
    uint64_t floor;

    table->slots = t->geometry.count * slots_per_line(table);
    table->max_keys = (uint64_t)(o->max_fill * (double)table->slots);
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
    table->sure_keys = table->max_keys;
    table->min_keys = o->min_fill > 0 ? (uint64_t)(o->min_fill * (double)table->slots) : 0;
    floor = lines_for(table, table->floor_keys);
    if (t->geometry.count / 2 < floor)
        table->min_keys = 0;
}

static bh_status make_block(const bh_table *table, uint64_t lines, bh__block *block)
{
    const bh__backend *backend = table->backend;
    bh_status status;
    uint64_t bytes;

    if (!lines || !bh__block_bytes(lines * BH_LP_LINE, &bytes))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, BH_TIER_NEAR, 0, bytes);
    if (status)
        return status;
    if (!bh__block_create(block, &backend->memory, bytes))
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                        (unsigned long long)bytes);
    return BH_OK;
}

/* Moves all keys to so many lines. On failure the table is as it was. */
static bh_status rebuild(probing *t, uint64_t lines)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    const bh_lp_geometry old = t->geometry;
    bh_lp_geometry g = old;
    bh__block block;
    bh_lp_move job;
    bh_status status = make_block(table, lines, &block);

    if (status)
        return status;
    g.lines = (uint64_t)(uintptr_t)block.memory;
    g.count = lines;
    job.geometry = &g;
    job.from = old.lines;
    if (table->keys && !backend->pass(backend, table, BH_LP_PASS_MOVE, &job, old.count, PASS_LINES,
                                      BH_TRY)) {
        bh__block_destroy(&block, &backend->memory);
        return bh__fail(BH_ERR_DEVICE, "the GPU refused to build the table anew; no key has moved");
    }
    bh__note_peak(table, block.committed);
    bh__block_destroy(&t->block, &backend->memory);
    t->block = block;
    t->geometry = g;
    table->bytes[BH_TIER_NEAR] = block.committed;
    table->keys_moved += table->keys;
    table->erases = 0;
    table->changes++;
    publish(t);
    return BH_OK;
}

static int choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;

    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (!(o->max_fill > 0 && o->max_fill <= HIGHEST_MAX_FILL)) {
        bh__fail(BH_ERR_ARGUMENT, "max_fill is %g; it must be above 0 and at most %g", o->max_fill,
                 HIGHEST_MAX_FILL);
        return 0;
    }
    if (o->min_fill == 0)
        o->min_fill = o->max_fill / 5;
    if (!(o->min_fill <= o->max_fill / 2)) {
        bh__fail(BH_ERR_ARGUMENT, "min_fill is %g; with max_fill %g it must be at most %g",
                 o->min_fill, o->max_fill, o->max_fill / 2);
        return 0;
    }
    return 1;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    bh_table checked = *plan;
    bh_status status;
    uint64_t lines;
    probing *t;

    if (!choose_options(&checked))
        return BH_ERR_ARGUMENT;
    t = (probing *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    lines = lines_for(&checked, checked.options.capacity);
    status = make_block(&checked, lines, &t->block);
    if (status) {
        system->release(system->state, t, sizeof *t);
        return status;
    }
    t->geometry.seed = bh_seed_expand(checked.options.seed);
    t->geometry.lines = (uint64_t)(uintptr_t)t->block.memory;
    t->geometry.count = lines;
    t->table.floor_keys = checked.options.capacity;
    t->table.bytes[BH_TIER_NEAR] = t->block.committed;
    bh__note_peak(&t->table, 0);
    publish(t);
    *made = &t->table;
    return BH_OK;
}

static void destroy(bh_table *table)
{
    const bh_system *system = &table->backend->system;

    bh__block_destroy(&of(table)->block, &table->backend->memory);
    system->release(system->state, table, sizeof(probing));
}

static const void *geometry(const bh_table *table)
{
    return &((const probing *)table)->geometry;
}

/* Elements stall for want of room alone. Running slices set room aside that they may not need: now that
 * none runs, there may be some for those who found none. */
static bh__resolved resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why)
{
    if (table->room && !(slice->hints & BH_HINT_AGAIN)) {
        slice->hints |= BH_HINT_AGAIN;
        return BH_RESOLVED_AGAIN;
    }
    if (*may_grow) {
        *why = rebuild(of(table), 2 * of(table)->geometry.count);
        if (!*why) {
            table->grows++;
            return BH_RESOLVED_AGAIN;
        }
        *may_grow = 0;
        if (table->room)
            return BH_RESOLVED_AGAIN;
    }
    /* An ordered slice ends at the first that stalls: the others were not tried. */
    slice->refused = slice->ordered ? 1 : slice->stalled;
    return BH_RESOLVED_REFUSED;
}

static bh_status reserve(bh_table *table, uint64_t keys)
{
    const uint64_t lines = lines_for(table, keys);
    bh_status status = BH_OK;

    if (!lines)
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (lines > of(table)->geometry.count)
        status = rebuild(of(table), lines);
    if (!status && keys > table->floor_keys) {
        table->floor_keys = keys;
        publish(of(table));
    }
    return status;
}

static void expect(bh_table *table, uint64_t keys)
{
    const uint64_t lines = lines_for(table, keys);

    if (lines > of(table)->geometry.count && !rebuild(of(table), lines))
        table->grows++;
}

static void shrink(bh_table *table)
{
    while (table->keys < table->min_keys) {
        if (rebuild(of(table), of(table)->geometry.count / 2)) {
            table->min_keys = table->keys - table->keys / 4; /* not again before */
            return;
        }
        table->shrinks++;
    }
}

static bh_status compact(bh_table *table)
{
    table->floor_keys = 0;
    return rebuild(of(table), lines_for(table, table->keys));
}

static bh_status clear(bh_table *table)
{
    probing *t = of(table);

    if (!table->backend->clear(table->backend, &t->block, t->geometry.count * BH_LP_LINE, BH_TRY))
        return bh__fail(BH_ERR_DEVICE, "the GPU refused to clear the table; no key has moved");
    table->keys = 0;
    table->erases = 0;
    table->changes++;
    publish(t);
    return BH_OK;
}

static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    bh_lp_export job;

    job.geometry = &of(table)->geometry;
    job.keys = keys;
    job.values = values;
    job.room = room;
    job.at = *at;
    job.copied = 0;
    if (!table->backend->pass(table->backend, table, BH_LP_PASS_EXPORT, &job, 1, 1, BH_TRY))
        return BH__EXPORT_REFUSED;
    *at = job.at;
    return job.copied;
}

static const void *typical_page(const bh_table *table)
{
    return ((const probing *)table)->block.memory;
}

const bh__policy bh__probing_policy = {
    "probing", 0,       create,  destroy, geometry,     resolve,      reserve, expect,
    shrink,    compact, clear, export_pairs, typical_page, 0,
};
