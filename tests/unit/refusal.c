/* ctest: every target */
/* ctest: every device */
/*
 * Keys that find no place, in tables that may not grow: what searching for them costs is counted in
 * looks at buckets, hold by hold of the gate and altogether; no key is refused as long as the table
 * holds fewer than the header promises; what can be done is done.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "tables/dycuckoo/layout.h"
#include "tables/table.h"

/* The place passes of a table, whose backend's `pass` is replaced meanwhile. */
typedef struct watched {
    bh__backend *backend;
    int (*pass)(const bh__backend *, const bh_table *, uint32_t, void *, uint64_t, uint64_t,
                bh__need);
    uint64_t longest; /* looks of the pass that made most, as layout.h counts them */
    uint64_t vain;    /* looks of searches in vain, while every key should find a place */
    uint64_t beyond;  /* looks of all searches beyond that */
} watched;

static watched watch;

static int watched_pass(const bh__backend *backend, const bh_table *table, uint32_t pass,
                        void *argument, uint64_t items, uint64_t grain, bh__need need)
{
    bh__slice *slice = pass == BH_DY_PASS_PLACE ? argument : NULL;
    const bool sure = table->keys < table->sure_keys;
    const uint64_t before = slice != NULL ? slice->looks : 0;
    const uint64_t listed = slice != NULL ? slice->listed : 0;
    const int ran = watch.pass(backend, table, pass, argument, items, grain, need);

    if (slice != NULL) {
        const uint64_t looks = before - slice->looks;
        const uint64_t hold = looks + listed * BH_DY_PLACE_LOOKS;
        watch.longest = hold > watch.longest ? hold : watch.longest;
        watch.vain += sure ? slice->vain : 0;
        watch.beyond += sure ? 0 : looks;
    }
    return ran;
}

static void watch_start(const bh_table *table)
{
    memset(&watch, 0, sizeof watch);
    watch.backend = (bh__backend *)(uintptr_t)table->backend;
    watch.pass = watch.backend->pass;
    watch.backend->pass = watched_pass;
}

static void watch_end(void)
{
    watch.backend->pass = watch.pass;
}

static bh_context *context;

static int refusal_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int refusal_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* In tables of fewer slots, chance alone may leave a key without a place. */
#define CHANCE_SLOTS 4000

/* Up to which fill the header promises every key a place. */
static double promised_fill(test_widths widths, double max_fill, bool even)
{
    const uint32_t slots = BH_DY_SLOTS(widths.key_bytes, widths.value_bytes, 0);
    const double most = (slots <= 3 ? 0.93 : slots <= 4 ? 0.95 : 0.97) * (even ? 1 : 0.95);
    return max_fill < most ? max_fill : most;
}

/* A table for `capacity` keys whose budget is what that takes, and `doublings` of its four subtables
 * once more. */
static bh_table *budgeted(test_widths widths, double max_fill, bh_duplicates duplicates,
                          uint64_t capacity, uint32_t doublings)
{
    uint64_t bytes = 0;
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, capacity);
    bh_table *table = NULL;

    options.max_fill = max_fill;
    options.min_fill = -1;
    options.duplicates = duplicates;
    options.seed = test_seed();
    options.seed_fixed = 1;
    table = table_with(context, &options);
    bytes = table_stats(table).bytes_total;
    options.max_host_bytes = options.max_device_bytes = bytes + bytes / 4 * doublings;
    bh_table_destroy(table);
    return table_with(context, &options);
}

/* After a call that inserted the batch: what was done is there, what was not is not, and it was not
 * for want of trying. Answers how many keys were refused. */
static uint64_t check_call(bh_table *table, test_widths widths, double max_fill, bool even,
                           batch *all, bh_status status)
{
    const uint64_t refused = batch_count(all, BH_NOT_DONE);
    const bh_table_stats stats = table_stats(table);
    const double promised = promised_fill(widths, max_fill, even) * (double)stats.slots;
    uint8_t *outcomes = test_allocate(all->n);

    check(status == (refused > 0 ? BH_ERR_FULL : BH_OK), "%s with %llu refused",
          bh_status_name(status), (unsigned long long)refused);
    check(refused + batch_count(all, BH_INSERTED) + batch_count(all, BH_ASSIGNED) == all->n,
          "an outcome that insert does not have");
    check(refused == 0 || stats.slots < CHANCE_SLOTS || (double)stats.keys >= promised - 1,
          "%u+%u bytes, max_fill %g: refused with %llu keys in %llu slots", widths.key_bytes,
          widths.value_bytes, max_fill, (unsigned long long)stats.keys,
          (unsigned long long)stats.slots);
    check(stats.keys == all->n - refused, "%llu keys, %llu were done",
          (unsigned long long)stats.keys, (unsigned long long)(all->n - refused));
    memcpy(outcomes, all->outcomes, all->n);
    check_status(batch_call(table, BH_FIND, all), BH_OK);
    for (uint64_t i = 0; i < all->n; i++) {
        check(all->outcomes[i] == (outcomes[i] == BH_NOT_DONE ? BH_MISSING : BH_FOUND),
              "element %llu had outcome %u, now it has %u", (unsigned long long)i, outcomes[i],
              all->outcomes[i]);
    }
    memcpy(all->outcomes, outcomes, all->n);
    free(outcomes);
    return refused;
}

