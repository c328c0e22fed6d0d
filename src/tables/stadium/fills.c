/*
 * Stadium hashing, growth: when parts grow and shrink.
 *
 * A table grows when its keys are more than max_fill of its slots. One part doubles until it has a huge page. Then
 * parts are split, one at a time, until there are 64, and then doubled, one at a time. Before that, all parts are
 * equally full, because keys fall into them as if drawn. With each part that has grown the table takes a few keys
 * more, so that parts that have not grown yet become no fuller than half way from max_fill to 1 (and by an eighth
 * at most):
 *
 *     lines    n n n n n n n n | n n n      three of eight parts have been split
 *     keys     max_fill * slots of 8 n lines * (1 + a * 3/8)
 *
 * A part whose slots are all taken grows out of turn.
 */
#include "tables/stadium/policy.h"

#include "base/system.h"

static uint64_t least_lines(const bh__st_set *set)
{
    uint64_t least = set->lines[0];
    uint32_t i;

    for (i = 1; i < set->parts; i++)
        least = set->lines[i] < least ? set->lines[i] : least;
    return least;
}

/* How many parts have grown beyond the others. */
static uint32_t grown(const bh__st_set *set, uint64_t least)
{
    uint32_t count = set->parts - set->whole, i;

    if (count)
        return count;
    for (i = 0; i < set->parts; i++)
        count += set->lines[i] > least + least / 2;
    return count;
}

/*
 * How many keys a table of one part may have. An operation that seeks its key in vain while all slots of a part are taken may look at
 * all of its board, and one that seeks a slot does: of a slice there may be thousands. So, whatever
 * max_fill allows, one slot in so many stays free, unless more keys are there or were asked for, or the table could not grow.
 * (Several parts have slots to spare: bh__st_keys_in. Of fewer slots none stays free: so small a board is soon looked at.)
 */
#define SLOTS_OF_FREE 256

static uint64_t keys_of_one_part(const bh__st_table *t)
{
    const bh_table *table = &t->table;
    const uint64_t slots = bh__st_slots(&t->geometry, &t->set.part[0]);
    const uint64_t all = (uint64_t)(table->options.max_fill * (double)slots);
    const uint64_t some = slots - slots / SLOTS_OF_FREE;
    const uint64_t wanted = table->keys > table->floor_keys ? table->keys : table->floor_keys;

    if (t->to_the_last || all <= some)
        return all;
    return wanted <= some ? some : wanted < all ? wanted : all;
}

/* How many keys there may be. */
static uint64_t keys_most(const bh__st_table *t)
{
    const bh__st_set *set = &t->set;
    const double fill = t->table.options.max_fill;
    const bh__st_shape shape = {set->whole, least_lines(set)};
    double more = (1 - fill) / 2 / fill;

    if (set->parts == 1) /* the prime may be larger than what it was made for */
        return keys_of_one_part(t);
    more = more < 0.125 ? more : 0.125;
    return (uint64_t)((double)bh__st_keys_in(t, shape) *
                      (1 + more * grown(set, shape.lines) / set->whole));
}

static uint32_t largest(const bh__st_set *set)
{
    uint32_t found = 0, i;

    for (i = 1; i < set->parts; i++)
        if (set->lines[i] > set->lines[found])
            found = i;
    return found;
}

/* Whether the table shrinks by merging two parts next, and not by halving one. */
static int merges(const bh__st_table *t)
{
    const uint64_t lines = t->set.lines[largest(&t->set)];

    return t->set.parts > 1 && bh__st_part_bytes(&t->geometry, lines / 2) < BH_ST_PART_BYTES;
}

/* The shape that holds no more keys than the table does when it has shrunk by one step; 0 lines where it cannot
 * shrink. */
static bh__st_shape smaller(const bh__st_table *t)
{
    const bh__st_set *set = &t->set;
    const uint64_t half = (set->lines[largest(set)] + 1) / 2;
    bh__st_shape shape = {set->whole, least_lines(set)};

    if (merges(t))
        shape.parts = set->parts > set->whole ? set->whole : set->whole / 2;
    else if (half < shape.lines)
        shape.lines = half;
    else if (set->parts == 1)
        shape.lines = 0;
    return shape;
}

void bh__st_publish(bh__st_table *t)
{
    bh_table *table = &t->table;
    const bh_table_options *o = &table->options;
    const bh__st_set *set = &t->set;
    const bh__st_shape fewer = smaller(t);
    uint64_t slots = 0;
    uint32_t i;

    table->bytes[BH_TIER_NEAR] = set->locks.committed;
    table->bytes[BH_TIER_HOST] = 0;
    for (i = 0; i < set->parts; i++) {
        slots += bh__st_slots(&t->geometry, &set->part[i]);
        table->bytes[BH_TIER_NEAR] += set->memory[i].near.committed;
        table->bytes[BH_TIER_HOST] += set->memory[i].far.committed;
    }
    t->geometry.far = table->bytes[BH_TIER_HOST] != 0;
    bh__note_peak(table, 0);
    table->slots = slots;
    table->max_keys = table->sure_keys = keys_most(t);
    table->room = table->max_keys > table->keys ? table->max_keys - table->keys : 0;
    table->min_keys = 0;
    if (o->min_fill > 0 && fewer.lines && bh__st_keys_in(t, fewer) >= table->floor_keys)
        table->min_keys = (uint64_t)(o->min_fill * (double)slots);
    /* What it shrinks to is to have some room. */
    if (table->min_keys > bh__st_keys_in(t, fewer) / 8 * 7)
        table->min_keys = bh__st_keys_in(t, fewer) / 8 * 7;
}

