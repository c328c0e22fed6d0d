/* ctest: every design */
/* ctest: every target */
/* ctest: every device */
/* ctest: far memory */
/*
 * The contract of the batch operations, point by point: what each answers for each element, for
 * every pair of widths, every special bit pattern and every kind of duplicates. Each test is one
 * sentence of the public header; the argument checks are in arguments.c, growth is in growth.c,
 * the functions on whole tables are in whole_table.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/tables.h"

static bh_context *context;

static int contract_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int contract_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* A value that belongs to this key and to no other key in the test. */
static uint64_t value_of(uint64_t key)
{
    return random_mix64(key ^ 0x1234567u);
}

/* Every operation on keys that are there and keys that are not has the outcome that the header
 * names, and the content that follows. */
static void outcomes_of_each_operation(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const bool has_values = widths.value_bytes > 0;
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 0);
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = 300;
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 77, i), value_of(i));
        }
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        batch_check_all(&all, BH_MISSING);
        check_status(batch_call(table, BH_UPDATE, &all), BH_OK);
        batch_check_all(&all, BH_MISSING);
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        batch_check_all(&all, BH_MISSING);
        check(table_stats(table).keys == 0, "update or erase inserted something");

        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        check(table_stats(table).keys == n, "%llu keys after %llu were inserted",
              (unsigned long long)table_stats(table).keys, (unsigned long long)n);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);

        for (uint64_t i = 0; i < n; i++) {
            batch_set_value(&all, i, 3);
        }
        check_status(batch_call(table, BH_INSERT_NEW, &all), BH_OK);
        batch_check_all(&all, BH_FOUND);
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        batch_check_all(&all, BH_FOUND);
        for (uint64_t i = 0; i < n; i++) {
            check(batch_value(&all, i) == (value_of(i) & mask), "insert_new replaced a value");
            batch_set_value(&all, i, value_of(i) + 1);
        }
        check_status(batch_call(table, BH_UPDATE, &all), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);

        if (has_values) {
            // One of each on the same keys: add wraps around, min and max are unsigned.
            const struct {
                int op;
                uint64_t operand;
                uint64_t expected;
            } steps[] = {
                {BH_INSERT, mask, mask},
                {BH_ADD, 6, 5},
                {BH_ADD, 0, 5},
                {BH_MIN, 9, 5},
                {BH_MIN, mask / 2 + 1, 5}, // would be the smaller as a signed number
                {BH_MIN, 4, 4},
                {BH_MAX, 3, 4},
                {BH_MAX, mask / 2 + 1, mask / 2 + 1}, // the sign bit alone
                {BH_MAX, 7, mask / 2 + 1},
                {BH_MAX, mask, mask},
                {BH_MIN, 0, 0},
                {BH_UPDATE, 8, 8},
                {BH_MIN_SIGNED, 9, 8},
                {BH_MIN_SIGNED, mask, mask}, // minus 1
                {BH_MIN_SIGNED, 0, mask},
                {BH_MIN_SIGNED, mask / 2 + 1, mask / 2 + 1}, // the least of all
                {BH_MAX_SIGNED, mask / 2 + 1, mask / 2 + 1},
                {BH_MAX_SIGNED, mask - 1, mask - 1},
                {BH_MAX_SIGNED, 3, 3},
                {BH_MAX_SIGNED, mask, 3},
                {BH_MAX_SIGNED, mask / 2, mask / 2},
                {BH_UPDATE, batch_float(widths.value_bytes, 1.5),
                 batch_float(widths.value_bytes, 1.5)},
                {BH_ADD_FLOAT, batch_float(widths.value_bytes, -4),
                 batch_float(widths.value_bytes, -2.5)},
                {BH_ADD_FLOAT, batch_float(widths.value_bytes, 2.5), 0},
                {BH_ADD_FLOAT, batch_float(widths.value_bytes, -0.0), 0},
                {BH_ADD_FLOAT, batch_float(widths.value_bytes, INFINITY),
                 batch_float(widths.value_bytes, INFINITY)},
                {BH_ADD_FLOAT, batch_float(widths.value_bytes, -1e30),
                 batch_float(widths.value_bytes, INFINITY)},
                {BH_UPDATE, 8, 8},
            };
            for (size_t s = 0; s < TEST_COUNT(steps); s++) {
                for (uint64_t i = 0; i < n; i++) {
                    batch_set_value(&all, i, steps[s].operand);
                }
                check_status(batch_call(table, steps[s].op, &all), BH_OK);
                batch_check_all(&all, BH_ASSIGNED);
                check_status(batch_call(table, BH_FIND, &all), BH_OK);
                for (uint64_t i = 0; i < n; i++) {
                    check(batch_value(&all, i) == steps[s].expected,
                          "step %zu (%s) left %#llx instead of %#llx", s,
                          batch_operation_name(steps[s].op),
                          (unsigned long long)batch_value(&all, i),
                          (unsigned long long)steps[s].expected);
                }
            }
        }

        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        batch_check_all(&all, BH_ERASED);
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        batch_check_all(&all, BH_MISSING);
        check_status(batch_call(table, BH_INSERT_NEW, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        batch_check_all(&all, BH_ERASED);
        for (int op = 0; has_values && op < BATCH_OPS; op++) {
            if (!batch_is_reduction(op)) {
                continue;
            }
            for (uint64_t i = 0; i < n; i++) {
                batch_set_value(&all, i, value_of(i));
            }
            check_status(batch_call(table, op, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                check(batch_value(&all, i) == (value_of(i) & mask),
                      "a new key does not start with the value given to reduce");
            }
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            batch_check_all(&all, BH_ERASED);
        }
        check(table_stats(table).keys == 0, "keys are left after all were erased");
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Every bit pattern is a legal key and a legal value: 0, all ones, single bits, and all with a
 * neighbour of theirs as value and key. */
static void every_bit_pattern(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t key_mask = test_width_mask(widths.key_bytes);
        const uint64_t value_mask = test_width_mask(widths.value_bytes);
        uint64_t patterns[256];
        uint64_t n = 0;
        model *map = model_new();
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 0);

        patterns[n++] = 0;
        patterns[n++] = key_mask;
        for (uint64_t bit = 1; bit != 0 && (bit & key_mask) != 0; bit <<= 1) {
            patterns[n++] = bit;
            patterns[n++] = ~bit & key_mask;
        }
        for (uint64_t byte = 0x21; byte < 0xff; byte += 0x22) { // every byte the same
            patterns[n++] = (byte * 0x0101010101010101u) & key_mask;
        }
        check(n <= TEST_COUNT(patterns), "too many patterns");

        // Each pattern as a key gets another pattern, its own complement, then itself as value.
        for (int round = 0; round < 3; round++) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t value = round == 0   ? patterns[(i + 1) % n]
                                 : round == 1 ? ~patterns[i]
                                              : patterns[i];
                batch_set(&all, i, patterns[i], value);
                model_put(map, patterns[i], value & value_mask);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, round == 0 ? BH_INSERTED : BH_ASSIGNED);
            for (uint64_t i = 0; i < n; i++) {
                batch_set_value(&all, i, 0xdeadbeef);
            }
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t expected = 0;
                check(model_get(map, patterns[i], &expected) && batch_value(&all, i) == expected,
                      "key %#llx has value %#llx instead of %#llx", (unsigned long long)patterns[i],
                      (unsigned long long)batch_value(&all, i), (unsigned long long)expected);
            }
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            batch_free(&all);
        }
        // Each alone is erased, is missing, the others stay.
        for (uint64_t i = 0; i < n; i++) {
            batch one = batch_new(widths.key_bytes, widths.value_bytes, 1);
            batch_set(&one, 0, patterns[i], 0);
            check_status(batch_call(table, BH_ERASE, &one), BH_OK);
            batch_check_all(&one, BH_ERASED);
            check_status(batch_call(table, BH_FIND, &one), BH_OK);
            batch_check_all(&one, BH_MISSING);
            (void)model_remove(map, patterns[i]);
            if (i % 16 == 0) {
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            }
            batch_free(&one);
        }
        check(table_stats(table).keys == 0, "keys are left after all were erased");
        model_free(map);
        bh_table_destroy(table);
    }
}

