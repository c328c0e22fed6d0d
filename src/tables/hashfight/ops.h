/*
 * HashFight: a lookup as steps of at most one new cache line each, and what the passes do that
 * build and change the table. An include-template: see instance.h.
 *
 * From Lessley, Li, Childs, "HashFight: A Platform-Portable Hash Table for Multi-Core and
 * Many-Core Architectures" (EI 2020), listings 1 to 5, with these departures:
 *   - keys fight for the slots of a line, not for one slot: see layout.h. On a GPU they do so as in the paper, slot by slot
 *     (teams.h). On cores a region belongs to one task, so a fight is decided at once: a pair takes the first
 *     slot that is free;
 *   - pairs are partitioned by region first and fight within their region, so that the
 *     scattered stores stay in a cache; the paper makes several passes over all keys;
 *   - equal keys are recognised by comparing keys, and become one pair in the round that their
 *     key wins; if indexes were compared, the losers would enter later subtables, and their key
 *     would be in the table twice;
 *   - a subtable's size follows from the number of pairs that lose on average, not from how
 *     many did, so that regions need not wait for each other between rounds. Each round
 *     has hash bits of its own;
 *   - an empty slot holds a filler, not a reserved key.
 *
 * WHAT HAPPENS IF more pairs lose all rounds than expected: the pass says how many, and the
 * policy builds again with room for them. If all keys had one hash they would all be in the
 * tail: slow to build, but correct.
 *
 * Whoever changes the table holds the gate alone, so a lookup sees no change and needs no
 * sequence numbers; within a pass every slot, and every run of equal keys, has one writer. There
 * is no atomic read-modify-write here but to add up what the tasks of a pass have counted.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_HASHFIGHT_OPS_H
#define BH_TABLES_HASHFIGHT_OPS_H

#include "targets/target.h"

#include "tables/answer.h"
#include "tables/effect.h"
#include "tables/hashfight/layout.h"
#include "tables/table.h"

#define BH_HF_NOBODY 0xffffffffu

/* How many runs ahead of the one that is performed pairs are asked for. */
#define BH_HF_RUNS_AHEAD 16u

BH_FN unsigned char *bh_hf_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

/* The line of its region's round for which a key with this hash fights. From round to round a key moves on by
 * hash.two within the region, so that keys that meet in one round do not meet in the next. */
BH_FN uint64_t bh_hf_within(const bh_hf_generation *generation, bh_hash hash, uint64_t round,
                            uint64_t *region)
{
    uint64_t within = bh_multiply(hash.one, generation->regions, region);

    return bh_hash_range(within + round * hash.two, generation->round[round].lines);
}

/* The first line of a region's round, among those of the generation. */
BH_FN uint64_t bh_hf_first(const bh_hf_generation *generation, uint64_t region, uint64_t round)
{
    return region * generation->region_lines + generation->round[round].line;
}

/* The line of the generation for which a key with this hash fights in a round. */
BH_FN uint64_t bh_hf_line(const bh_hf_generation *generation, bh_hash hash, uint64_t round)
{
    uint64_t region, within = bh_hf_within(generation, hash, round, &region);

    return bh_hf_first(generation, region, round) + within;
}

/* What is in the empty slots of a line, of either kind. */
BH_FN uint32_t bh_hf_filler(const bh_hf_round *round, uint64_t line, uint32_t kind)
{
    const int zero = line == round->special[0];

    if (!zero && line != round->special[1])
        return kind;
    return kind == BH_HF_GONE ? round->gone : zero ? round->free_of_zero : 0;
}

BH_FN uint64_t bh_hf_place(uint64_t generation, uint64_t round, uint64_t index)
{
    return (generation + 1) << BH_HF_PLACE_GENERATION | round << BH_HF_PLACE_ROUND | index;
}

/* A task's scratch memory, cut up. */
typedef struct bh_hf_scratch {
    unsigned char *pairs; /* see BH_HF(pair) */
    uint8_t *taken;       /* slots of each line */
    uint32_t *
        slot; /* of a team: of each pair, the first for which it fights; or NOBODY, once it has won */
    uint32_t *winner; /* of a team: of each slot */
} bh_hf_scratch;

BH_FN unsigned char *bh_hf_cut(unsigned char **memory, uint64_t bytes)
{
    unsigned char *part = *memory;

    *memory += (bytes + 63) / 64 * 64;
    return part;
}

#endif

#define BH_HF(name) BH_NAME(bh_hf_##name)

/* Slots of a line, and where its values begin. */
#define BH_HF_LINE_SLOTS BH_HF_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_HF_LINE_VALUES BH_HF_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES, BH_HF_LINE_SLOTS)

