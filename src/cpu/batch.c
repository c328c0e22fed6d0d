/*
 * One call on arrays, on cores. ways.h chooses how a call runs; most calls run as follows.
 *
 * The call's elements are cut into slices. Workers (tasks of the executor, or just
 * the calling thread when the call is small) take slice after slice: enter the gate,
 * set aside room for as many new keys as the slice could bring, run the kernel,
 * enter what happened into the table's counts, leave.
 *
 * When operations of a slice stall, its worker keeps their names and returns, and
 * so do the others after the slice they are in. No task ever waits for another. The
 * calling thread then takes the gate alone, lets the table's policy see to each
 * stalled slice (place along longer paths, grow), and starts the workers again.
 *
 *     workers   [slice][slice][slice: 3 stalled]      [the 3][slice] ...
 *               [slice][slice][slice]                 [slice][slice] ...
 *     caller                                    [grow]
 *
 * A task does not wait at the gate either: the thread that holds the gate alone may be
 * running a pass on the very executor whose thread the task occupies. The task keeps
 * its slice and returns, and the caller waits.
 *
 * A table grows step by step, and each step moves keys. So where a call has more elements than the table may have keys, and
 * these need room, its keys are counted first, and the table grows for all of them at once (expect).
 *
 * When a slice has erased so many keys that the table should be smaller, the workers
 * return in the same way, and the caller asks the policy to shrink it.
 *
 * In an ordered call there is one worker, and elements with the same key run one after the other. The order of different
 * keys is open: so slices are cut where a key repeats one of the slice (cut_ordered), and run as any other.
 *
 * An operation that the policy refuses is marked BH_NOT_DONE. Once growing has
 * failed, the call does not try to grow again: it does what can be done without.
 */
#include "cpu/backend.h"

#include "base/atomic.h"
#include "cpu/bias.h"
#include "cpu/census.h"
#include "cpu/distinct.h"
#include "cpu/joined.h"
#include "cpu/sorted.h"
#include "cpu/ways.h"
#include "storage/temporary.h"

/* Elements of an ordered call that run one after the other before keys are looked at again; and as many of these at least.
 * Chosen, not tuned. */
#define IN_TURN_MOST (BH_SLICE_MOST < 512u ? BH_SLICE_MOST + 0u : 512u)

/* The policy has a slice run again once where there is room; so often it gets to think that this is the first time. Chosen, not
 * tuned. The build for all interleavings explores one. */
#ifndef BH_FIRST_TIMES
#define BH_FIRST_TIMES 16u
#endif

typedef struct worker {
    uint32_t waiting;        /* it has a slice and was not let in */
    uint32_t asks;           /* the gate counts it among those that wait */
    uint32_t times;          /* how often its slice has stalled for room, and there was some */
    uint64_t keys, max_keys; /* of the table when its slice last began */
    bh__sorted *sorted;      /* NULL, or the chunk of the call that its slices come from */
    bh__slice slice;
    bh__stash stash;
    uint16_t list[BH_SLICE_MOST];
} worker;

typedef struct call {
    const bh__backend *backend;
    bh_table *table;
    const bh__batch *batch;
    void (*kernel)(bh__slice *slice);
    void (*in_turn)(bh__slice *slice); /* the kernel of slices that are `ordered` */
    worker *workers;
    bh__sorted *sorted; /* NULL, or one for each worker */
    uint64_t next;      /* first element that no worker has taken; may be beyond the last one */
    uint64_t chunk;     /* elements that a worker sorts at a time */
    uint64_t length;    /* of a slice */
    uint32_t takes_room;
    uint32_t changes;     /* it is not of lookups alone */
    uint32_t ordered;     /* equal keys run one after the other */
    uint32_t seen;        /* of an ordered call: keys that are looked at for the next slice */
    uint32_t in_tasks;    /* the workers are tasks of the executor */
    uint32_t on_stack;    /* the worker, one, lies on the stack */
    uint32_t stopped;     /* a worker waits for the policy or the gate */
    uint32_t shrink;      /* there are fewer keys than the table is made for */
    uint64_t counts_from; /* its keys are not counted while the table may have fewer than this */
    uint32_t grew;        /* the table has grown for the keys that were counted */
    bh__growth *growth;
    bh_status status;
} call;

/* Takes up to `most` elements of the call; answers the first. */
static uint64_t take(call *c, uint64_t most)
{
    uint64_t first;

    /* Atomic only where there are other workers: an atomic would be a tenth of a call of one key. */
    if (c->in_tasks)
        return bh__atomic_add(&c->next, most, __ATOMIC_RELAXED);
    first = c->next;
    c->next += most;
    return first;
}

