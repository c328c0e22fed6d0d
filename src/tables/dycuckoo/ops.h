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
 *   - nobody is evicted into the air: a resident moves only into a slot that is free,
 *     and only from its home to its other bucket, so that a reader, who looks in that
 *     order, cannot miss it.
 *
 * HOW AN OPERATION GOES
 *
 *   HOME    Look at the home bucket. Reading operations compare and check the sequence number.
 *           Writing ones lock with one compare-and-swap from the meta word they read: if it
 *           succeeds, what they read is still so. Most operations end here. Others go on to
 *   OTHER   with the home line still in cache. A writer locks home, then the other bucket by one
 *           try; if that fails it lets go of both and asks to be run again. Now the whole truth
 *           about the key is in hand: act on it, insert it in home or in the other bucket, or, when
 *           both are full, let go and try to
 *   MOVE    a resident of one of the two buckets, whose home that is, to its own other bucket: an
 *           operation of its own with its own two locks. If it worked, start again at OTHER, which
 *           looks at everything anew; if that bucket is full too, try the next resident. When all
 *           have been tried the operation stalls.
 *
 * No lock is ever held between steps. So operations of one thread never meet each other's locks,
 * and a thread that waits for nothing cannot be part of a deadlock.
 *
 * WHY A READER MISSES NOTHING. A reader of HOME that finds the filter bit of its key clear, in a
 * meta word that is the same before and after, has seen an instant at which the key was in neither
 * bucket: whoever puts a key into its other bucket holds home's lock meanwhile and sets the bit
 * before letting go. A reader of OTHER that finds nothing loads home's meta word again: if it is
 * what it was in HOME, the key was not in home all the while, and at the instant of the look at
 * the other bucket not there either. Otherwise it starts again.
 *
 * WHAT HAPPENS IF the filter bit of an erased guest stays set: lookups of missing keys that share
 * the bit read a second line. Nothing else.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_DYCUCKOO_OPS_H
#define BH_TABLES_DYCUCKOO_OPS_H

#include "targets/target.h"

#include "tables/dycuckoo/layout.h"
#include "tables/table.h"

typedef enum bh_dy_state { BH_DY_HOME, BH_DY_OTHER, BH_DY_MOVE } bh_dy_state;

/* The meta word's parts. */
BH_FN uint32_t bh_dy_used(uint64_t meta, uint32_t slots)
{
    return (uint32_t)(meta >> BH_DY_USED_SHIFT) & ((1u << slots) - 1);
}

BH_FN uint64_t bh_dy_used_bit(uint32_t slot)
{
    return 1ull << (BH_DY_USED_SHIFT + slot);
}

BH_FN bh_region bh_dy_region(uint64_t line)
{
    bh_region region = {line, BH_DY_LINE, BH_TIER_NEAR};

    return region;
}

/* Where a hash lives. `word` is hash.one in the home subtable, and bh_dy_word_other in the other:
 * a third function of the hash, so that keys of one home bucket spread over all other buckets
 * however many doublings their subtables have behind them. */
BH_FN uint64_t bh_dy_word_other(bh_hash hash)
{
    return hash.two * 0xd6e8feb86659fd93ull;
}

BH_FN uint64_t bh_dy_line_of(const bh_dy_geometry *geometry, const bh_dy_subtable *subtable,
                             uint64_t word)
{
    uint64_t base = geometry->base;

    return subtable->lines +
           BH_DY_LINE * (bh_hash_range(word, base) + base * (word & subtable->mask));
}

/* The ordered pair of subtables of a key, as an index of geometry's pair and home. */
BH_FN uint64_t bh_dy_pair_of(const bh_dy_geometry *geometry, bh_hash hash)
{
    return (hash.two >> 32) * geometry->pairs >> 32;
}

/* The filter bit of a key in its home's meta word, from the key's next index bits there: its word
 * shifted right by the subtable's doublings. */
BH_FN uint64_t bh_dy_filter_bit(uint64_t next_bits)
{
    return 1ull << (BH_DY_FILTER_SHIFT + (next_bits & (BH_DY_FILTER_BITS - 1)));
}

