/*
 * stadium: tables with a ticket-board, 0.8 and 0.95 full, by bucket and with tickets of 8 bits.
 *
 * A lookup reads b lines of the board and s lines of slots, and the board, a ninth of the table with 4+4 bytes,
 * may lie in a cache in which the slots do not. So lookups are judged by the *mixed limit*,
 * 1 / (b / L_board + s / L_slots), where L is the rate at which the machine reads random lines of so much memory,
 * and b and s come from a simulation (the experiment `lines` counts slots anew). In every repetition a table
 * of DyCuckoo, 0.8 full, does the same right before or after.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DYCUCKOO_FILL 0.8

/* Lines of the board and of slots. */
typedef struct lines {
    double board, slots;
} lines;

static const struct level {
    double fill;
    double insert; /* bars: of DyCuckoo's rate */
    double bytes;
    lines hit, miss;
    lines turned, compacted; /* misses after three turnovers, and after compacting too */
} levels[] = {
    {0.8, 0.6, 0, {1.00, 1.01}, {1.04, 0.115}, {1.36, 0.36}, {1.13, 0.21}},
    {0.95, 0.4, 9.6, {1.05, 1.05}, {0, 0}, {0, 0}, {0, 0}},
};

enum {
    INSERT,
    FIND,
    MISS,
    MISS_BESIDE,
    ADD,
    TURNED,
    COMPACTED,
    BYTES,
    GROWN,
    FIND_GROWN,
    EFFICIENCY,
    BOARD_LIMIT,
    RESULTS
};

typedef struct work {
    bench *b;
    uint64_t n;
    const struct level *level;
    void *keys;
    void *absent;
    void *values;
    uint8_t *ops;
    limit *board; /* the limit of memory as large as the board */
    limit *slots; /* of the table */
    result results[RESULTS];
} work;

static bh_table *table_at(const work *w, bh_design design, uint64_t capacity)
{
    const settings *s = &w->b->settings;
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, capacity);
    options.design = design;
    options.max_fill = design == BH_STADIUM ? w->level->fill : DYCUCKOO_FILL;
    check(bh_table_create(w->b->context, &options, &table));
    return table;
}

/* Looks keys up, beside the mixed limit. */
static void find_beside_limit(work *w, int at, bh_table *table, const void *keys, lines l)
{
    result *r = &w->results[at];
    const double board = limit_run(w->board), slots = limit_run(w->slots);
    const double taken = timed(w->b, BH_FIND, table, keys, w->values, w->n, w->n, NULL);
    const double most = 1 / (l.board / ((board + limit_run(w->board)) / 2) +
                             l.slots / ((slots + limit_run(w->slots)) / 2));

    enter(r, w->n, taken);
    sample(&r->value, (double)w->n / taken / 1e6 / most);
}

/* Concurrency efficiency as in the paper's figure 15: the time of inserting half of the keys and that of looking
 * up the other half, added up, beside the time of one call that does both. */
static void run_efficiency(work *w)
{
    const uint64_t half = w->n / 2;
    bh_table *apart = table_at(w, BH_STADIUM, w->n), *both = table_at(w, BH_STADIUM, w->n);
    void *const new = key_at(w->b, w->keys, half);
    double sum, begin, taken;

    fill_values(w->b, w->values, w->keys, w->n);
    check(bh_insert(apart, w->keys, w->values, half, NULL));
    check(bh_insert(both, w->keys, w->values, half, NULL));
    sum = timed(w->b, BH_INSERT, apart, new, w->values, half, half, NULL);
    sum += timed(w->b, BH_FIND, apart, w->keys, w->values, half, half, NULL);
    fill_groups(w->b, w->ops, w->absent, new, w->keys, half);
    begin = seconds(w->b);
    check(bh_apply(both, w->ops, w->absent, w->values, 2 * half, NULL));
    taken = seconds(w->b) - begin;
    enter(&w->results[EFFICIENCY], 2 * half, taken);
    sample(&w->results[EFFICIENCY].value, sum / taken);
    bh_table_destroy(apart);
    bh_table_destroy(both);
}

static void run_growth_of(work *w, double reserved, double found)
{
    const uint64_t n = w->n;
    bh_table *table = table_at(w, BH_STADIUM, 1);
    double taken;

    fill_values(w->b, w->values, w->keys, n);
    taken = timed(w->b, BH_INSERT, table, w->keys, w->values, n, CALL_KEYS, NULL);
    enter(&w->results[GROWN], n, taken);
    sample(&w->results[GROWN].value, reserved / taken);
    taken = timed(w->b, BH_FIND, table, w->keys, w->values, n, n, NULL);
    enter(&w->results[FIND_GROWN], n, taken);
    sample(&w->results[FIND_GROWN].value, found / taken);
    bh_table_destroy(table);
}

