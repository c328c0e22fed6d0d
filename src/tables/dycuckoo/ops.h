/*
 * DyCuckoo: what one key does to the table, as steps of at most one new cache line
 * each, and what the passes do to one bucket. An include-template: see instance.h.
 *
 * From Li, Zhu, Lyu, Huang, Sun, "DyCuckoo: Dynamic Hash Tables on GPUs" (ICDE
 * 2021), section V, with these departures:
 *   - home first: a key goes to its other bucket only when its home is full, so most
 *     lookups end after one line; the filter in the home's meta word says which
 *     missing keys need not look further (the paper reads both buckets always);
 *   - all writers of one key are ordered by its home's lock bit, and every insert
 *     looks for its key first; the published code puts one key into two slots;
 *   - nobody is evicted into the air: a resident moves only into a slot that is free, and its
 *     copy there is published before the original goes, so that it can be seen at every instant.
 *
 * HOW AN OPERATION GOES
 *
 *   HOME    Look at the home bucket. Reading operations compare and check the sequence number.
 *           Writing ones lock with one compare-and-swap from the meta word they read: if it
 *           succeeds, what they read is still so. Most operations end here. Others go on to
 *   OTHER   with the home line still in cache. A writer locks home, then the other bucket by one
 *           try; if that fails it lets go of both and asks to be run again. Now the whole truth
 *           about the key is in hand: act on it, insert it in home or in the other bucket, or, when
 *           both are full, let go and
 *   SEARCH  for a path: a resident of one of the two moves to its own other bucket; if that is
 *           full too, first one of its residents moves on, and so forth. Each step looks at one
 *           bucket more, without locks; when a free slot is found the moves run from the free end
 *           back, one a step, each an operation of its own with its own two locks:
 *
 *               home (full)       other of a (full)      other of b (free slot)
 *               [ a . . . . . . ] [ . . b . . . . ] ...  [ . . . . . _ . ]
 *                 2. <---- a goes here     1. <---- b goes here
 *
 *           After the last one start again at OTHER, which looks at everything anew. Paths of one
 *           move are tried first, then longer ones; a search that has looked at enough buckets
 *           stalls, and the policy takes over.
 *   EVICT   In a table whose keys come and go, homes have room again that their guests do not
 *           know of. So an insert that finds its home full first tries to send one guest from
 *           there to that guest's own home: one line, as going to the other bucket would cost, and
 *           two keys live at home instead of none.
 *
 * No lock is ever held between steps. So operations of one thread never meet each other's locks,
 * and a thread that waits for nothing cannot be part of a deadlock.
 *
 * WHY A READER MISSES NOTHING. A reader of HOME that finds the counter of its key 0, in a meta word
 * that is the same before and after, has seen an instant at which the key was in neither bucket:
 * whoever puts a key into its other bucket holds home's lock meanwhile and counts it before letting
 * go. A reader of OTHER that finds nothing loads home's meta word again: if it is what it was in
 * HOME, the key was not in home all the while, so it did not move from one to the other either, and
 * at the instant of the look at the other bucket it was not there. Otherwise it starts again.
 *
 * WHAT HAPPENS IF a counter has reached 3: it stays, and lookups of missing keys that share it read
 * a second line until the subtable changes its size. Nothing else.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_DYCUCKOO_OPS_H
#define BH_TABLES_DYCUCKOO_OPS_H

#include "targets/target.h"

#include "tables/answer.h"
#include "tables/dycuckoo/layout.h"
#include "tables/effect.h"
#include "tables/table.h"

typedef enum bh_dy_state { BH_DY_HOME, BH_DY_OTHER, BH_DY_SEARCH, BH_DY_EVICT } bh_dy_state;

/* The meta word's parts. */
BH_FN uint32_t bh_dy_used(uint64_t meta, uint32_t slots)
{
    return (uint32_t)(meta >> BH_DY_USED_SHIFT) & ((1u << slots) - 1);
}

BH_FN uint64_t bh_dy_used_bit(uint32_t slot)
{
    return 1ull << (BH_DY_USED_SHIFT + slot);
}

/* The guests among the slots in use, where the meta word knows; else all slots in use, and their
 * keys' hashes must tell. */
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

/* What a slot has in the meta word: in use, and perhaps a guest. */
BH_FN uint64_t bh_dy_slot_bits(uint32_t slot, uint32_t slots, int guest)
{
    uint64_t bits = bh_dy_used_bit(slot);

    return guest && slots <= BH_DY_GUESTS_KNOWN ? bits | 1ull << (BH_DY_GUEST_SHIFT + slot) : bits;
}

/* A key's counter in its home's meta word is named by the position of its lower bit. It follows
 * from the key's next index bits there: its word shifted right by the subtable's doublings. */
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

/* The filter of a bucket that two are merged into: what one index bit told apart in `low` and
 * `high` no longer is, and that bit becomes the first of the next ones. Counters 2i and 2i + 1 take
 * what counters i and i + 4 of low and of high had. */
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

BH_FN bh_region bh_dy_region(uint64_t line, uint32_t bytes)
{
    bh_region region = {line, bytes, BH_TIER_NEAR};

    return region;
}

/* Where a hash lives. `word` is hash.one in the home subtable, and bh_dy_word_other in the other:
 * a third function of the hash, so that keys of one home bucket spread over all other buckets
 * however many doublings their subtables have behind them. */
BH_FN uint64_t bh_dy_word_other(bh_hash hash)
{
    return hash.two * 0xd6e8feb86659fd93ull;
}

/* A key's bucket in one of its subtables, by that one's word of the hash: its number, and its line. */
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
    const bh_dy_subtable *other = &geometry->subtable[geometry->pair[pair] >> 4];
    bh_dy_places places;

    places.home = bh_dy_line_of(geometry, home, hash.one, bucket_bytes);
    places.other = bh_dy_line_of(geometry, other, bh_dy_word_other(hash), bucket_bytes);
    places.counter = bh_dy_counter_of(hash.one >> home->doublings);
    return places;
}

/* An address as the region words carry it, made a pointer again. */
BH_FN unsigned char *bh_dy_at(uint64_t line)
{
    return (unsigned char *)(uintptr_t)line;
}

/* Lets go of a bucket: with the meta word it was seen with when nothing was changed. */
BH_FN void bh_dy_unlock(uint64_t line, uint64_t meta)
{
    bh_store64(bh_dy_at(line), meta);
}

/* The buckets of a part of an export: from *begin to the answer. */
BH_FN uint64_t bh_dy_part(const bh_dy_export *job, uint64_t part, uint64_t *begin)
{
    *begin = job->first_bucket + part * job->part;
    return job->end_bucket - *begin < job->part ? job->end_bucket : *begin + job->part;
}

/* A pass locks a bucket of another subtable: other tasks may want it too. They hold it for a few
 * stores, and wait for nothing meanwhile, so it is asked for again until it is had. (What is done
 * with the bucket and letting go are one function with the asking: groups in lockstep leave a loop
 * together, so whoever has the bucket would wait for those who want it.) */
