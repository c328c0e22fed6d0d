/*
 * Where a slice's answers go. They are written nearly one behind the other, but a processor
 * that has as many lines on their way as it can have, as lookups see to, no longer brings what
 * comes next in an array by itself: each line that answers go to had to be waited for. So who writes
 * an answer asks for the line some answers further on. It took 16% off a lookup that finds values
 * (docs/decisions/0006).
 */
#ifndef BH_TABLES_ANSWER_H
#define BH_TABLES_ANSWER_H

#include "targets/target.h"

#include "tables/table.h"

/* By measurement; 64 and 128 are a little slower. */
#define BH_ANSWERS_AHEAD 256u

/* `answer` is the one of element `at`, `bytes` wide. Behind the slice's last element lies what may
 * be another thread's. */
BH_FN void bh_answer_ahead(const bh__slice *slice, const void *answer, uint32_t bytes, uint32_t at)
{
    if (at + BH_ANSWERS_AHEAD < slice->count)
        bh_bring_answer((const unsigned char *)answer + (uint64_t)BH_ANSWERS_AHEAD * bytes);
}

#endif
