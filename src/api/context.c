/* Contexts: choosing a device, checking options, and what a program may ask about a context. */
#include "api/context.h"

#include <string.h>

#include "base/error.h"
#include "base/structs.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *bh_version(void)
{
    return TEXT(BH_VERSION_MAJOR) "." TEXT(BH_VERSION_MINOR) "." TEXT(BH_VERSION_PATCH);
}

void bh_context_options_init_sized(bh_context_options *options, uint64_t struct_size)
{
    bh_context_options all;

    memset(&all, 0, sizeof all);
    all.struct_size = sizeof all;
    bh__init_struct(options, struct_size, &all);
}

/* Whether all functions are there: a caller that replaces some must still bring all of them. */
static int complete(const bh_system *s)
{
    return s->allocate && s->release && s->reserve && s->commit && s->decommit && s->unreserve &&
           s->page_bytes && s->thread_start && s->thread_join && s->processors && s->yield &&
           s->sleep && s->clock_nanoseconds && s->random && s->process_id && s->environment &&
           s->barrier_prepare && s->barrier;
}

/* The number of the GPU that a device names: 0 for "cuda", N for "cuda:N"; -1 for the CPU, -2 for
 * what is no device. */
static int gpu_of(const char *device)
{
    int number = 0;

    if (!strcmp(device, "cpu"))
        return -1;
    if (!strcmp(device, "cuda"))
        return 0;
    if (strncmp(device, "cuda:", 5) || !device[5] || strlen(device) > 5 + 4)
        return -2;
    for (device += 5; *device; device++) {
        if (*device < '0' || *device > '9')
            return -2;
        number = 10 * number + (*device - '0');
    }
    return number;
}

static bh_status check_options(const bh_context_options *o, int gpu)
{
    if (o->pages != BH_PAGES_AUTO && o->pages != BH_PAGES_SMALL && o->pages != BH_PAGES_LAZY)
        return bh__fail(BH_ERR_ARGUMENT, "pages is %d, which is no page policy", (int)o->pages);
    if (o->threads > 4096)
        return bh__fail(BH_ERR_ARGUMENT, "threads is %u; at most 4096 are allowed", o->threads);
    if (o->executor && (!o->executor->width || !o->executor->run))
        return bh__fail(BH_ERR_ARGUMENT, "the executor lacks a function");
    if (o->cuda_stream && gpu < 0)
        return bh__fail(BH_ERR_ARGUMENT, "cuda_stream is set for a CPU context");
    return BH_OK;
}

/* The system functions of a context: the library's own, and those that the program brings. */
static bh_status take_system(const bh_system *given, bh_system *system)
{
    bh_status status = BH_OK;

    bh_system_default(system);
    if (given)
        status = bh__take_struct(&bh__system_struct, system, given);
    if (!status && !complete(system))
        status = bh__fail(BH_ERR_ARGUMENT, "the system lacks a function: fill it with "
                                           "bh_system_default() and replace what you like");
    return status;
}

/* Threads that copy arrays for a GPU, at most: more would only share the host's memory bandwidth. Chosen, not
 * tuned. */
#define COPIERS_MOST 16u

/* A context on a GPU has a pool too, whose threads copy arrays that the GPU cannot reach; they are started
 * when there is first something to copy. */
static bh_status init_cuda(bh_context *made, int gpu, const bh_context_options *options)
{
    const bh_system *system = &made->system;
    uint32_t threads = options->threads ? options->threads : system->processors(system->state);
    bh_executor copiers;
    bh_status status;

    made->cpu.pool = NULL;
    if (options->executor) {
        copiers = *options->executor;
    } else {
        threads = threads < 1 ? 1 : threads < COPIERS_MOST ? threads : COPIERS_MOST;
        made->cpu.pool = bh__pool_create(system, threads);
        if (!made->cpu.pool)
            return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a pool of %u threads",
                            threads);
        copiers = bh__pool_executor(made->cpu.pool);
    }
    status = bh__cuda_init(&made->cuda, gpu, options, system, &copiers);
    if (status)
        bh__cpu_end(&made->cpu);
    return status;
}

bh_status bh_context_create(const char *device, const bh_context_options *options,
                            bh_context **context)
{
    bh_context_options all;
    bh_context *made;
    bh_system system;
    bh_status status;
    int gpu;

    if (!context)
        return bh__fail(BH_ERR_ARGUMENT, "bh_context_create: context is NULL");
    *context = NULL;
    if (!device)
        return bh__fail(BH_ERR_ARGUMENT, "bh_context_create: device is NULL");
    gpu = gpu_of(device);
    if (gpu < -1)
        return bh__fail(BH_ERR_ARGUMENT,
                        "there is no device \"%.40s\": use \"cpu\", \"cuda\" or \"cuda:1\"",
                        device);
    bh_context_options_init(&all);
    status = options ? bh__take_struct(&bh__context_options_struct, &all, options) : BH_OK;
    if (!status)
        status = check_options(&all, gpu);
    if (!status)
        status = take_system(all.system, &system);
    if (status)
        return status;

    made = system.allocate(system.state, sizeof *made);
    if (!made)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a context");
    made->system = system;
    made->backend = gpu < 0 ? &made->cpu.backend : &made->cuda.backend;
    status = gpu < 0 ? bh__cpu_init(&made->cpu, &all, &system) : init_cuda(made, gpu, &all);
    if (status) {
        system.release(system.state, made, sizeof *made);
        return status;
    }
    *context = made;
    return BH_OK;
}

void bh_context_destroy(bh_context *context)
{
    bh_system system;

    if (!context)
        return;
    system = context->system;
    if (context->backend == &context->cuda.backend)
        bh__cuda_end(&context->cuda);
    bh__cpu_end(&context->cpu);
    system.release(system.state, context, sizeof *context);
}

bh_status bh_context_get_info(const bh_context *context, bh_context_info *info)
{
    const bh__backend *backend;
    bh_context_info all;
    bh_status status;

    if (!context || !info)
        return bh__fail(BH_ERR_ARGUMENT, "bh_context_get_info: %s is NULL",
                        !context ? "context" : "info");
    status = bh__check_struct(&bh__context_info_struct, info);
    if (status)
        return status;
    backend = context->backend;
    all.struct_size = sizeof all;
    all.device = bh__on_device(backend) ? "cuda" : "cpu";
    all.target = backend->target;
    all.threads = backend->executor.width(backend->executor.state);
    all.pages = backend->memory.pages;
    bh__give_struct(info, &all);
    return BH_OK;
}
