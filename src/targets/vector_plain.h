/* The vector words for targets without vector instructions: a vector is one word. */
#ifndef BH_TARGETS_VECTOR_PLAIN_H
#define BH_TARGETS_VECTOR_PLAIN_H

#include "targets/host.h"

#define BH_VEC 1u

typedef uint64_t bh_vec;

typedef struct bh_vec_table {
    uint64_t word[8];
} bh_vec_table;

BH_FN bh_vec bh_vec_all(uint64_t word)
{
    return word;
}

BH_FN bh_vec bh_vec_load32(const uint32_t *from)
{
    return *from;
}

BH_FN bh_vec bh_vec_load64(const uint64_t *from)
{
    return *from;
}

BH_FN void bh_vec_store64(uint64_t *to, bh_vec v)
{
    *to = v;
}

BH_FN bh_vec bh_vec_add(bh_vec a, bh_vec b)
{
    return a + b;
}

BH_FN bh_vec bh_vec_subtract(bh_vec a, bh_vec b)
{
    return a - b;
}

BH_FN bh_vec bh_vec_and(bh_vec a, bh_vec b)
{
    return a & b;
}

BH_FN bh_vec bh_vec_or(bh_vec a, bh_vec b)
{
    return a | b;
}

BH_FN bh_vec bh_vec_xor(bh_vec a, bh_vec b)
{
    return a ^ b;
}

BH_FN bh_vec bh_vec_left(bh_vec v, int bits)
{
    return v << bits;
}

BH_FN bh_vec bh_vec_right(bh_vec v, int bits)
{
    return v >> bits;
}

BH_FN bh_vec bh_vec_right_by(bh_vec v, bh_vec bits)
{
    return v >> bits;
}

BH_FN bh_vec bh_vec_rotate(bh_vec v, bh_vec bits)
{
    return v >> bits | v << (0 - bits) % 64;
}

BH_FN bh_vec bh_vec_swap(bh_vec v)
{
    return v << 32 | v >> 32;
}

BH_FN uint32_t bh_vec_zeros(bh_vec v)
{
    return v == 0;
}

BH_FN bh_vec bh_vec_if_zero(bh_vec v, bh_vec a, bh_vec b)
{
    return v ? b : a;
}

BH_FN bh_vec bh_vec_spread8(bh_vec v)
{
    return (v & 255) * 0x0101010101010101ull;
}

BH_FN bh_vec bh_vec_equal8(bh_vec a, bh_vec b)
{
    return (bh_zero_bytes(a ^ b) >> 7) * 255;
}

BH_FN bh_vec bh_vec_first8(bh_vec v)
{
    return v ? bh_first64(v) / 8 : 8;
}

BH_FN bh_vec bh_vec_multiply32(bh_vec a, bh_vec b)
{
    return (uint64_t)(uint32_t)a * (uint32_t)b;
}

BH_FN bh_vec bh_vec_multiply(bh_vec a, bh_vec a_upper, bh_vec b, bh_vec *high)
{
    (void)a_upper;
    return bh_multiply(a, b, high);
}

BH_FN bh_vec_table bh_vec_table_load(const uint64_t *from)
{
    bh_vec_table table;
    int i;

    for (i = 0; i < 8; i++)
        table.word[i] = from[i];
    return table;
}

BH_FN bh_vec bh_vec_pick(const bh_vec_table *table, bh_vec index)
{
    return table->word[index];
}

BH_FN bh_vec bh_vec_pick32(const bh_vec_table *table, bh_vec index)
{
    return table->word[index];
}

BH_FN void bh_choose32(uint32_t *to, const uint32_t *from, uint32_t count, uint32_t bits)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        to[i] = bits >> i & 1 ? from[i] : to[i];
}

BH_FN uint32_t bh_equal32(const uint32_t *from, uint32_t count, uint32_t word)
{
    uint32_t bits = 0, i;

    for (i = 0; i < count; i++)
        bits |= (uint32_t)(from[i] == word) << i;
    return bits;
}

BH_FN uint32_t bh_part_pairs(const uint64_t *words, const uint32_t *keys, uint32_t *values,
                             uint32_t count)
{
    uint32_t bits = 0, i;

    for (i = 0; i < count; i++) {
        uint32_t pair[2];

        __builtin_memcpy(pair, words + i, sizeof pair);
        bits |= (uint32_t)(pair[0] != keys[i]) << i;
        values[i] = pair[1];
    }
    return bits;
}

BH_FN void bh_choose64(uint64_t *to, const uint64_t *from, uint32_t count, uint32_t bits)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        to[i] = bits >> i & 1 ? from[i] : to[i];
}

#endif
