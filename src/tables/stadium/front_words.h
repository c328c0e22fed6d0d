/*
 * Stadium hashing, the front's lookups where no key has been erased, of slices without a list: by the first words of
 * paths. An include-template that front_board.h includes; see there.
 *
 * Most keys that are there are in the first word of their path, and most paths of absent keys end in it. Looking at a
 * word costs a fraction of looking at a line: eight words fill one vector, or two. So lookups go through words first,
 * and through the lines of the board, as other operations do, only where the first word does not tell:
 *
 *     pass over     does                                                                                        keys
 *     keys          aim:     where the first word of each path is; its line of the board is asked for           all
 *                   look:    the first ticket of the word that is the key's, if one is; its slot is asked for;
 *                            without one, and with a fresh ticket in the word, the key is missing               all
 *                   visit:   is the key in that slot?                                                           all
 *     lines         look at whole lines, as front_board.h says                                                  others
 *     visits, look-ons   as front_board.h says
 *
 * A word is full in two paths of five at fill 0.8, and then the path goes on. Where the slot has another key, the key is
 * looked up anew, beginning with its line.
 *
 * Keys stay in their groups of eight, in the caller's order, from their hash to their answer, so that nothing is packed, and
 * answers of a group are written at once. Groups without any ticket to visit are not visited.
 */

#ifndef BH_TABLES_STADIUM_FRONT_WORDS_H
#define BH_TABLES_STADIUM_FRONT_WORDS_H

/* While the pass over keys runs there are no claims, and so few visits that these do not reach the upper half of the
 * arrays of visits. There lie
 *
 *     slot, name    the list of keys whose lines are to be looked at, with their *entries*
 *     rest          a ring of groups whose words have been looked at: their slots */
#define BH_ST_UPPER (BH_ST_ROOM / 2)

/* Keys on that list when the pass over keys stops. A turn adds up to two groups; and visits are written by whole groups. */
#define BH_ST_LINES_MOST (BH_ST_UPPER - BH_ST_CARRIED - 3 * BH_FRONT_GROUP)

/* Groups whose slots have been asked for, one that is visited and one that is answered: 13, and a power of two. (The
 * upper half of an array has room for them: that is what the second number in BH_ST_ROOM is for.) */
#define BH_ST_SLOTS_RING 16u

#if BH_ST_SLOTS_RING < BH_FRONT_LOOKS_AHEAD + 2 || 2 * BH_ST_SLOTS_RING > 32
#error "the ring of slots is too short, or too long for BH_ST_ROOM"
#endif

/*
 * An entry: what the pass over lines must know of a key.
 *
 *     63..62  61..56   55..48   47..0
 *             part     ticket   address of the first word of the path
 */
#define BH_ST_ENTRY_PART 56

/* Elements of a slice that goes by words, at least: in fewer, a group that is on its way for 27 turns loses more than it
 * gains. A build for tests may have slices of fewer. */
#ifndef BH_ST_WORDS_LEAST
#define BH_ST_WORDS_LEAST 512u
#endif

/* How many turns after its hash a group takes each step; and how many turns it is on its way. */
enum {
    BH_ST_TURN_FETCH = 1,
    BH_ST_TURN_AIM,
    BH_ST_TURN_ASK,
    BH_ST_TURN_LOOK = BH_ST_TURN_ASK + BH_FRONT_LOOKS_AHEAD,
    BH_ST_TURN_SETTLE,
    BH_ST_TURN_VISIT = BH_ST_TURN_SETTLE + BH_FRONT_LOOKS_AHEAD,
    BH_ST_TURN_ANSWER,
    BH_ST_TURNS
};

/* Where fewer of the keys that have been looked at have a ticket in their first word, most keys are absent, and unless the
 * table is hardly half full it is cheaper to look at lines at once. (That is decided when the list is full, from all keys
 * of the slice so far.) */
#define BH_ST_FEW(looked) ((looked) / 8 * 3)

#endif

/* A slice on its way through the pass over keys. */
typedef struct BH_ST(words_state) {
    uint32_t turn;
    uint32_t coming;                    /* groups that are to be looked at */
    uint32_t groups;                    /* groups that are to be answered */
    uint32_t lines;                     /* keys on the list */
    uint32_t candidates;                /* keys that have had a slot to visit */
    uint64_t word[BH_FRONT_GROUP];      /* of the group that has been looked at */
    BH_ST(slots) seen;                  /* of the group that has been visited */
    uint8_t has_slot[BH_ST_SLOTS_RING]; /* a bit for each key of a group that has a slot to visit */
} BH_ST(words_state);

