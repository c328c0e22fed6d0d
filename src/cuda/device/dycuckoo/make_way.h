/*
 * Keys whose buckets are both full, for one pair of widths. An include-template: see instance.h.
 *
 * First a thread for each (`send`) puts the key into its home, in the place of a resident that has room in its own other
 * bucket: which residents have that it asks of all of them at once.
 *
 *     home  [a b c d e f g]                other bucket of c  [. . . . . _ .]
 *                ^ the key                                               ^ c
 *
 * Then there is room made for those that are left (`make_way`). Sixteen threads look at sixteen residents of the two
 * buckets at once. Each of them reads the other bucket of its resident; where that is full, the other bucket of one
 * resident after the other of that one:
 *
 *     home  [a b c d e f g]    other  [h i j k l m n]       both full
 *            0 1 2 3 4 5 6            8 9 ...               threads, a resident each
 *                                       |
 *     other bucket of i  [p q r s t u v]    full: then the other buckets of p, q, ...
 *                             |
 *     other bucket of r  [. . . . . _ .]    free: r moves there, i moves to the slot of r, and the slot of i is
 *                                           free for the key
 *
 * One of them then inserts the key, after another look at both buckets: another key may have taken the slot meanwhile.
 * (A move takes both locks and checks all that it relies on: BH_DY(try_move) in tables/dycuckoo/moves.h.)
 *
 * Elements that are done are struck from the list. The last stage has those for which no resident could move, and follows
 * longer paths.
 *
 * `make_way` is for few keys, which are done when the longest search has ended. Where there are more than threads, the
 * last stage does them in less time, because it reads no more buckets than it needs.
 */
#include "tables/dycuckoo/ops.h"

#include "cuda/device/slice.h"

#ifndef BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H
#define BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H

#define BH_WAYS_THREADS 16u /* of an element: half of them for each bucket */
#define BH_WAYS_TRIES 4u    /* another key may have taken the slot */
#define BH_SENDS_TRIES 4u   /* how often an element looks at its buckets */

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

/* Tries to free a slot in one of a key's two buckets, by the threads `tile` of a warp, all of which come here. Answers 1
 * where one was free, 2 where one of the tile has moved a resident, and 0 where none could. */
BH_FN int BH_DY(make_way)(const bh_dy_geometry *geometry, BH_KEY key, uint32_t tile)
{
    const bh_dy_places places = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES);
    const uint32_t lane = threadIdx.x % BH_WAYS_THREADS, half = BH_WAYS_THREADS / 2;
    BH_DY(move) move = {lane < half ? places.home : places.other, 0, lane % half}, next;
    int free, moved;

    if (__any_sync(tile, !BH_DY(full)(bh_load64(bh_dy_at(move.from)))))
        return 1;
    move.to = BH_DY(way_of)(geometry, move.from, move.slot, &free);
    moved = BH_DY(one_moves)(geometry, tile, free, &move, 0);
    next.from = move.to;
    for (next.slot = 0; next.slot < BH_DY_BUCKET_SLOTS && !__any_sync(tile, moved); next.slot++) {
        free = 0;
        if (next.from)
            next.to = BH_DY(way_of)(geometry, next.from, next.slot, &free);
        moved = BH_DY(one_moves)(geometry, tile, free, &next, &move);
    }
    return __any_sync(tile, moved) ? 2 : 0;
}

/* Moves the resident in a slot of `home`, whose places are `r`, to its other bucket, and puts a key in its place. Both
 * buckets are locked meanwhile, each by one try. Answers STALE when home is not as it was seen with `home_meta`. */
BH_FN bh_dy_moved BH_DY(replace)(uint64_t home, uint64_t home_meta, uint32_t slot,
                                 const bh_dy_places *r, BH_KEY key, BH_VALUE value)
{
    const uint64_t to = bh_load64(bh_dy_at(r->other));

    if (BH_DY(full)(to))
        return BH_DY_FULL;
    if (!bh_swap_if64(bh_dy_at(home), home_meta, home_meta | BH_DY_LOCK))
        return BH_DY_STALE;
    if ((to & BH_DY_LOCK) || !bh_swap_if64(bh_dy_at(r->other), to, to | BH_DY_LOCK)) {
        bh_dy_unlock(home, home_meta);
        return BH_DY_BUSY;
    }
    home_meta = BH_DY(copy_away)(home, home_meta, slot, r->other, to, r->counter);
    BH_DY(set_pair)(home, slot, key, value);
    bh_dy_unlock(home, home_meta | bh_dy_slot_bits(slot, BH_DY_BUCKET_SLOTS, 0));
    return BH_DY_MOVED;
}

