/* A GPU as the files of the module know it. */
#ifndef BH_CUDA_DEVICE_GPU_H
#define BH_CUDA_DEVICE_GPU_H

#include <cuda_runtime.h>

#include <mutex>

#include "cuda/module.h"

/* Address space of the GPU, and how much of it has memory. */
struct bh_reservation {
    unsigned char *memory;
    uint64_t reserved;
    uint64_t backed;
    bh_reservation *next;
};

struct bh__gpu {
    int device;
    int own_stream;
    int shares_managed; /* the host may touch managed memory while the GPU works */
    uint32_t processors;
    uint32_t threads;  /* how many the GPU can run at a time */
    uint32_t overlaps; /* 1: kernels may be launched as bh__gpu_follow does it, else 0 */
    cudaMemPool_t pool[BH_MEMORIES];
    bh_reservation *reservations; /* reservations.cu: all that is reserved */
    std::mutex reservations_held;
    cudaStream_t stream; /* lane[BH_LANE_RUN]: kernels run there */
    cudaStream_t lane[BH_LANES];
    cudaEvent_t reached[BH_LANES]; /* how far a lane was when another was last told to follow it */
};

/* Makes a GPU the calling thread's current device, and the device before current again at the end of the
 * function. To be made at the beginning of each function; `error` is 0, or why it cannot be done. */
struct on_device {
    int device, before, error;

    explicit on_device(int wanted) : device(wanted), before(wanted)
    {
        error = (int)cudaGetDevice(&before);
        if (!error && before != device)
            error = (int)cudaSetDevice(device);
    }

    ~on_device()
    {
        if (before != device)
            (void)cudaSetDevice(before);
    }
};

/* Threads of a block: measured, 128 to 512 make no difference. */
#define BH_CUDA_BLOCK 256u

/* How many blocks have `threads` threads. */
static inline unsigned bh__gpu_blocks(uint64_t threads)
{
    return (unsigned)((threads + BH_CUDA_BLOCK - 1) / BH_CUDA_BLOCK);
}

/*
 * A call is several kernels, one behind the other, and between two of them a GPU does nothing for 2 us. So those behind the
 * first one may begin before the one before has ended: their blocks come to the multiprocessors as soon as there is room, and
 * wait there, in bh_cuda_follow. That is the first thing that each of these kernels does, and so nothing of what it reads is
 * too old: it waits until all of the kernel before has ended, which has waited in the same way.
 */
static inline __device__ void bh_cuda_follow(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/* Launches a kernel that begins with bh_cuda_follow behind another one that does, too, or that was launched as usual. (The first
 * kernel of a call is launched as usual: what the caller has launched before it need not wait for what is before that.) */
template <typename... Parameters, typename... Arguments>
static inline int bh__gpu_follow(bh__gpu *gpu, dim3 blocks, unsigned threads, unsigned shared,
                                 void (*kernel)(Parameters...), const Arguments &...arguments)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = {};

    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = blocks;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = gpu->stream;
    config.attrs = &early;
    config.numAttrs = gpu->overlaps;
    (void)cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
    return (int)cudaGetLastError(); /* the caller's own calls of it are not to see ours */
}

/* Elements of a lane, at most: in the schedule `lanes` (kernels.h), and in look.h. */
#ifndef BH_CUDA_ROUNDS
#define BH_CUDA_ROUNDS 16u
#endif

/* Rounds of 32 elements for each warp: so few that all of the GPU has something to do. */
static inline uint32_t bh__gpu_rounds(const bh__gpu *gpu, uint64_t count)
{
    const uint64_t rounds = count / gpu->threads + 1;

    return rounds < BH_CUDA_ROUNDS ? (uint32_t)rounds : BH_CUDA_ROUNDS;
}

/* Blocks of the first of several stages in which elements take locks: with more than two on a multiprocessor DACHash's
 * insertions take a third longer on an H100 (decision 0032). */
static inline unsigned bh__gpu_locking(const bh__gpu *gpu, uint64_t count)
{
    const unsigned blocks = bh__gpu_blocks(count), most = 2 * gpu->processors;

    return blocks < most ? blocks : most;
}

/* How many warps take `count` elements, 32 * rounds each. */
static inline uint64_t bh__gpu_warps(uint64_t count, uint32_t rounds)
{
    return (count + 32 * (uint64_t)rounds - 1) / (32 * (uint64_t)rounds);
}

