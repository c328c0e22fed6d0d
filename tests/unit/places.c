/* ctest: fake device */
/* ctest: real device */
/*
 * Where the arrays of a call lie, on a GPU: pageable, pinned, on the device or left out, each on
 * its own; in calls of one part and of several, which are copied while others run. Whatever lies
 * where, the answers are the same, and the value of a missing key stays as the caller had it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/places.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

static bh_context *context;
static void *stream; /* that the context is to have; the fake module does not look at it */

/* The arrays of one call, and what the test knows of them in memory of its own. */
typedef struct arrays {
    uint32_t key_bytes, value_bytes;
    uint64_t n;
    place places[4];
    void *there[4]; /* what the call gets */
    void *own[4];
} arrays;

enum { KEYS, VALUES, OUTCOMES, OPS };

static uint64_t bytes_of(const arrays *a, int which)
{
    const uint32_t widths[] = {a->key_bytes, a->value_bytes, 1, 1};
    return a->n * widths[which];
}

static arrays arrays_new(uint32_t key_bytes, uint32_t value_bytes, uint64_t n, place keys,
                         place values, place outcomes, place ops)
{
    arrays a = {.key_bytes = key_bytes,
                .value_bytes = value_bytes,
                .n = n,
                .places = {keys, value_bytes > 0 ? values : PLACE_NONE, outcomes, ops}};
    for (int i = 0; i < 4; i++) {
        a.own[i] = test_allocate(bytes_of(&a, i));
        a.there[i] = place_allocate(a.places[i], bytes_of(&a, i));
    }
    return a;
}

static void arrays_free(arrays *a)
{
    for (int i = 0; i < 4; i++) {
        free(a->own[i]);
        place_free(a->places[i], a->there[i]);
    }
}

static void arrays_put(arrays *a)
{
    memset(a->own[OUTCOMES], 0xA5, a->n);
    for (int i = 0; i < 4; i++) {
        place_set(a->there[i], a->own[i], bytes_of(a, i));
    }
}

static void arrays_take(arrays *a)
{
    for (int i = 0; i < 4; i++) {
        place_get(a->own[i], a->there[i], bytes_of(a, i));
    }
}

static void arrays_say(const arrays *a, uint64_t i, const char *what)
{
    check(false, "element %llu of %llu: %s; keys %s, values %s, outcomes %s, ops %s, %u+%u bytes",
          (unsigned long long)i, (unsigned long long)a->n, what, place_name(a->places[KEYS]),
          place_name(a->places[VALUES]), place_name(a->places[OUTCOMES]),
          place_name(a->places[OPS]), a->key_bytes, a->value_bytes);
}

/* Fails the test unless element i was told that outcome, and holds that value. */
static void arrays_check(const arrays *a, uint64_t i, uint8_t outcome, uint64_t value)
{
    const uint8_t told = ((const uint8_t *)a->own[OUTCOMES])[i];

    if (a->there[OUTCOMES] != NULL && told != outcome) {
        arrays_say(a, i, "another outcome");
    }
    if (a->there[VALUES] != NULL &&
        test_load(a->own[VALUES], a->value_bytes, i) != (value & test_width_mask(a->value_bytes))) {
        arrays_say(a, i, "another value");
    }
}

/* The keys of even numbers are in tables. */
static uint64_t key_of(const arrays *a, uint64_t number)
{
    return random_key(a->key_bytes, 5, number);
}

static uint64_t value_of(uint64_t number)
{
    return random_mix64(number + 99);
}

/* What the caller's array of values holds before a call that writes it. */
static uint64_t old_value(uint64_t i)
{
    return random_mix64(i ^ 0xabcdef);
}

/* A table of the keys 0, 2, 4 ... 2n - 2. */
static bh_table *table_of_even(uint32_t key_bytes, uint32_t value_bytes, uint64_t n)
{
    arrays a = arrays_new(key_bytes, value_bytes, n, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_NONE,
                          PLACE_NONE);
    bh_table *table = table_new(context, key_bytes, value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        test_store(a.own[KEYS], key_bytes, i, key_of(&a, 2 * i));
        test_store(a.own[VALUES], value_bytes, i, value_of(2 * i));
    }
    check_status(bh_insert(table, a.own[KEYS], a.own[VALUES], n, NULL), BH_OK);
    arrays_free(&a);
    return table;
}

