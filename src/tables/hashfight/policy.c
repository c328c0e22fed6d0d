/*
 * HashFight: the policy. Building generations, merging them, and what a call that
 * changes the table goes through.
 *
 * The paper builds a table once and throws it away for a change. Here
 *
 *   a call that inserts into an empty table builds one generation of its elements as they are;
 *   every other call that changes something is sorted by key, stably, and each run of equal keys
 *   performed at once, in the caller's order, where the key is (passes WANT and FOLD). Before that
 *   keys that are nowhere and are to be inserted get a place: in the buffer as long as it has room,
 *   else in a new generation, together with the buffer and with those generations that are not much
 *   larger than what comes. So a key is moved a logarithmic number of times, most keys are in the
 *   first generation that a lookup reads, and there are few generations.
 *
 * All this happens with the gate held alone: lookups see the table before or after. What can fail
 * (memory, a budget) happens before the first change; then the new keys are not done, and what is
 * there already still can be.
 */
#include "tables/hashfight/policy.h"

#include "base/system.h"

#define DEFAULT_SLOTS_PER_KEY 1.5
#define LEAST_SLOTS_PER_KEY 1.03
#define MOST_SLOTS_PER_KEY 2.0

/* Pairs that may be left for the tail, all regions together, before another round is made for them:
 * they fit in a core's first cache. Chosen, not tuned. */
#ifndef BH_HF_TAIL_KEYS
#define BH_HF_TAIL_KEYS 1024
#endif

/* Pairs of a region: what its task needs to fight stays within a second-level cache of two
 * megabytes. On the one machine measured twice as many make building 7% slower, half as many
 * nothing. */
#ifndef BH_HF_REGION_KEYS
#define BH_HF_REGION_KEYS 32768
#endif

/* The same on a device: what a team needs to fight fits in its fast memory, also where a region has
 * more pairs than others. */
static uint64_t region_keys_far(const bh_table *table)
{
    const double f = table->options.hashfight.slots_per_key;
    const double pair = BH_HF_PAIR(table->options.key_bytes, table->options.value_bytes);

    return (uint64_t)(0.8 * BH_HF_TEAM_BYTES / (pair + 4 + 4 * f + f / 4));
}

/* Regions at most, so that partition has a line of each in the cache. */
#define REGIONS_MOST 2048

static uint64_t regions_most(const bh_table *table)
{
    return bh__hf_is_far(table) ? table->backend->primitives->parts_most : REGIONS_MOST;
}

/* A round has so many slots in each region at least, so that there is a filler. */
#define ROUND_SLOTS_LEAST 8

/* A region has room for so many pairs in the tail at least, or, far, all of them together. A build for
 * tests may want it too small for them. */
#ifndef BH_HF_TAIL_LEAST
#define BH_HF_TAIL_LEAST 96
#endif

/* A generation is merged with what comes when it is up to so many times as large. */
#ifndef BH_HF_MERGE_FACTOR
#define BH_HF_MERGE_FACTOR 8
#endif

/* Elements of a call that are sorted and performed at once; so many when memory is short. */
#ifndef BH_HF_CHUNK_MOST
#define BH_HF_CHUNK_MOST (1u << 22)
#endif

/* The same on a device: 37 bytes of its memory for each element of 4-byte keys. Chosen, not tuned. */
#ifndef BH_HF_CHUNK_FAR
#define BH_HF_CHUNK_FAR (1u << 26)
#endif

/* Elements of a small call, which is sorted on the stack: with what sorting takes (as much again) it
 * must stay well below the 64 KiB that a call may have. */
#define SMALL_CHUNK 512
#define SMALL_CHUNK_BYTES (SMALL_CHUNK * (3 * 8 + 2 * 4 + 2 * 8 + 1) + 9 * 64)

/* Sorting lookups by region pays in tables of so many bytes on pages of the base size, where most
 * random reads must also look for the page; and for calls of so many lookups for each thread. On
 * huge pages it pays nowhere (docs/decisions/0007). */
#define REGIONS_PAY_BYTES (192ull << 20)
#define REGIONS_PAY_LOOKUPS (1ull << 17)

/* Runs that one task of a pass works on. */
#define PASS_RUNS 4096

/* Of min_fill's default: how empty a table may become, of what it has when it is built. */
#define DEFAULT_MIN_SHARE 0.5

static hashfight *of(bh_table *table)
{
    return (hashfight *)table;
}

static uint64_t slots_per_line(const bh_table *table)
{
    return BH_HF_SLOTS(table->options.key_bytes, table->options.value_bytes);
}

/* Columns of 4 or 8 bytes, where a handful of rows is handled. */
static uint64_t row(uint64_t column, uint64_t i, uint32_t bytes)
{
    return bytes == 8   ? ((const uint64_t *)pointer(column))[i]
           : bytes == 4 ? ((const uint32_t *)pointer(column))[i]
                        : 0;
}

static void set_row(uint64_t column, uint64_t i, uint32_t bytes, uint64_t value)
{
    if (bytes == 8)
        ((uint64_t *)pointer(column))[i] = value;
    else if (bytes == 4)
        ((uint32_t *)pointer(column))[i] = (uint32_t)value;
}

/* ---------------------------------------------------------------------------------------------
 * Options and bounds
 * --------------------------------------------------------------------------------------------- */

/* e to the power of -x, for x from 0 to 1 to ten digits. */
static double exp_minus(double x)
{
    double sum = 1, term = 1;
    int i;

    for (i = 1; i < 14; i++) {
        term *= -x / i;
        sum += term;
    }
    return sum;
}

/* Of keys that fight for slots_per_key slots each, so many lose, and of its slots so many are used
 * by all rounds together. */
static double share_lost(double slots_per_key)
{
    return 1 - slots_per_key * (1 - exp_minus(1 / slots_per_key));
}

/* Keys per slot of a generation as it is built. */
static double natural_fill(const bh_table *table)
{
    double f = table->options.hashfight.slots_per_key;

    return (1 - share_lost(f)) / f;
}

static int choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    double fill;

    if (o->hashfight.slots_per_key == 0)
        o->hashfight.slots_per_key = DEFAULT_SLOTS_PER_KEY;
    if (!(o->hashfight.slots_per_key >= LEAST_SLOTS_PER_KEY &&
          o->hashfight.slots_per_key <= MOST_SLOTS_PER_KEY)) {
        bh__fail(BH_ERR_ARGUMENT, "hashfight.slots_per_key is %g; it must be from %g to %g",
                 o->hashfight.slots_per_key, LEAST_SLOTS_PER_KEY, MOST_SLOTS_PER_KEY);
        return 0;
    }
    if (!o->hashfight.tail_keys)
        o->hashfight.tail_keys = BH_HF_TAIL_KEYS;
    /* What is built has always the same fill, so max_fill holds or it cannot. */
    fill = natural_fill(table);
    if (o->max_fill == 0)
        o->max_fill = fill;
    if (!(o->max_fill >= fill * 0.999 && o->max_fill <= 1)) {
        bh__fail(BH_ERR_ARGUMENT,
                 "max_fill is %g; with hashfight.slots_per_key %g a table is built with %.2f of its "
                 "slots in use, so it must be at least that, and at most 1",
                 o->max_fill, o->hashfight.slots_per_key, fill);
        return 0;
    }
    if (o->min_fill == 0)
        o->min_fill = DEFAULT_MIN_SHARE * fill;
    if (!(o->min_fill <= 0.75 * fill)) {
        bh__fail(BH_ERR_ARGUMENT, "min_fill is %g; with hashfight.slots_per_key %g it must be at "
                                  "most %g, or a table that was just built would be too empty",
                 o->min_fill, o->hashfight.slots_per_key, 0.75 * fill);
        return 0;
    }
    return 1;
}

