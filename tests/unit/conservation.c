/* ctest: every design */
/* ctest: every target */
/* ctest: real device */
/*
 * Nothing lost, nothing doubled: several threads work on one table at once, and afterwards the
 * books must balance. The accounts are kept by each thread from the outcomes that it was given, so
 * every outcome that lies is found as well.
 *
 * Few keys make the threads meet on one key and one bucket; many keys make the table grow under
 * them, from capacity 1. Values tell which key they were written for, so a pair that is torn, or
 * belongs to another key, is seen at once by whoever reads it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"
#include "tables/table.h"

static bh_context *context;

static int conservation_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int conservation_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* What all threads of one test share. `total` has one account per key and thread, so that the
 * accounts themselves need no synchronisation. */
typedef struct scene {
    bh_table *table;
    test_widths widths;
    uint64_t keys;    // how many keys there are
    uint64_t rounds;  // batches of each thread
    uint64_t largest; // batch
    uint64_t seed;
    uint32_t threads;
    int64_t *total;
    uint64_t *read;               // of each thread and key: what bh_find_or_insert() answered
    atomic_uint_fast64_t running; // writers that have not ended
} scene;

static const uint32_t thread_counts[] = {2, 4, 8};
static const uint64_t key_counts[] = {1, 8, 64, 100000};

static scene scene_new(test_widths widths, uint32_t threads, uint64_t keys, uint64_t elements,
                       uint64_t seed)
{
    scene s;

    memset(&s, 0, sizeof s);
    s.widths = widths;
    s.threads = threads;
    s.keys = keys > 1000 ? test_scaled(keys) : keys;
    s.largest = 2000;
    s.rounds = test_scaled(elements) / threads / (s.largest / 2) + 1;
    s.seed = seed;
    s.total = test_allocate(s.keys * threads * sizeof *s.total);
    memset(s.total, 0, s.keys * threads * sizeof *s.total);
    s.read = test_allocate(s.keys * threads * sizeof *s.read);
    memset(s.read, 0, s.keys * threads * sizeof *s.read);
    atomic_init(&s.running, threads);
    s.table = table_new(context, widths.key_bytes, widths.value_bytes, 1);
    return s;
}

static void scene_free(scene *s)
{
    bh_table_destroy(s->table);
    free(s->total);
    free(s->read);
}

static uint64_t scene_key(const scene *s, uint64_t k)
{
    return random_key(s->widths.key_bytes, 100, k);
}

static int64_t *scene_account(const scene *s, uint32_t thread, uint64_t k)
{
    return &s->total[thread * s->keys + k];
}

static int64_t scene_sum(const scene *s, uint64_t k)
{
    int64_t sum = 0;
    for (uint32_t t = 0; t < s->threads; t++) {
        sum += *scene_account(s, t, k);
    }
    return sum;
}

static uint64_t stamped(const scene *s, uint64_t key, uint64_t nonce)
{
    return batch_stamp(s->widths.value_bytes, key, nonce);
}

static bool is_stamped(const scene *s, uint64_t key, uint64_t value)
{
    return batch_is_stamp(s->widths.value_bytes, key, value);
}

/* Fails unless the table holds exactly the keys whose accounts say 1, and no other account than
 * 0 or 1 is possible. */
static void check_existence(scene *s)
{
    batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes, s->keys);
    pairs content = table_pairs(s->table, s->widths.key_bytes, s->widths.value_bytes, 5000);
    uint64_t present = 0;

    for (uint64_t k = 0; k < s->keys; k++) {
        batch_set(&all, k, scene_key(s, k), 0);
    }
    check_status(batch_call(s->table, BH_FIND, &all), BH_OK);
    for (uint64_t k = 0; k < s->keys; k++) {
        int64_t sum = scene_sum(s, k);
        check(sum == 0 || sum == 1, "key %llu: INSERTED minus ERASED is %lld",
              (unsigned long long)k, (long long)sum);
        check(all.outcomes[k] == (sum == 1 ? BH_FOUND : BH_MISSING),
              "key %llu: INSERTED minus ERASED is %lld, but find answers %u", (unsigned long long)k,
              (long long)sum, all.outcomes[k]);
        present += sum == 1;
    }
    check(content.count == present, "export gives %llu keys, the accounts %llu",
          (unsigned long long)content.count, (unsigned long long)present);
    pairs_free(&content);
    batch_free(&all);
}

