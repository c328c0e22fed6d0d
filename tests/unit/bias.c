/* ctest: every design */
/* ctest: every target */
/*
 * Bias (src/cpu/bias.h): whom a table is biased to after which calls, and that its changes, which take no locks,
 * are right beside lookups of other threads and beside changes that end the bias.
 *
 * HashFight performs its calls itself, so its tables are never biased; here it runs the tests of threads alone.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/bias.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

#define ALL 60000u   /* elements of a call for which several threads are asked */
#define BEFORE 9000u /* elements after which one thread is favoured for the first time */

static bh_context *context;

static int bias_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int bias_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

static bool is_favoured(const bh_table *table)
{
    const bh__presence *to = bh__advice_load(&table->biased_to);

    return to != NULL && to == bh__presence_own;
}

/* Inserts the keys [first, first + n), whose values are theirs plus 1, in calls of `most`. */
static void insert(bh_table *table, uint64_t first, uint64_t n, uint64_t most)
{
    while (n > 0) {
        const uint64_t part = n < most ? n : most;
        batch all = batch_new(4, 4, part);
        for (uint64_t i = 0; i < part; i++) {
            batch_set(&all, i, first + i, first + i + 1);
        }
        check_status(batch_call(table, BH_INSERT, &all), BH_OK);
        batch_free(&all);
        first += part;
        n -= part;
    }
}

static void check_content(bh_table *table, uint64_t keys)
{
    pairs content = table_pairs(table, 4, 4, keys + 1);

    check(content.count == keys, "%llu keys instead of %llu", (unsigned long long)content.count,
          (unsigned long long)keys);
    for (uint64_t i = 0; i < keys; i++) {
        check(content.keys[i] == i && content.values[i] == i + 1, "key %llu has the value %llu",
              (unsigned long long)content.keys[i], (unsigned long long)content.values[i]);
    }
    pairs_free(&content);
    table_check_stats(table);
}

static bool can_be_biased(const bh_table *table)
{
    return table->policy->perform == NULL && table->backend->has_barrier;
}

/* What another thread does to the table. */
typedef struct visit {
    bh_table *table;
    int operation;
    uint64_t first;
    uint64_t n;
} visit;

static void come_by(void *argument, uint32_t thread)
{
    const visit *v = argument;
    batch all = batch_new(4, 4, v->n);

    (void)thread;
    for (uint64_t i = 0; i < v->n; i++) {
        batch_set(&all, i, v->first + i, v->first + i + 1);
    }
    check_status(batch_call(v->table, v->operation, &all), BH_OK);
    batch_free(&all);
}

static void visited(bh_table *table, int operation, uint64_t first, uint64_t n)
{
    visit v = {table, operation, first, n};

    threads_run(1, come_by, &v);
}

/* One thread is favoured, however long its calls are; and is no longer when another one has made a change, or several
 * have been asked to help. Lookups end nothing. */
static void one_thread_is_favoured(void **state)
{
    static const uint64_t calls[] = {1, 77, 4096, BEFORE};

    (void)state;
    for (size_t c = 0; c < TEST_COUNT(calls); c++) {
        bh_table *table = table_new(context, 4, 4, 5 * BEFORE + 3 * ALL);
        uint64_t keys = 0;

        if (!can_be_biased(table)) {
            bh_table_destroy(table);
            return;
        }
        insert(table, 0, 100, calls[c]);
        check(!is_favoured(table), "a thread is favoured after 100 elements");
        insert(table, 100, BEFORE - 100, calls[c]);
        keys = BEFORE;
        check(is_favoured(table), "nobody is favoured after %u elements", BEFORE);
        visited(table, BH_FIND, 0, 1);
        visited(table, BH_FIND, 0, BEFORE);
        check(is_favoured(table), "lookups have ended the bias");
        insert(table, keys, 1000, calls[c]);
        keys += 1000;
        check(is_favoured(table), "the favoured thread has ended its bias");
        // One of three ways to end it.
        if (c % 3 == 0) {
            visited(table, BH_INSERT, keys, 1);
            keys += 1;
        } else if (c % 3 == 1) {
            visited(table, BH_ERASE, keys, 100); // none of them is there
        } else {
            insert(table, keys, ALL, ALL);
            keys += ALL;
        }
        check(table->biased_to == NULL, "the bias has not ended");
        // When another thread has ended a bias it takes twice as many.
        insert(table, keys, 3 * BEFORE, calls[c]);
        keys += 3 * BEFORE;
        check(is_favoured(table), "nobody is favoured again");
        check_content(table, keys);
        bh_table_destroy(table);
    }
}

