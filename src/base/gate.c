/* The waiting parts of the gate; see gate.h. */
#include "base/gate.h"

/* Waits in a way that costs little when it is short, and leaves the core to other threads when it is long. */
static void wait_a_little(const bh_system *system, uint32_t *rounds)
{
    if (++*rounds <= 64)
        system->yield(system->state);
    else
        system->sleep(system->state, 20000);
}

void bh__gate_enter_shared(bh__gate *gate, const bh_system *system)
{
    uint32_t rounds = 0;

    /* While it waits this thread is not counted, or the thread that wants to be alone would wait for it
     * while it waits for that thread. */
    while (!bh__gate_try_shared(gate))
        while (bh__atomic_load(&gate->word, __ATOMIC_RELAXED) & BH__GATE_ALONE)
            wait_a_little(system, &rounds);
}

void bh__gate_enter_alone(bh__gate *gate, const bh_system *system)
{
    uint32_t rounds = 0;

    while (bh__atomic_or(&gate->word, BH__GATE_ALONE, __ATOMIC_ACQUIRE) & BH__GATE_ALONE)
        wait_a_little(system, &rounds);
    while (bh__atomic_load(&gate->word, __ATOMIC_ACQUIRE) != BH__GATE_ALONE)
        wait_a_little(system, &rounds);
}
