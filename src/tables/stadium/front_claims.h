/*
 * Stadium hashing, the front's insertions: how a key that is not there claims a ticket. An include-template that front_board.h
 * includes; see there, and ops.h, which says why no key comes twice.
 */

/* The pair of a key for which a ticket has been claimed is written; then the key's lock is free again, once keys have been
 * erased. */
BH_FN void BH_ST(put_pair)(BH_ST(front_state) * f, uint32_t kind, uint64_t slot, uint64_t ticket,
                           uint64_t lock, uint32_t name, int turnover)
{
    const BH_KEY key = BH_ST(key_of)(f, name);

    BH_ST(store)(slot, key, (BH_VALUE)bh_given(&f->slice, kind, BH_VALUE_BYTES, name));
    bh_store8(bh_st_at(ticket & BH_ST_ADDRESS), (uint8_t)bh_st_ticket_of(ticket));
    if (turnover)
        bh_st_unlock(bh_st_at(lock));
    if (f->slice.outcomes)
        f->slice.outcomes[name] = BH_INSERTED;
}

/* The pairs of all keys that have claimed tickets are written. */
BH_FN void BH_ST(write_pairs)(BH_ST(front_state) * f, uint32_t kind, int turnover)
{
    const BH_ST(visits) *const v = &f->visits;
    const uint32_t first = BH_ST_ROOM - v->claims;
    uint32_t i;

    for (i = BH_ST_ROOM; i-- > first;)
        BH_ST(put_pair)
    (f, kind, v->slot[i], v->ticket[i], turnover ? v->rest[i] : 0, v->name[i], turnover);
    f->visits.claims = 0;
}

/* A key that is to be inserted, and where its path ends. */
typedef struct BH_ST(ending) {
    uint64_t line, mark;
    uint64_t origin; /* of the key's part */
    uint64_t bound;  /* once keys have been erased: address of the path's */
    uint64_t lock;   /* and of the key's lock */
    uint32_t name;
} BH_ST(ending);

/* The key has claimed the ticket at an address. Its pair is written at once, or in the next pass over claims. */
BH_FN void BH_ST(take_slot)(BH_ST(front_state) * f, uint32_t kind, const BH_ST(ending) * e,
                            uint64_t at, int turnover, int at_once)
{
    BH_ST(visits) *const v = &f->visits;
    const uint64_t slot = e->origin + (at << BH_ST_SHIFT);
    const uint64_t ticket = at | (e->mark & BH_ST_TICKET);

    if (at_once) {
        BH_ST(put_pair)(f, kind, slot, ticket, turnover ? e->lock : 0, e->name, turnover);
        return;
    }
    if (turnover)
        v->rest[BH_ST_ROOM - 1 - v->claims] = e->lock;
    BH_ST(put_claim)(v, v->claims++, slot, ticket, e->name, f->asks_slots);
}

/* The ticket at an address is claimed if it still is `was`, fresh or erased. Its word is the `steps`-th of the key's path, whose bound
 * is at `bound`. Answers whether it has been claimed. */
BH_FN int BH_ST(claim_ticket)(BH_ST(front_state) * f, const BH_ST(ending) * e, uint64_t bound,
                              uint64_t at, uint32_t steps, uint32_t was)
{
    const uint64_t in = at & ~7ull, word = bh_load64(bh_st_at(in));
    const uint64_t taken = bh_st_ticket_of(e->mark) - 1 - was;

    if ((word >> at % 8 * 8 & 255) != was ||
        (steps && !bh_st_raise_at(f->slice.hints, bound, steps)) ||
        !bh_swap_in64(f->slice.hints, bh_st_at(in), word, word + (taken << at % 8 * 8)))
        return 0;
    /* A reader that has seen the slot's last key may not have read its value yet. */
    if (!BH_ST_IS_NARROW && was == BH_ST_ERASED)
        (void)bh_take_in64(f->slice.hints, bh_st_stamp_of(f->geometry, in), 1);
    f->slice.room--;
    f->slice.inserted++;
    return 1;
}

/* The address of the bound of a key's path, where the group does not have it: it is that of the path's first line. */
BH_FN uint64_t BH_ST(bound_of)(const BH_ST(front_state) * f, const BH_ST(ending) * e)
{
    const bh_st_part *const part = &f->geometry->part[bh_st_marked(e->mark)];
    bh_hash h;

    if (!bh_st_lines_of(e->mark))
        return part->bounds + (e->line - part->board) / BH_ST_LINE;
    h = bh_hash_key(BH_ST(key_of)(f, e->name), &f->geometry->seed);
    return part->bounds + bh_hash_range(h.one, part->units);
}

/* While no key has been erased: the `met`-th ticket of the line on the key's path was the first fresh one, and none before
 * was the key's, ready or claimed. Answers whether the key has got that ticket. The tickets of a word are claimed in their
 * order: so if this one is still fresh, none of the word has been claimed since. */