static void run_repetition(work *w, uint32_t repetition)
{
    bench *b = w->b;
    const uint64_t n = w->n;
    const uint32_t salt = salt_of(repetition);
    couple c = {table_at(w, BH_STADIUM, n), table_at(w, BH_DYCUCKOO, n), (int)(repetition % 2)};
    bh_table_stats stats = stats_of(c.table);
    double taken, found, before, board_rate;
    int i;

    w->slots = bench_limit(b, c.table);
    if (!w->board) {
        w->board = limit_create(b->backend, stats.board_bytes);
        if (!w->board)
            fail("there is no memory for the limit of the board");
        limit_tune(w->board);
    }
    fill_keys(b, w->keys, 0, n, salt);
    fill_keys(b, w->absent, n, n, salt);
    fill_values(b, w->values, w->keys, n);
    compare(b, &w->results[INSERT], &c, BH_INSERT, w->keys, w->values, n, n, NULL);
    taken = 0;
    stats = stats_of(c.table);
    if (stats.keys != n || stats.grows)
        fail("a table made for its keys has grown");
    for (i = 0; i < RESULTS; i++) {
        w->results[i].batch = i == GROWN ? CALL_KEYS : n;
        result_table(&w->results[i], &stats);
    }
    sample(&w->results[BYTES].value, (double)stats.bytes_total / (double)n);
    before = limit_run(w->slots);
    board_rate = limit_run(w->board);
    enter(&w->results[BOARD_LIMIT], 1, 1 / (board_rate * 1e6));
    sample(&w->results[BOARD_LIMIT].value, board_rate / before);
    memset(w->values, 0, n * b->settings.value_bytes);
    find_beside_limit(w, FIND, c.table, w->keys, w->level->hit);
    check_values(b, w->values, w->keys, n);
    found = (double)n / w->results[FIND].mops.at[w->results[FIND].mops.count - 1] / 1e6;
    compare(b, &w->results[MISS_BESIDE], &c, BH_FIND, w->absent, w->values, n, n, NULL);
    fill_values(b, w->values, w->keys, n);
    compare(b, &w->results[ADD], &c, BH_ADD, w->keys, w->values, n, n, NULL);
    taken = (double)n / w->results[INSERT].mops.at[w->results[INSERT].mops.count - 1] / 1e6;
    if (w->level->miss.board > 0) {
        find_beside_limit(w, MISS, c.table, w->absent, w->level->miss);
        turn_over(b, c.table, w->keys, w->values, n, salt);
        fill_keys(b, w->absent, (TURNOVERS + 1) * n, n, salt);
        find_beside_limit(w, TURNED, c.table, w->absent, w->level->turned);
        check(bh_compact(c.table));
        find_beside_limit(w, COMPACTED, c.table, w->absent, w->level->compacted);
    }
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
    fill_keys(b, w->keys, 0, n, salt);
    run_growth_of(w, taken, found);
    run_efficiency(w);
}

static void run_level(work *w)
{
    static const char *const what[RESULTS] = {"insert",
                                              "find",
                                              "miss",
                                              "miss, beside",
                                              "add",
                                              "miss, turned over",
                                              "miss, compacted",
                                              "bytes",
                                              "grown",
                                              "find, grown",
                                              "insert and find",
                                              "limit, board"};
    static const char *const op[RESULTS] = {"insert", "find",   "find",   "find", "reduce", "find",
                                            "find",   "insert", "insert", "find", "apply",  "find"};
    const settings *s = &w->b->settings;
    result *results = w->results;
    char names[RESULTS][32];
    uint32_t repetition, i;

    memset(results, 0, sizeof w->results);
    for (i = 0; i < RESULTS; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s, %g", what[i], w->level->fill);
        results[i].experiment = "stadium";
        results[i].design = "stadium";
        results[i].name = names[i];
        results[i].op = op[i];
        results[i].state = i == GROWN || i == FIND_GROWN ? "grown"
                           : i == TURNED                 ? "turned over"
                                                         : "fresh";
        results[i].hit_rate = i == FIND || i == FIND_GROWN ? 1
                              : i == MISS || i == MISS_BESIDE || i == TURNED || i == COMPACTED
                                  ? 0
                                  : NO_HIT_RATE;
        results[i].figure = "times DyCuckoo's rate";
    }
    for (i = 0; i < RESULTS; i++)
        if (i == FIND || i == MISS || i == TURNED || i == COMPACTED) {
            results[i].figure = "of the mixed limit";
            results[i].bar = i == MISS ? 0.65 : 0.6;
        }
    results[INSERT].bar = w->level->insert;
    results[BYTES].figure = "bytes per pair";
    results[BYTES].bar_is_most = 1;
    results[BYTES].bar = s->key_bytes == 4 && s->value_bytes == 4 ? w->level->bytes : 0;
    results[GROWN].figure = "of inserting, reserved";
    results[GROWN].bar = 0.35;
    results[FIND_GROWN].figure = "of finding, reserved";
    results[FIND_GROWN].bar = 0.9;
    results[EFFICIENCY].figure = "concurrency efficiency";
    results[EFFICIENCY].bar = 0.8;
    results[BOARD_LIMIT].figure = "times the limit of the slots";
    for (repetition = 0; repetition < s->repetitions; repetition++)
        run_repetition(w, repetition);
    if (median(&results[BOARD_LIMIT].value) >= 1.3)
        results[MISS_BESIDE].bar = 1.15;
    for (i = 0; i < RESULTS; i++)
        if (results[i].value.count)
            print(w->b, &results[i]);
}

void run_stadium(bench *b)
{
    const uint64_t n = b->settings.keys;
    work w = {.b = b, .n = n};
    uint32_t i;

    w.keys = key_array(b, n);
    w.absent = key_array(b, n);
    w.values = value_array(b, n);
    w.ops = array(n, 1);
    for (i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        w.level = &levels[i];
        run_level(&w);
        limit_destroy(w.board);
        w.board = NULL;
    }
    free(w.keys);
    free(w.absent);
    free(w.values);
    free(w.ops);
}