/* Which keys of a call are in the table. */
typedef enum hits { ALL, NONE, HALF, FIRST_PART, LAST_KEY_NOT, HITS } hits;

static bool hit(hits which, uint64_t i, uint64_t n)
{
    switch (which) {
    case ALL: return true;
    case HALF: return random_mix64(i) % 2 == 0;
    case FIRST_PART: return i < places_part();
    case LAST_KEY_NOT: return i != n - 1;
    default: return false;
    }
}

static void find_checked(bh_table *table, arrays *a, hits which)
{
    for (uint64_t i = 0; i < a->n; i++) {
        test_store(a->own[KEYS], a->key_bytes, i, key_of(a, 2 * i + !hit(which, i, a->n)));
        test_store(a->own[VALUES], a->value_bytes, i, old_value(i));
    }
    arrays_put(a);
    check_status(bh_find(table, a->there[KEYS], a->n, a->there[VALUES], a->there[OUTCOMES]), BH_OK);
    arrays_take(a);
    for (uint64_t i = 0; i < a->n; i++) {
        const bool found = hit(which, i, a->n);
        arrays_check(a, i, found ? BH_FOUND : BH_MISSING, found ? value_of(2 * i) : old_value(i));
    }
}

/* A call of one part, of exactly two, and one that uses each slot and comes back to the first. */
static uint64_t length(int number)
{
    const uint64_t part = places_part();
    const uint64_t lengths[] = {part / 2 + 3, 2 * part, 4 * part + part / 2 + 17};
    return lengths[number];
}

static void lookups(void **state)
{
    static const uint32_t widths[][2] = {{4, 4}, {8, 8}, {4, 0}};
    (void)state;
    for (size_t w = 0; w < TEST_COUNT(widths); w++) {
        for (int l = 0; l < 3; l++) {
            const uint64_t n = length(l);
            bh_table *table = table_of_even(widths[w][0], widths[w][1], n);
            for (int p = 0; p < PLACES * 4 * 4; p++) {
                const place values = (place)(p / PLACES % 4);
                arrays a;
                if (widths[w][1] == 0 && values != PLACE_NONE) {
                    continue;
                }
                a = arrays_new(widths[w][0], widths[w][1], n, (place)(p % PLACES), values,
                               (place)(p / PLACES / 4), PLACE_NONE);
                for (int h = 0; h < HITS; h++) {
                    find_checked(table, &a, (hits)h);
                }
                arrays_free(&a);
            }
            bh_table_destroy(table);
        }
    }
}

/* What the fake module has done so far: see tests/fake/module.c. */
static const uint64_t *fake_counts(void)
{
    const char *reason = "";
    const uint64_t *counts =
        bh__library_symbol(getenv("BULKHASH_CUDA_MODULE"), "bh__fake_counts", &reason);
    check(counts != NULL, "%s", reason);
    return counts;
}

/* Values are copied to the device when keys are missing, and not before; a part is run twice at
 * most when the first is missing, and never when its arrays are used in place. */
static void values_that_nobody_needs(void **state)
{
    const uint64_t n = length(2), parts = 5, slack = parts * 2048 /* jobs */;
    bh_table *table = table_of_even(4, 4, n);
    (void)state;

    for (int p = 0; p < PLACES; p++) {
        const bool in_place = p == PLACE_DEVICE;
        arrays a = arrays_new(4, 4, n, (place)p, (place)p, (place)p, PLACE_NONE);
        for (int h = 0; h < HITS; h++) {
            const uint64_t slices = fake_counts()[0];
            const uint64_t bytes = fake_counts()[1];
            uint64_t ran, copied;

            find_checked(table, &a, (hits)h);
            ran = fake_counts()[0] - slices;
            copied = fake_counts()[1] - bytes;
            if (in_place) {
                check(ran == 1, "a call in place took %llu slices", (unsigned long long)ran);
                continue;
            }
            check(ran >= parts && ran <= parts + (h == ALL ? 0 : 2), "%llu parts took %llu slices",
                  (unsigned long long)parts, (unsigned long long)ran);
            check(copied >= 4 * n && copied <= (h == ALL ? 4 : 8) * n + 2 * slack,
                  "%llu bytes were copied for %llu keys", (unsigned long long)copied,
                  (unsigned long long)n);
        }
        arrays_free(&a);
    }
    bh_table_destroy(table);
}