/* An empty or erased slot may look like a pair: no key may be found there, in tables of every
 * state. */
static void no_pattern_is_found_that_was_not_inserted(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 0);
        batch special = batch_new(widths.key_bytes, widths.value_bytes, 3);
        batch others = batch_new(widths.key_bytes, widths.value_bytes, 1000);

        batch_set(&special, 0, 0, 1);
        batch_set(&special, 1, test_width_mask(widths.key_bytes), 1);
        batch_set(&special, 2, 1, 1);
        for (uint64_t i = 0; i < others.n; i++) {
            batch_set(&others, i, i + 2, i);
        }
        check_status(batch_call(table, BH_FIND, &special), BH_OK);
        batch_check_all(&special, BH_MISSING);
        check_status(batch_call(table, BH_INSERT, &others), BH_OK);
        check_status(batch_call(table, BH_FIND, &special), BH_OK);
        batch_check_all(&special, BH_MISSING);
        check_status(batch_call(table, BH_ERASE, &others), BH_OK);
        check_status(batch_call(table, BH_FIND, &special), BH_OK);
        batch_check_all(&special, BH_MISSING);
        check_status(batch_call(table, BH_ERASE, &special), BH_OK);
        batch_check_all(&special, BH_MISSING);
        check_status(bh_clear(table), BH_OK);
        check_status(batch_call(table, BH_FIND, &special), BH_OK);
        batch_check_all(&special, BH_MISSING);
        batch_free(&special);
        batch_free(&others);
        bh_table_destroy(table);
    }
}

/* A missing key leaves values[i] as the caller had it, in bh_find and in bh_apply. */
static void missing_keys_leave_values(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = 5000;
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, n);
        batch half = batch_new(widths.key_bytes, widths.value_bytes, n / 2);
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

        for (uint64_t i = 0; i < n / 2; i++) {
            batch_set(&half, i, random_key(widths.key_bytes, 3, 2 * i), value_of(2 * i));
        }
        check_status(batch_call(table, BH_INSERT, &half), BH_OK);
        for (int call = 0; call < 2; call++) {
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 3, i), ~value_of(i));
            }
            check_status(batch_call(table, call == 0 ? BH_FIND : BATCH_APPLY, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                bool there = i % 2 == 0;
                check(all.outcomes[i] == (there ? BH_FOUND : BH_MISSING), "element %llu is %u",
                      (unsigned long long)i, all.outcomes[i]);
                check(batch_value(&all, i) == ((there ? value_of(i) : ~value_of(i)) & mask),
                      "element %llu (%s) has value %#llx", (unsigned long long)i,
                      there ? "there" : "missing", (unsigned long long)batch_value(&all, i));
            }
        }
        batch_free(&half);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* outcomes may be NULL everywhere, values may be NULL in bh_find and everywhere in a set. */
