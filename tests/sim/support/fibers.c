/*
 * How fibers are switched; see fibers.h.
 *
 * A fiber is begun with makecontext. From then on it is left and entered with _setjmp and
 * _longjmp, which, unlike swapcontext, ask nothing of the system: ten times as fast. When its work
 * has ended, a fiber waits for the next run's, so that it need not be made again.
 *
 * AddressSanitizer is told of every switch, or it would take another stack for a broken one.
 */
/* The check that _longjmp only goes up the same stack must not be compiled in. */
#undef _FORTIFY_SOURCE
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif

#include "sim/support/fibers.h"

#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "base/gate.h"
#include "support/check.h"

#if TEST_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (256u * 1024)
#define NOBODY FIBERS_ALL /* the test itself, outside of a run */

typedef struct fiber {
    jmp_buf place;
    bool is_new; /* `start` is where it begins; else it was left at `place` */
    ucontext_t start;
    const void *stack;
    size_t stack_bytes;
    void (*task)(void *argument, uint64_t index); // a helper's
    void *argument;
    uint64_t index;
    bh__presence *presence;
    uint64_t *held_back; // NULL, or where its processor has yet to store `value`
    uint64_t value;
} fiber;

/* Inside something already: with this one every gate is entered counted. */
static bh__presence counted = {1, 0};

static unsigned char stacks[FIBERS_ALL][STACK_BYTES] __attribute__((aligned(64)));
static fiber fibers[FIBERS_ALL + 1];
static bool fibers_are_made = false;

/* The run. */
static void (*run_body)(void *argument, uint32_t fiber);
static void *run_argument;
static uint32_t running = NOBODY;
static uint32_t alive; // a bit for each fiber that has not ended
static bool stuck;

/* Its schedule: `next` is the step at which something may have to be decided. */
static const fibers_schedule *schedule;
static fibers_priorities by_priority;
static bool has_priorities;
static uint32_t entry; // of the schedule, or of the change points
static uint32_t next;

/* What happened. */
static uint32_t steps;
static fibers_step trace[FIBERS_STEPS_MOST];
static fibers_schedule taken;

static void enter(uint32_t to)
{
    fiber *from = &fibers[running];

    running = to;
    bh__presence_own = fibers[to].presence;
#if TEST_ADDRESS_SANITIZER
    void *fake_stack;
    const void *left_stack;
    size_t left_bytes;
    __sanitizer_start_switch_fiber(&fake_stack, fibers[to].stack, fibers[to].stack_bytes);
#endif
    if (_setjmp(from->place) == 0) {
        if (fibers[to].is_new) {
            fibers[to].is_new = false;
            (void)setcontext(&fibers[to].start);
        }
        _longjmp(fibers[to].place, 1);
    }
#if TEST_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fake_stack, &left_stack, &left_bytes);
#endif
}

/* Sets `next` to the step of the next entry. */
static void find_next(void)
{
    if (has_priorities) {
        next = entry < by_priority.count ? by_priority.change[entry] : FIBERS_STEPS_MOST;
    } else {
        next = entry < schedule->count ? schedule->at[entry].step : FIBERS_STEPS_MOST;
    }
}

/* The one that goes on at a yield or an end when nothing else is said. */
static uint32_t next_round(uint32_t after)
{
    for (uint32_t i = 1; i <= FIBERS_ALL; i++) {
        uint32_t candidate = (after + i) % FIBERS_ALL;
        if ((alive >> candidate & 1) != 0) {
            return candidate;
        }
    }
    return NOBODY;
}

static uint32_t highest(void)
{
    uint32_t best = NOBODY;
    for (uint32_t f = 0; f < FIBERS_ALL; f++) {
        if ((alive >> f & 1) != 0 &&
            (best == NOBODY || by_priority.priority[f] > by_priority.priority[best])) {
            best = f;
        }
    }
    return best;
}

/* Who goes on after step number `step`, a point or not. */
static uint32_t choose(uint32_t step, bool is_point)
{
    const uint32_t usual = is_point ? running : next_round(running);
    uint32_t chosen = usual;

    if (alive == 0) {
        return NOBODY;
    }
    if (has_priorities) {
        bool falls = !is_point;
        while (entry < by_priority.count && by_priority.change[entry] <= step) {
            entry++;
            falls = true;
        }
        if (falls) {
            by_priority.priority[running] = FIBERS_STEPS_MOST - step;
        }
        chosen = highest();
    } else {
        while (entry < schedule->count && schedule->at[entry].step <= step) {
            const fibers_switch *at = &schedule->at[entry++];
            if (at->step == step && at->fiber < FIBERS_ALL && (alive >> at->fiber & 1) != 0) {
                chosen = at->fiber;
            }
        }
    }
    find_next();
    if (chosen != usual && taken.count < FIBERS_SWITCHES_MOST) {
        taken.at[taken.count++] = (fibers_switch){step, chosen};
    }
    return chosen;
}

/* A step that is not just a point at which the same fiber goes on. */
static void decide(uint32_t step, uint32_t alive_before, bool is_point)
{
    uint32_t chosen;

    if (step + 1 >= FIBERS_STEPS_MOST) {
        stuck = true;
        enter(NOBODY);
        return; // never: a fiber that is stuck is begun anew
    }
    chosen = choose(step, is_point);
    trace[step] = (fibers_step){(uint8_t)alive_before, (uint8_t)running, (uint8_t)chosen, is_point};
    if (chosen != running) {
        enter(chosen);
    }
}

