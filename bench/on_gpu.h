/*
 * What the experiments on a GPU share: arrays on both sides, calls between two measurements of a
 * limit, and the tables they are about.
 *
 * Arrays are made on the host and copied to the device, and answers are copied back and checked, all
 * outside the timed part. Calls whose arrays lie on the device are timed by events of the context's
 * stream; other calls, and calls so short that they take little more than the latency of a launch, by
 * the wall clock. Every call asks for outcomes, which are checked; those of the experiment peers alone do
 * not, because the peers have none, and what tables hold is looked up instead.
 *
 * The limit of a lookup is random reads of 64 bytes (GPU_READ_64), that of what changes the table
 * random additions (GPU_ADD_64), over memory as large as the table. A design that cannot do
 * something on a GPU says BH_ERR_UNSUPPORTED; the result then says that, and the experiment goes
 * on.
 *
 * Experiments that run on cores, too, are written with the same arrays and calls. On cores both sides of an
 * array are the same memory, nothing is copied, and all calls are timed by the wall clock.
 */
#ifndef BH_BENCH_ON_GPU_H
#define BH_BENCH_ON_GPU_H

#include "bench.h"
#include "gpu.h"

typedef struct on_gpu {
    gpu *gpu;
    void *memory[2]; /* for the limits, each as large as the table; NULL before gpu_limits_for() */
    uint64_t memory_bytes;
    void *far; /* pinned memory, for the limits from GPU_FAR on; NULL before gpu_far_limits_for() */
    uint64_t far_bytes;
    uint32_t way[GPU_ACCESSES]; /* the best */
} on_gpu;

/* Makes b->on_gpu and, on its stream, b->context; or ends the program with a sentence. */
void gpu_start(bench *b);
void gpu_stop(bench *b);

/* Ends the program unless the error is 0. */
void check_gpu(int error);

/* The numbers of pairs of the tables that an experiment makes: that of the settings and, if it is more, as
 * many as have GPU_CACHED_BYTES, whose table fits in the GPU's L2 cache. Answers how many sizes. */
#define GPU_CACHED_BYTES (UINT64_C(1) << 24)
uint32_t gpu_sizes(const bench *b, uint64_t sizes[2]);

/* --- arrays -------------------------------------------------------------------------------- */

/* An array twice: in pinned memory of the host, and on the device. On cores once: both are the same. */
typedef struct mirrored {
    void *host;
    void *device;
    uint64_t bytes;
} mirrored;

mirrored mirror(const bench *b, uint64_t n, uint64_t bytes);
/* The same, but answers 0, and makes nothing, where there is not the memory. */
int mirror_where_possible(const bench *b, uint64_t n, uint64_t bytes, mirrored *m);
void mirror_free(const bench *b, mirrored *m);
/* Both wait; on cores there is nothing to do. */
void to_device(const bench *b, const mirrored *m);
void to_host(const bench *b, const mirrored *m);

/* Makes all bytes 0, on both sides. */
void mirror_clear(const bench *b, const mirrored *m);

/* Fresh keys for a repetition, as many absent ones, and the values that go with the first; on both
 * sides. */
void fill_mirrors(const bench *b, const mirrored *keys, const mirrored *absent,
                  const mirrored *values, uint64_t n, uint32_t salt);

/* Pinned memory of the host, zeroed; for gpu_free_pinned(). */
void *gpu_pinned(const bench *b, uint64_t bytes);
void gpu_free_pinned(const bench *b, void *memory);

/* Ends the program unless `count` of the n outcomes on the host are `is`. */
void check_outcomes(const uint8_t *outcomes, uint64_t n, bh_outcome is, uint64_t count);

/* Checks what a lookup of the keys of fill_half() answered: values, and zeros as before for missing keys. */
void check_half(const bench *b, const void *values, const uint8_t *outcomes, const void *keys,
                uint64_t n);

/* --- limits -------------------------------------------------------------------------------- */

/* Has the limits measured over memory as large as this table. For each new size it finds the best way to
 * measure them, and prints a heading. */
void gpu_limits_for(bench *b, uint64_t table_bytes);

/* The same for the limits from GPU_FAR on, over as much pinned memory as the slots of a table have. */
void gpu_far_limits_for(bench *b, uint64_t slot_bytes);

/* Million accesses in a second, now. */
double gpu_limit(const bench *b, gpu_access access);
const char *gpu_limit_name(gpu_access access);

/* Seconds that copying so many bytes takes on the device, at most as many as the table has. */
double gpu_copying(const bench *b, uint64_t bytes);

/* --- tables and calls ---------------------------------------------------------------------- */

/* A table of the settings' design and widths. Answers 0 when that cannot be had. */
int gpu_table_of(const bench *b, uint64_t capacity, bh_table **table);

/* The same with a schedule, or one of those to compare. */
int gpu_scheduled_table_of(const bench *b, bh_schedule schedule, bh_gpu_schedule compared,
                           uint64_t capacity, bh_table **table);

/* The same with BH_DUPLICATES_ORDERED. */
int gpu_ordered_table_of(const bench *b, uint64_t capacity, bh_table **table);

/* One of any options. */
int gpu_table_with(const bench *b, const bh_table_options *options, bh_table **table);

/* The bar for 4+4-byte pairs of a design; 0 where the settings have other ones. */
double gpu_bar(const bench *b, bh_design design, double bar);

/* Notes that the design can do nothing of this. */
void gpu_unsupported(result *results, uint32_t count);

/* What a call does, where that is no bh_op (a bh_op is a byte). */
enum { GPU_APPLY = 256, GPU_EXPORT, GPU_CLEAR, GPU_SORT };

typedef struct gpu_call {
    int what; /* a bh_op, or one of these */
    bh_table *table;
    const void *keys; /* written by GPU_EXPORT and GPU_SORT */
    void *values;
    uint8_t *outcomes; /* NULL: none are asked for */
    const uint8_t *ops;
    uint64_t n;
    uint64_t part; /* keys of one call */
    int on_wall;   /* timed by the clock on the wall */
    uint32_t more; /* how often it is repeated: for short calls that change nothing, on a table that
                      the measurement of the limit has evicted from the cache */
} gpu_call;

/* Makes the call; *seconds is the mean over all repetitions. Answers 0 when the design cannot do it. */
int gpu_timed(const bench *b, const gpu_call *c, double *seconds);

/* The same between two measurements of a limit, entered into the result; *seconds may be NULL. */
int gpu_measured(const bench *b, result *r, const gpu_call *c, gpu_access by, double *seconds);

/* The call on both tables; each of its outcomes, of all keys, must be `is`. The result is about the first table
 * (gpu_measured()), and its figure is that table's rate divided by the other's. Answers 0 when the design
 * cannot do it. */
int gpu_compared(const bench *b, result *r, const couple *c, const gpu_call *call,
                 const mirrored *outcomes, bh_outcome is, gpu_access by);

#endif
