/* ctest: every target */
/*
 * Stadium hashing's own promises: tickets of every size and both kinds of path, tables that are filled to the
 * last slot, erased tickets that are used again and that compacting makes fresh, parts that grow one by one, and
 * budgets. What holds for every design is in contract.c.
 */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/play.h"
#include "support/tables.h"

#define BH_TARGET_SCALAR 1
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/stadium/ops.h"

#include "support/board.h"

static bh_context *context;

static int stadium_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int stadium_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

static bh_table_options options_of(test_widths widths, uint64_t capacity)
{
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, capacity);

    options.design = BH_STADIUM;
    return options;
}

static board check_board(const bh_table *table)
{
    const board count = board_count(table);
    const bh_table_stats stats = table_stats(table);

    check(count.wrong == NULL, "%s", count.wrong == NULL ? "" : count.wrong);
    check(count.keys == stats.keys, "%llu keys on the board, and %llu counted",
          (unsigned long long)count.keys, (unsigned long long)stats.keys);
    check(count.erased == stats.tickets_erased, "%llu erased tickets, and %llu counted",
          (unsigned long long)count.erased, (unsigned long long)stats.tickets_erased);
    return count;
}

static void inspect(const bh_table *table)
{
    (void)check_board(table);
}

static const uint32_t ticket_bits[] = {1, 2, 4, 8};
static const bh_probe probes[] = {BH_PROBE_BUCKET, BH_PROBE_SLOT};

static void tickets_of_every_size(void **state)
{
    static const double fills[] = {0.3, 0.8, 1};

    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t b = 0; b < TEST_COUNT(ticket_bits); b++) {
            for (size_t p = 0; p < TEST_COUNT(probes); p++) {
                bh_table_options options = options_of(test_all_widths[w], 1);

                options.stadium.ticket_bits = ticket_bits[b];
                options.stadium.probe = probes[p];
                options.max_fill = fills[(b + p + (size_t)w) % TEST_COUNT(fills)];
                play_random(context, &options, test_seed() + b, inspect);
            }
        }
    }
}

static void wrong_options_are_named(void **state)
{
    static const struct {
        uint32_t ticket_bits, probe, table_memory;
        double max_fill, min_fill;
        const char *says;
    } wrong[] = {{3, 0, 0, 0, 0, "1, 2, 4 or 8"},    {16, 0, 0, 0, 0, "1, 2, 4 or 8"},
                 {0, 3, 0, 0, 0, "no bh_probe"},     {0, 0, 3, 0, 0, "no bh_table_memory"},
                 {0, 0, 0, 1.01, 0, "at most 1"},    {0, 0, 0, -1, 0, "above 0"},
                 {0, 0, 0, 0.8, 0.41, "at most 0.4"}};
    const test_widths widths = {4, 4};
    bh_table_options options = options_of(widths, 10);
    bh_table *table = NULL;
    (void)state;

    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        options = options_of(widths, 10);
        options.stadium.ticket_bits = wrong[i].ticket_bits;
        options.stadium.probe = (bh_probe)wrong[i].probe;
        options.stadium.table_memory = (bh_table_memory)wrong[i].table_memory;
        options.max_fill = wrong[i].max_fill;
        options.min_fill = wrong[i].min_fill;
        check_status(bh_table_create(context, &options, &table), BH_ERR_ARGUMENT);
        check(strstr(bh_error_detail(), wrong[i].says) != NULL, "it says: %s", bh_error_detail());
    }
    options = options_of(widths, 10);
    options.stadium.reserved = 1;
    check_status(bh_table_create(context, &options, &table), BH_ERR_ARGUMENT);
    options = options_of(widths, 10);
    options.stadium.file_path = "slots";
    check_status(bh_table_create(context, &options, &table), BH_ERR_UNSUPPORTED);
    check(strstr(bh_error_detail(), "file") != NULL, "it says: %s", bh_error_detail());
}

/* Every slot of a table can be taken, and its keys found, erased and replaced; lookups of absent keys come to
 * an end; one key more makes the table grow, or is refused. */
