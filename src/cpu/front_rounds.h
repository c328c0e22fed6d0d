/*
 * The front of the CPU schedule: elements in groups of eight, for designs that can say with vectors where
 * eight keys live (BH_DESIGN_AIMS).
 *
 * Most elements end at the first line that they look at, and for those the window (schedule.h) spends more
 * instructions on keeping an operation's state than on the operation. So elements of one kind go through the
 * front first, and the window gets only what did not end there:
 *
 *     aim        where the eight keys of a group live
 *     ask        for their lines, a turn later
 *     look       each key's line, which ends it or not: when the lines of 7 later groups, of lookups 11, have been
 *                asked for. (Lines of changes that come from far have been asked for again a turn before, to be written.)
 *     judge      of lookups, a turn later: which keys have ended; their answers are written
 *
 *     round 0    all elements of groups, on their first lines     one in ten is left
 *     round 1    those, and the last ones, which make no group,
 *                on their first two lines                         one in a hundred is left
 *     window     those
 *
 * New keys whose home is full go through rounds that make room for them, of which one may take the place of round 1, and others
 * come behind it (front_room.h).
 *
 * Elements may be a whole slice or, of changes, a list of some of them: those that have stalled before. (A slice of
 * different operations comes here kind by kind, see kinds.h.) Listed keys are copied into groups first, and their answers
 * written one by one.
 *
 * Nothing here waits. Of an element that did not end nothing is kept but that it was tried (BH_HINT_LEFT). So
 * begin and step remain what an operation is; the front only tries operations where they can end at once.
 *
 * An include-template like schedule.h. The design's include-template BH_DESIGN_AIMS defines
 *
 *     BH_OF_DESIGN(front)      what aiming needs of the geometry, in registers; BH_OF_DESIGN(front_of)
 *     BH_OF_DESIGN(aims)       where the keys of a group live: line[round][i] is the line that key i asks for
 *     BH_DESIGN(front_fits)    whether slices of this table go through the front
 *     BH_DESIGN(aim)           finds the places of a group
 *     BH_DESIGN(ask)           asks for the lines of one place, or only for that of its keys
 *     BH_DESIGN(seen)          what a group of lookups has seen in round 0; its `values` are the keys'
 *     BH_DESIGN(look_at)       looks at a group's lines, one by one; asks for those of another group
 *     BH_DESIGN(judge)         tells with vectors what was seen: which keys were found, and which are open
 *     BH_DESIGN(try_change)    tries another operation on one key in round 0
 *     BH_DESIGN(look_again)    looks at both lines of a group of lookups in round 1
 *     BH_DESIGN(tries_again)   whether there is a round 1 of other operations
 *     BH_DESIGN(try_again)     tries one of these on one key in round 1
 *     BH_DESIGN(begin_left)    begins an operation in the window that round 0 or 1 has left
 *
 * A design whose keys lie in chains of lines (BH_DESIGN_FOLLOWS) has no round 1: operations that go on join a trail
 * (front_trail.h). Its look_at takes the first line of a chain. Its judge leaves in onward[i] of what was seen what `follow`
 * needs of key i's line, and answers BH_FRONT_AGAIN in *open where a writer was at work. Its try_change answers NEXT where
 * the operation goes on, at another line or at the same. Instead of look_again, tries_again and try_again it defines
 *
 *     BH_DESIGN(look_at_lines) look_at, of any eight lines
 *     BH_DESIGN(follow)        the lines that come behind those, from what `onward` has
 *     BH_DESIGN(along)         the line that a change goes on at
 *     BH_DESIGN(step_along)    a step of it on that line
 */
#include "tables/instance.h"

#include "cpu/front_group.h"
#include "cpu/front_trail.h"

