/*
 * Bringing the elements of a slice to regions of the table, for one pair of widths of one design. An
 * include-template: see instance.h, and tables/declared.h.
 *
 * An insertion that goes to its place by itself reads a line from memory and writes it back, and needs six
 * or more requests to the L2 cache to lock the line and store into it. When a call has nearly as many keys
 * as the table has buckets, it is cheaper to bring the keys to the buckets:
 *
 *     elements     key, value            in the caller's order
 *        |  scatter      a row {key, value, index} to its part of up to 512
 *     parts        [ . . . . ][ . . . . ] ...      each of 256 regions, or 512
 *        |  scatter      the same once more, to its region
 *     regions      [. .][. .][. .] ...             of some hundred neighbouring buckets
 *        |
 *        the design does with the rows of a region what it has to
 *
 * All that is asked of the design is which region a key's place is in. In front of this file it has
 *
 *     BH_DESIGN_REGIONS              the type of what says how a table is divided into regions
 *     BH_OF_DESIGN(spot_of)(geometry, regions, key)
 *                                    where the key's place is: a struct, of which this file reads
 *                                    `region`, the region's number. The design will want the bucket
 *                                    within the region as well, when it sorts the rows of a region
 *
 * A scatter does not count beforehand how many rows each part gets. A part has room for the expected number
 * and six times the square root of that (six standard deviations), because a hash spreads keys as chance
 * would. When many elements have few different keys that is not enough; a row that finds no room in its part
 * is listed for the stages that carry elements from their beginning. Each block of a scatter
 * first sorts 4,096 rows by their parts in shared memory, so that they are written some 8 to 16 at a time.
 *
 * Outcomes would be stores to random places. So the schedule writes the outcome that it presumes of most
 * elements for all of them at once (bh_scatter_mark), and afterwards only the outcomes that differ.
 */
#ifndef BH_CUDA_DEVICE_SCATTER_H
#define BH_CUDA_DEVICE_SCATTER_H

#include <cub/block/block_scan.cuh>

#include "storage/arena.h"

#include "cuda/device/async.h"
#include "cuda/device/job.h"

/* Regions of a part, as bits: in most tables, and where there are more regions. */
#define BH_PART_BITS 8u
#define BH_PART_BITS_MOST 9u

/* Destinations of a scatter, at most; its blocks have a thread for each. */
#define BH_SCATTER_BITS 9u
#define BH_SCATTER_PARTS (1u << BH_SCATTER_BITS)
#define BH_SCATTER_THREADS BH_SCATTER_PARTS
#define BH_SCATTER_EACH 8u /* rows of a thread */
#define BH_SCATTER_ROWS_BITS 12u
#define BH_SCATTER_ROWS (1u << BH_SCATTER_ROWS_BITS) /* of a block */

/* How many regions two scatters reach. */
#define BH_SCATTER_REGIONS_MOST (BH_SCATTER_PARTS << BH_PART_BITS_MOST)

/* 4-byte words of a row: the key, the value, the element's index. */
#define BH_SCATTER_KEY_WORDS (BH_KEY_BYTES / 4)
#define BH_SCATTER_VALUE_WORDS (BH_VALUE_BYTES / 4)
#define BH_SCATTER_ROW_WORDS (BH_SCATTER_KEY_WORDS + BH_SCATTER_VALUE_WORDS + 1)
#define BH_SCATTER_INDEX (BH_SCATTER_ROW_WORDS - 1) /* the word that has the element's index */

/* Names of this file, in the instance at hand. */
#define BH_SCATTER(name) BH_DESIGN(scatter_##name)

/* Rows in parts: part i begins at row i * room, and has taken[i] of them, or room when that is
 * more. */
typedef struct bh_cuda_parts {
    uint32_t *rows;
    uint32_t *taken;
    uint64_t room;
    uint64_t count;
} bh_cuda_parts;

