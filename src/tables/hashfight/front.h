/*
 * HashFight: many lookups at a time, without branches. An include-template: see instance.h.
 *
 * A lookup whose key lost its first round (one in three) costs the window of the schedule a branch that
 * no processor predicts. The *front* takes a slice round by round instead: every key of a list looks
 * at its slot, the result is written whether the key is there or not, and the key's name is written to
 * the end of the next list; that end moves on only if the key must go on.
 *
 *     round 0   k0 k1 k2 k3 k4 k5 ..   all: hash, ask for the line; BH_HF_AHEAD keys later, look
 *     round 1   k1 k4 ..               those that found another key where somebody lost
 *     window    k4 ..                  a few, from their beginning: other rounds, the tail
 *
 * The bit that says whether somebody lost in a slot ends most misses, but it is a random read as
 * well, though of a smaller array, and a key that is there does not need it. So the first BH_HF_SAMPLE
 * keys of a slice are looked up with the bits. If nearly all of them may be present, the other keys of
 * the slice skip the bits of the first three rounds. That makes a hit a sixth cheaper; a miss among
 * these keys takes three lines and more.
 *
 * A slice holds the gate shared, and whoever changes the table holds it alone: nothing changes here
 * while a key is on its way.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_HASHFIGHT_FRONT_H
#define BH_TABLES_HASHFIGHT_FRONT_H

/* Keys whose lines are on their way at a time: measured; with 32 and 64 lookups are a little slower. */
#define BH_HF_AHEAD 48u

/* Fewer keys are left to the window. */
#define BH_HF_FRONT_LEAST 64u

/* BH_HF_SAMPLE keys of a slice are looked up with the bits. When the first round shows at most
 * BH_HF_SAMPLE_GONE of them to be absent (it shows that for two absent keys of three), the other keys are
 * looked up without the bits for BH_HF_ROUNDS_BLIND rounds. */
#define BH_HF_SAMPLE 256u
#define BH_HF_SAMPLE_GONE 16u
#define BH_HF_ROUNDS_BLIND 3u

#endif

#define BH_HF(name) BH_NAME(bh_hf_##name)
#define BH_HF_LINE_SLOTS BH_HF_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_HF_LINE_VALUES BH_HF_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES, BH_HF_LINE_SLOTS)

/* A key on its way to a slot. */
typedef struct BH_HF(aim) {
    const unsigned char *key_at;
    uint64_t slot;
    BH_KEY key;
    uint32_t at; /* element of the slice */
} BH_HF(aim);

BH_FN void BH_HF(take_aim)(const bh__slice *slice, const bh_seed *seed, const bh_hf_generation *g,
                           uint64_t round, uint32_t at, int bits, int far, BH_HF(aim) *aim)
{
    const BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    const uint64_t slot = bh_hf_slot(g, bh_hash_key(key, seed), round, BH_HF_LINE_SLOTS);

    aim->at = at;
    aim->key = key;
    aim->slot = slot;
    aim->key_at = BH_HF(key_at)(g, slot);
    if (far)
        bh_bring_far(aim->key_at);
    else
        bh_bring(aim->key_at);
    if (bits)
        bh_bring(bh_hf_at(g->contested + slot / 64 * 8));
}

/* Answers whether the key is there, and sets *on to whether it must go on. */
BH_FN uint32_t BH_HF(look)(const bh__slice *slice, const bh_hf_generation *g, const BH_HF(aim) *aim,
                           int bits, uint32_t *on)
{
    const uint32_t found = BH_LOAD_KEY(aim->key_at) == aim->key;

    if (BH_VALUE_BYTES && slice->values_out) {
        const uint64_t within = (uint64_t)(uintptr_t)aim->key_at % BH_HF_LINE / BH_KEY_BYTES;
        BH_VALUE *value_out = (BH_VALUE *)slice->values_out + aim->at, before = *value_out;
        BH_VALUE value = BH_HF(load_value)(aim->key_at - within * BH_KEY_BYTES + BH_HF_LINE_VALUES +
                                           within * BH_VALUE_BYTES);

        *value_out = found ? value : before;
        if (!bits)
            bh_answer_ahead(slice, value_out, BH_VALUE_BYTES, aim->at);
    }
    if (slice->outcomes)
        slice->outcomes[aim->at] = (uint8_t)(found ? BH_FOUND : BH_MISSING);
    *on = (found ^ 1) & (bits ? (uint32_t)bh_hf_contested(g, aim->slot) : 1);
    return found;
}

