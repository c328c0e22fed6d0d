/*
 * DyCuckoo: what lies where. Shared by the policy (host C), the operations (every
 * target) and a GPU.
 *
 * The table is d subtables; a subtable is an array of buckets; a bucket is one
 * cache line:
 *
 *     bytes 0..7   8 ..                                            .. 63
 *     +----------+------+------+-- --+------+-------+-- --+-------+------+
 *     | meta     | key0 | key1 | ... | keyS | value0| ... | valueS| (pad)|
 *     +----------+------+------+-- --+------+-------+-- --+-------+------+
 *
 * with S slots, as many as fit in 56 bytes: 7 of 4+4 bytes, 4 of 8+4, 14 of 4+0. Pairs of 8+8
 * bytes, of which only 3 would fit, lie apart: S is as many keys as fit, and their values fill the
 * line that follows, or two. As an option for experiments other pairs do so too (14 of 4+4 bytes in
 * 128, 14 of 4+8 in 192):
 *
 *     bytes 0..7   8 ..                 .. 63   64 ..                    .. 119
 *     +----------+------+------+-- --+------+ +-------+-------+-- --+-------+-----+
 *     | meta     | key0 | key1 | ... | key6 | | value0| value1| ... | value6|(pad)|
 *     +----------+------+------+-- --+------+ +-------+-------+-- --+-------+-----+
 *
 * The meta word holds all that is to be known about the bucket:
 *
 *     bit  0        lock: a writer is at work here, for the length of one step
 *     bits 1..14    which slots are in use (so no key and no value is reserved); up to
 *                   7 slots: bits 1..7, and bits 8..14 say which of them hold a guest
 *     bits 16..31   filter: eight counters of two bits. Each key whose home is this bucket
 *                   and that is a guest in its other bucket is counted in the counter
 *                   with the number (next 3 index bits of the home subtable); 3 means
 *                   "three or more" and stays
 *     bits 32..63   sequence number, raised by every change of a pair; on a GPU some kernels have marks here
 *                   (claims.h), so between calls it may go back
 *
 * A *guest* is a key in its other bucket. A lookup of a missing key whose counter is 0
 * reads one line only; because the counters go down again, that stays so when keys come
 * and go.
 *
 * Where a key may live: its hash picks an ordered pair of subtables; the first is
 * its home. `base` buckets times 2^k form a subtable, and the bucket is
 *
 *     floor(h * base / 2^64) + base * (h & (2^k - 1))
 *
 * so doubling a subtable leaves each key where it is or moves it `old size` further,
 * as the next bit of h says (the paper's conflict-free upsizing): the old half keeps
 * its place in memory. The filters of the subtable that doubled are made anew while
 * the keys that now have room at home are brought there from the other subtables.
 * Halving goes the other way: counters are added in pairs, and what does not fit into
 * the half that stays goes to its bucket in the other subtable of its pair.
 */
#ifndef BH_TABLES_DYCUCKOO_LAYOUT_H
#define BH_TABLES_DYCUCKOO_LAYOUT_H

#include "primitives/hash.h"
#include "tables/copy_out.h"
#include "tables/table.h"

extern const bh__policy bh__dycuckoo_policy;

#define BH_DY_LINE 64u
#define BH_DY_LINE_SHIFT 6
#define BH_DY_SUBTABLES_MOST 8
#define BH_DY_PAIRS_MOST (BH_DY_SUBTABLES_MOST * (BH_DY_SUBTABLES_MOST - 1))

#define BH_DY_LOCK 1ull
#define BH_DY_USED_SHIFT 1
#define BH_DY_GUEST_SHIFT 8
#define BH_DY_GUESTS_KNOWN 7u /* with more slots than that there is no room for guest bits */
#define BH_DY_SEEN (1ull << 15)
#define BH_DY_FILTER_SHIFT 16
#define BH_DY_FILTER_COUNTERS 8u
#define BH_DY_FILTER_MASK (0xffffull << BH_DY_FILTER_SHIFT)
#define BH_DY_CHANGE (1ull << 32) /* added to the meta word: raises the sequence number by one */

/* Slots of a bucket, and its bytes. A build for tests may want buckets of few slots, which are full
 * sooner. */
#ifndef BH_DY_SLOTS_MOST
#define BH_DY_SLOTS_MOST 14u
#endif
#define BH_DY_SLOTS_FIT(key_bytes, value_bytes, apart)                                             \
    (56u / ((apart) ? (key_bytes) : (key_bytes) + (value_bytes)))
#define BH_DY_SLOTS(key_bytes, value_bytes, apart)                                                 \
    (BH_DY_SLOTS_FIT(key_bytes, value_bytes, apart) < BH_DY_SLOTS_MOST                             \
         ? BH_DY_SLOTS_FIT(key_bytes, value_bytes, apart)                                          \
         : BH_DY_SLOTS_MOST)
