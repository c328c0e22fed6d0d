/* ctest: every target */
/* ctest: every device */
/*
 * HashFight's own promises: whatever is built at once is whole, with every number of regions,
 * rounds and places in the tail; empty slots are never taken for keys; a table that changes in
 * many calls stays one list of distinct keys and moves each a few times only; and memory is what
 * was said. What holds for every design is in contract.c.
 */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "primitives/primitives.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"

#define BH_TARGET_SCALAR 1
#include "targets/target.h"

#include "tables/hashfight/layout.h"
#include "tables/table.h"

/* Pairs that the buffer holds, and pairs of a region: see policy.h and near.c. */
enum { BUFFER = 512, REGION = 32768 };

/* ThreadSanitizer, which takes its time, sees two pairs of widths where threads do the same with all. */
enum { WIDTHS_STEP = TEST_THREAD_SANITIZER ? 4 : 1 };

static bh_context *context;

static int hashfight_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int hashfight_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

static bh_table_options fight_options(test_widths widths, uint64_t capacity)
{
    bh_table_options options;

    bh_table_options_init(&options, widths.key_bytes, widths.value_bytes, capacity);
    options.design = BH_HASHFIGHT;
    options.seed = test_seed();
    options.seed_fixed = 1;
    return options;
}

/* So many bytes, of the memory that the device has. */
static void set_budget(bh_table_options *options, uint64_t bytes)
{
    *(test_on_gpu() ? &options->max_device_bytes : &options->max_host_bytes) = bytes;
}

static bh_table *fight_table(test_widths widths)
{
    const bh_table_options options = fight_options(widths, 1);
    return table_with(context, &options);
}

/* Keys first .. first + n - 1 of all; element i has value first + i. */
static batch numbered(test_widths widths, uint64_t first, uint64_t n)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 77, first + i), first + i);
    }
    return all;
}

/* Keys [from, to) and no others are there, each in one place, with their numbers plus `added`. */
static void check_holds(bh_table *table, test_widths widths, uint64_t from, uint64_t to,
                        uint64_t added)
{
    const uint64_t mask = test_width_mask(widths.value_bytes);
    batch all = numbered(widths, from, to - from);
    batch others = numbered(widths, to, 1000);
    pairs content = table_pairs(table, widths.key_bytes, widths.value_bytes, 1 + (to - from) / 3);

    table_check_stats(table);
    check(content.count == to - from, "%llu keys instead of %llu",
          (unsigned long long)content.count, (unsigned long long)(to - from));
    for (uint64_t i = 0; i < all.n; i++) {
        batch_set_value(&all, i, 0);
    }
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    for (uint64_t i = 0; i < all.n; i++) {
        check(batch_value(&all, i) == ((from + i + added) & mask), "key %llu has value %llu",
              (unsigned long long)(from + i), (unsigned long long)batch_value(&all, i));
    }
    check_status(batch_call(table, BH_FIND, &others), BH_OK);
    batch_check_all(&others, BH_MISSING);
    pairs_free(&content);
    batch_free(&all);
    batch_free(&others);
}

/* --- what is built at once ---------------------------------------------------------------- */

/* Which number in the universe element i of n has: all different, some of them again, most of them
 * again, or all alike. */
enum { DISTINCT, TENTH, MOST, ALIKE, REPEATS };

static uint64_t owner_of(int repeats, uint64_t n, uint64_t i)
{
    const uint64_t drawn = random_mix64(i * 3 + 1);

    switch (repeats) {
    case DISTINCT: return i;
    case TENTH: return drawn % 10 == 0 ? random_mix64(drawn) % (i + 1) : i;
    case MOST: return drawn % (n / 10 + 1);
    default: return 0;
    }
}

/*
 * An insert into an empty table: of equal keys the first is INSERTED, and the last one's value is
 * there. Every key is found, no other is, and an export has each once.
 */
static void build_and_check(const bh_table_options *options, uint64_t n, int repeats, bool told)
{
    const test_widths widths = {options->key_bytes, options->value_bytes};
    const uint64_t mask = test_width_mask(widths.value_bytes);
    bh_table *table = table_with(context, options);
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    batch others = batch_new(widths.key_bytes, widths.value_bytes, n);
    uint64_t *last = test_allocate(n * sizeof *last); // by number: the last element plus 1
    uint64_t distinct = 0;
    pairs content;

    memset(last, 0, n * sizeof *last);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t u = owner_of(repeats, n, i);
        batch_set(&all, i, random_key(widths.key_bytes, 5, u), i + 9);
        all.ops[i] = last[u] == 0 ? BH_INSERTED : BH_ASSIGNED; // what to expect
        distinct += last[u] == 0;
        last[u] = i + 1;
        batch_set(&others, i, random_key(widths.key_bytes, 5, n + i), 0);
    }
    check_status(bh_insert(table, all.keys, all.values, n, told ? all.outcomes : NULL), BH_OK);
    check(!told || memcmp(all.outcomes, all.ops, n) == 0,
          "of %llu elements (repeats %d) not just the first of each key is INSERTED",
          (unsigned long long)n, repeats);
    check(table_stats(table).keys == distinct, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)distinct);
    table_check_stats(table);
    check_status(batch_call(table, BH_FIND, &all), BH_OK);
    batch_check_all(&all, BH_FOUND);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t u = owner_of(repeats, n, i);
        check(batch_value(&all, i) == ((last[u] - 1 + 9) & mask),
              "element %llu of %llu: value %llu instead of %llu", (unsigned long long)i,
              (unsigned long long)n, (unsigned long long)batch_value(&all, i),
              (unsigned long long)(last[u] - 1 + 9));
    }
    check_status(batch_call(table, BH_FIND, &others), BH_OK);
    batch_check_all(&others, BH_MISSING);
    content = table_pairs(table, widths.key_bytes, widths.value_bytes, 1 + distinct / 2);
    pairs_free(&content);
    batch_free(&all);
    batch_free(&others);
    free(last);
    bh_table_destroy(table);
}

static const double shares[] = {1.03, 1.75, 2.0};
static const uint64_t tails[] = {1, 0, 1000000};

/* Small ones in every way, of every size around which something changes. */
static void small_builds(void **state)
{
    static const uint64_t sizes[] = {BUFFER, BUFFER + 1, 1023, 1024, 1025, 1500, 2500};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t f = 0; f < TEST_COUNT(shares); f++) {
            for (size_t t = 0; t < TEST_COUNT(tails); t++) {
                for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
                    for (int repeats = 0; repeats < REPEATS; repeats++) {
                        bh_table_options options = fight_options(test_all_widths[w], 1);
                        options.hashfight.slots_per_key = shares[f];
                        options.hashfight.tail_keys = tails[t];
                        options.seed += s;
                        if (!TEST_SANITIZER || (f + t + s) % 3 == 0) {
                            build_and_check(&options, sizes[s], repeats,
                                            (w + repeats + (int)s) % 2 == 0);
                        }
                    }
                }
            }
        }
    }
}

