/*
 * A lookup on a GPU, for one pair of widths of one design: begin and step of the operation's text; between
 * them each region is copied to a place of the thread's own in shared memory, where the step reads it. An
 * include-template: see instance.h, and tables/declared.h.
 *
 * A region has BH_DESIGN_REGION bytes: 1, 2, 4 or 8 pieces of 16 bytes. As many threads copy their regions
 * together, each of them one piece of each region (cp.async). So a region is one memory request, and takes
 * no registers while it is on its way. Therefore a multiprocessor can have as many threads as it allows,
 * each with a region on its way. Where each thread loaded its own line by four loads of 16 bytes into
 * registers, an H200 made four fifths as many lookups (docs/decisions/0009). With 64 bytes:
 *
 *       line of     lane 0 1 2 3                place of
 *       lane 0           a b c d   ---------->  lane 0  [a b c d] . .
 *       lane 1           e f g h   ---------->  lane 1  [e f g h] . .
 *
 * Where places lie. Shared memory has 32 banks of 4 bytes, and serves 128 bytes of 32 different banks at a
 * time: of loads and copies of 16 bytes, those of 8 neighbouring threads. A piece of 16 bytes lies in one
 * of 8 groups of 4 banks: the group with its number modulo 8. Let places be p pieces apart; when 8 threads
 * load the same piece of their regions, these are in the groups 0, p, 2p, ... 7p behind the first. These
 * are 8 different groups exactly when p is odd. So p is the number of pieces, plus one where that is even:
 *
 *       bytes of a region      16    32    64   128
 *       threads that copy it    1     2     4     8
 *       bytes of a place       16    48    80   144     p = 1, 3, 5, 9
 *       of a block of 256    4 KB 12 KB 20 KB 36 KB
 *
 * Copies have no bank conflicts either: 8 threads copy all c pieces of each of 8 / c regions, and the
 * places of these regions, whose threads are c lanes apart, are c * p pieces apart, an odd multiple of c.
 * (Loads of 4 bytes have four-way bank conflicts, those of 8 bytes two-way ones, whatever the distance is,
 * because a copy of 16 bytes must begin at a multiple of 16.)
 *
 * With 128 bytes shared memory limits the threads of a multiprocessor: to 1,536 on an H200, which could
 * have 2,048, and to the four blocks that look_find is compiled for on an A100.
 *
 * A region of another length is read where it is: a node's length may be known only at run time.
 */
#include "tables/instance.h"

#ifndef BH_CUDA_DEVICE_LOOK_H
#define BH_CUDA_DEVICE_LOOK_H

#include "cuda/device/async.h"
#include "cuda/device/job.h"

/* Bytes of one of the design's regions, and of a place. */
#define BH_LOOK_REGION ((uint32_t)(BH_DESIGN_REGION))
#define BH_LOOK_PLACE (BH_LOOK_REGION / 16 % 2 ? BH_LOOK_REGION : BH_LOOK_REGION + 16)

/* Lookups that a lane takes in turn, at most. Where regions have two lines a warp has to see some of its keys before it
 * knows whether it needs both. */
#define BH_LOOK_IN_TURN (BH_LOOK_REGION == 128 && BH_DESIGN_IN_TURN < 4 ? 4u : BH_DESIGN_IN_TURN)

/* What the elements of a kernel do: they look their keys up; act on those that are there (present.h); insert theirs
 * (claim.h). */
typedef enum bh_look { BH_LOOK_FIND, BH_LOOK_PRESENT, BH_LOOK_CLAIM } bh_look;

/* Names for the list BH_CUDA_BOTH_FULL that a block keeps until its end, so that the list's length is not accessed by
 * each warp. */
typedef struct bh_cuda_kept {
    uint32_t count; /* may be more than there is room for */
    uint32_t names[2 * BH_CUDA_BLOCK];
} bh_cuda_kept;

BH_FN bh_cuda_kept *bh_cuda_block_keeps(void)
{
    __shared__ bh_cuda_kept kept;

    return &kept;
}

/* To be called by all threads of a block at the beginning. */
BH_FN void bh_cuda_begin_keeping(void)
{
    if (threadIdx.x == 0)
        bh_cuda_block_keeps()->count = 0;
    __syncthreads();
}

/* Of lookups in regions of two lines: a warp goes on with the first line alone while more than three of four of its keys so far
 * were missing. (docs/decisions/0044 has what came out at which share.) */
