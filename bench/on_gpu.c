/* What the experiments on a GPU share; see on_gpu.h. */
#include "on_gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"

void check_gpu(int error)
{
    char sentence[200];

    if (!error)
        return;
    snprintf(sentence, sizeof sentence, "the GPU refused: %.150s", gpu_there->message(error));
    fail(sentence);
}

uint32_t gpu_sizes(const bench *b, uint64_t sizes[2])
{
    sizes[0] = b->settings.keys;
    sizes[1] = GPU_CACHED_BYTES / (b->settings.key_bytes + b->settings.value_bytes);
    return sizes[0] > sizes[1] ? 2 : 1;
}

/* --- arrays -------------------------------------------------------------------------------- */

/* What all threads fill together. */
typedef struct filling {
    const bench *b;
    void *keys;
    void *absent;
    void *values;
    uint64_t n;
    uint32_t salt;
} filling;

static void fill_some(void *argument, uint64_t first, uint64_t count)
{
    const filling *f = argument;
    void *keys = key_at(f->b, f->keys, first);

    fill_keys(f->b, keys, first, count, f->salt);
    fill_keys(f->b, key_at(f->b, f->absent, first), f->n + first, count, f->salt);
    fill_values(f->b, value_at(f->b, f->values, first), keys, count);
}

void fill_mirrors(const bench *b, const mirrored *keys, const mirrored *absent,
                  const mirrored *values, uint64_t n, uint32_t salt)
{
    filling f = {b, keys->host, absent->host, values->host, n, salt};

    bh__run(&b->backend->executor, fill_some, &f, n, 1u << 16);
    to_device(b, keys);
    to_device(b, absent);
    to_device(b, values);
}

void *gpu_pinned(const bench *b, uint64_t bytes)
{
    void *memory;

    check_gpu(gpu_there->allocate_pinned(b->on_gpu->gpu, bytes, &memory));
    memset(memory, 0, bytes);
    return memory;
}

void gpu_free_pinned(const bench *b, void *memory)
{
    check_gpu(gpu_there->release_pinned(b->on_gpu->gpu, memory));
}

int mirror_where_possible(const bench *b, uint64_t n, uint64_t bytes, mirrored *m)
{
    gpu *g = b->on_gpu->gpu;

    m->bytes = n * bytes;
    if (n > UINT64_MAX / bytes || gpu_there->allocate_pinned(g, m->bytes, &m->host))
        return 0;
    if (gpu_there->allocate(g, m->bytes, &m->device)) {
        gpu_free_pinned(b, m->host);
        return 0;
    }
    memset(m->host, 0, m->bytes);
    return 1;
}

mirrored mirror(const bench *b, uint64_t n, uint64_t bytes)
{
    mirrored m = {NULL, NULL, n * bytes};

    if (!b->on_gpu)
        m.host = m.device = array(n, bytes);
    else if (!mirror_where_possible(b, n, bytes, &m))
        fail("not enough memory for the arrays of this many keys");
    return m;
}

void mirror_free(const bench *b, mirrored *m)
{
    if (!b->on_gpu) {
        free(m->host);
        return;
    }
    gpu_free_pinned(b, m->host);
    check_gpu(gpu_there->release(b->on_gpu->gpu, m->device));
}

static void copy(const bench *b, void *to, const void *from, uint64_t bytes)
{
    if (!b->on_gpu)
        return; /* both sides are the same memory */
    check_gpu(gpu_there->copy(b->on_gpu->gpu, to, from, bytes));
    check_gpu(gpu_there->wait(b->on_gpu->gpu));
}

void to_device(const bench *b, const mirrored *m)
{
    copy(b, m->device, m->host, m->bytes);
}

void to_host(const bench *b, const mirrored *m)
{
    copy(b, m->host, m->device, m->bytes);
}

void mirror_clear(const bench *b, const mirrored *m)
{
    memset(m->host, 0, m->bytes);
    to_device(b, m);
}

void check_outcomes(const uint8_t *outcomes, uint64_t n, bh_outcome is, uint64_t count)
{
    uint64_t counted = 0, i;

    for (i = 0; i < n; i++)
        counted += outcomes[i] == is;
    if (counted != count)
        fail("the outcomes of a call are not what they should be");
}

void check_half(const bench *b, const void *values, const uint8_t *outcomes, const void *keys,
                uint64_t n)
{
    static const char zero[8];
    uint64_t i;

    for (i = 0; i < n; i++) {
        const void *value = value_at(b, values, i);

        if (outcomes[i] != (i % 2 ? BH_FOUND : BH_MISSING))
            fail("the outcomes of a call are not what they should be");
        if (i % 2)
            check_values(b, value, key_at(b, keys, i), 1);
        else if (memcmp(value, zero, b->settings.value_bytes) != 0)
            fail("the value of a key that is not there was written");
    }
}

