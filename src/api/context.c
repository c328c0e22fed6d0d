/* Contexts: choosing a device, checking options, and what a program may ask of them. */
#include "api/context.h"

#include <string.h>

#include "base/error.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *bh_version(void)
{
    return TEXT(BH_VERSION_MAJOR) "." TEXT(BH_VERSION_MINOR) "." TEXT(BH_VERSION_PATCH);
}

bh_status bh__check_struct(const char *name, uint64_t given, uint64_t known)
{
    if (given == known)
        return BH_OK;
    return bh__fail(BH_ERR_ARGUMENT,
                    "%s.struct_size is %llu and this library knows %llu: set it to the size of "
                    "the struct, or call its init function",
                    name, (unsigned long long)given, (unsigned long long)known);
}

void bh_context_options_init_sized(bh_context_options *options, uint64_t struct_size)
{
    bh_context_options all;

    memset(&all, 0, sizeof all);
    all.struct_size = struct_size;
    memcpy(options, &all, struct_size < sizeof all ? struct_size : sizeof all);
}

/* A caller who replaces some functions must still bring all of them. */
static int complete(const bh_system *s)
{
    return s->allocate && s->release && s->reserve && s->commit && s->decommit && s->unreserve &&
           s->page_bytes && s->thread_start && s->thread_join && s->processors && s->yield &&
           s->sleep && s->clock_nanoseconds && s->random && s->process_id && s->environment;
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
    bh_status status =
        bh__check_struct("bh_context_options", o->struct_size, sizeof(bh_context_options));

    if (status)
        return status;
    if (o->pages != BH_PAGES_AUTO && o->pages != BH_PAGES_SMALL && o->pages != BH_PAGES_LAZY)
        return bh__fail(BH_ERR_ARGUMENT, "pages is %d, which is no page policy", (int)o->pages);
    if (o->threads > 4096)
        return bh__fail(BH_ERR_ARGUMENT, "threads is %u; at most 4096 are allowed", o->threads);
    if (o->executor && (!o->executor->width || !o->executor->run))
        return bh__fail(BH_ERR_ARGUMENT, "the executor lacks a function");
    if (o->cuda_stream && gpu < 0)
        return bh__fail(BH_ERR_ARGUMENT, "cuda_stream is set for a CPU context");
    if (!o->system)
        return BH_OK;
    status = bh__check_struct("bh_system", o->system->struct_size, sizeof(bh_system));
    if (!status && !complete(o->system))
        status = bh__fail(BH_ERR_ARGUMENT, "the system lacks a function: fill it with "
                                           "bh_system_default() and replace what you like");
    return status;
}

/* Threads that copy arrays for a GPU, at most: they share what the host's memory can do. Chosen, not
 * tuned. */
#define COPIERS_MOST 16u

/* A context on a GPU has a pool too, whose threads copy what the GPU cannot reach; they are started
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
    bh_context_options defaults;
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
    if (!options) {
        bh_context_options_init(&defaults);
        options = &defaults;
    }
    status = check_options(options, gpu);
    if (status)
        return status;
    if (options->system)
        system = *options->system;
    else
        bh_system_default(&system);

    made = system.allocate(system.state, sizeof *made);
    if (!made)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a context");
    made->system = system;
    made->backend = gpu < 0 ? &made->cpu.backend : &made->cuda.backend;
    status = gpu < 0 ? bh__cpu_init(&made->cpu, options, &system) : init_cuda(made, gpu, options);
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
    bh_status status;

    if (!context || !info)
        return bh__fail(BH_ERR_ARGUMENT, "bh_context_get_info: a pointer is NULL");
    status = bh__check_struct("bh_context_info", info->struct_size, sizeof *info);
    if (status)
        return status;
    backend = context->backend;
    info->device = bh__on_device(backend) ? "cuda" : "cpu";
    info->target = backend->target;
    info->threads = backend->executor.width(backend->executor.state);
    info->pages = backend->memory.pages;
    return BH_OK;
}
