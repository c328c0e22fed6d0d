/*
 * Linear probing: begin, step, and the text of the passes. See layout.h. An include-template: see
 * instance.h.
 *
 * States of an operation: LOOK goes from line to line, from home to the first that nobody has passed.
 * A key that is there is acted on where it is found. One that is nowhere and is to be inserted goes to
 * the first free slot that was seen: in the line at hand, or, state CLAIM, in an earlier one.
 */
#include "tables/instance.h"

#include "tables/effect.h"

#include "probing/layout.h"

#ifndef TESTS_PROBING_OPS_H
#define TESTS_PROBING_OPS_H

enum { BH_LP_LOOK, BH_LP_CLAIM };

BH_FN unsigned char *bh_lp_at(uint64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

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

BH_FN bh_region bh_lp_region(uint64_t line)
{
    bh_region region = {line, BH_LP_LINE, BH_TIER_NEAR};

    return region;
}

#endif

#define LP(name) BH_NAME(bh_lp_##name)
#define SLOTS BH_LP_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES)
#define USED ((1u << SLOTS) - 1)

typedef struct LP(op) {
    BH_KEY key;
    uint32_t at;
    uint8_t op;
    uint8_t outcome;
    uint8_t state;
    uint64_t home;
    uint64_t seen; /* home's meta word, when the operation was there */
    uint64_t line; /* at hand */
    uint64_t free; /* the first line in which a free slot was seen; 0: none yet */
} LP(op);

BH_FN unsigned char *LP(key_at)(uint64_t line, uint32_t slot)
{
    return bh_lp_at(line + 8 + slot * BH_KEY_BYTES);
}

BH_FN unsigned char *LP(value_at)(uint64_t line, uint32_t slot)
{
    return bh_lp_at(line + BH_LP_VALUES(BH_KEY_BYTES, BH_VALUE_BYTES) + slot * BH_VALUE_BYTES);
}

BH_FN uint32_t LP(used)(uint64_t meta)
{
    return (uint32_t)(meta >> BH_LP_USED_SHIFT) & USED;
}

/* The slot of a key in a line, or SLOTS. */
BH_FN uint32_t LP(slot_of)(uint64_t line, uint64_t meta, BH_KEY key)
{
    uint32_t left = LP(used)(meta);

    for (; left; left &= left - 1)
        if (BH_LOAD_KEY(LP(key_at)(line, bh_first(left))) == key)
            return bh_first(left);
    return SLOTS;
}

/* (Back) to home. */
BH_FN bh_region LP(go_home)(LP(op) *op)
{
    op->state = BH_LP_LOOK;
    op->line = op->home;
    op->free = op->seen = 0;
    return bh_lp_region(op->home);
}

BH_FN bh_region LP(begin)(const bh__slice *slice, LP(op) *op, uint32_t at, uint32_t kind)
{
    op->key = ((const BH_KEY *)slice->keys)[at];
    op->at = at;
    op->op = (uint8_t)kind;
    op->outcome = BH_NOT_DONE;
    op->home = bh_lp_home((const bh_lp_geometry *)slice->geometry, op->key);
    return LP(go_home)(op);
}

/* Takes the locks of home and of the line at hand, where their meta words are still these. */
BH_FN int LP(lock)(const LP(op) *op, uint64_t home_meta, uint64_t meta)
{
    if (!bh_swap_if64(bh_lp_at(op->home), home_meta, home_meta | BH_LP_LOCK))
        return 0;
    if (op->line == op->home || bh_swap_if64(bh_lp_at(op->line), meta, meta | BH_LP_LOCK))
        return 1;
    bh_store64(bh_lp_at(op->home), home_meta);
    return 0;
}

/* Lets go of both; the line's meta word becomes `meta`. Both have changed. */
BH_FN void LP(unlock)(const LP(op) *op, uint64_t home_meta, uint64_t meta)
{
    bh_store64(bh_lp_at(op->line), meta + BH_LP_CHANGE);
    if (op->line != op->home)
        bh_store64(bh_lp_at(op->home), home_meta + BH_LP_CHANGE);
}

/* Performs the operation on the value in hand. */
BH_FN int LP(perform)(bh__slice *slice, LP(op) *op, uint32_t kind, int present, uint64_t *value)
{
    const uint64_t given =
        BH_OP_READS(kind) ? bh_value_at(slice->values, BH_VALUE_BYTES, op->at) : 0;

    op->outcome = (uint8_t)bh_act(kind, given, BH_VALUE_BYTES, &present, value);
    slice->inserted += op->outcome == BH_INSERTED;
    slice->erased += op->outcome == BH_ERASED;
    slice->assigned += op->outcome == BH_ASSIGNED;
    slice->room += (uint64_t)(op->outcome == BH_ERASED) - (op->outcome == BH_INSERTED);
    if (BH_VALUE_BYTES && op->outcome == BH_FOUND && BH_OP_WRITES(kind) && slice->values_out)
        bh_set_value_at(slice->values_out, BH_VALUE_BYTES, op->at, *value);
    return present;
}

/* The key is in a slot of the line at hand. */
BH_FN bh_answer LP(act)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t at, uint64_t home_meta,
                        uint64_t meta, uint32_t slot, bh_region *next)
{
    uint64_t value = 0;

    if (BH_OP_KEEPS(kind)) {
        if (BH_VALUE_BYTES)
            value = BH_LOAD_VALUE(LP(value_at)(at, slot));
        if (!BH_QUIET && bh_load64(bh_lp_at(op->line)) != meta)
            return BH_RETRY;
        (void)LP(perform)(slice, op, kind, 1, &value);
        return BH_DONE;
    }
    if (!LP(lock)(op, home_meta, meta)) {
        *next = LP(go_home)(op);
        return BH_NEXT;
    }
    if (BH_VALUE_BYTES)
        value = BH_READ_VALUE(LP(value_at)(op->line, slot));
    if (!LP(perform)(slice, op, kind, 1, &value))
        meta &= ~(1ull << slot << BH_LP_USED_SHIFT);
    else if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(LP(value_at)(op->line, slot), (BH_VALUE)value);
    LP(unlock)(op, home_meta, meta);
    return BH_DONE;
}

