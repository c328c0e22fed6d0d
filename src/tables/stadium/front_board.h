/*
 * Stadium hashing: many operations of one kind at a time, in groups of eight. An include-template: see instance.h.
 *
 * Whether a word of the board has a ticket of the key's, and whether a slot has the key, no processor can predict,
 * and in the window of the schedule each is a branch. The *front* takes the keys of a slice in blocks, each in passes:
 *
 *     pass over     does                                                                            keys
 *     keys          aim:   where the path of each key begins; its line of the board is asked for    all
 *                   look:  all 64 tickets of the line at once: is one the key's, before the path
 *                          ends at a fresh ticket or, once keys have been erased, at its bound?     all
 *                   claim: a key that is to be inserted, and is not there: a free ticket            new ones
 *     claims        the pairs of those that have claimed tickets are written                        new ones
 *     visits        the slot of the first such ticket: is it the key's? If so the operation is
 *                   done to it                                                                      candidates
 *     look-ons      aim at the next line of the path; look, claim: as above                         a few in a hundred
 *
 *     keys --aim--> look ----------> visits --------> found, or missing; changed
 *                    ^ |   a ticket   |  ^             (and from a look to claims: inserted)
 *                    | |   is the     |  | another key's slot, and another ticket
 *                    | |   key's      v--+ of the line may be the key's
 *                    | v              |
 *                  look-ons <---------+ and more lines of the path to see
 *
 * What goes on is packed into the list of the pass that it needs. When few keys are on these lists the next block begins;
 * behind the last block the passes are repeated until the lists are empty. So groups are whole whatever becomes of single
 * keys, and hardly any branch depends on a key. While a group is looked at the lines of BH_FRONT_AHEAD others are on their
 * way, also across the ends of blocks.
 * What cannot be told here (the path is very long; another thread is at work on the key; no room) is left to the window,
 * from its beginning. What is done to a key, and why in this order, is what flight.h does: see ops.h.
 *
 * front_words.h has how lookups begin where no key has been erased: with the first word of a path instead of its line.
 * front_visits.h has the pass over visits, front_claims.h how keys that are to be inserted claim tickets and write their pairs.
 */
#include "tables/instance.h"

#ifndef BH_TABLES_STADIUM_FRONT_BOARD_H
#define BH_TABLES_STADIUM_FRONT_BOARD_H

/* Keys of a block. Keys that have claimed tickets with locks held hold these until their pairs are written, which
 * may be in the next block: then blocks are shorter. */
#define BH_ST_BLOCK (BH_SLICE_MOST < 320u ? BH_SLICE_MOST + 0u : 320u)
#define BH_ST_BLOCK_LOCKED (BH_ST_BLOCK < 128u ? BH_ST_BLOCK : 128u)

/* Keys that may still be on their way when the next block begins; and places of a list: for these, for those of a
 * block, and a group that is written whole. All lists together never have more keys than that, so visits and claims,
 * which grow from both ends of the same arrays, do not meet. (The front's state is on the stack, of which a call may
 * take 64 KiB in all: this makes it 30 KiB; an ordered mixed call has 34 KiB besides.) */
#define BH_ST_CARRIED (BH_ST_BLOCK / 4)
#define BH_ST_KEYS (BH_ST_CARRIED + BH_ST_BLOCK + BH_FRONT_GROUP)
#define BH_ST_ROOM                                                                                 \
    (BH_ST_KEYS < 32 * BH_FRONT_GROUP ? 32 * BH_FRONT_GROUP : BH_ST_KEYS) /* see front_words.h */

/* Groups of keys that look on: those on their way, one that is looked at, and one that is settled. */
#define BH_ST_RING_ON (BH_FRONT_AHEAD + 2)

/* Slots that are asked for before one is visited. */
#define BH_ST_SLOTS_AHEAD (BH_FRONT_LOOKS_AHEAD * BH_FRONT_GROUP)

/* Lines of a path that the front looks at. A bound of 255 words, which is none, lies behind them. */
#define BH_ST_FRONT_LINES 24u

/* Tickets, and bytes, of a line of the board. */
#define BH_ST_LINE 64u

/*
 * A key's *mark*, and what is known of a ticket, as bits of a word:
 *
 *     63         61..56   55..48   47..12  11..6  5..0
 *                lines    ticket           part   first     a mark
 *     goes on    lines    ticket   address ....... first    a line, as visits have it at first
 *     goes on    lines    ticket   address .............    a ticket, as visits have it then
 *                lines    ticket   address .............    a ticket that has been claimed
 *                lines             address .............    of a look-on: its last line
 *
 *     first      the number, in its line, of the ticket with which the key's path begins
 *     part       the number of the key's part
 *     address    of a line, which is a multiple of 64, or of the ticket that is the key's, or seems to be
 *     ticket     what that is when it is ready
 *     lines      how many lines of the path lie before this one
 *     goes on    the path goes on behind the line
 */
#define BH_ST_ADDRESS ((1ull << 48) - 1)
#define BH_ST_PART_SHIFT 6
#define BH_ST_TICKET_SHIFT 48
#define BH_ST_TICKET (255ull << BH_ST_TICKET_SHIFT)
#define BH_ST_LINES_SHIFT 56
#define BH_ST_LINES_MASK 63u
/* What visits take from a mark: all but its part. */
#define BH_ST_VISITED (~(uint64_t)((BH_ST_PARTS_MOST - 1) << BH_ST_PART_SHIFT))
#define BH_ST_GOES_ON (1ull << 63)

#if BH_ST_PARTS_MOST > 64 || (BH_ST_PARTS_MOST & (BH_ST_PARTS_MOST - 1))
#error "a mark has six bits for the number of a part, which are cut out as a whole"
#endif

