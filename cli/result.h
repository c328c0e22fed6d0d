/*
 * Brings a table of counts into an output file: as lines of text (the key, a tab, the count), or as
 * a .npy array of pairs; in the table's order or sorted by key.
 */
#ifndef BULKHASH_CLI_RESULT_H
#define BULKHASH_CLI_RESULT_H

#include "bulkhash/bulkhash.h"
#include "output.h"

#include <stdbool.h>
#include <stdint.h>

struct result_format {
    uint32_t key_bytes; /* of the table's keys: 4 or 8; its values are counts of 8 */
    uint32_t k;         /* keys are k-mers of so many letters; 0: they are integers */
    uint32_t npy_bytes; /* width of a key in a .npy file: 1, 2, 4 or 8 */
    bool is_signed;     /* integers below zero have the highest bit of key_bytes set */
    bool is_sorted;     /* lines in ascending order of keys */
    bool is_npy;        /* .npy instead of lines */
    uint64_t least;     /* keys with smaller counts are left out */
};

/* Makes a table of how many keys have each count, from the counts that are large enough: keys and values
 * of 8 bytes. */
bh_table *result_histogram(bh_context *context, bh_table *table, const struct result_format *format,
                           const struct output *output);

/* Writes the table, on so many threads; sorts it in its context. */
void result_write(bh_context *context, bh_table *table, const struct result_format *format,
                  uint32_t threads, struct output *output);

#endif