static uint64_t slots_of(const bh_hf_generation *generation)
{
    uint64_t slots = generation->tail_room, r;

    for (r = 0; r < generation->rounds; r++)
        slots += generation->regions * generation->round[r].slots;
    return slots;
}

/* What follows from the generations. */
static void publish(hashfight *t)
{
    bh_table *table = &t->table;
    bh_hf_geometry *g = &t->geometry;
    uint64_t slots = BH_HF_BUFFER_MOST, pairs = 0, i;

    table->bytes = t->buffer.committed + t->spare.committed;
    for (i = 0; i < g->generations; i++) {
        if (!g->generation[i].regions)
            continue;
        table->bytes += t->block[i].committed;
        slots += slots_of(&g->generation[i]);
        pairs += t->built[i];
    }
    table->slots = slots + (t->spare.memory ? t->spare_slots : 0);
    table->max_keys = table->keys + BH_HF_BUFFER_MOST - (t->tail.tail - t->gone);
    if (t->spare.memory && table->max_keys < t->spare_keys)
        table->max_keys = t->spare_keys;
    table->min_keys = 0;
    if (table->options.min_fill > 0 && slots > 4 * BH_HF_BUFFER_MOST && slots > t->floor_slots) {
        table->min_keys = (uint64_t)(table->options.min_fill * (double)slots);
        /* A small generation has far more room for a tail than it needs. Whatever it has, a quarter
         * of what was built must be gone, or it would be built anew for every call. */
        if (table->min_keys > pairs - pairs / 4)
            table->min_keys = pairs - pairs / 4;
        if (table->min_keys > t->shrink_below)
            table->min_keys = t->shrink_below;
    }
    bh__note_peak(table, 0);
}

/* ---------------------------------------------------------------------------------------------
 * Building a generation
 * --------------------------------------------------------------------------------------------- */

/* Pairs of a generation that has only a tail, at most: all are in one region then. */
#define ALONE_MOST (1ull << 31)

/* For so many pairs, in `regions` regions at most, with room in the tail for `quota` of each at
 * least. Answers 0 when it would be beyond what can be addressed. */
static int make_plan(const bh_table *table, uint64_t pairs, uint64_t regions, uint64_t quota,
                     plan *p)
{
    double f = table->options.hashfight.slots_per_key, active;
    uint64_t per_line = slots_per_line(table), line = 0, capacity;
    const uint64_t group = BH_HF_LINE_GROUP(per_line);
    uint64_t least = BH_HF_TAIL_LEAST;
    bh_hf_generation *g = &p->g;
    arena a = {0, 0};

    if (pairs > 1ull << 40)
        return 0;
    g->regions = pairs / (bh__hf_is_far(table) ? region_keys_far(table) : BH_HF_REGION_KEYS) + 1;
    if (g->regions > regions)
        g->regions = regions;
    if (pairs <= table->options.hashfight.tail_keys && pairs <= ALONE_MOST)
        g->regions = 1;
    active = (double)pairs / (double)g->regions;
    for (g->rounds = 0; g->rounds < BH_HF_ROUNDS_MOST; g->rounds++) {
        bh_hf_round *r = &g->round[g->rounds];

        if (active * (double)g->regions <= (double)table->options.hashfight.tail_keys &&
            (g->rounds || g->regions == 1))
            break;
        r->slots = (uint64_t)(active * f) + 1;
        if (r->slots < ROUND_SLOTS_LEAST)
            r->slots = ROUND_SLOTS_LEAST;
        r->line = line;
        r->zero = r->filler = 0;
        line += (r->slots + per_line - 1) / per_line;
        active -= (double)r->slots * (1 - exp_minus(active / (double)r->slots));
    }
    if (bh__hf_is_far(table)) {
        /* A region may have more pairs than its slots are, where they are few: they lie there first. And
         * those who are left of all regions are one list. */
        const uint64_t room = bh__hf_room(pairs, g->regions);
        const uint64_t bytes =
            lines_up(room * table->options.key_bytes) + room * table->options.value_bytes;

        if (line < bytes / BH_HF_LINE + 1)
            line = bytes / BH_HF_LINE + 1;
        least = BH_HF_TAIL_LEAST / g->regions + 1;
    }
    g->region_lines = (line + group - 1) / group * group;
    /* A region that begins with one pair in a hundred more than others has several times as many left
     * in the end; what one expects is little, so there is room for far more. */
    p->quota = (uint64_t)(4 * active) + least;
    /* Only a tail: there are as many as there are, but they are laid out here first. */
    if (!g->rounds) {
        g->region_lines = (pairs * 16 / BH_HF_LINE / group + 1) * group;
        p->quota = pairs;
    }
    if (p->quota < quota)
        p->quota = quota;
    if (!bh__mul(g->regions, p->quota, &capacity))
        return 0;
    g->lines = cut(&a, g->regions * g->region_lines, BH_HF_LINE);
    g->contested = cut(&a, g->regions * g->region_lines * per_line / 64, 8);
    g->tail_keys = cut(&a, capacity, table->options.key_bytes);
    g->tail_values = cut(&a, capacity, table->options.value_bytes);
    g->tail_gone = cut(&a, capacity, 1);
    g->tail_room = capacity;
    g->tail = 0;
    p->bytes = a.at;
    return !a.overflowed;
}

static void drop_spare(hashfight *t)
{
    t->table.bytes -= t->spare.committed;
    bh__block_destroy(&t->spare, &t->table.backend->memory);
}

/* Gives the spare block for a generation; give_back() undoes it. */
static bh_status take_spare(hashfight *t, bh__block *block, int *was_spare)
{
    *was_spare = 1;
    *block = t->spare;
    t->spare.memory = 0;
    t->spare.committed = 0;
    t->table.bytes -= block->committed;
    return BH_OK;
}

/* Bytes that the table may have; 0: as many as there are. */
static uint64_t budget_of(const bh_table *table)
{
    return bh__hf_is_far(table) ? table->options.max_device_bytes : table->options.max_host_bytes;
}

/* Whether so many bytes more than `used` are beyond the budget. */
static int over_budget(const bh_table *table, uint64_t used, uint64_t more)
{
    uint64_t budget = budget_of(table);

    return budget && (more > budget || used > budget - more);
}

