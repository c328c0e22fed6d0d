/*
 * Linear probing: begin, step, and the text of the passes. See layout.h. An include-template: see
 * instance.h.
 *
 * An operation looks at one line after the other, from home to the first that nobody has passed. A key
 * that is there is acted on where it is found. One that is absent and is to be inserted goes to the
 * first free slot that was seen: in the line at hand, or in an earlier one, to which it goes back.
 *
 * Why no key is in two slots: an insertion locks home with the meta word that home had before the
 * operation looked for the key, and every insertion and erasure of a key changes its home's meta word.
 * Why no reader misses a key: keys do not move while operations run, and the lines before the one where
 * a key lies have been passed, which no change takes back. So a reader comes to the line of a key that
 * is there all the while. It need not look at home again before it answers that the key is absent: if
 * the key was erased from one line and inserted in another meanwhile, there was a moment without it.
 */
#include "tables/instance.h"

#include "tables/effect.h"

#include "probing/layout.h"
#include "support/late.h"

#ifndef TESTS_PROBING_OPS_H
#define TESTS_PROBING_OPS_H

#define bh_lp_at(address) ((unsigned char *)(uintptr_t)(address))

BH_FN uint64_t bh_lp_home(const bh_lp_geometry *g, uint64_t key)
{
    uint64_t line;

    (void)bh_multiply(bh_hash_key(key, &g->seed).one, g->count, &line);
    return g->lines + line * BH_LP_LINE;
}

BH_FN uint64_t bh_lp_next(const bh_lp_geometry *g, uint64_t line)
{
    line += BH_LP_LINE;
    return line == g->lines + g->count * BH_LP_LINE ? g->lines : line;
}

#endif

/* The same in every instance but for what it stands for. */
#define LP(name) BH_NAME(bh_lp_##name)
#define LP_SLOTS BH_LP_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)

typedef struct LP(op) {
    BH_KEY key;
    uint32_t at;
    uint8_t op;
    uint8_t outcome;
    uint8_t absent; /* all lines were looked at, and this one is where the key shall go */
    uint8_t tier;
    uint64_t home;
    uint64_t seen; /* home's meta word, when the operation was there */
    uint64_t line; /* at hand */
    uint64_t free; /* the first line in which a free slot was seen; 0: none yet */
} LP(op);

BH_FN unsigned char *LP(key_at)(uint64_t line, uint64_t slot)
{
    return bh_lp_at(line + 8 + slot * BH_KEY_BYTES);
}

BH_FN unsigned char *LP(value_at)(uint64_t line, uint64_t slot)
{
    return bh_lp_at(line + BH_LP_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES) + slot * BH_VALUE_BYTES);
}

BH_FN uint32_t LP(used)(uint64_t meta)
{
    return (uint32_t)(meta >> BH_LP_USED_SHIFT) & ((1u << LP_SLOTS) - 1);
}

/* The slot of a key in a line, or LP_SLOTS. */
BH_FN uint32_t LP(slot_of)(uint64_t line, uint64_t meta, BH_KEY key)
{
    uint32_t left = LP(used)(meta);

    while (left && BH_LOAD_KEY(LP(key_at)(line, bh_first(left))) != key)
        left &= left - 1;
    return left ? bh_first(left) : LP_SLOTS;
}

BH_FN bh_answer LP(go_to)(LP(op) *op, uint64_t line, bh_region *next)
{
    op->line = line;
    next->offset = op->tier == BH_TIER_NEAR ? line : line ^ LATE_BITS;
    next->bytes = BH_LP_LINE;
    next->tier = (bh_tier)op->tier;
    return BH_NEXT;
}

/* Home, with nothing known. */
BH_FN bh_answer LP(go_home)(LP(op) *op, bh_region *next)
{
    op->free = op->seen = op->absent = 0;
    return LP(go_to)(op, op->home, next);
}

BH_FN const bh__bringer *LP(bringer)(const void *geometry, bh_tier tier)
{
    (void)tier;
    return ((const bh_lp_geometry *)geometry)->bringer;
}

