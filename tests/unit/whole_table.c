/* ctest: every design */
/* ctest: every target */
/* ctest: every device */
/*
 * Functions on the whole table: clear, compact, export and statistics. Export is looked at most
 * closely, because every other test relies on it: complete, each key once, whatever the room, and
 * refusing to go on in a table that has changed.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/tables.h"

static bh_context *context;

static int whole_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int whole_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* Brings n keys into a table and a model. */
static void fill(bh_table *table, test_widths widths, uint64_t n, model *map)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 31, i), random_mix64(i + 5));
        model_put(map, batch_key(&all, i), batch_value(&all, i));
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_free(&all);
}

/* A table with n keys, and a model with the same. */
static bh_table *filled_table(test_widths widths, uint64_t n, model *map)
{
    bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);

    fill(table, widths, n, map);
    return table;
}

/* Whatever the room, an export is complete and gives each key once. */
static void export_with_every_room(void **state)
{
    static const uint64_t rooms[] = {1, 2, 7, 64, 1000, 4999, 5000, 5001, 100000};
    static const uint64_t sizes[] = {0, 1, 2, 5000};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
            const test_widths widths = test_all_widths[w];
            model *map = model_new();
            bh_table *table = filled_table(widths, sizes[s], map);
            pairs first;

            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            first = table_pairs(table, widths.key_bytes, widths.value_bytes, 4096);
            for (size_t r = 0; r < TEST_COUNT(rooms); r++) {
                pairs again = table_pairs(table, widths.key_bytes, widths.value_bytes, rooms[r]);
                pairs_check_equal(&first, &again);
                pairs_free(&again);
            }
            pairs_free(&first);
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* A table of many parts, full and nearly empty, is exported by several threads as long as there is
 * certainly room for what they find, and part by part where the room may end. */
static void export_of_many_parts(void **state)
{
    static const struct {
        test_widths widths;
        bh_value_place values;
    } cases[] = {{{4, 0}, BH_VALUES_DEFAULT}, {{4, 4}, BH_VALUES_DEFAULT},
                 {{4, 4}, BH_VALUES_APART},   {{4, 8}, BH_VALUES_APART},
                 {{8, 8}, BH_VALUES_DEFAULT}, {{8, 8}, BH_VALUES_BESIDE}};
    static const uint64_t parts_of_capacity[] = {1, 16};
    (void)state;

    // Threads do the same whatever the widths are: one of them is enough for ThreadSanitizer.
    for (size_t c = TEST_THREAD_SANITIZER; c < TEST_COUNT(cases);
         c += TEST_THREAD_SANITIZER ? 5 : 1) {
        for (size_t p = 0; p < TEST_COUNT(parts_of_capacity); p++) {
            const test_widths widths = cases[c].widths;
            // The parts of the GPU that is none are small.
            const uint64_t capacity = test_on_fake_gpu() ? 100000 : 500000;
            const uint64_t n = capacity / parts_of_capacity[p];
            const uint64_t rooms[] = {n, n - 1, n + 1, n / 3, 60000, 15000};
            bh_table_options options =
                table_options(widths.key_bytes, widths.value_bytes, capacity);
            bh_experimental_options experimental;
            model *map = model_new();
            bh_table *table = NULL;

            bh_experimental_options_init(&experimental);
            experimental.values = cases[c].values;
            options.experimental = &experimental;
            table = table_with(context, &options);
            fill(table, widths, n, map);
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            for (size_t r = 0; r < TEST_COUNT(rooms); r++) {
                pairs content = table_pairs(table, widths.key_bytes, widths.value_bytes, rooms[r]);
                uint64_t value = 0;

                check(content.count == n, "%llu pairs of %llu", (unsigned long long)content.count,
                      (unsigned long long)n);
                for (uint64_t i = 0; i < content.count; i++) {
                    check(model_get(map, content.keys[i], &value) && content.values[i] == value,
                          "key %#llx has value %#llx instead of %#llx",
                          (unsigned long long)content.keys[i],
                          (unsigned long long)content.values[i], (unsigned long long)value);
                }
                pairs_free(&content);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* Values may be left out; no room is no pairs; the end stays the end. */
static void export_of_keys_alone(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 3000;
        model *map = model_new();
        bh_table *table = filled_table(widths, n, map);
        void *keys = test_allocate(n * widths.key_bytes);
        uint64_t cursor = 0;
        uint64_t count = 99;
        uint64_t total = 0;

        check_status(bh_export(table, &cursor, NULL, NULL, 0, &count), BH_OK);
        check(count == 0, "export without room gave %llu pairs", (unsigned long long)count);
        do {
            check_status(bh_export(table, &cursor, keys, NULL, 700, &count), BH_OK);
            check(count <= 700, "more than there is room for");
            for (uint64_t i = 0; i < count; i++) {
                check(model_remove(map, test_load(keys, widths.key_bytes, i)),
                      "a key that is not in the table, or twice");
            }
            total += count;
        } while (count > 0);
        check(total == n && model_count(map) == 0, "%llu keys of %llu", (unsigned long long)total,
              (unsigned long long)n);
        check_status(bh_export(table, &cursor, keys, NULL, 700, &count), BH_OK);
        check(count == 0, "export starts again after its end");
        free(keys);
        model_free(map);
        bh_table_destroy(table);
    }
}

/* A cursor is refused when anything changed since it was made, and only then. */
static void export_of_a_changing_table(void **state)
{
    enum { FIND, EXPORT, STATS, INSERT, UPDATE, REDUCE, ERASE, CLEAR, GROW, CHANGES };
    (void)state;

    for (int change = 0; change < CHANGES; change++) {
        model *map = model_new();
        bh_table *table = filled_table((test_widths){8, 8}, 1000, map);
        uint64_t keys[100];
        uint64_t values[100];
        uint64_t cursor = 0;
        uint64_t before = 0;
        uint64_t count = 0;
        uint64_t other = 0;
        batch one = batch_new(8, 8, 1);

        check_status(bh_export(table, &cursor, keys, values, 100, &count), BH_OK);
        check(count == 100 && cursor != 0, "the first part: %llu", (unsigned long long)count);
        batch_set(&one, 0, keys[0], 1);
        switch (change) {
        case FIND: check_status(batch_call(table, BH_FIND, &one), BH_OK); break;
        case EXPORT: check_status(bh_export(table, &other, keys, values, 50, &count), BH_OK); break;
        case STATS: (void)table_stats(table); break;
        case INSERT:
            batch_set(&one, 0, 12345, 1);
            check_status(batch_call(table, BH_INSERT, &one), BH_OK);
            batch_check_all(&one, BH_INSERTED);
            break;
        case UPDATE:
            check_status(batch_call(table, BH_UPDATE, &one), BH_OK);
            batch_check_all(&one, BH_ASSIGNED);
            break;
        case REDUCE: check_status(batch_call(table, BH_ADD, &one), BH_OK); break;
        case ERASE:
            check_status(batch_call(table, BH_ERASE, &one), BH_OK);
            batch_check_all(&one, BH_ERASED);
            break;
        case CLEAR: check_status(bh_clear(table), BH_OK); break;
        default: check_status(bh_reserve(table, 100000), BH_OK); break;
        }
        before = cursor;
        memset(keys, 0x11, sizeof keys);
        memset(values, 0x11, sizeof values);
        if (change <= STATS) {
            check_status(bh_export(table, &cursor, keys, values, 100, &count), BH_OK);
            check(count == 100, "%llu pairs after call %d", (unsigned long long)count, change);
        } else {
            bh_status status = bh_export(table, &cursor, keys, values, 100, &count);
            check(status == BH_ERR_ARGUMENT, "the cursor survived change %d", change);
            check(cursor == before && keys[0] == 0x1111111111111111u &&
                      values[99] == 0x1111111111111111u,
                  "a refused export wrote something");
            cursor = 0; // and from the start again it works
            check_status(bh_export(table, &cursor, keys, values, 100, &count), BH_OK);
            check(count == (change == CLEAR ? 0 : 100), "%llu pairs", (unsigned long long)count);
        }
        batch_free(&one);
        model_free(map);
        bh_table_destroy(table);
    }
}

/* clear erases all keys, keeps the memory, and the table works on as before. */
static void clear_keeps_the_memory(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(20000);
        model *map = model_new();
        bh_table *table = filled_table(widths, n, map);

        for (int round = 0; round < 3; round++) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            // Other keys may need another chunk of nodes: the size of each round's own table counts.
            const bh_table_stats before = table_stats(table);
            check_status(bh_clear(table), BH_OK);
            check(table_stats(table).keys == 0, "%llu keys after clear",
                  (unsigned long long)table_stats(table).keys);
            check(
                table_stats(table).slots == before.slots &&
                    table_stats(table).bytes_total == before.bytes_total,
                "clear changed the size of the table, from %llu slots and %llu bytes to %llu and %llu",
                (unsigned long long)before.slots, (unsigned long long)before.bytes_total,
                (unsigned long long)table_stats(table).slots,
                (unsigned long long)table_stats(table).bytes_total);
            model_clear(map);
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            for (uint64_t i = 0; i < n; i++) {
                // Keys of the round before, which must be gone.
                batch_set(&all, i,
                          random_key(widths.key_bytes, round == 0 ? 31 : 70 + (uint64_t)round, i),
                          i);
            }
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_MISSING);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 71 + (uint64_t)round, i), i);
                model_put(map, batch_key(&all, i), batch_value(&all, i));
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            batch_free(&all);
        }
        model_free(map);
        bh_table_destroy(table);
    }
}