BH_FN uint32_t bh_scatter_shared(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* Copies words to shared memory, by all `threads` threads of a block; both arrays begin at multiples of 16
 * bytes, and no word behind the last is read. */
BH_FN void bh_scatter_bring_words(uint32_t *shared, const uint32_t *memory, uint32_t words,
                                  uint32_t threads)
{
    const uint32_t last = words / 4 * 4 + threadIdx.x;
    uint32_t i;

    for (i = 4 * threadIdx.x; i + 4 <= words; i += 4 * threads)
        bh_cuda_bring16(bh_scatter_shared(shared + i), (uint64_t)(uintptr_t)(memory + i));
    if (last < words)
        bh_cuda_bring4(bh_scatter_shared(shared + last), (uint64_t)(uintptr_t)(memory + last));
}

/* The outcome that most elements of a slice will have. */
static __host__ __device__ inline uint8_t bh_scatter_presumed(const bh__cuda_job *job,
                                                              uint64_t count)
{
    const uint32_t op = job->slice.op;

    return (uint8_t)(BH_OP_INSERTS(op) && job->room >= count ? BH_INSERTED : BH_OP_PRESENT(op));
}

/* Fills in all outcomes of a slice. */
static inline int bh_scatter_mark(bh__gpu *gpu, const bh__cuda_job *job, uint8_t outcome,
                                  uint64_t count)
{
    return job->slice.outcomes
               ? (int)cudaMemsetAsync(job->slice.outcomes, outcome, count, gpu->stream)
               : 0;
}

/* The list of elements that are not done: for the stage that carries them from their beginning to their end or, where a
 * design has one that claims places (claim.h), for that. */
#ifdef BH_DESIGN_AT_ONCE
#define BH_SCATTER_LIST BH__CUDA_ABSENT
#else
#define BH_SCATTER_LIST BH_CUDA_HOME_FULL
#endif

/* Lists an element that is not done. `room`: whether there is room for its key. */
BH_FN void bh_scatter_list(const bh__cuda_job *job, uint64_t place, uint32_t at, int room)
{
    job->parked[BH_SCATTER_LIST - 1][place] = at | (room ? BH_CUDA_PARKED_ROOM : 0);
    if (job->slice.outcomes)
        job->slice.outcomes[at] = BH_NOT_DONE;
}

/* An entry of a region's `order`: the row's number and, above it, what the design notes of the row: a tag of 3 bits and,
 * when it was not done, a mark. */
#define BH_SCATTER_NUMBER 0xfffu
#define BH_SCATTER_TAG_SHIFT 12
#define BH_SCATTER_MARK 0x8000u

/*
 * Sorts the rows of a region by bucket, by all THREADS threads of a block: the entries of bucket b are then
 * order[start[b]] and those behind it, up to start[b + 1]. `start`, which has BUCKETS + 1 elements, is 0 before;
 * BUCKETS is a multiple of THREADS, ROWS is how many rows there may be. spot_of(i) answers row i's bucket, below
 * 4,096, and above it the tag.
 */
template <uint32_t THREADS, uint32_t BUCKETS, uint32_t ROWS, typename spots>
static __device__ __forceinline__ void bh_scatter_sort(uint32_t *start, uint16_t *order,
                                                       uint32_t rows, spots spot_of)
{
    enum { EACH = (ROWS + THREADS - 1) / THREADS, OF_THREAD = BUCKETS / THREADS };
    typedef cub::BlockScan<uint32_t, THREADS> scan;
    __shared__ typename scan::TempStorage scanning;
    const uint32_t lane = threadIdx.x;
    uint32_t spot[EACH]; /* bucket, tag, and which of the bucket's rows */
    uint32_t counts[OF_THREAD];

#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * THREADS + lane;

        if (i >= rows)
            continue;
        spot[k] = spot_of(i);
        spot[k] |= atomicAdd(&start[spot[k] & BH_SCATTER_NUMBER], 1) << 16;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < OF_THREAD; k++)
        counts[k] = start[lane * OF_THREAD + k];
    scan(scanning).ExclusiveSum(counts, counts);
#pragma unroll
    for (uint32_t k = 0; k < OF_THREAD; k++)
        start[lane * OF_THREAD + k] = counts[k];
    if (lane == 0)
        start[BUCKETS] = rows;
    __syncthreads();
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * THREADS + lane;

        if (i < rows)
            order[start[spot[k] & BH_SCATTER_NUMBER] + (spot[k] >> 16)] =
                (uint16_t)(i | (spot[k] & 7u << BH_SCATTER_TAG_SHIFT));
    }
    __syncthreads();
}

