/*
 * stadium on a GPU: tables with a ticket-board of 8-bit tickets, 0.8 full unless told otherwise, in the GPU's memory
 * and in the host's.
 *
 * In the GPU's memory lookups are judged by random 32-byte reads of as much memory as the table has: a present key
 * takes one read of the board and one of a slot, an absent one hardly more than one of the board. Insertions are
 * judged by those of a table of DyCuckoo made for the same keys. There are two sizes: that of the settings, and one
 * whose board lies in the GPU's cache and whose slots do not.
 *
 * In the host's memory, with paths by slot, every slot that is looked at is a transfer over the bus. So lookups of
 * present keys are judged by random reads of as much pinned memory, insertions by random writes of a slot. An absent
 * key takes B board reads and S slot reads; lookups of those are judged by the *mixed limit* 1 / (B / L_board +
 * S / L_slots), where L is the rate of 32-byte reads of memory as large as the board, or of pinned memory as large as
 * the slots. There are two tables: one has all slots on the host; the other has as much of the GPU's memory as a quarter
 * of the whole table, and what does not fit there is on the host.
 */
#include "on_gpu.h"

#include <string.h>

#define EXPERIMENT .experiment = "stadium", .state = "fresh"

#define FILL 0.8
#define DYCUCKOO_FILL 0.8

/* The second size, its board, and how large a board may be to count as lying in the cache. */
#define CACHED_BOARD_KEYS (UINT64_C(1) << 24)
#define CACHED_BOARD_BYTES (UINT64_C(32) << 20)

/* No more on the host, unless told otherwise: pinning takes long. */
#define HOST_KEYS (UINT64_C(1) << 25)
#define BUDGETS 4u

/* Reads per lookup of an absent key in a table 0.8 full, with paths by slot and tickets of 8 bits: from a
 * simulation. (The experiment `lines` counts the slots.) */
#define BOARD_READS 4.3
#define SLOT_READS 0.03

#define GROUP 32u /* elements of one operation that stand together in a mixed call */

enum { INSERT, FIND, MISS, TOGETHER, CORE_RESULTS, HOST_RESULTS = TOGETHER };

typedef struct work {
    bench *b;
    uint64_t n;
    mirrored keys;
    mirrored absent;
    mirrored values;
    mirrored found;
    mirrored outcomes;
    mirrored ops;
} work;

static work make_work(bench *b, uint64_t n)
{
    const settings *s = &b->settings;
    work w = {b,
              n,
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, 1),
              mirror(b, n, 1)};

    return w;
}

static void free_work(work *w)
{
    mirrored *arrays[] = {&w->keys, &w->absent, &w->values, &w->found, &w->outcomes, &w->ops};
    uint32_t i;

    for (i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        mirror_free(w->b, arrays[i]);
}

static gpu_call call_of(const work *w, int what, bh_table *table, const mirrored *keys)
{
    const mirrored *values = what == BH_INSERT ? &w->values : &w->found;
    gpu_call c = {
        what, table, keys->device, values->device, w->outcomes.device, w->ops.device, w->n, w->n,
        0,    0};

    return c;
}

static bh_table_options options_for(const work *w, bh_design design)
{
    const settings *s = &w->b->settings;
    bh_table_options options;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, w->n);
    options.design = design;
    options.max_fill = design == BH_STADIUM ? s->fill : DYCUCKOO_FILL;
    if (design == BH_STADIUM)
        options.stadium.ticket_bits = 8;
    return options;
}

/* Answers 0 when the GPU cannot have it. */
static int make_table(const work *w, bh_design design, bh_table **table)
{
    const bh_table_options options = options_for(w, design);

    return gpu_table_with(w->b, &options, table);
}

static void expect_whole(const work *w, const bh_table *table)
{
    const bh_table_stats stats = stats_of(table);

    if (stats.keys != w->n || stats.grows)
        fail("a table made for its keys does not hold them, or has grown");
}

