/*
 * The schedule `regions`: inserting and updating many keys region by region of the table, for one
 * pair of widths. An include-template: see instance.h. tables/dycuckoo/regions.h says what is done
 * to a bucket; here is how the keys come to it.
 *
 * An insertion that goes to its bucket by itself brings a line from memory and sends it back, and
 * takes its lock and stores into it by requests to the second cache, six or more of them. When a
 * call has as many keys as the table has buckets, or nearly, it is cheaper to bring the keys to the
 * buckets:
 *
 *     elements     key, value            in the caller's order
 *        |  scatter      a row {key, value, index} to its part of up to 512
 *     parts        [ . . . . ][ . . . . ] ...      each of 256 regions
 *        |  scatter      the same once more, to its region
 *     regions      [. .][. .][. .] ...             of 256 buckets, some 1,500 rows each
 *        |  settle       a block of threads for each region: its buckets are copied to shared
 *        |               memory, and each thread takes all keys of one bucket
 *     left over    rows whose home is full, bucket by bucket
 *        |  away         a thread for each such bucket
 *
 * and what then is still to be done is listed for the last two stages of `sift` (kernels.h): keys
 * that may be guests, and keys for which no bucket had room.
 *
 * A scatter counts nothing beforehand: a part has room for more rows than it will get, by six
 * times the square root of what it should, because a hash spreads keys as chance would. When many
 * elements have few different keys that is not so; what finds no room in its part is listed for the
 * stage that carries elements from their beginning. Each block of a scatter sorts 4,096 rows by
 * their parts in shared memory first, so that they leave it some 16 at a time.
 *
 * Outcomes would be stores to random places. So all are written at once as what most will be, and
 * then those that turn out to be different.
 */
#if !BH_APART
#include "tables/dycuckoo/ops.h"
#include "tables/dycuckoo/regions.h"

#ifndef BH_CUDA_DEVICE_DYCUCKOO_BY_REGION_H
#define BH_CUDA_DEVICE_DYCUCKOO_BY_REGION_H

#include <cub/block/block_scan.cuh>

#include "storage/arena.h"

#include "cuda/device/async.h"
#include "cuda/device/job.h"

#define BH_REGION_THREADS 256u
/* Rows of a region that a block has shared memory for, in bytes, so that four blocks fit on a
 * processor of an H200; and buckets of a region, as bits. */
#define BH_REGION_BYTES 23232u
#define BH_REGION_BITS 8u
#define BH_REGION_BITS_LEAST 5u
#define BH_REGION_BITS_MOST 10u
/* Where a bucket's copy lies behind that of the one before: as in look.h. */
#define BH_REGION_PLACE 80u

/* Regions of a part, as bits. */
#define BH_PART_BITS 8u
#define BH_PART_REGIONS (1u << BH_PART_BITS)

/* A scatter has so many destinations, at most; a thread of its blocks for each. */
#define BH_SCATTER_BITS 9u
#define BH_SCATTER_PARTS (1u << BH_SCATTER_BITS)
#define BH_SCATTER_THREADS BH_SCATTER_PARTS
#define BH_SCATTER_EACH 8u /* rows of a thread */
#define BH_SCATTER_ROWS_BITS 12u
#define BH_SCATTER_ROWS (1u << BH_SCATTER_ROWS_BITS) /* of a block */

/* A row as `order` has it: its number, its key's counter, and among those that are not done
 * whether it is to be listed, and not left over. */
#define BH_REGION_NUMBER 0xfffu
#define BH_REGION_COUNTER_SHIFT 12
#define BH_REGION_LISTED 0x8000u

/* Rows in parts: part i begins at row i * room, and has taken[i] of them, or room when that is
 * more. */
typedef struct bh_cuda_parts {
    uint32_t *rows;
    uint32_t *taken;
    uint64_t room;
    uint64_t count;
} bh_cuda_parts;

/* A full bucket, and the rows that it has left over. */
typedef struct bh_cuda_full {
    uint64_t line;
    uint32_t first;
    uint32_t count;
} bh_cuda_full;

typedef struct bh_cuda_left {
    uint32_t *rows;
    bh_cuda_full *buckets;
    unsigned long long *counts; /* of rows, of buckets */
} bh_cuda_left;

