/*
 * growth: a table that begins with capacity 1 and is filled in calls of some keys each.
 *
 * Beside it stands a table reserved for the same keys, in the same repetition: how much of the
 * speed of inserting into reserved space in such calls is left, page touching included, and of
 * finding afterwards. Which of the two is measured first changes with the repetition. The same with all
 * keys in one call, which the table sees coming.
 *
 * Then what growth costs besides time: keys moved for each key inserted, however many come in a
 * call; the longest pause; and the most memory that was held at once. For the last one the growth
 * is repeated in a context whose system functions count the committed bytes.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "growth", .state = "grown"

/* Calls of one key take so long that fewer keys are used. */
#define KEYS_IN_CALLS_OF_1 (1u << 22)

/* --- keys moved ---------------------------------------------------------------------------- */

static void sample_moved(result *moved, const bh_table_stats *stats)
{
    sample(&moved->value, (double)stats->keys_moved / (double)stats->keys);
    result_table(moved, stats);
}

/* Beside the figure of calls of 1: how often growth held the table alone, and so had the system put a barrier
 * into other threads (src/base/gate.h). */
static void run_moved(const bench *b, const char *name, const void *keys, void *values, uint64_t n,
                      uint64_t part)
{
    result r = {EXPERIMENT,    .name = name,    .op = "insert",
                .hit_rate = 0, .batch = part,   .figure = "keys moved per key",
                .bar = 2,      .bar_is_most = 1};
    result alone = {EXPERIMENT,    .name = "  table held alone",      .op = "insert", .hit_rate = 0,
                    .batch = part, .figure = "times per million keys"};
    bh_table *table = table_of(b, b->context, 1);
    bh_table_stats stats;

    enter(&r, n, timed(b, BH_INSERT, table, keys, values, n, part, NULL));
    stats = stats_of(table);
    sample_moved(&r, &stats);
    print(b, &r);
    sample(&alone.value, 1e6 * (double)stats.times_alone / (double)stats.keys);
    result_table(&alone, &stats);
    if (part == 1)
        print(b, &alone);
    bh_table_destroy(table);
}

/* --- memory -------------------------------------------------------------------------------- */

#define RANGES_MOST 64 /* a table has a range for each subtable, and one more while one moves */

/* System functions that count the committed bytes, and their highest number. */
typedef struct counted_system {
    bh_system system; /* for the context; its state is this struct */
    bh_system original;
    struct {
        const char *memory; /* NULL: free */
        uint64_t bytes;
        uint64_t committed;
    } range[RANGES_MOST];
    uint64_t committed;
    uint64_t peak;
} counted_system;

/* The index of the range that holds an address; NULL finds a free one. */
static int range_of(const counted_system *c, const char *memory)
{
    int i;

    for (i = 0; i < RANGES_MOST; i++)
        if (memory ? c->range[i].memory && memory >= c->range[i].memory &&
                         memory < c->range[i].memory + c->range[i].bytes
                   : !c->range[i].memory)
            return i;
    fail("the table holds its memory in another way than this benchmark can count");
}

static void *counted_reserve(void *state, uint64_t bytes)
{
    counted_system *c = state;
    char *memory = c->original.reserve(c->original.state, bytes);
    int at;

    if (!memory)
        return NULL;
    at = range_of(c, NULL);
    c->range[at].memory = memory;
    c->range[at].bytes = bytes;
    c->range[at].committed = 0;
    return memory;
}

static int counted_commit(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    counted_system *c = state;
    int failed = c->original.commit(c->original.state, memory, bytes, pages);

    if (failed)
        return failed;
    c->range[range_of(c, memory)].committed += bytes;
    c->committed += bytes;
    c->peak = c->committed > c->peak ? c->committed : c->peak;
    return 0;
}

static int counted_decommit(void *state, void *memory, uint64_t bytes)
{
    counted_system *c = state;
    int failed = c->original.decommit(c->original.state, memory, bytes);

    if (failed)
        return failed;
    c->range[range_of(c, memory)].committed -= bytes;
    c->committed -= bytes;
    return 0;
}

static void counted_unreserve(void *state, void *memory, uint64_t bytes)
{
    counted_system *c = state;
    int at = range_of(c, memory);

    c->original.unreserve(c->original.state, memory, bytes);
    c->committed -= c->range[at].committed;
    c->range[at].memory = NULL;
}

static void count_system(counted_system *c)
{
    memset(c, 0, sizeof *c);
    bh_system_default(&c->original);
    c->system = c->original;
    c->system.state = c;
    c->system.reserve = counted_reserve;
    c->system.commit = counted_commit;
    c->system.decommit = counted_decommit;
    c->system.unreserve = counted_unreserve;
}

/*
 * What the peak may be: the grown table and the old copy of one subtable. d subtables of
 * base * 2^k buckets, of which the smallest doubles: after so many doublings `larger` of them are
 * twice as large as the others, and the largest one's old copy has half its size.
 */