/* One operation in flight. */
typedef struct BH_HF(op) {
    BH_KEY key;
    uint32_t at; /* element of the slice */
    uint8_t op;
    uint8_t outcome;
    uint8_t generation;
    uint8_t round; /* or BH_HF_TAIL */
    uint32_t unused;
    uint64_t
        slot; /* the first of its line; then its own; or the first of the tail's pairs that may be the one */
    uint64_t end; /* behind the last of them */
    bh_hash hash;
} BH_HF(op);

BH_FN unsigned char *BH_HF(key_at)(const bh_hf_generation *generation, uint64_t slot)
{
    return bh_hf_at(generation->lines + slot / BH_HF_LINE_SLOTS * BH_HF_LINE +
                    slot % BH_HF_LINE_SLOTS * BH_KEY_BYTES);
}

BH_FN unsigned char *BH_HF(value_at)(const bh_hf_generation *generation, uint64_t slot)
{
    return bh_hf_at(generation->lines + slot / BH_HF_LINE_SLOTS * BH_HF_LINE + BH_HF_LINE_VALUES +
                    slot % BH_HF_LINE_SLOTS * BH_VALUE_BYTES);
}

BH_FN BH_VALUE BH_HF(load_value)(const void *value)
{
    return BH_VALUE_BYTES ? BH_LOAD_VALUE(value) : 0;
}

/* ---------------------------------------------------------------------------------------------
 * begin and the step
 * --------------------------------------------------------------------------------------------- */

BH_FN bh_region BH_HF(region_of)(const void *memory, uint32_t bytes)
{
    bh_region region;

    region.offset = (uint64_t)(uintptr_t)memory;
    region.bytes = bytes;
    region.tier = BH_TIER_NEAR;
    return region;
}

/* The slots of a line that have this key, as bits. */
BH_FN uint32_t BH_HF(match)(bh_line line, BH_KEY key)
{
    return BH_KEY_BYTES == 4 ? bh_line_match32(line, 0, BH_HF_LINE_SLOTS, (uint32_t)key)
                             : bh_line_match64(line, 0, BH_HF_LINE_SLOTS, key);
}

/* Goes to the line of the operation's round. */
BH_FN bh_region BH_HF(go_line)(const bh_hf_generation *generation, BH_HF(op) *op)
{
    const uint64_t line = bh_hf_line(generation, op->hash, op->round);

    op->slot = line * BH_HF_LINE_SLOTS;
    return BH_HF(region_of)(bh_hf_at(generation->lines + line * BH_HF_LINE), BH_HF_LINE);
}

/* Goes to the middle of what is left of the tail. */
BH_FN bh_region BH_HF(go_middle)(const bh_hf_generation *generation, const BH_HF(op) *op)
{
    uint64_t middle = op->slot + (op->end - op->slot) / 2;

    return BH_HF(region_of)(bh_hf_at(generation->tail_keys + middle * BH_KEY_BYTES), BH_KEY_BYTES);
}

/* Goes to the tail: the key has lost, or may have lost, all rounds. */
BH_FN bh_region BH_HF(go_tail)(const bh_hf_generation *generation, BH_HF(op) *op)
{
    op->round = BH_HF_TAIL;
    op->slot = 0;
    op->end = generation->tail;
    return BH_HF(go_middle)(generation, op);
}

/* Goes to the generation with the number op->generation, which exists. */
BH_FN bh_region BH_HF(go_generation)(const bh_hf_geometry *geometry, BH_HF(op) *op)
{
    const bh_hf_generation *generation = &geometry->generation[op->generation];

    op->round = 0;
    return generation->rounds ? BH_HF(go_line)(generation, op) : BH_HF(go_tail)(generation, op);
}

BH_FN bh_region BH_HF(begin)(const bh__slice *slice, BH_HF(op) *op, uint32_t at, uint32_t kind)
{
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice->geometry;

    op->key = ((const BH_KEY *)slice->keys)[at];
    op->at = at;
    op->op = (uint8_t)kind;
    op->generation = 0;
    op->hash = bh_hash_key(op->key, &geometry->seed);
    if (!geometry->generations)
        return BH_HF(region_of)(geometry, 8);
    return BH_HF(go_generation)(geometry, op);
}

/* Finishes an operation; `value` is where the key's value is, NULL: the key is absent. */
BH_FN bh_answer BH_HF(done)(const bh__slice *slice, BH_HF(op) *op, uint32_t kind, const void *value)
{
    if (kind == BH_HF_LOCATE)
        ((uint64_t *)slice->values_out)[op->at] =
            value ? bh_hf_place(op->generation, op->round, op->slot) : 0;
    else if (BH_VALUE_BYTES && slice->values_out && value) {
        BH_VALUE *answer = (BH_VALUE *)slice->values_out + op->at;

        *answer = BH_HF(load_value)(value);
        bh_answer_ahead(slice, answer, BH_VALUE_BYTES, op->at);
    }
    op->outcome = value ? BH_FOUND : BH_MISSING;
    return BH_DONE;
}

