/*
 * The kernels of a design's slices for one pair of widths: one for each kind of slice, in the schedule
 * that the file is compiled for. An include-template: see instance.h, and tables/declared.h for what a
 * design declares.
 *
 * Schedules. A group is a thread, or a tile of BH_CUDA_TILE threads that look at a bucket
 * together.
 *
 *   each     A group carries one element to its end. Nine of ten inserts end after one step, but of
 *            32 threads in lockstep some three need another bucket or a path of moves, and the
 *            other 29 wait for them, in almost every warp.
 *   sift     Stages, a kernel each: the first step of every element; then the elements that it did not
 *            finish, with both buckets; then those whose buckets were full, with paths. Elements that
 *            a stage leaves go to a list on the device. BH_SCHEDULE_AUTO uses this schedule, except
 *            for large calls that a design's own schedule takes. See docs/decisions/0008.
 *   lanes    Collaborative lanes (Khorasani and others, Stadium hashing, section IV; there it is
 *            called clStash), threads only. A warp has many elements. Each of its lanes begins one
 *            and takes the first step; if that does not finish the element, its name is parked in
 *            shared memory, and the lane takes the next element. When 32 are parked, each lane takes
 *            one of them and carries it to its end: so what is rare is done by 32 threads at once, too.
 *
 *              elements  ->  first step, 32 at a time  --done-->
 *                                 | not done
 *                                 v
 *                            parked: [ a b c ... ]     32 of them  ->  to the end
 *
 *            From the paper, with this difference: a parked element begins anew, so that only its
 *            4-byte name is kept; its bucket is still in the L2 cache.
 *   voter    Tiles only. A thread has an element of its own, and the tile works on its threads'
 *            elements one at a time; when one is refused (BH_RETRY) the tile goes on with
 *            another thread's. See in_turn below.
 */
#include BH_DESIGN_OPS

#ifndef BH_CUDA_DEVICE_KERNELS_H
#define BH_CUDA_DEVICE_KERNELS_H

#include "cuda/device/job.h"

#ifndef BH_CUDA_SLICES_ONLY
#define BH_CUDA_SLICES_ONLY (BH_CUDA_TILE > 1)
#endif
/* The schedule that a compilation for slices alone is for: one of these. */
#define BH_CUDA_EACH 0
#define BH_CUDA_LANES 1
#define BH_CUDA_VOTER 2
#ifndef BH_CUDA_WAY
#define BH_CUDA_WAY BH_CUDA_EACH
#endif
#if (BH_CUDA_WAY == BH_CUDA_LANES && BH_CUDA_TILE > 1) ||                                          \
    (BH_CUDA_WAY == BH_CUDA_VOTER && BH_CUDA_TILE == 1)
#error "collaborative lanes are for a thread per element, and the voter is for tiles"
#endif

/* The word by which a kernel reports its schedule (module.h). */
#define BH_CUDA_SCHEDULE                                                                           \
    (!BH_CUDA_SLICES_ONLY           ? BH__CUDA_SIFT                                                \
     : BH_CUDA_WAY == BH_CUDA_LANES ? BH__CUDA_LANES                                               \
     : BH_CUDA_WAY == BH_CUDA_VOTER ? BH__CUDA_VOTER + BH_CUDA_TILE                                \
                                    : BH__CUDA_EACH + BH_CUDA_TILE)

#endif

#ifndef BH_CUDA_KERNEL
#define BH_CUDA_KERNEL(name) cuda_##name
#endif
#define BH_KERNEL(name) BH_DESIGN(BH_CUDA_KERNEL(name))

#include "cuda/device/slice.h"

/* Carries an operation to its end, or until it stalls. */
BH_FN bh_answer BH_KERNEL(carry)(bh__slice *slice, BH_DESIGN(op) *op, uint32_t at, uint32_t kind)
{
    bh_answer answer = BH_NEXT;
    uint32_t refused = 0;
    bh_region region;

    region = BH_DESIGN(begin)(slice, op, at, kind);
    while (answer == BH_NEXT || answer == BH_RETRY) {
        if (!bh_turn(refused))
            continue;
        answer = BH_DESIGN(step)(slice, op, kind, region.offset, &region);
        refused = answer == BH_RETRY ? refused + 1 : 0;
    }
    return answer;
}

