/*
 * What every table has, whatever its design and wherever it lives, and the two
 * contracts that hold the library together:
 *
 *   the policy of a design   decides: create, grow, reserve, what to do when
 *                            operations stall. It knows the layout and launches
 *                            nothing: it asks its backend for a named pass.
 *   the backend              runs: batches of operations in slices, and passes.
 *                            It knows cores (or a GPU) and no layout.
 *
 * Between them stand the kernels: the operation text of one design compiled for
 * one pair of widths and one target. A backend finds them by the table's options; a
 * policy names a pass by its number.
 */
#ifndef BH_TABLES_TABLE_H
#define BH_TABLES_TABLE_H

#include "base/atomic.h"
#include "base/gate.h"
#include "base/operations.h"
#include "bulkhash/experimental.h"
#include "primitives/primitives.h"
#include "storage/block.h"
#include "storage/bringer.h"

/* What a step of an operation answers to its schedule. A step works on one region of memory, and never
 * waits. It holds nothing when it returns, but where a key may lie in any of several regions: there an
 * operation that answers NEXT may keep the one lock that orders the key's writers. Nobody waits for a lock
 * while holding another. */
typedef enum bh_answer {
    BH_DONE,  /* finished: outcome and value are set */
    BH_NEXT,  /* go on at the region set */
    BH_RETRY, /* another thread holds what the step needs: call it again with the same region */
    BH_STALL  /* the table itself must change; nothing visible was changed */
} bh_answer;

/* Where memory lies. Regions of another tier than near memory are brought by a bh__bringer. */
typedef enum bh_tier { BH_TIER_NEAR, BH_TIER_HOST, BH_TIER_FILE, BH_TIERS } bh_tier;

/* Memory that a step wants to work on, at most one page. In the near tier (the memory of the cores
 * or of the GPU that runs the step) `offset` is an address. */
typedef struct bh_region {
    uint64_t offset;
    uint32_t bytes;
    bh_tier tier;
} bh_region;

/* An operation's index in its slice has 16 bits. A build for tests may have slices of a few elements. */
#ifndef BH_SLICE_MOST
#define BH_SLICE_MOST 4096
#endif

/* The kinds of slice that have a compiled instance of their own; all others, and ordered ones, run
 * the mixed one. */
typedef enum bh__slice_kind {
    BH_SLICE_FIND,
    BH_SLICE_INSERT,
    BH_SLICE_ERASE,
    BH_SLICE_ADD,
    BH_SLICE_MIXED,
    BH_SLICE_KINDS
} bh__slice_kind;

/* Memory in which one task searches. */
typedef struct bh__scratch {
    void *memory;
    uint64_t bytes;
} bh__scratch;

/* Lines of a table that takes more bytes come from beyond the caches. Where the boundary is matters little: lines
 * of a last cache come as fast in both ways (docs/decisions/0019). A build for tests has none that is near. */
#ifndef BH_FAR_BYTES
#define BH_FAR_BYTES (16u << 20)
#endif

/* Hints of a slice. */
#define BH_HINT_TURNOVER 1u /* many keys have been erased: see bh__hints_of */
#define BH_HINT_LATER 2u    /* an operation stalls instead of searching for a place */
#define BH_HINT_FINAL 4u /* placing: the table does not grow, so what finds no place is refused */
#define BH_HINT_AGAIN 8u /* the policy has had this slice run again once, because there was room */
#define BH_HINT_LEFT 16u /* left by the front of the schedule */
/* Nothing else than elements of this slice's one operation runs meanwhile, and they move no key. So a key
 * that is there stays where it is until it is erased, and is acted on without a lock. A target has it that
 * has BH_RUNS_ALIKE. */
#define BH_HINT_ALIKE 32u
#define BH_HINT_FAR 64u /* the table has more than BH_FAR_BYTES */
/* Operations look at all of a region together, in a table whose policy sets this and on a target that does so; kernels are
 * compiled for either (BH_DESIGN_AT_ONCE). */
