/*
 * The module's own half of module.h: what it asks of the CUDA runtime.
 */
#include "base/atomic.h"
#include "cuda/device/gpu.h"

#include <chrono>
#include <new>

static const char *message(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

static int count(int *devices)
{
    return (int)cudaGetDeviceCount(devices);
}

/* How much memory that was freed stays in its pool for the next allocation; the rest goes back to the device.
 * Of tables' memory little stays, because other allocations may need it. A call's temporary memory is needed
 * again by the next call, and mapping it anew takes 3 ms for each GB on an H200, as long as building a table
 * of that size: of this memory a sixteenth of the device's stays. */
#define POOL_KEEPS (256ull << 20)
#define POOL_KEEPS_OF 16

static void close(bh__gpu *gpu)
{
    on_device here(gpu->device);
    uint32_t i;

    for (i = 0; i < BH_LANES; i++) {
        if (gpu->lane[i])
            (void)cudaStreamSynchronize(gpu->lane[i]);
        if (gpu->reached[i])
            (void)cudaEventDestroy(gpu->reached[i]);
        if (gpu->lane[i] && (i != BH_LANE_RUN || gpu->own_stream))
            (void)cudaStreamDestroy(gpu->lane[i]);
    }
    for (i = 0; i < BH_MEMORIES; i++)
        if (gpu->pool[i])
            (void)cudaMemPoolDestroy(gpu->pool[i]);
    delete gpu;
}

/* Makes the context's pools; the device's default pool is left to the program. */
static int open_pools(bh__gpu *gpu)
{
    uint64_t keeps[BH_MEMORIES] = {POOL_KEEPS, 0};
    cudaMemPoolProps props = {};
    cudaDeviceProp device;
    uint32_t i;
    int error = (int)cudaGetDeviceProperties(&device, gpu->device);

    if (!error)
        keeps[BH_MEMORY_CALL] = device.totalGlobalMem / POOL_KEEPS_OF;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = gpu->device;
    for (i = 0; i < BH_MEMORIES && !error; i++) {
        error = (int)cudaMemPoolCreate(&gpu->pool[i], &props);
        if (!error)
            error = (int)cudaMemPoolSetAttribute(gpu->pool[i], cudaMemPoolAttrReleaseThreshold,
                                                 &keeps[i]);
    }
    return error;
}

static __global__ void report_kernel(bh__cuda_done *to, const bh__cuda_done *from,
                                     bh__cuda_done *next);

/* Whether the kernels that the GPU runs wait in bh_cuda_follow: that was compiled in for this GPU or for one before it that
 * can do it. All of the module's kernels are compiled for the same GPUs. */
static uint32_t overlaps(void)
{
    cudaFuncAttributes attributes;
    const int known = !cudaFuncGetAttributes(&attributes, report_kernel);

    (void)cudaGetLastError();
    return known && attributes.ptxVersion >= 90;
}

static int open(int device, void *stream, bh__gpu **made)
{
    on_device here(device);
    bh__gpu *gpu = new (std::nothrow) bh__gpu();
    int error = here.error;
    int processors = 0, threads = 0;
    uint32_t i;

    if (!gpu)
        return (int)cudaErrorMemoryAllocation;
    if (!error)
        error = (int)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (!error)
        error =
            (int)cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device);
    if (!error)
        error = (int)cudaDeviceGetAttribute(&gpu->shares_managed,
                                            cudaDevAttrConcurrentManagedAccess, device);
    gpu->processors = (uint32_t)processors;
    gpu->overlaps = overlaps();
    gpu->threads = (uint32_t)(processors * threads);
    gpu->device = device;
    gpu->own_stream = !stream;
    gpu->lane[BH_LANE_RUN] = (cudaStream_t)stream;
    if (!error)
        error = open_pools(gpu);
    for (i = 0; i < BH_LANES && !error; i++) {
        if (i != BH_LANE_RUN || gpu->own_stream)
            error = (int)cudaStreamCreateWithFlags(&gpu->lane[i], cudaStreamNonBlocking);
        if (!error)
            error = (int)cudaEventCreateWithFlags(&gpu->reached[i], cudaEventDisableTiming);
    }
    gpu->stream = gpu->lane[BH_LANE_RUN];
    if (error)
        close(gpu);
    else
        *made = gpu;
    return error;
}

