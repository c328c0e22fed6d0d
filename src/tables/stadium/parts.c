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

/* The part that has at least so many lines, without memory. */
static bh_st_part plan_part(const bh_st_geometry *g, uint64_t lines)
{
    bh_st_part part = {0, 0, 0, 0};

    part.units = prime_from(g->by_slot ? lines * bh__st_line(g) : lines);
    return part;
}

/* Bytes of memory that a table has, or is about to have, in each tier. */
typedef struct account {
    uint64_t bytes[BH_TIERS];
} account;

static uint64_t total(const account *a)
{
    uint64_t bytes = 0;
    int tier;

    for (tier = 0; tier < BH_TIERS; tier++)
        bytes += a->bytes[tier];
    return bytes;
}

/* Whether budgets allow `count` blocks of `bytes` bytes besides what is kept; rounds the bytes up to those of a block. */
static bh_status allow(const bh_table *table, bh_tier tier, uint64_t *bytes, uint64_t count,
                       const account *kept)
{
    uint64_t all;

    if (!bh__block_bytes(*bytes, bytes) || !bh__mul(*bytes, count, &all))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    return bh__check_budget(table, tier, kept->bytes[tier], all);
}

/* Takes memory for `bytes` bytes of a table that has those of the account, to which it adds. */
static bh_status take(const bh_table *table, bh_tier tier, uint64_t bytes, account *kept,
                      bh__block *block)
{
    const bh__backend *backend = table->backend;
    const bh__memory *memory = tier == BH_TIER_NEAR ? &backend->memory : &backend->far;
    const bh_status status = allow(table, tier, &bytes, 1, kept);

    if (status)
        return status;
    if (!bh__block_create(block, memory, bytes))
        return bh__fail(BH_ERR_MEMORY, "the system gave no %smemory for %llu bytes of a table",
                        tier == BH_TIER_NEAR ? "" : "pinned ", (unsigned long long)bytes);
    bh__block_touch(block, &backend->executor, memory, 0, block->committed);
    kept->bytes[tier] += block->committed;
    return BH_OK;
}

static void no_block(bh__block *block)
{
    block->memory = 0;
    block->committed = block->reserved = 0;
}

static void no_memory(bh__st_memory *memory)
{
    no_block(&memory->near);
    no_block(&memory->far);
}

void bh__st_empty(bh__st_set *set)
{
    uint32_t i;

    set->parts = set->whole = 0;
    set->lock_count = 0;
    no_block(&set->locks);
    for (i = 0; i < BH_ST_PARTS_MOST; i++)
        no_memory(&set->memory[i]);
}

static void give(const bh_table *table, bh__st_memory *memory)
{
    bh__block_destroy(&memory->near, &table->backend->memory);
    bh__block_destroy(&memory->far, &table->backend->far);
}

/* Where a table goes on in the host's memory, slots stay off a GPU's last so many bytes: they are for the calls.
 * (A small part leaves as much as it takes.) Chosen, not tuned. */
#define CALLS_BYTES (UINT64_C(256) << 20)

static int leaves(const bh_table *table, uint64_t bytes)
{
    const bh_system *s = &table->backend->memory.system;
    void *some = s->allocate(s->state, bytes);

    if (some)
        s->release(s->state, some, bytes);
    return some != 0;
}

/* What a part is to be, and what else will need near memory. */
typedef struct wish {
    bh_st_part part;       /* planned */
    bh_table_memory where; /* its slots are to lie */
    uint64_t boards;       /* bytes of boards for which near memory must be left */
} wish;

/* Takes all of a part's memory as one block of near memory, if others then still find what they need. */
static bh_status take_near(const bh_table *table, const wish *w, uint64_t bytes, account *kept,
                           bh__block *block)
{
    const uint64_t calls = bytes < CALLS_BYTES ? bytes : CALLS_BYTES;
    bh_status status;

    kept->bytes[BH_TIER_NEAR] += w->boards;
    status = take(table, BH_TIER_NEAR, bytes, kept, block);
    kept->bytes[BH_TIER_NEAR] -= w->boards;
    if (!status && w->where == BH_TABLE_MEMORY_AUTO && !leaves(table, calls + w->boards)) {
        kept->bytes[BH_TIER_NEAR] -= block->committed;
        bh__block_destroy(block, &table->backend->memory);
        status = BH_ERR_MEMORY;
    }
    return status;
}

