/*
 * A call on a GPU while it runs, and what the files that run it ask of each other. They are, from the
 * outside inwards:
 *
 *     batch.c      a call from its beginning to its end: its arrays, its parts
 *     export.c     the same for pairs that are copied out of a table
 *     schedule.c   which schedule a call gets
 *     survey.c     how many keys of a call are new; growing for them before anything is launched
 *     by_key.c     a part's elements as one operation for each of their keys
 *     by_place.c   a part's elements in the order of their operations, or of their keys' places in the table
 *     launch.c     a part's elements, launched again and again until all are done or cannot be
 *     stalled.c    what the policy must see to, a few elements at a time
 *     ferry.c      the caller's arrays, and parts of them on their way to the device and back
 *
 * perform.c stands apart: it has the calls that a table's design performs itself.
 */
#ifndef BH_CUDA_HOST_CALL_H
#define BH_CUDA_HOST_CALL_H

#include "cuda/host/ferry.h"

/* What is launched: elements of the part that is run, or one operation for each of their keys. */
typedef struct bh__work {
    const uint32_t
        *names; /* on the device: the elements, as indexes of the arrays; NULL: from 0 on */
    unsigned char
        *array[BH_ARRAYS]; /* as the device sees them; values are read from BH_ARRAY_VALUES */
    bh_op op;
    bh__slice_kind kind;
    int takes_room;
} bh__work;

/* Memory on the device for sorting elements; see by_key.c and by_place.c. */
typedef struct bh__sorting {
    void *memory;
    uint64_t room; /* for so many elements at a time */
} bh__sorting;

/* What a call's elements are run by. */
typedef enum bh__way {
    BH_WAY_LOOK,     /* lookups: launched as they are */
    BH_WAY_CHANGE,   /* launched as they are, again and again */
    BH_WAY_BY_KEY,   /* one operation for each of their keys is launched */
    BH_WAY_BY_PLACE, /* launched operation by operation, or in the order of the table's memory */
    BH_WAY_PERFORM   /* the table's design performs the call */
} bh__way;

typedef struct bh__call {
    bh__cuda *cuda;
    bh_table *table;
    const bh__cuda_kernels *kernels;
    const bh__batch *batch; /* as the caller gave it */
    bh__ferry ferry;
    uint64_t n;
    uint64_t part;     /* elements of a part, at most */
    uint64_t number;   /* of the part that is run */
    uint64_t surveyed; /* room was made for elements before this one */
    int given; /* the array that values are read from: bh_apply's is the one that it writes */
    bh__slice_kind kind;
    bh__way way;
    bh_schedule wanted; /* of what is launched */
    bh__work work;
    bh__sorting sorting;
    uint32_t *names[4]; /* on the device: two for names of stalled elements, which take turns, and
                           two of the kernels' own */
    int no_locks;       /* keys that are there are changed without locks */
    int few_new;        /* most keys of the part are expected to be there */
    /* A sample of BH_SAMPLE elements, if one was taken: different keys, and elements that would insert an
     * absent key. */
    int sampled;
    uint64_t sample_keys;
    uint64_t sample_absent;
    int may_grow;
    int stays;  /* the table does not shrink now */
    int scarce; /* there is less room than new keys, and the table cannot grow for them */
    /* What the survey that counted new keys has found, if there was one: whether so many elements have equal keys that they are
     * worth sorting, and how many want room if they are not sorted. */
    int equal;
    uint64_t absent;
    uint64_t erased;  /* keys that the call has erased so far */
    uint32_t vain;    /* how often in a row the policy could place none of the elements it got */
    bh_status why;    /* why elements are refused */
    bh_status status; /* the call's */
} bh__call;

/* How many elements the part that begins with element `first` has. */
static inline uint64_t bh__call_part_at(const bh__call *c, uint64_t first)
{
    const uint64_t left = c->n - first;

    return c->part < left ? c->part : left;
}

/* --- batch.c ------------------------------------------------------------------------------------- */

/* Makes the work that of the caller's elements, from element `from` of the part that is run on. */
void bh__call_use_part(bh__call *c, uint64_t from);

/* Elements of a part, at most. */
uint64_t bh__call_part_most(const bh__call *c);

/* Takes memory for copies of arrays, and on the device for names. Answers 0 or an error. */
int bh__call_take(bh__call *c);

/* Takes memory on the device for sorting up to `most` elements at a time; where there is none, for a quarter
 * of that, and so on, but for no fewer than `least`. `bytes` says how much so many elements want. Answers 0
 * where there is none. bh__sorting_end gives it back, if there is any. */
typedef uint64_t bh__sorting_bytes(const bh__call *c, uint64_t elements);
int bh__sorting_begin(bh__call *c, bh__sorting_bytes *bytes, uint64_t most, uint64_t least);
void bh__sorting_end(bh__call *c);

/* Marks elements as not done, before they are run: those that cannot be done stay so. NULL: does nothing.
 * Answers 0 or an error. */
