/* One pair of widths of hashfight.cu: the kernels, and the functions that launch them. */
#if !BH_APART
#include "cuda/hashfight_kernels.h"

#define GPU(name) BH_NAME(bh_gpu_hf_##name)
#define LAUNCH_PASS(pass, type)                                                                    \
    static int GPU(pass)(bh__gpu * gpu, void *job, uint64_t items)                                 \
    {                                                                                              \
        BH_NAME(bh_cuda_hf_##pass)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(      \
            (type *)job, items);                                                                   \
        return (int)cudaGetLastError();                                                            \
    }

static int GPU(find)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    BH_NAME(bh_cuda_hf_find)<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);
    return (int)cudaGetLastError();
}

LAUNCH_PASS(locate, bh_hf_locate)
LAUNCH_PASS(filler, bh_hf_fillers)
LAUNCH_PASS(lay, bh_hf_teams)
LAUNCH_PASS(tell, bh_hf_teams)
LAUNCH_PASS(want, bh_hf_runs)
LAUNCH_PASS(fold, bh_hf_runs)
LAUNCH_PASS(count, bh_hf_export)
LAUNCH_PASS(export, bh_hf_export)

static int GPU(team)(bh__gpu *gpu, void *job, uint64_t items)
{
    BH_NAME(bh_cuda_hf_team)<<<(unsigned)items, BH_HF_TEAM_THREADS, 0, gpu->stream>>>(
        (bh_hf_teams *)job);
    return (int)cudaGetLastError();
}

/* In the order of bh__pass. Those that are left out are other designs', or are for cores. */
static const bh__gpu_kernels BH_NAME(bh_gpu_hashfight) = {
    {{},
     sizeof(bh_hf_geometry),
     {0, 0, 0, 0, 0, 0, sizeof(bh_hf_export), sizeof(bh_hf_export), sizeof(bh_hf_fillers), 0, 0,
      sizeof(bh_hf_locate), sizeof(bh_hf_runs), sizeof(bh_hf_runs), sizeof(bh_hf_teams),
      sizeof(bh_hf_teams), sizeof(bh_hf_teams)}},
    {GPU(find), 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, GPU(count), GPU(export), GPU(filler), 0, 0, GPU(locate), GPU(want),
     GPU(fold), GPU(lay), GPU(team), GPU(tell)},
};

#undef GPU
#undef LAUNCH_PASS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