/* Operations of bh_apply on a table of the even keys, of different keys all. */
static const uint8_t four_ops[4] = {BH_FIND, BH_ERASE, BH_INSERT, BH_FIND};

static void mixed_operations(void **state)
{
    (void)state;
    for (int p = 0; p < PLACES * PLACES * PLACES * 4; p++) {
        const uint64_t n = length(p % 2 == 0 ? 2 : 0);
        arrays a = arrays_new(4, 4, n, (place)(p % PLACES), (place)(p / PLACES % PLACES),
                              (place)(p / PLACES / PLACES % 4), (place)(p / PLACES / PLACES / 4));
        bh_table *table = table_of_even(4, 4, n);

        /* The third inserts a key that is not there, the fourth finds none. */
        for (uint64_t i = 0; i < n; i++) {
            test_store(a.own[KEYS], 4, i, key_of(&a, 2 * i + (i % 4 >= 2)));
            test_store(a.own[VALUES], 4, i, old_value(i));
            ((uint8_t *)a.own[OPS])[i] = four_ops[i % 4];
        }
        arrays_put(&a);
        check_status(
            bh_apply(table, a.there[OPS], a.there[KEYS], a.there[VALUES], n, a.there[OUTCOMES]),
            BH_OK);
        arrays_take(&a);
        for (uint64_t i = 0; i < n; i++) {
            const uint8_t outcomes[4] = {BH_FOUND, BH_ERASED, BH_INSERTED, BH_MISSING};
            arrays_check(&a, i, outcomes[i % 4], i % 4 == 0 ? value_of(2 * i) : old_value(i));
        }
        /* The values that were inserted are those of the array. */
        for (uint64_t i = 0; i < n; i++) {
            test_store(a.own[VALUES], 4, i, 0);
        }
        arrays_put(&a);
        check_status(bh_find(table, a.there[KEYS], n, a.there[VALUES], a.there[OUTCOMES]), BH_OK);
        arrays_take(&a);
        for (uint64_t i = 0; i < n; i++) {
            const bool there = i % 4 == 0 || i % 4 == 2;
            arrays_check(&a, i, there ? BH_FOUND : BH_MISSING,
                         i % 4 == 0   ? value_of(2 * i)
                         : i % 4 == 2 ? old_value(i)
                                      : 0);
        }
        bh_table_destroy(table);
        arrays_free(&a);
    }
}

/* Inserts, assigns and erases the keys of a table that grows from nothing. */
static void changes(void **state)
{
    (void)state;
    for (int p = 0; p < PLACES * PLACES * 4; p++) {
        const uint64_t n = length(p % 2 == 0 ? 2 : 1);
        arrays a = arrays_new(8, 4, n, (place)(p % PLACES), (place)(p / PLACES % PLACES),
                              (place)(p / PLACES / PLACES), PLACE_NONE);
        bh_table *table = table_new(context, 8, 4, 1);

        for (int round = 0; round < 2; round++) {
            for (uint64_t i = 0; i < n; i++) {
                test_store(a.own[KEYS], 8, i, key_of(&a, i));
                test_store(a.own[VALUES], 4, i, value_of(i + (uint64_t)round));
            }
            arrays_put(&a);
            check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], n, a.there[OUTCOMES]),
                         BH_OK);
            arrays_take(&a);
            for (uint64_t i = 0; i < n; i++) {
                arrays_check(&a, i, round == 0 ? BH_INSERTED : BH_ASSIGNED,
                             value_of(i + (uint64_t)round));
                test_store(a.own[VALUES], 4, i, old_value(i));
            }
            arrays_put(&a);
            check_status(bh_find(table, a.there[KEYS], n, a.there[VALUES], a.there[OUTCOMES]),
                         BH_OK);
            arrays_take(&a);
            for (uint64_t i = 0; i < n; i++) {
                arrays_check(&a, i, BH_FOUND, value_of(i + (uint64_t)round));
            }
        }
        check(table_stats(table).keys == n, "it has other keys");
        arrays_put(&a);
        check_status(bh_erase(table, a.there[KEYS], n, a.there[OUTCOMES]), BH_OK);
        arrays_take(&a);
        for (uint64_t i = 0; i < n; i++) {
            arrays_check(&a, i, BH_ERASED, value_of(i + 1));
        }
        check(table_stats(table).keys == 0, "keys are left");
        bh_table_destroy(table);
        arrays_free(&a);
    }
}

