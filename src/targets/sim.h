/*
 * The sim target: the scalar words in a build whose shared accesses are points at
 * which a test may let another thread run (base/atomic.h). A hint changes nothing
 * that another thread can see, so here it does nothing.
 *
 * It is part of no program: the library bulkhash_sim is built for the tests alone,
 * with buckets of at most two slots, whose keys lie in the line's words 1 and 2.
 * No step compares the other words, so they are not loaded: points before their
 * loads would multiply the schedules to be explored by four and find nothing.
 */
#ifndef BH_TARGETS_SIM_H
#define BH_TARGETS_SIM_H

#define BH_RUNS_ALIKE 1

#include "targets/words.h"

#define BH_TARGET_NAME "sim"

BH_FN bh_line bh_line_load(const void *p)
{
    const uint64_t *from = (const uint64_t *)p;
    bh_line line = {{0}};

    line.word[1] = bh_load64(from + 1);
    line.word[2] = bh_load64(from + 2);
    return line;
}

#include "targets/keys_of_line.h"

BH_FN void bh_bring(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_to_write(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_far(const void *p)
{
    (void)p;
}

BH_FN void bh_own(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_answer(const void *p)
{
    (void)p;
}

#endif
