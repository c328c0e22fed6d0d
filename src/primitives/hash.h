/*
 * The hash of all designs: a key of at most 8 bytes and the table's seed give two
 * 64-bit words that behave as if drawn at random and independently.
 *
 * Two rounds of "multiply to 128 bits and fold". One round is a lattice: keys in
 * arithmetic progression keep a visible order in it; the second round breaks it.
 * Both multipliers and the first mask are drawn from the seed, so that keys that
 * collide cannot be chosen without knowing it; this is meant against accidents and
 * simple attacks and has not been analysed as cryptography. The same words run on a GPU.
 */
#ifndef BH_PRIMITIVES_HASH_H
#define BH_PRIMITIVES_HASH_H

#include <stdint.h>

typedef struct bh_seed {
    uint64_t mask;
    uint64_t first;  /* odd */
    uint64_t second; /* odd */
} bh_seed;

/* One step of the splitmix64 generator: turns a user's seed, however poor, into multipliers. */
static inline uint64_t bh_seed_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static inline bh_seed bh_seed_expand(uint64_t seed)
{
    bh_seed s;

    s.mask = bh_seed_next(&seed);
    s.first = bh_seed_next(&seed) | 1;
    s.second = bh_seed_next(&seed) | 1;
    return s;
}

/* Host code that only makes seeds includes this header without a target. */
#ifdef BH_FN

typedef struct bh_hash {
    uint64_t one;
    uint64_t two;
} bh_hash;

BH_FN bh_hash bh_hash_key(uint64_t key, const bh_seed *seed)
{
    uint64_t high, low = bh_multiply(key ^ seed->mask, seed->first, &high);
    bh_hash h;

    low = bh_multiply(low ^ high, seed->second, &high);
    h.one = low ^ high;
    h.two = high + (low << 32 | low >> 32);
    return h;
}

#ifdef BH_VEC

/* bh_hash_key of several keys. */
typedef struct bh_hashes {
    bh_vec one;
    bh_vec two;
} bh_hashes;

BH_FN bh_hashes bh_hash_keys(bh_vec keys, uint32_t key_bytes, const bh_seed *seed)
{
    const bh_vec mask = bh_vec_all(seed->mask), masked = bh_vec_xor(keys, mask);
    /* The upper halves of keys of 4 bytes are 0, so these are the same for all keys. */
    const bh_vec upper = bh_vec_right(key_bytes == 4 ? mask : masked, 32);
    bh_vec high, low = bh_vec_multiply(masked, upper, bh_vec_all(seed->first), &high);
    bh_hashes h;

    low = bh_vec_xor(low, high);
    low = bh_vec_multiply(low, bh_vec_right(low, 32), bh_vec_all(seed->second), &high);
    h.one = bh_vec_xor(low, high);
    h.two = bh_vec_add(high, bh_vec_swap(low));
    return h;
}

/* bh_hash_range of several words, for n of at most 32 bits. */
BH_FN bh_vec bh_hash_ranges(bh_vec words, bh_vec n)
{
    return bh_vec_right(bh_vec_add(bh_vec_multiply32(bh_vec_right(words, 32), n),
                                   bh_vec_right(bh_vec_multiply32(words, n), 32)),
                        32);
}

#endif

/* Maps a word to [0, n) by its upper bits, evenly. */
BH_FN uint64_t bh_hash_range(uint64_t word, uint64_t n)
{
    uint64_t high;

    (void)bh_multiply(word, n, &high);
    return high;
}

/* Where in an array that has doubled `doublings` times a word's place is, as a fraction of 2^32: the low bits
 * that `mask` says, 2^doublings - 1, and then the upper ones. */
BH_FN uint32_t bh_hash_place(uint64_t word, uint64_t mask, uint32_t doublings)
{
    return (uint32_t)(((word & mask) << 32 | word >> 32) >> doublings);
}

#endif

#endif