/* Finds or inserts keys in a table that has every second of them and grows: values go both ways. */
static void finds_or_inserts(void **state)
{
    (void)state;
    for (int p = 0; p < PLACES * PLACES * 4 * 3; p++) {
        const int kind = p / PLACES / PLACES / 4; // DyCuckoo, in order, HashFight
        const uint32_t bytes = p % 2 == 0 ? 4 : 8;
        const uint64_t n = length(p % 2 == 0 ? 2 : 1);
        arrays a = arrays_new(8, bytes, n, (place)(p % PLACES), (place)(p / PLACES % PLACES),
                              (place)(p / PLACES / PLACES % 4), PLACE_NONE);
        bh_table_options options = table_options(8, bytes, 1);
        bh_table *table = NULL;

        options.design = kind == 2 ? BH_HASHFIGHT : BH_DYCUCKOO;
        options.duplicates = kind == 1 ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            test_store(a.own[KEYS], 8, i, key_of(&a, 2 * i));
            test_store(a.own[VALUES], bytes, i, value_of(2 * i));
        }
        check_status(bh_insert(table, a.own[KEYS], a.own[VALUES], n, NULL), BH_OK);
        // The last key comes twice.
        for (uint64_t i = 0; i < n; i++) {
            test_store(a.own[KEYS], 8, i, key_of(&a, i == n - 1 && n % 2 == 1 ? n - 2 : i));
            test_store(a.own[VALUES], bytes, i, old_value(i));
        }
        for (int round = 0; round < 2; round++) {
            arrays_put(&a);
            check_status(
                bh_find_or_insert(table, a.there[KEYS], a.there[VALUES], n, a.there[OUTCOMES]),
                BH_OK);
            arrays_take(&a);
            for (uint64_t i = 0; i + 2 < n; i++) {
                arrays_check(&a, i, i % 2 == 0 || round == 1 ? BH_FOUND : BH_INSERTED,
                             i % 2 == 0 ? value_of(i) : old_value(i));
            }
            check(test_load(a.own[KEYS], 8, n - 1) != test_load(a.own[KEYS], 8, n - 2) ||
                      test_load(a.own[VALUES], bytes, n - 1) ==
                          test_load(a.own[VALUES], bytes, n - 2),
                  "equal keys have different values");
        }
        bh_table_destroy(table);
        arrays_free(&a);
    }
}

/* All pairs come out, each once. */
static void exports(void **state)
{
    const uint64_t n = length(2);
    bh_table *table = table_of_even(8, 8, n);
    (void)state;

    for (int p = 0; p < PLACES * 4; p++) {
        arrays a =
            arrays_new(8, 8, n, (place)(p % PLACES), (place)(p / PLACES), PLACE_NONE, PLACE_NONE);
        uint64_t cursor = 0, count = 0, sums[2] = {0, 0}, wanted[2] = {0, 0};

        check_status(bh_export(table, &cursor, a.there[KEYS], a.there[VALUES], n, &count), BH_OK);
        check(count == n, "%llu pairs came out", (unsigned long long)count);
        arrays_take(&a);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t key = test_load(a.own[KEYS], 8, i);
            const uint64_t value = a.there[VALUES] == NULL ? 0 : test_load(a.own[VALUES], 8, i);
            sums[0] += key;
            sums[1] += random_mix64(key) * value;
            wanted[0] += key_of(&a, 2 * i);
            if (a.there[VALUES] != NULL) {
                wanted[1] += random_mix64(key_of(&a, 2 * i)) * value_of(2 * i);
            }
        }
        check(sums[0] == wanted[0] && sums[1] == wanted[1], "other pairs came out");
        arrays_free(&a);
    }
    bh_table_destroy(table);
}

