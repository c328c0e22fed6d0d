/*
 * The front's trail: operations on their way along chains of lines, in designs whose keys lie in such chains
 * (BH_DESIGN_FOLLOWS). Where a key's first line has not ended its operation the front (front_rounds.h) has
 * it join here; in designs without chains it leaves it to the window. An include-template.
 *
 * Lookups are kept in groups, as keys that take aim are. What of a group goes on is packed and appended, so groups
 * are always whole, and no branch depends on a single key:
 *
 *     0         head              asked        tail            BH_FRONT_TRAIL_ROOM
 *     |         |                 |            |               |
 *     |  done   |  on their way   |  joined    |     free      |      line, key and name of each
 *
 *     joined          their lines are asked for when there is a group of them
 *     on their way    the first group is looked at when BH_FRONT_FOLLOWED are there; of it those that are
 *                     not decided join again
 *
 * When the tail comes to the end of the room what is there moves to its beginning.
 *
 * Changes are kept as whole operations in a ring, and stepped one by one by the design's own step.
 */
#include "tables/instance.h"

#include "cpu/front_group.h"

#ifndef BH_DESIGN_FOLLOWS

/* Nothing is ever on these trails. */
typedef struct BH_DESIGN(lookups) {
    uint32_t tail;
} BH_DESIGN(lookups);

typedef struct BH_DESIGN(changes) {
    uint32_t tail;
} BH_DESIGN(changes);

BH_FN void BH_DESIGN(begin_lookups)(BH_DESIGN(lookups) *trail)
{
    trail->tail = 0;
}

BH_FN void BH_DESIGN(begin_changes)(BH_DESIGN(changes) *trail)
{
    trail->tail = 0;
}

/* The open keys of a group of lookups, which begins with element `first`, are left. Answers how many are left now. */
BH_FN uint32_t BH_DESIGN(go_on)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                BH_DESIGN(lookups) *trail, BH_DESIGN(seen) *seen,
                                const BH_KEY *keys, uint32_t open, uint32_t first, uint16_t *left,
                                uint32_t count)
{
    (void)slice;
    (void)front;
    (void)trail;
    (void)seen;
    (void)keys;
    for (; open; open &= open - 1)
        left[count++] = (uint16_t)(first + bh_first(open));
    return count;
}

BH_FN uint32_t BH_DESIGN(end_lookups)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                      BH_DESIGN(lookups) *trail, uint16_t *left, uint32_t count)
{
    (void)slice;
    (void)front;
    (void)trail;
    (void)left;
    return count;
}

/* An operation that its first line has not decided is left. Answers how many are left now. */
BH_FN uint32_t BH_DESIGN(change_on)(BH_DESIGN(changes) *trail, BH_DESIGN(op) *op, bh_answer answer,
                                    uint32_t name, uint16_t *left, uint32_t count)
{
    (void)trail;
    (void)op;
    if (answer != BH_DONE)
        left[count++] = (uint16_t)name;
    return count;
}

BH_FN uint32_t BH_DESIGN(walk_changes)(bh__slice *slice, BH_DESIGN(changes) *trail, uint32_t kind,
                                       uint32_t until, uint16_t *left, uint32_t count)
{
    (void)slice;
    (void)trail;
    (void)kind;
    (void)until;
    (void)left;
    return count;
}

BH_FN uint32_t BH_DESIGN(on_their_way)(const BH_DESIGN(changes) *trail)
{
    (void)trail;
    return 0;
}

#else

/* Lookups: those from `head` to `tail`. */
typedef struct BH_DESIGN(lookups) {
    uint64_t lines[BH_FRONT_TRAIL_ROOM];
    BH_KEY keys[BH_FRONT_TRAIL_ROOM];
    uint32_t names[BH_FRONT_TRAIL_ROOM];
    uint32_t head, asked, tail;
} BH_DESIGN(lookups);

/* Other operations: a ring. */
typedef struct BH_DESIGN(changes) {
    BH_DESIGN(op) ops[BH_FRONT_TRAIL];
    uint32_t head, tail;
} BH_DESIGN(changes);

BH_FN void BH_DESIGN(begin_lookups)(BH_DESIGN(lookups) *trail)
{
    trail->head = trail->asked = trail->tail = 0;
}

BH_FN void BH_DESIGN(begin_changes)(BH_DESIGN(changes) *trail)
{
    trail->head = trail->tail = 0;
}

