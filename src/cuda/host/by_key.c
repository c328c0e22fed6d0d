/*
 * The elements of a part, key by key: they are sorted by key, and those of each key are done as one
 * operation. This way is for tables with BH_DUPLICATES_ORDERED, where elements of one key take effect
 * in their order; and for calls in which so many keys are equal that their elements, one by one, would
 * wait for each other's lock (0.1 us each on an H200, where 5,000 others are done meanwhile), or take each other's
 * room (schedule.c).
 *
 *     elements     7 add 1 | 9 add 2 | 7 add 5 | 7 add 3
 *     sorted       7: 0 2 3      9: 1           a run for each key: indexes, in the caller's order
 *     one each     7 add 9       9 add 2        launched as any other elements are
 *     answers      7: INSERTED, ASSIGNED, ASSIGNED      9: INSERTED
 *
 * Nobody else changes the table meanwhile, because a call holds its gate alone. So with mixed operations
 * the effect of a run can be found out beforehand: its key is looked up, its elements are performed on
 * the value found, and what is left to be done is one insertion, one erasure, or nothing (bh__effects
 * in tables/table.h). Such a run is one thread's work, however long it is; with one operation for all,
 * primitives divide the work among all threads. Ordered sums of floats, whose last bits depend on the
 * order, are performed as mixed operations are.
 *
 * Where an operation answers with values (BH_FIND_OR_INSERT), the one operation on a key writes its
 * answer to the array that its value came from, and the key's elements copy it from there.
 *
 * Elements that find no room are NOT_DONE, and the others of their run take effect as if those had not
 * been there. A key that a run inserts and erases again needs no room.
 */
#include "cuda/host/call.h"

#include "base/error.h"
#include "storage/arena.h"

/* Elements that are sorted at once: enough to fill a GPU, and so few that their arrays are not much larger
 * than its second-level cache. Where there is no memory for them, a quarter is tried, and so on; no fewer
 * than AT_LEAST. Chosen, not tuned. */
#define AT_A_TIME (UINT64_C(1) << 22)
#define AT_LEAST (UINT64_C(1) << 12)

/* Arrays of `room` elements, or runs. */
typedef struct columns {
    void *keys; /* sorted */
    void *unique;
    uint32_t *index;
    uint32_t *index_spare;
    uint64_t *starts;
    void *values; /* sorted; performed in hand: what the runs' keys had before */
    void *after;  /* of each run: the value of the one operation */
    uint8_t *done;
    uint8_t *heads; /* in hand: found */
    uint8_t *left;
    uint64_t *heads_before;
} columns;

static int is_ordered(const bh__call *c)
{
    return c->table->options.duplicates == BH_DUPLICATES_ORDERED;
}

/* Whether runs are performed element by element on the value in hand: mixed operations, and ordered sums that
 * depend on the order of their parts. Else the values of a run are joined beforehand. */
static int in_hand(const bh__call *c)
{
    return c->batch->ops || (BH_OP_ROUNDS(c->batch->op) && is_ordered(c));
}

static uint64_t cut_columns(bh__arena *a, const bh__call *c, uint64_t room, columns *to)
{
    const bh_table_options *o = &c->table->options;
    const uint64_t mixed = in_hand(c) ? room : 0, alike = room - mixed;
    const uint64_t from = a->at;

    to->keys = bh__pointer(bh__cut(a, room, o->key_bytes));
    to->unique = bh__pointer(bh__cut(a, room, o->key_bytes));
    to->index = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->index_spare = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->starts = (uint64_t *)bh__pointer(bh__cut(a, room, 8));
    to->values = bh__pointer(bh__cut(a, room, o->value_bytes));
    to->after = bh__pointer(bh__cut(a, room, o->value_bytes));
    to->done = (uint8_t *)bh__pointer(bh__cut(a, room, 1));
    to->heads = (uint8_t *)bh__pointer(bh__cut(a, room, 1));
    to->left = (uint8_t *)bh__pointer(bh__cut(a, mixed, 1));
    to->heads_before = (uint64_t *)bh__pointer(bh__cut(a, alike, 8));
    return a->at - from;
}