/* Tables with fewer locks are so small that a slot is in a cache. A build for tests may want none to be. */
#ifndef BH_ST_LOCKS_MANY
#define BH_ST_LOCKS_MANY 32768u
#endif

/* A set of tickets of a line, a bit for each, in the order in which a path meets their words. */
BH_FN uint64_t bh_st_as_met(uint64_t set, uint32_t first)
{
    return set >> first | set << (0 - first) % 64;
}

/* The tickets of a line up to the first of a set, which are as met; all where the set is empty. (The tickets of a
 * word are claimed from the first fresh one on, so behind that there is none of a key.) */
BH_FN uint64_t bh_st_until(uint64_t fresh)
{
    return fresh ^ (fresh - 1);
}

/* Once keys have been erased: the tickets of a line up to the end of the bound's word, of which `words` of this line lie
 * before, as met. *ends receives 1 where that is in this line, else 0. */
BH_FN uint64_t bh_st_bounded(uint32_t words, uint64_t *ends)
{
    *ends = words < BH_ST_WORDS;
    return ((2ull << (8 * words + 7) % 64) - 1) | (*ends - 1);
}

/* The same for keys with these bounds and marks. */
BH_FN bh_vec bh_st_bounded_all(bh_vec bounds, bh_vec marks, bh_vec *ends)
{
    const bh_vec lines =
        bh_vec_and(bh_vec_right(marks, BH_ST_LINES_SHIFT), bh_vec_all(BH_ST_LINES_MASK));
    const bh_vec words = bh_vec_subtract(bounds, bh_vec_left(lines, 3));
    const bh_vec seven = bh_vec_all(BH_ST_WORDS - 1);
    /* Differences that are negative have the highest bit. */
    const bh_vec behind = bh_vec_right(bh_vec_subtract(seven, words), 63);
    const bh_vec cut = bh_vec_left(bh_vec_subtract(seven, words), 3);

    *ends = bh_vec_xor(behind, bh_vec_all(1));
    return bh_vec_right_by(bh_vec_all(~0ull),
                           bh_vec_and(cut, bh_vec_subtract(behind, bh_vec_all(1))));
}

