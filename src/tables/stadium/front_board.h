/*
 * Stadium hashing: many operations of one kind at a time, in groups of eight. An include-template: see instance.h.
 *
 * Whether a word of the board has a ticket of the key's, and whether a slot has the key, no processor can predict,
 * and in the window of the schedule each is a branch. The *front* takes the keys of a slice through two queues:
 *
 *     keys --aim--> looks ----------> visits --------> found, or missing; changed; inserted
 *                     | ^   a ticket    |
 *                     | |   is the      | another key's slot, and
 *                     v |   key's       v more of the path to see
 *                  look on, at the next line or ticket
 *
 *     aim       where the path of each key begins; its line of the board is asked for        all keys
 *     look      all 64 tickets of the line at once: is one the key's, before the path ends
 *               at a fresh ticket or, once keys have been erased, at its bound?              all keys
 *     visit     the slot of the first such ticket: is it the key's? If so the operation is
 *               done to it                                                                   candidates
 *     claim     a key that is to be inserted, and is not there: a free ticket; then it
 *               visits the slot, to be written there                                         new keys
 *     look on   alone, from where the key is on its path                                     a few in a hundred
 *
 *     queue     [ done | asked for, on their way          | joined |  free  ]
 *                      ^ head                             ^ asked  ^ tail
 *
 * The first group of a queue is looked at when BH_ST_AHEAD keys behind it are on their way. What goes on joins the
 * queue that it needs at its end. So searches of all lengths share the groups, and few branches depend on a single key.
 * What cannot be told here (the path is very long; another thread is at work on the key; no room) is left to the window,
 * from its beginning. What is done to a key, and why in this order, is what flight.h does: see ops.h.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_STADIUM_FRONT_BOARD_H
#define BH_TABLES_STADIUM_FRONT_BOARD_H

/* Keys that are on their way behind a group before it is looked at. */
#define BH_ST_AHEAD (BH_FRONT_AHEAD * BH_FRONT_GROUP)

/* Places of a queue: what is on its way, what joins beside it, and then so much again before it is moved down. */
#define BH_ST_ROOM (4 * BH_ST_AHEAD)

/* Lines of a path that the front looks at. A bound of 255 words, which is none, lies behind them. */
#define BH_ST_FRONT_LINES 24u

/* Tickets, and bytes, of a line of the board. */
#define BH_ST_LINE 64u

/*
 * A key's *mark*, and what the queue of visits has of a ticket, as bits of a word:
 *
 *     63         62        61..56   55..48   47..6           5..0
 *                          lines    ticket                   first     a mark
 *     undecided  claimed   lines    ticket   address ...........       of a visit
 *
 *     first      the number, in its line, of the ticket with which the key's path begins
 *     address    of the ticket that is the key's, or seems to be
 *     ticket     what that is when it is ready
 *     lines      how many lines of the path lie before this one
 *     claimed    the ticket has been claimed for the key
 *     undecided  if the slot has another key, more of the path must be looked at
 */
#define BH_ST_ADDRESS ((1ull << 48) - 1)
#define BH_ST_TICKET_SHIFT 48
#define BH_ST_LINES_SHIFT 56
#define BH_ST_LINES_MASK 63u
#define BH_ST_CLAIMED (1ull << 62)
#define BH_ST_UNDECIDED (1ull << 63)

/* Tables with fewer locks are so small that a slot is in a cache. */
#define BH_ST_LOCKS_MANY 32768u

/* A set of tickets of a line, a bit for each, in the order in which a path meets their words. */
BH_FN uint64_t bh_st_as_met(uint64_t set, uint32_t first)
{
    return set >> first | set << (0 - first) % 64;
}

/* The tickets of a line that are on the path: up to the first fresh one or, once keys have been erased, to the end of the
 * bound's word, of which `words` of this line lie before. *ends receives whether the path ends here: not 0. (The tickets
 * of a word are claimed from the first fresh one on, so behind that there is none of a key.) */
BH_FN uint64_t bh_st_on_path(uint64_t fresh, int turnover, uint32_t words, uint64_t *ends)
{
    const uint64_t until_fresh = fresh ^ (fresh - 1), here = words < BH_ST_WORDS;

    *ends = fresh;
    if (!turnover)
        return until_fresh;
    *ends |= here;
    return until_fresh & (((2ull << (8 * words + 7) % 64) - 1) | (here - 1));
}

/* The ticket that a mark has, which lies in memory: a vector is filled with it from there. */
BH_FN uint32_t bh_st_ready_of(const uint64_t *mark)
{
    const unsigned char *bytes = (const unsigned char *)mark;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return bytes[7 - BH_ST_TICKET_SHIFT / 8];
#else
    return bytes[BH_ST_TICKET_SHIFT / 8];
#endif
}

/* The tickets of a line that are a key's: that are ready; but an insertion, while it takes no lock, must not pass a claimed
 * one either, whose key may be its own. (What is claimed is one less than what is ready, which is odd.) */
BH_FN uint64_t bh_st_same(bh_line board, uint32_t ready, uint32_t kind, int turnover)
{
    return BH_OP_INSERTS(kind) && !turnover ? bh_line_match8_odd(board, ready)
                                            : bh_line_match8(board, ready);
}

BH_FN uint32_t bh_st_ticket_of(uint64_t mark)
{
    return (uint32_t)(mark >> BH_ST_TICKET_SHIFT) & 255;
}

BH_FN uint32_t bh_st_lines_of(uint64_t mark)
{
    return (uint32_t)(mark >> BH_ST_LINES_SHIFT) & BH_ST_LINES_MASK;
}

