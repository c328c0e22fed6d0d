/*
 * HashFight: what a call that changes something goes through (bh__hf_modify).
 *
 * An insert into an empty table becomes one generation of its elements as they are. Every other call is
 * cut into chunks, and each chunk performed in three steps:
 *
 *     sort     by key, stably; equal keys are a run                       other calls may go on
 *     places   find where the keys of all runs are; absent keys that      with the gate held alone
 *              are to be inserted get a place
 *     fold     perform each run where its key is, in the caller's order   with the gate held alone
 *
 * Sorting and places may fail for want of memory, and what fails there has changed nothing; the fold
 * needs no memory and cannot fail. A call of few elements is sorted on the stack, and so is a large one,
 * piece by piece, where the system gives no memory: what is in the table can be changed even then.
 */
#include "tables/hashfight/policy.h"

#include "tables/counts.h"

/* Elements of a call that are sorted and performed at once, at most; SMALL_CHUNK where memory is short. */
#ifndef BH_HF_CHUNK_MOST
#define BH_HF_CHUNK_MOST (1u << 22)
#endif

/* The same on a device: 37 bytes of its memory for each element of 4-byte keys. Chosen, not tuned. */
#ifndef BH_HF_CHUNK_FAR
#define BH_HF_CHUNK_FAR (1u << 26)
#endif

/* Elements of a small call, which is sorted on the stack: with the stack that sorting takes (as much again)
 * that must stay well below the 64 KiB that a call may have. */
#define SMALL_CHUNK 512
#define SMALL_CHUNK_BYTES (SMALL_CHUNK * (3 * 8 + 2 * 4 + 2 * 8 + 1) + 9 * 64)

/* Temporary memory for a chunk of a call. */
typedef struct chunk {
    uint64_t keys;  /* sorted */
    uint64_t spare; /* then: keys that get a place */
    uint64_t index; /* of each sorted element */
    uint64_t index_spare;
    uint64_t unique; /* the key of each run */
    uint64_t starts;
    uint64_t places;
    uint64_t wanted;
} chunk;

static uint64_t cut_chunk(bh__arena *a, const bh_table *table, uint64_t n, chunk *c)
{
    uint64_t key_bytes = table->options.key_bytes, from = a->at;

    c->keys = bh__cut(a, n, key_bytes);
    c->spare = bh__cut(a, n, key_bytes);
    c->index = bh__cut(a, n, 4);
    c->index_spare = bh__cut(a, n, 4);
    c->unique = bh__cut(a, n, key_bytes);
    c->starts = bh__cut(a, n, 8);
    c->places = bh__cut(a, n, 8);
    c->wanted = bh__cut(a, n, 1);
    return a->at - from;
}

/* Finds where the keys of all runs are. */
static void locate(const bh_table *table, const chunk *c, uint64_t runs)
{
    bh_hf_locate job;

    job.geometry = &((const bh__hf_table *)table)->geometry;
    job.system = &table->backend->system;
    job.keys = bh__pointer(c->unique);
    job.places = (uint64_t *)bh__pointer(c->places);
    job.hints = bh__hints_of(table);
    bh__hf_pass(table, BH_HF_PASS_LOCATE, &job, runs, BH_SLICE_MOST);
}

/* Makes places for the new keys of the chunk, as far as there are any. Answers for how many. */
static uint64_t place_new(bh__hf_table *t, const chunk *c, uint64_t runs, bh_status *why)
{
    const bh__primitives *p = t->table.backend->primitives;
    bh__where where = bh__hf_where(&t->table);
    uint64_t count;

    if (!p->compact(&where, (const uint8_t *)bh__pointer(c->wanted), bh__pointer(c->unique),
                    t->table.options.key_bytes, runs, bh__pointer(c->spare), &count)) {
        *why = bh__fail(BH_ERR_MEMORY, "the system gave no temporary memory");
        return 0;
    }
    return bh__hf_make_places(t, bh__pointer(c->spare), count, why);
}

