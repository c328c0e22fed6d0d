/*
 * A lookup on a GPU, for one pair of widths of one design: begin and step of the operation's text, and in
 * between each line is copied to a place of the thread's own in shared memory, where the step reads it.
 * An include-template: see instance.h, and tables/declared.h.
 *
 * The four threads of a quad copy their four lines together, 16 bytes each (cp.async): a line is one
 * request then, and it waits in no register, so that all the threads that a processor can have are
 * there and have a line on its way each. A thread that loads its own line by four loads of 16 bytes
 * into registers reached four fifths as much on an H200 (docs/decisions/0009).
 *
 *       line of     lane 0 1 2 3                place of
 *       lane 0           a b c d   ---------->  lane 0  [a b c d] . .
 *       lane 1           e f g h   ---------->  lane 1  [e f g h] . .
 *
 * Places are 80 bytes apart, so that eight threads that read the same 16 bytes of theirs meet in no
 * bank of the memory.
 */
#include "tables/instance.h"

#ifndef BH_CUDA_DEVICE_LOOK_H
#define BH_CUDA_DEVICE_LOOK_H

#include "cuda/device/async.h"
#include "cuda/device/gpu.h"

#define BH_LOOK_LINE 64u
#define BH_LOOK_PLACE 80u

/* Copies the line of each lane, or none where `line` is 0, to its place, and waits. All lanes of the warp
 * come here. */
BH_FN void bh_look_bring(void *place, uint64_t line)
{
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(place), piece = threadIdx.x % 4 * 16;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t from = __shfl_sync(0xffffffffu, line, i, 4);
        const uint32_t at = __shfl_sync(0xffffffffu, to, i, 4);

        if (from)
            bh_cuda_bring16(at + piece, from + piece);
    }
    bh_cuda_wait_brought();
    __syncwarp(); /* each lane has waited for what it has copied itself */
}

#endif

/* Looks the key of an element up, to the end. All lanes of the warp come here, those that have nothing
 * to look up with `looks` 0. */
BH_FN void BH_DESIGN(look_carry)(bh__slice *slice, BH_DESIGN(op) *op, uint32_t at, int looks)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    unsigned char *place = places[threadIdx.x];
    bh_region region = {};

    if (looks)
        region = BH_DESIGN(begin)(slice, op, at, BH_FIND);
    while (__any_sync(0xffffffffu, looks)) {
        /* What is no line is read where it is. */
        const int brings = looks && region.bytes == BH_LOOK_LINE;

        bh_look_bring(place, brings ? region.offset : 0);
        if (looks)
            looks = BH_DESIGN(step)(slice, op, BH_FIND,
                                 brings ? (uint64_t)(uintptr_t)place : region.offset,
                                 &region) != BH_DONE;
        __syncwarp(); /* a place is not written before its line was read */
    }
}

/* Lookups, a thread for each element. Four blocks run on a processor at least: were the compiler free to
 * aim at more, it would spill registers. */
__global__ void __launch_bounds__(BH_CUDA_BLOCK, 4) BH_DESIGN(look_find)(bh__cuda_job *job)
{
    const uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const int looks = at < job->count;
    bh__slice slice = job->slice;
    BH_DESIGN(op) op;

    BH_DESIGN(look_carry)(&slice, &op, (uint32_t)at, looks);
    if (looks && slice.outcomes)
        slice.outcomes[at] = op.outcome;
    /* The host brings the values of missing keys, which stay as they were. Looked at first: it is at
     * hand in the first cache, and a store for each warp that misses would all go to one place. */
    if (looks && op.outcome == BH_MISSING && !job->missing)
        job->missing = 1;
}
