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

BH_FN uint64_t bh_line_match8(bh_line line, uint32_t byte)
{
    const __m256i wanted = _mm256_set1_epi8((char)byte);
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(line.low, wanted));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(line.high, wanted));

    return (uint64_t)high << 32 | low;
}

BH_FN uint64_t bh_line_match8_odd(bh_line line, uint32_t byte)
{
    const __m256i odd = _mm256_set1_epi8(1);

    line.low = _mm256_or_si256(line.low, odd);
    line.high = _mm256_or_si256(line.high, odd);
    return bh_line_match8(line, byte);
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

/* A line, as the asm of the next words pretends to change it. */
typedef struct bh_keys_line {
    char byte[64];
} bh_keys_line;

typedef __m256i bh_wanted;

BH_FN bh_wanted bh_wanted32(uint32_t key)
{
    return _mm256_broadcastd_epi32(_mm_cvtsi32_si128((int)key));
}

BH_FN bh_wanted bh_wanted64(uint64_t key)
{
    return _mm256_broadcastq_epi64(_mm_cvtsi64_si128((long long)key));
}

/* 32 bytes at a time, the first of which begin a word before the keys, so that each key has its bit. The empty asm
 * keeps the loads in place, as in bh_line_load (within a line each aligned 4 or 8 bytes of them are of one instant);
 * but it pretends to change the line alone, so the compiler may go
 * on with what it has in other memory. */
BH_FN uint32_t bh_keys_match32(const void *keys, uint32_t count, bh_wanted wanted)
{
    bh_keys_line *const line = (bh_keys_line *)(uintptr_t)((const char *)keys - 8);
    const __m256i *const first = (const __m256i *)(const void *)((const uint32_t *)keys - 1);
    const __m256i *const last = (const __m256i *)(const void *)((const uint32_t *)keys + count - 8);
    uint32_t mask;

    __asm__ volatile("" : "+m"(*line));
    mask = (uint32_t)_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_loadu_si256(first), wanted)));
    if (count > 7)
        mask |= (uint32_t)_mm256_movemask_ps(
                    _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_loadu_si256(last), wanted)))
                << (count - 7);
    __asm__ volatile("" : "+m"(*line));
    return mask;
}

BH_FN uint32_t bh_keys_match64(const void *keys, uint32_t count, bh_wanted wanted)
{
    bh_keys_line *const line = (bh_keys_line *)(uintptr_t)((const char *)keys - 8);
    const __m256i *const first = (const __m256i *)(const void *)((const uint64_t *)keys - 1);
    const __m256i *const last = (const __m256i *)(const void *)((const uint64_t *)keys + count - 4);
    uint32_t mask = 0;

    __asm__ volatile("" : "+m"(*line));
    if (count != 4)
        mask = (uint32_t)_mm256_movemask_pd(
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256(first), wanted)));
    if (count > 3)
        mask |= (uint32_t)_mm256_movemask_pd(
                    _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_loadu_si256(last), wanted)))
                << (count - 3);
    __asm__ volatile("" : "+m"(*line));
    return mask;
}

/* The numbers of the words of eight that a mask has, a byte each, the first one lowest: put together from those of its
 * lower and of its upper four bits. */
BH_FN uint64_t bh_order8(uint32_t mask)
{
    static const uint32_t order[16] = {0,      0,        1,        0x0100,    2,      0x0200,
                                       0x0201, 0x020100, 3,        0x0300,    0x0301, 0x030100,
                                       0x0302, 0x030200, 0x030201, 0x03020100};
    const uint64_t upper = order[mask >> 4] + 0x04040404u;

    return order[mask & 15] | upper << 8 * bh_count(mask & 15);
}

/* Where `count` is a multiple of 8, eight words at a time are permuted; else four at a time are shuffled to the front.
 * The first four overlap the next ones where `count` is not a multiple of 4, so that nothing is read or written beyond
 * `count` words. */
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
    if (count % 8 == 0) {
        for (i = 0; i < count; i += 8) {
            const uint32_t now = mask >> i & 255;
            const void *at = (const uint32_t *)from + i;
            const __m256i by = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bh_order8(now)));

            _mm256_storeu_si256(
                (__m256i *)(void *)next,
                _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)at), by));
            next += bh_count(now);
        }
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

