/* Tables: making them, and the calls that see or change the whole of one. */
#include <stdio.h>
#include <string.h>

#include "api/arrays.h"
#include "api/context.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/structs.h"
#include "tables/budget.h"
#include "tables/counts.h"

/* An export cursor is a position and, above it, the low bits of the count of changes. */
#define CURSOR_BITS 40
#define CURSOR_POSITION ((1ull << CURSOR_BITS) - 1)

void bh_table_options_init_sized(bh_table_options *options, uint64_t struct_size,
                                 uint32_t key_bytes, uint32_t value_bytes, uint64_t capacity)
{
    bh_table_options all;

    memset(&all, 0, sizeof all);
    all.struct_size = sizeof all;
    all.key_bytes = key_bytes;
    all.value_bytes = value_bytes;
    all.capacity = capacity;
    bh__init_struct(options, struct_size, &all);
}

void bh_experimental_options_init_sized(bh_experimental_options *options, uint64_t struct_size)
{
    bh_experimental_options all;

    memset(&all, 0, sizeof all);
    all.struct_size = sizeof all;
    bh__init_struct(options, struct_size, &all);
}

/* Whether a number is one of the thousand for designs that only builds for tests have. */
static int is_of_tests(bh_design design)
{
    return (int)design >= BH__DESIGNS_OF_TESTS && (int)design < BH__DESIGNS_OF_TESTS + 1000;
}

static bh_status check_options(const bh_table_options *o)
{
    if ((int)o->design < BH_AUTO || (o->design > BH_WORKINGSET && !is_of_tests(o->design)))
        return bh__fail(BH_ERR_ARGUMENT, "design is %d, which is no bh_design", (int)o->design);
    if ((int)o->duplicates < BH_DUPLICATES_ANY || o->duplicates > BH_DUPLICATES_NONE)
        return bh__fail(BH_ERR_ARGUMENT, "duplicates is %d, which is no bh_duplicates",
                        (int)o->duplicates);
    if ((int)o->schedule < BH_SCHEDULE_AUTO || o->schedule > BH_SCHEDULE_REGIONS)
        return bh__fail(BH_ERR_ARGUMENT, "schedule is %d, which is no bh_schedule",
                        (int)o->schedule);
    return BH_OK;
}

static bh_status check_experimental(const bh_table_options *o, const bh_experimental_options *e)
{
    if ((int)e->gpu_schedule < BH_GPU_SCHEDULE_DEFAULT ||
        e->gpu_schedule > BH_GPU_SCHEDULE_VOTER32 ||
        (e->gpu_schedule && o->schedule != BH_SCHEDULE_AUTO))
        return bh__fail(BH_ERR_ARGUMENT,
                        "experimental.gpu_schedule is %d with schedule %d; it must be a "
                        "bh_gpu_schedule, beside BH_SCHEDULE_AUTO",
                        (int)e->gpu_schedule, (int)o->schedule);
    if (e->spread != BH_SPREAD_HOME_FIRST && e->spread != BH_SPREAD_THEOREM1)
        return bh__fail(BH_ERR_ARGUMENT, "experimental.spread is %d, which is no bh_spread",
                        (int)e->spread);
    if ((int)e->values < BH_VALUES_DEFAULT || e->values > BH_VALUES_BESIDE ||
        (e->values == BH_VALUES_APART && !o->value_bytes))
        return bh__fail(BH_ERR_ARGUMENT,
                        "experimental.values is %d with values of %u bytes; it must be a "
                        "bh_value_place, and BH_VALUES_APART only in a table that has values",
                        (int)e->values, o->value_bytes);
    if (e->regions == 1 || e->regions > 65536 || (e->regions & (e->regions - 1)))
        return bh__fail(
            BH_ERR_ARGUMENT,
            "experimental.regions is %u; it must be 0, or a power of two from 2 to 65,536",
            e->regions);
    return BH_OK;
}

/* Copies the options into the plan of a table, and completes them. */
static bh_status take_options(const bh_table_options *given, bh_table *plan)
{
    bh_table_options *o = &plan->options;
    bh_experimental_options *e = &plan->experimental;
    bh_status status;

    bh_table_options_init(o, 0, 0, 0);
    bh_experimental_options_init(e);
    status = bh__take_struct(&bh__table_options_struct, o, given);
    if (!status)
        status = check_options(o);
    if (!status && o->experimental)
        status = bh__take_struct(&bh__experimental_options_struct, e, o->experimental);
    o->experimental = e;
    return status ? status : check_experimental(o, e);
}

