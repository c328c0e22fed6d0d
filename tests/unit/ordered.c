/*
 * Large ordered calls: with BH_DUPLICATES_ORDERED a call of any size answers what its elements
 * would answer one by one in index order, although threads share it, and leaves the same content.
 * The calls here are large enough for that, and their keys are chosen to be hard: many times the
 * same, all the same, one key that comes and goes, hardly any twice. Where memory ends in the
 * middle, what was done must be as if what was not had never been in the call.
 */
/* ctest: every device */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

/* Whose hash finds the part of a key; every target's answers the same. */
#define BH_TARGET_SCALAR 1
#include "targets/target.h"
#include "cpu/distinct.h"
#include "cpu/ordered.h"

/* Calls of fewer elements take another way, and a chunk has so many. */
enum { LEAST = BH_ORDERED_LEAST, CHUNK = BH_ORDERED_CHUNK };

/* What keys and operations a call has. */
typedef enum pattern {
    FEW_KEYS,    // hundreds of times the same
    MANY_KEYS,   // hardly any twice
    SOME_TWICE,  // in between
    ALL_EQUAL,   // one key
    COME_AND_GO, // a few keys, inserted and erased in turn
    DISTINCT,    // no key twice
    PATTERNS
} pattern;

static uint64_t pattern_key(pattern p, uint32_t key_bytes, uint64_t i, rng *random)
{
    switch (p) {
    case FEW_KEYS: return random_key(key_bytes, 1, random_below(random, 100));
    case MANY_KEYS: return random_key(key_bytes, 1, random_below(random, 1000000));
    case SOME_TWICE: return random_below(random, 6000) << (key_bytes * 8 - 16);
    case ALL_EQUAL: return 0;
    case COME_AND_GO: return random_key(key_bytes, 1, i / 2 % 3);
    default: return random_key(key_bytes, 1, i);
    }
}

static uint8_t pattern_op(pattern p, uint32_t value_bytes, uint64_t i, rng *random)
{
    if (p == COME_AND_GO) {
        return i % 2 == 0 ? BH_INSERT : BH_ERASE;
    }
    // Long runs of the same operation, and short ones.
    if (i / 512 % 2 == 0) {
        const int op = (int)(i / 64 % BATCH_OPS);
        return (uint8_t)(value_bytes == 0 && batch_is_reduction(op) ? BH_ERASE : op);
    }
    return (uint8_t)batch_draw_op(random, value_bytes);
}

static batch pattern_batch(pattern p, test_widths widths, uint64_t n, rng *random)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, pattern_key(p, widths.key_bytes, i, random),
                  random_below(random, 4) == 0 ? random_below(random, 9) : random_next(random));
        all.ops[i] = pattern_op(p, widths.value_bytes, i, random);
    }
    return all;
}

static bh_op element_op(const batch *all, int operation, uint64_t i)
{
    return operation == BATCH_APPLY ? (bh_op)all->ops[i] : (bh_op)operation;
}

static bh_table *ordered_table(bh_context *context, test_widths widths, uint64_t capacity,
                               uint64_t most_bytes)
{
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, capacity);

    options.duplicates = BH_DUPLICATES_ORDERED;
    options.max_host_bytes = options.max_device_bytes = most_bytes;
    return table_with(context, &options);
}

/* Calls, and compares all answers with the model's, one element after the other; an element that
 * was not done has no effect on the model. Answers how many these are. */