/* Inserts an element for which there may be room now; answers whether that is done. */
BH_FN int BH_DY(insert_now)(bh__slice *slice, uint32_t at, uint32_t kind)
{
    bh_answer answer = BH_RETRY;
    uint32_t refused;
    BH_DY(op) op = {};

    for (refused = 0; answer == BH_RETRY && refused < BH_SENDS_TRIES; refused++) {
        bh_region region = BH_DESIGN(begin_last)(slice, &op, at, kind);

        answer = BH_DESIGN(step)(slice, &op, kind, region.offset, &region);
    }
    if (answer == BH_DONE && slice->outcomes)
        slice->outcomes[at] = op.outcome;
    return answer == BH_DONE;
}

/* An element on its way. */
typedef struct BH_DY(sender) {
    bh_dy_places places;
    BH_KEY key;
    uint64_t meta; /* home's, as it was seen */
    uint32_t left; /* its residents that could move, and have not been tried, as a mask of slots */
    uint32_t at;
    uint32_t tries; /* how often it may still look at its buckets */
    int looked;
} BH_DY(sender);

/* The residents of a bucket, which has been seen with `meta`, whose other buckets have room, as a mask of slots. All of
 * these are asked for at once. */
BH_FN uint32_t BH_DY(could_move)(const bh_dy_geometry *geometry, uint64_t line, uint64_t meta)
{
    const uint32_t residents = bh_dy_maybe_residents(meta, BH_DY_BUCKET_SLOTS);
    uint64_t to[BH_DY_BUCKET_SLOTS];
    uint32_t could = 0, slot;

#pragma unroll
    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++) {
        const bh_dy_places r =
            bh_dy_places_of(geometry, BH_DY(own_key)(line, slot), BH_DY_BUCKET_BYTES);

        to[slot] = ~0ull;
        if ((residents >> slot & 1) && r.home == line)
            to[slot] = bh_peek64(bh_dy_at(r.other));
    }
#pragma unroll
    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++)
        could |= (uint32_t)!BH_DY(full)(to[slot]) << slot;
    return could;
}

/* Looks at both buckets. Answers FULL if they are, and the key is in neither: it is absent as long as home is as it was
 * seen, because guests are not moved here. */
BH_FN bh_dy_moved BH_DY(look_full)(const bh_dy_geometry *geometry, BH_DY(sender) *s)
{
    BH_DY(view) home, other;

    if (!s->tries--)
        return BH_DY_STALE;
    if (!BH_DY(look)(s->places.home, s->key, &home))
        return BH_DY_BUSY;
    (void)BH_DY(look)(s->places.other, s->key, &other);
    if (!BH_DY(full)(home.meta) || !BH_DY(full)(other.meta) || home.match || other.match)
        return BH_DY_STALE;
    s->meta = home.meta;
    s->left = BH_DY(could_move)(geometry, s->places.home, home.meta);
    s->looked = 1;
    return BH_DY_FULL;
}

/* Tries to put the key in the place of the next resident. Answers BUSY or FULL to go on with, and STALE where the
 * element is left to others. */
BH_FN bh_dy_moved BH_DY(send_next)(const bh_dy_geometry *geometry, const bh__slice *slice,
                                   BH_DY(sender) *s, uint32_t kind)
{
    const uint32_t slot = bh_first(s->left);
    bh_dy_places r;
    bh_dy_moved moved;

    if (!s->left)
        return BH_DY_STALE;
    s->left &= s->left - 1;
    r = bh_dy_places_of(geometry, BH_DY(own_key)(s->places.home, slot), BH_DY_BUCKET_BYTES);
    moved = BH_DY(replace)(s->places.home, s->meta, slot, &r, s->key,
                           (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, s->at));
    s->looked = moved != BH_DY_STALE;
    return moved == BH_DY_STALE ? BH_DY_BUSY : moved;
}

/*
 * Elements whose buckets are both full, a thread for each: puts the key into its home, in the place of a resident that
 * has room in its own other bucket. Elements that are done are struck from the list. What is left is a matter of the
 * kernels behind this one, also where the key is there by now, or there is room. Each round of the loop is an attempt of
 * each thread.
 */
