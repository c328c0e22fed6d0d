/*
 * DyCuckoo, a subtable changes its size: the passes that move keys when it has doubled or halved. An
 * include-template that ops.h includes. bh_dy_resize (layout.h) is what they are told.
 *
 *     doubled   BH_DY_PASS_SPLIT     keys whose next index bit is set move from a bucket of the old half
 *                                    to the bucket as far up in the new half; filters are cleared
 *               BH_DY_PASS_HOME      guests elsewhere whose home is this subtable come home, or are
 *                                    counted in its filters
 *     halved    BH_DY_PASS_MERGE     keys of the half that goes move down, or out to the other bucket
 *                                    of their pair
 *               BH_DY_PASS_LEFT      what is left goes to the other bucket of its pair, too, if a resident there can
 *                                    move; buckets in which keys are left even so are listed
 *               BH_DY_PASS_RESIDUE   these get a place along a longer path (place.h)
 *
 * The gate is held alone. A bucket of the subtable, or one that HOME takes keys from, belongs to one task, so it needs no lock
 * (HOME on a GPU has a thread for each key, and these share it). A bucket of another subtable that a key goes to may be wanted by
 * several tasks: MERGE and LEFT lock it for a few stores, HOME claims a slot of it by one exchange. LEFT also moves keys
 * from one such bucket to another, with both locks. Such buckets lie anywhere in memory, so their lines
 * are prefetched, and the keys that go there wait in a ring buffer (`moving`) meanwhile.
 */
#ifndef BH_TABLES_DYCUCKOO_RESIZE_H
#define BH_TABLES_DYCUCKOO_RESIZE_H

/* How many buckets of other subtables a pass prefetches while it reads on: they lie anywhere. */
#define BH_DY_MOVING_MOST (BH_BRINGS ? 32u : 1u)

/* How many buckets ahead a pass prefetches those that it reads in order: hardware prefetchers stop at the
 * end of each page. It took 14% off BH_DY_PASS_HOME where it was measured. */
#define BH_DY_AHEAD 24u

/* A pair that a pass may move to a bucket of another subtable. */
typedef struct bh_dy_moving {
    uint64_t from;
    uint64_t to;
    uint32_t slot;
    uint32_t counter; /* of the key */
    int homeward;
} bh_dy_moving;

#endif

/*
 * BH_DY_PASS_SPLIT: moves the keys whose next index bit is set into the new half of a subtable, and
 * clears its filters; BH_DY_PASS_HOME makes them anew.
 */
BH_FN void BH_DY(split_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *split = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = split->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[split->subtable];
    uint64_t bit = subtable->doublings - 1;
    uint64_t half = (uint64_t)BH_DY_BUCKET_BYTES * (geometry->base << bit);
    uint64_t moved = 0, i;

    for (i = first; i < first + count; i++) {
        uint64_t low = subtable->lines + (uint64_t)BH_DY_BUCKET_BYTES * i, high = low + half;
        uint64_t low_meta = bh_read64(bh_dy_at(low)) & ~BH_DY_FILTER_MASK;
        /* Reading memory before it is first written costs a second page fault. */
        uint64_t high_meta = split->fresh ? 0 : bh_read64(bh_dy_at(high)) & ~BH_DY_FILTER_MASK;
        uint32_t guests = bh_dy_maybe_guests(low_meta, BH_DY_BUCKET_SLOTS), up = 0, slot;

        /* All slots are treated alike, without branches: half of the keys go, unpredictably. */
        for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++) {
            bh_hash hash = bh_hash_key(BH_DY(own_key)(low, slot), &geometry->seed);
            uint64_t word = hash.one, other = bh_dy_word_other(hash);
            uint32_t guest =
                BH_DY_BUCKET_SLOTS > BH_DY_GUESTS_KNOWN
                    ? (geometry->pair[bh_dy_pair_of(geometry, hash)] & 15u) != split->subtable
                    : guests >> slot & 1u;

            word ^= (word ^ other) & (0ull - guest);
            up |= (uint32_t)(word >> bit & 1) << slot;
        }
        for (up &= bh_dy_used(low_meta, BH_DY_BUCKET_SLOTS); up; up &= up - 1) {
            slot = bh_first(up);
            high_meta = BH_DY(put)(high, high_meta, BH_DY(own_key)(low, slot),
                                   BH_DY(own_value)(low, slot), (int)(guests >> slot & 1u));
            low_meta = BH_DY(take)(low_meta, slot);
            moved++;
        }
        bh_write64(bh_dy_at(low), low_meta);
        bh_write64(bh_dy_at(high), high_meta);
    }
    bh_add64(&split->moved, moved);
}

