/*
 * HashFight's list of generations: which are merged when new keys come, how the list changes, and how
 * its pairs are read, for a merge or for an export.
 *
 * New keys go to the *buffer*, the generation behind all others, as long as it has room. Beyond that they
 * are built into a new generation together with the buffer and with the generations that are not much
 * larger (first_to_merge). The largest generation stays first, because lookups read it first.
 *
 * A merge reads all pairs into temporary memory, builds, and replaces the old generations only then; until
 * it has succeeded the table is as it was.
 */
#include "tables/hashfight/policy.h"

/* A generation is merged with new keys when it is up to so many times as large. */
#ifndef BH_HF_MERGE_FACTOR
#define BH_HF_MERGE_FACTOR 8
#endif

/* --- the list ------------------------------------------------------------------------------------ */

/* A store of its own: a call that begins reads the number without holding the gate. */
void bh__hf_set_keys(bh__hf_table *t, uint64_t keys)
{
    bh__atomic_store(&t->table.keys, keys, __ATOMIC_RELAXED);
}

uint64_t bh__hf_large(const bh__hf_table *t)
{
    uint64_t n = t->geometry.generations;

    return n && !t->geometry.generation[n - 1].regions ? n - 1 : n;
}

void bh__hf_publish(bh__hf_table *t)
{
    bh_table *table = &t->table;
    bh_hf_geometry *g = &t->geometry;
    uint64_t slots = BH_HF_BUFFER_MOST, pairs = 0, i;

    table->bytes[BH_TIER_NEAR] = t->buffer.committed + t->spare.committed;
    for (i = 0; i < g->generations; i++) {
        if (!g->generation[i].regions)
            continue;
        table->bytes[BH_TIER_NEAR] += t->block[i].committed;
        slots += bh__hf_slots(&t->table, &g->generation[i]);
        pairs += t->built[i];
    }
    table->slots = slots + (t->spare.memory ? t->spare_slots : 0);
    table->max_keys = table->keys + BH_HF_BUFFER_MOST - (t->tail.tail - t->gone);
    if (t->spare.memory && table->max_keys < t->spare_keys)
        table->max_keys = t->spare_keys;
    table->min_keys = 0;
    if (table->options.min_fill > 0 && slots > 4 * BH_HF_BUFFER_MOST && slots > t->floor_slots) {
        table->min_keys = (uint64_t)(table->options.min_fill * (double)slots);
        /* A small generation has far more room for a tail than it needs. However many slots it has, a
         * quarter of the pairs built must be gone, or it would be built anew for every call. */
        if (table->min_keys > pairs - pairs / 4)
            table->min_keys = pairs - pairs / 4;
        if (table->min_keys > t->shrink_below)
            table->min_keys = t->shrink_below;
    }
    bh__note_peak(table, 0);
}

/* Puts the buffer behind the `large` generations, if there is something in it. */
static void publish_buffer(bh__hf_table *t, uint64_t large)
{
    t->geometry.generations = large;
    if (t->tail.tail)
        t->geometry.generation[t->geometry.generations++] = t->tail;
    bh__hf_publish(t);
}

void bh__hf_replace(bh__hf_table *t, uint64_t first, const bh_hf_generation *made,
                    const bh__block *block, uint64_t pairs)
{
    uint64_t large = bh__hf_large(t), i;

    for (i = first; i < large; i++)
        bh__block_destroy(&t->block[i], &t->table.backend->memory);
    for (i = first; i > 0 && t->built[i - 1] < pairs; i--) {
        t->geometry.generation[i] = t->geometry.generation[i - 1];
        t->block[i] = t->block[i - 1];
        t->built[i] = t->built[i - 1];
    }
    t->geometry.generation[i] = *made;
    t->block[i] = *block;
    t->built[i] = pairs;
    t->tail.tail = 0;
    t->gone = 0;
    t->shrink_below = UINT64_MAX;
    t->table.changes++; /* positions in the table mean something else now */
    publish_buffer(t, first + 1);
}

