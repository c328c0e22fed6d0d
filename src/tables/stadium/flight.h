/*
 * Stadium hashing, an operation in flight: what it carries from step to step, how it begins, and its steps. An
 * include-template that ops.h includes; ops.h tells how the states follow each other, and why no reader is
 * deceived.
 */
#ifndef BH_TABLES_STADIUM_FLIGHT_H
#define BH_TABLES_STADIUM_FLIGHT_H

/* LOCK: as WALK begins, but with the lock, which is to be taken. ALONE: the ticket is claimed without a lock, although keys
 * may have been erased (halves.h). */
typedef enum bh_st_state {
    BH_ST_WALK,
    BH_ST_LOCK,
    BH_ST_LOCKED,
    BH_ST_PUT,
    BH_ST_ALONE
} bh_st_state;

#endif

/* One operation in flight. */
typedef struct BH_ST(op) {
    bh_hash hash;
    bh_st_path path;
    uint64_t word; /* address of the word at hand */
    /* What was in it when its tickets' slots were looked at, or with BH_QUIET, where no word changes, 1; 0: they were
     * not. By halves (halves.h) what was in the word `hole`. */
    uint64_t seen;
    uint64_t left; /* its tickets whose slots are to be looked at */
    /* LOCKED: the first word with an erased ticket on the path; by halves: with a free one; 0: none yet */
    uint64_t hole;
    BH_KEY key;
    uint32_t at;      /* index in the slice */
    uint8_t state;    /* a bh_st_state */
    uint8_t compares; /* 1: the region is a slot, not a part of the board */
    uint8_t ready;    /* what a ticket of the key is */
    uint8_t bit;      /* where the ticket of the slot at hand begins in the word */
    uint8_t hole_bit;
    uint8_t hole_steps; /* by halves: words of the path before it, or BH_ST_UNBOUNDED */
    uint8_t ends;       /* by halves: whether the path ends in the half line at hand */
    uint8_t op;
    uint8_t outcome;
} BH_ST(op);

/* Goes to the beginning of the path. */
BH_FN bh_region BH_ST(restart)(const bh_st_geometry *g, BH_ST(op) * op)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);

    op->path = bh_st_begin(part, &op->hash);
    op->word = part->board + bh_st_word(g, &op->path, &op->hash) * 8;
    op->seen = 0;
    op->hole = 0;
    op->compares = 0;
    return bh_st_region(op->word);
}

BH_FN bh_region BH_ST(begin)(const bh__slice *slice, BH_ST(op) * op, uint32_t at, uint32_t kind)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    op->key = ((const BH_KEY *)slice->keys)[at];
    op->hash = bh_hash_key(op->key, &g->seed);
    op->ready = (uint8_t)bh_st_ready(g, &op->hash);
    op->at = at;
    op->state = BH_ST_WALK;
    op->op = (uint8_t)kind;
    return BH_ST(restart)(g, op);
}

/* The last stage on a GPU has elements without a place, of which this design has none. */
BH_FN bh_region BH_ST(begin_last)(const bh__slice *slice, BH_ST(op) * op, uint32_t at,
                                  uint32_t kind)
{
    return BH_ST(begin)(slice, op, at, kind);
}

BH_FN bh_answer BH_ST(done)(BH_ST(op) * op, bh_outcome outcome)
{
    op->outcome = (uint8_t)outcome;
    return BH_DONE;
}

BH_FN bh_answer BH_ST(stall)(bh__slice *slice, uint32_t reason)
{
    slice->reasons |= reason;
    return BH_STALL;
}

/* Goes on with the path from the word at hand, whose slots have been looked at. */
BH_FN bh_answer BH_ST(to_board)(BH_ST(op) * op, bh_region *next)
{
    op->compares = 0;
    *next = bh_st_region(op->word);
    return BH_NEXT;
}

/* The same once more from before its slots were looked at: something has changed. */
BH_FN bh_answer BH_ST(to_board_again)(BH_ST(op) * op, bh_region *next)
{
    op->seen = 0;
    return BH_ST(to_board)(op, next);
}

/* Begins once more, to take the lock first; it is not held. */
BH_FN bh_answer BH_ST(lock_later)(const bh_st_geometry *g, BH_ST(op) * op, bh_region *next)
{
    op->state = BH_ST_LOCK;
    *next = BH_ST(restart)(g, op);
    return BH_NEXT;
}