/* Brings a key home if there is room, else counts it in its home's filter, which is being made anew; answers 1 if it has moved.
 * The pass reads no pairs of the subtable that has doubled, so a slot there is taken by an exchange of the meta word and written after
 * that. An exchange is refused only when another key's has succeeded. `shared`: other threads take keys from the bucket that it
 * leaves. */
BH_FN uint32_t BH_DY(go_home)(const bh_dy_moving *key, int shared)
{
    const uint64_t left = BH_DY_CHANGE - bh_dy_slot_bits(key->slot, BH_DY_BUCKET_SLOTS, 1);
    uint64_t meta = bh_peek64(bh_dy_at(key->to)), taken;
    uint32_t empty;

    for (;; meta = bh_peek64(bh_dy_at(key->to))) {
        empty = ~(uint32_t)meta & BH_DY_BUCKET_ALL << BH_DY_USED_SHIFT;
        taken = empty ? (meta | bh_dy_slot_bits(BH_DY(slot_of)(empty), BH_DY_BUCKET_SLOTS, 0)) +
                            BH_DY_CHANGE
                      : bh_dy_count_up(meta, key->counter);
        if (taken == meta || bh_swap_if64(bh_dy_at(key->to), meta, taken))
            break;
    }
    if (!empty)
        return 0;
    BH_DY(set_pair)(key->to, BH_DY(slot_of)(empty), BH_DY(own_key)(key->from, key->slot),
                    BH_DY(own_value)(key->from, key->slot));
    if (shared)
        bh_add64(bh_dy_at(key->from), left);
    else
        bh_write64(bh_dy_at(key->from), bh_read64(bh_dy_at(key->from)) + left);
    return 1;
}

/* The address of the bucket of an item of BH_DY_PASS_HOME, and how many items from this one on are buckets of the same
 * subtable: items count the buckets of all subtables but the one that has doubled. */
BH_FN uint64_t BH_DY(line_elsewhere)(const bh_dy_resize *split, uint64_t item, uint64_t *left)
{
    const bh_dy_geometry *geometry = split->geometry;
    const bh_dy_subtable *subtable = geometry->subtable;

    for (;; subtable++) {
        const uint64_t buckets = geometry->base << subtable->doublings;

        if (subtable == geometry->subtable + split->subtable)
            continue;
        if (item < buckets) {
            *left = buckets - item;
            return subtable->lines + (uint64_t)BH_DY_BUCKET_BYTES * item;
        }
        item -= buckets;
    }
}

/* Whether the key in a slot of another subtable has its home in the one that has doubled; its hash, and the number of its
 * pair of subtables. */
BH_FN int BH_DY(is_from)(const bh_dy_resize *split, uint64_t line, uint32_t slot, bh_hash *hash,
                         uint64_t *pair)
{
    *hash = bh_hash_key(BH_DY(own_key)(line, slot), &split->geometry->seed);
    *pair = bh_dy_pair_of(split->geometry, *hash);
    return (split->geometry->pair[*pair] & 15u) == split->subtable;
}

/* The guest in a slot, whose hash is `hash`, as one to bring home; `pair` is the number of its pair of subtables. */
BH_FN bh_dy_moving BH_DY(way_home)(const bh_dy_resize *split, uint64_t line, uint32_t slot,
                                   bh_hash hash, uint64_t pair)
{
    const bh_dy_geometry *geometry = split->geometry;
    const bh_dy_subtable *home = &geometry->home[pair];
    bh_dy_moving moving;

    moving.from = line;
    moving.to = bh_dy_line_of(geometry, home, hash.one, BH_DY_BUCKET_BYTES);
    moving.slot = slot;
    moving.counter = bh_dy_counter_of(hash.one >> home->doublings);
    moving.homeward = 1;
    return moving;
}