BH_FN int bh_dy_try_lock(uint64_t line, uint64_t *meta)
{
    *meta = bh_load64(bh_dy_at(line));
    return !(*meta & BH_DY_LOCK) && bh_swap_if64(bh_dy_at(line), *meta, *meta | BH_DY_LOCK);
}

/* An operation's search for a path: moves in a path, 4 bits each in op.path; and buckets looked at
 * before it stalls. */
#define BH_DY_PATH_MOST 4u
#define BH_DY_LOOKS_MOST BH_LOOKS_OF_SEARCH

#define BH_DY_LOOKS_LONE (BH_BRINGS ? BH_DY_SEARCH_LOOKS : BH_DY_SEARCH_LOOKS_FAR)
#define BH_DY_LOOKS_HELD (BH_BRINGS ? BH_DY_HOLD_LOOKS : BH_DY_HOLD_LOOKS_FAR)

/* After so many searches in vain a pass that moves keys stops: what it is a part of is undone. */
#define BH_DY_VAIN_MOST 16u

/* What became of an attempt to move a resident. */
typedef enum bh_dy_moved {
    BH_DY_MOVED,
    BH_DY_BUSY, /* a bucket is locked: try again */
    BH_DY_FULL,
    BH_DY_STALE /* the slot does not hold what it held */
} bh_dy_moved;

/* So many elements ahead a place pass asks for lines. Chosen, not tuned. */
#define BH_DY_PLACE_AHEAD 8u

/* Buckets on their way from memory while a pass reads on: they lie anywhere. */
#define BH_DY_MOVING_MOST (BH_BRINGS ? 32u : 1u)

/* So many buckets ahead a pass asks for those that it reads in order: processors that see the order
 * themselves stop at each page. It took 14% off BH_DY_PASS_HOME where it was measured. */
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

#define DY(name) BH_NAME(bh_dy_##name)
#define SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define SLOTS_ALL ((1u << SLOTS) - 1)
#define BUCKET BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

/* One operation in flight. */
typedef struct DY(op) {
    uint64_t home; /* set from OTHER on; BH_QUIET: from the beginning, since steps may see a copy */
    uint64_t other;
    uint64_t from; /* SEARCH: the bucket where the path begins; find: home's meta word as seen */
    BH_KEY key;
    uint32_t at;   /* index in the slice */
    uint32_t path; /* SEARCH: the slot of each move, the first in the lowest 4 bits; EVICT: one */
    uint8_t state;
    uint8_t counter; /* the key's, in its home's meta word */
    uint8_t depth;   /* SEARCH: moves in the path */
    uint8_t deepest; /* SEARCH: moves allowed */
    uint8_t looks;   /* SEARCH: full buckets looked at so far; EVICT has been tried */
    uint8_t op;
    uint8_t outcome;
} DY(op);

/* A bucket as one step sees it: its meta word, and a line that is of the same instant if the meta
 * word has not changed since. */
typedef struct DY(view) {
    uint64_t meta;
    bh_line line;
    uint32_t match; /* slots in use that hold the key */
} DY(view);

BH_FN unsigned char *DY(key_at)(uint64_t line, uint32_t slot)
{
    return bh_dy_at(line) + 8 + slot * BH_KEY_BYTES;
}

BH_FN unsigned char *DY(value_at)(uint64_t line, uint32_t slot)
{
    return bh_dy_at(line) + (BH_APART ? BH_DY_LINE : 8 + SLOTS * BH_KEY_BYTES) +
           slot * BH_VALUE_BYTES;
}

/* Of a bucket that nobody else writes. */
BH_FN BH_KEY DY(own_key)(uint64_t line, uint32_t slot)
{
    return BH_READ_KEY(DY(key_at)(line, slot));
}

BH_FN BH_VALUE DY(own_value)(uint64_t line, uint32_t slot)
{
    return BH_VALUE_BYTES ? BH_READ_VALUE(DY(value_at)(line, slot)) : 0;
}

BH_FN void DY(set_pair)(uint64_t line, uint32_t slot, BH_KEY key, BH_VALUE value)
{
    BH_WRITE_KEY(DY(key_at)(line, slot), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(DY(value_at)(line, slot), value);
}

/* Looks at a bucket; answers 0 when a writer is at work there. */
BH_FN int DY(look)(uint64_t line, BH_KEY key, DY(view) *view)
{
    view->meta = bh_load64(bh_dy_at(line));
    view->line = bh_line_load(bh_dy_at(line));
    view->match = BH_MATCH(view->line, 8 / BH_KEY_BYTES, SLOTS, key);
    view->match &= bh_dy_used(view->meta, SLOTS);
    return !(view->meta & BH_DY_LOCK);
}

/* Locks a bucket as it was seen; answers 0 when it has changed. (Where nobody else writes it needs no
 * lock.) */
BH_FN int DY(lock)(uint64_t line, const DY(view) *view)
{
    return BH_QUIET || bh_swap_if64(bh_dy_at(line), view->meta, view->meta | BH_DY_LOCK);
}

BH_FN int DY(full)(uint64_t meta)
{
    return bh_dy_used(meta, SLOTS) == SLOTS_ALL;
}

/* Puts a pair into a free slot of a locked bucket; answers the meta word to unlock with. */
BH_FN uint64_t DY(put)(uint64_t line, uint64_t meta, BH_KEY key, BH_VALUE value, int guest)
{
    uint32_t slot = bh_first(~bh_dy_used(meta, SLOTS) & SLOTS_ALL);

    DY(set_pair)(line, slot, key, value);
    return (meta | bh_dy_slot_bits(slot, SLOTS, guest)) + BH_DY_CHANGE;
}

/* Takes a pair out of a locked bucket. */
BH_FN uint64_t DY(take)(uint64_t meta, uint32_t slot)
{
    return (meta & ~bh_dy_slot_bits(slot, SLOTS, 1)) + BH_DY_CHANGE;
}

/*
 * Moves the pair in `slot` of `from` to a free slot of `to`; both are locked, or the gate is held
 * alone. The copy is published before the original goes. Away from home: the key is counted there
 * before home's lock is let go, as readers rely on.
 */
BH_FN void DY(move_away)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                         uint64_t to_meta, uint32_t counter)
{
    bh_dy_unlock(to, DY(put)(to, to_meta, DY(own_key)(from, slot),
                             DY(own_value)(from, slot), 1));
    bh_dy_unlock(from, DY(take)(bh_dy_count_up(from_meta, counter), slot));
}

/* The same, the other way. `to_meta` is home's with the key already counted down. */
BH_FN void DY(move_home)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to,
                         uint64_t to_meta)
{
    bh_dy_unlock(to, DY(put)(to, to_meta, DY(own_key)(from, slot),
                             DY(own_value)(from, slot), 0));
    bh_dy_unlock(from, DY(take)(from_meta, slot));
}

/* Moves the pair in `slot` of `from` to `to`, if that is still its other place, as an operation of
 * its own. */
