/*
 * What scenes know of DyCuckoo. Buckets have two slots here (cmake/library.cmake), so the smallest table
 * is two buckets. A key's number says where it lives in a table that has not grown:
 *
 *     number   home           other bucket          next index bit, in home and in the other
 *     0 .. 3   subtable 0.0   subtable 1.number%2   number / 2 % 2, (number + number / 2) % 2
 *     4 .. 7   subtable 1.0   subtable 0.number%2   the same
 *     8, 9     as 0, and with key 0's counter in home's filter, whatever the size
 *     10, 11   subtable 1.1   subtable 0.1          any
 *
 * A subtable of one bucket has no bucket 1: read 0 then.
 */
#include <string.h>

#include "sim/support/design.h"
#include "support/check.h"
#include "support/memory.h"

/* The inside of a table: which keys live where. */
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/dycuckoo/ops.h"

/* Of the table that is checked. */
static uint32_t key_bytes;
static uint32_t slots; // of a bucket
static uint32_t bucket_bytes;

static uint32_t bucket_bytes_of(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DY_BUCKET(o->key_bytes, o->value_bytes, bh_dy_is_apart(o));
}

static bool fits(const bh_table *table, uint32_t number, uint64_t key)
{
    const bh_dy_geometry *geometry = table->policy->geometry(table);
    const uint32_t bytes = bucket_bytes_of(table);
    const bool far = number >= 10;
    const uint32_t like = number < 8 ? number : 0;
    const uint32_t home = far ? 1 : like / 4;
    const uint64_t line = geometry->base > 1 ? bytes : 0;
    const bh_hash hash = bh_hash_key(key, &geometry->seed);
    const bh_dy_places places = bh_dy_places_of(geometry, key, bytes);

    if (places.home != geometry->subtable[home].lines + (far ? line : 0) ||
        places.other != geometry->subtable[1 - home].lines + (far || like % 2 != 0 ? line : 0)) {
        return false;
    }
    if (far) {
        return true;
    }
    if ((hash.one & 1) != like / 2 % 2 || (bh_dy_word_other(hash) & 1) != (like + like / 2) % 2) {
        return false;
    }
    return number < 8 || (hash.one & 127) == (bh_hash_key(scene_key(0), &geometry->seed).one & 127);
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* Guests of each bucket's keys, by their counter in its filter. */
#define BUCKETS_MOST 256
static uint8_t guests[BUCKETS_MOST][BH_DY_FILTER_COUNTERS];

/* A number for each bucket; subtables of a scene lie in one arena. */
static uint8_t *guests_of(const bh_dy_geometry *geometry, uint64_t line, uint32_t counter)
{
    uint64_t number = 0;

    for (uint32_t t = 0; t < geometry->subtables; t++) {
        uint64_t first = geometry->subtable[t].lines;
        uint64_t buckets = bh_dy_buckets(geometry, t);
        if (line - first < buckets * bucket_bytes) {
            number += (line - first) / bucket_bytes;
            break;
        }
        number += buckets;
    }
    check(number < BUCKETS_MOST, "the table is larger than a scene's should be");
    return &guests[number][(counter - BH_DY_FILTER_SHIFT) / 2];
}

/* One bucket: no lock left, and each key where a reader looks for it. Answers its keys. */
static uint32_t check_bucket(const bh_dy_geometry *geometry, uint64_t line)
{
    const uint64_t meta = word_at(line);
    const uint32_t used = bh_dy_used(meta, slots);

    if ((meta & BH_DY_LOCK) != 0) {
        scene_complain("a bucket is still locked");
    }
    if ((bh_dy_maybe_guests(meta, slots) & ~used) != 0) {
        scene_complain("a free slot is a guest's");
    }
    for (uint32_t slot = 0; slot < slots; slot++) {
        const uint64_t key = test_load((const void *)(uintptr_t)(line + 8), key_bytes, slot);
        const bh_dy_places places = bh_dy_places_of(geometry, key, bucket_bytes);
        const bool is_guest = (bh_dy_maybe_guests(meta, slots) >> slot & 1) != 0;

        if ((used >> slot & 1) == 0) {
            continue;
        }
        if ((is_guest ? places.other : places.home) != line) {
            scene_complain("key %u is in a bucket that is %s", scene_number_of(key),
                           places.home == line    ? "its home, and counts as a guest"
                           : places.other == line ? "its other one, and does not count as a guest"
                                                  : "none of its two");
        } else if (is_guest) {
            *guests_of(geometry, places.home, places.counter) += 1;
        }
    }
    return bh_count(used);
}

/* The counters say how many guests there are; three may be more, or fewer later on. */
static void check_filter(const bh_dy_geometry *geometry, uint64_t line)
{
    for (uint32_t c = 0; c < BH_DY_FILTER_COUNTERS; c++) {
        const uint32_t counter = bh_dy_counter_of(c);
        const uint64_t counted = bh_dy_counted(word_at(line), counter);
        const uint32_t there = *guests_of(geometry, line, counter);
        if (counted != there && counted < 3) {
            scene_complain("a filter counts %u guests, and there are %u", (uint32_t)counted, there);
        }
    }
}

static void check_buckets(const bh_table *table)
{
    const bh_table_options *o = &table->options;
    const bh_dy_geometry *geometry = table->policy->geometry(table);
    uint64_t keys = 0;

    key_bytes = o->key_bytes;
    bucket_bytes = bucket_bytes_of(table);
    slots = BH_DY_SLOTS(o->key_bytes, o->value_bytes, bh_dy_is_apart(o));
    memset(guests, 0, sizeof guests);
    for (uint32_t t = 0; t < geometry->subtables; t++) {
        for (uint64_t b = 0; b < bh_dy_buckets(geometry, t); b++) {
            keys += check_bucket(geometry, geometry->subtable[t].lines + b * bucket_bytes);
        }
    }
    for (uint32_t t = 0; t < geometry->subtables; t++) {
        for (uint64_t b = 0; b < bh_dy_buckets(geometry, t); b++) {
            check_filter(geometry, geometry->subtable[t].lines + b * bucket_bytes);
        }
    }
    if (keys != table->keys) {
        scene_complain("%llu slots are in use, and the table counts %llu keys",
                       (unsigned long long)keys, (unsigned long long)table->keys);
    }
    if (table->keys + table->room != table->max_keys) {
        scene_complain("%llu keys and room for %llu, of %llu in all",
                       (unsigned long long)table->keys, (unsigned long long)table->room,
                       (unsigned long long)table->max_keys);
    }
}

#define SMALLEST .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 1, .seed = 1
#define FOUR_BUCKETS                                                                               \
    .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 6, .max_percent = 95, .seed = 1

static const scene_state states[] = {
    {"empty", 0, {1, 4, NONE}, false, {SMALLEST}},
    {"at home", 0, {1, 4, NONE}, false, {SMALLEST, .start_count = 1, .start = {PUT(1, K(0))}}},
    {"in its other bucket",
     0,
     {2, 1, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(3, K(1), K(2), K(0)), TAKE(1)}}},
    {"in its other bucket, home full",
     0,
     {1, 3, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(3, K(1), K(2), K(0))}}},
    {"missing, home full",
     0,
     {1, 3, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(2, K(1), K(2))}}},
    {"missing, its filter bit set",
     0,
     {8, 1, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(3, K(1), K(2), K(0)), TAKE(0)}}},
    {"two in each other's home",
     0,
     {6, NONE},
     false,
     {SMALLEST, .start_count = 4,
      .start = {PUT(3, K(4), K(5), K(6)), TAKE(4), TAKE(5), PUT(2, K(1), K(0))}}},
    {"missing, a guest in its home that could go home",
     0,
     {6, 1, NONE},
     false,
     {SMALLEST, .start_count = 4,
      .start = {PUT(3, K(4), K(5), K(6)), TAKE(4), PUT(1, K(1)), TAKE(5)}}},
    {"no room",
     2,
     {0, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(3, K(0), K(1), K(4))}}},
    {"grown",
     0,
     {2, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(4, K(0), K(1), K(2), K(4))}}},
    {"large, to be compacted",
     0,
     {1, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {RESERVE(9), PUT(2, K(0), K(4))}}},
    {"about to shrink",
     0,
     {2, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(4, K(0), K(1), K(2), K(4)), TAKE(1)}}},
    {"both buckets full",
     0,
     {1, 2, 5, 4, NONE},
     false,
     {FOUR_BUCKETS, .start_count = 1, .start = {PUT(4, K(1), K(3), K(5), K(7))}}},
    {"missing, its home full of guests that share a counter",
     4,
     {8, NONE},
     false,
     {FOUR_BUCKETS, .start_count = 3, .start = {PUT(4, K(1), K(3), K(8), K(9)), TAKE(1), TAKE(3)}}},
    {"both buckets full, and those behind",
     8,
     {1, 2, 10, NONE},
     true,
     {FOUR_BUCKETS, .start_count = 2,
      .start = {PUT(4, K(1), K(3), K(0), K(2)), PUT(2, K(10), K(11))}}},
};

const scene_design bh_dy_scenes = {fits,  check_buckets,      false, true,
                                   false, TEST_COUNT(states), states};
