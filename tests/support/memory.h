/*
 * Memory and widths for tests: allocation that cannot fail (a test without memory has nothing to
 * say), and numbers stored in 0, 4 or 8 bytes.
 */
#ifndef BULKHASH_TESTS_SUPPORT_MEMORY_H
#define BULKHASH_TESTS_SUPPORT_MEMORY_H

#include <stdint.h>

/* Memory with undefined content, for free(); never NULL, ends the test when there is none. */
void *test_allocate(uint64_t bytes);

/* The largest number that `bytes` (0, 4 or 8) bytes hold. */
uint64_t test_width_mask(uint32_t bytes);

/* Reads and writes element i of an array of numbers of `bytes` bytes (4 or 8; 0: nothing is read
 * or written and the number is 0). */
uint64_t test_load(const void *array, uint32_t bytes, uint64_t i);
void test_store(void *array, uint32_t bytes, uint64_t i, uint64_t number);

#endif
