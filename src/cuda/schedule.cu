/*
 * The schedules that measurement did not choose, for 4-byte keys and values alone: an element for
 * each thread, an element for each tile of BH_CUDA_TILE threads, and collaborative lanes
 * (BH_CUDA_LANES). See kernels.h. The build compiles this file once for each, and
 * bh_table_options.schedule picks one, to compare.
 */
#define BH_TARGET_CUDA 1
#define BH_CUDA_SLICES_ONLY 1
#include "targets/target.h"

/* Names of their own: all are linked together. */
#define NAMED3(name, tile, lanes) bh_cuda_##tile##_##lanes##_##name
#define NAMED2(name, tile, lanes) NAMED3(name, tile, lanes)
#define BH_CUDA_KERNEL(name) NAMED2(name, BH_CUDA_TILE, BH_CUDA_LANES)

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "cuda/kernels.h"

/* An array of launches by the schedule's name. */
#define LAUNCHES2(tile, lanes) bh__gpu_launches_##tile##_##lanes
#define LAUNCHES(tile, lanes) LAUNCHES2(tile, lanes)

#define LAUNCH(kind)                                                                               \
    static int kind(bh__gpu *gpu, bh__cuda_job *job, uint64_t count)                               \
    {                                                                                              \
        const uint32_t rounds = BH_CUDA_LANES ? bh__gpu_rounds(gpu, count) : 1;                    \
                                                                                                   \
        BH_NAME(BH_CUDA_KERNEL(kind))<<<bh__gpu_blocks((count / rounds + 1) * BH_CUDA_TILE),             \
                                  BH_CUDA_BLOCK, 0, gpu->stream>>>(job, (int)rounds);              \
        return (int)cudaGetLastError();                                                            \
    }

LAUNCH(find)
LAUNCH(insert)
LAUNCH(erase)
LAUNCH(add)
LAUNCH(mixed)

bh__gpu_launch *const LAUNCHES(BH_CUDA_TILE, BH_CUDA_LANES)[BH_SLICE_KINDS] = {find, insert, erase,
                                                                             add, mixed};
