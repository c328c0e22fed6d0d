/*
 * operations on a GPU: each on a table made for its keys, with arrays on the device.
 *
 * Every repetition has fresh keys and fresh tables: inserting and finding are measured with each
 * schedule, all other operations with the schedule that the library chooses. Numbers of keys are that of
 * the settings, and one so small that the table fits in the L2 cache. The answers of each call are copied
 * back and checked outside the timed part: outcomes are counted and values compared, or, where many
 * additions went to one value, the sum of all.
 */
#include "on_gpu.h"

#include <stdio.h>
#include <string.h>

#define EXPERIMENT .experiment = "operations", .state = "fresh"

/* The ways to run inserts and finds that are measured beside each other. */
static const struct {
    const char *name; /* behind that of the operation */
    bh_schedule is;
    bh_gpu_schedule compared;
} schedules[] = {
    {"", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_DEFAULT},
    {", thread", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_THREAD},
    {", tile of 4", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE4},
    {", tile of 8", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE8},
    {", tile of 16", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE16},
    {", tile of 32", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE32},
    {", lanes", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_LANES},
    {", voter of 4", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER4},
    {", voter of 8", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER8},
    {", voter of 16", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER16},
    {", voter of 32", BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER32},
    {", in order", BH_SCHEDULE_WINDOW, BH_GPU_SCHEDULE_DEFAULT},
    {", by region", BH_SCHEDULE_REGIONS, BH_GPU_SCHEDULE_DEFAULT},
};

#define SCHEDULES (sizeof schedules / sizeof schedules[0])
/* The last two run finds as the first does: these are checked, and not printed again. */
#define FIND_SCHEDULES (SCHEDULES - 2)

enum { INSERT, FIND, MISS, HALF, BY_SCHEDULE }; /* one of these for each schedule */
enum {
    INSERT_NEW,
    FIND_OR_INSERT,
    ASSIGN,
    ADD,
    ADD_ZIPF,
    ERASE,
    APPLY,
    EXPORT,
    CLEAR,
    SORT,
    INSERT_ZIPF,
    EQUAL,
    ORDERED,
    ORDERED_ZIPF,
    FIND_ONE,
    INSERT_ONE,
    RESULTS
};

/* Lookups are repeated until there are so many of them, but no more often than this. */
#define FIND_KEYS (UINT64_C(1) << 25)
#define FINDS_MORE 15u

#define EQUAL_KEYS (1u << 16)
#define CALLS_OF_ONE 1000u

/* What one repetition works with. */
typedef struct work {
    bench *b;
    uint64_t n;
    mirrored keys;
    mirrored absent;
    mirrored mixed; /* a third array of keys */
    mirrored values;
    mirrored found; /* a second array of values */
    mirrored outcomes;
    mirrored ops;
    result (*by_schedule)[BY_SCHEDULE];
    result *results;
} work;

static gpu_call call_of(const work *w, int what, bh_table *table, const mirrored *keys,
                        const mirrored *values)
{
    gpu_call c = {
        what, table, keys->device, values->device, w->outcomes.device, w->ops.device, w->n, w->n,
        0,    0};

    return c;
}

/* A call of all keys beside a limit; its outcomes are brought back. Answers 0 when it cannot be. */
static int measure(const work *w, result *r, int what, bh_table *table, const mirrored *keys,
                   const mirrored *values, gpu_access by)
{
    gpu_call c = call_of(w, what, table, keys, values);

    if (what == BH_FIND)
        c.more = w->n > FIND_KEYS / FINDS_MORE ? (uint32_t)(FIND_KEYS / w->n) : FINDS_MORE;
    if (!gpu_measured(w->b, r, &c, by, NULL))
        return 0;
    to_host(w->b, &w->outcomes);
    return 1;
}

static void expect(const work *w, bh_outcome outcome, uint64_t count)
{
    check_outcomes(w->outcomes.host, w->n, outcome, count);
}

static void zero_found(const work *w)
{
    check_gpu(gpu_there->fill(w->b->on_gpu->gpu, w->found.device, 0, w->found.bytes));
}

