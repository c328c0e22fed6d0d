/* The check of a call's array of operations; see operations.h. */
#include "base/operations.h"

#include "base/error.h"

_Static_assert(BH_OPS_ALL == (1u << BH_OPS) - 1, "the operations have the numbers from 0 on");
_Static_assert(BH_OPS <= 16, "an operation's number has four bits");

/* The highest number among operations, in a loop that a compiler makes one of vectors. */
static uint8_t most_of(const uint8_t *ops, uint64_t n)
{
    uint8_t most = 0;
    uint64_t i;

    for (i = 0; i < n; i++)
        most = ops[i] > most ? ops[i] : most;
    return most;
}

bh_status bh__check_ops(const char *call, const uint8_t *ops, uint64_t n, uint64_t first,
                        int has_values)
{
    uint64_t i;

    /* In a table with values any operation will do. */
    if (has_values && most_of(ops, n) < BH_OPS)
        return BH_OK;
    for (i = 0; i < n; i++) {
        if (ops[i] >= BH_OPS)
            return bh__fail(BH_ERR_ARGUMENT, "%s: ops[%llu] is %u, which is no bh_op", call,
                            (unsigned long long)(first + i), ops[i]);
        if (BH_OP_REDUCES(ops[i]) && !has_values)
            return bh__fail(BH_ERR_UNSUPPORTED,
                            "%s: ops[%llu] reduces, and the table has no values", call,
                            (unsigned long long)(first + i));
    }
    return BH_OK;
}
