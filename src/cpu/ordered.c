/*
 * A large call on a table with BH_DUPLICATES_ORDERED, by many threads.
 *
 * The order of elements shows only where their keys are equal, so only such elements are
 * kept in order. A call is cut into chunks, which run one after the other. A chunk's
 * elements are partitioned by their keys' hash, stably, so that all of one key lie in one
 * small part; within each part they are joined to segments, each of which is done as one
 * effective operation (see ordered_loops.h). Wave n has each key's segment n, from 0 on.
 * The segments of a wave have different keys, so they are an ordinary batch:
 *
 *     chunk     7 insert  9 add  7 insert  8 find  7 erase  9 add
 *     wave 0    [7 insert the last]  [9 add the sum]  [8 find]
 *     wave 1    [7 erase]
 *
 * With one operation for all elements there is one wave. With mixed operations each wave is
 * at most as large as the one before; when few keys are left, all segments left run as one
 * batch in which each key's segments stand in their order and take effect one after the
 * other: so the cost stays linear in the elements, also where one key comes a million times.
 *
 * An effective operation happens at one instant, and other threads may change its key
 * between two of ours: nothing is concluded from one segment about the next.
 *
 * Sorting the chunk by key would bring equal keys together as well; it takes twice as long.
 *
 * Without memory for all this a chunk runs as one batch in the order given.
 */
#include "cpu/ordered.h"

#include "base/run.h"
#include "cpu/backend.h"
#include "storage/temporary.h"

/* The loops are plain C on any target. */
#define BH_TARGET_SCALAR 1
#define BH_INSTANCE_FILE "cpu/ordered_loops.h"
#include "tables/instances.h"

/* The arrays of a chunk lie one behind the other, each from a new line on. */
#define LINE 64

/* Parts whose rows are one task. */
#define PARTS_GRAIN (BH_ORDERED_GRAIN / BH_ORDERED_PART)

typedef struct ordered {
    const bh__backend *backend;
    bh_table *table;
    const bh__chunk_loops *loops;
    bh__growth growth;
    bh_status status;
    bh_seed seed;
    bh__temporary temporary; /* where all arrays lie */
    uint32_t payload_bytes;
    void *row_payloads;
    /* Of each part: how many rows it has, and where they go. */
    uint64_t *counts;
    uint64_t *keys_at;
    uint64_t *payloads_at;
    bh__chunk chunk;
} ordered;

static const bh__chunk_loops *loops_of(const bh_table_options *options)
{
    static const bh__chunk_loops *const loops[2][3] = {
        {&bh_chunk_loops_k4v0_0, &bh_chunk_loops_k4v4_0, &bh_chunk_loops_k4v8_0},
        {&bh_chunk_loops_k8v0_0, &bh_chunk_loops_k8v4_0, &bh_chunk_loops_k8v8_0},
    };

    return loops[options->key_bytes / 8][options->value_bytes / 4];
}

/* Sets aside `bytes` behind what has been laid out; answers where they begin. */
static uint64_t lay(uint64_t *laid, uint64_t bytes)
{
    uint64_t at = *laid;

    *laid += (bytes + LINE - 1) / LINE * LINE;
    return at;
}

static uint64_t parts_of(uint64_t rows)
{
    return (rows - 1) / BH_ORDERED_PART + 1;
}