BH_FN uint32_t bh_region_shared(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Brings words to shared memory, by all `threads` threads of a block; both begin at 16 bytes, and
 * none behind the last is read. */
BH_FN void bh_region_bring_words(uint32_t *shared, const uint32_t *memory, uint32_t words,
                                 uint32_t threads)
{
    const uint32_t last = words / 4 * 4 + threadIdx.x;
    uint32_t i;

    for (i = 4 * threadIdx.x; i + 4 <= words; i += 4 * threads)
        bh_cuda_bring16(bh_region_shared(shared + i), (uint64_t)(uintptr_t)(memory + i));
    if (last < words)
        bh_cuda_bring4(bh_region_shared(shared + last), (uint64_t)(uintptr_t)(memory + last));
}

/* What most elements of a slice will answer. */
static __host__ __device__ inline uint8_t bh_region_presumed(const bh__cuda_job *job,
                                                             uint64_t count)
{
    const uint32_t op = job->slice.op;

    return (uint8_t)(BH_OP_INSERTS(op) && job->room >= count ? BH_INSERTED : BH_OP_PRESENT(op));
}

/* Lists an element for the stage that carries it from its beginning to its end: it is not done.
 * `room`: whether there is room for its key. */
BH_FN void bh_region_list(bh__cuda_job *job, uint64_t place, uint32_t at, int room)
{
    job->parked[BH_CUDA_HOME_FULL - 1][place] = at | (room ? BH_CUDA_PARKED_ROOM : 0);
    if (job->slice.outcomes)
        job->slice.outcomes[at] = BH_NOT_DONE;
}

#endif

#include "cuda/device/slice.h"

#define DY(name) BH_NAME(bh_dy_##name)
#define REGION(name) BH_NAME(bh_cuda_region_##name)
#define BUCKET BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
/* 4-byte words of a row: the key, the value, the element's index. */
#define KEY_WORDS (BH_KEY_BYTES / 4)
#define VALUE_WORDS (BH_VALUE_BYTES / 4)
#define ROW_WORDS (KEY_WORDS + VALUE_WORDS + 1)
/* A multiple of 4, so that each region's rows begin at 16 bytes. */
#define REGION_ROWS (BH_REGION_BYTES / (4 * ROW_WORDS) / 4 * 4)

typedef struct REGION(row) {
    uint32_t word[ROW_WORDS];
} REGION(row);

BH_FN BH_KEY REGION(key)(const REGION(row) *row)
{
    return KEY_WORDS == 1 ? row->word[0]
                          : (BH_KEY)((uint64_t)row->word[KEY_WORDS - 1] << 32 | row->word[0]);
}

BH_FN BH_VALUE REGION(value)(const REGION(row) *row)
{
    if (VALUE_WORDS == 0)
        return 0;
    return VALUE_WORDS == 1 ? row->word[KEY_WORDS]
                            : (BH_VALUE)((uint64_t)row->word[ROW_WORDS - 2] << 32 |
                                         row->word[KEY_WORDS]);
}

/* The row of an element of the slice. */
BH_FN REGION(row) REGION(row_of)(const bh__slice *slice, uint32_t at)
{
    const uint64_t key = ((const BH_KEY *)slice->keys)[at];
    const uint64_t value = BH_VALUE_BYTES ? ((const BH_VALUE *)slice->values)[at] : 0;
    REGION(row) row;

    row.word[ROW_WORDS - 1] = at;
    row.word[0] = (uint32_t)key;
    if (KEY_WORDS == 2)
        row.word[KEY_WORDS - 1] = (uint32_t)(key >> 32);
    if (VALUE_WORDS >= 1)
        row.word[KEY_WORDS] = (uint32_t)value;
    if (VALUE_WORDS == 2)
        row.word[ROW_WORDS - 2] = (uint32_t)(value >> 32);
    return row;
}

/* What a block of a scatter has in shared memory. */
typedef struct REGION(tile) {
    REGION(row) row[BH_SCATTER_ROWS];
    uint32_t order[BH_SCATTER_ROWS]; /* part by part: the row's number, and above it the part's */
    uint32_t counts[BH_SCATTER_PARTS];
    uint32_t starts[BH_SCATTER_PARTS]; /* in `order` */
    uint32_t places[BH_SCATTER_PARTS]; /* where the part's first row goes, less its start */
} REGION(tile);

/* The rows of a block: some elements of the slice, or of a part of `from`. Answers how many. */
BH_FN uint32_t REGION(bring)(REGION(tile) *t, const bh__cuda_job *job, const bh__slice *slice,
                             const bh_cuda_parts *from)
{
    const uint64_t first = blockIdx.x * (uint64_t)BH_SCATTER_ROWS;
    uint64_t left = from->rows ? from->taken[blockIdx.y] : job->count;
    uint32_t count, i;

    if (from->rows && left > from->room)
        left = from->room;
    if (first >= left)
        return 0;
    count = left - first < BH_SCATTER_ROWS ? (uint32_t)(left - first) : BH_SCATTER_ROWS;
    if (!from->rows) {
#pragma unroll 4
        for (i = threadIdx.x; i < count; i += BH_SCATTER_THREADS)
            t->row[i] = REGION(row_of)(slice, (uint32_t)first + i);
    } else {
        bh_region_bring_words(t->row->word,
                              from->rows + (blockIdx.y * from->room + first) * ROW_WORDS,
                              count * ROW_WORDS, BH_SCATTER_THREADS);
        bh_cuda_wait_brought();
    }
    return count;
}

/*
 * Rows to parts: from the slice's elements to part region >> shift, or from each part to its
 * BH_PART_REGIONS regions; blockIdx.y is the number of that part.
 */
__global__ void __launch_bounds__(BH_SCATTER_THREADS, 3)
    REGION(scatter)(bh__cuda_job *job, const __grid_constant__ bh_dy_regions regions,
                    bh_cuda_parts from, bh_cuda_parts to, uint32_t shift)
{
    typedef cub::BlockScan<uint32_t, BH_SCATTER_THREADS> scan;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ typename scan::TempStorage scanning;
    REGION(tile) *const t = (REGION(tile) *)(void *)memory;
    const bh__slice slice = BH_DESIGN(cuda_slice)(job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    const uint64_t first_part = from.rows ? (uint64_t)blockIdx.y << BH_PART_BITS : 0;
    const uint32_t lane = threadIdx.x, count = REGION(bring)(t, job, &slice, &from);
    uint32_t spot[BH_SCATTER_EACH]; /* part, and which of the block's rows there */
    uint32_t start, i;

    if (!count)
        return;
    t->counts[lane] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < BH_SCATTER_EACH; k++) {
        i = k * BH_SCATTER_THREADS + lane;
        if (i >= count)
            continue;
        spot[k] = bh_dy_spot_of(geometry, &regions, REGION(key)(&t->row[i])).region >> shift;
        if (from.rows)
            spot[k] %= BH_PART_REGIONS;
        spot[k] |= atomicAdd(&t->counts[spot[k]], 1) << BH_SCATTER_BITS;
    }
    __syncthreads();
    scan(scanning).ExclusiveSum(t->counts[lane], start);
    t->starts[lane] = start;
    if (t->counts[lane])
        t->places[lane] = atomicAdd(&to.taken[first_part + lane], t->counts[lane]) - start;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < BH_SCATTER_EACH; k++) {
        const uint32_t part = spot[k] % BH_SCATTER_PARTS;

        i = k * BH_SCATTER_THREADS + lane;
        if (i < count)
            t->order[t->starts[part] + (spot[k] >> BH_SCATTER_BITS)] =
                i | part << BH_SCATTER_ROWS_BITS;
    }
    __syncthreads();
    for (i = lane; i < count; i += BH_SCATTER_THREADS) {
        const uint32_t part = t->order[i] >> BH_SCATTER_ROWS_BITS;
        const REGION(row) *row = &t->row[t->order[i] % BH_SCATTER_ROWS];
        const uint32_t place = t->places[part] + i;

        if (place < to.room)
            ((REGION(row) *)to.rows)[(first_part + part) * to.room + place] = *row;
        else
            bh_region_list(job, bh_cuda_take(&job->parked_count[BH_CUDA_HOME_FULL - 1], 1),
                           row->word[ROW_WORDS - 1],
                           bh_cuda_has_room(job, BH_OP_INSERTS(slice.op)));
    }
}