/* Large ones, each in some way: one region, two, three. */
static void large_builds(void **state)
{
    static const uint64_t sizes[] = {REGION - 1, REGION, REGION + 1, 2 * REGION, 150000};
    size_t turn = 0;
    (void)state;

    for (int repeats = 0; repeats < REPEATS; repeats++) {
        for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
            const test_widths widths = test_all_widths[turn % TEST_WIDTHS];
            bh_table_options options = fight_options(widths, 1);
            options.hashfight.slots_per_key = shares[turn % TEST_COUNT(shares)];
            options.hashfight.tail_keys = tails[turn / 3 % TEST_COUNT(tails)];
            options.duplicates = turn % 2 == 0 ? BH_DUPLICATES_ANY : BH_DUPLICATES_ORDERED;
            turn++;
            if (!TEST_SANITIZER || s == 2 || s == 4) {
                build_and_check(&options, sizes[s], repeats, turn % 4 < 2);
            }
        }
    }
}

/* A GPU's regions have some two thousand pairs: one, two, three, hundreds of them, in one call and in
 * two. (Those of the test module are larger from 64 on, and fight in memory of the table's kind.) */
static void regions_of_a_gpu(void **state)
{
    static const test_widths cases[] = {{4, 4}, {8, 8}, {4, 0}, {8, 4}};
    static const uint64_t few[] = {1900, 2000, 4100};
    const uint64_t half_million = 1u << 19;
    (void)state;

    if (!test_on_gpu()) {
        return;
    }
    if (context->backend->primitives->parts_most > BH__PARTS_MOST) {
        bh_table_options options = fight_options(cases[0], 1);

        build_and_check(&options, 9000000, DISTINCT, false); // more parts than those of cores
    }
    for (size_t c = 0; c < TEST_COUNT(cases); c++) {
        bh_table_options options = fight_options(cases[c], 1);

        options.hashfight.slots_per_key = 1.03; // one round, and hardly more slots than pairs
        build_and_check(&options, 1480, DISTINCT, true);
        build_and_check(&options, 2200, DISTINCT, true);
        options = fight_options(cases[c], 1);
        for (size_t i = 0; i < TEST_COUNT(few); i++) {
            build_and_check(&options, few[i], DISTINCT, i % 2 == 0);
        }
    }
    for (size_t c = 0; c < TEST_COUNT(cases); c++) {
        bh_table_options options = fight_options(cases[c], 1);
        const uint64_t n = c == 0 ? half_million - 1 : c == 1 ? half_million : 2 * half_million + c;

        build_and_check(&options, n, DISTINCT, c % 2 == 0);
        if (c == 3 && !TEST_SANITIZER) {
            build_and_check(&options, n, TENTH, true);
        }
        if (c == 0) {
            bh_table *table = table_with(context, &options);
            batch all = numbered(cases[c], 0, 3 * half_million);
            const uint64_t first = 2 * half_million + 5;

            check_status(bh_insert(table, all.keys, all.values, first, NULL), BH_OK);
            check_status(bh_insert(table, (uint32_t *)all.keys + first,
                                   (uint32_t *)all.values + first, all.n - first,
                                   all.outcomes + first),
                         BH_OK);
            check(batch_count(&all, BH_INSERTED) == all.n - first, "not all are new");
            check_holds(table, cases[c], 0, all.n, 0);
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* Keys whose hash lies in the first of `parts` parts. */
static batch crowded(const bh_table_options *options, uint64_t n, uint64_t parts)
{
    const bh_seed seed = bh_seed_expand(options->seed);
    batch all = batch_new(options->key_bytes, options->value_bytes, n);
    uint64_t key = 0;

    for (uint64_t i = 0; i < n; key++) {
        if (bh_hash_range(bh_hash_key(key, &seed).one, parts) == 0) {
            batch_set(&all, i++, key, key * 3);
        }
    }
    return all;
}

/* Keys that all want the same region: none is refused, at once or part by part. */
static void crowded_keys(void **state)
{
    static const uint64_t calls[] = {1000000, 3000};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w += 5) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            bh_table_options options = fight_options(test_all_widths[w], 1);
            // So many that a GPU has several regions for them too.
            const uint64_t n = test_on_gpu() && c == 0 && w == 0
                                   ? 1200000
                                   : test_scaled_large(c == 0 ? 200000 : 80000);
            batch all = crowded(&options, n, 64);
            bh_table *table = table_with(context, &options);
            const uint8_t *keys = all.keys;
            const uint8_t *values = all.values;
            pairs content;

            for (uint64_t first = 0, part = 0; first < n; first += part) {
                part = n - first < calls[c] ? n - first : calls[c];
                check_status(bh_insert(table, keys + first * options.key_bytes,
                                       values + first * options.value_bytes, part,
                                       all.outcomes + first),
                             BH_OK);
            }
            batch_check_all(&all, BH_INSERTED);
            check_status(batch_call(table, BH_FIND, &all), BH_OK);
            batch_check_all(&all, BH_FOUND);
            content = table_pairs(table, options.key_bytes, options.value_bytes, n);
            check(content.count == n, "%llu keys of %llu", (unsigned long long)content.count,
                  (unsigned long long)n);
            pairs_free(&content);
            check(table_stats(table).bytes_total < 200 * n, "%llu keys in %llu bytes",
                  (unsigned long long)n, (unsigned long long)table_stats(table).bytes_total);
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* A tail as long as the table is no reason to take more memory than pairs need. */
static void long_tails(void **state)
{
    const uint64_t n = 300000;
    bh_table_options options = fight_options((test_widths){4, 4}, 1);
    bh_table *table = NULL;
    batch all = numbered((test_widths){4, 4}, 0, n);
    (void)state;

    options.hashfight.tail_keys = UINT64_MAX;
    table = table_with(context, &options);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    check(table_stats(table).bytes_peak < 120 * n, "%llu keys took up to %llu bytes",
          (unsigned long long)n, (unsigned long long)table_stats(table).bytes_peak);
    check_holds(table, (test_widths){4, 4}, 0, n, 0);
    batch_free(&all);
    bh_table_destroy(table);
}

/* --- empty slots -------------------------------------------------------------------------- */

/*
 * An empty slot holds key 0, and one whose key was erased holds key 1, or, where keys 0 and 1 themselves would be, other small
 * keys. Under many seeds, so that they are in slots of all rounds: small keys are found
 * when they are there, and only then.
 */
static void small_keys(void **state)
{
    enum { SMALL = 64 };
    const uint64_t seeds = test_scaled(300);
    (void)state;

    for (uint64_t seed = 0; seed < seeds; seed++) {
        const test_widths widths = test_all_widths[seed % TEST_WIDTHS];
        bh_table_options options = fight_options(widths, 1);
        rng random = random_start(test_seed() + seed);
        // So many that a table is built, and many slots stay empty.
        const uint64_t n = BUFFER + 1 + random_below(&random, 300);
        batch first = batch_new(widths.key_bytes, widths.value_bytes, n);
        batch small = batch_new(widths.key_bytes, widths.value_bytes, SMALL);
        bh_table *table = NULL;
        model *map = model_new();

        options.seed = random_next(&random);
        options.hashfight.tail_keys = 1 + random_below(&random, 3) * 20;
        options.hashfight.slots_per_key = shares[random_below(&random, TEST_COUNT(shares))];
        options.min_fill = -1;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            // Few small keys, or none: each is the filler now and then.
            const uint64_t key = i < seed % 8 ? random_below(&random, SMALL) : (i << 8 | 0xff);
            batch_set(&first, i, key, i + 1);
        }
        check_status(bh_insert(table, first.keys, first.values, n, NULL), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            model_put(map, batch_key(&first, i), batch_value(&first, i));
        }
        for (int round = 0; round < 6; round++) {
            static const bh_op ops[] = {BH_FIND,   BH_UPDATE, BH_ERASE,
                                        BH_INSERT, BH_ERASE,  BH_INSERT_NEW};
            const bh_op op = ops[round];

            for (uint64_t i = 0; i < SMALL; i++) {
                batch_set(&small, i, i, round == 0 ? 0 : 1000 + i);
            }
            // Half of them, so that later rounds meet them in both states.
            small.n = round == 0 ? SMALL : SMALL / 2 + random_below(&random, SMALL / 2);
            check_status(batch_call(table, (int)op, &small), BH_OK);
            for (uint64_t i = 0; i < small.n; i++) {
                uint64_t operand = widths.value_bytes == 0 || round == 0 ? 0 : 1000 + i;
                const bh_outcome expected = model_apply(map, op, widths.value_bytes, i, &operand);
                check(small.outcomes[i] == (uint8_t)expected,
                      "seed %llu: %s of key %llu: outcome %u instead of %u",
                      (unsigned long long)seed, batch_operation_name((int)op),
                      (unsigned long long)i, small.outcomes[i], (unsigned)expected);
            }
            table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            if (round == 4 && seed % 4 == 0) {
                check_status(bh_compact(table), BH_OK);
                table_check_equals_model(table, widths.key_bytes, widths.value_bytes, map);
            }
        }
        small.n = SMALL;
        check_status(batch_call(table, BH_FIND, &small), BH_OK);
        for (uint64_t i = 0; i < SMALL; i++) {
            check((small.outcomes[i] == BH_FOUND) == model_get(map, i, NULL),
                  "key %llu should be %s", (unsigned long long)i,
                  model_get(map, i, NULL) ? "there" : "missing");
        }
        // All gone: every slot is empty.
        check_status(bh_erase(table, first.keys, n, NULL), BH_OK);
        check_status(bh_erase(table, small.keys, SMALL, NULL), BH_OK);
        check(table_stats(table).keys == 0, "keys are left");
        check_status(batch_call(table, BH_FIND, &small), BH_OK);
        batch_check_all(&small, BH_MISSING);
        model_free(map);
        batch_free(&first);
        batch_free(&small);
        bh_table_destroy(table);
    }
}

/* Every other key is erased, a few in each call: what was erased is gone, and what was not is there. */
static void halves_of_tables(void **state)
{
    enum { CALL = 400 };
    const uint64_t n = test_scaled_large(32760);
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        bh_table_options options = fight_options(widths, n);
        bh_table *table = NULL;
        batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
        batch half = batch_new(widths.key_bytes, widths.value_bytes, CALL);

        options.min_fill = -1;
        table = table_with(context, &options);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, i, i);
        }
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        for (uint64_t first = 0; first + 2 * CALL <= n; first += 2 * CALL) {
            for (uint64_t i = 0; i < CALL; i++) {
                batch_set(&half, i, first + 2 * i, 0);
            }
            check_status(batch_call(table, BH_ERASE, &half), BH_OK);
            batch_check_all(&half, BH_ERASED);
        }
        check_status(batch_call(table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            const bool erased = i % 2 == 0 && i < n / (2 * CALL) * (2 * CALL);
            check(all.outcomes[i] == (erased ? BH_MISSING : BH_FOUND),
                  "key %llu of %llu: outcome %u", (unsigned long long)i, (unsigned long long)n,
                  all.outcomes[i]);
        }
        batch_free(&all);
        batch_free(&half);
        bh_table_destroy(table);
    }
}

