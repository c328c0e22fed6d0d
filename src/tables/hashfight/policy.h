/*
 * HashFight's policy as its own files know it: the table, what a generation is built from and how it
 * will be laid out, and what the files ask of each other. They are, from the outside inwards:
 *
 *     policy.c         the bh__policy: options, creating and destroying, lookups, the whole table
 *     changes.c        a call that changes something
 *     generations.c    the list of generations: which are merged, and how their pairs are read
 *     build.c          one generation: its plan, its memory, and the attempts to build it
 *     near.c           what building takes where cores do it, in the host's memory
 *     far.c            the same on a device, in memory that the host cannot touch
 *
 * What HashFight does with all this is told at the head of policy.c.
 */
#ifndef BH_TABLES_HASHFIGHT_POLICY_H
#define BH_TABLES_HASHFIGHT_POLICY_H

#include "base/checked.h"
#include "base/error.h"
#include "primitives/primitives.h"
#include "storage/arena.h"
#include "storage/temporary.h"
#include "tables/budget.h"
#include "tables/hashfight/layout.h"

/* Pairs that the buffer holds: moving half of them must not cost much more than a call does. */
#ifndef BH_HF_BUFFER_MOST
#define BH_HF_BUFFER_MOST 512
#endif

/* Runs that one task of a pass works on. */
#define BH_HF_PASS_RUNS 4096

typedef struct bh__hf_builder bh__hf_builder;

typedef struct bh__hf_table {
    bh_table table;
    const bh__hf_builder *builder;
    bh_hf_geometry geometry;
    bh__block block[BH_HF_GENERATIONS_MOST]; /* of each generation; the buffer's is apart */
    uint64_t built[BH_HF_GENERATIONS_MOST];  /* pairs that each had when it was built */
    bh__block buffer;                        /* the memory of the generation without regions */
    bh_hf_generation tail;                   /* the buffer, also while nothing is in it */
    uint64_t gone;                           /* pairs of it that were erased */
    uint64_t aside;                          /* far: memory to make the buffer anew in; see far.c */
    bh__block spare;     /* memory for the next generation: what capacity, reserve or clear left */
    uint64_t spare_keys; /* pairs that it was made for, and their slots */
    uint64_t spare_slots;
    uint64_t held;         /* bytes of temporary memory that a merge has */
    uint64_t floor_slots;  /* of a generation of floor_keys, 0 when the buffer has room for them */
    uint64_t shrink_below; /* the most that min_keys may be, after there was no memory to shrink */
} bh__hf_table;

/* Pairs to be built from; see bh_hf_fight. */
typedef struct bh__hf_list {
    const void *keys;
    const void *payloads; /* NULL with `indexed`: the row's index */
    uint64_t n;
    uint32_t payload_bytes;
    uint32_t indexed;
    uint32_t distinct; /* no two keys are equal */
    const void *values;
    uint8_t *outcomes;
} bh__hf_list;

/* How a generation is laid out; addresses are offsets in its memory until it has some. */
typedef struct bh__hf_plan {
    bh_hf_generation g;
    uint64_t quota;
    uint64_t bytes;
} bh__hf_plan;

/* What became of an attempt to build. */
typedef enum bh__hf_built {
    BH_HF_BUILT,
    BH_HF_TOO_UNEVEN, /* the pairs of some region do not fit in its memory: too many equal keys; or,
                         far, some keys are equal */
    BH_HF_TOO_MANY_LEFT,
    BH_HF_NO_MEMORY
} bh__hf_built;

/*
 * What is done in one way by cores, in the host's memory (near.c), and in another by a device, in memory
 * that the host cannot touch (far.c): building. A table's creation chooses one of the two.
 */
struct bh__hf_builder {
    /* Of a generation: pairs of a region as one expects them, and regions at most. */
    uint64_t (*region_keys)(const bh_table *table);
    uint64_t (*regions_most)(const bh_table *table);