static uint64_t call_and_compare(bh_table *table, model *map, int operation, batch *all,
                                 bh_status *answer)
{
    uint64_t *given = test_allocate(all->n * sizeof *given);
    uint64_t undone = 0;

    for (uint64_t i = 0; i < all->n; i++) {
        given[i] = batch_value(all, i);
    }
    *answer = batch_call(table, operation, all);
    for (uint64_t i = 0; i < all->n; i++) {
        bh_op op = element_op(all, operation, i);

        if (all->outcomes[i] == BH_NOT_DONE) {
            check(batch_inserts((int)op), "element %llu needs no room and was not done",
                  (unsigned long long)i);
            undone++;
        } else {
            bh_outcome expected =
                model_apply(map, op, all->value_bytes, batch_key(all, i), &given[i]);
            check(all->outcomes[i] == (uint8_t)expected,
                  "element %llu (%s in %s, key %#llx): outcome %u instead of %u",
                  (unsigned long long)i, batch_operation_name((int)op),
                  batch_operation_name(operation), (unsigned long long)batch_key(all, i),
                  all->outcomes[i], (unsigned)expected);
        }
        check(batch_value(all, i) == given[i],
              "element %llu (%s in %s, key %#llx): value %#llx instead of %#llx",
              (unsigned long long)i, batch_operation_name((int)op), batch_operation_name(operation),
              (unsigned long long)batch_key(all, i), (unsigned long long)batch_value(all, i),
              (unsigned long long)given[i]);
    }
    free(given);
    table_check_equals_model(table, all->key_bytes, all->value_bytes, map);
    return undone;
}

/* A GPU that is none takes its time under a sanitizer. */
static int widths_step(int usual)
{
    return TEST_SANITIZER && test_on_gpu() ? 5 : usual;
}

