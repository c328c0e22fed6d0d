/*
 * The kernels of a design for the target that the compilation names (BH_TARGET_SCALAR and so on, see
 * targets/target.h): of the design whose declaration is BH_THIS_DESIGN, or of all designs. See unit.h.
 */
#include "cpu/unit.h"
#include "cpu/unit_name.h"
#include "targets/target.h"

#define BH_EACH_DESIGN "cpu/unit_design.h"
#ifdef BH_THIS_DESIGN
#include BH_THIS_DESIGN
#undef BH_EACH_DESIGN
#else
#include "tables/designs.h"
#endif