/* --- a table that changes ----------------------------------------------------------------- */

static uint32_t log2_up(uint64_t n)
{
    uint32_t bits = 0;
    while (n >> bits != 0) {
        bits++;
    }
    return bits;
}

/* A table filled by calls of any size is one table, and moves each key some ten times per doubling
 * at most. */
static void generations(void **state)
{
    static const struct {
        uint64_t call;
        uint64_t keys;
    } ways[] = {{1, 6000}, {7, 10000}, {100, 60000}, {511, 60000}, {1000, 150000}, {30000, 200000}};
    (void)state;

    for (size_t c = 0; c < TEST_COUNT(ways); c++) {
        const test_widths widths = test_all_widths[c % TEST_WIDTHS];
        const uint64_t n = test_scaled(ways[c].keys);
        bh_table *table = fight_table(widths);
        batch all = numbered(widths, 0, n);
        const uint8_t *keys = all.keys;
        const uint8_t *values = all.values;
        uint64_t checked = 1;

        for (uint64_t first = 0, part = 0; first < n; first += part) {
            part = n - first < ways[c].call ? n - first : ways[c].call;
            // A set's values are not looked at.
            check_status(bh_insert(table, keys + first * widths.key_bytes,
                                   widths.value_bytes ? values + first * widths.value_bytes : NULL,
                                   part, all.outcomes + first),
                         BH_OK);
            if (first + part >= 2 * checked) {
                checked = first + part;
                check_holds(table, widths, 0, checked, 0);
            }
        }
        batch_check_all(&all, BH_INSERTED);
        check_holds(table, widths, 0, n, 0);
        check(table_stats(table).keys_moved <= 10 * n * log2_up(n / BUFFER),
              "%llu keys in calls of %llu: %llu were moved", (unsigned long long)n,
              (unsigned long long)ways[c].call, (unsigned long long)table_stats(table).keys_moved);
        check(table_stats(table).shrinks == 0, "a table that was only filled shrank");
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Calls that change a few keys of a table do not move the others, however many keys it has and
 * however long its tail is. */
static void nothing_moves_for_nothing(void **state)
{
    static const uint64_t sizes[] = {400, BUFFER, 600, 1000, 1024, 1025, 1100, 3000, 20000};
    (void)state;

    for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
        for (size_t t = 0; t < TEST_COUNT(tails); t++) {
            for (int highest = 0; highest < 2; highest++) {
                bh_table_options options = fight_options((test_widths){8, 4}, 1);
                bh_table *table = NULL;
                batch all = numbered((test_widths){8, 4}, 0, sizes[s]);
                bh_table_stats before;
                bh_table_stats after;

                options.hashfight.tail_keys = tails[t];
                options.min_fill = highest ? 0.36 : 0; // the most that is allowed, or the default
                table = table_with(context, &options);
                check_status(batch_call(table, BH_INSERT, &all), BH_OK);
                before = table_stats(table);
                for (uint64_t i = 0; i < 50; i++) {
                    batch one = numbered((test_widths){8, 4}, i, 1);
                    check_status(batch_call(table, i % 2 == 0 ? BH_UPDATE : BH_ERASE, &one), BH_OK);
                    batch_free(&one);
                }
                after = table_stats(table);
                check(after.shrinks == before.shrinks && after.keys_moved == before.keys_moved,
                      "%llu keys, tail %llu: 25 erased ones shrank it %llu times, %llu keys moved",
                      (unsigned long long)sizes[s], (unsigned long long)tails[t],
                      (unsigned long long)(after.shrinks - before.shrinks),
                      (unsigned long long)(after.keys_moved - before.keys_moved));
                batch_free(&all);
                bh_table_destroy(table);
            }
        }
    }
}

/* Keys leave and come back, in parts and as a whole; memory follows. */
static void turnover(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(30000);
        bh_table *table = fight_table(widths);
        batch all = numbered(widths, 0, n);
        batch half = numbered(widths, 0, n / 2);
        uint64_t full_bytes = 0;

        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        full_bytes = table_stats(table).bytes_total;
        check_status(batch_call(table, BH_ERASE, &half), BH_OK);
        batch_check_all(&half, BH_ERASED);
        check_holds(table, widths, n / 2, n, 0);
        check_status(batch_call(table, BH_ERASE, &half), BH_OK);
        batch_check_all(&half, BH_MISSING);
        check_status(batch_call(table, BH_INSERT_NEW, &all), BH_OK);
        check(batch_count(&all, BH_INSERTED) == n / 2, "not half of them are new");
        check_holds(table, widths, 0, n, 0);
        check_status(bh_compact(table), BH_OK);
        check_holds(table, widths, 0, n, 0);
        check(table_stats(table).bytes_total <= full_bytes + full_bytes / 8,
              "compacted it has %llu bytes, and %llu when it was built",
              (unsigned long long)table_stats(table).bytes_total, (unsigned long long)full_bytes);

        // Nine in ten go: the table is much smaller.
        all.n = n / 10 * 9;
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        all.n = n;
        check_holds(table, widths, n / 10 * 9, n, 0);
        check(table_stats(table).bytes_total <= full_bytes / 2,
              "a tenth of the keys in %llu of %llu bytes",
              (unsigned long long)table_stats(table).bytes_total, (unsigned long long)full_bytes);
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        check_holds(table, widths, 0, 0, 0);
        check(table_stats(table).bytes_total < 100000, "an empty table has %llu bytes",
              (unsigned long long)table_stats(table).bytes_total);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        check_holds(table, widths, 0, n, 0);

        // Cleared, it has its memory still; reserved, it has more.
        full_bytes = table_stats(table).bytes_total;
        check_status(bh_clear(table), BH_OK);
        check_holds(table, widths, 0, 0, 0);
        check(table_stats(table).bytes_total == full_bytes, "clear gave memory back");
        check_status(bh_reserve(table, 2 * n), BH_OK);
        check(table_stats(table).max_keys >= 2 * n, "room for %llu",
              (unsigned long long)table_stats(table).max_keys);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        check_holds(table, widths, 0, n, 0);
        batch_free(&all);
        batch_free(&half);
        bh_table_destroy(table);
    }
}

