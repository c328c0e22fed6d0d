/*
 * The gate where the system refuses what it needs to let slices in without locked instructions
 * (src/base/gate.h): the barrier from the beginning, or the n-th barrier; no presence left for a thread.
 * Calls are right all the same, and a table falls back to counting its slices. Threads give their presences
 * back when they end, and a child process waits for no thread that it does not have. Threads that want to be alone are let in
 * before those that come later.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"
#include "tables/table.h"

enum { WRITERS = 3, KEYS = TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER ? 1500 : 6000 };

static bool takes_presences(const bh_table *table)
{
    return (table->gate.word & BH__GATE_PRESENT) != 0;
}

/* Inserts own keys in calls of one, and finds each at once; erases every fourth. */
static void write_keys(bh_table *table, uint32_t thread)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        const uint64_t key = i * WRITERS + thread;
        uint64_t value = key * 3, found = 0;
        uint8_t outcome = BH_NOT_DONE;

        check_status(bh_insert(table, &key, &value, 1, &outcome), BH_OK);
        check(outcome == BH_INSERTED, "outcome %d", outcome);
        check_status(bh_find(table, &key, 1, &found, &outcome), BH_OK);
        check(outcome == BH_FOUND && found == value, "key %llu is lost", (unsigned long long)key);
        if (i % 4 == 0) {
            check_status(bh_erase(table, &key, 1, &outcome), BH_OK);
            check(outcome == BH_ERASED, "outcome %d", outcome);
        }
    }
}

/* The last thread holds the table alone again and again. */
static void write_or_hold(void *argument, uint32_t thread)
{
    bh_table *table = argument;

    if (thread < WRITERS) {
        write_keys(table, thread);
        return;
    }
    for (uint32_t i = 0; i < 20; i++) {
        struct timespec pause = {0, 300000};
        (void)nanosleep(&pause, NULL);
        check_status(bh_compact(table), BH_OK);
    }
}

static void check_content(bh_table *table)
{
    const uint64_t n = (uint64_t)WRITERS * KEYS;

    for (uint64_t key = 0; key < n; key++) {
        uint64_t found = 0;
        uint8_t outcome = BH_NOT_DONE;
        check_status(bh_find(table, &key, 1, &found, &outcome), BH_OK);
        check(outcome == (key / WRITERS % 4 == 0 ? BH_MISSING : BH_FOUND), "key %llu: outcome %d",
              (unsigned long long)key, outcome);
        check(outcome == BH_MISSING || found == key * 3, "a wrong value");
    }
    check(table_stats(table).keys == n - n / 4, "%llu keys",
          (unsigned long long)table_stats(table).keys);
}

static void no_barrier_from_the_beginning(void **state)
{
    watched_system watched;
    bh_context *context = NULL;
    bh_table *table = NULL;

    (void)state;
    watched_start(&watched);
    watched_refuse(&watched, WATCH_BIT(WATCH_PREPARE), 1, true);
    context = context_new(1, NULL, &watched.system);
    check(watched_allow(&watched) == 1, "the barrier was not prepared");
    table = table_new(context, 8, 8, 1);
    check(!takes_presences(table), "slices may enter uncounted");
    threads_run(WRITERS + 1, write_or_hold, table);
    check(!takes_presences(table) && watched_calls(&watched, WATCH_BARRIER) == 0,
          "a barrier was asked for that was not prepared");
    check_content(table);
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);
}

static void no_barrier_later(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 8; nth++) {
        watched_system watched;
        bh_context *context = NULL;
        bh_table *table = NULL;
        uint64_t fired = 0;

        watched_start(&watched);
        context = context_new(1, NULL, &watched.system);
        table = table_new(context, 8, 8, 1);
        check(takes_presences(table), "slices may not enter uncounted");
        watched_refuse(&watched, WATCH_BIT(WATCH_BARRIER), nth, nth % 2 == 0);
        threads_run(WRITERS + 1, write_or_hold, table);
        fired = watched_allow(&watched);
        check(fired == 1, "%llu barriers were refused: there should be no other after the first",
              (unsigned long long)fired);
        check(watched_calls(&watched, WATCH_BARRIER) == nth, "%llu barriers",
              (unsigned long long)watched_calls(&watched, WATCH_BARRIER));
        check(!takes_presences(table), "slices may still enter uncounted");
        check_content(table);
        check(!takes_presences(table), "slices may enter uncounted again");
        bh_table_destroy(table);
        bh_context_destroy(context);
        watched_end(&watched);
    }
}

/* A table that is often held alone asks for few barriers. */
static void few_barriers(void **state)
{
    watched_system watched;
    bh_context *context = NULL;
    bh_table *table = NULL;

    (void)state;
    watched_start(&watched);
    context = context_new(1, NULL, &watched.system);
    table = table_new(context, 8, 8, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        check_status(bh_insert(table, &i, &i, 1, NULL), BH_OK);
        check_status(bh_reserve(table, 10), BH_OK);
    }
    check(table_stats(table).times_alone >= 1000, "held alone %llu times",
          (unsigned long long)table_stats(table).times_alone);
    check(watched_calls(&watched, WATCH_BARRIER) <= 2, "%llu barriers",
          (unsigned long long)watched_calls(&watched, WATCH_BARRIER));
    for (uint64_t i = 0; i < 1000; i++) {
        check_status(bh_insert(table, &i, &i, 1, NULL), BH_OK);
    }
    check(takes_presences(table), "the gate does not open again");
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);
}

static void *insert_once(void *argument)
{
    const uint64_t key = 1;

    check_status(bh_insert(argument, &key, &key, 1, NULL), BH_OK);
    check_status(bh_insert(argument, &key, &key, 1, NULL), BH_OK);
    return NULL;
}