/* BH_DY_PASS_HOME on a device (SPARSE): the slots of a bucket whose keys come home, one of them, and how many have moved. */
BH_FN uint32_t BH_DY(bring_home_wants)(const void *argument, uint64_t item)
{
    const bh_dy_resize *split = (const bh_dy_resize *)argument;
    uint64_t left, pair;
    const uint64_t line = BH_DY(line_elsewhere)(split, item, &left);
    uint32_t guests = bh_dy_maybe_guests(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS), wants = 0;
    bh_hash hash;

    for (; guests; guests &= guests - 1)
        if (BH_DY(is_from)(split, line, bh_first(guests), &hash, &pair))
            wants |= guests & (0u - guests);
    return wants;
}

BH_FN uint32_t BH_DY(bring_home_part)(void *argument, uint64_t item, uint32_t slot)
{
    const bh_dy_resize *split = (const bh_dy_resize *)argument;
    uint64_t left, pair;
    const uint64_t line = BH_DY(line_elsewhere)(split, item, &left);
    bh_hash hash;
    bh_dy_moving key;

    (void)BH_DY(is_from)(split, line, slot, &hash, &pair);
    key = BH_DY(way_home)(split, line, slot, hash, pair);
    return BH_DY(go_home)(&key, 1);
}

BH_FN void BH_DY(bring_home_sum)(void *argument, uint64_t moved)
{
    bh_add64(&((bh_dy_resize *)argument)->moved, moved);
}

/*
 * BH_DY_PASS_HOME: brings home from other subtables the keys whose home is the subtable that has
 * doubled. This pass keeps the subtables equally full, and most misses at one line, in a table that
 * grows: a subtable that is about to double is the fullest, so many of its keys are guests elsewhere.
 * Keys that stay guests are counted in their homes' filters here.
 */
BH_FN void BH_DY(bring_home)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *split = (bh_dy_resize *)argument;
    uint64_t moved = 0, found = 0, left, here, i;
    bh_dy_moving moving[BH_DY_MOVING_MOST];

    for (; count; first += here, count -= here) {
        uint64_t line = BH_DY(line_elsewhere)(split, first, &left);

        here = left < count ? left : count;
        for (i = 0; i < here; i++, line += BH_DY_BUCKET_BYTES) {
            uint32_t guests = bh_dy_maybe_guests(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS);

            if (i + BH_DY_AHEAD < here)
                bh_bring(bh_dy_at(line + BH_DY_AHEAD * (uint64_t)BH_DY_BUCKET_BYTES));
            for (; guests; guests &= guests - 1) {
                uint32_t slot = bh_first(guests);
                bh_dy_moving *key = &moving[found % BH_DY_MOVING_MOST];
                bh_hash hash;
                uint64_t pair;

                if (!BH_DY(is_from)(split, line, slot, &hash, &pair))
                    continue;
                if (found++ >= BH_DY_MOVING_MOST)
                    moved += BH_DY(go_home)(key, 0);
                *key = BH_DY(way_home)(split, line, slot, hash, pair);
                bh_bring_to_write(bh_dy_at(key->to));
            }
        }
    }
    for (i = found < BH_DY_MOVING_MOST ? 0 : found - BH_DY_MOVING_MOST; i < found; i++)
        moved += BH_DY(go_home)(&moving[i % BH_DY_MOVING_MOST], 0);
    bh_add64(&split->moved, moved);
}

/* Where a key goes for which a halving leaves no slot: to its bucket in the other subtable of its pair,
 * which is its home if the key was a guest. */
BH_FN_RARE bh_dy_moving BH_DY(way_out)(const bh_dy_resize *merge, uint64_t high, uint32_t slot)
{
    const bh_dy_geometry *geometry = merge->geometry;
    BH_KEY key = BH_DY(own_key)(high, slot);
    bh_dy_places places = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES);
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    bh_dy_moving moving;

    moving.from = high;
    moving.slot = slot;
    moving.homeward = (geometry->pair[bh_dy_pair_of(geometry, hash)] & 15u) != merge->subtable;
    moving.to = moving.homeward ? places.home : places.other;
    moving.counter = places.counter;
    return moving;
}

/* One attempt to move a key to where way_out says, if there is room. A key that leaves its home is counted
 * in its home bucket of the half that stays, `half` bytes below. Answers 0 when the bucket that it goes to
 * is locked; *went says whether the key went. */
