/*
 * Sorting by key: one partition by the highest bits that differ, from memory into parts that fit a
 * core's cache; then each part by counting sorts of 8 bits, the lowest first, in the cache.
 *
 *     keys, payloads --partition--> spare --3 counting sorts--> out --> spare --> out
 *
 * All bits above the highest one that differs among some rows are alike and need no sorting. That
 * is asked anew for every part, so keys that lie close together, or are few, cost little.
 *
 * A part is a *leaf* when it fits. A leaf sorts by the 24 highest bits that differ, in 3 passes:
 * enough to tell nearly all rows of a leaf apart where keys are random, however long they are. Runs
 * of rows that agree in those bits come to lie together and are sorted on by what is left of
 * their keys: a few by insertion, more as a leaf again.
 *
 * A part that is too large, because keys are skewed or there are more than fit in one step, is
 * partitioned again: by the thread that has it, or, if it is so large that the others would wait
 * for it, by all. Every step takes 8 bits off (or all that differ), so there are at most 8.
 *
 * Rows are in one of two places, `side` 0 (spare) and 1 (out), and go to and fro.
 */
#ifndef BH_PRIMITIVES_SORT_H
#define BH_PRIMITIVES_SORT_H

#include "primitives/partition.h"

/* A leaf has at most so many bytes: twice as many are a core's second cache of 2 MiB. Parts are
 * planned to have half, since they are not all alike. */
#define BH_SORT_LEAF_BYTES (1ull << 20)

/* With fewer rows the calling thread sorts alone, and nothing is allocated. */
#define BH_SORT_FEW 4096u

/* Up to here inserting is faster than counting 256 digits. */
#define BH_SORT_INSERT 24u

#define BH_SORT_DIGIT_BITS 8u
#define BH_SORT_DIGITS 3u /* of a leaf at a time; odd, so that it ends in the output */
#define BH_SORT_PARTS_MOST 2048u /* of the first step; of the others 256 */

typedef struct bh_sort_job bh_sort_job;
typedef void (*bh_sort_leaf)(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side);

struct bh_sort_job {
    const bh__where *where;
    bh_sort_leaf leaf;
    void *keys[2];
    void *payloads[2];
    uint32_t key_bytes;
    uint32_t payload_bytes;
    void *memory; /* for partitions: of one task each, or of all together */
    uint64_t task_bytes;
    uint64_t tasks;
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

    job->differ[task] = bh_sort_differ_here(share, bh_share_end(&job->shares, task) - first,
                                            job->key_bytes) |
                        (bh_element(job->keys, job->key_bytes, 0) ^
                         bh_element(share, job->key_bytes, 0));
}

/* How many bits, from the lowest on, have all that differs; 0: the keys are alike. A few keys are
 * often enough to know that it is all of them. */
static uint32_t bh_sort_bits(const bh__where *where, const void *keys, uint64_t n,
                             uint32_t key_bytes, uint64_t tasks)
{
    const uint64_t few = n < 256 ? n : 256;
    uint64_t differ = bh_sort_differ_here(keys, few, key_bytes), i;
    bh_sort_differ_job job;

    if (few < n && !(differ >> (8 * key_bytes - 1))) {
        job.shares = bh_shares_cut(where, n, BH_SHARE_LEAST,
                                   tasks < BH_TASKS_MOST ? tasks : BH_TASKS_MOST);
        job.keys = keys;
        job.key_bytes = key_bytes;
        bh_tasks_run(where, bh_sort_differ_task, &job, job.shares.tasks);
        for (i = 0; i < job.shares.tasks; i++)
            differ |= job.differ[i];
    }
    return differ ? 64 - (uint32_t)__builtin_clzll(differ) : 0;
}

/* --- leaves ----------------------------------------------------------------------------------- */

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

