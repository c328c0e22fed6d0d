/* Key and value of 4 bytes each, side by side in one word, which one access reads or writes. */
#ifndef BH_TABLES_PAIR_H
#define BH_TABLES_PAIR_H

#include "targets/target.h"

/* A pair of 4+4 bytes as one word: the key is at the lower address. */
BH_FN uint64_t bh_pair(uint64_t key, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return key << 32 | (uint32_t)value;
#else
    return value << 32 | (uint32_t)key;
#endif
}

BH_FN uint32_t bh_pair_key(uint64_t pair)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint32_t)(pair >> 32);
#else
    return (uint32_t)pair;
#endif
}

BH_FN uint32_t bh_pair_value(uint64_t pair)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint32_t)pair;
#else
    return (uint32_t)(pair >> 32);
#endif
}

#endif
