/* The library's own system functions; what they promise stands in bulkhash.h, chapter 8. */
#ifndef BH_BASE_SYSTEM_H
#define BH_BASE_SYSTEM_H

#include "bulkhash/bulkhash.h"

#define BH__PAGE_SMALL 4096ull
#define BH__PAGE_HUGE (2ull << 20)

/* The memory of the machine, or as much of it as this process may have; 0: the system does not say. */
uint64_t bh__machine_bytes(void);

/* Prepares for bh__at_thread_end, and has forked() called in each child process, in its only thread. Both functions
 * must be the same in all calls. Answers 0, or anything else where the system refuses. */
int bh__thread_ends_prepare(void (*ends)(void *argument), void (*forked)(void));

/* Has ends(argument) called in the calling thread when it ends. Answers as bh__thread_ends_prepare. */
int bh__at_thread_end(void *argument);

#endif
