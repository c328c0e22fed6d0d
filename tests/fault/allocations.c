/* ctest: every design */
/*
 * Refused memory, threads and random numbers: every request to the system is refused in turn, once
 * and from then on for ever, while a context is made, a table is made, and batches make it grow.
 *
 * The answer is BH_ERR_MEMORY, or BH_OK where the library can do without. Either way the outcomes
 * tell the truth about every element, what was there before is intact, the same table works as
 * soon as the system gives again, and nothing stays behind in the end.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

/* More requests than any one of the calls below may make: a bound, so that a test cannot run for
 * ever. */
enum { MOST_REQUESTS = 5000 };

static const char *how(bool for_ever)
{
    return for_ever ? "for ever" : "once";
}

/* A context on the watched system: a pool of two threads, or tasks in turn. */
static bh_context *watched_context(watched_system *watched, test_executor *executor, bool pool)
{
    test_executor_start(executor, TEST_IN_TURN, 2);
    return context_new(2, pool ? NULL : &executor->executor, &watched->system);
}

/* Making a context and a table, each request refused in turn. */
static void creation(void **state)
{
    (void)state;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        for (int w = 0; w < TEST_WIDTHS; w++) {
            uint64_t refused_somewhere = 0;
            uint64_t nth = 1;

            for (bool fired = true; fired; nth++) {
                watched_system watched;
                bh_context_options context_options;
                bh_table_options options = table_options(test_all_widths[w].key_bytes,
                                                         test_all_widths[w].value_bytes, 100000);
                bh_context *context = NULL;
                bh_table *table = NULL;
                bh_status status = BH_OK;

                check(nth < MOST_REQUESTS, "creation asks the system without end");
                watched_start(&watched);
                bh_context_options_init(&context_options);
                context_options.threads = 2;
                context_options.system = &watched.system;
                watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
                status = bh_context_create("cpu", &context_options, &context);
                check(status == BH_OK || status == BH_ERR_MEMORY, "context: %s",
                      bh_status_name(status));
                check((context != NULL) == (status == BH_OK), "%s with%s a context",
                      bh_status_name(status), context == NULL ? "out" : "");
                check(status == BH_OK || strlen(bh_error_detail()) > 10, "no sentence");
                if (status == BH_OK) {
                    status = bh_table_create(context, &options, &table);
                    check(status == BH_OK || status == BH_ERR_MEMORY, "table: %s",
                          bh_status_name(status));
                    check((table != NULL) == (status == BH_OK), "%s with%s a table",
                          bh_status_name(status), table == NULL ? "out" : "");
                    check(status == BH_OK || strlen(bh_error_detail()) > 10, "no sentence");
                }
                fired = watched_allow(&watched) > 0;
                refused_somewhere += status == BH_ERR_MEMORY;
                check(fired || status == BH_OK, "%s, but nothing was refused",
                      bh_status_name(status));
                if (context != NULL && table == NULL) {
                    table = table_with(context, &options); // the context has not suffered
                }
                if (table != NULL) {
                    batch one = batch_new(options.key_bytes, options.value_bytes, 1);
                    check_status(batch_call(table, BH_INSERT, &one), BH_OK);
                    batch_check_all(&one, BH_INSERTED);
                    batch_free(&one);
                }
                bh_table_destroy(table);
                bh_context_destroy(context);
                watched_end(&watched); // nothing was left behind
            }
            // A context, and a table's memory and seed, cannot come from nowhere.
            check(refused_somewhere >= 3, "only %llu requests were needed",
                  (unsigned long long)refused_somewhere);
        }
    }
}

/* With a fixed seed no random number is needed. */
static void no_random_numbers(void **state)
{
    watched_system watched;
    test_executor executor;
    bh_context *context = NULL;
    bh_table *table = NULL;
    bh_table_options options = table_options(8, 8, 100);
    (void)state;

    watched_start(&watched);
    context = watched_context(&watched, &executor, true);
    watched_refuse(&watched, WATCH_BIT(WATCH_RANDOM), 1, true);
    check_status(bh_table_create(context, &options, &table), BH_ERR_MEMORY);
    check(table == NULL, "a failed create leaves a table");
    options.seed_fixed = 1;
    check_status(bh_table_create(context, &options, &table), BH_OK);
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);
}

