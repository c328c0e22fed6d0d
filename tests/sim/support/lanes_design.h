/* The instances of a design whose regions lanes copy. */
#if defined(BH_DESIGN_PRESENT) && defined(BH_DESIGN_AT_ONCE)
#define BH_INSTANCE_FILE "sim/support/lanes_instance.h"
#include "tables/instances.h"
#endif
