/* The CPU backend as a context sees it. */
#ifndef BH_CPU_BACKEND_H
#define BH_CPU_BACKEND_H

#include "cpu/pool.h"
#include "cpu/unit.h"
#include "tables/table.h"

typedef struct bh__cpu {
    bh__backend backend; /* first: a backend pointer is a pointer to this */
    bh__target target;
    bh__pool *pool; /* NULL: the caller brought an executor */

    /* What large calls write lies in another line than what all calls read. */
    unsigned char apart[64];
    uint32_t large_calls; /* that run now, for which several threads may be asked */
} bh__cpu;

/* Makes the backend from checked options; `system` is the one to use. Writes the error sentence.
 * Returns BH_OK, BH_ERR_ARGUMENT, BH_ERR_UNSUPPORTED, BH_ERR_MEMORY. */
bh_status bh__cpu_init(bh__cpu *cpu, const bh_context_options *options, const bh_system *system);
void bh__cpu_end(bh__cpu *cpu);

/* batch.c: runs one call on arrays; bh__cpu_slices runs it in slices, without asking the table's policy. */
bh_status bh__cpu_batch(const bh__backend *backend, bh_table *table, const bh__batch *batch);
bh_status bh__cpu_slices(const bh__backend *backend, bh_table *table, const bh__batch *batch);

/* What a call has learned about growing; all batches of a call share it. */
typedef struct bh__growth {
    int may_grow;  /* growing has not failed yet */
    bh_status why; /* why elements are refused: how growing failed */
} bh__growth;

/* Runs one batch of a call: as if its elements were concurrent, or in their order and in the calling
 * thread. */
bh_status bh__cpu_run(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                      int in_order, bh__growth *growth);

/* ordered.c: runs one call whose elements must seem to run in their order. */
bh_status bh__cpu_ordered(const bh__backend *backend, bh_table *table, const bh__batch *batch);

#endif
