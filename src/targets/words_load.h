/* The load of a line as eight words. */
#ifndef BH_TARGETS_WORDS_LOAD_H
#define BH_TARGETS_WORDS_LOAD_H

#include "targets/words.h"

/* 8-byte loads read what 4-byte stores wrote: C11 does not allow that, but it works on every processor
 * with coherent caches. Order: each load acquires, so a later load of the sequence number stays behind
 * all of them. */
BH_FN bh_line bh_line_load(const void *p)
{
    const uint64_t *from = (const uint64_t *)p;
    bh_line line;
    int i;

    for (i = 0; i < 8; i++)
        line.word[i] = bh_load64(from + i);
    return line;
}

#include "targets/keys_of_line.h"

#endif
