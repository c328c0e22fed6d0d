/*
 * What the kernels of slices share, whatever their schedule: counting what has happened,
 * room for new keys, lists of elements, the table's descriptor in shared memory.
 */
#ifndef BH_CUDA_DEVICE_JOB_H
#define BH_CUDA_DEVICE_JOB_H

#include "cuda/device/gpu.h"

/* The group's number in its launch. */
BH_FN uint64_t bh_cuda_group(void)
{
    return (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / BH_CUDA_TILE;
}

/* What has happened to elements, counted. */
typedef struct bh_cuda_counts {
    uint32_t inserted;
    uint32_t erased;
    uint32_t assigned;
} bh_cuda_counts;

/* The same of one element, as bits of an answer. */
#define BH_CUDA_INSERTED 1u
#define BH_CUDA_ERASED 2u
#define BH_CUDA_ASSIGNED 4u

BH_FN void bh_cuda_count(bh_cuda_counts *counts, uint32_t happened)
{
    counts->inserted += happened & BH_CUDA_INSERTED ? 1 : 0;
    counts->erased += happened & BH_CUDA_ERASED ? 1 : 0;
    counts->assigned += happened & BH_CUDA_ASSIGNED ? 1 : 0;
}

/* Adds to a counter of all threads what the groups of this warp have counted, by one addition: with
 * one for each group an H200 inserted 1.1 G keys/s and not 3.3. */
BH_FN void bh_cuda_add(uint64_t *counter, uint32_t counted)
{
    const uint32_t here = __activemask();
    const uint32_t sum = __reduce_add_sync(here, bh_cuda_lane() == 0 ? counted : 0);

    if (sum && threadIdx.x % 32 == bh_first(here))
        atomicAdd((unsigned long long *)counter, (unsigned long long)sum);
}

/* To be called by all threads of a kernel when they have done what they do. `schedule` is a word of
 * module.h; where a slice is several kernels the first one's stays. */
BH_FN void bh_cuda_enter(bh__cuda_job *job, uint32_t schedule, const bh_cuda_counts *counts)
{
    if (blockIdx.x == 0 && threadIdx.x == 0 && !job->schedule)
        job->schedule = schedule;
    bh_cuda_add(&job->slice.inserted, counts->inserted);
    bh_cuda_add(&job->slice.erased, counts->erased);
    bh_cuda_add(&job->slice.assigned, counts->assigned);
}

/* Takes places for those groups of this warp that want one, by one addition; answers the
 * group's own. To be called by all lanes of a group. */
BH_FN uint64_t bh_cuda_take(uint64_t *counter, int wants)
{
    const uint32_t here = __activemask(), lane = threadIdx.x % 32;
    const uint32_t takers = __ballot_sync(here, wants && bh_cuda_lane() == 0);
    uint64_t first = 0;

    if (lane == bh_first(here) && takers)
        first = atomicAdd((unsigned long long *)counter, (unsigned long long)bh_count(takers));
    first = __shfl_sync(here, first, (int)bh_first(here));
    return first + bh_count(takers & ((1u << lane / BH_CUDA_TILE * BH_CUDA_TILE) - 1));
}

/* Whether there is room for a new key of this group: for all, or as many as take some of it. */
BH_FN int bh_cuda_has_room(bh__cuda_job *job, int wants)
{
    if (job->room >= job->count || !job->room)
        return job->room != 0;
    /* What was taken long ago need not be asked for one by one. */
    if (*(volatile const uint64_t *)&job->room_taken >= job->room)
        return 0;
    return bh_cuda_take(&job->room_taken, wants) < job->room;
}

/* Lists an element as stalled, for the host to see to. */
BH_FN void bh_cuda_stall(bh__cuda_job *job, uint32_t at, int stalls)
{
    const uint64_t place = bh_cuda_take(&job->stalled_count, stalls);

    if (stalls && bh_cuda_lane() == 0)
        job->stalled[place] = at;
}

/* Why elements stalled: few write that there is a reason which is not known yet. */
BH_FN void bh_cuda_reason(bh__cuda_job *job, int stalls, uint32_t reasons)
{
    if (stalls && (reasons & ~*(volatile const uint32_t *)&job->slice.reasons))
        atomicOr(&job->slice.reasons, reasons);
}

/* What an element does in a kernel of this kind. */
BH_FN uint32_t bh_cuda_kind(const bh__slice *slice, uint32_t kind, uint32_t at)
{
    return kind != BH_KIND_MIXED ? kind : slice->ops ? slice->ops[at] : slice->op;
}

/* What is known of an element when a kernel takes it up: nothing; that one step was not enough, in
 * most cases because home is full; that both buckets were full. The later ones come from lists. */
#define BH_CUDA_FRESH 0
#define BH_CUDA_HOME_FULL 1
#define BH_CUDA_BOTH_FULL 2

/* A name in the parking place: the element, and whether there is room for it. */
#define BH_CUDA_PARKED_ROOM (1u << 31)
/* Whether there is has not been asked. */
#define BH_CUDA_ROOM_UNKNOWN 2

/*
 * A build for tests (tests/histories/gpu.c) writes down when each element was first taken up and
 * when it was done, by the timer that all processors of the GPU share: behind a fence, so that by
 * then all see what it did.
 */
#ifdef BH_CUDA_STAMPS
static __device__ unsigned long long
    *bh_cuda_stamps; /* two for each element, 0 at first; or NULL */

BH_FN unsigned long long bh_cuda_now(void)
{
    unsigned long long now;

    __threadfence();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
    return now;
}

BH_FN void bh_cuda_stamp_begin(uint32_t at)
{
    if (bh_cuda_stamps && !bh_cuda_stamps[2 * (uint64_t)at])
        bh_cuda_stamps[2 * (uint64_t)at] = bh_cuda_now();
}

BH_FN void bh_cuda_stamp_end(uint32_t at)
{
    if (bh_cuda_stamps)
        bh_cuda_stamps[2 * (uint64_t)at + 1] = bh_cuda_now();
}
#else
BH_FN void bh_cuda_stamp_begin(uint32_t at)
{
    (void)at;
}

BH_FN void bh_cuda_stamp_end(uint32_t at)
{
    (void)at;
}
#endif

/* Those of this warp that want to are added to a list, with what is known of the room for them. */
BH_FN void bh_cuda_park(bh__cuda_job *job, int stage, uint32_t at, int room, int parks)
{
    const uint64_t place = bh_cuda_take(&job->parked_count[stage - 1], parks);

    if (parks && bh_cuda_lane() == 0)
        job->parked[stage - 1][place] = at | (room ? BH_CUDA_PARKED_ROOM : 0);
}

#endif