/* The calls that make a table grow. */
typedef struct growing_call {
    int operation;
    bh_duplicates duplicates;
    bool pool;
    test_widths widths;
} growing_call;

static const growing_call growing_calls[] = {
    {BH_INSERT, BH_DUPLICATES_ANY, true, {4, 4}},
    {BH_INSERT, BH_DUPLICATES_NONE, false, {8, 8}},
    {BH_INSERT, BH_DUPLICATES_ORDERED, true, {8, 0}},
    {BH_INSERT_NEW, BH_DUPLICATES_ANY, false, {4, 0}},
    {BH_INSERT_NEW, BH_DUPLICATES_NONE, true, {8, 4}},
    {BH_FIND_OR_INSERT, BH_DUPLICATES_ANY, true, {4, 4}},
    {BH_FIND_OR_INSERT, BH_DUPLICATES_ORDERED, false, {8, 8}},
    {BH_ADD, BH_DUPLICATES_ANY, true, {4, 8}},
    {BATCH_APPLY, BH_DUPLICATES_ANY, true, {8, 8}},
    {BATCH_APPLY, BH_DUPLICATES_ORDERED, false, {4, 4}},
};

/* Keys that are in the table before the fault, and must not notice. */
enum { OLD_KEYS = 700 };

static batch old_keys(test_widths widths)
{
    batch old = batch_new(widths.key_bytes, widths.value_bytes, OLD_KEYS);
    for (uint64_t i = 0; i < OLD_KEYS; i++) {
        batch_set(&old, i, random_key(widths.key_bytes, 1000000, i), i + 5);
    }
    return old;
}

static void check_old_keys(bh_table *table, test_widths widths)
{
    batch old = old_keys(widths);

    check_status(batch_call(table, BH_FIND, &old), BH_OK);
    batch_check_all(&old, BH_FOUND);
    for (uint64_t i = 0; i < OLD_KEYS && widths.value_bytes > 0; i++) {
        check(batch_value(&old, i) == i + 5, "an old key has another value");
    }
    batch_free(&old);
}

/* Outcomes against the table: INSERTED is there, NOT_DONE is not, there is nothing else. */
static uint64_t check_outcomes(bh_table *table, const batch *all, bh_status status)
{
    batch again = batch_new(all->key_bytes, all->value_bytes, all->n);
    uint64_t undone = batch_count(all, BH_NOT_DONE);

    check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
    check((status == BH_OK) == (undone == 0), "%s with %llu elements not done",
          bh_status_name(status), (unsigned long long)undone);
    memcpy(again.keys, all->keys, all->n * all->key_bytes);
    check_status(batch_call(table, BH_FIND, &again), BH_OK);
    for (uint64_t i = 0; i < all->n; i++) {
        check(all->outcomes[i] == BH_INSERTED || all->outcomes[i] == BH_NOT_DONE, "outcome %u",
              all->outcomes[i]);
        check((again.outcomes[i] == BH_FOUND) == (all->outcomes[i] == BH_INSERTED),
              "element %llu has outcome %u, find answers %u", (unsigned long long)i,
              all->outcomes[i], again.outcomes[i]);
        check(again.outcomes[i] != BH_FOUND || batch_value(&again, i) == batch_value(all, i),
              "element %llu has another value", (unsigned long long)i);
    }
    batch_free(&again);
    return undone;
}

