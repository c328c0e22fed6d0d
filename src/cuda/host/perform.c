/*
 * Calls that are not a launch for each element: those that change a table on a GPU, of designs that
 * perform their calls themselves (HashFight), and sorting.
 *
 * The policy of such a design works with passes and primitives on arrays in device memory. Arrays that lie
 * there are used in place. Those on the host are copied there as a whole, because a table that is built by
 * one call is best built of all pairs at once, or, where that would be too much, in parts as large as there
 * is memory for. The policy takes the table's gate itself.
 *
 * Lookups of such tables run as those of other designs do: see batch.c.
 */
#include "cuda/host/backend.h"

#include <string.h>

#include "base/error.h"
#include "storage/arena.h"

/* Where there is no memory for a part of PART_LEAST elements the call fails; a part has at most PART_MOST, so
 * that the table has memory left to work in. Chosen, not tuned. */
#define PART_LEAST (UINT64_C(1) << 16)
#define PART_MOST (UINT64_C(1) << 28)

enum { KEYS, VALUES, OUTCOMES, OPS, ARRAYS };

/* An array of the call: where the caller has it, and a copy of a part of it on the device. */
typedef struct carried {
    unsigned char *caller; /* NULL: the caller gave none */
    unsigned char *device; /* NULL: the array is on the device, and used in place */
    uint64_t bytes;        /* of an element */
    int on_host;
    int in;  /* the array is read */
    int out; /* it is written */
} carried;

typedef struct load {
    bh__cuda *cuda;
    carried array[ARRAYS];
} load;

static int copy(const load *l, void *to, const void *from, uint64_t bytes)
{
    return l->cuda->module->copy(l->cuda->gpu, BH_LANE_RUN, to, from, bytes);
}

static int wait(const load *l)
{
    return l->cuda->module->wait(l->cuda->gpu, BH_LANE_RUN);
}

static bh_status failed(const load *l, int error)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused: %.200s; elements not done are marked so",
                    l->cuda->module->message(error));
}

static int enter(load *l, int which, const void *caller, uint64_t bytes, int in, int out)
{
    carried *a = &l->array[which];
    bh__where_is where = BH_IS_HOST;
    int error = 0;

    a->caller = bytes ? (unsigned char *)(uintptr_t)caller : NULL;
    a->device = NULL;
    a->bytes = bytes;
    a->in = in;
    a->out = out;
    if (a->caller)
        error = l->cuda->module->where(l->cuda->gpu, caller, &where);
    a->on_host = a->caller && where != BH_IS_HERE;
    return error;
}

static int enter_all(load *l, const bh_table *table, const bh__batch *batch)
{
    const bh_table_options *o = &table->options;
    const void *values = batch->values_out ? batch->values_out : batch->values;
    int error = enter(l, KEYS, batch->keys, o->key_bytes, 1, 0);

    if (!error)
        error = enter(l, VALUES, values, o->value_bytes, 1, batch->values_out != NULL);
    if (!error)
        error = enter(l, OUTCOMES, batch->outcomes, 1, 0, 1);
    return error ? error : enter(l, OPS, batch->ops, 1, 1, 0);
}

/* Takes memory for copies of parts of n elements, or of as many as there is memory for: *part. */
static int take(load *l, uint64_t n, uint64_t *part, void **memory)
{
    int error = 0, i;

    *memory = NULL;
    for (*part = n;; *part = (*part + 1) / 2) {
        uint64_t bytes = 0;

        for (i = 0; i < ARRAYS; i++)
            if (l->array[i].on_host)
                bytes += bh__lines_up(*part * l->array[i].bytes);
        if (!bytes)
            return 0;
        if (*part > PART_MOST)
            continue;
        error = bh__cuda_allocate(l->cuda, BH_MEMORY_CALL, bytes, memory);
        if (!error || *part <= PART_LEAST)
            break;
    }
    if (!error) {
        unsigned char *at = (unsigned char *)*memory;

        for (i = 0; i < ARRAYS; i++) {
            if (!l->array[i].on_host)
                continue;
            l->array[i].device = at;
            at += bh__lines_up(*part * l->array[i].bytes);
        }
    }
    return error;
}

