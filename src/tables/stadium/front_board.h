/*
 * Stadium hashing: many lookups at a time, without branches. An include-template: see instance.h.
 *
 * Whether a word of the board has a ticket of the key's, and whether a slot has the key, no processor can predict,
 * and in the window of the schedule each is a branch. The *front* takes the keys of a slice in blocks, and each
 * block through three rounds. A key goes on from one list to the next or not: its name is written to the end of the
 * list in any case, and that end moves on only if the key does.
 *
 *     aim       hash; ask for the line of the board                                    all keys
 *     look      all 64 tickets of the line at once: is one the key's, before the path   all keys
 *               ends at a fresh ticket? ask for its slot                               candidates
 *     compare   slot and key; look at the ticket again                                 candidates
 *
 *     block 0   aim  look        compare
 *     block 1        aim   look           compare
 *     block 2              aim   look            compare
 *
 * The keys of a slice follow each other, so vectors hash them for their first line. Keys whose line is full, and has none
 * of their tickets, go through the same with the next line of their paths. The few that are then not decided are left to the
 * window, from their beginning.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_STADIUM_FRONT_BOARD_H
#define BH_TABLES_STADIUM_FRONT_BOARD_H

/* Keys of a block: so many lines are on their way at a time, of the board and of slots. */
#define BH_ST_BLOCK 32u

/* Lines of a path that the front looks at; a line that fewer keys than so many want is left to the window. */
#define BH_ST_FRONT_LINES 4u
#define BH_ST_FRONT_LEAST 16u

/* Tickets, and bytes, of a line of the board. */
#define BH_ST_LINE 64u

/* A word whose tickets are all 1. */
#define BH_ST_ONES 0x0101010101010101ull

/* A set of tickets of a line, a bit for each, in the order in which a path meets their words. */
BH_FN uint64_t bh_st_as_met(uint64_t set, uint32_t start)
{
    return set >> start * 8 | set << (0 - start * 8) % 64;
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_IS_NARROW BH_ST_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_ST_IS_PAIR (BH_ST_IS_NARROW && BH_VALUE_BYTES == 4)
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

/* The keys of a block on their way to the board. */
typedef struct BH_ST(aims) {
    const bh_st_part *part[BH_ST_BLOCK];
    uint64_t home[BH_ST_BLOCK];    /* the number of the line in which the path begins */
    uint64_t line[BH_ST_BLOCK];    /* that of this one */
    uint64_t start[BH_ST_BLOCK];   /* the word in it with which the path begins */
    uint64_t tickets[BH_ST_BLOCK]; /* a word whose tickets are all as the key's */
} BH_ST(aims);

/* Keys of a block on their way to slots. */
typedef struct BH_ST(candidates) {
    /* The tickets of the line that are the key's, in the order in which its path meets them; */
    uint64_t tickets[BH_ST_BLOCK];
    uint64_t ends[BH_ST_BLOCK];   /* not 0: the path ends in this line */
    uint64_t ticket[BH_ST_BLOCK]; /* address of the word of the first of the tickets, */
    uint64_t bit[BH_ST_BLOCK];    /* and where it begins there */
    uint64_t slot[BH_ST_BLOCK];   /* address */
    uint16_t of[BH_ST_BLOCK];     /* the aim's number in the block */
    uint16_t at[BH_ST_BLOCK];     /* element of the slice */
    uint8_t ready[BH_ST_BLOCK];
} BH_ST(candidates);

/* Asks for what the i-th key's look at the board needs. */
BH_FN void BH_ST(ask_for_line)(const BH_ST(aims) * aims, uint32_t i, int turnover, int far)
{
    const void *line = bh_st_at(aims->part[i]->board + aims->line[i] * BH_ST_LINE);

    if (far)
        bh_bring_far(line);
    else
        bh_bring(line);
    if (turnover)
        bh_bring(bh_st_at(aims->part[i]->bounds + aims->home[i]));
}

/* Aims at the line-th line of a key's path. */
BH_FN void BH_ST(take_aim)(const bh_st_geometry *g, BH_KEY key, uint32_t line, int turnover,
                           int far, BH_ST(aims) * aims, uint32_t i)
{
    const bh_hash h = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &h);

    aims->part[i] = part;
    aims->home[i] = aims->line[i] = bh_hash_range(h.one, part->units);
    if (line)
        aims->line[i] =
            (aims->line[i] + line * (1 + bh_hash_range(h.two, part->units - 1))) % part->units;
    aims->start[i] = h.two % BH_ST_WORDS;
    aims->tickets[i] = bh_st_ready(g, &h) * BH_ST_ONES;
    BH_ST(ask_for_line)(aims, i, turnover, far);
}

