/*
 * Surveys: how many different keys of a call are not in its table yet. With that number a table grows
 * once for the whole call, before anything is launched (bh__call_make_room).
 *
 * The device looks each key up and sets a bit, named by the hash, for each that is not there; the host
 * estimates the number of keys from the number of bits. A sample is counted in the same way, one of each
 * `every` elements. If the table has few keys compared with the call, keys are not looked up at first: all keys that would
 * be inserted set bits.
 */
#include "cuda/host/call.h"

#include <string.h>

#include "primitives/linear_counting.h"

/* Elements that are counted at a time before a table grows for them; their names are 32-bit. From
 * SAMPLED_FROM elements on a sample is counted first: if none of it is new, hardly any element is, and the
 * others are not counted. Counting them would take a third as long as performing them. */
#define SURVEY_MOST (UINT64_C(1) << 30)
#define SAMPLED_FROM (UINT64_C(1) << 22)

/* A survey has at least one bit for so many elements: those of 2^28 elements are 16 MB, and lie in the second cache of an
 * H200. It has so many at least that a small number of keys is accurate, too. The standard error of the number is 0.0021 of
 * it at most (primitives/linear_counting.h). */
#define SURVEY_DENSE 2u
#define SURVEY_BITS_LEAST (UINT64_C(1) << 18)
/* If the table has at most one key for so many elements, keys are not looked up at first. */
#define SURVEY_BLIND 64u
/* A table grows for a little more than has been counted, so that in most cases all have room and need not ask for it. */
#define SURVEY_MORE 64u

int bh__call_survey(bh__call *c, bh__surveyed which, uint64_t count, uint64_t every, uint64_t *keys,
                    uint64_t *absent)
{
    const bh__cuda_module *m = c->cuda->module;
    uint64_t bits = SURVEY_BITS_LEAST;
    const bh__launch launch = {c->kernels, BH_SLICE_FIND, 1, NULL, NULL};
    bh__cuda_job job;
    bh__cuda_done done;
    void *memory;
    int error;

    *keys = *absent = 0;
    while (bits < count / SURVEY_DENSE)
        bits *= 2;
    if (bh__cuda_allocate(c->cuda, BH_MEMORY_CALL, bits / 8, &memory))
        return 0;
    memset(&job, 0, sizeof job);
    job.slice.geometry = c->table->policy->geometry(c->table);
    job.slice.keys = c->work.array[BH_ARRAY_KEYS];
    job.slice.ops = c->work.array[BH_ARRAY_OPS];
    job.slice.op = (uint8_t)c->work.op;
    job.names = c->work.names;
    job.count = count;
    job.every = every;
    job.any = which == BH_SURVEY_ANY;
    job.blind = which == BH_SURVEY_BLIND;
    job.bits = (uint32_t *)memory;
    job.bit_count = bits;
    error = m->fill(c->cuda->gpu, memory, 0, bits / 8);
    if (!error)
        error = bh__cuda_launch(c->cuda, &launch, &job, &done);
    (void)bh__cuda_note(c->cuda, m->release(c->cuda->gpu, memory));
    if (!error) {
        *keys = bh_keys_of_places(done.fresh, bits);
        *absent = done.absent;
    }
    return error;
}

/* Elements with equal keys are worth sorting where there is not room for them one by one (schedule.c) and they are an eighth more
 * than their keys; among many, which otherwise go by region, twice as many. Chosen, not tuned. */
#define MANY (UINT64_C(1) << 23)

static int are_equal(uint64_t elements, uint64_t keys)
{
    return elements > keys + (elements < MANY ? keys / 8 : keys);
}

/* And, whether their keys are new or not, where so many have so few: they change the same lines again and again. To add 2^21
 * elements of 100 keys takes an H200 1.2 ms one by one, and 0.38 ms key by key. */
#define HOT_FROM (UINT64_C(1) << 18)
#define HOT_EACH 2048u

static int are_hot(uint64_t elements, uint64_t keys)
{
    return elements >= HOT_FROM && elements / HOT_EACH > keys;
}

/* Whether the call may go key by key, if that is worth it. */
static int may_sort(const bh__call *c)
{
    return !c->number && !c->batch->ops && c->table->options.duplicates != BH_DUPLICATES_NONE;
}

int bh__call_expect(bh__call *c, uint64_t count, int is_sampled)
{
    const bh_system *system = &c->cuda->backend.system;
    bh_table *table = c->table;
    const int blind = table->keys < count / SURVEY_BLIND;
    uint64_t fresh = count, absent = 0, since;
    int error = 0, hot = 0;

    c->scarce = 0;
    if (count >= SAMPLED_FROM && is_sampled)
        fresh = c->sample_absent;
    else if (count >= SAMPLED_FROM)
        error = bh__call_survey(c, BH_SURVEY_NEW, BH_SAMPLE, count / BH_SAMPLE, &fresh, &absent);
    if (!error && fresh)
        error =
            bh__call_survey(c, blind ? BH_SURVEY_BLIND : BH_SURVEY_NEW, count, 1, &fresh, &absent);
    hot = !error && may_sort(c) && are_hot(absent, fresh);
    /* If the table would grow, or elements would be sorted, keys that are there must not have been taken for new ones. (They
     * have not if they are few beside those counted, and there is no room for the others either.) */
    if (!error && blind && table->keys &&
        ((!hot && may_sort(c) && are_equal(absent, fresh)) ||
         (fresh + fresh / SURVEY_MORE > table->room &&
          (fresh <= table->room + table->keys || table->keys > fresh / SURVEY_BLIND))))
        error = bh__call_survey(c, BH_SURVEY_NEW, count, 1, &fresh, &absent);
    c->few_new = c->no_locks && absent < count / 4;
    c->equal = !error && may_sort(c) && (hot || are_equal(absent, fresh));
    c->absent = hot ? count : absent;
    /* The number is an estimate: a table that was made for just these keys does not grow for its error. If they are
     * more than that after all, the last of them ask for room (launch.c). */
    if (error || fresh <= table->room + table->room / SURVEY_MORE)
        return error;
    fresh += fresh / SURVEY_MORE;
    fresh = fresh < count ? fresh : count;
    since = system->clock_nanoseconds(system->state);
    table->policy->expect(table, table->keys + fresh);
    since = system->clock_nanoseconds(system->state) - since;
    if (since > table->longest_pause_ns)
        table->longest_pause_ns = since;
    c->scarce = table->room < fresh;
    return 0;
}

int bh__call_make_room(bh__call *c, const bh__slot *s)
{
    const uint64_t left = c->n - s->first;
    const int in_parts =
        bh__ferry_on_host(&c->ferry) || c->ferry.array[BH_ARRAY_OPS].caller != NULL;
    const uint64_t count = in_parts || left > SURVEY_MOST ? s->count : left;
    const bh_table *table = c->table;

    if (!c->work.takes_room || table->room >= count || !c->may_grow || s->first < c->surveyed)
        return 0;
    /* Where few keys are expected to be new, they are counted if they turn out to need room (launch.c). */
    if (c->few_new && count < SAMPLED_FROM && c->table->options.duplicates != BH_DUPLICATES_ORDERED)
        return 0;
    c->surveyed = s->first + count;
    return bh__call_expect(c, count, c->sampled && count == s->count);
}
