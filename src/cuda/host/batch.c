/*
 * One call on arrays, on a GPU.
 *
 * The calling thread holds the table's gate alone from the call's beginning to its end: on a GPU
 * a call is one stream of kernels that fill all of it, so there is nothing to gain from two at
 * once, and lookups know that nobody writes (find.cu compiles them for that).
 *
 * A call is cut into parts. Arrays on the device are used in place; of those on the host each
 * part is copied to the device and its answers back, while other parts run (ferry.c). A part runs
 * like this:
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
#include "cuda/host/call.h"

#include <string.h>

#include "base/error.h"
#include "base/operations.h"
#include "storage/arena.h"

/* Elements of one launch. Lists of them take 4 bytes for each, four times; where that is too
 * much memory, a launch has a quarter of them. More are better: a schedule that goes through the
 * whole table for each launch (regions.h) finds more to do there. */
#define PART_MOST (UINT64_C(1) << 26)
#define PART_SPARING (PART_MOST / 4)

/* Where arrays are on the host a part is no longer than that. */
#define COPIED_PART_MOST (UINT64_C(1) << 20)

/* Lookups have no list; their names are 32-bit. */
#define FIND_PART_MOST (UINT64_C(1) << 30)

/* Elements that are counted at a time before a table grows for them; their names are 32-bit. Where
 * they are many and none of a sample is new, hardly any is, and they are not counted: that would
 * take a third as long as what is to be done with them. */
#define SURVEY_MOST (UINT64_C(1) << 30)
#define SAMPLED_FROM (UINT64_C(1) << 22)

bh_status bh__call_failed(const bh__call *c, int error)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused: %.200s; elements not done are marked so",
                    c->cuda->module->message(error));
}

static unsigned char *seen(const bh__call *c, int which)
{
    return bh__ferry_seen(&c->ferry, which);
}

