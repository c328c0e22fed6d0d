/* by_lines.cu's instances. */
#include BH_DESIGN_LAYOUT
#define BH_INSTANCE_FILE "cuda/device/stadium/by_lines.h"
#include "tables/instances.h"