/* Brings what the table says about keys to `found`, unless lookups cannot be had. */
static int look_up(const work *w, bh_table *table, const mirrored *keys)
{
    gpu_call c = call_of(w, BH_FIND, table, keys, &w->found);
    double taken;

    zero_found(w);
    if (!gpu_timed(w->b, &c, &taken))
        return 0;
    to_host(w->b, &w->outcomes);
    to_host(w->b, &w->found);
    return 1;
}

/* All keys must be there with the values that go with them. */
static void expect_present(const work *w, bh_table *table, const mirrored *keys)
{
    if (!look_up(w, table, keys))
        return;
    expect(w, BH_FOUND, w->n);
    check_values(w->b, w->found.host, keys->host, w->n);
}

static uint64_t sum_of_values(const work *w, const mirrored *values)
{
    return sum_of(values->host, w->n, w->b->settings.value_bytes);
}

/* The values of all keys must have this sum. */
static void expect_sum(const work *w, bh_table *table, uint64_t sum)
{
    const uint64_t mask = w->b->settings.value_bytes == 4 ? UINT32_MAX : UINT64_MAX;

    if (!look_up(w, table, &w->keys))
        return;
    expect(w, BH_FOUND, w->n);
    if (sum_of_values(w, &w->found) != (sum & mask))
        fail("the sum of all values is not that of all that was added");
}

static void run_finds(const work *w, bh_table *table, result *results)
{
    zero_found(w);
    if (measure(w, &results[FIND], BH_FIND, table, &w->keys, &w->found, GPU_READ_64)) {
        expect(w, BH_FOUND, w->n);
        to_host(w->b, &w->found);
        check_values(w->b, w->found.host, w->keys.host, w->n);
    }
    if (measure(w, &results[MISS], BH_FIND, table, &w->absent, &w->found, GPU_READ_64))
        expect(w, BH_MISSING, w->n);
    fill_half(w->b, w->mixed.host, w->keys.host, w->absent.host, w->n);
    to_device(w->b, &w->mixed);
    zero_found(w);
    if (measure(w, &results[HALF], BH_FIND, table, &w->mixed, &w->found, GPU_READ_64)) {
        to_host(w->b, &w->found);
        check_half(w->b, w->found.host, w->outcomes.host, w->mixed.host, w->n);
    }
}

/* Inserts into a table of that schedule and finds in it. Answers the table, or NULL. */
static bh_table *run_schedule(const work *w, uint32_t schedule)
{
    result *results = w->by_schedule[schedule];
    bh_table_stats stats;
    bh_table *table;
    uint32_t i;

    if (!gpu_scheduled_table_of(w->b, schedules[schedule].is, schedules[schedule].compared, w->n,
                                &table)) {
        gpu_unsupported(results, BY_SCHEDULE);
        return NULL;
    }
    stats = stats_of(table);
    gpu_limits_for(w->b, stats.bytes_total);
    if (measure(w, &results[INSERT], BH_INSERT, table, &w->keys, &w->values, GPU_ADD_64)) {
        expect(w, BH_INSERTED, w->n);
        stats = stats_of(table);
        if (stats.keys != w->n)
            fail("the table does not hold the keys that were inserted");
        run_finds(w, table, results);
    } else {
        gpu_unsupported(results, BY_SCHEDULE);
    }
    for (i = 0; i < BY_SCHEDULE; i++)
        result_table(&results[i], &stats);
    return table;
}

/* Calls of one key each, one after the other. */
static void run_calls_of_one(const work *w, result *r, int what, bh_table *table,
                             const mirrored *values)
{
    gpu_call c = call_of(w, what, table, &w->keys, values);
    double taken;

    c.n = w->n < CALLS_OF_ONE ? w->n : CALLS_OF_ONE;
    c.part = r->batch = 1;
    c.on_wall = 1;
    if (!gpu_timed(w->b, &c, &taken)) {
        gpu_unsupported(r, 1);
        return;
    }
    sample(&r->value, taken / (double)c.n * 1e6);
    to_host(w->b, &w->outcomes);
    check_outcomes(w->outcomes.host, c.n, what == BH_FIND ? BH_FOUND : BH_ASSIGNED, c.n);
}

