/*
 * Stadium hashing, the front's insertions: how a key that is not there claims a ticket. An include-template that front_board.h
 * includes; see there, and ops.h, which says why no key comes twice.
 */

/* A ticket of a line, the `met`-th on the key's path, which is `was`, fresh or erased, is claimed for the key if its word still
 * is `word`. */
BH_FN int BH_ST(claim_ticket)(BH_ST(front_state) * f, uint64_t line, uint64_t mark, uint32_t met,
                              uint64_t word, uint32_t was)
{
    const uint32_t in = (met + (uint32_t)mark) % BH_ST_LINE, at = in / 8 * 8;

    if (!bh_swap_in64(f->slice.hints, bh_st_at(line + at), word,
                      word + ((uint64_t)(bh_st_ticket_of(mark) - 1 - was) << in % 8 * 8)))
        return 0;
    /* A reader that has seen the slot's last key may not have read its value yet. */
    if (!BH_ST_IS_NARROW && was == BH_ST_ERASED)
        (void)bh_take_in64(f->slice.hints, bh_st_stamp_of(f->geometry, line + at), 1);
    f->slice.room--;
    return 1;
}

/* The address of the bound of a key's path, of which `line` is a line. */
BH_FN uint64_t BH_ST(bound_of)(const BH_ST(front_state) * f, uint64_t line, uint64_t mark,
                               uint32_t name)
{
    const bh_st_part *const part = &f->geometry->part[bh_st_marked(mark)];

    if (!bh_st_lines_of(mark))
        return part->bounds + (line - part->board) / BH_ST_LINE;
    return part->bounds +
           bh_hash_range(bh_hash_key(BH_ST(key_of)(f, name), &f->geometry->seed).one, part->units);
}

/* While no key has been erased: the `met`-th ticket of the line on the key's path was the first fresh one, and none before
 * was the key's, ready or claimed. Answers whether the key has got that ticket. The tickets of a word are claimed in their
 * order: so if this one is still fresh, none of the word has been claimed since. */
BH_FN int BH_ST(claim_fresh_ticket)(BH_ST(front_state) * f, uint64_t line, uint64_t mark,
                                    uint32_t met, uint32_t name)
{
    const uint32_t in = (met + (uint32_t)mark) % BH_ST_LINE;
    const uint32_t steps = bh_st_lines_of(mark) * BH_ST_WORDS + met / 8;
    const uint64_t word = bh_load64(bh_st_at(line + in / 8 * 8));

    if (!f->slice.room || (word >> in % 8 * 8 & 255) ||
        (steps && !bh_st_raise_at(f->slice.hints, BH_ST(bound_of)(f, line, mark, name), steps)))
        return 0;
    if (!BH_ST(claim_ticket)(f, line, mark, met, word, 0))
        return 0;
    BH_ST(add_visit)(f, 1ull << met, line | BH_ST_CLAIMED, mark, name);
    return 1;
}

/* A free ticket that a key could claim. */
typedef struct BH_ST(hole) {
    uint64_t bound; /* address of its path's */
    uint64_t line;  /* 0: there is none */
    uint32_t met;   /* the number of the ticket, as met */
    uint32_t steps;
    uint32_t was; /* fresh or erased */
} BH_ST(hole);

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
BH_FN int BH_ST(find_hole)(const bh_st_geometry *g, const bh_hash *h, BH_KEY key,
                           BH_ST(hole) * hole)
{
    const bh_st_part *const part = bh_st_part_of(g, h);
    const uint32_t first = h->two % BH_ST_WORDS * 8, ready = bh_st_ready(g, h);
    uint64_t unit = bh_hash_range(h->one, part->units);
    const uint64_t bound = part->bounds + unit;
    const uint32_t words = bh_load8(bh_st_at(bound));
    uint32_t lines;
    int ended = 0;

    hole->bound = bound;
    hole->line = 0;
    hole->met = hole->steps = hole->was = 0;
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
        if (!hole->line && free) {
            hole->line = line;
            hole->met = bh_first64(free);
            hole->steps = lines * BH_ST_WORDS + hole->met / 8;
            hole->was = erased >> hole->met & 1 ? BH_ST_ERASED : 0;
        }
        if (ended && hole->line)
            return 1;
        unit = bh_st_next_unit(part, unit, h);
    }
    return 0;
}

/* Once keys have been erased: claims the first free ticket of a key's path with the key's lock held. Answers whether the key has
 * got a ticket; then the lock is held until the pair has been written. Where there are few locks that is at once: a list of keys
 * would hold many of them, and refuse each other. */
BH_FN_RARE int BH_ST(claim_with_lock)(BH_ST(front_state) * f, uint32_t kind, uint64_t mark,
                                      uint32_t name)
{
    const bh_st_geometry *const g = f->geometry;
    const BH_KEY key = BH_ST(key_of)(f, name);
    const bh_hash h = bh_hash_key(key, &g->seed);
    unsigned char *const lock = bh_st_lock_of(g, &h);
    BH_ST(hole) hole;
    uint64_t at, word;
    uint32_t in;

    if (!f->slice.room || !bh_st_lock(f->slice.hints, lock))
        return 0;
    if (!BH_ST(find_hole)(g, &h, key, &hole)) {
        bh_st_unlock(lock);
        return 0;
    }
    in = (hole.met + (uint32_t)mark) % BH_ST_LINE;
    at = hole.line + in;
    word = bh_load64(bh_st_at(hole.line + in / 8 * 8));
    if ((word >> in % 8 * 8 & 255) != hole.was ||
        (hole.steps && !bh_st_raise_at(f->slice.hints, hole.bound, hole.steps)) ||
        !BH_ST(claim_ticket)(f, hole.line, mark, hole.met, word, hole.was)) {
        bh_st_unlock(lock);
        return 0;
    }
    if (g->lock_mask + 1 < BH_ST_LOCKS_MANY) {
        const uint64_t slot = BH_ST(origin_of)(&g->part[bh_st_marked(mark)]) + (at << BH_ST_SHIFT);
        const uint64_t ticket = at | (uint64_t)bh_st_ticket_of(mark) << BH_ST_TICKET_SHIFT;

        BH_ST(put_pair)(f, kind, slot, ticket, name, 1);
    } else {
        BH_ST(add_visit)(f, 1ull << hole.met, hole.line | BH_ST_CLAIMED, mark, name);
    }
    return 1;
}

/* A key that is to be inserted has come to the end of its path, in a line, where `fresh` tickets were fresh, as met. */
BH_FN void BH_ST(insert_at_end)(BH_ST(front_state) * f, uint32_t kind, uint64_t line, uint64_t mark,
                                uint64_t fresh, uint32_t name, int turnover)
{
    if (turnover ? !BH_ST(claim_with_lock)(f, kind, mark, name)
                 : !BH_ST(claim_fresh_ticket)(f, line, mark, bh_first64(fresh), name))
        BH_ST(leave)(f, name);
}
