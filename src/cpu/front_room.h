/*
 * The front's rounds that make room: new keys whose homes are full. An include-template that front_rounds.h includes, for
 * designs that can put a pair out of a full line in one move (BH_DESIGN_ROOM_ROUNDS).
 *
 * In a table that is nearly full a third of the new keys find their home full, and in the window each of them takes several
 * hundred instructions and waits for its lines nearly alone. Here they go in groups, as in the other rounds. A round
 * picks from each home one pair that may go elsewhere, and asks for the line that it may go to; when that has come, and
 * has room, the pair goes there and the new key takes its place:
 *
 *     gather     the keys of a group that are left
 *     aim        where they live. Nearly all of their homes have been looked at in this slice, so they are in a cache
 *     see        home: which pair could go
 *     aim        where that pair lives
 *     ask        for the line that it could go to
 *     try        when the lines of 7 later groups have been asked for
 *
 * Which pair that is, and what is certain about the new key, is a matter of the design and of the round. Who is not done is
 * left to the next round or to the window, from its beginning.
 *
 * The design's include-template BH_DESIGN_AIMS defines, beside what front_rounds.h says,
 *
 *     BH_DESIGN(room)          what a round knows of a group's homes
 *     BH_DESIGN(makes_room)    whether there is a round of this number
 *     BH_DESIGN(see_room)      picks a pair of each home
 *     BH_DESIGN(aim_room)      finds where these pairs could go
 *     BH_DESIGN(ask_room)      asks for one of these lines, and for what else a try of the round looks at
 *     BH_DESIGN(try_room)      tries to put a key in the place of the pair that was picked
 */

/* The steps of a group, and places of the ring: for the groups that are at one of them, or on their way. */
#ifndef BH_CPU_FRONT_ROOM_H
#define BH_CPU_FRONT_ROOM_H
enum {
    BH_ROOM_GATHERED,
    BH_ROOM_AIMED,
    BH_ROOM_SEEN,
    BH_ROOM_AIMED_AGAIN,
    BH_ROOM_ASKED,
    BH_ROOM_STEPS
};
#define BH_ROOM_RING (BH_FRONT_AHEAD + BH_ROOM_STEPS)
#endif

/* A group, and what could go from its homes. */
typedef struct BH_DESIGN(crowded) {
    BH_DESIGN(group) group;
    BH_DESIGN(room) room;
} BH_DESIGN(crowded);

/* A round that makes room for the elements that the list names, which insert. Answers how many are left in it. */
BH_FN_RARE uint32_t BH_DESIGN(make_room_all)(bh__slice *shared, const BH_OF_DESIGN(front) *front,
                                             uint32_t kind, uint32_t round, uint16_t *list,
                                             uint32_t total)
{
    BH_DESIGN(crowded) ring[BH_ROOM_RING];
    bh__slice slice = *shared;
    uint32_t done[BH_ROOM_STEPS] = {0}; /* elements that have taken the step */
    uint32_t first, count = 0, step, i;

    for (first = 0; first < total; first += BH_FRONT_GROUP) {
        const BH_DESIGN(crowded) *const trying = &ring[first / BH_FRONT_GROUP % BH_ROOM_RING];

        for (step = 0; step < BH_ROOM_STEPS; step++) {
            const uint32_t ahead = BH_FRONT_AHEAD + BH_ROOM_ASKED - step;

            for (; done[step] < total && done[step] <= first + ahead * BH_FRONT_GROUP;
                 done[step] += BH_FRONT_GROUP) {
                BH_DESIGN(crowded) *const c = &ring[done[step] / BH_FRONT_GROUP % BH_ROOM_RING];

                switch (step) {
                case BH_ROOM_GATHERED:
                    BH_DESIGN(gather)(&slice, list, done[step], total, &c->group);
                    break;
                case BH_ROOM_AIMED: BH_DESIGN(aim)(front, c->group.keys, 1, &c->group.aims); break;
                case BH_ROOM_SEEN: BH_DESIGN(see_room)(&c->group.aims, round, &c->room); break;
                case BH_ROOM_AIMED_AGAIN: BH_DESIGN(aim_room)(front, &c->room); break;
                default:
                    for (i = 0; i < BH_FRONT_GROUP; i++)
                        BH_DESIGN(ask_room)(&c->group.aims, &c->room, i, round);
                }
            }
        }
        for (i = 0; i < BH_FRONT_GROUP && first + i < total; i++) {
            const uint32_t at = trying->group.names[i];
            BH_DESIGN(op) op;
            const bh_answer answer =
                BH_DESIGN(try_room)(&slice, &op, &trying->group.aims, &trying->room, i,
                                    trying->group.keys[i], at, kind, round);

            if (answer != BH_DONE)
                list[count++] = (uint16_t)at;
            else if (slice.outcomes)
                slice.outcomes[at] = op.outcome;
        }
    }
    slice.reasons = shared->reasons;
    *shared = slice;
    return count;
}
