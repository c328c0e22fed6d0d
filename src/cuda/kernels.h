/*
 * DyCuckoo's kernels for one pair of widths: for each kind of slice one in which a group (a
 * thread, or a tile of BH_CUDA_TILE) carries one operation to its end, and one for each pass. An
 * include-template: see instance.h.
 */
#include "tables/dycuckoo/ops.h"

#ifndef BH_CUDA_KERNELS_H
#define BH_CUDA_KERNELS_H

#include "cuda/module.h"

/* The group's number in its launch. */
BH_FN uint64_t bh_cuda_group(void)
{
    return (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x) / BH_CUDA_TILE;
}

/* Adds to a counter of all threads what the groups of this warp have counted, by one addition: with
 * one for each group an H200 inserted 1.1 G keys/s and not 3.3. */
BH_FN void bh_cuda_count(uint64_t *counter, uint64_t counted)
{
    const uint32_t here = __activemask();
    const uint32_t sum =
        __reduce_add_sync(here, bh_cuda_lane() == 0 ? (uint32_t)counted : 0);

    if (sum && threadIdx.x % 32 == bh_first(here))
        atomicAdd((unsigned long long *)counter, (unsigned long long)sum);
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

#endif

#define DEVICE(name) BH_NAME(bh_cuda_##name)

/* Carries an operation to its end, or until it stalls. */
BH_FN bh_answer DEVICE(carry)(bh__slice *slice, BH_NAME(bh_dy_op) *op, uint32_t at, uint32_t kind)
{
    bh_region region = BH_NAME(bh_dy_begin)(slice, op, at, kind);
    bh_answer answer = BH_NEXT;
    uint32_t refused = 0;

    op->home = op->other = op->from = 0;
    do {
        if (!bh_turn(refused))
            continue;
        answer = BH_NAME(bh_dy_step)(slice, op, kind, region.offset, &region);
        refused = answer == BH_RETRY ? refused + 1 : 0;
    } while (answer == BH_NEXT || answer == BH_RETRY);
    return answer;
}

/*
 * Twins: the lanes of this warp that do the same to the same key, as the bits of a mask. Only the
 * first of them works, with a value that stands for all, and the others' outcomes follow
 * from its: as if the first had come first, the others behind it, and the last one last. Without
 * that, thousands of equal keys would wait for each other's lock one by one.
 */
BH_FN uint32_t DEVICE(twins)(const bh__slice *slice, uint32_t at, uint32_t kind)
{
    const uint32_t lane = threadIdx.x % 32, here = __activemask();
    const BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    uint32_t same = __match_any_sync(here, (unsigned long long)key);

    /* All lanes that a mask names must take part. */
    if (slice->ops)
        same &= __match_any_sync(here, kind);
    return BH_CUDA_TILE > 1 || kind == BH_FIND ? 1u << lane : same;
}

/* The value that stands for those of the twins. */
BH_FN BH_VALUE DEVICE(twins_value)(const bh__slice *slice, uint32_t at, uint32_t kind,
                                   uint32_t twins)
{
    const BH_VALUE mine = BH_VALUE_BYTES && slice->values ? ((const BH_VALUE *)slice->values)[at] : 0;
    BH_VALUE value = __shfl_sync(twins, mine, (int)bh_first(twins)), next;
    uint32_t left;

    for (left = twins & (twins - 1); left; left &= left - 1) {
        next = __shfl_sync(twins, mine, (int)bh_first(left));
        if (kind == BH_ADD)
            value = (BH_VALUE)(value + next);
        else if (kind == BH_MIN || kind == BH_MAX)
            value = (kind == BH_MIN ? next < value : next > value) ? next : value;
        else if (kind != BH_INSERT_NEW)
            value = next;
    }
    return value;
}

/* The outcome of the twins behind the first. */
BH_FN uint8_t DEVICE(twins_outcome)(uint32_t kind, uint8_t first)
{
    if (kind == BH_ERASE || first == BH_MISSING)
        return BH_MISSING;
    return kind == BH_INSERT_NEW ? BH_FOUND : BH_ASSIGNED;
}

/* Runs the group's element. What it counts is added to the job at the end; what stalls is listed,
 * for the host to see to. */
BH_FN void DEVICE(run)(bh__cuda_job *job, uint32_t kind)
{
    const uint64_t i = bh_cuda_group();
    const uint32_t lane = threadIdx.x % 32;
    bh__slice slice = job->slice;
    uint32_t at, twins, wants;
    BH_NAME(bh_dy_op) op;
    int answer = BH_DONE; /* a bh_answer */
    BH_VALUE value;

    if (i >= job->count)
        return;
    at = job->names ? job->names[i] : (uint32_t)i;
    if (kind > BH_MAX)
        kind = slice.ops ? slice.ops[at] : slice.op;
    twins = DEVICE(twins)(&slice, at, kind);
    if (twins & (twins - 1)) {
        value = DEVICE(twins_value)(&slice, at, kind, twins);
        slice.values = &value - at; /* what this element brings */
    }
    slice.inserted = slice.erased = slice.assigned = 0;
    slice.stalled_path = slice.moved = 0;
    wants = bh_dy_inserts(kind) && lane / BH_CUDA_TILE == bh_first(twins) / BH_CUDA_TILE;
    slice.room = job->room >= job->count;
    if (!slice.room && job->room)
        slice.room = bh_cuda_take(&job->room_taken, (int)wants) < job->room;
    op.outcome = BH_NOT_DONE;
    if (lane / BH_CUDA_TILE == bh_first(twins) / BH_CUDA_TILE)
        answer = DEVICE(carry)(&slice, &op, at, kind);
    if (twins & (twins - 1)) {
        const uint8_t first =
            (uint8_t)__shfl_sync(twins, (uint32_t)op.outcome, (int)bh_first(twins));

        answer = __shfl_sync(twins, answer, (int)bh_first(twins));
        if (lane != bh_first(twins)) {
            op.outcome = DEVICE(twins_outcome)(kind, first);
            slice.assigned = answer == BH_DONE && op.outcome == BH_ASSIGNED;
        }
    }
    if (answer == BH_STALL) {
        const uint64_t place = bh_cuda_take(&job->stalled_count, 1);

        if (bh_cuda_lane() == 0)
            job->stalled[place] = at;
    } else if (slice.outcomes && bh_cuda_lane() == 0) {
        slice.outcomes[at] = op.outcome;
    }
    if (slice.moved)
        job->moved = 1;
    bh_cuda_count(&job->slice.inserted, slice.inserted);
    bh_cuda_count(&job->slice.erased, slice.erased);
    bh_cuda_count(&job->slice.assigned, slice.assigned);
}

__global__ void DEVICE(insert)(bh__cuda_job *job)
{
    DEVICE(run)(job, BH_INSERT);
}

__global__ void DEVICE(erase)(bh__cuda_job *job)
{
    DEVICE(run)(job, BH_ERASE);
}

__global__ void DEVICE(add)(bh__cuda_job *job)
{
    DEVICE(run)(job, BH_ADD);
}

__global__ void DEVICE(mixed)(bh__cuda_job *job)
{
    DEVICE(run)(job, BH_MAX + 1);
}

#if BH_CUDA_TILE == 1
/* The passes: a thread for each item, or one for all where the pass is one task's. */
__global__ void DEVICE(split)(bh_dy_resize *split, uint64_t items)
{
    if (bh_cuda_group() < items)
        BH_NAME(bh_dy_split_buckets)(split, bh_cuda_group(), 1);
}

__global__ void DEVICE(home)(bh_dy_resize *split, uint64_t items)
{
    if (bh_cuda_group() < items)
        BH_NAME(bh_dy_bring_home)(split, bh_cuda_group(), 1);
}

__global__ void DEVICE(merge)(bh_dy_resize *merge, uint64_t items)
{
    if (bh_cuda_group() < items)
        BH_NAME(bh_dy_merge_buckets)(merge, bh_cuda_group(), 1);
}

__global__ void DEVICE(residue)(bh_dy_resize *merge, uint64_t items)
{
    if (bh_cuda_group() == 0)
        BH_NAME(bh_dy_place_residue)(merge, 0, items);
}

__global__ void DEVICE(reinsert)(bh_dy_reinsert *job, uint64_t items)
{
    if (job->alone) {
        if (bh_cuda_group() == 0)
            BH_NAME(bh_dy_reinsert_buckets)(job, 0, items);
    } else if (bh_cuda_group() < items) {
        BH_NAME(bh_dy_reinsert_buckets)(job, bh_cuda_group(), 1);
    }
}

__global__ void DEVICE(place)(bh__slice *slice, uint64_t items)
{
    if (bh_cuda_group() == 0)
        BH_NAME(bh_dy_place)(slice, 0, items);
}

__global__ void DEVICE(export)(bh_dy_export *job, uint64_t items)
{
    if (bh_cuda_group() < items)
        BH_NAME(bh_dy_export_parts)(job, bh_cuda_group(), 1);
}
#endif

#undef DEVICE
