/* One pair of widths of lanes.c: with LANES_CHOICE a row of the choice, else the function. */
#if BH_APART == BH_DESIGN_APART_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#ifdef LANES_CHOICE
#include "tables/instance.h"

if (o->design == BH_DESIGN_NUMBER && o->key_bytes == BH_KEY_BYTES &&
    o->value_bytes == BH_VALUE_BYTES && BH_DESIGN_WANTS_APART(o) == BH_APART)
    return BH_DESIGN(lanes);
#else
#include BH_DESIGN_OPS

typedef struct BH_DESIGN(lane) {
    uint64_t place[BH_DESIGN_REGION / 8];
    BH_DESIGN(op) op;
    bh_region region;
    bh_answer answer;
} BH_DESIGN(lane);

/* Copies the region that a lane wants, and answers where the step finds it. */
static uint64_t BH_DESIGN(lane_bring)(BH_DESIGN(lane) *lane)
{
    if (lane->region.bytes != sizeof lane->place)
        return lane->region.offset;
    for (uint32_t i = 0; i < TEST_COUNT(lane->place); i++)
        lane->place[i] = bh_load64((const void *)(uintptr_t)(lane->region.offset + i * 8));
    return (uint64_t)(uintptr_t)lane->place;
}

static uint32_t BH_DESIGN(lanes)(bh__slice *slice, lanes_stage stage)
{
    const uint32_t count = slice->listed ? slice->listed : slice->count;
    BH_DESIGN(lane) lanes[BH_SLICE_MOST];
    uint64_t at[BH_SLICE_MOST];
    uint32_t looks = count, left = 0;

    for (uint32_t i = 0; i < count; i++) {
        lanes[i].region =
            BH_DESIGN(begin)(slice, &lanes[i].op, slice->listed ? slice->list[i] : i, slice->op);
        lanes[i].answer = BH_NEXT;
    }
    while (looks > 0) {
        bool waits = true;

        for (uint32_t i = 0; i < count; i++)
            if (lanes[i].answer == BH_NEXT || lanes[i].answer == BH_RETRY)
                at[i] = BH_DESIGN(lane_bring)(&lanes[i]);
        for (uint32_t i = 0; i < count; i++) {
            BH_DESIGN(lane) *lane = &lanes[i];

            if (lane->answer != BH_NEXT && lane->answer != BH_RETRY)
                continue;
            lane->answer =
                stage == LANES_CLAIM
                    ? BH_DESIGN(step_claim)(slice, &lane->op, slice->op, at[i], &lane->region)
                    : BH_DESIGN(step_present)(slice, &lane->op, slice->op, at[i], &lane->region);
            waits &= lane->answer == BH_RETRY;
            looks -= lane->answer == BH_DONE || lane->answer == BH_STALL;
            if (lane->answer == BH_DONE && slice->outcomes)
                slice->outcomes[lane->op.at] = lane->op.outcome;
        }
        if (waits)
            slice->system->yield(slice->system->state);
    }
    for (uint32_t i = 0; i < count; i++)
        if (lanes[i].answer == BH_STALL)
            slice->list[left++] = (uint16_t)lanes[i].op.at;
    return left;
}
#endif
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
