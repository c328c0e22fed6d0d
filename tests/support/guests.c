/* Reading tables of DyCuckoo from their memory; see guests.h. */
#include "support/guests.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"

/* Where keys live, as any target computes it. */
#define BH_TARGET_SCALAR
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "tables/dycuckoo/ops.h"

/* The subtables, copied, and of each bucket's keys the guests by their counter. */
typedef struct structure {
    const bh_dy_geometry *geometry;
    uint32_t key_bytes, slots, bucket_bytes;
    uint64_t keys;
    unsigned char *lines[BH_DY_SUBTABLES_MOST];
    uint8_t (*guests[BH_DY_SUBTABLES_MOST])[BH_DY_FILTER_COUNTERS];
} structure;

static uint64_t word_at(const unsigned char *array, uint32_t bytes, uint64_t i)
{
    uint64_t word = 0;

    memcpy(&word, array + i * bytes, bytes); // little endian, as all machines that it runs on
    return word;
}

static void count_guest(structure *all, bh_dy_places places)
{
    const bh_dy_geometry *g = all->geometry;

    for (uint32_t s = 0; s < g->subtables; s++) {
        const uint64_t bucket = (places.home - g->subtable[s].lines) / all->bucket_bytes;
        uint8_t *guests;

        if (places.home < g->subtable[s].lines || bucket >= bh_dy_buckets(g, s))
            continue;
        guests = &all->guests[s][bucket][(places.counter - BH_DY_FILTER_SHIFT) / 2];
        if (*guests < 3)
            ++*guests;
    }
}

/* Each key is in one of its two buckets, and where meta words say guest it is one. */
static void check_bucket(structure *all, uint64_t line, const unsigned char *copy)
{
    const uint64_t meta = word_at(copy, 8, 0);
    const uint32_t guests = bh_dy_maybe_guests(meta, all->slots),
                   used = bh_dy_used(meta, all->slots);

    check(!(meta & BH_DY_LOCK) && !(guests & ~used), "meta word %llx", (unsigned long long)meta);
    for (uint32_t slot = 0; slot < all->slots; slot++) {
        bh_dy_places places;

        if (!(used >> slot & 1))
            continue;
        places = bh_dy_places_of(all->geometry, word_at(copy + 8, all->key_bytes, slot),
                                 all->bucket_bytes);
        check(places.home == line || places.other == line, "a key is in a third bucket");
        check(all->slots > BH_DY_GUESTS_KNOWN || (guests >> slot & 1) == (places.other == line),
              "a key is %s", places.other == line ? "a guest and not known as one" : "no guest");
        if (places.other == line)
            count_guest(all, places);
        all->keys++;
    }
}

/* Each counter of a bucket counts the guests that there are, or has come to 3. */
static void check_counters(const unsigned char *copy, const uint8_t *guests)
{
    for (uint32_t c = 0; c < BH_DY_FILTER_COUNTERS; c++) {
        const uint64_t counted = bh_dy_counted(word_at(copy, 8, 0), bh_dy_counter_of(c));

        check(counted == 3 || counted == guests[c], "a filter counts %u guests, and there are %u",
              (unsigned)counted, guests[c]);
    }
}

uint64_t guests_check(const bh_dy_geometry *geometry, uint32_t key_bytes, uint32_t value_bytes,
                      void (*read)(void *to, const void *from, uint64_t bytes))
{
    const int apart = BH_DY_APART_BY_DEFAULT(key_bytes, value_bytes);
    structure all = {.geometry = geometry,
                     .key_bytes = key_bytes,
                     .slots = BH_DY_SLOTS(key_bytes, value_bytes, apart),
                     .bucket_bytes = BH_DY_BUCKET(key_bytes, value_bytes, apart)};
    uint64_t b;

    for (uint32_t s = 0; s < geometry->subtables; s++) {
        const uint64_t buckets = bh_dy_buckets(geometry, s);

        all.lines[s] = test_allocate(buckets * all.bucket_bytes);
        all.guests[s] = test_allocate(buckets * sizeof *all.guests[s]);
        memset(all.guests[s], 0, buckets * sizeof *all.guests[s]);
        read(all.lines[s], (const void *)(uintptr_t)geometry->subtable[s].lines,
             buckets * all.bucket_bytes);
    }
    for (uint32_t s = 0; s < geometry->subtables; s++)
        for (b = 0; b < bh_dy_buckets(geometry, s); b++)
            check_bucket(&all, geometry->subtable[s].lines + b * all.bucket_bytes,
                         all.lines[s] + b * all.bucket_bytes);
    for (uint32_t s = 0; s < geometry->subtables; s++) {
        for (b = 0; b < bh_dy_buckets(geometry, s); b++)
            check_counters(all.lines[s] + b * all.bucket_bytes, all.guests[s][b]);
        free(all.lines[s]);
        free(all.guests[s]);
    }
    return all.keys;
}