/* --- limits -------------------------------------------------------------------------------- */

static double access_rate(const bench *b, gpu_access access, uint32_t way)
{
    const on_gpu *g = b->on_gpu;
    const int far = access >= GPU_FAR;
    double rate = 0;

    check_gpu(gpu_there->access(g->gpu, access, way, far ? g->far : g->memory[0],
                                far ? g->far_bytes : g->memory_bytes, &rate));
    return rate;
}

double gpu_limit(const bench *b, gpu_access access)
{
    return access_rate(b, access, b->on_gpu->way[access]);
}

const char *gpu_limit_name(gpu_access access)
{
    static const char *const name[GPU_ACCESSES] = {
        "64-byte reads",           "32-byte reads",           "additions",
        "zero-copy 32-byte reads", "zero-copy 8-byte writes", "zero-copy 16-byte writes"};

    return name[access];
}

/* Of the accesses from `access` on, but `end`. The first time warms up. */
static void find_best_ways(const bench *b, int access, int end)
{
    for (; access < end; access++) {
        double best = 0;
        uint32_t way;

        access_rate(b, (gpu_access)access, 0);
        for (way = 0; way < gpu_there->ways[access]; way++) {
            double rate = access_rate(b, (gpu_access)access, way);

            if (rate > best) {
                best = rate;
                b->on_gpu->way[access] = way;
            }
        }
    }
}

static void free_limits(const bench *b)
{
    int i;

    for (i = 0; i < 2; i++) {
        if (b->on_gpu->memory[i])
            check_gpu(gpu_there->release(b->on_gpu->gpu, b->on_gpu->memory[i]));
        b->on_gpu->memory[i] = NULL;
    }
}

static void free_far_limits(const bench *b)
{
    if (b->on_gpu->far)
        gpu_free_pinned(b, b->on_gpu->far);
    b->on_gpu->far = NULL;
}

/* Whether the limits were measured over about so much memory. */
static int is_measured(const void *memory, uint64_t bytes, uint64_t wanted)
{
    return memory && fabs((double)wanted / (double)bytes - 1) < 0.05;
}

void gpu_limits_for(bench *b, uint64_t table_bytes)
{
    on_gpu *g = b->on_gpu;
    int i;

    if (is_measured(g->memory[0], g->memory_bytes, table_bytes))
        return;
    free_limits(b);
    g->memory_bytes = table_bytes;
    for (i = 0; i < 2; i++) {
        check_gpu(gpu_there->allocate(g->gpu, table_bytes, &g->memory[i]));
        check_gpu(gpu_there->fill(g->gpu, g->memory[i], 0, table_bytes));
    }
    find_best_ways(b, 0, GPU_FAR);
    if (!b->settings.json)
        printf("%s, pairs u%u->u%u in %.4g MB on %s; limits: 64-byte reads %.1f, 32-byte reads "
               "%.1f, additions %.1f G/s; %u repetitions\n",
               b->settings.design, 8 * b->settings.key_bytes, 8 * b->settings.value_bytes,
               (double)table_bytes * 1e-6, gpu_there->name(g->gpu),
               gpu_limit(b, GPU_READ_64) * 1e-3, gpu_limit(b, GPU_READ_32) * 1e-3,
               gpu_limit(b, GPU_ADD_64) * 1e-3, b->settings.repetitions);
}

void gpu_far_limits_for(bench *b, uint64_t slot_bytes)
{
    on_gpu *g = b->on_gpu;

    if (is_measured(g->far, g->far_bytes, slot_bytes))
        return;
    free_far_limits(b);
    g->far_bytes = slot_bytes;
    g->far = gpu_pinned(b, slot_bytes);
    find_best_ways(b, GPU_FAR, GPU_ACCESSES);
    if (!b->settings.json)
        printf(
            "%.4g MB of the host's memory, over the bus; limits: 32-byte reads %.2f, 8-byte writes "
            "%.2f, 16-byte writes %.2f G/s\n",
            (double)slot_bytes * 1e-6, gpu_limit(b, GPU_FAR_READ_32) * 1e-3,
            gpu_limit(b, GPU_FAR_WRITE_8) * 1e-3, gpu_limit(b, GPU_FAR_WRITE_16) * 1e-3);
}

