/*
 * The elements of a part in the order in which their keys' places lie in the table's memory: the reorder of
 * DACHash's paper (chapter 5), for designs that have no way of their own to go through the table region by
 * region. Elements that run at the same time then work on neighbouring lines, which are in the second-level
 * cache when a lock is taken, a pair stored and the lock given back.
 *
 *     elements     a b c d e f              keys, values, operations, in the caller's order
 *     places       7 2 9 2 0 5              the design says where they are (bh__places)
 *     sorted       e b d f a c              launched as any other elements are
 *     answers      a b c d e f              back in the caller's order
 *
 * The paper's algorithm claims a place in a row of the output for each key by an atomic addition; here
 * places are sorted, because keys that come often would all want the same row.
 */
#include "cuda/host/call.h"

#include "storage/arena.h"

/* Fewer elements are not tried to be sorted, where there is no memory for more at a time. Chosen, not
 * tuned. */
#define AT_LEAST (UINT64_C(1) << 16)

/* Regions of the table, if not told otherwise, as bytes of one: so many that few of the threads that run at
 * the same time want the same line, and so few that the regions on which they work are in the second-level
 * cache. More than REGIONS_MOST would take a third digit of the radix sort. */
#define REGION_BYTES (UINT64_C(1) << 18)
#define REGIONS_MOST 65536u

/* Arrays of `room` elements; NULL where the call has none of that kind. */
typedef struct columns {
    uint32_t *places; /* of the elements; sorted; a spare one */
    uint32_t *places_sorted;
    uint32_t *places_spare;
    uint32_t *index; /* of each sorted element; a spare one */
    uint32_t *index_spare;
    unsigned char *array[BH_ARRAYS];
} columns;

static uint64_t cut_columns(bh__arena *a, const bh__call *c, uint64_t room, columns *to)
{
    const uint64_t from = a->at;
    int i;

    to->places = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->places_sorted = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->places_spare = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->index = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->index_spare = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    for (i = 0; i < BH_ARRAYS; i++)
        to->array[i] = c->work.array[i]
                           ? (unsigned char *)bh__pointer(bh__cut(a, room, c->ferry.array[i].bytes))
                           : NULL;
    /* One array for the values that are read and for those that are written. */
    if (c->work.array[BH_ARRAY_VALUES] && c->given == BH_ARRAY_VALUES_OUT)
        to->array[BH_ARRAY_VALUES] = to->array[BH_ARRAY_VALUES_OUT];
    return a->at - from;
}

int bh__by_place_begin(bh__call *c)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__sorting *s = &c->sorting;
    columns all;

    for (s->room = c->part;; s->room /= 4) {
        bh__arena a = {0, 0};

        if (!m->allocate(c->cuda->gpu, BH_MEMORY_CALL, cut_columns(&a, c, s->room, &all),
                         &s->memory))
            return 1;
        s->memory = NULL;
        if (s->room / 4 < AT_LEAST)
            return 0;
    }
}

static uint32_t region_bits(const bh_table *table)
{
    const uint64_t regions = table->experimental.regions
                                 ? table->experimental.regions
                                 : table->bytes[BH_TIER_NEAR] / REGION_BYTES;
    uint32_t bits = 1;

    while (1u << bits < regions && 1u << bits < REGIONS_MOST)
        bits++;
    return bits;
}

/* Finds the order of the elements. Answers 0 where there is no memory for it, or the GPU refused. */
static int find_order(bh__call *c, const columns *k, uint64_t count)
{
    const bh__backend *backend = &c->cuda->backend;
    const bh__where where = {&backend->system, &backend->executor, backend->device};
    const bh__policy *policy = c->table->policy;
    bh__places job = {policy->geometry(c->table), c->work.array[BH_ARRAY_KEYS], k->places,
                      region_bits(c->table)};
    bh__sort sort;

    if (!backend->pass(backend, c->table, policy->places, &job, count, 1, BH_TRY))
        return 0;
    sort.key_bytes = 4;
    sort.key_bits = job.bits;
    sort.payload_bytes = 4;
    sort.keys = k->places;
    sort.payloads = NULL;
    sort.n = count;
    sort.keys_out = k->places_sorted;
    sort.payloads_out = k->index;
    sort.keys_spare = k->places_spare;
    sort.payloads_spare = k->index_spare;
    return backend->primitives->sort_by_key(&where, &sort);
}

/* Gathers the elements, and makes the work theirs. Answers 0 or an error. */
static int sort_elements(bh__call *c, const columns *k, uint64_t count)
{
    const bh__cuda_module *m = c->cuda->module;
    int error = 0, i;

    for (i = 0; i < BH_ARRAYS && !error; i++) {
        if (!k->array[i] || (i == BH_ARRAY_VALUES && c->given == BH_ARRAY_VALUES_OUT))
            continue;
        error = i == BH_ARRAY_OUTCOMES ? m->fill(c->cuda->gpu, k->array[i], BH_NOT_DONE, count)
                                       : m->gather(c->cuda->gpu, k->array[i], c->work.array[i],
                                                   c->ferry.array[i].bytes, k->index, count);
    }
    for (i = 0; i < BH_ARRAYS && !error; i++)
        c->work.array[i] = k->array[i];
    return error;
}

/* Writes answers to where the caller has them. */
static int give_answers(bh__call *c, const columns *k, unsigned char *const *to, uint64_t count)
{
    static const int answers[] = {BH_ARRAY_OUTCOMES, BH_ARRAY_VALUES_OUT};
    const bh__cuda_module *m = c->cuda->module;
    int error = 0;
    uint32_t i;

    for (i = 0; i < 2 && !error; i++)
        if (to[answers[i]])
            error = m->scatter(c->cuda->gpu, to[answers[i]], k->array[answers[i]],
                               c->ferry.array[answers[i]].bytes, k->index, count);
    return error ? error : m->wait(c->cuda->gpu, BH_LANE_RUN);
}

/* Runs the work's elements, for all of which there is memory. */
static bh_status run_at_once(bh__call *c, uint64_t count)
{
    const int lookups = c->kind == BH_SLICE_FIND;
    bh__arena a = {(uint64_t)(uintptr_t)c->sorting.memory, 0};
    unsigned char *to[BH_ARRAYS];
    bh_status status;
    int error, i;
    columns k;

    (void)cut_columns(&a, c, c->sorting.room, &k);
    for (i = 0; i < BH_ARRAYS; i++)
        to[i] = c->work.array[i];
    if (!find_order(c, &k, count)) {
        status = bh__cuda_alive(c->cuda);
        return status ? status : lookups ? bh__call_look(c, count) : bh__call_change(c, count);
    }
    error = sort_elements(c, &k, count);
    if (error)
        return bh__call_failed(c, error);
    status = lookups ? bh__call_look(c, count) : bh__call_change(c, count);
    if (bh__cuda_alive(c->cuda))
        return status;
    /* When answers of work that has been done cannot be given, even in a second try, the GPU counts as
     * lost. */
    error = give_answers(c, &k, to, count);
    if (error)
        (void)bh__cuda_note(c->cuda, give_answers(c, &k, to, count));
    return status ? status : bh__cuda_alive(c->cuda);
}

bh_status bh__by_place_run(bh__call *c, uint64_t count)
{
    bh_status status = BH_OK;
    uint64_t first, n;

    for (first = 0; first < count && !status; first += n) {
        n = count - first < c->sorting.room ? count - first : c->sorting.room;
        bh__call_use_part(c, first);
        status = run_at_once(c, n);
    }
    return status;
}