/* --- sums -------------------------------------------------------------------------------- */

static void add_ones(void *argument, uint32_t thread)
{
    scene *s = argument;
    rng random = random_start(s->seed * 31 + thread);

    for (uint64_t r = 0; r < s->rounds; r++) {
        batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes,
                              r % 8 == 0 ? 1 : 1 + random_below(&random, s->largest));
        for (uint64_t i = 0; i < all.n; i++) {
            uint64_t k = random_below(&random, s->keys);
            batch_set(&all, i, scene_key(s, k), 1);
            *scene_account(s, thread, k) += 1;
        }
        check_status(batch_call(s->table, BH_ADD, &all), BH_OK);
        check(batch_count(&all, BH_INSERTED) + batch_count(&all, BH_ASSIGNED) == all.n,
              "an outcome of bh_reduce that is none");
        batch_free(&all);
    }
}

/* Every element of every thread is counted exactly once. */
static void sums_are_exact(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t t = 0; t < TEST_COUNT(thread_counts); t++) {
            for (size_t k = 0; k < TEST_COUNT(key_counts); k++) {
                scene s;
                if (test_all_widths[w].value_bytes == 0) {
                    continue;
                }
                s = scene_new(test_all_widths[w], thread_counts[t], key_counts[k], 150000,
                              test_seed() + t * 10 + k);
                threads_run(s.threads, add_ones, &s);
                pairs content =
                    table_pairs(s.table, s.widths.key_bytes, s.widths.value_bytes, 5000);
                batch all = batch_new(s.widths.key_bytes, s.widths.value_bytes, s.keys);
                uint64_t used = 0;
                for (uint64_t i = 0; i < s.keys; i++) {
                    batch_set(&all, i, scene_key(&s, i), 0);
                    used += scene_sum(&s, i) > 0;
                }
                check_status(batch_call(s.table, BH_FIND, &all), BH_OK);
                for (uint64_t i = 0; i < s.keys; i++) {
                    check(batch_value(&all, i) == (uint64_t)scene_sum(&s, i),
                          "key %llu counts %llu of %lld (%u threads, %llu keys)",
                          (unsigned long long)i, (unsigned long long)batch_value(&all, i),
                          (long long)scene_sum(&s, i), s.threads, (unsigned long long)s.keys);
                }
                check(content.count == used, "%llu keys instead of %llu",
                      (unsigned long long)content.count, (unsigned long long)used);
                pairs_free(&content);
                batch_free(&all);
                scene_free(&s);
            }
        }
    }
}

/* --- coming and going -------------------------------------------------------------------- */

static void churn(void *argument, uint32_t thread)
{
    scene *s = argument;
    rng random = random_start(s->seed * 77 + thread);

    for (uint64_t r = 0; r < s->rounds; r++) {
        static const int operations[] = {BH_INSERT, BH_ERASE,         BH_INSERT_NEW, BH_FIND,
                                         BH_UPDATE, BH_ERASE,         BATCH_APPLY,   BATCH_APPLY,
                                         BH_ERASE,  BH_FIND_OR_INSERT};
        int operation = operations[random_below(&random, TEST_COUNT(operations))];
        batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes,
                              r % 8 == 0 ? 1 : 1 + random_below(&random, s->largest));
        uint64_t *owner = test_allocate(all.n * sizeof *owner);

        for (uint64_t i = 0; i < all.n; i++) {
            uint64_t k = random_below(&random, s->keys);
            owner[i] = k;
            batch_set(&all, i, scene_key(s, k), stamped(s, scene_key(s, k), random_next(&random)));
            all.ops[i] = (uint8_t)batch_draw_op(&random, 0); // no sums: values are stamps
        }
        check_status(batch_call(s->table, operation, &all), BH_OK);
        for (uint64_t i = 0; i < all.n; i++) {
            bh_op op = operation == BATCH_APPLY ? (bh_op)all.ops[i] : (bh_op)operation;
            uint8_t outcome = all.outcomes[i];
            check(batch_outcome_fits(op, outcome), "%s answered %u", batch_operation_name((int)op),
                  outcome);
            // What is read was written for this key, whole, by someone.
            check(!batch_reads((int)op) || is_stamped(s, batch_key(&all, i), batch_value(&all, i)),
                  "key %#llx has value %#llx, which nobody wrote for it",
                  (unsigned long long)batch_key(&all, i), (unsigned long long)batch_value(&all, i));
            *scene_account(s, thread, owner[i]) += outcome == BH_INSERTED;
            *scene_account(s, thread, owner[i]) -= outcome == BH_ERASED;
        }
        free(owner);
        batch_free(&all);
    }
    atomic_fetch_sub(&s->running, 1);
}

