/* ctest: every target */
/*
 * Contexts, targets and what a program may replace: the forced instruction set is the one that
 * runs, everything asked of the system goes through bh_system and is given back, a fixed seed or
 * fixed random bytes make a table reproducible, small calls wake nobody, and errors explain
 * themselves to the thread that made them and to no other.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

/* A small table, filled by one batch. */
static void run_a_batch(bh_table *table, uint64_t n)
{
    batch all = batch_new(4, 4, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(4, 17, i), i);
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    batch_free(&all);
}

/* BULKHASH_TARGET forces what runs, and the stats prove it: "" before the first batch. */
static void forced_target_runs(void **state)
{
    static const char *const known[] = {"scalar", "avx2", "avx512"};
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 4, 4, 100);
    bh_context_info info;
    bool is_known = false;
    (void)state;

    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_status(bh_context_get_info(context, &info), BH_OK);
    check(strcmp(info.device, "cpu") == 0, "the device is \"%s\"", info.device);
    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        is_known = is_known || strcmp(info.target, known[i]) == 0;
    }
    check(is_known, "target \"%s\" cannot be forced by that name", info.target);
    check(test_forced_target() == NULL || strcmp(info.target, test_forced_target()) == 0,
          "the context's target is \"%s\"", info.target);
    check(strcmp(table_stats(table).target, "") == 0, "target \"%s\" before the first batch",
          table_stats(table).target);
    run_a_batch(table, 1);
    check(strcmp(table_stats(table).target, info.target) == 0, "the batch ran with \"%s\"",
          table_stats(table).target);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* The environment is asked through the system table; each name gives that target or
 * BH_ERR_UNSUPPORTED, and a name that is none gives BH_ERR_ARGUMENT. */
static void targets_by_name(void **state)
{
    static const char *const known[] = {"scalar", "avx2", "avx512"};
    static const char *const unknown[] = {"AVX2", "sse", "avx", "avx5122", " scalar", "neon"};
    watched_system watched;
    bh_context_options options;
    bh_context *context = NULL;
    (void)state;

    for (size_t i = 0; i < TEST_COUNT(known); i++) {
        bh_status status = BH_OK;
        watched_start(&watched);
        watched.target = known[i];
        bh_context_options_init(&options);
        options.system = &watched.system;
        options.threads = 1;
        status = bh_context_create("cpu", &options, &context);
        check(status == BH_OK || (status == BH_ERR_UNSUPPORTED && i > 0), "%s for target %s: %s",
              bh_status_name(status), known[i], bh_error_detail());
        if (status == BH_OK) {
            bh_table *table = table_new(context, 4, 4, 1);
            run_a_batch(table, 500);
            check(strcmp(table_stats(table).target, known[i]) == 0, "\"%s\" ran instead of %s",
                  table_stats(table).target, known[i]);
            bh_table_destroy(table);
            bh_context_destroy(context);
        } else {
            check(context == NULL, "a failed create leaves a context");
        }
        watched_end(&watched);
    }
    for (size_t i = 0; i < TEST_COUNT(unknown); i++) {
        watched_start(&watched);
        watched.target = unknown[i];
        bh_context_options_init(&options);
        options.system = &watched.system;
        check_status(bh_context_create("cpu", &options, &context), BH_ERR_ARGUMENT);
        check(context == NULL, "a failed create leaves a context");
        watched_end(&watched);
    }
}

/* The same through the real environment, as a user sets it. */
static void target_of_the_real_environment(void **state)
{
    const char *forced = test_forced_target();
    char *kept = forced == NULL ? NULL : strdup(forced);
    bh_context *context = NULL;
    bh_context_info info;
    (void)state;

    check(setenv("BULKHASH_TARGET", "no-such-target", 1) == 0, "setenv");
    check_status(bh_context_create("cpu", NULL, &context), BH_ERR_ARGUMENT);
    check(setenv("BULKHASH_TARGET", "scalar", 1) == 0, "setenv");
    context = context_new(1, NULL, NULL);
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    check_status(bh_context_get_info(context, &info), BH_OK);
    check(strcmp(info.target, "scalar") == 0, "the target is \"%s\"", info.target);
    bh_context_destroy(context);
    if (kept == NULL) {
        check(unsetenv("BULKHASH_TARGET") == 0, "unsetenv");
    } else {
        check(setenv("BULKHASH_TARGET", kept, 1) == 0, "setenv");
    }
    free(kept);
}

