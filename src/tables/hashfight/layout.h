/*
 * HashFight: what lies where. Shared by the policy (host C), the operations (every
 * target) and a GPU.
 *
 * The table is a short list of *generations*, the largest first. A generation is built
 * once from a list of pairs and holds them for good; later changes of a key that is in
 * it happen in place. A key is in one generation at most.
 *
 *     generation   region 0              region 1                  region P-1
 *                  [round 0|round 1|..]  [round 0|round 1|..] ...  [round 0|..]   tail
 *
 *     region       a range of the hash. The lines of a key in all rounds are in the same
 *                  region, so that building a region stays within a core's cache
 *     round        a subtable of lines. Every key fights for the slots of the one line that its
 *                  hash names; those that find it full have lost, and go to the next round, which
 *                  has fewer lines, in proportion to the keys that are expected there
 *     tail         the few pairs that lost every round, sorted by key
 *
 * A line has 64 bytes, keys first:
 *
 *     +------+------+-- --+------+-------+-------+-- --+-------+
 *     | key0 | key1 | ... | keyL | value0| value1| ... | valueL|    L = 8 for 4+4 bytes
 *     +------+------+-- --+------+-------+-------+-- --+-------+
 *
 * The paper fights for single slots, and of 1.5 slots for each key a quarter of the keys lose a round. For lines of
 * 8 slots 3% do (of 4: 8%), so nearly all keys are found in the first line that is read.
 *
 * Nothing says which slots are in use, and no key is reserved for "empty": an empty slot holds a key whose hash names another
 * line, its *filler*. There are two: one for slots that were never taken (key 0), and one for slots whose key was erased
 * (key 1). In the lines that keys 0 and 1 fight for other small keys stand for them. So no lookup that comes here can
 * take a filler for its own key, and a pass that reads all slots can tell that the slot is empty.
 *
 * While a line has a slot that was never taken, nobody lost there: a lookup that does not find its key in such a line need
 * look no further in this generation.
 *
 * The youngest generation is the *buffer*: it has no rounds, only a tail, of so few pairs
 * that it is made anew for every call that adds to it.
 */
#ifndef BH_TABLES_HASHFIGHT_LAYOUT_H
#define BH_TABLES_HASHFIGHT_LAYOUT_H

#include "bulkhash/bulkhash.h"
#include "primitives/hash.h"
#include "tables/copy_out.h"
#include "tables/table.h"

extern const bh__policy bh__hashfight_policy;

#define BH_HF_LINE 64u
#define BH_HF_ROUNDS_MOST 16u
#define BH_HF_GENERATIONS_MOST 16u

/* Where values begin in a line of so many slots; and how many slots fit. */
#define BH_HF_VALUES(key_bytes, value_bytes, slots)                                                \
    ((value_bytes) == 8 ? ((slots) * (key_bytes) + 7u) / 8u * 8u : (slots) * (key_bytes))
#define BH_HF_SLOTS(key_bytes, value_bytes) (BH_HF_LINE / ((key_bytes) + (value_bytes)))

/* Empty slots: that were never taken, and whose key was erased. */
enum { BH_HF_FREE, BH_HF_GONE, BH_HF_FILLERS };

typedef struct bh_hf_round {
    uint32_t lines; /* in each region */
    uint32_t line;  /* of a region, where this round begins */
    uint64_t
        special[BH_HF_FILLERS]; /* the lines of the whole generation that keys 0 and 1 fight for */
    uint32_t free_of_zero;      /* what is in the free slots of the first of them */
    uint32_t gone;              /* what is in slots of both whose key was erased */
} bh_hf_round;

typedef struct bh_hf_generation {
    uint64_t lines;   /* address of the first line */
    uint64_t regions; /* 0: only a tail */
    uint64_t region_lines;
    uint64_t rounds;
    uint64_t tail_keys; /* addresses */
    uint64_t tail_values;
    uint64_t tail_gone; /* bytes: 1 where a pair was erased */
    uint64_t tail;      /* pairs in it */
    uint64_t tail_room; /* and places */
    bh_hf_round round[BH_HF_ROUNDS_MOST];
} bh_hf_generation;