/* Sorts rows of the output where they are. */
BH_FN void bh_sort_insert(void *keys, void *payloads, uint64_t rows, const uint32_t key_bytes,
                          const uint32_t payload_bytes)
{
    uint64_t i, j;

    for (i = 1; i < rows; i++) {
        const uint64_t key = bh_element(keys, key_bytes, i);
        const uint64_t payload = payload_bytes ? bh_element(payloads, payload_bytes, i) : 0;

        for (j = i; j && bh_element(keys, key_bytes, j - 1) > key; j--) {
            bh_element_set(keys, key_bytes, j, bh_element(keys, key_bytes, j - 1));
            if (payload_bytes)
                bh_element_set(payloads, payload_bytes, j,
                               bh_element(payloads, payload_bytes, j - 1));
        }
        bh_element_set(keys, key_bytes, j, key);
        if (payload_bytes)
            bh_element_set(payloads, payload_bytes, j, payload);
    }
}

/* Sorts on what agrees in all bits from `bottom` on. */
BH_FN void bh_sort_runs(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t bottom,
                        const uint32_t key_bytes, const uint32_t payload_bytes)
{
    void *keys = bh_element_at(job->keys[1], key_bytes, first);
    void *payloads = bh_element_at(job->payloads[1], payload_bytes, first);
    uint64_t upper = bh_element(keys, key_bytes, 0) >> bottom, begin = 0, i;

    for (i = 1; i <= rows; i++) {
        const uint64_t next = i < rows ? bh_element(keys, key_bytes, i) >> bottom : ~upper;

        if (next == upper)
            continue;
        if (i - begin > BH_SORT_INSERT)
            job->leaf(job, first + begin, i - begin, 1);
        else if (i - begin > 1)
            bh_sort_insert(bh_element_at(keys, key_bytes, begin),
                           bh_element_at(payloads, payload_bytes, begin), i - begin, key_bytes,
                           payload_bytes);
        upper = next;
        begin = i;
    }
}

/* One counting sort. `at` has for each digit the row where the next one goes. */
BH_FN void bh_sort_pass(const void *keys, const void *payloads, void *keys_to, void *payloads_to,
                        uint32_t rows, uint32_t *at, uint32_t shift, const uint32_t key_bytes,
                        const uint32_t payload_bytes)
{
    uint32_t i;

    for (i = 0; i < rows; i++) {
        const uint64_t key = bh_element(keys, key_bytes, i);
        const uint32_t to = at[(uint8_t)(key >> shift)]++;

        bh_element_set(keys_to, key_bytes, to, key);
        if (payload_bytes)
            bh_element_set(payloads_to, payload_bytes, to, bh_element(payloads, payload_bytes, i));
    }
}

/* Turns counts into places; answers whether all rows have one digit. */
BH_FN int bh_sort_places(uint32_t *at, uint32_t rows)
{
    uint32_t sum = 0, alike = 0, i;

    for (i = 0; i < 256; i++) {
        const uint32_t count = at[i];

        alike |= count == rows;
        at[i] = sum;
        sum += count;
    }
    return (int)alike;
}

