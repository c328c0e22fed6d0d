/*
 * The words that all CPU targets share: the compilers' atomic built-ins with the
 * order on the access itself, so that ThreadSanitizer sees every edge.
 */
#ifndef BH_TARGETS_CPU_H
#define BH_TARGETS_CPU_H

#include <stdint.h>

/* Operation text is always inlined: an instance is compiled for constant widths and a constant
 * kind of operation, and what does not apply must vanish from it. */
#define BH_FN static inline __attribute__((always_inline, unused))

BH_FN uint32_t bh_load32(const void *p)
{
    return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
}

BH_FN uint64_t bh_load64(const void *p)
{
    return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

BH_FN void bh_store32(void *p, uint32_t value)
{
    __atomic_store_n((uint32_t *)p, value, __ATOMIC_RELEASE);
}

BH_FN void bh_store64(void *p, uint64_t value)
{
    __atomic_store_n((uint64_t *)p, value, __ATOMIC_RELEASE);
}

BH_FN int bh_swap_if64(void *p, uint64_t expected, uint64_t desired)
{
    return __atomic_compare_exchange_n((uint64_t *)p, &expected, desired, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

BH_FN void bh_add64(void *p, uint64_t value)
{
    __atomic_fetch_add((uint64_t *)p, value, __ATOMIC_RELAXED);
}

BH_FN void bh_bring(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

BH_FN void bh_bring_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

BH_FN uint32_t bh_first(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

BH_FN uint32_t bh_count(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

BH_FN uint64_t bh_multiply(uint64_t a, uint64_t b, uint64_t *high)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
}

#endif
