/*
 * A module for GPUs (src/cuda/module.h) without a GPU: its device memory is memory of this
 * process which nobody may touch but the module, and its kernels are those of the scalar unit, run
 * by the thread that asks for them. So all that the library does on the host for a GPU (parts,
 * copies, what stalls, growth, errors) is tested wherever the tests run: BULKHASH_CUDA_MODULE
 * names this library (tests/CMakeLists.txt).
 *
 * BULKHASH_FAKE_FAIL=N makes the N-th request that may fail answer an error, before it does
 * anything; BULKHASH_FAKE_MEMORY=BYTES is how much device memory there is.
 */
#define _GNU_SOURCE
#include "cuda/module.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu/unit.h"
#include "tables/dycuckoo/layout.h"

enum { FAILED = 1, NO_MEMORY = 2, ALLOCATIONS_MOST = 4096 };

typedef struct allocation {
    unsigned char *memory;
    uint64_t bytes; /* whole pages */
} allocation;

struct bh__gpu {
    allocation list[ALLOCATIONS_MOST];
    uint32_t allocations;
    uint64_t used;
};

/* Of all contexts: memory is opened while any of them works, and requests are counted. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t requests, told;

static uint64_t number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : 0;
}

/* Begins a request; answers whether it shall fail. */
static bool begin(bh__gpu *gpu)
{
    uint64_t fail;

    pthread_mutex_lock(&mutex);
    fail = number("BULKHASH_FAKE_FAIL");
    if (fail != told) {
        told = fail;
        requests = 0;
    }
    if (++requests == fail) {
        pthread_mutex_unlock(&mutex);
        return false;
    }
    for (uint32_t i = 0; i < gpu->allocations; i++)
        mprotect(gpu->list[i].memory, gpu->list[i].bytes, PROT_READ | PROT_WRITE);
    return true;
}

static int end(bh__gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->allocations; i++)
        mprotect(gpu->list[i].memory, gpu->list[i].bytes, PROT_NONE);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static const char *message(int error)
{
    return error == NO_MEMORY ? "the fake GPU has no memory left" : "the fake GPU was told to fail";
}

static int count(int *devices)
{
    *devices = 1;
    return 0;
}

static int open_gpu(int device, void *stream, bh__gpu **gpu)
{
    (void)device;
    (void)stream;
    *gpu = calloc(1, sizeof **gpu);
    return *gpu ? 0 : NO_MEMORY;
}

static void close_gpu(bh__gpu *gpu)
{
    /* What was never released is a leak that LeakSanitizer would not see. */
    if (gpu->allocations)
        abort();
    free(gpu);
}

static int allocate(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    const uint64_t pages = (bytes + 4095) / 4096 * 4096, most = number("BULKHASH_FAKE_MEMORY");
    void *mapped;

    if (!begin(gpu))
        return FAILED;
    if ((most && gpu->used + pages > most) || gpu->allocations == ALLOCATIONS_MOST ||
        (mapped = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) ==
            MAP_FAILED) {
        end(gpu);
        return NO_MEMORY;
    }
    memset(mapped, 0xdd, pages); /* nobody promised zeros */
    gpu->list[gpu->allocations].memory = mapped;
    gpu->list[gpu->allocations++].bytes = pages;
    gpu->used += pages;
    *memory = mapped;
    return end(gpu);
}

