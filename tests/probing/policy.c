/*
 * Linear probing: the policy. One block of lines, as many as max_fill needs for the keys; it grows and
 * shrinks by being built anew with twice or half as many, or as many as are asked for. For as long as
 * that takes both are there; what cannot be had leaves the table as it was.
 */
#include "tables/budget.h"

#include "probing/layout.h"
#include "support/late.h"

#define LINES_LEAST 2
#define LINES_MOST (UINT64_MAX / BH_LP_LINE) /* more than can be addressed */
#define DEFAULT_MAX_FILL 0.7
#define HIGHEST_MAX_FILL 0.97
#define PASS_SLOTS 16384

typedef struct probing {
    bh_table table;
    bh_lp_geometry geometry;
    bh__block block;
} probing;

static probing *of(bh_table *table)
{
    return (probing *)table;
}

/* How many keys there may be in so many lines. */
static uint64_t keys_in(const bh_table *table, uint64_t lines)
{
    const bh_table_options *o = &table->options;

    return (uint64_t)(o->max_fill * (double)(lines * BH_LP_SLOTS(o->key_bytes, o->value_bytes)));
}

/* Lines for so many keys, or LINES_MOST. */
static uint64_t lines_for(const bh_table *table, uint64_t keys)
{
    const bh_table_options *o = &table->options;
    const double wanted = (double)keys / (o->max_fill * BH_LP_SLOTS(o->key_bytes, o->value_bytes));
    uint64_t lines = wanted < (double)LINES_MOST ? (uint64_t)wanted : LINES_MOST;

    while (lines < LINES_LEAST || (keys_in(table, lines) < keys && lines < LINES_MOST))
        lines++;
    return lines;
}

/* Brings what follows from the number of lines in line with it. */
static void publish(probing *t)
{
    bh_table *table = &t->table;
    const bh_table_options *o = &table->options;

    table->slots = t->geometry.count * BH_LP_SLOTS(o->key_bytes, o->value_bytes);
    table->max_keys = table->sure_keys = keys_in(table, t->geometry.count);
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
    table->min_keys = 0;
    if (o->min_fill > 0 && (t->geometry.count + 1) / 2 >= lines_for(table, table->floor_keys))
        table->min_keys = (uint64_t)(o->min_fill * (double)table->slots);
}

/* Moves all keys to so many lines. On failure the table is as it was. */
static bh_status rebuild(probing *t, uint64_t lines)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_lp_geometry g = t->geometry;
    bh_lp_move job = {&g, t->geometry.lines};
    bh__block block;
    bh_status status = bh__table_block(table, &backend->memory, lines * BH_LP_LINE, &block);

    if (status)
        return status;
    g.lines = (uint64_t)(uintptr_t)block.memory;
    g.count = lines;
    if (table->keys &&
        !backend->pass(backend, table, BH_LP_PASS_MOVE, &job, table->slots, PASS_SLOTS, BH_TRY)) {
        bh__block_destroy(&block, &backend->memory);
        return bh__fail(BH_ERR_DEVICE, "the GPU refused to build the table anew; no key has moved");
    }
    bh__note_peak(table, block.committed);
    bh__block_destroy(&t->block, &backend->memory);
    t->block = block;
    t->geometry = g;
    table->bytes[BH_TIER_NEAR] = block.committed;
    table->keys_moved += table->keys;
    table->changes++;
    publish(t);
    return BH_OK;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    probing *t = (probing *)system->allocate(system->state, sizeof *t);
    bh_table_options *o;
    bh_status status;

    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = *plan;
    o = &t->table.options;
    t->block.memory = 0;
    t->geometry.seed = bh_seed_expand(o->seed);
    t->geometry.lines = t->geometry.count = 0;
    t->geometry.bringer = bh__on_device(plan->backend) ? 0 : late_bringer();
    t->table.floor_keys = o->capacity;
    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (o->min_fill == 0)
        o->min_fill = o->max_fill / 5;
    if (!(o->max_fill > 0 && o->max_fill <= HIGHEST_MAX_FILL && o->min_fill <= o->max_fill / 2))
        status = bh__fail(BH_ERR_ARGUMENT,
                          "max_fill must be above 0 and at most %g, min_fill at most half of it",
                          HIGHEST_MAX_FILL);
    else
        status = rebuild(t, lines_for(&t->table, o->capacity));
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
        table->grows += !*why;
        *may_grow = !*why;
        if (!*why || table->room)
            return BH_RESOLVED_AGAIN;
    }
    /* An ordered slice ends at the first that stalls: the others were not tried. */
    slice->refused = slice->ordered ? 1 : slice->stalled;
    return BH_RESOLVED_REFUSED;
}

static bh_status reserve(bh_table *table, uint64_t keys)
{
    const uint64_t lines = lines_for(table, keys);
    bh_status status = lines > of(table)->geometry.count ? rebuild(of(table), lines) : BH_OK;

    if (!status && keys > table->floor_keys) {
        table->floor_keys = keys;
        publish(of(table));
    }
    return status;
}

static void expect(bh_table *table, uint64_t keys)
{
    if (keys > table->max_keys && !rebuild(of(table), lines_for(table, keys)))
        table->grows++;
}

/* Half of the lines, rounded up: min_fill is at most half of max_fill, so there is room for the keys. */
static void shrink(bh_table *table)
{
    while (table->keys < table->min_keys &&
           !rebuild(of(table), (of(table)->geometry.count + 1) / 2))
        table->shrinks++;
    if (table->keys < table->min_keys)
        table->min_keys = table->keys - table->keys / 4; /* not again before */
}

static bh_status compact(bh_table *table)
{
    table->floor_keys = 0;
    return rebuild(of(table), lines_for(table, table->keys));
}

static bh_status clear(bh_table *table)
{
    if (!table->backend->clear(table->backend, &of(table)->block, of(table)->block.committed,
                               BH_TRY))
        return bh__fail(BH_ERR_DEVICE, "the GPU refused to clear the table; no key has moved");
    table->keys = 0;
    table->changes++;
    publish(of(table));
    return BH_OK;
}

static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    bh_lp_export job = {&of(table)->geometry, keys, values, room, *at, 0};

    if (!table->backend->pass(table->backend, table, BH_LP_PASS_EXPORT, &job, 1, 1, BH_TRY))
        return BH__EXPORT_REFUSED;
    *at = job.at;
    return job.copied;
}

static const void *typical_page(const bh_table *table)
{
    return ((const probing *)table)->block.memory;
}

/* clang-format off */
const bh__policy bh__probing_policy = {
    .name = "probing", .regions = 0, .by_operation = 0, .places = 0, .outgrows_device = 0, .create = create, .destroy = destroy, .geometry = geometry,
    .resolve = resolve, .reserve = reserve, .expect = expect, .expect_erasures = 0, .shrink = shrink, .compact = compact,
    .clear = clear, .export_pairs = export_pairs, .stats = 0, .typical_page = typical_page, .perform = 0};
/* clang-format on */