/* The bytes of a planned part's board and bounds, and of its slots. */
static uint64_t board_of(const bh_st_geometry *g, const wish *w)
{
    return bh__st_board_bytes(g, &w->part);
}

static uint64_t slots_of(const bh_st_geometry *g, const wish *w)
{
    return bh__st_words(g, &w->part) * g->group << g->slot_shift;
}

/* Whether budgets allow `count` such parts. To be asked before the first is made: a table at its limit asks in every
 * call with a new key, and making a part takes as long as thousands of keys. (Of slots that may lie in either memory
 * it is seen only when parts are made.) */
static bh_status allow_parts(const bh_table *table, const bh_st_geometry *g, const wish *w,
                             uint32_t count, const account *kept)
{
    uint64_t near = board_of(g, w), far = slots_of(g, w);
    bh_status status;

    if (w->where == BH_TABLE_MEMORY_DEVICE)
        near += far;
    status = allow(table, BH_TIER_NEAR, &near, count, kept);
    if (!status && w->where == BH_TABLE_MEMORY_HOST)
        status = allow(table, BH_TIER_HOST, &far, count, kept);
    return status;
}

/* Makes a part. */
static bh_status make_part(const bh_table *table, const bh_st_geometry *g, const wish *w,
                           bh_st_part *part, account *kept, bh__st_memory *memory)
{
    const uint64_t board = board_of(g, w), slots = slots_of(g, w);
    bh_status status = BH_ERR_FULL;

    no_memory(memory);
    if (w->where != BH_TABLE_MEMORY_HOST)
        status = take_near(table, w, board + slots, kept, &memory->near);
    if (status && w->where != BH_TABLE_MEMORY_DEVICE) {
        status = take(table, BH_TIER_NEAR, board, kept, &memory->near);
        if (!status)
            status = take(table, BH_TIER_HOST, slots, kept, &memory->far);
    }
    if (status) {
        give(table, memory);
        return status;
    }
    *part = w->part;
    part->board = (uint64_t)(uintptr_t)memory->near.memory;
    part->bounds = part->board + bounds_at(g, part);
    part->slots =
        memory->far.memory ? (uint64_t)(uintptr_t)memory->far.memory : part->board + board;
    return BH_OK;
}

void bh__st_destroy(const bh__st_table *t, bh__st_set *set)
{
    uint32_t i;

    for (i = 0; i < BH_ST_PARTS_MOST; i++)
        give(&t->table, &set->memory[i]);
    bh__block_destroy(&set->locks, &t->table.backend->memory);
}

static uint64_t locks_for(uint64_t slots)
{
    uint64_t locks = LOCKS_LEAST;

    while (locks < LOCKS_MOST && locks < slots / SLOTS_OF_LOCK)
        locks *= 2;
    return locks;
}

