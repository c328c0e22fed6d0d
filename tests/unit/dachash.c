/* ctest: every target */
/*
 * DACHash's own promises: nodes of every size, nodes that add up, holes that are used again, what cleaning
 * and shrinking give back, chains as long as somebody wants them, and full tables. What holds for every
 * design is in contract.c.
 */
#include <string.h>

#include "support/check.h"
#include "support/play.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

#define BH_TARGET_SCALAR 1
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/dachash/ops.h"

#include "support/chains.h"

static bh_context *context;

static int dachash_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int dachash_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

static bh_table_options options_of(test_widths widths, uint64_t capacity)
{
    bh_table_options options = table_options(widths.key_bytes, widths.value_bytes, capacity);

    options.design = BH_DACHASH;
    return options;
}

static chains check_nodes(const bh_table *table)
{
    const chains count = chains_count(table);
    const bh_da_geometry *g = table->policy->geometry(table);
    const bh_table_stats stats = table_stats(table);

    check(count.wrong == NULL, "%s", count.wrong == NULL ? "" : count.wrong);
    check(stats.chains == g->whole + g->split && stats.nodes_used == count.nodes &&
              stats.nodes_used + stats.nodes_free == g->nodes_most,
          "the statistics say %llu chains, %llu nodes used and %llu free",
          (unsigned long long)stats.chains, (unsigned long long)stats.nodes_used,
          (unsigned long long)stats.nodes_free);
    return count;
}

static void inspect(const bh_table *table)
{
    (void)check_nodes(table);
}

static void nodes_of_every_size(void **state)
{
    static const double fills[] = {0.3, 1, 4};

    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (uint32_t bytes = 16; bytes <= 128; bytes *= 2) {
            for (size_t f = 0; f < TEST_COUNT(fills); f++) {
                bh_table_options options = options_of(test_all_widths[w], 1);

                if (bytes == 16 && options.key_bytes + options.value_bytes > 8) {
                    continue;
                }
                options.dachash.node_bytes = bytes;
                options.max_fill = fills[f];
                play_random(context, &options, test_seed() + bytes, inspect);
            }
        }
    }
}

static void wrong_options_are_named(void **state)
{
    static const struct {
        test_widths widths;
        uint32_t node_bytes;
        double max_fill;
        double min_fill;
        const char *says;
    } wrong[] = {
        {{4, 4}, 8, 0, 0, "16, 32, 64 or 128"},   {{4, 4}, 48, 0, 0, "16, 32, 64 or 128"},
        {{4, 4}, 256, 0, 0, "16, 32, 64 or 128"}, {{8, 8}, 16, 0, 0, "can be 32, 64 or 128"},
        {{4, 4}, 0, 4.01, 0, "at most 4"},        {{4, 4}, 0, -1, 0, "above 0"},
        {{4, 4}, 0, 1, 0.51, "at most 0.5"}};
    (void)state;

    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        bh_table_options options = options_of(wrong[i].widths, 10);
        bh_table *table = NULL;

        options.dachash.node_bytes = wrong[i].node_bytes;
        options.max_fill = wrong[i].max_fill;
        options.min_fill = wrong[i].min_fill;
        check_status(bh_table_create(context, &options, &table), BH_ERR_ARGUMENT);
        check(strstr(bh_error_detail(), wrong[i].says) != NULL, "it says: %s", bh_error_detail());
    }
    {
        bh_table_options options = options_of((test_widths){4, 4}, 10);
        bh_table *table = NULL;

        options.dachash.reserved = 1;
        check_status(bh_table_create(context, &options, &table), BH_ERR_ARGUMENT);
    }
}

/* Keys come and go in a table that does not shrink: their slots are used again, and the table takes no more
 * memory than chance wants. */
static void holes_are_used_again(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(40000), part = n / 8;
        bh_table_options options = options_of(widths, n);
        bh_table *table = NULL;
        uint64_t bytes = 0;

        options.min_fill = -1;
        table = table_with(context, &options);
        bytes = table_stats(table).bytes_total;
        play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
        for (uint64_t from = 0; from < 3 * n; from += part) {
            play_call(table, widths, BH_ERASE, from, part, BH_ERASED);
            play_call(table, widths, BH_INSERT, from + n, part, BH_INSERTED);
        }
        (void)check_nodes(table);
        check(table_stats(table).grows == 0, "it grew");
        check((double)table_stats(table).bytes_total <= 1.2 * (double)bytes,
              "from %llu bytes it came to %llu", (unsigned long long)bytes,
              (unsigned long long)table_stats(table).bytes_total);
        check(TEST_ADDRESS_SANITIZER || table_stats(table).keys_moved == 0,
              "nodes were packed, although slices take those that cleaning returns");
        bh_table_destroy(table);
    }
}

