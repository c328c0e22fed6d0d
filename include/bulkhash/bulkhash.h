/*
 * bulkhash: hash tables for arrays.
 *
 * One call inserts, finds, updates, reduces or erases a whole array of keys.
 * A program makes a context (where the work is done: the cores of this machine,
 * or an NVIDIA GPU), makes tables in it, and hands arrays to them:
 *
 *     bh_context *context;
 *     bh_table_options options;
 *     bh_table *table;
 *
 *     bh_context_create("cpu", NULL, &context);
 *     bh_table_options_init(&options, 4, 4, 1000000);     // 4-byte keys, 4-byte values
 *     bh_table_create(context, &options, &table);
 *     bh_insert(table, keys, values, n, NULL);
 *     bh_find(table, keys, n, found_values, outcomes);
 *     bh_table_destroy(table);
 *     bh_context_destroy(context);
 *
 * Chapters: 1 results and choices, 2 contexts, 3 tables, 4 batches, 5 the whole table, 6 sorting,
 * 7 errors and version, 8 system functions and executors.
 *
 * What holds for every function:
 *   - Counts and sizes are 64-bit. Every bit pattern is a legal key and a legal value.
 *   - The library has no global state, with two exceptions: each thread's error sentence; and, in an array
 *     of fixed size, each thread's note of the table in which it is at work, which it has from its first call
 *     until it ends (and for that a thread-specific key and a fork handler of the process).
 *   - The library never prints, exits or aborts. A function that can fail returns a bh_status, and
 *     bh_error_detail() holds a sentence about the failure.
 *   - BH_ERR_ARGUMENT and BH_ERR_UNSUPPORTED mean that nothing was changed.
 *   - Structs of options and of statistics begin with struct_size. bh_..._options_init() sets it in
 *     options; the caller sets it in a struct that receives something. Programs that were compiled
 *     against an older header, from version 0.2 on, hand over smaller structs, and are served: options
 *     that they do not know have their defaults, and no more is written than they have room for. Any
 *     other size is BH_ERR_ARGUMENT.
 */
#ifndef BULKHASH_BULKHASH_H
#define BULKHASH_BULKHASH_H

#include <stddef.h>
#include <stdint.h>

#define BH_VERSION_MAJOR 0
#define BH_VERSION_MINOR 2
#define BH_VERSION_PATCH 0

#if defined(__GNUC__)
#define BH_API __attribute__((visibility("default")))
#else
#define BH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------
 * 1. Results and choices
 * ------------------------------------------------------------------------------------------ */

/* What a call answers. The values are fixed for ever. */
typedef enum bh_status {
    BH_OK = 0,
    BH_ERR_ARGUMENT = 1,    /* the call is wrong; nothing was changed */
    BH_ERR_MEMORY = 2,      /* the system gave no memory; what was not done is marked BH_NOT_DONE */
    BH_ERR_FULL = 3,        /* a budget or the table's limit is reached; the rest is BH_NOT_DONE */
    BH_ERR_UNSUPPORTED = 4, /* this build or this design cannot do it; nothing was changed */
    BH_ERR_DEVICE = 5,      /* the device failed */
    BH_ERR_IO = 6,          /* a file could not be read or written */
    BH_ERR_CORRUPT = 7,     /* a file is not what it says */
    BH_ERR_VERSION = 8      /* a file is of a version that this library does not read */
} bh_status;

/* What became of one element of a batch; one byte each in an outcomes array. */
typedef enum bh_outcome {
    BH_MISSING = 0,   /* find, update, erase: the key was not there */
    BH_FOUND = 1,     /* find, insert_new, find_or_insert: the key was there */
    BH_INSERTED = 2,  /* insert, insert_new, find_or_insert, reduce: the key is new */
    BH_ASSIGNED = 3,  /* insert, update, reduce: the key was there, its value was written */
    BH_ERASED = 4,    /* erase: the key was there and is gone */
    BH_NOT_DONE = 255 /* the call stopped short of this element: it had no effect */
} bh_outcome;

/* What to do with one element; one byte each in bh_apply's ops array. */
typedef enum bh_op {
    BH_FIND = 0,
    BH_INSERT = 1,
    BH_INSERT_NEW = 2,
    BH_UPDATE = 3,
    BH_ERASE = 4,
    BH_ADD = 5, /* add to the value there, wrapping; a new key starts with the value given */
    BH_MIN = 6, /* keep the smaller, as unsigned numbers */
    BH_MAX = 7, /* keep the larger, as unsigned numbers */
    BH_FIND_OR_INSERT = 8, /* read the value there; a new key starts with the value given */
    BH_MIN_SIGNED = 9,     /* keep the smaller, as signed numbers (two's complement) */
    BH_MAX_SIGNED = 10,    /* keep the larger, as signed numbers */
    BH_ADD_FLOAT = 11      /* add as IEEE floats: float where values have 4 bytes, double with 8 */
} bh_op;

/* The designs. BH_AUTO takes BH_DYCUCKOO. Only where a GPU has too little memory for a table of `capacity` keys, or
 * max_device_bytes is too small for it, BH_AUTO takes BH_STADIUM, whose slots may lie in the host's memory.
 * bh_table_create() decides, and a table keeps its design; the statistic board_bytes tells which one it has. */
typedef enum bh_design {
    BH_AUTO = 0,
    BH_STADIUM = 1,   /* a board of small tickets beside the pairs: see stadium below */
    BH_DACHASH = 2,   /* chains of small arrays of pairs, which nobody moves: see dachash below */
    BH_DYCUCKOO = 3,  /* subtables of one-line buckets, two choices, grows a subtable at a time */
    BH_HASHFIGHT = 4, /* built by one call, looked up by many: see hashfight below */
    BH_WORKINGSET = 5 /* BH_ERR_UNSUPPORTED in this version */
} bh_design;