/* The slot of the ticket that begins at a bit of the word at hand. */
BH_FN uint64_t BH_ST(slot)(const bh_st_geometry *g, const BH_ST(op) * op, uint32_t bit)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    const uint64_t number = (op->word - part->board) / 8 * g->group + bh_st_index(g, bit);

    return part->slots + (number << BH_ST_SHIFT);
}

BH_FN unsigned char *BH_ST(value_of)(uint64_t slot)
{
    return bh_st_at(slot + BH_ST_VALUE(BH_KEY_BYTES, BH_VALUE_BYTES));
}

/* Stores a pair where readers may look at the slot's last one. */
BH_FN void BH_ST(store)(uint64_t slot, BH_KEY key, BH_VALUE value)
{
    if (BH_ST_IS_PAIR) {
        bh_write64(bh_st_at(slot), bh_pair(key, value));
        return;
    }
    BH_WRITE_KEY(bh_st_at(slot), key);
    if (BH_VALUE_BYTES)
        BH_WRITE_VALUE(BH_ST(value_of)(slot), value);
}

/* PUT: the ticket is claimed, and room taken. */
BH_FN bh_answer BH_ST(put)(bh__slice *slice, BH_ST(op) * op, uint32_t kind)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    BH_ST(store)
    (BH_ST(slot)(g, op, op->bit), op->key, (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at));
    if (g->far)
        bh_fence_far();
    bh_release_add_in64(slice->hints, bh_st_at(op->word), 1ull << op->bit);
    if (g->turnover && op->state != BH_ST_ALONE)
        bh_st_unlock(bh_st_lock_of(g, &op->hash));
    slice->inserted++;
    return BH_ST(done)(op, BH_INSERTED);
}

/* Claims the ticket that begins at a bit of a word, which is `word` now; there is room. Answers DONE or NEXT,
 * or RETRY where the word has changed. */
BH_FN bh_answer BH_ST(claim)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                             uint64_t word, uint32_t bit, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const uint32_t was = bh_st_ticket(g, word, bit);

    if (!bh_swap_in64(slice->hints, bh_st_at(at), word,
                      word + ((uint64_t)(op->ready - 1u - was) << bit)))
        return BH_RETRY;
    /* A reader that has seen the slot's last key may not have read its value yet. */
    if (!BH_ST_IS_NARROW && !BH_QUIET && was == BH_ST_ERASED)
        (void)bh_take_in64(slice->hints, bh_st_stamp_of(g, at),
                           1); /* by this very lane, which then publishes */
    op->word = at;
    op->bit = (uint8_t)bit;
    slice->room--;
    if (!BH_BRINGS)
        return BH_ST(put)(slice, op, kind);
    op->state = BH_ST_PUT;
    *next = bh_st_region(BH_ST(slot)(g, op, bit));
    return BH_NEXT;
}

/* WALK of an insertion has come to fresh tickets of the word at hand, and no key has been erased. */
BH_FN bh_answer BH_ST(claim_fresh)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t word,
                                   uint64_t fresh, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const bh_st_part *part = bh_st_part_of(g, &op->hash);

    if (!slice->room)
        return BH_ST(stall)(slice, BH_REASON_ROOM);
    /* Before anyone can look for the key. */
    if (op->path.steps &&
        !bh_st_raise(slice->hints, part, bh_st_home(g, part, &op->hash), op->path.steps))
        return BH_RETRY;
    return BH_ST(claim)(slice, op, kind, op->word, word, bh_st_first(g, fresh), next);
}

/* The tickets of a word that are free. */
BH_FN uint64_t BH_ST(free)(const bh_st_geometry *g, uint64_t word)
{
    return bh_st_zeros(g, word) | bh_st_alike(g, word, BH_ST_ERASED);
}

/* WALK of an insertion has come to the end of where its key could be, and keys may have been erased: takes the
 * key's lock. */
