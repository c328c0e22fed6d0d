/*
 * Asynchronous copies of a call's arrays that lie on the host, while the GPU works on other parts.
 *
 * A part takes a slot: memory on the device, and a lane of the GPU's (module.h). While the
 * GPU runs one part, the next one is on its way to the device, and the answers of the part before come
 * back at the same time, because the bus has two directions:
 *
 *     slot 0   [bring 0][ run 0 ][send 0]         [bring 3][ run 3 ][send 3]
 *     slot 1            [bring 1][ run 1 ][send 1]         [bring 4][ run 4 ] ...
 *     slot 2                     [bring 2][ run 2 ][send 2]         [bring 5] ...
 *
 *   begin    once a call: has all lanes follow the context's stream
 *   bring    queues the copies to the device
 *   run      has the stream follow the slot's lane: what is launched from now on sees the copies
 *   patch    (see below)
 *   send     queues the copies back: the host has waited for what it launched
 *   finish   waits for the lane: the caller has the answers, the slot is free
 *
 * All copies of a slot stand in one lane, so nothing else is needed to keep them in order. The host
 * finishes the last part but one and brings the next while the GPU runs this one (batch.c).
 * A call that is one part has nothing to overlap: its slot's lane is the stream itself, and no lane
 * follows another.
 *
 * The copy engine reads and writes pinned memory only. For other arrays each slot has pinned
 * memory besides, and threads of the host copy between array and pinned memory in `bring` and
 * `finish`: so these copies overlap with the GPU's work too.
 *
 * Values that a lookup writes. A missing key leaves its value as it is, on the host too; but in
 * most calls no key is missing, and copying all values to the device for nothing would take as
 * long as copying the keys. So values are not brought. When keys of a part turn out to be missing, its
 * values are brought after all, and the part is run once more (`patch`); and the parts that follow
 * bring their values at once, until one has no missing keys.
 */
#include "cuda/host/ferry.h"

#include <string.h>

#include "base/error.h"
#include "storage/arena.h"

static int is_on_host(const bh__freight *a)
{
    return a->caller && (a->where == BH_IS_HOST || a->where == BH_IS_PINNED);
}

int bh__ferry_on_host(const bh__ferry *f)
{
    int i;

    for (i = 0; i < BH_ARRAYS; i++)
        if (is_on_host(&f->array[i]))
            return 1;
    return 0;
}

bh_status bh__ferry_enter(bh__ferry *f, int which, const void *caller, uint32_t bytes, uint64_t n,
                          uint32_t use)
{
    const bh__cuda_module *m = f->cuda->module;
    bh__freight *a = &f->array[which];
    bh__where_is end = BH_IS_PINNED;
    int error;

    if (!caller || !bytes || !n)
        return BH_OK;
    a->caller = (unsigned char *)(uintptr_t)caller;
    a->bytes = bytes;
    a->use = use;
    error = m->where(f->cuda->gpu, a->caller, &a->where);
    /* Of some arrays only the beginning was pinned. */
    if (!error && a->where == BH_IS_PINNED) {
        error = m->where(f->cuda->gpu, a->caller + n * bytes - 1, &end);
        if (end != BH_IS_PINNED)
            a->where = BH_IS_HOST;
    }
    if (error)
        return bh__fail(BH_ERR_DEVICE, "the GPU does not know an array: %.200s", m->message(error));
    if (a->where == BH_IS_ELSEWHERE)
        return bh__fail(BH_ERR_ARGUMENT, "an array lies on another GPU than the table");
    return BH_OK;
}

/* ---------------------------------------------------------------------------------------------
 * memory
 * --------------------------------------------------------------------------------------------- */

/* Deals out memory for parts of the arrays to all slots: of the device, or pinned. */
static void deal(bh__ferry *f, uint64_t part, unsigned char *device, unsigned char *pinned)
{
    uint32_t s;
    int i;

    for (s = 0; s < f->slots; s++) {
        for (i = 0; i < BH_ARRAYS; i++) {
            const bh__freight *a = &f->array[i];

            if (!is_on_host(a))
                continue;
            f->slot[s].device[i] = device;
            device += bh__lines_up(part * a->bytes);
            if (a->where != BH_IS_HOST)
                continue;
            f->slot[s].pinned[i] = pinned;
            pinned += bh__lines_up(part * a->bytes);
        }
    }
}

int bh__ferry_take(bh__ferry *f, uint64_t n, uint64_t part, uint64_t besides, void **more)
{
    uint64_t device = 0, pinned = 0;
    unsigned char *staged = NULL;
    uint32_t s;
    int i, error = 0;

    for (i = 0; i < BH_ARRAYS; i++) {
        const uint64_t bytes = bh__lines_up(part * f->array[i].bytes);

        device += is_on_host(&f->array[i]) ? bytes : 0;
        pinned += is_on_host(&f->array[i]) && f->array[i].where == BH_IS_HOST ? bytes : 0;
    }
    f->slots = 1;
    while (device && f->slots < BH_CUDA_SLOTS && f->slots * part < n)
        f->slots++;
    besides = bh__lines_up(besides);
    f->memory_bytes = besides + device * f->slots;
    if (f->memory_bytes)
        error = bh__cuda_take_lists(f->cuda, &f->memory_bytes, &f->memory);
    if (!error && pinned) {
        error = bh__cuda_staging_enter(f->cuda, pinned * f->slots, &staged);
        f->staging = !error;
    }
    *more = f->memory;
    if (device && !error)
        deal(f, part, (unsigned char *)f->memory + besides, staged);
    for (s = 0; s < f->slots; s++)
        f->slot[s].lane = f->slots == 1 ? (uint32_t)BH_LANE_RUN : BH_LANE_SLOT + s;
    if (error)
        (void)bh__ferry_give(f);
    return error;
}

