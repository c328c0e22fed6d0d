/*
 * Arithmetic on sizes that says when a result does not fit, so that no count
 * of keys or bytes ever wraps in silence. All of them answer 1 when the result
 * is exact and was stored, 0 when it does not fit in 64 bits.
 */
#ifndef BH_BASE_CHECKED_H
#define BH_BASE_CHECKED_H

#include <stdint.h>

static inline int bh__add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline int bh__mul(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* Rounds `a` up to a multiple of `unit`, a power of two. */
static inline int bh__round_up(uint64_t a, uint64_t unit, uint64_t *rounded)
{
    if (!bh__add(a, unit - 1, rounded))
        return 0;
    *rounded &= ~(unit - 1);
    return 1;
}

#endif
