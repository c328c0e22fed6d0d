/*
 * HashFight's policy where the table is in a device's memory: what it does there through passes over
 * pairs and slots, primitives and copies, because the host cannot touch what lies there. policy.c
 * decides as for cores, and comes here to build a generation (bh__hf_fight_far; its phases are told
 * and drawn in phases.h) and to make the buffer anew (bh__hf_add_far).
 *
 * Memory for a build, for each of n pairs of 4+4 bytes, besides the generation's 16 bytes: 8 for the
 * pairs by region and 20 more while they are partitioned; then 6 for winners, 3 for flags and marks,
 * and 4 for those who have lost the first round, of whom no later round has more.
 */
#include "tables/hashfight/policy.h"

/* Pairs in columns. */
typedef struct columns {
    void *keys;
    void *values;
} columns;

static columns cut_columns(arena *a, const bh_table *table, uint64_t n)
{
    columns c;

    c.keys = pointer(cut(a, n, table->options.key_bytes));
    c.values = pointer(cut(a, n, table->options.value_bytes));
    return c;
}

/* Takes temporary memory that is to be cut in the same way as `a` was; `a` begins there then. */
static int take(const bh_table *table, arena *a, bh__temporary *memory)
{
    const bh__backend *backend = table->backend;

    memory->memory = 0;
    if (a->overflowed ||
        !bh__temporary_take(memory, &backend->memory, backend->pages, a->at ? a->at : 1))
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

/* --- building ------------------------------------------------------------------------------------ */

/* A build's temporary memory. */
typedef struct work {
    bh__temporary pairs;  /* by region */
    bh__temporary round;  /* winners, lost, marks */
    bh__temporary losers; /* of two rounds in turn */
    columns lost[2];
    uint64_t cells; /* slots of all regions, with what lies between rounds */
} work;

static void begin_work(work *w)
{
    w->pairs.memory = w->round.memory = w->losers.memory = 0;
    w->lost[0].keys = w->lost[0].values = w->lost[1].keys = w->lost[1].values = 0;
    w->cells = 0;
}

static void end_work(const bh_table *table, work *w)
{
    give(table, &w->losers);
    give(table, &w->round);
    give(table, &w->pairs);
}

/* A pass's argument that names the table alone. */
static bh_hf_phases begin_job(const bh_table *table)
{
    bh_hf_phases job;

    job.geometry = &((const hashfight *)table)->geometry;
    job.to = job.geometry->generation[0];
    job.before = 0;
    job.keys_at = job.values_at = 0;
    job.keys = job.values = 0;
    job.round = 0;
    job.winners = 0;
    job.winner_bytes = 4;
    job.lost = job.marks = job.outcomes = 0;
    job.losing = job.twins = 0;
    return job;
}

static uint64_t bytes_of(const work *w)
{
    return (w->pairs.memory ? w->pairs.bytes : 0) + (w->round.memory ? w->round.bytes : 0) +
           (w->losers.memory ? w->losers.bytes : 0);
}

static void cut_pairs(arena *a, const bh_table *table, const list *from, const plan *p,
                      bh_hf_phases *job)
{
    columns c = cut_columns(a, table, from->n);

    job->keys = c.keys;
    job->values = c.values;
    job->before = (const uint64_t *)pointer(cut(a, p->g.regions, 8));
    job->keys_at = (uint64_t *)pointer(cut(a, p->g.regions, 8));
    job->values_at = (uint64_t *)pointer(cut(a, p->g.regions, 8));
}

/* Partitions the pairs by region, one region behind the other. Answers 0 for want of memory. */
static int by_region(const bh_table *table, const list *from, const plan *p, bh_hf_phases *job,
                     work *w)
{
    const bh__primitives *primitives = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    const hashfight *t = (const hashfight *)table;
    bh__partition partition;
    arena a = {0, 0};
    int done;

    cut_pairs(&a, table, from, p, job);
    if (!take(table, &a, &w->pairs))
        return 0;
    cut_pairs(&a, table, from, p, job);
    partition.how.parts = (uint32_t)p->g.regions;
    partition.how.shift = 0;
    partition.how.seed = &job->geometry->seed;
    partition.key_bytes = table->options.key_bytes;
    partition.payload_bytes = table->options.value_bytes;
    partition.keys = from->keys;
    partition.payloads = from->payloads;
    partition.n = from->n;
    partition.counts = (uint64_t *)(uintptr_t)job->before;
    partition.keys_at = job->keys_at;
    partition.payloads_at = table->options.value_bytes ? job->values_at : 0;
    if (!primitives->partition_count(&where, &partition))
        return 0;
    bh__note_peak((bh_table *)(uintptr_t)table,
                  t->held + p->bytes + bytes_of(w) + partition.task_count * partition.task_bytes);
    done = primitives->scan(&where, partition.counts, 8, p->g.regions, 0, partition.counts, 0);
    if (done) {
        bh__hf_pass(table, BH_PASS_LAY, job, p->g.regions, p->g.regions);
        primitives->partition_scatter(&where, &partition);
    }
    primitives->partition_end(&where, &partition);
    return done;
}

static void cut_round(arena *a, const plan *p, uint64_t n, uint64_t cells, bh_hf_phases *job)
{
    job->winners = pointer(cut(a, p->g.regions * p->g.round[0].slots, job->winner_bytes));
    job->lost = (uint8_t *)pointer(cut(a, n, 1));
    job->marks = (uint8_t *)pointer(cut(a, cells, 1));
}

/* What all rounds need. */
static int begin_rounds(const bh_table *table, const plan *p, uint64_t n, bh_hf_phases *job,
                        work *w)
{
    const bh_table_options *o = &table->options;
    arena a = {0, 0};

    w->cells = p->g.regions * p->g.region_lines * BH_HF_SLOTS(o->key_bytes, o->value_bytes);
    job->winner_bytes = n < UINT32_MAX ? 4 : 8;
    cut_round(&a, p, n, w->cells, job);
    if (!take(table, &a, &w->round))
        return 0;
    cut_round(&a, p, n, w->cells, job);
    zero_bytes(table, (uint64_t)(uintptr_t)job->marks, w->cells);
    return 1;
}

/* Memory for those who have lost the first round, twice: a round reads one and writes the other. */
static int begin_losers(const bh_table *table, uint64_t n, work *w)
{
    arena a = {0, 0};
    int turn;

    for (turn = 0; turn < 2; turn++)
        (void)cut_columns(&a, table, n);
    if (!take(table, &a, &w->losers))
        return 0;
    for (turn = 0; turn < 2; turn++)
        w->lost[turn] = cut_columns(&a, table, n);
    return 1;
}

/* The losers of a round, `losing` of `n`, become the pairs of the next one. */
static int keep_losers(const bh_table *table, uint64_t n, uint64_t losing, bh_hf_phases *job,
                       work *w)
{
    const bh__primitives *p = table->backend->primitives;
    const uint32_t value_bytes = table->options.value_bytes;
    bh__where where = bh__hf_where(table);
    columns to;
    uint64_t kept;

    if (losing && !w->losers.memory && !begin_losers(table, losing, w))
        return 0;
    to = w->lost[job->round % 2];
    if (losing && (!p->compact(&where, job->lost, job->keys, table->options.key_bytes, n, to.keys,
                               &kept) ||
                   (value_bytes && !p->compact(&where, job->lost, job->values, value_bytes, n,
                                               to.values, &kept))))
        return 0;
    job->keys = to.keys;
    job->values = to.values;
    return 1;
}

/* All rounds. *n becomes the number of pairs that lost them all, which are in job->keys then. */
static built fight_rounds(const bh_table *table, const plan *p, bh_hf_phases *job, work *w,
                          uint64_t *n)
{
    const hashfight *t = (const hashfight *)table;

    if (!begin_rounds(table, p, *n, job, w))
        return NO_MEMORY;
    for (job->round = 0; job->round < p->g.rounds; job->round++) {
        uint64_t slots = p->g.regions * p->g.round[job->round].slots;

        job->losing = 0;
        zero_bytes(table, (uint64_t)(uintptr_t)job->winners, slots * job->winner_bytes);
        if (*n) {
            bh__hf_pass(table, BH_PASS_CLAIM, job, *n, *n);
            bh__hf_pass(table, BH_PASS_CHECK, job, *n, *n);
            if (job->twins)
                return TOO_UNEVEN;
        }
        /* Without pairs too: slots get their fillers. */
        bh__hf_pass(table, BH_PASS_TAKE, job, slots, slots);
        if (!keep_losers(table, *n, job->losing, job, w))
            return NO_MEMORY;
        *n = job->losing;
        bh__note_peak((bh_table *)(uintptr_t)table, t->held + p->bytes + bytes_of(w));
    }
    bh__hf_pass(table, BH_PASS_PACK, job, w->cells / 64, w->cells / 64);
    return BUILT;
}

/* The tail: those who lost all rounds, sorted by key. */
static built sort_tail(const bh_table *table, const bh_hf_phases *job, int distinct, uint64_t n,
                       bh_hf_generation *g)
{
    const bh__primitives *p = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    built result = NO_MEMORY;
    bh__temporary memory;
    arena a = {0, 0};
    uint64_t runs = n;
    columns spare;
    bh__sort sort;

    g->tail = n;
    if (!n)
        return BUILT;
    (void)cut_columns(&a, table, n);
    if (!take(table, &a, &memory))
        return NO_MEMORY;
    spare = cut_columns(&a, table, n);
    sort.key_bytes = table->options.key_bytes;
    sort.payload_bytes = table->options.value_bytes;
    sort.keys = job->keys;
    sort.payloads = sort.payload_bytes ? job->values : 0;
    sort.n = n;
    sort.keys_out = pointer(g->tail_keys);
    sort.payloads_out = sort.payload_bytes ? pointer(g->tail_values) : 0;
    sort.keys_spare = spare.keys;
    sort.payloads_spare = sort.payload_bytes ? spare.values : 0;
    if (p->sort_by_key(&where, &sort) &&
        (distinct || p->reduce_by_key(&where, BH_INSERT, sort.keys_out, sort.key_bytes, 0, 0, n,
                                      spare.keys, 0, 0, &runs)))
        result = runs == n ? BUILT : TOO_UNEVEN;
    zero_bytes(table, g->tail_gone, n);
    give(table, &memory);
    return result;
}

built bh__hf_fight_far(const bh_table *table, const list *from, plan *p, uint64_t *quota,
                       uint64_t *pairs)
{
    bh_hf_phases job = begin_job(table);
    uint64_t n = from->n;
    built result = BUILT;
    work w;

    begin_work(&w);
    bh__hf_find_fillers(table, &p->g);
    job.to = p->g;
    job.keys = from->keys;
    job.values = from->payloads;
    if (p->g.regions > 1 && !by_region(table, from, p, &job, &w))
        result = NO_MEMORY;
    if (result == BUILT && p->g.rounds)
        result = fight_rounds(table, p, &job, &w, &n);
    if (result == BUILT && n > p->g.tail_room) {
        /* Who wins is chance, so it may be some more the next time. */
        *quota = (n + n / 8) / p->g.regions + 1;
        result = TOO_MANY_LEFT;
    }
    if (result == BUILT)
        result = sort_tail(table, &job, (int)from->distinct, n, &p->g);
    end_work(table, &w);
    *pairs = from->n;
    return result;
}

void bh__hf_tell_far(const bh_table *table, uint8_t *outcomes, uint64_t n)
{
    bh_hf_phases job = begin_job(table);

    job.outcomes = outcomes;
    bh__hf_pass(table, BH_PASS_TELL, &job, n, n);
}

/* --- the buffer ---------------------------------------------------------------------------------- */

/*
 * The buffer's pairs that were not erased are copied aside, the new keys behind them, and all sorted
 * back into it. Its block has the memory for that, so that a small call need not ask for any.
 */
typedef struct aside {
    columns pairs;
    columns spare;
    uint64_t *counts;
    uint64_t parts;
} aside;

static void cut_aside(arena *a, const bh_table *table, aside *to)
{
    to->pairs = cut_columns(a, table, BH_HF_BUFFER_MOST);
    to->spare = cut_columns(a, table, BH_HF_BUFFER_MOST);
    to->parts = BH_HF_BUFFER_MOST / BH_HF_EXPORT_PART_FAR + 1;
    to->counts = (uint64_t *)pointer(cut(a, to->parts, 8));
}

uint64_t bh__hf_aside_bytes(const bh_table *table)
{
    arena a = {0, 0};
    aside all;

    cut_aside(&a, table, &all);
    return a.at;
}

int bh__hf_add_far(hashfight *t, const void *keys, uint64_t count)
{
    const bh_table *table = &t->table;
    const uint32_t key_bytes = table->options.key_bytes, value_bytes = table->options.value_bytes;
    bh__where where = bh__hf_where(table);
    uint64_t cell = 0, kept = 0;
    arena a = {t->aside, 0};
    bh__sort sort;
    aside to;

    cut_aside(&a, table, &to);
    if (t->tail.tail && !bh__hf_read(table, t->geometry.generations - 1, &cell, to.counts, to.parts,
                                     to.pairs.keys, value_bytes ? to.pairs.values : 0,
                                     BH_HF_BUFFER_MOST, &kept))
        return 0;
    copy_bytes(table, (uint64_t)(uintptr_t)to.pairs.keys + kept * key_bytes,
               (uint64_t)(uintptr_t)keys, count * key_bytes);
    zero_bytes(table, (uint64_t)(uintptr_t)to.pairs.values + kept * value_bytes,
               count * value_bytes);
    sort.key_bytes = key_bytes;
    sort.payload_bytes = value_bytes;
    sort.keys = to.pairs.keys;
    sort.payloads = value_bytes ? to.pairs.values : 0;
    sort.n = kept + count;
    sort.keys_out = pointer(t->tail.tail_keys);
    sort.payloads_out = value_bytes ? pointer(t->tail.tail_values) : 0;
    sort.keys_spare = to.spare.keys;
    sort.payloads_spare = value_bytes ? to.spare.values : 0;
    if (!table->backend->primitives->sort_by_key(&where, &sort))
        return 0;
    zero_bytes(table, t->tail.tail_gone, kept + count);
    t->tail.tail = kept + count;
    t->gone = 0;
    return 1;
}
