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

/* The bits of a comparison, in a general register. gcc (12.2) may spill such a mask by a store of one or two bytes and then read
 * four of them: in some builds lookups found their keys a line too far. */
BH_FN uint32_t bh_avx512_bits(uint32_t mask)
{
    __asm__("" : "+r"(mask));
    return mask;
}

BH_FN uint32_t bh_line_match32(bh_line line, uint32_t first, uint32_t count, uint32_t key)
{
    const uint32_t mask =
        bh_avx512_bits(_mm512_cmpeq_epi32_mask(line.words, _mm512_set1_epi32((int)key)));

    return mask >> first & ((1u << count) - 1);
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    const uint32_t mask =
        bh_avx512_bits(_mm512_cmpeq_epi64_mask(line.words, _mm512_set1_epi64((long long)key)));

    return mask >> first & ((1u << count) - 1);
}

BH_FN uint64_t bh_line_match8(bh_line line, uint32_t byte)
{
    return _mm512_cmpeq_epi8_mask(line.words, _mm512_set1_epi8((char)byte));
}

BH_FN uint64_t bh_line_match8_odd(bh_line line, uint32_t byte)
{
    line.words = _mm512_or_si512(line.words, _mm512_set1_epi8(1));
    return bh_line_match8(line, byte);
}

/* A line, as the asm of the next words pretends to change it. */
typedef struct bh_keys_line {
    char byte[64];
} bh_keys_line;

typedef __m512i bh_wanted;

BH_FN bh_wanted bh_wanted32(uint32_t key)
{
    return _mm512_set1_epi32((int)key);
}

BH_FN bh_wanted bh_wanted64(uint64_t key)
{
    return _mm512_set1_epi64((long long)key);
}

/* See avx2.h. */
BH_FN uint32_t bh_keys_match32(const void *keys, uint32_t count, bh_wanted wanted)
{
    bh_keys_line *const line = (bh_keys_line *)(uintptr_t)((const char *)keys - 8);
    const void *const first = (const uint32_t *)keys - 1;
    uint32_t mask;

    __asm__ volatile("" : "+m"(*line));
    if (count <= 7)
        mask = _mm256_cmpeq_epi32_mask(_mm256_loadu_si256((const __m256i *)first),
                                       _mm512_castsi512_si256(wanted));
    else
        mask = _mm512_cmpeq_epi32_mask(_mm512_load_si512(line), wanted);
    __asm__ volatile("" : "+m"(*line));
    /* Shifted behind that: a shift of the mask itself is one of 16 bits, and two instructions more. */
    mask = bh_avx512_bits(mask);
    return count <= 7 ? mask : mask >> 1;
}

BH_FN uint32_t bh_keys_match64(const void *keys, uint32_t count, bh_wanted wanted)
{
    bh_keys_line *const line = (bh_keys_line *)(uintptr_t)((const char *)keys - 8);
    uint32_t mask;

    __asm__ volatile("" : "+m"(*line));
    if (count <= 3)
        mask = _mm256_cmpeq_epi64_mask(_mm256_loadu_si256((const __m256i *)(const void *)line),
                                       _mm512_castsi512_si256(wanted));
    else
        mask = _mm512_cmpeq_epi64_mask(_mm512_load_si512(line), wanted);
    __asm__ volatile("" : "+m"(*line));
    return bh_avx512_bits(mask);
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

#define BH_VEC 8u

typedef __m512i bh_vec;

typedef struct bh_vec_table {
    __m512i words;
} bh_vec_table;

BH_FN bh_vec bh_vec_all(uint64_t word)
{
    return _mm512_set1_epi64((long long)word);
}

BH_FN bh_vec bh_vec_load32(const uint32_t *from)
{
    const void *at = from;

    return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)at));
}

BH_FN bh_vec bh_vec_load64(const uint64_t *from)
{
    return _mm512_loadu_si512(from);
}

BH_FN void bh_vec_store64(uint64_t *to, bh_vec v)
{
    _mm512_storeu_si512(to, v);
}

BH_FN bh_vec bh_vec_add(bh_vec a, bh_vec b)
{
    return _mm512_add_epi64(a, b);
}

BH_FN bh_vec bh_vec_subtract(bh_vec a, bh_vec b)
{
    return _mm512_sub_epi64(a, b);
}

BH_FN bh_vec bh_vec_and(bh_vec a, bh_vec b)
{
    return _mm512_and_si512(a, b);
}

