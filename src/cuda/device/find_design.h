/* The design of find.cu: its instances. */
#define BH_INSTANCE_FILE "cuda/device/find_instance.h"
#include "tables/instances.h"
