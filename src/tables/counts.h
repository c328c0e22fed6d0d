/*
 * What slices count: room for new keys, keys, erasures, changes; and the searches that they may make.
 *
 * Each slice that changes a table takes room before it runs, and enters what it did when it has run. Where one call has many elements
 * these are a few additions for some thousand elements. But where several threads of the caller change a table in calls of a few
 * keys, all of them would wait for the one line that has the counts: sixteen threads together changed no more keys in a second than one.
 * So such a table has *stripes*, lines in which a thread counts that hardly any other one counts in:
 *
 *     the table        room   keys   erases   changes
 *                        |      ^       ^        ^
 *     a stripe           |      |       |        |       adds up to stripe_most there before it adds to the table's
 *                        v      |       |        |
 *                      room   keys   erases   changes    room: taken from the table's in bunches, for the next slices
 *
 * A table gets its stripes when threads have taken turns at changing it (cpu/bias.h); one that a single thread changes has none, nor
 * one that is changed by calls that run as tasks alone, nor one on a GPU.
 *
 * Whoever takes the gate alone adds all stripes to the table's counts first. So there, and nowhere else, the table's counts are
 * exact: room that lies in other threads' stripes is found before a table grows or refuses a key. Beside other slices the table's
 * counts are off by what the stripes hold, of keys BH_STRIPES * stripe_most, which is a 256th of the slots. That is enough for hints. Where it is
 * not, as for whether there are so few keys that the table should shrink, the stripes are added up.
 */
#ifndef BH_TABLES_COUNTS_H
#define BH_TABLES_COUNTS_H

#include "tables/table.h"

#ifndef BH_STRIPES
#define BH_STRIPES 64u
#endif

/* A stripe counts so many at most, in the largest tables, before it adds them to the table's. */
#define BH_STRIPE_MOST 1024u
/* In others, all stripes together count up to this part of the slots; in small ones, nothing. */
#ifndef BH_STRIPES_PART
#define BH_STRIPES_PART 256u
#endif
/* A stripe has no more room than this part of the table's: where there is little, it is where all threads find it. */
#ifndef BH_STRIPE_ROOM_PART
#define BH_STRIPE_ROOM_PART 32u
#endif
/* Nor more than so much and stripe_most. All five numbers were chosen, not tuned. */
#ifndef BH_STRIPE_ROOM_LEAST
#define BH_STRIPE_ROOM_LEAST 64u
#endif

struct bh__stripe {
    uint64_t room;
    uint64_t keys; /* as a signed number, as in bh_table */
    uint64_t erases;
    uint64_t changes;
    uint64_t noted; /* changed elements of which bh__bias_note has taken no notice yet */
} __attribute__((aligned(64)));

/* Takes the gate alone; bh__leave_alone enters how long it was held. */
uint64_t bh__enter_alone(bh_table *table);
void bh__leave_alone(bh_table *table, uint64_t since);

/* With the gate held alone, by bh__gate_enter_alone: adds what the stripes hold to the table's counts. */
void bh__stripes_collect(bh_table *table);

/* Takes the gate alone and gives the table stripes, if it has none and there is memory. */
void bh__stripes_give(bh_table *table);
void bh__stripes_destroy(bh_table *table);

/* What bh__room_take, bh__room_give and bh__slice_settle do in a stripe: what it lacks comes from the table with some more for later; what is too
 * much goes back to the table. */
uint64_t bh__stripe_take_room(bh_table *table, bh__stripe *stripe, uint64_t wanted);
void bh__stripe_give_room(bh_table *table, bh__stripe *stripe, uint64_t unused);
void bh__stripe_count(bh_table *table, bh__stripe *stripe, uint64_t more_keys, uint64_t erased,
                      int changed);

/* The table's keys and those of its stripes: the number of keys, where no slice runs. For callers that hold the gate shared. */
uint64_t bh__keys_summed(const bh_table *table);

/* The stripe in which the calling thread counts, or NULL: then it counts in the table. */
static inline bh__stripe *bh__stripe_of(const bh_table *table, uint32_t hints)
{
    if (!table->stripes || (hints & BH_HINT_BIASED))
        return NULL;
    return &table->stripes[(uintptr_t)bh__presence_own / sizeof(bh__presence) % BH_STRIPES];
}

/* Adds to a number that slices of changes share. `hints` are those of the slice: where there is no other one
 * (BH_HINT_BIASED) no locked instruction is needed. */
