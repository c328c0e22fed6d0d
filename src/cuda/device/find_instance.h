/* One pair of widths of the lookups of find.cu. */
#if BH_APART < BH_DESIGN_INSTANCES
#include BH_DESIGN_OPS

#define BH_GPU(name) BH_DESIGN(gpu_##name)

#include "cuda/device/look.h"
#include "cuda/device/look_launch.h"

int BH_GPU(find)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    return BH_DESIGN(launch_look)(BH_DESIGN(look_find), gpu, job, count, BH_LOOK_IN_TURN);
}

#ifdef BH_DESIGN_AT_ONCE
int BH_GPU(find_at_once)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    return BH_DESIGN(launch_look)(BH_DESIGN(look_at_once), gpu, job, count, BH_LOOK_IN_TURN);
}
#endif

#ifdef BH_DESIGN_PRESENT
#include "cuda/device/present.h"

int BH_GPU(present)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint32_t hints,
                    uint64_t count)
{
#ifdef BH_DESIGN_AT_ONCE
    if (hints & BH_HINT_AT_ONCE)
        return BH_DESIGN(launch_look)(BH_OP_ERASES(op) ? BH_DESIGN(erase_at_once)
                                                       : BH_DESIGN(change_at_once),
                                      gpu, job, count, BH_DESIGN_IN_TURN);
#endif
    (void)hints;
    return BH_DESIGN(launch_look)(BH_OP_ERASES(op) ? BH_DESIGN(present_erase)
                                                   : BH_DESIGN(present_change),
                                  gpu, job, count, BH_DESIGN_IN_TURN);
}
#endif

#ifdef BH_DESIGN_CLAIMS
#include "cuda/device/claim.h"

int BH_GPU(claim)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint64_t count, int stage)
{
    void (*const kernel)(const bh__cuda_job, uint32_t, int, int) =
        op == BH_INSERT ? BH_DESIGN(claim_insert) : BH_DESIGN(claim_other);
    const unsigned listed = bh__gpu_blocks(count < gpu->threads ? count : gpu->threads);
    const uint32_t rounds = BH_DESIGN(look_rounds)(gpu, count, BH_DESIGN_IN_TURN);
    int error;

#ifdef BH_DESIGN_CLAIMS_FIRST
    void (*const first)(const bh__cuda_job) =
        op == BH_INSERT ? BH_DESIGN(claim_first_insert) : BH_DESIGN(claim_first_other);

    if (!stage) {
        first<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);
        return (int)cudaGetLastError();
    }
#endif
    if (!stage) {
        kernel<<<BH_DESIGN(look_blocks)(count, rounds), BH_CUDA_BLOCK, 0, gpu->stream>>>(
            *job, rounds, stage, 0);
        return (int)cudaGetLastError();
    }
    error = bh__gpu_follow(gpu, listed, BH_CUDA_BLOCK, 0, kernel, *job, rounds, stage, 0);
    if (stage != BH__CUDA_HOME_FULL)
        return bh__gpu_listed(gpu, job, stage, error);
    /* The list of the second stage is not emptied: that stage goes through what is left of it. */
    if (error)
        return error;
    return bh__gpu_behind(
        bh__gpu_follow(gpu, listed, BH_CUDA_BLOCK, 0, kernel, *job, rounds, stage, 1));
}
#endif

/* Whether an element would insert its key, which is absent; with `blind`, whether it inserts. All lanes of the warp come here. */
BH_FN int BH_GPU(is_new)(const bh__cuda_job *job, uint64_t at, int looks)
{
    bh__slice slice = job->slice;
    BH_DESIGN(op) op;

    looks = looks && BH_OP_INSERTS(slice.ops ? slice.ops[at] : slice.op);
    if (job->blind)
        return looks;
    slice.values_out = 0;
    slice.hints = 0;
    BH_DESIGN(look_carry)(&slice, &op, (uint32_t)at, looks);
    return looks && op.outcome == BH_MISSING;
}

/* The element that stands for `every` neighbours: one at a different place each time, because an array may be
 * periodic. */
BH_FN uint64_t BH_GPU(sampled)(const bh__cuda_job *job, uint64_t item)
{
    const uint64_t i = item * job->every + (item * 0x9e3779b97f4a7c15u >> 32) % job->every;

    return item < job->count && job->names ? job->names[i] : i;
}

/* Of the elements that set one bit only the first counts: so equal keys count once, and so do keys that
 * share a bit. A block goes on to other elements until there are none, and adds up what it has counted once. */
__global__ void BH_GPU(survey_kernel)(const __grid_constant__ bh__cuda_job job)
{
    const BH_DESIGN_GEOMETRY *geometry = (const BH_DESIGN_GEOMETRY *)job.slice.geometry;
    const BH_KEY *keys = (const BH_KEY *)job.slice.keys;
    const uint64_t step = gridDim.x * (uint64_t)blockDim.x;
    uint64_t first = blockIdx.x * (uint64_t)blockDim.x;
    uint32_t fresh = 0, absent = 0;

    for (; first < job.count; first += step) {
        const uint64_t item = first + threadIdx.x;
        const uint64_t at = job.every > 1 || job.names ? BH_GPU(sampled)(&job, item) : item;
        const int looks = item < job.count, is_new = BH_GPU(is_new)(&job, at, looks);

        absent += is_new;
        if (job.any ? looks : is_new) {
            const uint64_t word = bh_hash_key(keys[at], &geometry->seed).one;
            const uint64_t bit = word & (job.bit_count - 1);
            const uint32_t mask = 1u << bit % 32;

            /* Many are set already, and reading is cheaper. */
            fresh += !(__ldcg(&job.bits[bit / 32]) & mask) &&
                     !(atomicOr(&job.bits[bit / 32], mask) & mask);
        }
    }
    bh_cuda_add(&job.done->fresh, fresh);
    bh_cuda_add(&job.done->absent, absent);
}

int BH_GPU(survey)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    const uint64_t threads = count < gpu->threads ? count : gpu->threads;

    BH_GPU(survey_kernel)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);
    return (int)cudaGetLastError();
}

#undef BH_GPU
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