/* A spare block that is smaller than what clear leaves makes place for it. */
static void clear_keeps_the_largest_block(void **state)
{
    const test_widths widths = {4, 4};
    bh_table_options options = fight_options(widths, 1000);
    bh_table *table = table_with(context, &options);
    batch all = numbered(widths, 0, 50000);
    uint64_t room = 0;
    (void)state;

    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    check_status(bh_clear(table), BH_OK);
    room = table_stats(table).max_keys;
    check(room >= 50000, "after clear there is room for %llu keys of 50000",
          (unsigned long long)room);
    batch_free(&all);
    bh_table_destroy(table);
}

/* What reserve asked for is there until compact, also when all keys were erased meanwhile. */
static void reserved_room_stays(void **state)
{
    const test_widths widths = {8, 8};
    bh_table *table = fight_table(widths);
    batch all = numbered(widths, 0, 20000);
    (void)state;

    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    check_status(bh_reserve(table, 50000), BH_OK);
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    check(table_stats(table).max_keys >= 50000, "room for %llu keys instead of 50000",
          (unsigned long long)table_stats(table).max_keys);
    check_status(bh_compact(table), BH_OK);
    check(table_stats(table).bytes_total < 100000, "compact left %llu bytes",
          (unsigned long long)table_stats(table).bytes_total);
    batch_free(&all);
    bh_table_destroy(table);
}

/* A buffer whose pairs were erased has room. */
static void erased_room_counts(void **state)
{
    const test_widths widths = {4, 0};
    bh_table *table = fight_table(widths);
    batch all = numbered(widths, 0, BUFFER);
    (void)state;

    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    check(table_stats(table).max_keys >= BUFFER, "room for %llu keys",
          (unsigned long long)table_stats(table).max_keys);
    batch_free(&all);
    bh_table_destroy(table);
}

/* compact makes a table smaller that was built for many elements with few keys. */
static void compact_after_repeats(void **state)
{
    const test_widths widths = {4, 4};
    const uint64_t n = 60000;
    bh_table_options options = fight_options(widths, 1);
    bh_table *table = NULL;
    batch all = batch_new(4, 4, n);
    uint64_t bytes = 0;
    (void)state;

    options.min_fill = -1; // by itself it does not
    table = table_with(context, &options);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(4, 77, i % 3000), i % 3000);
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    bytes = table_stats(table).bytes_total;
    check_status(bh_compact(table), BH_OK);
    // On a GPU it is built from what is left of equal keys.
    check(test_on_gpu() || table_stats(table).bytes_total < bytes / 4,
          "%llu bytes before compact, %llu after", (unsigned long long)bytes,
          (unsigned long long)table_stats(table).bytes_total);
    check_holds(table, widths, 0, 3000, 0);
    batch_free(&all);
    bh_table_destroy(table);

    // With the default min_fill it is small at once.
    all = batch_new(4, 4, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(4, 77, i % 3000), i % 3000);
    }
    table = fight_table(widths);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    check(table_stats(table).bytes_total < (test_on_gpu() ? bytes + 1 : bytes / 4),
          "%llu bytes for 3000 keys", (unsigned long long)table_stats(table).bytes_total);
    check_holds(table, widths, 0, 3000, 0);
    batch_free(&all);
    bh_table_destroy(table);
}

