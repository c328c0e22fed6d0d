/*
 * Stadium hashing, parts: how large they are, how they are made, and how pairs move from some to others. New parts
 * are made beside the old ones, which are freed when all pairs have been copied: until then a failure leaves the
 * table as it was.
 */
#include "tables/stadium/policy.h"

#include "base/checked.h"
#include "base/system.h"

/* Locks of a table: one for so many slots, but not fewer or more than so many. Chosen, not tuned. */
#define SLOTS_OF_LOCK 64u
#define LOCKS_LEAST 256u
#define LOCKS_MOST 32768u

/* The square root, rounded up a little. */
static double root(double of)
{
    double x = of > 1 ? of : 1;
    int i;

    for (i = 0; i < 64 && x * x > of * 1.0001; i++)
        x = (x + of / x) / 2;
    return x;
}

static int is_prime(uint64_t n)
{
    uint64_t d;

    for (d = 2; d <= n / d; d += 1 + (d & 1))
        if (n % d == 0)
            return 0;
    return 1;
}

/* The least prime that is not less, or 1: steps of a path then lead to all units. */
static uint64_t prime_from(uint64_t n)
{
    while (!is_prime(n))
        n++;
    return n;
}

uint64_t bh__st_line(const bh_st_geometry *g)
{
    return (uint64_t)g->group * BH_ST_WORDS;
}

uint64_t bh__st_words(const bh_st_geometry *g, const bh_st_part *part)
{
    return g->by_slot ? (part->units + g->group - 1) / g->group : part->units * BH_ST_WORDS;
}

uint64_t bh__st_slots(const bh_st_geometry *g, const bh_st_part *part)
{
    return g->by_slot ? part->units : part->units * bh__st_line(g);
}

static uint64_t lines_of(const bh_st_geometry *g, const bh_st_part *part)
{
    return (bh__st_words(g, part) + BH_ST_WORDS - 1) / BH_ST_WORDS;
}

static uint64_t bounds_at(const bh_st_geometry *g, const bh_st_part *part)
{
    return (lines_of(g, part) * BH_ST_WORDS * 8 + 63) / 64 * 64;
}

uint64_t bh__st_board_bytes(const bh_st_geometry *g, const bh_st_part *part)
{
    return bounds_at(g, part) + (lines_of(g, part) + 63) / 64 * 64;
}

uint64_t bh__st_part_bytes(const bh_st_geometry *g, uint64_t lines)
{
    return lines * (BH_ST_WORDS * 8 + (bh__st_line(g) << g->slot_shift));
}

/*
 * Keys fall into parts as if drawn. So a part gets more keys than the others on average by six times the
 * standard deviation at most, for which there must be slots. (Parts of a few slots are for tests alone.)
 */
uint64_t bh__st_keys_in(const bh__st_table *t, bh__st_shape shape)
{
    const double slots = (double)shape.lines * (double)bh__st_line(&t->geometry);
    const double spare = 6 * root(slots) < slots / 2 ? 6 * root(slots) : slots / 2;
    double keys = t->table.options.max_fill * slots;

    if (shape.parts > 1 && keys > slots - spare)
        keys = slots - spare;
    return (uint64_t)(keys * shape.parts);
}

bh__st_shape bh__st_shape_for(const bh__st_table *t, uint64_t keys)
{
    const bh_st_geometry *g = &t->geometry;
    const double lines = (double)keys / t->table.options.max_fill / (double)bh__st_line(g);
    bh__st_shape shape = {1, 0};

    if (lines > (double)(BH_ST_WORDS_MOST / BH_ST_WORDS / 2))
        return shape;
    while (shape.parts < BH_ST_PARTS_MOST &&
           bh__st_part_bytes(g, (uint64_t)lines / shape.parts) >= 2 * BH_ST_PART_BYTES)
        shape.parts *= 2;
    shape.lines = lines > shape.parts ? (uint64_t)lines / shape.parts : 1;
    while (bh__st_keys_in(t, shape) < keys)
        shape.lines++;
    return shape;
}

/* The part that has at least so many lines, without memory; answers the bytes that it takes, 0 where that
 * cannot be addressed. */
static uint64_t plan_part(const bh_st_geometry *g, uint64_t lines, bh_st_part *part)
{
    uint64_t bytes;

    part->units = prime_from(g->by_slot ? lines * bh__st_line(g) : lines);
    part->board = part->bounds = part->slots = 0;
    bytes = bh__st_board_bytes(g, part) + (bh__st_words(g, part) * g->group << g->slot_shift);
    return bh__block_bytes(bytes, &bytes) ? bytes : 0;
}