void bh__call_use_part(bh__call *c, uint64_t from)
{
    int i;

    for (i = 0; i < BH_ARRAYS; i++) {
        const int which = i == BH_ARRAY_VALUES ? c->given : i;
        unsigned char *first = seen(c, which);

        c->work.array[i] = first ? first + from * c->ferry.array[which].bytes : NULL;
    }
    c->work.op = c->batch->op;
    c->work.kind = c->kind;
    c->work.takes_room = bh__takes_room(c->batch);
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

/* Copies the first `count` elements of the list together, as a slice for the policy. */
static int gather_few(bh__call *c, few *f, const uint32_t *names, uint32_t count,
                      bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    const bh_table_options *o = &c->table->options;
    arena a = {(uint64_t)(uintptr_t)f->device, 0};
    uint32_t i;
    int error = 0;

    memset(slice, 0, sizeof *slice);
    slice->keys = pointer(cut(&a, count, o->key_bytes));
    slice->values = pointer(cut(&a, count, o->value_bytes));
    slice->outcomes = (uint8_t *)pointer(cut(&a, count, 1));
    slice->ops = (uint8_t *)pointer(cut(&a, count, 1));
    slice->list = (uint16_t *)pointer(cut(&a, count, 2));
    slice->count = slice->stalled = count;
    slice->op = (uint8_t)c->work.op;
    slice->system = &c->cuda->backend.system;
    slice->target = c->table->target;
    slice->again = slice->stalled_room = 1;
    for (i = 0; i < count; i++)
        f->list[i] = (uint16_t)i;
    error = m->gather(gpu, (void *)(uintptr_t)slice->keys, c->work.array[BH_ARRAY_KEYS], o->key_bytes,
                      names, count);
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
    /* Those that stall again leave theirs alone. */
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

/* Brings what the policy has left of a slice, and the outcomes of the others. */
static int read_few(const bh__call *c, few *f, uint32_t count, const bh__slice *slice)
{
    const bh__cuda_module *m = c->cuda->module;
    bh__gpu *gpu = c->cuda->gpu;
    int error = m->copy(gpu, BH_LANE_RUN, f->list, slice->list,
                        (uint64_t)slice->stalled * sizeof *f->list);

    if (!error)
        error = m->copy(gpu, BH_LANE_RUN, f->outcomes, slice->outcomes, count);
    return error ? error : m->wait(gpu, BH_LANE_RUN);
}

/* Sends the elements' values back: those that were found, and the others as they were. `names` is as
 * gather_few found it. */
static int give_values(const bh__call *c, const uint32_t *names, uint32_t count,
                       const bh__slice *slice)
{
    return slice->values_out
               ? c->cuda->module->scatter(c->cuda->gpu, c->work.array[BH_ARRAY_VALUES_OUT],
                                          slice->values_out, c->table->options.value_bytes, names,
                                          count)
               : 0;
}

/* Sends names back to their list; the first `done` of them are done, and these are their outcomes. */
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
 * The policy has seen to a slice of the list's first `count` elements. The outcomes and values of those
 * that are done, or refused, are written; the names of the others move to the end of these `count`
 * places. Answers in *kept how many they are. It has been done, and must be told: what is refused
 * is asked for twice.
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
    error = tell_few(c, f, names, sorted, count, done, slice);
    return error ? tell_few(c, f, names, sorted, count, done, slice) : 0;
}

/* Has the policy see to the first elements of a list; *names and *count become what is left. */
static bh_status resolve(bh__call *c, uint32_t **names, uint64_t *count)
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

    error = c->cuda->module->allocate(c->cuda->gpu, BH_MEMORY_CALL,
                                      (uint64_t)some * (o->key_bytes + o->value_bytes + 4) + 320,
                                      &device);
    if (error)
        return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory to place %u keys: %.100s",
                        some, c->cuda->module->message(error));
    f.device = (unsigned char *)device;
    error = gather_few(c, &f, *names, some, &slice);
    if (!error) {
        since = system->clock_nanoseconds(system->state);
        resolved = c->table->policy->resolve(c->table, &slice, &c->may_grow, &c->why);
        since = system->clock_nanoseconds(system->state) - since;
        if (since > c->table->longest_pause_ns)
            c->table->longest_pause_ns = since;
        refused = resolved == BH_RESOLVED_REFUSED;
        status = bh__cuda_alive(c->cuda);
        if (!status)
            error = bh__cuda_note(c->cuda,
                                  settle_few(c, &f, *names, some, &slice, refused, &kept));
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

/* ---------------------------------------------------------------------------------------------
 * parts
 * --------------------------------------------------------------------------------------------- */

/* How many elements the part that begins there has. */
static uint64_t part_at(const bh__call *c, uint64_t first)
{
    const uint64_t left = c->n - first;

    return c->part < left ? c->part : left;
}

/* While the GPU works on a part: finishes the last but one, and brings the next one into its slot.
 * Errors come up when that part is run, or because the GPU is lost. */
static void bring_next(bh__call *c)
{
    const uint64_t next = c->ferry.now->first + c->ferry.now->count;
    bh__slot *s = bh__ferry_slot(&c->ferry, c->number + 1);

    if (c->ferry.slots == 1 || next == c->n || s->full)
        return;
    if (!bh__ferry_finish(&c->ferry, s))
        (void)bh__ferry_bring(&c->ferry, s, next, part_at(c, next));
}

typedef struct slice_run {
    bh__call *of;
    const bh__cuda_job *job;
    uint64_t count;
} slice_run;

static int run_slice(const bh__cuda *cuda, void *device_job, void *argument)
{
    const slice_run *run = (const slice_run *)argument;
    const int error = cuda->module->slice(cuda->gpu, run->of->kernels, run->of->work.kind,
                                          (bh__cuda_job *)device_job, run->job, run->count);

    if (!error)
        bring_next(run->of);
    return error;
}

/* What a table's statistics call the schedule that ran. */
static const char *schedule_name(const bh__cuda *cuda, uint64_t schedule)
{
    switch (schedule) {
    case BH__CUDA_LANES: return "cuda-lanes";
    case BH__CUDA_REGIONS: return "cuda-regions";
    case BH__CUDA_EACH + 1: return "cuda-thread";
    case BH__CUDA_EACH + 4: return "cuda-tile4";
    case BH__CUDA_EACH + 8: return "cuda-tile8";
    case BH__CUDA_EACH + 16: return "cuda-tile16";
    case BH__CUDA_EACH + 32: return "cuda-tile32";
    case BH__CUDA_VOTER + 4: return "cuda-voter4";
    case BH__CUDA_VOTER + 8: return "cuda-voter8";
    case BH__CUDA_VOTER + 16: return "cuda-voter16";
    case BH__CUDA_VOTER + 32: return "cuda-voter32";
    default: return cuda->backend.target;
    }
}

/* The looks that the searches of a launch have made, or more: where they are not a stage of their own
 * whoever stalled may have searched. */
static uint64_t looks_of(const bh__cuda_job *job)
{
    const uint64_t searched = job->parked_count[1] ? job->parked_count[1] : job->stalled_count;
    const uint64_t looks = searched * BH_LOOKS_OF_SEARCH;

    return looks < job->slice.looks ? looks : job->slice.looks;
}

/* Where there is not room for all new keys a schedule that fills one region after the other would fill the
 * first ones to the brim, with paths of moves, and leave the others as they are. */
static bh_schedule schedule_of(const bh__call *c)
{
    const bh_schedule asked = c->table->options.schedule;

    return c->scarce && asked == BH_SCHEDULE_AUTO ? BH_SCHEDULE_WINDOW : asked;
}

/* Runs the elements that are named, or all of a part; enters what happened into the table's
 * counts. */
static int launch(bh__call *c, const uint32_t *names, uint64_t count, uint32_t *stalled,
                  bh__cuda_job *job)
{
    bh_table *table = c->table;
    bh__allowance *allowance = bh__allowance_of(table);
    slice_run run;
    int error;

    memset(job, 0, sizeof *job);
    job->slice.geometry = table->policy->geometry(table);
    job->slice.keys = c->work.array[BH_ARRAY_KEYS];
    job->slice.values = c->work.array[BH_ARRAY_VALUES];
    job->slice.values_out = c->work.array[BH_ARRAY_VALUES_OUT];
    job->slice.outcomes = c->work.array[BH_ARRAY_OUTCOMES];
    job->slice.ops = c->work.array[BH_ARRAY_OPS];
    job->slice.op = (uint8_t)c->work.op;
    job->slice.turnover = bh__turnover(table);
    job->slice.looks = bh__looks_allowed(table);
    job->searches = job->slice.looks / BH_LOOKS_OF_SEARCH;
    job->count = count;
    job->names = names;
    job->stalled = stalled;
    job->parked[0] = c->names[2];
    job->parked[1] = c->names[3];
    job->room = c->work.takes_room ? bh__room_take(table, count) : 0;
    job->wanted = (uint64_t)schedule_of(c);
    run.of = c;
    run.job = job;
    run.count = count;
    error = bh__cuda_mail(c->cuda, job, sizeof *job, c->kernels->descriptor_bytes, run_slice, &run);
    if (error)
        job->slice.inserted = job->slice.erased = job->slice.assigned = 0;
    job->slice.room = job->room - job->slice.inserted + job->slice.erased;
    job->slice.moved = job->moved != 0;
    if (!error && allowance != table->allowance)
        bh__looks_spend(allowance, looks_of(job));
    /* What is launched again, for it stalled, is few: the part ran as it did the first time. */
    job->slice.target = names ? table->target : schedule_name(c->cuda, job->schedule);
    bh__slice_settle(table, &job->slice);
    if (!error && job->slice.erased && table->keys < table->min_keys)
        table->policy->shrink(table);
    return error;
}

bh_status bh__call_look(bh__call *c, uint64_t count)
{
    bh__cuda_job job;
    const int error = launch(c, NULL, count, NULL, &job);

    return error ? bh__call_failed(c, error) : bh__cuda_alive(c->cuda);
}

/* Runs a part of lookups; once more, when it turns out that some keys are missing and that their
 * values must be there first. */
static bh_status run_lookups(bh__call *c)
{
    bh__slot *s = c->ferry.now;
    bh__cuda_job job;
    int error = launch(c, NULL, s->count, NULL, &job);

    if (error)
        return bh__call_failed(c, error);
    c->ferry.patch = job.missing != 0;
    if (job.missing && bh__ferry_wants_patch(&c->ferry, s)) {
        error = bh__ferry_patch(&c->ferry, s);
        if (!error)
            error = launch(c, NULL, s->count, NULL, &job);
    }
    return error ? bh__call_failed(c, error) : bh__cuda_alive(c->cuda);
}

bh_status bh__call_change(bh__call *c, uint64_t count)
{
    const uint32_t *names = NULL;
    bh_status status = BH_OK;
    uint32_t turn = 0;

    c->vain = 0;
    for (;;) {
        uint32_t *stalled = c->names[turn];
        bh__cuda_job job;
        int error = launch(c, names, count, stalled, &job);

        if (error)
            return bh__call_failed(c, error);
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
                   (job.schedule != BH__CUDA_REGIONS &&
                    !(job.slice.inserted | job.slice.erased | job.slice.assigned))) {
            /* As long as some are done it helps to launch the others again: there is room, and
             * keys have moved. So it does when room was given to whole regions or to none. When it
             * helps nobody, one thread looks further for a few, if searches are still allowed. */
            if (!c->may_grow && !bh__looks_allowed(c->table)) {
                c->status = c->status ? c->status : c->why;
                return BH_OK;
            }
            status = resolve(c, &stalled, &count);
            /* Each time one thread has searched far in vain for some: the others stay undone. */
            if (status || !count || c->vain >= VAIN_MOST)
                return status;
        }
        names = stalled;
        turn ^= 1;
    }
}

