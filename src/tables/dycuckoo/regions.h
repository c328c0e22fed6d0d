/*
 * DyCuckoo: inserting many keys region by region, by a caller that has the table to itself. An
 * include-template, included behind ops.h: see instance.h.
 *
 * The schedule groups the keys of a call by home bucket (bh_dy_spot_of). Then the call has two
 * phases, and all of the first is over before the second begins:
 *
 *   settle      all keys of a bucket, one after the other, by one thread, which has the bucket in a
 *               copy of its own: bringing a bucket from memory and sending it back is most of what
 *               an insertion costs, and is paid once for all of them. What becomes of a key is what
 *               the step HOME would do. On a GPU the thread has the bucket's keys in registers
 *
 *                   keys a b c d, free slots of their home 3       [x y z w a b c]   d is left over
 *
 *   send_away   places the keys that full buckets have left over, a thread for each such bucket. A
 *               key goes to its other bucket; if that is full too, a resident of the full home
 *               goes to its own other bucket, and the key takes its slot
 *
 *                   home (full)       other of d (full)   other of x (full)   other of y (free)
 *                   [x y z w a b c]   [. . . . . . .]     [. . . . . . .]     [. . . . . _ .]
 *                      ^ d                                                              ^ y
 *
 *               With 7 slots there are eight other buckets to try, and one of them has room in nearly
 *               all cases. So longer paths are hardly needed: at fill 0.84 for 2 of 1,000 keys
 *
 * There are no locks in send_away. A bucket that has keys left over is full and stays full, and only
 * its thread writes it. The other buckets that the thread writes have room, so no thread owns
 * them. There a slot is taken by a compare-and-swap of the meta word, and the pair is written after
 * that: nobody reads it before the phase is over.
 *
 * Neither phase performs a key that may be a guest elsewhere (its counter in the home's meta word
 * says so), or that there may be no room for: the schedule performs these keys by the ordinary
 * steps, after both phases.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_DYCUCKOO_REGIONS_H
#define BH_TABLES_DYCUCKOO_REGIONS_H

/* Where a key is at home. */
typedef struct bh_dy_spot {
    uint32_t region;
    uint32_t bucket;  /* of the region */
    uint32_t counter; /* in the bucket's meta word */
} bh_dy_spot;

BH_FN bh_dy_spot bh_dy_spot_of(const bh_dy_geometry *geometry, const bh_dy_regions *regions,
                               uint64_t key)
{
    const bh_hash hash = bh_hash_key(key, &geometry->seed);
    const uint64_t pair = bh_dy_pair_of(geometry, hash);
    const bh_dy_subtable *home = &geometry->home[pair];
    const uint64_t bucket = bh_dy_bucket_of(geometry, home, hash.one);
    bh_dy_spot spot;

    spot.region =
        (uint32_t)(regions->first[geometry->pair[pair] & 15u] + (bucket >> regions->bits));
    spot.bucket = (uint32_t)bucket & ((1u << regions->bits) - 1);
    spot.counter = bh_dy_counter_of(hash.one >> home->doublings);
    return spot;
}

/* The first bucket of a region, and how many it has. */
BH_FN uint64_t bh_dy_region_line(const bh_dy_geometry *geometry, const bh_dy_regions *regions,
                                 uint64_t region, uint32_t bucket_bytes, uint32_t *buckets)
{
    uint32_t subtable = 0;
    uint64_t first, left;

    while (region >= regions->first[subtable + 1])
        subtable++;
    first = (region - regions->first[subtable]) << regions->bits;
    left = (geometry->base << geometry->subtable[subtable].doublings) - first;
    *buckets = left >> regions->bits ? 1u << regions->bits : (uint32_t)left;
    return geometry->subtable[subtable].lines + bucket_bytes * first;
}

/* What became of an element at its home. */
typedef enum bh_dy_settled {
    BH_DY_SETTLED,
    BH_DY_LEFT_OVER, /* its key is nowhere, there is room for it in the table, and home is full */
    BH_DY_UNSETTLED  /* its key may be a guest; or it is nowhere, and has no room */
} bh_dy_settled;

/* What became of an attempt to find a place for a key that is left over. */
typedef enum bh_dy_sent {
    BH_DY_NOT_YET, /* another attempt is needed */
    BH_DY_SENT,
    BH_DY_REPLACED, /* the key has the slot of another one, which was sent away */
    BH_DY_NOWHERE
} bh_dy_sent;

