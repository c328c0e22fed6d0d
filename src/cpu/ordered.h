/*
 * How a call of a table with BH_DUPLICATES_ORDERED is cut (see ordered.c). A build for
 * tests may want all these numbers small.
 */
#ifndef BH_CPU_ORDERED_H
#define BH_CPU_ORDERED_H

#include "primitives/hash.h"

#ifndef BH_ORDERED_LEAST
/* Calls of fewer elements run in the calling thread (batch.c), and so do all calls where there is no other thread. Cutting a
 * call into segments takes about as long as running it, so two threads are hardly faster than one, and more are
 * (measured: docs/decisions/0048). */
#define BH_ORDERED_LEAST (1u << 15)
#define BH_ORDERED_THREADS 2u
/* Elements of a chunk, which bound the memory that a call takes besides the table. */
#define BH_ORDERED_CHUNK (1u << 20)
/* Elements of a part: few enough for a table of its keys in the first cache. */
#define BH_ORDERED_PART 2048u
/* How many segments a wave has at least; fewer are not worth one. */
#define BH_ORDERED_WAVE (1u << 14)
/* Items of one task of a pass. */
#define BH_ORDERED_GRAIN (1u << 13)
#endif

/* The seed by which a table's calls find the part of a key: not that of the table's own hash, or
 * the keys of a part would share buckets. *multiplier is for places in a part: odd. */
static inline bh_seed bh__ordered_seed(uint64_t table_seed, uint64_t *multiplier)
{
    uint64_t draw = ~table_seed;

    *multiplier = bh_seed_next(&draw) | 1;
    return bh_seed_expand(draw);
}

#endif
