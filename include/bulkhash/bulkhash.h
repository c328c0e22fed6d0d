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
 * Chapters: 1 results, 2 system functions and executors, 3 contexts, 4 tables,
 * 5 batches, 6 the whole table, 7 sorting, 8 errors and version.
 *
 * What holds for every function:
 *   - Counts and sizes are 64-bit. Every bit pattern is a legal key and a legal value.
 *   - The library never prints, exits or aborts. A function that can fail answers a
 *     bh_status, and bh_error_detail() holds a sentence about the failure.
 *   - An answer of BH_ERR_ARGUMENT or BH_ERR_UNSUPPORTED means that nothing was changed.
 *   - Options and statistics structs begin with struct_size. bh_..._options_init() sets it in
 *     options, the caller sets it in a statistics or info struct; a size this library does not
 *     know is BH_ERR_ARGUMENT. So a newer library never overruns an older caller's struct.
 */
#ifndef BULKHASH_BULKHASH_H
#define BULKHASH_BULKHASH_H

#include <stddef.h>
#include <stdint.h>

#define BH_VERSION_MAJOR 0
#define BH_VERSION_MINOR 1
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
 * 1. Results
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

/* The designs. BH_AUTO takes the best one for the options given. */
typedef enum bh_design {
    BH_AUTO = 0,
    BH_STADIUM = 1,   /* BH_ERR_UNSUPPORTED in this version */
    BH_DACHASH = 2,   /* BH_ERR_UNSUPPORTED in this version */
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
    BH_SCHEDULE_AUTO = 0,   /* whichever is faster, by what was measured */
    BH_SCHEDULE_WINDOW = 1, /* the caller's, a window of them in flight */
    /* Sorted by the region of the table they will work on, which takes temporary memory; without
     * it they run in the caller's order. On cores lookups of BH_HASHFIGHT: keys, values and 5 bytes
     * of up to 2^18 elements, and 1 MiB, per thread. On a GPU insertions and updates of BH_DYCUCKOO
     * that are all of one kind, with keys and values side by side: of up to 2^26 elements keys,
     * values and 4 bytes, 2.5 times; up to 6.5 times where they are few for the table's size, or
     * its subtables differ in size. */
    BH_SCHEDULE_REGIONS = 2,
    /* The others are for a GPU, BH_DYCUCKOO with keys and values of 4 bytes, to be compared with what
     * BH_SCHEDULE_AUTO does there, in a library built with BULKHASH_COMPARED=ON; in others
     * bh_table_create() answers BH_ERR_UNSUPPORTED: see docs/gpu.md */
    BH_SCHEDULE_THREAD = 3, /* a thread carries an element to its end */
    BH_SCHEDULE_TILE4 = 4,  /* a tile of 4 threads does, ... */
    BH_SCHEDULE_TILE8 = 5,
    BH_SCHEDULE_TILE16 = 6,
    BH_SCHEDULE_TILE32 = 7,
    BH_SCHEDULE_LANES = 8, /* a warp parks what is not finished and carries it on 32 at a time */
    /* A tile of 4 threads takes 4 elements, one after the other; when another tile has the lock that
     * one of them needs, it goes on with the next one, and comes back to that one later. Of 8, ... */
    BH_SCHEDULE_VOTER4 = 9,
    BH_SCHEDULE_VOTER8 = 10,
    BH_SCHEDULE_VOTER16 = 11,
    BH_SCHEDULE_VOTER32 = 12
} bh_schedule;

/* Where DyCuckoo puts new keys. */
typedef enum bh_spread {
    BH_SPREAD_HOME_FIRST = 0, /* to their first bucket as long as it has room */
    /* Drawn so that a subtable of n slots tends to hold keys in proportion to the root of n, as
     * theorem 1 of the paper asks; for experiments: most lookups cost two lines, and small
     * subtables overflow. */
    BH_SPREAD_THEOREM1 = 1
} bh_spread;

/* How memory of tables is mapped. */
typedef enum bh_pages {
    BH_PAGES_AUTO = 0,  /* huge pages where the system gives them, touched at create and reserve */
    BH_PAGES_SMALL = 1, /* pages of the base size, touched at create and reserve */
    BH_PAGES_LAZY = 2   /* pages of the base size, each touched when it is first used */
} bh_pages;