/* Both places of a key. */
typedef struct bh_dy_places {
    uint64_t home;
    uint64_t other;
    uint64_t filter;
} bh_dy_places;

BH_FN bh_dy_places bh_dy_places_of(const bh_dy_geometry *geometry, uint64_t key)
{
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    uint64_t pair = bh_dy_pair_of(geometry, hash);
    const bh_dy_subtable *home = &geometry->home[pair];
    const bh_dy_subtable *other = &geometry->subtable[geometry->pair[pair] >> 4];
    bh_dy_places places;

    places.home = bh_dy_line_of(geometry, home, hash.one);
    places.other = bh_dy_line_of(geometry, other, bh_dy_word_other(hash));
    places.filter = bh_dy_filter_bit(hash.one >> home->doublings);
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
    *begin = job->first_bucket + part * BH_DY_EXPORT_PART;
    return job->end_bucket - *begin < BH_DY_EXPORT_PART ? job->end_bucket
                                                        : *begin + BH_DY_EXPORT_PART;
}

BH_FN int bh_dy_inserts(uint32_t op)
{
    return op != BH_FIND && op != BH_UPDATE && op != BH_ERASE;
}

/* Buckets looked at in search of a free slot. With S slots a search this wide reaches paths of
 * length log_S of it, 3 to 4 for 7 slots. Chosen, not tuned. A build for tests may want searches
 * that end soon. */
#ifndef BH_DY_SEARCH_MOST
#define BH_DY_SEARCH_MOST 1024u
#endif

/* After so many searches in vain a place pass stops: the table wants to grow, or many keys want the
 * same two buckets and shall not keep everyone else waiting. */
#define BH_DY_VAIN_MOST 16u

typedef struct bh_dy_node {
    uint64_t line;
    uint32_t parent; /* whose resident in `slot` would move here */
    uint32_t slot;
} bh_dy_node;

/* Homes on their way from memory while a pass reads on: they lie anywhere. */
#define BH_DY_HOMING_MOST 32u

/* A key that may go home. */
typedef struct bh_dy_homing {
    uint64_t home;
    uint64_t guest_at; /* the bucket it is in */
    uint64_t filter;
    uint32_t slot;
} bh_dy_homing;

#endif

#define DY(name) BH_NAME(bh_dy_##name)
#define SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)
#define SLOTS_ALL ((1u << SLOTS) - 1)

/* One operation in flight. */
typedef struct DY(op) {
    uint64_t home; /* set from OTHER on */
    uint64_t other;
    uint64_t from;      /* MOVE: the bucket whose resident is to move */
    uint64_t seen;      /* find: home's meta word when it was looked at */
    uint64_t next_bits; /* for the key's filter bit in its home's meta word */
    BH_KEY key;
    uint32_t at; /* index in the slice */
    uint8_t state;
    uint8_t slot;  /* MOVE: which resident */
    uint8_t moves; /* MOVE steps so far */
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
    return bh_dy_at(line) + 8 + SLOTS * BH_KEY_BYTES + slot * BH_VALUE_BYTES;
}

BH_FN BH_VALUE DY(value)(uint64_t line, uint32_t slot)
{
    return BH_VALUE_BYTES ? BH_LOAD_VALUE(DY(value_at)(line, slot)) : 0;
}

