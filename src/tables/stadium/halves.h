/*
 * Stadium hashing, half a line of the board at a time, where that is what a target reads at once (a GPU): with
 * BH_HINT_AT_ONCE, on paths by bucket with tickets of 8 bits, which are the defaults. An include-template that ops.h
 * includes.
 *
 * flight.h looks at one word after the other. The 32 lanes of a warp then take as many turns as the one with the most
 * words, each turn a hundred instructions. Here the 32 tickets of the four words are compared together, and no lane
 * takes another way than its neighbours. A set of these tickets is a number of 32 bits: bit 8 j + k is ticket j of the
 * k-th four.
 *
 *     tickets      [ 0 1 2 3 | 4 5 6 7 ][ 0 1 2 3 | 4 5 6 7 ][ ...    words of the half line
 *     fours    k       0          1          2          3
 *
 * A path goes through the four words from any of them on, and ends in the first that has a fresh ticket. So the key
 * is behind one of the tickets with its info in the words up to there, or it is absent. In which order these tickets'
 * slots are looked at does not matter.
 *
 * An operation keeps in `left` the tickets whose slots are to be looked at, and in `ends` whether its path ends in this
 * half line; path.steps is that of the half line's first word.
 *
 * INSERTIONS WITHOUT LOCKS (step_claim). Nothing else runs meanwhile than elements that insert. Each goes to the end of its
 * key's path, and then claims the first free ticket that it has met, if the word of that ticket still is as it was: `hole`,
 * `seen`. If no ticket was free it goes on to the first that is, and goes on looking for its key.
 *
 * Why no key comes twice. Tickets only cease to be free. Let elements A and B bring one key; A claims ticket a, and B
 * would claim ticket b later. Where is b's word on the path?
 *
 *   before a's word     Nowhere there: A had found no free ticket before a.
 *   a's word            If B saw the word before A's claim, the word has changed, and B's claim fails. If B saw it
 *                       after A's claim, it saw the ticket with its key's info: B waits until that is ready, and
 *                       finds the key.
 *   behind a's word     B has come by a's word. Before A's claim it would have found a free, and b would be a.
 *                       After A's claim B finds the key, as above.
 *
 * A bound may be read as it was before the kernel: keys that were there before lie within that one, and an equal key
 * that has been inserted since is met as above. If others erased at the same time, tickets would become free: then
 * insertions need locks.
 */

#ifndef BH_TABLES_STADIUM_HALVES_H
#define BH_TABLES_STADIUM_HALVES_H

#define BH_ST_HALF 4u /* words */

/* Whether operations of a slice that do not insert go by halves; the first part is a constant. */
#define BH_ST_BY_HALVES(slice)                                                                     \
    (BH_ST_REGION == BH_ST_HALF * 8 && BH_ST_WORDS == 2 * BH_ST_HALF &&                            \
     ((slice)->hints & BH_HINT_AT_ONCE) != 0)

/* The tickets that there are: all, but in a build for tests that has fewer of a word. */
#if BH_ST_GROUP_MOST < 4
#define BH_ST_HALF_ALL (0x55555555u >> 8 * (4 - BH_ST_GROUP_MOST))
#else
#define BH_ST_HALF_ALL 0xffffffffu
#endif

/* The tickets of a half line that are a number. Where none is `claimed` a shorter test for bytes that are 0 is
 * enough: behind a byte that is 0 it also takes a 1 for 0, which here would be the even number below `ticket`, an odd one
 * above 1. That is a claimed ticket. */
BH_FN uint32_t bh_st_half_alike(const uint64_t *words, uint32_t ticket, int claimed)
{
    const uint32_t all = 0x01010101, tickets = ticket * all, lower = 0x7f * all;
    uint32_t set = 0, k;

    for (k = 0; k < 2 * BH_ST_HALF; k++) {
        const uint32_t other = (uint32_t)(words[k / 2] >> k % 2 * 32) ^ tickets;
        const uint32_t same = claimed ? ~(((other & lower) + lower) | other | lower)
                                      : (other - all) & ~other & ~lower;

        set |= same >> (7 - k);
    }
    return set & BH_ST_HALF_ALL;
}