/* The key is not in this generation: goes to the next one, or finishes. */
BH_FN bh_answer BH_HF(go_on)(const bh__slice *slice, BH_HF(op) *op, uint32_t kind, bh_region *next)
{
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice->geometry;

    if (op->generation + 1u >= geometry->generations)
        return BH_HF(done)(slice, op, kind, 0);
    op->generation++;
    *next = BH_HF(go_generation)(geometry, op);
    return BH_NEXT;
}

/* One key of the tail: a step of a binary search. */
BH_FN bh_answer BH_HF(step_tail)(const bh__slice *slice, const bh_hf_generation *generation,
                                 BH_HF(op) *op, uint32_t kind, uint64_t at, bh_region *next)
{
    uint64_t middle = op->slot + (op->end - op->slot) / 2;
    BH_KEY key = BH_LOAD_KEY(bh_hf_at(at));

    if (key == op->key && !bh_hf_at(generation->tail_gone)[middle]) {
        op->slot = middle;
        return BH_HF(done)(slice, op, kind,
                           bh_hf_at(generation->tail_values + middle * BH_VALUE_BYTES));
    }
    if (key < op->key)
        op->slot = middle + 1;
    else
        op->end = middle;
    if (op->slot >= op->end)
        return BH_HF(go_on)(slice, op, kind, next);
    *next = BH_HF(go_middle)(generation, op);
    return BH_NEXT;
}

/* A line. */
BH_FN bh_answer BH_HF(step_line)(const bh__slice *slice, const bh_hf_generation *generation,
                                 BH_HF(op) *op, uint32_t kind, uint64_t at, bh_region *next)
{
    const bh_line line = bh_line_read(bh_hf_at(at));
    const uint32_t match = BH_HF(match)(line, op->key);
    uint32_t filler;

    if (match) {
        op->slot += bh_first(match);
        return BH_HF(done)(slice, op, kind,
                           bh_hf_at(at + BH_HF_LINE_VALUES + bh_first(match) * BH_VALUE_BYTES));
    }
    filler = bh_hf_filler(&generation->round[op->round], op->slot / BH_HF_LINE_SLOTS, BH_HF_FREE);
    if (BH_HF(match)(line, filler))
        return BH_HF(go_on)(slice, op, kind, next);
    if (++op->round < generation->rounds)
        *next = BH_HF(go_line)(generation, op);
    else if (generation->tail)
        *next = BH_HF(go_tail)(generation, op);
    else
        return BH_HF(go_on)(slice, op, kind, next);
    return BH_NEXT;
}

/* Finding and locating change nothing but the results of the slice. */
BH_FN bh_answer BH_HF(step)(bh__slice *slice, BH_HF(op) *op, uint32_t kind, uint64_t at,
                            bh_region *next)
{
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice->geometry;
    const bh_hf_generation *generation = &geometry->generation[op->generation];

    if (!geometry->generations)
        return BH_HF(done)(slice, op, kind, 0);
    if (op->round == BH_HF_TAIL)
        return BH_HF(step_tail)(slice, generation, op, kind, at, next);
    return BH_HF(step_line)(slice, generation, op, kind, at, next);
}

/* ---------------------------------------------------------------------------------------------
 * Building
 * --------------------------------------------------------------------------------------------- */

/* Pairs in scratch memory; value_of tells what a payload stands for. A pair is one word of 8 bytes, with the
 * key in the lower half and a payload of 4 bytes in the upper half; or two words, the key's and then the
 * payload's. A key alone is a word of its own width. */
BH_FN uint32_t BH_HF(pair_bytes)(uint32_t payload_bytes)
{
    return BH_HF_PAIR(BH_KEY_BYTES, payload_bytes);
}

BH_FN void *BH_HF(pair)(const bh_hf_scratch *s, uint64_t i, uint32_t payload_bytes)
{
    return s->pairs + i * BH_HF(pair_bytes)(payload_bytes);
}

BH_FN BH_KEY BH_HF(key)(const bh_hf_scratch *s, uint64_t i, uint32_t payload_bytes)
{
    const void *pair = BH_HF(pair)(s, i, payload_bytes);

    return BH_HF(pair_bytes)(payload_bytes) == 4 ? (BH_KEY) * (const uint32_t *)pair
                                                 : (BH_KEY) * (const uint64_t *)pair;
}

BH_FN uint64_t BH_HF(payload)(const bh_hf_scratch *s, uint64_t i, uint32_t payload_bytes)
{
    const uint64_t *words = (const uint64_t *)BH_HF(pair)(s, i, payload_bytes);

    if (!payload_bytes)
        return 0;
    return BH_HF(pair_bytes)(payload_bytes) == 16 ? words[1] : words[0] >> 32;
}

