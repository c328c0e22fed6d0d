/*
 * Looking for a schedule under which a scene fails: all schedules with few deviations, or random
 * ones. What fails is made as small as possible and printed as a test.
 */
#ifndef BULKHASH_TESTS_SIM_SUPPORT_SEARCH_H
#define BULKHASH_TESTS_SIM_SUPPORT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/support/scene.h"
#include "support/random.h"

/*
 * Runs a scene under all schedules with at most `deviations` deviations (preemptions, when there
 * are two fibers), at most `limit` of them, and adds to *schedules how many it ran. Answers false,
 * *failing set, at the first that fails.
 */
bool search_all(const scene *s, uint32_t deviations, uint64_t limit, uint64_t *schedules,
                fibers_schedule *failing);

/* The same under `count` random schedules with priorities. */
bool search_random(const scene *s, rng *random, uint64_t count, fibers_schedule *failing);

/* Makes a failing scene smaller, prints it as a test, and fails the test that runs. */
_Noreturn void search_report(const scene *s, const fibers_schedule *failing);

/* For tests/sim/replays.c: runs a scene under the schedule under which it once failed, and, since
 * steps are counted differently when the code has changed, under all with as many deviations. */
void search_replay(const scene *s, const fibers_schedule *once_failing);

#endif
