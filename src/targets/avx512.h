/*
 * The AVX-512 target: a line is one register, a comparison gives its mask at once.
 * The order of the line load is that of avx2.h.
 */
#ifndef BH_TARGETS_AVX512_H
#define BH_TARGETS_AVX512_H

#include <immintrin.h>

#include "targets/prefetch.h"

#define BH_TARGET_NAME "avx512"

typedef struct bh_line {
    __m512i words;
} bh_line;

BH_FN bh_line bh_line_load(const void *p)
{
    bh_line line;

    __asm__ volatile("" ::: "memory");
    line.words = _mm512_load_si512(p);
    __asm__ volatile("" ::: "memory");
    return line;
}

BH_FN void bh_line_stream(void *to, const void *from)
{
    _mm512_stream_si512((__m512i *)to, _mm512_load_si512(from));
}

/* See avx2.h. */
BH_FN void bh_stream_end(void)
{
    _mm_sfence();
}

BH_FN uint32_t bh_line_match32(bh_line line, uint32_t first, uint32_t count, uint32_t key)
{
    uint32_t mask = _mm512_cmpeq_epi32_mask(line.words, _mm512_set1_epi32((int)key));

    return mask >> first & ((1u << count) - 1);
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    uint32_t mask = _mm512_cmpeq_epi64_mask(line.words, _mm512_set1_epi64((long long)key));

    return mask >> first & ((1u << count) - 1);
}

#endif
