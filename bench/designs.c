/*
 * designs: the same work on a table of each design, one after the other, at --keys pairs and at 65536, whose
 * tables lie in cache; docs/choosing.md is made of it.
 *
 * Each table has the defaults of its design and was made for its keys. A mix is one bh_apply() of eight lookups
 * to one update and one erasure, of keys that are there. Tables of a design whose changes hold the table alone
 * are slow at it, and are measured all the same.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "primitives/hash.h"

#define CACHED_KEYS (1u << 16)
#define DESIGNS_MOST 8

enum { BUILD, FIND, MISS, ADD, MIXED, ERASE, BYTES, RESULTS };

typedef struct work {
    bench *b;
    uint64_t n;
    void *keys;
    void *drawn; /* the keys in another order */
    void *absent;
    void *values;
    uint8_t *ops;
} work;

static void fill(const work *w, uint32_t salt)
{
    uint64_t random = salt, i;

    fill_keys(w->b, w->keys, 0, w->n, salt);
    fill_keys(w->b, w->absent, w->n, w->n, salt);
    memcpy(w->drawn, w->keys, w->n * w->b->settings.key_bytes);
    draw_last(w->b, w->drawn, w->n, w->n, &random);
    for (i = 0; i < w->n; i++) {
        const uint64_t dice = (bh_seed_next(&random) >> 32) * 10 >> 32;

        w->ops[i] = dice == 0 ? BH_UPDATE : dice == 1 ? BH_ERASE : BH_FIND;
    }
}

static bh_table *table_by(const work *w, bh_design design)
{
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, w->b->settings.key_bytes, w->b->settings.value_bytes, w->n);
    options.design = design;
    check(bh_table_create(w->b->context, &options, &table));
    return table;
}

static void run_table(const work *w, bh_design design, result *results)
{
    const uint64_t n = w->n;
    bench *b = w->b;
    bh_table *table = table_by(w, design);
    bh_table_stats stats;
    double begin;
    int i;

    fill_values(b, w->values, w->keys, n);
    enter(&results[BUILD], n, timed(b, BH_INSERT, table, w->keys, w->values, n, n, NULL));
    stats = stats_of(table);
    for (i = 0; i < RESULTS; i++)
        result_table(&results[i], &stats);
    sample(&results[BYTES].value, (double)stats.bytes_total / (double)n);
    enter(&results[FIND], n, timed(b, BH_FIND, table, w->drawn, w->values, n, n, NULL));
    check_values(b, w->values, w->drawn, n);
    enter(&results[MISS], n, timed(b, BH_FIND, table, w->absent, w->values, n, n, NULL));
    enter(&results[ADD], n, timed(b, BH_ADD, table, w->drawn, w->values, n, n, NULL));
    begin = seconds(b);
    check(bh_apply(table, w->ops, w->drawn, w->values, n, NULL));
    enter(&results[MIXED], n, seconds(b) - begin);
    enter(&results[ERASE], n, timed(b, BH_ERASE, table, w->keys, w->values, n, n, NULL));
    if (stats_of(table).keys)
        fail("a table has keys that were erased");
    bh_table_destroy(table);
}

static void run_size(bench *b, uint64_t n)
{
    static const char *const what[RESULTS] = {"build",    "find",  "miss", "add",
                                              "80/10/10", "erase", "bytes"};
    static const char *const op[RESULTS] = {"insert", "find",  "find",  "reduce",
                                            "apply",  "erase", "insert"};
    work w = {.b = b, .n = n};
    result results[DESIGNS_MOST][RESULTS];
    char names[DESIGNS_MOST][RESULTS][64];
    bh_design designs[DESIGNS_MOST];
    uint32_t count, repetition, d, i;

    w.keys = key_array(b, n);
    w.drawn = key_array(b, n);
    w.absent = key_array(b, n);
    w.values = value_array(b, n);
    w.ops = array(n, 1);
    memset(results, 0, sizeof results);
    for (count = 0;
         count < DESIGNS_MOST && (designs[count] = bh__design_at(count, NULL)) != BH_AUTO; count++)
        for (i = 0; i < RESULTS; i++) {
            result *r = &results[count][i];
            const char *name = bh__policy_of(designs[count])->name;

            (void)snprintf(names[count][i], sizeof names[count][i], "%s, %s", what[i], name);
            r->experiment = "designs";
            r->design = name;
            r->name = names[count][i];
            r->op = op[i];
            r->state = "fresh";
            r->hit_rate = i == FIND ? 1 : i == MISS ? 0 : NO_HIT_RATE;
            r->batch = n;
            if (i == BYTES)
                r->figure = "bytes per pair";
            else if (count)
                r->figure = "times the first design's rate";
        }
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        fill(&w, salt_of(repetition));
        for (d = 0; d < count; d++) {
            run_table(&w, designs[d], results[d]);
            for (i = 0; d && i < BYTES; i++)
                sample(&results[d][i].value,
                       results[d][i].mops.at[repetition] / results[0][i].mops.at[repetition]);
        }
    }
    for (i = 0; i < RESULTS; i++)
        for (d = 0; d < count; d++)
            print(b, &results[d][i]);
    free(w.keys);
    free(w.drawn);
    free(w.absent);
    free(w.values);
    free(w.ops);
}

void run_designs(bench *b)
{
    run_size(b, b->settings.keys);
    if (b->settings.keys > CACHED_KEYS)
        run_size(b, CACHED_KEYS);
}
