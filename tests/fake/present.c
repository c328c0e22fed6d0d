/*
 * Changes of keys that are there without locks, and insertions, one element after the other: so each design's text for
 * that is tested wherever the tests run, though no two elements ever meet here. (sim_gpu has lanes that do.) How a GPU
 * goes through lists is not tested here.
 */
#include "fake/present.h"

#include <stddef.h>

#define BH_TARGET_SCALAR 1
#include "targets/target.h"

#include "tables/effect.h"

#define BH_EACH_DESIGN "tables/design_layout.h"
#include "tables/designs.h"

#define BH_EACH_DESIGN "fake/present_design.h"
#include "tables/designs.h"

fake_present fake_present_of(const bh_table_options *o)
{
    const fake_present none = {NULL, NULL};

    (void)o; // where no design has such a text
#define PRESENT_CHOICE
#define BH_EACH_DESIGN "fake/present_design.h"
#include "tables/designs.h"
    return none;
}
