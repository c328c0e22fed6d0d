/*
 * What the library asks of a GPU: the module.
 *
 * Device code, and everything that speaks to the CUDA runtime, is in a shared library of its own,
 * libbulkhash_cuda.so, which is looked for when a program asks for a context on "cuda" (host/load.c).
 * So the library itself needs no CUDA to be built, installed or run. What calls do on
 * a GPU (host/batch.c, host/backend.c) is plain C on this table of functions; a test puts another module in
 * its place, whose GPU is made of host memory that the host may not touch.
 *
 * Functions that answer an int answer 0, or an error's number, which `message` translates to words.
 *
 * Copies, launches and other work are queued in a lane and done later, in the order of that lane. BH_LANE_RUN
 * is the context's stream; work that names no lane goes there. Between lanes there is no order but what
 * `follow` makes. The host waits only in `wait`, and where a function's comment says so.
 */
#ifndef BH_CUDA_MODULE_H
#define BH_CUDA_MODULE_H

#include "tables/table.h"

/* The one name that the module has. */
#define BH__CUDA_MODULE_SYMBOL "bh__cuda_module_1"

/* A module of another build would read these structs wrongly. */
#define BH__CUDA_MODULE_VERSION                                                                    \
    (((((((((uint64_t)BH_SLICE_KINDS) * 31 + BH_OPS) * 4099 + sizeof(bh__slice)) * 4099 +          \
         sizeof(bh_table_options)) *                                                               \
            4099 +                                                                                 \
        sizeof(bh_experimental_options)) *                                                         \
           4099 +                                                                                  \
       sizeof(bh__cuda_job) + 2053 * sizeof(bh__cuda_done)) *                                      \
          4099 +                                                                                   \
      sizeof(bh__effects)) *                                                                       \
         4099 +                                                                                    \
     sizeof(bh__cuda_module))

typedef struct bh__gpu bh__gpu;

/* Bytes that a design's descriptor may have, and with an argument of a pass in front of it. */
#define BH__CUDA_DESCRIPTOR 9728u
#define BH__CUDA_LETTER 16384u

/* The schedule that ran a slice, as its kernel reports it. */
#define BH__CUDA_SIFT 1u
#define BH__CUDA_LANES 2u
#define BH__CUDA_REGIONS 3u
#define BH__CUDA_EACH 16u  /* and the threads of a tile */
#define BH__CUDA_VOTER 64u /* likewise */

/* Lanes: the context's stream, and one for each slot that a part of a call's arrays travels in
 * (ferry.h). */
#define BH_CUDA_SLOTS 3u
enum { BH_LANE_RUN, BH_LANE_SLOT, BH_LANES = BH_LANE_SLOT + BH_CUDA_SLOTS };

/* Whose memory it is: a table's, or a call's, of which some is kept for the next call. */
typedef enum bh__memory_of { BH_MEMORY_TABLE, BH_MEMORY_CALL, BH_MEMORIES } bh__memory_of;

/* What the kernels of a slice, or of a survey, count: in device memory, 0 before the first of them. */
typedef struct bh__cuda_done {
    uint64_t inserted;
    uint64_t erased;
    uint64_t assigned;
    uint32_t reasons; /* BH_REASON_ bits */
    uint32_t resumed; /* in the host's copy: stages that had been held back have been launched */
    uint64_t stalled_count;
    uint64_t parked_count[2]; /* of the kernels' own lists */
    /* Claims have gone through the first list, and have left so many elements of it. */
    uint64_t struck;
    uint64_t left;
    uint64_t sent;       /* of the second list, elements that were done before the last stage */
    uint64_t room_taken; /* by elements that might insert a key, where there is not room for all */
    uint64_t moved;      /* keys that were in the table have been moved */
    uint64_t missing;    /* lookups: some found nothing, and left their values as they were */
    uint64_t schedule;   /* lookups leave it 0 */
    uint64_t fresh;      /* of a survey: how many bits have been set */
    uint64_t absent;     /* how many of the elements would insert a key that is absent */
    uint64_t reported;   /* in the host's copy: 1, and all that is in front of it has come */
} bh__cuda_done;

/* Fewer elements go through stages only if claims are the first one (claim.h) and job->one_kernel is 0. Else one kernel does all,
 * or the first stages alone (job->asks). */
#define BH_CUDA_SIFT_LEAST (UINT64_C(1) << 14)

/* What the kernels of a slice get, each as its parameter. A slice of a GPU may have many more elements than one of a
 * core. */