static void let_go(uint32_t which)
{
    if (fibers[which].held_back != NULL) {
        *fibers[which].held_back = fibers[which].value;
        fibers[which].held_back = NULL;
    }
}

void bh__sim_hold_back(uint64_t *p, uint64_t value)
{
    fibers[running].held_back = p;
    fibers[running].value = value;
    if (running == NOBODY) {
        let_go(running);
    }
}

void bh__sim_let_go(void)
{
    let_go(running);
}

void fibers_barrier(void)
{
    for (uint32_t f = 0; f <= FIBERS_ALL; f++) {
        let_go(f);
    }
}

void bh__sim_point(void)
{
    uint32_t step = steps;

    if (running == NOBODY) {
        return;
    }
    steps = step + 1;
    if (step < next) {
        trace[step] = (fibers_step){(uint8_t)alive, (uint8_t)running, (uint8_t)running, true};
        return;
    }
    decide(step, alive, true);
}

void fibers_yield(void)
{
    if (running != NOBODY) {
        decide(steps++, alive, false);
    }
}

void fibers_help(uint32_t count, void (*task)(void *argument, uint64_t index), void *argument)
{
    uint32_t helpers = 0;
    uint32_t next_task = 0;

    // The last task is the caller's, and so are those for which no helper is free.
    for (uint32_t f = FIBERS_MOST; f < FIBERS_ALL && next_task + 1 < count; f++) {
        if (running != NOBODY && (alive >> f & 1) == 0) {
            fibers[f].task = task;
            fibers[f].argument = argument;
            fibers[f].index = next_task++;
            helpers |= 1u << f;
        }
    }
    alive |= helpers;
    for (; next_task < count; next_task++) {
        task(argument, next_task);
    }
    // One that has ended may help someone else by now: waiting for that too does no harm.
    while ((alive & helpers) != 0) {
        fibers_yield();
    }
}

/* What a fiber does: the body of one run after the other, or a helper its tasks. */
static void live(int which)
{
    const uint32_t self = (uint32_t)which;

#if TEST_ADDRESS_SANITIZER
    const void *left_stack;
    size_t left_bytes;
    __sanitizer_finish_switch_fiber(NULL, &left_stack, &left_bytes);
    if (fibers[NOBODY].stack == NULL) {
        // The first fiber of all is entered from the test, whose stack is known from here on.
        fibers[NOBODY].stack = left_stack;
        fibers[NOBODY].stack_bytes = left_bytes;
    }
#endif
    for (;;) {
        uint32_t alive_before;
        if (self < FIBERS_MOST) {
            run_body(run_argument, self);
        } else {
            fibers[self].task(fibers[self].argument, fibers[self].index);
        }
        alive_before = alive;
        alive &= ~(1u << self);
        decide(steps++, alive_before, false);
    }
}

/* A fiber that was stuck may have been inside. */
static void make_presences(void)
{
    for (uint32_t f = 0; f < FIBERS_MOST; f++) {
        if (fibers[f].presence == NULL) {
            fibers[f].presence = bh__presence_take();
        }
        fibers[f].presence->inside = 0;
    }
    for (uint32_t f = FIBERS_MOST; f <= FIBERS_ALL; f++) {
        fibers[f].presence = &counted;
    }
}

static void make_fibers(void)
{
    make_presences();
    for (uint32_t f = 0; f < FIBERS_ALL; f++) {
        fibers[f].stack = stacks[f];
        fibers[f].stack_bytes = STACK_BYTES;
        fibers[f].is_new = true;
        (void)getcontext(&fibers[f].start);
        fibers[f].start.uc_stack.ss_sp = stacks[f];
        fibers[f].start.uc_stack.ss_size = STACK_BYTES;
        fibers[f].start.uc_link = NULL;
        fibers[f].held_back = NULL;
        makecontext(&fibers[f].start, (void (*)(void))live, 1, (int)f);
    }
}

static void make_fibers_once(void)
{
    if (!fibers_are_made) {
        make_fibers();
        fibers_are_made = true;
    }
}

bh__presence *fibers_presence(uint32_t which)
{
    make_fibers_once();
    return fibers[which].presence;
}

static bool run(uint32_t count, void (*body)(void *, uint32_t), void *argument, uint32_t first)
{
    make_fibers_once();
    run_body = body;
    run_argument = argument;
    alive = (1u << count) - 1;
    stuck = false;
    entry = 0;
    steps = 0;
    taken.count = 0;
    taken.first = first;
    find_next();
    enter(first);
    if (stuck) {
        make_fibers();
    }
    return !stuck;
}

bool fibers_run(uint32_t count, void (*body)(void *, uint32_t), void *argument,
                const fibers_schedule *as_planned)
{
    schedule = as_planned;
    has_priorities = false;
    return run(count, body, argument, as_planned->first % count);
}

bool fibers_run_priorities(uint32_t count, void (*body)(void *, uint32_t), void *argument,
                           const fibers_priorities *priorities)
{
    by_priority = *priorities;
    has_priorities = true;
    alive = (1u << count) - 1; // for highest()
    return run(count, body, argument, highest());
}

uint32_t fibers_steps(void)
{
    return steps;
}

const fibers_step *fibers_trace(void)
{
    return trace;
}

const fibers_schedule *fibers_taken(void)
{
    return &taken;
}
