/* The schedule of src/cuda/device/dycuckoo/by_region.h for the fake module: its text, run by one thread. */
#ifndef TESTS_FAKE_REGIONS_H
#define TESTS_FAKE_REGIONS_H

#include <stdbool.h>

#include "cuda/module.h"

/* Performs those elements of a slice that the two phases settle, and marks each in done[]. Answers whether the
 * slice is one for these. */
bool fake_by_region(bh__cuda_job *job, uint32_t key_bytes, uint32_t value_bytes, uint8_t *done);

#endif
