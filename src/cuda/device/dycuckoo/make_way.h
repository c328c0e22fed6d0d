/*
 * Keys whose buckets are full: others make room for them. For one pair of widths; an include-template: see instance.h.
 *
 * First a thread for each (`send`) tries to put the key into its home, in the place of a resident that has room in its own
 * other bucket.
 *
 *     home  [a b c d e f g]                other bucket of c  [. . . . . _ .]
 *                ^ the key                                               ^ c
 *
 * In a table whose keys come and go keys come here, too, whose home alone is full and has guests (claims.h). Then `send` prefers the place of a
 * guest that has room at its own home; then the key's other bucket, if that has room; then the place of a resident.
 *
 * Then sixteen threads (a tile) try for each that is left (`make_way`), several times. They look at the residents of the two buckets
 * at once. Each of them reads the other bucket of its resident; where that is full, the other bucket of one resident after the
 * other of that one:
 *
 *     home  [a b c d e f g]    other  [h i j k l m n]       both full
 *            0 1 2 3 4 5 6            8 9 ...               threads, a resident each
 *                                       |
 *     other bucket of i  [p q r s t u v]    full: then the other buckets of p, q, ...
 *                             |
 *     other bucket of r  [. . . . . _ .]    free: r moves there, i moves to the slot of r, and the key into that of i
 *
 * tables/dycuckoo/sending.h has what these do with pairs, and why no locks are needed.
 *
 * Where one of the two buckets is not full (a slot has been given up, or claims have left the element for another reason) make_way claims a
 * slot there. Elements that are done are struck from the list. The last stage has the others: those for which no resident could move; whose
 * key is there, or may be.
 */
#include "tables/dycuckoo/ops.h"
#include "tables/dycuckoo/sending.h"

#include "cuda/device/slice.h"

#ifndef BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H
#define BH_CUDA_DEVICE_DYCUCKOO_MAKE_WAY_H

#include "cuda/device/async.h"

#define BH_WAYS_THREADS 16u /* of an element: half of them for each bucket */
#define BH_WAYS_HALF (BH_WAYS_THREADS / 2)
#define BH_WAYS_TILES (32 / BH_WAYS_THREADS)
#define BH_WAYS_TRIES 4u /* how often an element of make_way looks at its buckets; one of `send` */
#define BH_SENDS_TRIES 2u
#define BH_WAYS_BLOCKS 2u /* of make_way on a multiprocessor; of `send` */
#define BH_SENDS_BLOCKS 4u
/* Claims have these kernels before `send` (claim.h); make_way's are behind it. */
#define BH_SENDS_KERNEL 3u
#define BH_WAYS_KERNELS 2u

#if BH_SENDS_KERNEL + BH_WAYS_KERNELS >= BH_EPOCHS
#error "each kernel with claims has a number of its own"
#endif

#endif

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

/* Begins with an element of the list, whose name there is `name`. */
BH_FN void BH_DY(take_up)(const bh__slice *slice, BH_DY(sender) *s, uint32_t name)
{
    const uint32_t at = name & BH_CUDA_PARKED_AT;

    s->key = ((const BH_KEY *)slice->keys)[at];
    s->value =
        (BH_VALUE)bh_given(slice, bh_cuda_kind(slice, BH_KIND_MIXED, at), BH_VALUE_BYTES, at);
    s->places =
        bh_dy_places_of((const bh_dy_geometry *)slice->geometry, s->key, BH_DY_BUCKET_BYTES);
}

/* What `send` and `make_way` begin with. They are not the first `kernel` with claims: what earlier ones have noted does not matter
 * any more. */
BH_FN bh__slice BH_DY(way_slice)(const bh__cuda_job *job, uint32_t kernel)
{
    bh__slice slice = BH_DESIGN(cuda_slice)(job);

    slice.epoch = (uint8_t)(slice.epoch + kernel);
    return slice;
}

/* Strikes an element that has been inserted from its place in the list, where its name was. */
BH_FN void BH_DY(strike)(const bh__slice *slice, uint32_t *place, uint32_t name)
{
    if (slice->outcomes)
        slice->outcomes[name & BH_CUDA_PARKED_AT] = BH_INSERTED;
    *place = BH_CUDA_PARKED_DONE;
}

