/* What DACHash is (tables/declared.h says what this means). */
#define BH_DESIGN_NUMBER BH_DACHASH
#define BH_DESIGN_PREFIX bh_da_
#define BH_DESIGN_POLICY bh__dachash_policy
#define BH_DESIGN_LAYOUT "tables/dachash/layout.h"
#define BH_DESIGN_OPS "tables/dachash/ops.h"
#define BH_DESIGN_GEOMETRY bh_da_geometry
#define BH_DESIGN_PASSES BH_DA_PASSES
#define BH_DESIGN_AIMS "tables/dachash/chain_aims.h"
#define BH_DESIGN_FOLLOWS
#define BH_DESIGN_PUTS_BACK
#define BH_DESIGN_STAGES
#define BH_DESIGN_PRESENT
#include "tables/declared.h"
