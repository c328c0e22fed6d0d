/* A line as eight words in plain C, for the targets without vector instructions. */
#ifndef BH_TARGETS_WORDS_H
#define BH_TARGETS_WORDS_H

#include "targets/host.h"

#include "targets/vector_plain.h"

typedef struct bh_line {
    uint64_t word[8];
} bh_line;

/* Plain stores: bh_stream_end has nothing to do. */
BH_FN void bh_line_stream(void *to, const void *from)
{
    __builtin_memcpy(to, from, 64);
}

BH_FN void bh_stream_end(void)
{
}

BH_FN uint32_t bh_line_match32(bh_line line, uint32_t first, uint32_t count, uint32_t key)
{
    uint32_t mask = 0, i;

    for (i = 0; i < count; i++) {
        uint32_t at = first + i;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        uint32_t half = ~at & 1;
#else
        uint32_t half = at & 1;
#endif
        mask |= (uint32_t)((uint32_t)(line.word[at / 2] >> (32 * half)) == key) << i;
    }
    return mask;
}

BH_FN uint32_t bh_line_match64(bh_line line, uint32_t first, uint32_t count, uint64_t key)
{
    uint32_t mask = 0, i;

    for (i = 0; i < count; i++)
        mask |= (uint32_t)(line.word[first + i] == key) << i;
    return mask;
}

BH_FN uint64_t bh_line_match8(bh_line line, uint32_t byte)
{
    uint64_t mask = 0;
    uint32_t i;

    for (i = 0; i < 8; i++) {
        const uint64_t word = line.word[i] ^ byte * 0x0101010101010101ull;

        mask |= (uint64_t)bh_bits_of_bytes(bh_zero_bytes(word)) << 8 * i;
    }
    return mask;
}

BH_FN uint64_t bh_line_match8_odd(bh_line line, uint32_t byte)
{
    uint32_t i;

    for (i = 0; i < 8; i++)
        line.word[i] |= 0x0101010101010101ull;
    return bh_line_match8(line, byte);
}

BH_FN void bh_pack32(void *to, const void *from, uint32_t count, uint32_t mask)
{
    bh_pack32_plain(to, from, count, mask);
}

BH_FN void bh_pack64(void *to, const void *from, uint32_t count, uint32_t mask)
{
    bh_pack64_plain(to, from, count, mask);
}

#endif
