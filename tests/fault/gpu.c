/* ctest: fake device */
/*
 * A GPU that refuses: every request to the module (src/cuda/module.h) fails once, before it does
 * anything. Whatever was asked for then, the call says so in a sentence, nothing hangs, no memory
 * stays behind (the fake module ends the program that leaves some), and either the table is whole
 * and every element was told what became of it, or every later call says that the GPU has failed.
 * And a GPU whose memory ends in the middle of growth.
 *
 * On the fake module alone: it is told to fail by its environment.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/tables.h"

enum { KEYS = 3000 };

static uint32_t keys[KEYS], values[KEYS], found[KEYS];
static uint8_t inserted[KEYS], outcomes[KEYS];

static void keys_make(void)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i * 2654435761u;
        values[i] = i + 7;
    }
}

static bool runs_here(void)
{
    const char *module = getenv("BULKHASH_CUDA_MODULE");
    return test_on_gpu() && module != NULL && strstr(module, "fake") != NULL;
}

static void tell(const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

/* What a call answered: BH_OK, or an error of the GPU, with a sentence. Answers whether it failed. */
static bool refused(const char *call, bh_status status)
{
    if (status == BH_OK) {
        return false;
    }
    check(status == BH_ERR_DEVICE || status == BH_ERR_MEMORY || status == BH_ERR_FULL,
          "%s answered %s", call, bh_status_name(status));
    check(strlen(bh_error_detail()) > 10, "%s has no sentence for it", call);
    return true;
}

/* Every element that was said to be inserted is there, and no other; unless the GPU is lost, which
 * every call must say then. Answers whether it is. */
static bool table_is_whole_or_lost(bh_table *table)
{
    bh_table_stats stats;
    uint64_t there = 0;
    bh_status status;

    memset(found, 0, sizeof found);
    status = bh_find(table, keys, KEYS, found, outcomes);
    if (status == BH_ERR_DEVICE) {
        uint64_t cursor = 0;
        uint64_t count = 0;
        check_status(bh_insert(table, keys, values, KEYS, NULL), BH_ERR_DEVICE);
        check_status(bh_erase(table, keys, KEYS, NULL), BH_ERR_DEVICE);
        check_status(bh_export(table, &cursor, found, NULL, KEYS, &count), BH_ERR_DEVICE);
        check_status(bh_clear(table), BH_ERR_DEVICE);
        check_status(bh_reserve(table, 1), BH_ERR_DEVICE);
        check_status(bh_compact(table), BH_ERR_DEVICE);
        check(strstr(bh_error_detail(), "failed") != NULL, "it says: %s", bh_error_detail());
        return true;
    }
    check_status(status, BH_OK);
    for (uint32_t i = 0; i < KEYS; i++) {
        check((outcomes[i] == BH_FOUND) == (inserted[i] == BH_INSERTED),
              "key %u: insert answered %u, find %u", i, inserted[i], outcomes[i]);
        check(outcomes[i] != BH_FOUND || found[i] == values[i], "key %u has value %u", i, found[i]);
        there += outcomes[i] == BH_FOUND;
    }
    stats = table_stats(table);
    check(stats.keys == there, "the table says %llu keys, %llu are found",
          (unsigned long long)stats.keys, (unsigned long long)there);
    return false;
}

static void every_request_fails(void **state)
{
    uint64_t fail, losses = 0, refusals = 0;
    (void)state;

    keys_make();
    for (fail = 1;; fail++) {
        bh_context *context = NULL;
        bh_table *table = NULL;
        bh_table_options options = table_options(4, 4, 1);
        bool failed = false;

        tell("BULKHASH_FAKE_FAIL", fail);
        memset(inserted, 0xee, sizeof inserted);
        failed = refused("bh_context_create", bh_context_create("cuda", NULL, &context));
        check(failed == (context == NULL), "a context and an error");
        if (context != NULL) {
            failed |= refused("bh_table_create", bh_table_create(context, &options, &table));
        }
        if (table != NULL) {
            failed |= refused("bh_insert", bh_insert(table, keys, values, KEYS, inserted));
            unsetenv("BULKHASH_FAKE_FAIL");
            refusals += failed;
            // A refusal before the call began anything leaves its outcomes alone.
            for (uint32_t i = 0; i < KEYS; i++) {
                check(inserted[i] == BH_INSERTED || inserted[i] == BH_NOT_DONE ||
                          (failed && inserted[i] == 0xee),
                      "insert answered %u", inserted[i]);
            }
            losses += table_is_whole_or_lost(table);
        }
        unsetenv("BULKHASH_FAKE_FAIL");
        bh_table_destroy(table);
        bh_context_destroy(context);
        if (!failed) {
            break;
        }
    }
    printf("%llu requests; of those in an insertion %llu were answered with an error, and %llu cost "
           "the table\n",
           (unsigned long long)fail - 1, (unsigned long long)refusals, (unsigned long long)losses);
    check(fail > 100 && losses < refusals, "the calls did not ask for much");
}

static void memory_ends(void **state)
{
    (void)state;
    keys_make();
    for (uint64_t kib = 64; kib <= 1024; kib += 24) {
        bh_table_options options = table_options(4, 4, 1);
        bh_context *context = NULL;
        bh_table *table = NULL;
        bh_status status;

        tell("BULKHASH_FAKE_MEMORY", kib * 1024);
        check_status(bh_context_create("cuda", NULL, &context), BH_OK);
        status = bh_table_create(context, &options, &table);
        if (status == BH_OK) {
            memset(inserted, BH_NOT_DONE, sizeof inserted);
            (void)refused("bh_insert", bh_insert(table, keys, values, KEYS, inserted));
            unsetenv("BULKHASH_FAKE_MEMORY"); // so that there is some for the finds
            check(!table_is_whole_or_lost(table), "memory that is refused costs no table");
        }
        unsetenv("BULKHASH_FAKE_MEMORY");
        bh_table_destroy(table);
        bh_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_fails),
        cmocka_unit_test(memory_ends),
    };

    if (!runs_here()) {
        printf("skipped: this is for the module that fails when it is told to\n");
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
