/*
 * One unit: the kernels of all designs and widths for the target that the compilation
 * names (BH_TARGET_SCALAR and so on, see targets/target.h). See unit.h.
 */
#include "cpu/unit.h"
#include "targets/target.h"

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 0
#include "cpu/unit_instance.h"

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#include "cpu/unit_instance.h"

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 8
#include "cpu/unit_instance.h"

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 0
#include "cpu/unit_instance.h"

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 4
#include "cpu/unit_instance.h"

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#include "cpu/unit_instance.h"

#if defined(BH_SPECIAL_TARGET)
#define BH_UNIT bh__unit_special
#elif defined(BH_TARGET_AVX512)
#define BH_UNIT bh__unit_avx512
#elif defined(BH_TARGET_AVX2)
#define BH_UNIT bh__unit_avx2
#else
#define BH_UNIT bh__unit_scalar
#endif

const bh__kernels *BH_UNIT(bh_design design, uint32_t key_bytes, uint32_t value_bytes)
{
    static const bh__kernels *const dycuckoo[2][3] = {
        {&bh_dy_kernels_k4v0, &bh_dy_kernels_k4v4, &bh_dy_kernels_k4v8},
        {&bh_dy_kernels_k8v0, &bh_dy_kernels_k8v4, &bh_dy_kernels_k8v8},
    };

    if (design != BH_DYCUCKOO || (key_bytes != 4 && key_bytes != 8) ||
        (value_bytes != 0 && value_bytes != 4 && value_bytes != 8))
        return 0;
    return dycuckoo[key_bytes / 8][value_bytes / 4];
}