/* What a block has of a region in shared memory. */
typedef struct REGION(desk) {
    REGION(row) row[REGION_ROWS];
    unsigned char place[BH_REGION_THREADS][BH_REGION_PLACE];
    uint32_t start[(1u << BH_REGION_BITS_MOST) + 1]; /* of each bucket's rows in `order` */
    uint16_t order[REGION_ROWS];                     /* rows, bucket by bucket */
    uint32_t left[3];         /* rows left over, buckets that have some, rows to be listed */
    unsigned long long at[3]; /* where those go */
    uint32_t room;            /* there is some for every new key of the region */
    uint32_t held;            /* so many have got it, or may get it later */
    uint8_t presumed;
} REGION(desk);

/* Sorts a region's rows by bucket: `order` and `start`. */
BH_FN void REGION(sort)(REGION(desk) *d, const bh_dy_geometry *geometry,
                        const bh_dy_regions *regions, uint32_t rows)
{
    enum {
        EACH = (REGION_ROWS + BH_REGION_THREADS - 1) / BH_REGION_THREADS,
        BUCKETS = (1u << BH_REGION_BITS_MOST) / BH_REGION_THREADS
    };
    typedef cub::BlockScan<uint32_t, BH_REGION_THREADS> scan;
    __shared__ typename scan::TempStorage scanning;
    const uint32_t lane = threadIdx.x;
    uint32_t spot[EACH]; /* bucket, counter, and which of the bucket's rows */
    uint32_t counts[BUCKETS];

#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * BH_REGION_THREADS + lane;

        if (i >= rows)
            continue;
        const bh_dy_spot at = bh_dy_spot_of(geometry, regions, REGION(key)(&d->row[i]));

        spot[k] = at.bucket | (at.counter - BH_DY_FILTER_SHIFT) / 2 << BH_REGION_COUNTER_SHIFT;
        spot[k] |= atomicAdd(&d->start[at.bucket], 1) << 16;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < BUCKETS; k++)
        counts[k] = d->start[lane * BUCKETS + k];
    scan(scanning).ExclusiveSum(counts, counts);