BH_FN void BH_HF(set_pair)(const bh_hf_scratch *s, uint64_t i, BH_KEY key, uint64_t payload,
                           uint32_t payload_bytes)
{
    uint64_t *words = (uint64_t *)BH_HF(pair)(s, i, payload_bytes);

    if (BH_HF(pair_bytes)(payload_bytes) == 4) {
        *(uint32_t *)(void *)words = (uint32_t)key;
    } else if (BH_HF(pair_bytes)(payload_bytes) == 16) {
        words[0] = key;
        words[1] = payload;
    } else {
        words[0] = payload_bytes ? key | payload << 32 : key;
    }
}

BH_FN BH_VALUE BH_HF(value_of)(const bh_hf_fight *job, uint64_t payload)
{
    if (BH_VALUE_BYTES && job->indexed)
        return ((const BH_VALUE *)job->values)[payload];
    return (BH_VALUE)payload;
}

/* Finds what stands in the lines of keys 0 and 1 for these keys, which stand for empty slots everywhere else. */
BH_FN_RARE void BH_HF(find_filler)(const bh_seed *seed, bh_hf_generation *to, uint64_t round)
{
    bh_hf_round *r = &to->round[round];
    const uint64_t zero = bh_hf_line(to, bh_hash_key(0, seed), round);
    const uint64_t one = bh_hf_line(to, bh_hash_key(1, seed), round);
    uint32_t other[2] = {0, 0}, found = 0, key;

    /* The smallest keys that fight for neither line. A round has lines enough for this loop to end after a few keys; a
     * hash that sends the first 2^32 keys to two lines would be broken. */
    for (key = 2; found < 2 && key < UINT32_MAX; key++) {
        const uint64_t line = bh_hf_line(to, bh_hash_key(key, seed), round);

        if (line != zero && line != one)
            other[found++] = key;
    }
    r->special[0] = zero;
    r->special[1] = one;
    r->free_of_zero = zero == one ? other[1] : 1;
    r->gone = other[0];
}

/* Makes all slots of a round free. */
BH_FN void BH_HF(clear_round)(const bh_hf_generation *to, const bh_hf_scratch *s, uint64_t round,
                              uint64_t first)
{
    const bh_hf_round *r = &to->round[round];
    uint64_t *words = (uint64_t *)(void *)bh_hf_at(to->lines + first * BH_HF_LINE), i;

    for (i = 0; i < (uint64_t)r->lines * (BH_HF_LINE / 8); i++)
        words[i] = 0;
    for (i = 0; i < r->lines; i++)
        s->taken[i] = 0;
}

/* Writes what is in the free slots of the lines for which keys 0 and 1 fight: in all others it is 0. */
BH_FN void BH_HF(fill_special)(const bh_hf_generation *to, const bh_hf_scratch *s, uint64_t round,
                               uint64_t first)
{
    const bh_hf_round *r = &to->round[round];
    uint32_t i, slot;

    for (i = 0; i < BH_HF_FILLERS; i++)
        if (r->special[i] - first < r->lines)
            for (slot = s->taken[r->special[i] - first]; slot < BH_HF_LINE_SLOTS; slot++)
                BH_STORE_KEY(BH_HF(key_at)(to, r->special[i] * BH_HF_LINE_SLOTS + slot),
                             bh_hf_filler(r, r->special[i], BH_HF_FREE));
}

/*
 * A round of a region: each of the `active` pairs takes the first free slot of its line. A pair whose key is there already is one
 * with that pair, whose value it replaces; a pair whose line is full has lost, and moves to the front of those that
 * are left. Answers how many have lost. `won` counts the pairs that have got a slot.
 */
BH_FN uint64_t BH_HF(fight)(const bh_hf_fight *job, const bh_hf_generation *to, const bh_seed *seed,
                            const bh_hf_scratch *s, uint64_t round, uint64_t first, uint64_t active,
                            uint32_t payload_bytes, uint64_t *won)
{
    uint64_t lost = 0, i;

    for (i = 0; i < active; i++) {
        const BH_KEY key = BH_HF(key)(s, i, payload_bytes);
        const uint64_t payload = BH_HF(payload)(s, i, payload_bytes);
        const uint64_t line = bh_hf_line(to, bh_hash_key(key, seed), round);
        unsigned char *at = bh_hf_at(to->lines + line * BH_HF_LINE);
        const uint32_t taken = s->taken[line - first];
        const uint32_t match = BH_HF(match)(bh_line_read(at), key) & ((1u << taken) - 1);
        uint32_t slot = taken;

        if (match) {
            slot = bh_first(match);
        } else if (taken == BH_HF_LINE_SLOTS) {
            BH_HF(set_pair)(s, lost++, key, payload, payload_bytes);
            continue;
        } else {
            s->taken[line - first] = (uint8_t)(taken + 1);
            BH_STORE_KEY(at + slot * BH_KEY_BYTES, key);
            ++*won;
        }
        if (BH_VALUE_BYTES)
            BH_STORE_VALUE(at + BH_HF_LINE_VALUES + slot * BH_VALUE_BYTES,
                           BH_HF(value_of)(job, payload));
        if (job->outcomes)
            job->outcomes[payload] = match ? BH_ASSIGNED : BH_INSERTED;
    }
    return lost;
}

