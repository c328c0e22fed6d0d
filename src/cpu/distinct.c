/*
 * The keys that have been seen lie in a table of their own, with linear probing, of which at most an eighth is full: the
 * number of a key in the array plus one, 0 where there is none. (Half full it takes 8 ns a key instead of 3: whether a place is taken
 * no processor foresees.)
 */
#include "cpu/distinct.h"

#include "cpu/scramble.h"

#include <string.h>

#define PLACES_OF_KEY 8u

_Static_assert((BH_DISTINCT_MOST & (BH_DISTINCT_MOST - 1)) == 0, "places are chosen by bits");
_Static_assert(BH_DISTINCT_MOST < UINT16_MAX, "a place holds the number of a key");

/* Places with other keys that may be looked at for the keys until the i-th. There is one for every fourteen keys at most;
 * more than this have only keys that were chosen for it. */
static inline uint32_t looks_most(uint32_t i)
{
    return 64 + i;
}

static inline uint32_t place_of(uint64_t key, uint32_t bits)
{
    return (uint32_t)(bh__scramble(key) >> (64 - bits));
}

/* bh__distinct() for constant `key_bytes`. */
static inline uint32_t distinct(const void *keys, uint32_t key_bytes, uint32_t count)
{
    uint16_t places[PLACES_OF_KEY * BH_DISTINCT_MOST];
    uint32_t bits = 1, looks = 0, mask, i;

    while (1u << bits < PLACES_OF_KEY * count)
        bits++;
    mask = (1u << bits) - 1;
    memset(places, 0, sizeof *places << bits);
    for (i = 0; i < count; i++) {
        const uint64_t key = bh__key_at(keys, key_bytes, i);
        uint32_t place = place_of(key, bits);

        while (places[place]) {
            if (bh__key_at(keys, key_bytes, places[place] - 1u) == key || ++looks > looks_most(i))
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