bh_status bh__st_grow_parts(bh__st_table *t, uint64_t parts)
{
    bh_status status = BH_OK, first = BH_OK;
    uint32_t i, done = 0;

    for (i = 0; i < t->set.parts; i++) {
        if (!(parts >> i & 1))
            continue;
        status = bh__st_remake(t, i, 2 * t->set.lines[i]);
        t->table.grows += !status;
        done += !status;
        first = first ? first : status;
    }
    return done ? BH_OK : first;
}

bh_status bh__st_grow(bh__st_table *t)
{
    const bh__st_set *set = &t->set;
    const uint64_t least = least_lines(set);
    bh_status status;
    uint32_t i;

    if (set->parts < BH_ST_PARTS_MOST &&
        (set->parts > 1 || bh__st_part_bytes(&t->geometry, least) >= BH_ST_PART_BYTES)) {
        status = bh__st_split(t);
        t->table.grows += !status;
        return status;
    }
    for (i = 0; set->lines[i] != least; i++)
        ;
    return bh__st_grow_parts(t, 1ull << i);
}

/* Makes the table one that holds so many keys. */
static bh_status grow_to(bh__st_table *t, uint64_t keys)
{
    const bh_table *table = &t->table;
    const bh__st_shape shape = bh__st_shape_for(t, keys);
    bh_status status = BH_OK;

    if (!shape.lines)
        return bh__fail(BH_ERR_ARGUMENT, "%llu keys are more than a table can address",
                        (unsigned long long)keys);
    /* Step by step a key would move again and again. */
    if (!table->keys || keys / 2 > table->max_keys)
        return bh__st_rebuild(t, shape);
    /* Here it moves once: to make all parts just as large as is asked for would move all keys again when a few more
     * are asked for. */
    while (!status && keys > table->max_keys)
        status = bh__st_grow(t);
    return status;
}

bh_status bh__st_reserve(bh_table *table, uint64_t keys)
{
    bh__st_table *t = bh__st_of(table);
    const uint64_t grows = table->grows, floor = table->floor_keys;
    bh_status status = BH_OK;

    /* First: as many keys as there are slots for may be asked for (keys_of_one_part). */
    if (keys > floor) {
        table->floor_keys = keys;
        bh__st_publish(t);
    }
    if (keys > table->max_keys) {
        status = grow_to(t, keys);
        if (!status)
            table->grows = grows + (table->keys != 0);
    }
    if (status && keys > floor) {
        table->floor_keys = floor;
        bh__st_publish(t);
    }
    return status;
}

/* How many keys are about to be inserted is an estimate: so an empty table gets a 32nd more. What cannot be had
 * for all of them is had as far as it goes. */
void bh__st_expect(bh_table *table, uint64_t keys)
{
    bh__st_table *t = bh__st_of(table);
    const uint64_t grows = table->grows;

    if (keys <= table->max_keys)
        return;
    if (!grow_to(t, table->keys ? keys : keys + keys / 32)) {
        table->grows = grows + 1;
        return;
    }
    while (keys > table->max_keys && !bh__st_grow(t))
        ;
}

/* One step smaller; there is one (smaller). */
static bh_status shrink_once(bh__st_table *t)
{
    const uint32_t part = largest(&t->set);

    return merges(t) ? bh__st_merge(t) : bh__st_remake(t, part, (t->set.lines[part] + 1) / 2);
}

void bh__st_shrink(bh_table *table)
{
    bh__st_table *t = bh__st_of(table);
    bh_status status = BH_OK;

    while (!status && table->keys < table->min_keys) {
        status = shrink_once(t);
        table->shrinks += !status;
    }
    /* Not again before there are a quarter fewer keys. */
    if (status)
        table->min_keys = table->keys - table->keys / 4;
}

/* How many lines parts need, as many as there are, for so many keys. Where some have grown and are wanted, none is
 * to be made smaller. */
static uint64_t lines_for(const bh__st_table *t, uint64_t keys)
{
    bh__st_shape shape = {t->set.whole, 0};
    uint64_t few = 0, enough = least_lines(&t->set);

    shape.lines = enough;
    if (bh__st_keys_in(t, shape) < keys)
        return UINT64_MAX;
    while (few + 1 < enough) {
        shape.lines = few + (enough - few) / 2;
        if (bh__st_keys_in(t, shape) < keys)
            few = shape.lines;
        else
            enough = shape.lines;
    }
    return enough;
}

bh_status bh__st_compact(bh_table *table)
{
    bh__st_table *t = bh__st_of(table);
    const bh__st_set *set = &t->set;
    bh__st_shape shape = smaller(t);
    bh_status status = BH_OK, first = BH_OK;
    uint64_t most;
    uint32_t i;

    table->floor_keys = 0;
    for (; shape.lines && bh__st_keys_in(t, shape) >= table->keys; shape = smaller(t))
        if (shrink_once(t))
            break;
    most = lines_for(t, table->keys);
    for (i = 0; i < set->parts; i++) {
        const uint64_t lines = set->lines[i];

        if (lines <= most && !t->geometry.turnover)
            continue;
        status = bh__st_remake(t, i, lines < most ? lines : most);
        if (status == BH_ERR_FULL)
            status = bh__st_remake(t, i, lines);
        first = first ? first : status;
    }
    if (!first) {
        t->geometry.turnover = 0;
        table->erases = 0;
    }
    bh__st_publish(t);
    return first;
}
