/*
 * Keys and sizes that are chosen badly or with intent. Nothing here is timed: the tests end (a
 * program that hangs is ended by CTest), every answer is right, and a table never takes more than
 * four times the slots that its keys need, whatever the keys look like.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

/* Where keys live, as any target computes it: for those who know a table's seed. */
#define BH_TARGET_SCALAR
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "tables/dycuckoo/ops.h"

static bh_context *context;

static int hostile_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int hostile_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* Fails if the table has more than four times the slots that max_fill needs for its keys, a few
 * hundred aside. */
static void check_slots(const bh_table *table, double max_fill, const char *what)
{
    bh_table_stats stats = table_stats(table);
    check((double)stats.slots <= 4.0 * (double)stats.keys / max_fill + 500.0,
          "%s: %llu keys in %llu slots", what, (unsigned long long)stats.keys,
          (unsigned long long)stats.slots);
    check((double)stats.keys <= max_fill * (double)stats.slots, "%s: %llu keys in %llu slots", what,
          (unsigned long long)stats.keys, (unsigned long long)stats.slots);
}

enum {
    SEQUENTIAL,
    DOWNWARDS,
    SHIFTED_8,
    SHIFTED_16,
    HIGH_BITS,
    BIT_REVERSED,
    TWO_BITS,
    MULTIPLES,
    GRID,
    FAMILIES
};

static uint64_t reversed(uint64_t x, uint32_t bits)
{
    uint64_t y = 0;
    for (uint32_t b = 0; b < bits; b++) {
        y |= ((x >> b) & 1u) << (bits - 1 - b);
    }
    return y;
}

/* Distinct keys (for i < 2^16) with little randomness in them. */
static uint64_t family_key(int family, uint32_t key_bytes, uint64_t i)
{
    const uint32_t bits = key_bytes * 8;
    uint64_t key = i;

    switch (family) {
    case DOWNWARDS: key = ~i; break;
    case SHIFTED_8: key = i << 8; break;
    case SHIFTED_16: key = i << 16; break;
    case HIGH_BITS: key = (i << (bits - 16)) | 0x1234; break;
    case BIT_REVERSED: key = reversed(i, bits); break;
    case TWO_BITS: // one bit of the low half, and a counter in the rest
        key = ((i / 16) << 16) | (1u << (i % 16));
        break;
    case MULTIPLES: // of the golden ratio, which many hash functions multiply by
        key = i * (key_bytes == 4 ? 0x9e3779b9u : 0x9e3779b97f4a7c15u);
        break;
    case GRID: // x and y packed into one number
        key = ((i % 256) << (bits / 2)) | (i / 256);
        break;
    default: break;
    }
    return key & test_width_mask(key_bytes);
}

