/*
 * One call on arrays, on a GPU.
 *
 * The calling thread holds the table's gate alone from the call's beginning to its end: on a GPU
 * a call is one stream of kernels that fill all of it, so there is nothing to gain from two at
 * once, and lookups know that nobody writes (find.cu compiles them for that).
 *
 * A call is cut into parts. Arrays on the device are used in place; of those on the host each
 * part is copied to temporary memory on the device and its answers back. A part runs like this:
 *
 *     launch all of the part      most elements are done, the names of the others are in a list
 *       |
 *       +--> none stalled: on to the next part
 *       +--> some were done, and there is still room: launch those in the list
 *       +--> else the policy: it grows the table, or finishes a few of the list along
 *            longer paths, which one thread does; launch what is left of the list
 *
 * Room for new keys: where there is enough for all elements of a launch, each has its own.
 * Otherwise each takes one of what there is before it begins, and who got none stalls when it
 * turns out to need it. So max_fill is never passed.
 */
#include "cuda/cuda.h"

#include <string.h>

#include "base/error.h"
#include "base/ops.h"

/* Elements of one launch. The list of those that stall takes 4 bytes for each, twice. */
#define PART_MOST (UINT64_C(1) << 24)

/* Of new keys no more are launched than there is room for, or what is launched in vain adds up while
 * a table grows; but so many, because most may be there already. */
#define PART_LEAST (UINT64_C(1) << 20)

/* Lookups have no list; their names are 32-bit. */
#define FIND_PART_MOST (UINT64_C(1) << 30)

/* Elements that are staged at a time where arrays are on the host. */
#define STAGED_MOST (UINT64_C(1) << 22)

/* Pairs that are exported at a time to arrays on the host. */
#define EXPORTED_MOST (UINT64_C(1) << 22)

/* An array of the call: where the caller has it, and a copy of a part of it on the device. */
typedef struct staged {
    unsigned char *caller; /* NULL: not there */
    unsigned char *device; /* the copy, where the array is on the host */
    uint32_t bytes;        /* of an element */
    uint8_t on_host;       /* else it is used in place */
    uint8_t in;            /* is read */
    uint8_t out;           /* is written */
} staged;

enum { KEYS, VALUES, VALUES_OUT, OUTCOMES, OPS, ARRAYS };

typedef struct call {
    bh__cuda *cuda;
    bh_table *table;
    const bh__cuda_kernels *kernels;
    staged array[ARRAYS];
    int given; /* the array that values are read from: bh_apply's is the one that it writes */
    bh_op op;
    bh__slice_kind kind;
    int takes_room;
    uint32_t *names[2]; /* on the device: who is to run, who stalled */
    int may_grow;
    uint32_t vain;    /* how often in a row the policy could place none of those it saw to */
    bh_status why;    /* what is refused is refused for */
    bh_status status; /* the call's */
} call;

static bh_status failed(call *c, int error)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused: %.200s; elements not done are marked so",
                    c->cuda->module->message(error));
}

/* The first element of an array as the device sees it, in a part that begins at `first`. */
static unsigned char *seen(const call *c, int which, uint64_t first)
{
    const staged *a = &c->array[which];

    if (!a->caller)
        return NULL;
    return a->on_host ? a->device : a->caller + first * a->bytes;
}

/* ---------------------------------------------------------------------------------------------
 * what stalls
 * --------------------------------------------------------------------------------------------- */

/* Elements that the policy sees to at a time, if need be by one thread of the GPU. */
#define FEW 256u

/* So often in a row it may find no place for any of them before the call gives up. */
#define VAIN_MOST 16u

/* Memory on the device for them, and what the host knows of them. */
typedef struct few {
    unsigned char *device;
    uint32_t names[FEW];
    uint16_t list[FEW];
    uint8_t outcomes[FEW];
    uint8_t left[FEW];
} few;

static unsigned char *few_at(const few *f, uint64_t *used, uint64_t bytes)
{
    unsigned char *at = f->device + *used;

    *used += (bytes + 63) / 64 * 64;
    return at;
}

