/*
 * Each worker's table has the keys in the order in which they first came, with their values beside them, and an index of places with
 * linear probing. A key that does not find a free place soon is entered once more: then it comes twice in the worker's batch, which is
 * right, too. When a worker's table is full it stops. The call's thread runs the batches, which are short beside the call, one
 * after the other, as any others; and the workers go on with empty tables.
 */
#include "cpu/joined.h"

#include <string.h>

#include "base/atomic.h"
#include "cpu/census.h"
#include "cpu/scramble.h"
#include "storage/temporary.h"

/* bh_combine() is plain C on any target. */
#define BH_TARGET_SCALAR 1
#include "tables/effect.h"

/* A worker's table: places of the index, keys, and elements that are taken from the call at a time. A third of the places is taken at
 * most, so nearly all keys find one after a few probes. Index, keys and values lie in a core's own cache. Chosen, not tuned; but with
 * twice as many keys some were entered again and again, and with 30,000 keys joining took longer than it saved. */
#define PLACE_BITS 16u
#define KEYS_FULL (UINT64_C(1) << (PLACE_BITS - 2))
#define BLOCK UINT64_C(4096)
#define KEYS_MOST (KEYS_FULL + BLOCK)
#define PROBES 8u

/*
 * Whether it pays. Of a first, small sample some elements must repeat a key, as eight do where 16,384 keys come equally often: that
 * is all that most calls are asked. A second sample, a 16th of the call, must have three elements for each of its keys; and the
 * call 64 for each of these and worker, because the batches are run by fewer threads than join.
 */
#define SAMPLE_FIRST 512u
#define TWINS_LEAST 8u
#define SAMPLE_MOST (UINT64_C(1) << 15)
#define SAMPLE_PART 16u
#define OF_KEY_SAMPLED 3u
#define OF_KEY 64u

/* A worker has so many elements at least: to clear its index and to get its memory takes as long as some ten thousand. */
#define OF_WORKER (UINT64_C(1) << 16)

/* Joining is given up where more than one of so many elements brings a key that its worker has not had. */
#define OF_KEY_JOINED 4u

typedef struct part {
    uint16_t *index; /* the number of a key plus one; 0: free */
    unsigned char *keys;
    unsigned char *values;
    uint64_t count;
} part;

typedef struct call {
    const bh__batch *batch;
    const bh_table_options *options;
    part *parts;
    uint64_t next; /* first element that no worker has taken; may be beyond the last one */
} call;

int bh__joined_may(const bh_table *table, const bh__batch *batch)
{
    return !batch->ops && BH_OP_REDUCES(batch->op) && !BH_OP_ROUNDS(batch->op) &&
           !batch->outcomes && batch->n >= BH_JOINED_LEAST &&
           table->options.duplicates != BH_DUPLICATES_NONE;
}

/* About how many different keys `count` elements have that are spread over the call, at places that follow no pattern; `room` for so
 * many keys. `count` where there is no memory to count. */
static uint64_t sampled_keys(const bh__backend *backend, const bh_table *table,
                             const bh__batch *batch, uint64_t count, unsigned char *room)
{
    const uint32_t key_bytes = table->options.key_bytes;
    const uint64_t step = batch->n / count;
    uint64_t keys, i;
    bh__census census;

    for (i = 0; i < count; i++) {
        const uint64_t at = i * step + (bh__scramble(i + 1) >> 32) % step;

        memcpy(room + i * key_bytes, (const unsigned char *)batch->keys + at * key_bytes,
               key_bytes);
    }
    /* With marks for more elements the number is more exact: a few twins are to be seen. */
    if (!bh__census_begin(&census, &backend->system, key_bytes, 8 * count))
        return count;
    bh__census_array(&census, &backend->executor, room, count);
    keys = bh__census_keys(&census);
    bh__census_end(&census, &backend->system);
    return keys < count ? keys : count;
}

/* The first sample, on the stack: a function of its own, so that it does not lie there under what runs later. */
BH_FN_RARE int has_twins(const bh__backend *backend, const bh_table *table, const bh__batch *batch)
{
    uint64_t room[SAMPLE_FIRST];

    return sampled_keys(backend, table, batch, SAMPLE_FIRST, (unsigned char *)room) + TWINS_LEAST <=
           SAMPLE_FIRST;
}

/* The second one. `room` is a worker's memory. */
static int pays(const bh__backend *backend, const bh_table *table, const bh__batch *batch,
                uint64_t workers, unsigned char *room)
{
    const uint64_t wanted = batch->n / SAMPLE_PART;
    const uint64_t count = wanted < SAMPLE_MOST ? wanted : SAMPLE_MOST;
    const uint64_t keys = sampled_keys(backend, table, batch, count, room);

    return OF_KEY_SAMPLED * keys <= count && OF_KEY * keys <= batch->n / workers;
}

/* Stores a key or a value of 4 or 8 bytes. */
static inline void set_word(unsigned char *array, uint32_t bytes, uint64_t i, uint64_t word)
{
    if (bytes == 4)
        ((uint32_t *)(void *)array)[i] = (uint32_t)word;
    else
        ((uint64_t *)(void *)array)[i] = word;
}

