/*
 * DyCuckoo, passes over all pairs of some memory: inserting them again under another geometry, and
 * copying them out. An include-template that ops.h includes.
 *
 *     BH_DY_PASS_REINSERT   every pair of a range of buckets is inserted into a table with another
 *                           geometry, by the same steps that a caller's insert takes
 *     BH_DY_PASS_REST       the same for the pairs that REINSERT has left, with longer paths (place.h)
 *     BH_DY_PASS_EXPORT     every pair is copied to the caller's arrays
 *     BH_DY_PASS_PLACES     (over no memory of the table) says where the homes of keys are
 */
/* Inserts the pairs of a range of buckets. With `alone` it is the second time: most keys are in the table
 * already, and for the others longer paths are looked for. */
BH_FN void BH_DY(reinsert)(bh_dy_reinsert *job, uint64_t first, uint64_t count, int alone)
{
    uint64_t left = 0, i;
    uint32_t vain = 0;
    BH_VALUE value;
    BH_KEY key;
    bh__slice slice;

    slice.geometry = job->geometry;
    slice.keys = &key;
    slice.values = &value;
    slice.values_out = 0;
    slice.outcomes = 0;
    slice.ops = 0;
    slice.system = 0;
    slice.op = BH_INSERT_NEW;
    slice.hints = slice.reasons = slice.moved = 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    slice.room = UINT64_MAX;
    slice.looks = BH_LOOKS_FREE;
    for (i = first; i < first + count && vain < BH_DY_VAIN_MOST; i++) {
        uint64_t line = job->lines + (uint64_t)BH_DY_BUCKET_BYTES * i;
        uint32_t used = bh_dy_used(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS);

        for (; used && vain < BH_DY_VAIN_MOST; used &= used - 1) {
            uint64_t root[2], looks = BH_DY_LOOKS_LONE;
            bh_dy_places places;

            key = BH_DY(own_key)(line, bh_first(used));
            value = BH_DY(own_value)(line, bh_first(used));
            if (BH_DY(carry)(&slice, 0, BH_INSERT_NEW) == BH_DONE)
                continue;
            if (!alone) {
                left++;
                continue;
            }
            places = bh_dy_places_of(job->geometry, key, BH_DY_BUCKET_BYTES);
            root[0] = places.home;
            root[1] = places.other;
            if (!BH_DY(make_room)(job->geometry, job->scratch, &looks, root, 0) ||
                BH_DY(carry)(&slice, 0, BH_INSERT_NEW) != BH_DONE) {
                left++;
                vain++;
            }
        }
    }
    bh_add64(&job->left, left);
}

/* BH_DY_PASS_REINSERT. */
BH_FN void BH_DY(reinsert_buckets)(void *argument, uint64_t first, uint64_t count)
{
    BH_DY(reinsert)((bh_dy_reinsert *)argument, first, count, 0);
}

/* BH_DY_PASS_REST. */
BH_FN void BH_DY(reinsert_rest)(void *argument, uint64_t first, uint64_t count)
{
    BH_DY(reinsert)((bh_dy_reinsert *)argument, first, count, 1);
}

/* The slots in use of a bucket that are to be exported. */
BH_FN uint32_t BH_DY(exported)(const bh__export *job, uint64_t line, uint64_t bucket)
{
    return bh_export_used(job, bucket, bh_dy_used(bh_read64(bh_dy_at(line)), BH_DY_BUCKET_SLOTS));
}

/* BH_DY_PASS_EXPORT: copies the pairs of each part to the places that it takes. */
BH_FN void BH_DY(export_parts)(void *argument, uint64_t first, uint64_t count)
{
    bh__export *job = (bh__export *)argument;
    uint64_t part, bucket;
    BH_KEY *keys = (BH_KEY *)job->keys;
    BH_VALUE *values = (BH_VALUE *)job->values;

    for (part = first; part < first + count; part++) {
        uint64_t end = bh_export_part(job, part, &bucket), i, there = 0, to, last;

        /* Counts no more keys than the output has room for: a call may be for a few pairs only. */
        for (i = bucket; i < end && there <= job->room; i++) {
            uint64_t line = job->lines + (uint64_t)BH_DY_BUCKET_BYTES * i;

            /* Also behind the end of this part: the next part is read soon too. */
            bh_bring(bh_dy_at(line + BH_DY_AHEAD * (uint64_t)BH_DY_BUCKET_BYTES));
            there += bh_count(BH_DY(exported)(job, line, i));
        }
        to = bh_take64(&job->taken, there);
        last = to + there < job->room ? to + there : job->room;
        for (; bucket < end; bucket++) {
            uint64_t line = job->lines + (uint64_t)BH_DY_BUCKET_BYTES * bucket;
            uint32_t used = BH_DY(exported)(job, line, bucket), slot;

            /* Packing may write a word for every slot: all of them must be this part's places. */
            if (to + BH_DY_BUCKET_SLOTS <= last) {
                BH_PACK_KEYS(keys + to, BH_DY(key_at)(line, 0), BH_DY_BUCKET_SLOTS, used);
                if (BH_VALUE_BYTES && values)
                    BH_PACK_VALUES(values + to, BH_DY(value_at)(line, 0), BH_DY_BUCKET_SLOTS, used);
                to += bh_count(used);
                continue;
            }
            for (; used; used &= used - 1) {
                slot = bh_first(used);

                if (to == last) {
                    job->stop = bucket;
                    job->stop_slot = slot;
                    bucket = end;
                    break;
                }
                keys[to] = BH_DY(own_key)(line, slot);
                if (BH_VALUE_BYTES && values)
                    values[to] = BH_DY(own_value)(line, slot);
                to++;
            }
        }
    }
}

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
