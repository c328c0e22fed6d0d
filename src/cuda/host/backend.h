/* The CUDA backend as a context sees it. */
#ifndef BH_CUDA_HOST_BACKEND_H
#define BH_CUDA_HOST_BACKEND_H

#include "cuda/module.h"

/* Room for what a slice counts. */
#define BH__CUDA_DONE 256u
/* Descriptors that are kept on the device. */
#define BH__CUDA_DESCRIPTORS 4u

/* A piece of pinned host memory and its twin on the device. */
typedef struct bh__mailbox {
    unsigned char letter[BH__CUDA_LETTER];
    unsigned char descriptor[BH__CUDA_DESCRIPTORS][BH__CUDA_DESCRIPTOR];
    union {
        bh__cuda_done done;
        unsigned char bytes[BH__CUDA_DONE];
    } counts[2];
} bh__mailbox;

/* What is launched on elements: a slice of a kind, or a survey. */
typedef struct bh__launch {
    const bh__cuda_kernels *kernels;
    bh__slice_kind kind;
    int surveys;
    void (*meanwhile)(void *argument); /* what the host does while the GPU works; or NULL */
    void *argument;
} bh__launch;

typedef struct bh__cuda {
    bh__backend backend; /* first: a backend pointer is a pointer to this */
    const bh__cuda_module *module;
    bh__gpu *gpu;
    bh__gate mail;            /* held alone by the thread that uses the mailbox */
    bh__mailbox *mailbox;     /* on the host */
    bh__mailbox *far_mailbox; /* on the device */
    /* Of the descriptors that the device has: their bytes, 0 where there is none; and the one to be replaced next. */
    uint64_t kept[BH__CUDA_DESCRIPTORS];
    uint32_t next_kept;
    uint32_t next_counts; /* what the next slice counts in, which is 0 */
    int counts_unknown;   /* neither is known to be 0 */
    int gave_back; /* memory of tables has been given back: the next launch is to wait for the stream */
    int shared_stream;     /* the stream is the caller's, and may have other work in it */
    bh__gate staging;      /* held alone by the call that uses the memory behind it */
    unsigned char *staged; /* pinned host memory, as much as a call has needed */
    uint64_t staged_bytes;
    bh__gate lists;   /* held alone by who takes the memory behind it, or leaves it there */
    void *kept_lists; /* on the device, of an earlier call; or NULL */
    uint64_t kept_list_bytes;
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

/* Launches a job, whose slice.geometry is on the host; *done becomes what it has counted, and all 0 where it was refused.
 * Waits. Answers 0 or an error. */
int bh__cuda_launch(bh__cuda *cuda, const bh__launch *launch, bh__cuda_job *job,
                    bh__cuda_done *done);

/* Pinned memory for copies of arrays that are not pinned. It is kept for the next call, because taking it
 * from the system costs milliseconds. One call has it at a time, and holds its table's gate already. Answers
 * 0 or an error, and then nothing is held. */
int bh__cuda_staging_enter(bh__cuda *cuda, uint64_t bytes, unsigned char **memory);
void bh__cuda_staging_leave(bh__cuda *cuda);

/* Memory on the device; where there is none, what is kept of calls' memory is given back for it. Answers 0 or an error. */
int bh__cuda_allocate(bh__cuda *cuda, bh__memory_of of, uint64_t bytes, void **memory);

/* Memory on the device for a call's lists and parts of its arrays, of at least *bytes; *bytes becomes how many it has. That of
 * an earlier call is kept, if it is not much: to take memory and to give it back costs 2 us. Both answer 0 or an error. */
int bh__cuda_take_lists(bh__cuda *cuda, uint64_t *bytes, void **memory);
int bh__cuda_give_lists(bh__cuda *cuda, void *memory, uint64_t bytes);

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
