/*
 * Sorting by key: one partition by the highest bits that differ, from memory into parts that fit a
 * core's cache; then each part by counting sorts of 8 bits, the lowest first, in the cache.
 *
 *     keys, payloads --partition--> spare --pack--> rows --3 counting sorts--> rows --> out
 *
 * Bits above the highest one in which any rows differ need no sorting. Which bits differ is determined
 * anew for every part, so keys that lie close together, or are few, cost little.
 *
 * A part is a *leaf* when it fits in a task's own memory, which stays in the cache. There its keys and
 * payloads lie side by side (rows.h), and are written out by whole lines. A leaf is sorted by the 24
 * highest bits that differ, in 3 passes: enough to tell nearly all of its rows apart where keys are
 * random, however long they are. Runs of rows that agree in those bits lie together then and are sorted
 * by the other bits of their keys: short runs by insertion, longer ones as the leaf was.
 *
 * A part that is too large, because keys are skewed or there are more than fit in one step, is
 * partitioned again: by the thread that has it, or, if it is so large that the others would wait
 * for it, by all. A step into 2^b parts sorts by b bits (or by all that differ). A part that is only a
 * little too large is cut into few parts, so hostile keys can cause up to 64 nested steps.
 * Between steps rows are in one of two places, `side` 0 (spare) and 1 (out), and alternate between them.
 */
#ifndef BH_PRIMITIVES_SORT_H
#define BH_PRIMITIVES_SORT_H

#include "primitives/partition.h"

/* Bytes of a leaf, at most, and the bytes that a part is planned to have, which is less because parts differ
 * in size. A task has memory for two leaves: they are to stay in a core's second-level cache of 2 MiB. */
#define BH_SORT_LEAF_BYTES (640u << 10)
#define BH_SORT_PLAN_BYTES (512u << 10)

/* Bytes of a leaf that is sorted on the stack: nothing is allocated, and no thread is woken. The stack holds
 * two of these, of the 64 KiB that a call may take in all. */
#define BH_SORT_FEW_BYTES (8u << 10)

/* Up to so many rows insertion sort is faster than counting 256 digits. */
#define BH_SORT_INSERT 24u

#define BH_SORT_DIGIT_BITS 8u
#define BH_SORT_DIGITS 3u        /* of a leaf at a time */
#define BH_SORT_PARTS_MOST 2048u /* parts of the first step; the others have 256 at most */

/* The parts of all steps but the first that a row goes through, at most: a step into 2^b parts sorts by b of
 * 64 bits, b is 8 at most, and so eight steps into 256 parts have the most parts. */
#define BH_SORT_COUNTS_MOST (8u * 256u)

typedef struct bh_sort_job bh_sort_job;

/* Sorts rows of some columns into others, which may be the same; payloads NULL: indexes. `memory` is for
 * two leaves of `rows` rows. `stream`: the output is written past the caches. */
typedef void (*bh_sort_leaf)(const void *keys, const void *payloads, uint64_t rows, void *keys_to,
                             void *payloads_to, void *memory, int stream);

struct bh_sort_job {
    const bh__where *where;
    bh_sort_leaf leaf;
    void *keys[2];
    void *payloads[2];
    uint32_t key_bytes;
    uint32_t payload_bytes;
    int stream;         /* there is so much output that it would only push rows out of the caches */
    uint64_t leaf_most; /* rows */
    char *memory;       /* for steps: of one task each, or of one step by all tasks */
    uint64_t task_bytes;
    uint64_t *counts; /* of the steps that a task does alone, BH_SORT_COUNTS_MOST for each task */
    uint64_t shares;  /* how many tasks can partition together */
    char *leaves;     /* memory for leaves, of one task each */
    uint64_t tasks;   /* how many tasks can sort parts */
};

/* --- what differs among keys ------------------------------------------------------------------ */

