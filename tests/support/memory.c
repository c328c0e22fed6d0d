/*
 * Memory and widths for tests, see memory.h. Numbers go through memcpy, so the arrays may be of
 * any type.
 */
#include "support/memory.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"

void *test_allocate(uint64_t bytes)
{
    // malloc of exactly this size, so that AddressSanitizer sees the first byte read beyond it.
    void *memory = malloc(bytes > 0 ? (size_t)bytes : 1);
    check(memory != NULL, "no memory for the test itself: %llu bytes", (unsigned long long)bytes);
    return memory;
}

uint64_t test_width_mask(uint32_t bytes)
{
    return bytes == 8 ? UINT64_MAX : bytes == 4 ? UINT32_MAX : 0;
}

uint64_t test_load(const void *array, uint32_t bytes, uint64_t i)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;

    if (bytes == 8) {
        memcpy(&wide, (const char *)array + i * 8, 8);
        return wide;
    }
    if (bytes == 4) {
        memcpy(&narrow, (const char *)array + i * 4, 4);
    }
    return narrow;
}

void test_store(void *array, uint32_t bytes, uint64_t i, uint64_t number)
{
    uint32_t narrow = (uint32_t)number;

    if (bytes == 8) {
        memcpy((char *)array + i * 8, &number, 8);
    } else if (bytes == 4) {
        memcpy((char *)array + i * 4, &narrow, 4);
    }
}
