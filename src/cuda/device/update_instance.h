/*
 * One pair of widths of update.cu: the kernels, and the functions that launch them. All that the module
 * knows of the pair is BH_DESIGN(gpu_all).
 */
#if BH_APART < BH_DESIGN_INSTANCES && BH_CUDA_HAS
#include "tables/instance.h"

extern const bh__gpu_kernels BH_DESIGN(gpu_all);

/* (Elements of present.h are not stamped.) */
#undef BH_HAS_PRESENT
#if defined(BH_DESIGN_PRESENT) && !defined(BH_CUDA_STAMPS)
#define BH_HAS_PRESENT 1
#else
#define BH_HAS_PRESENT 0
#endif

#if BH_APART == BH_CUDA_APART
#include "cuda/device/kernels.h"

#undef BH_HAS_REGIONS
#if defined(BH_DESIGN_REGIONS) && !defined(BH_CUDA_STAMPS) &&                                      \
    BH_APART == BH_DESIGN_APART_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_HAS_REGIONS 1
#else
#define BH_HAS_REGIONS 0
#endif

#define BH_GPU(name) BH_DESIGN(gpu_##name)

#ifdef BH_DESIGN_STAGES
int BH_GPU(make_way)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t threads);

/* (Elements that are done in ways are not stamped.) */
#undef BH_MAKE_WAY
#if defined(BH_DESIGN_WAYS) && !defined(BH_CUDA_STAMPS)
#define BH_MAKE_WAY BH_GPU(make_way)
#else
#define BH_MAKE_WAY(gpu, job, threads) 0
#endif
#ifndef BH_LAUNCH_SLICE
/* A kind of slice: all its stages, and those that come behind the first. */
#define BH_LAUNCH_SLICE(kind, last_stage)                                                          \
    static int BH_GPU(rest_##kind)(bh__gpu * gpu, const bh__cuda_job *job, uint64_t count)         \
    {                                                                                              \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
        void (*const last)(const bh__cuda_job) = last_stage;                                       \
        int error = bh__gpu_follow(gpu, bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0,                 \
                                   BH_DESIGN(cuda_other_##kind), *job);                            \
                                                                                                   \
        if (error || !last)                                                                        \
            return error;                                                                          \
        error = BH_MAKE_WAY(gpu, job, threads);                                                    \
        if (!error)                                                                                \
            error = bh__gpu_follow(gpu, bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, last, *job);    \
        return bh__gpu_behind(error);                                                              \
    }                                                                                              \
                                                                                                   \
    /* The first stage and the others, of all elements or of those in the list of a stage. */      \
    static int BH_GPU(stages_##kind)(bh__gpu * gpu, const bh__cuda_job *job, uint64_t count,       \
                                     int stage)                                                    \
    {                                                                                              \
        int error;                                                                                 \
                                                                                                   \
        BH_DESIGN(cuda_sift_##kind)<<<bh__gpu_locking(gpu, count), BH_CUDA_BLOCK, 0,               \
                                      gpu->stream>>>(*job, stage);                                 \
        error = bh__gpu_listed(gpu, job, stage, (int)cudaGetLastError());                          \
        return error ? error : bh__gpu_behind(BH_GPU(rest_##kind)(gpu, job, count));               \
    }                                                                                              \
                                                                                                   \
    static int BH_GPU(kind)(bh__gpu * gpu, const bh__cuda_job *job, uint64_t count)                \
    {                                                                                              \
        if (count >= BH_CUDA_SIFT_LEAST)                                                           \
            return BH_GPU(stages_##kind)(gpu, job, count, BH_CUDA_FRESH);                          \
        BH_DESIGN(cuda_##kind)<<<bh__gpu_blocks(count), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);    \
        return (int)cudaGetLastError();                                                            \
    }
#endif

BH_LAUNCH_SLICE(insert, BH_DESIGN(cuda_last_insert))
BH_LAUNCH_SLICE(erase, nullptr)
BH_LAUNCH_SLICE(add, BH_DESIGN(cuda_last_add))
BH_LAUNCH_SLICE(mixed, BH_DESIGN(cuda_last_mixed))
#else
#ifndef BH_LAUNCH_WHOLE
#define BH_LAUNCH_WHOLE(kind)                                                                      \
    static int BH_GPU(kind)(bh__gpu * gpu, const bh__cuda_job *job, uint64_t count)                \
    {                                                                                              \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
                                                                                                   \
        BH_DESIGN(cuda_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);  \
        return (int)cudaGetLastError();                                                            \
    }
#endif

BH_LAUNCH_WHOLE(insert)
BH_LAUNCH_WHOLE(erase)
BH_LAUNCH_WHOLE(add)
BH_LAUNCH_WHOLE(mixed)
#endif

#include "cuda/device/passes.h"

/* find.cu, and the design's own schedule of large calls. */
int BH_GPU(find)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count);
int BH_GPU(find_at_once)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count);
int BH_GPU(survey)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count);
int BH_GPU(present)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint32_t hints,
                    uint64_t count);
int BH_GPU(claim)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint64_t count, int stage);
int BH_GPU(by_region)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count);

const bh__gpu_kernels BH_GPU(all) = {
    .known = {{}, sizeof(BH_DESIGN_GEOMETRY), BH_DESIGN(job_bytes), BH_HAS_PRESENT, BH_HAS_REGIONS},
    .slice =
        {
            [BH_SLICE_FIND] = BH_GPU(find),
            [BH_SLICE_INSERT] = BH_GPU(insert),
            [BH_SLICE_ERASE] = BH_GPU(erase),
            [BH_SLICE_ADD] = BH_GPU(add),
            [BH_SLICE_MIXED] = BH_GPU(mixed),
        },
#ifdef BH_DESIGN_AT_ONCE
    .find_at_once = BH_GPU(find_at_once),
#endif
    .pass = BH_DESIGN(launches),
    .survey = BH_GPU(survey),
#if BH_HAS_REGIONS
    .by_region = BH_GPU(by_region),
#ifdef BH_DESIGN_AT_ONCE
    .regions_leave_absent = true,
#endif
#endif
#ifdef BH_DESIGN_STAGES
    .rest =
        {
            [BH_SLICE_FIND] = nullptr,
            [BH_SLICE_INSERT] = BH_GPU(rest_insert),
            [BH_SLICE_ERASE] = BH_GPU(rest_erase),
            [BH_SLICE_ADD] = BH_GPU(rest_add),
            [BH_SLICE_MIXED] = BH_GPU(rest_mixed),
        },
#endif
#if BH_HAS_PRESENT
    .present = BH_GPU(present),
    .stages =
        {
            [BH_SLICE_FIND] = nullptr,
            [BH_SLICE_INSERT] = BH_GPU(stages_insert),
            [BH_SLICE_ERASE] = BH_GPU(stages_erase),
            [BH_SLICE_ADD] = BH_GPU(stages_add),
            [BH_SLICE_MIXED] = BH_GPU(stages_mixed),
        },
#endif
#if defined(BH_DESIGN_CLAIMS) && !defined(BH_CUDA_STAMPS)
    .claim = BH_GPU(claim),
#ifdef BH_DESIGN_CLAIMS_FIRST
    .claims_again = true,
#endif
#endif
    .has_compared_widths = BH_KEY_BYTES == 4 && BH_VALUE_BYTES == 4 && !BH_APART,
};

#undef BH_GPU
#endif
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
