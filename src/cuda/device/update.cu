/*
 * What changes a table on a GPU: operations, a thread for each element, and passes. The build compiles
 * this file for each design, BH_THIS_DESIGN, whose operations change tables. Instances for tables that keep
 * keys and values apart are compiled separately (BH_CUDA_APART 1), because they take as long to compile as
 * all the others.
 */
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

/* A build that stamps elements (job.h) has one pair of widths. */
#ifdef BH_CUDA_STAMPS
#define BH_CUDA_HAS (BH_KEY_BYTES == 4 && BH_VALUE_BYTES == 4 && !BH_APART)
#else
#define BH_CUDA_HAS 1
#endif

#define BH_EACH_DESIGN "cuda/device/update_design.h"
#include BH_THIS_DESIGN
#undef BH_EACH_DESIGN

#ifdef BH_CUDA_STAMPS
extern "C" __attribute__((visibility("default"))) int bh__cuda_stamp(void *stamps);

/* From now on two stamps for each element of a launch go to this array on the device; NULL: none do. */
extern "C" int bh__cuda_stamp(void *stamps)
{
    return (int)cudaMemcpyToSymbol(bh_cuda_stamps, &stamps, sizeof stamps);
}
#endif