/* Writes the names of the designs of this version for which `wanted` answers yes: "A, B and C". */
static void name_designs(char *text, size_t room, int (*wanted)(bh_design design, uint32_t devices),
                         uint32_t devices)
{
    const char *name, *last = NULL;
    size_t used = 0;
    uint32_t i;
    bh_design design;

    *text = 0;
    for (i = 0; (design = bh__design_at(i, &name)) != BH_AUTO; i++) {
        if (!wanted(design, devices))
            continue;
        if (last)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", last);
        last = name;
        if (used >= room)
            return;
    }
    if (last)
        (void)snprintf(text + used, room - used, "%s%s", used ? " and " : "", last);
}

static int any_design(bh_design design, uint32_t devices)
{
    (void)devices;
    return design != BH_AUTO;
}

static int goes_by_region(bh_design design, uint32_t devices)
{
    return (bh__policy_of(design)->regions & devices) != 0;
}

/* Whether the device has the schedule for the design. */
static bh_status check_schedule(const bh__backend *backend, const bh__policy *policy,
                                const bh_table_options *o)
{
    const int far = bh__on_device(backend);
    const uint32_t device = far ? BH_ON_GPU : BH_ON_CORES;
    char names[128];

    if (o->experimental->gpu_schedule && !far)
        return bh__fail(BH_ERR_UNSUPPORTED, "experimental.gpu_schedule is for tables on a GPU");
    if (o->schedule != BH_SCHEDULE_REGIONS || (policy->regions & device))
        return BH_OK;
    name_designs(names, sizeof names, goes_by_region, device);
    return bh__fail(BH_ERR_UNSUPPORTED, "on %s BH_SCHEDULE_REGIONS is for %s alone",
                    far ? "a GPU" : "cores", names);
}

/* Whether the device that tables are on still works. */
static bh_status alive(const bh__backend *backend)
{
    return backend->alive ? backend->alive(backend) : BH_OK;
}

/* Makes the table that was asked for in a design. */
static bh_status create_as(const bh_table *asked, bh_design design, bh_table **table)
{
    const bh__backend *backend = asked->backend;
    const char *first = "";
    char designs[128];
    bh_table plan = *asked;
    bh_status status;

    plan.options.design = design;
    (void)bh__design_at(0, &first);
    plan.policy = bh__policy_of(design);
    name_designs(designs, sizeof designs, any_design, 0);
    if (!plan.policy)
        return bh__fail(BH_ERR_UNSUPPORTED, "design %d is not in this version; %s are", (int)design,
                        designs);
    status = check_schedule(backend, plan.policy, &plan.options);
    if (status)
        return status;
    plan.kernels = backend->kernels(backend, &plan.options);
    if (!plan.kernels && bh__on_device(backend))
        return bh__fail(
            BH_ERR_UNSUPPORTED,
            "on a GPU this version has %s with keys of 4 or 8 and values of 0, 4 or 8 "
            "bytes; schedules to compare, where it was built with BULKHASH_COMPARED, in %s "
            "with keys and values of 4 bytes, side by side",
            designs, first);
    if (!plan.kernels)
        return bh__fail(BH_ERR_UNSUPPORTED,
                        "keys of %u and values of %u bytes are not supported: keys may have 4 or "
                        "8, values 0, 4 or 8",
                        plan.options.key_bytes, plan.options.value_bytes);
    if (!plan.options.seed_fixed &&
        backend->system.random(backend->system.state, &plan.options.seed, sizeof plan.options.seed))
        return bh__fail(BH_ERR_MEMORY, "the system gave no random seed");
    if (backend->has_barrier)
        bh__gate_allow_presence(&plan.gate);
    status = alive(backend);
    if (!status)
        status = plan.policy->create(&plan, table);
    if (!status)
        (*table)->options.experimental = &(*table)->experimental; /* not the plan's any more */
    if (!status && (status = alive(backend)) != BH_OK) {
        plan.policy->destroy(*table);
        *table = NULL;
    }
    return status;
}

/* Makes a table that the GPU's memory or its budget is too small for (`why`) in the first design that can use the host's
 * memory besides. If that is refused too, the answer is `why`, and the sentence has both reasons. */
