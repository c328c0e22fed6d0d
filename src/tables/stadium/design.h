/* What Stadium hashing is (tables/declared.h says what this means). */
#define BH_DESIGN_NUMBER BH_STADIUM
#define BH_DESIGN_PREFIX bh_st_
#define BH_DESIGN_POLICY bh__stadium_policy
#define BH_DESIGN_LAYOUT "tables/stadium/layout.h"
#define BH_DESIGN_OPS "tables/stadium/ops.h"
#define BH_DESIGN_GEOMETRY bh_st_geometry
#define BH_DESIGN_PASSES BH_ST_PASSES
#define BH_DESIGN_REGION 32
#define BH_DESIGN_FAR
#define BH_DESIGN_IN_TURN 16
#define BH_DESIGN_AT_ONCE
#define BH_DESIGN_CLAIMS
#define BH_DESIGN_STAGES
#define BH_DESIGN_PRESENT
#define BH_DESIGN_REGIONS bh_st_regions
#define BH_DESIGN_FRONT
#define BH_DESIGN_CORES "tables/stadium/front_board.h"
#include "tables/declared.h"
