/* make_way.cu's instances. */
#define BH_INSTANCE_FILE "cuda/device/dycuckoo/make_way.h"
#include "tables/instances.h"
