/*
 * Arrays for tests of contexts on a GPU: in memory that copies must stage, in pinned memory, or in
 * the GPU's own, which the test fills and reads through the module that the library uses.
 */
#ifndef BULKHASH_TESTS_SUPPORT_PLACES_H
#define BULKHASH_TESTS_SUPPORT_PLACES_H

#include <stdint.h>

#include <bulkhash/bulkhash.h>

typedef enum place { PLACE_PAGEABLE, PLACE_PINNED, PLACE_DEVICE, PLACE_NONE } place;

#define PLACES 3 /* without PLACE_NONE */

/* Loads the module; before all others. Call places_end() when all arrays are freed. */
void places_start(void);
void places_end(void);

/* Elements of a part that the module wants to be copied at a time. */
uint64_t places_part(void);

/* Memory there; NULL for PLACE_NONE. What it holds is not known. */
void *place_allocate(place where, uint64_t bytes);
void place_free(place where, void *memory);

/* Copies to an array from memory of the test, and back. NULL: does nothing. */
void place_set(void *array, const void *from, uint64_t bytes);
void place_get(void *to, const void *array, uint64_t bytes);

/* Puts the same into the stream of a context on a GPU, behind what is there: it is done at some later
 * time, before what the stream gets from now on. */
void place_set_later(bh_context *context, void *array, const void *from, uint64_t bytes);

const char *place_name(place where);

#endif
