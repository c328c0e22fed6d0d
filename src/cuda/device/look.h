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

/* What the elements of a kernel do: they look their keys up; act on those that are there (present.h); insert theirs
 * (claim.h). */
typedef enum bh_look { BH_LOOK_FIND, BH_LOOK_PRESENT, BH_LOOK_CLAIM } bh_look;

/* Copies the region of each lane, `bytes` from the address `region` on, to the lane's place, and waits; a
 * lane whose `region` is 0 has none. All lanes of the warp come here; `bytes` is a constant. */
BH_FN void bh_look_bring(void *place, uint64_t region, uint32_t bytes)
{
    const int lanes = (int)bytes / 16;
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(place), piece = threadIdx.x % lanes * 16;

#pragma unroll
    for (int i = 0; i < lanes; i++) {
        const uint64_t from = lanes > 1 ? __shfl_sync(0xffffffffu, region, i, lanes) : region;
        const uint32_t at = lanes > 1 ? __shfl_sync(0xffffffffu, to, i, lanes) : to;

        if (from)
            bh_cuda_bring16(at + piece, from + piece);
    }
    bh_cuda_wait_brought();
    __syncwarp(); /* each lane has waited only for the pieces that it has copied itself */
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
        bh_look_bring(place, all ? region.offset : 0, BH_LOOK_REGION);
    if (BH_LOOK_REGION == 128 && __any_sync(0xffffffffu, half))
        bh_look_bring(place, half ? region.offset : 0, 64);
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
#ifdef BH_DESIGN_AT_ONCE
    if (how == BH_LOOK_CLAIM)
        return BH_DESIGN(step_claim)(slice, op, kind, line, region);
#endif
    return BH_DESIGN(step)(slice, op, BH_FIND, line, region);
}

/* The end of a lane's element, which `ends`. All lanes of the warp come here. */
BH_FN void BH_DESIGN(look_end)(bh__cuda_job *job, const bh__slice *slice, const BH_DESIGN(op) *op,
                               uint32_t kind, bh_look how, int room, uint32_t at, bh_answer answer,
                               int ends)
{
    const int stalls = ends && answer == BH_STALL;

    if (ends && !stalls && slice->outcomes)
        slice->outcomes[at] = op->outcome;
    /* The host brings the values of missing keys, which stay as they were. The word is read before it is
     * written: it is in the L1 cache, and otherwise each warp with a missing key would store to one place. */
    if (how == BH_LOOK_FIND && ends && op->outcome == BH_MISSING && !job->missing)
        job->missing = 1;
    if (how == BH_LOOK_FIND || !BH_OP_INSERTS(kind) || !__any_sync(0xffffffffu, stalls))
        return;
    if (how == BH_LOOK_PRESENT) {
        bh_cuda_park(job, BH__CUDA_ABSENT, at, 0, stalls);
        return;
    }
    /* What has a reason to stall, as that there is no room, would stall in the later stages too. */
    bh_cuda_park(job, BH_CUDA_HOME_FULL, at, room, stalls && !slice->reasons);
    bh_cuda_stall(job, at, stalls && slice->reasons);
    bh_cuda_reason(job, stalls, slice->reasons);
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
BH_FN void BH_DESIGN(look_in_turn)(bh__cuda_job *job, bh__slice *slice, uint32_t kind, bh_look how,
                                   int stage, uint32_t rounds, unsigned char *place)
{
    const uint32_t count = (uint32_t)(stage ? job->parked_count[stage - 1] : job->count);
    const uint32_t spread = count / (gridDim.x * blockDim.x) + 1;
    const uint32_t each = BH_DESIGN_IN_TURN == 1     ? 1 /* a constant */
                          : stage && spread < rounds ? spread
                                                     : rounds;
    uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32 * each;
    uint32_t end = BH_DESIGN(look_end_of)(first, each, count);
    uint32_t next = first; /* the first element that no lane has taken */
    BH_DESIGN(op) op;
    bh_region region = {0, BH_LOOK_REGION, BH_TIER_NEAR};
    uint32_t at = 0;
    int looks = 0, room = 0;

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

            if (how == BH_LOOK_CLAIM) {
                const int has = bh_cuda_has_room(job, begins);

                room = begins ? has : room;
            }
            if (begins) {
                /* (A pointer kept in registers would cost designs with few a block on each multiprocessor.) */
                at = stage        ? job->parked[stage - 1][i] & ~BH_CUDA_PARKED_ROOM
                     : job->names ? job->names[i]
                                  : i;
                region = BH_DESIGN(begin)(slice, &op, at, kind);
                looks = 1;
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
        BH_DESIGN(look_end)(job, slice, &op, kind, how, room, at, answer, ends);
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

/* Lookups. `hints` is a constant: so the code has one form only. */
BH_FN void BH_DESIGN(look_keys)(bh__cuda_job *job, uint32_t rounds, uint32_t hints)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = job->slice;

    slice.hints = hints;
    BH_DESIGN(look_in_turn)(job, &slice, BH_FIND, BH_LOOK_FIND, BH_CUDA_FRESH, rounds,
                            places[threadIdx.x]);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_LOOK_BLOCKS)
    BH_DESIGN(look_find)(bh__cuda_job *job, uint32_t rounds)
{
    BH_DESIGN(look_keys)(job, rounds, 0);
}

#ifdef BH_DESIGN_AT_ONCE
__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4)
    BH_DESIGN(look_at_once)(bh__cuda_job *job, uint32_t rounds)
{
    BH_DESIGN(look_keys)(job, rounds, BH_HINT_AT_ONCE);
}
#endif
