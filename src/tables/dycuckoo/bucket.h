/*
 * DyCuckoo, one bucket: the parts of its meta word (slots in use, guests, filter, lock), its keys and
 * values, and what every step and pass is made of: look at a bucket, lock it, put a pair in, take one
 * out. layout.h draws the bucket and its meta word. An include-template that ops.h includes.
 *
 * A reader takes no lock. It loads the meta word, then the line, then the meta word again: if that is
 * the same and its lock bit was clear, no writer was at work between the two loads, and the line is of
 * one instant.
 *
 * A writer sets the lock bit by one compare-and-swap from the meta word that it has seen, so what it
 * saw is still so. (In a table that is biased there is no other writer, and no lock but in replace.h: cpu/bias.h.) It writes the pair, and unlocks with one store of the new meta word, which has the
 * slot's new bits, a higher sequence number and no lock bit. BH_DY(put) and BH_DY(take) compute that word;
 * until it is stored no reader can see the change.
 */
#ifndef BH_TABLES_DYCUCKOO_BUCKET_H
#define BH_TABLES_DYCUCKOO_BUCKET_H

/* The meta word's parts. */
BH_FN uint32_t bh_dy_used(uint64_t meta, uint32_t slots)
{
    return (uint32_t)(meta >> BH_DY_USED_SHIFT) & ((1u << slots) - 1);
}

BH_FN uint64_t bh_dy_used_bit(uint32_t slot)
{
    return 1ull << (BH_DY_USED_SHIFT + slot);
}

/* The slots in use that hold guests, where the meta word has guest bits; else all slots in use, and the
 * hash of each key must tell. */
BH_FN uint32_t bh_dy_maybe_guests(uint64_t meta, uint32_t slots)
{
    if (slots > BH_DY_GUESTS_KNOWN)
        return bh_dy_used(meta, slots);
    return (uint32_t)(meta >> BH_DY_GUEST_SHIFT) & ((1u << slots) - 1);
}

BH_FN uint32_t bh_dy_maybe_residents(uint64_t meta, uint32_t slots)
{
    uint32_t used = bh_dy_used(meta, slots);

    return slots > BH_DY_GUESTS_KNOWN ? used : used & ~bh_dy_maybe_guests(meta, slots);
}

/* The bits of a slot in the meta word: in use, and perhaps a guest. */
BH_FN uint64_t bh_dy_slot_bits(uint32_t slot, uint32_t slots, int guest)
{
    uint64_t bits = bh_dy_used_bit(slot);

    return guest && slots <= BH_DY_GUESTS_KNOWN ? bits | 1ull << (BH_DY_GUEST_SHIFT + slot) : bits;
}

/* The counter of a key in its home's meta word, as the position of the counter's lower bit. `next_bits`
 * are the key's next index bits in the home subtable: its hash word shifted right by the subtable's
 * doublings. */
BH_FN uint32_t bh_dy_counter_of(uint64_t next_bits)
{
    return BH_DY_FILTER_SHIFT + 2 * ((uint32_t)next_bits & (BH_DY_FILTER_COUNTERS - 1));
}

BH_FN uint64_t bh_dy_counted(uint64_t meta, uint32_t counter)
{
    return meta >> counter & 3;
}

BH_FN uint64_t bh_dy_count_up(uint64_t meta, uint32_t counter)
{
    return bh_dy_counted(meta, counter) < 3 ? meta + (1ull << counter) : meta;
}

BH_FN uint64_t bh_dy_count_down(uint64_t meta, uint32_t counter)
{
    return bh_dy_counted(meta, counter) < 3 ? meta - (1ull << counter) : meta;
}

/* The filter of a bucket that two are merged into, whose filters are `low` and `high`. The index bit that
 * told the two buckets apart becomes the first of the next index bits. So counter 2i takes the sum of
 * counters i and i + 4 of low, and counter 2i + 1 that of high. */
BH_FN uint64_t bh_dy_merged_filter(uint64_t low, uint64_t high)
{
    uint64_t merged = 0, sum;
    uint32_t i;

    for (i = 0; i < BH_DY_FILTER_COUNTERS; i++) {
        uint64_t from = i % 2 ? high : low;

        sum = bh_dy_counted(from, bh_dy_counter_of(i / 2)) +
              bh_dy_counted(from, bh_dy_counter_of(i / 2 + BH_DY_FILTER_COUNTERS / 2));
        merged |= (sum < 3 ? sum : 3) << bh_dy_counter_of(i);
    }
    return merged;
}

/* The pointer for an address that a region carries as a number. */
BH_FN unsigned char *bh_dy_at(uint64_t line)
{
    return (unsigned char *)(uintptr_t)line;
}

/* Unlocks a bucket by storing its new meta word; when nothing was changed, the one it was seen with. */
BH_FN void bh_dy_unlock(uint64_t line, uint64_t meta)
{
    bh_store64(bh_dy_at(line), meta);
}

/* One try of a pass to lock a bucket of another subtable, which other tasks may want too. They hold it for
 * a few stores, and wait for nothing meanwhile, so the caller tries until it succeeds. (Each try, the work
 * on the bucket and the unlocking are one function: threads in lockstep leave a loop together, so a thread
 * that left the loop with the lock would wait for those that still try to get it.) */