BH_FN void DY(set_pair)(uint64_t line, uint32_t slot, BH_KEY key, BH_VALUE value)
{
    BH_STORE_KEY(DY(key_at)(line, slot), key);
    if (BH_VALUE_BYTES)
        BH_STORE_VALUE(DY(value_at)(line, slot), value);
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

/* Locks a bucket as it was seen; answers 0 when it has changed. */
BH_FN int DY(lock)(uint64_t line, const DY(view) *view)
{
    return bh_swap_if64(bh_dy_at(line), view->meta, view->meta | BH_DY_LOCK);
}

/* Puts a pair into a free slot of a locked bucket; answers the meta word to unlock with. */
BH_FN uint64_t DY(put)(uint64_t line, uint64_t meta, BH_KEY key, BH_VALUE value)
{
    uint32_t slot = bh_first(~bh_dy_used(meta, SLOTS) & SLOTS_ALL);

    DY(set_pair)(line, slot, key, value);
    return (meta | bh_dy_used_bit(slot)) + BH_DY_CHANGE;
}

/*
 * Moves the pair in `slot` of `from` to a free slot of `to`; both are locked, or the gate is held
 * alone. The copy is published before the original goes, so the pair can be seen at every
 * instant. `filter` is the key's filter bit when `from` is its home, 0 when `to` is.
 */
BH_FN void DY(move)(uint64_t from, uint64_t from_meta, uint32_t slot, uint64_t to, uint64_t to_meta,
                    uint64_t filter)
{
    BH_KEY key = BH_LOAD_KEY(DY(key_at)(from, slot));
    BH_VALUE value = DY(value)(from, slot);

    bh_dy_unlock(to, DY(put)(to, to_meta, key, value));
    bh_dy_unlock(from, ((from_meta & ~bh_dy_used_bit(slot)) | filter) + BH_DY_CHANGE);
}

/* The value that an element of the slice brings. */
BH_FN BH_VALUE DY(given)(const bh__slice *slice, uint32_t at)
{
    return BH_VALUE_BYTES ? ((const BH_VALUE *)slice->values)[at] : 0;
}

/* ---------------------------------------------------------------------------------------------
 * begin and the steps
 * --------------------------------------------------------------------------------------------- */

/* `kind` is the operation; a constant in the instances that have one. */
BH_FN bh_region DY(begin)(const bh__slice *slice, DY(op) *op, uint32_t at, uint32_t kind)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    const bh_dy_subtable *home = &geometry->home[bh_dy_pair_of(geometry, hash)];

    op->key = key;
    op->at = at;
    op->op = (uint8_t)kind;
    op->state = BH_DY_HOME;
    op->moves = 0;
    op->next_bits = hash.one >> home->doublings;
    return bh_dy_region(bh_dy_line_of(geometry, home, hash.one));
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
    op->other = bh_dy_places_of(geometry, op->key).other;
    op->state = BH_DY_OTHER;
    *next = bh_dy_region(op->other);
    return BH_NEXT;
}

BH_FN bh_answer DY(step_find)(const bh__slice *slice, DY(op) *op, uint64_t line, bh_region *next)
{
    DY(view) view;
    BH_VALUE value;

    if (!DY(look)(line, op->key, &view))
        return BH_RETRY;
    if (view.match) {
        value = DY(value)(line, bh_first(view.match));
        if (bh_load64(bh_dy_at(line)) != view.meta)
            return BH_RETRY;
        if (BH_VALUE_BYTES && slice->values_out)
            ((BH_VALUE *)slice->values_out)[op->at] = value;
        return DY(done)(op, BH_FOUND);
    }
    if (bh_load64(bh_dy_at(line)) != view.meta)
        return BH_RETRY;
    if (op->state == BH_DY_HOME) {
        if (!(view.meta & bh_dy_filter_bit(op->next_bits)))
            return DY(done)(op, BH_MISSING);
        op->seen = view.meta;
        return DY(go_other)(slice, op, line, next);
    }
    if (bh_load64(bh_dy_at(op->home)) == op->seen)
        return DY(done)(op, BH_MISSING);
    op->state = BH_DY_HOME;
    *next = bh_dy_region(op->home);
    return BH_NEXT;
}

/* Does the operation to a pair that is there, its bucket and its home locked; answers the meta
 * word to unlock its bucket with. */