/* The number of threads: what the options say, what the executor says, or all processors. */
static void number_of_threads(void **state)
{
    watched_system watched;
    test_executor executor;
    bh_context *contexts[3];
    const uint32_t expected[3] = {3, 7, 5};
    (void)state;

    watched_start(&watched);
    watched.processors = 5;
    test_executor_start(&executor, TEST_IN_TURN, 7);
    contexts[0] = context_new(3, NULL, &watched.system);
    contexts[1] = context_new(0, &executor.executor, &watched.system);
    contexts[2] = context_new(0, NULL, &watched.system);
    for (int i = 0; i < 3; i++) {
        bh_context_info info;
        memset(&info, 0, sizeof info);
        info.struct_size = sizeof info;
        check_status(bh_context_get_info(contexts[i], &info), BH_OK);
        check(info.threads == expected[i], "context %d has %u threads instead of %u", i,
              info.threads, expected[i]);
        check(info.pages == BH_PAGES_AUTO, "context %d has page policy %d", i, (int)info.pages);
        bh_context_destroy(contexts[i]);
    }
    watched_end(&watched);
}

/* Every page policy works and says so. */
static void page_policies(void **state)
{
    (void)state;
    for (int pages = BH_PAGES_AUTO; pages <= BH_PAGES_LAZY; pages++) {
        bh_context_options options;
        bh_context_info info;
        bh_context *context = NULL;
        bh_table *table = NULL;

        bh_context_options_init(&options);
        options.pages = (bh_pages)pages;
        options.threads = 2;
        check_status(bh_context_create("cpu", &options, &context), BH_OK);
        memset(&info, 0, sizeof info);
        info.struct_size = sizeof info;
        check_status(bh_context_get_info(context, &info), BH_OK);
        check(info.pages == (bh_pages)pages, "policy %d became %d", pages, (int)info.pages);
        table = table_new(context, 4, 4, 300000);
        run_a_batch(table, 100000);
        table_check_stats(table);
        if (pages != BH_PAGES_AUTO) {
            check(table_stats(table).page_bytes <= 65536, "pages of %llu bytes are not small",
                  (unsigned long long)table_stats(table).page_bytes);
        }
        check_status(bh_reserve(table, 900000), BH_OK);
        bh_table_destroy(table);
        bh_context_destroy(context);
    }
}

/* Memory, threads, clock and random numbers come from the table of system functions alone, and
 * all of it is given back. */
static void system_functions_are_used(void **state)
{
    watched_system watched;
    bh_context *context = NULL;
    bh_table *table = NULL;
    uint64_t bytes = 0;
    (void)state;

    watched_start(&watched);
    context = context_new(2, NULL, &watched.system);
    check(watched_calls(&watched, WATCH_STARTED) == 0, "a context starts threads at once");
    bytes = watched_bytes(&watched);
    table = table_new(context, 4, 4, 1);
    check(watched_calls(&watched, WATCH_RANDOM) > 0, "the seed is not from the system");
    check(watched_bytes(&watched) > bytes, "a table's memory is not from the system");
    run_a_batch(table, test_scaled_large(200000));
    check(table_stats(table).grows > 0, "a large batch from capacity 1 without growth");
    check(table_stats(table).longest_pause_ns > 0, "growth took no time");
    check(watched_calls(&watched, WATCH_CLOCK) > 0, "the clock is not from the system");
    check(watched_bytes(&watched) >= table_stats(table).bytes_total,
          "the stats say %llu bytes, the system gave %llu",
          (unsigned long long)table_stats(table).bytes_total,
          (unsigned long long)watched_bytes(&watched));
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);
}