/* Calls of several threads on tables of one context share its lanes and its pinned memory. */
static void one_of_threads(void *argument, uint32_t index)
{
    const uint64_t n = length(2) + index;
    arrays a =
        arrays_new(4, 4, n, (place)(index % 2), (place)(index / 2 % 2), PLACE_PAGEABLE, PLACE_NONE);
    bh_table *table = table_of_even(4, 4, n);
    (void)argument;

    for (int h = 0; h < HITS; h++) {
        find_checked(table, &a, (hits)h);
    }
    bh_table_destroy(table);
    arrays_free(&a);
}

static void threads(void **state)
{
    (void)state;
    threads_run(4, one_of_threads, NULL);
}

/* What the caller has put into a stream of his own happens before a call on it: also what fills arrays
 * that the host looks at. */
static void the_stream_comes_first(void **state)
{
    static const bh_design designs[] = {BH_DYCUCKOO, BH_HASHFIGHT};
    const uint64_t n = length(2);
    arrays a = arrays_new(8, 8, n, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE);
    (void)state;

    for (uint64_t i = 0; i < n; i++) {
        test_store(a.own[KEYS], 8, i, key_of(&a, 2 * i));
        test_store(a.own[VALUES], 8, i, value_of(2 * i));
    }
    memset(a.own[OPS], BH_INSERT, n);
    // Calls: bh_insert, bh_apply, bh_sort.
    for (int turn = 0; turn < 6 && stream != NULL; turn++) {
        bh_table_options options = table_options(8, 8, n);
        bh_table *table = NULL;

        options.design = designs[turn % 2];
        table = table_with(context, &options);
        for (int i = KEYS; i <= OPS; i++) {
            memset(a.there[i], 0xee, bytes_of(&a, i));
            place_set_later(context, a.there[i], a.own[i], bytes_of(&a, i));
        }
        switch (turn / 2) {
        case 0:
            check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], n, NULL), BH_OK);
            break;
        case 1:
            check_status(bh_apply(table, a.there[OPS], a.there[KEYS], a.there[VALUES], n, NULL),
                         BH_OK);
            break;
        default:
            check_status(bh_sort(context, a.there[KEYS], 8, a.there[VALUES], 8, n), BH_OK);
            check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], n, NULL), BH_OK);
        }
        check_status(bh_find(table, a.own[KEYS], n, a.there[VALUES], a.there[OUTCOMES]), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check(((const uint8_t *)a.there[OUTCOMES])[i] == BH_FOUND &&
                      test_load(a.there[VALUES], 8, i) == value_of(2 * i),
                  "turn %d: pair %llu was read too early", turn, (unsigned long long)i);
        }
        bh_table_destroy(table);
    }
    arrays_free(&a);
}

/* In a large call of a few keys each key is seen to once: the others of it would wait for its lock. They
 * all answer, and count. */
enum { FEW = 100, MANY = (1 << 20) + 7 };

static uint64_t launched_for(bh_status (*call)(bh_table *, const arrays *), bh_table *table,
                             arrays *a)
{
    const uint64_t before = test_on_fake_gpu() ? fake_counts()[2] : 0;

    arrays_put(a);
    check_status(call(table, a), BH_OK);
    arrays_take(a);
    return test_on_fake_gpu() ? fake_counts()[2] - before : 0;
}

