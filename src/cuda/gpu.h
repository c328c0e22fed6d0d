/* A GPU as the files of the module know it. */
#ifndef BH_CUDA_GPU_H
#define BH_CUDA_GPU_H

#include <cuda_runtime.h>

#include "cuda/module.h"

struct bh__gpu {
    int device;
    int own_stream;
    cudaStream_t stream;
};

/* Threads of a block: by measurement 128 to 512 are alike. */
#define BH_CUDA_BLOCK 256u

/* Blocks for so many threads. */
static inline unsigned bh__gpu_blocks(uint64_t threads)
{
    return (unsigned)((threads + BH_CUDA_BLOCK - 1) / BH_CUDA_BLOCK);
}

/* find.cu: the lookups of each pair of widths, by key_bytes / 8 and value_bytes / 4. Functions and
 * not an array of them: constants of another file are not there yet when this one's are made. */
int bh__gpu_find(uint32_t key_bytes, uint32_t value_bytes, bh__gpu *gpu, bh__cuda_job *job,
                 uint64_t count);

typedef struct bh__gpu_kernels {
    bh__cuda_kernels known; /* first: what the library gets is a pointer to this */
    int (*slice[BH_SLICE_KINDS])(bh__gpu *gpu, bh__cuda_job *job, uint64_t count);
    int (*pass[BH_PASSES])(bh__gpu *gpu, void *job, uint64_t items);
} bh__gpu_kernels;

/* update.cu: the kernels of each pair of widths. */
const bh__gpu_kernels *bh__gpu_dycuckoo(uint32_t key_bytes, uint32_t value_bytes);

#endif