static int allocate(bh__gpu *gpu, bh__memory_of of, uint64_t bytes, void **memory)
{
    on_device here(gpu->device);
    int error = here.error;

    if (!error)
        error = (int)cudaMallocFromPoolAsync(memory, bytes, gpu->pool[of], gpu->stream);
    /* What the pools have to give back they give back while somebody waits. */
    if (error == cudaErrorMemoryAllocation && !cudaStreamSynchronize(gpu->stream))
        error = (int)cudaMallocFromPoolAsync(memory, bytes, gpu->pool[of], gpu->stream);
    /* A refusal is no error of the calls that follow. */
    if (error)
        (void)cudaGetLastError();
    return error;
}

static int release(bh__gpu *gpu, void *memory)
{
    on_device here(gpu->device);
    int error;

    if (bh__gpu_unreserve(gpu, memory, &error))
        return error;
    return here.error ? here.error : (int)cudaFreeAsync(memory, gpu->stream);
}

static int allocate_pinned(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    on_device here(gpu->device);

    return here.error ? here.error : (int)cudaMallocHost(memory, bytes);
}

static int release_pinned(bh__gpu *gpu, void *memory)
{
    on_device here(gpu->device);

    return here.error ? here.error : (int)cudaFreeHost(memory);
}

static int can_pin(bh__gpu *gpu, int *pins)
{
    int maps = 0, same_address = 0;
    int error = (int)cudaDeviceGetAttribute(&maps, cudaDevAttrCanMapHostMemory, gpu->device);

    if (!error)
        error = (int)cudaDeviceGetAttribute(
            &same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, gpu->device);
    *pins = maps && same_address;
    return error;
}

static int pin(bh__gpu *gpu, void *memory, uint64_t bytes)
{
    on_device here(gpu->device);
    int error = here.error;

    if (!error)
        error = (int)cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
    /* A refusal is no error of the calls that follow. */
    if (error)
        (void)cudaGetLastError();
    return error;
}

static int unpin(bh__gpu *gpu, void *memory)
{
    on_device here(gpu->device);
    int error = here.error;
    uint32_t i;

    for (i = 0; i < BH_LANES && !error; i++)
        error = (int)cudaStreamSynchronize(gpu->lane[i]);
    return error ? error : (int)cudaHostUnregister(memory);
}

static int fill(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes)
{
    on_device here(gpu->device);

    return here.error ? here.error : (int)cudaMemsetAsync(memory, byte, bytes, gpu->stream);
}

static int copy(bh__gpu *gpu, uint32_t lane, void *to, const void *from, uint64_t bytes)
{
    on_device here(gpu->device);

    if (here.error || !bytes)
        return here.error;
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu->lane[lane]);
}

/* One block. A copy by the runtime would wait at the GPU's copy engine behind a part of some caller's array,
 * and the host, which waits for this copy, could not queue the next part in time. */
static __global__ void carry_kernel(uint64_t *to, const uint64_t *from, uint32_t words)
{
    uint32_t i;

    for (i = threadIdx.x; i < words; i += blockDim.x)
        to[i] = from[i];
}

static int carry(bh__gpu *gpu, void *to, const void *from, uint64_t bytes)
{
    on_device here(gpu->device);

    if (here.error)
        return here.error;
    (void)cudaGetLastError();
    carry_kernel<<<1, 512, 0, gpu->stream>>>((uint64_t *)to, (const uint64_t *)from,
                                             (uint32_t)(bytes / sizeof(uint64_t)));
    return (int)cudaGetLastError();
}

