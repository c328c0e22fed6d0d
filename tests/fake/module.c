/*
 * A module for GPUs (src/cuda/module.h) without a GPU: its device memory is memory of this
 * process which nobody may touch but the module, and its kernels are those of the scalar unit, run
 * by the thread that waits for them. So all that the library does on the host for a GPU (parts,
 * copies, what stalls, growth, errors) is tested wherever the tests run: BULKHASH_CUDA_MODULE
 * names this library (tests/CMakeLists.txt).
 *
 * What is asked for is done as late as it may be: each lane is a list of requests, and nothing of
 * it is done before somebody waits for that lane, or for one that follows it. Memory that was
 * taken is there when its lane has come to that (under reserved addresses at once). So who forgets to wait, or to have one lane follow
 * another, reads what is not there yet. BULKHASH_FAKE_EAGER=1: all lanes but the context's stream
 * do what they are asked for at once, with all that they follow, so that they come too early
 * instead.
 *
 * BULKHASH_FAKE_FAIL=N makes the N-th request that may fail answer an error, before it does
 * anything; BULKHASH_FAKE_REFUSE=N that one and all that come after it; BULKHASH_FAKE_LOSE=N makes that request and all that come after it fail, and nothing
 * is done any more that was asked for before; BULKHASH_FAKE_MEMORY=BYTES is how much device memory
 * there is; BULKHASH_FAKE_PART=N, when the module is loaded, how many elements a part has;
 * BULKHASH_FAKE_RESERVES_NOTHING=1, when a context is created, that it cannot reserve address space.
 * bh__fake_counts tells what was done.
 */
#define _GNU_SOURCE
#include "cuda/module.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BH_TARGET_SCALAR 1
#include "cpu/unit.h"
#include "tables/effect.h"

#define BH_EACH_DESIGN "tables/design_layout.h"
#include "tables/designs.h"

#include "fake/present.h"
#include "fake/regions.h"

/* Bytes that the GPU has, unless it is told otherwise: addresses alone would never end. */
#define MEMORY (UINT64_C(16) << 30)

#define HUGE_PAGE (UINT64_C(2) << 20)

enum { FAILED = 1, NO_MEMORY = 2, ALLOCATIONS_MOST = 4096, PART = 5000 };

typedef struct allocation {
    unsigned char *memory;
    uint64_t bytes; /* whole pages */
    bh__gpu *gpu;   /* who took or pinned it; NULL: it was given back */
    bool pinned;
    bool there; /* the lane has come to it */
    uint64_t
        reserved; /* bytes of address space, of which the first `bytes` have memory; 0: it was allocated */
} allocation;

typedef struct request {
    struct request *next;
    void (*perform)(const struct request *r);
    uint64_t number;
    bh__gpu *gpu;
    void *to;
    const void *from;
    const uint32_t *names;
    const bh__cuda_kernels *kernels;
    uint64_t bytes, count;
    uint32_t what; /* a byte, a kind of slice, a pass, a step, the lane to follow */
    bh__effects effects;
    bh__cuda_job job;
    bool holds, resumes;
} request;

typedef struct lane {
    request *first, *last;
} lane;

struct bh__gpu {
    lane lanes[BH_LANES];
    uint64_t asked; /* numbers requests */
    bool lost;
    uint8_t *done; /* which elements of the last slice are done, if some were held back; or NULL */
};

/* Of all contexts: memory is opened while any of them works, and requests are counted. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static allocation list[ALLOCATIONS_MOST];
static uint32_t allocations;
static uint64_t used, requests, told;

/* Slices, bytes that were copied to the device, elements of slices, sorts, and slices that were resumed. */
extern __attribute__((visibility("default"))) uint64_t bh__fake_counts[5];
uint64_t bh__fake_counts[5];

static uint64_t number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : 0;
}

/* Begins a request; answers whether it shall fail. What waits is none of those that fail alone: it
 * only hears of what has failed. */
static bool begin_as(bh__gpu *gpu, bool waits)
{
    uint64_t fail, refuse, lose;

    pthread_mutex_lock(&mutex);
    fail = number("BULKHASH_FAKE_FAIL");
    refuse = number("BULKHASH_FAKE_REFUSE");
    lose = number("BULKHASH_FAKE_LOSE");
    if (fail + refuse + lose != told) {
        told = fail + refuse + lose;
        requests = 0;
    }
    requests += !waits || lose;
    gpu->lost |= lose && requests >= lose;
    if (!gpu->lost && (waits || (requests != fail && (!refuse || requests < refuse))))
        return true;
    pthread_mutex_unlock(&mutex);
    return false;
}

