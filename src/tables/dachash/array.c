/*
 * DACHash, growth: the array of buckets doubles or halves, a range of buckets at a time, and the policy's
 * functions that have it do so.
 *
 * A table begins to double when its keys are more than max_fill of the slots of its first nodes. The
 * doubling goes through the array from its beginning: for every four buckets that are split the table
 * takes as many keys more as one bucket holds, so chains that have not been split yet are at most a quarter
 * longer than max_fill says, and only one range is ever rewritten while others wait.
 *
 *     buckets   0 ...... split ....... whole .. whole + split ....... 2 whole
 *               [ split ][ not yet     ][ new   ]
 */
#include "tables/dachash/policy.h"

#include "base/checked.h"
#include "base/system.h"

/* What a table begins with is base * 2^k buckets with so small a base, so that it can halve that often. */
#define BASE_MOST 256

/* A range of buckets is the 32nd part of the array, and at least so many. With an eighth tables grow no
 * faster. */
#define RANGE_PARTS 32
#ifndef BH_DA_RANGE_LEAST
#define BH_DA_RANGE_LEAST 4096
#endif

/* How many keys the array may hold when all of `whole` buckets are there and `split` have been split. */
static uint64_t keys_in(const bh_table *table, uint64_t whole, uint64_t split)
{
    return (uint64_t)(table->options.max_fill * bh__da_slots(table) *
                      ((double)whole + (double)split / 4));
}

uint64_t bh__da_buckets_for(const bh_table *table, uint64_t keys)
{
    const double wanted = (double)keys / (table->options.max_fill * bh__da_slots(table));
    uint64_t buckets = 1;

    if (wanted > (double)BH_DA_NODES_MOST)
        return 0;
    if (wanted > 1)
        buckets = (uint64_t)wanted;
    while (keys_in(table, buckets, 0) < keys)
        buckets++;
    return buckets;
}

/* How many buckets are split or merged at a time. */
static uint64_t range_of(const bh__da_table *t)
{
    const uint64_t range = t->geometry.whole / RANGE_PARTS;

    return range > BH_DA_RANGE_LEAST ? range : BH_DA_RANGE_LEAST;
}

void bh__da_publish(bh__da_table *t)
{
    bh_table *table = &t->table;
    const bh_table_options *o = &table->options;
    bh_da_geometry *g = &t->geometry;
    const uint64_t fewer = g->split ? g->whole : g->whole / 2;

    g->buckets = (uint64_t)(uintptr_t)t->buckets.memory;
    g->nodes = (uint64_t)(uintptr_t)t->nodes.memory;
    g->nodes_most = (t->nodes.committed >> g->node_shift) - g->first;
    /* Memory of whole huge pages may be more than links can name. */
    if (g->nodes_most > BH_DA_STACK_MOST)
        g->nodes_most = BH_DA_STACK_MOST;
    table->bytes[BH_TIER_NEAR] = t->buckets.committed + t->nodes.committed;
    table->slots = (bh__da_buckets(g) + g->nodes_most) * bh__da_slots(table);
    table->max_keys = table->sure_keys = keys_in(table, g->whole, g->split);
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
    table->min_keys = 0;
    if (o->min_fill > 0 && (g->split || g->doublings) &&
        keys_in(table, fewer, 0) >= table->floor_keys)
        table->min_keys = (uint64_t)(o->min_fill / o->max_fill * (double)table->max_keys);
}

bh_status bh__da_extend(bh__da_table *t, bh__block *block, uint64_t used, uint64_t bytes)
{
    uint64_t whole;

    if (bytes > BH__PAGE_HUGE && !bh__on_device(t->table.backend) &&
        bh__round_up(bytes, BH__PAGE_HUGE, &whole) &&
        !bh__table_extend(&t->table, block, used, whole))
        return BH_OK;
    return bh__table_extend(&t->table, block, used, bytes);
}

