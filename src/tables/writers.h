/*
 * The words with which a slice changes what other writers may change, too. Where there are no others (BH_HINT_BIASED)
 * each is a load and a store, which cost an eighth of a locked instruction on the machine measured. Readers see the same in either way. `hints` are
 * those of the slice; of a pass, which runs in several tasks, 0.
 */
#ifndef BH_TABLES_WRITERS_H
#define BH_TABLES_WRITERS_H

#include "targets/target.h"

#include "tables/table.h"

/* As bh_swap_if64. */
BH_FN int bh_swap_in64(uint32_t hints, void *p, uint64_t expected, uint64_t desired)
{
    if (!BH_IS_BIASED(hints))
        return bh_swap_if64(p, expected, desired);
    if (bh_load64(p) != expected)
        return 0;
    bh_store64(p, desired);
    return 1;
}

/* As bh_take64, and as bh_release_add64. */
BH_FN uint64_t bh_take_in64(uint32_t hints, void *p, uint64_t value)
{
    uint64_t before;

    if (!BH_IS_BIASED(hints))
        return bh_take64(p, value);
    before = bh_load64(p);
    bh_store64(p, before + value);
    return before;
}

BH_FN void bh_release_add_in64(uint32_t hints, void *p, uint64_t value)
{
    if (BH_IS_BIASED(hints))
        bh_store64(p, bh_load64(p) + value);
    else
        bh_release_add64(p, value);
}

#endif
