/*
 * The data-parallel primitives: what phased designs (HashFight) and ordered batches are
 * built from. One interface; the CPU's functions are in this folder, compiled once for each
 * instruction set, and a GPU's (cuda/device/primitives.cu) stand behind the same names.
 *
 * All work on *columns*: arrays of words of 4 or 8 bytes. A pair is a row of two columns,
 * keys and payloads. Where a width is a parameter it is 4 or 8; a payload may have width 0
 * (there is none) and its array is NULL then. Arrays are aligned to their width. Positions
 * and counts are 64-bit.
 *
 * Map has no function here: mapping a function over items is what a pass is (bh__run() in
 * base/run.h for an array, a policy's named passes for a table).
 *
 * What holds for all: synchronous; arrays lie in the memory of the device that runs them and
 * belong to the caller; many threads may call them at once on different arrays; n = 0 is
 * allowed whatever the pointers are; outputs must not overlap other arrays unless the function's
 * comment allows it.
 * Functions that answer int answer 1, or 0 when the system gave no memory for the counts they
 * need (never more than 4 MiB and 1/16 of a byte per element; a sort 2 MiB for each thread of the
 * executor, its part of the cache): then nothing was written. On a GPU they need more, at most as
 * much as their inputs and outputs together, and reduce_by_key may have written to its outputs.
 * Numbers that are answered (a count, a sum) are always in host memory; when the device fails they are
 * 0, functions that answer int answer 0, and the backend reports the failure from then on (`alive`).
 */
#ifndef BH_PRIMITIVES_PRIMITIVES_H
#define BH_PRIMITIVES_PRIMITIVES_H

#include "bulkhash/bulkhash.h"

/* Where a primitive runs. */
typedef struct bh__where {
    const bh_system *system;
    const bh_executor *executor;
    void *device; /* NULL, or what a device's primitives run on: a backend's `device` */
} bh__where;

/* Parts that a partition on cores may have, at most. */
#define BH__PARTS_MOST 4096u

/*
 * How partition finds the part of a row: from bits of its key; from the key's hash, where part p of P is
 * what bh_hash_range(hash.one, P) answers; or from bits of a number that the caller has for each row.
 */
typedef struct bh__parts {
    uint32_t parts;             /* 1 to parts_most of the primitives; by bits: a power of two */
    uint32_t shift;             /* by bits: part = key >> shift & (parts - 1) */
    const struct bh_seed *seed; /* NULL: by bits; else by the hash with this seed */
    const uint32_t *numbers;    /* NULL, or the caller's numbers, which take the keys' place */
} bh__parts;

/*
 * A partition in two steps, because the caller says where each part goes when it knows how
 * large they are:
 *
 *     count    how many keys each part has, and, kept for the second step, how many each task
 *              finds in its share of the input
 *     scatter  every task writes its rows, part by part, behind those of the tasks before it
 *
 * Rows of a part keep the order of the input (stable). The scatter collects a line of each
 * part in the cache and writes whole lines past it, where the output is large.
 */
typedef struct bh__partition {
    bh__parts how;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    const void *keys;
    const void *payloads; /* NULL with payload_bytes not 0: the row's index in the input */
    uint64_t n;
    uint64_t *counts; /* [parts], the caller's; set by count: rows of each part */
    /* Set by the caller after count: for each part the address of its first key and of its first
     * payload in the output. (payloads_at is NULL when payload_bytes is 0.) */
    const uint64_t *keys_at;
    const uint64_t *payloads_at;
    /* The primitive's own, from partition_count to partition_end. */
    void *tasks;
    uint64_t task_bytes;
    uint64_t task_count;
    uint64_t rows_per_task;
} bh__partition;