int bh__call_mark(bh__call *c, uint8_t *outcomes, uint64_t count);

/* The error sentences for what the GPU refused (BH_ERR_DEVICE), and for memory that it did not give
 * for a part's elements (BH_ERR_MEMORY). */
bh_status bh__call_failed(const bh__call *c, int error);
bh_status bh__call_no_memory(const bh__call *c, const char *for_what, int error);

/* --- schedule.c ---------------------------------------------------------------------------------- */

/* Chooses the call's way and the schedule of what is launched. To be asked when the call begins, and for
 * each part, when its elements are on the device and, if all have one operation, room has been made for them. */
void bh__schedule_choose(bh__call *c);

/* Guesses whether most keys of the work, of `count` elements, are in the table: of many elements
 * from a sample, of few from what earlier calls found. A wrong guess costs time, and nothing else. Answers 0 or an
 * error of the GPU. */
int bh__schedule_guess(bh__call *c, uint64_t count);

/* What a table's statistics call the schedule that ran. */
const char *bh__schedule_name(const bh__call *c, uint64_t schedule);

/* --- launch.c ------------------------------------------------------------------------------------ */

/* Launches the work for its `count` elements, again and again with growth between, until all are
 * done or cannot be. Their outcomes, where asked for, have been marked as not done. */
bh_status bh__call_change(bh__call *c, uint64_t count);

/* Launches the work as lookups. */
bh_status bh__call_look(bh__call *c, uint64_t count);

/* Runs a part of lookups; once more, when it turns out that some keys are missing and the part's values must
 * be on the device first (`patch` in ferry.c). */
bh_status bh__call_run_lookups(bh__call *c);

/* Makes a table from which keys have been erased smaller, if it has too few for its size. */
void bh__call_shrink(bh__call *c);

/* --- stalled.c ----------------------------------------------------------------------------------- */

/* Has the policy resolve the first elements of a list, which stalled for some of these reasons; *names and
 * *count become those of the elements left. */
bh_status bh__call_resolve(bh__call *c, uint32_t reasons, uint32_t **names, uint64_t *count);

/* --- survey.c ------------------------------------------------------------------------------------ */

/* Elements of a sample, spread over a call, that says what kind of call it is. Chosen, not tuned. */
#define BH_SAMPLE (UINT64_C(1) << 15)

typedef enum bh__surveyed {
    BH_SURVEY_NEW,   /* absent keys that the elements would insert */
    BH_SURVEY_BLIND, /* the same and keys that are there */
    BH_SURVEY_ANY    /* keys of elements that insert nothing, too */
} bh__surveyed;

/* How many different keys of that kind there are among `count` of the work's elements: one of each `every`
 * neighbours, from the first on. Answers an error of the GPU, or 0 with *keys their number, accurate to some
 * thousandths; *keys is 0 where there is no memory to count. *absent: how many of the elements
 * would insert an absent key, equal ones included. */
int bh__call_survey(bh__call *c, bh__surveyed which, uint64_t count, uint64_t every, uint64_t *keys,
                    uint64_t *absent);

/*
 * Grows the table for the part that is to be run, when there may not be room for it; where the
 * device sees the whole call, and all of it inserts, for all elements left of the call. Without that, a
 * table grows by a quarter of what it has, and elements that found no room are launched again each time: 63
 * times from 1,000 keys to 50 million. A failure to grow is not reported here: elements that find no room
 * then get the reason. Answers 0 or an error of the GPU.
 */
int bh__call_make_room(bh__call *c, const bh__slot *s);

/* Does that for the work's `count` elements, all of which may insert a key. `is_sampled` says that bh__schedule_guess has
 * taken a sample of just these. */
int bh__call_expect(bh__call *c, uint64_t count, int is_sampled);

/* --- by_key.c ------------------------------------------------------------------------------------ */

/* Takes memory for performing elements key by key. Without it, elements whose order does not count run as
 * they are (BH_WAY_CHANGE). Writes the error sentence. Returns BH_OK or BH_ERR_MEMORY. */
bh_status bh__by_key_begin(bh__call *c);

/* Runs the part's elements, which are `count`, key by key. */
bh_status bh__by_key_change(bh__call *c, uint64_t count);

/* --- by_place.c ---------------------------------------------------------------------------------- */

/* Whether the call's elements are to run in the order of their operations, or of their places, as far as the table's
 * options, its design and the number of elements say. To be asked when the call's arrays have been entered. */
int bh__by_place_wanted(const bh__call *c);

/* Takes memory for that order. Answers 0 where there is none: then elements run in the caller's. */
int bh__by_place_begin(bh__call *c);

/* Runs the part's elements, which are `count`. */
bh_status bh__by_place_run(bh__call *c, uint64_t count);

/* What calls of as many elements, few or many, have told. */
static inline bh__told *bh__call_told(const bh__call *c, uint64_t count)
{
    return &c->table->told[count >= BH_CUDA_SIFT_LEAST];
}

#endif
