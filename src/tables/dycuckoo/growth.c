/*
 * DyCuckoo, growth: the smallest subtable is doubled or the largest halved, and the policy's functions
 * that do so until a table has the size wanted. resize.h has the text of the passes.
 */
#include "tables/dycuckoo/policy.h"

/* After SPLIT: brings home the guests elsewhere whose home is the subtable, and makes its filters anew. */
static void bring_home(bh__dy_table *t, bh_dy_resize *split)
{
    const bh_table *table = &t->table;
    uint64_t elsewhere = 0;
    uint32_t i;

    for (i = 0; i < t->geometry.subtables; i++)
        elsewhere += i == split->subtable ? 0 : bh_dy_buckets(&t->geometry, i);
    (void)table->backend->pass(table->backend, table, BH_DY_PASS_HOME, split, elsewhere,
                               BH_DY_PASS_BUCKETS, BH_MUST);
}

bh_status bh__dy_grow(bh__dy_table *t)
{
    bh_table *table = &t->table;
    bh_dy_geometry *g = &t->geometry;
    uint32_t subtable = bh__dy_smallest(g);
    uint64_t buckets = bh_dy_buckets(g, subtable), bytes;
    bh_dy_resize split = {g, &t->scratch, subtable, 1, 0, 0};
    bh_status status;

    if (buckets > 1ull << (BH_DY_BUCKET_BITS_MOST - 1))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    bytes = buckets * bh__dy_bucket_bytes(table);
    status = bh__dy_make_scratch(t, table->slots / bh__dy_slots_per_bucket(table) + buckets);
    if (!status)
        status = bh__table_extend(table, &t->block[subtable], bytes, 2 * bytes);
    if (status)
        return status;

    table->changes++;
    g->subtable[subtable].doublings++;
    bh__dy_publish(t);
    if (!table->backend->pass(table->backend, table, BH_DY_PASS_SPLIT, &split, buckets,
                              BH_DY_PASS_BUCKETS, BH_TRY)) {
        /* The new memory is kept for the next attempt. */
        g->subtable[subtable].doublings--;
        bh__dy_publish(t);
        return bh__dy_refused("to split a part of the table in two");
    }
    table->grows++;
    bring_home(t, &split);
    table->keys_moved += split.moved;
    table->erases = 0;
    return BH_OK;
}

/*
 * After MERGE: finds places for the keys that it has left. halving->resize.left is 0 afterwards if all have one; otherwise one
 * has none, or a pass was refused, or a GPU is lost. If LEFT lists more buckets than a list has room for, it goes through
 * so many buckets at a time that half a list is enough: so that each is gone through twice, or a little more often.
 */
static void find_places(const bh__dy_table *t, bh_dy_halving *halving, uint64_t buckets)
{
    const bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t each = buckets;

    halving->first = halving->vain = 0;
    while (halving->resize.left && !halving->vain && halving->first < buckets) {
        const uint64_t rest = buckets - halving->first, items = each < rest ? each : rest;
        bh_dy_list *list = &halving->list;

        list->count = 0;
        if (!backend->pass(backend, table, BH_DY_PASS_LEFT, halving, items, BH_DY_PASS_BUCKETS,
                           BH_TRY))
            return;
        if (list->count > BH_DY_LISTED_MOST) {
            each = bh__dy_fewer(items, list);
            continue;
        }
        if (list->count && !backend->pass(backend, table, BH_DY_PASS_RESIDUE, halving, list->count,
                                          list->count, BH_TRY))
            return;
        halving->first += items;
    }
}

