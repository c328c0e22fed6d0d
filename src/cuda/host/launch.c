/*
 * Launches on a GPU: the elements of a part, all or those that are named, once (launch) or again and
 * again with growth between, until all are done or cannot be (bh__call_change). While the GPU works on
 * a part, the host brings the next one.
 *
 * Room for new keys: where there is enough for all elements of a launch, each has room for its key.
 * Otherwise each element takes room for one key before it begins, as long as there is some, and an element
 * that got none stalls when it turns out to need it. So max_fill is never passed.
 */
#include "cuda/host/call.h"

#include <string.h>

#include "tables/counts.h"

/* How often in a row the policy may find no place for any element that it gets, before the call gives up. */
#define VAIN_MOST 16u

/* While the GPU works on a part: finishes the last part but one, and brings the next one into its slot.
 * Errors show when the next part is run, or because the GPU is lost. */
static void bring_next(void *call)
{
    bh__call *c = (bh__call *)call;
    const uint64_t next = c->ferry.now->first + c->ferry.now->count;
    bh__slot *s = bh__ferry_slot(&c->ferry, c->number + 1);

    if (c->ferry.slots == 1 || next == c->n || s->full)
        return;
    if (!bh__ferry_finish(&c->ferry, s))
        (void)bh__ferry_bring(&c->ferry, s, next, bh__call_part_at(c, next));
}

/* A launch, and what came of it. */
typedef struct launched {
    bh__cuda_job job;
    bh__cuda_done done;
} launched;

/* An upper bound of the looks that the searches of a launch have made: where searches are not a stage of
 * their own, every element that stalled may have searched. (Ways are not searches: an element's are bounded by the slots
 * of its buckets.) */
static uint64_t looks_of(const launched *l)
{
    const bh__cuda_done *d = &l->done;
    const uint64_t searched = d->parked_count[1] ? d->parked_count[1] - d->sent : d->stalled_count;
    const uint64_t looks = searched * BH_LOOKS_OF_SEARCH;

    return looks < l->job.slice.looks ? looks : l->job.slice.looks;
}

/* bh__told.some_left */
#define LEFT_KNOWN 4u

/* Whether stages behind the first ones may have nothing to do: then it is faster to ask whether they have than to launch them.
 * That is so where the last call left nothing, and of few elements of which few are new. The first call is expected to leave
 * nothing, unless it fills the table. */
static int asks(const bh__call *c, uint64_t count)
{
    const bh_table *t = c->table;
    const uint32_t some_left = bh__call_told(c, count)->some_left;
    const int fills =
        !(some_left & LEFT_KNOWN) && !c->few_new && t->keys + count > t->slots / 10 * 6;

    if (c->ferry.slots > 1)
        return 0; /* while the host copies other parts the GPU would wait */
    return (c->few_new && count < BH_CUDA_SIFT_LEAST) || (!fills && !(some_left >> c->few_new & 1));
}

/* Whether one kernel with locks is best for few elements, of which the first stages leave some. It is where the operation needs
 * locks for keys that are there; and up to this fill, where it seldom moves keys (docs/decisions/0037). */
static int locks(const bh__call *c, uint64_t count)
{
    const bh_table *t = c->table;

    return !c->no_locks || t->keys + (c->few_new ? 0 : count) < t->slots / 20 * 13;
}

/* Notes whether a call of insertions left something to the later stages. Of some that nobody asked, and of one kernel, that is not to
 * be seen: the next call is expected to be like the one before. */
static void note_left(bh__call *c, const bh__cuda_job *job, const bh__cuda_done *d)
{
    const uint32_t bit = 1u << c->few_new;
    uint32_t *left = &bh__call_told(c, job->count)->some_left;
    int some;

    if (job->slice.ops || job->one_kernel || (!job->asks && d->schedule == BH__CUDA_REGIONS))
        return;
    if (job->asks)
        some = d->resumed != 0;
    else if (c->few_new)
        some = d->inserted || d->stalled_count;
    else
        some = bh__cuda_first_left(d) || d->parked_count[1];
    *left = LEFT_KNOWN | (some ? *left | bit : *left & ~bit);
}

/* Runs the work's elements or, `again`, those that are named; enters what happened into the table's
 * counts. */