BH_FN void bh_look_learn(bh__slice *slice, int32_t *balance, int found, int missing)
{
    *balance += (int32_t)bh_count(__ballot_sync(0xffffffffu, missing)) -
                3 * (int32_t)bh_count(__ballot_sync(0xffffffffu, found));
    slice->hints = (slice->hints & ~BH_HINT_ABSENT) | (*balance > 0 ? BH_HINT_ABSENT : 0);
}

/* Keeps the names of lanes that `keeps` theirs. All lanes of the warp come here. Where there is no room left they are
 * listed at once. */
BH_FN void bh_cuda_keep(const bh__cuda_job *job, uint32_t name, int keeps)
{
    bh_cuda_kept *const kept = bh_cuda_block_keeps();
    const uint32_t all = __ballot_sync(0xffffffffu, keeps), lane = threadIdx.x % 32;
    uint32_t place = 0;

    if (!all)
        return;
    if (lane == 0)
        place = atomicAdd(&kept->count, bh_count(all));
    place = __shfl_sync(0xffffffffu, place, 0) + bh_count(all & ((1u << lane) - 1));
    if (keeps && place < 2 * BH_CUDA_BLOCK)
        kept->names[place] = name;
    bh_cuda_list(job, BH_CUDA_BOTH_FULL, name, keeps && place >= 2 * BH_CUDA_BLOCK);
}

/* Lists what has been kept. To be called by all threads of a block at the end. */
BH_FN void bh_cuda_list_kept(const bh__cuda_job *job)
{
    __shared__ unsigned long long first;
    const bh_cuda_kept *const kept = bh_cuda_block_keeps();
    uint32_t count, i;

    __syncthreads();
    count = kept->count < 2 * BH_CUDA_BLOCK ? kept->count : 2 * BH_CUDA_BLOCK;
    if (threadIdx.x == 0 && count)
        first = atomicAdd((unsigned long long *)&job->done->parked_count[BH_CUDA_BOTH_FULL - 1],
                          (unsigned long long)count);
    __syncthreads();
    for (i = threadIdx.x; i < count; i += BH_CUDA_BLOCK)
        job->parked[BH_CUDA_BOTH_FULL - 1][first + i] = kept->names[i];
}

/* A store of 4 or 8 bytes. */
BH_FN void bh_look_write(uint32_t bytes, unsigned char *p, uint64_t value)
{
    if (bytes == 4)
        bh_write32(p, (uint32_t)value);
    else
        bh_write64(p, value);
}

/* Stores keys and values of `bytes` each, of the lanes of a warp that `stores` some. All lanes come here. Two lanes store
 * the key and the value of one pair by one instruction: in one line of 128 bytes these are one request to the L2 cache
 * instead of two, and requests are what insertions wait for. */
BH_FN void bh_look_store_pairs(uint32_t bytes, unsigned char *at, unsigned char *value_at,
                               uint64_t key, uint64_t value, int stores)
{
    const int upper = threadIdx.x % 32 >= 16;
    const uint32_t apart = (uint32_t)(value_at - at);

#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int of = 16 * half + (int)(threadIdx.x % 16);
        const uint64_t to = __shfl_sync(0xffffffffu, stores ? (uint64_t)(uintptr_t)at : 0, of);
        const uint32_t further = __shfl_sync(0xffffffffu, apart, of);
        const uint64_t k = bytes == 4 ? __shfl_sync(0xffffffffu, (uint32_t)key, of)
                                      : __shfl_sync(0xffffffffu, key, of);
        const uint64_t v = bytes == 4 ? __shfl_sync(0xffffffffu, (uint32_t)value, of)
                                      : __shfl_sync(0xffffffffu, value, of);

        if (to)
            bh_look_write(bytes, (unsigned char *)(uintptr_t)(upper ? to + further : to),
                          upper ? v : k);
    }
}

#endif

/* Brings the region of each lane that `wants` one, and answers where the step finds it. All lanes of the warp come
 * here. Where regions have 128 bytes a lane may want the first half alone. Regions in the host's memory are read where
 * they are, unless others write them meanwhile: a copy by two lanes is more than one request on the bus, and lookups would
 * take half as long again. */
BH_FN uint64_t BH_DESIGN(look_bring)(unsigned char *place, bh_region region, int wants, bh_look how)
{
#ifdef BH_DESIGN_FAR
    const int copies = how == BH_LOOK_CLAIM || region.tier == BH_TIER_NEAR;
#else
    const int copies = 1;
#endif
    const int all = wants && region.bytes == BH_LOOK_REGION && copies;
    const int half = wants && BH_LOOK_REGION == 128 && region.bytes == 64;

    if (BH_LOOK_REGION != 128 || __any_sync(0xffffffffu, all))
        bh_cuda_bring(place, all ? region.offset : 0, BH_LOOK_REGION);
    if (BH_LOOK_REGION == 128 && __any_sync(0xffffffffu, half))
        bh_cuda_bring(place, half ? region.offset : 0, 64);
    return all || half ? (uint64_t)(uintptr_t)place : region.offset;
}