#define BH_HINT_AT_ONCE 128u
/* A kernel of a GPU, all of whose elements insert, needs no locks for most of them (BH_DESIGN_CLAIMS). */
#define BH_HINT_CLAIMS 256u
/* So many kernels of a slice may claim places, one after the other; each has a number of its own (slice.epoch). */
#define BH_EPOCHS 6u
/* On cores: nobody else changes the table while this slice runs, so nothing need be locked. Lookups may run beside it. */
#define BH_HINT_BIASED 512u
/* On a GPU, lookups in regions of two lines: most keys are not there, so the first line alone is asked for. */
#define BH_HINT_ABSENT 1024u

#define BH_IS_ALIKE(slice) (BH_RUNS_ALIKE && ((slice)->hints & BH_HINT_ALIKE))
#define BH_IS_BIASED(hints) (BH_ONE_THREAD && ((hints)&BH_HINT_BIASED))

/* Why an element stalled. A design has reasons of its own from BH_REASON_OF_DESIGN on. */
#define BH_REASON_ROOM 1u  /* there was no room for a new key */
#define BH_REASON_PLACE 2u /* there was room, but all its places are taken */
#define BH_REASON_OF_DESIGN 0x100u

/* Things of a table, by their numbers, that many slices take; and a design takes them for a slice in bunches, because a counter that
 * all threads add to is slow. What is left when the slice ends is put back (bh__kernels.put_back). */
typedef struct bh__stash {
    uint64_t next; /* the first of those that are left */
    uint64_t left;
    uint64_t linked; /* 0: they are numbered one after the other; 1: each says which is the next */
    uint64_t bunch;  /* how many are taken next */
} bh__stash;

static inline void bh__stash_begin(bh__stash *stash)
{
    stash->next = stash->left = stash->linked = 0;
    stash->bunch = 1;
}

/*
 * A slice: up to BH_SLICE_MOST operations that run under one shared hold of the gate, with one
 * geometry. All pointers are to the slice's first element; what does not apply is NULL.
 *
 * `list` names the elements to run, `listed` of them; listed 0 means all `count` from the first
 * on. On return it names the elements that stalled, `stalled` of them.
 */
typedef struct bh__slice {
    const void *geometry;       /* the design's descriptor, fixed while the slice runs */
    const bh__scratch *scratch; /* of the pass that places what stalled */
    const void *keys;
    const void *values;
    void *values_out;
    uint8_t *outcomes;
    const uint8_t *ops; /* NULL: all do `op` */
    uint16_t *list;
    bh__stash *stash; /* on cores: see BH_DESIGN_PUTS_BACK */
    unsigned char *
        copies; /* of different operations: BH_COPIES_BYTES of memory, aligned to 8 bytes, or NULL */
    const bh_system *system; /* to yield with, when everything in flight waits for other threads */
    const char *target;      /* set by the kernels: what ran it, see bh_table_stats */
    uint32_t count;
    uint32_t listed;
    uint32_t stalled;
    uint8_t op;
    uint8_t ordered; /* run one after the other; a stall ends the slice */
    uint8_t moved;   /* keys that were in the table have been moved */
    uint8_t
        absent; /* a front's: 1 where most keys seemed absent in the worker's last slice of this call, else 0 */
    uint8_t
        epoch; /* on a GPU: the first of BH_EPOCHS numbers, mostly not those of the slices before */
    uint32_t hints;   /* BH_HINT_ bits: what operations are to know of the table */
    uint32_t reasons; /* BH_REASON_ bits: why some stalled */
    /* For the pass that places what stalled, with the gate held alone: */
    uint32_t refused;   /* set by that pass: the first so many of the list were tried and cannot be
                           done; those behind them were not tried */
    uint64_t looks;     /* buckets that searches for a place may still look at; counted down */
    uint64_t vain;      /* placing: how many looks searches without success have made */
    uint64_t vain_most; /* placing: when `vain` is as large, no further search is made */
    uint64_t room;      /* new keys that may still be inserted; kernels count it up and down */
    uint64_t inserted;
    uint64_t erased;
    uint64_t assigned;
} bh__slice;

