/*
 * HashFight: a lookup as steps of at most one new cache line each, and what the passes do that
 * build and change the table. An include-template: see instance.h.
 *
 * From Lessley, Li, Childs, "HashFight: A Platform-Portable Hash Table for Multi-Core and
 * Many-Core Architectures" (EI 2020), listings 1 to 5, with these departures:
 *   - what fights is the index of a pair, not the pair: a store of 4 bytes is atomic on every
 *     machine, one of 16 is not. Then keys are compared, and the winners' pairs are gathered
 *     in the order of the slots, so each line of the table is written once;
 *   - pairs are partitioned by region first and fight within their region, so that the
 *     scattered stores stay in a cache; the paper makes several passes over all keys;
 *   - equal keys are recognised by comparing keys, and become one pair in the round that their
 *     key wins; if indexes were compared, the losers would enter later subtables, and their key
 *     would be in the table twice;
 *   - a subtable's size follows from the number of pairs that lose on average, not from how
 *     many did, so that regions need not wait for each other between rounds. Each round
 *     has hash bits of its own;
 *   - an empty slot holds a filler, not a reserved key, and a bit for each slot says where
 *     nobody lost: see layout.h.
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

BH_FN unsigned char *bh_hf_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

/* The slot of its region's round for which a key with this hash fights. From round to round a key moves on by
 * hash.two within the region, so that keys that meet in one round do not meet in the next. */
BH_FN uint64_t bh_hf_within(const bh_hf_generation *generation, bh_hash hash, uint64_t round,
                            uint64_t *region)
{
    uint64_t within = bh_multiply(hash.one, generation->regions, region);

    return bh_hash_range(within + round * hash.two, generation->round[round].slots);
}

/* The first slot of a region's round, among those of the generation. */
BH_FN uint64_t bh_hf_first(const bh_hf_generation *generation, uint64_t region, uint64_t round,
                           uint32_t slots_per_line)
{
    return (region * generation->region_lines + generation->round[round].line) * slots_per_line;
}

/* The slot of the generation for which a key with this hash fights in a round. */
BH_FN uint64_t bh_hf_slot(const bh_hf_generation *generation, bh_hash hash, uint64_t round,
                          uint32_t slots_per_line)
{
    uint64_t region, within = bh_hf_within(generation, hash, round, &region);

    return bh_hf_first(generation, region, round, slots_per_line) + within;
}

BH_FN int bh_hf_contested(const bh_hf_generation *generation, uint64_t slot)
{
    return (int)(bh_load64(bh_hf_at(generation->contested + slot / 64 * 8)) >> slot % 64 & 1);
}

BH_FN uint64_t bh_hf_place(uint64_t generation, uint64_t round, uint64_t index)
{
    return (generation + 1) << BH_HF_PLACE_GENERATION | round << BH_HF_PLACE_ROUND | index;
}