BH_FN int BH_ST(claim_fresh_ticket)(BH_ST(front_state) * f, uint32_t kind, const BH_ST(ending) * e,
                                    uint32_t met, int at_once)
{
    const uint64_t at = e->line + (met + e->mark) % BH_ST_LINE;
    const uint32_t steps = bh_st_lines_of(e->mark) * BH_ST_WORDS + met / 8;

    if (!f->slice.room ||
        !BH_ST(claim_ticket)(f, e, steps ? BH_ST(bound_of)(f, e) : 0, at, steps, 0))
        return 0;
    BH_ST(take_slot)(f, kind, e, at, 0, at_once);
    return 1;
}

/* The first words of the paths of a group's keys. */
typedef struct BH_ST(words) {
    uint64_t word[BH_FRONT_GROUP]; /* address */
    uint64_t ticket
        [BH_FRONT_GROUP]; /* the word's first, and what the key's is when it is ready, as in a mark */
    uint64_t slot[BH_FRONT_GROUP];  /* of that ticket */
    uint64_t fresh[BH_FRONT_GROUP]; /* tickets of the line, as met */
} BH_ST(words);

/* claim_fresh_ticket for keys of a group whose first fresh ticket is in the first word of their path, so that no bound need be raised. There
 * is room for all. (A function of its own: gcc would have no registers left for the loop.) */
BH_FN_RARE void BH_ST(claim_in_words)(BH_ST(front_state) * f, const BH_ST(words) * words,
                                      const uint32_t *names, uint32_t keys)
{
    const uint32_t before = f->visits.claims, hints = f->slice.hints;
    const bh_asks how = f->asks_slots;
    uint32_t claims = before;

    for (; keys; keys &= keys - 1) {
        const uint32_t i = bh_first(keys), met = bh_first64(words->fresh[i]);
        unsigned char *const at = bh_st_at(words->word[i]);
        const uint64_t taken = bh_st_ready_of(words->ticket + i) - 1, word = bh_load64(at);

        if ((word >> met * 8 & 255) || !bh_swap_in64(hints, at, word, word + (taken << met * 8)))
            BH_ST(leave)(f, names[i]);
        else
            BH_ST(put_claim)
        (&f->visits, claims++, words->slot[i] + (met << BH_ST_SHIFT), words->ticket[i] + met,
         names[i], how);
    }
    f->visits.claims = claims;
    f->slice.room -= claims - before;
    f->slice.inserted += claims - before;
}

/* A free ticket that a key could claim. */
typedef struct BH_ST(hole) {
    uint64_t at;    /* its address; 0: there is none */
    uint32_t steps; /* words of the path before its own */
    uint32_t was;   /* fresh or erased */
} BH_ST(hole);

/* The `met`-th ticket of a line, before which `lines` lines are, is free. */
BH_FN void BH_ST(set_hole)(BH_ST(hole) * hole, uint64_t line, uint32_t lines, uint64_t first,
                           uint32_t met, uint64_t erased)
{
    hole->at = line + (met + first) % BH_ST_LINE;
    hole->steps = lines * BH_ST_WORDS + met / 8;
    hole->was = erased >> met & 1 ? BH_ST_ERASED : 0;
}

/* Whether one of the tickets `set` of a line, as met, has a slot that holds the key. */
BH_FN int BH_ST(have_key)(const bh_st_part *part, uint64_t line, uint64_t set, uint32_t first,
                          BH_KEY key)
{
    for (; set; set &= set - 1) {
        const uint64_t at = line + (bh_first64(set) + first) % BH_ST_LINE;

        if (BH_LOAD_KEY(bh_st_at(part->slots + ((at - part->board) << BH_ST_SHIFT))) == key)
            return 1;
    }
    return 0;
}

/* Once keys have been erased, with the key's lock held: looks at the whole path again, and at the slots of its tickets, which are
 * in a cache. Finds the first free ticket. Answers 0 where the key is there now, or the path is very long. */
BH_FN_RARE int BH_ST(find_hole)(const BH_ST(front_state) * f, uint32_t name, BH_ST(hole) * hole)
{
    const bh_st_geometry *const g = f->geometry;
    const BH_KEY key = BH_ST(key_of)(f, name);
    const bh_hash h = bh_hash_key(key, &g->seed);
    const bh_st_part *const part = bh_st_part_of(g, &h);
    const uint32_t first = h.two % BH_ST_WORDS * 8, ready = bh_st_ready(g, &h);
    uint64_t unit = bh_hash_range(h.one, part->units);
    const uint32_t words = bh_load8(bh_st_at(part->bounds + unit));
    uint32_t lines;
    int ended = 0;

    hole->at = 0;
    for (lines = 0; lines < BH_ST_FRONT_LINES && lines < part->units; lines++) {
        const uint64_t line = part->board + unit * BH_ST_LINE;
        const bh_line board = bh_line_load(bh_st_at(line));
        const uint64_t fresh = bh_st_as_met(bh_line_match8(board, 0), first);
        const uint64_t erased = bh_st_as_met(bh_line_match8(board, BH_ST_ERASED), first);
        uint64_t ends, path = bh_st_on_path(fresh, 1, words - lines * BH_ST_WORDS, &ends), free;

        path = ended ? 0 : path;
        if (BH_ST(have_key)(part, line, bh_st_as_met(bh_line_match8(board, ready), first) & path,
                            first, key))
            return 0;
        ended |= ends != 0;
        free = erased & path;
        if (!free && ended)
            free = fresh | erased;
        if (!hole->at && free)
            BH_ST(set_hole)(hole, line, lines, first, bh_first64(free), erased);
        if (ended && hole->at)
            return 1;
        unit = bh_st_next_unit(part, unit, &h);
    }
    return 0;
}

