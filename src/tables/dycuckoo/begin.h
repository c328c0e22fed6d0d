/*
 * DyCuckoo, an operation in flight: what it carries from step to step (BH_DY(op)), how it begins, how it
 * goes on to the other bucket, and what it does in a bucket that it has locked: act on the pair that is
 * there (BH_DY(act)), or insert a new one (BH_DY(insert)). An include-template that ops.h includes.
 *
 * An operation begins with its hash, and asks for its home's line. The step that looks at the line is in
 * steps.h; it answers DONE, or sets the operation's state for the step after it and asks for that one's
 * line. Nothing else is kept of a step: what it saw may have changed when the next one runs.
 */
#ifndef BH_TABLES_DYCUCKOO_BEGIN_H
#define BH_TABLES_DYCUCKOO_BEGIN_H

typedef enum bh_dy_state { BH_DY_HOME, BH_DY_OTHER, BH_DY_SEARCH, BH_DY_EVICT } bh_dy_state;

BH_FN bh_region bh_dy_region(uint64_t line, uint32_t bytes)
{
    bh_region region = {line, bytes, BH_TIER_NEAR};

    return region;
}

#endif

/* One operation in flight. */
typedef struct BH_DY(op) {
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
    uint8_t looks;   /* SEARCH: full buckets looked at so far; EVICT has been tried; in lookups
                        with BH_QUIET the region asked for is without values */
    uint8_t op;
    uint8_t outcome;
} BH_DY(op);

/* Bytes of the regions that an operation asks for. Where the next line has the values, a step that changes the
 * table may want both. On a GPU operations that need the value want both lines at once, unless most keys are not there: lookups
 * with 128 bytes take an eighth longer than with 64, those that ask for a value later half as long again, and what is joined to a
 * value that is not in the L2 cache waits for memory. */
BH_FN uint32_t BH_DY(bytes)(const bh__slice *slice, uint32_t kind)
{
    if (!BH_QUIET)
        return kind == BH_FIND ? BH_DY_LINE : BH_DY_BUCKET_BYTES;
    if (BH_DY_BUCKET_BYTES != 2 * BH_DY_LINE || BH_OP_ERASES(kind) ||
        (slice->hints & (BH_HINT_AT_ONCE | BH_HINT_ABSENT)) ||
        (BH_OP_KEEPS(kind) && !(BH_OP_WRITES(kind) && slice->values_out)))
        return BH_DY_LINE;
    return BH_DY_BUCKET_BYTES;
}

/* Begins an operation at home; `counter` is that of its key. `kind` is the operation; a constant in the
 * instances for one operation. */
BH_FN void BH_DY(begin_home)(BH_DY(op) *op, BH_KEY key, uint32_t at, uint32_t kind,
                             uint32_t counter)
{
    op->key = key;
    op->at = at;
    op->op = (uint8_t)kind;
    op->state = BH_DY_HOME;
    op->looks = 0;
    op->counter = (uint8_t)counter;
}

BH_FN bh_region BH_DY(begin)(const bh__slice *slice, BH_DY(op) *op, uint32_t at, uint32_t kind)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    BH_KEY key = ((const BH_KEY *)slice->keys)[at];
    bh_hash hash = bh_hash_key(key, &geometry->seed);
    const bh_dy_subtable *home = &geometry->home[bh_dy_pair_of(geometry, hash)];
    bh_region region;

    BH_DY(begin_home)(op, key, at, kind, bh_dy_counter_of(hash.one >> home->doublings));
    region = bh_dy_region(bh_dy_line_of(geometry, home, hash.one, BH_DY_BUCKET_BYTES),
                          BH_DY(bytes)(slice, kind));
    if (BH_QUIET) {
        op->home = region.offset;
        op->looks = kind == BH_FIND && region.bytes != BH_DY_BUCKET_BYTES;
    }
    return region;
}

BH_FN bh_answer BH_DY(done)(BH_DY(op) *op, bh_outcome outcome)
{
    op->outcome = (uint8_t)outcome;
    return BH_DONE;
}

/* The home bucket did not decide: the operation goes on to the other bucket. */
BH_FN bh_answer BH_DY(go_other)(const bh__slice *slice, BH_DY(op) *op, uint64_t home,
                                bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;

    op->home = home;
    op->other = bh_dy_places_of(geometry, op->key, BH_DY_BUCKET_BYTES).other;
    op->state = BH_DY_OTHER;
    *next = bh_dy_region(op->other, BH_DY(bytes)(slice, op->op));
    if (BH_QUIET)
        op->looks = op->op == BH_FIND && next->bytes != BH_DY_BUCKET_BYTES;
    return BH_NEXT;
}