BH_FN uint64_t bh_sort_differ_text(const void *keys, uint64_t n, const uint32_t key_bytes)
{
    const uint64_t one = bh_element(keys, key_bytes, 0);
    uint64_t differ = 0, i;

    if (key_bytes == 4) {
        const uint32_t *k = (const uint32_t *)keys, one32 = (uint32_t)one;
        uint32_t differ32 = 0;

        for (i = 0; i < n; i++)
            differ32 |= k[i] ^ one32;
        return differ32;
    }
    for (i = 0; i < n; i++)
        differ |= bh_element(keys, key_bytes, i) ^ one;
    return differ;
}

static uint64_t bh_sort_differ_here(const void *keys, uint64_t n, uint32_t key_bytes)
{
    return key_bytes == 4 ? bh_sort_differ_text(keys, n, 4) : bh_sort_differ_text(keys, n, 8);
}

typedef struct bh_sort_differ_job {
    bh_shares shares;
    const void *keys;
    uint32_t key_bytes;
    uint64_t differ[BH_TASKS_MOST];
} bh_sort_differ_job;

static void bh_sort_differ_task(void *argument, uint64_t task)
{
    bh_sort_differ_job *job = (bh_sort_differ_job *)argument;
    const uint64_t first = bh_share_first(&job->shares, task);
    const void *share = bh_element_of(job->keys, job->key_bytes, first);

    job->differ[task] =
        bh_sort_differ_here(share, bh_share_end(&job->shares, task) - first, job->key_bytes) |
        (bh_element(job->keys, job->key_bytes, 0) ^ bh_element(share, job->key_bytes, 0));
}

/* How many of the lowest bits include all bits that differ; 0: the keys are equal. A few keys are often
 * enough to see that all bits differ. (Not inlined: otherwise its stack frame would be there once for each
 * of the nested steps.) */
BH_FN_RARE uint32_t bh_sort_bits(const bh__where *where, const void *keys, uint64_t n,
                                 uint32_t key_bytes, uint64_t tasks)
{
    const uint64_t few = n < 256 ? n : 256;
    uint64_t differ = bh_sort_differ_here(keys, few, key_bytes), i;
    bh_sort_differ_job job;

    if (few < n && !(differ >> (8 * key_bytes - 1))) {
        job.shares =
            bh_shares_cut(where, n, BH_SHARE_LEAST, tasks < BH_TASKS_MOST ? tasks : BH_TASKS_MOST);
        job.keys = keys;
        job.key_bytes = key_bytes;
        bh_tasks_run(where, bh_sort_differ_task, &job, job.shares.tasks);
        for (i = 0; i < job.shares.tasks; i++)
            differ |= job.differ[i];
    }
    return differ ? 64 - (uint32_t)__builtin_clzll(differ) : 0;
}

/* --- leaves ----------------------------------------------------------------------------------- */

BH_FN uint64_t bh_sort_row_key(const void *rows, uint64_t i, const uint32_t key_bytes,
                               const uint32_t row_bytes)
{
    const uint64_t word = ((const uint64_t *)rows)[i * (row_bytes / 8)];

    return key_bytes == 4 ? (uint32_t)word : word;
}

BH_FN void bh_sort_insert(void *rows, uint32_t n, const uint32_t key_bytes,
                          const uint32_t row_bytes)
{
    uint32_t i, j;

    for (i = 1; i < n; i++) {
        const uint64_t key = bh_sort_row_key(rows, i, key_bytes, row_bytes);
        const bh_row row = bh_row_load(rows, i, row_bytes);

        for (j = i; j && bh_sort_row_key(rows, j - 1, key_bytes, row_bytes) > key; j--)
            bh_row_store(rows, j, bh_row_load(rows, j - 1, row_bytes), row_bytes);
        bh_row_store(rows, j, row, row_bytes);
    }
}

/* Turns counts into places; answers whether all rows have the same digit. */
BH_FN int bh_sort_places(uint32_t *at, uint32_t rows)
{
    uint32_t sum = 0, alike = 0, i;

    for (i = 0; i < 1u << BH_SORT_DIGIT_BITS; i++) {
        const uint32_t count = at[i];

        alike |= count == rows;
        at[i] = sum;
        sum += count;
    }
    return (int)alike;
}

