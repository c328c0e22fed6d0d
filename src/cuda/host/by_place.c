/*
 * The elements of a part in another order than the caller's:
 *
 *   - by operation, in mixed calls. In the caller's order the 32 threads of a warp, which run in lockstep,
 *     go through the code of every operation among their elements, lookups take locks' fences, and nothing
 *     runs in stages. In this order each operation is launched as a call of its own.
 *   - by place, which is where in the table's memory a key is looked for: the reorder of DACHash's paper
 *     (chapter 5). Elements that run at the same time then work on neighbouring lines, which are in the
 *     second-level cache when a lock is taken, a pair stored and the lock given back. For calls that their design
 *     has no way of its own to bring to regions.
 *
 *     elements     a b c d e f          keys, values, operations, in the caller's order
 *     operations   F I E F I F          find, insert, erase, ...
 *     places       7 2 9 2 0 5          the design says where they are (bh__places)
 *     index        d f a | e b | c      by operation and, in each, by place
 *     launched       2      3    1      erasures first: what they free can be taken
 *
 * Elements stay where they are: what is launched has a list of their indexes. Where only operations are sorted the list
 * goes through the arrays in the caller's order, once for each operation. (At first elements were gathered, and their
 * answers scattered back, which took half of the time: decision 0023.)
 *
 * The paper's algorithm claims a place in a row of the output for each key by an atomic addition; here
 * indexes are sorted, because keys that come often would all want the same row.
 *
 * Elements of equal keys take effect in an unspecified order, so their operations may be taken apart; where
 * their order counts, calls are run by key (by_key.c).
 */
#include "cuda/host/call.h"

#include "base/error.h"
#include "base/operations.h"
#include "storage/arena.h"

/* Elements that are sorted at once, at most. Of a call that changes something they take 4 bytes each, while the table grows,
 * too. Where there is no memory for them, a quarter is tried, and so on; fewer than AT_LEAST are not tried. Chosen, not
 * tuned. */
#define AT_A_TIME (UINT64_C(1) << 26)
#define AT_LEAST (UINT64_C(1) << 16)

/* Regions of the table, if not told otherwise, as bytes of one: so many that few of the threads that run at
 * the same time want the same line, and so few that the regions on which they work are in the second-level
 * cache. More than REGIONS_MOST would take a third digit of the radix sort. */
#define REGION_BYTES (UINT64_C(1) << 18)
#define REGIONS_MOST 65536u

/* An operation's number has so many bits. */
#define OP_BITS 4u

/* Arrays of `room` elements. All but the indexes are wanted only while elements are sorted. A call that changes something
 * has lists for names of a part's elements, which it does not want then. */
typedef struct columns {
    uint64_t *begins;  /* of each operation: its first sorted element */
    uint32_t *numbers; /* by which elements are sorted; sorted; a spare one */
    uint32_t *numbers_sorted;
    uint32_t *numbers_spare;
    uint32_t *index; /* of each sorted element; a spare one */
    uint32_t *index_spare;
} columns;

