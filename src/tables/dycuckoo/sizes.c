/*
 * DyCuckoo, sizes: how many buckets a number of keys needs, up to which fill a table is filled before it
 * grows, and below which it shrinks. bh__dy_publish recomputes all that follows from the subtables: it is
 * called after every change of their number of buckets or of their memory.
 *
 *     keys     0 ........ min_keys .......... max_keys .............. slots
 *                shrinks           stays so           grows, or refuses
 *
 * A table that may not grow is filled as far as max_fill allows, which may be beyond max_keys. Up to
 * sure_keys every key should find a place, so until then searches may cost more (set_allowances).
 */
#include "tables/dycuckoo/policy.h"

/* The share of max_fill that is allowed while the subtables differ in size. With 6 subtables and more the
 * share is larger, so that a doubling always makes room for a quarter of a subtable at least. */
#define UNEVEN_SHARE 0.875

/* Below so many slots a table may grow however empty it is, and does not shrink: in a handful of
 * buckets, chance alone can leave a key without a place. (A build for tests wants the smallest
 * tables there can be.) */
#ifndef BH_DY_FLOOR_SLOTS
#define BH_DY_FLOOR_SLOTS 1024
#endif

/* In tables of fewer buckets each subtable gets one bucket more than its keys need, two where there are
 * fewer than 4 subtables. */
#ifndef BH_DY_SMALL_BUCKETS
#define BH_DY_SMALL_BUCKETS 128
#endif

/* Where subtables differ in size, the large ones have buckets that few keys want: then keys find a place
 * up to this share of the fill that holds for even subtables. (With four subtables one of which has
 * doubled, and 3 slots in a bucket, no more than 0.926 of the slots can be filled at all.) */
#define UNEVEN_SURE 0.95

/* While every key should find a place, so many whole searches may be made in vain (a search makes no more
 * looks than there are slots). Beyond that fill the allowance is a look for every two slots, and no more
 * than the looks of these searches. A device searches with one thread: there it is one search. */
#define VAIN_SEARCHES 16

/*
 * Up to which fill the table is filled before it grows. While its subtables differ in size, the
 * small ones have as many keys at home as the large ones, so they overflow, and every second insert
 * looks at other buckets too: then the next doubling comes sooner (docs/decisions/0005), unless
 * min_fill is so high that the table would be too empty after it: the doubling adds one part to at
 * least d + 1 equal ones.
 */
static double fill_allowed(const bh_table *table, int uneven)
{
    const bh_table_options *o = &table->options;
    double d = (double)o->dycuckoo.subtables;
    double share = (d + 0.25) / (d + 1), allowed, least;

    allowed = o->max_fill * (share > UNEVEN_SHARE ? share : UNEVEN_SHARE);
    least = o->min_fill * (d + 2) / (d + 1) / BH_DY_MARGIN;
    allowed = allowed > least ? allowed : least;
    return !uneven || allowed > o->max_fill ? o->max_fill : allowed;
}

/*
 * Up to which fill every key finds a place, however many there are. Two choices of a bucket of S
 * slots place all keys up to a threshold (0.96 for 3 slots); searches of bounded width stop a little
 * short of it. In tables of 1,000 to 4 million keys the first failed search was never below 0.94
 * with 3 slots, 0.96 with 4, and 0.98 with 7.
 */
static double most_placeable(const bh_table *table)
{
    uint32_t slots = bh__dy_slots_per_bucket(table);

    return slots <= 3 ? 0.93 : slots <= 4 ? 0.95 : BH_DY_HIGHEST_MAX_FILL;
}

/* most_placeable, or max_fill if that is less. */
static double placeable_fill(const bh_table *table)
{
    double most = most_placeable(table);

    return table->options.max_fill < most ? table->options.max_fill : most;
}

uint64_t bh__dy_keys_promised(const bh_table *table, uint64_t slots, int uneven)
{
    double allowed = fill_allowed(table, uneven), most = placeable_fill(table);

    return (uint64_t)((allowed < most ? allowed : most) * (double)slots);
}

int bh__dy_buckets_for(const bh_table *table, uint64_t keys, uint64_t *buckets)
{
    uint32_t d = table->options.dycuckoo.subtables;
    uint64_t slots = (uint64_t)d * bh__dy_slots_per_bucket(table);
    double wanted;

    if (!keys)
        keys = 1;
    wanted = (double)keys / (placeable_fill(table) * (double)slots);
    if (wanted > (double)(1ull << BH_DY_BUCKET_BITS_MOST))
        return 0;
    *buckets = (uint64_t)wanted + 1;
    /* In a handful of buckets chance alone can fill some of them. */
    if (*buckets * d < BH_DY_SMALL_BUCKETS)
        *buckets += d < BH_DY_DEFAULT_SUBTABLES ? 2 : 1;
    while ((uint64_t)(table->options.max_fill * (double)(*buckets * slots)) < keys)
        ++*buckets;
    return *buckets <= 1ull << BH_DY_BUCKET_BITS_MOST;
}

uint32_t bh__dy_smallest(const bh_dy_geometry *g)
{
    uint32_t found = 0, i;

    for (i = 1; i < g->subtables; i++)
        if (g->subtable[i].doublings < g->subtable[found].doublings)
            found = i;
    return found;
}