#pragma unroll
    for (uint32_t k = 0; k < BUCKETS; k++)
        d->start[lane * BUCKETS + k] = counts[k];
    if (lane == 0)
        d->start[BUCKETS * BH_REGION_THREADS] = rows;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * BH_REGION_THREADS + lane;

        if (i < rows)
            d->order[d->start[spot[k] & BH_REGION_NUMBER] + (spot[k] >> 16)] =
                (uint16_t)(i | (spot[k] & 7u << BH_REGION_COUNTER_SHIFT));
    }
    __syncthreads();
}

/* Performs the elements of a bucket on its copy. Those that are not done come to the front of its
 * part of `order`; answers how many. */
BH_FN uint32_t REGION(settle_bucket)(REGION(desk) *d, bh__slice *slice, uint32_t bucket,
                                     unsigned char *copy)
{
    const uint32_t first = d->start[bucket], end = d->start[bucket + 1];
    const uint8_t presumed = d->presumed;
    uint32_t kept = 0, listed, i, j;

    for (i = first; i < end; i++) {
        const uint32_t entry = d->order[i];
        const REGION(row) *row = &d->row[entry & BH_REGION_NUMBER];
        const BH_KEY key = REGION(key)(row);
        BH_VALUE value = REGION(value)(row);
        bh_dy_settled settled;
        DY(op) op;

        slice->values = &value;
        slice->room = d->room;
        settled = DY(settle)(slice, &op, key, 0, slice->op,
                             bh_dy_counter_of(entry >> BH_REGION_COUNTER_SHIFT),
                             (uint64_t)(uintptr_t)copy);
        if (settled == BH_DY_SETTLED) {
            if (op.outcome != presumed && slice->outcomes)
                slice->outcomes[row->word[ROW_WORDS - 1]] = op.outcome;
            continue;
        }
        /* A key that is left over already will be found where it then is. */
        listed = settled == BH_DY_UNSETTLED;
        for (j = first; j < first + kept && !listed; j++)
            listed = !(d->order[j] & BH_REGION_LISTED) &&
                     REGION(key)(&d->row[d->order[j] & BH_REGION_NUMBER]) == key;
        d->order[first + kept++] = (uint16_t)(entry | (listed ? BH_REGION_LISTED : 0));
    }
    return kept;
}

/* Takes places in the lists of what is not done, for all threads of the block; own[] become the
 * thread's within them. */
BH_FN void REGION(take)(bh__cuda_job *job, REGION(desk) *d, const bh_cuda_left *left,
                        uint32_t over, uint32_t listed, uint32_t *own)
{
    const uint32_t lane = threadIdx.x;

    if (over) {
        own[0] = atomicAdd(&d->left[0], over);
        own[1] = atomicAdd(&d->left[1], 1);
    }
    if (listed)
        own[2] = atomicAdd(&d->left[2], listed);
    __syncthreads();
    if (lane < 3 && d->left[lane])
        d->at[lane] =
            atomicAdd(lane < 2 ? &left->counts[lane]
                               : (unsigned long long *)&job->parked_count[BH_CUDA_HOME_FULL - 1],
                      (unsigned long long)d->left[lane]);
    __syncthreads();
}