/* Performs a chunk: sorted, cut into runs, with the gate held alone. */
static bh_status perform_runs(bh__hf_table *t, const bh__batch *batch, const chunk *c,
                              uint64_t runs)
{
    bh_table *table = &t->table;
    bh_status why = BH_OK;
    bh_hf_runs job;
    int inserts = bh__takes_room(batch);

    job.geometry = &t->geometry;
    job.runs.index = (const uint32_t *)bh__pointer(c->index);
    job.runs.ops = batch->ops;
    job.runs.op = (uint32_t)batch->op;
    job.runs.value_bytes = table->options.value_bytes;
    job.runs.values = batch->values;
    job.runs.values_out = batch->values_out;
    job.runs.outcomes = batch->outcomes;
    job.runs.starts = (const uint64_t *)bh__pointer(c->starts);
    job.runs.count = runs;
    job.runs.elements = batch->n;
    job.joins = !batch->ops &&
                !(BH_OP_ROUNDS(batch->op) && table->options.duplicates == BH_DUPLICATES_ORDERED);
    job.places = (const uint64_t *)bh__pointer(c->places);
    job.wanted = inserts ? (uint8_t *)bh__pointer(c->wanted) : 0;
    job.wanting = job.inserted = job.erased = job.assigned = job.refused = job.gone = 0;
    locate(table, c, runs);
    if (inserts) {
        bh__hf_pass(table, BH_HF_PASS_WANT, &job, runs, BH_HF_PASS_RUNS);
        /* Making places moves other pairs too. */
        if (job.wanting && place_new(t, c, runs, &why))
            locate(table, c, runs);
    }
    bh__hf_pass(table, BH_HF_PASS_FOLD, &job, runs, BH_HF_PASS_RUNS);
    bh__hf_set_keys(t, table->keys + job.inserted - job.erased);
    table->changes += job.inserted || job.erased || job.assigned;
    t->gone += job.gone;
    bh__hf_publish(t);
    if (table->keys < table->min_keys) {
        if (!bh__hf_rebuild(t)) {
            table->shrinks++;
            /* What reserve asked for stays, as far as there is memory. */
            if (table->floor_keys > table->max_keys)
                (void)bh__hf_make_spare(t, table->floor_keys);
        } else {
            /* Not again before there are a quarter fewer keys. */
            t->shrink_below = table->keys - table->keys / 4;
            bh__hf_publish(t);
        }
    }
    return job.refused ? why : BH_OK;
}

/* Sorts a chunk and performs it. Answers 0, nothing done, when there is no memory for the sorting. */
static int run_chunk(bh__hf_table *t, const bh__batch *batch, const chunk *c, bh_status *status)
{
    bh_table *table = &t->table;
    const bh__primitives *p = table->backend->primitives;
    bh__where where = bh__hf_where(table);
    uint64_t runs, since;
    bh_status why;
    bh__sort sort;

    sort.key_bytes = table->options.key_bytes;
    sort.key_bits = 0;
    sort.payload_bytes = 4;
    sort.keys = batch->keys;
    sort.payloads = 0;
    sort.n = batch->n;
    sort.keys_out = bh__pointer(c->keys);
    sort.payloads_out = bh__pointer(c->index);
    sort.keys_spare = bh__pointer(c->spare);
    sort.payloads_spare = bh__pointer(c->index_spare);
    if (!p->sort_by_key(&where, &sort) ||
        !p->reduce_by_key(&where, BH_INSERT, bh__pointer(c->keys), sort.key_bytes, 0, 0, batch->n,
                          bh__pointer(c->unique), 0, (uint64_t *)bh__pointer(c->starts), &runs))
        return 0;
    since = bh__enter_alone(table);
    why = perform_runs(t, batch, c, runs);
    bh__leave_alone(table, since);
    if (why && !*status)
        *status = why;
    return 1;
}

/* Marks elements as not done. On a device the backend has marked them so beforehand. */
static void refuse(const bh_table *table, const bh__batch *part)
{
    uint64_t i;

    for (i = 0; !bh__on_device(table->backend) && part->outcomes && i < part->n; i++)
        part->outcomes[i] = BH_NOT_DONE;
}

/*
 * An insert into a table in which nothing is: its elements fight as they are. Answers 0 when that
 * was not possible and nothing was done: the table is not empty, there is no memory, or so many
 * keys are equal that they do not spread. On a device it is possible only if no two keys are equal: then
 * all are INSERTED.
 */
