/* One pair of widths of the lookups of find.cu. */
#include "tables/dycuckoo/ops.h"

#define GPU(name) BH_NAME(bh_gpu_##name)

/* Looks an element's key up, to the end. */
BH_FN void GPU(look)(const bh__slice *slice, BH_NAME(bh_dy_op) *op, uint64_t at)
{
    bh_region region = BH_NAME(bh_dy_begin)(slice, op, (uint32_t)at, BH_FIND);

    op->home = op->other = op->from = 0;
    while (BH_NAME(bh_dy_step_find)(slice, op, region.offset, &region) != BH_DONE)
        ;
}

__global__ void GPU(find_kernel)(bh__cuda_job *job)
{
    const uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const bh__slice slice = job->slice;
    BH_NAME(bh_dy_op) op;

    if (at >= job->count)
        return;
    GPU(look)(&slice, &op, at);
    if (slice.outcomes)
        slice.outcomes[at] = op.outcome;
    /* Looked at first: it is at hand in the first cache, and a store for each warp that misses
     * would all go to one place. */
    if (op.outcome == BH_MISSING && !job->missing)
        job->missing = 1;
}

static int GPU(find)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    GPU(find_kernel)<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);
    return (int)cudaGetLastError();
}

/* Whether the key of an element is to have its bit set: it would be inserted and is not there, or
 * it is one of a sample. */
BH_FN int GPU(surveys)(const bh__cuda_job *job, uint64_t at)
{
    bh__slice slice = job->slice;
    BH_NAME(bh_dy_op) op;

    if (job->every)
        return 1;
    if (!bh_inserts(slice.ops ? slice.ops[at] : slice.op))
        return 0;
    slice.values_out = 0;
    GPU(look)(&slice, &op, at);
    return op.outcome == BH_MISSING;
}

/* A key's bit is set by one of those that bring it, and that one counts: so equal keys count once,
 * and so do keys that share a bit. */
__global__ void GPU(survey_kernel)(bh__cuda_job *job)
{
    const uint64_t item = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t at = item * (job->every ? job->every : 1);
    int sets = 0;

    if (item < job->count && GPU(surveys)(job, at)) {
        const bh_dy_geometry *geometry = (const bh_dy_geometry *)job->slice.geometry;
        const uint64_t key = ((const BH_KEY *)job->slice.keys)[at];
        const uint64_t bit = bh_hash_key(key, &geometry->seed).one & (job->bit_count - 1);
        const uint32_t mask = 1u << bit % 32;

        sets = !(atomicOr(&job->bits[bit / 32], mask) & mask);
    }
    sets = __syncthreads_count(sets);
    if (threadIdx.x == 0 && sets)
        atomicAdd((unsigned long long *)&job->fresh, (unsigned long long)sets);
}

static int GPU(survey)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    GPU(survey_kernel)<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);
    return (int)cudaGetLastError();
}

#undef GPU

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