/* A call of all keys beside a limit, which must have the same outcome for every key. */
static int measure(const work *w, result *r, int what, bh_table *table, const mirrored *keys,
                   bh_outcome is, gpu_access by)
{
    const gpu_call c = call_of(w, what, table, keys);

    if (what == BH_FIND)
        check_gpu(gpu_there->fill(w->b->on_gpu->gpu, w->found.device, 0, w->found.bytes));
    if (!gpu_measured(w->b, r, &c, by, NULL))
        return 0;
    to_host(w->b, &w->outcomes);
    check_outcomes(w->outcomes.host, w->n, is, w->n);
    if (is == BH_FOUND) {
        to_host(w->b, &w->found);
        check_values(w->b, w->found.host, keys->host, w->n);
    }
    return 1;
}

/* --- in the GPU's memory ------------------------------------------------------------------------ */

/* Elements of the arrays from `first` on. */
static gpu_call part_of(const work *w, int what, bh_table *table, uint64_t first, uint64_t n)
{
    gpu_call c = call_of(w, what, table, &w->keys);

    c.keys = key_at(w->b, c.keys, first);
    c.values = value_at(w->b, c.values, first);
    c.outcomes += first;
    c.n = c.part = n;
    return c;
}

/* The outcomes of a call, or two, that found as many keys as it inserted, and all values. */
static void expect_halves(const work *w, uint64_t half, const void *keys, uint64_t count)
{
    to_host(w->b, &w->outcomes);
    to_host(w->b, &w->found);
    check_outcomes(w->outcomes.host, 2 * half, BH_FOUND, half);
    check_outcomes(w->outcomes.host, 2 * half, BH_INSERTED, half);
    check_values(w->b, w->found.host, keys, count);
}

/* Seconds of inserting the second half of the keys and then looking up the first. */
static double time_apart(const work *w, bh_table *table, uint64_t half)
{
    const gpu_call insert = part_of(w, BH_INSERT, table, half, half);
    const gpu_call find = part_of(w, BH_FIND, table, 0, half);
    double inserting = 0, finding = 0;

    check_gpu(gpu_there->fill(w->b->on_gpu->gpu, w->found.device, 0, w->found.bytes));
    gpu_timed(w->b, &insert, &inserting);
    gpu_timed(w->b, &find, &finding);
    expect_halves(w, half, w->keys.host, half);
    return inserting + finding;
}

/* Seconds of one call that does both. Lookups find zeros in the array of values. */
static double time_together(const work *w, bh_table *table, uint64_t half)
{
    const settings *s = &w->b->settings;
    const mirrored *mixed = &w->absent; /* which nobody needs any more */
    gpu_call c = call_of(w, GPU_APPLY, table, mixed);
    uint8_t *ops = w->ops.host;
    double taken = 0;
    uint64_t i;

    for (i = 0; i < half; i += GROUP) {
        memset(ops + 2 * i, BH_INSERT, GROUP);
        memset(ops + 2 * i + GROUP, BH_FIND, GROUP);
        memcpy(key_at(w->b, mixed->host, 2 * i), key_at(w->b, w->keys.host, half + i),
               GROUP * s->key_bytes);
        memcpy(key_at(w->b, mixed->host, 2 * i + GROUP), key_at(w->b, w->keys.host, i),
               GROUP * s->key_bytes);
    }
    fill_values(w->b, w->found.host, mixed->host, 2 * half);
    for (i = GROUP; i < 2 * half; i += 2 * GROUP)
        memset(value_at(w->b, w->found.host, i), 0, GROUP * s->value_bytes);
    to_device(w->b, mixed);
    to_device(w->b, &w->found);
    to_device(w->b, &w->ops);
    c.n = c.part = 2 * half;
    gpu_timed(w->b, &c, &taken);
    expect_halves(w, half, mixed->host, 2 * half);
    return taken;
}

/* A table made for all keys, with the first half of them in it. */
static bh_table *half_full(const work *w, uint64_t half)
{
    bh_table *table;
    double taken;
    gpu_call insert;

    make_table(w, BH_STADIUM, &table);
    insert = part_of(w, BH_INSERT, table, 0, half);
    gpu_timed(w->b, &insert, &taken);
    return table;
}

/* Concurrency efficiency as in the paper's figure 15: the time of inserting half of the keys and that of looking
 * up the other half, added up, beside the time of one call that does both. */
