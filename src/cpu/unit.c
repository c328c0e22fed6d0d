/*
 * One unit: the kernels of all designs and widths, and the primitives, for the target that
 * the compilation names (BH_TARGET_SCALAR and so on, see targets/target.h). See unit.h.
 */
#include "cpu/unit.h"
#include "targets/target.h"

#include "primitives/all.h"

#define BH_INSTANCE_FILE "cpu/unit_instance.h"
#include "tables/instances.h"

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
    static const bh__kernels *const dycuckoo[2][3] = {
        {&bh_dy_kernels_k4v0_0, &bh_dy_kernels_k4v4_0, &bh_dy_kernels_k4v8_0},
        {&bh_dy_kernels_k8v0_0, &bh_dy_kernels_k8v4_0, &bh_dy_kernels_k8v8_0},
    };
    /* A set has no values to keep apart; its policy says so. */
    static const bh__kernels *const dycuckoo_apart[2][3] = {
        {&bh_dy_kernels_k4v0_0, &bh_dy_kernels_k4v4_1, &bh_dy_kernels_k4v8_1},
        {&bh_dy_kernels_k8v0_0, &bh_dy_kernels_k8v4_1, &bh_dy_kernels_k8v8_1},
    };
    static const bh__kernels *const hashfight[2][3] = {
        {&bh_hf_kernels_k4v0_0, &bh_hf_kernels_k4v4_0, &bh_hf_kernels_k4v8_0},
        {&bh_hf_kernels_k8v0_0, &bh_hf_kernels_k8v4_0, &bh_hf_kernels_k8v8_0},
    };
    uint32_t key_bytes = options->key_bytes, value_bytes = options->value_bytes;

    if ((options->design != BH_DYCUCKOO && options->design != BH_HASHFIGHT) || (key_bytes != 4 && key_bytes != 8) ||
        (value_bytes != 0 && value_bytes != 4 && value_bytes != 8))
        return 0;
    if (options->design == BH_HASHFIGHT)
        return hashfight[key_bytes / 8][value_bytes / 4];
    return (options->dycuckoo.values_apart ? dycuckoo_apart
                                           : dycuckoo)[key_bytes / 8][value_bytes / 4];
}

const bh__primitives *BH_UNIT_PRIMITIVES(void)
{
    return &bh_primitives;
}
