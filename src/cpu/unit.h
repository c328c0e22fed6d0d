/*
 * The units: all operation text compiled for one instruction set each. unit.c is compiled once per target and design,
 * unit_target.c once per target, into objects of their own. Every helper in them is static, and the only names that leave
 * them are the two functions below and one for each design, which the first of these calls. Which unit runs is decided
 * at run time in choose.c, which is compiled without any target's flags.
 */
#ifndef BH_CPU_UNIT_H
#define BH_CPU_UNIT_H

#include "tables/table.h"

/* Whether a unit has the kernels of the instance at hand (tables/instances.h). The build that counts lines does that with pairs
 * of 4+4 bytes, and has these alone (BH_UNIT_NARROW): the others would take a compiler minutes. */
#ifdef BH_UNIT_NARROW
#define BH_UNIT_HAS (BH_KEY_BYTES == 4 && BH_VALUE_BYTES == 4 && !BH_APART)
#else
#define BH_UNIT_HAS (BH_APART < BH_DESIGN_INSTANCES)
#endif

/* The kernels for a table's design, widths and layout, NULL when the unit has none. */
typedef const bh__kernels *(*bh__unit_kernels)(const bh_table_options *options);

/* The unit's data-parallel primitives; every unit has them all. */
typedef const bh__primitives *(*bh__unit_primitives)(void);

#ifdef __cplusplus
extern "C" {
#endif

const bh__kernels *bh__unit_scalar(const bh_table_options *options);
const bh__kernels *bh__unit_avx2(const bh_table_options *options);
const bh__kernels *bh__unit_avx512(const bh_table_options *options);
/* The one unit of a special build, whose target has the name BH_SPECIAL_TARGET. */
const bh__kernels *bh__unit_special(const bh_table_options *options);

const bh__primitives *bh__unit_primitives_scalar(void);
const bh__primitives *bh__unit_primitives_avx2(void);
const bh__primitives *bh__unit_primitives_avx512(void);
const bh__primitives *bh__unit_primitives_special(void);

#ifdef __cplusplus
}
#endif

typedef struct bh__target {
    const char *name;
    bh__unit_kernels kernels;
    const bh__primitives *primitives;
} bh__target;

/*
 * Chooses the unit to run: the best that this machine has, or the one that `wanted` names when it
 * is not NULL or empty. Writes the error sentence. Returns BH_OK, BH_ERR_ARGUMENT (no such name),
 * BH_ERR_UNSUPPORTED (not in this build, or not on this machine).
 */
bh_status bh__target_choose(const char *wanted, bh__target *target);

#endif