/* Aims at the first lines of the paths of `size` keys, a multiple of 8, hashed by vectors. What is in a vector here
 * take_aim says of one key. */
BH_FN void BH_ST(take_aims)(const bh_st_geometry *g, const BH_KEY *keys, uint32_t size,
                            int turnover, int far, BH_ST(aims) * aims)
{
    const bh_vec infos = bh_vec_all(g->infos), below16 = bh_vec_all(0xffff);
    uint64_t ones[BH_ST_BLOCK];
    uint32_t i;

    for (i = 0; i < size; i += BH_VEC) {
        const bh_hashes h = bh_hash_keys(BH_LOAD_VECTOR(keys + i), BH_KEY_BYTES, &g->seed);
        const bh_vec info = bh_vec_right(
            bh_vec_multiply32(bh_vec_and(bh_vec_right(h.two, 16), below16), infos), 16);
        const bh_vec ready = bh_vec_add(bh_vec_left(info, 1), bh_vec_all(3));
        const bh_vec four = bh_vec_multiply32(ready, bh_vec_all((uint32_t)BH_ST_ONES));

        bh_vec_store64(ones + i, h.one);
        bh_vec_store64(aims->start + i, bh_vec_and(h.two, bh_vec_all(BH_ST_WORDS - 1)));
        bh_vec_store64(aims->tickets + i, bh_vec_or(four, bh_vec_left(four, 32)));
    }
    for (i = 0; i < size; i++) {
        const bh_hash h = {ones[i], 0};

        aims->part[i] = bh_st_part_of(g, &h);
        aims->home[i] = aims->line[i] = bh_hash_range(h.one, aims->part[i]->units);
        BH_ST(ask_for_line)(aims, i, turnover, far);
    }
}

/* Answers the tickets of the i-th key's line that are the key's, and lie on its path, as met; *ends receives whether the
 * path ends in this line: not 0. */
BH_FN uint64_t BH_ST(look_once)(const BH_ST(aims) * aims, uint32_t i, uint32_t round, int turnover,
                                uint64_t *ends)
{
    const bh_line line = bh_line_load(bh_st_at(aims->part[i]->board + aims->line[i] * BH_ST_LINE));
    const uint32_t start = (uint32_t)aims->start[i];
    const uint64_t fresh = bh_st_as_met(bh_line_match8(line, 0), start);
    const uint64_t same = bh_st_as_met(bh_line_match8(line, (uint8_t)aims->tickets[i]), start);
    /* All tickets up to the first fresh one, or all. The tickets of a word are claimed from the first fresh one on, so
     * behind that there is none of a key. */
    uint64_t path = fresh ^ (fresh - 1);

    *ends = fresh;
    if (turnover) {
        /* Of the words of this line; the bound is not before it. */
        const uint32_t bound = bh_st_bound(aims->part[i], aims->home[i]) - round * BH_ST_WORDS;
        const uint64_t here = bound < BH_ST_WORDS;

        path &= ((2ull << (8 * bound + 7) % 64) - 1) | (here - 1);
        *ends |= here;
    }
    return same & path;
}

