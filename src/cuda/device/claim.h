/*
 * Insertions on a GPU into tables with BH_HINT_CLAIMS: for one pair of widths of one design. An include-template: see
 * instance.h, and tables/declared.h.
 *
 * Each element is carried to its end as a lookup is (look.h), and claims a place for its key without a lock. While it
 * looks at a copy of a region others may claim places in it, and write keys: so a claim is a compare-and-swap of what
 * the copy had, and the copy of a slot is asked for only after the copy of its ticket has come, behind which the pair
 * was written. Copies do not come from the first cache. Plain loads may, as in lookups: what they read is old, or
 * only a hint (a bound, which keys from before this kernel need). What needs a lock is listed for the
 * stages of kernels.h.
 *
 * That is Stadium hashing (tables/stadium/halves.h). In DyCuckoo (tables/dycuckoo/claims.h) nine of ten elements end after
 * one step, and nobody waits for what others claim. So the first step of all elements is a kernel of its own
 * (BH_DESIGN_CLAIMS_FIRST), with few registers; what it could not finish, because its home is full or because it may be
 * equal to a key that has been claimed a slot for meanwhile, is listed and carried to its end by another kernel.
 */
#include "cuda/device/job.h"

/* Blocks that run on a multiprocessor, at least: with more, registers would be spilled (look.h). */
#undef BH_CLAIM_BLOCKS
#ifdef BH_DESIGN_AT_ONCE
#define BH_CLAIM_BLOCKS 3
#else
#define BH_CLAIM_BLOCKS 4
#endif

/* What elements of a kernel are to know. `kind` is a constant, or the slice's. */
BH_FN bh__slice BH_DESIGN(claim_slice)(const bh__cuda_job *job, uint32_t kind, int stage, int again)
{
    bh__slice slice = job->slice;

    /* (Floats of 4 bytes are added under locks: see bh_join_word.) */
    slice.hints = BH_HINT_AT_ONCE | (job->slice.hints & BH_HINT_TURNOVER) |
                  (BH_OP_ROUNDS(kind) && BH_VALUE_BYTES == 4 ? 0 : BH_HINT_ALIKE);
    slice.epoch = (uint8_t)(slice.epoch + (stage == BH_CUDA_HOME_FULL ? 1 + again : 0));
    slice.inserted = slice.assigned = 0;
    slice.reasons = 0;
    return slice;
}

/* `again`: claims go through the list of the second stage once more, because some of its elements may have been equal to others
 * that claimed a slot. */
BH_FN void BH_DESIGN(claim_all)(const bh__cuda_job *job, uint32_t kind, uint32_t rounds, int stage,
                                int again)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = BH_DESIGN(claim_slice)(job, kind, stage, again);

    if (stage &&
        !(again ? bh_cuda_block_sees(&job->done->left) : job->done->parked_count[stage - 1]))
        return;
    if (stage == BH_CUDA_HOME_FULL)
        bh_cuda_begin_keeping();
    BH_DESIGN(look_in_turn)(job, &slice, kind, BH_LOOK_CLAIM, stage, again, rounds,
                            places[threadIdx.x]);
    if (stage == BH_CUDA_HOME_FULL)
        bh_cuda_list_kept(job);
    bh_cuda_enter_block(&job->done->inserted, slice.inserted);
    bh_cuda_enter_block(&job->done->assigned, slice.assigned);
    if (blockIdx.x == 0 && threadIdx.x == 0 && !job->done->schedule)
        job->done->schedule = BH__CUDA_SIFT;
    if (blockIdx.x == 0 && threadIdx.x == 0 && stage == BH_CUDA_HOME_FULL)
        job->done->struck = 1;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_CLAIM_BLOCKS)
    BH_DESIGN(claim_insert)(const __grid_constant__ bh__cuda_job job, uint32_t rounds, int stage,
                            int again)
{
    bh_cuda_follow();
    BH_DESIGN(claim_all)(&job, BH_INSERT, rounds, stage, again);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, BH_CLAIM_BLOCKS)
    BH_DESIGN(claim_other)(const __grid_constant__ bh__cuda_job job, uint32_t rounds, int stage,
                           int again)
{
    bh_cuda_follow();
    BH_DESIGN(claim_all)(&job, job.slice.op, rounds, stage, again);
}

#ifdef BH_DESIGN_CLAIMS_FIRST
/* Lists the elements of a block that are not done for the second stage, with one access to the list's length. Those that are
 * away come first: most of them take one step there, and others several. */
