/*
 * hashfight: a table that is built once and then looked up, beside sorting the same pairs, beside
 * oneTBB's map, and beside the random-line limit.
 *
 * For each number of slots per key that the paper puts forward, in every repetition: the pairs are
 * sorted, a table made for them is filled by one call, all keys are found, and as many that are not
 * there are missed. What the table takes while it is built stands beside what the paper's takes,
 * (9 + 12.6 f) bytes a pair and 8 for each in the tail, which counts the caller's arrays too.
 *
 * Then looking keys up region by region (docs/decisions/0007 and 0043), in tables of three sizes, on huge and
 * on small pages: it would pay where "by region" passes 1. (The library itself chooses the caller's order.)
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#define TBB "tbb unordered_map"

/* A peer may insert a million pairs a second only: with more keys, or more samples, it would take minutes. */
#define PEER_KEYS_MOST 50000000u
#define PEER_SAMPLES_MOST 3

enum { INSERT, FIND, MISS, BYTES, PEAK, BESIDE_TBB, RESULTS };

typedef struct work {
    bench *b;
    uint64_t n;
    double slots_per_key;
    void *keys;
    void *absent;
    void *values;
    void *sorted[2][2]; /* keys and values, twice */
    result *results;
} work;

/* Seconds that sorting the pairs takes. */
static double timed_sort(const work *w)
{
    const settings *s = &w->b->settings;
    bh__where where = {&w->b->backend->system, &w->b->backend->executor, w->b->backend->device};
    bh__sort sort = {s->key_bytes,    0,
                     s->value_bytes,  w->keys,
                     w->values,       w->n,
                     w->sorted[0][0], w->sorted[0][1],
                     w->sorted[1][0], w->sorted[1][1]};
    double begin = seconds(w->b);

    if (!w->b->backend->primitives->sort_by_key(&where, &sort))
        fail("no memory to sort");
    return seconds(w->b) - begin;
}

static void run_repetition(work *w, uint32_t repetition)
{
    bench *b = w->b;
    const settings *s = &b->settings;
    const uint64_t n = w->n;
    const double f = w->slots_per_key;
    bh_table_options options;
    bh_table_stats stats;
    bh_table *table;
    limit *l;
    double sorted, taken, before;
    int i;

    fill_keys(b, w->keys, 0, n, salt_of(repetition));
    fill_keys(b, w->absent, n, n, salt_of(repetition));
    fill_values(b, w->values, w->keys, n);
    sorted = timed_sort(w);
    bh_table_options_init(&options, s->key_bytes, s->value_bytes, n);
    options.design = BH_HASHFIGHT;
    options.hashfight.slots_per_key = f;
    check(bh_table_create(b->context, &options, &table));
    l = bench_limit(b, table);
    before = limit_run(l);
    taken = timed(b, BH_INSERT, table, w->keys, w->values, n, n, NULL);
    before = enter_beside(&w->results[INSERT], n, taken, before, l);
    sample(&w->results[INSERT].value, sorted / taken);
    stats = stats_of(table);
    for (i = 0; i < RESULTS; i++) {
        w->results[i].batch = n;
        result_table(&w->results[i], &stats);
    }
    sample(&w->results[BYTES].value, (double)stats.bytes_total / (double)n);
    sample(&w->results[PEAK].value, (double)stats.bytes_peak / ((9 + 12.6 * f) * (double)n));
    memset(w->values, 0, n * s->value_bytes);
    before = enter_beside(&w->results[FIND], n,
                          timed(b, BH_FIND, table, w->keys, w->values, n, n, NULL), before, l);
    check_values(b, w->values, w->keys, n);
    enter_beside(&w->results[MISS], n, timed(b, BH_FIND, table, w->absent, w->values, n, n, NULL),
                 before, l);
    bh_table_destroy(table);
    if (n <= PEER_KEYS_MOST && repetition < PEER_SAMPLES_MOST) {
        double theirs = timed_peer_insert(b, TBB, w->keys, w->values, n);

        if (theirs > 0) {
            enter(&w->results[BESIDE_TBB], n, taken);
            sample(&w->results[BESIDE_TBB].value, theirs / taken);
        }
    }
}