static bh_status no_memory(uint64_t elements)
{
    return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory to sort %llu elements",
                    (unsigned long long)elements);
}

static uint64_t bytes_for(const bh__call *c, uint64_t room)
{
    bh__arena a = {0, 0};
    columns all;

    return cut_columns(&a, c, room, &all);
}

bh_status bh__by_key_begin(bh__call *c)
{
    if (bh__sorting_begin(c, bytes_for, c->part < AT_A_TIME ? c->part : AT_A_TIME, AT_LEAST))
        return BH_OK;
    if (is_ordered(c))
        return no_memory(c->sorting.room);
    c->way = BH_WAY_CHANGE;
    return BH_OK;
}

/* Marks the first sorted element of each run, and counts those before each element. */
static bh_status mark_heads(bh__call *c, const bh__where *where, const columns *k,
                            const bh__effects *e)
{
    const bh__cuda_module *m = c->cuda->module;
    int error = m->fill(c->cuda->gpu, k->heads, 0, e->runs.elements);

    if (!error)
        error = m->effects(c->cuda->gpu, BH_EFFECTS_HEADS, e);
    if (error)
        return bh__call_failed(c, error);
    return m->primitives->scan(where, k->heads, 1, e->runs.elements, 0, k->heads_before, NULL)
               ? BH_OK
               : BH_ERR_MEMORY;
}

/* What is known of the elements before they are cut into runs. */
static bh__effects begin_effects(const bh__call *c, const columns *k, uint64_t count)
{
    const bh__work *w = &c->work;
    bh__effects e;

    e.runs.index = k->index;
    e.runs.ops = w->array[BH_ARRAY_OPS];
    e.runs.values = w->array[BH_ARRAY_VALUES];
    e.runs.values_out = w->array[BH_ARRAY_VALUES_OUT];
    e.runs.outcomes = w->array[BH_ARRAY_OUTCOMES];
    e.runs.starts = k->starts;
    e.runs.count = 0;
    e.runs.elements = count;
    e.runs.op = (uint32_t)w->op;
    e.runs.value_bytes = c->table->options.value_bytes;
    e.found = e.heads = k->heads;
    e.before = k->values;
    e.left = k->left;
    e.after = k->after;
    e.done = k->done;
    e.heads_before = k->heads_before;
    return e;
}

/* Whether elements need outcomes or values of their own. */
static int tells(const bh__effects *e)
{
    return e->runs.ops || e->runs.outcomes || e->runs.values_out;
}

/* Sorts the elements by key and cuts them into runs, with the values of each joined. BH_ERR_MEMORY,
 * without a sentence: for want of memory, or because the GPU was lost. */
static bh_status make_runs(bh__call *c, const columns *k, bh__effects *e)
{
    const bh_table_options *o = &c->table->options;
    const bh__backend *backend = &c->cuda->backend;
    const bh__where where = {&backend->system, &backend->executor, backend->device};
    const bh__primitives *p = backend->primitives;
    const int joins = !in_hand(c) && e->runs.values;
    const uint64_t count = e->runs.elements;
    bh__sort sort;
    int error;

    sort.key_bytes = o->key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = 4;
    sort.keys = c->work.array[BH_ARRAY_KEYS];
    sort.payloads = NULL;
    sort.n = count;
    sort.keys_out = k->keys;
    sort.payloads_out = k->index;
    sort.keys_spare = k->unique;
    sort.payloads_spare = k->index_spare;
    if (!p->sort_by_key(&where, &sort))
        return BH_ERR_MEMORY;
    error = joins ? c->cuda->module->gather(c->cuda->gpu, k->values, e->runs.values, o->value_bytes,
                                            k->index, count)
                  : 0;
    if (error)
        return bh__call_failed(c, error);
    if (!p->reduce_by_key(&where, BH_OP_JOINS(c->work.op), k->keys, o->key_bytes,
                          joins ? k->values : NULL, joins ? o->value_bytes : 0, count, k->unique,
                          joins ? k->after : NULL, k->starts, &e->runs.count))
        return BH_ERR_MEMORY;
    error =
        bh__counts_keys(c->batch) ? c->cuda->module->effects(c->cuda->gpu, BH_EFFECTS_COUNT, e) : 0;
    if (error)
        return bh__call_failed(c, error);
    return in_hand(c) || !tells(e) ? BH_OK : mark_heads(c, &where, k, e);
}

