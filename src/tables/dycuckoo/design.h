/* What DyCuckoo is (tables/declared.h says what this means). */
#define BH_DESIGN_NUMBER BH_DYCUCKOO
#define BH_DESIGN_PREFIX bh_dy_
#define BH_DESIGN_POLICY bh__dycuckoo_policy
#define BH_DESIGN_LAYOUT "tables/dycuckoo/layout.h"
#define BH_DESIGN_OPS "tables/dycuckoo/ops.h"
#define BH_DESIGN_GEOMETRY bh_dy_geometry
#define BH_DESIGN_PASSES BH_DY_PASSES
#define BH_DESIGN_AIMS "tables/dycuckoo/aims.h"
#define BH_DESIGN_ROOM_ROUNDS 5u
#define BH_DESIGN_APART(options) bh_dy_is_apart(options)
#define BH_DESIGN_APART_DEFAULT BH_DY_APART_BY_DEFAULT
#define BH_DESIGN_SCRATCH BH_DY_SCRATCH_FAR
#define BH_DESIGN_STAGES
#define BH_DESIGN_PRESENT
#define BH_DESIGN_CLAIMS
#define BH_DESIGN_CLAIMS_FIRST
#define BH_DESIGN_WAYS
#define BH_DESIGN_REGION (BH_APART && BH_KEY_BYTES >= BH_VALUE_BYTES ? 128 : 64)
#define BH_DESIGN_REGIONS bh_dy_regions
#include "tables/declared.h"
