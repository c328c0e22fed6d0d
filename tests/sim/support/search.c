/* Exhaustive and random search, and making what was found smaller; see search.h. */
#include "sim/support/search.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/check.h"

/* Deviations that an exhaustive search may be asked for. */
#define DEVIATIONS_MOST 6

/* --- all schedules ----------------------------------------------------------------------- */

typedef struct exhaustive {
    fibers_schedule schedule;
    uint32_t deviations;
    uint64_t limit;
    uint64_t schedules;
} exhaustive;

/* The steps of the runs that are being varied, one for each number of deviations. */
static fibers_step varied[DEVIATIONS_MOST][FIBERS_STEPS_MOST];

/* Runs the schedule and then, for each of its steps behind the last deviation, the schedules that
 * deviate there. Each schedule is reached in one way only. */
static bool explore(exhaustive *e)
{
    const uint32_t depth = e->schedule.count;
    const uint32_t from = depth > 0 ? e->schedule.at[depth - 1].step + 1 : 0;
    uint32_t steps = 0;

    e->schedules++;
    if (scene_run(&e->schedule) != NULL) {
        return false;
    }
    if (depth == e->deviations) {
        return true;
    }
    steps = fibers_steps();
    memcpy(varied[depth], fibers_trace(), steps * sizeof varied[depth][0]);
    for (uint32_t s = from; s < steps && e->schedules < e->limit; s++) {
        const fibers_step *step = &varied[depth][s];
        for (uint32_t f = 0; f < FIBERS_ALL; f++) {
            if ((step->alive >> f & 1) == 0 || f == step->chosen || f == step->running) {
                continue;
            }
            e->schedule.at[depth] = (fibers_switch){s, f};
            e->schedule.count = depth + 1;
            if (!explore(e)) {
                return false;
            }
            e->schedule.count = depth;
        }
    }
    return true;
}

bool search_all(const scene *s, uint32_t deviations, uint64_t limit, uint64_t *schedules,
                fibers_schedule *failing)
{
    bool good = true;

    check(deviations < DEVIATIONS_MOST, "at most %d deviations can be searched",
          DEVIATIONS_MOST - 1);
    scene_set_up(s);
    for (uint32_t first = 0; first < s->fibers && good; first++) {
        exhaustive e = {.deviations = deviations, .limit = limit, .schedule.first = first};
        good = explore(&e);
        *schedules += e.schedules;
        *failing = e.schedule;
    }
    return good;
}

/* --- random schedules -------------------------------------------------------------------- */

static fibers_priorities priorities_draw(rng *random, uint32_t steps)
{
    static const uint32_t depths[] = {1, 1, 2, 2, 3, 4, 6, 12};
    fibers_priorities p = {.count = depths[random_below(random, TEST_COUNT(depths))]};

    for (uint32_t f = 0; f < FIBERS_ALL; f++) {
        // A shuffle: each takes the place of one before it, or its own.
        uint32_t place = (uint32_t)random_below(random, f + 1);
        p.priority[f] = p.priority[place];
        p.priority[place] = FIBERS_STEPS_MOST + 1 + f;
    }
    for (uint32_t i = 0; i < p.count; i++) {
        uint32_t at = i;
        uint32_t change = (uint32_t)random_below(random, steps);
        for (; at > 0 && p.change[at - 1] > change; at--) {
            p.change[at] = p.change[at - 1];
        }
        p.change[at] = change;
    }
    return p;
}

bool search_random(const scene *s, rng *random, uint64_t count, fibers_schedule *failing)
{
    uint32_t steps = 1;

    scene_set_up(s);
    for (uint64_t i = 0; i < count; i++) {
        const fibers_priorities p = priorities_draw(random, steps);
        if (scene_run_priorities(&p) != NULL) {
            *failing = *fibers_taken();
            return false;
        }
        // Where steps can be is known from the longest run so far.
        steps = fibers_steps() > steps ? fibers_steps() : steps;
    }
    return true;
}

/* --- making a failing scene smaller ------------------------------------------------------ */

/* What a smaller scene is tried under before it counts as good: random schedules, and when there
 * are few calls all schedules with few deviations, so many of them. And processor seconds after
 * which what has been reached is small enough. */
#define TRIES_RANDOM 5000u
#define TRIES_ALL 100000u
#define FEW_CALLS 3u
#define SECONDS_MOST 60

/* Whether the scene fails under a schedule with few deviations; the one with the fewest. */
static bool fails_simply(const scene *s, fibers_schedule *failing)
{
    for (uint32_t deviations = 0; deviations <= 3; deviations++) {
        uint64_t schedules = 0;
        if (!search_all(s, deviations, TRIES_ALL, &schedules, failing)) {
            return true;
        }
    }
    return false;
}

static bool fails(const scene *s, fibers_schedule *failing)
{
    rng random = random_start(1);
    uint32_t calls = 0;

    for (uint32_t f = 0; f < s->fibers; f++) {
        calls += s->fiber[f].count;
    }
    return !search_random(s, &random, TRIES_RANDOM, failing) ||
           (calls <= FEW_CALLS && fails_simply(s, failing));
}

/* Counts down to the way that is wanted: true when this is it. One that changes nothing is none. */
static bool is_way(uint32_t *which, bool changes)
{
    if (!changes) {
        return false;
    }
    *which -= 1;
    return *which == UINT32_MAX;
}