BH_FN int bh_dy_try_lock(uint64_t line, uint64_t *meta)
{
    *meta = bh_load64(bh_dy_at(line));
    return !(*meta & BH_DY_LOCK) && bh_swap_if64(bh_dy_at(line), *meta, *meta | BH_DY_LOCK);
}

#endif

/* A bucket as one step sees it: its meta word, and what its keys were at the same instant if the meta
 * word has not changed since. */
typedef struct BH_DY(view) {
    uint64_t meta;
    uint32_t match; /* slots in use that hold the key, at their places in the meta word; anything
                       where the bucket is locked */
} BH_DY(view);

BH_FN unsigned char *BH_DY(key_at)(uint64_t line, uint64_t slot)
{
    return bh_dy_at(line) + 8 + slot * BH_KEY_BYTES;
}

/* Where a bucket's values begin. */
BH_FN uint64_t BH_DY(values)(void)
{
    return BH_APART ? BH_DY_LINE : 8 + BH_DY_BUCKET_SLOTS * BH_KEY_BYTES;
}

BH_FN unsigned char *BH_DY(value_at)(uint64_t line, uint64_t slot)
{
    return bh_dy_at(line) + BH_DY(values)() + slot * BH_VALUE_BYTES;
}

/* The same of the slot whose bit in the meta word is the first of `bits`. */
BH_FN unsigned char *BH_DY(key_of)(uint64_t line, uint32_t bits)
{
    return BH_DY(key_at)(line, 0) - BH_DY_USED_SHIFT * BH_KEY_BYTES +
           (uint64_t)bh_first(bits) * BH_KEY_BYTES;
}

BH_FN unsigned char *BH_DY(value_of)(uint64_t line, uint32_t bits)
{
    return BH_DY(value_at)(line, 0) - BH_DY_USED_SHIFT * BH_VALUE_BYTES +
           (uint64_t)bh_first(bits) * BH_VALUE_BYTES;
}

/* The key in a slot of a bucket that nobody else writes; own_value is its value. */
BH_FN BH_KEY BH_DY(own_key)(uint64_t line, uint32_t slot)
{
    return BH_READ_KEY(BH_DY(key_at)(line, slot));
}

BH_FN BH_VALUE BH_DY(own_value)(uint64_t line, uint32_t slot)
{
    return BH_VALUE_BYTES ? BH_READ_VALUE(BH_DY(value_at)(line, slot)) : 0;
}

BH_FN void BH_DY(set_pair)(uint64_t line, uint64_t slot, BH_KEY key, BH_VALUE value)
{
    BH_WRITE_KEY(BH_DY(key_at)(line, slot), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_DY(value_at)(line, slot), value);
}

/* Looks at a bucket; answers 0 when a writer is at work there. */
BH_FN int BH_DY(look)(uint64_t line, BH_KEY key, BH_DY(view) *view)
{
    const bh_wanted wanted = BH_WANTED(key);

    view->meta = bh_load64(bh_dy_at(line));
    view->match = BH_MATCH_KEYS(BH_DY(key_at)(line, 0), BH_DY_BUCKET_SLOTS, wanted);
    /* Of the bits that may be anything, 0 meets the lock bit, and slots that the bucket does not have are not in use. */
    view->match &= (uint32_t)view->meta;
    return !(view->meta & BH_DY_LOCK);
}

/* The slot of a match. */
BH_FN uint32_t BH_DY(slot_of)(uint32_t match)
{
    return bh_first(match) - BH_DY_USED_SHIFT;
}

/* Locks a bucket as it was seen, which was unlocked; answers 0 when it has changed. Where nobody else writes, no lock
 * is needed: readers see each change when its meta word is stored. An addition sets the bit in one instruction, whose result
 * lies in another register. */
BH_FN int BH_DY(lock)(const bh__slice *slice, uint64_t line, const BH_DY(view) *view)
{
    return BH_QUIET || BH_IS_BIASED(slice->hints) ||
           bh_swap_if64(bh_dy_at(line), view->meta, view->meta + BH_DY_LOCK);
}

BH_FN int BH_DY(full)(uint64_t meta)
{
    return !(~(uint32_t)meta & BH_DY_BUCKET_ALL << BH_DY_USED_SHIFT);
}

/* Puts a pair into a free slot of a locked bucket; answers the meta word to unlock with. */
BH_FN uint64_t BH_DY(put)(uint64_t line, uint64_t meta, BH_KEY key, BH_VALUE value, int guest)
{
    const uint32_t empty = ~(uint32_t)meta & BH_DY_BUCKET_ALL << BH_DY_USED_SHIFT;

    BH_WRITE_KEY(BH_DY(key_of)(line, empty), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_DY(value_of)(line, empty), value);
    return (meta | bh_dy_slot_bits(BH_DY(slot_of)(empty), BH_DY_BUCKET_SLOTS, guest)) +
           BH_DY_CHANGE;
}

/* Takes a pair out of a locked bucket; answers the meta word to unlock with. */
BH_FN uint64_t BH_DY(take)(uint64_t meta, uint32_t slot)
{
    return (meta & ~bh_dy_slot_bits(slot, BH_DY_BUCKET_SLOTS, 1)) + BH_DY_CHANGE;
}
