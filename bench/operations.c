/*
 * operations: each operation on a table made for its keys, beside the random-line limit.
 *
 * In every repetition a fresh table and fresh keys, made outside the timed part; the limit is
 * measured before and after each operation. Changes also stand beside changing as many random lines, each under a
 * locked instruction where there are several threads. Then operations that random lines do not bound: reducing onto
 * few keys, compared with reducing onto all keys alike; inserting in order (BH_DUPLICATES_ORDERED),
 * compared with inserting as if concurrent; exporting and clearing, compared with copying as many bytes;
 * and the memory that a table made for its keys takes.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "operations", .state = "fresh"
#define CHANGES "of changing random lines"

enum {
    FIND,
    MISS,
    HALF,
    INSERT,
    ADD,
    ERASE,
    FIND_OR_INSERT,
    APPLY,   /* beside the limit */
    CHANGED, /* no operation: lines alone */
    INSERT_CHANGED,
    ADD_CHANGED,
    ERASE_CHANGED,
    ZIPF,
    EQUAL,
    ORDERED,
    ORDERED_ZIPF,
    EXPORT,
    CLEAR,
    RESULTS
};

/* The bars depend on how many random lines all threads read. A machine has those of the last row whose number of lines it
 * reaches. */
static const struct bars {
    double lines;                                    /* millions per second */
    double find, miss, insert, reduce, erase, apply; /* u32->u32 */
    double wide_find, wide_insert;                   /* u64->u64 */
} classes[] = {
    {0, 0.60, 0.55, 0.38, 0.42, 0.42, 0.35, 0.45, 0.35},
    {250, 0.66, 0.74, 0.46, 0.56, 0.56, 0.38, 0.62, 0.40},
};

/* What one repetition works with. */
typedef struct work {
    bench *b;
    uint64_t n;
    void *keys;
    void *absent;
    void *values;
    void *mixed; /* a second array of keys */
    uint8_t *ops;
    char *copy[2]; /* as many bytes as a table has */
    result *results;
    double before; /* the limit, as measured last */
} work;

/* Runs an operation between two measurements of the limit; answers its seconds. */
static double beside(work *w, int at, bh_op op, bh_table *table, const void *keys)
{
    double taken = timed(w->b, op, table, keys, w->values, w->n, w->n, NULL);

    w->before = enter_beside(&w->results[at], w->n, taken, w->before, w->b->limit);
    return taken;
}

/* Changes lines alone, and compares the operations that change keys with that. */
static void run_changes(work *w, limit *l)
{
    static const int changes[][2] = {
        {INSERT, INSERT_CHANGED}, {ADD, ADD_CHANGED}, {ERASE, ERASE_CHANGED}};
    const double rate = limit_change(l, w->b->info.threads > 1);
    size_t i;

    sample(&w->results[CHANGED].mops, rate);
    sample(&w->results[CHANGED].limit, w->before);
    sample(&w->results[CHANGED].ratio, rate / w->before);
    for (i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const samples *mops = &w->results[changes[i][0]].mops;

        sample(&w->results[changes[i][1]].value, mops->at[mops->count - 1] / rate);
    }
}

/* Finds or inserts all keys in a table with every second one of them. */
static void run_find_or_insert(work *w, limit *l, bh_table *table)
{
    const uint64_t half = w->n / 2;
    uint64_t i;

    for (i = 0; i < half; i++)
        memcpy(key_at(w->b, w->mixed, i), key_at(w->b, w->keys, 2 * i), w->b->settings.key_bytes);
    check(bh_insert(table, w->mixed, w->values, half, NULL));
    w->before = limit_run(l);
    beside(w, FIND_OR_INSERT, BH_FIND_OR_INSERT, table, w->keys);
    if (stats_of(table).keys != w->n)
        fail("keys found or inserted are not all there");
}

static void run_apply(work *w, bh_table *table)
{
    double begin;

    fill_mixed(w->b, w->ops, w->mixed, w->keys, w->absent, w->n);
    begin = seconds(w->b);
    check(bh_apply(table, w->ops, w->mixed, w->values, w->n, NULL));
    w->before =
        enter_beside(&w->results[APPLY], w->n, seconds(w->b) - begin, w->before, w->b->limit);
}

/* Reduces onto keys that are drawn with a skew; `uniform` is what reducing onto all took. */
static void run_skewed(work *w, int at, bh_table *table, double uniform)
{
    double taken = timed(w->b, BH_ADD, table, w->mixed, w->values, w->n, w->n, NULL);

    enter(&w->results[at], w->n, taken);
    sample(&w->results[at].value, uniform / taken);
}

/* Inserts in order into a table made for that; `unordered` is what inserting the same distinct keys
 * took where equal ones need no order. */