/* The same of four words of 8 bytes at a time, picked by halves, where `count` is a multiple of 4. A line has other
 * counts, and few words. */
BH_FN void bh_pack64(void *to, const void *from, uint32_t count, uint32_t mask)
{
#define BH_ORDER(a, b, c, d)                                                                       \
    {                                                                                              \
        2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d), 2 * (d) + 1     \
    }
    static const uint32_t order[16][8] __attribute__((aligned(32))) = {
        BH_ORDER(0, 0, 0, 0), BH_ORDER(0, 0, 0, 0), BH_ORDER(1, 0, 0, 0), BH_ORDER(0, 1, 0, 0),
        BH_ORDER(2, 0, 0, 0), BH_ORDER(0, 2, 0, 0), BH_ORDER(1, 2, 0, 0), BH_ORDER(0, 1, 2, 0),
        BH_ORDER(3, 0, 0, 0), BH_ORDER(0, 3, 0, 0), BH_ORDER(1, 3, 0, 0), BH_ORDER(0, 1, 3, 0),
        BH_ORDER(2, 3, 0, 0), BH_ORDER(0, 2, 3, 0), BH_ORDER(1, 2, 3, 0), BH_ORDER(0, 1, 2, 3)};
#undef BH_ORDER
    uint64_t *next = (uint64_t *)to;
    uint32_t i;

    if (count % 4) {
        bh_pack64_plain(to, from, count, mask);
        return;
    }
    for (i = 0; i < count; i += 4) {
        const uint32_t now = mask >> i & 15;
        const void *at = (const uint64_t *)from + i, *by = order[now];

        _mm256_storeu_si256((__m256i *)(void *)next,
                            _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)at),
                                                        _mm256_load_si256((const __m256i *)by)));
        next += bh_count(now);
    }
}

#define BH_VEC 4u

typedef __m256i bh_vec;

/* The lower halves of eight words, and the upper ones: the words are picked by halves. */
typedef struct bh_vec_table {
    __m256i low;
    __m256i high;
} bh_vec_table;

BH_FN bh_vec bh_vec_all(uint64_t word)
{
    return _mm256_set1_epi64x((long long)word);
}

BH_FN bh_vec bh_vec_load32(const uint32_t *from)
{
    const void *at = from;

    return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)at));
}

BH_FN bh_vec bh_vec_load64(const uint64_t *from)
{
    const void *at = from;

    return _mm256_loadu_si256((const __m256i *)at);
}

BH_FN void bh_vec_store64(uint64_t *to, bh_vec v)
{
    void *at = to;

    _mm256_storeu_si256((__m256i *)at, v);
}

BH_FN bh_vec bh_vec_add(bh_vec a, bh_vec b)
{
    return _mm256_add_epi64(a, b);
}

BH_FN bh_vec bh_vec_subtract(bh_vec a, bh_vec b)
{
    return _mm256_sub_epi64(a, b);
}

BH_FN bh_vec bh_vec_and(bh_vec a, bh_vec b)
{
    return _mm256_and_si256(a, b);
}

BH_FN bh_vec bh_vec_or(bh_vec a, bh_vec b)
{
    return _mm256_or_si256(a, b);
}

BH_FN bh_vec bh_vec_xor(bh_vec a, bh_vec b)
{
    return _mm256_xor_si256(a, b);
}

/* Macros: the instructions have their counts in them. */
#define bh_vec_left(v, bits) _mm256_slli_epi64((v), (bits))
#define bh_vec_right(v, bits) _mm256_srli_epi64((v), (bits))

BH_FN bh_vec bh_vec_right_by(bh_vec v, bh_vec bits)
{
    return _mm256_srlv_epi64(v, bits);
}

/* A shift by 64 gives 0. */
BH_FN bh_vec bh_vec_rotate(bh_vec v, bh_vec bits)
{
    return _mm256_or_si256(_mm256_srlv_epi64(v, bits),
                           _mm256_sllv_epi64(v, _mm256_sub_epi64(_mm256_set1_epi64x(64), bits)));
}

BH_FN bh_vec bh_vec_swap(bh_vec v)
{
    return _mm256_shuffle_epi32(v, 0xb1);
}

BH_FN bh_vec bh_vec_halves(bh_vec low, bh_vec high)
{
    return _mm256_blend_epi32(low, high, 0xaa);
}

