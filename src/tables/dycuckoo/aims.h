/*
 * DyCuckoo, many keys at a time: where the keys of a group live, computed with vectors, for the front of
 * the CPU schedule (cpu/front_rounds.h). What is done to a key there is what begin.h and steps.h do. An
 * include-template: see instance.h.
 *
 * The ordered pairs of subtables are numbered by home, and each home has as many pairs: subtables - 1. So
 * home follows from the hash without a look at the pair,
 *
 *     pair = floor(x * subtables * (subtables - 1)),  home = floor(pair / (subtables - 1))
 *                                                          = floor(x * subtables)        for x in [0, 1)
 *
 * and what is to be known of a subtable is picked from registers that hold it for all (bh_vec_pick).
 */
#include "tables/instance.h"

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define BH_DY_BUCKET_SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

#ifndef BH_TABLES_DYCUCKOO_AIMS_H
#define BH_TABLES_DYCUCKOO_AIMS_H

/* What all groups of a slice have in common. */
typedef struct bh_dy_front {
    bh_seed seed;
    uint64_t base;
    uint32_t subtables;
    bh_vec_table lines;
    bh_vec_table masks;
    bh_vec_table doublings;
} bh_dy_front;

/* Where the keys of a group live. */
typedef struct bh_dy_aims {
    uint64_t line[2][BH_FRONT_GROUP]; /* home; the other bucket, in the second round */
    uint64_t counter[BH_FRONT_GROUP];
} bh_dy_aims;

BH_FN bh_dy_front bh_dy_front_of(const bh_dy_geometry *geometry)
{
    uint64_t lines[BH_DY_SUBTABLES_MOST], masks[BH_DY_SUBTABLES_MOST];
    uint64_t doublings[BH_DY_SUBTABLES_MOST];
    bh_dy_front front;
    uint32_t i;

    for (i = 0; i < BH_DY_SUBTABLES_MOST; i++) {
        const uint32_t is = i < geometry->subtables;

        lines[i] = is ? geometry->subtable[i].lines : 0;
        masks[i] = is ? geometry->subtable[i].mask : 0;
        doublings[i] = is ? geometry->subtable[i].doublings : 0;
    }
    front.seed = geometry->seed;
    front.base = geometry->base;
    front.subtables = geometry->subtables;
    front.lines = bh_vec_table_load(lines);
    front.masks = bh_vec_table_load(masks);
    front.doublings = bh_vec_table_load(doublings);
    return front;
}

#endif

/* Whether slices of this table go through the front. Tables that spread their keys do not. */
BH_FN int BH_DY(front_fits)(const bh_dy_geometry *geometry)
{
    return !geometry->spread && geometry->base <= UINT32_MAX;
}

/* The bytes of so many buckets. */
BH_FN bh_vec BH_DY(bytes_of)(bh_vec buckets)
{
    const bh_vec lines = BH_DY_BUCKET_BYTES == 3 * BH_DY_LINE
                             ? bh_vec_add(buckets, bh_vec_left(buckets, 1))
                             : buckets;

    return bh_vec_left(lines, BH_DY_LINE_SHIFT + (BH_DY_BUCKET_BYTES == 2 * BH_DY_LINE));
}

/* The addresses of buckets, by the words of hashes for their subtables. */
BH_FN bh_vec BH_DY(aim_at)(const bh_dy_front *front, bh_vec word, bh_vec subtable)
{
    const bh_vec base = bh_vec_all(front->base);
    const bh_vec within = bh_vec_and(word, bh_vec_pick32(&front->masks, subtable));
    const bh_vec bucket = bh_vec_add(bh_hash_ranges(word, base), bh_vec_multiply32(within, base));

    return bh_vec_add(bh_vec_pick(&front->lines, subtable), BH_DY(bytes_of)(bucket));
}

/* Asks for a bucket: for the line of its keys, and for those of its values where they lie apart and the operation may
 * need them. Lines of keys alone, each second line of memory, came from far in half the time when they were asked for
 * as if they were near (docs/decisions/0020). */
BH_FN void BH_DY(ask)(uint64_t line, int values, bh_asks how)
{
    uint32_t at;

    if (BH_APART && !values && how == BH_ASKS_FAR)
        how = BH_ASKS_TO_READ;

    for (at = 0; at < (BH_APART && values ? BH_DY_BUCKET_BYTES : BH_DY_LINE); at += BH_DY_LINE)
        bh_ask(bh_dy_at(line + at), how);
}