/* Bytes for copies of so many elements of a slice and, of keys, values and names, of a group of 16 more (cpu/kinds.h). */
#define BH_COPIES_BYTES(elements, key_bytes, value_bytes)                                          \
    (((elements) + 16u) * ((key_bytes) + (value_bytes) + 4u) + (elements))

/*
 * Passes over a table that a policy may ask for. Each works on a range of items and takes an argument.
 * A design lists its own in its layout.h, a line each:
 *
 *     pass(NAME, text, argument, how)
 *
 *     NAME      its number is BH_..._PASS_NAME
 *     text      the function that runs a range of items: BH_DESIGN(text)(argument, first, count)
 *     argument  the type of the argument, which begins with the pointer to the design's descriptor
 *     how       a device runs it:
 *                 EACH   each item by a thread of its own
 *                 ALONE  all of them by one thread; behind the pointer to the descriptor is one
 *                        to a bh__scratch, which is BH_DESIGN_SCRATCH bytes of fast memory then
 *                 SPARSE as EACH, where few of an item's parts have anything to do, of 16 at most: a device asks
 *                        BH_DESIGN(text_wants)(argument, item) for a bit for each that has, runs
 *                        BH_DESIGN(text_part)(argument, item, part) for it, and hands what these answer, added
 *                        up, to BH_DESIGN(text_sum)(argument, sum)
 *                 PARTS  each item, a part of buckets that is copied out (copy_out.h), by a block of
 *                        threads; text is export_parts, from tables/copy_parts.h
 *                 OWN    in a way of its own, which the design's part of the backend has
 *                 CORES  not at all
 */
typedef void bh__pass_text(void *argument, uint64_t first, uint64_t count);

typedef struct bh__kernels {
    void (*slice[BH_SLICE_KINDS])(bh__slice *slice);
    bh__pass_text *const *pass;         /* by the numbers of the design */
    void (*put_back)(bh__slice *slice); /* what its stash has left; see BH_DESIGN_PUTS_BACK */
} bh__kernels;

/* One call on arrays, checked. */
typedef struct bh__batch {
    const uint8_t *ops; /* NULL: all do `op` */
    const void *keys;
    const void *values; /* of operations that read them; NULL: 1 each (BH_ADD alone) */
    void *values_out;
    uint8_t *outcomes;
    uint64_t n;
    bh_op op;
    uint32_t
        by_place; /* 1: the backend is to sort the elements by bh__places before it runs them */
} bh__batch;

/* The argument of a design's pass that says where in the table's memory keys are looked for first, as a
 * fraction of it: 0 at its beginning, 2^bits at its end. An item is a key. */
typedef struct bh__places {
    const void *geometry;
    const void *keys;
    uint32_t *places;
    uint32_t bits; /* 1 to 32 */
} bh__places;

/*
 * The elements of a call, or a part of it, by key: sorted stably, the elements of one key are a
 * *run*, in the caller's order. All pointers but `index` and `starts` are to the part's first element
 * as the caller has it; what does not apply is NULL. What runs come to is in effect.h.
 */
typedef struct bh__runs {
    const uint32_t *index; /* of each sorted element, in the arrays that follow */
    const uint8_t *ops;    /* NULL: all do `op` */
    const void *values;
    void *values_out;
    uint8_t *outcomes;
    const uint64_t *starts; /* the first sorted element of each run */
    uint64_t count;         /* of runs */
    uint64_t elements;
    uint32_t op;
    uint32_t value_bytes;
} bh__runs;