static void run_efficiency(const work *w, result *r, int apart_first)
{
    const uint64_t half = w->n / (2 * GROUP) * GROUP;
    double apart = 0, together = 0;
    int i;

    if (!half)
        return;
    for (i = 0; i < 2; i++) {
        bh_table *table = half_full(w, half);

        if (i != apart_first)
            apart = time_apart(w, table, half);
        else
            together = time_together(w, table, half);
        bh_table_destroy(table);
    }
    enter(r, 2 * half, together);
    sample(&r->value, apart / together);
    r->clock = "events";
    r->batch = 2 * half;
}

static void run_core_repetition(const work *w, result *results, uint32_t repetition)
{
    couple c = {NULL, NULL, (int)(repetition % 2)};
    gpu_call insert = call_of(w, BH_INSERT, NULL, &w->keys);
    bh_table_stats stats;
    uint32_t i;

    fill_mirrors(w->b, &w->keys, &w->absent, &w->values, w->n, salt_of(repetition));
    if (!make_table(w, BH_STADIUM, &c.table)) {
        gpu_unsupported(results, CORE_RESULTS);
        return;
    }
    make_table(w, BH_DYCUCKOO, &c.beside);
    gpu_limits_for(w->b, stats_of(c.table).bytes_total);
    gpu_compared(w->b, &results[INSERT], &c, &insert, &w->outcomes, BH_INSERTED, GPU_ADD_64);
    expect_whole(w, c.table);
    measure(w, &results[FIND], BH_FIND, c.table, &w->keys, BH_FOUND, GPU_READ_32);
    measure(w, &results[MISS], BH_FIND, c.table, &w->absent, BH_MISSING, GPU_READ_32);
    stats = stats_of(c.table);
    for (i = 0; i < CORE_RESULTS; i++)
        result_table(&results[i], &stats);
    results[MISS].bar = stats.board_bytes <= CACHED_BOARD_BYTES ? 1.6 : 1.0;
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
    run_efficiency(w, &results[TOGETHER], c.table_first);
}

static void run_core(bench *b, uint64_t n)
{
    result results[CORE_RESULTS] = {
        [INSERT] = {EXPERIMENT, .name = "insert, reserved", .op = "insert", .hit_rate = 0,
                    .figure = "times DyCuckoo's rate", .bar = 0.7},
        [FIND] = {EXPERIMENT, .name = "find, all present", .op = "find", .hit_rate = 1,
                  .bar = 0.45},
        [MISS] = {EXPERIMENT, .name = "find, all absent", .op = "find", .hit_rate = 0},
        [TOGETHER] = {EXPERIMENT, .name = "insert and find", .op = "apply", .hit_rate = NO_HIT_RATE,
                      .figure = "concurrency efficiency", .bar = 0.95},
    };
    work w = make_work(b, n);
    uint32_t repetition, i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++)
        run_core_repetition(&w, results, repetition);
    for (i = 0; i < CORE_RESULTS; i++)
        print(b, &results[i]);
    free_work(&w);
}

/* --- in the host's memory ----------------------------------------------------------------------- */

enum { ALL_ON_HOST, OVER_BUDGET, TIERS };

/* What one of the two tables is measured as. */
typedef struct tier {
    result results[HOST_RESULTS];
    samples tenfold; /* ten times the rate of zero-copy reads, beside the mixed limit */
} tier;

/* `budget` is that of the table with one; once the other has been made, that receives what it is to be: a quarter of
 * the whole table, or what the board takes, if that is more (as in very small tables). */
static bh_table *make_far(const work *w, int which, uint64_t *budget)
{
    bh_table_options options = options_for(w, BH_STADIUM);
    bh_table_stats stats;
    bh_table *table;

    options.stadium.probe = BH_PROBE_SLOT;
    options.stadium.table_memory = BH_TABLE_MEMORY_HOST;
    if (which == OVER_BUDGET) {
        options.stadium.table_memory = BH_TABLE_MEMORY_AUTO;
        options.max_device_bytes = *budget;
    }
    if (!gpu_table_with(w->b, &options, &table))
        return NULL;
    stats = stats_of(table);
    if (which == ALL_ON_HOST)
        *budget = stats.bytes_total / BUDGETS > stats.bytes_device ? stats.bytes_total / BUDGETS
                                                                   : stats.bytes_device;
    if ((!stats.bytes_host && stats.bytes_total > *budget) || stats.bytes_device > *budget)
        fail("the slots of a table lie elsewhere than they should");
    return table;
}

