/*
 * The words that all CPU targets share. On shared memory they are the compilers'
 * atomic built-ins with the order on the access itself, so that ThreadSanitizer sees
 * every edge.
 */
#ifndef BH_TARGETS_HOST_H
#define BH_TARGETS_HOST_H

#include <stdint.h>

#include "base/atomic.h"
#include "bulkhash/bulkhash.h"

/* Operation text is always inlined: an instance is compiled for constant widths and a constant
 * kind of operation, and code that does not apply must vanish from it. (Not with a sanitizer, where
 * it need not be fast, and compiles in a third of the time.) */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BH_SANITIZED 1
#endif
#endif
#if defined(BH_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BH_FN static inline __attribute__((unused))
#else
#define BH_FN static inline __attribute__((always_inline, unused))
#endif

/* Functions that are long and rarely run are not inlined. */
#define BH_FN_RARE static __attribute__((noinline, unused))

#ifndef BH_BRINGS
#define BH_BRINGS 1
#endif
#define BH_QUIET 0
#define BH_ONE_THREAD 1
#ifndef BH_BLANKS
#define BH_BLANKS 0
#endif
#ifndef BH_RUNS_ALIKE
#define BH_RUNS_ALIKE 0
#endif

BH_FN uint32_t bh_load32(const void *p)
{
    return bh__atomic_load((const uint32_t *)p, __ATOMIC_ACQUIRE);
}

BH_FN uint64_t bh_load64(const void *p)
{
    return bh__atomic_load((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

BH_FN uint32_t bh_load8(const void *p)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    p = (const void *)((uintptr_t)p ^ 7);
#endif
    return bh__atomic_load((const uint8_t *)p, __ATOMIC_ACQUIRE);
}

BH_FN void bh_store8(void *p, uint8_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    p = (void *)((uintptr_t)p ^ 7);
#endif
    bh__atomic_store((uint8_t *)p, value, __ATOMIC_RELEASE);
}

BH_FN uint64_t bh_peek64(const void *p)
{
    return bh__atomic_load((const uint64_t *)p, __ATOMIC_RELAXED);
}

BH_FN void bh_store32(void *p, uint32_t value)
{
    bh__atomic_store((uint32_t *)p, value, __ATOMIC_RELEASE);
}

BH_FN void bh_store64(void *p, uint64_t value)
{
    bh__atomic_store((uint64_t *)p, value, __ATOMIC_RELEASE);
}

/* Readers take no lock, so these have the order of all words on shared memory. */
BH_FN uint32_t bh_read32(const void *p)
{
    return bh_load32(p);
}

BH_FN uint64_t bh_read64(const void *p)
{
    return bh_load64(p);
}

BH_FN void bh_write32(void *p, uint32_t value)
{
    bh_store32(p, value);
}

BH_FN void bh_write64(void *p, uint64_t value)
{
    bh_store64(p, value);
}

BH_FN int bh_swap_if64(void *p, uint64_t expected, uint64_t desired)
{
    return bh__atomic_swap_if((uint64_t *)p, &expected, desired, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
}

BH_FN int bh_swap_if32(void *p, uint32_t expected, uint32_t desired)
{
    return bh__atomic_swap_if((uint32_t *)p, &expected, desired, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

BH_FN void bh_add64(void *p, uint64_t value)
{
    bh__atomic_add((uint64_t *)p, value, __ATOMIC_RELAXED);
}

BH_FN uint64_t bh_take64(void *p, uint64_t value)
{
    return bh__atomic_add((uint64_t *)p, value, __ATOMIC_RELAXED);
}

BH_FN uint64_t bh_clear64(void *p, uint64_t bits)
{
    return bh__atomic_and((uint64_t *)p, ~bits, __ATOMIC_RELAXED);
}

BH_FN int bh_join_word(void *p, uint32_t op, uint32_t bytes, uint64_t value)
{
    if (op != BH_ADD)
        return 0;
    if (bytes == 4)
        bh__atomic_add((uint32_t *)p, (uint32_t)value, __ATOMIC_RELAXED);
    else
        bh__atomic_add((uint64_t *)p, value, __ATOMIC_RELAXED);
    return 1;
}

BH_FN void bh_release_add64(void *p, uint64_t value)
{
    bh__atomic_add((uint64_t *)p, value, __ATOMIC_RELEASE);
}

BH_FN void bh_fence_far(void)
{
}

/* Threads of a CPU do not run in lockstep. */
BH_FN int bh_turn(uint32_t refused)
{
    (void)refused;
    return 1;
}

BH_FN uint32_t bh_twins(const void *p)
{
    (void)p;
    return 0;
}

BH_FN int bh_is_first_twin(uint32_t twins)
{
    (void)twins;
    return 1;
}

BH_FN uint64_t bh_of_twin(uint32_t twins, uint32_t which, uint64_t value)
{
    (void)twins;
    (void)which;
    return value;
}

/* A team is one thread. */
BH_FN uint32_t bh_team_size(void)
{
    return 1;
}

BH_FN uint32_t bh_team_lane(void)
{
    return 0;
}

BH_FN void bh_team_meet(void)
{
}

BH_FN int bh_team_any(int flag)
{
    return flag;
}

BH_FN uint32_t bh_first(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

BH_FN uint32_t bh_first64(uint64_t mask)
{
    return (uint32_t)__builtin_ctzll(mask);
}

BH_FN uint64_t bh_zero_bytes(uint64_t word)
{
    const uint64_t lower = 0x7f7f7f7f7f7f7f7full;

    /* Adding to the lower bits of a byte carries into its highest, unless they are 0. */
    return ~(((word & lower) + lower) | word | lower);
}

BH_FN uint32_t bh_bits_of_bytes(uint64_t set)
{
    /* Byte k has a factor that moves its bit to bit 56 + k; no two of the 64 products meet. */
    return (uint32_t)((set >> 7) * 0x0102040810204080ull >> 56);
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

/* bh_pack32 and bh_pack64 word by word, without branches. */
BH_FN void bh_pack32_plain(void *to, const void *from, uint32_t count, uint32_t mask)
{
    uint32_t *next = (uint32_t *)to;
    uint32_t i;

    for (i = 0; i < count; i++) {
        *next = ((const uint32_t *)from)[i];
        next += mask >> i & 1;
    }
}

BH_FN void bh_pack64_plain(void *to, const void *from, uint32_t count, uint32_t mask)
{
    uint64_t *next = (uint64_t *)to;
    uint32_t i;

    for (i = 0; i < count; i++) {
        *next = ((const uint64_t *)from)[i];
        next += mask >> i & 1;
    }
}

#endif