/* What the elements of one call may say about the same key. */
typedef enum bh_duplicates {
    BH_DUPLICATES_ANY = 0,     /* equal keys take effect in some order, as if concurrent */
    BH_DUPLICATES_ORDERED = 1, /* equal keys take effect one by one from index 0 to n-1 */
    BH_DUPLICATES_NONE = 2     /* the caller promises that no call holds a key twice */
} bh_duplicates;

/* In which order the elements of a large call run. */
typedef enum bh_schedule {
    BH_SCHEDULE_AUTO = 0,   /* the faster one, as measured */
    BH_SCHEDULE_WINDOW = 1, /* the caller's order; some elements are in flight at a time */
    /* Sorted by the region of the table on which they work. Sorting takes temporary memory; without that
     * memory the elements run in the caller's order.
     *   - On cores, lookups of BH_HASHFIGHT, and calls of 1,024 elements and more of the other designs,
     *     unless they are ordered (BH_DUPLICATES_ORDERED). Temporary memory per thread: keys, values and
     *     10 bytes for each of up to 2^18 elements, and 1 MiB. BH_SCHEDULE_AUTO sorts nothing there.
     *   - On a GPU, calls of BH_DYCUCKOO whose elements all insert or all update. Temporary memory: keys,
     *     values and 4 bytes for each of up to 3 * 2^25 elements, 2.5 times; up to 6.5 times where the
     *     elements are few for the size of the table, or its subtables differ in size.
     *   - On a GPU, all calls of BH_DACHASH and BH_STADIUM that are not ordered; mixed calls (bh_apply()) by operation
     *     first. Temporary memory: 4 bytes for each of up to 2^26 elements, 20 for lookups. So much is also taken by
     *     BH_SCHEDULE_AUTO, which runs large mixed calls in arrays on the GPU operation by operation: from
     *     2^21 elements on in BH_DYCUCKOO, from 2^23 on in BH_DACHASH and BH_STADIUM. Where keys come often it does so from
     *     2^16 elements on, also with arrays on the host.
     * Elsewhere bh_table_create() returns BH_ERR_UNSUPPORTED. */
    BH_SCHEDULE_REGIONS = 2
} bh_schedule;

/* How memory of tables is mapped. (Parts of a table below 64 KiB come from the system function `allocate`, and are touched.) */
typedef enum bh_pages {
    BH_PAGES_AUTO = 0,  /* huge pages where the system gives them, touched at create and reserve */
    BH_PAGES_SMALL = 1, /* pages of the base size, touched at create and reserve */
    BH_PAGES_LAZY = 2   /* pages of the base size, each touched when it is first used */
} bh_pages;

/* Which slots of a BH_STADIUM table a key may have, in which order. */
typedef enum bh_probe {
    BH_PROBE_AUTO = 0,   /* BH_PROBE_BUCKET */
    BH_PROBE_BUCKET = 1, /* all slots whose tickets lie in one word of the board, then those of its
                            neighbours, then another line of the board */
    BH_PROBE_SLOT = 2    /* one slot after the other, anywhere: double hashing, as in the paper */
} bh_probe;

/* Where the slots of a BH_STADIUM table on a GPU lie; its board lies in the GPU's memory. (On cores all is
 * in the host's memory, whatever is named here.) */
typedef enum bh_table_memory {
    BH_TABLE_MEMORY_AUTO =
        0, /* in the GPU's memory as long as there is room within max_device_bytes,
                                   then in the host's: a part of the table has all its slots in one */
    BH_TABLE_MEMORY_DEVICE = 1, /* in the GPU's memory alone */
    BH_TABLE_MEMORY_HOST =
        2 /* in the host's memory: pinned, and read and written by the GPU over the
                                   bus. BH_ERR_UNSUPPORTED where the GPU cannot do that */
} bh_table_memory;

typedef struct bh_context bh_context;
typedef struct bh_table bh_table;
typedef struct bh_system bh_system;
typedef struct bh_executor bh_executor;
struct bh_experimental_options;

/* ------------------------------------------------------------------------------------------
 * 2. Contexts
 * ------------------------------------------------------------------------------------------ */

/* How a context works. */
typedef struct bh_context_options {
    uint64_t struct_size;
    /* Threads a large call may use, the caller's included; 0: all. On a GPU they copy pageable
     * arrays, 16 at most. */
    uint32_t threads;
    bh_pages pages;              /* how tables' memory is mapped */
    const bh_executor *executor; /* NULL: the library's own pool of `threads` threads */
    const bh_system *system;     /* NULL: the library's own system functions */
    void *cuda_stream;           /* a cudaStream_t of the device, for a context on "cuda"; it must
                                    outlive the context. NULL: a stream of its own */
} bh_context_options;

/* Sets every option to its default. `options` not NULL. Thread-safe. */
BH_API void bh_context_options_init_sized(bh_context_options *options, uint64_t struct_size);
#define bh_context_options_init(options) bh_context_options_init_sized((options), sizeof *(options))

