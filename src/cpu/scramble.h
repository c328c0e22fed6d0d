/*
 * Keys as numbers, and a hash of them for what a call counts of its keys. (Where a key's slots are depends on the table's
 * seed, which this hash does not know: whoever chooses keys that collide here makes a count wrong, and no more.)
 */
#ifndef BH_CPU_SCRAMBLE_H
#define BH_CPU_SCRAMBLE_H

#include <stdint.h>

/* A key of 4 or 8 bytes of an array. */
static inline uint64_t bh__key_at(const void *keys, uint32_t key_bytes, uint64_t i)
{
    return key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* A word whose upper half keys in a row, at equal distances, or with few bits that differ have in common no more often than others. (With
 * two multiplications keys at some distances do, and keys whose halves are alike.) */
static inline uint64_t bh__scramble(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 32) * 0xbf58476d1ce4e5b9u;
    return (key ^ key >> 29) * 0x94d049bb133111ebu;
}

#endif