/* 1 in each place of which the word is not 0. */
BH_FN bh_vec bh_st_not_zero(bh_vec words)
{
    return bh_vec_right(bh_vec_or(words, bh_vec_subtract(bh_vec_all(0), words)), 63);
}

/* How lines of the board, or slots, are asked for. Those that come from beyond the caches, to be written, are asked for
 * once more a group before they are looked at. */
BH_FN bh_asks bh_st_asks(int to_write, int far)
{
    return far ? BH_ASKS_FAR : to_write ? BH_ASKS_TO_WRITE : BH_ASKS_TO_READ;
}

/* Asks for a group of lines. */
BH_FN void bh_st_ask_group(const uint64_t *at, bh_asks how)
{
    uint32_t i;

    if (how == BH_ASKS_FAR) {
#pragma GCC unroll 8
        for (i = 0; i < BH_FRONT_GROUP; i++)
            bh_ask(bh_st_at(at[i]), BH_ASKS_FAR);
    } else if (how == BH_ASKS_TO_WRITE) {
#pragma GCC unroll 8
        for (i = 0; i < BH_FRONT_GROUP; i++)
            bh_ask(bh_st_at(at[i]), BH_ASKS_TO_WRITE);
    } else {
#pragma GCC unroll 8
        for (i = 0; i < BH_FRONT_GROUP; i++)
            bh_ask(bh_st_at(at[i]), BH_ASKS_TO_READ);
    }
}

/* Asks once more for the group behind the one at `at`, which and all that is behind it are so many keys. */
BH_FN void bh_st_own_next(const uint64_t *at, uint32_t behind)
{
    uint32_t i;

    for (i = BH_FRONT_GROUP; i < 2 * BH_FRONT_GROUP && i < behind; i++)
        bh_own(bh_st_at(at[i]));
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_IS_NARROW BH_ST_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_ST_IS_PAIR (BH_ST_IS_NARROW && BH_VALUE_BYTES == 4) /* key and value in one word */
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

/* Keys on their way to a line of the board. */
typedef struct BH_ST(looks) {
    uint64_t line[BH_ST_ROOM];  /* address */
    uint64_t slots[BH_ST_ROOM]; /* of the first of the line's slots */
    uint64_t mark[BH_ST_ROOM];
    uint64_t bound[BH_ST_ROOM]; /* address of the path's bound */
    uint32_t name[BH_ST_ROOM];
    uint32_t head, tail;
    uint32_t joined;  /* the first key of the group that has joined last */
    uint32_t unasked; /* its lines have not been asked for */
    uint32_t
        looked; /* keys of the first group, if it has been looked at, else 0. Of each of these: */
    uint64_t tickets[BH_FRONT_GROUP]; /* those on its path that are the key's, as met */
    uint64_t ends
        [BH_FRONT_GROUP]; /* not 0: its path ends in the line. While no key has been erased these are the
                                       * fresh tickets, as met */
} BH_ST(looks);

/* Keys on their way to a slot. */
typedef struct BH_ST(visits) {
    uint64_t slot[BH_ST_ROOM];   /* address */
    uint64_t ticket[BH_ST_ROOM]; /* its ticket's, and more: see BH_ST_ADDRESS */
    uint32_t name[BH_ST_ROOM];
    uint32_t head, asked, tail;
    uint32_t
        looked; /* of lookups: keys of the first group, if it has been looked at, else 0. Of each: */
    BH_KEY keys[BH_FRONT_GROUP];
    BH_VALUE values[BH_FRONT_GROUP]; /* what is in its slot */
    uint64_t pairs
        [BH_FRONT_GROUP]; /* the pair in its slot; of wider ones, not 0: another key is there */
    uint64_t now[BH_FRONT_GROUP]; /* what its ticket is now */
} BH_ST(visits);

/* A slice on its way through the front. */
typedef struct BH_ST(front_state) {
    const bh_st_geometry *geometry;
    bh__slice slice; /* a copy: nobody else can point to it */
    BH_ST(looks) looks;
    BH_ST(visits) visits;
    uint16_t *left; /* names of elements that are left to the window */
    uint32_t lefts; /* how many */
} BH_ST(front_state);

BH_FN void BH_ST(leave)(BH_ST(front_state) * f, uint32_t name)
{
    f->left[f->lefts++] = (uint16_t)name;
}

BH_FN BH_KEY BH_ST(key_of)(const BH_ST(front_state) * f, uint32_t name)
{
    return ((const BH_KEY *)f->slice.keys)[name];
}

/* --- the queue of looks ------------------------------------------------------------------------ */

/* Hashes a group of keys: what bh_hash_key and bh_st_ready say of one. */
BH_FN void BH_ST(hash_group)(const bh_st_geometry *g, const BH_KEY *keys, uint64_t *one,
                             uint64_t *mark)
{
    const bh_vec infos = bh_vec_all(g->infos), below16 = bh_vec_all(0xffff);
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_hashes h = bh_hash_keys(BH_LOAD_VECTOR(keys + i), BH_KEY_BYTES, &g->seed);
        const bh_vec info = bh_vec_right(
            bh_vec_multiply32(bh_vec_and(bh_vec_right(h.two, 16), below16), infos), 16);
        const bh_vec ready = bh_vec_add(bh_vec_left(info, 1), bh_vec_all(3));
        const bh_vec first = bh_vec_left(bh_vec_and(h.two, bh_vec_all(BH_ST_WORDS - 1)), 3);

        bh_vec_store64(one + i, h.one);
        bh_vec_store64(mark + i, bh_vec_or(bh_vec_left(ready, BH_ST_TICKET_SHIFT), first));
    }
}