/* Sorts the rows [first, first + rows), which lie on `side`, into the output. */
BH_FN void bh_sort_leaf_text(const bh_sort_job *job, uint64_t first, uint64_t many, uint32_t side,
                             const uint32_t key_bytes, const uint32_t payload_bytes)
{
    void *keys[2], *payloads[2];
    uint32_t at[BH_SORT_DIGITS][256], shift[BH_SORT_DIGITS];
    const uint32_t rows = (uint32_t)many;
    uint32_t high, low, bottom, passes, i;
    uint64_t differ;

    if (!rows)
        return;
    for (i = 0; i < 2; i++) {
        keys[i] = bh_element_at(job->keys[i], key_bytes, first);
        payloads[i] = bh_element_at(job->payloads[i], payload_bytes, first);
    }
    if (rows <= BH_SORT_INSERT) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        bh_sort_insert(keys[1], payloads[1], rows, key_bytes, payload_bytes);
        return;
    }
    differ = bh_sort_differ_text(keys[side], rows, key_bytes);
    if (!differ) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        return;
    }
    high = 64 - (uint32_t)__builtin_clzll(differ);
    low = (uint32_t)__builtin_ctzll(differ);
    bottom = high - low > BH_SORT_DIGITS * BH_SORT_DIGIT_BITS
                 ? high - BH_SORT_DIGITS * BH_SORT_DIGIT_BITS
                 : low;
    passes = (high - bottom + BH_SORT_DIGIT_BITS - 1) / BH_SORT_DIGIT_BITS;
    /* The highest digit may reach above what differs, where all are alike. */
    for (i = 0; i < BH_SORT_DIGITS; i++)
        shift[i] = i < passes ? bottom + i * BH_SORT_DIGIT_BITS : bottom;
    memset(at, 0, sizeof at);
    if (passes == BH_SORT_DIGITS) {
        for (i = 0; i < rows; i++) {
            const uint64_t key = bh_element(keys[side], key_bytes, i) >> bottom;

            at[0][(uint8_t)key]++;
            at[1][(uint8_t)(key >> BH_SORT_DIGIT_BITS)]++;
            at[2][(uint8_t)(key >> 2 * BH_SORT_DIGIT_BITS)]++;
        }
    } else {
        for (i = 0; i < rows; i++) {
            const uint64_t key = bh_element(keys[side], key_bytes, i);

            at[0][(uint8_t)(key >> shift[0])]++;
            at[1][(uint8_t)(key >> shift[1])]++;
        }
    }
    for (i = 0; i < passes; i++) {
        if (bh_sort_places(at[i], rows))
            continue;
        bh_sort_pass(keys[side], payloads[side], keys[!side], payloads[!side], rows, at[i],
                     shift[i], key_bytes, payload_bytes);
        side = !side;
    }
    if (!side)
        bh_sort_copy_out(job, first, rows);
    if (bottom > low)
        bh_sort_runs(job, first, rows, bottom, key_bytes, payload_bytes);
}

#define BH_SORT_INSTANCE(key, payload)                                                             \
    static void bh_sort_leaf_##key##_##payload(const bh_sort_job *job, uint64_t first,             \
                                               uint64_t rows, uint32_t side)                       \
    {                                                                                              \
        bh_sort_leaf_text(job, first, rows, side, key, payload);                                   \
    }
BH_SORT_INSTANCE(4, 0)
BH_SORT_INSTANCE(4, 4)
BH_SORT_INSTANCE(4, 8)
BH_SORT_INSTANCE(8, 0)
BH_SORT_INSTANCE(8, 4)
BH_SORT_INSTANCE(8, 8)
#undef BH_SORT_INSTANCE

/* --- steps ------------------------------------------------------------------------------------ */

/* So many parts that one of them is half a leaf, if they are alike; a power of two. */
static uint32_t bh_sort_parts(const bh_sort_job *job, uint64_t rows, uint32_t most)
{
    const uint64_t bytes = rows * (job->key_bytes + job->payload_bytes);
    uint32_t parts = 2;

    while (parts < most && bytes / parts > BH_SORT_LEAF_BYTES / 2)
        parts *= 2;
    return parts;
}

/*
 * Partitions rows, `keys` and `payloads`, into the rows from `first` on of one side, by the highest
 * `parts` (a power of two) of `bits` bits. By one task with the memory given, or by as many as it
 * is for.
 */
static void bh_sort_step(const bh_sort_job *job, const void *keys, const void *payloads,
                         uint64_t first, uint64_t rows, uint32_t side, uint32_t bits,
                         uint32_t parts, void *memory, uint64_t tasks, uint64_t *counts)
{
    uint64_t keys_at[BH_SORT_PARTS_MOST], payloads_at[BH_SORT_PARTS_MOST];
    const uint32_t part_bits = (uint32_t)__builtin_ctz(parts);
    uint64_t at = first;
    bh__partition p;
    uint32_t i;

    p.how.parts = parts;
    p.how.shift = bits > part_bits ? bits - part_bits : 0;
    p.how.seed = NULL;
    p.key_bytes = job->key_bytes;
    p.payload_bytes = job->payload_bytes;
    p.keys = keys;
    p.payloads = payloads;
    p.n = rows;
    p.counts = counts;
    p.keys_at = keys_at;
    p.payloads_at = payloads_at;
    if (bh_part_plan(job->where, &p, tasks))
        p.tasks = memory;
    bh_part_count_run(job->where, &p);
    for (i = 0; i < parts; i++) {
        keys_at[i] = (uint64_t)(uintptr_t)bh_element_at(job->keys[side], p.key_bytes, at);
        payloads_at[i] =
            (uint64_t)(uintptr_t)bh_element_at(job->payloads[side], p.payload_bytes, at);
        at += counts[i];
    }
    bh_partition_scatter(job->where, &p);
}