BH_FN BH_ST(group) * BH_ST(group_at)(BH_ST(front_state) * f, uint32_t group)
{
    return &f->ring[group % BH_FRONT_RING];
}

BH_FN uint64_t *BH_ST(slots_of)(BH_ST(front_state) * f, uint32_t group)
{
    return f->visits.rest + BH_ST_UPPER + group % BH_ST_SLOTS_RING * BH_FRONT_GROUP;
}

/* --- the list of lines ------------------------------------------------------------------------------- */

/* A key whose slot had another one goes to the list: its path is looked at from its first ticket on. */
BH_FN_RARE void BH_ST(list_line)(BH_ST(front_state) * f, BH_ST(words_state) * w, uint32_t name)
{
    const bh_st_geometry *const g = f->geometry;
    const bh_hash h = bh_hash_key(BH_ST(key_of)(f, name), &g->seed);
    const bh_st_part *const part = bh_st_part_of(g, &h);
    const uint64_t word =
        part->board + bh_hash_range(h.one, part->units) * BH_ST_LINE + h.two % BH_ST_WORDS * 8;

    f->visits.slot[BH_ST_UPPER + w->lines] = word |
                                             (uint64_t)bh_st_ready(g, &h) << BH_ST_TICKET_SHIFT |
                                             (uint64_t)(part - g->part) << BH_ST_ENTRY_PART;
    f->visits.name[BH_ST_UPPER + w->lines++] = name;
}

/* Makes a group of the keys on the list from `at` on. */
BH_FN void BH_ST(gather_lines)(const BH_ST(front_state) * f, const BH_ST(words_state) * w,
                               uint32_t at, BH_ST(group) * group)
{
    const uint64_t *const entries = f->visits.slot + BH_ST_UPPER + at;
    const uint32_t left = w->lines - at;
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec entry = bh_vec_load64(entries + i);
        const bh_vec first = bh_vec_and(entry, bh_vec_all(BH_ST_LINE - 1));
        bh_vec mark = bh_vec_or(first, bh_vec_and(entry, bh_vec_all(BH_ST_TICKET)));

        if (f->geometry->parts > 1)
            mark = bh_vec_or(mark, bh_vec_left(bh_vec_and(bh_vec_right(entry, BH_ST_ENTRY_PART),
                                                          bh_vec_all(BH_ST_PARTS_MOST - 1)),
                                               BH_ST_PART_SHIFT));
        bh_vec_store64(group->line + i,
                       bh_vec_and(entry, bh_vec_all(BH_ST_ADDRESS - (BH_ST_LINE - 1))));
        bh_vec_store64(group->mark + i, mark);
    }
    __builtin_memcpy(group->name, f->visits.name + BH_ST_UPPER + at, sizeof group->name);
    group->members = left < BH_FRONT_GROUP ? (1u << left) - 1 : BH_FRONT_ALL;
    BH_ST(fetch_parts)(f->geometry, group, 0);
}

/* The pass over lines. (They are in a cache: their words have been looked at.) Where there is no whole group on the list the
 * first key stands for those that are missing. */
BH_FN void BH_ST(look_at_listed)(BH_ST(front_state) * f, BH_ST(words_state) * w)
{
    BH_ST(visits) *const v = &f->visits;
    BH_ST(group) *now = f->ring_on, *last = f->ring_on + 1, *other;
    uint32_t at, i;

    for (i = w->lines; i % BH_FRONT_GROUP; i++) {
        v->slot[BH_ST_UPPER + i] = v->slot[BH_ST_UPPER];
        v->name[BH_ST_UPPER + i] = v->name[BH_ST_UPPER];
    }
    for (at = 0; at < w->lines + BH_FRONT_GROUP; at += BH_FRONT_GROUP) {
        if (at < w->lines)
            BH_ST(gather_lines)(f, w, at, now);
        if (at)
            BH_ST(settle_lines)(f, last, BH_FIND, 0, 0);
        if (at < w->lines)
            BH_ST(look_at_lines)(now, BH_FIND, 0, &f->seen);
        other = last;
        last = now;
        now = other;
    }
    w->lines = 0;
}