/* A slot of a pair that is wider than a word has a word for each half. */
static uint32_t slot_bytes(const work *w)
{
    const settings *s = &w->b->settings;

    return s->key_bytes + s->value_bytes <= 8 ? 8 : 16;
}

static void measure_misses(const work *w, tier *t, bh_table *table)
{
    result *r = &t->results[MISS];
    const double before = gpu_limit(w->b, GPU_READ_32);
    double board, slots, most;

    if (!measure(w, r, BH_FIND, table, &w->absent, BH_MISSING, GPU_FAR_READ_32))
        return;
    board = (before + gpu_limit(w->b, GPU_READ_32)) / 2;
    slots = r->limit.at[r->limit.count - 1];
    most = 1 / (BOARD_READS / board + SLOT_READS / slots);
    sample(&r->value, r->mops.at[r->mops.count - 1] / most);
    sample(&t->tenfold, 10 * slots / most);
}

static void run_tier(const work *w, tier *t, int which, uint64_t *budget)
{
    bh_table *table = make_far(w, which, budget);
    bh_table_stats stats;
    uint32_t i;

    if (!table) {
        gpu_unsupported(t->results, HOST_RESULTS);
        return;
    }
    stats = stats_of(table);
    gpu_limits_for(w->b, stats.board_bytes);
    gpu_far_limits_for(w->b, stats.slots * slot_bytes(w));
    measure(w, &t->results[INSERT], BH_INSERT, table, &w->keys, BH_INSERTED,
            slot_bytes(w) == 8 ? GPU_FAR_WRITE_8 : GPU_FAR_WRITE_16);
    expect_whole(w, table);
    measure(w, &t->results[FIND], BH_FIND, table, &w->keys, BH_FOUND, GPU_FAR_READ_32);
    measure_misses(w, t, table);
    stats = stats_of(table);
    for (i = 0; i < HOST_RESULTS; i++)
        result_table(&t->results[i], &stats);
    bh_table_destroy(table);
}

static void run_host(bench *b, uint64_t n)
{
    static const char *const names[TIERS][HOST_RESULTS] = {
        {"insert, slots on host", "find, slots on host", "miss, slots on host"},
        {"insert, 4 x the budget", "find, 4 x the budget", "miss, 4 x the budget"}};
    static const result like[HOST_RESULTS] = {
        [INSERT] = {EXPERIMENT, .op = "insert", .hit_rate = 0, .bar = 0.4},
        [FIND] = {EXPERIMENT, .op = "find", .hit_rate = 1, .bar = 0.7},
        [MISS] = {EXPERIMENT, .op = "find", .hit_rate = 0, .figure = "of the mixed limit",
                  .bar = 0.6}};
    tier tiers[TIERS];
    work w = make_work(b, n);
    uint64_t budget = 0;
    uint32_t repetition;
    int which, i;

    for (which = 0; which < TIERS; which++) {
        memcpy(tiers[which].results, like, sizeof like);
        tiers[which].tenfold.count = 0;
        if (b->settings.fill != FILL)
            tiers[which].results[MISS].bar = 0; /* another fill has other numbers of reads */
    }
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        fill_mirrors(b, &w.keys, &w.absent, &w.values, n, salt_of(repetition));
        for (which = 0; which < TIERS; which++)
            run_tier(&w, &tiers[which], which, &budget);
    }
    for (which = 0; which < TIERS; which++) {
        tier *t = &tiers[which];

        if (t->tenfold.count && median(&t->tenfold) < t->results[MISS].bar)
            t->results[MISS].bar = median(&t->tenfold);
        for (i = 0; i < HOST_RESULTS; i++) {
            t->results[i].name = names[which][i];
            print(b, &t->results[i]);
        }
    }
    free_work(&w);
}

void run_gpu_stadium(bench *b)
{
    bench own = *b;
    settings *s = &own.settings;

    s->design = "stadium";
    s->design_is = BH_STADIUM;
    if (!s->fill_given)
        s->fill = FILL;
    run_core(&own, s->keys);
    if (s->keys > CACHED_BOARD_KEYS)
        run_core(&own, CACHED_BOARD_KEYS);
    run_host(&own, s->keys_given || s->keys < HOST_KEYS ? s->keys : HOST_KEYS);
}
