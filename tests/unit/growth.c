/* ctest: every target */
/*
 * Growth, room and budgets: a capacity asked for is kept, max_fill is never exceeded, and a table
 * that may not grow any further does what it can, says exactly what it could not do, and goes on
 * working.
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

static bh_context *context;

static int growth_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int growth_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* The i-th key of a pattern; patterns are what programs insert: identifiers, addresses, hashes. */
enum { RANDOM_KEYS, SEQUENTIAL_KEYS, STRIDED_KEYS, PATTERNS };

static uint64_t pattern_key(int pattern, uint32_t key_bytes, uint64_t i)
{
    switch (pattern) {
    case SEQUENTIAL_KEYS: return i;
    case STRIDED_KEYS: // a power of two that leaves room for the counts used here
        return key_bytes == 4 ? (i * 4096) | (i >> 20) : i << 32;
    default: return random_key(key_bytes, 99, i);
    }
}

static batch pattern_batch(test_widths widths, int pattern, uint64_t first, uint64_t n)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, pattern_key(pattern, widths.key_bytes, first + i), first + i);
    }
    return all;
}

/* Inserts `keys` distinct keys into a table made (or reserved) for them: it must not grow. */
static void check_room(bh_table *table, test_widths widths, int pattern, uint64_t keys,
                       uint64_t seed, const char *what)
{
    bh_table_stats before = table_stats(table);
    bh_table_stats after;
    batch all = pattern_batch(widths, pattern, 0, keys);

    check(before.max_keys >= keys, "%s for %llu keys, but max_keys is %llu", what,
          (unsigned long long)keys, (unsigned long long)before.max_keys);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    after = table_stats(table);
    check(after.grows == before.grows && after.slots == before.slots,
          "%s for %llu keys (%u/%u bytes, pattern %d, seed %llu, %llu slots): grew %llu times "
          "while they were inserted",
          what, (unsigned long long)keys, widths.key_bytes, widths.value_bytes, pattern,
          (unsigned long long)seed, (unsigned long long)before.slots,
          (unsigned long long)(after.grows - before.grows));
    check(after.keys == keys, "%llu keys instead of %llu", (unsigned long long)after.keys,
          (unsigned long long)keys);
    batch_free(&all);
}

/* capacity: so many keys fit without growth. */
static void capacity_is_kept(void **state)
{
    static const uint64_t large[] = {1000, 4095, 4096, 4097, 20000, 65536, 100000};
    const uint64_t seeds = TEST_SANITIZER ? 1 : 3;
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            for (uint64_t seed = 0; seed < seeds; seed++) {
                // Every small capacity: there an unlucky choice of buckets matters most.
                uint64_t step = TEST_SANITIZER ? 17 : seed == 0 ? 1 : 7;
                for (uint64_t capacity = 1 + seed; capacity <= 160; capacity += step) {
                    bh_table_options options = table_options(
                        test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, capacity);
                    bh_table *table = NULL;
                    options.seed = test_seed() + seed;
                    options.seed_fixed = 1;
                    table = table_with(context, &options);
                    check_room(table, test_all_widths[w], pattern, capacity, test_seed() + seed,
                               "capacity");
                    bh_table_destroy(table);
                }
            }
            for (size_t c = 0; c < TEST_COUNT(large); c++) {
                bh_table_options options =
                    table_options(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes,
                                  test_scaled(large[c]));
                bh_table *table = NULL;
                options.seed = test_seed() + c;
                options.seed_fixed = 1;
                table = table_with(context, &options);
                check_room(table, test_all_widths[w], pattern, test_scaled(large[c]),
                           test_seed() + c, "capacity");
                bh_table_destroy(table);
            }
        }
    }
}

/* Small tables have few buckets, and a seed can crowd the keys into some of them: many seeds. */
static void small_capacities_are_kept_for_many_seeds(void **state)
{
    static const uint64_t capacities[] = {2, 5, 10, 20, 40, 80};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t c = 0; c < TEST_COUNT(capacities); c++) {
            for (uint64_t seed = 0; seed < (TEST_SANITIZER ? 10 : 300); seed++) {
                bh_table_options options = table_options(
                    test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, capacities[c]);
                bh_table *table = NULL;
                options.seed = random_mix64(test_seed() + seed);
                options.seed_fixed = 1;
                table = table_with(context, &options);
                check_room(table, test_all_widths[w], RANDOM_KEYS, capacities[c], options.seed,
                           "capacity");
                bh_table_destroy(table);
            }
        }
    }
}

