/*
 * HashFight: building a generation by teams of threads, for a device with thousands of them. An
 * include-template, included behind ops.h: see instance.h.
 *
 * Cores build region by region too (BH_HF_PASS_FIGHT), one thread for each, in a cache. Here the regions are
 * so small that all a fight needs fits in the shared memory of a block of a GPU's threads, and the threads
 * of a team divide the region's pairs among them: thread t of T has pairs t, t + T, t + 2T ...
 *
 *     table      [ pairs of the region, partitioned  ]         read once, one after the other
 *                    |
 *     scratch    k0 k1 k2 k3 k4 ..           a round:
 *     CLAIM       |   \ /   |                winner[slot of k] = number of k; the last one stays
 *     winner     [0 . 2 . . 4 ]
 *     CHECK       o  x  o   o                k1 finds another's number: it has lost, and sets the slot's bit
 *     GATHER     |k0|  |k2|  |k4|            each slot of the round gets its winner's pair, or a filler
 *     KEEP       each thread moves those of its pairs that have lost to the front of its own places
 *     table      [round 0       |round 1 |..]                  written once, one after the other
 *
 * So the pairs are read from memory once, the table is written once, and nothing is counted between
 * rounds: no list is made of the losers, because each thread keeps its own. Between CLAIM, CHECK with
 * GATHER, and KEEP the team meets at a barrier. Where several threads write one word they write the same,
 * or it does not matter whose number stays; only the bits are set by an atomic operation.
 *
 * There are two departures from the text for cores.
 *   - On a GPU nothing determines which of several pairs stays, so of equal keys it need not be the last
 *     one's value. CHECK notices equal keys: they want the same slot in every round, so the one that
 *     loses to the other meets it there. Then nothing is built, and the call is sorted and performed by
 *     runs, like any that finds keys in the table.
 *   - Pairs that lose all rounds are in one list, not in one for each region.
 *
 * WHAT HAPPENS IF a region has more pairs than there is room for: LAY says so. If some keys may be equal, the
 * call is sorted then, as above. Keys that are all different become one region, whose team fights in scratch
 * memory in the table's kind of memory, slowly. The same scratch memory serves the teams of a table of so
 * many pairs that its regions are too large for shared memory, because a partition has no more parts.
 */
#include "tables/instance.h"

#define BH_HF(name) BH_NAME(bh_hf_##name)
#define BH_HF_LINE_SLOTS BH_HF_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)

/* BH_HF_PASS_LAY: a region's pairs lie where its slots will be, keys first, and both from a line on. */
BH_FN void BH_HF(lay_region)(bh_hf_teams *job, uint64_t region)
{
    const uint64_t bytes = job->to.region_lines * BH_HF_LINE, count = job->counts[region];
    const uint64_t key_bytes = (count * BH_KEY_BYTES + BH_HF_LINE - 1) / BH_HF_LINE * BH_HF_LINE;

    job->keys_at[region] = job->to.lines + region * bytes;
    job->values_at[region] = job->keys_at[region] + key_bytes;
    if (count > job->room || key_bytes + count * BH_VALUE_BYTES > bytes)
        job->uneven = 1;
}

/* Brings the region's pairs to scratch memory, and marks no slot as contested yet. */
BH_FN void BH_HF(team_bring)(const bh_hf_teams *job, const bh_hf_scratch *s, uint64_t region,
                             uint32_t words)
{
    const BH_KEY *keys = (const BH_KEY *)(const void *)bh_hf_at(job->keys_at[region]);
    const BH_VALUE *values = (const BH_VALUE *)(const void *)bh_hf_at(job->values_at[region]);
    const uint32_t count = (uint32_t)job->counts[region], size = bh_team_size();
    uint32_t i;

    for (i = bh_team_lane(); i < count; i += size)
        BH_HF(set_pair)(s, i, keys[i], BH_VALUE_BYTES ? values[i] : 0, BH_VALUE_BYTES);
    for (i = bh_team_lane(); i < words; i += size)
        ((uint32_t *)s->seen)[i] = 0;
}