/* Sorts n rows by the highest of the bits set in `differ`, in passes from `rows` to `other` and back; answers
 * in which of the two the rows are then. *left receives how many bits have not been looked at. */
BH_FN void *bh_sort_passes(void *rows, void *other, uint32_t n, uint64_t differ, uint32_t *left,
                           const uint32_t key_bytes, const uint32_t row_bytes)
{
    uint32_t at[BH_SORT_DIGITS][1u << BH_SORT_DIGIT_BITS], passes, shift, i, j;
    const uint32_t high = 64 - (uint32_t)__builtin_clzll(differ);
    const uint32_t low = (uint32_t)__builtin_ctzll(differ);

    *left = 0;
    shift = low;
    if (high - low > BH_SORT_DIGITS * BH_SORT_DIGIT_BITS)
        *left = shift = high - BH_SORT_DIGITS * BH_SORT_DIGIT_BITS;
    passes = (high - shift + BH_SORT_DIGIT_BITS - 1) / BH_SORT_DIGIT_BITS;
    memset(at, 0, sizeof at);
    /* The highest digit counted may reach above the bits that differ (the second one does where there is
     * one pass): there all keys are equal. */
    if (passes == BH_SORT_DIGITS) {
        for (i = 0; i < n; i++) {
            const uint64_t key = bh_sort_row_key(rows, i, key_bytes, row_bytes) >> shift;

            at[0][(uint8_t)key]++;
            at[1][(uint8_t)(key >> BH_SORT_DIGIT_BITS)]++;
            at[2][(uint8_t)(key >> 2 * BH_SORT_DIGIT_BITS)]++;
        }
    } else {
        for (i = 0; i < n; i++) {
            const uint64_t key = bh_sort_row_key(rows, i, key_bytes, row_bytes) >> shift;

            at[0][(uint8_t)key]++;
            at[1][(uint8_t)(key >> BH_SORT_DIGIT_BITS)]++;
        }
    }
    for (j = 0; j < passes; j++, shift += BH_SORT_DIGIT_BITS) {
        void *from = rows;

        if (bh_sort_places(at[j], n))
            continue;
        for (i = 0; i < n; i++) {
            const uint64_t key = bh_sort_row_key(from, i, key_bytes, row_bytes);
            const uint32_t to = at[j][(uint8_t)(key >> shift)]++;

            bh_row_store(other, to, bh_row_load(from, i, row_bytes), row_bytes);
        }
        rows = other;
        other = from;
    }
    return rows;
}

BH_FN uint64_t bh_sort_rows_differ(const void *rows, uint32_t n, const uint32_t key_bytes,
                                   const uint32_t row_bytes)
{
    const uint64_t one = bh_sort_row_key(rows, 0, key_bytes, row_bytes);
    uint64_t differ = 0;
    uint32_t i;

    for (i = 1; i < n; i++)
        differ |= bh_sort_row_key(rows, i, key_bytes, row_bytes) ^ one;
    return differ;
}

/* Sorts n rows by all bits set in `differ`, with as much memory beside the rows. Bits that the passes have
 * not looked at are sorted run by run; `self` is this function's instance. */
typedef void *(*bh_sort_rows)(void *rows, void *other, uint32_t n, uint64_t differ);