/* The same at the highest and at a low max_fill, and with 2 and 8 subtables. */
static void capacity_is_kept_at_other_fills(void **state)
{
    static const double fills[] = {0.95, 0.9, 0.5, 0.1};
    static const uint32_t subtables[] = {2, 3, 8};
    static const uint64_t capacities[] = {1, 10, 33, 500, 7000, 50000};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t f = 0; f < TEST_COUNT(fills); f++) {
            for (size_t d = 0; d < TEST_COUNT(subtables); d++) {
                for (size_t c = 0; c < TEST_COUNT(capacities); c++) {
                    const uint64_t capacity = test_scaled(capacities[c]);
                    bh_table_options options = table_options(
                        test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, capacity);
                    bh_table *table = NULL;
                    char what[80];
                    options.max_fill = fills[f];
                    options.dycuckoo.subtables = subtables[d];
                    options.seed = test_seed() + c;
                    options.seed_fixed = 1;
                    table = table_with(context, &options);
                    (void)snprintf(what, sizeof what, "capacity (max_fill %g, %u subtables)",
                                   fills[f], subtables[d]);
                    check_room(table, test_all_widths[w], RANDOM_KEYS, capacity, test_seed() + c,
                               what);
                    bh_table_destroy(table);
                }
            }
        }
    }
}

/* bh_reserve keeps the same promise, on empty tables and on those with keys; keys stay. */
static void reserve_is_kept(void **state)
{
    static const uint64_t sizes[] = {1, 3, 50, 1000, 30000};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t keys = test_scaled(sizes[s]);
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            batch first = pattern_batch(widths, RANDOM_KEYS, 0, keys);
            batch more = pattern_batch(widths, RANDOM_KEYS, keys, 2 * keys);
            bh_table_stats reserved;

            options.seed = test_seed() + s;
            options.seed_fixed = 1;
            table = table_with(context, &options);
            check_status(bh_reserve(table, 0), BH_OK);
            check_status(bh_reserve(table, keys), BH_OK);
            check_room(table, widths, RANDOM_KEYS, keys, test_seed() + s, "reserve");
            check_status(bh_reserve(table, 3 * keys), BH_OK);
            reserved = table_stats(table);
            check(reserved.keys == keys && reserved.max_keys >= 3 * keys,
                  "reserve(%llu) left %llu keys and room for %llu", (unsigned long long)(3 * keys),
                  (unsigned long long)reserved.keys, (unsigned long long)reserved.max_keys);
            check_status(bh_reserve(table, keys), BH_OK); // never makes it smaller
            check(table_stats(table).slots == reserved.slots, "reserve made the table smaller");
            check_status(batch_call(table, BH_INSERT, &more), BH_OK);
            batch_check_all(&more, BH_INSERTED);
            check(table_stats(table).grows == reserved.grows,
                  "reserve(%llu): grew while %llu keys were inserted (%u/%u bytes)",
                  (unsigned long long)(3 * keys), (unsigned long long)(2 * keys), widths.key_bytes,
                  widths.value_bytes);
            check_status(batch_call(table, BH_FIND, &first), BH_OK);
            batch_check_all(&first, BH_FOUND);
            for (uint64_t i = 0; i < keys && widths.value_bytes > 0; i++) {
                check(batch_value(&first, i) == i, "reserve changed a value");
            }
            batch_free(&first);
            batch_free(&more);
            bh_table_destroy(table);
        }
    }
}

/* max_fill is kept at every moment while a table grows from capacity 1, and growth pays: the
 * number of keys moved stays linear, and the table is not much larger than its keys need. */
