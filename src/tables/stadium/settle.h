/*
 * Stadium hashing: inserting many keys region by region, by a caller that has the table to itself; on paths by bucket,
 * with tickets of 8 bits, while no key has been erased. An include-template, included behind ops.h: see instance.h.
 *
 * The schedule groups the keys of a call by the word of the board at which their paths begin (bh_st_spot_of). A region is
 * some lines of a part's board; whoever works on it has a copy of these lines, and their slots to itself. Two phases:
 *
 *   settle      all keys of a word, one after the other, by one thread, as far as they do not leave the word
 *   settle_on   all keys of a line that are left, one after the other, by one thread, as far as they do not
 *               leave the line
 *
 *                   keys a b c of word 0, d e f of word 1, 4 slots each
 *
 *                   words    0: [x y z _]      1: [_ _ _ _]   2: [...
 *                   settle   0: [x y z a]      1: [d e f _]              b and c are left
 *                   settle_on                  1: [d e f b]   2: [c ...
 *
 * What the second phase does not do either (BH_ST_AWAY), the schedule performs by the ordinary steps, after both.
 *
 * WHY A KEY DOES NOT COME TWICE. A search ends at a fresh ticket, where the key is put. No ticket becomes fresh. So once a
 * key has been left by the first phase its word has no fresh ticket, and its equals are left too; unless it is in the word,
 * where they meet it. In the second phase one thread does all keys of a line. A key that leaves the line is nowhere in
 * it, and so are its equals.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_STADIUM_SETTLE_H
#define BH_TABLES_STADIUM_SETTLE_H

/* Regions are numbered through the parts. Each has 2^bits lines of a part's board, but the last of a part. */
typedef struct bh_st_regions {
    uint32_t bits;
    uint64_t first[BH_ST_PARTS_MOST +
                   1]; /* the number of each part's first region; behind them that of all */
} bh_st_regions;

static inline bh_st_regions bh_st_regions_of(const bh_st_geometry *g, uint32_t bits)
{
    bh_st_regions regions;
    uint32_t i;

    regions.bits = bits;
    regions.first[0] = 0;
    for (i = 0; i < BH_ST_PARTS_MOST; i++)
        regions.first[i + 1] =
            regions.first[i] + (i < g->parts ? ((g->part[i].units - 1) >> bits) + 1 : 0);
    return regions;
}

/* Where a key's path begins. */
typedef struct bh_st_spot {
    uint32_t region;
    uint32_t bucket; /* the word of the region */
} bh_st_spot;

BH_FN bh_st_spot bh_st_spot_of(const bh_st_geometry *g, const bh_st_regions *regions, uint64_t key)
{
    const bh_hash hash = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &hash);
    const uint64_t line = bh_hash_range(hash.one, part->units);
    const uint32_t in = (uint32_t)line & ((1u << regions->bits) - 1);
    bh_st_spot spot;

    spot.region = (uint32_t)(regions->first[part - g->part] + (line >> regions->bits));
    spot.bucket = in * BH_ST_WORDS + (uint32_t)bh_st_within(hash.two, 0);
    return spot;
}

/* A region: its part, the number of its first line there, and how many lines it has. */
typedef struct bh_st_place {
    const bh_st_part *part;
    uint64_t line;
    uint32_t lines;
} bh_st_place;

BH_FN bh_st_place bh_st_place_of(const bh_st_geometry *g, const bh_st_regions *regions,
                                 uint64_t region)
{
    bh_st_place place;
    uint32_t i = 0;
    uint64_t left;

    while (region >= regions->first[i + 1])
        i++;
    place.part = &g->part[i];
    place.line = (region - regions->first[i]) << regions->bits;
    left = place.part->units - place.line;
    place.lines = left >> regions->bits ? 1u << regions->bits : (uint32_t)left;
    return place;
}

/* The bounds of eight lines in a word become at least those of another word. */
BH_FN uint64_t bh_st_raised(uint64_t bounds, uint64_t least)
{
    uint32_t i;

    for (i = 0; i < 64; i += 8)
        if ((bounds >> i & 255) < (least >> i & 255))
            bounds = (bounds & ~(255ull << i)) | (least & 255ull << i);
    return bounds;
}

/* How many steps of its path a key has gone that leaves its line. */
#define BH_ST_AWAY BH_ST_WORDS

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

/* Of a word's tickets those that are `ready` are compared: answers whether the element's key is there, and then does to it
 * what the element does. `slots` is the address of the word's first slot. */
BH_FN int BH_ST(settle_there)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t word,
                              uint64_t slots)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    uint64_t same = bh_st_alike(g, word, op->ready);

    for (; same; same &= same - 1) {
        const uint64_t slot =
            slots + ((uint64_t)bh_st_index(g, bh_st_first(g, same)) << BH_ST_SHIFT);

        if (BH_READ_KEY(bh_st_at(slot)) != op->key)
            continue;
        if (BH_OP_KEEPS(kind))
            op->outcome = BH_FOUND;
        else
            BH_ST(act)(slice, op, kind, slot);
        return 1;
    }
    return 0;
}

/* The first phase, of one element, on the word whose copy is at `at`. Answers 0 for an element that is left. */
BH_FN int BH_ST(settle)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                        uint64_t slots)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const uint64_t word = bh_read64(bh_st_at(at)), fresh = bh_st_zeros(g, word);
    uint32_t bit;

    if (BH_ST(settle_there)(slice, op, kind, word, slots))
        return 1;
    if (!fresh)
        return 0;
    bit = bh_st_first(g, fresh);
    bh_write64(bh_st_at(at), word | (uint64_t)op->ready << bit);
    BH_ST(store)
    (slots + ((uint64_t)bh_st_index(g, bit) << BH_ST_SHIFT), op->key,
     (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at));
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return 1;
}

/* The second phase: `line` is the address of the line's copy, `slots` that of its first slot. Answers how many steps of its
 * path the key is from the first, or BH_ST_AWAY. */
BH_FN uint32_t BH_ST(settle_on)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t line,
                                uint64_t slots)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const uint64_t each = (uint64_t)g->group << BH_ST_SHIFT; /* bytes of a word's slots */
    uint32_t step;

    for (step = 1; step < BH_ST_WORDS; step++) {
        const uint32_t within = (uint32_t)bh_st_within(op->hash.two, step);

        if (BH_ST(settle)(slice, op, kind, line + within * 8, slots + within * each))
            break;
    }
    return step;
}

#undef BH_ST
#undef BH_ST_SHIFT
