/*
 * DyCuckoo, the memory of subtables: a block each, created, doubled, halved and destroyed within the
 * budget; and moving all keys to other subtables, which are built beside the old ones.
 *
 * On every failure the table is as it was. A block is doubled in place where there is address space behind it
 * (storage/block.h); elsewhere its content is copied to another block.
 */
#include "tables/dycuckoo/policy.h"

#include "base/checked.h"
#include "base/system.h"

/* A subtable begins as base * 2^k buckets with a base as small as this allows, so that it can be
 * halved k times. It costs up to 1/128 more buckets than were asked for. */
#define BASE_MOST 255

void bh__dy_destroy_blocks(bh__block *block, const bh__memory *memory)
{
    uint32_t i;

    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        bh__block_destroy(&block[i], memory);
}

bh_status bh__dy_make_scratch(bh__dy_table *t, uint64_t buckets)
{
    const bh_system *system = &t->table.backend->system;
    bh__scratch larger;

    larger.bytes = (buckets < BH_DY_SEARCH_MOST ? buckets : BH_DY_SEARCH_MOST) * sizeof(bh_dy_node);
    if (bh__on_device(t->table.backend) || larger.bytes <= t->scratch.bytes)
        return BH_OK;
    larger.memory = system->allocate(system->state, larger.bytes);
    if (!larger.memory)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for searches in a table");
    if (t->scratch.memory)
        system->release(system->state, t->scratch.memory, t->scratch.bytes);
    t->scratch = larger;
    return BH_OK;
}

/* Makes subtables for a table of `buckets` buckets each, or a few more; nothing is in them. On
 * failure there are none. */
static bh_status make_blocks(const bh_table *table, uint64_t buckets, bh_dy_geometry *g,
                             bh__block *block, uint64_t *bytes)
{
    const bh__backend *backend = table->backend;
    uint32_t d = table->options.dycuckoo.subtables, i;
    uint64_t subtable_bytes = 0, doublings = 0, base = buckets;
    bh_status status;

    while (base > BASE_MOST) {
        base = base / 2 + base % 2;
        doublings++;
    }
    if (!bh__block_bytes((base << doublings) * bh__dy_bucket_bytes(table), &subtable_bytes) ||
        !bh__mul(subtable_bytes, d, bytes))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, BH_TIER_NEAR, 0, *bytes);
    if (status)
        return status;
    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        block[i].memory = 0;
    for (i = 0; i < d; i++) {
        if (!bh__block_create(&block[i], &backend->growing, subtable_bytes)) {
            bh__dy_destroy_blocks(block, &backend->growing);
            return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                            (unsigned long long)*bytes);
        }
        /* Touched before the next block is created: in what the system says it still has, only touched
         * memory is missing. */
        bh__block_touch(&block[i], &backend->executor, &backend->growing, 0, block[i].committed);
        g->subtable[i].lines = (uint64_t)(uintptr_t)block[i].memory;
        g->subtable[i].doublings = doublings;
        g->subtable[i].mask = (1ull << doublings) - 1;
        g->subtable[i].unused = 0;
    }
    for (i = 0; i < g->pairs; i++)
        g->home[i] = g->subtable[g->pair[i] & 15];
    g->base = base;
    return BH_OK;
}

/* Puts the table on other subtables, made by make_blocks. */
static void replace_blocks(bh__dy_table *t, const bh_dy_geometry *g, const bh__block *block,
                           uint64_t bytes)
{
    uint32_t i;

    bh__note_peak(&t->table, bytes);
    bh__dy_destroy_blocks(t->block, &t->table.backend->growing);
    for (i = 0; i < g->subtables; i++)
        t->block[i] = block[i];
    t->geometry = *g;
    t->table.bytes[BH_TIER_NEAR] = bytes;
    t->table.changes++;
    bh__dy_publish(t);
}

bh_status bh__dy_lay_out(bh__dy_table *t, uint64_t buckets)
{
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh_dy_geometry g = t->geometry;
    uint64_t bytes;
    bh_status status = make_blocks(&t->table, buckets, &g, block, &bytes);

    if (!status) {
        status = bh__dy_make_scratch(t, g.subtables * bh_dy_buckets(&g, 0));
        if (status)
            bh__dy_destroy_blocks(block, &t->table.backend->growing);
    }
    if (!status)
        replace_blocks(t, &g, block, bytes);
    return status;
}

/* Inserts the pairs of a subtable into the table that the job describes. Answers 0 if a pass was refused; job->left
 * is 0 if all of them found places. If REINSERT lists more buckets than a list has room for, it goes through fewer at a time. */
static int reinsert(const bh__dy_table *t, uint32_t subtable, bh_dy_reinsert *job)
{
    const bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    const uint64_t buckets = bh_dy_buckets(&t->geometry, subtable);
    uint64_t first = 0, each = buckets;
    int runs = 1;

    job->left = 0;
    while (runs && !job->left && first < buckets) {
        const uint64_t rest = buckets - first, items = each < rest ? each : rest;

        job->lines = t->geometry.subtable[subtable].lines + first * bh__dy_bucket_bytes(table);
        job->list.count = 0;
        runs = backend->pass(backend, table, BH_DY_PASS_REINSERT, job, items, BH_DY_PASS_BUCKETS,
                             BH_TRY);
        if (job->list.count > BH_DY_LISTED_MOST) {
            each = bh__dy_fewer(items, &job->list);
            continue;
        }
        if (runs && job->list.count)
            runs = backend->pass(backend, table, BH_DY_PASS_REST, job, job->list.count,
                                 job->list.count, BH_TRY);
        first += items;
    }
    return runs;
}

bh_status bh__dy_rebuild(bh__dy_table *t, uint64_t buckets, uint64_t seed)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh_dy_geometry g = t->geometry;
    bh_dy_reinsert job;
    uint64_t bytes;
    uint32_t i;
    int runs = 1;
    bh_status status = make_blocks(table, buckets, &g, block, &bytes);

    if (status)
        return status;
    status = bh__dy_make_scratch(t, g.subtables * bh_dy_buckets(&g, 0));
    if (status) {
        bh__dy_destroy_blocks(block, &backend->growing);
        return status;
    }
    g.seed = bh_seed_expand(seed);
    job.geometry = &g;
    job.scratch = &t->scratch;
    job.left = 0;
    for (i = 0; i < g.subtables && runs && !job.left; i++)
        runs = reinsert(t, i, &job);
    if (!runs || job.left) {
        bh__dy_destroy_blocks(block, &backend->growing);
        return runs ? bh__fail(BH_ERR_FULL, "a key found no place in a table built anew")
                    : bh__dy_refused("to build the table anew");
    }
    table->options.seed = seed;
    table->keys_moved += table->keys;
    table->erases = 0;
    replace_blocks(t, &g, block, bytes);
    return BH_OK;
}