/* compact answers BH_OK and changes nothing that a caller can see but the room. */
static void compact_keeps_the_keys(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        model *map = model_new();
        bh_table *table = filled_table(widths, 4000, map);

        check_status(bh_reserve(table, 50000), BH_OK);
        check_status(bh_compact(table), BH_OK);
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
        table_check_stats(table);
        model_free(map);
        bh_table_destroy(table);

        table = table_new(context, widths.key_bytes, widths.value_bytes, 100);
        check_status(bh_compact(table), BH_OK);
        check(table_stats(table).keys == 0, "compact made keys");
        bh_table_destroy(table);
    }
}

/* The statistics agree with each other and with what happened. */
static void statistics(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 5000);
        bh_table_stats stats = table_stats(table);

        table_check_stats(table);
        check(stats.keys == 0 && stats.grows == 0 && stats.shrinks == 0 && stats.keys_moved == 0,
              "an empty table: %llu keys, %llu grows, %llu shrinks, %llu moved",
              (unsigned long long)stats.keys, (unsigned long long)stats.grows,
              (unsigned long long)stats.shrinks, (unsigned long long)stats.keys_moved);
        check(stats.max_keys >= 5000, "room for %llu keys instead of 5000",
              (unsigned long long)stats.max_keys);
        check(stats.bytes_total >= stats.slots * (widths.key_bytes + widths.value_bytes),
              "%llu slots in %llu bytes", (unsigned long long)stats.slots,
              (unsigned long long)stats.bytes_total);
        for (uint64_t round = 0; round < 20; round++) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, 1000);
            for (uint64_t i = 0; i < all.n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 6, round * 1000 + i), i);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            check(table_stats(table).keys == (round + 1) * 1000, "%llu keys",
                  (unsigned long long)table_stats(table).keys);
            table_check_stats(table);
            batch_free(&all);
        }
        check(table_stats(table).grows > 0 && table_stats(table).slots > stats.slots,
              "20000 keys where 5000 had room, without growth");
        bh_table_destroy(table);
    }
}

