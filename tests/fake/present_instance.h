/* One pair of widths of present.c: with PRESENT_CHOICE a row of the choice, else the function. */
#if BH_APART == BH_DESIGN_APART_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#ifdef PRESENT_CHOICE
#include "tables/instance.h"

if (o->design == BH_DESIGN_NUMBER && o->key_bytes == BH_KEY_BYTES &&
    o->value_bytes == BH_VALUE_BYTES && BH_DESIGN_WANTS_APART(o) == BH_APART)
    return BH_DESIGN(fake_both);
#else
#include BH_DESIGN_OPS

static void BH_DESIGN(fake_change)(const bh__cuda_job *job, uint8_t *done)
{
    for (uint64_t i = 0; i < job->count; i++) {
        bh__slice one = job->slice;
        bh_answer answer = BH_NEXT;
        BH_DESIGN(op) op = {0};
        bh_region region;

        one.hints = BH_HINT_ALIKE | (one.hints & BH_HINT_AT_ONCE);
        one.erased = one.assigned = 0;
        region = BH_DESIGN(begin)(&one, &op, (uint32_t)i, one.op);
        while (answer == BH_NEXT)
            answer = BH_DESIGN(step_present)(&one, &op, one.op, region.offset, &region);
        if (answer == BH_DONE) {
            done[i] = 1;
            if (one.outcomes)
                one.outcomes[i] = op.outcome;
        }
        job->done->erased += one.erased;
        job->done->assigned += one.assigned;
    }
}

#ifdef BH_DESIGN_AT_ONCE
static void BH_DESIGN(fake_claim)(const bh__cuda_job *job, uint8_t *done)
{
    for (uint64_t i = 0; i < job->count; i++) {
        const uint32_t at = job->names ? job->names[i] : (uint32_t)i;
        const int takes = job->room < job->count;
        bh__slice one = job->slice;
        bh_answer answer = BH_NEXT;
        BH_DESIGN(op) op = {0};
        bh_region region;

        if (done[i])
            continue;
        one.hints |= BH_OP_ROUNDS(one.op) && BH_VALUE_BYTES == 4 ? 0 : BH_HINT_ALIKE;
        one.inserted = one.assigned = 0;
        one.room = !takes || job->done->room_taken++ < job->room;
        region = BH_DESIGN(begin)(&one, &op, at, one.op);
        while (answer == BH_NEXT)
            answer = BH_DESIGN(step_claim)(&one, &op, one.op, region.offset, &region);
        if (answer == BH_DONE) {
            done[i] = 1;
            if (one.outcomes)
                one.outcomes[at] = op.outcome;
        } else if (takes) {
            job->done->room_taken--; /* it is asked for anew */
        }
        job->done->inserted += one.inserted;
        job->done->assigned += one.assigned;
    }
}
#endif

static const fake_present BH_DESIGN(fake_both) = {
    BH_DESIGN(fake_change),
#ifdef BH_DESIGN_AT_ONCE
    BH_DESIGN(fake_claim),
#else
    NULL,
#endif
};
#endif
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
