/*
 * Executors for tests, see executors.h. They may be entered by several threads at once, so all
 * that a run needs is its own, and what it counts is atomic.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "support/executors.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/threads.h"

typedef struct test_run {
    void (*task)(void *argument, uint64_t index);
    void *argument;
    uint64_t count;
    atomic_uint_fast64_t next;
} test_run;

static void *test_run_thread(void *argument)
{
    test_run *run = argument;
    for (;;) {
        uint64_t index = atomic_fetch_add(&run->next, 1);
        if (index >= run->count) {
            return NULL;
        }
        (void)sched_yield();
        run->task(run->argument, index);
    }
}

static void test_run_threads(uint32_t width, test_run *run)
{
    pthread_t threads[THREADS_MOST];
    uint32_t started = 0;
    uint32_t wanted = width < THREADS_MOST ? width : THREADS_MOST;

    while (started + 1 < wanted &&
           pthread_create(&threads[started], NULL, test_run_thread, run) == 0) {
        started++;
    }
    (void)test_run_thread(run); // the calling thread helps
    while (started > 0) {
        (void)pthread_join(threads[--started], NULL);
    }
}

static void test_run_shuffled(uint64_t seed, const test_run *run)
{
    uint64_t *order = test_allocate(run->count * sizeof *order);
    rng random = random_start(seed);

    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t j = random_below(&random, i + 1);
        order[i] = j < i ? order[j] : i; // inside-out shuffle: place i is new, place j makes room
        order[j] = i;
    }
    for (uint64_t i = 0; i < run->count; i++) {
        run->task(run->argument, order[i]);
    }
    free(order);
}

static void test_executor_run(void *state, void (*task)(void *argument, uint64_t index),
                              void *argument, uint64_t count)
{
    test_executor *self = state;
    uint64_t number = atomic_fetch_add(&self->runs, 1);
    test_run run;

    run.task = task;
    run.argument = argument;
    run.count = count;
    atomic_init(&run.next, 0);
    atomic_fetch_add(&self->tasks, count);
    switch (self->order) {
    case TEST_IN_TURN:
        for (uint64_t i = 0; i < count; i++) {
            task(argument, i);
        }
        break;
    case TEST_REVERSED:
        for (uint64_t i = count; i > 0; i--) {
            task(argument, i - 1);
        }
        break;
    case TEST_SHUFFLED: test_run_shuffled(self->seed + number, &run); break;
    case TEST_THREADS: test_run_threads(self->width, &run); break;
    case TEST_ONE_RUN:
        (void)pthread_mutex_lock(&self->one_run);
        for (uint64_t i = 0; i < count; i++) {
            task(argument, i);
        }
        (void)pthread_mutex_unlock(&self->one_run);
        break;
    }
}

static uint32_t test_executor_width(void *state)
{
    const test_executor *self = state;
    return self->width;
}

void test_executor_start(test_executor *self, test_order order, uint32_t width)
{
    check(width > 0, "an executor is at least 1 wide");
    self->order = order;
    self->width = width;
    self->seed = test_seed();
    self->one_run = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    atomic_init(&self->runs, 0);
    atomic_init(&self->tasks, 0);
    self->executor.state = self;
    self->executor.width = test_executor_width;
    self->executor.run = test_executor_run;
}
