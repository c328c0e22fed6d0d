/*
 * The CPU schedule: a window of operations in flight.
 *
 * Each operation names the line it wants next; the schedule prefetches the line and
 * goes on to the other operations of the window. When it comes round again, the line
 * has had the time of a whole round to arrive. When an operation has finished, the
 * next element of the slice takes its place at once, so the number of lines on their
 * way never falls until the slice runs out.
 *
 *     window   [op 17] [op 4] [op 18] [op 19] [op 12] ...
 *                  ^ step, then: DONE -> begin op 20 here    NEXT -> bring its line
 *                                RETRY, STALL -> see below
 *
 * The schedule knows nothing of any layout. It is an include-template: instance.h's
 * parameters, and BH_DESIGN(name), which gives the design's names. A design has
 * BH_DESIGN(op), BH_DESIGN(begin), BH_DESIGN(step).
 *
 * Where the regions of a design may lie in another tier than near memory (BH_DESIGN_TIERS) the
 * schedule asks the tier's bringer for them (storage/bringer.h). It may be told *not yet*: then the
 * operation keeps its place, is not stepped, and its region is asked for again next round. The region
 * is let go of when the operation moves on from it, and before the next one is asked for.
 *
 * Of designs that can say with vectors where keys live (BH_DESIGN_AIMS) the window runs only what the front has
 * left (front_rounds.h).
 *
 * RETRY: another thread holds what the operation needs, for the length of one step.
 * The operation keeps its place and is stepped again next round. When two whole rounds
 * brought nothing but RETRY, that thread has probably lost its core: yield ours.
 * STALL: the operation's name goes to the slice's list, for the policy.
 */
#include "tables/instance.h"

#ifndef BH_CPU_SCHEDULE_H
#define BH_CPU_SCHEDULE_H

#include "base/operations.h"
#include "cpu/front_group.h"
#include "tables/answer.h"

/* Operations in flight. On the one machine measured 32, 48 and 64 are alike, 96 finds and inserts 3
 * to 8% slower, 128 finds 8% slower; 64 leaves room for memory that serves more lines at once. */
#define BH_WINDOW 64u

/* Prefetches a region of near memory; answers its address, which is the region's offset. `far`, a constant, says that
 * it comes from beyond the caches. */
BH_FN uint64_t bh_schedule_bring(bh_region region, int to_write, int far)
{
    uint32_t at;

    for (at = 0; at < region.bytes; at += 64) {
        const void *line = (const void *)(uintptr_t)(region.offset + at);

        if (to_write)
            bh_bring_to_write(line);
        else if (far)
            bh_bring_far(line);
        else
            bh_bring(line);
    }
    return region.offset;
}

#endif

#ifdef BH_DESIGN_AIMS
#include BH_DESIGN_AIMS
#endif

typedef struct BH_DESIGN(flight) {
    uint64_t region; /* its address; 0: not yet there */
#ifdef BH_DESIGN_TIERS
    bh_region wanted;
#endif
    BH_DESIGN(op) op;
} BH_DESIGN(flight);

/* Whether operations of a kind may write to the regions that they ask for. */
BH_FN int BH_DESIGN(writes)(uint32_t kind)
{
#ifdef BH_DESIGN_LOOKUPS_ONLY
    (void)kind;
    return 0;
#else
    return kind != BH_FIND;
#endif
}

/* Has the region brought that an operation goes on with. The operation holds no other region. */
BH_FN void BH_DESIGN(bring)(const bh__slice *slice, BH_DESIGN(flight) *flight, bh_region region,
                            int to_write, int far)
{
#ifdef BH_DESIGN_TIERS
    flight->wanted = region;
    if (region.tier != BH_TIER_NEAR) {
        const bh__bringer *bringer = BH_DESIGN(bringer)(slice->geometry, region.tier);

        flight->region = bringer->ask(bringer->state, region.offset, region.bytes, to_write);
        return;
    }
#endif
    (void)slice;
    flight->region = bh_schedule_bring(region, to_write, far);
}

/* Whether the operation's region is there; asks the bringer again where it was not. */
BH_FN int BH_DESIGN(is_there)(const bh__slice *slice, BH_DESIGN(flight) *flight, int to_write)
{
#ifdef BH_DESIGN_TIERS
    if (!flight->region)
        BH_DESIGN(bring)(slice, flight, flight->wanted, to_write, 0);
    return flight->region != 0;
#else
    (void)slice;
    (void)flight;
    (void)to_write;
    return 1;
#endif
}

/* The operation moves on from its region. */
BH_FN void BH_DESIGN(let_go)(const bh__slice *slice, const BH_DESIGN(flight) *flight, int to_write)
{
#ifdef BH_DESIGN_TIERS
    if (flight->region && flight->wanted.tier != BH_TIER_NEAR) {
        const bh__bringer *bringer = BH_DESIGN(bringer)(slice->geometry, flight->wanted.tier);

        bringer->let_go(bringer->state, flight->wanted.offset, flight->wanted.bytes, flight->region,
                        to_write);
    }
#endif
    (void)slice;
    (void)flight;
    (void)to_write;
}

