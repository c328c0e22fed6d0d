/*
 * Stadium hashing, the front's pass over visits: what is done in the slots. An include-template that front_board.h includes;
 * see there.
 *
 * Lookups look at the slots of a group at once, and answer in the turn after that: no branch depends on a single key. Other
 * operations visit one slot after the other, because what they do to a slot another of them may have to see.
 */

/* Writes the answers of a group of lookups. Mostly all keys were found; others have been said to be missing already
 * (BH_MISSING is 0, BH_FOUND 1), or were found before. */
BH_FN void BH_ST(answer)(const bh__slice *slice, const uint32_t *names, uint32_t members,
                         uint32_t found, const BH_VALUE *values)
{
    BH_VALUE *const out = BH_VALUE_BYTES ? (BH_VALUE *)slice->values_out : 0;
    uint32_t i;

    /* Lines of answers that hold none are not touched. */
    if (!found)
        return;
    if (out)
        bh_answer_ahead(slice, out + names[0], BH_VALUE_BYTES, names[0]);
    if (found == BH_FRONT_ALL) {
        for (i = 0; out && i < BH_FRONT_GROUP; i++)
            out[names[i]] = values[i];
        for (i = 0; slice->outcomes && i < BH_FRONT_GROUP; i++)
            slice->outcomes[names[i]] = BH_FOUND;
        return;
    }
    for (i = 0; out && i < members; i++) {
        const BH_VALUE before = out[names[i]];

        out[names[i]] = found >> i & 1 ? values[i] : before;
    }
    for (i = 0; slice->outcomes && i < members; i++)
        slice->outcomes[names[i]] |= (uint8_t)(found >> i & 1);
}

/* The same of eight elements of the caller's arrays, from number `at` on. */
BH_FN void BH_ST(answer_in_order)(const bh__slice *slice, uint32_t at, uint32_t found,
                                  const BH_VALUE *values)
{
    uint64_t outcomes = BH_FRONT_ONES;

    if (!found)
        return;
    if (BH_VALUE_BYTES && slice->values_out) {
        BH_VALUE *const out = (BH_VALUE *)slice->values_out + at;

        bh_answer_ahead(slice, out, BH_VALUE_BYTES, at);
        if (found == BH_FRONT_ALL)
            __builtin_memcpy(out, values, BH_FRONT_GROUP * sizeof *values);
        else if (BH_VALUE_BYTES == 4)
            bh_choose32((uint32_t *)(void *)out, (const uint32_t *)(const void *)values,
                        BH_FRONT_GROUP, found);
        else
            bh_choose64((uint64_t *)(void *)out, (const uint64_t *)(const void *)values,
                        BH_FRONT_GROUP, found);
    }
    if (!slice->outcomes)
        return;
    /* Other keys of the group may have been found already, in later words than their first. */
    if (found != BH_FRONT_ALL) {
        __builtin_memcpy(&outcomes, slice->outcomes + at, BH_FRONT_GROUP);
        outcomes |= bh_front_outcomes(found);
    }
    __builtin_memcpy(slice->outcomes + at, &outcomes, BH_FRONT_GROUP);
}

/* What lookups have seen of a group of visits. */
typedef struct BH_ST(slots) {
    BH_KEY keys[BH_FRONT_GROUP];
    BH_VALUE values[BH_FRONT_GROUP]; /* what is in its slot */
    uint64_t pairs
        [BH_FRONT_GROUP]; /* the pair in its slot; of wider ones, not 0: another key is there */
    uint64_t
        now[BH_FRONT_GROUP]; /* what its ticket is now; 0: the pair changed while it was read */
} BH_ST(slots);

/* Once keys have been erased, the key and the value of a wide pair are read between begin_reading and is_changed,
 * which comes after another look at the ticket: see ops.h. */
typedef struct BH_ST(reading) {
    const unsigned char *stamp;
    uint64_t stamped;
    uint32_t ready;
} BH_ST(reading);

BH_FN BH_ST(reading) BH_ST(begin_reading)(const bh_st_geometry *g, uint64_t ticket)
{
    const uint64_t at = ticket & BH_ST_ADDRESS;
    BH_ST(reading) reading;

    reading.stamp = bh_st_stamp_of(g, at);
    reading.stamped = bh_load64(reading.stamp);
    reading.ready = bh_load8(bh_st_at(at));
    return reading;
}