/* A call with few elements runs in the calling thread; a large one uses the executor. */
static void small_calls_wake_nobody(void **state)
{
    watched_system watched;
    test_executor executor;
    bh_context *context = NULL;
    bh_table *table = NULL;
    uint64_t runs = 0;
    (void)state;

    watched_start(&watched);
    context = context_new(4, NULL, &watched.system);
    table = table_new(context, 4, 4, 100);
    for (uint64_t i = 0; i < 50; i++) {
        batch one = batch_new(4, 4, 1);
        batch_set(&one, 0, i, i);
        check_status(batch_call(table, BH_INSERT, &one), BH_OK);
        check_status(batch_call(table, BH_FIND, &one), BH_OK);
        batch_free(&one);
    }
    check(watched_calls(&watched, WATCH_THREAD) == 0, "a call with n = 1 started a thread");
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);

    test_executor_start(&executor, TEST_IN_TURN, 4);
    context = context_new(0, &executor.executor, NULL);
    table = table_new(context, 4, 4, 1000000);
    runs = atomic_load(&executor.runs); // memory may have been touched in parallel
    for (uint64_t i = 0; i < 50; i++) {
        batch one = batch_new(4, 4, 1);
        batch_set(&one, 0, 0x80000000u + i, i);
        check_status(batch_call(table, BH_INSERT, &one), BH_OK);
        batch_free(&one);
    }
    check(atomic_load(&executor.runs) == runs, "a call with n = 1 went to the executor");
    run_a_batch(table, test_scaled_large(500000));
    check(atomic_load(&executor.runs) > runs, "a large call did not use the executor");
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* What a table exports, in the order in which it does. */
static batch exported(bh_table *table)
{
    batch content = batch_new(8, 8, table_stats(table).keys);
    uint64_t cursor = 0;
    uint64_t count = 0;

    check_status(bh_export(table, &cursor, content.keys, content.values, content.n, &count), BH_OK);
    check(count == content.n, "export gave %llu of %llu keys", (unsigned long long)count,
          (unsigned long long)content.n);
    return content;
}

/* The same seed and the same calls give the same table, slot for slot; another seed another. The
 * random source decides when no seed is fixed. */
