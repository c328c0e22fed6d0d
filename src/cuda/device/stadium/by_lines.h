/*
 * The schedule `regions` of Stadium hashing: inserting many keys region by region of the board, for one pair of widths. An
 * include-template: see instance.h. scatter.h brings the keys to their regions, and says why that is cheaper;
 * tables/stadium/settle.h says what is done to them there; this file brings a region's lines and keys together:
 *
 *     regions      [. .][. .][. .] ...             of 32 lines of the board, some 1,600 rows each
 *        |  settle       a block of threads for each region: its lines are copied to shared memory. Each
 *        |               thread takes all keys of a word, and then some threads all that is left of a line.
 *        |               Slots are written where they are: those of a region lie together, so they are in the
 *        |               second-level cache until all of them are
 *
 * A region has more lines when few keys go to each. Elements that leave their line are listed for the stages that carry
 * elements from their beginning (claim.h, kernels.h).
 */
#if BH_APART < BH_DESIGN_INSTANCES
#include "tables/stadium/ops.h"
#include "tables/stadium/settle.h"

#include "cuda/device/scatter.h"

#ifndef BH_CUDA_DEVICE_STADIUM_BY_LINES_H
#define BH_CUDA_DEVICE_STADIUM_BY_LINES_H

/* Threads of a block; a region has 2^bits lines, which are whole words of bounds; bytes of its rows that a block has
 * shared memory for. */
#define BH_ST_REGION_THREADS 256u
#define BH_ST_REGION_BITS_LEAST 3u
#define BH_ST_REGION_BITS_MOST 7u
#define BH_ST_REGION_BYTES 23232u
#define BH_ST_REGION_LINES (1u << BH_ST_REGION_BITS_MOST)
#define BH_ST_REGION_WORDS (BH_ST_REGION_LINES * BH_ST_WORDS)

/* How an insertion by region goes. */
typedef struct bh_st_region_plan {
    bh_st_regions regions;
    bh_scatter_plan scatter;
    uint64_t counters; /* the bytes to be zero at first: first of the memory */
    uint64_t bytes;
} bh_st_region_plan;

/* Measured: calls of fewer elements, or with fewer for so many slots of the table, are as fast one by one. */
#define BH_ST_REGIONS_FROM (UINT64_C(1) << 22)
#define BH_ST_REGIONS_OF 16

/* Whether the schedule is wanted, or pays. */
static inline int bh_st_region_pays(const bh__cuda_job *job, uint64_t count, uint64_t slots)
{
    switch (job->wanted) {
    case BH_SCHEDULE_WINDOW: return 0;
    case BH_SCHEDULE_REGIONS: return 1;
    default:
        return !job->few_new && count >= BH_ST_REGIONS_FROM && count >= slots / BH_ST_REGIONS_OF;
    }
}

/* The most keys that a line is to expect of `count`; *lines becomes how many lines there are. A part that has been split
 * gets half as many keys as one that has not. */
