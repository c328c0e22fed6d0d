/*
 * The CUDA backend: memory, launches, passes, and what happens when the GPU fails.
 *
 * What goes between the host and kernels goes through the mailbox: a small piece of pinned host memory and its twin on
 * the device.
 *
 *   Slices and surveys get their job as a parameter of each kernel. The table's descriptor, to which it points, stays on
 *   the device until it has changed. What the kernels count they count there, and a report of it comes back.
 *
 *   A pass's argument is carried there, with the descriptor behind it, the kernel runs, and the argument comes back
 *   with what the kernel counted. So a policy's structs stay on its stack, as they do for cores.
 *
 * What a GPU refuses before it has begun leaves everything as it was: the caller reports that, or
 * undoes what led there (bh__need in tables/table.h). An error in work that has begun is remembered: the
 * table has changed, and what it holds is not known. Every later call on the context answers
 * BH_ERR_DEVICE.
 */
#include "cuda/host/backend.h"

#include <string.h>

#include "base/error.h"
#include "base/run.h"
#include "base/system.h"

#define DESCRIPTOR_ALIGNMENT 64u

int bh__cuda_note(bh__cuda *cuda, int error)
{
    if (error && !bh__atomic_load(&cuda->lost, __ATOMIC_RELAXED))
        bh__atomic_store(&cuda->lost, error, __ATOMIC_RELAXED);
    return error;
}

int bh__cuda_catch_up(bh__cuda *cuda)
{
    return cuda->shared_stream ? bh__cuda_note(cuda, cuda->module->wait(cuda->gpu, BH_LANE_RUN))
                               : 0;
}

bh_status bh__cuda_alive(const bh__cuda *cuda)
{
    int lost = bh__atomic_load(&cuda->lost, __ATOMIC_RELAXED);

    if (!lost)
        return BH_OK;
    return bh__fail(BH_ERR_DEVICE,
                    "the GPU has failed (%.100s); what its tables hold is not known: destroy them "
                    "and their context, and make others",
                    cuda->module->message(lost));
}

static bh_status cuda_alive(const bh__backend *backend)
{
    return bh__cuda_alive((const bh__cuda *)backend);
}

/* ---------------------------------------------------------------------------------------------
 * memory of tables
 * --------------------------------------------------------------------------------------------- */

/* Takes what is kept of calls' memory. */
static void *take_kept(bh__cuda *cuda, uint64_t *bytes)
{
    void *memory;

    bh__gate_enter_alone(&cuda->lists, &cuda->backend.system);
    memory = cuda->kept_lists;
    *bytes = cuda->kept_list_bytes;
    cuda->kept_lists = NULL;
    bh__gate_leave_alone(&cuda->lists);
    return memory;
}

/* Gives back what is kept; answers whether it was anything. */
static int give_kept(bh__cuda *cuda)
{
    uint64_t bytes;
    void *kept = take_kept(cuda, &bytes);

    if (kept)
        (void)bh__cuda_note(cuda, cuda->module->release(cuda->gpu, kept));
    return kept != NULL;
}

int bh__cuda_allocate(bh__cuda *cuda, bh__memory_of of, uint64_t bytes, void **memory)
{
    int error = cuda->module->allocate(cuda->gpu, of, bytes, memory);

    if (error && give_kept(cuda))
        error = cuda->module->allocate(cuda->gpu, of, bytes, memory);
    return error;
}

/* Lack of memory is no failure of the GPU. */
static void *reserve(void *state, uint64_t bytes)
{
    void *memory;

    return bh__cuda_allocate((bh__cuda *)state, BH_MEMORY_TABLE, bytes, &memory) ? NULL : memory;
}

/* Temporary memory of what works on a table (storage/temporary.h). */
static void *allocate(void *state, uint64_t bytes)
{
    void *memory;

    return bh__cuda_allocate((bh__cuda *)state, BH_MEMORY_CALL, bytes, &memory) ? NULL : memory;
}

static int commit(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    bh__cuda *cuda = (bh__cuda *)state;

    (void)pages;
    return cuda->module->fill(cuda->gpu, memory, 0, bytes);
}

/* Large blocks get address space, which memory is put under when it is committed. Where that is refused they get nothing: the
 * pool would allocate the spare address space, too. */
