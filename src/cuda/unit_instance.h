/*
 * One pair of widths of the device code: for each kind of slice a kernel in which a
 * group (a thread, or a tile of BH_CUDA_TILE) carries one operation to its end, and
 * a kernel for each pass. Included by unit.cu once for each pair.
 */
#include "tables/dycuckoo/ops.h"
#if !BH_APART
#include "tables/hashfight/ops.h"
#endif

#ifndef BH_CUDA_UNIT_INSTANCE_H
#define BH_CUDA_UNIT_INSTANCE_H

/* Adds to a counter of all threads what the groups of this warp have counted, by one addition: with
 * one for each group an H200 inserted 1.1 G keys/s and not 3.3. */
BH_FN void bh_cuda_count(uint64_t *counter, uint64_t counted)
{
    const uint32_t here = __activemask();
    const uint32_t sum =
        __reduce_add_sync(here, bh_cuda_lane() == 0 ? (uint32_t)counted : 0);

    if (sum && threadIdx.x % 32 == bh_first(here))
        atomicAdd((unsigned long long *)counter, (unsigned long long)sum);
}

#endif

#define DEVICE(name) BH_NAME(bh_cuda_##name)

/* Runs operation `at` of the slice. What it counts is added to the shared slice at the end; what
 * stalls is marked, for the host to see to. */
BH_FN void DEVICE(run)(bh__slice *shared, uint8_t *stalled, uint32_t kind)
{
    uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) / BH_CUDA_TILE;
    bh__slice slice = *shared;
    BH_NAME(bh_dy_op) op;
    bh_region region;
    bh_answer answer;

    if (at >= slice.count)
        return;
    if (kind > BH_MAX)
        kind = slice.ops[at];
    slice.room = 1;
    slice.inserted = slice.erased = slice.assigned = 0;
    region = BH_NAME(bh_dy_begin)(&slice, &op, at, kind);
    op.home = op.other = op.from = 0;
    do {
        answer = BH_NAME(bh_dy_step)(&slice, &op, kind, region.offset, &region);
    } while (answer == BH_NEXT || answer == BH_RETRY);
    if (bh_cuda_lane() == 0) {
        if (slice.outcomes && answer == BH_DONE)
            slice.outcomes[at] = op.outcome;
        stalled[at] = answer == BH_STALL;
    }
    bh_cuda_count(&shared->inserted, slice.inserted);
    bh_cuda_count(&shared->erased, slice.erased);
    bh_cuda_count(&shared->assigned, slice.assigned);
}

__global__ void DEVICE(find)(bh__slice *slice, uint8_t *stalled)
{
    DEVICE(run)(slice, stalled, BH_FIND);
}

__global__ void DEVICE(insert)(bh__slice *slice, uint8_t *stalled)
{
    DEVICE(run)(slice, stalled, BH_INSERT);
}

__global__ void DEVICE(erase)(bh__slice *slice, uint8_t *stalled)
{
    DEVICE(run)(slice, stalled, BH_ERASE);
}

__global__ void DEVICE(add)(bh__slice *slice, uint8_t *stalled)
{
    DEVICE(run)(slice, stalled, BH_ADD);
}

__global__ void DEVICE(mixed)(bh__slice *slice, uint8_t *stalled)
{
    DEVICE(run)(slice, stalled, BH_MAX + 1);
}

#if BH_CUDA_TILE == 1
__global__ void DEVICE(split)(bh_dy_resize *split)
{
    BH_NAME(bh_dy_split_buckets)(split, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(home)(bh_dy_resize *split)
{
    BH_NAME(bh_dy_bring_home)(split, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(merge)(bh_dy_resize *merge)
{
    BH_NAME(bh_dy_merge_buckets)(merge, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(residue)(bh_dy_resize *merge, uint64_t buckets)
{
    BH_NAME(bh_dy_place_residue)(merge, 0, buckets);
}

__global__ void DEVICE(reinsert)(bh_dy_reinsert *job)
{
    BH_NAME(bh_dy_reinsert_buckets)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(place)(bh__slice *slice)
{
    BH_NAME(bh_dy_place)(slice, 0, 1);
}

__global__ void DEVICE(export)(bh_dy_export *job)
{
    BH_NAME(bh_dy_export_parts)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}
#endif

#if !BH_APART
/* HashFight: lookups; `locate` writes places. */
BH_FN void DEVICE(look)(const bh__slice *shared, uint32_t kind)
{
    uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) / BH_CUDA_TILE;
    bh__slice slice = *shared;
    BH_NAME(bh_hf_op) op;
    bh_region region;

    if (at >= slice.count)
        return;
    region = BH_NAME(bh_hf_begin)(&slice, &op, at, kind);
    while (BH_NAME(bh_hf_step)(&slice, &op, kind, region.offset, &region) != BH_DONE)
        ;
    if (bh_cuda_lane() == 0 && slice.outcomes)
        slice.outcomes[at] = op.outcome;
}

__global__ void DEVICE(hf_find)(const bh__slice *slice)
{
    DEVICE(look)(slice, BH_FIND);
}

__global__ void DEVICE(hf_locate)(const bh__slice *slice)
{
    DEVICE(look)(slice, BH_HF_LOCATE);
}

#if BH_CUDA_TILE == 1
__global__ void DEVICE(hf_filler)(bh_hf_fight *job)
{
    BH_NAME(bh_hf_find_fillers)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_fight)(bh_hf_fight *job)
{
    BH_NAME(bh_hf_fight_tasks)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_tail)(bh_hf_fight *job)
{
    BH_NAME(bh_hf_make_tail)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_want)(bh_hf_runs *job)
{
    BH_NAME(bh_hf_want)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_fold)(bh_hf_runs *job)
{
    BH_NAME(bh_hf_fold)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_count)(bh_hf_export *job)
{
    BH_NAME(bh_hf_count_parts)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}

__global__ void DEVICE(hf_export)(bh_hf_export *job)
{
    BH_NAME(bh_hf_export_parts)(job, blockIdx.x * blockDim.x + threadIdx.x, 1);
}
#endif
#endif

#undef DEVICE
#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