/* Asks for the lines of a group that has taken aim. `round` is a constant, and mostly `far`, too. */
BH_FN void BH_DESIGN(ask_all)(const BH_OF_DESIGN(aims) *aims, uint32_t round, int to_write,
                              int values, int far)
{
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        BH_DESIGN(ask)(aims->line[round][i], values,
                       far        ? BH_ASKS_FAR
                       : to_write ? BH_ASKS_TO_WRITE
                                  : BH_ASKS_TO_READ);
}

/* The place of the ring behind another. */
BH_FN BH_OF_DESIGN(aims) *BH_DESIGN(behind)(BH_OF_DESIGN(aims) *aims, BH_OF_DESIGN(aims) *ring,
                                            BH_OF_DESIGN(aims) *end)
{
    return aims + 1 < end ? aims + 1 : ring;
}

/* Asks for the lines of round 0 again, now to write them. */
BH_FN void BH_DESIGN(own)(const BH_OF_DESIGN(aims) *aims, int values)
{
    uint32_t i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++)
        BH_DESIGN(ask)(aims->line[0][i], values, BH_ASKS_OWN);
}

/* Writes the answers of a group of lookups, from element `first` on. Keys that were not found leave their values as
 * they are. Mostly all of a group's keys were found, or none. */
BH_FN void BH_DESIGN(answer_group)(const bh__slice *slice, uint32_t first, uint32_t found,
                                   const BH_VALUE *values)
{
    const uint64_t outcomes = found == BH_FRONT_ALL ? BH_FRONT_ONES
                              : found               ? bh_front_outcomes(found)
                                                    : 0;

    if (BH_VALUE_BYTES && slice->values_out && found) {
        BH_VALUE *const to = (BH_VALUE *)slice->values_out + first;

        if (found == BH_FRONT_ALL)
            __builtin_memcpy(to, values, BH_FRONT_GROUP * sizeof *to);
        else
            BH_CHOOSE_VALUES(to, values, BH_FRONT_GROUP, found);
        if (first * BH_VALUE_BYTES % 64 == 0)
            bh_answer_ahead(slice, to, BH_VALUE_BYTES, first);
    }
    if (slice->outcomes) {
        __builtin_memcpy(slice->outcomes + first, &outcomes, BH_FRONT_GROUP);
        if (first % 64 == 0)
            bh_answer_ahead(slice, slice->outcomes + first, 1, first);
    }
}

/* Looks at the lines of a group, and asks for those of another. Where `wants` is 0 nobody wants the values; it is a constant.
 * Where `expected` is 0 the keys have probably no values, and these are not loaded, nor those of the other group asked
 * for. */
BH_FN void BH_DESIGN(look_group)(const BH_OF_DESIGN(aims) *aims, const BH_KEY *keys,
                                 const BH_OF_DESIGN(aims) *next, int wants, int expected, int far,
                                 BH_DESIGN(seen) *seen)
{
    if (wants && expected)
        BH_DESIGN(look_at)(aims, keys, next, 1, far, seen);
    else
        BH_DESIGN(look_at)(aims, keys, next, 0, far, seen);
}

/* Tells from what was seen which keys of a group, whose first element is `first`, were found, and writes the answers; open
 * keys go on. Values that were not `expected` are loaded now. *found receives a bit for each key. Answers how many elements
 * are left now. */
BH_FN uint32_t BH_DESIGN(judge_group)(bh__slice *shared, const bh__slice *slice,
                                      const BH_OF_DESIGN(front) *front,
                                      const BH_OF_DESIGN(aims) *aims, uint32_t first, int wants,
                                      int expected, int far, BH_DESIGN(seen) *seen,
                                      BH_DESIGN(lookups) *trail, uint32_t *found, uint16_t *left,
                                      uint32_t count)
{
    const BH_KEY *const keys = (const BH_KEY *)slice->keys + first;
    uint32_t open;

    *found = BH_DESIGN(judge)(aims, keys, wants && expected, seen, &open);
    if (wants && !expected && *found) {
        BH_DESIGN(look_at)(aims, keys, aims, 1, far, seen);
        *found = BH_DESIGN(judge)(aims, keys, 1, seen, &open);
    }
    BH_DESIGN(answer_group)(slice, first, *found, seen->values);
    return BH_DESIGN(go_on)(shared, front, trail, seen, keys, open, first, left, count);
}