/* Takes the next slice of a worker's sorted chunk, or of the next chunk when none is left; answers its first
 * element. */
static uint64_t take_sorted(call *c, worker *w)
{
    bh__sorted *sorted = w->sorted;
    uint64_t first, left;

    if (sorted->next >= sorted->batch.n) {
        if (sorted->batch.n)
            bh__sorted_return(sorted, c->table);
        sorted->batch.n = sorted->next = 0;
        first = take(c, c->chunk);
        if (first >= c->batch->n)
            return 0;
        left = c->batch->n - first;
        bh__sorted_take(sorted, c->backend, c->table, c->batch, first,
                        left < c->chunk ? left : c->chunk);
    }
    first = sorted->next;
    sorted->next += BH_SLICE_MOST;
    return first;
}

/* The values of a slice whose elements are counted. */
#define TIMES_8(...)                                                                               \
    __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__,     \
        __VA_ARGS__
#define TIMES_4096(...) TIMES_8(TIMES_8(TIMES_8(TIMES_8(__VA_ARGS__))))
static const uint32_t ones4[] = {TIMES_4096(1)};
static const uint64_t ones8[] = {TIMES_4096(1)};

_Static_assert(sizeof ones4 / sizeof *ones4 >= BH_SLICE_MOST, "ones for a whole slice");

static const void *values_of(const bh__batch *batch, uint64_t first, uint32_t value_bytes)
{
    if (batch->values)
        return (const unsigned char *)batch->values + first * value_bytes;
    if (!bh__counts_keys(batch))
        return NULL;
    return value_bytes == 4 ? (const void *)ones4 : ones8;
}

/*
 * Where the answers of lookups go there may be pages that nobody has written yet. Of a group of keys that are not all found at once
 * the answers are read, chosen and written: a page would take two faults, and the second, which replaces the page of zeros that the first
 * has put there, interrupts the processors of the other threads. So each page is written first, outside of the gate: 0 becomes 0, by
 * an instruction that compilers do not make a load of. (Where no key is found that is a fault for each page too many.)
 */
#define LEAST_PAGE 4096u

static void touch_pages(void *answers, uint64_t bytes)
{
    const uint64_t before = (uint64_t)(uintptr_t)answers % LEAST_PAGE;
    uint64_t at = before ? LEAST_PAGE - before : 0;

    for (; bytes >= LEAST_PAGE && at < bytes; at += LEAST_PAGE) {
        unsigned char zero = 0;

        (void)bh__atomic_swap_if((unsigned char *)answers + at, &zero, 0, __ATOMIC_RELAXED,
                                 __ATOMIC_RELAXED);
    }
}

/*
 * Decides how the slice of an ordered call runs that a worker has just taken: as far as its keys are all different, as if
 * concurrent; where too few are, some elements one after the other. What is cut off is taken again. Where keys repeat soon
 * few are looked at the next time, because the table that they are entered in is cleared first.
 */
static void cut_ordered(call *c, bh__slice *slice)
{
    const uint32_t taken = slice->count, seen = taken < c->seen ? taken : c->seen;
    const uint32_t least = slice->ops ? BH_DISTINCT_LEAST_MIXED : BH_DISTINCT_LEAST;
    uint32_t count = 0;

    if (seen >= least) {
        count = bh__distinct(slice->keys, c->table->options.key_bytes, seen);
        c->seen = 2 * count < IN_TURN_MOST       ? IN_TURN_MOST
                  : 2 * count < BH_DISTINCT_MOST ? 2 * count
                                                 : BH_DISTINCT_MOST;
    }
    slice->ordered = count < least;
    if (slice->ordered)
        count = taken < IN_TURN_MOST ? taken : IN_TURN_MOST;
    slice->count = count;
    c->next -= c->length - count;
}