/* Stores the pairs of a region that have lost all rounds, for the tail. */
BH_FN void BH_HF(leave)(const bh_hf_fight *job, const bh_hf_scratch *s, uint64_t region,
                        uint64_t active, uint32_t payload_bytes)
{
    BH_KEY *left_keys = (BH_KEY *)job->left_keys + region * job->quota;
    uint64_t *left_payloads = job->left_payloads + region * job->quota;
    uint64_t i;

    job->left[region] = active;
    for (i = 0; i < active && i < job->quota; i++) {
        left_keys[i] = BH_HF(key)(s, i, payload_bytes);
        left_payloads[i] = BH_HF(payload)(s, i, payload_bytes);
    }
}

/* All rounds of one region. Answers how many pairs have got a slot. */
BH_FN uint64_t BH_HF(fight_region)(const bh_hf_fight *job, const bh_hf_generation *to,
                                   const bh_hf_scratch *s, uint64_t region, uint32_t payload_bytes)
{
    const bh_seed seed = job->geometry->seed;
    const BH_KEY *keys = (const BH_KEY *)(const void *)bh_hf_at(job->keys_at[region]);
    const void *payloads = payload_bytes ? bh_hf_at(job->payloads_at[region]) : 0;
    uint64_t count = job->counts[region], active = count, won = 0, round, i;

    for (i = 0; i < count; i++)
        BH_HF(set_pair)(s, i, keys[i],
                        payload_bytes == 8   ? ((const uint64_t *)payloads)[i]
                        : payload_bytes == 4 ? ((const uint32_t *)payloads)[i]
                                             : 0,
                        payload_bytes);
    for (round = 0; round < to->rounds; round++) {
        const uint64_t first = bh_hf_first(to, region, round);

        BH_HF(clear_round)(to, s, round, first);
        active = BH_HF(fight)(job, to, &seed, s, round, first, active, payload_bytes, &won);
        BH_HF(fill_special)(to, s, round, first);
    }
    BH_HF(leave)(job, s, region, active, payload_bytes);
    return won;
}

BH_FN void BH_HF(fight_regions)(bh_hf_fight *shared, uint64_t task, uint32_t payload_bytes)
{
    /* Copies that nobody else can point to: their fields stay in registers while the table and
     * scratch memory are written. */
    bh_hf_fight job = *shared;
    bh_hf_generation to = *job.to;
    unsigned char *memory = job.scratch + task * job.scratch_bytes;
    bh_hf_scratch s;
    uint64_t won = 0, region;

    s.pairs = bh_hf_cut(&memory, job.room * BH_HF(pair_bytes)(payload_bytes));
    s.taken = memory;
    s.slot = s.winner = 0;
    for (region = task; region < to.regions; region += job.tasks)
        won += BH_HF(fight_region)(&job, &to, &s, region, payload_bytes);
    bh_add64(&shared->won, won);
}

/* BH_HF_PASS_FILLER: what is in empty slots, of every round. */
BH_FN void BH_HF(find_fillers)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_fillers *job = (bh_hf_fillers *)argument;
    uint64_t round;

    for (round = first; round < first + count; round++)
        BH_HF(find_filler)(&job->geometry->seed, &job->to, round);
}

/* BH_HF_PASS_FIGHT. */
BH_FN void BH_HF(fight_tasks)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_fight *job = (bh_hf_fight *)argument;
    uint64_t task;

    for (task = first; task < first + count; task++) {
        if (job->payload_bytes == 0)
            BH_HF(fight_regions)(job, task, 0);
        else if (job->payload_bytes == 4)
            BH_HF(fight_regions)(job, task, 4);
        else
            BH_HF(fight_regions)(job, task, 8);
    }
}

