/*
 * Copying the pairs out of arrays of buckets: the argument of the pass that designs with such arrays have for
 * it, and the loop around that pass.
 *
 * The buckets of an array are cut into *parts*. Each part counts its pairs, takes as many places of the
 * output by one addition, and copies. Parts are small, so that the copying finds their buckets in the core's
 * own cache. (On a GPU they are tiny, because a GPU needs many threads.) The order of the parts is left to
 * chance, so with several parts none knows where the output ends. Therefore either the output holds all of
 * them, or one part runs alone and says where it stopped.
 */
#ifndef BH_TABLES_COPY_OUT_H
#define BH_TABLES_COPY_OUT_H

#include "tables/table.h"

/* The argument of the pass; an item is a part. */
typedef struct bh__export {
    const void *geometry;
    uint64_t lines;      /* address of the array's first bucket */
    uint64_t first;      /* the bucket that part 0 begins with */
    uint32_t first_slot; /* of that bucket; earlier slots are left out */
    uint32_t stop_slot;
    uint64_t end;
    uint64_t part; /* buckets of a part */
    void *keys;
    void *values; /* NULL: keys only */
    uint64_t room;
    uint64_t taken; /* places, by all parts; more than `room` where the output is too small */
    uint64_t stop;  /* the part that found no room sets where it stopped: bucket, and stop_slot */
} bh__export;

/* An array of buckets, and the pass that exports it. */
typedef struct bh__buckets {
    uint64_t lines; /* its address */
    uint64_t count;
    uint64_t before; /* buckets that a position counts before this array's */
    uint32_t slots;  /* of a bucket */
    uint32_t places; /* a position is so many times the number of a bucket, plus a slot */
    uint32_t pass;
} bh__buckets;

/* Where exported pairs go. */
typedef struct bh__exported {
    void *keys;
    void *values; /* NULL: keys only */
    uint64_t room;
    uint64_t copied;
} bh__exported;

/* Copies the pairs of an array from position *at on, and moves *at behind them. Answers 0 when a device
 * refused. */
int bh__export_buckets(bh_table *table, const bh__buckets *array, uint64_t *at, bh__exported *out);

#ifdef BH_FN

/* The buckets of a part: from *begin on, and before the bucket answered. */
BH_FN uint64_t bh_export_part(const bh__export *job, uint64_t part, uint64_t *begin)
{
    *begin = job->first + part * job->part;
    return job->end - *begin < job->part ? job->end : *begin + job->part;
}

/* Of the slots in use of a bucket, those that are to be exported. */
BH_FN uint32_t bh_export_used(const bh__export *job, uint64_t bucket, uint32_t used)
{
    return bucket == job->first ? used >> job->first_slot << job->first_slot : used;
}

#endif

#endif