#endif

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_ALL ((1u << BH_DY_BUCKET_SLOTS) - 1)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

/* A bucket that one thread has to itself while it performs the elements whose home it is, in a copy of its own. What each of
 * them is compared with is here; the copy gets new pairs and values meanwhile, and at the end the meta word. */
typedef struct BH_DY(own) {
    unsigned char *copy;
    uint64_t meta;
    BH_KEY keys[BH_DY_BUCKET_SLOTS];
} BH_DY(own);

BH_FN void BH_DY(open)(BH_DY(own) *own, unsigned char *copy)
{
    uint32_t slot;

    own->copy = copy;
    own->meta = *(const uint64_t *)(const void *)copy;
    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++)
        own->keys[slot] = ((const BH_KEY *)(const void *)(copy + 8))[slot];
}

BH_FN void BH_DY(close)(const BH_DY(own) *own)
{
    *(uint64_t *)(void *)own->copy = own->meta;
}

/* Acts on the pair in a slot. (The addresses of a copy stay pointers: from a number a compiler for a GPU cannot tell that they
 * are in shared memory.) */
BH_FN void BH_DY(settle_there)(BH_DY(own) *own, bh__slice *slice, uint32_t kind, uint32_t slot,
                               BH_VALUE value)
{
    BH_VALUE *const there = (BH_VALUE *)(void *)(own->copy + BH_DY(values)()) + slot;

    if (BH_OP_KEEPS(kind))
        return;
    slice->assigned++;
    if (!BH_VALUE_BYTES)
        return;
    own->meta += BH_DY_CHANGE;
    *there = BH_OP_REDUCES(kind) ? (BH_VALUE)bh_join(kind, BH_VALUE_BYTES, *there, value) : value;
}

/* Puts a new pair into a slot, of which `bit` is set. */
BH_FN void BH_DY(settle_new)(BH_DY(own) *own, bh__slice *slice, uint32_t bit, BH_KEY key,
                             BH_VALUE value)
{
    uint32_t slot;

    own->meta = (own->meta | (uint64_t)bit << BH_DY_USED_SHIFT) + BH_DY_CHANGE;
    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++) /* registers have no numbers */
        own->keys[slot] = bit == 1u << slot ? key : own->keys[slot];
    slot = bh_first(bit);
    ((BH_KEY *)(void *)(own->copy + 8))[slot] = key;
    if (BH_VALUE_BYTES)
        ((BH_VALUE *)(void *)(own->copy + BH_DY(values)()))[slot] = value;
    slice->inserted++;
}

/* Performs an element at its home. `room` says whether there is room in the table for a new key; *outcome is set of what is
 * settled. */
BH_FN bh_dy_settled BH_DY(settle)(BH_DY(own) *own, bh__slice *slice, uint32_t kind, BH_KEY key,
                                  BH_VALUE value, uint32_t counter, int room, uint8_t *outcome)
{
    const uint32_t used = bh_dy_used(own->meta, BH_DY_BUCKET_SLOTS);
    uint32_t match = 0, slot;

    for (slot = 0; slot < BH_DY_BUCKET_SLOTS; slot++)
        match |= own->keys[slot] == key ? 1u << slot : 0;
    match &= used;
    if (match) {
        *outcome = (uint8_t)BH_OP_PRESENT(kind);
        BH_DY(settle_there)(own, slice, kind, bh_first(match), value);
        return BH_DY_SETTLED;
    }
    if (bh_dy_counted(own->meta, counter))
        return BH_DY_UNSETTLED;
    if (!BH_OP_INSERTS(kind)) {
        *outcome = BH_MISSING;
        return BH_DY_SETTLED;
    }
    if (!room)
        return BH_DY_UNSETTLED;
    if (used == BH_DY_BUCKET_ALL)
        return BH_DY_LEFT_OVER;
    BH_DY(settle_new)(own, slice, ~used & (used + 1), key, value); /* into the first free slot */
    *outcome = BH_INSERTED;
    return BH_DY_SETTLED;
}

/* Puts a pair into a bucket that this thread does not own: the key's other bucket or, for a guest that
 * goes home, its home, where it is counted down. Answers 0 when that bucket is full. */
