/* One pair of widths of the lookups of find.cu. */
#if !BH_APART
#include "tables/dycuckoo/ops.h"

__global__ void BH_NAME(bh_gpu_find_kernel)(const bh__cuda_job *job)
{
    const uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const bh__slice slice = job->slice;
    BH_NAME(bh_dy_op) op;
    bh_region region;

    if (at >= job->count)
        return;
    region = BH_NAME(bh_dy_begin)(&slice, &op, (uint32_t)at, BH_FIND);
    op.home = op.other = op.from = 0;
    while (BH_NAME(bh_dy_step_find)(&slice, &op, region.offset, &region) != BH_DONE)
        ;
    if (slice.outcomes)
        slice.outcomes[at] = op.outcome;
}

static int BH_NAME(bh_gpu_find)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    BH_NAME(bh_gpu_find_kernel)<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);
    return (int)cudaGetLastError();
}
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