static void compare_everything(bh_context *context, uint64_t salt)
{
    // ThreadSanitizer: one pair of widths.
    for (int w = TEST_THREAD_SANITIZER ? (int)salt % 3 : 0; w < TEST_WIDTHS;
         w += widths_step(TEST_THREAD_SANITIZER ? TEST_WIDTHS : 1)) {
        for (int p = 0; p < PATTERNS; p++) {
            const test_widths widths = test_all_widths[w];
            rng random = random_start(test_seed() + salt * 1000 + (uint64_t)(w * PATTERNS + p));
            bh_table *table = ordered_table(context, widths, 1, 0);
            model *map = model_new();

            for (int operation = 0; operation < BATCH_OPS + 3; operation++) {
                const int call = operation < BATCH_OPS ? operation : BATCH_APPLY;
                // Just enough, and enough for several tasks, some of them full.
                const uint64_t n =
                    LEAST + random_below(&random, operation % 2 == 0 ? 3 : test_scaled(40000) + 1);
                bh_status status = BH_OK;
                batch all;

                if (widths.value_bytes == 0 && batch_is_reduction(call)) {
                    continue;
                }
                all = pattern_batch((pattern)p, widths, n, &random);
                (void)call_and_compare(table, map, call, &all, &status);
                check_status(status, BH_OK);
                batch_free(&all);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* The same as all others do, one task after the other. */
static void one_by_one_in_turn(void **state)
{
    test_executor executor;
    bh_context *context = NULL;
    (void)state;

    if (TEST_THREAD_SANITIZER) {
        return; // one thread does it all
    }
    test_executor_start(&executor, TEST_IN_TURN, 2);
    context = context_new(0, &executor.executor, NULL);
    compare_everything(context, 1);
    bh_context_destroy(context);
}

static void one_by_one_on_the_pool(void **state)
{
    bh_context *context = NULL;
    (void)state;

    if (test_on_gpu()) {
        return; // it has no threads of the host
    }
    context = context_new(3, NULL, NULL);
    compare_everything(context, 2);
    bh_context_destroy(context);
}

static void one_by_one_in_any_order_of_tasks(void **state)
{
    test_executor executor;
    bh_context *context = NULL;
    (void)state;

    if (test_on_gpu()) {
        return;
    }
    test_executor_start(&executor, TEST_SHUFFLED, 4);
    context = context_new(0, &executor.executor, NULL);
    compare_everything(context, 3);
    bh_context_destroy(context);
}

/* Several chunks, so that keys come in more than one of them; and many segments of enough keys for
 * more than one wave. */
static void several_chunks(void **state)
{
    const uint64_t n = TEST_SANITIZER && test_on_gpu()   ? 2 * LEAST
                       : TEST_SANITIZER || test_on_gpu() ? CHUNK + 5
                                                         : 2 * (uint64_t)CHUNK + 12345;
    const uint64_t distinct = 100000;
    const int last = TEST_SANITIZER ? 1 : 3;
    bh_context *context = context_new(2, NULL, NULL);
    (void)state;

    for (int v = 0; v < last; v++) {
        const test_widths widths = test_all_widths[v == 0 ? 1 : v == 1 ? 3 : 5];
        rng random = random_start(test_seed() + (uint64_t)v);
        bh_table *table = ordered_table(context, widths, 1, 0);
        model *map = model_new();
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
        bh_status status = BH_OK;

        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 9, random_below(&random, distinct)),
                      random_next(&random));
            all.ops[i] = pattern_op(FEW_KEYS, widths.value_bytes, i, &random);
        }
        (void)call_and_compare(table, map, BATCH_APPLY, &all, &status);
        check_status(status, BH_OK);
        if (!TEST_SANITIZER && !test_on_gpu()) {
            (void)call_and_compare(table, map, BH_INSERT_NEW, &all, &status);
            check_status(status, BH_OK);
            (void)call_and_compare(table, map, BH_FIND_OR_INSERT, &all, &status);
            check_status(status, BH_OK);
            (void)call_and_compare(table, map, BH_ERASE, &all, &status);
            check_status(status, BH_OK);
        }
        batch_free(&all);
        model_free(map);
        bh_table_destroy(table);
    }
    bh_context_destroy(context);
}

/* Nobody asks for outcomes: the content and the values found are the same. */
static void without_outcomes(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);
    (void)state;

    // ThreadSanitizer: one pair of widths.
    for (int w = TEST_THREAD_SANITIZER ? 1 : 0; w < TEST_WIDTHS;
         w += widths_step(TEST_THREAD_SANITIZER ? TEST_WIDTHS : 1)) {
        for (int p = 0; p < PATTERNS; p++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t n = LEAST + 5000;
            rng random = random_start(test_seed() + 77 + (uint64_t)(w * PATTERNS + p));
            bh_table *table = ordered_table(context, widths, 1, 0);
            model *map = model_new();

            for (int operation = BH_FIND; operation <= BATCH_APPLY; operation++) {
                batch all;
                uint64_t *given = NULL;

                if (operation >= BATCH_OPS && operation < BATCH_APPLY) {
                    continue;
                }
                if (operation == BH_FIND ||
                    (batch_is_reduction(operation) && widths.value_bytes == 0)) {
                    continue;
                }
                all = pattern_batch((pattern)p, widths, n, &random);
                given = test_allocate(n * sizeof *given);
                for (uint64_t i = 0; i < n; i++) {
                    given[i] = batch_value(&all, i);
                    (void)model_apply(map, element_op(&all, operation, i), widths.value_bytes,
                                      batch_key(&all, i), &given[i]);
                }
                free(all.outcomes);
                all.outcomes = NULL;
                switch (operation) {
                case BH_INSERT:
                    check_status(bh_insert(table, all.keys, all.values, n, NULL), BH_OK);
                    break;
                case BH_INSERT_NEW:
                    check_status(bh_insert_new(table, all.keys, all.values, n, NULL), BH_OK);
                    break;
                case BH_FIND_OR_INSERT:
                    check_status(bh_find_or_insert(table, all.keys, all.values, n, NULL), BH_OK);
                    break;
                case BH_UPDATE:
                    check_status(bh_update(table, all.keys, all.values, n, NULL), BH_OK);
                    break;
                case BH_ERASE: check_status(bh_erase(table, all.keys, n, NULL), BH_OK); break;
                case BATCH_APPLY:
                    check_status(bh_apply(table, all.ops, all.keys, all.values, n, NULL), BH_OK);
                    break;
                default:
                    check_status(bh_reduce(table, (bh_op)operation, all.keys, all.values, n, NULL),
                                 BH_OK);
                }
                for (uint64_t i = 0; i < n; i++) {
                    check(batch_value(&all, i) == given[i], "element %llu has another value",
                          (unsigned long long)i);
                }
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
                free(given);
                batch_free(&all);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
    bh_context_destroy(context);
}

/* A budget ends in the middle of a call: what was done is as if the rest had not been there. */
static void budgets(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w += widths_step(1)) {
        static const int calls[] = {BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BATCH_APPLY};
        for (int operation = 0; operation < (int)TEST_COUNT(calls); operation++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t n = 60000;
            rng random = random_start(test_seed() + 5 + (uint64_t)(w * 3 + operation));
            bh_table *table =
                ordered_table(context, widths, 1, n / 6 * (widths.key_bytes + widths.value_bytes));
            model *map = model_new();
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            bh_status status = BH_OK;
            uint64_t undone = 0;

            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 4, random_below(&random, n / 2)),
                          random_next(&random));
                all.ops[i] = pattern_op(FEW_KEYS, widths.value_bytes, i, &random);
                if (all.ops[i] == BH_ERASE && i % 4 != 0) {
                    all.ops[i] = BH_INSERT;
                }
            }
            undone = call_and_compare(table, map, calls[operation], &all, &status);
            check(undone > 0 && undone < n, "%llu of %llu elements were not done",
                  (unsigned long long)undone, (unsigned long long)n);
            check_status(status, BH_ERR_FULL);
            batch_free(&all);
            model_free(map);
            bh_table_destroy(table);
        }
    }
    bh_context_destroy(context);
}

