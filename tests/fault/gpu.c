/* ctest: fake device */
/* ctest: every design */
/* ctest: far memory */
/*
 * A GPU that refuses: every request to the module (src/cuda/module.h) fails once, before it does
 * anything. Whatever was asked for then, the call says so in a sentence, nothing hangs, no memory
 * stays behind (the fake module ends the program that leaves some), and either the table is whole
 * and every element was told what became of it, or every later call says that the GPU has failed.
 * And a GPU that is lost in the middle of a call, and one whose memory ends in the middle of
 * growth. Calls have several parts, which are copied while others run.
 *
 * On the fake module alone: it is told to fail by its environment.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/places.h"
#include "support/tables.h"

enum { KEYS = 3000 };

static uint32_t keys[KEYS], values[KEYS], found[KEYS];
static uint8_t inserted[KEYS], outcomes[KEYS], insertions[KEYS];

static void keys_make(void)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i * 2654435761u;
        values[i] = i + 7;
        insertions[i] = BH_INSERT;
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

/* Ways to insert that ask a GPU for other things. */
typedef struct way {
    const char *name;
    bh_duplicates duplicates;
    int operation;     // one that inserts, or BATCH_APPLY
    uint64_t capacity; // with room for all the first thing that a call asks for is another
} way;

static const way ways[] = {
    {"insert", BH_DUPLICATES_ANY, BH_INSERT, 1},
    {"reserved insert", BH_DUPLICATES_ANY, BH_INSERT, KEYS},
    {"ordered insert", BH_DUPLICATES_ORDERED, BH_INSERT, 1},
    {"reserved ordered insert", BH_DUPLICATES_ORDERED, BH_INSERT, KEYS},
    {"ordered apply", BH_DUPLICATES_ORDERED, BATCH_APPLY, 1},
    {"find_or_insert", BH_DUPLICATES_ANY, BH_FIND_OR_INSERT, 1},
    {"ordered find_or_insert", BH_DUPLICATES_ORDERED, BH_FIND_OR_INSERT, 1},
};

static bh_table_options way_options(const way *w)
{
    bh_table_options options = table_options(4, 4, w->capacity);

    options.duplicates = w->duplicates;
    return options;
}

static bh_status way_insert(const way *w, bh_table *table, uint32_t first, uint32_t count)
{
    static uint32_t given[KEYS];
    bh_status status;

    if (w->operation == BH_INSERT) {
        return bh_insert(table, keys + first, values + first, count, inserted + first);
    }
    // Values are an output array; whatever is refused, new keys leave theirs as they are.
    memcpy(given, values + first, count * sizeof *given);
    status = w->operation == BATCH_APPLY
                 ? bh_apply(table, insertions, keys + first, given, count, inserted + first)
                 : bh_find_or_insert(table, keys + first, given, count, inserted + first);
    check(memcmp(given, values + first, count * sizeof *given) == 0,
          "%s changed the values of new keys", w->name);
    return status;
}

/* Inserts all keys: many into an empty table, a few, and many again. Answers whether a call failed. */
static bool insert_all(const way *w, bh_table *table)
{
    static const uint32_t calls[] = {KEYS / 2, 100, KEYS / 2 - 100};
    bool failed = false;

    for (uint32_t first = 0, i = 0; i < TEST_COUNT(calls); first += calls[i++]) {
        failed |= refused(w->name, way_insert(w, table, first, calls[i]));
    }
    return failed;
}

// Calls find another way now and then, or ask again, so one that was not refused is not the end.
enum { QUIET_MOST = 100 };

