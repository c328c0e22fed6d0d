/*
 * The benchmark's own device code and what it asks of the CUDA runtime; see gpu.h.
 *
 * The limits are nearly all of the device code: kernels that do nothing but access random places. As many
 * threads as the GPU holds at once run until all accesses are done. A line is read by several threads
 * together, 16 bytes each, or by one thread alone; each thread has one or several lines on their way.
 * Which of these ways is best differs from GPU to GPU and with the size of the memory. The rest are a kernel
 * that compares arrays, and one that runs the cuckoo table of one_slot.h.
 */
#include "gpu.h"

#include <cuda_runtime.h>
#include <new>

#define BLOCK 256u

/* So many accesses that one run takes some milliseconds, and a launch far less. Multiples of the lines that any
 * thread has on their way. */
#define READS (UINT64_C(1) << 28)
#define ADDITIONS (UINT64_C(1) << 27)
#define FAR_ACCESSES (UINT64_C(1) << 25) /* a bus is some tens of times slower than the memory */

struct gpu {
    cudaStream_t stream;
    cudaStream_t other; /* for what goes out while the stream brings in */
    cudaEvent_t began;
    cudaEvent_t ended;
    unsigned *sink; /* where a sum would go */
    unsigned long long *count;
    cudaDeviceProp properties;
};

/* --- limits -------------------------------------------------------------------------------- */

/* As in limit.c. */
static __device__ uint64_t place_of(uint64_t i, uint64_t places)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return __umul64hi(x, places);
}

/* Lines of BYTES, each read by LANES threads; every thread has DEPTH of them on their way. What was
 * read is of no interest, but a compiler that knew would leave the reading out. */
template <unsigned BYTES, unsigned LANES, unsigned DEPTH>
static __global__ void read_lines(const uint4 *__restrict__ memory, uint64_t lines, uint64_t reads,
                                  unsigned *sink)
{
    const unsigned words = BYTES / sizeof(uint4), own = words / LANES;
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t groups = gridDim.x * (uint64_t)blockDim.x / LANES;
    const uint64_t lane = thread % LANES;
    unsigned seen = 0;

    for (uint64_t i = thread / LANES; i < reads / DEPTH; i += groups) {
        uint4 word[DEPTH][own];

#pragma unroll
        for (unsigned d = 0; d < DEPTH; d++) {
            const uint4 *line = memory + place_of(i * DEPTH + d, lines) * words + lane;

#pragma unroll
            for (unsigned w = 0; w < own; w++)
                word[d][w] = line[w * LANES];
        }
#pragma unroll
        for (unsigned d = 0; d < DEPTH; d++)
#pragma unroll
            for (unsigned w = 0; w < own; w++)
                seen ^= word[d][w].x ^ word[d][w].y ^ word[d][w].z ^ word[d][w].w;
    }
    if (seen == 0x9e3779b9u)
        *sink = seen;
}

struct addition {
    static __device__ void at(void *memory, uint64_t place)
    {
        atomicAdd((unsigned long long *)memory + place, 1ull);
    }
};

template <typename Word> struct write {
    static __device__ void at(void *memory, uint64_t place)
    {
        ((Word *)memory)[place] = Word();
    }
};

template <typename Change, unsigned DEPTH>
static __global__ void change_words(void *memory, uint64_t words, uint64_t changes)
{
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x;

    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < changes / DEPTH;
         i += threads) {
#pragma unroll
        for (unsigned d = 0; d < DEPTH; d++)
            Change::at(memory, place_of(i * DEPTH + d, words));
    }
}

typedef void (*read_kernel)(const uint4 *memory, uint64_t lines, uint64_t reads, unsigned *sink);
typedef void (*change_kernel)(void *memory, uint64_t words, uint64_t changes);

static const read_kernel reads_64[] = {
    read_lines<64, 4, 1>, read_lines<64, 4, 2>, read_lines<64, 4, 4>, read_lines<64, 4, 8>,
    read_lines<64, 1, 1>, read_lines<64, 1, 2>, read_lines<64, 1, 4>,
};
static const read_kernel reads_32[] = {
    read_lines<32, 2, 1>, read_lines<32, 2, 2>, read_lines<32, 2, 4>, read_lines<32, 2, 8>,
    read_lines<32, 1, 1>, read_lines<32, 1, 2>, read_lines<32, 1, 4>,
};
static const change_kernel additions[] = {change_words<addition, 1>, change_words<addition, 4>};
static const change_kernel writes_8[] = {change_words<write<uint2>, 1>,
                                         change_words<write<uint2>, 4>};