static void optional_arrays(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 2000;
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 0);
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, i * 3, i);
            all.ops[i] = i % 2 == 0 ? BH_INSERT : BH_UPDATE;
        }
        check_status(bh_insert(table, all.keys, all.values, n / 2, NULL), BH_OK);
        check_status(bh_insert_new(table, all.keys, all.values, n, NULL), BH_OK);
        check_status(bh_update(table, all.keys, all.values, n, NULL), BH_OK);
        check_status(bh_apply(table, all.ops, all.keys, all.values, n, NULL), BH_OK);
        if (widths.value_bytes > 0) {
            check_status(bh_reduce(table, BH_ADD, all.keys, all.values, n, NULL), BH_OK);
        }
        check_status(bh_find(table, all.keys, n, all.values, NULL), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check(widths.value_bytes == 0 || batch_value(&all, i) == 2 * i,
                  "value %llu, expected %llu", (unsigned long long)batch_value(&all, i),
                  (unsigned long long)(2 * i));
        }
        check_status(bh_find(table, all.keys, n, NULL, NULL), BH_OK);
        memset(all.outcomes, BATCH_UNTOUCHED, n);
        check_status(bh_find(table, all.keys, n, NULL, all.outcomes), BH_OK);
        batch_check_all(&all, BH_FOUND);
        check_status(bh_erase(table, all.keys, n, NULL), BH_OK);
        check(table_stats(table).keys == 0, "erase without outcomes left keys");
        if (widths.value_bytes == 0) {
            // A set ignores a values array that is given, and does not read or write it.
            void *values = test_allocate(1);
            check_status(bh_insert(table, all.keys, values, n, NULL), BH_OK);
            check_status(bh_find(table, all.keys, n, values, all.outcomes), BH_OK);
            batch_check_all(&all, BH_FOUND);
            free(values);
        }
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Inputs may be the same array. */
static void keys_as_values(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 3000;
        bh_table *table = NULL;
        batch all;

        if (widths.key_bytes != widths.value_bytes) {
            continue;
        }
        table = table_new(context, widths.key_bytes, widths.value_bytes, 0);
        all = batch_new(widths.key_bytes, widths.value_bytes, n);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 9, i), 0);
        }
        check_status(bh_insert(table, all.keys, all.keys, n, all.outcomes), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        check_status(bh_update(table, all.keys, all.keys, n, all.outcomes), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);
        check_status(bh_insert_new(table, all.keys, all.keys, n, all.outcomes), BH_OK);
        batch_check_all(&all, BH_FOUND);
        check_status(bh_reduce(table, BH_MAX, all.keys, all.keys, n, all.outcomes), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check(batch_value(&all, i) == batch_key(&all, i), "key %#llx has value %#llx",
                  (unsigned long long)batch_key(&all, i), (unsigned long long)batch_value(&all, i));
        }
        // Overlapping by a part is allowed as well: values begin one element after the keys.
        check_status(
            bh_insert(table, all.keys, (char *)all.keys + widths.key_bytes, n - 1, all.outcomes),
            BH_OK);
        check_status(bh_find(table, all.keys, n, all.values, NULL), BH_OK);
        for (uint64_t i = 0; i + 1 < n; i++) {
            check(batch_value(&all, i) == batch_key(&all, i + 1), "values that overlap the keys");
        }
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* bh_apply runs every operation in one pass and answers as the single calls do. Each key occurs
 * once, so the answer does not depend on the order. */
static void apply_mixes_operations(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = test_scaled(20000);
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        model *map = model_new();
        rng random = random_start(test_seed() + (uint64_t)w);

        for (int round = 0; round < 4; round++) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            batch given;
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 5, i), random_next(&random));
                all.ops[i] = (uint8_t)batch_draw_op(&random, widths.value_bytes);
            }
            given = batch_new(widths.key_bytes, widths.value_bytes, n);
            if (widths.value_bytes > 0) {
                memcpy(given.values, all.values, n * widths.value_bytes);
            }
            check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t operand = batch_value(&given, i);
                bh_outcome expected = model_apply(map, (bh_op)all.ops[i], widths.value_bytes,
                                                  batch_key(&all, i), &operand);
                check(all.outcomes[i] == (uint8_t)expected, "%s answered %u instead of %u",
                      batch_operation_name(all.ops[i]), all.outcomes[i], (unsigned)expected);
                check(batch_value(&all, i) == (operand & mask),
                      "%s left %#llx in the caller's values instead of %#llx",
                      batch_operation_name(all.ops[i]), (unsigned long long)batch_value(&all, i),
                      (unsigned long long)(operand & mask));
            }
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            batch_free(&all);
            batch_free(&given);
        }
        model_free(map);
        bh_table_destroy(table);
    }
}