/* Pairs that change their places end an export that is under way. */
static void export_across_moves(void **state)
{
    enum { COMPACT, FIND_BY_APPLY, MOVES };
    (void)state;
    for (int move = 0; move < MOVES; move++) {
        const test_widths widths = {4, 4};
        const uint64_t n = 20000;
        bh_table_options options = fight_options(widths, 1);
        bh_table *table = NULL;
        batch all = numbered(widths, 0, n);
        uint32_t keys[1000];
        uint64_t cursor = 0;
        uint64_t count = 0;
        bh_status status = BH_OK;

        options.min_fill = -1;
        table = table_with(context, &options);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        all.n = n / 2;
        check_status(batch_call(table, BH_ERASE, &all), BH_OK);
        check_status(bh_export(table, &cursor, keys, NULL, 1000, &count), BH_OK);
        check(count == 1000, "%llu keys", (unsigned long long)count);
        if (move == COMPACT) {
            check_status(bh_compact(table), BH_OK);
        } else {
            memset(all.ops, BH_FIND, all.n);
            check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
        }
        status = bh_export(table, &cursor, keys, NULL, 1000, &count);
        check(status == (move == COMPACT ? BH_ERR_ARGUMENT : BH_OK), "%s after move %d",
              bh_status_name(status), move);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Which keys of a call are not there: the first ones of each slice decide how the others are looked
 * up, and may be unlike them. */
static bool is_absent(int pattern, uint64_t i)
{
    const bool sampled = i % 4096 < 256;

    switch (pattern) {
    case 0: return false;
    case 1: return i % 16 == 0;
    case 2: return i % 2 == 0;
    case 3: return true;
    case 4: return !sampled;
    default: return sampled;
    }
}

static void many_lookups(void **state)
{
    const uint64_t n = 40000;
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w += WIDTHS_STEP) {
        const test_widths widths = test_all_widths[w];
        const uint64_t mask = test_width_mask(widths.value_bytes);

        for (int slots = 0; slots < 2; slots++) {
            bh_table_options options = fight_options(widths, n);
            bh_table *table = NULL;
            batch all = numbered(widths, 0, n);

            options.hashfight.slots_per_key = slots ? 2.0 : 1.03;
            options.hashfight.tail_keys = 1;
            table = table_with(context, &options);
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            for (int pattern = 0; pattern < 6; pattern++) {
                for (int way = 0; way < 3; way++) {
                    const bool no_values = way == 1;
                    const bool no_outcomes = way == 2;

                    memset(all.outcomes, BATCH_UNTOUCHED, n);
                    for (uint64_t i = 0; i < n; i++) {
                        const uint64_t number = is_absent(pattern, i) ? n + i : i;
                        batch_set(&all, i, random_key(widths.key_bytes, 77, number), i * 5 + 1);
                    }
                    check_status(bh_find(table, all.keys, n, no_values ? NULL : all.values,
                                         no_outcomes ? NULL : all.outcomes),
                                 BH_OK);
                    for (uint64_t i = 0; i < n; i++) {
                        const bool there = !is_absent(pattern, i);
                        const uint64_t expected = there && !no_values ? i : i * 5 + 1;
                        check(no_outcomes ? all.outcomes[i] == BATCH_UNTOUCHED
                                          : all.outcomes[i] == (there ? BH_FOUND : BH_MISSING),
                              "pattern %d, way %d, %llu: outcome %u", pattern, way,
                              (unsigned long long)i, all.outcomes[i]);
                        check(batch_value(&all, i) == (expected & mask),
                              "pattern %d, way %d, %llu: value %llu", pattern, way,
                              (unsigned long long)i, (unsigned long long)batch_value(&all, i));
                    }
                }
            }
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* Lookups that are sorted by region answer as others do, in every way in which they can be asked,
 * and without the memory for it. */
static void lookups_by_region(void **state)
{
    const uint64_t sizes[] = {1, 100, 5000, test_scaled(600000)};
    (void)state;

    if (test_on_gpu()) {
        bh_table_options options = fight_options(test_all_widths[0], 1);
        bh_table *table = NULL;
        options.schedule = BH_SCHEDULE_REGIONS;
        check_status(bh_table_create(context, &options, &table), BH_ERR_UNSUPPORTED);
        return;
    }
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t n = sizes[s];
            const uint64_t mask = test_width_mask(widths.value_bytes);
            watched_system watched;
            bh_table_options options = fight_options(widths, 1);
            bh_context *watching = NULL;
            bh_table *table = NULL;
            batch all = numbered(widths, 0, n);

            watched_start(&watched);
            watching = context_new(2, NULL, &watched.system);
            options.schedule = BH_SCHEDULE_REGIONS;
            table = table_with(watching, &options);
            // Every other key is there, every third of them in another generation.
            for (uint64_t i = 0; i < n; i++) {
                all.ops[i] = i % 2 == 0 && i % 3 != 0 ? BH_INSERT : BH_FIND;
            }
            check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                all.ops[i] = i % 6 == 0 ? BH_INSERT : BH_FIND;
            }
            check_status(batch_call(table, BATCH_APPLY, &all), BH_OK);
            for (int way = 0; way < 5; way++) {
                const bool no_values = way == 1;
                const bool no_outcomes = way == 2;

                if (way >= 3) {
                    watched_refuse(&watched, WATCH_ALL_FAULTS, (uint64_t)way - 2, true);
                }
                memset(all.outcomes, BATCH_UNTOUCHED, n);
                for (uint64_t i = 0; i < n; i++) {
                    batch_set_value(&all, i, i * 5 + 1);
                }
                check_status(bh_find(table, all.keys, n, no_values ? NULL : all.values,
                                     no_outcomes ? NULL : all.outcomes),
                             BH_OK);
                (void)watched_allow(&watched);
                for (uint64_t i = 0; i < n; i++) {
                    const bool there = i % 2 == 0;
                    const uint64_t expected = there && !no_values ? i : i * 5 + 1;
                    check(no_outcomes ? all.outcomes[i] == BATCH_UNTOUCHED
                                      : all.outcomes[i] == (there ? BH_FOUND : BH_MISSING),
                          "way %d, %llu of %llu: outcome %u", way, (unsigned long long)i,
                          (unsigned long long)n, all.outcomes[i]);
                    check(batch_value(&all, i) == (expected & mask),
                          "way %d, %llu of %llu: value %llu", way, (unsigned long long)i,
                          (unsigned long long)n, (unsigned long long)batch_value(&all, i));
                }
            }
            batch_free(&all);
            bh_table_destroy(table);
            bh_context_destroy(watching);
            watched_end(&watched);
        }
    }
}

/* --- options ------------------------------------------------------------------------------ */

static void options_are_checked(void **state)
{
    static const struct {
        double slots_per_key;
        double min_fill;
        double max_fill;
        bool legal;
    } cases[] = {
        {0, 0, 0, true},       {1.03, 0, 0, true},    {2, 0, 0, true},       {1.02, 0, 0, false},
        {2.01, 0, 0, false},   {-1.5, 0, 0, false},   {1e300, 0, 0, false},  {1.5, -1, 0, true},
        {1.5, 0.48, 0, true},  {1.5, 0.49, 0, false}, {1.5, 0, 0.64, false}, {1.5, 0, 0.65, true},
        {1.5, 0, 1, true},     {1.5, 0, 1.01, false}, {2.0, 0, 0.49, false}, {1.03, 0.64, 0, false},
        {1.5, 0, -0.5, false}, {0, 0, 0.5, true},     {0, 0, 0.48, true},    {0, 0, 0.47, false},
        {0, 0.38, 0.5, false},
    };
    const double nan = strtod("nan", NULL);
    (void)state;

    for (size_t c = 0; c < TEST_COUNT(cases) + 3; c++) {
        bh_table_options options = fight_options((test_widths){4, 4}, 1);
        const bool legal = c < TEST_COUNT(cases) && cases[c].legal;
        bh_table *table = NULL;

        if (c < TEST_COUNT(cases)) {
            options.hashfight.slots_per_key = cases[c].slots_per_key;
            options.min_fill = cases[c].min_fill;
            options.max_fill = cases[c].max_fill;
        } else if (c == TEST_COUNT(cases)) {
            options.hashfight.slots_per_key = nan;
        } else if (c == TEST_COUNT(cases) + 1) {
            options.min_fill = nan;
        } else {
            options.max_fill = nan;
        }
        check_status(bh_table_create(context, &options, &table), legal ? BH_OK : BH_ERR_ARGUMENT);
        check((table != NULL) == legal, "case %zu", c);
        bh_table_destroy(table);
    }
    {
        bh_table_options options = fight_options((test_widths){8, 8}, UINT64_MAX);
        bh_table *table = NULL;
        check_status(bh_table_create(context, &options, &table), BH_ERR_ARGUMENT);
        options.capacity = 1ull << 39; // more than there is memory for
        bh_status status = bh_table_create(context, &options, &table);
        check(status == BH_ERR_MEMORY && table == NULL, "%s", bh_status_name(status));
    }
}

/* --- memory ------------------------------------------------------------------------------- */

/* A bulk insert takes no more memory than was said: the table, and for the time of the build what
 * the regions of two tasks need and those who lost all rounds. */
static void peak_of_a_build(void **state)
{
    const uint64_t n = 400000;
    (void)state;

    if (TEST_THREAD_SANITIZER) {
        return; // large_builds does the same with as many threads
    }
    for (size_t f = 0; f < TEST_COUNT(shares); f++) {
        for (int told = 0; told < 2; told++) {
            bh_table_options options = fight_options((test_widths){4, 4}, 1);
            bh_table *table = NULL;
            batch all = numbered((test_widths){4, 4}, 0, n);
            const uint64_t tail = 1024;
            uint64_t most = 0;

            options.hashfight.slots_per_key = shares[f];
            most = (uint64_t)((9 + 12.6 * shares[f]) * (double)n) + 8 * tail;
            if (test_on_gpu()) {
                most += 13 * n; // a partition of all of them has its rows and their numbers twice
            }
            table = table_with(context, &options);
            check_status(bh_insert(table, all.keys, all.values, n, told ? all.outcomes : NULL),
                         BH_OK);
            check(table_stats(table).bytes_peak <= most,
                  "%g slots per key: %llu bytes at the peak, %llu allowed", shares[f],
                  (unsigned long long)table_stats(table).bytes_peak, (unsigned long long)most);
            check(table_stats(table).bytes_peak >= table_stats(table).bytes_total, "a low peak");
            batch_free(&all);
            bh_table_destroy(table);
        }
    }
}

/* A budget that ends in the middle: what is done is done, nothing is kept beyond the budget, and
 * with what came in before the table works on. */
static void budgets(void **state)
{
    static const uint64_t calls[] = {1000000, 700, 10};
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            for (int spare = 0; spare < 2; spare++) {
                const test_widths widths = test_all_widths[w];

                if (TEST_SANITIZER ? w != 2 * (int)c : c == 2 && w % 2 == 0) {
                    continue;
                }
                const uint64_t n = c == 2 ? 8000 : 40000;
                const uint64_t pair = widths.key_bytes + widths.value_bytes;
                bh_table_options options = fight_options(widths, spare ? 1000 : 1);
                bh_table *table = NULL;
                batch all = numbered(widths, 0, n);
                const uint8_t *keys = all.keys;
                const uint8_t *values = all.values;
                uint64_t inserted = 0;
                bh_status status = BH_OK;
                pairs content;

                // What half of them need in one generation (slots, and lines in which sets lie before they fight), and
                // the buffer.
                const uint64_t budget = n / 2 * (pair * (widths.value_bytes ? 185 : 210) / 100) +
                                        600 * (pair + 1) + 20000;
                set_budget(&options, budget);
                table = table_with(context, &options);
                for (uint64_t first = 0, part = 0; first < n; first += part) {
                    bh_status answer;
                    part = n - first < calls[c] ? n - first : calls[c];
                    memset(all.outcomes + first, BATCH_UNTOUCHED, part);
                    answer =
                        bh_insert(table, keys + first * widths.key_bytes,
                                  widths.value_bytes ? values + first * widths.value_bytes : NULL,
                                  part, all.outcomes + first);
                    check(answer == BH_OK || answer == BH_ERR_FULL, "%s", bh_status_name(answer));
                    status = answer != BH_OK ? answer : status;
                    check(table_stats(table).bytes_total <= budget, "%llu bytes, %llu allowed",
                          (unsigned long long)table_stats(table).bytes_total,
                          (unsigned long long)budget);
                }
                inserted = batch_count(&all, BH_INSERTED);
                check(inserted + batch_count(&all, BH_NOT_DONE) == n, "another outcome");
                check((status == BH_OK) == (inserted == n), "%s with %llu of %llu inserted",
                      bh_status_name(status), (unsigned long long)inserted, (unsigned long long)n);
                check(inserted >= n / 4 && inserted < n,
                      "%llu of %llu in a budget for a half (%u/%u bytes, calls of %llu)",
                      (unsigned long long)inserted, (unsigned long long)n, widths.key_bytes,
                      widths.value_bytes, (unsigned long long)calls[c]);
                content = table_pairs(table, widths.key_bytes, widths.value_bytes, n);
                check(content.count == inserted, "%llu keys", (unsigned long long)content.count);
                pairs_free(&content);
                {
                    batch again = numbered(widths, 0, n);
                    check_status(batch_call(table, BH_FIND, &again), BH_OK);
                    for (uint64_t i = 0; i < n; i++) {
                        check((again.outcomes[i] == BH_FOUND) == (all.outcomes[i] == BH_INSERTED),
                              "element %llu", (unsigned long long)i);
                    }
                    // What is there can be changed and erased.
                    check_status(batch_call(table, BH_UPDATE, &again), BH_OK);
                    check(batch_count(&again, BH_ASSIGNED) == inserted, "not all are assigned");
                    check_status(batch_call(table, BH_ERASE, &again), BH_OK);
                    check(batch_count(&again, BH_ERASED) == inserted, "not all are erased");
                    again.n = n / 5;
                    check_status(batch_call(table, BH_INSERT, &again), BH_OK);
                    check_holds(table, widths, 0, n / 5, 0);
                    batch_free(&again);
                }
                batch_free(&all);
                bh_table_destroy(table);
            }
        }
    }
}