static void run_slots(bench *b, double slots_per_key, const char *suffix, double find, double miss)
{
    static const char *const what[RESULTS] = {"insert", "find", "miss", "bytes", "peak", "insert"};
    static const char *const op[RESULTS] = {"insert", "find", "find", "insert", "insert", "insert"};
    const uint64_t n = b->settings.keys;
    const int small_pairs = b->settings.key_bytes + b->settings.value_bytes == 8;
    const int tight = slots_per_key == 1.5;
    result results[RESULTS];
    char names[RESULTS][32];
    work w = {.b = b, .n = n, .slots_per_key = slots_per_key, .results = results};
    uint32_t repetition, i;

    memset(results, 0, sizeof results);
    for (i = 0; i < RESULTS; i++) {
        snprintf(names[i], sizeof names[i], "%s, %s slots", what[i], suffix);
        results[i].experiment = "hashfight";
        results[i].design = "hashfight";
        results[i].name = names[i];
        results[i].op = op[i];
        results[i].state = "fresh";
        results[i].hit_rate = i == FIND ? 1 : 0;
    }
    results[INSERT].figure = "of sorting the pairs";
    results[BYTES].figure = "bytes per pair";
    results[PEAK].figure = "peak, of the paper's";
    results[BESIDE_TBB].figure = "times " TBB;
    results[BYTES].bar_is_most = results[PEAK].bar_is_most = 1;
    if (small_pairs) {
        results[INSERT].bar = tight ? 0.6 : 0;
        results[FIND].bar = find;
        results[MISS].bar = miss;
        results[BYTES].bar = tight ? 13.5 : 0;
        results[PEAK].bar = 1;
        results[BESIDE_TBB].bar = tight ? 30 : 0;
    }
    w.keys = key_array(b, n);
    w.absent = key_array(b, n);
    w.values = value_array(b, n);
    for (i = 0; i < 2; i++) {
        w.sorted[i][0] = key_array(b, n);
        w.sorted[i][1] = value_array(b, n);
    }
    for (repetition = 0; repetition < b->settings.repetitions; repetition++)
        run_repetition(&w, repetition);
    for (i = 0; i < RESULTS; i++)
        if (i != BESIDE_TBB || results[i].value.count)
            print(b, &results[i]);
    for (i = 0; i < 2; i++) {
        free(w.sorted[i][0]);
        free(w.sorted[i][1]);
    }
    free(w.keys);
    free(w.absent);
    free(w.values);
}

/* Lookups in the caller's order, by region, and as the library chooses, in tables of growing size on
 * huge and on small pages. */
static void run_regions_of(const bench *b, bh_context *context, uint64_t n, const char *pages)
{
    enum { WINDOW, REGIONS, CHOSEN, WAYS };
    static const bh_schedule schedules[WAYS] = {BH_SCHEDULE_WINDOW, BH_SCHEDULE_REGIONS,
                                                BH_SCHEDULE_AUTO};
    static const char *const what[WAYS] = {"in order", "by region", "as chosen"};
    const settings *s = &b->settings;
    void *keys = key_array(b, n), *values = value_array(b, n);
    /* A call of few keys is too short to be timed alone: several are. */
    uint64_t calls = s->keys / 4 / n + 1, call;
    bh_table *tables[WAYS];
    result results[WAYS];
    char names[WAYS][48];
    double taken[WAYS];
    uint32_t repetition, i;

    memset(results, 0, sizeof results);
    fill_keys(b, keys, 0, n, salt_of(0));
    fill_values(b, values, keys, n);
    for (i = 0; i < WAYS; i++) {
        bh_table_options options;

        bh_table_options_init(&options, s->key_bytes, s->value_bytes, n);
        options.design = BH_HASHFIGHT;
        options.hashfight.slots_per_key = 1.03;
        options.schedule = schedules[i];
        check(bh_table_create(context, &options, &tables[i]));
        check(bh_insert(tables[i], keys, values, n, NULL));
    }
    for (repetition = 0; repetition < s->repetitions; repetition++) {
        for (i = 0; i < WAYS; i++) {
            bh_table_stats stats = stats_of(tables[i]);

            memset(values, 0, n * s->value_bytes);
            taken[i] = 0;
            for (call = 0; call < calls; call++)
                taken[i] += timed(b, BH_FIND, tables[i], keys, values, n, n, NULL) / (double)calls;
            check_values(b, values, keys, n);
            result_table(&results[i], &stats);
            enter(&results[i], n, taken[i]);
        }
        sample(&results[REGIONS].value, taken[WINDOW] / taken[REGIONS]);
        sample(&results[CHOSEN].value,
               (taken[WINDOW] < taken[REGIONS] ? taken[WINDOW] : taken[REGIONS]) / taken[CHOSEN]);
    }
    for (i = 0; i < WAYS; i++) {
        snprintf(names[i], sizeof names[i], "%s, %s, %.0f M", what[i], pages, (double)n / 1048576);
        results[i].experiment = "hashfight";
        results[i].design = "hashfight";
        results[i].name = names[i];
        results[i].op = "find";
        results[i].state = "fresh";
        results[i].hit_rate = 1;
        results[i].batch = n;
        if (i == REGIONS)
            results[i].figure = "of in order";
        if (i == CHOSEN) {
            results[i].figure = "of the better";
            results[i].bar = 0.95;
        }
        print(b, &results[i]);
        bh_table_destroy(tables[i]);
    }
    free(keys);
    free(values);
}

static void run_regions(const bench *b, bh_pages pages, const char *name)
{
    bh_context_options options;
    bh_context *context;
    uint64_t n;

    bh_context_options_init(&options);
    options.threads = b->settings.threads;
    options.pages = pages;
    check(bh_context_create("cpu", &options, &context));
    for (n = b->settings.keys / 64; n <= b->settings.keys; n *= 8)
        if (n)
            run_regions_of(b, context, n, name);
    bh_context_destroy(context);
}

void run_hashfight(bench *b)
{
    run_slots(b, 1.03, "1.03", 0, 0);
    run_slots(b, 1.5, "1.5", 0.38, 0.30);
    run_slots(b, 1.75, "1.75", 0.48, 0.42);
    run_regions(b, BH_PAGES_AUTO, "2 MiB");
    run_regions(b, BH_PAGES_SMALL, "4 KiB");
}