static bh_status create_larger(const bh_table *asked, bh_status why, bh_table **table)
{
    char reason[384], other[384];
    const char *name;
    bh_design design;
    uint32_t i;

    (void)snprintf(reason, sizeof reason, "%s", bh_error_detail());
    for (i = 0; (design = bh__design_at(i, &name)) != BH_AUTO; i++) {
        if (!bh__policy_of(design)->outgrows_device)
            continue;
        if (!create_as(asked, design, table))
            return BH_OK;
        (void)snprintf(other, sizeof other, "%s", bh_error_detail());
        return bh__fail(why, "%s; and in %s, which can use the host's memory besides: %s", reason,
                        name, other);
    }
    return why;
}

bh_status bh_table_create(bh_context *context, const bh_table_options *options, bh_table **table)
{
    const bh__backend *backend;
    bh_design design;
    bh_table asked;
    bh_status status;

    if (table)
        *table = NULL;
    if (!context || !options || !table)
        return bh__fail(BH_ERR_ARGUMENT, "bh_table_create: %s is NULL",
                        !context   ? "context"
                        : !options ? "options"
                                   : "table");
    backend = context->backend;
    memset(&asked, 0, sizeof asked);
    asked.backend = backend;
    asked.target = "";
    status = take_options(options, &asked);
    if (status)
        return status;
    design = asked.options.design;
    status = create_as(&asked, design == BH_AUTO ? bh__design_chosen() : design, table);
    if (design == BH_AUTO && (status == BH_ERR_FULL || status == BH_ERR_MEMORY) &&
        bh__on_device(backend) && backend->far_most)
        status = create_larger(&asked, status, table);
    return status;
}

void bh_table_destroy(bh_table *table)
{
    if (!table)
        return;
    bh__stripes_destroy(table);
    table->policy->destroy(table);
}

bh_status bh_reserve(bh_table *table, uint64_t keys)
{
    bh_status status;
    uint64_t since;

    if (!table)
        return bh__fail(BH_ERR_ARGUMENT, "bh_reserve: table is NULL");
    since = bh__enter_alone(table);
    status = table->policy->reserve(table, keys);
    bh__leave_alone(table, since);
    return status ? status : alive(table->backend);
}

bh_status bh_compact(bh_table *table)
{
    bh_status status;
    uint64_t since;

    if (!table)
        return bh__fail(BH_ERR_ARGUMENT, "bh_compact: table is NULL");
    since = bh__enter_alone(table);
    status = table->policy->compact(table);
    bh__leave_alone(table, since);
    return status ? status : alive(table->backend);
}

bh_status bh_clear(bh_table *table)
{
    bh_status status;
    uint64_t since;

    if (!table)
        return bh__fail(BH_ERR_ARGUMENT, "bh_clear: table is NULL");
    since = bh__enter_alone(table);
    status = table->policy->clear(table);
    bh__leave_alone(table, since);
    return status ? status : alive(table->backend);
}

bh_status bh_export(bh_table *table, uint64_t *cursor, void *keys, void *values, uint64_t room,
                    uint64_t *count)
{
    bh__array arrays[2] = {{"keys", keys, 0, 1, 1}, {"values", values, 0, 1, 1}};
    uint64_t since, at, stamp;
    bh_status status;

    if (!table || !cursor || !count)
        return bh__fail(BH_ERR_ARGUMENT, "bh_export: %s is NULL",
                        !table    ? "table"
                        : !cursor ? "cursor"
                                  : "count");
    *count = 0;
    if (room && !keys)
        return bh__fail(BH_ERR_ARGUMENT, "bh_export: keys is NULL and room is not 0");
    arrays[0].bytes = table->options.key_bytes;
    arrays[1].bytes = table->options.value_bytes;
    status = bh__check_arrays("bh_export", table->backend, arrays, 2, room);
    if (status)
        return status;
    if (!table->options.value_bytes)
        values = NULL;

    since = bh__enter_alone(table);
    stamp = table->changes << CURSOR_BITS;
    at = *cursor & CURSOR_POSITION;
    if (*cursor && (*cursor & ~CURSOR_POSITION) != stamp) {
        status = bh__fail(BH_ERR_ARGUMENT, "bh_export: the table has changed since this cursor was "
                                           "made; start again with 0");
    } else {
        status =
            table->backend->export_pairs(table->backend, table, &at, keys, values, room, count);
        *cursor = at ? stamp | at : 0;
    }
    bh__leave_alone(table, since);
    return status;
}