/* bh_find_or_insert: a key that is there gives its value, one that is not starts with the caller's. */
static void find_or_insert_leaves_the_value(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = test_scaled(20000);
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

        // Every third, then every second, then all, and all again: each time those of before are there.
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t steps[] = {3, 2, 1, 1};
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 6, i), value_of(i) + round);
            }
            // Those that are not asked for this time are looked up.
            for (uint64_t i = 0; i < n; i++) {
                all.ops[i] = i % steps[round] == 0 ? BH_FIND_OR_INSERT : BH_FIND;
            }
            check_status(batch_call(table, round == 2 ? BH_FIND_OR_INSERT : BATCH_APPLY, &all),
                         BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t inserted = i % 3 == 0 ? 0 : i % 2 == 0 ? 1 : 2; // in which round
                const bool there = inserted < round;
                const uint8_t expected = there                   ? BH_FOUND
                                         : all.ops[i] == BH_FIND ? BH_MISSING
                                                                 : BH_INSERTED;
                check(all.outcomes[i] == expected, "round %llu, element %llu: outcome %u",
                      (unsigned long long)round, (unsigned long long)i, all.outcomes[i]);
                check(batch_value(&all, i) == ((value_of(i) + (there ? inserted : round)) & mask),
                      "round %llu, element %llu: value %#llx", (unsigned long long)round,
                      (unsigned long long)i, (unsigned long long)batch_value(&all, i));
            }
        }
        check(table_stats(table).keys == n, "%llu keys",
              (unsigned long long)table_stats(table).keys);
        // Without outcomes, and without values where there are none.
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 6, i + n / 2), 1);
        }
        check_status(bh_find_or_insert(table, all.keys, all.values, n, NULL), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t number = i + n / 2;
            const uint64_t inserted = number % 3 == 0 ? 0 : number % 2 == 0 ? 1 : 2;
            check(batch_value(&all, i) == ((number < n ? value_of(number) + inserted : 1) & mask),
                  "without outcomes element %llu has value %#llx", (unsigned long long)i,
                  (unsigned long long)batch_value(&all, i));
        }
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Of equal keys that are not there one is inserted, and the others are given its value: in small calls
 * and in large ones, in tables that grow meanwhile, where order counts and where not, alone and mixed
 * with erasures of other keys. */
static void find_or_insert_of_equal_keys(void **state)
{
    static const uint64_t distinct_keys[] = {1, 2, 7, 100, 5000};
    static const uint64_t sizes[] = {2, 40, 700, 40000};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t d = 0; d < TEST_COUNT(distinct_keys) * TEST_COUNT(sizes) * 4; d++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t distinct = distinct_keys[d % TEST_COUNT(distinct_keys)];
            const uint64_t n =
                test_scaled(sizes[d / TEST_COUNT(distinct_keys) % TEST_COUNT(sizes)]);
            const bool mixed = d / TEST_COUNT(distinct_keys) / TEST_COUNT(sizes) % 2 == 1;
            const bool ordered = d / TEST_COUNT(distinct_keys) / TEST_COUNT(sizes) / 2 == 1;
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            uint64_t *winner = test_allocate(distinct * sizeof *winner);
            uint64_t *first = test_allocate(distinct * sizeof *first);
            uint64_t *owner = test_allocate(n * sizeof *owner);
            rng random = random_start(test_seed() + d);

            options.duplicates = ordered ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
            table = table_with(context, &options);
            for (uint64_t k = 0; k < distinct; k++) {
                winner[k] = first[k] = n;
            }
            for (uint64_t i = 0; i < n; i++) {
                const bool other = mixed && i % 5 == 4;
                owner[i] = random_below(&random, distinct);
                batch_set(&all, i, random_key(widths.key_bytes, 1, other ? distinct + i : owner[i]),
                          i);
                all.ops[i] = other ? BH_ERASE : BH_FIND_OR_INSERT;
                if (!other && first[owner[i]] == n) {
                    first[owner[i]] = i;
                }
            }
            check_status(batch_call(table, mixed ? BATCH_APPLY : BH_FIND_OR_INSERT, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                if (all.ops[i] == BH_FIND_OR_INSERT && all.outcomes[i] == BH_INSERTED) {
                    check(winner[owner[i]] == n, "a key was inserted twice in one call");
                    check(!ordered || first[owner[i]] == i, "not the first was inserted");
                    winner[owner[i]] = i;
                }
            }
            for (uint64_t i = 0; i < n; i++) {
                if (all.ops[i] == BH_ERASE) {
                    check(all.outcomes[i] == BH_MISSING, "erase answered %u", all.outcomes[i]);
                    continue;
                }
                check(winner[owner[i]] < n &&
                          (all.outcomes[i] == BH_FOUND || winner[owner[i]] == i),
                      "element %llu answered %u", (unsigned long long)i, all.outcomes[i]);
                check(widths.value_bytes == 0 || batch_value(&all, i) == winner[owner[i]],
                      "%llu of %llu elements: number %llu has value %llu, and %llu was inserted",
                      (unsigned long long)distinct, (unsigned long long)n, (unsigned long long)i,
                      (unsigned long long)batch_value(&all, i),
                      (unsigned long long)winner[owner[i]]);
            }
            free(winner);
            free(first);
            free(owner);
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* In a table that is full the keys that are there are found, and the others keep their values. */
static void find_or_insert_into_a_full_table(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);
        const uint64_t n = 60000; // so many that the smallest tables are small beside them
        bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
        bh_table *table = NULL;
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
        uint8_t *before = test_allocate(n);
        uint64_t found = 0;
        bh_status status = BH_OK;

        options.max_host_bytes = options.max_device_bytes =
            n / 3 * (widths.key_bytes + widths.value_bytes) + 65536;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 8, i), value_of(i));
        }
        for (uint64_t first = 0; first < n; first += n / 10) {
            status = bh_insert(
                table, (char *)all.keys + first * widths.key_bytes,
                widths.value_bytes > 0 ? (char *)all.values + first * widths.value_bytes : NULL,
                n / 10, before + first);
            check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
        }
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 8, i), value_of(i) + 1);
        }
        check_status(batch_call(table, BH_FIND_OR_INSERT, &all), BH_ERR_FULL);
        for (uint64_t i = 0; i < n; i++) {
            const bool there = before[i] == BH_INSERTED;
            check(there ? all.outcomes[i] == BH_FOUND
                        : all.outcomes[i] == BH_NOT_DONE || all.outcomes[i] == BH_INSERTED,
                  "a key that is %s: outcome %u", there ? "there" : "missing", all.outcomes[i]);
            check(batch_value(&all, i) == ((value_of(i) + !there) & mask),
                  "outcome %u with another value", all.outcomes[i]);
            found += there;
        }
        check(found > 0 && found < n, "%llu keys of %llu fit", (unsigned long long)found,
              (unsigned long long)n);
        free(before);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Of equal keys in one call exactly one is new, and the value is one of those given. */
