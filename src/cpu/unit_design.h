/* One design in a unit: its instances. */
#define BH_INSTANCE_FILE "cpu/unit_instance.h"
#include "tables/instances.h"