/*
 * Makes a context: the place where tables live and batches run.
 *
 * device   "cpu"; "cuda" or "cuda:N", an NVIDIA GPU, the first or number N. Not NULL.
 * options  NULL for the defaults. The structs it points to are copied.
 * context  receives the context, NULL on failure. Not NULL. The caller destroys it with
 *          bh_context_destroy(), after the context's tables.
 *
 * The instruction set is the best this machine has; the environment variable BULKHASH_TARGET
 * (scalar, avx2 or avx512) forces one. No thread is started before the first large batch. After a
 * fork() while no call was running, both processes may go on with their copies; in the child large
 * batches run in the calling thread. (Not on a GPU: its contexts are of no use in the child.)
 * Synchronous. Thread-safe.
 *
 * On a GPU, tables lie in its memory, and calls run as kernels in the context's stream, after what
 * was asked of that stream before. `pages` means nothing there; the threads of `executor`, or of a pool
 * of the context's own, copy between pageable arrays and pinned memory. Device code
 * is in a library of its own, libbulkhash_cuda.so, which is built where the CUDA toolkit is and
 * looked for beside the library, in ../lib, and where the system looks; the environment variable
 * BULKHASH_CUDA_MODULE names another. A program that is linked to libbulkhash.a holds the library
 * itself: there it is beside the program.
 *
 * Returns BH_OK; BH_ERR_ARGUMENT (NULL, unknown device, bad options, unknown BULKHASH_TARGET);
 * BH_ERR_UNSUPPORTED (the module for GPUs is not there, or BULKHASH_TARGET names an instruction set
 * that this build or machine has not); BH_ERR_DEVICE (there is no such GPU, or it cannot be used);
 * BH_ERR_MEMORY.
 */
BH_API bh_status bh_context_create(const char *device, const bh_context_options *options,
                                   bh_context **context);

/*
 * Ends the context's threads and frees it. NULL is allowed. All its tables must have been
 * destroyed, and no call on it may be running. Not thread-safe on the same context.
 */
BH_API void bh_context_destroy(bh_context *context);

/* What bh_context_get_info() tells. */
typedef struct bh_context_info {
    uint64_t struct_size;
    const char *device; /* "cpu" or "cuda"; lives as long as the library */
    const char *target; /* instruction set that batches run with; lives as long as the library */
    uint32_t threads;   /* how many tasks the executor runs at once */
    bh_pages pages;
} bh_context_info;

/*
 * Tells what a context is. `info->struct_size` is set by the caller. Neither pointer may be NULL.
 * Thread-safe. Returns BH_OK or BH_ERR_ARGUMENT.
 */
BH_API bh_status bh_context_get_info(const bh_context *context, bh_context_info *info);

/* ------------------------------------------------------------------------------------------
 * 3. Tables
 * ------------------------------------------------------------------------------------------ */

/* How a table is made. Zero is the default of every field but struct_size and key_bytes, and stands for a
 * good choice. */
typedef struct bh_table_options {
    uint64_t struct_size;
    bh_design design;
    bh_duplicates duplicates;
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* 0, 4 or 8; 0: a set */
    uint64_t capacity;    /* keys held without growth; 3 * 10^10 and more can be asked for */
    /* Budgets for the memory that the table keeps; 0: no limit. While a subtable moves to larger memory,
     * or memory is reserved for an empty table, the old memory is there besides. */
    uint64_t max_device_bytes;
    uint64_t max_host_bytes;
    uint64_t max_file_bytes;
    /* The table shrinks when a smaller fraction of its slots is occupied, inside the call that erases;
     * < 0: never. Default: 0.5, or less where max_fill is below 0.74 (with 4 subtables). It does not
     * shrink
     *   - below some thousand slots (255 buckets per subtable at most),
     *   - below what capacity and bh_reserve() asked for, until bh_compact() gives that up,
     *   - when a key would find no place.
     * Near the highest legal value a table grows and shrinks with every few keys. min_fill also limits
     * how far a table grows because of keys that all want the same few slots. */
    double min_fill;
    /* The table grows when a larger fraction of its slots would be occupied; 0 < max_fill <= 0.97.
     * Default: 0.85. In the middle of a round of doublings it grows sooner, at 7/8 of max_fill or a
     * little more, unless growth is refused: see docs/decisions/0005. */
    double max_fill;
    uint64_t seed; /* of the hash where seed_fixed is not 0; else ignored: it is random */
    uint32_t seed_fixed;
    bh_schedule schedule;
    /* Options for experiments (bulkhash/experimental.h); NULL: none. bh_table_create() copies them. */
    const struct bh_experimental_options *experimental;
    struct {
        uint32_t subtables; /* 2 to 8; default 4. With more, a table grows by smaller parts */
        uint32_t reserved;  /* 0 */
    } dycuckoo;
    /*
     * BH_HASHFIGHT: for a table that one call fills and others look up.
     *
     *   - An insert into an empty table builds it in place, on cores 1.2 to 1.6 times as fast as BH_DYCUCKOO
     *     fills a reserved table, on a GPU as fast. With the defaults a lookup touches 1.0 to 1.3 lines.
     *   - Every other call that changes something is sorted by key, and then holds the table alone, a
     *     part of some million elements at a time. Equal keys take effect in index order, whatever
     *     `duplicates` says.
     *   - Up to 512 new keys are kept in a buffer. When it is full, it is merged with the generations of
     *     similar size before it. So a table that grows by small calls moves its keys several times, and
     *     a merge takes memory for the old pairs, the new ones and a copy. Near a budget each call of more new
     *     keys than the buffer has room for may build the whole table anew.
     *   - The fill of what is built follows from slots_per_key (4+4 bytes: 0.85, 0.56, 0.50; 8+8: 0.79, 0.54,
     *     0.48). max_fill must be at least that, min_fill at most 0.75 of it; default half. Where slots_per_key
     *     is 0 and max_fill, of 0.48 and more, is less than the default's fill, there are as many slots as it asks for.
     */
    struct {
        double
            slots_per_key; /* 1.03 to 2.0; default 1.75. Slots per key in each round of a build; all
                                 rounds together have 1.18, 1.78 or 2.02 per key at 1.03, 1.75 or 2.0
                                 (4+4 bytes). With more slots lookups touch fewer lines: of absent keys
                                 2.1, 1.1 and 1.05 */
        uint64_t tail_keys; /* with no more keys than these left, a build ends with a sorted tail
                                 instead of another round; default 32. At most 16 rounds are made */
    } hashfight;
    /*
     * BH_DACHASH: for tables whose pairs are to stay where they are, and on a GPU for calls of fewer than some two
     * million elements that search, insert, update and erase all at once.
     *
     *   - A bucket is a chain of nodes. Nobody moves pairs but growth, shrinking and bh_compact(), so
     *     lookups wait for no writer, and a new key needs no search for a place.
     *   - max_fill and min_fill are keys per slot of the buckets' first nodes. So max_fill may be above 1;
     *     at most 4, default 1. min_fill is at most half of max_fill, default a quarter of it. Above 1
     *     lookups read more nodes and the table takes fewer bytes per pair.
     *   - The table doubles by ranges of buckets, of which one at a time keeps other calls waiting.
     */
    struct {
        uint32_t
            node_bytes;    /* 16 (where key and value have 8 bytes together at most), 32, 64 or 128;
                                default 64 */
        uint32_t reserved; /* 0 */
    } dachash;
    /*
     * BH_STADIUM: for tables that are larger than a GPU's memory, or are to be filled to the last slots; and on a
     * GPU for lookups of 8+8-byte pairs most of which are absent. On cores BH_DYCUCKOO is faster.
     *
     *   - A board has a ticket of a few bits for each slot, which says whether the slot is taken and has
     *     some bits of its key's hash. Most lookups of absent keys read the board alone, which is a ninth of
     *     the table with 4+4-byte pairs, and may lie in a cache.
     *   - max_fill is at most 1; default 0.8. Near 1, and in tables of which many keys have been erased,
     *     lookups of absent keys read more of the board; bh_compact() makes erased slots fresh again. With nearly every
     *     slot taken many such lookups, and each insertion of a new key, read all of the board, or of one of 64
     *     parts of it. So, whatever max_fill is, a table grows while one slot in 256 is still free, unless
     *     capacity or bh_reserve() asked for more keys, or it cannot grow: then its last slot can be filled.
     *   - min_fill is at most half of max_fill, default a quarter of it.
     *   - A large table is 64 parts, of which one at a time grows or shrinks. While a part does, it is there
     *     twice.
     *   - On a GPU a table can be larger than the GPU's memory (table_memory): then lookups of absent keys
     *     still read the board, and only those of present keys go to the host's memory. Of that a table
     *     takes max_host_bytes at most or, where that is 0, half of what the machine has.
     */
    struct {
        uint32_t
            ticket_bits; /* 1, 2, 4 or 8; default 8. Tickets of 1 and 2 bits take one bit more each,
                                 for what the paper's tables do without: erasing and concurrent writers */
        bh_probe probe;
        bh_table_memory table_memory;
        uint32_t reserved;     /* 0 */
        const char *file_path; /* NULL; slots in files are BH_ERR_UNSUPPORTED in this version */
    } stadium;
} bh_table_options;