/* Copies the first `count` elements of the list together, as a slice for the policy. */
static int gather_few(call *c, few *f, const uint32_t *names, uint32_t count, uint64_t first,
                      bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    const bh_table_options *o = &c->table->options;
    uint64_t used = 0;
    uint32_t i;
    int error = 0;

    memset(slice, 0, sizeof *slice);
    slice->keys = few_at(f, &used, (uint64_t)count * o->key_bytes);
    slice->values = few_at(f, &used, (uint64_t)count * o->value_bytes);
    slice->outcomes = few_at(f, &used, count);
    slice->ops = few_at(f, &used, count);
    slice->list = (uint16_t *)(void *)few_at(f, &used, 2 * (uint64_t)count);
    slice->count = slice->stalled = count;
    slice->op = (uint8_t)c->op;
    slice->system = &c->cuda->backend.system;
    slice->target = c->cuda->backend.target;
    slice->again = 1;
    for (i = 0; i < count; i++)
        f->list[i] = (uint16_t)i;
    error = m->gather(gpu, (void *)(uintptr_t)slice->keys, seen(c, KEYS, first), o->key_bytes,
                      names, count);
    if (!error && seen(c, c->given, first))
        error = m->gather(gpu, (void *)(uintptr_t)slice->values, seen(c, c->given, first),
                          o->value_bytes, names, count);
    else
        slice->values = NULL;
    if (!error && seen(c, OPS, first))
        error = m->gather(gpu, (void *)(uintptr_t)slice->ops, seen(c, OPS, first), 1, names, count);
    else
        slice->ops = NULL;
    if (!error)
        error = m->copy(gpu, f->names, names, (uint64_t)count * sizeof *names);
    if (!error)
        error = m->copy(gpu, slice->list, f->list, (uint64_t)count * sizeof *f->list);
    if (!error)
        error = m->wait(gpu);
    return error;
}

/*
 * The policy has seen to a slice of the list's first `count` elements. The outcomes of those that
 * are done, or refused, are written; the names of the others move to the end of these `count`
 * places. Answers in *kept how many they are.
 */
static int settle_few(call *c, few *f, uint32_t *names, uint32_t count, uint64_t first,
                      const bh__slice *slice, int refused, uint32_t *kept)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    uint8_t *outcomes = seen(c, OUTCOMES, first);
    uint32_t sorted[FEW], done = 0, keep, i;
    int error = m->copy(gpu, f->list, slice->list, (uint64_t)slice->stalled * sizeof *f->list);

    if (!error)
        error = m->copy(gpu, f->outcomes, slice->outcomes, count);
    if (!error)
        error = m->wait(gpu);
    if (error)
        return error;
    memset(f->left, 0, count);
    for (i = 0; i < slice->stalled; i++) {
        if (refused && i < slice->refused)
            f->outcomes[f->list[i]] = BH_NOT_DONE;
        else
            f->left[f->list[i]] = 1;
    }
    /* Those that are done to the front, the others behind them, both in their order. */
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
    error = m->copy(gpu, names, sorted, (uint64_t)count * sizeof *names);
    if (!error && outcomes && done) {
        error = m->copy(gpu, (void *)(uintptr_t)slice->outcomes, f->outcomes, done);
        if (!error)
            error = m->scatter(gpu, outcomes, slice->outcomes, names, done);
    }
    return error ? error : m->wait(gpu);
}

/* Has the policy see to the first elements of a list; *names and *count become what is left. */
static bh_status resolve(call *c, uint32_t **names, uint64_t *count, uint64_t first)
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

    error = c->cuda->module->allocate(c->cuda->gpu,
                                      (uint64_t)some * (o->key_bytes + o->value_bytes + 4) + 320,
                                      &device);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory to place %u keys: %.100s",
                        some, c->cuda->module->message(error));
    f.device = (unsigned char *)device;
    error = gather_few(c, &f, *names, some, first, &slice);
    if (!error) {
        since = system->clock_nanoseconds(system->state);
        resolved = c->table->policy->resolve(c->table, &slice, &c->may_grow, &c->why);
        since = system->clock_nanoseconds(system->state) - since;
        if (since > c->table->longest_pause_ns)
            c->table->longest_pause_ns = since;
        refused = resolved == BH_RESOLVED_REFUSED;
        status = bh__cuda_alive(c->cuda);
        if (!status)
            error = bh__cuda_note(
                c->cuda, settle_few(c, &f, *names, some, first, &slice, refused, &kept));
        if (!status && refused && !c->status)
            c->status = c->why;
        c->vain = refused && kept + slice.refused == some ? c->vain + 1 : 0;
    }
    (void)c->cuda->module->release(c->cuda->gpu, device);
    if (error && !status)
        status = failed(c, error);
    *names += some - kept;
    *count -= some - kept;
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * parts
 * --------------------------------------------------------------------------------------------- */

