/*
 * DyCuckoo, how an operation makes room for its new key, one bucket a step: the states SEARCH, when both
 * buckets of the key are full, and EVICT, when its home is full in a table whose keys come and go. An
 * include-template that ops.h includes.
 *
 * SEARCH follows a path of residents, each of which could move on to its other bucket. The operation
 * keeps where the path begins (from: home or other) and the slot of each resident (path, 4 bits each,
 * depth of them); the buckets between follow from the residents' hashes. With path = 0x52, depth = 2:
 *
 *     from                       other of a                 other of b
 *     [ . . a . . . . ]          [ . . . . . b . ]          [ . . . . _ . . ]
 *           slot 2 ----------------------> slot 5 -----------------> line, the step's bucket
 *
 * A step tries to move the last resident of the path to `line`. If there is a free slot, the next step
 * moves the resident before it; if `line` is full, BH_DY(search_on) names the next bucket to look at:
 * depth first, all paths of one move before any longer one. The path is read without locks, so it is
 * a guess; BH_DY(try_move) checks each move, and when the guess was wrong the operation begins anew at
 * OTHER.
 *
 * EVICT sends one guest of the full home to its own home, by the same BH_DY(try_move).
 */
#ifndef BH_TABLES_DYCUCKOO_SEARCH_H
#define BH_TABLES_DYCUCKOO_SEARCH_H

/* An operation's search for a path: moves in a path, 4 bits each in op.path; and buckets looked at
 * before it stalls. */
#define BH_DY_PATH_MOST 4u
#define BH_DY_LOOKS_MOST BH_LOOKS_OF_SEARCH

#endif

/* The first resident of a bucket, from *slot on, that is at home there: sets *slot, and *to to the bucket
 * that the resident could move to. Read without lock: a hint that try_move checks. */
BH_FN int BH_DY(next_resident)(const bh_dy_geometry *geometry, uint64_t line, uint32_t *slot,
                               uint64_t *to)
{
    uint32_t left =
        bh_dy_maybe_residents(bh_load64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS) >> *slot << *slot;

    for (; left; left &= left - 1) {
        bh_dy_places places;

        *slot = bh_first(left);
        places =
            bh_dy_places_of(geometry, BH_LOAD_KEY(BH_DY(key_at)(line, *slot)), BH_DY_BUCKET_BYTES);
        *to = places.other;
        if (places.home == line)
            return 1;
    }
    return 0;
}

/* The bucket that the path's first `moves` moves lead to. Where residents have changed meanwhile the path
 * leads elsewhere, and try_move notices. */
BH_FN uint64_t BH_DY(walk)(const bh_dy_geometry *geometry, const BH_DY(op) *op, uint32_t moves)
{
    uint64_t line = op->from;
    uint32_t i;

    for (i = 0; i < moves; i++)
        line = bh_dy_places_of(geometry, BH_LOAD_KEY(BH_DY(key_at)(line, op->path >> 4 * i & 15u)),
                               BH_DY_BUCKET_BYTES)
                   .other;
    return line;
}

/*
 * The next bucket that SEARCH looks at, or 0 when there is none. In this order:
 *   1. if the path may be longer: the bucket that a resident of `line`, the path's end, could move to;
 *   2. the same for the next resident of the bucket before it, then of the one before that, and so on;
 *   3. paths from the other one of the key's two buckets;
 *   4. from home again, with longer paths.
 */
BH_FN uint64_t BH_DY(search_on)(const bh_dy_geometry *geometry, BH_DY(op) *op, uint64_t line)
{
    uint32_t slot = 0;
    uint64_t to = 0;

    if (op->depth == op->deepest) {
        slot = (op->path >> 4 * --op->depth & 15u) + 1;
        line = BH_DY(walk)(geometry, op, op->depth);
    }
    while (!BH_DY(next_resident)(geometry, line, &slot, &to)) {
        if (op->depth) {
            slot = (op->path >> 4 * --op->depth & 15u) + 1;
            line = BH_DY(walk)(geometry, op, op->depth);
            continue;
        }
        slot = 0;
        if (line == op->home) {
            line = op->from = op->other;
        } else if (op->deepest == 1) {
            op->deepest = BH_DY_PATH_MOST;
            line = op->from = op->home;
        } else {
            return 0;
        }
    }
    op->path = (op->path & ((1u << 4 * op->depth) - 1)) | slot << 4 * op->depth;
    op->depth++;
    return to;
}

/* A step of SEARCH: `line` is the end of the path, or home when the search begins. Sets *has_moved when it
 * has moved a resident, and *next to the next bucket. */