BH_FN void *bh_sort_rows_text(bh_sort_rows self, void *rows, void *other, uint32_t n,
                              uint64_t differ, const uint32_t key_bytes, const uint32_t row_bytes)
{
    uint32_t left, begin, end, i;
    char *sorted, *beside;

    if (!differ)
        return rows;
    if (n <= BH_SORT_INSERT) {
        bh_sort_insert(rows, n, key_bytes, row_bytes);
        return rows;
    }
    sorted = (char *)bh_sort_passes(rows, other, n, differ, &left, key_bytes, row_bytes);
    beside = (char *)(sorted == rows ? other : rows);
    if (!left)
        return sorted;
    for (begin = 0; begin < n; begin = end) {
        const uint64_t upper = bh_sort_row_key(sorted, begin, key_bytes, row_bytes) >> left;

        for (end = begin + 1; end < n; end++)
            if (bh_sort_row_key(sorted, end, key_bytes, row_bytes) >> left != upper)
                break;
        if (end - begin > 1) {
            char *run = sorted + (uint64_t)begin * row_bytes;
            const uint32_t run_rows = end - begin;
            const void *run_sorted;

            if (run_rows <= BH_SORT_INSERT) {
                bh_sort_insert(run, run_rows, key_bytes, row_bytes);
                continue;
            }
            run_sorted = self(run, beside + (uint64_t)begin * row_bytes, run_rows,
                              bh_sort_rows_differ(run, run_rows, key_bytes, row_bytes));
            if (run_sorted != run)
                for (i = 0; i < run_rows; i++)
                    bh_row_store(run, i, bh_row_load(run_sorted, i, row_bytes), row_bytes);
        }
    }
    return sorted;
}

BH_FN void bh_sort_leaf_text(bh_sort_rows sort, const void *keys, const void *payloads,
                             uint64_t many, void *keys_to, void *payloads_to, void *memory,
                             int stream, const uint32_t key_bytes, const uint32_t payload_bytes)
{
    const uint32_t row_bytes = bh_row_bytes(key_bytes, payload_bytes), n = (uint32_t)many;
    const uint64_t one = bh_element(keys, key_bytes, 0);
    uint64_t differ = 0;
    const void *sorted;
    uint32_t i;

    for (i = 0; i < n; i++) {
        const uint64_t key = bh_element(keys, key_bytes, i);
        const uint64_t payload = !payload_bytes ? 0
                                 : payloads     ? bh_element(payloads, payload_bytes, i)
                                                : i;

        differ |= key ^ one;
        bh_row_store(memory, i, bh_row_of(key, payload, row_bytes, payload_bytes), row_bytes);
    }
    /* Keys that are in order already are not rare, and counting sorts are slowest at evenly spaced ones:
     * their digits come in an order in which stores evict each other from the cache. */
    for (i = 1; i < n; i++)
        if (bh_element(keys, key_bytes, i) < bh_element(keys, key_bytes, i - 1))
            break;
    sorted = i < n ? sort(memory, (char *)memory + many * row_bytes, n, differ) : memory;
    bh_rows_column_out(keys_to, sorted, n, stream, 0, key_bytes, row_bytes);
    if (payload_bytes)
        bh_rows_column_out(payloads_to, sorted, n, stream, 1, payload_bytes, row_bytes);
    if (stream)
        bh_stream_end();
}

#define BH_SORT_ROWS(key, row)                                                                     \
    static void *bh_sort_rows_##key##_##row(void *rows, void *other, uint32_t n, uint64_t differ)  \
    {                                                                                              \
        return bh_sort_rows_text(bh_sort_rows_##key##_##row, rows, other, n, differ, key, row);    \
    }
BH_SORT_ROWS(4, 8)
BH_SORT_ROWS(4, 16)
BH_SORT_ROWS(8, 8)
BH_SORT_ROWS(8, 16)
#undef BH_SORT_ROWS

#define BH_SORT_LEAF(key, payload, row)                                                            \
    static void bh_sort_leaf_##key##_##payload(const void *keys, const void *payloads,             \
                                               uint64_t rows, void *keys_to, void *payloads_to,    \
                                               void *memory, int stream)                           \
    {                                                                                              \
        bh_sort_leaf_text(bh_sort_rows_##key##_##row, keys, payloads, rows, keys_to, payloads_to,  \
                          memory, stream, key, payload);                                           \
    }
BH_SORT_LEAF(4, 0, 8)
BH_SORT_LEAF(4, 4, 8)
BH_SORT_LEAF(4, 8, 16)
BH_SORT_LEAF(8, 0, 8)
BH_SORT_LEAF(8, 4, 16)
BH_SORT_LEAF(8, 8, 16)
#undef BH_SORT_LEAF

/* --- steps ------------------------------------------------------------------------------------ */

