/* ctest: fake device */
/* ctest: real device */
/*
 * Tables on a GPU whose slots lie in the host's memory, all or some of them: where they lie, what budgets
 * allow, what a table is worth after memory was refused, and when BH_AUTO makes such a table. What holds for every table is in contract.c, which
 * also runs with such slots.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/play.h"
#include "support/system.h"
#include "support/tables.h"
#include "tables/table.h"

static const test_widths wide = {8, 8}, narrow = {4, 4};

static bh_table_options options_of(test_widths widths, bh_table_memory memory)
{
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, 1);

    options.design = BH_STADIUM;
    options.stadium.table_memory = memory;
    return options;
}

/* Keys 0 .. n - 1 come in calls of n / 20. */
static void fill(bh_table *table, test_widths widths, uint64_t n)
{
    for (uint64_t from = 0; from < n; from += n / 20)
        play_call(table, widths, BH_INSERT, from, n / 20, BH_INSERTED);
}

/* A table that has used up what it may have of the GPU's memory goes on in the host's: some parts lie here, some
 * there. It comes back when it shrinks. */
static void goes_on_in_the_hosts_memory(void **state)
{
    bh_context *context = context_new(2, NULL, NULL);

    (void)state;
    for (int w = 0; w < 2; w++) {
        const test_widths widths = w == 0 ? narrow : wide;
        const uint64_t pair = widths.key_bytes + widths.value_bytes, n = 9600000 / pair;
        bh_table_options options = options_of(widths, BH_TABLE_MEMORY_AUTO);
        bh_table *table = NULL;
        bh_table_stats stats;

        options.max_device_bytes = 8u << 20;
        table = table_with(context, &options);
        fill(table, widths, n);
        table_check_stats(table);
        stats = table_stats(table);
        check(stats.bytes_device <= options.max_device_bytes, "beyond the GPU's budget");
        check(stats.bytes_device > options.max_device_bytes / 2,
              "only %llu bytes are in the GPU's memory", (unsigned long long)stats.bytes_device);
        check(stats.bytes_host > 0 && stats.bytes_host < stats.slots * pair,
              "%llu bytes of %llu slots are in the host's memory",
              (unsigned long long)stats.bytes_host, (unsigned long long)stats.slots);
        play_call(table, widths, BH_FIND, 0, n, BH_FOUND);
        play_call(table, widths, BH_FIND, n, n, BH_MISSING);
        play_call(table, widths, BH_UPDATE, 0, n, BH_ASSIGNED);
        play_call(table, widths, BH_ERASE, 0, n / 20 * 19, BH_ERASED);
        check_status(bh_compact(table), BH_OK);
        stats = table_stats(table);
        check(stats.bytes_host == 0, "%llu bytes of a small table are in the host's memory still",
              (unsigned long long)stats.bytes_host);
        play_call(table, widths, BH_FIND, n / 20 * 19, n / 20, BH_FOUND);
        play_call(table, widths, BH_FIND, 0, n / 20 * 19, BH_MISSING);
        bh_table_destroy(table);
    }
    bh_context_destroy(context);
}

/* Only the board takes the GPU's memory. */
static void in_the_hosts_memory_alone(void **state)
{
    const uint64_t n = 300000;
    bh_context *context = context_new(2, NULL, NULL);

    (void)state;
    for (int probe = BH_PROBE_BUCKET; probe <= BH_PROBE_SLOT; probe++) {
        bh_table_options options = options_of(wide, BH_TABLE_MEMORY_HOST);
        bh_table *table = NULL;
        bh_table_stats stats;

        options.stadium.probe = (bh_probe)probe;
        table = table_with(context, &options);
        fill(table, wide, n);
        stats = table_stats(table);
        check(stats.bytes_host >= stats.slots * 16 && stats.bytes_device < stats.slots * 2,
              "%llu slots: %llu bytes on the host, %llu on the GPU",
              (unsigned long long)stats.slots, (unsigned long long)stats.bytes_host,
              (unsigned long long)stats.bytes_device);
        play_call(table, wide, BH_FIND, 0, n, BH_FOUND);
        bh_table_destroy(table);
    }
    bh_context_destroy(context);
}

/* A call that would need more answers BH_ERR_FULL and names the budget, and no key is lost. */
static void within_both_budgets(void **state)
{
    const uint64_t n = 2400000;
    bh_context *context = context_new(2, NULL, NULL);
    bh_table_options options = options_of(narrow, BH_TABLE_MEMORY_AUTO);
    bh_table *table = NULL;
    bh_table_stats stats;
    batch all = play_numbered(narrow, 0, n);

    (void)state;
    options.max_device_bytes = 12u << 20;
    options.max_host_bytes = 6u << 20;
    table = table_with(context, &options);
    check_status(batch_call(table, BH_INSERT, &all), BH_ERR_FULL);
    check(strstr(bh_error_detail(), "max_host_bytes") != NULL, "it says: %s", bh_error_detail());
    stats = table_stats(table);
    check(stats.keys == batch_count(&all, BH_INSERTED) && stats.keys > n / 10 && stats.keys < n,
          "%llu keys are there", (unsigned long long)stats.keys);
    check(stats.bytes_host <= options.max_host_bytes && stats.bytes_host > 0, "%llu on the host",
          (unsigned long long)stats.bytes_host);
    check(stats.bytes_device <= options.max_device_bytes, "%llu on the GPU",
          (unsigned long long)stats.bytes_device);
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    check(batch_count(&all, BH_ERASED) == stats.keys, "not all keys were erased");
    bh_table_destroy(table);
    batch_free(&all);

    options = options_of(narrow, BH_TABLE_MEMORY_HOST);
    options.capacity = n;
    options.max_device_bytes = 1u << 18;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(strstr(bh_error_detail(), "max_device_bytes") != NULL, "it says: %s", bh_error_detail());
    bh_context_destroy(context);
}

