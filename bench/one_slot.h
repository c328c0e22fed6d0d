/*
 * A cuckoo table whose slots hold one pair each, with four hash functions: the table of Alcantara and others
 * ("Building an efficient hash table on the GPU", 2011), with which the Stadium hashing paper compares. It is
 * there to be compared with, on cores and on a GPU, and has only what that needs.
 *
 *   - A pair is a word: the key, and the value above it, 4 bytes each.
 *   - An insertion exchanges its pair with what lies in the first of the key's four places. If that was a
 *     pair, it goes to the next one of its own four places in the same way, and so on. A pair whose chain takes
 *     ONE_SLOT_CHAIN exchanges is lost. Keys must not be there yet.
 *   - A lookup reads the places of its key until it finds the key. As in the paper it reads all four for an absent
 *     key. It could also stop at an empty place (insertions go to the first place first, and a place never
 *     becomes empty again); `stops` asks for that.
 *   - One word stands for an empty place, and must be no pair. No pair of the benchmark is that word.
 *
 * While pairs are being inserted, a lookup may miss a pair that is between two places. So insertions and
 * lookups of a mixed call run one after the other, each over all elements, as in the paper.
 *
 * The text below is for all devices: gpu.cu runs one_slot_element() in a thread for each element,
 * tests/fake/gpu.c in a loop. Cores work on a block of elements at a time (cuckoo.c), so that their
 * places can be prefetched.
 */
#ifndef BH_BENCH_ONE_SLOT_H
#define BH_BENCH_ONE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "bulkhash/bulkhash.h"

#define ONE_SLOT_EMPTY UINT64_MAX
#define ONE_SLOT_PLACES 4u
#define ONE_SLOT_CHAIN 1024u

/* A call: n insertions (BH_INSERT) or lookups (BH_FIND). */
typedef struct one_slot_call {
    uint64_t *slots;
    uint32_t slot_count;
    uint8_t what;
    uint8_t stops;
    const uint32_t *keys;
    uint32_t *values;
    uint8_t *outcomes;
    const uint8_t *ops; /* not NULL: elements whose operation is not `what` are left alone */
    uint64_t n;
} one_slot_call;

#ifdef __CUDACC__
#define ONE_SLOT_FN static __device__ __forceinline__
#else
#define ONE_SLOT_FN static inline
#endif

ONE_SLOT_FN uint64_t one_slot_pair(uint32_t key, uint32_t value)
{
    return (uint64_t)value << 32 | key;
}

/* Place number i of a key. */
ONE_SLOT_FN uint32_t one_slot_place(uint32_t key, uint32_t i, uint32_t slot_count)
{
    uint32_t x = key ^ (i + 1) * 0x9e3779b9u;

    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    x ^= x >> 16;
    return (uint32_t)((uint64_t)x * slot_count >> 32);
}

/* Where a pair goes that has been taken out of `place`. If two of its places are the same, that is the first of
 * them: so a pair has been in all places before the one where it lies, and none of these is empty. */
ONE_SLOT_FN uint32_t one_slot_next(uint32_t key, uint32_t place, uint32_t slot_count)
{
    uint32_t i = 0;

    while (i < ONE_SLOT_PLACES - 1 && one_slot_place(key, i, slot_count) != place)
        i++;
    return one_slot_place(key, (i + 1) % ONE_SLOT_PLACES, slot_count);
}

ONE_SLOT_FN uint64_t one_slot_exchange(uint64_t *slot, uint64_t pair)
{
#ifdef __CUDACC__
    return atomicExch((unsigned long long *)slot, (unsigned long long)pair);
#else
    return __atomic_exchange_n(slot, pair, __ATOMIC_RELAXED);
#endif
}

ONE_SLOT_FN uint64_t one_slot_load(const uint64_t *slot)
{
#ifdef __CUDACC__
    return *slot; /* no kernel inserts while another one looks up */
#else
    return __atomic_load_n(slot, __ATOMIC_RELAXED);
#endif
}

ONE_SLOT_FN bool one_slot_insert(const one_slot_call *c, uint32_t key, uint32_t value)
{
    uint64_t pair = one_slot_pair(key, value);
    uint32_t place = one_slot_place(key, 0, c->slot_count), step;

    for (step = 0; step < ONE_SLOT_CHAIN; step++) {
        pair = one_slot_exchange(&c->slots[place], pair);
        if (pair == ONE_SLOT_EMPTY)
            return true;
        place = one_slot_next((uint32_t)pair, place, c->slot_count);
    }
    return false;
}

ONE_SLOT_FN bool one_slot_find(const one_slot_call *c, uint32_t key, uint32_t *value)
{
    uint32_t i;

    for (i = 0; i < ONE_SLOT_PLACES; i++) {
        const uint64_t pair = one_slot_load(&c->slots[one_slot_place(key, i, c->slot_count)]);

        if ((uint32_t)pair == key && pair != ONE_SLOT_EMPTY) {
            *value = (uint32_t)(pair >> 32);
            return true;
        }
        if (c->stops && pair == ONE_SLOT_EMPTY)
            break;
    }
    return false;
}

/* Carries element i of a call to its end. Of a pair that is lost its last inserter says BH_NOT_DONE. */
ONE_SLOT_FN void one_slot_element(const one_slot_call *c, uint64_t i)
{
    if (c->ops && c->ops[i] != c->what)
        return;
    if (c->what == BH_INSERT)
        c->outcomes[i] = one_slot_insert(c, c->keys[i], c->values[i]) ? BH_INSERTED : BH_NOT_DONE;
    else
        c->outcomes[i] = one_slot_find(c, c->keys[i], &c->values[i]) ? BH_FOUND : BH_MISSING;
}

#endif
