/*
 * DyCuckoo, what to do when operations of a slice stalled, with the gate held alone:
 *
 *     there is room again                            run them again
 *     there is no room, and the table may grow       grow; run them again
 *     no path was found for some                     BH_DY_PASS_PLACE: search further, one by one
 *     PLACE found none, and growing is worth it      grow; run them again
 *     PLACE found none, and the table is too empty   another seed, once; run them again
 *     the table cannot grow                          refuse those that find no room and no place
 */
#include "tables/dycuckoo/policy.h"

#include "base/system.h"
#include "tables/counts.h"

/* Gives the table another seed, so that keys which all want the same few slots want different ones. This
 * happens once: whoever makes such keys on purpose knows what would come next. The seed after a fixed one
 * follows from it, so that whoever fixed it can repeat what happens. */
static bh_status reseed(bh__dy_table *t)
{
    bh_table *table = &t->table;
    const bh_system *system = &table->backend->system;
    uint64_t buckets = bh_dy_buckets(&t->geometry, bh__dy_largest(&t->geometry));
    uint64_t seed = table->options.seed;
    bh_status status;

    if (table->reseeds)
        return bh__fail(BH_ERR_FULL, "a key found no place: too many keys want the same few slots, "
                                     "and the table is too empty to grow for them");
    if (table->options.seed_fixed || system->random(system->state, &seed, sizeof seed))
        seed = bh_seed_next(&seed);
    status = bh__dy_rebuild(t, buckets, seed);
    table->reseeds += !status;
    return status;
}

/*
 * Finishes what can be finished of a stalled slice without growth; `final` says that the table will not
 * grow for the rest either. Answers 0 when a GPU refused to.
 */
static int place(bh_table *table, bh__slice *slice, int final, bh_status *why)
{
    bh__allowance *allowance = bh__allowance_of(table);
    const int charged = allowance != table->allowance;
    uint64_t looks = bh__looks_allowed(table);
    int ran;

    /* Beyond sure_keys this pass, one thread of a device, does not search: the operations have. */
    if (charged && bh__on_device(table->backend))
        looks = 0;
    /* All elements lack the same, room or looks, and there is none: they need not be tried again. (Of an
     * ordered slice only the first has been tried.) */
    if (!(slice->ordered && slice->stalled > 1) &&
        (!table->room || (!looks && !(slice->reasons & BH_REASON_ROOM)))) {
        slice->refused = slice->stalled;
        return 1;
    }
    slice->listed = slice->stalled;
    slice->inserted = slice->erased = slice->assigned = 0;
    slice->room = bh__room_take(table, slice->listed, 0);
    slice->geometry = &bh__dy_of(table)->geometry;
    /* The pass itself looks further than operations do. */
    slice->hints = (slice->hints & BH_HINT_AGAIN) | bh__hints_of(table) | BH_HINT_LATER |
                   (final ? BH_HINT_FINAL : 0);
    slice->scratch = &bh__dy_of(table)->scratch;
    slice->looks = looks;
    slice->vain = 0;
    /* At most one search overdraws the allowance: keys that collide on purpose must not leave a debt for
     * which other keys, which need a search, are refused. */
    slice->vain_most =
        charged ? BH_LOOKS_FREE : bh__atomic_load(&allowance->left, __ATOMIC_RELAXED);
    ran = table->backend->pass(table->backend, table, BH_DY_PASS_PLACE, slice, 1, 1, BH_TRY);
    if (!ran) {
        slice->refused = slice->stalled;
        *why = bh__dy_refused("to place keys");
    }
    bh__looks_spend(allowance, charged ? looks - slice->looks : slice->vain, 0);
    bh__slice_settle(table, slice);
    return ran;
}

bh__resolved bh__dy_resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why)
{
    int growing, tried = 0;

    /* Running slices set room aside that they may not need: now that none runs, there may be room
     * for elements that found none. The second time the slice is finished here; otherwise other slices
     * could take the room from it for ever. */
    if (!(slice->reasons & BH_REASON_PLACE) && !(slice->hints & BH_HINT_AGAIN) && table->room) {
        slice->hints |= BH_HINT_AGAIN;
        return BH_RESOLVED_AGAIN;
    }
    growing = *may_grow && !table->room;
    if (!growing) {
        tried = 1;
        if (!place(table, slice, !*may_grow, why))
            return BH_RESOLVED_REFUSED;
        if (!slice->stalled || !slice->refused)
            return BH_RESOLVED_AGAIN;
        growing = *may_grow && (!table->room || bh__dy_worth_growing(table));
    }
    if (*may_grow) {
        bh_status status = growing ? bh__dy_grow(bh__dy_of(table)) : reseed(bh__dy_of(table));

        if (!status)
            return BH_RESOLVED_AGAIN;
        *why = status;
        *may_grow = 0;
        /* A table that cannot grow is filled up to max_fill. */
        bh__dy_set_room(table, table->options.max_fill);
        /* PLACE does not run twice in one hold of the gate. */
        if (tried)
            return BH_RESOLVED_AGAIN;
        (void)place(table, slice, 1, why);
    }
    return slice->refused ? BH_RESOLVED_REFUSED : BH_RESOLVED_AGAIN;
}