static void duplicates_in_one_call(void **state)
{
    static const uint64_t distinct_keys[] = {1, 2, 7, 100, 5000};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t d = 0; d < TEST_COUNT(distinct_keys); d++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t distinct = distinct_keys[d];
            const uint64_t n = test_scaled(40000);
            bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            batch kept = batch_new(widths.key_bytes, widths.value_bytes, distinct);
            uint64_t *winner = test_allocate(distinct * sizeof *winner);
            uint64_t *owner = test_allocate(n * sizeof *owner);
            rng random = random_start(test_seed() + d);
            uint64_t used = 0;

            for (uint64_t i = 0; i < n; i++) {
                owner[i] = random_below(&random, distinct);
                batch_set(&all, i, random_key(widths.key_bytes, 1, owner[i]), i);
            }
            for (uint64_t k = 0; k < distinct; k++) {
                batch_set(&kept, k, random_key(widths.key_bytes, 1, k), n);
                winner[k] = n;
            }
            // insert_new: the one that is INSERTED is the one whose value is there.
            check_status(batch_call(table, BH_INSERT_NEW, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                check(all.outcomes[i] == BH_FOUND || all.outcomes[i] == BH_INSERTED,
                      "insert_new answered %u", all.outcomes[i]);
                if (all.outcomes[i] == BH_INSERTED) {
                    check(winner[owner[i]] == n, "a key was inserted twice in one call");
                    winner[owner[i]] = i;
                    used++;
                }
            }
            check(table_stats(table).keys == used, "%llu keys, %llu times INSERTED",
                  (unsigned long long)table_stats(table).keys, (unsigned long long)used);
            check_status(batch_call(table, BH_FIND, &kept), BH_OK);
            for (uint64_t k = 0; k < distinct; k++) {
                check((kept.outcomes[k] == BH_FOUND) == (winner[k] < n),
                      "INSERTED and FOUND disagree");
                check(widths.value_bytes == 0 || batch_value(&kept, k) == winner[k],
                      "the value is not the winner's");
            }
            // erase: exactly one ERASED for each key, whatever the others saw.
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            check(batch_count(&all, BH_ERASED) == used && batch_count(&all, BH_MISSING) == n - used,
                  "%llu keys were erased %llu times", (unsigned long long)used,
                  (unsigned long long)batch_count(&all, BH_ERASED));
            check(table_stats(table).keys == 0, "keys are left after all were erased");
            // insert: one INSERTED for each key, the others ASSIGNED; some one's value stays.
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            check(batch_count(&all, BH_INSERTED) == used &&
                      batch_count(&all, BH_ASSIGNED) == n - used,
                  "%llu keys were inserted %llu times", (unsigned long long)used,
                  (unsigned long long)batch_count(&all, BH_INSERTED));
            check_status(batch_call(table, BH_FIND, &kept), BH_OK);
            for (uint64_t k = 0; k < distinct; k++) {
                uint64_t from = batch_value(&kept, k);
                check(widths.value_bytes == 0 || winner[k] == n || (from < n && owner[from] == k),
                      "key %llu has a value that was never given for it", (unsigned long long)k);
            }
            free(winner);
            free(owner);
            batch_free(&all);
            batch_free(&kept);
            bh_table_destroy(table);
        }
    }
}

