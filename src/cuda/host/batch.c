/*
 * One call on arrays, on a GPU.
 *
 * The calling thread holds the table's gate alone from the call's beginning to its end: on a GPU
 * a call is one stream of kernels that fill all of it, so there is nothing to gain from two calls at
 * once, and a lookup may assume that there are no concurrent writers (find.cu compiles it for that).
 *
 * A call is cut into parts. Arrays on the device are used in place; of those on the host each
 * part is copied to the device and its answers back, while other parts run (ferry.c). A part runs
 * like this:
 *
 *     launch all of the part      most elements are done, the names of the others are in a list
 *       |
 *       +--> none stalled: on to the next part
 *       +--> some were done, and there is, or was, room: launch those in the list
 *       +--> else the policy: it grows the table, or finishes a few of the list along
 *            longer paths, which one thread does; launch what is left of the list
 *
 * The parts and the call stand here; call.h says which file has what of the rest.
 */
#include "cuda/host/call.h"

#include <string.h>

#include "base/error.h"
#include "base/operations.h"
#include "storage/arena.h"

/* Elements of one launch. Four lists of names take 4 bytes for each element; where that is too much
 * memory, a launch has fewer. More are better: a schedule that goes through the whole table for each launch (scatter.h) finds
 * more to do there. But with a third more, regions of tables whose subtables are of one size would get more rows than a block has
 * room for, and the launch would not go through the table. */
#define PART_MOST (UINT64_C(3) << 25)
#define PART_SPARING (UINT64_C(1) << 24)

/* Elements of a part at most, where arrays are on the host. */
#define COPIED_PART_MOST (UINT64_C(1) << 20)

/* Lookups have no list; their names are 32-bit. */
#define FIND_PART_MOST (UINT64_C(1) << 30)

bh_status bh__call_failed(const bh__call *c, int error)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused: %.200s; elements not done are marked so",
                    c->cuda->module->message(error));
}

void bh__call_use_part(bh__call *c, uint64_t from)
{
    int i;

    for (i = 0; i < BH_ARRAYS; i++) {
        const int which = i == BH_ARRAY_VALUES ? c->given : i;
        unsigned char *first = bh__ferry_seen(&c->ferry, which);

        c->work.array[i] = first ? first + from * c->ferry.array[which].bytes : NULL;
    }
    c->work.names = NULL;
    c->work.op = c->batch->op;
    c->work.kind = c->kind;
    c->work.takes_room = bh__takes_room(c->batch);
}

int bh__call_mark(bh__call *c, uint8_t *outcomes, uint64_t count)
{
    return outcomes ? c->cuda->module->fill(c->cuda->gpu, outcomes, BH_NOT_DONE, count) : 0;
}

/* Runs a part and sends its answers. *told becomes the number of elements whose outcomes the caller will
 * have; in a part that fails halfway too, the outcomes say what was done. */
static bh_status run_part(bh__call *c, bh__slot *s, uint64_t *told)
{
    const int lookups = c->kind == BH_SLICE_FIND, mixed = c->batch->ops != NULL;
    bh_status status = BH_OK;
    int by_op, error = bh__ferry_run(&c->ferry, s);

    bh__call_use_part(c, 0);
    if (!error && mixed)
        bh__schedule_choose(c);
    /* Then room is made when the elements that erase have been run. */
    by_op = c->way == BH_WAY_BY_PLACE && mixed && (!c->number || c->sorting.memory);
    if (!error && !lookups)
        error = bh__call_mark(c, c->work.array[BH_ARRAY_OUTCOMES], s->count);
    if (!error && !lookups)
        error = bh__schedule_guess(c, s->count);
    if (!error && !lookups && !by_op)
        error = bh__call_make_room(c, s);
    if (error)
        return bh__call_failed(c, error);
    if (!mixed)
        bh__schedule_choose(c);
    if (c->way == BH_WAY_BY_KEY && !c->number)
        status = bh__by_key_begin(c);
    if (c->way == BH_WAY_BY_PLACE && !c->number && !bh__by_place_begin(c)) {
        c->way = lookups ? BH_WAY_LOOK : BH_WAY_CHANGE;
        error = by_op ? bh__call_make_room(c, s) : 0;
        if (error)
            return bh__call_failed(c, error);
    }
    if (!status)
        status = bh__cuda_alive(c->cuda);
    if (!status)
        status = c->way == BH_WAY_LOOK       ? bh__call_run_lookups(c)
                 : c->way == BH_WAY_BY_KEY   ? bh__by_key_change(c, s->count)
                 : c->way == BH_WAY_BY_PLACE ? bh__by_place_run(c, s->count)
                                             : bh__call_change(c, s->count);
    if (lookups && status)
        return status;
    /* Work that was queued before something was refused may still write to the answers. */
    if (status)
        (void)c->cuda->module->wait(c->cuda->gpu, BH_LANE_RUN);
    error = bh__ferry_send(&c->ferry, s);
    /* When answers of work that has been done cannot be sent, even in a second try, the GPU counts as
     * lost. */
    if (error && !lookups)
        error = bh__cuda_note(c->cuda, bh__ferry_send(&c->ferry, s));
    if (!lookups || !error)
        *told += s->count;
    return error && !status ? bh__call_failed(c, error) : status;
}

