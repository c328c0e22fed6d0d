/*
 * Cuckoo tables of one-pair slots (one_slot.h), made and called on cores or on a GPU as ours are: the same
 * arrays, the same clock. Pairs have 4+4 bytes.
 */
#ifndef BH_BENCH_CUCKOO_H
#define BH_BENCH_CUCKOO_H

#include "on_gpu.h"
#include "storage/block.h"

typedef struct cuckoo {
    uint64_t *slots;
    uint32_t slot_count;
    int pinned;      /* on a GPU: the slots lie in the host's memory and are read over the bus */
    uint8_t stops;   /* lookups stop at an empty place */
    bh__block block; /* on cores: the memory of the slots, huge pages as our tables have */
} cuckoo;

/* An empty table with keys / fill slots. Answers 0 where it cannot be had. */
int cuckoo_create(const bench *b, cuckoo *c, uint64_t keys, double fill, int pinned);
void cuckoo_destroy(const bench *b, cuckoo *c);

/* Seconds of a call: BH_INSERT of absent keys, BH_FIND, or GPU_APPLY of both, which runs the insertions and then
 * the lookups of each part. The call's table is not looked at. */
double cuckoo_timed(const bench *b, const cuckoo *c, const gpu_call *call);

#endif
