/* ctest: every design */
/*
 * Stripes (src/tables/counts.h): which tables get them, and that counts that lie in stripes are neither lost nor
 * hidden: the number of keys is exact, a table takes as many keys as it may have before it refuses one, and it
 * shrinks when it has few.
 *
 * HashFight performs its calls itself, so its tables have none; here it runs the tests of threads alone.
 */
#include <stdatomic.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"
#include "tables/counts.h"

enum { THREADS = 4, CROWD = 16, KEYS = 12000 };

static bh_context *context;

static int stripes_start(void **state)
{
    (void)state;
    context = context_new(1, NULL, NULL);
    return 0;
}

static int stripes_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

static bool may_have_stripes(const bh_table *table)
{
    return table->policy->perform == NULL && table->backend->has_barrier;
}

/* Threads that change one table, each the keys of its own part, in calls of 1 to `most` keys. */
typedef struct work {
    bh_table *table;
    int operation;
    uint64_t first; /* of the keys of all threads */
    uint64_t keys;  /* of each thread */
    uint64_t most;
    bool may_be_full;
    atomic_uint_fast64_t done; /* elements that were not refused */
} work;

static void call_often(void *argument, uint32_t thread)
{
    work *w = argument;
    rng random = random_start(test_seed() + thread);
    uint64_t at = 0;

    while (at < w->keys) {
        const uint64_t left = w->keys - at;
        const uint64_t n = 1 + random_below(&random, left < w->most ? left : w->most);
        batch all = batch_new(4, 4, n);
        bh_status status;

        for (uint64_t i = 0; i < n; i++) {
            const uint64_t key = w->first + thread * w->keys + at + i;
            batch_set(&all, i, key, key + 1);
            all.ops[i] = BH_FIND;
        }
        status = batch_call(w->table, w->operation, &all);
        check(status == BH_OK || (w->may_be_full && status == BH_ERR_FULL), "a call answers %d",
              status);
        for (uint64_t i = 0; i < n; i++) {
            atomic_fetch_add(&w->done, all.outcomes[i] != BH_NOT_DONE);
        }
        batch_free(&all);
        at += n;
    }
}

static uint64_t run(bh_table *table, int operation, uint64_t first, uint64_t keys, uint64_t most,
                    bool may_be_full, uint32_t threads)
{
    work w = {table, operation, first, keys, most, may_be_full, 0};

    atomic_init(&w.done, 0);
    threads_run(threads, call_often, &w);
    return atomic_load(&w.done);
}

/* Two threads change the table in turn until it has stripes, and leave it as it was. (Threads that run at the same time do so too, but not on
 * one processor.) */
static void take_turns(bh_table *table)
{
    enum { TURNS = 80 };
    const uint64_t key = 1u << 30;

    for (int i = 0; i < TURNS; i++) {
        batch one = batch_new(4, 4, 1);
        batch_set(&one, 0, key, 1);
        check_status(batch_call(table, BH_INSERT, &one), BH_OK);
        batch_free(&one);
        check(run(table, BH_ERASE, key, 1, 1, false, 1) == 1, "a key was not erased");
    }
    check((table->stripes_kept != NULL) == may_have_stripes(table), "there are %s stripes",
          table->stripes_kept != NULL ? "" : "no");
}

