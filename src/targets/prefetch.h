/* Hints to memory, for the targets that run programs: the compilers' prefetch. */
#ifndef BH_TARGETS_PREFETCH_H
#define BH_TARGETS_PREFETCH_H

#include "targets/host.h"

BH_FN void bh_bring(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

BH_FN void bh_bring_to_write(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}

BH_FN void bh_bring_answer(const void *p)
{
    bh_bring_to_write(p);
}

#endif