BH_FN_RARE bh_dy_moved DY(try_move)(const bh_dy_geometry *geometry, uint64_t from, uint32_t slot,
                               uint64_t to)
{
    uint64_t from_meta = bh_load64(bh_dy_at(from)), to_meta = bh_load64(bh_dy_at(to));
    bh_dy_places places;

    if ((from_meta | to_meta) & BH_DY_LOCK)
        return BH_DY_BUSY;
    places = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(from, slot)), BUCKET);
    if (!(from_meta & bh_dy_used_bit(slot)) ||
        !((places.home == from && places.other == to) ||
          (places.home == to && places.other == from)))
        return BH_DY_STALE;
    if (DY(full)(to_meta))
        return BH_DY_FULL;
    if (!bh_swap_if64(bh_dy_at(from), from_meta, from_meta | BH_DY_LOCK))
        return BH_DY_BUSY;
    if (!bh_swap_if64(bh_dy_at(to), to_meta, to_meta | BH_DY_LOCK)) {
        bh_dy_unlock(from, from_meta);
        return BH_DY_BUSY;
    }
    if (places.home == from)
        DY(move_away)(from, from_meta, slot, to, to_meta, places.counter);
    else
        DY(move_home)(from, from_meta, slot, to, bh_dy_count_down(to_meta, places.counter));
    return BH_DY_MOVED;
}

/* The value that an element of the slice brings. */
BH_FN BH_VALUE DY(given)(const bh__slice *slice, uint32_t at)
{
    return BH_VALUE_BYTES ? ((const BH_VALUE *)slice->values)[at] : 0;
}

/* ---------------------------------------------------------------------------------------------
 * begin and the steps
 * --------------------------------------------------------------------------------------------- */

/* An operation on a key that has this counter begins, at home. `kind` is the operation; a constant in the
 * instances that have one. */
BH_FN void DY(begin_home)(DY(op) *op, BH_KEY key, uint32_t at, uint32_t kind, uint32_t counter)
{
    op->key = key;
    op->at = at;
    op->op = (uint8_t)kind;
    op->state = BH_DY_HOME;
    op->looks = 0;
    op->counter = (uint8_t)counter;
}

BH_FN bh_region DY(begin)(const bh__slice *slice, DY(op) *op, uint32_t at, uint32_t kind)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    const bh_dy_subtable *home = &geometry->home[bh_dy_pair_of(geometry, hash)];
    bh_region region;

    DY(begin_home)(op, key, at, kind, bh_dy_counter_of(hash.one >> home->doublings));
    region = bh_dy_region(bh_dy_line_of(geometry, home, hash.one, BUCKET),
                          kind == BH_FIND ? BH_DY_LINE : BUCKET);
    if (BH_QUIET)
        op->home = region.offset;
    return region;
}

BH_FN bh_answer DY(done)(DY(op) *op, bh_outcome outcome)
{
    op->outcome = (uint8_t)outcome;
    return BH_DONE;
}

/* The home line did not decide: on to the other one. */
BH_FN bh_answer DY(go_other)(const bh__slice *slice, DY(op) *op, uint64_t home, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;

    op->home = home;
    op->other = bh_dy_places_of(geometry, op->key, BUCKET).other;
    op->state = BH_DY_OTHER;
    *next = bh_dy_region(op->other, op->op == BH_FIND ? BH_DY_LINE : BUCKET);
    return BH_NEXT;
}

/* Writes the answer of an operation to the caller's values. The caller may have given a value in the same
 * place, so this is done once, by the step that finishes the operation: no step comes behind it that
 * would read the value given. */
BH_FN void DY(answer)(const bh__slice *slice, const DY(op) *op, BH_VALUE value)
{
    BH_VALUE *answer = (BH_VALUE *)slice->values_out + op->at;

    *answer = value;
    bh_answer_ahead(slice, answer, BH_VALUE_BYTES, op->at);
}

BH_FN bh_answer DY(step_find)(const bh__slice *slice, DY(op) *op, uint64_t line, bh_region *next)
{
    DY(view) view;
    BH_VALUE value = 0;

    if (!DY(look)(line, op->key, &view))
        return BH_RETRY;
    if (view.match) {
        if (BH_APART && slice->values_out && !op->looks) {
            /* A missing key need not know where its value would be. */
            op->looks = 1;
            if (BH_QUIET)
                line = op->state == BH_DY_HOME ? op->home : op->other;
            *next = bh_dy_region(line, BUCKET);
            return BH_NEXT;
        }
        if (BH_VALUE_BYTES && slice->values_out)
            value = BH_LOAD_VALUE(DY(value_at)(line, bh_first(view.match)));
        if (bh_load64(bh_dy_at(line)) != view.meta)
            return BH_RETRY;
        if (BH_VALUE_BYTES && slice->values_out)
            DY(answer)(slice, op, value);
        return DY(done)(op, BH_FOUND);
    }
    if (bh_load64(bh_dy_at(line)) != view.meta)
        return BH_RETRY;
    if (op->state == BH_DY_HOME) {
        if (!bh_dy_counted(view.meta, op->counter))
            return DY(done)(op, BH_MISSING);
        op->from = view.meta;
        return DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
    }
    if (BH_QUIET || bh_load64(bh_dy_at(op->home)) == op->from)
        return DY(done)(op, BH_MISSING);
    op->state = BH_DY_HOME;
    *next = bh_dy_region(op->home, BH_DY_LINE);
    return BH_NEXT;
}

/* Does the operation to a pair that is there, its bucket and its home locked; answers the meta
 * word to unlock its bucket with. */
BH_FN uint64_t DY(act)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                       const DY(view) *view)
{
    uint32_t slot = bh_first(view->match);
    BH_VALUE value, old;

    if (BH_OP_KEEPS(kind)) {
        op->outcome = BH_FOUND;
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out)
            DY(answer)(slice, op, DY(own_value)(line, slot));
        return view->meta;
    }
    if (BH_OP_ERASES(kind)) {
        slice->room++;
        slice->erased++;
        op->outcome = BH_ERASED;
        return DY(take)(view->meta, slot);
    }
    slice->assigned++;
    op->outcome = BH_ASSIGNED;
    if (!BH_VALUE_BYTES)
        return view->meta;
    value = DY(given)(slice, op->at);
    if (BH_OP_REDUCES(kind)) {
        old = DY(own_value)(line, slot);
        value = (BH_VALUE)bh_join(kind, old, value);
    }
    BH_WRITE_VALUE(DY(value_at)(line, slot), value);
    return view->meta + BH_DY_CHANGE;
}

/* Puts the operation's new pair into a locked bucket; answers the meta word to unlock it with. */
BH_FN uint64_t DY(insert)(bh__slice *slice, DY(op) *op, uint64_t line, uint64_t meta, int guest)
{
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return DY(put)(line, meta, op->key, DY(given)(slice, op->at), guest);
}

/* The key is nowhere, as was looked up, and no room has been set aside for it. */
BH_FN bh_answer DY(no_room)(bh__slice *slice)
{
    slice->stalled_room = 1;
    return BH_STALL;
}

/* The first resident of a bucket, from `slot` on, that is at home there: sets *slot and the bucket
 * it could move to. Read without lock: a hint that try_move checks. */