/* --- the pass over keys ------------------------------------------------------------------------------ */

/* How many elements there are from the first of a group on: eight, or fewer in the last one. */
BH_FN uint32_t BH_ST(count_of)(const BH_ST(front_state) * f, uint32_t group)
{
    const uint32_t left = f->total - group * BH_FRONT_GROUP;

    return left < BH_FRONT_GROUP ? left : BH_FRONT_GROUP;
}

/* Hashes a group's keys; `whole`: they are eight, and the table has one part. */
BH_FN void BH_ST(hash_words)(BH_ST(front_state) * f, uint32_t number, int whole)
{
    const uint32_t first = number * BH_FRONT_GROUP;
    const uint32_t count = whole ? BH_FRONT_GROUP : BH_ST(count_of)(f, number);
    const BH_KEY *keys = (const BH_KEY *)f->slice.keys + first;
    BH_ST(group) *const group = BH_ST(group_at)(f, number);
    BH_KEY gathered[BH_FRONT_GROUP];

    bh_keys_ahead(keys, BH_KEY_BYTES, f->total - first);
    if (count < BH_FRONT_GROUP) {
        BH_ST(gather_keys)(f, first, count, group->name, gathered);
        keys = gathered;
    }
    BH_ST(hash_group)(f->geometry, keys, group, whole || f->geometry->parts == 1);
}

/* Looks at the first words of a group's paths. */
BH_FN void BH_ST(look_at_words)(const BH_ST(group) * group, BH_ST(words_state) * w)
{
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        w->word[i] = bh_load64(bh_st_at(group->line[i]));
}

/* Keys of a group whose words are full, without a ticket of theirs, go to the list. */
BH_FN void BH_ST(list_full)(BH_ST(front_state) * f, BH_ST(words_state) * w, uint32_t number,
                            const uint64_t *entries, uint32_t full)
{
    uint32_t names[BH_FRONT_GROUP], *const listed = f->visits.name + BH_ST_UPPER + w->lines, i;

    for (i = 0; i < BH_FRONT_GROUP; i++)
        names[i] = number * BH_FRONT_GROUP + i;
    bh_pack64(f->visits.slot + BH_ST_UPPER + w->lines, entries, BH_FRONT_GROUP, full);
    bh_pack32(listed, names, BH_FRONT_GROUP, full);
    w->lines += bh_count(full);
}

/* Finds the slots of the group that has been looked at last, and asks for them. What a key without a ticket has for
 * a slot is its line of the board, which is at hand. */
BH_FN void BH_ST(settle_words)(BH_ST(front_state) * f, BH_ST(words_state) * w, uint32_t number,
                               int whole)
{
    const BH_ST(group) *const group = BH_ST(group_at)(f, number);
    const bh_vec one = bh_vec_all(f->origin);
    const uint32_t members = whole ? BH_FRONT_ALL : (1u << BH_ST(count_of)(f, number)) - 1;
    uint64_t *const slots = BH_ST(slots_of)(f, number);
    uint64_t entries[BH_FRONT_GROUP];
    const int alone = whole || f->geometry->parts == 1;
    uint32_t none = 0, full = 0, some, i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec word = bh_vec_load64(w->word + i), where = bh_vec_load64(group->line + i);
        const bh_vec mark = bh_vec_load64(group->mark + i);
        /* Its lowest byte; above it there is nothing. */
        const bh_vec ready = bh_vec_right(mark, BH_ST_TICKET_SHIFT);
        const bh_vec same = bh_vec_equal8(word, bh_vec_spread8(ready));
        const bh_vec ticket = bh_vec_add(where, bh_vec_first8(same));
        const bh_vec origin = alone ? one : bh_vec_load64(group->origin + i);
        const bh_vec line = bh_vec_left(bh_vec_right(where, 6), 6);
        bh_vec entry = bh_vec_or(where, bh_vec_left(ready, BH_ST_TICKET_SHIFT));

        bh_vec_store64(
            slots + i,
            bh_vec_if_zero(same, line, bh_vec_add(origin, bh_vec_left(ticket, BH_ST_SHIFT))));
        none |= bh_vec_zeros(same) << i;
        full |= bh_vec_zeros(bh_vec_equal8(word, bh_vec_all(0))) << i;
        if (!alone)
            entry = bh_vec_or(entry, bh_vec_left(bh_vec_and(bh_vec_right(mark, BH_ST_PART_SHIFT),
                                                            bh_vec_all(BH_ST_PARTS_MOST - 1)),
                                                 BH_ST_ENTRY_PART));
        bh_vec_store64(entries + i, entry);
    }
    full &= none & members;
    some = ~none & members;
    w->has_slot[number % BH_ST_SLOTS_RING] = (uint8_t)some;
    w->candidates += bh_count(some);
    if (some)
        bh_st_ask_all(slots, BH_FRONT_GROUP, f->asks_slots);
    if (full)
        BH_ST(list_full)(f, w, number, entries, full);
}

