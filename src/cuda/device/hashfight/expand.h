/* hashfight.cu's instances, and which of them a table's options want. */
#define BH_CUDA_HAS 1
#define BH_INSTANCE_FILE "cuda/device/hashfight/launch.h"
#include "tables/instances.h"

const bh__gpu_kernels *BH_OF_DESIGN(gpu_kernels)(const bh_table_options *options)
{
#define BH_INSTANCE_FILE "cuda/device/update_choice.h"
#include "tables/instances.h"
    return nullptr;
}
