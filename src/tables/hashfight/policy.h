/*
 * HashFight's policy as its own files know it: the table, what a generation is built from and how
 * it will be laid out, and what policy.c and far.c ask of each other. What the policy does is told
 * at the head of policy.c; far.c has what it does otherwise where the table is in a device's memory,
 * which the host cannot touch.
 */
#ifndef BH_TABLES_HASHFIGHT_POLICY_H
#define BH_TABLES_HASHFIGHT_POLICY_H

#include "base/checked.h"
#include "base/error.h"
#include "primitives/primitives.h"
#include "storage/arena.h"
#include "storage/temporary.h"
#include "tables/hashfight/layout.h"
#include "tables/table.h"

/* Pairs that the buffer holds: moving half of them must not cost much more than a call does. */
#ifndef BH_HF_BUFFER_MOST
#define BH_HF_BUFFER_MOST 512
#endif

typedef struct hashfight {
    bh_table table;
    bh_hf_geometry geometry;
    bh__block block[BH_HF_GENERATIONS_MOST]; /* of each generation; the buffer's is apart */
    uint64_t built[BH_HF_GENERATIONS_MOST];  /* pairs that each had when it was built */
    bh__block buffer;                        /* the memory of the generation without regions */
    bh_hf_generation tail;                   /* the buffer, also while nothing is in it */
    uint64_t gone;                           /* pairs of it that were erased */
    uint64_t aside; /* far: memory to make the buffer anew in; see far.c */
    bh__block spare; /* memory for the next generation: what capacity, reserve or clear left */
    uint64_t spare_keys; /* pairs that it was made for, and their slots */
    uint64_t spare_slots;
    uint64_t held;   /* bytes of temporary memory that a merge has */
    uint64_t floor_slots;  /* of a generation of floor_keys, 0 when the buffer has room for them */
    uint64_t shrink_below; /* the most that min_keys may be, after there was no memory to shrink */
    uint32_t regions_pay;  /* whether large calls of lookups are sorted by region */
} hashfight;

/* Pairs to be built from; see bh_hf_fight. */
typedef struct list {
    const void *keys;
    const void *payloads; /* NULL with `indexed`: the row's index */
    uint64_t n;
    uint32_t payload_bytes;
    uint32_t indexed;
    uint32_t distinct; /* no two keys are equal */
    const void *values;
    uint8_t *outcomes;
} list;

/* How a generation of so many pairs is laid out; addresses count from 0 at first. */
typedef struct plan {
    bh_hf_generation g;
    uint64_t quota;
    uint64_t bytes;
} plan;

/* Far: how many of a generation's pairs a region may have. More than there ever are, if their hashes are
 * spread. */
static inline uint64_t bh__hf_room(uint64_t pairs, uint64_t regions)
{
    const uint64_t mean = pairs / regions;
    uint64_t deviation = 1;

    if (regions == 1)
        return pairs;
    while (deviation * deviation < mean)
        deviation++;
    return mean + 8 * deviation + 64;
}

/* What became of an attempt to build. */
typedef enum built {
    BUILT,
    TOO_UNEVEN, /* the pairs of some region do not fit in its memory: too many equal keys; or, far,
                   some keys are equal */
    TOO_MANY_LEFT,
    NO_MEMORY
} built;

/* Whether the table is in a device's memory. */
static inline int bh__hf_is_far(const bh_table *table)
{
    return table->backend->pages == BH__PAGES_FAR;
}

static inline bh__where bh__hf_where(const bh_table *table)
{
    bh__where where;

    where.system = &table->backend->system;
    where.executor = &table->backend->executor;
    where.device = table->backend->device;
    return where;
}

static inline void bh__hf_pass(const bh_table *table, uint32_t pass, void *argument,
                               uint64_t items, uint64_t grain)
{
    (void)table->backend->pass(table->backend, table, pass, argument, items, grain, BH_MUST);
}

/* Copies and zeroes where the table's memory is. */
static inline void copy_bytes(const bh_table *table, uint64_t to, uint64_t from, uint64_t bytes)
{
    bh__block there, here;

    there.memory = (unsigned char *)pointer(to);
    here.memory = (unsigned char *)pointer(from);
    there.committed = there.reserved = here.committed = here.reserved = bytes;
    if (bytes)
        (void)table->backend->copy(table->backend, &there, &here, bytes, BH_MUST);
}

static inline void zero_bytes(const bh_table *table, uint64_t at, uint64_t bytes)
{
    bh__block there;

    there.memory = (unsigned char *)pointer(at);
    there.committed = there.reserved = bytes;
    if (bytes)
        (void)table->backend->clear(table->backend, &there, bytes, BH_MUST);
}

/* Finds what is in the empty slots of a generation to be built. */
static inline void bh__hf_find_fillers(const bh_table *table, bh_hf_generation *g)
{
    bh_hf_fillers job;

    job.geometry = &((const hashfight *)table)->geometry;
    job.to = *g;
    if (g->rounds)
        bh__hf_pass(table, BH_HF_PASS_FILLER, &job, g->rounds, BH_HF_ROUNDS_MOST);
    *g = job.to;
}

/* policy.c: copies the pairs of a generation from a cell on; *copied receives how many, and *cell
 * moves behind them. `counts` has room for so many parts, in the table's kind of memory. Answers 0
 * for want of memory, which happens far alone. */
int bh__hf_read(const bh_table *table, uint64_t generation, uint64_t *cell, uint64_t *counts,
                uint64_t counts_room, void *keys, void *values, uint64_t room, uint64_t *copied);

/* Of a generation in a device's memory, from a cell on: parts in which it is read. */
uint64_t bh__hf_parts_far(const bh_table *table, uint64_t generation, uint64_t cell);

/*
 * far.c: the same as its namesakes in policy.c.
 */
built bh__hf_fight_far(const bh_table *table, const list *from, plan *p, uint64_t *quota,
                       uint64_t *pairs);

/* Memory that making the buffer anew takes, cut from the same block. */
uint64_t bh__hf_aside_bytes(const bh_table *table);

/* Answers 0 for want of memory: then nothing has changed. */
int bh__hf_add_far(hashfight *t, const void *keys, uint64_t count);

/* The elements of the call are all INSERTED. */
void bh__hf_tell_far(const bh_table *table, uint8_t *outcomes, uint64_t n);

#endif
