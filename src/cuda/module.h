/*
 * What the library asks of a GPU: the module.
 *
 * Device code, and everything that speaks to the CUDA runtime, is in a shared library of its own,
 * libbulkhash_cuda.so, which is looked for when a program asks for a context on "cuda" (find.c).
 * So the library itself needs no CUDA to be built, installed or run. What calls do on
 * a GPU (batch.c, backend.c) is plain C on this table of functions; a test puts another module in
 * its place, whose GPU is made of host memory that the host may not touch.
 *
 * Functions that answer an int answer 0, or an error's number that `message` makes words of.
 * Everything is asked for in the order of one stream; only what says so waits.
 */
#ifndef BH_CUDA_MODULE_H
#define BH_CUDA_MODULE_H

#include "tables/table.h"

/* The one name that the module has. */
#define BH__CUDA_MODULE_SYMBOL "bh__cuda_module_1"

/* A module of another build would read these structs wrongly. */
#define BH__CUDA_MODULE_VERSION                                                                    \
    ((((((uint64_t)BH_PASSES * 31 + BH_SLICE_KINDS) * 4099 + sizeof(bh__slice)) * 4099 +           \
       sizeof(bh_table_options)) * 4099 + sizeof(bh__cuda_job)) * 4099 + sizeof(bh__cuda_module))

typedef struct bh__gpu bh__gpu;

/* What the kernels of a slice get: in device memory, and behind it the table's descriptor. A
 * slice of a GPU may have many more elements than one of a core. */
typedef struct bh__cuda_job {
    bh__slice slice; /* `count`, `list` and what belongs to it are not used */
    uint64_t count;
    const uint32_t *names; /* the elements to run, or NULL: all from 0 to count - 1 */
    uint32_t *stalled;     /* receives the names of those that stalled; room for `count` */
    uint64_t stalled_count;
    uint64_t room; /* new keys that may be inserted */
    uint64_t room_taken; /* by those that might insert one, where there is not room for all */
    uint64_t moved;      /* keys that were there have changed their places */
} bh__cuda_job;

/* The kernels of one design for one pair of widths, as far as the library knows them; the module
 * has more behind it. */
typedef struct bh__cuda_kernels {
    bh__kernels none; /* first: a table's kernels are a pointer to this */
    uint64_t descriptor_bytes;
    uint64_t job_bytes[BH_PASSES];
} bh__cuda_kernels;

typedef enum bh__where_is {
    BH_IS_HOST,
    BH_IS_HERE,     /* on this GPU, or where it can be reached in place */
    BH_IS_ELSEWHERE /* on another GPU */
} bh__where_is;

typedef struct bh__cuda_module {
    uint64_t version;
    const char *(*message)(int error);
    int (*count)(int *devices);
    /* `stream` NULL: one of its own. */
    int (*open)(int device, void *stream, bh__gpu **gpu);
    void (*close)(bh__gpu *gpu);
    int (*allocate)(bh__gpu *gpu, uint64_t bytes, void **memory);
    int (*release)(bh__gpu *gpu, void *memory);
    /* Host memory that copies need not stage. */
    int (*allocate_pinned)(bh__gpu *gpu, uint64_t bytes, void **memory);
    int (*release_pinned)(bh__gpu *gpu, void *memory);
    int (*fill)(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes);
    /* From anywhere to anywhere. */
    int (*copy)(bh__gpu *gpu, void *to, const void *from, uint64_t bytes);
    /* Waits for all that has been asked for. */
    int (*wait)(bh__gpu *gpu);
    int (*where)(bh__gpu *gpu, const void *memory, bh__where_is *where);
    /* to[i] = from[names[i]], elements of 1, 4 or 8 bytes; to[names[i]] = from[i], of 1 byte. All
     * in device memory. */
    int (*gather)(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t count);
    int (*scatter)(bh__gpu *gpu, uint8_t *to, const uint8_t *from, const uint32_t *names,
                   uint64_t count);
    /* NULL: not in this module. */
    const bh__cuda_kernels *(*kernels)(const bh_table_options *options);
    /* Launch on `count` elements; on the items of a pass. `job` is in device memory. */
    int (*slice)(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                 bh__cuda_job *job, uint64_t count);
    int (*pass)(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__pass pass, void *job,
                uint64_t items);
} bh__cuda_module;

/* Finds the module, `wanted` (a path) or where it was installed. Writes the error sentence.
 * Returns BH_OK or BH_ERR_UNSUPPORTED. The library is never unloaded. */
bh_status bh__cuda_find(const char *wanted, const bh__cuda_module **module);

#endif