/* A group whose elements do not follow each other in the slice: their names, and their keys. */
typedef struct BH_DESIGN(group) {
    BH_OF_DESIGN(aims) aims;
    uint16_t names[BH_FRONT_GROUP];
    BH_KEY keys[BH_FRONT_GROUP];
} BH_DESIGN(group);

/* Round 0 of lookups, for the first `total` elements of a slice, a multiple of eight. Writes the names of those that
 * are left to `left`, and answers how many. Where values have lines of their own, they are expected if a key of the
 * group that was judged last was found; `wants` as in look_group. `far`, a constant too, says where the lines lie. The turn
 * of group g:
 *
 *     group     0 ..   g-1     g      ..    g+11   g+12
 *               done   judge   look         ask    aim
 *
 * A group takes each of its steps while another takes the step before (docs/decisions/0028). What vectors have stored is
 * loaded word by word in the next step, and the other way round; some processors let such a load wait until the store has
 * come to the cache, behind all that is on its way. And the branch on whether a key goes on, which no processor foresees,
 * would else wait for the group's lines. */
BH_FN uint32_t BH_DESIGN(look_up_all)(bh__slice *shared, const BH_OF_DESIGN(front) *shared_front,
                                      int wants, int far, uint32_t total, uint16_t *left)
{
    /* Copies that nobody else can point to stay in registers while results are written. */
    const BH_OF_DESIGN(front) front = *shared_front;
    const bh__slice slice = *shared;
    const BH_KEY *const keys = (const BH_KEY *)slice.keys;
    BH_OF_DESIGN(aims) ring[BH_FRONT_RING], *const end = ring + BH_FRONT_RING;
    BH_OF_DESIGN(aims) *aims = ring, *before = ring, *ask = ring, *aiming = ring;
    BH_DESIGN(seen) both[2], *seen = both, *seen_before = both + 1, *swap;
    BH_DESIGN(lookups) trail;
    uint32_t aimed = 0, first, count = 0, found = 1;
    int expected = 1, expected_before = 1;

    BH_DESIGN(begin_lookups)(&trail);
    for (; aimed < total && aimed <= BH_FRONT_LOOKS_AHEAD * BH_FRONT_GROUP; aimed += BH_FRONT_GROUP)
        BH_DESIGN(aim)(&front, keys + aimed, 0, aiming++);
    for (; ask + 1 < aiming; ask++)
        BH_DESIGN(ask_all)(ask, 0, 0, wants, far);
    for (first = 0; first < total; first += BH_FRONT_GROUP) {
        if (aimed < total)
            BH_DESIGN(aim)(&front, keys + aimed, 0, aiming);
        BH_DESIGN(look_group)(aims, keys + first, ask, wants, expected, far, seen);
        if (first)
            count = BH_DESIGN(judge_group)(shared, &slice, shared_front, before,
                                           first - BH_FRONT_GROUP, wants, expected_before, far,
                                           seen_before, &trail, &found, left, count);
        swap = seen;
        seen = seen_before;
        seen_before = swap;
        expected_before = expected;
        expected = !BH_APART || found;
        before = aims;
        aims = BH_DESIGN(behind)(aims, ring, end);
        /* Behind the last group lines are asked for that are there already. */
        ask = aimed < total ? aiming : aims;
        aiming = BH_DESIGN(behind)(aiming, ring, end);
        aimed += BH_FRONT_GROUP;
    }
    if (total)
        count = BH_DESIGN(judge_group)(shared, &slice, shared_front, before, total - BH_FRONT_GROUP,
                                       wants, expected_before, far, seen_before, &trail, &found,
                                       left, count);
    return BH_DESIGN(end_lookups)(shared, shared_front, &trail, left, count);
}

