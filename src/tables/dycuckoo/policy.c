/*
 * DyCuckoo: the policy. Sizes, growth, and what to do when an operation stalls.
 *
 * From the paper, section IV: d subtables, the smallest is doubled when the table
 * is fuller than max_fill (a little less while they differ in size), and the largest is halved when it is emptier than min_fill,
 * so that none is ever more than twice as large as another and only one is ever
 * rewritten. Departures: growing also reads the other subtables once and brings home
 * the keys that now have room there; which two subtables a key has, and which comes
 * first, follows from its hash alone (the paper draws subtables with probabilities
 * that follow their fill, so nobody could say where a key lives first); a halving for
 * whose keys there is no room is undone; a key that finds no place is first placed
 * along a longer path with the gate held alone, and only if there is none does the
 * table grow, and not without end: a table that is emptier than min_fill allows takes
 * another seed instead, once, and then answers BH_ERR_FULL.
 */
#include "tables/dycuckoo/layout.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/system.h"
#include "storage/block.h"
#include "tables/budget.h"

#define DEFAULT_SUBTABLES 4
#define DEFAULT_MAX_FILL 0.85
#define DEFAULT_MIN_FILL 0.5
#define HIGHEST_MAX_FILL 0.97

/* Of max_fill, so much is allowed while the subtables differ in size. With 7 subtables and more it
 * is more, so that a doubling always makes room for a quarter of a subtable at least. */
#define UNEVEN_SHARE 0.875

/* What a doubling leaves is fuller than min_fill by so much, or a table of just that size would grow
 * and shrink with every few keys. */
#define MARGIN 0.85

/* Below so many slots a table may grow however empty it is, and does not shrink: in a handful of
 * buckets, chance alone can leave a key without a place. (A build for tests wants the smallest
 * tables there can be.) */
#ifndef BH_DY_FLOOR_SLOTS
#define BH_DY_FLOOR_SLOTS 1024
#endif

/* In tables of fewer buckets each subtable gets one more than its keys need, two where there are
 * few subtables. */
#ifndef BH_DY_SMALL_BUCKETS
#define BH_DY_SMALL_BUCKETS 128
#endif

/* A subtable begins as base * 2^k buckets with a base as small as this allows, so that it can be
 * halved k times. It costs up to 1/128 more buckets than were asked for. */
#define BASE_MOST 255

/* Buckets that one task of a pass works on. Chosen, not tuned. */
#define PASS_BUCKETS 4096

/* Where subtables differ in size, the large ones have buckets that few keys want: then keys find a place
 * up to so much of the fill that holds for even ones. (With four subtables one of which has doubled, of
 * buckets of 3 slots no more than 0.926 can be filled at all.) */
#define UNEVEN_SURE 0.95

/* Looks of so many whole searches may be made in vain while every key should find a place (a search makes
 * no more looks than there are slots); beyond that fill a look for every two slots, and no more than
 * these. A device searches with one thread: there it is one search. */
#define VAIN_SEARCHES 16

typedef struct dycuckoo {
    bh_table table;
    bh_dy_geometry geometry;
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh__scratch scratch; /* of searches for paths; on a device none */
} dycuckoo;

static dycuckoo *of(bh_table *table)
{
    return (dycuckoo *)table;
}

static uint32_t slots_per_bucket(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DY_SLOTS(o->key_bytes, o->value_bytes, o->dycuckoo.values_apart);
}

static uint64_t bucket_bytes(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DY_BUCKET(o->key_bytes, o->value_bytes, o->dycuckoo.values_apart);
}

/*
 * Up to which fill the table is filled before it grows. While its subtables differ in size, the
 * small ones have as many keys at home as the large ones, so they overflow, and every second insert
 * looks at other buckets too: then the next doubling comes sooner (docs/decisions/0005), unless
 * min_fill is so high that what it leaves would be too empty: doubled is one of at least d + 1
 * parts.
 */
static double fill_allowed(const bh_table *table, int uneven)
{
    const bh_table_options *o = &table->options;
    double d = (double)o->dycuckoo.subtables;
    double share = (d + 0.25) / (d + 1), allowed, least;

    allowed = o->max_fill * (share > UNEVEN_SHARE ? share : UNEVEN_SHARE);
    least = o->min_fill * (d + 2) / (d + 1) / MARGIN;
    allowed = allowed > least ? allowed : least;
    return !uneven || allowed > o->max_fill ? o->max_fill : allowed;
}

/*
 * Up to which fill every key finds a place, however many there are. Two choices of a bucket of S
 * slots place all keys up to a threshold (0.96 for 3 slots); searches of bounded width stop a little
 * short of it. In tables of 1,000 to 4 million keys the first failed search was never below 0.94
 * with 3 slots, 0.96 with 4, and 0.98 with 7.
 */