/*
 * On the host: the memory that scatters need, cut from an arena. First the counters, beside whatever
 * counters the design has (bh_scatter_cut_counters), and behind them the rows (bh_scatter_cut_rows): then
 * all that must be zero at first lies together.
 */
typedef struct bh_scatter_plan {
    bh_cuda_parts parts[2]; /* the elements' if there are few regions: one scatter is enough */
    uint32_t part_bits;     /* each part has 2^part_bits regions; 0: there are no parts */
} bh_scatter_plan;

/* How many rows a part or region may get when `mean` are expected. */
static inline double bh_scatter_most(double mean)
{
    return mean + 6 * sqrt(mean) + 16;
}

/* Cuts the counters for `regions` regions, for each of which at most `mean` rows are expected. */
static inline void bh_scatter_cut_counters(bh_scatter_plan *plan, bh__arena *a, uint64_t regions,
                                           double mean)
{
    const uint32_t bits =
        regions > BH_SCATTER_PARTS << BH_PART_BITS ? BH_PART_BITS_MOST : BH_PART_BITS;
    const uint64_t parts = regions > BH_SCATTER_PARTS ? ((regions - 1) >> bits) + 1 : 0;

    plan->part_bits = parts ? bits : 0;
    /* The rows of each begin at 16 bytes. */
    plan->parts[0].count = parts;
    plan->parts[0].room = (uint64_t)bh_scatter_most(mean * (1u << bits)) / 4 * 4;
    plan->parts[1].count = regions;
    plan->parts[1].room = (uint64_t)bh_scatter_most(mean) / 4 * 4;
    plan->parts[0].taken = (uint32_t *)bh__pointer(bh__cut(a, parts, sizeof(uint32_t)));
    plan->parts[1].taken = (uint32_t *)bh__pointer(bh__cut(a, regions, sizeof(uint32_t)));
}

/* Cuts the rows. The memory of parts[0] has room for at least `least` rows: when all rows are in their
 * regions, it is free for the design's own use. */
static inline void bh_scatter_cut_rows(bh_scatter_plan *plan, bh__arena *a, uint64_t least,
                                       uint64_t row_bytes)
{
    const uint64_t rows = plan->parts[0].count * plan->parts[0].room;

    plan->parts[0].rows =
        (uint32_t *)bh__pointer(bh__cut(a, rows > least ? rows : least, row_bytes));
    plan->parts[1].rows =
        (uint32_t *)bh__pointer(bh__cut(a, plan->parts[1].count * plan->parts[1].room, row_bytes));
}

/*
 * Runs a schedule by region: `first` launches what brings the elements to their regions and does most of them, and
 * `second` what follows; both answer an error. The first `counters` bytes of the memory are 0 before. Answers as
 * bh__cuda_module's slice(): a negative error when the first has run and the second was refused. Outcomes never say more
 * than was done: presumed ones are taken back.
 */
template <typename first_phase, typename second_phase>
static int bh_scatter_perform(bh__gpu *gpu, const bh__cuda_job *job, void *memory,
                              uint64_t counters, uint64_t count, first_phase first,
                              second_phase second)
{
    int error = (int)cudaMemsetAsync(memory, 0, counters, gpu->stream), unmarked;

    if (error)
        return error;
    error = bh_scatter_mark(gpu, job, bh_scatter_presumed(job, count), count);
    if (!error)
        error = first();
    if (!error) {
        error = -second();
        if (!error)
            return 0;
    }
    unmarked = bh_scatter_mark(gpu, job, BH_NOT_DONE, count);
    return unmarked && error > 0 ? -error : error;
}

