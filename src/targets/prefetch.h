/*
 * Hints to memory, for the targets that run programs: the compilers' prefetch.
 *
 * bh_bring_far brings a line to the second-level cache. A core can have but few lines on their way to the first
 * one, and more on their way to the second (docs/decisions/0019). But a line of the second cache is brought to the
 * first one only by the other two. And no prefetch takes a line from other cores and leaves it in the second: so
 * what is to be written is asked for twice, by bh_bring_far and later by bh_bring_to_write.
 */
#ifndef BH_TARGETS_PREFETCH_H
#define BH_TARGETS_PREFETCH_H

#include "targets/host.h"

BH_FN void bh_bring(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

BH_FN void bh_bring_far(const void *p)
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

BH_FN void bh_bring_keys(const void *p)
{
    bh_bring(p);
}

#endif