static double most_placeable(const bh_table *table)
{
    uint32_t slots = slots_per_bucket(table);

    return slots <= 3 ? 0.93 : slots <= 4 ? 0.95 : HIGHEST_MAX_FILL;
}

/* The same, or max_fill if that is less. */
static double placeable_fill(const bh_table *table)
{
    double most = most_placeable(table);

    return table->options.max_fill < most ? table->options.max_fill : most;
}

/* So many keys find room, and each a place, in so many slots. */
static uint64_t keys_promised(const bh_table *table, uint64_t slots, int uneven)
{
    double allowed = fill_allowed(table, uneven), most = placeable_fill(table);

    return (uint64_t)((allowed < most ? allowed : most) * (double)slots);
}

/* The fewest buckets per subtable, all alike, that hold `keys` keys and find a place for each.
 * Answers 0 when that is more than a subtable may have. */
static int buckets_for(const bh_table *table, uint64_t keys, uint64_t *buckets)
{
    uint32_t d = table->options.dycuckoo.subtables;
    uint64_t slots = (uint64_t)d * slots_per_bucket(table);
    double wanted;

    if (!keys)
        keys = 1;
    wanted = (double)keys / (placeable_fill(table) * (double)slots);
    if (wanted > (double)(1ull << BH_DY_BUCKET_BITS_MOST))
        return 0;
    *buckets = (uint64_t)wanted + 1;
    /* In a handful of buckets chance alone can fill some of them. */
    if (*buckets * d < BH_DY_SMALL_BUCKETS)
        *buckets += d < DEFAULT_SUBTABLES ? 2 : 1;
    while ((uint64_t)(table->options.max_fill * (double)(*buckets * slots)) < keys)
        ++*buckets;
    return *buckets <= 1ull << BH_DY_BUCKET_BITS_MOST;
}

static int choose_options(bh_table *table)
{
    bh_table_options *o = &table->options;
    double d;

    if (!o->dycuckoo.subtables)
        o->dycuckoo.subtables = DEFAULT_SUBTABLES;
    if (o->dycuckoo.subtables < 2 || o->dycuckoo.subtables > BH_DY_SUBTABLES_MOST) {
        bh__fail(BH_ERR_ARGUMENT, "dycuckoo.subtables is %u; it must be from 2 to %d",
                 o->dycuckoo.subtables, BH_DY_SUBTABLES_MOST);
        return 0;
    }
    if (o->dycuckoo.spread != BH_SPREAD_HOME_FIRST && o->dycuckoo.spread != BH_SPREAD_THEOREM1) {
        bh__fail(BH_ERR_ARGUMENT, "dycuckoo.spread is %d; it must be BH_SPREAD_HOME_FIRST or "
                                  "BH_SPREAD_THEOREM1",
                 (int)o->dycuckoo.spread);
        return 0;
    }
    if (o->dycuckoo.values_apart > 1 || (o->dycuckoo.values_apart && !o->value_bytes)) {
        bh__fail(BH_ERR_ARGUMENT, "dycuckoo.values_apart is %u with values of %u bytes; it must be "
                                  "0, or 1 in a table that has values",
                 o->dycuckoo.values_apart, o->value_bytes);
        return 0;
    }
    d = (double)o->dycuckoo.subtables;
    if (o->max_fill == 0)
        o->max_fill = DEFAULT_MAX_FILL;
    if (!(o->max_fill > 0 && o->max_fill <= HIGHEST_MAX_FILL)) {
        bh__fail(BH_ERR_ARGUMENT, "max_fill is %g; it must be above 0 and at most %g", o->max_fill,
                 HIGHEST_MAX_FILL);
        return 0;
    }
    if (o->min_fill == 0)
        o->min_fill = DEFAULT_MIN_FILL < MARGIN * o->max_fill * d / (d + 1)
                          ? DEFAULT_MIN_FILL
                          : MARGIN * o->max_fill * d / (d + 1);
    if (!(o->min_fill <= o->max_fill * d / (d + 1))) {
        bh__fail(BH_ERR_ARGUMENT,
                 "min_fill is %g; with max_fill %g and %u subtables it must be at most %g, or a "
                 "table that has just grown would be too empty",
                 o->min_fill, o->max_fill, o->dycuckoo.subtables, o->max_fill * d / (d + 1));
        return 0;
    }
    return 1;
}

static uint32_t smallest(const bh_dy_geometry *g)
{
    uint32_t found = 0, i;

    for (i = 1; i < g->subtables; i++)
        if (g->subtable[i].doublings < g->subtable[found].doublings)
            found = i;
    return found;
}