static int follow(bh__gpu *gpu, uint32_t lane, uint32_t other)
{
    on_device here(gpu->device);
    int error = here.error;

    /* Another thread may record the event anew before the lane waits for it: then the lane waits for
     * more than it must. */
    if (!error)
        error = (int)cudaEventRecord(gpu->reached[other], gpu->lane[other]);
    return error ? error : (int)cudaStreamWaitEvent(gpu->lane[lane], gpu->reached[other], 0);
}

static int wait(bh__gpu *gpu, uint32_t lane)
{
    on_device here(gpu->device);

    return here.error ? here.error : (int)cudaStreamSynchronize(gpu->lane[lane]);
}

static int where(bh__gpu *gpu, const void *memory, bh__where_is *answer)
{
    cudaPointerAttributes attributes;
    on_device here(gpu->device);
    int error = here.error;

    if (!error)
        error = (int)cudaPointerGetAttributes(&attributes, memory);
    if (error) {
        (void)cudaGetLastError();
        return error;
    }
    if (attributes.type == cudaMemoryTypeManaged)
        *answer = BH_IS_HERE;
    else if (attributes.type == cudaMemoryTypeHost)
        *answer = BH_IS_PINNED;
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

template <typename T>
static __global__ void scatter_kernel(T *to, const T *from, const uint32_t *names, uint64_t n)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n)
        to[names[i]] = from[i];
}

static int gather(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t n)
{
    const unsigned blocks = bh__gpu_blocks(n);
    on_device here(gpu->device);
    int error = here.error;

    if (error || !n)
        return error;
    (void)cudaGetLastError();
    if (bytes == 8)
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint64_t *)to,
                                                                 (const uint64_t *)from, names, n);
    else if (bytes == 4)
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint32_t *)to,
                                                                 (const uint32_t *)from, names, n);
    else
        gather_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint8_t *)to,
                                                                 (const uint8_t *)from, names, n);
    return (int)cudaGetLastError();
}

static int scatter(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                   uint64_t n)
{
    const unsigned blocks = bh__gpu_blocks(n);
    on_device here(gpu->device);
    int error = here.error;

    if (error || !n)
        return error;
    (void)cudaGetLastError();
    if (bytes == 8)
        scatter_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint64_t *)to,
                                                                  (const uint64_t *)from, names, n);
    else if (bytes == 4)
        scatter_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint32_t *)to,
                                                                  (const uint32_t *)from, names, n);
    else
        scatter_kernel<<<blocks, BH_CUDA_BLOCK, 0, gpu->stream>>>((uint8_t *)to,
                                                                  (const uint8_t *)from, names, n);
    return (int)cudaGetLastError();
}

#ifdef BH_CUDA_COMPARED
/* The kernels with those of slices replaced by a schedule's. A schedule has one pair of widths, so the kernels
 * made for the first table serve all. */
static bh__gpu_kernels with(const bh__gpu_kernels *kernels, const bh__gpu_schedule *schedule)
{
    bh__gpu_kernels all = *kernels;

    all.by_region = nullptr;
    all.find_at_once = nullptr;
    all.claim = nullptr;
    all.present = nullptr;
    all.known.has_present = all.known.has_regions = 0;
    for (int i = 0; i < BH_SLICE_KINDS; i++)
        all.slice[i] = schedule->slice[i];
    return all;
}
#endif

#define BH_EACH_DESIGN "cuda/device/module_design.h"
#include "tables/designs.h"

static const bh__cuda_kernels *kernels(const bh_table_options *o)
{
    const bh__gpu_kernels *k = nullptr;

#define BH_EACH_DESIGN "cuda/device/module_choice.h"
#include "tables/designs.h"
    return k ? &k->known : nullptr;
}

/* Whether there are enough elements for stages, or the others need not be launched where the first does all. */
static int is_staged(const bh__cuda_job *job)
{
    return job->asks || job->count >= BH_CUDA_SIFT_LEAST;
}

/* Whether a slice begins with what it does to keys that are there: one operation for all, which inserts
 * nothing, or of which the host expects that it inserts little. */