/* Each of this thread's pairs names itself the winner of its slot. */
BH_FN void BH_HF(team_claim)(const bh_hf_generation *to, const bh_seed *seed,
                             const bh_hf_scratch *s, uint64_t round, uint32_t own)
{
    uint32_t i = bh_team_lane();
    uint64_t region;

    for (; own; own--, i += bh_team_size()) {
        const bh_hash hash = bh_hash_key(BH_HF(key)(s, i, BH_VALUE_BYTES), seed);

        s->slot[i] = (uint32_t)bh_hf_within(to, hash, round, &region);
        s->winner[s->slot[i]] = i;
    }
}

/* Whether this thread's pairs have lost: `slot` of each becomes 1, or 0. Answers whether a loser's key was
 * equal to the winner's. */
BH_FN int BH_HF(team_check)(const bh_hf_scratch *s, uint32_t first_slot, uint32_t own)
{
    uint32_t i = bh_team_lane();
    int twins = 0;

    for (; own; own--, i += bh_team_size()) {
        const uint32_t slot = first_slot + s->slot[i], winner = s->winner[s->slot[i]];

        s->slot[i] = winner != i;
        if (winner == i)
            continue;
        twins |= BH_HF(key)(s, winner, BH_VALUE_BYTES) == BH_HF(key)(s, i, BH_VALUE_BYTES);
        bh_team_or32((uint32_t *)s->seen + slot / 32, 1u << slot % 32);
    }
    return twins;
}

/* The slots of a round take their winners' pairs. */
BH_FN void BH_HF(team_gather)(const bh_hf_generation *to, const bh_hf_scratch *s, uint64_t round,
                              uint64_t first_slot)
{
    const bh_hf_round *r = &to->round[round];
    const uint64_t zero = r->zero, filler = r->filler;
    const uint32_t slots = (uint32_t)r->slots;
    uint32_t i;

    for (i = bh_team_lane(); i < slots; i += bh_team_size()) {
        const uint64_t slot = first_slot + i;
        const uint32_t winner = s->winner[i];
        BH_KEY key = (BH_KEY)(slot == zero ? filler : 0);
        BH_VALUE value = 0;

        if (winner != BH_HF_NOBODY) {
            key = BH_HF(key)(s, winner, BH_VALUE_BYTES);
            value = (BH_VALUE)BH_HF(payload)(s, winner, BH_VALUE_BYTES);
        }
        *(BH_KEY *)(void *)BH_HF(key_at)(to, slot) = key;
        if (BH_VALUE_BYTES)
            *(BH_VALUE *)(void *)BH_HF(value_at)(to, slot) = value;
    }
}

/* Moves those of this thread's pairs that have lost to the front of its places; answers how many. */
BH_FN uint32_t BH_HF(team_keep)(const bh_hf_scratch *s, uint32_t own)
{
    uint32_t i = bh_team_lane(), to = i, kept = 0;

    for (; own; own--, i += bh_team_size()) {
        if (!s->slot[i])
            continue;
        BH_HF(set_pair)(s, to, BH_HF(key)(s, i, BH_VALUE_BYTES),
                        BH_HF(payload)(s, i, BH_VALUE_BYTES), BH_VALUE_BYTES);
        to += bh_team_size();
        kept++;
    }
    return kept;
}

/* Stores those of this thread's pairs that have lost all rounds, for the tail. */
BH_FN void BH_HF(team_leave)(bh_hf_teams *job, const bh_hf_scratch *s, uint32_t own)
{
    uint32_t i = bh_team_lane();

    for (; own; own--, i += bh_team_size()) {
        const uint64_t place = bh_take64(&job->left, 1);

        if (place >= job->left_room)
            continue;
        ((BH_KEY *)job->left_keys)[place] = BH_HF(key)(s, i, BH_VALUE_BYTES);
        if (BH_VALUE_BYTES)
            ((BH_VALUE *)job->left_values)[place] = (BH_VALUE)BH_HF(payload)(s, i, BH_VALUE_BYTES);
    }
}

