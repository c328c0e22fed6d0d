/*
 * hostile: keys that an attacker has chosen so that they collide.
 *
 * For a table with a known seed, keys are searched that all have the same home and the same other
 * bucket there. Three times as many random keys and hostile ones run through tables, in turn:
 *
 *   a random seed       the attacker does not know it: keys are inserted from capacity 1, found,
 *                       erased. If the seed does what it is for, both kinds take the same time.
 *   a fixed seed        the attacker knows it: keys are inserted into a small table, found. The
 *                       table takes its next seed, once.
 *   and the next one    the attacker knows that one too, and first sends keys that make the table
 *                       take it. The other keys find no place and are refused, except a handful.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define BH_TARGET_SCALAR
#include "targets/target.h"

#include "base/run.h"
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "tables/dycuckoo/ops.h"

#define EXPERIMENT .experiment = "hostile", .state = "grown"

#define KEYS_MOST 100000u
#define KNOWN_SEED 42u
#define PROVOKING 1000u /* hostile keys that make a table take its next seed */
#define NEXT_MOST 10000u
#define ROUNDS 20u /* of both kinds of keys in a repetition: each is a matter of milliseconds */
#define PART (1u << 20)
#define CANDIDATES ((uint64_t)UINT32_MAX + 1)

typedef struct search {
    const bh_dy_geometry *geometry;
    bh_dy_places wanted;
    uint32_t *keys;
    uint64_t count; /* keys asked for */
    uint64_t found;
} search;

static void search_range(void *argument, uint64_t first, uint64_t count)
{
    search *s = argument;
    uint64_t key;

    if (__atomic_load_n(&s->found, __ATOMIC_RELAXED) >= s->count)
        return;
    for (key = first; key < first + count; key++) {
        bh_dy_places places = bh_dy_places_of(s->geometry, key, BH_DY_BUCKET(4, 4, 0));
        uint64_t at;

        if (places.home != s->wanted.home || places.other != s->wanted.other)
            continue;
        at = __atomic_fetch_add(&s->found, 1, __ATOMIC_RELAXED);
        if (at >= s->count)
            return;
        s->keys[at] = (uint32_t)key;
    }
}

/* Two subtables of some 64 buckets: one key in 8,000 has two given buckets. */
static bh_table *known_table(const bench *b)
{
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, 4, 4, 700);
    options.seed = KNOWN_SEED;
    options.seed_fixed = 1;
    options.dycuckoo.subtables = 2;
    check(bh_table_create(b->context, &options, &table));
    return table;
}

/* Keys that all have the same two buckets in a table as it is now. */
static void find_hostile(const bench *b, const bh_table *table, uint32_t *keys, uint64_t n)
{
    search s;

    s.geometry = table->policy->geometry(table);
    s.wanted = bh_dy_places_of(s.geometry, 0, BH_DY_BUCKET(4, 4, 0));
    s.keys = keys;
    s.count = n;
    s.found = 0;
    bh__run(&b->backend->executor, search_range, &s, CANDIDATES, PART);
    if (s.found < n)
        fail("too few keys with the same two buckets were found");
}

/* Seconds of one life of a table with a random seed. */
static double live(const bench *b, const uint32_t *keys, uint32_t *values, uint64_t n,
                   bh_table_stats *stats)
{
    bh_table *table = table_of(b, b->context, 1);
    double taken;

    fill_values(b, values, keys, n);
    taken = timed(b, BH_INSERT, table, keys, values, n, n, NULL);
    *stats = stats_of(table);
    memset(values, 0, n * 4);
    taken += timed(b, BH_FIND, table, keys, values, n, n, NULL);
    check_values(b, values, keys, n);
    taken += timed(b, BH_ERASE, table, keys, values, n, n, NULL);
    bh_table_destroy(table);
    return taken;
}

typedef struct work {
    uint64_t n;
    uint32_t *random;
    uint32_t *hostile; /* to the known seed */
    uint32_t *next;    /* to the seed that the known table takes then, `next_n` of them */
    uint64_t next_n;
    uint32_t *values;
} work;

