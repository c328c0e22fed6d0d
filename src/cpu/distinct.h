/*
 * How many elements of an array, from the first on, have keys that are all different. An ordered call keeps the order
 * of equal keys alone, so such elements may run as if concurrent (batch.c).
 */
#ifndef BH_CPU_DISTINCT_H
#define BH_CPU_DISTINCT_H

#include <stdint.h>

#include "tables/table.h"

/* An ordered call runs elements as if concurrent where at least so many in a row have different keys. With fewer the
 * gate and the beginning of a window cost more than the order does. Measured: docs/decisions/0048. A build for tests may want
 * another number. */
#ifndef BH_DISTINCT_LEAST
#define BH_DISTINCT_LEAST 64u
#endif

/*
 * Answers for keys of 4 or 8 bytes, of which `count` begin at `keys` (at most BH_SLICE_MOST), how many in front of the first
 * that repeats one have different keys: 1 at least. It may answer less where keys collide on purpose. Takes 16 KiB
 * of stack. A few nanoseconds a key.
 */
uint32_t bh__distinct(const void *keys, uint32_t key_bytes, uint32_t count);

#endif