/*
 * How runs are performed, each as one operation on its key, while nobody else changes the table. Lines
 * without a name are done between these passes, by others.
 *
 * With mixed operations:
 *
 *              the keys of all runs are looked up: found, before
 *     LEFT     an item is a run, performed on the value found; what is left to be done with its key
 *              is one operation, `left`, which may be BH_FIND, with a value, `after`
 *              that operation is done: done
 *     ANSWER   an item is a run, performed once more: now outcomes and values of its elements are written
 *
 * With one operation for all elements (primitives combine the values of a run into one):
 *
 *     HEADS    an item is a run: its first element is marked in `heads`, which is 0 before
 *              the marks before each element are counted, and each run's operation is done: done
 *     SHARE    an item is a sorted element: its outcome follows from its run's outcome
 *
 * With one operation, and no values given:
 *
 *     COUNT    an item is a run: `after` is how many elements it has
 */
typedef enum bh__effects_step {
    BH_EFFECTS_LEFT,
    BH_EFFECTS_ANSWER,
    BH_EFFECTS_HEADS,
    BH_EFFECTS_SHARE,
    BH_EFFECTS_COUNT
} bh__effects_step;

typedef struct bh__effects {
    bh__runs runs;
    const uint8_t *found; /* of each run: the outcome of the lookup, the value */
    const void *before;
    uint8_t *left;
    void *after;
    const uint8_t *done;          /* of each run: the outcome of what was left */
    uint8_t *heads;               /* of each sorted element: 1 where it is the first of a run */
    const uint64_t *heads_before; /* of each sorted element: how many heads are before it */
} bh__effects;

typedef struct bh__backend bh__backend;
typedef struct bh__policy bh__policy;

/*
 * What searches for a place may cost (of designs that move keys to make room for others).
 *
 * In a table that may not grow, each new key would repeat the searches that have failed before, and each
 * of them reads thousands of buckets. So searches are paid for by an *allowance* of looks, a look being a
 * bucket that is read to see whether it is full. A change of the table's geometry fills the allowance
 * up; a key inserted adds one look to it, a key erased, which may have opened a path, a few. So one number
 * remembers the failed searches, and refusing keys costs no more than placing as many.
 *
 *   up to sure_keys   every key finds a place, as the header promises. Only searches in vain are
 *                     charged: there are none, unless somebody sends keys that collide on purpose.
 *   beyond            any key may be refused. All searches are charged.
 */
typedef struct bh__allowance {
    uint64_t
        left; /* as a signed number: searches that are not charged beforehand may overdraw it */
    uint64_t most; /* what it is filled up to */
} bh__allowance;

#define BH_LOOKS_FREE (UINT64_MAX / 2) /* of a slice whose searches are not charged */
#define BH_LOOKS_OF_SEARCH 64u         /* an operation's own search makes so many at most */
#define BH_LOOKS_OF_INSERT 1u
#define BH_LOOKS_OF_ERASE 16u

/* Whether something that a policy asks a backend for may fail. A device may refuse it: then nothing of it
 * was done. */
typedef enum bh__need {
    BH_TRY, /* it may: the caller is told, and has a way out */
    BH_MUST /* it may not: it is retried once, and if refused again the device counts as failed */
} bh__need;

