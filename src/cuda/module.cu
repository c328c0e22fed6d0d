/*
 * The module's own half of module.h: what it asks of the CUDA runtime.
 */
#include "cuda/gpu.h"

#include <new>

static const char *message(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

/* A call's thread may have been at work on another GPU. */
static int enter(const bh__gpu *gpu)
{
    return (int)cudaSetDevice(gpu->device);
}

static int count(int *devices)
{
    return (int)cudaGetDeviceCount(devices);
}

/* Memory that was given back stays in the device's pool for the next one to take it, and is
 * given back to the system by who waits when it is more than this. */
#define POOL_KEEPS (256ull << 20)

static int open(int device, void *stream, bh__gpu **made)
{
    bh__gpu *gpu = new (std::nothrow) bh__gpu;
    cudaError_t error = gpu ? cudaSetDevice(device) : cudaErrorMemoryAllocation;
    uint64_t keeps = POOL_KEEPS;
    cudaMemPool_t pool;

    if (!error && !(error = cudaDeviceGetDefaultMemPool(&pool, device)))
        error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keeps);
    if (!error) {
        gpu->device = device;
        gpu->own_stream = !stream;
        gpu->stream = (cudaStream_t)stream;
        if (!stream)
            error = cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking);
    }
    if (error) {
        delete gpu;
        return (int)error;
    }
    *made = gpu;
    return 0;
}

static void close(bh__gpu *gpu)
{
    (void)enter(gpu);
    (void)cudaStreamSynchronize(gpu->stream);
    if (gpu->own_stream)
        (void)cudaStreamDestroy(gpu->stream);
    delete gpu;
}

static int allocate(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    int error = enter(gpu);

    if (!error)
        error = (int)cudaMallocAsync(memory, bytes, gpu->stream);
    /* A refusal is no error of the calls that follow. */
    if (error)
        (void)cudaGetLastError();
    return error;
}

static int release(bh__gpu *gpu, void *memory)
{
    int error = enter(gpu);

    return error ? error : (int)cudaFreeAsync(memory, gpu->stream);
}

static int allocate_pinned(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    int error = enter(gpu);

    return error ? error : (int)cudaMallocHost(memory, bytes);
}

static int release_pinned(bh__gpu *gpu, void *memory)
{
    int error = enter(gpu);

    return error ? error : (int)cudaFreeHost(memory);
}

static int fill(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes)
{
    int error = enter(gpu);

    return error ? error : (int)cudaMemsetAsync(memory, byte, bytes, gpu->stream);
}

static int copy(bh__gpu *gpu, void *to, const void *from, uint64_t bytes)
{
    int error = enter(gpu);

    if (!error && bytes)
        error = (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu->stream);
    return error;
}

static int wait(bh__gpu *gpu)
{
    int error = enter(gpu);

    return error ? error : (int)cudaStreamSynchronize(gpu->stream);
}

static int where(bh__gpu *gpu, const void *memory, bh__where_is *answer)
{
    cudaPointerAttributes attributes;
    int error = enter(gpu);

    if (!error)
        error = (int)cudaPointerGetAttributes(&attributes, memory);
    if (error) {
        (void)cudaGetLastError();
        return error;
    }
    if (attributes.type == cudaMemoryTypeManaged)
        *answer = BH_IS_HERE;
    else if (attributes.type != cudaMemoryTypeDevice)
        *answer = BH_IS_HOST;
    else
        *answer = attributes.device == gpu->device ? BH_IS_HERE : BH_IS_ELSEWHERE;
    return 0;
}

template <typename T>
static __global__ void gather_kernel(T *to, const T *from, const uint32_t *names, uint64_t n)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n)
        to[i] = from[names[i]];
}

static __global__ void scatter_kernel(uint8_t *to, const uint8_t *from, const uint32_t *names,
                                      uint64_t n)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n)
        to[names[i]] = from[i];
}

static int gather(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t n)
{
    const unsigned blocks = bh__gpu_blocks(n);
    int error = enter(gpu);

    if (error || !n)
        return error;
    (void)cudaGetLastError();
    if (bytes == 8)
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>(
            (uint64_t *)to, (const uint64_t *)from, names, n);
    else if (bytes == 4)
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>(
            (uint32_t *)to, (const uint32_t *)from, names, n);
    else
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>(
            (uint8_t *)to, (const uint8_t *)from, names, n);
    return (int)cudaGetLastError();
}

static int scatter(bh__gpu *gpu, uint8_t *to, const uint8_t *from, const uint32_t *names,
                   uint64_t n)
{
    int error = enter(gpu);

    if (error || !n)
        return error;
    (void)cudaGetLastError();
    scatter_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, gpu->stream>>>(to, from, names, n);
    return (int)cudaGetLastError();
}

static const bh__cuda_kernels *kernels(const bh_table_options *o)
{
    if (o->design != BH_DYCUCKOO || o->dycuckoo.values_apart ||
        (o->key_bytes != 4 && o->key_bytes != 8) ||
        (o->value_bytes != 0 && o->value_bytes != 4 && o->value_bytes != 8))
        return NULL;
    return &bh__gpu_dycuckoo(o->key_bytes, o->value_bytes)->known;
}

static int slice(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                 bh__cuda_job *job, uint64_t n)
{
    int error = enter(gpu);

    (void)cudaGetLastError(); /* launches answer the last error, whoever made it */
    return error || !n ? error : ((const bh__gpu_kernels *)kernels)->slice[kind](gpu, job, n);
}

static int pass(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__pass pass, void *job,
                uint64_t items)
{
    int error = enter(gpu);

    (void)cudaGetLastError();
    return error || !items ? error : ((const bh__gpu_kernels *)kernels)->pass[pass](gpu, job, items);
}

extern "C" __attribute__((visibility("default"))) const bh__cuda_module bh__cuda_module_1;

const bh__cuda_module bh__cuda_module_1 = {
    BH__CUDA_MODULE_VERSION, message, count, open, close,  allocate, release, allocate_pinned,
    release_pinned,          fill,    copy,  wait, where,  gather,   scatter, kernels,
    slice,                   pass,
};