/* Tries the i-th element of the group that the slice begins with, whose name is `name`. Answers how many are left now. */
BH_FN uint32_t BH_DESIGN(change_one)(bh__slice *slice, const BH_OF_DESIGN(aims) *aims, uint32_t i,
                                     uint32_t kind, uint8_t *outcomes, uint32_t name,
                                     BH_DESIGN(changes) *trail, uint16_t *left, uint32_t count)
{
    BH_DESIGN(op) op;
    bh_answer answer;

    op.outcome = BH_MISSING;
    answer = BH_DESIGN(try_change)(slice, &op, aims, i, ((const BH_KEY *)slice->keys)[i], i, kind);
    /* Stored at once: gathering a group's outcomes in a register took four instructions each. */
    outcomes[i] = op.outcome;
    return BH_DESIGN(change_on)(trail, &op, answer, name, left, count);
}

/* Has a slice begin a group later. Its outcomes stay. */
BH_FN void BH_DESIGN(move_along)(bh__slice *slice)
{
    slice->keys = (const BH_KEY *)slice->keys + BH_FRONT_GROUP;
    if (BH_VALUE_BYTES && slice->values)
        slice->values = (const BH_VALUE *)slice->values + BH_FRONT_GROUP;
    if (BH_VALUE_BYTES && slice->values_out)
        slice->values_out = (BH_VALUE *)slice->values_out + BH_FRONT_GROUP;
    slice->count -= BH_FRONT_GROUP;
}

/* Steps what is on the trail of a slice, of which `slice` is the copy that has moved along; see walk_changes. */
BH_FN uint32_t BH_DESIGN(clear_moved)(bh__slice *shared, bh__slice *slice,
                                      BH_DESIGN(changes) *trail, uint32_t kind, uint16_t *left,
                                      uint32_t count)
{
    if (BH_DESIGN(on_their_way)(trail) <= BH_FRONT_FOLLOWED)
        return count;
    shared->room = slice->room;
    shared->inserted = slice->inserted;
    shared->erased = slice->erased;
    shared->assigned = slice->assigned;
    count = BH_DESIGN(walk_changes)(shared, trail, kind, BH_FRONT_FOLLOWED - BH_FRONT_GROUP, left,
                                    count);
    slice->room = shared->room;
    slice->inserted = shared->inserted;
    slice->erased = shared->erased;
    slice->assigned = shared->assigned;
    return count;
}

/* Round 0 of elements that all do `kind`, another operation than looking up; see look_up_all. Where `kind` is a constant
 * `unrolled` is 1: each member of a group has a text of its own. The slice moves along with the groups, so that in such a
 * text the member's place is a constant. `biased`, a constant too, is 0 or BH_HINT_BIASED as the slice's hints say, so that no
 * key asks. */
