/*
 * Ways to run tasks: the library's own pool of several sizes, and executors of the caller that run
 * the tasks in turn, backwards, shuffled, and on threads that yield, some of them claiming to be
 * far wider than they are. All run the same work, with growth in the middle of large batches, and
 * all must end with the same content: no task may rely on another one running beside it.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/backend.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/model.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

/* Batches large enough for the pool, all operations, duplicates where the result is certain. */
static void work(bh_context *context, test_widths widths, uint64_t seed)
{
    const uint64_t n = test_scaled_large(80000);
    bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
    model *map = model_new();
    rng random = random_start(seed);
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    uint64_t inserted = 0;

    // Distinct keys from capacity 1: grows many times inside this one call.
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 1, i), random_next(&random));
        model_put(map, batch_key(&all, i), batch_value(&all, i));
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);

    // Mixed operations on distinct keys, half of them new.
    for (uint64_t i = 0; i < n; i++) {
        uint64_t operand = 0;
        batch_set(&all, i, random_key(widths.key_bytes, 1, i + n / 2), random_next(&random));
        all.ops[i] = (uint8_t)random_below(&random, widths.value_bytes > 0 ? 8 : 5);
        operand = batch_value(&all, i);
        // The outcome is not known before the call; it is kept where the call's will be.
        all.outcomes[i] = (uint8_t)model_apply(map, (bh_op)all.ops[i], widths.value_bytes,
                                               batch_key(&all, i), &operand);
    }
    batch expected = batch_new(widths.key_bytes, widths.value_bytes, n);
    memcpy(expected.outcomes, all.outcomes, n);
    check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
    check(memcmp(expected.outcomes, all.outcomes, n) == 0, "bh_apply has other outcomes");
    batch_free(&expected);
    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);

    // Heavy duplicates: sums are the same in whatever order.
    if (widths.value_bytes > 0) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t operand = random_next(&random);
            batch_set(&all, i, random_key(widths.key_bytes, 1, n * 2 + i % 50), operand);
            operand = batch_value(&all, i);
            inserted += model_apply(map, BH_ADD, widths.value_bytes, batch_key(&all, i),
                                    &operand) == BH_INSERTED;
        }
        check_status(batch_call(table, BH_ADD, &all), BH_OK);
        check(batch_count(&all, BH_INSERTED) == inserted, "%llu INSERTED of %llu",
              (unsigned long long)batch_count(&all, BH_INSERTED), (unsigned long long)inserted);
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
    }

    // All are found, then all are erased.
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 1, i), 0);
    }
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = 0;
        bool there = model_get(map, batch_key(&all, i), &value);
        check(all.outcomes[i] == (there ? BH_FOUND : BH_MISSING) &&
                  batch_value(&all, i) == (there ? value : 0),
              "find of element %llu", (unsigned long long)i);
        (void)model_remove(map, batch_key(&all, i));
    }
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
    check_status(bh_reserve(table, 4 * n), BH_OK); // a large table is touched in parallel
    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
    check_status(bh_clear(table), BH_OK);
    check(table_stats(table).keys == 0, "keys after clear");
    batch_free(&all);
    model_free(map);
    bh_table_destroy(table);
}

/* With the narrowest pairs, which the largest number of tasks shares a line, and the widest. */
static void work_some_widths(bh_context *context)
{
    if (!TEST_THREAD_SANITIZER) {
        work(context, (test_widths){4, 4}, test_seed());
    }
    work(context, (test_widths){8, 8}, test_seed() + 1);
}

static void own_pools(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 8};
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        watched_system watched;
        bh_context *context = NULL;

        watched_start(&watched);
        context = context_new(sizes[i], NULL, &watched.system);
        work_some_widths(context);
        for (int w = 0; w < TEST_WIDTHS && sizes[i] == 2 && !TEST_THREAD_SANITIZER; w++) {
            work(context, test_all_widths[w], test_seed() + (uint64_t)w);
        }
        if (sizes[i] == 1) {
            check(watched_calls(&watched, WATCH_THREAD) == 0, "a pool of one started a thread");
        } else {
            check(watched_calls(&watched, WATCH_STARTED) > 0, "large batches started no thread");
            check(watched_calls(&watched, WATCH_STARTED) < sizes[i],
                  "a pool of %u, the caller included, started %llu threads", sizes[i],
                  (unsigned long long)watched_calls(&watched, WATCH_STARTED));
        }
        bh_context_destroy(context);
        watched_end(&watched);
    }
}

/* The executor is asked, is given tasks, and the work is right. */
static void with_executor(test_order order, uint32_t width)
{
    test_executor executor;
    bh_context *context = NULL;

    test_executor_start(&executor, order, width);
    context = context_new(0, &executor.executor, NULL);
    work_some_widths(context);
    check(width == 1 || atomic_load(&executor.tasks) > atomic_load(&executor.runs),
          "large batches were not divided into tasks");
    bh_context_destroy(context);
}

static void tasks_in_turn(void **state)
{
    (void)state;
    with_executor(TEST_IN_TURN, 1);
    with_executor(TEST_IN_TURN, 4);
}