static uint32_t largest(const bh_dy_geometry *g)
{
    uint32_t found = 0, i;

    for (i = 1; i < g->subtables; i++)
        if (g->subtable[i].doublings >= g->subtable[found].doublings)
            found = i;
    return found;
}

static int is_uneven(const bh_dy_geometry *g)
{
    return g->subtable[largest(g)].doublings != g->subtable[smallest(g)].doublings;
}

/* Whether a subtable can be halved, and the table stays above its floor. */
static int may_halve(const dycuckoo *t)
{
    const bh_table *table = &t->table;
    bh_dy_geometry halved = t->geometry;
    uint32_t subtable = largest(&halved);
    uint64_t slots;

    if (!halved.subtable[subtable].doublings--)
        return 0;
    slots = table->slots - bh_dy_buckets(&halved, subtable) * slots_per_bucket(table);
    return slots >= BH_DY_FLOOR_SLOTS &&
           keys_promised(table, slots, is_uneven(&halved)) >= table->floor_keys;
}

/*
 * What BH_SPREAD_THEOREM1 draws by, in 2^32ths: with how many keys m in a subtable of n slots
 * m * (m - 1) / 2 / n is the same for all, m is as the root of n; so of the keys of a pair the
 * other subtable gets root(other) / (root(home) + root(other)). The paper follows the keys that
 * are there; this follows sizes alone, and gets to the same.
 */
static uint32_t share_of_other(uint64_t home_doublings, uint64_t other_doublings)
{
    double root = 1;

    for (; other_doublings > home_doublings; home_doublings++)
        root *= 1.4142135623730951;
    for (; home_doublings > other_doublings; other_doublings++)
        root /= 1.4142135623730951;
    return (uint32_t)(root / (1 + root) * 4294967296.0);
}

/* How many keys there may be before the table grows. With the gate held alone no slice has room set
 * aside. */
static void set_room(bh_table *table, double fill)
{
    uint64_t most = (uint64_t)(table->options.max_fill * (double)table->slots);

    table->max_keys = (uint64_t)(fill * (double)table->slots);
    /* Where growing was refused there may be more keys than that already. */
    if (table->max_keys < table->keys)
        table->max_keys = table->keys < most ? table->keys : most;
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
}

/* What searches for places may cost from now on. */
static void set_allowances(bh_table *table, int uneven)
{
    const uint64_t searches = bh__is_far(table) ? 1 : VAIN_SEARCHES;
    const uint64_t looks = bh__is_far(table) ? BH_DY_SEARCH_LOOKS_FAR : BH_DY_SEARCH_LOOKS;
    const uint64_t vain = searches * (looks < table->slots ? looks : table->slots);
    uint64_t i;
    double most = placeable_fill(table);

    if (uneven && most > UNEVEN_SURE * most_placeable(table))
        most = UNEVEN_SURE * most_placeable(table);
    table->sure_keys = (uint64_t)(most * (double)table->slots);
    table->allowance[0].most = vain;
    table->allowance[1].most = table->slots / 2 < vain ? table->slots / 2 : vain;
    for (i = 0; i < 2; i++)
        table->allowance[i].left = table->allowance[i].most;
}

/* Brings what follows from the subtables in line with them: what begin looks up, and the bounds. */
static void publish(dycuckoo *t)
{
    bh_table *table = &t->table;
    bh_dy_geometry *g = &t->geometry;
    uint64_t slots = 0;
    uint32_t i;

    for (i = 0; i < g->subtables; i++) {
        g->subtable[i].lines = (uint64_t)(uintptr_t)t->block[i].memory;
        g->subtable[i].mask = (1ull << g->subtable[i].doublings) - 1;
        slots += bh_dy_buckets(g, i) * slots_per_bucket(table);
    }
    for (i = 0; i < g->pairs; i++) {
        g->home[i] = g->subtable[g->pair[i] & 15];
        g->away[i] = g->spread ? share_of_other(g->home[i].doublings,
                                                g->subtable[g->pair[i] >> 4].doublings)
                               : 0;
    }
    table->slots = slots;
    set_room(table, fill_allowed(table, is_uneven(g)));
    set_allowances(table, is_uneven(g));
    /* Below 0 it means never, and is no number of keys. */
    table->min_keys = table->options.min_fill > 0 && may_halve(t)
                          ? (uint64_t)(table->options.min_fill * (double)slots)
                          : 0;
}

/* What a device refuses before it begins costs nothing but what it was for. */
static bh_status refused(const char *what)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused %s; no key has moved", what);
}

static void destroy_blocks(bh__block *block, const bh_system *system)
{
    uint32_t i;

    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        bh__block_destroy(&block[i], system);
}