/* A thread whose first calls find a table that has just been held alone is known all the same. */
static void fill_after_clear(void *argument, uint32_t thread)
{
    bh_table *table = argument;

    (void)thread;
    for (int i = 0; i < 4; i++) {
        check_status(bh_clear(table), BH_OK);
        insert(table, 0, BEFORE, BEFORE);
    }
    check(!can_be_biased(table) || is_favoured(table), "nobody is favoured");
}

static void new_threads(void **state)
{
    bh_table *table = table_new(context, 4, 4, BEFORE);

    (void)state;
    threads_run(1, fill_after_clear, table);
    check_content(table, BEFORE);
    bh_table_destroy(table);
}

/* Threads that all make many changes do not take the bias, nor the gate to get it, from each other again and again. (In a context of
 * one thread: a favoured thread's own calls that run as tasks end its bias, too, and do not count.) */
enum { TURNS = 300, TURN = 8192 };

static void change_much(void *argument, uint32_t thread)
{
    batch all = batch_new(4, 4, TURN);

    for (uint64_t i = 0; i < TURN; i++) {
        batch_set(&all, i, thread * TURN + i, thread * TURN + i + 1);
    }
    for (uint64_t i = 0; i < test_scaled(TURNS); i++) {
        check_status(batch_call(argument, BH_INSERT, &all), BH_OK);
    }
    batch_free(&all);
}

static void threads_that_take_turns(void **state)
{
    const uint32_t threads = 3;
    bh_context *one = context_new(1, NULL, NULL);
    bh_table *table = table_new(one, 4, 4, threads * TURN);

    (void)state;
    threads_run(threads, change_much, table);
    check_content(table, threads * TURN);
    check(!can_be_biased(table) || table->times_alone <= 64, "the gate was held alone %llu times",
          (unsigned long long)table->times_alone);
    bh_table_destroy(table);
    bh_context_destroy(one);
}

/* While a call runs as tasks, nobody gets the bias; and such calls come to their end beside a thread of many changes. */
static void call_with_help(void *argument, uint32_t thread)
{
    bh_table *table = argument;

    for (int i = 0; i < 5; i++) {
        insert(table, thread == 0 ? 0 : ALL, thread == 0 ? ALL : 3 * BEFORE,
               thread == 0 ? ALL : 4096);
    }
}

static void tasks_and_a_thread(void **state)
{
    bh_table *table = table_new(context, 4, 4, ALL + 3 * BEFORE);

    (void)state;
    threads_run(2, call_with_help, table);
    check_content(table, ALL + 3 * BEFORE);
    bh__bias_suspend(table);
    insert(table, 0, 3 * BEFORE, 4096);
    check(!is_favoured(table), "a thread is favoured beside tasks");
    bh__bias_resume(table);
    insert(table, 0, ALL, 4096);
    check(!can_be_biased(table) || table->bias_ends > 3 || is_favoured(table),
          "nobody is favoured behind tasks");
    bh_table_destroy(table);
}

/* An executor of two tasks. Before the first of them a thread gets the bias of `table` that looked for calls in tasks just before this one
 * counted itself. */
typedef struct late_executor {
    bh_executor executor;
    bh_table *table;
    bh__presence late;
    uint64_t runs;
} late_executor;

static void bias_to(bh_table *table, bh__presence *presence)
{
    const uint64_t since = bh__enter_alone(table);

    bh__advice_store(&table->biased_to, presence);
    bh__leave_alone(table, since);
}

static uint32_t width_of_two(void *state)
{
    (void)state;
    return 2;
}