/* Where the paths of a group's keys begin. A small table has one part, and then vectors can say that. */
BH_FN void BH_ST(aim_group)(const bh_st_geometry *g, const uint64_t *one, uint64_t *line,
                            uint64_t *slots, uint64_t *bound)
{
    uint32_t i;

    if (g->parts == 1 && g->part->units <= UINT32_MAX) {
        const bh_vec units = bh_vec_all(g->part->units), board = bh_vec_all(g->part->board);
        const bh_vec bounds = bh_vec_all(g->part->bounds), first = bh_vec_all(g->part->slots);

        for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
            const bh_vec unit = bh_hash_ranges(bh_vec_load64(one + i), units);
            const bh_vec number = bh_vec_left(unit, 6);

            bh_vec_store64(line + i, bh_vec_add(board, number));
            bh_vec_store64(slots + i, bh_vec_add(first, bh_vec_left(number, BH_ST_SHIFT)));
            bh_vec_store64(bound + i, bh_vec_add(bounds, unit));
        }
        return;
    }
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const bh_hash h = {one[i], 0};
        const bh_st_part *const part = bh_st_part_of(g, &h);
        const uint64_t unit = bh_hash_range(h.one, part->units);

        line[i] = part->board + unit * BH_ST_LINE;
        slots[i] = part->slots + (unit * BH_ST_LINE << BH_ST_SHIFT);
        bound[i] = part->bounds + unit;
    }
}

/* Appends the next group of the slice's elements, from `first` on, to the looks. Answers how many they are. */
BH_FN uint32_t BH_ST(add_group)(BH_ST(front_state) * f, uint32_t first, uint32_t total)
{
    BH_ST(looks) *const q = &f->looks;
    const uint32_t members = total - first < BH_FRONT_GROUP ? total - first : BH_FRONT_GROUP;
    uint64_t *const line = q->line + q->tail, *const bound = q->bound + q->tail;
    uint32_t *const name = q->name + q->tail;
    const BH_KEY *keys = (const BH_KEY *)f->slice.keys + first;
    BH_KEY gathered[BH_FRONT_GROUP];
    uint64_t one[BH_FRONT_GROUP];
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i++)
        name[i] = first + i;
    if (f->slice.listed || members < BH_FRONT_GROUP) {
        /* Where there are no eight left the last one stands for those that are missing. */
        for (i = 0; i < BH_FRONT_GROUP; i++) {
            const uint32_t at = first + (i < members ? i : members - 1);

            name[i] = f->slice.listed ? f->slice.list[at] : at;
            gathered[i] = BH_ST(key_of)(f, name[i]);
        }
        keys = gathered;
    }
    BH_ST(hash_group)(f->geometry, keys, one, q->mark + q->tail);
    BH_ST(aim_group)(f->geometry, one, line, q->slots + q->tail, bound);
    q->joined = q->tail;
    q->unasked = 1;
    q->tail += members;
    return members;
}

/* Asks for the lines of the group that has joined in the turn before. */
BH_FN void BH_ST(ask_for_lines)(BH_ST(looks) * q, bh_asks how, int turnover)
{
    if (!q->unasked)
        return;
    bh_st_ask_group(q->line + q->joined, how);
    if (turnover)
        bh_st_ask_group(q->bound + q->joined, BH_ASKS_TO_READ);
    q->unasked = 0;
}

/* Where there is no whole group in the queue the first key stands for those that are missing. */
BH_FN_RARE void BH_ST(fill_looks)(BH_ST(looks) * q)
{
    uint32_t i;

    for (i = q->tail; i < q->head + BH_FRONT_GROUP; i++) {
        q->line[i] = q->line[q->head];
        q->slots[i] = q->slots[q->head];
        q->mark[i] = q->mark[q->head];
        q->bound[i] = q->bound[q->head];
        q->name[i] = q->name[q->head];
    }
}

/* Looks at the lines of the first keys of the queue, a group of them or, in the end, fewer. */
BH_FN void BH_ST(look_at_lines)(BH_ST(looks) * q, uint32_t kind, int turnover)
{
    const uint64_t *const line = q->line + q->head, *const bound = q->bound + q->head;
    const uint64_t *const mark = q->mark + q->head;
    const uint32_t there = q->tail - q->head;
    uint32_t i;

    q->looked = there < BH_FRONT_GROUP ? there : BH_FRONT_GROUP;
    if (there < BH_FRONT_GROUP)
        BH_ST(fill_looks)(q);
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const bh_line board = bh_line_load(bh_st_at(line[i]));
        const uint32_t first = mark[i] % BH_ST_LINE, ready = bh_st_ready_of(mark + i);
        const uint64_t fresh = bh_st_as_met(bh_line_match8(board, 0), first);
        const uint64_t same = bh_st_as_met(bh_st_same(board, ready, kind, turnover), first);
        const uint32_t words =
            turnover ? bh_load8(bh_st_at(bound[i])) - bh_st_lines_of(mark[i]) * BH_ST_WORDS : 0;

        q->tickets[i] = same & bh_st_on_path(fresh, turnover, words, &q->ends[i]);
    }
}

/* --- the queue of visits ----------------------------------------------------------------------- */

BH_FN void BH_ST(add_visit)(BH_ST(visits) * v, uint64_t slot, uint64_t ticket, uint32_t name)
{
    v->slot[v->tail] = slot;
    v->ticket[v->tail] = ticket;
    v->name[v->tail++] = name;
}