double gpu_copying(const bench *b, uint64_t bytes)
{
    const on_gpu *g = b->on_gpu;
    double seconds_taken = 0;

    check_gpu(gpu_there->begin(g->gpu));
    check_gpu(gpu_there->copy(g->gpu, g->memory[1], g->memory[0],
                              bytes < g->memory_bytes ? bytes : g->memory_bytes));
    check_gpu(gpu_there->end(g->gpu, &seconds_taken));
    return seconds_taken;
}

/* --- tables and calls ---------------------------------------------------------------------- */

/* Whether it was done; ends the program if it should have been. */
static int done(bh_status status)
{
    if (status != BH_ERR_UNSUPPORTED)
        check(status);
    return !status;
}

static bh_table_options options_for(const bench *b, uint64_t capacity)
{
    bh_table_options options;

    bh_table_options_init(&options, b->settings.key_bytes, b->settings.value_bytes, capacity);
    options.design = b->settings.design_is;
    options.max_fill = b->settings.fill;
    return options;
}

int gpu_table_of(const bench *b, uint64_t capacity, bh_table **table)
{
    return gpu_scheduled_table_of(b, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_DEFAULT, capacity, table);
}

int gpu_scheduled_table_of(const bench *b, bh_schedule schedule, bh_gpu_schedule compared,
                           uint64_t capacity, bh_table **table)
{
    bh_table_options options = options_for(b, capacity);
    bh_experimental_options experimental;

    bh_experimental_options_init(&experimental);
    experimental.gpu_schedule = compared;
    options.experimental = &experimental;
    options.schedule = schedule;
    return gpu_table_with(b, &options, table);
}

int gpu_ordered_table_of(const bench *b, uint64_t capacity, bh_table **table)
{
    bh_table_options options = options_for(b, capacity);

    options.duplicates = BH_DUPLICATES_ORDERED;
    return gpu_table_with(b, &options, table);
}

int gpu_table_with(const bench *b, const bh_table_options *options, bh_table **table)
{
    return done(bh_table_create(b->context, options, table));
}

double gpu_bar(const bench *b, bh_design design, double bar)
{
    const settings *s = &b->settings;

    return s->design_is == design && s->key_bytes == 4 && s->value_bytes == 4 ? bar : 0;
}

void gpu_unsupported(result *results, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        results[i].unsupported = 1;
}

static bh_status export_all(const gpu_call *c)
{
    uint64_t cursor = 0, count;
    bh_status status =
        bh_export(c->table, &cursor, (void *)(uintptr_t)c->keys, c->values, c->n, &count);

    if (!status && count != c->n)
        fail("an export of everything is not everything");
    return status;
}

static bh_status call(const bench *b, const gpu_call *c, uint64_t first, uint64_t n)
{
    const void *keys = key_at(b, c->keys, first);
    void *values = value_at(b, c->values, first);
    uint8_t *outcomes = c->outcomes ? c->outcomes + first : NULL;

    switch (c->what) {
    case BH_FIND: return bh_find(c->table, keys, n, values, outcomes);
    case BH_INSERT: return bh_insert(c->table, keys, values, n, outcomes);
    case BH_INSERT_NEW: return bh_insert_new(c->table, keys, values, n, outcomes);
    case BH_FIND_OR_INSERT: return bh_find_or_insert(c->table, keys, values, n, outcomes);
    case BH_ERASE: return bh_erase(c->table, keys, n, outcomes);
    case GPU_APPLY: return bh_apply(c->table, c->ops + first, keys, values, n, outcomes);
    default: return bh_reduce(c->table, (bh_op)c->what, keys, values, n, outcomes);
    }
}

static bh_status calls(const bench *b, const gpu_call *c)
{
    bh_status status = BH_OK;
    uint32_t time;
    uint64_t i;

    if (c->what == GPU_EXPORT)
        return export_all(c);
    if (c->what == GPU_CLEAR)
        return bh_clear(c->table);
    if (c->what == GPU_SORT)
        return bh_sort(b->context, (void *)(uintptr_t)c->keys, b->settings.key_bytes, c->values,
                       b->settings.value_bytes, c->n);
    for (time = 0; time <= c->more; time++)
        for (i = 0; i < c->n && !status; i += c->part)
            status = call(b, c, i, c->n - i < c->part ? c->n - i : c->part);
    return status;
}

