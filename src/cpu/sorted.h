/*
 * Lookups in the order in which their keys' places lie in memory: the HashFight paper's passes by
 * region. A worker takes a chunk of the call, partitions its keys by their hash, which is the order
 * of places in a table whose layout follows the upper bits of the hash, runs slices of them in that
 * order, and gives the results back to the elements that they belong to.
 *
 *     call      [ chunk 0 | chunk 1 | chunk 2 | chunk 3 | .. ]
 *     worker a    sort, look up, return;  sort, ..
 *     worker b              sort, look up, return;  sort, ..
 *
 * No worker waits for another between these stages, and all that a chunk needs stays near one core.
 */
#ifndef BH_CPU_SORTED_H
#define BH_CPU_SORTED_H

#include "tables/table.h"

/* Lookups of a chunk at most: with four times as many, results are scattered beyond the caches; with
 * a quarter, fewer lookups share a page with another. */
#ifndef BH_SORTED_CHUNK
#define BH_SORTED_CHUNK (1u << 18)
#endif

/* One worker's chunk. */
typedef struct bh__sorted {
    bh__batch own;   /* the part of the call */
    bh__batch batch; /* the same in the order of memory, or `own` again for want of memory */
    uint64_t next;   /* first element of `batch` that is in no slice yet */
    unsigned char *memory;
} bh__sorted;

/* Bytes of memory, aligned to 64, for a chunk of up to n lookups. */
uint64_t bh__sorted_bytes(const bh_table *table, uint64_t n);

/* Sorts the elements [first, first + n) of a call, n <= BH_SORTED_CHUNK. */
void bh__sorted_take(bh__sorted *sorted, const bh__backend *backend, const bh_table *table,
                     const bh__batch *whole, uint64_t first, uint64_t n);

/* Gives the results back when all keys of the chunk have been looked up. */
void bh__sorted_return(bh__sorted *sorted, const bh_table *table);

#endif