/* Whether the budget has no block of so many bytes, even if the spare one were given up for it. */
static int is_beyond(const hashfight *t, uint64_t bytes, uint64_t freed)
{
    uint64_t spare = t->spare.committed, committed;

    return !bh__block_bytes(bytes, &committed) ||
           ((!t->spare.memory || spare < bytes) &&
            over_budget(&t->table, t->table.bytes - freed - spare, committed));
}

static bh_status fail_over(const bh_table *table, uint64_t bytes)
{
    return bh__fail(BH_ERR_FULL, "the table would need %llu bytes, and max_%s_bytes allows %llu",
                    (unsigned long long)bytes, bh__hf_is_far(table) ? "device" : "host",
                    (unsigned long long)budget_of(table));
}

static bh_status fail_beyond(const hashfight *t, uint64_t bytes, uint64_t freed)
{
    return fail_over(&t->table, t->table.bytes - freed - t->spare.committed + bytes);
}

/* Memory for a generation: the spare block, or a new one; where that is too much, a spare block
 * that is far too large, or what giving up one that is too small leaves room for. `freed` bytes of
 * the table will be given back when it is in place: the budget is for what the table keeps. */
static bh_status make_block(hashfight *t, uint64_t bytes, uint64_t freed, bh__block *block,
                            int *was_spare)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t spare = t->spare.committed, used = table->bytes - freed, committed;
    int large_enough = t->spare.memory && spare >= bytes;

    *was_spare = 0;
    if (large_enough && spare / 4 <= bytes)
        return take_spare(t, block, was_spare);
    if (!bh__block_bytes(bytes, &committed))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    if (is_beyond(t, bytes, freed))
        return fail_beyond(t, bytes, freed);
    if (over_budget(table, used, committed)) {
        if (large_enough)
            return take_spare(t, block, was_spare);
        drop_spare(t);
    }
    if (!bh__block_create(block, &backend->memory, backend->pages, bytes)) {
        if (large_enough)
            return take_spare(t, block, was_spare);
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                        (unsigned long long)(table->bytes + committed));
    }
    bh__block_touch(block, &backend->executor, backend->pages, 0, block->committed);
    return BH_OK;
}

/* Nothing was built in this block. */
static void give_back(hashfight *t, bh__block *block, int was_spare)
{
    if (was_spare) {
        t->spare = *block;
        t->table.bytes += block->committed;
    } else {
        bh__block_destroy(block, &t->table.backend->memory);
    }
}

/* A block of so many keys becomes the spare one if there is no larger one; else it is freed. */
static void spare_block(hashfight *t, bh__block *block, uint64_t keys, uint64_t slots)
{
    if (t->spare.memory && t->spare.committed < block->committed)
        drop_spare(t);
    if (t->spare.memory) {
        bh__block_destroy(block, &t->table.backend->memory);
    } else {
        t->spare = *block;
        t->spare_keys = keys;
        t->spare_slots = slots;
        t->table.bytes += block->committed;
    }
    block->memory = 0;
    block->committed = 0;
}

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

static void cut_work(arena *a, const bh_table *table, const plan *p, work *w)
{
    uint32_t i;

    w->left_room = p->g.regions * p->quota;
    w->counts = (uint64_t *)pointer(cut(a, p->g.regions, 8));
    w->keys_at = (uint64_t *)pointer(cut(a, p->g.regions, 8));
    w->payloads_at = (uint64_t *)pointer(cut(a, p->g.regions, 8));
    w->left = (uint64_t *)pointer(cut(a, w->left_room + p->g.regions + 1, 8));
    w->index = (uint64_t *)pointer(cut(a, w->left_room, 8));
    for (i = 0; i < 2; i++) {
        w->left_keys[i] = pointer(cut(a, w->left_room, table->options.key_bytes));
        w->left_payloads[i] = (uint64_t *)pointer(cut(a, w->left_room, 8));
    }
}

static int make_work(const bh_table *table, const plan *p, work *w)
{
    const bh__backend *backend = table->backend;
    arena a = {0, 0};

    cut_work(&a, table, p, w);
    if (a.overflowed || !bh__block_create(&w->block, &backend->system, BH_PAGES_LAZY, a.at))
        return 0;
    a.at = (uint64_t)(uintptr_t)w->block.memory;
    cut_work(&a, table, p, w);
    return 1;
}

/* Whether every region's pairs fit where its slots will be; and where they lie there. */
static int place_pairs(const bh_table *table, const plan *p, const list *from, const work *w,
                       uint64_t *most)
{
    uint64_t bytes = p->g.region_lines * BH_HF_LINE, key_bytes = table->options.key_bytes, region;

    *most = 0;
    /* Slots of a round have 32 bits while they fight. */
    if (p->g.rounds && p->g.round[0].slots >= UINT32_MAX)
        return 0;
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

/* The tail, from those who lost all rounds: sorted by key, one of each. Answers 0 for want of
 * memory. */
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
    bh__hf_pass(table, BH_HF_PASS_TAIL, job, job->to->tail, PASS_RUNS);
    return 1;
}

/* Partitions the list into the generation's memory and lets it fight there. *quota receives what
 * TOO_MANY_LEFT would need. */
static built fight(const bh_table *table, const list *from, plan *p, uint64_t *quota,
                   uint64_t *pairs)
{
    const bh__backend *backend = table->backend;
    const bh__primitives *primitives = backend->primitives;
    const hashfight *t = (const hashfight *)table;
    bh__where where = bh__hf_where(table);
    uint64_t most_slots = p->g.rounds ? p->g.round[0].slots : 0, region;
    bh__partition partition;
    bh_hf_fight job;
    bh__block scratch;
    built result = NO_MEMORY;
    work w;

    if (!make_work(table, p, &w))
        return NO_MEMORY;
    partition.how.parts = (uint32_t)p->g.regions;
    partition.how.shift = 0;
    partition.how.seed = &t->geometry.seed;
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
        result = TOO_UNEVEN;
        goto no_scratch;
    }
    job.tasks = backend->executor.width(backend->executor.state);
    job.tasks = job.tasks < p->g.regions ? job.tasks : p->g.regions;
    job.scratch_bytes =
        BH_HF_SCRATCH(table->options.key_bytes, from->payload_bytes, job.room, most_slots);
    if (!bh__block_create(&scratch, &backend->system, backend->pages,
                          job.tasks * job.scratch_bytes))
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
    result = BUILT;
    for (region = 0; region < p->g.regions; region++)
        if (w.left[region] > p->quota) {
            *quota = w.left[region] > *quota ? w.left[region] : *quota;
            result = TOO_MANY_LEFT;
        }
    if (result == BUILT && !make_tail(table, &job, &w))
        result = NO_MEMORY;
    *pairs = job.won + p->g.tail;
    bh__block_destroy(&scratch, &backend->system);
no_scratch:
    primitives->partition_end(&where, &partition);
