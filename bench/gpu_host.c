/*
 * host: calls on a GPU whose arrays lie on the host, from end to end.
 *
 * The arrays are in pinned memory, and in memory as malloc() gives it. Such a call can be no faster than
 * copying: the limit is copying the bytes that the call reads and those that it writes, from and to pinned
 * memory and in both directions at once. A lookup that misses some keys has to leave their values as they
 * are; lookups that miss every second key show what that costs.
 */
#include "on_gpu.h"

#include <stdlib.h>
#include <string.h>

#define EXPERIMENT                                                                                 \
    .experiment = "host", .state = "fresh", .clock = "wall", .limit_is = "keys copied"

enum { FIND, HALF, FIND_PAGEABLE, HALF_PAGEABLE, INSERT, RESULTS };

/* Arrays of a call, all in one kind of memory. */
typedef struct arrays {
    void *keys;
    void *mixed;
    void *values;
    void *found;
    uint8_t *outcomes;
} arrays;

typedef struct work {
    bench *b;
    uint64_t n;
    arrays pinned;
    arrays pageable;
    void *absent;
    mirrored in; /* what is copied for the limit */
    mirrored out;
    result *results;
} work;

static arrays make_arrays(const bench *b, uint64_t n, int pinned)
{
    const uint64_t bytes[] = {b->settings.key_bytes, b->settings.key_bytes, b->settings.value_bytes,
                              b->settings.value_bytes, 1};
    void *memory[5];
    arrays a;
    uint32_t i;

    for (i = 0; i < 5; i++)
        memory[i] = pinned ? gpu_pinned(b, n * bytes[i]) : array(n, bytes[i]);
    a.keys = memory[0];
    a.mixed = memory[1];
    a.values = memory[2];
    a.found = memory[3];
    a.outcomes = memory[4];
    return a;
}

static void free_arrays(const bench *b, arrays *a, int pinned)
{
    void *memory[] = {a->keys, a->mixed, a->values, a->found, a->outcomes};
    uint32_t i;

    for (i = 0; i < 5; i++) {
        if (pinned)
            gpu_free_pinned(b, memory[i]);
        else
            free(memory[i]);
    }
}

/* Million keys in a second when so many bytes of each go in and out. */
static double copying_rate(const work *w, uint64_t in, uint64_t out)
{
    gpu_exchange e = {w->in.device, w->in.host, w->n * in, w->out.host, w->out.device, w->n * out};
    double begin = seconds(w->b);

    check_gpu(gpu_there->exchange(w->b->on_gpu->gpu, &e));
    return (double)w->n / (seconds(w->b) - begin) * 1e-6;
}

/* Answers 0 when the design cannot do it. */
static int measure(const work *w, result *r, gpu_call *c, uint64_t in, uint64_t out)
{
    double before = copying_rate(w, in, out), taken;

    r->batch = w->n;
    if (!gpu_timed(w->b, c, &taken)) {
        gpu_unsupported(r, 1);
        return 0;
    }
    enter_between(r, w->n, taken, before, copying_rate(w, in, out));
    return 1;
}

static void run_finds(const work *w, bh_table *table, const arrays *a, result *all, result *half)
{
    const settings *s = &w->b->settings;
    gpu_call c = {BH_FIND, table, a->keys, a->found, a->outcomes, NULL, w->n, w->n, 1, 0};

    memset(a->found, 0, w->n * s->value_bytes);
    if (measure(w, all, &c, s->key_bytes, s->value_bytes + 1)) {
        check_outcomes(a->outcomes, w->n, BH_FOUND, w->n);
        check_values(w->b, a->found, a->keys, w->n);
    }
    memset(a->found, 0, w->n * s->value_bytes);
    c.keys = a->mixed;
    if (measure(w, half, &c, s->key_bytes, s->value_bytes + 1))
        check_half(w->b, a->found, a->outcomes, a->mixed, w->n);
}

static void run_repetition(const work *w, uint32_t repetition)
{
    const settings *s = &w->b->settings;
    const arrays *p = &w->pinned;
    gpu_call insert = {BH_INSERT, NULL, p->keys, p->values, p->outcomes, NULL, w->n, w->n, 1, 0};
    bh_table_stats stats;
    uint32_t i;

    fill_keys(w->b, p->keys, 0, w->n, salt_of(repetition));
    fill_keys(w->b, w->absent, w->n, w->n, salt_of(repetition));
    fill_values(w->b, p->values, p->keys, w->n);
    fill_half(w->b, p->mixed, p->keys, w->absent, w->n);
    memcpy(w->pageable.keys, p->keys, w->n * s->key_bytes);
    memcpy(w->pageable.mixed, p->mixed, w->n * s->key_bytes);
    if (!gpu_table_of(w->b, w->n, &insert.table)) {
        gpu_unsupported(w->results, RESULTS);
        return;
    }
    gpu_limits_for(w->b, stats_of(insert.table).bytes_total);
    if (measure(w, &w->results[INSERT], &insert, s->key_bytes + s->value_bytes, 1)) {
        check_outcomes(p->outcomes, w->n, BH_INSERTED, w->n);
        run_finds(w, insert.table, p, &w->results[FIND], &w->results[HALF]);
        run_finds(w, insert.table, &w->pageable, &w->results[FIND_PAGEABLE],
                  &w->results[HALF_PAGEABLE]);
    } else {
        gpu_unsupported(w->results, RESULTS);
    }
    stats = stats_of(insert.table);
    for (i = 0; i < RESULTS; i++)
        result_table(&w->results[i], &stats);
    bh_table_destroy(insert.table);
}

void run_gpu_host(bench *b)
{
    const settings *s = &b->settings;
    const uint64_t n = s->keys, pair_bytes = s->key_bytes + s->value_bytes;
    result results[RESULTS] = {
        [FIND] = {EXPERIMENT, .name = "find, pinned", .op = "find", .hit_rate = 1,
                  .bar = gpu_bar(b, BH_DYCUCKOO, 0.75)},
        [HALF] = {EXPERIMENT, .name = "find, pinned, half", .op = "find", .hit_rate = 0.5},
        [FIND_PAGEABLE] = {EXPERIMENT, .name = "find, pageable", .op = "find", .hit_rate = 1},
        [HALF_PAGEABLE] = {EXPERIMENT, .name = "find, pageable, half", .op = "find",
                           .hit_rate = 0.5},
        [INSERT] = {EXPERIMENT, .name = "insert, pinned", .op = "insert", .hit_rate = 0},
    };
    work w = {b,
              n,
              make_arrays(b, n, 1),
              make_arrays(b, n, 0),
              key_array(b, n),
              mirror(b, n, pair_bytes),
              mirror(b, n, s->value_bytes + 1),
              results};
    uint32_t repetition, i;

    copying_rate(&w, pair_bytes, 1); /* warms up */
    for (repetition = 0; repetition < s->repetitions; repetition++)
        run_repetition(&w, repetition);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    free_arrays(b, &w.pinned, 1);
    free_arrays(b, &w.pageable, 0);
    free(w.absent);
    mirror_free(b, &w.in);
    mirror_free(b, &w.out);
}