BH_FN bh_answer BH_ST(missed)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    unsigned char *lock = bh_st_lock_of(g, &op->hash);
    uint64_t word, considered, free;

    if (!slice->room)
        return BH_ST(stall)(slice, BH_REASON_ROOM);
    if (op->path.steps)
        return BH_ST(lock_later)(g, op, next);
    if (!bh_st_lock(slice->hints, lock))
        return BH_RETRY;
    word = bh_load64(bh_st_at(op->word));
    considered = bh_st_considered(g, &op->path);
    free = BH_ST(free)(g, word) & considered;
    if (!free || (bh_st_alike(g, word, op->ready) & considered) ||
        (!(bh_st_zeros(g, word) & considered) &&
         !bh_st_is_bound(part, bh_st_home(g, part, &op->hash), 0))) {
        bh_st_unlock(lock);
        return BH_ST(lock_later)(g, op, next);
    }
    if (bh_st_alike(g, word, BH_ST_ERASED) & considered)
        free = bh_st_alike(g, word, BH_ST_ERASED) & considered;
    {
        const bh_answer answer =
            BH_ST(claim)(slice, op, kind, op->word, word, bh_st_first(g, free), next);

        if (answer == BH_RETRY)
            bh_st_unlock(lock);
        return answer;
    }
}

/* LOCKED has come to where the key could be no further, and to a place for it: the hole, or else a free ticket
 * of the word at hand. */
BH_FN bh_answer BH_ST(claim_locked)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t word,
                                    uint64_t free, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    unsigned char *lock = bh_st_lock_of(g, &op->hash);
    bh_answer answer = BH_RETRY;

    /* Other operations of the slice may have had the room since this one began. */
    if (!slice->room) {
        bh_st_unlock(lock);
        return BH_ST(stall)(slice, BH_REASON_ROOM);
    }
    /* A bound too high does no harm: the hole may be far before. */
    if (!op->path.steps ||
        bh_st_raise(slice->hints, part, bh_st_home(g, part, &op->hash), op->path.steps)) {
        if (op->hole) {
            word = bh_load64(bh_st_at(op->hole));
            if (bh_st_ticket(g, word, op->hole_bit) == BH_ST_ERASED)
                answer = BH_ST(claim)(slice, op, kind, op->hole, word, op->hole_bit, next);
        } else {
            answer = BH_ST(claim)(slice, op, kind, op->word, word, bh_st_first(g, free), next);
        }
    }
    if (answer != BH_RETRY)
        return answer;
    bh_st_unlock(lock);
    return BH_ST(lock_later)(g, op, next);
}

/* The path is at its end: all slots of the part have been looked at. */
BH_FN bh_answer BH_ST(at_end)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    if (!BH_OP_INSERTS(kind))
        return BH_ST(done)(op, BH_MISSING);
    if (!slice->room && op->state == BH_ST_WALK)
        return BH_ST(stall)(slice, BH_REASON_ROOM);
    if (!g->turnover)
        return BH_ST(stall)(slice, BH_ST_REASON_FULL);
    if (op->state == BH_ST_WALK)
        return BH_ST(lock_later)(g, op, next);
    if (op->hole || !slice->room)
        return BH_ST(claim_locked)(slice, op, kind, 0, 0, next);
    bh_st_unlock(bh_st_lock_of(g, &op->hash));
    return BH_ST(stall)(slice, BH_ST_REASON_FULL);
}

/* A key that the operation only reads has been seen in the slot at hand; `slot` is a copy of it. Answers its
 * value, if what was seen was there. */
BH_FN bh_answer BH_ST(found)(const bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t slot,
                             uint64_t stamp, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const int answers = BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out;
    BH_VALUE value = 0;

    if (answers && BH_ST_IS_PAIR) {
        const uint64_t pair = bh_load64(bh_st_at(slot));

        if (bh_pair_key(pair) != op->key)
            return BH_ST(to_board_again)(op, next);
        value = (BH_VALUE)bh_pair_value(pair);
    } else if (answers) {
        value = BH_LOAD_VALUE(BH_ST(value_of)(slot));
    }
    if (!BH_QUIET && (bh_st_ticket(g, bh_load64(bh_st_at(op->word)), op->bit) != op->ready ||
                      (!BH_ST_IS_NARROW && bh_load64(bh_st_stamp_of(g, op->word)) != stamp)))
        return BH_ST(to_board_again)(op, next);
    if (answers) {
        BH_VALUE *answer = (BH_VALUE *)slice->values_out + op->at;

        *answer = value;
        bh_answer_ahead(slice, answer, BH_VALUE_BYTES, op->at);
    }
    if (op->state == BH_ST_LOCKED)
        bh_st_unlock(bh_st_lock_of(g, &op->hash));
    return BH_ST(done)(op, BH_FOUND);
}