/* BH_HF_PASS_TAIL: a pair of the tail from each run of equal keys among the pairs that lost all rounds. */
BH_FN void BH_HF(make_tail)(void *argument, uint64_t first, uint64_t count)
{
    const bh_hf_fight *job = (const bh_hf_fight *)argument;
    const BH_KEY *keys = (const BH_KEY *)job->left_keys;
    uint64_t run, i;

    for (run = first; run < first + count; run++) {
        uint64_t begin = job->left[run], end = job->left[run + 1];

        BH_STORE_KEY(bh_hf_at(job->to->tail_keys + run * BH_KEY_BYTES), keys[begin]);
        if (BH_VALUE_BYTES)
            BH_STORE_VALUE(bh_hf_at(job->to->tail_values + run * BH_VALUE_BYTES),
                           BH_HF(value_of)(job, job->left_payloads[end - 1]));
        bh_hf_at(job->to->tail_gone)[run] = 0;
        for (i = begin; job->outcomes && i < end; i++)
            job->outcomes[job->left_payloads[i]] = i == begin ? BH_INSERTED : BH_ASSIGNED;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Changing what is there
 * --------------------------------------------------------------------------------------------- */

/* Whether a run wants a place for its key. */
BH_FN uint8_t BH_HF(want_run)(const bh_hf_runs *job, uint64_t run)
{
    const bh__runs *runs = &job->runs;
    uint64_t end, i;
    uint8_t wanted = 0;

    if (!job->places[run]) {
        end = bh_run_end(runs, run);
        for (i = runs->starts[run]; !wanted && i < end; i++)
            wanted = (uint8_t)BH_OP_INSERTS(runs->ops ? runs->ops[runs->index[i]] : runs->op);
    }
    job->wanted[run] = wanted;
    return wanted;
}

/* BH_HF_PASS_WANT. */
BH_FN void BH_HF(want)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_runs *job = (bh_hf_runs *)argument;
    uint64_t wanting = 0, run;

    for (run = first; run < first + count; run++)
        wanting += BH_HF(want_run)(job, run);
    bh_add64(&job->wanting, wanting);
}

/* What a place stands for: addresses. */
typedef struct BH_HF(spot) {
    unsigned char *key;
    unsigned char *value;
    unsigned char *gone; /* NULL in a slot */
    BH_KEY filler;
} BH_HF(spot);

BH_FN BH_HF(spot) BH_HF(spot_of)(const bh_hf_geometry *geometry, uint64_t place)
{
    const bh_hf_generation *generation =
        &geometry->generation[(place >> BH_HF_PLACE_GENERATION) - 1];
    uint64_t round = place >> BH_HF_PLACE_ROUND & 0xff;
    uint64_t index = place & ((1ull << BH_HF_PLACE_ROUND) - 1);
    BH_HF(spot) spot;

    if (round == BH_HF_TAIL) {
        spot.key = bh_hf_at(generation->tail_keys + index * BH_KEY_BYTES);
        spot.value = bh_hf_at(generation->tail_values + index * BH_VALUE_BYTES);
        spot.gone = bh_hf_at(generation->tail_gone) + index;
        spot.filler = 0;
    } else {
        spot.key = BH_HF(key_at)(generation, index);
        spot.value = BH_HF(value_at)(generation, index);
        spot.gone = 0;
        spot.filler = bh_hf_filler(&generation->round[round], index / BH_HF_LINE_SLOTS, BH_HF_GONE);
    }
    return spot;
}

/* A run's key: where it is, if it has a place, and its value, if it is present. */
typedef struct BH_HF(hand) {
    uint64_t place;
    uint64_t value;
    int present;
    BH_HF(spot) spot;
} BH_HF(hand);

BH_FN BH_HF(hand) BH_HF(take_in_hand)(const bh_hf_runs *job, uint64_t run)
{
    BH_HF(hand) hand = {
        job->places[run], 0, 0, {0, 0, 0, 0}}; /* without a place there is no spot */

    if (!hand.place)
        return hand;
    hand.spot = BH_HF(spot_of)(job->geometry, hand.place);
    hand.present = !(job->wanted && job->wanted[run]);
    hand.value = hand.present ? BH_HF(load_value)(hand.spot.value) : 0;
    return hand;
}

/* Writes what has become of the key; `set`: its value was. */
BH_FN void BH_HF(put_back)(bh_hf_runs *job, const BH_HF(hand) *hand, int set)
{
    if (!hand->place)
        return;
    if (BH_VALUE_BYTES && hand->present && set)
        BH_STORE_VALUE(hand->spot.value, (BH_VALUE)hand->value);
    if (!hand->present && hand->spot.gone) {
        *hand->spot.gone = 1;
        /* An atomic addition for each: the buffer is small. */
        if (!job->geometry->generation[(hand->place >> BH_HF_PLACE_GENERATION) - 1].regions)
            bh_add64(&job->gone, 1);
    } else if (!hand->present) {
        BH_STORE_KEY(hand->spot.key, hand->spot.filler);
    }
}

BH_FN void BH_HF(add_done)(bh_hf_runs *job, const bh_done *done)
{
    bh_add64(&job->inserted, done->inserted);
    bh_add64(&job->erased, done->erased);
    bh_add64(&job->assigned, done->assigned);
    bh_add64(&job->refused, done->refused);
}

/* Performs a run: the elements from `i` to `end`. */
BH_FN void BH_HF(fold_run)(bh_hf_runs *job, uint64_t run, uint64_t i, uint64_t end, bh_done *done)
{
    BH_HF(hand) hand = BH_HF(take_in_hand)(job, run);
    const int set = bh_perform_run(&job->runs, BH_VALUE_BYTES, i, end, hand.place != 0,
                                   &hand.present, &hand.value, 1, done);

    BH_HF(put_back)(job, &hand, set);
}

BH_FN int BH_HF(is_long)(const bh_hf_runs *job, uint64_t i, uint64_t end)
{
    return job->joins && end - i >= BH_HF_LONG_RUN;
}

/* The values of a long run's elements, whose indexes these are, joined; all threads of the team must come here, and the
 * first of them gets the answer. (Elements of a chunk have 32-bit numbers.) */
BH_FN uint64_t BH_HF(join_values)(const bh__runs *runs, const uint32_t *index, uint32_t count,
                                  uint64_t *memory)
{
    const uint32_t op = runs->op, lane = bh_team_lane();
    uint32_t i = lane, distance;
    uint64_t joined;

    if (!BH_OP_READS(op))
        return 0;
    if (BH_OP_JOINS(op) == BH_INSERT)
        return bh_value_at(runs->values, BH_VALUE_BYTES, index[count - 1]);
    if (BH_OP_JOINS(op) == BH_INSERT_NEW)
        return bh_value_at(runs->values, BH_VALUE_BYTES, index[0]);
    joined = bh_value_at(runs->values, BH_VALUE_BYTES, index[i]);
    for (i += bh_team_size(); i < count; i += bh_team_size())
        joined = bh_join(op, BH_VALUE_BYTES, joined,
                         bh_value_at(runs->values, BH_VALUE_BYTES, index[i]));
    memory[lane] = joined;
    for (distance = bh_team_size() / 2; distance; distance /= 2) {
        bh_team_meet();
        if (lane < distance)
            memory[lane] = bh_join(op, BH_VALUE_BYTES, memory[lane], memory[lane + distance]);
    }
    return lane ? 0 : memory[0];
}

/*
 * Performs a long run by all threads of a team, whose number is a power of two. The first thread does what one
 * element with their joined value would do; then all write the answers, which follow from that one's. `memory` has a
 * word for each thread, and two at least.
 *
 * One thread would take 0.3 us for each element, and some key may be half of a call.
 */
BH_FN void BH_HF(fold_long_run)(bh_hf_runs *job, uint64_t run, uint64_t *memory)
{
    const bh__runs *const runs = &job->runs;
    const uint32_t *const index = runs->index + runs->starts[run];
    const uint32_t count = (uint32_t)(bh_run_end(runs, run) - runs->starts[run]), op = runs->op;
    const uint64_t joined = BH_HF(join_values)(runs, index, count, memory);
    bh_outcome first = BH_NOT_DONE, rest;
    uint32_t i;
    int answers;

    if (bh_team_lane() == 0) {
        BH_HF(hand) hand = BH_HF(take_in_hand)(job, run);
        bh_done done = {0, 0, 0, 0};

        if (hand.place || !BH_OP_INSERTS(op))
            first = bh_act(op, joined, BH_VALUE_BYTES, &hand.present, &hand.value);
        BH_HF(put_back)(job, &hand, first == BH_INSERTED || first == BH_ASSIGNED);
        bh_done_add(&done, first, 1);
        bh_done_add(&done, (bh_outcome)bh_rest(op, (uint8_t)first), count - 1);
        BH_HF(add_done)(job, &done);
        memory[0] = first;
        memory[1] = hand.value;
    }
    bh_team_meet();
    first = (bh_outcome)memory[0];
    rest = (bh_outcome)bh_rest(op, (uint8_t)first);
    answers = BH_OP_WRITES(op) && runs->values_out;
    for (i = bh_team_lane(); (runs->outcomes || answers) && i < count; i += bh_team_size()) {
        const bh_outcome outcome = i ? rest : first;

        if (answers && outcome == BH_FOUND)
            bh_set_value_at(runs->values_out, BH_VALUE_BYTES, index[i], memory[1]);
        if (runs->outcomes)
            runs->outcomes[index[i]] = (uint8_t)outcome;
    }
    bh_team_meet(); /* the next run uses the same memory */
}

/* Asks for the line of a run's key, if it has a place, and for what its first element reads and writes: all of it lies anywhere. (Of a
 * pair of the tail the value lies elsewhere.) */
BH_FN void BH_HF(bring_run)(const bh_hf_runs *job, uint64_t run)
{
    const bh__runs *const runs = &job->runs;
    const uint64_t at = runs->index[runs->starts[run]];

    if (job->places[run])
        bh_bring_to_write(BH_HF(spot_of)(job->geometry, job->places[run]).key);
    if (runs->values)
        bh_bring((const unsigned char *)runs->values + at * BH_VALUE_BYTES);
    if (runs->outcomes)
        bh_bring_to_write(runs->outcomes + at);
}

/* BH_HF_PASS_FOLD. */
BH_FN void BH_HF(fold)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_runs *job = (bh_hf_runs *)argument;
    bh_done done = {0, 0, 0, 0};
    uint64_t begin = count ? job->runs.starts[first] : 0, end, run, memory[2];

    for (run = first; run < first + count; run++, begin = end) {
        if (BH_BRINGS && run + BH_HF_RUNS_AHEAD < first + count)
            BH_HF(bring_run)(job, run + BH_HF_RUNS_AHEAD);
        end = bh_run_end(&job->runs, run);
        if (BH_HF(is_long)(job, begin, end))
            BH_HF(fold_long_run)(job, run, memory);
        else
            BH_HF(fold_run)(job, run, begin, end, &done);
    }
    BH_HF(add_done)(job, &done);
}