/* The tickets of a line that are on the path, as met; `fresh` are fresh. *ends receives whether the path ends here: not 0. */
BH_FN uint64_t bh_st_on_path(uint64_t fresh, int turnover, uint32_t words, uint64_t *ends)
{
    uint64_t path = bh_st_until(fresh);

    *ends = 0;
    if (turnover)
        path &= bh_st_bounded(words, ends);
    *ends |= fresh;
    return path;
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

/* How lines of the board, or slots, are asked for. Those that come from memory come to the second-level cache. Slots
 * that are visited to be changed are asked for again a group before that; slots of claims are not
 * (docs/decisions/0035). */
BH_FN bh_asks bh_st_asks(int to_write, uint32_t hints)
{
    return hints & BH_HINT_FAR ? BH_ASKS_FAR : to_write ? BH_ASKS_TO_WRITE : BH_ASKS_TO_READ;
}

/* Asks for a group of lines, or for `count` where these are fewer. */
BH_FN void bh_st_ask_some(const uint64_t *at, uint32_t count, bh_asks how)
{
    uint32_t i;

    if (count < BH_FRONT_GROUP) {
        for (i = 0; i < count; i++)
            bh_ask(bh_st_at(at[i]), how);
        return;
    }
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        bh_ask(bh_st_at(at[i]), how);
}

/* The same with as few branches. */
BH_FN void bh_st_ask_all(const uint64_t *at, uint32_t count, bh_asks how)
{
    if (how == BH_ASKS_FAR)
        bh_st_ask_some(at, count, BH_ASKS_FAR);
    else if (how == BH_ASKS_TO_WRITE)
        bh_st_ask_some(at, count, BH_ASKS_TO_WRITE);
    else
        bh_st_ask_some(at, count, BH_ASKS_TO_READ);
}

/* The number of the part that a mark names. */
BH_FN uint64_t bh_st_marked(uint64_t mark)
{
    return mark >> BH_ST_PART_SHIFT & (BH_ST_PARTS_MOST - 1);
}

#endif

#define BH_ST(name) BH_NAME(bh_st_##name)
#define BH_ST_IS_NARROW BH_ST_NARROW(BH_KEY_BYTES, BH_VALUE_BYTES)
#define BH_ST_IS_PAIR (BH_ST_IS_NARROW && BH_VALUE_BYTES == 4) /* key and value in one word */
#define BH_ST_SHIFT BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)

/* A group of keys on their way to lines of the board. */
typedef struct BH_ST(group) {
    uint64_t line[BH_FRONT_GROUP]; /* address; before that is known, the first word of the hash */
    uint64_t mark[BH_FRONT_GROUP];
    uint64_t two[BH_FRONT_GROUP];   /* the hash's second word */
    uint64_t board[BH_FRONT_GROUP]; /* of the key's part */
    uint64_t units[BH_FRONT_GROUP];
    uint64_t origin[BH_FRONT_GROUP];
    uint64_t bound[BH_FRONT_GROUP]; /* address of the path's, once keys have been erased */
    uint32_t name[BH_FRONT_GROUP];
    uint32_t members; /* a bit for each key that counts */
} BH_ST(group);

/* What has been seen of a group's lines. */
typedef struct BH_ST(seen) {
    uint64_t fresh[BH_FRONT_GROUP]; /* tickets, in the order of the line */
    uint64_t same[BH_FRONT_GROUP];
    uint64_t words[BH_FRONT_GROUP]; /* of the path, once keys have been erased: its bound */
} BH_ST(seen);

/* Keys that look on. */
typedef struct BH_ST(look_ons) {
    uint64_t from[BH_ST_ROOM]; /* address of their last line, and more */
    uint32_t name[BH_ST_ROOM];
    uint32_t count;
} BH_ST(look_ons);

/*
 * Keys on their way to a slot. The slots of the first `asked` have been asked for:
 *
 *                before                                                 then
 *     slot       the tickets of a line that may be the key's, as met    address of the slot of the first of these
 *     ticket     the line, and more                                     that ticket, and more
 *     rest       the origin, unless the table has one part              the other tickets, counted from that one on
 *
 * From the end of the arrays on downwards: `claims` keys that have claimed tickets, and whose pairs are to be written. They have
 * the address of their slot, which has been asked for, that ticket, and, once keys have been erased, as their rest the address
 * of their lock, which is held.
 */
typedef struct BH_ST(visits) {
    uint64_t slot[BH_ST_ROOM];
    uint64_t ticket[BH_ST_ROOM];
    uint64_t rest[BH_ST_ROOM];
    uint32_t name[BH_ST_ROOM];
    uint32_t count, asked, claims;
} BH_ST(visits);

/* A slice on its way through the front. */
typedef struct BH_ST(front_state) {
    const bh_st_geometry *geometry;
    bh__slice slice; /* a copy: nobody else can point to it */
    uint32_t total;  /* elements */
    bh_asks asks_board, asks_slots;
    const void *given;                      /* values of the elements that are written, or 0 */
    uint64_t origin;                        /* of the first part */
    int asks_stamps;                        /* wide pairs are read, and keys may have been erased */
    uint32_t hashed, fetched, aimed, asked; /* elements that have taken the step */
    uint16_t *left;                         /* names of elements that are left to the window */
    uint32_t lefts;                         /* how many */
    BH_ST(group) ring[BH_FRONT_RING];
    BH_ST(group) ring_on[BH_ST_RING_ON]; /* the same of groups that look on */
    BH_ST(seen) seen;
    BH_ST(visits) visits;
    BH_ST(look_ons) look_ons;
} BH_ST(front_state);

BH_FN void BH_ST(leave)(BH_ST(front_state) * f, uint32_t name)
{
    f->left[f->lefts++] = (uint16_t)name;
}

BH_FN BH_KEY BH_ST(key_of)(const BH_ST(front_state) * f, uint32_t name)
{
    return ((const BH_KEY *)f->slice.keys)[name];
}

/* The *origin* of a part: the address of the slot that the ticket at address 0 would have. So the slot of the ticket at `a` is
 * origin + (a << BH_ST_SHIFT). */
BH_FN uint64_t BH_ST(origin_of)(const bh_st_part *part)
{
    return part->slots - (part->board << BH_ST_SHIFT);
}

/* --- lists ---------------------------------------------------------------------------------------- */

/* A key is to visit the first of the tickets `set` of a line, as met; `line` has more, as in visits. */
BH_FN void BH_ST(add_visit)(BH_ST(front_state) * f, uint64_t set, uint64_t line, uint64_t mark,
                            uint32_t name)
{
    BH_ST(visits) *const v = &f->visits;

    v->slot[v->count] = set;
    v->ticket[v->count] = line | (mark & BH_ST_VISITED);
    v->rest[v->count] = BH_ST(origin_of)(&f->geometry->part[bh_st_marked(mark)]);
    v->name[v->count++] = name;
}

/* A key has claimed a ticket, whose slot is at `slot`: its pair is to be written. `claims` others came before. */
BH_FN void BH_ST(put_claim)(BH_ST(visits) * v, uint32_t claims, uint64_t slot, uint64_t ticket,
                            uint32_t name, bh_asks how)
{
    const uint32_t place = BH_ST_ROOM - 1 - claims;

    v->slot[place] = slot;
    v->ticket[place] = ticket;
    v->name[place] = name;
    if (how == BH_ASKS_FAR)
        bh_ask(bh_st_at(slot), BH_ASKS_FAR);
    else
        bh_ask(bh_st_at(slot), BH_ASKS_TO_WRITE);
}

BH_FN void BH_ST(add_look_on)(BH_ST(look_ons) * list, uint64_t from, uint32_t name)
{
    list->from[list->count] = from;
    list->name[list->count++] = name;
}

/* Finds the slots of the next group of visits, or of those that there are before the `end`-th, and asks for them. */
BH_FN void BH_ST(ask_for_slots)(BH_ST(front_state) * f, uint32_t end)
{
    BH_ST(visits) *const v = &f->visits;
    uint64_t *const slot = v->slot + v->asked, *const ticket = v->ticket + v->asked;
    uint64_t *const rests = v->rest + v->asked;
    const uint32_t left = end - v->asked;
    const uint32_t count = left < BH_FRONT_GROUP ? left : BH_FRONT_GROUP;
    const bh_vec in_line = bh_vec_all(BH_ST_LINE - 1), one = bh_vec_all(f->origin);
    uint64_t met[BH_FRONT_GROUP];
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        met[i] = bh_first64(slot[i] | 1ull << 63);
    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec set = bh_vec_load64(slot + i), line = bh_vec_load64(ticket + i);
        const bh_vec first = bh_vec_and(line, in_line);
        const bh_vec skipped = bh_vec_load64(met + i);
        const bh_vec in = bh_vec_and(bh_vec_add(skipped, first), in_line);
        const bh_vec rest = bh_vec_and(set, bh_vec_subtract(set, bh_vec_all(1)));
        const bh_vec at = bh_vec_add(bh_vec_subtract(line, first), in);
        const bh_vec origin = f->geometry->parts == 1 ? one : bh_vec_load64(rests + i);
        const bh_vec number = bh_vec_and(at, bh_vec_all(BH_ST_ADDRESS));

        bh_vec_store64(slot + i, bh_vec_add(origin, bh_vec_left(number, BH_ST_SHIFT)));
        bh_vec_store64(ticket + i, at);
        bh_vec_store64(rests + i, bh_vec_right_by(rest, skipped));
    }
    bh_st_ask_all(slot, count, f->asks_slots);
    if (f->asks_stamps)
        for (i = 0; i < count; i++)
            bh_bring(bh_st_stamp_of(f->geometry, ticket[i] & BH_ST_ADDRESS));
    v->asked += count;
}

