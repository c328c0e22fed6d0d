/* Lanes that step on copies of regions; see lanes.h. */
#include "sim/support/lanes.h"

#include <stdbool.h>

#include "targets/target.h"

#include "support/check.h"
#include "tables/effect.h"

#define BH_EACH_DESIGN "tables/design_layout.h"
#include "tables/designs.h"

#define BH_EACH_DESIGN "sim/support/lanes_design.h"
#include "tables/designs.h"

lanes_text *lanes_of(const bh_table_options *o)
{
#define LANES_CHOICE
#define BH_EACH_DESIGN "sim/support/lanes_design.h"
#include "tables/designs.h"
    return NULL;
}