/* --- reading ------------------------------------------------------------------------------------- */

/* The generations from `first` on, as arrays of lines and of the tails' pairs. */
static bh__arrays arrays_of(const bh__hf_table *t, uint64_t first)
{
    const bh_hf_geometry *g = &t->geometry;
    const uint64_t large = bh__hf_large(t);
    bh__arrays from;
    uint64_t i;

    from.count = 0;
    from.slots = from.places = (uint32_t)bh__hf_slots_per_line(&t->table);
    from.pass = BH_HF_PASS_EXPORT;
    from.pairs = 0;
    for (i = first; i < g->generations; i++) {
        const bh_hf_generation *one = &g->generation[i];

        from.array[from.count].lines = 2 * i;
        from.array[from.count++].count = one->rounds ? one->regions * one->region_lines : 0;
        from.array[from.count].lines = 2 * i + 1;
        from.array[from.count++].count = (one->tail + from.slots - 1) / from.slots;
        from.pairs += i < large ? t->built[i] : one->tail;
    }
    return from;
}

uint64_t bh__hf_read(bh__hf_table *t, uint64_t first, void *keys, void *values, uint64_t room)
{
    const bh__arrays from = arrays_of(t, first);
    bh__exported out = {keys, t->table.options.value_bytes ? values : 0, room, 0};
    uint64_t at = 0;

    (void)bh__export_buckets(&t->table, &from, &at, &out, BH_MUST);
    return out.copied;
}

uint64_t bh__hf_export_pairs(bh_table *table, uint64_t *at, void *keys, void *values, uint64_t room)
{
    bh__arrays from = arrays_of(bh__hf_of(table), 0);
    bh__exported out = {keys, values, room, 0};

    from.pairs = table->keys;
    if (!bh__export_buckets(table, &from, at, &out, BH_TRY))
        return BH__EXPORT_REFUSED;
    return out.copied;
}

/* --- merging ------------------------------------------------------------------------------------- */

/* Where the new generation's pairs are collected. */
typedef struct collected {
    uint64_t keys;
    uint64_t values;
} collected;

static void cut_collected(bh__arena *a, const bh_table *table, uint64_t total, collected *c)
{
    c->keys = bh__cut(a, total, table->options.key_bytes);
    c->values = bh__cut(a, total, table->options.value_bytes);
}

/* Reads the generations from `first` on, and puts the new keys behind their pairs; answers how many pairs that
 * makes, at most `room`. */
static uint64_t collect(bh__hf_table *t, uint64_t first, const void *keys, uint64_t count,
                        const collected *to, uint64_t room)
{
    const bh_table *table = &t->table;
    const uint32_t key_bytes = table->options.key_bytes, value_bytes = table->options.value_bytes;
    const uint64_t n =
        bh__hf_read(t, first, bh__pointer(to->keys), bh__pointer(to->values), room - count);

    bh__hf_copy(table, to->keys + n * key_bytes, (uint64_t)(uintptr_t)keys, count * key_bytes);
    bh__hf_zero(table, to->values + n * value_bytes, count * value_bytes);
    return n + count;
}

static bh_status fail_merge(uint64_t pairs)
{
    return bh__fail(BH_ERR_MEMORY, "the system gave no memory to merge %llu pairs",
                    (unsigned long long)pairs);
}

/*
 * Builds one generation of the new keys (sorted, all absent, without values yet), the buffer, and the
 * generations from `first` on. On failure the table is as it was.
 */