/* Carries the lookup of an element's key to its end. All lanes of the warp come here; those that have nothing
 * to look up have `looks` 0. */
BH_FN void BH_DESIGN(look_carry)(bh__slice *slice, BH_DESIGN(op) *op, uint32_t at, int looks)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    unsigned char *place = places[threadIdx.x];
    bh_region region = {};

    if (looks)
        region = BH_DESIGN(begin)(slice, op, at, BH_FIND);
    while (__any_sync(0xffffffffu, looks)) {
        const uint64_t line = BH_DESIGN(look_bring)(place, region, looks, BH_LOOK_FIND);

        if (looks)
            looks = BH_DESIGN(step)(slice, op, BH_FIND, line, &region) != BH_DONE;
        __syncwarp(); /* a place must not be written before all have read the region in it */
    }
}

/* A step of an element. */
BH_FN bh_answer BH_DESIGN(look_step)(bh__slice *slice, BH_DESIGN(op) *op, uint32_t kind,
                                     bh_look how, uint64_t line, bh_region *region)
{
#ifdef BH_DESIGN_PRESENT
    if (how == BH_LOOK_PRESENT)
        return BH_DESIGN(step_present)(slice, op, kind, line, region);
#endif
#ifdef BH_DESIGN_CLAIMS
    if (how == BH_LOOK_CLAIM)
        return BH_DESIGN(step_claim)(slice, op, kind, line, region);
#endif
    return BH_DESIGN(step)(slice, op, BH_FIND, line, region);
}

/* Begins an element in the list of the second stage, by its name there. */
BH_FN bh_region BH_DESIGN(look_again)(const bh__slice *slice, BH_DESIGN(op) *op, uint32_t name,
                                      uint32_t kind)
{
    const uint32_t at = name & BH_CUDA_PARKED_AT;

#ifdef BH_DESIGN_CLAIMS_FIRST
    if (name & BH_CUDA_PARKED_AWAY)
        return BH_DESIGN(begin_away)(slice, op, at, kind);
#endif
    return BH_DESIGN(begin)(slice, op, at, kind);
}

/* Where a design leaves that to its caller: stores the pairs for which operations of a warp have claimed places. All lanes
 * come here. */
BH_FN void BH_DESIGN(look_store)(const BH_DESIGN(op) *op, BH_VALUE value, int stores)
{
#ifdef BH_DESIGN_CLAIMS_FIRST
    unsigned char *value_at = nullptr, *at = nullptr;

    if (stores)
        at = BH_DESIGN(claimed)(op, &value_at);
    if (BH_KEY_BYTES == BH_VALUE_BYTES) {
        bh_look_store_pairs(BH_KEY_BYTES, at, value_at, op->key, value, stores);
        return;
    }
    if (stores)
        bh_look_write(BH_KEY_BYTES, at, op->key);
    if (stores && BH_VALUE_BYTES)
        bh_look_write(BH_VALUE_BYTES, value_at, value);
#endif
}

/* Leaves the elements of a warp that `stalls` to the stages. What has a reason to stall, as that there is no room, would
 * stall there too; but where a key's buckets are full, ways may be found (BH_DESIGN_WAYS). */
BH_FN void BH_DESIGN(look_leave)(const bh__cuda_job *job, const bh__slice *slice, int room,
                                 uint32_t at, int stalls, int stage)
{
#ifdef BH_DESIGN_WAYS
    const int full = slice->reasons == BH_REASON_PLACE;
    const int last =
        full && stage != BH__CUDA_ABSENT; /* else that is the list which is gone through */

    bh_cuda_park(job, BH_CUDA_BOTH_FULL, at, room, stalls && last);
#else
    const int full = 0, last = 0;
#endif
    bh_cuda_park(job, BH_CUDA_HOME_FULL, at, room, stalls && !last && (full || !slice->reasons));
    bh_cuda_stall(job, at, stalls && !full && slice->reasons);
    bh_cuda_reason(job, stalls && !full, slice->reasons);
}

/* The end of elements in the list of the second stage, from places `of` it: strikes from it what is done, or listed elsewhere, and
 * counts what is left. */
