/*
 * Sizes beyond 32 bits, for real: a table with more than 2^32 slots, and calls with more than 2^31
 * and more than 2^32 elements. `make test-huge` runs this; it takes a few minutes.
 *
 * Neither needs much memory. The table uses the lazy page policy, so that only pages with keys in
 * them exist. The arrays of the large calls are one small piece of memory mapped again and again
 * at consecutive addresses, but for their tails, which are real: there every element is checked,
 * so an index that was cut to 32 bits somewhere cannot go unnoticed. Where even the address space
 * is refused a test is skipped; if all are, the exit status is 77.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/random.h"
#include "support/tables.h"

#define TWO_TO_31 ((uint64_t)1 << 31)
#define TWO_TO_32 ((uint64_t)1 << 32)

static int tests_run = 0;

/* --- a table with more than 2^32 slots ----------------------------------------------------- */

static void fill_keys(batch *all, uint64_t salt)
{
    for (uint64_t i = 0; i < all->n; i++) {
        uint64_t key = random_key(all->key_bytes, salt, i);
        batch_set(all, i, key, key * 3 + 1);
    }
}

/* Inserts, finds, misses, erases: 2^18 keys, each of which touches a page or two of its own. */
static void use_large_table(bh_table *table, test_widths widths)
{
    const uint64_t n = (uint64_t)1 << 18;
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    batch absent = batch_new(widths.key_bytes, widths.value_bytes, n);
    bh_table_stats before = table_stats(table);

    fill_keys(&all, 0);
    fill_keys(&absent, (uint64_t)1 << 30);
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_MISSING);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    check_status(batch_call(table, BH_INSERT_NEW, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    for (uint64_t i = 0; i < n; i++) {
        batch_set_value(&all, i, 0);
    }
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    for (uint64_t i = 0; i < n && widths.value_bytes == 8; i++) {
        check(batch_value(&all, i) == batch_key(&all, i) * 3 + 1, "a wrong value");
    }
    check_status(batch_call(table, BH_FIND, &absent), BH_OK);
    batch_check_all(&absent, BH_MISSING);
    check(table_stats(table).keys == n, "%llu keys", (unsigned long long)table_stats(table).keys);
    all.n = n / 2;
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    batch_check_all(&all, BH_ERASED);
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_MISSING);
    check(table_stats(table).keys == n / 2, "%llu keys",
          (unsigned long long)table_stats(table).keys);
    check(table_stats(table).slots == before.slots && table_stats(table).grows == 0,
          "the table changed its size");
    all.n = n;
    batch_free(&all);
    batch_free(&absent);
}

static void large_table(test_widths widths)
{
    bh_context_options context_options;
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, TWO_TO_32);
    bh_context *context = NULL;
    bh_table *table = NULL;
    bh_status status = BH_OK;
    bh_table_stats stats;

    bh_context_options_init(&context_options);
    context_options.pages = BH_PAGES_LAZY;
    check_status(bh_context_create("cpu", &context_options, &context), BH_OK);
    status = bh_table_create(context, &options, &table);
    if (status == BH_ERR_MEMORY) {
        printf("skipped: 2^32 keys of %u bytes with values of %u: %s\n", widths.key_bytes,
               widths.value_bytes, bh_error_detail());
        bh_context_destroy(context);
        skip();
    }
    check_status(status, BH_OK);
    tests_run++;
    stats = table_stats(table);
    check(stats.slots > TWO_TO_32, "%llu slots are not more than 2^32",
          (unsigned long long)stats.slots);
    check(stats.max_keys >= TWO_TO_32, "room for %llu keys", (unsigned long long)stats.max_keys);
    check(stats.bytes_total >= stats.slots * (widths.key_bytes + widths.value_bytes),
          "%llu slots in %llu bytes", (unsigned long long)stats.slots,
          (unsigned long long)stats.bytes_total);
    use_large_table(table, widths);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

static void large_table_of_4_byte_keys(void **state)
{
    (void)state;
    large_table((test_widths){4, 0});
}

static void large_table_of_8_byte_pairs(void **state)
{
    (void)state;
    large_table((test_widths){8, 8});
}

/* --- more elements than 32 bits can count ---------------------------------------------------- */

/* An array of `bytes` bytes of which the first part is one piece of `piece` bytes, mapped as often
 * as it takes, and the last `tail` bytes are memory of their own. Sizes are multiples of `piece`.
 */
typedef struct long_array {
    char *start;
    uint64_t bytes;
    uint64_t piece;
    uint64_t tail;
} long_array;