static bh_status merge(bh__hf_table *t, uint64_t first, const void *keys, uint64_t count)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t large = bh__hf_large(t), total = count + t->tail.tail, freed = 0, stay = 0;
    uint64_t pairs, i;
    bh_hf_generation made;
    bh__temporary memory;
    bh__block block;
    bh_status status;
    bh__arena a = {0, 0};
    collected c;
    bh__hf_list from;
    bh__hf_plan p;

    for (i = 0; i < first; i++)
        stay += t->built[i];
    for (; i < large; i++) {
        total += t->built[i];
        freed += t->block[i].committed;
    }
    /* The new generation has at least so many pairs: where not even they have room, nothing is read. */
    stay = stay < table->keys ? stay : table->keys;
    if (bh__hf_make_plan(table, table->keys - stay + count, table->options.value_bytes, &p) &&
        bh__hf_is_beyond(t, p.bytes, freed))
        return bh__hf_fail_beyond(t, p.bytes, freed);
    cut_collected(&a, table, total, &c);
    if (a.overflowed || !bh__temporary_take(&memory, &backend->memory, a.at))
        return fail_merge(total);
    a.at = (uint64_t)(uintptr_t)memory.memory;
    cut_collected(&a, table, total, &c);
    from.n = collect(t, first, keys, count, &c, total);
    from.keys = bh__pointer(c.keys);
    from.payloads = table->options.value_bytes ? bh__pointer(c.values) : 0;
    from.payload_bytes = table->options.value_bytes;
    from.indexed = 0;
    from.distinct = 1;
    from.values = 0;
    from.outcomes = 0;
    t->held = memory.bytes;
    status = bh__hf_build(t, &from, freed, &made, &block, &pairs);
    t->held = 0;
    bh__temporary_give(&memory, &backend->memory);
    if (status == BH_ERR_UNSUPPORTED)
        status = bh__fail(BH_ERR_FULL, "too many keys want the same part of the table");
    if (!status) {
        table->keys_moved += pairs - count;
        bh__hf_replace(t, first, &made, &block, pairs);
    }
    return status;
}

/* The first of the generations that are merged with `coming` new pairs. */
static uint64_t first_to_merge(const bh__hf_table *t, uint64_t coming)
{
    uint64_t first = bh__hf_large(t), total = coming + t->tail.tail;

    while (first && (t->built[first - 1] / BH_HF_MERGE_FACTOR <= total ||
                     first + 2 > BH_HF_GENERATIONS_MOST))
        total += t->built[--first];
    return first;
}

uint64_t bh__hf_make_places(bh__hf_table *t, const void *keys, uint64_t count, bh_status *why)
{
    uint64_t tried = count, slots = t->table.slots;

    while (tried) {
        uint64_t large = bh__hf_large(t), first = first_to_merge(t, tried);
        bh_status status;

        if (t->tail.tail - t->gone + tried <= BH_HF_BUFFER_MOST) {
            if (!t->builder->add_to_buffer(t, keys, tried)) {
                *why = fail_merge(tried);
                return 0;
            }
            publish_buffer(t, large);
            return tried;
        }
        status = merge(t, first, keys, tried);
        if (status && first < large && large + 2 <= BH_HF_GENERATIONS_MOST)
            status = merge(t, large, keys, tried);
        /* All in one take the least memory in the end: a budget may have room for that alone. */
        if (status == BH_ERR_FULL && first > 0)
            status = merge(t, 0, keys, tried);
        if (!status) {
            t->table.grows += t->table.slots > slots;
            return tried;
        }
        *why = status;
        /* Fewer, as there may be memory for them; in the end as many as still fit in the buffer. */
        tried =
            tried > BH_HF_BUFFER_MOST ? tried / 2 : BH_HF_BUFFER_MOST - (t->tail.tail - t->gone);
    }
    return 0;
}

void bh__hf_drop_all(bh__hf_table *t)
{
    uint64_t large = bh__hf_large(t), i;

    for (i = 0; i < large; i++)
        bh__hf_spare_block(t, &t->block[i], t->built[i],
                           bh__hf_slots(&t->table, &t->geometry.generation[i]));
    bh__hf_set_keys(t, 0);
    t->tail.tail = 0;
    t->gone = 0;
    publish_buffer(t, 0);
}

bh_status bh__hf_rebuild(bh__hf_table *t)
{
    if (!t->table.keys) {
        bh__hf_drop_all(t);
        bh__hf_drop_spare(t);
        bh__hf_publish(t);
        return BH_OK;
    }
    return merge(t, 0, 0, 0);
}