/* Those keys of the group that has been looked at that have tickets of theirs join the visits. */
BH_FN void BH_ST(add_visits)(const BH_ST(looks) * q, uint32_t open, BH_ST(visits) * v)
{
    const uint64_t *const line = q->line + q->head, *const slots = q->slots + q->head;
    const uint64_t *const mark = q->mark + q->head;
    const bh_vec in_line = bh_vec_all(BH_ST_LINE - 1);
    uint64_t first[BH_FRONT_GROUP], slot[BH_FRONT_GROUP], ticket[BH_FRONT_GROUP];
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        first[i] = bh_first64(q->tickets[i] | 1ull << 63);
    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec marks = bh_vec_load64(mark + i), set = bh_vec_load64(q->tickets + i);
        const bh_vec in = bh_vec_and(bh_vec_add(bh_vec_load64(first + i), marks), in_line);
        const bh_vec more = bh_st_not_zero(bh_vec_and(set, bh_vec_subtract(set, bh_vec_all(1))));
        const bh_vec on = bh_vec_xor(bh_st_not_zero(bh_vec_load64(q->ends + i)), bh_vec_all(1));
        const bh_vec rest = bh_vec_or(bh_vec_xor(marks, bh_vec_and(marks, in_line)),
                                      bh_vec_left(bh_vec_or(more, on), 63));

        bh_vec_store64(slot + i,
                       bh_vec_add(bh_vec_load64(slots + i), bh_vec_left(in, BH_ST_SHIFT)));
        bh_vec_store64(ticket + i, bh_vec_or(bh_vec_add(bh_vec_load64(line + i), in), rest));
    }
    bh_pack64(v->slot + v->tail, slot, BH_FRONT_GROUP, open);
    bh_pack64(v->ticket + v->tail, ticket, BH_FRONT_GROUP, open);
    bh_pack32(v->name + v->tail, q->name + q->head, BH_FRONT_GROUP, open);
    v->tail += bh_count(open);
}

/* Asks for the slots of those that have joined, a group at a time. */
BH_FN void BH_ST(ask_for_slots)(BH_ST(visits) * v, bh_asks how)
{
    for (; v->tail - v->asked >= BH_FRONT_GROUP; v->asked += BH_FRONT_GROUP)
        bh_st_ask_group(v->slot + v->asked, how);
}

/* --- insertions --------------------------------------------------------------------------------- */

/* A ticket, the `in`-th of a line, which is `was`, fresh or erased, is claimed for a key if its word still is `word`. The
 * key then visits its slot. */
BH_FN int BH_ST(claim_ticket)(BH_ST(front_state) * f, uint64_t line, uint64_t slots, uint32_t in,
                              uint64_t word, uint32_t was, uint32_t ready, uint32_t name)
{
    const uint32_t at = in / 8 * 8;

    if (!bh_swap_in64(f->slice.hints, bh_st_at(line + at), word,
                      word + ((uint64_t)(ready - 1 - was) << in % 8 * 8)))
        return 0;
    /* A reader that has seen the slot's last key may not have read its value yet. */
    if (!BH_ST_IS_NARROW && was == BH_ST_ERASED)
        (void)bh_take_in64(f->slice.hints, bh_st_stamp_of(f->geometry, line + at), 1);
    f->slice.room--;
    BH_ST(add_visit)
    (&f->visits, slots + ((uint64_t)in << BH_ST_SHIFT),
     (line + in) | (uint64_t)ready << BH_ST_TICKET_SHIFT | BH_ST_CLAIMED, name);
    return 1;
}

/* While no key has been erased: the `met`-th ticket of the line on the key's path was the first fresh one, and none before
 * was the key's, ready or claimed. Answers whether the key has got that ticket. The tickets of a word are claimed in their
 * order: so if this one is still fresh, none of the word has been claimed since. */
BH_FN int BH_ST(claim_fresh_ticket)(BH_ST(front_state) * f, uint64_t line, uint64_t slots,
                                    uint64_t bound, uint64_t mark, uint32_t met, uint32_t name)
{
    const uint32_t in = (met + (uint32_t)mark) % BH_ST_LINE;
    const uint32_t steps = bh_st_lines_of(mark) * BH_ST_WORDS + met / 8;
    const uint64_t word = bh_load64(bh_st_at(line + in / 8 * 8));

    if (!f->slice.room || (word >> in % 8 * 8 & 255) ||
        (steps && !bh_st_raise_at(f->slice.hints, bound, steps)))
        return 0;
    return BH_ST(claim_ticket)(f, line, slots, in, word, 0, bh_st_ticket_of(mark), name);
}

/* The pair of a key for which a ticket has been claimed is written. */
BH_FN void BH_ST(put_pair)(BH_ST(front_state) * f, uint32_t kind, uint64_t slot, uint64_t ticket,
                           uint32_t name, int turnover)
{
    const BH_KEY key = BH_ST(key_of)(f, name);

    BH_ST(store)(slot, key, (BH_VALUE)bh_given(&f->slice, kind, BH_VALUE_BYTES, name));
    bh_store8(bh_st_at(ticket & BH_ST_ADDRESS), (uint8_t)bh_st_ticket_of(ticket));
    if (turnover) {
        const bh_hash h = bh_hash_key(key, &f->geometry->seed);

        bh_st_unlock(bh_st_lock_of(f->geometry, &h));
    }
    f->slice.inserted++;
    if (f->slice.outcomes)
        f->slice.outcomes[name] = BH_INSERTED;
}