/* ---------------------------------------------------------------------------------------------
 * room for what comes
 * --------------------------------------------------------------------------------------------- */

/* Bits of a survey for each element, at least. */
#define SURVEY_SPARSE 8u
#define SURVEY_BITS_LEAST (UINT64_C(1) << 15)

static int run_survey(const bh__cuda *cuda, void *device_job, void *argument)
{
    const slice_run *run = (const slice_run *)argument;

    return cuda->module->survey(cuda->gpu, run->of->kernels, (bh__cuda_job *)device_job,
                                run->count);
}

/* So many keys have set `set` of `bits` bits, when each sets one at random. That is
 * -bits * ln(1 - set / bits) ("linear counting", Whang and others, 1990); the share is 1/8 at most. */
static uint64_t keys_of_bits(uint64_t set, uint64_t bits)
{
    const double share = (double)set / (double)bits;

    return (uint64_t)((double)set * (1 + share / 2 + share * share / 3 +
                                     share * share * share / 4));
}

int bh__call_survey(bh__call *c, bh__surveyed which, uint64_t count, uint64_t every,
                    uint64_t *keys)
{
    const bh__cuda_module *m = c->cuda->module;
    uint64_t bits = SURVEY_BITS_LEAST;
    slice_run run;
    bh__cuda_job job;
    void *memory;
    int error;

    *keys = 0;
    while (bits < SURVEY_SPARSE * count)
        bits *= 2;
    if (m->allocate(c->cuda->gpu, BH_MEMORY_CALL, bits / 8, &memory))
        return 0;
    memset(&job, 0, sizeof job);
    job.slice.geometry = c->table->policy->geometry(c->table);
    job.slice.keys = c->work.array[BH_ARRAY_KEYS];
    job.slice.ops = c->work.array[BH_ARRAY_OPS];
    job.slice.op = (uint8_t)c->work.op;
    job.count = count;
    job.every = every;
    job.any = which == BH_SURVEY_ANY;
    job.bits = (uint32_t *)memory;
    job.bit_count = bits;
    run.of = c;
    run.job = &job;
    run.count = count;
    error = m->fill(c->cuda->gpu, memory, 0, bits / 8);
    if (!error)
        error = bh__cuda_mail(c->cuda, &job, sizeof job, c->kernels->descriptor_bytes, run_survey,
                              &run);
    (void)bh__cuda_note(c->cuda, m->release(c->cuda->gpu, memory));
    if (!error)
        *keys = keys_of_bits(job.fresh, bits);
    return error;
}