/* Looks at the slots of a group. */
BH_FN void BH_ST(visit_group)(BH_ST(front_state) * f, uint32_t number, BH_ST(slots) * seen)
{
    const uint64_t *const slots = BH_ST(slots_of)(f, number);
    const int answers = BH_VALUE_BYTES && f->slice.values_out;
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        if (BH_ST_IS_PAIR) {
            seen->pairs[i] = bh_load64(bh_st_at(slots[i]));
        } else {
            seen->keys[i] = BH_LOAD_KEY(bh_st_at(slots[i]));
            if (answers)
                seen->values[i] = BH_LOAD_VALUE(BH_ST(value_of)(slots[i]));
        }
    }
}

/* Answers the keys of a group. Those that have not been found in a slot that they visited go to the list. */
BH_FN void BH_ST(answer_group)(BH_ST(front_state) * f, BH_ST(words_state) * w, uint32_t number,
                               int whole)
{
    const uint32_t at = number * BH_FRONT_GROUP;
    const uint32_t count = whole ? BH_FRONT_GROUP : BH_ST(count_of)(f, number);
    const uint32_t candidates = w->has_slot[number % BH_ST_SLOTS_RING];
    BH_ST(slots) *const seen = &w->seen;
    const BH_KEY *keys = (const BH_KEY *)f->slice.keys + at;
    uint32_t names[BH_FRONT_GROUP], found = 0, others, i;
    BH_KEY gathered[BH_FRONT_GROUP];

    if (count < BH_FRONT_GROUP) {
        BH_ST(gather_keys)(f, at, count, names, gathered);
        keys = gathered;
    }
    if (BH_ST_IS_PAIR) {
        found = bh_part_pairs(seen->pairs, (const uint32_t *)(const void *)keys,
                              (uint32_t *)(void *)seen->values, BH_FRONT_GROUP) ^
                BH_FRONT_ALL;
    } else {
        for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC)
            found |=
                bh_vec_zeros(bh_vec_xor(BH_LOAD_VECTOR(seen->keys + i), BH_LOAD_VECTOR(keys + i)))
                << i;
    }
    found &= candidates;
    if (count < BH_FRONT_GROUP)
        BH_ST(answer)(&f->slice, names, count, found, seen->values);
    else
        BH_ST(answer_in_order)(&f->slice, at, found, seen->values);
    for (others = candidates & ~found; others; others &= others - 1)
        BH_ST(list_line)(f, w, at + bh_first(others));
}

/* A turn: each step is taken by another group, the last step first. What was stored word by word, and is loaded as
 * vectors, or the other way round, must have come to the first cache by then (docs/decisions/0028). `all`: there is
 * a group for each step, of eight keys, and the table has one part. */
BH_FN void BH_ST(take_turn)(BH_ST(front_state) * f, BH_ST(words_state) * w, uint32_t turn,
                            uint32_t coming, uint32_t groups, int all)
{
    const uint32_t answered = turn - BH_ST_TURN_ANSWER, visited = turn - BH_ST_TURN_VISIT;

    if ((all || answered < groups) && w->has_slot[answered % BH_ST_SLOTS_RING])
        BH_ST(answer_group)(f, w, answered, all);
    if ((all || visited < groups) && w->has_slot[visited % BH_ST_SLOTS_RING])
        BH_ST(visit_group)(f, visited, &w->seen);
    if (all || turn - BH_ST_TURN_SETTLE < groups)
        BH_ST(settle_words)(f, w, turn - BH_ST_TURN_SETTLE, all);
    if (all || turn - BH_ST_TURN_LOOK < coming)
        BH_ST(look_at_words)(BH_ST(group_at)(f, turn - BH_ST_TURN_LOOK), w);
    if (all || turn - BH_ST_TURN_ASK < coming)
        bh_st_ask_all(BH_ST(group_at)(f, turn - BH_ST_TURN_ASK)->line, BH_FRONT_GROUP,
                      f->asks_board);
    if (all || turn - BH_ST_TURN_AIM < coming)
        BH_ST(aim_group)
    (f->geometry, BH_ST(group_at)(f, turn - BH_ST_TURN_AIM), 0, 1, all || f->geometry->parts == 1);
    if (!all && turn - BH_ST_TURN_FETCH < coming)
        BH_ST(fetch_parts)(f->geometry, BH_ST(group_at)(f, turn - BH_ST_TURN_FETCH), 0);
    if (all || turn < coming)
        BH_ST(hash_words)(f, turn, all);
}

