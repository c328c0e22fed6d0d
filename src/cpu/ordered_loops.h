/*
 * The loops of an ordered call (ordered.c) that know the widths of keys and values: an
 * include-template like the schedule, but of plain loops over arrays, so it is compiled
 * once and not for each instruction set. Each of them is a pass over a range of parts,
 * segments or names; ranges run at the same time.
 *
 * A chunk's rows (key and index of each element) have been partitioned by the keys' hash,
 * in the order of the call. A part is small enough for a table of its keys in the first
 * cache. Its rows are joined to *segments*: rows that follow each other for the same key with
 * the same operation. (Where the result depends on the order in which values are joined,
 * BH_OP_ROUNDS, each row is a segment.) A segment is done as one *effective* operation, whose
 * outcome gives the outcomes of all its rows:
 *
 *     rows      7 insert a   9 add 1   7 insert b   7 erase   9 add 5   7 erase
 *     segments  [7 insert b] <- 0, 2   [9 add 6] <- 1, 4   [7 erase] <- 3, 5
 *
 * The outcomes of a segment's later rows follow from that of its first row, because nothing
 * comes between operations that take effect at one instant.
 */
#include "tables/instance.h"

#ifndef BH_CPU_ORDERED_LOOPS_H
#define BH_CPU_ORDERED_LOOPS_H

#include "cpu/ordered.h"
#include "tables/effect.h"

/* Keys of a part at most (a part of random keys has about half as many), and places of the table of these
 * keys. */
#define BH_ORDERED_KEYS_MOST (2 * BH_ORDERED_PART)
#define BH_ORDERED_PLACES (4 * BH_ORDERED_PART)

/* Marks, in row_segment, the rows of a segment behind its first. */
#define BH_ORDERED_REST 0x80000000u

/* How many rows ahead an element's value is prefetched. Chosen, not tuned. */
#define BH_ORDERED_AHEAD 16u

typedef struct bh__chunk {
    bh__batch batch;     /* the elements, as the caller gave them */
    uint64_t multiplier; /* of the hash that finds a key's place in a part: odd, and secret */

    /* Rows, part by part. In batches without outcomes rows have values instead of indexes. */
    uint64_t parts;
    void *row_keys; /* free for other use when the keys of segments are known */
    const uint32_t *row_index;
    const void *row_values;
    uint32_t *row_segment; /* which segment of its part the row belongs to */

    /* Segments: those of a part lie where its rows do, as far as there are any. */
    void *keys;
    void
        *values; /* the value to be written for the key; then the value that it was found to have */
    uint8_t *ops; /* NULL: all do the same */
    uint8_t *outcomes;
    uint32_t *next; /* the next segment of the same key, 0: none. NULL: each key has one segment */

    /* A wave: segments with different keys, by their names, and the arrays of their batch. */
    uint64_t named;
    uint32_t *names;
    uint32_t *names_next;
    void *wave_keys;
    void *wave_values;
    uint8_t *wave_ops;
    uint8_t *wave_outcomes;

    uint32_t crowded;     /* a part has more keys than random ones would have */
    uint64_t *part_first; /* row of each part, and behind the last one */
} bh__chunk;

typedef struct bh__chunk_loops {
    void (*group)(void *chunk, uint64_t first, uint64_t count);
    void (*gather)(void *chunk, uint64_t first, uint64_t count);
    void (*settle)(void *chunk, uint64_t first, uint64_t count);
    void (*expand)(void *chunk, uint64_t first, uint64_t count);
} bh__chunk_loops;

#endif

/* These loops do not depend on whether buckets keep values apart. */
#if !BH_APART