BH_FN int DY(next_resident)(const bh_dy_geometry *geometry, uint64_t line, uint32_t *slot,
                            uint64_t *to)
{
    uint32_t left = bh_dy_maybe_residents(bh_load64(bh_dy_at(line)), SLOTS) >> *slot << *slot;

    for (; left; left &= left - 1) {
        bh_dy_places places;

        *slot = bh_first(left);
        places = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(line, *slot)), BUCKET);
        *to = places.other;
        if (places.home == line)
            return 1;
    }
    return 0;
}

/* The bucket that the path's first `moves` moves lead to. Where residents have changed meanwhile it
 * leads elsewhere, and try_move notices. */
BH_FN uint64_t DY(walk)(const bh_dy_geometry *geometry, const DY(op) *op, uint32_t moves)
{
    uint64_t line = op->from;
    uint32_t i;

    for (i = 0; i < moves; i++)
        line = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(line, op->path >> 4 * i & 15u)), BUCKET)
                   .other;
    return line;
}

/*
 * The next bucket that SEARCH looks at, or 0: beyond `line`, the path's end, if the path may be
 * longer; else beside it, the next resident of the bucket before; else before that; else from the
 * other one of the key's two buckets; else the same with longer paths.
 */
BH_FN uint64_t DY(search_on)(const bh_dy_geometry *geometry, DY(op) *op, uint64_t line)
{
    uint32_t slot = 0;
    uint64_t to = 0;

    if (op->depth == op->deepest) {
        slot = (op->path >> 4 * --op->depth & 15u) + 1;
        line = DY(walk)(geometry, op, op->depth);
    }
    while (!DY(next_resident)(geometry, line, &slot, &to)) {
        if (op->depth) {
            slot = (op->path >> 4 * --op->depth & 15u) + 1;
            line = DY(walk)(geometry, op, op->depth);
            continue;
        }
        slot = 0;
        if (line == op->home) {
            line = op->from = op->other;
        } else if (op->deepest == 1) {
            op->deepest = BH_DY_PATH_MOST;
            line = op->from = op->home;
        } else {
            return 0;
        }
    }
    op->path = (op->path & ((1u << 4 * op->depth) - 1)) | slot << 4 * op->depth;
    op->depth++;
    return to;
}

/* A step of SEARCH: `line` is the end of the path, or home when it begins. Sets what it has moved
 * and the next bucket. */
BH_FN_RARE bh_answer DY(search)(const bh_dy_geometry *geometry, DY(op) *op, uint64_t line,
                                uint8_t *has_moved, uint64_t *next)
{
    if (op->depth) {
        uint64_t from = DY(walk)(geometry, op, op->depth - 1u);
        bh_dy_moved moved =
            DY(try_move)(geometry, from, op->path >> 4 * (op->depth - 1u) & 15u, line);

        if (moved == BH_DY_BUSY)
            return BH_RETRY;
        if (moved != BH_DY_MOVED && ++op->looks > BH_DY_LOOKS_MOST)
            return BH_STALL;
        if (moved == BH_DY_MOVED) {
            *has_moved = 1;
            if (--op->depth) {
                /* `from` has a free slot now: on with the move before this one. */
                *next = from;
                return BH_NEXT;
            }
        }
        if (moved != BH_DY_FULL) {
            /* Things are no longer as they were, or this was the first move: look at everything
             * anew. */
            op->state = BH_DY_OTHER;
            *next = op->other;
            return BH_NEXT;
        }
    }
    *next = DY(search_on)(geometry, op, line);
    return *next ? BH_NEXT : BH_STALL;
}

BH_FN bh_answer DY(step_search)(bh__slice *slice, DY(op) *op, uint64_t line, bh_region *next)
{
    /* Copies, so that nobody else has a pointer to the slice. */
    uint64_t to = line;
    uint8_t moved = 0;
    bh_answer answer = BH_STALL;

    if (slice->looks) {
        slice->looks--;
        answer = DY(search)((const bh_dy_geometry *)slice->geometry, op, line, &moved, &to);
    }
    slice->moved |= moved;
    slice->stalled_path |= answer == BH_STALL;
    *next = bh_dy_region(to, BUCKET);
    return answer;
}

/* From now on the operation searches, from home. */
BH_FN void DY(to_search)(DY(op) *op)
{
    op->state = BH_DY_SEARCH;
    op->from = op->home;
    op->depth = 0;
    op->deepest = 1;
    op->path = 0;
}

/* Of an element of which an earlier stage of a GPU knows that both its buckets are full: it begins with
 * its search. */
BH_FN bh_region DY(begin_last)(const bh__slice *slice, DY(op) *op, uint32_t at, uint32_t kind)
{
    bh_region region = DY(begin)(slice, op, at, kind);

    (void)DY(go_other)(slice, op, region.offset, &region);
    DY(to_search)(op);
    region.offset = op->home;
    return region;
}

/* Both buckets of a key are full. */
BH_FN bh_answer DY(begin_search)(bh__slice *slice, DY(op) *op, bh_region *next)
{
    if (slice->no_paths || !slice->looks) {
        slice->stalled_path = 1;
        return BH_STALL;
    }
    DY(to_search)(op);
    return DY(step_search)(slice, op, op->home, next);
}

/* Home is full and the key is nowhere, as it seemed. Many keys have been erased: there may be room
 * in the home of one of home's guests. Answers that guest's home, and its slot; 0 when there is no
 * guest. */
BH_FN_RARE uint64_t DY(evict)(const bh_dy_geometry *geometry, uint64_t home, uint64_t meta,
                              uint32_t *slot)
{
    uint32_t left = bh_dy_maybe_guests(meta, SLOTS);

    for (; left; left &= left - 1) {
        bh_dy_places places;

        *slot = bh_first(left);
        places = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(home, *slot)), BUCKET);
        if (places.other == home)
            return places.home;
    }
    return 0;
}

/* Sends a guest of the full home to where it is at home, if there is one; else on to the other
 * bucket. */
BH_FN bh_answer DY(begin_evict)(const bh__slice *slice, DY(op) *op, uint64_t home, uint64_t meta,
                                bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint32_t slot = 0;
    const uint64_t to = DY(evict)(geometry, home, meta, &slot);

    if (!to)
        return DY(go_other)(slice, op, home, next);
    op->home = home;
    op->path = slot;
    op->looks = 1;
    op->state = BH_DY_EVICT;
    *next = bh_dy_region(to, BUCKET);
    return BH_NEXT;
}

BH_FN bh_answer DY(step_evict)(bh__slice *slice, DY(op) *op, uint64_t line, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    bh_dy_moved moved = DY(try_move)(geometry, op->home, op->path, line);

    if (moved == BH_DY_BUSY)
        return BH_RETRY;
    if (moved == BH_DY_FULL)
        return DY(go_other)(slice, op, op->home, next);
    slice->moved |= moved == BH_DY_MOVED;
    op->state = BH_DY_HOME;
    *next = bh_dy_region(op->home, BUCKET);
    return BH_NEXT;
}

/* Whether a new key shall rather go to its other bucket. Never, but for an experiment: the paper
 * draws a subtable for each new key. */