no_partition:
    bh__block_destroy(&w.block, &backend->system);
    return result;
}

/*
 * Builds a generation; on failure nothing has changed but outcomes. *pairs receives how many it
 * has. BH_ERR_UNSUPPORTED: the pairs are too unevenly spread, because many keys are equal. Keys
 * that are all different may have been chosen so that all want the same region: they get a single
 * one, in which they have room whatever their hashes are, and a long tail for those who lose all
 * its rounds.
 */
static bh_status build(hashfight *t, const list *from, uint64_t freed, bh_hf_generation *made,
                       bh__block *block, uint64_t *pairs)
{
    uint64_t quota = 0, regions = regions_most(&t->table);

    for (;;) {
        int was_spare;
        bh_status status;
        built result;
        plan p;

        if (!make_plan(&t->table, from->n, regions, quota, &p))
            return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
        status = make_block(t, p.bytes, freed, block, &was_spare);
        if (status)
            return status;
        p.g.lines += (uint64_t)(uintptr_t)block->memory;
        p.g.contested += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_keys += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_values += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_gone += (uint64_t)(uintptr_t)block->memory;
        result = bh__hf_is_far(&t->table) ? bh__hf_fight_far(&t->table, from, &p, &quota, pairs)
                                          : fight(&t->table, from, &p, &quota, pairs);
        if (result == BUILT) {
            *made = p.g;
            return BH_OK;
        }
        give_back(t, block, was_spare);
        if (result == TOO_UNEVEN && (!from->distinct || regions == 1))
            return BH_ERR_UNSUPPORTED;
        if (result == TOO_UNEVEN)
            regions = 1;
        if (result == NO_MEMORY)
            return bh__fail(BH_ERR_MEMORY,
                            "the system gave no temporary memory to build a table of %llu pairs",
                            (unsigned long long)from->n);
    }
}

/* ---------------------------------------------------------------------------------------------
 * The list of generations
 * --------------------------------------------------------------------------------------------- */

/* Generations with regions; the buffer, if anything is in it, comes behind them. */
static uint64_t large_generations(const hashfight *t)
{
    uint64_t n = t->geometry.generations;

    return n && !t->geometry.generation[n - 1].regions ? n - 1 : n;
}

/* Puts the buffer behind the `large` generations, if there is something in it. */
static void publish_buffer(hashfight *t, uint64_t large)
{
    t->geometry.generations = large;
    if (t->tail.tail)
        t->geometry.generation[t->geometry.generations++] = t->tail;
    publish(t);
}

/* Finds out whether sorting lookups by region pays. Asking the system for the size of pages takes a
 * while, so only of large tables. */
static void find_regions_pay(hashfight *t)
{
    const bh_system *system = &t->table.backend->system;
    uint64_t bytes = large_generations(t) ? t->block[0].committed : 0;
    uint32_t pay = 0;

    if (bytes >= REGIONS_PAY_BYTES && !bh__hf_is_far(&t->table))
        pay = system->page_bytes(system->state,
                                 t->block[0].memory + bytes / 2 / BH__PAGE_HUGE * BH__PAGE_HUGE,
                                 1) < BH__PAGE_HUGE;
    bh__atomic_store(&t->regions_pay, pay, __ATOMIC_RELAXED);
}

/* Takes back the generations from `first` on, and puts a new one among the others by its size. */
static void replace_generations(hashfight *t, uint64_t first, const bh_hf_generation *made,
                                const bh__block *block, uint64_t pairs)
{
    uint64_t large = large_generations(t), i;

    for (i = first; i < large; i++)
        bh__block_destroy(&t->block[i], &t->table.backend->memory);
    for (i = first; i > 0 && t->built[i - 1] < pairs; i--) {
        t->geometry.generation[i] = t->geometry.generation[i - 1];
        t->block[i] = t->block[i - 1];
        t->built[i] = t->built[i - 1];
    }
    t->geometry.generation[i] = *made;
    t->block[i] = *block;
    t->built[i] = pairs;
    t->tail.tail = 0;
    t->gone = 0;
    t->shrink_below = UINT64_MAX;
    t->table.changes++; /* positions in the table mean something else now */
    publish_buffer(t, first + 1);
    find_regions_pay(t);
}

/* The buffer gets the new keys, sorted, none of which is there, without values; it has room. */
static void add_near(hashfight *t, const void *keys, uint64_t count)
{
    uint32_t key_bytes = t->table.options.key_bytes, value_bytes = t->table.options.value_bytes;
    uint64_t from = (uint64_t)(uintptr_t)keys, i, kept = 0, to;
    bh_hf_generation *b = &t->tail;
    uint8_t *gone = (uint8_t *)pointer(b->tail_gone);

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
    /* From the end: until the last new key is in place the others move up. */
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
}

/* The same wherever the table is; answers 0, nothing changed, for want of memory. */
static int add_to_buffer(hashfight *t, const void *keys, uint64_t count)
{
    if (!bh__hf_is_far(&t->table))
        add_near(t, keys, count);
    else if (!bh__hf_add_far(t, keys, count))
        return 0;
    publish_buffer(t, large_generations(t));
    return 1;
}

/* Turns the numbers of pairs in parts into how many are before each, and gives their sum. */
static int add_up(const bh_table *table, uint64_t *counts, uint64_t parts, uint64_t *sum)
{
    bh__where where = bh__hf_where(table);
    uint64_t i;

    if (bh__hf_is_far(table))
        return table->backend->primitives->scan(&where, counts, 8, parts, 0, counts, sum);
    *sum = 0;
    for (i = 0; i < parts; i++) {
        uint64_t here = counts[i];

        counts[i] = *sum;
        *sum += here;
    }
    return 1;
}

uint64_t bh__hf_parts_far(const bh_table *table, uint64_t generation, uint64_t cell)
{
    const bh_hf_geometry *g = &((const hashfight *)table)->geometry;

    return (bh_hf_cells(&g->generation[generation], slots_per_line(table)) - cell) /
               BH_HF_EXPORT_PART_FAR + 1;
}

int bh__hf_read(const bh_table *table, uint64_t generation, uint64_t *cell, uint64_t *counts,
                uint64_t counts_room, void *keys, void *values, uint64_t room, uint64_t *copied)
{
    const bh_hf_geometry *g = &((const hashfight *)table)->geometry;
    uint64_t cells = bh_hf_cells(&g->generation[generation], slots_per_line(table));
    int far = bh__hf_is_far(table);
    bh_hf_export job;

    *copied = 0;
    job.geometry = g;
    job.from = generation;
    job.part = far ? BH_HF_EXPORT_PART_FAR : BH_HF_EXPORT_PART;
    job.counts = counts;
    while (*cell < cells && *copied < room) {
        uint64_t parts = (cells - *cell + job.part - 1) / job.part, sum;

        parts = parts < counts_room ? parts : counts_room;
        /* Parts are small there: not far more of them than there is room for. */
        if (far && (parts - 1) / 4 > (room - *copied) / job.part)
            parts = (room - *copied) / job.part * 4 + 1;
        job.first = *cell;
        job.end = cells - *cell < parts * job.part ? cells : *cell + parts * job.part;
        bh__hf_pass(table, BH_HF_PASS_COUNT, &job, parts, 1);
        if (!add_up(table, counts, parts, &sum))
            return 0;
        job.room = room - *copied;
        job.keys = (unsigned char *)keys + *copied * table->options.key_bytes;
        job.values =
            values ? (unsigned char *)values + *copied * table->options.value_bytes : values;
        job.stop = job.end;
        job.copied = sum;
        bh__hf_pass(table, BH_HF_PASS_EXPORT, &job, parts, 1);
        *copied += job.copied;
        *cell = job.stop;
    }
    return 1;
}