/* Parts of a step other than the first, at most. */
BH_FN uint32_t bh_sort_parts_most(uint32_t bits)
{
    return bits < 8 ? 1u << bits : 256;
}

/* How many parts make each a leaf of the planned size, if they are of equal size; a power of two. */
static uint32_t bh_sort_parts(const bh_sort_job *job, uint64_t rows, uint32_t most)
{
    const uint64_t bytes = rows * bh_row_bytes(job->key_bytes, job->payload_bytes);
    uint32_t parts = 2;

    while (parts < most && bytes / parts > BH_SORT_PLAN_BYTES)
        parts *= 2;
    return parts;
}

/* Bytes that one task needs for a step: the places of its parts, and the memory of the partition. */
static uint64_t bh_sort_step_bytes(const bh_sort_job *job, uint32_t parts)
{
    return bh_part_lines_up(16ull * parts) +
           bh_part_task_bytes(parts, job->key_bytes, job->payload_bytes);
}

/*
 * Partitions rows, `keys` and `payloads`, into the rows from `first` on of one side: into `parts` parts (a
 * power of two) by the highest of the lower `bits` bits. It is done by as many tasks as the memory given is
 * for. (Not inlined, like bh_sort_bits.)
 */
BH_FN_RARE void bh_sort_step(const bh_sort_job *job, const void *keys, const void *payloads,
                             uint64_t first, uint64_t rows, uint32_t side, uint32_t bits,
                             uint32_t parts, char *memory, uint64_t tasks, uint64_t *counts)
{
    uint64_t *keys_at = (uint64_t *)(void *)memory, *payloads_at = keys_at + parts;
    const uint32_t part_bits = (uint32_t)__builtin_ctz(parts);
    uint64_t at = first;
    bh__partition p;
    uint32_t i;

    p.how.parts = parts;
    p.how.shift = bits > part_bits ? bits - part_bits : 0;
    p.how.seed = NULL;
    p.how.numbers = NULL;
    p.key_bytes = job->key_bytes;
    p.payload_bytes = job->payload_bytes;
    p.keys = keys;
    p.payloads = payloads;
    p.n = rows;
    p.counts = counts;
    p.keys_at = keys_at;
    p.payloads_at = payloads_at;
    (void)bh_part_plan(job->where, &p, tasks);
    p.tasks = memory + bh_part_lines_up(16ull * parts);
    bh_part_count_run(job->where, &p);
    for (i = 0; i < parts; i++) {
        keys_at[i] = (uint64_t)(uintptr_t)bh_element_at(job->keys[side], p.key_bytes, at);
        payloads_at[i] =
            (uint64_t)(uintptr_t)bh_element_at(job->payloads[side], p.payload_bytes, at);
        at += counts[i];
    }
    (void)bh_partition_scatter(job->where, &p);
}

/* Copies rows of the spare arrays to the output. */
static void bh_sort_copy_out(const bh_sort_job *job, uint64_t first, uint64_t rows)
{
    memcpy(bh_element_at(job->keys[1], job->key_bytes, first),
           bh_element_of(job->keys[0], job->key_bytes, first), rows * job->key_bytes);
    if (job->payload_bytes)
        memcpy(bh_element_at(job->payloads[1], job->payload_bytes, first),
               bh_element_of(job->payloads[0], job->payload_bytes, first),
               rows * job->payload_bytes);
}

/* Sorts rows that lie on `side` into the output: by the calling thread, with the memory of one
 * task. Keys can be such that each step sorts by one bit only, so the state that a step must keep while its
 * parts are sorted is not on the stack, but from `counts` on. */
