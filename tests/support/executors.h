/*
 * Executors for tests: other ways to run the library's tasks than its own pool. The library
 * promises that no task waits for another, so each of these must do; and each finds a different
 * kind of task that secretly relies on its neighbours.
 */
#ifndef BULKHASH_TESTS_SUPPORT_EXECUTORS_H
#define BULKHASH_TESTS_SUPPORT_EXECUTORS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <bulkhash/bulkhash.h>

typedef enum test_order {
    TEST_IN_TURN,  /* index 0 first, all on the calling thread */
    TEST_REVERSED, /* the last index first */
    TEST_SHUFFLED, /* some order, another one each time */
    TEST_THREADS,  /* on `width` threads made for this run, which yield before each task */
    TEST_ONE_RUN   /* one run after the other, as on a single thread that is not the caller's: a
                      task that waits for someone who is about to call run() never ends */
} test_order;

typedef struct test_executor {
    bh_executor executor; /* give its address to the context */
    test_order order;
    uint32_t width;
    uint64_t seed;
    pthread_mutex_t one_run;
    atomic_uint_fast64_t runs;  /* how often run() was called */
    atomic_uint_fast64_t tasks; /* how many tasks were run in all */
} test_executor;

/* `width`: what the executor says about itself, at least 1. It must stay where it is. */
void test_executor_start(test_executor *self, test_order order, uint32_t width);

#endif
