/*
 * Threads for tests: several host threads that start at the same moment and are waited for.
 */
#ifndef BULKHASH_TESTS_SUPPORT_THREADS_H
#define BULKHASH_TESTS_SUPPORT_THREADS_H

#include <stdint.h>

/* The most threads that threads_run() starts. */
#define THREADS_MOST 16

/* Runs run(argument, i) for i in [0, count), each in a thread of its own, lets them start together
 * and returns when all have returned. */
void threads_run(uint32_t count, void (*run)(void *argument, uint32_t index), void *argument);

#endif
