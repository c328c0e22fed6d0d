/*
 * Copying the pairs of one part of an array of buckets: the text of the pass that copy_out.h describes, and
 * what a design says for it. An include-template: see instance.h. A design defines BH_COPY(name), and these
 * functions of the part and the number of a bucket:
 *
 *     BH_COPY(exported_at)   the address of what says which slots are in use
 *     BH_COPY(exported)      the slots that are to be exported, as bits
 *     BH_COPY(key_out)       the address of the key in a slot; BH_COPY(value_out) that of its value
 *
 * Where the keys of a bucket lie one behind the other, and the values likewise, BH_COPY_PACKS is the number
 * of its slots, and whole buckets are packed at once. A GPU has a text of its own around the same functions
 * (cuda/device/by_block.h).
 */

/* Buckets ahead of which the lines of a bucket are asked for. Chosen, not tuned. */
#ifndef BH_COPY_AHEAD
#define BH_COPY_AHEAD 24u
#endif

typedef struct BH_COPY(pair_out) {
    BH_KEY key;
    BH_VALUE value;
} BH_COPY(pair_out);

/* Reads the pair in a slot; its value if `values` is not NULL. */
BH_FN BH_COPY(pair_out) BH_COPY(read_out)(const bh_export_part *part, uint64_t number,
                                          uint32_t slot, const BH_VALUE *values)
{
    BH_COPY(pair_out) pair;

    pair.key = BH_READ_KEY(BH_COPY(key_out)(part, number, slot));
    pair.value = 0;
    if (BH_VALUE_BYTES && values)
        pair.value = BH_READ_VALUE(BH_COPY(value_out)(part, number, slot));
    return pair;
}

/* Writes it to place `to` of the output. */
BH_FN void BH_COPY(write_out)(BH_KEY *keys, BH_VALUE *values, uint64_t to, BH_COPY(pair_out) pair)
{
    keys[to] = pair.key;
    if (BH_VALUE_BYTES && values)
        values[to] = pair.value;
}

/* Copies the pairs of a part to the places that it takes. */
BH_FN void BH_COPY(export_part)(bh__export *job, uint64_t number)
{
    const bh_export_part own = bh_export_part_of(job, number), *const part = &own;
    BH_KEY *const keys = (BH_KEY *)job->keys;
    BH_VALUE *const values = (BH_VALUE *)job->values;
    uint64_t there = 0, to, last, i;

    /* Counts no more keys than the output has room for: a call may be for a few pairs only. */
    for (i = part->begin; i < part->end && there <= job->room; i++) {
        /* Also behind the end of this part: the next part is read soon too. */
        bh_bring(BH_COPY(exported_at)(part, i + BH_COPY_AHEAD));
        there += bh_count(BH_COPY(exported)(part, i));
    }
    to = bh_take64(&job->taken, there);
    last = to + there < job->room ? to + there : job->room;
    for (i = part->begin; i < part->end; i++) {
        uint32_t used = BH_COPY(exported)(part, i);

#ifdef BH_COPY_PACKS
        /* Packing may write a word for every slot: all of them must be this part's places. */
        if (to + BH_COPY_PACKS <= last) {
            BH_PACK_KEYS(keys + to, BH_COPY(key_out)(part, i, 0), BH_COPY_PACKS, used);
            if (BH_VALUE_BYTES && values)
                BH_PACK_VALUES(values + to, BH_COPY(value_out)(part, i, 0), BH_COPY_PACKS, used);
            to += bh_count(used);
            continue;
        }
#endif
        for (; used; used &= used - 1) {
            if (to >= last) {
                bh_export_stop(job, part, i, bh_first(used));
                return;
            }
            BH_COPY(write_out)
            (keys, values, to++, BH_COPY(read_out)(part, i, bh_first(used), values));
        }
    }
}

/* The pass. */
BH_FN void BH_COPY(export_parts)(void *argument, uint64_t first, uint64_t count)
{
    bh__export *job = (bh__export *)argument;
    uint64_t i;

    for (i = first; i < first + count; i++)
        BH_COPY(export_part)(job, i);
}

#undef BH_COPY
#undef BH_COPY_PACKS