static void bh_sort_alone(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side,
                          uint64_t task, uint64_t *counts)
{
    const void *keys = bh_element_of(job->keys[side], job->key_bytes, first);
    const void *payloads = bh_element_of(job->payloads[side], job->payload_bytes, first);
    uint32_t parts, bits, i;

    if (!rows)
        return;
    if (rows <= job->leaf_most) {
        job->leaf(keys, payloads, rows, bh_element_at(job->keys[1], job->key_bytes, first),
                  bh_element_at(job->payloads[1], job->payload_bytes, first),
                  job->leaves + task * 2 * BH_SORT_LEAF_BYTES, job->stream);
        return;
    }
    bits = bh_sort_bits(job->where, keys, rows, job->key_bytes, 1);
    if (!bits) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        return;
    }
    parts = bh_sort_parts(job, rows, bh_sort_parts_most(bits));
    bh_sort_step(job, keys, payloads, first, rows, !side, bits, parts,
                 job->memory + task * job->task_bytes, 1, counts);
    for (i = 0; i < parts; i++) {
        bh_sort_alone(job, first, counts[i], !side, task, counts + parts);
        first += counts[i];
    }
}

static void bh_sort_by_task(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side,
                            uint64_t task)
{
    bh_sort_alone(job, first, rows, side, task, job->counts + task * BH_SORT_COUNTS_MOST);
}

/* Parts that the tasks take in turn. */
typedef struct bh_sort_share {
    const bh_sort_job *job;
    const uint64_t *counts;
    uint64_t first;
    uint64_t most; /* rows; larger parts are left for all tasks together */
    uint64_t taken;
    uint32_t parts;
    uint32_t side;
} bh_sort_share;

/* Parts that a task takes at a time: there are many more parts than tasks, and some may be empty. */
#define BH_SORT_TAKE 4u

static void bh_sort_share_task(void *argument, uint64_t task)
{
    bh_sort_share *s = (bh_sort_share *)argument;
    uint64_t first = s->first, taken;
    uint32_t done = 0, i;

    while ((taken = bh__atomic_add(&s->taken, BH_SORT_TAKE, __ATOMIC_RELAXED)) < s->parts) {
        for (i = (uint32_t)taken; i < s->parts && i < taken + BH_SORT_TAKE; i++) {
            for (; done < i; done++)
                first += s->counts[done];
            if (s->counts[i] <= s->most)
                bh_sort_by_task(s->job, first, s->counts[i], s->side, task);
        }
    }
}

static void bh_sort_together(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side,
                             uint64_t *counts);

/* Sorts the parts of a step that all tasks have done: the small ones one task each, then each of the
 * large ones by all, which keep their counts from `more` on. */
static void bh_sort_parts_of(const bh_sort_job *job, const uint64_t *counts, uint32_t parts,
                             uint64_t first, uint64_t rows, uint32_t side, uint64_t *more)
{
    bh_sort_share share = {job, counts, first, rows / (4 * job->tasks), 0, parts, side};
    uint32_t i;

    if (share.most < job->leaf_most)
        share.most = job->leaf_most;
    bh_tasks_run(job->where, bh_sort_share_task, &share, job->tasks);
    for (i = 0; i < parts; i++) {
        if (counts[i] > share.most)
            bh_sort_together(job, first, counts[i], side, more);
        first += counts[i];
    }
}

/* Like bh_sort_alone, but by all tasks. */
static void bh_sort_together(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side,
                             uint64_t *counts)
{
    const void *keys = bh_element_of(job->keys[side], job->key_bytes, first);
    uint32_t parts, bits;

    if (job->tasks == 1) {
        bh_sort_by_task(job, first, rows, side, 0);
        return;
    }
    bits = bh_sort_bits(job->where, keys, rows, job->key_bytes, job->shares);
    if (!bits) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        return;
    }
    parts = bh_sort_parts(job, rows, bh_sort_parts_most(bits));
    bh_sort_step(job, keys, bh_element_of(job->payloads[side], job->payload_bytes, first), first,
                 rows, !side, bits, parts, job->memory, job->shares, counts);
    bh_sort_parts_of(job, counts, parts, first, rows, !side, counts + parts);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Sorts rows that are a leaf small enough for the stack. (Not inlined: other functions need that stack.) */
BH_FN_RARE void bh_sort_few(const bh_sort_job *job, const bh__sort *s)
{
    uint64_t memory[2 * BH_SORT_FEW_BYTES / 8];

    job->leaf(s->keys, s->payloads, s->n, s->keys_out, s->payloads_out, memory, 0);
}