static void *reserve_growing(void *state, uint64_t bytes)
{
    bh__cuda *cuda = (bh__cuda *)state;
    const uint64_t least = cuda->backend.growing.reserve_least;
    void *memory;

    if (!least || bytes < least)
        return reserve(state, bytes);
    return cuda->module->reserve(cuda->gpu, bytes, &memory) ? NULL : memory;
}

static int commit_growing(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    bh__cuda *cuda = (bh__cuda *)state;
    int error = cuda->module->back(cuda->gpu, memory, bytes);

    if (error && give_kept(cuda))
        error = cuda->module->back(cuda->gpu, memory, bytes);
    return error ? error : commit(state, memory, bytes, pages);
}

static int decommit(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    (void)memory;
    (void)bytes;
    return -1;
}

static void unreserve(void *state, void *memory, uint64_t bytes)
{
    bh__cuda *cuda = (bh__cuda *)state;

    (void)bytes;
    (void)bh__cuda_note(cuda, cuda->module->release(cuda->gpu, memory));
    bh__atomic_store(&cuda->gave_back, 1, __ATOMIC_RELAXED);
}

/* Host memory that kernels reach in place. It is taken from the system and touched by several threads before it is
 * pinned: to pin memory means to touch it, which the driver would do in one thread. */
static void *reserve_far(void *state, uint64_t bytes)
{
    bh__cuda *cuda = (bh__cuda *)state;
    const bh_system *s = &cuda->backend.system;
    void *memory = s->reserve(s->state, bytes);
    bh__block block = {(unsigned char *)memory, bytes, bytes};

    if (!memory)
        return NULL;
    if (!s->commit(s->state, memory, bytes, cuda->backend.host.pages)) {
        bh__block_touch(&block, &cuda->copiers, &cuda->backend.host, 0, bytes);
        if (!cuda->module->pin(cuda->gpu, memory, bytes))
            return memory;
    }
    s->unreserve(s->state, memory, bytes);
    return NULL;
}

static int commit_far(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    (void)state;
    (void)memory;
    (void)bytes;
    (void)pages;
    return 0;
}

static void unreserve_far(void *state, void *memory, uint64_t bytes)
{
    bh__cuda *cuda = (bh__cuda *)state;
    const bh_system *s = &cuda->backend.system;

    /* Of a GPU that is lost nobody knows what it still does to its memory. */
    if (bh__cuda_note(cuda, cuda->module->unpin(cuda->gpu, memory)) == 0)
        s->unreserve(s->state, memory, bytes);
}

static uint64_t page_bytes(void *state, const void *memory, uint64_t bytes)
{
    (void)state;
    (void)memory;
    (void)bytes;
    return UINT64_C(2) << 20;
}

static int cuda_clear(const bh__backend *backend, const bh__block *block, uint64_t bytes,
                      bh__need need)
{
    bh__cuda *cuda = (bh__cuda *)(uintptr_t)backend;
    const bh__cuda_module *m = cuda->module;
    int error = m->fill(cuda->gpu, block->memory, 0, bytes);

    if (error && need == BH_MUST)
        error = bh__cuda_note(cuda, m->fill(cuda->gpu, block->memory, 0, bytes));
    return !error;
}

static int cuda_copy(const bh__backend *backend, const bh__block *to, const bh__block *from,
                     uint64_t bytes, bh__need need)
{
    bh__cuda *cuda = (bh__cuda *)(uintptr_t)backend;
    const bh__cuda_module *m = cuda->module;
    int error = m->copy(cuda->gpu, BH_LANE_RUN, to->memory, from->memory, bytes);

    if (error && need == BH_MUST)
        error =
            bh__cuda_note(cuda, m->copy(cuda->gpu, BH_LANE_RUN, to->memory, from->memory, bytes));
    return !error;
}

/* ---------------------------------------------------------------------------------------------
 * memory of calls
 * --------------------------------------------------------------------------------------------- */

/* So many bytes are kept at most: the lists of 2^20 elements. Chosen, not tuned. */
#define KEPT_MOST (UINT64_C(1) << 24)