static int begins_with_present(const bh__gpu_kernels *k, bh__slice_kind kind,
                               const bh__cuda_job *job)
{
    if (!k->present || kind == BH_SLICE_FIND || job->slice.ops || job->again)
        return 0;
    return !BH_OP_INSERTS(job->slice.op) || (job->few_new && is_staged(job));
}

/* Whether elements may claim places without locks; and whether all begin with that. */
static int may_claim(const bh__gpu_kernels *k, const bh__cuda_job *job)
{
    return k->claim && !job->slice.ops && BH_OP_INSERTS(job->slice.op) &&
           (job->slice.hints & BH_HINT_CLAIMS);
}

static int claims(const bh__gpu_kernels *k, const bh__cuda_job *job)
{
    return may_claim(k, job) && !job->one_kernel;
}

/* Whether what claims have listed is gone through by claims again, which are other ones then. */
static int claims_again(const bh__gpu_kernels *k, const bh__cuda_job *job)
{
    return k->claims_again && may_claim(k, job);
}

/* The stages behind the first one. */
static int rest(bh__gpu *gpu, const bh__gpu_kernels *k, bh__slice_kind kind,
                const bh__cuda_job *job)
{
    int error;

    if (!claims_again(k, job))
        return k->rest[kind](gpu, job, job->count);
    error = k->claim(gpu, job, job->slice.op, job->count, BH__CUDA_HOME_FULL);
    return error ? error : bh__gpu_behind(k->rest[kind](gpu, job, job->count));
}

/* The stages, of elements in the list of those whose keys are absent. */
static int absent(bh__gpu *gpu, const bh__gpu_kernels *k, bh__slice_kind kind,
                  const bh__cuda_job *job)
{
    int error;

    if (!claims(k, job))
        return k->stages[kind](gpu, job, job->count, BH__CUDA_ABSENT);
    error = k->claim(gpu, job, job->slice.op, job->count, BH__CUDA_ABSENT);
    return error ? error : bh__gpu_behind(rest(gpu, k, kind, job));
}

/* Behind which launches stages may be held back. */
enum { HELD_NONE, HELD_PRESENT, HELD_REGIONS, HELD_CLAIMS };

static int launch_held(bh__gpu *gpu, const bh__gpu_kernels *k, bh__slice_kind kind,
                       const bh__cuda_job *job, int held)
{
    if (held == HELD_CLAIMS)
        return k->rest[kind](gpu, job, job->count);
    return held == HELD_PRESENT || k->regions_leave_absent ? absent(gpu, k, kind, job)
                                                           : rest(gpu, k, kind, job);
}

/* Launches the first stages of a slice that has held ones. Answers BH_GPU_DECLINED where it has none. */
static int launch_first(bh__gpu *gpu, const bh__gpu_kernels *k, bh__slice_kind kind,
                        const bh__cuda_job *job, int *held)
{
    int error = BH_GPU_DECLINED;

    *held = HELD_REGIONS;
    if (k->by_region && k->rest[kind] && kind != BH_SLICE_ERASE && kind != BH_SLICE_FIND)
        error = k->by_region(gpu, job, job->count);
    if (error == BH_GPU_DECLINED && begins_with_present(k, kind, job)) {
        *held = BH_OP_INSERTS(job->slice.op) ? HELD_PRESENT : HELD_NONE;
        error = k->present(gpu, job, job->slice.op, job->slice.hints, job->count);
    } else if (error == BH_GPU_DECLINED && claims(k, job)) {
        *held = HELD_CLAIMS;
        error = k->claim(gpu, job, job->slice.op, job->count, 0);
        if (!error && claims_again(k, job))
            error =
                bh__gpu_behind(k->claim(gpu, job, job->slice.op, job->count, BH__CUDA_HOME_FULL));
    }
    if (error)
        *held = HELD_NONE;
    return error;
}

