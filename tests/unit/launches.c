/* ctest: fake device */
/* ctest: real device */
/* ctest: every design */
/*
 * Launches on a GPU (src/cuda/host/backend.c). Stages that may have nothing to do are held back, and launched when
 * the first kernels have left something to them: calls whose keys are all there, or all new, or some of them, in turn, of few
 * elements and of many. And tables that take turns: the device keeps the descriptors of a few, more tables than that are
 * used here, and they grow, shrink, and go while others stay. And memory: blocks of tables that grow do so in place, or, on a
 * GPU that cannot reserve address space, beside what they were.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "base/library.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/model.h"
#include "support/random.h"
#include "support/tables.h"

enum { TABLES = 7, ROUNDS = 6 };

static bh_context *context;

static int launches_start(void **state)
{
    (void)state;
    context = context_new(1, NULL, NULL);
    return 0;
}

static int launches_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* Of the fake GPU: how many slices have been resumed; otherwise 0. */
static uint64_t resumed(void)
{
    const char *reason = "";
    const uint64_t *counts;

    if (!test_on_fake_gpu()) {
        return 0;
    }
    counts = bh__library_symbol(getenv("BULKHASH_CUDA_MODULE"), "bh__fake_counts", &reason);
    check(counts != NULL, "%s", reason);
    return counts[4];
}

/* Whether the fake GPU leaves new keys to later stages. (In Stadium hashing it does not, and HashFight's calls have none.) */
static bool new_keys_are_left(void)
{
    return test_on_fake_gpu() && (test_design() == BH_DYCUCKOO || test_design() == BH_DACHASH);
}

/* A call of n elements with the keys from number `first` on, in the table and the model. Answers how many slices it took
 * up again. */
static uint64_t call(bh_table *table, model *map, bh_op op, test_widths widths, uint64_t first,
                     uint64_t n)
{
    const uint64_t before = resumed();
    batch b = batch_new(widths.key_bytes, widths.value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&b, i, random_key(widths.key_bytes, 3, first + i),
                  random_mix64((first + i) * 16 + op));
    }
    check_status(batch_call(table, (int)op, &b), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t operand = widths.value_bytes == 0 ? 0 : random_mix64((first + i) * 16 + op);

        if (widths.value_bytes == 4) {
            operand = (uint32_t)operand;
        }
        const bh_outcome expected =
            model_apply(map, op, widths.value_bytes, batch_key(&b, i), &operand);
        check(b.outcomes[i] == expected, "%s, element %llu of %llu: outcome %u, not %u",
              batch_operation_name((int)op), (unsigned long long)i, (unsigned long long)n,
              b.outcomes[i], expected);
        check(!batch_reads((int)op) || expected != BH_FOUND || batch_value(&b, i) == operand,
              "%s, element %llu: another value", batch_operation_name((int)op),
              (unsigned long long)i);
    }
    batch_free(&b);
    return resumed() - before;
}

/* Calls that insert: all keys there, twice; then one is not; then all are again. */
static void stages_are_held_back(bh_op op, test_widths widths, uint64_t n)
{
    bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 4 * n);
    model *map = model_new();

    (void)call(table, map, op, widths, 0, n);
    (void)call(table, map, op, widths, 0, n);
    check(call(table, map, op, widths, 0, n) == 0, "%s: all %llu keys are there, and it went on",
          batch_operation_name((int)op), (unsigned long long)n);
    check(call(table, map, op, widths, 1, n) == new_keys_are_left(), "%s: a key of %llu is new",
          batch_operation_name((int)op), (unsigned long long)n);
    (void)call(table, map, op, widths, 1, n);
    (void)call(table, map, op, widths, n / 2, n);
    (void)call(table, map, op, widths, n / 2, n);
    (void)call(table, map, BH_ERASE, widths, 1, n / 3);
    (void)call(table, map, op, widths, 0, n);
    (void)call(table, map, BH_UPDATE, widths, n, n);
    (void)call(table, map, BH_FIND, widths, 0, 2 * n);
    table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
    model_free(map);
    bh_table_destroy(table);
}

static void held_back(void **state)
{
    static const bh_op ops[] = {BH_INSERT, BH_INSERT_NEW, BH_ADD, BH_MAX, BH_FIND_OR_INSERT};
    static const test_widths widths[] = {{4, 4}, {8, 8}};
    static const uint64_t lengths[] = {1, 20, 600, 4000};
    (void)state;

    for (uint32_t w = 0; w < TEST_COUNT(widths); w++) {
        for (uint32_t i = 0; i < TEST_COUNT(ops); i++) {
            for (uint32_t k = 0; k < TEST_COUNT(lengths); k++) {
                stages_are_held_back(ops[i], widths[w], lengths[k]);
            }
            /* On a GPU these go through stages. */
            if (!test_on_fake_gpu()) {
                stages_are_held_back(ops[i], widths[w], 100000);
            }
        }
    }
}

