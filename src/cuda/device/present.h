/*
 * Changes of keys that are there, on a GPU: for one pair of widths of one design. An include-template: see
 * instance.h, and tables/declared.h.
 *
 * While a kernel of one operation runs in which nothing is inserted, no key moves. So its elements look their
 * keys up as lookups do (look.h: lines copied to shared memory, no fences), and act on what they find by one
 * access: a value is stored, or joined to by one atomic operation, and a key is erased by clearing its slot's
 * bits. With locks each of them would make four requests to the L2 cache; so it makes two.
 *
 * Operations that do not insert end here. Those that do leave the absent keys to the stages of kernels.h, in a
 * list.
 */
#include "cuda/device/job.h"

/* `hints` is a constant. */
BH_FN void BH_DESIGN(present)(const bh__cuda_job *job, uint32_t kind, uint32_t rounds,
                              uint32_t hints)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = job->slice;

    slice.hints = BH_HINT_ALIKE | hints;
    slice.erased = slice.assigned = 0;
    BH_DESIGN(look_in_turn)(job, &slice, kind, BH_LOOK_PRESENT, BH_CUDA_FRESH, 0, rounds,
                            places[threadIdx.x]);
    if (BH_OP_ERASES(kind))
        bh_cuda_enter_block(&job->done->erased, slice.erased);
    else if (!BH_OP_KEEPS(kind))
        bh_cuda_enter_block(&job->done->assigned, slice.assigned);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job->done->schedule = BH__CUDA_SIFT;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_LOOK_BLOCKS)
    BH_DESIGN(present_erase)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(present)(&job, BH_ERASE, rounds, 0);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_LOOK_BLOCKS)
    BH_DESIGN(present_change)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(present)(&job, job.slice.op, rounds, 0);
}

#ifdef BH_DESIGN_AT_ONCE
__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4)
    BH_DESIGN(erase_at_once)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(present)(&job, BH_ERASE, rounds, BH_HINT_AT_ONCE);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4)
    BH_DESIGN(change_at_once)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(present)(&job, job.slice.op, rounds, BH_HINT_AT_ONCE);
}
#endif
