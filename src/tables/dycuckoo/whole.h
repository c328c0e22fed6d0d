/*
 * DyCuckoo, passes over all pairs of some memory: inserting them again under another geometry, and
 * copying them out. An include-template that ops.h includes.
 *
 *     BH_DY_PASS_REINSERT   every pair of a range of buckets is inserted into a table with another
 *                           geometry, by the same steps that a caller's insert takes
 *     BH_DY_PASS_REST       the same for the buckets in which REINSERT has left pairs, with longer paths (place.h)
 *     BH_DY_PASS_EXPORT     every pair is copied to the caller's arrays
 *     BH_DY_PASS_PLACES     (over no memory of the table) says where the homes of keys are
 */
#ifndef BH_TABLES_DYCUCKOO_WHOLE_H
#define BH_TABLES_DYCUCKOO_WHOLE_H

/* How many buckets ahead of the one whose pairs are inserted the places of pairs are asked for. */
#define BH_DY_REINSERT_AHEAD 4u

#endif

/* Asks for the homes that the pairs of a bucket will have. */
BH_FN void BH_DY(bring_homes)(const bh_dy_geometry *g, uint64_t line)
{
    uint32_t used = bh_dy_used(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS);

    for (; used; used &= used - 1) {
        const BH_KEY key = BH_DY(own_key)(line, bh_first(used));

        bh_bring_to_write(bh_dy_at(bh_dy_places_of(g, key, BH_DY_BUCKET_BYTES).home));
    }
}

/* A slice of the pair that the key and the value will be, which is inserted if its key is not there. */
BH_FN bh__slice BH_DY(slice_of_pair)(const bh_dy_reinsert *job, BH_KEY *key, BH_VALUE *value)
{
    bh__slice slice;

    slice.geometry = job->geometry;
    slice.keys = key;
    slice.values = value;
    slice.values_out = 0;
    slice.outcomes = 0;
    slice.ops = 0;
    slice.system = 0;
    slice.op = BH_INSERT_NEW;
    slice.hints = slice.reasons = slice.moved = 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    slice.room = UINT64_MAX;
    slice.looks = BH_LOOKS_FREE;
    return slice;
}

/* Inserts the pairs of a bucket, and answers how many found no place. With `alone` longer paths are looked for, and
 * after one in vain the others are not tried. */
BH_FN uint64_t BH_DY(reinsert)(const bh_dy_reinsert *job, uint64_t line, int alone)
{
    uint32_t used = bh_dy_used(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS);
    uint64_t left = 0;
    BH_VALUE value;
    BH_KEY key;
    bh__slice slice = BH_DY(slice_of_pair)(job, &key, &value);

    for (; used && !(alone && left); used &= used - 1) {
        uint64_t root[2], looks = BH_DY_LOOKS_LONE;
        bh_dy_places places;

        key = BH_DY(own_key)(line, bh_first(used));
        value = BH_DY(own_value)(line, bh_first(used));
        if (BH_DY(carry)(&slice, 0, BH_INSERT_NEW) == BH_DONE)
            continue;
        if (alone) {
            places = bh_dy_places_of(job->geometry, key, BH_DY_BUCKET_BYTES);
            root[0] = places.home;
            root[1] = places.other;
            if (BH_DY(make_room)(job->geometry, job->scratch, &looks, root, 0) &&
                BH_DY(carry)(&slice, 0, BH_INSERT_NEW) == BH_DONE)
                continue;
        }
        left++;
    }
    return left;
}

/* BH_DY_PASS_REINSERT. */
BH_FN void BH_DY(reinsert_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_reinsert *job = (bh_dy_reinsert *)argument;
    uint64_t i;

    for (i = first; i < first + count; i++) {
        const uint64_t line = job->lines + (uint64_t)BH_DY_BUCKET_BYTES * i;

        if (BH_BRINGS && i + BH_DY_REINSERT_AHEAD < first + count)
            BH_DY(bring_homes)(job->geometry, line + BH_DY_REINSERT_AHEAD * BH_DY_BUCKET_BYTES);
        if (BH_DY(reinsert)(job, line, 0))
            BH_DY(note_left)(&job->list, i);
    }
}

/* BH_DY_PASS_REST. */
BH_FN void BH_DY(reinsert_rest)(void *argument, uint64_t first, uint64_t count)
{
    bh_dy_reinsert *job = (bh_dy_reinsert *)argument;
    uint64_t left = 0, i;

    for (i = first; i < first + count && !left; i++)
        left = BH_DY(reinsert)(job, job->lines + (uint64_t)BH_DY_BUCKET_BYTES * job->list.bucket[i],
                               1);
    bh_add64(&job->left, left);
}

/* BH_DY_PASS_EXPORT, by tables/copy_parts.h. */
BH_FN uint64_t BH_DY(line_out)(const bh_export_part *part, uint64_t bucket)
{
    return part->lines + (uint64_t)BH_DY_BUCKET_BYTES * bucket;
}

BH_FN const unsigned char *BH_DY(exported_at)(const bh_export_part *part, uint64_t bucket)
{
    return bh_dy_at(BH_DY(line_out)(part, bucket));
}

BH_FN uint32_t BH_DY(exported)(const bh_export_part *part, uint64_t bucket)
{
    return bh_export_used(
        part, bucket, bh_dy_used(bh_read64(BH_DY(exported_at)(part, bucket)), BH_DY_BUCKET_SLOTS));
}

BH_FN const unsigned char *BH_DY(key_out)(const bh_export_part *part, uint64_t bucket,
                                          uint32_t slot)
{
    return BH_DY(key_at)(BH_DY(line_out)(part, bucket), slot);
}

BH_FN const unsigned char *BH_DY(value_out)(const bh_export_part *part, uint64_t bucket,
                                            uint32_t slot)
{
    return BH_DY(value_at)(BH_DY(line_out)(part, bucket), slot);
}

#define BH_COPY BH_DY
#define BH_COPY_PACKS BH_DY_BUCKET_SLOTS
#include "tables/copy_parts.h"

/* BH_DY_PASS_PLACES. */
BH_FN void BH_DY(find_places)(void *argument, uint64_t first, uint64_t count)
{
    const bh__places *job = (const bh__places *)argument;
    const bh_dy_geometry *g = (const bh_dy_geometry *)job->geometry;
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    uint32_t bits = 0;
    uint64_t i;

    while (1u << bits < g->subtables)
        bits++;
    for (i = first; i < first + count; i++) {
        const bh_hash hash = bh_hash_key(keys[i], &g->seed);
        const uint64_t pair = bh_dy_pair_of(g, hash);
        const uint64_t subtable = g->pair[pair] & 15u;
        const uint64_t at =
            bh_hash_place(hash.one, g->home[pair].mask, (uint32_t)g->home[pair].doublings);

        job->places[i] = (uint32_t)((subtable << 32 | at) >> (bits + 32 - job->bits));
    }
}
