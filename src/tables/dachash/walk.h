/*
 * DACHash, an operation in flight: what it carries from step to step, how it begins, and its steps along
 * the chain of its bucket. An include-template that ops.h includes; ops.h tells how the states follow each
 * other, and why no reader is deceived.
 */
#ifndef BH_TABLES_DACHASH_WALK_H
#define BH_TABLES_DACHASH_WALK_H

typedef enum bh_da_state { BH_DA_WALK, BH_DA_LOCKED, BH_DA_PUT } bh_da_state;

/* One try to lock the bucket of a first node, whose header was `header`. Where only one thread changes the
 * table (BH_HINT_BIASED) no other operation begins before the step has ended. So the only lock that there can
 * be is one that another operation of the slice keeps from step to step, and this one stores none: a vector
 * load of the node behind such a store would wait until that has come to the cache (docs/decisions/0049). An
 * operation that keeps the lock stores it. */
BH_FN int bh_da_lock(uint32_t hints, uint64_t first, uint64_t header)
{
    return !(header & BH_DA_LOCK) &&
           (BH_IS_BIASED(hints) || bh_swap_if64(bh_da_at(first), header, header | BH_DA_LOCK));
}

/* Whether no key has been erased, on cores, so that slots only fill (WHAT A LOCK FINDS CHANGED in ops.h). */
BH_FN int bh_da_only_fills(const bh_da_geometry *g)
{
    return BH_BRINGS && !g->turnover;
}

/* Whether a node whose header is as it was when this step looked at the node, now that its bucket is locked,
 * has the pairs that it had then: see ops.h, WHAT A LOCK FINDS CHANGED. (Where one thread changes the table
 * that is true within a step only.) */
BH_FN int bh_da_is_sure(uint32_t hints, const bh_da_geometry *g)
{
    return BH_IS_BIASED(hints) || bh_da_only_fills(g);
}

/* Whether an operation of this kind stalls at a key that is there, so that the policy notes that keys are erased. */
BH_FN int bh_da_is_first_erasure(const bh_da_geometry *g, uint32_t kind)
{
    return BH_OP_ERASES(kind) && bh_da_only_fills(g);
}

/* Unlocks a bucket whose first node, but for the lock, is as it should be. */
BH_FN void bh_da_unlock(uint64_t first)
{
    bh_store64(bh_da_at(first), bh_load64(bh_da_at(first)) & ~BH_DA_LOCK);
}

#endif

/* One operation in flight. */
typedef struct BH_DA(op) {
    uint64_t first; /* node of the bucket */
    uint64_t node;  /* at hand */
    uint64_t hole;  /* LOCKED, PUT: the first node seen with a free slot; 0: none yet */
    BH_KEY key;
    uint32_t at; /* index in the slice */
    uint8_t state;
    uint8_t op;
    uint8_t outcome;
} BH_DA(op);

BH_FN bh_answer BH_DA(go_to)(const bh__slice *slice, BH_DA(op) *op, uint64_t node, bh_region *next)
{
    op->node = node;
    *next = bh_da_region((const bh_da_geometry *)slice->geometry, node);
    return BH_NEXT;
}

/* Begins an operation on a key whose bucket has that first node. */
BH_FN void BH_DA(begin_at)(BH_DA(op) *op, uint64_t first, BH_KEY key, uint32_t at, uint32_t kind)
{
    op->key = key;
    op->first = op->node = first;
    op->at = at;
    op->state = BH_DA_WALK;
    op->op = (uint8_t)kind;
}

BH_FN bh_region BH_DA(begin)(const bh__slice *slice, BH_DA(op) *op, uint32_t at, uint32_t kind)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const BH_KEY key = ((const BH_KEY *)slice->keys)[at];

    BH_DA(begin_at)(op, bh_da_first(g, bh_hash_key(key, &g->seed).one), key, at, kind);
    return bh_da_region(g, op->node);
}

/* The last stage on a GPU has elements without a place, of which this design has none. */
BH_FN bh_region BH_DA(begin_last)(const bh__slice *slice, BH_DA(op) *op, uint32_t at, uint32_t kind)
{
    return BH_DA(begin)(slice, op, at, kind);
}