/* Writes what a bucket has not done, the `kept` entries from `first` on, to where it goes. */
BH_FN void REGION(leave)(bh__cuda_job *job, const REGION(desk) *d, const bh_cuda_left *left,
                         uint32_t first, uint32_t kept, const uint32_t *own, uint64_t line)
{
    const uint64_t from = d->at[0] + own[0];
    uint64_t to = from, list = d->at[2] + own[2];
    bh_cuda_full full;
    uint32_t i;

    for (i = first; i < first + kept; i++) {
        const REGION(row) *row = &d->row[d->order[i] & BH_REGION_NUMBER];

        if (d->order[i] & BH_REGION_LISTED)
            bh_region_list(job, list++, row->word[ROW_WORDS - 1], (int)d->room);
        else
            ((REGION(row) *)left->rows)[to++] = *row;
    }
    if (to == from)
        return;
    full.line = line;
    full.first = (uint32_t)from;
    full.count = (uint32_t)(to - from);
    left->buckets[d->at[1] + own[1]] = full;
}

/* The buckets of a region from `chunk` on, one for each thread: brings them, performs, and sends
 * back those that got keys. */
BH_FN void REGION(settle_chunk)(bh__cuda_job *job, REGION(desk) *d, bh__slice *slice,
                                const bh_cuda_left *left, uint64_t lines, uint32_t chunk,
                                uint32_t buckets)
{
    const uint32_t lane = threadIdx.x, all = buckets - chunk;
    const uint32_t here = all < BH_REGION_THREADS ? all : BH_REGION_THREADS;
    const uint64_t first = lines + (uint64_t)BUCKET * chunk, inserted = slice->inserted;
    uint32_t kept = 0, over = 0, own[3] = {0, 0, 0}, i;

    for (i = lane; i < 4 * here; i += BH_REGION_THREADS)
        bh_cuda_bring16(bh_region_shared(&d->place[i / 4][i % 4 * 16]), first + 16ull * i);
    if (lane < 3)
        d->left[lane] = 0;
    bh_cuda_wait_brought();
    __syncthreads();
    if (lane < here)
        kept = REGION(settle_bucket)(d, slice, chunk + lane, d->place[lane]);
    for (i = 0; i < kept; i++)
        over += !(d->order[d->start[chunk + lane] + i] & BH_REGION_LISTED);
    if (d->room && kept + (uint32_t)(slice->inserted - inserted))
        atomicAdd(&d->held, kept + (uint32_t)(slice->inserted - inserted));
    REGION(take)(job, d, left, over, kept - over, own);
    for (i = lane; i < 4 * here; i += BH_REGION_THREADS)
        if (d->start[chunk + i / 4] < d->start[chunk + i / 4 + 1])
            *(uint4 *)(uintptr_t)(first + 16ull * i) = *(const uint4 *)&d->place[i / 4][i % 4 * 16];
    if (kept)
        REGION(leave)(job, d, left, d->start[chunk + lane], kept, own,
                      first + (uint64_t)BUCKET * lane);
    __syncthreads();
}

/* Takes room for all rows of a region, where there is not enough for all of the slice, or none
 * for any of them; and gives back what nobody wanted. By one thread. */
BH_FN void REGION(take_room)(bh__cuda_job *job, REGION(desk) *d, uint32_t rows)
{
    unsigned long long *taken = (unsigned long long *)&job->room_taken;

    d->held = 0;
    d->room = 1;
    if (!BH_OP_INSERTS(job->slice.op) || job->room >= job->count)
        return;
    if (atomicAdd(taken, (unsigned long long)rows) + rows > job->room) {
        d->room = 0;
        atomicAdd(taken, 0ull - rows);
    }
}

BH_FN void REGION(give_room)(bh__cuda_job *job, const REGION(desk) *d, uint32_t rows)
{
    if (d->room && d->held < rows && BH_OP_INSERTS(job->slice.op) && job->room < job->count)
        atomicAdd((unsigned long long *)&job->room_taken, (unsigned long long)d->held - rows);
}

