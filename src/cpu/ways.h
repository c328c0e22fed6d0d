/*
 * How a call on arrays runs on cores. bh__cpu_choose decides; batch.c does what it says.
 *
 *     the call                                                its way
 *     a table whose design performs its own calls             PERFORM    the design's policy
 *     changes in a table with BH_DUPLICATES_ORDERED:
 *       2^15 elements and more, and several threads           SEGMENTS   ordered.c
 *         (not sums of floats alone, whose bits depend on
 *         the order: BH_OP_ROUNDS)
 *       all others                                            IN_ORDER   the calling thread; equal keys
 *                                                                        in order
 *     calls of one element                                    LONE       the calling thread
 *     all others, which run as if concurrent:
 *       with BH_SCHEDULE_REGIONS, 1,024 elements and more;    SORTED     sorted.h
 *         and batches that ask for it (by_place)
 *       all others                                            SLICES
 *
 * The lookups of a design that performs its calls come back here as batches, and so do the waves of
 * segments of ordered.c. The order of such a batch is decided already, so its way is neither PERFORM nor
 * SEGMENTS (bh__cpu_order). The design also chooses whether its lookups run in the order of memory, because it
 * knows where that pays.
 *
 * Of SLICES those go through the threads' own tables first that join values, without outcomes, where there are far more elements than
 * keys (joined.h).
 *
 * SLICES take one thread for every 1,024 elements, SORTED for every 4,096, at most as many as the executor has, or the call's share
 * of them beside other large calls (workers_beside in batch.c); a call of few elements runs in the calling thread. Each slice then goes to the kernel for its kind. The kernel
 * chooses what depends on the slice's keys or operations (schedule.h):
 *
 *     additions, and many of the slice's first keys           values added up first (fold.h)
 *       are equal
 *     different operations                                    kind by kind (kinds.h)
 *     many elements that do the same, where the design        in groups of eight (front_rounds.h), and then what is
 *       says where keys live (BH_DESIGN_AIMS)                   left
 *     the same, where it has a front of its own               as that front does, and then what is left
 *       (BH_DESIGN_FRONT) that takes them
 */
#ifndef BH_CPU_WAYS_H
#define BH_CPU_WAYS_H

#include "cpu/ordered.h"
#include "tables/table.h"

/* Below so many slices of BH_SLICE_MOST elements a call runs in the calling thread. Calls of 4,096 elements would take half of the
 * time in 16 threads where they come one right after the other, but 1.4 times as long where threads sleep in between
 * (docs/decisions/0053). */
#define BH_PARALLEL_SLICES 4

/* Elements of a slice at least where threads share a call: of shorter ones the time for which a slice waits for its first lines, and
 * for its last, would be a larger part. Beside 4,096 measured (docs/decisions/0053), not tuned further. */
#define BH_SLICE_SHARED (BH_SLICE_MOST < 1024u ? BH_SLICE_MOST + 0u : 1024u)

/* Sorting fewer elements than these would not pay. Chosen, not tuned. */
#define BH_SORTED_LEAST 1024

/* Workers of a call at most, whatever width an executor claims. */
#define BH_WORKERS_MOST 4096

/* Elements of a call that takes the way LONE. The build for all interleavings takes it for none: there an insertion
 * that first runs without room would have eight times as many schedules to be explored. */
#ifndef BH_LONE_ELEMENTS
#define BH_LONE_ELEMENTS 1u
#endif

typedef enum bh__cpu_way {
    BH_CPU_PERFORM,
    BH_CPU_SEGMENTS,
    BH_CPU_IN_ORDER,
    BH_CPU_LONE,   /* where that does not suffice it runs as IN_ORDER */
    BH_CPU_SORTED, /* for want of memory it runs as SLICES */
    BH_CPU_SLICES
} bh__cpu_way;

/* Which order of a batch's elements is asked for. */
typedef enum bh__cpu_order {
    BH_CPU_ORDER_OF_TABLE, /* a caller's: what the table's options say */
    BH_CPU_ORDER_NONE,     /* as if concurrent */
    BH_CPU_ORDER_GIVEN     /* those of a key one after the other */
} bh__cpu_order;

typedef struct bh__cpu_course {
    bh__cpu_way way;
    bh__slice_kind kind; /* of kernel */
    uint64_t workers;
} bh__cpu_course;

static inline int bh__cpu_is_change(const bh__batch *batch)
{
    return batch->ops || batch->op != BH_FIND;
}

/* Threads for a batch whose slices may run at once, and have `least` elements or more. */
static inline uint64_t bh__cpu_workers(const bh__backend *backend, const bh__batch *batch,
                                       uint32_t least)
{
    const uint64_t slices = batch->n / least + (batch->n % least != 0);
    uint64_t workers;

    if (batch->n <= (BH_PARALLEL_SLICES - 1u) * BH_SLICE_MOST)
        return 1;
    workers = backend->executor.width(backend->executor.state);
    workers = workers < BH_WORKERS_MOST ? workers : BH_WORKERS_MOST;
    return workers < slices ? workers : slices;
}

static inline bh__cpu_course bh__cpu_choose(const bh__backend *backend, const bh_table *table,
                                            const bh__batch *batch, bh__cpu_order order)
{
    bh__cpu_course course = {BH_CPU_SLICES, bh__slice_kind_of(batch), 1};
    int sorts = batch->by_place != 0;

    /* A call of one element is tested for first, because choosing would take a tenth of it. */
    if (batch->n == BH_LONE_ELEMENTS && !table->policy->perform &&
        table->kernels->slice[BH_SLICE_MIXED]) {
        course.way = BH_CPU_LONE;
        course.kind = BH_SLICE_MIXED;
        return course;
    }
    if (order == BH_CPU_ORDER_OF_TABLE) {
        if (table->policy->perform) {
            course.way = BH_CPU_PERFORM;
            return course;
        }
        sorts = table->options.schedule == BH_SCHEDULE_REGIONS && batch->n >= BH_SORTED_LEAST;
        order = table->options.duplicates == BH_DUPLICATES_ORDERED && bh__cpu_is_change(batch)
                    ? BH_CPU_ORDER_GIVEN
                    : BH_CPU_ORDER_NONE;
        if (order == BH_CPU_ORDER_GIVEN && batch->n >= BH_ORDERED_LEAST &&
            backend->executor.width(backend->executor.state) >= BH_ORDERED_THREADS &&
            (batch->ops || !BH_OP_ROUNDS(batch->op))) {
            course.way = BH_CPU_SEGMENTS;
            return course;
        }
    }
    if (order == BH_CPU_ORDER_GIVEN) {
        course.way = BH_CPU_IN_ORDER;
        return course;
    }
    course.way = sorts ? BH_CPU_SORTED : BH_CPU_SLICES;
    course.workers = bh__cpu_workers(backend, batch, sorts ? BH_SLICE_MOST : BH_SLICE_SHARED);
    return course;
}

#endif
