/*
 * Stadium hashing: the policy, which is what the API's table calls. Here are the options, creating and
 * destroying, what concerns the whole table, and what to do when operations of a slice stalled; policy.h says
 * which file has the rest.
 *
 * Departures from the paper: tables grow and shrink (the paper's have one size), a part of the board and of the
 * slots at a time; compacting makes erased tickets fresh.
 */
#include "tables/stadium/policy.h"

#include "base/system.h"

#define DEFAULT_MAX_FILL 0.8
#define DEFAULT_TICKET_BITS 8

/* The bits of a ticket on the board, for 1, 2, 4 and 8 bits of the paper's kind (layout.h). */
static uint32_t width_of(uint32_t ticket_bits)
{
    return ticket_bits < 4 ? ticket_bits + 1 : ticket_bits;
}

static bh_status choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    uint32_t *bits = &o->stadium.ticket_bits;

    if (!*bits)
        *bits = DEFAULT_TICKET_BITS;
    if (*bits != 1 && *bits != 2 && *bits != 4 && *bits != 8)
        return bh__fail(BH_ERR_ARGUMENT, "stadium.ticket_bits is %u; it can be 1, 2, 4 or 8",
                        *bits);
    if ((int)o->stadium.probe < BH_PROBE_AUTO || o->stadium.probe > BH_PROBE_SLOT)
        return bh__fail(BH_ERR_ARGUMENT, "stadium.probe is %d, which is no bh_probe",
                        (int)o->stadium.probe);
    if (o->stadium.probe == BH_PROBE_AUTO)
        o->stadium.probe = BH_PROBE_BUCKET;
    if ((int)o->stadium.table_memory < BH_TABLE_MEMORY_AUTO ||
        o->stadium.table_memory > BH_TABLE_MEMORY_HOST)
        return bh__fail(BH_ERR_ARGUMENT, "stadium.table_memory is %d, which is no bh_table_memory",
                        (int)o->stadium.table_memory);
    if (o->stadium.table_memory == BH_TABLE_MEMORY_HOST && !table->backend->far_most)
        return bh__fail(BH_ERR_UNSUPPORTED, "stadium.table_memory: this GPU cannot read and write "
                                            "the host's memory in place");
    if (o->stadium.reserved)
        return bh__fail(BH_ERR_ARGUMENT, "stadium.reserved is %u; it must be 0",
                        o->stadium.reserved);
    if (o->stadium.file_path)
        return bh__fail(BH_ERR_UNSUPPORTED,
                        "stadium.file_path: this version has no slots in files");
    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (!(o->max_fill > 0 && o->max_fill <= 1))
        return bh__fail(BH_ERR_ARGUMENT,
                        "max_fill is %g; it must be above 0 and, with BH_STADIUM, at most 1",
                        o->max_fill);
    if (o->min_fill == 0)
        o->min_fill = o->max_fill / 4;
    if (!bh__fill_is_at_most(&o->min_fill, o->max_fill / 2))
        return bh__fail(
            BH_ERR_ARGUMENT,
            "min_fill is %g; with max_fill %g it must be at most %g, or a table that has "
            "just grown would be too empty",
            o->min_fill, o->max_fill, o->max_fill / 2);
    return BH_OK;
}

