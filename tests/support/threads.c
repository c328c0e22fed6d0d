/*
 * Threads for tests, see threads.h. The barrier is what makes short tests worth running: without
 * it the first thread would often be done before the last is started.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "support/threads.h"

#include <pthread.h>

#include "support/check.h"

typedef struct threads_one {
    pthread_barrier_t *start;
    void (*run)(void *argument, uint32_t index);
    void *argument;
    uint32_t index;
} threads_one;

static void *threads_enter(void *argument)
{
    const threads_one *one = argument;
    (void)pthread_barrier_wait(one->start);
    one->run(one->argument, one->index);
    return NULL;
}

void threads_run(uint32_t count, void (*run)(void *argument, uint32_t index), void *argument)
{
    pthread_t threads[THREADS_MOST];
    threads_one ones[THREADS_MOST];
    pthread_barrier_t start;

    check(count > 0 && count <= THREADS_MOST, "%u threads", count);
    check(pthread_barrier_init(&start, NULL, count) == 0, "no barrier for the test itself");
    for (uint32_t i = 0; i < count; i++) {
        ones[i] = (threads_one){&start, run, argument, i};
        check(pthread_create(&threads[i], NULL, threads_enter, &ones[i]) == 0,
              "no thread for the test itself");
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)pthread_barrier_destroy(&start);
}