/* Takes memory for chunks of `rows` rows; answers 0 when there is none. */
static int take_memory(ordered *o, const bh__batch *batch, uint64_t rows)
{
    const uint64_t key_bytes = o->table->options.key_bytes;
    const uint64_t given_bytes = batch->values ? o->table->options.value_bytes : 0;
    /* Elements that are counted bring no values, but their segments have some: the counts. */
    const uint64_t value_bytes =
        bh__counts_keys(batch) ? o->table->options.value_bytes : given_bytes;
    const int mixed = batch->ops != NULL;
    const int answers = mixed || batch->outcomes || batch->values_out;
    const uint64_t if_mixed = mixed ? rows : 0, if_answers = answers ? rows : 0;
    const uint64_t payload_bytes = answers ? sizeof *o->chunk.row_index : given_bytes;
    const uint64_t parts = parts_of(rows);
    uint64_t laid = 0;
    const uint64_t row_keys = lay(&laid, rows * key_bytes);
    const uint64_t row_payloads = lay(&laid, rows * payload_bytes);
    const uint64_t row_segment = lay(&laid, if_answers * sizeof *o->chunk.row_segment);
    const uint64_t keys = lay(&laid, rows * key_bytes);
    const uint64_t values = lay(&laid, rows * value_bytes);
    const uint64_t outcomes = lay(&laid, if_answers);
    const uint64_t ops = lay(&laid, if_mixed);
    const uint64_t next = lay(&laid, if_mixed * sizeof *o->chunk.next);
    const uint64_t names = lay(&laid, rows * sizeof *o->chunk.names);
    const uint64_t names_next = lay(&laid, if_mixed * sizeof *o->chunk.names_next);
    const uint64_t wave_values = lay(&laid, rows * value_bytes);
    const uint64_t wave_ops = lay(&laid, if_mixed);
    const uint64_t wave_outcomes = lay(&laid, if_answers);
    const uint64_t counts = lay(&laid, parts * sizeof *o->counts);
    const uint64_t keys_at = lay(&laid, parts * sizeof *o->keys_at);
    const uint64_t payloads_at = lay(&laid, parts * sizeof *o->payloads_at);
    const uint64_t part_first = lay(&laid, (parts + 1) * sizeof *o->chunk.part_first);
    bh__chunk *c = &o->chunk;
    unsigned char *memory;

    if (!bh__temporary_take(&o->temporary, &o->backend->host, laid))
        return 0;
    memory = o->temporary.memory;
    o->payload_bytes = (uint32_t)payload_bytes;
    o->row_payloads = payload_bytes ? memory + row_payloads : NULL;
    o->counts = (uint64_t *)(void *)(memory + counts);
    o->keys_at = (uint64_t *)(void *)(memory + keys_at);
    o->payloads_at = (uint64_t *)(void *)(memory + payloads_at);
    c->part_first = (uint64_t *)(void *)(memory + part_first);
    c->row_keys = memory + row_keys;
    c->row_index = answers ? (uint32_t *)o->row_payloads : NULL;
    c->row_values = answers ? NULL : o->row_payloads;
    c->row_segment = answers ? (uint32_t *)(void *)(memory + row_segment) : NULL;
    c->keys = memory + keys;
    c->values = value_bytes ? memory + values : NULL;
    c->outcomes = answers ? memory + outcomes : NULL;
    c->ops = mixed ? memory + ops : NULL;
    c->next = mixed ? (uint32_t *)(void *)(memory + next) : NULL;
    c->names = (uint32_t *)(void *)(memory + names);
    c->names_next = mixed ? (uint32_t *)(void *)(memory + names_next) : NULL;
    c->wave_keys = c->row_keys;
    c->wave_values = value_bytes ? memory + wave_values : NULL;
    c->wave_ops = mixed ? memory + wave_ops : NULL;
    c->wave_outcomes = answers ? memory + wave_outcomes : NULL;
    return 1;
}

static void pass(ordered *o, bh__range loop, uint64_t items, uint64_t grain)
{
    bh__run(&o->backend->executor, loop, &o->chunk, items, grain);
}

static bh_status run(ordered *o, const bh__batch *batch, int in_order)
{
    return bh__cpu_run(o->backend, o->table, batch, in_order, &o->growth);
}

static void note(ordered *o, bh_status status)
{
    if (!o->status)
        o->status = status;
}

/* --- waves ------------------------------------------------------------------------------------ */

/* Runs the segments that `names` lists, as one batch. */
static bh_status run_named(ordered *o, int in_order)
{
    bh__chunk *c = &o->chunk;
    bh__batch batch = c->batch;
    bh_status status;

    pass(o, o->loops->gather, c->named, BH_ORDERED_GRAIN);
    batch.keys = c->wave_keys;
    batch.values = c->wave_values;
    batch.values_out = c->batch.values_out ? c->wave_values : NULL;
    batch.ops = c->wave_ops;
    batch.outcomes = c->wave_outcomes;
    batch.n = c->named;
    status = run(o, &batch, in_order);
    if (c->outcomes)
        pass(o, o->loops->settle, c->named, BH_ORDERED_GRAIN);
    return status;
}

static void use_next_names(bh__chunk *c, uint64_t named)
{
    uint32_t *names = c->names;

    c->names = c->names_next;
    c->names_next = names;
    c->named = named;
}

/*
 * A wave that found no room for some keys may have erased others: segments that were not done are tried
 * once more. So a call that erases as many keys as it inserts needs no more room than its elements would
 * one by one.
 */
static bh_status run_wave(ordered *o)
{
    bh__chunk *c = &o->chunk;
    bh_status status = run_named(o, 0);
    const uint64_t named = c->named;
    uint64_t erased = 0, undone = 0, i;

    if (!status || !c->ops)
        return status;
    for (i = 0; i < named; i++) {
        erased += c->wave_outcomes[i] == BH_ERASED;
        if (c->wave_outcomes[i] == BH_NOT_DONE)
            c->names_next[undone++] = c->names[i];
    }
    if (erased) {
        use_next_names(c, undone);
        status = run_named(o, 0);
        use_next_names(c, named);
    }
    return status;
}