/* The first phase: a block for each region, one after the other. */
__global__ void __launch_bounds__(BH_REGION_THREADS, 4)
    REGION(settle)(bh__cuda_job *job, const __grid_constant__ bh_dy_regions regions,
                   bh_cuda_parts rows, bh_cuda_left left)
{
    extern __shared__ __align__(16) unsigned char memory[];
    REGION(desk) *const d = (REGION(desk) *)(void *)memory;
    bh__slice slice = BH_DESIGN(cuda_slice)(job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    bh_cuda_counts counts;
    uint64_t region;

    slice.hints = 0; /* guests are sent home in the second phase */
    for (region = blockIdx.x; region < rows.count; region += gridDim.x) {
        const uint32_t taken = rows.taken[region];
        const uint32_t count = taken < rows.room ? taken : (uint32_t)rows.room;
        uint32_t buckets, i;
        const uint64_t lines = bh_dy_region_line(geometry, &regions, region, BUCKET, &buckets);

        if (!count)
            continue;
        bh_region_bring_words(d->row->word, rows.rows + region * rows.room * ROW_WORDS,
                              count * ROW_WORDS, BH_REGION_THREADS);
        for (i = threadIdx.x; i <= 1u << BH_REGION_BITS_MOST; i += BH_REGION_THREADS)
            d->start[i] = 0;
        if (threadIdx.x == 0) {
            REGION(take_room)(job, d, count);
            d->presumed = bh_region_presumed(job, job->count);
        }
        bh_cuda_wait_brought();
        __syncthreads();
        REGION(sort)(d, geometry, &regions, count);
        for (i = 0; i < buckets; i += BH_REGION_THREADS)
            REGION(settle_chunk)(job, d, &slice, &left, lines, i, buckets);
        if (threadIdx.x == 0)
            REGION(give_room)(job, d, count);
    }
    counts.inserted = (uint32_t)slice.inserted;
    counts.erased = 0;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_enter(job, BH__CUDA_REGIONS, &counts);
}

/* The second: a thread for each bucket that has rows left over. One attempt of each thread at a
 * time, whichever row it is on: attempts are alike, and how many a bucket takes is not. */
__global__ void REGION(away)(bh__cuda_job *job, bh_cuda_left left)
{
    const bh__slice common = BH_DESIGN(cuda_slice)(job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)common.geometry;
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x, buckets = left.counts[1];
    const REGION(row) *row = nullptr, *end = nullptr;
    uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint8_t presumed = bh_region_presumed(job, job->count);
    bh_cuda_counts counts = {0, 0, 0};
    DY(sending) sending = {};
    int moved = 0;

    for (;;) {
        if (row == end && at < buckets) {
            const bh_cuda_full full = left.buckets[at];

            DY(begin_sending)(&sending, full.line, (common.hints & BH_HINT_TURNOVER) != 0);
            row = (const REGION(row) *)left.rows + full.first;
            end = row + full.count;
            at += threads;
        }
        if (!__any_sync(0xffffffffu, row != end))
            break;
        if (row != end) {
            const bh_dy_sent sent =
                DY(send_away)(geometry, &sending, REGION(key)(row), REGION(value)(row));

            const uint32_t name = row->word[ROW_WORDS - 1];
            const uint8_t outcome = sent == BH_DY_NOWHERE ? BH_NOT_DONE : BH_INSERTED;

            counts.inserted += sent == BH_DY_SENT || sent == BH_DY_REPLACED;
            moved |= sent == BH_DY_REPLACED;
            if (sent == BH_DY_NOWHERE)
                bh_cuda_park(job, BH_CUDA_BOTH_FULL, name, 1, 1);
            if (sent != BH_DY_NOT_YET && common.outcomes && outcome != presumed)
                common.outcomes[name] = outcome;
            if (sent != BH_DY_NOT_YET && ++row == end)
                bh_write64(bh_dy_at(sending.home), sending.meta);
        }
        __syncwarp();
    }
    if (moved)
        job->moved = 1;
    __syncwarp();
    bh_cuda_enter(job, BH__CUDA_REGIONS, &counts);
}

/* ---------------------------------------------------------------------------------------------
 * on the host
 * --------------------------------------------------------------------------------------------- */

#ifndef BH_CUDA_REGIONS_PLAN
#define BH_CUDA_REGIONS_PLAN

/* How an insertion by region goes. */
typedef struct bh_region_plan {
    bh_dy_regions regions;
    bh_cuda_parts parts[2]; /* the elements' if there are few regions: one scatter is enough */
    bh_cuda_left left;
    uint64_t buckets;
    uint64_t counters; /* the words to be zero at first: first of the memory */
    uint64_t bytes;
} bh_region_plan;

/* Fewer elements, or fewer than so many for 4 buckets, are as fast one by one. By measurement. */
#define BH_REGIONS_FROM (UINT64_C(1) << 16)
#define BH_REGIONS_OF_4 3

/* So many rows a part or region may get when it should get `mean`. */
static inline double bh_region_most(double mean)
{
    return mean + 6 * sqrt(mean) + 16;
}

/* Chooses the regions' size, so that none gets more than `room` rows, *mean of them or fewer, and
 * two scatters have destinations enough. Answers 0 when it cannot be had. */
static inline int bh_region_fit(const bh_dy_geometry *geometry, uint64_t count, uint32_t room,
                                bh_region_plan *plan, double *mean)
{
    const uint64_t most = BH_SCATTER_PARTS * BH_PART_REGIONS;
    uint64_t least = UINT64_MAX, buckets;
    uint32_t bits = BH_REGION_BITS, i;
    double each;

    plan->buckets = 0;
    for (i = 0; i < geometry->subtables; i++) {
        buckets = bh_dy_buckets(geometry, i);
        plan->buckets += buckets;
        least = buckets < least ? buckets : least;
    }
    /* As many keys are at home in the smallest subtable as in any other. */
    each = (double)count / geometry->subtables / (double)least;
    while (bits > BH_REGION_BITS_LEAST && bh_region_most(each * (1u << bits)) > room)
        bits--;
    while (bits < BH_REGION_BITS_MOST &&
           (plan->buckets >> bits) + geometry->subtables > most)
        bits++;
    plan->regions = bh_dy_regions_of(geometry, bits);
    *mean = each * (1u << bits);
    return bh_region_most(*mean) <= room && plan->regions.first[BH_DY_SUBTABLES_MOST] <= most;
}

/* Whether the schedule is wanted for so many elements. */
static inline int bh_region_pays(const bh__cuda_job *known, uint64_t count, uint64_t buckets)
{
    switch (known->wanted) {
    case BH_SCHEDULE_WINDOW: return 0;
    case BH_SCHEDULE_REGIONS: return 1;
    default: return count >= BH_REGIONS_FROM && count >= buckets / 4 * BH_REGIONS_OF_4;
    }
}

/* Fills in all outcomes of a slice. */
static inline int bh_region_mark(bh__gpu *gpu, const bh__cuda_job *known, uint8_t outcome,
                                 uint64_t count)
{
    return known->slice.outcomes
               ? (int)cudaMemsetAsync(known->slice.outcomes, outcome, count, gpu->stream)
               : 0;
}

#endif

/* Whether the slice is one for this schedule; and then where everything goes in a memory that
 * begins at `memory`. (Not for mixed slices, nor for operations that answer with values; nor where
 * keys may go to their other buckets while there is room at home, as with BH_SPREAD_THEOREM1.) */
static int REGION(plan)(const bh__cuda_job *known, uint64_t count, void *memory,
                        bh_region_plan *plan)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)known->slice.geometry;
    const uint64_t row_bytes = sizeof(REGION(row)), from = (uint64_t)(uintptr_t)memory;
    arena a = {from, 0};
    uint64_t regions, parts, rows;
    double mean;

    if (known->names || known->slice.ops || BH_OP_WRITES(known->slice.op) || geometry->spread ||
        !bh_region_fit(geometry, count, REGION_ROWS, plan, &mean) ||
        !bh_region_pays(known, count, plan->buckets))
        return 0;
    regions = plan->regions.first[BH_DY_SUBTABLES_MOST];
    parts = regions > BH_SCATTER_PARTS ? (regions + BH_PART_REGIONS - 1) / BH_PART_REGIONS : 0;
    plan->left.counts = (unsigned long long *)pointer(cut(&a, 2, sizeof *plan->left.counts));
    plan->parts[0].taken = (uint32_t *)pointer(cut(&a, parts, sizeof(uint32_t)));
    plan->parts[1].taken = (uint32_t *)pointer(cut(&a, regions, sizeof(uint32_t)));
    plan->counters = a.at - from;
    /* The rows of each begin at 16 bytes. */
    plan->parts[0].count = parts;
    plan->parts[0].room = (uint64_t)bh_region_most(mean * BH_PART_REGIONS) / 4 * 4;
    plan->parts[1].count = regions;
    plan->parts[1].room = (uint64_t)bh_region_most(mean) / 4 * 4;
    /* Rows are left over when the parts are no longer needed. */
    rows = parts * plan->parts[0].room;
    rows = rows > count ? rows : count;
    plan->parts[0].rows = plan->left.rows = (uint32_t *)pointer(cut(&a, rows, row_bytes));
    plan->parts[1].rows =
        (uint32_t *)pointer(cut(&a, regions * plan->parts[1].room, row_bytes));
    plan->left.buckets = (bh_cuda_full *)pointer(
        cut(&a, count < plan->buckets ? count : plan->buckets, sizeof *plan->left.buckets));
    plan->bytes = a.at - from;
    return !a.overflowed;
}