static bool long_array_map(long_array *array, uint64_t bytes, uint64_t piece, uint64_t tail)
{
    int file = memfd_create("long array", MFD_CLOEXEC);
    void *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool mapped = file >= 0 && start != MAP_FAILED && ftruncate(file, (off_t)piece) == 0;

    array->start = start;
    array->bytes = bytes;
    array->piece = piece;
    array->tail = tail;
    for (uint64_t at = 0; mapped && at < bytes - tail; at += piece) {
        mapped = mmap(array->start + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      file, 0) != MAP_FAILED;
    }
    mapped = mapped && mmap(array->start + bytes - tail, tail, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    if (file >= 0) {
        (void)close(file);
    }
    if (!mapped && start != MAP_FAILED) {
        (void)munmap(start, bytes);
    }
    return mapped;
}

/* Keys below DISTINCT repeat through the long part; the tail has keys that occur nowhere else. */
enum { DISTINCT = 50000, PIECE_ELEMENTS = 1 << 22, TAIL_ELEMENTS = 1 << 22 };

typedef struct long_batch {
    uint64_t n;
    uint64_t tail; // index of the first element of the tail
    long_array keys_array;
    long_array outcomes_array;
    uint32_t *keys;
    uint8_t *outcomes;
} long_batch;

static void long_batch_start(long_batch *b, uint64_t beyond)
{
    // Not a multiple of anything, so that the end is cut inside a window, a slice and a task.
    b->tail = beyond;
    b->n = beyond + TAIL_ELEMENTS - 12345;
    if (!long_array_map(&b->keys_array, (beyond + TAIL_ELEMENTS) * 4, PIECE_ELEMENTS * 4,
                        TAIL_ELEMENTS * 4)) {
        printf("skipped: no address space for %llu keys\n", (unsigned long long)b->n);
        skip();
    }
    if (!long_array_map(&b->outcomes_array, beyond + TAIL_ELEMENTS, PIECE_ELEMENTS,
                        TAIL_ELEMENTS)) {
        (void)munmap(b->keys_array.start, b->keys_array.bytes);
        printf("skipped: no address space for %llu outcomes\n", (unsigned long long)b->n);
        skip();
    }
    tests_run++;
    b->keys = (uint32_t *)(void *)b->keys_array.start;
    b->outcomes = (uint8_t *)b->outcomes_array.start;
    for (uint64_t i = 0; i < PIECE_ELEMENTS; i++) {
        b->keys[i] = (uint32_t)(random_mix64(i) % DISTINCT);
    }
    for (uint64_t i = b->tail; i < b->tail + TAIL_ELEMENTS; i++) {
        b->keys[i] = (uint32_t)(DISTINCT + (i - b->tail) / 2); // each twice, side by side
    }
    memset(b->outcomes, BATCH_UNTOUCHED, PIECE_ELEMENTS);
    memset(b->outcomes + b->tail, BATCH_UNTOUCHED, TAIL_ELEMENTS);
}

static void long_batch_end(long_batch *b)
{
    (void)munmap(b->keys_array.start, b->keys_array.bytes);
    (void)munmap(b->outcomes_array.start, b->outcomes_array.bytes);
}

/* Nothing beyond the n-th element was written. */
static void check_end(const long_batch *b)
{
    for (uint64_t i = b->n; i < b->tail + TAIL_ELEMENTS; i++) {
        check(b->outcomes[i] == BATCH_UNTOUCHED, "outcome %llu beyond the end was written",
              (unsigned long long)i);
    }
}

/* Insert more than 2^31 elements: what the tail alone holds is there, once. */
static void insert_beyond_2_to_31(void **state)
{
    long_batch b;
    bh_context *context = NULL;
    bh_table *table = NULL;
    const uint64_t tail_keys = (TAIL_ELEMENTS - 12345 + 1) / 2;
    (void)state;

    long_batch_start(&b, TWO_TO_31);
    context = context_new(0, NULL, NULL);
    table = table_new(context, 4, 0, 1);
    check_status(bh_insert(table, b.keys, NULL, b.n, b.outcomes), BH_OK);
    check(table_stats(table).keys == DISTINCT + tail_keys, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)(DISTINCT + tail_keys));
    for (uint64_t i = b.tail; i < b.n; i += 2) {
        unsigned both = i + 1 < b.n ? (unsigned)b.outcomes[i] + b.outcomes[i + 1]
                                    : (unsigned)b.outcomes[i] + BH_ASSIGNED;
        check(both == (unsigned)BH_INSERTED + BH_ASSIGNED, "elements %llu and the next: %u, %u",
              (unsigned long long)i, b.outcomes[i], b.outcomes[i + 1]);
    }
    for (uint64_t i = 0; i < PIECE_ELEMENTS; i++) {
        check(b.outcomes[i] == BH_INSERTED || b.outcomes[i] == BH_ASSIGNED, "outcome %u",
              b.outcomes[i]);
    }
    check_end(&b);
    bh_table_destroy(table);
    bh_context_destroy(context);
    long_batch_end(&b);
}