static void the_last_slot(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t i = 0; i < TEST_COUNT(ticket_bits) * TEST_COUNT(probes); i++) {
            const test_widths widths = test_all_widths[w];
            bh_table_options options = options_of(widths, 600);
            bh_table *table = NULL;
            uint64_t n = 0;
            batch more;

            options.stadium.ticket_bits = ticket_bits[i / TEST_COUNT(probes)];
            options.stadium.probe = probes[i % TEST_COUNT(probes)];
            options.max_fill = 1;
            options.min_fill = -1;
            table = table_with(context, &options);
            options.max_host_bytes = table_stats(table).bytes_total;
            bh_table_destroy(table);
            table = table_with(context, &options);
            n = table_stats(table).slots;
            play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
            play_call(table, widths, BH_FIND, 0, n, BH_FOUND);
            play_call(table, widths, BH_FIND, n, 200, BH_MISSING);
            (void)check_board(table);
            more = play_numbered(widths, n, 10);
            check_status(batch_call(table, BH_INSERT, &more), BH_ERR_FULL);
            batch_check_all(&more, BH_NOT_DONE);
            batch_free(&more);
            for (uint64_t from = 0; from < n / 16 * 16; from += n / 16) {
                play_call(table, widths, BH_ERASE, from, n / 16, BH_ERASED);
                play_call(table, widths, BH_INSERT, from + n, n / 16, BH_INSERTED);
            }
            check(table_stats(table).grows == 0, "it grew");
            (void)check_board(table);
            bh_table_destroy(table);
        }
    }
}

/* Whatever max_fill allows, a table that grows keeps a few slots free; but as many keys as were asked for are put into as many
 * slots. */
static void slots_to_spare(void **state)
{
    const test_widths widths = {4, 4};
    const uint64_t full = 631 * 64; // as many slots as a prime of lines has
    bh_table_options options = options_of(widths, 1);
    bh_table *table = NULL;
    bh_table_stats before;
    uint64_t slots = 0;
    (void)state;

    options.max_fill = 1;
    options.min_fill = -1;
    table = table_with(context, &options);
    for (uint64_t n = 0; n < full; n += 631) {
        bh_table_stats stats;

        play_call(table, widths, BH_INSERT, n, 631, BH_INSERTED);
        stats = table_stats(table);
        slots = stats.slots;
        check(stats.keys <= stats.max_keys && stats.max_keys <= slots - slots / 256,
              "%llu keys, at most %llu, of %llu slots", (unsigned long long)stats.keys,
              (unsigned long long)stats.max_keys, (unsigned long long)slots);
    }
    // Reserved: no more slots than there are.
    before = table_stats(table);
    check_status(bh_reserve(table, slots), BH_OK);
    check(table_stats(table).slots == slots && table_stats(table).grows == before.grows &&
              table_stats(table).max_keys == slots,
          "there were as many slots as keys were asked for");
    // Compacted: as many slots as there are keys, and no key too many.
    check_status(bh_compact(table), BH_OK);
    check(table_stats(table).slots == full && table_stats(table).max_keys == full,
          "%llu keys at most in %llu slots", (unsigned long long)table_stats(table).max_keys,
          (unsigned long long)table_stats(table).slots);
    play_call(table, widths, BH_INSERT, full, 1, BH_INSERTED);
    check(table_stats(table).slots > full, "it did not grow");
    bh_table_destroy(table);
    options.capacity = slots;
    table = table_with(context, &options);
    slots = table_stats(table).slots;
    bh_table_destroy(table);
    options.capacity = slots;
    table = table_with(context, &options);
    check(table_stats(table).slots == slots, "a prime of lines is not enough for itself");
    play_call(table, widths, BH_INSERT, 0, slots, BH_INSERTED);
    check(table_stats(table).grows == 0 && table_stats(table).slots == slots, "it grew");
    bh_table_destroy(table);
}

/* Keys come and go in a table that does not grow: their slots are used again, and compacting makes all that are
 * free fresh. */