uint32_t bh__dy_largest(const bh_dy_geometry *g)
{
    uint32_t found = 0, i;

    for (i = 1; i < g->subtables; i++)
        if (g->subtable[i].doublings >= g->subtable[found].doublings)
            found = i;
    return found;
}

int bh__dy_is_uneven(const bh_dy_geometry *g)
{
    return g->subtable[bh__dy_largest(g)].doublings != g->subtable[bh__dy_smallest(g)].doublings;
}

/* Whether a subtable can be halved, and the table stays above its floor. */
static int may_halve(const bh__dy_table *t)
{
    const bh_table *table = &t->table;
    bh_dy_geometry halved = t->geometry;
    uint32_t subtable = bh__dy_largest(&halved);
    uint64_t slots;

    if (!halved.subtable[subtable].doublings--)
        return 0;
    slots = table->slots - bh_dy_buckets(&halved, subtable) * bh__dy_slots_per_bucket(table);
    return slots >= BH_DY_FLOOR_SLOTS &&
           bh__dy_keys_promised(table, slots, bh__dy_is_uneven(&halved)) >= table->floor_keys;
}

/*
 * The share of a pair's keys that BH_SPREAD_THEOREM1 sends to the other subtable, in 2^32ths. With m
 * keys in n slots, m * (m - 1) / 2 / n is to be the same for all subtables. Then m is proportional to
 * the root of n, and the other subtable gets root(other) / (root(home) + root(other)). The paper
 * goes by the keys that are there; this goes by sizes alone, and ends in the same.
 */
static uint32_t share_of_other(uint64_t home_doublings, uint64_t other_doublings)
{
    double root = 1;

    for (; other_doublings > home_doublings; home_doublings++)
        root *= 1.4142135623730951;
    for (; home_doublings > other_doublings; other_doublings++)
        root /= 1.4142135623730951;
    return (uint32_t)(root / (1 + root) * 4294967296.0);
}

void bh__dy_set_room(bh_table *table, double fill)
{
    uint64_t most = (uint64_t)(table->options.max_fill * (double)table->slots);

    table->max_keys = (uint64_t)(fill * (double)table->slots);
    /* Where growing was refused there may be more keys than that already. */
    if (table->max_keys < table->keys)
        table->max_keys = table->keys < most ? table->keys : most;
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
}

/* What searches for places may cost from now on. */
static void set_allowances(bh_table *table, int uneven)
{
    const uint64_t searches = bh__on_device(table->backend) ? 1 : VAIN_SEARCHES;
    const uint64_t looks =
        bh__on_device(table->backend) ? BH_DY_SEARCH_LOOKS_FAR : BH_DY_SEARCH_LOOKS;
    const uint64_t vain = searches * (looks < table->slots ? looks : table->slots);
    uint64_t i;
    double most = placeable_fill(table);

    if (uneven && most > UNEVEN_SURE * most_placeable(table))
        most = UNEVEN_SURE * most_placeable(table);
    table->sure_keys = (uint64_t)(most * (double)table->slots);
    table->allowance[0].most = vain;
    table->allowance[1].most = table->slots / 2 < vain ? table->slots / 2 : vain;
    for (i = 0; i < 2; i++)
        table->allowance[i].left = table->allowance[i].most;
}

void bh__dy_publish(bh__dy_table *t)
{
    bh_table *table = &t->table;
    bh_dy_geometry *g = &t->geometry;
    uint64_t slots = 0;
    uint32_t i;

    for (i = 0; i < g->subtables; i++) {
        g->subtable[i].lines = (uint64_t)(uintptr_t)t->block[i].memory;
        g->subtable[i].mask = (1ull << g->subtable[i].doublings) - 1;
        slots += bh_dy_buckets(g, i) * bh__dy_slots_per_bucket(table);
    }
    for (i = 0; i < g->pairs; i++) {
        g->home[i] = g->subtable[g->pair[i] & 15];
        g->away[i] =
            g->spread ? share_of_other(g->home[i].doublings, g->subtable[g->pair[i] >> 4].doublings)
                      : 0;
    }
    table->slots = slots;
    bh__dy_set_room(table, fill_allowed(table, bh__dy_is_uneven(g)));
    set_allowances(table, bh__dy_is_uneven(g));
    /* A min_fill below 0 means never to shrink, and is no number of keys. */
    table->min_keys = table->options.min_fill > 0 && may_halve(t)
                          ? (uint64_t)(table->options.min_fill * (double)slots)
                          : 0;
}

int bh__dy_worth_growing(const bh_table *table)
{
    double d = (double)table->options.dycuckoo.subtables;
    double least =
        table->options.min_fill > 0 ? table->options.min_fill : BH_DY_DEFAULT_MIN_FILL / 2;

    /* Where max_fill is beyond what can be filled, tables must grow before they get there. */
    if (least > 0.9 * placeable_fill(table) * d / (d + 1))
        least = 0.9 * placeable_fill(table) * d / (d + 1);
    return table->slots < BH_DY_FLOOR_SLOTS ||
           (double)table->keys * d / (d + 1) >= least * (double)table->slots;
}