typedef struct slice_run {
    const call *call;
    uint64_t count;
} slice_run;

static int run_slice(const bh__cuda *cuda, void *device_job, void *argument)
{
    const slice_run *run = (const slice_run *)argument;

    return cuda->module->slice(cuda->gpu, run->call->kernels, run->call->kind,
                               (bh__cuda_job *)device_job, run->count);
}

/* Runs the elements that are named, or all of a part; enters what happened into the table's
 * counts. */
static int launch(call *c, const uint32_t *names, uint64_t count, uint64_t first, uint32_t *stalled,
                  bh__cuda_job *job)
{
    bh_table *table = c->table;
    slice_run run;
    int error;

    memset(job, 0, sizeof *job);
    job->slice.geometry = table->policy->geometry(table);
    job->slice.keys = seen(c, KEYS, first);
    job->slice.values = seen(c, c->given, first);
    job->slice.values_out = seen(c, VALUES_OUT, first);
    job->slice.outcomes = seen(c, OUTCOMES, first);
    job->slice.ops = seen(c, OPS, first);
    job->slice.op = (uint8_t)c->op;
    job->slice.turnover = bh__turnover(table);
    job->count = count;
    job->names = names;
    job->stalled = stalled;
    job->room = c->takes_room ? bh__room_take(table, count) : 0;
    run.call = c;
    run.count = count;
    error = bh__cuda_mail(c->cuda, job, sizeof *job, c->kernels->descriptor_bytes, run_slice, &run);
    if (error)
        job->slice.inserted = job->slice.erased = job->slice.assigned = 0;
    job->slice.room = job->room - job->slice.inserted + job->slice.erased;
    job->slice.moved = job->moved != 0;
    job->slice.target = c->cuda->backend.target;
    bh__slice_settle(table, &job->slice);
    if (!error && job->slice.erased && table->keys < table->min_keys)
        table->policy->shrink(table);
    return error;
}

/* Runs the elements [first, first + count), whose arrays the device can see. */
static bh_status run_part(call *c, uint64_t first, uint64_t count)
{
    const uint32_t *names = NULL;
    bh_status status = BH_OK;
    uint32_t turn = 0;

    for (;;) {
        uint32_t *stalled = c->names[turn];
        bh__cuda_job job;
        int error = launch(c, names, count, first, stalled, &job);

        if (error)
            return failed(c, error);
        status = bh__cuda_alive(c->cuda);
        count = job.stalled_count;
        if (status || !count)
            return status;
        if (!c->may_grow && !c->table->room) {
            /* Where there was none from the beginning nobody has moved anything, and all that
             * stalled do need room. Else once more, to be sure of that. */
            if (!job.room) {
                c->status = c->status ? c->status : c->why;
                return BH_OK;
            }
        } else if (!c->table->room ||
                   !(job.slice.inserted | job.slice.erased | job.slice.assigned)) {
            /* As long as some are done it helps to launch the others again: there is room, and
             * keys have moved. When it helps nobody, one thread looks further for a few. */
            status = resolve(c, &stalled, &count, first);
            /* Each time one thread has searched far in vain for some: the others stay undone. */
            if (status || !count || c->vain == VAIN_MOST)
                return status;
        }
        names = stalled;
        turn ^= 1;
    }
}

static int copy_in(call *c, uint64_t first, uint64_t count)
{
    int error = 0, i;

    for (i = 0; i < ARRAYS && !error; i++) {
        const staged *a = &c->array[i];

        if (a->on_host && a->in)
            error = c->cuda->module->copy(c->cuda->gpu, a->device, a->caller + first * a->bytes,
                                          count * a->bytes);
    }
    return error;
}

/* What has been done and cannot be told is lost. */
static int copy_out(call *c, uint64_t first, uint64_t count)
{
    int error = 0, waited, i;

    for (i = 0; i < ARRAYS && !error; i++) {
        const staged *a = &c->array[i];

        if (a->on_host && a->out)
            error = c->cuda->module->copy(c->cuda->gpu, a->caller + first * a->bytes, a->device,
                                          count * a->bytes);
    }
    waited = c->cuda->module->wait(c->cuda->gpu);
    return bh__cuda_note(c->cuda, error ? error : waited);
}