/* What every table tells, with the gate held; `keys` are those that it has now. */
static void give_stats(const bh_table *table, uint64_t keys, bh_table_stats *all)
{
    all->keys = keys;
    all->slots = table->slots;
    /* A design may take more slots when they are wanted, which is growth too. */
    all->max_keys = table->max_keys < table->slots ? table->max_keys : table->slots;
    bh__bytes_stats(table, all);
    all->grows = table->grows;
    all->shrinks = table->shrinks;
    all->reseeds = table->reseeds;
    all->keys_moved = table->keys_moved;
    all->longest_pause_ns = table->longest_pause_ns;
    all->times_alone = table->times_alone;
    all->target = bh__atomic_load(&table->target, __ATOMIC_RELAXED);
}

/*
 * The size of the pages under a table of `bytes` bytes. Some programs ask for a table's keys after each call, and the system takes
 * longer to say what pages are (it writes and we read a text about all memory of the process) than a call of some thousand keys. So
 * it is asked again when the table's memory has changed, and otherwise after a second.
 */
#define PAGE_NANOSECONDS UINT64_C(1000000000)

static uint64_t page_bytes(bh_table *table, const void *page, uint64_t bytes)
{
    const bh_system *system = &table->backend->memory.system;
    const bh_system *own = &table->backend->system;
    const uint64_t now = own->clock_nanoseconds(own->state), at = (uint64_t)(uintptr_t)page;
    bh__page *p = &table->page;
    uint64_t answer = bh__atomic_load(&p->bytes, __ATOMIC_RELAXED);

    if (answer && bh__atomic_load(&p->at, __ATOMIC_RELAXED) == at &&
        bh__atomic_load(&p->of, __ATOMIC_RELAXED) == bytes &&
        now - bh__atomic_load(&p->since, __ATOMIC_RELAXED) < PAGE_NANOSECONDS)
        return answer;
    /* The gate is not held, and only the address is used. */
    answer = system->page_bytes(system->state, page, 1);
    bh__atomic_store(&p->bytes, answer, __ATOMIC_RELAXED);
    bh__atomic_store(&p->at, at, __ATOMIC_RELAXED);
    bh__atomic_store(&p->of, bytes, __ATOMIC_RELAXED);
    bh__atomic_store(&p->since, now, __ATOMIC_RELAXED);
    return answer;
}

bh_status bh_table_get_stats(const bh_table *table, bh_table_stats *stats)
{
    bh_table *t = (bh_table *)(uintptr_t)table; /* const is for the caller: the gate is written */
    bh__presence *presence;
    bh_table_stats all;
    const void *page;
    bh_status status;
    int is_alone;

    if (!table || !stats)
        return bh__fail(BH_ERR_ARGUMENT, "bh_table_get_stats: %s is NULL",
                        !table ? "table" : "stats");
    status = bh__check_struct(&bh__table_stats_struct, stats);
    if (status)
        return status;
    memset(&all, 0, sizeof all);
    all.struct_size = sizeof all;
    bh__gate_enter_shared(&t->gate, &presence, &table->backend->system);
    is_alone = table->policy->stats || table->stripes;
    if (!is_alone)
        give_stats(table, bh__keys_settled(table), &all);
    page = table->policy->typical_page(table);
    bh__gate_leave_shared(&t->gate, presence);
    if (is_alone) {
        bh__gate_enter_alone(&t->gate, &table->backend->system);
        bh__stripes_collect(t);
        give_stats(table, table->keys, &all);
        if (table->policy->stats)
            table->policy->stats(t, &all);
        bh__gate_leave_alone(&t->gate);
    }
    all.page_bytes = page_bytes(t, page, all.bytes_total);
    bh__give_struct(stats, &all);
    return BH_OK;
}

bh_status bh_save(bh_table *table, const char *path)
{
    if (!table || !path)
        return bh__fail(BH_ERR_ARGUMENT, "bh_save: %s is NULL", !table ? "table" : "path");
    return bh__fail(BH_ERR_UNSUPPORTED, "this version does not write snapshots");
}

bh_status bh_load(bh_context *context, const char *path, const bh_table_options *options,
                  bh_table **table)
{
    (void)options;
    if (table)
        *table = NULL;
    if (!context || !path || !table)
        return bh__fail(BH_ERR_ARGUMENT, "bh_load: %s is NULL",
                        !context ? "context"
                        : !path  ? "path"
                                 : "table");
    return bh__fail(BH_ERR_UNSUPPORTED, "this version does not read snapshots");
}
