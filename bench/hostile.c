/*
 * hostile: keys that somebody chose, in a table whose seed he does not know.
 *
 * For a table with a known seed, keys are searched that all have the same home and the same other
 * bucket there. Then as many random keys and the hostile ones run through tables with random
 * seeds, in turn: inserted from capacity 1, found, erased. If the seed does what it is for, both
 * take the same time.
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
static void find_hostile(const bench *b, uint32_t *keys, uint64_t n)
{
    bh_table_options options;
    bh_table *table;
    search s;

    bh_table_options_init(&options, 4, 4, 700);
    options.seed = KNOWN_SEED;
    options.seed_fixed = 1;
    options.dycuckoo.subtables = 2;
    check(bh_table_create(b->context, &options, &table));
    s.geometry = table->policy->geometry(table);
    s.wanted = bh_dy_places_of(s.geometry, 0, BH_DY_BUCKET(4, 4, 0));
    s.keys = keys;
    s.count = n;
    s.found = 0;
    bh__run(&b->backend->executor, search_range, &s, CANDIDATES, PART);
    bh_table_destroy(table);
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

void run_hostile(bench *b)
{
    const uint64_t n = b->settings.keys < KEYS_MOST ? b->settings.keys : KEYS_MOST;
    result r = {EXPERIMENT, .name = "hostile keys", .op = "mixed", .hit_rate = 1, .batch = n,
                .figure = "times the time of random keys", .bar = 1.5, .bar_is_most = 1};
    uint32_t *hostile = array(n, 4), *random = array(n, 4), *values = array(n, 4);
    uint32_t repetition, round;
    bh_table_stats stats;

    find_hostile(b, hostile, n);
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        double for_hostile = 0, for_random = 0;

        fill_keys(b, random, 0, n, salt_of(repetition));
        for (round = 0; round < ROUNDS; round++) {
            for_random += live(b, random, values, n, &stats);
            for_hostile += live(b, hostile, values, n, &stats);
        }
        enter(&r, 3 * n * ROUNDS, for_hostile);
        sample(&r.value, for_hostile / for_random);
    }
    result_table(&r, &stats);
    print(b, &r);
    free(hostile);
    free(random);
    free(values);
}
