/* look.cu's kernels, as the module has them for a design of its own, and the calls of them. */
#include "cuda/device/find_design.h"

#define BH_INSTANCE_FILE "cuda/look_instance.h"
#include "tables/instances.h"