/* One run with the nth request refused. Returns whether it was, so whether there may be more. */
static bool grow_with_refusal(const growing_call *call, uint64_t nth, bool for_ever)
{
    const test_widths widths = call->widths;
    const uint64_t n = TEST_SANITIZER ? 5000 : 20000; // beyond the first pages of a table
    watched_system watched;
    test_executor executor;
    bh_context *context = NULL;
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
    bh_table *table = NULL;
    batch old = old_keys(widths);
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    bh_status status = BH_OK;
    uint64_t undone = 0;
    uint64_t fired = 0;

    watched_start(&watched);
    context = watched_context(&watched, &executor, call->pool);
    options.duplicates = call->duplicates;
    table = table_with(context, &options);
    check_status(batch_call(table, BH_INSERT, &old), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 3, i), i * 3);
        all.ops[i] = i % 2 == 0 ? BH_INSERT : BH_INSERT_NEW;
    }

    watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
    status = batch_call(table, call->operation, &all);
    check(status != BH_ERR_MEMORY || strlen(bh_error_detail()) > 10, "no sentence");
    undone = check_outcomes(table, &all, status);
    check_old_keys(table, widths);
    fired = watched_allow(&watched);
    check(fired > 0 || status == BH_OK, "%s, but nothing was refused", bh_status_name(status));
    check(!(for_ever && nth == 1) || undone > 0, "the table grew without asking the system");
    check(table_stats(table).keys == OLD_KEYS + n - undone, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)(OLD_KEYS + n - undone));

    // The system gives again: just those not done, and the table is whole.
    batch rest = batch_new(widths.key_bytes, widths.value_bytes, undone);
    for (uint64_t i = 0, j = 0; i < n; i++) {
        if (all.outcomes[i] == BH_NOT_DONE) {
            rest.ops[j] = all.ops[i];
            batch_set(&rest, j++, batch_key(&all, i), batch_value(&all, i));
        }
    }
    check_status(batch_call(table, call->operation, &rest), BH_OK);
    batch_check_all(&rest, BH_INSERTED);
    memset(all.outcomes, BH_INSERTED, n);
    (void)check_outcomes(table, &all, BH_OK);
    check_old_keys(table, widths);
    pairs content = table_pairs(table, widths.key_bytes, widths.value_bytes, 10000);
    check(content.count == OLD_KEYS + n, "%llu keys", (unsigned long long)content.count);
    pairs_free(&content);
    table_check_stats(table);

    batch_free(&rest);
    batch_free(&all);
    batch_free(&old);
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&watched);
    return fired > 0;
}

static void growth_in_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < TEST_COUNT(growing_calls); c++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            uint64_t nth = 1;
            while (grow_with_refusal(&growing_calls[c], nth, for_ever)) {
                check(nth < MOST_REQUESTS, "a batch asks the system without end (%s)",
                      how(for_ever));
                // ThreadSanitizer runs every third refusal: enough to see races on these paths.
                nth += TEST_THREAD_SANITIZER ? 3 : 1;
            }
            check(nth > 2, "growth asked the system only %llu times", (unsigned long long)nth - 1);
        }
    }
}

/* Calls that cannot insert need nothing from the system that they could not do without. */
static void calls_that_cannot_insert(void **state)
{
    (void)state;
    for (int duplicates = BH_DUPLICATES_ANY; duplicates <= BH_DUPLICATES_NONE; duplicates++) {
        for (int pool = 0; pool < 2; pool++) {
            const uint64_t n = test_scaled_large(60000);
            watched_system watched;
            test_executor executor;
            bh_context *context = NULL;
            bh_table_options options = table_options(8, 8, 1);
            bh_table *table = NULL;
            batch all = batch_new(8, 8, n);
            uint64_t keys[100];
            uint64_t cursor = 0;
            uint64_t count = 0;
            bh_status status = BH_OK;

            watched_start(&watched);
            context = watched_context(&watched, &executor, pool);
            options.duplicates = (bh_duplicates)duplicates;
            table = table_with(context, &options);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(8, 3, i), i);
                all.ops[i] = i % 2 == 0 ? BH_FIND : BH_UPDATE;
            }
            for (uint64_t i = 0; i < n; i += 500) { // small calls: the pool does not run yet
                check_status(bh_insert(table, (uint64_t *)all.keys + i, (uint64_t *)all.values + i,
                                       500, NULL),
                             BH_OK);
            }
            watched_refuse(&watched, WATCH_ALL_FAULTS, 1, true);
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            check_status(batch_call(table, BH_UPDATE, &all), BH_OK);
            batch_check_all(&all, BH_ASSIGNED);
            check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
            check(batch_count(&all, BH_FOUND) == n / 2, "apply found %llu",
                  (unsigned long long)batch_count(&all, BH_FOUND));
            // Keys that are there are assigned, or found, without room for new ones.
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_ASSIGNED);
            check_status(batch_call(table, BH_FIND_OR_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            check_status(batch_call(table, BH_ADD, &all), BH_OK);
            batch_check_all(&all, BH_ASSIGNED);
            check_status(bh_export(table, &cursor, keys, NULL, 100, &count), BH_OK);
            check(count == 100, "export gives %llu", (unsigned long long)count);
            // HashFight may have built just one generation, which cannot be smaller; DACHash compacts
            // in place.
            status = bh_compact(table);
            check(status == BH_ERR_MEMORY || (status == BH_OK && test_design() != BH_DYCUCKOO),
                  "compact answered %s", bh_status_name(status));
            table_check_stats(table);
            check(table_stats(table).keys == n, "a compact without memory lost keys");
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            all.n = n / 2;
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            batch_check_all(&all, BH_ERASED);
            check_status(bh_clear(table), BH_OK);
            check(table_stats(table).keys == 0, "keys after clear");
            // A cleared table has room for what it held; but HashFight needs temporary memory to
            // build.
            if (test_design() != BH_HASHFIGHT) {
                check_status(batch_call(table, BH_INSERT, &all), BH_OK);
                batch_check_all(&all, BH_INSERTED);
            }
            (void)watched_allow(&watched);
            all.n = n;
            batch_free(&all);
            bh_table_destroy(table);
            bh_context_destroy(context);
            watched_end(&watched);
        }
    }
}