/*
 * Grows the table for the part that is to be run, when there may not be room for it; where the
 * device sees the whole call, and all of it inserts, for all that is left of it. Without that a
 * table grows by a quarter of what it has, and what found no room is launched again each time: 63
 * times from 1,000 keys to 50 million. Where it cannot grow, nothing is said: whoever finds no room
 * then learns why.
 */
static int make_room(bh__call *c, const bh__slot *s)
{
    const bh_system *system = &c->cuda->backend.system;
    const uint64_t left = c->n - s->first;
    const int in_parts =
        bh__ferry_on_host(&c->ferry) || c->ferry.array[BH_ARRAY_OPS].caller != NULL;
    const uint64_t count = in_parts || left > SURVEY_MOST ? s->count : left;
    bh_table *table = c->table;
    uint64_t fresh, since;
    int error = 0;

    if (!c->work.takes_room || table->room >= count || !c->may_grow || s->first < c->surveyed)
        return 0;
    c->surveyed = s->first + count;
    c->scarce = 0;
    fresh = count;
    if (count >= SAMPLED_FROM)
        error = bh__call_survey(c, BH_SURVEY_NEW, BH_SAMPLE, count / BH_SAMPLE, &fresh);
    if (!error && fresh)
        error = bh__call_survey(c, BH_SURVEY_NEW, count, 1, &fresh);
    /* A little more, so that in most cases all have room and need not ask for it. */
    fresh += fresh / 64;
    fresh = fresh < count ? fresh : count;
    if (error || fresh <= table->room)
        return error;
    since = system->clock_nanoseconds(system->state);
    table->policy->expect(table, table->keys + fresh);
    since = system->clock_nanoseconds(system->state) - since;
    if (since > table->longest_pause_ns)
        table->longest_pause_ns = since;
    c->scarce = table->room < fresh;
    return 0;
}