/*
 * Twins: the lanes of this warp that do the same to the same key, as the bits of a mask. Only the
 * first of them works, with a value that stands for all, and the outcomes of the others follow from its
 * outcome: as if the lanes took effect in their order. Without that, the elements of an often repeated
 * key would wait for its lock one by one.
 */
BH_FN uint32_t BH_KERNEL(twins)(const bh__slice *slice, uint32_t at, uint32_t kind, uint32_t here)
{
    const uint32_t lane = threadIdx.x % 32;
    const BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    uint32_t same = __match_any_sync(here, (unsigned long long)key);

    /* All lanes that a mask names must take part. */
    if (slice->ops)
        same &= __match_any_sync(here, kind);
    return BH_CUDA_TILE > 1 || kind == BH_FIND ? 1u << lane : same;
}

/* The value that stands for those of the twins. */
BH_FN BH_VALUE BH_KERNEL(twins_value)(const bh__slice *slice, uint32_t at, uint32_t kind,
                                      uint32_t twins)
{
    const BH_VALUE mine = (BH_VALUE)bh_value_at(slice->values, BH_VALUE_BYTES, at);
    BH_VALUE value = __shfl_sync(twins, mine, (int)bh_first(twins)), next;
    uint32_t left;

    for (left = twins & (twins - 1); left; left &= left - 1) {
        next = __shfl_sync(twins, mine, (int)bh_first(left));
        value = (BH_VALUE)bh_join(kind, BH_VALUE_BYTES, value, next);
    }
    return value;
}

/* When the first of the twins has been done, gives its value to the others: the one that was read if its key
 * was `found`, else `value`. */
BH_FN void BH_KERNEL(twins_answer)(const bh__slice *slice, uint32_t at, uint32_t twins, int done,
                                   int found, BH_VALUE value)
{
    BH_VALUE *const answer = (BH_VALUE *)slice->values_out + at;
    const int works = threadIdx.x % 32 == bh_first(twins);

    if (works && done && found)
        value = *answer;
    value = __shfl_sync(twins, value, (int)bh_first(twins));
    if (!works && done)
        *answer = value;
}

/* Tells the host that some key is missing: the values of missing keys stay as they were. */
BH_FN void BH_KERNEL(note_missing)(const bh__cuda_job *job, uint32_t kind, const BH_DESIGN(op) *op)
{
    if (kind == BH_FIND && op->outcome == BH_MISSING && !job->done->missing)
        job->done->missing = 1;
}

/* BH_HINT_ALIKE for the elements of a stage, if they are all of one operation and move no key; `moves` says that
 * those that insert would. (The schedules to compare have only one stage, and always take locks. Floats of 4
 * bytes are added under locks: see bh_join_word.) */
BH_FN uint32_t BH_KERNEL(alike)(const bh__slice *slice, uint32_t kind, int moves)
{
    const int joins = !BH_OP_ROUNDS(kind) || BH_VALUE_BYTES == 8;
    const int stays = !(moves && BH_OP_INSERTS(kind));

    return !BH_CUDA_SLICES_ONLY && !slice->ops && joins && stays ? BH_HINT_ALIKE : 0;
}

/*
 * Carries the group's element from its stage to its end, or lists it as stalled; in the stage
 * BH_CUDA_HOME_FULL no further than to the next stage. `here` are the lanes that do so together;
 * `room` says whether there is room for a new key, or that this has not been asked. Answers what the
 * element has done, in BH_CUDA_ bits.
 */
