/*
 * The waiting parts of the gate, and the presences of threads; see gate.h.
 *
 * Presences are a fixed array: a thread that comes to a gate for the first time takes one, and gives it
 * back when it ends. So there is no memory to be had or freed, and a presence is never gone while
 * another thread looks at it. Threads beyond the array's end are counted.
 *
 * A child process has a copy of the array and one thread alone: it frees the presences of all others.
 */
#include "base/gate.h"

#include "base/system.h"

#define PRESENCES_MOST 1024u

/* So many slices come in counted before the bit PRESENT is set again; what they cost together is about what
 * the barrier costs. A build for tests does not wait so long. */
#ifndef BH_GATE_COUNTED
#define BH_GATE_COUNTED 64u
#endif

/* Memory accesses that have begun are long over after this time; see await_presences. */
#define DRAINED_NANOSECONDS 20000000u

static bh__presence presences[PRESENCES_MOST];
static uint32_t presences_used; /* all behind these have never been taken */

/* The presences of threads that have none: they are inside something already, so a slice is counted. The
 * first is of a thread that has not asked for one yet, the second of one that has asked in vain. */
static bh__presence not_asked = {1, 0};
static bh__presence refused = {1, 0};

__thread bh__presence *bh__presence_own = &not_asked;

bh__presence *bh__presence_take(void)
{
    uint32_t i, used = bh__atomic_load(&presences_used, __ATOMIC_RELAXED), not_taken = 0;

    for (i = 0; i < PRESENCES_MOST; i++) {
        if (!bh__atomic_load(&presences[i].taken, __ATOMIC_RELAXED) &&
            bh__atomic_swap_if(&presences[i].taken, &not_taken, 1, __ATOMIC_ACQUIRE,
                               __ATOMIC_RELAXED))
            break;
        not_taken = 0;
    }
    if (i == PRESENCES_MOST)
        return &refused;
    while (used <= i &&
           !bh__atomic_swap_if(&presences_used, &used, i + 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
    return &presences[i];
}

/* A thread that ends inside, because a system function has moved its call to another thread, leaves its presence
 * taken. */
static void give_back(void *argument)
{
    bh__presence *presence = argument;

    bh__presence_own = &not_asked;
    if (!bh__atomic_load(&presence->inside, __ATOMIC_RELAXED))
        bh__atomic_store(&presence->taken, 0, __ATOMIC_RELEASE);
}

/* In a child process: its one thread keeps what it has. */
static void give_back_others(void)
{
    uint32_t i;

    for (i = 0; i < PRESENCES_MOST; i++)
        if (&presences[i] != bh__presence_own)
            presences[i].inside = presences[i].taken = 0;
}

int bh__presences_prepare(void)
{
    return bh__thread_ends_prepare(give_back, give_back_others);
}

/* Has the calling thread take a presence, for which it has not asked before. */
static void take_own(void)
{
    bh__presence *presence = bh__presence_take();

    if (presence != &refused && bh__at_thread_end(presence)) {
        give_back(presence);
        presence = &refused;
    }
    bh__presence_own = presence;
}

uint32_t bh__presences_taken(void)
{
    uint32_t i, taken = 0;

    for (i = 0; i < PRESENCES_MOST; i++)
        taken += bh__atomic_load(&presences[i].taken, __ATOMIC_RELAXED);
    return taken;
}

/* Waits in a way that costs little when it is short, and leaves the core to other threads when it is long. */
static void wait_a_little(const bh_system *system, uint32_t *rounds)
{
    if (++*rounds <= 64)
        system->yield(system->state);
    else
        system->sleep(system->state, 20000);
}

int bh__gate_try_counted(bh__gate *gate)
{
    uint64_t word;

    /* Before it is inside: the system may allocate memory for that. */
    if (bh__presence_own == &not_asked && bh__advice_load(&gate->may_be_present))
        take_own();
    word = bh__atomic_add(&gate->word, 1, __ATOMIC_ACQUIRE);
    if (word & BH__GATE_ALONE) {
        bh__atomic_subtract(&gate->word, 1, __ATOMIC_RELEASE);
        return 0;
    }
    if (!(word & BH__GATE_PRESENT) && gate->may_be_present) {
        const uint32_t counted = bh__atomic_load(&gate->counted, __ATOMIC_RELAXED) + 1;

        /* Not exact where two threads count at once: it need not be. The bit is set while this thread is
         * counted, so who wants to be alone sees it, because it looks after this thread has left. */
        bh__atomic_store(&gate->counted, counted, __ATOMIC_RELAXED);
        if (counted >= BH_GATE_COUNTED)
            bh__atomic_or(&gate->word, BH__GATE_PRESENT, __ATOMIC_RELAXED);
    }
    return 1;
}

void bh__gate_await(bh__gate *gate, const bh_system *system)
{
    uint32_t rounds = 0;

    while (bh__atomic_load(&gate->word, __ATOMIC_RELAXED) & BH__GATE_ALONE)
        wait_a_little(system, &rounds);
}

void bh__gate_enter_shared(bh__gate *gate, bh__presence **presence, const bh_system *system)
{
    /* While it waits this thread is neither counted nor present, or the thread that wants to be alone would
     * wait for it while it waits for that thread. */
    if (bh__gate_try_shared(gate, presence))
        return;
    bh__gate_ask(gate);
    do
        bh__gate_await(gate, system);
    while (!bh__gate_try_shared(gate, presence));
    bh__gate_thank(gate);
}

/*
 * Waits until no thread is present at the gate, which is closed.
 *
 * Without the barrier, a slice may be inside whose store of its presence nobody sees yet. No processor holds
 * a store back for long: it leaves the store buffer as soon as the memory answers, which takes some
 * microseconds at the very worst, and at the latest when the thread loses its core. So it is enough to wait
 * for thousands of times that long. A slice that begins meanwhile or later reads the word after it was
 * closed. And it happens once for each gate: the bit PRESENT is never set again there, so that all later
 * slices are counted.
 */
static void await_presences(bh__gate *gate, const bh_system *system, uint32_t *rounds)
{
    uint32_t i;

    if (system->barrier(system->state)) {
        bh__advice_store(&gate->may_be_present, 0);
        system->sleep(system->state, DRAINED_NANOSECONDS);
    }
    for (i = 0; i < bh__atomic_load(&presences_used, __ATOMIC_ACQUIRE); i++)
        while (bh__atomic_load(&presences[i].inside, __ATOMIC_ACQUIRE) == (uint64_t)(uintptr_t)gate)
            wait_a_little(system, rounds);
}

/* For so many rounds of waiting an open gate is left to those who wait for it. Most rounds are sleeps, of which each lets others
 * wake that sleep at the gate; a thread that gets no processor for longer is overtaken. */
#define ROUNDS_FOR_OTHERS 128u

/* Whether threads wait that are to be let in before this one is alone: slices and, unless this one `waits` like them, those that want
 * to be alone. *rounds counts those of an open gate. (How many there are is advice: nothing but time depends on it.) */
static int lets_others_in(bh__gate *gate, int waits, uint32_t *rounds)
{
    if (*rounds == ROUNDS_FOR_OTHERS ||
        (!bh__advice_load(&gate->waiting) && (waits || !bh__advice_load(&gate->alone_waiting))))
        return 0;
    *rounds += !(bh__atomic_load(&gate->word, __ATOMIC_RELAXED) & BH__GATE_ALONE);
    return 1;
}

void bh__gate_enter_alone(bh__gate *gate, const bh_system *system)
{
    uint32_t rounds = 0, for_others = 0;
    int waits = 0;
    uint64_t word;

    for (;; wait_a_little(system, &rounds)) {
        if (lets_others_in(gate, waits, &for_others))
            continue;
        if (!(bh__atomic_or(&gate->word, BH__GATE_ALONE, __ATOMIC_ACQUIRE) & BH__GATE_ALONE))
            break;
        if (!waits)
            bh__atomic_add(&gate->alone_waiting, 1, __ATOMIC_RELAXED);
        waits = 1;
    }
    if (waits)
        bh__atomic_subtract(&gate->alone_waiting, 1, __ATOMIC_RELAXED);
    while ((word = bh__atomic_load(&gate->word, __ATOMIC_ACQUIRE)) & BH__GATE_COUNT)
        wait_a_little(system, &rounds);
    if (word & BH__GATE_PRESENT)
        await_presences(gate, system, &rounds);
}

void bh__gate_leave_alone(bh__gate *gate)
{
    bh__atomic_store(&gate->counted, 0, __ATOMIC_RELAXED);
    bh__atomic_and(&gate->word, ~(BH__GATE_ALONE | BH__GATE_PRESENT), __ATOMIC_RELEASE);
}
