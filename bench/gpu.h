/*
 * What the benchmark asks of a GPU itself: memory, copies, events, and the limits.
 *
 * Everything else of an experiment on a GPU is plain C on this table of functions (on_gpu.c). There are
 * three such tables, of which a program has one: gpu.cu's, which speaks to the CUDA runtime; no_gpu.c's,
 * NULL, where there is no nvcc; and that of tests/fake/gpu.c, whose GPU is made of host memory.
 *
 * Functions that answer an int answer 0, or an error's number, which `message` translates to words. Work
 * runs in the order of one stream; functions wait only where their comments say so.
 */
#ifndef BH_BENCH_GPU_H
#define BH_BENCH_GPU_H

#include <stdint.h>

#include "one_slot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpu gpu;

/* The limits: random accesses to memory; the place of each follows from its number by a multiplication
 * and a shift. Additions are 64-bit atomics without a result. From GPU_FAR on the memory is pinned memory of the
 * host, which kernels read and write in place, over the bus ("zero-copy"). */
typedef enum gpu_access {
    GPU_READ_64,
    GPU_READ_32,
    GPU_ADD_64,
    GPU_FAR_READ_32,
    GPU_FAR_WRITE_8,
    GPU_FAR_WRITE_16,
    GPU_ACCESSES
} gpu_access;

#define GPU_FAR GPU_FAR_READ_32

/* Copies between the device and pinned host memory, one in each direction. */
typedef struct gpu_exchange {
    void *in; /* on the device */
    const void *in_from;
    uint64_t in_bytes;
    void *out; /* on the host */
    const void *out_from;
    uint64_t out_bytes;
} gpu_exchange;

/* Of n elements of an array, each of 4 or 8 bytes, those are counted that are not `factor` times the
 * element of `expected` in the same place; or, where `expected` is NULL, not `factor` itself. */
typedef struct gpu_comparison {
    const void *array;
    const void *expected;
    uint64_t factor;
    uint64_t n;
    uint32_t bytes;
} gpu_comparison;

typedef struct gpu_functions {
    const char *(*message)(int error);
    int (*open)(int device, gpu **made);
    void (*close)(gpu *g);
    const char *(*name)(const gpu *g);
    void *(*stream)(const gpu *g); /* for bh_context_options.cuda_stream */
    int (*allocate)(gpu *g, uint64_t bytes, void **memory);
    int (*release)(gpu *g, void *memory);
    int (*allocate_pinned)(gpu *g, uint64_t bytes, void **memory);
    int (*release_pinned)(gpu *g, void *memory);
    int (*fill)(gpu *g, void *memory, uint8_t byte, uint64_t bytes);
    /* From anywhere to anywhere. */
    int (*copy)(gpu *g, void *to, const void *from, uint64_t bytes);
    int (*wait)(gpu *g);
    /* The seconds between two events of the stream. Both wait. */
    int (*begin)(gpu *g);
    int (*end)(gpu *g, double *seconds);
    /* Million accesses in a second to memory on the device or, from GPU_FAR on, to pinned memory; zeroed
     * before the first time. There are several ways to go about each (loads in flight per thread,
     * threads per line); the limit is what the best of them does. */
    uint32_t ways[GPU_ACCESSES];
    int (*access)(gpu *g, gpu_access access, uint32_t way, void *memory, uint64_t bytes,
                  double *rate);
    /* Both directions at once. Waits. */
    int (*exchange)(gpu *g, const gpu_exchange *e);
    /* Memory of the device that nobody has allocated. */
    int (*unused)(gpu *g, uint64_t *bytes);
    /* Compares arrays on the device. Waits. */
    int (*differing)(gpu *g, const gpu_comparison *c, uint64_t *count);
    /* Runs a call on a cuckoo table. All arrays, and the slots, are on the device or in pinned memory of
     * the host. Does not wait. */
    int (*one_slot)(gpu *g, const one_slot_call *c);
} gpu_functions;

/* NULL: this program was built without. */
extern const gpu_functions *const gpu_there;

#ifdef __cplusplus
}
#endif

#endif
