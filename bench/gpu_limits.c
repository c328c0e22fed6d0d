/*
 * limits: the limits of the GPU itself, with which the other experiments are compared.
 *
 * Random accesses to memory as large as a table, on the device and in pinned memory of the host; and copying: on the device, from as many bytes to
 * as many others; and between it and pinned memory of the host, what a lookup of all keys would
 * read and write, in both directions at once.
 */
#include "on_gpu.h"

#define EXPERIMENT                                                                                 \
    .experiment = "limits", .design = "none", .state = "fresh", .hit_rate = NO_HIT_RATE

enum { ACCESSES = GPU_ACCESSES, COPY = GPU_ACCESSES, EXCHANGE, RESULTS };

/* The memory of a table for n keys; of as many pairs, where the design has none. */
static uint64_t table_bytes(const bench *b, uint64_t n)
{
    bh_table *table;
    uint64_t bytes;

    if (!gpu_table_of(b, n, &table))
        return n * (b->settings.key_bytes + b->settings.value_bytes);
    bytes = stats_of(table).bytes_total;
    bh_table_destroy(table);
    return bytes;
}

/* Billion bytes in a second, each counted once. */
static double exchange_rate(const bench *b, const mirrored *in, const mirrored *out)
{
    gpu_exchange e = {in->device, in->host, in->bytes, out->host, out->device, out->bytes};
    double begin = seconds(b);

    check_gpu(gpu_there->exchange(b->on_gpu->gpu, &e));
    return (double)(in->bytes + out->bytes) / (seconds(b) - begin) * 1e-9;
}

static void run_size(bench *b, uint64_t n)
{
    result results[RESULTS] = {
        [GPU_READ_64] = {EXPERIMENT, .name = "random 64-byte reads", .op = "read"},
        [GPU_READ_32] = {EXPERIMENT, .name = "random 32-byte reads", .op = "read"},
        [GPU_ADD_64] = {EXPERIMENT, .name = "random additions", .op = "add"},
        [GPU_FAR_READ_32] = {EXPERIMENT, .name = "zero-copy 32-byte reads", .op = "read"},
        [GPU_FAR_WRITE_8] = {EXPERIMENT, .name = "zero-copy 8-byte writes", .op = "write"},
        [GPU_FAR_WRITE_16] = {EXPERIMENT, .name = "zero-copy 16-byte writes", .op = "write"},
        [COPY] = {EXPERIMENT, .name = "copy on the device", .op = "copy", .figure = "GB/s"},
        [EXCHANGE] = {EXPERIMENT, .name = "copy in and out", .op = "copy", .figure = "GB/s"},
    };
    mirrored in = mirror(b, n, b->settings.key_bytes);
    mirrored out = mirror(b, n, b->settings.value_bytes + 1);
    const uint64_t bytes = table_bytes(b, n);
    uint32_t repetition, i;

    gpu_limits_for(b, bytes);
    gpu_far_limits_for(b, bytes);
    gpu_copying(b, bytes);
    exchange_rate(b, &in, &out);
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        for (i = 0; i < ACCESSES; i++)
            sample(&results[i].mops, gpu_limit(b, (gpu_access)i));
        sample(&results[COPY].value, (double)bytes / gpu_copying(b, bytes) * 1e-9);
        sample(&results[EXCHANGE].value, exchange_rate(b, &in, &out));
    }
    for (i = 0; i < RESULTS; i++) {
        results[i].keys = n;
        results[i].clock = i == EXCHANGE ? "wall" : "events";
        print(b, &results[i]);
    }
    mirror_free(b, &in);
    mirror_free(b, &out);
}

void run_gpu_limits(bench *b)
{
    uint64_t sizes[2];
    uint32_t count = gpu_sizes(b, sizes), i;

    for (i = 0; i < count; i++)
        run_size(b, sizes[i]);
}
