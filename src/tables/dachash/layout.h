/*
 * DACHash: what lies where. Shared by the policy (host C), the operations (every target) and a GPU.
 *
 * The table is an array of buckets. A bucket is a chain of *super nodes*, small arrays of pairs, of 16,
 * 32, 64 or 128 bytes. The first node of each bucket lies in the array; the others are taken from a stack
 * of nodes when a chain is full, and link to each other by their number:
 *
 *     buckets   [node][node][node][node] ...        first nodes, in place
 *                  |            |
 *     nodes     [ stack ][node][node][ free ][node] ...
 *                            |__________________^
 *
 * A node is a header and slots. Pairs of up to 8 bytes have a header of 8 bytes, and key and value side by
 * side, so that one load reads a whole pair; wider ones have a header of 16 bytes, keys first, then values:
 *
 *     4+4 bytes   [header |k v|k v|k v|k v|k v|k v|k v]      7 slots in 64 bytes
 *     4+8 bytes   [header  stamp |k k k k|v  v  v  v  ]      4
 *     8+8 bytes   [header  stamp |k  k  k |v  v  v    ]      3
 *
 * The header:
 *
 *     bits  0..30   which slots are in use, by the position of their keys: bit i stands for the key that
 *                   begins i keys' widths behind the header. (With 4+4 bytes every second word is a key, so
 *                   every second bit is used.) No key and no value is reserved
 *     bit  31       first node: lock of the bucket, held by the one operation that changes something in
 *                   it (not by one that takes a single step in a table that one thread alone changes).
 *                   Other nodes: this one has been returned, and is free
 *     bits 32..63   link: the number of the next node; 0: this is the last one
 *
 * The stamp counts the pairs that have been put into the node. It tells a reader whether the slot that it
 * reads key and value from has had another key meanwhile.
 *
 * Where a bucket is. `base` buckets times 2^k form the array, and bucket numbers are
 *
 *     floor(h * base / 2^64) + base * (h & (2^k - 1))
 *
 * so that doubling the array leaves each key where it is or moves it `whole` = base * 2^k buckets further,
 * as the next bit of h says. The array doubles a range of buckets at a time: buckets below `split` have been
 * split already. Pairs move then, and when chains are closed up or merged or the stack is packed; otherwise never.
 *
 * Nodes are taken from the stack in the order of their numbers. The first nodes hold how many have been taken, so a
 * stack of zeros is one from which nothing has been. Nodes that are returned stay where they are, marked as free.
 *
 *   - On cores they lie on the *shelf*: lists of a few nodes each, one list on top of the other. Whoever needs nodes takes the whole
 *     list at the top. A free node links to the next of its list, and behind the header of a list's first node is the word of
 *     the list below.
 *   - On a GPU, where thousands of threads would wait for the one word of the shelf, they are taken again once the stack
 *     has been *packed*: the last nodes in use have moved to their places.
 *
 *     bytes 0..7      how many nodes have been taken
 *     bytes 8..15     how many of them have been returned
 *     bytes 64..71    the top of the shelf: the number of a list's first node, and above it how many nodes; or 0
 *
 *     nodes     [ stack ][in use][ free ][in use][ free ][in use] | [fresh][fresh] ...
 *                   |______________^_______________^              taken
 */
#ifndef BH_TABLES_DACHASH_LAYOUT_H
#define BH_TABLES_DACHASH_LAYOUT_H

#include "primitives/hash.h"
#include "tables/copy_out.h"
#include "tables/table.h"

extern const bh__policy bh__dachash_policy;

#define BH_DA_LINE_SHIFT 6
#define BH_DA_LINE (1u << BH_DA_LINE_SHIFT)
#define BH_DA_NODE_LEAST 16u
#define BH_DA_NODE_MOST 128u

#define BH_DA_LOCK (1ull << 31)
#define BH_DA_FREE BH_DA_LOCK
#define BH_DA_USED (BH_DA_LOCK - 1)
#define BH_DA_LINK_SHIFT 32
#define BH_DA_LINK_BITS 32

/* Whether key and value lie side by side, in one word of at most 8 bytes. */
#define BH_DA_NARROW(key_bytes, value_bytes) ((key_bytes) + (value_bytes) <= 8)
#define BH_DA_HEADER(key_bytes, value_bytes) (BH_DA_NARROW(key_bytes, value_bytes) ? 8u : 16u)
#define BH_DA_SLOTS_FIT(key_bytes, value_bytes, node_bytes)                                        \
    (((node_bytes)-BH_DA_HEADER(key_bytes, value_bytes)) / ((key_bytes) + (value_bytes)))
/* A build for tests may want nodes of one slot. */
#ifndef BH_DA_SLOTS_MOST
#define BH_DA_SLOTS_MOST 30u
#endif
#define BH_DA_SLOTS(key_bytes, value_bytes, node_bytes)                                            \
    (BH_DA_SLOTS_FIT(key_bytes, value_bytes, node_bytes) < BH_DA_SLOTS_MOST                        \
         ? BH_DA_SLOTS_FIT(key_bytes, value_bytes, node_bytes)                                     \
         : BH_DA_SLOTS_MOST)