static void check_stamps(scene *s)
{
    pairs content = table_pairs(s->table, s->widths.key_bytes, s->widths.value_bytes, 3000);
    for (uint64_t i = 0; i < content.count; i++) {
        check(is_stamped(s, content.keys[i], content.values[i]),
              "key %#llx has value %#llx, which nobody wrote for it",
              (unsigned long long)content.keys[i], (unsigned long long)content.values[i]);
    }
    pairs_free(&content);
}

/* For every key, INSERTED minus ERASED over all threads is its existence at the end. */
static void insertions_and_erasures_balance(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t t = 0; t < TEST_COUNT(thread_counts); t++) {
            for (size_t k = 0; k < TEST_COUNT(key_counts); k++) {
                scene s = scene_new(test_all_widths[w], thread_counts[t], key_counts[k], 120000,
                                    test_seed() + t * 10 + k);
                threads_run(s.threads, churn, &s);
                check_existence(&s);
                check_stamps(&s);
                scene_free(&s);
            }
        }
    }
}

/* --- one winner -------------------------------------------------------------------------- */

static void claim(void *argument, uint32_t thread)
{
    scene *s = argument;
    const uint64_t n = s->keys;
    batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes, n);
    uint64_t *order = test_allocate(n * sizeof *order);
    rng random = random_start(s->seed + thread);

    for (uint64_t i = 0; i < n; i++) {
        uint64_t j = random_below(&random, i + 1);
        order[i] = j < i ? order[j] : i;
        order[j] = i;
    }
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, scene_key(s, order[i]), thread + 1);
    }
    check_status(batch_call(s->table, thread % 2 == 0 ? BH_INSERT_NEW : BH_FIND_OR_INSERT, &all),
                 BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t value = batch_value(&all, i);
        check(all.outcomes[i] == BH_INSERTED || all.outcomes[i] == BH_FOUND, "outcome %u",
              all.outcomes[i]);
        *scene_account(s, thread, order[i]) += all.outcomes[i] == BH_INSERTED;
        if (thread % 2 == 1 && s->widths.value_bytes > 0) {
            // Who has won the key is known when all have ended.
            s->read[thread * n + order[i]] = value;
        }
    }
    free(order);
    batch_free(&all);
}

/* Of all threads that insert_new or find_or_insert a key one wins, its value is there, and those who find
 * the key read it. */
static void one_winner(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t t = 0; t < TEST_COUNT(thread_counts); t++) {
            for (int again = 0; again < 3; again++) {
                scene s = scene_new(test_all_widths[w], thread_counts[t], again == 0 ? 20000 : 500,
                                    1, test_seed() + t);
                threads_run(s.threads, claim, &s);
                check_existence(&s);
                batch all = batch_new(s.widths.key_bytes, s.widths.value_bytes, s.keys);
                for (uint64_t k = 0; k < s.keys; k++) {
                    batch_set(&all, k, scene_key(&s, k), 0);
                }
                check_status(batch_call(s.table, BH_FIND, &all), BH_OK);
                batch_check_all(&all, BH_FOUND);
                for (uint64_t k = 0; k < s.keys && s.widths.value_bytes > 0; k++) {
                    uint64_t winner = batch_value(&all, k);
                    check(winner >= 1 && winner <= s.threads &&
                              *scene_account(&s, (uint32_t)winner - 1, k) == 1,
                          "key %llu has the value of thread %llu, who did not insert it",
                          (unsigned long long)k, (unsigned long long)winner);
                    for (uint64_t reader = 1; reader < s.threads; reader += 2) {
                        check(s.read[reader * s.keys + k] == winner,
                              "key %llu was inserted by thread %llu, and thread %llu read %llu",
                              (unsigned long long)k, (unsigned long long)winner,
                              (unsigned long long)reader + 1,
                              (unsigned long long)s.read[reader * s.keys + k]);
                    }
                }
                batch_free(&all);
                scene_free(&s);
            }
        }
    }
}

