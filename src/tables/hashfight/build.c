/*
 * Building one generation of HashFight: how it is laid out (bh__hf_make_plan), the memory that it lies
 * in, and the attempts to build it there (bh__hf_build).
 *
 * A plan is made for what one expects of hashes: how many keys lose each round, and how many are left
 * for the tail. Where the pairs are too unevenly spread, or too many are left, the attempt fails before
 * anything has changed, and the next one is planned with more room.
 *
 * The memory is a block for each generation. One that is given up may be kept as the *spare* block,
 * from which the next generation is made; capacity and reserve make one beforehand.
 */
#include "tables/hashfight/policy.h"

/* A round has so many lines in each region at least, so that there are fillers: keys that fight for neither of two
 * lines. */
#define ROUND_LINES_LEAST 4

/* Each region has room for at least so many pairs in the tail; on a device all regions together have. A build
 * for tests may want too little room. */
#ifndef BH_HF_TAIL_LEAST
#define BH_HF_TAIL_LEAST 96
#endif

/* Pairs of a generation that has only a tail, at most: all are in one region then. */
#define ALONE_MOST (1ull << 31)

/* e to the power of -x, for x from 0 to 16 to ten digits. */
static double exp_minus(double x)
{
    double sum = 1, term = 1;
    int i;

    for (i = 1; i < 14; i++) {
        term *= -x / 16 / i;
        sum += term;
    }
    for (i = 0; i < 4; i++)
        sum *= sum;
    return sum;
}

/* How many of a line's slots are taken, on average, when `keys` keys fight for each line, on average; how many come to a line is
 * distributed by Poisson. *full receives the share of lines that are full. */
static double slots_taken(uint64_t slots, double keys, double *full)
{
    double come = exp_minus(keys), taken = 0;
    uint64_t i;

    *full = 1;
    for (i = 0; i < slots; i++) {
        taken += (double)i * come;
        *full -= come;
        come *= keys / (double)(i + 1);
    }
    return taken + (double)slots * *full;
}

/* So many times a deviation more keys than expected have room in a round: a region that begins with more keys than others has
 * many more in later rounds. */
#define DEVIATIONS 2

static double root(double x)
{
    double y;
    int i;

    x = x > 0 ? x : 0;
    y = x > 1 ? x : 1;
    for (i = 0; i < 40; i++)
        y = (y + x / y) / 2;
    return y;
}

double bh__hf_natural_fill(const bh_table *table)
{
    const uint64_t slots = bh__hf_slots_per_line(table);
    double full;

    return slots_taken(slots, (double)slots / table->options.hashfight.slots_per_key, &full) /
           (double)slots;
}

uint64_t bh__hf_slots(const bh_table *table, const bh_hf_generation *generation)
{
    const uint64_t per_line = bh__hf_slots_per_line(table);
    uint64_t slots = generation->tail_room, r;

    for (r = 0; r < generation->rounds; r++)
        slots += generation->regions * generation->round[r].lines * per_line;
    return slots;
}

uint64_t bh__hf_region_room(uint64_t pairs, uint64_t regions)
{
    const uint64_t mean = pairs / regions;
    uint64_t deviation = 1;

    if (regions == 1)
        return pairs;
    while (deviation * deviation < mean)
        deviation++;
    return mean + 8 * deviation + 64;
}

/* Lines in which so many pairs lie before they fight: keys, and behind them, from a line on, payloads. */
static uint64_t lines_of_pairs(const bh_table *table, uint64_t pairs, uint32_t payload_bytes)
{
    return (bh__lines_up(pairs * table->options.key_bytes) + pairs * payload_bytes) / BH_HF_LINE +
           1;
}

/* Plans a generation of `pairs` pairs, in `regions` regions at most, with room in the tail for at least
 * `quota` pairs of each. Answers 0 when the generation would be beyond what can be addressed. */
