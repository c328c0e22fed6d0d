/*
 * Elements in the order in which their keys' places lie in memory: the reorder of DACHash, and the HashFight
 * paper's passes by region. A worker takes a chunk of the call, asks the design where the places are
 * (bh__places), partitions the chunk by that, runs slices of it in that order, and gives the results back to
 * the elements that they belong to.
 *
 *     call      [ chunk 0 | chunk 1 | chunk 2 | chunk 3 | .. ]
 *     worker a    sort, run, return;  sort, ..
 *     worker b              sort, run, return;  sort, ..
 *
 * No worker waits for another between these stages, and all that a chunk needs stays near one core. A table
 * that changes between the sorting and the slices only makes the order a worse one.
 *
 * DACHash's paper claims a place of a row of M elements for each key by an atomic addition, and looks for
 * another row where that one is full (its algorithm 1). Here the rows are counted first: no key is in another
 * row than its own, and one key that comes often is not searched a row for again and again.
 */
#ifndef BH_CPU_SORTED_H
#define BH_CPU_SORTED_H

#include "tables/table.h"

/* Elements of a chunk at most: with four times as many, results are scattered beyond the caches; with
 * a quarter, fewer elements share a page with another. */
#ifndef BH_SORTED_CHUNK
#define BH_SORTED_CHUNK (1u << 18)
#endif

/* One worker's chunk. */
typedef struct bh__sorted {
    bh__batch own; /* the part of the call */
    bh__batch
        batch; /* the same in the order of memory, or `own` again where it could not be sorted */
    uint64_t next; /* first element of `batch` that is in no slice yet */
    unsigned char *memory;
} bh__sorted;

/* Bytes of memory, aligned to 64, for a chunk of up to n elements. */
uint64_t bh__sorted_bytes(const bh_table *table, uint64_t n);

/* Sorts the elements [first, first + n) of a call, n <= BH_SORTED_CHUNK. */
void bh__sorted_take(bh__sorted *sorted, const bh__backend *backend, bh_table *table,
                     const bh__batch *whole, uint64_t first, uint64_t n);

/* Gives the results back when all elements of the chunk have been run. */
void bh__sorted_return(bh__sorted *sorted, const bh_table *table);

#endif
