/*
 * DyCuckoo, the two buckets of a key, and the move of a key from one to the other. An include-template
 * that ops.h includes.
 *
 * Both buckets follow from the hash and the geometry:
 *
 *     hash.two, upper half     picks the ordered pair of subtables: that of home, and the other one
 *     hash.one                 picks the bucket in the home subtable; the next bits above its index
 *                              bits pick the key's counter in the filter there
 *     bh_dy_word_other(hash)   picks the bucket in the other subtable
 *
 * A move copies the pair, publishes the copy and takes the original out, in this order, so a reader
 * finds the key at every instant in at least one bucket. BH_DY(try_move) is a whole move of its own, with
 * both locks; BH_DY(move_away) and BH_DY(move_home) are for those who hold both buckets already. (BH_DY_PASS_HOME, which no reader
 * runs beside, claims a slot first and writes it then: BH_DY(go_home) in resize.h.)
 */
#ifndef BH_TABLES_DYCUCKOO_MOVES_H
#define BH_TABLES_DYCUCKOO_MOVES_H

#define BH_DY_OTHER_FACTOR 0xd6e8feb86659fd93ull

/* The word of a hash that picks the bucket in the other subtable (in the home subtable hash.one does): a
 * third function of the hash, so that keys of one home bucket spread over all other buckets however many
 * times their subtables have doubled. */
BH_FN uint64_t bh_dy_word_other(bh_hash hash)
{
    return hash.two * BH_DY_OTHER_FACTOR;
}

/* The number of a key's bucket in one of its subtables, by the word of the hash for that subtable;
 * bh_dy_line_of is the bucket's address. */
BH_FN uint64_t bh_dy_bucket_of(const bh_dy_geometry *geometry, const bh_dy_subtable *subtable,
                               uint64_t word)
{
    uint64_t base = geometry->base;

    return bh_hash_range(word, base) + base * (word & subtable->mask);
}

BH_FN uint64_t bh_dy_line_of(const bh_dy_geometry *geometry, const bh_dy_subtable *subtable,
                             uint64_t word, uint32_t bucket_bytes)
{
    return subtable->lines + bucket_bytes * bh_dy_bucket_of(geometry, subtable, word);
}

/* The ordered pair of subtables of a key, as an index of geometry's pair and home. */
BH_FN uint64_t bh_dy_pair_of(const bh_dy_geometry *geometry, bh_hash hash)
{
    return (hash.two >> 32) * geometry->pairs >> 32;
}

/* The address of a key's other bucket. */
BH_FN uint64_t bh_dy_other_of(const bh_dy_geometry *geometry, bh_hash hash, uint32_t bucket_bytes)
{
    const uint64_t pair = bh_dy_pair_of(geometry, hash);

    return bh_dy_line_of(geometry, &geometry->subtable[geometry->pair[pair] >> 4],
                         bh_dy_word_other(hash), bucket_bytes);
}

/* Both places of a key. */
typedef struct bh_dy_places {
    uint64_t home;
    uint64_t other;
    uint32_t counter;
} bh_dy_places;

BH_FN bh_dy_places bh_dy_places_of(const bh_dy_geometry *geometry, uint64_t key,
                                   uint32_t bucket_bytes)
{
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    uint64_t pair = bh_dy_pair_of(geometry, hash);
    const bh_dy_subtable *home = &geometry->home[pair];
    bh_dy_places places;

    places.home = bh_dy_line_of(geometry, home, hash.one, bucket_bytes);
    places.other = bh_dy_other_of(geometry, hash, bucket_bytes);
    places.counter = bh_dy_counter_of(hash.one >> home->doublings);
    return places;
}

/* What became of an attempt to move a resident. */
typedef enum bh_dy_moved {
    BH_DY_MOVED,
    BH_DY_BUSY, /* a bucket is locked, or has changed: try again */
    BH_DY_FULL,
    BH_DY_STALE /* the slot does not hold what it held */
} bh_dy_moved;

#endif

/*
 * Copies the resident in `slot` of `from` to a free slot of `to`, its other bucket; both are locked, or the gate is held
 * alone. The copy is published here; the original goes when the caller unlocks `from` with the meta word that this answers. The
 * key is counted in that, as readers rely on.
 */
BH_FN uint64_t BH_DY(copy_away)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                                uint64_t to_meta, uint32_t counter)
{
    bh_dy_unlock(
        to, BH_DY(put)(to, to_meta, BH_DY(own_key)(from, slot), BH_DY(own_value)(from, slot), 1));
    return BH_DY(take)(bh_dy_count_up(from_meta, counter), slot);
}

/* Copies a guest home: copy_away the other way. `to_meta` is home's meta word with the key already counted down. */
BH_FN uint64_t BH_DY(copy_home)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                                uint64_t to_meta)
{
    bh_dy_unlock(
        to, BH_DY(put)(to, to_meta, BH_DY(own_key)(from, slot), BH_DY(own_value)(from, slot), 0));
    return BH_DY(take)(from_meta, slot);
}

/* The whole move of a resident away from home. */
BH_FN void BH_DY(move_away)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                            uint64_t to_meta, uint32_t counter)
{
    bh_dy_unlock(from, BH_DY(copy_away)(from, from_meta, slot, to, to_meta, counter));
}

/* The whole move of a guest home. */
BH_FN void BH_DY(move_home)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                            uint64_t to_meta)
{
    bh_dy_unlock(from, BH_DY(copy_home)(from, from_meta, slot, to, to_meta));
}

/* Moves the pair in `slot` of `from` to `to`, if that is still its other place, as an operation of
 * its own. */
BH_FN_RARE bh_dy_moved BH_DY(try_move)(const bh_dy_geometry *geometry, uint64_t from, uint32_t slot,
                                       uint64_t to)
{
    uint64_t from_meta = bh_load64(bh_dy_at(from)), to_meta = bh_load64(bh_dy_at(to));
    bh_dy_places places;

    if ((from_meta | to_meta) & BH_DY_LOCK)
        return BH_DY_BUSY;
    /* First what costs least: most moves that are tried end here. */
    if (BH_DY(full)(to_meta))
        return BH_DY_FULL;
    places = bh_dy_places_of(geometry, BH_LOAD_KEY(BH_DY(key_at)(from, slot)), BH_DY_BUCKET_BYTES);
    if (!(from_meta & bh_dy_used_bit(slot)) || !((places.home == from && places.other == to) ||
                                                 (places.home == to && places.other == from)))
        return BH_DY_STALE;
    if (!bh_swap_if64(bh_dy_at(from), from_meta, from_meta | BH_DY_LOCK))
        return BH_DY_BUSY;
    if (!bh_swap_if64(bh_dy_at(to), to_meta, to_meta | BH_DY_LOCK)) {
        bh_dy_unlock(from, from_meta);
        return BH_DY_BUSY;
    }
    if (places.home == from)
        BH_DY(move_away)(from, from_meta, slot, to, to_meta, places.counter);
    else
        BH_DY(move_home)(from, from_meta, slot, to, bh_dy_count_down(to_meta, places.counter));
    return BH_DY_MOVED;
}