#define BH_DY_BUCKET(key_bytes, value_bytes, apart)                                                \
    (BH_DY_LINE *                                                                                  \
     ((apart) ? 1 + (BH_DY_SLOTS(key_bytes, value_bytes, 1) * (value_bytes) + 63) / BH_DY_LINE     \
              : 1))

/* Where a table's options leave it open, keys and values lie apart if a line had only 3 slots otherwise: then
 * many more keys would have to be guests, and an eighth of the table would be padding. */
#define BH_DY_APART_BY_DEFAULT(key_bytes, value_bytes) ((key_bytes) + (value_bytes) == 16)

static inline int bh_dy_is_apart(const bh_table_options *o)
{
    return o->experimental->values == BH_VALUES_DEFAULT
               ? BH_DY_APART_BY_DEFAULT(o->key_bytes, o->value_bytes)
               : o->experimental->values == BH_VALUES_APART;
}

/* A subtable has at most 2^32 buckets, which are 256 GiB. So index bits of the hash never run out, and a
 * position in the table fits in the 40 bits that an export cursor has for it. */
#define BH_DY_BUCKET_BITS_MOST 32u

typedef struct bh_dy_subtable {
    uint64_t lines; /* address of the first bucket */
    uint64_t mask;  /* 2^doublings - 1 */
    uint64_t doublings;
    uint64_t unused; /* a power of two in size: begin indexes with a shift */
} bh_dy_subtable;

/* The descriptor that a slice takes once. */
typedef struct bh_dy_geometry {
    bh_seed seed;
    uint64_t base;  /* buckets of a subtable that has not doubled */
    uint32_t pairs; /* d * (d - 1) */
    uint32_t subtables;
    uint32_t spread; /* new keys do not all go home first: see away */
    bh_dy_subtable subtable[BH_DY_SUBTABLES_MOST];
    uint8_t pair[BH_DY_PAIRS_MOST]; /* home subtable | other subtable << 4; sorted by home, then by
                                              the other one: aims.h computes both from the number */
    bh_dy_subtable home[BH_DY_PAIRS_MOST]; /* subtable[pair[i] & 15]: all that begin reads */
    uint32_t away[BH_DY_PAIRS_MOST]; /* of 2^32 new keys of the pair, so many go to their other
                                        bucket though there is room at home */
} bh_dy_geometry;

/* Buckets of a subtable. */
static inline uint64_t bh_dy_buckets(const bh_dy_geometry *geometry, uint32_t subtable)
{
    return geometry->base << geometry->subtable[subtable].doublings;
}

/*
 * Regions: 2^bits neighbouring buckets of one subtable each (its last region may have fewer), numbered
 * through all subtables. For schedules that bring the keys of a call to the table region by region.
 */
typedef struct bh_dy_regions {
    uint32_t bits;
    uint64_t first[BH_DY_SUBTABLES_MOST + 1]; /* region of each subtable; at the end: how many */
} bh_dy_regions;

static inline bh_dy_regions bh_dy_regions_of(const bh_dy_geometry *geometry, uint32_t bits)
{
    bh_dy_regions regions;
    uint64_t buckets;
    uint32_t i;

    regions.bits = bits;
    regions.first[0] = 0;
    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++) {
        buckets = i < geometry->subtables ? bh_dy_buckets(geometry, i) : 0;
        regions.first[i + 1] =
            regions.first[i] + (buckets >> bits) + !!(buckets & ((1u << bits) - 1));
    }
    return regions;
}

/*
 * One full bucket that a search for a path, with the gate held alone, has found: each is kept once. Scratch
 * memory has room for BH_DY_SEARCH_MOST of them; a search can see all buckets of a table that has no
 * more. A build for tests may want searches that end soon.
 */
typedef struct bh_dy_node {
    uint64_t line;
    uint32_t parent; /* whose resident in `slot` would move here */
    uint32_t slot;
} bh_dy_node;

#ifndef BH_DY_SEARCH_MOST
#define BH_DY_SEARCH_MOST 6144u
#endif
/* On a device the nodes lie in the shared memory of one multiprocessor. */
#define BH_DY_SCRATCH_FAR (1536 * sizeof(bh_dy_node))

/* The most looks that one search makes; a look is a bucket that is read to see whether it is full. */
#define BH_DY_SEARCH_LOOKS 16384u
#define BH_DY_SEARCH_LOOKS_FAR 4608u

/*
 * When the searches of one BH_DY_PASS_PLACE have made BH_DY_HOLD_LOOKS looks, the pass stops, and the gate is
 * released before it goes on. So one hold of the gate makes at most these looks, those of one search more,
 * and BH_DY_PLACE_LOOKS for each of up to BH_SLICE_MOST elements: BH_DY_HOLD_MOST in all. (One thread of a
 * GPU needs about a microsecond for a look.)
 */
