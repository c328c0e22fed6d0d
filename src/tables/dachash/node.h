/*
 * DACHash, one node: its header, its keys and values; and the stack that nodes are taken from. layout.h
 * draws both. An include-template that ops.h includes.
 *
 * Pairs are written with the bucket locked, by the words whose stores no reader sees before the lock
 * (bh_write64 in targets/target.h): whoever sees a new pair, and looks at the header then, sees a header in
 * which the slot is not in use, or one that was stored behind the pair.
 */
#ifndef BH_TABLES_DACHASH_NODE_H
#define BH_TABLES_DACHASH_NODE_H

/* How many fresh nodes are asked for before they are wanted. */
#define BH_DA_STASHED_AHEAD 4u

BH_FN unsigned char *bh_da_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

/* The bucket of a hash word: its first node. */
BH_FN uint64_t bh_da_first(const bh_da_geometry *g, uint64_t word)
{
    uint64_t bucket = bh_hash_range(word, g->base) + g->base * (word & g->mask);

    bucket += g->whole & (0 - ((uint64_t)(bucket < g->split) & word >> g->doublings));
    return g->buckets + (bucket << g->node_shift);
}

BH_FN uint64_t bh_da_node(const bh_da_geometry *g, uint64_t number)
{
    return g->nodes + (number << g->node_shift);
}

BH_FN uint64_t bh_da_number(const bh_da_geometry *g, uint64_t node)
{
    return (node - g->nodes) >> g->node_shift;
}

BH_FN uint64_t bh_da_link(uint64_t header)
{
    return header >> BH_DA_LINK_SHIFT;
}

/* The region that a step on a node wants: the node, or the line that it is a part of. */
BH_FN bh_region bh_da_region(const bh_da_geometry *g, uint64_t node)
{
    bh_region region;

    region.offset = node & ~(uint64_t)(BH_DA_LINE - 1);
    region.bytes = g->node_shift > 6 ? BH_DA_NODE_MOST : BH_DA_LINE;
    region.tier = BH_TIER_NEAR;
    return region;
}

/* Takes up to `wanted` nodes, which follow each other, from the stack. Answers how many, and sets *first to how many had been
 * taken before. One addition: thousands of threads of a GPU that popped a list by compare-and-swap got a node each
 * microsecond, all of them together. */
BH_FN uint64_t bh_da_take(uint32_t hints, const bh_da_geometry *g, uint64_t wanted, uint64_t *first)
{
    unsigned char *count = bh_da_at(g->nodes + BH_DA_TAKEN);
    uint64_t left;

    if (bh_load64(count) >= g->nodes_most)
        return 0;
    *first = bh_take_in64(hints, count, wanted);
    left = *first < g->nodes_most ? g->nodes_most - *first : 0;
    if (left >= wanted)
        return wanted;
    (void)bh_take_in64(hints, count, left - wanted);
    return left;
}

/* Takes a node; answers its address, 0 when there is none. */
BH_FN uint64_t bh_da_pop_one(uint32_t hints, const bh_da_geometry *g)
{
    uint64_t number;

    return bh_da_take(hints, g, 1, &number) ? bh_da_node(g, g->first + number) : 0;
}

/* Puts a list of `count` free nodes, the first number `first`, on the shelf. The swap fails only where another thread's has
 * succeeded. */
BH_FN void bh_da_shelve(uint32_t hints, const bh_da_geometry *g, uint64_t first, uint64_t count)
{
    unsigned char *const shelf = bh_da_at(g->nodes + BH_DA_SHELF);
    uint64_t top;

    do {
        top = bh_load64(shelf);
        bh_write64(bh_da_at(bh_da_node(g, first) + BH_DA_BELOW), top);
    } while (!bh_swap_in64(hints, shelf, top, first | count << 32));
}

/* Takes the list at the top of the shelf for a stash; answers whether there was one.
 *
 * While a thread looks at the list others may take it and use its nodes. What it has read as the word of the list below may be
 * anything then, and its swap fails, unless the same list is at the top again with another list below. But while slices run, or one pass,
 * no node is put on the shelf twice as the first of a list: who takes a list uses its first node, and no slice returns a node that has been
 * used. A pass does, but not one that it has taken: that is in the chain of a bucket which the pass has done with. */
BH_FN int bh_da_take_shelved(uint32_t hints, bh__stash *stash, const bh_da_geometry *g)
{
    unsigned char *const shelf = bh_da_at(g->nodes + BH_DA_SHELF);
    uint64_t top, below;

    do {
        top = bh_load64(shelf);
        if (!top)
            return 0;
        below = bh_load64(bh_da_at(bh_da_node(g, (uint32_t)top) + BH_DA_BELOW));
    } while (!bh_swap_in64(hints, shelf, top, below));
    stash->next = (uint32_t)top;
    stash->left = top >> 32;
    stash->linked = 1;
    (void)bh_take_in64(hints, bh_da_at(g->nodes + BH_DA_RETURNED), 0 - stash->left);
    bh_bring_to_write(bh_da_at(bh_da_node(g, (uint32_t)below)));
    return 1;
}