/* Steps an operation, if its region is there, and has the next region brought. */
BH_FN bh_answer BH_DESIGN(advance)(bh__slice *slice, BH_DESIGN(flight) *flight, uint32_t kind,
                                   int far)
{
    const int to_write = BH_DESIGN(writes)(kind);
    bh_answer answer = BH_RETRY;
#ifdef BH_DESIGN_TIERS
    bh_region next = {0, 0, BH_TIER_NEAR}; /* gcc does not see that NEXT sets it */
#else
    bh_region next;
#endif

    if (BH_DESIGN(is_there)(slice, flight, to_write))
        answer = BH_DESIGN(step)(slice, &flight->op, kind, flight->region, &next);
    if (answer != BH_RETRY)
        BH_DESIGN(let_go)(slice, flight, to_write);
    if (answer == BH_NEXT)
        BH_DESIGN(bring)(slice, flight, next, to_write, far);
    return answer;
}

/* Begins the next element of the slice in a place of the window. */
BH_FN void BH_DESIGN(launch)(const bh__slice *slice, uint32_t kind, int far, uint32_t index,
                             BH_DESIGN(flight) *flight)
{
    uint32_t at = slice->listed ? slice->list[index] : index;
    bh_region region;

    if (kind == BH_KIND_MIXED)
        kind = slice->ops ? slice->ops[at] : slice->op;
#ifdef BH_DESIGN_AIMS
    if (slice->hints & BH_HINT_LEFT)
        region = BH_DESIGN(begin_left)(slice, &flight->op, at, kind);
    else
#endif
        region = BH_DESIGN(begin)(slice, &flight->op, at, kind);
    BH_DESIGN(bring)(slice, flight, region, BH_DESIGN(writes)(kind), far);
}

/*
 * Runs a slice; `kind` is a constant: a bh_op, or BH_KIND_MIXED; so is `far`. It works on a copy of the slice
 * that nobody else can point to, so that the compiler keeps its fields in registers while bytes
 * are written to outcomes.
 */
BH_FN void BH_DESIGN(run_window)(bh__slice *shared, uint32_t kind, int far)
{
    BH_DESIGN(flight) window[BH_WINDOW];
    bh__slice slice = *shared;
    uint32_t total = slice.listed ? slice.listed : slice.count;
    uint32_t flying = total < BH_WINDOW ? total : BH_WINDOW;
    BH_DESIGN(flight) *flight = window, *end = window + flying;
    uint32_t begun, waits = 0;

    slice.target = BH_TARGET_NAME;
    slice.stalled = 0;
    for (begun = 0; begun < flying; begun++)
        BH_DESIGN(launch)(&slice, kind, far, begun, &window[begun]);
    while (end != window) {
        uint32_t op = kind == BH_KIND_MIXED ? flight->op.op : kind;
        bh_answer answer = BH_DESIGN(advance)(&slice, flight, op, far);

        if (answer == BH_NEXT) {
            waits = 0;
        } else if (answer == BH_RETRY) {
            if (++waits >= 2 * (uint32_t)(end - window)) {
                slice.system->yield(slice.system->state);
                waits = 0;
            }
        } else {
            waits = 0;
            if (answer == BH_DONE) {
                if (slice.outcomes) {
                    uint8_t *outcome = slice.outcomes + flight->op.at;

                    *outcome = flight->op.outcome;
                    bh_answer_ahead(&slice, outcome, 1, flight->op.at);
                }
            } else {
                /* Names are read from the list before stalled ones are written to it: at most as
                 * many have stalled as were begun. */
                slice.list[slice.stalled++] = (uint16_t)flight->op.at;
            }
            if (begun < total) {
                BH_DESIGN(launch)(&slice, kind, far, begun++, flight);
            } else {
                /* The last operation moves into the gap, and is the next to be stepped. */
                *flight = *--end;
                if (flight != end)
                    continue;
            }
        }
        flight = flight + 1 < end ? flight + 1 : window;
    }
    *shared = slice;
}

/* The same, where the slice's hints say whether its lines come from beyond the caches. Only lookups gain by that. A test
 * of the hint for each line would cost them one instruction in twenty, so there are two loops (docs/decisions/0019). */
BH_FN void BH_DESIGN(run)(bh__slice *slice, uint32_t kind)
{
    if (!BH_DESIGN(writes)(kind) && (slice->hints & BH_HINT_FAR))
        BH_DESIGN(run_window)(slice, kind, 1);
    else
        BH_DESIGN(run_window)(slice, kind, 0);
}

/*
 * Runs a slice whose elements take effect one after the other. Begin has no effect, so the next
 * elements are begun and their first lines brought while the oldest is carried to its end. The first
 * stall ends the slice: elements behind it have not been stepped, and stay behind it in the list.
 */
