/*
 * dachash: tables of chains of nodes, at three expected lengths, beside tables of DyCuckoo 0.8 full, and
 * beside the random-line limit.
 *
 * The *expected length* of the paper is keys / (16 * buckets): at 0.5 a bucket has 8 keys, one more than a
 * node of 64 bytes holds of 4+4 bytes. In every repetition both tables do the same, one right after the
 * other. Lookups are judged per line: DACHash reads more lines than DyCuckoo, as many more as the counts
 * below say (the experiment `lines` counts them anew), and is to read each as fast.
 *
 * A mix is one bh_apply(): finds and erasures of keys that are there, and insertions of new ones.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "primitives/hash.h"

#define DYCUCKOO_FILL 0.8
#define DYCUCKOO_HIT_LINES 1.09
#define DYCUCKOO_MISS_LINES 1.06
#define PER_LINE 0.95

/* Of 4+4 bytes, from probabilities of 4, 8 and 16 keys in a bucket on average. */
static const struct length {
    double expected;
    double hit_lines;
    double miss_lines;
    double build; /* bars: of the limit; 0: none */
    double mixed;
    double more_mixed;
    double mixed_beside; /* times DyCuckoo */
    double bytes;
} lengths[] = {
    {0.25, 1.02, 1.05, 0, 0, 0, 1.1, 16.85},
    {0.5, 1.21, 1.56, 0.36, 0.40, 0.34, 0, 12.55},
    {1, 1.75, 2.71, 0, 0, 0, 0, 10.95},
};

enum { BUILD, FIND, MISS, ADD, MIXED, MORE_MIXED, BYTES, GROWN, MOVED, RESULTS };

typedef struct work {
    bench *b;
    uint64_t n;
    const struct length *length;
    void *keys;
    void *absent;
    void *values;
    void *drawn;
    uint8_t *ops;
    result results[RESULTS];
} work;

static bh_table *table_at(const work *w, bh_design design, uint64_t capacity)
{
    const settings *s = &w->b->settings;
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, capacity);
    options.design = design;
    options.max_fill = DYCUCKOO_FILL;
    if (design == BH_DACHASH) /* keys per slot of a node of 64 bytes, of pairs as wide as these */
        options.max_fill = 16 * w->length->expected /
                           (s->key_bytes + s->value_bytes == 8    ? 7
                            : s->key_bytes + s->value_bytes == 12 ? 4
                                                                  : 3);
    check(bh_table_create(w->b->context, &options, &table));
    return table;
}

/* Seconds that a mix takes of which one in `one_in` elements inserts, and as many erase. */
static double timed_mix(const work *w, bh_table *table, uint32_t one_in, uint32_t salt)
{
    const uint32_t key_bytes = w->b->settings.key_bytes;
    uint64_t random = salt, i;
    double begin;

    for (i = 0; i < w->n; i++) {
        const uint64_t draw = bh_seed_next(&random);
        const uint32_t kind = (uint32_t)(draw >> 32) % one_in;
        const void *from = kind == 0 ? w->absent : w->keys;

        w->ops[i] = kind == 0 ? BH_INSERT : kind == 1 ? BH_ERASE : BH_FIND;
        memcpy(key_at(w->b, w->drawn, i), key_at(w->b, from, (draw & 0xffffffffu) * w->n >> 32),
               key_bytes);
    }
    begin = seconds(w->b);
    check(bh_apply(table, w->ops, w->drawn, w->values, w->n, NULL));
    return seconds(w->b) - begin;
}

/* The same mix in both tables, and beside the limit. */
static void run_mix(work *w, int at, const couple *c, uint32_t one_in, limit *l, uint32_t salt)
{
    const double other = timed_mix(w, c->beside, one_in, salt), before = limit_run(l);
    const double taken = timed_mix(w, c->table, one_in, salt);

    (void)enter_beside(&w->results[at], w->n, taken, before, l);
    sample(&w->results[at].value, other / taken);
}

static void run_growth_of(work *w, double reserved)
{
    const uint64_t n = w->n;
    bh_table *table = table_at(w, BH_DACHASH, 1);
    const double taken = timed(w->b, BH_INSERT, table, w->keys, w->values, n, CALL_KEYS, NULL);

    enter(&w->results[GROWN], n, taken);
    sample(&w->results[GROWN].value, reserved / taken);
    enter(&w->results[MOVED], n, taken);
    sample(&w->results[MOVED].value, (double)stats_of(table).keys_moved / (double)n);
    bh_table_destroy(table);
}

