/*
 * The same work on several threads at once. Both halves of a count are such work: each thread reads
 * a batch of keys under a lock and adds it to the table without, or takes a part of the result and
 * turns it into lines. So while one thread reads or writes the others count, and no thread has a
 * job of its own that it could be left without.
 */
#ifndef BULKHASH_CLI_THREADS_H
#define BULKHASH_CLI_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* What a thread that works here needs of a stack: 64 KiB are the library's, the rest is far more than
 * this program and the C library take. */
enum { threads_stack_bytes = 512 << 10 };

/* Runs work(argument) on `threads` threads, the calling one included, and returns when all have
 * ended. Threads that the system refuses are done without: the work must be complete when one
 * thread has ended it. */
void threads_run(uint32_t threads, void (*work)(void *argument), void *argument);

/* Runs work(argument) in another thread and returns when it has ended; answers false, nothing done,
 * when the system refuses the thread. For a calling thread whose stack is too small. */
bool threads_run_elsewhere(void (*work)(void *argument), void *argument);

#endif