/* New keys until the table is full: the first kernels leave more and more. */
static void new_keys_until_full(void **state)
{
    static const test_widths widths = {8, 8};
    static const uint64_t lengths[] = {64, 2000, 20000};
    (void)state;

    for (uint32_t k = 0; k < TEST_COUNT(lengths); k++) {
        const uint64_t n = lengths[k];
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 12 * n);
        model *map = model_new();

        for (uint64_t i = 0; i < 12; i++) {
            (void)call(table, map, i % 3 == 2 ? BH_ADD : BH_INSERT, widths, i * n, n);
        }
        table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
        model_free(map);
        bh_table_destroy(table);
    }
}

/* Each table has keys of its own, from number `of` * 2^20 on. */
static void tables_take_turns(void **state)
{
    static const test_widths widths = {4, 4};
    bh_table *tables[TABLES];
    model *maps[TABLES];
    (void)state;

    for (uint32_t i = 0; i < TABLES; i++) {
        tables[i] = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        maps[i] = model_new();
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < TABLES; i++) {
            const uint64_t first = (uint64_t)i << 20, n = 100 + 300 * round * (i % 3);

            (void)call(tables[i], maps[i], BH_INSERT, widths, first + 50 * round, n);
            (void)call(tables[i], maps[i], BH_FIND, widths, first, 500);
            (void)call(tables[i], maps[i], BH_FIND, widths, (uint64_t)((i + 1) % TABLES) << 20, 50);
            (void)call(tables[i], maps[i], BH_ERASE, widths, first, 40);
        }
        /* One goes, and another comes, which may lie where it lay. */
        const uint64_t goes = round % TABLES;
        bh_table_destroy(tables[goes]);
        model_clear(maps[goes]);
        tables[goes] = table_new(context, widths.key_bytes, widths.value_bytes, 1);
        (void)call(tables[goes], maps[goes], BH_FIND, widths, goes << 20, 50);
    }
    for (uint32_t i = 0; i < TABLES; i++) {
        table_check_equals_model(tables[i], widths.key_bytes, widths.value_bytes, maps[i]);
        model_free(maps[i]);
        bh_table_destroy(tables[i]);
    }
}

/* Fills a table call by call; answers by how much the most memory that it took at once is above what it has, at the end. */
static uint64_t beside(bh_context *of)
{
    const test_widths widths = {8, 8};
    bh_table *table = table_new(of, widths.key_bytes, widths.value_bytes, 1024);
    model *map = model_new();
    bh_table_stats stats;

    /* So few that no block outgrows the address space behind it. */
    for (uint64_t i = 0; i < 12; i++) {
        (void)call(table, map, BH_INSERT, widths, i * 1000, 1000);
    }
    for (uint64_t i = 0; i < 12; i++) {
        (void)call(table, map, BH_FIND, widths, i * 1000, 1000);
    }
    stats = table_stats(table);
    check(stats.grows > 2, "it grew %llu times", (unsigned long long)stats.grows);
    check(stats.bytes_device == stats.bytes_total && stats.bytes_total < 64 * stats.keys,
          "%llu bytes, %llu of them on the GPU", (unsigned long long)stats.bytes_total,
          (unsigned long long)stats.bytes_device);
    model_free(map);
    bh_table_destroy(table);
    return stats.bytes_peak - stats.bytes_total;
}

static void blocks_grow_in_place(void **state)
{
    (void)state;
    if (!test_on_fake_gpu() || !new_keys_are_left()) {
        return; /* other designs' blocks do not grow; and a GPU's only where they are large */
    }
    check(beside(context) == 0, "memory beside the grown table");
    setenv("BULKHASH_FAKE_RESERVES_NOTHING", "1", 1);
    bh_context *moves = context_new(1, NULL, NULL);
    unsetenv("BULKHASH_FAKE_RESERVES_NOTHING");
    check(beside(moves) > 0, "a block that cannot grow in place did");
    bh_context_destroy(moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_back),
        cmocka_unit_test(new_keys_until_full),
        cmocka_unit_test(tables_take_turns),
        cmocka_unit_test(blocks_grow_in_place),
    };

    return test_exit_status(cmocka_run_group_tests(tests, launches_start, launches_end));
}