static void run_repetition(work *w, uint32_t repetition)
{
    bench *b = w->b;
    const uint64_t n = w->n;
    const uint32_t salt = salt_of(repetition);
    couple c = {table_at(w, BH_DACHASH, n), table_at(w, BH_DYCUCKOO, n), (int)(repetition % 2)};
    limit *l = bench_limit(b, c.table);
    bh_table_stats stats;
    double taken, before;
    int i;

    fill_keys(b, w->keys, 0, n, salt);
    fill_keys(b, w->absent, n, n, salt);
    fill_values(b, w->values, w->keys, n);
    check(bh_insert(c.beside, w->keys, w->values, n, NULL));
    before = limit_run(l);
    taken = timed(b, BH_INSERT, c.table, w->keys, w->values, n, n, NULL);
    (void)enter_beside(&w->results[BUILD], n, taken, before, l);
    stats = stats_of(c.table);
    if (stats.keys != n || stats.grows)
        fail("a table made for its keys has grown");
    for (i = 0; i < RESULTS; i++) {
        w->results[i].batch = i == GROWN || i == MOVED ? CALL_KEYS : n;
        result_table(&w->results[i], &stats);
    }
    sample(&w->results[BYTES].value, (double)stats.bytes_total / (double)n);
    memset(w->values, 0, n * b->settings.value_bytes);
    compare(b, &w->results[FIND], &c, BH_FIND, w->keys, w->values, n, n, NULL);
    check_values(b, w->values, w->keys, n);
    compare(b, &w->results[MISS], &c, BH_FIND, w->absent, w->values, n, n, NULL);
    compare(b, &w->results[ADD], &c, BH_ADD, w->keys, w->values, n, n, NULL);
    run_mix(w, MIXED, &c, 10, l, salt);
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
    /* In fresh tables once more. */
    c.table = table_at(w, BH_DACHASH, n);
    c.beside = table_at(w, BH_DYCUCKOO, n);
    fill_values(b, w->values, w->keys, n);
    check(bh_insert(c.table, w->keys, w->values, n, NULL));
    check(bh_insert(c.beside, w->keys, w->values, n, NULL));
    run_mix(w, MORE_MIXED, &c, 5, l, salt);
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
    run_growth_of(w, taken);
}

static void run_length(work *w)
{
    static const char *const what[RESULTS] = {"build",    "find",  "miss",  "add",  "mixed",
                                              "mixed 60", "bytes", "grown", "moved"};
    static const char *const op[RESULTS] = {"insert", "find",   "find",   "reduce", "apply",
                                            "apply",  "insert", "insert", "insert"};
    const struct length *length = w->length;
    const settings *s = &w->b->settings;
    const int small_pairs = s->key_bytes == 4 && s->value_bytes == 4;
    result *results = w->results, of_limit;
    char names[RESULTS][32];
    uint32_t repetition, i;

    memset(results, 0, sizeof w->results);
    for (i = 0; i < RESULTS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s, length %g", what[i], length->expected);
        results[i].experiment = "dachash";
        results[i].design = "dachash";
        results[i].name = names[i];
        results[i].op = op[i];
        results[i].state = i == GROWN || i == MOVED ? "grown" : "fresh";
        results[i].hit_rate = i == FIND ? 1 : i == MISS ? 0 : NO_HIT_RATE;
        if (i != BUILD)
            results[i].figure = "times DyCuckoo's rate";
    }
    results[BYTES].figure = "bytes per pair";
    results[GROWN].figure = "of inserting, reserved";
    results[MOVED].figure = "keys moved per key";
    results[BYTES].bar_is_most = results[MOVED].bar_is_most = 1;
    results[GROWN].bar = 0.4;
    results[MOVED].bar = 2;
    if (small_pairs) {
        results[BUILD].bar = length->build;
        results[FIND].bar = PER_LINE * DYCUCKOO_HIT_LINES / length->hit_lines;
        results[MISS].bar = PER_LINE * DYCUCKOO_MISS_LINES / length->miss_lines;
        results[MIXED].bar = length->mixed_beside;
        results[BYTES].bar = length->bytes;
    }
    for (repetition = 0; repetition < s->repetitions; repetition++)
        run_repetition(w, repetition);
    for (i = 0; i < RESULTS; i++) {
        print(w->b, &results[i]);
        if ((i == MIXED && length->mixed > 0) || (i == MORE_MIXED && length->more_mixed > 0)) {
            of_limit = by_limit(w->b, &results[i], i == MIXED ? length->mixed : length->more_mixed);
            print(w->b, &of_limit);
        }
    }
}

void run_dachash(bench *b)
{
    const uint64_t n = b->settings.keys;
    work w = {.b = b, .n = n};
    uint32_t i;

    w.keys = key_array(b, n);
    w.absent = key_array(b, n);
    w.drawn = key_array(b, n);
    w.values = value_array(b, n);
    w.ops = array(n, 1);
    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        w.length = &lengths[i];
        run_length(&w);
    }
    free(w.keys);
    free(w.absent);
    free(w.drawn);
    free(w.values);
    free(w.ops);
}