BH_FN uint32_t BH_KERNEL(finish)(const bh__cuda_job *job, const bh__slice *common, uint32_t at,
                                 uint32_t kind, int room, uint32_t here, int stage)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t twins = BH_KERNEL(twins)(common, at, kind, here);
    const int works = lane / BH_CUDA_TILE == bh_first(twins) / BH_CUDA_TILE;
    bh__slice slice = *common;
    BH_DESIGN(op) op = {};
    int answer = BH_DONE; /* a bh_answer */
    int parks;
    BH_VALUE value;

    bh_cuda_stamp_begin(at);
    if (twins & (twins - 1)) {
        value = BH_KERNEL(twins_value)(&slice, at, kind, twins);
        slice.values = &value - at; /* what this element brings */
    }
    /* Guests are sent home in the stage BH_CUDA_HOME_FULL. */
    slice.hints |=
        BH_KERNEL(alike)(&slice, kind,
                         stage != BH_CUDA_HOME_FULL || (slice.hints & BH_HINT_TURNOVER) != 0) |
        (stage == BH_CUDA_HOME_FULL ? BH_HINT_LATER : 0);
    if (room == BH_CUDA_ROOM_UNKNOWN)
        room = (int)bh_cuda_share32((uint32_t)bh_cuda_has_room(job, works && BH_OP_INSERTS(kind)));
    slice.room = room;
    op.outcome = BH_NOT_DONE;
    if (works)
        answer = BH_KERNEL(carry)(&slice, &op, at, kind);
    parks = stage == BH_CUDA_HOME_FULL && answer == BH_STALL && (slice.reasons & BH_REASON_PLACE) &&
            slice.looks;
    if (twins & (twins - 1)) {
        const int first_of = (int)bh_first(twins);
        const uint8_t first = (uint8_t)__shfl_sync(twins, (uint32_t)op.outcome, first_of);

        answer = __shfl_sync(twins, answer, first_of);
        parks = __shfl_sync(twins, parks, first_of);
        room = __shfl_sync(twins, room, first_of);
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice.values_out)
            BH_KERNEL(twins_answer)(&slice, at, twins, answer == BH_DONE, first == BH_FOUND, value);
        if (lane != bh_first(twins)) {
            op.outcome = bh_rest(kind, first);
            slice.assigned = answer == BH_DONE && op.outcome == BH_ASSIGNED;
        }
    }
    if (stage == BH_CUDA_HOME_FULL)
        bh_cuda_park(job, BH_CUDA_BOTH_FULL, at, room, parks);
    bh_cuda_stall(job, at, answer == BH_STALL && !parks);
    bh_cuda_reason(job, answer == BH_STALL && !parks, slice.reasons);
    if (answer == BH_DONE && slice.outcomes && bh_cuda_lane() == 0)
        slice.outcomes[at] = op.outcome;
    if (answer == BH_DONE)
        bh_cuda_stamp_end(at);
    if (slice.moved)
        job->done->moved = 1;
    BH_KERNEL(note_missing)(job, kind, &op);
    return (slice.inserted ? BH_CUDA_INSERTED : 0) | (slice.erased ? BH_CUDA_ERASED : 0) |
           (slice.assigned ? BH_CUDA_ASSIGNED : 0);
}

/*
 * The schedule `each`, of all elements, or of those that an earlier kernel has parked. A group takes
 * neighbouring parked elements one after the other: elements may have been parked bucket by bucket
 * (scatter.h), and if the lanes of a warp took neighbours, they would all want the same lock.
 */
BH_FN void BH_KERNEL(each)(const bh__cuda_job *job, uint32_t kind, int stage)
{
    if (stage && !job->done->parked_count[stage - 1])
        return;
    if (stage == BH_CUDA_HOME_FULL && job->done->struck && !job->done->left)
        return;
    const bh__slice common = BH_DESIGN(cuda_slice)(job);
    const uint64_t count = stage ? job->done->parked_count[stage - 1] : job->count;
    const uint64_t groups = gridDim.x * (uint64_t)blockDim.x / BH_CUDA_TILE;
    const uint32_t *names = stage ? job->parked[stage - 1] : job->names;
    uint32_t rounds = (uint32_t)((count + groups - 1) / groups);
    uint64_t i = bh_cuda_group() * (stage ? rounds : 1);
    bh_cuda_counts counts = {0, 0, 0};

    for (; rounds; rounds--, i += stage ? 1 : groups) {
        const uint32_t name = i >= count ? BH_CUDA_PARKED_DONE : names ? names[i] : (uint32_t)i;
        const uint32_t here = __ballot_sync(0xffffffffu, name != BH_CUDA_PARKED_DONE);
        const uint32_t at = stage ? name & BH_CUDA_PARKED_AT : name;
        const int room = stage ? (name & BH_CUDA_PARKED_ROOM) != 0 : BH_CUDA_ROOM_UNKNOWN;

        if (name != BH_CUDA_PARKED_DONE)
            bh_cuda_count(&counts,
                          BH_KERNEL(finish)(job, &common, at, bh_cuda_kind(&common, kind, at), room,
                                            here, stage));
        __syncwarp();
    }
    bh_cuda_enter(job, BH_CUDA_SCHEDULE, &counts);
}

