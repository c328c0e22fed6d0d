/*
 * What all primitives are written with: elements of columns, whose width is a number in the interface,
 * but a constant in each compiled instance; and shares, the pieces of an array that the tasks of an
 * executor get.
 *
 * A function whose name ends in _text is inlined into one instance per width, in which
 * bh_element() and bh_element_set() are one load and one store. Each task gets one share, which is one
 * stretch of the array, and there are a few shares for each thread. So tasks leave each other so few
 * numbers that these stand on the caller's stack, and what a task writes lies together.
 *
 * The files of this folder but primitives.h and hash.h are part of cpu/unit.c, which has included
 * its target: their functions are static, and compiled once for each instruction set.
 */
#ifndef BH_PRIMITIVES_COLUMNS_H
#define BH_PRIMITIVES_COLUMNS_H

#include <string.h>

#include "base/run.h"
#include "primitives/primitives.h"

/* Tasks of one call, at most: for each a few numbers stand on the caller's stack. */
#define BH_TASKS_MOST 256u

/* With fewer rows the calling thread is done sooner than another one wakes up. The first is for functions
 * that take nanoseconds a row, the second for those that only run along their arrays. */
#define BH_SHARE_LEAST 8192u
#define BH_SHARE_LEAST_ALONG 32768u

/* Shares for each thread: where a thread is held up by something else on its core, the others take over
 * some of its shares. */
#define BH_SHARES_EACH 4u

BH_FN uint64_t bh_element(const void *array, uint32_t bytes, uint64_t i)
{
    if (bytes == 1)
        return ((const uint8_t *)array)[i];
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

BH_FN void bh_element_set(void *array, uint32_t bytes, uint64_t i, uint64_t value)
{
    if (bytes == 1)
        ((uint8_t *)array)[i] = (uint8_t)value;
    else if (bytes == 4)
        ((uint32_t *)array)[i] = (uint32_t)value;
    else if (bytes == 8)
        ((uint64_t *)array)[i] = value;
}

/* The address of an element, of an array that may be NULL. */
BH_FN void *bh_element_at(void *array, uint32_t bytes, uint64_t i)
{
    return array ? (char *)array + i * bytes : array;
}

BH_FN const void *bh_element_of(const void *array, uint32_t bytes, uint64_t i)
{
    return array ? (const char *)array + i * bytes : array;
}

typedef struct bh_shares {
    uint64_t n;
    uint64_t rows; /* of one share; the last may have fewer */
    uint64_t tasks;
} bh_shares;

/* Cuts n rows into at most `most` shares, a few for each thread, none of fewer than `least` rows unless it is
 * the only one. They begin at multiples of 64 rows, so that a line of bytes belongs to one task. */
BH_FN bh_shares bh_shares_cut(const bh__where *where, uint64_t n, uint64_t least, uint64_t most)
{
    bh_shares s = {n, n, n != 0};
    uint64_t width;

    if (n < 2 * least)
        return s;
    width = where->executor->width(where->executor->state);
    s.tasks = n / least;
    if (width < 2)
        s.tasks = 1;
    else if (s.tasks / BH_SHARES_EACH >= width)
        s.tasks = width * BH_SHARES_EACH;
    if (s.tasks > most)
        s.tasks = most;
    if (s.tasks < 2) {
        s.tasks = 1;
        return s;
    }
    s.rows = (n / s.tasks + (n % s.tasks != 0) + 63) & ~(uint64_t)63;
    s.tasks = n / s.rows + (n % s.rows != 0);
    return s;
}

BH_FN uint64_t bh_share_first(const bh_shares *s, uint64_t task)
{
    return task * s->rows;
}

BH_FN uint64_t bh_share_end(const bh_shares *s, uint64_t task)
{
    return s->n - task * s->rows < s->rows ? s->n : (task + 1) * s->rows;
}

BH_FN void bh_tasks_run(const bh__where *where, void (*task)(void *argument, uint64_t index),
                        void *argument, uint64_t tasks)
{
    if (tasks == 1)
        task(argument, 0);
    else if (tasks)
        where->executor->run(where->executor->state, task, argument, tasks);
}

#endif
