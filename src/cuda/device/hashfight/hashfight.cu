/*
 * HashFight on a GPU: lookups and passes, from the text in src/tables/hashfight. Whoever changes a
 * table holds its gate alone, and kernels of one stream run one after the other, so nothing that a
 * kernel reads is written beside it but what its own pass says: all loads are plain (BH_CUDA_QUIET).
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/hashfight/expand.h"
#include "tables/hashfight/design.h"
#undef BH_EACH_DESIGN