/* What changes values, and no keys. */
static void run_updates(const work *w, bh_table *table, uint32_t salt)
{
    uint64_t sum = sum_of_values(w, &w->values);

    zero_found(w);
    if (measure(w, &w->results[INSERT_NEW], BH_INSERT_NEW, table, &w->keys, &w->found,
                GPU_ADD_64)) {
        expect(w, BH_FOUND, w->n);
        expect_present(w, table, &w->keys);
    }
    zero_found(w);
    if (measure(w, &w->results[FIND_OR_INSERT], BH_FIND_OR_INSERT, table, &w->keys, &w->found,
                GPU_ADD_64)) {
        expect(w, BH_FOUND, w->n);
        to_host(w->b, &w->found);
        check_values(w->b, w->found.host, w->keys.host, w->n);
    }
    if (measure(w, &w->results[ASSIGN], BH_INSERT, table, &w->keys, &w->values, GPU_ADD_64)) {
        expect(w, BH_ASSIGNED, w->n);
        expect_present(w, table, &w->keys);
    }
    run_calls_of_one(w, &w->results[FIND_ONE], BH_FIND, table, &w->found);
    run_calls_of_one(w, &w->results[INSERT_ONE], BH_INSERT, table, &w->values);
    if (measure(w, &w->results[ADD], BH_ADD, table, &w->keys, &w->values, GPU_ADD_64)) {
        expect(w, BH_ASSIGNED, w->n);
        sum *= 2;
        expect_sum(w, table, sum);
    }
    fill_zipf(w->b, w->mixed.host, w->keys.host, w->n, salt);
    fill_values(w->b, w->found.host, w->mixed.host, w->n);
    to_device(w->b, &w->mixed);
    to_device(w->b, &w->found);
    if (measure(w, &w->results[ADD_ZIPF], BH_ADD, table, &w->mixed, &w->found, GPU_ADD_64)) {
        expect(w, BH_ASSIGNED, w->n);
        expect_sum(w, table, sum + sum_of_values(w, &w->found));
    }
}

/* Of the table as a whole, beside copying as many bytes on the device. */
static int run_whole(const work *w, result *r, int what, bh_table *table, uint64_t bytes)
{
    gpu_call c = call_of(w, what, table, &w->mixed, &w->found);
    double taken;

    r->clock = "events";
    r->batch = w->n;
    if (!gpu_timed(w->b, &c, &taken)) {
        gpu_unsupported(r, 1);
        return 0;
    }
    enter(r, w->n, taken);
    sample(&r->value, gpu_copying(w->b, bytes) / taken);
    return 1;
}

/* Sorts the same pairs by key: a table that is built once has to be faster than that. */
static void run_sort(const work *w)
{
    result *r = &w->results[SORT];
    gpu_call c = call_of(w, GPU_SORT, NULL, &w->mixed, &w->found);
    double taken;

    memcpy(w->mixed.host, w->keys.host, w->n * w->b->settings.key_bytes);
    fill_values(w->b, w->found.host, w->mixed.host, w->n);
    to_device(w->b, &w->mixed);
    to_device(w->b, &w->found);
    r->clock = "events";
    r->batch = w->n;
    if (!gpu_timed(w->b, &c, &taken)) {
        gpu_unsupported(r, 1);
        return;
    }
    enter(r, w->n, taken);
    sample(&r->value, median(&w->by_schedule[0][INSERT].mops) / median(&r->mops));
}

/* What values the table holds after all that was added, a lookup says. */
static void run_export(const work *w, bh_table *table)
{
    const settings *s = &w->b->settings;
    const uint64_t bytes = w->n * (s->key_bytes + s->value_bytes);
    uint64_t sum;

    if (!look_up(w, table, &w->keys))
        return;
    sum = sum_of_values(w, &w->found);
    if (!run_whole(w, &w->results[EXPORT], GPU_EXPORT, table, bytes))
        return;
    to_host(w->b, &w->mixed);
    to_host(w->b, &w->found);
    if (sum_of(w->mixed.host, w->n, s->key_bytes) != sum_of(w->keys.host, w->n, s->key_bytes) ||
        sum_of_values(w, &w->found) != sum)
        fail("what was exported is not what the table holds");
}

