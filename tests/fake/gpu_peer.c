/*
 * In place of bench/cuco_peers.cu: a peer for the benchmark on a GPU that is host memory (gpu.c). Its tables are
 * ours, on cores, so that all of the experiment runs and every answer is checked; nobody compares their rates.
 */
#include "../../bench/gpu_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulkhash/bulkhash.h"

typedef struct table {
    bh_context *context;
    bh_table *table;
    uint32_t bytes; /* of a key and of a value */
    uint64_t empty_value;
} table;

static void *create(const gpu_peer_table *wanted, uint32_t bytes)
{
    table *t = calloc(1, sizeof *t);
    bh_table_options options;

    bh_table_options_init(&options, bytes, bytes, wanted->keys);
    options.max_fill = wanted->fill;
    if (!t || bh_context_create("cpu", NULL, &t->context) ||
        bh_table_create(t->context, &options, &t->table)) {
        fprintf(stderr, "bulkhash-bench: the peer cannot go on: no table\n");
        exit(1);
    }
    t->bytes = bytes;
    t->empty_value = wanted->empty_value;
    return t;
}

static void *create_4(const gpu_peer_table *wanted)
{
    return create(wanted, 4);
}

static void *create_8(const gpu_peer_table *wanted)
{
    return create(wanted, 8);
}

static void destroy(void *p)
{
    table *t = p;

    bh_table_destroy(t->table);
    bh_context_destroy(t->context);
    free(t);
}

static bh_table_stats stats_of(const table *t)
{
    bh_table_stats stats = {.struct_size = sizeof stats};

    if (bh_table_get_stats(t->table, &stats))
        memset(&stats, 0, sizeof stats);
    return stats;
}

static uint64_t slots(const void *p)
{
    return stats_of(p).slots;
}

static int count(const void *p, uint64_t *keys)
{
    *keys = stats_of(p).keys;
    return 0;
}

static void empty(const table *t, void *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (t->bytes == 4)
            ((uint32_t *)values)[i] = (uint32_t)t->empty_value;
        else
            ((uint64_t *)values)[i] = t->empty_value;
    }
}

static int run(void *p, gpu_peer_op op, const void *keys, void *values, uint64_t n)
{
    table *t = p;

    switch (op) {
    case PEER_INSERT: return (int)bh_insert_new(t->table, keys, values, n, NULL);
    case PEER_ASSIGN: return (int)bh_insert(t->table, keys, values, n, NULL);
    case PEER_ADD: return (int)bh_reduce(t->table, BH_ADD, keys, values, n, NULL);
    case PEER_ERASE: return (int)bh_erase(t->table, keys, n, NULL);
    case PEER_FIND: empty(t, values, n); return (int)bh_find(t->table, keys, n, values, NULL);
    }
    return 1;
}

const gpu_peer gpu_peers[] = {
    {"fake", "one", 4, 4, create_4, destroy, slots, count, run},
    {"fake", "other", 4, 4, create_4, destroy, slots, count, run},
    {"fake", "one", 8, 8, create_8, destroy, slots, count, run},
    {.library = NULL},
};

const char gpu_peers_commit[] = "0123456789ab";

const char gpu_peers_missing[] = "";
