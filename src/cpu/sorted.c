/* Sorting a chunk of lookups, and giving its results back; see sorted.h. */
#include "cpu/sorted.h"

#include "primitives/primitives.h"
#include "storage/arena.h"

/* Parts that a chunk is sorted into: so many that partition can keep a line of each in the cache. */
#define PARTS 2048

/* How many results ahead the place of a result is prefetched. */
#define AHEAD 32

/* Where the parts of a chunk's memory begin. */
typedef struct chunk_memory {
    uint64_t *counts;
    uint64_t *keys_at;
    uint64_t *index_at;
    unsigned char *keys;
    uint32_t *index;
    unsigned char *values;
    uint8_t *outcomes;
} chunk_memory;

uint64_t bh__sorted_bytes(const bh_table *table, uint64_t n)
{
    const bh_table_options *o = &table->options;

    return 3 * bh__lines_up(8 * PARTS) + bh__lines_up(n * o->key_bytes) + bh__lines_up(n * 4) +
           bh__lines_up(n * o->value_bytes) + bh__lines_up(n);
}

static chunk_memory cut_memory(const bh__sorted *sorted, const bh_table *table)
{
    const bh_table_options *o = &table->options;
    uint64_t n = sorted->own.n;
    unsigned char *at = sorted->memory;
    chunk_memory m;

    m.counts = (uint64_t *)(void *)at;
    m.keys_at = m.counts + PARTS;
    m.index_at = m.keys_at + PARTS;
    m.keys = at + 3 * bh__lines_up(8 * PARTS);
    m.index = (uint32_t *)(void *)(m.keys + bh__lines_up(n * o->key_bytes));
    m.values = (unsigned char *)m.index + bh__lines_up(n * 4);
    m.outcomes = m.values + bh__lines_up(n * o->value_bytes);
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

void bh__sorted_take(bh__sorted *sorted, const bh__backend *backend, const bh_table *table,
                     const bh__batch *whole, uint64_t first, uint64_t n)
{
    const bh_executor here = {NULL, width_here, run_here};
    const bh__primitives *p = backend->primitives;
    bh__where where = {&backend->system, &here, NULL};
    bh__partition part;
    uint64_t sum = 0;
    chunk_memory m;
    uint32_t i;

    sorted->next = 0;
    sorted->own = bh__batch_part(table, whole, first, n);
    sorted->batch = sorted->own;
    m = cut_memory(sorted, table);
    part.how.parts = PARTS;
    part.how.shift = 0;
    part.how.seed = whole->by_hash;
    part.key_bytes = table->options.key_bytes;
    part.payload_bytes = 4;
    part.keys = sorted->own.keys;
    part.payloads = NULL;
    part.n = n;
    part.counts = m.counts;
    part.keys_at = m.keys_at;
    part.payloads_at = m.index_at;
    if (!p->partition_count(&where, &part))
        return;
    for (i = 0; i < PARTS; i++) {
        m.keys_at[i] = (uint64_t)(uintptr_t)(m.keys + sum * part.key_bytes);
        m.index_at[i] = (uint64_t)(uintptr_t)(m.index + sum);
        sum += m.counts[i];
    }
    (void)p->partition_scatter(&where, &part);
    p->partition_end(&where, &part);
    sorted->batch.keys = m.keys;
    if (sorted->own.values_out)
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
