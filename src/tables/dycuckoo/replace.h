/*
 * DyCuckoo, new keys whose home is full: a pair goes from there to its other place, and the key takes its slot at once. For the
 * rounds of the front that make room (cpu/front_room.h). An include-template that aims.h includes.
 *
 *     home (full)               other place of c
 *     [ a b c d e f g ]         [ . . . . . _ . ]        both locked
 *           ^ the key                       ^ c
 *
 *   Round 1, in tables whose keys come and go: c is a guest of the home, and goes to its own home, as in EVICT. Where there is
 *   no guest, or no room for it, the key is tried in both of its buckets.
 *
 *   The later rounds are for what is left then, mostly keys both of whose buckets are full: c is a resident of the home, the first
 *   one in round 2, the second one in round 3 and so on, and goes to its own other bucket. That is a path of one move
 *   (search.h); longer ones are a matter of the window. (Where buckets do not tell which of their slots have guests, c may be
 *   one of these, and goes home.)
 *
 * The key must be absent. Home, which is locked, does not have it, and nobody can insert it meanwhile. Where its counter at home is
 * not 0, its other bucket is looked at, too.
 *
 * Readers find c at every instant: its copy can be seen before home's lock is let go, and who finds home locked looks again. In
 * a table that is biased (cpu/bias.h) home gets its lock by a store: its slot is written while it is in use, and a resident's copy can be
 * seen before the resident is counted.
 */

/* Of the home of each key of a group: a pair that may go elsewhere. */
typedef struct BH_DY(room) {
    bh_dy_aims aims;                /* where it lives */
    BH_KEY keys[BH_FRONT_GROUP];    /* its key */
    uint32_t slots[BH_FRONT_GROUP]; /* its slot's bit; 0: there is no such pair */
} BH_DY(room);

/* Whether there is a round of this number. */
BH_FN int BH_DY(makes_room)(const bh__slice *slice, uint32_t kind, uint32_t round)
{
    if (!BH_OP_INSERTS(kind) || !slice->room || !BH_DY(tries_again)(slice, kind))
        return 0;
    return round > 1 ? slice->looks != 0 : BH_DY(evicts)(slice, kind);
}

/* Picks a pair of each home. Read without locks: a guess. */
BH_FN void BH_DY(see_room)(const bh_dy_aims *aims, uint32_t round, BH_DY(room) *room)
{
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const uint64_t line = aims->line[0][i], meta = bh_load64(bh_dy_at(line));
        uint32_t could = round > 1 ? bh_dy_maybe_residents(meta, BH_DY_BUCKET_SLOTS)
                                   : bh_dy_maybe_guests(meta, BH_DY_BUCKET_SLOTS);

        if (round == 1 && !BH_DY(full)(meta))
            could = 0;
        for (uint32_t k = 2; k < round; k++)
            could &= could - 1;
        room->slots[i] = could & (0 - could);
        room->keys[i] =
            BH_LOAD_KEY(BH_DY(key_at)(line, bh_first(could | 1u << (BH_DY_BUCKET_SLOTS - 1))));
    }
}

BH_FN void BH_DY(aim_room)(const bh_dy_front *front, BH_DY(room) *room)
{
    BH_DY(aim)(front, room->keys, 1, &room->aims);
}

/* Where the pair that was picked for key i could go: to its other place. */
BH_FN uint64_t BH_DY(room_of)(const bh_dy_aims *aims, const BH_DY(room) *room, uint32_t i)
{
    return room->aims.line[room->aims.line[0][i] == aims->line[0][i]][i];
}

BH_FN void BH_DY(ask_room)(const bh_dy_aims *aims, const BH_DY(room) *room, uint32_t i,
                           uint32_t round)
{
    if (room->slots[i])
        BH_DY(ask)(BH_DY(room_of)(aims, room, i), 1, BH_ASKS_TO_WRITE);
    if (round == 1)
        BH_DY(ask)(aims->line[1][i], 1, BH_ASKS_TO_WRITE);
}