BH_FN void BH_DESIGN(look_strike)(const bh__cuda_job *job, const bh__slice *slice, int room,
                                  uint32_t at, uint32_t of, int again, bh_answer answer, int ends)
{
    const int stalls = ends && answer == BH_STALL, leaves = stalls && !slice->reasons;
    const int full = stalls && slice->reasons == BH_REASON_PLACE;
    const uint32_t counts = __ballot_sync(0xffffffffu, again ? ends && !leaves : leaves);

    if (__any_sync(0xffffffffu, stalls)) {
        bh_cuda_keep(job, at | (room ? BH_CUDA_PARKED_ROOM : 0) | BH_CUDA_PARKED_AWAY, full);
        bh_cuda_stall(job, at, stalls && !full && !leaves);
        bh_cuda_reason(job, stalls && !full && !leaves, slice->reasons);
    }
    if (counts && threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)&job->done->left,
                  again ? 0ull - bh_count(counts) : (unsigned long long)bh_count(counts));
    if (ends && !leaves)
        job->parked[BH_CUDA_HOME_FULL - 1][of] = BH_CUDA_PARKED_DONE;
}

/* The end of a lane's element, which `ends`. All lanes of the warp come here. */
BH_FN void BH_DESIGN(look_end)(const bh__cuda_job *job, const bh__slice *slice,
                               const BH_DESIGN(op) *op, uint32_t kind, bh_look how, int stage,
                               int again, int room, uint32_t at, uint32_t of, bh_answer answer,
                               int ends)
{
    const int stalls = ends && answer == BH_STALL;

    if (ends && !stalls && slice->outcomes)
        slice->outcomes[at] = op->outcome;
    /* The host brings the values of missing keys, which stay as they were. The word is read before it is
     * written: it is in the L1 cache, and otherwise each warp with a missing key would store to one place. */
    if (how == BH_LOOK_FIND && ends && op->outcome == BH_MISSING && !job->done->missing)
        job->done->missing = 1;
    if (how == BH_LOOK_CLAIM && stage == BH_CUDA_HOME_FULL)
        BH_DESIGN(look_strike)(job, slice, room, at, of, again, answer, ends);
    if (how == BH_LOOK_FIND || !BH_OP_INSERTS(kind) || !__any_sync(0xffffffffu, stalls) ||
        (how == BH_LOOK_CLAIM && stage == BH_CUDA_HOME_FULL))
        return;
    if (how == BH_LOOK_PRESENT) {
        bh_cuda_park(job, BH__CUDA_ABSENT, at, 0, stalls);
        return;
    }
    BH_DESIGN(look_leave)(job, slice, room, at, stalls, stage);
}

/* The end of the elements from `first` on that a warp takes at a time. */
BH_FN uint32_t BH_DESIGN(look_end_of)(uint32_t first, uint32_t each, uint32_t count)
{
    return first + 32 * each < count ? first + 32 * each : count;
}

/*
 * All elements of a warp, each carried to its end: 32 * `rounds` neighbours. A lane whose element is done begins the
 * next one, while the others go on with theirs:
 *
 *     lane 0   a a a d d      looks of a, then of d
 *     lane 1   b f f f f
 *     lane 2   c c e e -
 *
 * With one round a warp takes as long as its longest search. Where searches differ in length (in Stadium hashing most
 * end after one line or two, few of them after several) most lanes would wait most of the time. This is the idea of
 * collaborative lanes (Khorasani and others, Stadium hashing), without parking: what is not done stays in its lane.
 * `how` is a constant. Elements are all of the slice or, where a stage begins with them, those in its list (kernels.h);
 * insertions go on with others as long as there are some, because the host does not know how many are listed. A slice
 * has at most 2^30 elements.
 */