/* bh_reduce counts every element exactly once, however often its key comes. */
static void reduce_counts_each_element_once(void **state)
{
    static const uint64_t distinct_keys[] = {1, 3, 64, 3000};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        if (widths.value_bytes == 0) {
            continue;
        }
        for (size_t d = 0; d < TEST_COUNT(distinct_keys); d++) {
            for (int op = 0; op < BATCH_NO_OP; op++) {
                if (!batch_is_reduction(op)) {
                    continue;
                }
                const uint64_t distinct = distinct_keys[d];
                const uint64_t n = test_scaled(60000);
                bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
                batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
                model *map = model_new();
                rng random = random_start(test_seed() + d * 8 + (uint64_t)op);

                for (int round = 0; round < 2; round++) {
                    uint64_t new_keys = 0;
                    for (uint64_t i = 0; i < n; i++) {
                        // Full-width operands: sums wrap around many times.
                        uint64_t key =
                            random_key(widths.key_bytes, 8, random_below(&random, distinct));
                        // Floats whose sums are exact, and so the same in any order.
                        batch_set(&all, i, key,
                                  op == BH_ADD_FLOAT
                                      ? batch_float(widths.value_bytes,
                                                    (double)random_below(&random, 129) / 2 - 32)
                                      : random_next(&random));
                        uint64_t operand = batch_value(&all, i);
                        new_keys += model_apply(map, (bh_op)op, widths.value_bytes, key,
                                                &operand) == BH_INSERTED;
                    }
                    check_status(batch_call(table, op, &all), BH_OK);
                    check(batch_count(&all, BH_INSERTED) == new_keys &&
                              batch_count(&all, BH_ASSIGNED) == n - new_keys,
                          "%s inserted %llu keys, %llu were new", batch_operation_name(op),
                          (unsigned long long)batch_count(&all, BH_INSERTED),
                          (unsigned long long)new_keys);
                    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
                }
                model_free(map);
                batch_free(&all);
                bh_table_destroy(table);
            }
        }
    }
}