BH_FN uint32_t BH_DESIGN(change_all)(bh__slice *shared, const BH_OF_DESIGN(front) *shared_front,
                                     uint32_t kind, int unrolled, uint32_t biased, uint32_t total,
                                     uint16_t *left)
{
    const BH_OF_DESIGN(front) front = *shared_front;
    bh__slice slice = *shared;
    const BH_KEY *keys = (const BH_KEY *)slice.keys;
    BH_OF_DESIGN(aims) ring[BH_FRONT_RING], *const end = ring + BH_FRONT_RING;
    BH_OF_DESIGN(aims) *aims = ring, *next, *ask = ring, *aiming = ring;
    const int far = (slice.hints & BH_HINT_FAR) != 0;
    const uint32_t ahead = BH_APART ? BH_FRONT_AHEAD : BH_FRONT_LOOKS_AHEAD;
    const uint32_t reasons = slice.reasons;
    uint8_t unwanted[BH_FRONT_GROUP], *outcomes = slice.outcomes ? slice.outcomes : unwanted;
    BH_DESIGN(changes) trail;
    uint32_t aimed = 0, first, count = 0, i;

    slice.hints = (slice.hints & ~BH_HINT_BIASED) | biased;
    BH_DESIGN(begin_changes)(&trail);
    for (; aimed < total && aimed <= ahead * BH_FRONT_GROUP; aimed += BH_FRONT_GROUP)
        BH_DESIGN(aim)(&front, keys + aimed, 0, aiming++);
    for (; ask < aiming && ask < ring + ahead; ask++)
        BH_DESIGN(ask_all)(ask, 0, 1, !BH_OP_ERASES(kind), far);
    for (first = 0; first < total; first += BH_FRONT_GROUP) {
        if (first + ahead * BH_FRONT_GROUP < total)
            BH_DESIGN(ask_all)(ask, 0, 1, !BH_OP_ERASES(kind), far);
        if (aimed < total)
            BH_DESIGN(aim)(&front, keys + aimed, 0, aiming);
        next = BH_DESIGN(behind)(aims, ring, end);
        if (far && first + BH_FRONT_GROUP < total)
            BH_DESIGN(own)(next, !BH_OP_ERASES(kind));
        if (unrolled) {
#pragma GCC unroll 8
            for (i = 0; i < BH_FRONT_GROUP; i++)
                count = BH_DESIGN(change_one)(&slice, aims, i, kind, outcomes, first + i, &trail,
                                              left, count);
        } else {
            for (i = 0; i < BH_FRONT_GROUP; i++)
                count = BH_DESIGN(change_one)(&slice, aims, i, kind, outcomes, first + i, &trail,
                                              left, count);
        }
        aims = next;
        ask = aiming;
        aiming = BH_DESIGN(behind)(aiming, ring, end);
        aimed += BH_FRONT_GROUP;
        if (slice.outcomes && first % 64 == 0)
            bh_answer_ahead(&slice, outcomes, 1, 0);
        BH_DESIGN(move_along)(&slice);
        outcomes += slice.outcomes ? BH_FRONT_GROUP : 0;
        count = BH_DESIGN(clear_moved)(shared, &slice, &trail, kind, left, count);
    }
    slice.keys = shared->keys;
    slice.values = shared->values;
    slice.values_out = shared->values_out;
    slice.count = shared->count;
    *shared = slice;
    count = BH_DESIGN(walk_changes)(shared, &trail, kind, 0, left, count);
    /* Why an element stalls the window says, when it has tried in vain, too. */
    shared->reasons = reasons;
    return count;
}

/* Makes a group of the elements that a list names from `first` on. Where there are no eight left the last one stands
 * for those that are missing. */
BH_FN void BH_DESIGN(gather)(const bh__slice *slice, const uint16_t *list, uint32_t first,
                             uint32_t total, BH_DESIGN(group) *group)
{
    const uint32_t members = total - first;
    uint32_t i;

    if (members >= BH_FRONT_GROUP)
        __builtin_memcpy(group->names, list + first, sizeof group->names);
    else
        for (i = 0; i < BH_FRONT_GROUP; i++)
            group->names[i] = list[i < members ? first + i : total - 1];
    for (i = 0; i < BH_FRONT_GROUP; i++)
        group->keys[i] = ((const BH_KEY *)slice->keys)[group->names[i]];
}

/* Tries an operation in a round. */
BH_FN bh_answer BH_DESIGN(try)(bh__slice *slice, BH_DESIGN(op) *op, const BH_OF_DESIGN(aims) *aims,
                               uint32_t i, BH_KEY key, uint32_t at, uint32_t kind, uint32_t round)
{
#ifndef BH_DESIGN_FOLLOWS
    if (round)
        return BH_DESIGN(try_again)(slice, op, aims, i, key, at, kind);
#endif
    (void)round;
    return BH_DESIGN(try_change)(slice, op, aims, i, key, at, kind);
}