BH_FN uint64_t DY(act)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                       const DY(view) *view)
{
    uint32_t slot = bh_first(view->match);
    BH_VALUE value, old;

    if (kind == BH_INSERT_NEW) {
        op->outcome = BH_FOUND;
        return view->meta;
    }
    if (kind == BH_ERASE) {
        slice->room++;
        slice->erased++;
        op->outcome = BH_ERASED;
        return (view->meta & ~bh_dy_used_bit(slot)) + BH_DY_CHANGE;
    }
    slice->assigned++;
    op->outcome = BH_ASSIGNED;
    if (!BH_VALUE_BYTES)
        return view->meta;
    value = DY(given)(slice, op->at);
    if (kind == BH_ADD || kind == BH_MIN || kind == BH_MAX) {
        old = DY(value)(line, slot);
        if (kind == BH_ADD)
            value = (BH_VALUE)(old + value);
        else if (kind == BH_MIN ? old < value : old > value)
            value = old;
    }
    BH_STORE_VALUE(DY(value_at)(line, slot), value);
    return view->meta + BH_DY_CHANGE;
}

/* Puts the operation's new pair into a locked bucket; answers the meta word to unlock it with. */
BH_FN uint64_t DY(insert)(bh__slice *slice, DY(op) *op, uint64_t line, uint64_t meta)
{
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return DY(put)(line, meta, op->key, DY(given)(slice, op->at));
}

/* Sets MOVE to the next resident, from `slot` of op->from on, whose home that bucket is; from
 * home's residents on to the other bucket's. Read without lock: a hint that MOVE checks. */
BH_FN bh_answer DY(next_victim)(bh__slice *slice, DY(op) *op, uint32_t slot, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;

    for (;;) {
        for (; slot < SLOTS; slot++) {
            bh_dy_places victim =
                bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(op->from, slot)));

            if (victim.home == op->from) {
                op->slot = (uint8_t)slot;
                op->state = BH_DY_MOVE;
                *next = bh_dy_region(victim.other);
                return BH_NEXT;
            }
        }
        if (op->from == op->other)
            break;
        op->from = op->other;
        slot = 0;
    }
    slice->stalled_path = 1;
    return BH_STALL;
}

BH_FN bh_answer DY(step_home)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                              bh_region *next)
{
    int inserts = bh_dy_inserts(kind);
    DY(view) view;

    if (!DY(look)(line, op->key, &view))
        return BH_RETRY;
    if (!view.match) {
        if (view.meta & bh_dy_filter_bit(op->next_bits) ||
            (inserts && bh_dy_used(view.meta, SLOTS) == SLOTS_ALL))
            return DY(go_other)(slice, op, line, next);
        if (!inserts)
            return bh_load64(bh_dy_at(line)) == view.meta ? DY(done)(op, BH_MISSING) : BH_RETRY;
        if (!slice->room)
            return BH_STALL;
    }
    if (!DY(lock)(line, &view))
        return BH_RETRY;
    bh_dy_unlock(line, view.match ? DY(act)(slice, op, kind, line, &view)
                                  : DY(insert)(slice, op, line, view.meta));
    return BH_DONE;
}

BH_FN bh_answer DY(step_other)(bh__slice *slice, DY(op) *op, uint32_t kind, uint64_t line,
                               bh_region *next)
{
    DY(view) home, other;
    int home_full, other_full;

    if (!DY(look)(op->home, op->key, &home) || !DY(look)(line, op->key, &other))
        return BH_RETRY;
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
        bh_dy_unlock(op->home, home.meta);
        return BH_DONE;
    }
    /* The key is nowhere, and as long as home is locked it stays so. */
    home_full = bh_dy_used(home.meta, SLOTS) == SLOTS_ALL;
    other_full = bh_dy_used(other.meta, SLOTS) == SLOTS_ALL;
    if (!bh_dy_inserts(kind)) {
        op->outcome = BH_MISSING;
    } else if (!slice->room || (home_full && other_full)) {
        bh_dy_unlock(line, other.meta);
        bh_dy_unlock(op->home, home.meta);
        if (!slice->room)
            return BH_STALL;
        op->from = op->home;
        return DY(next_victim)(slice, op, 0, next);
    } else if (!home_full) {
        home.meta = DY(insert)(slice, op, op->home, home.meta);
    } else {
        other.meta = DY(insert)(slice, op, line, other.meta);
        home.meta |= bh_dy_filter_bit(op->next_bits);
    }
    bh_dy_unlock(line, other.meta);
    bh_dy_unlock(op->home, home.meta);
    return BH_DONE;
}