/* A slice for a schedule by region, or BH_GPU_DECLINED: plan(memory, &plan) says whether it is one and, in plan.bytes,
 * what memory it needs; fits() whether the GPU can run it; perform(plan, memory) runs it. */
template <typename plan_type, typename planner, typename condition, typename performer>
static int bh_scatter_run(bh__gpu *gpu, planner plan, condition fits, performer perform)
{
    plan_type p;
    void *memory = nullptr;
    int error;

    if (!plan(nullptr, &p))
        return BH_GPU_DECLINED;
    if (!fits() ||
        cudaMallocFromPoolAsync(&memory, p.bytes, gpu->pool[BH_MEMORY_CALL], gpu->stream)) {
        (void)cudaGetLastError();
        return BH_GPU_DECLINED;
    }
    (void)plan(memory, &p);
    error = perform(&p, memory);
    (void)cudaFreeAsync(memory, gpu->stream);
    return error;
}

/* As many blocks as run at a time, which each take region after region. */
template <typename kernel>
static unsigned bh_scatter_blocks(const bh__gpu *gpu, kernel *of, uint32_t threads, size_t bytes)
{
    int each = 0;

    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, of, (int)threads, bytes);
    return gpu->processors * (unsigned)(each > 0 ? each : 1);
}

#endif

#include "cuda/device/slice.h"

typedef struct BH_SCATTER(row) {
    uint32_t word[BH_SCATTER_ROW_WORDS];
} BH_SCATTER(row);

BH_FN BH_KEY BH_SCATTER(key)(const BH_SCATTER(row) *row)
{
    return BH_SCATTER_KEY_WORDS == 1
               ? row->word[0]
               : (BH_KEY)((uint64_t)row->word[BH_SCATTER_KEY_WORDS - 1] << 32 | row->word[0]);
}

BH_FN BH_VALUE BH_SCATTER(value)(const BH_SCATTER(row) *row)
{
    if (BH_SCATTER_VALUE_WORDS == 0)
        return 0;
    return BH_SCATTER_VALUE_WORDS == 1
               ? row->word[BH_SCATTER_KEY_WORDS]
               : (BH_VALUE)((uint64_t)row->word[BH_SCATTER_INDEX - 1] << 32 |
                            row->word[BH_SCATTER_KEY_WORDS]);
}

/* The row of an element of the slice. */
BH_FN BH_SCATTER(row) BH_SCATTER(row_of)(const bh__slice *slice, uint32_t at)
{
    const uint64_t key = ((const BH_KEY *)slice->keys)[at];
    const uint64_t value = bh_value_at(slice->values, BH_VALUE_BYTES, at);
    BH_SCATTER(row) row;

    row.word[BH_SCATTER_INDEX] = at;
    row.word[0] = (uint32_t)key;
    if (BH_SCATTER_KEY_WORDS == 2)
        row.word[BH_SCATTER_KEY_WORDS - 1] = (uint32_t)(key >> 32);
    if (BH_SCATTER_VALUE_WORDS >= 1)
        row.word[BH_SCATTER_KEY_WORDS] = (uint32_t)value;
    if (BH_SCATTER_VALUE_WORDS == 2)
        row.word[BH_SCATTER_INDEX - 1] = (uint32_t)(value >> 32);
    return row;
}

/* What a block of a scatter has in shared memory. */
typedef struct BH_SCATTER(tile) {
    BH_SCATTER(row) row[BH_SCATTER_ROWS];
    uint32_t order[BH_SCATTER_ROWS]; /* part by part: the row's number, and above it the part's */
    uint32_t counts[BH_SCATTER_PARTS];
    uint32_t starts[BH_SCATTER_PARTS]; /* in `order` */
    uint32_t places[BH_SCATTER_PARTS]; /* where the part's first row goes, minus its start */
} BH_SCATTER(tile);

