/*
 * How a call of a table with BH_DUPLICATES_ORDERED is cut (see ordered.c). A build for
 * tests may want all these numbers small.
 */
#ifndef BH_CPU_ORDERED_H
#define BH_CPU_ORDERED_H

#ifndef BH_ORDERED_LEAST
/* Calls of fewer elements run one by one in the calling thread. */
#define BH_ORDERED_LEAST 8192u
/* Elements of a chunk, which bound the memory that a call takes besides the table. */
#define BH_ORDERED_CHUNK (1u << 20)
/* Elements of a part: few enough for a table of its keys in the first cache. */
#define BH_ORDERED_PART 2048u
/* Segments that are worth a wave. */
#define BH_ORDERED_WAVE (1u << 14)
/* Items of one task of a pass. */
#define BH_ORDERED_GRAIN (1u << 14)
#endif

#endif
