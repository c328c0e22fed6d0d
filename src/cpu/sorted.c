/* Sorting a chunk of elements, and giving its results back; see sorted.h. */
#include "cpu/sorted.h"

#include "primitives/primitives.h"
#include "storage/arena.h"

/* Parts that a chunk is sorted into, if not told otherwise: so many that partition can keep a line of each in
 * the cache. */
#define PARTS 2048u

/* How many results ahead the place of a result is prefetched. */
#define AHEAD 32

/* Where the parts of a chunk's memory begin. */
typedef struct chunk_memory {
    uint64_t *counts;
    uint64_t *keys_at;
    uint64_t *index_at;
    uint32_t *places;
    uint32_t *index; /* of each sorted element, in the chunk */
    unsigned char *keys;
    unsigned char *values;
    uint8_t *ops;
    uint8_t *outcomes;
} chunk_memory;

static uint32_t parts_of(const bh_table *table)
{
    const uint32_t wanted = table->experimental.regions ? table->experimental.regions : PARTS;

    return wanted < BH__PARTS_MOST ? wanted : BH__PARTS_MOST;
}

uint64_t bh__sorted_bytes(const bh_table *table, uint64_t n)
{
    const bh_table_options *o = &table->options;

    return 3 * bh__lines_up(8 * parts_of(table)) + 2 * bh__lines_up(n * 4) +
           bh__lines_up(n * o->key_bytes) + bh__lines_up(n * o->value_bytes) + 2 * bh__lines_up(n);
}

static chunk_memory cut_memory(const bh__sorted *sorted, const bh_table *table)
{
    const bh_table_options *o = &table->options;
    const uint64_t n = sorted->own.n, parts = parts_of(table);
    unsigned char *at = sorted->memory;
    chunk_memory m;

    m.counts = (uint64_t *)(void *)at;
    m.keys_at = m.counts + parts;
    m.index_at = m.keys_at + parts;
    m.places = (uint32_t *)(void *)(at + 3 * bh__lines_up(8 * parts));
    m.index = (uint32_t *)(void *)((unsigned char *)m.places + bh__lines_up(n * 4));
    m.keys = (unsigned char *)m.index + bh__lines_up(n * 4);
    m.values = m.keys + bh__lines_up(n * o->key_bytes);
    m.ops = m.values + bh__lines_up(n * o->value_bytes);
    m.outcomes = m.ops + bh__lines_up(n);
    return m;
}

static void run_here(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                     uint64_t count)
{
    uint64_t i;

    (void)state;
    for (i = 0; i < count; i++)
        task(argument, i);
}

static uint32_t width_here(void *state)
{
    (void)state;
    return 1;
}

/* Asks the design where the keys' places are; answers 0 while another thread has the table alone. */
static int find_places(bh_table *table, const bh__batch *own, uint32_t *places)
{
    bh__places job = {NULL, own->keys, places, 0};
    bh__presence *presence;

    if (!bh__gate_try_shared(&table->gate, &presence))
        return 0;
    job.geometry = table->policy->geometry(table);
    while (1u << job.bits < parts_of(table))
        job.bits++;
    table->kernels->pass[table->policy->places](&job, 0, own->n);
    bh__gate_leave_shared(&table->gate, presence);
    return 1;
}

/* Copies an array's elements in the order that the index says. */
static void gather(void *to, const void *from, const uint32_t *index, uint64_t n, uint32_t bytes)
{
    uint64_t i;

    switch (bytes) {
    case 1:
        for (i = 0; i < n; i++)
            ((uint8_t *)to)[i] = ((const uint8_t *)from)[index[i]];
        break;
    case 4:
        for (i = 0; i < n; i++)
            ((uint32_t *)to)[i] = ((const uint32_t *)from)[index[i]];
        break;
    case 8:
        for (i = 0; i < n; i++)
            ((uint64_t *)to)[i] = ((const uint64_t *)from)[index[i]];
        break;
    default: break;
    }
}

void bh__sorted_take(bh__sorted *sorted, const bh__backend *backend, bh_table *table,
                     const bh__batch *whole, uint64_t first, uint64_t n)
{
    const bh_table_options *o = &table->options;
    const bh_executor here = {NULL, width_here, run_here};
    const bh__primitives *p = backend->primitives;
    bh__where where = {&backend->system, &here, NULL};
    const bh__batch *own = &sorted->own;
    bh__partition part;
    uint64_t sum = 0;
    chunk_memory m;
    uint32_t i;

    sorted->next = 0;
    sorted->own = bh__batch_part(table, whole, first, n);
    sorted->batch = sorted->own;
    m = cut_memory(sorted, table);
    if (!find_places(table, own, m.places))
        return;
    part.how.parts = parts_of(table);
    part.how.shift = 0;
    part.how.seed = NULL;
    part.how.numbers = m.places;
    part.key_bytes = o->key_bytes;
    part.payload_bytes = 4;
    part.keys = own->keys;
    part.payloads = NULL;
    part.n = n;
    part.counts = m.counts;
    part.keys_at = m.keys_at;
    part.payloads_at = m.index_at;
    if (!p->partition_count(&where, &part))
        return;
    for (i = 0; i < part.how.parts; i++) {
        m.keys_at[i] = (uint64_t)(uintptr_t)(m.keys + sum * o->key_bytes);
        m.index_at[i] = (uint64_t)(uintptr_t)(m.index + sum);
        sum += m.counts[i];
    }
    (void)p->partition_scatter(&where, &part);
    p->partition_end(&where, &part);

    sorted->batch.keys = m.keys;
    if (own->ops) {
        gather(m.ops, own->ops, m.index, n, 1);
        sorted->batch.ops = m.ops;
    }
    if (own->values) {
        gather(m.values, own->values, m.index, n, o->value_bytes);
        sorted->batch.values = m.values;
    }
    if (own->values_out)
        sorted->batch.values_out = m.values;
    sorted->batch.outcomes = m.outcomes;
}

/* Gives values of one width back. The places of some results ahead are prefetched: they lie anywhere in the
 * chunk. The value of a missing key is overwritten with itself, which takes no branch. */
#define RETURN_VALUES(type)                                                                        \
    static void return_##type(const chunk_memory *m, type *out, uint64_t n)                        \
    {                                                                                              \
        const type *values = (const type *)(const void *)m->values;                                \
        uint64_t i;                                                                                \
                                                                                                   \
        for (i = 0; i < n; i++) {                                                                  \
            uint32_t at = m->index[i];                                                             \
                                                                                                   \
            __builtin_prefetch(out + m->index[i + AHEAD < n ? i + AHEAD : i], 1);                  \
            out[at] = m->outcomes[i] == BH_FOUND ? values[i] : out[at];                            \
        }                                                                                          \
    }
RETURN_VALUES(uint32_t)
RETURN_VALUES(uint64_t)
#undef RETURN_VALUES

void bh__sorted_return(bh__sorted *sorted, const bh_table *table)
{
    chunk_memory m = cut_memory(sorted, table);
    uint64_t n = sorted->own.n, i;

    if (sorted->batch.keys == sorted->own.keys)
        return;
    if (sorted->own.values_out && table->options.value_bytes == 4)
        return_uint32_t(&m, sorted->own.values_out, n);
    else if (sorted->own.values_out)
        return_uint64_t(&m, sorted->own.values_out, n);
    if (sorted->own.outcomes)
        for (i = 0; i < n; i++)
            sorted->own.outcomes[m.index[i]] = m.outcomes[i];
}
