/*
 * Linear probing: the smallest design that keeps every promise, and so the proof that a design is a
 * folder and a line. It is for tests alone.
 *
 * The table is an array of lines of 64 bytes, each a meta word and slots: keys first, then values.
 *
 *     line h      [meta|k k k k|v v v v]   home of keys whose hash names it
 *     line h+1    [meta|k k . .|v v . .]   where they go when home is full, and so on, to the end
 *                                          and from there to the beginning
 *
 * The meta word:
 *
 *     bit  0        lock: a writer is at work here, for the length of one step
 *     bits 1..14    which slots are in use
 *     bit  15       passed: some key has found this line full and gone on. Who looks for a key stops
 *                   at a line that nobody has passed; the bit stays until the table is built anew
 *     bits 32..63   sequence number: raised by every change of a pair in this line, and of a key whose
 *                   home it is
 *
 * Whoever changes a key holds the lock of its home, and of the line where it lies, both taken within
 * one step, by one try each; who fails lets go of both. That home's meta word is still what it was when
 * the operation began says that nobody has changed the key meanwhile; else it begins anew.
 *
 * The table doubles, by being built anew, when it is fuller than max_fill.
 */
#ifndef TESTS_PROBING_LAYOUT_H
#define TESTS_PROBING_LAYOUT_H

#include "primitives/hash.h"
#include "tables/table.h"

extern const bh__policy bh__probing_policy;

#define BH_LP_LINE 64u
#define BH_LP_LOCK 1ull
#define BH_LP_USED_SHIFT 1
#define BH_LP_PASSED (1ull << 15)
#define BH_LP_CHANGE (1ull << 32)

/* A build that explores interleavings wants the smallest tables there can be. */
#ifdef BH_TARGET_SIM
#define BH_LP_SLOTS(key_bytes, value_bytes) 2u
#else
#define BH_LP_SLOTS(key_bytes, value_bytes) (56u / ((key_bytes) + (value_bytes)))
#endif
/* Where values begin: at a multiple of their width. */
#define BH_LP_VALUES(key_bytes, value_bytes)                                                       \
    (8u + BH_LP_SLOTS(key_bytes, value_bytes) * (key_bytes))

typedef struct bh_lp_geometry {
    bh_seed seed;
    uint64_t lines;             /* address */
    uint64_t count;             /* of lines */
    const bh__bringer *bringer; /* NULL: lines are near memory */
} bh_lp_geometry;

/* MOVE: an item is a slot of another array; its pair is inserted. EXPORT: the one item is the whole
 * table. */
#define BH_LP_PASSES(pass)                                                                         \
    pass(MOVE, move, bh_lp_move, EACH) pass(EXPORT, export_pairs, bh_lp_export, EACH)

#define BH_LP_PASS_NUMBER(name, text, argument, how) BH_LP_PASS_##name,
enum { BH_LP_PASSES(BH_LP_PASS_NUMBER) BH_LP_PASSES_END };

typedef struct bh_lp_move {
    const bh_lp_geometry *geometry;
    uint64_t from; /* address */
} bh_lp_move;

typedef struct bh_lp_export {
    const bh_lp_geometry *geometry;
    void *keys;
    void *values; /* NULL: keys only */
    uint64_t room;
    uint64_t at;     /* the slot to begin with, and then the one where it ended */
    uint64_t copied; /* set */
} bh_lp_export;

#endif