/* Once keys have been erased: looks at the line again with the key's lock held, and claims the first erased ticket of the path
 * or, where there is none, the first fresh one of the line. Answers whether the key has got a ticket; then the lock is held
 * until the pair has been written. Where there are few locks that is at once: a queue of keys would hold many of them, and
 * refuse each other. */
BH_FN_RARE int BH_ST(claim_with_lock)(BH_ST(front_state) * f, uint32_t kind, uint64_t line,
                                      uint64_t slots, uint64_t bound, uint64_t mark, uint32_t name)
{
    const bh_st_geometry *const g = f->geometry;
    const bh_hash h = bh_hash_key(BH_ST(key_of)(f, name), &g->seed);
    const uint32_t first = mark % BH_ST_LINE, ready = bh_st_ready(g, &h);
    unsigned char *const lock = bh_st_lock_of(g, &h);
    BH_ST(visits) *const v = &f->visits;
    uint64_t ends, path, free, erased;
    bh_line board;

    /* Of a longer path all lines would have to be looked at again. */
    if (!f->slice.room || bh_st_lines_of(mark) || !bh_st_lock(f->slice.hints, lock))
        return 0;
    board = bh_line_load(bh_st_at(line));
    free = bh_st_as_met(bh_line_match8(board, 0), first);
    path = bh_st_on_path(free, 1, bh_load8(bh_st_at(bound)), &ends);
    erased = bh_st_as_met(bh_line_match8(board, BH_ST_ERASED), first) & path;
    free = erased ? erased : free;
    if (ends && free && !(bh_st_as_met(bh_line_match8(board, ready), first) & path)) {
        const uint32_t met = bh_first64(free), in = (met + first) % BH_ST_LINE;
        const uint64_t word = bh_load64(bh_st_at(line + in / 8 * 8));
        const uint32_t is = (uint32_t)(word >> in % 8 * 8) & 255;

        if (is == (erased ? BH_ST_ERASED : 0) &&
            (met < 8 || bh_st_raise_at(f->slice.hints, bound, met / 8)) &&
            BH_ST(claim_ticket)(f, line, slots, in, word, is, ready, name)) {
            if (g->lock_mask + 1 < BH_ST_LOCKS_MANY) {
                v->tail--;
                BH_ST(put_pair)(f, kind, v->slot[v->tail], v->ticket[v->tail], name, 1);
            }
            return 1;
        }
    }
    bh_st_unlock(lock);
    return 0;
}

/* A key that is to be inserted has come to the end of its path, in a line, where `fresh` tickets were fresh, as met. */
BH_FN void BH_ST(insert_at_end)(BH_ST(front_state) * f, uint32_t kind, uint64_t line,
                                uint64_t slots, uint64_t bound, uint64_t mark, uint64_t fresh,
                                uint32_t name, int turnover)
{
    if (turnover ? !BH_ST(claim_with_lock)(f, kind, line, slots, bound, mark, name)
                 : !BH_ST(claim_fresh_ticket)(f, line, slots, bound, mark, bh_first64(fresh), name))
        BH_ST(leave)(f, name);
}

/* --- looking on --------------------------------------------------------------------------------- */

/* One key looks on alone: at the tickets of its line behind one that was not its own or, where `in_line` is 0, at the next
 * line. `ticket` is as in the queue of visits; its address is that of the line where `in_line` is 0. */
BH_FN_RARE void BH_ST(look_on)(BH_ST(front_state) * f, uint32_t kind, uint64_t ticket, int in_line,
                               uint32_t name, int turnover)
{
    const bh_st_geometry *const g = f->geometry;
    const bh_hash h = bh_hash_key(BH_ST(key_of)(f, name), &g->seed);
    const bh_st_part *const part = bh_st_part_of(g, &h);
    const uint64_t at = ticket & BH_ST_ADDRESS,
                   bound = part->bounds + bh_hash_range(h.one, part->units);
    const uint64_t first = h.two % BH_ST_WORDS * 8, ready = bh_st_ready(g, &h);
    uint64_t unit = (at - part->board) / BH_ST_LINE, lines = bh_st_lines_of(ticket);
    const uint64_t mark = ready << BH_ST_TICKET_SHIFT | first;
    const uint64_t line = part->board + unit * BH_ST_LINE;
    const uint64_t slots = part->slots + (unit * BH_ST_LINE << BH_ST_SHIFT);
    BH_ST(looks) *const q = &f->looks;

    if (in_line) {
        const bh_line board = bh_line_load(bh_st_at(line));
        const uint32_t words =
            turnover ? bh_load8(bh_st_at(bound)) - (uint32_t)lines * BH_ST_WORDS : 0;
        const uint64_t fresh = bh_st_as_met(bh_line_match8(board, 0), (uint32_t)first);
        uint64_t ends, left = bh_st_on_path(fresh, turnover, words, &ends);

        left &= bh_st_as_met(bh_st_same(board, (uint32_t)ready, kind, turnover), (uint32_t)first) &
                (~1ull << (at - first) % BH_ST_LINE);
        if (left) {
            const uint64_t in = (bh_first64(left) + first) % BH_ST_LINE;
            const uint64_t more = (left & (left - 1)) || !ends ? BH_ST_UNDECIDED : 0;

            BH_ST(add_visit)
            (&f->visits, slots + (in << BH_ST_SHIFT),
             (line + in) | ready << BH_ST_TICKET_SHIFT | lines << BH_ST_LINES_SHIFT | more, name);
            return;
        }
        if (ends) {
            if (BH_OP_INSERTS(kind))
                BH_ST(insert_at_end)
            (f, kind, line, slots, bound, mark | lines << BH_ST_LINES_SHIFT, fresh, name, turnover);
            return;
        }
    }
    if (++lines >= BH_ST_FRONT_LINES || lines >= part->units) {
        BH_ST(leave)(f, name);
        return;
    }
    unit += 1 + bh_hash_range(h.two, part->units - 1);
    unit -= unit < part->units ? 0 : part->units;
    q->line[q->tail] = part->board + unit * BH_ST_LINE;
    q->slots[q->tail] = part->slots + (unit * BH_ST_LINE << BH_ST_SHIFT);
    q->mark[q->tail] = mark | lines << BH_ST_LINES_SHIFT;
    q->bound[q->tail] = bound;
    q->name[q->tail] = name;
    bh_ask(bh_st_at(q->line[q->tail++]), bh_st_asks(BH_OP_INSERTS(kind) || BH_OP_ERASES(kind), 0));
}

