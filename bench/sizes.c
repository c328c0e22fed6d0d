/*
 * sizes: finds, misses, inserts and erasures in tables from 2^16 pairs, which lie in a core's own
 * cache, to ten times what the last cache holds, each beside the limit of memory of its size.
 *
 * A small table is gone through many times, so that every sample is of some millions of keys. It is
 * cleared before its keys are inserted again; that is not timed.
 */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_KEYS (1u << 16)
#define LEAST_SAMPLE (1u << 22)

enum { FIND, MISS, INSERT, ERASE, OPS };

/* Pairs that fill ten times the last cache, or as many as half of the memory has room for, their
 * arrays included. */
static uint64_t most_keys(const bench *b)
{
    const double pair = b->settings.key_bytes + b->settings.value_bytes;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    double by_cache =
        10 * (double)(cache > 0 ? cache : 32l << 20) * b->settings.fill / (pair * 1.15);
    double by_memory = memory / (pair * 1.5 + 2 * pair);
    double most = by_cache < by_memory ? by_cache : by_memory;

    /* Keys of 4 bytes: half of those there are, so that there are others to miss. */
    return b->settings.key_bytes == 4 && most > (double)(1u << 31) ? 1u << 31 : (uint64_t)most;
}

static void run_size(bench *b, uint64_t n)
{
    static const char *const op[OPS] = {"find", "find", "insert", "erase"};
    static const char *const what[OPS] = {"find", "miss", "insert", "erase"};
    result results[OPS];
    char name[OPS][32];
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    /* A short run is short here too. */
    const uint64_t least = b->settings.keys < LEAST_SAMPLE ? b->settings.keys : LEAST_SAMPLE;
    const uint64_t rounds = n < least ? least / n : 1;
    uint32_t repetition, i;

    memset(results, 0, sizeof results);
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        bh_table *table = table_of(b, b->context, n);
        limit *l = bench_limit(b, table);
        bh_table_stats stats;
        double taken[OPS] = {0}, before = limit_run(l), around;
        uint64_t round;

        fill_keys(b, keys, 0, n, salt_of(repetition));
        fill_keys(b, absent, n, n, salt_of(repetition));
        fill_values(b, values, keys, n);
        for (round = 0; round < rounds; round++) {
            check(bh_clear(table));
            taken[INSERT] += timed(b, BH_INSERT, table, keys, values, n, n, NULL);
            memset(values, 0, n * b->settings.value_bytes);
            taken[FIND] += timed(b, BH_FIND, table, keys, values, n, n, NULL);
            taken[MISS] += timed(b, BH_FIND, table, absent, values, n, n, NULL);
            if (round == rounds - 1) {
                check_values(b, values, keys, n); /* the misses have left them alone */
                stats = stats_of(table);
            }
            taken[ERASE] += timed(b, BH_ERASE, table, keys, values, n, n, NULL);
        }
        around = (before + limit_run(l)) / 2;
        for (i = 0; i < OPS; i++) {
            double rate = (double)(n * rounds) / taken[i] * 1e-6;

            sample(&results[i].mops, rate);
            sample(&results[i].limit, around);
            sample(&results[i].ratio, rate / around);
            result_table(&results[i], &stats);
        }
        bh_table_destroy(table);
    }
    for (i = 0; i < OPS; i++) {
        snprintf(name[i], sizeof name[i], "%s, %llu keys", what[i], (unsigned long long)n);
        results[i].experiment = "sizes";
        results[i].state = "fresh";
        results[i].name = name[i];
        results[i].op = op[i];
        results[i].hit_rate = i == FIND || i == ERASE;
        results[i].batch = n;
        print(b, &results[i]);
    }
    free(keys);
    free(absent);
    free(values);
}

void run_sizes(bench *b)
{
    uint64_t most = most_keys(b), n;

    if (b->settings.keys_given && most > b->settings.keys)
        most = b->settings.keys;
    for (n = LEAST_KEYS; n < most; n *= 4)
        run_size(b, n);
    run_size(b, most);
}
