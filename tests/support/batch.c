/*
 * Batches, see batch.h.
 */
#include "support/batch.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"

const test_widths test_all_widths[TEST_WIDTHS] = {{4, 0}, {4, 4}, {4, 8}, {8, 0}, {8, 4}, {8, 8}};

batch batch_new(uint32_t key_bytes, uint32_t value_bytes, uint64_t n)
{
    batch arrays = {.key_bytes = key_bytes, .value_bytes = value_bytes, .n = n};

    arrays.keys = test_allocate(n * key_bytes);
    arrays.values = value_bytes > 0 ? test_allocate(n * value_bytes) : NULL;
    arrays.ops = test_allocate(n);
    arrays.outcomes = test_allocate(n);
    memset(arrays.keys, 0, n * key_bytes);
    if (arrays.values != NULL) {
        memset(arrays.values, 0, n * value_bytes);
    }
    memset(arrays.ops, BH_FIND, n);
    memset(arrays.outcomes, BATCH_UNTOUCHED, n);
    return arrays;
}

void batch_free(batch *arrays)
{
    free(arrays->keys);
    free(arrays->values);
    free(arrays->ops);
    free(arrays->outcomes);
}

uint64_t batch_key(const batch *arrays, uint64_t i)
{
    return test_load(arrays->keys, arrays->key_bytes, i);
}

uint64_t batch_value(const batch *arrays, uint64_t i)
{
    return test_load(arrays->values, arrays->value_bytes, i);
}

void batch_set(batch *arrays, uint64_t i, uint64_t key, uint64_t value)
{
    test_store(arrays->keys, arrays->key_bytes, i, key);
    test_store(arrays->values, arrays->value_bytes, i, value);
}

void batch_set_value(batch *arrays, uint64_t i, uint64_t value)
{
    test_store(arrays->values, arrays->value_bytes, i, value);
}

bh_status batch_call(bh_table *table, int operation, batch *arrays)
{
    const void *keys = arrays->keys;
    uint64_t n = arrays->n;
    uint8_t *outcomes = arrays->outcomes;

    memset(outcomes, BATCH_UNTOUCHED, n);
    switch (operation) {
    case BH_FIND: return bh_find(table, keys, n, arrays->values, outcomes);
    case BH_INSERT: return bh_insert(table, keys, arrays->values, n, outcomes);
    case BH_INSERT_NEW: return bh_insert_new(table, keys, arrays->values, n, outcomes);
    case BH_FIND_OR_INSERT: return bh_find_or_insert(table, keys, arrays->values, n, outcomes);
    case BH_UPDATE: return bh_update(table, keys, arrays->values, n, outcomes);
    case BH_ERASE: return bh_erase(table, keys, n, outcomes);
    case BH_ADD:
    case BH_MIN:
    case BH_MAX:
    case BH_MIN_SIGNED:
    case BH_MAX_SIGNED:
    case BH_ADD_FLOAT: return bh_reduce(table, (bh_op)operation, keys, arrays->values, n, outcomes);
    case BATCH_APPLY: return bh_apply(table, arrays->ops, keys, arrays->values, n, outcomes);
    default: check(false, "%d is no operation", operation);
    }
    return BH_ERR_ARGUMENT;
}

uint64_t batch_count(const batch *arrays, bh_outcome outcome)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < arrays->n; i++) {
        count += arrays->outcomes[i] == (uint8_t)outcome;
    }
    return count;
}

void batch_check_all(const batch *arrays, bh_outcome outcome)
{
    for (uint64_t i = 0; i < arrays->n; i++) {
        check(arrays->outcomes[i] == (uint8_t)outcome,
              "element %llu of %llu (key %#llx) has outcome %u, expected %u", (unsigned long long)i,
              (unsigned long long)arrays->n, (unsigned long long)batch_key(arrays, i),
              arrays->outcomes[i], (unsigned)outcome);
    }
}

bool batch_is_reduction(int operation)
{
    return operation == BH_ADD || operation == BH_MIN || operation == BH_MAX ||
           operation == BH_MIN_SIGNED || operation == BH_MAX_SIGNED || operation == BH_ADD_FLOAT;
}

bool batch_inserts(int operation)
{
    return operation != BH_FIND && operation != BH_UPDATE && operation != BH_ERASE &&
           operation != BATCH_APPLY;
}

bool batch_reads(int operation)
{
    return operation == BH_FIND || operation == BH_FIND_OR_INSERT || operation == BATCH_APPLY;
}

bh_op batch_draw_op(rng *random, uint32_t value_bytes)
{
    int op = 0;

    do {
        op = (int)random_below(random, BATCH_OPS);
    } while (value_bytes == 0 && batch_is_reduction(op));
    return (bh_op)op;
}

bool batch_outcome_fits(bh_op op, uint8_t outcome)
{
    switch (op) {
    case BH_FIND: return outcome == BH_FOUND || outcome == BH_MISSING;
    case BH_INSERT_NEW:
    case BH_FIND_OR_INSERT: return outcome == BH_INSERTED || outcome == BH_FOUND;
    case BH_UPDATE: return outcome == BH_ASSIGNED || outcome == BH_MISSING;
    case BH_ERASE: return outcome == BH_ERASED || outcome == BH_MISSING;
    default: // insert and the reductions
        return outcome == BH_INSERTED || outcome == BH_ASSIGNED;
    }
}

uint64_t batch_stamp(uint32_t value_bytes, uint64_t key, uint64_t nonce)
{
    const uint32_t half_bits = value_bytes * 4;
    const uint64_t half_mask = ((uint64_t)1 << half_bits) - 1;
    const uint64_t low = nonce & half_mask;
    const uint64_t high = random_mix64(key ^ random_mix64(low + 1)) & half_mask;

    return value_bytes == 0 ? 0 : (high << half_bits) | low;
}

bool batch_is_stamp(uint32_t value_bytes, uint64_t key, uint64_t value)
{
    return batch_stamp(value_bytes, key, value) == value;
}

uint64_t batch_float(uint32_t value_bytes, double number)
{
    const float narrow = (float)number;
    uint64_t bits = 0;

    if (value_bytes == 4) {
        memcpy(&bits, &narrow, sizeof narrow);
    } else {
        memcpy(&bits, &number, sizeof number);
    }
    return bits;
}

const char *batch_operation_name(int operation)
{
    static const char *const names[] = {"find",           "insert",     "insert_new", "update",
                                        "erase",          "add",        "min",        "max",
                                        "find_or_insert", "min_signed", "max_signed", "add_float"};
    if (operation == BATCH_APPLY) {
        return "apply";
    }
    return operation >= 0 && operation < (int)TEST_COUNT(names) ? names[operation] : "?";
}