static uint64_t peak_allowed(const bh_table *table, const bh_table_stats *stats)
{
    uint64_t d = table->options.dycuckoo.subtables, larger = stats->grows % d;
    uint64_t smallest = stats->bytes_total / (d + larger);

    return stats->bytes_total + (larger ? smallest : smallest / 2);
}

/* The system functions are not called by two threads at once here: the table grows within one
 * call at a time, and maps memory in the calling thread. */
static void run_peak(const bench *b, const void *keys, void *values)
{
    const uint64_t n = b->settings.keys;
    result r = {EXPERIMENT,      .name = "memory in use", .op = "insert",
                .hit_rate = 0,   .batch = CALL_KEYS,      .figure = "peak, of the grown table",
                .bar_is_most = 1};
    counted_system counted;
    bh_context_options options;
    bh_context *context;
    bh_table *table;
    bh_table_stats stats;

    count_system(&counted);
    bh_context_options_init(&options);
    options.threads = b->settings.threads;
    options.system = &counted.system;
    check(bh_context_create("cpu", &options, &context));
    /* Room for the first call: so all growth is doublings, which peak_allowed counts. */
    table = table_of(b, context, CALL_KEYS);
    timed(b, BH_INSERT, table, keys, values, n, CALL_KEYS, NULL);
    stats = stats_of(table);
    result_table(&r, &stats);
    sample(&r.value, (double)counted.peak / (double)stats.bytes_total);
    r.bar = (double)peak_allowed(table, &stats) / (double)stats.bytes_total;
    print(b, &r);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

void run_growth(bench *b)
{
    enum { INSERT, ONE, FIND, MISS, BY_LIMIT, MOVED, PAUSE, CALL, RESULTS };
    const uint64_t n = b->settings.keys, few = n < KEYS_IN_CALLS_OF_1 ? n : KEYS_IN_CALLS_OF_1;
    result results[RESULTS] = {
        {EXPERIMENT, .name = "insert, growing", .op = "insert", .hit_rate = 0,
         .figure = "of insert, reserved", .bar = 0.42},
        {EXPERIMENT, .name = "insert, one call", .op = "insert", .hit_rate = 0,
         .figure = "of insert, reserved", .bar = 0.6},
        {EXPERIMENT, .name = "find, grown", .op = "find", .hit_rate = 1,
         .figure = "of find, reserved", .bar = 0.9},
        {EXPERIMENT, .name = "miss, grown", .op = "find", .hit_rate = 0,
         .figure = "of miss, reserved", .bar = 0.8},
        {EXPERIMENT}, /* the misses once more */
        {EXPERIMENT, .name = "calls of 65,536 keys", .op = "insert", .hit_rate = 0,
         .batch = CALL_KEYS, .figure = "keys moved per key", .bar = 2, .bar_is_most = 1},
        {EXPERIMENT, .name = "  table held alone", .op = "insert", .hit_rate = 0,
         .batch = CALL_KEYS, .figure = "longest pause, ms"},
        {EXPERIMENT, .name = "  one call", .op = "insert", .hit_rate = 0, .batch = CALL_KEYS,
         .figure = "longest call, ms"},
    };
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    char name[40];
    uint32_t repetition;
    int i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        uint32_t salt = salt_of(repetition);
        couple c;
        bh_table_stats stats;
        double longest;

        fill_keys(b, keys, 0, n, salt);
        fill_keys(b, absent, n, n, salt);
        fill_values(b, values, keys, n);
        c.table = table_of(b, b->context, 1);
        c.beside = table_of(b, b->context, n);
        c.table_first = (int)(repetition % 2);
        bench_limit(b, c.beside);
        compare(b, &results[INSERT], &c, BH_INSERT, keys, values, n, CALL_KEYS, &longest);
        stats = stats_of(c.table);
        sample_moved(&results[MOVED], &stats);
        sample(&results[PAUSE].value, (double)stats.longest_pause_ns * 1e-6);
        sample(&results[CALL].value, longest * 1e3);
        memset(values, 0, n * b->settings.value_bytes);
        compare(b, &results[FIND], &c, BH_FIND, keys, values, n, n, NULL);
        check_values(b, values, keys, n);
        compare(b, &results[MISS], &c, BH_FIND, absent, values, n, n, NULL);
        for (i = 0; i < RESULTS; i++)
            result_table(&results[i], &stats);
        bh_table_destroy(c.table);
        bh_table_destroy(c.beside);
        c.table = table_of(b, b->context, 1);
        c.beside = table_of(b, b->context, n);
        compare(b, &results[ONE], &c, BH_INSERT, keys, values, n, n, NULL);
        bh_table_destroy(c.table);
        bh_table_destroy(c.beside);
    }
    results[BY_LIMIT] = by_limit(b, &results[MISS], 0.5);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    run_moved(b, "calls of 1,000 keys", keys, values, n, 1000);
    snprintf(name, sizeof name, "calls of 1, %llu keys", (unsigned long long)few);
    run_moved(b, name, keys, values, few, 1);
    run_peak(b, keys, values);
    free(keys);
    free(absent);
    free(values);
}
