/* One pair of widths of update.cu or update_apart.cu: the kernels, and the functions that launch
 * them. */
#if BH_APART == BH_CUDA_APART && (BH_CUDA_ALL || (BH_KEY_BYTES == 4 && BH_VALUE_BYTES == 4))
#include "cuda/kernels.h"

#define GPU(name) BH_NAME(bh_gpu_##name)
/* A kind of slice: all its stages, and those that come behind the first. */
#define LAUNCH_SLICE(kind, paths)                                                                  \
    static int GPU(rest_##kind)(bh__gpu * gpu, bh__cuda_job * job, uint64_t count)                 \
    {                                                                                              \
        const uint64_t threads = count > gpu->threads ? gpu->threads : count;                      \
        void (*const last)(bh__cuda_job *) = paths;                                                \
        int error;                                                                                 \
                                                                                                   \
        BH_NAME(bh_cuda_other_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0,                 \
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
            BH_NAME(bh_cuda_##kind)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);\
            return (int)cudaGetLastError();                                                        \
        }                                                                                          \
        BH_NAME(bh_cuda_sift_##kind)<<<bh__gpu_blocks(count / rounds + 1), BH_CUDA_BLOCK, 0,       \
                                       gpu->stream>>>(job, rounds);                                \
        error = (int)cudaGetLastError();                                                           \
        return error ? error : -GPU(rest_##kind)(gpu, job, count);                                 \
    }
#define LAUNCH_PASS(pass, type)                                                                    \
    static int GPU(pass)(bh__gpu * gpu, void *job, uint64_t items)                                 \
    {                                                                                              \
        BH_NAME(bh_cuda_##pass)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(         \
            (type *)job, items);                                                                   \
        return (int)cudaGetLastError();                                                            \
    }

static int GPU(find)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    return bh__gpu_find(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART, gpu, job, count);
}

static int GPU(survey)(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)
{
    return bh__gpu_survey(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART, gpu, job, count);
}

LAUNCH_SLICE(insert, BH_NAME(bh_cuda_paths_insert))
LAUNCH_SLICE(erase, nullptr)
LAUNCH_SLICE(add, BH_NAME(bh_cuda_paths_add))
LAUNCH_SLICE(mixed, BH_NAME(bh_cuda_paths_mixed))
LAUNCH_PASS(split, bh_dy_resize)
LAUNCH_PASS(home, bh_dy_resize)
LAUNCH_PASS(merge, bh_dy_resize)
LAUNCH_PASS(residue, bh_dy_resize)
LAUNCH_PASS(reinsert, bh_dy_reinsert)
LAUNCH_PASS(place, bh__slice)
LAUNCH_PASS(export, bh_dy_export)

#if BH_CUDA_ALL && !BH_APART
static int GPU(by_region)(bh__gpu *gpu, bh__cuda_job *job, const bh__cuda_job *known,
                          uint64_t count)
{
    return bh__gpu_by_region(BH_KEY_BYTES, BH_VALUE_BYTES, gpu, job, known, count);
}
#else
static bh__gpu_inserts *const GPU(by_region) = nullptr;
#endif

static const bh__gpu_kernels GPU(dycuckoo) = {
    {{},
     sizeof(bh_dy_geometry),
     {sizeof(bh_dy_resize), sizeof(bh_dy_resize), sizeof(bh_dy_resize), sizeof(bh_dy_resize),
      sizeof(bh_dy_reinsert), sizeof(bh__slice), 0, sizeof(bh_dy_export)}},
    {GPU(find), GPU(insert), GPU(erase), GPU(add),
     GPU(mixed)},
    {GPU(split), GPU(home), GPU(merge), GPU(residue), GPU(reinsert), GPU(place), 0, GPU(export)},
    GPU(survey),
    GPU(by_region),
    {nullptr, GPU(rest_insert), nullptr, GPU(rest_add), GPU(rest_mixed)},
};

#undef GPU
#undef LAUNCH_SLICE
#undef LAUNCH_PASS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
