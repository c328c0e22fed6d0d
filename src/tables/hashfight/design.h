/* What HashFight is (tables/declared.h says what this means). */
#define BH_DESIGN_NUMBER BH_HASHFIGHT
#define BH_DESIGN_PREFIX bh_hf_
#define BH_DESIGN_POLICY bh__hashfight_policy
#define BH_DESIGN_LAYOUT "tables/hashfight/layout.h"
#define BH_DESIGN_OPS "tables/hashfight/ops.h"
#define BH_DESIGN_GEOMETRY bh_hf_geometry
#define BH_DESIGN_PASSES BH_HF_PASSES
#define BH_DESIGN_LOOKUPS_ONLY
#define BH_DESIGN_FRONT
#define BH_DESIGN_IN_TURN 8
#define BH_DESIGN_CORES "tables/hashfight/cores.h"
#include "tables/declared.h"