/* Assigns or joins what an element brings to the value of its key, in a slot; the key's lock is held. */
BH_FN void BH_ST(set_value)(bh__slice *slice, uint32_t kind, uint64_t slot, BH_KEY key, uint32_t at)
{
    BH_VALUE value;

    slice->assigned++;
    if (!BH_VALUE_BYTES)
        return;
    value = (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, at);
    if (BH_OP_REDUCES(kind))
        value =
            (BH_VALUE)bh_join(kind, BH_VALUE_BYTES, BH_LOAD_VALUE(BH_ST(value_of)(slot)), value);
    if (BH_ST_IS_PAIR)
        bh_write64(bh_st_at(slot), bh_pair(key, value));
    else
        BH_WRITE_VALUE(BH_ST(value_of)(slot), value);
}

/* Does the operation to the key in the slot at hand; the key's lock is held. */
BH_FN void BH_ST(act)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t slot)
{
    if (BH_OP_ERASES(kind)) {
        slice->room++;
        slice->erased++;
        op->outcome = BH_ERASED;
        bh_release_add_in64(slice->hints, bh_st_at(op->word),
                            0 - ((uint64_t)(op->ready - BH_ST_ERASED) << op->bit));
        return;
    }
    op->outcome = BH_ASSIGNED;
    BH_ST(set_value)(slice, kind, slot, op->key, op->at);
}

/* Whether an operation acts on keys that are there without locks: with BH_HINT_ALIKE and, on cores, while no key has been
 * erased: nobody erases then, so a key stays where it is. But no atomic operation goes to a slot in another memory. */
BH_FN int BH_ST(is_alike)(const bh__slice *slice, uint32_t kind)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    return (BH_IS_ALIKE(slice) || (BH_BRINGS && !g->turnover)) && !(g->far && BH_OP_REDUCES(kind));
}

/* Does the operation to the key in the slot at hand, without a lock. What a ticket is when it is ready has the bit of
 * what it is when erased: so an erasure clears all others, and the word that was there says whether another element
 * of the same key was faster. */
BH_FN void BH_ST(act_alike)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t slot)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    uint64_t before;

    op->outcome = (uint8_t)BH_OP_PRESENT(kind);
    if (!BH_OP_ERASES(kind)) {
        bh_change_there(slice, kind, BH_VALUE_BYTES, BH_ST(value_of)(slot), op->at);
        return;
    }
    before = bh_clear64(bh_st_at(op->word), (uint64_t)(op->ready & ~BH_ST_ERASED) << op->bit);
    if (bh_st_ticket(g, before, op->bit) != op->ready) {
        op->outcome = BH_MISSING;
        return;
    }
    slice->room++;
    slice->erased++;
}

/* A key that the operation changes has been seen in the slot at hand, at `slot`: takes the lock, if it is not held
 * already, and acts if the key still is there. */
BH_FN bh_answer BH_ST(change)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t slot,
                              bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    unsigned char *lock = bh_st_lock_of(g, &op->hash);

    if (BH_OP_ERASES(kind) && !g->turnover)
        return BH_ST(stall)(slice, BH_ST_REASON_TURNOVER);
    /* With the lock held, too: others act without. */
    if (BH_ST(is_alike)(slice, kind)) {
        BH_ST(act_alike)(slice, op, kind, slot);
        if (op->state == BH_ST_LOCKED)
            bh_st_unlock(lock);
        return BH_DONE;
    }
    if (op->state != BH_ST_LOCKED) {
        if (!bh_st_lock(slice->hints, lock))
            return BH_RETRY;
        if (bh_st_ticket(g, bh_load64(bh_st_at(op->word)), op->bit) != op->ready ||
            BH_LOAD_KEY(bh_st_at(slot)) != op->key) {
            bh_st_unlock(lock);
            return BH_ST(to_board_again)(op, next);
        }
    }
    BH_ST(act)(slice, op, kind, slot);
    if (g->far)
        bh_fence_far();
    bh_st_unlock(lock);
    return BH_DONE;
}

/* The region of the slot at hand. */
BH_FN bh_region BH_ST(slot_region)(const bh_st_geometry *g, const BH_ST(op) * op)
{
    bh_region region = bh_st_region(BH_ST(slot)(g, op, op->bit));

    if (g->far)
        region.tier = BH_TIER_HOST;
    return region;
}

