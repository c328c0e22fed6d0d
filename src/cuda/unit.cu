/*
 * The operation text of all designs and widths as device code. A test compiles this
 * file for sm_80 and sm_90, with BH_CUDA_TILE 1 and 8, wherever nvcc is present, so
 * that the text in src/tables never drifts to the CPU's side. tests/cuda/text.cu
 * launches some of these kernels; the module has its own, in update.cu and find.cu.
 */
#define BH_TARGET_CUDA 1
#include "targets/target.h"

#define BH_INSTANCE_FILE "cuda/unit_instance.h"
#include "tables/instances.h"
