/*
 * The keys that have been seen lie in a table of their own, with linear probing, of which at most half is full: the
 * number of a key in the array plus one, 0 where there is none.
 */
#include "cpu/distinct.h"

#include <string.h>

#define PLACES_MOST (2u * BH_SLICE_MOST)

/* Places that are looked at for one key. More are needed only where keys collide on purpose. */
#define LOOKS_MOST 128u

_Static_assert((PLACES_MOST & (PLACES_MOST - 1)) == 0, "places are chosen by bits");
_Static_assert(BH_SLICE_MOST < UINT16_MAX, "a place holds the number of a key");

static inline uint64_t key_at(const void *keys, uint32_t key_bytes, uint32_t i)
{
    return key_bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

/* bh__distinct() for constant `key_bytes`. */
static inline uint32_t distinct(const void *keys, uint32_t key_bytes, uint32_t count)
{
    uint16_t places[PLACES_MOST];
    uint32_t bits = 1, mask, i;

    while (1u << bits < 2 * count)
        bits++;
    mask = (1u << bits) - 1;
    memset(places, 0, sizeof *places << bits);
    for (i = 0; i < count; i++) {
        const uint64_t key = key_at(keys, key_bytes, i);
        uint32_t place = (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - bits)), looks = 0;

        while (places[place]) {
            if (key_at(keys, key_bytes, places[place] - 1u) == key || ++looks == LOOKS_MOST)
                return i;
            place = (place + 1) & mask;
        }
        places[place] = (uint16_t)(i + 1);
    }
    return count;
}

uint32_t bh__distinct(const void *keys, uint32_t key_bytes, uint32_t count)
{
    return key_bytes == 4 ? distinct(keys, 4, count) : distinct(keys, 8, count);
}
