/*
 * Which schedule a call on a GPU gets. First its way (bh__way), for the whole call:
 *
 *     the call                                               its way
 *     that its design has no schedule of its own for, with   BY_PLACE  by_place.c
 *       BH_SCHEDULE_REGIONS; or mixed, and of
 *       as many elements as its policy says
 *       (bh__policy.by_operation), or of 2^16 and more
 *       if their keys come often (mixes_equal_keys)
 *     lookups                                                LOOK
 *     changes, in a table whose design performs its own      PERFORM   perform.c
 *     changes, with BH_DUPLICATES_ORDERED                    BY_KEY    by_key.c
 *     one operation for all of 2^20 elements and more,       BY_KEY
 *       many of which are equal (many_are_equal); of
 *       1,024 and more, if there is less room than elements
 *       (many_share_room); of 2^16 and more, where new
 *       keys need locks
 *     all others                                             CHANGE    launch.c
 *
 * Then the schedule of what is launched, which is the one that the table's options ask for
 * (`wanted`). With BH_SCHEDULE_AUTO it is the module's choice, from how much is launched:
 *
 *     lookups                                                one kernel (look.h)
 *     all elements of a part, one operation, without         region by region, if the design has that
 *       answers by value, and many for the table's size        (BH_DESIGN_REGIONS)
 *     2^14 elements and more (BH_CUDA_SIFT_LEAST)            in stages: sift, other, last; one operation that
 *                                                              inserts: most of them without locks (claim.h)
 *     fewer, one operation that inserts new keys without     in stages, too
 *       locks, in a table that is rather full, and the
 *       host does not ask (launch.c)
 *     fewer, if the host asks whether the first kernels       these: keys that are there, or claims
 *       have left something (launch.c)
 *     all others                                             one kernel
 *
 * But while a table has less room than there are new keys, and cannot grow for them, BH_SCHEDULE_AUTO
 * means BH_SCHEDULE_WINDOW, which is the same without regions: insertions region by region would fill the
 * first regions completely, with paths of moves, and leave the others as they are. docs/gpu.md says what
 * the schedules are, and how they were measured.
 */
#include "cuda/host/call.h"

#include "tables/counts.h"

/* Whether so many elements of the call have equal keys that, launched one by one, they would wait for each
 * other's locks. A sample of the keys tells. Counting it takes as long as inserting a hundred thousand
 * elements, so calls of fewer than ASKED_FROM elements are not sampled; of those in arrays on the device that change
 * keys that are there without locks, calls of fewer than ASKED_FROM_PRESENT; where new keys need locks, calls of fewer than
 * ASKED_FROM_LOCKS. Chosen, not tuned. */
#define ASKED_FROM (UINT64_C(1) << 20)
#define ASKED_FROM_PRESENT (UINT64_C(1) << 22)
#define ASKED_FROM_LOCKS (UINT64_C(1) << 16)
#define EQUAL_MOST (BH_SAMPLE / 128)

/* Calls of fewer elements are launched as they are: sorting takes longer. Chosen, not tuned. */
#define SORTED_LEAST 1024u

/*
 * Whether many elements of the part have equal keys, and there is not room for all that may want some. Launched one by one, an
 * element takes room for a key before it begins (launch.c). So elements of few keys take all of it; the others stall, and are
 * launched again when what was not needed has been given back, again and again.
 */
static int many_share_room(const bh__call *c)
{
    const uint64_t count = c->ferry.now->count;

    return c->equal && count >= SORTED_LEAST && c->table->room < (c->few_new ? c->absent : count);
}

/* Whether keys that are there are changed without locks: by one operation for all elements, unless that adds
 * floats of 4 bytes (targets/cuda.h), or joins values that lie in the host's memory, to which no atomic operation
 * goes. */
static int needs_no_locks(const bh__call *c)
{
    return c->kernels->has_present && !c->work.array[BH_ARRAY_OPS] &&
           !(BH_OP_ROUNDS(c->work.op) && c->table->options.value_bytes == 4) &&
           !(BH_OP_REDUCES(c->work.op) && c->table->bytes[BH_TIER_HOST]);
}

/* Whether the elements insert, and each new key needs a lock: slots of erased keys are used again. */
static int needs_locks_for_new(const bh__call *c)
{
    const uint32_t hints = bh__hints_of(c->table);

    return c->work.takes_room && !c->few_new && (hints & BH_HINT_TURNOVER) &&
           !(hints & BH_HINT_CLAIMS);
}