/* The pass over keys, until all have been answered or enough are on the list. */
BH_FN void BH_ST(look_at_words_of_all)(BH_ST(front_state) * f, BH_ST(words_state) * w)
{
    const uint32_t coming = w->coming, groups = w->groups;
    uint32_t turn = w->turn;

    for (; turn < groups + BH_ST_TURNS && w->lines <= BH_ST_LINES_MOST; turn++) {
        if (turn >= BH_ST_TURN_ANSWER && turn + 1 < coming && f->geometry->parts == 1)
            BH_ST(take_turn)(f, w, turn, coming, groups, 1);
        else
            BH_ST(take_turn)(f, w, turn, coming, groups, 0);
    }
    w->turn = turn;
}

/* Elements of so many groups, if there are as many. */
BH_FN uint32_t BH_ST(elements_of)(const BH_ST(front_state) * f, uint32_t groups)
{
    return groups * BH_FRONT_GROUP < f->total ? groups * BH_FRONT_GROUP : f->total;
}

/* No more groups are looked at here; those that are on their way to it are made what bring_lines makes. */
BH_FN void BH_ST(leave_words)(BH_ST(front_state) * f, BH_ST(words_state) * w)
{
    const bh_vec line = bh_vec_all(BH_ST_ADDRESS - (BH_ST_LINE - 1));
    const uint32_t all = w->coming;
    uint32_t number, i;

    w->coming = 0;
    w->groups = w->turn - BH_ST_TURN_LOOK < all ? w->turn - BH_ST_TURN_LOOK : all;
    for (number = w->groups; number < all && number < w->turn; number++) {
        BH_ST(group) *const group = BH_ST(group_at)(f, number);

        group->members = (1u << BH_ST(count_of)(f, number)) - 1;
        for (i = 0; i < BH_FRONT_GROUP; i++)
            group->name[i] = number * BH_FRONT_GROUP + i;
        for (i = 0; i < BH_FRONT_GROUP && number + BH_ST_TURN_AIM < w->turn; i += BH_VEC)
            bh_vec_store64(group->line + i, bh_vec_and(bh_vec_load64(group->line + i), line));
    }
    f->hashed = BH_ST(elements_of)(f, w->turn);
    f->fetched = BH_ST(elements_of)(f, w->turn - BH_ST_TURN_FETCH);
    f->aimed = BH_ST(elements_of)(f, w->turn - BH_ST_TURN_AIM);
    f->asked = BH_ST(elements_of)(f, w->turn - BH_ST_TURN_ASK);
}

/* Looks up keys of a slice by the first words of their paths, until all have been answered, or it is cheaper to go
 * on by lines. Answers how many have been. */
BH_FN uint32_t BH_ST(look_by_words)(BH_ST(front_state) * f)
{
    BH_ST(words_state) w;

    w.turn = w.lines = w.candidates = 0;
    w.coming = w.groups = (f->total + BH_FRONT_GROUP - 1) / BH_FRONT_GROUP;
    do {
        BH_ST(look_at_words_of_all)(f, &w);
        if (w.coming && w.turn - BH_ST_TURN_LOOK < w.coming &&
            w.candidates < BH_ST_FEW((w.turn - BH_ST_TURN_LOOK) * BH_FRONT_GROUP))
            BH_ST(leave_words)(f, &w);
        BH_ST(look_at_listed)(f, &w);
        BH_ST(go_through_lists)(f, BH_FIND, 0, w.turn < w.groups + BH_ST_TURNS);
    } while (w.turn < w.groups + BH_ST_TURNS);
    return BH_ST(elements_of)(f, w.groups);
}