/* Compacting returns the nodes that erased keys have left, and their memory. */
static void compact_returns_nodes(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(60000);
        bh_table_options options = options_of(widths, n);
        bh_table *table = NULL;
        chains before, after;
        uint64_t bytes = 0;

        options.min_fill = -1;
        options.max_fill = 4;
        table = table_with(context, &options);
        play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
        before = check_nodes(table);
        bytes = table_stats(table).bytes_total;
        play_call(table, widths, BH_ERASE, 0, n - n / 16, BH_ERASED);
        check(check_nodes(table).nodes == before.nodes, "erasing has changed chains");
        check_status(bh_compact(table), BH_OK);
        after = check_nodes(table);
        check(after.nodes * 8 < before.nodes, "%llu of %llu nodes are left",
              (unsigned long long)after.nodes, (unsigned long long)before.nodes);
        check(table_stats(table).bytes_total * 4 < bytes, "%llu of %llu bytes are left",
              (unsigned long long)table_stats(table).bytes_total, (unsigned long long)bytes);
        play_call(table, widths, BH_FIND, n - n / 16, n / 16, BH_FOUND);
        play_call(table, widths, BH_FIND, 0, n - n / 16, BH_MISSING);
        play_call(table, widths, BH_INSERT, 0, n - n / 16, BH_INSERTED);
        (void)check_nodes(table);
        bh_table_destroy(table);
    }
}

static void check_noted(const bh_table *table, bool wanted, const char *when)
{
    const bh_da_geometry *g = table->policy->geometry(table);

    (void)check_nodes(table);
    check(TEST_ADDRESS_SANITIZER || (g->turnover != 0) == wanted, "%s erasures are%s noted", when,
          wanted ? " not" : "");
}

/* Insertions rely on it that no key has been erased, until one is (WHAT A LOCK FINDS CHANGED in ops.h). */
static void erasures_are_noted(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(20000);
        bh_table_options options = options_of(widths, 1);
        bh_table *table = NULL;

        options.max_fill = 2;
        table = table_with(context, &options);
        play_call(table, widths, BH_INSERT, 0, n, BH_INSERTED);
        check_noted(table, false, "after insertions");
        check_status(bh_reserve(table, 4 * n), BH_OK);
        check_noted(table, false, "after splits");
        check_status(bh_compact(table), BH_OK);
        check_noted(table, false, "after merges");
        play_call(table, widths, BH_ERASE, n, n, BH_MISSING);
        check_noted(table, false, "after erasures of absent keys");
        play_call(table, widths, BH_ERASE, 0, n / 3, BH_ERASED);
        check_noted(table, true, "after erasures");
        play_call(table, widths, BH_INSERT, 0, n / 3, BH_INSERTED);
        check_noted(table, true, "after insertions of erased keys");
        check_status(bh_compact(table), BH_OK);
        check_noted(table, false, "after compacting");
        play_call(table, widths, BH_INSERT, n, n, BH_INSERTED);
        play_call(table, widths, BH_FIND, 0, 2 * n, BH_FOUND);
        check_noted(table, false, "after more insertions");
        play_call(table, widths, BH_ERASE, 0, 1, BH_ERASED);
        check_noted(table, true, "after one erasure");
        check_status(bh_clear(table), BH_OK);
        check_noted(table, false, "after clearing");
        bh_table_destroy(table);
    }
}

/* Nobody can keep a table from taking keys that all have one bucket: its chain is as long as it must be, and
 * the stack grows for it. */