/* The system gives no memory, or none that can be pinned, when the table is to grow. */
static void refused_in_the_middle_of_growth(void **state)
{
    const uint64_t n = 400000;
    watched_system system;
    bh_context *context = NULL;
    bh_table_options options = options_of(wide, BH_TABLE_MEMORY_HOST);
    bh_table *table = NULL;
    batch more = play_numbered(wide, n, n);
    uint64_t there = 0;

    (void)state;
    watched_start(&system);
    context = context_new(2, NULL, &system.system);
    table = table_with(context, &options);
    fill(table, wide, n);
    watched_refuse(&system, WATCH_BIT(WATCH_RESERVE), 1, true);
    check_status(batch_call(table, BH_INSERT, &more), BH_ERR_MEMORY);
    check(strstr(bh_error_detail(), "pinned") != NULL, "it says: %s", bh_error_detail());
    (void)watched_allow(&system);
    there = table_stats(table).keys;
    check(there == n + batch_count(&more, BH_INSERTED) && there < 2 * n, "%llu keys are there",
          (unsigned long long)there);
    play_call(table, wide, BH_FIND, 0, n, BH_FOUND);
    play_call(table, wide, BH_ERASE, 0, n, BH_ERASED);
    check_status(batch_call(table, BH_INSERT, &more), BH_OK);
    check(table_stats(table).keys == n, "not all keys are there");
    bh_table_destroy(table);
    bh_context_destroy(context);
    watched_end(&system);
    batch_free(&more);
}

