/*
 * DyCuckoo, insertions without locks where a key's home is full, by kernels of a GPU all of whose elements insert: a pair goes from
 * one of the key's buckets to its own other bucket, or home, and the key takes its slot. An include-template, to be included behind
 * ops.h. cuda/device/dycuckoo/make_way.h has the kernels, and pictures; claims.h is about slots that are free.
 *
 * No locks are needed, as for claims of free slots (tables/dycuckoo/claims.h), whose notes and marks are used: the last slot of the
 * way is claimed by a compare-and-swap of its bucket's meta word, then the one before it, and the key's at the end. Behind each
 * claim but the first the pair that was there is written to its new slot. If a compare-and-swap fails, the slot that was claimed
 * before it is free again (and a pair that has moved stays where it is). In a slot that has been claimed in a kernel there may be
 * anything during that kernel, so nothing moves from there.
 *
 * Why no key comes twice. Here a key that is absent comes into no slot without a compare-and-swap of home's meta word that leaves
 * its mark there. If two elements of one key try, the second compare-and-swap fails, or its element has
 * seen the first one's mark. A resident leaves its mark in its other bucket before it leaves home. So an element of its key
 * that does not see it at home any more, and looks at the other bucket after that, sees the mark there. A guest that goes home leaves its mark
 * there before it leaves: an element of its key that looked at its home before that saw the guest afterwards in its other bucket, or finds
 * home changed when it swaps.
 */
#ifndef BH_TABLES_DYCUCKOO_SENDING_H
#define BH_TABLES_DYCUCKOO_SENDING_H

/* Pairs whose other places a thread asks for at once: with more, registers would be spilled. */
#define BH_SENDS_ASKED 2u

#endif

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

/* A pair that may leave its slot, and where it could go. Its bucket has been seen with `meta`. */
typedef struct BH_DY(leaver) {
    uint64_t line;
    uint64_t meta;
    uint64_t to;      /* its other bucket, or its home if it is a guest; 0: it stays */
    uint64_t to_meta; /* as it was seen */
    BH_KEY key;
    uint32_t slot;
    int guest; /* it becomes a guest */
} BH_DY(leaver);

/* The other bucket of a pair in a bucket, 0 where the pair is not a resident. */
BH_FN uint64_t BH_DY(other_of)(const bh_dy_geometry *geometry, uint64_t line, BH_KEY key)
{
    bh_dy_places places;

    if (BH_DY_BUCKET_SLOTS <= BH_DY_GUESTS_KNOWN) /* the meta word has told */
        return bh_dy_other_of(geometry, bh_hash_key(key, &geometry->seed), BH_DY_BUCKET_BYTES);
    places = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES);
    return places.home == line ? places.other : 0;
}

/* The residents of a bucket that may leave their slots, as a mask of these. */
BH_FN uint32_t BH_DY(may_leave)(const bh__slice *slice, uint64_t meta)
{
    return bh_dy_maybe_residents(meta, BH_DY_BUCKET_SLOTS) & ~bh_dy_noted(slice, meta);
}

/* Looks where the pair in a slot could go, if it is a resident. Answers whether there is room. */
BH_FN int BH_DY(look_to)(const bh__slice *slice, BH_DY(leaver) *p)
{
    p->to = 0;
    p->guest = 1;
    if (p->slot < BH_DY_BUCKET_SLOTS && (BH_DY(may_leave)(slice, p->meta) >> p->slot & 1))
        p->to = BH_DY(other_of)((const bh_dy_geometry *)slice->geometry, p->line, p->key);
    if (!p->to)
        return 0;
    p->to_meta = bh_peek64(bh_dy_at(p->to));
    return !BH_DY(full)(p->to_meta);
}

/* Gives up a slot that has been claimed, for a guest or not. */
BH_FN void BH_DY(give_up)(uint64_t line, uint32_t slot, int guest)
{
    (void)bh_take64(bh_dy_at(line), 0 - bh_dy_slot_bits(slot, BH_DY_BUCKET_SLOTS, guest));
}

/* Which counter at its home counts a key as a guest. */
BH_FN uint32_t BH_DY(counter_of)(const bh__slice *slice, BH_KEY key)
{
    return bh_dy_places_of((const bh_dy_geometry *)slice->geometry, key, BH_DY_BUCKET_BYTES)
        .counter;
}