static void max_fill_is_kept(void **state)
{
    static const double fills[] = {0.3, 0.85, 0.95};
    static const uint64_t batch_sizes[] = {1, 1000};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t f = 0; f < TEST_COUNT(fills); f++) {
            for (size_t b = 0; b < TEST_COUNT(batch_sizes); b++) {
                const test_widths widths = test_all_widths[w];
                const uint64_t n = batch_sizes[b];
                // The smallest table takes 160 keys of 4 bytes before it grows.
                const uint64_t batches = n == 1 ? (TEST_SANITIZER ? 250 : 600) : test_scaled(60);
                bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
                bh_table *table = NULL;
                bh_table_stats stats;
                uint64_t slots = 0;

                options.max_fill = fills[f];
                table = table_with(context, &options);
                for (uint64_t i = 0; i < batches; i++) {
                    batch all = pattern_batch(widths, RANDOM_KEYS, i * n, n);
                    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
                    batch_check_all(&all, BH_INSERTED);
                    batch_free(&all);
                    stats = table_stats(table);
                    check(stats.keys == (i + 1) * n, "%llu keys instead of %llu",
                          (unsigned long long)stats.keys, (unsigned long long)((i + 1) * n));
                    check((double)stats.keys <= fills[f] * (double)stats.slots,
                          "%llu keys in %llu slots, max_fill is %g", (unsigned long long)stats.keys,
                          (unsigned long long)stats.slots, fills[f]);
                    check((double)stats.max_keys <= fills[f] * (double)stats.slots,
                          "max_keys is %llu of %llu slots, max_fill is %g",
                          (unsigned long long)stats.max_keys, (unsigned long long)stats.slots,
                          fills[f]);
                    check(stats.slots >= slots, "the table became smaller while keys came");
                    slots = stats.slots;
                }
                table_check_stats(table);
                stats = table_stats(table);
                check(stats.grows > 0, "it never grew");
                check(stats.keys_moved <= 8 * stats.keys + 1000,
                      "%llu keys were moved to insert %llu", (unsigned long long)stats.keys_moved,
                      (unsigned long long)stats.keys);
                bh_table_destroy(table);
            }
        }
    }
}

/* For each key of the batch, present in the table or not, by a find of its own. */
static void find_present(bh_table *table, const batch *all, uint8_t *present, uint64_t *values)
{
    batch again = batch_new(all->key_bytes, all->value_bytes, all->n);

    memcpy(again.keys, all->keys, all->n * all->key_bytes);
    check_status(batch_call(table, BH_FIND, &again), BH_OK);
    for (uint64_t i = 0; i < all->n; i++) {
        present[i] = again.outcomes[i] == BH_FOUND;
        values[i] = batch_value(&again, i);
    }
    batch_free(&again);
}