typedef struct bh_context bh_context;
typedef struct bh_table bh_table;

/* ------------------------------------------------------------------------------------------
 * 2. System functions and executors: what a program may replace
 * ------------------------------------------------------------------------------------------ */

/*
 * Everything the library asks of the system: memory, threads, clock, random numbers. Fill one
 * with bh_system_default(), replace what you like, and give it to bh_context_create(), which
 * copies it. `state` is handed to every function. All functions may be called by several threads
 * at once. Where a function returns int, 0 means success and anything else failure.
 */
typedef struct bh_system {
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
    /* The page size that really lies under committed and touched memory, in bytes. */
    uint64_t (*page_bytes)(void *state, const void *memory, uint64_t bytes);
    /* Calls run(argument) in a thread, which needs a stack of 64 KiB and what the system itself puts
     * there. */
    int (*thread_start)(void *state, void (*run)(void *argument), void *argument, uint64_t *thread);
    void (*thread_join)(void *state, uint64_t thread);
    uint32_t (*processors)(void *state);
    void (*yield)(void *state);
    void (*sleep)(void *state, uint64_t nanoseconds);
    uint64_t (*clock_nanoseconds)(void *state);
    int (*random)(void *state, void *bytes, uint64_t count);
    uint64_t (*process_id)(void *state);
    const char *(*environment)(void *state, const char *name);
} bh_system;

/* Fills *system with the library's own functions. `system` not NULL. Thread-safe. */
BH_API void bh_system_default_sized(bh_system *system, uint64_t struct_size);
#define bh_system_default(system) bh_system_default_sized((system), sizeof *(system))

/*
 * Runs tasks. A program that has its own pool gives one of these to bh_context_create(), which
 * copies it. `run` calls task(argument, i) once for every i in [0, count), in any order, on any
 * threads, the calling one included, and returns when all have returned. No task ever waits for
 * another, so running them one after the other on one thread is right too. `width` says how many
 * tasks can run at once, at least 1. Both may be called by several threads at once. A task takes up
 * to 64 KiB of its thread's stack; so does any call of the library. (On a GPU what CUDA's driver takes
 * is added.)
 */
typedef struct bh_executor {
    void *state;
    uint32_t (*width)(void *state);
    void (*run)(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                uint64_t count);
} bh_executor;

/* ------------------------------------------------------------------------------------------
 * 3. Contexts
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
 * 4. Tables
 * ------------------------------------------------------------------------------------------ */

