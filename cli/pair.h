/* A key and how often it occurs, as the program works with them: a key of any width as 64 bits, below zero
 * as two's complement. */
#ifndef BULKHASH_CLI_PAIR_H
#define BULKHASH_CLI_PAIR_H

#include <stdint.h>

struct pair {
    uint64_t key;
    uint64_t count;
};

#endif