/* Counts that are on the stack; on a device temporary memory has this many at most. */
#define READ_PARTS 256
#define READ_PARTS_FAR (1u << 20)

/* Where the new generation's pairs are collected. */
typedef struct collected {
    uint64_t keys;
    uint64_t values;
    uint64_t *counts; /* far */
    uint64_t parts;
} collected;

static void cut_collected(arena *a, const hashfight *t, uint64_t first, uint64_t total,
                          collected *c)
{
    const bh_table *table = &t->table;
    uint64_t i;

    c->keys = cut(a, total, table->options.key_bytes);
    c->values = cut(a, total, table->options.value_bytes);
    for (i = first, c->parts = 0; bh__hf_is_far(table) && i < t->geometry.generations; i++) {
        uint64_t parts = bh__hf_parts_far(table, i, 0);

        c->parts = c->parts < parts ? parts : c->parts;
    }
    c->parts = c->parts < READ_PARTS_FAR ? c->parts : READ_PARTS_FAR;
    c->counts = (uint64_t *)pointer(cut(a, c->parts, 8));
}

/* Reads the generations from `first` on, and puts the new keys behind their pairs; *n receives how
 * many all are, of `room` at most. */
static int collect(const hashfight *t, uint64_t first, const void *keys, uint64_t count,
                   const collected *to, uint64_t room, uint64_t *n)
{
    const bh_table *table = &t->table;
    const uint32_t key_bytes = table->options.key_bytes, value_bytes = table->options.value_bytes;
    int far = bh__hf_is_far(table);
    uint64_t near[READ_PARTS], copied, i;

    *n = 0;
    for (i = first; i < t->geometry.generations; i++) {
        uint64_t cell = 0;

        if (!bh__hf_read(table, i, &cell, far ? to->counts : near, far ? to->parts : READ_PARTS,
                         pointer(to->keys + *n * key_bytes), pointer(to->values + *n * value_bytes),
                         room - *n, &copied))
            return 0;
        *n += copied;
    }
    copy_bytes(table, to->keys + *n * key_bytes, (uint64_t)(uintptr_t)keys, count * key_bytes);
    zero_bytes(table, to->values + *n * value_bytes, count * value_bytes);
    *n += count;
    return 1;
}

static bh_status fail_merge(uint64_t pairs)
{
    return bh__fail(BH_ERR_MEMORY, "the system gave no memory to merge %llu pairs",
                    (unsigned long long)pairs);
}

/*
 * Builds one generation of the new keys (sorted; none is there; no values yet), the buffer, and the
 * generations from `first` on. On failure the table is as it was.
 */
static bh_status merge(hashfight *t, uint64_t first, const void *keys, uint64_t count)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t large = large_generations(t), total = count + t->tail.tail, freed = 0, stay = 0;
    uint64_t pairs, i;
    bh_hf_generation made;
    bh__temporary memory;
    bh__block block;
    bh_status status;
    arena a = {0, 0};
    collected c;
    list from;
    plan p;

    for (i = 0; i < first; i++)
        stay += t->built[i];
    for (; i < large; i++) {
        total += t->built[i];
        freed += t->block[i].committed;
    }
    /* So many pairs at least: where not even they have room, nothing is read in vain. */
    stay = stay < table->keys ? stay : table->keys;
    if (make_plan(table, table->keys - stay + count, regions_most(table), 0, &p) &&
        is_beyond(t, p.bytes, freed))
        return fail_beyond(t, p.bytes, freed);
    cut_collected(&a, t, first, total, &c);
    if (a.overflowed || !bh__temporary_take(&memory, &backend->memory, backend->pages, a.at))
        return fail_merge(total);
    a.at = (uint64_t)(uintptr_t)memory.memory;
    cut_collected(&a, t, first, total, &c);
    if (!collect(t, first, keys, count, &c, total, &from.n)) {
        bh__temporary_give(&memory, &backend->memory);
        return fail_merge(total);
    }
    from.keys = pointer(c.keys);
    from.payloads = table->options.value_bytes ? pointer(c.values) : 0;
    from.payload_bytes = table->options.value_bytes;
    from.indexed = 0;
    from.distinct = 1;
    from.values = 0;
    from.outcomes = 0;
    t->held = memory.bytes;
    status = build(t, &from, freed, &made, &block, &pairs);
    t->held = 0;
    bh__temporary_give(&memory, &backend->memory);
    if (status == BH_ERR_UNSUPPORTED)
        status = bh__fail(BH_ERR_FULL, "too many keys want the same part of the table");
    if (!status) {
        table->keys_moved += pairs - count;
        replace_generations(t, first, &made, &block, pairs);
    }
    return status;
}

/* The first of the generations that are merged with so many pairs that come. */
static uint64_t first_to_merge(const hashfight *t, uint64_t coming)
{
    uint64_t first = large_generations(t), total = coming + t->tail.tail;

    while (first && (t->built[first - 1] / BH_HF_MERGE_FACTOR <= total ||
                     first + 2 > BH_HF_GENERATIONS_MOST))
        total += t->built[--first];
    return first;
}

/*
 * Makes places for new keys: sorted, none of which is there. Answers for how many, from the first
 * on; *why says why not for more.
 */
static uint64_t make_places(hashfight *t, const void *keys, uint64_t count, bh_status *why)
{
    uint64_t tried = count, slots = t->table.slots;

    while (tried) {
        uint64_t large = large_generations(t), first = first_to_merge(t, tried);
        bh_status status;

        if (t->tail.tail - t->gone + tried <= BH_HF_BUFFER_MOST) {
            if (add_to_buffer(t, keys, tried))
                return tried;
            *why = fail_merge(tried);
            return 0;
        }
        status = merge(t, first, keys, tried);
        if (status && first < large && large + 2 <= BH_HF_GENERATIONS_MOST)
            status = merge(t, large, keys, tried);
        if (!status) {
            t->table.grows += t->table.slots > slots;
            return tried;
        }
        *why = status;
        /* What there is memory for: fewer, and in the end what still fits in the buffer. */
        tried = tried > BH_HF_BUFFER_MOST ? tried / 2
                                          : BH_HF_BUFFER_MOST - (t->tail.tail - t->gone);
    }
    return 0;
}

