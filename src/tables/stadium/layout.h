/*
 * Stadium hashing: what lies where. Shared by the policy (host C), the operations (every target) and a GPU.
 *
 * A table is a *ticket-board* and *slots*. A slot holds one pair. The board has a *ticket* of a few bits for
 * each slot, which tells whether the slot is taken and, roughly, by which key; so most lookups of absent keys
 * end on the board, and most others look at one slot:
 *
 *     board    [t t t t t t t t][t t t t t t t t] ...     words of 64 bits, in lines of 64 bytes
 *               | | |
 *     slots    [k v][k v][k v][k v] ...                    2^slot_shift bytes each
 *
 * A ticket is a number:
 *
 *     0            fresh: the slot has been free since the board was cleared. A key that has not been met
 *                  before a fresh ticket on its path is not in the table
 *     1            erased: the slot is free, but keys may be behind it on their paths
 *     2 + 2 i      claimed: a key whose info is i is being put into the slot
 *     3 + 2 i      ready: a key whose info is i is in the slot
 *
 * The *info* is a few bits of the key's hash. The tickets that users know by their bits (stadium.ticket_bits)
 * have these widths; with 1 and 2 bits of the paper's kind the board needs a bit more for the two states that
 * the paper does not have (erased, and its *access* bit, which says that a pair is being written):
 *
 *     ticket_bits                      1     2     4     8
 *     bits of a ticket on the board    2     3     4     8
 *     infos                            1     3     7   127
 *     tickets of a word               32    21    16     8
 *
 * Paths. Which slots a key may have, in which order, follows from its hash alone:
 *
 *     by slot     (the paper's) slot number p, p + s, p + 2 s ... modulo N, where N, the number of slots, is a
 *                 prime, and the step s is the key's own
 *     by bucket   all slots of a word, then those of the other seven words of its line; then the next line, s lines
 *                 further, of a prime number of lines
 *
 * The *bound* of a line of the board is how many steps of a path (slots, or words) lie between the first one
 * and the last at which any key has been put whose path begins in that line; 255: or more. A search for a
 * key need not go further. Without bounds, lookups of absent keys would find no end once all tickets have
 * been used.
 *
 * Parts. A small table is one part, a large one up to 64; bits of a key's hash choose its part. Each part has a
 * board, bounds and slots of its own:
 *
 *     part   [ board | bounds | slots ]         one block of memory or,
 *            [ board | bounds ]   [ slots ]     on a GPU, two: the slots in the host's memory, read and written
 *                                               over the bus where they lie, by loads and stores alone
 *
 * There are `whole` parts, a power of two, and `parts - whole` more, with which as many of them have been split by
 * the next bit of the hash:
 *
 *     part 0      1      2      3    | 4      5
 *     ends 000    001    10     11   | 100    101        the last bits of the hashes of its keys
 *
 * Locks and stamps lie apart, an array for all parts. All writers of a key take the lock that its hash names, once keys
 * have been erased (`turnover` is 1); on a GPU most calls of one operation take none even then (BH_HINT_ALIKE), and in
 * mixed calls those that change what is there always take it. A stamp counts how often erased slots of
 * some words have been given to new keys.
 */
#ifndef BH_TABLES_STADIUM_LAYOUT_H
#define BH_TABLES_STADIUM_LAYOUT_H

#include "primitives/hash.h"
#include "tables/copy_out.h"
#include "tables/table.h"

extern const bh__policy bh__stadium_policy;

/* Words of a line of the board. A build for tests may want fewer, and few tickets of a word. */
#ifndef BH_ST_WORDS
#define BH_ST_WORDS 8u
#endif
#ifndef BH_ST_GROUP_MOST
#define BH_ST_GROUP_MOST 32u
#endif

#define BH_ST_PARTS_MOST 64u
#if BH_ST_PARTS_MOST > BH_EXPORT_ARRAYS_MOST
#error "exports know fewer arrays than a table has parts"
#endif

#define BH_ST_ERASED 1u
#define BH_ST_UNBOUNDED 255u