/*
 * Sets every option to its default and the four that every table needs: `key_bytes`,
 * `value_bytes` and `capacity` (see the struct). `options` not NULL. Thread-safe.
 */
BH_API void bh_table_options_init_sized(bh_table_options *options, uint64_t struct_size,
                                        uint32_t key_bytes, uint32_t value_bytes,
                                        uint64_t capacity);
#define bh_table_options_init(options, key_bytes, value_bytes, capacity)                           \
    bh_table_options_init_sized((options), sizeof *(options), (key_bytes), (value_bytes),          \
                                (capacity))

/*
 * Makes an empty table.
 *
 * context  not NULL; must outlive the table.
 * options  not NULL; copied.
 * table    receives the table, NULL on failure. Not NULL. The caller destroys it.
 *
 * The memory for `capacity` keys is taken and, unless the page policy is lazy, touched now, in
 * parallel. The smallest table takes a page, and at most one mapping of the process's address space,
 * for each subtable; a subtable of 64 KiB and more takes two mappings. Linux allows a process some
 * 65,000 mappings. Synchronous. Thread-safe.
 *
 * Returns BH_OK; BH_ERR_ARGUMENT (NULL, unknown struct_size or enum, fills outside their range or
 * min_fill > max_fill * d / (d + 1) for d subtables, capacity beyond what can be addressed);
 * BH_ERR_UNSUPPORTED (widths, a design or a schedule that this version does not have); BH_ERR_FULL (`capacity`
 * needs more than max_host_bytes, on a GPU max_device_bytes); BH_ERR_MEMORY (the system or the GPU
 * gave no memory, or the system no random seed); BH_ERR_DEVICE (the GPU has failed). Where BH_AUTO has tried two
 * designs, the answer is why the first was refused, and the error sentence has the reasons of both.
 */
BH_API bh_status bh_table_create(bh_context *context, const bh_table_options *options,
                                 bh_table **table);

/*
 * Frees a table. NULL is allowed. No other call on the table may be running: the only function
 * that must not run beside others on the same table.
 */
BH_API void bh_table_destroy(bh_table *table);

