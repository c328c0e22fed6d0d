/*
 * In place of bench/gpu.cu: a GPU whose memory is that of the host, for the benchmark on the module
 * that needs no GPU (module.c). So that all of its experiments run, and every answer is checked,
 * wherever the tests run; its rates are of no interest.
 */
#define _POSIX_C_SOURCE 200809L
#include "../../bench/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ACCESSES 100000u
#define NO_MEMORY 1
#define UNUSED_BYTES                                                                               \
    (UINT64_C(1) << 20) /* so little that an experiment has to leave something out */

struct gpu {
    double began;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *message(int error)
{
    return error == NO_MEMORY ? "no memory" : "an error that there is not";
}

static int open_gpu(int device, gpu **made)
{
    (void)device;
    *made = calloc(1, sizeof **made);
    return *made ? 0 : NO_MEMORY;
}

static void close_gpu(gpu *g)
{
    free(g);
}

static const char *name_of(const gpu *g)
{
    (void)g;
    return "no GPU";
}

static void *stream_of(const gpu *g)
{
    (void)g;
    return NULL;
}

static int allocate(gpu *g, uint64_t bytes, void **memory)
{
    (void)g;
    *memory = malloc(bytes);
    if (!*memory)
        return NO_MEMORY;
    memset(*memory, 0xdd, bytes); /* nobody promised zeros */
    return 0;
}

static int release(gpu *g, void *memory)
{
    (void)g;
    free(memory);
    return 0;
}

static int fill(gpu *g, void *memory, uint8_t byte, uint64_t bytes)
{
    (void)g;
    memset(memory, byte, bytes);
    return 0;
}

static int copy(gpu *g, void *to, const void *from, uint64_t bytes)
{
    (void)g;
    memcpy(to, from, bytes);
    return 0;
}

static int wait_all(gpu *g)
{
    (void)g;
    return 0;
}

static int begin(gpu *g)
{
    g->began = now();
    return 0;
}

/* A clock may stand still between two looks at it, and a rate would be infinite. */
static int end(gpu *g, double *seconds)
{
    *seconds = now() - g->began + 1e-9;
    return 0;
}

static int access_memory(gpu *g, gpu_access access, uint32_t way, void *memory, uint64_t bytes,
                         double *rate)
{
    const uint64_t words = bytes / sizeof(uint64_t);
    volatile uint64_t *word = memory;
    double seconds;

    (void)way;
    begin(g);
    for (uint64_t i = 0; i < ACCESSES; i++) {
        if (access == GPU_ADD_64)
            word[i * 7919 % words]++;
        else if (access == GPU_FAR_WRITE_8 || access == GPU_FAR_WRITE_16)
            word[i * 7919 % words] = i;
        else
            (void)word[i * 7919 % words];
    }
    end(g, &seconds);
    *rate = ACCESSES / seconds * 1e-6;
    return 0;
}

static int exchange(gpu *g, const gpu_exchange *e)
{
    copy(g, e->in, e->in_from, e->in_bytes);
    return copy(g, e->out, e->out_from, e->out_bytes);
}

static int unused(gpu *g, uint64_t *bytes)
{
    (void)g;
    *bytes = UNUSED_BYTES;
    return 0;
}

static uint64_t load(const void *array, uint32_t bytes, uint64_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static int differing(gpu *g, const gpu_comparison *c, uint64_t *count)
{
    const uint64_t mask = c->bytes == 4 ? UINT32_MAX : UINT64_MAX;

    (void)g;
    *count = 0;
    for (uint64_t i = 0; i < c->n; i++) {
        uint64_t expected = c->factor;

        if (c->expected)
            expected *= load(c->expected, c->bytes, i);
        *count += load(c->array, c->bytes, i) != (expected & mask);
    }
    return 0;
}

static int one_slot(gpu *g, const one_slot_call *c)
{
    (void)g;
    for (uint64_t i = 0; i < c->n; i++)
        one_slot_element(c, i);
    return 0;
}

static const gpu_functions functions = {
    message,       open_gpu, close_gpu, name_of,   stream_of,
    allocate,      release,  allocate,  release,   fill,
    copy,          wait_all, begin,     end,       {2, 2, 1, 2, 1, 1},
    access_memory, exchange, unused,    differing, one_slot,
};

const gpu_functions *const gpu_there = &functions;