static bh_status no_memory(uint64_t bytes)
{
    return bh__fail(BH_ERR_MEMORY, "the system gave no memory for %llu bytes of a table",
                    (unsigned long long)bytes);
}

/* Takes memory for a part that was planned. */
static bh_status make_part(const bh__st_table *t, bh_st_part *part, uint64_t bytes,
                           bh__block *block)
{
    const bh__backend *backend = t->table.backend;

    if (!bh__block_create(block, &backend->memory, bytes))
        return no_memory(bytes);
    bh__block_touch(block, &backend->executor, &backend->memory, 0, block->committed);
    part->board = (uint64_t)(uintptr_t)block->memory;
    part->bounds = part->board + bounds_at(&t->geometry, part);
    part->slots = part->board + bh__st_board_bytes(&t->geometry, part);
    return BH_OK;
}

void bh__st_destroy(const bh__st_table *t, bh__st_set *set)
{
    uint32_t i;

    for (i = 0; i < BH_ST_PARTS_MOST; i++)
        bh__block_destroy(&set->block[i], &t->table.backend->memory);
    bh__block_destroy(&set->locks, &t->table.backend->memory);
}

static uint64_t locks_for(uint64_t slots)
{
    uint64_t locks = LOCKS_LEAST;

    while (locks < LOCKS_MOST && locks < slots / SLOTS_OF_LOCK)
        locks *= 2;
    return locks;
}

static uint64_t set_bytes(const bh__st_set *set)
{
    uint64_t bytes = set->locks.committed;
    uint32_t i;

    for (i = 0; i < set->parts; i++)
        bytes += set->block[i].committed;
    return bytes;
}

/* Makes a set of fresh parts. */
static bh_status make_set(const bh__st_table *t, bh__st_shape shape, bh__st_set *set)
{
    const bh__memory *memory = &t->table.backend->memory;
    uint64_t bytes, all, locks = 0;
    bh_status status;
    bh_st_part part;
    uint32_t i;

    set->parts = set->whole = shape.parts;
    set->locks.memory = 0;
    for (i = 0; i < BH_ST_PARTS_MOST; i++)
        set->block[i].memory = 0;
    bytes = shape.lines ? plan_part(&t->geometry, shape.lines, &part) : 0;
    if (bytes)
        locks = locks_for(bh__st_slots(&t->geometry, &part) * shape.parts);
    if (!bytes || !bh__mul(bytes, shape.parts, &all) || !bh__add(all, locks * 16, &all))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(&t->table, BH_TIER_NEAR, 0, all);
    if (!status && !bh__block_create(&set->locks, memory, locks * 16))
        status = no_memory(locks * 16);
    set->lock_count = locks;
    for (i = 0; i < shape.parts && !status; i++) {
        set->part[i] = part;
        set->lines[i] = shape.lines;
        status = make_part(t, &set->part[i], bytes, &set->block[i]);
    }
    if (status)
        bh__st_destroy(t, set);
    return status;
}

/* The geometry of the table with another set of parts. */
static void aim_at(const bh__st_set *set, bh_st_geometry *g)
{
    uint32_t i;

    g->locks = (uint64_t)(uintptr_t)set->locks.memory;
    g->lock_mask = set->lock_count - 1;
    g->parts = set->parts;
    g->whole = set->whole;
    for (i = 0; i < set->parts; i++)
        g->part[i] = set->part[i];
}

/* Copies the pairs of a part to parts of another geometry. */
static bh_status move(bh__st_table *t, const bh_st_part *from, const bh_st_geometry *to,
                      uint64_t *moved)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_st_rehash job = {to, *from, 0, 0};

    if (!backend->pass(backend, table, BH_ST_PASS_REHASH, &job, bh__st_words(&t->geometry, from),
                       BH_ST_PASS_ITEMS, BH_TRY))
        return bh__st_refused("to move keys");
    *moved += job.moved;
    return job.refused ? bh__fail(BH_ERR_FULL, "a part of the table would get too many keys")
                       : BH_OK;
}

bh_status bh__st_rebuild(bh__st_table *t, bh__st_shape shape)
{
    bh_table *table = &t->table;
    bh_st_geometry next = t->geometry;
    bh__st_set set;
    bh_status status = make_set(t, shape, &set);
    uint64_t moved = 0;
    uint32_t i;

    if (status)
        return status;
    aim_at(&set, &next);
    for (i = 0; table->keys && i < t->set.parts && !status; i++)
        status = move(t, &t->geometry.part[i], &next, &moved);
    if (status) {
        bh__st_destroy(t, &set);
        return status;
    }
    bh__note_peak(table, set_bytes(&set));
    bh__st_destroy(t, &t->set);
    t->set = set;
    next.turnover = 0;
    t->geometry = next;
    table->keys_moved += moved;
    table->erases = 0;
    table->changes++;
    bh__st_publish(t);
    return BH_OK;
}

