/*
 * Calls that join values (bh_reduce) and have far more elements than keys, as counting does: each thread first joins the values
 * of its elements in a small table of its own, and then the caller's table sees each of its keys once:
 *
 *     the call's elements    a b a c a a b | a c c a c a a | b a b b a ...
 *     thread 0               a 4, b 2, c 1                                     \
 *     thread 1                               a 4, c 3                           >   three batches of 3, 2 and 2 elements
 *     thread 2                                             b 3, a 2            /
 *
 * Otherwise threads wait for each other's lines. With 1,000 keys 16 threads together were no faster than one.
 *
 * Where the same few keys come again and again the slices of any call do the same, each with its own elements (fold.h). That helps
 * as long as a slice has several elements of a key.
 */
#ifndef BH_CPU_JOINED_H
#define BH_CPU_JOINED_H

#include "cpu/backend.h"

/* Elements of a call at least, which may use all threads (LONG_SLICES in batch.c). Below, samples would cost too large a part of the call.
 * Chosen, not tuned. */
#define BH_JOINED_LEAST (UINT64_C(1) << 18)

/* Whether values of equal keys of a call may be joined first, as far as can be told without looking at the keys. (The outcome of an
 * element is not known then, nor in which order its key's floats are added.) */
int bh__joined_may(const bh_table *table, const bh__batch *batch);

/*
 * Runs the first elements of a call, maybe all, and answers how many. 0: their keys seem to differ too much, or there is no memory.
 * Fewer than all: what came showed that they do. *status receives what bh__cpu_run answers, the first failure. Takes up to 0.5 MiB of
 * memory for each worker.
 */
uint64_t bh__joined_run(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                        uint64_t workers_most, bh__growth *growth, bh_status *status);

#endif