BH_FN_RARE bh_answer BH_DY(search)(const bh_dy_geometry *geometry, BH_DY(op) *op, uint64_t line,
                                   uint8_t *has_moved, uint64_t *next)
{
    if (op->depth) {
        uint64_t from = BH_DY(walk)(geometry, op, op->depth - 1u);
        bh_dy_moved moved =
            BH_DY(try_move)(geometry, from, op->path >> 4 * (op->depth - 1u) & 15u, line);

        if (moved == BH_DY_BUSY)
            return BH_RETRY;
        if (moved != BH_DY_MOVED && ++op->looks > BH_DY_LOOKS_MOST)
            return BH_STALL;
        if (moved == BH_DY_MOVED) {
            *has_moved = 1;
            if (--op->depth) {
                /* `from` has a free slot now: on with the move before this one. */
                *next = from;
                return BH_NEXT;
            }
        }
        if (moved != BH_DY_FULL) {
            /* The path is stale, or this was its first move: look at both buckets of the key anew. */
            op->state = BH_DY_OTHER;
            *next = op->other;
            return BH_NEXT;
        }
    }
    *next = BH_DY(search_on)(geometry, op, line);
    return *next ? BH_NEXT : BH_STALL;
}

BH_FN bh_answer BH_DY(step_search)(bh__slice *slice, BH_DY(op) *op, uint64_t line, bh_region *next)
{
    /* Copies, so that no other function gets a pointer into the slice. */
    uint64_t to = line;
    uint8_t moved = 0;
    bh_answer answer = BH_STALL;

    if (slice->looks) {
        slice->looks--;
        answer = BH_DY(search)((const bh_dy_geometry *)slice->geometry, op, line, &moved, &to);
    }
    slice->moved |= moved;
    slice->reasons |= answer == BH_STALL ? BH_REASON_PLACE : 0;
    *next = bh_dy_region(to, BH_DY_BUCKET_BYTES);
    return answer;
}

/* Puts the operation into the state SEARCH, from home. */
BH_FN void BH_DY(to_search)(BH_DY(op) *op)
{
    op->state = BH_DY_SEARCH;
    op->from = op->home;
    op->depth = 0;
    op->deepest = 1;
    op->path = 0;
}

/* Begins an element whose two buckets an earlier stage of a GPU has found full: since then a resident of one
 * of them may have been sent away (cuda/device/dycuckoo/make_way.cu). */
BH_FN bh_region BH_DY(begin_last)(const bh__slice *slice, BH_DY(op) *op, uint32_t at, uint32_t kind)
{
    return BH_DY(begin_other)(slice, op, at, kind);
}

/* Both buckets of a key are full. */
BH_FN bh_answer BH_DY(begin_search)(bh__slice *slice, BH_DY(op) *op, bh_region *next)
{
    if ((slice->hints & BH_HINT_LATER) || !slice->looks) {
        slice->reasons |= BH_REASON_PLACE;
        return BH_STALL;
    }
    BH_DY(to_search)(op);
    return BH_DY(step_search)(slice, op, op->home, next);
}

/* Home is full, the key seemed to be absent, and many keys have been erased: there may be room in the home
 * of one of the guests here. Answers that guest's home, and sets its slot; 0 when there is no guest. */
BH_FN_RARE uint64_t BH_DY(evict)(const bh_dy_geometry *geometry, uint64_t home, uint64_t meta,
                                 uint32_t *slot)
{
    uint32_t left = bh_dy_maybe_guests(meta, BH_DY_BUCKET_SLOTS);

    for (; left; left &= left - 1) {
        bh_dy_places places;

        *slot = bh_first(left);
        places =
            bh_dy_places_of(geometry, BH_LOAD_KEY(BH_DY(key_at)(home, *slot)), BH_DY_BUCKET_BYTES);
        if (places.other == home)
            return places.home;
    }
    return 0;
}

/* Begins to send a guest of the full home to that guest's own home; where there is no guest, the operation
 * goes on to the other bucket. */
BH_FN bh_answer BH_DY(begin_evict)(const bh__slice *slice, BH_DY(op) *op, uint64_t home,
                                   uint64_t meta, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    uint32_t slot = 0;
    const uint64_t to = BH_DY(evict)(geometry, home, meta, &slot);

    if (!to)
        return BH_DY(go_other)(slice, op, home, next);
    op->home = home;
    op->path = slot;
    op->looks = 1;
    op->state = BH_DY_EVICT;
    *next = bh_dy_region(to, BH_DY_BUCKET_BYTES);
    return BH_NEXT;
}

BH_FN bh_answer BH_DY(step_evict)(bh__slice *slice, BH_DY(op) *op, uint64_t line, bh_region *next)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    bh_dy_moved moved = BH_DY(try_move)(geometry, op->home, op->path, line);

    if (moved == BH_DY_BUSY)
        return BH_RETRY;
    if (moved == BH_DY_FULL)
        return BH_DY(go_other)(slice, op, op->home, next);
    slice->moved |= moved == BH_DY_MOVED;
    op->state = BH_DY_HOME;
    *next = bh_dy_region(op->home, BH_DY_BUCKET_BYTES);
    return BH_NEXT;
}
