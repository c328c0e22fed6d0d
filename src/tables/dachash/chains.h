/*
 * DACHash, passes that change chains, with the gate held alone:
 *
 *     BH_DA_PASS_SPLIT   the array has doubled for a range of buckets: each keeps the pairs whose next bit
 *                        is clear, the others go to the bucket `whole` further
 *     BH_DA_PASS_MERGE   the opposite
 *     BH_DA_PASS_CLEAN   (chapter 4 of the paper) only the last node of a chain has free slots after it. Of all chains, or of
 *                        those that can do with fewer nodes, and of long ones
 *
 * An include-template that ops.h includes.
 *
 * SPLIT and MERGE read a chain node by node. Once the pairs of a node have been copied the node is *spare*, except
 * for first nodes, which stay where they are. The pairs are dealt to one or two chains that grow from their
 * first nodes by spare ones. When R pairs have been read from ceil(R/S) nodes or more, S slots each, two
 * chains of a + b = R pairs need ceil(a/S) + ceil(b/S) - 2 nodes behind their first ones, which is never
 * more than the ceil(R/S) - 1 that are spare: so a split takes no node from the stack. A merge may need one.
 */
#ifndef BH_TABLES_DACHASH_CHAINS_H
#define BH_TABLES_DACHASH_CHAINS_H

/* How many buckets ahead passes ask for first nodes, since hardware prefetchers stop at the end of each page; and half as
 * many ahead for second ones, which lie anywhere. With 16 cleaning takes a tenth more time; 64 are no better. */
#define BH_DA_AHEAD 32u

/* Nodes of a chain that is closed up where it lies. */
#define BH_DA_CLOSED_MOST 8u

/* Where a part of a pass takes nodes from and where it returns them. */
typedef struct bh_da_supply {
    uint64_t spare;    /* the first node that is spare, linked by their headers; 0: none is */
    uint64_t returned; /* nodes that have been */
    uint64_t list;     /* on cores: the first of those that are not on the shelf yet */
    uint64_t listed;   /* how many these are */
    bh__stash stash;
} bh_da_supply;

BH_FN void bh_da_begin_supply(bh_da_supply *supply)
{
    const bh_da_supply none = {0, 0, 0, 0, {0, 0, 0, 1}};

    *supply = none;
}

/* Returns a node: on cores to a list, which goes on the shelf when it is long. */
BH_FN void bh_da_return(const bh_da_geometry *g, bh_da_supply *supply, uint64_t node)
{
    supply->returned++;
    if (!BH_BRINGS) {
        bh_write64(bh_da_at(node), BH_DA_FREE);
        return;
    }
    bh_write64(bh_da_at(node), BH_DA_FREE | supply->list << BH_DA_LINK_SHIFT);
    supply->list = bh_da_number(g, node);
    if (++supply->listed < BH_DA_BUNCH_MOST)
        return;
    bh_da_shelve(0, g, supply->list, supply->listed);
    supply->list = supply->listed = 0;
}

/* Returns all spare nodes. */
BH_FN void bh_da_return_spare(const bh_da_geometry *g, bh_da_supply *supply)
{
    while (supply->spare) {
        const uint64_t node = supply->spare;

        supply->spare = bh_read64(bh_da_at(node));
        bh_da_return(g, supply, node);
    }
}

/* Ends a part of a pass. */
BH_FN void bh_da_end_supply(const bh_da_geometry *g, bh_da_supply *supply)
{
    if (supply->listed)
        bh_da_shelve(0, g, supply->list, supply->listed);
    bh_add64(bh_da_at(g->nodes + BH_DA_RETURNED), supply->returned);
    if (supply->stash.left)
        bh_da_put_back(0, &supply->stash, g);
}

#endif

/* A chain's nodes, from the first on, and what their headers are to be. */
typedef struct BH_DA(nodes) {
    uint64_t node[BH_DA_CLOSED_MOST];
    uint64_t header[BH_DA_CLOSED_MOST];
    uint32_t count;
} BH_DA(nodes);

/* A chain that pairs are dealt to. */
typedef struct BH_DA(chain) {
    uint64_t node; /* the last one */
    uint64_t header;
} BH_DA(chain);

/* Appends a pair. A new node is a spare one, or comes from the stack. */
BH_FN void BH_DA(deal)(const bh_da_geometry *g, BH_DA(chain) *chain, bh_da_supply *supply,
                       BH_KEY key, BH_VALUE value)
{
    uint32_t free = ~(uint32_t)chain->header & g->positions;

    if (!free) {
        uint64_t node = supply->spare;

        if (node)
            supply->spare = bh_read64(bh_da_at(node));
        else
            node = bh_da_pop(0, &supply->stash, g);
        bh_write64(bh_da_at(chain->node), chain->header | bh_da_number(g, node)
                                                              << BH_DA_LINK_SHIFT);
        chain->node = node;
        chain->header = 0;
        free = g->positions;
    }
    free = bh_first(free);
    chain->header |= 1ull << free;
    if (BH_DA_IS_PAIR) {
        bh_write64(BH_DA(key_at)(chain->node, free), bh_pair(key, value));
        return;
    }
    BH_WRITE_KEY(BH_DA(key_at)(chain->node, free), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_DA(value_at)(g, chain->node, free), value);
}