/* bh_reserve: the table is whole and may have grown part of the way. */
static void reserve(void **state)
{
    (void)state;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        for (int w = 0; w < TEST_WIDTHS; w++) {
            uint64_t nth = 1;
            for (bool fired = true; fired; nth++) {
                const test_widths widths = test_all_widths[w];
                const uint64_t keys = test_scaled_large(50000);
                watched_system watched;
                test_executor executor;
                bh_context *context = NULL;
                bh_table *table = NULL;
                batch old = old_keys(widths);
                bh_status status = BH_OK;

                check(nth < MOST_REQUESTS, "reserve asks the system without end");
                watched_start(&watched);
                context = watched_context(&watched, &executor, true);
                table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
                check_status(batch_call(table, BH_INSERT, &old), BH_OK);
                watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
                status = bh_reserve(table, keys);
                check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
                check(!(for_ever && nth == 1) || status == BH_ERR_MEMORY,
                      "reserve grew without asking the system");
                check_old_keys(table, widths);
                fired = watched_allow(&watched) > 0;
                check(fired || status == BH_OK, "%s, but nothing was refused",
                      bh_status_name(status));
                check(status != BH_OK || table_stats(table).max_keys >= keys,
                      "BH_OK with room for %llu", (unsigned long long)table_stats(table).max_keys);
                check_status(bh_reserve(table, keys), BH_OK);
                check(table_stats(table).max_keys >= keys, "room for %llu",
                      (unsigned long long)table_stats(table).max_keys);
                check_old_keys(table, widths);
                check(table_stats(table).keys == OLD_KEYS, "%llu keys",
                      (unsigned long long)table_stats(table).keys);
                pairs content = table_pairs(table, widths.key_bytes, widths.value_bytes, 100);
                pairs_free(&content);
                batch_free(&old);
                bh_table_destroy(table);
                bh_context_destroy(context);
                watched_end(&watched);
            }
        }
    }
}

/* Threads that cannot be started are done without. */
static void no_threads(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 4; nth += TEST_THREAD_SANITIZER ? 2 : 1) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            const uint64_t n = test_scaled_large(200000);
            watched_system watched;
            bh_context *context = NULL;
            bh_table *table = NULL;
            batch all = batch_new(4, 4, n);

            watched_start(&watched);
            context = context_new(4, NULL, &watched.system);
            watched_refuse(&watched, WATCH_BIT(WATCH_THREAD), nth, for_ever);
            table = table_new(context, 4, 4, 1);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, i, i);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            check(watched_allow(&watched) > 0 || nth == 4, "no thread was asked for");
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            batch_free(&all);
            bh_table_destroy(table);
            bh_context_destroy(context);
            watched_end(&watched);
        }
    }
}

/* Several threads insert when the memory ends: each learns the truth about its own elements. */
typedef struct shared_fault {
    bh_table *table;
    batch parts[4];
    bh_status answers[4];
} shared_fault;