BH_FN bh_region LP(begin)(const bh__slice *slice, LP(op) *op, uint32_t at, uint32_t kind)
{
    const bh_lp_geometry *g = (const bh_lp_geometry *)slice->geometry;
    bh_region region;

    op->key = ((const BH_KEY *)slice->keys)[at];
    op->at = at;
    op->op = (uint8_t)kind;
    op->outcome = BH_NOT_DONE;
    op->tier = g->bringer ? BH_TIER_FILE : BH_TIER_NEAR;
    op->home = bh_lp_home(g, op->key);
    (void)LP(go_home)(op, &region);
    return region;
}

/* Performs the operation on the value in hand; answers whether the key is there now. */
BH_FN int LP(perform)(bh__slice *slice, LP(op) *op, uint32_t kind, int present, uint64_t *value)
{
    const uint32_t given = BH_OP_READS(kind) ? BH_VALUE_BYTES : 0;

    op->outcome = (uint8_t)bh_act(kind, bh_value_at(slice->values, given, op->at), BH_VALUE_BYTES,
                                  &present, value);
    slice->inserted += op->outcome == BH_INSERTED;
    slice->erased += op->outcome == BH_ERASED;
    slice->assigned += op->outcome == BH_ASSIGNED;
    slice->room += (uint64_t)(op->outcome == BH_ERASED) - (op->outcome == BH_INSERTED);
    if (BH_VALUE_BYTES && op->outcome == BH_FOUND && BH_OP_WRITES(kind) && slice->values_out)
        bh_set_value_at(slice->values_out, BH_VALUE_BYTES, op->at, *value);
    return present;
}

/* Changes the slot of the line at hand in which the key is, or a free one, in which it will be. */
BH_FN bh_answer LP(change)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t meta,
                           uint32_t slot, bh_region *next)
{
    const uint64_t bit = 1ull << slot << BH_LP_USED_SHIFT;
    const int present = slot < LP_SLOTS && (meta & bit);
    uint64_t value = 0;

    /* Other operations of the slice may have had the room for the key that was there a step ago. */
    if (!present && (!slice->room || !op->free)) {
        slice->reasons |= BH_REASON_ROOM;
        return BH_STALL;
    }
    if (slot >= LP_SLOTS || !bh_swap_if64(bh_lp_at(op->home), op->seen, op->seen | BH_LP_LOCK))
        return LP(go_home)(op, next);
    /* Whoever has the line may wait for this home: so it is given back, and one of the two yields. */
    if (op->line != op->home && !bh_swap_if64(bh_lp_at(op->line), meta, meta | BH_LP_LOCK)) {
        bh_store64(bh_lp_at(op->home), op->seen);
        return BH_RETRY;
    }
    if (BH_VALUE_BYTES && present)
        value = BH_READ_VALUE(LP(value_at)(op->line, slot));
    if (LP(perform)(slice, op, kind, present, &value)) {
        BH_WRITE_KEY(LP(key_at)(op->line, slot), op->key);
        if (BH_VALUE_BYTES)
            BH_WRITE_VALUE(LP(value_at)(op->line, slot), (BH_VALUE)value);
        meta |= bit;
    } else {
        meta &= ~bit;
    }
    bh_store64(bh_lp_at(op->line), meta + BH_LP_CHANGE);
    if (op->line != op->home)
        bh_store64(bh_lp_at(op->home), op->seen + BH_LP_CHANGE);
    return BH_DONE;
}

/* The key is in none of the lines that it might be in: each was looked at, the one at hand last. */
BH_FN bh_answer LP(miss)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t meta,
                         bh_region *next)
{
    uint64_t value = 0;

    if (!BH_OP_INSERTS(kind)) {
        (void)LP(perform)(slice, op, kind, 0, &value);
        return BH_DONE;
    }
    op->absent = 1;
    if (op->free && op->free != op->line)
        return LP(go_to)(op, op->free, next);
    return LP(change)(slice, op, kind, meta, bh_first(~LP(used)(meta)), next);
}