int bh__call_mark(bh__call *c, uint8_t *outcomes, uint64_t count)
{
    return outcomes ? c->cuda->module->fill(c->cuda->gpu, outcomes, BH_NOT_DONE, count) : 0;
}

/* Runs a part and sends its answers. *told becomes the number of elements whose outcomes the caller
 * will have: of a part that fails halfway, those that say what was done. */
static bh_status run_part(bh__call *c, bh__slot *s, uint64_t *told)
{
    const int lookups = c->kind == BH_SLICE_FIND;
    bh_status status = BH_OK;
    int error = bh__ferry_run(&c->ferry, s);

    bh__call_use_part(c, 0);
    if (!error && !lookups)
        error = bh__call_mark(c, c->work.array[BH_ARRAY_OUTCOMES], s->count);
    if (!error && !lookups)
        error = make_room(c, s);
    if (error)
        return bh__call_failed(c, error);
    if (!lookups && !c->number)
        status = bh__by_key_choose(c);
    if (!status)
        status = bh__cuda_alive(c->cuda);
    if (!status)
        status = lookups               ? run_lookups(c)
                 : c->by_key.memory    ? bh__by_key_change(c, s->count)
                                       : bh__call_change(c, s->count);
    if (lookups && status)
        return status;
    /* What was asked for before something was refused may still be on its way to the answers. */
    if (status)
        (void)c->cuda->module->wait(c->cuda->gpu, BH_LANE_RUN);
    error = bh__ferry_send(&c->ferry, s);
    /* What has been done and cannot be told, asked for twice, is lost. */
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

        /* The first, and where there are no copies to overlap. */
        if (!s->full)
            (void)bh__ferry_bring(&c->ferry, s, told, part_at(c, told));
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

/* Takes memory for copies of arrays, and on the device for names. */
static int take(bh__call *c)
{
    const uint64_t named = c->kind == BH_SLICE_FIND ? 0 : c->part;
    const uint64_t bytes = lines_up(named * sizeof(uint32_t));
    void *names;
    const int error = bh__ferry_take(&c->ferry, c->n, c->part, 4 * bytes, &names);

    uint32_t i;

    for (i = 0; !error && bytes && i < 4; i++)
        c->names[i] = (uint32_t *)(void *)((unsigned char *)names + i * bytes);
    return error;
}

static bh_status refused_ops(const bh__call *c, int error)
{
    return bh__fail(BH_ERR_DEVICE, "bh_apply: the GPU refused to look at the operations: %.200s; "
                                   "nothing was done",
                    c->cuda->module->message(error));
}

/* An array of operations on the device is looked at there. */
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
        status = bh__ferry_enter(f, BH_ARRAY_VALUES_OUT, batch->values_out, o->value_bytes, c->n,
                                 both ? BH_USE_IN | BH_USE_OUT : BH_USE_PATCH);
    if (!status && !both)
        status = bh__ferry_enter(f, BH_ARRAY_VALUES, batch->values, o->value_bytes, c->n,
                                 BH_USE_IN);
    if (!status)
        status = bh__ferry_enter(f, BH_ARRAY_OUTCOMES, batch->outcomes, 1, c->n, BH_USE_OUT);
    if (!status)
        status = bh__ferry_enter(f, BH_ARRAY_OPS, batch->ops, 1, c->n, BH_USE_IN);
    return status ? status : check_ops(c, batch);
}

