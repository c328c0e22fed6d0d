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

/* Nodes that a slice takes at a time at most: then other threads' additions no longer matter. */
#define BH_DA_BUNCH_MOST 16u
/* How many nodes of a bunch are asked for before they are wanted. */
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

/* Takes a run of nodes from the shelf for a stash; answers whether there was one. */
BH_FN int bh_da_take_shelved(const bh__slice *slice, const bh_da_geometry *g)
{
    unsigned char *word = bh_da_at(g->nodes + BH_DA_SHELF);
    bh__stash *stash = slice->stash;
    uint64_t run = 0, i;

    for (i = 0; i < BH_DA_SHELF_WORDS; i++, word += 8) {
        run = bh_load64(word);
        if (run && bh_swap_in64(slice->hints, word, run, 0))
            break;
    }
    if (i == BH_DA_SHELF_WORDS)
        return 0;
    stash->next = (uint32_t)run;
    stash->end = stash->next + (run >> 32);
    for (i = stash->next; i < stash->end; i++)
        bh_store64(bh_da_at(bh_da_node(g, g->first + i)), 0);
    (void)bh_take_in64(slice->hints, bh_da_at(g->nodes + BH_DA_RETURNED), stash->next - stash->end);
    return 1;
}

/* Asks for `count` nodes of a stash, or those that there are, from number `at` on. A store to a node that is not
 * in the cache does not wait, but the next locked instruction waits for the store (docs/decisions/0049). */
BH_FN void bh_da_bring_stashed(const bh__stash *stash, const bh_da_geometry *g, uint64_t at,
                               uint64_t count)
{
    for (; count && at < stash->end; at++, count--)
        bh_bring_to_write(bh_da_at(bh_da_node(g, g->first + at)));
}

/* Takes a node for an operation; answers its address, 0 when there is none. A slice takes one node, then two, then four, if
 * there are none on the shelf. Sixteen threads that took their nodes one by one filled a table at 0.4 of the rate. */
BH_FN uint64_t bh_da_pop(const bh__slice *slice, const bh_da_geometry *g)
{
    bh__stash *stash = BH_ONE_THREAD ? slice->stash : 0;

    if (!stash)
        return bh_da_pop_one(slice->hints, g);
    if (stash->next == stash->end && !bh_da_take_shelved(slice, g)) {
        const uint64_t taken = bh_da_take(slice->hints, g, stash->bunch, &stash->next);

        stash->end = stash->next + taken;
        if (!taken)
            return 0;
        if (stash->bunch < BH_DA_BUNCH_MOST)
            stash->bunch *= 2;
        bh_da_bring_stashed(stash, g, stash->next, BH_DA_STASHED_AHEAD);
    }
    bh_da_bring_stashed(stash, g, stash->next + BH_DA_STASHED_AHEAD, 1);
    return bh_da_node(g, g->first + stash->next++);
}

/* Puts the nodes back that a slice has taken and not used: as if they had never been taken, if no others have been since;
 * else as returned ones, on the shelf if it has room. */
BH_FN void bh_da_put_back(const bh__slice *slice, const bh_da_geometry *g)
{
    unsigned char *const stack = bh_da_at(g->nodes);
    bh__stash *stash = slice->stash;
    const uint64_t left = stash->end - stash->next;
    const uint64_t run = stash->next | left << 32;
    uint64_t i;

    if (!left || bh_swap_in64(slice->hints, stack + BH_DA_TAKEN, stash->end, stash->next)) {
        stash->next = stash->end;
        return;
    }
    for (; stash->next < stash->end; stash->next++)
        bh_store64(bh_da_at(bh_da_node(g, g->first + stash->next)), BH_DA_FREE);
    (void)bh_take_in64(slice->hints, stack + BH_DA_RETURNED, left);
    for (i = 0; i < BH_DA_SHELF_WORDS; i++)
        if (!bh_load64(stack + BH_DA_SHELF + 8 * i) &&
            bh_swap_in64(slice->hints, stack + BH_DA_SHELF + 8 * i, 0, run))
            return;
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