/* To be called by all threads of a block at the end, with what they have inserted, and whether they have tried: then pairs may
 * have moved. */
BH_FN void BH_DY(note_sent)(const bh__cuda_job *job, uint32_t sent, int tried)
{
    bh_cuda_enter_block(&job->done->sent, sent);
    bh_cuda_enter_block(&job->done->inserted, sent);
    if (tried)
        job->done->moved = 1;
}

/* --- send ----------------------------------------------------------------------------------------- */

/* Tries to insert an element, if it is `busy`. All of the warp come here. Answers BUSY where a compare-and-swap failed, and FULL where the
 * element is left to make_way. `known`: claims have seen its other bucket without its key. It has not come there since: who brings it
 * there leaves its mark at home. */
BH_FN bh_dy_moved BH_DY(send)(const bh__slice *slice, unsigned char *place, BH_DY(sender) *s,
                              int busy, int known)
{
    const uint64_t copy = (uint64_t)(uintptr_t)place, home = s->places.home;
    BH_DY(leaver) from = {};
    int has_room = 0;
    uint64_t meta;

    bh_cuda_bring(place, busy ? home : 0, BH_DY_LINE);
    if (busy)
        busy =
            BH_DY(is_without_copy)(slice, copy, s->key, &s->home_meta) && BH_DY(full)(s->home_meta);
    /* (Where keys do not come and go claims have seen it full.) */
    if (busy && known && (slice->hints & BH_HINT_TURNOVER))
        has_room = !BH_DY(full)(bh_peek64(bh_dy_at(s->places.other)));
    if (__any_sync(0xffffffffu, busy && !known)) {
        /* First home, then the other bucket: so a key that moves meanwhile is seen. Home comes once more after that. */
        const int looks = busy && !known;

        __syncwarp();
        bh_cuda_bring(place, looks ? s->places.other : 0, BH_DY_LINE);
        if (looks) {
            busy = BH_DY(is_without_copy)(slice, copy, s->key, &meta);
            has_room = !BH_DY(full)(meta);
        }
        __syncwarp();
        bh_cuda_bring(place, looks ? home : 0, BH_DY_LINE);
        if (looks && bh_read64(place) != s->home_meta)
            busy = 0;
    }
    if (!busy || !BH_DY(find_way)(slice, copy, s, has_room, &from))
        return BH_DY_FULL;
    return BH_DY(go_way)(slice, &from, s) == BH_DY_MOVED ? BH_DY_MOVED : BH_DY_BUSY;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_SENDS_BLOCKS)
    BH_DESIGN(cuda_send)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_DY_LINE + 16];
    const uint64_t listed = job.done->parked_count[BH_CUDA_BOTH_FULL - 1];

    if (!listed)
        return;
    const bh__slice slice = BH_DY(way_slice)(&job, BH_SENDS_KERNEL);
    const uint32_t count = (uint32_t)(listed < job.searches ? listed : job.searches);
    const uint32_t threads = gridDim.x * blockDim.x, lane = threadIdx.x % 32;
    /* Where keys come and go the stage between, if it had anything to do, may have brought a key to a bucket that had room. */
    const int settled = !(slice.hints & BH_HINT_TURNOVER) || !job.done->left;
    uint32_t *const names = job.parked[BH_CUDA_BOTH_FULL - 1];
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, sent = 0;
    int tried = 0;

    for (; i - lane < count; i += threads) {
        const uint32_t name = i < count ? names[i] : 0;
        const int known = settled && (name & BH_CUDA_PARKED_AWAY);
        bh_dy_moved moved = name & BH_CUDA_PARKED_ROOM ? BH_DY_BUSY : BH_DY_FULL;
        BH_DY(sender) s = {};
        uint32_t tries;

        tried |= moved == BH_DY_BUSY;
        if (moved == BH_DY_BUSY)
            BH_DY(take_up)(&slice, &s, name);
        for (tries = 0; tries < BH_SENDS_TRIES && __any_sync(0xffffffffu, moved == BH_DY_BUSY);
             tries++) {
            const bh_dy_moved now =
                BH_DY(send)(&slice, places[threadIdx.x], &s, moved == BH_DY_BUSY, known);

            moved = moved == BH_DY_BUSY ? now : moved;
            __syncwarp(); /* a place must not be written before all have read the line in it */
        }
        if (moved == BH_DY_MOVED) {
            BH_DY(strike)(&slice, names + i, name);
            sent++;
        }
    }
    BH_DY(note_sent)(&job, sent, tried);
}

