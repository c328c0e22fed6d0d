/*
 * Elements that stalled in a call on a GPU, for want of room or of a path, where launching them again
 * does not help: the table's policy resolves up to FEW of them at a time. Their keys, values and
 * operations are gathered into a slice on the device; the policy grows the table, or places them along
 * longer paths; and their outcomes are brought back:
 *
 *     names of the stalled     7 9 4 2 5 | 8 3 ...
 *     slice of the first FEW   7 9 4 2 5           the policy is done with 9 and 2, refuses 4
 *     outcomes written         9 2, and 4: NOT_DONE
 *     names of the stalled           7 5 | 8 3 ...
 */
#include "cuda/host/call.h"

#include <string.h>

#include "base/error.h"
#include "storage/arena.h"

/* Elements that the policy resolves at a time, if need be by one thread of the GPU. */
#define FEW 256u

/* Memory on the device for them, and what the host knows of them. */
typedef struct few {
    unsigned char *device;
    uint32_t names[FEW];
    uint16_t list[FEW];
    uint8_t outcomes[FEW];
    uint8_t left[FEW];
} few;

/* Copies the first `count` elements of the list together, as a slice for the policy. */
static int gather_few(bh__call *c, few *f, const uint32_t *names, uint32_t count, uint32_t reasons,
                      bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    const bh_table_options *o = &c->table->options;
    bh__arena a = {(uint64_t)(uintptr_t)f->device, 0};
    uint32_t i;
    int error = 0;

    memset(slice, 0, sizeof *slice);
    slice->keys = bh__pointer(bh__cut(&a, count, o->key_bytes));
    slice->values = bh__pointer(bh__cut(&a, count, o->value_bytes));
    slice->outcomes = (uint8_t *)bh__pointer(bh__cut(&a, count, 1));
    slice->ops = (uint8_t *)bh__pointer(bh__cut(&a, count, 1));
    slice->list = (uint16_t *)bh__pointer(bh__cut(&a, count, 2));
    slice->count = slice->stalled = count;
    slice->op = (uint8_t)c->work.op;
    slice->system = &c->cuda->backend.system;
    slice->target = c->table->target;
    slice->hints = BH_HINT_AGAIN;
    slice->reasons = reasons;
    for (i = 0; i < count; i++)
        f->list[i] = (uint16_t)i;
    error = m->gather(gpu, (void *)(uintptr_t)slice->keys, c->work.array[BH_ARRAY_KEYS],
                      o->key_bytes, names, count);
    if (!error && c->work.array[BH_ARRAY_VALUES])
        error = m->gather(gpu, (void *)(uintptr_t)slice->values, c->work.array[BH_ARRAY_VALUES],
                          o->value_bytes, names, count);
    else
        slice->values = NULL;
    if (c->work.array[BH_ARRAY_VALUES_OUT])
        slice->values_out = (void *)(uintptr_t)slice->values;
    if (!error && c->work.array[BH_ARRAY_OPS])
        error = m->gather(gpu, (void *)(uintptr_t)slice->ops, c->work.array[BH_ARRAY_OPS], 1, names,
                          count);
    else
        slice->ops = NULL;
    /* Elements that stall again do not write their outcomes. */
    if (!error)
        error = m->fill(gpu, slice->outcomes, BH_NOT_DONE, count);
    if (!error)
        error = m->copy(gpu, BH_LANE_RUN, f->names, names, (uint64_t)count * sizeof *names);
    if (!error)
        error = m->copy(gpu, BH_LANE_RUN, slice->list, f->list, (uint64_t)count * sizeof *f->list);
    if (!error)
        error = m->wait(gpu, BH_LANE_RUN);
    return error;
}

/* Brings the list of elements that the policy has left of a slice, and the outcomes of the others. */
static int read_few(const bh__call *c, few *f, uint32_t count, const bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    int error =
        m->copy(gpu, BH_LANE_RUN, f->list, slice->list, (uint64_t)slice->stalled * sizeof *f->list);

    if (!error)
        error = m->copy(gpu, BH_LANE_RUN, f->outcomes, slice->outcomes, count);
    return error ? error : m->wait(gpu, BH_LANE_RUN);
}

/* Sends the elements' values back: those that were found, and the others as they were. `names` must still be
 * as gather_few read it. */
static int give_values(const bh__call *c, const uint32_t *names, uint32_t count,
                       const bh__slice *slice)
{
    return slice->values_out
               ? c->cuda->module->scatter(c->cuda->gpu, c->work.array[BH_ARRAY_VALUES_OUT],
                                          slice->values_out, c->table->options.value_bytes, names,
                                          count)
               : 0;
}