/* Goes to the first slot that is left to be looked at. */
BH_FN bh_answer BH_ST(to_slot)(const bh_st_geometry *g, BH_ST(op) * op, bh_region *next)
{
    op->bit = (uint8_t)bh_st_first(g, op->left);
    op->compares = 1;
    *next = BH_ST(slot_region)(g, op);
    return BH_NEXT;
}

/* A step on a slot, at `slot`, that has the key. */
BH_FN bh_answer BH_ST(met)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t slot,
                           bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    uint64_t stamp = 0;

    /* On a GPU `slot` may be a copy's. */
    if (!BH_OP_KEEPS(kind))
        return BH_ST(change)(slice, op, kind, BH_BRINGS ? slot : BH_ST(slot)(g, op, op->bit), next);
    /* A stamp counts only if no pair is being written when it is read, and the key was there after that. */
    if (!BH_ST_IS_NARROW && !BH_QUIET) {
        stamp = bh_load64(bh_st_stamp_of(g, op->word));
        if (bh_st_ticket(g, bh_load64(bh_st_at(op->word)), op->bit) != op->ready ||
            BH_LOAD_KEY(bh_st_at(slot)) != op->key)
            return BH_ST(to_board_again)(op, next);
    }
    return BH_ST(found)(slice, op, kind, slot, stamp, next);
}

/* A step on a slot. */
BH_FN bh_answer BH_ST(compare)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                               bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const uint64_t slot = at + BH_ST(slot)(g, op, op->bit) % BH_ST_REGION;

    if (BH_LOAD_KEY(bh_st_at(slot)) == op->key)
        return BH_ST(met)(slice, op, kind, slot, next);
    op->left &= op->left - 1;
    return op->left ? BH_ST(to_slot)(g, op, next) : BH_ST(to_board)(op, next);
}

/* A step on the board: `at` is a copy of the region that the word at hand is in. */
BH_FN bh_answer BH_ST(look)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                            bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    const uint64_t region = bh_st_region(op->word).offset;

    for (;;) {
        const uint64_t word = bh_load64(bh_st_at(at + (op->word - region)));
        const uint64_t considered = bh_st_considered(g, &op->path);
        const uint64_t same = bh_st_alike(g, word, op->ready) & considered;
        const uint64_t fresh = bh_st_zeros(g, word) & considered;
        uint64_t erased = 0;

        if (same && (BH_QUIET ? !op->seen : word != op->seen)) {
            op->seen = BH_QUIET ? 1 : word;
            op->left = same;
            return BH_ST(to_slot)(g, op, next);
        }
        if (BH_OP_INSERTS(kind) && !g->turnover) {
            if (bh_st_alike(g, word, op->ready - 1u) & considered)
                return BH_RETRY;
            if (fresh)
                return BH_ST(claim_fresh)(slice, op, kind, word, fresh, next);
            /* Otherwise a full table would look at all of its board for each key that it refuses. */
            if (!slice->room &&
                bh_st_is_bound(part, bh_st_home(g, part, &op->hash), op->path.steps))
                return BH_ST(stall)(slice, BH_REASON_ROOM);
        } else if (fresh || bh_st_is_bound(part, bh_st_home(g, part, &op->hash), op->path.steps)) {
            if (!BH_OP_INSERTS(kind))
                return BH_ST(done)(op, BH_MISSING);
            if (op->state == BH_ST_WALK)
                return BH_ST(missed)(slice, op, kind, next);
            erased = bh_st_alike(g, word, BH_ST_ERASED) & considered;
            if (op->hole || fresh || erased)
                return BH_ST(claim_locked)(slice, op, kind, word, erased ? erased : fresh, next);
        }
        if (BH_OP_INSERTS(kind) && op->state == BH_ST_LOCKED && !op->hole) {
            erased = bh_st_alike(g, word, BH_ST_ERASED) & considered;
            if (erased) {
                op->hole = op->word;
                op->hole_bit = (uint8_t)bh_st_first(g, erased);
            }
        }
        if (!bh_st_go_on(g, part, &op->path, &op->hash))
            return BH_ST(at_end)(slice, op, kind, next);
        op->word = part->board + bh_st_word(g, &op->path, &op->hash) * 8;
        op->seen = 0;
        *next = bh_st_region(op->word);
        if (next->offset != region)
            return BH_NEXT;
    }
}