static void one_bucket(void **state)
{
    const test_widths widths = {8, 8};
    const uint64_t n = test_scaled(3000);
    bh_table_options options = options_of(widths, 4 * n);
    batch all = batch_new(8, 8, n);
    bh_table *table = NULL;
    const bh_da_geometry *g = NULL;
    uint64_t count = 0;
    (void)state;

    options.seed = 12;
    options.seed_fixed = 1;
    table = table_with(context, &options);
    g = table->policy->geometry(table);
    for (uint64_t key = 0; count < n; key++) {
        if (bh_da_first(g, bh_hash_key(key, &g->seed).one) == g->buckets) {
            batch_set(&all, count, key, key);
            count++;
        }
    }
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    check(check_nodes(table).longest >= n / 3, "the chain is not as long as it should be");
    check_status(batch_call(table, BH_ADD, &all), BH_OK);
    batch_check_all(&all, BH_ASSIGNED);
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    batch_check_all(&all, BH_ERASED);
    check_status(bh_compact(table), BH_OK);
    check(check_nodes(table).nodes == 0, "an empty table has chains");
    batch_free(&all);
    bh_table_destroy(table);
}

/* A table that may not grow, in the middle of a mixed call: what needs no room is done, new keys are done as
 * far as there is room, and the others are named. */
static void full_in_a_mixed_call(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(20000);
        bh_table_options options = options_of(widths, n);
        bh_table *table = table_with(context, &options);
        uint64_t inserted = 0, refused = 0, there = 0;
        batch mix = batch_new(widths.key_bytes, widths.value_bytes, 3 * n);

        options.max_host_bytes = table_stats(table).bytes_total;
        bh_table_destroy(table);
        table = table_with(context, &options);
        there = table_stats(table).max_keys / 2;
        play_call(table, widths, BH_INSERT, 0, there, BH_INSERTED);
        for (uint64_t i = 0; i < mix.n; i++) {
            const bool old = i % 3 != 0;
            const uint64_t number = old ? i % there : there + i;

            batch_set(&mix, i, random_key(widths.key_bytes, 815, number), i);
            mix.ops[i] = !old ? BH_INSERT : number % 64 == 0 ? BH_ERASE : BH_FIND;
        }
        check_status(batch_call(table, BATCH_APPLY, &mix), BH_ERR_FULL);
        for (uint64_t i = 0; i < mix.n; i++) {
            if (mix.ops[i] == BH_INSERT) {
                inserted += mix.outcomes[i] == BH_INSERTED;
                refused += mix.outcomes[i] == BH_NOT_DONE;
            } else {
                check(mix.outcomes[i] != BH_NOT_DONE, "element %llu needs no room",
                      (unsigned long long)i);
            }
        }
        check(inserted + refused == n && refused > 0, "%llu inserted and %llu refused",
              (unsigned long long)inserted, (unsigned long long)refused);
        check(table_stats(table).bytes_total <= options.max_host_bytes, "beyond its budget");
        check(table_stats(table).keys == table_stats(table).max_keys, "%llu keys of %llu",
              (unsigned long long)table_stats(table).keys,
              (unsigned long long)table_stats(table).max_keys);
        (void)check_nodes(table);
        batch_free(&mix);
        bh_table_destroy(table);
    }
}

/* A table that has used its budget up can be compacted all the same. Then keys that have been reserved for find
 * nodes, too, which compacting had given up: the next call needs no memory. */
static void compact_within_a_budget(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(60000);
        bh_table_options options = options_of(widths, n);
        bh_table *table = table_with(context, &options);
        const uint64_t bytes = table_stats(table).bytes_total;
        bh_table_stats stats;

        bh_table_destroy(table);
        // Where huge pages come into it, there is more memory than was asked for.
        options.max_host_bytes = bytes;
        options.capacity = 1;
        options.min_fill = -1;
        table = table_with(context, &options);
        // In calls that the table does not see coming: so it has as many buckets as doublings from one make.
        for (uint64_t k = 0; k < n; k += 30) {
            batch all = play_numbered(widths, k, 30);

            (void)batch_call(table, BH_INSERT, &all);
            batch_free(&all);
        }
        stats = table_stats(table);
        check(stats.bytes_total <= bytes, "beyond its budget");
        play_call(table, widths, BH_ERASE, 0, n / 8 * 3, BH_ERASED);
        check_status(bh_compact(table), BH_OK);
        check(table_stats(table).keys * 4 > table_stats(table).max_keys, "%llu keys, room for %llu",
              (unsigned long long)table_stats(table).keys,
              (unsigned long long)table_stats(table).max_keys);
        (void)check_nodes(table);
        const uint64_t reserved = stats.max_keys / 4 * 3;
        check_status(bh_reserve(table, reserved), BH_OK);
        stats = table_stats(table);
        play_call(table, widths, BH_INSERT, 0, reserved - stats.keys, BH_INSERTED);
        check(table_stats(table).bytes_total == stats.bytes_total,
              "%llu bytes were not enough, but %llu", (unsigned long long)stats.bytes_total,
              (unsigned long long)table_stats(table).bytes_total);
        (void)check_nodes(table);
        bh_table_destroy(table);
    }
}