BH_FN void BH_DESIGN(claim_leave)(const bh__cuda_job *job, uint32_t name, int leaves)
{
    __shared__ uint32_t count[2];
    __shared__ unsigned long long place;
    const int away = leaves && (name & BH_CUDA_PARKED_AWAY);
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t left[2] = {__ballot_sync(0xffffffffu, away),
                              __ballot_sync(0xffffffffu, leaves && !away)};
    const uint32_t own = away ? left[0] : left[1];
    uint32_t mine = 0;

    if (threadIdx.x < 2)
        count[threadIdx.x] = 0;
    __syncthreads();
    if (lane < 2 && (lane ? left[1] : left[0]))
        mine = atomicAdd(&count[lane], bh_count(lane ? left[1] : left[0]));
    mine = __shfl_sync(0xffffffffu, mine, away ? 0 : 1) + bh_count(own & ((1u << lane) - 1));
    __syncthreads();
    if (threadIdx.x == 0 && count[0] + count[1])
        place = atomicAdd((unsigned long long *)&job->done->parked_count[BH_CUDA_HOME_FULL - 1],
                          (unsigned long long)(count[0] + count[1]));
    __syncthreads();
    if (leaves)
        job->parked[BH_CUDA_HOME_FULL - 1][place + mine + (away ? 0 : count[0])] = name;
}

/* Whether this lane is the first of those `here` with its key: thousands of equal keys that read one line, and tried to
 * claim one slot, would wait for each other. */
BH_FN int BH_DESIGN(is_first)(BH_KEY key, uint32_t here)
{
    return threadIdx.x % 32 == bh_first(__match_any_sync(here, key));
}

/* The first step of all elements, a thread for each. What it does not finish is listed. So the steps that few elements need
 * are taken by full warps. */
BH_FN void BH_DESIGN(claim_first)(const bh__cuda_job *job, uint32_t kind)
{
    __shared__ __align__(16) unsigned char places[BH_CUDA_BLOCK][BH_LOOK_PLACE];
    bh__slice slice = BH_DESIGN(claim_slice)(job, kind, BH_CUDA_FRESH, 0);
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    const int here = i < job->count;
    const uint32_t at = here && job->names ? job->names[i] : i;
    const uint32_t here_all = __ballot_sync(0xffffffffu, here);
    const int room = bh_cuda_has_room(job, here);
    bh_region region = {0, BH_LOOK_REGION, BH_TIER_NEAR};
    bh_answer answer = BH_DONE;
    BH_DESIGN(op) op = {};
    BH_VALUE value = 0;
    uint64_t line;
    int looks, stalls;

    slice.room = (uint64_t)room;
    if (here) {
        value = (BH_VALUE)bh_given(&slice, kind, BH_VALUE_BYTES, at);
        region = BH_DESIGN(begin)(&slice, &op, at, kind);
    }
    looks = here && BH_DESIGN(is_first)(op.key, here_all);
    line = BH_DESIGN(look_bring)(places[threadIdx.x], region, looks, BH_LOOK_CLAIM);
    if (here)
        answer = looks ? BH_DESIGN(step_claim)(&slice, &op, kind, line, &region) : BH_RETRY;
    BH_DESIGN(look_store)(&op, value, here && answer == BH_DONE && op.outcome == BH_INSERTED);
    if (here && answer == BH_DONE && slice.outcomes)
        slice.outcomes[at] = op.outcome;
    stalls = answer == BH_STALL && slice.reasons;
    if (__any_sync(0xffffffffu, stalls)) {
        bh_cuda_stall(job, at, stalls);
        bh_cuda_reason(job, stalls, slice.reasons);
    }
    BH_DESIGN(claim_leave)(
        job,
        at | (room ? BH_CUDA_PARKED_ROOM : 0) |
            (answer == BH_NEXT && BH_DESIGN(is_away)(&op) ? BH_CUDA_PARKED_AWAY : 0),
        answer != BH_DONE && !stalls);
    bh_cuda_enter_block(&job->done->inserted, slice.inserted);
    if (!BH_OP_KEEPS(kind))
        bh_cuda_enter_block(&job->done->assigned, slice.assigned);
    if (i == 0 && !job->done->schedule)
        job->done->schedule = BH__CUDA_SIFT;
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, 5)
    BH_DESIGN(claim_first_insert)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_DESIGN(claim_first)(&job, BH_INSERT);
}

__global__ void __launch_bounds__(BH_CUDA_BLOCK, 5)
    BH_DESIGN(claim_first_other)(const __grid_constant__ bh__cuda_job job)
{
    bh_cuda_follow();
    BH_DESIGN(claim_first)(&job, job.slice.op);
}
#endif
