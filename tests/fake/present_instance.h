/* One pair of widths of present.c: with PRESENT_CHOICE a row of the choice, else the function. */
#if BH_APART == BH_DESIGN_APART_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#ifdef PRESENT_CHOICE
#include "tables/instance.h"

if (o->design == BH_DESIGN_NUMBER && o->key_bytes == BH_KEY_BYTES &&
    o->value_bytes == BH_VALUE_BYTES && BH_DESIGN_WANTS_APART(o) == BH_APART)
    return BH_DESIGN(fake_present);
#else
#include BH_DESIGN_OPS

static void BH_DESIGN(fake_present)(bh__cuda_job *job, uint8_t *done)
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
        job->slice.erased += one.erased;
        job->slice.assigned += one.assigned;
    }
}
#endif
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