/* The array from an element on, as the policy sees it in a part that begins there. */
static unsigned char *seen(const load *l, int which, uint64_t first)
{
    const carried *a = &l->array[which];

    if (!a->caller)
        return NULL;
    return a->on_host ? a->device : a->caller + first * a->bytes;
}

/* Copies a part in, and marks its elements as not done. */
static int begin_part(const load *l, uint64_t first, uint64_t count)
{
    unsigned char *outcomes = seen(l, OUTCOMES, first);
    int error = 0, i;

    for (i = 0; i < ARRAYS && !error; i++) {
        const carried *a = &l->array[i];

        if (a->on_host && a->in)
            error = copy(l, a->device, a->caller + first * a->bytes, count * a->bytes);
    }
    if (!error && outcomes)
        error = l->cuda->module->fill(l->cuda->gpu, outcomes, BH_NOT_DONE, count);
    return error;
}

static int copy_out(const load *l, uint64_t first, uint64_t count)
{
    int error = 0, waited, i;

    for (i = 0; i < ARRAYS && !error; i++) {
        const carried *a = &l->array[i];

        if (a->on_host && a->out)
            error = copy(l, a->caller + first * a->bytes, a->device, count * a->bytes);
    }
    waited = wait(l);
    return error ? error : waited;
}

/* Copies answers out. When those of work that has been done cannot be copied, even in a second try, the GPU
 * counts as lost. */
static int end_part(const load *l, uint64_t first, uint64_t count)
{
    const int error = copy_out(l, first, count);

    return error ? bh__cuda_note(l->cuda, copy_out(l, first, count)) : 0;
}

/* Marks what a call that failed has not begun. */
static void mark_rest(const load *l, uint64_t first, uint64_t n)
{
    const carried *a = &l->array[OUTCOMES];

    if (a->caller && a->on_host)
        memset(a->caller + first, BH_NOT_DONE, n - first);
    else if (a->caller)
        (void)l->cuda->module->fill(l->cuda->gpu, a->caller + first, BH_NOT_DONE, n - first);
    /* After this no copy to or from the caller's arrays is on its way any more. */
    (void)wait(l);
}

static bh_status perform_part(const load *l, bh_table *table, const bh__batch *batch,
                              uint64_t first, uint64_t count)
{
    bh__batch part = *batch;

    part.keys = seen(l, KEYS, first);
    part.values = batch->values ? seen(l, VALUES, first) : NULL;
    part.values_out = batch->values_out ? seen(l, VALUES, first) : NULL;
    part.outcomes = seen(l, OUTCOMES, first);
    part.ops = seen(l, OPS, first);
    part.n = count;
    return table->policy->perform(table, &part);
}

static bh_status perform_parts(const load *l, bh_table *table, const bh__batch *batch,
                               uint64_t part)
{
    bh_status status = BH_OK;
    uint64_t first, count;

    for (first = 0; first < batch->n; first += count) {
        bh_status this_part, alive;
        int error;

        count = batch->n - first < part ? batch->n - first : part;
        error = begin_part(l, first, count);
        if (error) {
            mark_rest(l, first, batch->n);
            return failed(l, error);
        }
        this_part = perform_part(l, table, batch, first, count);
        status = status ? status : this_part;
        error = end_part(l, first, count);
        alive = bh__cuda_alive(l->cuda);
        if (alive || error) {
            mark_rest(l, first + count, batch->n);
            return error ? failed(l, error) : alive;
        }
    }
    return status;
}