static int bh_sort_by_key(const bh__where *where, const bh__sort *s)
{
    static const bh_sort_leaf leaves[2][3] = {
        {bh_sort_leaf_4_0, bh_sort_leaf_4_4, bh_sort_leaf_4_8},
        {bh_sort_leaf_8_0, bh_sort_leaf_8_4, bh_sort_leaf_8_8},
    };
    const uint64_t width = where->executor->width(where->executor->state);
    const uint64_t row_bytes = bh_row_bytes(s->key_bytes, s->payload_bytes);
    bh_sort_job job = {where,
                       leaves[s->key_bytes / 8][s->payload_bytes / 4],
                       {s->keys_spare, s->keys_out},
                       {s->payloads_spare, s->payloads_out},
                       s->key_bytes,
                       s->payload_bytes,
                       s->n * (s->key_bytes + s->payload_bytes) >= BH_PART_STREAM_BYTES,
                       BH_SORT_LEAF_BYTES / row_bytes,
                       NULL,
                       0,
                       NULL,
                       1,
                       NULL,
                       1};
    uint64_t counts_bytes, leaves_bytes, bytes;
    uint64_t *counts, *more; /* of the first step; of later steps that all tasks do */
    uint32_t parts, bits;
    char *memory;

    if (s->n <= BH_SORT_FEW_BYTES / row_bytes) {
        if (s->n)
            bh_sort_few(&job, s);
        return 1;
    }
    if (width > 1 && s->n >= 2 * BH_SHARE_LEAST)
        job.tasks = width < s->n / BH_SHARE_LEAST ? width : s->n / BH_SHARE_LEAST;
    parts = 1;
    if (s->n > job.leaf_most || job.tasks > 1) {
        /* Some parts for each task, if there are rows enough, so that none waits long for the last one. */
        parts = bh_sort_parts(&job, s->n, BH_SORT_PARTS_MOST);
        while (job.tasks > 1 && parts < 8 * job.tasks && parts < 256 && s->n / parts > 1024)
            parts *= 2;
    }
    if (parts == 1) {
        bytes = 2 * BH_SORT_LEAF_BYTES;
        memory = (char *)where->system->allocate(where->system->state, bytes);
        if (!memory)
            return 0;
        job.leaf(s->keys, s->payloads, s->n, s->keys_out, s->payloads_out, memory, 0);
        where->system->release(where->system->state, memory, bytes);
        return 1;
    }
    job.task_bytes = bh_sort_step_bytes(&job, parts < 256 ? 256 : parts);
    if (job.tasks > 1) {
        job.shares = ((4ull << 20) + s->n / 16 - 8 * parts) / job.task_bytes;
        if (job.shares > BH_SHARES_EACH * job.tasks)
            job.shares = BH_SHARES_EACH * job.tasks;
        if (job.tasks > job.shares)
            job.tasks = job.shares;
    }
    counts_bytes = bh_part_lines_up(8ull * parts) + (1 + job.tasks) * 8 * BH_SORT_COUNTS_MOST;
    leaves_bytes = job.tasks * 2 * BH_SORT_LEAF_BYTES;
    bytes = counts_bytes + leaves_bytes + job.shares * job.task_bytes;
    memory = (char *)where->system->allocate(where->system->state, bytes);
    if (!memory)
        return 0;
    more = (uint64_t *)(void *)memory;
    job.counts = more + BH_SORT_COUNTS_MOST;
    counts = job.counts + job.tasks * BH_SORT_COUNTS_MOST;
    job.leaves = memory + counts_bytes;
    job.memory = job.leaves + leaves_bytes;
    bits = bh_sort_bits(where, s->keys, s->n, s->key_bytes, job.shares);
    bh_sort_step(&job, s->keys, s->payloads, 0, s->n, 0, bits, parts, job.memory, job.shares,
                 counts);
    bh_sort_parts_of(&job, counts, parts, 0, s->n, 0, more);
    where->system->release(where->system->state, memory, bytes);
    return 1;
}

#endif