/* The elements to their regions. */
static int REGION(scatter_all)(bh__gpu *gpu, bh__cuda_job *job, const bh_region_plan *plan,
                               uint64_t count)
{
    const bh_cuda_parts elements = {nullptr, nullptr, 0, 0}, *parts = &plan->parts[0];
    const uint64_t tiles[2] = {(count + BH_SCATTER_ROWS - 1) / BH_SCATTER_ROWS,
                               (parts->room + BH_SCATTER_ROWS - 1) / BH_SCATTER_ROWS};
    const uint32_t bytes = sizeof(REGION(tile));

    REGION(scatter)<<<(unsigned)tiles[0], BH_SCATTER_THREADS, bytes, gpu->stream>>>(
        job, plan->regions, elements, parts[parts->count == 0],
        parts->count ? BH_PART_BITS : 0);
    if (parts->count)
        REGION(scatter)<<<dim3((unsigned)tiles[1], (unsigned)parts->count), BH_SCATTER_THREADS,
                          bytes, gpu->stream>>>(job, plan->regions, *parts, plan->parts[1], 0);
    return (int)cudaGetLastError();
}

/* All that comes before the second phase. */
static int REGION(first_phase)(bh__gpu *gpu, bh__cuda_job *job, const bh_region_plan *plan,
                               uint64_t count)
{
    const int error = REGION(scatter_all)(gpu, job, plan, count);

    if (error)
        return error;
    REGION(settle)<<<gpu->threads / 2 / BH_REGION_THREADS, BH_REGION_THREADS,
                     sizeof(REGION(desk)), gpu->stream>>>(job, plan->regions, plan->parts[1],
                                                          plan->left);
    return (int)cudaGetLastError();
}

