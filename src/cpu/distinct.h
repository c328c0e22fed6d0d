/*
 * How many elements of an array, from the first on, have keys that are all different. An ordered call keeps the order
 * of equal keys alone, so such elements may run as if concurrent (batch.c).
 */
#ifndef BH_CPU_DISTINCT_H
#define BH_CPU_DISTINCT_H

#include <stdint.h>

#include "tables/table.h"

/* An ordered call runs elements as if concurrent where at least so many in a row have different keys; where it is of
 * different operations, which then run kind by kind, so many. Measured: docs/decisions/0048. A build for tests may want other
 * numbers. */
#ifndef BH_DISTINCT_LEAST
#define BH_DISTINCT_LEAST 64u
#define BH_DISTINCT_LEAST_MIXED 192u
#endif

/* How many keys are looked at at a time: so many that the table they are entered in, of 32 KiB, lies in the first cache. */
#define BH_DISTINCT_MOST (BH_SLICE_MOST < 2048u ? BH_SLICE_MOST + 0u : 2048u)

/*
 * Answers for keys of 4 or 8 bytes, of which `count` begin at `keys` (at most BH_DISTINCT_MOST), how many in front of the first
 * that repeats one have different keys: 1 at least. It answers less where keys have been chosen that collide in its own
 * table. Takes up to 33 KiB of stack. 3 ns a key.
 */
uint32_t bh__distinct(const void *keys, uint32_t key_bytes, uint32_t count);

#endif