static void run_ordered(work *w, double unordered, uint32_t salt)
{
    bench *b = w->b;
    const settings *s = &b->settings;
    bh_table_options options;
    bh_table *table;
    double taken;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, w->n);
    options.max_fill = s->fill;
    options.duplicates = BH_DUPLICATES_ORDERED;
    check(bh_table_create(b->context, &options, &table));
    taken = timed(b, BH_INSERT, table, w->keys, w->values, w->n, w->n, NULL);
    enter(&w->results[ORDERED], w->n, taken);
    sample(&w->results[ORDERED].value, unordered / taken);
    if (stats_of(table).keys != w->n)
        fail("keys inserted in order are not all there");
    check(bh_clear(table));
    fill_zipf(b, w->mixed, w->keys, w->n, salt);
    taken = timed(b, BH_INSERT, table, w->mixed, w->values, w->n, w->n, NULL);
    enter(&w->results[ORDERED_ZIPF], w->n, taken);
    sample(&w->results[ORDERED_ZIPF].value, unordered / taken);
    bh_table_destroy(table);
}

static void run_export(work *w, bh_table *table)
{
    const settings *s = &w->b->settings;
    uint64_t cursor = 0, count;
    double begin = seconds(w->b), taken;

    check(bh_export(table, &cursor, w->mixed, w->values, w->n, &count));
    taken = seconds(w->b) - begin;
    if (count != w->n)
        fail("an export of everything is not everything");
    enter(&w->results[EXPORT], w->n, taken);
    sample(&w->results[EXPORT].value,
           timed_copy(w->b, w->copy[0], w->copy[1], w->n * (s->key_bytes + s->value_bytes)) /
               taken);
}

static void run_clear(work *w, bh_table *table, uint64_t bytes)
{
    double begin = seconds(w->b), taken;

    check(bh_clear(table));
    taken = seconds(w->b) - begin;
    enter(&w->results[CLEAR], w->n, taken);
    sample(&w->results[CLEAR].value, timed_copy(w->b, w->copy[0], w->copy[1], bytes) / taken);
}

static void run_repetition(work *w, uint32_t repetition)
{
    bench *b = w->b;
    const uint64_t n = w->n;
    const uint32_t salt = salt_of(repetition);
    bh_table *table = table_of(b, b->context, n);
    limit *l = bench_limit(b, table);
    bh_table_stats stats;
    double uniform, inserting;
    uint64_t i;

    fill_keys(b, w->keys, 0, n, salt);
    fill_keys(b, w->absent, n, n, salt);
    fill_values(b, w->values, w->keys, n);
    w->before = limit_run(l);
    inserting = beside(w, INSERT, BH_INSERT, table, w->keys);
    stats = stats_of(table);
    for (i = 0; i < RESULTS; i++) {
        w->results[i].batch = n;
        result_table(&w->results[i], &stats);
    }
    if (!repetition)
        for (i = 0; i < 2; i++)
            w->copy[i] = array(stats.bytes_total, 1);

    memset(w->values, 0, n * b->settings.value_bytes);
    beside(w, FIND, BH_FIND, table, w->keys);
    check_values(b, w->values, w->keys, n);
    beside(w, MISS, BH_FIND, table, w->absent);
    fill_half(b, w->mixed, w->keys, w->absent, n);
    w->before = limit_run(l);
    beside(w, HALF, BH_FIND, table, w->mixed);
    uniform = beside(w, ADD, BH_ADD, table, w->keys);
    fill_zipf(b, w->mixed, w->keys, n, salt);
    run_skewed(w, ZIPF, table, uniform);
    for (i = 0; i < n; i++)
        memcpy(key_at(b, w->mixed, i), w->keys, b->settings.key_bytes);
    run_skewed(w, EQUAL, table, uniform);
    run_export(w, table);
    w->before = limit_run(l);
    beside(w, ERASE, BH_ERASE, table, w->keys);
    run_changes(w, l);
    if (stats_of(table).keys || stats_of(table).grows)
        fail("the table is not what it should be after erasing everything");

    run_find_or_insert(w, l, table);
    run_apply(w, table);
    run_clear(w, table, stats.bytes_total);
    bh_table_destroy(table);
    run_ordered(w, inserting, salt);
}

/* A table made for n keys and as full as `max_fill`. */
static void run_memory(const work *w, double max_fill, const char *name, double bar)
{
    const settings *s = &w->b->settings;
    result r = {EXPERIMENT,      .name = name,
                .op = "insert",  .hit_rate = NO_HIT_RATE,
                .batch = w->n,   .figure = "bytes per pair",
                .bar_is_most = 1};
    bh_table_options options;
    bh_table_stats stats;
    bh_table *table;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, w->n);
    options.max_fill = max_fill;
    check(bh_table_create(w->b->context, &options, &table));
    enter(&r, w->n, timed(w->b, BH_INSERT, table, w->keys, w->values, w->n, w->n, NULL));
    stats = stats_of(table);
    result_table(&r, &stats);
    sample(&r.value, r.bytes_per_key);
    if (s->key_bytes == 4 && s->value_bytes == 4)
        r.bar = bar;
    print(w->b, &r);
    bh_table_destroy(table);
}