/* Sorting: rows into ascending order of keys as unsigned numbers, stably. */
typedef struct bh__sort {
    uint32_t key_bytes;
    uint32_t key_bits; /* keys are below 2^key_bits, which may save work; 0: any keys */
    uint32_t payload_bytes;
    const void *keys;
    const void *payloads; /* NULL with payload_bytes not 0: the row's index in the input */
    uint64_t n;
    void *keys_out; /* may be `keys` itself; so payloads_out and `payloads` */
    void *payloads_out;
    void *keys_spare; /* scratch memory as large as the output */
    void *payloads_spare;
} bh__sort;

typedef struct bh__primitives {
    /* All rows of `values` (4 or 8 bytes) combined by `op`: BH_ADD (in 64 bits, wrapping), BH_MIN,
     * BH_MAX (unsigned). Of no rows: 0, all bits set, 0. Cost: one read. */
    uint64_t (*reduce)(const bh__where *where, bh_op op, const void *values, uint32_t value_bytes,
                       uint64_t n);

    /* Exclusive sum: sums[i] = start + values[0] + ... + values[i-1], in 64 bits, wrapping. Values
     * have 1, 4 or 8 bytes, sums have 8; where values have 8, both may be the same array. *total
     * (may be NULL) receives the sum of all and start. Cost: two reads, one write. */
    int (*scan)(const bh__where *where, const void *values, uint32_t value_bytes, uint64_t n,
                uint64_t start, uint64_t *sums, uint64_t *total);

    /* Copy-if: the rows whose flag (a byte) is not 0, in their order; *kept receives how many.
     * `values` NULL: their indexes instead. The output has room for all that are kept. Cost: two
     * reads of the flags. */
    int (*compact)(const bh__where *where, const uint8_t *flags, const void *values,
                   uint32_t value_bytes, uint64_t n, void *out, uint64_t *kept);

    /* gather: out[i] = values[indexes[i]]. scatter: out[indexes[i]] = values[i], where any one of equal
     * indexes wins. Widths of values 1, 4 or 8; of indexes 4 or 8. Cost: a random line per row. */
    void (*gather)(const bh__where *where, const void *values, uint32_t value_bytes,
                   const void *indexes, uint32_t index_bytes, uint64_t n, void *out);
    void (*scatter)(const bh__where *where, const void *values, uint32_t value_bytes,
                    const void *indexes, uint32_t index_bytes, uint64_t n, void *out);

    /* See bh__partition. After a partition_count that answered 1, partition_end must be called, whether or
     * not partition_scatter was. partition_scatter answers 0 where a GPU has refused it; then nothing has
     * been written. Cost: two reads of the keys, one read of the payloads, one write of both. */
    int (*partition_count)(const bh__where *where, bh__partition *partition);
    int (*partition_scatter)(const bh__where *where, bh__partition *partition);
    void (*partition_end)(const bh__where *where, bh__partition *partition);

    /* Cost: about four times a partition; digits that are alike in all keys cost nothing. */
    int (*sort_by_key)(const bh__where *where, const bh__sort *sort);

    /* One row for each run of equal keys (a run is equal keys that lie together, whether the keys are
     * sorted or not): the key, and its values combined by `op` in their own width. `op` is an operation of
     * bh_reduce, or BH_INSERT for the last value and BH_INSERT_NEW for the first. In which order floats are
     * added is not specified. `starts` (may be NULL) receives the index of each run's first row, 8 bytes.
     * values and values_out may be NULL together. *runs receives how many runs there are. The outputs have
     * room for all runs. */
    int (*reduce_by_key)(const bh__where *where, bh_op op, const void *keys, uint32_t key_bytes,
                         const void *values, uint32_t value_bytes, uint64_t n, void *keys_out,
                         void *values_out, uint64_t *starts, uint64_t *runs);

    /* positions[i] = how many of the n sorted keys are smaller than wanted[i]. Many searches run at a time,
     * so that their cache misses overlap. */
    void (*lower_bound)(const bh__where *where, const void *keys, uint32_t key_bytes, uint64_t n,
                        const void *wanted, uint64_t count, uint64_t *positions);

    /* Parts that a partition may have. */
    uint32_t parts_most;
} bh__primitives;

#endif