static void run_random_seed(const bench *b, const work *w)
{
    result r = {EXPERIMENT,    .name = "hostile keys", .op = "mixed",
                .hit_rate = 1, .batch = w->n,          .figure = "times the time of random keys",
                .bar = 1.5,    .bar_is_most = 1};
    uint32_t repetition, round;
    bh_table_stats stats;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        double for_hostile = 0, for_random = 0;

        fill_keys(b, w->random, 0, w->n, salt_of(repetition));
        for (round = 0; round < ROUNDS; round++) {
            for_random += live(b, w->random, w->values, w->n, &stats);
            for_hostile += live(b, w->hostile, w->values, w->n, &stats);
        }
        enter(&r, 3 * w->n * ROUNDS, for_hostile);
        sample(&r.value, for_hostile / for_random);
    }
    result_table(&r, &stats);
    print(b, &r);
}

/* Makes a table with the known seed take its next one. */
static void provoke(const work *w, bh_table *table)
{
    const bh_status status = bh_insert(table, w->hostile, w->values, PROVOKING, NULL);

    if (status != BH_ERR_FULL)
        check(status);
    if (!stats_of(table).reseeds)
        fail("keys that all want the same two buckets did not make the table take another seed");
}

/* Seconds in which a table with the known seed, or after that with its next one, inserts n keys and
 * finds them, as far as they have a place. */
static double live_known(const bench *b, const work *w, int provoked, const uint32_t *keys,
                         uint64_t n, bh_table_stats *stats)
{
    bh_table *table = known_table(b);
    bh_status status;
    double begin, taken;

    fill_values(b, w->values, keys, n);
    if (provoked)
        provoke(w, table);
    begin = seconds(b);
    status = bh_insert(table, keys, w->values, n, NULL);
    taken = seconds(b) - begin;
    memset(w->values, 0, n * 4);
    begin = seconds(b);
    check(bh_find(table, keys, n, w->values, NULL));
    taken += seconds(b) - begin;
    if (status != BH_ERR_FULL)
        check(status);
    *stats = stats_of(table);
    if ((status == BH_ERR_FULL) != (stats->keys < n))
        fail("a table that says it is full has all keys, or the other way round");
    if (!status)
        check_values(b, w->values, keys, n);
    bh_table_destroy(table);
    return taken;
}

static void run_known_seed(const bench *b, const work *w, int provoked)
{
    const uint64_t n = provoked ? w->next_n : w->n;
    result r = {
        EXPERIMENT, .name = "hostile keys, fixed seed",        .op = "mixed", .hit_rate = 1,
        .batch = n, .figure = "times the time of random keys", .bar = 10,     .bar_is_most = 1};
    uint32_t repetition, round;
    bh_table_stats stats;

    if (provoked)
        r.name = "hostile keys, fixed seed and the next";
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        double for_hostile = 0, for_random = 0;

        fill_keys(b, w->random, 0, n, salt_of(repetition));
        for (round = 0; round < ROUNDS; round++) {
            for_random += live_known(b, w, provoked, w->random, n, &stats);
            for_hostile += live_known(b, w, provoked, provoked ? w->next : w->hostile, n, &stats);
        }
        enter(&r, 2 * n * ROUNDS, for_hostile);
        sample(&r.value, for_hostile / for_random);
    }
    result_table(&r, &stats);
    print(b, &r);
}

void run_hostile(bench *b)
{
    const uint64_t n = b->settings.keys < KEYS_MOST ? b->settings.keys : KEYS_MOST;
    const uint64_t least = n < PROVOKING ? PROVOKING : n;
    work w = {n,
              array(least, 4),
              array(least, 4),
              array(least, 4),
              n < NEXT_MOST ? n : NEXT_MOST,
              array(least, 4)};
    bh_table *table = known_table(b);

    find_hostile(b, table, w.hostile, least);
    fill_values(b, w.values, w.hostile, least);
    provoke(&w, table);
    find_hostile(b, table, w.next, w.next_n);
    bh_table_destroy(table);
    run_random_seed(b, &w);
    run_known_seed(b, &w, 0);
    run_known_seed(b, &w, 1);
    free(w.random);
    free(w.hostile);
    free(w.next);
    free(w.values);
}