static int REGION(second_phase)(bh__gpu *gpu, bh__cuda_job *job, const bh_region_plan *plan)
{
    REGION(away)<<<gpu->threads / BH_CUDA_BLOCK, BH_CUDA_BLOCK, 0, gpu->stream>>>(job, plan->left);
    return (int)cudaGetLastError();
}

/* Answers as bh__cuda_module's slice(): a negative error when the first phase has run and the second
 * was refused. Outcomes never say more than was done: presumed ones are taken back. */
static int REGION(perform)(bh__gpu *gpu, bh__cuda_job *job, const bh__cuda_job *known,
                           const bh_region_plan *plan, void *memory, uint64_t count)
{
    int error = (int)cudaMemsetAsync(memory, 0, plan->counters, gpu->stream), unmarked;

    if (error)
        return error;
    error = bh_region_mark(gpu, known, bh_region_presumed(known, count), count);
    if (!error)
        error = REGION(first_phase)(gpu, job, plan, count);
    if (!error) {
        error = -REGION(second_phase)(gpu, job, plan);
        if (!error)
            return 0;
    }
    unmarked = bh_region_mark(gpu, known, BH_NOT_DONE, count);
    return unmarked && error > 0 ? -error : error;
}

/* Whether blocks may have so much shared memory: more than any kernel has without asking. */
static int REGION(fits)(void)
{
    const int error = (int)cudaFuncSetAttribute(REGION(scatter),
                                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                (int)sizeof(REGION(tile)));

    return !error && !cudaFuncSetAttribute(REGION(settle),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)sizeof(REGION(desk)));
}

int BH_DESIGN(gpu_by_region)(bh__gpu *gpu, bh__cuda_job *job, const bh__cuda_job *known,
                                     uint64_t count)
{
    bh_region_plan plan;
    void *memory = nullptr;
    int error;

    if (!REGION(plan)(known, count, nullptr, &plan))
        return BH_GPU_DECLINED;
    if (!REGION(fits)() || cudaMallocFromPoolAsync(&memory, plan.bytes, gpu->pool[BH_MEMORY_CALL],
                                                   gpu->stream)) {
        (void)cudaGetLastError();
        return BH_GPU_DECLINED;
    }
    (void)REGION(plan)(known, count, memory, &plan);
    error = REGION(perform)(gpu, job, known, &plan, memory, count);
    (void)cudaFreeAsync(memory, gpu->stream);
    return error;
}

#undef DY
#undef REGION
#undef BUCKET
#undef KEY_WORDS
#undef VALUE_WORDS
#undef ROW_WORDS
#undef REGION_ROWS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
