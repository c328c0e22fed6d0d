/*
 * HashFight's policy where the table is in a device's memory: what it does there through passes over
 * pairs and slots, primitives and copies, because the host cannot touch what lies there. The other files
 * decide as for cores, and come here, by a bh__hf_builder, to build a generation (fight; how teams fight
 * is told and drawn in teams.h) and to make the buffer anew (add_to_buffer). near.c has the same for
 * cores.
 *
 * Memory for a build, besides the generation's 14 bytes for each pair of 4+4 bytes: 20 bytes a pair while
 * pairs are partitioned, and nothing of that size afterwards.
 */
#include "tables/hashfight/policy.h"

/* Pairs in columns. */
typedef struct columns {
    void *keys;
    void *values;
} columns;

static columns cut_columns(bh__arena *a, const bh_table *table, uint64_t n)
{
    columns c;

    c.keys = bh__pointer(bh__cut(a, n, table->options.key_bytes));
    c.values = bh__pointer(bh__cut(a, n, table->options.value_bytes));
    return c;
}

/* Takes temporary memory for all that has been cut from `a`, which had no memory, and lets `a` begin there,
 * to be cut again in the same way. */
static int take(const bh_table *table, bh__arena *a, bh__temporary *memory)
{
    const bh__backend *backend = table->backend;

    memory->memory = 0;
    if (a->overflowed || !bh__temporary_take(memory, &backend->memory, a->at ? a->at : 1))
        return 0;
    a->at = (uint64_t)(uintptr_t)memory->memory;
    return 1;
}

static void give(const bh_table *table, bh__temporary *memory)
{
    if (memory->memory)
        bh__temporary_give(memory, &table->backend->memory);
    memory->memory = 0;
}

/* --- plans --------------------------------------------------------------------------------------- */

/* Pairs of a region: what a team needs to fight fits in its fast memory, also where a region has more
 * pairs than others. */
static uint64_t region_keys(const bh_table *table)
{
    const double f = table->options.hashfight.slots_per_key;
    const double pair = BH_HF_PAIR(table->options.key_bytes, table->options.value_bytes);

    return (uint64_t)(0.8 * BH_HF_TEAM_BYTES / (pair + 4 + 4 * f));
}

static uint64_t regions_most(const bh_table *table)
{
    return table->backend->primitives->parts_most;
}

/* --- building ------------------------------------------------------------------------------------ */

/* Where regions do not fit in a team's shared memory, there are as many as a partition has parts (or one),
 * and each team has so many of them: with 65,536 parts that makes as many teams as a large device runs at
 * a time. */
#define REGIONS_OF_TEAM 128

/* A build's temporary memory. */
typedef struct work {
    bh__temporary lists;   /* of regions, and of pairs that lose all rounds */
    bh__temporary scratch; /* of teams whose fast memory is too small */
} work;

/* The argument of a pass, in which only the table is set. */
static bh_hf_teams begin_job(const bh_table *table)
{
    bh_hf_teams job;

    job.geometry = &((const bh__hf_table *)table)->geometry;
    job.to = job.geometry->generation[0];
    job.counts = 0;
    job.keys_at = job.values_at = 0;
    job.teams = job.room = job.scratch_bytes = 0;
    job.scratch = 0;
    job.left_keys = job.left_values = 0;
    job.left_room = job.left = job.uneven = 0;
    job.outcomes = 0;
    return job;
}

static uint64_t bytes_of(const work *w)
{
    return (w->lists.memory ? w->lists.bytes : 0) + (w->scratch.memory ? w->scratch.bytes : 0);
}