/* Marks what a call that failed has not done. */
static void mark_rest(bh__call *c, uint64_t first)
{
    const bh__freight *a = &c->ferry.array[BH_ARRAY_OUTCOMES];

    if (!a->caller)
        return;
    if (a->where != BH_IS_HERE) {
        memset(a->caller + first, BH_NOT_DONE, c->n - first);
    } else {
        (void)bh__call_mark(c, a->caller + first, c->n - first);
        (void)c->cuda->module->wait(c->cuda->gpu, BH_LANE_RUN);
    }
}

static bh_status run_parts(bh__call *c)
{
    const int error = bh__ferry_begin(&c->ferry);
    bh_status status = error ? bh__call_failed(c, error) : BH_OK;
    uint64_t told = 0;

    for (c->number = 0; told < c->n && !status; c->number++) {
        bh__slot *s = bh__ferry_slot(&c->ferry, c->number);

        /* The first part; and every part where there are no copies to overlap. */
        if (!s->full)
            (void)bh__ferry_bring(&c->ferry, s, told, bh__call_part_at(c, told));
        status = run_part(c, s, &told);
    }
    if (bh__ferry_drain(&c->ferry) && !status)
        status = bh__cuda_alive(c->cuda);
    if (status)
        mark_rest(c, told);
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * the call
 * --------------------------------------------------------------------------------------------- */

int bh__call_take(bh__call *c)
{
    const uint64_t named = c->kind == BH_SLICE_FIND ? 0 : c->part;
    const uint64_t bytes = bh__lines_up(named * sizeof(uint32_t));
    void *names;
    const int error = bh__ferry_take(&c->ferry, c->n, c->part, 4 * bytes, &names);

    uint32_t i;

    for (i = 0; !error && bytes && i < 4; i++)
        c->names[i] = (uint32_t *)(void *)((unsigned char *)names + i * bytes);
    return error;
}

int bh__sorting_begin(bh__call *c, bh__sorting_bytes *bytes, uint64_t most, uint64_t least)
{
    bh__sorting *s = &c->sorting;

    for (s->room = most;; s->room /= 4) {
        if (!bh__cuda_allocate(c->cuda, BH_MEMORY_CALL, bytes(c, s->room), &s->memory))
            return 1;
        s->memory = NULL;
        if (s->room / 4 < least)
            return 0;
    }
}

void bh__sorting_end(bh__call *c)
{
    if (c->sorting.memory)
        (void)bh__cuda_note(c->cuda, c->cuda->module->release(c->cuda->gpu, c->sorting.memory));
    c->sorting.memory = NULL;
}

static bh_status refused_ops(const bh__call *c, int error)
{
    return bh__fail(BH_ERR_DEVICE,
                    "bh_apply: the GPU refused to look at the operations: %.200s; "
                    "nothing was done",
                    c->cuda->module->message(error));
}

/* Checks bh_apply's operations; an array of them on the device is checked there. */
static bh_status check_ops(bh__call *c, const bh__batch *batch)
{
    const bh__cuda_module *m = c->cuda->module;
    const int has_values = c->table->options.value_bytes != 0;
    uint64_t first;
    uint8_t op;
    int error;

    if (!batch->ops)
        return BH_OK;
    if (c->ferry.array[BH_ARRAY_OPS].where != BH_IS_HERE) {
        error = bh__cuda_catch_up(c->cuda);
        return error ? refused_ops(c, error)
                     : bh__check_ops("bh_apply", batch->ops, batch->n, 0, has_values);
    }
    error = m->first_outside(c->cuda->gpu, batch->ops, batch->n, BH_OPS_OF(has_values), &first);
    if (!error && first == batch->n)
        return BH_OK;
    if (!error)
        error = m->copy(c->cuda->gpu, BH_LANE_RUN, &op, batch->ops + first, 1);
    if (!error)
        error = m->wait(c->cuda->gpu, BH_LANE_RUN);
    return error ? refused_ops(c, error) : bh__check_ops("bh_apply", &op, 1, first, has_values);
}

static bh_status enter_arrays(bh__call *c, const bh__batch *batch)
{
    const bh_table_options *o = &c->table->options;
    const int both = batch->values && batch->values == batch->values_out;
    bh__ferry *f = &c->ferry;
    bh_status status =
        bh__ferry_enter(f, BH_ARRAY_KEYS, batch->keys, o->key_bytes, c->n, BH_USE_IN);

    c->given = both ? BH_ARRAY_VALUES_OUT : BH_ARRAY_VALUES;
    if (!status)
        status =
            bh__ferry_enter(f, BH_ARRAY_VALUES_OUT, batch->values_out, o->value_bytes, c->n,
                            both || bh__by_place_wanted(c) ? BH_USE_IN | BH_USE_OUT : BH_USE_PATCH);
    if (!status && !both)
        status =
            bh__ferry_enter(f, BH_ARRAY_VALUES, batch->values, o->value_bytes, c->n, BH_USE_IN);
    if (!status)
        status = bh__ferry_enter(f, BH_ARRAY_OUTCOMES, batch->outcomes, 1, c->n, BH_USE_OUT);
    if (!status)
        status = bh__ferry_enter(f, BH_ARRAY_OPS, batch->ops, 1, c->n, BH_USE_IN);
    return status ? status : check_ops(c, batch);
}

uint64_t bh__call_part_most(const bh__call *c)
{
    const uint64_t in_place = c->kind == BH_SLICE_FIND ? FIND_PART_MOST : PART_MOST;
    const uint64_t copied =
        c->cuda->module->part < COPIED_PART_MOST ? c->cuda->module->part : COPIED_PART_MOST;
    const int copies = bh__ferry_on_host(&c->ferry);
    const uint64_t most = copies ? copied : in_place;

    if (c->n <= most)
        return c->n;
    /* In place, parts of one size: a last one of few elements would not go through the table as the others do. */
    return copies ? most : (c->n - 1) / ((c->n - 1) / most + 1) + 1;
}

bh_status bh__call_no_memory(const bh__call *c, const char *for_what, int error)
{
    return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu %s: %.100s",
                    (unsigned long long)c->part, for_what, c->cuda->module->message(error));
}

