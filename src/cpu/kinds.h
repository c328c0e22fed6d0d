/*
 * Slices of different operations run kind by kind: otherwise a processor would mispredict every second
 * operation. The elements are as if concurrent, so any order will do; erasures come first, because they make
 * room for insertions.
 *
 * The elements of a kind are copied beside each other, run as a slice of their own, and their answers are
 * copied back. So they go through the same text as a call of one operation, in which keys are read as vectors.
 * Values are copied both ways for lookups, too: that of a missing key stays as the caller had it.
 *
 *     ops       F F E F I F F F ..          mask of a kind, 64 elements at a time
 *     keys      a b c d e f g h ..
 *                 |   |             pack
 *     alike     a b d f g h ..    names  0 1 3 5 6 7 ..     run; then values and outcomes go to the elements
 *                                                           that are named
 *
 * An include-template like schedule.h, whose kernels run what is copied.
 */
#ifndef BH_CPU_KINDS_H
#define BH_CPU_KINDS_H

/* Elements that are copied at a time where the call has no memory for copies (bh__slice.copies): these lie on the stack, of which
 * a call needs at most 64 KiB, as the header promises (tests/unit/stack.c). With that memory it is all of a kind: each run waits
 * for its first lines, and for its last (docs/decisions/0033). */
#define BH_KINDS_FEW 512u

/* Elements whose operations are compared at a time: the bytes of a line. */
#define BH_KINDS_LINE 64u

/* Elements that are packed at a time. */
#define BH_KINDS_GROUP 16u

/* Up to so many elements of a kind in a line are copied one by one: else a rare kind would cost as much as a frequent one. */
#define BH_KINDS_SPARSE 12u

#if BH_COPIES_BYTES(0, 1, 0) != BH_KINDS_GROUP * 5
#error "copies have no room for a group more"
#endif

/* Which kind has a turn: erasures the first, and then in the order of their numbers. */
BH_FN uint32_t bh_kind_of_turn(uint32_t turn)
{
    const uint32_t first = BH_ERASE;

    return turn > first ? turn : turn ? turn - 1 : first;
}

#endif

/* Elements that do the same; `room` for so many, and for a group more, which packing overwrites. */
typedef struct BH_DESIGN(alike) {
    BH_KEY *keys;
    BH_VALUE *values;
    uint32_t *names;
    uint8_t *outcomes;
    uint32_t room;
} BH_DESIGN(alike);

/* Lays copies of `room` elements out in some memory. */
BH_FN BH_DESIGN(alike) BH_DESIGN(alike_in)(unsigned char *memory, uint32_t room)
{
    const uint64_t each = room + BH_KINDS_GROUP;
    BH_DESIGN(alike) alike;

    alike.keys = (BH_KEY *)(void *)memory;
    alike.values = (BH_VALUE *)(void *)(memory + each * BH_KEY_BYTES);
    alike.names = (uint32_t *)(void *)(memory + each * (BH_KEY_BYTES + BH_VALUE_BYTES));
    alike.outcomes = memory + each * (BH_KEY_BYTES + BH_VALUE_BYTES + sizeof *alike.names);
    alike.room = room;
    return alike;
}

/* Adds an element. `values` are those of the slice, or NULL. */
BH_FN void BH_DESIGN(add_one)(BH_DESIGN(alike) *alike, const bh__slice *slice,
                              const BH_VALUE *values, uint32_t at, uint32_t count)
{
    alike->keys[count] = ((const BH_KEY *)slice->keys)[at];
    if (BH_VALUE_BYTES && values)
        alike->values[count] = values[at];
    alike->names[count] = at;
}

/* Adds the elements of one kind that the mask has of the line of operations from `at` on. Answers how many there are then. Few
 * are added one by one. */
BH_FN uint32_t BH_DESIGN(add_line)(BH_DESIGN(alike) *alike, const bh__slice *slice,
                                   const BH_VALUE *values, uint32_t at, uint64_t mask,
                                   uint32_t count)
{
    uint32_t names[BH_KINDS_GROUP], i;

    if (slice->count - at < BH_KINDS_LINE ||
        bh_count((uint32_t)mask) + bh_count((uint32_t)(mask >> 32)) <= BH_KINDS_SPARSE) {
        for (; mask; mask &= mask - 1)
            BH_DESIGN(add_one)(alike, slice, values, at + bh_first64(mask), count++);
        return count;
    }
    for (i = 0; i < BH_KINDS_GROUP; i++)
        names[i] = at + i;
    for (; mask; mask >>= BH_KINDS_GROUP) {
        const uint32_t now = (uint32_t)mask & ((1u << BH_KINDS_GROUP) - 1);

        BH_PACK_KEYS(alike->keys + count, (const BH_KEY *)slice->keys + at, BH_KINDS_GROUP, now);
        if (BH_VALUE_BYTES && values)
            BH_PACK_VALUES(alike->values + count, values + at, BH_KINDS_GROUP, now);
        bh_pack32(alike->names + count, names, BH_KINDS_GROUP, now);
        count += bh_count(now);
        at += BH_KINDS_GROUP;
        for (i = 0; i < BH_KINDS_GROUP; i++)
            names[i] += BH_KINDS_GROUP;
    }
    return count;
}