bh_status bh__da_lay_out(bh__da_table *t, uint64_t buckets)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_da_geometry g = t->geometry;
    bh__block array, nodes;
    uint64_t bytes, stack;
    bh_status status;

    g.base = buckets;
    g.doublings = 0;
    while (g.base > BASE_MOST) {
        g.base = g.base / 2 + g.base % 2;
        g.doublings++;
    }
    g.whole = g.base << g.doublings;
    g.mask = (1ull << g.doublings) - 1;
    g.split = 0;
    g.turnover = 0;
    stack = bh__da_stack_bytes(
        &g, bh__da_nodes_for(keys_in(table, g.whole, 0), g.whole, bh__da_slots(table)));
    if (g.whole > BH_DA_NODES_MOST / 2 || !stack ||
        !bh__block_bytes(g.whole << g.node_shift, &bytes))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, BH_TIER_NEAR, 0, bytes + stack);
    if (status)
        return status;
    if (!bh__block_create(&array, &backend->growing, bytes))
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                        (unsigned long long)(bytes + stack));
    bh__block_touch(&array, &backend->executor, &backend->growing, 0, array.committed);
    if (!bh__block_create(&nodes, &backend->growing, stack)) {
        bh__block_destroy(&array, &backend->growing);
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                        (unsigned long long)(bytes + stack));
    }
    bh__block_touch(&nodes, &backend->executor, &backend->growing, 0, nodes.committed);
    bh__note_peak(table, array.committed + nodes.committed);
    bh__block_destroy(&t->buckets, &backend->growing);
    bh__block_destroy(&t->nodes, &backend->growing);
    t->buckets = array;
    t->nodes = nodes;
    t->geometry = g;
    table->erases = 0;
    table->changes++;
    bh__da_publish(t);
    return BH_OK;
}

/* Gives the array memory for `range` buckets more, and the stack as many nodes as they want. A device's
 * small blocks do not grow in place: there both are made for the whole doubling. On failure both are as they
 * were. */
static bh_status have_memory(bh__da_table *t, uint64_t range)
{
    const bh_table *table = &t->table;
    const bh_da_geometry *g = &t->geometry;
    const uint64_t nodes_before = g->nodes_most;
    const uint64_t split = bh__on_device(table->backend) ? g->whole : g->split + range;
    uint64_t bytes;
    bh_status status;

    if (g->whole + split > BH_DA_NODES_MOST / 2 ||
        !bh__block_bytes((g->whole + split) << g->node_shift, &bytes))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    status = bh__da_have_nodes(
        t, bh__da_nodes_for(keys_in(table, g->whole, split), g->whole, bh__da_slots(table)));
    if (status)
        return status;
    status = bh__da_extend(t, &t->buckets, bh__da_buckets(g) << g->node_shift, bytes);
    if (status)
        bh__da_cut_stack(t, nodes_before);
    else
        bh__da_publish(t);
    return status;
}

/* Splits up to `range` buckets; nothing else is moved. */
static bh_status split(bh__da_table *t, uint64_t range)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_da_geometry *g = &t->geometry;
    bh_da_chains job = {g, g->split, 0, 0};
    bh_status status;

    if (range > g->whole - g->split)
        range = g->whole - g->split;
    status = have_memory(t, range);
    if (status)
        return status;
    if (!backend->pass(backend, table, BH_DA_PASS_SPLIT, &job, range, BH_DA_PASS_ITEMS, BH_TRY))
        return bh__da_refused("to split a part of the table in two");
    g->split += range;
    if (g->split == g->whole) {
        g->split = 0;
        g->whole *= 2;
        g->mask = 2 * g->mask + 1;
        g->doublings++;
    }
    table->grows++;
    table->changes++;
    table->keys_moved += job.moved;
    bh__da_publish(t);
    return BH_OK;
}

/* Where max_fill is low, a range may have less room than a stalled slice wants. */
bh_status bh__da_split_for(bh__da_table *t, uint64_t keys)
{
    const double buckets =
        4 * (double)keys / (t->table.options.max_fill * bh__da_slots(&t->table)) + 1;
    const uint64_t range = range_of(t);

    return split(t, buckets < (double)range              ? range
                    : buckets < (double)BH_DA_NODES_MOST ? (uint64_t)buckets
                                                         : BH_DA_NODES_MOST);
}

/* Merges up to `range` buckets with those that they were split from; there are such. On failure no key has
 * moved. */