/* Zero means "choose well" in every field but struct_size and key_bytes. */
typedef struct bh_table_options {
    uint64_t struct_size;
    bh_design design;
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* 0, 4 or 8; 0: a set */
    uint64_t capacity;    /* so many keys fit without growth */
    /* Budgets for what the table keeps; 0: no limit. While a subtable moves to larger memory, or
     * an empty table is reserved anew, the old memory is there besides. */
    uint64_t max_device_bytes;
    uint64_t max_host_bytes;
    uint64_t max_file_bytes;
    double min_fill; /* fraction of slots in use below which the table shrinks, inside the call
                        that erases; < 0: never. It does not shrink below some thousand slots (255
                        buckets per subtable at most), nor below what capacity and bh_reserve()
                        asked for until bh_compact(), nor when a key would find no place. Near the
                        highest legal value a table grows and shrinks with every few keys. The
                        bound also decides how far a table may grow because of keys that all want
                        the same few slots. Default: 0.5, or less where max_fill is below 0.74
                        (with 4 subtables) */
    double max_fill; /* fraction of slots in use above which it grows; 0 < max_fill <= 0.97;
                        default 0.85. In the middle of a round of doublings it grows sooner, at
                        7/8 of that or a little more, unless growth is refused: see
                        docs/decisions/0005 */
    uint64_t seed;   /* of the hash, used when seed_fixed is not 0; else a random one is taken */
    uint32_t seed_fixed;
    bh_duplicates duplicates;
    bh_schedule schedule;
    struct {
        uint32_t subtables;    /* 2 to 8; default 4. More: finer growth */
        bh_spread spread;      /* where new keys go */
        uint32_t values_apart; /* 0: keys and values share cache lines; 1: a bucket's keys fill a
                                  line, its values the next, so that a hit costs two lines. Not
                                  with value_bytes 0 */
    } dycuckoo;
    /*
     * BH_HASHFIGHT. An insert into an empty table builds it at once, without temporary memory of its
     * own size, about as fast as DyCuckoo fills a reserved one. A lookup touches 1.2 to 1.6
     * lines. Every other call that changes something is sorted by key first and then holds the table
     * alone, a part of some million elements at a time; equal keys take effect in index order,
     * whatever `duplicates` says; up to 512 new keys are kept apart, and then merged with what is
     * not much more than they, so a table that grows by small calls moves its keys several times
     * and takes memory for old and new and a copy of the pairs meanwhile. max_fill: what is built
     * has always the fill that follows from slots_per_key (0.62, 0.49, 0.39), so max_fill must be
     * at least that; min_fill at most 0.75 of it; default half.
     */
    struct {
        double slots_per_key; /* 1.03 to 2.0; default 1.5. So many slots per key has each round of a
                                 table that is built; all rounds together have 1.61, 2.06 or 2.54
                                 per key at 1.03, 1.5 or 2.0. More: lookups touch fewer lines */
        uint64_t tail_keys;   /* keys that may be left for the sorted tail instead of another round;
                                 default 1,024. At most 16 rounds are made */
    } hashfight;
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
 * BH_ERR_UNSUPPORTED (widths or a design this version does not have); BH_ERR_FULL (`capacity`
 * needs more than max_host_bytes, on a GPU max_device_bytes); BH_ERR_MEMORY (the system or the GPU
 * gave no memory, or the system no random seed); BH_ERR_DEVICE (the GPU has failed).
 */
BH_API bh_status bh_table_create(bh_context *context, const bh_table_options *options,
                                 bh_table **table);

/*
 * Frees a table. NULL is allowed. No other call on the table may be running: the only function
 * that must not run beside others on the same table.
 */
BH_API void bh_table_destroy(bh_table *table);

/* ------------------------------------------------------------------------------------------
 * 5. Batches
 *
 * What holds for all of them:
 *
 * table     not NULL.
 * keys      n keys of key_bytes each, aligned to key_bytes; NULL only when n is 0.
 * values    n values of value_bytes each, aligned to value_bytes; may be NULL when value_bytes
 *           is 0 or n is 0, and where a function says so (bh_find, bh_reduce). Inputs may be the same array or overlap each other.
 * n         any 64-bit number; 0 is BH_OK whatever the arrays are.
 * outcomes  receives n bytes, a bh_outcome each; may be NULL. An output array must not overlap
 *           any other array of the call.
 *
 * Arrays
 *   - The caller owns them. They must stay unchanged until the call returns.
 *   - On a CPU context they lie in host memory; memory of a GPU is BH_ERR_ARGUMENT.
 *   - On a GPU each may lie on the host, from where it is copied part by part, or on the device,
 *     where it is used in place. Memory of another device is BH_ERR_ARGUMENT.
 *
 * Threads
 *   - Calls are synchronous: results are complete when the call returns.
 *   - Any number of threads may call the same table at once. On a GPU one call runs after the other.
 *   - Large calls use the context's executor. Small calls run in the calling thread and wake no other
 *     one, unless a large table must grow or shrink.
 *
 * Equal keys in one call (bh_table_options.duplicates)
 *   - BH_DUPLICATES_ANY: each element takes effect at one instant between call and return, as if all
 *     elements were concurrent. So of equal keys in one insert some one wins.
 *   - BH_DUPLICATES_ORDERED: elements with the same key take effect one by one in index order. So
 *     answers and content are the same as if all elements did, whatever the number of threads.
 *     Three things stay open, which only others can see:
 *       1. Beside another call, elements with different keys may take effect in any order.
 *       2. In a full table a later key may get the room that an earlier one did not.
 *       3. Lookups (bh_find) are not ordered: while another thread writes, two lookups of the same key
 *          in one call may see the old and the new value in either order.
 *   - An ordered call takes temporary memory. On cores 16 to 56 bytes per element, for up to 1,048,576
 *     elements at a time, from some thousand elements on; without that memory the call runs in the
 *     calling thread. On a GPU 27 to 58 bytes per element, and what a sort needs, for up to 4,194,304
 *     elements at a time, or as many as there is memory for; without memory for 4,096 elements the call
 *     is BH_ERR_MEMORY.
 *
 * A full table
 *   - A table grows inside the call. When a budget, the system's memory or the design ends that, the
 *     call does what it can, marks the other elements BH_NOT_DONE, and returns BH_ERR_FULL or
 *     BH_ERR_MEMORY. The table stays whole and usable; a call with just the elements that were not
 *     done resumes.
 *   - A table that holds fewer keys than max_fill allows refuses none as long as less than 0.97 of its
 *     slots are in use (0.95 with 4 slots in a bucket, 0.93 with 3; 0.95 times that while its subtables
 *     differ in size), unless keys that collide on purpose were sent to a table with a fixed seed.
 *   - Refusing keys costs about as much as placing them, also when the call is repeated. Beyond the
 *     fill just named BH_DYCUCKOO searches for a place as far as insertions and erasures have paid for it: one look
 *     at a bucket for each key inserted, 16 for each key erased.
 *   - For placing and refusing keys BH_DYCUCKOO holds the table alone for at most 40,960 looks at
 *     buckets at a time (on a GPU 7,680). Passes over the table come on top: each doubling of a subtable
 *     is one. A call of n keys into s slots causes at most subtables * (1 + log2(1 + n / s)) of them
 *     where no keys collide on purpose, and a table takes another seed once.
 *   - BH_HASHFIGHT sorts each call that changes something and holds the table alone for it, a part of
 *     at most 4,194,304 elements at a time (on a GPU 67,108,864).
 *
 * Returns
 *   BH_OK
 *   BH_ERR_ARGUMENT     an array that may not be NULL is, or one is misaligned, overlaps another or ends beyond memory
 *   BH_ERR_UNSUPPORTED  bh_reduce on a table without values
 *   BH_ERR_FULL         see above. On a CPU not from calls that cannot insert
 *   BH_ERR_MEMORY       see above. On a CPU not from calls that cannot insert. On a GPU every call may
 *                       need temporary memory: for copies of arrays and, but for lookups, 16 bytes for
 *                       each of up to 16,777,216 elements at a time. What was not done is marked so. With
 *                       2 bytes more for each element of the call a table grows for all of them at once
 *   BH_ERR_DEVICE       the GPU refused a copy or a launch: what was not done is marked so. Or it failed
 *                       in the middle of something: then every later call on the context says so too
 *
 * Cost: about one cache line of the table per key, two when the key's first bucket is full.
 * ------------------------------------------------------------------------------------------ */

/* Inserts each key with its value, or assigns the value where the key is there already.
 * Outcomes: BH_INSERTED, BH_ASSIGNED. */
BH_API bh_status bh_insert(bh_table *table, const void *keys, const void *values, uint64_t n,
                           uint8_t *outcomes);

/* Inserts each key that is not there; keeps the value of one that is.
 * Outcomes: BH_INSERTED, BH_FOUND. */
BH_API bh_status bh_insert_new(bh_table *table, const void *keys, const void *values, uint64_t n,
                               uint8_t *outcomes);

/* Assigns the value of each key that is there; inserts nothing.
 * Outcomes: BH_ASSIGNED, BH_MISSING. */
BH_API bh_status bh_update(bh_table *table, const void *keys, const void *values, uint64_t n,
                           uint8_t *outcomes);

/* Combines each value into the key's, which other libraries call aggregating or accumulating. A key that
 * is not there is inserted with the value. Every element takes effect exactly once. By op:
 *
 *   BH_ADD                        adds, wrapping. With values NULL each element adds 1: that counts keys
 *   BH_MIN, BH_MAX                keep the smaller or larger, as unsigned numbers
 *   BH_MIN_SIGNED, BH_MAX_SIGNED  the same as signed numbers
 *   BH_ADD_FLOAT                  adds as float (values of 4 bytes) or double (8 bytes), each addition
 *                                 rounded to nearest. In which order equal keys are added, and whether
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

/* Looks each key up and writes its value to values[i]; a missing key leaves values[i] as it was.
 * `values` NULL: membership only. Outcomes: BH_FOUND, BH_MISSING. */
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

/* Erases each key that is there. With so few keys left that min_fill asks for it, the table gives
 * memory back. Outcomes: BH_ERASED, BH_MISSING. */
BH_API bh_status bh_erase(bh_table *table, const void *keys, uint64_t n, uint8_t *outcomes);

/* Mixed operations in one pass: element i does ops[i] (n bytes, a bh_op each, NULL only when n is
 * 0) with keys[i] and values[i]. `values` is read by the operations that take a value and written
 * by BH_FIND and BH_FIND_OR_INSERT where the key is found; it may not be NULL unless value_bytes or
 * n is 0, and as an output array it may not overlap another. Outcomes as of the single calls. A byte
 * that is no bh_op is BH_ERR_ARGUMENT; an op of bh_reduce with value_bytes 0 is
 * BH_ERR_UNSUPPORTED. */
BH_API bh_status bh_apply(bh_table *table, const uint8_t *ops, const void *keys, void *values,
                          uint64_t n, uint8_t *outcomes);

/* ------------------------------------------------------------------------------------------
 * 6. The whole table
 *
 * These see or change one instant of the table: they wait until the running slices of other
 * calls (some thousand operations each; on a GPU whole calls) have ended, and others wait for them.
 * On a GPU each may also answer BH_ERR_DEVICE: the GPU refused a copy or a launch, the table holds what
 * it held and works, though it may have grown part of the way; or it failed, and then every later call
 * on the context says so. An export may answer BH_ERR_MEMORY, without temporary memory.
 * ------------------------------------------------------------------------------------------ */

/*
 * Makes room so that the table holds `keys` keys without growth, in all, those there included.
 * Never makes it smaller. Returns BH_OK; BH_ERR_ARGUMENT (NULL, or more than can be addressed);
 * BH_ERR_FULL; BH_ERR_MEMORY (on these two the table is whole and may have grown part of the way).
 * Cost: one pass over the subtables that grow; for an empty table, taking memory.
 */
BH_API bh_status bh_reserve(bh_table *table, uint64_t keys);

/*
 * Gives up what capacity and bh_reserve() asked for, and moves the keys to a table as small as
 * they allow, if it would be smaller by a part in 32 or more. Returns BH_OK; BH_ERR_ARGUMENT
 * (NULL); BH_ERR_MEMORY, BH_ERR_FULL (no memory for the smaller table, which is there besides the
 * old one while keys move, or no place in it for some key: the table is as it was, but for what
 * capacity and bh_reserve() asked for). Cost: an insert for each key.
 */
BH_API bh_status bh_compact(bh_table *table);

/*
 * Erases all keys and keeps the memory. Returns BH_OK or BH_ERR_ARGUMENT (NULL).
 * Cost: one pass over the table's memory.
 */
BH_API bh_status bh_clear(bh_table *table);

/*
 * Copies out keys and values, part by part, in no particular order.
 *
 * cursor  where to go on; the caller sets it to 0 before the first call and hands back what the
 *         last call left. Not NULL.
 * keys    receives up to `room` keys; aligned to key_bytes; NULL only when room is 0.
 * values  receives their values; aligned to value_bytes; NULL: keys only. No overlap with keys.
 * room    how many pairs fit.
 * count   receives how many were written; 0 at the end, when room is 0, and on failure. Not NULL.
 *
 * Each call sees one instant of the table. A cursor other than 0 is good only for the table as it
 * was when the cursor was made: if anything changed in between, the answer is BH_ERR_ARGUMENT
 * (24 bits of a count of changes are kept in the cursor). Thread-safe.
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
    uint64_t bytes_total;  /* memory of the table, all kinds */
    uint64_t bytes_device; /* of it, memory of a GPU */
    uint64_t bytes_host;
    uint64_t bytes_file;
    uint64_t page_bytes; /* page size that lies under the table, as the system says */
    uint64_t grows;      /* subtables doubled; of HashFight, how often building took more memory */
    uint64_t shrinks;    /* subtables halved; of HashFight, how often it was built anew, smaller */
    uint64_t reseeds;    /* 1: keys that all wanted the same few slots made it change its seed */
    uint64_t keys_moved; /* keys that these moved to another bucket */
    uint64_t longest_pause_ns; /* longest time that the table was held alone for a change */
    const char *target;        /* what ran the last batch, an instruction set or, on a GPU, a
                                  schedule; "" before the first */
    uint64_t bytes_peak; /* the most that the table, and what it needed to grow or to be built, ever
                            took at once; the caller's arrays and the temporary memory in which a
                            call is sorted are not in it */
} bh_table_stats;

