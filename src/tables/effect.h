/*
 * What an operation does to its key, apart from where the key lies: its effect on the value in hand. All
 * that performs several elements of one key at once is built on this: a run of a sorted call (HashFight,
 * and ordered calls on a GPU), the segments of an ordered call on cores, the twins of a warp.
 *
 *     elements of a key   add 5 | insert 2 | find | erase | insert 9
 *     the value in hand   7 -> 12 -> 2 -> 2 -> none -> 9
 *     outcomes              ASSIGNED ASSIGNED FOUND ERASED INSERTED
 *
 * Values are words of 64 bits here, whatever their width: bits of a sum above that width are cut off.
 */
#ifndef BH_TABLES_EFFECT_H
#define BH_TABLES_EFFECT_H

#include "targets/target.h"

#include "base/operations.h"
#include "primitives/combine.h"
#include "tables/table.h"

/* The outcome of elements that repeat an operation on a key right behind an element whose outcome is
 * `first`: that outcome tells whether the key is there now. */
BH_FN uint8_t bh_rest(uint32_t op, uint8_t first)
{
    if (first == BH_NOT_DONE)
        return first;
    return (uint8_t)(first == BH_MISSING || first == BH_ERASED ? BH_OP_ABSENT(op)
                                                               : BH_OP_PRESENT(op));
}

/* The value with which one element does what two would do, one with `so_far` and then one with `value`;
 * not cut off to its width. */
BH_FN uint64_t bh_join(uint32_t op, uint32_t value_bytes, uint64_t so_far, uint64_t value)
{
    return bh_combine(BH_OP_JOINS(op), value_bytes, so_far, value);
}

/* Joins a value to the one at p, to which others may be joined meanwhile. The first of twins joins the values of all of
 * them. */
BH_FN void bh_join_there(uint32_t op, uint32_t value_bytes, void *p, uint64_t value)
{
    const uint32_t twins = bh_twins(p);
    uint32_t left = twins;
    uint64_t seen;

    if (twins) {
        const uint64_t own = value;

        value = bh_of_twin(twins, bh_first(left), own);
        for (left &= left - 1; left; left &= left - 1)
            value = bh_join(op, value_bytes, value, bh_of_twin(twins, bh_first(left), own));
        if (!bh_is_first_twin(twins))
            return;
    }
    if (bh_join_word(p, BH_OP_JOINS(op), value_bytes, value))
        return;
    if (value_bytes == 4) {
        do
            seen = bh_load32(p);
        while (!bh_swap_if32(p, (uint32_t)seen, (uint32_t)bh_join(op, 4, seen, value)));
    } else {
        do
            seen = bh_load64(p);
        while (!bh_swap_if64(p, seen, bh_join(op, 8, seen, value)));
    }
}

/* One element's effect on the value in hand. */
BH_FN bh_outcome bh_act(uint32_t op, uint64_t given, uint32_t value_bytes, int *present,
                        uint64_t *value)
{
    const bh_outcome outcome = *present ? BH_OP_PRESENT(op) : BH_OP_ABSENT(op);

    if (outcome == BH_ERASED)
        *present = 0;
    if (outcome != BH_INSERTED && outcome != BH_ASSIGNED)
        return outcome;
    *present = 1;
    *value = outcome == BH_ASSIGNED ? bh_join(op, value_bytes, *value, given) : given;
    if (value_bytes == 4)
        *value = (uint32_t)*value;
    return outcome;
}

/* A value of an array, by its width; 0 in a table without values. Where the caller gave no array,
 * elements are counted: each brings 1. */
BH_FN uint64_t bh_value_at(const void *values, uint32_t value_bytes, uint64_t at)
{
    if (!value_bytes)
        return 0;
    if (!values)
        return 1;
    return value_bytes == 4 ? ((const uint32_t *)values)[at] : ((const uint64_t *)values)[at];
}

/* The value that an element of a slice brings. Only operations that reduce may be given no values. */
BH_FN uint64_t bh_given(const bh__slice *slice, uint32_t op, uint32_t value_bytes, uint32_t at)
{
    if (BH_BLANKS && BH_OP_REDUCES(op))
        return bh_value_at(slice->values, value_bytes, at);
    if (!value_bytes)
        return 0;
    return value_bytes == 4 ? ((const uint32_t *)slice->values)[at]
                            : ((const uint64_t *)slice->values)[at];
}

/* Assigns or joins what an element brings to the value of its key, at p, without a lock: others may do so
 * meanwhile, if the slice is not the only writer. */
BH_FN void bh_change_there(bh__slice *slice, uint32_t op, uint32_t value_bytes, unsigned char *p,
                           uint32_t at)
{
    uint64_t value;

    slice->assigned++;
    if (!value_bytes)
        return;
    value = bh_given(slice, op, value_bytes, at);
    if (BH_OP_REDUCES(op) && !BH_IS_BIASED(slice->hints)) {
        bh_join_there(op, value_bytes, p, value);
        return;
    }
    if (BH_OP_REDUCES(op)) {
        value = bh_join(op, value_bytes, value_bytes == 4 ? bh_load32(p) : bh_load64(p), value);
    } else {
        const uint32_t twins = bh_twins(p);

        if (twins && !bh_is_first_twin(twins))
            return; /* as if the first had come last */
    }
    if (value_bytes == 4)
        bh_write32(p, (uint32_t)value);
    else
        bh_write64(p, value);
}

