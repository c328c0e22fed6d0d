/*
 * DACHash, many keys at a time: where the keys of a group live, computed with vectors, for the front of the CPU
 * schedule (cpu/front_rounds.h). What is done to a key there is what walk.h does. An include-template: see
 * instance.h.
 *
 *     round 0    the first node of the key's bucket
 *     trail      the chain behind it (BH_DESIGN_FOLLOWS)
 *     window     what has met a writer or has stalled, and the last elements of a slice, which make no group
 */
#include "tables/instance.h"

#define BH_DA(name) BH_NAME(bh_da_##name)
#define BH_DA_IS_NARROW BH_DA_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_DA_IS_PAIR (BH_DA_IS_NARROW && BH_VALUE_BYTES == 4) /* key and value in one word */
#define BH_DA_HEAD BH_DA_HEADER(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_DA_WORDS (BH_DA_LINE / BH_KEY_BYTES) /* keys' widths in a line */
/* The position of the last slot of a node that is a line. */
#define BH_DA_LAST                                                                                 \
    ((BH_DA_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_DA_LINE) - 1) *                                 \
     BH_DA_STRIDE(BH_KEY_BYTES, BH_VALUE_BYTES))

#ifndef BH_TABLES_DACHASH_CHAIN_AIMS_H
#define BH_TABLES_DACHASH_CHAIN_AIMS_H

/* What all groups of a slice have in common: of the geometry, what aiming needs. */
typedef struct bh_da_front {
    bh_seed seed;
    uint64_t buckets;
    uint64_t nodes;
    uint64_t base;
    uint64_t whole;
    uint64_t mask;
    uint64_t doublings;
    uint64_t split;
} bh_da_front;

/* Where the keys of a group live. */
typedef struct bh_da_aims {
    uint64_t line[1][BH_FRONT_GROUP]; /* the first node */
} bh_da_aims;

BH_FN bh_da_front bh_da_front_of(const bh_da_geometry *g)
{
    bh_da_front front;

    front.seed = g->seed;
    front.buckets = g->buckets;
    front.nodes = g->nodes;
    front.base = g->base;
    front.whole = g->whole;
    front.mask = g->mask;
    front.doublings = g->doublings;
    front.split = g->split;
    return front;
}

/* The first nodes of the buckets of hash words: what bh_da_first says of one. */
BH_FN bh_vec bh_da_firsts(const bh_da_front *front, bh_vec word)
{
    const bh_vec base = bh_vec_all(front->base);
    const bh_vec within = bh_vec_multiply32(bh_vec_and(word, bh_vec_all(front->mask)), base);
    bh_vec bucket = bh_vec_add(bh_hash_ranges(word, base), within);
    /* 1 where the bucket has been split, and the next bit of the hash is set. */
    const bh_vec is_split = bh_vec_right(bh_vec_subtract(bucket, bh_vec_all(front->split)), 63);
    const bh_vec next = bh_vec_and(is_split, bh_vec_right_by(word, bh_vec_all(front->doublings)));

    bucket = bh_vec_add(bucket,
                        bh_vec_and(bh_vec_subtract(bh_vec_all(0), next), bh_vec_all(front->whole)));
    return bh_vec_add(bh_vec_all(front->buckets), bh_vec_left(bucket, BH_DA_LINE_SHIFT));
}

#endif

/* Whether slices of this table go through the front: its nodes are lines, however long its chains are. */
BH_FN int BH_DA(front_fits)(const bh_da_geometry *g)
{
    return g->node_shift == BH_DA_LINE_SHIFT && g->base <= UINT32_MAX && g->mask <= UINT32_MAX;
}

BH_FN void BH_DA(ask)(uint64_t line, int values, bh_asks how)
{
    (void)values;
    bh_ask(bh_da_at(line), how);
}

/* Says where the keys of a group live. `round` is 0. */
BH_FN void BH_DA(aim)(const bh_da_front *front, const BH_KEY *keys, uint32_t round,
                      bh_da_aims *aims)
{
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_hashes h = bh_hash_keys(BH_LOAD_VECTOR(keys + i), BH_KEY_BYTES, &front->seed);

        bh_vec_store64(aims->line[round] + i, bh_da_firsts(front, h.one));
    }
}

/* The nodes behind those of a group, of which `onward` has the headers. Such a link is never taken back by an operation. */
BH_FN void BH_DA(follow)(const bh_da_front *front, uint64_t *onward)
{
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec link = bh_vec_right(bh_vec_load64(onward + i), BH_DA_LINK_SHIFT);

        bh_vec_store64(onward + i,
                       bh_vec_add(bh_vec_all(front->nodes), bh_vec_left(link, BH_DA_LINE_SHIFT)));
    }
}

/* The node that a change goes on at. */
BH_FN uint64_t BH_DA(along)(const BH_DA(op) *op)
{
    return op->node;
}

BH_FN bh_answer BH_DA(step_along)(bh__slice *slice, BH_DA(op) *op, uint32_t kind)
{
    bh_region next;

    return BH_DA(step_on)(slice, op, kind, op->node, 1, &next);
}

/* What a group of lookups has seen in a node each. */
typedef struct BH_DA(seen) {
    uint64_t onward[BH_FRONT_GROUP]; /* the headers */
    uint64_t pairs[BH_FRONT_GROUP];
    BH_KEY keys[BH_FRONT_GROUP]; /* read once more */
    BH_VALUE values[BH_FRONT_GROUP];
    uint32_t match[BH_FRONT_GROUP];
    uint32_t steady; /* no writer has changed a node while it was read */
} BH_DA(seen);