bh_status bh__cuda_perform(bh__cuda *cuda, bh_table *table, const bh__batch *batch)
{
    bh_status status;
    uint64_t part;
    void *memory;
    load l;
    int error;

    l.cuda = cuda;
    error = enter_all(&l, table, batch);
    if (error)
        return bh__fail(BH_ERR_DEVICE, "the GPU does not know an array: %.200s",
                        cuda->module->message(error));
    error = bh__cuda_catch_up(cuda);
    if (error) {
        mark_rest(&l, 0, batch->n);
        return failed(&l, error);
    }
    error = take(&l, batch->n, &part, &memory);
    if (error) {
        mark_rest(&l, 0, batch->n);
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu elements: %.100s",
                        (unsigned long long)part, cuda->module->message(error));
    }
    status = perform_parts(&l, table, batch, part);
    if (memory)
        (void)bh__cuda_note(cuda, cuda->module->release(cuda->gpu, memory));
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * sorting
 * --------------------------------------------------------------------------------------------- */

/* Sorts the arrays that `l` has, with memory for copies of those on the host and for as much again. */
static bh_status sort_there(load *l, bh__sort *sort, unsigned char *at)
{
    const bh__backend *backend = &l->cuda->backend;
    carried *keys = &l->array[KEYS], *values = &l->array[VALUES];
    bh__where where = {&backend->system, &backend->executor, backend->device};
    int error, i;

    for (i = 0; i < ARRAYS; i++) {
        if (!l->array[i].on_host)
            continue;
        l->array[i].device = at;
        at += bh__lines_up(sort->n * l->array[i].bytes);
    }
    error = begin_part(l, 0, sort->n);
    if (error) {
        (void)wait(l); /* the other array's copy may be on its way */
        return bh__fail(BH_ERR_DEVICE, "bh_sort: the GPU refused: %.200s",
                        l->cuda->module->message(error));
    }
    sort->keys = sort->keys_out = seen(l, KEYS, 0);
    sort->payloads = sort->payloads_out = seen(l, VALUES, 0);
    sort->keys_spare = at;
    sort->payloads_spare = values->bytes ? at + bh__lines_up(sort->n * keys->bytes) : NULL;
    if (!backend->primitives->sort_by_key(&where, sort)) {
        (void)wait(l);
        return backend->alive(backend)
                   ? BH_ERR_DEVICE
                   : bh__fail(BH_ERR_MEMORY, "bh_sort: the GPU gave no temporary memory");
    }
    (void)end_part(l, 0, sort->n);
    return backend->alive(backend);
}

bh_status bh__cuda_sort(const bh__backend *backend, void *keys, uint32_t key_bytes, void *values,
                        uint32_t value_bytes, uint64_t n)
{
    bh__cuda *cuda = (bh__cuda *)(uintptr_t)backend;
    bh_status status = bh__cuda_alive(cuda);
    uint64_t bytes = bh__lines_up(n * key_bytes) + bh__lines_up(n * value_bytes);
    bh__sort sort;
    void *memory;
    load l;
    int error, i;

    if (status)
        return status;
    l.cuda = cuda;
    sort.key_bytes = key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = value_bytes;
    sort.n = n;
    error = enter(&l, KEYS, keys, key_bytes, 1, 1);
    if (!error)
        error = enter(&l, VALUES, values, value_bytes, 1, 1);
    if (!error)
        error = enter(&l, OUTCOMES, NULL, 0, 0, 0);
    if (!error)
        error = enter(&l, OPS, NULL, 0, 0, 0);
    if (error)
        return bh__fail(BH_ERR_DEVICE, "bh_sort: the GPU does not know an array: %.200s",
                        cuda->module->message(error));
    for (i = 0; i < ARRAYS; i++)
        if (l.array[i].on_host)
            bytes += bh__lines_up(n * l.array[i].bytes);
    error = bh__cuda_catch_up(cuda);
    if (error)
        return bh__fail(BH_ERR_DEVICE, "bh_sort: the GPU refused: %.200s",
                        cuda->module->message(error));
    error = bh__cuda_allocate(cuda, BH_MEMORY_CALL, bytes, &memory);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "bh_sort: the GPU gave no %llu bytes of memory: %.100s",
                        (unsigned long long)bytes, cuda->module->message(error));
    status = sort_there(&l, &sort, (unsigned char *)memory);
    (void)bh__cuda_note(cuda, cuda->module->release(cuda->gpu, memory));
    return status;
}