static void cut_lists(bh__arena *a, const bh_table *table, const bh__hf_plan *p, bh_hf_teams *job)
{
    const columns left = cut_columns(a, table, p->g.tail_room);

    job->left_keys = left.keys;
    job->left_values = left.values;
    job->left_room = p->g.tail_room;
    job->counts = (const uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
    job->keys_at = (uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
    job->values_at = (uint64_t *)bh__pointer(bh__cut(a, p->g.regions, 8));
}

/* Memory for the teams. Answers 0 for want of it. */
static int begin_teams(const bh_table *table, const bh__hf_plan *p, uint64_t n, bh_hf_teams *job,
                       work *w)
{
    const bh_table_options *o = &table->options;
    const uint64_t slots = bh__hf_lines_most(&p->g) * bh__hf_slots_per_line(table);
    bh__arena a = {0, 0};

    job->room = bh__hf_region_room(n, p->g.regions);
    job->teams = p->g.regions;
    /* While pairs fight, their numbers and those of a region's slots have 32 bits, with some to spare for
     * threads that count in steps of a team. Only keys that all want one region are so many. */
    if (job->room > UINT32_MAX / 2 || slots > UINT32_MAX - 4096)
        return 0;
    job->scratch_bytes = BH_HF_TEAM_SCRATCH(o->key_bytes, o->value_bytes, job->room, slots);
    if (job->scratch_bytes <= BH_HF_TEAM_BYTES)
        return 1;
    job->teams = p->g.regions / REGIONS_OF_TEAM + 1;
    (void)bh__cut(&a, job->teams, job->scratch_bytes);
    if (!take(table, &a, &w->scratch))
        return 0;
    job->scratch = (unsigned char *)w->scratch.memory;
    return 1;
}

/* Partitions the pairs by region into the generation's memory, each region's to where its slots will
 * be. */
static bh__hf_built by_region(const bh_table *table, const bh__hf_list *from, const bh__hf_plan *p,
                              bh_hf_teams *job, work *w)
{
    const bh__primitives *primitives = table->backend->primitives;
    const uint32_t key_bytes = table->options.key_bytes, value_bytes = table->options.value_bytes;
    bh__where where = bh__hf_where(table);
    const bh__hf_table *t = (const bh__hf_table *)table;
    bh__partition partition;
    bh__arena a = {0, 0};
    int done = 1;

    cut_lists(&a, table, p, job);
    if (!take(table, &a, &w->lists) || !begin_teams(table, p, from->n, job, w))
        return BH_HF_NO_MEMORY;
    cut_lists(&a, table, p, job);
    partition.how.parts = (uint32_t)p->g.regions;
    partition.how.shift = 0;
    partition.how.seed = &job->geometry->seed;
    partition.how.numbers = NULL;
    partition.key_bytes = key_bytes;
    partition.payload_bytes = value_bytes;
    partition.keys = from->keys;
    partition.payloads = from->payloads;
    partition.n = from->n;
    partition.counts = (uint64_t *)(uintptr_t)job->counts;
    partition.keys_at = job->keys_at;
    partition.payloads_at = value_bytes ? job->values_at : 0;
    if (!primitives->partition_count(&where, &partition))
        return BH_HF_NO_MEMORY;
    bh__note_peak((bh_table *)(uintptr_t)table,
                  t->held + p->bytes + bytes_of(w) + partition.task_count * partition.task_bytes);
    bh__hf_pass(table, BH_HF_PASS_LAY, job, p->g.regions, p->g.regions);
    /* Tried twice, like the passes (BH_MUST). */
    if (!job->uneven)
        done = primitives->partition_scatter(&where, &partition) ||
               primitives->partition_scatter(&where, &partition);
    primitives->partition_end(&where, &partition);
    return job->uneven ? BH_HF_TOO_UNEVEN : done ? BH_HF_BUILT : BH_HF_NO_MEMORY;
}

/* Makes the tail: the pairs that lost all rounds, sorted by key. */
static bh__hf_built sort_tail(const bh_table *table, const bh_hf_teams *job, int distinct,
                              bh_hf_generation *g)
{
    const bh__primitives *p = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    const uint64_t n = job->left;
    bh__hf_built result = BH_HF_NO_MEMORY;
    bh__temporary memory;
    bh__arena a = {0, 0};
    uint64_t runs = n;
    columns spare;
    bh__sort sort;

    g->tail = n;
    if (!n)
        return BH_HF_BUILT;
    (void)cut_columns(&a, table, n);
    if (!take(table, &a, &memory))
        return BH_HF_NO_MEMORY;
    spare = cut_columns(&a, table, n);
    sort.key_bytes = table->options.key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = table->options.value_bytes;
    sort.keys = job->left_keys;
    sort.payloads = sort.payload_bytes ? job->left_values : 0;
    sort.n = n;
    sort.keys_out = bh__pointer(g->tail_keys);
    sort.payloads_out = sort.payload_bytes ? bh__pointer(g->tail_values) : 0;
    sort.keys_spare = spare.keys;
    sort.payloads_spare = sort.payload_bytes ? spare.values : 0;
    if (p->sort_by_key(&where, &sort) &&
        (distinct || p->reduce_by_key(&where, BH_INSERT, sort.keys_out, sort.key_bytes, 0, 0, n,
                                      spare.keys, 0, 0, &runs)))
        result = runs == n ? BH_HF_BUILT : BH_HF_TOO_UNEVEN;
    bh__hf_zero(table, g->tail_gone, n);
    give(table, &memory);
    return result;
}

static bh__hf_built fight(const bh_table *table, const bh__hf_list *from, bh__hf_plan *p,
                          uint64_t *quota, uint64_t *pairs)
{
    bh_hf_teams job = begin_job(table);
    bh__hf_built result = BH_HF_BUILT;
    work w;

    w.lists.memory = w.scratch.memory = 0;
    bh__hf_find_fillers(table, &p->g);
    job.to = p->g;
    if (p->g.rounds) {
        result = by_region(table, from, p, &job, &w);
        if (result == BH_HF_BUILT)
            bh__hf_pass(table, BH_HF_PASS_TEAM, &job, job.teams, 1);
    } else {
        /* All pairs go to the tail. */
        job.left_keys = (void *)(uintptr_t)from->keys;
        job.left_values = (void *)(uintptr_t)from->payloads;
        job.left = from->n;
    }
    if (result == BH_HF_BUILT && job.uneven) {
        result = BH_HF_TOO_UNEVEN;
    } else if (result == BH_HF_BUILT && job.left > p->g.tail_room) {
        /* Which pair wins is chance, so a few more may be left the next time. */
        *quota = (job.left + job.left / 8) / p->g.regions + 1;
        result = BH_HF_TOO_MANY_LEFT;
    } else if (result == BH_HF_BUILT) {
        result = sort_tail(table, &job, (int)from->distinct, &p->g);
    }
    give(table, &w.scratch);
    give(table, &w.lists);
    *pairs = from->n;
    return result;
}

static void tell(const bh_table *table, uint8_t *outcomes, uint64_t n)
{
    bh_hf_teams job = begin_job(table);

    job.outcomes = outcomes;
    bh__hf_pass(table, BH_HF_PASS_TELL, &job, n, n);
}

/* --- the buffer ---------------------------------------------------------------------------------- */

/*
 * The buffer's pairs that were not erased are copied aside, the new keys behind them, and all sorted
 * back into it. Its block has the memory for that, so that a small call need not ask for any.
 */
typedef struct aside {
    columns pairs;
    columns spare;
} aside;

static void cut_aside(bh__arena *a, const bh_table *table, aside *to)
{
    to->pairs = cut_columns(a, table, BH_HF_BUFFER_MOST);
    to->spare = cut_columns(a, table, BH_HF_BUFFER_MOST);
}

static uint64_t aside_bytes(const bh_table *table)
{
    bh__arena a = {0, 0};
    aside all;

    cut_aside(&a, table, &all);
    return a.at;
}

static int add_to_buffer(bh__hf_table *t, const void *keys, uint64_t count)
{
    const bh_table *table = &t->table;
    const uint32_t key_bytes = table->options.key_bytes, value_bytes = table->options.value_bytes;
    bh__where where = bh__hf_where(table);
    uint64_t kept = 0;
    bh__arena a = {t->aside, 0};
    bh__sort sort;
    aside to;

    cut_aside(&a, table, &to);
    if (t->tail.tail)
        kept = bh__hf_read(t, t->geometry.generations - 1, to.pairs.keys, to.pairs.values,
                           BH_HF_BUFFER_MOST);
    bh__hf_copy(table, (uint64_t)(uintptr_t)to.pairs.keys + kept * key_bytes,
                (uint64_t)(uintptr_t)keys, count * key_bytes);
    bh__hf_zero(table, (uint64_t)(uintptr_t)to.pairs.values + kept * value_bytes,
                count * value_bytes);
    sort.key_bytes = key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = value_bytes;
    sort.keys = to.pairs.keys;
    sort.payloads = value_bytes ? to.pairs.values : 0;
    sort.n = kept + count;
    sort.keys_out = bh__pointer(t->tail.tail_keys);
    sort.payloads_out = value_bytes ? bh__pointer(t->tail.tail_values) : 0;
    sort.keys_spare = to.spare.keys;
    sort.payloads_spare = value_bytes ? to.spare.values : 0;
    if (!table->backend->primitives->sort_by_key(&where, &sort))
        return 0;
    bh__hf_zero(table, t->tail.tail_gone, kept + count);
    t->tail.tail = kept + count;
    t->gone = 0;
    return 1;
}

const bh__hf_builder bh__hf_far = {
    .region_keys = region_keys,
    .regions_most = regions_most,
    .fight = fight,
    .tell = tell,
    .add_to_buffer = add_to_buffer,
    .aside_bytes = aside_bytes,
};
