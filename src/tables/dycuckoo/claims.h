/*
 * DyCuckoo, insertions without locks, by a kernel of a GPU all of whose elements insert (cuda/device/claim.h). An
 * include-template that ops.h includes. (Keys whose buckets are both full, or whose home is and has guests that may go home, go on to cuda/device/dycuckoo/make_way.h, which uses
 * the same notes and marks, and where pairs move.)
 *
 * Nothing moves and nothing is erased meanwhile. So buckets only fill up: a slot that is free is claimed by one
 * compare-and-swap of the meta word as it was when the bucket was read, and the pair is written after that. Nobody
 * waits for the pair, and nobody orders it: it is read by later kernels.
 *
 * What an element reads is a copy of the line, pieces of which may be older than others. Slots that were in use
 * before the kernel are as they were. In a slot that has been claimed since there may be anything; so who claims a
 * slot notes that, and leaves a *mark* of its key in the meta word, by the same compare-and-swap:
 *
 *     bits 0..31   lock, slots in use, guests, filter     as layout.h draws them
 *     bits 32..    which slots have been claimed in this kernel
 *     bits ..55    their marks: of each two bits, chosen by its key
 *     bits 56..63  slice->epoch, where there are marks of this kernel. Each kernel of a slice that claims slots has a number of
 *                  its own: what earlier ones have written can be read, and its first mark drops theirs
 *
 * Outside of such a kernel these bits are the sequence number, of which no more is asked than that it changes. What
 * it happens to be may look like marks of this kernel. Then elements are left to the stages that need not be: a mark, or a
 * match in a slot that is noted as claimed, decides nothing. Slots that have been claimed in this kernel are always noted.
 *
 * Why no key comes twice. Let elements A and B bring one key, and A claim a slot first.
 *
 *   Both claim in one bucket    B's compare-and-swap fails if B saw the bucket before A's claim. If B saw it after that,
 *                               it saw A's mark, and leaves its element to the stages.
 *   A claims at home, B in the  B has seen home full. Home was not full before A's claim, so B saw it after that, with
 *   other bucket                A's mark.
 *   A in the other bucket,      A has seen home full, and it stays full: B cannot claim there.
 *   B at home
 *
 * And a key that is in the table since before the kernel is found: at home in a slot, and in the other bucket if its
 * counter at home is not 0 or home is full. Nobody relies on a new guest's being counted at home before
 * the kernel's end: an equal key either sees home full, goes to the other bucket and sees the mark there, or saw home
 * before it was full, and then its own claim at home fails.
 */
#ifndef BH_TABLES_DYCUCKOO_CLAIMS_H
#define BH_TABLES_DYCUCKOO_CLAIMS_H

#define BH_DY_CLAIMED_SHIFT 32
#define BH_DY_EPOCH_SHIFT 56

/* Whether a meta word has marks of this kernel. */
BH_FN int bh_dy_is_marked(const bh__slice *slice, uint64_t meta)
{
    return (uint8_t)(meta >> BH_DY_EPOCH_SHIFT) == slice->epoch;
}

/* The slots that have been claimed in this kernel, as bits; bits behind these may be anything. */
BH_FN uint32_t bh_dy_noted(const bh__slice *slice, uint64_t meta)
{
    return bh_dy_is_marked(slice, meta) ? (uint32_t)(meta >> BH_DY_CLAIMED_SHIFT) : 0;
}

/* A key's mark, as two bits of the meta word. Keys of one bucket may be chosen so that they have the same ones: it costs
 * time. */
BH_FN uint64_t bh_dy_mark_of(uint64_t key, uint32_t slots)
{
    const uint32_t mixed = ((uint32_t)key ^ (uint32_t)(key >> 32)) * 0x9e3779b1u;
    const uint32_t first = BH_DY_CLAIMED_SHIFT + slots, marks = BH_DY_EPOCH_SHIFT - first;
    const uint64_t one = (uint64_t)mixed * marks, two = (uint64_t)(uint32_t)one * (marks - 1);
    const uint32_t bit = (uint32_t)(one >> 32), further = bit + 1 + (uint32_t)(two >> 32);

    return 1ull << (first + bit) | 1ull << (first + (further < marks ? further : further - marks));
}

/* A meta word with a key's mark. */
BH_FN uint64_t bh_dy_mark(const bh__slice *slice, uint64_t meta, uint64_t key, uint32_t slots)
{
    const uint64_t earlier = bh_dy_is_marked(slice, meta)
                                 ? meta
                                 : (uint32_t)meta | (uint64_t)slice->epoch << BH_DY_EPOCH_SHIFT;

    return earlier | bh_dy_mark_of(key, slots);
}