static void requests_fail(const way *w, bool for_ever)
{
    const char *name = for_ever ? "BULKHASH_FAKE_REFUSE" : "BULKHASH_FAKE_FAIL";
    uint64_t fail, losses = 0, refusals = 0, quiet = 0;

    for (fail = 1;; fail++) {
        bh_context *context = NULL;
        bh_table *table = NULL;
        bh_table_options options = way_options(w);
        bool failed = false;

        tell(name, fail);
        memset(inserted, 0xee, sizeof inserted);
        failed = refused("bh_context_create", bh_context_create("cuda", NULL, &context));
        check(failed == (context == NULL), "a context and an error");
        if (context != NULL) {
            failed |= refused("bh_table_create", bh_table_create(context, &options, &table));
        }
        if (table != NULL) {
            failed |= insert_all(w, table);
            unsetenv(name);
            refusals += failed;
            // A refusal before the call began anything leaves its outcomes alone.
            for (uint32_t i = 0; i < KEYS; i++) {
                check(inserted[i] == BH_INSERTED || inserted[i] == BH_NOT_DONE ||
                          (failed && inserted[i] == 0xee),
                      "insert answered %u", inserted[i]);
            }
            losses += table_is_whole_or_lost(table);
        }
        unsetenv(name);
        bh_table_destroy(table);
        bh_context_destroy(context);
        quiet = failed ? 0 : quiet + 1;
        if (quiet > QUIET_MOST) {
            break;
        }
    }
    fail -= quiet;
    printf(
        "%s%s: %llu requests; of those in an insertion %llu were answered with an error, and %llu "
        "cost the table\n",
        w->name, for_ever ? ", refused for ever" : "", (unsigned long long)fail,
        (unsigned long long)refusals, (unsigned long long)losses);
    check(fail > 40 && losses < refusals, "the calls did not ask for much");
    // One refusal costs nothing that was there.
    check(for_ever || losses == 0, "%llu tables were lost", (unsigned long long)losses);
}

static void every_request_fails(void **state)
{
    (void)state;
    keys_make();
    for (size_t i = 0; i < TEST_COUNT(ways); i++) {
        requests_fail(&ways[i], false);
        requests_fail(&ways[i], true);
    }
}

/* Runs a lookup that may be refused: who was told something was told the truth, and a value is
 * written for keys that were found alone. Answers whether it was refused. */
static bool find_under_faults(bh_table *table, const uint32_t *asked, uint32_t *answers,
                              uint8_t *told)
{
    bool failed;

    for (uint32_t i = 0; i < KEYS; i++) {
        answers[i] = ~i;
    }
    memset(told, 0xee, KEYS);
    failed = refused("bh_find", bh_find(table, asked, KEYS, answers, told));
    for (uint32_t i = 0; i < KEYS; i++) {
        const bool there = inserted[i] == BH_INSERTED;
        check(told[i] == (there ? BH_FOUND : BH_MISSING) ||
                  (failed && (told[i] == BH_NOT_DONE || told[i] == 0xee)),
              "find answered %u", told[i]);
        check(told[i] != BH_FOUND || answers[i] == values[i], "key %u has value %u", i, answers[i]);
        check(answers[i] == ~i || answers[i] == values[i], "value %u was written", answers[i]);
        check(answers[i] == ~i || told[i] != BH_MISSING, "the value of a missing key was written");
    }
    return failed;
}

/* A lookup that is refused costs nothing, unless its kernel has been launched: what was not looked up
 * is marked so, and the table works. Arrays are pageable, and pinned; some keys are missing. */
