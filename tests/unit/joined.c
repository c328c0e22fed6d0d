/* ctest: every design */
/*
 * Calls that join values and have far more elements than keys: threads join values in tables of their own first
 * (cpu/joined.h). Each element counts exactly once: whatever joins the values, however many keys there are, where a part of
 * the call alone has few keys, and where a table may not grow.
 */
#include <stdlib.h>

#include "cpu/joined.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

enum { ELEMENTS = BH_JOINED_LEAST + 4321 };

static const bh_op joins[] = {BH_ADD, BH_MIN, BH_MAX, BH_MIN_SIGNED, BH_MAX_SIGNED};

/* What the values of a key become, computed one by one. */
static uint64_t join_two(bh_op op, uint32_t value_bytes, uint64_t a, uint64_t b)
{
    const uint64_t sign = value_bytes == 4 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;

    switch (op) {
    case BH_ADD: return (a + b) & test_width_mask(value_bytes);
    case BH_MIN: return a < b ? a : b;
    case BH_MAX: return a > b ? a : b;
    case BH_MIN_SIGNED: return (a ^ sign) < (b ^ sign) ? a : b;
    default: return (a ^ sign) > (b ^ sign) ? a : b;
    }
}

typedef struct work {
    batch call;
    uint32_t keys;
    uint64_t *number; /* of each element's key */
    uint64_t *value;  /* of each key, when all is done */
    bool *comes;
} work;

static uint64_t key_of(const work *w, uint64_t number)
{
    return random_key(w->call.key_bytes, test_seed() + w->keys, number);
}

/* Draws keys, some far more often than others; and `more` that come once, before the others. */
static void draw(work *w, test_widths widths, uint32_t keys, uint32_t more)
{
    rng random = random_start(test_seed() + keys);

    w->call = batch_new(widths.key_bytes, widths.value_bytes, ELEMENTS);
    w->keys = keys + more;
    w->number = test_allocate(ELEMENTS * sizeof *w->number);
    w->value = test_allocate(w->keys * sizeof *w->value);
    w->comes = test_allocate(w->keys * sizeof *w->comes);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        const uint64_t below = 1 + random_below(&random, keys);

        w->number[i] = i < more ? keys + i : random_below(&random, below);
        batch_set(&w->call, i, key_of(w, w->number[i]), random_next(&random));
    }
}

static void undraw(work *w)
{
    free(w->number);
    free(w->value);
    free(w->comes);
    batch_free(&w->call);
}

/* What each key's value is after the call was made `times` times on an empty table; `counts` elements instead. */
static void expect_values(work *w, bh_op op, uint32_t times, bool counts)
{
    for (uint32_t k = 0; k < w->keys; k++) {
        w->comes[k] = false;
    }
    for (uint32_t t = 0; t < times; t++) {
        for (uint64_t i = 0; i < ELEMENTS; i++) {
            const uint64_t k = w->number[i];
            const uint64_t value = counts ? 1 : batch_value(&w->call, i);

            w->value[k] =
                w->comes[k] ? join_two(op, w->call.value_bytes, w->value[k], value) : value;
            w->comes[k] = true;
        }
    }
}

/* Each key has its value. Of a table that was full some keys may not be there; answers how many are. */
static uint64_t check_values(bh_table *table, const work *w, bool may_miss)
{
    batch found = batch_new(w->call.key_bytes, w->call.value_bytes, w->keys);
    uint64_t there = 0;

    for (uint32_t k = 0; k < w->keys; k++) {
        batch_set(&found, k, key_of(w, k), 0);
    }
    check_status(batch_call(table, BH_FIND, &found), BH_OK);
    for (uint32_t k = 0; k < w->keys; k++) {
        const bool is_there = found.outcomes[k] == BH_FOUND;

        check(is_there ? w->comes[k] : may_miss || !w->comes[k], "key %u: outcome %u", k,
              found.outcomes[k]);
        check(!is_there || batch_value(&found, k) == w->value[k],
              "key %u has the value %llu instead of %llu", k,
              (unsigned long long)batch_value(&found, k), (unsigned long long)w->value[k]);
        there += is_there;
    }
    check(table_stats(table).keys == there, "%llu keys, but %llu were found",
          (unsigned long long)table_stats(table).keys, (unsigned long long)there);
    batch_free(&found);
    return there;
}

static bh_status reduce(bh_table *table, bh_op op, const work *w, bool counts)
{
    return bh_reduce(table, op, w->call.keys, counts ? NULL : w->call.values, w->call.n, NULL);
}

/* How many elements of the call are joined first. */
static uint64_t joined(bh_context *context, const work *w, uint32_t threads)
{
    bh_table *table = table_new(context, w->call.key_bytes, w->call.value_bytes, 0);
    const bh__batch all = {
        .op = BH_ADD, .keys = w->call.keys, .values = w->call.values, .n = w->call.n};
    bh__growth growth = {1, BH_ERR_FULL};
    bh_status status = BH_OK;
    uint64_t done = 0;

    check(bh__joined_may(table, &all), "such calls are not joined");
    done = bh__joined_run(table->backend, table, &all, threads, &growth, &status);
    check_status(status, BH_OK);
    bh_table_destroy(table);
    return done;
}

