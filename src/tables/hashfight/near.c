/*
 * HashFight's policy where cores build, in the host's memory: partitioning the pairs by region, letting
 * the tasks of BH_HF_PASS_FIGHT fight, and sorting the pairs that lost all rounds into the tail
 * (fight); and inserting into the buffer in place (add_to_buffer). far.c has the same for a device.
 *
 * The pairs are partitioned into the very memory that their region's slots will take, so a build needs
 * no second copy of them; a task takes a region's pairs into its own scratch memory before it writes
 * the slots.
 */
#include "tables/hashfight/policy.h"

/* Pairs of a region: what its task needs to fight stays within a second-level cache of two
 * megabytes. On the one machine measured twice as many make building 7% slower, and half as many make no
 * difference. */
#ifndef BH_HF_REGION_KEYS
#define BH_HF_REGION_KEYS 32768
#endif

/* Regions at most, so that partition has a line of each in the cache. */
#define REGIONS_MOST 2048

/* --- plans --------------------------------------------------------------------------------------- */

static uint64_t region_keys(const bh_table *table)
{
    (void)table;
    return BH_HF_REGION_KEYS;
}

static uint64_t regions_most(const bh_table *table)
{
    (void)table;
    return REGIONS_MOST;
}

/* --- building ------------------------------------------------------------------------------------ */

/* What BH_HF_PASS_FIGHT needs besides the generation, in one block. */
typedef struct work {
    bh__block block;
    uint64_t *counts;
    uint64_t *keys_at;
    uint64_t *payloads_at;
    uint64_t *left;
    uint64_t *index;
    uint64_t left_room;
    void *left_keys[2];
    uint64_t *left_payloads[2];
} work;