/* Sends names back to their list, and the outcomes of the first `done` of them, which are done. */
static int tell_few(const bh__call *c, const few *f, uint32_t *names, const uint32_t *sorted,
                    uint32_t count, uint32_t done, const bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    uint8_t *outcomes = c->work.array[BH_ARRAY_OUTCOMES];
    int waited;
    int error = m->copy(gpu, BH_LANE_RUN, names, sorted, (uint64_t)count * sizeof *names);

    if (!error && outcomes && done) {
        error = m->copy(gpu, BH_LANE_RUN, (void *)(uintptr_t)slice->outcomes, f->outcomes, done);
        if (!error)
            error = m->scatter(gpu, outcomes, slice->outcomes, 1, names, done);
    }
    waited = m->wait(gpu, BH_LANE_RUN); /* also for `sorted`, which ends with the caller */
    return error ? error : waited;
}

/*
 * The policy has resolved a slice of the list's first `count` elements. Writes the outcomes and values of
 * those that are done, or refused, and moves the names of the others to the end of these `count` places;
 * *kept becomes how many these are. What has been done must be reported: each copy that is refused is tried
 * once more.
 */
static int settle_few(const bh__call *c, few *f, uint32_t *names, uint32_t count,
                      const bh__slice *slice, int refused, uint32_t *kept)
{
    uint32_t sorted[FEW], done = 0, keep, i;
    int error = read_few(c, f, count, slice);

    if (error)
        error = read_few(c, f, count, slice);
    if (!error && give_values(c, names, count, slice))
        error = give_values(c, names, count, slice);
    if (error)
        return error;
    memset(f->left, 0, count);
    for (i = 0; i < slice->stalled; i++) {
        if (refused && i < slice->refused)
            f->outcomes[f->list[i]] = BH_NOT_DONE;
        else
            f->left[f->list[i]] = 1;
    }
    /* Names of elements that are done go to the front, the others behind them, both in their order. */
    *kept = 0;
    for (i = 0; i < count; i++)
        *kept += f->left[i];
    keep = count - *kept;
    for (i = 0; i < count; i++) {
        if (f->left[i]) {
            sorted[keep++] = f->names[i];
        } else {
            f->outcomes[done] = f->outcomes[i];
            sorted[done++] = f->names[i];
        }
    }
    error = tell_few(c, f, names, sorted, count, done, slice);
    return error ? tell_few(c, f, names, sorted, count, done, slice) : 0;
}

bh_status bh__call_resolve(bh__call *c, uint32_t reasons, uint32_t **names, uint64_t *count)
{
    const bh_table_options *o = &c->table->options;
    uint32_t some = (uint32_t)(*count < FEW ? *count : FEW), kept = 0;
    bh_status status = BH_OK;
    const bh_system *system = &c->cuda->backend.system;
    bh__resolved resolved;
    int refused;
    uint64_t since;
    void *device = NULL;
    bh__slice slice;
    int error;
    few f;

    error = bh__cuda_allocate(c->cuda, BH_MEMORY_CALL,
                              (uint64_t)some * (o->key_bytes + o->value_bytes + 4) + 320, &device);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory to place %u keys: %.100s",
                        some, c->cuda->module->message(error));
    f.device = (unsigned char *)device;
    error = gather_few(c, &f, *names, some, reasons, &slice);
    if (!error) {
        since = system->clock_nanoseconds(system->state);
        resolved = c->table->policy->resolve(c->table, &slice, &c->may_grow, &c->why);
        since = system->clock_nanoseconds(system->state) - since;
        if (since > c->table->longest_pause_ns)
            c->table->longest_pause_ns = since;
        refused = resolved == BH_RESOLVED_REFUSED;
        status = bh__cuda_alive(c->cuda);
        if (!status)
            error = bh__cuda_note(c->cuda, settle_few(c, &f, *names, some, &slice, refused, &kept));
        if (!status && refused && !c->status)
            c->status = c->why;
        c->vain = refused && kept + slice.refused == some ? c->vain + 1 : 0;
    }
    /* Nothing may still be on its way to or from `f`. */
    if (error)
        (void)c->cuda->module->wait(c->cuda->gpu, BH_LANE_RUN);
    (void)c->cuda->module->release(c->cuda->gpu, device);
    if (error && !status)
        status = bh__call_failed(c, error);
    *names += some - kept;
    *count -= some - kept;
    return status;
}