/* The open keys of a group join; `names` are those of the whole group. */
BH_FN void BH_DESIGN(join)(const BH_OF_DESIGN(front) *front, BH_DESIGN(lookups) *trail,
                           uint64_t *onward, const BH_KEY *keys, const uint32_t *names,
                           uint32_t open)
{
    BH_DESIGN(follow)(front, onward);
    bh_pack64(trail->lines + trail->tail, onward, BH_FRONT_GROUP, open);
    BH_PACK_KEYS(trail->keys + trail->tail, keys, BH_FRONT_GROUP, open);
    bh_pack32(trail->names + trail->tail, names, BH_FRONT_GROUP, open);
    trail->tail += bh_count(open);
}

/* Moves what is on the trail to the beginning of its room. */
BH_FN void BH_DESIGN(move_down)(BH_DESIGN(lookups) *trail)
{
    const uint32_t head = trail->head, count = trail->tail - head;

    __builtin_memmove(trail->lines, trail->lines + head, count * sizeof *trail->lines);
    __builtin_memmove(trail->keys, trail->keys + head, count * sizeof *trail->keys);
    __builtin_memmove(trail->names, trail->names + head, count * sizeof *trail->names);
    trail->head = 0;
    trail->asked -= head;
    trail->tail -= head;
}

/* Asks for lines of those that have joined. */
BH_FN void BH_DESIGN(ask_along)(const bh__slice *slice, BH_DESIGN(lookups) *trail, uint32_t count)
{
    const bh_asks how = slice->hints & BH_HINT_FAR ? BH_ASKS_FAR : BH_ASKS_TO_READ;

    for (; count; count--)
        BH_DESIGN(ask)(trail->lines[trail->asked++], 1, how);
}

/* Writes the answers of a group of the trail of which some keys were found. Without branches on single keys. The others stay
 * missing, as round 0 has said of each key that has joined the trail. */
BH_FN void BH_DESIGN(answer_along)(const bh__slice *slice, const uint32_t *names, uint32_t members,
                                   uint32_t found, const BH_VALUE *values)
{
    uint32_t i;

    for (i = 0; BH_VALUE_BYTES && slice->values_out && i < members; i++) {
        BH_VALUE *const answer = (BH_VALUE *)slice->values_out + names[i], before = *answer;

        *answer = found >> i & 1 ? values[i] : before;
    }
    for (i = 0; slice->outcomes && i < members; i++)
        slice->outcomes[names[i]] = found >> i & 1 ? BH_FOUND : BH_MISSING;
}

/* Looks at the first `members` of the trail, a group or, in its end, fewer. `members` is mostly a constant. Answers how many
 * elements are left now. */
BH_FN uint32_t BH_DESIGN(look_along)(const bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                     BH_DESIGN(lookups) *trail, uint32_t members, uint16_t *left,
                                     uint32_t count)
{
    const uint64_t *const lines = trail->lines + trail->head;
    const BH_KEY *const keys = trail->keys + trail->head;
    const uint32_t *const names = trail->names + trail->head;
    BH_DESIGN(seen) seen;
    uint32_t open, found, i;

    BH_DESIGN(look_at_lines)(lines, keys, 0, 1, 0, &seen);
    found = BH_DESIGN(judge)(0, keys, 1, &seen, &open);
    found &= (1u << members) - 1;
    trail->head += members;
    if (open & BH_FRONT_AGAIN) {
        for (i = 0; i < members; i++)
            left[count++] = (uint16_t)names[i];
        return count;
    }
    if (found)
        BH_DESIGN(answer_along)(slice, names, members, found, seen.values);
    open &= (1u << members) - 1;
    if (open)
        BH_DESIGN(join)(front, trail, seen.onward, keys, names, open);
    return count;
}

/* Asks for the lines of whole groups that have joined, and looks at those that are on their way for long enough. Answers how
 * many elements are left now. */
BH_FN_RARE uint32_t BH_DESIGN(walk_lookups)(const bh__slice *shared,
                                            const BH_OF_DESIGN(front) *front,
                                            BH_DESIGN(lookups) *trail, uint16_t *left,
                                            uint32_t count)
{
    const bh__slice slice = *shared;

    while (trail->tail - trail->asked >= BH_FRONT_GROUP) {
        if (trail->tail + 2 * BH_FRONT_GROUP > BH_FRONT_TRAIL_ROOM)
            BH_DESIGN(move_down)(trail);
        BH_DESIGN(ask_along)(&slice, trail, BH_FRONT_GROUP);
        if (trail->asked - trail->head > BH_FRONT_FOLLOWED)
            count = BH_DESIGN(look_along)(&slice, front, trail, BH_FRONT_GROUP, left, count);
    }
    return count;
}

