/*
 * DACHash, passes that deal the pairs of chains out anew, with the gate held alone:
 *
 *     BH_DA_PASS_SPLIT   the array has doubled for a range of buckets: each keeps the pairs whose next bit
 *                        is clear, the others go to the bucket `whole` further
 *     BH_DA_PASS_MERGE   the opposite
 *     BH_DA_PASS_CLEAN   (chapter 4 of the paper) only the last node of each chain has free slots after it
 *
 * An include-template that ops.h includes.
 *
 * A chain is read node by node. Once the pairs of a node have been copied the node is *spare*, except for
 * first nodes, which stay where they are. The pairs are dealt to one or two chains that grow from their
 * first nodes by spare ones. When R pairs have been read from ceil(R/S) nodes or more, S slots each, two
 * chains of a + b = R pairs need ceil(a/S) + ceil(b/S) - 2 nodes behind their first ones, which is never
 * more than the ceil(R/S) - 1 that are spare: so a split takes no node from the stack. A merge may need one.
 */
#ifndef BH_TABLES_DACHASH_CHAINS_H
#define BH_TABLES_DACHASH_CHAINS_H

/* How many buckets ahead passes ask for first nodes, since hardware prefetchers stop at the end of each page; and half as
 * many ahead for second ones, which lie anywhere. Chosen, not tuned. */
#define BH_DA_AHEAD 16u

#endif

/* A chain that pairs are dealt to. */
typedef struct BH_DA(chain) {
    uint64_t node; /* the last one */
    uint64_t header;
} BH_DA(chain);

/* Appends a pair. A new node is a spare one (linked by their headers, *spare the first), or comes from the
 * stack. */
BH_FN void BH_DA(deal)(const bh_da_geometry *g, BH_DA(chain) *chain, uint64_t *spare, BH_KEY key,
                       BH_VALUE value)
{
    uint32_t free = ~(uint32_t)chain->header & g->positions;

    if (!free) {
        uint64_t node = *spare;

        if (node)
            *spare = bh_read64(bh_da_at(node));
        else
            node = bh_da_pop_one(0, g);
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
                                uint64_t *spare)
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
        BH_DA(deal)(g, low, spare, keys[bh_first(set) / stride], values[bh_first(set) / stride]);
    for (set = used & up; set; set &= set - 1)
        BH_DA(deal)(g, high, spare, keys[bh_first(set) / stride], values[bh_first(set) / stride]);
    return low == high ? bh_count(used) : bh_count(used & up);
}

/* The same of all nodes of the chain that begins at `node`. Nodes behind the first become spare. */
BH_FN uint64_t BH_DA(deal_chain)(const bh_da_geometry *g, uint64_t node, BH_DA(chain) *low,
                                 BH_DA(chain) *high, uint64_t bit, uint64_t *spare)
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
            bh_write64(bh_da_at(node), *spare);
            *spare = node;
        }
        moved +=
            g->node_shift == BH_DA_LINE_SHIFT
                ? BH_DA(deal_node)(g, node, used,
                                   BH_DA_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_DA_LINE), low, high,
                                   bit, spare)
                : BH_DA(deal_node)(g, node, used, bh_count(g->positions), low, high, bit, spare);
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

/* Returns spare nodes; answers how many. */
BH_FN uint64_t BH_DA(give_back)(uint64_t spare)
{
    uint64_t count = 0;

    for (; spare; count++) {
        const uint64_t next = bh_read64(bh_da_at(spare));

        bh_write64(bh_da_at(spare), BH_DA_FREE);
        spare = next;
    }
    return count;
}

/* BH_DA_PASS_SPLIT. */
BH_FN void BH_DA(split_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    uint64_t moved = 0, returned = 0, i;

    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);
        BH_DA(chain) low = {node, 0}, high = {node + (g->whole << g->node_shift), 0};
        uint64_t spare = 0;

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        moved += BH_DA(deal_chain)(g, node, &low, &high, g->doublings, &spare);
        BH_DA(end_chain)(&low);
        BH_DA(end_chain)(&high);
        returned += BH_DA(give_back)(spare);
    }
    bh_add64(&job->moved, moved);
    bh_add64(bh_da_at(g->nodes + BH_DA_RETURNED), returned);
}

/* BH_DA_PASS_MERGE. */
BH_FN void BH_DA(merge_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    uint64_t moved = 0, returned = 0, i;

    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);
        const uint64_t other = node + (g->whole << g->node_shift);
        BH_DA(chain) low = {node, 0};
        uint64_t spare = 0;

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        BH_DA(bring_ahead)(g, i + g->whole, job->from + first + count + g->whole);
        (void)BH_DA(deal_chain)(g, node, &low, &low, 0, &spare);
        moved += BH_DA(deal_chain)(g, other, &low, &low, 0, &spare);
        bh_write64(bh_da_at(other), 0);
        BH_DA(end_chain)(&low);
        returned += BH_DA(give_back)(spare);
    }
    bh_add64(&job->moved, moved);
    bh_add64(bh_da_at(g->nodes + BH_DA_RETURNED), returned);
}

/* Whether the pairs of a chain fit into fewer nodes. */
BH_FN int BH_DA(is_loose)(const bh_da_geometry *g, uint64_t node)
{
    const uint32_t slots = bh_count(g->positions);
    uint32_t free = 0;

    for (;;) {
        const uint64_t header = bh_read64(bh_da_at(node));

        free += slots - bh_count((uint32_t)header & g->positions);
        if (free >= slots || !bh_da_link(header))
            return free >= slots;
        node = bh_da_node(g, bh_da_link(header));
    }
}

/* BH_DA_PASS_CLEAN. Most chains are one node, in which any slots may be free. */
BH_FN void BH_DA(clean_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_chains *job = (bh_da_chains *)argument;
    const bh_da_geometry *g = job->geometry;
    uint64_t returned = 0, i;

    for (i = job->from + first; i < job->from + first + count; i++) {
        const uint64_t node = g->buckets + (i << g->node_shift);
        BH_DA(chain) chain = {node, 0};
        uint64_t spare = 0;

        BH_DA(bring_ahead)(g, i, job->from + first + count);
        if (!bh_da_link(bh_read64(bh_da_at(node))) || (!job->all && !BH_DA(is_loose)(g, node)))
            continue;
        (void)BH_DA(deal_chain)(g, node, &chain, &chain, 0, &spare);
        BH_DA(end_chain)(&chain);
        returned += BH_DA(give_back)(spare);
    }
    bh_add64(bh_da_at(g->nodes + BH_DA_RETURNED), returned);
}