BH_FN int DY(rather_away)(const bh__slice *slice, const DY(op) *op)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    bh_hash hash;

    if (!geometry->spread)
        return 0;
    hash = bh_hash_key(op->key, &geometry->seed);
    return (uint32_t)(hash.two * 0x9e3779b97f4a7c15ull >> 32) <
           geometry->away[bh_dy_pair_of(geometry, hash)];
}

BH_FN bh_answer DY(step_home)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                              bh_region *next)
{
    int inserts = BH_OP_INSERTS(kind);
    DY(view) view;

    if (!DY(look)(line, op->key, &view))
        return BH_RETRY;
    if (!view.match) {
        if (bh_dy_counted(view.meta, op->counter))
            return DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
        if (!inserts)
            return bh_load64(bh_dy_at(line)) == view.meta ? DY(done)(op, BH_MISSING) : BH_RETRY;
        if (DY(full)(view.meta)) {
            if (slice->turnover && slice->room && !op->looks)
                return DY(begin_evict)(slice, op, line, view.meta, next);
            return DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
        }
        if (!slice->room) /* it may be refused for that, so it must have been so at one instant */
            return bh_load64(bh_dy_at(line)) == view.meta ? DY(no_room)(slice) : BH_RETRY;
        if (DY(rather_away)(slice, op))
            return DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
    }
    if (!DY(lock)(line, &view))
        return BH_RETRY;
    bh_dy_unlock(line, view.match ? DY(act)(slice, op, kind, line, &view)
                                  : DY(insert)(slice, op, line, view.meta, 0));
    return BH_DONE;
}

BH_FN bh_answer DY(step_other)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                               bh_region *next)
{
    DY(view) home, other;
    int home_full, other_full;

    if (!DY(look)(op->home, op->key, &home) || !DY(look)(line, op->key, &other))
        return BH_RETRY;
    home_full = DY(full)(home.meta);
    other_full = DY(full)(other.meta);
    /* Whoever stalls may be refused, so the key was in neither bucket at one instant: if home's word is
     * what it was, the key did not move between the two looks. This takes no locks: on a GPU thousands
     * of threads that lock two buckets only to see this would keep each other waiting. */
    if (BH_OP_INSERTS(kind) && !home.match && !other.match &&
        (!slice->room || (home_full && other_full))) {
        if (bh_load64(bh_dy_at(line)) != other.meta || bh_load64(bh_dy_at(op->home)) != home.meta)
            return BH_RETRY;
        return slice->room ? DY(begin_search)(slice, op, next) : DY(no_room)(slice);
    }
    if (!DY(lock)(op->home, &home))
        return BH_RETRY;
    if (home.match) {
        bh_dy_unlock(op->home, DY(act)(slice, op, kind, op->home, &home));
        return BH_DONE;
    }
    if (!DY(lock)(line, &other)) {
        bh_dy_unlock(op->home, home.meta);
        return BH_RETRY;
    }
    if (other.match) {
        bh_dy_unlock(line, DY(act)(slice, op, kind, line, &other));
        bh_dy_unlock(op->home, BH_OP_ERASES(kind) ? bh_dy_count_down(home.meta, op->counter)
                                                  : home.meta);
        return BH_DONE;
    }
    /* The key is nowhere, and as long as home is locked it stays so. */
    if (!BH_OP_INSERTS(kind)) {
        op->outcome = BH_MISSING;
    } else if (!home_full && (other_full || !DY(rather_away)(slice, op))) {
        home.meta = DY(insert)(slice, op, op->home, home.meta, 0);
    } else {
        other.meta = DY(insert)(slice, op, line, other.meta, 1);
        home.meta = bh_dy_count_up(home.meta, op->counter);
    }
    bh_dy_unlock(line, other.meta);
    bh_dy_unlock(op->home, home.meta);
    return BH_DONE;
}

/* One step of an operation on the region it asked for. */
BH_FN bh_answer DY(step)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                         bh_region *next)
{
    if (kind == BH_FIND)
        return DY(step_find)(slice, op, line, next);
    if (op->state == BH_DY_HOME)
        return DY(step_home)(slice, op, kind, line, next);
    if (op->state == BH_DY_OTHER)
        return DY(step_other)(slice, op, kind, line, next);
    if (op->state == BH_DY_EVICT || slice->no_paths)
        return DY(step_evict)(slice, op, line, next);
    return DY(step_search)(slice, op, line, next);
}

/* ---------------------------------------------------------------------------------------------
 * What is done with the gate held alone
 * --------------------------------------------------------------------------------------------- */

/* In a pass: runs one operation to its end, or until it stalls. */
BH_FN_RARE bh_answer DY(carry)(bh__slice *slice, uint32_t at, uint32_t kind)
{
    bh_answer answer = BH_NEXT;
    uint32_t refused = 0;
    bh_region region;
    DY(op) op;

    op.home = op.other = op.from = 0; /* set by steps; the compiler cannot see that */
    op.path = op.depth = op.deepest = 0;
    region = DY(begin)(slice, &op, at, kind);
    do {
        if (!bh_turn(refused))
            continue;
        answer = DY(step)(slice, &op, kind, region.offset, &region);
        refused = answer == BH_RETRY ? refused + 1 : 0;
    } while (answer == BH_NEXT || answer == BH_RETRY);
    if (answer == BH_DONE && slice->outcomes)
        slice->outcomes[at] = op.outcome;
    return answer;
}

/*
 * Whether a key may go to `to` while a subtable is being halved. To undo a halving, the keys that
 * were in the half that goes move back there, and find their slots free because nothing else has a
 * claim to that half: so no key may come to the subtable from elsewhere that would belong there.
 */
BH_FN int DY(stays_undoable)(const bh_dy_resize *merge, BH_KEY key, uint64_t to, int home)
{
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    uint64_t word = home ? hash.one : bh_dy_word_other(hash);

    return to - subtable->lines >= (uint64_t)BUCKET * (geometry->base << subtable->doublings) ||
           !(word >> subtable->doublings & 1);
}

/* Adds a bucket to those that a search has seen; its meta word is `meta`. */
BH_FN void DY(see)(bh_dy_node *node, uint64_t line, uint64_t meta, uint32_t parent, uint32_t slot)
{
    node->line = line;
    node->parent = parent;
    node->slot = slot;
    bh_write64(bh_dy_at(line), meta | BH_DY_SEEN);
}

/*
 * Makes a free slot in one of two full buckets: breadth first search over the
 * residents' other places, then the moves from the free end back. A shortest path visits no bucket
 * twice, so no move disturbs another. Answers whether one of the two has room now; 0, nothing changed,
 * when no path was found within *looks buckets, which are counted down. `merge` is NULL, or the
 * halving that is going on: see stays_undoable.
 *
 * Buckets are marked when they are seen, so that keys which all want the same few buckets are found to
 * have no path after these few.
 */
