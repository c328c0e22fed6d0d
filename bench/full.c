/*
 * full: the cost of keys that find no place, in tables that may not grow.
 *
 * A table is reserved for half of the keys, with the memory that this takes as its budget. One call
 * inserts all keys, so half of them are refused; the same call is made again; and again, each time
 * after one key was erased. Each call is compared with inserting all keys into a table that is reserved
 * for them, in the same repetition. The longest hold is the longest time for which the table was held
 * alone: nothing grows here, so it is that of placing and refusing keys.
 *
 * On a GPU the arrays lie on the device.
 */
#include "on_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MOST 1000000u
#define ERASURES 4u
#define TIMES_BAR 3.0
#define HOLD_BAR 10.0 /* ms */

enum { FIRST, AGAIN, AFTER_ERASE, HOLD, RESULTS };

static const char *const what[RESULTS] = {"first call", "same call again", "after one erase",
                                          "longest hold"};

typedef struct work {
    const bench *b;
    uint64_t n;
    mirrored keys;
    mirrored values;
    mirrored outcomes;
} work;

/* On the CPU both sides are one. */
static bh_table *make_table(const work *w, double fill, uint64_t capacity, uint64_t budget)
{
    const settings *s = &w->b->settings;
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, capacity);
    options.design = s->design_is;
    options.max_fill = fill;
    options.min_fill = -1;
    options.max_host_bytes = options.max_device_bytes = budget;
    check(bh_table_create(w->b->context, &options, &table));
    return table;
}

/* Seconds of a call that inserts all keys. Answers in *refused how many were not done. */
static double timed_insert(const work *w, bh_table *table, uint64_t *refused)
{
    const double begin = seconds(w->b);
    const bh_status status =
        bh_insert(table, w->keys.device, w->values.device, w->n, (uint8_t *)w->outcomes.device);
    const double taken = seconds(w->b) - begin;
    const uint8_t *outcomes = (const uint8_t *)w->outcomes.host;
    uint64_t i;

    if (status != BH_ERR_FULL)
        check(status);
    to_host(w->b, &w->outcomes);
    for (i = 0, *refused = 0; i < w->n; i++)
        *refused += outcomes[i] == BH_NOT_DONE;
    if ((status == BH_ERR_FULL) != (*refused != 0))
        fail("a call that says it is full has refused nothing, or the other way round");
    return taken;
}

/* Erases the first key from *at on that the last call did not refuse. */
static void erase_one(const work *w, bh_table *table, uint64_t *at)
{
    while (*at + 1 < w->n && ((const uint8_t *)w->outcomes.host)[*at] == BH_NOT_DONE)
        ++*at;
    check(bh_erase(table, key_at(w->b, w->keys.device, *at), 1, NULL));
    ++*at;
}

/* The budget of a table for half of the keys: what it takes when they are in it. */
static uint64_t budget_of(const work *w, double fill)
{
    bh_table *table = make_table(w, fill, w->n / 2, 0);
    uint64_t bytes;

    check(bh_insert(table, w->keys.device, w->values.device, w->n / 2, NULL));
    bytes = stats_of(table).bytes_total;
    bh_table_destroy(table);
    return bytes;
}

static void run_repetition(const work *w, double fill, result *results, uint32_t repetition)
{
    double placing, taken;
    uint64_t refused, at = 0;
    bh_table_stats stats;
    bh_table *table;
    uint32_t i;

    fill_keys(w->b, w->keys.host, 0, w->n, salt_of(repetition));
    fill_values(w->b, w->values.host, w->keys.host, w->n);
    to_device(w->b, &w->keys);
    to_device(w->b, &w->values);
    table = make_table(w, fill, w->n, 0);
    placing = timed_insert(w, table, &refused);
    bh_table_destroy(table);
    if (refused)
        fail("a table that is reserved for all keys has refused some");

    table = make_table(w, fill, w->n / 2, budget_of(w, fill));
    for (i = 0; i < 2; i++) {
        taken = timed_insert(w, table, &refused);
        if (!refused)
            fail("a table that has room for half of the keys has refused none");
        enter(&results[i], w->n, taken);
        sample(&results[i].value, taken / placing);
    }
    for (i = 0; i < ERASURES; i++) {
        erase_one(w, table, &at);
        taken = timed_insert(w, table, &refused);
        enter(&results[AFTER_ERASE], w->n, taken);
        sample(&results[AFTER_ERASE].value, taken / placing);
    }
    stats = stats_of(table);
    sample(&results[HOLD].value, (double)stats.longest_pause_ns * 1e-6);
    for (i = 0; i < RESULTS; i++)
        result_table(&results[i], &stats);
    bh_table_destroy(table);
}