BH_FN bh_answer DY(step_move)(bh__slice *slice, DY(op) *op, uint64_t line, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint64_t from_meta = bh_load64(bh_dy_at(op->from));
    uint64_t to_meta = bh_load64(bh_dy_at(line));
    bh_dy_places victim;

    if ((from_meta | to_meta) & BH_DY_LOCK)
        return BH_RETRY;
    if (++op->moves > 4 * SLOTS) {
        slice->stalled_path = 1;
        return BH_STALL;
    }
    victim = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(op->from, op->slot)));
    if (from_meta & bh_dy_used_bit(op->slot) && victim.home == op->from && victim.other == line) {
        if (bh_dy_used(to_meta, SLOTS) == SLOTS_ALL)
            return DY(next_victim)(slice, op, op->slot + 1u, next);
        if (!bh_swap_if64(bh_dy_at(op->from), from_meta, from_meta | BH_DY_LOCK))
            return BH_RETRY;
        if (!bh_swap_if64(bh_dy_at(line), to_meta, to_meta | BH_DY_LOCK)) {
            bh_dy_unlock(op->from, from_meta);
            return BH_RETRY;
        }
        DY(move)(op->from, from_meta, op->slot, line, to_meta, victim.filter);
    }
    /* There is a free slot now, or the bucket is not what it was: look at everything anew. */
    op->state = BH_DY_OTHER;
    *next = bh_dy_region(op->other);
    return BH_NEXT;
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
    return DY(step_move)(slice, op, line, next);
}

/* ---------------------------------------------------------------------------------------------
 * What is done with the gate held alone
 * --------------------------------------------------------------------------------------------- */

/*
 * Makes a free slot in one of a key's two full buckets: breadth first search over the residents'
 * other places, then the moves from the free end back. A shortest path visits no bucket twice, so
 * no move disturbs another. Answers 0, nothing changed, when no path was found.
 */
BH_FN int DY(make_room)(const bh_dy_geometry *geometry, BH_KEY key)
{
    bh_dy_node nodes[BH_DY_SEARCH_MOST];
    bh_dy_places places = bh_dy_places_of(geometry, key);
    uint32_t head, tail = 2, slot;

    nodes[0].line = places.home;
    nodes[1].line = places.other;
    nodes[0].parent = nodes[1].parent = BH_DY_SEARCH_MOST;
    nodes[0].slot = nodes[1].slot = 0;
    for (head = 0; head < tail; head++) {
        for (slot = 0; slot < SLOTS; slot++) {
            uint64_t to, meta;

            places =
                bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(nodes[head].line, slot)));
            to = places.home == nodes[head].line ? places.other : places.home;
            meta = bh_load64(bh_dy_at(to));
            if (bh_dy_used(meta, SLOTS) == SLOTS_ALL) {
                if (tail < BH_DY_SEARCH_MOST) {
                    nodes[tail].line = to;
                    nodes[tail].parent = head;
                    nodes[tail++].slot = slot;
                }
                continue;
            }
            for (;;) {
                uint64_t from = nodes[head].line;

                places = bh_dy_places_of(geometry, BH_LOAD_KEY(DY(key_at)(from, slot)));
                DY(move)(from, bh_load64(bh_dy_at(from)), slot, to, bh_load64(bh_dy_at(to)),
                         places.home == from ? places.filter : 0);
                if (nodes[head].parent == BH_DY_SEARCH_MOST)
                    return 1;
                to = from;
                slot = nodes[head].slot;
                head = nodes[head].parent;
            }
        }
    }
    return 0;
}

/*
 * BH_PASS_PLACE: finishes the operations that a slice's list names, one by one, making room along
 * longer paths. What found no room within max_fill, or no path, stays in the list and is counted as
 * refused. After too many searches in vain the pass stops, an ordered one at the first refusal;
 * what was not tried stays in the list behind the refused.
 */