static void run_late(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                     uint64_t count)
{
    late_executor *self = state;

    if (self->table != NULL && ++self->runs == 1) {
        bias_to(self->table, &self->late);
    }
    if (self->runs == 100) { // the call would never end
        bias_to(self->table, NULL);
    }
    for (uint64_t i = 0; i < count; i++) {
        task(argument, i);
    }
}

static void bias_that_comes_late(void **state)
{
    late_executor late = {{&late, width_of_two, run_late}, NULL, {0}, 0};
    bh_context *own = context_new(2, &late.executor, NULL);
    bh_table *table = table_new(own, 4, 4, ALL);

    (void)state;
    if (can_be_biased(table)) {
        late.table = table;
        insert(table, 0, ALL, ALL);
        check(late.runs > 1 && late.runs < 100, "the tasks ran %llu times",
              (unsigned long long)late.runs);
        check(table->biased_to == NULL, "a call in tasks leaves somebody favoured");
        late.table = NULL;
        check_content(table, ALL);
    }
    bh_table_destroy(table);
    bh_context_destroy(own);
}

/* Without a presence no thread is known, so none is favoured. */
static void unknown_threads(void **state)
{
    bh__presence *const own = bh__presence_own;
    bh__presence shared = {1, 0};
    bh_table *table = table_new(context, 4, 4, BEFORE);

    (void)state;
    bh__presence_own = &shared;
    insert(table, 0, BEFORE, 100);
    check(table->biased_to == NULL, "a thread without a presence is favoured");
    bh__presence_own = own;
    check_content(table, BEFORE);
    bh_table_destroy(table);
}

/* --- threads -------------------------------------------------------------------------------------- */

enum { KEYS = 6000, LASTING = 2000, WRITERS = 2, READERS = 2 };

/* Keys below LASTING are there all the time; the others come and go, and the table grows and shrinks with them. Each value
 * says whose it is. */
typedef struct meeting {
    bh_table *table;
    test_widths widths;
    uint64_t rounds;
    int64_t account[WRITERS][KEYS];
    atomic_uint running;              // writers
    atomic_uint_fast64_t rounds_made; // by the first one
    atomic_uint favoured;             // changes that nobody else ended before they were through
} meeting;

static uint64_t key_of(const meeting *m, uint64_t k)
{
    return random_key(m->widths.key_bytes, 7, k);
}

static void set(const meeting *m, batch *all, uint64_t i, uint64_t k, uint64_t nonce)
{
    batch_set(all, i, key_of(m, k), batch_stamp(m->widths.value_bytes, key_of(m, k), nonce));
}

static void write_some(meeting *m, uint32_t writer, rng *random, uint64_t n)
{
    static const int operations[] = {BH_INSERT, BH_ERASE,    BH_UPDATE,
                                     BH_INSERT, BATCH_APPLY, BH_FIND_OR_INSERT};
    const int operation = operations[random_below(random, TEST_COUNT(operations))];
    batch all = batch_new(m->widths.key_bytes, m->widths.value_bytes, n);
    uint64_t *owner = test_allocate(n * sizeof *owner);

    for (uint64_t i = 0; i < n; i++) {
        const bool lasts = operation != BH_ERASE && operation != BATCH_APPLY;
        owner[i] =
            lasts ? random_below(random, KEYS) : LASTING + random_below(random, KEYS - LASTING);
        set(m, &all, i, owner[i], random_next(random));
        all.ops[i] = (uint8_t)batch_draw_op(random, 0); // no sums: values are stamps
    }
    check_status(batch_call(m->table, operation, &all), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        m->account[writer][owner[i]] += all.outcomes[i] == BH_INSERTED;
        m->account[writer][owner[i]] -= all.outcomes[i] == BH_ERASED;
    }
    free(owner);
    batch_free(&all);
}

