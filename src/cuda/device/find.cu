/*
 * Lookups on a GPU, and changes of keys that are there. Loads are plain (targets/cuda.h, BH_CUDA_QUIET): a lookup may
 * assume that there are no concurrent writers, because calls on a GPU hold the table's gate alone. (Insertions of claim.h
 * are compiled so, too, and write: see there.) Compiled
 * for each design, BH_THIS_DESIGN, whose operations change tables.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/find_design.h"
#include BH_THIS_DESIGN
#undef BH_EACH_DESIGN
