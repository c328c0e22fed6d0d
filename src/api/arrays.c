/* The checks of a call's arrays; see arrays.h. */
#include "api/arrays.h"

#include "base/checked.h"
#include "base/elsewhere.h"
#include "base/error.h"

/* No program has so many bytes of address space: x86-64 with five levels of page tables, which has most,
 * gives it half of 2^57. */
#define BEYOND_MEMORY (1ull << 56)

static bh_status check_array(const char *call, const bh__array *a, uint64_t n)
{
    uint64_t bytes, end;

    if (!a->data)
        return a->may_be_null ? BH_OK
                              : bh__fail(BH_ERR_ARGUMENT, "%s: %s is NULL and n is %llu", call,
                                         a->name, (unsigned long long)n);
    if ((uintptr_t)a->data & (a->bytes - 1))
        return bh__fail(BH_ERR_ARGUMENT, "%s: %s is not aligned to its %llu-byte elements", call,
                        a->name, (unsigned long long)a->bytes);
    if (!bh__mul(n, a->bytes, &bytes) || !bh__add((uint64_t)(uintptr_t)a->data, bytes, &end) ||
        end > UINTPTR_MAX || bytes >= BEYOND_MEMORY)
        return bh__fail(BH_ERR_ARGUMENT, "%s: %llu elements of %s reach beyond memory", call,
                        (unsigned long long)n, a->name);
    return BH_OK;
}

static int overlap(const bh__array *a, const bh__array *b, uint64_t n)
{
    uint64_t from_a = (uint64_t)(uintptr_t)a->data, from_b = (uint64_t)(uintptr_t)b->data;

    return a->data && b->data && a->bytes && b->bytes && from_a < from_b + n * b->bytes &&
           from_b < from_a + n * a->bytes;
}

/* Refuses arrays in a GPU's memory, which cores cannot reach. */
static bh_status check_reach(const char *call, const bh__backend *backend, const bh__array *arrays,
                             uint32_t count, uint64_t n)
{
    uint32_t i;

    if (bh__on_device(backend) || !bh__may_be_elsewhere(n))
        return BH_OK;
    for (i = 0; i < count; i++)
        if (arrays[i].bytes && bh__is_elsewhere(arrays[i].data))
            return bh__fail(BH_ERR_ARGUMENT,
                            "%s: %s lies on a GPU, and the context is one on cores: copy it to the "
                            "host, or make the context on \"cuda\"",
                            call, arrays[i].name);
    return BH_OK;
}

bh_status bh__check_arrays(const char *call, const bh__backend *backend, const bh__array *arrays,
                           uint32_t count, uint64_t n)
{
    bh_status status = BH_OK;
    uint32_t i, j;

    for (i = 0; i < count && !status; i++)
        status = arrays[i].bytes ? check_array(call, &arrays[i], n) : BH_OK;
    if (!status)
        status = check_reach(call, backend, arrays, count, n);
    if (status)
        return status;
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++)
            if ((arrays[i].output || arrays[j].output) && overlap(&arrays[i], &arrays[j], n))
                return bh__fail(BH_ERR_ARGUMENT,
                                "%s: %s and %s overlap, and one of them is written", call,
                                arrays[i].name, arrays[j].name);
    return BH_OK;
}
