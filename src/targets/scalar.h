/*
 * The scalar target: plain C, no vector instructions. It is the reference that
 * all others must agree with, and the one that ThreadSanitizer runs, because its
 * line load consists of atomic loads.
 */
#ifndef BH_TARGETS_SCALAR_H
#define BH_TARGETS_SCALAR_H

/* The tests' fake module for GPUs (tests/fake) runs the text of this target. */
#define BH_BLANKS 1
#define BH_RUNS_ALIKE 1

#include "targets/prefetch.h"
#include "targets/words_load.h"

#define BH_TARGET_NAME "scalar"

#endif
