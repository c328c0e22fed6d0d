/*
 * DyCuckoo's policy as its own files know it: the table, and what the files ask of each other. They
 * are, from the outside inwards:
 *
 *     policy.c       the bh__policy: options, creating and destroying, clearing, export
 *     resolve.c      a slice whose operations stalled: searches for places, growth, another seed
 *     growth.c       doubling and halving a subtable; reserving, expecting and compacting
 *     subtables.c    the subtables' memory, the budget; moving all keys to other subtables
 *     sizes.c        how many keys fit in how many buckets, and when to grow or shrink for them
 *
 * What DyCuckoo does with all this is told at the head of policy.c.
 */
#ifndef BH_TABLES_DYCUCKOO_POLICY_H
#define BH_TABLES_DYCUCKOO_POLICY_H

#include "base/error.h"
#include "tables/budget.h"
#include "tables/dycuckoo/layout.h"

#define BH_DY_DEFAULT_SUBTABLES 4
#define BH_DY_DEFAULT_MIN_FILL 0.5
#define BH_DY_HIGHEST_MAX_FILL 0.97

/* A doubling is to leave a fill of at least min_fill divided by this; otherwise a table of just that size
 * would grow and shrink with every few keys. */
#define BH_DY_MARGIN 0.85

/* Buckets that one task of a pass works on. Chosen, not tuned. */
#ifndef BH_DY_PASS_BUCKETS /* a build for tests may have more tasks */
#define BH_DY_PASS_BUCKETS 4096
#endif

/* How many items a pass is to go through at a time, when of so many it listed more buckets than a list has room for. */
static inline uint64_t bh__dy_fewer(uint64_t items, const bh_dy_list *list)
{
    const uint64_t fewer = items * BH_DY_LISTED_MOST / (2 * list->count);

    return fewer ? fewer : 1;
}

typedef struct bh__dy_table {
    bh_table table;
    bh_dy_geometry geometry;
    bh__block block[BH_DY_SUBTABLES_MOST];
    bh__scratch scratch; /* of searches for paths; on a device none */
} bh__dy_table;

/* --- for all files ------------------------------------------------------------------------------- */

static inline bh__dy_table *bh__dy_of(bh_table *table)
{
    return (bh__dy_table *)table;
}

static inline uint32_t bh__dy_slots_per_bucket(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DY_SLOTS(o->key_bytes, o->value_bytes, bh_dy_is_apart(o));
}

static inline uint64_t bh__dy_bucket_bytes(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return BH_DY_BUCKET(o->key_bytes, o->value_bytes, bh_dy_is_apart(o));
}

/* The status when a device refused something before it began: nothing else is lost. */
static inline bh_status bh__dy_refused(const char *what)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused %s; no key has moved", what);
}

/* --- resolve.c ----------------------------------------------------------------------------------- */

/*
 * What becomes of a slice that stalled. Elements that cannot be done are refused in one of two ways: all
 * of the slice's at once, without a look at the table; or after each has been tried once more in one hold
 * of the gate, which ends after a bounded number of looks.
 */
bh__resolved bh__dy_resolve(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why);

/* --- growth.c ------------------------------------------------------------------------------------ */

/* Doubles the smallest subtable. The others keep their geometry; they are read once, for the guests whose
 * home is in the doubled one. */
bh_status bh__dy_grow(bh__dy_table *t);

/* Functions of bh__policy: see there. */
void bh__dy_shrink(bh_table *table);
bh_status bh__dy_compact(bh_table *table);
bh_status bh__dy_reserve(bh_table *table, uint64_t keys);
void bh__dy_expect(bh_table *table, uint64_t keys);

/* --- subtables.c --------------------------------------------------------------------------------- */

/* Gives searches memory for a table of `buckets` buckets; on failure they keep what they had. */
bh_status bh__dy_make_scratch(bh__dy_table *t, uint64_t buckets);

/* Gives an empty table subtables of `buckets` buckets. On failure it is as it was. */
bh_status bh__dy_lay_out(bh__dy_table *t, uint64_t buckets);

/*
 * Moves all keys to subtables of `buckets` buckets with another seed, or the same. The old subtables stay
 * until all keys have moved. On failure, for want of memory or of a place for some key, the table is as it
 * was.
 */
bh_status bh__dy_rebuild(bh__dy_table *t, uint64_t buckets, uint64_t seed);

void bh__dy_destroy_blocks(bh__block *block, const bh__memory *memory);

/* --- sizes.c ------------------------------------------------------------------------------------- */

/* How many keys find room, and each a place, in `slots` slots; `uneven`: the subtables differ in size. */
uint64_t bh__dy_keys_promised(const bh_table *table, uint64_t slots, int uneven);

/* The fewest buckets per subtable, all alike, that hold `keys` keys and find a place for each.
 * Answers 0 when that is more than a subtable may have. */
int bh__dy_buckets_for(const bh_table *table, uint64_t keys, uint64_t *buckets);

/* The subtable to double, and the one to halve; whether they differ in size. */
uint32_t bh__dy_smallest(const bh_dy_geometry *g);
uint32_t bh__dy_largest(const bh_dy_geometry *g);
int bh__dy_is_uneven(const bh_dy_geometry *g);

/* Whether a table in which a key found no place, though there is room, may grow for it. */
int bh__dy_worth_growing(const bh_table *table);

/* Sets how many keys there may be before the table grows: `fill` of its slots. With the gate held alone no
 * slice has room set aside. */
void bh__dy_set_room(bh_table *table, double fill);

/* Recomputes all that follows from the subtables: what begin looks up, and the bounds on keys. */
void bh__dy_publish(bh__dy_table *t);

#endif