/* In a table that cannot grow all keys go and as many others come: one by one there is room
 * for them, so there must be, although some come before as many have gone. */
static void exchange(bh_context *context)
{
    for (int w = 0; w < TEST_WIDTHS; w += widths_step(1)) {
        const test_widths widths = test_all_widths[w];
        const uint64_t most = TEST_SANITIZER ? 100000 : 200000;
        bh_table *table = ordered_table(context, widths, 1, 4 * most);
        model *map = model_new();
        batch all = batch_new(widths.key_bytes, widths.value_bytes, most);
        bh_status status = BH_OK;
        uint64_t keys = 0;
        batch other;

        for (uint64_t i = 0; i < most; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 4, i), i);
        }
        keys = most - call_and_compare(table, map, BH_INSERT, &all, &status);
        check_status(status, BH_ERR_FULL);
        other = batch_new(widths.key_bytes, widths.value_bytes, 2 * keys);
        for (uint64_t i = 0, from = 0; i < other.n; i++) {
            uint64_t key = random_key(widths.key_bytes, 4, most + i);

            if (i < keys) {
                while (all.outcomes[from] != BH_INSERTED) {
                    from++;
                }
                key = batch_key(&all, from++);
            }
            other.ops[i] = i < keys ? BH_ERASE : BH_INSERT;
            batch_set(&other, i, key, i);
        }
        check(other.n >= LEAST, "only %llu elements", (unsigned long long)other.n);
        check(call_and_compare(table, map, BATCH_APPLY, &other, &status) == 0,
              "there was room, and something was not done");
        check_status(status, BH_OK);
        batch_free(&other);
        batch_free(&all);
        model_free(map);
        bh_table_destroy(table);
    }
}

static void exchange_in_a_full_table(void **state)
{
    test_executor executor;
    bh_context *context = NULL;
    (void)state;

    if (TEST_THREAD_SANITIZER) {
        return; // one thread does it all
    }
    // In turn, so that no thread gives back room at the last moment.
    test_executor_start(&executor, TEST_IN_TURN, 2);
    context = context_new(0, &executor.executor, NULL);
    exchange(context);
    bh_context_destroy(context);
    if (!test_on_gpu()) {
        context = context_new(1, NULL, NULL);
        exchange(context);
        bh_context_destroy(context);
    }
}

/* Every request to the system is refused in turn, in a table that needs no room: the call does
 * without, and nothing stays behind. */