/* Halves the largest subtable. Answers 0 when some key found no place: then it was undone. */
static int halve(bh__dy_table *t)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_dy_geometry *g = &t->geometry;
    uint32_t subtable = bh__dy_largest(g);
    uint64_t buckets = bh_dy_buckets(g, subtable) / 2;
    bh_dy_halving halving;
    bh_dy_resize *merge = &halving.resize;
    int merged;

    merge->geometry = g;
    merge->scratch = &t->scratch;
    merge->subtable = subtable;
    merge->fresh = 0;
    merge->moved = merge->left = 0;

    table->changes++;
    g->subtable[subtable].doublings--;
    bh__dy_publish(t);
    merged =
        backend->pass(backend, table, BH_DY_PASS_MERGE, merge, buckets, BH_DY_PASS_BUCKETS, BH_TRY);
    find_places(t, &halving, buckets);
    table->keys_moved += merge->moved;
    if (!merged || merge->left) {
        g->subtable[subtable].doublings++;
        bh__dy_publish(t);
        if (merged) {
            (void)backend->pass(backend, table, BH_DY_PASS_SPLIT, merge, buckets,
                                BH_DY_PASS_BUCKETS, BH_MUST);
            bring_home(t, merge);
        }
        return 0;
    }
    bh__table_cut(table, &t->block[subtable], buckets * bh__dy_bucket_bytes(table));
    bh__dy_publish(t);
    table->shrinks++;
    return 1;
}

void bh__dy_shrink(bh_table *table)
{
    while (table->keys < table->min_keys)
        if (!halve(bh__dy_of(table)))
            /* Not again before there are a quarter fewer keys. */
            table->min_keys = table->keys - table->keys / 4;
}

bh_status bh__dy_compact(bh_table *table)
{
    bh__dy_table *t = bh__dy_of(table);
    uint64_t buckets = 0;

    table->floor_keys = 0;
    bh__dy_publish(t);
    /* Not for less than 1/32 of the slots, which is a bit more than sizes are rounded by. */
    if (!bh__dy_buckets_for(table, table->keys, &buckets) ||
        buckets * t->geometry.subtables * bh__dy_slots_per_bucket(table) >=
            table->slots - table->slots / 32)
        return BH_OK;
    return bh__dy_rebuild(t, buckets, table->options.seed);
}

bh_status bh__dy_reserve(bh_table *table, uint64_t keys)
{
    bh__dy_table *t = bh__dy_of(table);
    bh_status status;
    uint64_t buckets;

    if (!bh__dy_buckets_for(table, keys, &buckets))
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (!table->keys &&
        keys > bh__dy_keys_promised(table, table->slots, bh__dy_is_uneven(&t->geometry))) {
        /* At least as many slots as there are: even subtables need fewer for the same keys. */
        uint64_t row = (uint64_t)t->geometry.subtables * bh__dy_slots_per_bucket(table);
        uint64_t least = (table->slots + row - 1) / row;

        buckets = buckets > least ? buckets : least;
        status = bh__dy_lay_out(t, buckets);
        if (status)
            return status;
    }
    while (keys > bh__dy_keys_promised(table, table->slots, bh__dy_is_uneven(&t->geometry))) {
        status = bh__dy_grow(t);
        if (status)
            return status;
    }
    if (keys > table->floor_keys) {
        table->floor_keys = keys;
        bh__dy_publish(t);
    }
    return BH_OK;
}

/* Growing by doublings would read a small table again and again: so a table that becomes so many times as
 * large is built anew. The small table beside the new one takes no more memory than an old subtable
 * beside a doubled one, where that cannot grow in place. */
#define EXPECT_REBUILDS 8
/* An empty one is laid out anew, if it becomes so many times as large: that its subtables are alike saves slots. */
#define EXPECT_LAYS_OUT 2

void bh__dy_expect(bh_table *table, uint64_t keys)
{
    bh__dy_table *t = bh__dy_of(table);
    uint64_t row = (uint64_t)t->geometry.subtables * bh__dy_slots_per_bucket(table), buckets;

    if (bh__dy_buckets_for(table, keys, &buckets) &&
        buckets * row / (table->keys ? EXPECT_REBUILDS : EXPECT_LAYS_OUT) >= table->slots &&
        !(table->keys ? bh__dy_rebuild(t, buckets, table->options.seed)
                      : bh__dy_lay_out(t, buckets)))
        table->grows++;
    while (table->room < keys - table->keys && !bh__dy_grow(t))
        ;
}
