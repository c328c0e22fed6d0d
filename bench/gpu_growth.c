/*
 * growth on a GPU: a table that begins with room for 1,024 keys, filled in one call and in calls of
 * 2^20 keys, with arrays on the device.
 *
 * Beside it stands a table reserved for the same keys, filled by the same calls in the same
 * repetition: how much of the speed of inserting into reserved space is left, and of finding
 * afterwards. Which of the two comes first changes with the repetition.
 */
#include "on_gpu.h"

#include <stdio.h>
#include <string.h>

#define EXPERIMENT .experiment = "growth", .state = "grown"

#define BEGIN_KEYS 1024u
#define CALL (UINT64_C(1) << 20)

enum { IN_ONE, IN_CALLS, FIND, MISS, MOVED, RESULTS };

typedef struct work {
    bench *b;
    uint64_t n;
    mirrored keys;
    mirrored absent;
    mirrored values;
    mirrored found;
    mirrored outcomes;
    result *results;
} work;

/* The result is about the table that has grown. Answers 0 when it cannot be done. */
static int compare_tables(const work *w, result *r, const couple *c, const gpu_call *call,
                          bh_outcome is, gpu_access by)
{
    return gpu_compared(w->b, r, c, call, &w->outcomes, is, by);
}

/* Answers 0 when there is no such table. */
static int make_tables(const work *w, couple *c, uint32_t repetition)
{
    c->table_first = (int)(repetition % 2);
    if (!gpu_table_of(w->b, BEGIN_KEYS, &c->table))
        return 0;
    if (gpu_table_of(w->b, w->n, &c->beside))
        return 1;
    bh_table_destroy(c->table);
    return 0;
}

static gpu_call call_of(const work *w, int what, const mirrored *keys, const mirrored *values,
                        uint64_t part)
{
    gpu_call c = {what, NULL, keys->device, values->device, w->outcomes.device, NULL, w->n, part,
                  0,    0};

    return c;
}

/* In calls of `part` keys. Answers 0 when it cannot be done. */
static int run_growing(const work *w, result *r, uint64_t part, uint32_t repetition, couple *c)
{
    gpu_call insert = call_of(w, BH_INSERT, &w->keys, &w->values, part);
    bh_table_stats stats;

    if (!make_tables(w, c, repetition)) {
        gpu_unsupported(r, 1);
        return 0;
    }
    gpu_limits_for(w->b, stats_of(c->beside).bytes_total);
    if (!compare_tables(w, r, c, &insert, BH_INSERTED, GPU_ADD_64)) {
        bh_table_destroy(c->table);
        bh_table_destroy(c->beside);
        return 0;
    }
    stats = stats_of(c->table);
    if (stats.keys != w->n)
        fail("the table does not hold the keys that were inserted");
    result_table(r, &stats);
    return 1;
}

static void run_finds(const work *w, const couple *c)
{
    gpu_call find = call_of(w, BH_FIND, &w->keys, &w->found, w->n);
    gpu_call miss = call_of(w, BH_FIND, &w->absent, &w->found, w->n);

    check_gpu(gpu_there->fill(w->b->on_gpu->gpu, w->found.device, 0, w->found.bytes));
    if (compare_tables(w, &w->results[FIND], c, &find, BH_FOUND, GPU_READ_64)) {
        to_host(w->b, &w->found);
        check_values(w->b, w->found.host, w->keys.host, w->n);
    }
    compare_tables(w, &w->results[MISS], c, &miss, BH_MISSING, GPU_READ_64);
}

static void run_repetition(const work *w, uint32_t repetition)
{
    bh_table_stats stats;
    couple c;

    fill_mirrors(w->b, &w->keys, &w->absent, &w->values, w->n, salt_of(repetition));
    if (!run_growing(w, &w->results[IN_ONE], w->n, repetition, &c)) {
        gpu_unsupported(w->results, RESULTS);
        return;
    }
    stats = stats_of(c.table);
    sample(&w->results[MOVED].value, (double)stats.keys_moved / (double)stats.keys);
    w->results[MOVED].batch = w->n;
    result_table(&w->results[MOVED], &stats);
    result_table(&w->results[FIND], &stats);
    result_table(&w->results[MISS], &stats);
    run_finds(w, &c);
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
    if (!run_growing(w, &w->results[IN_CALLS], CALL, repetition, &c))
        return;
    bh_table_destroy(c.table);
    bh_table_destroy(c.beside);
}

void run_gpu_growth(bench *b)
{
    const settings *s = &b->settings;
    const uint64_t n = s->keys;
    result results[RESULTS] = {
        [IN_ONE] = {EXPERIMENT, .name = "insert, growing, one call", .op = "insert", .hit_rate = 0,
                    .figure = "of insert, reserved", .bar = gpu_bar(b, BH_DYCUCKOO, 0.6)},
        [IN_CALLS] = {EXPERIMENT, .name = "insert, growing, calls of 2^20", .op = "insert",
                      .hit_rate = 0, .figure = "of the same calls, reserved",
                      .bar = gpu_bar(b, BH_DYCUCKOO, 0.5)},
        [FIND] = {EXPERIMENT, .name = "find, grown", .op = "find", .hit_rate = 1,
                  .figure = "of find, reserved"},
        [MISS] = {EXPERIMENT, .name = "miss, grown", .op = "find", .hit_rate = 0,
                  .figure = "of miss, reserved"},
        [MOVED] = {EXPERIMENT, .name = "growing in one call", .op = "insert", .hit_rate = 0,
                   .figure = "keys moved per key"},
    };
    work w = {b,
              n,
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->key_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, s->value_bytes),
              mirror(b, n, 1),
              results};
    mirrored *arrays[] = {&w.keys, &w.absent, &w.values, &w.found, &w.outcomes};
    uint32_t repetition, i;

    for (repetition = 0; repetition < s->repetitions; repetition++)
        run_repetition(&w, repetition);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    for (i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        mirror_free(b, arrays[i]);
}