/* Points a worker at the next elements of the call; answers 0 when there are none. */
static int take_slice(call *c, worker *w)
{
    const bh_table_options *o = &c->table->options;
    const uint64_t length = w->sorted ? BH_SLICE_MOST : c->length;
    const uint64_t first = w->sorted ? take_sorted(c, w) : take(c, length);
    const bh__batch *b = w->sorted ? &w->sorted->batch : c->batch;

    if (first >= b->n)
        return 0;
    w->slice.keys = (const unsigned char *)b->keys + first * o->key_bytes;
    w->slice.values = values_of(b, first, o->value_bytes);
    w->slice.values_out =
        b->values_out ? (unsigned char *)b->values_out + first * o->value_bytes : NULL;
    w->slice.outcomes = b->outcomes ? b->outcomes + first : NULL;
    w->slice.ops = b->ops ? b->ops + first : NULL;
    w->slice.count = (uint32_t)(b->n - first < length ? b->n - first : length);
    w->slice.listed = 0;
    w->slice.hints = 0;
    w->times = 0;
    if (c->ordered)
        cut_ordered(c, &w->slice);
    if (w->slice.values_out && !b->ops && b->op == BH_FIND && !w->sorted)
        touch_pages(w->slice.values_out, (uint64_t)w->slice.count * o->value_bytes);
    return 1;
}

/* Of one operation, in a sum over all of them: 1 if it is ops[i] and inserts nothing. So a compiler compares vectors. */
#define INSERTS_NOTHING(op, present, absent, reads, writes, joins)                                 \
    +((absent) != BH_INSERTED && ops[i] == (op))

/* How many keys a slice may insert. If slices took room for elements that insert nothing, others would find none in a table
 * that is nearly full, and stall, though erasures make room all the time. */
static uint32_t may_insert(const bh__slice *slice)
{
    const uint8_t *ops = slice->ops;
    uint32_t others = 0, i;

    if (slice->listed || !ops)
        return slice->listed ? slice->listed : slice->count;
    for (i = 0; i < slice->count; i++)
        others += (uint32_t)(0 BH_OPS_ROWS(INSERTS_NOTHING));
    return slice->count - others;
}

/* Passes the gate for a slice; *own receives the thread's presence, as which it did. Answers 0, the gate not passed, where a
 * task would have to wait: it is closed, or another thread changes the table without locks. */
static int enter(call *c, bh__presence **presence, bh__presence **own)
{
    bh_table *table = c->table;

    for (;;) {
        if (!bh__gate_try_shared(&table->gate, presence)) {
            if (c->in_tasks)
                return 0;
            bh__gate_enter_shared(&table->gate, presence, &c->backend->system);
        }
        *own = *presence ? *presence : bh__presence_own;
        if (!c->changes || !bh__bias_is_elsewhere(table, *own))
            return 1;
        bh__gate_leave_shared(&table->gate, *presence);
        if (c->in_tasks)
            return 0;
        bh__bias_end(table);
    }
}

/* Runs a worker's slice; answers 0 when it was not let in and nothing was done. */
static int run_slice(call *c, worker *w)
{
    bh_table *table = c->table;
    bh__slice *slice = &w->slice;
    bh__presence *presence, *own;
    uint64_t looks = 0;
    bh__note note = BH_NOTE_NOTHING;

    slice->inserted = slice->erased = slice->assigned = 0;
    slice->reasons = slice->moved = 0;
    slice->room = 0;
    if (!enter(c, &presence, &own))
        return 0;
    slice->geometry = table->policy->geometry(table);
    slice->hints = (slice->hints & BH_HINT_AGAIN) | bh__hints_of(table);
    w->keys = bh__keys_settled(table);
    w->max_keys = table->max_keys;
    if (c->changes)
        slice->hints |= bh__bias_hint(table, own);
    if (c->takes_room) {
        slice->room = bh__room_take(table, may_insert(slice), slice->hints);
        looks = bh__looks_take(table, slice->hints);
    }
    slice->looks = looks;
    bh__stash_begin(&w->stash);
    (slice->ordered ? c->in_turn : c->kernel)(slice);
    if (w->stash.left)
        table->kernels->put_back(slice);
    if (c->takes_room)
        bh__looks_give(table, looks, slice->looks, slice->hints);
    if (c->changes)
        bh__slice_settle(table, slice);
    else
        bh__target_note(table, slice->target);
    if (c->changes && !c->in_tasks && !(slice->hints & BH_HINT_BIASED))
        note = bh__bias_note(table, own, slice->listed ? slice->listed : slice->count);
    if (slice->erased && bh__wants_shrinking(table)) {
        bh__atomic_store(&c->shrink, 1, __ATOMIC_RELAXED);
        bh__atomic_store(&c->stopped, 1, __ATOMIC_RELAXED);
    }
    bh__gate_leave_shared(&table->gate, presence);
    if (note)
        bh__bias_follow(table, own, note);
    return 1;
}

