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
 * Keys whose line is full, and has none of their tickets, go through the same with the next line of their paths. The
 * few that are then not decided are left to the window, from their beginning.
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

/* A set of tickets of a line, a bit for each, in the order in which a path meets their words. */
BH_FN uint64_t bh_st_as_met(uint64_t set, uint32_t start)
{
    return set >> start * 8 | set << (64 - start * 8) % 64;
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_IS_NARROW BH_ST_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_ST_IS_PAIR (BH_ST_IS_NARROW && BH_VALUE_BYTES == 4)
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

/* A key on its way to its line of the board. */
typedef struct BH_ST(aim) {
    const bh_st_part *part;
    uint64_t home;  /* the number of the line in which the path begins */
    uint64_t line;  /* that of this one */
    uint32_t start; /* the word in it with which the path begins */
    uint32_t ready; /* what a ticket of the key is */
} BH_ST(aim);

/* A key on its way to a slot. */
typedef struct BH_ST(candidate) {
    uint64_t
        tickets; /* the line's tickets that are the key's, in the order in which its path meets them */
    uint64_t ticket; /* address of the word of the first of them */
    uint64_t slot;
    uint32_t bit; /* where it begins */
    uint16_t of;  /* the aim's number in the block */
    uint16_t at;  /* element of the slice */
    uint8_t ready;
    uint8_t ends; /* 1: the path ends in this line */
} BH_ST(candidate);

/* Aims at the line-th line of the key's path. */
BH_FN void BH_ST(take_aim)(const bh__slice *slice, const bh_st_geometry *g, uint32_t at,
                           uint32_t line, int turnover, int far, BH_ST(aim) * aim)
{
    const bh_hash h = bh_hash_key(((const BH_KEY *)slice->keys)[at], &g->seed);

    aim->part = bh_st_part_of(g, &h);
    aim->line = bh_hash_range(h.one, aim->part->units);
    if (turnover)
        aim->home = aim->line;
    if (line)
        aim->line = (aim->line + line * (1 + bh_hash_range(h.two, aim->part->units - 1))) %
                    aim->part->units;
    aim->start = (uint32_t)h.two % BH_ST_WORDS;
    aim->ready = bh_st_ready(g, &h);
    if (far)
        bh_bring_far(bh_st_at(aim->part->board + aim->line * BH_ST_LINE));
    else
        bh_bring(bh_st_at(aim->part->board + aim->line * BH_ST_LINE));
    if (turnover)
        bh_bring(bh_st_at(aim->part->bounds + aim->home));
}

/* Answers the tickets of the line that are the key's, and lie on its path, as met; *ends receives whether the path ends
 * in this line. */
BH_FN uint64_t BH_ST(look_once)(const BH_ST(aim) * aim, uint32_t round, int turnover,
                                uint64_t *ends)
{
    const bh_line line = bh_line_load(bh_st_at(aim->part->board + aim->line * BH_ST_LINE));
    const uint64_t fresh = bh_st_as_met(bh_line_match8(line, 0), aim->start);
    const uint64_t same = bh_st_as_met(bh_line_match8(line, aim->ready), aim->start);
    /* All tickets up to the word with the first fresh one. */
    uint64_t path = (2ull << (bh_first64(fresh | 1ull << 63) | 7)) - 1;

    *ends = fresh != 0;
    if (turnover) {
        /* Of the words of this line; the bound is not before it. */
        const uint32_t bound = bh_st_bound(aim->part, aim->home) - round * BH_ST_WORDS;
        const uint64_t here = bound < BH_ST_WORDS;

        path &= ((2ull << (8 * bound + 7) % 64) - 1) | (here - 1);
        *ends |= here;
    }
    return same & path;
}

/* Says in which slot a candidate may be, and asks for it. */
BH_FN void BH_ST(place_once)(const BH_ST(aim) * aim, int far, BH_ST(candidate) * c)
{
    const uint32_t first = bh_first64(c->tickets);
    const uint64_t word = aim->line * BH_ST_WORDS + bh_st_within(aim->start, first / 8);

    c->ticket = aim->part->board + word * 8;
    c->slot = aim->part->slots + ((word * 8 + first % 8) << BH_ST_SHIFT);
    c->bit = first % 8 * 8;
    c->ready = (uint8_t)aim->ready;
    if (far)
        bh_bring_far(bh_st_at(c->slot));
    else
        bh_bring(bh_st_at(c->slot));
}

/* Writes the key's outcome and value. Answers whether that decides: the key is in the slot, or it was absent when the
 * slot was read. */
BH_FN uint32_t BH_ST(compare_once)(const bh__slice *slice, const BH_ST(candidate) * c)
{
    const BH_KEY key = ((const BH_KEY *)slice->keys)[c->at];
    const int answers = BH_VALUE_BYTES && slice->values_out;
    BH_VALUE value = 0;
    uint32_t found, same;

    if (BH_ST_IS_PAIR) {
        const uint64_t pair = bh_load64(bh_st_at(c->slot));

        same = bh_pair_key(pair) == key;
        value = (BH_VALUE)bh_pair_value(pair);
    } else {
        same = BH_LOAD_KEY(bh_st_at(c->slot)) == key;
        if (answers)
            value = BH_LOAD_VALUE(bh_st_at(c->slot + BH_ST_VALUE(BH_KEY_BYTES, BH_VALUE_BYTES)));
    }
    found = same & ((uint8_t)(bh_load64(bh_st_at(c->ticket)) >> c->bit) == c->ready);
    if (answers) {
        BH_VALUE *answer = (BH_VALUE *)slice->values_out + c->at, before = *answer;

        *answer = found ? value : before;
        bh_answer_ahead(slice, answer, BH_VALUE_BYTES, c->at);
    }
    if (slice->outcomes)
        slice->outcomes[c->at] = (uint8_t)(found ? BH_FOUND : BH_MISSING);
    return found | (c->ends & (same ^ 1) & !(c->tickets & (c->tickets - 1)));
}

/* One line of the paths of the keys in[0 .. total) or, where `in` is NULL, of all. Writes the names of keys that must
 * go on to the next line to `out`, which may be `in`, and answers how many; and of those that the window must look up
 * to the places before `rest`, which moves. `turnover` and `far` are constants. */
BH_FN uint32_t BH_ST(front_line)(const bh__slice *slice, uint32_t line, const uint16_t *in,
                                 uint32_t total, int turnover, int far, uint16_t *out,
                                 uint16_t **rest)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;
    BH_ST(aim) aims[2][BH_ST_BLOCK];
    uint16_t names[2][BH_ST_BLOCK];
    BH_ST(candidate) candidates[3][BH_ST_BLOCK + 1];
    const uint32_t blocks = (total + BH_ST_BLOCK - 1) / BH_ST_BLOCK;
    uint32_t counts[3] = {0, 0, 0}, sizes[2] = {0, 0}, left = 0, round, i;
    uint16_t *back = *rest;

    for (round = 0; round < blocks + 3; round++) {
        const uint32_t now = round & 1, last = now ^ 1, first = round * BH_ST_BLOCK;
        /* Candidates of the block before, and of the one that asked for slots two rounds ago. */
        BH_ST(candidate) *const asking = candidates[(round + 2) % 3];
        BH_ST(candidate) *const asked = candidates[round % 3];
        const uint32_t size = total <= first                ? 0
                              : total < first + BH_ST_BLOCK ? total - first
                                                            : BH_ST_BLOCK;
        uint32_t count = 0;

        for (i = 0; i < size; i++) {
            names[now][i] = (uint16_t)(in ? in[first + i] : first + i);
            BH_ST(take_aim)(slice, g, names[now][i], line, turnover, far, &aims[now][i]);
        }
        sizes[now] = size;
        for (i = 0; i < counts[round % 3]; i++) {
            back[-1] = asked[i].at;
            back -= BH_ST(compare_once)(slice, &asked[i]) ^ 1;
        }
        for (i = 0; i < sizes[last]; i++) {
            BH_ST(candidate) *const c = &asking[count];
            uint64_t ends;

            c->tickets = BH_ST(look_once)(&aims[last][i], line, turnover, &ends);
            c->of = (uint16_t)i;
            c->at = names[last][i];
            c->ends = (uint8_t)ends;
            out[left] = c->at;
            if (slice->outcomes)
                slice->outcomes[c->at] = BH_MISSING;
            left += (c->tickets | ends) == 0;
            count += c->tickets != 0;
        }
        for (i = 0; i < count; i++)
            BH_ST(place_once)(&aims[last][asking[i].of], far, &asking[i]);
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
    uint32_t left = BH_ST(front_line)(&slice, 0, 0, slice.count, turnover, far, list, &rest), line;

    for (line = 1; line < BH_ST_FRONT_LINES && left >= BH_ST_FRONT_LEAST; line++)
        left = BH_ST(front_line)(&slice, line, list, left, turnover, far, list, &rest);
    for (; rest < undecided + BH_SLICE_MOST + 1; rest++)
        list[left++] = *rest;
    return left;
}

/* Whether a slice is for the front: it has many keys, and lines of the board are of 64 tickets. While keys may have
 * been erased, a wide pair needs its stamp. */
BH_FN int BH_ST(front_fits)(const bh__slice *slice)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    return !slice->listed && slice->count >= 2 * BH_ST_BLOCK && !g->by_slot && g->width == 8 &&
           g->group == 8 && BH_ST_WORDS == 8 && (BH_ST_IS_NARROW || !g->turnover);
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
