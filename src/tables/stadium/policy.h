/*
 * Stadium hashing's policy as its own files know it: the table, and what the files ask of each other. They are,
 * from the outside inwards:
 *
 *     policy.c   the bh__policy: options, creating and destroying, clearing, export; a slice that stalled
 *     fills.c    when parts grow and shrink; reserving and compacting
 *     parts.c    how large parts are; making them, and moving pairs from some to others
 */
#ifndef BH_TABLES_STADIUM_POLICY_H
#define BH_TABLES_STADIUM_POLICY_H

#include "base/error.h"
#include "base/system.h"
#include "tables/budget.h"
#include "tables/stadium/layout.h"

/* Words of a board that one task of a pass works on. Chosen, not tuned. */
#define BH_ST_PASS_ITEMS 1024

/* An export cursor has 40 bits for the number of a word of all boards, and a slot. */
#define BH_ST_PLACES 32u
#define BH_ST_WORDS_MOST ((1ull << 40) / BH_ST_PLACES)

/* A part of a table of several parts has at least so many bytes: a huge page. */
#ifndef BH_ST_PART_BYTES
#define BH_ST_PART_BYTES BH__PAGE_HUGE
#endif

/* The memory of a part: all of it, or its board and bounds, and the slots where a GPU reaches the host's memory. */
typedef struct bh__st_memory {
    bh__block near;
    bh__block far; /* none, but on a GPU */
} bh__st_memory;

/* Parts, and the memory they are in. */
typedef struct bh__st_set {
    uint32_t parts, whole; /* as in the geometry */
    uint64_t
        lines[BH_ST_PARTS_MOST]; /* of the board that each was made for; there may be a few more */
    bh_st_part part[BH_ST_PARTS_MOST];
    bh__st_memory memory[BH_ST_PARTS_MOST];
    bh__block locks;
    uint64_t lock_count; /* a power of two */
} bh__st_set;

typedef struct bh__st_table {
    bh_table table;
    bh_st_geometry geometry; /* its parts are those of the set */
    bh__st_set set;
    int to_the_last; /* at its size it could not grow: all slots that max_fill allows may be taken */
} bh__st_table;

static inline bh__st_table *bh__st_of(bh_table *table)
{
    return (bh__st_table *)table;
}

static inline bh_status bh__st_refused(const char *what)
{
    return bh__fail(BH_ERR_DEVICE, "the GPU refused %s; no key has moved", what);
}

/* --- parts.c ------------------------------------------------------------------------------------ */

/* How many parts a table for so many keys has, a power of two, and how many lines of the board each; 0 lines
 * where that cannot be addressed. */
typedef struct bh__st_shape {
    uint32_t parts;
    uint64_t lines;
} bh__st_shape;

bh__st_shape bh__st_shape_for(const bh__st_table *t, uint64_t keys);

/* How many keys a table of a shape may hold. */
uint64_t bh__st_keys_in(const bh__st_table *t, bh__st_shape shape);

/* About how many bytes a part of so many lines has. */
uint64_t bh__st_part_bytes(const bh_st_geometry *g, uint64_t lines);

/* Slots of a line, and slots and words of a part. */
uint64_t bh__st_line(const bh_st_geometry *g);
uint64_t bh__st_slots(const bh_st_geometry *g, const bh_st_part *part);
uint64_t bh__st_words(const bh_st_geometry *g, const bh_st_part *part);

/* The bytes of the board and bounds of a part, which are the first of its block. */
uint64_t bh__st_board_bytes(const bh_st_geometry *g, const bh_st_part *part);

/* Gives the table parts of a shape, and moves its pairs to them, dropping erased tickets. BH_OK or a failure and
 * its sentence; then all is as it was. (BH_ERR_FULL also where a part would get more keys than it has slots.) */
bh_status bh__st_rebuild(bh__st_table *t, bh__st_shape shape);

/* The same for one part; or for one that is split, as the next of those that are to be, into two of its size;
 * or for the two that were split last, which become one of the first one's size. */
bh_status bh__st_remake(bh__st_table *t, uint32_t part, uint64_t lines);
bh_status bh__st_split(bh__st_table *t);
bh_status bh__st_merge(bh__st_table *t);

/* Where slots may lie, which is a choice on a GPU that reaches the host's memory. */
static inline bh_table_memory bh__st_where(const bh_table *table)
{
    return bh__on_device(table->backend) && table->backend->far_most
               ? table->options.stadium.table_memory
               : BH_TABLE_MEMORY_DEVICE;
}

/* Makes a set that has no parts and no memory; frees all that a set has. */
void bh__st_empty(bh__st_set *set);
void bh__st_destroy(const bh__st_table *t, bh__st_set *set);

/* --- fills.c ----------------------------------------------------------------------------------- */

/* Recomputes all that follows from the sizes of the parts. */
void bh__st_publish(bh__st_table *t);

/* Makes the parts whose bits are set twice as large; at least one of them, or a failure and its sentence. */
bh_status bh__st_grow_parts(bh__st_table *t, uint64_t parts);

/* Makes room for more keys. */
bh_status bh__st_grow(bh__st_table *t);

/* Functions of bh__policy: see there. */
void bh__st_shrink(bh_table *table);
bh_status bh__st_compact(bh_table *table);
bh_status bh__st_reserve(bh_table *table, uint64_t keys);
void bh__st_expect(bh_table *table, uint64_t keys);

#endif
