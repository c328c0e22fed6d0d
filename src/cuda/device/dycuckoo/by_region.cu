/*
 * Insertions region by region (by_region.h). Loads are plain, as in find.cu: each bucket belongs to one
 * thread, or is written by compare-and-swaps, which check what they replace.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/dycuckoo/expand.h"
#include "tables/dycuckoo/design.h"
#undef BH_EACH_DESIGN