static bh_status call_insert(bh_table *table, const arrays *a)
{
    return bh_insert(table, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_insert_new(bh_table *table, const arrays *a)
{
    return bh_insert_new(table, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_find_or_insert(bh_table *table, const arrays *a)
{
    return bh_find_or_insert(table, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_update(bh_table *table, const arrays *a)
{
    return bh_update(table, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_add(bh_table *table, const arrays *a)
{
    return bh_reduce(table, BH_ADD, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_max(bh_table *table, const arrays *a)
{
    return bh_reduce(table, BH_MAX, a->there[KEYS], a->there[VALUES], a->n, a->there[OUTCOMES]);
}

static bh_status call_erase(bh_table *table, const arrays *a)
{
    return bh_erase(table, a->there[KEYS], a->n, a->there[OUTCOMES]);
}

static uint64_t count_told(const arrays *a, uint8_t outcome)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < a->n; i++) {
        count += ((const uint8_t *)a->own[OUTCOMES])[i] == outcome;
    }
    return count;
}

/* Equal keys are sorted where they would wait for each other's locks: so when values in the host's memory are joined
 * to. Elsewhere the first insertion of a key alone needs a lock, and only larger calls are asked for equal keys. */
static void equal_keys_of(bh_design design)
{
    static const struct {
        bh_status (*call)(bh_table *, const arrays *);
        uint8_t first, rest; // what the first of a key answers, and the others
    } calls[] = {
        {call_update, BH_MISSING, BH_MISSING},        {call_add, BH_INSERTED, BH_ASSIGNED},
        {call_insert_new, BH_FOUND, BH_FOUND},        {call_max, BH_ASSIGNED, BH_ASSIGNED},
        {call_update, BH_ASSIGNED, BH_ASSIGNED},      {call_erase, BH_ERASED, BH_MISSING},
        {call_insert_new, BH_INSERTED, BH_FOUND},     {call_erase, BH_ERASED, BH_MISSING},
        {call_find_or_insert, BH_INSERTED, BH_FOUND}, {call_erase, BH_ERASED, BH_MISSING},
        {call_insert, BH_INSERTED, BH_ASSIGNED},      {call_find_or_insert, BH_FOUND, BH_FOUND},
    };
    arrays a = arrays_new(8, 8, MANY, PLACE_DEVICE, PLACE_DEVICE, PLACE_DEVICE, PLACE_NONE);
    bh_table_options options = table_options(8, 8, FEW);
    bh_table *table = NULL;
    uint64_t sums[FEW] = {0}, sorts;

    options.design = design;
    options.max_fill = 0;
    if (design == BH_STADIUM) {
        options.stadium.table_memory = BH_TABLE_MEMORY_HOST;
    }
    table = table_with(context, &options);

    for (uint64_t i = 0; i < a.n; i++) {
        test_store(a.own[KEYS], 8, i, i % FEW);
        test_store(a.own[VALUES], 8, i, i);
        sums[i % FEW] += i;
    }
    for (size_t c = 0; c < TEST_COUNT(calls); c++) {
        const uint64_t launched = launched_for(calls[c].call, table, &a);
        const uint64_t rest = calls[c].rest == calls[c].first ? a.n : a.n - FEW;
        // Others act on keys that are there without locks. No atomic operation goes to the host's memory.
        const bool takes_locks =
            design == BH_STADIUM && (calls[c].call == call_add || calls[c].call == call_max);

        check(!takes_locks || launched < a.n / 8, "call %zu: %llu elements were run one by one", c,
              (unsigned long long)launched);
        check(count_told(&a, calls[c].rest) == rest &&
                  (rest == a.n || count_told(&a, calls[c].first) == FEW),
              "call %zu: %llu of the first answers, %llu of the others", c,
              (unsigned long long)count_told(&a, calls[c].first),
              (unsigned long long)count_told(&a, calls[c].rest));
        if (calls[c].call != call_erase && calls[c].first != BH_MISSING) {
            uint64_t keys[FEW], values[FEW];

            for (uint64_t k = 0; k < FEW; k++) {
                keys[k] = k;
            }
            check_status(bh_find(table, keys, FEW, values, NULL), BH_OK);
            for (uint64_t i = 0; i < a.n && calls[c].call == call_find_or_insert; i++) {
                check(test_load(a.own[VALUES], 8, i) == values[i % FEW],
                      "call %zu: element %llu has another value than its key", c,
                      (unsigned long long)i);
            }
            for (uint64_t k = 0; k < FEW; k++) {
                const bool is_sum = c >= 1 && c <= 3; // a sum is larger than any value
                check(is_sum ? values[k] == sums[k] : values[k] < a.n && values[k] % FEW == k,
                      "call %zu: key %llu has value %llu", c, (unsigned long long)k,
                      (unsigned long long)values[k]);
            }
        }
    }
    // Where no two are equal nothing is sorted.
    for (uint64_t i = 0; i < a.n; i++) {
        test_store(a.own[KEYS], 8, i, random_key(8, 1, i));
    }
    bh_table_destroy(table);
    table = table_new(context, 8, 8, MANY);
    sorts = test_on_fake_gpu() ? fake_counts()[3] : 0;
    (void)launched_for(call_insert, table, &a);
    check(!test_on_fake_gpu() || fake_counts()[3] == sorts, "different keys were sorted");
    check(count_told(&a, BH_INSERTED) == a.n, "not all are inserted");
    bh_table_destroy(table);
    arrays_free(&a);
}

static void equal_keys(void **state)
{
    (void)state;
    equal_keys_of(BH_DYCUCKOO);
    equal_keys_of(BH_DACHASH);
    equal_keys_of(BH_STADIUM);
}

/* A call on the device is seen as a whole: its new keys are counted before, and the table grows for these. Keys that are
 * there are none, though the table has few beside the elements of the call: a table that is all but full does not grow when
 * it meets its keys again and again. */
static void keys_met_again_need_no_room(void **state)
{
    enum { CAPACITY = 1000, TIMES = 130, FREE = 10 };
    static const bh_design designs[] = {BH_DYCUCKOO, BH_DACHASH, BH_STADIUM};
    (void)state;

    for (size_t d = 0; d < TEST_COUNT(designs); d++) {
        bh_table_options options = table_options(8, 8, CAPACITY);
        bh_table_stats before, after;
        bh_table *table;
        arrays a;

        options.design = designs[d];
        table = table_with(context, &options);
        before = table_stats(table);
        a = arrays_new(8, 8, (before.max_keys - FREE) * TIMES, PLACE_DEVICE, PLACE_DEVICE,
                       PLACE_DEVICE, PLACE_NONE);
        for (uint64_t i = 0; i < a.n; i++) {
            test_store(a.own[KEYS], 8, i, key_of(&a, i % (before.max_keys - FREE)));
            test_store(a.own[VALUES], 8, i, value_of(i));
        }
        arrays_put(&a);
        check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], a.n / TIMES, NULL), BH_OK);
        check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], a.n, a.there[OUTCOMES]),
                     BH_OK);
        arrays_take(&a);
        for (uint64_t i = 0; i < a.n; i++) {
            if (((const uint8_t *)a.own[OUTCOMES])[i] != BH_ASSIGNED) {
                arrays_say(&a, i, "another outcome");
            }
        }
        after = table_stats(table);
        check(after.keys == a.n / TIMES && after.max_keys == before.max_keys,
              "design %d: %llu keys, and room for %llu; before there was for %llu", (int)designs[d],
              (unsigned long long)after.keys, (unsigned long long)after.max_keys,
              (unsigned long long)before.max_keys);

        // A few new ones among them: it grows for these alone.
        for (uint64_t i = 0; i < a.n; i += TIMES * 10)
            test_store(a.own[KEYS], 8, i, key_of(&a, before.max_keys + i));
        arrays_put(&a);
        check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], a.n, NULL), BH_OK);
        after = table_stats(table);
        check(after.keys > before.max_keys && after.max_keys <= 2 * before.max_keys,
              "design %d: %llu keys, and room for %llu", (int)designs[d],
              (unsigned long long)after.keys, (unsigned long long)after.max_keys);
        arrays_free(&a);
        bh_table_destroy(table);
    }
}