/* ------------------------------------------------------------------------------------------
 * 4. Batches
 *
 * Each call does the same to n keys, or what ops[i] says to each. Arguments come in this order: what goes
 * in, n, what comes out. (Values go in both ways in bh_find_or_insert() and bh_apply(), which have them
 * before n.) What holds for all of them:
 *
 * table     not NULL.
 * keys      n keys of key_bytes each, aligned to key_bytes; NULL only when n is 0.
 * values    n values of value_bytes each, aligned to value_bytes. NULL is allowed when value_bytes or n
 *           is 0, and in bh_find() and bh_reduce() as said there.
 *           Where value_bytes is 0 an array is neither read nor written.
 * n         any 64-bit number; 0 is BH_OK whatever the arrays are.
 * outcomes  receives n bytes, a bh_outcome each; may be NULL.
 *
 * Arrays
 *   - The caller owns them. They must stay unchanged until the call returns.
 *   - An output array must not overlap any other array of the call. Inputs may overlap each other, or be
 *     the same array.
 *   - On cores they lie in host memory; memory of a GPU is BH_ERR_ARGUMENT.
 *   - On a GPU each may lie on the host, from where it is copied part by part, or on the device, where it
 *     is used in place. Memory of another device is BH_ERR_ARGUMENT.
 *
 * Threads
 *   - Calls are synchronous: results are complete when the call returns.
 *   - Any number of threads may call the same table at once. On a GPU one call runs after the other.
 *   - Large calls use the context's executor. Small calls run in the calling thread and wake no other
 *     one, unless a large table must grow or shrink.
 *   - On cores changes are fastest while one thread makes them: after some thousand elements in a row its calls
 *     take no locks, but for calls so large that they use other threads. The next change of another thread first
 *     waits for the operations that are running.
 *
 * Equal keys in one call (bh_table_options.duplicates)
 *   - BH_DUPLICATES_ANY: each element takes effect at one instant between call and return, as if all
 *     elements were concurrent. So of equal keys in one bh_insert() the value of any one stays.
 *   - BH_DUPLICATES_ORDERED: elements with the same key take effect one by one in index order. So outcomes
 *     and content are as if all elements did, whatever the number of threads. Three things stay open:
 *       1. Concurrent calls may see elements with different keys take effect in any order.
 *       2. In a full table a later key may get the room that an earlier one did not, and an earlier one the
 *          room of a key that a later element erases.
 *       3. Lookups (bh_find) are not ordered: while another thread writes, two lookups of the same key
 *          in one call may see the old and the new value in either order.
 *   - BH_DUPLICATES_NONE: a promise of the caller that no call holds a key twice.
 *   - An ordered call takes temporary memory. On cores, from some thousand elements on, 16 to 56 bytes
 *     per element for up to 1,048,576 elements at a time; without that memory the call runs in the
 *     calling thread. On a GPU 27 to 58 bytes per element, and what a sort needs, for up to 4,194,304
 *     elements at a time, or as many as there is memory for; without memory for 4,096 elements the call
 *     is BH_ERR_MEMORY.
 *   - On cores a call that inserts may take 128 KiB of temporary memory to count its keys, and bh_reduce() of
 *     262,144 elements and more without outcomes 0.5 MiB for each thread, to join values of equal keys before the
 *     table sees them; without that memory the call takes longer.
 *
 * A full table
 *   - A table grows inside the call. When a budget, the system's memory or the design ends that, the
 *     call does what it can, marks the other elements BH_NOT_DONE, and returns BH_ERR_FULL or
 *     BH_ERR_MEMORY. The table stays whole and usable; a call with just the elements that were not
 *     done resumes.
 *   - A table with fewer keys than max_fill allows refuses none while less than 0.97 of its slots are
 *     occupied (0.95 with 4 slots in a bucket; 0.95 times that while its subtables differ
 *     in size), unless the seed is fixed and keys were chosen to collide.
 *   - Refusing keys costs about as much as placing them, also when the call is repeated; but each call that
 *     refuses keys holds the table alone once, which takes up to some microseconds. (Not in a table of
 *     BH_STADIUM whose max_fill is above 0.97: where all of 2^16 to 2^18 slots are taken a refused key takes
 *     1 to 50 us, and a new key that takes the slot of an erased one 100 to 400 us.) Above the fill
 *     of the point before BH_DYCUCKOO limits its searches for a place: insertions and erasures pay for them,
 *     with one look at a bucket for each key inserted and 16 for each key erased.
 *
 * How long a call holds the table alone, while other calls wait
 *   - BH_DYCUCKOO, to place or refuse keys: for at most 40,960 looks at buckets at a time (on a GPU
 *     7,680). Passes over the table come on top: each doubling of a subtable is one. A call of n keys
 *     into s slots causes at most subtables * (1 + log2(1 + n / (max_fill * s))) of them where no keys were
 *     chosen to collide, and a table changes its seed once.
 *   - Any design on cores, when a call brings more keys than the table may have: while memory for as many keys
 *     as the call has is taken, written to, and the keys that there are move there.
 *   - BH_HASHFIGHT, for each call that changes something: for at most 4,194,304 elements at a time (on a
 *     GPU 67,108,864).
 *
 * Returns
 *   BH_OK
 *   BH_ERR_ARGUMENT     an array is NULL that may not be, is misaligned, overlaps another one or ends
 *                       beyond memory
 *   BH_ERR_UNSUPPORTED  bh_reduce() on a table without values
 *   BH_ERR_FULL         see above. On cores only from calls that can insert
 *   BH_ERR_MEMORY       see above. On cores only from calls that can insert. On a GPU every call may need
 *                       temporary memory: for copies of arrays and, except for lookups, 16 bytes for each
 *                       of up to 16,777,216 elements at a time. With 2 bytes more for each element of the
 *                       call a table grows for all of them at once. What was not done is marked
 *   BH_ERR_DEVICE       the GPU refused a copy or a launch: what was not done is marked. Or the GPU failed
 *                       in the middle of something: then every later call on the context says so too
 *
 * Cost: about one cache line of the table per key, two when the key's first bucket is full.
 * ------------------------------------------------------------------------------------------ */

/* Inserts each key with its value, or assigns the value where the key is there already: the call that
 * other libraries name upsert, insert_or_assign or put. Outcomes: BH_INSERTED, BH_ASSIGNED. */
BH_API bh_status bh_insert(bh_table *table, const void *keys, const void *values, uint64_t n,
                           uint8_t *outcomes);

/* Inserts each key that is absent, and keeps the value of one that is present: other libraries name this
 * insert, emplace or put_if_absent. In a table without values it finds the distinct keys of an array.
 * Outcomes: BH_INSERTED, BH_FOUND. */
BH_API bh_status bh_insert_new(bh_table *table, const void *keys, const void *values, uint64_t n,
                               uint8_t *outcomes);

