/*
 * The sim target: the scalar words in a build whose shared accesses are points at
 * which a test may let another thread run (base/atomic.h), each of a line's eight
 * words on its own. A hint changes nothing that another thread can see, so here it
 * does nothing.
 *
 * It is part of no program: the library bulkhash_sim is built for the tests alone.
 */
#ifndef BH_TARGETS_SIM_H
#define BH_TARGETS_SIM_H

#include "targets/words.h"

#define BH_TARGET_NAME "sim"

BH_FN void bh_bring(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_to_write(const void *p)
{
    (void)p;
}

#endif