/* A task's scratch memory, cut up. */
typedef struct bh_hf_scratch {
    unsigned char *pairs; /* see BH_HF(pair) */
    uint32_t *slot;       /* of each pair */
    uint32_t *loser;      /* pairs that have not won, by index */
    uint32_t *winner;     /* of each slot */
    uint64_t *seen; /* a bit for each slot: one of several equal keys has been told INSERTED; of
                       a team: somebody has lost there */
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
    uint64_t slot; /* or the first of the tail's pairs that may be the one */
    uint64_t end;  /* behind the last of them */
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

/* Goes to the slot of the operation's round. The slot's bit is prefetched too: most operations that find
 * another key in the slot need it. */
BH_FN bh_region BH_HF(go_slot)(const bh_hf_generation *generation, BH_HF(op) *op)
{
    op->slot = bh_hf_slot(generation, op->hash, op->round, BH_HF_LINE_SLOTS);
    bh_bring(bh_hf_at(generation->contested + op->slot / 64 * 8));
    return BH_HF(region_of)(bh_hf_at(generation->lines + op->slot / BH_HF_LINE_SLOTS * BH_HF_LINE),
                            BH_HF_LINE);
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
    return generation->rounds ? BH_HF(go_slot)(generation, op) : BH_HF(go_tail)(generation, op);
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
    if (BH_LOAD_KEY(bh_hf_at(at + op->slot % BH_HF_LINE_SLOTS * BH_KEY_BYTES)) == op->key)
        return BH_HF(done)(
            slice, op, kind,
            bh_hf_at(at + BH_HF_LINE_VALUES + op->slot % BH_HF_LINE_SLOTS * BH_VALUE_BYTES));
    if (!bh_hf_contested(generation, op->slot))
        return BH_HF(go_on)(slice, op, kind, next);
    if (++op->round < generation->rounds)
        *next = BH_HF(go_slot)(generation, op);
    else if (generation->tail)
        *next = BH_HF(go_tail)(generation, op);
    else
        return BH_HF(go_on)(slice, op, kind, next);
    return BH_NEXT;
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

/* Finds the filler of a round: the smallest key that does not fight for the slot for which key 0 does. */
BH_FN_RARE void BH_HF(find_filler)(const bh_seed *seed, bh_hf_generation *to, uint64_t round)
{
    bh_hf_round *r = &to->round[round];
    uint64_t key = 1;

    r->zero = bh_hf_slot(to, bh_hash_key(0, seed), round, BH_HF_LINE_SLOTS);
    /* A round has slots enough for this loop to end after a few keys; a hash that sends the first 2^32
     * keys to one slot would be broken. */
    while (bh_hf_slot(to, bh_hash_key(key, seed), round, BH_HF_LINE_SLOTS) == r->zero &&
           key < UINT32_MAX)
        key++;
    r->filler = key;
}

/* The fight: each pair names itself the winner of its slot. The last pair to do so wins. */
BH_FN void BH_HF(fight)(const bh_hf_generation *to, const bh_seed *seed, const bh_hf_scratch *s,
                        uint64_t round, uint64_t first_slot, uint64_t active,
                        uint32_t payload_bytes)
{
    uint64_t i;

    for (i = 0; i < active; i++) {
        uint32_t slot =
            (uint32_t)(bh_hf_slot(to, bh_hash_key(BH_HF(key)(s, i, payload_bytes), seed), round,
                                  BH_HF_LINE_SLOTS) -
                       first_slot);

        s->slot[i] = slot;
        s->winner[slot] = (uint32_t)i;
    }
}

/* Writes a round's lines: the winners' pairs, fillers elsewhere. */
BH_FN void BH_HF(gather)(const bh_hf_fight *job, const bh_hf_generation *to, const bh_hf_scratch *s,
                         uint64_t round, uint64_t first_slot, uint32_t payload_bytes)
{
    const uint32_t pair_bytes = BH_HF(pair_bytes)(payload_bytes);
    uint64_t slots = to->round[round].slots, slot, i;
    uint64_t zero = to->round[round].zero - first_slot;

    for (slot = 0; slot < slots; slot += BH_HF_LINE_SLOTS) {
        const uint32_t *winner = s->winner + slot;
        unsigned char *line = BH_HF(key_at)(to, first_slot + slot);
        uint64_t word[BH_HF_LINE_SLOTS];

        if (pair_bytes == 4) {
            bh_gather32((uint32_t *)(void *)line, s->pairs, winner, BH_HF_LINE_SLOTS);
            continue;
        }
        bh_gather64(word, s->pairs, pair_bytes, winner, BH_HF_LINE_SLOTS);
        for (i = 0; i < BH_HF_LINE_SLOTS; i++)
            ((BH_KEY *)(void *)line)[i] = (BH_KEY)word[i];
        if (!BH_VALUE_BYTES)
            continue;
        if (pair_bytes == 16)
            bh_gather64(word, s->pairs + 8, 16, winner, BH_HF_LINE_SLOTS);
        for (i = 0; i < BH_HF_LINE_SLOTS; i++)
            ((BH_VALUE *)(void *)(line + BH_HF_LINE_VALUES))[i] =
                BH_HF(value_of)(job, pair_bytes == 16 ? word[i] : word[i] >> 32);
    }
    if (zero < slots && s->winner[zero] == BH_HF_NOBODY)
        BH_STORE_KEY(BH_HF(key_at)(to, first_slot + zero), (BH_KEY)to->round[round].filler);
}

/* Lists the pairs that are not the winners of their slots, by index; answers how many. */
BH_FN uint64_t BH_HF(find_losers)(const bh_hf_scratch *s, uint64_t active)
{
    uint32_t number[16], i;
    uint64_t losers = 0, first;

    for (i = 0; i < 16; i++)
        number[i] = i;
    for (first = 0; first < active; first += 16) {
        uint32_t lost = bh_differ32(s->winner, s->slot + first, (uint32_t)first);

        if (active - first < 16)
            lost &= (1u << (active - first)) - 1;
        bh_pack32(s->loser + losers, number, 16, lost);
        losers += bh_count(lost);
        for (i = 0; i < 16; i++)
            number[i] += 16;
    }
    return losers;
}

/* Compares keys: a pair with the winner's key has not lost, but is one with the winner, and leaves the list.
 * Marks the slots of the others as contested, and answers how many have lost. */
BH_FN uint64_t BH_HF(check)(const bh_hf_generation *to, const bh_hf_scratch *s, uint64_t first_slot,
                            uint64_t losers, uint32_t payload_bytes)
{
    uint64_t *contested = (uint64_t *)(void *)bh_hf_at(to->contested);
    uint64_t lost = 0, i;

    for (i = 0; i < losers; i++) {
        uint32_t loser = s->loser[i], slot = s->slot[loser];
        uint64_t bit = first_slot + slot;
        uint64_t loses =
            BH_HF(key)(s, s->winner[slot], payload_bytes) != BH_HF(key)(s, loser, payload_bytes);

        contested[bit / 64] |= loses << bit % 64;
        s->loser[lost] = loser;
        lost += loses;
    }
    return lost;
}

/* Sets the outcomes of the elements that have a slot now: of several with one key the first has inserted it,
 * and the others, of which the last has won, have assigned its value. Comes before check(), which drops
 * the pairs that are one with a winner. */
BH_FN void BH_HF(tell)(const bh_hf_fight *job, const bh_hf_scratch *s, uint64_t slots,
                       uint64_t losers, uint32_t payload_bytes)
{
    uint64_t i;

    for (i = 0; i <= slots / 64; i++)
        s->seen[i] = 0;
    for (i = 0; i < losers; i++) {
        uint32_t loser = s->loser[i], slot = s->slot[loser];
        uint64_t *seen = &s->seen[slot / 64], bit = 1ull << slot % 64;

        if (BH_HF(key)(s, s->winner[slot], payload_bytes) != BH_HF(key)(s, loser, payload_bytes))
            continue;
        job->outcomes[BH_HF(payload)(s, loser, payload_bytes)] =
            *seen & bit ? BH_ASSIGNED : BH_INSERTED;
        *seen |= bit;
    }
    for (i = 0; i < slots; i++)
        if (s->winner[i] != BH_HF_NOBODY)
            job->outcomes[BH_HF(payload)(s, s->winner[i], payload_bytes)] =
                s->seen[i / 64] >> i % 64 & 1 ? BH_ASSIGNED : BH_INSERTED;
}

/* Moves the losers' pairs to the front. */
BH_FN void BH_HF(keep_losers)(const bh_hf_scratch *s, uint64_t lost, uint32_t payload_bytes)
{
    uint64_t i;

    for (i = 0; i < lost; i++)
        BH_HF(set_pair)(s, i, BH_HF(key)(s, s->loser[i], payload_bytes),
                        BH_HF(payload)(s, s->loser[i], payload_bytes), payload_bytes);
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
    uint64_t words = to->region_lines * BH_HF_LINE_SLOTS / 64;
    uint64_t *contested = (uint64_t *)(void *)bh_hf_at(to->contested) + region * words;

    for (i = 0; i < count; i++)
        BH_HF(set_pair)(s, i, keys[i],
                        payload_bytes == 8   ? ((const uint64_t *)payloads)[i]
                        : payload_bytes == 4 ? ((const uint32_t *)payloads)[i]
                                             : 0,
                        payload_bytes);
    for (i = 0; i < words; i++)
        contested[i] = 0;
    for (round = 0; round < to->rounds; round++) {
        const bh_hf_round *r = &to->round[round];
        uint64_t first_slot = (region * to->region_lines + r->line) * BH_HF_LINE_SLOTS;

        uint64_t losers;

        /* Beyond the end too: whole lines, and whole groups of 16 pairs, are read. */
        for (i = 0; i < r->slots + BH_HF_LINE_SLOTS; i++)
            s->winner[i] = BH_HF_NOBODY;
        for (i = active; i < active + 16; i++)
            s->slot[i] = 0;
        BH_HF(fight)(to, &seed, s, round, first_slot, active, payload_bytes);
        BH_HF(gather)(job, to, s, round, first_slot, payload_bytes);
        losers = BH_HF(find_losers)(s, active);
        won += active - losers;
        if (job->outcomes)
            BH_HF(tell)(job, s, r->slots, losers, payload_bytes);
        active = BH_HF(check)(to, s, first_slot, losers, payload_bytes);
        BH_HF(keep_losers)(s, active, payload_bytes);
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
    uint64_t most = to.rounds ? to.round[0].slots : 0, won = 0, region;

    s.pairs = bh_hf_cut(&memory, job.room * BH_HF(pair_bytes)(payload_bytes));
    s.slot = (uint32_t *)(void *)bh_hf_cut(&memory, job.room * 4 + 64);
    s.loser = (uint32_t *)(void *)bh_hf_cut(&memory, job.room * 4 + 64);
    s.winner = (uint32_t *)(void *)bh_hf_cut(&memory, most * 4 + 64);
    s.seen = (uint64_t *)(void *)memory;
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
        spot.filler =
            (BH_KEY)(index == generation->round[round].zero ? generation->round[round].filler : 0);
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

/* BH_HF_PASS_FOLD. */
BH_FN void BH_HF(fold)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_runs *job = (bh_hf_runs *)argument;
    bh_done done = {0, 0, 0, 0};
    uint64_t begin = count ? job->runs.starts[first] : 0, end, run, memory[2];

    for (run = first; run < first + count; run++, begin = end) {
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

/* Of the slots of a line those that are in use, as bits. No key is hashed to find out: an empty slot holds its filler. */
BH_FN uint32_t BH_HF(line_used)(const bh_hf_generation *from, uint64_t number)
{
    const unsigned char *at = bh_hf_at(from->lines + number * BH_HF_LINE);
    const uint64_t within = number % from->region_lines;
    const bh_hf_round *round = from->round;
    const bh_line line = bh_line_load(at);
    uint32_t used = (1u << BH_HF_LINE_SLOTS) - 1;
    uint64_t rest;

    while (round + 1 < from->round + from->rounds && round[1].line <= within)
        round++;
    /* Behind the last slot of a round there may be anything up to the next line, and behind the last round up to the
     * next region. */
    rest = (within - round->line) * BH_HF_LINE_SLOTS;
    rest = rest < round->slots ? round->slots - rest : 0;
    if (rest < BH_HF_LINE_SLOTS)
        used = (1u << rest) - 1;
    used &= ~(BH_KEY_BYTES == 4 ? bh_line_match32(line, 0, BH_HF_LINE_SLOTS, 0)
                                : bh_line_match64(line, 0, BH_HF_LINE_SLOTS, 0));
    /* In this slot there may be key 0, and its filler is another key. */
    if (round->zero / BH_HF_LINE_SLOTS == number) {
        const uint32_t zero = (uint32_t)(round->zero % BH_HF_LINE_SLOTS);
        const BH_KEY key = BH_READ_KEY(at + zero * BH_KEY_BYTES);

        used = (used & ~(1u << zero)) | (uint32_t)(key != (BH_KEY)round->filler) << zero;
    }
    return used;
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