/* What a context has for its tables. */
struct bh__backend {
    bh_system system;
    bh__memory memory; /* near memory, in which tables lie */
    bh__memory
        growing; /* the same, for blocks that are to grow: where a GPU can extend large ones in place it
                         * takes longer to create and to destroy them. On cores the same as `memory` */
    bh__memory host; /* the host's; on cores the same as `memory` */
    bh__memory far;  /* the host's where a GPU reads and writes it in place: pinned, and not zeroed
                        * again when it has been used. On cores the same as `memory` */
    uint64_t far_most; /* how much of it a table may have that names no budget; 0: the GPU cannot
                        * reach the host's memory */
    bh_executor executor;
    uint32_t
        has_barrier; /* the system's barrier is prepared, and gates may count on it (base/gate.h) */
    const char *target;
    const bh__primitives *primitives; /* to be run with `system`, `executor` and `device` */
    void *device;
    /* NULL when this backend does not have the design at these widths. */
    const bh__kernels *(*kernels)(const bh__backend *, const bh_table_options *);
    bh_status (*batch)(const bh__backend *, bh_table *, const bh__batch *);
    /* Runs a call in slices, as it is: what `batch` does where the policy has no say. */
    bh_status (*slices)(const bh__backend *, bh_table *, const bh__batch *);
    /* Runs a pass over [0, items) in parts of `grain` items. The argument of a pass begins with the
     * pointer to the design's descriptor. `pass`, `clear` and `copy` answer 0 when a device refused
     * before it began; see bh__need. */
    int (*pass)(const bh__backend *, const bh_table *, uint32_t pass, void *argument,
                uint64_t items, uint64_t grain, bh__need);
    /* NULL, or whether the device still works: BH_OK, or BH_ERR_DEVICE and a sentence. */
    bh_status (*alive)(const bh__backend *);
    /* Zeroes the first `bytes` of a block; copies them to another. */
    int (*clear)(const bh__backend *, const bh__block *, uint64_t bytes, bh__need);
    int (*copy)(const bh__backend *, const bh__block *to, const bh__block *from, uint64_t bytes,
                bh__need);
    /* NULL, or sorts pairs wherever they lie: bh_sort(), its arguments checked. */
    bh_status (*sort)(const bh__backend *, void *keys, uint32_t key_bytes, void *values,
                      uint32_t value_bytes, uint64_t n);
    /* Copies pairs to the caller's arrays, on the host or on the device, by the policy's export_pairs. */
    bh_status (*export_pairs)(const bh__backend *, bh_table *, uint64_t *at, void *keys,
                              void *values, uint64_t room, uint64_t *count);
};

/* Whether tables lie in a device's memory, which the host cannot read. */
static inline int bh__on_device(const bh__backend *backend)
{
    return backend->memory.of_device;
}

/* On a GPU: what calls that can insert have told those that come after them; forgotten when one erases more keys than it leaves
 * (cuda/host/launch.c). */
typedef struct bh__told {
    uint32_t finds_keys; /* most keys of the last one were there */
    uint16_t ops_seen;   /* operations of those so far, as bits */
    uint16_t
        mixed; /* so many mixed calls that come are not asked whether their keys are equal (cuda/host/schedule.c) */
    /* Bit 0: the first kernels of the last one left some of its elements to others; bit 1: the same where few keys were expected
     * to be new; bit 2: either is known. */
    uint32_t some_left;
} bh__told;

typedef struct bh__stripe bh__stripe;

/* What the system last said about the pages under a table: atomic, because calls of bh_table_get_stats() may run beside each
 * other. */
typedef struct bh__page {
    uint64_t bytes;
    uint64_t of;    /* the table's bytes then, */
    uint64_t at;    /* and the address of its typical page */
    uint64_t since; /* the clock then, in nanoseconds */
} bh__page;

struct bh_table {
    const bh__backend *backend;
    const bh__policy *policy;
    const bh__kernels *kernels;
    bh_table_options options; /* as given, zeros replaced by what was chosen; `experimental` points
                                 to the next field */
    bh_experimental_options experimental;
    bh__gate gate;
    const char *target; /* what ran the last slice */
    bh__told told[2];   /* on a GPU, by calls of few elements and by those of many */

    /* Changed only with the gate held alone. The first two on cores, see cpu/bias.h. */
    bh__presence *biased_to; /* whose changes take no locks; or NULL */
    uint32_t bias_ends;      /* how often another thread has ended a bias, or kept one off */
    uint64_t slots;
    uint64_t max_keys;
    uint64_t min_keys;        /* with fewer keys the policy is asked to shrink the table */
    uint64_t floor_keys;      /* what capacity and reserve asked for */
    uint64_t sure_keys;       /* up to so many keys, each finds a place: see bh__allowance */
    uint64_t bytes[BH_TIERS]; /* see budget.h */
    uint32_t hints;           /* BH_HINT_ bits for its slices */
    uint32_t stripe_most;     /* see counts.h, as for these two */
    bh__stripe *stripes;      /* NULL while bh__enter_alone has the gate */
    bh__stripe *stripes_kept; /* the same, or NULL as long as there are none */

