/* by_region.cu's instances. */
#define BH_INSTANCE_FILE "cuda/device/dycuckoo/by_region.h"
#include "tables/instances.h"