/* The same with the note that a slot has been claimed for the key. */
BH_FN uint64_t bh_dy_note(const bh__slice *slice, uint64_t meta, uint64_t key, uint32_t slot,
                          uint32_t slots)
{
    return bh_dy_mark(slice, meta, key, slots) | 1ull << (BH_DY_CLAIMED_SHIFT + slot);
}

/* Whether a slot of a bucket, as it was seen, may have been claimed for a key in this kernel. */
BH_FN int bh_dy_may_have(const bh__slice *slice, uint64_t meta, uint64_t key, uint32_t slots)
{
    return bh_dy_is_marked(slice, meta) && !(~meta & bh_dy_mark_of(key, slots));
}

/* Counts a guest at home, or counts it down. */
BH_FN void bh_dy_count_guest(uint64_t home, uint32_t counter, int down)
{
    uint64_t meta, counted;

    do {
        meta = bh_take64(bh_dy_at(home), 0); /* an atomic: a load may read a stale cache line */
        counted = down ? bh_dy_count_down(meta, counter) : bh_dy_count_up(meta, counter);
    } while (counted != meta && !bh_swap_if64(bh_dy_at(home), meta, counted));
}

#endif

/* Claims the first free slot of the bucket at `line`, whose meta word was `meta`, for a key, a guest there or not. Answers 0 when the
 * bucket has changed. */
BH_FN int BH_DY(claim_slot)(const bh__slice *slice, uint64_t line, uint64_t meta, BH_KEY key,
                            int guest, uint32_t *slot)
{
    *slot = bh_first(~bh_dy_used(meta, BH_DY_BUCKET_SLOTS));
    return bh_swap_if64(bh_dy_at(line), meta,
                        bh_dy_note(slice, meta, key, *slot, BH_DY_BUCKET_SLOTS) |
                            bh_dy_slot_bits(*slot, BH_DY_BUCKET_SLOTS, guest));
}

/* Claims a free slot of the bucket at `line`, whose meta word was `meta`, for the operation's key, which is absent.
 * Answers 0 when the bucket has changed. The caller writes the pair: BH_DY(claimed) tells where. (op->path is the slot.) */
BH_FN int BH_DY(claim)(bh__slice *slice, BH_DY(op) *op, uint64_t line, uint64_t meta, int guest)
{
    uint32_t slot;

    if (!BH_DY(claim_slot)(slice, line, meta, op->key, guest, &slot))
        return 0;
    op->path = slot;
    slice->room--;
    slice->inserted++;
    op->outcome = BH_INSERTED;
    return 1;
}

/* Where the key of an operation goes that has claimed a slot, and the value: *value. */
BH_FN unsigned char *BH_DY(claimed)(const BH_DY(op) *op, unsigned char **value)
{
    const uint64_t line = op->state == BH_DY_HOME ? op->home : op->other;

    *value = BH_DY(value_at)(line, op->path);
    return BH_DY(key_at)(line, op->path);
}

/* Claims a slot of the other bucket, and counts the guest at home. Both compare-and-swaps are on their way at the same time. (A
 * counter that has come to 3 stays there, also where the claim failed.) */
BH_FN bh_answer BH_DY(claim_away)(bh__slice *slice, BH_DY(op) *op, uint64_t home, uint64_t other)
{
    const uint64_t up = bh_dy_count_up(home, op->counter);
    const int counts = up != home;
    const int counted = counts && bh_swap_if64(bh_dy_at(op->home), home, up);

    if (!BH_DY(claim)(slice, op, op->other, other, 1)) {
        if (counted)
            bh_dy_count_guest(op->home, op->counter, 1);
        return BH_RETRY;
    }
    if (counts && !counted)
        bh_dy_count_guest(op->home, op->counter, 0);
    return BH_DONE;
}

/* Whether new keys whose homes are full take the places of guests, which go home, without locks: in a table whose keys come and go, where
 * buckets tell their guests. (Not where searches are charged: what is left to later kernels counts as searched for.) */
BH_FN int BH_DY(sends_home)(const bh__slice *slice)
{
    return BH_DY_BUCKET_SLOTS <= BH_DY_GUESTS_KNOWN && (slice->hints & BH_HINT_TURNOVER) &&
           slice->looks >= BH_LOOKS_FREE;
}

/* Whether a key whose home is full may do so instead of going to its other bucket. */
BH_FN int BH_DY(may_send_home)(const bh__slice *slice, uint64_t home)
{
    return BH_DY(sends_home)(slice) && bh_dy_maybe_guests(home, BH_DY_BUCKET_SLOTS);
}

