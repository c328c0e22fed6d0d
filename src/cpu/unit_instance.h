/*
 * One pair of widths of the DyCuckoo kernels: operations, schedule and passes, and
 * the table that names them. Included by unit.c once for each pair.
 */
#include "tables/dycuckoo/ops.h"

#define BH_DESIGN(name) BH_NAME(bh_dy_##name)
#include "cpu/schedule.h"

static void BH_DESIGN(pass_split)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(split_buckets)(argument, first, count);
}

static void BH_DESIGN(pass_home)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(bring_home)(argument, first, count);
}

static void BH_DESIGN(pass_merge)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(merge_buckets)(argument, first, count);
}

static void BH_DESIGN(pass_residue)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(place_residue)(argument, first, count);
}

static void BH_DESIGN(pass_reinsert)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(reinsert_buckets)(argument, first, count);
}

static void BH_DESIGN(pass_place)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(place)(argument, first, count);
}

static void BH_DESIGN(pass_export)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(export_parts)(argument, first, count);
}

static const bh__kernels BH_DESIGN(kernels) = {
    {BH_DESIGN(slice_find), BH_DESIGN(slice_insert), BH_DESIGN(slice_erase), BH_DESIGN(slice_add),
     BH_DESIGN(slice_mixed)},
    {BH_DESIGN(pass_split), BH_DESIGN(pass_home), BH_DESIGN(pass_merge), BH_DESIGN(pass_residue),
     BH_DESIGN(pass_reinsert), BH_DESIGN(pass_place), BH_DESIGN(pass_export)},
};

#undef BH_DESIGN
#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