/* Which of a line of operations are of a kind: bit i says it of the i-th. The line is this thread's own, so it is copied, and
 * not loaded as a line of a table is. */
BH_FN uint64_t BH_DESIGN(of_kind)(const uint8_t *ops, uint32_t kind)
{
    bh_line line;

    __builtin_memcpy(&line, ops, sizeof line);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (uint32_t i = 0; i < 8; i++)
        line.word[i] = __builtin_bswap64(line.word[i]); /* the lowest byte is the first */
#endif
    return bh_line_match8(line, kind);
}

/* Runs the kernel for a slice whose elements all do slice->op. */
BH_FN void BH_DESIGN(run_kind)(bh__slice *slice)
{
    switch (slice->op) {
    case BH_FIND: BH_DESIGN(slice_find)(slice); break;
    case BH_INSERT: BH_DESIGN(slice_insert)(slice); break;
    case BH_ERASE: BH_DESIGN(slice_erase)(slice); break;
    case BH_ADD: BH_DESIGN(slice_add)(slice); break;
    default: BH_DESIGN(slice_other)(slice);
    }
}

/* Runs the `count` elements of `alike` as a part of a slice, of which `stalled` elements have stalled. Answers how many have
 * then. */
BH_FN_RARE uint32_t BH_DESIGN(run_part)(bh__slice *slice, BH_DESIGN(alike) *alike, uint32_t kind,
                                        uint32_t count, uint32_t stalled)
{
    const bh__slice whole = *slice;
    uint16_t *const list = whole.list + stalled;
    uint32_t i;

    slice->keys = alike->keys;
    slice->values = whole.values ? alike->values : NULL;
    slice->values_out = BH_OP_WRITES(kind) && whole.values_out ? alike->values : NULL;
    slice->outcomes = whole.outcomes ? alike->outcomes : NULL;
    slice->ops = NULL;
    slice->list = list;
    slice->count = count;
    slice->op = (uint8_t)kind;
    BH_DESIGN(run_kind)(slice);
    /* What has stalled gets its outcome when it runs again; until then it has any. */
    for (i = 0; i < slice->stalled; i++)
        list[i] = (uint16_t)alike->names[list[i]];
    stalled += slice->stalled;
    for (i = 0; whole.outcomes && i < count; i++)
        whole.outcomes[alike->names[i]] = alike->outcomes[i];
    for (i = 0; BH_VALUE_BYTES && slice->values_out && i < count; i++)
        ((BH_VALUE *)whole.values_out)[alike->names[i]] = alike->values[i];
    slice->keys = whole.keys;
    slice->values = whole.values;
    slice->values_out = whole.values_out;
    slice->outcomes = whole.outcomes;
    slice->ops = whole.ops;
    slice->list = whole.list;
    slice->count = whole.count;
    slice->op = whole.op;
    return stalled;
}

/* Runs a slice of different operations, all of its elements. */
BH_FN_RARE void BH_DESIGN(run_kinds)(bh__slice *slice)
{
    uint8_t ops[(BH_SLICE_MOST + BH_KINDS_LINE - 1) / BH_KINDS_LINE * BH_KINDS_LINE]
        __attribute__((aligned(BH_KINDS_LINE)));
    unsigned char few[BH_COPIES_BYTES(BH_KINDS_FEW, BH_KEY_BYTES, BH_VALUE_BYTES)]
        __attribute__((aligned(8)));
    BH_DESIGN(alike) alike = slice->copies ? BH_DESIGN(alike_in)(slice->copies, BH_SLICE_MOST)
                                           : BH_DESIGN(alike_in)(few, BH_KINDS_FEW);
    const uint32_t total = slice->count;
    uint32_t stalled = 0, seen = 0, turn, at;

    __builtin_memcpy(ops, slice->ops, total);
    for (at = total; at % BH_KINDS_LINE; at++)
        ops[at] = BH_OPS; /* no operation */
    for (turn = 0; turn < BH_OPS && seen < total; turn++) {
        const uint32_t kind = bh_kind_of_turn(turn);
        /* In a call of different operations both are the same array, or NULL. */
        const BH_VALUE *const values = BH_OP_WRITES(kind)  ? (const BH_VALUE *)slice->values_out
                                       : BH_OP_READS(kind) ? (const BH_VALUE *)slice->values
                                                           : NULL;
        uint32_t count = 0;

        for (at = 0; at < total; at += BH_KINDS_LINE) {
            const uint32_t behind = total - at > BH_KINDS_LINE ? total - at - BH_KINDS_LINE : 0;
            const uint32_t next = behind < BH_KINDS_LINE ? behind : BH_KINDS_LINE;

            count = BH_DESIGN(add_line)(&alike, slice, values, at,
                                        BH_DESIGN(of_kind)(ops + at, kind), count);
            if (count && (!behind || count + next > alike.room)) {
                stalled = BH_DESIGN(run_part)(slice, &alike, kind, count, stalled);
                seen += count;
                count = 0;
            }
        }
    }
    slice->stalled = stalled;
}