/* Replaces each segment in `names` by the next one of its key; keys without one drop out. */
static void follow(bh__chunk *c)
{
    uint64_t following = 0, i;

    for (i = 0; i < c->named; i++) {
        uint32_t next = c->next[c->names[i]];

        c->names_next[following] = next;
        following += next != 0;
    }
    use_next_names(c, following);
}

/* Puts behind each segment in `names` all that follow for its key. */
static void follow_to_the_end(bh__chunk *c)
{
    uint64_t following = 0, i;
    uint32_t segment;

    for (i = 0; i < c->named; i++) {
        segment = c->names[i];
        do {
            c->names_next[following++] = segment;
            segment = c->next[segment];
        } while (segment);
    }
    use_next_names(c, following);
}

/* Runs all segments; `names` lists the first one of each key. */
static void run_waves(ordered *o)
{
    bh__chunk *c = &o->chunk;

    if (!c->ops) {
        note(o, run_wave(o));
        return;
    }
    while (c->named >= BH_ORDERED_WAVE) {
        note(o, run_wave(o));
        follow(c);
    }
    if (c->named) {
        follow_to_the_end(c);
        note(o, run_named(o, 1));
    }
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Partitions the chunk's elements into rows; answers 0 when there is no memory for that. */
static int make_rows(ordered *o)
{
    const bh__primitives *primitives = o->backend->primitives;
    const bh__where where = {&o->backend->system, &o->backend->executor, NULL};
    bh__chunk *c = &o->chunk;
    bh__partition p;
    uint64_t part;

    c->parts = parts_of(c->batch.n);
    p.how.parts = (uint32_t)c->parts;
    p.how.shift = 0;
    p.how.seed = &o->seed;
    p.how.numbers = NULL;
    p.key_bytes = o->table->options.key_bytes;
    p.payload_bytes = o->payload_bytes;
    p.keys = c->batch.keys;
    p.payloads = c->row_index ? NULL : c->batch.values;
    p.n = c->batch.n;
    p.counts = o->counts;
    if (!primitives->partition_count(&where, &p))
        return 0;
    c->part_first[0] = 0;
    for (part = 0; part < c->parts; part++) {
        const uint64_t first = c->part_first[part];

        o->keys_at[part] = (uint64_t)(uintptr_t)c->row_keys + first * p.key_bytes;
        o->payloads_at[part] = (uint64_t)(uintptr_t)o->row_payloads + first * p.payload_bytes;
        c->part_first[part + 1] = first + o->counts[part];
    }
    p.keys_at = o->keys_at;
    p.payloads_at = p.payload_bytes ? o->payloads_at : NULL;
    (void)primitives->partition_scatter(&where, &p);
    primitives->partition_end(&where, &p);
    return 1;
}

/* Runs the chunk by segments; answers 0, nothing done, where that is not possible. */
static int run_chunk(ordered *o)
{
    bh__chunk *c = &o->chunk;

    if (!make_rows(o))
        return 0;
    c->named = 0;
    c->crowded = 0;
    pass(o, o->loops->group, c->parts, PARTS_GRAIN);
    if (c->crowded)
        return 0;
    if (!c->ops && c->named == c->batch.n) {
        /* No key comes twice, and no element makes room for another. */
        note(o, run(o, &c->batch, 0));
        return 1;
    }
    run_waves(o);
    if (c->batch.outcomes || c->batch.values_out)
        pass(o, o->loops->expand, c->parts, PARTS_GRAIN);
    return 1;
}

bh_status bh__cpu_ordered(const bh__backend *backend, bh_table *table, const bh__batch *batch)
{
    const bh_table_options *options = &table->options;
    uint64_t most = batch->n < BH_ORDERED_CHUNK ? batch->n : BH_ORDERED_CHUNK, first;
    ordered o;
    int grouped;

    o.backend = backend;
    o.table = table;
    o.loops = loops_of(options);
    o.growth.may_grow = 1;
    o.growth.why = BH_ERR_FULL;
    o.status = BH_OK;
    o.seed = bh__ordered_seed(options->seed, &o.chunk.multiplier);
    grouped = take_memory(&o, batch, most);
    for (first = 0; first < batch->n; first += most) {
        uint64_t left = batch->n - first;

        o.chunk.batch = bh__batch_part(table, batch, first, left < most ? left : most);
        if (!grouped || !run_chunk(&o))
            note(&o, run(&o, &o.chunk.batch, 1));
    }
    if (grouped)
        bh__temporary_give(&o.temporary, &backend->host);
    return o.status;
}