static inline double bh_st_region_mean(const bh_st_geometry *g, uint64_t count, uint64_t *lines)
{
    double most = 0;
    uint32_t i;

    *lines = 0;
    for (i = 0; i < g->parts; i++) {
        const int split = i >= g->whole || i + g->whole < g->parts;
        const double keys = (double)count / (split ? 2 * g->whole : g->whole);
        const double mean = keys / (double)g->part[i].units;

        *lines += g->part[i].units;
        most = mean > most ? mean : most;
    }
    return most;
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_AT(name) BH_NAME(bh_cuda_st_region_##name)
/* A multiple of 4, so that each region's rows begin at 16 bytes. */
#define BH_ST_REGION_ROWS (BH_ST_REGION_BYTES / (4 * BH_SCATTER_ROW_WORDS) / 4 * 4)
#define BH_ST_SLOTS_OF_WORD (8u << BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)) /* bytes */

/* What a block has of a region in shared memory. */
typedef struct BH_ST_AT(desk) {
    BH_SCATTER(row) row[BH_ST_REGION_ROWS];
    __align__(16) uint64_t board[BH_ST_REGION_WORDS];
    uint32_t start[BH_ST_REGION_WORDS + 1]; /* of each word's rows in `order` */
    uint16_t order[BH_ST_REGION_ROWS];      /* rows, word by word */
    uint16_t left
        [BH_ST_REGION_WORDS]; /* how many rows of a word are left: first in its part of `order` */
} BH_ST_AT(desk);

/* Brings a region's rows and its lines, and sorts the rows by word. */
BH_FN void BH_ST_AT(bring)(BH_ST_AT(desk) * d, const bh_st_geometry *g,
                           const bh_st_regions *regions, const bh_st_place *place,
                           const uint32_t *rows, uint32_t count)
{
    uint32_t i;

    bh_scatter_bring_words(d->row->word, rows, count * BH_SCATTER_ROW_WORDS, BH_ST_REGION_THREADS);
    for (i = threadIdx.x; i < place->lines * BH_ST_WORDS / 2; i += BH_ST_REGION_THREADS)
        bh_cuda_bring16(bh_scatter_shared(&d->board[2 * i]),
                        place->part->board + (place->line * BH_ST_WORDS + 2 * i) * 8);
    for (i = threadIdx.x; i <= BH_ST_REGION_WORDS; i += BH_ST_REGION_THREADS)
        d->start[i] = 0;
    bh_cuda_wait_brought();
    __syncthreads();
    bh_scatter_sort<BH_ST_REGION_THREADS, BH_ST_REGION_WORDS, BH_ST_REGION_ROWS>(
        d->start, d->order, count,
        [=](uint32_t i) { return bh_st_spot_of(g, regions, BH_SCATTER(key)(&d->row[i])).bucket; });
}

/* The operation of a row, whose value *value becomes. */
BH_FN BH_ST(op) BH_ST_AT(begin)(bh__slice *slice, const BH_SCATTER(row) *row, BH_VALUE *value)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    BH_ST(op) op = {};

    *value = BH_SCATTER(value)(row);
    slice->values = value;
    op.key = BH_SCATTER(key)(row);
    op.hash = bh_hash_key(op.key, &g->seed);
    op.ready = (uint8_t)bh_st_ready(g, &op.hash);
    return op;
}

BH_FN void BH_ST_AT(answer)(const bh__slice *slice, const BH_SCATTER(row) *row, uint8_t outcome,
                            uint8_t presumed)
{
    if (slice->outcomes && outcome != presumed)
        slice->outcomes[row->word[BH_SCATTER_INDEX]] = outcome;
}

/* The first phase, of a word. */
BH_FN void BH_ST_AT(settle_word)(BH_ST_AT(desk) * d, bh__slice *slice, const bh_st_place *place,
                                 uint32_t word, uint8_t presumed)
{
    const uint64_t slots =
        place->part->slots + (place->line * BH_ST_WORDS + word) * BH_ST_SLOTS_OF_WORD;
    const uint32_t first = d->start[word], end = d->start[word + 1];
    uint32_t left = 0, i;

    for (i = first; i < end; i++) {
        const BH_SCATTER(row) *row = &d->row[d->order[i]];
        BH_VALUE value;
        BH_ST(op) op = BH_ST_AT(begin)(slice, row, &value);

        if (BH_ST(settle)(slice, &op, slice->op, (uint64_t)(uintptr_t)&d->board[word], slots))
            BH_ST_AT(answer)(slice, row, op.outcome, presumed);
        else
            d->order[first + left++] = d->order[i];
    }
    d->left[word] = (uint16_t)left;
}

/* The second phase, of a line. Answers how far the keys that it has placed are on their paths, at most. */
BH_FN uint32_t BH_ST_AT(settle_line)(BH_ST_AT(desk) * d, const bh__cuda_job *job, bh__slice *slice,
                                     const bh_st_place *place, uint32_t line, uint8_t presumed)
{
    const uint64_t copy = (uint64_t)(uintptr_t)&d->board[line * BH_ST_WORDS];
    const uint64_t slots =
        place->part->slots + (place->line + line) * BH_ST_WORDS * BH_ST_SLOTS_OF_WORD;
    uint32_t most = 0, word, i;

    for (word = line * BH_ST_WORDS; word < (line + 1) * BH_ST_WORDS; word++)
        for (i = d->start[word]; i < d->start[word] + d->left[word]; i++) {
            const BH_SCATTER(row) *row = &d->row[d->order[i]];
            BH_VALUE value;
            BH_ST(op) op = BH_ST_AT(begin)(slice, row, &value);
            const uint32_t steps = BH_ST(settle_on)(slice, &op, slice->op, copy, slots);

            if (steps == BH_ST_AWAY) {
                bh_scatter_list(job, bh_cuda_take(&job->done->parked_count[BH_SCATTER_LIST - 1], 1),
                                row->word[BH_SCATTER_INDEX], 1);
                continue;
            }
            BH_ST_AT(answer)(slice, row, op.outcome, presumed);
            most = steps > most ? steps : most;
        }
    return most;
}

/* Raises the bounds of a region's lines, of which each thread has one and knows the least bound that it may have. */
BH_FN void BH_ST_AT(raise)(const bh_st_place *place, uint32_t least)
{
    const uint32_t line = threadIdx.x;
    const uint64_t at = place->part->bounds + place->line + line;
    uint64_t all = (uint64_t)least << line % 8 * 8;

    all |= __shfl_xor_sync(0xffffffffu, all, 1);
    all |= __shfl_xor_sync(0xffffffffu, all, 2);
    all |= __shfl_xor_sync(0xffffffffu, all, 4);
    if (line % 8 == 0 && line < place->lines && all)
        bh_write64(bh_st_at(at), bh_st_raised(bh_read64(bh_st_at(at)), all));
}

/* A block for each region, one after the other. */
__global__ void __launch_bounds__(BH_ST_REGION_THREADS, 4)
    BH_ST_AT(settle)(const __grid_constant__ bh__cuda_job job,
                     const __grid_constant__ bh_st_regions regions, bh_cuda_parts rows)
{
    extern __shared__ __align__(16) unsigned char memory[];
    BH_ST_AT(desk) *const d = (BH_ST_AT(desk) *)(void *)memory;
    bh__slice slice = BH_DESIGN(cuda_slice)(&job);
    const bh_st_geometry *g = (const bh_st_geometry *)slice.geometry;
    const uint8_t presumed = bh_scatter_presumed(&job, job.count);
    bh_cuda_counts counts = {0, 0, 0};
    uint64_t region;

    for (region = blockIdx.x; region < rows.count; region += gridDim.x) {
        const uint32_t taken = rows.taken[region];
        const uint32_t count = taken < rows.room ? taken : (uint32_t)rows.room;
        const bh_st_place place = bh_st_place_of(g, &regions, region);
        uint32_t least = 0, i;

        if (!count)
            continue;
        BH_ST_AT(bring)
        (d, g, &regions, &place, rows.rows + region * rows.room * BH_SCATTER_ROW_WORDS, count);
        for (i = threadIdx.x; i < place.lines * BH_ST_WORDS; i += BH_ST_REGION_THREADS)
            BH_ST_AT(settle_word)(d, &slice, &place, i, presumed);
        __syncthreads();
        if (threadIdx.x < place.lines)
            least = BH_ST_AT(settle_line)(d, &job, &slice, &place, threadIdx.x, presumed);
        __syncthreads();
        if (threadIdx.x < BH_ST_REGION_LINES)
            BH_ST_AT(raise)(&place, least);
        for (i = threadIdx.x; i < place.lines * BH_ST_WORDS / 2; i += BH_ST_REGION_THREADS)
            ((uint4 *)(uintptr_t)(place.part->board + place.line * BH_ST_WORDS * 8))[i] =
                ((const uint4 *)d->board)[i];
        __syncthreads(); /* the next region's lines come to the same place */
    }
    counts.inserted = (uint32_t)slice.inserted;
    counts.assigned = (uint32_t)slice.assigned;
    bh_cuda_enter(&job, BH__CUDA_REGIONS, &counts);
}

/* Whether the slice is one for this schedule; if so, *plan says where everything goes in a memory that begins
 * at `memory`. (The schedule does not take mixed slices, nor operations that answer with values, nor slices for all of whose
 * new keys there may not be room, nor tables in which keys have been erased or with slots in another memory.) */
static int BH_ST_AT(plan)(const bh__cuda_job *job, uint64_t count, void *memory,
                          bh_st_region_plan *plan)
{
    const bh_st_geometry *g = (const bh_st_geometry *)job->descriptor;
    const uint64_t from = (uint64_t)(uintptr_t)memory;
    bh__arena a = {from, 0};
    uint32_t bits = BH_ST_REGION_BITS_MOST;
    uint64_t lines, regions;
    double mean;

    if (job->names || job->slice.ops || BH_OP_WRITES(job->slice.op) ||
        !BH_OP_INSERTS(job->slice.op) || job->room < count || g->turnover || g->far || g->by_slot ||
        g->width != 8)
        return 0;
    mean = bh_st_region_mean(g, count, &lines);
    if (!bh_st_region_pays(job, count, lines * 8 * BH_ST_WORDS))
        return 0;
    while (bits > BH_ST_REGION_BITS_LEAST &&
           bh_scatter_most(mean * (1u << bits)) > BH_ST_REGION_ROWS)
        bits--;
    plan->regions = bh_st_regions_of(g, bits);
    regions = plan->regions.first[BH_ST_PARTS_MOST];
    if (bh_scatter_most(mean * (1u << bits)) > BH_ST_REGION_ROWS ||
        regions > BH_SCATTER_REGIONS_MOST)
        return 0;
    bh_scatter_cut_counters(&plan->scatter, &a, regions, mean * (1u << bits));
    plan->counters = a.at - from;
    bh_scatter_cut_rows(&plan->scatter, &a, 0, sizeof(BH_SCATTER(row)));
    plan->bytes = a.at - from;
    return !a.overflowed;
}

static int BH_ST_AT(launch)(bh__gpu *gpu, const bh__cuda_job *job, const bh_st_region_plan *plan,
                            uint64_t count)
{
    const uint32_t bytes = sizeof(BH_ST_AT(desk));
    const int error = BH_SCATTER(all)(gpu, job, &plan->regions, &plan->scatter, count);

    if (error)
        return error;
    BH_ST_AT(settle)<<<bh_scatter_blocks(gpu, BH_ST_AT(settle), BH_ST_REGION_THREADS, bytes),
                       BH_ST_REGION_THREADS, bytes, gpu->stream>>>(*job, plan->regions,
                                                                   plan->scatter.parts[1]);
    return (int)cudaGetLastError();
}

/* Whether blocks may have so much shared memory: more than a kernel has by default. */
static int BH_ST_AT(fits)(void)
{
    return BH_SCATTER(fits)() &&
           !cudaFuncSetAttribute(BH_ST_AT(settle), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(BH_ST_AT(desk)));
}

int BH_DESIGN(gpu_by_region)(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)
{
    return bh_scatter_run<bh_st_region_plan>(
        gpu,
        [=](void *memory, bh_st_region_plan *plan) {
            return BH_ST_AT(plan)(job, count, memory, plan);
        },
        BH_ST_AT(fits),
        [=](const bh_st_region_plan *plan, void *memory) {
            return bh_scatter_perform(
                gpu, job, memory, plan->counters, count,
                [=] { return BH_ST_AT(launch)(gpu, job, plan, count); }, [] { return 0; });
        });
}

#undef BH_ST
#undef BH_ST_AT
#undef BH_ST_REGION_ROWS
#undef BH_ST_SLOTS_OF_WORD
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
