/* ctest: every design */
/*
 * fork(): a child that inherits a context inherits its pool's memory but none of its threads. It
 * must run its batches inline rather than wait for threads that do not exist, may make contexts of
 * its own, may destroy what it inherited, and leaves the parent as it was.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/tables.h"

/* Large enough for every pool; not larger than a sanitizer can do in time. */
enum { LARGE = TEST_THREAD_SANITIZER ? 20000 : 150000, SMALL = 20 };

/* Inserts keys [first, first + n) with values key * 2 and finds them. */
static void insert_and_find(bh_table *table, uint64_t first, uint64_t n)
{
    batch all = batch_new(8, 8, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, first + i, (first + i) * 2);
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    for (uint64_t i = 0; i < n; i++) {
        batch_set_value(&all, i, 0);
    }
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    for (uint64_t i = 0; i < n; i++) {
        check(batch_value(&all, i) == (first + i) * 2, "a wrong value");
    }
    batch_free(&all);
}

static void check_found(bh_table *table, uint64_t first, uint64_t n, bh_outcome expected)
{
    batch all = batch_new(8, 8, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, first + i, 0);
    }
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, expected);
    batch_free(&all);
}

/* What a child does with what it inherited; `depth` generations are still to come. */
static void live_as_a_child(bh_context *context, bh_table *table, int depth);

/* Forks a child and waits for it; fails the test unless it ends well and in time. */
static void fork_and_wait(bh_context *context, bh_table *table, int depth)
{
    int how = 0;
    pid_t child = 0;

    fflush(NULL); // or the child would print the parent's buffer again
    child = fork();
    check(child >= 0, "no process for the test itself");
    if (child == 0) {
        test_is_child();
        (void)alarm(1800); // a hang ends here
        live_as_a_child(context, table, depth);
        fflush(NULL);
        _exit(0);
    }
    check(waitpid(child, &how, 0) == child, "waitpid");
    check(!WIFSIGNALED(how), "the child ended by signal %d%s", WTERMSIG(how),
          WTERMSIG(how) == SIGALRM ? ": it hung" : "");
    check(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the child ended with status %d",
          WEXITSTATUS(how));
}

static void live_as_a_child(bh_context *context, bh_table *table, int depth)
{
    const uint64_t first = (uint64_t)(10 + depth) * 1000000;
    bh_table *another = NULL;

    // The inherited table, with large and small batches, while it grows.
    check_found(table, 0, LARGE, BH_FOUND);
    insert_and_find(table, first, LARGE);
    insert_and_find(table, first + LARGE, SMALL);
    insert_and_find(table, first + LARGE + SMALL, 1);
    check_status(bh_reserve(table, 4 * LARGE), BH_OK);
    // A new table in the inherited context.
    another = table_new(context, 8, 8, 1);
    insert_and_find(another, 0, LARGE);
    // A context of its own. (ThreadSanitizer ends a forked child that starts threads: one thread.)
    bh_context *own = context_new(TEST_THREAD_SANITIZER ? 1 : 3, NULL, NULL);
    bh_table *own_table = table_new(own, 8, 8, 1);
    insert_and_find(own_table, 0, LARGE);
    if (depth > 0) {
        fork_and_wait(context, table, depth - 1);
    }
    insert_and_find(own_table, LARGE, LARGE);
    bh_table_destroy(own_table);
    bh_context_destroy(own);
    // Destroying what was inherited must not wait for threads that are not there.
    bh_table_destroy(another);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

static void fork_with(uint32_t threads, bool pool_has_run)
{
    bh_context *context = context_new(threads, NULL, NULL);
    bh_table *table = table_new(context, 8, 8, 1);

    if (pool_has_run) {
        insert_and_find(table, 0, LARGE);
    } else {
        for (uint64_t i = 0; i < LARGE; i += 50) {
            insert_and_find(table, i, 50);
        }
    }
    fork_and_wait(context, table, 1);
    // The parent knows nothing of the child's keys, and its pool works as before.
    check_found(table, 0, LARGE, BH_FOUND);
    check_found(table, 10 * 1000000, LARGE, BH_MISSING);
    check_found(table, 11 * 1000000, LARGE, BH_MISSING);
    insert_and_find(table, LARGE, LARGE);
    fork_and_wait(context, table, 0);
    insert_and_find(table, 2 * LARGE, LARGE);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

static void child_of_a_busy_pool(void **state)
{
    (void)state;
    fork_with(4, true);
}

static void child_of_a_pool_that_never_ran(void **state)
{
    (void)state;
    fork_with(4, false);
}

static void child_of_one_thread(void **state)
{
    (void)state;
    fork_with(1, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_of_a_busy_pool),
        cmocka_unit_test(child_of_a_pool_that_never_ran),
        cmocka_unit_test(child_of_one_thread),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