static uint64_t count_ops(const work *w, bh_op op)
{
    const uint8_t *ops = w->ops.host;
    uint64_t count = 0, i;

    for (i = 0; i < w->n; i++)
        count += ops[i] == op;
    return count;
}

/* Lookups find zeros in the array of values, so it holds the values of all keys in the end only if
 * every one of them has found its own. An erasure leaves the element as it is. */
static void run_apply(const work *w, bh_table *table)
{
    result *r = &w->results[APPLY];
    const uint8_t *ops;
    uint64_t i;

    fill_mixed(w->b, w->ops.host, w->mixed.host, w->keys.host, w->absent.host, w->n);
    fill_values(w->b, w->found.host, w->mixed.host, w->n);
    ops = w->ops.host;
    for (i = 0; i < w->n; i++)
        if (ops[i] == BH_FIND)
            memset(value_at(w->b, w->found.host, i), 0, w->b->settings.value_bytes);
    to_device(w->b, &w->ops);
    to_device(w->b, &w->mixed);
    to_device(w->b, &w->found);
    if (!measure(w, r, GPU_APPLY, table, &w->mixed, &w->found, GPU_ADD_64))
        return;
    if (stats_of(table).grows)
        r->state = "grown";
    expect(w, BH_FOUND, count_ops(w, BH_FIND));
    expect(w, BH_INSERTED, count_ops(w, BH_INSERT));
    expect(w, BH_ERASED, count_ops(w, BH_ERASE));
    to_host(w->b, &w->found);
    check_values(w->b, w->found.host, w->mixed.host, w->n);
    if (look_up(w, table, &w->mixed))
        expect(w, BH_MISSING, count_ops(w, BH_ERASE));
}

/* Erases keys, and inserts others in their places. */
static void run_removals(const work *w, bh_table *table)
{
    gpu_call again = call_of(w, BH_INSERT, table, &w->keys, &w->values);
    double taken;

    if (measure(w, &w->results[ERASE], BH_ERASE, table, &w->keys, &w->found, GPU_ADD_64)) {
        expect(w, BH_ERASED, w->n);
        if (stats_of(table).keys)
            fail("the table is not what it should be after erasing everything");
    }
    gpu_timed(w->b, &again, &taken);
    run_apply(w, table);
    if (run_whole(w, &w->results[CLEAR], GPU_CLEAR, table, stats_of(table).bytes_total) &&
        stats_of(table).keys)
        fail("the table is not what it should be after clearing it");
}

/* Keys drawn with a skew into a table that is empty. What each answers is known where equal keys
 * take effect in order: no key is inserted twice then either. Answers 0 when it cannot be done. */
static int run_zipf(const work *w, result *r, bh_table *table)
{
    uint64_t keys;

    fill_values(w->b, w->found.host, w->mixed.host, w->n);
    to_device(w->b, &w->found);
    if (!measure(w, r, BH_INSERT, table, &w->mixed, &w->found, GPU_ADD_64))
        return 0;
    keys = stats_of(table).keys;
    expect(w, BH_INSERTED, keys);
    expect(w, BH_ASSIGNED, w->n - keys);
    expect_present(w, table, &w->mixed);
    return 1;
}

/* The same, and distinct keys, in a table that keeps the order of equal ones; beside how fast that
 * goes in one that need not. `w->mixed` has the keys of the skew. */