/* Deals the pairs of a node to `low`, and those whose bit `bit` of the hash is set to `high`; where both are the same
 * chain, all. `slots` is how many a node has; mostly it is a constant. Answers how many pairs went to `high`.
 *
 * The pairs are copied first, as the node may be where they go. Which way each goes is known before any goes there:
 * no processor foresees such a bit, and a branch for each took half of the time. */
BH_FN uint32_t BH_DA(deal_node)(const bh_da_geometry *g, uint64_t node, uint32_t used,
                                uint32_t slots, BH_DA(chain) *low, BH_DA(chain) *high, uint64_t bit,
                                bh_da_supply *supply)
{
    const uint32_t stride = BH_DA_STRIDE(BH_KEY_BYTES, BH_VALUE_BYTES);
    BH_KEY keys[BH_DA_SLOTS_MOST];
    BH_VALUE values[BH_DA_SLOTS_MOST];
    uint32_t up = 0, set, slot;

    slot = 0; /* a node has a slot at least */
    do {
        keys[slot] = BH_READ_KEY(BH_DA(key_at)(node, slot * stride));
        values[slot] = BH_VALUE_BYTES ? BH_READ_VALUE(BH_DA(value_at)(g, node, slot * stride)) : 0;
    } while (++slot < slots);
    for (slot = 0; low != high && slot < slots; slot++)
        up |= (uint32_t)(bh_hash_key(keys[slot], &g->seed).one >> bit & 1) << slot * stride;
    for (set = used & ~up; set; set &= set - 1)
        BH_DA(deal)(g, low, supply, keys[bh_first(set) / stride], values[bh_first(set) / stride]);
    for (set = used & up; set; set &= set - 1)
        BH_DA(deal)(g, high, supply, keys[bh_first(set) / stride], values[bh_first(set) / stride]);
    return low == high ? bh_count(used) : bh_count(used & up);
}

/* The same of all nodes of the chain that begins at `node`. Nodes behind the first become spare. */
BH_FN uint64_t BH_DA(deal_chain)(const bh_da_geometry *g, uint64_t node, BH_DA(chain) *low,
                                 BH_DA(chain) *high, uint64_t bit, bh_da_supply *supply)
{
    uint64_t header = bh_read64(bh_da_at(node)), moved = 0;
    const uint64_t first = node;

    for (;;) {
        const uint32_t used = (uint32_t)header & g->positions;
        uint64_t behind = 0;

        /* Where a node's pairs go may be the node itself: what is behind it is looked up before. */
        if (bh_da_link(header)) {
            behind = bh_da_node(g, bh_da_link(header));
            header = bh_read64(bh_da_at(behind));
        }
        if (node != first) {
            bh_write64(bh_da_at(node), supply->spare);
            supply->spare = node;
        }
        moved +=
            g->node_shift == BH_DA_LINE_SHIFT
                ? BH_DA(deal_node)(g, node, used,
                                   BH_DA_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_DA_LINE), low, high,
                                   bit, supply)
                : BH_DA(deal_node)(g, node, used, bh_count(g->positions), low, high, bit, supply);
        if (!behind)
            return moved;
        node = behind;
    }
}

/* Asks for nodes that a pass comes to soon, from bucket `i` on of those before `end`: a first one, and a second. */
BH_FN void BH_DA(bring_ahead)(const bh_da_geometry *g, uint64_t i, uint64_t end)
{
    const uint64_t node = g->buckets + (i << g->node_shift);

    if (i + BH_DA_AHEAD < end)
        bh_bring(bh_da_at(node + ((uint64_t)BH_DA_AHEAD << g->node_shift)));
    if (i + BH_DA_AHEAD / 2 < end) {
        const uint64_t later = node + ((uint64_t)(BH_DA_AHEAD / 2) << g->node_shift);

        bh_bring(bh_da_at(bh_da_node(g, bh_da_link(bh_read64(bh_da_at(later))))));
    }
}

/* Ends a chain. */
BH_FN void BH_DA(end_chain)(const BH_DA(chain) *chain)
{
    bh_write64(bh_da_at(chain->node), chain->header);
}

/* BH_DA_PASS_SPLIT. */
BH_FN void BH_DA(split_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    bh_da_supply supply;
    uint64_t moved = 0, i;

    bh_da_begin_supply(&supply);
    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);
        BH_DA(chain) low = {node, 0}, high = {node + (g->whole << g->node_shift), 0};

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        moved += BH_DA(deal_chain)(g, node, &low, &high, g->doublings, &supply);
        BH_DA(end_chain)(&low);
        BH_DA(end_chain)(&high);
        bh_da_return_spare(g, &supply);
    }
    bh_add64(&job->moved, moved);
    bh_da_end_supply(g, &supply);
}