/* --- readers beside writers -------------------------------------------------------------- */

/* Keys from `keys` on are never erased and never written again. */
enum { STABLE_KEYS = 3000 };

static void read_stable(scene *s, uint32_t thread)
{
    rng random = random_start(s->seed * 3 + thread);

    // At least some rounds, even if the writers should have ended before this thread came to run.
    for (uint64_t r = 0; r < 5 || atomic_load(&s->running) > 0; r++) {
        uint64_t n = 1 + random_below(&random, r % 4 == 0 ? STABLE_KEYS : 300);
        batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes, n);
        for (uint64_t i = 0; i < n; i++) {
            batch_set(&all, i, scene_key(s, s->keys + random_below(&random, STABLE_KEYS)), 0);
        }
        check_status(batch_call(s->table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check(all.outcomes[i] == BH_FOUND, "find missed a key that is there all the time");
            check(batch_value(&all, i) == stamped(s, batch_key(&all, i), 1),
                  "a key that nobody writes has another value");
        }
        batch_free(&all);
    }
}

static void write_or_read(void *argument, uint32_t thread)
{
    scene *s = argument;
    if (thread % 2 == 0) {
        churn(s, thread);
    } else {
        read_stable(s, thread);
    }
}

static void insert_stable(scene *s)
{
    batch stable = batch_new(s->widths.key_bytes, s->widths.value_bytes, STABLE_KEYS);
    for (uint64_t i = 0; i < STABLE_KEYS; i++) {
        uint64_t key = scene_key(s, s->keys + i);
        batch_set(&stable, i, key, stamped(s, key, 1));
    }
    check_status(batch_call(s->table, BH_INSERT, &stable), BH_OK);
    batch_free(&stable);
}

static void erase_stable(scene *s)
{
    batch stable = batch_new(s->widths.key_bytes, s->widths.value_bytes, STABLE_KEYS);
    for (uint64_t i = 0; i < STABLE_KEYS; i++) {
        batch_set(&stable, i, scene_key(s, s->keys + i), 0);
    }
    check_status(batch_call(s->table, BH_ERASE, &stable), BH_OK);
    batch_check_all(&stable, BH_ERASED);
    batch_free(&stable);
}

/* A find never misses a key that is there, whatever moves around it: other keys come, go and
 * displace it, and the table grows. */
static void readers_never_miss(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t t = 0; t < TEST_COUNT(thread_counts); t++) {
            scene s =
                scene_new(test_all_widths[w], thread_counts[t], 60000, 300000, test_seed() + t);
            atomic_init(&s.running, (s.threads + 1) / 2);
            insert_stable(&s);
            threads_run(s.threads, write_or_read, &s);
            erase_stable(&s);
            check_existence(&s);
            check_stamps(&s);
            scene_free(&s);
        }
    }
}

/* --- a table of few lines, at the brim ---------------------------------------------------- */

/* Keys that stay, and keys that come and go, in a table whose budget lets it hold only some of
 * them: everything happens in a few hundred cache lines, and residents are displaced all the
 * time. */
enum { CROWD_STABLE = 60, CROWD_BATCH = 200 };

/* What an empty table takes: a budget with which it cannot grow. */
static uint64_t table_smallest_bytes(const bh_table_options *options)
{
    bh_table *table = table_with(context, options);
    uint64_t bytes = table_stats(table).bytes_total;

    bh_table_destroy(table);
    return bytes;
}