/* ---------------------------------------------------------------------------------------------
 * Reading all of it
 * --------------------------------------------------------------------------------------------- */

/* Of the slots of a line those that are in use, as bits. No key is hashed to find out. */
BH_FN uint32_t BH_HF(line_used)(const bh_hf_generation *from, uint64_t number)
{
    const uint64_t within = number % from->region_lines;
    const bh_hf_round *round = from->round;
    bh_line line;

    while (round + 1 < from->round + from->rounds && round[1].line <= within)
        round++;
    if (within - round->line >= round->lines)
        return 0; /* behind the last round there may be anything, up to the next region */
    line = bh_line_read(bh_hf_at(from->lines + number * BH_HF_LINE));
    return ((1u << BH_HF_LINE_SLOTS) - 1) &
           ~(BH_HF(match)(line, bh_hf_filler(round, number, BH_HF_FREE)) |
             BH_HF(match)(line, bh_hf_filler(round, number, BH_HF_GONE)));
}

/* The same of pairs of the tail. */
BH_FN uint32_t BH_HF(tail_used)(const bh_hf_generation *from, uint64_t number)
{
    const uint64_t first = number * BH_HF_LINE_SLOTS;
    uint32_t used = 0, i;

    for (i = 0; i < BH_HF_LINE_SLOTS && first + i < from->tail; i++)
        used |= (uint32_t)!bh_hf_at(from->tail_gone)[first + i] << i;
    return used;
}