static void work(void *argument, uint64_t index)
{
    call *c = argument;
    worker *w = &c->workers[index];

    do {
        if (!w->waiting) {
            if (!w->slice.stalled && !take_slice(c, w))
                return;
            w->slice.listed = w->slice.stalled;
        }
        w->waiting = !run_slice(c, w);
        if (w->asks && !w->waiting) {
            bh__gate_thank(&c->table->gate);
            w->asks = 0;
        }
        if (w->waiting || w->slice.stalled)
            bh__atomic_store(&c->stopped, 1, __ATOMIC_RELAXED);
    } while (!bh__atomic_load(&c->stopped, __ATOMIC_RELAXED));
}

/* Marks the elements that the policy refused, which are the first of the list; the others have not been tried
 * yet. */
static void refuse(bh__slice *slice)
{
    uint32_t i;

    for (i = 0; i < slice->refused; i++)
        if (slice->outcomes)
            slice->outcomes[slice->list[i]] = BH_NOT_DONE;
    for (; i < slice->stalled; i++)
        slice->list[i - slice->refused] = slice->list[i];
    slice->stalled -= slice->refused;
}

/* Takes the gate alone and has the policy shrink the table, if that is still wanted. */
static void shrink(bh_table *table)
{
    uint64_t since = bh__enter_alone(table);

    if (table->keys < table->min_keys)
        table->policy->shrink(table);
    bh__leave_alone(table, since);
}

/* Takes the gate alone and has the policy resolve a stalled slice. */
static void resolve(call *c, worker *w)
{
    bh_table *table = c->table;
    uint64_t since = bh__enter_alone(table);

    /* There is room, because the table has grown for another slice; or other slices may have it before this one runs again, and leave
     * it, or as much, in stripes. */
    if ((w->slice.reasons & BH_REASON_ROOM) && table->room &&
        (table->max_keys > w->max_keys || w->times++ < BH_FIRST_TIMES))
        w->slice.hints &= ~BH_HINT_AGAIN;
    if (table->policy->resolve(table, &w->slice, &c->growth->may_grow, &c->growth->why) ==
        BH_RESOLVED_REFUSED) {
        if (!c->status)
            c->status = c->growth->why;
        refuse(&w->slice);
    }
    /* The policy may have finished erasing operations of the slice. */
    if (w->slice.erased && table->keys < table->min_keys)
        table->policy->shrink(table);
    bh__leave_alone(table, since);
}

/*
 * How many elements of the call are looked at to see that the table will have more keys than a number: so many for each of these,
 * of which there are so many at least. Fewer elements are not looked at. Where they had more keys, as many elements for each of
 * those are looked at, and so many times as many as before at least; if not, none is again until the table is so many times as
 * large. So a call looks at its elements little more than once, and most calls look at none. All four numbers were chosen, not tuned.
 */
#define CENSUS_OF_KEY 16u
#define CENSUS_KEYS_LEAST 256u
#define CENSUS_LEAST 32u
#define CENSUS_AGAIN 4u
/* Before a call of so many elements begins it is seen whether the table is empty. Fewer show it by running in vain. */
#define CENSUS_AHEAD 64u
/* One step of growth is enough for elements that are fewer than this part of the keys that there may be; and a table grows for a
 * little more than has been counted, so that in most cases all have room. */
#define CENSUS_STEP 8u
#define CENSUS_MORE 32u
/* Where they are hardly more than the table may have, it does not grow for them before one finds no room: for it may have been made
 * for just these. This part of its keys, less what is added, is four times the standard error of their number. */
#define CENSUS_SURE 8u

/* Elements of the workers' slices that found no room: their keys were absent when they were looked for. Lowers *keys to how many other keys
 * the table had at least. (Of an ordered slice only the first element has been tried.) */
static uint64_t lack_room(const call *c, uint32_t workers, bh__census *census, uint64_t *keys)
{
    uint64_t count = 0, had;
    uint32_t i;

    for (i = 0; i < workers; i++) {
        const bh__slice *slice = &c->workers[i].slice;

        if (c->workers[i].waiting || !slice->stalled || slice->ordered ||
            !(slice->reasons & BH_REASON_ROOM))
            continue;
        count += slice->stalled;
        /* Beside other slices, what one has inserted another may have sought before. */
        had = c->workers[i].keys + (workers == 1 ? slice->inserted : 0);
        *keys = *keys < had ? *keys : had;
        if (census)
            bh__census_list(census, slice->keys, slice->list, slice->stalled);
    }
    return count;
}