BH_FN_RARE int BH_DY(try_go_out)(const bh_dy_moving *key, uint64_t half, int *went)
{
    uint64_t from_meta = bh_read64(bh_dy_at(key->from)), to_meta, home = key->from - half;

    if (!bh_dy_try_lock(key->to, &to_meta))
        return 0;
    *went = !BH_DY(full)(to_meta);
    if (!*went) {
        bh_dy_unlock(key->to, to_meta);
    } else if (key->homeward) {
        to_meta = bh_dy_count_down(to_meta, key->counter);
        BH_DY(move_home)(key->from, from_meta, key->slot, key->to, to_meta);
    } else {
        bh_write64(bh_dy_at(home), bh_dy_count_up(bh_read64(bh_dy_at(home)), key->counter));
        BH_DY(move_away)(key->from, from_meta, key->slot, key->to, to_meta, key->counter);
    }
    return 1;
}

/* Moves a key to where way_out says, trying until that bucket is not locked; answers whether it went. */
BH_FN int BH_DY(go_out)(const bh_dy_moving *key, uint64_t half)
{
    uint32_t refused = 0;
    int went = 0;

    while (!bh_turn(refused) || !BH_DY(try_go_out)(key, half, &went))
        refused++;
    return went;
}

/*
 * BH_DY_PASS_MERGE: a subtable has halved. The keys of each bucket of the half that goes move to their
 * bucket in the half that stays, those at home first; for the rest see way_out. A key that finds no room
 * there either stays where it is. Each bucket of this subtable belongs to one task.
 */
BH_FN void BH_DY(merge_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *merge = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    uint64_t half = (uint64_t)BH_DY_BUCKET_BYTES * (geometry->base << subtable->doublings);
    uint64_t moved = 0, found = 0, gone = 0, i;
    bh_dy_moving moving[BH_DY_MOVING_MOST];

    for (i = first; i < first + count; i++) {
        uint64_t low = subtable->lines + (uint64_t)BH_DY_BUCKET_BYTES * i, high = low + half;
        uint64_t low_meta = bh_read64(bh_dy_at(low)), high_meta = bh_read64(bh_dy_at(high));
        uint32_t guests = bh_dy_maybe_guests(high_meta, BH_DY_BUCKET_SLOTS);
        uint32_t kept[2] = {bh_dy_maybe_residents(high_meta, BH_DY_BUCKET_SLOTS) & ~guests, guests},
                 part;

        low_meta = (low_meta & ~BH_DY_FILTER_MASK) | bh_dy_merged_filter(low_meta, high_meta);
        high_meta &= ~BH_DY_FILTER_MASK;
        for (part = 0; part < 2; part++) {
            for (; kept[part] && !BH_DY(full)(low_meta); kept[part] &= kept[part] - 1) {
                uint32_t slot = bh_first(kept[part]);

                low_meta = BH_DY(put)(low, low_meta, BH_DY(own_key)(high, slot),
                                      BH_DY(own_value)(high, slot), (int)part);
                high_meta = BH_DY(take)(high_meta, slot);
                moved++;
            }
        }
        bh_write64(bh_dy_at(low), low_meta);
        bh_write64(bh_dy_at(high), high_meta);
        for (kept[0] |= kept[1]; kept[0]; kept[0] &= kept[0] - 1) {
            bh_dy_moving *key = &moving[found % BH_DY_MOVING_MOST];

            if (found++ >= BH_DY_MOVING_MOST)
                gone += (uint64_t)BH_DY(go_out)(key, half);
            *key = BH_DY(way_out)(merge, high, bh_first(kept[0]));
            bh_bring_to_write(bh_dy_at(key->to));
        }
    }
    for (i = found < BH_DY_MOVING_MOST ? 0 : found - BH_DY_MOVING_MOST; i < found; i++)
        gone += (uint64_t)BH_DY(go_out)(&moving[i % BH_DY_MOVING_MOST], half);
    bh_add64(&merge->moved, moved + gone);
    bh_add64(&merge->left, found - gone);
}

/* One key that a halving has left: a place for it along a longer path. Answers 0 when there is
 * none. */
