/*
 * DyCuckoo, operations that the steps have left undone, finished with the gate held alone. An
 * include-template that ops.h includes.
 *
 * An insert stalls for want of room, or when its own search, of few buckets and short paths, finds no
 * free slot. Here BH_DY(make_room) searches further: breadth first from both buckets of the key, over
 * thousands of buckets if need be, for a shortest path to a free slot. BH_DY_PASS_PLACE does so for
 * each element that a slice has left; halving (resize.h) and another seed (whole.h) do so for keys
 * that they find no slot for.
 *
 * Everyone else waits meanwhile. So there are limits to how many buckets one search looks at
 * (BH_DY_LOOKS_LONE), and how many all searches of one hold look at (BH_DY_LOOKS_HELD). A halving or
 * rebuilding ends at the first search in vain, and is undone.
 */
#ifndef BH_TABLES_DYCUCKOO_PLACE_H
#define BH_TABLES_DYCUCKOO_PLACE_H

#define BH_DY_LOOKS_LONE (BH_BRINGS ? BH_DY_SEARCH_LOOKS : BH_DY_SEARCH_LOOKS_FAR)
#define BH_DY_LOOKS_HELD (BH_BRINGS ? BH_DY_HOLD_LOOKS : BH_DY_HOLD_LOOKS_FAR)

/* How many elements ahead BH_DY_PASS_PLACE prefetches lines. Chosen, not tuned. */
#define BH_DY_PLACE_AHEAD 8u

#endif

/* Lists a bucket in which a pass has left keys. */
BH_FN_RARE void BH_DY(note_left)(bh_dy_list *list, uint64_t bucket)
{
    const uint64_t place = bh_take64(&list->count, 1);

    if (place < BH_DY_LISTED_MOST)
        list->bucket[place] = (uint32_t)bucket;
}

/* Runs one operation of a pass to its end, or until it stalls. */
BH_FN_RARE bh_answer BH_DY(carry)(bh__slice *slice, uint32_t at, uint32_t kind)
{
    bh_answer answer = BH_NEXT;
    uint32_t refused = 0;
    bh_region region;
    BH_DY(op) op;

    op.home = op.other = op.from = 0; /* set by steps; the compiler cannot see that */
    op.path = op.depth = op.deepest = 0;
    region = BH_DY(begin)(slice, &op, at, kind);
    do {
        if (!bh_turn(refused))
            continue;
        answer = BH_DY(step)(slice, &op, kind, region.offset, &region);
        refused = answer == BH_RETRY ? refused + 1 : 0;
    } while (answer == BH_NEXT || answer == BH_RETRY);
    if (answer == BH_DONE && slice->outcomes)
        slice->outcomes[at] = op.outcome;
    return answer;
}

/*
 * Whether a key may go to `to` while a subtable is being halved. To undo a halving, the keys that were in
 * the half that goes move back there. They find their slots free because no other key belongs in that half:
 * so no key that would belong there may come to the subtable from another one.
 */
BH_FN int BH_DY(stays_undoable)(const bh_dy_resize *merge, BH_KEY key, uint64_t to, int home)
{
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    uint64_t word = home ? hash.one : bh_dy_word_other(hash);

    return to - subtable->lines >=
               (uint64_t)BH_DY_BUCKET_BYTES * (geometry->base << subtable->doublings) ||
           !(word >> subtable->doublings & 1);
}

/* Adds a bucket to those that a search has seen; its meta word is `meta`. */
BH_FN void BH_DY(see)(bh_dy_node *node, uint64_t line, uint64_t meta, uint32_t parent,
                      uint32_t slot)
{
    node->line = line;
    node->parent = parent;
    node->slot = slot;
    bh_write64(bh_dy_at(line), meta | BH_DY_SEEN);
}

/*
 * Makes a free slot in one of two full buckets: breadth first search over the
 * residents' other places, then the moves from the free end back. A shortest path visits no bucket
 * twice, so no move disturbs another. Answers whether one of the two buckets has room now; 0, nothing
 * changed, when no path was found within *looks looks, which are counted down. `merge` is NULL, or the
 * halving that is going on: see stays_undoable.
 *
 * Buckets are marked when they are seen, so that keys which all want the same few buckets are found to
 * have no path after these few.
 */