/* --- what becomes of a group -------------------------------------------------------------------- */

/* Says where the keys of the group of looks that has been looked at go on. */
BH_FN void BH_ST(settle_looks)(BH_ST(front_state) * f, uint32_t kind, int turnover)
{
    BH_ST(looks) *const q = &f->looks;
    const uint32_t members = (1u << q->looked) - 1, head = q->head;
    uint32_t open = members, on = 0, i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec set = bh_vec_load64(q->tickets + i);

        open &= ~(bh_vec_zeros(set) << i);
        on |= bh_vec_zeros(bh_vec_or(set, bh_vec_load64(q->ends + i))) << i;
    }
    if (open)
        BH_ST(add_visits)(q, open, &f->visits);
    on &= members;
    q->head += q->looked;
    q->looked = 0;
    if (BH_OP_INSERTS(kind)) {
        uint32_t ended = members & ~open & ~on;

        for (; ended; ended &= ended - 1) {
            const uint32_t k = bh_first(ended), at = head + k;

            BH_ST(insert_at_end)
            (f, kind, q->line[at], q->slots[at], q->bound[at], q->mark[at], q->ends[k], q->name[at],
             turnover);
        }
    }
    for (; on; on &= on - 1) {
        const uint32_t at = head + bh_first(on);

        BH_ST(look_on)
        (f, kind, q->line[at] | (q->mark[at] >> BH_ST_LINES_SHIFT << BH_ST_LINES_SHIFT), 0,
         q->name[at], turnover);
    }
}

/* Writes the answers of a group of lookups. Mostly all keys were found; others have been said to be missing already. */
BH_FN void BH_ST(answer)(const bh__slice *slice, const uint32_t *names, uint32_t members,
                         uint32_t found, const BH_VALUE *values)
{
    BH_VALUE *const out = BH_VALUE_BYTES ? (BH_VALUE *)slice->values_out : 0;
    uint32_t i;

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
        slice->outcomes[names[i]] = found >> i & 1 ? BH_FOUND : BH_MISSING;
}

/* Lookups: looks at the slots of the first keys of the queue, a group of them or, in the end, fewer, and at their tickets
 * again, unless no ticket changes that is ready. */
BH_FN void BH_ST(look_at_slots)(BH_ST(front_state) * f, int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    const uint64_t *const slots = v->slot + v->head, *const tickets = v->ticket + v->head;
    const uint32_t there = v->tail - v->head, *const names = v->name + v->head;
    const int answers = BH_VALUE_BYTES && f->slice.values_out;
    uint32_t i;

    v->looked = there < BH_FRONT_GROUP ? there : BH_FRONT_GROUP;
    /* Where there is no whole group the first key stands for those that are missing. */
    for (i = v->tail; i < v->head + BH_FRONT_GROUP; i++) {
        v->slot[i] = v->slot[v->head];
        v->ticket[i] = v->ticket[v->head];
        v->name[i] = v->name[v->head];
    }
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const BH_KEY key = BH_ST(key_of)(f, names[i]);

        if (BH_ST_IS_PAIR) {
            v->keys[i] = key;
            v->pairs[i] = bh_load64(bh_st_at(slots[i]));
        } else {
            v->pairs[i] = BH_LOAD_KEY(bh_st_at(slots[i])) ^ key;
            if (answers)
                v->values[i] = BH_LOAD_VALUE(BH_ST(value_of)(slots[i]));
        }
        if (turnover)
            v->now[i] = bh_load8(bh_st_at(tickets[i] & BH_ST_ADDRESS));
    }
}

/* Lookups: says what became of the group of visits that has been looked at. */
BH_FN void BH_ST(settle_lookups)(BH_ST(front_state) * f, int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    const uint64_t *const tickets = v->ticket + v->head;
    const uint32_t members = (1u << v->looked) - 1, *const names = v->name + v->head;
    uint32_t same = 0, ready = turnover ? 0 : members, open = 0, found, i;

    if (BH_ST_IS_PAIR)
        same = bh_part_pairs(v->pairs, (const uint32_t *)(const void *)v->keys,
                             (uint32_t *)(void *)v->values, BH_FRONT_GROUP) ^
               BH_FRONT_ALL;
    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec ticket = bh_vec_load64(tickets + i);

        if (!BH_ST_IS_PAIR)
            same |= bh_vec_zeros(bh_vec_load64(v->pairs + i)) << i;
        if (turnover) {
            const bh_vec wanted =
                bh_vec_and(bh_vec_right(ticket, BH_ST_TICKET_SHIFT), bh_vec_all(255));

            ready |= bh_vec_zeros(bh_vec_xor(bh_vec_load64(v->now + i), wanted)) << i;
        }
        open |= (bh_vec_zeros(bh_vec_right(ticket, 63)) ^ ((1u << BH_VEC) - 1)) << i;
    }
    found = same & ready & members;
    BH_ST(answer)(&f->slice, names, v->looked, found, v->values);
    v->head += v->looked;
    v->looked = 0;
    /* Not decided: where more of the path may have the key; where a ticket changed while the slot had the key. */
    for (open = (open | same) & ~found & members; open; open &= open - 1) {
        const uint32_t k = bh_first(open);

        if (same >> k & 1)
            BH_ST(leave)(f, names[k]);
        else
            BH_ST(look_on)(f, BH_FIND, tickets[k], 1, names[k], turnover);
    }
}