static int slice(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                 const bh__cuda_job *job, int *held)
{
    const bh__gpu_kernels *k = (const bh__gpu_kernels *)kernels;
    on_device here(gpu->device);
    int error = here.error;

    *held = HELD_NONE;
    (void)cudaGetLastError(); /* launches answer the last error, also one of an earlier call */
    if (error || !job->count)
        return error;
    if (kind == BH_SLICE_FIND && k->find_at_once && (job->slice.hints & BH_HINT_AT_ONCE))
        return k->find_at_once(gpu, job, job->count);
    error = launch_first(gpu, k, kind, job, held);
    if (error == BH_GPU_DECLINED)
        return k->slice[kind](gpu, job, job->count);
    if (error || !*held || job->asks)
        return error;
    error = launch_held(gpu, k, kind, job, *held);
    *held = HELD_NONE;
    return bh__gpu_behind(error);
}

static int resume(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                  const bh__cuda_job *job, int held)
{
    on_device here(gpu->device);
    int error = here.error;

    (void)cudaGetLastError();
    return error ? error : launch_held(gpu, (const bh__gpu_kernels *)kernels, kind, job, held);
}

/* One warp, see `carry`. */
static __global__ void report_kernel(bh__cuda_done *to, const bh__cuda_done *from,
                                     bh__cuda_done *next)
{
    const uint32_t i = threadIdx.x;

    bh_cuda_follow();
    if (i < offsetof(bh__cuda_done, reported) / 8) {
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
        ((uint64_t *)next)[i] = 0;
    }
    __syncwarp();
    if (i == 0) {
        __threadfence_system(); /* behind all that the warp, and kernels before it, have written */
        *(volatile uint64_t *)&to->reported = 1;
    }
}

static int report(bh__gpu *gpu, bh__cuda_done *to, const bh__cuda_done *from, bh__cuda_done *next)
{
    static_assert(sizeof(bh__cuda_done) % 8 == 0 && sizeof(bh__cuda_done) / 8 <= 32, "one warp");
    on_device here(gpu->device);

    if (here.error)
        return here.error;
    (void)cudaGetLastError();
    return bh__gpu_follow(gpu, 1, 32, 0, report_kernel, to, from, next);
}

/* Looking at the word takes 3 us less than the runtime takes to say that the stream has come to its end; after so long a
 * time that is little. Chosen, not tuned. */
#define LOOKS_FOR std::chrono::microseconds(200)

static int await(bh__gpu *gpu, const bh__cuda_done *to)
{
    const auto until = std::chrono::steady_clock::now() + LOOKS_FOR;

    /* The host may not touch managed memory before the runtime has said that the GPU is idle. */
    if (!gpu->shares_managed)
        return wait(gpu, BH_LANE_RUN);
    do {
        for (int i = 0; i < 64; i++)
            if (bh__atomic_load(&to->reported, __ATOMIC_ACQUIRE))
                return 0;
    } while (std::chrono::steady_clock::now() < until);
    return wait(gpu, BH_LANE_RUN);
}

static int pass(bh__gpu *gpu, const bh__cuda_kernels *kernels, uint32_t pass, void *job,
                uint64_t items)
{
    on_device here(gpu->device);
    int error = here.error;

    (void)cudaGetLastError();
    return error || !items ? error
                           : ((const bh__gpu_kernels *)kernels)->pass[pass](gpu, job, items);
}

static int survey(bh__gpu *gpu, const bh__cuda_kernels *kernels, const bh__cuda_job *job)
{
    const bh__gpu_kernels *k = (const bh__gpu_kernels *)kernels;
    on_device here(gpu->device);
    int error = here.error;

    (void)cudaGetLastError();
    return error || !job->count ? error : k->survey(gpu, job, job->count);
}

static int effects(bh__gpu *gpu, bh__effects_step step, const bh__effects *e)
{
    on_device here(gpu->device);
    int error = here.error;

    (void)cudaGetLastError();
    return error || !e->runs.elements ? error : bh__gpu_effects(gpu, step, e);
}

