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

/* Packed in a register: packing on the way to memory is slow on some processors. */
BH_FN void bh_pack32(void *to, const void *from, uint32_t count, uint32_t mask)
{
    const __mmask16 all = (__mmask16)((1u << count) - 1);

    if (count <= 8)
        _mm256_mask_storeu_epi32(
            to, (__mmask8)all,
            _mm256_maskz_compress_epi32((__mmask8)mask,
                                        _mm256_maskz_loadu_epi32((__mmask8)all, from)));
    else
        _mm512_mask_storeu_epi32(
            to, all,
            _mm512_maskz_compress_epi32((__mmask16)mask, _mm512_maskz_loadu_epi32(all, from)));
}

BH_FN void bh_pack64(void *to, const void *from, uint32_t count, uint32_t mask)
{
    uint64_t *next = (uint64_t *)to;
    uint32_t i;

    for (i = 0; i < count; i += 8) {
        const __mmask8 all = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 0xff);
        __mmask8 now = (__mmask8)(mask >> i);
        __m512i words = _mm512_maskz_loadu_epi64(all, (const uint64_t *)from + i);

        _mm512_mask_storeu_epi64(next, all, _mm512_maskz_compress_epi64(now, words));
        next += bh_count(now);
    }
}

#endif
