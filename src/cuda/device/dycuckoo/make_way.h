/*
 * Room for keys whose buckets are both full, for one pair of widths. An include-template: see instance.h.
 *
 * Sixteen threads look at sixteen residents of the two buckets at once. Each of them reads the other bucket of
 * its resident; where that is full, the other bucket of one resident after the other of that one:
 *
 *     home  [a b c d e f g]    other  [h i j k l m n]       both full
 *            0 1 2 3 4 5 6            8 9 ...               threads, a resident each
 *                                       |
 *     other bucket of i  [p q r s t u v]    full: then the other buckets of p, q, ...
 *                             |
 *     other bucket of r  [. . . . . _ .]    free: r moves there, i moves to the slot of r, and the slot of i is
 *                                           free for the key
 *
 * The key itself is inserted by the last stage, which looks at both buckets again: another key may have
 * taken the slot meanwhile. It also follows longer paths for the keys for which no resident could move. (A
 * move takes both locks and checks all that it relies on: BH_DY(try_move) in tables/dycuckoo/moves.h.)
 *
 * This is for few keys, which are done when the longest search has ended. Where there are more than threads, the
 * last stage does them in less time, because it reads no more buckets than it needs.
 */
#include "tables/dycuckoo/ops.h"

#include "cuda/device/slice.h"

#ifndef BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H
#define BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H

#define BH_WAYS_THREADS 16u /* of an element: half of them for each bucket */

#endif

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

/* The bucket that the resident in a slot of a bucket can move to, 0 where there is none; *free: whether that has a
 * free slot. Read without locks: a guess. */
BH_FN uint64_t BH_DY(way_of)(const bh_dy_geometry *geometry, uint64_t line, uint32_t slot,
                             int *free)
{
    const uint64_t meta = bh_load64(bh_dy_at(line));
    bh_dy_places places;

    *free = 0;
    if (slot >= BH_DY_BUCKET_SLOTS ||
        !(bh_dy_maybe_residents(meta, BH_DY_BUCKET_SLOTS) >> slot & 1))
        return 0;
    places = bh_dy_places_of(geometry, BH_LOAD_KEY(BH_DY(key_at)(line, slot)), BH_DY_BUCKET_BYTES);
    if (places.home != line)
        return 0;
    *free = !BH_DY(full)(bh_load64(bh_dy_at(places.other)));
    return places.other;
}

/* A resident that could move. */
typedef struct BH_DY(move) {
    uint64_t from;
    uint64_t to;
    uint32_t slot;
} BH_DY(move);

/* Of the threads of a tile that `could` move residents, one does so: its `first` and then, if there is one, its
 * `second`. Answers whether this thread has. All of the tile come here. */
BH_FN int BH_DY(one_moves)(const bh_dy_geometry *geometry, uint32_t tile, int could,
                           const BH_DY(move) *first, const BH_DY(move) *second)
{
    uint32_t left;

    for (left = __ballot_sync(tile, could); left; left &= left - 1) {
        const int mine = threadIdx.x % 32 == bh_first(left);
        const int moved =
            mine && BH_DY(try_move)(geometry, first->from, first->slot, first->to) == BH_DY_MOVED &&
            (!second ||
             BH_DY(try_move)(geometry, second->from, second->slot, second->to) == BH_DY_MOVED);

        if (__any_sync(tile, moved))
            return moved;
    }
    return 0;
}

/* Tries to free a slot in one of a key's two buckets, by the threads `tile` of a warp, all of which come here. */
BH_FN void BH_DY(make_way)(const bh_dy_geometry *geometry, BH_KEY key, uint32_t tile)
{
    const bh_dy_places places = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES);
    const uint32_t lane = threadIdx.x % BH_WAYS_THREADS, half = BH_WAYS_THREADS / 2;
    BH_DY(move) move = {lane < half ? places.home : places.other, 0, lane % half}, next;
    int free, moved;

    if (__any_sync(tile, !BH_DY(full)(bh_load64(bh_dy_at(move.from)))))
        return;
    move.to = BH_DY(way_of)(geometry, move.from, move.slot, &free);
    moved = BH_DY(one_moves)(geometry, tile, free, &move, 0);
    next.from = move.to;
    for (next.slot = 0; next.slot < BH_DY_BUCKET_SLOTS && !__any_sync(tile, moved); next.slot++) {
        free = 0;
        if (next.from)
            next.to = BH_DY(way_of)(geometry, next.from, next.slot, &free);
        moved = BH_DY(one_moves)(geometry, tile, free, &next, &move);
    }
}

__global__ void BH_DESIGN(cuda_make_way)(bh__cuda_job *job)
{
    const uint64_t listed = job->parked_count[BH_CUDA_BOTH_FULL - 1];
    const uint64_t tiles = gridDim.x * (uint64_t)blockDim.x / BH_WAYS_THREADS;

    if (!listed || listed > tiles)
        return;
    const bh__slice slice = BH_DESIGN(cuda_slice)(job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    const uint64_t count = listed < job->searches ? listed : job->searches;
    const uint32_t *names = job->parked[BH_CUDA_BOTH_FULL - 1];
    const uint32_t tile = ((1u << BH_WAYS_THREADS) - 1)
                          << threadIdx.x % 32 / BH_WAYS_THREADS * BH_WAYS_THREADS;
    const uint64_t i = (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / BH_WAYS_THREADS;

    if (i >= count)
        return;
    BH_DY(make_way)(geometry, ((const BH_KEY *)slice.keys)[names[i] & ~BH_CUDA_PARKED_ROOM], tile);
    if (i == 0)
        job->moved = 1;
}

int BH_DESIGN(gpu_make_way)(bh__gpu *gpu, bh__cuda_job *job, uint64_t threads)
{
    BH_DESIGN(cuda_make_way)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(job);
    return (int)cudaGetLastError();
}

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_BYTES

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