    /* Partitions the list into the generation's memory and lets its pairs fight there. *quota receives the
     * quota that is needed where the answer is BH_HF_TOO_MANY_LEFT, *pairs how many pairs the generation
     * has. */
    bh__hf_built (*fight)(const bh_table *table, const bh__hf_list *from, bh__hf_plan *p,
                          uint64_t *quota, uint64_t *pairs);

    /* Sets the outcomes of elements that have all been inserted. NULL: `fight` sets them, and the list
     * may be `indexed`. */
    void (*tell)(const bh_table *table, uint8_t *outcomes, uint64_t n);

    /* Adds new keys to the buffer, which has room for them: they are sorted, all absent, and have no values
     * yet. Answers 0 for want of memory: then nothing has changed. */
    int (*add_to_buffer)(bh__hf_table *t, const void *keys, uint64_t count);

    /* Bytes that add_to_buffer works in, cut from the buffer's block behind the buffer (`aside`). */
    uint64_t (*aside_bytes)(const bh_table *table);
};

extern const bh__hf_builder bh__hf_near; /* cores, in the host's memory */
extern const bh__hf_builder bh__hf_far;  /* a device, in its own */

/* --- for all files ------------------------------------------------------------------------------- */

static inline bh__hf_table *bh__hf_of(bh_table *table)
{
    return (bh__hf_table *)table;
}

static inline uint64_t bh__hf_slots_per_line(const bh_table *table)
{
    return BH_HF_SLOTS(table->options.key_bytes, table->options.value_bytes);
}

/* Lines of the round that has most, in each region. */
static inline uint64_t bh__hf_lines_most(const bh_hf_generation *generation)
{
    uint64_t most = 0, r;

    for (r = 0; r < generation->rounds; r++)
        if (generation->round[r].lines > most)
            most = generation->round[r].lines;
    return most;
}

static inline const bh__hf_builder *bh__hf_builder_of(const bh_table *table)
{
    return ((const bh__hf_table *)table)->builder;
}

static inline bh__where bh__hf_where(const bh_table *table)
{
    bh__where where;

    where.system = &table->backend->system;
    where.executor = &table->backend->executor;
    where.device = table->backend->device;
    return where;
}

static inline void bh__hf_pass(const bh_table *table, uint32_t pass, void *argument, uint64_t items,
                               uint64_t grain)
{
    (void)table->backend->pass(table->backend, table, pass, argument, items, grain, BH_MUST);
}

/* Copies and zeroes where the table's memory is. */
static inline void bh__hf_copy(const bh_table *table, uint64_t to, uint64_t from, uint64_t bytes)
{
    bh__block there, here;

    there.memory = (unsigned char *)bh__pointer(to);
    here.memory = (unsigned char *)bh__pointer(from);
    there.committed = there.reserved = here.committed = here.reserved = bytes;
    if (bytes)
        (void)table->backend->copy(table->backend, &there, &here, bytes, BH_MUST);
}

static inline void bh__hf_zero(const bh_table *table, uint64_t at, uint64_t bytes)
{
    bh__block there;

    there.memory = (unsigned char *)bh__pointer(at);
    there.committed = there.reserved = bytes;
    if (bytes)
        (void)table->backend->clear(table->backend, &there, bytes, BH_MUST);
}

/* Finds what is in the empty slots of a generation to be built. */
static inline void bh__hf_find_fillers(const bh_table *table, bh_hf_generation *g)
{
    bh_hf_fillers job;

    job.geometry = &((const bh__hf_table *)table)->geometry;
    job.to = *g;
    if (g->rounds)
        bh__hf_pass(table, BH_HF_PASS_FILLER, &job, g->rounds, BH_HF_ROUNDS_MOST);
    *g = job.to;
}

/* --- changes.c ----------------------------------------------------------------------------------- */

/* Performs a call that may change something. */
bh_status bh__hf_modify(bh_table *table, const bh__batch *batch);

/* --- generations.c ------------------------------------------------------------------------------- */

/* Sets the number of pairs. */
void bh__hf_set_keys(bh__hf_table *t, uint64_t keys);

