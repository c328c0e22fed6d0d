/* by_region.cu's instances. */
#include BH_DESIGN_LAYOUT
#define BH_INSTANCE_FILE "cuda/device/dycuckoo/by_region.h"
#include "tables/instances.h"