BH_FN void BH_DESIGN(look_in_turn)(const bh__cuda_job *job, bh__slice *slice, uint32_t kind,
                                   bh_look how, int stage, int again, uint32_t rounds,
                                   unsigned char *place)
{
    const uint32_t count = (uint32_t)(stage ? job->done->parked_count[stage - 1] : job->count);
    const uint32_t spread = count / (gridDim.x * blockDim.x) + 1;
    const int learns = how == BH_LOOK_FIND && BH_LOOK_REGION == 128;
    const uint32_t each = BH_DESIGN_IN_TURN == 1 && !learns ? 1 /* a constant */
                          : stage && spread < rounds        ? spread
                                                            : rounds;
    uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32 * each;
    uint32_t end = BH_DESIGN(look_end_of)(first, each, count);
    uint32_t next = first; /* the first element that no lane has taken */
    BH_DESIGN(op) op;
    bh_region region = {0, BH_LOOK_REGION, BH_TIER_NEAR};
    uint32_t at = 0, of = 0; /* of the list */
    BH_VALUE value = 0;
    int looks = 0, room = 0;
    int32_t balance = 0;

    for (;;) {
        const uint32_t idle = __ballot_sync(0xffffffffu, !looks);
        bh_answer answer = BH_NEXT;
        uint64_t line;
        int ends;

        if (how == BH_LOOK_CLAIM && next >= end && first < count) {
            first += gridDim.x * blockDim.x * each;
            next = first < count ? first : next;
            end = first < count ? BH_DESIGN(look_end_of)(first, each, count) : end;
        }
        if (next < end && idle) {
            const uint32_t i = next + bh_count(idle & ((1u << threadIdx.x % 32) - 1));
            const int begins = !looks && i < end;

            if (how == BH_LOOK_CLAIM && stage != BH_CUDA_HOME_FULL) {
                const int has = bh_cuda_has_room(job, begins);

                room = begins ? has : room;
            }
            if (begins) {
                of = i;
                /* (A pointer kept in registers would cost designs with few a block on each multiprocessor.) */
                at = stage ? job->parked[stage - 1][i] : job->names ? job->names[i] : i;
                looks = !(how == BH_LOOK_CLAIM && again) || at != BH_CUDA_PARKED_DONE;
            }
            if (begins && looks) {
                if (how == BH_LOOK_CLAIM && stage == BH_CUDA_HOME_FULL) {
                    room = (at & BH_CUDA_PARKED_ROOM) != 0;
                    region = BH_DESIGN(look_again)(slice, &op, at, kind);
                } else {
                    region =
                        BH_DESIGN(begin)(slice, &op, stage ? at & BH_CUDA_PARKED_AT : at, kind);
                }
                at = stage ? at & BH_CUDA_PARKED_AT : at;
#ifdef BH_DESIGN_CLAIMS_FIRST
                if (how == BH_LOOK_CLAIM)
                    value = (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, at);
#endif
            }
            next += bh_count(idle);
        } else if (idle == 0xffffffffu) {
            break;
        }
        line = BH_DESIGN(look_bring)(place, region, looks, how);
        if (how == BH_LOOK_CLAIM) {
            slice->room = (uint64_t)room;
            slice->reasons = 0;
        }
        if (looks)
            answer = BH_DESIGN(look_step)(slice, &op, kind, how, line, &region);
        ends = looks && (answer == BH_DONE || answer == BH_STALL);
        if (how == BH_LOOK_CLAIM)
            BH_DESIGN(look_store)
        (&op, value, looks && answer == BH_DONE && op.outcome == BH_INSERTED);
        BH_DESIGN(look_end)
        (job, slice, &op, kind, how, stage, again, room, at, of, answer, ends);
        if (learns)
            bh_look_learn(slice, &balance, ends && op.outcome == BH_FOUND,
                          ends && op.outcome == BH_MISSING);
        looks = looks && !ends;
        __syncwarp(); /* a place must not be written before all have read the region in it */
    }
}

/* Blocks that run on a multiprocessor, at least: if the compiler were free to aim at more, it would spill registers.
 * Where tables that look at a region at once have kernels of their own the others have more registers. */
#undef BH_LOOK_BLOCKS
#ifdef BH_DESIGN_AT_ONCE
#define BH_LOOK_BLOCKS 3
#else
#define BH_LOOK_BLOCKS 4
#endif

/* Lookups. `hints` is a constant, or what the warp learns: so the code has one form only. */
BH_FN void BH_DESIGN(look_keys)(const bh__cuda_job *job, uint32_t rounds, uint32_t hints)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = job->slice;

    slice.hints = hints;
    BH_DESIGN(look_in_turn)(job, &slice, BH_FIND, BH_LOOK_FIND, BH_CUDA_FRESH, 0, rounds,
                            places[threadIdx.x]);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_LOOK_BLOCKS)
    BH_DESIGN(look_find)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(look_keys)(&job, rounds, 0);
}

#ifdef BH_DESIGN_AT_ONCE
__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4)
    BH_DESIGN(look_at_once)(const __grid_constant__ bh__cuda_job job, uint32_t rounds)
{
    bh_cuda_follow();
    BH_DESIGN(look_keys)(&job, rounds, BH_HINT_AT_ONCE);
}
#endif
