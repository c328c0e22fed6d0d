/* A device's primitives on arrays of the host, see mirror.h. */
#include "support/mirror.h"

#include <stdlib.h>

#include "api/context.h"
#include "support/check.h"
#include "support/memory.h"

enum { ARRAYS_MOST = 8 };

typedef struct array {
    void *host; // NULL: there is none on the host
    void *device;
    uint64_t bytes; // that are copied back
} array;

/* The arrays of one call. */
typedef struct call {
    array arrays[ARRAYS_MOST];
    int count;
} call;

static bh__cuda *cuda;

static void ok(int error)
{
    check(error == 0, "the device: %s", cuda->module->message(error));
    check(cuda->lost == 0, "the device was lost: %s", cuda->module->message(cuda->lost));
}

static void copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes > 0) {
        ok(cuda->module->copy(cuda->gpu, BH_LANE_RUN, to, from, bytes));
    }
    ok(cuda->module->wait(cuda->gpu, BH_LANE_RUN));
}

/* An array on the device, as large as `bytes`, with the content of the host's where there is one. The
 * same array twice is one there, too. */
static void *mirror(call *c, const void *host, uint64_t bytes, uint64_t given)
{
    array *a = &c->arrays[c->count];

    if (bytes == 0) {
        return NULL;
    }
    for (int i = 0; host != NULL && i < c->count; i++) {
        if (c->arrays[i].host == host) {
            return c->arrays[i].device;
        }
    }
    check(c->count++ < ARRAYS_MOST, "a call of so many arrays");
    a->host = (void *)(uintptr_t)host;
    a->bytes = given;
    ok(cuda->module->allocate(cuda->gpu, BH_MEMORY_CALL, bytes, &a->device));
    copy(a->device, host, given);
    return a->device;
}

/* An array that is read, or is there already; one of which `bytes` are written that the host has no
 * more room for than the call will say. */
static void *mirror_in(call *c, const void *host, uint64_t bytes)
{
    return host != NULL ? mirror(c, host, bytes, bytes) : NULL;
}

static void *mirror_out(call *c, void *host, uint64_t bytes)
{
    return host != NULL ? mirror(c, host, bytes, 0) : NULL;
}

/* So many bytes of an output have been written. */
static void written(call *c, const void *device, uint64_t bytes)
{
    for (int i = 0; i < c->count; i++) {
        if (c->arrays[i].device == device) {
            c->arrays[i].bytes = bytes;
        }
    }
}

static void finish(call *c)
{
    for (int i = 0; i < c->count; i++) {
        array *a = &c->arrays[i];
        if (a->host != NULL) {
            copy(a->host, a->device, a->bytes);
        }
        ok(cuda->module->release(cuda->gpu, a->device));
    }
}

static const bh__primitives *there(void)
{
    return cuda->module->primitives;
}

static uint64_t mirror_reduce(const bh__where *where, bh_op op, const void *values,
                              uint32_t value_bytes, uint64_t n)
{
    call c = {.count = 0};
    uint64_t result =
        there()->reduce(where, op, mirror_in(&c, values, n * value_bytes), value_bytes, n);
    finish(&c);
    return result;
}

static int mirror_scan(const bh__where *where, const void *values, uint32_t value_bytes, uint64_t n,
                       uint64_t first, uint64_t *sums, uint64_t *total)
{
    call c = {.count = 0};
    const void *from = mirror_in(&c, values, n * value_bytes);
    int done = there()->scan(where, from, value_bytes, n, first, mirror_in(&c, sums, n * 8), total);
    finish(&c);
    return done;
}

static int mirror_compact(const bh__where *where, const uint8_t *flags, const void *values,
                          uint32_t value_bytes, uint64_t n, void *out, uint64_t *kept)
{
    call c = {.count = 0};
    void *to = mirror_out(&c, out, n * value_bytes);
    int done = there()->compact(where, mirror_in(&c, flags, n),
                                mirror_in(&c, values, n * value_bytes), value_bytes, n, to, kept);
    written(&c, to, *kept * value_bytes);
    finish(&c);
    return done;
}

/* One more than the largest index. */
static uint64_t index_end(const void *indexes, uint32_t index_bytes, uint64_t n)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t index = test_load(indexes, index_bytes, i);
        end = index >= end ? index + 1 : end;
    }
    return end;
}

static void mirror_gather(const bh__where *where, const void *values, uint32_t value_bytes,
                          const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    const uint64_t end = index_end(indexes, index_bytes, n);
    call c = {.count = 0};

    there()->gather(where, mirror_in(&c, values, end * value_bytes), value_bytes,
                    mirror_in(&c, indexes, n * index_bytes), index_bytes, n,
                    mirror_in(&c, out, n * value_bytes));
    finish(&c);
}

static void mirror_scatter(const bh__where *where, const void *values, uint32_t value_bytes,
                           const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    const uint64_t end = index_end(indexes, index_bytes, n);
    call c = {.count = 0};

    there()->scatter(where, mirror_in(&c, values, n * value_bytes), value_bytes,
                     mirror_in(&c, indexes, n * index_bytes), index_bytes, n,
                     mirror_in(&c, out, end * value_bytes));
    finish(&c);
}

/* A partition from count to end: its arrays on the device. */
static call partition_call;
static bh__partition partition_there;

