/*
 * Stadium hashing: pairs of a part go to other parts (rehash.h). Loads are plain, as in find.cu: nobody changes the part
 * that the pairs come from, and words of the others are read past the first cache. Nor has a compare-and-swap any order:
 * nobody reads the slots before the kernel has ended, and an acquiring one would empty the first cache.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/stadium/expand_rehash.h"
#include "tables/stadium/design.h"
#undef BH_EACH_DESIGN
