/*
 * Counting by sorting: all keys in memory, brought into order, so that equal ones lie side by side. Such
 * a run is a key and, by its length, a count. Where most keys are distinct this takes less time and less
 * memory than a table does (choose.h).
 *
 * Keys are in the order of unsigned numbers. Where they may be below zero, those come last and are to be
 * first: whoever goes through the runs begins at runs->first, and goes on at the beginning of the array
 * behind its end.
 *
 * Of keys that were counted on the way (hot.h) one stands among the keys, for all, and how many there are
 * besides is kept in a list.
 */
#ifndef BULKHASH_CLI_RUNS_H
#define BULKHASH_CLI_RUNS_H

#include "bulkhash/bulkhash.h"
#include "pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runs {
    void *keys;     /* NULL: none yet */
    uint64_t count; /* of the keys */
    uint64_t bytes; /* of the memory */
    uint64_t most_bytes;
    uint32_t key_bytes;
    uint64_t first;             /* the smallest key */
    const struct pair *besides; /* keys, ascending, and how many of each there are besides */
    uint64_t besides_count;
};

/* Makes it empty, for keys of 4 or 8 bytes, which may take up to `most_bytes`: how many there will be is an
 * estimate, and may be too low by far. */
void runs_init(struct runs *runs, uint32_t key_bytes, uint64_t most_bytes);

/* Answers where `more` keys can be written behind those that are there, for whoever then adds to
 * runs->count how many there are; NULL without memory, and nothing has changed. `expected` is how many keys
 * there may be in the end. */
void *runs_room(struct runs *runs, uint64_t more, uint64_t expected);

/* Adds keys that were counted on the way: `pairs`, in ascending order, with counts of 1 and more. One of each
 * key goes among the keys, and its pair keeps the count of the others, so the pairs must live as long as the
 * runs. False without memory: nothing has changed. To be called once, before runs_sort(). */
bool runs_add(struct runs *runs, struct pair *pairs, uint64_t count);

/* Sorts the keys; false without memory: they are as they were. `is_signed`: the highest bit means below
 * zero. */
bool runs_sort(struct runs *runs, bh_context *context, bool is_signed);

/* Takes the next part: `most` keys (> 0) or fewer, and what belongs to the run of the last of them, so that
 * a part has whole runs, `most` of them at most. *taken is how many keys have been taken before, 0 at the
 * beginning.
 * Answers how many keys the part has, 0 at the end, and in *begin where it begins. */
uint64_t runs_take(const struct runs *runs, uint64_t most, uint64_t *taken, uint64_t *begin);

/* How many distinct keys come at least `least` times; counted on so many threads. */
uint64_t runs_number(const struct runs *runs, uint64_t least, uint32_t threads);

/* Makes pairs of the keys in a part that runs_take() has given, those that come at least `least` times; answers
 * how many. There must be room for the others, too. Keys are widened to 64 bits, with their sign if
 * `is_signed`. */
uint64_t runs_pairs(const struct runs *runs, uint64_t begin, uint64_t keys, uint64_t least,
                    bool is_signed, struct pair *pairs);

void runs_close(struct runs *runs);

#endif