bh_status bh__cuda_batch(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    bh_status status;
    bh__call c;
    int error;

    memset(&c, 0, sizeof c);
    c.cuda = c.ferry.cuda = (bh__cuda *)(uintptr_t)backend;
    c.table = table;
    c.kernels = (const bh__cuda_kernels *)table->kernels;
    c.n = batch->n;
    c.batch = batch;
    c.kind = bh__slice_kind_of(batch);
    c.may_grow = 1;
    c.why = BH_ERR_FULL;
    status = bh__cuda_alive(c.cuda);
    if (!status)
        status = enter_arrays(&c, batch);
    if (status)
        return status;
    bh__schedule_choose(&c);
    if (c.way == BH_WAY_PERFORM)
        return bh__cuda_perform(c.cuda, table, batch);
    c.part = bh__call_part_most(&c);

    bh__gate_enter_alone(&table->gate, &backend->system);
    error = bh__call_take(&c);
    if (error && c.part > PART_SPARING) {
        c.part = PART_SPARING;
        error = bh__call_take(&c);
    }
    if (error) {
        mark_rest(&c, 0);
        status = bh__call_no_memory(&c, "elements", error);
    } else {
        status = run_parts(&c);
        bh__sorting_end(&c);
        error = bh__ferry_give(&c.ferry);
        if (error && !status)
            status = bh__call_failed(&c, error);
    }
    bh__gate_leave_alone(&table->gate);
    return status ? status : c.status;
}