/* One pair of widths at one highest fill; 0: of a design that has none. */
static void run_table(const work *w, double fill)
{
    const settings *s = &w->b->settings;
    /* A design that builds a table anew at each call holds it alone as long as that takes. */
    const double hold_bar = s->design_is == BH_HASHFIGHT ? 0 : HOLD_BAR;
    const uint32_t repetitions =
        s->repetitions < REPETITIONS_MOST / ERASURES ? s->repetitions : REPETITIONS_MOST / ERASURES;
    result results[RESULTS];
    char names[RESULTS][64], at[16] = "";
    uint32_t repetition;
    int i;

    memset(results, 0, sizeof results);
    if (fill > 0)
        snprintf(at, sizeof at, " to %.2f", fill);
    for (i = 0; i < RESULTS; i++) {
        snprintf(names[i], sizeof names[i], "%u+%u%s, %s", s->key_bytes, s->value_bytes, at,
                 what[i]);
        results[i].experiment = "full";
        results[i].name = names[i];
        results[i].op = "insert";
        results[i].state = "full";
        results[i].hit_rate = NO_HIT_RATE;
        results[i].batch = w->n;
        results[i].figure = i == HOLD ? "ms" : "times the time of placing all";
        results[i].bar = i == HOLD ? hold_bar : TIMES_BAR;
        results[i].bar_is_most = 1;
    }
    for (repetition = 0; repetition < repetitions; repetition++)
        run_repetition(w, fill, results, repetition);
    for (i = 0; i < RESULTS; i++)
        print(w->b, &results[i]);
}

static void run_widths(const bench *b)
{
    /* The last is the highest there is. (Up to 0.93 every key of 8+8 bytes finds a place.) */
    static const double fills[] = {0.85, 0.93, 0.95, 0.97};
    const uint64_t n = b->settings.keys < KEYS_MOST ? b->settings.keys : KEYS_MOST;
    work w = {b, n, mirror(b, n, b->settings.key_bytes), mirror(b, n, b->settings.value_bytes),
              mirror(b, n, 1)};
    unsigned i;

    if (b->settings.design_is == BH_HASHFIGHT)
        run_table(&w, 0);
    else
        for (i = 0; i < sizeof fills / sizeof fills[0]; i++)
            run_table(&w, fills[i]);
    mirror_free(b, &w.keys);
    mirror_free(b, &w.values);
    mirror_free(b, &w.outcomes);
}

void run_full(bench *b)
{
    static const uint32_t widths[3][2] = {{8, 8}, {4, 8}, {4, 4}};
    bh_design design;
    const char *name;
    uint32_t at, i;

    for (at = 0; (design = bh__design_at(at, &name)) != BH_AUTO; at++) {
        /* On a GPU the design is an option of the program. */
        if (b->on_gpu && b->settings.design_is != design)
            continue;
        for (i = 0; i < 3; i++) {
            bench one = *b;

            one.settings.design = bh__policy_of(design)->name;
            one.settings.design_is = design;
            one.settings.key_bytes = widths[i][0];
            one.settings.value_bytes = widths[i][1];
            if (!b->settings.json && !i && !b->on_gpu)
                printf("%s\n", name);
            run_widths(&one);
        }
    }
}
