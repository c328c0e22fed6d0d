/*
 * Export on a GPU: the policy copies pairs to the device's side of the caller's arrays, a part at a time;
 * meanwhile the parts before are on their way to the caller.
 */
#include "cuda/host/call.h"

#include <string.h>

#include "base/error.h"

/* Has the policy copy pairs into one part after the other, while those of the parts before are on
 * their way to the caller. */
static bh_status export_parts(bh__call *c, uint64_t *at, uint64_t *count)
{
    bh__ferry *f = &c->ferry;
    bh_status status = BH_OK;
    int error = bh__ferry_begin(f);
    uint64_t copied = 1;

    for (c->number = 0; !error && !status && copied && *count < c->n; c->number++) {
        bh__slot *s = f->now = bh__ferry_slot(f, c->number);

        error = bh__ferry_finish(f, s);
        if (error)
            break;
        s->first = *count;
        copied = c->table->policy->export_pairs(c->table, at, bh__ferry_seen(f, BH_ARRAY_KEYS),
                                                bh__ferry_seen(f, BH_ARRAY_VALUES),
                                                c->n - *count < c->part ? c->n - *count : c->part);
        status = bh__cuda_alive(c->cuda);
        if (!status && copied == BH__EXPORT_REFUSED)
            status = bh__fail(BH_ERR_DEVICE, "the GPU refused to export pairs");
        if (status)
            break;
        s->count = copied;
        if (copied)
            error = bh__ferry_send(f, s);
        *count += copied;
    }
    if (bh__ferry_drain(f) && !status)
        status = bh__cuda_alive(c->cuda);
    if (error && !status)
        status = bh__fail(BH_ERR_DEVICE, "the GPU refused to copy pairs out: %.200s",
                          c->cuda->module->message(error));
    return status;
}

bh_status bh__cuda_export(const bh__backend *backend, bh_table *table, uint64_t *at, void *keys,
                          void *values, uint64_t room, uint64_t *count)
{
    const bh_table_options *o = &table->options;
    const uint64_t from = *at;
    bh_status status;
    int error;
    bh__call c;

    *count = 0;
    memset(&c, 0, sizeof c);
    c.cuda = c.ferry.cuda = (bh__cuda *)(uintptr_t)backend;
    c.table = table;
    c.kind = BH_SLICE_FIND;
    c.n = room;
    status = bh__cuda_alive(c.cuda);
    if (!status)
        status = bh__ferry_enter(&c.ferry, BH_ARRAY_KEYS, keys, o->key_bytes, room, BH_USE_OUT);
    if (!status)
        status =
            bh__ferry_enter(&c.ferry, BH_ARRAY_VALUES, values, o->value_bytes, room, BH_USE_OUT);
    if (status || !room)
        return status;
    c.part = bh__ferry_on_host(&c.ferry) ? bh__call_part_most(&c) : room;
    error = bh__call_take(&c);
    if (error)
        return bh__call_no_memory(&c, "pairs", error);
    status = export_parts(&c, at, count);
    (void)bh__ferry_give(&c.ferry);
    if (status) {
        *count = 0;
        *at = from;
    }
    return status;
}