BH_FN int BH_DY(put_there)(uint64_t line, BH_KEY key, BH_VALUE value, int guest, uint32_t counter)
{
    uint64_t meta = bh_load64(bh_dy_at(line)), filled;
    uint32_t slot;

    for (;;) {
        if (BH_DY(full)(meta))
            return 0;
        slot = bh_first(~bh_dy_used(meta, BH_DY_BUCKET_SLOTS) & BH_DY_BUCKET_ALL);
        filled = guest ? meta : bh_dy_count_down(meta, counter);
        filled = (filled | bh_dy_slot_bits(slot, BH_DY_BUCKET_SLOTS, guest)) + BH_DY_CHANGE;
        if (bh_swap_if64(bh_dy_at(line), meta, filled))
            break;
        meta = bh_take64(bh_dy_at(line), 0); /* an atomic: a load may read a stale cache line */
    }
    BH_DY(set_pair)(line, slot, key, value);
    return 1;
}

/* The state of finding places for the keys that a full bucket has left over, key by key. For each key
 * these are tried in turn, each at its own other place: one of the bucket's guests, where so many keys
 * have been erased that guests may have room at home (as in EVICT); the key itself; and then each
 * resident. No guest and no resident is tried twice. */
typedef struct BH_DY(sending) {
    uint64_t home;
    uint64_t meta;       /* home's, to be stored when all is done */
    uint32_t guests;     /* those not tried yet, as a mask of slots */
    uint32_t residents;  /* the same */
    uint32_t slot;       /* whose turn it is; BH_DY_BUCKET_SLOTS: the key's itself */
    uint32_t asks_guest; /* it is the turn of a guest */
} BH_DY(sending);

BH_FN void BH_DY(next_sending)(BH_DY(sending) *s)
{
    s->asks_guest = s->guests != 0;
    s->slot = s->guests ? bh_first(s->guests) : BH_DY_BUCKET_SLOTS;
    s->guests &= s->guests - 1;
}

BH_FN void BH_DY(begin_sending)(BH_DY(sending) *s, uint64_t home, int turnover)
{
    s->home = home;
    s->meta = bh_read64(bh_dy_at(home));
    s->guests = turnover ? bh_dy_maybe_guests(s->meta, BH_DY_BUCKET_SLOTS) : 0;
    s->residents = bh_dy_maybe_residents(s->meta, BH_DY_BUCKET_SLOTS);
    BH_DY(next_sending)(s);
}

/* Sends the pair whose turn it is to its other place, and puts the key into the slot that it leaves;
 * answers 0 when there is no room. */
BH_FN int BH_DY(send_one)(const bh_dy_geometry *geometry, BH_DY(sending) *s, BH_KEY key,
                          BH_VALUE value)
{
    const int itself = s->slot == BH_DY_BUCKET_SLOTS;
    const BH_KEY goes = itself ? key : BH_DY(own_key)(s->home, s->slot);
    const BH_VALUE with = itself ? value : BH_DY(own_value)(s->home, s->slot);
    const bh_dy_places places = bh_dy_places_of(geometry, goes, BH_DY_BUCKET_BYTES);
    const int leaves_home = places.home == s->home;

    if (!BH_DY(put_there)(leaves_home ? places.other : places.home, goes, with, leaves_home,
                          places.counter))
        return 0;
    if (leaves_home)
        s->meta = bh_dy_count_up(s->meta, places.counter);
    if (!itself) {
        BH_DY(set_pair)(s->home, s->slot, key, value);
        s->meta = BH_DY(take)(s->meta, s->slot) | bh_dy_slot_bits(s->slot, BH_DY_BUCKET_SLOTS, 0);
    }
    return 1;
}

/* One attempt to find a place for a key. */
BH_FN bh_dy_sent BH_DY(send_away)(const bh_dy_geometry *geometry, BH_DY(sending) *s, BH_KEY key,
                                  BH_VALUE value)
{
    const int itself = s->slot == BH_DY_BUCKET_SLOTS;

    if (BH_DY(send_one)(geometry, s, key, value)) {
        BH_DY(next_sending)(s);
        return itself ? BH_DY_SENT : BH_DY_REPLACED;
    }
    if (s->asks_guest) {
        s->asks_guest = 0;
        s->slot = BH_DY_BUCKET_SLOTS;
        return BH_DY_NOT_YET;
    }
    if (!s->residents) {
        BH_DY(next_sending)(s);
        return BH_DY_NOWHERE;
    }
    s->slot = bh_first(s->residents);
    s->residents &= s->residents - 1;
    return BH_DY_NOT_YET;
}

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_ALL
#undef BH_DY_BUCKET_BYTES
