/*
 * The schedule `regions`: inserting and updating many keys region by region of the table, for one
 * pair of widths. An include-template: see instance.h. scatter.h brings the keys to their regions, and
 * says why that is cheaper; tables/dycuckoo/regions.h says what is done to a bucket; this file brings
 * a region's keys to its buckets:
 *
 *     regions      [. .][. .][. .] ...             of up to 1,024 buckets, some 1,500 rows each
 *        |  settle       a block of threads for each region: its buckets are copied to shared
 *        |               memory, and each thread takes all keys of one bucket
 *     left over    rows whose home is full, bucket by bucket
 *        |  away         a thread for each such bucket
 *
 * Elements that are not done after that are listed for the last two stages of `sift` (kernels.h): those
 * whose keys may be guests, and those for whose keys no bucket had room.
 */
#if BH_APART == BH_DY_APART_BY_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#include "tables/dycuckoo/ops.h"
#include "tables/dycuckoo/regions.h"

#include "cuda/device/scatter.h"

#ifndef BH_CUDA_DEVICE_DYCUCKOO_BY_REGION_H
#define BH_CUDA_DEVICE_DYCUCKOO_BY_REGION_H

#define BH_REGION_BITS_LEAST 5u /* 2^bits buckets of a region */

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

#endif

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_REGION(name) BH_NAME(bh_cuda_region_##name)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
/*
 * Threads of a block, each of which takes one bucket at a time; buckets of a region, as bits, if they are neither many nor get
 * many rows; bytes of a region's rows that
 * a block has shared memory for; distance of the copies of neighbouring buckets, chosen as in look.h; and 16-byte
 * pieces of a bucket. With buckets of 64 bytes four blocks fit on a multiprocessor of an H200; with buckets of
 * 128 bytes five do, of half as many threads; with 160 bytes of rows more only four would.
 */
#define BH_DY_REGION_THREADS (BH_DY_BUCKET_BYTES == 64 ? 256u : 128u)
#define BH_DY_REGION_BITS (BH_DY_BUCKET_BYTES == 64 ? 8u : 7u)
#define BH_DY_REGION_BITS_MOST (BH_DY_REGION_BITS + 2)
#define BH_DY_REGION_BYTES (BH_DY_BUCKET_BYTES == 64 ? 23232u : 19840u)
#define BH_DY_REGION_PLACE (BH_DY_BUCKET_BYTES + 16)
#define BH_DY_REGION_PIECES (BH_DY_BUCKET_BYTES / 16)
/* A multiple of 4, so that each region's rows begin at 16 bytes. */
#define BH_DY_REGION_ROWS (BH_DY_REGION_BYTES / (4 * BH_SCATTER_ROW_WORDS) / 4 * 4)

/* What a block has of a region in shared memory. */
typedef struct BH_DY_REGION(desk) {
    BH_SCATTER(row) row[BH_DY_REGION_ROWS];
    unsigned char place[BH_DY_REGION_THREADS][BH_DY_REGION_PLACE];
    uint32_t start[(1u << BH_DY_REGION_BITS_MOST) + 1]; /* of each bucket's rows in `order` */
    uint16_t order[BH_DY_REGION_ROWS];                  /* rows, bucket by bucket */
    uint32_t left[3];         /* rows left over, buckets that have some, rows to be listed */
    unsigned long long at[3]; /* where in their lists those go */
    uint32_t room;            /* whether there is room for every new key of the region */
    uint32_t held;            /* how many rows have used room, or may use it later */
    uint8_t presumed;
} BH_DY_REGION(desk);

/* Sorts a region's rows by bucket; their tags are their keys' counters. */
BH_FN void BH_DY_REGION(sort)(BH_DY_REGION(desk) *d, const bh_dy_geometry *geometry,
                              const bh_dy_regions *regions, uint32_t rows)
{
    bh_scatter_sort<BH_DY_REGION_THREADS, 1u << BH_DY_REGION_BITS_MOST, BH_DY_REGION_ROWS>(
        d->start, d->order, rows, [=](uint32_t i) {
            const bh_dy_spot at = bh_dy_spot_of(geometry, regions, BH_SCATTER(key)(&d->row[i]));

            return at.bucket | (at.counter - BH_DY_FILTER_SHIFT) / 2 << BH_SCATTER_TAG_SHIFT;
        });
}

/* Performs the elements of a bucket on its copy. Rows that are not done come to the front of the bucket's
 * part of `order`; answers how many they are. */
BH_FN uint32_t BH_DY_REGION(settle_bucket)(BH_DY_REGION(desk) *d, bh__slice *slice, uint32_t bucket,
                                           unsigned char *copy)
{
    const uint32_t first = d->start[bucket], end = d->start[bucket + 1];
    const uint8_t presumed = d->presumed;
    const int room = d->room != 0;
    uint32_t kept = 0, listed, i, j;
    BH_DY(own) own;

    if (first == end)
        return 0;
    BH_DY(open)(&own, copy);
    for (i = first; i < end; i++) {
        const uint32_t entry = d->order[i];
        const BH_SCATTER(row) *row = &d->row[entry & BH_SCATTER_NUMBER];
        const BH_KEY key = BH_SCATTER(key)(row);
        uint8_t outcome = presumed;
        const bh_dy_settled settled =
            BH_DY(settle)(&own, slice, slice->op, key, BH_SCATTER(value)(row),
                          bh_dy_counter_of(entry >> BH_SCATTER_TAG_SHIFT), room, &outcome);

        if (settled == BH_DY_SETTLED) {
            if (outcome != presumed && slice->outcomes)
                slice->outcomes[row->word[BH_SCATTER_INDEX]] = outcome;
            continue;
        }
        /* An equal key that is left over already will be in the table when a listed one is run. */
        listed = settled == BH_DY_UNSETTLED;
        for (j = first; j < first + kept && !listed; j++)
            listed = !(d->order[j] & BH_SCATTER_MARK) &&
                     BH_SCATTER(key)(&d->row[d->order[j] & BH_SCATTER_NUMBER]) == key;
        d->order[first + kept++] = (uint16_t)(entry | (listed ? BH_SCATTER_MARK : 0));
    }
    BH_DY(close)(&own);
    return kept;
}

/* Takes places in the three lists of what is not done, for all threads of the block; own[] becomes this
 * thread's place among the block's in each. */
BH_FN void BH_DY_REGION(take)(const bh__cuda_job *job, BH_DY_REGION(desk) *d,
                              const bh_cuda_left *left, uint32_t over, uint32_t listed,
                              uint32_t *own)
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
        d->at[lane] = atomicAdd(
            lane < 2 ? &left->counts[lane]
                     : (unsigned long long *)&job->done->parked_count[BH_SCATTER_LIST - 1],
            (unsigned long long)d->left[lane]);
    __syncthreads();
}