/* Assigns the value of each key that is present, and inserts nothing: also named assign or replace.
 * Outcomes: BH_ASSIGNED, BH_MISSING. */
BH_API bh_status bh_update(bh_table *table, const void *keys, const void *values, uint64_t n,
                           uint8_t *outcomes);

/* Combines each value with the one that its key has: counting, summing, aggregating, accumulating. An
 * absent key is inserted with the value. Every element takes effect exactly once. By op:
 *
 *   BH_ADD                        adds, wrapping. With values NULL each element adds 1: that counts keys
 *   BH_MIN, BH_MAX                keep the smaller or larger, as unsigned numbers
 *   BH_MIN_SIGNED, BH_MAX_SIGNED  the same as signed numbers
 *   BH_ADD_FLOAT                  adds as float (values of 4 bytes) or double (8 bytes), each addition
 *                                 rounded to nearest (in the environment that threads begin with: where
 *                                 the caller has its thread round in another way, or take denormal numbers
 *                                 for 0, some sums are made so). In which order equal keys are added, and whether
 *                                 those of one call are added up first, is not specified, so the last
 *                                 bits of a sum may differ from run to run. With
 *                                 BH_DUPLICATES_ORDERED equal keys are added one by one in index order;
 *                                 on cores such a call runs in the calling thread.
 *                                 A NaN stays one; its other bits are not specified
 *
 * Outcomes: BH_INSERTED, BH_ASSIGNED. Another op, or values NULL with another op than BH_ADD, is
 * BH_ERR_ARGUMENT. */
BH_API bh_status bh_reduce(bh_table *table, bh_op op, const void *keys, const void *values,
                           uint64_t n, uint8_t *outcomes);

/* Looks each key up and writes its value to values[i]; a missing key leaves values[i] as it was. `values`
 * NULL: membership only, which other libraries name contains or count. Outcomes: BH_FOUND, BH_MISSING. */
BH_API bh_status bh_find(bh_table *table, const void *keys, uint64_t n, void *values,
                         uint8_t *outcomes);

/*
 * Looks each key up and inserts the absent ones with the caller's value: afterwards every key is in the
 * table, and values[i] is the value of keys[i]. Other libraries call this get_or_insert, setdefault or
 * try_emplace; as an upsert it is the one that keeps a present key's value (bh_insert() overwrites it).
 *
 * keys      n keys, as in every call of this chapter.
 * values    in and out: n values of value_bytes each, aligned to value_bytes. On entry values[i] is the
 *           value that keys[i] gets if it is absent. If it is present, its value in the table is written
 *           to values[i]. NULL only when value_bytes or n is 0. As an output array it must not overlap
 *           another array of the call. In a context on a GPU it may lie on the host, from where it is
 *           copied both ways, or on the device.
 * n         any 64-bit number; 0 is BH_OK whatever the arrays are.
 * outcomes  receives n bytes; may be NULL. BH_FOUND: the key was present, values[i] was written, the
 *           table is unchanged. BH_INSERTED: the key is new, values[i] is unchanged. BH_NOT_DONE: no
 *           room for a new key, values[i] is unchanged, and a call with just these elements resumes.
 *
 * The caller owns the arrays. Synchronous. Thread-safe: each element takes effect at one instant, so no
 * other thread can insert or erase the key between the lookup and the insertion.
 * Duplicates: of equal absent keys in one call exactly one is BH_INSERTED, and all others are BH_FOUND
 * and receive its value. Which one is open; with BH_DUPLICATES_ORDERED, and in BH_HASHFIGHT, it is the
 * first. Full table: present keys are found, absent ones are BH_NOT_DONE.
 *
 * Returns BH_OK; BH_ERR_ARGUMENT (NULL, misaligned or overlapping arrays, n beyond memory);
 * BH_ERR_FULL; BH_ERR_MEMORY; on a GPU BH_ERR_DEVICE. With value_bytes 0 it tells new keys from
 * present ones, as bh_insert_new() does.
 * Cost: as bh_insert_new(), about one cache line of the table per key, and what is written to values.
 */
BH_API bh_status bh_find_or_insert(bh_table *table, const void *keys, void *values, uint64_t n,
                                   uint8_t *outcomes);

/* Erases each key that is present: also named remove or delete. When the fill falls below min_fill, the
 * table gives memory back. Outcomes: BH_ERASED, BH_MISSING. */
BH_API bh_status bh_erase(bh_table *table, const void *keys, uint64_t n, uint8_t *outcomes);

/* Mixed operations in one pass: element i does ops[i] (n bytes, a bh_op each, NULL only when n is
 * 0) with keys[i] and values[i]. `values` is read by the operations that take a value and written
 * by BH_FIND and BH_FIND_OR_INSERT where the key is found; it may not be NULL unless value_bytes or
 * n is 0, and as an output array it may not overlap another. Outcomes as of the single calls. A byte
 * that is no bh_op is BH_ERR_ARGUMENT; an op of bh_reduce with value_bytes 0 is
 * BH_ERR_UNSUPPORTED. On cores a call of 4,096 elements or more takes temporary memory, at most 93 KiB for each
 * thread, besides what an ordered call takes; without that memory it takes longer. */
BH_API bh_status bh_apply(bh_table *table, const uint8_t *ops, const void *keys, void *values,
                          uint64_t n, uint8_t *outcomes);

/* ------------------------------------------------------------------------------------------
 * 5. The whole table
 *
 * These calls see or change one instant of the table. They wait until the running slices of other calls
 * have ended (a slice is some thousand elements; on a GPU a whole call), and other calls wait for them. On cores a
 * call that waits goes ahead of those of this section that come after it, if its thread gets a processor within some
 * milliseconds.
 * On a GPU each may also return BH_ERR_DEVICE. Either the GPU refused a copy or a launch: then the table
 * holds what it held and works, though it may have grown part of the way. Or the GPU failed: then every
 * later call on the context says so. bh_export() may return BH_ERR_MEMORY there.
 * ------------------------------------------------------------------------------------------ */