static int release(bh__gpu *gpu, void *memory)
{
    uint32_t i = 0;

    if (!memory)
        return 0;
    pthread_mutex_lock(&mutex);
    while (i < gpu->allocations && gpu->list[i].memory != memory)
        i++;
    if (i == gpu->allocations)
        abort();
    gpu->used -= gpu->list[i].bytes;
    munmap(memory, gpu->list[i].bytes);
    gpu->list[i] = gpu->list[--gpu->allocations];
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int allocate_pinned(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    if (!begin(gpu))
        return FAILED;
    *memory = malloc(bytes);
    end(gpu);
    return *memory ? 0 : NO_MEMORY;
}

static int release_pinned(bh__gpu *gpu, void *memory)
{
    (void)gpu;
    free(memory);
    return 0;
}

static int fill(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes)
{
    if (!begin(gpu))
        return FAILED;
    memset(memory, byte, bytes);
    return end(gpu);
}

static int copy(bh__gpu *gpu, void *to, const void *from, uint64_t bytes)
{
    if (!begin(gpu))
        return FAILED;
    if (bytes)
        memcpy(to, from, bytes);
    return end(gpu);
}

static int wait_all(bh__gpu *gpu)
{
    (void)gpu;
    return 0;
}

static int where(bh__gpu *gpu, const void *memory, bh__where_is *answer)
{
    const unsigned char *at = memory;

    *answer = BH_IS_HOST;
    pthread_mutex_lock(&mutex);
    for (uint32_t i = 0; i < gpu->allocations; i++)
        if (at >= gpu->list[i].memory && at < gpu->list[i].memory + gpu->list[i].bytes)
            *answer = BH_IS_HERE;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int gather(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t n)
{
    if (!begin(gpu))
        return FAILED;
    for (uint64_t i = 0; i < n; i++)
        memcpy((char *)to + i * bytes, (const char *)from + (uint64_t)names[i] * bytes, bytes);
    return end(gpu);
}

static int scatter(bh__gpu *gpu, uint8_t *to, const uint8_t *from, const uint32_t *names,
                   uint64_t n)
{
    if (!begin(gpu))
        return FAILED;
    for (uint64_t i = 0; i < n; i++)
        to[names[i]] = from[i];
    return end(gpu);
}

typedef struct fake_kernels {
    bh__cuda_kernels known;
    const bh__kernels *scalar;
    uint32_t key_bytes;
    uint32_t value_bytes;
} fake_kernels;

static const bh__cuda_kernels *kernels(const bh_table_options *o)
{
    static fake_kernels made[2][3];
    fake_kernels *k;

    if (o->design != BH_DYCUCKOO || o->dycuckoo.values_apart || !bh__unit_scalar(o))
        return NULL;
    pthread_mutex_lock(&mutex);
    k = &made[o->key_bytes / 8][o->value_bytes / 4];
    k->scalar = bh__unit_scalar(o);
    k->key_bytes = o->key_bytes;
    k->value_bytes = o->value_bytes;
    k->known.descriptor_bytes = sizeof(bh_dy_geometry);
    k->known.job_bytes[BH_PASS_SPLIT] = k->known.job_bytes[BH_PASS_HOME] =
        k->known.job_bytes[BH_PASS_MERGE] = k->known.job_bytes[BH_PASS_RESIDUE] =
            sizeof(bh_dy_resize);
    k->known.job_bytes[BH_PASS_REINSERT] = sizeof(bh_dy_reinsert);
    k->known.job_bytes[BH_PASS_PLACE] = sizeof(bh__slice);
    k->known.job_bytes[BH_PASS_EXPORT] = sizeof(bh_dy_export);
    pthread_mutex_unlock(&mutex);
    return &k->known;
}

/* One element after the other, each a slice of its own. */
static int slice(bh__gpu *gpu, const bh__cuda_kernels *known, bh__slice_kind kind,
                 bh__cuda_job *job, uint64_t n)
{
    const fake_kernels *k = (const fake_kernels *)known;
    bh_system system;

    bh_system_default(&system);
    if (!begin(gpu))
        return FAILED;
    if (n != job->count)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t at = job->names ? job->names[i] : (uint32_t)i;
        bh__slice one = job->slice;
        uint16_t list[1];

        one.keys = (const char *)one.keys + (uint64_t)at * k->key_bytes;
        if (one.values)
            one.values = (const char *)one.values + (uint64_t)at * k->value_bytes;
        if (one.values_out)
            one.values_out = (char *)one.values_out + (uint64_t)at * k->value_bytes;
        if (one.outcomes)
            one.outcomes += at;
        if (one.ops)
            one.ops += at;
        one.system = &system;
        one.list = list;
        one.count = 1;
        one.listed = 0;
        one.ordered = 1; /* the kernel of mixed operations shall not sort one by kind */
        one.room = job->room >= n || job->room_taken++ < job->room;
        one.inserted = one.erased = one.assigned = 0;
        one.stalled_path = one.moved = 0;
        k->scalar->slice[kind](&one);
        if (one.stalled) {
            job->stalled[job->stalled_count++] = at;
        }
        job->moved |= one.moved;
        job->slice.inserted += one.inserted;
        job->slice.erased += one.erased;
        job->slice.assigned += one.assigned;
    }
    return end(gpu);
}

static int pass(bh__gpu *gpu, const bh__cuda_kernels *known, bh__pass pass, void *job,
                uint64_t items)
{
    const fake_kernels *k = (const fake_kernels *)known;

    if (!begin(gpu))
        return FAILED;
    if (pass == BH_PASS_PLACE) {
        bh_system system;

        bh_system_default(&system);
        ((bh__slice *)job)->system = &system;
    }
    k->scalar->pass[pass](job, 0, items);
    return end(gpu);
}

extern __attribute__((visibility("default"))) const bh__cuda_module bh__cuda_module_1;
const bh__cuda_module bh__cuda_module_1 = {
    BH__CUDA_MODULE_VERSION,
    message,
    count,
    open_gpu,
    close_gpu,
    allocate,
    release,
    allocate_pinned,
    release_pinned,
    fill,
    copy,
    wait_all,
    where,
    gather,
    scatter,
    kernels,
    slice,
    pass,
};