static void insert_a_part(void *argument, uint32_t thread)
{
    shared_fault *shared = argument;
    shared->answers[thread] = batch_call(shared->table, BH_INSERT, &shared->parts[thread]);
}

static void threads_without_memory(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 25; nth += 2) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            const uint64_t n = test_scaled(20000);
            watched_system watched;
            test_executor executor;
            shared_fault shared;
            bh_context *context = NULL;
            uint64_t inserted = 0;

            watched_start(&watched);
            context = watched_context(&watched, &executor, true);
            shared.table = table_new(context, 8, 8, 1);
            for (uint64_t t = 0; t < 4; t++) {
                shared.parts[t] = batch_new(8, 8, n);
                for (uint64_t i = 0; i < n; i++) {
                    batch_set(&shared.parts[t], i, random_key(8, 3, t * n + i), i);
                }
            }
            watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
            threads_run(4, insert_a_part, &shared);
            (void)watched_allow(&watched);
            for (uint64_t t = 0; t < 4; t++) {
                (void)check_outcomes(shared.table, &shared.parts[t], shared.answers[t]);
                inserted += batch_count(&shared.parts[t], BH_INSERTED);
            }
            check(table_stats(shared.table).keys == inserted, "%llu keys, %llu INSERTED",
                  (unsigned long long)table_stats(shared.table).keys, (unsigned long long)inserted);
            for (uint64_t t = 0; t < 4; t++) {
                check_status(batch_call(shared.table, BH_INSERT, &shared.parts[t]), BH_OK);
                batch_free(&shared.parts[t]);
            }
            check(table_stats(shared.table).keys == 4 * n, "%llu keys",
                  (unsigned long long)table_stats(shared.table).keys);
            bh_table_destroy(shared.table);
            bh_context_destroy(context);
            watched_end(&watched);
        }
    }
}

/* Additions to a few keys are added up first, in memory that is asked for: without it, too, each
 * element that is not marked BH_NOT_DONE counts once. */
static void additions_to_few_keys(void **state)
{
    const uint64_t n = test_scaled_large(30000), keys = 7;
    (void)state;

    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool fired = true;

        for (uint64_t nth = 1; fired; nth++) {
            watched_system watched;
            test_executor executor;
            bh_context *context = NULL;
            bh_table *table = NULL;
            batch all = batch_new(8, 8, n), sums = batch_new(8, 8, keys);
            bh_status status = BH_OK;
            uint64_t done = 0, sum = 0;

            check(nth < MOST_REQUESTS, "additions ask the system without end");
            watched_start(&watched);
            context = watched_context(&watched, &executor, false);
            table = table_new(context, 8, 8, 100);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, i % keys, 1);
            }
            for (uint64_t i = 0; i < keys; i++) {
                batch_set(&sums, i, i, 0);
            }
            check_status(batch_call(table, BH_INSERT, &sums), BH_OK);
            watched_refuse(&watched, WATCH_BIT(WATCH_ALLOCATE), nth, for_ever);
            status = batch_call(table, BH_ADD, &all);
            fired = watched_allow(&watched) > 0;
            done = batch_count(&all, BH_ASSIGNED);
            check(done + batch_count(&all, BH_NOT_DONE) == n, "other outcomes");
            check(status == (done == n ? BH_OK : BH_ERR_MEMORY), "%s with %llu of %llu done",
                  bh_status_name(status), (unsigned long long)done, (unsigned long long)n);
            check(done == n || test_design() != BH_DYCUCKOO, "nothing need be left undone");
            check_status(batch_call(table, BH_FIND, &sums), BH_OK);
            for (uint64_t i = 0; i < keys; i++) {
                sum += batch_value(&sums, i);
            }
            check(sum == done, "%llu elements done, and the sums are %llu",
                  (unsigned long long)done, (unsigned long long)sum);
            batch_free(&all);
            batch_free(&sums);
            bh_table_destroy(table);
            bh_context_destroy(context);
            watched_end(&watched);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation),
        cmocka_unit_test(no_random_numbers),
        cmocka_unit_test(growth_in_batches),
        cmocka_unit_test(calls_that_cannot_insert),
        cmocka_unit_test(reserve),
        cmocka_unit_test(no_threads),
        cmocka_unit_test(threads_without_memory),
        cmocka_unit_test(additions_to_few_keys),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
