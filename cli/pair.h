/* A key and how often it occurs, as the program works with them: a key of any width as 64 bits, below zero
 * as two's complement. */
#ifndef BULKHASH_CLI_PAIR_H
#define BULKHASH_CLI_PAIR_H

#include <stdint.h>

struct pair {
    uint64_t key;
    uint64_t count;
};

/* A key of an array. Inlined, as its width is a constant in the loops that read many. */
static inline __attribute__((always_inline)) uint64_t key_at(const void *keys, uint64_t i,
                                                             uint32_t key_bytes)
{
    return key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

#endif