BH_FN int BH_ST(is_changed)(const BH_ST(reading) * reading, uint64_t ticket)
{
    return reading->ready != bh_st_ticket_of(ticket) ||
           bh_load64(reading->stamp) != reading->stamped;
}

/* Lookups: looks at the slots of the group that begins with the `at`-th visit, and at their tickets again, unless no ticket
 * changes that is ready. */
BH_FN void BH_ST(look_at_slots)(BH_ST(front_state) * f, uint32_t at, int turnover,
                                BH_ST(slots) * seen)
{
    const BH_ST(visits) *const v = &f->visits;
    const uint64_t *const slots = v->slot + at, *const tickets = v->ticket + at;
    const uint32_t *const names = v->name + at;
    const int answers = BH_VALUE_BYTES && f->slice.values_out;
    const int stamped = turnover && answers && !BH_ST_IS_NARROW;
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const BH_KEY key = BH_ST(key_of)(f, names[i]);
        BH_ST(reading) reading;

        if (stamped)
            reading = BH_ST(begin_reading)(f->geometry, tickets[i]);

        if (BH_ST_IS_PAIR) {
            seen->keys[i] = key;
            seen->pairs[i] = bh_load64(bh_st_at(slots[i]));
        } else {
            seen->pairs[i] = BH_LOAD_KEY(bh_st_at(slots[i])) ^ key;
            if (answers)
                seen->values[i] = BH_LOAD_VALUE(BH_ST(value_of)(slots[i]));
        }
        if (turnover)
            seen->now[i] = bh_load8(bh_st_at(tickets[i] & BH_ST_ADDRESS));
        if (stamped && BH_ST(is_changed)(&reading, tickets[i]))
            seen->now[i] = 0;
    }
}

/* A key, the `at`-th visit, whose slot has another one, goes on, if its path does: to the next ticket that may be
 * its own, or to the next line. (A ticket that was not ready when the line was looked at need not be seen.) */
BH_FN void BH_ST(visit_next)(BH_ST(front_state) * f, uint32_t at)
{
    BH_ST(visits) *const v = &f->visits;
    const uint64_t ticket = v->ticket[at], rest = v->rest[at];
    const uint64_t line = ticket & (BH_ST_ADDRESS - (BH_ST_LINE - 1));

    if (rest) {
        const uint64_t number = ticket & BH_ST_ADDRESS;

        v->rest[v->count] = v->slot[at] - (number << BH_ST_SHIFT); /* the origin */
        v->slot[v->count] = rest;
        v->ticket[v->count] = ticket;
        v->name[v->count++] = v->name[at];
    } else if (ticket & BH_ST_GOES_ON) {
        BH_ST(add_look_on)
        (&f->look_ons, line | (uint64_t)bh_st_lines_of(ticket) << BH_ST_LINES_SHIFT, v->name[at]);
    }
}

/* Lookups: says what became of a group that look_at_slots has seen. */
BH_FN void BH_ST(settle_lookups)(BH_ST(front_state) * f, uint32_t at, uint32_t end, int turnover,
                                 BH_ST(slots) * seen)
{
    const BH_ST(visits) *const v = &f->visits;
    const uint64_t *const tickets = v->ticket + at;
    const uint32_t *const names = v->name + at, left = end - at;
    const uint32_t count = left < BH_FRONT_GROUP ? left : BH_FRONT_GROUP;
    const uint32_t members = (1u << count) - 1;
    uint32_t same = 0, ready = turnover ? 0 : members, open = 0, found, i;
    const uint64_t *const rest = v->rest + at;

    if (BH_ST_IS_PAIR)
        same = bh_part_pairs(seen->pairs, (const uint32_t *)(const void *)seen->keys,
                             (uint32_t *)(void *)seen->values, BH_FRONT_GROUP) ^
               BH_FRONT_ALL;
    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec ticket = bh_vec_load64(tickets + i);

        if (!BH_ST_IS_PAIR)
            same |= bh_vec_zeros(bh_vec_load64(seen->pairs + i)) << i;
        if (turnover) {
            const bh_vec wanted =
                bh_vec_and(bh_vec_right(ticket, BH_ST_TICKET_SHIFT), bh_vec_all(255));

            ready |= bh_vec_zeros(bh_vec_xor(bh_vec_load64(seen->now + i), wanted)) << i;
        }
        open |= (bh_vec_zeros(bh_vec_or(bh_vec_right(ticket, 63), bh_vec_load64(rest + i))) ^
                 ((1u << BH_VEC) - 1))
                << i;
    }
    found = same & ready & members;
    BH_ST(answer)(&f->slice, names, count, found, seen->values);
    /* Not decided: where more of the path may have the key; where a ticket changed while the slot had the key. */
    for (open = (open | same) & ~found & members; open; open &= open - 1) {
        const uint32_t k = bh_first(open);

        if (same >> k & 1)
            BH_ST(leave)(f, names[k]);
        else
            BH_ST(visit_next)(f, at + k);
    }
}