static int mirror_partition_count(const bh__where *where, bh__partition *p)
{
    int done;

    partition_call.count = 0;
    partition_there = *p;
    partition_there.keys = mirror_in(&partition_call, p->keys, p->n * p->key_bytes);
    partition_there.how.numbers =
        p->how.numbers != NULL ? mirror_in(&partition_call, p->how.numbers, p->n * 4) : NULL;
    partition_there.payloads =
        p->payload_bytes > 0 ? mirror_in(&partition_call, p->payloads, p->n * p->payload_bytes)
                             : NULL;
    partition_there.counts = mirror_in(&partition_call, p->counts, p->how.parts * 8ull);
    done = there()->partition_count(where, &partition_there);
    copy(p->counts, partition_there.counts, p->how.parts * 8ull);
    return done;
}

/* Parts lie on the device with a gap before each, in the order of the host's. */
static void partition_column(const bh__partition *p, uint32_t bytes, uint64_t *at)
{
    const uint64_t gap = 3;
    uint64_t next =
        (uintptr_t)mirror(&partition_call, NULL, (p->n + gap * p->how.parts) * bytes, 0);

    for (uint32_t i = p->how.parts; i-- > 0; next += p->counts[i] * bytes) {
        next += gap * bytes;
        at[i] = next;
    }
}

static void partition_back(const bh__partition *p, const uint64_t *at_host, const uint64_t *at,
                           uint32_t bytes)
{
    for (uint32_t i = 0; i < p->how.parts; i++) {
        copy((void *)(uintptr_t)at_host[i], (void *)(uintptr_t)at[i], p->counts[i] * bytes);
    }
}

static int mirror_partition_scatter(const bh__where *where, bh__partition *p)
{
    uint64_t *keys_at = test_allocate(p->how.parts * 8ull);
    uint64_t *payloads_at = test_allocate(p->how.parts * 8ull);

    if (p->n > 0) {
        partition_column(p, p->key_bytes, keys_at);
        partition_there.keys_at = mirror_in(&partition_call, keys_at, p->how.parts * 8ull);
        partition_there.payloads_at = NULL;
        if (p->payload_bytes > 0) {
            partition_column(p, p->payload_bytes, payloads_at);
            partition_there.payloads_at =
                mirror_in(&partition_call, payloads_at, p->how.parts * 8ull);
        }
    }
    const int done = there()->partition_scatter(where, &partition_there);

    if (p->n > 0) {
        partition_back(p, p->keys_at, keys_at, p->key_bytes);
        if (p->payload_bytes > 0) {
            partition_back(p, p->payloads_at, payloads_at, p->payload_bytes);
        }
    }
    for (int i = 0; i < partition_call.count; i++) {
        partition_call.arrays[i].bytes = 0; // all is back
    }
    free(keys_at);
    free(payloads_at);
    return done;
}

static void mirror_partition_end(const bh__where *where, bh__partition *p)
{
    (void)p;
    there()->partition_end(where, &partition_there);
    finish(&partition_call);
}

static int mirror_sort_by_key(const bh__where *where, const bh__sort *s)
{
    const uint64_t keys = s->n * s->key_bytes, payloads = s->n * s->payload_bytes;
    bh__sort t = *s;
    call c = {.count = 0};
    int done;

    t.keys = mirror_in(&c, s->keys, keys);
    t.payloads = mirror_in(&c, s->payloads, payloads);
    t.keys_out = mirror_in(&c, s->keys_out, keys);
    t.payloads_out = mirror_in(&c, s->payloads_out, payloads);
    t.keys_spare = mirror_in(&c, s->keys_spare, keys);
    t.payloads_spare = mirror_in(&c, s->payloads_spare, payloads);
    done = there()->sort_by_key(where, &t);
    finish(&c);
    return done;
}

static int mirror_reduce_by_key(const bh__where *where, bh_op op, const void *keys,
                                uint32_t key_bytes, const void *values, uint32_t value_bytes,
                                uint64_t n, void *keys_out, void *values_out, uint64_t *starts,
                                uint64_t *runs)
{
    call c = {.count = 0};
    void *const keys_to = mirror_out(&c, keys_out, n * key_bytes);
    void *const values_to = mirror_out(&c, values_out, n * value_bytes);
    uint64_t *const starts_to = mirror_out(&c, starts, n * 8);
    int done = there()->reduce_by_key(where, op, mirror_in(&c, keys, n * key_bytes), key_bytes,
                                      mirror_in(&c, values, n * value_bytes), value_bytes, n,
                                      keys_to, values_to, starts_to, runs);

    written(&c, keys_to, *runs * key_bytes);
    written(&c, values_to, *runs * value_bytes);
    written(&c, starts_to, *runs * 8);
    finish(&c);
    return done;
}

static void mirror_lower_bound(const bh__where *where, const void *keys, uint32_t key_bytes,
                               uint64_t n, const void *wanted, uint64_t count, uint64_t *positions)
{
    call c = {.count = 0};

    there()->lower_bound(where, mirror_in(&c, keys, n * key_bytes), key_bytes, n,
                         mirror_in(&c, wanted, count * key_bytes), count,
                         mirror_in(&c, positions, count * 8));
    finish(&c);
}

const bh__primitives *mirror_primitives(bh_context *context, bh__where *where)
{
    static const bh__primitives mirrored = {
        mirror_reduce,
        mirror_scan,
        mirror_compact,
        mirror_gather,
        mirror_scatter,
        mirror_partition_count,
        mirror_partition_scatter,
        mirror_partition_end,
        mirror_sort_by_key,
        mirror_reduce_by_key,
        mirror_lower_bound,
        BH__PARTS_MOST,
    };

    check(context->backend == &context->cuda.backend, "the context is not on a GPU");
    cuda = &context->cuda;
    where->system = &cuda->backend.system;
    where->executor = &cuda->backend.executor;
    where->device = cuda->backend.device;
    return &mirrored;
}
