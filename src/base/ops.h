/* The check of a call's array of operations. */
#ifndef BH_BASE_OPS_H
#define BH_BASE_OPS_H

#include "bulkhash/bulkhash.h"

/* Whether each of ops[0 .. n) is a bh_op that a table with, or without, values can do; `first` is
 * the number of ops[0] in the call. Writes the error sentence. Returns BH_OK, BH_ERR_ARGUMENT,
 * BH_ERR_UNSUPPORTED. */
bh_status bh__check_ops(const char *call, const uint8_t *ops, uint64_t n, uint64_t first,
                        int has_values);

#endif
