/* The schedules of src/cuda/device/dycuckoo/by_region.h and stadium/by_lines.h for the fake module: their text, run by one thread. */
#ifndef TESTS_FAKE_REGIONS_H
#define TESTS_FAKE_REGIONS_H

#include <stdbool.h>

#include "cuda/module.h"

/* An element by its spot: sorted, those of a bucket lie together. */
typedef struct fake_element {
    uint64_t spot;
    uint32_t at;
    uint32_t counter; /* DyCuckoo: of the element's key */
} fake_element;

/* For qsort. */
static inline int fake_by_spot(const void *a, const void *b)
{
    const fake_element *left = a, *right = b;

    return left->spot < right->spot ? -1 : left->spot > right->spot;
}

/* Performs those elements of a slice that the schedule settles, and marks each in done[]. Answers whether the
 * slice is one for it. */
typedef bool fake_by_region(const bh__cuda_job *job, uint32_t key_bytes, uint32_t value_bytes,
                            uint8_t *done);

fake_by_region bh_dy_fake_by_region, bh_st_fake_by_region;

#endif
