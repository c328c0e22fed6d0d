/*
 * Brings counts into an output file: as lines of text (the key, a tab, the count), or as a .npy array
 * of pairs; in any order or sorted by key.
 */
#ifndef BULKHASH_CLI_RESULT_H
#define BULKHASH_CLI_RESULT_H

#include "bulkhash/bulkhash.h"
#include "output.h"
#include "runs.h"

#include <stdbool.h>
#include <stdint.h>

/* What has been counted, in one of two ways. */
struct counts {
    bh_context *context;
    uint32_t threads; /* that may work on it */
    uint64_t distinct;
    bh_table *table;  /* of keys and counts, */
    struct runs runs; /* or where it is NULL, the sorted keys */
};

struct result_format {
    uint32_t key_bytes; /* of keys in memory: 4 or 8; counts have 8 */
    uint32_t k;         /* keys are k-mers of so many letters; 0: they are integers */
    uint32_t npy_bytes; /* width of a key in a .npy file: 1, 2, 4 or 8 */
    bool is_signed;     /* integers below zero have the highest bit of key_bytes set */
    bool is_sorted;     /* lines in ascending order of keys */
    bool is_npy;        /* .npy instead of lines */
    uint64_t least;     /* keys with smaller counts are left out */
};

/* Makes a table of how many keys have each count, from the counts that are large enough: keys and values
 * of 8 bytes. */
bh_table *result_histogram(const struct counts *counts, const struct result_format *format,
                           struct output *output);

/* Writes the counts; answers how many. */
uint64_t result_write(const struct counts *counts, const struct result_format *format,
                      struct output *output);

#endif