/* Gives searches memory for a table of so many buckets; on failure they have what they had. */
static bh_status make_scratch(dycuckoo *t, uint64_t buckets)
{
    const bh_system *system = &t->table.backend->system;
    bh__scratch larger;

    larger.bytes = (buckets < BH_DY_SEARCH_MOST ? buckets : BH_DY_SEARCH_MOST) * sizeof(bh_dy_node);
    if (bh__is_far(&t->table) || larger.bytes <= t->scratch.bytes)
        return BH_OK;
    larger.memory = system->allocate(system->state, larger.bytes);
    if (!larger.memory)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for searches in a table");
    if (t->scratch.memory)
        system->release(system->state, t->scratch.memory, t->scratch.bytes);
    t->scratch = larger;
    return BH_OK;
}

/* Makes subtables for a table of `buckets` buckets each, or a few more; nothing is in them. On
 * failure there are none. */
static bh_status make_blocks(const bh_table *table, uint64_t buckets, bh_dy_geometry *g,
                             bh__block *block, uint64_t *bytes)
{
    const bh__backend *backend = table->backend;
    uint32_t d = table->options.dycuckoo.subtables, i;
    uint64_t subtable_bytes = 0, doublings = 0, base = buckets;
    bh_status status;

    while (base > BASE_MOST) {
        base = base / 2 + base % 2;
        doublings++;
    }
    if (!bh__block_bytes((base << doublings) * bucket_bytes(table), &subtable_bytes) ||
        !bh__mul(subtable_bytes, d, bytes))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, *bytes);
    if (status)
        return status;
    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        block[i].memory = 0;
    for (i = 0; i < d; i++) {
        if (!bh__block_create(&block[i], &backend->memory, backend->pages, subtable_bytes)) {
            destroy_blocks(block, &backend->memory);
            return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                            (unsigned long long)*bytes);
        }
        /* Before the next one is asked for: only touched memory is missing from what the system
         * says it still has. */
        bh__block_touch(&block[i], &backend->executor, backend->pages, 0, block[i].committed);
        g->subtable[i].lines = (uint64_t)(uintptr_t)block[i].memory;
        g->subtable[i].doublings = doublings;
        g->subtable[i].mask = (1ull << doublings) - 1;
        g->subtable[i].unused = 0;
    }
    for (i = 0; i < g->pairs; i++)
        g->home[i] = g->subtable[g->pair[i] & 15];
    g->base = base;
    return BH_OK;
}

/* Puts the table on other subtables, made by make_blocks. */
static void replace_blocks(dycuckoo *t, const bh_dy_geometry *g, const bh__block *block,
                           uint64_t bytes)
{
    uint32_t i;

    bh__note_peak(&t->table, bytes);
    destroy_blocks(t->block, &t->table.backend->memory);
    for (i = 0; i < g->subtables; i++)
        t->block[i] = block[i];
    t->geometry = *g;
    t->table.bytes = bytes;
    t->table.changes++;
    publish(t);
}

/* Gives an empty table subtables of `buckets` buckets. On failure it is as it was. */
static bh_status lay_out(dycuckoo *t, uint64_t buckets)
{
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh_dy_geometry g = t->geometry;
    uint64_t bytes;
    bh_status status = make_blocks(&t->table, buckets, &g, block, &bytes);

    if (!status) {
        status = make_scratch(t, g.subtables * bh_dy_buckets(&g, 0));
        if (status)
            destroy_blocks(block, &t->table.backend->memory);
    }
    if (!status)
        replace_blocks(t, &g, block, bytes);
    return status;
}

/*
 * Moves all keys to subtables of `buckets` buckets with another seed, or the same. For as long as
 * it takes both tables are there. On failure, for want of memory or of a place for some key, the
 * table is as it was.
 */
static bh_status rebuild(dycuckoo *t, uint64_t buckets, uint64_t seed)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh_dy_geometry g = t->geometry;
    bh_dy_reinsert job;
    uint64_t bytes;
    uint32_t alone, i;
    int runs = 1;
    bh_status status = make_blocks(table, buckets, &g, block, &bytes);

    if (status)
        return status;
    status = make_scratch(t, g.subtables * bh_dy_buckets(&g, 0));
    if (status) {
        destroy_blocks(block, &backend->memory);
        return status;
    }
    g.seed = bh_seed_expand(seed);
    job.geometry = &g;
    job.scratch = &t->scratch;
    for (alone = 0, job.left = 1; runs && job.left && alone < 2; alone++) {
        job.left = 0;
        for (i = 0; i < g.subtables && runs; i++) {
            uint64_t items = bh_dy_buckets(&t->geometry, i);

            job.lines = t->geometry.subtable[i].lines;
            runs = backend->pass(backend, table, alone ? BH_DY_PASS_REST : BH_DY_PASS_REINSERT,
                                 &job, items, alone ? items : PASS_BUCKETS, BH_TRY);
        }
    }
    if (!runs || job.left) {
        destroy_blocks(block, &backend->memory);
        return runs ? bh__fail(BH_ERR_FULL, "a key found no place in a table built anew")
                    : refused("to build the table anew");
    }
    table->options.seed = seed;
    table->keys_moved += table->keys;
    table->erases = 0;
    replace_blocks(t, &g, block, bytes);
    return BH_OK;
}

