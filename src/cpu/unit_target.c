/*
 * What a unit has besides the kernels of the designs (unit.c): which of these are for a table, and the primitives, for the
 * target that the compilation names. See unit.h.
 */
#include "cpu/unit.h"
#include "cpu/unit_name.h"
#include "targets/target.h"

#include "primitives/all.h"

#define BH_EACH_DESIGN "cpu/unit_of_design.h"
#include "tables/designs.h"

const bh__kernels *BH_UNIT_NAME(bh__unit)(const bh_table_options *options)
{
#define BH_EACH_DESIGN "cpu/unit_choice.h"
#include "tables/designs.h"
    return 0;
}

const bh__primitives *BH_UNIT_NAME(bh__unit_primitives)(void)
{
    return &bh_primitives;
}