/* Where the values of a node of wide pairs begin; 0 where there are none. */
#define BH_DA_VALUES(key_bytes, value_bytes, node_bytes)                                           \
    ((BH_DA_HEADER(key_bytes, value_bytes) +                                                       \
      BH_DA_SLOTS(key_bytes, value_bytes, node_bytes) * (key_bytes) + (value_bytes)-1u) &          \
     ~((value_bytes)-1u))
/* Positions from one key to the next. */
#define BH_DA_STRIDE(key_bytes, value_bytes) ((key_bytes) == 4 && (value_bytes) == 4 ? 2u : 1u)

/* The words of the stack, from the beginning of node 0. */
#define BH_DA_TAKEN 0u
#define BH_DA_RETURNED 8u
#define BH_DA_SHELF 64u
#define BH_DA_STACK_BYTES 128u
/* In the first node of a list on the shelf: the word of the list below. */
#define BH_DA_BELOW 8u
/* Nodes that a stash takes at a time at most, and nodes of a list on the shelf: then other threads' additions no longer
 * matter. A build for tests has fewer, so that there are several lists. */
#ifndef BH_DA_BUNCH_MOST
#define BH_DA_BUNCH_MOST 16u
#endif

/* Why an operation stalled: its chain is full, and the stack empty. */
#define BH_DA_REASON_NODE BH_REASON_OF_DESIGN
/* The same: it is to erase a key, and none has been erased yet. */
#define BH_DA_REASON_TURNOVER (2 * BH_REASON_OF_DESIGN)

/* The descriptor that a slice takes once. */
typedef struct bh_da_geometry {
    bh_seed seed;
    uint64_t buckets; /* address of the first nodes */
    uint64_t nodes;   /* address of node 0 */
    uint64_t base;    /* buckets before any doubling */
    uint64_t whole;   /* buckets of the last whole doubling: base << doublings */
    uint64_t mask;    /* 2^doublings - 1 */
    uint64_t doublings;
    uint64_t split;      /* buckets below this number have been split */
    uint64_t nodes_most; /* nodes of the stack, all in all, beginning with number `first` */
    uint32_t first;      /* the nodes before it are the stack's words */
    uint32_t node_shift; /* a node has 2^node_shift bytes */
    uint32_t positions;  /* of keys in a node, as bits of the header */
    uint32_t values;     /* where values begin in a node of wide pairs */
    uint32_t turnover;   /* on cores, 1: keys may have been erased since chains were closed up */
} bh_da_geometry;

/*
 * The passes; see bh__kernels. The gate is held alone.
 *
 *   BH_DA_PASS_SPLIT    an item is a bucket: pairs whose next bit is set go to the bucket `whole` further
 *   BH_DA_PASS_MERGE    an item is a bucket: it takes the pairs of the bucket `whole` further
 *   BH_DA_PASS_CLEAN    an item is a bucket: its pairs close up, and nodes that become empty are returned
 *   BH_DA_PASS_HOLES    an item is a node that has been taken: free ones are listed
 *   BH_DA_PASS_PACK     an item is a bucket: its nodes from a number on move to listed ones
 *   BH_DA_PASS_STACK    one item: the stack's words are read or set
 *   BH_DA_PASS_EXPORT   an item is a part of some nodes, of the array or of the stack (copy_out.h)
 */
/* clang-format off */
#define BH_DA_PASSES(pass)                                                                         \
    pass(SPLIT,  split_buckets, bh_da_chains, EACH)                                                \
    pass(MERGE,  merge_buckets, bh_da_chains, EACH)                                                \
    pass(CLEAN,  clean_buckets, bh_da_chains, EACH)                                                \
    pass(HOLES,  list_holes,    bh_da_pack,   EACH)                                                \
    pass(PACK,   pack_buckets,  bh_da_pack,   EACH)                                                \
    pass(STACK,  see_stack,     bh_da_stack,  EACH)                                                \
    pass(EXPORT, export_parts,  bh__export,   PARTS)                                               \
    pass(PLACES, find_places,   bh__places,   EACH)
/* clang-format on */

#define BH_DA_PASS_NUMBER(name, text, argument, how) BH_DA_PASS_##name,
enum { BH_DA_PASSES(BH_DA_PASS_NUMBER) BH_DA_PASSES_END };
#undef BH_DA_PASS_NUMBER

/* SPLIT, MERGE, CLEAN. */
typedef struct bh_da_chains {
    const bh_da_geometry *geometry;
    uint64_t from;  /* the bucket of item 0 */
    uint64_t moved; /* keys that have changed their bucket, added up by all parts */
    uint64_t all;   /* CLEAN: 1: every chain; 0: those that then have fewer nodes */
} bh_da_chains;

/* HOLES, PACK: nodes from number `end` on are not to be in use any more. */
typedef struct bh_da_pack {
    const bh_da_geometry *geometry;
    uint64_t end;
    uint32_t *holes; /* numbers of free nodes before `end` */
    uint64_t listed; /* HOLES: how many are listed, added up by all parts */
    uint64_t filled; /* PACK: how many have a node now */
    uint64_t moved;  /* keys, added up by all parts */
} bh_da_pack;

typedef struct bh_da_stack {
    const bh_da_geometry *geometry;
    uint64_t sets; /* 1: set the stack to these counts, and clear the shelf */
    uint64_t returned;
    uint64_t taken;
    uint64_t shelved; /* not 0: there are lists on the shelf */
} bh_da_stack;

#endif
