/*
 * One pair of widths of the device code of unit.cu: DyCuckoo's kernels, and those of HashFight,
 * which are only compiled so far.
 */
#include "cuda/kernels.h"
#if !BH_APART
#include "tables/hashfight/ops.h"
#endif

#define DEVICE(name) BH_NAME(bh_cuda_##name)

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