/*
 * Makes room: afterwards the table holds `keys` keys without growth, those included that it has already.
 * A table never gets smaller by this. Thread-safe. Returns BH_OK; BH_ERR_ARGUMENT (NULL, or more than can
 * be addressed); BH_ERR_FULL and BH_ERR_MEMORY (the table is whole, and may have grown part of the way).
 * Cost: one pass over the subtables that grow; in an empty table, allocating memory.
 */
BH_API bh_status bh_reserve(bh_table *table, uint64_t keys);

/*
 * Makes the table as small as its keys allow: gives up what capacity and bh_reserve() asked for, and
 * moves the keys to a smaller table if that saves at least 1/32 of the memory. The old table is there
 * besides while keys move. Thread-safe. Returns BH_OK; BH_ERR_ARGUMENT (NULL); BH_ERR_MEMORY and
 * BH_ERR_FULL (no memory for the smaller table, or no place in it for some key: then the table is as it
 * was, except that capacity and bh_reserve() no longer hold). Cost: an insert for each key.
 */
BH_API bh_status bh_compact(bh_table *table);

/*
 * Erases all keys and keeps the memory. Thread-safe. Returns BH_OK or BH_ERR_ARGUMENT (NULL).
 * Cost: one pass over the table's memory.
 */
BH_API bh_status bh_clear(bh_table *table);

/*
 * Copies out keys and values, part by part, in no particular order.
 *
 * cursor  where to continue: 0 before the first call, then what the last call left there. Not NULL.
 * keys    receives up to `room` keys; aligned to key_bytes; NULL only when room is 0.
 * values  receives their values; aligned to value_bytes; NULL: keys only. No overlap with keys.
 * room    how many pairs fit.
 * count   receives how many were written; 0 at the end, when room is 0, and on failure. Not NULL.
 *
 * Each call sees one instant of the table. If the table was changed since the cursor was made, the call
 * returns BH_ERR_ARGUMENT (the cursor holds 24 bits of a count of changes). Thread-safe.
 * Returns BH_OK or BH_ERR_ARGUMENT. Cost: one pass over the part of the table copied.
 */
BH_API bh_status bh_export(bh_table *table, uint64_t *cursor, void *keys, void *values,
                           uint64_t room, uint64_t *count);

/* What bh_table_get_stats() tells. */
typedef struct bh_table_stats {
    uint64_t struct_size;
    uint64_t keys;         /* keys in the table */
    uint64_t slots;        /* places for keys */
    uint64_t max_keys;     /* keys that fit before the table grows */
    uint64_t bytes_total;  /* memory of the table: the sum of the next three */
    uint64_t bytes_device; /* in the memory of a GPU */
    uint64_t bytes_host;
    uint64_t bytes_file;
    uint64_t page_bytes; /* size of the pages under the table, as the system says */
    uint64_t grows;      /* subtables doubled; BH_HASHFIGHT: builds that took more memory */
    uint64_t shrinks;    /* subtables halved; BH_HASHFIGHT: builds of a smaller table */
    uint64_t reseeds;    /* 1: the seed was changed, because keys wanted the same few slots */
    uint64_t keys_moved; /* keys that growing, shrinking and the new seed moved to another bucket */
    uint64_t longest_pause_ns; /* longest time that a change held the table alone */
    const char *target;        /* what ran the last batch: an instruction set or, on a GPU, a
                                  schedule; "" before the first */
    uint64_t bytes_peak; /* the most memory that the table has taken at once, with what it needed to
                            grow or to be built; without the caller's arrays, and without temporary
                            memory for sorting a call */
    /* BH_DACHASH, else 0; nodes also where a GPU has failed. A chain is as long as (chains + nodes_used) /
     * chains nodes, on average. */
    uint64_t chains;     /* buckets, each of which has its first node in place */
    uint64_t nodes_used; /* further nodes, in chains */
    uint64_t nodes_free; /* further nodes, in none; with nodes_used, all that there are */
    /* BH_STADIUM, else 0. */
    uint64_t board_bytes;    /* of bytes_total, those of the board and the bounds of searches */
    uint64_t tickets_erased; /* tickets of slots that are free, but have had a key */
    /* All designs. */
    uint64_t
        times_alone; /* how often something held the table alone: growth, shrinking, an export; not
                             whole calls on a GPU */
} bh_table_stats;

/*
 * Fills `stats`, whose struct_size the caller has set. Neither pointer may be NULL. Thread-safe. `keys` is
 * exact while no other call runs on the table. While other calls insert and erase, `keys` is between 0 and
 * `slots`, but may lack elements of those calls, and a later bh_export() may find more keys or fewer.
 * Returns BH_OK or BH_ERR_ARGUMENT. Cost: less than a microsecond. But the first call, the next one after the
 * table's memory has changed, and one in each second take some tenths of a millisecond (several milliseconds
 * for a table of gigabytes on small pages), because they ask the system for the page size. With BH_STADIUM, once
 * keys have been erased, each call reads the table's tickets, too.
 */
BH_API bh_status bh_table_get_stats(const bh_table *table, bh_table_stats *stats);

/* Writes a snapshot of the table to a file. BH_ERR_UNSUPPORTED in this version. */
BH_API bh_status bh_save(bh_table *table, const char *path);

/* Makes a table from a snapshot. BH_ERR_UNSUPPORTED in this version; *table becomes NULL. */
BH_API bh_status bh_load(bh_context *context, const char *path, const bh_table_options *options,
                         bh_table **table);

/* ------------------------------------------------------------------------------------------
 * 6. Sorting
 * ------------------------------------------------------------------------------------------ */