/* A narrow node has no stamp: the key is read once more, with its value or, where no target promises that a line is loaded
 * by words of 8 bytes, alone. */
#define BH_DA_PAIR_AGAIN(wants) (BH_DA_IS_PAIR && (wants))
#define BH_DA_KEY_AGAIN (BH_DA_IS_NARROW && !BH_DA_IS_PAIR && BH_KEY_BYTES == 8)

/* Looks at a node for each key of a group. What is looked at again, and why, ops.h says under WHY A READER. Where `wants`
 * is 0 no values are loaded; it is a constant. The lines `next` are asked for, if it is not NULL. */
BH_FN void BH_DA(look_at_lines)(const uint64_t *lines, const BH_KEY *keys, const uint64_t *next,
                                int wants, int far, BH_DA(seen) *seen)
{
    uint32_t i;

    seen->steady = 0;
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const uint64_t node = lines[i];
        uint64_t stamp = 0;
        uint32_t match, position;

        if (next)
            BH_DA(ask)(next[i], wants, far ? BH_ASKS_FAR : BH_ASKS_TO_READ);
        if (!BH_DA_IS_NARROW)
            stamp = bh_load64(bh_da_at(node + 8));
        seen->onward[i] = bh_load64(bh_da_at(node));
        match = BH_DA(match_line)(node, seen->onward[i], keys[i]);
        /* Without branches: no processor foresees whether a key is there, or in which slot. The last slot stands for that
         * of a key that no slot has: what it loads there nobody gets. */
        position = bh_first(match | 1u << BH_DA_LAST);
        if (BH_DA_PAIR_AGAIN(wants))
            seen->pairs[i] = bh_load64(BH_DA(key_at)(node, position));
        else if (BH_DA_KEY_AGAIN)
            seen->keys[i] = BH_LOAD_KEY(BH_DA(key_at)(node, position));
        else if (BH_VALUE_BYTES && wants)
            seen->values[i] = BH_LOAD_VALUE(bh_da_at(node) +
                                            BH_DA_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES, BH_DA_LINE) +
                                            position * BH_VALUE_BYTES);
        seen->match[i] = match;
        if ((match & ~(uint32_t)bh_load64(bh_da_at(node))) ||
            (!BH_DA_IS_NARROW && bh_load64(bh_da_at(node + 8)) != stamp))
            return;
    }
    seen->steady = 1;
}

/* Looks at the first nodes of a group's keys, and asks for those of another group. */
BH_FN void BH_DA(look_at)(const bh_da_aims *aims, const BH_KEY *keys, const bh_da_aims *next,
                          int wants, int far, BH_DA(seen) *seen)
{
    BH_DA(look_at_lines)(aims->line[0], keys, next->line[0], wants, far, seen);
}

/* Tells what a group of lookups has seen: answers a bit for each key, 1 where it was found, and its value is in
 * seen->values. *open receives a bit for each: 1 where its chain goes on. Where a writer has changed what was read all keys
 * stay open, and *open has BH_FRONT_AGAIN, too. */
BH_FN uint32_t BH_DA(judge)(const bh_da_aims *aims, const BH_KEY *keys, int wants,
                            BH_DA(seen) *seen, uint32_t *open)
{
    uint32_t gone, other = 0, i;

    (void)aims;
    *open = BH_FRONT_ALL | BH_FRONT_AGAIN;
    if (!seen->steady)
        return 0;
    gone = bh_equal32(seen->match, BH_FRONT_GROUP, 0);
    if (BH_DA_PAIR_AGAIN(wants))
        other = bh_part_pairs(seen->pairs, (const uint32_t *)(const void *)keys,
                              (uint32_t *)(void *)seen->values, BH_FRONT_GROUP);
    else if (BH_DA_KEY_AGAIN)
        for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC)
            other |= (bh_vec_zeros(
                          bh_vec_xor(BH_LOAD_VECTOR(seen->keys + i), BH_LOAD_VECTOR(keys + i))) ^
                      ((1u << BH_VEC) - 1))
                     << i;
    if (other & ~gone)
        return 0;
    *open = gone;
    for (i = 0; gone && i < BH_FRONT_GROUP; i += BH_VEC)
        *open &=
            ~(bh_vec_zeros(bh_vec_right(bh_vec_load64(seen->onward + i), BH_DA_LINK_SHIFT)) << i);
    return gone ^ BH_FRONT_ALL;
}

/* One try of an operation in the first node. */
BH_FN bh_answer BH_DA(try_change)(bh__slice *slice, BH_DA(op) *op, const bh_da_aims *aims,
                                  uint32_t i, BH_KEY key, uint32_t at, uint32_t kind)
{
    BH_DA(begin_at)(op, aims->line[0][i], key, at, kind);
    return BH_DA(at_first)(slice, op, kind);
}

/* Begins an operation that the front has left. */
BH_FN bh_region BH_DA(begin_left)(const bh__slice *slice, BH_DA(op) *op, uint32_t at, uint32_t kind)
{
    return BH_DA(begin)(slice, op, at, kind);
}

#undef BH_DA
#undef BH_DA_IS_NARROW
#undef BH_DA_IS_PAIR
#undef BH_DA_HEAD
#undef BH_DA_WORDS
#undef BH_DA_LAST
#undef BH_DA_PAIR_AGAIN
#undef BH_DA_KEY_AGAIN