/* Begins an operation with its other bucket. Home will be looked at, too, so its line is asked for. */
BH_FN bh_region BH_DY(begin_other)(const bh__slice *slice, BH_DY(op) *op, uint32_t at,
                                   uint32_t kind)
{
    bh_region region = BH_DY(begin)(slice, op, at, kind);

    bh_bring_to_write(bh_dy_at(region.offset));
    (void)BH_DY(go_other)(slice, op, region.offset, &region);
    return region;
}

/* Writes the answer of an operation to the caller's values. The caller may have given a value in the same
 * place, so the answer is written once, by the step that finishes the operation: no later step could read
 * the value given. */
BH_FN void BH_DY(answer)(const bh__slice *slice, const BH_DY(op) *op, BH_VALUE value)
{
    BH_VALUE *answer = (BH_VALUE *)slice->values_out + op->at;

    *answer = value;
    bh_answer_ahead(slice, answer, BH_VALUE_BYTES, op->at);
}

/* Does the operation to a pair that is there, its bucket and its home locked; answers the meta
 * word to unlock its bucket with. */
BH_FN uint64_t BH_DY(act)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                          const BH_DY(view) *view)
{
    BH_VALUE value;

    if (BH_OP_KEEPS(kind)) {
        op->outcome = BH_FOUND;
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out)
            BH_DY(answer)(slice, op, BH_READ_VALUE(BH_DY(value_of)(line, view->match)));
        return view->meta;
    }
    if (BH_OP_ERASES(kind)) {
        slice->room++;
        slice->erased++;
        op->outcome = BH_ERASED;
        return BH_DY(take)(view->meta, BH_DY(slot_of)(view->match));
    }
    slice->assigned++;
    op->outcome = BH_ASSIGNED;
    if (!BH_VALUE_BYTES)
        return view->meta;
    value = (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at);
    if (BH_OP_REDUCES(kind))
        value = (BH_VALUE)bh_join(kind, BH_VALUE_BYTES,
                                  BH_READ_VALUE(BH_DY(value_of)(line, view->match)), value);
    BH_WRITE_VALUE(BH_DY(value_of)(line, view->match), value);
    return view->meta + BH_DY_CHANGE;
}

/* Does the operation to a pair that is there, without a lock: with BH_HINT_ALIKE or, but for erasures, where nobody else
 * changes the table. `home` is the key's home as it was seen, where the pair is a guest in `line`; else NULL. An
 * erasure clears the slot's bits in one access, whose answer says whether another element of the same key was
 * faster; the guest's counter at home is then counted down in one access, too: as nothing is inserted meanwhile, a
 * counter of 3 stays 3, and any other one is as large as there are guests. */
BH_FN void BH_DY(act_alike)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                            const BH_DY(view) *view, const BH_DY(view) *home)
{
    const uint32_t slot = BH_DY(slot_of)(view->match);
    unsigned char *const at = BH_DY(value_at)(line, slot);

    op->outcome = (uint8_t)BH_OP_PRESENT(kind);
    if (BH_OP_KEEPS(kind)) {
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out)
            BH_DY(answer)(slice, op, BH_LOAD_VALUE(at));
        return;
    }
    if (BH_OP_ERASES(kind)) {
        const uint64_t before =
            bh_clear64(bh_dy_at(line), bh_dy_slot_bits(slot, BH_DY_BUCKET_SLOTS, 1));

        if (!(before & bh_dy_used_bit(slot))) {
            op->outcome = BH_MISSING;
            return;
        }
        slice->room++;
        slice->erased++;
        if (home && bh_dy_counted(home->meta, op->counter) < 3)
            bh_add64(bh_dy_at(op->home), 0 - (1ull << op->counter));
        return;
    }
    bh_change_there(slice, kind, BH_VALUE_BYTES, at, op->at);
}

/* Puts the operation's new pair into a locked bucket; answers the meta word to unlock it with. */
BH_FN uint64_t BH_DY(insert)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                             uint64_t meta, int guest)
{
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return BH_DY(put)(line, meta, op->key, (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at),
                      guest);
}

/* Stalls: the key is absent, as has been looked up, and the slice has no room for it. */
BH_FN bh_answer BH_DY(no_room)(bh__slice *slice)
{
    slice->reasons |= BH_REASON_ROOM;
    return BH_STALL;
}
