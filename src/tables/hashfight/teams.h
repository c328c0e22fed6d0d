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
 *     scratch    k0 k1 k2 k3 k4 ..           a round, in turns, one for each slot of a line:
 *     CLAIM       |   \ /   |                where nobody has won the slot: winner[slot of k] = number of k; the last one stays
 *     winner     [0 . 2 . . 4 ]
 *     CHECK       o  x  o   o                k1 finds another's number: it goes on with the next slot of its line
 *                    |
 *     GATHER     |k0|  |k2|  |k4|            each slot of the round gets its winner's pair, or a filler
 *     KEEP       each thread moves those of its pairs that have found their line full to the front of its own places
 *     table      [round 0       |round 1 |..]                  written once, one after the other
 *
 * So the pairs are read from memory once, the table is written once, and nothing is counted between
 * rounds: no list is made of the losers, because each thread keeps its own. Between CLAIM and CHECK, and before KEEP, the team
 * meets at a barrier. Where several threads write one word it does not matter whose number stays. A slot that has a number
 * when the team meets keeps it: so a pair may CHECK while others CLAIM the next slots of their lines. There is no
 * atomic operation but the one that takes places in the list of pairs that lose all rounds.
 *
 * There are two departures from the text for cores.
 *   - On a GPU nothing determines which of several pairs stays, so of equal keys it need not be the last
 *     one's value. CHECK notices equal keys: they want the same slots in the same order, so the one that
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
#define BH_HF_LINE_VALUES BH_HF_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES, BH_HF_LINE_SLOTS)

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

/* Brings the region's pairs to scratch memory. */
BH_FN void BH_HF(team_bring)(const bh_hf_teams *job, const bh_hf_scratch *s, uint64_t region)
{
    const BH_KEY *keys = (const BH_KEY *)(const void *)bh_hf_at(job->keys_at[region]);
    const BH_VALUE *values = (const BH_VALUE *)(const void *)bh_hf_at(job->values_at[region]);
    const uint32_t count = (uint32_t)job->counts[region], size = bh_team_size();
    uint32_t i;

    for (i = bh_team_lane(); i < count; i += size)
        BH_HF(set_pair)(s, i, keys[i], BH_VALUE_BYTES ? values[i] : 0, BH_VALUE_BYTES);
}

/* The slot of a line for which a pair fights in its turn; `begin` is the first one. */
BH_FN uint32_t BH_HF(team_slot)(uint32_t begin, uint32_t turn)
{
    const uint32_t within = begin % BH_HF_LINE_SLOTS, next = within + turn;

    return begin - within + (next < BH_HF_LINE_SLOTS ? next : next - BH_HF_LINE_SLOTS);
}

/* A pair names itself the winner of a slot, if that has none. */
BH_FN void BH_HF(team_claim)(const bh_hf_scratch *s, uint32_t slot, uint32_t pair)
{
    if (s->winner[slot] == BH_HF_NOBODY)
        s->winner[slot] = pair;
}

/* Each of this thread's pairs claims the slot with which it begins. */
BH_FN void BH_HF(team_begin)(const bh_hf_generation *to, const bh_seed *seed,
                             const bh_hf_scratch *s, uint64_t round, uint32_t own)
{
    uint32_t i = bh_team_lane();
    uint64_t region;

    for (; own; own--, i += bh_team_size()) {
        const bh_hash hash = bh_hash_key(BH_HF(key)(s, i, BH_VALUE_BYTES), seed);
        const uint32_t line = (uint32_t)bh_hf_within(to, hash, round, &region);

        s->slot[i] = line * BH_HF_LINE_SLOTS +
                     (uint32_t)((uint64_t)(uint32_t)hash.two * BH_HF_LINE_SLOTS >> 32);
        BH_HF(team_claim)(s, s->slot[i], i);
    }
}

/* Which of this thread's pairs have won: their `slot` becomes NOBODY. Each of the others claims the next slot of its line, if
 * there is one. Answers how many others there are; *twins becomes 1 where one's key was equal to the winner's. */
