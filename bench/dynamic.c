/*
 * dynamic: a table whose keys come and go, and how full it is all the while.
 *
 * The workload is that of the DyCuckoo paper (section VI-D, figure 11). First half of a run, for
 * each batch: insert its keys, find as many, erase r times as many. Second half, the two swapped:
 * find and erase a batch of keys, insert r times as many, until none is left. The keys that are
 * found and erased are drawn at random from those that are there. Fills, batch size and r are the
 * paper's defaults, smaller batches with fewer keys.
 *
 * After every call that inserts or erases, the fill must lie within [min_fill, max_fill]; below
 * the lower bound only when the table is so small that shrinking would gain nothing.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "dynamic", .state = "turned over", .op = "mixed"

#define MIN_FILL 0.5
#define MAX_FILL 0.85
#define RATIO 0.2 /* keys erased for each one inserted, and the other way round */
#define BATCH_MOST 1000000u
#define BATCHES_LEAST 32u

/* So many slots may be emptier. Above what the library calls a handful of buckets. */
#define FLOOR_SLOTS 4096u

typedef struct workload {
    const bench *b;
    bh_table *table;
    uint32_t *live; /* keys in the table, and behind them room for those to come */
    uint32_t *values;
    uint64_t count; /* of live keys */
    uint64_t next;  /* counter of the next new key */
    uint64_t random;
    uint32_t salt;
    uint64_t operations;
    double taken;
    double lowest;
    double highest;
    double fill; /* now */
} workload;

/* Brings `n` of the live keys, drawn at random, to the end of the list. */
static void draw(workload *w, uint64_t n)
{
    draw_last(w->b, w->live, w->count, n, &w->random);
}

static void run_call(workload *w, bh_op op, uint32_t *keys, uint64_t n)
{
    bh_table_stats stats;

    if (!n)
        return;
    w->taken += timed(w->b, op, w->table, keys, w->values, n, n, NULL);
    w->operations += n;
    if (op == BH_FIND)
        return;
    stats = stats_of(w->table);
    if (stats.keys != w->count)
        fail("the table does not hold the keys that were inserted and not erased");
    w->fill = (double)stats.keys / (double)stats.slots;
    w->highest = w->fill > w->highest ? w->fill : w->highest;
    if (stats.slots > FLOOR_SLOTS)
        w->lowest = w->fill < w->lowest ? w->fill : w->lowest;
}

static void insert_new(workload *w, uint64_t n)
{
    uint32_t *keys = w->live + w->count;

    fill_keys(w->b, keys, w->next, n, w->salt);
    fill_values(w->b, w->values, keys, n);
    w->next += n;
    w->count += n;
    run_call(w, BH_INSERT, keys, n);
}

static void find_last(workload *w, uint64_t n)
{
    uint32_t *keys = w->live + w->count - n;

    memset(w->values, 0, n * 4);
    run_call(w, BH_FIND, keys, n);
    check_values(w->b, w->values, keys, n);
}

static void erase_last(workload *w, uint64_t n)
{
    w->count -= n;
    run_call(w, BH_ERASE, w->live + w->count, n);
}

/* Fills that run_batches() can answer: a second half takes 1 / (1 - r) batches for each of the
 * first, and either may have a last one that is not whole. */
static uint64_t fills_most(uint64_t keys, uint64_t batch)
{
    return 3 * (keys / batch) + 4;
}

/* One run; the fill after each batch goes to fills[]. Answers how many batches there were. */
static uint32_t run_batches(workload *w, uint64_t batch, double *fills)
{
    const uint64_t keys = w->b->settings.keys, less = (uint64_t)((double)batch * RATIO);
    uint32_t batches = 0;

    while (w->next < keys) {
        uint64_t n = keys - w->next < batch ? keys - w->next : batch;

        insert_new(w, n);
        draw(w, n);
        find_last(w, n);
        erase_last(w, n < less ? n : less);
        fills[batches++] = w->fill;
    }
    while (w->count) {
        uint64_t n = w->count < batch ? w->count : batch;

        draw(w, n);
        find_last(w, n);
        erase_last(w, n);
        if (w->count)
            insert_new(w, less);
        fills[batches++] = w->fill;
    }
    return batches;
}

static void print_fills(const bench *b, const double *fills, uint32_t batches, uint64_t batch)
{
    result r = {EXPERIMENT,     .name = "fill",           .hit_rate = NO_HIT_RATE,
                .batch = batch, .keys = b->settings.keys, .figure = "fill after a batch"};
    uint32_t i;

    if (!b->settings.json) {
        printf("dynamic: runs of %u batches of %llu keys, r = %.1f; fill after each batch of the "
               "first run:",
               batches, (unsigned long long)batch, RATIO);
        for (i = 0; i < batches; i++)
            printf("%s%.2f", i % 16 ? " " : "\n    ", fills[i]);
        printf("\n");
        return;
    }
    for (i = 0; i < batches; i++) {
        r.fill = r.value.at[0] = fills[i];
        r.value.count = 1;
        print(b, &r);
    }
}

void run_dynamic(bench *b)
{
    enum { RATE, LOWEST, HIGHEST, GROWS, SHRINKS, RESULTS };
    const uint64_t n = b->settings.keys;
    const uint64_t part = n / BATCHES_LEAST + 1, batch = part < BATCH_MOST ? part : BATCH_MOST;
    result results[RESULTS] = {
        {EXPERIMENT, .name = "mixed operations", .hit_rate = 1},
        {EXPERIMENT, .name = "after every call", .figure = "lowest fill", .hit_rate = NO_HIT_RATE,
         .bar = MIN_FILL},
        {EXPERIMENT, .name = "after every call", .figure = "highest fill", .hit_rate = NO_HIT_RATE,
         .bar = MAX_FILL, .bar_is_most = 1},
        {EXPERIMENT, .name = "in all runs", .figure = "subtables doubled", .hit_rate = NO_HIT_RATE},
        {EXPERIMENT, .name = "in all runs", .figure = "subtables halved", .hit_rate = NO_HIT_RATE},
    };
    double *fills = array(fills_most(n, batch), sizeof *fills);
    workload w = {.b = b, .lowest = 1};
    bh_table_options options;
    bh_table_stats stats;
    uint32_t repetition, batches;
    int i;

    w.live = array(n + batch, 4);
    w.values = array(batch, 4);
    bh_table_options_init(&options, 4, 4, 1);
    options.min_fill = MIN_FILL;
    options.max_fill = MAX_FILL;
    check(bh_table_create(b->context, &options, &w.table));
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        w.salt = salt_of(repetition);
        w.random = w.salt;
        w.next = w.operations = 0;
        w.taken = 0;
        batches = run_batches(&w, batch, fills);
        enter(&results[RATE], w.operations, w.taken);
        if (!repetition)
            print_fills(b, fills, batches, batch);
    }
    /* Bounds hold for all runs together; the lower one for none that was small all the while. */
    stats = stats_of(w.table);
    if (w.lowest < 1)
        sample(&results[LOWEST].value, w.lowest);
    sample(&results[HIGHEST].value, w.highest);
    sample(&results[GROWS].value, (double)stats.grows);
    sample(&results[SHRINKS].value, (double)stats.shrinks);
    for (i = 0; i < RESULTS; i++) {
        results[i].batch = batch;
        results[i].keys = n;
        results[i].page_bytes = stats.page_bytes;
        print(b, &results[i]);
    }
    bh_table_destroy(w.table);
    free(w.live);
    free(w.values);
    free(fills);
}