/* Sets the bars of the machine's class, and says which class that is. */
static void set_bars(const bench *b, result *results)
{
    const settings *s = &b->settings;
    const double lines = median(&results[FIND].limit);
    const struct bars *bars = &classes[0];
    size_t i;

    for (i = 1; i < sizeof classes / sizeof classes[0]; i++)
        if (lines >= classes[i].lines)
            bars = &classes[i];
    if (!s->json)
        printf("%.0f M random lines/s: the bars are those of machines that read %s%.0f M\n", lines,
               bars->lines > 0 ? "at least " : "less than ",
               bars->lines > 0 ? bars->lines : classes[1].lines);
    if (s->key_bytes == 4 && s->value_bytes == 4) {
        results[FIND].bar = bars->find;
        results[MISS].bar = bars->miss;
        results[INSERT].bar = bars->insert;
        results[ADD].bar = bars->reduce;
        results[ERASE].bar = bars->erase;
        results[APPLY].bar = bars->apply;
    } else if (s->key_bytes == 8 && s->value_bytes == 8) {
        results[FIND].bar = bars->wide_find;
        results[INSERT].bar = bars->wide_insert;
    }
}

void run_operations(bench *b)
{
    const uint64_t n = b->settings.keys;
    result results[RESULTS] = {
        [FIND] = {EXPERIMENT, .name = "find, all present", .op = "find", .hit_rate = 1},
        [MISS] = {EXPERIMENT, .name = "find, all absent", .op = "find", .hit_rate = 0},
        [HALF] = {EXPERIMENT, .name = "find, half present", .op = "find", .hit_rate = 0.5},
        [INSERT] = {EXPERIMENT, .name = "insert, reserved", .op = "insert", .hit_rate = 0},
        [ADD] = {EXPERIMENT, .name = "reduce, present", .op = "add", .hit_rate = 1},
        [ERASE] = {EXPERIMENT, .name = "erase, present", .op = "erase", .hit_rate = 1},
        [FIND_OR_INSERT] = {EXPERIMENT, .name = "find_or_insert, half present",
                            .op = "find_or_insert", .hit_rate = 0.5},
        [APPLY] = {EXPERIMENT, .name = "apply, 50/25/25", .op = "apply", .hit_rate = 0.75},
        [CHANGED] = {EXPERIMENT, .name = "lines changed", .op = "change", .hit_rate = NO_HIT_RATE},
        [INSERT_CHANGED] = {EXPERIMENT, .name = "insert, beside changes", .op = "insert",
                            .hit_rate = 0, .figure = CHANGES},
        [ADD_CHANGED] = {EXPERIMENT, .name = "reduce, beside changes", .op = "add", .hit_rate = 1,
                         .figure = CHANGES},
        [ERASE_CHANGED] = {EXPERIMENT, .name = "erase, beside changes", .op = "erase",
                           .hit_rate = 1, .figure = CHANGES},
        [ZIPF] = {EXPERIMENT, .name = "reduce, Zipf 0.99", .op = "add", .hit_rate = 1,
                  .skew = "zipf 0.99", .figure = "of uniform", .bar = 1},
        [EQUAL] = {EXPERIMENT, .name = "reduce, all equal", .op = "add", .hit_rate = 1,
                   .skew = "equal", .figure = "of uniform", .bar = 0.5},
        [ORDERED] = {EXPERIMENT, .name = "insert, ordered", .op = "insert", .hit_rate = 0,
                     .figure = "of unordered", .bar = 0.5},
        [ORDERED_ZIPF] = {EXPERIMENT, .name = "insert, ordered, Zipf 0.99", .op = "insert",
                          .hit_rate = NO_HIT_RATE, .skew = "zipf 0.99", .figure = "of unordered",
                          .bar = 0.5},
        [EXPORT] = {EXPERIMENT, .name = "export", .op = "export", .hit_rate = NO_HIT_RATE,
                    .figure = "of copying the pairs", .bar = 0.5},
        [CLEAR] = {EXPERIMENT, .name = "clear", .op = "clear", .hit_rate = NO_HIT_RATE,
                   .figure = "of copying the table", .bar = 0.5},
    };
    work w = {b,
              n,
              key_array(b, n),
              key_array(b, n),
              value_array(b, n),
              key_array(b, n),
              array(n, 1),
              {NULL, NULL},
              results,
              0};
    uint32_t repetition;
    int i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++)
        run_repetition(&w, repetition);
    set_bars(b, results);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    run_memory(&w, 0.85, "memory, fill 0.85", 10.9);
    run_memory(&w, 0.97, "memory, fill 0.97", 10);
    free(w.keys);
    free(w.absent);
    free(w.values);
    free(w.mixed);
    free(w.ops);
    free(w.copy[0]);
    free(w.copy[1]);
}