/* The key is nowhere, and the line at hand has a free slot for it. */
BH_FN bh_answer LP(insert)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t home_meta,
                           uint64_t meta, bh_region *next)
{
    const uint32_t slot = bh_first(~LP(used)(meta));
    uint64_t value = 0;

    if (!slice->room) {
        slice->reasons |= BH_REASON_ROOM;
        return BH_STALL;
    }
    if (!LP(lock)(op, home_meta, meta)) {
        *next = LP(go_home)(op);
        return BH_NEXT;
    }
    (void)LP(perform)(slice, op, kind, 0, &value);
    BH_WRITE_KEY(LP(key_at)(op->line, slot), op->key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(LP(value_at)(op->line, slot), (BH_VALUE)value);
    LP(unlock)(op, home_meta, meta | 1ull << slot << BH_LP_USED_SHIFT);
    return BH_DONE;
}

/* The key is nowhere: all lines that it might be in were looked at, and nobody has changed it since. */
BH_FN bh_answer LP(missing)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t home_meta,
                            uint64_t meta, bh_region *next)
{
    uint64_t value = 0;

    if (!BH_OP_INSERTS(kind)) {
        if (!BH_QUIET && bh_load64(bh_lp_at(op->home)) != home_meta) {
            *next = LP(go_home)(op);
            return BH_NEXT;
        }
        (void)LP(perform)(slice, op, kind, 0, &value);
        return BH_DONE;
    }
    if (op->free && op->free != op->line) {
        op->line = op->free;
        op->state = BH_LP_CLAIM;
        *next = bh_lp_region(op->line);
        return BH_NEXT;
    }
    return LP(insert)(slice, op, kind, home_meta, meta, next);
}

