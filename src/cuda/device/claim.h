/*
 * Insertions on a GPU into tables with BH_HINT_AT_ONCE: for one pair of widths of one design. An include-template: see
 * instance.h, and tables/declared.h.
 *
 * Each element is carried to its end as a lookup is (look.h), and claims a place for its key without a lock. While it
 * looks at a copy of a region others may claim places in it, and write keys: so a claim is a compare-and-swap of what
 * the copy had, and the copy of a slot is asked for only after the copy of its ticket has come, behind which the pair
 * was written. Copies do not come from the first cache. Plain loads may, as in lookups: what they read is old, or
 * only a hint (a bound, which keys from before this kernel need). What needs a lock is listed for the
 * stages of kernels.h.
 */
#include "cuda/device/job.h"

/* Blocks that run on a multiprocessor, at least: with four, registers would be spilled (look.h). */
#undef BH_CLAIM_BLOCKS
#define BH_CLAIM_BLOCKS 3

/* `kind` is a constant, or the slice's. */
BH_FN void BH_DESIGN(claim_all)(bh__cuda_job *job, uint32_t kind, uint32_t rounds, int stage)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = job->slice;

    /* (Floats of 4 bytes are added under locks: see bh_join_word.) */
    slice.hints = BH_HINT_AT_ONCE | (BH_OP_ROUNDS(kind) && BH_VALUE_BYTES == 4 ? 0 : BH_HINT_ALIKE);
    slice.inserted = slice.assigned = 0;
    BH_DESIGN(look_in_turn)(job, &slice, kind, BH_LOOK_CLAIM, stage, rounds, places[threadIdx.x]);
    bh_cuda_enter_block(&job->slice.inserted, slice.inserted);
    bh_cuda_enter_block(&job->slice.assigned, slice.assigned);
    if (blockIdx.x == 0 && threadIdx.x == 0 && !job->schedule)
        job->schedule = BH__CUDA_SIFT;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_CLAIM_BLOCKS)
    BH_DESIGN(claim_insert)(bh__cuda_job *job, uint32_t rounds, int stage)
{
    BH_DESIGN(claim_all)(job, BH_INSERT, rounds, stage);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_CLAIM_BLOCKS)
    BH_DESIGN(claim_other)(bh__cuda_job *job, uint32_t rounds, int stage)
{
    BH_DESIGN(claim_all)(job, job->slice.op, rounds, stage);
}