/* Sorts rows that lie on `side` into the output: by the calling thread, with the memory of one
 * task. */
static void bh_sort_alone(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side,
                          void *memory)
{
    uint64_t counts[256];
    uint32_t parts, bits, i;

    if (rows * (job->key_bytes + job->payload_bytes) <= BH_SORT_LEAF_BYTES) {
        job->leaf(job, first, rows, side);
        return;
    }
    bits = bh_sort_bits(job->where, bh_element_of(job->keys[side], job->key_bytes, first), rows,
                        job->key_bytes, 1);
    if (!bits) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        return;
    }
    parts = bh_sort_parts(job, rows, 256);
    bh_sort_step(job, bh_element_of(job->keys[side], job->key_bytes, first),
                 bh_element_of(job->payloads[side], job->payload_bytes, first), first, rows, !side,
                 bits, parts, memory, 1, counts);
    for (i = 0; i < parts; i++) {
        bh_sort_alone(job, first, counts[i], !side, memory);
        first += counts[i];
    }
}

/* Parts that the tasks take in turn. */
typedef struct bh_sort_share {
    const bh_sort_job *job;
    const uint64_t *counts;
    uint64_t first;
    uint64_t most; /* rows; larger parts are left */
    uint64_t taken;
    uint32_t parts;
    uint32_t side;
} bh_sort_share;

/* Parts at a time that a task takes: there are many more than tasks, and some may be empty. */
#define BH_SORT_TAKE 4u

static void bh_sort_share_task(void *argument, uint64_t task)
{
    bh_sort_share *s = (bh_sort_share *)argument;
    void *memory = (char *)s->job->memory + task * s->job->task_bytes;
    uint64_t first = s->first, taken;
    uint32_t done = 0, i;

    while ((taken = bh__atomic_add(&s->taken, BH_SORT_TAKE, __ATOMIC_RELAXED)) < s->parts) {
        for (i = (uint32_t)taken; i < s->parts && i < taken + BH_SORT_TAKE; i++) {
            for (; done < i; done++)
                first += s->counts[done];
            if (s->counts[i] <= s->most)
                bh_sort_alone(s->job, first, s->counts[i], s->side, memory);
        }
    }
}

static void bh_sort_together(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side);

/* Sorts the parts of a step that all tasks have done: the small ones one task each, then each of the
 * large ones by all. */
static void bh_sort_parts_of(const bh_sort_job *job, const uint64_t *counts, uint32_t parts,
                             uint64_t first, uint64_t rows, uint32_t side)
{
    bh_sort_share share = {job, counts, first, rows / (4 * job->tasks), 0, parts, side};
    uint32_t i;

    if (share.most * (job->key_bytes + job->payload_bytes) < BH_SORT_LEAF_BYTES)
        share.most = BH_SORT_LEAF_BYTES / (job->key_bytes + job->payload_bytes);
    bh_tasks_run(job->where, bh_sort_share_task, &share, job->tasks);
    for (i = 0; i < parts; i++) {
        if (counts[i] > share.most)
            bh_sort_together(job, first, counts[i], side);
        first += counts[i];
    }
}