#if BH_CUDA_TILE == 1 && defined(BH_DESIGN_STAGES)
/*
 * The last stage of `sift`: elements whose buckets were full, with paths. Paths take from 3 steps
 * to hundreds; so a lane whose element is done takes the next one at once, while the others of its
 * warp are still on theirs, and each round of the loop is a step of 32 elements, whichever these
 * are.
 *
 * (Equal keys are not looked for here: one of their elements finds a place, and the others find the key.)
 *
 * Elements for whose searches there is no allowance stall at their first step.
 */
BH_FN void BH_KERNEL(search_all)(const bh__cuda_job *job, uint32_t kind)
{
    if (job->done->parked_count[BH_CUDA_BOTH_FULL - 1] == job->done->sent)
        return;
    const bh__slice common = BH_DESIGN(cuda_slice)(job);
    const uint64_t count = job->done->parked_count[BH_CUDA_BOTH_FULL - 1];
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x;
    const uint32_t *names = job->parked[BH_CUDA_BOTH_FULL - 1];
    uint64_t i = bh_cuda_group();
    bh_cuda_counts counts = {0, 0, 0};
    bh__slice slice = common;
    uint32_t at = 0, what = kind, refused = 0;
    int busy = 0;
    BH_DESIGN(op) op = {};
    bh_region region = {};

    for (;;) {
        for (; !busy && i < count; i += threads) {
            if (names[i] == BH_CUDA_PARKED_DONE)
                continue;
            at = names[i] & BH_CUDA_PARKED_AT;
            slice.room = (names[i] & BH_CUDA_PARKED_ROOM) != 0;
            slice.looks = i < job->searches ? BH_LOOKS_FREE : 0;
            what = bh_cuda_kind(&common, kind, at);
            bh_cuda_stamp_begin(at);
            region = BH_DESIGN(begin_last)(&slice, &op, at, what);
            refused = 0;
            busy = 1;
        }
        if (!__any_sync(0xffffffffu, busy))
            break;
        if (busy && bh_turn(refused)) {
            const bh_answer answer = BH_DESIGN(step)(&slice, &op, what, region.offset, &region);

            refused = answer == BH_RETRY ? refused + 1 : 0;
            busy = answer == BH_NEXT || answer == BH_RETRY;
            bh_cuda_stall(job, at, answer == BH_STALL);
            bh_cuda_reason(job, answer == BH_STALL, slice.reasons);
            if (answer == BH_DONE) {
                if (slice.outcomes)
                    slice.outcomes[at] = op.outcome;
                bh_cuda_stamp_end(at);
            }
        }
        __syncwarp();
    }
    if (slice.moved)
        job->done->moved = 1;
    counts.inserted = (uint32_t)slice.inserted;
    counts.erased = (uint32_t)slice.erased;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_enter(job, BH_CUDA_SCHEDULE, &counts);
}

#endif

#if BH_CUDA_TILE == 1
/* An element's first step; *counts counts what it has done. */
BH_FN bh_answer BH_KERNEL(begin)(const bh__cuda_job *job, const bh__slice *common, uint32_t at,
                                 uint32_t kind, int room, bh_cuda_counts *counts)
{
    bh__slice slice = *common;
    BH_DESIGN(op) op;
    bh_region region = BH_DESIGN(begin)(&slice, &op, at, kind);
    bh_answer answer;

    bh_cuda_stamp_begin(at);
    slice.room = room;
    slice.hints = BH_KERNEL(alike)(&slice, kind, 0); /* guests are sent home in later stages only */
    answer = BH_DESIGN(step)(&slice, &op, kind, region.offset, &region);
    if (answer == BH_DONE && slice.outcomes)
        slice.outcomes[at] = op.outcome;
    if (answer == BH_DONE) {
        BH_KERNEL(note_missing)(job, kind, &op);
        bh_cuda_stamp_end(at);
    }
    bh_cuda_reason(job, answer == BH_STALL, slice.reasons);
    counts->inserted += (uint32_t)slice.inserted;
    counts->erased += (uint32_t)slice.erased;
    counts->assigned += (uint32_t)slice.assigned;
    return answer;
}

/* Takes `count` parked elements. In the schedule `lanes` they are carried to their ends; `sift` lists them
 * for the next kernel. */
