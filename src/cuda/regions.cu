/*
 * Insertions region by region (regions.h). Loads are plain, as in find.cu: each bucket is one
 * thread's, or is written by swaps that look at what they replace.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/gpu.h"

#define BH_INSTANCE_FILE "cuda/regions.h"
#include "tables/instances.h"

int bh__gpu_by_region(uint32_t key_bytes, uint32_t value_bytes, bh__gpu *gpu, bh__cuda_job *job,
                      const bh__cuda_job *known, uint64_t count)
{
    static bh__gpu_inserts *const inserts[2][3] = {
        {bh_gpu_by_region_k4v0_0, bh_gpu_by_region_k4v4_0, bh_gpu_by_region_k4v8_0},
        {bh_gpu_by_region_k8v0_0, bh_gpu_by_region_k8v4_0, bh_gpu_by_region_k8v8_0},
    };

    return inserts[key_bytes / 8][value_bytes / 4](gpu, job, known, count);
}
