/*
 * The lines target: the scalar words, and a count of the lines that operations ask
 * memory for, so that it can be compared with what theory says. A step works on
 * one line, which was prefetched for it, so prefetches are the place to count.
 *
 * The library bulkhash_lines is built for tests and for the program bulkhash-bench-lines.
 */
#ifndef BH_TARGETS_LINES_H
#define BH_TARGETS_LINES_H

#include "targets/words_load.h"

#define BH_TARGET_NAME "lines"

/* Lines asked for so far, by all threads. Defined by the program that links the build; it reads and
 * resets it while no call runs. */
extern uint64_t bh__lines_asked;

/* Of these, how many were in a range of addresses, which that program sets. */
extern uint64_t bh__lines_inside, bh__lines_range[2];

BH_FN void bh_bring(const void *p)
{
    const uint64_t at = (uint64_t)(uintptr_t)p;

    bh__atomic_add(&bh__lines_asked, 1, __ATOMIC_RELAXED);
    if (at >= bh__lines_range[0] && at < bh__lines_range[1])
        bh__atomic_add(&bh__lines_inside, 1, __ATOMIC_RELAXED);
}

BH_FN void bh_bring_to_write(const void *p)
{
    bh_bring(p);
}

BH_FN void bh_bring_far(const void *p)
{
    bh_bring(p);
}

/* Not counted: the line was counted before. */
BH_FN void bh_own(const void *p)
{
    (void)p;
}

/* Not counted, nor those of keys: the line is not of the table. */
BH_FN void bh_bring_answer(const void *p)
{
    (void)p;
}

BH_FN void bh_bring_keys(const void *p)
{
    (void)p;
}

#endif
