/*
 * Stadium hashing: insertions region by region (by_lines.h). Loads are plain, as in find.cu: each word of the board, and
 * its slots, belong to one thread at a time.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/stadium/expand.h"
#include "tables/stadium/design.h"
#undef BH_EACH_DESIGN
