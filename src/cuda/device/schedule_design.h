/* The design of schedule.cu, at one pair of widths: the kernels, and what launches them. */
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "cuda/device/kernels.h"

#define BH_SCHEDULE2(tile, way) gpu_schedule_##tile##_##way
#define BH_SCHEDULE(tile, way) BH_OF_DESIGN(BH_SCHEDULE2(tile, way))

extern const bh__gpu_schedule BH_SCHEDULE(BH_CUDA_TILE, BH_CUDA_WAY);

/* Threads for an element. */
#define BH_LAUNCH_THREADS (BH_CUDA_WAY == BH_CUDA_VOTER ? 1 : BH_CUDA_TILE)

#define BH_LAUNCH(kind)                                                                            \
    static int kind(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count)                         \
    {                                                                                              \
        const uint32_t rounds = BH_CUDA_WAY == BH_CUDA_LANES ? bh__gpu_rounds(gpu, count) : 1;     \
                                                                                                   \
        BH_DESIGN(BH_CUDA_KERNEL(                                                                  \
            kind))<<<bh__gpu_blocks((count / rounds + 1) * BH_LAUNCH_THREADS), BH_CUDA_BLOCK, 0,   \
                     gpu->stream>>>(*job);                                                         \
        return (int)cudaGetLastError();                                                            \
    }

BH_LAUNCH(find)
BH_LAUNCH(insert)
BH_LAUNCH(erase)
BH_LAUNCH(add)
BH_LAUNCH(mixed)

const bh__gpu_schedule BH_SCHEDULE(BH_CUDA_TILE, BH_CUDA_WAY) = {
    .slice =
        {
            [BH_SLICE_FIND] = find,
            [BH_SLICE_INSERT] = insert,
            [BH_SLICE_ERASE] = erase,
            [BH_SLICE_ADD] = add,
            [BH_SLICE_MIXED] = mixed,
        },
};