/* Keys go: the array halves, down to a few buckets, and comes back. */
static void shrinks_and_grows(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths widths = test_all_widths[w];
        const uint64_t n = test_scaled(60000), part = n / 50;
        bh_table_options options = options_of(widths, 1);
        bh_table *table = table_with(context, &options);
        bh_table_stats most, least;

        for (uint64_t from = 0; from < n; from += part) {
            play_call(table, widths, BH_INSERT, from, part, BH_INSERTED);
        }
        most = table_stats(table);
        check(most.keys_moved <= 2 * n, "%llu keys were moved for %llu",
              (unsigned long long)most.keys_moved, (unsigned long long)n);
        for (uint64_t from = 0; from < n - part; from += part) {
            play_call(table, widths, BH_ERASE, from, part, BH_ERASED);
            (void)check_nodes(table);
        }
        least = table_stats(table);
        check(least.shrinks > 0 && least.bytes_total * 2 < most.bytes_total,
              "%llu bytes of %llu after %llu halvings", (unsigned long long)least.bytes_total,
              (unsigned long long)most.bytes_total, (unsigned long long)least.shrinks);
        play_call(table, widths, BH_FIND, n - part, part, BH_FOUND);
        play_call(table, widths, BH_INSERT, 0, n - part, BH_INSERTED);
        (void)check_nodes(table);
        bh_table_destroy(table);
    }
}

/* A stash whose first fresh nodes are `bunch` at once. */
static bh__stash stash_of(uint64_t bunch)
{
    bh__stash stash;

    bh__stash_begin(&stash);
    stash.bunch = bunch;
    return stash;
}

static void check_stack(const bh_da_geometry *g, uint64_t taken, uint64_t returned)
{
    const uint64_t has_taken = bh_load64(bh_da_at(g->nodes + BH_DA_TAKEN));
    const uint64_t has_returned = bh_load64(bh_da_at(g->nodes + BH_DA_RETURNED));
    chains count = {.taken = has_taken};

    chains_shelf(g, &count);
    check(count.wrong == NULL, "%s", count.wrong == NULL ? "" : count.wrong);
    check(has_taken == taken && has_returned == returned && count.shelved == returned,
          "%llu nodes taken, %llu returned, %llu of them on the shelf",
          (unsigned long long)has_taken, (unsigned long long)has_returned,
          (unsigned long long)count.shelved);
}

/* Nodes that a slice has taken and does not need can be taken by others, each by one. */
static void slices_put_nodes_back(void **state)
{
    bh_table_options options = options_of((test_widths){8, 8}, 10000);
    bh_table *table = table_with(context, &options);
    const bh_da_geometry *g = table->policy->geometry(table);
    const uint64_t first = bh_da_node(g, g->first);
    bh__stash one = stash_of(8);
    bh__stash two = stash_of(1);

    (void)state;
    // Nobody has taken any since: as if they had not been taken.
    check(bh_da_pop(0, &one, g) == first, "the first node is another");
    bh_da_put_back(0, &one, g);
    check_stack(g, 1, 0);
    // Others have: they are shelved, and the next slice has them.
    one = stash_of(16);
    check(bh_da_pop(0, &one, g) == first + (1ull << g->node_shift), "another node");
    check(bh_da_pop(0, &two, g) == first + (17ull << g->node_shift), "another node");
    bh_da_put_back(0, &one, g);
    bh_da_put_back(0, &two, g);
    check_stack(g, 18, 15);
    one = stash_of(1);
    check(bh_da_pop(0, &one, g) == first + (2ull << g->node_shift),
          "a node that is not from the shelf");
    check(bh_da_pop(0, &one, g) == first + (3ull << g->node_shift), "not the next of the list");
    check_stack(g, 18, 0);
    bh_da_put_back(0, &one, g);
    check_stack(g, 18, 13);
    // When the stack is empty the shelf still has some.
    two = stash_of(1);
    for (uint64_t i = 0; i < g->nodes_most - 18 + 13; i++) {
        check(bh_da_pop(0, &two, g) != 0, "only %llu nodes", (unsigned long long)i);
    }
    check(bh_da_pop(0, &two, g) == 0, "more nodes than there are");
    bh_da_put_back(0, &two, g);
    check_stack(g, g->nodes_most, 0);
    bh_table_destroy(table);
}