static bh_status create(const bh_table *plan, bh_table **made)
{
    const bh_system *system = &plan->backend->system;
    dycuckoo *t;
    bh_dy_geometry *g;
    uint64_t buckets;
    uint32_t d, i, j;
    bh_status status;
    bh_table checked = *plan;

    if (!choose_options(&checked))
        return BH_ERR_ARGUMENT;
    if (checked.options.dycuckoo.values_apart && checked.options.schedule == BH_SCHEDULE_REGIONS)
        return bh__fail(BH_ERR_UNSUPPORTED, "BH_SCHEDULE_REGIONS is for tables of BH_DYCUCKOO with "
                                            "keys and values side by side");
    if (!buckets_for(&checked, checked.options.capacity, &buckets))
        return bh__fail(BH_ERR_ARGUMENT, "capacity %llu is more than a table can address",
                        (unsigned long long)checked.options.capacity);
    t = (dycuckoo *)system->allocate(system->state, sizeof *t);
    if (!t)
        return bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table's head");
    t->table = checked;
    t->scratch.memory = 0;
    t->scratch.bytes = 0;
    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++)
        t->block[i].memory = 0;

    g = &t->geometry;
    d = checked.options.dycuckoo.subtables;
    g->seed = bh_seed_expand(checked.options.seed);
    g->subtables = d;
    g->spread = checked.options.dycuckoo.spread == BH_SPREAD_THEOREM1;
    g->pairs = 0;
    for (i = 0; i < d; i++)
        for (j = 0; j < d; j++)
            if (i != j)
                g->pair[g->pairs++] = (uint8_t)(i | j << 4);

    t->table.floor_keys = checked.options.capacity;
    status = lay_out(t, buckets);
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
    bh__scratch *scratch = &of(table)->scratch;

    destroy_blocks(of(table)->block, &table->backend->memory);
    if (scratch->memory)
        system->release(system->state, scratch->memory, scratch->bytes);
    system->release(system->state, table, sizeof(dycuckoo));
}

static const void *geometry(const bh_table *table)
{
    return &((const dycuckoo *)table)->geometry;
}

/* Makes memory for a subtable of twice the size: in place, or in a larger block to which the old
 * content is copied. On failure everything is as it was. */
static bh_status double_block(dycuckoo *t, uint32_t subtable, uint64_t bytes)
{
    const bh__backend *backend = t->table.backend;
    bh__block *block = &t->block[subtable], larger;
    int moving;

    if (bh__block_extend(block, &backend->memory, backend->pages, bytes, &moving))
        return BH_OK;
    if (!moving || !bh__block_create(&larger, &backend->memory, backend->pages, bytes))
        return bh__fail(BH_ERR_MEMORY,
                        "the system gave no memory to grow a table of %llu bytes by %llu",
                        (unsigned long long)t->table.bytes, (unsigned long long)bytes / 2);
    if (!backend->copy(backend, &larger, block, bytes / 2, BH_TRY)) {
        bh__block_destroy(&larger, &backend->memory);
        return refused("to copy a part of the table");
    }
    bh__note_peak(&t->table, larger.committed);
    bh__block_destroy(block, &backend->memory);
    *block = larger;
    return BH_OK;
}

/* Gives up the memory of a subtable beyond `bytes`, if the system takes it. Memory that comes and
 * goes as a whole is exchanged for a smaller piece. */
static void halve_block(dycuckoo *t, uint32_t subtable, uint64_t bytes)
{
    const bh__backend *backend = t->table.backend;
    bh__block *block = &t->block[subtable], smaller;

    if (!bh__is_far(&t->table)) {
        bh__block_shrink(block, &backend->memory, bytes);
    } else if (bh__block_create(&smaller, &backend->memory, backend->pages, bytes)) {
        bh__note_peak(&t->table, smaller.committed);
        if (backend->copy(backend, &smaller, block, bytes, BH_TRY)) {
            bh__block larger = *block;

            *block = smaller;
            smaller = larger;
        }
        bh__block_destroy(&smaller, &backend->memory);
        publish(t);
    }
}