/* A spare block that nobody can use does not stand in the way of what the budget allows. */
static void a_spare_block_is_no_hindrance(void **state)
{
    const test_widths widths = {4, 4};
    const uint64_t n = 60000;
    batch all = numbered(widths, 0, n);
    uint64_t needed = 0;
    (void)state;

    for (int pass = 0; pass < 2; pass++) {
        bh_table_options options = fight_options(widths, pass == 0 ? 1 : 30000);
        bh_table *table = NULL;
        set_budget(&options, needed); // of the first table, which had no spare block
        table = table_with(context, &options);
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_check_all(&all, BH_INSERTED);
        needed = table_stats(table).bytes_total;
        bh_table_destroy(table);
    }
    batch_free(&all);
}

/* As many keys as `capacity` says fit in the memory that the empty table takes, by calls of any size: also where a generation got
 * a block that is far too large for it. */
static void capacity_in_a_budget(void **state)
{
    static const uint64_t calls[][2] = {
        {25000, 1}, {9000, 1000}, {9000, 16000}, {1000, 1000}, {700, 300}};
    const uint64_t n = 25000;
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w += WIDTHS_STEP) {
        for (size_t c = 0; c < TEST_COUNT(calls); c++) {
            const test_widths widths = test_all_widths[w];
            bh_table_options options = fight_options(widths, n);
            bh_table *table = table_with(context, &options);
            uint64_t part = calls[c][0];

            set_budget(&options, table_stats(table).bytes_total);
            bh_table_destroy(table);
            table = table_with(context, &options);
            for (uint64_t first = 0; first < n; first += part, part = calls[c][1]) {
                batch all = numbered(widths, first, n - first < part ? n - first : part);
                check_status(batch_call(table, BH_INSERT, &all), BH_OK);
                batch_free(&all);
            }
            check_holds(table, widths, 0, n, 0);
            bh_table_destroy(table);
        }
    }
}