#define TAKERS 4u

/* Threads that take all nodes there are, a few at a time. */
typedef struct taking {
    const bh_da_geometry *g;
    uint8_t *times; // that each node has been taken
    uint64_t seed;
} taking;

/* Takes a node as a chain does, which leaves nothing of what it had on the shelf; 0 when there is none. */
static uint64_t take_node(const taking *job, bh__stash *stash)
{
    const uint64_t node = bh_da_pop(0, stash, job->g);

    if (node != 0) {
        const uint64_t number = bh_da_number(job->g, node) - job->g->first;

        check(bh__atomic_add(&job->times[number], 1, __ATOMIC_RELAXED) == 0, "node %llu twice",
              (unsigned long long)number);
        bh_write64(bh_da_at(node + BH_DA_BELOW), number << 32 | 0xdeadu);
        bh_write64(bh_da_at(node), 1);
    }
    return node;
}

static void take_some(void *argument, uint32_t index)
{
    const taking *job = argument;
    rng random = random_start(job->seed + index);
    uint64_t node = 1;

    while (node != 0) {
        bh__stash stash = stash_of(1 + random_below(&random, BH_DA_BUNCH_MOST));

        for (uint64_t some = 1 + random_below(&random, 4); some > 0 && node != 0; some--) {
            node = take_node(job, &stash);
        }
        bh_da_put_back(0, &stash, job->g);
    }
}

/* Slices that take nodes and put others back at the same time get each node once, and none is lost. */
static void threads_get_each_node_once(void **state)
{
    bh_table_options options = options_of((test_widths){8, 8}, test_scaled(20000));
    bh_table *table = table_with(context, &options);
    const bh_da_geometry *g = table->policy->geometry(table);
    taking job = {g, calloc(g->nodes_most, 1), test_seed()};
    (void)state;

    for (int round = 0; round < 40; round++, job.seed += TAKERS) {
        bh__stash last = stash_of(1);

        memset(job.times, 0, g->nodes_most);
        threads_run(TAKERS, take_some, &job);
        while (take_node(&job, &last) != 0) {
        }
        for (uint64_t i = 0; i < g->nodes_most; i++) {
            check(job.times[i] == 1, "node %llu is lost", (unsigned long long)i);
        }
        check_stack(g, g->nodes_most, 0);
        check_status(bh_clear(table), BH_OK);
    }
    free(job.times);
    bh_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_of_every_size),
                                       cmocka_unit_test(wrong_options_are_named),
                                       cmocka_unit_test(holes_are_used_again),
                                       cmocka_unit_test(compact_returns_nodes),
                                       cmocka_unit_test(one_bucket),
                                       cmocka_unit_test(full_in_a_mixed_call),
                                       cmocka_unit_test(shrinks_and_grows),
                                       cmocka_unit_test(compact_within_a_budget),
                                       cmocka_unit_test(slices_put_nodes_back),
                                       cmocka_unit_test(threads_get_each_node_once),
                                       cmocka_unit_test(erasures_are_noted)};
    /* All that ThreadSanitizer can see: in the others one thread calls. */
    const struct CMUnitTest of_threads[] = {cmocka_unit_test(threads_get_each_node_once)};

    if (TEST_THREAD_SANITIZER) {
        return test_exit_status(cmocka_run_group_tests(of_threads, dachash_start, dachash_end));
    }
    return test_target_runs()
               ? test_exit_status(cmocka_run_group_tests(tests, dachash_start, dachash_end))
               : TEST_SKIPPED;
}