/* One round of the keys in[0 .. total), or, where `in` is NULL, of those from `first` on. Writes the names of
 * keys that must go on to `out`, which may be `in`, and answers how many; *found receives how many keys were
 * found. */
BH_FN uint32_t BH_HF(front_round)(const bh__slice *slice, const bh_hf_generation *g,
                                  const bh_seed *seed, uint64_t round, const uint16_t *in,
                                  uint32_t first, uint32_t total, int bits, int far, uint16_t *out,
                                  uint32_t *found)
{
    BH_HF(aim) window[BH_HF_AHEAD], *aim = window;
    uint32_t ahead = total < BH_HF_AHEAD ? total : BH_HF_AHEAD, left = 0, hits = 0, on, i;

    for (i = 0; i < ahead; i++)
        BH_HF(take_aim)(slice, seed, g, round, in ? in[i] : first + i, bits, far, window + i);
    for (; i < total; i++) {
        out[left] = (uint16_t)aim->at;
        hits += BH_HF(look)(slice, g, aim, bits, &on);
        left += on;
        BH_HF(take_aim)(slice, seed, g, round, in ? in[i] : first + i, bits, far, aim);
        aim = aim + 1 < window + BH_HF_AHEAD ? aim + 1 : window;
    }
    for (i = 0; i < ahead; i++) {
        out[left] = (uint16_t)aim->at;
        hits += BH_HF(look)(slice, g, aim, bits, &on);
        left += on;
        aim = aim + 1 < window + ahead ? aim + 1 : window;
    }
    *found = hits;
    return left;
}

/* Whether a slice is for the front: it has many keys, and the table was built at once. */
BH_FN int BH_HF(takes_front)(const bh__slice *slice, uint32_t kind)
{
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice->geometry;

    (void)kind; /* there are lookups alone */
    return !slice->listed && slice->count >= 2 * BH_HF_SAMPLE && geometry->generations == 1 &&
           geometry->generation[0].rounds;
}

/* Looks up a slice that fits. `far`, a constant, says where the lines lie; the bits mostly lie in cache. */
BH_FN uint32_t BH_HF(front_of)(const bh__slice *shared, int far, uint16_t *list)
{
    /* Copies that nobody else can point to stay in registers while results are written. */
    const bh__slice slice = *shared;
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice.geometry;
    const bh_hf_generation g = geometry->generation[0];
    const bh_seed seed = geometry->seed;
    const uint32_t first = BH_HF_SAMPLE, rest = slice.count - first;
    uint32_t left, found, blind;
    uint64_t round;

    left = BH_HF(front_round)(&slice, &g, &seed, 0, 0, 0, first, 1, far, list, &found);
    blind = first - left - found <= BH_HF_SAMPLE_GONE;
    if (blind)
        left +=
            BH_HF(front_round)(&slice, &g, &seed, 0, 0, first, rest, 0, far, list + left, &found);
    else
        left +=
            BH_HF(front_round)(&slice, &g, &seed, 0, 0, first, rest, 1, far, list + left, &found);
    for (round = 1; round < g.rounds && left >= BH_HF_FRONT_LEAST; round++)
        if (blind && round < BH_HF_ROUNDS_BLIND)
            left =
                BH_HF(front_round)(&slice, &g, &seed, round, list, 0, left, 0, far, list, &found);
        else
            left =
                BH_HF(front_round)(&slice, &g, &seed, round, list, 0, left, 1, far, list, &found);
    return left;
}

/* Looks up a slice that takes the front. Its list then names the keys that are left, which have been found missing so
 * far. */
BH_FN_RARE void BH_HF(run_front)(bh__slice *slice, uint32_t kind)
{
    (void)kind;
    slice->listed = slice->hints & BH_HINT_FAR ? BH_HF(front_of)(slice, 1, slice->list)
                                               : BH_HF(front_of)(slice, 0, slice->list);
}

#undef BH_HF
#undef BH_HF_LINE_SLOTS
#undef BH_HF_LINE_VALUES
