/* ctest: every design */
/* ctest: every device */
/*
 * Equal keys in one call that is so large that a GPU runs it in stages: each operation that inserts, on keys that come
 * several times each or thousands of times, in tables that have just room for them, that grow for them, and from which
 * keys have been erased. However the elements of a key meet: one of them inserts it, and the others find it.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"

// (GPUs go in stages from 2^14 elements on.)
enum { ELEMENTS = (TEST_SANITIZER ? 1 << 14 : 1 << 16) + 77, OLD_VALUES = 1 << 20 };

static const bh_op inserting[] = {BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_ADD, BH_MAX};

/* A call, and what is known of each of its keys, by number. Element i brings the value i + 1. */
typedef struct work {
    batch call;
    uint32_t keys;
    uint32_t salt;
    uint32_t key[ELEMENTS]; /* of each element: its number */
    uint32_t inserts[ELEMENTS];
    uint64_t sum[ELEMENTS];
    uint64_t most[ELEMENTS];
    uint64_t left[ELEMENTS]; /* the value that it has afterwards */
    bool comes[ELEMENTS];
    bool was_there[ELEMENTS];
} work;

static uint64_t key_of(const work *w, uint32_t number)
{
    return random_key(w->call.key_bytes, w->salt, number);
}

/* Draws the keys of the elements. */
static void draw(work *w)
{
    memset(w->inserts, 0, sizeof w->inserts);
    memset(w->sum, 0, sizeof w->sum);
    memset(w->most, 0, sizeof w->most);
    memset(w->comes, 0, sizeof w->comes);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const uint32_t k = (uint32_t)(random_mix64(i + w->salt) % w->keys);

        w->key[i] = k;
        w->comes[k] = true;
        w->sum[k] += i + 1;
        w->most[k] = i + 1;
        batch_set(&w->call, i, key_of(w, k), i + 1);
    }
}

/* Inserts the keys with even numbers, after all of them if `erases`, which erases the others again. */
static void put_even(work *w, bh_table *table, bool erases)
{
    const uint32_t step = erases ? 1 : 2;
    batch some = batch_new(w->call.key_bytes, w->call.value_bytes, (w->keys + step - 1) / step);

    for (uint32_t k = 0; k < some.n; k++)
        batch_set(&some, k, key_of(w, step * k), OLD_VALUES + step * k);
    check_status(batch_call(table, BH_INSERT, &some), BH_OK);
    batch_free(&some);
    for (uint32_t k = 0; k < w->keys; k++)
        w->was_there[k] = k % 2 == 0;
    if (!erases)
        return;
    some = batch_new(w->call.key_bytes, w->call.value_bytes, w->keys / 2);
    for (uint32_t k = 0; k < some.n; k++)
        batch_set(&some, k, key_of(w, 2 * k + 1), 0);
    check_status(batch_call(table, BH_ERASE, &some), BH_OK);
    batch_check_all(&some, BH_ERASED);
    batch_free(&some);
}

/* Each key that was absent has been inserted by one of its elements, and none that was there. */
static void check_outcomes(work *w, bh_op op)
{
    const bh_outcome other =
        op == BH_INSERT_NEW || op == BH_FIND_OR_INSERT ? BH_FOUND : BH_ASSIGNED;

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const uint8_t outcome = w->call.outcomes[i];

        check(outcome == BH_INSERTED || outcome == other, "element %u: %u", i, outcome);
        w->inserts[w->key[i]] += outcome == BH_INSERTED;
        if (outcome == BH_INSERTED)
            w->left[w->key[i]] = i + 1;
    }
    for (uint32_t k = 0; k < w->keys; k++)
        check(w->inserts[k] == (w->comes[k] && !w->was_there[k]), "key %u: inserted %u times", k,
              w->inserts[k]);
}

/* Whether a key may have this value after the call. */
static bool fits(const work *w, bh_op op, uint32_t k, uint64_t value)
{
    const uint64_t old = w->was_there[k] ? OLD_VALUES + k : 0;

    switch (op) {
    case BH_ADD: return value == w->sum[k] + old;
    case BH_MAX: return value == (w->was_there[k] ? old : w->most[k]);
    case BH_INSERT: return value - 1 < ELEMENTS && w->key[value - 1] == k;
    default: return value == (w->was_there[k] ? old : w->left[k]);
    }
}

static void check_values(work *w, bh_table *table, bh_op op)
{
    uint64_t *const answers = test_allocate(ELEMENTS * sizeof *answers);

    for (uint32_t i = 0; i < ELEMENTS; i++)
        answers[i] = batch_value(&w->call, i);
    check_status(batch_call(table, BH_FIND, &w->call), BH_OK);
    batch_check_all(&w->call, BH_FOUND);
    for (uint32_t i = 0; i < ELEMENTS && w->call.value_bytes; i++) {
        const uint64_t value = batch_value(&w->call, i);

        check(fits(w, op, w->key[i], value), "element %u, operation %d: %llu", i, (int)op,
              (unsigned long long)value);
        check(op != BH_FIND_OR_INSERT || answers[i] == value, "element %u: %llu, not %llu", i,
              (unsigned long long)answers[i], (unsigned long long)value);
    }
    free(answers);
}