static void tasks_reversed(void **state)
{
    (void)state;
    with_executor(TEST_REVERSED, 4);
}

static void tasks_shuffled(void **state)
{
    (void)state;
    with_executor(TEST_SHUFFLED, 3);
    with_executor(TEST_SHUFFLED, 16);
}

static void tasks_on_yielding_threads(void **state)
{
    (void)state;
    with_executor(TEST_THREADS, 2);
    with_executor(TEST_THREADS, 6);
}

static void executor_that_claims_to_be_wide(void **state)
{
    (void)state;
    with_executor(TEST_IN_TURN, 64);
    with_executor(TEST_IN_TURN, UINT32_MAX);
    with_executor(TEST_THREADS, 64);
}

/* One context, one pool, several threads that give it large batches at once, each on a table of
 * its own. */
static void work_in_a_thread(void *argument, uint32_t index)
{
    work(argument, test_all_widths[1 + index], test_seed() + index);
}

static void pool_shared_by_threads(void **state)
{
    test_executor executor;
    bh_context *context = context_new(2, NULL, NULL);
    (void)state;

    threads_run(2, work_in_a_thread, context);
    bh_context_destroy(context);
    test_executor_start(&executor, TEST_SHUFFLED, 4);
    context = context_new(0, &executor.executor, NULL);
    threads_run(2, work_in_a_thread, context);
    bh_context_destroy(context);
}

/* Several threads insert into one table that grows, on an executor that runs one thing at a time:
 * whoever holds the table alone needs the executor, so no task on it may wait for the table. */
typedef struct shared_table {
    bh_table *table;
    uint64_t n;
} shared_table;