/* Claims the slot of a pair, which will go away, for another key, a guest there or not. `counter` is the pair's. */
BH_FN int BH_DY(claim_place)(const bh__slice *slice, const BH_DY(leaver) *p, uint32_t counter,
                             BH_KEY key, int guest)
{
    const uint64_t without = p->meta & ~bh_dy_slot_bits(p->slot, BH_DY_BUCKET_SLOTS, 1);
    const uint64_t noted = bh_dy_note(slice, without, key, p->slot, BH_DY_BUCKET_SLOTS) |
                           bh_dy_slot_bits(p->slot, BH_DY_BUCKET_SLOTS, guest);

    return bh_swap_if64(bh_dy_at(p->line), p->meta,
                        p->guest ? bh_dy_count_up(noted, counter) : noted);
}

/* An element on its way. */
typedef struct BH_DY(sender) {
    bh_dy_places places;
    uint64_t home_meta; /* as home was seen */
    BH_KEY key;
    BH_VALUE value;
} BH_DY(sender);

/* Before a key becomes a guest in its other bucket it is counted at home, and has its mark there. */
BH_FN int BH_DY(announce)(const bh__slice *slice, const BH_DY(sender) *s)
{
    const uint64_t marked = bh_dy_mark(slice, s->home_meta, s->key, BH_DY_BUCKET_SLOTS);

    return bh_swap_if64(bh_dy_at(s->places.home), s->home_meta,
                        bh_dy_count_up(marked, s->places.counter));
}

/* Where it could not become a guest, it is not counted any more. */
BH_FN void BH_DY(renounce)(const BH_DY(sender) *s)
{
    bh_dy_count_guest(s->places.home, s->places.counter, 1);
}

/* Claims the slot of a pair in one of the element's buckets for it; `guest`: in its other bucket. */
BH_FN int BH_DY(claim_for)(const bh__slice *slice, const BH_DY(leaver) *from, uint32_t counter,
                           const BH_DY(sender) *s, int guest)
{
    if (guest && !BH_DY(announce)(slice, s))
        return 0;
    if (BH_DY(claim_place)(slice, from, counter, s->key, guest))
        return 1;
    if (guest)
        BH_DY(renounce)(s);
    return 0;
}

/* The pair in `from` goes where there is room, and the element's takes its place. Answers BUSY where the room is gone, and STALE
 * where a bucket of the element's has changed. */
BH_FN bh_dy_moved BH_DY(replace)(const bh__slice *slice, const BH_DY(leaver) *from,
                                 const BH_DY(sender) *s, int guest)
{
    const BH_VALUE value = BH_DY(own_value)(from->line, from->slot);
    const uint32_t counter = BH_DY(counter_of)(slice, from->key);
    uint32_t slot;

    if (!BH_DY(claim_slot)(slice, from->to, from->to_meta, from->key, from->guest, &slot))
        return BH_DY_BUSY;
    if (!BH_DY(claim_for)(slice, from, counter, s, guest)) {
        BH_DY(give_up)(from->to, slot, from->guest);
        return BH_DY_STALE;
    }
    if (!from->guest)
        bh_dy_count_guest(from->to, counter, 1);
    BH_DY(set_pair)(from->to, slot, from->key, value);
    BH_DY(set_pair)(from->line, from->slot, s->key, s->value);
    return BH_DY_MOVED;
}

/* The same where the pair in `from` takes the place of one in its other bucket, which goes where there is room. Both are residents. */
BH_FN bh_dy_moved BH_DY(replace_both)(const bh__slice *slice, const BH_DY(leaver) *from,
                                      const BH_DY(leaver) *next, const BH_DY(sender) *s, int guest)
{
    const BH_VALUE from_value = BH_DY(own_value)(from->line, from->slot);
    const BH_VALUE next_value = BH_DY(own_value)(next->line, next->slot);
    uint32_t slot;

    if (!BH_DY(claim_slot)(slice, next->to, next->to_meta, next->key, 1, &slot))
        return BH_DY_BUSY;
    if (!BH_DY(claim_place)(slice, next, BH_DY(counter_of)(slice, next->key), from->key, 1)) {
        BH_DY(give_up)(next->to, slot, 1);
        return BH_DY_BUSY;
    }
    BH_DY(set_pair)(next->to, slot, next->key, next_value);
    if (!BH_DY(claim_for)(slice, from, BH_DY(counter_of)(slice, from->key), s, guest)) {
        BH_DY(give_up)(next->line, next->slot, 1);
        return BH_DY_STALE;
    }
    BH_DY(set_pair)(next->line, next->slot, from->key, from_value);
    BH_DY(set_pair)(from->line, from->slot, s->key, s->value);
    return BH_DY_MOVED;
}