/* Makes a set of fresh parts; `taken` receives their bytes. */
static bh_status make_set(const bh__st_table *t, bh__st_shape shape, bh__st_set *set,
                          account *taken)
{
    const account none = {{0, 0, 0}};
    const bh_st_geometry *g = &t->geometry;
    bh_status status;
    uint64_t board;
    uint32_t i;
    wish w;

    *taken = none;
    bh__st_empty(set);
    set->parts = set->whole = shape.parts;
    if (!shape.lines)
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    w.part = plan_part(g, shape.lines);
    w.where = bh__st_where(&t->table);
    board = board_of(g, &w);
    set->lock_count = locks_for(bh__st_slots(g, &w.part) * shape.parts);
    status = take(&t->table, BH_TIER_NEAR, set->lock_count * 16, taken, &set->locks);
    if (!status)
        status = allow_parts(&t->table, g, &w, shape.parts, taken);
    for (i = 0; i < shape.parts && !status; i++) {
        w.boards = w.where == BH_TABLE_MEMORY_AUTO ? (shape.parts - i - 1) * board : 0;
        set->lines[i] = shape.lines;
        status = make_part(&t->table, g, &w, &set->part[i], taken, &set->memory[i]);
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
    account taken;
    bh__st_set set;
    bh_status status = make_set(t, shape, &set, &taken);
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
    bh__note_peak(table, total(&taken));
    bh__st_destroy(t, &t->set);
    t->set = set;
    next.turnover = 0;
    t->geometry = next;
    table->keys_moved += moved;
    table->erases = 0;
    table->changes++;
    t->to_the_last = 0;
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

/* `*lacks` receives whether there was not enough memory for the new parts. */
static bh_status exchange_to(bh__st_table *t, const change *c, bh_table_memory where, int *lacks)
{
    bh_table *table = &t->table;
    bh__st_set *set = &t->set;
    bh_st_geometry next = t->geometry;
    wish w;
    bh__st_memory memory[2];
    account kept;
    bh_status status;
    uint64_t moved = 0, left;
    uint32_t i, made = 0;

    *lacks = 0;
    if (c->lines >= BH_ST_WORDS_MOST / BH_ST_WORDS / BH_ST_PARTS_MOST)
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    for (i = 0; i < BH_TIERS; i++)
        kept.bytes[i] = table->bytes[i];
    for (i = 0; i < c->from_count; i++) {
        kept.bytes[BH_TIER_NEAR] -= set->memory[c->from[i]].near.committed;
        kept.bytes[BH_TIER_HOST] -= set->memory[c->from[i]].far.committed;
    }
    left = total(&kept);
    w.part = plan_part(&t->geometry, c->lines);
    w.where = where;
    next.parts = c->parts;
    next.whole = c->whole;
    status = allow_parts(table, &t->geometry, &w, c->to_count, &kept);
    for (; made < c->to_count && !status; made += !status) {
        w.boards = where == BH_TABLE_MEMORY_AUTO && made + 1 < c->to_count
                       ? board_of(&t->geometry, &w)
                       : 0;
        status = make_part(table, &t->geometry, &w, &next.part[c->to[made]], &kept, &memory[made]);
    }
    *lacks = status != BH_OK;
    if (!status)
        bh__note_peak(table, total(&kept) - left);
    for (i = 0; i < c->from_count && !status; i++)
        status = move(t, &t->geometry.part[c->from[i]], &next, &moved);
    if (status) {
        while (made--)
            give(table, &memory[made]);
        return status;
    }
    for (i = 0; i < c->from_count; i++)
        give(table, &set->memory[c->from[i]]);
    for (i = 0; i < c->to_count; i++) {
        set->memory[c->to[i]] = memory[i];
        set->part[c->to[i]] = next.part[c->to[i]];
        set->lines[c->to[i]] = c->lines;
    }
    set->parts = c->parts;
    set->whole = c->whole;
    t->geometry = next;
    table->keys_moved += moved;
    table->changes++;
    t->to_the_last = 0;
    bh__st_publish(t);
    have_locks(t);
    return BH_OK;
}

/* A part whose slots lie in near memory, or BH_ST_PARTS_MOST. */
static uint32_t near_part(const bh__st_set *set)
{
    uint32_t i = 0;

    while (i < set->parts && set->memory[i].far.memory)
        i++;
    return i < set->parts ? i : BH_ST_PARTS_MOST;
}

/* Where near memory is full of slots, there may be no room for the board of a part that goes on in the host's: then
 * the slots of another make way for it. */
static bh_status exchange(bh__st_table *t, const change *c)
{
    const bh__st_set *set = &t->set;
    const bh_table_memory where = bh__st_where(&t->table);
    int lacks, made_way = 1;
    bh_status status = exchange_to(t, c, where, &lacks);

    while (status && lacks && where == BH_TABLE_MEMORY_AUTO && made_way) {
        const uint32_t out = near_part(set);
        change way = {{out, 0}, {out, 0}, 1, 1, set->parts, set->whole, 0};

        if (out == BH_ST_PARTS_MOST)
            break;
        way.lines = set->lines[out];
        status = exchange_to(t, &way, BH_TABLE_MEMORY_HOST, &lacks);
        made_way = !status;
        if (made_way)
            status = exchange_to(t, c, where, &lacks);
    }
    return status;
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