#define BH_DY_HOLD_LOOKS 8192u
#define BH_DY_HOLD_LOOKS_FAR 2048u
#define BH_DY_PLACE_LOOKS 4u
#define BH_DY_HOLD_MOST (BH_DY_HOLD_LOOKS + BH_DY_SEARCH_LOOKS + BH_DY_PLACE_LOOKS * BH_SLICE_MOST)

/* The passes; see bh__kernels. */
/* clang-format off */
#define BH_DY_PASSES(pass)                                                                         \
    pass(SPLIT,    split_buckets,    bh_dy_resize,   EACH)                                         \
    pass(HOME,     bring_home,       bh_dy_resize,   SPARSE)                                       \
    pass(MERGE,    merge_buckets,    bh_dy_resize,   EACH)                                         \
    pass(LEFT,     move_left,        bh_dy_halving,  EACH)                                         \
    pass(RESIDUE,  place_residue,    bh_dy_halving,  ALONE)                                        \
    pass(REINSERT, reinsert_buckets, bh_dy_reinsert, EACH)                                         \
    pass(REST,     reinsert_rest,    bh_dy_reinsert, ALONE)                                        \
    pass(PLACE,    place,            bh__slice,      ALONE)                                        \
    pass(EXPORT,   export_parts,     bh__export,     PARTS)                                        \
    pass(PLACES,   find_places,      bh__places,     EACH)
/* clang-format on */

#define BH_DY_PASS_NUMBER(name, text, argument, how) BH_DY_PASS_##name,
enum { BH_DY_PASSES(BH_DY_PASS_NUMBER) BH_DY_PASSES_END };
#undef BH_DY_PASS_NUMBER

/*
 * A subtable changes its size.
 *
 *   BH_DY_PASS_SPLIT    it has doubled. An item for each bucket of the old half
 *   BH_DY_PASS_HOME     it has doubled. An item for each bucket of all other subtables
 *   BH_DY_PASS_MERGE    it has halved. An item for each bucket of the half that stays
 *   BH_DY_PASS_LEFT     it has halved. An item for each bucket of the half that goes: places for most of the keys
 *                       that MERGE has left; buckets in which some are left even so are listed
 *   BH_DY_PASS_RESIDUE  it has halved. An item for each bucket listed, all run by one task: longer paths for
 *                       the keys in them
 */
typedef struct bh_dy_resize {
    const bh_dy_geometry *geometry; /* as it is after the change */
    const bh__scratch *scratch;     /* RESIDUE */
    uint32_t subtable;              /* the one that changes */
    uint32_t fresh;                 /* BH_DY_PASS_SPLIT: the new half has never been used */
    uint64_t moved;                 /* keys moved, added up by all parts */
    uint64_t left;                  /* and keys still in the half that goes */
} bh_dy_resize;

/* The numbers of buckets in which LEFT or REINSERT has left keys, in any order, for RESIDUE or REST to go through: one thread
 * of a GPU would take minutes to read all buckets for these few. (A build for tests has shorter lists.) */
#ifndef BH_DY_LISTED_MOST
#define BH_DY_LISTED_MOST 1024u
#endif

typedef struct bh_dy_list {
    uint64_t count; /* of those found; BH_DY_LISTED_MOST of them at most are listed */
    uint32_t bucket[BH_DY_LISTED_MOST];
} bh_dy_list;

typedef struct bh_dy_halving {
    bh_dy_resize resize;
    uint64_t first; /* LEFT: the number of the first item's bucket */
    uint64_t vain;  /* RESIDUE: whether a key has no place */
    bh_dy_list list;
} bh_dy_halving;

/*
 * The pairs of some memory are inserted into a table with another geometry. The memory stays as it is.
 *
 *   BH_DY_PASS_REINSERT  an item for each bucket of the memory. Buckets with pairs that found no place are listed
 *   BH_DY_PASS_REST      an item for each bucket listed, all run by one task: longer paths
 */
typedef struct bh_dy_reinsert {
    const bh_dy_geometry *geometry;
    const bh__scratch *scratch; /* REST */
    uint64_t lines; /* REINSERT: the first item's bucket; REST: the one that the list counts from */
    uint64_t left;  /* REST: whether a key has no place */
    bh_dy_list list;
} bh_dy_reinsert;

/* BH_DY_PASS_PLACE has one item, and the slice whose list is to be finished as its argument; its scratch
 * is for searches. */

/* BH_DY_PASS_EXPORT: an item is a part of the buckets of a subtable (tables/copy_out.h). */

#endif
