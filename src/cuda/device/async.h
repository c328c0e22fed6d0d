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

#endif