BH_FN void bh_set_value_at(void *values, uint32_t value_bytes, uint64_t at, uint64_t value)
{
    if (value_bytes == 4)
        ((uint32_t *)values)[at] = (uint32_t)value;
    else if (value_bytes)
        ((uint64_t *)values)[at] = value;
}

BH_FN uint64_t bh_run_end(const bh__runs *runs, uint64_t run)
{
    return run + 1 < runs->count ? runs->starts[run + 1] : runs->elements;
}

/* How many elements inserted, erased, assigned or were refused. */
typedef struct bh_done {
    uint64_t inserted;
    uint64_t erased;
    uint64_t assigned;
    uint64_t refused;
} bh_done;

/* Counts elements that have the same outcome. */
BH_FN void bh_done_add(bh_done *done, bh_outcome outcome, uint64_t elements)
{
    done->inserted += outcome == BH_INSERTED ? elements : 0;
    done->erased += outcome == BH_ERASED ? elements : 0;
    done->assigned += outcome == BH_ASSIGNED ? elements : 0;
    done->refused += outcome == BH_NOT_DONE ? elements : 0;
}

/*
 * Performs the elements from `i` to `end` of a run on the value in hand. Without a place for an absent key,
 * elements that would insert it are not done. Answers whether the value was set; with `answers` 0 no outcome
 * or value is written, and nothing is counted. A caller that passes value_bytes (runs->value_bytes) as a
 * constant gets shorter code.
 *
 * On a GPU one thread performs a run (of HashFight only if it is not long, or its elements do different things). Reading
 * eight elements ahead of performing them was tried there: 7% more where all keys are equal, and 36% less where all are
 * different.
 */
BH_FN int bh_perform_run(const bh__runs *runs, uint32_t value_bytes, uint64_t i, uint64_t end,
                         int has_place, int *present, uint64_t *value, int answers, bh_done *done)
{
    int set = 0;

    for (; i < end; i++) {
        const uint32_t at = runs->index[i], op = runs->ops ? runs->ops[at] : runs->op;
        bh_outcome outcome = BH_NOT_DONE;

        if (has_place || !BH_OP_INSERTS(op)) {
            const uint64_t given = BH_OP_READS(op) ? bh_value_at(runs->values, value_bytes, at) : 0;

            outcome = bh_act(op, given, value_bytes, present, value);
            set |= outcome == BH_INSERTED || outcome == BH_ASSIGNED;
        }
        if (!answers)
            continue;
        if (outcome == BH_FOUND && BH_OP_WRITES(op) && runs->values_out)
            bh_set_value_at(runs->values_out, value_bytes, at, *value);
        if (runs->outcomes)
            runs->outcomes[at] = (uint8_t)outcome;
        bh_done_add(done, outcome, 1);
    }
    return set;
}

/* BH_EFFECTS_LEFT. */
BH_FN void bh_effect_left(const bh__effects *e, uint64_t run)
{
    const bh__runs *r = &e->runs;
    const int was = e->found[run] == BH_FOUND;
    uint64_t value = was ? bh_value_at(e->before, r->value_bytes, run) : 0;
    int present = was, set;

    set = bh_perform_run(r, r->value_bytes, r->starts[run], bh_run_end(r, run), 1, &present, &value,
                         0, 0);
    e->left[run] = (uint8_t)(present ? set ? BH_INSERT : BH_FIND : was ? BH_ERASE : BH_FIND);
    bh_set_value_at(e->after, r->value_bytes, run, value);
}

/* BH_EFFECTS_ANSWER. A run whose new key found no place is performed without a place, so its lookups have
 * outcomes. Where the operation `left` was not done for another reason, no element of the run was. */
BH_FN void bh_effect_answer(const bh__effects *e, uint64_t run)
{
    const bh__runs *r = &e->runs;
    const int was = e->found[run] == BH_FOUND, refused = e->done[run] == BH_NOT_DONE;
    const uint64_t begin = r->starts[run], end = bh_run_end(r, run);
    uint64_t value = was ? bh_value_at(e->before, r->value_bytes, run) : 0, i;
    bh_done done = {0, 0, 0, 0};
    int present = was;

    if (!refused || (!was && e->left[run] == BH_INSERT))
        (void)bh_perform_run(r, r->value_bytes, begin, end, !refused, &present, &value, 1, &done);
    else
        for (i = begin; r->outcomes && i < end; i++)
            r->outcomes[r->index[i]] = BH_NOT_DONE;
}

/* BH_EFFECTS_HEADS. */
BH_FN void bh_effect_head(const bh__effects *e, uint64_t run)
{
    e->heads[e->runs.starts[run]] = 1;
}

/* BH_EFFECTS_SHARE. `after` is the value that the run's key has now, for operations that write it to
 * values_out. */
BH_FN void bh_effect_share(const bh__effects *e, uint64_t i)
{
    const bh__runs *r = &e->runs;
    const uint64_t run = e->heads_before[i] + e->heads[i] - 1;
    const uint8_t first = e->done[run];
    const uint8_t outcome = e->heads[i] ? first : bh_rest(r->op, first);

    if (r->outcomes)
        r->outcomes[r->index[i]] = outcome;
    if (outcome == BH_FOUND && BH_OP_WRITES(r->op) && r->values_out)
        bh_set_value_at(r->values_out, r->value_bytes, r->index[i],
                        bh_value_at(e->after, r->value_bytes, run));
}

/* BH_EFFECTS_COUNT. */
BH_FN void bh_effect_count(const bh__effects *e, uint64_t run)
{
    bh_set_value_at(e->after, e->runs.value_bytes, run,
                    bh_run_end(&e->runs, run) - e->runs.starts[run]);
}

#endif