/* Gives a table that has grown more locks, all of which are free now, if there is memory for them. */
static void have_locks(bh__st_table *t)
{
    bh_table *table = &t->table;
    const uint64_t locks = locks_for(table->slots);
    bh__block more;

    if (locks < 4 * t->set.lock_count ||
        bh__over_budget(table, BH_TIER_NEAR, table->bytes[BH_TIER_NEAR] - t->set.locks.committed,
                        locks * 16) ||
        !bh__block_create(&more, &table->backend->memory, locks * 16))
        return;
    bh__note_peak(table, more.committed);
    bh__block_destroy(&t->set.locks, &table->backend->memory);
    t->set.locks = more;
    t->set.lock_count = locks;
    t->geometry.locks = (uint64_t)(uintptr_t)more.memory;
    t->geometry.lock_mask = locks - 1;
    bh__st_publish(t);
}

/* Some parts that are to take the place of others. */
typedef struct change {
    uint32_t from[2], to[2]; /* numbers of parts */
    uint32_t from_count, to_count;
    uint32_t parts, whole; /* from then on */
    uint64_t lines;        /* of each new part */
} change;

static bh_status exchange(bh__st_table *t, const change *c)
{
    bh_table *table = &t->table;
    bh__st_set *set = &t->set;
    const bh__memory *memory = &table->backend->memory;
    bh_st_geometry next = t->geometry;
    uint64_t kept = table->bytes[BH_TIER_NEAR], bytes, more = 0, moved = 0;
    bh__block block[2];
    bh_status status = BH_OK;
    bh_st_part part;
    uint32_t i, made = 0;

    for (i = 0; i < c->from_count; i++)
        kept -= set->block[c->from[i]].committed;
    bytes = plan_part(&t->geometry, c->lines, &part);
    if (!bytes || c->lines >= BH_ST_WORDS_MOST / BH_ST_WORDS / BH_ST_PARTS_MOST)
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    if (kept + c->to_count * bytes > table->bytes[BH_TIER_NEAR])
        status = bh__check_budget(table, BH_TIER_NEAR, kept, c->to_count * bytes);
    next.parts = c->parts;
    next.whole = c->whole;
    for (; made < c->to_count && !status; made += !status) {
        next.part[c->to[made]] = part;
        status = make_part(t, &next.part[c->to[made]], bytes, &block[made]);
        more += status ? 0 : block[made].committed;
    }
    if (!status)
        bh__note_peak(table, more);
    for (i = 0; i < c->from_count && !status; i++)
        status = move(t, &t->geometry.part[c->from[i]], &next, &moved);
    if (status) {
        while (made--)
            bh__block_destroy(&block[made], memory);
        return status;
    }
    for (i = 0; i < c->from_count; i++)
        bh__block_destroy(&set->block[c->from[i]], memory);
    for (i = 0; i < c->to_count; i++) {
        set->block[c->to[i]] = block[i];
        set->part[c->to[i]] = next.part[c->to[i]];
        set->lines[c->to[i]] = c->lines;
    }
    set->parts = c->parts;
    set->whole = c->whole;
    t->geometry = next;
    table->keys_moved += moved;
    table->changes++;
    bh__st_publish(t);
    have_locks(t);
    return BH_OK;
}

bh_status bh__st_remake(bh__st_table *t, uint32_t part, uint64_t lines)
{
    const bh__st_set *set = &t->set;
    const change c = {{part, 0}, {part, 0}, 1, 1, set->parts, set->whole, lines};

    return exchange(t, &c);
}

bh_status bh__st_split(bh__st_table *t)
{
    const bh__st_set *set = &t->set;
    const uint32_t low = set->parts - set->whole, parts = set->parts + 1;
    const change c = {{low, 0},
                      {low, set->parts},
                      1,
                      2,
                      parts,
                      parts == 2 * set->whole ? parts : set->whole,
                      set->lines[low]};

    return exchange(t, &c);
}

bh_status bh__st_merge(bh__st_table *t)
{
    const bh__st_set *set = &t->set;
    const uint32_t parts = set->parts - 1;
    const uint32_t whole = parts < set->whole ? set->whole / 2 : set->whole;
    const change c = {{parts - whole, parts},   {parts - whole, 0}, 2, 1, parts, whole,
                      set->lines[parts - whole]};

    return exchange(t, &c);
}