/* Takes fresh nodes for a stash; answers whether there were any. */
BH_FN int bh_da_take_fresh(uint32_t hints, bh__stash *stash, const bh_da_geometry *g)
{
    uint64_t i;

    stash->left = bh_da_take(hints, g, stash->bunch, &stash->next);
    if (!stash->left)
        return 0;
    stash->next += g->first;
    stash->linked = 0;
    if (stash->bunch < BH_DA_BUNCH_MOST)
        stash->bunch *= 2;
    for (i = 0; i < BH_DA_STASHED_AHEAD && i < stash->left; i++)
        bh_bring_to_write(bh_da_at(bh_da_node(g, stash->next + i)));
    return 1;
}

/* Takes a node; answers its address, 0 when there is none. On cores slices, and passes that want nodes, have a stash: it takes a list
 * from the shelf, or else one fresh node, then two, then four. Sixteen threads that took their nodes one by one filled a table at 0.4 of
 * the rate.
 *
 * The next nodes are asked for. A store to a node that is not in the cache does not wait, but the next locked instruction waits
 * for the store (docs/decisions/0049). */
BH_FN uint64_t bh_da_pop(uint32_t hints, bh__stash *stash, const bh_da_geometry *g)
{
    uint64_t node, ahead;

    if (!BH_BRINGS)
        return bh_da_pop_one(hints, g);
    if (!stash->left && !bh_da_take_shelved(hints, stash, g) && !bh_da_take_fresh(hints, stash, g))
        return 0;
    node = bh_da_node(g, stash->next);
    stash->next = stash->linked ? bh_da_link(bh_load64(bh_da_at(node))) : stash->next + 1;
    stash->left--;
    ahead = stash->linked ? 1 : BH_DA_STASHED_AHEAD;
    if (stash->left >= ahead)
        bh_bring_to_write(bh_da_at(bh_da_node(g, stash->next + ahead - 1)));
    return node;
}

/* Puts the nodes back that a stash has left: as if they had never been taken, if they are fresh and no others have been taken
 * since; else on the shelf. */
BH_FN void bh_da_put_back(uint32_t hints, bh__stash *stash, const bh_da_geometry *g)
{
    unsigned char *const stack = bh_da_at(g->nodes);
    const uint64_t first = stash->next, left = stash->left;
    const uint64_t fresh = first - g->first;
    uint64_t i;

    stash->left = 0;
    if (!left || (!stash->linked && bh_swap_in64(hints, stack + BH_DA_TAKEN, fresh + left, fresh)))
        return;
    for (i = 1; !stash->linked && i <= left; i++)
        bh_store64(bh_da_at(bh_da_node(g, first + i - 1)), BH_DA_FREE | (i < left ? first + i : 0)
                                                                            << BH_DA_LINK_SHIFT);
    (void)bh_take_in64(hints, stack + BH_DA_RETURNED, left);
    bh_da_shelve(hints, g, first, left);
}

#endif

/* The key at a position of a node, and its value. */
BH_FN unsigned char *BH_DA(key_at)(uint64_t node, uint32_t position)
{
    return bh_da_at(node) + BH_DA_HEAD + position * BH_KEY_BYTES;
}

BH_FN unsigned char *BH_DA(value_at)(const bh_da_geometry *g, uint64_t node, uint32_t position)
{
    if (BH_DA_IS_PAIR)
        return BH_DA(key_at)(node, position) + 4;
    return bh_da_at(node) + g->values + position * BH_VALUE_BYTES;
}

/* The slots in use of a node that hold the key, as positions; of a node that is a line, whose positions end before the
 * lock bit. */
BH_FN uint32_t BH_DA(match_line)(uint64_t node, uint64_t header, BH_KEY key)
{
    /* A stamp is compared, too; bit 1 is that of what lies 8 bytes behind the begin of the line. */
    return BH_MATCH_KEYS(bh_da_at(node) + 8, BH_DA_WORDS - 8 / BH_KEY_BYTES, BH_WANTED(key)) >>
               (1 + (BH_DA_HEAD - 8) / BH_KEY_BYTES) &
           (uint32_t)header;
}

/* The same of any node. `line` is the line that the node is in, or
 * begins with; `node` its own address. */
BH_FN uint32_t BH_DA(match)(const bh_da_geometry *g, uint64_t line, uint64_t node, uint64_t header,
                            BH_KEY key)
{
    const uint32_t before = (uint32_t)(node % BH_DA_LINE + BH_DA_HEAD) / BH_KEY_BYTES;
    uint32_t match = BH_MATCH(bh_line_load(bh_da_at(line)), 0, BH_DA_WORDS, key) >> before;

    if (g->node_shift > 6)
        match |= BH_MATCH(bh_line_load(bh_da_at(line + BH_DA_LINE)), 0, BH_DA_WORDS, key)
                 << (BH_DA_WORDS - BH_DA_HEAD / BH_KEY_BYTES);
    return match & (uint32_t)header & (uint32_t)BH_DA_USED;
}

/* Stores a pair where readers may look at the slot's last one. */
BH_FN void BH_DA(publish)(const bh_da_geometry *g, uint64_t node, uint32_t position, BH_KEY key,
                          BH_VALUE value)
{
    if (BH_DA_IS_PAIR) {
        bh_write64(BH_DA(key_at)(node, position), bh_pair(key, value));
        return;
    }
    if (!BH_DA_IS_NARROW)
        bh_write64(bh_da_at(node + 8), bh_load64(bh_da_at(node + 8)) + 1);
    BH_WRITE_KEY(BH_DA(key_at)(node, position), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_DA(value_at)(g, node, position), value);
}
