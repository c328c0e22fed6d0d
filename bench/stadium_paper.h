/*
 * What the experiments of the Stadium hashing paper share (Khorasani, Belviranli, Gupta, Bhuyan, "Stadium
 * hashing: scalable and flexible hashing on GPUs", 2015): how many pairs they are of, and tables of the
 * paper's kind. stadium_paper.c has figures 14 to 19, stadium_switch.c figure 13, stadium_lanes.c
 * table I.
 */
#ifndef BH_BENCH_STADIUM_PAPER_H
#define BH_BENCH_STADIUM_PAPER_H

#include "on_gpu.h"

#include "bulkhash/experimental.h"

/* One side of a comparison: a table of Stadium hashing or the cuckoo table of cuckoo.h. */
typedef struct setting {
    const char *name;
    uint32_t ticket_bits; /* 0: the cuckoo table */
    bh_probe probe;
    bh_gpu_schedule schedule; /* other than the default: for a GPU, and a library that has it */
    int stops;                /* lookups of the cuckoo table stop at an empty place */
} setting;

/* As many as --keys says; else 2^21 on cores and 2^24 on a GPU. At least 256, which slices need. */
uint64_t stadium_pairs(const bench *b);

/* A table for n pairs, on a GPU with its slots in the host's memory if `far`. Answers 0 when it cannot be had. */
int stadium_table_of(const bench *b, const setting *s, uint64_t n, double fill, int far,
                     bh_table **table);

/* What all results of these experiments have in common. */
result stadium_result(const bench *b, const char *experiment, const char *op);

#endif
