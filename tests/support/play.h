/*
 * Calls on keys that have numbers, for tests of one design's own promises: keys that come and go, and random
 * calls beside a model.
 */
#ifndef BULKHASH_TESTS_SUPPORT_PLAY_H
#define BULKHASH_TESTS_SUPPORT_PLAY_H

#include "support/batch.h"

/* Keys first .. first + n - 1 of all; element i has value first + i. */
batch play_numbered(test_widths widths, uint64_t first, uint64_t n);

/* Fails the test unless the call answers BH_OK, and each of its elements `outcome`. */
void play_call(bh_table *table, test_widths widths, bh_op op, uint64_t first, uint64_t n,
               uint8_t outcome);

/* Calls of up to 300 keys, inserting, updating, looking up or erasing, with a compact now and then; `inspect`
 * looks inside the table after each. */
void play_random(bh_context *context, const bh_table_options *options, uint64_t seed,
                 void (*inspect)(const bh_table *table));

#endif