static void lookups_are_refused(void **state)
{
    (void)state;
    keys_make();
    places_start();
    for (int p = 0; p < 2; p++) {
        const place where = p == 0 ? PLACE_PAGEABLE : PLACE_PINNED;
        uint32_t *asked = place_allocate(where, sizeof keys);
        uint32_t *answers = place_allocate(where, sizeof keys);
        uint8_t *told = place_allocate(where, KEYS);
        uint64_t fail = 1, losses = 0, refusals = 0;

        memcpy(asked, keys, sizeof keys);
        for (uint64_t quiet = 0; quiet <= QUIET_MOST; fail++) {
            bool failed;
            bh_context *context = context_new(1, NULL, NULL);
            bh_table *table = table_new(context, 4, 4, KEYS);

            memset(inserted, BH_NOT_DONE, sizeof inserted);
            check_status(bh_insert(table, keys, values, KEYS - KEYS / 3, inserted), BH_OK);
            tell("BULKHASH_FAKE_FAIL", fail);
            failed = find_under_faults(table, asked, answers, told);
            unsetenv("BULKHASH_FAKE_FAIL");
            refusals += failed;
            quiet = failed ? 0 : quiet + 1;
            losses += table_is_whole_or_lost(table);
            bh_table_destroy(table);
            bh_context_destroy(context);
        }
        printf("%s arrays: %llu refusals, %llu cost the table\n", place_name(where),
               (unsigned long long)refusals, (unsigned long long)losses);
        check(refusals > 20 && losses == 0, "the lookup did not ask for much");
        place_free(where, asked);
        place_free(where, answers);
        place_free(where, told);
    }
    places_end();
}

/* From some request on nothing is done any more. Every call ends, the first that notices says so,
 * and all memory is given back. */
static void gpu_is_lost_under(const way *w)
{
    bool failed = true;
    uint64_t lose = 1;

    for (; failed; lose++) {
        bh_table_options options = way_options(w);
        bh_context *context = NULL;
        bh_table *table = NULL;
        uint64_t cursor = 0;
        uint64_t count = 0;

        tell("BULKHASH_FAKE_LOSE", lose);
        failed = refused("bh_context_create", bh_context_create("cuda", NULL, &context));
        if (context != NULL) {
            failed |= refused("bh_table_create", bh_table_create(context, &options, &table));
        }
        if (table != NULL) {
            failed |= refused(w->name, way_insert(w, table, 0, KEYS));
            failed |= refused("bh_find", bh_find(table, keys, KEYS, found, outcomes));
            failed |= refused("bh_export", bh_export(table, &cursor, found, NULL, KEYS, &count));
            check(!failed || refused("bh_erase", bh_erase(table, keys, KEYS, NULL)),
                  "a GPU that was lost works");
        }
        bh_table_destroy(table);
        bh_context_destroy(context);
        unsetenv("BULKHASH_FAKE_LOSE");
    }
    printf("%s: lost at each of %llu requests\n", w->name, (unsigned long long)lose - 2);
}

static void gpu_is_lost(void **state)
{
    (void)state;
    keys_make();
    for (size_t i = 0; i < TEST_COUNT(ways); i++) {
        gpu_is_lost_under(&ways[i]);
    }
}

static void memory_ends_under(const way *w)
{
    for (uint64_t kib = 64; kib <= 1024; kib += 24) {
        bh_table_options options = way_options(w);
        bh_context *context = NULL;
        bh_table *table = NULL;
        bh_status status;

        // With room for all, in little of what is left.
        tell("BULKHASH_FAKE_MEMORY", kib * 1024);
        check_status(bh_context_create("cuda", NULL, &context), BH_OK);
        status = bh_table_create(context, &options, &table);
        if (status == BH_OK) {
            memset(inserted, BH_NOT_DONE, sizeof inserted);
            (void)insert_all(w, table);
            unsetenv("BULKHASH_FAKE_MEMORY"); // so that there is some for the finds
            check(!table_is_whole_or_lost(table), "memory that is refused costs no table");
        }
        unsetenv("BULKHASH_FAKE_MEMORY");
        bh_table_destroy(table);
        bh_context_destroy(context);
    }
}

static void memory_ends(void **state)
{
    (void)state;
    keys_make();
    for (size_t i = 0; i < TEST_COUNT(ways); i++) {
        memory_ends_under(&ways[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_fails),
        cmocka_unit_test(lookups_are_refused),
        cmocka_unit_test(gpu_is_lost),
        cmocka_unit_test(memory_ends),
    };

    if (!runs_here()) {
        printf("skipped: this is for the module that fails when it is told to\n");
        return TEST_SKIPPED;
    }
    setenv("BULKHASH_FAKE_PART", "700", 1);
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
