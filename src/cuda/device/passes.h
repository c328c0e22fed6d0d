/*
 * The passes of a design on a GPU: a kernel for each, as the list of the design says that it is to be
 * run (tables/table.h), and the function that launches it. An include-template: instance.h, and a
 * design's declaration (tables/declared.h).
 *
 * For a pass that is run in a way of its OWN, the design's part of this backend defines the launching
 * function BH_DESIGN(launch_TEXT)(gpu, job, items): in a file of its own or, if it is static, before it
 * includes this one.
 */
#ifndef BH_CUDA_DEVICE_PASSES_H
#define BH_CUDA_DEVICE_PASSES_H

#include "cuda/device/by_block.h"

/* What the argument of a pass that runs ALONE begins with. */
typedef struct bh_cuda_alone {
    const void *geometry;
    const bh__scratch *scratch;
} bh_cuda_alone;

#define BH_CUDA_PASS(name, text, argument, how) BH_CUDA_PASS_##how(text, argument)

#define BH_CUDA_PASS_EACH(text, argument)                                                          \
    __global__ void BH_DESIGN(cuda_##text)(argument * job, uint64_t items)                         \
    {                                                                                              \
        const uint64_t item = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;                     \
                                                                                                   \
        if (item < items)                                                                          \
            BH_DESIGN(text)(job, item, 1);                                                         \
    }                                                                                              \
                                                                                                   \
    static int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items)                  \
    {                                                                                              \
        BH_DESIGN(cuda_##text)<<<bh__gpu_blocks(items), BH_CUDA_BLOCK, 0, gpu->stream>>>(          \
            (argument *)job, items);                                                               \
        return (int)cudaGetLastError();                                                            \
    }

#define BH_CUDA_PASS_ALONE(text, argument)                                                         \
    __global__ void BH_DESIGN(cuda_##text)(argument * job, uint64_t items)                         \
    {                                                                                              \
        static_assert(BH_DESIGN_SCRATCH >= 8, "a pass runs ALONE: BH_DESIGN_SCRATCH");             \
        __shared__ uint64_t memory[BH_DESIGN_SCRATCH / 8];                                         \
        const bh__scratch scratch = {memory, sizeof memory};                                       \
                                                                                                   \
        ((bh_cuda_alone *)job)->scratch = &scratch;                                                \
        BH_DESIGN(text)(job, 0, items);                                                            \
    }                                                                                              \
                                                                                                   \
    static int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items)                  \
    {                                                                                              \
        BH_DESIGN(cuda_##text)<<<1, 1, 0, gpu->stream>>>((argument *)job, items);                  \
        return (int)cudaGetLastError();                                                            \
    }

#define BH_CUDA_PASS_SPARSE(text, argument)                                                        \
    __global__ void BH_DESIGN(cuda_##text)(argument * job, uint64_t items)                         \
    {                                                                                              \
        bh_cuda_sparse(                                                                            \
            items, [&](uint64_t item) { return BH_DESIGN(text##_wants)(job, item); },              \
            [&](uint64_t item, uint32_t part) { return BH_DESIGN(text##_part)(job, item, part); }, \
            [&](uint64_t sum) { BH_DESIGN(text##_sum)(job, sum); });                               \
    }                                                                                              \
                                                                                                   \
    static int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items)                  \
    {                                                                                              \
        BH_DESIGN(cuda_##text)<<<bh__gpu_blocks((items + BH_SPARSE_EACH - 1) / BH_SPARSE_EACH),    \
                                 BH_CUDA_BLOCK, 0, gpu->stream>>>((argument *)job, items);         \
        return (int)cudaGetLastError();                                                            \
    }

#define BH_CUDA_PASS_PARTS(text, argument)                                                         \
    __global__ void BH_DESIGN(cuda_##text)(argument * job)                                         \
    {                                                                                              \
        BH_KEY *const keys = (BH_KEY *)job->keys;                                                  \
        BH_VALUE *const values = (BH_VALUE *)job->values;                                          \
                                                                                                   \
        bh_cuda_copy_part<BH_DESIGN(pair_out)>(                                                    \
            job,                                                                                   \
            [&](const bh_export_part *part, uint64_t number) {                                     \
                return BH_DESIGN(exported)(part, number);                                          \
            },                                                                                     \
            [&](const bh_export_part *part, uint64_t number, uint32_t slot) {                      \
                return BH_DESIGN(read_out)(part, number, slot, values);                            \
            },                                                                                     \
            [&](uint64_t to, BH_DESIGN(pair_out) pair) {                                           \
                BH_DESIGN(write_out)(keys, values, to, pair);                                      \
            });                                                                                    \
    }                                                                                              \
                                                                                                   \
    static int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items)                  \
    {                                                                                              \
        BH_DESIGN(cuda_##text)<<<(unsigned)items, BH_EXPORT_PART_FAR, 0, gpu->stream>>>(           \
            (argument *)job);                                                                      \
        return (int)cudaGetLastError();                                                            \
    }

#define BH_CUDA_PASS_OWN(text, argument)                                                           \
    int BH_DESIGN(launch_##text)(bh__gpu * gpu, void *job, uint64_t items);
#define BH_CUDA_PASS_CORES(text, argument)

#define BH_CUDA_LAUNCH(name, text, argument, how) BH_CUDA_LAUNCH_##how(text)
#define BH_CUDA_LAUNCH_EACH(text) BH_DESIGN(launch_##text),
#define BH_CUDA_LAUNCH_ALONE(text) BH_DESIGN(launch_##text),
#define BH_CUDA_LAUNCH_SPARSE(text) BH_DESIGN(launch_##text),
#define BH_CUDA_LAUNCH_PARTS(text) BH_DESIGN(launch_##text),
#define BH_CUDA_LAUNCH_OWN(text) BH_DESIGN(launch_##text),
#define BH_CUDA_LAUNCH_CORES(text) nullptr,

#define BH_CUDA_PASS_BYTES(name, text, argument, how) sizeof(argument),
#define BH_CUDA_PASS_FITS(name, text, argument, how)                                               \
    static_assert(sizeof(argument) + BH__CUDA_DESCRIPTOR + 64 <= BH__CUDA_LETTER, #argument);

#endif

static_assert(sizeof(BH_DESIGN_GEOMETRY) <= BH__CUDA_DESCRIPTOR, "BH__CUDA_DESCRIPTOR");
BH_DESIGN_PASSES(BH_CUDA_PASS_FITS)

BH_DESIGN_PASSES(BH_CUDA_PASS)

static bh__gpu_pass *const BH_DESIGN(launches)[] = {BH_DESIGN_PASSES(BH_CUDA_LAUNCH)};
static const uint64_t BH_DESIGN(job_bytes)[] = {BH_DESIGN_PASSES(BH_CUDA_PASS_BYTES)};