/* `before`: 0 the table is empty, 1 every other key is there, 2 all have been. */
static void perform(work *w, bh_context *context, bh_op op, bh_schedule schedule, uint64_t capacity,
                    int before)
{
    bh_table_options options = table_options(w->call.key_bytes, w->call.value_bytes, capacity);
    uint64_t keys = 0;
    bh_table *table;

    options.schedule = schedule;
    table = table_with(context, &options);
    memset(w->was_there, 0, sizeof w->was_there);
    if (before)
        put_even(w, table, before == 2);
    draw(w);
    check_status(batch_call(table, (int)op, &w->call), BH_OK);
    check_outcomes(w, op);
    for (uint32_t k = 0; k < w->keys; k++)
        keys += w->comes[k] || w->was_there[k];
    check(table_stats(table).keys == keys, "%llu keys, not %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)keys);
    table_check_stats(table);
    check_values(w, table, op);
    bh_table_destroy(table);
}

static void check_widths(test_widths widths)
{
    static const uint32_t keys[] = {40, ELEMENTS / 8, ELEMENTS - 5000};
    bh_context *context = context_new(0, NULL, NULL);
    work *const w = test_allocate(sizeof *w);

    w->call = batch_new(widths.key_bytes, widths.value_bytes, ELEMENTS);
    for (uint32_t o = 0; o < TEST_COUNT(inserting); o++) {
        if (!widths.value_bytes && inserting[o] != BH_INSERT && inserting[o] != BH_INSERT_NEW)
            continue;
        for (uint32_t i = 0; i < TEST_COUNT(keys); i++) {
            for (int before = 0; before < 3; before++) {
                w->keys = keys[i];
                w->salt = 1000003 * (o + 8 * i + 64 * (uint32_t)before);
                perform(w, context, inserting[o], i % 2 ? BH_SCHEDULE_WINDOW : BH_SCHEDULE_AUTO,
                        before  ? keys[i]
                        : o % 2 ? keys[i]
                                : 16,
                        before);
            }
        }
    }
    batch_free(&w->call);
    free(w);
    bh_context_destroy(context);
}

static void one_element_inserts(void **state)
{
    (void)state;
    // Under ThreadSanitizer pairs of 4+4 and 8+8 bytes: threads see words of pairs, or pairs of words.
    for (uint32_t i = TEST_THREAD_SANITIZER; i < TEST_WIDTHS; i += TEST_THREAD_SANITIZER ? 4 : 1)
        check_widths(test_all_widths[i]);
}

/* Hundreds of calls that insert, and each `every`th erases, the same keys: what one call notes of itself in the table is no
 * word for another one (slice.epoch). */
static void call_often(uint32_t elements, uint32_t every)
{
    enum { CALLS = TEST_SANITIZER ? 60 : 600, KEYS = 20000 };
    bh_context *context = context_new(0, NULL, NULL);
    const bh_table_options options = table_options(4, 4, KEYS);
    bh_table *table = table_with(context, &options);
    bool *there = test_allocate(KEYS * sizeof *there);
    batch call = batch_new(4, 4, elements);
    uint64_t keys = 0;

    memset(there, 0, KEYS * sizeof *there);
    for (uint32_t c = 0; c < CALLS; c++) {
        const bool erases = c % every == every - 1;

        for (uint32_t i = 0; i < elements; i++) {
            const uint32_t k = (uint32_t)(random_mix64((uint64_t)c << 32 | i) % KEYS);

            batch_set(&call, i, random_key(4, 9, k), k);
            keys += there[k] == erases ? erases ? (uint64_t)-1 : 1 : 0;
            there[k] = !erases;
        }
        check_status(batch_call(table, erases ? BH_ERASE : BH_INSERT, &call), BH_OK);
        check(table_stats(table).keys == keys, "call %u: %llu keys, not %llu", c,
              (unsigned long long)table_stats(table).keys, (unsigned long long)keys);
    }
    table_check_stats(table);
    batch_free(&call);
    free(there);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

static void many_calls(void **state)
{
    (void)state;
    call_often(1 << 14, 3);
}

/* Of so few elements a GPU takes other ways, which depend on how full the table is; here DyCuckoo's is 0.7 full most of the time. */
static void many_small_calls(void **state)
{
    (void)state;
    call_often(3000, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element_inserts),
        cmocka_unit_test(many_calls),
        cmocka_unit_test(many_small_calls),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
