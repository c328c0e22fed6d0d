/*
 * bulkhash/experimental.h: options for experiments.
 *
 * The library chooses how it does its work. These options make it choose otherwise, so that the ways can
 * be compared; a program that wants to be fast leaves them alone. Any version may change them or drop
 * them, while what bulkhash.h declares stays.
 *
 *     bh_experimental_options experimental;
 *
 *     bh_experimental_options_init(&experimental);
 *     experimental.spread = BH_SPREAD_THEOREM1;
 *     options.experimental = &experimental;                // of bh_table_options
 *     bh_table_create(context, &options, &table);          // copies it
 */
#ifndef BULKHASH_EXPERIMENTAL_H
#define BULKHASH_EXPERIMENTAL_H

#include "bulkhash/bulkhash.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where BH_DYCUCKOO puts new keys. */
typedef enum bh_spread {
    BH_SPREAD_HOME_FIRST = 0, /* into their first bucket as long as it has room */
    /* Into one of their two buckets at random, so that a subtable of n slots tends to hold keys in
     * proportion to the root of n, as theorem 1 of the paper asks. Then most lookups cost two lines,
     * and small subtables overflow. */
    BH_SPREAD_THEOREM1 = 1
} bh_spread;

/* Where BH_DYCUCKOO keeps the values of a bucket's keys. */
typedef enum bh_value_place {
    BH_VALUES_DEFAULT = 0, /* pairs of 8+8 bytes: apart; all others: beside */
    /* The keys of a bucket fill a line, and their values the next one, or two. A missing key costs one
     * line, one that is found two. Not with value_bytes 0. */
    BH_VALUES_APART = 1,
    BH_VALUES_BESIDE = 2 /* in the line of their keys */
} bh_value_place;

/* How a batch is distributed over the threads of a GPU, instead of by what bh_table_options.schedule
 * says. For BH_DYCUCKOO and BH_DACHASH with keys and values of 4 bytes, side by side, in a library that was
 * built with BULKHASH_COMPARED=ON: see docs/gpu.md. */
typedef enum bh_gpu_schedule {
    BH_GPU_SCHEDULE_DEFAULT = 0,
    BH_GPU_SCHEDULE_THREAD = 1, /* a thread carries an element to its end */
    BH_GPU_SCHEDULE_TILE4 = 2,  /* a tile of 4 threads does; of 8, 16, 32 */
    BH_GPU_SCHEDULE_TILE8 = 3,
    BH_GPU_SCHEDULE_TILE16 = 4,
    BH_GPU_SCHEDULE_TILE32 = 5,
    BH_GPU_SCHEDULE_LANES =
        6, /* a warp parks unfinished elements and continues them 32 at a time */
    /* A tile of 4 threads takes 4 elements, one after the other. When another tile holds the lock that
     * one of them needs, the tile goes on with the next one, and comes back to that one later. Of 8 ... */
    BH_GPU_SCHEDULE_VOTER4 = 7,
    BH_GPU_SCHEDULE_VOTER8 = 8,
    BH_GPU_SCHEDULE_VOTER16 = 9,
    BH_GPU_SCHEDULE_VOTER32 = 10
} bh_gpu_schedule;

/* Zero is the default of every field but struct_size. */
typedef struct bh_experimental_options {
    uint64_t struct_size;
    bh_gpu_schedule gpu_schedule; /* with bh_table_options.schedule at BH_SCHEDULE_AUTO */
    bh_spread spread;             /* BH_DYCUCKOO */
    bh_value_place
        values; /* BH_DYCUCKOO; on a GPU with BH_SCHEDULE_REGIONS only where they are by default */
    /* BH_SCHEDULE_REGIONS on cores, and on a GPU where elements are sorted for it (BH_DACHASH, BH_STADIUM but for most
     * insertions): into how many regions of the same size the
     * table is divided: a power of two, 2 to 65,536; on cores 4,096 at most are made. 0: 2,048 on cores,
     * and on a GPU regions of 256 KiB. (DACHash's paper gives the number of buckets that are combined in
     * one: 256.) */
    uint32_t regions;
} bh_experimental_options;

/* Sets every option to its default. `options` not NULL. Thread-safe. */
BH_API void bh_experimental_options_init_sized(bh_experimental_options *options,
                                               uint64_t struct_size);
#define bh_experimental_options_init(options)                                                      \
    bh_experimental_options_init_sized((options), sizeof *(options))

#ifdef __cplusplus
}
#endif

#endif