/* With little memory a part is sorted some elements at a time, and one key after the other comes and
 * goes across all of these. */
static void ordered_in_little_memory(void **state)
{
    arrays a = arrays_new(8, 8, MANY, PLACE_DEVICE, PLACE_DEVICE, PLACE_DEVICE, PLACE_DEVICE);
    bh_table_options options = table_options(8, 8, FEW);
    bh_table *table = NULL;
    uint64_t sorts;
    (void)state;

    options.duplicates = BH_DUPLICATES_ORDERED;
    table = table_with(context, &options);
    for (uint64_t i = 0; i < a.n; i++) {
        test_store(a.own[KEYS], 8, i, i % FEW);
        test_store(a.own[VALUES], 8, i, i);
        ((uint8_t *)a.own[OPS])[i] = i / FEW % 2 == 0 ? BH_INSERT : BH_ERASE;
    }
    arrays_put(&a);
    // For the arrays and the names of elements, but for a quarter of a sort and not for a whole one.
    sorts = test_on_fake_gpu() ? fake_counts()[3] : 0;
    setenv("BULKHASH_FAKE_MEMORY", "50000000", 1);
    check_status(
        bh_apply(table, a.there[OPS], a.there[KEYS], a.there[VALUES], a.n, a.there[OUTCOMES]),
        BH_OK);
    unsetenv("BULKHASH_FAKE_MEMORY");
    check(!test_on_fake_gpu() || fake_counts()[3] > sorts + 1, "all was sorted at once");
    arrays_take(&a);
    for (uint64_t i = 0; i < a.n; i++) {
        arrays_check(&a, i, i / FEW % 2 == 0 ? BH_INSERTED : BH_ERASED, i);
    }
    check_status(bh_insert(table, a.there[KEYS], a.there[VALUES], a.n, a.there[OUTCOMES]), BH_OK);
    arrays_take(&a);
    // The last round, which is not whole, has erased.
    for (uint64_t i = 0; i < a.n; i++) {
        arrays_check(&a, i, i < MANY % FEW ? BH_INSERTED : BH_ASSIGNED, i);
    }
    bh_table_destroy(table);
    arrays_free(&a);
}