/* A key that is to be changed is in a slot: changes it, with its lock held where others may erase it (`key_lock` is its address).
 * Answers 0 where that could not be done at once. */
BH_FN int BH_ST(change_in_slot)(BH_ST(front_state) * f, uint32_t kind, uint64_t slot,
                                uint64_t ticket, uint32_t name, uint64_t key_lock, int turnover)
{
    const BH_KEY key = BH_ST(key_of)(f, name);
    unsigned char *const at = bh_st_at(ticket & BH_ST_ADDRESS);
    const uint32_t ready = bh_st_ticket_of(ticket);
    unsigned char *const lock = bh_st_at(key_lock);
    int done;

    if (!turnover) {
        bh_change_there(&f->slice, kind, BH_VALUE_BYTES, BH_ST(value_of)(slot), name);
        return 1;
    }
    if (!bh_st_lock(f->slice.hints, lock))
        return 0;
    done = bh_load8(at) == ready && BH_LOAD_KEY(bh_st_at(slot)) == key;
    if (done && BH_OP_ERASES(kind)) {
        f->slice.room++;
        f->slice.erased++;
        bh_store8(at, BH_ST_ERASED);
    } else if (done) {
        BH_ST(set_value)(&f->slice, kind, slot, key, name);
    }
    bh_st_unlock(lock);
    return done;
}

/* A key that is to be kept as it is, if it is there, is in a slot: answers its value. */
BH_FN int BH_ST(keep_in_slot)(BH_ST(front_state) * f, uint32_t kind, uint64_t slot, uint64_t ticket,
                              uint32_t name, int turnover)
{
    const int answers = BH_VALUE_BYTES && BH_OP_WRITES(kind) && f->slice.values_out;
    const int stamped = turnover && answers && !BH_ST_IS_NARROW;
    const uint64_t pair = BH_ST_IS_PAIR && answers ? bh_load64(bh_st_at(slot)) : 0;
    BH_VALUE value = 0;
    BH_ST(reading) reading;

    if (stamped)
        reading = BH_ST(begin_reading)(f->geometry, ticket);
    if (BH_ST_IS_PAIR && answers) {
        if (bh_pair_key(pair) != BH_ST(key_of)(f, name))
            return 0;
        value = (BH_VALUE)bh_pair_value(pair);
    } else if (answers) {
        if (stamped && BH_LOAD_KEY(bh_st_at(slot)) != BH_ST(key_of)(f, name))
            return 0;
        value = BH_LOAD_VALUE(BH_ST(value_of)(slot));
    }
    if (turnover && bh_load8(bh_st_at(ticket & BH_ST_ADDRESS)) != bh_st_ticket_of(ticket))
        return 0;
    if (stamped && BH_ST(is_changed)(&reading, ticket))
        return 0;
    if (answers)
        ((BH_VALUE *)f->slice.values_out)[name] = value;
    return 1;
}

/* Other operations than lookups: does the `at`-th visit, of a key whose lock is at `lock`. */
BH_FN void BH_ST(visit_slot)(BH_ST(front_state) * f, uint32_t kind, uint32_t at, uint64_t lock,
                             int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    const uint64_t slot = v->slot[at], ticket = v->ticket[at];
    const uint32_t name = v->name[at];

    if (BH_OP_INSERTS(kind) && !turnover &&
        bh_load8(bh_st_at(ticket & BH_ST_ADDRESS)) != bh_st_ticket_of(ticket)) {
        BH_ST(leave)(f, name); /* it was claimed, and is still */
    } else if (BH_LOAD_KEY(bh_st_at(slot)) != BH_ST(key_of)(f, name)) {
        if (BH_OP_INSERTS(kind))
            BH_ST(look_on_in_line)(f, kind, ticket, name, turnover);
        else
            BH_ST(visit_next)(f, at);
    } else if (BH_OP_KEEPS(kind)
                   ? BH_ST(keep_in_slot)(f, kind, slot, ticket, name, turnover)
                   : BH_ST(change_in_slot)(f, kind, slot, ticket, name, lock, turnover)) {
        if (f->slice.outcomes)
            f->slice.outcomes[name] = (uint8_t)BH_OP_PRESENT(kind);
    } else {
        BH_ST(leave)(f, name);
    }
}