/* Marks elements of a part as not done: as long as they are not, and for good where they cannot. */
static int mark_part(call *c, uint64_t first, uint64_t count)
{
    uint8_t *outcomes = seen(c, OUTCOMES, first);

    return outcomes ? c->cuda->module->fill(c->cuda->gpu, outcomes, BH_NOT_DONE, count) : 0;
}

/* The same for what a call that failed has not begun. */
static void mark_rest(call *c, uint64_t first, uint64_t n)
{
    const staged *a = &c->array[OUTCOMES];

    if (a->caller && a->on_host)
        memset(a->caller + first, BH_NOT_DONE, n - first);
    else if (a->caller)
        (void)mark_part(c, first, n - first);
    /* Nothing is on its way to or from the caller's arrays any more. */
    (void)c->cuda->module->wait(c->cuda->gpu);
}

static bh_status run_parts(call *c, uint64_t n, uint64_t part)
{
    uint64_t first, count;
    bh_status status;
    int error;

    for (first = 0; first < n; first += count) {
        count = part;
        if (c->takes_room && c->table->room < count)
            count = c->table->room > PART_LEAST ? c->table->room : PART_LEAST;
        count = count < part ? count : part;
        count = count < n - first ? count : n - first;
        error = copy_in(c, first, count);
        if (!error)
            error = mark_part(c, first, count);
        if (error) {
            mark_rest(c, first, n);
            return failed(c, error);
        }
        status = run_part(c, first, count);
        error = copy_out(c, first, count);
        if (status || error) {
            mark_rest(c, first + count, n);
            return status ? status : failed(c, error);
        }
    }
    return BH_OK;
}

/* ---------------------------------------------------------------------------------------------
 * the call
 * --------------------------------------------------------------------------------------------- */

/* Enters one array of the call, and finds out where it lies. */
static bh_status enter_array(call *c, int which, const void *caller, uint32_t bytes, uint8_t in,
                             uint8_t out)
{
    staged *a = &c->array[which];
    bh__where_is where = BH_IS_HOST;
    int error;

    if (!caller || !bytes)
        return BH_OK;
    a->caller = (unsigned char *)(uintptr_t)caller;
    a->bytes = bytes;
    a->in = in;
    a->out = out;
    error = c->cuda->module->where(c->cuda->gpu, caller, &where);
    if (error)
        return bh__fail(BH_ERR_DEVICE, "the GPU does not know an array: %.200s",
                        c->cuda->module->message(error));
    if (where == BH_IS_ELSEWHERE)
        return bh__fail(BH_ERR_ARGUMENT, "an array lies on another GPU than the table");
    a->on_host = where == BH_IS_HOST;
    return BH_OK;
}

/* Takes temporary memory on the device: for copies of arrays, and for names. */
static int stage(call *c, uint64_t part, void **memory)
{
    uint64_t bytes = 0, at = 0;
    int named = c->kind != BH_SLICE_FIND, error, i;

    for (i = 0; i < ARRAYS; i++)
        if (c->array[i].on_host)
            bytes += (part * c->array[i].bytes + 63) / 64 * 64;
    if (named)
        bytes += 2 * ((part * sizeof(uint32_t) + 63) / 64 * 64);
    *memory = NULL;
    if (!bytes)
        return 0;
    error = c->cuda->module->allocate(c->cuda->gpu, bytes, memory);
    if (error)
        return error;
    for (i = 0; i < ARRAYS; i++) {
        if (!c->array[i].on_host)
            continue;
        c->array[i].device = (unsigned char *)*memory + at;
        at += (part * c->array[i].bytes + 63) / 64 * 64;
    }
    for (i = 0; named && i < 2; i++) {
        c->names[i] = (uint32_t *)(void *)((unsigned char *)*memory + at);
        at += (part * sizeof(uint32_t) + 63) / 64 * 64;
    }
    return 0;
}

/* An array of operations on the device is looked at here, a part at a time. */
static bh_status check_ops(call *c, const bh__batch *batch)
{
    const int has_values = c->table->options.value_bytes != 0;
    uint8_t ops[16384];
    bh_status status = BH_OK;
    uint64_t first, count;

    if (!batch->ops)
        return BH_OK;
    if (c->array[OPS].on_host)
        return bh__check_ops("bh_apply", batch->ops, batch->n, 0, has_values);
    for (first = 0; first < batch->n && !status; first += count) {
        int error;

        count = batch->n - first < sizeof ops ? batch->n - first : sizeof ops;
        error = c->cuda->module->copy(c->cuda->gpu, ops, batch->ops + first, count);
        if (!error)
            error = c->cuda->module->wait(c->cuda->gpu);
        status = error ? failed(c, error)
                       : bh__check_ops("bh_apply", ops, count, first, has_values);
    }
    return status;
}

