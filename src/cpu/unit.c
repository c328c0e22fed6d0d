/*
 * One unit: the kernels of all designs and widths, and the primitives, for the target that
 * the compilation names (BH_TARGET_SCALAR and so on, see targets/target.h). See unit.h.
 */
#include "cpu/unit.h"
#include "targets/target.h"

#include "primitives/all.h"

#define BH_EACH_DESIGN "cpu/unit_design.h"
#include "tables/designs.h"

#if defined(BH_SPECIAL_TARGET)
#define BH_UNIT bh__unit_special
#define BH_UNIT_PRIMITIVES bh__unit_primitives_special
#elif defined(BH_TARGET_AVX512)
#define BH_UNIT bh__unit_avx512
#define BH_UNIT_PRIMITIVES bh__unit_primitives_avx512
#elif defined(BH_TARGET_AVX2)
#define BH_UNIT bh__unit_avx2
#define BH_UNIT_PRIMITIVES bh__unit_primitives_avx2
#else
#define BH_UNIT bh__unit_scalar
#define BH_UNIT_PRIMITIVES bh__unit_primitives_scalar
#endif

const bh__kernels *BH_UNIT(const bh_table_options *options)
{
#define BH_EACH_DESIGN "cpu/unit_choice.h"
#include "tables/designs.h"
    return 0;
}

const bh__primitives *BH_UNIT_PRIMITIVES(void)
{
    return &bh_primitives;
}