typedef struct bh__cuda_job {
    bh__slice slice; /* `count`, `list` and what belongs to it, and the counts are not used */
    const void *descriptor; /* the slice's `geometry` as the host has it */
    bh__cuda_done *done;
    uint64_t count;
    const uint32_t *names; /* the elements to run, as indexes, or NULL: all from 0 to count - 1 */
    uint32_t *stalled;     /* receives the names of those that stalled; room for `count` */
    /* The kernels' own lists, as large: elements that need a bucket beyond home; of these, those that
     * need a path. */
    uint32_t *parked[2];
    uint64_t searches;   /* how many elements may search for a path: see bh__allowance */
    uint64_t room;       /* new keys that may be inserted */
    uint64_t wanted;     /* a bh_schedule: the one that was asked for */
    uint64_t few_new;    /* most keys of the slice are expected to be there */
    uint64_t again;      /* the elements stalled in an earlier launch */
    uint64_t asks;       /* stages for which nothing may be left are held back: see `slice` */
    uint64_t one_kernel; /* these elements, fewer than BH_CUDA_SIFT_LEAST, do not claim */
    /* Of a survey: one of each `every` neighbouring keys is looked at, `count` in all; `any`: keys that
     * are in the table count too; `blind`: keys to be inserted are not looked up, and all count; a bit for each
     * value of a part of the hash, 2^k bits. */
    uint64_t every;
    uint64_t any;
    uint64_t blind;
    uint32_t *bits;
    uint64_t bit_count;
} bh__cuda_job;

/* Whether elements are left in the first list; and whether stages that have been held back have something to do. */
static inline int bh__cuda_first_left(const bh__cuda_done *done)
{
    return done->struck ? done->left != 0 : done->parked_count[0] != 0;
}

static inline int bh__cuda_left(const bh__cuda_done *done)
{
    return bh__cuda_first_left(done) || done->parked_count[1] != done->sent;
}

/* The kernels of one design for one pair of widths, as far as the library knows them; the module
 * has more behind it. */
typedef struct bh__cuda_kernels {
    bh__kernels none; /* first: a table's kernels are a pointer to this */
    uint64_t descriptor_bytes;
    const uint64_t *job_bytes; /* of each pass, by the numbers of the design */
    uint64_t
        has_present; /* keys that are there are changed without locks, if all elements do the same */
    uint64_t has_regions; /* large insertions may go region by region */
} bh__cuda_kernels;

/* What the module's primitives get as bh__where's `device`: the GPU, and where the number of its
 * first error is noted. */
typedef struct bh__cuda_place {
    bh__gpu *gpu;
    int *lost;
} bh__cuda_place;

typedef enum bh__where_is {
    BH_IS_HOST,
    BH_IS_PINNED,   /* on the host, where copies to and from this GPU can read and write it */
    BH_IS_HERE,     /* on this GPU, or where it can be reached in place */
    BH_IS_ELSEWHERE /* on another GPU */
} bh__where_is;