/* After SPLIT: brings home what is at home in the subtable, and makes its filters anew. */
static void bring_home(dycuckoo *t, bh_dy_resize *split)
{
    const bh_table *table = &t->table;
    uint32_t i;

    for (i = 0; i < t->geometry.subtables; i++) {
        split->from = i;
        if (i != split->subtable)
            (void)table->backend->pass(table->backend, table, BH_DY_PASS_HOME, split,
                                       bh_dy_buckets(&t->geometry, i), PASS_BUCKETS, BH_MUST);
    }
}

/* Doubles the smallest subtable. The others keep their geometry; they are read once, for the keys
 * whose home the doubled one is. */
static bh_status grow(dycuckoo *t)
{
    bh_table *table = &t->table;
    bh_dy_geometry *g = &t->geometry;
    uint32_t subtable = smallest(g);
    uint64_t buckets = bh_dy_buckets(g, subtable), bytes, committed;
    bh_dy_resize split = {g, &t->scratch, subtable, subtable, 1, 0, 0};
    bh_status status;

    if (buckets > 1ull << (BH_DY_BUCKET_BITS_MOST - 1))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    bytes = 2 * buckets * bucket_bytes(table);
    if (!bh__block_bytes(bytes, &committed))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    /* What a halving could not give back is there already. */
    if (committed < t->block[subtable].committed)
        committed = t->block[subtable].committed;
    committed = table->bytes - t->block[subtable].committed + committed;
    status = bh__check_budget(table, committed);
    if (!status)
        status = make_scratch(t, table->slots / slots_per_bucket(table) + buckets);
    if (!status)
        status = double_block(t, subtable, bytes);
    if (status)
        return status;

    table->bytes = committed;
    bh__note_peak(table, 0);
    table->changes++;
    g->subtable[subtable].doublings++;
    publish(t);
    if (!table->backend->pass(table->backend, table, BH_DY_PASS_SPLIT, &split, buckets, PASS_BUCKETS,
                              BH_TRY)) {
        /* The memory is there the next time. */
        g->subtable[subtable].doublings--;
        publish(t);
        return refused("to split a part of the table in two");
    }
    table->grows++;
    bring_home(t, &split);
    table->keys_moved += split.moved;
    table->erases = 0;
    return BH_OK;
}

/* Halves the largest subtable. Answers 0 when some key found no place: then it was undone. */
static int halve(dycuckoo *t)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_dy_geometry *g = &t->geometry;
    uint32_t subtable = largest(g);
    uint64_t buckets = bh_dy_buckets(g, subtable) / 2, committed;
    bh_dy_resize merge = {g, &t->scratch, subtable, subtable, 0, 0, 0};
    int merged;

    table->changes++;
    g->subtable[subtable].doublings--;
    publish(t);
    merged = backend->pass(backend, table, BH_DY_PASS_MERGE, &merge, buckets, PASS_BUCKETS, BH_TRY);
    /* When it is refused, those that found no place have none. */
    if (merge.left)
        (void)backend->pass(backend, table, BH_DY_PASS_RESIDUE, &merge, buckets, buckets, BH_TRY);
    table->keys_moved += merge.moved;
    if (!merged || merge.left) {
        g->subtable[subtable].doublings++;
        publish(t);
        if (merged) {
            (void)backend->pass(backend, table, BH_DY_PASS_SPLIT, &merge, buckets, PASS_BUCKETS,
                                BH_MUST);
            bring_home(t, &merge);
        }
        return 0;
    }
    committed = t->block[subtable].committed;
    halve_block(t, subtable, buckets * bucket_bytes(table));
    table->bytes -= committed - t->block[subtable].committed;
    table->shrinks++;
    return 1;
}

static void shrink(bh_table *table)
{
    while (table->keys < table->min_keys)
        if (!halve(of(table)))
            /* Not again before there are a good deal fewer keys. */
            table->min_keys = table->keys - table->keys / 4;
}

static bh_status compact(bh_table *table)
{
    dycuckoo *t = of(table);
    uint64_t buckets = 0;

    table->floor_keys = 0;
    publish(t);
    /* Not for a part in 32, which is what sizes are rounded by and a bit more. */
    if (!buckets_for(table, table->keys, &buckets) ||
        buckets * t->geometry.subtables * slots_per_bucket(table) >=
            table->slots - table->slots / 32)
        return BH_OK;
    return rebuild(t, buckets, table->options.seed);
}

