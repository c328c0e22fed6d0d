/*
 * DACHash's policy as its own files know it: the table, and what the files ask of each other. They are, from
 * the outside inwards:
 *
 *     policy.c   the bh__policy: options, creating and destroying, clearing, export; a slice that stalled
 *     array.c    doubling and halving the array of buckets, a range at a time; reserving and compacting
 *     nodes.c    the stack of nodes: how many there should be, and where they come from
 */
#ifndef BH_TABLES_DACHASH_POLICY_H
#define BH_TABLES_DACHASH_POLICY_H

#include "base/error.h"
#include "tables/budget.h"
#include "tables/dachash/layout.h"

/* Buckets or nodes that one task of a pass works on. Chosen, not tuned. */
#define BH_DA_PASS_ITEMS 4096

/* An export cursor has 40 bits for the number of a node, in the array or on the stack, and a position. */
#define BH_DA_PLACES 32u
#define BH_DA_NODES_MOST ((1ull << 40) / BH_DA_PLACES)

/* Nodes of a stack, at most: links have 32 bits for their numbers. */
#define BH_DA_STACK_MOST ((1ull << BH_DA_LINK_BITS) - 4096)

typedef struct bh__da_table {
    bh_table table;
    bh_da_geometry geometry;
    bh__block buckets;
    bh__block nodes;
} bh__da_table;

static inline bh__da_table *bh__da_of(bh_table *table)
{
    return (bh__da_table *)table;
}

static inline uint32_t bh__da_slots(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DA_SLOTS(o->key_bytes, o->value_bytes, o->dachash.node_bytes);
}

/* Buckets of the array. */
static inline uint64_t bh__da_buckets(const bh_da_geometry *g)
{
    return g->whole + g->split;
}

static inline bh_status bh__da_refused(const char *what)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused %s; no key has moved", what);
}

/* --- array.c ------------------------------------------------------------------------------------ */

/* The fewest buckets that hold `keys` keys; 0 when that is more than a table may have. */
uint64_t bh__da_buckets_for(const bh_table *table, uint64_t keys);

/* Gives an empty table so many buckets or a few more, and nodes for as many keys as they may hold. On
 * failure it is as it was. */
bh_status bh__da_lay_out(bh__da_table *t, uint64_t buckets);

/* Splits a range of buckets, of the size that makes room for so many keys more, but at least of that which is
 * split at a time. On failure no key has moved. */
bh_status bh__da_split_for(bh__da_table *t, uint64_t keys);

/* Recomputes all that follows from the numbers of buckets and nodes. */
void bh__da_publish(bh__da_table *t);

/* bh__table_extend, by whole huge pages where the budget allows: a huge page that has memory in part is
 * none. */
bh_status bh__da_extend(bh__da_table *t, bh__block *block, uint64_t used, uint64_t bytes);

/* Functions of bh__policy: see there. */
void bh__da_shrink(bh_table *table);
bh_status bh__da_compact(bh_table *table);
bh_status bh__da_reserve(bh_table *table, uint64_t keys);
void bh__da_expect(bh_table *table, uint64_t keys);

/* --- nodes.c ------------------------------------------------------------------------------------- */

/* How many nodes besides the first ones `keys` keys in `buckets` buckets take: as many as can be expected,
 * and six times the standard deviation. */
uint64_t bh__da_nodes_for(uint64_t keys, uint64_t buckets, uint32_t slots);

/* Bytes of a stack of `nodes` nodes; 0 when that cannot be addressed, or has more nodes than links can
 * name. */
uint64_t bh__da_stack_bytes(const bh_da_geometry *g, uint64_t nodes);

/* Sees to it that the stack has `nodes` nodes in all, or that `wanted` can be taken from it and from the shelf. */
bh_status bh__da_have_nodes(bh__da_table *t, uint64_t nodes);
bh_status bh__da_have_free(bh__da_table *t, uint64_t wanted);

/* How many nodes are in chains, besides first ones. Answers 0 when a GPU refused to say. */
int bh__da_nodes_used(const bh__da_table *t, uint64_t *used);

/* Closes up `all` chains: only their last nodes have free slots after that; or only those that can do with fewer nodes.
 * Answers 0 when a GPU refused. */
int bh__da_clean(bh__da_table *t, int all);

/* Makes returned nodes such as can be taken again, and the stack as small as the nodes in use and `keep`
 * allow. Where there is no memory to list returned nodes in, nothing happens. */
void bh__da_pack(bh__da_table *t, uint64_t keep);

/* Makes the stack smaller, but for `keep` nodes; those behind have never been taken. */
void bh__da_cut_stack(bh__da_table *t, uint64_t keep);

#endif