BH_FN_RARE int BH_DY(place_left)(const bh_dy_resize *merge, uint64_t high, uint32_t slot,
                                 uint64_t half)
{
    bh_dy_moving key = BH_DY(way_out)(merge, high, slot);
    uint64_t root[2] = {high - half, key.to}, looks = BH_DY_LOOKS_LONE, meta;

    if (BH_DY(go_out)(&key, half))
        return 1;
    meta = bh_read64(bh_dy_at(root[0]));
    if (BH_DY(full)(meta)) {
        if (!BH_DY(make_room)(merge->geometry, merge->scratch, &looks, root, merge))
            return 0;
        if (BH_DY(go_out)(&key, half))
            return 1;
        meta = bh_read64(bh_dy_at(root[0]));
    }
    bh_store64(bh_dy_at(root[0]), BH_DY(put)(root[0], meta, BH_DY(own_key)(high, slot),
                                             BH_DY(own_value)(high, slot), key.homeward));
    bh_store64(bh_dy_at(high), BH_DY(take)(bh_read64(bh_dy_at(high)), slot));
    return 1;
}

/*
 * Moves a key to where way_out says, which is full: one of the residents there moves to its own other bucket. Not to one
 * of the subtable that is halved: buckets of that belong to one task each, and to undo the halving they must
 * get no other keys (stays_undoable). Answers whether the key went; *moved counts residents that moved.
 */
BH_FN_RARE int BH_DY(crowd_out)(const bh_dy_resize *merge, const bh_dy_moving *key, uint64_t half,
                                uint64_t *moved)
{
    const bh_dy_geometry *geometry = merge->geometry;
    const uint64_t lines = geometry->subtable[merge->subtable].lines;
    uint32_t slot;

    if (geometry->subtables == 2)
        return 0; /* all residents would go to the one that is halved */
    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++) {
        BH_KEY resident = BH_LOAD_KEY(BH_DY(key_at)(key->to, slot));
        bh_dy_places places = bh_dy_places_of(geometry, resident, BH_DY_BUCKET_BYTES);
        uint64_t to = places.home == key->to ? places.other : places.home;

        if (to - lines < half || BH_DY(try_move)(geometry, key->to, slot, to) != BH_DY_MOVED)
            continue;
        ++*moved;
        if (BH_DY(go_out)(key, half))
            return 1;
    }
    return 0;
}

/* BH_DY_PASS_LEFT. */
BH_FN void BH_DY(move_left)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_halving *halving = (bh_dy_halving *)argument;
    bh_dy_resize *merge = &halving->resize;
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    uint64_t half = (uint64_t)BH_DY_BUCKET_BYTES * (geometry->base << subtable->doublings);
    uint64_t gone = 0, moved = 0, i;

    first += halving->first;
    for (i = first; i < first + count; i++) {
        uint64_t high = subtable->lines + half + (uint64_t)BH_DY_BUCKET_BYTES * i;
        uint32_t left = bh_dy_used(bh_read64(bh_dy_at(high)), BH_DY_BUCKET_SLOTS);
        int stays = 0;

        for (; left; left &= left - 1) {
            bh_dy_moving key = BH_DY(way_out)(merge, high, bh_first(left));

            if (BH_DY(go_out)(&key, half) || BH_DY(crowd_out)(merge, &key, half, &moved))
                gone++;
            else
                stays = 1;
        }
        if (stays)
            BH_DY(note_left)(&halving->list, i);
    }
    bh_add64(&merge->moved, gone + moved);
    bh_add64(&merge->left, 0 - gone);
}

/* BH_DY_PASS_RESIDUE: looks for longer paths for the keys that a halving has left, and stops when it has found
 * none for one of them: then the halving is undone. */
BH_FN void BH_DY(place_residue)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_halving *halving = (bh_dy_halving *)argument;
    bh_dy_resize *merge = &halving->resize;
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    uint64_t half = (uint64_t)BH_DY_BUCKET_BYTES * (geometry->base << subtable->doublings);
    uint64_t gone = 0, i;
    int found = 1;

    for (i = first; i < first + count && found; i++) {
        uint64_t high =
            subtable->lines + half + (uint64_t)BH_DY_BUCKET_BYTES * halving->list.bucket[i];
        uint32_t left = bh_dy_used(bh_read64(bh_dy_at(high)), BH_DY_BUCKET_SLOTS);

        for (; left && found; left &= left - 1) {
            found = BH_DY(place_left)(merge, high, bh_first(left), half);
            gone += (uint64_t)found;
        }
    }
    halving->vain = !found;
    bh_add64(&merge->moved, gone);
    bh_add64(&merge->left, 0 - gone);
}