static void set_tickets(const bh_table *table, bh_st_geometry *g)
{
    const bh_table_options *o = &table->options;
    uint32_t i;

    g->width = width_of(o->stadium.ticket_bits);
    g->by_width = (128 + g->width - 1) / g->width;
    g->group = 64 / g->width;
    if (g->group > BH_ST_GROUP_MOST)
        g->group = BH_ST_GROUP_MOST;
    g->by_group = UINT64_MAX / g->group + 1;
    g->infos = (1u << g->width) / 2 - 1;
    g->lows = g->highs = 0;
    for (i = 0; i < g->group; i++) {
        g->lows |= 1ull << i * g->width;
        g->highs |= 1ull << (i * g->width + g->width - 1);
    }
    g->slot_shift = BH_ST_SLOT_SHIFT(o->key_bytes, o->value_bytes);
    g->by_slot = o->stadium.probe == BH_PROBE_SLOT;
    g->turnover = 0;
    g->far = 0;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    bh_table checked = *plan;
    bh__st_table *t;
    bh__st_shape shape;
    bh_status status = choose_options(&checked);

    if (status)
        return status;
    t = (bh__st_table *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->table.floor_keys = checked.options.capacity;
    bh__st_empty(&t->set);
    t->geometry.seed = bh_seed_expand(checked.options.seed);
    set_tickets(&checked, &t->geometry);
    if (t->geometry.width == 8 && !t->geometry.by_slot)
        t->table.hints = BH_HINT_AT_ONCE | BH_HINT_CLAIMS; /* halves.h */
    shape = bh__st_shape_for(t, checked.options.capacity);
    if (shape.lines)
        status = bh__st_rebuild(t, shape);
    else
        status = bh__fail(BH_ERR_ARGUMENT, "capacity %llu is more than a table can address",
                          (unsigned long long)checked.options.capacity);
    if (status) {
        system->release(system->state, t, sizeof *t);
        return status;
    }
    *made = &t->table;
    return BH_OK;
}

static void destroy(bh_table *table)
{
    const bh_system *system = &table->backend->system;

    bh__st_destroy(bh__st_of(table), &bh__st_of(table)->set);
    system->release(system->state, table, sizeof(bh__st_table));
}

static const void *geometry(const bh_table *table)
{
    return &((const bh__st_table *)table)->geometry;
}

/* Elements of the slice found no free slot in their parts, though there is room in others. */
static bh_status grow_full(bh__st_table *t, const bh__slice *slice)
{
    const bh__backend *backend = t->table.backend;
    bh_st_full job = {&t->geometry, slice->keys, slice->list, slice->stalled, 0};

    if (!backend->pass(backend, &t->table, BH_ST_PASS_FULL, &job, 1, 1, BH_TRY))
        return bh__st_refused("to say which parts are full");
    return bh__st_grow_parts(t, job.parts);
}

/* Elements of the slice found no room: answers whether there may be some now. */
static int more_room(bh__st_table *t, int *may_grow, bh_status *why)
{
    bh_status status;

    if (*may_grow) {
        status = bh__st_grow(t);
        if (!status)
            return 1;
        *why = status;
        *may_grow = 0;
    } else if (t->to_the_last) {
        return 0;
    }
    t->to_the_last = 1;
    bh__st_publish(t);
    return t->table.room != 0;
}

/* On a GPU, where elements that erase keys that are there must not stall (cuda/device/present.h has no list for them).
 * Where none is erased after all, insertions take locks in vain until the table is cleared or made anew. */
static void expect_erasures(bh_table *table)
{
    bh__st_of(table)->geometry.turnover = 1;
}

static bh__resolved resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why)
{
    bh__st_table *t = bh__st_of(table);
    bh_status status;

    /* Another slice's may have been resolved meanwhile. */
    if (slice->reasons & BH_ST_REASON_TURNOVER) {
        expect_erasures(table);
        return BH_RESOLVED_AGAIN;
    }
    /* Running slices set room aside that they may not need, and claim one ticket while they give up another: now
     * that none runs, there may be room, and a slot, for those who found none. */
    if (table->room && !(slice->hints & BH_HINT_AGAIN)) {
        slice->hints |= BH_HINT_AGAIN;
        return BH_RESOLVED_AGAIN;
    }
    if ((slice->reasons & BH_REASON_ROOM) && more_room(t, may_grow, why))
        return BH_RESOLVED_AGAIN;
    /* Room comes first: then only elements whose part is full stall once more, and are listed. */
    if ((slice->reasons & BH_ST_REASON_FULL) && *may_grow) {
        status = grow_full(t, slice);
        if (!status)
            return BH_RESOLVED_AGAIN;
        *why = status;
        *may_grow = 0;
    }
    /* An ordered slice ends at the first that stalls: the others were not tried. */
    slice->refused = slice->ordered ? 1 : slice->stalled;
    return BH_RESOLVED_REFUSED;
}

static bh_status clear(bh_table *table)
{
    bh__st_table *t = bh__st_of(table);
    const bh__backend *backend = table->backend;
    uint32_t i;

    for (i = 0; i < t->set.parts; i++)
        if (!backend->clear(backend, &t->set.memory[i].near,
                            bh__st_board_bytes(&t->geometry, &t->set.part[i]),
                            i ? BH_MUST : BH_TRY) &&
            !i)
            return bh__st_refused("to clear the table");
    t->geometry.turnover = 0;
    t->to_the_last = 0;
    table->keys = 0;
    table->erases = 0;
    table->changes++;
    bh__st_publish(t);
    return BH_OK;
}

/* A position counts the words of all boards, one after the other. */
static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    const bh__st_table *t = bh__st_of(table);
    bh__exported out = {keys, values, room, 0};
    bh__arrays from;
    uint32_t i;

    from.count = t->set.parts;
    from.slots = t->geometry.group;
    from.places = BH_ST_PLACES;
    from.pass = BH_ST_PASS_EXPORT;
    from.pairs = table->keys;
    for (i = 0; i < from.count; i++) {
        from.array[i].lines = i;
        from.array[i].count = bh__st_words(&t->geometry, &t->set.part[i]);
    }
    if (!bh__export_buckets(table, &from, at, &out, BH_TRY))
        return BH__EXPORT_REFUSED;
    return out.copied;
}

static void stats(bh_table *table, bh_table_stats *stats)
{
    bh__st_table *t = bh__st_of(table);
    const bh__backend *backend = table->backend;
    uint32_t i;

    for (i = 0; i < t->set.parts; i++) {
        const bh_st_part *part = &t->set.part[i];
        bh_st_erased job = {&t->geometry, part->board, 0};

        stats->board_bytes += bh__st_board_bytes(&t->geometry, part);
        if (t->geometry.turnover &&
            backend->pass(backend, table, BH_ST_PASS_ERASED, &job, bh__st_words(&t->geometry, part),
                          BH_ST_PASS_ITEMS, BH_TRY))
            stats->tickets_erased += job.erased;
    }
}

static const void *typical_page(const bh_table *table)
{
    const bh__block *block = &((const bh__st_table *)table)->set.memory[0].near;

    return block->memory + block->committed - BH__PAGE_SMALL;
}

/* clang-format off */
const bh__policy bh__stadium_policy = {
    .name = "stadium", .regions = BH_ON_CORES | BH_ON_GPU | BH_ON_GPU_SORTED, .by_operation = UINT64_C(1) << 23, .places = BH_ST_PASS_PLACES, .outgrows_device = 1, .create = create, .destroy = destroy, .geometry = geometry,
    .resolve = resolve, .reserve = bh__st_reserve, .expect = bh__st_expect, .expect_erasures = expect_erasures, .shrink = bh__st_shrink,
    .compact = bh__st_compact, .clear = clear, .export_pairs = export_pairs,
    .stats = stats, .typical_page = typical_page, .perform = 0};
/* clang-format on */
