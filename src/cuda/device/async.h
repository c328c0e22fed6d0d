/*
 * Asynchronous copies from global to shared memory, which take no registers while they are on their way
 * (cp.async).
 */
#ifndef BH_CUDA_DEVICE_ASYNC_H
#define BH_CUDA_DEVICE_ASYNC_H

/* Begins to copy 16 bytes; both addresses are multiples of 16. `shared` is an address of shared memory, by
 * __cvta_generic_to_shared. */
BH_FN void bh_cuda_bring16(uint32_t shared, uint64_t memory)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared), "l"(memory)
                 : "memory");
}

/* Begins to copy 4 bytes. */
BH_FN void bh_cuda_bring4(uint32_t shared, uint64_t memory)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared), "l"(memory)
                 : "memory");
}

/* Waits for the copies that this thread has begun. */
BH_FN void bh_cuda_wait_brought(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* Copies the region of each lane, `bytes` from the address `region` on, to the lane's place, and waits; a
 * lane whose `region` is 0 has none (look.h draws it). All lanes of the warp come here; `bytes` is a constant. */
BH_FN void bh_cuda_bring(void *place, uint64_t region, uint32_t bytes)
{
    const int lanes = (int)bytes / 16;
    const uint32_t to = (uint32_t)__cvta_generic_to_shared(place), piece = threadIdx.x % lanes * 16;

#pragma unroll
    for (int i = 0; i < lanes; i++) {
        const uint64_t from = lanes > 1 ? __shfl_sync(0xffffffffu, region, i, lanes) : region;
        const uint32_t at = lanes > 1 ? __shfl_sync(0xffffffffu, to, i, lanes) : to;

        if (from)
            bh_cuda_bring16(at + piece, from + piece);
    }
    bh_cuda_wait_brought();
    __syncwarp(); /* each lane has waited only for the pieces that it has copied itself */
}

#endif