/* A budget of host memory: the call does what it can and says exactly what it could not do. */
static void budget_of_host_memory(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = test_scaled_large(60000);
        bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
        bh_table *table = NULL;
        batch all = pattern_batch(widths, RANDOM_KEYS, 0, n);
        uint8_t *present = test_allocate(n);
        uint64_t *values = test_allocate(n * sizeof *values);
        uint64_t inserted = 0;
        uint64_t erased = 0;
        uint64_t resumed = 0;
        bh_table_stats stats;

        // Half of what the pairs alone take.
        options.max_host_bytes = n * (widths.key_bytes + widths.value_bytes) / 2;
        table = table_with(context, &options);
        check_status(batch_call(table, BH_INSERT, &all), BH_ERR_FULL);
        find_present(table, &all, present, values);
        for (uint64_t i = 0; i < n; i++) {
            check(all.outcomes[i] == BH_INSERTED || all.outcomes[i] == BH_NOT_DONE,
                  "outcome %u in a table that is full", all.outcomes[i]);
            check(present[i] == (all.outcomes[i] == BH_INSERTED),
                  "element %llu has outcome %u and is %s", (unsigned long long)i, all.outcomes[i],
                  present[i] ? "there" : "not there");
            check(!present[i] || values[i] == (i & mask), "a wrong value in a table that is full");
        }
        inserted = batch_count(&all, BH_INSERTED);
        stats = table_stats(table);
        check(stats.keys == inserted, "%llu keys, %llu were INSERTED",
              (unsigned long long)stats.keys, (unsigned long long)inserted);
        check(stats.bytes_host <= options.max_host_bytes, "%llu bytes, the budget is %llu",
              (unsigned long long)stats.bytes_host, (unsigned long long)options.max_host_bytes);
        // Doubling a part at a time must be able to use a fair part of what it was given.
        check(inserted * (widths.key_bytes + widths.value_bytes) * 8 >= options.max_host_bytes,
              "only %llu keys fit into %llu bytes", (unsigned long long)inserted,
              (unsigned long long)options.max_host_bytes);
        table_check_stats(table);

        // Keys that are there can be updated, reduced, inserted again and found.
        batch there = batch_new(widths.key_bytes, widths.value_bytes, inserted);
        for (uint64_t i = 0, j = 0; i < n; i++) {
            if (present[i]) {
                batch_set(&there, j++, batch_key(&all, i), i + 1);
            }
        }
        check_status(batch_call(table, BH_UPDATE, &there), BH_OK);
        batch_check_all(&there, BH_ASSIGNED);
        check_status(batch_call(table, BH_INSERT, &there), BH_OK);
        batch_check_all(&there, BH_ASSIGNED);
        check_status(batch_call(table, BH_INSERT_NEW, &there), BH_OK);
        batch_check_all(&there, BH_FOUND);
        if (widths.value_bytes > 0) {
            for (uint64_t i = 0; i < inserted; i++) {
                batch_set_value(&there, i, 1);
            }
            check_status(batch_call(table, BH_ADD, &there), BH_OK);
            batch_check_all(&there, BH_ASSIGNED);
        }
        check_status(batch_call(table, BH_FIND, &there), BH_OK);
        batch_check_all(&there, BH_FOUND);

        // Erasing half makes room for as many others: the call with just those not done resumes.
        erased = inserted / 2;
        there.n = erased;
        check_status(batch_call(table, BH_ERASE, &there), BH_OK);
        batch_check_all(&there, BH_ERASED);
        there.n = inserted;
        batch rest = batch_new(widths.key_bytes, widths.value_bytes, erased / 2);
        for (uint64_t i = 0; i < n && resumed < rest.n; i++) {
            if (!present[i]) {
                batch_set(&rest, resumed++, batch_key(&all, i), i);
            }
        }
        check(resumed == rest.n, "the budget stopped too few to test resuming");
        check_status(batch_call(table, BH_INSERT, &rest), BH_OK);
        batch_check_all(&rest, BH_INSERTED);
        check_status(batch_call(table, BH_FIND, &rest), BH_OK);
        batch_check_all(&rest, BH_FOUND);
        check(table_stats(table).keys == inserted - erased + resumed, "%llu keys",
              (unsigned long long)table_stats(table).keys);

        // Full again, and again, by other operations that insert; nothing is lost.
        for (int op = 0; op < BATCH_OPS; op++) {
            if (!batch_inserts(op) || (widths.value_bytes == 0 && batch_is_reduction(op))) {
                continue;
            }
            batch others = pattern_batch(widths, RANDOM_KEYS, n * (uint64_t)(op + 1), n);
            check_status(batch_call(table, op, &others), BH_ERR_FULL);
            find_present(table, &others, present, values);
            for (uint64_t i = 0; i < n; i++) {
                check(present[i] == (others.outcomes[i] == BH_INSERTED) &&
                          (present[i] || others.outcomes[i] == BH_NOT_DONE),
                      "%s: element %llu has outcome %u and is %s", batch_operation_name(op),
                      (unsigned long long)i, others.outcomes[i], present[i] ? "there" : "missing");
            }
            check_status(batch_call(table, BH_FIND, &rest), BH_OK);
            batch_check_all(&rest, BH_FOUND);
            // Room again for the next operation; without outcomes the status is the same.
            check_status(bh_erase(table, others.keys, n, NULL), BH_OK);
            check_status(bh_insert(table, others.keys, others.values, n, NULL), BH_ERR_FULL);
            check_status(bh_erase(table, others.keys, n, NULL), BH_OK);
            batch_free(&others);
        }
        check_status(bh_reserve(table, 10 * n), BH_ERR_FULL);
        check_status(batch_call(table, BH_FIND, &rest), BH_OK);
        batch_check_all(&rest, BH_FOUND);
        check(table_stats(table).bytes_host <= options.max_host_bytes,
              "a failed reserve broke the budget");
        pairs content = table_pairs(table, widths.key_bytes, widths.value_bytes, 777);
        pairs_free(&content);

        batch_free(&rest);
        batch_free(&there);
        batch_free(&all);
        free(present);
        free(values);
        bh_table_destroy(table);
    }
}