/* A key that is to be changed is in a slot: changes it, with its lock held where others may erase it. Answers 0 where
 * that could not be done at once. */
BH_FN int BH_ST(change_in_slot)(BH_ST(front_state) * f, uint32_t kind, uint64_t slot,
                                uint64_t ticket, uint32_t name, int turnover)
{
    const BH_KEY key = BH_ST(key_of)(f, name);
    unsigned char *const at = bh_st_at(ticket & BH_ST_ADDRESS);
    const uint32_t ready = bh_st_ticket_of(ticket);
    unsigned char *lock;
    bh_hash h;
    int done;

    if (!turnover) {
        bh_change_there(&f->slice, kind, BH_VALUE_BYTES, BH_ST(value_of)(slot), name);
        return 1;
    }
    h = bh_hash_key(key, &f->geometry->seed);
    lock = bh_st_lock_of(f->geometry, &h);
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
    const uint64_t pair = BH_ST_IS_PAIR && answers ? bh_load64(bh_st_at(slot)) : 0;
    BH_VALUE value = 0;

    if (BH_ST_IS_PAIR && answers) {
        if (bh_pair_key(pair) != BH_ST(key_of)(f, name))
            return 0;
        value = (BH_VALUE)bh_pair_value(pair);
    } else if (answers) {
        value = BH_LOAD_VALUE(BH_ST(value_of)(slot));
    }
    if (turnover && bh_load8(bh_st_at(ticket & BH_ST_ADDRESS)) != bh_st_ticket_of(ticket))
        return 0;
    if (answers)
        ((BH_VALUE *)f->slice.values_out)[name] = value;
    return 1;
}

/* Other operations than lookups: visits the slots of the first keys of the queue, a group of them or, in the end, fewer. */
BH_FN void BH_ST(visit_slots)(BH_ST(front_state) * f, uint32_t kind, int turnover)
{
    BH_ST(visits) *const v = &f->visits;
    const uint32_t there = v->tail - v->head, head = v->head;
    const uint32_t members = there < BH_FRONT_GROUP ? there : BH_FRONT_GROUP;
    uint32_t i;

    v->head += members;
    for (i = head; i < head + members; i++) {
        const uint64_t slot = v->slot[i], ticket = v->ticket[i];
        const uint32_t name = v->name[i];

        if (BH_OP_INSERTS(kind) && (ticket & BH_ST_CLAIMED)) {
            BH_ST(put_pair)(f, kind, slot, ticket, name, turnover);
        } else if (BH_OP_INSERTS(kind) && !turnover &&
                   bh_load8(bh_st_at(ticket & BH_ST_ADDRESS)) != bh_st_ticket_of(ticket)) {
            BH_ST(leave)(f, name); /* it was claimed, and is still */
        } else if (BH_LOAD_KEY(bh_st_at(slot)) != BH_ST(key_of)(f, name)) {
            if (BH_OP_INSERTS(kind) || (ticket & BH_ST_UNDECIDED))
                BH_ST(look_on)(f, kind, ticket, 1, name, turnover);
        } else if (BH_OP_KEEPS(kind)
                       ? BH_ST(keep_in_slot)(f, kind, slot, ticket, name, turnover)
                       : BH_ST(change_in_slot)(f, kind, slot, ticket, name, turnover)) {
            if (f->slice.outcomes)
                f->slice.outcomes[name] = (uint8_t)BH_OP_PRESENT(kind);
        } else {
            BH_ST(leave)(f, name);
        }
    }
}

/* --- the whole slice ---------------------------------------------------------------------------- */

/* Moves what is in the queues to their beginnings, where there is no room for four groups more. */
BH_FN void BH_ST(make_room)(BH_ST(looks) * q, BH_ST(visits) * v)
{
    if (q->tail + 4 * BH_FRONT_GROUP > BH_ST_ROOM) {
        const uint32_t head = q->head, count = q->tail - head;

        __builtin_memmove(q->line, q->line + head, count * sizeof *q->line);
        __builtin_memmove(q->slots, q->slots + head, count * sizeof *q->slots);
        __builtin_memmove(q->mark, q->mark + head, count * sizeof *q->mark);
        __builtin_memmove(q->bound, q->bound + head, count * sizeof *q->bound);
        __builtin_memmove(q->name, q->name + head, count * sizeof *q->name);
        q->head = 0;
        q->tail = count;
    }
    if (v->tail + 4 * BH_FRONT_GROUP > BH_ST_ROOM) {
        const uint32_t head = v->head, count = v->tail - head;

        __builtin_memmove(v->slot, v->slot + head, count * sizeof *v->slot);
        __builtin_memmove(v->ticket, v->ticket + head, count * sizeof *v->ticket);
        __builtin_memmove(v->name, v->name + head, count * sizeof *v->name);
        v->head = 0;
        v->asked -= head;
        v->tail = count;
    }
}