/*
 * About how many keys the table has after the call at least, and a few more, as far as its next `look` elements say and those that
 * found no room: as many as all of these have, or as it had before the latter began and as many as the latter have, which were absent.
 * 0 where that is not counted, since they cannot have more than `most`. *left receives how many elements have not been looked at,
 * UINT64_MAX where none was.
 */
static uint64_t count_keys(call *c, uint32_t workers, uint64_t most, uint64_t look, uint64_t *left)
{
    const bh_system *system = &c->backend->system;
    const uint64_t n = c->batch->n, first = c->next < n ? c->next : n;
    const uint64_t seen = n - first < look ? n - first : look;
    const uint32_t key_bytes = c->table->options.key_bytes;
    uint64_t keys = UINT64_MAX, together, all;
    const uint64_t lack = lack_room(c, workers, NULL, &keys);
    bh__census census;

    *left = UINT64_MAX;
    if (lack + seen < CENSUS_LEAST || (lack + seen <= most && lack < most / CENSUS_STEP) ||
        !bh__census_begin(&census, system, key_bytes, lack + seen))
        return 0;
    *left = n - first - seen;
    (void)lack_room(c, workers, &census, &keys);
    keys = lack ? keys : 0;
    together = keys + bh__census_keys(&census);
    bh__census_array(&census, &c->backend->executor,
                     (const unsigned char *)c->batch->keys + first * key_bytes, seen);
    all = bh__census_keys(&census);
    bh__census_end(&census, system);
    all = all > together ? all : together;
    all += all / CENSUS_MORE;
    return all < keys + lack + seen ? all : keys + lack + seen;
}

/* Has the table grow until it may have so many keys, or cannot grow. A small table, or one that has a small part of these, grows at
 * once. Otherwise other calls come in between its steps, of a 32nd of its keys at least; but they may also make it smaller again, so
 * there is an end to the steps. Chosen, not tuned. */
#define GROW_STEPS 128u
#define GROW_STEPS_FROM (UINT64_C(1) << 18)

static void grow_for(bh_table *table, uint64_t most)
{
    uint32_t steps = 0;
    int grows;

    do {
        const uint64_t since = bh__enter_alone(table), before = table->max_keys;
        const int by_steps = before >= GROW_STEPS_FROM && before > most / CENSUS_STEP;
        const uint64_t more = by_steps ? before + before / 32 + 1 : most;
        const uint64_t step = more < most ? more : most;

        if (before < step && table->keys < step)
            table->policy->expect(table, step);
        grows = before < table->max_keys && table->max_keys < most;
        bh__leave_alone(table, since);
    } while (grows && ++steps < GROW_STEPS);
}

/* Has the table grow for all keys that the call is known to bring. Before the call begins `workers` is 0, and only an empty table
 * grows: what is brought is new. */
static void expect(call *c, uint32_t workers)
{
    bh_table *table = c->table;
    uint64_t max_keys, most, counted, left, look, further;
    bh__presence *presence;
    int is_empty, grows;

    /* (In a mixed call others may be erased.) */
    if (!c->takes_room || c->batch->ops || !c->growth->may_grow)
        return;
    bh__gate_enter_shared(&table->gate, &presence, &c->backend->system);
    max_keys = table->max_keys;
    is_empty = !bh__keys_settled(table); /* or stripes hide some keys */
    bh__gate_leave_shared(&table->gate, presence);
    if (max_keys < c->counts_from || (!workers && !is_empty))
        return;
    most = max_keys;
    look = CENSUS_OF_KEY * (most > CENSUS_KEYS_LEAST ? most : CENSUS_KEYS_LEAST);
    do {
        counted = count_keys(c, workers, most, look, &left);
        grows = counted > most + (most == max_keys ? most / CENSUS_SURE : 0);
        most = grows ? counted : most;
        if (left < UINT64_MAX)
            c->counts_from = CENSUS_AGAIN * most;
        further = CENSUS_OF_KEY * most;
        look = further > CENSUS_AGAIN * look ? further : CENSUS_AGAIN * look;
    } while (grows && left);
    if (most == max_keys)
        return;
    /* An empty table would be made anew, for which a few keys more are no reason. */
    if (!workers && most / 2 <= max_keys) {
        c->counts_from = 0;
        return;
    }
    c->grew = 1;
    grow_for(table, most);
}

/* The same when slices have run, if elements of them found no room. */
static void expect_for_stalled(call *c, uint32_t workers)
{
    uint64_t keys = 0;

    if (lack_room(c, workers, NULL, &keys))
        expect(c, workers);
}

/* Bytes of memory for copies that each worker of a call is to have: none where its elements all do the same, or are too few for
 * it to matter; or where the stack has the worker: slices go deeper with copies. */
