/* ctest: fake device */
/* ctest: real device */
/* ctest: every design */
/*
 * Mixed calls so large that a GPU runs them operation by operation (src/cuda/host/by_place.c): what each
 * element answers and what the table then holds; and a table that may not grow, where what erasures free can
 * be taken by insertions of the same call. Their arrays lie on the device: of others parts are smaller than that.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/places.h"
#include "support/random.h"
#include "support/tables.h"

enum { ELEMENTS = (1 << 21) + 1000 };

/* A call's arrays, here and on the device. Element i has the i-th key of a sequence. */
typedef struct work {
    uint32_t *keys, *values;
    uint8_t *ops, *outcomes;
    uint32_t *device_keys, *device_values;
    uint8_t *device_ops, *device_outcomes;
} work;

/* DyCuckoo's calls of that size run operation by operation as they are; those of other designs where it is asked for.
 * (HashFight performs mixed calls itself.) */
static bh_table_options options_for(uint64_t capacity)
{
    bh_table_options options = table_options(4, 4, capacity);

    if (test_design() != BH_DYCUCKOO && test_design() != BH_HASHFIGHT)
        options.schedule = BH_SCHEDULE_REGIONS;
    return options;
}

/* What an element brings, and the value that its key has before. */
static uint32_t brings(uint32_t i)
{
    return (uint32_t)random_mix64(i + 1);
}

static uint32_t had(uint32_t i)
{
    return (uint32_t)random_mix64(~(uint64_t)i);
}

static work work_new(void)
{
    work w;

    w.keys = test_allocate(ELEMENTS * 4);
    w.values = test_allocate(ELEMENTS * 4);
    w.ops = test_allocate(ELEMENTS);
    w.outcomes = test_allocate(ELEMENTS);
    w.device_keys = place_allocate(PLACE_DEVICE, ELEMENTS * 4);
    w.device_values = place_allocate(PLACE_DEVICE, ELEMENTS * 4);
    w.device_ops = place_allocate(PLACE_DEVICE, ELEMENTS);
    w.device_outcomes = place_allocate(PLACE_DEVICE, ELEMENTS);
    return w;
}

static void work_free(work *w)
{
    free(w->keys);
    free(w->values);
    free(w->ops);
    free(w->outcomes);
    place_free(PLACE_DEVICE, w->device_keys);
    place_free(PLACE_DEVICE, w->device_values);
    place_free(PLACE_DEVICE, w->device_ops);
    place_free(PLACE_DEVICE, w->device_outcomes);
}

/* Inserts the keys of every other element. */
static void put_every_other(work *w, bh_table *table)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ELEMENTS; i += 2, n++) {
        w->keys[n] = (uint32_t)random_key(4, 5, i);
        w->values[n] = had(i);
    }
    check_status(bh_insert(table, w->keys, w->values, n, NULL), BH_OK);
}

static bh_status apply(work *w, bh_table *table)
{
    bh_status status;

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        w->keys[i] = (uint32_t)random_key(4, 5, i);
        w->values[i] = brings(i);
    }
    memset(w->outcomes, 0xee, ELEMENTS);
    place_set(w->device_keys, w->keys, ELEMENTS * 4);
    place_set(w->device_values, w->values, ELEMENTS * 4);
    place_set(w->device_ops, w->ops, ELEMENTS);
    place_set(w->device_outcomes, w->outcomes, ELEMENTS);
    status = bh_apply(table, w->device_ops, w->device_keys, w->device_values, ELEMENTS,
                      w->device_outcomes);
    place_get(w->values, w->device_values, ELEMENTS * 4);
    place_get(w->outcomes, w->device_outcomes, ELEMENTS);
    return status;
}