/* Memory for a generation of so many keys, kept until it is wanted. */
static bh_status make_spare(hashfight *t, uint64_t keys)
{
    bh__block block;
    bh_status status;
    int was_spare;
    plan p;

    if (!make_plan(&t->table, keys, regions_most(&t->table), 0, &p))
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (keys <= t->table.max_keys || t->spare.committed >= p.bytes)
        return BH_OK;
    status = make_block(t, p.bytes, 0, &block, &was_spare);
    if (status)
        return status;
    spare_block(t, &block, keys, slots_of(&p.g));
    t->table.changes++;
    publish(t);
    return BH_OK;
}

/* A call that comes looks at the number without holding the gate. */
static void set_keys(hashfight *t, uint64_t keys)
{
    bh__atomic_store(&t->table.keys, keys, __ATOMIC_RELAXED);
}

/* Forgets all pairs; the largest block is kept for the next ones. */
static void drop_all(hashfight *t)
{
    uint64_t large = large_generations(t), i;

    for (i = 0; i < large; i++)
        spare_block(t, &t->block[i], t->built[i], slots_of(&t->geometry.generation[i]));
    set_keys(t, 0);
    t->tail.tail = 0;
    t->gone = 0;
    publish_buffer(t, 0);
}

/* Everything in one generation, as large as it must be. */
static bh_status rebuild(hashfight *t)
{
    if (!t->table.keys) {
        drop_all(t);
        drop_spare(t);
        publish(t);
        return BH_OK;
    }
    return merge(t, 0, 0, 0);
}

/* ---------------------------------------------------------------------------------------------
 * Calls that change something
 * --------------------------------------------------------------------------------------------- */

/* Temporary memory for a chunk of a call. */
typedef struct chunk {
    uint64_t keys;    /* sorted */
    uint64_t spare;   /* then: keys that get a place */
    uint64_t index;   /* of each sorted element */
    uint64_t index_spare;
    uint64_t unique;  /* the key of each run */
    uint64_t starts;
    uint64_t places;
    uint64_t wanted;
} chunk;

static uint64_t cut_chunk(arena *a, const bh_table *table, uint64_t n, chunk *c)
{
    uint64_t key_bytes = table->options.key_bytes, from = a->at;

    c->keys = cut(a, n, key_bytes);
    c->spare = cut(a, n, key_bytes);
    c->index = cut(a, n, 4);
    c->index_spare = cut(a, n, 4);
    c->unique = cut(a, n, key_bytes);
    c->starts = cut(a, n, 8);
    c->places = cut(a, n, 8);
    c->wanted = cut(a, n, 1);
    return a->at - from;
}

/* Finds where the keys of all runs are. */
static void locate(const bh_table *table, const chunk *c, uint64_t runs)
{
    bh_hf_locate job;

    job.geometry = &((const hashfight *)table)->geometry;
    job.system = &table->backend->system;
    job.keys = pointer(c->unique);
    job.places = (uint64_t *)pointer(c->places);
    bh__hf_pass(table, BH_HF_PASS_LOCATE, &job, runs, BH_SLICE_MOST);
}

/* The new keys of the chunk get places, as far as there are any. Answers how many did. */
static uint64_t place_new(hashfight *t, const chunk *c, uint64_t runs, bh_status *why)
{
    const bh__primitives *p = t->table.backend->primitives;
    bh__where where = bh__hf_where(&t->table);
    uint64_t count;

    if (!p->compact(&where, (const uint8_t *)pointer(c->wanted), pointer(c->unique),
                    t->table.options.key_bytes, runs, pointer(c->spare), &count)) {
        *why = bh__fail(BH_ERR_MEMORY, "the system gave no temporary memory");
        return 0;
    }
    return make_places(t, pointer(c->spare), count, why);
}

/* Performs a chunk: sorted, cut into runs, with the gate held alone. */
static bh_status perform_runs(hashfight *t, const bh__batch *batch, const chunk *c,
                              uint64_t runs)
{
    bh_table *table = &t->table;
    bh_status why = BH_OK;
    bh_hf_runs job;
    int inserts = bh__takes_room(batch);

    job.geometry = &t->geometry;
    job.runs.index = (const uint32_t *)pointer(c->index);
    job.runs.ops = batch->ops;
    job.runs.op = (uint32_t)batch->op;
    job.runs.value_bytes = table->options.value_bytes;
    job.runs.values = batch->values;
    job.runs.values_out = batch->values_out;
    job.runs.outcomes = batch->outcomes;
    job.runs.starts = (const uint64_t *)pointer(c->starts);
    job.runs.count = runs;
    job.runs.elements = batch->n;
    job.places = (const uint64_t *)pointer(c->places);
    job.wanted = inserts ? (uint8_t *)pointer(c->wanted) : 0;
    job.wanting = job.inserted = job.erased = job.assigned = job.refused = job.gone = 0;
    locate(table, c, runs);
    if (inserts) {
        bh__hf_pass(table, BH_HF_PASS_WANT, &job, runs, PASS_RUNS);
        /* Places for new keys move other pairs too. */
        if (job.wanting && place_new(t, c, runs, &why))
            locate(table, c, runs);
    }
    bh__hf_pass(table, BH_HF_PASS_FOLD, &job, runs, PASS_RUNS);
    set_keys(t, table->keys + job.inserted - job.erased);
    table->changes += job.inserted || job.erased || job.assigned;
    t->gone += job.gone;
    publish(t);
    if (table->keys < table->min_keys) {
        if (!rebuild(t)) {
            table->shrinks++;
            /* What reserve asked for stays, as far as there is memory. */
            if (table->floor_keys > table->max_keys)
                (void)make_spare(t, table->floor_keys);
        } else {
            /* Not again before there are a good deal fewer keys. */
            t->shrink_below = table->keys - table->keys / 4;
            publish(t);
        }
    }
    return job.refused ? why : BH_OK;
}

/* Sorts a chunk and performs it. Answers 0, nothing done, when there is no memory for the sorting. */
static int run_chunk(hashfight *t, const bh__batch *batch, const chunk *c, bh_status *status)
{
    bh_table *table = &t->table;
    const bh__primitives *p = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    uint64_t runs, since;
    bh_status why;
    bh__sort sort;

    sort.key_bytes = table->options.key_bytes;
    sort.payload_bytes = 4;
    sort.keys = batch->keys;
    sort.payloads = 0;
    sort.n = batch->n;
    sort.keys_out = pointer(c->keys);
    sort.payloads_out = pointer(c->index);
    sort.keys_spare = pointer(c->spare);
    sort.payloads_spare = pointer(c->index_spare);
    if (!p->sort_by_key(&where, &sort) ||
        !p->reduce_by_key(&where, BH_INSERT, pointer(c->keys), sort.key_bytes, 0, 0, batch->n,
                          pointer(c->unique), 0, (uint64_t *)pointer(c->starts), &runs))
        return 0;
    since = bh__enter_alone(table);
    why = perform_runs(t, batch, c, runs);
    bh__leave_alone(table, since);
    if (why && !*status)
        *status = why;
    return 1;
}