static bool begin(bh__gpu *gpu)
{
    return begin_as(gpu, false);
}

static int end(void)
{
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void open_memory(int protection)
{
    for (uint32_t i = 0; i < allocations; i++)
        if (list[i].there && !list[i].pinned)
            mprotect(list[i].memory, list[i].bytes, protection);
}

static allocation *allocation_at(const void *memory)
{
    const unsigned char *at = memory;

    for (uint32_t i = 0; i < allocations; i++)
        if (at >= list[i].memory &&
            at < list[i].memory + (list[i].reserved ? list[i].reserved : list[i].bytes))
            return &list[i];
    return NULL;
}

static void unmap(allocation *a)
{
    munmap(a->memory, a->reserved ? a->reserved : a->bytes);
    *a = list[--allocations];
}

static void perform_release(const request *r)
{
    unmap(allocation_at(r->to));
}

/* ---------------------------------------------------------------------------------------------
 * lanes
 * --------------------------------------------------------------------------------------------- */

static void carry_out(bh__gpu *gpu, uint32_t which, uint64_t number);

/* Puts a request into a lane. */
static void ask(bh__gpu *gpu, uint32_t which, const request *wanted)
{
    lane *l = &gpu->lanes[which];
    request *r = malloc(sizeof *r);

    if (!r)
        abort();
    *r = *wanted;
    r->gpu = gpu;
    r->next = NULL;
    r->number = ++gpu->asked;
    if (l->last)
        l->last->next = r;
    else
        l->first = r;
    l->last = r;
    if (which != BH_LANE_RUN && number("BULKHASH_FAKE_EAGER")) {
        open_memory(PROT_READ | PROT_WRITE);
        carry_out(gpu, which, UINT64_MAX);
        open_memory(PROT_NONE);
    }
}

/* Does what the lane was asked for before `number`. */
static void carry_out(bh__gpu *gpu, uint32_t which, uint64_t number)
{
    lane *l = &gpu->lanes[which];

    while (l->first && l->first->number < number) {
        request *r = l->first;

        l->first = r->next;
        if (!l->first)
            l->last = NULL;
        if (!gpu->lost || r->perform == perform_release)
            r->perform(r);
        free(r);
    }
}

static void perform_follow(const request *r)
{
    carry_out(r->gpu, r->what, r->number);
}

static int follow(bh__gpu *gpu, uint32_t which, uint32_t other)
{
    request r = {.perform = perform_follow, .what = other};

    if (which == other || which >= BH_LANES || other >= BH_LANES)
        abort();
    if (!begin(gpu))
        return FAILED;
    ask(gpu, which, &r);
    return end();
}

static int wait_for(bh__gpu *gpu, uint32_t which)
{
    if (!begin_as(gpu, true))
        return FAILED;
    if (gpu->lanes[which].first) { /* opening takes longer than most requests */
        open_memory(PROT_READ | PROT_WRITE);
        carry_out(gpu, which, UINT64_MAX);
        open_memory(PROT_NONE);
    }
    return end();
}

/* ---------------------------------------------------------------------------------------------
 * the device, and its memory
 * --------------------------------------------------------------------------------------------- */

/* Where the elements of slices write down when they were begun and done, as kernels built for that do
 * (src/cuda/device/kernels.h). */
static uint64_t *stamps, ticks;

int __attribute__((visibility("default"))) bh__cuda_stamp(void *to);

int bh__cuda_stamp(void *to)
{
    stamps = to;
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
    pthread_mutex_lock(&mutex);
    open_memory(PROT_READ | PROT_WRITE);
    for (uint32_t i = 0; i < BH_LANES; i++)
        carry_out(gpu, i, UINT64_MAX);
    open_memory(PROT_NONE);
    /* What was never released is a leak that LeakSanitizer would not see. */
    for (uint32_t i = 0; i < allocations; i++)
        if (list[i].gpu == gpu)
            abort();
    pthread_mutex_unlock(&mutex);
    free(gpu->done);
    free(gpu);
}

static void perform_arrival(const request *r)
{
    allocation *a = allocation_at(r->to);

    mprotect(a->memory, a->bytes, PROT_READ | PROT_WRITE);
    memset(a->memory, 0xdd, a->bytes); /* nobody promised zeros */
    a->there = true;
}

static int allocate_in(bh__gpu *gpu, uint64_t bytes, bool pinned, void **memory)
{
    const uint64_t pages = (bytes + 4095) / 4096 * 4096, told_most = number("BULKHASH_FAKE_MEMORY");
    const uint64_t most = told_most ? told_most : MEMORY;
    request r = {.perform = perform_arrival};
    void *mapped;

    if (!begin(gpu))
        return FAILED;
    if ((!pinned && used + pages > most) || allocations == ALLOCATIONS_MOST ||
        (mapped = mmap(NULL, pages, pinned ? PROT_READ | PROT_WRITE : PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED) {
        end();
        return NO_MEMORY;
    }
    /* The fewer pages, the sooner memory is opened and closed. */
    if (!pinned && pages >= HUGE_PAGE)
        (void)madvise(mapped, pages, MADV_HUGEPAGE);
    list[allocations++] = (allocation){mapped, pages, gpu, pinned, pinned, 0};
    *memory = r.to = mapped;
    if (!pinned) {
        used += pages;
        ask(gpu, BH_LANE_RUN, &r);
    }
    return end();
}

static int allocate(bh__gpu *gpu, bh__memory_of of, uint64_t bytes, void **memory)
{
    (void)of;
    return allocate_in(gpu, bytes, false, memory);
}

static int allocate_pinned(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    return allocate_in(gpu, bytes, true, memory);
}

static int release(bh__gpu *gpu, void *memory)
{
    request r = {.perform = perform_release, .to = memory};
    allocation *a;

    if (!memory)
        return 0;
    pthread_mutex_lock(&mutex);
    a = allocation_at(memory);
    if (!a || a->memory != memory || a->gpu != gpu || a->pinned)
        abort();
    used -= a->bytes;
    a->gpu = NULL;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

/* Address space with memory under its beginning: `bytes` of the allocation; `reserved` is all of it. */
static int reserve(bh__gpu *gpu, uint64_t bytes, void **memory)
{
    const uint64_t pages = (bytes + 4095) / 4096 * 4096;
    void *mapped;

    if (!begin(gpu))
        return FAILED;
    if (allocations == ALLOCATIONS_MOST ||
        (mapped = mmap(NULL, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                       0)) == MAP_FAILED) {
        end();
        return NO_MEMORY;
    }
    list[allocations++] = (allocation){mapped, 0, gpu, false, true, pages};
    *memory = mapped;
    return end();
}

/* So little that the smallest tables grow in place. */
static uint64_t reserve_least(bh__gpu *gpu)
{
    (void)gpu;
    return number("BULKHASH_FAKE_RESERVES_NOTHING") ? 0 : 8192;
}

static int back(bh__gpu *gpu, void *at, uint64_t bytes)
{
    const uint64_t told_most = number("BULKHASH_FAKE_MEMORY"),
                   most = told_most ? told_most : MEMORY;
    unsigned char *const first = at;
    allocation *a = list;
    uint64_t more;

    if (!begin(gpu))
        return FAILED;
    while (a < list + allocations &&
           !(a->reserved && first >= a->memory && first < a->memory + a->reserved))
        a++;
    if (a == list + allocations)
        return end(); /* it was allocated */
    if (a->gpu != gpu || first > a->memory + a->bytes || first + bytes > a->memory + a->reserved)
        abort();
    more = (uint64_t)(first - a->memory) + (bytes + 4095) / 4096 * 4096;
    more -= more > a->bytes ? a->bytes : more;
    if (used + more > most) {
        end();
        return NO_MEMORY;
    }
    if (more) {
        mprotect(a->memory + a->bytes, more, PROT_READ | PROT_WRITE);
        memset(a->memory + a->bytes, 0xdd, more); /* nobody promised zeros */
        mprotect(a->memory + a->bytes, more, PROT_NONE);
    }
    a->bytes += more;
    used += more;
    return end();
}

static int release_pinned(bh__gpu *gpu, void *memory)
{
    allocation *a;

    pthread_mutex_lock(&mutex);
    a = allocation_at(memory);
    if (!a || a->memory != memory || a->gpu != gpu || !a->pinned)
        abort();
    unmap(a);
    return end();
}

static int can_pin(bh__gpu *gpu, int *pins)
{
    (void)gpu;
    *pins = !number("BULKHASH_FAKE_PINS_NOTHING");
    return 0;
}

/* The host may not touch it either, until it is unpinned: kernels might. */
static int pin(bh__gpu *gpu, void *memory, uint64_t bytes)
{
    if (bytes % 4096 || (uintptr_t)memory % 4096)
        abort();
    if (!begin(gpu))
        return FAILED;
    if (allocations == ALLOCATIONS_MOST) {
        end();
        return NO_MEMORY;
    }
    list[allocations++] = (allocation){memory, bytes, gpu, false, true, 0};
    mprotect(memory, bytes, PROT_NONE);
    return end();
}

static int unpin(bh__gpu *gpu, void *memory)
{
    allocation *a;

    pthread_mutex_lock(&mutex);
    open_memory(PROT_READ | PROT_WRITE);
    for (uint32_t i = 0; i < BH_LANES; i++)
        carry_out(gpu, i, UINT64_MAX);
    open_memory(PROT_NONE);
    a = allocation_at(memory);
    if (!a || a->memory != memory || a->gpu != gpu)
        abort();
    mprotect(a->memory, a->bytes, PROT_READ | PROT_WRITE);
    *a = list[--allocations];
    return end();
}

static int where(bh__gpu *gpu, const void *memory, bh__where_is *answer)
{
    const allocation *a;

    (void)gpu;
    pthread_mutex_lock(&mutex);
    a = allocation_at(memory);
    *answer = !a ? BH_IS_HOST : a->pinned ? BH_IS_PINNED : BH_IS_HERE;
    return end();
}

/* ---------------------------------------------------------------------------------------------
 * copies
 * --------------------------------------------------------------------------------------------- */

static void perform_fill(const request *r)
{
    memset(r->to, (int)r->what, r->bytes);
}

static int fill(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes)
{
    request r = {.perform = perform_fill, .to = memory, .what = byte, .bytes = bytes};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static void perform_copy(const request *r)
{
    const allocation *to = allocation_at(r->to);

    if (to && !to->pinned)
        bh__fake_counts[1] += r->bytes;
    memcpy(r->to, r->from, r->bytes);
}

static int copy(bh__gpu *gpu, uint32_t which, void *to, const void *from, uint64_t bytes)
{
    request r = {.perform = perform_copy, .to = to, .from = from, .bytes = bytes};

    if (!begin(gpu))
        return FAILED;
    /* With memory that is neither pinned nor its own a GPU would make the host wait. */
    if (which != BH_LANE_RUN && (!allocation_at(to) || !allocation_at(from)))
        abort();
    if (bytes)
        ask(gpu, which, &r);
    return end();
}

static int carry(bh__gpu *gpu, void *to, const void *from, uint64_t bytes)
{
    if (bytes % 8 || (uintptr_t)to % 8 || (uintptr_t)from % 8)
        abort();
    return copy(gpu, BH_LANE_RUN, to, from, bytes);
}

static void perform_gather(const request *r)
{
    for (uint64_t i = 0; i < r->count; i++)
        memcpy((char *)r->to + i * r->bytes, (const char *)r->from + r->names[i] * r->bytes,
               r->bytes);
}

static int gather(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t n)
{
    request r = {.perform = perform_gather,
                 .to = to,
                 .from = from,
                 .names = names,
                 .bytes = bytes,
                 .count = n};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static void perform_scatter(const request *r)
{
    for (uint64_t i = 0; i < r->count; i++)
        memcpy((char *)r->to + r->names[i] * r->bytes, (const char *)r->from + i * r->bytes,
               r->bytes);
}

static int scatter(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                   uint64_t n)
{
    request r = {.perform = perform_scatter,
                 .to = to,
                 .from = from,
                 .names = names,
                 .bytes = bytes,
                 .count = n};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

/* ---------------------------------------------------------------------------------------------
 * kernels
 * --------------------------------------------------------------------------------------------- */

/* How a GPU runs a pass (tables/table.h). This one runs SPARSE and PARTS by the text of cores. */
enum { EACH, ALONE, SPARSE, PARTS, OWN, CORES };

/* What there is to know of a design. */
typedef struct fake_design {
    bh_design number;
    uint64_t descriptor_bytes;
    uint64_t scratch_bytes;
    const uint64_t *job_bytes; /* of each pass */
    const uint8_t *how;
    bool (*has_regions)(const bh_table_options *options);
    fake_by_region *by_region; // NULL: the design has none
} fake_design;

#define PASS_BYTES(name, text, argument, how) sizeof(argument),
#define PASS_HOW(name, text, argument, how) how,

#define BH_EACH_DESIGN "fake/design.h"
#include "tables/designs.h"

static const fake_design designs[] = {
#define BH_EACH_DESIGN "fake/design_row.h"
#include "tables/designs.h"
};

typedef struct fake_kernels {
    bh__cuda_kernels known;
    const bh__kernels *scalar; /* NULL: not yet made */
    const fake_design *design;
    uint32_t key_bytes;
    uint32_t value_bytes;
    bool has_regions;
    fake_present present;
} fake_kernels;

static const bh__cuda_kernels *kernels(const bh_table_options *o)
{
    static fake_kernels made[64];
    const bh__kernels *scalar = bh__unit_scalar(o);
    const fake_design *design = designs;
    fake_kernels *k = made;

    if (o->experimental->gpu_schedule || !scalar)
        return NULL;
    while (design->number != o->design)
        design++;
    pthread_mutex_lock(&mutex);
    while (k < made + sizeof made / sizeof made[0] && k->scalar && k->scalar != scalar)
        k++;
    if (k == made + sizeof made / sizeof made[0])
        abort();
    if (!k->scalar) { /* made once: what is made already is read without the mutex */
        k->scalar = scalar;
        k->design = design;
        k->key_bytes = o->key_bytes;
        k->value_bytes = o->value_bytes;
        k->has_regions = design->has_regions(o);
        k->known.has_regions = k->has_regions;
        k->present = fake_present_of(o);
        k->known.has_present = k->present.change != NULL;
        k->known.descriptor_bytes = design->descriptor_bytes;
        k->known.job_bytes = design->job_bytes;
    }
    pthread_mutex_unlock(&mutex);
    return &k->known;
}

/* What is done by region or without locks: done[i] says of which elements. */
static void perform_first(const request *r, uint8_t *done)
{
    const fake_kernels *k = (const fake_kernels *)r->kernels;
    const bh__cuda_job *job = &r->job;
    const uint64_t n = job->count;
    bool by_region;

    by_region = r->what != BH_SLICE_FIND && k->has_regions &&
                k->design->by_region(job, k->key_bytes, k->value_bytes, done);
    if (!by_region && r->what != BH_SLICE_FIND && k->present.change && !job->names &&
        !job->slice.ops && (job->few_new || !BH_OP_INSERTS(job->slice.op)))
        k->present.change(job, done);
    if (k->present.claim && (job->slice.hints & BH_HINT_AT_ONCE) && !job->slice.ops &&
        BH_OP_INSERTS(job->slice.op))
        k->present.claim(job, done);
    for (uint64_t i = 0; i < n && stamps; i++)
        if (done[i]) {
            const uint64_t at = job->names ? job->names[i] : i;

            stamps[2 * at] = ++ticks;
            stamps[2 * at + 1] = ++ticks;
        }
}

/* One element after the other, each a slice of its own; behind those that are done already. */
static void perform_slice(const request *r)
{
    const fake_kernels *k = (const fake_kernels *)r->kernels;
    const bh__cuda_job *job = &r->job;
    const uint64_t n = job->count;
    bh_system system;
    uint8_t *done = r->gpu->done;

    bh_system_default(&system);
    bh__fake_counts[4] += r->resumes;
    if (!r->resumes) {
        bh__fake_counts[0]++;
        bh__fake_counts[2] += n;
        free(done);
        done = calloc(n + 1, 1);
        if (!done)
            abort();
        perform_first(r, done);
    }
    r->gpu->done = NULL;
    if (r->holds) {
        for (uint64_t i = 0; i < n; i++)
            job->done->parked_count[1] += !done[i];
        r->gpu->done = done;
        return;
    }
    job->done->parked_count[1] = 0;
    if (!r->resumes) {
        job->done->struck = 1;
        for (uint64_t i = 0; i < n; i++)
            job->done->left += !done[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t at = job->names ? job->names[i] : (uint32_t)i;
        bh__slice one = job->slice;
        uint8_t outcome = BH_NOT_DONE;
        uint16_t names[1];

        if (done[i])
            continue;
        one.keys = (const char *)one.keys + (uint64_t)at * k->key_bytes;
        if (one.values)
            one.values = (const char *)one.values + (uint64_t)at * k->value_bytes;
        if (one.values_out)
            one.values_out = (char *)one.values_out + (uint64_t)at * k->value_bytes;
        one.outcomes = one.outcomes ? one.outcomes + at : &outcome;
        if (one.ops)
            one.ops += at;
        one.system = &system;
        one.list = names;
        one.count = 1;
        one.listed = 0;
        one.ordered = 1; /* the kernel of mixed operations shall not sort one by kind */
        one.room = job->room >= n || job->done->room_taken++ < job->room;
        one.inserted = one.erased = one.assigned = 0;
        one.reasons = one.moved = 0;
        if (!one.ops)
            one.hints |= BH_HINT_ALIKE;
        if (stamps && !stamps[2 * at]) {
            stamps[2 * at] = ++ticks;
        }
        k->scalar->slice[r->what](&one);
        if (one.stalled) {
            job->stalled[job->done->stalled_count++] = at;
            job->done->reasons |= one.reasons;
        } else if (stamps) {
            stamps[2 * at + 1] = ++ticks;
        }
        job->done->moved |= one.moved;
        job->done->missing |= r->what == BH_SLICE_FIND && *one.outcomes == BH_MISSING;
        job->done->inserted += one.inserted;
        job->done->erased += one.erased;
        job->done->assigned += one.assigned;
    }
    free(done);
}

static int slice(bh__gpu *gpu, const bh__cuda_kernels *known, bh__slice_kind kind,
                 const bh__cuda_job *job, int *held)
{
    request r = {.perform = perform_slice, .kernels = known, .what = kind, .job = *job};

    *held = job->asks && !job->slice.ops && BH_OP_INSERTS(job->slice.op);
    r.holds = *held != 0;
    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static int resume(bh__gpu *gpu, const bh__cuda_kernels *known, bh__slice_kind kind,
                  const bh__cuda_job *job, int held)
{
    request r = {
        .perform = perform_slice, .kernels = known, .what = kind, .job = *job, .resumes = true};

    if (!held)
        abort();
    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static void perform_report(const request *r)
{
    bh__cuda_done *next = (bh__cuda_done *)(uintptr_t)r->names;

    if (((bh__cuda_done *)r->to)->reported || !allocation_at(r->to)->pinned)
        abort();
    memcpy(r->to, r->from, sizeof *next);
    memset(next, 0, sizeof *next);
    ((bh__cuda_done *)r->to)->reported = 1;
}

static int report(bh__gpu *gpu, bh__cuda_done *to, const bh__cuda_done *from, bh__cuda_done *next)
{
    request r = {.perform = perform_report, .to = to, .from = from};

    r.names = (const uint32_t *)(const void *)next;
    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

/* What an argument of a pass that runs alone begins with. */
typedef struct alone_job {
    const void *geometry;
    const bh__scratch *scratch;
} alone_job;

static void perform_pass(const request *r)
{
    const fake_kernels *k = (const fake_kernels *)r->kernels;
    bh__scratch scratch = {NULL, k->design->scratch_bytes};

    if (k->design->how[r->what] == CORES)
        abort();
    if (k->design->how[r->what] == ALONE) {
        scratch.memory = malloc(scratch.bytes + 1);
        if (!scratch.memory)
            abort();
        ((alone_job *)r->to)->scratch = &scratch;
    }
    k->scalar->pass[r->what](r->to, 0, r->count);
    free(scratch.memory);
}

static int pass(bh__gpu *gpu, const bh__cuda_kernels *known, uint32_t pass, void *job,
                uint64_t items)
{
    request r = {
        .perform = perform_pass, .to = job, .kernels = known, .what = pass, .count = items};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static void perform_survey(const request *r)
{
    const fake_kernels *k = (const fake_kernels *)r->kernels;
    const bh__cuda_job *job = &r->job;

    for (uint64_t i = 0; i < job->count; i++) {
        const uint64_t at = job->names ? job->names[i * job->every] : i * job->every;
        bh__slice one = job->slice;
        const uint8_t op = one.ops ? one.ops[at] : one.op;
        uint8_t outcome = BH_FOUND;
        uint64_t bit = 0;
        uint16_t names[1];

        one.keys = (const char *)one.keys + at * k->key_bytes;
        one.values_out = NULL;
        one.outcomes = &outcome;
        one.ops = NULL;
        one.list = names;
        one.count = 1;
        one.listed = 0;
        if (BH_OP_INSERTS(op) && job->blind)
            outcome = BH_MISSING;
        else if (BH_OP_INSERTS(op))
            k->scalar->slice[BH_SLICE_FIND](&one);
        job->done->absent += outcome == BH_MISSING;
        if (!job->any && outcome != BH_MISSING)
            continue;
        memcpy(&bit, one.keys, k->key_bytes);
        bit = (bit * 0x9e3779b97f4a7c15u >> 20) & (job->bit_count - 1);
        job->done->fresh += !(job->bits[bit / 32] >> bit % 32 & 1);
        job->bits[bit / 32] |= 1u << bit % 32;
    }
}

static int survey(bh__gpu *gpu, const bh__cuda_kernels *known, const bh__cuda_job *job)
{
    request r = {.perform = perform_survey, .kernels = known, .job = *job};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static int await(bh__gpu *gpu, const bh__cuda_done *to)
{
    const int error = wait_for(gpu, BH_LANE_RUN);

    if (!error && !to->reported)
        abort();
    return error;
}

static void perform_effects(const request *r)
{
    const bh__effects *e = &r->effects;
    const bool of_elements = r->what == BH_EFFECTS_SHARE;

    for (uint64_t i = 0; i < (of_elements ? e->runs.elements : e->runs.count); i++) {
        switch (r->what) {
        case BH_EFFECTS_LEFT: bh_effect_left(e, i); break;
        case BH_EFFECTS_ANSWER: bh_effect_answer(e, i); break;
        case BH_EFFECTS_HEADS: bh_effect_head(e, i); break;
        case BH_EFFECTS_COUNT: bh_effect_count(e, i); break;
        default: bh_effect_share(e, i); break;
        }
    }
}

static int effects(bh__gpu *gpu, bh__effects_step step, const bh__effects *e)
{
    request r = {.perform = perform_effects, .what = step, .effects = *e};

    if (!begin(gpu))
        return FAILED;
    ask(gpu, BH_LANE_RUN, &r);
    return end();
}

static int number_ops(bh__gpu *gpu, uint32_t *numbers, const uint8_t *ops, uint32_t bits,
                      uint64_t n)
{
    uint64_t i;

    if (!begin(gpu))
        return FAILED;
    open_memory(PROT_READ | PROT_WRITE);
    carry_out(gpu, BH_LANE_RUN, UINT64_MAX);
    for (i = 0; i < n; i++)
        numbers[i] = (uint32_t)ops[i] << bits | (bits ? numbers[i] & ((1u << bits) - 1) : 0);
    open_memory(PROT_NONE);
    return end();
}

static int find_begins(bh__gpu *gpu, uint64_t *begins, const uint32_t *sorted, uint32_t bits,
                       uint64_t n)
{
    uint64_t i;

    if (!begin(gpu))
        return FAILED;
    open_memory(PROT_READ | PROT_WRITE);
    carry_out(gpu, BH_LANE_RUN, UINT64_MAX);
    for (i = n; i-- > 0;)
        begins[sorted[i] >> bits & 15u] = i;
    open_memory(PROT_NONE);
    return end();
}

static int first_outside(bh__gpu *gpu, const uint8_t *ops, uint64_t n, uint32_t allowed,
                         uint64_t *first)
{
    if (!begin(gpu))
        return FAILED;
    open_memory(PROT_READ | PROT_WRITE);
    carry_out(gpu, BH_LANE_RUN, UINT64_MAX);
    for (*first = 0; *first < n && ops[*first] < BH_OPS && (allowed >> ops[*first] & 1u); ++*first)
        ;
    open_memory(PROT_NONE);
    return end();
}

/* ---------------------------------------------------------------------------------------------
 * primitives: the scalar unit's. One that can answer that there was no memory does so when it is
 * told to fail; another one costs the GPU.
 * --------------------------------------------------------------------------------------------- */

/* The place of a call of a primitive: a host with one thread. */
typedef struct alone {
    bh_system system;
    bh_executor executor;
    bh__where where;
    bh__gpu *gpu;
} alone;

static uint32_t alone_width(void *state)
{
    (void)state;
    return 1;
}

static void alone_run(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                      uint64_t tasks)
{
    (void)state;
    for (uint64_t i = 0; i < tasks; i++)
        task(argument, i);
}

/* A primitive answers when it has run, behind all that its stream was asked for. */
static bool enter(alone *a, const bh__where *where)
{
    const bh__cuda_place *place = where->device;

    bh_system_default(&a->system);
    a->executor = (bh_executor){NULL, alone_width, alone_run};
    a->where = (bh__where){&a->system, &a->executor, NULL};
    a->gpu = place->gpu;
    if (*place->lost || !begin(place->gpu))
        return false;
    open_memory(PROT_READ | PROT_WRITE);
    carry_out(a->gpu, BH_LANE_RUN, UINT64_MAX);
    return true;
}

static void leave(void)
{
    open_memory(PROT_NONE);
    end();
}

static bool enter_or_lose(alone *a, const bh__where *where)
{
    const bh__cuda_place *place = where->device;

    if (enter(a, where))
        return true;
    *place->lost = FAILED;
    return false;
}

static uint64_t fake_reduce(const bh__where *where, bh_op op, const void *values,
                            uint32_t value_bytes, uint64_t n)
{
    uint64_t result;
    alone a;

    if (!enter_or_lose(&a, where))
        return 0;
    result = bh__unit_primitives_scalar()->reduce(&a.where, op, values, value_bytes, n);
    leave();
    return result;
}

static int fake_scan(const bh__where *where, const void *values, uint32_t value_bytes, uint64_t n,
                     uint64_t start, uint64_t *sums, uint64_t *total)
{
    alone a;
    int done;

    if (total)
        *total = 0;
    if (!enter(&a, where))
        return 0;
    done = bh__unit_primitives_scalar()->scan(&a.where, values, value_bytes, n, start, sums, total);
    leave();
    return done;
}

static int fake_compact(const bh__where *where, const uint8_t *flags, const void *values,
                        uint32_t value_bytes, uint64_t n, void *out, uint64_t *kept)
{
    alone a;
    int done;

    *kept = 0;
    if (!enter(&a, where))
        return 0;
    done =
        bh__unit_primitives_scalar()->compact(&a.where, flags, values, value_bytes, n, out, kept);
    leave();
    return done;
}

static void fake_gather(const bh__where *where, const void *values, uint32_t value_bytes,
                        const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    alone a;

    if (!enter_or_lose(&a, where))
        return;
    bh__unit_primitives_scalar()->gather(&a.where, values, value_bytes, indexes, index_bytes, n,
                                         out);
    leave();
}

static void fake_scatter(const bh__where *where, const void *values, uint32_t value_bytes,
                         const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    alone a;

    if (!enter_or_lose(&a, where))
        return;
    bh__unit_primitives_scalar()->scatter(&a.where, values, value_bytes, indexes, index_bytes, n,
                                          out);
    leave();
}

static int fake_partition_count(const bh__where *where, bh__partition *partition)
{
    alone a;
    int done;

    if (!enter(&a, where))
        return 0;
    done = bh__unit_primitives_scalar()->partition_count(&a.where, partition);
    leave();
    return done;
}

static int fake_partition_scatter(const bh__where *where, bh__partition *partition)
{
    alone a;
    int done;

    if (!enter(&a, where))
        return 0;
    done = bh__unit_primitives_scalar()->partition_scatter(&a.where, partition);
    leave();
    return done;
}

/* What it gives back is no memory of the device. */
static void fake_partition_end(const bh__where *where, bh__partition *partition)
{
    bh_system system;
    bh__where here = {&system, where->executor, NULL};

    bh_system_default(&system);
    bh__unit_primitives_scalar()->partition_end(&here, partition);
}

static int fake_sort_by_key(const bh__where *where, const bh__sort *sort)
{
    alone a;
    int done;

    if (!enter(&a, where))
        return 0;
    bh__fake_counts[3]++;
    done = bh__unit_primitives_scalar()->sort_by_key(&a.where, sort);
    leave();
    return done;
}

static int fake_reduce_by_key(const bh__where *where, bh_op op, const void *keys,
                              uint32_t key_bytes, const void *values, uint32_t value_bytes,
                              uint64_t n, void *keys_out, void *values_out, uint64_t *starts,
                              uint64_t *runs)
{
    alone a;
    int done;

    *runs = 0;
    if (!enter(&a, where))
        return 0;
    done = bh__unit_primitives_scalar()->reduce_by_key(
        &a.where, op, keys, key_bytes, values, value_bytes, n, keys_out, values_out, starts, runs);
    leave();
    return done;
}

static void fake_lower_bound(const bh__where *where, const void *keys, uint32_t key_bytes,
                             uint64_t n, const void *wanted, uint64_t wanted_n, uint64_t *positions)
{
    alone a;

    if (!enter_or_lose(&a, where))
        return;
    bh__unit_primitives_scalar()->lower_bound(&a.where, keys, key_bytes, n, wanted, wanted_n,
                                              positions);
    leave();
}

static const bh__primitives primitives = {
    fake_reduce,
    fake_scan,
    fake_compact,
    fake_gather,
    fake_scatter,
    fake_partition_count,
    fake_partition_scatter,
    fake_partition_end,
    fake_sort_by_key,
    fake_reduce_by_key,
    fake_lower_bound,
    64, // so few that HashFight's regions grow, which otherwise takes 130 million pairs
};

extern __attribute__((visibility("default"))) bh__cuda_module bh__cuda_module_1;
bh__cuda_module bh__cuda_module_1 = {
    .version = BH__CUDA_MODULE_VERSION,
    .part = PART,
    .message = message,
    .count = count,
    .open = open_gpu,
    .close = close_gpu,
    .allocate = allocate,
    .release = release,
    .reserve_least = reserve_least,
    .reserve = reserve,
    .back = back,
    .allocate_pinned = allocate_pinned,
    .release_pinned = release_pinned,
    .can_pin = can_pin,
    .pin = pin,
    .unpin = unpin,
    .fill = fill,
    .copy = copy,
    .carry = carry,
    .follow = follow,
    .wait = wait_for,
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
    .begins = find_begins,
    .first_outside = first_outside,
    .primitives = &primitives,
};

__attribute__((constructor)) static void choose_part(void)
{
    if (number("BULKHASH_FAKE_PART"))
        bh__cuda_module_1.part = number("BULKHASH_FAKE_PART");
}
