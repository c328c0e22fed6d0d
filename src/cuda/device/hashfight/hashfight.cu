/*
 * HashFight on a GPU: lookups and passes, from the text in src/tables/hashfight. All loads are plain
 * (BH_CUDA_QUIET): a call that changes a table holds its gate alone, and kernels of one stream run one after
 * the other, so nothing that a kernel reads is written meanwhile, except by its own pass.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_QUIET 1
#include "targets/target.h"

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/hashfight/expand.h"
#include "tables/hashfight/design.h"
#undef BH_EACH_DESIGN