static const change_kernel writes_16[] = {change_words<write<uint4>, 1>,
                                          change_words<write<uint4>, 4>};

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(array)[0])

/* As many blocks as the GPU holds at once. */
template <typename Kernel>
static cudaError_t blocks_of(const gpu *g, Kernel kernel, unsigned *blocks)
{
    int each = 0;
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, (int)BLOCK, 0);

    *blocks = (unsigned)(g->properties.multiProcessorCount * (each > 0 ? each : 1));
    return error;
}

static int begin(gpu *g)
{
    cudaError_t error = cudaStreamSynchronize(g->stream);

    return (int)(error ? error : cudaEventRecord(g->began, g->stream));
}

static int end(gpu *g, double *seconds)
{
    float milliseconds = 0;
    cudaError_t error = cudaEventRecord(g->ended, g->stream);

    if (!error)
        error = cudaEventSynchronize(g->ended);
    if (!error)
        error = cudaEventElapsedTime(&milliseconds, g->began, g->ended);
    *seconds = milliseconds * 1e-3;
    return (int)error;
}

/* How each access is measured: by one of the kernels of either list. */
static const struct {
    const read_kernel *read;
    const change_kernel *change;
    uint64_t bytes;
    uint64_t count;
} kinds[GPU_ACCESSES] = {
    {reads_64, NULL, 64, READS},       {reads_32, NULL, 32, READS},
    {NULL, additions, 8, ADDITIONS},   {reads_32, NULL, 32, FAR_ACCESSES},
    {NULL, writes_8, 8, FAR_ACCESSES}, {NULL, writes_16, 16, FAR_ACCESSES},
};

static int access_memory(gpu *g, gpu_access access, uint32_t way, void *memory, uint64_t bytes,
                         double *rate)
{
    const read_kernel read = kinds[access].read ? kinds[access].read[way] : NULL;
    const change_kernel change = kinds[access].change ? kinds[access].change[way] : NULL;
    const uint64_t places = bytes / kinds[access].bytes, count = kinds[access].count;
    unsigned blocks = 0;
    double seconds = 0;
    int error = (int)(read ? blocks_of(g, read, &blocks) : blocks_of(g, change, &blocks));

    (void)cudaGetLastError();
    if (!error)
        error = begin(g);
    if (error)
        return error;
    if (read)
        read<<<blocks, BLOCK, 0, g->stream>>>((const uint4 *)memory, places, count, g->sink);
    else
        change<<<blocks, BLOCK, 0, g->stream>>>(memory, places, count);
    error = (int)cudaGetLastError();
    if (!error)
        error = end(g, &seconds);
    *rate = (double)count / seconds * 1e-6;
    return error;
}

/* --- the runtime --------------------------------------------------------------------------- */

static const char *message(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

static void close_gpu(gpu *g)
{
    if (g->count)
        (void)cudaFree(g->count);
    if (g->sink)
        (void)cudaFree(g->sink);
    if (g->ended)
        (void)cudaEventDestroy(g->ended);
    if (g->began)
        (void)cudaEventDestroy(g->began);
    if (g->other)
        (void)cudaStreamDestroy(g->other);
    if (g->stream)
        (void)cudaStreamDestroy(g->stream);
    delete g;
}

static int open_gpu(int device, gpu **made)
{
    gpu *g = new (std::nothrow) gpu();
    cudaError_t error = g ? cudaSetDevice(device) : cudaErrorMemoryAllocation;

    if (!g)
        return (int)error;
    if (!error)
        error = cudaGetDeviceProperties(&g->properties, device);
    if (!error)
        error = cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking);
    if (!error)
        error = cudaStreamCreateWithFlags(&g->other, cudaStreamNonBlocking);
    if (!error)
        error = cudaEventCreate(&g->began);
    if (!error)
        error = cudaEventCreate(&g->ended);
    if (!error)
        error = cudaMalloc((void **)&g->sink, sizeof *g->sink);
    if (!error)
        error = cudaMalloc((void **)&g->count, sizeof *g->count);
    if (error) {
        close_gpu(g);
        return (int)error;
    }
    *made = g;
    return 0;
}

static const char *name_of(const gpu *g)
{
    return g->properties.name;
}

static void *stream_of(const gpu *g)
{
    return g->stream;
}