/* Whether a table in which a key found no place, though there is room, may grow for it. */
static int worth_growing(const bh_table *table)
{
    double d = (double)table->options.dycuckoo.subtables;
    double least = table->options.min_fill > 0 ? table->options.min_fill : DEFAULT_MIN_FILL / 2;

    /* Where max_fill is beyond what can be filled, tables must grow before they get there. */
    if (least > 0.9 * placeable_fill(table) * d / (d + 1))
        least = 0.9 * placeable_fill(table) * d / (d + 1);
    return table->slots < BH_DY_FLOOR_SLOTS ||
           (double)table->keys * d / (d + 1) >= least * (double)table->slots;
}

/* Gives the table another seed, so that keys that all want the same few slots want them no more:
 * once, for whoever makes such keys on purpose knows what would come next. From a fixed seed to one
 * that follows from it, so that whoever fixed it can repeat what happens. */
static bh_status reseed(dycuckoo *t)
{
    bh_table *table = &t->table;
    const bh_system *system = &table->backend->system;
    uint64_t seed = table->options.seed, buckets = bh_dy_buckets(&t->geometry, largest(&t->geometry));
    bh_status status;

    if (table->reseeds)
        return bh__fail(BH_ERR_FULL, "a key found no place: too many keys want the same few slots, "
                                     "and the table is too empty to grow for them");
    if (table->options.seed_fixed || system->random(system->state, &seed, sizeof seed))
        seed = bh_seed_next(&seed);
    status = rebuild(t, buckets, seed);
    table->reseeds += !status;
    return status;
}

/*
 * Finishes what can be finished of a stalled slice without growth; `final` says that the table will not
 * grow for the rest either. Answers 0 when a GPU refused to.
 */
static int place(bh_table *table, bh__slice *slice, int final, bh_status *why)
{
    bh__allowance *allowance = bh__allowance_of(table);
    const int charged = allowance != table->allowance;
    uint64_t looks = bh__looks_allowed(table);
    int ran;

    /* Beyond sure_keys one thread of a device searches for nobody: the others have searched. */
    if (charged && bh__is_far(table))
        looks = 0;
    /* What all of them lack there is none of: none need be looked at again. (Of an ordered slice most
     * have not been looked at.) */
    if (!slice->ordered && (!table->room || (!looks && !slice->stalled_room))) {
        slice->refused = slice->stalled;
        return 1;
    }
    slice->listed = slice->stalled;
    slice->inserted = slice->erased = slice->assigned = 0;
    slice->room = bh__room_take(table, slice->listed);
    slice->geometry = geometry(table);
    slice->turnover = bh__turnover(table);
    slice->no_paths = 1; /* the pass itself looks further than they do */
    slice->final = (uint8_t)final;
    slice->scratch = &of(table)->scratch;
    slice->looks = looks;
    slice->vain = 0;
    /* At most one search overdraws it: keys that collide on purpose must not leave a debt on which others,
     * who need a search, are refused. */
    slice->vain_most = charged ? BH_LOOKS_FREE : bh__atomic_load(&allowance->left, __ATOMIC_RELAXED);
    ran = table->backend->pass(table->backend, table, BH_DY_PASS_PLACE, slice, 1, 1, BH_TRY);
    if (!ran) {
        slice->refused = slice->stalled;
        *why = refused("to place keys");
    }
    bh__looks_spend(allowance, charged ? looks - slice->looks : slice->vain);
    bh__slice_settle(table, slice);
    return ran;
}

/*
 * What becomes of a slice that stalled. Of the elements that cannot be done either all of a slice's are
 * refused at once, without a look at the table; or each is tried once more in one hold of the gate,
 * which ends after a bounded number of looks.
 */
static bh__resolved resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why)
{
    int growing, tried = 0;

    /* Running slices set room aside that they may not need: now that none runs, there may be room
     * for what found none. The second time the slice is finished here, or others could take the
     * room from it for ever. */
    if (!slice->stalled_path && !slice->again && table->room) {
        slice->again = 1;
        return BH_RESOLVED_AGAIN;
    }
    growing = *may_grow && !table->room;
    if (!growing) {
        tried = 1;
        if (!place(table, slice, !*may_grow, why))
            return BH_RESOLVED_REFUSED;
        if (!slice->stalled || !slice->refused)
            return BH_RESOLVED_AGAIN;
        growing = *may_grow && (!table->room || worth_growing(table));
    }
    if (*may_grow) {
        bh_status status = growing ? grow(of(table)) : reseed(of(table));

        if (!status)
            return BH_RESOLVED_AGAIN;
        *why = status;
        *may_grow = 0;
        /* A table that cannot grow is filled as far as it may. */
        set_room(table, table->options.max_fill);
        /* Not twice in one hold. */
        if (tried)
            return BH_RESOLVED_AGAIN;
        (void)place(table, slice, 1, why);
    }
    return slice->refused ? BH_RESOLVED_REFUSED : BH_RESOLVED_AGAIN;
}