/* What was reserved is what the table says that it holds, also where the block that is there is large enough already. */
static void reserved_little_by_little(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        bh_table *table = fight_table(test_all_widths[w]);

        for (uint64_t keys = 600; keys < 3000; keys += 50) {
            check_status(bh_reserve(table, keys), BH_OK);
            check(table_stats(table).max_keys >= keys, "%llu keys instead of %llu",
                  (unsigned long long)table_stats(table).max_keys, (unsigned long long)keys);
        }
        bh_table_destroy(table);
    }
}

/* Budgets of a few pages: a table keeps to them from its creation on, or is not made. */
static void smallest_budgets(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (uint64_t budget = 1000; budget < 40000; budget += 1000) {
            bh_table_options options = fight_options(test_all_widths[w], 1);
            bh_table *table = NULL;
            bh_status status = BH_OK;

            set_budget(&options, budget);
            status = bh_table_create(context, &options, &table);
            check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
            if (status == BH_OK) {
                check(table_stats(table).bytes_total <= budget, "%llu bytes, %llu allowed",
                      (unsigned long long)table_stats(table).bytes_total,
                      (unsigned long long)budget);
            }
            bh_table_destroy(table);
        }
    }
}

/* --- a system that refuses ---------------------------------------------------------------- */

/* Every request of a bulk insert, a merge, an erase that shrinks and a compact is refused in turn:
 * the elements that were done are there, the others are not, calls that cannot insert succeed, and
 * no more memory is kept than before. */
static void refused_requests(void **state)
{
    const test_widths widths = {4, 4};
    const uint64_t step = TEST_THREAD_SANITIZER ? 7 : TEST_SANITIZER ? 3 : 1;
    const uint64_t far_step = TEST_THREAD_SANITIZER ? 27 : 9;
    bool fired = true;
    (void)state;

    for (int for_ever = 0; for_ever < 2; for_ever++) {
        fired = true;
        // The first requests one by one; far on they are those of many small merges.
        for (uint64_t nth = 1; fired; nth += nth < 40 ? step : far_step) {
            const uint64_t n = nth % 8 == 1 ? 70000 : 10000; // two regions, or one
            watched_system watched;
            bh_table_options options = fight_options(widths, 1);
            bh_context *watching = NULL;
            bh_table *table = NULL;
            batch all = numbered(widths, 0, n);
            batch more = numbered(widths, n, 3000);
            uint64_t inserted = 0;
            uint64_t bytes = 0;
            bh_status status = BH_OK;

            check(nth < 400, "it asks without end");
            watched_start(&watched);
            watching = context_new(2, NULL, &watched.system);
            table = table_with(watching, &options);
            watched_refuse(&watched, WATCH_ALL_FAULTS, nth, for_ever);
            status = batch_call(table, BH_INSERT, &all);
            check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
            inserted = batch_count(&all, BH_INSERTED);
            check((status == BH_OK) == (inserted == n) &&
                      inserted + batch_count(&all, BH_NOT_DONE) == n &&
                      table_stats(table).keys == inserted,
                  "%s, %llu of %llu", bh_status_name(status), (unsigned long long)inserted,
                  (unsigned long long)n);
            status = batch_call(table, BH_INSERT, &more);
            check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
            inserted += batch_count(&more, BH_INSERTED);
            check(table_stats(table).keys == inserted, "%llu keys",
                  (unsigned long long)table_stats(table).keys);
            bytes = table_stats(table).bytes_total;
            status = bh_compact(table);
            check(status == BH_OK || status == BH_ERR_MEMORY, "%s", bh_status_name(status));
            check(table_stats(table).bytes_total <= bytes, "compact (%s) made %llu bytes of %llu",
                  bh_status_name(status), (unsigned long long)table_stats(table).bytes_total,
                  (unsigned long long)bytes);
            bytes = table_stats(table).bytes_total;
            all.n = n / 10 * 9;
            check_status(batch_call(table, BH_UPDATE, &all), BH_OK);
            check_status(batch_call(table, BH_ERASE, &all), BH_OK);
            inserted -= batch_count(&all, BH_ERASED);
            check(batch_count(&all, BH_NOT_DONE) == 0, "an erase was not done");
            check(table_stats(table).bytes_total <= bytes, "an erase took memory");
            fired = watched_allow(&watched) > 0;
            check(table_stats(table).keys == inserted, "%llu keys instead of %llu",
                  (unsigned long long)table_stats(table).keys, (unsigned long long)inserted);
            // The system gives again.
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            all.n = n;
            check_status(batch_call(table, BH_INSERT, &all), BH_OK);
            check_status(batch_call(table, BH_INSERT, &more), BH_OK);
            check_holds(table, widths, 0, n + more.n, 0);
            batch_free(&all);
            batch_free(&more);
            bh_table_destroy(table);
            bh_context_destroy(watching);
            watched_end(&watched);
        }
    }
}

/* A system that puts memory only under small pieces. */
static bh_system default_system;
static uint64_t commit_most;

static int commit_small(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    return bytes > commit_most ? 1 : default_system.commit(state, memory, bytes, pages);
}

static uint64_t generations_of(const bh_table *table)
{
    const bh_hf_geometry *geometry = table->policy->geometry(table);
    return geometry->generations;
}

/* Small generations that cannot be merged fill the list of generations, and then no more comes in;
 * all of them are searched, and when there is memory they are one. */
static void as_many_generations_as_can_be(void **state)
{
    const test_widths widths = {8, 4};
    const uint64_t n = 60000;
    bh_table_options options = fight_options(widths, 1);
    bh_context *limited = NULL;
    bh_table *table = NULL;
    batch all;
    uint64_t inserted = 0;
    uint64_t refused = 0;
    bh_system system;
    (void)state;

    if (test_on_gpu() || TEST_THREAD_SANITIZER) {
        return; // it is the host's memory that is limited here, and one thread does it all
    }
    all = numbered(widths, 0, n);
    bh_system_default(&default_system);
    system = default_system;
    system.commit = commit_small;
    commit_most = 200000;
    limited = context_new(1, NULL, &system);
    table = table_with(limited, &options);
    for (uint64_t first = 0; first < n; first += 600) {
        batch part = numbered(widths, first, 600);
        bh_status status = batch_call(table, BH_INSERT, &part);
        uint64_t done = batch_count(&part, BH_INSERTED);

        check(status == (done == part.n ? BH_OK : BH_ERR_MEMORY) &&
                  done + batch_count(&part, BH_NOT_DONE) == part.n,
              "%s, %llu of %llu", bh_status_name(status), (unsigned long long)done,
              (unsigned long long)part.n);
        inserted += done;
        refused += part.n - done;
        memcpy(all.outcomes + first, part.outcomes, part.n);
        check(table_stats(table).keys == inserted, "%llu keys",
              (unsigned long long)table_stats(table).keys);
        batch_free(&part);
    }
    check(refused > 0 && inserted > n / 10, "%llu of %llu were refused",
          (unsigned long long)refused, (unsigned long long)n);
    check(generations_of(table) == BH_HF_GENERATIONS_MOST, "only %llu generations",
          (unsigned long long)generations_of(table));
    {
        batch again = numbered(widths, 0, n);
        check_status(batch_call(table, BH_FIND, &again), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check((again.outcomes[i] == BH_FOUND) == (all.outcomes[i] == BH_INSERTED),
                  "element %llu", (unsigned long long)i);
        }
        batch_free(&again);
    }
    commit_most = UINT64_MAX;
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    check(batch_count(&all, BH_INSERTED) == refused, "not those that were refused are new");
    check_holds(table, widths, 0, n, 0);
    batch_free(&all);
    bh_table_destroy(table);
    bh_context_destroy(limited);
}