/* Where values are left out BH_ADD counts: each element adds 1, whatever its key's value is. */
static void reduce_counts_without_values(void **state)
{
    static const uint64_t sizes[] = {1, 2, 100, 4097, 60000};
    static const uint64_t distinct_keys[] = {1, 20, 50000};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS * 2; w++) {
        const test_widths widths = test_all_widths[w / 2];
        if (widths.value_bytes == 0) {
            continue;
        }
        for (size_t d = 0; d < TEST_COUNT(distinct_keys); d++) {
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            model *map = model_new();
            rng random = random_start(test_seed() + d * 8 + (uint64_t)w);

            options.duplicates = w % 2 ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
            bh_table *table = table_with(context, &options);
            for (size_t s = 0; s < 2 * TEST_COUNT(sizes); s++) {
                const uint64_t n =
                    s / 2 + 1 < TEST_COUNT(sizes) ? sizes[s / 2] : test_scaled(sizes[s / 2]);
                const bool with_outcomes = s % 2 == 0;
                batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
                uint64_t new_keys = 0;

                for (uint64_t i = 0; i < n; i++) {
                    const uint64_t key =
                        random_key(widths.key_bytes, 12, random_below(&random, distinct_keys[d]));
                    uint64_t one = 1;
                    batch_set(&all, i, key, 77);
                    new_keys +=
                        model_apply(map, BH_ADD, widths.value_bytes, key, &one) == BH_INSERTED;
                }
                check_status(bh_reduce(table, BH_ADD, all.keys, NULL, n,
                                       with_outcomes ? all.outcomes : NULL),
                             BH_OK);
                check(!with_outcomes || (batch_count(&all, BH_INSERTED) == new_keys &&
                                         batch_count(&all, BH_ASSIGNED) == n - new_keys),
                      "wrong outcomes");
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
                batch_free(&all);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* A sum in which there is a NaN is one, whatever comes after, in any kind of call; what is not added to
 * keeps its bits. */
static void nan_stays(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 5000, distinct = 7;
        if (widths.value_bytes == 0) {
            continue;
        }
        const uint64_t one = batch_float(widths.value_bytes, 1),
                       quiet = test_width_mask(widths.value_bytes);
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, i % distinct, i / distinct == 20 ? quiet : one);
        }
        check_status(batch_call(table, BH_ADD_FLOAT, &all), BH_OK);
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t value = batch_value(&all, i);
            float narrow;
            double wide;
            memcpy(&narrow, &value, sizeof narrow);
            memcpy(&wide, &value, sizeof wide);
            check(isnan(widths.value_bytes == 4 ? (double)narrow : wide), "a sum with a NaN is %g",
                  widths.value_bytes == 4 ? (double)narrow : wide);
        }
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* With BH_DUPLICATES_ORDERED floats are added one by one, by index: to the last bit. */
static void ordered_floats(void **state)
{
    static const uint64_t distinct_keys[] = {1, 60, 4000};
    static const bh_op ops[] = {BH_ADD_FLOAT, BH_ADD_FLOAT, BH_ADD_FLOAT,
                                BH_FIND,      BH_INSERT,    BH_ERASE};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        if (widths.value_bytes == 0) {
            continue;
        }
        for (size_t d = 0; d < TEST_COUNT(distinct_keys); d++) {
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            model *map = model_new();
            rng random = random_start(test_seed() ^ (d * 100 + (uint64_t)w));

            options.duplicates = BH_DUPLICATES_ORDERED;
            bh_table *table = table_with(context, &options);
            for (int round = 0; round < 4; round++) {
                const int operation = round % 2 ? BATCH_APPLY : BH_ADD_FLOAT;
                // So many that several threads would share the call, were the order no matter.
                const uint64_t n = 40000;
                batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
                uint64_t *given = test_allocate(n * sizeof *given);

                for (uint64_t i = 0; i < n; i++) {
                    const uint64_t key = random_below(&random, distinct_keys[d]);
                    // Of sizes so different that most sums are rounded.
                    const double number = (double)(random_next(&random) >> 20) *
                                          (double)(UINT64_C(1) << random_below(&random, 40)) *
                                          0x1p-60;
                    batch_set(&all, i, random_key(widths.key_bytes, 2, key),
                              batch_float(widths.value_bytes, number));
                    given[i] = batch_value(&all, i);
                    all.ops[i] = (uint8_t)ops[random_below(&random, TEST_COUNT(ops))];
                }
                check_status(batch_call(table, operation, &all), BH_OK);
                for (uint64_t i = 0; i < n; i++) {
                    const bh_op op = operation == BATCH_APPLY ? (bh_op)all.ops[i] : BH_ADD_FLOAT;
                    const bh_outcome expected =
                        model_apply(map, op, widths.value_bytes, batch_key(&all, i), &given[i]);
                    check(
                        all.outcomes[i] == (uint8_t)expected && batch_value(&all, i) == given[i],
                        "element %llu (%s in %s): outcome %u, expected %u, value %#llx, expected %#llx",
                        (unsigned long long)i, batch_operation_name((int)op),
                        batch_operation_name(operation), all.outcomes[i], (unsigned)expected,
                        (unsigned long long)batch_value(&all, i), (unsigned long long)given[i]);
                }
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
                free(given);
                batch_free(&all);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* Few keys, many times each, in a table that may not grow: some keys are there, others find room and
 * some none. Every element tells what became of it, and those that were done are in the sums. */
static void reduce_onto_few_keys_when_full(void **state)
{
    enum { THERE = 16, NEW = 4096 };
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 60000; // in any build: the new keys must be more than there is room for
        if (widths.value_bytes == 0) {
            continue;
        }
        bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
        bh_table *table = table_with(context, &options);
        options.max_host_bytes = options.max_device_bytes = table_stats(table).bytes_total;
        bh_table_destroy(table);
        table = table_with(context, &options);
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
        batch there = batch_new(widths.key_bytes, widths.value_bytes, THERE);
        model *map = model_new();
        rng random = random_start(test_seed() + (uint64_t)w);

        for (uint64_t i = 0; i < THERE; i++) {
            uint64_t key = random_key(widths.key_bytes, 16, i), value = i;
            batch_set(&there, i, key, value);
            model_apply(map, BH_INSERT, widths.value_bytes, key, &value);
        }
        check_status(batch_call(table, BH_INSERT, &there), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            // Nearly all onto the keys that are there, so that equal ones meet in every slice.
            const uint64_t number = random_below(&random, 8) > 0
                                        ? random_below(&random, THERE)
                                        : THERE + random_below(&random, NEW);
            batch_set(&all, i, random_key(widths.key_bytes, 16, number), random_next(&random));
        }
        check_status(batch_call(table, BH_ADD, &all), BH_ERR_FULL);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t operand = batch_value(&all, i);
            if (all.outcomes[i] != BH_NOT_DONE) {
                model_apply(map, BH_ADD, widths.value_bytes, batch_key(&all, i), &operand);
            }
        }
        check(batch_count(&all, BH_NOT_DONE) > 0 && batch_count(&all, BH_INSERTED) > 0 &&
                  batch_count(&all, BH_NOT_DONE) + batch_count(&all, BH_INSERTED) +
                          batch_count(&all, BH_ASSIGNED) ==
                      n,
              "%llu elements were not done", (unsigned long long)batch_count(&all, BH_NOT_DONE));
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
        model_free(map);
        batch_free(&all);
        batch_free(&there);
        bh_table_destroy(table);
    }
}

/* With BH_DUPLICATES_ORDERED everything is as if the elements ran one by one in index order, also
 * while the table grows in the middle of the call. */
static void ordered_is_sequential(void **state)
{
    static const uint64_t distinct_keys[] = {1, 5, 60, 4000};
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t d = 0; d < TEST_COUNT(distinct_keys); d++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t distinct = distinct_keys[d];
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            model *map = model_new();
            rng random = random_start(test_seed() ^ (d * 100 + (uint64_t)w));

            options.duplicates = BH_DUPLICATES_ORDERED;
            table = table_with(context, &options);
            for (int round = 0; round < BATCH_OPS + 4; round++) {
                const int operation = round < BATCH_OPS ? round : BATCH_APPLY;
                const uint64_t n = test_scaled(operation == BATCH_APPLY ? 30000 : 8000);
                batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
                uint64_t *given = test_allocate(n * sizeof *given);

                for (uint64_t i = 0; i < n; i++) {
                    batch_set(&all, i,
                              random_key(widths.key_bytes, 2, random_below(&random, distinct)),
                              random_next(&random));
                    given[i] = batch_value(&all, i);
                    all.ops[i] = (uint8_t)batch_draw_op(&random, widths.value_bytes);
                }
                if (widths.value_bytes == 0 && batch_is_reduction(operation)) {
                    free(given);
                    batch_free(&all);
                    continue;
                }
                check_status(batch_call(table, operation, &all), BH_OK);
                for (uint64_t i = 0; i < n; i++) {
                    bh_op op = operation == BATCH_APPLY ? (bh_op)all.ops[i] : (bh_op)operation;
                    bh_outcome expected =
                        model_apply(map, op, widths.value_bytes, batch_key(&all, i), &given[i]);
                    check(all.outcomes[i] == (uint8_t)expected,
                          "element %llu (%s in %s): outcome %u instead of %u",
                          (unsigned long long)i, batch_operation_name((int)op),
                          batch_operation_name(operation), all.outcomes[i], (unsigned)expected);
                    check(batch_value(&all, i) == given[i],
                          "element %llu (%s in %s): value %#llx instead of %#llx",
                          (unsigned long long)i, batch_operation_name((int)op),
                          batch_operation_name(operation), (unsigned long long)batch_value(&all, i),
                          (unsigned long long)given[i]);
                }
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
                free(given);
                batch_free(&all);
            }
            model_free(map);
            bh_table_destroy(table);
        }
    }
}