/* Find more than 2^32 elements: every third key of the tail is missing. */
static void find_beyond_2_to_32(void **state)
{
    long_batch b;
    bh_context *context = NULL;
    bh_table *table = NULL;
    (void)state;

    long_batch_start(&b, TWO_TO_32);
    context = context_new(0, NULL, NULL);
    table = table_new(context, 4, 0, DISTINCT + TAIL_ELEMENTS);
    check_status(bh_insert(table, b.keys, NULL, PIECE_ELEMENTS, NULL), BH_OK);
    check_status(bh_insert(table, b.keys + b.tail, NULL, TAIL_ELEMENTS, NULL), BH_OK);
    for (uint64_t i = b.tail; i < b.n; i++) {
        if (b.keys[i] % 3 == 0) {
            check_status(bh_erase(table, &b.keys[i], 1, NULL), BH_OK);
        }
    }
    check_status(bh_find(table, b.keys, b.n, NULL, b.outcomes), BH_OK);
    for (uint64_t i = b.tail; i < b.n; i++) {
        // Keys of the long part were not erased, so only those of the tail can be missing.
        check(b.outcomes[i] == (b.keys[i] % 3 == 0 ? BH_MISSING : BH_FOUND),
              "element %llu (key %u): outcome %u", (unsigned long long)i, b.keys[i], b.outcomes[i]);
    }
    for (uint64_t i = 0; i < PIECE_ELEMENTS; i++) {
        check(b.outcomes[i] == BH_FOUND, "element %llu: outcome %u", (unsigned long long)i,
              b.outcomes[i]);
    }
    check_end(&b);
    bh_table_destroy(table);
    bh_context_destroy(context);
    long_batch_end(&b);
}

/* Counts beyond 32 bits: every element is added exactly once. */
static void sums_beyond_2_to_32(void **state)
{
    // 2^32 + 2^20 elements of one byte of meaning: keys 0 to 3, each a quarter of the piece.
    const uint64_t piece = (uint64_t)1 << 20;
    const uint64_t n = TWO_TO_32 + piece;
    long_array keys;
    long_array values;
    bh_context *context = NULL;
    bh_table *table = NULL;
    uint32_t *key = NULL;
    uint64_t sums[4] = {0, 0, 0, 0};
    const uint32_t wanted[4] = {0, 1, 2, 3};
    (void)state;

    if (!long_array_map(&keys, n * 4, piece * 4, piece * 4)) {
        printf("skipped: no address space for %llu keys\n", (unsigned long long)n);
        skip();
    }
    if (!long_array_map(&values, n * 8, piece * 8, piece * 8)) {
        (void)munmap(keys.start, keys.bytes);
        printf("skipped: no address space for %llu values\n", (unsigned long long)n);
        skip();
    }
    tests_run++;
    key = (uint32_t *)(void *)keys.start;
    for (uint64_t i = 0; i < piece; i++) {
        key[i] = key[TWO_TO_32 + i] = (uint32_t)(i % 4);
        ((uint64_t *)(void *)values.start)[i] = 1;
        ((uint64_t *)(void *)values.start)[TWO_TO_32 + i] = TWO_TO_32;
    }
    context = context_new(0, NULL, NULL);
    table = table_new(context, 4, 8, 1);
    check_status(bh_reduce(table, BH_ADD, key, values.start, n, NULL), BH_OK);
    check_status(bh_find(table, wanted, 4, sums, NULL), BH_OK);
    for (int k = 0; k < 4; k++) {
        const uint64_t expected = TWO_TO_32 / 4 + (piece / 4) * TWO_TO_32;
        check(sums[k] == expected, "key %d has %llu instead of %llu", k,
              (unsigned long long)sums[k], (unsigned long long)expected);
    }
    bh_table_destroy(table);
    bh_context_destroy(context);
    (void)munmap(keys.start, keys.bytes);
    (void)munmap(values.start, values.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_table_of_4_byte_keys), cmocka_unit_test(large_table_of_8_byte_pairs),
        cmocka_unit_test(insert_beyond_2_to_31),      cmocka_unit_test(find_beyond_2_to_32),
        cmocka_unit_test(sums_beyond_2_to_32),
    };
    int failed = 0;

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return tests_run == 0 && failed == 0 ? TEST_SKIPPED : test_exit_status(failed);
}
