/* HashFight's text for cores: the front; the teams (for tests with a fake device); and the pass LOCATE,
 * whose lookups are a kind of operation of their own and go through the window. An include-template. */
#include "tables/hashfight/front.h"
#include "tables/hashfight/teams.h"

/* BH_HF_PASS_LOCATE. */
BH_FN void BH_DESIGN(locate)(void *argument, uint64_t first, uint64_t count)
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
    slice.hints = (uint32_t)job->hints;
    for (done = 0; done < count; done += slice.count) {
        slice.keys = (const BH_KEY *)job->keys + first + done;
        slice.values_out = job->places + first + done;
        slice.count = (uint32_t)(count - done < BH_SLICE_MOST ? count - done : BH_SLICE_MOST);
        BH_DESIGN(run)(&slice, BH_HF_LOCATE);
    }
}
