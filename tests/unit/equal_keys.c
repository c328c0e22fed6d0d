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

/* What reducing makes of a key's value. */
static uint64_t reduced(bh_op op, uint32_t bytes, uint64_t so_far, uint64_t value)
{
    const uint64_t sign = bytes == 4 ? 1u << 31 : (uint64_t)1 << 63;
    double sum = 0, more = 0;

    switch (op) {
    case BH_ADD: return bytes == 4 ? (uint32_t)(so_far + value) : so_far + value;
    case BH_MIN: return value < so_far ? value : so_far;
    case BH_MAX: return value > so_far ? value : so_far;
    case BH_MIN_SIGNED: return (value ^ sign) < (so_far ^ sign) ? value : so_far;
    case BH_MAX_SIGNED: return (value ^ sign) > (so_far ^ sign) ? value : so_far;
    default:
        memcpy(&sum, &so_far, sizeof sum);
        memcpy(&more, &value, sizeof more);
        return batch_float(8, sum + more);
    }
}

/* Elements of one key beside each other, in runs of 1 to 40 and with those of another key between them, all of which are there:
 * threads of a GPU that run together change one value. */
static void check_meeting(bh_table *table, batch *call, bh_op op, bool counts)
{
    enum { KEYS = 300 };
    const uint32_t bytes = call->value_bytes;
    uint64_t expected[KEYS];
    uint32_t at = 0;

    for (uint32_t k = 0; k < KEYS; k++) {
        expected[k] =
            op == BH_ADD_FLOAT ? batch_float(8, k) : random_mix64(k) >> (bytes == 4 ? 32 : 0);
        batch_set(call, k, random_key(call->key_bytes, 5, k), expected[k]);
    }
    call->n = KEYS;
    check_status(batch_call(table, BH_INSERT, call), BH_OK);
    call->n = ELEMENTS;
    for (uint32_t run = 0; at < ELEMENTS; run++) {
        const uint32_t key = (uint32_t)(random_mix64(run) % (KEYS - 1)) + 1;

        for (uint32_t i = 0; i <= run % 40 && at < ELEMENTS; i++, at++) {
            const uint32_t k = run % 3 == 0 && i % 5 == 4 ? 0 : key;
            const uint64_t value = op == BH_ADD_FLOAT ? batch_float(8, at % 1000)
                                   : op == BH_UPDATE  ? (uint64_t)k << 20 | at
                                   : counts           ? 1
                                            : random_mix64(~(uint64_t)at) >> (bytes == 4 ? 32 : 0);

            batch_set(call, at, random_key(call->key_bytes, 5, k), value);
            if (op != BH_UPDATE)
                expected[k] = reduced(op, bytes, expected[k], value);
        }
    }
    if (counts) {
        check_status(bh_reduce(table, op, call->keys, NULL, call->n, call->outcomes), BH_OK);
    } else {
        check_status(batch_call(table, (int)op, call), BH_OK);
    }
    batch_check_all(call, BH_ASSIGNED);
    for (uint32_t k = 0; k < KEYS; k++) {
        batch_set(call, k, random_key(call->key_bytes, 5, k), 0);
    }
    call->n = KEYS;
    check_status(batch_call(table, BH_FIND, call), BH_OK);
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint64_t value = batch_value(call, k);

        check(op == BH_UPDATE ? value >> 20 == k || value == expected[k] : value == expected[k],
              "operation %d, key %u: %#llx, not %#llx", (int)op, k, (unsigned long long)value,
              (unsigned long long)expected[k]);
    }
    call->n = ELEMENTS;
}

static void elements_that_meet(void **state)
{
    static const bh_op ops[] = {BH_UPDATE,     BH_ADD,        BH_MIN,      BH_MAX,
                                BH_MIN_SIGNED, BH_MAX_SIGNED, BH_ADD_FLOAT};
    bh_context *context = context_new(0, NULL, NULL);
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        batch call = batch_new(widths.key_bytes, widths.value_bytes, ELEMENTS);

        // Just large enough, and with room for as many keys as elements.
        for (uint64_t capacity = 300; capacity <= 2 * ELEMENTS; capacity += 2 * ELEMENTS - 300) {
            const bh_table_options options =
                table_options(widths.key_bytes, widths.value_bytes, capacity);
            bh_table *table = table_with(context, &options);

            for (uint32_t o = 0; o < TEST_COUNT(ops) && widths.value_bytes; o++)
                if (ops[o] != BH_ADD_FLOAT || widths.value_bytes == 8)
                    check_meeting(table, &call, ops[o], false);
            if (widths.value_bytes)
                check_meeting(table, &call, BH_ADD, true);
            bh_table_destroy(table);
        }
        batch_free(&call);
    }
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_element_inserts),
        cmocka_unit_test(elements_that_meet),
        cmocka_unit_test(many_calls),
        cmocka_unit_test(many_small_calls),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
