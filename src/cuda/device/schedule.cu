/*
 * The schedules that were measured and not chosen, for 4-byte keys and values alone: an element for
 * each thread, an element for each tile of BH_CUDA_TILE threads, collaborative lanes, and tiles with a
 * voter; see kernels.h. The build compiles this file once for each and each design, by BH_CUDA_TILE and BH_CUDA_WAY, and
 * bh_experimental_options.gpu_schedule picks one, to compare. BH_THIS_DESIGN is the design's declaration.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_SLICES_ONLY 1
#include "targets/target.h"

/* Each compilation has names of its own, because all are linked together. */
#define NAMED3(name, tile, way) cuda_##tile##_##way##_##name
#define NAMED2(name, tile, way) NAMED3(name, tile, way)
#define BH_CUDA_KERNEL(name) NAMED2(name, BH_CUDA_TILE, BH_CUDA_WAY)

#include "cuda/device/gpu.h"

#define BH_EACH_DESIGN "cuda/device/schedule_design.h"
#include BH_THIS_DESIGN
#undef BH_EACH_DESIGN
