/*
 * The gate of a table: slices of operations pass it together, and whatever
 * changes the table's geometry or needs one instant of the whole table holds it
 * alone.
 *
 * Its word says whether a thread is alone inside or waiting to be, which closes the gate
 * to new slices: a thread that wants to be alone waits only for slices that already run,
 * each of them some thousand operations, and cannot starve. Nor do slices starve where one thread after the other, or one again
 * and again, wants to be alone: those that wait to come in are counted, and who wants to be alone lets them in before it
 * closes the gate, if they come within some milliseconds. In the same way those are let in that have found another thread alone
 * inside and wait to be alone themselves, by those that come after them. There are two ways in for a slice:
 *
 *   counted   It adds itself to the number of slices in the word, and subtracts itself
 *             when it leaves. These two locked instructions cost more than a lookup.
 *   present   It writes the gate's address into its thread's own record, its *presence*, and then
 *             reads the word. This takes no locked instruction. It is allowed while the
 *             word has the bit PRESENT.
 *
 * A processor may perform the two accesses of the second way in the opposite order: it delays
 * the store. So the thread that wants to be alone, after it has closed the gate, has the
 * system put a memory barrier into every thread of the process (bh_system.barrier).
 * Then each slice either shows in its thread's presence, or will find the gate closed:
 *
 *     slice                          alone
 *     presence = gate                close the gate
 *     -- (the barrier) --            barrier
 *     is the gate closed?            is any presence this gate?
 *
 * That barrier costs about as much as the locked instructions of some dozen counted slices
 * (BH_GATE_COUNTED). So a thread that was alone leaves the gate without PRESENT, and slices set the bit
 * again when BH_GATE_COUNTED of them have come in counted. A table that is often held alone needs few barriers, and
 * no table loses much more by barriers than it did by counting alone. The same remedy for the same problem: Dice
 * and Kogan, "BRAVO - Biased locking for reader-writer locks", USENIX ATC 2019.
 *
 * Slices of a gate that is all zero are always counted. A thread enters counted, too, while its presence
 * is at another gate, and when it has none (gate.c).
 *
 * Waiting yields the processor and, when it lasts, sleeps for short times: the holder may
 * need this core.
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
    uint32_t may_be_present; /* the bit PRESENT may be set again */
    uint32_t counted;        /* about how many slices have come in counted since it was cleared */
    uint32_t waiting;        /* threads that wait for it to be open, and will come in */
    uint32_t alone_waiting;  /* threads that wait to be alone */
} bh__gate;

#define BH__GATE_ALONE (1ull << 63)
#define BH__GATE_PRESENT (1ull << 62)
#define BH__GATE_COUNT (BH__GATE_PRESENT - 1)

/* In a line of its own: its thread writes it with every slice. */
typedef struct bh__presence {
    uint64_t inside; /* the address of a gate, or 0 */
    uint32_t taken;  /* by a thread */
} __attribute__((aligned(64))) bh__presence;

/* The calling thread's; never NULL. (__thread: _Thread_local is not C++, in which this is included, too.) */
extern __thread bh__presence *bh__presence_own;

/* Whether a thread's presence is its own as long as it lives; 0: those that have none share it. */
static inline int bh__presence_is_own(const bh__presence *presence)
{
    return bh__atomic_load(&presence->taken, __ATOMIC_RELAXED) != 0;
}

/* Prepares what a thread needs to take a presence and to give it back at its end, and what a child process needs.
 * Answers 0, or anything else where the system refuses: then no gate may allow presence. */
int bh__presences_prepare(void);

/* Allows the second way in, before the gate is first used. The system's barrier and the presences must have been
 * prepared. */
static inline void bh__gate_allow_presence(bh__gate *gate)
{
    gate->may_be_present = 1;
    gate->word = BH__GATE_PRESENT;
}

/* Enters counted if no thread is alone inside or waiting to be; answers whether it did. */
int bh__gate_try_counted(bh__gate *gate);

/* The same in either way. *presence receives what bh__gate_leave_shared wants: the presence, or NULL where the slice is
 * counted. A task of an executor may enter only so: the thread that is alone inside may be waiting for that
 * executor. */
static inline int bh__gate_try_shared(bh__gate *gate, bh__presence **presence)
{
    bh__presence *own = bh__presence_own;

    if (!own->inside) {
        bh__atomic_store_ahead(&own->inside, (uint64_t)(uintptr_t)gate);
        *presence = own;
        if ((bh__atomic_load(&gate->word, __ATOMIC_ACQUIRE) &
             (BH__GATE_ALONE | BH__GATE_PRESENT)) == BH__GATE_PRESENT)
            return 1;
        bh__atomic_store(&own->inside, 0, __ATOMIC_RELEASE);
    }
    *presence = NULL;
    return bh__gate_try_counted(gate);
}

/* These wait; for callers' threads. */
void bh__gate_enter_shared(bh__gate *gate, bh__presence **presence, const bh_system *system);
void bh__gate_enter_alone(bh__gate *gate, const bh_system *system);

/* Waits until no thread is alone inside. */
void bh__gate_await(bh__gate *gate, const bh_system *system);

/* Between these two, threads that want to be alone let others in first: those that the caller waits for. It must not want to be
 * alone itself meanwhile. */
static inline void bh__gate_ask(bh__gate *gate)
{
    bh__atomic_add(&gate->waiting, 1, __ATOMIC_RELAXED);
}

static inline void bh__gate_thank(bh__gate *gate)
{
    bh__atomic_subtract(&gate->waiting, 1, __ATOMIC_RELAXED);
}

static inline void bh__gate_leave_shared(bh__gate *gate, bh__presence *presence)
{
    if (presence)
        bh__atomic_store(&presence->inside, 0, __ATOMIC_RELEASE);
    else
        bh__atomic_subtract(&gate->word, 1, __ATOMIC_RELEASE);
}

void bh__gate_leave_alone(bh__gate *gate);

/* Presences that threads have now. */
uint32_t bh__presences_taken(void);

/* A presence that no thread has, or one with which every gate is entered counted when all are taken. The
 * library itself takes one for each thread that calls it; this is for a test that makes threads of its own
 * kind. */
bh__presence *bh__presence_take(void);

#endif