    /* What all slices read, above, lies in other lines than what many write. (The gate's word is written, too, but only for a short
     * time after a thread was alone.) */
    unsigned char apart[64];

    bh__page page; /* api/table.c */

    /* Counts kept by slices with atomic additions (counts.h); exact while the gate is held alone. `room` is how many
     * more keys there may be before the table grows, without those that running slices have set room
     * aside for: so the fill never passes max_fill. */
    uint64_t room;
    uint64_t keys;
    uint64_t erases;            /* keys erased since the table was empty, grew or was built anew */
    uint64_t changes;           /* how often something changed, for export's cursor */
    bh__allowance allowance[2]; /* of searches with up to sure_keys keys, and beyond */

    /* On cores, see cpu/bias.h. */
    bh__presence *changed_by;  /* who made the last changes that took locks; or NULL */
    uint64_t changed_in_a_row; /* elements of those */
    uint32_t
        turns; /* how often another thread than before made such changes, up to BH_STRIPES_AFTER */
    uint32_t calls_in_tasks; /* that change the table, and run now */

    /* Changed only with the gate held alone. */
    uint64_t bytes_peak; /* the highest sum of `bytes` and of what growing or building needed */
    uint64_t grows;
    uint64_t shrinks;
    uint64_t reseeds;
    uint64_t keys_moved;
    uint64_t longest_pause_ns;
    uint64_t times_alone;
};

/* What a policy did about a stalled slice. */
typedef enum bh__resolved {
    BH_RESOLVED_AGAIN,  /* run what the slice's list still names */
    BH_RESOLVED_REFUSED /* the first `refused` of the list cannot be done; *why says why */
} bh__resolved;

#define BH__EXPORT_REFUSED UINT64_MAX

struct bh__policy {
    const char *name;
    /* The devices on which BH_SCHEDULE_REGIONS runs the design, as bits. */
    uint32_t regions;
    /* On a GPU BH_SCHEDULE_AUTO runs mixed calls of so many elements and more operation by operation, and smaller ones if
     * their keys come often; 0: none. */
    uint64_t by_operation;
    /* The number of the pass whose argument is a bh__places, where `regions` has BH_ON_CORES or
     * BH_ON_GPU_SORTED. */
    uint32_t places;
    /* 1: on a GPU a table may be larger than the GPU's memory, because parts of it may lie in the host's. */
    uint32_t outgrows_device;
    /* Checks the design's options, replaces zeros, and makes the table with its memory. The
     * common fields down to `gate` are set. The error sentence is written. */
    bh_status (*create)(const bh_table *plan, bh_table **table);
    void (*destroy)(bh_table *table);
    /* The descriptor that slices get; fixed as long as the gate is held. */
    const void *(*geometry)(const bh_table *table);
    /* The following are called with the gate held alone. When growing fails, *may_grow becomes 0, and
     * *why the status that says why. */
    bh__resolved (*resolve)(bh_table *table, bh__slice *slice, int *may_grow, bh_status *why);
    bh_status (*reserve)(bh_table *table, uint64_t keys);
    /* Makes room for `keys` keys in all, some of which are about to be inserted, as far as memory and
     * budgets allow. NULL where `perform` is not. */
    void (*expect)(bh_table *table, uint64_t keys);
    /* NULL, or tells the table that keys are about to be erased. Called on a GPU, where otherwise all elements of a
     * call would stall to say so. (On cores those of one slice do.) */
    void (*expect_erasures)(bh_table *table);
    /* Called when there are fewer than min_keys keys: makes the table smaller, or min_keys. */
    void (*shrink)(bh_table *table);
    /* Forgets what reserve and capacity asked for, and makes the table as small as its keys allow. */
    bh_status (*compact)(bh_table *table);
    bh_status (*clear)(bh_table *table);
    /* Copies pairs from position *at on (0: the start) and moves *at behind them; answers how many
     * were copied, 0 only at the end or when room is 0; or, on a device, BH__EXPORT_REFUSED. */
    uint64_t (*export_pairs)(bh_table *table, uint64_t *at, void *keys, void *values,
                             uint64_t room);
    /* NULL, or fills in those of the statistics that only this design has; they stay 0 where a device has
     * failed. */
    void (*stats)(bh_table *table, bh_table_stats *stats);
    /* A page of the table's memory that is like most others, to ask the system about. */
    const void *(*typical_page)(const bh_table *table);
    /* Where not NULL, it performs all calls: those that change something itself, with the gate held
     * alone; lookups through the backend's slices. `resolve` is NULL then. */
    bh_status (*perform)(bh_table *table, const bh__batch *batch);
};