BH_FN bh_answer BH_DA(done)(BH_DA(op) *op, bh_outcome outcome)
{
    op->outcome = (uint8_t)outcome;
    return BH_DONE;
}

/* Stalls: the key is absent, as has been looked up, and the slice has no room for it. */
BH_FN bh_answer BH_DA(no_room)(bh__slice *slice)
{
    slice->reasons |= BH_REASON_ROOM;
    return BH_STALL;
}

/* A key that the operation only reads has been seen at a position; `node` is the node at hand, or a copy of
 * it. Answers its value, if what was seen was there. */
BH_FN bh_answer BH_DA(found)(const bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t node,
                             uint32_t position, uint64_t stamp)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const int answers = BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out;
    BH_VALUE value = 0;

    if (answers && BH_DA_IS_PAIR) {
        const uint64_t pair = bh_load64(BH_DA(key_at)(node, position));

        if (bh_pair_key(pair) != op->key)
            return BH_RETRY;
        value = (BH_VALUE)bh_pair_value(pair);
    } else if (answers) {
        value = BH_LOAD_VALUE(BH_DA(value_at)(g, node, position));
    }
    /* No target promises that a whole line is loaded by words of 8 bytes. */
    if (!BH_QUIET && BH_KEY_BYTES == 8 && BH_DA_IS_NARROW &&
        BH_LOAD_KEY(BH_DA(key_at)(node, position)) != op->key)
        return BH_RETRY;
    if (!BH_QUIET && (!(bh_load64(bh_da_at(op->node)) >> position & 1) ||
                      (!BH_DA_IS_NARROW && bh_load64(bh_da_at(op->node + 8)) != stamp)))
        return BH_RETRY;
    if (answers) {
        BH_VALUE *answer = (BH_VALUE *)slice->values_out + op->at;

        *answer = value;
        bh_answer_ahead(slice, answer, BH_VALUE_BYTES, op->at);
    }
    return BH_DA(done)(op, BH_FOUND);
}

/* Does the operation to a pair that is there, its bucket locked; answers the node's new header. */
BH_FN uint64_t BH_DA(act)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t header,
                          uint32_t position)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    unsigned char *place = BH_DA(value_at)(g, op->node, position);
    BH_VALUE value;

    if (BH_OP_KEEPS(kind)) {
        op->outcome = BH_FOUND;
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out)
            ((BH_VALUE *)slice->values_out)[op->at] = BH_LOAD_VALUE(place);
        return header;
    }
    if (BH_OP_ERASES(kind)) {
        slice->room++;
        slice->erased++;
        op->outcome = BH_ERASED;
        return header & ~(1ull << position);
    }
    slice->assigned++;
    op->outcome = BH_ASSIGNED;
    if (!BH_VALUE_BYTES)
        return header;
    value = (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at);
    if (BH_OP_REDUCES(kind))
        value = (BH_VALUE)bh_join(kind, BH_VALUE_BYTES, BH_LOAD_VALUE(place), value);
    if (BH_DA_IS_PAIR)
        bh_write64(BH_DA(key_at)(op->node, position), bh_pair(op->key, value));
    else
        BH_WRITE_VALUE(place, value);
    return header;
}

/* Does the operation to a pair that is there, with BH_HINT_ALIKE: no lock is taken, and no pair moves or is inserted.
 * An erasure clears the slot's bit in one access, whose answer says whether another element of the same key was
 * faster. */
BH_FN void BH_DA(act_alike)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint32_t position)
{
    unsigned char *const place =
        BH_DA(value_at)((const bh_da_geometry *)slice->geometry, op->node, position);

    op->outcome = (uint8_t)BH_OP_PRESENT(kind);
    if (BH_OP_KEEPS(kind)) {
        if (BH_VALUE_BYTES && BH_OP_WRITES(kind) && slice->values_out)
            ((BH_VALUE *)slice->values_out)[op->at] = BH_LOAD_VALUE(place);
        return;
    }
    if (BH_OP_ERASES(kind)) {
        if (!(bh_clear64(bh_da_at(op->node), 1ull << position) >> position & 1)) {
            op->outcome = BH_MISSING;
            return;
        }
        slice->room++;
        slice->erased++;
        return;
    }
    bh_change_there(slice, kind, BH_VALUE_BYTES, place, op->at);
}

