/*
 * Lookups on a GPU: a thread for each key, with loads that take it that nobody writes meanwhile
 * (targets/cuda.h, BH_CUDA_QUIET): calls on a GPU hold the table's gate alone.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/gpu.h"

#define BH_INSTANCE_FILE "cuda/find_instance.h"
#include "tables/instances.h"

int bh__gpu_find(uint32_t key_bytes, uint32_t value_bytes, uint32_t apart, bh__gpu *gpu,
                 bh__cuda_job *job, uint64_t count)
{
    static int (*const finds[2][2][3])(bh__gpu *gpu, bh__cuda_job *job, uint64_t count) = {
        {{bh_gpu_find_k4v0_0, bh_gpu_find_k4v4_0, bh_gpu_find_k4v8_0},
         {bh_gpu_find_k8v0_0, bh_gpu_find_k8v4_0, bh_gpu_find_k8v8_0}},
        {{0, bh_gpu_find_k4v4_1, bh_gpu_find_k4v8_1}, {0, bh_gpu_find_k8v4_1, bh_gpu_find_k8v8_1}},
    };

    return finds[apart][key_bytes / 8][value_bytes / 4](gpu, job, count);
}

int bh__gpu_survey(uint32_t key_bytes, uint32_t value_bytes, uint32_t apart, bh__gpu *gpu,
                   bh__cuda_job *job, uint64_t count)
{
    static int (*const surveys[2][2][3])(bh__gpu *gpu, bh__cuda_job *job, uint64_t count) = {
        {{bh_gpu_survey_k4v0_0, bh_gpu_survey_k4v4_0, bh_gpu_survey_k4v8_0},
         {bh_gpu_survey_k8v0_0, bh_gpu_survey_k8v4_0, bh_gpu_survey_k8v8_0}},
        {{0, bh_gpu_survey_k4v4_1, bh_gpu_survey_k4v8_1},
         {0, bh_gpu_survey_k8v4_1, bh_gpu_survey_k8v8_1}},
    };

    return surveys[apart][key_bytes / 8][value_bytes / 4](gpu, job, count);
}