static void structured_keys(void **state)
{
    const uint64_t n = test_scaled(50000);
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (int family = 0; family < FAMILIES; family++) {
            const test_widths widths = test_all_widths[w];
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

            options.seed = test_seed() + (uint64_t)family;
            options.seed_fixed = 1;
            table = table_with(context, &options);
            for (uint64_t i = 0; i < n; i++) {
                batch_set(&all, i, family_key(family, widths.key_bytes, i), i);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            check_slots(table, 0.85, "structured keys");
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            for (uint64_t i = 0; i < n && widths.value_bytes > 0; i++) {
                check(batch_value(&all, i) == i, "key %llu of family %d has value %llu",
                      (unsigned long long)i, family, (unsigned long long)batch_value(&all, i));
            }
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            batch_check_all(&all, BH_ERASED);
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* A million times the same key, by every operation: everybody wants one slot. */
static void one_key_only(void **state)
{
    const uint64_t n = test_scaled(1000000);
    (void)state;

    for (int duplicates = BH_DUPLICATES_ANY; duplicates <= BH_DUPLICATES_ORDERED; duplicates++) {
        bh_table_options options = table_options(8, 8, 1);
        bh_table *table = NULL;
        batch all = batch_new(8, 8, n);
        uint64_t there = 0;

        options.duplicates = (bh_duplicates)duplicates;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, 7, 1);
            all.ops[i] = i % 2 == 0 ? BH_INSERT : BH_ERASE;
        }
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        check(batch_count(&all, BH_INSERTED) == 1 && batch_count(&all, BH_ASSIGNED) == n - 1,
              "one key inserted %llu times", (unsigned long long)batch_count(&all, BH_INSERTED));
        check_status(batch_call(table, BH_ADD, &all), BH_OK);
        batch_check_all(&all, BH_ASSIGNED);
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        batch_check_all(&all, BH_FOUND);
        check(batch_value(&all, n - 1) == n + 1, "the sum is %llu instead of %llu",
              (unsigned long long)batch_value(&all, n - 1), (unsigned long long)(n + 1));
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        check(batch_count(&all, BH_ERASED) == 1 && batch_count(&all, BH_MISSING) == n - 1,
              "one key erased %llu times", (unsigned long long)batch_count(&all, BH_ERASED));
        check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
        there = table_stats(table).keys;
        check(batch_count(&all, BH_INSERTED) - batch_count(&all, BH_ERASED) == there,
              "%llu INSERTED, %llu ERASED, %llu there",
              (unsigned long long)batch_count(&all, BH_INSERTED),
              (unsigned long long)batch_count(&all, BH_ERASED), (unsigned long long)there);
        check(table_stats(table).slots <= 1000, "one key in %llu slots",
              (unsigned long long)table_stats(table).slots);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Filled to the brim at the highest max_fill, within a budget: every call ends, and at the end
 * the table is as full as it may be or says BH_ERR_FULL; then keys are turned over for a while. */
static void to_the_brim(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        static const uint64_t budgets[] = {4096, 20000, 150000};
        for (size_t b = 0; b < TEST_COUNT(budgets); b++) {
            const test_widths widths = test_all_widths[w];
            bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);
            bh_table *table = NULL;
            bh_status status = BH_OK;
            uint64_t next = 0;
            uint64_t oldest = 0;
            uint64_t count = 0;
            uint64_t *there = test_allocate(200000 * sizeof *there); // keys, oldest first

            options.max_fill = 0.95;
            options.max_host_bytes = budgets[b];
            options.seed = test_seed() + b;
            options.seed_fixed = 1;
            status = bh_table_create(context, &options, &table);
            if (status == BH_ERR_FULL && b == 0) {
                free(there);
                continue; // an empty table may need more than one page
            }
            check(status == BH_OK, "no table within %llu bytes: %s", (unsigned long long)budgets[b],
                  bh_error_detail());
            for (int full = 0; full < 20;) {
                batch some = batch_new(widths.key_bytes, widths.value_bytes, 37);
                for (uint64_t i = 0; i < some.n; i++) {
                    batch_set(&some, i, random_key(widths.key_bytes, 50, next++), i);
                }
                status = batch_call(table, BH_INSERT, &some);
                check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
                check((status == BH_OK) == (batch_count(&some, BH_NOT_DONE) == 0),
                      "%s with %llu elements not done", bh_status_name(status),
                      (unsigned long long)batch_count(&some, BH_NOT_DONE));
                full += status == BH_ERR_FULL;
                for (uint64_t i = 0; i < some.n; i++) {
                    if (some.outcomes[i] == BH_INSERTED) {
                        check(count < 200000, "more keys than the budget can hold");
                        there[count++] = batch_key(&some, i);
                    }
                }
                batch_free(&some);
            }
            check_slots(table, 0.95, "a table that is full");
            check(table_stats(table).bytes_host <= budgets[b], "the budget is broken");
            check((double)table_stats(table).keys >= 0.5 * (double)table_stats(table).slots,
                  "full at %llu keys in %llu slots", (unsigned long long)table_stats(table).keys,
                  (unsigned long long)table_stats(table).slots);
            // Turnover: erase the oldest, insert a new one, 5000 times, at the brim.
            for (int turn = 0; turn < 5000 / (TEST_THREAD_SANITIZER ? 10 : 1); turn++) {
                batch one = batch_new(widths.key_bytes, widths.value_bytes, 1);
                batch_set(&one, 0, there[oldest++], 0);
                check_status(batch_call(table, BH_ERASE, &one), BH_OK);
                batch_check_all(&one, BH_ERASED);
                batch_set(&one, 0, random_key(widths.key_bytes, 50, next++), 0);
                status = batch_call(table, BH_INSERT, &one);
                check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
                check(one.outcomes[0] == (status == BH_OK ? BH_INSERTED : BH_NOT_DONE),
                      "%s with outcome %u", bh_status_name(status), one.outcomes[0]);
                if (status == BH_OK) {
                    there[count++] = batch_key(&one, 0);
                }
                batch_free(&one);
                if (oldest == count) {
                    break;
                }
            }
            batch all = batch_new(widths.key_bytes, widths.value_bytes, count - oldest);
            for (uint64_t i = 0; i < all.n; i++) {
                batch_set(&all, i, there[oldest + i], 0);
            }
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            check(table_stats(table).keys == all.n, "%llu keys instead of %llu",
                  (unsigned long long)table_stats(table).keys, (unsigned long long)all.n);
            batch_free(&all);
            bh_table_destroy(table);
            free(there);
        }
    }
}

/* A table whose keys come and go for long does not grow for ever. */
static void turnover_does_not_grow(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t live = 2000;
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, live);
        uint64_t slots = table_stats(table).slots;

        for (uint64_t round = 0; round < test_scaled(100); round++) {
            batch all = batch_new(widths.key_bytes, widths.value_bytes, live);
            for (uint64_t i = 0; i < live; i++) {
                batch_set(&all, i, random_key(widths.key_bytes, 12, round * live + i), i);
            }
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            batch_check_all(&all, BH_INSERTED);
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            batch_check_all(&all, BH_ERASED);
            batch_free(&all);
        }
        check(table_stats(table).slots <= 2 * slots, "%llu slots became %llu by turnover",
              (unsigned long long)slots, (unsigned long long)table_stats(table).slots);
        check(table_stats(table).keys == 0, "keys are left");
        bh_table_destroy(table);
    }
}