static uint64_t bytes_of_copies(const call *c)
{
    const bh_table_options *o = &c->table->options;

    return c->batch->ops && c->batch->n >= BH_SLICE_MOST && !c->on_stack
               ? (BH_COPIES_BYTES(BH_SLICE_MOST, o->key_bytes, o->value_bytes) + 7) / 8 * 8
               : 0;
}

/* Has the gate count the workers that wait for it, or not: not while this thread wants to be alone, for it would wait for itself.
 * Answers whether there are any. */
static int ask_for_workers(call *c, uint32_t workers, uint32_t asks)
{
    uint32_t i;
    int any = 0;

    for (i = 0; i < workers; i++) {
        worker *w = &c->workers[i];

        any |= w->waiting != 0;
        if (!w->waiting || w->asks == asks)
            continue;
        if (asks)
            bh__gate_ask(&c->table->gate);
        else
            bh__gate_thank(&c->table->gate);
        w->asks = asks;
    }
    return any;
}

/* Waits until workers that were not let in can try again, if there are any. They are counted until they are in. */
static void await_gate(call *c, uint32_t workers)
{
    if (!ask_for_workers(c, workers, 1))
        return;
    bh__gate_await(&c->table->gate, &c->backend->system);
    if (c->changes && bh__advice_load(&c->table->biased_to)) {
        (void)ask_for_workers(c, workers, 0);
        bh__bias_stay_suspended(c->table);
        (void)ask_for_workers(c, workers, 1);
    }
}

static void run_call(call *c, uint32_t workers)
{
    const bh_executor *executor = &c->backend->executor;
    const bh_system *system = &c->backend->system;
    const uint64_t bytes = bytes_of_copies(c);
    unsigned char *copies = bytes ? system->allocate(system->state, workers * bytes) : NULL;
    uint32_t i;

    c->in_tasks = workers > 1;
    for (i = 0; i < workers; i++) {
        worker *w = &c->workers[i];

        w->waiting = w->asks = 0;
        w->sorted = c->sorted ? c->sorted + i : NULL;
        w->slice.stalled = 0;
        w->slice.list = w->list;
        w->slice.stash = &w->stash;
        w->slice.copies = copies ? copies + i * bytes : NULL;
        w->slice.system = system;
        w->slice.op = (uint8_t)c->batch->op;
        w->slice.ordered = 0;
        w->slice.absent = 0;
    }
    if (c->in_tasks && c->changes)
        bh__bias_suspend(c->table);
    if (c->batch->n >= CENSUS_AHEAD)
        expect(c, 0);
    do {
        c->stopped = 0;
        c->shrink = 0;
        if (workers == 1)
            work(c, 0);
        else
            executor->run(executor->state, work, c, workers);
        (void)ask_for_workers(c, workers, 0);
        if (c->takes_room)
            expect_for_stalled(c, workers);
        for (i = 0; i < workers; i++)
            if (!c->workers[i].waiting && c->workers[i].slice.stalled)
                resolve(c, &c->workers[i]);
        if (c->shrink)
            shrink(c->table);
        await_gate(c, workers);
    } while (c->stopped);
    /* Of the keys for which it has grown some may have been refused, because they all want the same few slots. */
    if (c->grew && c->status)
        shrink(c->table);
    if (c->in_tasks && c->changes)
        bh__bias_resume(c->table);
    if (copies)
        system->release(system->state, copies, workers * bytes);
}

/* Runs the call with its elements sorted; answers 0, nothing done, for want of memory. */
static int run_sorted(call *c, uint64_t workers)
{
    const bh__backend *backend = c->backend;
    uint64_t rounds = c->batch->n / (workers * BH_SORTED_CHUNK) + 1, bytes, i;
    bh__temporary memory;

    /* All workers get the same number of chunks, of the same size. */
    c->chunk = c->batch->n / (workers * rounds) + 1;
    bytes = bh__sorted_bytes(c->table, c->chunk);
    if (!bh__temporary_take(&memory, &backend->host, workers * (bytes + sizeof(bh__sorted))))
        return 0;
    c->sorted = (bh__sorted *)(void *)(memory.memory + workers * bytes);
    for (i = 0; i < workers; i++) {
        c->sorted[i].memory = memory.memory + i * bytes;
        c->sorted[i].batch.n = c->sorted[i].next = 0;
    }
    run_call(c, (uint32_t)workers);
    bh__temporary_give(&memory, &backend->host);
    return 1;
}