BH_FN_RARE int DY(make_room)(const bh_dy_geometry *geometry, const bh__scratch *scratch,
                             uint64_t *looks, const uint64_t *root, const bh_dy_resize *merge)
{
    bh_dy_node *nodes = (bh_dy_node *)scratch->memory;
    const uint64_t most = scratch->bytes / sizeof *nodes;
    uint64_t from = 0, to = 0, found = 0;
    uint32_t head, tail, slot = 0, i;

    for (tail = 0; tail < 2; tail++)
        DY(see)(&nodes[tail], root[tail], bh_load64(bh_dy_at(root[tail])), UINT32_MAX, 0);
    for (head = 0; head < tail; head++) {
        from = nodes[head].line;
        for (slot = 0; slot < SLOTS && *looks; slot++) {
            BH_KEY key = BH_LOAD_KEY(DY(key_at)(from, slot));
            bh_dy_places places = bh_dy_places_of(geometry, key, BUCKET);
            uint64_t meta;

            to = places.home == from ? places.other : places.home;
            if (merge && !DY(stays_undoable)(merge, key, to, to == places.home))
                continue;
            --*looks;
            meta = bh_load64(bh_dy_at(to));
            if (!DY(full)(meta)) {
                found = to;
                break;
            }
            if (!(meta & BH_DY_SEEN) && tail < most)
                DY(see)(&nodes[tail++], to, meta, head, slot);
        }
        if (found || !*looks)
            break;
    }
    for (i = 0; i < tail; i++)
        bh_write64(bh_dy_at(nodes[i].line), bh_load64(bh_dy_at(nodes[i].line)) & ~BH_DY_SEEN);
    if (!found)
        return 0;
    while (DY(try_move)(geometry, from, slot, to) == BH_DY_MOVED &&
           nodes[head].parent != UINT32_MAX) {
        to = from;
        slot = nodes[head].slot;
        head = nodes[head].parent;
        from = nodes[head].line;
    }
    return 1;
}

/* BH_DY_PASS_PLACE: asks for the home line of an element that comes soon. */
BH_FN void DY(place_ahead)(const bh__slice *slice, uint32_t i)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;

    if (BH_BRINGS && i < slice->listed)
        bh_bring_to_write(bh_dy_at(
            bh_dy_places_of(geometry, ((const BH_KEY *)slice->keys)[slice->list[i]], BUCKET).home));
}

/* BH_DY_PASS_PLACE: performs one element, making room for it along a longer path if need be. */
BH_FN bh_answer DY(place_one)(bh__slice *slice, uint32_t at)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint32_t kind = slice->ops ? slice->ops[at] : slice->op;

    for (;;) {
        uint64_t allowed = slice->looks < BH_DY_LOOKS_LONE ? slice->looks : BH_DY_LOOKS_LONE;
        uint64_t looks = allowed;
        bh_dy_places places;
        uint64_t root[2];
        int found;

        if (DY(carry)(slice, at, kind) == BH_DONE)
            return BH_DONE;
        if (!slice->room || !allowed || slice->vain >= slice->vain_most)
            return BH_STALL;
        places = bh_dy_places_of(geometry, ((const BH_KEY *)slice->keys)[at], BUCKET);
        root[0] = places.home;
        root[1] = places.other;
        found = DY(make_room)(geometry, slice->scratch, &looks, root, 0);
        slice->looks -= allowed - looks;
        if (!found) {
            slice->vain += allowed - looks + BH_LOOKS_OF_SEARCH; /* its own search, before this one */
            return BH_STALL;
        }
    }
}

/*
 * BH_DY_PASS_PLACE: finishes the operations that a slice's list names, one by one, making room along
 * longer paths. What found no room within max_fill, or no path, stays in the list and is counted as
 * refused. The pass stops at the first of these where the table may still grow for it; and when its
 * searches have looked at very many buckets, because everyone else waits. What was not tried stays in
 * the list behind the refused.
 */
BH_FN void DY(place)(void *argument, uint64_t first, uint64_t count)
{
    bh__slice *slice = (bh__slice *)argument;
    const uint64_t looks = slice->looks;
    uint32_t kept = 0, i;
    int stopped = 0;

    (void)first;
    (void)count;
    slice->refused = 0;
    for (i = 0; i < BH_DY_PLACE_AHEAD; i++)
        DY(place_ahead)(slice, i);
    for (i = 0; i < slice->listed; i++) {
        uint32_t at = slice->list[i];

        DY(place_ahead)(slice, i + BH_DY_PLACE_AHEAD);
        if (stopped || DY(place_one)(slice, at) != BH_DONE) {
            slice->list[kept++] = (uint16_t)at;
            slice->refused += !stopped;
            stopped |= !slice->final;
        }
        stopped |= looks - slice->looks >= BH_DY_LOOKS_HELD;
    }
    slice->stalled = kept;
}

/*
 * BH_DY_PASS_SPLIT: moves the keys whose next index bit is set into the new half of a subtable, and
 * clears its filters; BH_DY_PASS_HOME makes them anew.
 */
BH_FN void DY(split_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *split = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = split->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[split->subtable];
    uint64_t bit = subtable->doublings - 1;
    uint64_t half = (uint64_t)BUCKET * (geometry->base << bit);
    uint64_t moved = 0, i;

    for (i = first; i < first + count; i++) {
        uint64_t low = subtable->lines + (uint64_t)BUCKET * i, high = low + half;
        uint64_t low_meta = bh_read64(bh_dy_at(low)) & ~BH_DY_FILTER_MASK;
        /* Reading memory that was never written costs a page fault more than writing it. */
        uint64_t high_meta = split->fresh ? 0 : bh_read64(bh_dy_at(high)) & ~BH_DY_FILTER_MASK;
        uint32_t guests = bh_dy_maybe_guests(low_meta, SLOTS), up = 0, slot;

        /* All slots alike, without branches: half of the keys go, no processor guesses which. */
        for (slot = 0; slot < SLOTS; slot++) {
            bh_hash hash = bh_hash_key(DY(own_key)(low, slot), &geometry->seed);
            uint64_t word = hash.one, other = bh_dy_word_other(hash);
            uint32_t guest = SLOTS > BH_DY_GUESTS_KNOWN
                                 ? (geometry->pair[bh_dy_pair_of(geometry, hash)] & 15u) !=
                                       split->subtable
                                 : guests >> slot & 1u;

            word ^= (word ^ other) & (0ull - guest);
            up |= (uint32_t)(word >> bit & 1) << slot;
        }
        for (up &= bh_dy_used(low_meta, SLOTS); up; up &= up - 1) {
            slot = bh_first(up);
            high_meta = DY(put)(high, high_meta, DY(own_key)(low, slot),
                                DY(own_value)(low, slot), (int)(guests >> slot & 1u));
            low_meta = DY(take)(low_meta, slot);
            moved++;
        }
        bh_write64(bh_dy_at(low), low_meta);
        bh_write64(bh_dy_at(high), high_meta);
    }
    bh_add64(&split->moved, moved);
}

/* One attempt to bring a key home if there is room, else to count it in its home's filter, which is
 * being made anew. Answers 0 when the bucket is locked; *moved is raised when the key has moved. */
BH_FN_RARE int DY(try_go_home)(const bh_dy_moving *key, uint64_t *moved)
{
    uint64_t meta;

    if (!bh_dy_try_lock(key->to, &meta))
        return 0;
    if (DY(full)(meta)) {
        bh_dy_unlock(key->to, bh_dy_count_up(meta, key->counter));
    } else {
        DY(move_home)(key->from, bh_read64(bh_dy_at(key->from)), key->slot, key->to, meta);
        ++*moved;
    }
    return 1;
}