/* The groups of a list that are on their way in a ring: how many elements have been gathered, have taken aim, and have
 * had their lines asked for. */
typedef struct BH_DESIGN(listed) {
    BH_DESIGN(group) ring[BH_FRONT_RING];
    uint32_t gathered;
    uint32_t aimed;
    uint32_t asked;
} BH_DESIGN(listed);

/* Brings the groups behind the one that begins with element `first` of the list as far as they should be when that one is
 * looked at; answers that one. `to_write` and `values` as in ask_all. */
BH_FN const BH_DESIGN(group) *BH_DESIGN(come_to)(BH_DESIGN(listed) *on, const bh__slice *slice,
                                                 const BH_OF_DESIGN(front) *front,
                                                 const uint16_t *list, uint32_t first,
                                                 uint32_t total, uint32_t round, int to_write,
                                                 int values, int far)
{
    for (; on->gathered < total && on->gathered <= first + (BH_FRONT_AHEAD + 2) * BH_FRONT_GROUP;
         on->gathered += BH_FRONT_GROUP)
        BH_DESIGN(gather)(slice, list, on->gathered, total,
                          &on->ring[bh_front_place(on->gathered)]);
    for (; on->aimed < total && on->aimed <= first + (BH_FRONT_AHEAD + 1) * BH_FRONT_GROUP;
         on->aimed += BH_FRONT_GROUP) {
        BH_DESIGN(group) *const aiming = &on->ring[bh_front_place(on->aimed)];

        BH_DESIGN(aim)(front, aiming->keys, round, &aiming->aims);
    }
    for (; on->asked < total && on->asked <= first + BH_FRONT_AHEAD * BH_FRONT_GROUP;
         on->asked += BH_FRONT_GROUP)
        BH_DESIGN(ask_all)(&on->ring[bh_front_place(on->asked)].aims, round, to_write, values, far);
    return &on->ring[bh_front_place(first)];
}

/* A round of the elements that the list names, which change. Answers how many are left in it. Few elements come to round
 * 1, so there is one text for all kinds. */
BH_FN uint32_t BH_DESIGN(try_listed)(bh__slice *shared, const BH_OF_DESIGN(front) *front,
                                     uint32_t kind, uint32_t round, uint16_t *list, uint32_t total)
{
    BH_DESIGN(listed) on;
    bh__slice slice = *shared;
    const int values = !BH_OP_ERASES(kind);
    const int far = (slice.hints & BH_HINT_FAR) != 0;
    BH_DESIGN(changes) trail;
    uint32_t first, count = 0, i;

    on.gathered = on.aimed = on.asked = 0;
    BH_DESIGN(begin_changes)(&trail);
    for (first = 0; first < total; first += BH_FRONT_GROUP) {
        const BH_DESIGN(group) *const looking =
            BH_DESIGN(come_to)(&on, &slice, front, list, first, total, round, 1, values, far);

        if (!round && far && first + BH_FRONT_GROUP < total)
            BH_DESIGN(own)(&on.ring[bh_front_place(first + BH_FRONT_GROUP)].aims, values);
        for (i = 0; i < BH_FRONT_GROUP && first + i < total; i++) {
            const uint32_t at = looking->names[i];
            BH_DESIGN(op) op;
            const bh_answer answer =
                BH_DESIGN(try)(&slice, &op, &looking->aims, i, looking->keys[i], at, kind, round);

            if (answer == BH_DONE && slice.outcomes)
                slice.outcomes[at] = op.outcome;
            count = BH_DESIGN(change_on)(&trail, &op, answer, at, list, count);
        }
        if (BH_DESIGN(on_their_way)(&trail) > BH_FRONT_FOLLOWED)
            count = BH_DESIGN(walk_changes)(&slice, &trail, kind,
                                            BH_FRONT_FOLLOWED - BH_FRONT_GROUP, list, count);
    }
    count = BH_DESIGN(walk_changes)(&slice, &trail, kind, 0, list, count);
    slice.reasons = shared->reasons;
    *shared = slice;
    return count;
}