static bh_status enter_arrays(call *c, const bh__batch *batch)
{
    const bh_table_options *o = &c->table->options;
    bh_status status = enter_array(c, KEYS, batch->keys, o->key_bytes, 1, 0);

    /* Read too: missing keys leave their values as they are. */
    if (!status)
        status = enter_array(c, VALUES_OUT, batch->values_out, o->value_bytes, 1, 1);
    c->given = batch->values && batch->values == batch->values_out ? VALUES_OUT : VALUES;
    if (!status && c->given == VALUES)
        status = enter_array(c, VALUES, batch->values, o->value_bytes, 1, 0);
    if (!status)
        status = enter_array(c, OUTCOMES, batch->outcomes, 1, 0, 1);
    if (!status)
        status = enter_array(c, OPS, batch->ops, 1, 1, 0);
    return status ? status : check_ops(c, batch);
}

bh_status bh__cuda_batch(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    uint64_t part;
    void *memory;
    bh_status status;
    call c;
    int error, i;

    memset(&c, 0, sizeof c);
    c.cuda = (bh__cuda *)(uintptr_t)backend;
    c.table = table;
    c.kernels = (const bh__cuda_kernels *)table->kernels;
    c.op = batch->op;
    c.kind = bh__slice_kind_of(batch);
    c.takes_room = bh__takes_room(batch);
    c.may_grow = 1;
    c.why = BH_ERR_FULL;
    status = bh__cuda_alive(c.cuda);
    if (!status)
        status = enter_arrays(&c, batch);
    if (status)
        return status;
    part = c.kind == BH_SLICE_FIND ? FIND_PART_MOST : PART_MOST;
    for (i = 0; i < ARRAYS; i++)
        if (c.array[i].on_host)
            part = STAGED_MOST;
    part = part < batch->n ? part : batch->n;
    error = stage(&c, part, &memory);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu elements: %.100s",
                        (unsigned long long)part, c.cuda->module->message(error));

    bh__gate_enter_alone(&table->gate, &backend->system);
    status = run_parts(&c, batch->n, part);
    bh__gate_leave_alone(&table->gate);
    if (memory && (error = c.cuda->module->release(c.cuda->gpu, memory)) != 0 && !status)
        status = failed(&c, error);
    return status ? status : c.status;
}

/* ---------------------------------------------------------------------------------------------
 * export
 * --------------------------------------------------------------------------------------------- */

bh_status bh__cuda_export(const bh__backend *backend, bh_table *table, uint64_t *at, void *keys,
                          void *values, uint64_t room, uint64_t *count)
{
    const bh_table_options *o = &table->options;
    uint64_t part, copied;
    void *memory;
    bh_status status;
    int error, in_place;
    call c;

    *count = 0;
    memset(&c, 0, sizeof c);
    c.cuda = (bh__cuda *)(uintptr_t)backend;
    c.table = table;
    c.kind = BH_SLICE_FIND;
    status = bh__cuda_alive(c.cuda);
    if (!status)
        status = enter_array(&c, KEYS, keys, o->key_bytes, 0, 1);
    if (!status)
        status = enter_array(&c, VALUES, values, o->value_bytes, 0, 1);
    if (status || !room)
        return status;
    in_place = !c.array[KEYS].on_host && !c.array[VALUES].on_host;
    part = in_place || room < EXPORTED_MOST ? room : EXPORTED_MOST;
    error = stage(&c, part, &memory);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu pairs: %.100s",
                        (unsigned long long)part, c.cuda->module->message(error));
    do {
        uint64_t now = room - *count < part ? room - *count : part;

        copied = table->policy->export_pairs(table, at, seen(&c, KEYS, *count),
                                             seen(&c, VALUES, *count), now);
        status = bh__cuda_alive(c.cuda);
        error = status ? 0 : copy_out(&c, *count, copied);
        *count += copied;
    } while (!status && !error && copied && *count < room);
    if (memory)
        (void)c.cuda->module->release(c.cuda->gpu, memory);
    if (error)
        status = bh__fail(BH_ERR_DEVICE, "the GPU refused to copy pairs out: %.200s",
                          c.cuda->module->message(error));
    if (status)
        *count = 0;
    return status;
}