BH_FN uint32_t BH_KERNEL(unpark)(const bh__cuda_job *job, const bh__slice *common, uint32_t kind,
                                 const uint32_t *parked, uint32_t count, int sifts)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t happened = 0;

    __syncwarp();
    if (lane < count && sifts) {
        bh_cuda_park(job, BH_CUDA_HOME_FULL, parked[lane] & BH_CUDA_PARKED_AT,
                     (parked[lane] & BH_CUDA_PARKED_ROOM) != 0, 1);
    } else if (lane < count) {
        const uint32_t at = parked[lane] & BH_CUDA_PARKED_AT;

        happened = BH_KERNEL(finish)(job, common, at, bh_cuda_kind(common, kind, at),
                                     (parked[lane] & BH_CUDA_PARKED_ROOM) != 0,
                                     0xffffffffu >> (32 - count), BH_CUDA_FRESH);
    }
    __syncwarp();
    return happened;
}

/* The schedules `sift` and `lanes`: a warp takes 32 elements, and then the 32 that lie as many further on as the grid has
 * threads: so what runs at a time lies together. They are all of the slice or, where the stage BH__CUDA_ABSENT begins with
 * them, those in its list. */
BH_FN void BH_KERNEL(begin_all)(const bh__cuda_job *job, uint32_t kind, int sifts, int stage)
{
    __shared__ uint32_t parking[BH_CUDA_BLOCK / 32][64];
    uint32_t *const parked = parking[threadIdx.x / 32];
    const bh__slice common = BH_DESIGN(cuda_slice)(job);
    const uint32_t lane = threadIdx.x % 32;
    const uint64_t count = stage ? job->done->parked_count[stage - 1] : job->count;
    const uint32_t *names = stage ? job->parked[stage - 1] : job->names;
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    bh_cuda_counts counts = {0, 0, 0};
    uint32_t waiting = 0;

    for (; i - lane < count; i += gridDim.x * (uint64_t)blockDim.x) {
        const uint32_t name = i >= count ? 0 : names ? names[i] : (uint32_t)i;
        const uint32_t at = stage ? name & BH_CUDA_PARKED_AT : name;
        const uint32_t what = bh_cuda_kind(&common, kind, at);
        const int room = bh_cuda_has_room(job, i < count && BH_OP_INSERTS(what));
        int answer = BH_DONE; /* a bh_answer */
        uint32_t parks;

        if (i < count)
            answer = BH_KERNEL(begin)(job, &common, at, what, room, &counts);
        __syncwarp();
        if (__any_sync(0xffffffffu, answer == BH_STALL))
            bh_cuda_stall(job, at, answer == BH_STALL);
        parks = __ballot_sync(0xffffffffu, answer == BH_NEXT || answer == BH_RETRY);
        if (parks >> lane & 1)
            parked[waiting + bh_count(parks & ((1u << lane) - 1))] =
                at | (room ? BH_CUDA_PARKED_ROOM : 0);
        waiting += bh_count(parks);
        if (waiting >= 32) {
            waiting -= 32;
            bh_cuda_count(&counts,
                          BH_KERNEL(unpark)(job, &common, kind, parked + waiting, 32, sifts));
        }
    }
    if (waiting)
        bh_cuda_count(&counts, BH_KERNEL(unpark)(job, &common, kind, parked, waiting, sifts));
    bh_cuda_enter(job, BH_CUDA_SCHEDULE, &counts);
}
#endif

#if BH_CUDA_WAY == BH_CUDA_VOTER
/* What is kept of an element whose step answered BH_RETRY. */
typedef struct BH_KERNEL(refused) {
    BH_DESIGN(op) op;
    bh_region region;
} BH_KERNEL(refused);

/* The elements of a tile's threads: masks with a bit for each thread, the same in all threads. */
typedef struct BH_KERNEL(turns) {
    uint32_t left;    /* threads whose element is not finished */
    uint32_t begun;   /* of those, whose element was refused: it goes on from what was kept of it */
    uint32_t room;    /* threads whose element has room for a new key */
    uint32_t done;    /* threads whose element has an outcome */
    uint32_t last;    /* the number of the thread whose turn it was last */
    uint32_t refused; /* how many answers in a row were BH_RETRY */
} BH_KERNEL(turns);