/* As bh_sort_alone, by all tasks. */
static void bh_sort_together(const bh_sort_job *job, uint64_t first, uint64_t rows, uint32_t side)
{
    const void *keys = bh_element_of(job->keys[side], job->key_bytes, first);
    const uint32_t bits = bh_sort_bits(job->where, keys, rows, job->key_bytes, job->tasks);
    uint64_t counts[256];
    uint32_t parts = bh_sort_parts(job, rows, 256);

    if (job->tasks == 1) {
        bh_sort_alone(job, first, rows, side, job->memory);
        return;
    }
    if (!bits) {
        if (!side)
            bh_sort_copy_out(job, first, rows);
        return;
    }
    bh_sort_step(job, keys, bh_element_of(job->payloads[side], job->payload_bytes, first), first,
                 rows, !side, bits, parts, job->memory, job->tasks, counts);
    bh_sort_parts_of(job, counts, parts, first, rows, !side);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Brings the input to where a leaf may begin: to the spare arrays, or, where nothing needs to
 * move, nowhere. Answers the side. */
static uint32_t bh_sort_bring(const bh__sort *s)
{
    const int payloads_there = !s->payload_bytes || s->payloads == s->payloads_out;
    uint64_t i;

    if (s->keys == s->keys_out && payloads_there)
        return 1;
    memcpy(s->keys_spare, s->keys, s->n * s->key_bytes);
    if (s->payload_bytes && s->payloads)
        memcpy(s->payloads_spare, s->payloads, s->n * s->payload_bytes);
    else if (s->payload_bytes)
        for (i = 0; i < s->n; i++)
            bh_element_set(s->payloads_spare, s->payload_bytes, i, i);
    return 0;
}

static int bh_sort_by_key(const bh__where *where, const bh__sort *s)
{
    static const bh_sort_leaf leaves[2][3] = {
        {bh_sort_leaf_4_0, bh_sort_leaf_4_4, bh_sort_leaf_4_8},
        {bh_sort_leaf_8_0, bh_sort_leaf_8_4, bh_sort_leaf_8_8},
    };
    const uint64_t width = where->executor->width(where->executor->state);
    const uint32_t row_bytes = s->key_bytes + s->payload_bytes;
    bh_sort_job job = {where,
                       leaves[s->key_bytes / 8][s->payload_bytes / 4],
                       {s->keys_spare, s->keys_out},
                       {s->payloads_spare, s->payloads_out},
                       s->key_bytes,
                       s->payload_bytes,
                       NULL,
                       0,
                       0};
    uint64_t counts_bytes, bytes, least;
    uint64_t *counts;
    uint32_t parts, bits;

    if (s->n < BH_SORT_FEW || (width < 2 && s->n * row_bytes <= BH_SORT_LEAF_BYTES)) {
        if (s->n)
            job.leaf(&job, 0, s->n, bh_sort_bring(s));
        return 1;
    }
    /* At least some parts for each task, so that none waits long for the last one. */
    parts = bh_sort_parts(&job, s->n, BH_SORT_PARTS_MOST);
    least = width > 1 ? 8 * width : 1;
    while (parts < least && parts < 256 && s->n / parts > 1024)
        parts *= 2;
    job.task_bytes = bh_part_task_bytes(parts < 256 ? 256 : parts, s->key_bytes, s->payload_bytes);
    job.tasks = ((4ull << 20) + s->n / 16 - 8 * parts) / job.task_bytes;
    if (job.tasks > width)
        job.tasks = width;
    if (job.tasks > s->n / 2048)
        job.tasks = s->n / 2048;
    counts_bytes = bh_part_lines_up(8ull * parts);
    bytes = counts_bytes + job.tasks * job.task_bytes;
    counts = (uint64_t *)where->system->allocate(where->system->state, bytes);
    if (!counts)
        return 0;
    job.memory = (char *)counts + counts_bytes;
    bits = bh_sort_bits(where, s->keys, s->n, s->key_bytes, job.tasks);
    bh_sort_step(&job, s->keys, s->payloads, 0, s->n, 0, bits, parts, job.memory, job.tasks,
                 counts);
    bh_sort_parts_of(&job, counts, parts, 0, s->n, 0);
    where->system->release(where->system->state, counts, bytes);
    return 1;
}

#endif