/* Nothing of these elements was done. Far, the backend has marked them so beforehand. */
static void refuse(const bh_table *table, const bh__batch *part)
{
    uint64_t i;

    for (i = 0; !bh__hf_is_far(table) && part->outcomes && i < part->n; i++)
        part->outcomes[i] = BH_NOT_DONE;
}

/*
 * An insert into a table in which nothing is: its elements fight as they are. Answers 0 when that
 * was not possible and nothing was done: the table is not empty, there is no memory, or so many
 * keys are equal that they do not spread. Far, no two may be equal: then all are INSERTED.
 */
static int insert_into_empty(hashfight *t, const bh__batch *batch)
{
    bh_table *table = &t->table;
    bh_hf_generation made;
    bh__block block;
    uint64_t since, pairs = 0, freed = 0, i;
    int inserted = 0;
    list from;

    from.keys = batch->keys;
    from.n = batch->n;
    from.outcomes = batch->outcomes;
    from.values = batch->values;
    from.indexed = batch->outcomes && !bh__hf_is_far(table);
    from.distinct = 0;
    from.payload_bytes = !from.indexed             ? table->options.value_bytes
                         : batch->n > UINT32_MAX ? 8
                                                 : 4;
    from.payloads = from.indexed ? 0 : batch->values;
    since = bh__enter_alone(table);
    for (i = 0; i < large_generations(t); i++)
        freed += t->block[i].committed;
    if (!table->keys && !build(t, &from, freed, &made, &block, &pairs)) {
        replace_generations(t, 0, &made, &block, pairs);
        set_keys(t, pairs);
        publish(t);
        if (bh__hf_is_far(table) && batch->outcomes)
            bh__hf_tell_far(table, batch->outcomes, batch->n);
        /* Room was made for all elements; if many were equal it is far too much. */
        if ((double)pairs * natural_fill(table) < table->options.min_fill * (double)batch->n)
            (void)rebuild(t);
        inserted = 1;
    }
    bh__leave_alone(table, since);
    return inserted;
}

/* Performs a call in chunks of so many elements, with memory for one; where that is not enough for
 * sorting, the smaller ones that `small` has room for. */
static bh_status run_chunks(hashfight *t, const bh__batch *batch, uint64_t room, arena *memory,
                            uint64_t small)
{
    bh_table *table = &t->table;
    bh_status status = BH_OK;
    uint64_t first, n;
    chunk c;

    cut_chunk(memory, table, room, &c);
    for (first = 0; first < batch->n; first += n) {
        bh__batch part;

        n = batch->n - first < room ? batch->n - first : room;
        part = bh__batch_part(table, batch, first, n);
        if (!run_chunk(t, &part, &c, &status)) {
            bh_status why;

            if (small && room > SMALL_CHUNK) {
                /* A small chunk is sorted without asking the system for anything. */
                room = SMALL_CHUNK;
                memory->at = small;
                cut_chunk(memory, table, room, &c);
                n = 0;
                continue;
            }
            why = bh__fail(BH_ERR_MEMORY, "the system gave no temporary memory");
            status = status ? status : why;
            refuse(table, &part);
        }
    }
    return status;
}

/* A device's memory holds more at once; and the stack is none of it. */
static bh_status modify_far(hashfight *t, const bh__batch *batch)
{
    const bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t room = batch->n < BH_HF_CHUNK_FAR ? batch->n : BH_HF_CHUNK_FAR;
    bh__temporary memory;
    bh_status status;
    arena a = {0, 0};
    chunk c;

    while (!bh__temporary_take(&memory, &backend->memory, backend->pages,
                               cut_chunk(&a, table, room, &c))) {
        if (room <= SMALL_CHUNK)
            return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu elements",
                            (unsigned long long)room);
        room /= 4;
        a.at = 0;
    }
    a.at = (uint64_t)(uintptr_t)memory.memory;
    status = run_chunks(t, batch, room, &a, 0);
    bh__temporary_give(&memory, &backend->memory);
    return status;
}

static bh_status modify_near(hashfight *t, const bh__batch *batch)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t small[SMALL_CHUNK_BYTES / 8], on_stack = ((uint64_t)(uintptr_t)small + 63) / 64 * 64;
    uint64_t room = batch->n < BH_HF_CHUNK_MOST ? batch->n : BH_HF_CHUNK_MOST;
    bh__temporary memory;
    bh_status status;
    arena a = {0, 0};
    int taken;
    chunk c;

    taken = room > SMALL_CHUNK && bh__temporary_take(&memory, &backend->system, backend->pages,
                                                     cut_chunk(&a, table, room, &c));
    /* Small, or no memory for more at a time. */
    a.at = taken ? (uint64_t)(uintptr_t)memory.memory : on_stack;
    if (!taken && room > SMALL_CHUNK)
        room = SMALL_CHUNK;
    status = run_chunks(t, batch, room, &a, on_stack);
    if (taken)
        bh__temporary_give(&memory, &backend->system);
    return status;
}

static bh_status modify(bh_table *table, const bh__batch *batch)
{
    hashfight *t = of(table);

    if (batch->op == BH_INSERT && !batch->ops && batch->n > BH_HF_BUFFER_MOST &&
        !bh__atomic_load(&table->keys, __ATOMIC_RELAXED) && insert_into_empty(t, batch))
        return BH_OK;
    return bh__hf_is_far(table) ? modify_far(t, batch) : modify_near(t, batch);
}

/* ---------------------------------------------------------------------------------------------
 * Lookups by region
 * --------------------------------------------------------------------------------------------- */

/* The paper's passes by region of memory: a key's part of the hash is its place in every
 * generation. */
static bh_status find(bh_table *table, const bh__batch *batch)
{
    const bh_executor *executor = &table->backend->executor;
    bh_schedule schedule = table->options.schedule;
    bh__batch lookups = *batch;

    if (schedule == BH_SCHEDULE_REGIONS ||
        (schedule == BH_SCHEDULE_AUTO &&
         bh__atomic_load(&of(table)->regions_pay, __ATOMIC_RELAXED) &&
         batch->n / executor->width(executor->state) >= REGIONS_PAY_LOOKUPS))
        lookups.by_hash = &of(table)->geometry.seed;
    return table->backend->slices(table->backend, table, &lookups);
}

static bh_status perform(bh_table *table, const bh__batch *batch)
{
    return batch->ops || batch->op != BH_FIND ? modify(table, batch) : find(table, batch);
}

/* ---------------------------------------------------------------------------------------------
 * The whole table
 * --------------------------------------------------------------------------------------------- */

/* Makes room for so many keys, which the table keeps until compact. */
static bh_status keep_room(hashfight *t, uint64_t keys)
{
    bh_status status = make_spare(t, keys);
    plan p;

    if (!status && keys > t->table.floor_keys) {
        t->table.floor_keys = keys;
        if (keys > BH_HF_BUFFER_MOST && make_plan(&t->table, keys, regions_most(&t->table), 0, &p))
            t->floor_slots = slots_of(&p.g) + BH_HF_BUFFER_MOST;
        publish(t);
    }
    return status;
}