/* Every operation, on keys of which every other one is there. Each key comes once, so there is one answer. */
static void every_operation(void **state)
{
    bh_context *context = context_new(0, NULL, NULL);
    const bh_table_options options = options_for(ELEMENTS / 2);
    bh_table *table = table_with(context, &options);
    uint32_t *left = test_allocate(ELEMENTS * 4); /* the values that keys have then */
    uint8_t *there = test_allocate(ELEMENTS);
    work w = work_new();
    uint64_t keys = 0;
    (void)state;

    put_every_other(&w, table);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        w.ops[i] = (uint8_t)(random_mix64(i / 2 + 99) % BH_ADD_FLOAT); /* all but the last */
    check_status(apply(&w, table), BH_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        bool present = i % 2 == 0;
        uint64_t value = had(i), operand = brings(i);
        const bh_outcome outcome = model_step((bh_op)w.ops[i], 4, &present, &value, &operand);

        check(w.outcomes[i] == outcome && w.values[i] == (uint32_t)operand,
              "element %u, operation %u: %u, not %d; %u, not %u", i, w.ops[i], w.outcomes[i],
              (int)outcome, w.values[i], (uint32_t)operand);
        there[i] = present;
        left[i] = (uint32_t)value;
        keys += present;
    }
    check(table_stats(table).keys == keys, "%llu keys",
          (unsigned long long)table_stats(table).keys);
    table_check_stats(table);
    check_status(bh_find(table, w.keys, ELEMENTS, w.values, w.outcomes), BH_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        check(w.outcomes[i] == (there[i] ? BH_FOUND : BH_MISSING) &&
                  (!there[i] || w.values[i] == left[i]),
              "key %u of operation %u: %u, %u", i, w.ops[i], w.outcomes[i], w.values[i]);
    bh_table_destroy(table);
    bh_context_destroy(context);
    work_free(&w);
    free(left);
    free(there);
}

/* In a table that may not grow a call erases a half of the keys, looks for the others, and inserts as many as it
 * erases: all have room. Then it erases none and inserts more than there is room for: lookups are done, some
 * insertions too, and the others are marked. */
static void a_full_table(void **state)
{
    bh_context *context = context_new(0, NULL, NULL);
    bh_table_options options = options_for(ELEMENTS / 2 + 1);
    bh_table *table = table_with(context, &options);
    uint64_t keys, refused = 0;
    work w = work_new();
    (void)state;

    if (test_design() ==
        BH_HASHFIGHT) { /* it performs mixed calls itself, and frees nothing in the middle */
        work_free(&w);
        bh_table_destroy(table);
        bh_context_destroy(context);
        return;
    }
    put_every_other(&w, table);
    options.max_device_bytes = table_stats(table).bytes_total;
    options.stadium.table_memory = BH_TABLE_MEMORY_DEVICE;
    bh_table_destroy(table);
    table = table_with(context, &options);
    put_every_other(&w, table);
    keys = table_stats(table).keys;
    for (uint32_t i = 0; i < ELEMENTS; i++)
        w.ops[i] = i % 4 == 0 ? BH_ERASE : i % 4 == 1 ? BH_INSERT : BH_FIND;
    check_status(apply(&w, table), BH_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        check(w.outcomes[i] == (i % 4 == 0   ? BH_ERASED
                                : i % 4 == 1 ? BH_INSERTED
                                : i % 4 == 2 ? BH_FOUND
                                             : BH_MISSING),
              "element %u: %u", i, w.outcomes[i]);
    check(table_stats(table).keys == keys, "%llu keys",
          (unsigned long long)table_stats(table).keys);
    for (uint32_t i = 0; i < ELEMENTS; i++)
        w.ops[i] = i % 4 == 0 || i % 4 == 3 ? BH_INSERT : BH_FIND;
    check_status(apply(&w, table), BH_ERR_FULL);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        if (i % 4 == 1 || i % 4 == 2)
            check(w.outcomes[i] == BH_FOUND, "element %u: %u", i, w.outcomes[i]);
        else
            check(w.outcomes[i] == BH_INSERTED || w.outcomes[i] == BH_NOT_DONE, "element %u: %u", i,
                  w.outcomes[i]);
        keys += w.outcomes[i] == BH_INSERTED;
        refused += w.outcomes[i] == BH_NOT_DONE;
    }
    check(refused && table_stats(table).keys == keys, "%llu keys, %llu refused",
          (unsigned long long)table_stats(table).keys, (unsigned long long)refused);
    table_check_stats(table);
    bh_table_destroy(table);
    bh_context_destroy(context);
    work_free(&w);
}

static int operations_start(void **state)
{
    (void)state;
    bh_context_destroy(context_new(0, NULL, NULL)); /* the test is skipped where there is none */
    places_start();
    return 0;
}

static int operations_end(void **state)
{
    (void)state;
    places_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation),
        cmocka_unit_test(a_full_table),
    };

    return test_exit_status(cmocka_run_group_tests(tests, operations_start, operations_end));
}
