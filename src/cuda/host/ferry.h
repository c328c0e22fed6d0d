/*
 * The arrays of a call, part by part: those of the device are used in place, those of the host are
 * copied to the device and back while the GPU works on other parts.
 */
#ifndef BH_CUDA_HOST_FERRY_H
#define BH_CUDA_HOST_FERRY_H

#include "cuda/host/backend.h"

enum {
    BH_ARRAY_KEYS,
    BH_ARRAY_VALUES,
    BH_ARRAY_VALUES_OUT,
    BH_ARRAY_OUTCOMES,
    BH_ARRAY_OPS,
    BH_ARRAYS
};

/* What a call does with an array. */
typedef enum bh__array_use {
    BH_USE_IN = 1,
    BH_USE_OUT = 2,
    /* Written, but the values of missing keys stay as they are: where keys are missing it is read too. */
    BH_USE_PATCH = 4
} bh__array_use;

/* An array of the call, as the caller has it. */
typedef struct bh__freight {
    unsigned char *caller; /* NULL: the caller gave none */
    uint32_t bytes;        /* of an element */
    uint32_t use;
    bh__where_is where;
} bh__freight;

/* What one part travels in. */
typedef struct bh__slot {
    uint64_t first, count;            /* the part: elements of the call */
    uint32_t lane;                    /* has all copies of this slot, so they are in order */
    uint8_t full;                     /* the part was brought, and is yet to be run */
    uint8_t patched;                  /* arrays of BH_USE_PATCH were brought with it */
    uint8_t busy;                     /* copies have been queued in the lane */
    uint8_t sent;                     /* the copies of all answers of the part are among them */
    int error;                        /* the part could not be brought */
    unsigned char *device[BH_ARRAYS]; /* for arrays on the host: the part's copy on the device */
    unsigned char *pinned[BH_ARRAYS]; /* and, for arrays that are not pinned, its pinned copy */
} bh__slot;

typedef struct bh__ferry {
    bh__cuda *cuda;
    bh__freight array[BH_ARRAYS];
    bh__slot slot[BH_CUDA_SLOTS];
    uint32_t slots; /* in use */
    bh__slot *now;  /* the part that is run */
    int patch;      /* bring arrays of BH_USE_PATCH too: keys of the last part were missing */
    void *memory;   /* on the device */
    uint64_t memory_bytes;
    int staging; /* the context's pinned memory is held */
} bh__ferry;

/* Enters one array of `n` elements, and finds out where it lies. Writes the error sentence. Returns
 * BH_OK, BH_ERR_DEVICE or BH_ERR_ARGUMENT. */
bh_status bh__ferry_enter(bh__ferry *f, int which, const void *caller, uint32_t bytes, uint64_t n,
                          uint32_t use);

/* Whether some array is on the host. */
int bh__ferry_on_host(const bh__ferry *f);

/* Takes memory for parts of `part` of `n` elements, and `besides` bytes more on the device: *more. Answers 0
 * or an error. Called, like all that follows, with the table's gate held. */
int bh__ferry_take(bh__ferry *f, uint64_t n, uint64_t part, uint64_t besides, void **more);

/* Gives that memory back, when no copy is on its way any more. Answers 0 or an error. */
int bh__ferry_give(bh__ferry *f);

/* The slot of the part with that number. */
static inline bh__slot *bh__ferry_slot(bh__ferry *f, uint64_t number)
{
    return &f->slot[number % f->slots];
}

/* The first element of an array as the device sees it in the part that is run, or NULL. */
unsigned char *bh__ferry_seen(const bh__ferry *f, int which);

/* The steps of a call and of a part; see ferry.c. Each answers 0 or an error. */
int bh__ferry_begin(bh__ferry *f);
int bh__ferry_bring(bh__ferry *f, bh__slot *s, uint64_t first, uint64_t count);
int bh__ferry_run(bh__ferry *f, bh__slot *s);
int bh__ferry_wants_patch(const bh__ferry *f, const bh__slot *s); /* answers whether */
int bh__ferry_patch(bh__ferry *f, bh__slot *s);
int bh__ferry_send(bh__ferry *f, bh__slot *s);
int bh__ferry_finish(bh__ferry *f, bh__slot *s);

/* Finishes all parts. */
int bh__ferry_drain(bh__ferry *f);

#endif
