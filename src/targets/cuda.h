/*
 * The CUDA target: the same words for a group of BH_CUDA_TILE threads of a warp, 1 (a thread per
 * key) or 4, 8, 16 or 32 (a tile per key).
 *
 * In a tile the shared accesses are done by its first lane, and the others get the
 * answer by a shuffle, so that all variables of an operation stay the same in all
 * lanes; lane i of 8 holds words 2i and 2i+1 of a line, of 16 or 32 word i % 16.
 *
 * A line that other threads may write is loaded past the L1 cache, where the number of requests
 * determines the cost: one for each line that an instruction of a warp touches. So where the four
 * threads of a quad want a line each, they read the four lines together, one after the other, 16 bytes
 * each, and then exchange the pieces: 4 requests and not 16.
 *
 *       line of     lane 0 1 2 3                          lane 0 1 2 3
 *       lane 0           a b c d    <- one instruction         a e i m
 *       lane 1           e f g h                     ==>       b f j n
 *       lane 2           i j k l                               c g k o
 *       lane 3           m n o p                               d h l p
 *
 * The order of a line load: the lanes synchronise before it, so that it comes after the acquiring load of
 * the lane that wants the line; and after it behind a fence, so that this lane's next load or swap comes
 * after all lanes' parts.
 *
 * With BH_CUDA_QUIET 1 loads and stores are plain, for kernels without concurrent writers, such as those of
 * lookups (src/cuda/host/batch.c). Words that are otherwise loaded twice, to see whether they have changed,
 * are loaded once then. Insertions by region are such kernels, too (src/cuda/device/dycuckoo/by_region.h);
 * where several threads want one bucket there, a load is only a hint, which a compare-and-swap checks.
 */
#ifndef BH_TARGETS_CUDA_H
#define BH_TARGETS_CUDA_H

#include <stdint.h>

#include "bulkhash/bulkhash.h"

#define BH_TARGET_NAME "cuda"
#define BH_FN static __device__ __forceinline__
#define BH_FN_RARE static __device__ __noinline__
#define BH_BRINGS 0
#define BH_QUIET BH_CUDA_QUIET
#define BH_BLANKS 1
#define BH_RUNS_ALIKE 1
#define BH_ONE_THREAD 0

#ifndef BH_CUDA_TILE
#define BH_CUDA_TILE 1
#endif
#if BH_CUDA_TILE != 1 && BH_CUDA_TILE != 4 && BH_CUDA_TILE != 8 && BH_CUDA_TILE != 16 &&           \
    BH_CUDA_TILE != 32
#error "BH_CUDA_TILE must be 1, 4, 8, 16 or 32"
#endif

#ifndef BH_CUDA_QUIET
#define BH_CUDA_QUIET 0
#endif

BH_FN uint32_t bh_cuda_lane(void)
{
    return threadIdx.x % BH_CUDA_TILE;
}

/* The threads of this tile within its warp. */
BH_FN uint32_t bh_cuda_mask(void)
{
    return 0xffffffffu >> (32 - BH_CUDA_TILE) << (threadIdx.x % 32 / BH_CUDA_TILE * BH_CUDA_TILE);
}

BH_FN void bh_cuda_meet(void)
{
    if (BH_CUDA_TILE > 1)
        __syncwarp(bh_cuda_mask());
}

BH_FN uint32_t bh_cuda_share32(uint32_t value)
{
    return BH_CUDA_TILE > 1 ? __shfl_sync(bh_cuda_mask(), value, 0, BH_CUDA_TILE) : value;
}

BH_FN uint64_t bh_cuda_share64(uint64_t value)
{
    return BH_CUDA_TILE > 1 ? __shfl_sync(bh_cuda_mask(), value, 0, BH_CUDA_TILE) : value;
}

BH_FN uint32_t bh_load32(const void *p)
{
    uint32_t value = 0;

    if (BH_CUDA_QUIET)
        return *(const uint32_t *)p;
    if (bh_cuda_lane() == 0)
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return bh_cuda_share32(value);
}

BH_FN uint64_t bh_load64(const void *p)
{
    uint64_t value = 0;

    if (BH_CUDA_QUIET)
        return *(const uint64_t *)p;
    if (bh_cuda_lane() == 0)
        asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
    return bh_cuda_share64(value);
}

BH_FN uint64_t bh_peek64(const void *p)
{
    uint64_t value = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(p) : "memory");
    return bh_cuda_share64(value);
}

BH_FN void bh_store32(void *p, uint32_t value)
{
    if (BH_CUDA_QUIET)
        *(uint32_t *)p = value;
    else if (bh_cuda_lane() == 0)
        asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}