/* The first writer changes most of the time; the other one comes by now and then. */
static void write_all(meeting *m, uint32_t writer)
{
    static const uint64_t sizes[] = {1, 1, 9, 400, 3000};
    rng random = random_start(test_seed() + writer);

    for (uint64_t r = 0; r < m->rounds; r++) {
        const uint64_t n = sizes[random_below(&random, TEST_COUNT(sizes))];
        if (writer == 0) {
            write_some(m, writer, &random, n);
            atomic_fetch_add(&m->favoured, (unsigned)is_favoured(m->table));
            atomic_store(&m->rounds_made, r + 1);
        } else if (r % 64 == 0) {
            while (atomic_load(&m->rounds_made) < r) {
                sched_yield();
            }
            write_some(m, writer, &random, n);
        }
    }
    atomic_fetch_sub(&m->running, 1);
}

static void read_all(meeting *m, uint32_t reader)
{
    rng random = random_start(test_seed() + 100 + reader);

    do {
        batch all =
            batch_new(m->widths.key_bytes, m->widths.value_bytes, 1 + random_below(&random, 500));
        for (uint64_t i = 0; i < all.n; i++) {
            set(m, &all, i, random_below(&random, i % 2 == 0 ? LASTING : KEYS), 0);
        }
        check_status(batch_call(m->table, BH_FIND, &all), BH_OK);
        for (uint64_t i = 0; i < all.n; i++) {
            check(i % 2 != 0 || all.outcomes[i] == BH_FOUND, "a key that is there was not found");
            check(batch_is_stamp(m->widths.value_bytes, batch_key(&all, i), batch_value(&all, i)),
                  "key %#llx has the value %#llx, which nobody wrote for it",
                  (unsigned long long)batch_key(&all, i), (unsigned long long)batch_value(&all, i));
        }
        batch_free(&all);
    } while (atomic_load(&m->running) > 0);
}

static void take_part(void *argument, uint32_t thread)
{
    if (thread < WRITERS) {
        write_all(argument, thread);
    } else {
        read_all(argument, thread - WRITERS);
    }
}

static void check_accounts(meeting *m)
{
    batch all = batch_new(m->widths.key_bytes, m->widths.value_bytes, KEYS);
    uint64_t there = 0;

    for (uint64_t k = 0; k < KEYS; k++) {
        set(m, &all, k, k, 0);
    }
    check_status(batch_call(m->table, BH_FIND, &all), BH_OK);
    for (uint64_t k = 0; k < KEYS; k++) {
        const int64_t sum = m->account[0][k] + m->account[1][k] + (k < LASTING);
        check((sum == 0 || sum == 1) && all.outcomes[k] == (sum == 1 ? BH_FOUND : BH_MISSING),
              "key %llu: INSERTED minus ERASED is %lld, find answers %u", (unsigned long long)k,
              (long long)sum, all.outcomes[k]);
        there += sum == 1;
    }
    check(table_stats(m->table).keys == there, "the table counts %llu keys of %llu",
          (unsigned long long)table_stats(m->table).keys, (unsigned long long)there);
    table_check_stats(m->table);
    batch_free(&all);
}

static void others_look_and_come_by(void **state)
{
    static meeting m;

    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        batch lasting =
            batch_new(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, LASTING);

        memset(&m, 0, sizeof m);
        m.widths = test_all_widths[w];
        atomic_init(&m.running, WRITERS);
        m.table = table_new(context, m.widths.key_bytes, m.widths.value_bytes, 1);
        m.rounds = test_scaled(can_be_biased(m.table) ? 4000 : 400);
        for (uint64_t k = 0; k < LASTING; k++) {
            set(&m, &lasting, k, k, k);
        }
        check_status(batch_call(m.table, BH_INSERT, &lasting), BH_OK);
        threads_run(WRITERS + READERS, take_part, &m);
        check(!can_be_biased(m.table) || atomic_load(&m.favoured) > 0, "no change was favoured");
        check_accounts(&m);
        bh_table_destroy(m.table);
        batch_free(&lasting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_thread_is_favoured, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(new_threads, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(threads_that_take_turns, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(tasks_and_a_thread, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(bias_that_comes_late, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(unknown_threads, bias_start, bias_end),
        cmocka_unit_test_setup_teardown(others_look_and_come_by, bias_start, bias_end),
    };

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