static int places_begin(void **state)
{
    (void)state;
    setenv("BULKHASH_FAKE_PART", TEST_SANITIZER ? "300" : "2000", 1);
    context = context_new(1, NULL, NULL);
    places_start();
    if (stream != NULL) {
        bh_context_options options;
        bh_context_destroy(context);
        bh_context_options_init(&options);
        options.cuda_stream = stream;
        check_status(bh_context_create("cuda", &options, &context), BH_OK);
    }
    return 0;
}

static int places_finish(void **state)
{
    (void)state;
    places_end();
    bh_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups),
        cmocka_unit_test(mixed_operations),
        cmocka_unit_test(changes),
        cmocka_unit_test(finds_or_inserts),
        cmocka_unit_test(exports),
        cmocka_unit_test(threads),
        cmocka_unit_test(the_stream_comes_first),
        cmocka_unit_test(equal_keys),
        cmocka_unit_test(keys_met_again_need_no_room),
        cmocka_unit_test(ordered_in_little_memory),
    };
    /* All that ThreadSanitizer can see: in the others one thread calls. */
    const struct CMUnitTest of_threads[] = {
        cmocka_unit_test(threads),
    };
    const struct CMUnitTest counts[] = {
        cmocka_unit_test(values_that_nobody_needs),
    };
    int failed = 0;

    if (TEST_THREAD_SANITIZER) {
        return test_exit_status(cmocka_run_group_tests(of_threads, places_begin, places_finish));
    }
    /* The fake module's copies as late as they may come, and then as early. */
    if (test_on_fake_gpu()) {
        /* In shorter parts than without a sanitizer descriptors are more than arrays. */
        if (!TEST_SANITIZER) {
            failed = cmocka_run_group_tests(counts, places_begin, places_finish);
        }
        failed += cmocka_run_group_tests(tests, places_begin, places_finish);
        setenv("BULKHASH_FAKE_EAGER", "1", 1);
        stream = &context;
    }
    return test_exit_status(failed + cmocka_run_group_tests(tests, places_begin, places_finish));
}
