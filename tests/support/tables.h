/*
 * Contexts and tables for tests, made in one line and checked on the way, and the whole content of
 * a table as a sorted list of pairs.
 */
#ifndef BULKHASH_TESTS_SUPPORT_TABLES_H
#define BULKHASH_TESTS_SUPPORT_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include <bulkhash/experimental.h>

#include "support/model.h"

/* The device that tests of every device run on: BULKHASH_TEST_DEVICE, or "cpu". */
const char *test_device(void);
bool test_on_gpu(void);

/* Whether that is the GPU that is none (tests/fake/module.c). */
bool test_on_fake_gpu(void);

/* The library's own system functions, but for one: the kernel is asked for the size of an address's
 * pages only once. Its answer takes milliseconds, and much longer under a sanitizer, whose shadow
 * memory it counts too; and bh_table_get_stats(), which tests call after every other call, asks. */
void test_system(bh_system *system);

/* A context on test_device() with that many threads (0: all); `executor` may be NULL, and `system`,
 * which is test_system() then. */
bh_context *context_new(uint32_t threads, const bh_executor *executor, const bh_system *system);

/* The design that a test is run for: BULKHASH_TEST_DESIGN names it (dycuckoo, hashfight), and
 * table_options() sets it. CTest runs a test that says `ctest: every design` once for each. */
bh_design test_design(void);

bh_table_options table_options(uint32_t key_bytes, uint32_t value_bytes, uint64_t capacity);

bh_table *table_new(bh_context *context, uint32_t key_bytes, uint32_t value_bytes,
                    uint64_t capacity);
bh_table *table_with(bh_context *context, const bh_table_options *options);

bh_table_stats table_stats(const bh_table *table);

/* All pairs of a table, sorted by key. */
typedef struct pairs {
    uint64_t count;
    uint64_t *keys;
    uint64_t *values; /* zeros for a set */
} pairs;

/* Exports the whole table `room` pairs at a time; fails the test if a key comes twice, if a call
 * writes beyond what it says, or if the number of keys is not the one in the stats. No other call
 * may change the table meanwhile. */
pairs table_pairs(bh_table *table, uint32_t key_bytes, uint32_t value_bytes, uint64_t room);
void pairs_free(pairs *content);

/* Sorts keys, and looks one up among sorted ones. */
void keys_sort(uint64_t *keys, uint64_t count);
bool keys_contain(const uint64_t *sorted, uint64_t count, uint64_t key);

/* Fails the test unless both hold the same. */
void pairs_check_equal(const pairs *one, const pairs *other);

/* Fails the test unless the table holds exactly what the model holds. */
void table_check_equals_model(bh_table *table, uint32_t key_bytes, uint32_t value_bytes,
                              const model *map);

/* Fails the test unless the stats agree with each other. */
void table_check_stats(const bh_table *table);

#endif
