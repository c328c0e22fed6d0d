/*
 * The gate of a table: slices of operations pass it together, and whatever
 * changes the table's geometry or needs one instant of the whole table holds it
 * alone.
 *
 * It is one word: the number of slices inside, and a bit that says that a thread
 * is alone inside or waiting to be. The bit closes the gate to new slices, so a
 * thread that wants to be alone waits only for slices that already run, each of
 * them some thousand operations; it cannot starve. Waiting yields the processor
 * and, when it lasts, sleeps for short times: the holder may need this core.
 *
 * Rules: a thread that holds the gate does not enter it again; one that holds it
 * shared waits for nothing; one that holds it alone may run passes on an executor,
 * and therefore a task of an executor never waits at the gate (see cpu/batch.c).
 */
#ifndef BH_BASE_GATE_H
#define BH_BASE_GATE_H

#include "base/atomic.h"
#include "bulkhash/bulkhash.h"

typedef struct bh__gate {
    uint64_t word;
} bh__gate;

#define BH__GATE_ALONE (1ull << 63)

/* Enters if no thread is alone inside or waiting to be; answers whether it did. A task of an executor may
 * enter only so: the thread that is alone inside may be waiting for that executor. */
static inline int bh__gate_try_shared(bh__gate *gate)
{
    if (!(bh__atomic_add(&gate->word, 1, __ATOMIC_ACQUIRE) & BH__GATE_ALONE))
        return 1;
    bh__atomic_subtract(&gate->word, 1, __ATOMIC_RELEASE);
    return 0;
}

/* These wait; for callers' threads. */
void bh__gate_enter_shared(bh__gate *gate, const bh_system *system);
void bh__gate_enter_alone(bh__gate *gate, const bh_system *system);

static inline void bh__gate_leave_shared(bh__gate *gate)
{
    bh__atomic_subtract(&gate->word, 1, __ATOMIC_RELEASE);
}

static inline void bh__gate_leave_alone(bh__gate *gate)
{
    bh__atomic_and(&gate->word, ~BH__GATE_ALONE, __ATOMIC_RELEASE);
}

#endif
