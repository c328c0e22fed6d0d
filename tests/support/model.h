/*
 * The model: a map from 64-bit keys to 64-bit values that is too simple to be wrong, and what each
 * operation does to it when operations run one after the other. The differential tests hold the
 * library against it. It shares nothing with the library but the names of operations and outcomes.
 */
#ifndef BULKHASH_TESTS_SUPPORT_MODEL_H
#define BULKHASH_TESTS_SUPPORT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <bulkhash/bulkhash.h>

typedef struct model model;

model *model_new(void);
void model_free(model *map);

uint64_t model_count(const model *map);

/* Whether the key is there; if so and `value` is not NULL, its value. */
bool model_get(const model *map, uint64_t key, uint64_t *value);

void model_put(model *map, uint64_t key, uint64_t value);

/* Returns whether the key was there. */
bool model_remove(model *map, uint64_t key);

void model_clear(model *map);

/*
 * Walks over all pairs: *position starts at 0; false at the end.
 */
bool model_next(const model *map, uint64_t *position, uint64_t *key, uint64_t *value);

/* What one operation makes of a key that is there (*present) with *value, or is not, in a table
 * whose values have `value_bytes` bytes. BH_FIND and BH_FIND_OR_INSERT
 * write *operand when the key is there. */
bh_outcome model_step(bh_op op, uint32_t value_bytes, bool *present, uint64_t *value,
                      uint64_t *operand);

/* model_step() on the key's entry of the map. */
bh_outcome model_apply(model *map, bh_op op, uint32_t value_bytes, uint64_t key, uint64_t *operand);

#endif