/* Runs the call with `workers` workers, for which there is memory. */
static bh_status run_workers(call *c, bh__cpu_way way, uint64_t workers)
{
    c->sorted = NULL;
    if (way != BH_CPU_SORTED || !run_sorted(c, workers))
        run_call(c, (uint32_t)workers);
    return c->status;
}

/*
 * Runs a call of one element; answers 0, nothing done, when the gate is closed or the element has stalled.
 *
 * Other slices take room for new keys and looks before they run, and give back what is left: four locked
 * instructions, as dear as the rest of such a call. An element that finds its key needs no room, so it
 * first runs without, and again, with room, if that was missing. (Where the table is biased to this thread nothing is locked,
 * and room is taken at once.) Its looks are charged when it has made them:
 * the allowance may be overdrawn by a search of each thread, which is bounded by itself.
 */
static int run_lone(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    void (*const kernel)(bh__slice * slice) = table->kernels->slice[BH_SLICE_MIXED];
    const int takes_room = bh__takes_room(batch), changes = bh__cpu_is_change(batch);
    bh__presence *presence, *own;
    uint16_t list[1];
    bh__stash stash;
    bh__slice slice;
    uint64_t looks = 0;
    bh__note note = BH_NOTE_NOTHING;
    int shrinks;

    if (!bh__gate_try_shared(&table->gate, &presence))
        return 0;
    own = presence ? presence : bh__presence_own;
    if (changes && bh__bias_is_elsewhere(table, own)) {
        bh__gate_leave_shared(&table->gate, presence);
        return 0;
    }
    if (takes_room)
        looks = bh__looks_allowed(table);
    if (looks > BH_SLICE_MOST && looks != BH_LOOKS_FREE)
        looks = BH_SLICE_MOST;
    slice.geometry = table->policy->geometry(table);
    slice.keys = batch->keys;
    slice.values = values_of(batch, 0, table->options.value_bytes);
    slice.values_out = batch->values_out;
    slice.outcomes = batch->outcomes;
    slice.ops = batch->ops;
    slice.list = list;
    slice.stash = &stash;
    slice.copies = NULL;
    slice.system = &backend->system;
    slice.target = NULL;
    slice.count = 1;
    slice.listed = 0;
    slice.op = (uint8_t)batch->op;
    slice.ordered = 1;
    slice.moved = slice.absent = 0;
    slice.hints = bh__hints_of(table) | (changes ? bh__bias_hint(table, own) : 0);
    slice.reasons = 0;
    slice.looks = looks;
    slice.room =
        takes_room && (slice.hints & BH_HINT_BIASED) ? bh__room_take(table, 1, slice.hints) : 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    bh__stash_begin(&stash);
    kernel(&slice);
    if (!changes) {
        bh__target_note(table, slice.target);
        bh__gate_leave_shared(&table->gate, presence);
        return 1;
    }
    if (slice.stalled && takes_room && !slice.room &&
        (slice.room = bh__room_take(table, 1, slice.hints)) != 0)
        kernel(&slice);
    if (stash.left)
        table->kernels->put_back(&slice);
    if (looks != BH_LOOKS_FREE)
        bh__looks_spend(&table->allowance[1], looks - slice.looks, slice.hints);
    bh__slice_settle(table, &slice);
    if (!(slice.hints & BH_HINT_BIASED))
        note = bh__bias_note(table, own, 1);
    shrinks = slice.erased && bh__wants_shrinking(table);
    bh__gate_leave_shared(&table->gate, presence);
    if (shrinks)
        shrink(table);
    if (note)
        bh__bias_follow(table, own, note);
    return !slice.stalled;
}

/*
 * How many workers a call gets, where so many large calls run in the context, this one included: its share of the executor's threads. Sixteen
 * callers of 16,384 keys that asked 16 threads for help took 1.7 times as long: each waited for parts of its call that a thread had which had
 * been interrupted. A call that runs for a long time may use all threads, because other calls may end soon.
 */
#define LONG_SLICES 64u

static uint64_t workers_beside(const bh__backend *backend, const bh__batch *batch, uint64_t workers,
                               uint64_t large_calls)
{
    const uint64_t width = backend->executor.width(backend->executor.state);
    const uint64_t share = width / large_calls;

    if (batch->n > LONG_SLICES * BH_SLICE_MOST || workers <= share)
        return workers;
    return share ? share : 1;
}

/* How long the slices of a call are: so that nearly all workers get one, in whole lines of outcomes. Longer calls have more slices
 * than workers. */