BH_FN uint32_t BH_HF(team_turn)(const bh_hf_scratch *s, uint32_t turn, uint32_t own, int *twins)
{
    uint32_t i = bh_team_lane(), others = 0;

    for (; own; own--, i += bh_team_size()) {
        const uint32_t begin = s->slot[i];
        uint32_t winner;

        if (begin == BH_HF_NOBODY)
            continue;
        winner = s->winner[BH_HF(team_slot)(begin, turn)];
        if (winner == i) {
            s->slot[i] = BH_HF_NOBODY;
            continue;
        }
        others++;
        *twins |= BH_HF(key)(s, winner, BH_VALUE_BYTES) == BH_HF(key)(s, i, BH_VALUE_BYTES);
        if (turn + 1 < BH_HF_LINE_SLOTS)
            BH_HF(team_claim)(s, BH_HF(team_slot)(begin, turn + 1), i);
    }
    return others;
}

/* The slots of a round take their winners' pairs. */
BH_FN void BH_HF(team_gather)(const bh_hf_generation *to, const bh_hf_scratch *s, uint64_t round,
                              uint64_t first)
{
    const bh_hf_round *r = &to->round[round];
    const uint32_t slots = r->lines * BH_HF_LINE_SLOTS;
    uint32_t i;

    for (i = bh_team_lane(); i < slots; i += bh_team_size()) {
        const uint32_t line = i / BH_HF_LINE_SLOTS, slot = i % BH_HF_LINE_SLOTS;
        const uint32_t winner = s->winner[i];
        unsigned char *at = bh_hf_at(to->lines + (first + line) * BH_HF_LINE);
        BH_VALUE value = 0;
        BH_KEY key;

        if (winner == BH_HF_NOBODY) {
            key = bh_hf_filler(r, first + line, BH_HF_FREE);
        } else {
            key = BH_HF(key)(s, winner, BH_VALUE_BYTES);
            value = (BH_VALUE)BH_HF(payload)(s, winner, BH_VALUE_BYTES);
        }
        ((BH_KEY *)(void *)at)[slot] = key;
        if (BH_VALUE_BYTES)
            ((BH_VALUE *)(void *)(at + BH_HF_LINE_VALUES))[slot] = value;
    }
}

/* Moves those of this thread's pairs that have lost to the front of its places; answers how many. */
BH_FN uint32_t BH_HF(team_keep)(const bh_hf_scratch *s, uint32_t own)
{
    uint32_t i = bh_team_lane(), to = i, kept = 0;

    for (; own; own--, i += bh_team_size()) {
        if (s->slot[i] == BH_HF_NOBODY)
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
BH_FN void BH_HF(team_region)(bh_hf_teams *job, const bh_hf_generation *to, const bh_hf_scratch *s,
                              uint64_t region)
{
    const uint32_t count = (uint32_t)job->counts[region];
    const uint32_t size = bh_team_size(), lane = bh_team_lane();
    const uint32_t rounds = (uint32_t)to->rounds;
    uint32_t own = lane < count ? (count - lane + size - 1) / size : 0, round, turn, i;
    int twins = 0;

    BH_HF(team_bring)(job, s, region);
    for (round = 0; round < rounds; round++) {
        const uint64_t first = bh_hf_first(to, region, round);

        for (i = lane; i < to->round[round].lines * BH_HF_LINE_SLOTS; i += size)
            s->winner[i] = BH_HF_NOBODY;
        bh_team_meet();
        BH_HF(team_begin)(to, &job->geometry->seed, s, round, own);
        bh_team_meet();
        for (turn = 0; turn < BH_HF_LINE_SLOTS; turn++)
            if (!bh_team_any(BH_HF(team_turn)(s, turn, own, &twins) != 0))
                break;
        BH_HF(team_gather)(to, s, round, first);
        bh_team_meet();
        own = BH_HF(team_keep)(s, own);
    }
    BH_HF(team_leave)(job, s, own);
    if (twins)
        job->uneven = 1;
    bh_team_meet(); /* the next region uses the same scratch memory */
}

/* BH_HF_PASS_TEAM: the regions of one team, in its scratch memory. */
BH_FN void BH_HF(team_fights)(bh_hf_teams *job, uint64_t team, unsigned char *memory)
{
    const bh_hf_generation *to = &job->to;
    bh_hf_scratch s;
    uint64_t region;

    s.pairs = bh_hf_cut(&memory, job->room * BH_HF(pair_bytes)(BH_VALUE_BYTES));
    s.slot = (uint32_t *)(void *)bh_hf_cut(&memory, job->room * 4);
    s.winner = (uint32_t *)(void *)memory;
    s.taken = 0;
    for (region = team; region < to->regions; region += job->teams)
        BH_HF(team_region)(job, to, &s, region);
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
#undef BH_HF_LINE_VALUES