BH_FN_RARE void BH_ST(look_on_in_line)(BH_ST(front_state) * f, uint32_t kind, uint64_t ticket,
                                       uint32_t name, int turnover);

#include "tables/stadium/front_visits.h"

/* --- aiming ---------------------------------------------------------------------------------------- */

/* Hashes a group of keys (`one`: of a table of one part): what bh_hash_key, bh_st_ready and bh_st_part_of say of one. */
BH_FN void BH_ST(hash_group)(const bh_st_geometry *g, const BH_KEY *keys, BH_ST(group) * group,
                             int one)
{
    const bh_vec infos = bh_vec_all(g->infos), below16 = bh_vec_all(0xffff);
    const bh_vec parts = bh_vec_all(g->parts), whole = bh_vec_all(g->whole);
    const bh_vec part_bits = bh_vec_all(2 * g->whole - 1);
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_hashes h = bh_hash_keys(BH_LOAD_VECTOR(keys + i), BH_KEY_BYTES, &g->seed);
        const bh_vec info = bh_vec_right(
            bh_vec_multiply32(bh_vec_and(bh_vec_right(h.two, 16), below16), infos), 16);
        const bh_vec ready = bh_vec_add(bh_vec_left(info, 1), bh_vec_all(3));
        const bh_vec first = bh_vec_left(bh_vec_and(h.two, bh_vec_all(BH_ST_WORDS - 1)), 3);
        bh_vec mark = bh_vec_or(bh_vec_left(ready, BH_ST_TICKET_SHIFT), first);

        if (!one) {
            const bh_vec low = bh_vec_and(h.one, part_bits);
            const bh_vec is_there = bh_vec_right(bh_vec_subtract(low, parts), 63);
            const bh_vec part =
                bh_vec_add(bh_vec_subtract(low, whole), bh_vec_multiply32(is_there, whole));

            mark = bh_vec_or(mark, bh_vec_left(part, BH_ST_PART_SHIFT));
        }
        bh_vec_store64(group->line + i, h.one);
        bh_vec_store64(group->two + i, h.two);
        bh_vec_store64(group->mark + i, mark);
    }
}

/* Gathers the names and keys of eight elements from `first` on, of a slice that has a list, or of the last ones,
 * `left` in number: where there are no eight the last one stands for those that are missing. */
BH_FN void BH_ST(gather_keys)(const BH_ST(front_state) * f, uint32_t first, uint32_t left,
                              uint32_t *names, BH_KEY *keys)
{
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const uint32_t at = first + (i < left ? i : left - 1);

        names[i] = f->slice.listed ? f->slice.list[at] : at;
        keys[i] = BH_ST(key_of)(f, names[i]);
    }
}

/* Gathers the next group of the slice's elements, from `first` on, and hashes them. */
BH_FN void BH_ST(gather_group)(const BH_ST(front_state) * f, uint32_t first, BH_ST(group) * group)
{
    const uint32_t left = f->total - first;
    const BH_KEY *keys = (const BH_KEY *)f->slice.keys + first;
    BH_KEY gathered[BH_FRONT_GROUP];
    uint32_t i;

    group->members = left < BH_FRONT_GROUP ? (1u << left) - 1 : BH_FRONT_ALL;
    bh_keys_ahead(keys, BH_KEY_BYTES, left);
    if (f->given)
        bh_keys_ahead((const BH_VALUE *)f->given + first, BH_VALUE_BYTES, left);
    for (i = 0; i < BH_FRONT_GROUP; i++)
        group->name[i] = first + i;
    if (f->slice.listed || left < BH_FRONT_GROUP) {
        BH_ST(gather_keys)(f, first, left, group->name, gathered);
        keys = gathered;
    }
    BH_ST(hash_group)(f->geometry, keys, group, f->geometry->parts == 1);
}

/* Fetches what a group must know of its keys' parts. A table of one part needs no words for each. */
BH_FN void BH_ST(fetch_parts)(const bh_st_geometry *g, BH_ST(group) * group, int turnover)
{
    uint32_t i;

    if (g->parts == 1)
        return;
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const bh_st_part *const part = &g->part[bh_st_marked(group->mark[i])];

        group->board[i] = part->board;
        group->units[i] = part->units;
        group->origin[i] = BH_ST(origin_of)(part);
        if (turnover)
            group->bound[i] = part->bounds;
    }
}

/* Says where the paths of a group's keys begin: in which lines, or with which words. (No part has as many as 2^32
 * lines: see BH_ST_WORDS_MOST in policy.h.) */