/* BH_DA_PASS_MERGE. */
BH_FN void BH_DA(merge_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    bh_da_supply supply;
    uint64_t moved = 0, i;

    bh_da_begin_supply(&supply);
    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);
        const uint64_t other = node + (g->whole << g->node_shift);
        BH_DA(chain) low = {node, 0};

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        BH_DA(bring_ahead)(g, i + g->whole, job->from + first + count + g->whole);
        (void)BH_DA(deal_chain)(g, node, &low, &low, 0, &supply);
        moved += BH_DA(deal_chain)(g, other, &low, &low, 0, &supply);
        bh_write64(bh_da_at(other), 0);
        BH_DA(end_chain)(&low);
        bh_da_return_spare(g, &supply);
    }
    bh_add64(&job->moved, moved);
    bh_da_end_supply(g, &supply);
}

/* Moves a pair from one node to another. */
BH_FN void BH_DA(move_pair)(const bh_da_geometry *g, uint64_t from, uint32_t position, uint64_t to,
                            uint32_t hole)
{
    if (BH_DA_IS_PAIR) {
        bh_write64(BH_DA(key_at)(to, hole), bh_read64(BH_DA(key_at)(from, position)));
        return;
    }
    BH_WRITE_KEY(BH_DA(key_at)(to, hole), BH_READ_KEY(BH_DA(key_at)(from, position)));
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_DA(value_at)(g, to, hole),
                       BH_READ_VALUE(BH_DA(value_at)(g, from, position)));
}

/* Fills the free slots of a chain's nodes with the pairs of its last ones; `slots` is how many a node has. Nodes that become empty are
 * returned. Nothing is moved if the chain would keep all of its nodes, unless `all`. Most pairs stay where they are. */
BH_FN void BH_DA(close_up)(const bh_da_geometry *g, BH_DA(nodes) *chain, uint32_t slots, int all,
                           bh_da_supply *supply)
{
    uint32_t free = chain->count * slots, low = 0, high = chain->count - 1, kept = chain->count, i;

    for (i = 0; i < chain->count; i++)
        free -= bh_count((uint32_t)chain->header[i] & g->positions);
    if (free < slots && !all)
        return;
    for (; free >= slots && kept > 1; free -= slots)
        kept--;
    while (low < high) {
        const uint32_t holes = ~(uint32_t)chain->header[low] & g->positions;
        const uint32_t used = (uint32_t)chain->header[high] & g->positions;

        if (!holes || !used) {
            low += !holes;
            high -= holes && !used;
            continue;
        }
        BH_DA(move_pair)(g, chain->node[high], bh_first(used), chain->node[low], bh_first(holes));
        chain->header[high] ^= used & (0 - used);
        chain->header[low] ^= holes & (0 - holes);
    }
    chain->header[kept - 1] &= (1ull << BH_DA_LINK_SHIFT) - 1;
    for (i = 0; i < kept; i++)
        bh_write64(bh_da_at(chain->node[i]), chain->header[i]);
    for (; i < chain->count; i++)
        bh_da_return(g, supply, chain->node[i]);
}

/* Closes up the chain that begins at `node`. */
BH_FN void BH_DA(clean_chain)(const bh_da_geometry *g, uint64_t node, int all, bh_da_supply *supply)
{
    BH_DA(nodes) nodes;
    uint64_t at = node;

    for (nodes.count = 0; nodes.count < BH_DA_CLOSED_MOST; at = bh_da_node(g, at)) {
        const uint64_t header = bh_read64(bh_da_at(at));

        nodes.node[nodes.count] = at;
        nodes.header[nodes.count++] = header;
        at = bh_da_link(header);
        if (!at)
            break;
    }
    if (at) { /* it is longer: dealt out anew */
        BH_DA(chain) chain = {node, 0};

        (void)BH_DA(deal_chain)(g, node, &chain, &chain, 0, supply);
        BH_DA(end_chain)(&chain);
        bh_da_return_spare(g, supply);
    } else if (g->node_shift == BH_DA_LINE_SHIFT) {
        BH_DA(close_up)(g, &nodes, BH_DA_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_DA_LINE), all,
                        supply);
    } else {
        BH_DA(close_up)(g, &nodes, bh_count(g->positions), all, supply);
    }
}

/* BH_DA_PASS_CLEAN. Most chains are one node, in which any slots may be free. */
BH_FN void BH_DA(clean_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    bh_da_supply supply;
    uint64_t i;

    bh_da_begin_supply(&supply);
    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        if (bh_da_link(bh_read64(bh_da_at(node))))
            BH_DA(clean_chain)(g, node, job->all != 0, &supply);
    }
    bh_da_end_supply(g, &supply);
}
