/* One pair of widths of hashfight.cu: the kernels, and the functions that launch them. */
#if BH_APART < BH_DESIGN_INSTANCES
#include "cuda/device/hashfight/own.h"
#include "cuda/device/look_launch.h"

#define BH_GPU(name) BH_NAME(bh_gpu_hf_##name)
/* Passes that are not a thread for each item by the text of cores. */
#define BH_LAUNCH_PASS(text, argument)                                                             \
    static int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items)                  \
    {                                                                                              \
        BH_NAME(bh_cuda_hf_##text)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(      \
            (argument *)job, items);                                                               \
        return (int)cudaGetLastError();                                                            \
    }

static int BH_GPU(find)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    return BH_DESIGN(launch_look)(BH_DESIGN(look_find), gpu, job, count, BH_LOOK_IN_TURN);
}

BH_LAUNCH_PASS(locate, bh_hf_locate)
BH_LAUNCH_PASS(want, bh_hf_runs)

static int BH_DESIGN(launch_fold)(bh__gpu *gpu, void *job, uint64_t items)
{
    BH_NAME(bh_cuda_hf_fold)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(
        (bh_hf_runs *)job, items);
    BH_NAME(bh_cuda_hf_fold_long)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(
        (bh_hf_runs *)job, items);
    return (int)cudaGetLastError();
}

static int BH_DESIGN(launch_team)(bh__gpu *gpu, void *job, uint64_t items)
{
    BH_NAME(bh_cuda_hf_team)<<<(unsigned)items, BH_HF_TEAM_THREADS, 0, gpu->stream>>>(
        (bh_hf_teams *)job);
    return (int)cudaGetLastError();
}

#include "cuda/device/passes.h"

static const bh__gpu_kernels BH_DESIGN(gpu_all) = {
    .known = {{}, sizeof(BH_DESIGN_GEOMETRY), BH_DESIGN(job_bytes)},
    .slice = {[BH_SLICE_FIND] = BH_GPU(find)},
    .pass = BH_DESIGN(launches),
};

#undef BH_GPU
#undef BH_LAUNCH_PASS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