/* Answers how many keys were moved. */
BH_FN uint32_t DY(go_home)(const bh_dy_moving *key)
{
    uint32_t refused = 0;
    uint64_t moved = 0;

    while (!bh_turn(refused) || !DY(try_go_home)(key, &moved))
        refused++;
    return (uint32_t)moved;
}

/*
 * BH_DY_PASS_HOME: brings home from another subtable the keys whose home is the subtable that has
 * doubled. It is what keeps the subtables equally full, and most misses at one line, in a table
 * that grows: a subtable that is about to double is the fullest, so many of its keys are guests
 * elsewhere. Those that stay are counted in their homes' filters here.
 */
BH_FN void DY(bring_home)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *split = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = split->geometry;
    uint64_t moved = 0, found = 0, i;
    bh_dy_moving moving[BH_DY_MOVING_MOST];

    for (i = first; i < first + count; i++) {
        uint64_t line = geometry->subtable[split->from].lines + (uint64_t)BUCKET * i;
        uint32_t guests = bh_dy_maybe_guests(bh_read64(bh_dy_at(line)), SLOTS);

        if (i + BH_DY_AHEAD < first + count)
            bh_bring(bh_dy_at(line + BH_DY_AHEAD * (uint64_t)BUCKET));
        for (; guests; guests &= guests - 1) {
            uint32_t slot = bh_first(guests);
            bh_hash hash = bh_hash_key(DY(own_key)(line, slot), &geometry->seed);
            uint64_t pair = bh_dy_pair_of(geometry, hash);
            bh_dy_moving *key = &moving[found % BH_DY_MOVING_MOST];

            if ((geometry->pair[pair] & 15u) != split->subtable)
                continue;
            if (found++ >= BH_DY_MOVING_MOST)
                moved += DY(go_home)(key);
            key->from = line;
            key->to = bh_dy_line_of(geometry, &geometry->home[pair], hash.one, BUCKET);
            key->slot = slot;
            key->counter = bh_dy_counter_of(hash.one >> geometry->home[pair].doublings);
            bh_bring_to_write(bh_dy_at(key->to));
        }
    }
    for (i = found < BH_DY_MOVING_MOST ? 0 : found - BH_DY_MOVING_MOST; i < found; i++)
        moved += DY(go_home)(&moving[i % BH_DY_MOVING_MOST]);
    bh_add64(&split->moved, moved);
}

/* Where a key goes for which a halving leaves no slot: to the other bucket of its pair, which lies
 * in another subtable. That is home, if it was a guest. */
BH_FN_RARE bh_dy_moving DY(way_out)(const bh_dy_resize *merge, uint64_t high, uint32_t slot)
{
    const bh_dy_geometry *geometry = merge->geometry;
    BH_KEY key = DY(own_key)(high, slot);
    bh_dy_places places = bh_dy_places_of(geometry, key, BUCKET);
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    bh_dy_moving moving;

    moving.from = high;
    moving.slot = slot;
    moving.homeward =
        (geometry->pair[bh_dy_pair_of(geometry, hash)] & 15u) != merge->subtable;
    moving.to = moving.homeward ? places.home : places.other;
    moving.counter = places.counter;
    return moving;
}

/* One attempt to let it go there, unless there is no room. A key that leaves its home is counted
 * there, in the half that stays, `half` bytes below. Answers 0 when the bucket is locked; *went is
 * set when the key went. */
BH_FN_RARE int DY(try_go_out)(const bh_dy_moving *key, uint64_t half, int *went)
{
    uint64_t from_meta = bh_read64(bh_dy_at(key->from)), to_meta, home = key->from - half;

    if (!bh_dy_try_lock(key->to, &to_meta))
        return 0;
    *went = !DY(full)(to_meta);
    if (!*went) {
        bh_dy_unlock(key->to, to_meta);
    } else if (key->homeward) {
        to_meta = bh_dy_count_down(to_meta, key->counter);
        DY(move_home)(key->from, from_meta, key->slot, key->to, to_meta);
    } else {
        bh_write64(bh_dy_at(home), bh_dy_count_up(bh_read64(bh_dy_at(home)), key->counter));
        DY(move_away)(key->from, from_meta, key->slot, key->to, to_meta, key->counter);
    }
    return 1;
}

/* Answers whether it went. */
BH_FN int DY(go_out)(const bh_dy_moving *key, uint64_t half)
{
    uint32_t refused = 0;
    int went = 0;

    while (!bh_turn(refused) || !DY(try_go_out)(key, half, &went))
        refused++;
    return went;
}

/*
 * BH_DY_PASS_MERGE: a subtable has halved. The keys of each bucket of the half that goes move to their
 * bucket in the half that stays, those at home first; for the rest see way_out. What finds no room
 * there either stays where it is. Each bucket of this subtable is one task's.
 */
BH_FN void DY(merge_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *merge = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    uint64_t half = (uint64_t)BUCKET * (geometry->base << subtable->doublings);
    uint64_t moved = 0, found = 0, gone = 0, i;
    bh_dy_moving moving[BH_DY_MOVING_MOST];

    for (i = first; i < first + count; i++) {
        uint64_t low = subtable->lines + (uint64_t)BUCKET * i, high = low + half;
        uint64_t low_meta = bh_read64(bh_dy_at(low)), high_meta = bh_read64(bh_dy_at(high));
        uint32_t guests = bh_dy_maybe_guests(high_meta, SLOTS);
        uint32_t kept[2] = {bh_dy_maybe_residents(high_meta, SLOTS) & ~guests, guests}, part;

        low_meta = (low_meta & ~BH_DY_FILTER_MASK) | bh_dy_merged_filter(low_meta, high_meta);
        high_meta &= ~BH_DY_FILTER_MASK;
        for (part = 0; part < 2; part++) {
            for (; kept[part] && !DY(full)(low_meta); kept[part] &= kept[part] - 1) {
                uint32_t slot = bh_first(kept[part]);

                low_meta = DY(put)(low, low_meta, DY(own_key)(high, slot),
                                   DY(own_value)(high, slot), (int)part);
                high_meta = DY(take)(high_meta, slot);
                moved++;
            }
        }
        bh_write64(bh_dy_at(low), low_meta);
        bh_write64(bh_dy_at(high), high_meta);
        for (kept[0] |= kept[1]; kept[0]; kept[0] &= kept[0] - 1) {
            bh_dy_moving *key = &moving[found % BH_DY_MOVING_MOST];

            if (found++ >= BH_DY_MOVING_MOST)
                gone += (uint64_t)DY(go_out)(key, half);
            *key = DY(way_out)(merge, high, bh_first(kept[0]));
            bh_bring_to_write(bh_dy_at(key->to));
        }
    }
    for (i = found < BH_DY_MOVING_MOST ? 0 : found - BH_DY_MOVING_MOST; i < found; i++)
        gone += (uint64_t)DY(go_out)(&moving[i % BH_DY_MOVING_MOST], half);
    bh_add64(&merge->moved, moved + gone);
    bh_add64(&merge->left, found - gone);
}

