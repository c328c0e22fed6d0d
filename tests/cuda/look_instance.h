/* One pair of widths of look.cu. */
#if !BH_APART
#include "tables/instance.h"

static const subject BH_DESIGN(subject) = {
    BH_DESIGN_REGION, BH_KEY_BYTES,        BH_VALUE_BYTES,        BH_NODES_SLOTS,
    BH_NODES_VALUES,  BH_DESIGN(gpu_find), BH_DESIGN(gpu_survey),
};
static const added BH_DESIGN(added)(&BH_DESIGN(subject));
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
