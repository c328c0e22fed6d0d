/*
 * One pair of widths of all designs' kernels: operations, schedule and passes, and
 * the tables that name them. Included by unit.c once for each pair.
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
     BH_DESIGN(pass_reinsert), BH_DESIGN(pass_place), 0, BH_DESIGN(pass_export), 0, 0, 0, 0, 0, 0},
};

#undef BH_DESIGN

#if !BH_APART

#include "tables/hashfight/ops.h"

#define BH_DESIGN(name) BH_NAME(bh_hf_##name)
#define BH_LOOKUPS_ONLY
#include "cpu/schedule.h"
#undef BH_LOOKUPS_ONLY

#include "tables/hashfight/front.h"
#include "tables/hashfight/teams.h"

static void BH_DESIGN(slice_find_front)(bh__slice *slice)
{
    uint16_t list[BH_SLICE_MOST];
    bh__slice rest = *slice;

    if (!BH_DESIGN(front_fits)(slice)) {
        BH_DESIGN(slice_find)(slice);
        return;
    }
    slice->target = BH_TARGET_NAME;
    slice->stalled = 0;
    rest.list = list;
    rest.listed = BH_DESIGN(front)(slice, list);
    if (rest.listed)
        BH_DESIGN(run)(&rest, BH_FIND);
}

static void BH_DESIGN(pass_locate)(void *argument, uint64_t first, uint64_t count)
{
    const bh_hf_locate *job = (const bh_hf_locate *)argument;
    uint64_t done;
    bh__slice slice;

    slice.geometry = job->geometry;
    slice.system = job->system;
    slice.values = 0;
    slice.outcomes = 0;
    slice.ops = 0;
    slice.list = 0;
    slice.listed = 0;
    slice.op = BH_FIND;
    for (done = 0; done < count; done += slice.count) {
        slice.keys = (const BH_KEY *)job->keys + first + done;
        slice.values_out = job->places + first + done;
        slice.count = (uint32_t)(count - done < BH_SLICE_MOST ? count - done : BH_SLICE_MOST);
        BH_DESIGN(run)(&slice, BH_HF_LOCATE);
    }
}

static void BH_DESIGN(pass_filler)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(find_fillers)(argument, first, count);
}

static void BH_DESIGN(pass_fight)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(fight_tasks)(argument, first, count);
}

static void BH_DESIGN(pass_tail)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(make_tail)(argument, first, count);
}

static void BH_DESIGN(pass_want)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(want)(argument, first, count);
}

static void BH_DESIGN(pass_fold)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(fold)(argument, first, count);
}

static void BH_DESIGN(pass_count)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(count_parts)(argument, first, count);
}

static void BH_DESIGN(pass_export)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(export_parts)(argument, first, count);
}

/* Cores do not build in teams: these are run by tests on a device that is none. */
static void BH_DESIGN(pass_lay)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(lay)(argument, first, count);
}

static void BH_DESIGN(pass_team)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(team)(argument, first, count);
}

static void BH_DESIGN(pass_tell)(void *argument, uint64_t first, uint64_t count)
{
    BH_DESIGN(tell_all)(argument, first, count);
}

static const bh__kernels BH_DESIGN(kernels) = {
    {BH_DESIGN(slice_find_front), 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, BH_DESIGN(pass_count), BH_DESIGN(pass_export), BH_DESIGN(pass_filler),
     BH_DESIGN(pass_fight), BH_DESIGN(pass_tail), BH_DESIGN(pass_locate), BH_DESIGN(pass_want),
     BH_DESIGN(pass_fold), BH_DESIGN(pass_lay), BH_DESIGN(pass_team), BH_DESIGN(pass_tell)},
};

#undef BH_DESIGN

#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
