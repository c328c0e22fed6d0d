/*
 * Ways: before the last stage of insertion (kernels.h), places for the keys whose buckets are both full. Stages of
 * their own, because one thread that follows paths reads one bucket after the other, and the longest of
 * such searches is what a call of a million keys would wait for. Loads are plain, as in find.cu: slots
 * that are not noted as claimed do not change during a kernel.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/dycuckoo/expand_way.h"
#include "tables/dycuckoo/design.h"
#undef BH_EACH_DESIGN
