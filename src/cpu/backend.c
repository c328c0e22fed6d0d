/* The CPU backend: which kernels, which executor, how passes run. */
#include "cpu/backend.h"

#include "base/error.h"
#include "base/run.h"

static const bh__kernels *cpu_kernels(const bh__backend *backend, const bh_table_options *options)
{
    const bh__cpu *cpu = (const bh__cpu *)backend;

    return cpu->target.kernels(options);
}

/* Cores refuse nothing. */
static int cpu_pass(const bh__backend *backend, const bh_table *table, uint32_t pass,
                    void *argument, uint64_t items, uint64_t grain, bh__need need)
{
    (void)need;
    bh__run(&backend->executor, table->kernels->pass[pass], argument, items, grain);
    return 1;
}

static int cpu_clear(const bh__backend *backend, const bh__block *block, uint64_t bytes,
                     bh__need need)
{
    (void)need;
    bh__block_clear(block, &backend->executor, bytes);
    return 1;
}

static int cpu_copy(const bh__backend *backend, const bh__block *to, const bh__block *from,
                    uint64_t bytes, bh__need need)
{
    (void)need;
    bh__block_copy(to, from, &backend->executor, bytes);
    return 1;
}

static bh_status cpu_export(const bh__backend *backend, bh_table *table, uint64_t *at, void *keys,
                            void *values, uint64_t room, uint64_t *count)
{
    (void)backend;
    *count = table->policy->export_pairs(table, at, keys, values, room);
    return BH_OK;
}

bh_status bh__cpu_init(bh__cpu *cpu, const bh_context_options *options, const bh_system *system)
{
    bh_status status =
        bh__target_choose(system->environment(system->state, "BULKHASH_TARGET"), &cpu->target);
    uint32_t threads;

    if (status)
        return status;
    cpu->pool = NULL;
    cpu->large_calls = 0;
    cpu->backend.system = *system;
    cpu->backend.host.system = *system;
    cpu->backend.host.pages = options->pages;
    cpu->backend.host.of_device = 0;
    cpu->backend.host.reserve_least = BH__RESERVE_LEAST;
    cpu->backend.memory = cpu->backend.host;
    cpu->backend.growing = cpu->backend.host;
    cpu->backend.far = cpu->backend.host;
    cpu->backend.far_most = UINT64_MAX;
    cpu->backend.has_barrier = !system->barrier_prepare(system->state) && !bh__presences_prepare();
    cpu->backend.target = cpu->target.name;
    cpu->backend.primitives = cpu->target.primitives;
    cpu->backend.device = NULL;
    cpu->backend.kernels = cpu_kernels;
    cpu->backend.batch = bh__cpu_batch;
    cpu->backend.slices = bh__cpu_slices;
    cpu->backend.pass = cpu_pass;
    cpu->backend.alive = NULL;
    cpu->backend.clear = cpu_clear;
    cpu->backend.copy = cpu_copy;
    cpu->backend.sort = NULL;
    cpu->backend.export_pairs = cpu_export;
    if (options->executor) {
        cpu->backend.executor = *options->executor;
        return BH_OK;
    }
    threads = options->threads ? options->threads : system->processors(system->state);
    cpu->pool = bh__pool_create(system, threads ? threads : 1);
    if (!cpu->pool)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a pool of %u threads",
                        threads);
    cpu->backend.executor = bh__pool_executor(cpu->pool);
    return BH_OK;
}

void bh__cpu_end(bh__cpu *cpu)
{
    bh__pool_destroy(cpu->pool);
}