int bh__cuda_take_lists(bh__cuda *cuda, uint64_t *bytes, void **memory)
{
    uint64_t kept_bytes = 0;
    void *kept = *bytes <= KEPT_MOST ? take_kept(cuda, &kept_bytes) : NULL;

    if (kept && kept_bytes >= *bytes) {
        *memory = kept;
        *bytes = kept_bytes;
        return 0;
    }
    if (kept)
        (void)bh__cuda_note(cuda, cuda->module->release(cuda->gpu, kept));
    return bh__cuda_allocate(cuda, BH_MEMORY_CALL, *bytes, memory);
}

int bh__cuda_give_lists(bh__cuda *cuda, void *memory, uint64_t bytes)
{
    void *gives = memory;

    if (bytes <= KEPT_MOST) {
        bh__gate_enter_alone(&cuda->lists, &cuda->backend.system);
        if (!cuda->kept_lists) {
            cuda->kept_lists = memory;
            cuda->kept_list_bytes = bytes;
            gives = NULL;
        }
        bh__gate_leave_alone(&cuda->lists);
    }
    return gives ? cuda->module->release(cuda->gpu, gives) : 0;
}

/* ---------------------------------------------------------------------------------------------
 * pinned memory of calls
 * --------------------------------------------------------------------------------------------- */

/* The least pinned memory that is taken at a time. */
#define STAGED_LEAST (UINT64_C(1) << 16)

int bh__cuda_staging_enter(bh__cuda *cuda, uint64_t bytes, unsigned char **memory)
{
    const bh__cuda_module *m = cuda->module;
    void *pinned = NULL;
    int error;

    bh__gate_enter_alone(&cuda->staging, &cuda->backend.system);
    if (bytes > cuda->staged_bytes) {
        /* At least twice as much as before, so that calls of growing length take memory a few times only. */
        if (bytes < 2 * cuda->staged_bytes)
            bytes = 2 * cuda->staged_bytes;
        bytes = bytes < STAGED_LEAST ? STAGED_LEAST : bytes;
        error = m->allocate_pinned(cuda->gpu, bytes, &pinned);
        if (error) {
            bh__cuda_staging_leave(cuda);
            return error;
        }
        if (cuda->staged)
            (void)m->release_pinned(cuda->gpu, cuda->staged);
        cuda->staged = (unsigned char *)pinned;
        cuda->staged_bytes = bytes;
    }
    *memory = cuda->staged;
    return 0;
}

void bh__cuda_staging_leave(bh__cuda *cuda)
{
    bh__gate_leave_alone(&cuda->staging);
}

/* What one thread copies at a time: some 10 us of work. Chosen, not tuned. */
#define COPY_PIECE (UINT64_C(1) << 17)

typedef struct near_copy {
    unsigned char *to;
    const unsigned char *from;
    uint64_t bytes;
} near_copy;

static void copy_pieces(void *argument, uint64_t first, uint64_t count)
{
    const near_copy *c = (const near_copy *)argument;
    const uint64_t begin = first * COPY_PIECE, left = c->bytes - begin;

    memcpy(c->to + begin, c->from + begin, count * COPY_PIECE < left ? count * COPY_PIECE : left);
}

void bh__cuda_copy_near(const bh__cuda *cuda, void *to, const void *from, uint64_t bytes)
{
    near_copy c;

    c.to = (unsigned char *)to;
    c.from = (const unsigned char *)from;
    c.bytes = bytes;
    bh__run(&cuda->copiers, copy_pieces, &c, bytes / COPY_PIECE + (bytes % COPY_PIECE != 0), 1);
}

/* ---------------------------------------------------------------------------------------------
 * launches and passes
 * --------------------------------------------------------------------------------------------- */

/* The design's descriptor on the device. It is carried there unless it lies there from an earlier launch: it changes with a
 * table's arrays, and hardly ever else. */
static int keep_descriptor(bh__cuda *cuda, const void *descriptor, uint64_t bytes, const void **far)
{
    const uint32_t next = cuda->next_kept;
    uint32_t i;
    int error;

    for (i = 0; i < BH__CUDA_DESCRIPTORS; i++) {
        *far = cuda->far_mailbox->descriptor[i];
        if (cuda->kept[i] == bytes && !memcmp(cuda->mailbox->descriptor[i], descriptor, bytes))
            return 0;
    }
    *far = cuda->far_mailbox->descriptor[next];
    cuda->kept[next] = 0;
    memcpy(cuda->mailbox->descriptor[next], descriptor, bytes);
    error = cuda->module->carry(cuda->gpu, cuda->far_mailbox->descriptor[next],
                                cuda->mailbox->descriptor[next], bytes);
    if (!error) {
        cuda->kept[next] = bytes;
        cuda->next_kept = (next + 1) % BH__CUDA_DESCRIPTORS;
    }
    return error;
}

