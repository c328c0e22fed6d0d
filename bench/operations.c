/*
 * operations: each operation on a table made for its keys, beside the random-line limit.
 *
 * In every repetition a fresh table and fresh keys, made outside the timed part; the limit is
 * measured before and after each operation. And the cost of a call with a single key, where table
 * and key are in cache, so that it is the call's own.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "operations", .state = "fresh"

#define SINGLE                                                                                     \
    .hit_rate = 1, .batch = 1, .figure = "ns per call", .bar = 1000, .bar_is_most = 1
#define SINGLE_CALLS 200000u
#define SINGLE_KEYS 512u

static void run_single(const bench *b)
{
    result results[] = {
        {EXPERIMENT, SINGLE, .name = "find, calls of 1", .op = "find"},
        {EXPERIMENT, SINGLE, .name = "insert, calls of 1", .op = "insert"},
    };
    static const bh_op op[] = {BH_FIND, BH_INSERT};
    uint32_t *keys = array(SINGLE_CALLS, 4), *values = array(SINGLE_CALLS, 4), i;
    bh_table *table = table_of(b, b->context, 2 * SINGLE_KEYS);
    bh_table_stats stats;

    for (i = 0; i < SINGLE_CALLS; i++)
        keys[i] = i % SINGLE_KEYS;
    check(bh_insert(table, keys, values, SINGLE_KEYS, NULL));
    stats = stats_of(table);
    for (i = 0; i < 2; i++) {
        double taken = timed(b, op[i], table, keys, values, SINGLE_CALLS, 1, NULL);

        result_table(&results[i], &stats);
        enter(&results[i], SINGLE_CALLS, taken);
        sample(&results[i].value, taken / SINGLE_CALLS * 1e9);
        print(b, &results[i]);
    }
    bh_table_destroy(table);
    free(keys);
    free(values);
}

void run_operations(bench *b)
{
    enum { FIND, MISS, INSERT, ADD, ERASE, RESULTS };
    const uint64_t n = b->settings.keys;
    result results[RESULTS] = {
        {EXPERIMENT, .name = "find, all present", .op = "find", .hit_rate = 1, .bar = 0.39},
        {EXPERIMENT, .name = "find, all absent", .op = "find", .hit_rate = 0, .bar = 0.32},
        {EXPERIMENT, .name = "insert, reserved", .op = "insert", .hit_rate = 0, .bar = 0.25},
        {EXPERIMENT, .name = "reduce, present", .op = "add", .hit_rate = 1},
        {EXPERIMENT, .name = "erase, present", .op = "erase", .hit_rate = 1},
    };
    uint32_t *keys = array(n, 4), *absent = array(n, 4), *values = array(n, 4);
    uint32_t repetition;
    int i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        uint32_t salt = salt_of(repetition);
        bh_table *table = table_of(b, b->context, n);
        limit *l = bench_limit(b, table);
        bh_table_stats stats;
        double taken, before;

        fill_keys(keys, 0, n, salt);
        fill_keys(absent, n, n, salt);
        fill_values(values, keys, n);
        before = limit_run(l);
        taken = timed(b, BH_INSERT, table, keys, values, n, n, NULL);
        before = enter_beside(&results[INSERT], n, taken, before, l);
        stats = stats_of(table);

        memset(values, 0, n * 4);
        taken = timed(b, BH_FIND, table, keys, values, n, n, NULL);
        before = enter_beside(&results[FIND], n, taken, before, l);
        check_values(values, keys, n);
        taken = timed(b, BH_FIND, table, absent, values, n, n, NULL);
        before = enter_beside(&results[MISS], n, taken, before, l);
        taken = timed(b, BH_ADD, table, keys, values, n, n, NULL);
        before = enter_beside(&results[ADD], n, taken, before, l);
        taken = timed(b, BH_ERASE, table, keys, values, n, n, NULL);
        enter_beside(&results[ERASE], n, taken, before, l);

        for (i = 0; i < RESULTS; i++) {
            results[i].batch = n;
            result_table(&results[i], &stats);
        }
        stats = stats_of(table);
        if (stats.keys || stats.grows)
            fail("the table is not what it should be after erasing everything");
        bh_table_destroy(table);
    }
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    run_single(b);
    free(keys);
    free(absent);
    free(values);
}