static bh_status merge(bh__da_table *t, uint64_t range)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_da_geometry *g = &t->geometry;
    const bh_da_geometry before = *g;
    bh_da_chains job = {g, 0, 0, 0};
    bh_status status;

    if (!g->split) {
        g->doublings--;
        g->mask /= 2;
        g->whole /= 2;
        g->split = g->whole;
    }
    if (range > g->split)
        range = g->split;
    job.from = g->split - range;
    /* A bucket may want a node, and none may be refused one. Meanwhile each other part of the pass has a bunch at most that it does not
     * use: in its stash, or about to be taken. */
    status = bh__da_have_free(t, range + (range - 1) / BH_DA_PASS_ITEMS * BH_DA_BUNCH_MOST);
    if (!status &&
        !backend->pass(backend, table, BH_DA_PASS_MERGE, &job, range, BH_DA_PASS_ITEMS, BH_TRY))
        status = bh__da_refused("to merge parts of the table");
    if (status) {
        g->doublings = before.doublings;
        g->mask = before.mask;
        g->whole = before.whole;
        g->split = before.split;
        bh__da_publish(t);
        return status;
    }
    g->split -= range;
    table->shrinks++;
    table->changes++;
    table->keys_moved += job.moved;
    /* A device gives memory back by a copy of what stays. */
    if (!bh__on_device(backend) || !g->split)
        bh__table_cut(table, &t->buckets, bh__da_buckets(g) << g->node_shift);
    bh__da_publish(t);
    return BH_OK;
}

void bh__da_shrink(bh_table *table)
{
    bh__da_table *t = bh__da_of(table);
    bh_status status = BH_OK;
    uint64_t wanted;

    while (!status && table->keys < table->min_keys)
        status = merge(t, range_of(t));
    wanted = bh__da_nodes_for(table->max_keys, t->geometry.whole, bh__da_slots(table));
    if (t->geometry.nodes_most / 2 > wanted)
        bh__da_pack(t, wanted);
    /* Not again before there are a quarter fewer keys. */
    if (status)
        table->min_keys = table->keys - table->keys / 4;
}

bh_status bh__da_compact(bh_table *table)
{
    bh__da_table *t = bh__da_of(table);
    bh_da_geometry *g = &t->geometry;
    bh_status status = BH_OK;

    table->floor_keys = 0;
    bh__da_publish(t);
    if (!bh__da_clean(t, 1))
        return bh__da_refused("to close up chains");
    g->turnover = 0; /* only last nodes have free slots now */
    /* Range by range, each of which gives up some memory: so it can be done near a budget, too. */
    while (!status && (g->split || g->doublings) &&
           keys_in(table, g->split ? g->whole : g->whole / 2, 0) >= table->keys)
        status = merge(t, range_of(t));
    bh__da_pack(t, bh__da_nodes_for(table->keys, g->whole, bh__da_slots(table)));
    return status;
}

bh_status bh__da_reserve(bh_table *table, uint64_t keys)
{
    bh__da_table *t = bh__da_of(table);
    const uint64_t buckets = bh__da_buckets_for(table, keys);
    bh_status status = BH_OK;

    if (!buckets)
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (!table->keys && keys > table->max_keys)
        status = bh__da_lay_out(t, buckets);
    while (!status && keys > table->max_keys)
        status = split(t, t->geometry.whole);
    /* bh_compact() may have taken nodes that so many keys want. */
    if (!status)
        status =
            bh__da_have_nodes(t, bh__da_nodes_for(keys, t->geometry.whole, bh__da_slots(table)));
    if (!status && keys > table->floor_keys) {
        table->floor_keys = keys;
        bh__da_publish(t);
    }
    return status;
}

/* How many keys are about to be inserted is an estimate: so an empty table gets a 32nd more. */
void bh__da_expect(bh_table *table, uint64_t keys)
{
    bh__da_table *t = bh__da_of(table);

    if (!table->keys && keys > table->max_keys) {
        const uint64_t buckets = bh__da_buckets_for(table, keys + keys / 32);

        if (buckets && !bh__da_lay_out(t, buckets))
            table->grows++;
    }
    while (keys > table->max_keys && !bh__da_split_for(t, keys - table->max_keys))
        ;
}