/* Makes what slices count in 0, if it is not known to be so. */
static int clear_counts(bh__cuda *cuda)
{
    int error = 0;

    if (cuda->counts_unknown)
        error = cuda->module->fill(cuda->gpu, cuda->far_mailbox->counts, 0,
                                   sizeof cuda->far_mailbox->counts);
    cuda->counts_unknown = error != 0;
    return error;
}

/* Asks for what has been counted, behind launches that were not refused; clears what the next slice is to count in. */
static int ask_counts(bh__cuda *cuda)
{
    const bh__cuda_module *m = cuda->module;
    const uint32_t at = cuda->next_counts;
    bh__cuda_done *near = &cuda->mailbox->counts[0].done;
    const bh__cuda_done *done = &cuda->far_mailbox->counts[at].done;
    bh__cuda_done *next = &cuda->far_mailbox->counts[!at].done;
    int error;

    near->reported = 0;
    error = m->report(cuda->gpu, near, done, next);
    if (error)
        error = m->report(cuda->gpu, near, done, next);
    /* The kernels run, and what they do will not be known. */
    return bh__cuda_note(cuda, error);
}

/* Waits for it. It is while somebody waits for the stream that the runtime gives memory back to the device. */
static int await_counts(bh__cuda *cuda, bh__cuda_done *done)
{
    const bh__cuda_module *m = cuda->module;
    const bh__cuda_done *near = &cuda->mailbox->counts[0].done;
    int error;

    if (bh__atomic_load(&cuda->gave_back, __ATOMIC_RELAXED)) {
        bh__atomic_store(&cuda->gave_back, 0, __ATOMIC_RELAXED);
        error = m->wait(cuda->gpu, BH_LANE_RUN);
    } else {
        error = m->await(cuda->gpu, near);
    }
    if (!error)
        *done = *near;
    return bh__cuda_note(cuda, error);
}

/* Launches what has been held back. */
static int resume(bh__cuda *cuda, const bh__launch *l, const bh__cuda_job *job, int held,
                  bh__cuda_done *done)
{
    const bh__cuda_module *m = cuda->module;
    int error = m->resume(cuda->gpu, l->kernels, l->kind, job, held);

    if (error > 0)
        error = m->resume(cuda->gpu, l->kernels, l->kind, job, held);
    error = bh__cuda_note(cuda, error < 0 ? -error : error);
    if (!error)
        error = ask_counts(cuda);
    if (!error)
        error = await_counts(cuda, done);
    done->resumed = 1;
    return error;
}

/* Launches the job, and what was held back of it if that has something to do. */
static int launch_all(bh__cuda *cuda, const bh__launch *l, const bh__cuda_job *job,
                      bh__cuda_done *done)
{
    const bh__cuda_module *m = cuda->module;
    int held = 0;
    int error = l->surveys ? m->survey(cuda->gpu, l->kernels, job)
                           : m->slice(cuda->gpu, l->kernels, l->kind, job, &held);

    /* Some of the launches run, and how far they came will not be known. */
    if (error < 0)
        error = bh__cuda_note(cuda, -error);
    if (!error)
        error = ask_counts(cuda);
    if (!error && l->meanwhile)
        l->meanwhile(l->argument);
    if (!error)
        error = await_counts(cuda, done);
    return !error && held && bh__cuda_left(done) ? resume(cuda, l, job, held, done) : error;
}

int bh__cuda_launch(bh__cuda *cuda, const bh__launch *launch, bh__cuda_job *job,
                    bh__cuda_done *done)
{
    const void *descriptor = job->slice.geometry;
    int error;

    memset(done, 0, sizeof *done);
    bh__gate_enter_alone(&cuda->mail, &cuda->backend.system);
    error =
        keep_descriptor(cuda, descriptor, launch->kernels->descriptor_bytes, &job->slice.geometry);
    if (!error)
        error = clear_counts(cuda);
    job->descriptor = descriptor;
    job->done = &cuda->far_mailbox->counts[cuda->next_counts].done;
    if (!error)
        error = launch_all(cuda, launch, job, done);
    if (error) {
        memset(done, 0, sizeof *done);
        cuda->counts_unknown = 1;
        (void)cuda->module->wait(cuda->gpu, BH_LANE_RUN); /* nobody still reads the mailbox */
    }
    cuda->next_counts ^= 1;
    job->slice.geometry = descriptor;
    bh__gate_leave_alone(&cuda->mail);
    return error;
}