static void run_thread(bh_table *table)
{
    pthread_t thread;

    check(pthread_create(&thread, NULL, insert_once, table) == 0, "no thread for the test itself");
    check(pthread_join(thread, NULL) == 0, "join");
}

/* A presence for each thread, and threads beyond that. */
static void presences_of_threads(void **state)
{
    static bh__presence *all[5000];
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 8, 8, 100);
    const uint32_t before = bh__presences_taken();
    uint32_t most = 0;

    (void)state;
    for (uint32_t i = 0; i < 1500; i++) {
        run_thread(table);
        check(bh__presences_taken() == before, "a thread has kept its presence");
    }
    while (most < TEST_COUNT(all) && bh__presences_taken() == before + most) {
        all[most++] = bh__presence_take();
    }
    check(most < TEST_COUNT(all), "presences without end");
    run_thread(table); // counted
    check(takes_presences(table), "the table is closed to others");
    check(table_stats(table).keys == 1, "%llu keys", (unsigned long long)table_stats(table).keys);
    // The last one is none: there was none left.
    for (uint32_t i = 0; i + 1 < most; i++) {
        all[i]->taken = 0;
    }
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* A gate at which one thread stands, and what happens while it waits: at the n-th time that it waits something is done. */
typedef struct waiting {
    bh__gate gate;
    uint64_t waits;
    uint64_t nth;
    void (*happens)(struct waiting *w);
    uint32_t seen; /* threads that wait to be alone, just before */
} waiting;

static void wait_once(void *state)
{
    waiting *w = state;

    if (++w->waits == w->nth) {
        w->seen = w->gate.alone_waiting;
        w->happens(w);
    }
}

static void wait_once_asleep(void *state, uint64_t nanoseconds)
{
    (void)nanoseconds;
    wait_once(state);
}

static void other_leaves(waiting *w)
{
    bh__gate_leave_alone(&w->gate);
}

static void other_comes_in(waiting *w)
{
    w->gate.alone_waiting = 0;
}

static void nothing(waiting *w)
{
    (void)w;
}

/* Who wants to be alone lets those in first that have found the gate closed before it came, but does not wait for them for ever. */
static void who_waits_to_be_alone_comes_first(void **state)
{
    bh_system system;
    waiting w = {.nth = 5, .happens = other_leaves};

    (void)state;
    bh_system_default(&system);
    system.state = &w;
    system.yield = wait_once;
    system.sleep = wait_once_asleep;
    // Another thread is alone inside: this one waits, and says so.
    bh__gate_enter_alone(&w.gate, &system);
    check(w.waits == 0, "an open gate that nobody wants was waited for");
    bh__gate_enter_alone(&w.gate, &system);
    check(w.waits == 5 && w.seen == 1 && w.gate.alone_waiting == 0,
          "waited %llu times, and %u threads were counted", (unsigned long long)w.waits, w.seen);
    bh__gate_leave_alone(&w.gate);
    // Another thread has waited before this one came, and comes in.
    w = (waiting){.nth = 7, .happens = other_comes_in};
    w.gate.alone_waiting = 1;
    bh__gate_enter_alone(&w.gate, &system);
    check(w.waits == 7, "waited %llu times", (unsigned long long)w.waits);
    bh__gate_leave_alone(&w.gate);
    // Or gets no processor.
    w = (waiting){.nth = 100000, .happens = nothing};
    w.gate.alone_waiting = 1;
    bh__gate_enter_alone(&w.gate, &system);
    check(w.waits > 64 && w.waits < 1000, "waited %llu times", (unsigned long long)w.waits);
    check(w.gate.alone_waiting == 1, "the other one is not counted any more");
}

/* A thread that is inside a table while the process forks is not there in the child. */
static void child_process(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 8, 8, 100);
    bh__presence *of_another = bh__presence_take();
    int how = 0;
    pid_t child = 0;

    (void)state;
    insert_once(table);
    of_another->inside = (uint64_t)(uintptr_t)&table->gate;
    fflush(NULL);
    child = fork();
    check(child >= 0, "no process for the test itself");
    if (child == 0) {
        test_is_child();
        (void)alarm(1800); // a hang ends here
        check(bh__presences_taken() <= 1, "%u presences in the child", bh__presences_taken());
        insert_once(table);
        check_status(bh_reserve(table, 1000), BH_OK);
        check_status(bh_compact(table), BH_OK);
        insert_once(table);
        bh_table_destroy(table);
        bh_context_destroy(context);
        fflush(NULL);
        _exit(0);
    }
    check(waitpid(child, &how, 0) == child, "waitpid");
    check(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the child ended badly: %x", how);
    of_another->inside = 0;
    of_another->taken = 0;
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* Whether the system has the barrier: without it all gates are counted, and there is little to test. */
static bool has_barrier(void)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 8, 8, 1);
    const bool has = takes_presences(table);

    bh_table_destroy(table);
    bh_context_destroy(context);
    return has;
}

int main(void)
{
    const struct CMUnitTest always[] = {cmocka_unit_test(no_barrier_from_the_beginning),
                                        cmocka_unit_test(who_waits_to_be_alone_comes_first)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_barrier_from_the_beginning),
        cmocka_unit_test(no_barrier_later),
        cmocka_unit_test(few_barriers),
        cmocka_unit_test(who_waits_to_be_alone_comes_first),
        cmocka_unit_test(presences_of_threads),
        cmocka_unit_test(child_process),
    };

    if (!test_target_runs())
        return TEST_SKIPPED;
    return test_exit_status(has_barrier() ? cmocka_run_group_tests(tests, NULL, NULL)
                                          : cmocka_run_group_tests(always, NULL, NULL));
}
