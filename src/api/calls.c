/*
 * The calls on arrays: their arguments are checked here, all in the same way, and
 * then the context's backend runs them.
 */
#include "api/arrays.h"
#include "base/elsewhere.h"
#include "base/error.h"
#include "base/operations.h"
#include "tables/table.h"

static int meet(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* An array of one element, which is there, aligned, and not where addresses end. */
static int is_element(const void *data, uint64_t bytes)
{
    return data && !((uintptr_t)data & (bytes - 1)) && (uintptr_t)data < UINTPTR_MAX - bytes;
}

/* Whether the arrays of a call of one element on cores are right, at a glance: the check of any number of
 * arrays of any length would be a tenth of such a call. Where the answer is no, that check finds out why. */
static int is_right(const bh_table *table, const void *keys, const void *values,
                    uint64_t value_bytes, int writes, const uint8_t *outcomes)
{
    const uint64_t key_bytes = table->options.key_bytes;

    return !bh__on_device(table->backend) && is_element(keys, key_bytes) &&
           (!value_bytes || is_element(values, value_bytes)) &&
           (!outcomes || is_element(outcomes, 1)) &&
           !(writes && meet(values, value_bytes, keys, key_bytes)) &&
           !(outcomes &&
             (meet(outcomes, 1, keys, key_bytes) || meet(outcomes, 1, values, value_bytes))) &&
           !bh__may_be_elsewhere(1);
}

/* Checks a call's arrays and operations. Writes the error sentence. */
static bh_status check(const char *call, const bh_table *table, bh_op op, const uint8_t *ops,
                       const void *keys, const void *values, uint64_t n, uint8_t *outcomes)
{
    const int reads = ops || BH_OP_READS(op), writes = ops || BH_OP_WRITES(op);
    const uint32_t value_bytes = table->options.value_bytes;
    bh__array arrays[4];
    bh_status status;

    arrays[0].name = "keys";
    arrays[0].data = keys;
    arrays[0].bytes = table->options.key_bytes;
    arrays[0].may_be_null = arrays[0].output = 0;
    arrays[1].name = "values";
    arrays[1].data = values;
    arrays[1].bytes = reads || writes ? value_bytes : 0;
    arrays[1].may_be_null = !reads || (!ops && op == BH_ADD); /* NULL: 1 each */
    arrays[1].output = writes;
    arrays[2].name = "outcomes";
    arrays[2].data = outcomes;
    arrays[2].bytes = 1;
    arrays[2].may_be_null = arrays[2].output = 1;
    arrays[3].name = "ops";
    arrays[3].data = ops;
    arrays[3].bytes = 1;
    arrays[3].may_be_null = arrays[3].output = 0;
    status = bh__check_arrays(call, table->backend, arrays, ops ? 4 : 3, n);
    /* Where arrays may be on a device, the device's backend checks the operations. */
    if (!status && ops && !bh__on_device(table->backend))
        status = bh__check_ops(call, ops, n, 0, value_bytes != 0);
    return status;
}

/* All calls come through here. `values` is only written where an operation does that. */
static bh_status run(const char *call, bh_table *table, bh_op op, const uint8_t *ops,
                     const void *keys, const void *values, uint64_t n, uint8_t *outcomes)
{
    const int reads = ops || BH_OP_READS(op), writes = ops || BH_OP_WRITES(op);
    bh__batch batch;
    bh_status status;
    uint32_t value_bytes;

    if (!table)
        return bh__fail(BH_ERR_ARGUMENT, "%s: table is NULL", call);
    if (!n)
        return BH_OK;
    value_bytes = reads || writes ? table->options.value_bytes : 0;
    if (n != 1 || ops || !is_right(table, keys, values, value_bytes, writes, outcomes)) {
        status = check(call, table, op, ops, keys, values, n, outcomes);
        if (status)
            return status;
    }
    batch.ops = ops;
    batch.keys = keys;
    batch.values = value_bytes && reads ? values : NULL;
    batch.values_out = value_bytes && writes ? (void *)(uintptr_t)values : NULL;
    batch.outcomes = outcomes;
    batch.by_place = 0;
    batch.n = n;
    batch.op = op;
    return table->backend->batch(table->backend, table, &batch);
}

bh_status bh_insert(bh_table *table, const void *keys, const void *values, uint64_t n,
                    uint8_t *outcomes)
{
    return run("bh_insert", table, BH_INSERT, NULL, keys, values, n, outcomes);
}

bh_status bh_insert_new(bh_table *table, const void *keys, const void *values, uint64_t n,
                        uint8_t *outcomes)
{
    return run("bh_insert_new", table, BH_INSERT_NEW, NULL, keys, values, n, outcomes);
}

bh_status bh_update(bh_table *table, const void *keys, const void *values, uint64_t n,
                    uint8_t *outcomes)
{
    return run("bh_update", table, BH_UPDATE, NULL, keys, values, n, outcomes);
}

bh_status bh_reduce(bh_table *table, bh_op op, const void *keys, const void *values, uint64_t n,
                    uint8_t *outcomes)
{
    if ((uint32_t)op >= BH_OPS || !BH_OP_REDUCES(op))
        return bh__fail(BH_ERR_ARGUMENT,
                        "bh_reduce: op is %d; it must be BH_ADD, BH_ADD_FLOAT, BH_MIN, BH_MAX, "
                        "BH_MIN_SIGNED or BH_MAX_SIGNED",
                        (int)op);
    if (table && !table->options.value_bytes)
        return bh__fail(BH_ERR_UNSUPPORTED, "bh_reduce: the table has no values");
    return run("bh_reduce", table, op, NULL, keys, values, n, outcomes);
}

bh_status bh_find(bh_table *table, const void *keys, uint64_t n, void *values, uint8_t *outcomes)
{
    return run("bh_find", table, BH_FIND, NULL, keys, values, n, outcomes);
}

bh_status bh_find_or_insert(bh_table *table, const void *keys, void *values, uint64_t n,
                            uint8_t *outcomes)
{
    return run("bh_find_or_insert", table, BH_FIND_OR_INSERT, NULL, keys, values, n, outcomes);
}

bh_status bh_erase(bh_table *table, const void *keys, uint64_t n, uint8_t *outcomes)
{
    return run("bh_erase", table, BH_ERASE, NULL, keys, NULL, n, outcomes);
}

bh_status bh_apply(bh_table *table, const uint8_t *ops, const void *keys, void *values, uint64_t n,
                   uint8_t *outcomes)
{
    if (n && !ops)
        return bh__fail(BH_ERR_ARGUMENT, "bh_apply: ops is NULL and n is %llu",
                        (unsigned long long)n);
    return run("bh_apply", table, BH_FIND, ops, keys, values, n, outcomes);
}
