/*
 * One pair of widths of one design's kernels: operations, schedule and passes, and the table that
 * names them. Included once for each.
 */
#if BH_UNIT_HAS

#include BH_DESIGN_OPS

#include "cpu/schedule.h"

#ifdef BH_DESIGN_CORES
#include BH_DESIGN_CORES
#endif

#ifndef BH_UNIT_PASS
#define BH_UNIT_PASS(name, text, argument, how)                                                    \
    static void BH_DESIGN(pass_##text)(void *job, uint64_t first, uint64_t count)                  \
    {                                                                                              \
        BH_DESIGN(text)(job, first, count);                                                        \
    }
#define BH_UNIT_PASS_ROW(name, text, argument, how) BH_DESIGN(pass_##text),
#endif

BH_DESIGN_PASSES(BH_UNIT_PASS)

static bh__pass_text *const BH_DESIGN(passes)[] = {BH_DESIGN_PASSES(BH_UNIT_PASS_ROW)};

static const bh__kernels BH_DESIGN(kernels) = {
    .slice =
        {
            [BH_SLICE_FIND] = BH_DESIGN(slice_find),
#ifndef BH_DESIGN_LOOKUPS_ONLY
            [BH_SLICE_INSERT] = BH_DESIGN(slice_insert),
            [BH_SLICE_ERASE] = BH_DESIGN(slice_erase),
            [BH_SLICE_ADD] = BH_DESIGN(slice_add),
            [BH_SLICE_MIXED] = BH_DESIGN(slice_mixed),
#endif
        },
    .pass = BH_DESIGN(passes),
#ifdef BH_DESIGN_PUTS_BACK
    .put_back = BH_DESIGN(put_back),
#else
    .put_back = 0,
#endif
};

#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