static void check_calls(uint32_t threads, test_widths widths, uint32_t keys, uint32_t more)
{
    bh_context *context = context_new(threads, NULL, NULL);
    work w;

    draw(&w, widths, keys, more);
    for (size_t j = 0; j < (TEST_SANITIZER ? 2 : TEST_COUNT(joins)); j++) {
        bh_table *table = table_new(context, widths.key_bytes, widths.value_bytes, 0);

        if (j == 0 && table->policy->perform == NULL) {
            const uint64_t done = joined(context, &w, threads);
            check(more > 0 ? done > 0 && done < ELEMENTS : done == ELEMENTS,
                  "%llu elements were joined", (unsigned long long)done);
        }
        check_status(reduce(table, joins[j], &w, false), BH_OK);
        check_status(reduce(table, joins[j], &w, false), BH_OK);
        expect_values(&w, joins[j], 2, false);
        (void)check_values(table, &w, false);
        bh_table_destroy(table);
    }
    undraw(&w);
    bh_context_destroy(context);
}

static void values_are_joined_once(void **state)
{
    (void)state;
    check_calls(3, (test_widths){4, 4}, 1000, 0);
    check_calls(1, (test_widths){8, 8}, 20, 0);
    check_calls(2, (test_widths){4, 8}, 1500, 0);
    check_calls(2, (test_widths){8, 4}, 1, 0);
    // The worker's table is full of keys that come once, and the rest of the call is not joined.
    check_calls(1, (test_widths){8, 4}, 500, 20000);
}

/* Where keys come seldom nothing is joined. */
static void different_keys_are_not_joined(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);
    bh_table *table = table_new(context, 4, 4, 0);
    work w;
    (void)state;

    draw(&w, (test_widths){4, 4}, 60000, 0);
    check(table->policy->perform != NULL || joined(context, &w, 2) == 0, "60,000 keys were joined");
    check_status(reduce(table, BH_ADD, &w, false), BH_OK);
    expect_values(&w, BH_ADD, 1, false);
    (void)check_values(table, &w, false);
    undraw(&w);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* Several callers at once, whose threads join, and an executor of the caller that runs the tasks in turn, the last one first. */
static void tasks_in_turn(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                          uint64_t count)
{
    (void)state;
    while (count-- > 0) {
        task(argument, count);
    }
}

static uint32_t width_of_turns(void *state)
{
    (void)state;
    return 3;
}

typedef struct callers {
    bh_table *table;
    const work *call;
} callers;

static void call_once(void *argument, uint32_t thread)
{
    const callers *c = argument;
    (void)thread;
    check_status(reduce(c->table, BH_ADD, c->call, false), BH_OK);
}

static void callers_and_executors(void **state)
{
    const bh_executor turns = {NULL, width_of_turns, tasks_in_turn};
    (void)state;

    for (int own = 0; own <= 1; own++) {
        bh_context *context = context_new(2, own ? &turns : NULL, NULL);
        bh_table *table = table_new(context, 8, 8, 0);
        work w;
        callers c = {table, &w};

        draw(&w, (test_widths){8, 8}, 900, 0);
        threads_run(3, call_once, &c);
        expect_values(&w, BH_ADD, 3, false);
        (void)check_values(table, &w, false);
        undraw(&w);
        bh_table_destroy(table);
        bh_context_destroy(context);
    }
}

static void elements_are_counted(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);
    bh_table *table = table_new(context, 4, 8, 0);
    work w;
    (void)state;

    draw(&w, (test_widths){4, 8}, 1200, 0);
    check_status(reduce(table, BH_ADD, &w, true), BH_OK);
    expect_values(&w, BH_ADD, 1, true);
    (void)check_values(table, &w, false);
    undraw(&w);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* A table that may not grow takes the keys that it has room for. */
static void full_tables_refuse_keys(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);
    bh_table_options options = table_options(8, 8, 1000);
    bh_table *table = table_with(context, &options);
    work w;
    (void)state;

    options.max_host_bytes = table_stats(table).bytes_total;
    bh_table_destroy(table);
    table = table_with(context, &options);
    draw(&w, (test_widths){8, 8}, 1900, 0);
    check_status(reduce(table, BH_ADD, &w, false), BH_ERR_FULL);
    check(table_stats(table).keys >= 1000 || table->policy->perform != NULL,
          "%llu keys in a table made for 1,000", (unsigned long long)table_stats(table).keys);
    check(table_stats(table).bytes_total <= options.max_host_bytes, "beyond the budget");
    undraw(&w);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_joined_once),  cmocka_unit_test(different_keys_are_not_joined),
        cmocka_unit_test(callers_and_executors),   cmocka_unit_test(elements_are_counted),
        cmocka_unit_test(full_tables_refuse_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