/* The fresh ones. They alone are even where none is `claimed`. */
BH_FN uint32_t bh_st_half_fresh(const uint64_t *words, int claimed)
{
    const uint32_t all = 0x01010101, lower = 0x7f * all;
    uint32_t set = 0, k;

    for (k = 0; k < 2 * BH_ST_HALF; k++) {
        const uint32_t four = (uint32_t)(words[k / 2] >> k % 2 * 32);

        set |= claimed ? ~(((four & lower) + lower) | four | lower) >> (7 - k) : (~four & all) << k;
    }
    return set & BH_ST_HALF_ALL;
}

/* How many words of a path from word `start` on are before the first one that has a ticket of a set; BH_ST_HALF where
 * the set is empty. */
BH_FN uint32_t bh_st_half_steps(uint32_t set, uint32_t start)
{
    uint32_t words = set | set >> 16;

    words |= words >> 8;
    words = (words | words >> 1) & 0x55;
    words = (words << 8 | words) >> 2 * start & 0x55;
    return words ? bh_first(words) / 2 : BH_ST_HALF;
}

/* The set of all tickets of the first words of a path, `steps` and one more, as far as there are so many. */
BH_FN uint32_t bh_st_half_until(uint32_t steps, uint32_t start)
{
    const uint32_t words = (((4u << 2 * steps) - 1) & 255) << 2 * start;

    return ((words | words >> 8) & 255) * 0x01010101u;
}

#endif

/* Goes to the first slot that is left to be looked at. */
BH_FN bh_answer BH_ST(half_slot)(const bh_st_geometry *g, BH_ST(op) * op, bh_region *next)
{
    const uint32_t first = bh_first((uint32_t)op->left), four = first % 8;

    op->word = bh_st_region(op->word).offset + four / 2 * 8;
    op->bit = (uint8_t)(four % 2 * 32 + first / 8 * 8);
    op->compares = 1;
    *next = BH_ST(slot_region)(g, op);
    return BH_NEXT;
}

/* Goes to the path's next half line; answers 0 where there is none. */
BH_FN int BH_ST(half_next)(const bh_st_geometry *g, BH_ST(op) * op)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);

    op->path.steps += BH_ST_HALF;
    if (op->path.steps % BH_ST_WORDS == 0 &&
        !bh_st_next_line(part, &op->path, &op->hash, part->units * BH_ST_WORDS))
        return 0;
    op->word = part->board +
               (op->path.unit * BH_ST_WORDS + bh_st_within(op->hash.two, op->path.steps)) * 8;
    return 1;
}

/* The half line at hand has been looked at in vain: goes to the next one, if the path does not end. */
BH_FN bh_answer BH_ST(half_on)(const bh_st_geometry *g, BH_ST(op) * op, bh_region *next)
{
    if (op->ends || !BH_ST(half_next)(g, op))
        return BH_ST(done)(op, BH_MISSING);
    return BH_ST(to_board)(op, next);
}

/* The line in which the path begins. */
BH_FN uint64_t BH_ST(half_home)(const bh_st_part *part, const BH_ST(op) * op)
{
    return op->path.steps < BH_ST_WORDS ? op->path.unit : bh_hash_range(op->hash.one, part->units);
}

/* How many words of the half line at hand, none of which has a fresh ticket, are before the one at which the bound
 * ends the path; BH_ST_HALF where it does not. */
BH_FN uint32_t BH_ST(half_bound)(const bh_st_geometry *g, const BH_ST(op) * op)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    const uint32_t bound = bh_st_bound(part, BH_ST(half_home)(part, op));

    if (bound >= op->path.steps + BH_ST_HALF || bound == BH_ST_UNBOUNDED)
        return BH_ST_HALF;
    return bound > op->path.steps ? (uint32_t)(bound - op->path.steps) : 0;
}

