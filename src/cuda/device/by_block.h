/*
 * Passes that go by blocks of threads: each thread looks at one item or a few, and writes what is to be done into a list of
 * its block; then the threads of the block do what is listed, side by side. So threads of a warp are never idle because
 * others have more to do.
 *
 * SPARSE: the list has the parts of items in which there is anything to do. (Half of what it cost a DyCuckoo table
 * to grow was threads that waited for the few whose buckets had keys to bring home.)
 *
 * PARTS: pairs are copied out of an array of buckets (tables/copy_out.h). The list has the slots that are in use:
 *
 *     buckets   [a . b] [. c d] [e . .] [. . f]     a thread each
 *     list       a b c d e f                        which bucket, which slot
 *     output     a b c d e f                        a thread each: neighbours write neighbours
 *
 * A thread that copied all of its bucket would write to every seventh place or so, and each store of a warp would go to
 * as many lines as it has threads.
 */
#ifndef BH_CUDA_DEVICE_BY_BLOCK_H
#define BH_CUDA_DEVICE_BY_BLOCK_H

#include <cub/block/block_scan.cuh>

#include "cuda/device/gpu.h"
#include "tables/copy_out.h"

/* Items that each thread looks at, in SPARSE. So a list has about one part for each thread where one item in four has one to be
 * done. A part's number has four bits in the list, which has room for four parts of each item. */
#define BH_SPARSE_EACH 4u
#define BH_SPARSE_ITEMS (BH_SPARSE_EACH * BH_CUDA_BLOCK)
#define BH_SPARSE_PARTS 16u
#define BH_SPARSE_MOST (4 * BH_SPARSE_ITEMS)

/* Does those parts of the block's items that want it: `wants` tells of an item which, `work` does one, and `sum` gets what was
 * answered. Parts that the list has no room for are done by the thread that looks at the item. */
template <typename wanting, typename works, typename sums>
static __device__ __forceinline__ void bh_cuda_sparse(uint64_t items, wanting wants, works work,
                                                      sums sum)
{
    static_assert(BH_SPARSE_ITEMS * BH_SPARSE_PARTS <= 1 << 16, "a part is a number of 16 bits");
    __shared__ uint16_t list[BH_SPARSE_MOST];
    __shared__ uint32_t listed;
    const uint64_t first = blockIdx.x * (uint64_t)BH_SPARSE_ITEMS;
    uint32_t i, wanted, place, answered = 0;

    if (threadIdx.x == 0)
        listed = 0;
    __syncthreads();
    for (i = threadIdx.x; i < BH_SPARSE_ITEMS; i += BH_CUDA_BLOCK) {
        wanted = first + i < items ? wants(first + i) : 0;
        place = wanted ? atomicAdd(&listed, __popc(wanted)) : 0;
        for (; wanted; wanted &= wanted - 1, place++) {
            const uint32_t part = (uint32_t)__ffs((int)wanted) - 1;

            if (place < BH_SPARSE_MOST)
                list[place] = (uint16_t)(i * BH_SPARSE_PARTS + part);
            else
                answered += work(first + i, part);
        }
    }
    __syncthreads();
    for (i = threadIdx.x; i < min(listed, BH_SPARSE_MOST); i += BH_CUDA_BLOCK)
        answered += work(first + list[i] / BH_SPARSE_PARTS, list[i] % BH_SPARSE_PARTS);
    __syncwarp();
    sum(answered);
}

/* A slot's index has five bits in the list. */
#define BH_COPY_SLOTS_MOST 32u

/* Pairs that each thread reads before it writes them. */
#define BH_COPY_EACH 4u

/* Copies the part of the block's number: `exported` tells the slots of a bucket that are to be exported, `read` reads the
 * pair of a slot, and `write` writes it to a place of the output. */
template <typename pair, typename exporting, typename reads, typename writes>
static __device__ __forceinline__ void bh_cuda_copy_part(bh__export *job, exporting exported,
                                                         reads read, writes write)
{
    typedef cub::BlockScan<uint32_t, BH_EXPORT_PART_FAR> scan;
    __shared__ typename scan::TempStorage scanning;
    __shared__ uint16_t list[BH_EXPORT_PART_FAR * BH_COPY_SLOTS_MOST];
    __shared__ uint64_t places;
    const bh_export_part part = bh_export_part_of(job, blockIdx.x);
    const uint64_t bucket = part.begin + threadIdx.x;
    uint32_t used = bucket < part.end ? exported(&part, bucket) : 0;
    uint32_t at, all, most, i, k;

    scan(scanning).ExclusiveSum(bh_count(used), at, all);
    for (; used; used &= used - 1)
        list[at++] = (uint16_t)(threadIdx.x * BH_COPY_SLOTS_MOST + bh_first(used));
    if (threadIdx.x == 0)
        places = bh_take64(&job->taken, all);
    __syncthreads();
    most = places >= job->room        ? 0
           : job->room - places < all ? (uint32_t)(job->room - places)
                                      : all;
    for (i = threadIdx.x; i < most; i += BH_COPY_EACH * BH_EXPORT_PART_FAR) {
        pair pairs[BH_COPY_EACH];

#pragma unroll
        for (k = 0; k < BH_COPY_EACH; k++) {
            const uint32_t own = i + k * BH_EXPORT_PART_FAR, entry = own < most ? list[own] : 0;

            if (own < most)
                pairs[k] = read(&part, part.begin + entry / BH_COPY_SLOTS_MOST,
                                entry % BH_COPY_SLOTS_MOST);
        }
#pragma unroll
        for (k = 0; k < BH_COPY_EACH; k++)
            if (i + k * BH_EXPORT_PART_FAR < most)
                write(places + i + k * BH_EXPORT_PART_FAR, pairs[k]);
    }
    if (threadIdx.x == 0 && most < all)
        bh_export_stop(job, &part, part.begin + list[most] / BH_COPY_SLOTS_MOST,
                       list[most] % BH_COPY_SLOTS_MOST);
}

#endif