/* Joins the elements [first, end) of a batch; all but the first four are constants. */
static inline void join_range(part *p, const bh__batch *batch, uint64_t first, uint64_t end,
                              uint32_t key_bytes, uint32_t value_bytes, uint32_t joins)
{
    uint64_t count = p->count, i;

    for (i = first; i < end; i++) {
        const uint64_t key = bh__key_at(batch->keys, key_bytes, i);
        const uint64_t value = bh_value_at(batch->values, value_bytes, i);
        uint64_t place = bh__scramble(key) >> (64 - PLACE_BITS);
        uint32_t probes = 0, number;

        while ((number = p->index[place]) != 0 &&
               bh__key_at(p->keys, key_bytes, number - 1u) != key && ++probes < PROBES)
            place = (place + 1) & ((1u << PLACE_BITS) - 1);
        if (number && probes < PROBES) {
            set_word(p->values, value_bytes, number - 1u,
                     bh_combine(joins, value_bytes,
                                bh_value_at(p->values, value_bytes, number - 1u), value));
            continue;
        }
        set_word(p->keys, key_bytes, count, key);
        set_word(p->values, value_bytes, count, value);
        count++;
        if (!number)
            p->index[place] = (uint16_t)count;
    }
    p->count = count;
}

static void join_block(part *p, const bh__batch *batch, uint64_t first, uint64_t end,
                       const bh_table_options *o)
{
    const uint32_t joins = BH_OP_JOINS(batch->op);

    if (joins != BH_ADD)
        join_range(p, batch, first, end, o->key_bytes, o->value_bytes, joins);
    else if (o->key_bytes == 4 && o->value_bytes == 4)
        join_range(p, batch, first, end, 4, 4, BH_ADD);
    else if (o->key_bytes == 4)
        join_range(p, batch, first, end, 4, 8, BH_ADD);
    else if (o->value_bytes == 4)
        join_range(p, batch, first, end, 8, 4, BH_ADD);
    else
        join_range(p, batch, first, end, 8, 8, BH_ADD);
}

/* A task: one worker takes blocks of the call until its table is full, or none is left. */
static void work(void *argument, uint64_t index)
{
    call *c = argument;
    part *p = &c->parts[index];

    p->count = 0;
    while (p->count <= KEYS_FULL) {
        const uint64_t first = bh__atomic_add(&c->next, BLOCK, __ATOMIC_RELAXED);
        const uint64_t n = c->batch->n;

        if (first >= n)
            return;
        if (!p->count)
            memset(p->index, 0, sizeof *p->index << PLACE_BITS);
        join_block(p, c->batch, first, n - first < BLOCK ? n : first + BLOCK, c->options);
    }
}

/* Bytes of a worker's table, in whole lines. */
static uint64_t table_bytes(const bh_table_options *o)
{
    return (sizeof(uint16_t) << PLACE_BITS) + KEYS_MOST * (o->key_bytes + o->value_bytes);
}

/* Runs what the workers have joined, and answers how many elements these batches had. */
static uint64_t run_batches(const bh__backend *backend, bh_table *table, const call *c,
                            uint64_t workers, bh__growth *growth, bh_status *status)
{
    uint64_t elements = 0, i;

    for (i = 0; i < workers; i++) {
        const part *p = &c->parts[i];
        bh__batch batch = *c->batch;
        bh_status answer;

        if (!p->count)
            continue;
        batch.keys = p->keys;
        batch.values = p->values;
        batch.n = p->count;
        answer = bh__cpu_run(backend, table, &batch, 0, growth);
        *status = *status ? *status : answer;
        elements += p->count;
    }
    return elements;
}

uint64_t bh__joined_run(const bh__backend *backend, bh_table *table, const bh__batch *batch,
                        uint64_t workers_most, bh__growth *growth, bh_status *status)
{
    const uint64_t bytes = table_bytes(&table->options), shares = batch->n / OF_WORKER;
    const uint64_t workers = workers_most < shares ? workers_most : shares;
    uint64_t done = 0, i;
    bh__temporary memory;
    call c = {batch, &table->options, NULL, 0};

    if (!has_twins(backend, table, batch) ||
        !bh__temporary_take(&memory, &backend->host, workers * (bytes + sizeof(part))))
        return 0;
    if (!pays(backend, table, batch, workers, memory.memory)) {
        bh__temporary_give(&memory, &backend->host);
        return 0;
    }
    c.parts = (part *)(void *)(memory.memory + workers * bytes);
    for (i = 0; i < workers; i++) {
        part *p = &c.parts[i];

        p->index = (uint16_t *)(void *)(memory.memory + i * bytes);
        p->keys = (unsigned char *)(p->index + (1u << PLACE_BITS));
        p->values = p->keys + KEYS_MOST * table->options.key_bytes;
    }
    for (;;) {
        const uint64_t first = done;
        uint64_t elements;

        if (workers > 1)
            backend->executor.run(backend->executor.state, work, &c, workers);
        else
            work(&c, 0);
        done = c.next < batch->n ? c.next : batch->n;
        elements = run_batches(backend, table, &c, workers, growth, status);
        if (done == batch->n || elements > (done - first) / OF_KEY_JOINED)
            break;
    }
    bh__temporary_give(&memory, &backend->host);
    return done;
}