/* A promise of no duplicates changes nothing for calls that keep it. */
static void promised_distinct_keys(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(50000);
        bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
        bh_table *table = NULL;
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
        model *map = model_new();

        options.duplicates = BH_DUPLICATES_NONE;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, random_key(widths.key_bytes, 21, i), value_of(i));
            model_put(map, batch_key(&all, i), batch_value(&all, i));
        }
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
        check_status(batch_call(table, BH_UPDATE, &all), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        batch_check_all(&all, BH_ERASED);
        model_free(map);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Every small batch size works: each has its own way of ending early in a window of operations. */
static void every_small_size(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        model *map = model_new();
        uint64_t key = 0;

        for (uint64_t n = 0; n <= 300; n += n < 150 ? 1 : 13) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
            for (uint64_t i = 0; i < n; i++, key++) {
                batch_set(&all, i, random_key(widths.key_bytes, 4, key), value_of(key));
                model_put(map, batch_key(&all, i), batch_value(&all, i));
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            for (uint64_t i = 0; i < n; i++) {
                batch_set_value(&all, i, 0);
            }
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t expected = 0;
                check(model_get(map, batch_key(&all, i), &expected) &&
                          batch_value(&all, i) == expected,
                      "batch of %llu: element %llu", (unsigned long long)n, (unsigned long long)i);
            }
            batch_free(&all);
        }
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
        model_free(map);
        bh_table_destroy(table);
    }
}

/* Two contexts with a table each, and two tables in one context, know nothing of each other. */
static void tables_are_separate(void **state)
{
    bh_context *other_context = context_new(1, NULL, NULL);
    bh_table *tables[3];
    batch all = batch_new(8, 8, 1000);
    batch one = batch_new(8, 8, 1000);
    (void)state;

    tables[0] = table_new(context, 8, 8, 0);
    tables[1] = table_new(context, 8, 8, 0);
    tables[2] = table_new(other_context, 8, 8, 0);
    for (uint64_t t = 0; t < 3; t++) {
        for (uint64_t i = 0; i < all.n; i++) {
            batch_set(&all, i, random_key(8, 0, i), i * 3 + t);
        }
        check_status(batch_call(tables[t], BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
    }
    check_status(bh_clear(tables[1]), BH_OK);
    for (uint64_t t = 0; t < 3; t++) {
        for (uint64_t i = 0; i < one.n; i++) {
            batch_set(&one, i, random_key(8, 0, i), 0);
        }
        check_status(batch_call(tables[t], BH_FIND, &one), BH_OK);
        batch_check_all(&one, t == 1 ? BH_MISSING : BH_FOUND);
        for (uint64_t i = 0; i < one.n && t != 1; i++) {
            check(batch_value(&one, i) == i * 3 + t, "a value of another table");
        }
    }
    for (int t = 0; t < 3; t++) {
        bh_table_destroy(tables[t]);
    }
    bh_context_destroy(other_context);
    batch_free(&all);
    batch_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_of_each_operation),
        cmocka_unit_test(every_bit_pattern),
        cmocka_unit_test(no_pattern_is_found_that_was_not_inserted),
        cmocka_unit_test(missing_keys_leave_values),
        cmocka_unit_test(optional_arrays),
        cmocka_unit_test(keys_as_values),
        cmocka_unit_test(apply_mixes_operations),
        cmocka_unit_test(find_or_insert_leaves_the_value),
        cmocka_unit_test(find_or_insert_of_equal_keys),
        cmocka_unit_test(find_or_insert_into_a_full_table),
        cmocka_unit_test(duplicates_in_one_call),
        cmocka_unit_test(reduce_counts_each_element_once),
        cmocka_unit_test(reduce_counts_without_values),
        cmocka_unit_test(nan_stays),
        cmocka_unit_test(ordered_floats),
        cmocka_unit_test(reduce_onto_few_keys_when_full),
        cmocka_unit_test(ordered_is_sequential),
        cmocka_unit_test(promised_distinct_keys),
        cmocka_unit_test(every_small_size),
        cmocka_unit_test(tables_are_separate),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, contract_start, contract_end));
}