BH_FN void bh_store64(void *p, uint64_t value)
{
    if (BH_CUDA_QUIET)
        *(uint64_t *)p = value;
    else if (bh_cuda_lane() == 0)
        asm volatile("st.release.gpu.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

/*
 * Plain, so that a thread that reads the keys of a line finds them in the L1 cache. A store cannot pass the
 * swap that took the lock: it depends on the swap's answer, which comes from the L2 cache, where all
 * threads see the same.
 */
BH_FN uint32_t bh_read32(const void *p)
{
    return *(const uint32_t *)p;
}

BH_FN uint64_t bh_read64(const void *p)
{
    return *(const uint64_t *)p;
}

BH_FN void bh_write32(void *p, uint32_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}

BH_FN void bh_write64(void *p, uint64_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

BH_FN int bh_swap_if64(void *p, uint64_t expected, uint64_t desired)
{
    uint64_t before = 0;

    if (BH_CUDA_QUIET)
        asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(before)
                     : "l"(p), "l"(expected), "l"(desired)
                     : "memory");
    else if (bh_cuda_lane() == 0)
        asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(before)
                     : "l"(p), "l"(expected), "l"(desired)
                     : "memory");
    return bh_cuda_share64(before) == expected;
}

/*
 * Additions to one address wait for each other, 1 ns each: millions of threads that count what they
 * have done in one counter take longer for that than for the rest. So threads of a warp that add to
 * the same counter add their values up first.
 */
BH_FN void bh_add64(void *p, uint64_t value)
{
    const uint32_t here = __activemask();
    int alike = 0, small = __all_sync(here, value < 1u << 26);

    if (BH_CUDA_TILE == 1 && small)
        (void)__match_all_sync(here, (unsigned long long)(uintptr_t)p, &alike);
    if (alike) {
        value = __reduce_add_sync(here, (uint32_t)value);
        if (threadIdx.x % 32 != (uint32_t)__ffs((int)here) - 1)
            value = 0;
    }
    if (value && bh_cuda_lane() == 0)
        asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

BH_FN uint64_t bh_take64(void *p, uint64_t value)
{
    uint64_t before = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(p), "l"(value)
                     : "memory");
    return bh_cuda_share64(before);
}

BH_FN int bh_swap_if32(void *p, uint32_t expected, uint32_t desired)
{
    uint32_t before = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
                     : "=r"(before)
                     : "l"(p), "r"(expected), "r"(desired)
                     : "memory");
    return bh_cuda_share32(before) == expected;
}

BH_FN uint64_t bh_clear64(void *p, uint64_t bits)
{
    uint64_t before = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("atom.relaxed.gpu.global.and.b64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(p), "l"(~bits)
                     : "memory");
    return bh_cuda_share64(before);
}

/* Accesses to one place are done one after the other, in 1.6 to 3 ns each on an H200, so it pays to do one for several lanes.
 * The first lane's place is looked at alone: where a key is hot enough to matter, that is likely to be its. */
#define BH_CUDA_TWINS_LEAST 4u

BH_FN uint32_t bh_twins(const void *p)
{
#if BH_CUDA_TILE == 1
    const uint32_t here = __activemask(), lane = threadIdx.x % 32;
    const uint64_t place = (uint64_t)(uintptr_t)p;
    const uint32_t twins =
        __ballot_sync(here, place == __shfl_sync(here, place, (int)__ffs((int)here) - 1));

    return __popc(twins) >= BH_CUDA_TWINS_LEAST && (twins >> lane & 1) ? twins : 0;
#else
    (void)p;
    return 0;
#endif
}

BH_FN int bh_is_first_twin(uint32_t twins)
{
    return threadIdx.x % 32 == (uint32_t)__ffs((int)twins) - 1;
}

BH_FN uint64_t bh_of_twin(uint32_t twins, uint32_t which, uint64_t value)
{
    return __shfl_sync(twins, value, (int)which);
}

/* Floats of 4 bytes are not joined by one access: it would make numbers near 0 that are not normalised 0. Thousands
 * of threads that tried to swap the sum of one key would refuse each other, so such operations take locks. */
BH_FN int bh_join_word(void *p, uint32_t op, uint32_t bytes, uint64_t value)
{
    if (op == BH_ADD_FLOAT && bytes == 4)
        return 0;
    if (bh_cuda_lane())
        return 1;
    if (bytes == 4)
        switch (op) {
        case BH_ADD: (void)atomicAdd((unsigned *)p, (unsigned)value); break;
        case BH_MIN: (void)atomicMin((unsigned *)p, (unsigned)value); break;
        case BH_MAX: (void)atomicMax((unsigned *)p, (unsigned)value); break;
        case BH_MIN_SIGNED: (void)atomicMin((int *)p, (int)value); break;
        case BH_MAX_SIGNED: (void)atomicMax((int *)p, (int)value); break;
        default: return 0;
        }
    else
        switch (op) {
        case BH_ADD: (void)atomicAdd((unsigned long long *)p, value); break;
        case BH_MIN: (void)atomicMin((unsigned long long *)p, value); break;
        case BH_MAX: (void)atomicMax((unsigned long long *)p, value); break;
        case BH_MIN_SIGNED: (void)atomicMin((long long *)p, (long long)value); break;
        case BH_MAX_SIGNED: (void)atomicMax((long long *)p, (long long)value); break;
        case BH_ADD_FLOAT: (void)atomicAdd((double *)p, __longlong_as_double(value)); break;
        default: return 0;
        }
    return 1;
}