/* --- make_way ---------------------------------------------------------------------------------------- */

/* Of the threads of a tile that `could` insert the element one does so: the pair in its `from` goes where there is room or, with
 * `next`, to the place of that one, which goes where there is room. Answers FULL where none could, or what became of it.
 * All of the tile come here. */
BH_FN bh_dy_moved BH_DY(one_replaces)(const bh__slice *slice, uint32_t tile, int could,
                                      const BH_DY(leaver) *from, const BH_DY(leaver) *next,
                                      const BH_DY(sender) *s)
{
    const int guest = threadIdx.x % BH_WAYS_THREADS >= BH_WAYS_HALF;
    int moved = BH_DY_FULL; /* a bh_dy_moved */
    uint32_t left;

    for (left = __ballot_sync(tile, could); left && moved != BH_DY_MOVED && moved != BH_DY_STALE;
         left &= left - 1) {
        if (threadIdx.x % 32 == bh_first(left))
            moved = next ? BH_DY(replace_both)(slice, from, next, s, guest)
                         : BH_DY(replace)(slice, from, s, guest);
        moved = __shfl_sync(tile, moved, (int)bh_first(left));
    }
    return (bh_dy_moved)moved;
}

/* Whether a bucket has not the key, nor may have it. *meta receives what it was seen with. All of the tile come here. */
BH_FN int BH_DY(is_without)(const bh__slice *slice, uint32_t tile, uint64_t line, BH_KEY key,
                            uint64_t *meta)
{
    const uint32_t slot = threadIdx.x % BH_WAYS_THREADS;
    int same;

    /* What one thread has seen: all of the tile are to do the same. */
    *meta = __shfl_sync(tile, bh_peek64(bh_dy_at(line)), 0, BH_WAYS_THREADS);
    same = (bh_dy_used(*meta, BH_DY_BUCKET_SLOTS) >> slot & 1) && BH_DY(own_key)(line, slot) == key;
    return !__any_sync(tile, same) && !bh_dy_may_have(slice, *meta, key, BH_DY_BUCKET_SLOTS);
}

/* The pair that a thread looks at: in a slot of the bucket of its half of the tile. */
BH_FN int BH_DY(look_from)(const bh__slice *slice, const BH_DY(sender) *s, uint64_t other_meta,
                           uint32_t slot, BH_DY(leaver) *from)
{
    const int guest = threadIdx.x % BH_WAYS_THREADS >= BH_WAYS_HALF;

    from->line = guest ? s->places.other : s->places.home;
    from->meta = guest ? other_meta : s->home_meta;
    from->slot = slot;
    if (slot < BH_DY_BUCKET_SLOTS)
        from->key = BH_DY(own_key)(from->line, slot);
    return BH_DY(look_to)(slice, from);
}

/* An attempt of a tile to insert an element. Answers FULL where that is not possible, or is not to be done here. */
BH_FN bh_dy_moved BH_DY(make_way)(const bh__slice *slice, uint32_t tile, BH_DY(sender) *s)
{
    bh_dy_moved moved = BH_DY_FULL;
    uint64_t other_meta;
    uint32_t first, at;

    /* First home, then the other bucket: see `send`. */
    if (!BH_DY(is_without)(slice, tile, s->places.home, s->key, &s->home_meta) ||
        !BH_DY(is_without)(slice, tile, s->places.other, s->key, &other_meta))
        return BH_DY_FULL;
    if (!BH_DY(full)(s->home_meta) || !BH_DY(full)(other_meta)) {
        if (threadIdx.x % BH_WAYS_THREADS == 0)
            moved = BH_DY(take_room)(slice, s, other_meta);
        return (bh_dy_moved)__shfl_sync(tile, (int)moved, 0, BH_WAYS_THREADS);
    }
    for (first = 0; first < BH_DY_BUCKET_SLOTS && moved == BH_DY_FULL; first += BH_WAYS_HALF) {
        BH_DY(leaver) from = {}, next = {};
        int could =
            BH_DY(look_from)(slice, s, other_meta, first + threadIdx.x % BH_WAYS_HALF, &from);

        moved = BH_DY(one_replaces)(slice, tile, could, &from, 0, s);
        if (from.to != s->places.home && from.to != s->places.other)
            next.line = from.to;
        next.meta = from.to_meta;
        for (at = 0; at < BH_DY_BUCKET_SLOTS && moved == BH_DY_FULL; at++) {
            next.slot = at;
            could = 0;
            if (next.line) {
                next.key = BH_DY(own_key)(next.line, at);
                could = BH_DY(look_to)(slice, &next);
            }
            moved = BH_DY(one_replaces)(slice, tile, could, &from, &next, s);
        }
    }
    return moved;
}