/* Says in which slot the k-th candidate may be, which is an element of the slice, and asks for it. */
BH_FN void BH_ST(place_once)(const BH_ST(aims) * aims, uint32_t at, int far, BH_ST(candidates) * c,
                             uint32_t k)
{
    const uint32_t of = c->of[k];
    const bh_st_part *const part = aims->part[of];
    /* As met, the first ticket of the line is that of the word with which the path begins. */
    const uint64_t number = aims->line[of] * BH_ST_LINE +
                            (bh_first64(c->tickets[k]) + aims->start[of] * 8) % BH_ST_LINE;

    c->ticket[k] = part->board + number / 8 * 8;
    c->bit[k] = number % 8 * 8;
    c->slot[k] = part->slots + (number << BH_ST_SHIFT);
    c->ready[k] = (uint8_t)aims->tickets[of];
    c->at[k] = (uint16_t)at;
    if (far)
        bh_bring_far(bh_st_at(c->slot[k]));
    else
        bh_bring(bh_st_at(c->slot[k]));
}

/* Writes the key's outcome and value. Answers whether that decides: the key is in the slot, or it was absent when the
 * slot was read. */
BH_FN uint32_t BH_ST(compare_once)(const bh__slice *slice, const BH_ST(candidates) * c, uint32_t k)
{
    const BH_KEY key = ((const BH_KEY *)slice->keys)[c->at[k]];
    const int answers = BH_VALUE_BYTES && slice->values_out;
    BH_VALUE value = 0;
    uint32_t found, same;

    if (BH_ST_IS_PAIR) {
        const uint64_t pair = bh_load64(bh_st_at(c->slot[k]));

        same = bh_pair_key(pair) == key;
        value = (BH_VALUE)bh_pair_value(pair);
    } else {
        same = BH_LOAD_KEY(bh_st_at(c->slot[k])) == key;
        if (answers)
            value = BH_LOAD_VALUE(bh_st_at(c->slot[k] + BH_ST_VALUE(BH_KEY_BYTES, BH_VALUE_BYTES)));
    }
    found = same & ((uint8_t)(bh_load64(bh_st_at(c->ticket[k])) >> c->bit[k]) == c->ready[k]);
    if (answers) {
        BH_VALUE *answer = (BH_VALUE *)slice->values_out + c->at[k], before = *answer;

        *answer = found ? value : before;
        bh_answer_ahead(slice, answer, BH_VALUE_BYTES, c->at[k]);
    }
    if (slice->outcomes)
        slice->outcomes[c->at[k]] = (uint8_t)(found ? BH_FOUND : BH_MISSING);
    return found | ((c->ends[k] != 0) & (same ^ 1) & !(c->tickets[k] & (c->tickets[k] - 1)));
}

/* One line of the paths of `total` keys. Where `all` is 1 these are the first of the slice, a multiple of 8, and the line is
 * the first. Else the list names them. Writes the names of keys that must go on to the next line to the list, and answers how
 * many; and of those that the window must look up to the places before `rest`, which moves. `all`, `turnover` and `far` are
 * constants. */
