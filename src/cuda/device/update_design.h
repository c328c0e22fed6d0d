/* The design of update.cu: its instances, and which of them a table's options want. */
#define BH_INSTANCE_FILE "cuda/device/update_instance.h"
#include "tables/instances.h"

#if !BH_CUDA_APART
const bh__gpu_kernels *BH_OF_DESIGN(gpu_kernels)(const bh_table_options *options)
{
#define BH_INSTANCE_FILE "cuda/device/update_choice.h"
#include "tables/instances.h"
    return nullptr;
}
#endif