BH_FN_RARE uint32_t BH_DESIGN(change_listed)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                             uint32_t kind, uint16_t *list, uint32_t total)
{
    return BH_DESIGN(try_listed)(slice, front, kind, 0, list, total);
}

#ifndef BH_DESIGN_FOLLOWS

BH_FN_RARE uint32_t BH_DESIGN(try_again_all)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                             uint32_t kind, uint16_t *list, uint32_t total)
{
    return BH_DESIGN(try_listed)(slice, front, kind, 1, list, total);
}

/* Writes the answers of a group of lookups from a list, whose first `members` keys are elements. */
BH_FN void BH_DESIGN(answer_listed)(const bh__slice *slice, const uint16_t *names, uint32_t members,
                                    uint32_t found, const BH_VALUE *values)
{
    BH_VALUE *const to = BH_VALUE_BYTES ? (BH_VALUE *)slice->values_out : 0;
    const uint64_t outcomes = bh_front_outcomes(found);
    uint8_t each[BH_FRONT_GROUP];
    uint32_t i;

    if (slice->outcomes) {
        __builtin_memcpy(each, &outcomes, BH_FRONT_GROUP);
        for (i = 0; i < members; i++)
            slice->outcomes[names[i]] = each[i];
    }
    if (to && found == BH_FRONT_ALL)
        for (i = 0; i < members; i++)
            to[names[i]] = values[i];
    else if (to)
        for (found &= (1u << members) - 1; found; found &= found - 1)
            to[names[bh_first(found)]] = values[bh_first(found)];
}

/* Round 1 of the lookups that the list names. Answers how many are left in it. */
BH_FN_RARE uint32_t BH_DESIGN(look_again_all)(const bh__slice *shared,
                                              const BH_OF_DESIGN(front) *front, uint16_t *list,
                                              uint32_t total)
{
    const bh__slice slice = *shared;
    const int wants = slice.values_out != 0, far = (slice.hints & BH_HINT_FAR) != 0;
    BH_DESIGN(listed) on;
    BH_VALUE values[BH_FRONT_GROUP];
    uint32_t first, count = 0, found, open;

    on.gathered = on.aimed = on.asked = 0;
    for (first = 0; first < total; first += BH_FRONT_GROUP) {
        const BH_DESIGN(group) *const looking =
            BH_DESIGN(come_to)(&on, &slice, front, list, first, total, 1, 0, wants, far);
        const uint32_t members = total - first < BH_FRONT_GROUP ? total - first : BH_FRONT_GROUP;

        found = BH_DESIGN(look_again)(&looking->aims, looking->keys, wants, values, &open);
        BH_DESIGN(answer_listed)(&slice, looking->names, members, found, values);
        for (open &= (1u << members) - 1; open; open &= open - 1)
            list[count++] = looking->names[bh_first(open)];
    }
    return count;
}

#ifdef BH_DESIGN_ROOM_ROUNDS
#include "cpu/front_room.h"
#endif