/* Joins the rows of a part to segments, and lists in `names` the first segment of each key. */
static void BH_NAME(bh_chunk_group_part)(bh__chunk *c, uint64_t part)
{
    const uint64_t begin = c->part_first[part], end = c->part_first[part + 1];
    const BH_KEY *row_keys = (const BH_KEY *)c->row_keys;
    const BH_VALUE *row_values = (const BH_VALUE *)c->row_values;
    const BH_VALUE *given = (const BH_VALUE *)c->batch.values;
    const uint32_t *index = c->row_index;
    BH_KEY *keys = (BH_KEY *)c->keys + begin;
    BH_VALUE *values = (BH_VALUE *)c->values;
    const int valued = BH_VALUE_BYTES && values;
    /* Of each place the number of a key, from 1 on; of each key its last segment. */
    uint16_t places[BH_ORDERED_PLACES] = {0};
    uint32_t last[BH_ORDERED_KEYS_MOST + 1];
    /* The keys by their numbers overwrite rows that have been read: there are never more keys than rows
     * read. */
    BH_KEY *known = (BH_KEY *)c->row_keys + begin;
    uint32_t segments = 0, count = 0, i;
    uint8_t op = (uint8_t)c->batch.op;
    uint64_t name, r;

    if (valued)
        values += begin;
    for (r = begin; r < end; r++) {
        const BH_KEY key = row_keys[r];
        uint64_t spread = (uint64_t)key * c->multiplier >> 32;
        uint32_t place = (uint32_t)(spread * BH_ORDERED_PLACES >> 32);
        uint32_t number, segment, rest = 0;
        BH_VALUE value = 0;

        if (index && r + BH_ORDERED_AHEAD < end) {
            if (valued && given)
                __builtin_prefetch(&given[index[r + BH_ORDERED_AHEAD]]);
            if (c->ops)
                __builtin_prefetch(&c->batch.ops[index[r + BH_ORDERED_AHEAD]]);
        }
        while ((number = places[place]) != 0 && known[number - 1] != key)
            place = (place + 1) % BH_ORDERED_PLACES;
        if (c->ops)
            op = c->batch.ops[index[r]];
        if (valued)
            value = row_values ? row_values[r] : given ? given[index[r]] : 1;
        if (number && (!c->ops || (c->ops[begin + last[number]] == op && !BH_OP_ROUNDS(op)))) {
            segment = last[number];
            if (valued)
                values[segment] = (BH_VALUE)bh_join(op, BH_VALUE_BYTES, values[segment], value);
            rest = BH_ORDERED_REST;
        } else {
            segment = segments++;
            if (number) {
                c->next[begin + last[number]] = (uint32_t)begin + segment;
            } else {
                if (count == BH_ORDERED_KEYS_MOST) {
                    bh__atomic_store(&c->crowded, 1, __ATOMIC_RELAXED);
                    return;
                }
                if (c->ops)
                    c->names_next[begin + count] = (uint32_t)begin + segment;
                number = ++count;
                places[place] = (uint16_t)number;
                known[number - 1] = key;
            }
            last[number] = segment;
            keys[segment] = key;
            if (valued)
                values[segment] = value;
            if (c->ops) {
                c->ops[begin + segment] = op;
                c->next[begin + segment] = 0;
            }
        }
        if (c->row_segment)
            c->row_segment[r] = segment | rest;
    }
    /* Only here do tasks share something. In which order the parts' names come does not matter. */
    name = bh__atomic_add(&c->named, count, __ATOMIC_RELAXED);
    for (i = 0; i < count; i++)
        c->names[name + i] = c->ops ? c->names_next[begin + i] : (uint32_t)begin + i;
}

static void BH_NAME(bh_chunk_group)(void *argument, uint64_t first, uint64_t count)
{
    bh__chunk *c = (bh__chunk *)argument;
    uint64_t part;

    for (part = first; part < first + count; part++)
        BH_NAME(bh_chunk_group_part)(c, part);
}

/* Fills the arrays of a batch with the segments that `names` lists. */
static void BH_NAME(bh_chunk_gather)(void *argument, uint64_t first, uint64_t count)
{
    bh__chunk *c = (bh__chunk *)argument;
    uint64_t i;

    for (i = first; i < first + count; i++) {
        const uint32_t segment = c->names[i];

        ((BH_KEY *)c->wave_keys)[i] = ((const BH_KEY *)c->keys)[segment];
        if (BH_VALUE_BYTES && c->values)
            ((BH_VALUE *)c->wave_values)[i] = ((const BH_VALUE *)c->values)[segment];
        if (c->ops)
            c->wave_ops[i] = c->ops[segment];
    }
}

/* Copies the outcomes and values of that batch to its segments. */
static void BH_NAME(bh_chunk_settle)(void *argument, uint64_t first, uint64_t count)
{
    bh__chunk *c = (bh__chunk *)argument;
    uint64_t i;

    for (i = first; i < first + count; i++) {
        const uint32_t segment = c->names[i];

        c->outcomes[segment] = c->wave_outcomes[i];
        if (BH_VALUE_BYTES && c->batch.values_out)
            ((BH_VALUE *)c->values)[segment] = ((const BH_VALUE *)c->wave_values)[i];
    }
}

/* Writes the outcomes and values of segments to the caller's arrays, part by part. */
static void BH_NAME(bh_chunk_expand)(void *argument, uint64_t first, uint64_t count)
{
    const bh__chunk *c = (const bh__chunk *)argument;
    const uint32_t *index = c->row_index;
    uint8_t *outcomes = c->batch.outcomes;
    BH_VALUE *values = (BH_VALUE *)c->batch.values_out;
    uint8_t op = (uint8_t)c->batch.op;
    uint64_t part, r;

    for (part = first; part < first + count; part++) {
        const uint64_t begin = c->part_first[part];

        for (r = begin; r < c->part_first[part + 1]; r++) {
            const uint64_t segment = begin + (c->row_segment[r] & ~BH_ORDERED_REST);
            uint8_t outcome = c->outcomes[segment];

            if (c->ops)
                op = c->ops[segment];
            if (c->row_segment[r] & BH_ORDERED_REST)
                outcome = bh_rest(op, outcome);
            if (BH_VALUE_BYTES && values && BH_OP_WRITES(op) && outcome == BH_FOUND)
                values[index[r]] = ((const BH_VALUE *)c->values)[segment];
            if (outcomes)
                outcomes[index[r]] = outcome;
        }
    }
}

static const bh__chunk_loops BH_NAME(bh_chunk_loops) = {
    BH_NAME(bh_chunk_group), BH_NAME(bh_chunk_gather), BH_NAME(bh_chunk_settle),
    BH_NAME(bh_chunk_expand)};

#endif
#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