static void refused_memory(void **state)
{
    (void)state;
    if (test_on_gpu()) {
        return; // it is the host's memory that is refused here
    }
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        for (int operation = 0; operation < 2; operation++) {
            // The larger calls take their memory in another way.
            for (uint64_t n = LEAST; n <= (TEST_SANITIZER ? 1u : 8u) * LEAST; n *= 8) {
                const test_widths widths = {8, 8};
                bool fired = true;

                for (uint64_t nth = 1; fired; nth++) {
                    watched_system watched;
                    bh_context *context = NULL;
                    bh_table *table = NULL;
                    model *map = model_new();
                    rng random = random_start(test_seed() + nth);
                    batch all = pattern_batch(SOME_TWICE, widths, n, &random);
                    bh_status status = BH_OK;

                    check(nth < 100, "an ordered call asks the system without end");
                    watched_start(&watched);
                    context = context_new(2, NULL, &watched.system);
                    table = ordered_table(context, widths, 100000, 0);
                    watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
                    (void)call_and_compare(table, map, operation == 0 ? BH_ADD : BATCH_APPLY, &all,
                                           &status);
                    check_status(status, BH_OK);
                    fired = watched_allow(&watched) > 0;
                    check(fired || nth > 1, "an ordered call needs no memory");
                    batch_free(&all);
                    model_free(map);
                    bh_table_destroy(table);
                    bh_context_destroy(context);
                    watched_end(&watched);
                }
            }
        }
    }
}

/* Keys that somebody has chosen who knows the table's seed, so that all of a call lie in one part:
 * it takes another way, and answers the same. */
static void chosen_keys(void **state)
{
    const uint64_t seed = 12345;
    const uint64_t n = LEAST;
    const uint64_t parts = (n - 1) / BH_ORDERED_PART + 1;
    bh_context *context = context_new(2, NULL, NULL);
    uint64_t multiplier = 0;
    const bh_seed of_parts = bh__ordered_seed(seed, &multiplier);
    (void)state;

    for (int operation = 0; operation < 2; operation++) {
        bh_table_options options = table_options(8, 8, 1);
        bh_table *table = NULL;
        model *map = model_new();
        batch all = batch_new(8, 8, n);
        rng random = random_start(test_seed());
        bh_status status = BH_OK;

        options.duplicates = BH_DUPLICATES_ORDERED;
        options.seed = seed;
        options.seed_fixed = 1;
        table = table_with(context, &options);
        for (uint64_t i = 0, key = 0; i < n; key++) {
            if (bh_hash_range(bh_hash_key(key, &of_parts).one, parts) == 0) {
                batch_set(&all, i, i % 10 == 9 ? batch_key(&all, i - 3) : key, i);
                all.ops[i] = pattern_op(FEW_KEYS, 8, i, &random);
                i++;
            }
        }
        (void)call_and_compare(table, map, operation == 0 ? BH_ADD : BATCH_APPLY, &all, &status);
        check_status(status, BH_OK);
        batch_free(&all);
        model_free(map);
        bh_table_destroy(table);
    }
    bh_context_destroy(context);
}

/* --- calls of one thread ------------------------------------------------------------------- */

/* A key that comes again after `period` others; of period 0, one in 65 elements has the same key, and no other comes twice. */
static uint64_t key_again(uint32_t key_bytes, uint64_t period, uint64_t i)
{
    return random_key(key_bytes, 6, period > 0 ? i % period : i % 65 == 64 ? 0 : i + 1);
}

/* All operations in calls of one thread, which are cut where keys repeat: around the least number of different keys that run as
 * if concurrent, around a slice, and in between. The table grows in the middle of them, or, where it has a budget, refuses keys. */
static void cut_calls(bh_context *context, bh_design design, test_widths widths, bool has_budget)
{
    static const uint64_t periods[] = {0,   1,   62,  63,   64,   65,   127,
                                       190, 191, 192, 2000, 2047, 2048, 5000};
    static const uint64_t sizes[] = {63, 64, 65, 192, 193, 2048, 2049, 9000};

    for (size_t p = 0; p < TEST_COUNT(periods); p++) {
        bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
        rng random = random_start(test_seed() + p);
        model *map = model_new();
        bh_table *table = NULL;

        options.design = design;
        options.duplicates = BH_DUPLICATES_ORDERED;
        options.max_host_bytes = has_budget ? 40000 : 0;
        table = table_with(context, &options);
        for (int operation = 0; operation < BATCH_OPS + 4; operation++) {
            const int call = operation < BATCH_OPS ? operation : BATCH_APPLY;
            const uint64_t n = sizes[(p + (size_t)operation) % TEST_COUNT(sizes)];
            bh_status status = BH_OK;
            batch all;

            if (widths.value_bytes == 0 && batch_is_reduction(call)) {
                continue;
            }
            all = batch_new(widths.key_bytes, widths.value_bytes, n);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, key_again(widths.key_bytes, periods[p], i),
                          random_next(&random));
                all.ops[i] = pattern_op(FEW_KEYS, widths.value_bytes, i, &random);
            }
            (void)call_and_compare(table, map, call, &all, &status);
            check(status == BH_OK || (has_budget && status == BH_ERR_FULL), "%s",
                  bh_error_detail());
            batch_free(&all);
        }
        model_free(map);
        bh_table_destroy(table);
    }
}