BH_FN void DY(place)(void *argument, uint64_t first, uint64_t count)
{
    bh__slice *slice = (bh__slice *)argument;
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint32_t kept = 0, vain = 0, i;
    int stopped = 0;

    (void)first;
    (void)count;
    slice->refused = 0;
    for (i = 0; i < slice->listed; i++) {
        uint32_t at = slice->list[i];
        uint32_t kind = slice->ops ? slice->ops[at] : slice->op;
        bh_answer answer = BH_STALL;

        while (!stopped) {
            DY(op) op;
            bh_region region = DY(begin)(slice, &op, at, kind);

            op.home = op.other = op.from = 0; /* set by steps; the compiler cannot see that */
            op.slot = 0;
            do {
                answer = DY(step)(slice, &op, kind, region.offset, &region);
            } while (answer == BH_NEXT || answer == BH_RETRY);
            if (answer == BH_DONE && slice->outcomes)
                slice->outcomes[at] = op.outcome;
            if (answer == BH_DONE || !slice->room)
                break;
            if (!DY(make_room)(geometry, op.key)) {
                vain++;
                break;
            }
        }
        if (answer != BH_DONE) {
            slice->list[kept++] = (uint16_t)at;
            slice->refused += !stopped;
            stopped |= slice->ordered || vain == BH_DY_VAIN_MOST;
        }
    }
    slice->stalled = kept;
}

/*
 * BH_PASS_SPLIT: moves the keys whose next index bit is set into the new half of a subtable, and
 * clears its filters; BH_PASS_HOME makes them anew.
 */
BH_FN void DY(split_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_split *split = (bh_dy_split *)argument;
    const bh_dy_geometry *geometry = split->geometry;
    const bh_dy_subtable *subtable = &geometry->subtable[split->subtable];
    uint64_t bit = subtable->doublings - 1;
    uint64_t half = BH_DY_LINE * (geometry->base << bit);
    uint64_t moved = 0, i;

    for (i = first; i < first + count; i++) {
        uint64_t low = subtable->lines + BH_DY_LINE * i, high = low + half;
        uint64_t meta = bh_load64(bh_dy_at(low)), low_meta = meta & ~BH_DY_FILTER_MASK;
        uint32_t used = bh_dy_used(meta, SLOTS);
        uint64_t high_meta = 0;

        for (; used; used &= used - 1) {
            uint32_t slot = bh_first(used);
            BH_KEY key = BH_LOAD_KEY(DY(key_at)(low, slot));
            bh_hash hash = bh_hash_key(key, &geometry->seed);
            uint32_t home = geometry->pair[bh_dy_pair_of(geometry, hash)] & 15u;
            uint64_t word = home == split->subtable ? hash.one : bh_dy_word_other(hash);

            if (word >> bit & 1) {
                high_meta = DY(put)(high, high_meta, key, DY(value)(low, slot));
                low_meta &= ~bh_dy_used_bit(slot);
                moved++;
            }
        }
        bh_store64(bh_dy_at(low), low_meta + BH_DY_CHANGE);
        bh_store64(bh_dy_at(high), high_meta);
    }
    bh_add64(&split->moved, moved);
}

/* Brings one key home if there is room, else enters it in its home's filter. Answers how many keys
 * were moved. Other tasks of the pass may want the same home: they hold it for a few stores, and
 * wait for nothing meanwhile. Each key's own bucket is one task's. */
BH_FN uint32_t DY(go_home)(const bh_dy_homing *key)
{
    uint64_t meta = bh_load64(bh_dy_at(key->home));

    while (meta & BH_DY_LOCK || !bh_swap_if64(bh_dy_at(key->home), meta, meta | BH_DY_LOCK))
        meta = bh_load64(bh_dy_at(key->home));
    if (bh_dy_used(meta, SLOTS) == SLOTS_ALL) {
        bh_dy_unlock(key->home, meta | key->filter);
        return 0;
    }
    DY(move)(key->guest_at, bh_load64(bh_dy_at(key->guest_at)), key->slot, key->home, meta, 0);
    return 1;
}