/* Writes the rows of a bucket that are not done, the `kept` entries from `first` on, to their lists. */
BH_FN void BH_DY_REGION(leave)(const bh__cuda_job *job, const BH_DY_REGION(desk) *d,
                               const bh_cuda_left *left, uint32_t first, uint32_t kept,
                               const uint32_t *own, uint64_t line)
{
    const uint64_t from = d->at[0] + own[0];
    uint64_t to = from, list = d->at[2] + own[2];
    bh_cuda_full full;
    uint32_t i;

    for (i = first; i < first + kept; i++) {
        const BH_SCATTER(row) *row = &d->row[d->order[i] & BH_SCATTER_NUMBER];

        if (d->order[i] & BH_SCATTER_MARK)
            bh_scatter_list(job, list++, row->word[BH_SCATTER_INDEX], (int)d->room);
        else
            ((BH_SCATTER(row) *)left->rows)[to++] = *row;
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
BH_FN void BH_DY_REGION(settle_chunk)(const bh__cuda_job *job, BH_DY_REGION(desk) *d,
                                      bh__slice *slice, const bh_cuda_left *left, uint64_t lines,
                                      uint32_t chunk, uint32_t buckets)
{
    const uint32_t lane = threadIdx.x, all = buckets - chunk;
    const uint32_t here = all < BH_DY_REGION_THREADS ? all : BH_DY_REGION_THREADS;
    const uint64_t first = lines + (uint64_t)BH_DY_BUCKET_BYTES * chunk, inserted = slice->inserted;
    uint32_t kept = 0, over = 0, own[3] = {0, 0, 0}, i;

    for (i = lane; i < BH_DY_REGION_PIECES * here; i += BH_DY_REGION_THREADS)
        bh_cuda_bring16(
            bh_scatter_shared(&d->place[i / BH_DY_REGION_PIECES][i % BH_DY_REGION_PIECES * 16]),
            first + 16ull * i);
    if (lane < 3)
        d->left[lane] = 0;
    bh_cuda_wait_brought();
    __syncthreads();
    if (lane < here)
        kept = BH_DY_REGION(settle_bucket)(d, slice, chunk + lane, d->place[lane]);
    for (i = 0; i < kept; i++)
        over += !(d->order[d->start[chunk + lane] + i] & BH_SCATTER_MARK);
    if (d->room && kept + (uint32_t)(slice->inserted - inserted))
        atomicAdd(&d->held, kept + (uint32_t)(slice->inserted - inserted));
    BH_DY_REGION(take)(job, d, left, over, kept - over, own);
    for (i = lane; i < BH_DY_REGION_PIECES * here; i += BH_DY_REGION_THREADS)
        if (d->start[chunk + i / BH_DY_REGION_PIECES] <
            d->start[chunk + i / BH_DY_REGION_PIECES + 1])
            *(uint4 *)(uintptr_t)(first + 16ull * i) =
                *(const uint4 *)&d->place[i / BH_DY_REGION_PIECES][i % BH_DY_REGION_PIECES * 16];
    if (kept)
        BH_DY_REGION(leave)(job, d, left, d->start[chunk + lane], kept, own,
                            first + (uint64_t)BH_DY_BUCKET_BYTES * lane);
    __syncthreads();
}

/* Where there is not enough room for all of the slice, takes room for all rows of a region, or for none of
 * them; give_room gives back what no row has used. Both are called by one thread. */
BH_FN void BH_DY_REGION(take_room)(const bh__cuda_job *job, BH_DY_REGION(desk) *d, uint32_t rows)
{
    unsigned long long *taken = (unsigned long long *)&job->done->room_taken;

    d->held = 0;
    d->room = 1;
    if (!BH_OP_INSERTS(job->slice.op) || job->room >= job->count)
        return;
    if (atomicAdd(taken, (unsigned long long)rows) + rows > job->room) {
        d->room = 0;
        atomicAdd(taken, 0ull - rows);
    }
}

BH_FN void BH_DY_REGION(give_room)(const bh__cuda_job *job, const BH_DY_REGION(desk) *d,
                                   uint32_t rows)
{
    if (d->room && d->held < rows && BH_OP_INSERTS(job->slice.op) && job->room < job->count)
        atomicAdd((unsigned long long *)&job->done->room_taken, (unsigned long long)d->held - rows);
}

/* The first phase: a block for each region, one after the other. */
__global__ void __launch_bounds__(BH_DY_REGION_THREADS, BH_DY_BUCKET_BYTES == 64 ? 4 : 5)
    BH_DY_REGION(settle)(const __grid_constant__ bh__cuda_job job,
                         const __grid_constant__ bh_dy_regions regions, bh_cuda_parts rows,
                         bh_cuda_left left)
{
    extern __shared__ __align__(16) unsigned char memory[];
    BH_DY_REGION(desk) *const d = (BH_DY_REGION(desk) *)(void *)memory;
    bh__slice slice = BH_DESIGN(cuda_slice)(&job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice.geometry;
    bh_cuda_counts counts;
    uint64_t region;

    slice.hints = 0; /* guests are sent home in the second phase */
    for (region = blockIdx.x; region < rows.count; region += gridDim.x) {
        const uint32_t taken = rows.taken[region];
        const uint32_t count = taken < rows.room ? taken : (uint32_t)rows.room;
        uint32_t buckets, i;
        const uint64_t lines =
            bh_dy_region_line(geometry, &regions, region, BH_DY_BUCKET_BYTES, &buckets);

        if (!count)
            continue;
        bh_scatter_bring_words(d->row->word, rows.rows + region * rows.room * BH_SCATTER_ROW_WORDS,
                               count * BH_SCATTER_ROW_WORDS, BH_DY_REGION_THREADS);
        for (i = threadIdx.x; i <= 1u << BH_DY_REGION_BITS_MOST; i += BH_DY_REGION_THREADS)
            d->start[i] = 0;
        if (threadIdx.x == 0) {
            BH_DY_REGION(take_room)(&job, d, count);
            d->presumed = bh_scatter_presumed(&job, job.count);
        }
        bh_cuda_wait_brought();
        __syncthreads();
        BH_DY_REGION(sort)(d, geometry, &regions, count);
        for (i = 0; i < buckets; i += BH_DY_REGION_THREADS)
            BH_DY_REGION(settle_chunk)(&job, d, &slice, &left, lines, i, buckets);
        if (threadIdx.x == 0)
            BH_DY_REGION(give_room)(&job, d, count);
    }
    counts.inserted = (uint32_t)slice.inserted;
    counts.erased = 0;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_enter(&job, BH__CUDA_REGIONS, &counts);
}

/* The second phase: a thread for each bucket that has rows left over. Each round of the loop is one attempt
 * of each thread, whichever row it is on: attempts take the same time, but buckets need different numbers
 * of them. */
__global__ void BH_DY_REGION(away)(const __grid_constant__ bh__cuda_job job, bh_cuda_left left)
{
    const bh__slice common = BH_DESIGN(cuda_slice)(&job);
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)common.geometry;
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x, buckets = left.counts[1];
    const BH_SCATTER(row) *row = nullptr, *end = nullptr;
    uint64_t at = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint8_t presumed = bh_scatter_presumed(&job, job.count);
    bh_cuda_counts counts = {0, 0, 0};
    BH_DY(sending) sending = {};
    int moved = 0;

    for (;;) {
        if (row == end && at < buckets) {
            const bh_cuda_full full = left.buckets[at];

            BH_DY(begin_sending)(&sending, full.line, (common.hints & BH_HINT_TURNOVER) != 0);
            row = (const BH_SCATTER(row) *)left.rows + full.first;
            end = row + full.count;
            at += threads;
        }
        if (!__any_sync(0xffffffffu, row != end))
            break;
        if (row != end) {
            const bh_dy_sent sent =
                BH_DY(send_away)(geometry, &sending, BH_SCATTER(key)(row), BH_SCATTER(value)(row));

            const uint32_t name = row->word[BH_SCATTER_INDEX];
            const uint8_t outcome = sent == BH_DY_NOWHERE ? BH_NOT_DONE : BH_INSERTED;

            counts.inserted += sent == BH_DY_SENT || sent == BH_DY_REPLACED;
            moved |= sent == BH_DY_REPLACED;
            if (sent == BH_DY_NOWHERE)
                bh_cuda_park(&job, BH_CUDA_BOTH_FULL, name, 1, 1);
            if (sent != BH_DY_NOT_YET && common.outcomes && outcome != presumed)
                common.outcomes[name] = outcome;
            if (sent != BH_DY_NOT_YET && ++row == end)
                bh_write64(bh_dy_at(sending.home), sending.meta);
        }
        __syncwarp();
    }
    if (moved)
        job.done->moved = 1;
    __syncwarp();
    bh_cuda_enter(&job, BH__CUDA_REGIONS, &counts);
}

/* ---------------------------------------------------------------------------------------------
 * on the host
 * --------------------------------------------------------------------------------------------- */

#ifndef BH_CUDA_REGIONS_PLAN
#define BH_CUDA_REGIONS_PLAN

/* How an insertion by region goes. */
typedef struct bh_region_plan {
    bh_dy_regions regions;
    bh_scatter_plan scatter;
    bh_cuda_left left;
    uint64_t buckets;
    uint64_t counters; /* the words to be zero at first: first of the memory */
    uint64_t bytes;
} bh_region_plan;

/* Measured: calls with fewer than BH_REGIONS_OF_4 elements for each 4 buckets are as fast one by one. Fewer elements
 * than BH_REGIONS_FROM are not worth so many launches. */
#define BH_REGIONS_FROM BH_CUDA_SIFT_LEAST
#define BH_REGIONS_OF_4 3

/* Of more regions than this, fewer and larger ones are faster: each costs some time whatever it has to do. */
#define BH_REGIONS_MANY 4096u

/* Chooses the regions' size so that none gets more than `room` rows (on average *mean or fewer): 2^bits buckets, more where there
 * are many regions, fewer where each bucket gets many rows. Answers 0 when there is no such
 * size, or two scatters do not have so many destinations. */
static inline int bh_region_fit(const bh_dy_geometry *geometry, uint64_t count, uint32_t bits,
                                uint32_t bits_most, uint32_t room, bh_region_plan *plan,
                                double *mean)
{
    uint64_t least = UINT64_MAX, buckets;
    uint32_t i;
    double each;

    plan->buckets = 0;
    for (i = 0; i < geometry->subtables; i++) {
        buckets = bh_dy_buckets(geometry, i);
        plan->buckets += buckets;
        least = buckets < least ? buckets : least;
    }
    /* As many keys are at home in the smallest subtable as in any other. */
    each = (double)count / geometry->subtables / (double)least;
    while (bits > BH_REGION_BITS_LEAST && bh_scatter_most(each * (1u << bits)) > room)
        bits--;
    while (bits < bits_most && plan->buckets >> bits > BH_REGIONS_MANY &&
           bh_scatter_most(each * (2u << bits)) <= room)
        bits++;
    plan->regions = bh_dy_regions_of(geometry, bits);
    *mean = each * (1u << bits);
    return bh_scatter_most(*mean) <= room &&
           plan->regions.first[BH_DY_SUBTABLES_MOST] <= BH_SCATTER_REGIONS_MOST;
}

/* Measured: where most keys are there, calls of fewer elements, and all calls with buckets of two lines, are as
 * fast one by one without locks (present.h). */
#define BH_REGIONS_PRESENT (UINT64_C(1) << 24)

/* Whether the schedule is wanted, or pays, for `count` elements. */
static inline int bh_region_pays(const bh__cuda_job *job, uint64_t count, uint64_t buckets,
                                 uint32_t bucket_bytes)
{
    switch (job->wanted) {
    case BH_SCHEDULE_WINDOW: return 0;
    case BH_SCHEDULE_REGIONS: return 1;
    default:
        if (job->few_new && (count < BH_REGIONS_PRESENT || bucket_bytes > BH_DY_LINE))
            return 0;
        return count >= BH_REGIONS_FROM && count >= buckets / 4 * BH_REGIONS_OF_4;
    }
}

#endif

/* Whether the slice is one for this schedule; if so, *plan says where everything goes in a memory that begins
 * at `memory`. (The schedule does not take mixed slices, nor operations that answer with values, nor tables
 * in which keys may go to their other buckets while there is room at home, as with BH_SPREAD_THEOREM1.) */
static int BH_DY_REGION(plan)(const bh__cuda_job *job, uint64_t count, void *memory,
                              bh_region_plan *plan)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)job->descriptor;
    const uint64_t row_bytes = sizeof(BH_SCATTER(row)), from = (uint64_t)(uintptr_t)memory;
    bh__arena a = {from, 0};
    double mean;

    if (job->names || job->slice.ops || BH_OP_WRITES(job->slice.op) || geometry->spread ||
        !bh_region_fit(geometry, count, BH_DY_REGION_BITS, BH_DY_REGION_BITS_MOST,
                       BH_DY_REGION_ROWS, plan, &mean) ||
        !bh_region_pays(job, count, plan->buckets, BH_DY_BUCKET_BYTES))
        return 0;
    plan->left.counts =
        (unsigned long long *)bh__pointer(bh__cut(&a, 2, sizeof *plan->left.counts));
    bh_scatter_cut_counters(&plan->scatter, &a, plan->regions.first[BH_DY_SUBTABLES_MOST], mean);
    plan->counters = a.at - from;
    bh_scatter_cut_rows(&plan->scatter, &a, count, row_bytes);
    /* Rows are left over when the parts are no longer needed. */
    plan->left.rows = plan->scatter.parts[0].rows;
    plan->left.buckets = (bh_cuda_full *)bh__pointer(
        bh__cut(&a, count < plan->buckets ? count : plan->buckets, sizeof *plan->left.buckets));
    plan->bytes = a.at - from;
    return !a.overflowed;
}