static int insert_into_empty(bh__hf_table *t, const bh__batch *batch)
{
    bh_table *table = &t->table;
    bh_hf_generation made;
    bh__block block;
    uint64_t since, pairs = 0, freed = 0, i;
    int inserted = 0;
    bh__hf_list from;

    from.keys = batch->keys;
    from.n = batch->n;
    from.outcomes = batch->outcomes;
    from.values = batch->values;
    from.indexed = batch->outcomes && !t->builder->tell;
    from.distinct = 0;
    from.payload_bytes = !from.indexed ? table->options.value_bytes : batch->n > UINT32_MAX ? 8 : 4;
    from.payloads = from.indexed ? 0 : batch->values;
    since = bh__enter_alone(table);
    for (i = 0; i < bh__hf_large(t); i++)
        freed += t->block[i].committed;
    if (!table->keys && !bh__hf_build(t, &from, freed, &made, &block, &pairs)) {
        bh__hf_replace(t, 0, &made, &block, pairs);
        bh__hf_set_keys(t, pairs);
        bh__hf_publish(t);
        if (t->builder->tell && batch->outcomes)
            t->builder->tell(table, batch->outcomes, batch->n);
        /* Room was made for all elements; if many were equal it is far too much. */
        if ((double)pairs * bh__hf_natural_fill(table) < table->options.min_fill * (double)batch->n)
            (void)bh__hf_rebuild(t);
        inserted = 1;
    }
    bh__leave_alone(table, since);
    return inserted;
}

/* Performs a call in chunks of `room` elements, with `memory` for one chunk. Where the system gives no memory
 * to sort them, the rest is performed in chunks of SMALL_CHUNK in the memory at `small`. */
static bh_status run_chunks(bh__hf_table *t, const bh__batch *batch, uint64_t room,
                            bh__arena *memory, uint64_t small)
{
    bh_table *table = &t->table;
    bh_status status = BH_OK;
    uint64_t first, n;
    chunk c;

    cut_chunk(memory, table, room, &c);
    for (first = 0; first < batch->n; first += n) {
        bh__batch part;

        n = batch->n - first < room ? batch->n - first : room;
        part = bh__batch_part(table, batch, first, n);
        if (!run_chunk(t, &part, &c, &status)) {
            bh_status why;

            if (small && room > SMALL_CHUNK) {
                /* A small chunk is sorted without asking the system for anything. */
                room = SMALL_CHUNK;
                memory->at = small;
                cut_chunk(memory, table, room, &c);
                n = 0;
                continue;
            }
            why = bh__fail(BH_ERR_MEMORY, "the system gave no temporary memory");
            status = status ? status : why;
            refuse(table, &part);
        }
    }
    return status;
}

/* In a device's memory chunks are larger, and none can be on the stack. */
static bh_status modify_far(bh__hf_table *t, const bh__batch *batch)
{
    const bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t room = batch->n < BH_HF_CHUNK_FAR ? batch->n : BH_HF_CHUNK_FAR;
    bh__temporary memory;
    bh_status status;
    bh__arena a = {0, 0};
    chunk c;

    while (!bh__temporary_take(&memory, &backend->memory, cut_chunk(&a, table, room, &c))) {
        if (room <= SMALL_CHUNK)
            return bh__fail(BH_ERR_MEMORY, "the GPU gave no temporary memory for %llu elements",
                            (unsigned long long)room);
        room /= 4;
        a.at = 0;
    }
    a.at = (uint64_t)(uintptr_t)memory.memory;
    status = run_chunks(t, batch, room, &a, 0);
    bh__temporary_give(&memory, &backend->memory);
    return status;
}

static bh_status modify_near(bh__hf_table *t, const bh__batch *batch)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    uint64_t small[SMALL_CHUNK_BYTES / 8], on_stack = ((uint64_t)(uintptr_t)small + 63) / 64 * 64;
    uint64_t room = batch->n < BH_HF_CHUNK_MOST ? batch->n : BH_HF_CHUNK_MOST;
    bh__temporary memory;
    bh_status status;
    bh__arena a = {0, 0};
    int taken;
    chunk c;

    taken = room > SMALL_CHUNK &&
            bh__temporary_take(&memory, &backend->host, cut_chunk(&a, table, room, &c));
    /* On the stack: a small call, or no memory for larger chunks. */
    a.at = taken ? (uint64_t)(uintptr_t)memory.memory : on_stack;
    if (!taken && room > SMALL_CHUNK)
        room = SMALL_CHUNK;
    status = run_chunks(t, batch, room, &a, on_stack);
    if (taken)
        bh__temporary_give(&memory, &backend->host);
    return status;
}

bh_status bh__hf_modify(bh_table *table, const bh__batch *batch)
{
    bh__hf_table *t = bh__hf_of(table);

    if (batch->op == BH_INSERT && !batch->ops && batch->n > BH_HF_BUFFER_MOST &&
        !bh__atomic_load(&table->keys, __ATOMIC_RELAXED) && insert_into_empty(t, batch))
        return BH_OK;
    return bh__on_device(table->backend) ? modify_far(t, batch) : modify_near(t, batch);
}