/* What becomes of the open keys of a group of lookups, which begins with element `first`: they join the trail or, where a
 * writer was at work, are left. Answers how many are left now. */
BH_FN uint32_t BH_DESIGN(go_on)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                BH_DESIGN(lookups) *trail, BH_DESIGN(seen) *seen,
                                const BH_KEY *keys, uint32_t open, uint32_t first, uint16_t *left,
                                uint32_t count)
{
    uint32_t names[BH_FRONT_GROUP], i;

    if (!open)
        return count;
    for (i = 0; i < BH_FRONT_GROUP; i++)
        names[i] = first + i;
    if (open & BH_FRONT_AGAIN) {
        for (open &= BH_FRONT_ALL; open; open &= open - 1)
            left[count++] = (uint16_t)names[bh_first(open)];
        return count;
    }
    BH_DESIGN(join)(front, trail, seen->onward, keys, names, open);
    if (trail->tail - trail->asked < BH_FRONT_GROUP)
        return count;
    return BH_DESIGN(walk_lookups)(slice, front, trail, left, count);
}

/* Looks at all that is on the trail, until nothing goes on. Answers how many elements are left now. */
BH_FN_RARE uint32_t BH_DESIGN(end_lookups)(bh__slice *slice, const BH_OF_DESIGN(front) *front,
                                           BH_DESIGN(lookups) *trail, uint16_t *left,
                                           uint32_t count)
{
    while (trail->head != trail->tail) {
        const uint32_t there = trail->tail - trail->head;
        const uint32_t members = there < BH_FRONT_GROUP ? there : BH_FRONT_GROUP;
        uint32_t i;

        BH_DESIGN(ask_along)(slice, trail, trail->tail - trail->asked);
        if (trail->tail + 2 * BH_FRONT_GROUP > BH_FRONT_TRAIL_ROOM)
            BH_DESIGN(move_down)(trail);
        /* Where there is no whole group the first one stands for those that are missing. */
        for (i = members; i < BH_FRONT_GROUP; i++) {
            trail->lines[trail->head + i] = trail->lines[trail->head];
            trail->keys[trail->head + i] = trail->keys[trail->head];
        }
        count = BH_DESIGN(look_along)(slice, front, trail, members, left, count);
    }
    return count;
}

/* An operation, not a lookup, joins, and the line that it goes on at is asked for. */
BH_FN void BH_DESIGN(join_change)(BH_DESIGN(changes) *trail, const BH_DESIGN(op) *op, bh_asks how)
{
    trail->ops[trail->tail++ % BH_FRONT_TRAIL] = *op;
    BH_DESIGN(ask)(BH_DESIGN(along)(op), 1, how);
}

/* What becomes of an operation that its first line has not decided. Answers how many are left now. */
BH_FN uint32_t BH_DESIGN(change_on)(BH_DESIGN(changes) *trail, BH_DESIGN(op) *op, bh_answer answer,
                                    uint32_t name, uint16_t *left, uint32_t count)
{
    if (answer == BH_NEXT) {
        op->at = name;
        BH_DESIGN(join_change)(trail, op, BH_ASKS_TO_WRITE);
        return count;
    }
    if (answer != BH_DONE)
        left[count++] = (uint16_t)name;
    return count;
}

BH_FN uint32_t BH_DESIGN(on_their_way)(const BH_DESIGN(changes) *trail)
{
    return trail->tail - trail->head;
}

/* Steps the first changes of the trail until only `until` are on it. Those that meet a writer, or stall, are left. Answers
 * how many are left now. */
BH_FN_RARE uint32_t BH_DESIGN(walk_changes)(bh__slice *slice, BH_DESIGN(changes) *trail,
                                            uint32_t kind, uint32_t until, uint16_t *left,
                                            uint32_t count)
{
    const bh_asks how = slice->hints & BH_HINT_FAR ? BH_ASKS_FAR : BH_ASKS_TO_WRITE;

    while (trail->tail - trail->head > until) {
        BH_DESIGN(op) *const op = &trail->ops[trail->head++ % BH_FRONT_TRAIL];
        const bh_answer answer = BH_DESIGN(step_along)(slice, op, kind);

        if (answer == BH_NEXT)
            BH_DESIGN(join_change)(trail, op, how);
        else if (answer != BH_DONE)
            left[count++] = (uint16_t)op->at;
        else if (slice->outcomes)
            slice->outcomes[op->at] = op->outcome;
    }
    return count;
}

#endif
