/*
 * lines: how many lines of memory a find asks for, counted, in the three states of a table: fresh,
 * grown from capacity 1, and after its keys were turned over three times; in tables of chains
 * (BH_DACHASH) of three lengths; and in tables with a ticket-board (BH_STADIUM), how many of the slots.
 *
 * This file and the rest of the benchmark, linked with the library's special build for the target
 * `lines`, are the program bulkhash-bench-lines, which does nothing else: its rates mean nothing.
 * A count is the same on every machine and hardly depends on the number of keys.
 */
#include "bench.h"

#include <stdlib.h>

#include "tables/stadium/layout.h"
#include "targets/lines.h"

#define KEYS_MOST (1u << 22)

#define HIT_BAR 1.20
#define MISS_BAR 1.15

uint64_t bh__lines_asked, bh__lines_inside, bh__lines_range[2];

/* Lines asked for by a find of n keys, per key. */
static double count_find(bh_table *table, const uint32_t *keys, uint32_t *values, uint64_t n)
{
    bh__lines_asked = 0;
    check(bh_find(table, keys, n, values, NULL));
    return (double)bh__lines_asked / (double)n;
}

/* Finds the table's n keys, and as many new ones from counter `absent` on. */
static void print_counts(const bench *b, bh_table *table, const char *design, const char *state,
                         const char *hit_name, double hit_bar, const char *miss_name,
                         double miss_bar, uint32_t *keys, uint64_t n, uint64_t absent,
                         uint32_t salt)
{
    result results[] = {
        {.name = hit_name, .design = design, .hit_rate = 1, .bar = hit_bar},
        {.name = miss_name, .design = design, .hit_rate = 0, .bar = miss_bar},
    };
    uint32_t *values = array(n, 4);
    bh_table_stats stats = stats_of(table);
    int i;

    for (i = 0; i < 2; i++) {
        result *r = &results[i];

        r->experiment = "lines";
        r->op = "find";
        r->state = state;
        r->batch = n;
        r->figure = "lines per key";
        r->bar_is_most = 1;
        result_table(r, &stats);
        if (i)
            fill_keys(b, keys, absent, n, salt);
        sample(&r->value, count_find(table, keys, values, n));
        if (!i)
            check_values(b, values, keys, n);
        print(b, r);
    }
    free(values);
}

static void print_state(const bench *b, bh_table *table, const char *state, const char *hit_name,
                        const char *miss_name, uint32_t *keys, uint64_t n, uint64_t absent,
                        uint32_t salt)
{
    print_counts(b, table, NULL, state, hit_name, HIT_BAR, miss_name, MISS_BAR, keys, n, absent,
                 salt);
}

static void insert_keys(const bench *b, bh_table *table, const uint32_t *keys, uint32_t *values,
                        uint64_t n)
{
    fill_values(b, values, keys, n);
    check(bh_insert(table, keys, values, n, NULL));
}

static void run_fresh(const bench *b, uint64_t n, uint32_t *keys, uint32_t *values, uint32_t salt)
{
    bh_table *table = table_of(b, b->context, n);

    fill_keys(b, keys, 0, n, salt);
    insert_keys(b, table, keys, values, n);
    print_state(b, table, "fresh", "hit, fresh", "miss, fresh", keys, n, n, salt);
    bh_table_destroy(table);
}

/* Stops with n / 2 keys or more where the next one would make the table grow and all subtables are
 * alike, so that it is as full as the others. */
static void run_grown(const bench *b, uint64_t n, uint32_t *keys, uint32_t *values, uint32_t salt)
{
    bh_table *table = table_of(b, b->context, 1);
    uint64_t there = 0;

    while (there < n) {
        bh_table_stats stats = stats_of(table);
        uint64_t room = stats.max_keys - there, part;

        if (!room && there >= n / 2 && stats.grows % table->options.dycuckoo.subtables == 0)
            break;
        part = !room ? 1 : room < CALL_KEYS ? room : CALL_KEYS;
        part = part < n - there ? part : n - there;
        fill_keys(b, keys + there, there, part, salt);
        insert_keys(b, table, keys + there, values, part);
        there += part;
    }
    print_state(b, table, "grown", "hit, grown", "miss, grown", keys, there, n, salt);
    bh_table_destroy(table);
}

