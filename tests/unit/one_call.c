/* ctest: every design */
/* ctest: every device */
/*
 * A call that brings more keys than its table may have: the table grows at once, for as many keys as the call has, however
 * often each comes (cpu/census.h; cuda/host/survey.c); it takes no more memory than a table that was made for these keys,
 * or hardly more; and it does what it can if it may not grow.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/random.h"
#include "support/tables.h"
#include "tables/table.h"

// Two tasks count the elements of the longest call, and a part of the keys, on cores.
enum { LONGEST = TEST_SANITIZER ? 70000 : 150000 };

static bh_context *context;

static int one_call_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int one_call_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* Keys as programs have them: any, in a row, at equal distances, pairs of numbers that are the same or follow each other. */
enum { ANY_KEYS, KEYS_IN_A_ROW, KEYS_APART, KEYS_OF_TWINS, KEYS_OF_EDGES, PATTERNS };

// Threads do the same whatever the keys are.
enum { PATTERNS_TRIED = TEST_THREAD_SANITIZER ? 1 : PATTERNS };

static uint64_t key_number(int pattern, uint32_t key_bytes, uint64_t i)
{
    switch (pattern) {
    case KEYS_IN_A_ROW: return i;
    case KEYS_APART: return key_bytes == 4 ? i * 4096 + i / (1 << 20) : i << 20;
    case KEYS_OF_TWINS: return key_bytes == 4 ? i * 257 : (i * 256) << 32 | i * 256;
    case KEYS_OF_EDGES: return key_bytes == 4 ? i * 65537 : (i * 128) << 32 | (i + 1) * 128;
    default: return random_key(key_bytes, test_seed(), i);
    }
}

/* n elements with `keys` different keys, each of which comes once at least, from the first-th of the pattern on. */
static batch elements(test_widths widths, int pattern, uint64_t first, uint64_t keys, uint64_t n)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    rng random = random_start(test_seed() + n);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t number = i < keys ? i : random_below(&random, keys);
        batch_set(&all, i, key_number(pattern, widths.key_bytes, first + number), i);
        all.ops[i] = BH_INSERT;
    }
    // The first elements are not all different.
    for (uint64_t i = n; i > 1 && keys < n; i--) {
        const uint64_t j = random_below(&random, i);
        const uint64_t key = batch_key(&all, i - 1);
        batch_set(&all, i - 1, batch_key(&all, j), i);
        batch_set(&all, j, key, j);
    }
    return all;
}

static bh_table_options options_for(test_widths widths, uint64_t capacity)
{
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, capacity);
    options.seed = test_seed();
    options.seed_fixed = 1;
    return options;
}

static uint64_t slots_for(test_widths widths, uint64_t keys)
{
    const bh_table_options options = options_for(widths, keys);
    bh_table *table = table_with(context, &options);
    const uint64_t slots = table_stats(table).slots;
    bh_table_destroy(table);
    return slots;
}

/* HashFight is built for the keys of its first call, and a mixed call grows step by step on cores, since it may erase. */
static bool counts_keys(const bh_table *table, int operation)
{
    return table->policy->perform == NULL && (operation != BATCH_APPLY || test_on_gpu());
}

static void check_keys(bh_table *table, const batch *all, uint64_t keys)
{
    check(table_stats(table).keys == keys, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)keys);
    check_status(batch_call(table, BH_FIND, (batch *)(uintptr_t)all), BH_OK);
    batch_check_all(all, BH_FOUND);
}

static void check_call(test_widths widths, int operation, int pattern, uint64_t keys, uint64_t n)
{
    const bh_table_options options = options_for(widths, 0);
    bh_table *table = table_with(context, &options);
    batch all = elements(widths, pattern, 0, keys, n);
    bh_table_stats stats;

    check_status(batch_call(table, operation, &all), BH_OK);
    stats = table_stats(table);
    check_keys(table, &all, keys);
    // Where each key comes often, the last ones may come after what has been counted; and to a GPU arrays of the host come in
    // parts.
    if (counts_keys(table, operation) && n <= 4 * keys && !test_on_gpu()) {
        check(stats.grows <= (keys < 1000 ? 6 : 2),
              "operation %d, pattern %d: grew %llu times for %llu of %llu", operation, pattern,
              (unsigned long long)stats.grows, (unsigned long long)keys, (unsigned long long)n);
        check(stats.slots <= slots_for(widths, keys + keys / 8 + 64),
              "operation %d, pattern %d: %llu slots for %llu keys", operation, pattern,
              (unsigned long long)stats.slots, (unsigned long long)keys);
    } else {
        check(stats.slots <= slots_for(widths, 2 * keys + 64) * 5 / 4,
              "operation %d: %llu slots for %llu keys", operation, (unsigned long long)stats.slots,
              (unsigned long long)keys);
    }
    bh_table_destroy(table);
    batch_free(&all);
}

static void empty_tables_grow_at_once(void **state)
{
    static const uint64_t counts[] = {40, 1000, 4099, LONGEST};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (int pattern = 0; pattern < PATTERNS_TRIED; pattern++) {
            for (size_t c = 0; c < TEST_COUNT(counts); c++) {
                if (counts[c] < LONGEST || w % PATTERNS == pattern) {
                    check_call(test_all_widths[w], BH_INSERT, pattern, counts[c], counts[c]);
                }
            }
        }
    }
}

static void every_operation_does(void **state)
{
    static const int operations[] = {BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_ADD, BATCH_APPLY};
    const test_widths widths = {4, 4};
    (void)state;

    for (size_t o = 0; o < TEST_COUNT(operations); o++) {
        check_call(widths, operations[o], ANY_KEYS, 5000, 5000);
        check_call(widths, operations[o], ANY_KEYS, 5000, 15000);
    }
}