/* BH_HF_PASS_EXPORT, by tables/copy_parts.h. */
BH_FN const bh_hf_generation *BH_HF(generation_out)(const bh_export_part *part)
{
    return &((const bh_hf_geometry *)part->geometry)->generation[part->lines / 2];
}

BH_FN const unsigned char *BH_HF(key_out)(const bh_export_part *part, uint64_t number,
                                          uint32_t slot)
{
    const bh_hf_generation *from = BH_HF(generation_out)(part);
    const uint64_t at = number * BH_HF_LINE_SLOTS + slot;

    if (part->lines % 2)
        return bh_hf_at(from->tail_keys + at * BH_KEY_BYTES);
    return bh_hf_at(from->lines + number * BH_HF_LINE + slot * BH_KEY_BYTES);
}

BH_FN const unsigned char *BH_HF(value_out)(const bh_export_part *part, uint64_t number,
                                            uint32_t slot)
{
    const bh_hf_generation *from = BH_HF(generation_out)(part);
    const uint64_t at = number * BH_HF_LINE_SLOTS + slot;

    if (part->lines % 2)
        return bh_hf_at(from->tail_values + at * BH_VALUE_BYTES);
    return bh_hf_at(from->lines + number * BH_HF_LINE + BH_HF_LINE_VALUES + slot * BH_VALUE_BYTES);
}

BH_FN const unsigned char *BH_HF(exported_at)(const bh_export_part *part, uint64_t number)
{
    return BH_HF(key_out)(part, number, 0);
}

BH_FN uint32_t BH_HF(exported)(const bh_export_part *part, uint64_t number)
{
    const bh_hf_generation *from = BH_HF(generation_out)(part);

    return bh_export_used(part, number,
                          part->lines % 2 ? BH_HF(tail_used)(from, number)
                                          : BH_HF(line_used)(from, number));
}

#define BH_COPY BH_HF
#define BH_COPY_PACKS BH_HF_LINE_SLOTS
#include "tables/copy_parts.h"

/* BH_HF_PASS_PLACES: the upper bits of a key's hash say where it is in every generation. */
BH_FN void BH_HF(find_places)(void *argument, uint64_t first, uint64_t count)
{
    const bh__places *job = (const bh__places *)argument;
    const bh_hf_geometry *g = (const bh_hf_geometry *)job->geometry;
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    uint64_t i;

    for (i = first; i < first + count; i++)
        job->places[i] = (uint32_t)(bh_hash_key(keys[i], &g->seed).one >> (64 - job->bits));
}

#undef BH_HF
#undef BH_HF_LINE_SLOTS
#undef BH_HF_LINE_VALUES
