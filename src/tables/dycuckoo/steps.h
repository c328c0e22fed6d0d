/*
 * DyCuckoo, the steps: what an operation does when the line that it asked for has come. An
 * include-template that ops.h includes; ops.h draws how the states follow each other.
 *
 *     BH_DY(step_find)      lookups, in both of their buckets
 *     BH_DY(step_home)      HOME, all other operations
 *     BH_DY(step_other)     OTHER, with the home line at hand
 *     BH_DY(step_present) HOME and OTHER, of changes of keys that are there
 *     BH_DY(step_evict)     EVICT   } search.h
 *     BH_DY(step_search)    SEARCH  }
 *
 * A step answers DONE with the outcome in the operation; NEXT with the region that the next step needs;
 * RETRY when a writer was at work in the bucket or was faster; or STALL when there is no room or no path
 * for a new key, which the policy must see to. It holds no lock when it answers.
 */

BH_FN bh_answer BH_DY(step_find)(const bh__slice *slice, BH_DY(op) *op, uint64_t line,
                                 bh_region *next)
{
    BH_DY(view) view;
    BH_VALUE value = 0;

    if (!BH_DY(look)(line, op->key, &view))
        return BH_RETRY;
    if (view.match) {
        if (BH_QUIET && BH_APART && op->looks) {
            /* The step may have a copy of the keys' line; the value is where it was. */
            line = op->state == BH_DY_HOME ? op->home : op->other;
        } else if (!BH_QUIET && BH_APART && slice->values_out && !op->looks) {
            /* The value's line is asked for only now: a missing key does not need it. */
            op->looks = 1;
            *next = bh_dy_region(line, BH_DY_BUCKET_BYTES);
            return BH_NEXT;
        }
        if (BH_VALUE_BYTES && slice->values_out)
            value = BH_LOAD_VALUE(BH_DY(value_of)(line, view.match));
        if (!BH_QUIET && bh_load64(bh_dy_at(line)) != view.meta)
            return BH_RETRY;
        if (BH_VALUE_BYTES && slice->values_out)
            BH_DY(answer)(slice, op, value);
        return BH_DY(done)(op, BH_FOUND);
    }
    if (bh_load64(bh_dy_at(line)) != view.meta)
        return BH_RETRY;
    if (op->state == BH_DY_HOME) {
        if (!bh_dy_counted(view.meta, op->counter))
            return BH_DY(done)(op, BH_MISSING);
        op->from = view.meta;
        return BH_DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
    }
    if (BH_QUIET || bh_load64(bh_dy_at(op->home)) == op->from)
        return BH_DY(done)(op, BH_MISSING);
    op->state = BH_DY_HOME;
    *next = bh_dy_region(op->home, BH_DY_LINE);
    return BH_NEXT;
}

/* Whether a new key goes to its other bucket although there is room at home. Only in an experiment: the
 * paper draws a subtable for each new key. */
BH_FN int BH_DY(rather_away)(const bh__slice *slice, const BH_DY(op) *op)
{
    const bh_dy_geometry *geometry = (const bh_dy_geometry *)slice->geometry;
    bh_hash hash;

    if (!geometry->spread)
        return 0;
    hash = bh_hash_key(op->key, &geometry->seed);
    return (uint32_t)(hash.two * 0x9e3779b97f4a7c15ull >> 32) <
           geometry->away[bh_dy_pair_of(geometry, hash)];
}

/* Does an operation, not a lookup, if its home alone decides it and has room where it inserts; `may_go` says
 * that a new key may be meant for its other bucket all the same. Otherwise answers NEXT, with the home as it was
 * seen, or RETRY. */
BH_FN bh_answer BH_DY(at_home)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                               int may_go, BH_DY(view) *view)
{
    if (!BH_DY(look)(line, op->key, view))
        return BH_RETRY;
    if (view->match &&
        (BH_IS_ALIKE(slice) || (!BH_OP_ERASES(kind) && BH_IS_BIASED(slice->hints)))) {
        BH_DY(act_alike)(slice, op, kind, line, view, 0);
        return BH_DONE;
    }
    if (!view->match) {
        if (bh_dy_counted(view->meta, op->counter))
            return BH_NEXT;
        if (!BH_OP_INSERTS(kind))
            return BH_IS_ALIKE(slice) || bh_load64(bh_dy_at(line)) == view->meta
                       ? BH_DY(done)(op, BH_MISSING)
                       : BH_RETRY;
        if (BH_DY(full)(view->meta) || !slice->room || (may_go && BH_DY(rather_away)(slice, op)))
            return BH_NEXT;
    }
    if (!BH_DY(lock)(slice, line, view))
        return BH_RETRY;
    bh_dy_unlock(line, view->match ? BH_DY(act)(slice, op, kind, line, view)
                                   : BH_DY(insert)(slice, op, kind, line, view->meta, 0));
    return BH_DONE;
}

