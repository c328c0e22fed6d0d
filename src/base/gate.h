/*
 * The gate of a table: slices of operations pass it together, and whatever
 * changes the table's geometry or needs one instant of the whole table holds it
 * alone.
 *
 * It is one word: the number of slices inside, and a bit that says that someone
 * is alone inside or waiting to be. The bit closes the gate to new slices, so
 * the one who wants to be alone waits only for slices that already run, each of
 * them some thousand operations; it cannot starve. Waiting yields the processor
 * and, when it lasts, sleeps for short times: the holder may need this core.
 *
 * Rule: nobody who holds the gate enters it again, and nobody who holds it waits
 * for anything but running slices.
 */
#ifndef BH_BASE_GATE_H
#define BH_BASE_GATE_H

#include "bulkhash/bulkhash.h"

typedef struct bh__gate {
    uint64_t word;
} bh__gate;

#define BH__GATE_ALONE (1ull << 63)

/* The slow ends of the two ways in. */
void bh__gate_wait_shared(bh__gate *gate, const bh_system *system);
void bh__gate_enter_alone(bh__gate *gate, const bh_system *system);

static inline void bh__gate_enter_shared(bh__gate *gate, const bh_system *system)
{
    uint64_t before = __atomic_fetch_add(&gate->word, 1, __ATOMIC_ACQUIRE);

    if (before & BH__GATE_ALONE)
        bh__gate_wait_shared(gate, system);
}

static inline void bh__gate_leave_shared(bh__gate *gate)
{
    __atomic_fetch_sub(&gate->word, 1, __ATOMIC_RELEASE);
}

static inline void bh__gate_leave_alone(bh__gate *gate)
{
    __atomic_fetch_and(&gate->word, ~BH__GATE_ALONE, __ATOMIC_RELEASE);
}

#endif