/* Says where the keys of a group live. `round` is a constant. */
BH_FN void BH_DY(aim)(const bh_dy_front *front, const BH_KEY *keys, uint32_t round,
                      bh_dy_aims *aims)
{
    const bh_vec subtables = bh_vec_all(front->subtables);
    uint32_t i;

    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_hashes h = bh_hash_keys(BH_LOAD_VECTOR(keys + i), BH_KEY_BYTES, &front->seed);
        const bh_vec picks = bh_vec_right(h.two, 32);
        const bh_vec home = bh_vec_right(bh_vec_multiply32(picks, subtables), 32);
        const bh_vec doublings = bh_vec_and(bh_vec_pick32(&front->doublings, home), bh_vec_all(63));
        const bh_vec next =
            bh_vec_and(bh_vec_right_by(h.one, doublings), bh_vec_all(BH_DY_FILTER_COUNTERS - 1));

        bh_vec_store64(aims->line[0] + i, BH_DY(aim_at)(front, h.one, home));
        bh_vec_store64(aims->counter + i,
                       bh_vec_add(bh_vec_left(next, 1), bh_vec_all(BH_DY_FILTER_SHIFT)));
        if (round) {
            const bh_vec others = bh_vec_all(front->subtables - 1);
            const bh_vec pair =
                bh_vec_right(bh_vec_multiply32(picks, bh_vec_multiply32(subtables, others)), 32);
            const bh_vec nth = bh_vec_subtract(pair, bh_vec_multiply32(home, others));
            /* Those from home on have a number that is larger by one. */
            const bh_vec other = bh_vec_add(
                nth, bh_vec_right(bh_vec_subtract(bh_vec_subtract(home, bh_vec_all(1)), nth), 63));
            const bh_vec factor = bh_vec_all(BH_DY_OTHER_FACTOR);
            bh_vec high;
            const bh_vec word = bh_vec_multiply(h.two, picks, factor, &high);

            bh_vec_store64(aims->line[1] + i, BH_DY(aim_at)(front, word, other));
        }
    }
}

/* Whether a bucket has memory for one more value behind those of its slots. */
#define BH_DY_PADDED                                                                               \
    ((BH_APART ? 0 : 8 + BH_DY_BUCKET_SLOTS * BH_KEY_BYTES) +                                      \
         (BH_DY_BUCKET_SLOTS + 1) * BH_VALUE_BYTES <=                                              \
     BH_DY_BUCKET_BYTES - (BH_APART ? BH_DY_LINE : 0))

/* What a group of lookups has seen in its homes. */
typedef struct BH_DY(seen) {
    uint64_t meta[BH_FRONT_GROUP];
    BH_VALUE values[BH_FRONT_GROUP];
    uint32_t match[BH_FRONT_GROUP];
    uint32_t steady; /* no writer has changed a bucket while it was read */
} BH_DY(seen);

/* Stands for the slot of a key that no slot has: what is loaded there nobody gets. In padded buckets it is no slot's bit. There
 * look_at leaves it in what matches, because taking it out is an instruction per key, and judge compares with it. */
#define BH_DY_NO_SLOT (1u << (BH_DY_BUCKET_SLOTS + BH_DY_PADDED))
#define BH_DY_NO_MATCH(wants) (BH_VALUE_BYTES && BH_DY_PADDED && (wants) ? BH_DY_NO_SLOT : 0)

/* Looks at the homes of a group's keys, and asks for those of another group. Where `wants` is 0 no values are loaded; it is
 * a constant. */
BH_FN void BH_DY(look_at)(const bh_dy_aims *aims, const BH_KEY *keys, const bh_dy_aims *next,
                          int wants, int far, BH_DY(seen) *seen)
{
    uint32_t i;

    seen->steady = 0;
#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const uint64_t line = aims->line[0][i];
        BH_DY(view) view;

        BH_DY(ask)(next->line[0][i], wants, far ? BH_ASKS_FAR : BH_ASKS_TO_READ);
        /* Without branches: no processor foresees whether a key is there, or in which slot. */
        (void)BH_DY(look)(line, keys[i], &view);
        seen->match[i] = view.match | BH_DY_NO_MATCH(wants);
        seen->meta[i] = view.meta;
        if (BH_VALUE_BYTES && wants)
            seen->values[i] = BH_LOAD_VALUE(BH_DY(value_of)(line, view.match | BH_DY_NO_SLOT));
        if (bh_load64(bh_dy_at(line)) != view.meta)
            return;
    }
    seen->steady = 1;
}

/* Tells what a group of lookups has seen: answers a bit for each key, 1 where it was found, and its value is in
 * seen->values. *open receives a bit for each: 1 where home did not decide. Where a writer was at work in one of the buckets
 * all keys stay open. */
BH_FN uint32_t BH_DY(judge)(const bh_dy_aims *aims, const BH_KEY *keys, int wants,
                            const BH_DY(seen) *seen, uint32_t *open)
{
    bh_vec locks = bh_vec_all(0);
    uint32_t gone, stay = 0, i;

    (void)keys;
    *open = BH_FRONT_ALL;
    if (!seen->steady)
        return 0;
    gone = bh_equal32(seen->match, BH_FRONT_GROUP, BH_DY_NO_MATCH(wants));
    for (i = 0; i < BH_FRONT_GROUP; i += BH_VEC) {
        const bh_vec metas = bh_vec_load64(seen->meta + i);
        const bh_vec counts = bh_vec_right_by(metas, bh_vec_load64(aims->counter + i));

        stay |= bh_vec_zeros(bh_vec_and(counts, bh_vec_all(3))) << i;
        locks = bh_vec_or(locks, metas);
    }
    if (bh_vec_zeros(bh_vec_and(locks, bh_vec_all(BH_DY_LOCK))) != (1u << BH_VEC) - 1)
        return 0;
    *open = gone & ~stay;
    return gone ^ BH_FRONT_ALL;
}