static void erased_tickets(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (size_t p = 0; p < TEST_COUNT(probes); p++) {
            const test_widths widths = test_all_widths[w];
            const uint64_t part = test_scaled(60000) / 8, n = 8 * part;
            bh_table_options options = options_of(widths, n);
            bh_table *table = NULL;
            board before, after;

            options.min_fill = -1;
            options.stadium.probe = probes[p];
            table = table_with(context, &options);
            play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
            for (uint64_t from = 0; from < 3 * n; from += part) {
                play_call(table, widths, BH_ERASE, from, part, BH_ERASED);
                play_call(table, widths, BH_INSERT, from + n, part, BH_INSERTED);
            }
            check(table_stats(table).grows == 0, "it grew");
            before = check_board(table);
            check(before.erased > 0, "no ticket is erased");
            play_call(table, widths, BH_FIND, 0, 3 * part, BH_MISSING);
            check_status(bh_compact(table), BH_OK);
            after = check_board(table);
            check(after.erased == 0, "%llu tickets are erased still",
                  (unsigned long long)after.erased);
            play_call(table, widths, BH_FIND, 0, 3 * part, BH_MISSING);
            play_call(table, widths, BH_FIND, 3 * n, n, BH_FOUND);
            bh_table_destroy(table);
        }
    }
}

/* Lookups of keys that are there, and of others, in stretches of several lengths, so that the front of cores changes
 * between its ways in the midst of a call: each gets its own answer, and no other value is touched; also as lookups of a
 * mixed call. Every second table has grown from one key. */
static void stretches_of_absent_keys(void **state)
{
    static const double fills[] = {0.5, 0.8, 0.95, 1};
    const uint64_t lengths[] = {1, 5, 40, 700, 3000, 9000};

    (void)state;
    for (size_t k = 0; k < 2 * TEST_COUNT(fills); k++) {
        const bool many_parts = k % 2;
        const test_widths widths = {k % 4 < 2 ? 4 : 8, k % 4 < 2 ? 4 : 8};
        const uint64_t n = test_scaled(many_parts ? 300000 : 40000);
        bh_table_options options = options_of(widths, n);
        bh_table *table = NULL;
        batch calls;

        options.min_fill = -1;
        options.max_fill = fills[k / 2];
        options.capacity = many_parts ? 1 : n;
        table = table_with(context, &options);
        calls = batch_new(widths.key_bytes, widths.value_bytes, n);
        for (uint64_t i = 0; i < n; i++)
            batch_set(&calls, i, random_key(widths.key_bytes, 7, i), i + 1);
        check_status(batch_call(table, BH_INSERT, &calls), BH_OK);
        for (size_t l = 0; l < 2 * TEST_COUNT(lengths); l++) {
            const uint64_t length = lengths[l / 2];

            for (uint64_t i = 0; i < n; i++) {
                const bool absent = i / length % 2;

                batch_set(&calls, i, random_key(widths.key_bytes, 7, absent ? n + i : i), 0);
                calls.ops[i] = BH_FIND;
            }
            /* One element of another kind in a mixed call: else it would be one of lookups. */
            calls.ops[n - 1] = l % 2 ? BH_UPDATE : BH_FIND;
            batch_set(&calls, n - 1, random_key(widths.key_bytes, 7, 2 * n), 0);
            check_status(batch_call(table, l % 2 ? BATCH_APPLY : BH_FIND, &calls), BH_OK);
            for (uint64_t i = 0; i < n; i++) {
                const bool absent = i / length % 2 || i == n - 1;

                check(calls.outcomes[i] == (absent ? BH_MISSING : BH_FOUND) &&
                          batch_value(&calls, i) == (absent ? 0 : i + 1),
                      "fill %g, stretches of %llu, element %llu: %u, value %llu", fills[k / 2],
                      (unsigned long long)length, (unsigned long long)i, calls.outcomes[i],
                      (unsigned long long)batch_value(&calls, i));
            }
        }
        batch_free(&calls);
        bh_table_destroy(table);
    }
}