static void insert_own_keys(void *argument, uint32_t index)
{
    const shared_table *shared = argument;
    batch all = batch_new(8, 8, shared->n);

    for (uint64_t i = 0; i < shared->n; i++) {
        batch_set(&all, i, index * shared->n + i, i);
    }
    check_status(batch_call(shared->table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    check_status(batch_call(shared->table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    batch_free(&all);
}

static void executor_that_runs_one_thing_at_a_time(void **state)
{
    const uint64_t threads = 3;
    test_executor executor;
    bh_context *context = NULL;
    shared_table shared;
    (void)state;

    test_executor_start(&executor, TEST_ONE_RUN, 4);
    context = context_new(0, &executor.executor, NULL);
    for (int round = 0; round < 3; round++) {
        shared.n = test_scaled_large(60000);
        shared.table = table_new(context, 8, 8, 1);
        threads_run((uint32_t)threads, insert_own_keys, &shared);
        check(table_stats(shared.table).keys == threads * shared.n, "keys were lost");
        bh_table_destroy(shared.table);
    }
    bh_context_destroy(context);
}

/* Where there are as many callers as the pool has threads, workers leave the tasks to them; and they come back when a caller has gone. Tasks
 * begin when they begin, and end when they may. */
enum { FIRST_TASKS = 3, SECOND_TASKS = 2, ALL_TASKS = FIRST_TASKS + SECOND_TASKS };

typedef struct meeting {
    bh_executor executor;
    atomic_bool begun[ALL_TASKS];
    atomic_bool may_end[ALL_TASKS];
    atomic_int ended;
} meeting;

static void await(const atomic_bool *what)
{
    while (!atomic_load(what)) {
        sched_yield();
    }
}

static void first_task(void *argument, uint64_t index)
{
    meeting *m = argument;

    atomic_store(&m->begun[index], true);
    await(&m->may_end[index]);
    atomic_fetch_add(&m->ended, 1);
}

static void second_task(void *argument, uint64_t index)
{
    first_task(argument, FIRST_TASKS + index);
}

static void meet(void *argument, uint32_t index)
{
    meeting *m = argument;

    if (index == 0) { // the first caller has its task 0; the worker, 1
        m->executor.run(m->executor.state, first_task, m, FIRST_TASKS);
        return;
    }
    await(&m->begun[0]);
    await(&m->begun[1]);
    if (index == 1) { // the second caller has its task 0
        m->executor.run(m->executor.state, second_task, m, SECOND_TASKS);
        return;
    }
    await(&m->begun[FIRST_TASKS]);
    atomic_store(&m->may_end[1], true);
    for (int i = 0; i < 2000; i++) {
        sched_yield();
    }
    check(!atomic_load(&m->begun[2]) && !atomic_load(&m->begun[FIRST_TASKS + 1]),
          "three tasks at a time, of two threads");
    atomic_store(&m->may_end[FIRST_TASKS], true);
    atomic_store(&m->may_end[FIRST_TASKS + 1], true);
    await(&m->begun[2]); // by the worker: the first caller still is in its first task
    atomic_store(&m->may_end[2], true);
    atomic_store(&m->may_end[0], true);
}

static void workers_leave_tasks_to_callers(void **state)
{
    bh_system system;
    bh__pool *pool = NULL;
    meeting m;

    (void)state;
    test_system(&system);
    pool = bh__pool_create(&system, 2);
    memset(&m, 0, sizeof m);
    m.executor = bh__pool_executor(pool);
    threads_run(3, meet, &m);
    check(atomic_load(&m.ended) == ALL_TASKS, "%d tasks have ended", atomic_load(&m.ended));
    bh__pool_destroy(pool);
}

/* All threads of a pool come that find a task, whether they sleep, look out, or are about to do either: no task ends before all have begun,
 * of one job, or of two that come at once. */
enum { POOL_MOST = 8 };

typedef struct gathering {
    bh_executor executor;
    uint64_t tasks[2]; // of each caller's job
    atomic_int begun;
} gathering;

static void gather(void *argument, uint64_t index)
{
    gathering *g = argument;

    (void)index;
    atomic_fetch_add(&g->begun, 1);
    while ((uint64_t)atomic_load(&g->begun) < g->tasks[0] + g->tasks[1]) {
        sched_yield();
    }
}

static void call_gathering(void *argument, uint32_t caller)
{
    gathering *g = argument;

    g->executor.run(g->executor.state, gather, g, g->tasks[caller]);
}

static void all_threads_come(void **state)
{
    bh_system system;
    rng random = random_start(test_seed());

    (void)state;
    test_system(&system);
    for (uint32_t threads = 2; threads <= POOL_MOST; threads += 3) {
        bh__pool *pool = bh__pool_create(&system, threads);
        gathering g;

        g.executor = bh__pool_executor(pool);
        for (int round = 0; round < 60; round++) {
            static const int pauses[] = {0, 0, 100, 500, 2000}; // a worker looks out 512 times
            uint64_t all = 2 + random_below(&random, threads - 1);

            // A job of one task runs in its caller, which the pool does not count.
            g.tasks[1] = all > 3 ? 2 * random_below(&random, 2) : 0;
            g.tasks[0] = all - g.tasks[1];
            atomic_store(&g.begun, 0);
            threads_run(g.tasks[1] > 0 ? 2 : 1, call_gathering, &g);
            check((uint64_t)atomic_load(&g.begun) == all, "%d tasks have begun of %llu",
                  atomic_load(&g.begun), (unsigned long long)all);
            for (int i = pauses[random_below(&random, TEST_COUNT(pauses))]; i > 0; i--) {
                sched_yield();
            }
        }
        bh__pool_destroy(pool);
    }
}

/* Where other large calls run, a call asks for its share of the threads only; a very long one asks for all. */
typedef struct counting_executor {
    bh_executor executor;
    uint64_t tasks; /* of the last job */
} counting_executor;

static uint32_t width_of_eight(void *state)
{
    (void)state;
    return 8;
}

static void run_counted(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                        uint64_t count)
{
    counting_executor *self = state;

    self->tasks = count;
    for (uint64_t i = 0; i < count; i++) {
        task(argument, i);
    }
}

static void calls_share_the_threads(void **state)
{
    static const struct {
        uint32_t others; // large calls
        uint64_t slices;
        uint64_t tasks;
    } cases[] = {{0, 3, 0}, {0, 8, 8},  {0, 4, 8},  {1, 8, 4},   {1, 4, 4},  {2, 8, 2},
                 {3, 8, 2}, {4, 16, 0}, {7, 64, 0}, {100, 8, 0}, {7, 65, 8}, {100, 80, 8}};
    counting_executor own = {{&own, width_of_eight, run_counted}, 0};
    bh_context *context = context_new(8, &own.executor, NULL);
    const uint64_t most = (uint64_t)80 * BH_SLICE_MOST;
    bh_table *table = table_new(context, 4, 4, most);
    batch all = batch_new(4, 4, most);
    bh__cpu *cpu = (bh__cpu *)(uintptr_t)table->backend;

    (void)state;
    for (uint64_t i = 0; i < most; i++) {
        batch_set(&all, i, i, i);
    }
    for (size_t c = 0; c < TEST_COUNT(cases); c++) {
        all.n = cases[c].slices * BH_SLICE_MOST;
        for (int operation = 0; operation < 2; operation++) {
            own.tasks = 0;
            cpu->large_calls = cases[c].others;
            check_status(batch_call(table, operation == 0 ? BH_INSERT : BH_FIND, &all), BH_OK);
            check(cpu->large_calls == cases[c].others, "a call is not counted any more");
            check(own.tasks == cases[c].tasks, "%llu tasks instead of %llu beside %u calls",
                  (unsigned long long)own.tasks, (unsigned long long)cases[c].tasks,
                  cases[c].others);
        }
        batch_check_all(&all, BH_FOUND);
    }
    all.n = most;
    cpu->large_calls = 0;
    batch_free(&all);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_pools),
        cmocka_unit_test(tasks_in_turn),
        cmocka_unit_test(tasks_reversed),
        cmocka_unit_test(tasks_shuffled),
        cmocka_unit_test(tasks_on_yielding_threads),
        cmocka_unit_test(executor_that_claims_to_be_wide),
        cmocka_unit_test(pool_shared_by_threads),
        cmocka_unit_test(executor_that_runs_one_thing_at_a_time),
        cmocka_unit_test(workers_leave_tasks_to_callers),
        cmocka_unit_test(all_threads_come),
        cmocka_unit_test(calls_share_the_threads),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