static int lay_out(const bh_table *table, uint64_t pairs, uint32_t payload_bytes, uint64_t regions,
                   uint64_t quota, bh__hf_plan *p)
{
    double f = table->options.hashfight.slots_per_key, active, deviation, full;
    uint64_t per_line = bh__hf_slots_per_line(table), line = 0, lines, capacity;
    const bh__hf_builder *builder = bh__hf_builder_of(table);
    uint64_t least = BH_HF_TAIL_LEAST;
    bh_hf_generation *g = &p->g;
    bh__arena a = {0, 0};

    if (pairs > 1ull << 40)
        return 0;
    g->regions = pairs / builder->region_keys(table) + 1;
    if (g->regions > regions)
        g->regions = regions;
    if (pairs <= table->options.hashfight.tail_keys && pairs <= ALONE_MOST)
        g->regions = 1;
    active = (double)pairs / (double)g->regions;
    /* Of how many keys of a region come to a round. How many come to the first one is known if there is one region; and where
     * there are several, the lines that are full in the first round pass on their share of what is too many. */
    deviation = 0;
    for (g->rounds = 0; g->rounds < BH_HF_ROUNDS_MOST; g->rounds++) {
        bh_hf_round *r = &g->round[g->rounds];

        if (active * (double)g->regions <= (double)table->options.hashfight.tail_keys &&
            (g->rounds || g->regions == 1))
            break;
        lines = (uint64_t)((active + DEVIATIONS * deviation) * f / (double)per_line) + 1;
        if (lines < ROUND_LINES_LEAST)
            lines = ROUND_LINES_LEAST;
        if (line + lines > UINT32_MAX)
            return 0;
        r->lines = (uint32_t)lines;
        r->line = (uint32_t)line;
        line += lines;
        if (!g->rounds && g->regions > 1)
            deviation = root(active);
        active -= (double)r->lines * slots_taken(per_line, active / (double)r->lines, &full);
        deviation = deviation * full + root(active);
    }
    lines = lines_of_pairs(table, bh__hf_region_room(pairs, g->regions), payload_bytes);
    g->region_lines = line > lines ? line : lines;
    if (bh__on_device(table->backend)) /* there the tail's places are one list, of all regions */
        least = least / g->regions + 1;
    /* A region that begins with 1% more pairs than others has several times as many left in the end. The
     * number expected is small, so there is room for far more. */
    p->quota = (uint64_t)(4 * active) + least;
    if (!g->rounds)
        p->quota = pairs; /* only a tail, which has room for all pairs */
    if (p->quota < quota)
        p->quota = quota;
    if (!bh__mul(g->regions, p->quota, &capacity))
        return 0;
    g->lines = bh__cut(&a, g->regions * g->region_lines, BH_HF_LINE);
    g->tail_keys = bh__cut(&a, capacity, table->options.key_bytes);
    g->tail_values = bh__cut(&a, capacity, table->options.value_bytes);
    g->tail_gone = bh__cut(&a, capacity, 1);
    g->tail_room = capacity;
    g->tail = 0;
    p->bytes = a.at;
    return !a.overflowed;
}

int bh__hf_make_plan(const bh_table *table, uint64_t pairs, uint32_t payload_bytes, bh__hf_plan *p)
{
    return lay_out(table, pairs, payload_bytes, bh__hf_builder_of(table)->regions_most(table), 0,
                   p);
}

/* --- the memory of generations ------------------------------------------------------------------- */

void bh__hf_drop_spare(bh__hf_table *t)
{
    t->table.bytes[BH_TIER_NEAR] -= t->spare.committed;
    bh__block_destroy(&t->spare, &t->table.backend->memory);
}

/* Gives the spare block for a generation; give_back() undoes it. */
static bh_status take_spare(bh__hf_table *t, bh__block *block, int *was_spare)
{
    *was_spare = 1;
    *block = t->spare;
    t->spare.memory = 0;
    t->spare.committed = 0;
    t->table.bytes[BH_TIER_NEAR] -= block->committed;
    return BH_OK;
}

int bh__hf_is_beyond(const bh__hf_table *t, uint64_t bytes, uint64_t freed)
{
    uint64_t spare = t->spare.committed, committed;

    return !bh__block_bytes(bytes, &committed) ||
           ((!t->spare.memory || spare < bytes) &&
            bh__over_budget(&t->table, BH_TIER_NEAR, t->table.bytes[BH_TIER_NEAR] - freed - spare,
                            committed));
}

bh_status bh__hf_fail_beyond(const bh__hf_table *t, uint64_t bytes, uint64_t freed)
{
    return bh__fail_over(&t->table, BH_TIER_NEAR,
                         t->table.bytes[BH_TIER_NEAR] - freed - t->spare.committed + bytes);
}

/* Memory for a generation: a spare block of fitting size, else a new block. Where a new one is refused, a
 * spare block that is far too large will do; a spare block that is too small is given up if the budget has
 * room for the new block only then. `freed` bytes of the table will be given back when the new block is in
 * place: the budget is for what the table keeps. */
