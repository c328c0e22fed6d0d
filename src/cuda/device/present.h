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

#ifndef BH_CUDA_DEVICE_PRESENT_H
#define BH_CUDA_DEVICE_PRESENT_H

/* Adds up what the threads of a block have done, by one atomic operation. */
BH_FN void bh_cuda_enter_block(uint64_t *counter, int did)
{
    const int count = __syncthreads_count(did);

    if (threadIdx.x == 0 && count)
        atomicAdd((unsigned long long *)counter, (unsigned long long)count);
}

#endif

/* Carries an element that is `mine` to its end. All lanes of the warp come here. */
BH_FN bh_answer BH_DESIGN(present_carry)(bh__slice *slice, BH_DESIGN(op) *op, uint32_t at,
                                         uint32_t kind, int mine)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    unsigned char *place = places[threadIdx.x];
    bh_answer answer = mine ? BH_NEXT : BH_DONE;
    bh_region region = {};

    if (mine)
        region = BH_DESIGN(begin)(slice, op, at, kind);
    while (__any_sync(0xffffffffu, answer == BH_NEXT)) {
        const uint64_t line = BH_DESIGN(look_bring)(place, region, answer == BH_NEXT);

        if (answer == BH_NEXT)
            answer = BH_DESIGN(step_present)(slice, op, kind, line, &region);
        __syncwarp(); /* a place must not be written before all have read the region in it */
    }
    return answer;
}

BH_FN void BH_DESIGN(present)(bh__cuda_job *job, uint32_t kind)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const int mine = i < job->count;
    const uint32_t at = mine && job->names ? job->names[i] : (uint32_t)i;
    bh__slice slice = job->slice;
    BH_DESIGN(op) op = {};
    bh_answer answer;

    slice.hints = BH_HINT_ALIKE;
    slice.erased = slice.assigned = 0;
    answer = BH_DESIGN(present_carry)(&slice, &op, at, kind, mine);
    if (mine && answer == BH_DONE && slice.outcomes)
        slice.outcomes[at] = op.outcome;
    if (BH_OP_INSERTS(kind)) {
        const int parks = mine && answer == BH_STALL;

        bh_cuda_park(job, BH__CUDA_ABSENT, at, 0, parks);
    }
    if (BH_OP_ERASES(kind))
        bh_cuda_enter_block(&job->slice.erased, slice.erased != 0);
    else if (!BH_OP_KEEPS(kind))
        bh_cuda_enter_block(&job->slice.assigned, slice.assigned != 0);
    if (i == 0)
        job->schedule = BH__CUDA_SIFT;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4) BH_DESIGN(present_erase)(bh__cuda_job *job)
{
    BH_DESIGN(present)(job, BH_ERASE);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4) BH_DESIGN(present_change)(bh__cuda_job *job)
{
    BH_DESIGN(present)(job, job->slice.op);
}