static void crowd_write(scene *s, uint32_t thread)
{
    rng random = random_start(s->seed * 13 + thread);
    batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes, CROWD_BATCH);
    uint64_t owner[CROWD_BATCH];

    for (uint64_t r = 0; r < s->rounds; r++) {
        bh_status status = BH_OK;
        for (uint64_t i = 0; i < all.n; i++) {
            owner[i] = random_below(&random, s->keys);
            batch_set(&all, i, scene_key(s, owner[i]),
                      stamped(s, scene_key(s, owner[i]), random_next(&random)));
            all.ops[i] = random_below(&random, 4) > 0 ? BH_INSERT : BH_ERASE;
        }
        status = batch_call(s->table, BATCH_APPLY, &all);
        check(status == BH_OK || status == BH_ERR_FULL, "%s", bh_status_name(status));
        for (uint64_t i = 0; i < all.n; i++) {
            check(status == BH_ERR_FULL || all.outcomes[i] != BH_NOT_DONE, "BH_OK, but not done");
            *scene_account(s, thread, owner[i]) += all.outcomes[i] == BH_INSERTED;
            *scene_account(s, thread, owner[i]) -= all.outcomes[i] == BH_ERASED;
        }
    }
    batch_free(&all);
    atomic_fetch_sub(&s->running, 1);
}

static void crowd_read(scene *s, uint32_t thread)
{
    const uint64_t n = CROWD_STABLE * 20;
    const uint64_t stable = n / 2;
    rng random = random_start(s->seed * 17 + thread);
    batch all = batch_new(s->widths.key_bytes, s->widths.value_bytes, n);

    // The same keys again and again: a reader is to spend its time in finds, not around them.
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = i < stable ? s->keys + i % CROWD_STABLE : random_below(&random, s->keys);
        batch_set(&all, i, scene_key(s, k), 0);
    }
    while (atomic_load(&s->running) > 0) {
        check_status(batch_call(s->table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < n; i++) {
            check(i >= stable || all.outcomes[i] == BH_FOUND,
                  "find missed a key that is there all the time");
            check(all.outcomes[i] != BH_FOUND ||
                      is_stamped(s, batch_key(&all, i), batch_value(&all, i)),
                  "key %#llx has value %#llx, which nobody wrote for it",
                  (unsigned long long)batch_key(&all, i), (unsigned long long)batch_value(&all, i));
        }
    }
    batch_free(&all);
}

static void crowd_write_or_read(void *argument, uint32_t thread)
{
    scene *s = argument;
    if (thread % 2 == 0) {
        crowd_write(s, thread);
    } else {
        crowd_read(s, thread);
    }
}

/* Readers that are interrupted between two looks at a line find it wholly changed when they go on:
 * with more threads than processors that happens every few milliseconds, so many short rounds,
 * each with stable keys that have not been displaced yet, are worth more than a long one. No reader meets a change of a
 * design that performs its calls alone. */
static void crowded_lines(void **state)
{
    static const test_widths crowd_widths[] = {{4, 4}, {8, 8}, {8, 4}};
    const bool is_alone = bh__policy_of(test_design())->perform != NULL;
    (void)state;
    for (uint64_t round = 0; round < test_scaled(is_alone ? 8 : 160); round++) {
        scene s = scene_new(crowd_widths[round % TEST_COUNT(crowd_widths)], 4, 3000, 1,
                            test_seed() + round);
        bh_table_options options = table_options(s.widths.key_bytes, s.widths.value_bytes, 1);
        batch stable = batch_new(s.widths.key_bytes, s.widths.value_bytes, CROWD_STABLE);

        bh_table_destroy(s.table);
        options.max_host_bytes = options.max_device_bytes = table_smallest_bytes(&options);
        options.max_fill = 0.95;
        s.table = table_with(context, &options);
        s.rounds = TEST_SANITIZER ? 30 : 100;
        atomic_init(&s.running, 2);
        for (uint64_t i = 0; i < CROWD_STABLE; i++) {
            uint64_t key = scene_key(&s, s.keys + i);
            batch_set(&stable, i, key, stamped(&s, key, 1));
        }
        check_status(batch_call(s.table, BH_INSERT, &stable), BH_OK);
        threads_run(s.threads, crowd_write_or_read, &s);
        check_status(batch_call(s.table, BH_ERASE, &stable), BH_OK);
        batch_check_all(&stable, BH_ERASED);
        check_existence(&s);
        check_stamps(&s);
        batch_free(&stable);
        scene_free(&s);
    }
}

