/*
 * The sim target: the scalar words in a build whose shared accesses are points at
 * which a test may let another thread run (base/atomic.h). A hint changes nothing
 * that another thread can see, so here it does nothing.
 *
 * It is part of no program: the library bulkhash_sim is built for the tests alone,
 * with buckets of at most two slots, whose keys lie in the line's words 1 and 2.
 * No step compares the other words, so they are not loaded: points before their
 * loads would multiply the schedules to be explored by four and find nothing. In a variant with whole
 * lines (BH_SIM_WHOLE_LINES) they are.
 */
#ifndef BH_TARGETS_SIM_H
#define BH_TARGETS_SIM_H

#define BH_RUNS_ALIKE 1
#ifndef BH_SIM_WHOLE_LINES
#define BH_SIM_WHOLE_LINES 0
#endif

#include "targets/words.h"

#define BH_TARGET_NAME "sim"

BH_FN bh_line bh_line_load(const void *p)
{
    const uint64_t *from = (const uint64_t *)p;
    const uint32_t first = BH_SIM_WHOLE_LINES ? 0 : 1, last = BH_SIM_WHOLE_LINES ? 7 : 2;
    bh_line line = {{0}};
    uint32_t i;

    for (i = first; i <= last; i++)
        line.word[i] = bh_load64(from + i);
    return line;
}

BH_FN bh_line bh_line_read(const void *p)
{
    const uint64_t *from = (const uint64_t *)p;
    bh_line line;
    uint32_t i;

    for (i = 0; i < 8; i++)
        line.word[i] = bh_read64(from + i);
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

BH_FN void bh_bring_keys(const void *p)
{
    (void)p;
}

#endif