BH_FN void BH_DESIGN(run_ordered)(bh__slice *slice)
{
    BH_DESIGN(flight) window[BH_WINDOW];
    uint32_t total = slice->listed ? slice->listed : slice->count;
    uint32_t begun = 0, done, at, waits = 0;

    slice->target = BH_TARGET_NAME;
    slice->stalled = 0;
    while (begun < total && begun < BH_WINDOW) {
        BH_DESIGN(launch)(slice, BH_KIND_MIXED, 0, begun, &window[begun]);
        begun++;
    }
    for (done = 0; done < total; done++) {
        BH_DESIGN(flight) *flight = &window[done % BH_WINDOW];
        bh_answer answer;

        do {
            answer = BH_DESIGN(advance)(slice, flight, flight->op.op, 0);
            if (answer == BH_RETRY && ++waits % 64 == 0)
                slice->system->yield(slice->system->state);
        } while (answer == BH_NEXT || answer == BH_RETRY);
        if (answer == BH_STALL)
            break;
        if (slice->outcomes)
            slice->outcomes[flight->op.at] = flight->op.outcome;
        if (begun < total)
            BH_DESIGN(launch)(slice, BH_KIND_MIXED, 0, begun++, flight);
    }
    /* The operation that stalled has let go of its region already; those begun behind it have not. */
    for (at = done + 1; at < begun; at++) {
        const BH_DESIGN(flight) *flight = &window[at % BH_WINDOW];

        BH_DESIGN(let_go)(slice, flight, BH_DESIGN(writes)(flight->op.op));
    }
    for (; done < total; done++)
        slice->list[slice->stalled++] = slice->listed ? slice->list[done] : (uint16_t)done;
}

#ifdef BH_DESIGN_AIMS
#include "cpu/front_rounds.h"
#endif

#ifdef BH_DESIGN_FRONT
/* A front of the design's own (BH_DESIGN_CORES has the text): whether elements of a slice, which do `kind`, are for it;
 * and what runs them. The slice's list then names those that are left to the window. */
BH_FN int BH_DESIGN(takes_front)(const bh__slice *slice, uint32_t kind);
BH_FN_RARE void BH_DESIGN(run_front)(bh__slice *slice, uint32_t kind);
#endif

/* Runs a slice whose elements do all the same; `kind` is a constant: a bh_op, or BH_KIND_MIXED, where it is slice->op. */
BH_FN void BH_DESIGN(run_alike)(bh__slice *slice, uint32_t kind)
{
#if defined(BH_DESIGN_AIMS) || defined(BH_DESIGN_FRONT)
    const uint32_t listed = slice->listed;
    const uint32_t op = kind == BH_KIND_MIXED ? slice->op : kind;

    if (!BH_IS_ALIKE(slice) && BH_DESIGN(takes_front)(slice, op)) {
        slice->target = BH_TARGET_NAME;
        slice->stalled = 0;
        BH_DESIGN(run_front)(slice, op);
        if (slice->listed) {
            slice->hints |= BH_HINT_LEFT;
            BH_DESIGN(run)(slice, kind);
            slice->hints &= ~BH_HINT_LEFT;
        }
        slice->listed = listed;
        return;
    }
#endif
    BH_DESIGN(run)(slice, kind);
}

static void BH_DESIGN(slice_find)(bh__slice *slice)
{
    BH_DESIGN(run_alike)(slice, BH_FIND);
}

/* A design whose policy performs all calls that change something has lookups alone. */
#ifndef BH_DESIGN_LOOKUPS_ONLY

static void BH_DESIGN(slice_insert)(bh__slice *slice)
{
    BH_DESIGN(run_alike)(slice, BH_INSERT);
}

static void BH_DESIGN(slice_erase)(bh__slice *slice)
{
    BH_DESIGN(run_alike)(slice, BH_ERASE);
}

#include "cpu/fold.h"

static void BH_DESIGN(slice_add)(bh__slice *slice)
{
    const uint32_t total = slice->listed ? slice->listed : slice->count;

    if (!BH_VALUE_BYTES || !BH_DESIGN(worth_folding)(slice, total) ||
        !BH_DESIGN(run_folded)(slice, total))
        BH_DESIGN(run_alike)(slice, BH_ADD);
}

/* A slice of one operation that has no instance of its own. */
static void BH_DESIGN(slice_other)(bh__slice *slice)
{
    BH_DESIGN(run_alike)(slice, BH_KIND_MIXED);
}

#include "cpu/kinds.h"

static void BH_DESIGN(slice_mixed)(bh__slice *slice)
{
    if (slice->ordered)
        BH_DESIGN(run_ordered)(slice);
    else if (slice->ops && !slice->listed)
        BH_DESIGN(run_kinds)(slice);
    else if (slice->ops) /* those of a slice that have stalled */
        BH_DESIGN(run)(slice, BH_KIND_MIXED);
    else
        BH_DESIGN(slice_other)(slice);
}

#endif