/* The bucket is locked, and all nodes are as they are to be but for the header of the node at hand: stores
 * it and unlocks. */
BH_FN bh_answer BH_DA(leave)(BH_DA(op) *op, uint64_t header)
{
    if (op->node == op->first) {
        bh_store64(bh_da_at(op->first), header & ~BH_DA_LOCK);
    } else {
        bh_store64(bh_da_at(op->node), header);
        bh_da_unlock(op->first);
    }
    return BH_DONE;
}

/* A key that the operation changes has been seen at a position of the node at hand, which had `header`: locks
 * the bucket, and acts if the key still is there. */
BH_FN bh_answer BH_DA(change)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t header,
                              uint32_t position)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const int behind = op->node != op->first;

    if (bh_da_is_first_erasure(g, kind)) {
        slice->reasons |= BH_DA_REASON_TURNOVER;
        return BH_STALL;
    }
    if (!bh_da_lock(slice->hints, op->first, behind ? bh_load64(bh_da_at(op->first)) : header))
        return BH_RETRY;
    if (behind && !BH_IS_BIASED(slice->hints))
        header = bh_load64(bh_da_at(op->node));
    if (!bh_da_is_sure(slice->hints, g) &&
        (!(header >> position & 1) || BH_LOAD_KEY(BH_DA(key_at)(op->node, position)) != op->key)) {
        bh_da_unlock(op->first);
        return BH_RETRY;
    }
    return BH_DA(leave)(op, BH_DA(act)(slice, op, kind, header, position));
}

/* Puts the new key into a free slot of the node at hand; the bucket is locked. */
BH_FN bh_answer BH_DA(put)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t header)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint32_t position = bh_first(~(uint32_t)header & g->positions);

    BH_DA(publish)(g, op->node, position, op->key,
                   (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at));
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return BH_DA(leave)(op, header | 1ull << position);
}

/* The bucket is locked, the key absent, and no slot of the chain free: the key goes to a new node behind the
 * node at hand, which is the last. */
BH_FN_RARE bh_answer BH_DA(append)(bh__slice *slice, BH_DA(op) *op, uint64_t header, BH_VALUE value)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint64_t node = bh_da_pop(slice->hints, slice->stash, g);
    const uint32_t position = bh_first(g->positions);

    if (!node) {
        bh_da_unlock(op->first);
        slice->reasons |= BH_DA_REASON_NODE;
        return BH_STALL;
    }
    BH_DA(publish)(g, node, position, op->key, value);
    bh_write64(bh_da_at(node), 1ull << position); /* no reader knows the node yet */
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return BH_DA(leave)(op, header | bh_da_number(g, node) << BH_DA_LINK_SHIFT);
}

/* The bucket is locked, and the key in none of its nodes, of which the one at hand is the last. */
BH_FN bh_answer BH_DA(add)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t header,
                           bh_region *next)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;

    /* Other operations of the slice may have had the room since this one began. */
    if (!slice->room) {
        bh_da_unlock(op->first);
        return BH_DA(no_room)(slice);
    }
    if (op->hole && op->hole != op->node) {
        op->state = BH_DA_PUT;
        return BH_DA(go_to)(slice, op, op->hole, next);
    }
    if (~(uint32_t)header & g->positions)
        return BH_DA(put)(slice, op, kind, header);
    return BH_DA(append)(slice, op, header,
                         (BH_VALUE)bh_given(slice, kind, BH_VALUE_BYTES, op->at));
}

/* Whether the key is in a node. */
BH_FN int BH_DA(is_in)(const bh_da_geometry *g, uint64_t node, uint64_t header, BH_KEY key)
{
    return BH_DA(match)(g, node & ~(uint64_t)(BH_DA_LINE - 1), node, header, key) != 0;
}

/* WALK of an insertion has come to its end in a node behind the first, which had the header `seen`: locks the
 * bucket. Nearly all chains that are longer than one node are two, both of which are in the cache now: these
 * are looked at once more in this step, where they may have changed. In a longer chain the operation begins
 * once more. */