/* Leaves an operation of which that is so to a kernel in which pairs move, and a mark of its key at home, so that of equal keys each kernel
 * with claims leaves one to it. The others see the mark. */
BH_FN bh_answer BH_DY(leave_for_home)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t home,
                                      bh_region *next)
{
    if (bh_dy_may_have(slice, home, op->key, BH_DY_BUCKET_SLOTS))
        return BH_STALL;
    if (!bh_swap_if64(bh_dy_at(op->home), home,
                      bh_dy_mark(slice, home, op->key, BH_DY_BUCKET_SLOTS))) {
        op->state = BH_DY_HOME;
        *next = bh_dy_region(op->home, BH_DY(bytes)(slice, kind));
        return BH_NEXT;
    }
    slice->reasons |= BH_REASON_PLACE;
    return BH_STALL;
}

/* Where home, as it was seen, is full, or may have the key as a guest elsewhere: what becomes of the operation when its
 * other bucket has been seen, in which the key is not. */
BH_FN bh_answer BH_DY(claim_any)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t other,
                                 bh_region *next)
{
    const uint64_t home = op->from;

    if (!slice->room)
        return BH_DY(no_room)(slice);
    if (!BH_DY(full)(home)) {
        op->state = BH_DY_HOME;
        if (BH_DY(claim)(slice, op, op->home, home, 0))
            return BH_DONE;
        *next = bh_dy_region(op->home, BH_DY(bytes)(slice, kind));
        return BH_NEXT;
    }
    if (BH_DY(may_send_home)(slice, home))
        return BH_DY(leave_for_home)(slice, op, kind, home, next);
    if (BH_DY(full)(other)) {
        slice->reasons |= BH_REASON_PLACE;
        return BH_STALL;
    }
    return BH_DY(claim_away)(slice, op, home, other);
}

/* Whether an operation that has taken its first step has seen home full, without its key. So it stays: see above. */
BH_FN int BH_DY(is_away)(const BH_DY(op) *op)
{
    return op->state == BH_DY_OTHER && BH_DY(full)(op->from);
}

/* Begins an operation of which that is known with its other bucket. Of home only the meta word is read, meanwhile. */
BH_FN bh_region BH_DY(begin_away)(const bh__slice *slice, BH_DY(op) *op, uint32_t at, uint32_t kind)
{
    bh_region region = BH_DY(begin)(slice, op, at, kind);

    op->from = bh_peek64(bh_dy_at(region.offset));
    (void)BH_DY(go_other)(slice, op, region.offset, &region);
    return region;
}

/*
 * One step of an operation that inserts; `line` may be a copy. Answers STALL when nothing has been done: without a
 * reason for an element of the stages, with BH_REASON_PLACE where both buckets are full and the key is in neither, or where home is, and
 * may send a guest home. (Where many keys have been erased, and guests are not sent home without locks, a full home is a matter of the
 * stages: they send guests home.)
 */
BH_FN bh_answer BH_DY(step_claim)(bh__slice *slice, BH_DY(op) *op, uint32_t kind, uint64_t line,
                                  bh_region *next)
{
    const int is_home = op->state == BH_DY_HOME;
    const uint64_t at = is_home ? op->home : op->other;
    BH_DY(view) view, home;

    (void)BH_DY(look)(line, op->key, &view);
    if (view.match) {
        /* In a slot that may have been claimed meanwhile there may be anything. */
        view.match &= ~(bh_dy_noted(slice, view.meta) << BH_DY_USED_SHIFT);
        if (!view.match || !BH_IS_ALIKE(slice))
            return BH_STALL;
        home.meta = op->from;
        BH_DY(act_alike)(slice, op, kind, at, &view, is_home ? 0 : &home);
        return BH_DONE;
    }
    if (bh_dy_may_have(slice, view.meta, op->key, BH_DY_BUCKET_SLOTS))
        return BH_STALL;
    if (!is_home)
        return BH_DY(claim_any)(slice, op, kind, view.meta, next);
    if (bh_dy_counted(view.meta, op->counter) || BH_DY(full)(view.meta)) {
        if (BH_DY(full)(view.meta) && (slice->hints & BH_HINT_TURNOVER) &&
            !BH_DY(sends_home)(slice))
            return BH_STALL;
        op->from = view.meta;
        return BH_DY(go_other)(slice, op, op->home, next);
    }
    if (!slice->room)
        return BH_DY(no_room)(slice);
    return BH_DY(claim)(slice, op, op->home, view.meta, 0) ? BH_DONE : BH_RETRY;
}
