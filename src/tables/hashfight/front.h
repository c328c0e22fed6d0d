/*
 * HashFight: many lookups at a time, without branches. An include-template: see instance.h.
 *
 * A lookup whose key is not in its first line may have to go on: with the default number of slots one absent key in
 * eleven does, of 8+8 bytes one in five. That costs the window of the schedule a branch that no processor predicts. The
 * *front* takes a slice round by round instead: every key of a list looks at its line, the result is written whether the
 * key is there or not, and the key's name is written to the end of the next list; that end moves on only if the key must
 * go on.
 *
 *     round 0   k0 k1 k2 k3 k4 k5 ..   all: hash, ask for the line; BH_HF_AHEAD keys later, look
 *     round 1   k1 k4 ..               those that found neither their key nor a slot that was never taken
 *     window    k4 ..                  a few, from their beginning: other rounds, the tail
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

/* Slices of fewer are. */
#define BH_HF_FRONT_SLICE 512u

#endif

#define BH_HF(name) BH_NAME(bh_hf_##name)
#define BH_HF_LINE_SLOTS BH_HF_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_HF_LINE_VALUES BH_HF_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES, BH_HF_LINE_SLOTS)

/* A key on its way to a line. */
typedef struct BH_HF(aim) {
    const unsigned char *line;
    BH_KEY key;
    uint32_t at;      /* element of the slice */
    uint32_t free_is; /* what is in free slots of the line */
} BH_HF(aim);

BH_FN void BH_HF(take_aim)(const bh__slice *slice, const bh_seed *seed, const bh_hf_generation *g,
                           uint64_t round, uint32_t at, int far, BH_HF(aim) *aim)
{
    const BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    const uint64_t line = bh_hf_line(g, bh_hash_key(key, seed), round);

    aim->at = at;
    aim->key = key;
    aim->line = bh_hf_at(g->lines + line * BH_HF_LINE);
    aim->free_is = bh_hf_filler(&g->round[round], line, BH_HF_FREE);
    if (far)
        bh_bring_far(aim->line);
    else
        bh_bring(aim->line);
}

/* Writes whether the key is there, and answers whether it must go on. */
BH_FN uint32_t BH_HF(look)(const bh__slice *slice, const BH_HF(aim) *aim)
{
    const bh_line line = bh_line_read(aim->line);
    const uint32_t match = BH_HF(match)(line, aim->key), found = match != 0;

    if (BH_VALUE_BYTES && slice->values_out) {
        const uint32_t slot = bh_first(match | 1u << (BH_HF_LINE_SLOTS - 1));
        BH_VALUE *value_out = (BH_VALUE *)slice->values_out + aim->at, before = *value_out;
        BH_VALUE value = BH_HF(load_value)(aim->line + BH_HF_LINE_VALUES + slot * BH_VALUE_BYTES);

        *value_out = found ? value : before;
        bh_answer_ahead(slice, value_out, BH_VALUE_BYTES, aim->at);
    }
    if (slice->outcomes)
        slice->outcomes[aim->at] = (uint8_t)(found ? BH_FOUND : BH_MISSING);
    return !(match | BH_HF(match)(line, aim->free_is));
}

/* One round of the keys in[0 .. total), or, where `in` is NULL, of the first `total` ones. Writes the names of
 * keys that must go on to `out`, which may be `in`, and answers how many. */
BH_FN uint32_t BH_HF(front_round)(const bh__slice *slice, const bh_hf_generation *g,
                                  const bh_seed *seed, uint64_t round, const uint16_t *in,
                                  uint32_t total, int far, uint16_t *out)
{
    BH_HF(aim) window[BH_HF_AHEAD], *aim = window;
    uint32_t ahead = total < BH_HF_AHEAD ? total : BH_HF_AHEAD, left = 0, i;

    for (i = 0; i < ahead; i++)
        BH_HF(take_aim)(slice, seed, g, round, in ? in[i] : i, far, window + i);
    for (; i < total; i++) {
        out[left] = (uint16_t)aim->at;
        left += BH_HF(look)(slice, aim);
        BH_HF(take_aim)(slice, seed, g, round, in ? in[i] : i, far, aim);
        aim = aim + 1 < window + BH_HF_AHEAD ? aim + 1 : window;
    }
    for (i = 0; i < ahead; i++) {
        out[left] = (uint16_t)aim->at;
        left += BH_HF(look)(slice, aim);
        aim = aim + 1 < window + ahead ? aim + 1 : window;
    }
    return left;
}

/* Whether a slice is for the front: it has many keys, and the table was built at once. */
BH_FN int BH_HF(takes_front)(const bh__slice *slice, uint32_t kind)
{
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice->geometry;

    (void)kind; /* there are lookups alone */
    return !slice->listed && slice->count >= BH_HF_FRONT_SLICE && geometry->generations == 1 &&
           geometry->generation[0].rounds;
}

/* Looks up a slice that fits. `far`, a constant, says where the lines lie. */
BH_FN uint32_t BH_HF(front_of)(const bh__slice *shared, int far, uint16_t *list)
{
    /* Copies that nobody else can point to stay in registers while results are written. */
    const bh__slice slice = *shared;
    const bh_hf_geometry *geometry = (const bh_hf_geometry *)slice.geometry;
    const bh_hf_generation g = geometry->generation[0];
    const bh_seed seed = geometry->seed;
    uint32_t left = BH_HF(front_round)(&slice, &g, &seed, 0, 0, slice.count, far, list);
    uint64_t round;

    for (round = 1; round < g.rounds && left >= BH_HF_FRONT_LEAST; round++)
        left = BH_HF(front_round)(&slice, &g, &seed, round, list, left, far, list);
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