/* `at` is the line at hand, or a copy of it. */
BH_FN bh_answer LP(step)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t at, bh_region *next)
{
    const bh_lp_geometry *g = (const bh_lp_geometry *)slice->geometry;
    const uint64_t meta = bh_load64(bh_lp_at(at)), after = bh_lp_next(g, op->line);
    uint64_t value = 0;
    uint32_t slot;

    if (meta & BH_LP_LOCK)
        return BH_RETRY;
    if (op->absent)
        return LP(change)(slice, op, kind, meta, bh_first(~LP(used)(meta)), next);
    if (op->line == op->home)
        op->seen = meta;
    slot = LP(slot_of)(at, meta, op->key);
    if (slot < LP_SLOTS && !BH_OP_KEEPS(kind))
        return LP(change)(slice, op, kind, meta, slot, next);
    if (BH_VALUE_BYTES && slot < LP_SLOTS)
        value = BH_LOAD_VALUE(LP(value_at)(at, slot));
    if (!BH_QUIET && bh_load64(bh_lp_at(op->line)) != meta)
        return BH_RETRY;
    if (slot < LP_SLOTS) {
        (void)LP(perform)(slice, op, kind, 1, &value);
        return BH_DONE;
    }
    if (bh_first(~LP(used)(meta)) < LP_SLOTS && !op->free)
        op->free = op->line;
    if (after == op->home || (!(meta & BH_LP_PASSED) && (op->free || !BH_OP_INSERTS(kind))))
        return LP(miss)(slice, op, kind, meta, next);
    if (!(meta & BH_LP_PASSED)) {
        if (!bh_swap_if64(bh_lp_at(op->line), meta, meta | BH_LP_PASSED))
            return BH_RETRY;
        if (op->line == op->home)
            op->seen = meta | BH_LP_PASSED;
    }
    return LP(go_to)(op, after, next);
}

/* BH_LP_PASS_MOVE. There is room for all, and no key is there yet. */
BH_FN void LP(move)(void *argument, uint64_t first, uint64_t count)
{
    bh_lp_move *job = (bh_lp_move *)argument;
    bh__slice slice;
    BH_VALUE value = 0;
    BH_KEY key;
    uint64_t i;

    slice.geometry = job->geometry;
    slice.keys = &key;
    slice.values = &value;
    slice.inserted = slice.erased = slice.assigned = 0;
    for (i = first; i < first + count; i++) {
        const uint64_t line = job->from + i / LP_SLOTS * BH_LP_LINE;
        bh_answer answer = BH_NEXT;
        uint32_t refused = 0;
        bh_region region;
        LP(op) op;

        if (!(LP(used)(bh_read64(bh_lp_at(line))) >> i % LP_SLOTS & 1))
            continue;
        key = BH_READ_KEY(LP(key_at)(line, i % LP_SLOTS));
        if (BH_VALUE_BYTES)
            value = BH_READ_VALUE(LP(value_at)(line, i % LP_SLOTS));
        slice.room = 1;
        region = LP(begin)(&slice, &op, 0, BH_INSERT);
        while (answer != BH_DONE) {
            if (!bh_turn(refused))
                continue;
            answer = LP(step)(&slice, &op, BH_INSERT, op.line, &region);
            refused = answer == BH_RETRY ? refused + 1 : 0;
        }
    }
}

/* BH_LP_PASS_EXPORT. */
BH_FN void LP(export_pairs)(void *argument, uint64_t first, uint64_t count)
{
    bh_lp_export *job = (bh_lp_export *)argument;
    uint64_t at = job->at, copied = 0;

    (void)first;
    (void)count;
    for (; at / LP_SLOTS < job->geometry->count && copied < job->room; at++) {
        const uint64_t line = job->geometry->lines + at / LP_SLOTS * BH_LP_LINE;

        if (!(LP(used)(bh_read64(bh_lp_at(line))) >> at % LP_SLOTS & 1))
            continue;
        ((BH_KEY *)job->keys)[copied] = BH_READ_KEY(LP(key_at)(line, at % LP_SLOTS));
        if (BH_VALUE_BYTES && job->values)
            ((BH_VALUE *)job->values)[copied] = BH_READ_VALUE(LP(value_at)(line, at % LP_SLOTS));
        copied++;
    }
    job->at = at;
    job->copied = copied;
}
