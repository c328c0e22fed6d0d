/* ctest: real device */
/*
 * The schedules of a GPU that can be chosen: each really runs, says so in the table's statistics, and
 * does what the others do, in calls long enough for every stage, to keys that fill the table and that
 * come several times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/tables.h"

enum { KEYS = 400000 };

static const struct {
    bh_schedule schedule;
    bh_gpu_schedule compared;
    const char *target;
} schedules[] = {
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_DEFAULT, "cuda-regions"},
    {BH_SCHEDULE_WINDOW, BH_GPU_SCHEDULE_DEFAULT, "cuda"},
    {BH_SCHEDULE_REGIONS, BH_GPU_SCHEDULE_DEFAULT, "cuda-regions"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_THREAD, "cuda-thread"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE4, "cuda-tile4"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE8, "cuda-tile8"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE16, "cuda-tile16"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_TILE32, "cuda-tile32"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_LANES, "cuda-lanes"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER4, "cuda-voter4"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER8, "cuda-voter8"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER16, "cuda-voter16"},
    {BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER32, "cuda-voter32"},
};

#define SCHEDULES (sizeof schedules / sizeof schedules[0])

/* Keys 1 to `distinct`, each as often as they fill the array. */
static void keys_make(uint32_t *keys, uint32_t distinct)
{
    for (uint32_t i = 0; i < KEYS; i++)
        keys[i] = (i % distinct + 1) * 2654435761u;
}

static void check_outcomes(const uint8_t *outcomes, bh_outcome wanted, uint64_t count)
{
    uint64_t there = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        there += outcomes[i] == wanted;
    check(there == count, "%llu outcomes are %d, not %llu", (unsigned long long)there, (int)wanted,
          (unsigned long long)count);
}

/* Whether the schedule is one that this library was built without. */
static bool left_out(bh_context *context, const bh_table_options *options)
{
    bh_table *table;
    bh_status status;

    if (options->experimental->gpu_schedule == BH_GPU_SCHEDULE_DEFAULT)
        return false;
    status = bh_table_create(context, options, &table);
    bh_table_destroy(table);
    if (status == BH_OK)
        return false;
    check_status(status, BH_ERR_UNSUPPORTED);
    check(strstr(bh_error_detail(), "BULKHASH_COMPARED") != NULL, "the sentence is: %s",
          bh_error_detail());
    return true;
}

static void run_one(bh_context *context, uint32_t which)
{
    const char *target = schedules[which].target;
    bh_experimental_options experimental;
    uint32_t *keys, *values, *found;
    uint8_t *outcomes;
    bh_table_options options = table_options(4, 4, KEYS);
    bh_table *table;

    options.design = BH_DYCUCKOO;
    options.schedule = schedules[which].schedule;
    bh_experimental_options_init(&experimental);
    experimental.gpu_schedule = schedules[which].compared;
    options.experimental = &experimental;
    options.max_fill = 0.9; // so that some need paths
    if (left_out(context, &options)) {
        printf("%s is not in this build\n", target);
        return;
    }
    keys = test_allocate(KEYS * sizeof *keys);
    values = test_allocate(KEYS * sizeof *values);
    found = test_allocate(KEYS * sizeof *found);
    outcomes = test_allocate(KEYS);
    table = table_with(context, &options);
    keys_make(keys, KEYS);
    for (uint32_t i = 0; i < KEYS; i++)
        values[i] = i ^ 0x5555u;
    check_status(bh_insert(table, keys, values, KEYS, outcomes), BH_OK);
    check_outcomes(outcomes, BH_INSERTED, KEYS);
    check(strcmp(table_stats(table).target, target) == 0, "%s ran, not %s",
          table_stats(table).target, target);
    check_status(bh_find(table, keys, KEYS, found, outcomes), BH_OK);
    check_outcomes(outcomes, BH_FOUND, KEYS);
    check(memcmp(found, values, KEYS * sizeof *values) == 0, "other values are found");
    check_status(bh_erase(table, keys, KEYS / 2, NULL), BH_OK);
    memset(found, 0xee, KEYS * sizeof *found);
    check_status(bh_find(table, keys, KEYS, found, outcomes), BH_OK);
    check_outcomes(outcomes, BH_MISSING, KEYS / 2);
    check(found[0] == 0xeeeeeeeeu, "a missing key changed its value");

    check_status(bh_clear(table), BH_OK);
    keys_make(keys, 1000);
    for (uint32_t i = 0; i < KEYS; i++)
        values[i] = 1;
    check_status(bh_reduce(table, BH_ADD, keys, values, KEYS, outcomes), BH_OK);
    check_outcomes(outcomes, BH_INSERTED, 1000);
    check_status(bh_find(table, keys, 1000, found, NULL), BH_OK);
    for (uint32_t i = 0; i < 1000; i++)
        check(found[i] == KEYS / 1000, "key %u was counted %u times", i, found[i]);
    bh_table_destroy(table);
    free(keys);
    free(values);
    free(found);
    free(outcomes);
}

static void all_run(void **state)
{
    bh_context *context = context_new(0, NULL, NULL);
    (void)state;

    for (uint32_t i = 0; i < SCHEDULES && test_on_gpu(); i++)
        run_one(context, i);
    bh_context_destroy(context);
}

static void check_refused(bh_context *context, const bh_table_options *options)
{
    bh_table *table;

    check_status(bh_table_create(context, options, &table), BH_ERR_UNSUPPORTED);
    check(strlen(bh_error_detail()) > 10, "there is no sentence");
}

/* Cores have none of them, and a GPU has those to compare for 4-byte pairs, and regions for DyCuckoo's own
 * layout. */
static void others_are_refused(void **state)
{
    bh_context *context = context_new(0, NULL, NULL);
    const uint32_t bytes = test_on_gpu() ? 8 : 4;
    bh_table_options options = table_options(bytes, bytes, 100);
    bh_experimental_options experimental;
    (void)state;

    options.design = BH_DYCUCKOO;
    bh_experimental_options_init(&experimental);
    options.experimental = &experimental;
    for (uint32_t i = 0; i < SCHEDULES; i++) {
        experimental.gpu_schedule = schedules[i].compared;
        if (experimental.gpu_schedule != BH_GPU_SCHEDULE_DEFAULT)
            check_refused(context, &options);
    }
    experimental.gpu_schedule = BH_GPU_SCHEDULE_DEFAULT;
    experimental.values = BH_VALUES_APART; // not as they are by default
    options.schedule = BH_SCHEDULE_REGIONS;
    if (test_on_gpu())
        check_refused(context, &options);
    options = table_options(4, 4, 100);
    options.design = BH_HASHFIGHT;
    options.max_fill = 0;
    options.schedule = BH_SCHEDULE_REGIONS;
    if (test_on_gpu())
        check_refused(context, &options);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_run),
        cmocka_unit_test(others_are_refused),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