static inline void bh__tally(uint64_t *to, uint64_t more, uint32_t hints)
{
    if (hints & BH_HINT_BIASED)
        bh__atomic_store(to, bh__atomic_load(to, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
    else
        bh__atomic_add(to, more, __ATOMIC_RELAXED);
}

/* Takes up to `wanted` from such a number; nothing where it is 0 or, as a signed one, negative. */
static inline uint64_t bh__take(uint64_t *from, uint64_t wanted, uint32_t hints)
{
    uint64_t left = bh__atomic_load(from, __ATOMIC_RELAXED);
    uint64_t taken;

    do {
        taken = (int64_t)left <= 0 ? 0 : left < wanted ? left : wanted;
        if (hints & BH_HINT_BIASED) {
            bh__atomic_store(from, left - taken, __ATOMIC_RELAXED);
            break;
        }
    } while (taken &&
             !bh__atomic_swap_if(from, &left, left - taken, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return taken;
}

/* Takes up to `wanted` from the room for new keys. */
static inline uint64_t bh__room_take(bh_table *table, uint64_t wanted, uint32_t hints)
{
    bh__stripe *stripe = bh__stripe_of(table, hints);

    return stripe ? bh__stripe_take_room(table, stripe, wanted)
                  : bh__take(&table->room, wanted, hints);
}

/* Gives back what was not used. */
static inline void bh__room_give(bh_table *table, uint64_t unused, uint32_t hints)
{
    bh__stripe *stripe = unused ? bh__stripe_of(table, hints) : NULL;

    if (stripe)
        bh__stripe_give_room(table, stripe, unused);
    else if (unused)
        bh__tally(&table->room, unused, hints);
}

/* A sum of keys that slices have counted, as a number of keys. A slice may settle erasures of keys before the slice that
 * inserted them has settled, and then the sum is below 0 for a moment. */
static inline uint64_t bh__as_keys(const bh_table *table, uint64_t sum)
{
    return sum <= table->slots ? sum : sum >> 63 ? 0 : table->slots;
}

/* About the number of keys, as counted by the slices that have settled, for callers that hold the gate shared. With the gate held
 * alone bh_table.keys itself is exact. */
static inline uint64_t bh__keys_settled(const bh_table *table)
{
    return bh__as_keys(table, bh__atomic_load(&table->keys, __ATOMIC_RELAXED));
}

/* Whether a slice that has settled erasures leaves fewer keys than the table is made for. Of slices that end at the same time the last one
 * sees what all have counted. */
static inline int bh__wants_shrinking(const bh_table *table)
{
    const uint64_t hidden = table->stripes ? (uint64_t)BH_STRIPES * table->stripe_most : 0;

    return table->min_keys && bh__keys_settled(table) < table->min_keys + hidden &&
           (!table->stripes || bh__keys_summed(table) < table->min_keys);
}

/* The allowance that a slice beginning now charges its searches to. */
static inline bh__allowance *bh__allowance_of(bh_table *table)
{
    return &table->allowance[bh__keys_settled(table) >= table->sure_keys];
}

/* How many looks a slice beginning now may make. */
static inline uint64_t bh__looks_allowed(bh_table *table)
{
    const bh__allowance *a = bh__allowance_of(table);
    const int64_t left = (int64_t)bh__atomic_load(&a->left, __ATOMIC_RELAXED);

    if (left <= 0)
        return 0;
    return a == table->allowance ? BH_LOOKS_FREE : (uint64_t)left;
}

/* Adds to both allowances the looks that changes have earned. */
static inline void bh__looks_earn(bh_table *table, uint64_t looks, uint32_t hints)
{
    uint32_t i;

    for (i = 0; looks && i < 2; i++) {
        bh__allowance *a = &table->allowance[i];
        const int64_t missing = (int64_t)(a->most - bh__atomic_load(&a->left, __ATOMIC_RELAXED));

        if (missing > 0)
            bh__tally(&a->left, looks < (uint64_t)missing ? looks : (uint64_t)missing, hints);
    }
}

/* Takes looks for a slice, at most one for each element of a full slice, so that other slices have some
 * too; bh__looks_give gives back those that it has not made. Searches that are not charged have as many
 * as they want. */
static inline uint64_t bh__looks_take(bh_table *table, uint32_t hints)
{
    bh__allowance *a = bh__allowance_of(table);

    return a == table->allowance ? bh__looks_allowed(table)
                                 : bh__take(&a->left, BH_SLICE_MOST, hints);
}

static inline void bh__looks_give(bh_table *table, uint64_t taken, uint64_t unused, uint32_t hints)
{
    if (taken != BH_LOOKS_FREE && unused)
        bh__tally(&table->allowance[1].left, unused, hints);
}

static inline void bh__looks_spend(bh__allowance *a, uint64_t looks, uint32_t hints)
{
    if (looks)
        bh__tally(&a->left, 0 - looks, hints);
}

/* The hints of a slice that begins now: whether so many keys have been erased that homes may have room
 * again while their guests still live elsewhere (the fraction was chosen, not tuned), and whether the table is
 * large. */
static inline uint32_t bh__hints_of(const bh_table *table)
{
    const uint64_t erases = bh__atomic_load(&table->erases, __ATOMIC_RELAXED);

    return table->hints | (erases > bh__keys_settled(table) / 16 ? BH_HINT_TURNOVER : 0) |
           (table->bytes[BH_TIER_NEAR] > BH_FAR_BYTES ? BH_HINT_FAR : 0);
}

/* Enters which target ran a slice. */
static inline void bh__target_note(bh_table *table, const char *target)
{
    if (bh__atomic_load(&table->target, __ATOMIC_RELAXED) != target)
        bh__atomic_store(&table->target, target, __ATOMIC_RELAXED);
}

/* Enters what a slice did into the table's counts. */
static inline void bh__slice_settle(bh_table *table, const bh__slice *slice)
{
    const uint32_t hints = slice->hints;
    const uint64_t difference = slice->inserted - slice->erased;
    const int changed = (slice->inserted | slice->erased | slice->assigned | slice->moved) != 0;
    bh__stripe *stripe = bh__stripe_of(table, hints);

    if (stripe) {
        bh__stripe_count(table, stripe, difference, slice->erased, changed);
    } else {
        if (difference)
            bh__tally(&table->keys, difference, hints);
        if (slice->erased)
            bh__tally(&table->erases, slice->erased, hints);
        if (changed)
            bh__tally(&table->changes, 1, hints);
    }
    bh__looks_earn(table, slice->inserted * BH_LOOKS_OF_INSERT + slice->erased * BH_LOOKS_OF_ERASE,
                   hints);
    bh__room_give(table, slice->room, hints);
    bh__target_note(table, slice->target);
}

#endif
