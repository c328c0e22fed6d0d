/*
 * Layout and lookups of the table of tests/cuda/look.cu. An include-template: see instance.h.
 *
 * The table is an array of nodes of BH_DESIGN_REGION bytes:
 *
 *     bytes 0..3   4..7     8 ..
 *     +----------+--------+------+------+-- --+-------+--
 *     | count    | more   | key0 | key1 | ... | value0| ...      as many pairs as fit
 *     +----------+--------+------+------+-- --+-------+--
 *
 * A key is in the node that its hash names, or, where that says that there is more, in the next one, and
 * so on. A step checks that it is handed what it should be: a copy of its node, but for those nodes
 * whose regions the text names with another length, which are read where they are.
 */
#include "tables/instance.h"

#ifndef TESTS_CUDA_NODES_OPS_H
#define TESTS_CUDA_NODES_OPS_H

#include "primitives/hash.h"
#include "tables/table.h"

typedef struct bh_nodes_geometry {
    bh_seed seed;
    uint64_t nodes; /* address of the first */
    uint64_t count;
} bh_nodes_geometry;

#define BH_NODES_SLOTS ((BH_DESIGN_REGION - 8) / (BH_KEY_BYTES + BH_VALUE_BYTES))
#define BH_NODES_VALUES (8 + BH_NODES_SLOTS * BH_KEY_BYTES)

/* Nodes whose regions have another length than the declaration says. */
static __host__ __device__ inline int bh_nodes_is_odd(uint64_t node)
{
    return node % 5 == 3;
}

#endif

#define BH_NODES(name) BH_DESIGN(name)

typedef struct BH_NODES(op) {
    BH_KEY key;
    uint32_t at;
    uint64_t node; /* its number */
    uint8_t outcome;
} BH_NODES(op);

BH_FN bh_region BH_NODES(region)(const bh__slice *slice, const BH_NODES(op) * op)
{
    const bh_nodes_geometry *g = (const bh_nodes_geometry *)slice->geometry;
    bh_region region = {g->nodes + op->node * BH_DESIGN_REGION, BH_DESIGN_REGION, BH_TIER_NEAR};

    if (bh_nodes_is_odd(op->node))
        region.bytes = BH_DESIGN_REGION / 4; /* (halves of 128 bytes are copied) */
    return region;
}

BH_FN bh_region BH_NODES(begin)(const bh__slice *slice, BH_NODES(op) * op, uint32_t at,
                                uint32_t kind)
{
    const bh_nodes_geometry *g = (const bh_nodes_geometry *)slice->geometry;

    (void)kind;
    op->key = ((const BH_KEY *)slice->keys)[at];
    op->at = at;
    op->outcome = BH_NOT_DONE;
    op->node = bh_hash_range(bh_hash_key(op->key, &g->seed).one, g->count);
    return BH_NODES(region)(slice, op);
}

BH_FN bh_answer BH_NODES(step)(bh__slice *slice, BH_NODES(op) * op, uint32_t kind, uint64_t at,
                               bh_region *next)
{
    const bh_nodes_geometry *g = (const bh_nodes_geometry *)slice->geometry;
    const char *node = (const char *)(uintptr_t)at;
    const int in_place = at == g->nodes + op->node * BH_DESIGN_REGION;
    const uint32_t used = bh_load32(node), more = bh_load32(node + 4);
    uint32_t i;

    (void)kind;
    if (in_place != bh_nodes_is_odd(op->node))
        return BH_DONE; /* without an outcome */
    for (i = 0; i < used; i++) {
        if (BH_READ_KEY(node + 8 + i * BH_KEY_BYTES) != op->key)
            continue;
        op->outcome = BH_FOUND;
        if (BH_VALUE_BYTES && slice->values_out)
            ((BH_VALUE *)slice->values_out)[op->at] =
                BH_READ_VALUE(node + BH_NODES_VALUES + i * BH_VALUE_BYTES);
        return BH_DONE;
    }
    if (!more) {
        op->outcome = BH_MISSING;
        return BH_DONE;
    }
    op->node = op->node + 1 == g->count ? 0 : op->node + 1;
    *next = BH_NODES(region)(slice, op);
    return BH_NEXT;
}