/* All rounds of one region. (Numbers within a region have 32 bits: far.c sees to it that they fit.) */
BH_FN void BH_HF(team_region)(bh_hf_teams *job, const bh_hf_generation *to, const bh_seed *seed,
                              const bh_hf_scratch *s, uint64_t region)
{
    const uint32_t count = (uint32_t)job->counts[region];
    const uint32_t size = bh_team_size(), lane = bh_team_lane();
    const uint32_t words = (uint32_t)(to->region_lines * BH_HF_LINE_SLOTS / 32),
                   rounds = (uint32_t)to->rounds;
    uint32_t own = lane < count ? (count - lane + size - 1) / size : 0, round, i;
    int twins = 0;

    BH_HF(team_bring)(job, s, region, words);
    for (round = 0; round < rounds; round++) {
        const uint64_t first_slot = bh_hf_first(to, region, round, BH_HF_LINE_SLOTS);

        for (i = lane; i < to->round[round].slots; i += size)
            s->winner[i] = BH_HF_NOBODY;
        bh_team_meet();
        BH_HF(team_claim)(to, seed, s, round, own);
        bh_team_meet();
        twins |= BH_HF(team_check)(s, (uint32_t)(to->round[round].line * BH_HF_LINE_SLOTS), own);
        BH_HF(team_gather)(to, s, round, first_slot);
        bh_team_meet();
        own = BH_HF(team_keep)(s, own);
    }
    BH_HF(team_leave)(job, s, own);
    for (i = lane; i < words; i += size)
        ((uint32_t *)(void *)bh_hf_at(to->contested))[region * words + i] =
            ((const uint32_t *)s->seen)[i];
    if (twins)
        job->uneven = 1;
    bh_team_meet(); /* the next region uses the same scratch memory */
}

/* BH_HF_PASS_TEAM: the regions of one team, in its scratch memory. */
BH_FN void BH_HF(team_fights)(bh_hf_teams *job, uint64_t team, unsigned char *memory)
{
    const bh_hf_generation *to = &job->to;
    const bh_seed seed = job->geometry->seed;
    bh_hf_scratch s;
    uint64_t region;

    s.pairs = bh_hf_cut(&memory, job->room * BH_HF(pair_bytes)(BH_VALUE_BYTES));
    s.slot = (uint32_t *)(void *)bh_hf_cut(&memory, job->room * 4);
    s.loser = 0;
    s.winner = (uint32_t *)(void *)bh_hf_cut(&memory, (to->rounds ? to->round[0].slots : 0) * 4);
    s.seen = (uint64_t *)(void *)memory;
    for (region = team; region < to->regions; region += job->teams)
        BH_HF(team_region)(job, to, &seed, &s, region);
}

/* The passes, as functions of ranges of items. */

BH_FN void BH_HF(lay)(void *argument, uint64_t first, uint64_t count)
{
    uint64_t i;

    for (i = first; i < first + count; i++)
        BH_HF(lay_region)((bh_hf_teams *)argument, i);
}

BH_FN void BH_HF(team)(void *argument, uint64_t first, uint64_t count)
{
    bh_hf_teams *job = (bh_hf_teams *)argument;
    uint64_t fast[BH_HF_TEAM_BYTES / 8], i;

    for (i = first; i < first + count; i++)
        BH_HF(team_fights)(
            job, i, job->scratch ? job->scratch + i * job->scratch_bytes : (unsigned char *)fast);
}

BH_FN void BH_HF(tell_all)(void *argument, uint64_t first, uint64_t count)
{
    uint8_t *outcomes = ((const bh_hf_teams *)argument)->outcomes;
    uint64_t i;

    for (i = first; i < first + count; i++)
        outcomes[i] = BH_INSERTED;
}

#undef BH_HF
#undef BH_HF_LINE_SLOTS
