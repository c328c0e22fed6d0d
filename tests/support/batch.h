/*
 * Batches: the arrays of one call, filled and read as 64-bit numbers whatever the table's widths
 * are. Each array is exactly as long as the batch, so that AddressSanitizer sees a call that reads
 * or writes beyond it.
 */
#ifndef BULKHASH_TESTS_SUPPORT_BATCH_H
#define BULKHASH_TESTS_SUPPORT_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <bulkhash/bulkhash.h>

#include "support/random.h"

/* The six pairs of widths that every table can have. */
typedef struct test_widths {
    uint32_t key_bytes;
    uint32_t value_bytes;
} test_widths;

#define TEST_WIDTHS 6
extern const test_widths test_all_widths[TEST_WIDTHS];

typedef struct batch {
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint64_t n;
    void *keys;
    void *values; /* NULL when value_bytes is 0 */
    uint8_t *ops;
    uint8_t *outcomes;
} batch;

/* Operations whose results are the same bits wherever they run: a bh_op below. BH_ADD_FLOAT comes behind
 * them: its sums depend on their order, and what a NaN's bits are on the machine. */
#define BATCH_OPS 11

/* No bh_op, nor is any number above. */
#define BATCH_NO_OP 12

/* Another "operation" for batch_call(): bh_apply with the batch's ops. */
#define BATCH_APPLY 100

/* What outcomes hold before a call: no bh_outcome, so that one left out is seen. */
#define BATCH_UNTOUCHED 0xA5

batch batch_new(uint32_t key_bytes, uint32_t value_bytes, uint64_t n);
void batch_free(batch *arrays);

uint64_t batch_key(const batch *arrays, uint64_t i);
uint64_t batch_value(const batch *arrays, uint64_t i);
void batch_set(batch *arrays, uint64_t i, uint64_t key, uint64_t value);
void batch_set_value(batch *arrays, uint64_t i, uint64_t value);

/* Runs one operation (a bh_op, or BATCH_APPLY) over the batch, after setting all outcomes to
 * BATCH_UNTOUCHED. */
bh_status batch_call(bh_table *table, int operation, batch *arrays);

/* How many elements have this outcome. */
uint64_t batch_count(const batch *arrays, bh_outcome outcome);

/* Fails the test unless every element has this outcome. */
void batch_check_all(const batch *arrays, bh_outcome outcome);

/* Whether an operation is one of bh_reduce(), which tables without values do not have; whether it
 * may insert a key. BATCH_APPLY is none of them. */
bool batch_is_reduction(int operation);
bool batch_inserts(int operation);

/* Whether it answers with the key's value where that is found. BATCH_APPLY may. */
bool batch_reads(int operation);

/* Draws an operation that tables with values of this width have. */
bh_op batch_draw_op(rng *random, uint32_t value_bytes);

/* Whether an operation that was done may answer this. */
bool batch_outcome_fits(bh_op op, uint8_t outcome);

/* A value that is right for this key alone: half of it says which writing it was, the other half follows
 * from the first and the key. So a value that is torn, or another key's, is seen by whoever reads it. */
uint64_t batch_stamp(uint32_t value_bytes, uint64_t key, uint64_t nonce);
bool batch_is_stamp(uint32_t value_bytes, uint64_t key, uint64_t value);

/* A number as a float of 4 or 8 bytes, in the bits of an integer. */
uint64_t batch_float(uint32_t value_bytes, double number);

/* The name of an operation, for messages. */
const char *batch_operation_name(int operation);

#endif
