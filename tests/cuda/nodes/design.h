/* What the table of tests/cuda/look.cu is: one that is only looked up (tables/declared.h says what this
 * means). Its regions have another length for other widths. */
#define BH_DESIGN_NUMBER ((bh_design)1001)
#define BH_DESIGN_PREFIX bh_nodes_
#define BH_DESIGN_POLICY bh__nodes_policy
#define BH_DESIGN_LAYOUT "cuda/nodes/ops.h"
#define BH_DESIGN_OPS "cuda/nodes/ops.h"
#define BH_DESIGN_GEOMETRY bh_nodes_geometry
#define BH_DESIGN_PASSES BH_NODES_PASSES
#define BH_DESIGN_LOOKUPS_ONLY
#define BH_DESIGN_REGION (8 << (BH_KEY_BYTES / 4 + BH_VALUE_BYTES / 4)) /* 16, 32, 64 or 128 */
#include "tables/declared.h"
