/* The instances of a design whose keys that are there are changed without locks. */
#ifdef BH_DESIGN_PRESENT
#define BH_INSTANCE_FILE "fake/present_instance.h"
#include "tables/instances.h"
#endif