/*
 * Sorts pairs by key, in place: into ascending order of the keys as unsigned numbers. Pairs with equal keys
 * keep their order. Use it for what bh_export() has copied out of a table, which is in no order.
 *
 * context      whose threads do it. Not NULL.
 * keys         n keys of key_bytes each, aligned to key_bytes; NULL only when n is 0.
 * key_bytes    4 or 8.
 * values       n values of value_bytes each, aligned to value_bytes; may be NULL when value_bytes or
 *              n is 0. No overlap with keys.
 * value_bytes  0, 4 or 8.
 * n            any 64-bit number; 0 is BH_OK whatever the arrays are.
 *
 * The caller owns the arrays. The call takes temporary memory as large as both arrays, and a little for
 * counts. On a GPU each array may lie on the host or on the device; one on the host is copied there and
 * back, which takes as much memory again. Synchronous. Thread-safe: any number of threads may sort
 * different arrays in one context, also while batches run in it.
 *
 * Returns BH_OK; BH_ERR_ARGUMENT (NULL, misaligned or overlapping arrays, n beyond memory);
 * BH_ERR_UNSUPPORTED (other widths); BH_ERR_MEMORY (the arrays are as they were).
 * Cost: about four times reading and writing the arrays for keys of 4 bytes, eight times for 8;
 * less where keys are alike in some of their bits.
 */
BH_API bh_status bh_sort(bh_context *context, void *keys, uint32_t key_bytes, void *values,
                         uint32_t value_bytes, uint64_t n);

/* ------------------------------------------------------------------------------------------
 * 7. Errors and version
 * ------------------------------------------------------------------------------------------ */

/* The name of a status, such as "BH_ERR_FULL"; "unknown status" for a number that is none. Lives
 * as long as the library. Thread-safe. */
BH_API const char *bh_status_name(bh_status status);

/* A sentence about the last call of this thread that failed; "" if none has. The buffer is this
 * thread's and is valid until its next bh_ call. Never NULL. */
BH_API const char *bh_error_detail(void);

/* The version of the library that runs, such as "0.2.0". */
BH_API const char *bh_version(void);

/* ------------------------------------------------------------------------------------------
 * 8. System functions and executors: what a program may replace
 * ------------------------------------------------------------------------------------------ */

/*
 * Everything that the library asks of the system: memory, threads, clock, random numbers. A program fills
 * one with bh_system_default(), replaces the functions that it wants to, and gives it to
 * bh_context_create(), which copies it. `state` is handed to every function. All functions may be called
 * by several threads at once. Where a function returns int, 0 means success and anything else failure.
 */
struct bh_system {
    uint64_t struct_size;
    void *state;
    /* `bytes` of memory aligned to 64 bytes, content undefined; NULL when there is none. */
    void *(*allocate)(void *state, uint64_t bytes);
    void (*release)(void *state, void *memory, uint64_t bytes);
    /* Address space without memory, aligned to 2 MiB (to a page below that size); or NULL. */
    void *(*reserve)(void *state, uint64_t bytes);
    /* Puts zeroed memory under [memory, memory + bytes), a part of a reservation aligned to the
     * page size; `pages` says how. */
    int (*commit)(void *state, void *memory, uint64_t bytes, bh_pages pages);
    /* Takes the memory away again and keeps the address space; it may be committed anew. */
    int (*decommit)(void *state, void *memory, uint64_t bytes);
    void (*unreserve)(void *state, void *memory, uint64_t bytes);
    /* The page size that really lies under touched memory of a table, committed or allocated, in bytes. */
    uint64_t (*page_bytes)(void *state, const void *memory, uint64_t bytes);
    /* Calls run(argument) in a thread. It needs a stack of 64 KiB, and what the system itself puts on
     * the stack. */
    int (*thread_start)(void *state, void (*run)(void *argument), void *argument, uint64_t *thread);
    void (*thread_join)(void *state, uint64_t thread);
    uint32_t (*processors)(void *state);
    /* Lets other threads run that want the calling thread's processor; returns at once where there are none. (The library's
     * threads call it again and again while they look out for work.) */
    void (*yield)(void *state);
    /* Returns after `nanoseconds` at the earliest. */
    void (*sleep)(void *state, uint64_t nanoseconds);
    uint64_t (*clock_nanoseconds)(void *state);
    int (*random)(void *state, void *bytes, uint64_t count);
    uint64_t (*process_id)(void *state);
    const char *(*environment)(void *state, const char *name);
    /* When barrier returns 0, each thread of the process has executed a full memory barrier since the call
     * began; a switch to another thread counts as one. barrier_prepare says, once for each context, that
     * barriers will be wanted. Where barrier_prepare fails, small calls take longer; where barrier fails
     * later, too, and the next change of the table's size waits 20 ms besides. (On Linux: the system call
     * membarrier.) */
    int (*barrier_prepare)(void *state);
    int (*barrier)(void *state);
};

/* Fills *system with the library's own functions. `system` not NULL. Thread-safe. */
BH_API void bh_system_default_sized(bh_system *system, uint64_t struct_size);
#define bh_system_default(system) bh_system_default_sized((system), sizeof *(system))

/*
 * Runs tasks. A program that has a thread pool gives one of these to bh_context_create(), which copies it.
 *
 * run    calls task(argument, i) once for every i in [0, count), in any order, on any threads, the calling
 *        one included, and returns when all tasks have returned. No task waits for another one, so
 *        running them one after the other in one thread is right too.
 * width  returns how many tasks can run at once, at least 1.
 *
 * Several threads may call either at once. A task takes up to 64 KiB of its thread's stack, and so does any
 * call of the library. (On a GPU, what CUDA's driver takes comes on top.)
 */
struct bh_executor {
    void *state;
    uint32_t (*width)(void *state);
    void (*run)(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                uint64_t count);
};

#ifdef __cplusplus
}
#endif

#endif
