/*
 * The checks of a call's arrays: all calls on arrays refuse the same mistakes in the
 * same words.
 */
#ifndef BH_API_ARRAYS_H
#define BH_API_ARRAYS_H

#include "tables/table.h"

/* One array of a call. */
typedef struct bh__array {
    const char *name;
    const void *data;
    uint64_t bytes; /* of one element, a power of two; 0: the call has no such array */
    int may_be_null;
    int output;
} bh__array;

/* Checks for NULL, alignment, the end of memory, memory of a GPU where the backend is the cores', and
 * overlap of arrays of which one is written. To be called with n 0 only where every array may be NULL.
 * Writes the error sentence. */
bh_status bh__check_arrays(const char *call, const bh__backend *backend, const bh__array *arrays,
                           uint32_t count, uint64_t n);

#endif
