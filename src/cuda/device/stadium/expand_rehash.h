/* rehash.cu's instances. */
#include BH_DESIGN_LAYOUT
#define BH_INSTANCE_FILE "cuda/device/stadium/rehash.h"
#include "tables/instances.h"