/* The descriptor that a slice takes once. */
typedef struct bh_hf_geometry {
    bh_seed seed;
    uint64_t generations; /* each has rounds, or pairs in its tail */
    bh_hf_generation generation[BH_HF_GENERATIONS_MOST];
} bh_hf_geometry;

/*
 * Where a pair is, as a word: the generation plus one, the round, and the slot in the
 * generation; or BH_HF_TAIL for the round and the position in the tail. 0: nowhere.
 */
#define BH_HF_PLACE_ROUND 48
#define BH_HF_PLACE_GENERATION 56
#define BH_HF_TAIL 0xffu

/* A kind of operation of its own, beside the bh_op: find where a key is. `values_out` of its slice
 * are places. */
#define BH_HF_LOCATE 0xfeu

/* The passes; see bh__kernels. Cores build by FIGHT and TAIL, a device by LAY, TEAM and TELL (which cores
 * have too, for tests with a fake device). */
/* clang-format off */
#define BH_HF_PASSES(pass)                                                                         \
    pass(EXPORT, export_parts, bh__export,    PARTS)                                               \
    pass(FILLER, find_fillers, bh_hf_fillers, EACH)                                                \
    pass(FIGHT,  fight_tasks,  bh_hf_fight,   CORES)                                               \
    pass(TAIL,   make_tail,    bh_hf_fight,   CORES)                                               \
    pass(LOCATE, locate,       bh_hf_locate,  OWN)                                                 \
    pass(WANT,   want,         bh_hf_runs,    OWN)                                                 \
    pass(FOLD,   fold,         bh_hf_runs,    OWN)                                                 \
    pass(LAY,    lay,          bh_hf_teams,   EACH)                                                \
    pass(TEAM,   team,         bh_hf_teams,   OWN)                                                 \
    pass(TELL,   tell_all,     bh_hf_teams,   EACH)                                                \
    pass(PLACES, find_places,  bh__places,    EACH)
/* clang-format on */

#define BH_HF_PASS_NUMBER(name, text, argument, how) BH_HF_PASS_##name,
enum { BH_HF_PASSES(BH_HF_PASS_NUMBER) BH_HF_PASSES_END };
#undef BH_HF_PASS_NUMBER

/*
 * BH_HF_PASS_FIGHT builds a generation out of pairs that lie, partitioned by region, in the
 * very memory that the region's slots will take. An item is a task; it takes every tasks-th
 * region, copies the pairs to its own scratch memory, and fights there.
 *
 * The payload of a pair is its value, or, when `indexed`, its index in `values` and `outcomes`.
 */
typedef struct bh_hf_fight {
    const bh_hf_geometry *geometry;
    bh_hf_generation *to;
    const uint64_t *counts; /* pairs of each region, and where they lie */
    const uint64_t *keys_at;
    const uint64_t *payloads_at; /* NULL: no payloads */
    uint32_t payload_bytes;
    uint32_t indexed;
    const void *values;
    uint8_t *outcomes; /* NULL, or of an insert into an empty table: receives them */
    uint64_t tasks;
    unsigned char *scratch;
    uint64_t scratch_bytes; /* of each task */
    uint64_t room;          /* pairs that fit in it */
    uint64_t quota;         /* pairs of each region that may lose all rounds */
    void *left_keys;        /* quota for each region */
    uint64_t *left_payloads;
    uint64_t *left; /* how many of each region did; those above quota are not in left_keys */
    uint64_t won;   /* pairs in slots, added up by all */
} bh_hf_fight;

/*
 * BH_HF_PASS_TAIL comes after BH_HF_PASS_FIGHT, with the same argument, in which left_keys and
 * left_payloads are sorted now, and left says where each run of equal keys begins. An item is a run, which
 * becomes a pair of the tail.
 */

/* BH_HF_PASS_FILLER comes before a generation is built: an item is a round, whose fillers are found. */
typedef struct bh_hf_fillers {
    const bh_hf_geometry *geometry;
    bh_hf_generation to;
} bh_hf_fillers;

