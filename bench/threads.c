/*
 * threads: what a second thread brings, and several callers at once.
 *
 * A table in a context of one thread beside the same table in one of all threads, the same keys, one
 * right after the other; and once more in calls of 16,384 keys, where the time counts that threads take to come. Then as many threads of the caller's own, each with calls of 1,024 keys of
 * its own, on one table whose context has a single thread: the table is shared, the pool is not. And the same with calls
 * of 16 keys, where what all callers write to counts most.
 */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "threads", .state = "fresh"
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
    uint64_t batch;
} caller;

static void *call_on(void *argument)
{
    const caller *c = argument;

    timed(c->b, c->op, c->table, c->keys, c->values, c->n, c->batch, NULL);
    return NULL;
}

/* Seconds in which `callers` threads run the operation, each on a part of the arrays, in calls of `batch` keys. */
static double timed_callers(const bench *b, uint32_t callers, bh_op op, bh_table *table,
                            const void *keys, void *values, uint64_t n, uint64_t batch)
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
                         n * (i + 1) / callers - first,
                         batch};
        if (pthread_create(&threads[i], NULL, call_on, &of[i]))
            fail("a thread cannot be started");
    }
    for (i = 0; i < callers; i++)
        pthread_join(threads[i], NULL);
    return seconds(b) - begin;
}

void run_threads(bench *b)
{
    enum { INSERT, FIND, MISS, ERASE, OPS, SIZES = 2 };
    static const bh_op op[OPS] = {BH_INSERT, BH_FIND, BH_FIND, BH_ERASE};
    const uint64_t n = b->settings.keys;
    const uint32_t all = b->info.threads < CALLERS_MOST ? b->info.threads : CALLERS_MOST;
    /* Two threads: 1.8; more: in proportion. */
    const double bar = all > 1 ? 0.9 * all : 0;
    const uint64_t pool_batch[SIZES] = {n, 16384};
    result pool[SIZES][OPS] = {
        {{EXPERIMENT, .name = "insert, all threads", .op = "insert", .hit_rate = 0},
         {EXPERIMENT, .name = "find, all threads", .op = "find", .hit_rate = 1},
         {EXPERIMENT, .name = "miss, all threads", .op = "find", .hit_rate = 0},
         {EXPERIMENT, .name = "erase, all threads", .op = "erase", .hit_rate = 1}},
        {{EXPERIMENT, .name = "insert, all threads, 16384 keys", .op = "insert", .hit_rate = 0},
         {EXPERIMENT, .name = "find, all threads, 16384 keys", .op = "find", .hit_rate = 1},
         {EXPERIMENT, .name = "miss, all threads, 16384 keys", .op = "find", .hit_rate = 0},
         {EXPERIMENT, .name = "erase, all threads, 16384 keys", .op = "erase", .hit_rate = 1}},
    };
    static const uint64_t batch[SIZES] = {1024, 16};
    result callers[SIZES][OPS] = {
        {{EXPERIMENT, .name = "insert, callers", .op = "insert", .hit_rate = 0},
         {EXPERIMENT, .name = "find, callers", .op = "find", .hit_rate = 1},
         {EXPERIMENT, .name = "miss, callers", .op = "find", .hit_rate = 0},
         {EXPERIMENT, .name = "erase, callers", .op = "erase", .hit_rate = 1}},
        {{EXPERIMENT, .name = "insert, callers, 16 keys", .op = "insert", .hit_rate = 0},
         {EXPERIMENT, .name = "find, callers, 16 keys", .op = "find", .hit_rate = 1},
         {EXPERIMENT, .name = "miss, callers, 16 keys", .op = "find", .hit_rate = 0},
         {EXPERIMENT, .name = "erase, callers, 16 keys", .op = "erase", .hit_rate = 1}},
    };
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    bh_context *single = context_of(1);
    uint32_t repetition;
    int i, s;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        bh_table *one = table_of(b, single, n);
        bh_table *many[SIZES] = {table_of(b, b->context, n), table_of(b, b->context, n)};
        bh_table *shared[SIZES] = {table_of(b, single, n), table_of(b, single, n)};
        bh_table_stats stats;

        fill_keys(b, keys, 0, n, salt_of(repetition));
        fill_keys(b, absent, n, n, salt_of(repetition));
        fill_values(b, values, keys, n);
        for (i = 0; i < OPS; i++) {
            const void *of = i == MISS ? absent : keys;
            double alone;

            if (op[i] == BH_FIND)
                memset(values, 0, n * b->settings.value_bytes);
            alone = timed(b, op[i], one, of, values, n, n, NULL);
            for (s = 0; s < SIZES; s++) {
                double together = timed(b, op[i], many[s], of, values, n, pool_batch[s], NULL);

                enter(&pool[s][i], n, together);
                sample(&pool[s][i].value, alone / together);
            }
            for (s = 0; s < SIZES; s++) {
                double called = timed_callers(b, all, op[i], shared[s], of, values, n, batch[s]);

                enter(&callers[s][i], n, called);
                sample(&callers[s][i].value, alone / called);
            }
            if (i == FIND)
                check_values(b, values, keys, n);
            if (i == INSERT)
                stats = stats_of(many[0]);
        }
        for (i = 0; i < OPS; i++) {
            for (s = 0; s < SIZES; s++) {
                result_table(&pool[s][i], &stats);
                result_table(&callers[s][i], &stats);
            }
        }
        bh_table_destroy(one);
        for (s = 0; s < SIZES; s++) {
            bh_table_destroy(many[s]);
            bh_table_destroy(shared[s]);
        }
    }
    for (s = 0; s < SIZES; s++) {
        for (i = 0; i < OPS; i++) {
            pool[s][i].batch = pool_batch[s];
            pool[s][i].figure = s == 0 ? "times one thread" : "times one thread, one call";
            pool[s][i].bar = s == 0 ? bar : 0;
            print(b, &pool[s][i]);
        }
    }
    for (s = 0; s < SIZES; s++) {
        for (i = 0; i < OPS; i++) {
            callers[s][i].batch = batch[s];
            callers[s][i].figure = "times one thread, one call";
            print(b, &callers[s][i]);
        }
    }
    bh_context_destroy(single);
    free(keys);
    free(absent);
    free(values);
}