/* A full table in ordered calls and in mixed ones: what is not done had no effect. */
static void budget_in_ordered_and_mixed_calls(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t mask = test_width_mask(widths.value_bytes);
            const uint64_t n = test_scaled_large(50000);
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            batch all = pattern_batch(widths, RANDOM_KEYS, 0, n);
            uint8_t *present = test_allocate(n);
            uint64_t *values = test_allocate(n * sizeof *values);

            options.max_host_bytes = n * (widths.key_bytes + widths.value_bytes) / 3;
            options.duplicates = ordered ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
            table = table_with(context, &options);
            // Every third element only looks, updates or erases a key that never is there.
            for (uint64_t i = 0; i < n; i++) {
                static const bh_op idle[] = {BH_FIND, BH_UPDATE, BH_ERASE};
                all.ops[i] = (uint8_t)(i % 3 == 0 ? idle[i / 3 % 3]
                                                  : (i % 2 == 0 ? BH_INSERT : BH_INSERT_NEW));
            }
            check_status(batch_call(table, BATCH_APPLY, &all), BH_ERR_FULL);
            check(batch_count(&all, BH_NOT_DONE) > 0, "BH_ERR_FULL, but everything was done");
            find_present(table, &all, present, values);
            for (uint64_t i = 0; i < n; i++) {
                bool inserts = i % 3 != 0;
                check(present[i] == (all.outcomes[i] == BH_INSERTED),
                      "element %llu has outcome %u and is %s", (unsigned long long)i,
                      all.outcomes[i], present[i] ? "there" : "missing");
                check(inserts ? all.outcomes[i] == BH_INSERTED || all.outcomes[i] == BH_NOT_DONE
                              : all.outcomes[i] == BH_MISSING || all.outcomes[i] == BH_NOT_DONE,
                      "element %llu (%s) has outcome %u", (unsigned long long)i,
                      batch_operation_name(all.ops[i]), all.outcomes[i]);
                check(!present[i] || values[i] == (i & mask), "a wrong value");
            }
            free(present);
            free(values);
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* Growth gives back the memory that it replaces: after many growths the system's account is what
 * the stats say, but for the address space reserved ahead. */
static void growth_keeps_no_old_memory(void **state)
{
    watched_system watched;
    bh_context *own = NULL;
    bh_table *table = NULL;
    uint64_t pieces = 0;
    (void)state;

    watched_start(&watched);
    own = context_new(1, NULL, &watched.system);
    table = table_new(own, 8, 8, 1);
    pieces = watched.pieces_count;
    for (uint64_t i = 0; i < 40; i++) {
        batch all = pattern_batch((test_widths){8, 8}, RANDOM_KEYS, i * 1000, 1000);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_free(&all);
    }
    check(table_stats(table).grows >= 10, "only %llu growths to 40000 keys",
          (unsigned long long)table_stats(table).grows);
    check(watched.pieces_count <= pieces + 8, "%llu pieces of memory after growth, %llu before",
          (unsigned long long)watched.pieces_count, (unsigned long long)pieces);
    bh_table_destroy(table);
    bh_context_destroy(own);
    watched_end(&watched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_is_kept),
        cmocka_unit_test(small_capacities_are_kept_for_many_seeds),
        cmocka_unit_test(capacity_is_kept_at_other_fills),
        cmocka_unit_test(reserve_is_kept),
        cmocka_unit_test(max_fill_is_kept),
        cmocka_unit_test(budget_of_host_memory),
        cmocka_unit_test(budget_in_ordered_and_mixed_calls),
        cmocka_unit_test(growth_keeps_no_old_memory),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, growth_start, growth_end));
}