static void check_keys(const bh_table *table, uint64_t keys)
{
    check(table_stats(table).keys == keys, "the table counts %llu keys of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)keys);
    table_check_stats(table);
}

/* Threads that take turns bring a table stripes, one thread does not. With and without them the counts are right, also where the
 * threads have come to an end, and where others come after them. */
static void counts_are_exact(void **state)
{
    const uint64_t keys = test_scaled(KEYS);
    bh_table *one = table_new(context, 4, 4, 1), *many = table_new(context, 4, 4, 1);

    (void)state;
    (void)run(one, BH_INSERT, 0, keys, 20, false, 1);
    check(one->stripes_kept == NULL, "a table that one thread changes has stripes");
    check_keys(one, keys);

    take_turns(many);
    check_keys(many, 0);
    (void)run(many, BH_INSERT, 0, keys, 20, false, THREADS);
    check_keys(many, THREADS * keys);
    (void)run(many, BH_INSERT, 0, keys, 20, false, THREADS); // they are there
    check_keys(many, THREADS * keys);
    (void)run(many, BH_ERASE, keys, keys, 7, false, THREADS); // the last part is not there
    check_keys(many, keys);
    // One thread alone, which is favoured soon.
    (void)run(many, BH_INSERT, keys, keys, 50, false, 1);
    check_keys(many, 2 * keys);
    check_status(bh_clear(many), BH_OK);
    check_keys(many, 0);
    (void)run(many, BATCH_APPLY, 0, keys, 3, false, THREADS); // lookups
    check_keys(many, 0);
    bh_table_destroy(one);
    bh_table_destroy(many);
}

/* A stripe counts no more than it may, whatever the calls are; and in a small table, nothing. */
static void stripes_stay_small(void **state)
{
    static const uint64_t capacities[] = {100, 1 << 20};
    rng random = random_start(test_seed());

    (void)state;
    for (size_t c = 0; c < TEST_COUNT(capacities); c++) {
        bh_table *table = table_new(context, 4, 4, capacities[c]);

        take_turns(table);
        check(!may_have_stripes(table) || (table->stripe_most == 0) == (c == 0),
              "%llu slots, %u at most", (unsigned long long)table->slots, table->stripe_most);
        for (uint64_t i = 0; i < test_scaled(400) && may_have_stripes(table); i++) {
            const uint64_t n = 1 + random_below(&random, 20);
            const uint64_t first = 20 * random_below(&random, 3);
            bh__stripe *stripe = bh__stripe_of(table, 0);
            const uint64_t before = stripe->keys, erased = stripe->erases;
            const uint64_t all = bh__keys_summed(table);
            batch part = batch_new(4, 4, n);
            uint64_t change = 0;

            for (uint64_t k = 0; k < n; k++) {
                batch_set(&part, k, first + k, k);
            }
            check_status(batch_call(table, i % 3 == 2 ? BH_ERASE : BH_INSERT, &part), BH_OK);
            for (uint64_t k = 0; k < n; k++) {
                change += part.outcomes[k] == BH_INSERTED;
                change -= part.outcomes[k] == BH_ERASED;
            }
            batch_free(&part);
            check(bh__keys_summed(table) == all + change, "keys are counted wrong");
            check(stripe->keys + table->stripe_most <= 2ull * table->stripe_most &&
                      stripe->erases <= table->stripe_most,
                  "a stripe has counted %lld keys, before %lld, and %llu erasures, before %llu",
                  (long long)stripe->keys, (long long)before, (unsigned long long)stripe->erases,
                  (unsigned long long)erased);
        }
        check(bh__keys_summed(table) == table_stats(table).keys, "keys are counted wrong");
        bh_table_destroy(table);
    }
}

/* A table that may not grow: no room is left in the stripes of some threads when others are refused. */
static void no_room_is_hidden(void **state)
{
    const uint64_t keys = test_scaled(KEYS);
    bh_table_options options = table_options(4, 4, THREADS * keys / 2);
    bh_table *table = table_with(context, &options);
    uint64_t done, since, room, there;
    bool is_sure;

    (void)state;
    options.max_host_bytes = table_stats(table).bytes_total;
    bh_table_destroy(table);
    table = table_with(context, &options);
    take_turns(table);
    // Keys come and go until the stripes have room.
    for (int i = 0; i < 3; i++) {
        (void)run(table, BH_INSERT, 0, keys / 4, 5, true, THREADS);
        (void)run(table, BH_ERASE, 0, keys / 4, 5, true, THREADS);
    }
    check_keys(table, 0);
    done = run(table, BH_INSERT, 0, keys, 30, true, THREADS);
    check(done < THREADS * keys, "the table has no limit");
    check_keys(table, done);
    since = bh__enter_alone(table);
    room = table->room;
    there = table->keys;
    is_sure = there < table->sure_keys;
    bh__leave_alone(table, since);
    check(there == done, "%llu keys instead of %llu", (unsigned long long)there,
          (unsigned long long)done);
    check(!may_have_stripes(table) || room == 0 || !is_sure,
          "keys are refused, and there is room for %llu", (unsigned long long)room);
    bh_table_destroy(table);
}

/* A table that may not grow, as full as it may be: each thread erases some of its keys, and inserts as many. Others take room meanwhile that they
 * do not need. No key is refused. (On 16 processors keys soon are where a slice does not run again often enough.) */
typedef struct shift {
    bh_table *table;
    uint64_t keys; /* of each thread */
    uint64_t rounds;
} shift;

static void call_keys(bh_table *table, int operation, uint64_t first, uint64_t n,
                      bh_outcome all_are)
{
    batch all = batch_new(4, 4, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, first + i, i);
    }
    check_status(batch_call(table, operation, &all), BH_OK);
    batch_check_all(&all, all_are);
    batch_free(&all);
}

