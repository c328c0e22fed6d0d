/* The same as update.cu, of tables that keep keys and values apart. A file of its own because these take
 * as long to compile as all the others. */
#define BH_CUDA_APART 1
#define BH_CUDA_ALL 1
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#include "cuda/gpu.h"

#define BH_INSTANCE_FILE "cuda/update_instance.h"
#include "tables/instances.h"

const bh__gpu_kernels *bh__gpu_dycuckoo_apart(uint32_t key_bytes, uint32_t value_bytes)
{
    static const bh__gpu_kernels *const kernels[2][2] = {
        {&bh_gpu_dycuckoo_k4v4_1, &bh_gpu_dycuckoo_k4v8_1},
        {&bh_gpu_dycuckoo_k8v4_1, &bh_gpu_dycuckoo_k8v8_1},
    };

    return kernels[key_bytes / 8][value_bytes / 8];
}