__global__ void BH_DESIGN(cuda_send)(const __grid_constant__ bh__cuda_job job)
{
    const uint64_t listed = job.done->parked_count[BH_CUDA_BOTH_FULL - 1];

    if (!listed)
        return;
    bh__slice slice = BH_DESIGN(cuda_slice)(&job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    const uint64_t count = listed < job.searches ? listed : job.searches;
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x;
    uint32_t *names = job.parked[BH_CUDA_BOTH_FULL - 1];
    uint64_t next = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, mine = 0;
    bh_cuda_counts counts = {0, 0, 0};
    BH_DY(sender) s = {};
    uint32_t sent = 0, done = 0;
    int busy = 0;

    slice.hints |= BH_HINT_LATER;

    for (;;) {
        if (!busy && next < count) {
            mine = next;
            next += threads;
            s.at = names[mine] & ~BH_CUDA_PARKED_ROOM;
            s.key = ((const BH_KEY *)slice.keys)[s.at];
            s.places = bh_dy_places_of(geometry, s.key, BH_DY_BUCKET_BYTES);
            s.tries = BH_SENDS_TRIES;
            s.looked = 0;
            busy = (names[mine] & BH_CUDA_PARKED_ROOM) != 0;
            slice.room = 1;
        }
        if (!__any_sync(0xffffffffu, busy || next < count))
            break;
        if (busy) {
            const uint32_t kind = bh_cuda_kind(&slice, BH_KIND_MIXED, s.at);
            bh_dy_moved moved = s.looked ? BH_DY_FULL : BH_DY(look_full)(geometry, &s);

            if (moved == BH_DY_FULL)
                moved = BH_DY(send_next)(geometry, &slice, &s, kind);
            busy = moved == BH_DY_FULL || moved == BH_DY_BUSY;
            if (moved == BH_DY_MOVED) {
                sent++;
                if (slice.outcomes)
                    slice.outcomes[s.at] = BH_INSERTED;
            }
            if (moved == BH_DY_MOVED ||
                (moved == BH_DY_STALE && !s.looked && BH_DY(insert_now)(&slice, s.at, kind))) {
                names[mine] = BH_CUDA_PARKED_DONE;
                done++;
            }
        }
        __syncwarp();
    }
    if (sent)
        job.done->moved = 1;
    __syncwarp();
    counts.inserted = sent + (uint32_t)slice.inserted;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_add(&job.done->sent, done);
    bh_cuda_enter(&job, BH__CUDA_SIFT, &counts);
}

__global__ void BH_DESIGN(cuda_make_way)(const __grid_constant__ bh__cuda_job job)
{
    const uint64_t listed = job.done->parked_count[BH_CUDA_BOTH_FULL - 1];
    const uint64_t tiles = gridDim.x * (uint64_t)blockDim.x / BH_WAYS_THREADS;
    const uint64_t left = listed - job.done->sent;

    if (!left || left > tiles)
        return;
    bh__slice slice = BH_DESIGN(cuda_slice)(&job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    const uint64_t count = listed < job.searches ? listed : job.searches;
    uint32_t *names = job.parked[BH_CUDA_BOTH_FULL - 1];
    const uint32_t tile = ((1u << BH_WAYS_THREADS) - 1)
                          << threadIdx.x % 32 / BH_WAYS_THREADS * BH_WAYS_THREADS;
    uint64_t i = (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / BH_WAYS_THREADS;
    bh_cuda_counts counts = {0, 0, 0};

    slice.hints |= BH_HINT_LATER;
    for (; i < count; i += tiles) {
        const uint32_t name = names[i], at = name & ~BH_CUDA_PARKED_ROOM;
        const int has_room = (name & BH_CUDA_PARKED_ROOM) != 0;
        uint32_t tries = 0;
        int done = name == BH_CUDA_PARKED_DONE, way = 1;

        /* Without room, only what is there already can be done: no resident moves for it. */
        for (; !done && way && tries < BH_WAYS_TRIES; tries++) {
            way = has_room ? BH_DY(make_way)(geometry, ((const BH_KEY *)slice.keys)[at], tile) : 0;
            if (way == 2)
                job.done->moved = 1;
            slice.room = has_room;
            __syncwarp(tile);
            if (threadIdx.x % BH_WAYS_THREADS == 0)
                done = BH_DY(insert_now)(&slice, at, bh_cuda_kind(&slice, BH_KIND_MIXED, at));
            done = __shfl_sync(tile, done, 0, BH_WAYS_THREADS);
        }
        if (tries && done)
            names[i] = BH_CUDA_PARKED_DONE;
    }
    __syncwarp();
    counts.inserted = (uint32_t)slice.inserted;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_add(&job.done->sent, counts.inserted + counts.assigned);
    bh_cuda_enter(&job, BH__CUDA_SIFT, &counts);
}

int BH_DESIGN(gpu_make_way)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t threads)
{
    int error;

    BH_DESIGN(cuda_send)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);
    error = (int)cudaGetLastError();
    if (!error) {
        BH_DESIGN(cuda_make_way)<<<bh__gpu_blocks(threads), BH_CUDA_BLOCK, 0, gpu->stream>>>(*job);
        error = (int)cudaGetLastError();
    }
    return error;
}

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_BYTES

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
