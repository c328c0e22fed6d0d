/*
 * Hot keys (see hot.h). A free place holds some hot key that belongs to another place. Only keys that belong
 * to the free place are compared with it, so none is equal.
 */
#include "hot.h"

#include <stdlib.h>

/* 256 KiB: a part of a core's second cache. The share of the sample below which filtering does not pay: it
 * costs a tenth of sorting. */
enum { place_bits = 14, places = 1 << place_bits, least_share = 8 };

static inline size_t place_of(uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - place_bits));
}

/* Gives a key its place, unless a more frequent one has it. */
static void place_key(struct hot *hot, uint64_t key, uint64_t frequency)
{
    struct pair *place = &hot->places[place_of(key)];

    if (frequency > 1 && frequency > place->count)
        *place = (struct pair){key, frequency};
}

uint64_t hot_choose(struct hot *hot, const void *keys, uint32_t key_bytes, uint64_t count)
{
    uint64_t first = 0, found = 0, some_key = 0;

    *hot = (struct hot){.places = calloc(places, sizeof *hot->places)};
    if (hot->places == NULL || count == 0)
        return 0;
    for (uint64_t i = 1; i <= count; i++) {
        if (i == count || key_at(keys, i, key_bytes) != key_at(keys, first, key_bytes)) {
            place_key(hot, key_at(keys, first, key_bytes), i - first);
            first = i;
        }
    }
    for (size_t i = 0; i < places; i++) {
        found += hot->places[i].count;
        if (hot->places[i].count > 0) {
            hot->count++;
            some_key = hot->places[i].key;
        }
    }
    if (found < count / least_share || hot->count == 0) {
        hot_close(hot);
        return 0;
    }
    for (size_t i = 0; i < places; i++) {
        if (hot->places[i].count == 0)
            hot->places[i].key = some_key;
        hot->places[i].count = 0;
    }
    return found;
}

void hot_copy(struct hot *copy, const struct hot *hot)
{
    *copy = (struct hot){.count = hot->count};
    if (hot->places == NULL)
        return;
    copy->places = malloc(places * sizeof *copy->places);
    if (copy->places == NULL)
        return;
    for (size_t i = 0; i < places; i++)
        copy->places[i] = (struct pair){hot->places[i].key, 0};
}

/* Without a branch, as nobody can foretell which key is hot. The width is a constant where this is called. */
static inline __attribute__((always_inline)) size_t filter(struct pair *all, void *keys,
                                                           uint32_t key_bytes, size_t count)
{
    uint32_t *keys4 = keys;
    uint64_t *keys8 = keys;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t key = key_at(keys, i, key_bytes);
        struct pair *place = &all[place_of(key)];
        bool is_hot = place->key == key;

        place->count += is_hot;
        if (key_bytes == 4)
            keys4[kept] = (uint32_t)key;
        else
            keys8[kept] = key;
        kept += !is_hot;
    }
    return kept;
}

size_t hot_filter(struct hot *hot, void *keys, uint32_t key_bytes, size_t count)
{
    if (hot->places == NULL)
        return count;
    return key_bytes == 4 ? filter(hot->places, keys, 4, count)
                          : filter(hot->places, keys, 8, count);
}

void hot_add(struct hot *hot, const struct hot *copy)
{
    if (copy->places == NULL)
        return;
    for (size_t i = 0; i < places; i++)
        hot->places[i].count += copy->places[i].count;
}

static int compare_keys(const void *one, const void *other)
{
    uint64_t a = ((const struct pair *)one)->key, b = ((const struct pair *)other)->key;

    return (a > b) - (a < b);
}

void hot_list(struct hot *hot)
{
    hot->count = 0;
    if (hot->places == NULL)
        return;
    for (size_t i = 0; i < places; i++) {
        if (hot->places[i].count > 0)
            hot->places[hot->count++] = hot->places[i];
    }
    qsort(hot->places, hot->count, sizeof *hot->places, compare_keys);
}

void hot_close(struct hot *hot)
{
    free(hot->places);
    *hot = (struct hot){.places = NULL};
}