/* A warp takes some neighbours of the list, of which mostly few are left. Its tiles share them. */
__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_WAYS_BLOCKS)
    BH_DESIGN(cuda_make_way)(const __grid_constant__ bh__cuda_job job, uint32_t kernel)
{
    bh_cuda_follow();
    const uint64_t listed = job.done->parked_count[BH_CUDA_BOTH_FULL - 1];
    const uint32_t threads = gridDim.x * blockDim.x, warps = threads / 32;

    if (listed == bh_cuda_block_sees(&job.done->sent))
        return;
    const bh__slice slice = BH_DY(way_slice)(&job, kernel);
    const uint32_t count = (uint32_t)(listed < job.searches ? listed : job.searches);
    const uint32_t share = count / warps + 1;
    const uint32_t each = share < BH_WAYS_TILES ? BH_WAYS_TILES : share < 32 ? share : 32;
    const uint32_t lane = threadIdx.x % 32, number = lane / BH_WAYS_THREADS;
    const uint32_t tile = ((1u << BH_WAYS_THREADS) - 1) << number * BH_WAYS_THREADS;
    uint32_t *const names = job.parked[BH_CUDA_BOTH_FULL - 1];
    uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * each, sent = 0;
    int tried = 0;

    for (; first < count; first += warps * each) {
        const int has = lane < each && first + lane < count;
        const uint32_t mine = has ? names[first + lane] : BH_CUDA_PARKED_DONE;
        uint32_t open =
            __ballot_sync(0xffffffffu, mine != BH_CUDA_PARKED_DONE && (mine & BH_CUDA_PARKED_ROOM));

        for (; open; open &= open - 1) {
            const uint32_t own = number ? open & (open - 1) : open;
            const uint32_t of = own ? bh_first(own) : 0;
            const uint32_t name = __shfl_sync(0xffffffffu, mine, (int)of);
            bh_dy_moved moved = own ? BH_DY_BUSY : BH_DY_FULL;
            BH_DY(sender) s = {};
            uint32_t tries;

            tried |= own != 0;
            if (own)
                BH_DY(take_up)(&slice, &s, name);
            for (tries = 0; (moved == BH_DY_BUSY || moved == BH_DY_STALE) && tries < BH_WAYS_TRIES;
                 tries++)
                moved = BH_DY(make_way)(&slice, tile, &s);
            if (moved == BH_DY_MOVED && lane % BH_WAYS_THREADS == 0) {
                BH_DY(strike)(&slice, names + first + of, name);
                sent++;
            }
            __syncwarp();
            open &= open - 1;
        }
    }
    BH_DY(note_sent)(&job, sent, tried);
}

int BH_DESIGN(gpu_make_way)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t threads)
{
    const unsigned wanted = bh__gpu_blocks(threads), processors = gpu->processors;
    const unsigned sends =
        wanted < BH_SENDS_BLOCKS * processors ? wanted : BH_SENDS_BLOCKS * processors;
    const unsigned ways =
        wanted < BH_WAYS_BLOCKS * processors ? wanted : BH_WAYS_BLOCKS * processors;
    uint32_t kernel;
    int error;

    error = bh__gpu_follow(gpu, sends, BH_CUDA_BLOCK, 0, BH_DESIGN(cuda_send), *job);
    /* Twice, because in the first of these kernels some keys find marks of others: the second is faster than the last stage. */
    for (kernel = 1; !error && kernel <= BH_WAYS_KERNELS; kernel++)
        error = bh__gpu_follow(gpu, ways, BH_CUDA_BLOCK, 0, BH_DESIGN(cuda_make_way), *job,
                               BH_SENDS_KERNEL + kernel);
    return error;
}

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_BYTES

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