/* Carries an element to its end, or until it stalls or is refused. */
BH_FN bh_answer BH_KERNEL(carry_on)(const bh__cuda_job *job, bh__slice *slice,
                                    BH_KERNEL(turns) *turns, BH_KERNEL(refused) *kept, uint32_t at,
                                    uint32_t kind, BH_DESIGN(op) *op)
{
    const uint32_t bit = 1u << turns->last;
    bh_answer answer;
    bh_region region;

    if (turns->begun & bit) {
        *op = kept->op;
        region = kept->region;
    } else {
        bh_cuda_stamp_begin(at);
        if (bh_cuda_share32((uint32_t)bh_cuda_has_room(job, BH_OP_INSERTS(kind))))
            turns->room |= bit;
        op->outcome = BH_NOT_DONE;
        region = BH_DESIGN(begin)(slice, op, at, kind);
    }
    slice->room = (turns->room & bit) != 0;
    do
        answer = BH_DESIGN(step)(slice, op, kind, region.offset, &region);
    while (answer == BH_NEXT);
    if (answer == BH_RETRY) {
        bh_cuda_meet(); /* all have read what was kept */
        if (bh_cuda_lane() == turns->last) {
            kept->op = *op;
            kept->region = region;
        }
        bh_cuda_meet();
        turns->begun |= bit;
    }
    return answer;
}

/*
 * The schedule `voter`: DyCuckoo's voter coordination (Li and others, section V.C, algorithm 1), and
 * where nobody is refused the many-to-one mapping of DACHash (Zhou, algorithm 3). Each thread of a tile
 * has an element of its own. All of them work on one of these at a time, looking at its bucket
 * together; and when another tile has the bucket's lock, they do not wait for it, but go on with the next
 * thread's element, and come back to that one later:
 *
 *     threads of a tile    0 1 2 3
 *     elements left        a b c d     a is done
 *                            b c d     b is refused: what is known of it is kept
 *                            b c d     c is done
 *                            b   d     d is done
 *                            b         b goes on with the step that was refused
 *
 * Turns go round and round among the threads whose elements are not finished. The papers vote for the next
 * thread by a ballot in each round; here there is one ballot at the beginning, because after it all threads
 * know of each element what became of it. Elements of one tile never want a lock at the same time, so
 * equal keys in a tile do not wait for each other, and need not be looked for (twins).
 *
 * A step that was refused holds nothing, and is repeated later with what the operation knew then. That state
 * is kept in shared memory, in the place of the element's thread, from where all threads of the tile read
 * it when the element's turn comes.
 *
 * Only when all elements left have been refused in a row does the tile wait (bh_turn): two tiles, in
 * lockstep, may each want what the other one is about to take.
 */
BH_FN void BH_KERNEL(in_turn)(const bh__cuda_job *job, uint32_t kind)
{
    __shared__ BH_KERNEL(refused) kept[BH_CUDA_BLOCK];
    const bh__slice common = BH_DESIGN(cuda_slice)(job);
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint32_t own = i >= job->count ? 0 : job->names ? job->names[i] : (uint32_t)i;
    const uint32_t tile = bh_cuda_mask(), lane = bh_cuda_lane();
    BH_KERNEL(turns) turns = {
        __ballot_sync(tile, i < job->count) >> bh_first(tile), 0, 0, 0, BH_CUDA_TILE - 1, 0};
    bh_cuda_counts counts = {0, 0, 0};
    uint8_t outcome = BH_NOT_DONE;

    while (turns.left) {
        const uint32_t behind = turns.left & ~((2u << turns.last) - 1);
        const uint32_t next = bh_first(behind ? behind : turns.left);
        const uint32_t at = __shfl_sync(tile, own, (int)next, BH_CUDA_TILE);
        const uint32_t what = bh_cuda_kind(&common, kind, at);
        bh__slice slice = common;
        BH_DESIGN(op) op = {};
        uint32_t goes = 0;
        bh_answer answer;

        /* One thread asks bh_turn: if all did, each would draw a time to wait, and the tile would wait
         * for the longest of them. */
        if (lane == 0)
            goes = (uint32_t)bh_turn(turns.refused / bh_count(turns.left));
        if (!bh_cuda_share32(goes))
            continue;
        turns.last = next;
        answer = BH_KERNEL(carry_on)(job, &slice, &turns, &kept[threadIdx.x - lane + next], at,
                                     what, &op);
        counts.inserted += (uint32_t)slice.inserted;
        counts.erased += (uint32_t)slice.erased;
        counts.assigned += (uint32_t)slice.assigned;
        if (slice.moved)
            job->done->moved = 1;
        turns.refused = answer == BH_RETRY ? turns.refused + 1 : 0;
        if (answer == BH_RETRY)
            continue;
        turns.left &= ~(1u << next);
        bh_cuda_stall(job, at, answer == BH_STALL);
        bh_cuda_reason(job, answer == BH_STALL, slice.reasons);
        if (answer == BH_STALL)
            continue;
        turns.done |= 1u << next;
        if (lane == next)
            outcome = op.outcome;
        bh_cuda_stamp_end(at);
        BH_KERNEL(note_missing)(job, what, &op);
    }
    if (turns.done >> lane & 1 && common.outcomes)
        common.outcomes[own] = outcome;
    __syncwarp();
    bh_cuda_enter(job, BH_CUDA_SCHEDULE, &counts);
}
#endif