/* --- functions on the whole table beside batches ------------------------------------------ */

/* One instant of the table: large enough a room takes all, and all stable keys are among them. */
static void look_at_all(scene *s)
{
    const uint64_t room = s->keys + STABLE_KEYS;
    void *keys = test_allocate(room * 8);
    void *values = test_allocate(room * 8);

    for (uint64_t r = 0; r < 3 || atomic_load(&s->running) > 0; r++) {
        uint64_t cursor = 0;
        uint64_t count = 0;
        uint64_t stable = 0;
        bh_status status = BH_OK;

        check_status(bh_export(s->table, &cursor, keys, values, room, &count), BH_OK);
        uint64_t *sorted = test_allocate(count * sizeof *sorted);
        for (uint64_t i = 0; i < count; i++) {
            sorted[i] = test_load(keys, s->widths.key_bytes, i);
            check(is_stamped(s, sorted[i], test_load(values, s->widths.value_bytes, i)),
                  "export gives a pair that nobody wrote");
        }
        keys_sort(sorted, count);
        for (uint64_t i = 1; i < count; i++) {
            check(sorted[i - 1] != sorted[i], "one export gives key %#llx twice",
                  (unsigned long long)sorted[i]);
        }
        for (uint64_t i = 0; i < STABLE_KEYS; i++) {
            stable += keys_contain(sorted, count, scene_key(s, s->keys + i));
        }
        check(stable == STABLE_KEYS, "one export gives %llu of %d keys that are there all the time",
              (unsigned long long)stable, STABLE_KEYS);
        free(sorted);

        // By parts: either every part fits, or the table says that it has changed.
        cursor = 0;
        do {
            status = bh_export(s->table, &cursor, keys, values, 500, &count);
            check(status == BH_OK || (status == BH_ERR_ARGUMENT && cursor != 0), "%s",
                  bh_status_name(status));
        } while (status == BH_OK && count > 0);

        bh_table_stats stats = table_stats(s->table);
        check(stats.keys <= stats.slots, "%llu keys in %llu slots", (unsigned long long)stats.keys,
              (unsigned long long)stats.slots);
        check_status(bh_reserve(s->table, 4000 + 1000 * (r % 50)), BH_OK);
        check_status(bh_compact(s->table), BH_OK);
    }
    free(keys);
    free(values);
}

static void write_or_look(void *argument, uint32_t thread)
{
    scene *s = argument;
    if (thread == 0) {
        look_at_all(s);
    } else {
        churn(s, thread);
    }
}

/* Export, statistics, reserve and compact see whole instants while batches run. */
static void whole_table_beside_batches(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        scene s = scene_new(test_all_widths[w], w % 2 == 0 ? 2 : 4, 20000, 150000, test_seed());
        atomic_init(&s.running, s.threads - 1);
        insert_stable(&s);
        threads_run(s.threads, write_or_look, &s);
        erase_stable(&s);
        check_existence(&s);
        check_stamps(&s);
        scene_free(&s);
    }
}

static void write_or_clear(void *argument, uint32_t thread)
{
    scene *s = argument;
    if (thread > 0) {
        churn(s, thread);
        return;
    }
    for (uint64_t r = 0; r < 3 || atomic_load(&s->running) > 0; r++) {
        check_status(bh_clear(s->table), BH_OK);
        (void)table_stats(s->table);
    }
}

/* Clear beside batches: no account can balance, but pairs stay whole, keys single, and the table
 * works. */
static void clear_beside_batches(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        scene s = scene_new(test_all_widths[w], 3, 5000, 60000, test_seed());
        atomic_init(&s.running, s.threads - 1);
        threads_run(s.threads, write_or_clear, &s);
        check_stamps(&s);
        check_status(bh_clear(s.table), BH_OK);
        memset(s.total, 0, s.keys * s.threads * sizeof *s.total);
        check_existence(&s); // nothing is there, and the count of keys knows it
        atomic_init(&s.running, 1);
        churn(&s, 1);
        check_existence(&s);
        check_stamps(&s);
        scene_free(&s);
    }
}

