/*
 * HashFight's kernels for one pair of widths: the kernel of lookups (look.h), and a thread for each item of a
 * pass. An include-template: see instance.h.
 */
#include "cuda/module.h"
#include "tables/hashfight/ops.h"
#include "tables/hashfight/teams.h"

#include "cuda/device/look.h"

#ifndef BH_CUDA_DEVICE_HASHFIGHT_OWN_H
#define BH_CUDA_DEVICE_HASHFIGHT_OWN_H

BH_FN uint64_t bh_hf_thread(void)
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

/* Adds what the threads of this warp have counted to a counter of all threads, by one atomic addition. All
 * lanes of the warp must come here. */
BH_FN void bh_hf_tally(uint64_t *counter, uint64_t counted)
{
    int distance;

    for (distance = 16; distance; distance /= 2)
        counted += __shfl_down_sync(0xffffffffu, counted, (unsigned)distance);
    if (counted && threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)counter, (unsigned long long)counted);
}

#endif

#define BH_KERNEL(name) BH_NAME(bh_cuda_hf_##name)
#define BH_HF(name) BH_NAME(bh_hf_##name)

__global__ void BH_KERNEL(locate)(const bh_hf_locate *job, uint64_t items)
{
    const uint32_t at = (uint32_t)(bh_hf_thread() / BH_CUDA_TILE);
    bh__slice slice = {};
    bh_region region;
    BH_HF(op) op;

    if (at >= items)
        return;
    slice.geometry = job->geometry;
    slice.keys = job->keys;
    slice.values_out = job->places;
    region = BH_HF(begin)(&slice, &op, at, BH_HF_LOCATE);
    while (BH_HF(step)(&slice, &op, BH_HF_LOCATE, region.offset, &region) != BH_DONE)
        ;
}

#if BH_CUDA_TILE == 1
/* A block is a team. There are two calls, so that the compiler knows in each whether scratch memory is shared
 * or global. */
__global__ void __launch_bounds__(BH_HF_TEAM_THREADS, 5) BH_KERNEL(team)(bh_hf_teams *job)
{
    __shared__ uint64_t fast[BH_HF_TEAM_BYTES / 8];

    if (job->scratch)
        BH_HF(team_fights)(job, blockIdx.x, job->scratch + blockIdx.x * job->scratch_bytes);
    else
        BH_HF(team_fights)(job, blockIdx.x, (unsigned char *)fast);
}

__global__ void BH_KERNEL(want)(bh_hf_runs *job, uint64_t items)
{
    uint64_t wanted = 0;

    if (bh_hf_thread() < items)
        wanted = BH_HF(want_run)(job, bh_hf_thread());
    bh_hf_tally(&job->wanting, wanted);
}

/* A thread for each run that is not long. */
__global__ void BH_KERNEL(fold)(bh_hf_runs *job, uint64_t items)
{
    const uint64_t run = bh_hf_thread();
    const uint64_t begin = run < items ? job->runs.starts[run] : 0;
    const uint64_t end = run < items ? bh_run_end(&job->runs, run) : 0;
    bh_done done = {0, 0, 0, 0};

    if (run < items && !BH_HF(is_long)(job, begin, end))
        BH_HF(fold_run)(job, run, begin, end, &done);
    bh_hf_tally(&job->inserted, done.inserted);
    bh_hf_tally(&job->erased, done.erased);
    bh_hf_tally(&job->assigned, done.assigned);
    bh_hf_tally(&job->refused, done.refused);
}

/* The others: a block is a team for those long runs that it finds. (In one kernel with `fold` they want more
 * registers than the calls of rare operations leave.) */
__global__ void __launch_bounds__(BH_CUDA_BLOCK)
    BH_KERNEL(fold_long)(bh_hf_runs *job, uint64_t items)
{
    static_assert(BH_CUDA_BLOCK <= BH_HF_LONG_RUN, "each thread of a team has an element");
    __shared__ uint64_t memory[BH_CUDA_BLOCK];
    __shared__ uint64_t list[BH_CUDA_BLOCK];
    __shared__ uint32_t listed;
    const uint64_t run = bh_hf_thread();
    uint32_t i;

    if (threadIdx.x == 0)
        listed = 0;
    __syncthreads();
    if (run < items && BH_HF(is_long)(job, job->runs.starts[run], bh_run_end(&job->runs, run)))
        list[atomicAdd(&listed, 1)] = run;
    __syncthreads();
    for (i = 0; i < listed; i++)
        BH_HF(fold_long_run)(job, list[i], memory);
}

#endif

#undef BH_KERNEL
#undef BH_HF
