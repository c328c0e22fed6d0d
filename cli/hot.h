/*
 * Keys that come again and again are counted on the way: a sample shows which they are, and a small array
 * of them, which stays in a core's cache, takes their counts. Only other keys go on to be sorted or to the
 * table. Of 20 million numbers by Zipf's law half end here, at a tenth of the cost.
 *
 * A key has one place in the array, by its hash; a key whose place another key has is not hot. Each thread
 * counts in a copy of the array of its own, and at the end the copies are added up.
 */
#ifndef BULKHASH_CLI_HOT_H
#define BULKHASH_CLI_HOT_H

#include "pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hot {
    struct pair *places; /* NULL: no key is hot */
    uint64_t count;      /* how many keys are */
};

/* Chooses the hot keys from a sorted sample of keys of 4 or 8 bytes: those that come more than once and have
 * a place. Answers how many keys of the sample are hot. Where too few are to be worth it, or without memory,
 * no key is hot. */
uint64_t hot_choose(struct hot *hot, const void *keys, uint32_t key_bytes, uint64_t count);

/* Makes a copy with all counts 0; without memory, in the copy no key is hot. */
void hot_copy(struct hot *copy, const struct hot *hot);

/* Counts the hot ones among the keys and moves the others to the front; answers how many these are. */
size_t hot_filter(struct hot *hot, void *keys, uint32_t key_bytes, size_t count);

/* Adds the counts of a copy. */
void hot_add(struct hot *hot, const struct hot *copy);

/* Brings the keys whose counts are not 0 to the front of hot->places, in ascending order, and sets hot->count
 * to how many they are. After this no key can be counted any more. */
void hot_list(struct hot *hot);

void hot_close(struct hot *hot);

#endif