static void run_ordered(const work *w)
{
    result *distinct = &w->results[ORDERED], *zipf = &w->results[ORDERED_ZIPF];
    bh_table *table;

    if (!gpu_ordered_table_of(w->b, w->n, &table)) {
        gpu_unsupported(distinct, 1);
        gpu_unsupported(zipf, 1);
        return;
    }
    if (measure(w, distinct, BH_INSERT, table, &w->keys, &w->values, GPU_ADD_64)) {
        expect(w, BH_INSERTED, w->n);
        expect_present(w, table, &w->keys);
        sample(&distinct->value, median(&distinct->mops) / median(&w->by_schedule[0][INSERT].mops));
    }
    check(bh_clear(table));
    if (run_zipf(w, zipf, table))
        sample(&zipf->value, median(&zipf->mops) / median(&w->by_schedule[0][INSERT].mops));
    bh_table_destroy(table);
}

/* Into a table made for as many distinct keys: drawn with a skew, then all equal. */
static void run_skewed(const work *w, uint32_t salt)
{
    const uint64_t equal = w->n < EQUAL_KEYS ? w->n : EQUAL_KEYS;
    result *r = &w->results[EQUAL];
    uint64_t i;
    bh_table *table;
    gpu_call c;
    double taken;

    if (!gpu_table_of(w->b, w->n, &table))
        return;
    fill_zipf(w->b, w->mixed.host, w->keys.host, w->n, salt);
    to_device(w->b, &w->mixed);
    run_zipf(w, &w->results[INSERT_ZIPF], table);
    run_ordered(w);
    for (i = 0; i < equal; i++)
        memcpy(key_at(w->b, w->mixed.host, i), w->absent.host, w->b->settings.key_bytes);
    to_device(w->b, &w->mixed);
    c = call_of(w, BH_INSERT, table, &w->mixed, &w->values);
    c.n = c.part = r->batch = equal;
    r->clock = "events";
    if (gpu_timed(w->b, &c, &taken)) {
        enter(r, equal, taken);
        sample(&r->value, taken * 1e3);
        to_host(w->b, &w->outcomes);
        check_outcomes(w->outcomes.host, equal, BH_INSERTED, 1);
        check_outcomes(w->outcomes.host, equal, BH_ASSIGNED, equal - 1);
    } else {
        gpu_unsupported(r, 1);
    }
    bh_table_destroy(table);
}

static void run_repetition(const work *w, uint32_t repetition)
{
    const uint32_t salt = salt_of(repetition);
    bh_table *table = NULL;
    bh_table_stats stats;
    uint32_t i;

    fill_mirrors(w->b, &w->keys, &w->absent, &w->values, w->n, salt);
    for (i = SCHEDULES; i--;) {
        bh_table_destroy(table);
        table = run_schedule(w, i);
    }
    /* Where nothing can be inserted there is nothing to be done with it. */
    if (w->by_schedule[0][INSERT].unsupported) {
        gpu_unsupported(w->results, RESULTS);
        bh_table_destroy(table);
        return;
    }
    stats = stats_of(table);
    for (i = 0; i < RESULTS; i++)
        result_table(&w->results[i], &stats);
    run_updates(w, table, salt);
    run_export(w, table);
    run_removals(w, table);
    bh_table_destroy(table);
    run_sort(w);
    run_skewed(w, salt);
}