BH_FN void BH_ST(aim_group)(const bh_st_geometry *g, BH_ST(group) * group, int turnover,
                            int to_words, int one)
{
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec units = one ? bh_vec_all(g->part->units) : bh_vec_load64(group->units + i);
        const bh_vec board = one ? bh_vec_all(g->part->board) : bh_vec_load64(group->board + i);
        const bh_vec unit = bh_hash_ranges(bh_vec_load64(group->line + i), units);
        bh_vec at = bh_vec_add(board, bh_vec_left(unit, 6));

        if (to_words)
            at = bh_vec_or(at,
                           bh_vec_and(bh_vec_load64(group->mark + i), bh_vec_all(BH_ST_LINE - 1)));
        bh_vec_store64(group->line + i, at);
        if (turnover)
            bh_vec_store64(group->bound + i, bh_vec_add(one ? bh_vec_all(g->part->bounds)
                                                            : bh_vec_load64(group->bound + i),
                                                        unit));
    }
}

/* The steps up to the first look, until the lines of `ahead` groups behind element `at` have been asked for. In each
 * turn a group takes one step and others take the steps before: what was stored word by word, and is loaded as
 * vectors, or the other way round, must have come to the first cache by then (docs/decisions/0028). */
BH_FN void BH_ST(bring_lines)(BH_ST(front_state) * f, uint32_t at, uint32_t ahead, int turnover)
{
    while (f->asked < f->total && f->asked <= at + ahead * BH_FRONT_GROUP) {
        if (f->asked < f->aimed) {
            const BH_ST(group) *const group = &f->ring[bh_front_place(f->asked)];

            bh_st_ask_all(group->line, BH_FRONT_GROUP, f->asks_board);
            if (turnover)
                bh_st_ask_all(group->bound, BH_FRONT_GROUP, BH_ASKS_TO_READ);
            f->asked += BH_FRONT_GROUP;
        }
        if (f->aimed < f->fetched) {
            BH_ST(aim_group)
            (f->geometry, &f->ring[bh_front_place(f->aimed)], turnover, 0, f->geometry->parts == 1);
            f->aimed += BH_FRONT_GROUP;
        }
        if (f->fetched < f->hashed) {
            BH_ST(fetch_parts)
            (f->geometry, &f->ring[bh_front_place(f->fetched)], turnover);
            f->fetched += BH_FRONT_GROUP;
        }
        if (f->hashed < f->total) {
            BH_ST(gather_group)(f, f->hashed, &f->ring[bh_front_place(f->hashed)]);
            f->hashed += BH_FRONT_GROUP;
        }
    }
}

/* --- looking ----------------------------------------------------------------------------------------- */

/* Looks at the lines of a group. */
BH_FN void BH_ST(look_at_lines)(const BH_ST(group) * group, uint32_t kind, int turnover,
                                BH_ST(seen) * seen)
{
    const uint64_t *const mark = group->mark;
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const bh_line board = bh_line_load(bh_st_at(group->line[i]));

        seen->fresh[i] = bh_line_match8(board, 0);
        seen->same[i] = bh_st_same(board, bh_st_ready_of(mark + i), kind, turnover);
        if (turnover)
            seen->words[i] = bh_load8(bh_st_at(group->bound[i]));
    }
}

#include "tables/stadium/front_claims.h"

/* Says where the keys of a group go on whose lines have been seen: the first of their paths, or further ones. */
BH_FN void BH_ST(settle_lines)(BH_ST(front_state) * f, const BH_ST(group) * group, uint32_t kind,
                               int turnover, int looks_on)
{
    const int in_words = BH_OP_INSERTS(kind) && !turnover && !looks_on;
    uint64_t set[BH_FRONT_GROUP], to[BH_FRONT_GROUP];
    BH_ST(words) words;
    const uint64_t *const line = group->line, *const mark = group->mark;
    const BH_ST(seen) *const seen = &f->seen;
    BH_ST(visits) *const v = &f->visits;
    uint32_t open = BH_FRONT_ALL, on = 0, later = 0, ended, i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec marks = bh_vec_load64(mark + i);
        const bh_vec first = bh_vec_and(marks, bh_vec_all(BH_ST_LINE - 1));
        const bh_vec free = bh_vec_rotate(bh_vec_load64(seen->fresh + i), first);
        const bh_vec from =
            bh_vec_or(bh_vec_load64(line + i), bh_vec_and(marks, bh_vec_all(BH_ST_VISITED)));
        bh_vec path = bh_vec_xor(free, bh_vec_subtract(free, bh_vec_all(1))); /* bh_st_until */
        bh_vec ends = free, same = bh_vec_rotate(bh_vec_load64(seen->same + i), first), goes_on;

        if (turnover) {
            bh_vec in_line;

            path = bh_vec_and(path,
                              bh_st_bounded_all(bh_vec_load64(seen->words + i), marks, &in_line));
            ends = bh_vec_or(ends, in_line);
        }
        same = bh_vec_and(same, path);
        goes_on = bh_vec_xor(bh_st_not_zero(ends), bh_vec_all(1));
        bh_vec_store64(set + i, same);
        bh_vec_store64(to + i, bh_vec_or(from, bh_vec_left(goes_on, 63)));
        if (BH_OP_INSERTS(kind))
            bh_vec_store64(words.fresh + i, free);
        if (in_words) {
            const bh_vec word = bh_vec_add(bh_vec_load64(line + i), first);
            const bh_vec origin =
                f->geometry->parts == 1 ? bh_vec_all(f->origin) : bh_vec_load64(group->origin + i);

            bh_vec_store64(words.word + i, word);
            bh_vec_store64(words.ticket + i,
                           bh_vec_or(word, bh_vec_and(marks, bh_vec_all(BH_ST_TICKET))));
            bh_vec_store64(words.slot + i, bh_vec_add(origin, bh_vec_left(word, BH_ST_SHIFT)));
            later |= bh_vec_zeros(bh_vec_and(free, bh_vec_all(255))) << i;
        }
        open ^= bh_vec_zeros(same) << i;
        on |= bh_vec_zeros(bh_vec_or(same, ends)) << i;
    }
    open &= group->members;
    on &= group->members;
    /* Few new keys find a ticket that may be theirs; of lookups whether there is one in a group nobody foresees. */
    if (!BH_OP_INSERTS(kind) || open) {
        bh_pack64(v->slot + v->count, set, BH_FRONT_GROUP, open);
        bh_pack64(v->ticket + v->count, to, BH_FRONT_GROUP, open);
        if (f->geometry->parts > 1)
            bh_pack64(v->rest + v->count, group->origin, BH_FRONT_GROUP, open);
        bh_pack32(v->name + v->count, group->name, BH_FRONT_GROUP, open);
        v->count += bh_count(open);
    }
    ended = BH_OP_INSERTS(kind) ? group->members & ~open & ~on : 0;
    for (; on; on &= on - 1) {
        i = bh_first(on);
        BH_ST(add_look_on)
        (&f->look_ons, line[i] | (mark[i] >> BH_ST_LINES_SHIFT << BH_ST_LINES_SHIFT),
         group->name[i]);
    }
    if (in_words && f->slice.room >= BH_FRONT_GROUP) {
        BH_ST(claim_in_words)(f, &words, group->name, ended & ~later);
        ended &= later;
    }
    if (ended && turnover)
        BH_ST(insert_ended_old)(f, kind, group, words.fresh, ended);
    else if (ended)
        BH_ST(insert_ended)(f, kind, group, words.fresh, ended, 0);
}