static void run_turned_over(const bench *b, uint64_t n, uint32_t *keys, uint32_t *values,
                            uint32_t salt)
{
    bh_table *table = table_of(b, b->context, n);

    fill_keys(b, keys, 0, n, salt);
    insert_keys(b, table, keys, values, n);
    turn_over(b, table, keys, values, n, salt);
    print_state(b, table, "turned over", "hit, turned over", "miss, turned over", keys, n,
                (TURNOVERS + 1) * n, salt);
    bh_table_destroy(table);
}

/* Tables of DACHash with 4, 8 and 16 keys in a bucket. */
static void run_chains(const bench *b, uint64_t n, uint32_t *keys, uint32_t *values, uint32_t salt)
{
    static const struct {
        double per_bucket;
        const char *hit_name;
        double hit_bar;
        const char *miss_name;
        double miss_bar;
    } lengths[] = {{4, "hit, length 0.25", 1.04, "miss, length 0.25", 1.08},
                   {8, "hit, length 0.5", 1.24, "miss, length 0.5", 1.6},
                   {16, "hit, length 1", 1.8, "miss, length 1", 2.8}};
    uint32_t i;

    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        bh_table_options options;
        bh_table *table;

        bh_table_options_init(&options, 4, 4, n);
        options.design = BH_DACHASH;
        options.max_fill = lengths[i].per_bucket / 7;
        check(bh_table_create(b->context, &options, &table));
        fill_keys(b, keys, 0, n, salt);
        insert_keys(b, table, keys, values, n);
        print_counts(b, table, "dachash", "fresh", lengths[i].hit_name, lengths[i].hit_bar,
                     lengths[i].miss_name, lengths[i].miss_bar, keys, n, n, salt);
        bh_table_destroy(table);
    }
}

/* Lines of slots that a lookup of an absent key asks for, in tables with a ticket-board 0.8 full, of one part,
 * whose slots lie side by side. */
static void run_tickets(const bench *b, uint64_t n, uint32_t *keys, uint32_t *values, uint32_t salt)
{
    /* In theory a search by slot meets 0.8 / (1 - 0.8) taken tickets before a fresh one; one of as many as there
     * are infos (127, 7, 3) has the key's. By bucket: simulated. */
    static const struct {
        const char *name;
        uint32_t ticket_bits;
        bh_probe probe;
        double theory;
    } kinds[] = {{"slots per miss, 8 bits, bucket", 8, BH_PROBE_BUCKET, 0.115},
                 {"slots per miss, 8 bits, slot", 8, BH_PROBE_SLOT, 4 / 127.},
                 {"slots per miss, 4 bits, slot", 4, BH_PROBE_SLOT, 4 / 7.},
                 {"slots per miss, 2 bits, slot", 2, BH_PROBE_SLOT, 4 / 3.}};
    uint32_t i;

    n = n < 52000 ? n : 52000;
    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        result r = {.experiment = "lines",
                    .design = "stadium",
                    .op = "find",
                    .state = "fresh",
                    .figure = "lines of slots per key",
                    .bar_is_most = 1};
        const bh_st_geometry *g;
        bh_table_options options;
        bh_table_stats stats;
        bh_table *table;

        bh_table_options_init(&options, 4, 4, n);
        options.design = BH_STADIUM;
        options.max_fill = 0.8;
        options.stadium.ticket_bits = kinds[i].ticket_bits;
        options.stadium.probe = kinds[i].probe;
        check(bh_table_create(b->context, &options, &table));
        fill_keys(b, keys, 0, n, salt);
        insert_keys(b, table, keys, values, n);
        stats = stats_of(table);
        fill_keys(b, keys, n * 2, n, salt);
        g = table->policy->geometry(table);
        bh__lines_range[0] = g->part[0].slots;
        bh__lines_range[1] = g->part[0].slots + stats.slots * 8;
        bh__lines_inside = 0;
        (void)count_find(table, keys, values, n);
        r.name = kinds[i].name;
        r.batch = n;
        r.bar = 1.2 * kinds[i].theory;
        result_table(&r, &stats);
        sample(&r.value, (double)bh__lines_inside / (double)n);
        print(b, &r);
        bh_table_destroy(table);
    }
}

void run_lines(bench *b)
{
    const uint64_t n = b->settings.keys < KEYS_MOST ? b->settings.keys : KEYS_MOST;
    const uint32_t salt = salt_of(0);
    uint32_t *keys = array(n, 4), *values = array(n, 4);

    run_fresh(b, n, keys, values, salt);
    run_grown(b, n, keys, values, salt);
    run_turned_over(b, n, keys, values, salt);
    run_chains(b, n, keys, values, salt);
    run_tickets(b, n, keys, values, salt);
    free(keys);
    free(values);
}