/* An allocation that is refused is an answer, and no error of the next launch. */
static int forgotten(cudaError_t error)
{
    (void)cudaGetLastError();
    return (int)error;
}

static int allocate(gpu *g, uint64_t bytes, void **memory)
{
    (void)g;
    return forgotten(cudaMalloc(memory, bytes));
}

static int release(gpu *g, void *memory)
{
    (void)g;
    return (int)cudaFree(memory);
}

static int allocate_pinned(gpu *g, uint64_t bytes, void **memory)
{
    (void)g;
    return forgotten(cudaMallocHost(memory, bytes));
}

static int release_pinned(gpu *g, void *memory)
{
    (void)g;
    return (int)cudaFreeHost(memory);
}

static int fill(gpu *g, void *memory, uint8_t byte, uint64_t bytes)
{
    return (int)cudaMemsetAsync(memory, byte, bytes, g->stream);
}

static int copy(gpu *g, void *to, const void *from, uint64_t bytes)
{
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, g->stream);
}

static int wait(gpu *g)
{
    return (int)cudaStreamSynchronize(g->stream);
}

static int exchange(gpu *g, const gpu_exchange *e)
{
    cudaError_t error =
        cudaMemcpyAsync(e->in, e->in_from, e->in_bytes, cudaMemcpyHostToDevice, g->stream);

    if (!error)
        error =
            cudaMemcpyAsync(e->out, e->out_from, e->out_bytes, cudaMemcpyDeviceToHost, g->other);
    if (!error)
        error = cudaStreamSynchronize(g->stream);
    if (!error)
        error = cudaStreamSynchronize(g->other);
    return (int)error;
}

static int unused(gpu *g, uint64_t *bytes)
{
    size_t free_bytes = 0, all = 0;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &all);

    (void)g;
    *bytes = free_bytes;
    return (int)error;
}

/* --- comparing ----------------------------------------------------------------------------- */

template <typename Element>
static __global__ void count_differing(const Element *__restrict__ array,
                                       const Element *__restrict__ expected, Element factor,
                                       uint64_t n, unsigned long long *count)
{
    const uint64_t threads = gridDim.x * (uint64_t)blockDim.x;
    unsigned long long differing = 0;

    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n; i += threads)
        differing += array[i] != (expected ? (Element)(expected[i] * factor) : factor);
    if (differing)
        atomicAdd(count, differing);
}

template <typename Element> static cudaError_t compare(gpu *g, const gpu_comparison *c)
{
    unsigned blocks = 0;
    cudaError_t error = blocks_of(g, count_differing<Element>, &blocks);

    if (error)
        return error;
    count_differing<Element><<<blocks, BLOCK, 0, g->stream>>>((const Element *)c->array,
                                                              (const Element *)c->expected,
                                                              (Element)c->factor, c->n, g->count);
    return cudaGetLastError();
}

static int differing(gpu *g, const gpu_comparison *c, uint64_t *count)
{
    unsigned long long counted = 0;
    cudaError_t error = cudaMemsetAsync(g->count, 0, sizeof *g->count, g->stream);

    if (!error)
        error = c->bytes == 4 ? compare<uint32_t>(g, c) : compare<uint64_t>(g, c);
    if (!error)
        error =
            cudaMemcpyAsync(&counted, g->count, sizeof counted, cudaMemcpyDeviceToHost, g->stream);
    if (!error)
        error = cudaStreamSynchronize(g->stream);
    *count = counted;
    return (int)error;
}

/* --- the cuckoo table to compare with ------------------------------------------------------- */

static __global__ void run_one_slot(one_slot_call c)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < c.n)
        one_slot_element(&c, i);
}

static int one_slot(gpu *g, const one_slot_call *c)
{
    run_one_slot<<<(unsigned)((c->n + BLOCK - 1) / BLOCK), BLOCK, 0, g->stream>>>(*c);
    return (int)cudaGetLastError();
}

static const gpu_functions functions = {
    message,
    open_gpu,
    close_gpu,
    name_of,
    stream_of,
    allocate,
    release,
    allocate_pinned,
    release_pinned,
    fill,
    copy,
    wait,
    begin,
    end,
    {COUNT(reads_64), COUNT(reads_32), COUNT(additions), COUNT(reads_32), COUNT(writes_8),
     COUNT(writes_16)},
    access_memory,
    exchange,
    unused,
    differing,
    one_slot,
};

extern "C" const gpu_functions *const gpu_there = &functions;