/* On to the next line. Where an insertion passes the last one that was passed, it says so there. */
BH_FN bh_answer LP(go_on)(const bh__slice *slice, LP(op) *op, uint64_t meta, bh_region *next)
{
    if (!(meta & BH_LP_PASSED)) {
        if (!bh_swap_if64(bh_lp_at(op->line), meta, meta | BH_LP_PASSED))
            return BH_RETRY;
        if (op->line == op->home)
            op->seen = meta | BH_LP_PASSED;
    }
    op->line = bh_lp_next((const bh_lp_geometry *)slice->geometry, op->line);
    *next = bh_lp_region(op->line);
    return BH_NEXT;
}

/* `at` is the line at hand, or a copy of it. */
BH_FN bh_answer LP(step)(bh__slice *slice, LP(op) *op, uint32_t kind, uint64_t at, bh_region *next)
{
    const uint64_t meta = bh_load64(bh_lp_at(at));
    const int is_home = op->line == op->home && op->state == BH_LP_LOOK;
    uint64_t home_meta;
    uint32_t slot;

    if (meta & BH_LP_LOCK)
        return BH_RETRY;
    if (is_home)
        op->seen = meta;
    home_meta = op->seen;
    if (op->state == BH_LP_CLAIM) {
        if (LP(used)(meta) != USED && (op->line != op->home || meta == home_meta))
            return LP(insert)(slice, op, kind, home_meta, meta, next);
        *next = LP(go_home)(op);
        return BH_NEXT;
    }
    slot = LP(slot_of)(at, meta, op->key);
    if (slot < SLOTS)
        return LP(act)(slice, op, kind, at, home_meta, meta, slot, next);
    if (!BH_QUIET && bh_load64(bh_lp_at(op->line)) != meta)
        return BH_RETRY;
    if (LP(used)(meta) != USED && !op->free)
        op->free = op->line;
    if (!is_home && bh_lp_next((const bh_lp_geometry *)slice->geometry, op->line) == op->home) {
        /* All of the table. */
        if (op->free || !BH_OP_INSERTS(kind))
            return LP(missing)(slice, op, kind, home_meta, meta, next);
        slice->reasons |= BH_REASON_ROOM;
        return BH_STALL;
    }
    if ((meta & BH_LP_PASSED) || (BH_OP_INSERTS(kind) && !op->free))
        return LP(go_on)(slice, op, meta, next);
    return LP(missing)(slice, op, kind, home_meta, meta, next);
}

/* BH_LP_PASS_MOVE. There is room for all. */
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
    slice.values_out = 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    for (i = first; i < first + count; i++) {
        const uint64_t line = job->from + i * BH_LP_LINE;
        uint32_t left = LP(used)(bh_read64(bh_lp_at(line)));

        for (; left; left &= left - 1) {
            bh_answer answer = BH_NEXT;
            uint32_t refused = 0;
            bh_region region;
            LP(op) op;

            key = BH_READ_KEY(LP(key_at)(line, bh_first(left)));
            if (BH_VALUE_BYTES)
                value = BH_READ_VALUE(LP(value_at)(line, bh_first(left)));
            slice.room = 1;
            region = LP(begin)(&slice, &op, 0, BH_INSERT);
            while (answer != BH_DONE) {
                if (!bh_turn(refused))
                    continue;
                answer = LP(step)(&slice, &op, BH_INSERT, region.offset, &region);
                refused = answer == BH_RETRY ? refused + 1 : 0;
            }
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
    for (; at / 16 < job->geometry->count && copied < job->room; at++) {
        const uint64_t line = job->geometry->lines + at / 16 * BH_LP_LINE;
        const uint32_t slot = (uint32_t)(at % 16);

        if (slot >= SLOTS || !(LP(used)(bh_read64(bh_lp_at(line))) >> slot & 1))
            continue;
        ((BH_KEY *)job->keys)[copied] = BH_READ_KEY(LP(key_at)(line, slot));
        if (BH_VALUE_BYTES && job->values)
            ((BH_VALUE *)job->values)[copied] = BH_READ_VALUE(LP(value_at)(line, slot));
        copied++;
    }
    job->at = at;
    job->copied = copied;
}

#undef LP
#undef SLOTS
#undef USED