/* Locks a bucket that is full, as it was seen, to replace one of its pairs: readers that come meanwhile look again. Where nobody
 * else writes, a store does it. */
BH_FN int BH_DY(hold)(const bh__slice *slice, uint64_t line, uint64_t meta)
{
    if (!BH_IS_BIASED(slice->hints))
        return bh_swap_if64(bh_dy_at(line), meta, meta | BH_DY_LOCK);
    bh_store64(bh_dy_at(line), meta | BH_DY_LOCK);
    return 1;
}

/* Whether a key that its home does not have is a guest in its other bucket, or may be: certain only while home is locked. */
BH_FN int BH_DY(may_be_guest)(uint64_t other, BH_KEY key)
{
    BH_DY(view) view;

    return !BH_DY(look)(other, key, &view) || view.match || bh_load64(bh_dy_at(other)) != view.meta;
}

/* Puts a new key into its home in the place of the pair that was picked there, which goes to its other place. Answers RETRY where
 * that cannot be done at once, and nothing has been. */
BH_FN bh_answer BH_DY(replace_at_home)(bh__slice *slice, BH_DY(op) *op, const bh_dy_aims *aims,
                                       const BH_DY(room) *room, uint32_t i, uint32_t kind,
                                       uint64_t seen)
{
    const uint64_t home = aims->line[0][i], to = BH_DY(room_of)(aims, room, i);
    const uint32_t slot = bh_first(room->slots[i]), counter = (uint32_t)room->aims.counter[i];
    BH_DY(view) there;
    uint64_t meta;

    there.meta = bh_load64(bh_dy_at(to));
    if ((there.meta & BH_DY_LOCK) || BH_DY(full)(there.meta) ||
        BH_LOAD_KEY(BH_DY(key_at)(home, slot)) != room->keys[i])
        return BH_RETRY;
    if (!BH_DY(hold)(slice, home, seen))
        return BH_RETRY;
    if (BH_DY(own_key)(home, slot) != room->keys[i] ||
        (bh_dy_counted(seen, op->counter) && BH_DY(may_be_guest)(aims->line[1][i], op->key)) ||
        !BH_DY(lock)(slice, to, &there)) {
        bh_dy_unlock(home, seen);
        return BH_RETRY;
    }
    meta = room->aims.line[0][i] == home
               ? BH_DY(copy_away)(home, seen, slot, to, there.meta, counter)
               : BH_DY(copy_home)(home, seen, slot, to, bh_dy_count_down(there.meta, counter));
    bh_dy_unlock(home, BH_DY(insert)(slice, op, kind, home, meta, 0));
    slice->moved = 1;
    return BH_DONE;
}

/* Tries an insertion in a round that makes room. */
BH_FN bh_answer BH_DY(try_room)(bh__slice *slice, BH_DY(op) *op, const bh_dy_aims *aims,
                                const BH_DY(room) *room, uint32_t i, BH_KEY key, uint32_t at,
                                uint32_t kind, uint32_t round)
{
    const int searches = round > 1;
    bh_answer answer = BH_RETRY;
    BH_DY(view) view;

    BH_DY(begin_home)(op, key, at, kind, (uint32_t)aims->counter[i]);
    /* A key that may be there is not searched for: hot keys come here because others have locked them. */
    if (room->slots[i] && slice->room && (!searches || slice->looks) &&
        BH_DY(look)(aims->line[0][i], key, &view) && !view.match && BH_DY(full)(view.meta) &&
        !(searches && bh_dy_counted(view.meta, op->counter) &&
          BH_DY(may_be_guest)(aims->line[1][i], key))) {
        slice->looks -= (uint64_t)searches; /* as in SEARCH */
        answer = BH_DY(replace_at_home)(slice, op, aims, room, i, kind, view.meta);
    }
    if (answer != BH_DONE && !searches)
        answer = BH_DY(try_again)(slice, op, aims, i, key, at, kind);
    return answer;
}
