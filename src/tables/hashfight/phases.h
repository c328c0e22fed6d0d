/*
 * HashFight: building a generation in phases over all its pairs and slots, for a device with
 * thousands of threads and one memory. An include-template, included behind ops.h: see instance.h.
 *
 * Cores build region by region, one task for each, in a cache (BH_PASS_FIGHT). A GPU of 270,000
 * threads would need as many regions to be busy that way. Here every pair is a thread's, as in the
 * paper, and all regions do a round together:
 *
 *     pairs      k0 k1 k2 k3 | k4 k5 ..           lying by region, all that are left
 *     CLAIM       |   \ /      |  |               winners[slot of k] = number of k; the last one stays
 *     winners    [0 . 2 .  . ] [4 5 .. ]          a number of 4 bytes for each slot of the round
 *     CHECK       o  x o  o      o  o             lost where winners[slot of k] is another's number;
 *                                                 marks[slot] = 1 there
 *     TAKE       |k0|  |k2| |  ||k4|k5|           each slot gets its winner's pair, or a filler
 *     compact    k1 ..                            the losers, for the next round
 *     PACK                                        at the end: the marks become bits (`contested`)
 *
 * Partitioning by region comes first here too, for the caches: threads run nearly in the order of
 * their numbers, so those that run at the same time are in one region or two, and what they
 * scatter to and gather from (the region's pairs, winners and marks) stays in the device's cache,
 * which is what the paper's passes by region of memory are for. Compacting keeps the order.
 *
 * No phase needs an atomic read-modify-write: where several threads write one word they either
 * write the same (marks, twins) or it does not matter whose number stays (winners), and the next
 * phase starts when all have finished. (How many have lost is added up, as in all passes.)
 *
 * Two departures from the text for cores. Which of several pairs stays is nobody's choice on a GPU,
 * so of equal keys it need not be the last one's value: CHECK says when there are any (two equal keys
 * want the same slot in every round, so the one that loses to the other meets it there), nothing is
 * built, and the call is sorted and performed by runs, like any that finds keys in the table. And
 * those who lose all rounds are one list, not one for each region.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_HASHFIGHT_PHASES_H
#define BH_TABLES_HASHFIGHT_PHASES_H

/* Who has named itself the winner of a slot of the round, plus 1; 0: nobody. */
BH_FN uint64_t bh_hf_winner(const bh_hf_phases *job, uint64_t slot)
{
    return job->winner_bytes == 4 ? ((const uint32_t *)job->winners)[slot]
                                  : ((const uint64_t *)job->winners)[slot];
}

/* The slots of a round of all regions, one behind the other: how a region's first is numbered. */
BH_FN uint64_t bh_hf_of_round(const bh_hf_phases *job, uint64_t region)
{
    return region * job->to.round[job->round].slots;
}

#endif

#define HF(name) BH_NAME(bh_hf_##name)
#define SLOTS BH_HF_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)

/* BH_PASS_LAY: a region's pairs go behind those of the regions before it. */
BH_FN void HF(lay_region)(const bh_hf_phases *job, uint64_t region)
{
    job->keys_at[region] =
        (uint64_t)(uintptr_t)((const BH_KEY *)job->keys + job->before[region]);
    if (BH_VALUE_BYTES)
        job->values_at[region] =
            (uint64_t)(uintptr_t)((const BH_VALUE *)job->values + job->before[region]);
}

/* The slot of its region's round that a pair fights for. */
BH_FN uint64_t HF(pair_within)(const bh_hf_phases *job, uint64_t pair, uint64_t *region)
{
    const bh_hash hash =
        bh_hash_key(((const BH_KEY *)job->keys)[pair], &job->geometry->seed);

    return bh_hf_within(&job->to, hash, job->round, region);
}

/* BH_PASS_CLAIM: a pair names itself the winner of its slot. */
BH_FN void HF(claim_slot)(const bh_hf_phases *job, uint64_t pair)
{
    uint64_t region, within = HF(pair_within)(job, pair, &region);
    uint64_t slot = bh_hf_of_round(job, region) + within;

    if (job->winner_bytes == 4)
        ((uint32_t *)job->winners)[slot] = (uint32_t)(pair + 1);
    else
        ((uint64_t *)job->winners)[slot] = pair + 1;
}

/* BH_PASS_CHECK: whether a pair has lost. */
BH_FN uint8_t HF(check_pair)(bh_hf_phases *job, uint64_t pair)
{
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    uint64_t region, within = HF(pair_within)(job, pair, &region);
    uint64_t winner = bh_hf_winner(job, bh_hf_of_round(job, region) + within) - 1;
    uint8_t lost = winner != pair;

    job->lost[pair] = lost;
    if (!lost)
        return 0;
    job->marks[bh_hf_first(&job->to, region, job->round, SLOTS) + within] = 1;
    if (keys[winner] == keys[pair])
        job->twins = 1;
    return 1;
}

/* BH_PASS_TAKE: a slot takes its winner's pair. */
BH_FN void HF(take_pair)(const bh_hf_phases *job, uint64_t at)
{
    const bh_hf_round *r = &job->to.round[job->round];
    uint64_t region = at / r->slots, winner = bh_hf_winner(job, at);
    uint64_t slot = bh_hf_first(&job->to, region, job->round, SLOTS) + at % r->slots;
    BH_KEY key = (BH_KEY)(slot == r->zero ? r->filler : 0);
    BH_VALUE value = 0;

    if (winner) {
        key = ((const BH_KEY *)job->keys)[winner - 1];
        value = BH_VALUE_BYTES ? ((const BH_VALUE *)job->values)[winner - 1] : 0;
    }
    *(BH_KEY *)(void *)HF(key_at)(&job->to, slot) = key;
    if (BH_VALUE_BYTES)
        *(BH_VALUE *)(void *)HF(value_at)(&job->to, slot) = value;
}

/* BH_PASS_PACK: 64 marks become a word. */
BH_FN void HF(pack_marks)(const bh_hf_phases *job, uint64_t word)
{
    const uint64_t *marks = (const uint64_t *)(const void *)job->marks + word * 8;
    uint64_t bits = 0, i;

    /* Eight bytes of 0 or 1 become the upper byte of the product, the first one its lowest bit. */
    for (i = 0; i < 8; i++)
        bits |= (marks[i] * 0x0102040810204080ull >> 56) << 8 * i;
    ((uint64_t *)(void *)bh_hf_at(job->to.contested))[word] = bits;
}

/* The passes, as functions of ranges of items. */

BH_FN void HF(lay)(void *argument, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        HF(lay_region)((const bh_hf_phases *)argument, i);
}

BH_FN void HF(claim)(void *argument, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        HF(claim_slot)((const bh_hf_phases *)argument, i);
}

BH_FN void HF(check_all)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_phases *job = (bh_hf_phases *)argument;
    uint64_t losing = 0, i;

    for (i = first; i < first + count; i++)
        losing += HF(check_pair)(job, i);
    bh_add64(&job->losing, losing);
}

BH_FN void HF(take)(void *argument, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        HF(take_pair)((const bh_hf_phases *)argument, i);
}

BH_FN void HF(pack)(void *argument, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        HF(pack_marks)((const bh_hf_phases *)argument, i);
}

BH_FN void HF(tell_all)(void *argument, uint64_t first, uint64_t count)
{
    uint8_t *outcomes = ((const bh_hf_phases *)argument)->outcomes;
    uint64_t i;

    for (i = first; i < first + count; i++)
        outcomes[i] = BH_INSERTED;
}

#undef HF
#undef SLOTS