/* Without memory to shrink it, a table is not read again and again for every key that goes. */
static void shrinking_is_not_tried_for_ever(void **state)
{
    const test_widths widths = {8, 8};
    const uint64_t n = 20000;
    watched_system watched;
    bh_table_options options = fight_options(widths, 1);
    bh_context *watching = NULL;
    bh_table *table = NULL;
    batch all;
    uint64_t refused = 0;
    (void)state;

    if (test_on_gpu()) {
        return; // it is the host's memory that is refused here
    }
    all = numbered(widths, 0, n);
    watched_start(&watched);
    watching = context_new(2, NULL, &watched.system);
    table = table_with(watching, &options);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    watched_refuse(&watched, WATCH_ALL_FAULTS, 1, true);
    for (uint64_t first = 0; first < n - 200; first += 50) {
        check_status(bh_erase(table, (uint64_t *)all.keys + first, 50, NULL), BH_OK);
    }
    refused = watched_allow(&watched);
    check(refused < 60, "%llu requests", (unsigned long long)refused);
    check_holds(table, widths, n - 200, n, 0);
    // It shrinks when there is memory again and more keys have gone.
    check_status(bh_erase(table, (uint64_t *)all.keys + n - 200, 150, NULL), BH_OK);
    check_holds(table, widths, n - 50, n, 0);
    check(table_stats(table).shrinks == 1, "it shrank %llu times",
          (unsigned long long)table_stats(table).shrinks);
    batch_free(&all);
    bh_table_destroy(table);
    bh_context_destroy(watching);
    watched_end(&watched);
}

/* Runs of equal keys about as long as those that a GPU performs by blocks of threads, of keys that are there and of others: each
 * operation does what its elements would do one after the other. */
static void long_runs(void **state)
{
    static const uint32_t lengths[] = {
        1, 2, BH_HF_LONG_RUN - 1, BH_HF_LONG_RUN, BH_HF_LONG_RUN + 1, 2 * BH_HF_LONG_RUN + 9, 3000};
    enum { LENGTHS = TEST_COUNT(lengths) };

    (void)state;
    for (int op = 0; op < 2 * BATCH_OPS; op++) {
        const test_widths widths = {op % 2 ? 8 : 4, op % 2 ? 8 : 4};
        const bh_table_options options = fight_options(widths, 100);
        bh_table *table = table_with(context, &options);
        batch call, keys = batch_new(widths.key_bytes, widths.value_bytes, 2 * LENGTHS);
        uint32_t left[2 * LENGTHS], all = 0, at = 0;
        model *map = model_new();

        for (uint32_t k = 0; k < 2 * LENGTHS; k++) {
            left[k] = lengths[k / 2];
            all += left[k];
            batch_set(&keys, k, random_key(widths.key_bytes, 11, k), 1000 + k);
        }
        /* Every second key is there. */
        for (uint32_t k = 0; k < 2 * LENGTHS; k += 2) {
            uint64_t value = 1000 + k;

            batch_set(&keys, k / 2, random_key(widths.key_bytes, 11, k), value);
            (void)model_apply(map, BH_INSERT, widths.value_bytes, batch_key(&keys, k / 2), &value);
        }
        keys.n = LENGTHS;
        check_status(batch_call(table, BH_INSERT, &keys), BH_OK);
        keys.n = 2 * LENGTHS;
        call = batch_new(widths.key_bytes, widths.value_bytes, all);
        while (at < all) {
            const uint32_t k = (uint32_t)(random_mix64(at + left[0]) % (2 * LENGTHS));
            uint32_t next = k;

            while (!left[next])
                next = (next + 1) % (2 * LENGTHS);
            left[next]--;
            batch_set(&call, at, random_key(widths.key_bytes, 11, next), random_mix64(at));
            at++;
        }
        {
            uint64_t *const given = test_allocate(all * sizeof *given);

            for (at = 0; at < all; at++)
                given[at] = batch_value(&call, at);
            check_status(batch_call(table, op / 2, &call), BH_OK);
            for (at = 0; at < all; at++) {
                const bh_outcome outcome = model_apply(map, (bh_op)(op / 2), widths.value_bytes,
                                                       batch_key(&call, at), &given[at]);

                check(call.outcomes[at] == (uint8_t)outcome, "operation %d, element %u: %u, not %u",
                      op / 2, at, call.outcomes[at], outcome);
                check(!batch_reads(op / 2) || outcome != BH_FOUND ||
                          batch_value(&call, at) == given[at],
                      "operation %d, element %u: the value is wrong", op / 2, at);
            }
            free(given);
        }
        for (uint32_t k = 0; k < 2 * LENGTHS; k++)
            batch_set(&keys, k, random_key(widths.key_bytes, 11, k), 0);
        check_status(batch_call(table, BH_FIND, &keys), BH_OK);
        for (uint32_t k = 0; k < 2 * LENGTHS; k++) {
            uint64_t value = 0;
            const bool there = model_get(map, batch_key(&keys, k), &value);

            check(keys.outcomes[k] == (there ? BH_FOUND : BH_MISSING) &&
                      batch_value(&keys, k) == value,
                  "operation %d, key %u: %u, value %llu, not %llu", op / 2, k, keys.outcomes[k],
                  (unsigned long long)batch_value(&keys, k), (unsigned long long)value);
        }
        check(table_stats(table).keys == model_count(map), "%llu keys",
              (unsigned long long)table_stats(table).keys);
        model_free(map);
        batch_free(&call);
        batch_free(&keys);
        bh_table_destroy(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_builds),
        cmocka_unit_test(large_builds),
        cmocka_unit_test(regions_of_a_gpu),
        cmocka_unit_test(crowded_keys),
        cmocka_unit_test(long_tails),
        cmocka_unit_test(small_keys),
        cmocka_unit_test(halves_of_tables),
        cmocka_unit_test(generations),
        cmocka_unit_test(nothing_moves_for_nothing),
        cmocka_unit_test(turnover),
        cmocka_unit_test(clear_keeps_the_largest_block),
        cmocka_unit_test(reserved_room_stays),
        cmocka_unit_test(erased_room_counts),
        cmocka_unit_test(compact_after_repeats),
        cmocka_unit_test(export_across_moves),
        cmocka_unit_test(many_lookups),
        cmocka_unit_test(lookups_by_region),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(peak_of_a_build),
        cmocka_unit_test(budgets),
        cmocka_unit_test(a_spare_block_is_no_hindrance),
        cmocka_unit_test(capacity_in_a_budget),
        cmocka_unit_test(reserved_little_by_little),
        cmocka_unit_test(smallest_budgets),
        cmocka_unit_test(refused_requests),
        cmocka_unit_test(as_many_generations_as_can_be),
        cmocka_unit_test(shrinking_is_not_tried_for_ever),
        cmocka_unit_test(long_runs),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, hashfight_start, hashfight_end));
}