/* Elements of a part, at most. */
static uint64_t part_most(const bh__call *c)
{
    const uint64_t in_place = c->kind == BH_SLICE_FIND ? FIND_PART_MOST : PART_MOST;
    const uint64_t copied = c->cuda->module->part < COPIED_PART_MOST ? c->cuda->module->part
                                                                       : COPIED_PART_MOST;
    const uint64_t most = bh__ferry_on_host(&c->ferry) ? copied : in_place;

    return most < c->n ? most : c->n;
}

static bh_status no_memory(const bh__call *c, const char *for_what, int error)
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
    if (table->policy->perform && c.kind != BH_SLICE_FIND)
        return bh__cuda_perform(c.cuda, table, batch);
    c.part = part_most(&c);

    bh__gate_enter_alone(&table->gate, &backend->system);
    error = take(&c);
    if (error && c.part > PART_SPARING) {
        c.part = PART_SPARING;
        error = take(&c);
    }
    if (error) {
        mark_rest(&c, 0);
        status = no_memory(&c, "elements", error);
    } else {
        status = run_parts(&c);
        bh__by_key_end(&c);
        error = bh__ferry_give(&c.ferry);
        if (error && !status)
            status = bh__call_failed(&c, error);
    }
    bh__gate_leave_alone(&table->gate);
    return status ? status : c.status;
}

/* ---------------------------------------------------------------------------------------------
 * export
 * --------------------------------------------------------------------------------------------- */

/* Has the policy copy pairs into one part after the other, while those of the parts before are on
 * their way to the caller. */
static bh_status export_parts(bh__call *c, uint64_t *at, uint64_t *count)
{
    bh__ferry *f = &c->ferry;
    bh_status status = BH_OK;
    int error = bh__ferry_begin(f);
    uint64_t copied = 1;

    for (c->number = 0; !error && !status && copied && *count < c->n; c->number++) {
        bh__slot *s = f->now = bh__ferry_slot(f, c->number);

        error = bh__ferry_finish(f, s);
        if (error)
            break;
        s->first = *count;
        copied = c->table->policy->export_pairs(c->table, at, seen(c, BH_ARRAY_KEYS),
                                                seen(c, BH_ARRAY_VALUES),
                                                c->n - *count < c->part ? c->n - *count : c->part);
        status = bh__cuda_alive(c->cuda);
        if (!status && copied == BH__EXPORT_NO_MEMORY)
            status = bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory to export pairs");
        if (!status && copied == BH__EXPORT_REFUSED)
            status = bh__fail(BH_ERR_DEVICE, "the GPU refused to export pairs");
        if (status)
            break;
        s->count = copied;
        if (copied)
            error = bh__ferry_send(f, s);
        *count += copied;
    }
    if (bh__ferry_drain(f) && !status)
        status = bh__cuda_alive(c->cuda);
    if (error && !status)
        status = bh__fail(BH_ERR_DEVICE, "the GPU refused to copy pairs out: %.200s",
                          c->cuda->module->message(error));
    return status;
}

bh_status bh__cuda_export(const bh__backend *backend, bh_table *table, uint64_t *at, void *keys,
                          void *values, uint64_t room, uint64_t *count)
{
    const bh_table_options *o = &table->options;
    const uint64_t from = *at;
    bh_status status;
    int error;
    bh__call c;

    *count = 0;
    memset(&c, 0, sizeof c);
    c.cuda = c.ferry.cuda = (bh__cuda *)(uintptr_t)backend;
    c.table = table;
    c.kind = BH_SLICE_FIND;
    c.n = room;
    status = bh__cuda_alive(c.cuda);
    if (!status)
        status = bh__ferry_enter(&c.ferry, BH_ARRAY_KEYS, keys, o->key_bytes, room, BH_USE_OUT);
    if (!status)
        status = bh__ferry_enter(&c.ferry, BH_ARRAY_VALUES, values, o->value_bytes, room,
                                 BH_USE_OUT);
    if (status || !room)
        return status;
    c.part = bh__ferry_on_host(&c.ferry) ? part_most(&c) : room;
    error = take(&c);
    if (error)
        return no_memory(&c, "pairs", error);
    status = export_parts(&c, at, count);
    (void)bh__ferry_give(&c.ferry);
    if (status) {
        *count = 0;
        *at = from;
    }
    return status;
}