static int launch(bh__call *c, const uint32_t *again, uint64_t count, uint32_t *stalled,
                  launched *l)
{
    bh_table *table = c->table;
    bh__allowance *allowance = bh__allowance_of(table);
    const bh__launch launch = {c->kernels, c->work.kind, 0, bring_next, c};
    bh__cuda_job *job = &l->job;
    int error;

    memset(job, 0, sizeof *job);
    job->slice.geometry = table->policy->geometry(table);
    job->slice.keys = c->work.array[BH_ARRAY_KEYS];
    job->slice.values = c->work.array[BH_ARRAY_VALUES];
    job->slice.values_out = c->work.array[BH_ARRAY_VALUES_OUT];
    job->slice.outcomes = c->work.array[BH_ARRAY_OUTCOMES];
    job->slice.ops = c->work.array[BH_ARRAY_OPS];
    job->slice.op = (uint8_t)c->work.op;
    job->slice.hints = bh__hints_of(table);
    /* (A new bucket's is 0.) */
    job->slice.epoch = (uint8_t)(1 + BH_EPOCHS * (table->changes % (UINT8_MAX / BH_EPOCHS - 1)));
    job->slice.looks = bh__looks_allowed(table);
    job->searches = job->slice.looks / BH_LOOKS_OF_SEARCH;
    job->count = count;
    job->names = again ? again : c->work.names;
    job->stalled = stalled;
    job->parked[0] = c->names[2];
    job->parked[1] = c->names[3];
    job->room = c->work.takes_room ? bh__room_take(table, count, 0) : 0;
    job->wanted = (uint64_t)c->wanted;
    job->few_new = c->few_new && !again;
    job->again = again != NULL;
    job->asks = !again && asks(c, count);
    job->one_kernel = !job->asks && count < BH_CUDA_SIFT_LEAST && (again || locks(c, count));
    error = bh__cuda_launch(c->cuda, &launch, job, &l->done);
    job->slice.inserted = l->done.inserted;
    job->slice.erased = l->done.erased;
    job->slice.assigned = l->done.assigned;
    job->slice.room = job->room - job->slice.inserted + job->slice.erased;
    job->slice.moved = l->done.moved != 0;
    if (!error && allowance != table->allowance)
        bh__looks_spend(allowance, looks_of(l), 0);
    /* Elements that are launched again, because they stalled, are few: the first launch says what ran. */
    job->slice.target = again ? table->target : bh__schedule_name(c, l->done.schedule);
    bh__slice_settle(table, &job->slice);
    if (!error && !again && c->work.takes_room) {
        bh__told *told = bh__call_told(c, count);

        told->finds_keys = 4 * (l->done.inserted + l->done.stalled_count) < count;
        told->ops_seen |= (uint16_t)(1u << c->work.op);
        note_left(c, job, &l->done);
    }
    /* When a call has erased more keys than are left, what earlier calls found says little of the next ones. */
    if (!error)
        c->erased += job->slice.erased;
    if (!error && job->slice.erased && c->erased > table->keys)
        memset(table->told, 0, sizeof table->told);
    if (!error && job->slice.erased)
        bh__call_shrink(c);
    return error;
}

void bh__call_shrink(bh__call *c)
{
    bh_table *table = c->table;

    if (!c->stays && table->keys < table->min_keys)
        table->policy->shrink(table);
}

bh_status bh__call_look(bh__call *c, uint64_t count)
{
    launched l;
    const int error = launch(c, NULL, count, NULL, &l);

    return error ? bh__call_failed(c, error) : bh__cuda_alive(c->cuda);
}

bh_status bh__call_run_lookups(bh__call *c)
{
    bh__slot *s = c->ferry.now;
    launched l;
    int error = launch(c, NULL, s->count, NULL, &l);

    if (error)
        return bh__call_failed(c, error);
    c->ferry.patch = l.done.missing != 0;
    if (l.done.missing && bh__ferry_wants_patch(&c->ferry, s)) {
        error = bh__ferry_patch(&c->ferry, s);
        if (!error)
            error = launch(c, NULL, s->count, NULL, &l);
    }
    return error ? bh__call_failed(c, error) : bh__cuda_alive(c->cuda);
}

bh_status bh__call_change(bh__call *c, uint64_t count)
{
    const uint32_t *again = NULL;
    bh_status status = BH_OK;
    uint32_t turn = 0;

    c->vain = 0;
    if (!c->work.array[BH_ARRAY_OPS] && BH_OP_ERASES(c->work.op) &&
        c->table->policy->expect_erasures)
        c->table->policy->expect_erasures(c->table);
    for (;;) {
        uint32_t *stalled = c->names[turn];
        const uint64_t launched_count = count;
        launched l;
        int error = launch(c, again, count, stalled, &l);

        if (error)
            return bh__call_failed(c, error);
        status = bh__cuda_alive(c->cuda);
        count = l.done.stalled_count;
        if (status || !count)
            return status;
        /* More keys are new than was expected: the table grows for all of them at once. */
        if (!again && c->few_new && c->way == BH_WAY_CHANGE) {
            c->few_new = 0;
            error = bh__call_make_room(c, c->ferry.now);
            if (error)
                return bh__call_failed(c, error);
            again = stalled;
            turn ^= 1;
            continue;
        }
        if (!c->may_grow && !c->table->room &&
            !(l.done.reasons & ~(BH_REASON_ROOM | BH_REASON_PLACE))) {
            /* If there was no room from the beginning, no key has moved, and all elements that stalled
             * do need room. Otherwise they are launched once more, to be sure of that. */
            if (!l.job.room) {
                c->status = c->status ? c->status : c->why;
                return BH_OK;
            }
        } else if ((!c->table->room && !l.job.room) ||
                   (l.done.schedule != BH__CUDA_REGIONS && count == launched_count)) {
            /* As long as some elements were done, it helps to launch the others again: there is room, or was
             * and is taken by keys that others of them have too, and keys have moved. It also helps when room was
             * given to whole regions or to none. When no element was done, one thread searches further for a few,
             * if searches are still allowed. */
            if (!c->may_grow && !bh__looks_allowed(c->table) &&
                !(l.done.reasons & ~BH_REASON_PLACE)) {
                c->status = c->status ? c->status : c->why;
                return BH_OK;
            }
            status = bh__call_resolve(c, l.done.reasons, &stalled, &count);
            /* After VAIN_MOST times in a row at which one thread has searched in vain, the others stay
             * undone. */
            if (status || !count || c->vain >= VAIN_MOST)
                return status;
        }
        again = stalled;
        turn ^= 1;
    }
}