static void by_one_thread(void **state)
{
    bh_context *context = NULL;
    bh_design design;
    (void)state;

    if (TEST_THREAD_SANITIZER || test_on_gpu()) {
        return; // one thread of the host does it all
    }
    context = context_new(1, NULL, NULL);
    for (uint32_t d = 0; (design = bh__design_at(d, NULL)) != BH_AUTO; d++) {
        for (int w = TEST_SANITIZER; w < TEST_WIDTHS; w += TEST_SANITIZER ? 4 : 1) {
            cut_calls(context, design, test_all_widths[w], false);
            cut_calls(context, design, test_all_widths[w], true);
        }
    }
    bh_context_destroy(context);
}

/* How many keys are different, from the first on, where the first that repeats one is known. */
static void first_that_repeats(void **state)
{
    static const uint32_t counts[] = {
        1, 2, 3, 63, 64, 65, 1000, BH_DISTINCT_MOST - 1, BH_DISTINCT_MOST};
    rng random = random_start(test_seed());
    (void)state;

    for (uint32_t k = 4; k <= 8; k += 4) {
        for (uint64_t c = 0; c < TEST_COUNT(counts); c++) {
            const uint32_t n = counts[c];
            for (uint32_t round = 0; round < 20; round++) {
                // Keys at equal distances, multiples of a power of two, and random ones; all different.
                const uint32_t shift = round % 3 == 1 ? 8 * k - 13 : 0;
                const uint64_t distance = round % 3 == 0 ? 1 + 421 * round : 1;
                batch all = batch_new(k, 0, n);
                const uint64_t late = n > 1 ? 1 + random_below(&random, n - 1) : 0;
                for (uint64_t i = 0; i < n; i++) {
                    const uint64_t key =
                        round % 3 == 2 ? random_key(k, 1, i) : i * distance << shift;
                    batch_set(&all, i, key, 0);
                }
                check(bh__distinct(all.keys, k, n) == n, "%u different keys of %u bytes are not", n,
                      k);
                if (late > 0) {
                    batch_set(&all, late, batch_key(&all, random_below(&random, late)), 0);
                    check(bh__distinct(all.keys, k, n) == late,
                          "of %u keys number %llu is the first that repeats one", n,
                          (unsigned long long)late);
                }
                batch_free(&all);
            }
        }
    }
}

/* Keys that somebody has chosen so that they are looked for in one place: some count as repeated, and none that is
 * counts as different. */
static void keys_for_one_place(void **state)
{
    // Inverses of the factors of cpu/scramble.h.
    const uint64_t first = 0xf1de83e19937733dULL, second = 0x96de1b173f119089ULL,
                   third = 0x319642b2d24d8ec3ULL;
    batch all = batch_new(8, 0, BH_DISTINCT_MOST);
    uint32_t count = 0;
    (void)state;

    check(first * 0x9e3779b97f4a7c15ULL == 1 && second * 0xbf58476d1ce4e5b9ULL == 1 &&
              third * 0x94d049bb133111ebULL == 1,
          "no inverses");
    for (uint64_t i = 0; i < BH_DISTINCT_MOST; i++) {
        uint64_t key = i * third;
        key = (key ^ key >> 29 ^ key >> 58) * second;
        batch_set(&all, i, (key ^ key >> 32) * first, 0);
    }
    count = bh__distinct(all.keys, 8, BH_DISTINCT_MOST);
    check(count >= 1 && count < 100, "%u keys in one place", count);
    batch_set(&all, 5, batch_key(&all, 2), 0);
    check(bh__distinct(all.keys, 8, BH_DISTINCT_MOST) == 5,
          "a key that repeats one was passed over");
    batch_free(&all);
}