int bh__ferry_give(bh__ferry *f)
{
    const int error = f->memory ? bh__cuda_give_lists(f->cuda, f->memory, f->memory_bytes) : 0;

    f->memory = NULL;
    if (f->staging)
        bh__cuda_staging_leave(f->cuda);
    f->staging = 0;
    return error;
}

unsigned char *bh__ferry_seen(const bh__ferry *f, int which)
{
    const bh__freight *a = &f->array[which];

    if (!a->caller)
        return NULL;
    return is_on_host(a) ? f->now->device[which] : a->caller + f->now->first * a->bytes;
}

/* ---------------------------------------------------------------------------------------------
 * the steps
 * --------------------------------------------------------------------------------------------- */

/* What the caller has put into the stream before is done before all copies: those of the GPU, and, where
 * there is pinned memory between, those that the host's threads make. */
int bh__ferry_begin(bh__ferry *f)
{
    const bh__cuda_module *m = f->cuda->module;
    uint32_t s;
    int error = 0;

    if (f->staging)
        error = bh__cuda_catch_up(f->cuda);
    for (s = 0; s < f->slots && f->slots > 1 && !error; s++)
        error = m->follow(f->cuda->gpu, f->slot[s].lane, BH_LANE_RUN);
    return error;
}

/* Queues copies to the device of the arrays that are used in one of these ways. */
static int bring_arrays(bh__ferry *f, bh__slot *s, uint32_t uses)
{
    int error = 0, i;

    for (i = 0; i < BH_ARRAYS && !error; i++) {
        const bh__freight *a = &f->array[i];
        const unsigned char *from;

        if (!is_on_host(a) || !(a->use & uses))
            continue;
        from = a->caller + s->first * a->bytes;
        if (a->where == BH_IS_HOST) {
            bh__cuda_copy_near(f->cuda, s->pinned[i], from, s->count * a->bytes);
            from = s->pinned[i];
        }
        s->busy = 1;
        error =
            f->cuda->module->copy(f->cuda->gpu, s->lane, s->device[i], from, s->count * a->bytes);
    }
    return error;
}

/* An error is kept in the slot: it belongs to the part that could not be brought, which runs later. */
int bh__ferry_bring(bh__ferry *f, bh__slot *s, uint64_t first, uint64_t count)
{
    s->first = first;
    s->count = count;
    s->full = 1;
    s->patched = f->patch != 0;
    s->error = bring_arrays(f, s, BH_USE_IN | (s->patched ? BH_USE_PATCH : 0));
    return s->error;
}

int bh__ferry_run(bh__ferry *f, bh__slot *s)
{
    f->now = s;
    s->full = 0;
    if (s->error || s->lane == BH_LANE_RUN || !s->busy)
        return s->error;
    return f->cuda->module->follow(f->cuda->gpu, BH_LANE_RUN, s->lane);
}

int bh__ferry_wants_patch(const bh__ferry *f, const bh__slot *s)
{
    int i;

    for (i = 0; i < BH_ARRAYS; i++)
        if (is_on_host(&f->array[i]) && f->array[i].use == BH_USE_PATCH)
            return !s->patched;
    return 0;
}

int bh__ferry_patch(bh__ferry *f, bh__slot *s)
{
    s->patched = 1;
    s->error = bring_arrays(f, s, BH_USE_PATCH);
    return bh__ferry_run(f, s);
}

int bh__ferry_send(bh__ferry *f, bh__slot *s)
{
    const bh__cuda_module *m = f->cuda->module;
    int error = 0, i;

    for (i = 0; i < BH_ARRAYS && !error; i++) {
        const bh__freight *a = &f->array[i];
        unsigned char *to;

        if (!is_on_host(a) || !(a->use & (BH_USE_OUT | BH_USE_PATCH)))
            continue;
        to = a->where == BH_IS_HOST ? s->pinned[i] : a->caller + s->first * a->bytes;
        s->busy = 1;
        error = m->copy(f->cuda->gpu, s->lane, to, s->device[i], s->count * a->bytes);
    }
    s->sent = !error;
    return error;
}

/* When answers of work that has been done cannot be copied, the GPU counts as lost. */
int bh__ferry_finish(bh__ferry *f, bh__slot *s)
{
    int error = 0, i;

    if (s->busy)
        error = bh__cuda_note(f->cuda, f->cuda->module->wait(f->cuda->gpu, s->lane));
    for (i = 0; i < BH_ARRAYS && s->sent && !error; i++) {
        const bh__freight *a = &f->array[i];

        if (is_on_host(a) && a->where == BH_IS_HOST && (a->use & (BH_USE_OUT | BH_USE_PATCH)))
            bh__cuda_copy_near(f->cuda, a->caller + s->first * a->bytes, s->pinned[i],
                               s->count * a->bytes);
    }
    s->busy = s->sent = 0;
    return error;
}

int bh__ferry_drain(bh__ferry *f)
{
    int first = 0, error;
    uint32_t i;

    for (i = 0; i < f->slots; i++) {
        error = bh__ferry_finish(f, &f->slot[i]);
        first = first ? first : error;
    }
    return first;
}
