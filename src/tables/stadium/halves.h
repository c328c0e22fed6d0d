/*
 * Stadium hashing, half a line of the board at a time, where that is what a target reads at once (a GPU): with
 * BH_HINT_AT_ONCE, for operations that do not insert; on paths by bucket with tickets of 8 bits, which are the defaults.
 * An include-template that ops.h includes.
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
 * An operation keeps in `left` the tickets whose slots are to be looked at, and in `seen` whether its path ends in this
 * half line; path.steps is that of the half line's first word.
 */

#ifndef BH_TABLES_STADIUM_HALVES_H
#define BH_TABLES_STADIUM_HALVES_H

#define BH_ST_HALF 4u /* words */

/* Whether operations of a slice that do not insert go by halves; the first part is a constant. */
#define BH_ST_BY_HALVES(slice)                                                                     \
    (BH_ST_REGION == BH_ST_HALF * 8 && BH_ST_WORDS == 2 * BH_ST_HALF &&                            \
     ((slice)->hints & BH_HINT_AT_ONCE) != 0)

/* The tickets of a half line that are a number, an odd one above 1. With BH_QUIET a shorter test for bytes that are 0 is
 * enough: behind a byte that is 0 it also takes a 1 for 0, which here would be the even number below `ticket`. That is a
 * claimed ticket, and with BH_QUIET none is claimed. */
BH_FN uint32_t bh_st_half_alike(const uint64_t *words, uint32_t ticket)
{
    const uint32_t all = 0x01010101, tickets = ticket * all, lower = 0x7f * all;
    uint32_t set = 0, k;

    for (k = 0; k < 2 * BH_ST_HALF; k++) {
        const uint32_t other = (uint32_t)(words[k / 2] >> k % 2 * 32) ^ tickets;
        const uint32_t same = BH_QUIET ? (other - all) & ~other & ~lower
                                       : ~(((other & lower) + lower) | other | lower);

        set |= same >> (7 - k);
    }
    return set;
}

/* The fresh ones. They alone are even where no ticket is claimed. */
BH_FN uint32_t bh_st_half_fresh(const uint64_t *words)
{
    const uint32_t all = 0x01010101, lower = 0x7f * all;
    uint32_t set = 0, k;

    for (k = 0; k < 2 * BH_ST_HALF; k++) {
        const uint32_t four = (uint32_t)(words[k / 2] >> k % 2 * 32);

        set |=
            BH_QUIET ? (~four & all) << k : ~(((four & lower) + lower) | four | lower) >> (7 - k);
    }
    return set;
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
    *next = bh_st_region(BH_ST(slot)(g, op, op->bit));
    return BH_NEXT;
}

/* The half line at hand has been looked at in vain: goes to the next one, if the path does not end. */
BH_FN bh_answer BH_ST(half_on)(const bh_st_geometry *g, BH_ST(op) * op, bh_region *next)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);

    if (op->seen)
        return BH_ST(done)(op, BH_MISSING);
    op->path.steps += BH_ST_HALF;
    if (op->path.steps % BH_ST_WORDS == 0 &&
        !bh_st_next_line(part, &op->path, &op->hash, part->units * BH_ST_WORDS))
        return BH_ST(done)(op, BH_MISSING);
    op->word = part->board +
               (op->path.unit * BH_ST_WORDS + bh_st_within(op->hash.two, op->path.steps)) * 8;
    return BH_ST(to_board)(op, next);
}

/* How many words of the half line at hand, none of which has a fresh ticket, are before the one at which the bound
 * ends the path; BH_ST_HALF where it does not. */
BH_FN uint32_t BH_ST(half_bound)(const bh_st_geometry *g, const BH_ST(op) * op)
{
    const bh_st_part *part = bh_st_part_of(g, &op->hash);
    const uint64_t home =
        op->path.steps < BH_ST_WORDS ? op->path.unit : bh_hash_range(op->hash.one, part->units);
    const uint32_t bound = bh_st_bound(part, home);

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
    steps = bh_st_half_steps(bh_st_half_fresh(words), start);
    if (steps == BH_ST_HALF)
        steps = BH_ST(half_bound)(g, op);
    op->seen = steps < BH_ST_HALF;
    op->left = bh_st_half_alike(words, op->ready) & bh_st_half_until(steps, start);
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
        if (!bh_st_lock(bh_st_lock_of(g, &op->hash)))
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