/* The pass over the keys from `first` to `end`. A group is settled a turn after it has been looked at. The first
 * slots are asked for at once, others by the pass over visits. */
BH_FN void BH_ST(look_at_keys)(BH_ST(front_state) * f, uint32_t first, uint32_t end, uint32_t kind,
                               int turnover)
{
    const uint32_t ahead = kind == BH_FIND ? BH_FRONT_LOOKS_AHEAD : BH_FRONT_AHEAD;
    uint32_t at;

    for (at = first; at < end + BH_FRONT_GROUP; at += BH_FRONT_GROUP) {
        if (at < end)
            BH_ST(bring_lines)(f, at, ahead, turnover);
        if (at > first)
            BH_ST(settle_lines)
        (f, &f->ring[bh_front_place(at - BH_FRONT_GROUP)], kind, turnover, 0);
        if (at < end)
            BH_ST(look_at_lines)(&f->ring[bh_front_place(at)], kind, turnover, &f->seen);
        if (f->visits.asked < BH_ST_SLOTS_AHEAD &&
            f->visits.count - f->visits.asked >= 2 * BH_FRONT_GROUP)
            BH_ST(ask_for_slots)(f, f->visits.count);
    }
}

/* --- looking on --------------------------------------------------------------------------------------- */

/* Of insertions, one key looks on alone: at its line again behind a ticket that was not its own. (Another ticket may have been
 * claimed since, for the same key.) If it claims a ticket its pair is written at once: claims, which come from the end of the
 * list, must not meet the visits that this pass has not seen yet. */
BH_FN_RARE void BH_ST(look_on_in_line)(BH_ST(front_state) * f, uint32_t kind, uint64_t ticket,
                                       uint32_t name, int turnover)
{
    const bh_st_geometry *const g = f->geometry;
    const bh_hash h = bh_hash_key(BH_ST(key_of)(f, name), &g->seed);
    const bh_st_part *const part = bh_st_part_of(g, &h);
    const uint64_t at = ticket & BH_ST_ADDRESS, line = at - at % BH_ST_LINE;
    const uint64_t lines = bh_st_lines_of(ticket);
    const uint32_t ready = bh_st_ready(g, &h), first = h.two % BH_ST_WORDS * 8;
    const uint64_t mark = lines << BH_ST_LINES_SHIFT | (uint64_t)ready << BH_ST_TICKET_SHIFT |
                          (uint64_t)(part - g->part) << BH_ST_PART_SHIFT | first;
    const bh_line board = bh_line_load(bh_st_at(line));
    const uint64_t fresh = bh_st_as_met(bh_line_match8(board, 0), first);
    const uint64_t behind = ~1ull << (at - first) % BH_ST_LINE;
    const BH_ST(ending) e = {line,
                             mark,
                             BH_ST(origin_of)(part),
                             part->bounds + bh_hash_range(h.one, part->units),
                             bh_st_lock_at(g, h.two),
                             name};
    const uint32_t words = turnover ? bh_load8(bh_st_at(e.bound)) : 0;
    uint64_t ends, left;

    left = bh_st_on_path(fresh, turnover, words - (uint32_t)lines * BH_ST_WORDS, &ends) & behind &
           bh_st_as_met(bh_st_same(board, ready, kind, turnover), first);
    if (left)
        BH_ST(add_visit)(f, left, line | (ends ? 0 : BH_ST_GOES_ON), mark, name);
    else if (ends)
        BH_ST(insert_at_end)(f, kind, &e, fresh, turnover, 1);
    else
        BH_ST(add_look_on)(&f->look_ons, line | lines << BH_ST_LINES_SHIFT, name);
}

/* Says where the next lines of the paths of a group are, whose last lines are `from`. Keys whose paths have become
 * too long do not count any more. */