/*
 * BH_PASS_HOME: brings home from another subtable the keys whose home is the subtable that has
 * doubled. It is what keeps the subtables equally full, and most misses at one line, in a table
 * that grows: a subtable that is about to double is the fullest, so many of its keys are guests
 * elsewhere. Their filter bits are entered here for those that stay.
 */
BH_FN void DY(bring_home)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_split *split = (bh_dy_split *)argument;
    const bh_dy_geometry *geometry = split->geometry;
    uint64_t moved = 0, found = 0, i;
    bh_dy_homing homing[BH_DY_HOMING_MOST];

    for (i = first; i < first + count; i++) {
        uint64_t line = geometry->subtable[split->from].lines + BH_DY_LINE * i;
        uint32_t used = bh_dy_used(bh_load64(bh_dy_at(line)), SLOTS);

        for (; used; used &= used - 1) {
            uint32_t slot = bh_first(used);
            bh_hash hash = bh_hash_key(BH_LOAD_KEY(DY(key_at)(line, slot)), &geometry->seed);
            uint64_t pair = bh_dy_pair_of(geometry, hash);
            bh_dy_homing *key = &homing[found % BH_DY_HOMING_MOST];

            if ((geometry->pair[pair] & 15u) != split->subtable)
                continue;
            if (found++ >= BH_DY_HOMING_MOST)
                moved += DY(go_home)(key);
            key->home = bh_dy_line_of(geometry, &geometry->home[pair], hash.one);
            key->guest_at = line;
            key->filter = bh_dy_filter_bit(hash.one >> geometry->home[pair].doublings);
            key->slot = slot;
            bh_bring_to_write(bh_dy_at(key->home));
        }
    }
    for (i = found < BH_DY_HOMING_MOST ? 0 : found - BH_DY_HOMING_MOST; i < found; i++)
        moved += DY(go_home)(&homing[i % BH_DY_HOMING_MOST]);
    bh_add64(&split->moved, moved);
}

/* The slots in use of a bucket, from the first slot to be exported on. */
BH_FN uint32_t DY(exported)(const bh_dy_export *job, uint64_t line, uint64_t bucket)
{
    uint32_t used = bh_dy_used(bh_load64(bh_dy_at(line)), SLOTS);

    return bucket == job->first_bucket ? used >> job->first_slot << job->first_slot : used;
}

/* BH_PASS_COUNT: keys in each part. */
BH_FN void DY(count_parts)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_export *job = (bh_dy_export *)argument;
    uint64_t lines = job->geometry->subtable[job->subtable].lines, part, bucket;

    for (part = first; part < first + count; part++) {
        uint64_t keys = 0, end = bh_dy_part(job, part, &bucket);

        for (; bucket < end; bucket++)
            keys += bh_count(DY(exported)(job, lines + BH_DY_LINE * bucket, bucket));
        job->counts[part] = keys;
    }
}

/* BH_PASS_EXPORT: copies the pairs of each part to where counts says they belong. */
BH_FN void DY(export_parts)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_export *job = (bh_dy_export *)argument;
    uint64_t lines = job->geometry->subtable[job->subtable].lines, part, bucket;

    for (part = first; part < first + count; part++) {
        uint64_t to = job->counts[part], end = bh_dy_part(job, part, &bucket);

        if (to > job->room)
            continue; /* an earlier part ends the room */
        for (; bucket < end; bucket++) {
            uint64_t line = lines + BH_DY_LINE * bucket;
            uint32_t used = DY(exported)(job, line, bucket);

            for (; used; used &= used - 1) {
                uint32_t slot = bh_first(used);

                if (to == job->room) {
                    job->stop_bucket = bucket;
                    job->stop_slot = slot;
                    job->copied = to;
                    bucket = end;
                    break;
                }
                ((BH_KEY *)job->keys)[to] = BH_LOAD_KEY(DY(key_at)(line, slot));
                if (BH_VALUE_BYTES && job->values)
                    ((BH_VALUE *)job->values)[to] = DY(value)(line, slot);
                to++;
            }
        }
        if (bucket == job->end_bucket)
            job->copied = to;
    }
}

#undef DY
#undef SLOTS
#undef SLOTS_ALL
