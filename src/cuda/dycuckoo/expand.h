/* regions.cu's instances. */
#define BH_INSTANCE_FILE "cuda/dycuckoo/regions.h"
#include "tables/instances.h"