/*
 * Tells what a table is like. `stats->struct_size` is set by the caller. Neither pointer may be
 * NULL. Thread-safe. `keys` is exact whenever no other call runs on the table. While other calls
 * insert and erase, it is always between 0 and `slots`, but elements of those calls may be missing
 * from it, and a later bh_export() may find more keys or fewer.
 * Returns BH_OK or BH_ERR_ARGUMENT. Cost: some tenths of a millisecond, and several for a table of
 * gigabytes on small pages, because it asks the system for the page size.
 */
BH_API bh_status bh_table_get_stats(const bh_table *table, bh_table_stats *stats);

/* Writes a snapshot of the table to a file. BH_ERR_UNSUPPORTED in this version. */
BH_API bh_status bh_save(bh_table *table, const char *path);

/* Makes a table from a snapshot. BH_ERR_UNSUPPORTED in this version; *table becomes NULL. */
BH_API bh_status bh_load(bh_context *context, const char *path, const bh_table_options *options,
                         bh_table **table);

/* ------------------------------------------------------------------------------------------
 * 7. Sorting
 * ------------------------------------------------------------------------------------------ */

/*
 * Sorts pairs by key, in place: into ascending order of the keys as unsigned numbers; pairs with
 * equal keys keep their order. What bh_export() has copied out of a table, it brings into order.
 *
 * context      whose threads do it. Not NULL.
 * keys         n keys of key_bytes each, aligned to key_bytes; NULL only when n is 0.
 * key_bytes    4 or 8.
 * values       n values of value_bytes each, aligned to value_bytes; may be NULL when value_bytes or
 *              n is 0. No overlap with keys.
 * value_bytes  0, 4 or 8.
 * n            any 64-bit number; 0 is BH_OK whatever the arrays are.
 *
 * The caller owns the arrays. Temporary memory as large as both, and a little for counts, is taken
 * for the call. On a GPU each array may lie on the host or on the device; those on the host are copied
 * there and back, which takes as much memory again. Synchronous. Thread-safe: any number of threads may sort different arrays in one
 * context, also while batches run in it.
 *
 * Returns BH_OK; BH_ERR_ARGUMENT (NULL, misaligned or overlapping arrays, n beyond memory);
 * BH_ERR_UNSUPPORTED (other widths); BH_ERR_MEMORY (the arrays are as they were).
 * Cost: about four times reading and writing the arrays for keys of 4 bytes, eight times for 8;
 * less where keys are alike in some of their bits.
 */
BH_API bh_status bh_sort(bh_context *context, void *keys, uint32_t key_bytes, void *values,
                         uint32_t value_bytes, uint64_t n);

/* ------------------------------------------------------------------------------------------
 * 8. Errors and version
 * ------------------------------------------------------------------------------------------ */

/* The name of a status, such as "BH_ERR_FULL"; "unknown status" for a number that is none. Lives
 * as long as the library. Thread-safe. */
BH_API const char *bh_status_name(bh_status status);

/* A sentence about the last call of this thread that failed; "" if none has. The buffer is this
 * thread's and is valid until its next bh_ call. Never NULL. */
BH_API const char *bh_error_detail(void);

/* The version of the library that runs, such as "0.1.0". */
BH_API const char *bh_version(void);

#ifdef __cplusplus
}
#endif

#endif