BH_FN bh_vec bh_vec_or(bh_vec a, bh_vec b)
{
    return _mm512_or_si512(a, b);
}

BH_FN bh_vec bh_vec_xor(bh_vec a, bh_vec b)
{
    return _mm512_xor_si512(a, b);
}

/* Macros: the instructions have their counts in them. */
#define bh_vec_left(v, bits) _mm512_slli_epi64((v), (bits))
#define bh_vec_right(v, bits) _mm512_srli_epi64((v), (bits))

BH_FN bh_vec bh_vec_right_by(bh_vec v, bh_vec bits)
{
    return _mm512_srlv_epi64(v, bits);
}

BH_FN bh_vec bh_vec_rotate(bh_vec v, bh_vec bits)
{
    return _mm512_rorv_epi64(v, bits);
}

BH_FN bh_vec bh_vec_swap(bh_vec v)
{
    return _mm512_rol_epi64(v, 32);
}

BH_FN bh_vec bh_vec_halves(bh_vec low, bh_vec high)
{
    return _mm512_mask_mov_epi32(low, 0xaaaa, high);
}

BH_FN uint32_t bh_vec_zeros(bh_vec v)
{
    return bh_avx512_bits(_mm512_testn_epi64_mask(v, v));
}

BH_FN bh_vec bh_vec_if_zero(bh_vec v, bh_vec a, bh_vec b)
{
    return _mm512_mask_mov_epi64(b, _mm512_testn_epi64_mask(v, v), a);
}

BH_FN bh_vec bh_vec_spread8(bh_vec v)
{
    const __m128i lowest = _mm_set_epi64x(0x0808080808080808, 0);

    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(lowest));
}

BH_FN bh_vec bh_vec_equal8(bh_vec a, bh_vec b)
{
    return _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(a, b));
}

/* See avx2.h. */
BH_FN bh_vec bh_vec_first8(bh_vec v)
{
    const __m512i zero = _mm512_setzero_si512();
    const __m512i below = _mm512_andnot_si512(v, _mm512_sub_epi64(v, _mm512_set1_epi64(1)));

    return _mm512_sad_epu8(_mm512_sub_epi8(zero, below), zero);
}

BH_FN bh_vec bh_vec_multiply32(bh_vec a, bh_vec b)
{
    return _mm512_mul_epu32(a, b);
}

#include "targets/vector_multiply.h"

BH_FN bh_vec_table bh_vec_table_load(const uint64_t *from)
{
    bh_vec_table table;

    table.words = _mm512_loadu_si512(from);
    return table;
}

BH_FN bh_vec bh_vec_pick(const bh_vec_table *table, bh_vec index)
{
    return _mm512_permutexvar_epi64(index, table->words);
}

BH_FN bh_vec bh_vec_pick32(const bh_vec_table *table, bh_vec index)
{
    return bh_vec_pick(table, index);
}

BH_FN void bh_choose32(uint32_t *to, const uint32_t *from, uint32_t count, uint32_t bits)
{
    const __mmask8 chosen = (__mmask8)bits;

    (void)count;
    _mm256_storeu_si256(
        (__m256i *)(void *)to,
        _mm256_mask_loadu_epi32(_mm256_loadu_si256((const __m256i *)(void *)to), chosen, from));
}

BH_FN uint32_t bh_equal32(const uint32_t *from, uint32_t count, uint32_t word)
{
    (void)count;
    return bh_avx512_bits(
        _mm256_cmpeq_epi32_mask(_mm256_loadu_epi32(from), _mm256_set1_epi32((int)word)));
}

BH_FN uint32_t bh_part_pairs(const uint64_t *words, const uint32_t *keys, uint32_t *values,
                             uint32_t count)
{
    const __m512i all = _mm512_loadu_epi64(words);

    (void)count;
    _mm256_storeu_epi32(values, _mm512_cvtepi64_epi32(_mm512_srli_epi64(all, 32)));
    return bh_avx512_bits(
        _mm256_cmpneq_epi32_mask(_mm512_cvtepi64_epi32(all), _mm256_loadu_epi32(keys)));
}

BH_FN void bh_choose64(uint64_t *to, const uint64_t *from, uint32_t count, uint32_t bits)
{
    const __mmask8 chosen = (__mmask8)bits;

    (void)count;
    _mm512_storeu_si512(to, _mm512_mask_loadu_epi64(_mm512_loadu_si512(to), chosen, from));
}

#endif