/* Random keys from the `first`-th on; element i has value i. */
static batch random_keys(uint64_t first, uint64_t n)
{
    batch all = batch_new(4, 4, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(4, 77, first + i), i);
    }
    return all;
}

/* A search for keys that all have the two buckets `wanted`, in two halves. */
typedef struct bucket_search {
    const bh_dy_geometry *geometry;
    bh_dy_places wanted;
    uint32_t *keys; /* n of them are to be found */
    uint64_t n;
} bucket_search;

static bool same_buckets(const bucket_search *search, uint32_t key)
{
    const bh_dy_geometry *geometry = search->geometry;
    const bh_hash hash = bh_hash_key(key, &geometry->seed);
    const bh_dy_subtable *home = &geometry->home[bh_dy_pair_of(geometry, hash)];

    // Home first: it excludes nearly all keys, and there are a thousand million to look at.
    return bh_dy_line_of(geometry, home, hash.one, BH_DY_BUCKET(4, 4, 0)) == search->wanted.home &&
           bh_dy_places_of(geometry, key, BH_DY_BUCKET(4, 4, 0)).other == search->wanted.other;
}

static bool any_same_buckets(const bucket_search *search, const batch *keys)
{
    for (uint64_t i = 0; i < keys->n; i++) {
        if (same_buckets(search, (uint32_t)batch_key(keys, i))) {
            return true;
        }
    }
    return false;
}

static void search_half(void *argument, uint32_t index)
{
    const bucket_search *search = argument;
    uint32_t key = index << 31;
    uint32_t *found = search->keys + (index == 0 ? 0 : search->n / 2);
    uint32_t *const end = search->keys + (index == 0 ? search->n / 2 : search->n);

    while (found < end) {
        if (same_buckets(search, key)) {
            *found++ = key;
        }
        key++;
        check(key << 1 != 0, "there are not enough keys with the same two buckets");
    }
}

/* A table whose seed is known, what it held before anybody meant harm, and what its system does. */
typedef struct known_table {
    bh_table *table;
    watched_system *watched;
    batch older; /* element i has value i */
} known_table;

/* `n` keys, half of them each from one half of all keys, that have the same two buckets in the
 * table as it is now; element i has value i. None is one of the older keys. */
static batch same_bucket_keys(const known_table *known, uint64_t n)
{
    batch hostile = batch_new(4, 4, n);
    bucket_search search;
    uint32_t first = 0;

    search.geometry = known->table->policy->geometry(known->table);
    search.keys = hostile.keys;
    search.n = n;
    do {
        search.wanted = bh_dy_places_of(search.geometry, first++, BH_DY_BUCKET(4, 4, 0));
    } while (any_same_buckets(&search, &known->older));
    threads_run(2, search_half, &search);
    for (uint64_t i = 0; i < n; i++) {
        batch_set_value(&hostile, i, i);
    }
    return hostile;
}

/* All keys are there with their values. */
static void check_found(bh_table *table, batch *all)
{
    for (uint64_t i = 0; i < all->n; i++) {
        batch_set_value(all, i, UINT32_MAX);
    }
    check_status(batch_call(table, BH_FIND, all), BH_OK);
    batch_check_all(all, BH_FOUND);
    for (uint64_t i = 0; i < all->n; i++) {
        check(batch_value(all, i) == i, "key %llu has value %llu", (unsigned long long)i,
              (unsigned long long)batch_value(all, i));
    }
}