BH_FN bh_answer BH_DA(missed_behind)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t seen,
                                     bh_region *next)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    uint64_t header = bh_load64(bh_da_at(op->first)), last;

    if (!bh_da_lock(slice->hints, op->first, header))
        return BH_RETRY;
    last = bh_load64(bh_da_at(op->node));
    if (bh_da_node(g, bh_da_link(header)) != op->node || bh_da_link(last)) {
        if (BH_IS_BIASED(slice->hints)) /* from now on the lock is held from step to step */
            bh_store64(bh_da_at(op->first), header | BH_DA_LOCK);
        op->state = BH_DA_LOCKED;
        return BH_DA(go_to)(slice, op, op->first, next);
    }
    /* An earlier step looked at the first node. While no key has been erased it was full, and still is. */
    if ((!bh_da_only_fills(g) && BH_DA(is_in)(g, op->first, header, op->key)) ||
        (!(last == seen && bh_da_is_sure(slice->hints, g)) &&
         BH_DA(is_in)(g, op->node, last, op->key))) {
        bh_store64(bh_da_at(op->first), header);
        return BH_DA(go_to)(slice, op, op->first, next);
    }
    if (~(uint32_t)header & g->positions) {
        op->node = op->first;
        last = header;
    }
    return BH_DA(add)(slice, op, kind, last, next);
}

/* WALK of an insertion has come to its end in the first node, which had `header`: locks the bucket. Answers RETRY where
 * it has changed. */
BH_FN bh_answer BH_DA(lock_missed)(const bh__slice *slice, BH_DA(op) *op, uint64_t header)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;

    if (!bh_da_lock(slice->hints, op->first, header))
        return BH_RETRY;
    if (!bh_da_is_sure(slice->hints, g) && BH_DA(is_in)(g, op->first, header, op->key)) {
        bh_store64(bh_da_at(op->first), header);
        return BH_RETRY;
    }
    return BH_DONE;
}

/* WALK: the key was in none of the nodes, of which the one at hand was the last, with `header`. */
BH_FN bh_answer BH_DA(missed)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t header,
                              bh_region *next)
{
    if (!BH_OP_INSERTS(kind))
        return BH_DA(done)(op, BH_MISSING);
    if (!slice->room)
        return BH_DA(no_room)(slice);
    op->hole = 0;
    if (op->node != op->first)
        return BH_DA(missed_behind)(slice, op, kind, header, next);
    if (BH_DA(lock_missed)(slice, op, header) == BH_RETRY)
        return BH_RETRY;
    return BH_DA(add)(slice, op, kind, header, next);
}

/* A step of LOCKED, or of PUT. */
BH_FN bh_answer BH_DA(step_locked)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, bh_region *next)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint64_t header = bh_load64(bh_da_at(op->node));
    uint32_t match;

    if (op->state == BH_DA_PUT) {
        if (slice->room)
            return BH_DA(put)(slice, op, kind, header);
        bh_da_unlock(op->first);
        return BH_DA(no_room)(slice);
    }
    match = BH_DA(match)(g, op->node & ~(uint64_t)(BH_DA_LINE - 1), op->node, header, op->key);
    if (match && BH_IS_ALIKE(slice)) {
        BH_DA(act_alike)(slice, op, kind, bh_first(match));
        return BH_DA(leave)(op, header);
    }
    if (match)
        return BH_DA(leave)(op, BH_DA(act)(slice, op, kind, header, bh_first(match)));
    if (!op->hole && (~(uint32_t)header & g->positions))
        op->hole = op->node;
    if (bh_da_link(header))
        return BH_DA(go_to)(slice, op, bh_da_node(g, bh_da_link(header)), next);
    return BH_DA(add)(slice, op, kind, header, next);
}

/*
 * One step of an operation on the region it asked for; `at` is that region, or a copy of it.
 *
 * The first step of an operation never answers NEXT with the lock held: it takes the lock only where the chain
 * is one node, and then ends. So the lanes of a GPU, which look at many keys first and go on with those that
 * did not end (cuda/device/kernels.h), hold no lock while they wait for each other.
 *
 * `is_line` is a constant: 1 where nodes are known to be lines.
 */
