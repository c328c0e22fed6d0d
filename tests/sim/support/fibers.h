/*
 * Fibers: threads that are one thread to the system, so that a test decides who runs when.
 *
 * Each fiber has a stack of its own and runs until it reaches a *step*: a point before an access
 * to shared memory (bh__sim_point, which the library's build for the target sim calls), a yield,
 * or its end. Steps are counted over all fibers. At a point the fiber goes on unless the schedule
 * says otherwise; at a yield or an end another one takes over. What a run did follows from its
 * schedule alone, so a schedule that failed once fails again.
 *
 * A fiber can have tasks run by helpers, which are fibers of the same run that end with their task.
 *
 * Each fiber has a processor of its own, which may hold back a store (bh__sim_hold_back): no other fiber sees
 * it before the fiber next changes something, or somebody calls fibers_barrier(). A real processor may hold
 * back as much and no more; this one always does.
 *
 * Each fiber but the helpers is a thread to the library's gates (base/gate.h): it has a presence. Helpers are
 * counted.
 */
#ifndef BULKHASH_TESTS_SIM_SUPPORT_FIBERS_H
#define BULKHASH_TESTS_SIM_SUPPORT_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gate.h"

#define FIBERS_MOST 4 /* in a run, without their helpers */
#define FIBERS_HELPERS 4
#define FIBERS_ALL (FIBERS_MOST + FIBERS_HELPERS)

/* After so many steps a run is given up as one that never ends. */
#define FIBERS_STEPS_MOST 20000

/* Deviations in one schedule. */
#define FIBERS_SWITCHES_MOST 64

/* At that step, `fiber` goes on instead of the one that would. */
typedef struct fibers_switch {
    uint32_t step;
    uint32_t fiber;
} fibers_switch;

/*
 * A schedule: who begins, and the deviations from the rule, in the order of their steps. The rule:
 * at a point the same fiber goes on; at a yield and at an end the next one, counting round, that
 * has not ended. A deviation to a fiber that has ended is passed over.
 */
typedef struct fibers_schedule {
    uint32_t first;
    uint32_t count;
    fibers_switch at[FIBERS_SWITCHES_MOST];
} fibers_schedule;

/*
 * A random schedule with priorities (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized
 * scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010): the fiber of the highest
 * priority runs; at each of some steps drawn beforehand the running one falls behind all others,
 * and so does one that yields.
 */
typedef struct fibers_priorities {
    uint32_t priority[FIBERS_ALL]; /* all different, above FIBERS_STEPS_MOST */
    uint32_t count;
    uint32_t change[FIBERS_SWITCHES_MOST]; /* ascending */
} fibers_priorities;

/* What a step was: whom it found not ended (a bit each), who was running, who went on. */
typedef struct fibers_step {
    uint8_t alive;
    uint8_t running;
    uint8_t chosen;
    uint8_t is_point; /* not a yield or an end */
} fibers_step;

/* Runs body(argument, 0) .. body(argument, count - 1), each in a fiber of its own, until all have
 * ended. Answers false when that took more than FIBERS_STEPS_MOST steps: the fibers are then left
 * where they are. */
bool fibers_run(uint32_t count, void (*body)(void *argument, uint32_t fiber), void *argument,
                const fibers_schedule *schedule);
bool fibers_run_priorities(uint32_t count, void (*body)(void *argument, uint32_t fiber),
                           void *argument, const fibers_priorities *priorities);

/* What a fiber, not a helper, has in all runs. */
bh__presence *fibers_presence(uint32_t which);

/* Of the last run: its steps, and the schedule that repeats it. */
uint32_t fibers_steps(void);
const fibers_step *fibers_trace(void);
const fibers_schedule *fibers_taken(void);

/* Lets all fibers' processors perform the stores that they hold back. */
void fibers_barrier(void);

/* Lets another fiber run. Does nothing outside of a run. */
void fibers_yield(void);

/* Runs task(argument, i) for every i in [0, count) and returns when all have ended: in a run by
 * helpers, as far as some are free, and the fiber that calls it. */
void fibers_help(uint32_t count, void (*task)(void *argument, uint64_t index), void *argument);

#endif