static uint64_t cut_columns(const bh__call *c, bh__arena *a, uint64_t room, columns *to)
{
    const uint64_t from = a->at;
    uint32_t *list[4];
    int i;

    to->begins = (uint64_t *)bh__pointer(bh__cut(a, 1u << OP_BITS, 8));
    to->index = (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    for (i = 0; i < 4; i++)
        list[i] = c->names[i] ? c->names[i] : (uint32_t *)bh__pointer(bh__cut(a, room, 4));
    to->numbers = list[0];
    to->numbers_sorted = list[1];
    to->numbers_spare = list[2];
    to->index_spare = list[3];
    return a->at - from;
}

static uint64_t bytes_for(const bh__call *c, uint64_t room)
{
    bh__arena a = {0, 0};
    columns all;

    return cut_columns(c, &a, room, &all);
}

int bh__by_place_begin(bh__call *c)
{
    return bh__sorting_begin(c, bytes_for, c->part < AT_A_TIME ? c->part : AT_A_TIME, AT_LEAST);
}

static int wants_places(const bh__call *c)
{
    return c->table->options.schedule == BH_SCHEDULE_REGIONS;
}

/* Whether the design brings this call's elements to regions itself, as far as it can. */
static int has_own_way(const bh__call *c)
{
    return c->kernels->has_regions && (c->table->hints & BH_HINT_AT_ONCE) && !c->batch->ops &&
           BH_OP_INSERTS(c->batch->op) && !BH_OP_WRITES(c->batch->op);
}

int bh__by_place_wanted(const bh__call *c)
{
    const bh__policy *policy = c->table->policy;

    if (wants_places(c))
        return (policy->regions & BH_ON_GPU_SORTED) != 0 && !has_own_way(c);
    return c->table->options.schedule == BH_SCHEDULE_AUTO && c->batch->ops &&
           policy->by_operation && bh__call_part_most(c) >= policy->by_operation;
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
    const bh__cuda_module *m = c->cuda->module;
    const bh__where where = {&backend->system, &backend->executor, backend->device};
    const bh__policy *policy = c->table->policy;
    const uint32_t bits = wants_places(c) ? region_bits(c->table) : 0;
    bh__places job = {policy->geometry(c->table), c->work.array[BH_ARRAY_KEYS], k->numbers, bits};
    bh__sort sort;

    if (bits && !backend->pass(backend, c->table, policy->places, &job, count, 1, BH_TRY))
        return 0;
    if (c->batch->ops &&
        m->number_ops(c->cuda->gpu, k->numbers, c->work.array[BH_ARRAY_OPS], bits, count))
        return 0;
    sort.key_bytes = 4;
    sort.key_bits = bits + (c->batch->ops ? OP_BITS : 0);
    sort.payload_bytes = 4;
    sort.keys = k->numbers;
    sort.payloads = NULL;
    sort.n = count;
    sort.keys_out = k->numbers_sorted;
    sort.payloads_out = k->index;
    sort.keys_spare = k->numbers_spare;
    sort.payloads_spare = k->index_spare;
    if (!backend->primitives->sort_by_key(&where, &sort))
        return 0;
    return !c->batch->ops ||
           (!m->fill(c->cuda->gpu, k->begins, 0xff, sizeof *k->begins << OP_BITS) &&
            !m->begins(c->cuda->gpu, k->begins, k->numbers_sorted, bits, count));
}

static bh_status run(bh__call *c, uint64_t count)
{
    return c->kind == BH_SLICE_FIND ? bh__call_look(c, count) : bh__call_change(c, count);
}

/* Runs the sorted elements from `first` to the one before `end`, all of which do `op`. Room for new keys is made only now,
 * when elements that erase have been run. */
static bh_status run_op(bh__call *c, const columns *k, bh_op op, uint64_t first, uint64_t end)
{
    const uint64_t count = end - first;
    const bh__work all = c->work;
    bh_status status;
    int error;

    c->work.names = k->index + first;
    c->work.array[BH_ARRAY_OPS] = NULL;
    c->work.op = op;
    c->work.kind = bh__slice_kind_of_op(op);
    c->work.takes_room = BH_OP_INSERTS(op);
    if (op == BH_FIND) {
        status = bh__call_look(c, count);
    } else {
        error = bh__schedule_guess(c, count);
        if (!error && BH_OP_INSERTS(op) && c->table->room < count && c->may_grow)
            error = bh__call_expect(c, count, c->sampled);
        status = error ? bh__call_failed(c, error) : bh__call_change(c, count);
    }
    c->work = all;
    return status;
}

/* Runs the sorted elements of a mixed call, operation by operation. The table does not shrink before the
 * last one is done, or it might have to grow again at once. */
static bh_status run_ops(bh__call *c, const columns *k, uint64_t count)
{
    const bh__cuda_module *m = c->cuda->module;
    uint64_t begins[1u << OP_BITS], ends[1u << OP_BITS], end = count;
    bh_status status = BH_OK;
    uint32_t op;
    int error = m->copy(c->cuda->gpu, BH_LANE_RUN, begins, k->begins, sizeof begins);
    const int waited = m->wait(c->cuda->gpu, BH_LANE_RUN); /* also for `begins`, which ends here */

    error = error ? error : waited;
    if (error)
        return bh__call_failed(c, error);
    for (op = 1u << OP_BITS; op-- > 0;) {
        if (begins[op] == UINT64_MAX) /* no element does it */
            begins[op] = end;
        if (begins[op] > end || (op >= BH_OPS && begins[op] < end))
            return bh__fail(BH_ERR_DEVICE,
                            "the GPU sorted elements wrongly, or the call's operations "
                            "have been changed while it ran");
        ends[op] = end;
        end = begins[op];
    }
    c->stays = 1;
    if (begins[BH_ERASE] < ends[BH_ERASE])
        status = run_op(c, k, BH_ERASE, begins[BH_ERASE], ends[BH_ERASE]);
    for (op = 0; op < BH_OPS && !status; op++)
        if (op != BH_ERASE && begins[op] < ends[op])
            status = run_op(c, k, (bh_op)op, begins[op], ends[op]);
    c->stays = 0;
    if (!bh__cuda_alive(c->cuda))
        bh__call_shrink(c);
    return status;
}

/* Runs the work's elements, for all of which there is memory. */
static bh_status run_at_once(bh__call *c, uint64_t count)
{
    bh__arena a = {(uint64_t)(uintptr_t)c->sorting.memory, 0};
    bh_status status;
    columns k;

    (void)cut_columns(c, &a, c->sorting.room, &k);
    if (!find_order(c, &k, count)) {
        /* As they are; nor is sorting tried again for those that follow. */
        bh__sorting_end(c);
        status = bh__cuda_alive(c->cuda);
        if (!status && c->work.takes_room && c->table->room < count && c->may_grow) {
            const int error = bh__call_expect(c, count, 0);

            status = error ? bh__call_failed(c, error) : BH_OK;
        }
        return status ? status : run(c, count);
    }
    if (c->batch->ops)
        return run_ops(c, &k, count);
    c->work.names = k.index;
    return run(c, count);
}

bh_status bh__by_place_run(bh__call *c, uint64_t count)
{
    bh_status status = BH_OK;
    uint64_t first, n;

    for (first = 0; first < count && !status; first += n) {
        n = count - first;
        if (c->sorting.memory && n > c->sorting.room)
            n = c->sorting.room;
        bh__call_use_part(c, first);
        status = c->sorting.memory ? run_at_once(c, n) : run(c, n);
    }
    return status;
}