BH_FN bh_answer BH_DY(step_home)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                                 bh_region *next)
{
    BH_DY(view) view;
    const bh_answer answer = BH_DY(at_home)(slice, op, kind, line, 1, &view);

    if (answer != BH_NEXT)
        return answer;
    if (BH_OP_INSERTS(kind) && !bh_dy_counted(view.meta, op->counter)) {
        const int full = BH_DY(full)(view.meta);

        /* The key may be refused: it must have been absent at one instant. */
        if (!full && !slice->room)
            return bh_load64(bh_dy_at(line)) == view.meta ? BH_DY(no_room)(slice) : BH_RETRY;
        if (full && (slice->hints & BH_HINT_TURNOVER) && slice->room && !op->looks)
            return BH_DY(begin_evict)(slice, op, line, view.meta, next);
    }
    return BH_DY(go_other)(slice, op, BH_QUIET ? op->home : line, next);
}

BH_FN bh_answer BH_DY(step_other)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                                  bh_region *next)
{
    BH_DY(view) home, other;
    int home_full, other_full;

    if (!BH_DY(look)(op->home, op->key, &home) || !BH_DY(look)(line, op->key, &other))
        return BH_RETRY;
    if (BH_IS_ALIKE(slice) && (home.match || other.match || !BH_OP_INSERTS(kind))) {
        if (home.match)
            BH_DY(act_alike)(slice, op, kind, op->home, &home, 0);
        else if (other.match)
            BH_DY(act_alike)(slice, op, kind, line, &other, &home);
        else
            op->outcome = BH_MISSING;
        return BH_DONE;
    }
    home_full = BH_DY(full)(home.meta);
    other_full = BH_DY(full)(other.meta);
    /* An operation that stalls may be refused, so its key must have been in neither bucket at one instant:
     * if home's meta word is what it was, the key did not move between the two looks. This takes no locks:
     * on a GPU thousands of threads that lock two buckets only to see this would keep each other waiting. */
    if (BH_OP_INSERTS(kind) && !home.match && !other.match &&
        (!slice->room || (home_full && other_full))) {
        if (bh_load64(bh_dy_at(line)) != other.meta || bh_load64(bh_dy_at(op->home)) != home.meta)
            return BH_RETRY;
        return slice->room ? BH_DY(begin_search)(slice, op, next) : BH_DY(no_room)(slice);
    }
    if (!BH_DY(lock)(slice, op->home, &home))
        return BH_RETRY;
    if (home.match) {
        bh_dy_unlock(op->home, BH_DY(act)(slice, op, kind, op->home, &home));
        return BH_DONE;
    }
    if (!BH_DY(lock)(slice, line, &other)) {
        bh_dy_unlock(op->home, home.meta);
        return BH_RETRY;
    }
    if (other.match) {
        bh_dy_unlock(line, BH_DY(act)(slice, op, kind, line, &other));
        bh_dy_unlock(op->home,
                     BH_OP_ERASES(kind) ? bh_dy_count_down(home.meta, op->counter) : home.meta);
        return BH_DONE;
    }
    /* The key is absent, and stays absent as long as home is locked. */
    if (!BH_OP_INSERTS(kind)) {
        op->outcome = BH_MISSING;
    } else if (!home_full && (other_full || !BH_DY(rather_away)(slice, op))) {
        home.meta = BH_DY(insert)(slice, op, kind, op->home, home.meta, 0);
    } else {
        other.meta = BH_DY(insert)(slice, op, kind, line, other.meta, 1);
        home.meta = bh_dy_count_up(home.meta, op->counter);
    }
    /* Where nothing is locked, a new guest must not be seen before it is counted: others would then miss it. */
    bh_dy_unlock(op->home, home.meta);
    bh_dy_unlock(line, other.meta);
    return BH_DONE;
}

/* One step of a change, in a slice that is alike, while nothing is inserted: acts on the key if it is there.
 * `line` may be a copy of it. Answers STALL for an absent key that is to be inserted, when nothing has been
 * done. */
BH_FN bh_answer BH_DY(step_present)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                                    bh_region *next)
{
    const uint64_t at = !BH_QUIET ? line : op->state == BH_DY_HOME ? op->home : op->other;
    BH_DY(view) view, home;

    (void)BH_DY(look)(line, op->key, &view);
    if (view.match) {
        home.meta = op->from;
        BH_DY(act_alike)(slice, op, kind, at, &view, op->state == BH_DY_HOME ? 0 : &home);
        return BH_DONE;
    }
    if (op->state == BH_DY_HOME && bh_dy_counted(view.meta, op->counter)) {
        op->from = view.meta;
        return BH_DY(go_other)(slice, op, at, next);
    }
    return BH_OP_INSERTS(kind) ? BH_STALL : BH_DY(done)(op, BH_MISSING);
}

/* One step of an operation on the region it asked for. */
BH_FN bh_answer BH_DY(step)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                            bh_region *next)
{
    if (kind == BH_FIND)
        return BH_DY(step_find)(slice, op, line, next);
    if (op->state == BH_DY_HOME)
        return BH_DY(step_home)(slice, op, kind, line, next);
    if (op->state == BH_DY_OTHER)
        return BH_DY(step_other)(slice, op, kind, line, next);
    if (op->state == BH_DY_EVICT || (slice->hints & BH_HINT_LATER))
        return BH_DY(step_evict)(slice, op, line, next);
    return BH_DY(step_search)(slice, op, line, next);
}
