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
        low = (uint32_t)_mm256_movemask_ps(
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(line.low, wanted)));
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
        low = (uint32_t)_mm256_movemask_pd(
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(line.low, wanted)));
    if (first + count > 4)
        high = (uint32_t)_mm256_movemask_pd(
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(line.high, wanted)));
    return (low | high << 4) >> first & ((1u << count) - 1);
}

#endif