/* While it grows a table has the grown part and the old copy of that part at most; rebuilt for many
 * more keys, the old table, which is small. */
static void peak_of_growth(void **state)
{
    (void)state;
    for (uint64_t calls = 1; calls <= 100 && test_design() == BH_DYCUCKOO; calls *= 10) {
        const uint64_t n = test_scaled(100000);
        bh_table *table = table_new(context, 8, 8, 1);
        batch all = batch_new(8, 8, n / calls);
        bh_table_stats before = table_stats(table);
        bh_table_stats after;

        check(before.bytes_peak == before.bytes_total, "a new table has a peak of %llu bytes",
              (unsigned long long)before.bytes_peak);
        for (uint64_t first = 0; first + all.n <= n; first += all.n) {
            for (uint64_t i = 0; i < all.n; i++) {
                batch_set(&all, i, random_key(8, 3, first + i), i);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        }
        after = table_stats(table);
        check(after.grows > 0 && after.bytes_peak >= after.bytes_total &&
                  after.bytes_peak <= after.bytes_total + after.bytes_total / 4,
              "%llu calls: %llu bytes, at most %llu", (unsigned long long)calls,
              (unsigned long long)after.bytes_total, (unsigned long long)after.bytes_peak);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* A table becomes smaller while most of its keys go: those left are there, with their values, and no others. Where it may
 * hardly be emptier than full, each step leaves keys without a place in what becomes smaller, thousands in the last case. */
static void keys_outlive_shrinking(void **state)
{
    static const struct {
        double least;
        double most;
    } fills[] = {{0, 0}, {0.4, 0}, {0.6, 0}, {0.77, 0.97}};
    static const uint64_t parts[] = {2, 3, 5, 8, 20, 1000};
    const int fills_tried = test_design() == BH_DYCUCKOO ? 4 : 1;
    (void)state;

    for (int f = 0; f < fills_tried; f++) {
        for (int wide = 0; wide <= 1; wide++) {
            const test_widths widths = wide ? (test_widths){8, 8} : (test_widths){4, 4};
            const uint64_t n = test_scaled(200000);
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            batch found = batch_new(widths.key_bytes, widths.value_bytes, n);
            uint64_t left = n;
            bh_table *table = NULL;

            options.min_fill = fills[f].least;
            options.max_fill = fills[f].most;
            table = table_with(context, &options);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 41, i), i);
                batch_set(&found, i, batch_key(&all, i), n);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            for (size_t p = 0; p < TEST_COUNT(parts); p++) {
                batch gone = all;

                gone.keys = (unsigned char *)all.keys + n / parts[p] * widths.key_bytes;
                gone.n = left - n / parts[p];
                left = n / parts[p];
                check_status(batch_call(table, BH_ERASE, &gone), BH_OK);
                batch_check_all(&gone, BH_ERASED);
                check(table_stats(table).keys == left, "%llu keys instead of %llu",
                      (unsigned long long)table_stats(table).keys, (unsigned long long)left);
                check_status(batch_call(table, BH_FIND, &found), BH_OK);
                for (uint64_t i = 0; i < n; i++) {
                    check(found.outcomes[i] == (i < left ? BH_FOUND : BH_MISSING),
                          "key %llu of %llu is %s", (unsigned long long)i, (unsigned long long)left,
                          i < left ? "missing" : "there");
                    check(batch_value(&found, i) == (i < left ? i : n), "key %llu has value %llu",
                          (unsigned long long)i, (unsigned long long)batch_value(&found, i));
                    batch_set(&found, i, batch_key(&all, i), n);
                }
                table_check_stats(table);
            }
            check(table_stats(table).shrinks > 0 || test_design() == BH_HASHFIGHT,
                  "the table is as large as before");
            batch_free(&all);
            batch_free(&found);
            bh_table_destroy(table);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_with_every_room), cmocka_unit_test(export_of_many_parts),
        cmocka_unit_test(export_of_keys_alone),   cmocka_unit_test(export_of_a_changing_table),
        cmocka_unit_test(clear_keeps_the_memory), cmocka_unit_test(compact_keeps_the_keys),
        cmocka_unit_test(keys_outlive_shrinking), cmocka_unit_test(statistics),
        cmocka_unit_test(peak_of_growth),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, whole_start, whole_end));
}
