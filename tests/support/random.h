/*
 * Random numbers for tests: splitmix64, whose whole state is one number, so that a failure can be
 * repeated from the seed that check() prints. Also two bijections, which make as many distinct
 * keys as a test likes without remembering them.
 */
#ifndef BULKHASH_TESTS_SUPPORT_RANDOM_H
#define BULKHASH_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

/* A bijection of 64-bit numbers: splitmix64's last step. 0 stays 0. */
static inline uint64_t random_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A bijection of 32-bit numbers: the end of MurmurHash3. 0 stays 0. */
static inline uint32_t random_mix32(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

static inline rng random_start(uint64_t seed)
{
    rng generator = {seed};
    return generator;
}

static inline uint64_t random_next(rng *generator)
{
    generator->state += 0x9e3779b97f4a7c15u;
    return random_mix64(generator->state);
}

/* A number in [0, bound); bound > 0. The bias of the remainder does not matter here. */
static inline uint64_t random_below(rng *generator, uint64_t bound)
{
    return random_next(generator) % bound;
}

/* The `index`-th of a sequence of distinct keys of `key_bytes` (4 or 8), scattered by `salt`. */
static inline uint64_t random_key(uint32_t key_bytes, uint64_t salt, uint64_t index)
{
    return key_bytes == 4 ? random_mix32((uint32_t)(index + salt)) : random_mix64(index + salt);
}

#endif