int gpu_timed(const bench *b, const gpu_call *c, double *taken)
{
    gpu *g = b->on_gpu ? b->on_gpu->gpu : NULL;
    double from;
    int was_done;

    if (c->on_wall || !g) {
        if (g)
            check_gpu(gpu_there->wait(g));
        from = seconds(b);
        was_done = done(calls(b, c));
        *taken = seconds(b) - from;
    } else {
        check_gpu(gpu_there->begin(g));
        was_done = done(calls(b, c));
        check_gpu(gpu_there->end(g, taken));
    }
    *taken /= c->more + 1.0;
    return was_done;
}

int gpu_measured(const bench *b, result *r, const gpu_call *c, gpu_access by, double *taken)
{
    double before = gpu_limit(b, by), seconds_taken;

    r->clock = c->on_wall ? "wall" : "events";
    r->limit_is = gpu_limit_name(by);
    r->batch = c->part;
    if (!gpu_timed(b, c, &seconds_taken)) {
        gpu_unsupported(r, 1);
        return 0;
    }
    enter_between(r, c->n, seconds_taken, before, gpu_limit(b, by));
    if (taken)
        *taken = seconds_taken;
    return 1;
}

int gpu_compared(const bench *b, result *r, const couple *c, const gpu_call *call,
                 const mirrored *outcomes, bh_outcome is, gpu_access by)
{
    gpu_call own = *call;
    double taken, beside;
    int i;

    for (i = 0; i < 2; i++) {
        if (i != c->table_first) {
            own.table = c->table;
            if (!gpu_measured(b, r, &own, by, &taken))
                return 0;
        } else {
            own.table = c->beside;
            if (!gpu_timed(b, &own, &beside)) {
                gpu_unsupported(r, 1);
                return 0;
            }
        }
        to_host(b, outcomes);
        check_outcomes(outcomes->host, own.n, is, own.n);
    }
    sample(&r->value, beside / taken);
    return 1;
}

/* --- begin and end ------------------------------------------------------------------------- */

#define WARM_KEYS (1u << 14)

/* Launches each kernel once, on a table that is not measured: the runtime loads kernels to the GPU when they
 * are first launched. */
static void warm_up(const bench *b)
{
    static const int kinds[] = {BH_INSERT, BH_FIND,  BH_INSERT_NEW, BH_ADD,   GPU_EXPORT,
                                GPU_APPLY, BH_ERASE, BH_INSERT,     GPU_CLEAR};
    const settings *s = &b->settings;
    mirrored keys = mirror(b, WARM_KEYS, s->key_bytes);
    mirrored values = mirror(b, WARM_KEYS, s->value_bytes);
    mirrored outcomes = mirror(b, WARM_KEYS, 1), ops = mirror(b, WARM_KEYS, 1);
    gpu_call c = {
        0, NULL, keys.device, values.device, outcomes.device, ops.device, WARM_KEYS, WARM_KEYS,
        0, 0};
    double taken;
    uint32_t i;

    fill_keys(b, keys.host, 0, WARM_KEYS, salt_of(0));
    to_device(b, &keys);
    check_gpu(gpu_there->fill(b->on_gpu->gpu, values.device, 0, values.bytes));
    check_gpu(gpu_there->fill(b->on_gpu->gpu, ops.device, BH_FIND, ops.bytes));
    if (gpu_table_of(b, 1, &c.table)) {
        for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            c.what = kinds[i];
            if (!gpu_timed(b, &c, &taken) && !i)
                break;
            if (c.what == GPU_EXPORT)
                to_device(b, &keys);
        }
        bh_table_destroy(c.table);
    }
    mirror_free(b, &keys);
    mirror_free(b, &values);
    mirror_free(b, &outcomes);
    mirror_free(b, &ops);
}

void gpu_start(bench *b)
{
    const char *device = b->settings.device, *number = strchr(device, ':');
    bh_context_options options;
    bh_context *first;

    if (!gpu_there)
        fail("this build has no benchmark for GPUs: build it with cmake where nvcc is, without "
             "sanitizers");
    /* The library's error sentence says why there is no GPU. */
    check(bh_context_create(device, NULL, &first));
    bh_context_destroy(first);
    b->on_gpu = array(1, sizeof *b->on_gpu);
    check_gpu(gpu_there->open(number ? (int)strtol(number + 1, NULL, 10) : 0, &b->on_gpu->gpu));
    bh_context_options_init(&options);
    options.cuda_stream = gpu_there->stream(b->on_gpu->gpu);
    check(bh_context_create(device, &options, &b->context));
    warm_up(b);
}

void gpu_stop(bench *b)
{
    free_limits(b);
    free_far_limits(b);
    bh_context_destroy(b->context);
    gpu_there->close(b->on_gpu->gpu);
    free(b->on_gpu);
}
