/*
 * Address space of a GPU that memory is put under piece by piece, for blocks of tables that grow in place (`reserve` and
 * `back` in module.h):
 *
 *     memory               backed                   reserved
 *     |====================|.........................|
 *
 * Beside allocating a block of twice the size and copying the old one into it, this takes no copy, no memory for the old one beside
 * the new one, and maps half as much. But what is given back is unmapped, while a pool keeps some of it for the next
 * allocation; so it is for large blocks that are to grow. The functions are those of CUDA's driver, which the runtime
 * has loaded; it has no such functions of its own.
 */
#include <cuda.h>

#include <dlfcn.h>

#include <new>

#include "cuda/device/gpu.h"

namespace
{

struct driver {
    decltype(&cuDeviceGetAttribute) attribute;
    decltype(&cuMemGetAllocationGranularity) granularity;
    decltype(&cuMemAddressReserve) reserve;
    decltype(&cuMemAddressFree) unreserve;
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) forget;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) allow;
    bool there;

    driver()
    {
        void *const library = dlopen("libcuda.so.1", RTLD_LAZY);

        there = library && find(library, "cuDeviceGetAttribute", &attribute) &&
                find(library, "cuMemGetAllocationGranularity", &granularity) &&
                find(library, "cuMemAddressReserve", &reserve) &&
                find(library, "cuMemAddressFree", &unreserve) &&
                find(library, "cuMemCreate", &create) && find(library, "cuMemRelease", &forget) &&
                find(library, "cuMemMap", &map) && find(library, "cuMemUnmap", &unmap) &&
                find(library, "cuMemSetAccess", &allow);
    }

    template <typename function> static bool find(void *library, const char *name, function *found)
    {
        *found = reinterpret_cast<function>(dlsym(library, name));
        return *found != nullptr;
    }
};

const driver &the_driver()
{
    static const driver made;

    return made;
}

/* Memory is mapped by whole pieces of so much. */
const uint64_t PIECE = 2ull << 20;

/* Smaller memory is allocated: the pool mostly has it, from smaller blocks that were given back. So rounding up to a whole piece
 * adds a sixteenth at most, which budgets do not count. */
const uint64_t LEAST = 16 * PIECE;

uint64_t pieces(uint64_t bytes)
{
    return (bytes + PIECE - 1) / PIECE * PIECE;
}

CUmemAllocationProp memory_of(const bh__gpu *gpu)
{
    CUmemAllocationProp properties = {};

    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = gpu->device;
    return properties;
}

/* The reservation that an address lies in, or NULL: it was allocated. It stays while its block exists. */
bh_reservation *reservation_of(bh__gpu *gpu, const void *at)
{
    std::lock_guard<std::mutex> list(gpu->reservations_held);
    bh_reservation *found = gpu->reservations;

    while (found && !((const unsigned char *)at >= found->memory &&
                      (const unsigned char *)at < found->memory + found->reserved))
        found = found->next;
    return found;
}

/* Puts memory under a piece of a reservation. */
CUresult put_under(const bh__gpu *gpu, CUdeviceptr at, uint64_t bytes)
{
    const driver &d = the_driver();
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp properties = memory_of(gpu);
    CUmemAccessDesc access = {};
    CUresult error;

    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    error = d.create(&handle, bytes, &properties, 0);
    if (error)
        return error;
    error = d.map(at, bytes, 0, handle, 0);
    /* The mapping keeps the memory. */
    (void)d.forget(handle);
    if (error)
        return error;
    error = d.allow(at, bytes, &access, 1);
    if (error)
        (void)d.unmap(at, bytes);
    return error;
}

} // namespace

uint64_t bh__gpu_reserve_least(bh__gpu *gpu)
{
    on_device here(gpu->device);
    const driver &d = the_driver();
    const CUmemAllocationProp properties = memory_of(gpu);
    CUdeviceptr at = 0;
    int supported = 0, works = 0;
    size_t least = 0;

    if (here.error || !d.there ||
        d.attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                    gpu->device) ||
        !supported || d.granularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ||
        !least || PIECE % least)
        return 0;
    /* Tried, because some drivers say that they support it, and refuse it all the same. */
    if (!d.reserve(&at, PIECE, PIECE, 0, 0)) {
        works = !put_under(gpu, at, PIECE) && !d.unmap(at, PIECE);
        (void)d.unreserve(at, PIECE);
    }
    return works ? LEAST : 0;
}

int bh__gpu_reserve(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    on_device here(gpu->device);
    const driver &d = the_driver();
    bh_reservation *made = here.error ? nullptr : new (std::nothrow) bh_reservation();
    CUdeviceptr at = 0;

    if (made && !d.reserve(&at, pieces(bytes), PIECE, 0, 0)) {
        std::lock_guard<std::mutex> list(gpu->reservations_held);

        made->memory = (unsigned char *)(uintptr_t)at;
        made->reserved = pieces(bytes);
        made->next = gpu->reservations;
        gpu->reservations = made;
        *memory = made->memory;
        return 0;
    }
    delete made;
    return (int)cudaErrorMemoryAllocation;
}

int bh__gpu_back(bh__gpu *gpu, void *at, uint64_t bytes)
{
    on_device here(gpu->device);
    bh_reservation *const found = reservation_of(gpu, at);
    uint64_t wanted;
    CUresult error;
    uint32_t i;

    if (here.error || !found)
        return here.error;
    wanted = pieces((uint64_t)((unsigned char *)at - found->memory) + bytes);
    if (wanted <= found->backed)
        return 0;
    error = put_under(gpu, (CUdeviceptr)(uintptr_t)(found->memory + found->backed),
                      wanted - found->backed);
    if (error == CUDA_ERROR_OUT_OF_MEMORY && !cudaStreamSynchronize(gpu->stream)) {
        /* The pools may have kept what they were given back. */
        for (i = 0; i < BH_MEMORIES; i++)
            (void)cudaMemPoolTrimTo(gpu->pool[i], 0);
        error = put_under(gpu, (CUdeviceptr)(uintptr_t)(found->memory + found->backed),
                          wanted - found->backed);
    }
    if (!error)
        found->backed = wanted;
    return error == CUDA_ERROR_OUT_OF_MEMORY ? (int)cudaErrorMemoryAllocation
           : error                           ? (int)cudaErrorUnknown
                                             : 0;
}

bool bh__gpu_unreserve(bh__gpu *gpu, void *memory, int *error)
{
    on_device here(gpu->device);
    const driver &d = the_driver();
    bh_reservation *found;
    bh_reservation **from;
    uint32_t i;

    {
        /* First off the list: whoever gets the address space next shall not find it there. */
        std::lock_guard<std::mutex> list(gpu->reservations_held);

        for (from = &gpu->reservations; *from && (*from)->memory != memory; from = &(*from)->next)
            ;
        found = *from;
        if (!found)
            return false;
        *from = found->next;
    }
    /* Unmapping does not wait for what the GPU still does there. */
    *error = here.error;
    for (i = 0; i < BH_LANES && !*error; i++)
        *error = (int)cudaStreamSynchronize(gpu->lane[i]);
    if (!*error && found->backed && d.unmap((CUdeviceptr)(uintptr_t)found->memory, found->backed))
        *error = (int)cudaErrorUnknown;
    /* Of a GPU that is lost the address space is lost, too. */
    if (!*error && d.unreserve((CUdeviceptr)(uintptr_t)found->memory, found->reserved))
        *error = (int)cudaErrorUnknown;
    delete found;
    return true;
}