/* From one part to many, and back; no more than two keys are moved for one that is inserted. */
static void grows_and_shrinks(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const bool large = w == 1;
        const uint64_t n = large ? 1200000 : 100000, part = n / 50;
        bh_table_options options = options_of(widths, 1);
        bh_table *table = NULL;
        bh_table_stats most, least;

        options.max_fill = w % 2 == 0 ? 0 : 0.95;
        table = table_with(context, &options);
        for (uint64_t from = 0; from < n; from += part) {
            play_call(table, widths, BH_INSERT, from, part, BH_INSERTED);
        }
        (void)check_board(table);
        most = table_stats(table);
        check(most.keys_moved <= 2 * n, "%llu keys were moved for %llu",
              (unsigned long long)most.keys_moved, (unsigned long long)n);
        check(!large || ((const bh_st_geometry *)table->policy->geometry(table))->parts > 3,
              "it has not been split");
        for (uint64_t from = 0; from < n - part; from += part) {
            play_call(table, widths, BH_ERASE, from, part, BH_ERASED);
            check(table_stats(table).keys * 16 > table_stats(table).slots / 4 ||
                      table_stats(table).slots < 4096,
                  "%llu keys in %llu slots", (unsigned long long)table_stats(table).keys,
                  (unsigned long long)table_stats(table).slots);
        }
        (void)check_board(table);
        least = table_stats(table);
        check(least.shrinks > 0 && least.bytes_total * 4 < most.bytes_total,
              "%llu bytes of %llu after %llu halvings", (unsigned long long)least.bytes_total,
              (unsigned long long)most.bytes_total, (unsigned long long)least.shrinks);
        play_call(table, widths, BH_FIND, n - part, part, BH_FOUND);
        play_call(table, widths, BH_INSERT, 0, n - part, BH_INSERTED);
        (void)check_board(table);
        bh_table_destroy(table);
    }
}

/* A table that was made, or reserved, for so many keys takes them without growing, however full it may be. */
static void reserved_is_enough(void **state)
{
    static const double fills[] = {0.5, 0.8, 0.95, 1};
    const test_widths widths = {4, 4};

    (void)state;
    for (size_t f = 0; f < TEST_COUNT(fills); f++) {
        for (uint64_t n = 60; n < 100000; n = n * 5 + 17) {
            bh_table_options options = options_of(widths, n);
            bh_table *table = NULL;

            options.max_fill = fills[f];
            table = table_with(context, &options);
            play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
            check(table_stats(table).grows == 0, "%llu keys at %g: it grew", (unsigned long long)n,
                  fills[f]);
            check_status(bh_reserve(table, 3 * n), BH_OK);
            const uint64_t grows = table_stats(table).grows;
            play_call(table, widths, BH_INSERT, n, 2 * n, BH_INSERTED);
            check(table_stats(table).grows == grows, "it grew after a reserve");
            (void)check_board(table);
            bh_table_destroy(table);
        }
    }
}

/* A table that has used its budget up is whole, erases without memory, and takes keys again. */
static void within_a_budget(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = 600000;
        bh_table_options options = options_of(widths, 1);
        bh_table *table = NULL;
        uint64_t keys = 0;
        batch all = play_numbered(widths, 0, n);

        options.max_host_bytes = widths.key_bytes + widths.value_bytes > 8 ? 5000000 : 3000000;
        table = table_with(context, &options);
        check_status(batch_call(table, BH_INSERT, &all), BH_ERR_FULL);
        keys = table_stats(table).keys;
        check(keys > 100000 && keys == batch_count(&all, BH_INSERTED) &&
                  keys + batch_count(&all, BH_NOT_DONE) == n,
              "%llu keys are there", (unsigned long long)keys);
        check(table_stats(table).bytes_total <= options.max_host_bytes, "beyond its budget");
        (void)check_board(table);
        (void)batch_call(table, BH_ERASE, &all);
        check(batch_count(&all, BH_ERASED) == keys, "not all keys were erased");
        (void)batch_call(table, BH_INSERT, &all);
        check(batch_count(&all, BH_INSERTED) * 10 > keys * 9, "%llu keys after %llu",
              (unsigned long long)batch_count(&all, BH_INSERTED), (unsigned long long)keys);
        (void)check_board(table);
        batch_free(&all);
        bh_table_destroy(table);
    }
}

/* Sets the keys of a batch to such that have the same ticket, and whose paths begin with the same line. */
static void find_keys_of_one_line(const bh_st_geometry *g, batch *keys)
{
    uint64_t key = 0;

    for (uint64_t i = 0; i < keys->n; key++) {
        const bh_hash h = bh_hash_key(key, &g->seed);

        if (bh_st_ready(g, &h) == 7 && bh_hash_range(h.one, g->part->units) == 1) {
            batch_set(keys, i, key, i);
            i++;
        }
    }
}

/* The same, but two and two have paths that begin with the same word: the one is in the first half of the batch, the other in the
 * second. */