/* Carries a pass's argument to the device, with the descriptor behind it to which its first word points, launches the pass,
 * and carries the argument back. Waits. Answers 0 or an error. */
static int launch_pass(bh__cuda *cuda, const bh__cuda_kernels *kernels, uint32_t pass,
                       void *argument, uint64_t items)
{
    const bh__cuda_module *m = cuda->module;
    const uint64_t bytes = kernels->job_bytes[pass];
    const uint64_t at =
        (bytes + DESCRIPTOR_ALIGNMENT - 1) / DESCRIPTOR_ALIGNMENT * DESCRIPTOR_ALIGNMENT;
    unsigned char *near = cuda->mailbox->letter, *far = cuda->far_mailbox->letter;
    const void *descriptor, *moved = far + at;
    int error;

    memcpy(&descriptor, argument, sizeof descriptor);
    bh__gate_enter_alone(&cuda->mail, &cuda->backend.system);
    memcpy(near, argument, bytes);
    memcpy(near, &moved, sizeof moved);
    memcpy(near + at, descriptor, kernels->descriptor_bytes);
    error = m->carry(cuda->gpu, far, near, at + kernels->descriptor_bytes);
    if (!error)
        error = m->pass(cuda->gpu, kernels, pass, far, items);
    if (!error) {
        error = m->carry(cuda->gpu, near, far, bytes);
        if (error)
            error = m->carry(cuda->gpu, near, far, bytes);
        if (!error)
            error = m->wait(cuda->gpu, BH_LANE_RUN);
        /* The kernel has run, and what it did is not known. */
        (void)bh__cuda_note(cuda, error);
    }
    if (!error) {
        memcpy(argument, near, bytes);
        memcpy(argument, &descriptor, sizeof descriptor);
    } else {
        (void)m->wait(cuda->gpu, BH_LANE_RUN); /* nobody still reads the mailbox */
    }
    bh__gate_leave_alone(&cuda->mail);
    return error;
}

/* On a GPU that is lost no pass is refused: the call goes on, and answers BH_ERR_DEVICE at its end. */
static int cuda_pass(const bh__backend *backend, const bh_table *table, uint32_t pass,
                     void *argument, uint64_t items, uint64_t grain, bh__need need)
{
    bh__cuda *cuda = (bh__cuda *)(uintptr_t)backend;
    const bh__cuda_kernels *kernels = (const bh__cuda_kernels *)table->kernels;
    int error = 0, asked;

    (void)grain;
    for (asked = 0; asked < (need == BH_MUST ? 2 : 1); asked++) {
        if (bh__atomic_load(&cuda->lost, __ATOMIC_RELAXED))
            return 1;
        error = launch_pass(cuda, kernels, pass, argument, items);
        if (!error)
            return 1;
    }
    if (need == BH_MUST)
        (void)bh__cuda_note(cuda, error);
    return bh__atomic_load(&cuda->lost, __ATOMIC_RELAXED) != 0;
}

static const bh__kernels *cuda_kernels(const bh__backend *backend, const bh_table_options *options)
{
    const bh__cuda *cuda = (const bh__cuda *)backend;

    return (const bh__kernels *)cuda->module->kernels(options);
}

/* ---------------------------------------------------------------------------------------------
 * the context
 * --------------------------------------------------------------------------------------------- */

/* The backend's executor: what the host does for a GPU it does in the calling thread. */
static uint32_t alone_width(void *state)
{
    (void)state;
    return 1;
}

static void alone_run(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                      uint64_t count)
{
    uint64_t i;

    (void)state;
    for (i = 0; i < count; i++)
        task(argument, i);
}