/* Several callers of one table, whose calls hold the same keys: INSERTED minus ERASED of all
 * callers is how each key's existence has changed, and every addition counts once. */
typedef struct callers {
    bh_table *table;
    batch parts[4];
} callers;

static void call_apply(void *argument, uint32_t thread)
{
    callers *all = argument;
    check_status(batch_call(all->table, BATCH_APPLY, &all->parts[thread]), BH_OK);
}

static void call_add(void *argument, uint32_t thread)
{
    callers *all = argument;
    check_status(batch_call(all->table, BH_ADD, &all->parts[thread]), BH_OK);
}

static void concurrent_callers(void **state)
{
    enum { KEYS = 3000 };
    const uint64_t n = LEAST + test_scaled(30000);
    const test_widths widths = {8, 8};
    bh_context *context = context_new(2, NULL, NULL);
    uint64_t *sums = test_allocate(KEYS * sizeof *sums);
    int64_t *change = test_allocate(KEYS * sizeof *change);
    (void)state;

    // Ordered ones and additions; few keys and many.
    for (int round = 0; round < 8; round += widths_step(1)) {
        rng random = random_start(test_seed() + (uint64_t)round);
        // Few keys: nearly all in the last batch of each call; many: in waves as well.
        const uint64_t keys = round % 2 == 0 ? 20 : KEYS;
        const bool adds = round % 4 >= 2;
        callers all;
        pairs content;

        all.table = ordered_table(context, widths, 1, 0);
        memset(sums, 0, KEYS * sizeof *sums);
        memset(change, 0, KEYS * sizeof *change);
        for (uint64_t t = 0; t < 4; t++) {
            all.parts[t] = batch_new(widths.key_bytes, widths.value_bytes, n);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all.parts[t], i, random_below(&random, keys), random_next(&random));
                all.parts[t].ops[i] = pattern_op(FEW_KEYS, widths.value_bytes, i, &random);
            }
            for (uint64_t i = 0; i < n; i++) {
                sums[batch_key(&all.parts[t], i)] += batch_value(&all.parts[t], i);
            }
        }
        threads_run(4, adds ? call_add : call_apply, &all);
        for (uint64_t t = 0; t < 4; t++) {
            for (uint64_t i = 0; i < n; i++) {
                change[batch_key(&all.parts[t], i)] += (all.parts[t].outcomes[i] == BH_INSERTED) -
                                                       (all.parts[t].outcomes[i] == BH_ERASED);
            }
            batch_free(&all.parts[t]);
        }
        content = table_pairs(all.table, widths.key_bytes, widths.value_bytes, 1000);
        for (uint64_t k = 0; k < keys; k++) {
            check(change[k] == (int64_t)keys_contain(content.keys, content.count, k),
                  "key %llu: INSERTED minus ERASED is %lld", (unsigned long long)k,
                  (long long)change[k]);
        }
        for (uint64_t i = 0; adds && i < content.count; i++) {
            check(content.values[i] == sums[content.keys[i]], "a wrong sum");
        }
        pairs_free(&content);
        bh_table_destroy(all.table);
    }
    free(sums);
    free(change);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one_in_turn),
        cmocka_unit_test(one_by_one_on_the_pool),
        cmocka_unit_test(one_by_one_in_any_order_of_tasks),
        cmocka_unit_test(several_chunks),
        cmocka_unit_test(without_outcomes),
        cmocka_unit_test(budgets),
        cmocka_unit_test(exchange_in_a_full_table),
        cmocka_unit_test(refused_memory),
        cmocka_unit_test(chosen_keys),
        cmocka_unit_test(by_one_thread),
        cmocka_unit_test(first_that_repeats),
        cmocka_unit_test(keys_for_one_place),
        cmocka_unit_test(concurrent_callers),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