/* Inserts an element, one of whose buckets is not full, there. Answers BUSY where that could not be done. */
BH_FN bh_dy_moved BH_DY(take_room)(const bh__slice *slice, const BH_DY(sender) *s,
                                   uint64_t other_meta)
{
    const int guest = BH_DY(full)(s->home_meta);
    const uint64_t line = guest ? s->places.other : s->places.home;
    const uint64_t meta = guest ? other_meta : s->home_meta;
    uint32_t slot;

    if (guest && !BH_DY(announce)(slice, s))
        return BH_DY_BUSY;
    if (!BH_DY(claim_slot)(slice, line, meta, s->key, guest, &slot)) {
        if (guest)
            BH_DY(renounce)(s);
        return BH_DY_BUSY;
    }
    BH_DY(set_pair)(line, slot, s->key, s->value);
    return BH_DY_MOVED;
}

/* Finds one of some `guests` of a bucket that has room at home or, if there is none, one of its `residents` that has room in its other
 * bucket. Both are slots, as bits; `copy` is a copy of the bucket. */
BH_FN int BH_DY(find_leaver)(const bh_dy_geometry *geometry, uint64_t line, uint64_t copy,
                             uint32_t guests, uint32_t residents, BH_DY(leaver) *from)
{
    uint32_t first, i;
    int found = 0;

    for (first = 0; first < BH_DY_BUCKET_SLOTS; first += BH_SENDS_ASKED) {
        uint64_t to[BH_SENDS_ASKED], meta[BH_SENDS_ASKED];

        if (found && !(from->guest && guests >> first))
            break;
        for (i = 0; i < BH_SENDS_ASKED; i++) {
            const BH_KEY key = BH_DY(own_key)(
                copy, first + i < BH_DY_BUCKET_SLOTS ? first + i : BH_DY_BUCKET_SLOTS - 1);

            to[i] = 0;
            if (residents >> (first + i) & 1)
                to[i] = BH_DY(other_of)(geometry, line, key);
            else if (guests >> (first + i) & 1)
                to[i] = bh_dy_places_of(geometry, key, BH_DY_BUCKET_BYTES).home;
        }
        for (i = 0; i < BH_SENDS_ASKED; i++)
            meta[i] = to[i] ? bh_peek64(bh_dy_at(to[i])) : ~0ull;
        for (i = 0; i < BH_SENDS_ASKED; i++) {
            const int is_guest = guests >> (first + i) & 1;

            if (!BH_DY(full)(meta[i]) && (!found || (from->guest && is_guest))) {
                found = 1;
                from->slot = first + i;
                from->to = to[i];
                from->to_meta = meta[i];
                from->guest = !is_guest;
            }
        }
    }
    return found;
}

/* Whether a bucket, of which `copy` is a copy, has not the key, nor may have it. *meta receives what it was seen with. */
BH_FN int BH_DY(is_without_copy)(const bh__slice *slice, uint64_t copy, BH_KEY key, uint64_t *meta)
{
    BH_DY(view) view;

    (void)BH_DY(look)(copy, key, &view);
    *meta = view.meta;
    return !view.match && !bh_dy_may_have(slice, view.meta, key, BH_DY_BUCKET_SLOTS);
}

/* Finds what goes where, for an element whose home, of which `copy` is a copy, is full; `has_room`: its other bucket is not. A guest goes
 * home rather than that the key becomes one, and that rather than that a resident does. It is the key where from->slot is
 * BH_DY_BUCKET_SLOTS. */
BH_FN int BH_DY(find_way)(const bh__slice *slice, uint64_t copy, const BH_DY(sender) *s,
                          int has_room, BH_DY(leaver) *from)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    const uint32_t guests = BH_DY(may_send_home)(slice, s->home_meta)
                                ? bh_dy_maybe_guests(s->home_meta, BH_DY_BUCKET_SLOTS) &
                                      ~bh_dy_noted(slice, s->home_meta)
                                : 0;
    const uint32_t residents = has_room ? 0 : BH_DY(may_leave)(slice, s->home_meta);

    from->line = s->places.home;
    from->meta = s->home_meta;
    if ((guests | residents) &&
        BH_DY(find_leaver)(geometry, s->places.home, copy, guests, residents, from)) {
        from->key = BH_DY(own_key)(copy, from->slot);
        return 1;
    }
    from->slot = BH_DY_BUCKET_SLOTS;
    from->guest = 1;
    from->to_meta = has_room ? bh_peek64(bh_dy_at(s->places.other)) : ~0ull;
    return !BH_DY(full)(from->to_meta);
}

/* Does what find_way has found. Answers MOVED where that could be done. */
BH_FN bh_dy_moved BH_DY(go_way)(const bh__slice *slice, const BH_DY(leaver) *from,
                                const BH_DY(sender) *s)
{
    return from->slot < BH_DY_BUCKET_SLOTS ? BH_DY(replace)(slice, from, s, 0)
                                           : BH_DY(take_room)(slice, s, from->to_meta);
}

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_BYTES