/* All that comes before the second phase. */
static int BH_DY_REGION(first_phase)(bh__gpu *gpu, const bh__cuda_job *job,
                                     const bh_region_plan *plan, uint64_t count)
{
    const int error = BH_SCATTER(all)(gpu, job, &plan->regions, &plan->scatter, count);

    if (error)
        return error;
    BH_DY_REGION(settle)<<<bh_scatter_blocks(gpu, BH_DY_REGION(settle), BH_DY_REGION_THREADS,
                                             sizeof(BH_DY_REGION(desk))),
                           BH_DY_REGION_THREADS, sizeof(BH_DY_REGION(desk)), gpu->stream>>>(
        *job, plan->regions, plan->scatter.parts[1], plan->left);
    return (int)cudaGetLastError();
}

static int BH_DY_REGION(second_phase)(bh__gpu *gpu, const bh__cuda_job *job,
                                      const bh_region_plan *plan)
{
    BH_DY_REGION(away)<<<gpu->threads / BH_CUDA_BLOCK, BH_CUDA_BLOCK, 0, gpu->stream>>>(*job,
                                                                                        plan->left);
    return (int)cudaGetLastError();
}

/* Whether blocks may have so much shared memory: more than a kernel has by default. */
static int BH_DY_REGION(fits)(void)
{
    return BH_SCATTER(fits)() &&
           !cudaFuncSetAttribute(BH_DY_REGION(settle), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(BH_DY_REGION(desk)));
}

int BH_DESIGN(gpu_by_region)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    return bh_scatter_run<bh_region_plan>(
        gpu,
        [=](void *memory, bh_region_plan *plan) {
            return BH_DY_REGION(plan)(job, count, memory, plan);
        },
        BH_DY_REGION(fits),
        [=](const bh_region_plan *plan, void *memory) {
            return bh_scatter_perform(
                gpu, job, memory, plan->counters, count,
                [=] { return BH_DY_REGION(first_phase)(gpu, job, plan, count); },
                [=] { return BH_DY_REGION(second_phase)(gpu, job, plan); });
        });
}

#undef BH_DY
#undef BH_DY_REGION
#undef BH_DY_BUCKET_BYTES
#undef BH_DY_REGION_THREADS
#undef BH_DY_REGION_BITS
#undef BH_DY_REGION_BITS_MOST
#undef BH_DY_REGION_BYTES
#undef BH_DY_REGION_PLACE
#undef BH_DY_REGION_PIECES
#undef BH_DY_REGION_ROWS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
