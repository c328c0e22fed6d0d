/*
 * HashFight on a GPU: lookups and passes, from the text in src/tables/hashfight. Whoever changes a
 * table holds its gate alone, and kernels of one stream run one after the other, so nothing that a
 * kernel reads is written beside it but what its own pass says: all loads are plain (BH_CUDA_QUIET).
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/gpu.h"

#define BH_INSTANCE_FILE "cuda/hashfight_instance.h"
#include "tables/instances.h"

const bh__gpu_kernels *bh__gpu_hashfight(uint32_t key_bytes, uint32_t value_bytes)
{
    static const bh__gpu_kernels *const kernels[2][3] = {
        {&bh_gpu_hashfight_k4v0_0, &bh_gpu_hashfight_k4v4_0, &bh_gpu_hashfight_k4v8_0},
        {&bh_gpu_hashfight_k8v0_0, &bh_gpu_hashfight_k8v4_0, &bh_gpu_hashfight_k8v8_0},
    };

    return kernels[key_bytes / 8][value_bytes / 4];
}
