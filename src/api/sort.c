/* Sorting pairs: the backend's primitive, with its arguments checked and its memory found. */
#include "api/arrays.h"
#include "api/context.h"
#include "base/checked.h"
#include "base/error.h"
#include "storage/temporary.h"

/* The second array lies behind the first, from a new line on. */
#define LINE 64

bh_status bh_sort(bh_context *context, void *keys, uint32_t key_bytes, void *values,
                  uint32_t value_bytes, uint64_t n)
{
    bh__array arrays[2] = {{"keys", keys, key_bytes, 0, 1}, {"values", values, value_bytes, 0, 1}};
    const bh__backend *backend;
    bh__temporary spare;
    bh__where where;
    bh__sort sort;
    uint64_t key_array, value_array, bytes;
    bh_status status;
    int sorted;

    if (!context)
        return bh__fail(BH_ERR_ARGUMENT, "bh_sort: context is NULL");
    if ((key_bytes != 4 && key_bytes != 8) ||
        (value_bytes != 0 && value_bytes != 4 && value_bytes != 8))
        return bh__fail(BH_ERR_UNSUPPORTED,
                        "bh_sort: keys of %u and values of %u bytes are not supported: keys may "
                        "have 4 or 8, values 0, 4 or 8",
                        key_bytes, value_bytes);
    if (!n)
        return BH_OK;
    status = bh__check_arrays("bh_sort", context->backend, arrays, 2, n);
    if (status)
        return status;
    if (n == 1)
        return BH_OK;

    /* Arrays that fit into memory have sizes that can be multiplied; two of them can be added. */
    backend = context->backend;
    if (backend->sort)
        return backend->sort(backend, keys, key_bytes, values, value_bytes, n);
    key_array = (n * key_bytes + LINE - 1) / LINE * LINE;
    value_array = n * value_bytes;
    if (!bh__add(key_array, value_array, &bytes) ||
        !bh__temporary_take(&spare, &backend->host, bytes))
        return bh__fail(BH_ERR_MEMORY, "bh_sort: the system gave no %llu bytes of temporary memory",
                        (unsigned long long)(key_array + value_array));
    where.system = &backend->system;
    where.executor = &backend->executor;
    where.device = backend->device;
    sort.key_bytes = key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = value_bytes;
    sort.keys = sort.keys_out = keys;
    sort.payloads = sort.payloads_out = value_bytes ? values : NULL;
    sort.n = n;
    sort.keys_spare = spare.memory;
    sort.payloads_spare = value_bytes ? spare.memory + key_array : NULL;
    sorted = backend->primitives->sort_by_key(&where, &sort);
    bh__temporary_give(&spare, &backend->host);
    return sorted ? BH_OK
                  : bh__fail(BH_ERR_MEMORY, "bh_sort: the system gave no memory for its counts");
}
