/*
 * One pair of widths of update.cu: the kernels, and the functions that launch them. All that the module
 * knows of the pair is BH_DESIGN(gpu_all).
 */
#if BH_APART < BH_DESIGN_INSTANCES && BH_CUDA_HAS
#include "tables/instance.h"

extern const bh__gpu_kernels BH_DESIGN(gpu_all);

#if BH_APART == BH_CUDA_APART
#include "cuda/device/kernels.h"

#define GPU(name) BH_DESIGN(gpu_##name)

#ifdef BH_DESIGN_STAGES
#ifndef LAUNCH_SLICE
/* A kind of slice: all its stages, and those that come behind the first. */
#define LAUNCH_SLICE(kind, last_stage)                                                                  \
    static int GPU(rest_##kind)(bh__gpu * gpu, bh__cuda_job * job, uint64_t count)                 \
    {                                                                                              \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
        void (*const last)(bh__cuda_job *) = last_stage;                                                \
        int error;                                                                                 \
                                                                                                   \
        BH_DESIGN(cuda_other_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0,                 \
                                        gpu->stream>>>(job);                                       \
        error = (int)cudaGetLastError();                                                           \
        if (last && !error) {                                                                      \
            last<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);                 \
            error = (int)cudaGetLastError();                                                       \
        }                                                                                          \
        return error;                                                                              \
    }                                                                                              \
                                                                                                   \
    static int GPU(kind)(bh__gpu * gpu, bh__cuda_job * job, uint64_t count)                        \
    {                                                                                              \
        const uint32_t rounds = bh__gpu_rounds(gpu, count);                                        \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
        int error;                                                                                 \
                                                                                                   \
        if (count < BH_CUDA_SIFT_LEAST) {                                                          \
            BH_DESIGN(cuda_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);\
            return (int)cudaGetLastError();                                                        \
        }                                                                                          \
        BH_DESIGN(cuda_sift_##kind)<<<bh__gpu_blocks(count / rounds + 1), BH_CUDA_BLOCK, 0,       \
                                       gpu->stream>>>(job, rounds);                                \
        error = (int)cudaGetLastError();                                                           \
        return error ? error : -GPU(rest_##kind)(gpu, job, count);                                 \
    }
#endif

LAUNCH_SLICE(insert, BH_DESIGN(cuda_last_insert))
LAUNCH_SLICE(erase, nullptr)
LAUNCH_SLICE(add, BH_DESIGN(cuda_last_add))
LAUNCH_SLICE(mixed, BH_DESIGN(cuda_last_mixed))
#else
#ifndef LAUNCH_WHOLE
#define LAUNCH_WHOLE(kind)                                                                         \
    static int GPU(kind)(bh__gpu * gpu, bh__cuda_job * job, uint64_t count)                        \
    {                                                                                              \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
                                                                                                   \
        BH_DESIGN(cuda_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);   \
        return (int)cudaGetLastError();                                                            \
    }
#endif

LAUNCH_WHOLE(insert)
LAUNCH_WHOLE(erase)
LAUNCH_WHOLE(add)
LAUNCH_WHOLE(mixed)
#endif

#include "cuda/device/passes.h"

/* find.cu, and the design's own schedule of large calls. */
int GPU(find)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count);
int GPU(survey)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count);
int GPU(by_region)(bh__gpu *gpu, bh__cuda_job *job, const bh__cuda_job *known, uint64_t count);

const bh__gpu_kernels GPU(all) = {
    {{}, sizeof(BH_DESIGN_GEOMETRY), BH_DESIGN(job_bytes)},
    {GPU(find), GPU(insert), GPU(erase), GPU(add), GPU(mixed)},
    BH_DESIGN(launches),
    GPU(survey),
#if defined(BH_DESIGN_REGIONS) && !BH_APART && !defined(BH_CUDA_STAMPS)
    GPU(by_region),
#else
    nullptr,
#endif
#ifdef BH_DESIGN_STAGES
    {nullptr, GPU(rest_insert), nullptr, GPU(rest_add), GPU(rest_mixed)},
    BH_KEY_BYTES == 4 && BH_VALUE_BYTES == 4 && !BH_APART,
#else
    {nullptr, nullptr, nullptr, nullptr, nullptr},
    false,
#endif
};

#undef GPU
#endif
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
