/*
 * What changes a table on a GPU: operations, a thread for each element, and passes. Of tables that keep
 * keys and values side by side.
 */
#define BH_CUDA_APART 0
/* A build that stamps elements (kernels.h) has one pair of widths. */
#ifdef BH_CUDA_STAMPS
#define BH_CUDA_ALL 0
#else
#define BH_CUDA_ALL 1
#endif
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#include "cuda/gpu.h"

#define BH_INSTANCE_FILE "cuda/update_instance.h"
#include "tables/instances.h"

#ifdef BH_CUDA_STAMPS
extern "C" __attribute__((visibility("default"))) int bh__cuda_stamp(void *stamps);

/* From now on two stamps for each element of a launch go to this array on the device; NULL: none do. */
extern "C" int bh__cuda_stamp(void *stamps)
{
    return (int)cudaMemcpyToSymbol(bh_cuda_stamps, &stamps, sizeof stamps);
}

const bh__gpu_kernels *bh__gpu_dycuckoo(uint32_t, uint32_t)
{
    return &bh_gpu_dycuckoo_k4v4_0;
}
#else
const bh__gpu_kernels *bh__gpu_dycuckoo(uint32_t key_bytes, uint32_t value_bytes)
{
    static const bh__gpu_kernels *const kernels[2][3] = {
        {&bh_gpu_dycuckoo_k4v0_0, &bh_gpu_dycuckoo_k4v4_0, &bh_gpu_dycuckoo_k4v8_0},
        {&bh_gpu_dycuckoo_k8v0_0, &bh_gpu_dycuckoo_k8v4_0, &bh_gpu_dycuckoo_k8v8_0},
    };

    return kernels[key_bytes / 8][value_bytes / 4];
}
#endif
