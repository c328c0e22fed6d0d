/* ctest: every target */
/* ctest: every device */
/*
 * bh_sort: pairs in ascending order of their keys, equal keys in the order in which they were,
 * against a merge sort that is too simple to be wrong; and what it refuses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"

typedef struct row {
    uint64_t key;
    uint64_t value;
} row;

/* Sorts rows [first, end) stably; `spare` is as large. */
static void merge_sort(row *rows, row *spare, uint64_t first, uint64_t end)
{
    const uint64_t middle = first + (end - first) / 2;
    uint64_t one = first;
    uint64_t other = middle;

    if (end - first < 2) {
        return;
    }
    merge_sort(rows, spare, first, middle);
    merge_sort(rows, spare, middle, end);
    for (uint64_t i = first; i < end; i++) {
        bool from_one = one < middle && (other == end || rows[one].key <= rows[other].key);
        spare[i] = rows[from_one ? one++ : other++];
    }
    memcpy(rows + first, spare + first, (end - first) * sizeof *rows);
}

/* Keys at random, few, alike, ascending, descending, in the lowest or the highest bits. */
enum { KINDS = 7 };

static uint64_t kind_key(int kind, uint32_t key_bytes, uint64_t i, uint64_t n, rng *random)
{
    const uint64_t mask = test_width_mask(key_bytes);

    switch (kind) {
    case 0: return random_next(random) & mask;
    case 1: return random_key(key_bytes, 1, random_below(random, 5));
    case 2: return mask;
    case 3: return i;
    case 4: return mask - i;
    case 5: return random_below(random, n);
    default: return random_below(random, 7) << (key_bytes * 8 - 3);
    }
}

static void sort_and_compare(bh_context *context, test_widths widths, uint64_t n, int kind)
{
    rng random = random_start(test_seed() + n * KINDS + (uint64_t)kind);
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    row *rows = test_allocate((n + 1) * sizeof *rows);
    row *spare = test_allocate((n + 1) * sizeof *spare);

    // The value says where the pair was, so that the order of equal keys shows.
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, kind_key(kind, widths.key_bytes, i, n, &random), i);
        rows[i] = (row){batch_key(&all, i), batch_value(&all, i)};
    }
    merge_sort(rows, spare, 0, n);
    check_status(bh_sort(context, all.keys, widths.key_bytes, all.values, widths.value_bytes, n),
                 BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        check(batch_key(&all, i) == rows[i].key && batch_value(&all, i) == rows[i].value,
              "kind %d, widths %u and %u: pair %llu of %llu is %#llx -> %llu instead of %#llx -> "
              "%llu",
              kind, widths.key_bytes, widths.value_bytes, (unsigned long long)i,
              (unsigned long long)n, (unsigned long long)batch_key(&all, i),
              (unsigned long long)batch_value(&all, i), (unsigned long long)rows[i].key,
              (unsigned long long)rows[i].value);
    }
    free(rows);
    free(spare);
    batch_free(&all);
}

static void sorted_and_stable(void **state)
{
    static const uint64_t sizes[] = {0, 1, 2, 3, 17, 1000, 5000, 30000};
    test_executor executor;
    bh_context *contexts[2];
    (void)state;

    test_executor_start(&executor, TEST_SHUFFLED, 3);
    contexts[0] = context_new(2, NULL, NULL);
    contexts[1] = context_new(0, &executor.executor, NULL);
    for (int c = 0; c < 2; c++) {
        for (int w = 0; w < TEST_WIDTHS; w++) {
            for (int kind = 0; kind < KINDS; kind++) {
                for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
                    sort_and_compare(contexts[c], test_all_widths[w], sizes[s], kind);
                }
                sort_and_compare(contexts[c], test_all_widths[w], test_scaled(300000), kind);
            }
        }
        bh_context_destroy(contexts[c]);
    }
}

static void refused_arguments(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    uint64_t keys[4] = {4, 3, 2, 1};
    uint64_t values[4] = {1, 2, 3, 4};
    (void)state;

    check_status(bh_sort(NULL, keys, 8, values, 8, 4), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, NULL, 8, values, 8, 4), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, NULL, 8, 4), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, (char *)keys + 4, 8, values, 8, 3), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, (char *)values + 4, 8, 3), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, keys, 8, 4), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, keys + 1, 8, 2), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, values, 8, UINT64_MAX), BH_ERR_ARGUMENT);
    check_status(bh_sort(context, keys, 8, values, 8, UINT64_MAX / 8), BH_ERR_ARGUMENT);
    // Numbers whose bytes can be counted, and yet are more than any memory has.
    for (int bits = 54; bits < 64; bits++) {
        check_status(bh_sort(context, keys, 4, NULL, 0, UINT64_C(1) << bits), BH_ERR_ARGUMENT);
        check_status(bh_sort(context, keys, 4, values, 8, UINT64_C(1) << bits), BH_ERR_ARGUMENT);
    }
    check_status(bh_sort(context, keys, 2, values, 8, 4), BH_ERR_UNSUPPORTED);
    check_status(bh_sort(context, keys, 0, values, 8, 4), BH_ERR_UNSUPPORTED);
    check_status(bh_sort(context, keys, 8, values, 16, 4), BH_ERR_UNSUPPORTED);
    check_status(bh_sort(context, keys, 8, values, 2, 4), BH_ERR_UNSUPPORTED);
    for (uint64_t i = 0; i < 4; i++) {
        check(keys[i] == 4 - i && values[i] == i + 1, "a refused sort wrote its arrays");
    }
    check_status(bh_sort(context, NULL, 8, NULL, 8, 0), BH_OK);
    check_status(bh_sort(context, keys, 8, NULL, 0, 4), BH_OK);
    for (uint64_t i = 0; i < 4; i++) {
        check(keys[i] == i + 1, "keys alone are not sorted");
    }
    bh_context_destroy(context);
}

/* Without memory the arrays stay as they were. */
static void refused_memory(void **state)
{
    (void)state;
    // What is refused here is the host's memory.
    for (uint64_t n = 100; n <= 1000000 && !test_on_gpu(); n *= 100) {
        bool fired = true;
        uint64_t failures = 0;

        for (uint64_t nth = 1; fired; nth++) {
            watched_system watched;
            bh_context *context = NULL;
            batch all = batch_new(8, 8, n);
            bh_status status = BH_OK;

            check(nth < 100, "a sort asks the system without end");
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_mix64(n - i), i);
            }
            watched_start(&watched);
            context = context_new(2, NULL, &watched.system);
            watched_refuse(&watched, WATCH_ALL_FAULTS, nth, true);
            status = bh_sort(context, all.keys, 8, all.values, 8, n);
            check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
            fired = watched_allow(&watched) > 0;
            check(fired || status == BH_OK, "%s, but nothing was refused", bh_status_name(status));
            failures += status == BH_ERR_MEMORY;
            for (uint64_t i = 0; i < n && status == BH_ERR_MEMORY; i++) {
                check(batch_key(&all, i) == random_mix64(n - i) && batch_value(&all, i) == i,
                      "a sort without memory has moved pair %llu", (unsigned long long)i);
            }
            for (uint64_t i = 1; i < n && status == BH_OK; i++) {
                check(batch_key(&all, i - 1) <= batch_key(&all, i), "not sorted");
            }
            batch_free(&all);
            bh_context_destroy(context);
            watched_end(&watched);
        }
        check(failures > 0, "a sort of %llu pairs needs no memory", (unsigned long long)n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_and_stable),
        cmocka_unit_test(refused_arguments),
        cmocka_unit_test(refused_memory),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