/* Brings the rows of a block: elements of the slice, or rows of a part of `from`. Answers how many. */
BH_FN uint32_t BH_SCATTER(bring)(BH_SCATTER(tile) *t, const bh__cuda_job *job,
                                 const bh__slice *slice, const bh_cuda_parts *from)
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
            t->row[i] = BH_SCATTER(row_of)(slice, (uint32_t)first + i);
    } else {
        bh_scatter_bring_words(
            t->row->word, from->rows + (blockIdx.y * from->room + first) * BH_SCATTER_ROW_WORDS,
            count * BH_SCATTER_ROW_WORDS, BH_SCATTER_THREADS);
        bh_cuda_wait_brought();
    }
    return count;
}

/*
 * Brings rows to parts: from the slice's elements to the part of their region, which has 2^bits regions, or from each part to
 * its regions; blockIdx.y is the number of the part that they come from.
 */
__global__ void __launch_bounds__(BH_SCATTER_THREADS, 3)
    BH_SCATTER(kernel)(const __grid_constant__ bh__cuda_job job,
                       const __grid_constant__ BH_DESIGN_REGIONS regions, bh_cuda_parts from,
                       bh_cuda_parts to, uint32_t bits)
{
    typedef cub::BlockScan<uint32_t, BH_SCATTER_THREADS> scan;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ typename scan::TempStorage scanning;
    BH_SCATTER(tile) *const t = (BH_SCATTER(tile) *)(void *)memory;
    const bh__slice slice = BH_DESIGN(cuda_slice)(&job);
    const BH_DESIGN_GEOMETRY *geometry = (const BH_DESIGN_GEOMETRY *)slice.geometry;
    const uint64_t first_part = from.rows ? (uint64_t)blockIdx.y << bits : 0;
    const uint32_t lane = threadIdx.x, count = BH_SCATTER(bring)(t, &job, &slice, &from);
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
        spot[k] = BH_OF_DESIGN(spot_of)(geometry, &regions, BH_SCATTER(key)(&t->row[i])).region;
        spot[k] = from.rows ? spot[k] & ((1u << bits) - 1) : spot[k] >> bits;
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
        const BH_SCATTER(row) *row = &t->row[t->order[i] % BH_SCATTER_ROWS];
        const uint32_t place = t->places[part] + i;

        if (place < to.room)
            ((BH_SCATTER(row) *)to.rows)[(first_part + part) * to.room + place] = *row;
        else
            bh_scatter_list(&job, bh_cuda_take(&job.done->parked_count[BH_SCATTER_LIST - 1], 1),
                            row->word[BH_SCATTER_INDEX],
                            bh_cuda_has_room(&job, BH_OP_INSERTS(slice.op)));
    }
}

/* Whether blocks may have so much shared memory: more than a kernel has by default. */
static int BH_SCATTER(fits)(void)
{
    return !cudaFuncSetAttribute(BH_SCATTER(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(BH_SCATTER(tile)));
}

/* Brings all elements to their regions, which are in plan->parts[1] then. The plan's counters must be 0. */
static int BH_SCATTER(all)(bh__gpu *gpu, const bh__cuda_job *job, const BH_DESIGN_REGIONS *regions,
                           const bh_scatter_plan *plan, uint64_t count)
{
    const bh_cuda_parts elements = {nullptr, nullptr, 0, 0}, *parts = &plan->parts[0];
    const uint64_t tiles[2] = {(count + BH_SCATTER_ROWS - 1) / BH_SCATTER_ROWS,
                               (parts->room + BH_SCATTER_ROWS - 1) / BH_SCATTER_ROWS};
    const uint32_t bytes = sizeof(BH_SCATTER(tile));

    BH_SCATTER(kernel)<<<(unsigned)tiles[0], BH_SCATTER_THREADS, bytes, gpu->stream>>>(
        *job, *regions, elements, parts[parts->count == 0], plan->part_bits);
    if (parts->count)
        BH_SCATTER(kernel)<<<dim3((unsigned)tiles[1], (unsigned)parts->count), BH_SCATTER_THREADS,
                             bytes, gpu->stream>>>(*job, *regions, *parts, plan->parts[1],
                                                   plan->part_bits);
    return (int)cudaGetLastError();
}