/* Looks the runs' keys up, and finds out what is left to be done with each. */
static bh_status find_out(bh__call *c, const columns *k, const bh__effects *e)
{
    bh__work *w = &c->work;
    bh_status status;
    int error;

    w->array[BH_ARRAY_VALUES_OUT] =
        c->table->options.value_bytes ? (unsigned char *)k->values : NULL;
    w->array[BH_ARRAY_OUTCOMES] = k->heads;
    w->op = BH_FIND;
    w->kind = BH_SLICE_FIND;
    w->takes_room = 0;
    status = bh__call_look(c, e->runs.count);
    error = status ? 0 : c->cuda->module->effects(c->cuda->gpu, BH_EFFECTS_LEFT, e);
    w->array[BH_ARRAY_VALUES_OUT] = NULL;
    w->array[BH_ARRAY_OPS] = k->left;
    w->kind = BH_SLICE_MIXED;
    w->takes_room = 1;
    return error ? bh__call_failed(c, error) : status;
}

static bh_status mark(bh__call *c, uint64_t runs)
{
    const int error = bh__call_mark(c, c->work.array[BH_ARRAY_OUTCOMES], runs);

    return error ? bh__call_failed(c, error) : BH_OK;
}

/* Writes the elements' outcomes and values. When those of work that has been done cannot be written, even in
 * a second try, the GPU counts as lost. */
static bh_status answer(bh__call *c, bh__effects_step step, const bh__effects *e)
{
    const bh__cuda_module *m = c->cuda->module;
    int error = m->effects(c->cuda->gpu, step, e);

    if (error)
        error = m->effects(c->cuda->gpu, step, e);
    if (!error)
        error = m->wait(c->cuda->gpu, BH_LANE_RUN);
    (void)bh__cuda_note(c->cuda, error);
    return bh__cuda_alive(c->cuda);
}

/* Runs the work's elements, for all of which there is memory. */
static bh_status change_at_once(bh__call *c, uint64_t count)
{
    bh__arena a = {(uint64_t)(uintptr_t)c->sorting.memory, 0};
    unsigned char **array = c->work.array;
    bh_status status, told = BH_OK;
    bh__effects e;
    columns k;

    (void)cut_columns(&a, c, c->sorting.room, &k);
    e = begin_effects(c, &k, count);
    status = make_runs(c, &k, &e);
    if (status && !bh__cuda_alive(c->cuda) && !is_ordered(c))
        return bh__call_change(c, count);
    if (status == BH_ERR_MEMORY)
        return bh__cuda_alive(c->cuda) ? BH_ERR_DEVICE : no_memory(count);
    array[BH_ARRAY_KEYS] = (unsigned char *)k.unique;
    array[BH_ARRAY_VALUES] =
        e.runs.values || bh__counts_keys(c->batch) ? (unsigned char *)k.after : NULL;
    array[BH_ARRAY_VALUES_OUT] = e.runs.values_out ? (unsigned char *)k.after : NULL;
    array[BH_ARRAY_OPS] = NULL;
    if (!status && in_hand(c))
        status = find_out(c, &k, &e);
    array[BH_ARRAY_OUTCOMES] = tells(&e) ? k.done : NULL;
    if (!status)
        status = mark(c, e.runs.count);
    if (status)
        return status;
    status = bh__call_change(c, e.runs.count);
    if (tells(&e) && !bh__cuda_alive(c->cuda))
        told = answer(c, in_hand(c) ? BH_EFFECTS_ANSWER : BH_EFFECTS_SHARE, &e);
    return status ? status : told;
}

bh_status bh__by_key_change(bh__call *c, uint64_t count)
{
    bh_status status = BH_OK;
    uint64_t first, n;

    for (first = 0; first < count && !status; first += n) {
        n = count - first < c->sorting.room ? count - first : c->sorting.room;
        bh__call_use_part(c, first);
        status = n == 1 ? bh__call_change(c, 1) : change_at_once(c, n);
    }
    return status;
}
