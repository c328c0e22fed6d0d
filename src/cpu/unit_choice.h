/* One design in a unit's choice of kernels, by the options' widths. */
if (options->design == BH_DESIGN_NUMBER) {
#define BH_INSTANCE_FILE "cpu/unit_choice_instance.h"
#include "tables/instances.h"
}
