/* One design in a unit: its instances, and the choice of one by a table's widths. */
#define BH_INSTANCE_FILE "cpu/unit_instance.h"
#include "tables/instances.h"

#include "cpu/unit_of_design.h"

const bh__kernels *BH_OF_DESIGN(BH_UNIT_NAME(unit))(const bh_table_options *options)
{
#define BH_INSTANCE_FILE "cpu/unit_choice_instance.h"
#include "tables/instances.h"
    return 0;
}
