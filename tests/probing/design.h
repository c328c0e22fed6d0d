/* What linear probing, a design for tests alone, is (tables/declared.h says what this means). */
#define BH_PROBING ((bh_design)1000)
#define BH_DESIGN_NUMBER BH_PROBING
#define BH_DESIGN_PREFIX bh_lp_
#define BH_DESIGN_POLICY bh__probing_policy
#define BH_DESIGN_LAYOUT "probing/layout.h"
#define BH_DESIGN_OPS "probing/ops.h"
#define BH_DESIGN_GEOMETRY bh_lp_geometry
#define BH_DESIGN_PASSES BH_LP_PASSES
#define BH_DESIGN_TIERS
#include "tables/declared.h"