/* The same where the path is one line without a ticket of the key's, and the line has a free ticket: answers 0 where that is not
 * so. */
BH_FN int BH_ST(find_hole_in_line)(const BH_ST(ending) * e, BH_ST(hole) * hole)
{
    const bh_line board = bh_line_load(bh_st_at(e->line));
    const uint32_t first = e->mark % BH_ST_LINE;
    const uint64_t fresh = bh_st_as_met(bh_line_match8(board, 0), first);
    const uint64_t erased = bh_st_as_met(bh_line_match8(board, BH_ST_ERASED), first);
    const uint64_t same = bh_st_as_met(bh_line_match8(board, bh_st_ticket_of(e->mark)), first);
    uint64_t ends;
    const uint64_t path = bh_st_on_path(fresh, 1, bh_load8(bh_st_at(e->bound)), &ends);
    const uint64_t free = erased & path ? erased & path : fresh | erased;

    if (!ends || (same & path) || !free)
        return 0;
    BH_ST(set_hole)(hole, e->line, 0, first, bh_first64(free), erased);
    return 1;
}

/* Once keys have been erased: claims the first free ticket of a key's path with the key's lock held. Answers whether the key has
 * got a ticket; the lock is held until the pair has been written. Where there are few locks that is at once: a list of keys
 * would hold many of them, and refuse each other. */
BH_FN int BH_ST(claim_with_lock)(BH_ST(front_state) * f, uint32_t kind, const BH_ST(ending) * e,
                                 int at_once)
{
    unsigned char *const lock = bh_st_at(e->lock);
    BH_ST(hole) hole;

    if (!f->slice.room || !bh_st_lock(f->slice.hints, lock))
        return 0;
    if (((bh_st_lines_of(e->mark) || !BH_ST(find_hole_in_line)(e, &hole)) &&
         !BH_ST(find_hole)(f, e->name, &hole)) ||
        !BH_ST(claim_ticket)(f, e, e->bound, hole.at, hole.steps, hole.was)) {
        bh_st_unlock(lock);
        return 0;
    }
    BH_ST(take_slot)
    (f, kind, e, hole.at, 1, at_once || f->geometry->lock_mask + 1 < BH_ST_LOCKS_MANY);
    return 1;
}

/* A key that is to be inserted has come to the end of its path, in a line where `fresh` tickets were fresh, as met. */
BH_FN void BH_ST(insert_at_end)(BH_ST(front_state) * f, uint32_t kind, const BH_ST(ending) * e,
                                uint64_t fresh, int turnover, int at_once)
{
    if (turnover ? !BH_ST(claim_with_lock)(f, kind, e, at_once)
                 : !BH_ST(claim_fresh_ticket)(f, kind, e, bh_first64(fresh), at_once))
        BH_ST(leave)(f, e->name);
}

/* The same for keys of a group. */
BH_FN void BH_ST(insert_ended)(BH_ST(front_state) * f, uint32_t kind, const BH_ST(group) * group,
                               const uint64_t *fresh, uint32_t keys, int turnover)
{
    uint32_t each;

    /* The lines of the locks: other threads have had them since. */
    for (each = turnover ? keys : 0; each; each &= each - 1)
        bh_bring_to_write(bh_st_at(bh_st_lock_at(f->geometry, group->two[bh_first(each)])));
    for (; keys; keys &= keys - 1) {
        const uint32_t i = bh_first(keys);
        BH_ST(ending) e;

        e.line = group->line[i];
        e.mark = group->mark[i];
        e.origin = f->geometry->parts == 1 ? f->origin : group->origin[i];
        e.name = group->name[i];
        if (turnover) {
            e.bound = group->bound[i];
            e.lock = bh_st_lock_at(f->geometry, group->two[i]);
        }
        BH_ST(insert_at_end)(f, kind, &e, fresh[i], turnover, 0);
    }
}

/* The same once keys have been erased. A function of its own, like claim_in_words. */
BH_FN_RARE void BH_ST(insert_ended_old)(BH_ST(front_state) * f, uint32_t kind,
                                        const BH_ST(group) * group, const uint64_t *fresh,
                                        uint32_t keys)
{
    BH_ST(insert_ended)(f, kind, group, fresh, keys, 1);
}