static bh_status open_gpu(bh__cuda *cuda, int device, void *stream)
{
    const bh__cuda_module *m = cuda->module;
    void *pinned = NULL, *memory = NULL;
    int devices = 0;
    int error = m->count(&devices);

    if (error)
        return bh__fail(BH_ERR_DEVICE, "there is no GPU to use: %.200s", m->message(error));
    if (device >= devices)
        return bh__fail(BH_ERR_DEVICE, "there is no GPU %d; there are %d", device, devices);
    error = m->open(device, stream, &cuda->gpu);
    if (error)
        return bh__fail(BH_ERR_DEVICE, "GPU %d cannot be used: %.200s", device, m->message(error));
    error = m->allocate_pinned(cuda->gpu, sizeof *cuda->mailbox, &pinned);
    if (!error && (error = m->allocate(cuda->gpu, BH_MEMORY_TABLE, sizeof *cuda->mailbox, &memory)))
        (void)m->release_pinned(cuda->gpu, pinned);
    if (error) {
        m->close(cuda->gpu);
        return bh__fail(BH_ERR_MEMORY, "GPU %d gave no memory for a context: %.200s", device,
                        m->message(error));
    }
    cuda->mailbox = (bh__mailbox *)pinned;
    cuda->far_mailbox = (bh__mailbox *)memory;
    cuda->counts_unknown = 1;
    return BH_OK;
}

/* Half of the machine's memory: the system and its programs need some that is not pinned. */
static uint64_t far_most(const bh__cuda *cuda)
{
    const uint64_t bytes = bh__machine_bytes();
    int pins = 0;

    if (cuda->module->can_pin(cuda->gpu, &pins) || !pins)
        return 0;
    return bytes ? bytes / 2 : UINT64_MAX;
}

bh_status bh__cuda_init(bh__cuda *cuda, int device, const bh_context_options *options,
                        const bh_system *system, const bh_executor *copiers)
{
    bh__backend *b = &cuda->backend;
    bh_status status;

    memset(cuda, 0, sizeof *cuda);
    status =
        bh__cuda_find(system->environment(system->state, "BULKHASH_CUDA_MODULE"), &cuda->module);
    if (!status)
        status = open_gpu(cuda, device, options->cuda_stream);
    if (status)
        return status;
    cuda->shared_stream = options->cuda_stream != NULL;
    cuda->copiers = *copiers;
    b->system = *system;
    b->host.system = *system;
    b->host.pages = BH_PAGES_AUTO;
    b->host.reserve_least = BH__RESERVE_LEAST;
    b->memory = b->host;
    b->memory.of_device = 1;
    b->memory.reserve_least = 0;
    b->memory.system.state = cuda;
    b->memory.system.allocate = allocate;
    b->memory.system.release = unreserve;
    b->memory.system.reserve = reserve;
    b->memory.system.commit = commit;
    b->memory.system.decommit = decommit;
    b->memory.system.unreserve = unreserve;
    b->memory.system.page_bytes = page_bytes;
    b->growing = b->memory;
    b->growing.reserve_least = cuda->module->reserve_least(cuda->gpu);
    b->growing.system.reserve = reserve_growing;
    b->growing.system.commit = commit_growing;
    b->far = b->memory;
    b->far.system.reserve = reserve_far;
    b->far.system.commit = commit_far;
    b->far.system.unreserve = unreserve_far;
    b->far_most = far_most(cuda);
    b->executor.width = alone_width;
    b->executor.run = alone_run;
    b->target = "cuda";
    cuda->place.gpu = cuda->gpu;
    cuda->place.lost = &cuda->lost;
    b->primitives = cuda->module->primitives;
    b->device = &cuda->place;
    b->kernels = cuda_kernels;
    b->batch = bh__cuda_batch;
    b->slices = bh__cuda_batch;
    b->pass = cuda_pass;
    b->alive = cuda_alive;
    b->clear = cuda_clear;
    b->copy = cuda_copy;
    b->sort = bh__cuda_sort;
    b->export_pairs = bh__cuda_export;
    return BH_OK;
}

void bh__cuda_end(bh__cuda *cuda)
{
    (void)cuda->module->release(cuda->gpu, cuda->far_mailbox);
    (void)cuda->module->release_pinned(cuda->gpu, cuda->mailbox);
    if (cuda->staged)
        (void)cuda->module->release_pinned(cuda->gpu, cuda->staged);
    if (cuda->kept_lists)
        (void)cuda->module->release(cuda->gpu, cuda->kept_lists);
    cuda->module->close(cuda->gpu);
}