/* A step on the board: `at` is the half line, or a copy of it. */
BH_FN bh_answer BH_ST(half_look)(const bh_st_geometry *g, BH_ST(op) * op, uint64_t at,
                                 bh_region *next)
{
    const uint32_t start = (uint32_t)op->hash.two % BH_ST_HALF;
    uint64_t words[BH_ST_HALF];
    uint32_t steps, i;

    for (i = 0; i < BH_ST_HALF; i++)
        words[i] = bh_load64(bh_st_at(at + i * 8));
    steps = bh_st_half_steps(bh_st_half_fresh(words, !BH_QUIET), start);
    if (steps == BH_ST_HALF)
        steps = BH_ST(half_bound)(g, op);
    op->ends = steps < BH_ST_HALF;
    op->left = bh_st_half_alike(words, op->ready, !BH_QUIET) & bh_st_half_until(steps, start);
    return op->left ? BH_ST(half_slot)(g, op, next) : BH_ST(half_on)(g, op, next);
}

/* A step, on the board or on a slot. */
BH_FN bh_answer BH_ST(half_step)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                                 bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    uint64_t slot;

    if (!op->compares)
        return BH_ST(half_look)(g, op, at, next);
    slot = at + BH_ST(slot)(g, op, op->bit) % BH_ST_REGION;
    if (BH_LOAD_KEY(bh_st_at(slot)) == op->key)
        return BH_ST(met)(slice, op, kind, slot, next);
    op->left &= op->left - 1;
    return op->left ? BH_ST(half_slot)(g, op, next) : BH_ST(half_on)(g, op, next);
}

/* The half line at hand does not have the key: claims the ticket of the hole, or goes to the next half line. */
BH_FN bh_answer BH_ST(half_claim)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const bh_st_part *part = bh_st_part_of(g, &op->hash);

    if (op->ends && !slice->room)
        return BH_ST(stall)(slice, BH_REASON_ROOM);
    if (!op->ends || !op->hole) {
        if (BH_ST(half_next)(g, op))
            return BH_ST(to_board)(op, next);
        if (!op->hole || !slice->room)
            return BH_ST(stall)(slice, op->hole ? BH_REASON_ROOM : BH_ST_REASON_FULL);
        op->ends = 0; /* the whole part was the path */
    }
    /* Before anyone can look for the key. Others raise bounds beside it: then the half line is looked at once more. */
    if (op->hole_steps &&
        !bh_st_raise(slice->hints, part, BH_ST(half_home)(part, op), op->hole_steps)) {
        if (op->ends)
            return BH_ST(to_board)(op, next);
        *next = BH_ST(restart)(g, op);
        return BH_NEXT;
    }
    op->state = BH_ST_ALONE;
    if (BH_ST(claim)(slice, op, kind, op->hole, op->seen, op->hole_bit, next) == BH_DONE)
        return BH_DONE;
    *next = BH_ST(restart)(g, op);
    return BH_NEXT;
}

/* Notes the first free ticket of the path, if it is in the half line at hand, at `at`; `free` has those up to where the
 * path ends. */
BH_FN void BH_ST(half_hole)(BH_ST(op) * op, const uint64_t *words, uint32_t free, uint32_t start)
{
    const uint32_t steps = bh_st_half_steps(free, start), number = (start + steps) % BH_ST_HALF;
    const uint64_t all = op->path.steps + steps;
    /* Not words[number]: that would take them from registers to memory. */
    const uint64_t lower = number & 1 ? words[1] : words[0];
    const uint64_t upper = number & 1 ? words[3] : words[2];
    uint32_t of_word;

    if (op->hole || !free)
        return;
    op->seen = number & 2 ? upper : lower;
    op->hole = bh_st_region(op->word).offset + number * 8;
    op->hole_steps = (uint8_t)(all < BH_ST_UNBOUNDED ? all : BH_ST_UNBOUNDED);
    of_word = bh_first(free >> 2 * number & 0x03030303u);
    op->hole_bit = (uint8_t)(of_word % 8 * 32 + of_word / 8 * 8);
}