/* Looks for a group's keys in their other buckets, and for those that are not there at home. Answers a bit for each key, 1
 * where it was found, and its value is in values[i]. *open receives BH_FRONT_ALL where a writer was at work in one of the
 * buckets, else 0. The other bucket is compared again behind the look at home, so of a key that is in neither both were seen at
 * one instant: it has not moved meanwhile. A key that is in its other bucket need not be looked for at home: while a move has
 * it in both, the bucket that it leaves is locked. */
BH_FN uint32_t BH_DY(look_again)(const bh_dy_aims *aims, const BH_KEY *keys, int wants,
                                 BH_VALUE *values, uint32_t *open)
{
    uint64_t changes = 0, locks = 0;
    uint32_t found = 0, i;

#pragma GCC unroll 8
    for (i = 0; i < BH_FRONT_GROUP; i++) {
        const uint64_t home = aims->line[0][i], other = aims->line[1][i];
        BH_DY(view) seen, at_home = {0, 0};
        uint32_t match;
        uint64_t line = other;

        (void)BH_DY(look)(other, keys[i], &seen);
        match = seen.match;
        if (!match) {
            (void)BH_DY(look)(home, keys[i], &at_home);
            locks |= at_home.meta;
            match = at_home.match;
            line = match ? home : other;
        }
        if (BH_VALUE_BYTES && (wants || !BH_APART))
            values[i] = BH_LOAD_VALUE(BH_DY(value_of)(line, match | BH_DY_NO_SLOT));
        if (!seen.match)
            changes |= bh_load64(bh_dy_at(home)) ^ at_home.meta;
        locks |= seen.meta;
        changes |= bh_load64(bh_dy_at(other)) ^ seen.meta;
        found |= (uint32_t)(match != 0) << i;
    }
    *open = changes || (locks & BH_DY_LOCK) ? BH_FRONT_ALL : 0;
    return found & ~*open;
}

/* Whether guests of full homes go home first, to make room for new keys: keys come and go in this table. */
BH_FN int BH_DY(evicts)(const bh__slice *slice, uint32_t kind)
{
    return BH_OP_INSERTS(kind) && (slice->hints & BH_HINT_TURNOVER) != 0;
}

/* Whether a second round of changes is worth while. A new key without room is refused at home by the window; and where buckets do not tell
 * which of their slots have guests, the window sends these home. */
BH_FN int BH_DY(tries_again)(const bh__slice *slice, uint32_t kind)
{
    return !BH_OP_INSERTS(kind) || (slice->room && (!BH_DY(evicts)(slice, kind) ||
                                                    BH_DY_BUCKET_SLOTS <= BH_DY_GUESTS_KNOWN));
}

/* One try of a change in both buckets. Searches for a path are left to the window, too. */
BH_FN bh_answer BH_DY(try_again)(bh__slice *slice, BH_DY(op) *op, const bh_dy_aims *aims,
                                 uint32_t i, BH_KEY key, uint32_t at, uint32_t kind)
{
    const uint32_t hints = slice->hints;
    bh_region next;
    bh_answer answer;

    BH_DY(begin_home)(op, key, at, kind, (uint32_t)aims->counter[i]);
    op->home = aims->line[0][i];
    op->state = BH_DY_OTHER;
    slice->hints |= BH_HINT_LATER;
    answer = BH_DY(step_other)(slice, op, kind, aims->line[1][i], &next);
    slice->hints = hints;
    return answer;
}

/* One try of an operation at home. */
BH_FN bh_answer BH_DY(try_change)(bh__slice *slice, BH_DY(op) *op, const bh_dy_aims *aims,
                                  uint32_t i, BH_KEY key, uint32_t at, uint32_t kind)
{
    BH_DY(view) view;

    BH_DY(begin_home)(op, key, at, kind, (uint32_t)aims->counter[i]);
    return BH_DY(at_home)(slice, op, kind, aims->line[0][i], 0, &view);
}

/* Begins an operation that the front has left. A change goes on at its other bucket where tries_again says that it
 * could have ended there; but a new key that may have to send a guest home begins where it may do that. */
BH_FN_RARE bh_region BH_DY(begin_left)(const bh__slice *slice, BH_DY(op) *op, uint32_t at,
                                       uint32_t kind)
{
    if (kind == BH_FIND || !BH_DY(tries_again)(slice, kind) || BH_DY(evicts)(slice, kind))
        return BH_DY(begin)(slice, op, at, kind);
    return BH_DY(begin_other)(slice, op, at, kind);
}

#include "tables/dycuckoo/replace.h"

#undef BH_DY
#undef BH_DY_BUCKET_SLOTS
#undef BH_DY_BUCKET_BYTES
#undef BH_DY_PADDED
#undef BH_DY_NO_SLOT
#undef BH_DY_NO_MATCH