static bh_status make_block(bh__hf_table *t, uint64_t bytes, uint64_t freed, bh__block *block,
                            int *was_spare)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t spare = t->spare.committed, used = table->bytes[BH_TIER_NEAR] - freed, committed;
    int large_enough = t->spare.memory && spare >= bytes;

    *was_spare = 0;
    if (large_enough && spare / 4 <= bytes)
        return take_spare(t, block, was_spare);
    if (!bh__block_bytes(bytes, &committed))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    if (bh__hf_is_beyond(t, bytes, freed))
        return bh__hf_fail_beyond(t, bytes, freed);
    if (bh__over_budget(table, BH_TIER_NEAR, used, committed)) {
        if (large_enough)
            return take_spare(t, block, was_spare);
        /* Reserved room is gone, whether or not the new block can be had: no statistic and no reserve
         * may count on it. */
        bh__hf_drop_spare(t);
        bh__hf_publish(t);
    }
    if (!bh__block_create(block, &backend->memory, bytes)) {
        if (large_enough)
            return take_spare(t, block, was_spare);
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                        (unsigned long long)(table->bytes[BH_TIER_NEAR] + committed));
    }
    bh__block_touch(block, &backend->executor, &backend->memory, 0, block->committed);
    return BH_OK;
}

/* Gives back a block in which nothing was built. */
static void give_back(bh__hf_table *t, bh__block *block, int was_spare)
{
    if (was_spare) {
        t->spare = *block;
        t->table.bytes[BH_TIER_NEAR] += block->committed;
    } else {
        bh__block_destroy(block, &t->table.backend->memory);
    }
}

void bh__hf_spare_block(bh__hf_table *t, bh__block *block, uint64_t keys, uint64_t slots)
{
    if (t->spare.memory && t->spare.committed < block->committed)
        bh__hf_drop_spare(t);
    if (t->spare.memory) {
        bh__block_destroy(block, &t->table.backend->memory);
    } else {
        t->spare = *block;
        t->spare_keys = keys;
        t->spare_slots = slots;
        t->table.bytes[BH_TIER_NEAR] += block->committed;
    }
    block->memory = 0;
    block->committed = 0;
}

bh_status bh__hf_make_spare(bh__hf_table *t, uint64_t keys)
{
    bh__block block;
    bh_status status;
    int was_spare;
    bh__hf_plan p;

    if (!bh__hf_make_plan(&t->table, keys, bh__hf_payload_most(&t->table), &p))
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (keys <= t->table.max_keys)
        return BH_OK;
    if (t->spare.memory && t->spare.committed >= p.bytes) {
        t->spare_keys = keys;
        t->spare_slots = bh__hf_slots(&t->table, &p.g);
        bh__hf_publish(t);
        return BH_OK;
    }
    status = make_block(t, p.bytes, 0, &block, &was_spare);
    if (status)
        return status;
    bh__hf_spare_block(t, &block, keys, bh__hf_slots(&t->table, &p.g));
    t->table.changes++;
    bh__hf_publish(t);
    return BH_OK;
}

/* --- building ------------------------------------------------------------------------------------ */

/*
 * Keys that are all different may have been chosen so that all want the same region: they get a single
 * one, in which they have room whatever their hashes are, and a long tail for those that lose all its
 * rounds.
 */
bh_status bh__hf_build(bh__hf_table *t, const bh__hf_list *from, uint64_t freed,
                       bh_hf_generation *made, bh__block *block, uint64_t *pairs)
{
    uint64_t quota = 0, regions = t->builder->regions_most(&t->table);

    for (;;) {
        int was_spare;
        bh_status status;
        bh__hf_built result;
        bh__hf_plan p;

        if (!lay_out(&t->table, from->n, from->payload_bytes, regions, quota, &p))
            return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
        status = make_block(t, p.bytes, freed, block, &was_spare);
        if (status)
            return status;
        p.g.lines += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_keys += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_values += (uint64_t)(uintptr_t)block->memory;
        p.g.tail_gone += (uint64_t)(uintptr_t)block->memory;
        result = t->builder->fight(&t->table, from, &p, &quota, pairs);
        if (result == BH_HF_BUILT) {
            *made = p.g;
            return BH_OK;
        }
        give_back(t, block, was_spare);
        if (result == BH_HF_TOO_UNEVEN && (!from->distinct || regions == 1))
            return BH_ERR_UNSUPPORTED;
        if (result == BH_HF_TOO_UNEVEN)
            regions = 1;
        if (result == BH_HF_NO_MEMORY)
            return bh__fail(BH_ERR_MEMORY,
                            "the system gave no temporary memory to build a table of %llu pairs",
                            (unsigned long long)from->n);
    }
}
