/*
 * The CUDA target: the same words for a group of BH_CUDA_TILE threads of a warp,
 * 1 (a thread per key) or 8 (a tile per key).
 *
 * In a tile the shared accesses are done by its first lane, and the others get the
 * answer by a shuffle, so that all variables of an operation stay the same in all
 * lanes; lane i holds words 2i and 2i+1 of a line. The order of a line load: the
 * lanes meet before it, so that it comes after the acquire of the first lane, and
 * after it, so that the first lane's next load comes after all lanes' parts.
 *
 * With BH_CUDA_QUIET 1 loads are plain: for kernels beside which nobody writes, as those of
 * lookups are (src/cuda/batch.c). A thread's four acquiring loads of a line are four requests
 * that pass by the first cache, which costs two thirds of the rate; and what is loaded twice, to
 * see whether it has changed, is loaded once.
 */
#ifndef BH_TARGETS_CUDA_H
#define BH_TARGETS_CUDA_H

#include <stdint.h>

#define BH_TARGET_NAME "cuda"
#define BH_FN static __device__ __forceinline__
#define BH_FN_RARE static __device__ __noinline__
#define BH_LONE __shared__
#define BH_LONE_BYTES 24576u
#define BH_BRINGS 0

#ifndef BH_CUDA_TILE
#define BH_CUDA_TILE 1
#endif
#if BH_CUDA_TILE != 1 && BH_CUDA_TILE != 8
#error "BH_CUDA_TILE must be 1 or 8"
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
    return ((1u << BH_CUDA_TILE) - 1) << (threadIdx.x % 32 / BH_CUDA_TILE * BH_CUDA_TILE);
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

BH_FN void bh_store32(void *p, uint32_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(p), "r"(value) : "memory");
}

BH_FN void bh_store64(void *p, uint64_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("st.release.gpu.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

BH_FN int bh_swap_if64(void *p, uint64_t expected, uint64_t desired)
{
    uint64_t before = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
                     : "=l"(before)
                     : "l"(p), "l"(expected), "l"(desired)
                     : "memory");
    return bh_cuda_share64(before) == expected;
}

BH_FN void bh_add64(void *p, uint64_t value)
{
    if (bh_cuda_lane() == 0)
        asm volatile("red.relaxed.gpu.add.u64 [%0], %1;" : : "l"(p), "l"(value) : "memory");
}

BH_FN uint64_t bh_take64(void *p, uint64_t value)
{
    uint64_t before = 0;

    if (bh_cuda_lane() == 0)
        asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;"
                     : "=l"(before)
                     : "l"(p), "l"(value)
                     : "memory");
    return bh_cuda_share64(before);
}

/* Waiting for memory is what the other warps of a processor are for. */
BH_FN void bh_bring(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_to_write(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_answer(const void *p)
{
    (void)p;
}

BH_FN uint32_t bh_first(uint32_t mask)
{
    return (uint32_t)__ffs((int)mask) - 1;
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

/* Voter coordination (Li and others, DyCuckoo, section V.C): those of a warp that were refused
 * together vote for one; which one, time decides, so that no order comes again and again. */
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
    /* Other warps may want the same two buckets, the other way round, and thousands the same one:
     * the more often they look, the longer it takes who has it to let go. So each waits for some
     * time of its own, up to 64 ns at first, and up to 65 us in the end. */
    if (refused > 1) {
        const uint32_t mixed = ((uint32_t)clock() ^ blockIdx.x << 10 ^ threadIdx.x) * 0x9e3779b9u;

        __nanosleep((mixed >> 16) % (64u << (refused < 12 ? refused - 2 : 10)));
    }
    return 1;
}

#define BH_CUDA_WORDS (16 / BH_CUDA_TILE)
#if BH_CUDA_QUIET && BH_CUDA_TILE != 1
#error "BH_CUDA_QUIET is for a thread per key"
#endif

typedef struct bh_line {
    uint32_t word[BH_CUDA_WORDS];
} bh_line;

BH_FN bh_line bh_line_load(const void *p)
{
    const char *at = (const char *)p + bh_cuda_lane() * (64 / BH_CUDA_TILE);
    bh_line line;

#if BH_CUDA_QUIET
#pragma unroll
    for (int i = 0; i < BH_CUDA_WORDS / 4; i++) {
        const uint4 words = ((const uint4 *)at)[i];

        line.word[4 * i] = words.x;
        line.word[4 * i + 1] = words.y;
        line.word[4 * i + 2] = words.z;
        line.word[4 * i + 3] = words.w;
    }
    return line;
#endif
    bh_cuda_meet();
#if BH_CUDA_TILE == 1
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm volatile("ld.acquire.gpu.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(line.word[4 * i]), "=r"(line.word[4 * i + 1]),
                       "=r"(line.word[4 * i + 2]), "=r"(line.word[4 * i + 3])
                     : "l"(at + 16 * i)
                     : "memory");
#else
    asm volatile("ld.acquire.gpu.v2.u32 {%0, %1}, [%2];"
                 : "=r"(line.word[0]), "=r"(line.word[1])
                 : "l"(at)
                 : "memory");
#endif
    bh_cuda_meet();
    return line;
}

#if BH_CUDA_TILE > 1
/* Which lanes of this tile say yes. */
BH_FN uint32_t bh_cuda_vote(int yes)
{
    uint32_t mask = bh_cuda_mask();

    return __ballot_sync(mask, yes) >> bh_first(mask);
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
    uint32_t even = bh_cuda_vote(line.word[0] == key) & 0xff;
    uint32_t odd = bh_cuda_vote(line.word[1] == key) & 0xff;

#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        mask |= (even >> i & 1) << 2 * i | (odd >> i & 1) << (2 * i + 1);
#endif
    return mask >> first & ((1u << count) - 1);
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    uint32_t mask = 0;

#if BH_CUDA_TILE == 1
#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        mask |= (uint32_t)(line.word[2 * i] == low && line.word[2 * i + 1] == high) << i;
#else
    mask = bh_cuda_vote(line.word[0] == low && line.word[1] == high);
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

/* The results are variables of the group, so every lane loads them all. */
#include "targets/gather.h"

#endif