/* --- large batches ------------------------------------------------------------------------ */

/* Batches for which the pool works, from several threads at once, with growth. */
static void large_batches_from_many_threads(void **state)
{
    static const uint64_t keys[] = {1, 1000, 200000};
    (void)state;
    for (size_t k = 0; k < TEST_COUNT(keys); k++) {
        for (int which = 0; which < 2; which++) {
            test_executor executor;
            bh_context *shared = context;
            bh_context *own = NULL;
            scene s;

            // Once by the library's pool, once by threads that yield between tasks.
            test_executor_start(&executor, TEST_THREADS, 3);
            own = context_new(0, &executor.executor, NULL);
            context = which == 0 ? shared : own;
            s = scene_new((test_widths){8, 8}, which == 0 ? 4 : 2, keys[k], 1, test_seed() + k);
            s.largest = 2 * test_scaled_large(100000);
            s.rounds = 3;
            threads_run(s.threads, add_ones, &s);
            batch all = batch_new(8, 8, s.keys);
            for (uint64_t i = 0; i < s.keys; i++) {
                batch_set(&all, i, scene_key(&s, i), 0);
            }
            check_status(batch_call(s.table, BH_FIND, &all), BH_OK);
            for (uint64_t i = 0; i < s.keys; i++) {
                check(batch_value(&all, i) == (uint64_t)scene_sum(&s, i),
                      "key %llu counts %llu of %lld", (unsigned long long)i,
                      (unsigned long long)batch_value(&all, i), (long long)scene_sum(&s, i));
            }
            pairs content = table_pairs(s.table, 8, 8, 10000);
            pairs_free(&content);
            batch_free(&all);
            scene_free(&s);
            context = shared;
            bh_context_destroy(own);
        }
    }
}

/* --- equal keys of one call ---------------------------------------------------------------- */

#define COPIES 4u

/* What an element brings, and what COPIES of them make when they are added. */
static uint64_t copy_value(const batch *b, int operation, uint32_t copies)
{
    return operation == BH_ADD_FLOAT ? batch_float(b->value_bytes, copies)
           : operation == BH_ADD     ? copies
                                     : 1;
}

/* Each key comes several times, `distance` elements apart: on a GPU that is in one warp, in one block, or in blocks
 * that run at the same time. */
static void fill_copies(batch *b, int operation, uint64_t distance, uint64_t salt)
{
    for (uint64_t i = 0; i < b->n; i++) {
        const uint64_t k = i / (COPIES * distance) * distance + i % distance;
        batch_set(b, i, (k + salt) * UINT64_C(0x9e3779b1), copy_value(b, operation, 1));
    }
}

static void check_copies(bh_table *table, const batch *b, int operation, uint64_t distance)
{
    for (uint64_t first = 0; first < b->n; first += COPIES * distance)
        for (uint64_t k = 0; k < distance; k++) {
            uint32_t inserted = 0;
            for (uint64_t c = 0; c < COPIES; c++)
                inserted += b->outcomes[first + c * distance + k] == BH_INSERTED;
            check(inserted == 1, "operation %d, %llu apart: a key was inserted %u times", operation,
                  (unsigned long long)distance, inserted);
        }
    check(table_stats(table).keys == b->n / COPIES, "the table counts %llu keys",
          (unsigned long long)table_stats(table).keys);
}

/* A call of equal keys, and what it leaves. */
static void meet(bh_table *table, batch *b, int operation, uint64_t distance, uint64_t salt)
{
    fill_copies(b, operation, distance, salt);
    check_status(batch_call(table, operation, b), BH_OK);
    check_copies(table, b, operation, distance);
    check_status(batch_call(table, BH_FIND, b), BH_OK);
    batch_check_all(b, BH_FOUND);
    for (uint64_t k = 0; k < b->n; k++)
        check(batch_value(b, k) == copy_value(b, operation, COPIES),
              "operation %d: a value is %llu", operation, (unsigned long long)batch_value(b, k));
}

/* Of the elements of one call that bring one key one inserts it, and the others find it: in an empty table, and in one from
 * which as many keys have been erased. */