/* The stage that begins with elements whose keys are absent (present.h), or that a schedule by region has left. They come from the list that later has
 * those of the stage BH_CUDA_BOTH_FULL (job.h). */
#define BH__CUDA_ABSENT 2
/* The stage that begins with elements that the first one could not finish (job.h). */
#define BH__CUDA_HOME_FULL 1

/* To be called behind the launch of a stage that begins with elements in a list, or (`stage` 0) with all, with that launch's
 * error or 0: answers it, or empties the list. Negative: what was launched may run (module.h). */
static inline int bh__gpu_listed(bh__gpu *gpu, const bh__cuda_job *job, int stage, int error)
{
    if (error || !stage)
        return error;
    return -(int)cudaMemsetAsync(&job->done->parked_count[stage - 1], 0,
                                 sizeof job->done->parked_count[0], gpu->stream);
}

/* The error, or 0, of launches behind others that have not been refused: these may run (module.h). */
static inline int bh__gpu_behind(int error)
{
    return error > 0 ? -error : error;
}

typedef int bh__gpu_launch(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count);
typedef int bh__gpu_pass(bh__gpu *gpu, void *job, uint64_t items);

/* What the first stages of a design's own schedule for large calls answer where nothing has been done, and the elements
 * want another schedule. */
#define BH_GPU_DECLINED INT32_MAX

typedef struct bh__gpu_kernels {
    bh__cuda_kernels known; /* first: what the library gets is a pointer to this */
    bh__gpu_launch *slice[BH_SLICE_KINDS];
    bh__gpu_launch *find_at_once; /* for tables with BH_HINT_AT_ONCE, or NULL */
    bh__gpu_pass *const *pass;    /* by the numbers of the design */
    bh__gpu_launch *survey;
    /* Insertions by region, or NULL; and the stages that follow the first one, or NULL, by kind of slice. */
    bh__gpu_launch *by_region;
    bool regions_leave_absent; /* what they leave begins anew: it is in the list BH__CUDA_ABSENT */
    bh__gpu_launch *rest[BH_SLICE_KINDS];
    /* Acts on keys that are there, or NULL; and the stages, for the elements that it leaves. */
    int (*present)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint32_t hints,
                   uint64_t count);
    int (*stages[BH_SLICE_KINDS])(bh__gpu *gpu, const bh__cuda_job *job, uint64_t count, int stage);
    /* The first stage of insertions into tables with BH_HINT_CLAIMS, or NULL. */
    int (*claim)(bh__gpu *gpu, const bh__cuda_job *job, uint32_t op, uint64_t count, int stage);
    bool
        claims_again; /* what it lists for the second stage it goes through once more before that */
    bool has_compared_widths; /* 4-byte keys beside 4-byte values: those of schedule.cu */
} bh__gpu_kernels;

/* schedule.cu: the schedules to compare, each a row: its name in bh_gpu_schedule, the threads of a tile, and
 * the way (kernels.h): 0 an element for each tile, 1 collaborative lanes, 2 a voter. */
/* clang-format off */
#define BH_COMPARED_ROWS(row)                                                                      \
    row(THREAD, 1, 0)                                                                              \
    row(TILE4, 4, 0)                                                                               \
    row(TILE8, 8, 0)                                                                               \
    row(TILE16, 16, 0)                                                                             \
    row(TILE32, 32, 0)                                                                             \
    row(LANES, 1, 1)                                                                               \
    row(VOTER4, 4, 2)                                                                              \
    row(VOTER8, 8, 2)                                                                              \
    row(VOTER16, 16, 2)                                                                            \
    row(VOTER32, 32, 2)
/* clang-format on */

typedef struct bh__gpu_schedule {
    bh__gpu_launch *slice[BH_SLICE_KINDS];
} bh__gpu_schedule;

/* effects.cu */
int bh__gpu_effects(bh__gpu *gpu, bh__effects_step step, const bh__effects *effects);

/* reservations.cu. `unreserve` answers whether the memory was reserved here, and then *error says whether giving it back succeeded. */
uint64_t bh__gpu_reserve_least(bh__gpu *gpu);
int bh__gpu_reserve(bh__gpu *gpu, uint64_t bytes, void **memory);
int bh__gpu_back(bh__gpu *gpu, void *at, uint64_t bytes);
bool bh__gpu_unreserve(bh__gpu *gpu, void *memory, int *error);

/* primitives.cu */
extern const bh__primitives bh__gpu_primitives;

#endif