/* The rounds behind round 0, of the elements that the list names. Answers how many are left. */
BH_FN uint32_t BH_DESIGN(run_again)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                    uint32_t kind, uint16_t *list, uint32_t count)
{
    uint32_t round = 1;

    if (count < BH_FRONT_AGAIN_LEAST)
        return count;
    if (kind == BH_FIND)
        return BH_DESIGN(look_again_all)(slice, front, list, count);
#ifdef BH_DESIGN_ROOM_ROUNDS
    if (BH_DESIGN(makes_room)(slice, kind, round))
        count = BH_DESIGN(make_room_all)(slice, front, kind, round, list, count);
    else
#endif
        if (BH_DESIGN(tries_again)(slice, kind))
        count = BH_DESIGN(try_again_all)(slice, front, kind, list, count);
#ifdef BH_DESIGN_ROOM_ROUNDS
    for (round++; round <= BH_DESIGN_ROOM_ROUNDS && count >= BH_FRONT_AGAIN_LEAST &&
                  BH_DESIGN(makes_room)(slice, kind, round);
         round++) {
        const uint32_t before = count;

        count = BH_DESIGN(make_room_all)(slice, front, kind, round, list, before);
        if (before - count < before / BH_FRONT_ROOM_PART)
            break; /* the next one would not find more: keys that collide, or a table that is full */
    }
#endif
    return count;
}

#endif

/* change_all for a constant `kind`. */
BH_FN uint32_t BH_DESIGN(change_kind)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                      uint32_t kind, uint32_t total)
{
    if (BH_IS_BIASED(slice->hints))
        return BH_DESIGN(change_all)(slice, front, kind, 1, BH_HINT_BIASED, total, slice->list);
    return BH_DESIGN(change_all)(slice, front, kind, 1, 0, total, slice->list);
}

/* Round 0 of a whole slice. Writes the names of elements that are left to slice->list, and answers how many. */
BH_FN uint32_t BH_DESIGN(run_whole)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                    uint32_t kind)
{
    uint32_t at = slice->count / BH_FRONT_GROUP * BH_FRONT_GROUP, count;

    switch (kind) {
    case BH_FIND:
        if (slice->hints & BH_HINT_FAR)
            count = BH_APART && !slice->values_out
                        ? BH_DESIGN(look_up_all)(slice, front, 0, 1, at, slice->list)
                        : BH_DESIGN(look_up_all)(slice, front, 1, 1, at, slice->list);
        else
            count = BH_APART && !slice->values_out
                        ? BH_DESIGN(look_up_all)(slice, front, 0, 0, at, slice->list)
                        : BH_DESIGN(look_up_all)(slice, front, 1, 0, at, slice->list);
        break;
    case BH_INSERT: count = BH_DESIGN(change_kind)(slice, front, BH_INSERT, at); break;
    case BH_ERASE: count = BH_DESIGN(change_kind)(slice, front, BH_ERASE, at); break;
    case BH_ADD: count = BH_DESIGN(change_kind)(slice, front, BH_ADD, at); break;
    default:
        count = BH_DESIGN(change_all)(slice, front, kind, 0, slice->hints & BH_HINT_BIASED, at,
                                      slice->list);
    }
    for (; at < slice->count; at++)
        slice->list[count++] = (uint16_t)at;
    return count;
}

/* Whether the elements of a slice are many enough, and the table is one for the front. */
BH_FN int BH_DESIGN(takes_front)(const bh__slice *slice, uint32_t kind)
{
    if (slice->listed && kind == BH_FIND)
        return 0; /* lookups do not stall */
    return (slice->listed ? slice->listed : slice->count) >= BH_FRONT_LEAST &&
           BH_DESIGN(front_fits)((const BH_DESIGN_GEOMETRY *)slice->geometry);
}

/* Runs the elements of a slice, which do `kind`. Then its list names those that the window must go on with. */
BH_FN_RARE void BH_DESIGN(run_front)(bh__slice *slice, uint32_t kind)
{
    const BH_OF_DESIGN(front) front =
        BH_OF_DESIGN(front_of)((const BH_DESIGN_GEOMETRY *)slice->geometry);
    uint32_t count;

    if (slice->listed)
        count = BH_DESIGN(change_listed)(slice, &front, kind, slice->list, slice->listed);
    else
        count = BH_DESIGN(run_whole)(slice, &front, kind);
#ifndef BH_DESIGN_FOLLOWS
    count = BH_DESIGN(run_again)(slice, &front, kind, slice->list, count);
#endif
    slice->listed = count;
}