BH_FN uint32_t BH_ST(front_line)(const bh__slice *slice, int all, uint32_t line, uint16_t *list,
                                 uint32_t total, int turnover, int far, uint16_t **rest)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    const BH_KEY *keys = (const BH_KEY *)slice->keys;
    BH_ST(aims) aims[2];
    uint16_t names[2][BH_ST_BLOCK];
    BH_ST(candidates) candidates[3];
    const uint32_t blocks = (total + BH_ST_BLOCK - 1) / BH_ST_BLOCK;
    uint32_t counts[3] = {0, 0, 0}, sizes[2] = {0, 0}, left = 0, round, i;
    uint16_t *back = *rest;

    for (round = 0; round < blocks + 3; round++) {
        const uint32_t now = round & 1, last = now ^ 1, first = round * BH_ST_BLOCK;
        /* Candidates of the block before, and of the one that asked for slots two rounds ago. */
        BH_ST(candidates) *const asking = &candidates[(round + 2) % 3];
        BH_ST(candidates) *const asked = &candidates[round % 3];
        const uint32_t size = total <= first                ? 0
                              : total < first + BH_ST_BLOCK ? total - first
                                                            : BH_ST_BLOCK;
        uint32_t count = 0;

        if (all && size)
            BH_ST(take_aims)(g, keys + first, size, turnover, far, &aims[now]);
        for (i = 0; !all && i < size; i++) {
            names[now][i] = list[first + i];
            BH_ST(take_aim)(g, keys[names[now][i]], line, turnover, far, &aims[now], i);
        }
        sizes[now] = size;
        for (i = 0; i < counts[round % 3]; i++) {
            back[-1] = asked->at[i];
            back -= BH_ST(compare_once)(slice, asked, i) ^ 1;
        }
        for (i = 0; i < sizes[last]; i++) {
            const uint32_t at = all ? first - BH_ST_BLOCK + i : names[last][i];
            uint64_t ends;
            const uint64_t tickets = BH_ST(look_once)(&aims[last], i, line, turnover, &ends);

            asking->tickets[count] = tickets;
            asking->ends[count] = ends;
            asking->of[count] = (uint16_t)i;
            list[left] = (uint16_t)at;
            left += (tickets | ends) == 0;
            count += tickets != 0;
        }
        for (i = 0; i < count; i++)
            BH_ST(place_once)
        (&aims[last], all ? first - BH_ST_BLOCK + asking->of[i] : names[last][asking->of[i]], far,
         asking, i);
        counts[(round + 2) % 3] = count;
        sizes[last] = 0;
    }
    *rest = back;
    return left;
}

/* Looks up a slice: line after line of the paths of keys that are not decided, while they are many. */
BH_FN uint32_t BH_ST(front_of)(const bh__slice *shared, uint16_t *list, int turnover, int far)
{
    /* A copy that nobody else can point to stays in registers while results are written. */
    const bh__slice slice = *shared;
    uint16_t undecided[BH_SLICE_MOST + 1], *rest = undecided + BH_SLICE_MOST + 1;
    uint32_t at = slice.count / 8 * 8, left, line;

    if (slice.outcomes)
        __builtin_memset(slice.outcomes, BH_MISSING, slice.count);
    left = BH_ST(front_line)(&slice, 1, 0, list, at, turnover, far, &rest);

    for (line = 1; line < BH_ST_FRONT_LINES && left >= BH_ST_FRONT_LEAST; line++)
        left = BH_ST(front_line)(&slice, 0, line, list, left, turnover, far, &rest);
    for (; rest < undecided + BH_SLICE_MOST + 1; rest++)
        list[left++] = *rest;
    for (; at < slice.count; at++)
        list[left++] = (uint16_t)at;
    return left;
}

/* Whether a slice is for the front, which is for cores: it has many keys, and lines of the board are of 64 tickets.
 * While keys may have been erased, a wide pair needs its stamp. */
BH_FN int BH_ST(front_fits)(const bh__slice *slice)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    return BH_BRINGS && !slice->listed && slice->count >= 2 * BH_ST_BLOCK && !g->by_slot &&
           g->width == 8 && g->group == 8 && BH_ST_WORDS == 8 && (BH_ST_IS_NARROW || !g->turnover);
}

/* Looks up a slice that fits. Answers how many keys are left, which are named in `list` and have been found missing
 * so far. */
BH_FN uint32_t BH_ST(front)(const bh__slice *slice, uint16_t *list)
{
    const uint64_t turnover = ((const bh_st_geometry *)slice->geometry)->turnover;

    if (slice->hints & BH_HINT_FAR)
        return turnover ? BH_ST(front_of)(slice, list, 1, 1) : BH_ST(front_of)(slice, list, 0, 1);
    return turnover ? BH_ST(front_of)(slice, list, 1, 0) : BH_ST(front_of)(slice, list, 0, 0);
}

#undef BH_ST
#undef BH_ST_IS_NARROW
#undef BH_ST_IS_PAIR
#undef BH_ST_SHIFT
