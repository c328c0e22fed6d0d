/*
 * The gate under all schedules of two fibers with up to two deviations: slices of one fiber while the other
 * takes the gate alone. Processors hold back a slice's store of its presence (fibers.h), so what keeps the two
 * apart is the system's barrier: a gate without it must be caught. And a slice that waits when the other fiber leaves comes in
 * before that is alone again.
 */
#include <stdio.h>

#include "base/gate.h"
#include "sim/support/fibers.h"
#include "support/check.h"

/* What the system's barrier does. */
typedef enum barrier_kind {
    WORKS,
    FAILS,         /* the first one and all later ones */
    FAILS_LATER,   /* all but the first one */
    DOES_NOT_WORK, /* though it says so */
    BARRIER_KINDS
} barrier_kind;

enum { SLICES = 3, TIMES_ALONE = 2 };

static bh__gate gate;
static barrier_kind kind;
static uint32_t barriers;
static bool alone;       // a fiber is alone inside
static uint32_t inside;  // fibers that are inside in a slice
static uint32_t met;     // how often a slice and one alone were inside at the same time
static uint32_t present; // slices that entered by their presence
static uint32_t counted; // and counted
static uint32_t waited;  // how often a slice waited when the other fiber left
static uint32_t passed;  // and was passed by

static void fake_yield(void *state)
{
    (void)state;
    fibers_yield();
}

static void fake_sleep(void *state, uint64_t nanoseconds)
{
    (void)state;
    (void)nanoseconds;
    fibers_barrier();
    fibers_yield();
}

static int fake_barrier(void *state)
{
    (void)state;
    barriers++;
    if (kind == FAILS || (kind == FAILS_LATER && barriers > 1)) {
        return -1;
    }
    if (kind != DOES_NOT_WORK) {
        fibers_barrier();
    }
    return 0;
}

static void pass(void *argument, uint32_t fiber)
{
    const bh_system *system = argument;

    for (uint32_t i = 0; fiber == 0 && i < SLICES; i++) {
        bh__presence *presence = NULL;
        bh__gate_enter_shared(&gate, &presence, system);
        met += alone;
        inside++;
        bh__sim_point(); // a slice reads the table
        met += alone;
        inside--;
        *(presence != NULL ? &present : &counted) += 1;
        bh__gate_leave_shared(&gate, presence);
    }
    for (uint32_t i = 0, asked = 0; fiber == 1 && i < TIMES_ALONE; i++) {
        bh__gate_enter_alone(&gate, system);
        passed += asked && asked == present + counted + 1;
        alone = true;
        met += inside;
        bh__sim_point();
        met += inside;
        alone = false;
        bh__gate_leave_alone(&gate);
        asked = gate.waiting ? present + counted + 1 : 0; // where none comes in until the next time
        waited += gate.waiting;
    }
}

/* Runs one schedule; answers the number of its steps. */
static uint32_t run(bh_system *system, const fibers_schedule *schedule)
{
    barriers = 0;
    gate = (bh__gate){0};
    bh__gate_allow_presence(&gate);
    check(fibers_run(2, pass, system, schedule), "the gate is never entered");
    check((gate.word & ~BH__GATE_PRESENT) == 0, "the gate's word is left as %llx",
          (unsigned long long)gate.word);
    check(gate.waiting == 0, "%u wait for ever", gate.waiting);
    return fibers_steps();
}

/* Each deviation is to the other of the two fibers. */
static void run_all(barrier_kind with)
{
    bh_system system;
    uint32_t schedules = 0;

    kind = with;
    met = present = counted = waited = passed = 0;
    bh_system_default(&system);
    system.yield = fake_yield;
    system.sleep = fake_sleep;
    system.barrier = fake_barrier;
    for (uint32_t first = 0; first < 2; first++) {
        fibers_schedule schedule = {.first = first, .count = 2};
        const uint32_t steps = run(&system, &(fibers_schedule){.first = first, .count = 0}) + 10;

        for (uint32_t one = 0; one < steps; one++) {
            for (uint32_t two = one + 1; two < steps + 1; two++) {
                schedule.at[0] = (fibers_switch){one, !first};
                schedule.at[1] = (fibers_switch){two, first};
                (void)run(&system, &schedule);
                schedules++;
            }
        }
    }
    printf("%u schedules, %u slices present and %u counted\n", schedules, present, counted);
    check(present > 0 && counted > 0, "not both ways in were taken");
    check(waited > 0 && passed == 0, "of %u slices that waited %u were passed by", waited, passed);
}

static void kept_apart(void **state)
{
    (void)state;
    for (barrier_kind with = WORKS; with < DOES_NOT_WORK; with++) {
        run_all(with);
        check(met == 0, "a slice and one alone met %u times", met);
    }
}

static void a_missing_barrier_is_found(void **state)
{
    (void)state;
    run_all(DOES_NOT_WORK);
    check(met > 0, "without a barrier nothing was found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_apart),
        cmocka_unit_test(a_missing_barrier_is_found),
    };

    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