/* Why an operation stalled: a key is to be erased, for the first time since the board was cleared; all slots
 * of a part are taken. */
#define BH_ST_REASON_TURNOVER BH_REASON_OF_DESIGN
#define BH_ST_REASON_FULL (BH_REASON_OF_DESIGN << 1)

/* Bytes of a slot, as a power of two: a narrow pair is one word, of a wide one each half is. */
#define BH_ST_NARROW(key_bytes, value_bytes) ((key_bytes) + (value_bytes) <= 8)
#define BH_ST_SLOT_SHIFT(key_bytes, value_bytes)                                                   \
    (!BH_ST_NARROW(key_bytes, value_bytes) ? 4u : (key_bytes) + (value_bytes) > 4 ? 3u : 2u)
/* Where the value of a slot begins. */
#define BH_ST_VALUE(key_bytes, value_bytes) (BH_ST_NARROW(key_bytes, value_bytes) ? 4u : 8u)

typedef struct bh_st_part {
    uint64_t board;  /* address of the first word */
    uint64_t bounds; /* of the bound of line 0 */
    uint64_t slots;  /* of slot 0 */
    uint64_t units;  /* a prime: lines of the board or, by slot, slots */
} bh_st_part;

/* The descriptor that a slice takes once. */
typedef struct bh_st_geometry {
    bh_seed seed;
    uint64_t lows;  /* of each ticket of a word its lowest bit, */
    uint64_t highs; /* and its highest */
    uint64_t locks; /* address of the locks and stamps */
    uint64_t lock_mask;
    uint64_t by_group; /* 2^64 / group, rounded up */
    uint32_t width;    /* bits of a ticket */
    uint32_t by_width; /* 128 / width, rounded up */
    uint32_t group;    /* tickets of a word */
    uint32_t infos;
    uint32_t slot_shift;
    uint32_t by_slot;  /* 1: paths by slot */
    uint32_t turnover; /* 1: keys may have been erased */
    uint32_t far;      /* 1: slots of some part lie in another memory than the board */
    uint32_t parts;
    uint32_t whole; /* the largest power of two that is not above it */
    bh_st_part part[BH_ST_PARTS_MOST];
} bh_st_geometry;

/*
 * The passes; see bh__kernels. The gate is held alone.
 *
 *   BH_ST_PASS_REHASH   an item is a word of a part's board: its pairs are put into the parts of a geometry
 *   BH_ST_PASS_FULL     one item: which parts stalled elements belong to
 *   BH_ST_PASS_ERASED   an item is a word: its erased tickets are counted
 *   BH_ST_PASS_EXPORT   an item is a part of some words (copy_out.h); `lines` is the number of the part
 */
/* clang-format off */
#define BH_ST_PASSES(pass)                                                                         \
    pass(REHASH, rehash_words, bh_st_rehash, OWN)                                                  \
    pass(FULL,   find_full,    bh_st_full,   EACH)                                                 \
    pass(ERASED, count_erased, bh_st_erased, EACH)                                                 \
    pass(EXPORT, export_parts, bh__export,   PARTS)                                                \
    pass(PLACES, find_places,  bh__places,   EACH)
/* clang-format on */

#define BH_ST_PASS_NUMBER(name, text, argument, how) BH_ST_PASS_##name,
enum { BH_ST_PASSES(BH_ST_PASS_NUMBER) BH_ST_PASSES_END };
#undef BH_ST_PASS_NUMBER

typedef struct bh_st_rehash {
    const bh_st_geometry *geometry; /* where pairs go to */
    bh_st_part from;
    uint64_t moved;   /* keys, added up by all parts */
    uint64_t refused; /* keys for which there was no slot */
} bh_st_rehash;

typedef struct bh_st_full {
    const bh_st_geometry *geometry;
    const void *keys;
    const uint16_t *list; /* of keys */
    uint64_t count;
    uint64_t parts; /* a bit for each part */
} bh_st_full;

typedef struct bh_st_erased {
    const bh_st_geometry *geometry;
    uint64_t board;
    uint64_t erased; /* added up by all parts */
} bh_st_erased;

#endif