static uint64_t length_of_slices(uint64_t n, uint64_t workers)
{
    const uint64_t share = n / workers + (n % workers != 0);
    const uint64_t each = (share / 64 + (share % 64 != 0)) * 64;
    const uint64_t length = each > BH_SLICE_SHARED ? each : BH_SLICE_SHARED;

    return workers < 2 || length > BH_SLICE_MOST ? BH_SLICE_MOST : length;
}

/* Runs a call in slices, with so many workers. */
static bh_status run_with(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                          const bh__cpu_course *course, bh__growth *growth, uint64_t workers)
{
    const bh_system *system = &backend->system;
    call c;

    c.backend = backend;
    c.table = table;
    c.batch = batch;
    c.next = 0;
    c.length = length_of_slices(batch->n, workers);
    c.takes_room = (uint32_t)bh__takes_room(batch);
    c.changes = (uint32_t)bh__cpu_is_change(batch);
    c.ordered = course->way == BH_CPU_IN_ORDER || course->way == BH_CPU_LONE;
    c.kernel = table->kernels->slice[course->kind];
    c.in_turn = table->kernels->slice[BH_SLICE_MIXED];
    c.seen = BH_DISTINCT_MOST;
    c.on_stack = 0;
    c.counts_from = 0;
    c.grew = 0;
    c.growth = growth;
    c.status = BH_OK;

    /* A mixed call goes deepest (kinds.h, fold.h): of 64 KiB of stack it leaves too little for a worker. */
    if (workers > 1 || (batch->ops && batch->n >= BH_SLICE_MOST)) {
        c.workers = system->allocate(system->state, workers * sizeof(worker));
        if (c.workers) {
            (void)run_workers(&c, course->way, workers);
            system->release(system->state, c.workers, workers * sizeof(worker));
            return c.status;
        }
    }
    /* The call is small or ordered, or there is no memory for other workers than this one. */
    {
        worker alone;

        c.workers = &alone;
        c.on_stack = 1;
        return run_workers(&c, course->way, 1);
    }
}

/* Runs a call in slices: in order, sorted, or as if concurrent. */
static bh_status run_slices(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                            const bh__cpu_course *course, bh__growth *growth)
{
    uint32_t *const large_calls = &((bh__cpu *)(uintptr_t)backend)->large_calls;
    bh_status status;
    uint64_t beside;

    if (course->workers < 2)
        return run_with(backend, table, batch, course, growth, 1);
    beside = bh__atomic_add(large_calls, 1, __ATOMIC_RELAXED) + 1;
    status = run_with(backend, table, batch, course, growth,
                      workers_beside(backend, batch, course->workers, beside));
    bh__atomic_subtract(large_calls, 1, __ATOMIC_RELAXED);
    return status;
}

bh_status bh__cpu_run(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                      int in_order, bh__growth *growth)
{
    const bh__cpu_course course =
        bh__cpu_choose(backend, table, batch, in_order ? BH_CPU_ORDER_GIVEN : BH_CPU_ORDER_NONE);

    return run_slices(backend, table, batch, &course, growth);
}

bh_status bh__cpu_slices(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    bh__growth growth = {1, BH_ERR_FULL};

    return bh__cpu_run(backend, table, batch, 0, &growth);
}

/* Runs a call in slices, but joins values of equal keys first as far as that pays. */
static bh_status run_joined(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                            const bh__cpu_course *course, bh__growth *growth)
{
    bh_status status = BH_OK, rest = BH_OK;
    const uint64_t done = bh__joined_run(backend, table, batch, course->workers, growth, &status);

    if (done < batch->n) {
        const bh__batch part = bh__batch_part(table, batch, done, batch->n - done);

        rest = run_slices(backend, table, &part, course, growth);
    }
    return status ? status : rest;
}

bh_status bh__cpu_batch(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    const bh__cpu_course course = bh__cpu_choose(backend, table, batch, BH_CPU_ORDER_OF_TABLE);
    bh__growth growth = {1, BH_ERR_FULL};

    if (course.way == BH_CPU_LONE && run_lone(backend, table, batch))
        return BH_OK;
    if (course.way == BH_CPU_PERFORM)
        return table->policy->perform(table, batch);
    if (course.way == BH_CPU_SEGMENTS)
        return bh__cpu_ordered(backend, table, batch);
    if (course.way == BH_CPU_SLICES && bh__joined_may(table, batch))
        return run_joined(backend, table, batch, &course, &growth);
    return run_slices(backend, table, batch, &course, &growth);
}