BH_FN void BH_ST(aim_on)(const bh_st_geometry *g, BH_ST(group) * group, const uint64_t *from)
{
    const bh_vec one = bh_vec_all(1), most = bh_vec_all(BH_ST_FRONT_LINES);
    const int alone = g->parts == 1;
    uint32_t on = 0, i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec units = alone ? bh_vec_all(g->part->units) : bh_vec_load64(group->units + i);
        const bh_vec board = alone ? bh_vec_all(g->part->board) : bh_vec_load64(group->board + i);
        const bh_vec bounds = alone ? bh_vec_all(g->part->bounds) : bh_vec_load64(group->bound + i);
        const bh_vec home = bh_hash_ranges(bh_vec_load64(group->line + i), units);
        const bh_vec step =
            bh_hash_ranges(bh_vec_load64(group->two + i), bh_vec_subtract(units, one));
        const bh_vec at = bh_vec_and(bh_vec_load64(from + i), bh_vec_all(BH_ST_ADDRESS));
        const bh_vec lines =
            bh_vec_add(bh_vec_right(bh_vec_load64(from + i), BH_ST_LINES_SHIFT), one);
        const bh_vec last = bh_vec_right(bh_vec_subtract(at, board), 6);
        const bh_vec next = bh_vec_add(bh_vec_add(last, step), one);
        /* Differences that are negative have the highest bit. */
        const bh_vec wraps = bh_vec_xor(bh_vec_right(bh_vec_subtract(next, units), 63), one);
        const bh_vec unit = bh_vec_subtract(next, bh_vec_multiply32(units, wraps));
        const bh_vec is_short = bh_vec_right(
            bh_vec_and(bh_vec_subtract(lines, units), bh_vec_subtract(lines, most)), 63);

        bh_vec_store64(group->line + i, bh_vec_add(board, bh_vec_left(unit, 6)));
        bh_vec_store64(group->bound + i, bh_vec_add(bounds, home));
        bh_vec_store64(group->mark + i, bh_vec_or(bh_vec_load64(group->mark + i),
                                                  bh_vec_left(lines, BH_ST_LINES_SHIFT)));
        on |= bh_vec_zeros(bh_vec_xor(is_short, one)) << i;
    }
    group->members &= on;
}

/* Gathers the next group of `end` keys that look on, finds their next lines, and asks for these. */
BH_FN void BH_ST(gather_on)(BH_ST(front_state) * f, uint32_t at, uint32_t end, BH_ST(group) * group)
{
    BH_ST(look_ons) *const list = &f->look_ons;
    const uint32_t left = end - at;
    uint32_t all, i;
    BH_KEY keys[BH_FRONT_GROUP];

    /* Where there are no eight left the first one stands for those that are missing. */
    for (i = left; i < BH_FRONT_GROUP; i++) {
        list->from[at + i] = list->from[at];
        list->name[at + i] = list->name[at];
    }
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        group->name[i] = list->name[at + i];
        keys[i] = BH_ST(key_of)(f, group->name[i]);
    }
    all = group->members = left < BH_FRONT_GROUP ? (1u << left) - 1 : BH_FRONT_ALL;
    BH_ST(hash_group)(f->geometry, keys, group, f->geometry->parts == 1);
    BH_ST(fetch_parts)(f->geometry, group, 1);
    BH_ST(aim_on)(f->geometry, group, list->from + at);
    bh_st_ask_all(group->line, BH_FRONT_GROUP, f->asks_board);
    for (all &= ~group->members; all; all &= all - 1)
        BH_ST(leave)(f, group->name[bh_first(all)]);
}

BH_FN BH_ST(group) * BH_ST(group_on)(BH_ST(front_state) * f, uint32_t at)
{
    return &f->ring_on[at / BH_FRONT_GROUP % BH_ST_RING_ON];
}

/* The pass over look-ons. Those that come of it take the places of others, which have been gathered. */
BH_FN void BH_ST(look_on_all)(BH_ST(front_state) * f, uint32_t kind, int turnover)
{
    const uint32_t ahead = BH_FRONT_AHEAD * BH_FRONT_GROUP, end = f->look_ons.count;
    uint32_t gathered = 0, at;

    f->look_ons.count = 0;
    for (at = 0; at < end + BH_FRONT_GROUP; at += BH_FRONT_GROUP) {
        for (; gathered < end && gathered <= at + ahead; gathered += BH_FRONT_GROUP)
            BH_ST(gather_on)(f, gathered, end, BH_ST(group_on)(f, gathered));
        if (at)
            BH_ST(settle_lines)(f, BH_ST(group_on)(f, at - BH_FRONT_GROUP), kind, turnover, 1);
        if (at < end)
            BH_ST(look_at_lines)(BH_ST(group_on)(f, at), kind, turnover, &f->seen);
    }
}

/* --- the whole slice ----------------------------------------------------------------------------------- */

/* Says that all keys of a slice are missing, until more is known. */
BH_FN void BH_ST(say_missing)(const bh__slice *slice)
{
    uint32_t i;

    if (!slice->listed)
        __builtin_memset(slice->outcomes, BH_MISSING, slice->count);
    for (i = 0; i < slice->listed; i++)
        slice->outcomes[slice->list[i]] = BH_MISSING;
}