static void find_keys_of_one_ticket(const bh_st_geometry *g, batch *keys)
{
    const uint64_t half = keys->n / 2;
    unsigned char *found = test_allocate(g->part->units * BH_ST_WORDS);
    uint64_t key = 0, firsts = 0, seconds = 0;

    memset(found, 0, g->part->units * BH_ST_WORDS);
    for (; seconds < half; key++) {
        const bh_hash h = bh_hash_key(key, &g->seed);
        unsigned char *const word =
            found + bh_hash_range(h.one, g->part->units) * BH_ST_WORDS + h.two % BH_ST_WORDS;

        if (bh_st_ready(g, &h) == 7 && *word == 0 && firsts < half) {
            batch_set(keys, firsts, key, firsts);
            firsts++;
            *word = 1;
        } else if (bh_st_ready(g, &h) == 7 && *word == 1) {
            batch_set(keys, half + seconds, key, half + seconds);
            seconds++;
            *word = 2;
        }
    }
    free(found);
}

static void check_values(bh_table *table, batch *keys)
{
    check_status(batch_call(table, BH_FIND, keys), BH_OK);
    batch_check_all(keys, BH_FOUND);
    for (uint64_t i = 0; i < keys->n; i++) {
        check(batch_value(keys, i) == i, "key %llu has value %llu", (unsigned long long)i,
              (unsigned long long)batch_value(keys, i));
        batch_set_value(keys, i, i);
    }
}

/* Someone who knows the seed sends keys that all have the same ticket: each of them must be told from all others by looking at
 * slots. First each meets one other when it is inserted, then hundreds. */
static void keys_of_one_ticket(void **state)
{
    const test_widths widths = {8, 8};
    const uint64_t n = 1000, half = n / 2, others = 3000;

    (void)state;
    for (int line = 0; line <= 1; line++) {
        bh_table_options options = options_of(widths, n + others);
        batch keys = batch_new(8, 8, n), some = batch_new(8, 8, half);
        bh_table *table = NULL;
        const bh_st_geometry *g = NULL;

        options.seed = 5;
        options.seed_fixed = 1;
        options.min_fill = -1;
        table = table_with(context, &options);
        g = table->policy->geometry(table);
        check(g->parts == 1, "the table has %u parts", g->parts);
        if (line) {
            find_keys_of_one_line(g, &keys);
            play_call(table, widths, BH_INSERT, 0, others, BH_INSERTED);
        } else {
            find_keys_of_one_ticket(g, &keys);
        }
        for (uint64_t i = 0; i < half; i++) {
            batch_set(&some, i, batch_key(&keys, i), 0);
        }
        check_status(batch_call(table, BH_INSERT, &some), BH_OK);
        batch_check_all(&some, BH_INSERTED);
        for (uint64_t i = 0; i < half; i++) {
            batch_set(&some, i, batch_key(&keys, half + i), half + i);
        }
        check_status(batch_call(table, BH_INSERT, &some), BH_OK);
        batch_check_all(&some, BH_INSERTED);
        (void)check_board(table);
        check_status(batch_call(table, BH_INSERT, &keys), BH_OK);
        batch_check_all(&keys, BH_ASSIGNED);
        check_values(table, &keys);
        check_status(batch_call(table, BH_ERASE, &some), BH_OK);
        batch_check_all(&some, BH_ERASED);
        check_status(batch_call(table, BH_FIND, &some), BH_OK);
        batch_check_all(&some, BH_MISSING);
        check_status(batch_call(table, BH_INSERT, &some), BH_OK);
        batch_check_all(&some, BH_INSERTED);
        (void)check_board(table);
        check_values(table, &keys);
        if (line) {
            play_call(table, widths, BH_FIND, 0, others, BH_FOUND);
        }
        check(table_stats(table).keys == n + (line ? others : 0), "%llu keys are there",
              (unsigned long long)table_stats(table).keys);
        batch_free(&keys);
        batch_free(&some);
        bh_table_destroy(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tickets_of_every_size), cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(the_last_slot),         cmocka_unit_test(slots_to_spare),
        cmocka_unit_test(erased_tickets),        cmocka_unit_test(grows_and_shrinks),
        cmocka_unit_test(reserved_is_enough),    cmocka_unit_test(within_a_budget),
        cmocka_unit_test(keys_of_one_ticket),    cmocka_unit_test(stretches_of_absent_keys)};

    return test_target_runs()
               ? test_exit_status(cmocka_run_group_tests(tests, stadium_start, stadium_end))
               : TEST_SKIPPED;
}