static void cut_work(bh__arena *a, const bh_table *table, const bh__hf_plan *p, work *w)
{
    uint32_t i;

    w->left_room = p->g.regions * p->quota;
    w->counts = (uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
    w->keys_at = (uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
    w->payloads_at = (uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
    w->left = (uint64_t *)bh__pointer(bh__cut(a, w->left_room + p->g.regions + 1, 8));
    w->index = (uint64_t *)bh__pointer(bh__cut(a, w->left_room, 8));
    for (i = 0; i < 2; i++) {
        w->left_keys[i] = bh__pointer(bh__cut(a, w->left_room, table->options.key_bytes));
        w->left_payloads[i] = (uint64_t *)bh__pointer(bh__cut(a, w->left_room, 8));
    }
}

static int make_work(const bh_table *table, const bh__hf_plan *p, work *w)
{
    bh__memory lazy = table->backend->host;
    bh__arena a = {0, 0};

    lazy.pages = BH_PAGES_LAZY;
    cut_work(&a, table, p, w);
    if (a.overflowed || !bh__block_create(&w->block, &lazy, a.at))
        return 0;
    a.at = (uint64_t)(uintptr_t)w->block.memory;
    cut_work(&a, table, p, w);
    return 1;
}

/* Whether every region's pairs fit where its slots will be; and where they lie there. */
static int place_pairs(const bh_table *table, const bh__hf_plan *p, const bh__hf_list *from,
                       const work *w, uint64_t *most)
{
    uint64_t bytes = p->g.region_lines * BH_HF_LINE, key_bytes = table->options.key_bytes, region;

    *most = 0;
    for (region = 0; region < p->g.regions; region++) {
        uint64_t count = w->counts[region], keys;

        if (count > *most)
            *most = count;
        if (count >= bytes || count >= UINT32_MAX)
            return 0;
        /* Both columns begin at a line: partitioning then writes them in one run. */
        keys = (count * key_bytes + BH_HF_LINE - 1) / BH_HF_LINE * BH_HF_LINE;
        if (keys + count * from->payload_bytes > bytes)
            return 0;
        w->keys_at[region] = p->g.lines + region * bytes;
        w->payloads_at[region] = w->keys_at[region] + keys;
    }
    return 1;
}

/* Makes the tail of the pairs that lost all rounds: sorted by key, one pair for each key. Answers 0 for want
 * of memory. */
static int make_tail(const bh_table *table, bh_hf_fight *job, work *w)
{
    const bh__primitives *p = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    uint32_t key_bytes = table->options.key_bytes;
    uint64_t total = 0, region, i;
    bh__sort sort;

    for (region = 0; region < job->to->regions; region++)
        for (i = 0; i < w->left[region]; i++)
            w->index[total++] = region * job->quota + i;
    job->to->tail = 0;
    if (!total)
        return 1;
    p->gather(&where, w->left_keys[0], key_bytes, w->index, 8, total, w->left_keys[1]);
    p->gather(&where, w->left_payloads[0], 8, w->index, 8, total, w->left_payloads[1]);
    sort.key_bytes = key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = 8;
    sort.keys = sort.keys_out = w->left_keys[1];
    sort.payloads = sort.payloads_out = w->left_payloads[1];
    sort.n = total;
    sort.keys_spare = w->left_keys[0];
    sort.payloads_spare = w->left_payloads[0];
    if (!p->sort_by_key(&where, &sort) ||
        !p->reduce_by_key(&where, BH_INSERT, w->left_keys[1], key_bytes, 0, 0, total,
                          w->left_keys[0], 0, w->left, &job->to->tail))
        return 0;
    w->left[job->to->tail] = total;
    job->left_keys = w->left_keys[1];
    job->left_payloads = w->left_payloads[1];
    job->left = w->left;
    bh__hf_pass(table, BH_HF_PASS_TAIL, job, job->to->tail, BH_HF_PASS_RUNS);
    return 1;
}

static bh__hf_built fight(const bh_table *table, const bh__hf_list *from, bh__hf_plan *p,
                          uint64_t *quota, uint64_t *pairs)
{
    const bh__backend *backend = table->backend;
    const bh__primitives *primitives = backend->primitives;
    const bh__hf_table *t = (const bh__hf_table *)table;
    bh__where where = bh__hf_where(table);
    const uint64_t lines = bh__hf_lines_most(&p->g);
    uint64_t region;
    bh__partition partition;
    bh_hf_fight job;
    bh__block scratch;
    bh__hf_built result = BH_HF_NO_MEMORY;
    work w;

    if (!make_work(table, p, &w))
        return BH_HF_NO_MEMORY;
    partition.how.parts = (uint32_t)p->g.regions;
    partition.how.shift = 0;
    partition.how.seed = &t->geometry.seed;
    partition.how.numbers = NULL;
    partition.key_bytes = table->options.key_bytes;
    partition.payload_bytes = from->payload_bytes;
    partition.keys = from->keys;
    partition.payloads = from->payloads;
    partition.n = from->n;
    partition.counts = w.counts;
    partition.keys_at = w.keys_at;
    partition.payloads_at = from->payload_bytes ? w.payloads_at : 0;
    if (!primitives->partition_count(&where, &partition))
        goto no_partition;
    job.room = 0;
    if (!place_pairs(table, p, from, &w, &job.room)) {
        result = BH_HF_TOO_UNEVEN;
        goto no_scratch;
    }
    job.tasks = backend->executor.width(backend->executor.state);
    job.tasks = job.tasks < p->g.regions ? job.tasks : p->g.regions;
    job.scratch_bytes =
        BH_HF_SCRATCH(table->options.key_bytes, from->payload_bytes, job.room, lines);
    if (!bh__block_create(&scratch, &backend->host, job.tasks * job.scratch_bytes))
        goto no_scratch;
    bh__note_peak((bh_table *)(uintptr_t)table,
                  t->held + p->bytes + scratch.committed + w.block.committed +
                      (partition.tasks ? partition.task_count * partition.task_bytes : 0));
    (void)primitives->partition_scatter(&where, &partition);

    bh__hf_find_fillers(table, &p->g);
    job.geometry = &t->geometry;
    job.to = &p->g;
    job.counts = w.counts;
    job.keys_at = w.keys_at;
    job.payloads_at = w.payloads_at;
    job.payload_bytes = from->payload_bytes;
    job.indexed = from->indexed;
    job.values = from->values;
    job.outcomes = from->outcomes;
    job.scratch = scratch.memory;
    job.quota = p->quota;
    job.left_keys = w.left_keys[0];
    job.left_payloads = w.left_payloads[0];
    job.left = w.left;
    job.won = 0;
    bh__hf_pass(table, BH_HF_PASS_FIGHT, &job, job.tasks, 1);
    result = BH_HF_BUILT;
    for (region = 0; region < p->g.regions; region++)
        if (w.left[region] > p->quota) {
            *quota = w.left[region] > *quota ? w.left[region] : *quota;
            result = BH_HF_TOO_MANY_LEFT;
        }
    if (result == BH_HF_BUILT && !make_tail(table, &job, &w))
        result = BH_HF_NO_MEMORY;
    *pairs = job.won + p->g.tail;
    bh__block_destroy(&scratch, &backend->host);
no_scratch:
    primitives->partition_end(&where, &partition);
no_partition:
    bh__block_destroy(&w.block, &backend->host);
    return result;
}

/* --- the buffer ---------------------------------------------------------------------------------- */

/* Columns of 4 or 8 bytes, where a handful of rows is handled. */
static uint64_t row(uint64_t column, uint64_t i, uint32_t bytes)
{
    return bytes == 8   ? ((const uint64_t *)bh__pointer(column))[i]
           : bytes == 4 ? ((const uint32_t *)bh__pointer(column))[i]
                        : 0;
}

static void set_row(uint64_t column, uint64_t i, uint32_t bytes, uint64_t value)
{
    if (bytes == 8)
        ((uint64_t *)bh__pointer(column))[i] = value;
    else if (bytes == 4)
        ((uint32_t *)bh__pointer(column))[i] = (uint32_t)value;
}

static int add_to_buffer(bh__hf_table *t, const void *keys, uint64_t count)
{
    uint32_t key_bytes = t->table.options.key_bytes, value_bytes = t->table.options.value_bytes;
    uint64_t from = (uint64_t)(uintptr_t)keys, i, kept = 0, to;
    bh_hf_generation *b = &t->tail;
    uint8_t *gone = (uint8_t *)bh__pointer(b->tail_gone);

    for (i = 0; t->gone && i < b->tail; i++) {
        if (gone[i])
            continue;
        set_row(b->tail_keys, kept, key_bytes, row(b->tail_keys, i, key_bytes));
        set_row(b->tail_values, kept, value_bytes, row(b->tail_values, i, value_bytes));
        gone[kept++] = 0;
    }
    if (t->gone)
        b->tail = kept;
    t->gone = 0;
    i = b->tail;
    b->tail += count;
    /* Merged from the end: old pairs move up until the last new key is in place. */
    for (to = b->tail; count; to--) {
        uint64_t new_key = row(from, count - 1, key_bytes);

        if (i && row(b->tail_keys, i - 1, key_bytes) > new_key) {
            i--;
            set_row(b->tail_keys, to - 1, key_bytes, row(b->tail_keys, i, key_bytes));
            set_row(b->tail_values, to - 1, value_bytes, row(b->tail_values, i, value_bytes));
        } else {
            count--;
            set_row(b->tail_keys, to - 1, key_bytes, new_key);
            set_row(b->tail_values, to - 1, value_bytes, 0);
        }
        gone[to - 1] = 0;
    }
    return 1;
}

static uint64_t aside_bytes(const bh_table *table)
{
    (void)table;
    return 0; /* pairs move up in place */
}

const bh__hf_builder bh__hf_near = {
    .region_keys = region_keys,
    .regions_most = regions_most,
    .fight = fight,
    .tell = 0, /* the fight sets outcomes */
    .add_to_buffer = add_to_buffer,
    .aside_bytes = aside_bytes,
};
