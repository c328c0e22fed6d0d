/*
 * Memory that is cut into arrays, in two rounds: first the arrays are cut from an arena that begins at 0,
 * which counts the bytes they take; then memory for them is allocated, and they are cut from it in the
 * same way.
 */
#ifndef BH_STORAGE_ARENA_H
#define BH_STORAGE_ARENA_H

#include "base/checked.h"

typedef struct bh__arena {
    uint64_t at;    /* address of the first free byte, or, without memory, bytes cut so far */
    int overflowed; /* the sum does not fit in 64 bits */
} bh__arena;

/* Cuts an array of `elements` elements of `bytes` bytes, aligned to a line of 64 bytes. */
static inline uint64_t bh__cut(bh__arena *a, uint64_t elements, uint64_t bytes)
{
    uint64_t array = a->at, size;

    if (!bh__mul(elements, bytes, &size) || !bh__round_up(size, 64, &size) ||
        !bh__add(array, size, &a->at))
        a->overflowed = 1;
    return array;
}

/* Rounds bytes, a number that fits in 63 bits, up to whole lines. */
static inline uint64_t bh__lines_up(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static inline void *bh__pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

#endif