static bool simplify_call(scene_call *call, uint32_t *which)
{
    if (call->what <= SCENE_APPLY && call->count > 1) {
        for (uint32_t e = 0; e < call->count; e++) {
            if (is_way(which, true)) {
                call->count--;
                memmove(&call->element[e], &call->element[e + 1],
                        (call->count - e) * sizeof call->element[0]);
                return true;
            }
        }
    }
    if (is_way(which, call->what == SCENE_APPLY)) {
        call->what = SCENE_CALL;
        return true;
    }
    if (is_way(which, call->what == SCENE_RESERVE && call->count > 1)) {
        call->count--;
        return true;
    }
    return false;
}

static bool simplify_calls(scene_call *calls, uint8_t *count, uint32_t *which)
{
    for (uint32_t c = 0; c < *count; c++) {
        if (is_way(which, true)) {
            *count = (uint8_t)(*count - 1);
            memmove(&calls[c], &calls[c + 1], (*count - c) * sizeof *calls);
            return true;
        }
        if (simplify_call(&calls[c], which)) {
            return true;
        }
    }
    return false;
}

/* Gives all elements small values, different from each other. Answers whether that changes any. */
static bool simplify_values(scene *s)
{
    bool changes = false;
    uint64_t value = 100;

    for (uint32_t f = 0; f <= s->fibers; f++) {
        scene_call *calls = f < s->fibers ? s->fiber[f].call : s->start;
        const uint32_t count = f < s->fibers ? s->fiber[f].count : s->start_count;
        for (uint32_t c = 0; c < count; c++) {
            for (uint32_t e = 0; e < calls[c].count && calls[c].what <= SCENE_APPLY; e++) {
                changes |= calls[c].element[e].value != value;
                calls[c].element[e].value = value++;
            }
        }
    }
    return changes;
}

/* Makes a scene simpler in the `which`-th way; false when there are not so many. */
static bool simplify(scene *s, uint32_t which)
{
    for (uint32_t f = 0; f < s->fibers; f++) {
        if (is_way(&which, s->fibers > 1)) {
            s->fibers--;
            memmove(&s->fiber[f], &s->fiber[f + 1], (s->fibers - f) * sizeof s->fiber[0]);
            return true;
        }
        if (simplify_calls(s->fiber[f].call, &s->fiber[f].count, &which)) {
            return true;
        }
    }
    if (simplify_calls(s->start, &s->start_count, &which)) {
        return true;
    }
    if (is_way(&which, s->ordered != 0)) {
        s->ordered = 0;
    } else if (is_way(&which, s->apart != 0)) {
        s->apart = 0;
    } else if (is_way(&which, s->alike != 0)) {
        s->alike = 0;
    } else if (is_way(&which, s->biased != 0)) {
        s->biased = 0;
    } else if (is_way(&which, s->spread != 0)) {
        s->spread = 0;
    } else if (is_way(&which, s->max_percent != 0)) {
        s->max_percent = 0;
    } else if (is_way(&which, s->subtables != 2)) {
        s->subtables = 2;
    } else if (is_way(&which, s->capacity != 1)) {
        s->capacity = 1;
    } else if (is_way(&which, s->seed != 1)) {
        s->seed = 1;
    } else if (is_way(&which, s->key_bytes != 8)) {
        s->key_bytes = 8;
    } else if (is_way(&which, s->value_bytes != 8)) {
        s->value_bytes = 8;
    } else {
        return which == 0 && simplify_values(s);
    }
    return true;
}

/* Leaves out of a schedule what it does not need. */
static void simplify_schedule(const scene *s, fibers_schedule *failing)
{
    scene_set_up(s);
    for (uint32_t i = failing->count; i-- > 0;) {
        fibers_schedule shorter = *failing;
        shorter.count--;
        memmove(&shorter.at[i], &shorter.at[i + 1], (shorter.count - i) * sizeof shorter.at[0]);
        if (scene_run(&shorter) != NULL) {
            *failing = shorter;
        }
    }
}

/* Prints a scene that is set up as a test, with what is wrong as a comment, which it answers. */
static const char *print_failure(const scene *s, const fibers_schedule *schedule)
{
    const char *what = scene_run(schedule);

    what = what != NULL ? what : "it does not fail again";
    fprintf(stderr, "\n/* %s */\n", what);
    scene_print(stderr, "fails", s, schedule);
    fprintf(stderr, "\n");
    return what;
}

_Noreturn void search_report(const scene *s, const fibers_schedule *failing)
{
    scene smallest = *s;
    scene simpler = *s;
    fibers_schedule schedule = *failing;
    fibers_schedule of_simpler;
    const clock_t begin = clock();
    const char *what = NULL;

    scene_set_up(s);
    print_failure(s, failing);
    fprintf(stderr, "making it smaller ...\n");
    for (uint32_t which = 0;
         clock() - begin < SECONDS_MOST * CLOCKS_PER_SEC && simplify(&simpler, which);
         simpler = smallest) {
        if (fails(&simpler, &of_simpler)) {
            smallest = simpler;
            schedule = of_simpler;
            which = 0; // every way once more
        } else {
            which++;
        }
    }
    if (fails_simply(&smallest, &of_simpler)) {
        schedule = of_simpler;
    }
    simplify_schedule(&smallest, &schedule);
    what = print_failure(&smallest, &schedule);
    test_failed(__FILE__, __LINE__, "no schedule fails", "%s; above it is as a test for %s", what,
                "tests/sim/replays.c");
}

void search_replay(const scene *s, const fibers_schedule *once_failing)
{
    fibers_schedule failing = *once_failing;
    uint64_t schedules = 0;
    uint32_t deviations = once_failing->count < 3 ? once_failing->count : 3;

    scene_set_up(s);
    if (scene_run(once_failing) != NULL ||
        !search_all(s, deviations, TRIES_ALL, &schedules, &failing)) {
        search_report(s, &failing);
    }
}
