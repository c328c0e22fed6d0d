/* How a kernel begins with its slice. An include-template: see instance.h, and tables/declared.h. */
#include "cuda/device/job.h"

/*
 * The slice as an element begins with it. The table's descriptor is copied to shared memory, because every
 * key needs the seed and the subtables, and each acquiring load invalidates a multiprocessor's L1 cache. To
 * be called by all threads of a block.
 */
BH_FN bh__slice BH_DESIGN(cuda_slice)(const bh__cuda_job *job)
{
    __shared__ BH_DESIGN_GEOMETRY geometry;
    const uint32_t *from = (const uint32_t *)job->slice.geometry;
    bh__slice slice = job->slice;
    uint32_t i;

    for (i = threadIdx.x; i < sizeof geometry / 4; i += blockDim.x)
        ((uint32_t *)&geometry)[i] = from[i];
    __syncthreads();
    slice.geometry = &geometry;
    slice.inserted = slice.erased = slice.assigned = 0;
    slice.reasons = slice.moved = 0;
    return slice;
}