BH_FN bh_answer BH_DA(step_on)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t at,
                               int is_line, bh_region *next)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint64_t node = is_line ? at : at + op->node % BH_DA_LINE;
    uint64_t header, stamp = 0;
    uint32_t match;

    if (BH_OP_INSERTS(kind) && op->state != BH_DA_WALK)
        return BH_DA(step_locked)(slice, op, kind, next);
    if (!BH_DA_IS_NARROW && BH_OP_KEEPS(kind))
        stamp = bh_load64(bh_da_at(node + 8));
    header = bh_load64(bh_da_at(node));
    match = is_line ? BH_DA(match_line)(at, header, op->key)
                    : BH_DA(match)(g, at, op->node, header, op->key);
    if (match && BH_OP_KEEPS(kind))
        return BH_DA(found)(slice, op, kind, node, bh_first(match), stamp);
    if (match && BH_IS_ALIKE(slice) && !bh_da_is_first_erasure(g, kind)) {
        BH_DA(act_alike)(slice, op, kind, bh_first(match));
        return BH_DONE;
    }
    if (match)
        return BH_DA(change)(slice, op, kind, header, bh_first(match));
    if (bh_da_link(header))
        return BH_DA(go_to)(slice, op, bh_da_node(g, bh_da_link(header)), next);
    return BH_DA(missed)(slice, op, kind, header, next);
}

BH_FN bh_answer BH_DA(step)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t at,
                            bh_region *next)
{
    return BH_DA(step_on)(slice, op, kind, at, 0, next);
}

/* One step of a change, in a slice that is alike, while nothing is inserted: acts on the key if it is there.
 * `line` may be a copy of it. Answers STALL for an absent key that is to be inserted, when nothing has been
 * done. */
BH_FN bh_answer BH_DA(step_present)(bh__slice *slice, BH_DA(op) *op, uint32_t kind, uint64_t line,
                                    bh_region *next)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint64_t header = bh_load64(bh_da_at(line + op->node % BH_DA_LINE));
    const uint32_t match = BH_DA(match)(g, line, op->node, header, op->key);

    if (match) {
        BH_DA(act_alike)(slice, op, kind, bh_first(match));
        return BH_DONE;
    }
    if (bh_da_link(header))
        return BH_DA(go_to)(slice, op, bh_da_node(g, bh_da_link(header)), next);
    return BH_OP_INSERTS(kind) ? BH_STALL : BH_DA(done)(op, BH_MISSING);
}

/* Does an operation, not a lookup, if the first node alone decides it and has a slot where it inserts. Otherwise
 * nothing has been done, and the answer is RETRY, or NEXT: then the operation goes on at its node. Nodes are lines. */
BH_FN bh_answer BH_DA(at_first)(bh__slice *slice, BH_DA(op) *op, uint32_t kind)
{
    const bh_da_geometry *g = (const bh_da_geometry *)slice->geometry;
    const uint64_t stamp =
        !BH_DA_IS_NARROW && BH_OP_KEEPS(kind) ? bh_load64(bh_da_at(op->first + 8)) : 0;
    const uint64_t header = bh_load64(bh_da_at(op->first));
    const uint32_t match = BH_DA(match_line)(op->first, header, op->key);

    if (match && BH_OP_KEEPS(kind))
        return BH_DA(found)(slice, op, kind, op->first, bh_first(match), stamp);
    if (match)
        return BH_DA(change)(slice, op, kind, header, bh_first(match));
    if (bh_da_link(header)) {
        op->node = bh_da_node(g, bh_da_link(header));
        return BH_NEXT;
    }
    if (!BH_OP_INSERTS(kind))
        return BH_DA(done)(op, BH_MISSING);
    if (!(~(uint32_t)header & g->positions) || !slice->room)
        return BH_NEXT;
    if (BH_DA(lock_missed)(slice, op, header) == BH_RETRY)
        return BH_RETRY;
    return BH_DA(put)(slice, op, kind, header);
}

/* bh__kernels.put_back. */
BH_FN_RARE void BH_DA(put_back)(bh__slice *slice)
{
    bh_da_put_back(slice->hints, slice->stash, (const bh_da_geometry *)slice->geometry);
}