typedef struct bh__cuda_module {
    uint64_t version;
    /* How many elements of arrays on the host are copied at a time: so many that starting a copy costs
     * little beside it, so few that the first copy and the last, during which the GPU has nothing else to
     * do, are short. */
    uint64_t part;
    const char *(*message)(int error);
    int (*count)(int *devices);
    /* `stream` NULL: the context gets a stream of its own. */
    int (*open)(int device, void *stream, bh__gpu **gpu);
    void (*close)(bh__gpu *gpu);
    int (*allocate)(bh__gpu *gpu, bh__memory_of of, uint64_t bytes, void **memory);
    int (*release)(bh__gpu *gpu, void *memory);
    /* Address space for memory that grows in place, to be released as other memory is. `reserve_least`: memory of fewer bytes is
     * rather allocated; 0: this GPU has no such address space. `back` puts memory under the `bytes` from `at` on, which begin
     * at the latest where memory ends; what has memory keeps it, and nothing is zeroed. Of memory that was allocated it
     * does nothing. Releasing a reservation waits for all that has been queued, and so does `back` where memory is short. */
    uint64_t (*reserve_least)(bh__gpu *gpu);
    int (*reserve)(bh__gpu *gpu, uint64_t bytes, void **memory);
    int (*back)(bh__gpu *gpu, void *at, uint64_t bytes);
    /* Pinned host memory, which copies need not stage. */
    int (*allocate_pinned)(bh__gpu *gpu, uint64_t bytes, void **memory);
    int (*release_pinned)(bh__gpu *gpu, void *memory);
    /* Pins the host's memory where it lies, so that kernels read and write it in place, at the host's
     * addresses; `*pins` answers whether this GPU can. Unpinning waits for all that has been queued. */
    int (*can_pin)(bh__gpu *gpu, int *pins);
    int (*pin)(bh__gpu *gpu, void *memory, uint64_t bytes);
    int (*unpin)(bh__gpu *gpu, void *memory);
    int (*fill)(bh__gpu *gpu, void *memory, uint8_t byte, uint64_t bytes);
    /* From anywhere to anywhere. Host memory stays as it is until a wait. */
    int (*copy)(bh__gpu *gpu, uint32_t lane, void *to, const void *from, uint64_t bytes);
    /* Copies a few whole words between pinned and device memory, without waiting in line behind large
     * copies of other lanes. */
    int (*carry)(bh__gpu *gpu, void *to, const void *from, uint64_t bytes);
    /* Work queued in `lane` from now on is done after all that has been queued in `other`. */
    int (*follow)(bh__gpu *gpu, uint32_t lane, uint32_t other);
    /* Waits for all that has been queued in the lane. */
    int (*wait)(bh__gpu *gpu, uint32_t lane);
    int (*where)(bh__gpu *gpu, const void *memory, bh__where_is *where);
    /* to[i] = from[names[i]]; to[names[i]] = from[i]. Elements of 1, 4 or 8 bytes, all in device
     * memory. */
    int (*gather)(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                  uint64_t count);
    int (*scatter)(bh__gpu *gpu, void *to, const void *from, uint32_t bytes, const uint32_t *names,
                   uint64_t count);
    /* NULL: not in this module. */
    const bh__cuda_kernels *(*kernels)(const bh_table_options *options);
    /* Launches a slice of job->count elements. It may be several launches: minus the error's number is the answer when
     * one was refused after others were not. Often the first of them do all that there is to do. Where job->asks, the
     * others may be held back: then *held is not 0, and if bh__cuda_left says that something is left, `resume`
     * launches them. It answers as `slice` does; where it launched none it may be asked once more. */
    int (*slice)(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                 const bh__cuda_job *job, int *held);
    int (*resume)(bh__gpu *gpu, const bh__cuda_kernels *kernels, bh__slice_kind kind,
                  const bh__cuda_job *job, int held);
    /* Counts the elements that would insert an absent key, of the job->count that are looked at, and sets the keys'
     * bits of these or, with job->any, of all that are looked at. With job->blind all that insert count as absent. */
    int (*survey)(bh__gpu *gpu, const bh__cuda_kernels *kernels, const bh__cuda_job *job);
    /* Copies what has been counted to pinned memory, whose `reported` is 0 before and then 1, and sets `next` to 0. */
    int (*report)(bh__gpu *gpu, bh__cuda_done *to, const bh__cuda_done *from, bh__cuda_done *next);
    /* Waits for a report, and so for all that was queued in the context's stream before it. */
    int (*await)(bh__gpu *gpu, const bh__cuda_done *to);
    /* Launches on the items of a pass; `job` is in device memory. */
    int (*pass)(bh__gpu *gpu, const bh__cuda_kernels *kernels, uint32_t pass, void *job,
                uint64_t items);
    /* One step for each run, or element; see bh__effects in tables/table.h. All in device memory. */
    int (*effects)(bh__gpu *gpu, bh__effects_step step, const bh__effects *effects);
    /* For sorting elements by operation: numbers[i] becomes ops[i] << bits, with its lowest `bits` bits as they
     * were. And of sorted such numbers: begins[k] becomes the index of the first whose operation is k; it
     * stays as it is where there is none. `begins` has 16 numbers. */
    int (*number_ops)(bh__gpu *gpu, uint32_t *numbers, const uint8_t *ops, uint32_t bits,
                      uint64_t n);
    int (*begins)(bh__gpu *gpu, uint64_t *begins, const uint32_t *sorted, uint32_t bits,
                  uint64_t n);
    /* The index of the first of `n` operations on the device that has no bit in `allowed`, or n.
     * Waits. */
    int (*first_outside)(bh__gpu *gpu, const uint8_t *ops, uint64_t n, uint32_t allowed,
                         uint64_t *first);
    /* Their arrays are in device memory, and they wait for the numbers that they answer. */
    const bh__primitives *primitives;
} bh__cuda_module;

/* Finds the module, `wanted` (a path) or where it was installed. Writes the error sentence.
 * Returns BH_OK or BH_ERR_UNSUPPORTED. The library is never unloaded. */
bh_status bh__cuda_find(const char *wanted, const bh__cuda_module **module);

#endif