/* Begins with a slice. */
BH_FN void BH_ST(begin_front)(BH_ST(front_state) * f, const bh__slice *shared, uint32_t kind,
                              int turnover)
{
    f->geometry = (const bh_st_geometry *)shared->geometry;
    f->slice = *shared;
    f->total = shared->listed ? shared->listed : shared->count;
    f->asks_board = bh_st_asks(BH_OP_INSERTS(kind) || BH_OP_ERASES(kind), shared->hints);
    f->asks_slots = bh_st_asks(kind != BH_FIND, shared->hints);
    f->given = BH_VALUE_BYTES && BH_OP_READS(kind) ? shared->values : 0;
    f->asks_stamps = BH_VALUE_BYTES && !BH_ST_IS_NARROW && turnover && BH_OP_KEEPS(kind) &&
                     BH_OP_WRITES(kind) && f->slice.values_out;
    f->origin = BH_ST(origin_of)(f->geometry->part);
    f->hashed = f->fetched = f->aimed = f->asked = 0;
    f->left = shared->list;
    f->lefts = 0;
    f->visits.count = f->visits.asked = f->visits.claims = f->look_ons.count = 0;
    if (f->slice.outcomes && !BH_OP_INSERTS(kind))
        BH_ST(say_missing)(&f->slice);
}

/* The passes over claims, visits and look-ons, until few keys are on these lists, or, where no more keys come, none. */
BH_FN void BH_ST(go_through_lists)(BH_ST(front_state) * f, uint32_t kind, int turnover, int more)
{
    do {
        if (BH_OP_INSERTS(kind))
            BH_ST(write_pairs)(f, kind, turnover);
        BH_ST(visit_all)(f, kind, turnover);
        BH_ST(look_on_all)(f, kind, turnover);
    } while (f->visits.count + f->visits.claims + f->look_ons.count > (more ? BH_ST_CARRIED : 0));
}

#include "tables/stadium/front_words.h"

/* Runs the elements of a slice. Writes the names of those that are left to the window to its list. `kind` is mostly a
 * constant, and so is `turnover`. `by_words`: lookups in a table from which no key has been erased. */
BH_FN void BH_ST(front_of)(bh__slice *shared, uint32_t kind, int turnover, int by_words)
{
    const uint32_t block = BH_OP_INSERTS(kind) && turnover ? BH_ST_BLOCK_LOCKED : BH_ST_BLOCK;
    uint32_t by_line = 0, visits = 0, first = 0, end;
    BH_ST(front_state) f;

    BH_ST(begin_front)(&f, shared, kind, turnover);
    if (by_words && !shared->absent && !shared->listed && f.total >= BH_ST_WORDS_LEAST)
        first = BH_ST(look_by_words)(&f);
    for (; first < f.total; first = end) {
        const uint32_t before = f.visits.count;

        end = f.total - first < block ? f.total : first + block;
        BH_ST(look_at_keys)(&f, first, end, kind, turnover);
        visits += f.visits.count - before;
        by_line += end - first;
        BH_ST(go_through_lists)(&f, kind, turnover, end < f.total);
    }
    if (by_words)
        shared->absent = visits < by_line / 2;
    shared->room = f.slice.room;
    shared->inserted = f.slice.inserted;
    shared->erased = f.slice.erased;
    shared->assigned = f.slice.assigned;
    shared->listed = f.lefts;
}

/* Whether elements of a slice, which do `kind`, are for the front: they are many, and the table's board is as it is by
 * default. The first erasure needs the policy. */
BH_FN int BH_ST(takes_front)(const bh__slice *slice, uint32_t kind)
{
    const bh_st_geometry *g = (const bh_st_geometry *)slice->geometry;

    if ((slice->listed ? slice->listed : slice->count) < BH_FRONT_LEAST || !BH_BRINGS || g->far ||
        g->by_slot || g->width != 8 || g->group != 8 || BH_ST_WORDS != 8)
        return 0;
    return g->turnover || !BH_OP_ERASES(kind);
}

/* The front for each operation that tables are made for, and for others. Functions of their own: the state lies on
 * the stack only while the front runs, and in one function gcc would make slower code of each. `old`: keys may have
 * been erased. */
BH_FN_RARE void BH_ST(front_find)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_FIND, 0, 1);
}

BH_FN_RARE void BH_ST(front_find_old)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_FIND, 1, 0);
}

BH_FN_RARE void BH_ST(front_insert)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_INSERT, 0, 0);
}

BH_FN_RARE void BH_ST(front_insert_old)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_INSERT, 1, 0);
}

BH_FN_RARE void BH_ST(front_add)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_ADD, 0, 0);
}

BH_FN_RARE void BH_ST(front_erase_old)(bh__slice *slice)
{
    BH_ST(front_of)(slice, BH_ERASE, 1, 0);
}

BH_FN_RARE void BH_ST(front_any)(bh__slice *slice, uint32_t kind)
{
    BH_ST(front_of)(slice, kind, 0, 0);
}

BH_FN_RARE void BH_ST(front_any_old)(bh__slice *slice, uint32_t kind)
{
    BH_ST(front_of)(slice, kind, 1, 0);
}

/* Runs a slice that takes the front; its list then names the elements that are left. */
BH_FN_RARE void BH_ST(run_front)(bh__slice *slice, uint32_t kind)
{
    if (((const bh_st_geometry *)slice->geometry)->turnover) {
        switch (kind) {
        case BH_FIND: BH_ST(front_find_old)(slice); break;
        case BH_INSERT: BH_ST(front_insert_old)(slice); break;
        case BH_ERASE: BH_ST(front_erase_old)(slice); break;
        default: BH_ST(front_any_old)(slice, kind);
        }
        return;
    }
    switch (kind) {
    case BH_FIND: BH_ST(front_find)(slice); break;
    case BH_INSERT: BH_ST(front_insert)(slice); break;
    case BH_ADD: BH_ST(front_add)(slice); break;
    default: BH_ST(front_any)(slice, kind);
    }
}

#undef BH_ST
#undef BH_ST_IS_NARROW
#undef BH_ST_IS_PAIR
#undef BH_ST_SHIFT