static bh_status reserve(bh_table *table, uint64_t keys)
{
    dycuckoo *t = of(table);
    bh_status status;
    uint64_t buckets;

    if (!buckets_for(table, keys, &buckets))
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    if (!table->keys && keys > keys_promised(table, table->slots, is_uneven(&t->geometry))) {
        /* As many slots as there are at least: subtables that are alike need fewer for the same. */
        uint64_t row = (uint64_t)t->geometry.subtables * slots_per_bucket(table);
        uint64_t least = (table->slots + row - 1) / row;

        buckets = buckets > least ? buckets : least;
        status = lay_out(t, buckets);
        if (status)
            return status;
    }
    while (keys > keys_promised(table, table->slots, is_uneven(&t->geometry))) {
        status = grow(t);
        if (status)
            return status;
    }
    if (keys > table->floor_keys) {
        table->floor_keys = keys;
        publish(t);
    }
    return BH_OK;
}

/* Growing by doublings would read a small table again and again: what becomes many times as large
 * is built anew. The small one beside it is no more than the old part beside a doubled one would
 * be. */
#define EXPECT_REBUILDS 8

static void expect(bh_table *table, uint64_t keys)
{
    dycuckoo *t = of(table);
    uint64_t row = (uint64_t)t->geometry.subtables * slots_per_bucket(table), buckets;

    if (buckets_for(table, keys, &buckets) && buckets * row / EXPECT_REBUILDS >= table->slots &&
        !rebuild(t, buckets, table->options.seed))
        table->grows++;
    while (table->room < keys - table->keys && !grow(t))
        ;
}

static bh_status clear(bh_table *table)
{
    dycuckoo *t = of(table);
    uint32_t i;

    for (i = 0; i < t->geometry.subtables; i++)
        if (!table->backend->clear(table->backend, &t->block[i],
                                   bh_dy_buckets(&t->geometry, i) * bucket_bytes(table),
                                   i ? BH_MUST : BH_TRY) && !i)
            return refused("to clear the table");
    table->keys = 0;
    table->erases = 0;
    table->changes++;
    publish(t);
    return BH_OK;
}

/* A position is 16 times the number of a bucket, counted through all subtables, plus the slot. */
static uint64_t export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    dycuckoo *t = of(table);
    const bh__backend *backend = table->backend;
    const uint64_t part = bh__is_far(table) ? BH_DY_EXPORT_PART_FAR : BH_DY_EXPORT_PART;
    const uint64_t slots_per_part = slots_per_bucket(table) * part;
    uint64_t subtable_first = 0, copied = 0;
    uint32_t subtable;

    for (subtable = 0; subtable < t->geometry.subtables; subtable++) {
        uint64_t buckets = bh_dy_buckets(&t->geometry, subtable);

        while (copied < room && *at / 16 < subtable_first + buckets) {
            bh_dy_export job;
            uint64_t parts, fit = (room - copied) / slots_per_part;

            job.geometry = &t->geometry;
            job.subtable = subtable;
            job.first_bucket = *at / 16 - subtable_first;
            job.first_slot = (uint32_t)(*at % 16);
            job.part = part;
            parts = (buckets - job.first_bucket + part - 1) / part;
            /* Only one part alone may find that the room ends: parts come in any order. */
            if (table->keys > room && parts > fit)
                parts = fit ? fit : 1;
            job.end_bucket = job.first_bucket + parts * part;
            job.end_bucket = job.end_bucket < buckets ? job.end_bucket : buckets;
            job.keys = (unsigned char *)keys + copied * table->options.key_bytes;
            job.values =
                values ? (unsigned char *)values + copied * table->options.value_bytes : values;
            job.room = room - copied;
            job.taken = 0;
            job.stop_bucket = job.end_bucket;
            job.stop_slot = 0;
            if (!backend->pass(backend, table, BH_DY_PASS_EXPORT, &job, parts, 1, BH_TRY))
                return BH__EXPORT_REFUSED;
            copied += job.taken < job.room ? job.taken : job.room;
            *at = (subtable_first + job.stop_bucket) * 16 + job.stop_slot;
        }
        subtable_first += buckets;
    }
    return copied;
}

/* The last page: what a table grew from may lie on pages of another size. */
static const void *typical_page(const bh_table *table)
{
    const bh__block *block = ((const dycuckoo *)table)->block;

    return block->memory + block->committed - BH__PAGE_SMALL;
}

const bh__policy bh__dycuckoo_policy = {
    "dycuckoo", BH_ON_GPU, create, destroy, geometry, resolve,      reserve,      expect,
    shrink,     compact, clear,   export_pairs, typical_page, 0,
};