static bh_status create(const bh_table *plan_of_table, bh_table **made)
{
    const bh__backend *backend = plan_of_table->backend;
    const bh_system *system = &backend->system;
    const bh_table_options *o;
    bh_table checked = *plan_of_table;
    bh__block none = {0, 0, 0};
    bh_status status;
    hashfight *t;
    arena a = {0, 0};
    uint64_t bytes, i;

    if (!choose_options(&checked))
        return BH_ERR_ARGUMENT;
    o = &checked.options;
    t = (hashfight *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->geometry.seed = bh_seed_expand(o->seed);
    t->geometry.generations = 0;
    for (i = 0; i < BH_HF_GENERATIONS_MOST; i++)
        t->block[i] = none;
    t->spare = none;
    t->gone = t->held = t->floor_slots = 0;
    t->shrink_below = UINT64_MAX;
    t->regions_pay = 0;

    cut(&a, BH_HF_BUFFER_MOST, o->key_bytes);
    cut(&a, BH_HF_BUFFER_MOST, o->value_bytes);
    cut(&a, BH_HF_BUFFER_MOST, 1);
    if (bh__hf_is_far(&checked))
        cut(&a, bh__hf_aside_bytes(&checked), 1);
    if (!bh__block_bytes(a.at, &bytes) || over_budget(&checked, 0, bytes)) {
        status = fail_over(&checked, bytes);
    } else if (!bh__block_create(&t->buffer, &backend->memory,
                                 bh__hf_is_far(&checked) ? BH__PAGES_FAR : BH_PAGES_SMALL, a.at)) {
        status = bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                          (unsigned long long)a.at);
    } else {
        a.at = (uint64_t)(uintptr_t)t->buffer.memory;
        t->tail.regions = t->tail.rounds = t->tail.region_lines = t->tail.tail = 0;
        t->tail.tail_room = BH_HF_BUFFER_MOST;
        t->tail.lines = t->tail.contested = a.at;
        t->tail.tail_keys = cut(&a, BH_HF_BUFFER_MOST, o->key_bytes);
        t->tail.tail_values = cut(&a, BH_HF_BUFFER_MOST, o->value_bytes);
        t->tail.tail_gone = cut(&a, BH_HF_BUFFER_MOST, 1);
        t->aside = a.at;
        publish(t);
        status = keep_room(t, o->capacity);
        if (status)
            bh__block_destroy(&t->buffer, &backend->memory);
    }
    if (status) {
        system->release(system->state, t, sizeof *t);
        return status;
    }
    *made = &t->table;
    return BH_OK;
}

static void destroy(bh_table *table)
{
    hashfight *t = of(table);
    bh_system system = table->backend->system;
    const bh_system *memory = &table->backend->memory;
    uint64_t i;

    for (i = 0; i < BH_HF_GENERATIONS_MOST; i++)
        bh__block_destroy(&t->block[i], memory);
    bh__block_destroy(&t->buffer, memory);
    bh__block_destroy(&t->spare, memory);
    system.release(system.state, table, sizeof *t);
}

static const void *geometry(const bh_table *table)
{
    return &((const hashfight *)table)->geometry;
}

static bh_status reserve(bh_table *table, uint64_t keys)
{
    return keep_room(of(table), keys);
}

static void shrink(bh_table *table)
{
    (void)table; /* whoever erases does it */
}

static bh_status compact(bh_table *table)
{
    hashfight *t = of(table);
    uint64_t large = large_generations(t);
    plan p;

    table->floor_keys = t->floor_slots = 0;
    drop_spare(t);
    publish(t);
    /* Not for a part in 32, nor for what is in the buffer alone. */
    if (!large ||
        (t->geometry.generations == 1 && make_plan(table, table->keys, regions_most(table), 0, &p) &&
         p.bytes >= t->block[0].committed - t->block[0].committed / 32))
        return BH_OK;
    return rebuild(t);
}

static bh_status clear(bh_table *table)
{
    drop_all(of(table));
    table->changes++;
    return BH_OK;
}

/* Memory for the counts of an export of so many pairs: far alone. Answers 0 when there is none. */
static int take_counts(const bh_table *table, uint64_t room, bh__temporary *memory,
                       uint64_t *parts)
{
    const bh__backend *backend = table->backend;
    const bh_hf_geometry *g = &((const hashfight *)table)->geometry;
    uint64_t most = 0, i;

    for (i = 0; i < g->generations; i++) {
        uint64_t of_this = bh__hf_parts_far(table, i, 0);

        most = of_this > most ? of_this : most;
    }
    /* See bh__hf_read. */
    *parts = room / BH_HF_EXPORT_PART_FAR * 4 + 1;
    *parts = *parts < most ? *parts : most;
    *parts = *parts < READ_PARTS_FAR ? *parts : READ_PARTS_FAR;
    return bh__temporary_take(memory, &backend->memory, backend->pages, *parts * 8);
}

/* A position counts the cells of all generations one after the other. */
static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    const bh_hf_geometry *g = &of(table)->geometry;
    int far = bh__hf_is_far(table), read = 1;
    uint64_t near[READ_PARTS], *counts = near, parts = READ_PARTS, before = 0, copied = 0, i;
    bh__temporary memory;

    if (!g->generations || !room)
        return 0;
    if (far && !take_counts(table, room, &memory, &parts))
        return BH__EXPORT_NO_MEMORY;
    if (far)
        counts = (uint64_t *)(void *)memory.memory;
    for (i = 0; read && i < g->generations; i++) {
        uint64_t cells = bh_hf_cells(&g->generation[i], slots_per_line(table)), here = 0;

        if (copied < room && *at < before + cells) {
            uint64_t cell = *at - before;

            read = bh__hf_read(
                table, i, &cell, counts, parts,
                (unsigned char *)keys + copied * table->options.key_bytes,
                values ? (unsigned char *)values + copied * table->options.value_bytes : values,
                room - copied, &here);
            copied += here;
            *at = before + cell;
        }
        before += cells;
    }
    if (far)
        bh__temporary_give(&memory, &table->backend->memory);
    return read ? copied : BH__EXPORT_NO_MEMORY;
}

static const void *typical_page(const bh_table *table)
{
    const hashfight *t = (const hashfight *)table;
    const bh__block *block = large_generations(t) ? &t->block[0]
                             : t->spare.memory    ? &t->spare
                                                  : &t->buffer;

    return block->memory + block->committed / 2 / BH__PAGE_SMALL * BH__PAGE_SMALL;
}

const bh__policy bh__hashfight_policy = {
    "hashfight", BH_ON_CORES, create, destroy, geometry,     0,            reserve, 0,
    shrink,      compact, clear,  export_pairs, typical_page, perform,
};