/*
 * `sift` has three kernels for each kind of slice, except that erasing needs no last stage. Elements that a
 * stage leaves are in a list for the next. A fourth kernel carries the elements of small calls that do not claim
 * (claim.h) from their beginning to their end; a design without stages has only that one. The other schedules
 * have one kernel for each kind.
 */
#if !BH_CUDA_SLICES_ONLY
__global__ void BH_KERNEL(insert)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_INSERT, BH_CUDA_FRESH);
}

__global__ void BH_KERNEL(erase)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_ERASE, BH_CUDA_FRESH);
}

__global__ void BH_KERNEL(add)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_ADD, BH_CUDA_FRESH);
}

__global__ void BH_KERNEL(mixed)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_KIND_MIXED, BH_CUDA_FRESH);
}

#ifdef BH_DESIGN_STAGES
__global__ void BH_KERNEL(sift_insert)(const __grid_constant__ bh__cuda_job job, int stage)
{
    bh_cuda_follow();
    BH_KERNEL(begin_all)(&job, BH_INSERT, 1, stage);
}

__global__ void BH_KERNEL(other_insert)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_INSERT, BH_CUDA_HOME_FULL);
}

__global__ void BH_KERNEL(last_insert)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(search_all)(&job, BH_INSERT);
}

__global__ void BH_KERNEL(sift_erase)(const __grid_constant__ bh__cuda_job job, int stage)
{
    bh_cuda_follow();
    BH_KERNEL(begin_all)(&job, BH_ERASE, 1, stage);
}

__global__ void BH_KERNEL(other_erase)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_ERASE, BH_CUDA_HOME_FULL);
}

__global__ void BH_KERNEL(sift_add)(const __grid_constant__ bh__cuda_job job, int stage)
{
    bh_cuda_follow();
    BH_KERNEL(begin_all)(&job, BH_ADD, 1, stage);
}

__global__ void BH_KERNEL(other_add)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_ADD, BH_CUDA_HOME_FULL);
}

__global__ void BH_KERNEL(last_add)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(search_all)(&job, BH_ADD);
}

__global__ void BH_KERNEL(sift_mixed)(const __grid_constant__ bh__cuda_job job, int stage)
{
    bh_cuda_follow();
    BH_KERNEL(begin_all)(&job, BH_KIND_MIXED, 1, stage);
}

__global__ void BH_KERNEL(other_mixed)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(each)(&job, BH_KIND_MIXED, BH_CUDA_HOME_FULL);
}

__global__ void BH_KERNEL(last_mixed)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(search_all)(&job, BH_KIND_MIXED);
}

#endif

#else
BH_FN void BH_KERNEL(run)(const bh__cuda_job *job, uint32_t kind)
{
#if BH_CUDA_WAY == BH_CUDA_LANES
    BH_KERNEL(begin_all)(job, kind, 0, BH_CUDA_FRESH);
#elif BH_CUDA_WAY == BH_CUDA_VOTER
    BH_KERNEL(in_turn)(job, kind);
#else
    BH_KERNEL(each)(job, kind, BH_CUDA_FRESH);
#endif
}

__global__ void BH_KERNEL(find)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(run)(&job, BH_FIND);
}

__global__ void BH_KERNEL(insert)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(run)(&job, BH_INSERT);
}

__global__ void BH_KERNEL(erase)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(run)(&job, BH_ERASE);
}

__global__ void BH_KERNEL(add)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(run)(&job, BH_ADD);
}

__global__ void BH_KERNEL(mixed)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_KERNEL(run)(&job, BH_KIND_MIXED);
}

#endif

#undef BH_KERNEL
