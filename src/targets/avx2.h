/*
 * The AVX2 target: a line is two 32-byte registers.
 *
 * Order of the line load: x86-64 keeps loads in program order, and a load of an
 * aligned vector reads each aligned 8-byte word of it at one instant (what every
 * processor with AVX2 does, and all that the callers rely on: a pair's key and
 * its sequence number are compared, never a whole line). The empty asm keeps the
 * compiler from moving the load across the accesses around it.
 */
#ifndef BH_TARGETS_AVX2_H
#define BH_TARGETS_AVX2_H

#include <immintrin.h>

#include "targets/prefetch.h"

#include "targets/gather.h"

#define BH_TARGET_NAME "avx2"

typedef struct bh_line {
    __m256i low;
    __m256i high;
} bh_line;

BH_FN bh_line bh_line_load(const void *p)
{
    bh_line line;

    __asm__ volatile("" ::: "memory");
    line.low = _mm256_load_si256((const __m256i *)p);
    line.high = _mm256_load_si256((const __m256i *)p + 1);
    __asm__ volatile("" ::: "memory");
    return line;
}

BH_FN void bh_line_stream(void *to, const void *from)
{
    _mm256_stream_si256((__m256i *)to, _mm256_load_si256((const __m256i *)from));
    _mm256_stream_si256((__m256i *)to + 1, _mm256_load_si256((const __m256i *)from + 1));
}

BH_FN uint64_t bh_line_match8(bh_line line, uint32_t byte)
{
    const __m256i wanted = _mm256_set1_epi8((char)byte);
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(line.low, wanted));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(line.high, wanted));

    return (uint64_t)high << 32 | low;
}

/* Streaming stores are the only ones that x86-64 does not keep in order by itself. */
BH_FN void bh_stream_end(void)
{
    _mm_sfence();
}

BH_FN uint32_t bh_line_match32(bh_line line, uint32_t first, uint32_t count, uint32_t key)
{
    __m256i wanted = _mm256_set1_epi32((int)key);
    uint32_t low = 0, high = 0;

    if (first < 8)
        low =
            (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(line.low, wanted)));
    if (first + count > 8)
        high = (uint32_t)_mm256_movemask_ps(
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(line.high, wanted)));
    return (low | high << 8) >> first & ((1u << count) - 1);
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    __m256i wanted = _mm256_set1_epi64x((long long)key);
    uint32_t low = 0, high = 0;

    if (first < 4)
        low =
            (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(line.low, wanted)));
    if (first + count > 4)
        high = (uint32_t)_mm256_movemask_pd(
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(line.high, wanted)));
    return (low | high << 4) >> first & ((1u << count) - 1);
}

/* Four words at a time are shuffled to the front. The first group overlaps the next one where `count` is not
 * a multiple of 4, so that nothing is read or written beyond `count` words. */
BH_FN void bh_pack32(void *to, const void *from, uint32_t count, uint32_t mask)
{
#define BH_WORD(i) (uint32_t)(0x03020100u + 0x04040404u * (i))
#define BH_ORDER(a, b, c, d)                                                                       \
    {                                                                                              \
        BH_WORD(a), BH_WORD(b), BH_WORD(c), BH_WORD(d)                                             \
    }
    static const uint32_t order[16][4] __attribute__((aligned(16))) = {
        BH_ORDER(0, 0, 0, 0), BH_ORDER(0, 0, 0, 0), BH_ORDER(1, 0, 0, 0), BH_ORDER(0, 1, 0, 0),
        BH_ORDER(2, 0, 0, 0), BH_ORDER(0, 2, 0, 0), BH_ORDER(1, 2, 0, 0), BH_ORDER(0, 1, 2, 0),
        BH_ORDER(3, 0, 0, 0), BH_ORDER(0, 3, 0, 0), BH_ORDER(1, 3, 0, 0), BH_ORDER(0, 1, 3, 0),
        BH_ORDER(2, 3, 0, 0), BH_ORDER(0, 2, 3, 0), BH_ORDER(1, 2, 3, 0), BH_ORDER(0, 1, 2, 3)};
#undef BH_ORDER
#undef BH_WORD
    uint32_t *next = (uint32_t *)to;
    uint32_t i, step;

    if (count < 4) {
        bh_pack32_plain(to, from, count, mask);
        return;
    }
    for (i = 0; i < count; i += step) {
        const void *at = (const uint32_t *)from + i;
        __m128i words = _mm_loadu_si128((const __m128i *)at);
        uint32_t now;

        step = i || count % 4 == 0 ? 4 : count % 4;
        now = mask >> i & ((1u << step) - 1);
        at = order[now];
        words = _mm_shuffle_epi8(words, _mm_load_si128((const __m128i *)at));
        _mm_storeu_si128((__m128i *)(void *)next, words);
        next += bh_count(now);
    }
}

/* A line has few words of this width. */
BH_FN void bh_pack64(void *to, const void *from, uint32_t count, uint32_t mask)
{
    bh_pack64_plain(to, from, count, mask);
}

#endif
