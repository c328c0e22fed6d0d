/* The check of a call's array of operations; see ops.h. */
#include "base/ops.h"

#include "base/error.h"

bh_status bh__check_ops(const char *call, const uint8_t *ops, uint64_t n, uint64_t first,
                        int has_values)
{
    uint64_t i;

    for (i = 0; i < n; i++) {
        if (ops[i] > BH_MAX)
            return bh__fail(BH_ERR_ARGUMENT, "%s: ops[%llu] is %u, which is no bh_op", call,
                            (unsigned long long)(first + i), ops[i]);
        if (ops[i] >= BH_ADD && !has_values)
            return bh__fail(BH_ERR_UNSUPPORTED,
                            "%s: ops[%llu] reduces, and the table has no values", call,
                            (unsigned long long)(first + i));
    }
    return BH_OK;
}
