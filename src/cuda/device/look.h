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
#include "cuda/device/gpu.h"

/* Bytes of one of the design's regions, and of a place. */
#define BH_LOOK_REGION ((uint32_t)(BH_DESIGN_REGION))
#define BH_LOOK_PLACE (BH_LOOK_REGION / 16 % 2 ? BH_LOOK_REGION : BH_LOOK_REGION + 16)

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
 * here. Where regions have 128 bytes a lane may want the first half alone. */
BH_FN uint64_t BH_DESIGN(look_bring)(unsigned char *place, bh_region region, int wants)
{
    const int all = wants && region.bytes == BH_LOOK_REGION;
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
        const uint64_t line = BH_DESIGN(look_bring)(place, region, looks);

        if (looks)
            looks = BH_DESIGN(step)(slice, op, BH_FIND, line, &region) != BH_DONE;
        __syncwarp(); /* a place must not be written before all have read the region in it */
    }
}

/* Lookups, a thread for each element. At least four blocks run on a multiprocessor: if the compiler were free
 * to aim at more, it would spill registers. */
__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4) BH_DESIGN(look_find)(bh__cuda_job *job)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const int looks = i < job->count;
    const uint32_t at = looks && job->names ? job->names[i] : (uint32_t)i;
    bh__slice slice = job->slice;
    BH_DESIGN(op) op;

    BH_DESIGN(look_carry)(&slice, &op, at, looks);
    if (looks && slice.outcomes)
        slice.outcomes[at] = op.outcome;
    /* The host brings the values of missing keys, which stay as they were. The word is read before it is
     * written: it is in the L1 cache, and otherwise each warp with a missing key would store to one place. */
    if (looks && op.outcome == BH_MISSING && !job->missing)
        job->missing = 1;
}
