/* The CUDA backend as a context sees it. */
#ifndef BH_CUDA_HOST_BACKEND_H
#define BH_CUDA_HOST_BACKEND_H

#include "cuda/module.h"

/* Room in the mailbox for a pass's or a slice's job and a design's descriptor. */
#define BH__CUDA_MAILBOX 16384u

typedef struct bh__cuda {
    bh__backend backend; /* first: a backend pointer is a pointer to this */
    const bh__cuda_module *module;
    bh__gpu *gpu;
    bh__gate mail;                 /* held alone by the thread that uses the mailbox */
    unsigned char *mailbox;        /* pinned host memory */
    unsigned char *device_mailbox; /* what it is copied to */
    int shared_stream;             /* the stream is the caller's, and may have other work in it */
    bh__gate staging;              /* held alone by the call that uses the memory behind it */
    unsigned char *staged;         /* pinned host memory, as much as a call has needed */
    uint64_t staged_bytes;
    bh_executor copiers;  /* its threads copy between staged memory and the callers' arrays */
    bh__cuda_place place; /* for the primitives */
    /* The number of the GPU's first error in work that had begun, 0: none. What its tables hold is not
     * known since. Every later call says so. */
    int lost;
} bh__cuda;

/* Makes the backend for the GPU of that number from checked options. Writes the error sentence.
 * Returns BH_OK, BH_ERR_UNSUPPORTED, BH_ERR_DEVICE, BH_ERR_MEMORY. */
bh_status bh__cuda_init(bh__cuda *cuda, int device, const bh_context_options *options,
                        const bh_system *system, const bh_executor *copiers);
void bh__cuda_end(bh__cuda *cuda);

/* Notes an error's number as `lost`, unless it is 0; answers the number. */
int bh__cuda_note(bh__cuda *cuda, int error);

/* Waits for what the caller has put into a stream of its own: to be called before the host looks at one of
 * the caller's arrays. Answers 0 or an error. */
int bh__cuda_catch_up(bh__cuda *cuda);

/* BH_ERR_DEVICE with a sentence when the GPU was lost, else BH_OK. */
bh_status bh__cuda_alive(const bh__cuda *cuda);

/* One round through the mailbox: the job, whose first word is the pointer to a descriptor, goes to
 * the device with the descriptor behind it, is run, and comes back. Waits. Answers 0 or an error. */
int bh__cuda_mail(bh__cuda *cuda, void *job, uint64_t job_bytes, uint64_t descriptor_bytes,
                  int (*run)(const bh__cuda *cuda, void *device_job, void *argument),
                  void *argument);

/* Pinned memory for copies of arrays that are not pinned. It is kept for the next call, because taking it
 * from the system costs milliseconds. One call has it at a time, and holds its table's gate already. Answers
 * 0 or an error, and then nothing is held. */
int bh__cuda_staging_enter(bh__cuda *cuda, uint64_t bytes, unsigned char **memory);
void bh__cuda_staging_leave(bh__cuda *cuda);

/* Copies host memory, by several threads where it is much. */
void bh__cuda_copy_near(const bh__cuda *cuda, void *to, const void *from, uint64_t bytes);

/* batch.c */
bh_status bh__cuda_batch(const bh__backend *backend, bh_table *table, const bh__batch *batch);
/* perform.c: a call that changes something, of a design that performs its calls itself; a sort. */
bh_status bh__cuda_perform(bh__cuda *cuda, bh_table *table, const bh__batch *batch);
bh_status bh__cuda_sort(const bh__backend *backend, void *keys, uint32_t key_bytes, void *values,
                        uint32_t value_bytes, uint64_t n);
bh_status bh__cuda_export(const bh__backend *backend, bh_table *table, uint64_t *at, void *keys,
                          void *values, uint64_t room, uint64_t *count);

#endif