/* Whether the queue has a group whose slots have been on their way for long enough; in the end, where nothing more `comes`,
 * whether it has anything: the last slots are asked for then. */
BH_FN int BH_ST(is_due)(BH_ST(visits) * v, int comes, bh_asks how)
{
    if (comes)
        return v->asked - v->head > BH_ST_AHEAD;
    for (; v->asked < v->tail; v->asked++)
        bh_ask(bh_st_at(v->slot[v->asked]), how);
    return v->head != v->tail;
}

/* Runs the elements of a slice. Writes the names of those that are left to the window to its list. `kind` is mostly a
 * constant, and so is `turnover`. */
BH_FN void BH_ST(front_of)(bh__slice *shared, uint32_t kind, int turnover)
{
    const int far = (shared->hints & BH_HINT_FAR) != 0;
    const uint32_t total = shared->listed ? shared->listed : shared->count;
    const bh_asks board = bh_st_asks(BH_OP_INSERTS(kind) || BH_OP_ERASES(kind), far);
    const bh_asks slots = bh_st_asks(kind != BH_FIND, far);
    uint32_t aimed = 0, i;
    BH_ST(front_state) f;

    f.geometry = (const bh_st_geometry *)shared->geometry;
    f.slice = *shared;
    f.left = shared->list;
    f.lefts = 0;
    f.looks.head = f.looks.tail = f.looks.looked = f.looks.unasked = 0;
    f.visits.head = f.visits.asked = f.visits.tail = f.visits.looked = 0;
    if (f.slice.outcomes && !BH_OP_INSERTS(kind)) {
        if (!f.slice.listed)
            __builtin_memset(f.slice.outcomes, BH_MISSING, f.slice.count);
        for (i = 0; i < f.slice.listed; i++)
            f.slice.outcomes[f.slice.list[i]] = BH_MISSING;
    }
    /* What was stored word by word, and is loaded as vectors, or the other way round, must have come to the first cache by
     * then (docs/decisions/0028). So lines and slots are asked for a turn after a group of keys has joined, and those that have
     * been looked at are settled a turn later. New keys join when few are on their way to the board, and lines are looked at
     * when few are on their way to slots, so neither queue grows beyond its room. */
    while (aimed < total || f.looks.head != f.looks.tail || f.visits.head != f.visits.tail) {
        BH_ST(ask_for_lines)(&f.looks, board, turnover);
        BH_ST(ask_for_slots)(&f.visits, slots);
        BH_ST(make_room)(&f.looks, &f.visits);
        if (aimed < total && f.looks.tail - f.looks.head <= BH_ST_AHEAD)
            aimed += BH_ST(add_group)(&f, aimed, total);
        if (f.looks.looked)
            BH_ST(settle_looks)(&f, kind, turnover);
        if (f.visits.tail - f.visits.head <= BH_ST_AHEAD + 2 * BH_FRONT_GROUP &&
            (f.looks.tail - f.looks.head >= BH_ST_AHEAD ||
             (aimed == total && f.looks.head != f.looks.tail))) {
            if (far && (BH_OP_INSERTS(kind) || BH_OP_ERASES(kind)))
                bh_st_own_next(f.looks.line + f.looks.head, f.looks.tail - f.looks.head);
            BH_ST(look_at_lines)(&f.looks, kind, turnover);
        }
        if (kind == BH_FIND && f.visits.looked)
            BH_ST(settle_lookups)(&f, turnover);
        if (!BH_ST(is_due)(&f.visits, aimed < total || f.looks.head != f.looks.tail, slots))
            continue;
        if (far && kind != BH_FIND)
            bh_st_own_next(f.visits.slot + f.visits.head, f.visits.tail - f.visits.head);
        if (kind == BH_FIND)
            BH_ST(look_at_slots)(&f, turnover);
        else
            BH_ST(visit_slots)(&f, kind, turnover);
    }
    shared->room = f.slice.room;
    shared->inserted = f.slice.inserted;
    shared->erased = f.slice.erased;
    shared->assigned = f.slice.assigned;
    shared->listed = f.lefts;
}

/* Whether elements of a slice, which do `kind`, are for the front: they are many, and the table's board is as it is by
 * default. While keys may have been erased, a wide pair that is only read needs its stamp; the first erasure needs the
 * policy. */
BH_FN int BH_ST(takes_front)(const bh__slice *slice, uint32_t kind)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    if ((slice->listed ? slice->listed : slice->count) < BH_FRONT_LEAST || !BH_BRINGS || g->far ||
        g->by_slot || g->width != 8 || g->group != 8 || BH_ST_WORDS != 8)
        return 0;
    return g->turnover ? BH_ST_IS_NARROW || !BH_OP_KEEPS(kind) : !BH_OP_ERASES(kind);
}

/* Runs a slice that takes the front; its list then names the elements that are left. */
BH_FN void BH_ST(run_front)(bh__slice *slice, uint32_t kind)
{
    const int turnover = ((const bh_st_geometry *)slice->geometry)->turnover != 0;

    if (kind == BH_FIND && turnover)
        BH_ST(front_of)(slice, BH_FIND, 1);
    else if (kind == BH_FIND)
        BH_ST(front_of)(slice, BH_FIND, 0);
    else if (turnover)
        BH_ST(front_of)(slice, kind, 1);
    else if (kind == BH_INSERT)
        BH_ST(front_of)(slice, BH_INSERT, 0);
    else
        BH_ST(front_of)(slice, kind, 0);
}

#undef BH_ST
#undef BH_ST_IS_NARROW
#undef BH_ST_IS_PAIR
#undef BH_ST_SHIFT