/*
 * What builds a generation on a device with thousands of threads: a team of them for each region. See
 * teams.h.
 *
 *   BH_HF_PASS_LAY     an item is a region: where its pairs go when they are partitioned
 *   BH_HF_PASS_TEAM    an item is a team, which takes every teams-th region
 *   BH_HF_PASS_TELL    an item is an element of the call
 */
typedef struct bh_hf_teams {
    const bh_hf_geometry *geometry;
    bh_hf_generation to;
    const uint64_t *counts; /* pairs of each region, and where they lie */
    uint64_t *keys_at;
    uint64_t *values_at;
    uint64_t teams;
    uint64_t room;          /* pairs of a region, at most */
    unsigned char *scratch; /* NULL: what a team needs fits in fast memory of its own */
    uint64_t scratch_bytes; /* of each team */
    void *left_keys;        /* these receive pairs that lose all rounds, in any order */
    void *left_values;
    uint64_t left_room;
    uint64_t left; /* how many did, added up by all; those above left_room are not in left_keys */
    uint64_t
        uneven; /* becomes 1 where a region has too many pairs, or two keys are equal: nothing can
                   be built then */
    uint8_t *outcomes; /* tell: of elements that have been inserted */
} bh_hf_teams;

/* Shared memory of a team, of which any kernel may have so much, and the threads of a team. The registers of
 * an H200's multiprocessor are enough for five such teams. */
#define BH_HF_TEAM_BYTES 45056u
#define BH_HF_TEAM_THREADS 256u

/* Bytes of a pair in scratch memory, where its payload is aligned. */
#define BH_HF_PAIR(key_bytes, payload_bytes)                                                       \
    ((payload_bytes) == 0 ? (key_bytes) : (key_bytes) + (payload_bytes) == 8 ? 8u : 16u)

/* Scratch memory of a task for regions of up to `room` pairs and `lines` lines a round: pairs, and how many slots of
 * each line are taken. */
#define BH_HF_SCRATCH(key_bytes, payload_bytes, room, lines)                                       \
    (((room)*BH_HF_PAIR(key_bytes, payload_bytes) + (lines) + 3 * 64) / 64 * 64)

/* Scratch memory of a team: pairs, the slot of each, and the winner of each slot of a round. */
#define BH_HF_TEAM_SCRATCH(key_bytes, value_bytes, room, slots)                                    \
    (((room) * (BH_HF_PAIR(key_bytes, value_bytes) + 4) + (slots)*4 + 3 * 64) / 64 * 64)

/* BH_HF_PASS_LOCATE: an item is a key; places[i] is where keys[i] is. */
typedef struct bh_hf_locate {
    const bh_hf_geometry *geometry;
    const bh_system *system;
    const void *keys;
    uint64_t *places;
    uint64_t hints; /* of a slice */
} bh_hf_locate;

/* Elements of a long run: no fewer than a team has threads, so that each has one. */
#define BH_HF_LONG_RUN 256u

/*
 * The elements of a part of a call by key (bh__runs). An item is a run.
 *
 *   BH_HF_PASS_WANT   wanted[i] is 1 where the run's key is absent and one of the run would insert it
 *   BH_HF_PASS_FOLD   performs each run: one element after the other on the value in hand, which is
 *                     written to the table once. Where wanted[i] is 1 and the key has a place, the place
 *                     was made for it, and the key counts as absent still. Of a long run, all of whose elements
 *                     do the same, values are joined beforehand, by all threads of a team (of a device's; on cores
 *                     a team is one thread)
 */
typedef struct bh_hf_runs {
    const bh_hf_geometry *geometry;
    bh__runs runs;
    const uint64_t *places;
    uint64_t joins;    /* fold: whether values of long runs may be joined */
    uint8_t *wanted;   /* NULL: none is */
    uint64_t wanting;  /* want: how many are, added up by all */
    uint64_t inserted; /* fold: added up by all */
    uint64_t erased;
    uint64_t assigned;
    uint64_t refused;
    uint64_t gone; /* pairs of the buffer that were erased */
} bh_hf_runs;

/* BH_HF_PASS_EXPORT: an item is a part of a generation's lines, or of its tail, of which a "bucket" is as many pairs as a
 * line has slots (tables/copy_out.h). `lines` of such an array says which: twice the generation's number, plus 1 for
 * the tail. */

#endif