static void run_size(bench *b, uint64_t n)
{
    static const result by_schedule[BY_SCHEDULE] = {
        [INSERT] = {EXPERIMENT, .name = "insert, reserved", .op = "insert", .hit_rate = 0},
        [FIND] = {EXPERIMENT, .name = "find, all present", .op = "find", .hit_rate = 1},
        [MISS] = {EXPERIMENT, .name = "find, all absent", .op = "find", .hit_rate = 0},
        [HALF] = {EXPERIMENT, .name = "find, half present", .op = "find", .hit_rate = 0.5},
    };
    result results[RESULTS] = {
        [INSERT_NEW] = {EXPERIMENT, .name = "insert_new, all there", .op = "insert_new",
                        .hit_rate = 1},
        [FIND_OR_INSERT] = {EXPERIMENT, .name = "find_or_insert, all there", .op = "find_or_insert",
                            .hit_rate = 1},
        [ASSIGN] = {EXPERIMENT, .name = "insert, all there", .op = "insert", .hit_rate = 1},
        [ADD] = {EXPERIMENT, .name = "reduce, all there", .op = "add", .hit_rate = 1},
        [ADD_ZIPF] = {EXPERIMENT, .name = "reduce, Zipf 0.99", .op = "add", .hit_rate = 1,
                      .skew = "zipf 0.99"},
        [ERASE] = {EXPERIMENT, .name = "erase, all there", .op = "erase", .hit_rate = 1},
        [APPLY] = {EXPERIMENT, .name = "apply, 50/25/25", .op = "apply", .hit_rate = 0.75},
        [EXPORT] = {EXPERIMENT, .name = "export", .op = "export", .hit_rate = NO_HIT_RATE,
                    .figure = "of copying the pairs"},
        [CLEAR] = {EXPERIMENT, .name = "clear", .op = "clear", .hit_rate = NO_HIT_RATE,
                   .figure = "of copying the table"},
        [SORT] = {EXPERIMENT, .name = "sort the same pairs", .op = "sort", .hit_rate = NO_HIT_RATE,
                  .figure = "insert, reserved, of that"},
        [INSERT_ZIPF] = {EXPERIMENT, .name = "insert, Zipf 0.99", .op = "insert",
                         .hit_rate = NO_HIT_RATE, .skew = "zipf 0.99"},
        [EQUAL] = {EXPERIMENT, .name = "insert, all equal", .op = "insert", .hit_rate = NO_HIT_RATE,
                   .skew = "equal", .figure = "milliseconds a call"},
        [ORDERED] = {EXPERIMENT, .name = "insert, ordered", .op = "insert", .hit_rate = 0,
                     .figure = "of insert, reserved"},
        [ORDERED_ZIPF] = {EXPERIMENT, .name = "insert, ordered, Zipf 0.99", .op = "insert",
                          .hit_rate = NO_HIT_RATE, .skew = "zipf 0.99",
                          .figure = "of insert, reserved"},
        [FIND_ONE] = {EXPERIMENT, .name = "find, one key", .op = "find", .hit_rate = 1,
                      .figure = "microseconds a call"},
        [INSERT_ONE] = {EXPERIMENT, .name = "insert, one key there", .op = "insert", .hit_rate = 1,
                        .figure = "microseconds a call"},
    };
    result each[SCHEDULES][BY_SCHEDULE];
    char names[SCHEDULES][BY_SCHEDULE][64];
    const settings *s = &b->settings;
    work w = {b,
              n,
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, 1),
              mirror(b, n, 1),
              each,
              results};
    mirrored *arrays[] = {&w.keys, &w.absent, &w.mixed, &w.values, &w.found, &w.outcomes, &w.ops};
    uint32_t repetition, i, j;

    for (i = 0; i < SCHEDULES; i++) {
        memcpy(each[i], by_schedule, sizeof by_schedule);
        for (j = 0; j < BY_SCHEDULE; j++) {
            snprintf(names[i][j], sizeof names[i][j], "%s%s", by_schedule[j].name,
                     schedules[i].name);
            each[i][j].name = names[i][j];
        }
    }
    if (n == s->keys) {
        each[0][FIND].bar = gpu_bar(b, BH_DYCUCKOO, 0.7);
        each[0][MISS].bar = gpu_bar(b, BH_DYCUCKOO, 0.6);
        each[0][INSERT].bar = gpu_bar(b, BH_DYCUCKOO, 0.6);
        results[SORT].bar = gpu_bar(b, BH_HASHFIGHT, 0.5);
        results[EXPORT].bar = gpu_bar(b, BH_DYCUCKOO, 0.5);
    }
    for (repetition = 0; repetition < s->repetitions; repetition++)
        run_repetition(&w, repetition);
    for (j = 0; j < BY_SCHEDULE; j++)
        for (i = 0; i < (j == INSERT ? SCHEDULES : FIND_SCHEDULES); i++)
            print(b, &each[i][j]);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    for (i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        mirror_free(b, arrays[i]);
}

void run_gpu_operations(bench *b)
{
    uint64_t sizes[2];
    uint32_t count = gpu_sizes(b, sizes), i;

    for (i = 0; i < count; i++)
        run_size(b, sizes[i]);
}
