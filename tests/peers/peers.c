/*
 * The benchmark's adapters of other hash tables: that each does what bench/peers.h says, so that
 * what is measured is the same work as ours. Where several threads may write, several do.
 */
#include <stdlib.h>
#include <string.h>

#include "../../bench/peers.h"
#include "../../bench/sort_peers.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/threads.h"

#define KEYS 10000
#define THREADS 4
#define NOT_WRITTEN 0xabcdef

typedef struct part_run {
    const peer *peer;
    void *table;
    batch *pairs;
    uint64_t (*erase)(void *table, const void *keys, uint64_t n); /* NULL: insert */
    uint32_t threads;
    uint64_t erased;
} part_run;

/* Keys from the `first`-th on, each with the value index + addend. */
static batch peers_batch(const peer *p, uint64_t first, uint64_t n, uint64_t addend)
{
    batch pairs = batch_new(p->key_bytes, p->value_bytes, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&pairs, i, random_key(p->key_bytes, test_seed(), first + i), first + i + addend);
    }
    return pairs;
}

static void peers_part(void *argument, uint32_t index)
{
    part_run *run = argument;
    uint64_t begin = run->pairs->n * index / run->threads;
    uint64_t n = run->pairs->n * (index + 1) / run->threads - begin;
    const char *keys = (char *)run->pairs->keys + begin * run->pairs->key_bytes;
    const char *values = (char *)run->pairs->values + begin * run->pairs->value_bytes;
    if (run->erase) {
        __atomic_fetch_add(&run->erased, run->erase(run->table, keys, n), __ATOMIC_RELAXED);
    } else {
        run->peer->insert(run->table, keys, values, n);
    }
}

/* Inserts or erases the batch, by as many threads as may; answers what the erasing answered. */
static uint64_t peers_write(const peer *p, void *table, batch *pairs,
                            uint64_t (*erase)(void *, const void *, uint64_t))
{
    part_run run = {p, table, pairs, erase, p->threads ? THREADS : 1, 0};
    threads_run(run.threads, peers_part, &run);
    return run.erased;
}

/* Fails unless the n keys from the `first`-th on are found with index + addend, or none is. */
static void peers_check(const peer *p, const void *table, uint64_t first, uint64_t n,
                        uint64_t addend, bool present)
{
    batch pairs = peers_batch(p, first, n, addend);
    for (uint64_t i = 0; i < n; i++) {
        batch_set_value(&pairs, i, NOT_WRITTEN);
    }
    uint64_t found = p->find(table, pairs.keys, pairs.values, n);
    check(found == (present ? n : 0), "%s, %u bytes: %llu of %llu found", p->name, p->key_bytes,
          (unsigned long long)found, (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t expected = present ? first + i + addend : NOT_WRITTEN;
        check(batch_value(&pairs, i) == expected, "%s, %u bytes: the value of key %llu", p->name,
              p->key_bytes, (unsigned long long)i);
    }
    batch_free(&pairs);
}

static void peers_one(const peer *p, uint64_t keys)
{
    batch pairs = peers_batch(p, 0, keys, 1), half = peers_batch(p, 0, keys / 2, 2);
    void *table = p->create(keys);
    check(table != NULL, "%s: no table", p->name);
    if (!p->in_order) {
        peers_check(p, table, 0, keys, 0, false);
    }
    peers_write(p, table, &pairs, NULL);
    peers_check(p, table, 0, keys, 1, true);
    peers_check(p, table, keys, keys, 0, false);
    if (!p->in_order) {
        peers_write(p, table, &half, NULL);
        peers_check(p, table, 0, keys / 2, 2, true);
        peers_check(p, table, keys / 2, keys - keys / 2, 1, true);
    }
    if (p->erase) {
        uint64_t erased = peers_write(p, table, &half, p->erase);
        check(erased == keys / 2, "%s: %llu erased", p->name, (unsigned long long)erased);
        check(peers_write(p, table, &half, p->erase) == 0, "%s: erased twice", p->name);
        peers_check(p, table, 0, keys / 2, 0, false);
        peers_check(p, table, keys / 2, keys - keys / 2, 1, true);
    }
    p->destroy(table);
    batch_free(&half);
    batch_free(&pairs);
}

/* Also fewer keys than a loop looks ahead, and just as many. */
static void every_peer(void **state)
{
    static const uint64_t keys[] = {1, 23, 24, 25, KEYS};
    (void)state;
    for (const peer *p = peers; p->name; p++) {
        for (size_t i = 0; i < TEST_COUNT(keys); i++) {
            peers_one(p, keys[i]);
        }
    }
}

/* What is not there is said to be missing: each package is either a peer's or named. */
static void nothing_is_forgotten(void **state)
{
    static const char *const packages[] = {"libcuckoo-dev", "libtbb-dev", "libboost1.81-dev",
                                           "libabsl-dev"};
    (void)state;
    for (size_t i = 0; i < TEST_COUNT(packages); i++) {
        bool there = false, missing = strstr(peers_missing, packages[i]) != NULL;
        for (const peer *p = peers; p->name; p++) {
            there |= strcmp(p->library, packages[i]) == 0;
        }
        check(there != missing, "%s: there %d, missing %d", packages[i], there, missing);
    }
}

/* More than any machine has is refused, not thrown. TBB's tables are left out: one reserves nothing
 * but a number, the other would first fill all the memory there is. */
static void no_memory(void **state)
{
    (void)state;
    for (const peer *p = peers; p->name; p++) {
        if (strcmp(p->library, "libtbb-dev") != 0) {
            check(p->create(UINT64_C(1) << 56) == NULL, "%s has the memory", p->name);
        }
    }
}

/* Sorted, and every payload still beside its key. */
static void every_sort_peer(void **state)
{
    (void)state;
    for (const sort_peer *p = sort_peers; p->name; p++) {
        const uint32_t bytes = p->key_bytes;
        void *pairs = test_allocate(2ull * KEYS * bytes);
        uint64_t sum = 0;

        check(p->payload_bytes == bytes, "%s: widths", p->name);
        for (uint64_t i = 0; i < KEYS; i++) {
            const uint64_t key = random_key(bytes, test_seed(), i);
            test_store(pairs, bytes, 2 * i, key);
            test_store(pairs, bytes, 2 * i + 1, key * 3);
            sum += key;
        }
        p->sort(pairs, KEYS, 2);
        for (uint64_t i = 0; i < KEYS; i++) {
            const uint64_t key = test_load(pairs, bytes, 2 * i);
            check(i == 0 || test_load(pairs, bytes, 2 * i - 2) < key, "%s, %u bytes: row %llu",
                  p->name, bytes, (unsigned long long)i);
            check(test_load(pairs, bytes, 2 * i + 1) == (key * 3 & test_width_mask(bytes)),
                  "%s, %u bytes: the payload of row %llu", p->name, bytes, (unsigned long long)i);
            sum -= key;
        }
        check(sum == 0, "%s, %u bytes: other keys", p->name, bytes);
        free(pairs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_peer),
        cmocka_unit_test(nothing_is_forgotten),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(every_sort_peer),
    };
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