static void keys_that_come_often_count_once(void **state)
{
    static const uint64_t keys[] = {1, 10, 300, 1000, 20000};
    const test_widths widths = {8, 8};
    (void)state;

    for (size_t k = 0; k < TEST_COUNT(keys); k++) {
        check_call(widths, BH_ADD, ANY_KEYS, keys[k], LONGEST);
    }
}

/* A call that brings sixteen times as many keys as the table has, these among them: only those are moved; or it grows twice, because
 * keys that were there are not always counted. */
static void tables_with_keys_grow_at_once(void **state)
{
    static const uint64_t counts[] = {640, 3200, 32000};
    const test_widths widths = {8, 4};
    (void)state;

    for (size_t c = 0; c < TEST_COUNT(counts); c++) {
        const bh_table_options options = options_for(widths, 0);
        const uint64_t few = counts[c] / 16;
        bh_table *table = table_with(context, &options);
        batch some = elements(widths, KEYS_IN_A_ROW, 0, few, few);
        batch all = elements(widths, KEYS_IN_A_ROW, 0, counts[c], counts[c]);
        uint64_t moved = 0, grows = 0;

        check_status(batch_call(table, BH_INSERT, &some), BH_OK);
        moved = table_stats(table).keys_moved;
        grows = table_stats(table).grows;
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        moved = table_stats(table).keys_moved - moved;
        grows = table_stats(table).grows - grows;
        check(!counts_keys(table, BH_INSERT) || test_on_gpu() || moved <= 4 * few || grows <= 2,
              "%llu keys moved where %llu had been", (unsigned long long)moved,
              (unsigned long long)few);
        check(!counts_keys(table, BH_INSERT) ||
                  table_stats(table).slots <= slots_for(widths, counts[c] * 9 / 8 + 64) * 5 / 2,
              "%llu slots for %llu keys", (unsigned long long)table_stats(table).slots,
              (unsigned long long)counts[c]);
        check_keys(table, &all, counts[c]);
        bh_table_destroy(table);
        batch_free(&some);
        batch_free(&all);
    }
}

/* A table that was made for the keys of a call does not grow for them, however often they come. */
static void capacity_is_enough(void **state)
{
    static const uint64_t counts[] = {100, 5000, 30000};
    const test_widths widths = {8, 8};
    bh_context *one = context_new(1, NULL, NULL);
    (void)state;

    for (int pattern = 0; pattern < PATTERNS_TRIED; pattern++) {
        for (size_t c = 0; c < TEST_COUNT(counts); c++) {
            for (uint64_t before = 0; before <= 1; before++) {
                const bh_table_options options = options_for(widths, counts[c]);
                bh_table *table = table_with(one, &options);
                batch all = elements(widths, pattern, 0, counts[c], 5 * counts[c]);
                batch first = elements(widths, pattern, 0, 1, 1);

                if (before == 1) {
                    check_status(batch_call(table, BH_ADD, &first), BH_OK);
                }
                check_status(batch_call(table, BH_ADD, &all), BH_OK);
                check(table_stats(table).grows == 0, "pattern %d: grew for %llu keys", pattern,
                      (unsigned long long)counts[c]);
                check_keys(table, &all, counts[c]);
                bh_table_destroy(table);
                batch_free(&all);
                batch_free(&first);
            }
        }
    }
    bh_context_destroy(one);
}

/* What a budget allows is used, as if there had been no counting. (On a GPU such a call may use less.) */
static void budgets_are_used_up(void **state)
{
    const test_widths widths = {4, 4};
    const uint64_t n = 20000;
    (void)state;

    for (uint64_t part = 2; part <= 8; part *= 2) {
        bh_table_options options = options_for(widths, n / part);
        bh_table *table = table_with(context, &options);
        batch all = elements(widths, ANY_KEYS, 0, n, n);
        batch few = elements(widths, ANY_KEYS, 0, n, n);
        const uint64_t bytes = table_stats(table).bytes_total;
        uint64_t in_steps = 0, at_once = 0;

        bh_table_destroy(table);
        options = options_for(widths, 0);
        options.max_host_bytes = options.max_device_bytes = bytes + bytes / 4;
        table = table_with(context, &options);
        few.n = 16;
        for (uint64_t i = 0; i < n; i += few.n) {
            for (uint64_t j = 0; j < few.n; j++) {
                batch_set(&few, j, batch_key(&all, i + j), i);
            }
            (void)batch_call(table, BH_INSERT, &few);
        }
        in_steps = table_stats(table).keys;
        bh_table_destroy(table);
        table = table_with(context, &options);
        check_status(batch_call(table, BH_INSERT, &all), BH_ERR_FULL);
        at_once = table_stats(table).keys;
        check(at_once + batch_count(&all, BH_NOT_DONE) == n, "%llu keys, and %llu refused",
              (unsigned long long)at_once, (unsigned long long)batch_count(&all, BH_NOT_DONE));
        check(at_once >= in_steps - in_steps / 8 || !counts_keys(table, BH_INSERT) || test_on_gpu(),
              "%llu keys at once, but %llu in small calls", (unsigned long long)at_once,
              (unsigned long long)in_steps);
        bh_table_destroy(table);
        few.n = n;
        batch_free(&few);
        batch_free(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_tables_grow_at_once),
        cmocka_unit_test(every_operation_does),
        cmocka_unit_test(keys_that_come_often_count_once),
        cmocka_unit_test(tables_with_keys_grow_at_once),
        cmocka_unit_test(capacity_is_enough),
        cmocka_unit_test(budgets_are_used_up),
    };
    return cmocka_run_group_tests(tests, one_call_start, one_call_end);
}