BH_FN void bh_release_add64(void *p, uint64_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

BH_FN void bh_fence_far(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* No prefetch: while a warp waits for memory, the multiprocessor runs its other warps. */
BH_FN void bh_bring(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_to_write(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_far(const void *p)
{
    (void)p;
}

BH_FN void bh_own(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_answer(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_keys(const void *p)
{
    (void)p;
}

BH_FN uint32_t bh_first(uint32_t mask)
{
    return (uint32_t)__ffs((int)mask) - 1;
}

BH_FN uint32_t bh_first64(uint64_t mask)
{
    return (uint32_t)__ffsll((long long)mask) - 1;
}

BH_FN uint32_t bh_count(uint32_t mask)
{
    return (uint32_t)__popc(mask);
}

BH_FN uint64_t bh_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
    *high = __umul64hi(a, b);
    return a * b;
}

/* Voter coordination (Li and others, DyCuckoo, section V.C): the threads of a warp that were refused
 * together vote for one of them. The clock decides for which, so that no order repeats. */
BH_FN int bh_turn(uint32_t refused)
{
    uint32_t here, leader, skip;

    if (!refused)
        return 1;
    here = __activemask();
    leader = here;
    for (skip = (uint32_t)(clock() >> 4) % bh_count(here); skip; skip--)
        leader &= leader - 1;
    leader = __shfl_sync(here, bh_first(leader), (int)bh_first(here));
    if (threadIdx.x % 32 / BH_CUDA_TILE != leader / BH_CUDA_TILE)
        return 0;
    /* Other warps may want the same two buckets in the opposite order, and thousands the same one: the
     * more often they try, the longer it takes the holder to unlock it. So each waits for a time of its
     * own, up to 64 ns at first, and up to 65 us in the end. */
    if (refused > 1) {
        const uint32_t mixed = ((uint32_t)clock() ^ blockIdx.x << 10 ^ threadIdx.x) * 0x9e3779b9u;

        __nanosleep((mixed >> 16) % (64u << (refused < 12 ? refused - 2 : 10)));
    }
    return 1;
}

/* A team is a block. */
BH_FN uint32_t bh_team_size(void)
{
    return blockDim.x;
}

BH_FN uint32_t bh_team_lane(void)
{
    return threadIdx.x;
}

BH_FN void bh_team_meet(void)
{
    __syncthreads();
}

BH_FN int bh_team_any(int flag)
{
    return __syncthreads_or(flag);
}

/* 4-byte words of a line that a lane holds; of 32 lanes, half hold the same words as the other half. */
#define BH_CUDA_WORDS (BH_CUDA_TILE < 16 ? 16 / BH_CUDA_TILE : 1)
#if BH_CUDA_QUIET && BH_CUDA_TILE != 1
#error "BH_CUDA_QUIET is for a thread per key"
#endif

typedef struct bh_line {
    uint32_t word[BH_CUDA_WORDS];
} bh_line;

#if BH_CUDA_TILE == 1
BH_FN uint4 bh_cuda_load_piece(const void *p)
{
    uint4 piece;

    if (BH_CUDA_QUIET)
        return *(const uint4 *)p;
    asm volatile("ld.relaxed.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w)
                 : "l"(p)
                 : "memory");
    return piece;
}

/* An exchange between this lane and the one whose number differs in `bit`: of two pieces each lane keeps the
 * one with its own number, and gets the piece of that number that the other lane has. */
BH_FN void bh_cuda_exchange(uint32_t lanes, uint32_t bit, uint4 *low, uint4 *high)
{
    const int upper = (threadIdx.x & bit) != 0;
    uint4 give = upper ? *low : *high;

    give.x = __shfl_xor_sync(lanes, give.x, bit);
    give.y = __shfl_xor_sync(lanes, give.y, bit);
    give.z = __shfl_xor_sync(lanes, give.z, bit);
    give.w = __shfl_xor_sync(lanes, give.w, bit);
    *low = upper ? give : *low;
    *high = upper ? *high : give;
}

/* The lines of the four lanes of this quad, which all take part. */
BH_FN void bh_cuda_load_together(uint32_t lanes, const void *p, uint4 *piece)
{
    __syncwarp(lanes);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const char *line = (const char *)__shfl_sync(lanes, (unsigned long long)(uintptr_t)p, i, 4);

        piece[i] = bh_cuda_load_piece(line + 16 * (threadIdx.x % 4));
    }
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    __syncwarp(lanes);
    bh_cuda_exchange(lanes, 1, &piece[0], &piece[1]);
    bh_cuda_exchange(lanes, 1, &piece[2], &piece[3]);
    bh_cuda_exchange(lanes, 2, &piece[0], &piece[2]);
    bh_cuda_exchange(lanes, 2, &piece[1], &piece[3]);
}

BH_FN bh_line bh_line_load(const void *p)
{
    const uint32_t lanes = 0xfu << threadIdx.x % 32 / 4 * 4;
    uint4 piece[4];
    bh_line line;

    if (!BH_CUDA_QUIET && (__activemask() & lanes) == lanes) {
        bh_cuda_load_together(lanes, p, piece);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            piece[i] = bh_cuda_load_piece((const char *)p + 16 * i);
        if (!BH_CUDA_QUIET)
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        line.word[4 * i] = piece[i].x;
        line.word[4 * i + 1] = piece[i].y;
        line.word[4 * i + 2] = piece[i].z;
        line.word[4 * i + 3] = piece[i].w;
    }
    return line;
}
#else
BH_FN bh_line bh_line_load(const void *p)
{
    const char *at = (const char *)p + bh_cuda_lane() % 16 * sizeof(bh_line);
    bh_line line;

    bh_cuda_meet();
#if BH_CUDA_TILE == 4
    asm volatile("ld.acquire.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(line.word[0]), "=r"(line.word[1]), "=r"(line.word[2]), "=r"(line.word[3])
                 : "l"(at)
                 : "memory");
#elif BH_CUDA_TILE == 8
    asm volatile("ld.acquire.gpu.v2.u32 {%0, %1}, [%2];"
                 : "=r"(line.word[0]), "=r"(line.word[1])
                 : "l"(at)
                 : "memory");
#else
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(line.word[0]) : "l"(at) : "memory");
#endif
    bh_cuda_meet();
    return line;
}

/* Which lanes of this tile say yes, among those that hold words of their own. */
BH_FN uint32_t bh_cuda_vote(int yes)
{
    const uint32_t mask = bh_cuda_mask();

    return __ballot_sync(mask, yes) >> bh_first(mask) & (0xffffu >> (16 - 16 / BH_CUDA_WORDS));
}
#endif

BH_FN uint32_t bh_line_match32(bh_line line, uint32_t first, uint32_t count, uint32_t key)
{
    uint32_t mask = 0;

#if BH_CUDA_TILE == 1
#pragma unroll
    for (uint32_t i = 0; i < 16; i++)
        mask |= (uint32_t)(line.word[i] == key) << i;
#else
#pragma unroll
    for (uint32_t word = 0; word < BH_CUDA_WORDS; word++) {
        const uint32_t votes = bh_cuda_vote(line.word[word] == key);

#pragma unroll
        for (uint32_t i = 0; i < 16 / BH_CUDA_WORDS; i++)
            mask |= (votes >> i & 1) << (BH_CUDA_WORDS * i + word);
    }
#endif
    return mask >> first & ((1u << count) - 1);
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    /* A key is equal where its first word is equal and the word behind it is, too. */
#if BH_CUDA_TILE == 1
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32), mask = 0;

#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        mask |= (uint32_t)(line.word[2 * i] == low && line.word[2 * i + 1] == high) << i;
#else
    uint32_t both = bh_line_match32(line, 0, 16, (uint32_t)key) &
                    bh_line_match32(line, 0, 16, (uint32_t)(key >> 32)) >> 1;
    uint32_t mask = 0;

#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        mask |= (both >> 2 * i & 1) << i;
#endif
    return mask >> first & ((1u << count) - 1);
}

/* Each lane finds out by itself where its words go. */
BH_FN void bh_pack32(void *to, const void *from, uint32_t count, uint32_t mask)
{
    for (uint32_t i = bh_cuda_lane(); i < count; i += BH_CUDA_TILE)
        if (mask >> i & 1)
            ((uint32_t *)to)[bh_count(mask & ((1u << i) - 1))] = ((const uint32_t *)from)[i];
}

BH_FN void bh_pack64(void *to, const void *from, uint32_t count, uint32_t mask)
{
    for (uint32_t i = bh_cuda_lane(); i < count; i += BH_CUDA_TILE)
        if (mask >> i & 1)
            ((uint64_t *)to)[bh_count(mask & ((1u << i) - 1))] = ((const uint64_t *)from)[i];
}

#include "targets/keys_of_line.h"

#endif