static void seeds_reproduce(void **state)
{
    test_executor executor;
    bh_table *tables[6];
    batch contents[6];
    bh_context *context = NULL;
    bh_context *fixed_random[2];
    watched_system watched[2];
    (void)state;

    test_executor_start(&executor, TEST_IN_TURN, 1);
    context = context_new(0, &executor.executor, NULL);
    for (int t = 0; t < 4; t++) {
        bh_table_options options = table_options(8, 8, 1);
        options.seed = t < 2 ? 0 : 42; // 0 is a seed like any other
        options.seed_fixed = 1;
        tables[t] = table_with(context, &options);
    }
    for (int t = 0; t < 2; t++) {
        watched_start(&watched[t]);
        watched[t].random_fixed = true;
        watched[t].random_state = 5;
        fixed_random[t] = context_new(0, &executor.executor, &watched[t].system);
        tables[4 + t] = table_new(fixed_random[t], 8, 8, 1);
    }
    for (int t = 0; t < 6; t++) {
        batch all = batch_new(8, 8, 3000);
        for (uint64_t i = 0; i < all.n; i++) {
            batch_set(&all, i, i, i);
        }
        check_status(batch_call(tables[t], BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        batch_free(&all);
        contents[t] = exported(tables[t]);
    }
    for (int t = 0; t < 6; t += 2) {
        check(table_stats(tables[t]).slots == table_stats(tables[t + 1]).slots,
              "the same seed gave another number of slots");
        check(memcmp(contents[t].keys, contents[t + 1].keys, 3000 * 8) == 0,
              "the same seed gave another order");
        check(memcmp(contents[t].keys, contents[(t + 2) % 6].keys, 3000 * 8) != 0,
              "another seed gave the same order");
    }
    for (int t = 0; t < 6; t++) {
        batch_free(&contents[t]);
        bh_table_destroy(tables[t]);
    }
    bh_context_destroy(context);
    for (int t = 0; t < 2; t++) {
        bh_context_destroy(fixed_random[t]);
        watched_end(&watched[t]);
    }
}

/* Without a fixed seed two tables differ. */
static void seeds_are_random(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    batch contents[2];
    (void)state;

    for (int t = 0; t < 2; t++) {
        bh_table *table = table_new(context, 8, 8, 3000);
        batch all = batch_new(8, 8, 3000);
        for (uint64_t i = 0; i < all.n; i++) {
            batch_set(&all, i, i, i);
        }
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        contents[t] = exported(table);
        batch_free(&all);
        bh_table_destroy(table);
    }
    check(memcmp(contents[0].keys, contents[1].keys, 3000 * 8) != 0,
          "two tables without a fixed seed have the same order");
    batch_free(&contents[0]);
    batch_free(&contents[1]);
    bh_context_destroy(context);
}

static void status_names(void **state)
{
    static const char *const names[] = {"BH_OK",       "BH_ERR_ARGUMENT",    "BH_ERR_MEMORY",
                                        "BH_ERR_FULL", "BH_ERR_UNSUPPORTED", "BH_ERR_DEVICE",
                                        "BH_ERR_IO",   "BH_ERR_CORRUPT",     "BH_ERR_VERSION"};
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        check(strcmp(bh_status_name((bh_status)i), names[i]) == 0, "status %zu is called %s", i,
              bh_status_name((bh_status)i));
    }
    check(strcmp(bh_status_name((bh_status)9), "unknown status") == 0, "9 is called %s",
          bh_status_name((bh_status)9));
    check(strcmp(bh_status_name((bh_status)-1), "unknown status") == 0, "-1 is called %s",
          bh_status_name((bh_status)-1));
    check(strcmp(bh_status_name((bh_status)0x7fffffff), "unknown status") == 0,
          "2^31 - 1 is called %s", bh_status_name((bh_status)0x7fffffff));
    check(strcmp(bh_version(), "0.2.0") == 0, "the version is %s", bh_version());
}

/* Each thread has its own sentence: "" until a call of its own fails. */
static void fail_in_a_thread(void *argument, uint32_t index)
{
    bh_table *table = argument;
    bh_context *none = NULL;

    for (int round = 0; round < 200; round++) {
        check(round > 0 || strcmp(bh_error_detail(), "") == 0, "a new thread has a sentence: %s",
              bh_error_detail());
        if (index % 2 == 0) {
            check(bh_insert(table, NULL, NULL, 1, NULL) == BH_ERR_ARGUMENT, "keys NULL");
        } else {
            check(bh_context_create("xyzzy-device", NULL, &none) == BH_ERR_ARGUMENT, "no device");
            check(strstr(bh_error_detail(), "xyzzy-device") != NULL,
                  "the sentence does not name the device: %s", bh_error_detail());
        }
        check(index % 2 != 0 || strstr(bh_error_detail(), "xyzzy") == NULL,
              "another thread's sentence: %s", bh_error_detail());
        check(strlen(bh_error_detail()) > 10, "no sentence: %s", bh_error_detail());
    }
}

static void errors_belong_to_threads(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    bh_table *table = table_new(context, 4, 4, 1);
    (void)state;

    threads_run(4, fail_in_a_thread, table);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forced_target_runs),
        cmocka_unit_test(targets_by_name),
        cmocka_unit_test(target_of_the_real_environment),
        cmocka_unit_test(number_of_threads),
        cmocka_unit_test(page_policies),
        cmocka_unit_test(system_functions_are_used),
        cmocka_unit_test(small_calls_wake_nobody),
        cmocka_unit_test(seeds_reproduce),
        cmocka_unit_test(seeds_are_random),
        cmocka_unit_test(status_names),
        cmocka_unit_test(errors_belong_to_threads),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