BH_FN_RARE int BH_DY(make_room)(const bh_dy_geometry *geometry, const bh__scratch *scratch,
                                uint64_t *looks, const uint64_t *root, const bh_dy_resize *merge)
{
    bh_dy_node *nodes = (bh_dy_node *)scratch->memory;
    const uint64_t most = scratch->bytes / sizeof *nodes;
    uint64_t from = 0, to = 0, found = 0;
    uint32_t head, tail, slot = 0, i;

    for (tail = 0; tail < 2; tail++)
        BH_DY(see)(&nodes[tail], root[tail], bh_load64(bh_dy_at(root[tail])), UINT32_MAX, 0);
    for (head = 0; head < tail; head++) {
        from = nodes[head].line;
        for (slot = 0; slot < BH_DY_BUCKET_SLOTS && *looks; slot++) {
            BH_KEY key = BH_LOAD_KEY(BH_DY(key_at)(from, slot));
            bh_dy_places places = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES);
            uint64_t meta;

            to = places.home == from ? places.other : places.home;
            if (merge && !BH_DY(stays_undoable)(merge, key, to, to == places.home))
                continue;
            --*looks;
            meta = bh_load64(bh_dy_at(to));
            if (!BH_DY(full)(meta)) {
                found = to;
                break;
            }
            if (!(meta & BH_DY_SEEN) && tail < most)
                BH_DY(see)(&nodes[tail++], to, meta, head, slot);
        }
        if (found || !*looks)
            break;
    }
    for (i = 0; i < tail; i++)
        bh_write64(bh_dy_at(nodes[i].line), bh_load64(bh_dy_at(nodes[i].line)) & ~BH_DY_SEEN);
    if (!found)
        return 0;
    while (BH_DY(try_move)(geometry, from, slot, to) == BH_DY_MOVED &&
           nodes[head].parent != UINT32_MAX) {
        to = from;
        slot = nodes[head].slot;
        head = nodes[head].parent;
        from = nodes[head].line;
    }
    return 1;
}

/* BH_DY_PASS_PLACE: prefetches the home line of an element that comes soon. */
BH_FN void BH_DY(place_ahead)(const bh__slice *slice, uint32_t i)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;

    if (BH_BRINGS && i < slice->listed)
        bh_bring_to_write(
            bh_dy_at(bh_dy_places_of(geometry, ((const BH_KEY *)slice->keys)[slice->list[i]],
                                     BH_DY_BUCKET_BYTES)
                         .home));
}

/* BH_DY_PASS_PLACE: performs one element, making room for it along a longer path if need be. */
BH_FN bh_answer BH_DY(place_one)(bh__slice *slice, uint32_t at)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint32_t kind = slice->ops ? slice->ops[at] : slice->op;

    for (;;) {
        uint64_t allowed = slice->looks < BH_DY_LOOKS_LONE ? slice->looks : BH_DY_LOOKS_LONE;
        uint64_t looks = allowed;
        bh_dy_places places;
        uint64_t root[2];
        int found;

        if (BH_DY(carry)(slice, at, kind) == BH_DONE)
            return BH_DONE;
        if (!slice->room || !allowed || slice->vain >= slice->vain_most)
            return BH_STALL;
        places = bh_dy_places_of(geometry, ((const BH_KEY *)slice->keys)[at], BH_DY_BUCKET_BYTES);
        root[0] = places.home;
        root[1] = places.other;
        found = BH_DY(make_room)(geometry, slice->scratch, &looks, root, 0);
        slice->looks -= allowed - looks;
        if (!found) {
            slice->vain +=
                allowed - looks + BH_LOOKS_OF_SEARCH; /* the operation's own search, before */
            return BH_STALL;
        }
    }
}

/*
 * BH_DY_PASS_PLACE: finishes the operations that a slice's list names, one by one, making room along
 * longer paths. What found no room within max_fill, or no path, stays in the list and is counted as
 * refused. The pass stops at the first such operation if the table may still grow for it. It also stops when
 * its searches have made BH_DY_LOOKS_HELD looks, because everyone else waits. Operations that were not tried
 * stay in the list behind the refused ones.
 */
BH_FN void BH_DY(place)(void *argument, uint64_t first, uint64_t count)
{
    bh__slice *slice = (bh__slice *)argument;
    const uint64_t looks = slice->looks;
    uint32_t kept = 0, i;
    int stopped = 0;

    (void)first;
    (void)count;
    slice->refused = 0;
    for (i = 0; i < BH_DY_PLACE_AHEAD; i++)
        BH_DY(place_ahead)(slice, i);
    for (i = 0; i < slice->listed; i++) {
        uint32_t at = slice->list[i];

        BH_DY(place_ahead)(slice, i + BH_DY_PLACE_AHEAD);
        if (stopped || BH_DY(place_one)(slice, at) != BH_DONE) {
            slice->list[kept++] = (uint16_t)at;
            slice->refused += !stopped;
            stopped |= !(slice->hints & BH_HINT_FINAL);
        }
        stopped |= looks - slice->looks >= BH_DY_LOOKS_HELD;
    }
    slice->stalled = kept;
}
