/*
 * threads: what a second thread brings, and several callers at once.
 *
 * A table in a context of one thread beside the same table in one of all threads, the same keys, one
 * right after the other. Then as many threads of the caller's own, each with calls of 1,024 keys of
 * its own, on one table whose context has a single thread: the table is shared, the pool is not.
 */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "threads", .state = "fresh"
#define CALLER_KEYS 1024
#define CALLERS_MOST 256

static bh_context *context_of(uint32_t threads)
{
    bh_context_options options;
    bh_context *context;

    bh_context_options_init(&options);
    options.threads = threads;
    check(bh_context_create("cpu", &options, &context));
    return context;
}

typedef struct caller {
    const bench *b;
    bh_op op;
    bh_table *table;
    const void *keys;
    void *values;
    uint64_t n;
} caller;

static void *call_on(void *argument)
{
    const caller *c = argument;

    timed(c->b, c->op, c->table, c->keys, c->values, c->n, CALLER_KEYS, NULL);
    return NULL;
}

/* Seconds in which `callers` threads run the operation, each on a part of the arrays. */
static double timed_callers(const bench *b, uint32_t callers, bh_op op, bh_table *table,
                            const void *keys, void *values, uint64_t n)
{
    pthread_t threads[CALLERS_MOST];
    caller of[CALLERS_MOST];
    double begin = seconds(b);
    uint32_t i;

    for (i = 0; i < callers; i++) {
        uint64_t first = n * i / callers;

        of[i] = (caller){b,
                         op,
                         table,
                         key_at(b, keys, first),
                         value_at(b, values, first),
                         n * (i + 1) / callers - first};
        if (pthread_create(&threads[i], NULL, call_on, &of[i]))
            fail("a thread cannot be started");
    }
    for (i = 0; i < callers; i++)
        pthread_join(threads[i], NULL);
    return seconds(b) - begin;
}

void run_threads(bench *b)
{
    enum { INSERT, FIND, MISS, ERASE, OPS };
    static const bh_op op[OPS] = {BH_INSERT, BH_FIND, BH_FIND, BH_ERASE};
    const uint64_t n = b->settings.keys;
    const uint32_t all = b->info.threads < CALLERS_MOST ? b->info.threads : CALLERS_MOST;
    /* Two threads: 1.8; more: in proportion. */
    const double bar = all > 1 ? 0.9 * all : 0;
    result pool[OPS] = {
        {EXPERIMENT, .name = "insert, all threads", .op = "insert", .hit_rate = 0},
        {EXPERIMENT, .name = "find, all threads", .op = "find", .hit_rate = 1},
        {EXPERIMENT, .name = "miss, all threads", .op = "find", .hit_rate = 0},
        {EXPERIMENT, .name = "erase, all threads", .op = "erase", .hit_rate = 1},
    };
    result callers[OPS] = {
        {EXPERIMENT, .name = "insert, callers", .op = "insert", .hit_rate = 0},
        {EXPERIMENT, .name = "find, callers", .op = "find", .hit_rate = 1},
        {EXPERIMENT, .name = "miss, callers", .op = "find", .hit_rate = 0},
        {EXPERIMENT, .name = "erase, callers", .op = "erase", .hit_rate = 1},
    };
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    bh_context *single = context_of(1);
    uint32_t repetition;
    int i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        bh_table *one = table_of(b, single, n), *many = table_of(b, b->context, n);
        bh_table *shared = table_of(b, single, n);
        bh_table_stats stats;

        fill_keys(b, keys, 0, n, salt_of(repetition));
        fill_keys(b, absent, n, n, salt_of(repetition));
        fill_values(b, values, keys, n);
        for (i = 0; i < OPS; i++) {
            const void *of = i == MISS ? absent : keys;
            double alone, together, called;

            if (op[i] == BH_FIND)
                memset(values, 0, n * b->settings.value_bytes);
            alone = timed(b, op[i], one, of, values, n, n, NULL);
            together = timed(b, op[i], many, of, values, n, n, NULL);
            called = timed_callers(b, all, op[i], shared, of, values, n);

            enter(&pool[i], n, together);
            sample(&pool[i].value, alone / together);
            enter(&callers[i], n, called);
            sample(&callers[i].value, alone / called);
            if (i == FIND)
                check_values(b, values, keys, n);
            if (i == INSERT)
                stats = stats_of(many);
        }
        for (i = 0; i < OPS; i++) {
            result_table(&pool[i], &stats);
            result_table(&callers[i], &stats);
        }
        bh_table_destroy(one);
        bh_table_destroy(many);
        bh_table_destroy(shared);
    }
    for (i = 0; i < OPS; i++) {
        pool[i].batch = n;
        pool[i].figure = "times one thread";
        pool[i].bar = bar;
        callers[i].batch = CALLER_KEYS;
        callers[i].figure = "times one thread, one call";
        print(b, &pool[i]);
    }
    for (i = 0; i < OPS; i++)
        print(b, &callers[i]);
    bh_context_destroy(single);
    free(keys);
    free(absent);
    free(values);
}
