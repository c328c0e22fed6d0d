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

BH_FN uint64_t bh_line_match8(bh_line line, uint32_t byte)
{
    return _mm512_cmpeq_epi8_mask(line.words, _mm512_set1_epi8((char)byte));
}

/* Packed in a register: a compressing store to memory is slow on some processors. */
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

/* Indexes are widened to 8 bytes: gathers take 4-byte indexes as signed, and doubling them would overflow. */
BH_FN void bh_gather32(uint32_t *to, const void *from, const uint32_t *index, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i += 8) {
        const __mmask8 all = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 0xff);
        const __m256i at = _mm256_maskz_loadu_epi32(all, index + i);
        const __mmask8 taken = _mm256_mask_cmpneq_epi32_mask(all, at, _mm256_set1_epi32(-1));
        const __m256i words = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), taken,
                                                          _mm512_cvtepu32_epi64(at), from, 4);

        _mm256_mask_storeu_epi32(to + i, all, words);
    }
}

BH_FN void bh_gather64(uint64_t *to, const void *from, uint32_t stride, const uint32_t *index,
                       uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i += 8) {
        const __mmask8 all = (__mmask8)(count - i < 8 ? (1u << (count - i)) - 1 : 0xff);
        const __m256i at = _mm256_maskz_loadu_epi32(all, index + i);
        const __mmask8 taken = _mm256_mask_cmpneq_epi32_mask(all, at, _mm256_set1_epi32(-1));
        const __m512i wide = _mm512_slli_epi64(_mm512_cvtepu32_epi64(at), stride == 16);
        const __m512i words =
            _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), taken, wide, from, 8);

        _mm512_mask_storeu_epi64(to + i, all, words);
    }
}

BH_FN uint32_t bh_differ32(const void *from, const uint32_t *index, uint32_t first)
{
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i at = _mm512_loadu_si512(index);
    const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(at));
    const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(at, 1));
    const __m512i words =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_i64gather_epi32(low, from, 4)),
                           _mm512_i64gather_epi32(high, from, 4), 1);

    return _mm512_cmpneq_epi32_mask(words, _mm512_add_epi32(_mm512_set1_epi32((int)first), count));
}

#endif
