/*
 * What the kernels of slices share, whatever their schedule: counts of what elements have done,
 * room for new keys, lists of elements.
 */
#ifndef BH_CUDA_DEVICE_JOB_H
#define BH_CUDA_DEVICE_JOB_H

#include "cuda/device/gpu.h"

/* The group's number in its launch. */
BH_FN uint64_t bh_cuda_group(void)
{
    return (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / BH_CUDA_TILE;
}

/* How many elements have inserted, erased or assigned. */
typedef struct bh_cuda_counts {
    uint32_t inserted;
    uint32_t erased;
    uint32_t assigned;
} bh_cuda_counts;

/* What one element has done, as bits of an answer. */
#define BH_CUDA_INSERTED 1u
#define BH_CUDA_ERASED 2u
#define BH_CUDA_ASSIGNED 4u

BH_FN void bh_cuda_count(bh_cuda_counts *counts, uint32_t happened)
{
    counts->inserted += happened & BH_CUDA_INSERTED ? 1 : 0;
    counts->erased += happened & BH_CUDA_ERASED ? 1 : 0;
    counts->assigned += happened & BH_CUDA_ASSIGNED ? 1 : 0;
}

/* Adds what the groups of this warp have counted to a counter of all threads, by one atomic addition: with
 * one for each group an H200 inserted 1.1 G keys/s and not 3.3. */
BH_FN void bh_cuda_add(uint64_t *counter, uint32_t counted)
{
    const uint32_t here = __activemask();
    const uint32_t sum = __reduce_add_sync(here, bh_cuda_lane() == 0 ? counted : 0);

    if (sum && threadIdx.x % 32 == bh_first(here))
        atomicAdd((unsigned long long *)counter, (unsigned long long)sum);
}

/* A word that other blocks change, as the first thread of a block sees it: so that all of its threads do the same. To be
 * called by all of them, once. */
BH_FN uint64_t bh_cuda_block_sees(const uint64_t *word)
{
    __shared__ uint64_t seen;

    if (threadIdx.x == 0)
        seen = *(volatile const uint64_t *)word;
    __syncthreads();
    return seen;
}

/* Adds up what the threads of a block have done, by one atomic operation. */
BH_FN void bh_cuda_enter_block(uint64_t *counter, uint64_t did)
{
    __shared__ uint32_t sum;
    const uint32_t warp = __reduce_add_sync(0xffffffffu, (uint32_t)did);

    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0 && warp)
        atomicAdd(&sum, warp);
    __syncthreads();
    if (threadIdx.x == 0 && sum)
        atomicAdd((unsigned long long *)counter, (unsigned long long)sum);
}

/* Adds a thread's counts to the job's. To be called by all threads of a kernel at its end. `schedule` is a
 * BH__CUDA_ word of module.h; where a slice is several kernels, the first one's stays. */
BH_FN void bh_cuda_enter(const bh__cuda_job *job, uint32_t schedule, const bh_cuda_counts *counts)
{
    if (blockIdx.x == 0 && threadIdx.x == 0 && !job->done->schedule)
        job->done->schedule = schedule;
    bh_cuda_add(&job->done->inserted, counts->inserted);
    bh_cuda_add(&job->done->erased, counts->erased);
    bh_cuda_add(&job->done->assigned, counts->assigned);
}

/* Takes places for those groups of this warp that want one, by one atomic addition; answers this group's. To
 * be called by all lanes of a group. */
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

/* Whether there is room for a new key of this group. Where there is not room for all, each group that wants
 * some takes it. */
BH_FN int bh_cuda_has_room(const bh__cuda_job *job, int wants)
{
    if (job->room >= job->count || !job->room)
        return job->room != 0;
    /* Where all room is taken already, no atomic is needed to see it. */
    if (*(volatile const uint64_t *)&job->done->room_taken >= job->room)
        return 0;
    return bh_cuda_take(&job->done->room_taken, wants) < job->room;
}

/* Lists an element as stalled, for the host to resolve. */
BH_FN void bh_cuda_stall(const bh__cuda_job *job, uint32_t at, int stalls)
{
    const uint64_t place = bh_cuda_take(&job->done->stalled_count, stalls);

    if (stalls && bh_cuda_lane() == 0)
        job->stalled[place] = at;
}

/* Notes why elements stalled. Few threads write: only those with a reason that is not noted yet. */
BH_FN void bh_cuda_reason(const bh__cuda_job *job, int stalls, uint32_t reasons)
{
    if (stalls && (reasons & ~*(volatile const uint32_t *)&job->done->reasons))
        atomicOr(&job->done->reasons, reasons);
}

/* What an element does in a kernel of this kind. */
BH_FN uint32_t bh_cuda_kind(const bh__slice *slice, uint32_t kind, uint32_t at)
{
    return kind != BH_KIND_MIXED ? kind : slice->ops ? slice->ops[at] : slice->op;
}

/* What is known of an element when a kernel takes it up: nothing; that one step was not enough, in
 * most cases because home is full; that both buckets were full, or home was and pairs may leave it. In the last two cases elements come from
 * lists. */
#define BH_CUDA_FRESH 0
#define BH_CUDA_HOME_FULL BH__CUDA_HOME_FULL
#define BH_CUDA_BOTH_FULL 2
/* The bit of a parked element's name that says that there is room for its key. */
#define BH_CUDA_PARKED_ROOM (1u << 31)
/* That where its key would go first there is no place, and the key is not there; in the list BH_CUDA_BOTH_FULL, that the key is in
 * neither of its places, and who brings it to the second one leaves its mark at the first (claim.h). (A slice has at most 2^30 elements.) */
#define BH_CUDA_PARKED_AWAY (1u << 30)
/* The element itself. */
#define BH_CUDA_PARKED_AT (BH_CUDA_PARKED_AWAY - 1)
/* In a list: an element that is done, or listed elsewhere. */
#define BH_CUDA_PARKED_DONE UINT32_MAX
/* Whether there is room has not been asked yet. */
#define BH_CUDA_ROOM_UNKNOWN 2

/*
 * A build for tests (tests/histories/gpu.c) records when each element was first taken up and when it was
 * done, by the timer that all multiprocessors of the GPU share. Each time is read behind a fence, so that by
 * then all threads see what the element did.
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

/* Adds the names of the elements of this warp that are to be listed to a stage's list. */
BH_FN void bh_cuda_list(const bh__cuda_job *job, int stage, uint32_t name, int lists)
{
    const uint64_t place = bh_cuda_take(&job->done->parked_count[stage - 1], lists);

    if (lists && bh_cuda_lane() == 0)
        job->parked[stage - 1][place] = name;
}

/* The same of elements that are to be parked, with what is known of the room for them. */
BH_FN void bh_cuda_park(const bh__cuda_job *job, int stage, uint32_t at, int room, int parks)
{
    bh_cuda_list(job, stage, at | (room ? BH_CUDA_PARKED_ROOM : 0), parks);
}

#endif