/* One key that a halving has left: a place for it along a longer path. Answers 0 when there is
 * none. */
BH_FN_RARE int DY(place_left)(const bh_dy_resize *merge, uint64_t high, uint32_t slot, uint64_t half)
{
    bh_dy_moving key = DY(way_out)(merge, high, slot);
    uint64_t root[2] = {high - half, key.to}, looks = BH_DY_LOOKS_LONE, meta;

    if (DY(go_out)(&key, half))
        return 1;
    meta = bh_read64(bh_dy_at(root[0]));
    if (DY(full)(meta)) {
        if (!DY(make_room)(merge->geometry, merge->scratch, &looks, root, merge))
            return 0;
        if (DY(go_out)(&key, half))
            return 1;
        meta = bh_read64(bh_dy_at(root[0]));
    }
    bh_store64(bh_dy_at(root[0]), DY(put)(root[0], meta, DY(own_key)(high, slot),
                                          DY(own_value)(high, slot), key.homeward));
    bh_store64(bh_dy_at(high), DY(take)(bh_read64(bh_dy_at(high)), slot));
    return 1;
}

/* BH_DY_PASS_RESIDUE: looks for longer paths for the keys that a halving has left, and stops after too
 * many searches in vain. */
BH_FN void DY(place_residue)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_resize *merge = (bh_dy_resize *)argument;
    const bh_dy_geometry *geometry = merge->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[merge->subtable];
    uint64_t half = (uint64_t)BUCKET * (geometry->base << subtable->doublings), gone = 0, i;
    uint32_t vain = 0;

    for (i = first; i < first + count && vain < BH_DY_VAIN_MOST; i++) {
        uint64_t high = subtable->lines + half + (uint64_t)BUCKET * i;
        uint32_t left = bh_dy_used(bh_read64(bh_dy_at(high)), SLOTS);

        for (; left && vain < BH_DY_VAIN_MOST; left &= left - 1) {
            if (DY(place_left)(merge, high, bh_first(left), half))
                gone++;
            else
                vain++;
        }
    }
    bh_add64(&merge->moved, gone);
    bh_add64(&merge->left, 0 - gone);
}

/* Inserts the pairs of a range of buckets. Alone, it is the second time: most keys are in the table
 * already, and for the others longer paths are looked for. */
BH_FN void DY(reinsert)(bh_dy_reinsert *job, uint64_t first, uint64_t count, int alone)
{
    uint64_t left = 0, i;
    uint32_t vain = 0;
    BH_VALUE value;
    BH_KEY key;
    bh__slice slice;

    slice.geometry = job->geometry;
    slice.keys = &key;
    slice.values = &value;
    slice.values_out = 0;
    slice.outcomes = 0;
    slice.ops = 0;
    slice.system = 0;
    slice.op = BH_INSERT_NEW;
    slice.turnover = slice.no_paths = slice.moved = slice.stalled_path = slice.stalled_room = 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    slice.room = UINT64_MAX;
    slice.looks = BH_LOOKS_FREE;
    for (i = first; i < first + count && vain < BH_DY_VAIN_MOST; i++) {
        uint64_t line = job->lines + (uint64_t)BUCKET * i;
        uint32_t used = bh_dy_used(bh_read64(bh_dy_at(line)), SLOTS);

        for (; used && vain < BH_DY_VAIN_MOST; used &= used - 1) {
            uint64_t root[2], looks = BH_DY_LOOKS_LONE;
            bh_dy_places places;

            key = DY(own_key)(line, bh_first(used));
            value = DY(own_value)(line, bh_first(used));
            if (DY(carry)(&slice, 0, BH_INSERT_NEW) == BH_DONE)
                continue;
            if (!alone) {
                left++;
                continue;
            }
            places = bh_dy_places_of(job->geometry, key, BUCKET);
            root[0] = places.home;
            root[1] = places.other;
            if (!DY(make_room)(job->geometry, job->scratch, &looks, root, 0) ||
                DY(carry)(&slice, 0, BH_INSERT_NEW) != BH_DONE) {
                left++;
                vain++;
            }
        }
    }
    bh_add64(&job->left, left);
}

/* BH_DY_PASS_REINSERT. */
BH_FN void DY(reinsert_buckets)(void *argument, uint64_t first, uint64_t count)
{
    DY(reinsert)((bh_dy_reinsert *)argument, first, count, 0);
}

/* BH_DY_PASS_REST. */
BH_FN void DY(reinsert_rest)(void *argument, uint64_t first, uint64_t count)
{
    DY(reinsert)((bh_dy_reinsert *)argument, first, count, 1);
}

/* The slots in use of a bucket, from the first slot to be exported on. */
BH_FN uint32_t DY(exported)(const bh_dy_export *job, uint64_t line, uint64_t bucket)
{
    uint32_t used = bh_dy_used(bh_read64(bh_dy_at(line)), SLOTS);

    return bucket == job->first_bucket ? used >> job->first_slot << job->first_slot : used;
}

/* BH_DY_PASS_EXPORT: copies the pairs of each part to the places that it takes. */
BH_FN void DY(export_parts)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_export *job = (bh_dy_export *)argument;
    uint64_t lines = job->geometry->subtable[job->subtable].lines, part, bucket;
    BH_KEY *keys = (BH_KEY *)job->keys;
    BH_VALUE *values = (BH_VALUE *)job->values;

    for (part = first; part < first + count; part++) {
        uint64_t end = bh_dy_part(job, part, &bucket), i, there = 0, to, last;

        /* No further than to where the room ends: calls may be for a few pairs only. */
        for (i = bucket; i < end && there <= job->room; i++) {
            uint64_t line = lines + (uint64_t)BUCKET * i;

            /* Behind this part lies one that is read soon too. */
            bh_bring(bh_dy_at(line + BH_DY_AHEAD * (uint64_t)BUCKET));
            there += bh_count(DY(exported)(job, line, i));
        }
        to = bh_take64(&job->taken, there);
        last = to + there < job->room ? to + there : job->room;
        for (; bucket < end; bucket++) {
            uint64_t line = lines + (uint64_t)BUCKET * bucket;
            uint32_t used = DY(exported)(job, line, bucket), slot;

            /* As long as what is written in vain stays within this part's places. */
            if (to + SLOTS <= last) {
                BH_PACK_KEYS(keys + to, DY(key_at)(line, 0), SLOTS, used);
                if (BH_VALUE_BYTES && values)
                    BH_PACK_VALUES(values + to, DY(value_at)(line, 0), SLOTS, used);
                to += bh_count(used);
                continue;
            }
            for (; used; used &= used - 1) {
                slot = bh_first(used);

                if (to == last) {
                    job->stop_bucket = bucket;
                    job->stop_slot = slot;
                    bucket = end;
                    break;
                }
                keys[to] = DY(own_key)(line, slot);
                if (BH_VALUE_BYTES && values)
                    values[to] = DY(own_value)(line, slot);
                to++;
            }
        }
    }
}

#undef DY
#undef SLOTS
#undef SLOTS_ALL
#undef BUCKET