static void equal_keys_of_one_call(void **state)
{
    static const uint64_t distances[] = {1, 8, 32, 512, 8192, 32768};
    static const int operations[] = {BH_INSERT, BH_INSERT_NEW, BH_ADD, BH_FIND_OR_INSERT,
                                     BH_ADD_FLOAT};
    static const test_widths widths[] = {{4, 4}, {8, 4}, {8, 8}};
    // With a sanitizer, of cores, still so many that the pool works.
    const uint64_t n = test_on_gpu() ? 1 << 19 : TEST_SANITIZER ? 1 << 15 : 1 << 17;
    (void)state;
    // Words of pairs, and pairs of words.
    for (size_t w = 0; w < TEST_COUNT(widths); w += TEST_THREAD_SANITIZER ? 2 : 1) {
        const uint32_t key_bytes = widths[w].key_bytes, value_bytes = widths[w].value_bytes;
        bh_table *table = table_new(context, key_bytes, value_bytes, n / COPIES);
        batch b = batch_new(key_bytes, value_bytes, n);
        for (size_t i = 0; i < TEST_COUNT(distances) * TEST_COUNT(operations); i++) {
            const uint64_t distance = distances[i / TEST_COUNT(operations)];
            const int operation = operations[i % TEST_COUNT(operations)];
            if (COPIES * distance > n) {
                break;
            }
            check_status(bh_clear(table), BH_OK);
            meet(table, &b, operation, distance, i * n);
            check_status(batch_call(table, BH_ERASE, &b), BH_OK);
            meet(table, &b, operation, distance, i * n + n / 2);
        }
        bh_table_destroy(table);
        batch_free(&b);
    }
}

/* Equal keys, more than there is room for, in a table that may not grow and is filled to its last slot: searches are long,
 * and each key that is there has all that was added to it. */
static void equal_keys_and_no_room(void **state)
{
    const uint64_t n = test_on_gpu() ? 1 << 19 : 1 << 15;
    bh_table_options options = table_options(4, 4, n / COPIES / 2);
    batch b = batch_new(4, 4, n);
    uint64_t inserted = 0;
    bh_table *table;
    (void)state;
    if (options.design != BH_STADIUM || options.stadium.table_memory == BH_TABLE_MEMORY_HOST) {
        batch_free(&b);
        return; // others are never as full
    }
    options.max_fill = 1;
    options.min_fill = -1;
    options.stadium.table_memory = BH_TABLE_MEMORY_DEVICE;
    table = table_with(context, &options);
    options.max_device_bytes = options.max_host_bytes = table_stats(table).bytes_total;
    bh_table_destroy(table);
    table = table_with(context, &options);
    fill_copies(&b, BH_ADD, 512, 1);
    check_status(batch_call(table, BH_ADD, &b), BH_ERR_FULL);
    for (uint64_t i = 0; i < n; i++)
        inserted += b.outcomes[i] == BH_INSERTED;
    check(inserted == table_stats(table).keys && inserted >= n / COPIES / 2,
          "%llu keys were inserted, and the table counts %llu", (unsigned long long)inserted,
          (unsigned long long)table_stats(table).keys);
    {
        pairs all = table_pairs(table, 4, 4, n / COPIES);
        uint64_t done = 0, sum = 0;
        for (uint64_t i = 0; i < n; i++)
            done += b.outcomes[i] == BH_INSERTED || b.outcomes[i] == BH_ASSIGNED;
        for (uint64_t i = 0; i < all.count; i++)
            sum += all.values[i];
        check(all.count == inserted && sum == done, "%llu keys have %llu, and %llu were added",
              (unsigned long long)all.count, (unsigned long long)sum, (unsigned long long)done);
        pairs_free(&all);
    }
    bh_table_destroy(table);
    batch_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(insertions_and_erasures_balance),
        cmocka_unit_test(one_winner),
        cmocka_unit_test(readers_never_miss),
        cmocka_unit_test(crowded_lines),
        cmocka_unit_test(whole_table_beside_batches),
        cmocka_unit_test(clear_beside_batches),
        cmocka_unit_test(large_batches_from_many_threads),
        cmocka_unit_test(equal_keys_of_one_call),
        cmocka_unit_test(equal_keys_and_no_room),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, conservation_start, conservation_end));
}