/*
 * More keys than a table has slots for, in one call, in the same call once more, and in calls
 * between which a key is erased: what insertions and erasures have earned is all that is spent.
 */
static void check_refusals(test_widths widths, double max_fill, bh_duplicates duplicates,
                           uint32_t doublings)
{
    const uint64_t rounds = 8;
    bh_table *table = budgeted(widths, max_fill, duplicates, test_scaled(6000), doublings);
    // More than the slots that its budget could pay for.
    const uint64_t n = table->options.max_host_bytes /
                       BH_DY_BUCKET(widths.key_bytes, widths.value_bytes, 0) * 5 / 4 *
                       BH_DY_SLOTS(widths.key_bytes, widths.value_bytes, 0);
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);
    uint64_t erased = 0;
    uint64_t earned = 2 * n; // half a look for each slot, whenever it grows

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, test_seed(), i), i);
    }
    watch_start(table);
    for (uint64_t round = 0; round < rounds; round++) {
        const bh_status status = batch_call(table, BH_INSERT, &all);
        earned += batch_count(&all, BH_INSERTED) * BH_LOOKS_OF_INSERT;
        check(check_call(table, widths, max_fill, doublings == 0, &all, status) > 0,
              "max_fill %g: nothing was refused", max_fill);
        if (round > 0) {
            while (all.outcomes[erased] == BH_NOT_DONE) {
                erased++;
            }
            batch one = batch_new(widths.key_bytes, widths.value_bytes, 1);
            batch_set(&one, 0, batch_key(&all, erased++), 0);
            check_status(batch_call(table, BH_ERASE, &one), BH_OK);
            batch_check_all(&one, BH_ERASED);
            batch_free(&one);
            earned += BH_LOOKS_OF_ERASE;
        }
    }
    check(watch.longest <= BH_DY_HOLD_MOST, "one hold looked at %llu buckets",
          (unsigned long long)watch.longest);
    check(watch.vain <= (table_stats(table).slots < CHANCE_SLOTS ? BH_DY_HOLD_MOST * rounds : 0),
          "%u+%u bytes, max_fill %g: searches looked at %llu buckets in vain", widths.key_bytes,
          widths.value_bytes, max_fill, (unsigned long long)watch.vain);
    // A search is finished that was begun within what is left; so is one of each slice.
    check(watch.beyond <= earned + BH_DY_SEARCH_LOOKS,
          "%u+%u bytes, max_fill %g: searches looked at %llu buckets, %llu were earned",
          widths.key_bytes, widths.value_bytes, max_fill, (unsigned long long)watch.beyond,
          (unsigned long long)earned);
    watch_end();
    bh_table_destroy(table);
    batch_free(&all);
}

static void refused_keys(void **state)
{
    static const double fills[] = {0.5, 0.84, 0.85, 0.9, 0.93, 0.95, 0.97};
    (void)state;
    for (size_t f = 0; f < TEST_COUNT(fills); f += TEST_SANITIZER ? 3 : 1) {
        for (int i = 0; i < TEST_WIDTHS; i++) {
            check_refusals(test_all_widths[i], fills[f], BH_DUPLICATES_ANY, 0);
            check_refusals(test_all_widths[i], fills[f], BH_DUPLICATES_ORDERED, 0);
            check_refusals(test_all_widths[i], fills[f], BH_DUPLICATES_ANY, 1 + (uint32_t)i % 3);
        }
    }
}

/* One key at a time at the highest fill: each call is refused or does what it says, and the table
 * never holds fewer keys than it may promise places for. */
static void calls_of_one(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_WIDTHS; i++) {
        const test_widths widths = test_all_widths[i];
        bh_table *table = budgeted(widths, 0.97, BH_DUPLICATES_ANY, 1000, 0);
        const uint64_t n = 2 * table_stats(table).slots;
        uint64_t refused = 0;
        batch one = batch_new(widths.key_bytes, widths.value_bytes, 1);

        for (uint64_t k = 0; k < n; k++) {
            batch_set(&one, 0, random_key(widths.key_bytes, test_seed() + 1, k), k);
            const bh_status status = batch_call(table, BH_INSERT, &one);
            check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
            check(one.outcomes[0] == (status == BH_OK ? BH_INSERTED : BH_NOT_DONE),
                  "%s with outcome %u", bh_status_name(status), one.outcomes[0]);
            refused += status == BH_ERR_FULL;
        }
        check(table_stats(table).keys == n - refused, "%llu keys, %llu were done",
              (unsigned long long)table_stats(table).keys, (unsigned long long)(n - refused));
        check(refused > 0, "%llu keys went into %llu slots", (unsigned long long)n,
              (unsigned long long)n / 2);
        check((double)table_stats(table).keys >=
                  promised_fill(widths, 0.97, true) * (double)table_stats(table).slots - 1,
              "full at %llu keys in %llu slots", (unsigned long long)table_stats(table).keys,
              (unsigned long long)table_stats(table).slots);
        batch_free(&one);
        bh_table_destroy(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_keys),
        cmocka_unit_test(calls_of_one),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, refusal_start, refusal_end));
}