static void come_and_go(void *argument, uint32_t thread)
{
    const shift *s = argument;
    const uint64_t base = (uint64_t)thread << 24;
    rng random = random_start(test_seed() + thread);
    uint64_t first = 0; // its keys are [first, first + keys)

    for (uint64_t r = 0; r < s->rounds; r++) {
        const uint64_t n = 1 + random_below(&random, 3);
        const uint64_t some = 1 + random_below(&random, 12);
        call_keys(s->table, BH_ERASE, base + first, n, BH_ERASED);
        first += n;
        call_keys(s->table, BH_INSERT, base + first, some, BH_ASSIGNED);
        call_keys(s->table, BH_INSERT, base + first - n + s->keys, n, BH_INSERTED);
    }
}

static void no_key_is_refused(void **state)
{
    bh_table_options options = table_options(4, 4, 1200);
    bh_table *table = table_with(context, &options);
    shift s = {NULL, 0, test_scaled(4000)};

    (void)state;
    if (may_have_stripes(table)) {
        options.max_host_bytes = table_stats(table).bytes_total;
        bh_table_destroy(table);
        table = table_with(context, &options);
        s.table = table;
        s.keys = table_stats(table).max_keys / CROWD;
        for (uint64_t t = 0; t < CROWD; t++) {
            call_keys(table, BH_INSERT, t << 24, s.keys, BH_INSERTED);
        }
        call_keys(table, BH_INSERT, 1u << 30, table_stats(table).max_keys % CROWD, BH_INSERTED);
        threads_run(CROWD, come_and_go, &s);
        check(table_stats(table).grows == 0, "the table has grown");
        check_keys(table, table_stats(table).max_keys);
    }
    bh_table_destroy(table);
}

/* When threads have erased so many keys in small calls that the table should shrink, it does, though no stripe alone shows it. */
static void few_keys_shrink(void **state)
{
    const uint64_t keys = test_scaled(KEYS);
    bh_table *table = table_new(context, 4, 4, 1);
    uint64_t slots, shrinks, gone = 0;

    (void)state;
    take_turns(table);
    (void)run(table, BH_INSERT, 0, keys, 40, false, THREADS);
    slots = table_stats(table).slots;
    shrinks = table_stats(table).shrinks;
    if (may_have_stripes(table)) {
        gone = THREADS * keys - table->min_keys - 20;
        (void)run(table, BH_ERASE, 0, gone, 9, false, 1);
        check(table_stats(table).shrinks == shrinks, "the table has shrunk too soon");
        take_turns(table); // the table is biased to the thread that erased
        for (int i = 0; i < 10; i++, gone += THREADS) {
            (void)run(table, BH_ERASE, gone, 1, 1, false, THREADS);
            check(bh__keys_summed(table) >= table->min_keys,
                  "%llu keys, and the table is made for %llu",
                  (unsigned long long)bh__keys_summed(table), (unsigned long long)table->min_keys);
        }
        check(table_stats(table).shrinks > shrinks, "the table has not shrunk");
    }
    (void)run(table, BH_ERASE, gone, keys - gone / THREADS - 25, 9, false, THREADS);
    check(!may_have_stripes(table) ||
              (table_stats(table).slots < slots && bh__keys_summed(table) >= table->min_keys),
          "the table has not shrunk enough");
    table_check_stats(table);
    bh_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_are_exact, stripes_start, stripes_end),
        cmocka_unit_test_setup_teardown(stripes_stay_small, stripes_start, stripes_end),
        cmocka_unit_test_setup_teardown(no_room_is_hidden, stripes_start, stripes_end),
        cmocka_unit_test_setup_teardown(no_key_is_refused, stripes_start, stripes_end),
        cmocka_unit_test_setup_teardown(few_keys_shrink, stripes_start, stripes_end),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