/* Sets what the table says of itself (bytes, slots, bounds of keys), which follows from the generations
 * and the spare block. */
void bh__hf_publish(bh__hf_table *t);

/* Generations with regions; the buffer, if anything is in it, comes behind them. */
uint64_t bh__hf_large(const bh__hf_table *t);

/* Frees the generations from `first` on, and puts a new one among the others by its size. */
void bh__hf_replace(bh__hf_table *t, uint64_t first, const bh_hf_generation *made,
                    const bh__block *block, uint64_t pairs);

/*
 * Makes places for new keys, which are sorted and all absent. Answers for how many, from the first on;
 * *why says why not for more.
 */
uint64_t bh__hf_make_places(bh__hf_table *t, const void *keys, uint64_t count, bh_status *why);

/* Forgets all pairs; the largest block is kept for the next ones. */
void bh__hf_drop_all(bh__hf_table *t);

/* Moves all pairs to one generation, as large as it must be. */
bh_status bh__hf_rebuild(bh__hf_table *t);

/* Copies the pairs of the generations from `first` on, in any order, and answers how many. There is room for all of
 * them; `values` is not used where there are none. */
uint64_t bh__hf_read(bh__hf_table *t, uint64_t first, void *keys, void *values, uint64_t room);

/* See bh__policy. A position counts the slots of all lines, and the places of the tail, of one generation after the other. */
uint64_t bh__hf_export_pairs(bh_table *table, uint64_t *at, void *keys, void *values,
                             uint64_t room);

/* --- build.c ------------------------------------------------------------------------------------- */

/* Keys per slot of a generation as it is built: each round has slots_per_key slots for each key that comes to it. */
double bh__hf_natural_fill(const bh_table *table);

/* Slots of a generation, with the places of its tail. */
uint64_t bh__hf_slots(const bh_table *table, const bh_hf_generation *generation);

/* How many of a generation's pairs a region may have: more than a region ever has if hashes are evenly spread. */
uint64_t bh__hf_region_room(uint64_t pairs, uint64_t regions);

/* Plans a generation of `pairs` pairs, whose payloads (bh_hf_fight) have so many bytes while it is built. Answers 0 when it would be beyond what can be addressed. */
int bh__hf_make_plan(const bh_table *table, uint64_t pairs, uint32_t payload_bytes, bh__hf_plan *p);

/*
 * Builds a generation; on failure nothing has changed but outcomes. *pairs receives how many it
 * has. BH_ERR_UNSUPPORTED: the pairs are too unevenly spread, because many keys are equal. `freed`
 * bytes of the table will be given back when it is in place: the budget is for what the table keeps.
 */
bh_status bh__hf_build(bh__hf_table *t, const bh__hf_list *from, uint64_t freed,
                       bh_hf_generation *made, bh__block *block, uint64_t *pairs);

/* Bytes of the payloads of a call's pairs, at most: of a call on cores that tells outcomes, indexes of 4 bytes. */
static inline uint32_t bh__hf_payload_most(const bh_table *table)
{
    const uint32_t bytes = table->options.value_bytes;

    return bytes || bh__on_device(table->backend) ? bytes : 4;
}

/* Makes a spare block for a generation of `keys` keys, kept until one is built. */
bh_status bh__hf_make_spare(bh__hf_table *t, uint64_t keys);

/* Makes a block with room for `keys` keys the spare one if there is no larger one; else frees it. */
void bh__hf_spare_block(bh__hf_table *t, bh__block *block, uint64_t keys, uint64_t slots);

/* Frees the spare block. */
void bh__hf_drop_spare(bh__hf_table *t);

/* Whether the budget has no room for a block of `bytes` bytes, even if the spare one were given up for it and
 * `freed` bytes given back; bh__hf_fail_beyond is the failure that says so. */
int bh__hf_is_beyond(const bh__hf_table *t, uint64_t bytes, uint64_t freed);
bh_status bh__hf_fail_beyond(const bh__hf_table *t, uint64_t bytes, uint64_t freed);

#endif
