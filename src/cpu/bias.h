/*
 * A table that one thread changes is *biased* to that thread: then its changes take no locks, and count what
 * they did without locked instructions. A locked instruction costs as much as the rest of a change whose line
 * lies in a cache.
 *
 *     changed by      nobody is favoured; every change locks the bucket that it changes
 *     several threads
 *          |
 *          |  one thread alone has changed so many elements in a row as bh__bias_note says: it takes the gate
 *          |  alone
 *          v
 *     biased to       its changes lock nothing by a locked instruction (BH_HINT_BIASED). Lookups of all threads go on beside them:
 *     a thread        they never took locks
 *          |
 *          |  another thread, or a call for which several threads are asked, is about to change the table: takes
 *          |  the gate alone
 *          v
 *     as above
 *
 * Bias is given and taken away with the gate held alone, and a slice looks at it when it has passed the gate. So
 * either all slices of changes that run are of the one thread, or all of them lock. Nobody waits for the favoured thread
 * longer than for one of its slices.
 *
 * Each time when another thread ends a bias, or changes the table while one takes the gate to get it, it takes twice as many elements to get it
 * the next time (up to 2^BH_BIAS_ENDS_MOST times as many): threads that take turns soon leave each other alone.
 *
 * A thread is known by its presence (base/gate.h); one that has none is never favoured. While a call runs as tasks of an
 * executor nobody gets the bias: tasks may not wait at the gate, so they would hand back their slices. They do, as where
 * the gate is closed, where a thread that held the gate looked for such calls just before this one counted itself, and stored the bias
 * just after this one looked for it. The call ends that bias once its tasks have come back.
 *
 * The idea is that of biased locks for objects (Kawachiya, Koseki, Onodera, "Lock reservation", OOPSLA 2002).
 */
#ifndef BH_CPU_BIAS_H
#define BH_CPU_BIAS_H

#include "tables/counts.h"

/* Elements in a row, behind the slice that begins it, after which a thread is favoured for the first time. Chosen, not
 * tuned. A build for tests does not wait so long. */
#ifndef BH_BIAS_AFTER
#define BH_BIAS_AFTER 4096u
#endif
#define BH_BIAS_ENDS_MOST 8u

/* Where a table has stripes, a thread is taken notice of when it has changed so many elements. */
#define BH_BIAS_NOTED (1u + BH_BIAS_AFTER / 8u)

/* So often a thread must have come behind another one before the table gets stripes. Chosen, not tuned. */
#ifndef BH_STRIPES_AFTER
#define BH_STRIPES_AFTER 64u
#endif

/* What is to be done about the threads that change a table, once the gate has been left. */
typedef enum bh__note { BH_NOTE_NOTHING, BH_NOTE_FAVOUR, BH_NOTE_STRIPES } bh__note;

/* Of a change of the thread with the presence `own`, which has passed the gate: whether the table is biased to another
 * thread. */
static inline int bh__bias_is_elsewhere(const bh_table *table, const bh__presence *own)
{
    return table->biased_to && table->biased_to != own;
}

/* The same: BH_HINT_BIASED, where the table is biased to this thread, or 0. */
static inline uint32_t bh__bias_hint(const bh_table *table, const bh__presence *own)
{
    return table->biased_to == own ? BH_HINT_BIASED : 0;
}

/* The same, behind the gate still: notes that `elements` more have been changed with locks; `own` is the thread's own presence, or that of those
 * that have none. Two threads that come here at once may lose a note of each other: each is favoured later then, or for a
 * short time. */
static inline bh__note bh__bias_note(bh_table *table, bh__presence *own, uint64_t elements)
{
    bh__stripe *stripe = bh__stripe_of(table, 0);
    const bh__presence *before;
    uint32_t turns;

    if (stripe) {
        elements += bh__advice_load(&stripe->noted);
        bh__advice_store(&stripe->noted, elements < BH_BIAS_NOTED ? elements : 0);
        if (elements < BH_BIAS_NOTED)
            return BH_NOTE_NOTHING;
    }
    before = bh__advice_load(&table->changed_by);
    if (before == own) {
        elements += bh__advice_load(&table->changed_in_a_row);
        bh__advice_store(&table->changed_in_a_row, elements);
        return elements >= (uint64_t)BH_BIAS_AFTER << table->bias_ends &&
                       !bh__advice_load(&table->calls_in_tasks) && bh__presence_is_own(own)
                   ? BH_NOTE_FAVOUR
                   : BH_NOTE_NOTHING;
    }
    bh__advice_store(&table->changed_by, own);
    bh__advice_store(&table->changed_in_a_row, (uint64_t)0);
    if (stripe || !before)
        return BH_NOTE_NOTHING;
    /* Once: a table for which there was no memory goes on without. */
    turns = bh__advice_load(&table->turns);
    if (turns == BH_STRIPES_AFTER)
        return BH_NOTE_NOTHING;
    bh__advice_store(&table->turns, turns + 1);
    return turns + 1 < BH_STRIPES_AFTER ? BH_NOTE_NOTHING : BH_NOTE_STRIPES;
}

/* Does what was noted; the gate is not held. */
void bh__bias_follow(bh_table *table, bh__presence *own, bh__note note);

/* Before a call that changes the table runs as tasks, and after: nobody is favoured meanwhile. */
void bh__bias_suspend(bh_table *table);
void bh__bias_stay_suspended(bh_table *table); /* meanwhile, when slices were handed back */
void bh__bias_resume(bh_table *table);

/* Takes the gate alone and has nobody favoured; for a thread that is not. */
void bh__bias_end(bh_table *table);

#endif
