/*
 * Hints to memory, for the targets that run programs: the compilers' prefetch.
 *
 * A line that will be read comes to the second-level cache. A core can have but few lines on their way to the
 * first one, and more on their way to the second (docs/decisions/0019); out of that the read itself takes it in
 * time. A line that will be written comes to the first: no prefetch takes it from other cores and leaves it in
 * the second. So where many lines are to be changed they are asked for twice, by bh_bring and later by bh_own.
 */
#ifndef BH_TARGETS_PREFETCH_H
#define BH_TARGETS_PREFETCH_H

#include "targets/host.h"

BH_FN void bh_bring(const void *p)
{
    __builtin_prefetch(p, 0, 2);
}

BH_FN void bh_bring_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

BH_FN void bh_own(const void *p)
{
    bh_bring_to_write(p);
}

BH_FN void bh_bring_answer(const void *p)
{
    bh_bring_to_write(p);
}

#endif