/* A step of an insertion on the board. */
BH_FN bh_answer BH_ST(half_insert)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                                   bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const uint32_t start = (uint32_t)op->hash.two % BH_ST_HALF;
    uint64_t words[BH_ST_HALF];
    uint32_t fresh, steps, until, i;

    for (i = 0; i < BH_ST_HALF; i++)
        words[i] = bh_load64(bh_st_at(at + i * 8));
    fresh = bh_st_half_fresh(words, 1);
    steps = bh_st_half_steps(fresh, start);
    until = bh_st_half_until(steps, start);
    if (bh_st_half_alike(words, op->ready - 1u, 1) & until)
        return BH_RETRY; /* it may be this key that is being inserted */
    if (g->turnover)
        fresh |= bh_st_half_alike(words, BH_ST_ERASED, 1);
    BH_ST(half_hole)(op, words, fresh & until, start);
    op->ends = steps < BH_ST_HALF || (g->turnover && BH_ST(half_bound)(g, op) < BH_ST_HALF);
    op->left = bh_st_half_alike(words, op->ready, 1) & until;
    return op->left ? BH_ST(half_slot)(g, op, next) : BH_ST(half_claim)(slice, op, kind, next);
}

/* One step of an insertion with BH_HINT_AT_ONCE, in a slice that is alike and inserts. Answers STALL, when nothing has been
 * done: without a reason for what needs a lock. */
BH_FN bh_answer BH_ST(step_claim)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                                  bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    uint64_t slot;

    if (!op->compares)
        return BH_ST(half_insert)(slice, op, kind, at, next);
    slot = at + BH_ST(slot)(g, op, op->bit) % BH_ST_REGION;
    if (BH_LOAD_KEY(bh_st_at(slot)) == op->key) {
        if (!BH_OP_KEEPS(kind) && !BH_ST(is_alike)(slice, kind))
            return BH_STALL;
        return BH_ST(met)(slice, op, kind, slot, next);
    }
    op->left &= op->left - 1;
    return op->left ? BH_ST(half_slot)(g, op, next) : BH_ST(half_claim)(slice, op, kind, next);
}

/*
 * One step of an operation on the region it asked for; `at` is that region, or a copy of it.
 *
 * The first step of an operation never answers NEXT with the lock held or a ticket claimed, but on cores,
 * where its slot is then brought. So the lanes of a GPU, which look at many keys first and go on with those
 * that did not end (cuda/device/kernels.h), hold nothing while they wait for each other.
 */
BH_FN bh_answer BH_ST(step)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                            bh_region *next)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    if (!BH_OP_INSERTS(kind) && BH_ST_BY_HALVES(slice))
        return BH_ST(half_step)(slice, op, kind, at, next);
    if (op->compares)
        return BH_ST(compare)(slice, op, kind, at, next);
    if (BH_OP_INSERTS(kind) && op->state == BH_ST_PUT)
        return BH_ST(put)(slice, op, kind);
    if (BH_OP_INSERTS(kind) && op->state == BH_ST_LOCK) {
        if (!bh_st_lock(slice->hints, bh_st_lock_of(g, &op->hash)))
            return BH_RETRY;
        op->state = BH_ST_LOCKED;
    }
    return BH_ST(look)(slice, op, kind, at, next);
}

/* One step of a change, in a slice that is alike, while nothing is inserted: acts on the key if it is there. Answers
 * STALL, when nothing has been done, for an absent key that is to be inserted, and for one whose value is to be joined
 * to where that needs locks. (Policies are told of erasures before, so these do not stall.) */
BH_FN bh_answer BH_ST(step_present)(bh__slice *slice, BH_ST(op) * op, uint32_t kind, uint64_t at,
                                    bh_region *next)
{
    bh_answer answer;

    if (!BH_ST(is_alike)(slice, kind))
        return BH_STALL;
    if (BH_ST_BY_HALVES(slice))
        answer = BH_ST(half_step)(slice, op, kind, at, next);
    else if (op->compares)
        answer = BH_ST(compare)(slice, op, kind, at, next);
    else
        answer = BH_ST(look)(slice, op, BH_FIND, at, next);
    return answer == BH_DONE && op->outcome == BH_MISSING && BH_OP_INSERTS(kind) ? BH_STALL
                                                                                 : answer;
}