/* Where there is no whole group of visits before the `end`-th the last one stands for those that are missing. */
BH_FN void BH_ST(fill_visits)(BH_ST(visits) * v, uint32_t end)
{
    uint32_t i;

    for (i = end; i % BH_FRONT_GROUP; i++) {
        v->slot[i] = v->slot[i - 1];
        v->ticket[i] = v->ticket[i - 1];
        v->rest[i] = v->rest[i - 1];
        v->name[i] = v->name[i - 1];
    }
}

/* Lookups: the pass over visits. */
BH_FN void BH_ST(visit_to_look)(BH_ST(front_state) * f, uint32_t end, int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    BH_ST(slots) seen;
    uint32_t at;

    for (at = 0; at < end + BH_FRONT_GROUP; at += BH_FRONT_GROUP) {
        while (v->asked < end && v->asked <= at + BH_ST_SLOTS_AHEAD)
            BH_ST(ask_for_slots)(f, end);
        if (at)
            BH_ST(settle_lookups)(f, at - BH_FRONT_GROUP, end, turnover, &seen);
        if (at < end && end - at < BH_FRONT_GROUP)
            BH_ST(fill_visits)(v, end);
        if (at < end)
            BH_ST(look_at_slots)(f, at, turnover, &seen);
    }
}

/* Once keys have been erased: the locks of the keys of a group of visits from the `at`-th on, of those before the `end`-th. The lines of
 * the locks are asked for: other threads have had them since. */
BH_FN void BH_ST(ask_for_locks)(const BH_ST(front_state) * f, uint32_t at, uint32_t end,
                                uint64_t *lock)
{
    const uint32_t count = end - at < BH_FRONT_GROUP ? end - at : BH_FRONT_GROUP;
    uint32_t i;

    for (i = 0; i < count; i++) {
        const BH_KEY key = BH_ST(key_of)(f, f->visits.name[at + i]);
        const bh_hash h = bh_hash_key(key, &f->geometry->seed);

        lock[i] = bh_st_lock_at(f->geometry, h.two);
        bh_bring_to_write(bh_st_at(lock[i]));
    }
}

/* Other operations: the pass over visits. */
BH_FN void BH_ST(visit_to_change)(BH_ST(front_state) * f, uint32_t end, uint32_t kind, int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    const int locks = turnover && !BH_OP_KEEPS(kind);
    uint64_t lock[2][BH_FRONT_GROUP]; /* of a group, and of the next one */
    uint32_t at, next, turn = 0, i;

    for (i = 0; i < BH_FRONT_GROUP; i++)
        lock[0][i] = lock[1][i] = 0;
    if (locks)
        BH_ST(ask_for_locks)(f, 0, end, lock[0]);

    for (at = 0; at < end; at = next) {
        next = end - at < BH_FRONT_GROUP ? end : at + BH_FRONT_GROUP;
        while (v->asked < end && v->asked <= at + BH_ST_SLOTS_AHEAD)
            BH_ST(ask_for_slots)(f, end);
        if (f->asks_slots == BH_ASKS_FAR && next < v->asked)
            bh_st_ask_some(v->slot + next, v->asked - next,
                           BH_ASKS_OWN); /* of more than a group: the next one */
        if (locks && next < end)
            BH_ST(ask_for_locks)(f, next, end, lock[turn ^ 1]);
        if (next - at == BH_FRONT_GROUP) {
#pragma GCC unroll 8
            for (i = 0; i < BH_FRONT_GROUP; i++)
                BH_ST(visit_slot)(f, kind, at + i, lock[turn][i], turnover);
        } else {
            for (i = 0; i < next - at; i++)
                BH_ST(visit_slot)(f, kind, at + i, lock[turn][i], turnover);
        }
        turn ^= 1;
    }
}

/* The pass over visits. Those that come of it take the places of others, which have been done. */
BH_FN void BH_ST(visit_all)(BH_ST(front_state) * f, uint32_t kind, int turnover)
{
    const uint32_t end = f->visits.count;

    f->visits.count = 0;
    if (kind == BH_FIND)
        BH_ST(visit_to_look)(f, end, turnover);
    else
        BH_ST(visit_to_change)(f, end, kind, turnover);
    f->visits.asked = 0;
}
