/* The passes of bh__effects over runs of equal keys: a thread for each run, or each element. */
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#include "cuda/device/gpu.h"
#include "tables/effect.h"

static __device__ uint64_t item(void)
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

static __global__ void left_kernel(bh__effects e)
{
    if (item() < e.runs.count)
        bh_effect_left(&e, item());
}

static __global__ void answer_kernel(bh__effects e)
{
    if (item() < e.runs.count)
        bh_effect_answer(&e, item());
}

static __global__ void head_kernel(bh__effects e)
{
    if (item() < e.runs.count)
        bh_effect_head(&e, item());
}

static __global__ void share_kernel(bh__effects e)
{
    if (item() < e.runs.elements)
        bh_effect_share(&e, item());
}

static __global__ void count_kernel(bh__effects e)
{
    if (item() < e.runs.count)
        bh_effect_count(&e, item());
}

int bh__gpu_effects(bh__gpu *gpu, bh__effects_step step, const bh__effects *e)
{
    const unsigned runs = bh__gpu_blocks(e->runs.count),
                   elements = bh__gpu_blocks(e->runs.elements);

    switch (step) {
    case BH_EFFECTS_LEFT: left_kernel<<<runs, BH_CUDA_BLOCK, 0, gpu->stream>>>(*e); break;
    case BH_EFFECTS_ANSWER: answer_kernel<<<runs, BH_CUDA_BLOCK, 0, gpu->stream>>>(*e); break;
    case BH_EFFECTS_HEADS: head_kernel<<<runs, BH_CUDA_BLOCK, 0, gpu->stream>>>(*e); break;
    case BH_EFFECTS_COUNT: count_kernel<<<runs, BH_CUDA_BLOCK, 0, gpu->stream>>>(*e); break;
    default: share_kernel<<<elements, BH_CUDA_BLOCK, 0, gpu->stream>>>(*e); break;
    }
    return (int)cudaGetLastError();
}