static int many_are_equal(bh__call *c)
{
    const int on_host = bh__ferry_on_host(&c->ferry);
    const uint64_t seen = on_host ? c->ferry.now->count : c->n;
    const uint64_t least = needs_no_locks(c) && !on_host ? ASKED_FROM_PRESENT : ASKED_FROM;
    int error = 0;

    if (c->table->options.duplicates == BH_DUPLICATES_NONE || c->batch->ops)
        return 0;
    if (many_share_room(c))
        return 1;
    if (seen < (needs_locks_for_new(c) ? ASKED_FROM_LOCKS : least))
        return 0;
    if (!c->sampled)
        error = bh__call_survey(c, BH_SURVEY_ANY, BH_SAMPLE, seen / BH_SAMPLE, &c->sample_keys,
                                &c->sample_absent);
    /* Without an answer the keys are assumed to be different. */
    return !error && c->sample_keys && c->sample_keys < BH_SAMPLE - EQUAL_MOST &&
           (seen >= least || c->sample_absent >= BH_SAMPLE / 4);
}

/*
 * In a mixed call equal keys cost most: all their elements take the key's lock, in 20 to 75 ns each on an H200. Operation
 * by operation they cost what they do in other calls, and that is faster where a key has some eight elements or more. A sample
 * tells. It takes 10 to 30 us, so after one whose keys are different the next ASKED_AGAIN calls are not asked.
 *
 * Of m elements of a sample about m * m / 2 / keys repeat a key, if all keys come equally often. If one key has a 20th of
 * the elements, a 20th of the sample repeats it: that is as much as eight elements a key from 330,000 elements on.
 */
#define MIXED_FROM (UINT64_C(1) << 16)
#define MIXED_SAMPLE (UINT64_C(1) << 12)
#define MIXED_EACH 8u
#define ASKED_AGAIN 15u

static int mixes_equal_keys(bh__call *c)
{
    const bh_table_options *o = &c->table->options;
    const uint64_t count = c->ferry.now->count;
    bh__told *told = bh__call_told(c, count);
    uint64_t keys, absent;

    if (!c->batch->ops || !c->table->policy->by_operation || o->schedule != BH_SCHEDULE_AUTO ||
        o->duplicates == BH_DUPLICATES_NONE || count < MIXED_FROM)
        return 0;
    if (told->mixed) {
        told->mixed--;
        return 0;
    }
    if (bh__call_survey(c, BH_SURVEY_ANY, MIXED_SAMPLE, count / MIXED_SAMPLE, &keys, &absent) ||
        !keys)
        return 0;
    if (keys < MIXED_SAMPLE &&
        (MIXED_SAMPLE - keys) * count >= MIXED_EACH * MIXED_SAMPLE * MIXED_SAMPLE / 2)
        return 1;
    told->mixed = ASKED_AGAIN;
    return 0;
}

void bh__schedule_choose(bh__call *c)
{
    const bh_table_options *o = &c->table->options;
    const int sorts = bh__by_place_wanted(c);

    c->wanted = c->scarce && o->schedule == BH_SCHEDULE_AUTO ? BH_SCHEDULE_WINDOW : o->schedule;
    if (c->number)
        return; /* the first part's way is the call's */
    if (c->kind == BH_SLICE_FIND)
        c->way = sorts ? BH_WAY_BY_PLACE : BH_WAY_LOOK;
    else if (c->table->policy->perform)
        c->way = BH_WAY_PERFORM;
    else if (o->duplicates == BH_DUPLICATES_ORDERED)
        c->way = BH_WAY_BY_KEY;
    else if (c->ferry.now && many_are_equal(c)) /* when a part has come: keys can be compared */
        c->way = BH_WAY_BY_KEY;
    else
        c->way = sorts || (c->ferry.now && mixes_equal_keys(c)) ? BH_WAY_BY_PLACE : BH_WAY_CHANGE;
}

int bh__schedule_guess(bh__call *c, uint64_t count)
{
    const bh_table *t = c->table;
    const bh__told *told = bh__call_told(c, count);
    int error = 0;

    c->sampled = 0;
    c->no_locks = needs_no_locks(c);
    c->few_new = c->no_locks;
    if (!c->no_locks || !c->work.takes_room)
        return 0; /* what inserts nothing finds no new keys */
    if (count >= ASKED_FROM_PRESENT) {
        error = bh__call_survey(c, BH_SURVEY_ANY, BH_SAMPLE, count / BH_SAMPLE, &c->sample_keys,
                                &c->sample_absent);
        c->sampled = !error && c->sample_keys;
        c->few_new = c->sampled && c->sample_absent < BH_SAMPLE / 4;
    } else if (t->keys && told->ops_seen >> c->work.op & 1) {
        c->few_new = told->finds_keys != 0;
    } else {
        c->few_new = t->keys >= count;
    }
    return error;
}

const char *bh__schedule_name(const bh__call *c, uint64_t schedule)
{
    const int by_place =
        c->way == BH_WAY_BY_PLACE && c->table->options.schedule == BH_SCHEDULE_REGIONS;

    switch (by_place ? BH__CUDA_REGIONS : schedule) {
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
    default: return c->cuda->backend.target;
    }
}