BH_FN uint32_t bh_vec_zeros(bh_vec v)
{
    return (uint32_t)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpeq_epi64(v, _mm256_setzero_si256())));
}

BH_FN bh_vec bh_vec_if_zero(bh_vec v, bh_vec a, bh_vec b)
{
    return _mm256_blendv_epi8(b, a, _mm256_cmpeq_epi64(v, _mm256_setzero_si256()));
}

BH_FN bh_vec bh_vec_spread8(bh_vec v)
{
    const __m256i lowest = _mm256_setr_epi64x(0, 0x0808080808080808, 0, 0x0808080808080808);

    return _mm256_shuffle_epi8(v, lowest);
}

BH_FN bh_vec bh_vec_equal8(bh_vec a, bh_vec b)
{
    return _mm256_cmpeq_epi8(a, b);
}

/* Bytes below the first one, which are 255, are negated and added up. */
BH_FN bh_vec bh_vec_first8(bh_vec v)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i below = _mm256_andnot_si256(v, _mm256_sub_epi64(v, _mm256_set1_epi64x(1)));

    return _mm256_sad_epu8(_mm256_sub_epi8(zero, below), zero);
}

BH_FN bh_vec bh_vec_multiply32(bh_vec a, bh_vec b)
{
    return _mm256_mul_epu32(a, b);
}

#include "targets/vector_multiply.h"

BH_FN bh_vec_table bh_vec_table_load(const uint64_t *from)
{
    uint32_t low[8], high[8];
    bh_vec_table table;
    int i;

    for (i = 0; i < 8; i++) {
        low[i] = (uint32_t)from[i];
        high[i] = (uint32_t)(from[i] >> 32);
    }
    __builtin_memcpy(&table.low, low, sizeof low);
    __builtin_memcpy(&table.high, high, sizeof high);
    return table;
}

BH_FN bh_vec bh_vec_pick(const bh_vec_table *table, bh_vec index)
{
    const bh_vec both = _mm256_shuffle_epi32(index, 0xa0);

    return bh_vec_halves(_mm256_permutevar8x32_epi32(table->low, both),
                         _mm256_permutevar8x32_epi32(table->high, both));
}

BH_FN bh_vec bh_vec_pick32(const bh_vec_table *table, bh_vec index)
{
    return _mm256_permutevar8x32_epi32(table->low, index);
}

BH_FN void bh_choose32(uint32_t *to, const uint32_t *from, uint32_t count, uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i chosen =
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
    void *at = to;
    const void *with = from;

    (void)count;
    _mm256_storeu_si256((__m256i *)at,
                        _mm256_blendv_epi8(_mm256_loadu_si256((const __m256i *)at),
                                           _mm256_loadu_si256((const __m256i *)with), chosen));
}

BH_FN uint32_t bh_equal32(const uint32_t *from, uint32_t count, uint32_t word)
{
    const void *at = from;

    (void)count;
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(
        _mm256_cmpeq_epi32(_mm256_loadu_si256((const __m256i *)at), _mm256_set1_epi32((int)word))));
}

BH_FN uint32_t bh_part_pairs(const uint64_t *words, const uint32_t *keys, uint32_t *values,
                             uint32_t count)
{
    const __m256 low = _mm256_castsi256_ps(bh_vec_load64(words));
    const __m256 high = _mm256_castsi256_ps(bh_vec_load64(words + 4));
    /* The shuffle picks from each half of both: of pairs 0, 1, 4, 5, then of 2, 3, 6, 7. */
    const __m256i even = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
    const __m256i odd = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd));
    const void *at = keys;
    void *to = values;

    (void)count;
    _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(odd, 0xd8));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(
               _mm256_permute4x64_epi64(even, 0xd8), _mm256_loadu_si256((const __m256i *)at)))) ^
           0xff;
}

BH_FN void bh_choose64(uint64_t *to, const uint64_t *from, uint32_t count, uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    uint32_t i;

    for (i = 0; i < count; i += 4) {
        const __m256i chosen =
            _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits >> i), bit), bit);
        void *at = to + i;
        const void *with = from + i;

        _mm256_storeu_si256((__m256i *)at,
                            _mm256_blendv_epi8(_mm256_loadu_si256((const __m256i *)at),
                                               _mm256_loadu_si256((const __m256i *)with), chosen));
    }
}

#endif