/* bh__policy.regions */
#define BH_ON_CORES 1u
#define BH_ON_GPU 2u
#define BH_ON_GPU_SORTED 4u /* beside it: the design has no schedule of its own for that there */

/* The policy of a design, NULL when this version does not have it. */
const bh__policy *bh__policy_of(bh_design design);

/* Numbers from here on are for designs that builds for tests have (BH_MORE_DESIGNS in designs.h). */
#define BH__DESIGNS_OF_TESTS 1000

/* The design that BH_AUTO stands for, unless a GPU has too little memory for it (api/table.c). */
bh_design bh__design_chosen(void);

/* The number of the i-th design of this version and, where `name` is not NULL, what it is called in the
 * public header; 0 behind the last. */
bh_design bh__design_at(uint32_t i, const char **name);

/* Whether a fraction that a user asks for is at most another, computed one. That is printed with six digits, and computed with an error: who
 * asks for what is printed gets it. (NaN is not.) */
static inline int bh__fill_is_at_most(double *asked, double most)
{
    if (!(*asked <= most + 1e-6))
        return 0;
    *asked = *asked < most ? *asked : most;
    return 1;
}

/* The kind of slice that a call's elements run in when they are as if concurrent. */
static inline bh__slice_kind bh__slice_kind_of_op(bh_op op)
{
    switch (op) {
    case BH_FIND: return BH_SLICE_FIND;
    case BH_INSERT: return BH_SLICE_INSERT;
    case BH_ERASE: return BH_SLICE_ERASE;
    case BH_ADD: return BH_SLICE_ADD;
    default: return BH_SLICE_MIXED;
    }
}

static inline bh__slice_kind bh__slice_kind_of(const bh__batch *whole)
{
    return whole->ops ? BH_SLICE_MIXED : bh__slice_kind_of_op(whole->op);
}

/* Whether a call's elements bring no values and are counted: each brings 1. */
static inline int bh__counts_keys(const bh__batch *whole)
{
    return !whole->ops && !whole->values && BH_OP_REDUCES(whole->op);
}

/* Whether a call may bring new keys. */
static inline int bh__takes_room(const bh__batch *whole)
{
    return whole->ops || BH_OP_INSERTS(whole->op);
}

/* The elements [first, first + n) of a call. */
static inline bh__batch bh__batch_part(const bh_table *table, const bh__batch *whole,
                                       uint64_t first, uint64_t n)
{
    const bh_table_options *o = &table->options;
    bh__batch part = *whole;

    part.keys = (const unsigned char *)whole->keys + first * o->key_bytes;
    if (whole->values)
        part.values = (const unsigned char *)whole->values + first * o->value_bytes;
    if (whole->values_out)
        part.values_out = (unsigned char *)whole->values_out + first * o->value_bytes;
    if (whole->outcomes)
        part.outcomes = whole->outcomes + first;
    if (whole->ops)
        part.ops = whole->ops + first;
    part.n = n;
    return part;
}

#endif