/* A GPU that cannot reach the host's memory has tables in its own. */
static void out_of_reach(void **state)
{
    bh_table_options options = options_of(narrow, BH_TABLE_MEMORY_HOST);
    bh_table *table = NULL;
    bh_context *context = NULL;

    (void)state;
    if (!test_on_fake_gpu())
        skip();
    setenv("BULKHASH_FAKE_PINS_NOTHING", "1", 1);
    context = context_new(2, NULL, NULL);
    unsetenv("BULKHASH_FAKE_PINS_NOTHING");
    check_status(bh_table_create(context, &options, &table), BH_ERR_UNSUPPORTED);
    check(strstr(bh_error_detail(), "table_memory") != NULL, "it says: %s", bh_error_detail());
    options.stadium.table_memory = BH_TABLE_MEMORY_AUTO;
    options.max_device_bytes = 1u << 20;
    table = table_with(context, &options);
    {
        batch all = play_numbered(narrow, 0, 300000);

        check_status(batch_call(table, BH_INSERT, &all), BH_ERR_FULL);
        check(strstr(bh_error_detail(), "max_device_bytes") != NULL, "it says: %s",
              bh_error_detail());
        batch_free(&all);
    }
    check(table_stats(table).bytes_host == 0, "it has memory of the host");
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* A table of BH_AUTO for n keys, which must hold them; *stats is how it is before they come. */
static bh_table *automatic(bh_context *context, const bh_table_options *options, test_widths widths,
                           uint64_t n, bh_table_stats *stats)
{
    bh_table *table = table_with(context, options);

    *stats = table_stats(table);
    fill(table, widths, n);
    table_check_stats(table);
    play_call(table, widths, BH_FIND, 0, n, BH_FOUND);
    play_call(table, widths, BH_FIND, n, n, BH_MISSING);
    return table;
}

static bh_table_options automatic_options(test_widths widths, uint64_t n)
{
    bh_table_options options = options_of(widths, BH_TABLE_MEMORY_AUTO);

    options.design = BH_AUTO;
    options.capacity = n;
    return options;
}

/* BH_AUTO takes another design than else if the table that was asked for is larger than the GPU's budget, and that
 * design alone. */
static void chosen_by_the_budget(void **state)
{
    const uint64_t n = 400000;
    bh_context *context = context_new(2, NULL, NULL);

    (void)state;
    for (int w = 0; w < 2; w++) {
        const test_widths widths = w == 0 ? narrow : wide;
        bh_table_options options = automatic_options(widths, n);
        bh_table *table = NULL;
        bh_table_stats stats;
        uint64_t needed;

        bh_table_destroy(automatic(context, &options, widths, n, &stats));
        check(stats.board_bytes == 0 && stats.bytes_host == 0,
              "a table that fits has a board of %llu bytes and %llu bytes on the host",
              (unsigned long long)stats.board_bytes, (unsigned long long)stats.bytes_host);
        needed = stats.bytes_device;

        options.max_device_bytes = needed;
        bh_table_destroy(automatic(context, &options, widths, n, &stats));
        check(stats.board_bytes == 0, "a table within its budget is of another design");

        options.max_device_bytes = needed / 2;
        bh_table_destroy(automatic(context, &options, widths, n, &stats));
        check(stats.board_bytes > 0 && stats.bytes_host > 0, "no slots are in the host's memory");
        check(stats.bytes_device <= options.max_device_bytes, "beyond the GPU's budget");

        options.design = bh__design_chosen();
        check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
        check(table == NULL, "a table and an error");
    }
    bh_context_destroy(context);
}

/* The same where no budget is named and the GPU has no more. */
static void chosen_by_the_gpus_memory(void **state)
{
    const uint64_t n = 1000000;
    bh_table_options options = automatic_options(narrow, n);
    bh_context *context = NULL;
    bh_table *table = NULL;
    bh_table_stats stats;

    (void)state;
    if (!test_on_fake_gpu())
        skip();
    setenv("BULKHASH_FAKE_MEMORY", "6000000", 1);
    context = context_new(2, NULL, NULL);
    table = table_with(context, &options);
    unsetenv("BULKHASH_FAKE_MEMORY"); // so that there is some for the calls' arrays
    stats = table_stats(table);
    check(stats.bytes_host > 0 && stats.bytes_device < 6000000, "%llu bytes are on the host",
          (unsigned long long)stats.bytes_host);
    fill(table, narrow, n);
    play_call(table, narrow, BH_FIND, 0, n, BH_FOUND);
    bh_table_destroy(table);
    bh_context_destroy(context);
}

/* What refused the first design is answered; where another was tried, its reason stands beside that. */
static void refused_in_both_designs(void **state)
{
    bh_table_options options = automatic_options(narrow, 2400000);
    bh_context *context = context_new(2, NULL, NULL);
    bh_table *table = (bh_table *)(uintptr_t)1;

    (void)state;
    options.max_device_bytes = 1u << 18;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(table == NULL, "a table and an error");
    check(strstr(bh_error_detail(), "max_device_bytes") != NULL, "it says: %s", bh_error_detail());

    options.max_device_bytes = 8u << 20;
    options.max_host_bytes = 1u << 20;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(table == NULL, "a table and an error");
    check(strstr(bh_error_detail(), "max_device_bytes") != NULL &&
              strstr(bh_error_detail(), "BH_STADIUM") != NULL &&
              strstr(bh_error_detail(), "max_host_bytes") != NULL,
          "it says: %s", bh_error_detail());

    // Options that the other design does not take: the reason is the first one's all the same.
    options.max_host_bytes = 0;
    options.max_fill = 0.8;
    options.min_fill = 0.5;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(table == NULL, "a table and an error");
    bh_context_destroy(context);

    if (!test_on_fake_gpu())
        return;
    setenv("BULKHASH_FAKE_PINS_NOTHING", "1", 1);
    context = context_new(2, NULL, NULL);
    unsetenv("BULKHASH_FAKE_PINS_NOTHING");
    options = automatic_options(narrow, 2400000);
    options.max_device_bytes = 8u << 20;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(table == NULL && strstr(bh_error_detail(), "BH_STADIUM") == NULL, "it says: %s",
          bh_error_detail());
    bh_context_destroy(context);
}

/* On cores all memory is the host's, and no other design is tried. */
static void cores_keep_the_first_design(void **state)
{
    const uint64_t n = 400000;
    bh_table_options options = automatic_options(narrow, n);
    bh_context *context = NULL;
    bh_table *table = NULL;
    bh_table_stats stats;

    (void)state;
    check_status(bh_context_create("cpu", NULL, &context), BH_OK);
    options.max_device_bytes = 1u << 16; // which says nothing there
    table = table_with(context, &options);
    stats = table_stats(table);
    check(stats.board_bytes == 0 && stats.bytes_host == stats.bytes_total,
          "a table on cores is of another design");
    fill(table, narrow, n);
    play_call(table, narrow, BH_FIND, 0, n, BH_FOUND);
    bh_table_destroy(table);
    options.max_host_bytes = 1u << 20;
    check_status(bh_table_create(context, &options, &table), BH_ERR_FULL);
    check(table == NULL && strstr(bh_error_detail(), "BH_STADIUM") == NULL, "it says: %s",
          bh_error_detail());
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on_in_the_hosts_memory),
                                       cmocka_unit_test(in_the_hosts_memory_alone),
                                       cmocka_unit_test(within_both_budgets),
                                       cmocka_unit_test(refused_in_the_middle_of_growth),
                                       cmocka_unit_test(out_of_reach),
                                       cmocka_unit_test(chosen_by_the_budget),
                                       cmocka_unit_test(chosen_by_the_gpus_memory),
                                       cmocka_unit_test(refused_in_both_designs),
                                       cmocka_unit_test(cores_keep_the_first_design)};

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
