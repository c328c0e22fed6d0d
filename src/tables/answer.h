/*
 * Where a slice's answers go, and where its keys come from. Answers are written nearly in the order of
 * their addresses. But lookups keep as many cache lines on their way as a processor can have, and then it no longer prefetches the next lines
 * of an array by itself: each line of answers had to be waited for. So whoever writes an answer prefetches
 * the line some answers further on. It took 16% off a lookup that finds values (docs/decisions/0006).
 */
#ifndef BH_TABLES_ANSWER_H
#define BH_TABLES_ANSWER_H

#include "targets/target.h"

#include "tables/table.h"

/* By measurement; 64 and 128 are a little slower. */
#define BH_ANSWERS_AHEAD 256u

/* `answer` is the answer of element `at`, `bytes` wide. Nothing behind the slice's last element is
 * prefetched: another thread may be writing there. */
BH_FN void bh_answer_ahead(const bh__slice *slice, const void *answer, uint32_t bytes, uint32_t at)
{
    if (at + BH_ANSWERS_AHEAD < slice->count)
        bh_bring_answer((const unsigned char *)answer + (uint64_t)BH_ANSWERS_AHEAD * bytes);
}

/* Keys are read in the order of their addresses, and it is the same with them where a front does much between two groups of
 * keys (docs/decisions/0034). `left` keys are left from `keys` on. */
#define BH_KEYS_AHEAD 256u

BH_FN void bh_keys_ahead(const void *keys, uint32_t bytes, uint32_t left)
{
    if (left > BH_KEYS_AHEAD)
        bh_bring_keys((const unsigned char *)keys + (uint64_t)BH_KEYS_AHEAD * bytes);
}

#endif
