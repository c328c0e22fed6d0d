/* Sizes of the front of the CPU schedule; see front_rounds.h. */
#ifndef BH_CPU_FRONT_GROUP_H
#define BH_CPU_FRONT_GROUP_H

#include "targets/target.h"

/* Keys of a group: a whole number of vectors. A build for tests may have slices of fewer elements. */
#ifndef BH_FRONT_GROUP
#define BH_FRONT_GROUP 8u
#endif

/* A group is looked at when so many later ones have had their lines asked for, so BH_FRONT_AHEAD * BH_FRONT_GROUP lines
 * are on their way at a time; lookups gain by more. The ring holds these groups, and those that take the steps before and
 * behind (docs/decisions/0028). */
#define BH_FRONT_AHEAD 7u
#define BH_FRONT_LOOKS_AHEAD 11u
#define BH_FRONT_RING 16u

/* Where a group lies in the ring, by its first element. */
BH_FN uint32_t bh_front_place(uint32_t first)
{
    return first / BH_FRONT_GROUP % BH_FRONT_RING;
}

/* Fewer elements are left to the window. */
#ifndef BH_FRONT_LEAST
#define BH_FRONT_LEAST 32u
#endif

/* Where a round has left fewer there is no further one. */
#ifndef BH_FRONT_AGAIN_LEAST
#define BH_FRONT_AGAIN_LEAST 8u
#endif

/* A round that makes room for fewer than one in so many of its keys is the last one. */
#define BH_FRONT_ROOM_PART 8u

/* Operations on a trail: when more are there the first ones are stepped; the ring of changes, which a group more may
 * join; and the room for lookups. */
#define BH_FRONT_FOLLOWED (BH_FRONT_AHEAD * BH_FRONT_GROUP)
#define BH_FRONT_TRAIL (BH_FRONT_FOLLOWED + BH_FRONT_GROUP)
#define BH_FRONT_TRAIL_ROOM (2 * BH_FRONT_TRAIL)

/* How lines are asked for: to be read or written, from near; to be either, from beyond the caches; and those again,
 * when they come to be written. */
typedef enum bh_asks { BH_ASKS_TO_READ, BH_ASKS_TO_WRITE, BH_ASKS_FAR, BH_ASKS_OWN } bh_asks;

BH_FN void bh_ask(const void *line, bh_asks how)
{
    switch (how) {
    case BH_ASKS_TO_READ: bh_bring(line); break;
    case BH_ASKS_TO_WRITE: bh_bring_to_write(line); break;
    case BH_ASKS_FAR: bh_bring_far(line); break;
    case BH_ASKS_OWN: bh_own(line); break;
    }
}

/* Outcomes of a group stand in one word of eight bytes. */
#if BH_FRONT_GROUP > 8
#error "a group is of eight keys at most"
#endif

/* A bit for each key of a group. */
#define BH_FRONT_ALL ((1u << BH_FRONT_GROUP) - 1)

/* Of a design with chains, beside those bits: a writer was at work, and nothing is known of any key. */
#define BH_FRONT_AGAIN (1u << 31)

/* The bits as the bytes of a word, 0 or 1 each: outcomes of lookups, BH_MISSING or BH_FOUND. */
#define BH_FRONT_ONES 0x0101010101010101ull

BH_FN uint64_t bh_front_outcomes(uint32_t bits)
{
    const uint64_t apart = bits * BH_FRONT_ONES & 0x8040201008040201ull;
    uint64_t bytes = (apart + 0x7f * BH_FRONT_ONES) >> 7 & BH_FRONT_ONES;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

#endif