static __global__ void number_ops_kernel(uint32_t *numbers, const uint8_t *ops, uint32_t bits,
                                         uint64_t n)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n)
        numbers[i] = (uint32_t)ops[i] << bits | (bits ? numbers[i] & ((1u << bits) - 1) : 0);
}

static int number_ops(bh__gpu *gpu, uint32_t *numbers, const uint8_t *ops, uint32_t bits,
                      uint64_t n)
{
    on_device here(gpu->device);

    if (here.error || !n)
        return here.error;
    (void)cudaGetLastError();
    number_ops_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, gpu->stream>>>(numbers, ops, bits, n);
    return (int)cudaGetLastError();
}

static __global__ void begins_kernel(uint64_t *begins, const uint32_t *sorted, uint32_t bits,
                                     uint64_t n)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n && (i == 0 || sorted[i - 1] >> bits != sorted[i] >> bits))
        begins[sorted[i] >> bits & 15u] = i;
}

static int begins(bh__gpu *gpu, uint64_t *begins, const uint32_t *sorted, uint32_t bits, uint64_t n)
{
    on_device here(gpu->device);

    if (here.error || !n)
        return here.error;
    (void)cudaGetLastError();
    begins_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, gpu->stream>>>(begins, sorted, bits, n);
    return (int)cudaGetLastError();
}

static __global__ void first_outside_kernel(const uint8_t *ops, uint64_t n, uint32_t allowed,
                                            unsigned long long *first)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;

    if (i < n && (ops[i] >= BH_OPS || !(allowed >> ops[i] & 1)))
        atomicMin(first, (unsigned long long)i);
}

static int first_outside(bh__gpu *gpu, const uint8_t *ops, uint64_t n, uint32_t allowed,
                         uint64_t *first)
{
    on_device here(gpu->device);
    uint64_t found = n;
    void *memory = NULL;
    int error = here.error;

    if (!error)
        error = (int)cudaMallocFromPoolAsync(&memory, sizeof found, gpu->pool[BH_MEMORY_CALL],
                                             gpu->stream);
    if (error) {
        (void)cudaGetLastError();
        return error;
    }
    error = (int)cudaMemcpyAsync(memory, &found, sizeof found, cudaMemcpyDefault, gpu->stream);
    if (!error) {
        (void)cudaGetLastError();
        first_outside_kernel<<<bh__gpu_blocks(n), BH_CUDA_BLOCK, 0, gpu->stream>>>(
            ops, n, allowed, (unsigned long long *)memory);
        error = (int)cudaGetLastError();
    }
    if (!error)
        error = (int)cudaMemcpyAsync(&found, memory, sizeof found, cudaMemcpyDefault, gpu->stream);
    (void)cudaFreeAsync(memory, gpu->stream);
    if (!error)
        error = (int)cudaStreamSynchronize(gpu->stream);
    *first = found;
    return error;
}

extern "C" __attribute__((visibility("default"))) const bh__cuda_module bh__cuda_module_1;

const bh__cuda_module bh__cuda_module_1 = {
    .version = BH__CUDA_MODULE_VERSION,
    .part = 1u << 20,
    .message = message,
    .count = count,
    .open = open,
    .close = close,
    .allocate = allocate,
    .release = release,
    .reserve_least = bh__gpu_reserve_least,
    .reserve = bh__gpu_reserve,
    .back = bh__gpu_back,
    .allocate_pinned = allocate_pinned,
    .release_pinned = release_pinned,
    .can_pin = can_pin,
    .pin = pin,
    .unpin = unpin,
    .fill = fill,
    .copy = copy,
    .carry = carry,
    .follow = follow,
    .wait = wait,
    .where = where,
    .gather = gather,
    .scatter = scatter,
    .kernels = kernels,
    .slice = slice,
    .resume = resume,
    .survey = survey,
    .report = report,
    .await = await,
    .pass = pass,
    .effects = effects,
    .number_ops = number_ops,
    .begins = begins,
    .first_outside = first_outside,
    .primitives = &bh__gpu_primitives,
};
