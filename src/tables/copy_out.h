/*
 * Copying the pairs out of arrays of buckets: the argument of the pass that designs with such arrays have for
 * it, and the loop around that pass.
 *
 * The buckets of each array are cut into *parts*, which are numbered through all arrays. Each part counts its pairs,
 * takes as many places of the output by one addition, and copies (copy_parts.h). Parts are small, so that the copying
 * finds their buckets in the core's own cache. (On a GPU a block of threads copies a part, a bucket for each thread.)
 * The order of the parts is left to chance, so with several parts none knows where the output ends. Therefore either the
 * output holds all of them, or one part runs alone and says where it stopped.
 */
#ifndef BH_TABLES_COPY_OUT_H
#define BH_TABLES_COPY_OUT_H

#include "tables/table.h"

/* Buckets of a part, on cores and on a GPU. */
#define BH_EXPORT_PART 4096u
#define BH_EXPORT_PART_FAR 256u

/* A power of two. */
#define BH_EXPORT_ARRAYS_MOST 64u

/* An array of buckets: its address, or what the design takes for one. */
typedef struct bh__buckets {
    uint64_t lines;
    uint64_t count;
} bh__buckets;

/* The arrays of a table, and the pass that exports them. A position counts the buckets of all of them. */
typedef struct bh__arrays {
    bh__buckets array[BH_EXPORT_ARRAYS_MOST];
    uint32_t count;
    uint32_t slots;  /* of a bucket */
    uint32_t places; /* a position is so many times the number of a bucket, plus a slot */
    uint32_t pass;
    uint64_t pairs; /* in all of them, at most */
} bh__arrays;

/* The argument of the pass; an item is a part. */
typedef struct bh__export {
    const void *geometry;
    uint64_t part;       /* buckets of a part */
    uint64_t first;      /* the bucket of array 0 with which part 0 begins */
    uint32_t first_slot; /* of that bucket; earlier slots are left out */
    uint32_t arrays;
    void *keys;
    void *values; /* NULL: keys only */
    uint64_t room;
    uint64_t taken; /* places, by all parts; more than `room` where the output is too small */
    /* The part that found no room says where it stopped. */
    uint64_t stop;
    uint32_t stop_slot;
    uint32_t stop_array; /* `arrays`: none did */
    bh__buckets array[BH_EXPORT_ARRAYS_MOST];
    uint64_t parts[BH_EXPORT_ARRAYS_MOST]; /* of the arrays before */
} bh__export;

/* Where exported pairs go. */
typedef struct bh__exported {
    void *keys;
    void *values; /* NULL: keys only */
    uint64_t room;
    uint64_t copied;
} bh__exported;

/* Copies the pairs of arrays from position *at on, and moves *at behind them. Answers 0 when a device
 * refused; `need` says whether it may. */
int bh__export_buckets(bh_table *table, const bh__arrays *from, uint64_t *at, bh__exported *out,
                       bh__need need);

#ifdef BH_FN

/* One part: buckets `begin` to `end` - 1 of an array. */
typedef struct bh_export_part {
    const void *geometry;
    uint64_t lines;
    uint64_t begin;
    uint64_t end;
    uint32_t first_slot; /* of bucket `begin` */
    uint32_t array;
} bh_export_part;

BH_FN bh_export_part bh_export_part_of(const bh__export *job, uint64_t number)
{
    bh_export_part part;
    uint32_t step;

    part.array = 0;
    for (step = BH_EXPORT_ARRAYS_MOST / 2; step; step /= 2)
        if (part.array + step < job->arrays && job->parts[part.array + step] <= number)
            part.array += step;
    part.geometry = job->geometry;
    part.lines = job->array[part.array].lines;
    part.begin = (part.array ? 0 : job->first) + (number - job->parts[part.array]) * job->part;
    part.end = job->array[part.array].count;
    if (part.end - part.begin > job->part)
        part.end = part.begin + job->part;
    part.first_slot = number ? 0 : job->first_slot;
    return part;
}

/* Of the slots in use of a bucket, those that are to be exported. */
BH_FN uint32_t bh_export_used(const bh_export_part *part, uint64_t bucket, uint32_t used)
{
    return bucket == part->begin ? used >> part->first_slot << part->first_slot : used;
}

/* Says that there is no room for the pair in a slot, nor for those behind it. */
BH_FN void bh_export_stop(bh__export *job, const bh_export_part *part, uint64_t bucket,
                          uint32_t slot)
{
    job->stop = bucket;
    job->stop_slot = slot;
    job->stop_array = part->array;
}

#endif

#endif