/* Inserts n keys that all have the same two buckets, and erases those that came in. */
static void insert_same_buckets(const known_table *known, uint64_t n)
{
    bh_table *table = known->table;
    batch older = known->older;
    batch hostile = same_bucket_keys(known, n);
    uint8_t *outcomes = test_allocate(n);
    uint64_t clocks = watched_calls(known->watched, WATCH_CLOCK);
    bh_status status = batch_call(table, BH_INSERT, &hostile);
    const uint64_t inserted = batch_count(&hostile, BH_INSERTED);

    // Each change of the whole table is timed: their number says how often the call went round.
    clocks = watched_calls(known->watched, WATCH_CLOCK) - clocks;
    check(clocks <= 2 * (n + 100), "%llu elements, and the clock was asked %llu times",
          (unsigned long long)n, (unsigned long long)clocks);
    check(inserted + batch_count(&hostile, BH_NOT_DONE) == n,
          "an outcome that is neither INSERTED nor NOT_DONE");
    check(inserted > 0, "not one key was inserted");
    check(status == (inserted == n ? BH_OK : BH_ERR_FULL), "%s with %llu of %llu inserted",
          bh_status_name(status), (unsigned long long)inserted, (unsigned long long)n);
    check(table_stats(table).keys == older.n + inserted, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)(older.n + inserted));
    check(table_stats(table).reseeds <= 1, "the seed changed %llu times",
          (unsigned long long)table_stats(table).reseeds);
    // A table that has grown for all of them comes down to 255 buckets a subtable.
    if (table_stats(table).slots > 2 * 255 * 7) {
        check_slots(table, 0.85, "keys with the same two buckets");
    }

    // Who was there is there, who came is there, nobody else.
    check_found(table, &older);
    memcpy(outcomes, hostile.outcomes, n);
    check_status(batch_call(table, BH_FIND, &hostile), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        check(hostile.outcomes[i] == (outcomes[i] == BH_INSERTED ? BH_FOUND : BH_MISSING) &&
                  batch_value(&hostile, i) == i,
              "element %llu had outcome %u, now it has %u", (unsigned long long)i, outcomes[i],
              hostile.outcomes[i]);
    }
    check_status(batch_call(table, BH_ERASE, &hostile), BH_OK);
    check(batch_count(&hostile, BH_ERASED) == inserted, "%llu of %llu keys were erased",
          (unsigned long long)batch_count(&hostile, BH_ERASED), (unsigned long long)inserted);
    check_found(table, &older);
    free(outcomes);
    batch_free(&hostile);
}

/* Two attacks on a table that holds `older` keys: one with the seed that was given, one with the
 * seed that the table has after it. */
static void check_same_buckets(uint64_t n, uint64_t older, bh_duplicates duplicates)
{
    const uint64_t capacity = 900; // smaller tables may grow however empty they are
    bh_table_options options = table_options(4, 4, capacity);
    watched_system watched;
    bh_context *own = NULL;
    known_table known;
    batch after;

    watched_start(&watched);
    own = context_new(2, NULL, &watched.system);
    options.dycuckoo.subtables = 2;
    options.duplicates = duplicates;
    options.seed = test_seed();
    options.seed_fixed = 1;
    known.table = table_with(own, &options);
    known.watched = &watched;
    known.older = random_keys(0, older);
    check_status(batch_call(known.table, BH_INSERT, &known.older), BH_OK);
    batch_check_all(&known.older, BH_INSERTED);

    insert_same_buckets(&known, n);
    check(table_stats(known.table).slots <= 4 * capacity, "%llu slots are left for %llu keys",
          (unsigned long long)table_stats(known.table).slots, (unsigned long long)older);
    insert_same_buckets(&known, 1000);

    // The table goes on working.
    after = random_keys(older, older);
    check_status(batch_call(known.table, BH_INSERT, &after), BH_OK);
    batch_check_all(&after, BH_INSERTED);
    check_found(known.table, &after);
    check_found(known.table, &known.older);

    batch_free(&known.older);
    batch_free(&after);
    bh_table_destroy(known.table);
    bh_context_destroy(own);
    watched_end(&watched);
}

/*
 * Someone who knows the seed sends keys that all have the same home and the same other bucket. The
 * call ends after work that follows from their number; each key is in the table or BH_NOT_DONE.
 * Once into a table that is too empty to grow for them, once into one that may.
 */
static void one_pair_of_buckets(void **state)
{
    (void)state;
    check_same_buckets(test_scaled(100000), 500, BH_DUPLICATES_ANY);
    check_same_buckets(test_scaled(2000), 890, BH_DUPLICATES_ANY);
    check_same_buckets(test_scaled(2000), 500, BH_DUPLICATES_ORDERED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_keys),     cmocka_unit_test(one_key_only),
        cmocka_unit_test(to_the_brim),         cmocka_unit_test(turnover_does_not_grow),
        cmocka_unit_test(one_pair_of_buckets),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, hostile_start, hostile_end));
}
