/*
 * Partition: rows into parts, by bits of the key or by its hash, stably.
 *
 * Every task has one share of the input. In the first step it counts the rows of its share in each
 * part; then the counts of the tasks before it say where it begins in each part, and in the second
 * step no task has to ask another one where to write.
 *
 * If each row were written directly to its place, that would cost a line of memory read and a line
 * written, and with hundreds of parts more pages than the TLB holds. So a task keeps a *block* of rows
 * for each part, 16 (8 where all words have 8 bytes), in which a column has whole lines, and writes a
 * block out when it is full:
 *
 *     output of one part    | . . a a | a a a a | a a b b | b b b b |     lines
 *     block of task a           a a     a a a a   a a
 *     block of task b                               b b     b b b b
 *
 * A row's place in the block is its place in the line of the output, so the first and the last
 * block of a task have fewer rows; they are written row by row, beside a neighbour's. Two columns
 * lie side by side in one block (rows.h) where their lines begin at the same rows in every part, as
 * they do when the arrays begin at lines; where not, each column is written by a run of its own.
 */
#ifndef BH_PRIMITIVES_PARTITION_H
#define BH_PRIMITIVES_PARTITION_H

#include "primitives/hash.h"
#include "primitives/rows.h"

/* Rows whose parts are found at a time, before any is written: a loop without branches. */
#define BH_PART_BATCH 64u

/* Chosen by measurement: with less output than BH_PART_BLOCKS_BYTES, or with fewer rows of a share in a part
 * than BH_PART_BLOCKS_ROWS, rows are written one by one. From BH_PART_STREAM_BYTES of output on, whole lines
 * are streamed past the caches. */
#define BH_PART_BLOCKS_BYTES (1u << 20)
#define BH_PART_BLOCKS_ROWS 32u
#define BH_PART_STREAM_BYTES (1u << 23)

/* Rows that are counted in 32-bit counters before these are added to 64-bit ones. */
#define BH_PART_COUNT_MOST (1ull << 31)

/* The memory of one task, cut into its arrays of one element per part. */
typedef struct bh_part_memory {
    uint64_t *start;    /* rows of the part that the tasks before this one write */
    uint64_t *lines[2]; /* for each column the address to which the block goes */
    uint32_t *at;       /* the next row in the block; plus a block's rows after the first block */
    uint32_t *first;    /* `at` before the first row */
    unsigned char *blocks; /* of words where there is one column, else of rows */
} bh_part_memory;

BH_FN uint32_t bh_part_block_rows(uint32_t one, uint32_t two)
{
    return one == 8 && two != 4 ? 8 : 16;
}

BH_FN uint64_t bh_part_lines_up(uint64_t bytes)
{
    return (bytes + 63) & ~(uint64_t)63;
}

/* With one column a block is a line of it, else it has rows. */
BH_FN uint32_t bh_part_block_bytes(uint32_t one, uint32_t two)
{
    return two ? bh_part_block_rows(one, two) * bh_row_bytes(one, two) : 64;
}

/* Bytes that a task needs. */
BH_FN uint64_t bh_part_task_bytes(uint32_t parts, uint32_t key_bytes, uint32_t payload_bytes)
{
    return 3 * bh_part_lines_up(8ull * parts) + 2 * bh_part_lines_up(4ull * parts) +
           (uint64_t)parts * bh_part_block_bytes(key_bytes, payload_bytes);
}

BH_FN bh_part_memory bh_part_memory_of(const bh__partition *p, uint64_t task)
{
    const uint64_t eights = bh_part_lines_up(8ull * p->how.parts);
    const uint64_t fours = bh_part_lines_up(4ull * p->how.parts);
    unsigned char *at = (unsigned char *)p->tasks + task * p->task_bytes;
    bh_part_memory m;

    m.start = (uint64_t *)(void *)at;
    m.lines[0] = (uint64_t *)(void *)(at + eights);
    m.lines[1] = (uint64_t *)(void *)(at + 2 * eights);
    m.at = (uint32_t *)(void *)(at + 3 * eights);
    m.first = (uint32_t *)(void *)(at + 3 * eights + fours);
    m.blocks = at + 3 * eights + 2 * fours;
    return m;
}

/* Whether rows are collected in blocks. */
BH_FN int bh_part_in_blocks(const bh__partition *p)
{
    return p->n * (p->key_bytes + p->payload_bytes) >= BH_PART_BLOCKS_BYTES &&
           p->rows_per_task >= (uint64_t)p->how.parts * BH_PART_BLOCKS_ROWS;
}

/* Decides how many tasks there will be, at most `most`, and the memory of each; answers the bytes of all. */
BH_FN uint64_t bh_part_plan(const bh__where *where, bh__partition *p, uint64_t most)
{
    const uint64_t least = 16ull * p->how.parts;
    bh_shares s;

    p->tasks = NULL;
    p->task_bytes = bh_part_task_bytes(p->how.parts, p->key_bytes, p->payload_bytes);
    s = bh_shares_cut(where, p->n, least > BH_SHARE_LEAST ? least : BH_SHARE_LEAST, most);
    p->task_count = s.tasks;
    p->rows_per_task = s.rows;
    return s.tasks * p->task_bytes;
}

/* --- the part of a key ------------------------------------------------------------------------ */

BH_FN void bh_parts_text(const bh__partition *p, uint64_t row, uint32_t count, uint32_t *part,
                         const uint32_t key_bytes)
{
    const void *keys = bh_element_of(p->keys, key_bytes, row);
    const uint32_t parts = p->how.parts, shift = p->how.shift;
    uint32_t i;

    if (p->how.numbers) {
        for (i = 0; i < count; i++)
            part[i] = p->how.numbers[row + i] >> shift & (parts - 1);
    } else if (p->how.seed) {
        const bh_seed seed = *p->how.seed;

        for (i = 0; i < count; i++)
            part[i] = (uint32_t)bh_hash_range(
                bh_hash_key(bh_element(keys, key_bytes, i), &seed).one, parts);
    } else if (key_bytes == 4) {
        for (i = 0; i < count; i++)
            part[i] = (uint32_t)bh_element(keys, 4, i) >> shift & (parts - 1);
    } else {
        for (i = 0; i < count; i++)
            part[i] = (uint32_t)(bh_element(keys, 8, i) >> shift) & (parts - 1);
    }
}

/* The parts of `count` rows, at most BH_PART_BATCH. */
BH_FN void bh_parts_of(const bh__partition *p, uint64_t row, uint32_t count, uint32_t *part)
{
    if (count == BH_PART_BATCH && p->key_bytes == 4)
        bh_parts_text(p, row, BH_PART_BATCH, part, 4);
    else if (count == BH_PART_BATCH)
        bh_parts_text(p, row, BH_PART_BATCH, part, 8);
    else if (p->key_bytes == 4)
        bh_parts_text(p, row, count, part, 4);
    else
        bh_parts_text(p, row, count, part, 8);
}

BH_FN bh_shares bh_part_shares(const bh__partition *p)
{
    bh_shares s = {p->n, p->rows_per_task, p->task_count};

    return s;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Two counters for each part, used in turn: with one, consecutive rows of the same part would each wait for
 * the store of the row before. */
static void bh_part_count_task(void *argument, uint64_t task)
{
    const bh__partition *p = (const bh__partition *)argument;
    const bh_part_memory m = bh_part_memory_of(p, task);
    const bh_shares s = bh_part_shares(p);
    const uint64_t end = bh_share_end(&s, task);
    uint32_t part[BH_PART_BATCH], count, i;
    uint64_t row;

    memset(m.start, 0, 8ull * p->how.parts);
    for (row = bh_share_first(&s, task); row < end;) {
        const uint64_t until = end - row < BH_PART_COUNT_MOST ? end : row + BH_PART_COUNT_MOST;

        memset(m.at, 0, 4ull * p->how.parts);
        memset(m.first, 0, 4ull * p->how.parts);
        for (; row < until; row += count) {
            count = until - row < BH_PART_BATCH ? (uint32_t)(until - row) : BH_PART_BATCH;
            bh_parts_of(p, row, count, part);
            for (i = 0; i + 1 < count; i += 2) {
                m.at[part[i]]++;
                m.first[part[i + 1]]++;
            }
            if (i < count)
                m.at[part[i]]++;
        }
        for (i = 0; i < p->how.parts; i++)
            m.start[i] += (uint64_t)m.at[i] + m.first[i];
    }
}

/* Counts, after bh_part_plan; the memory planned is in p->tasks. */
static void bh_part_count_run(const bh__where *where, bh__partition *p)
{
    uint64_t task;
    uint32_t i;

    for (i = 0; i < p->how.parts; i++)
        p->counts[i] = 0;
    bh_tasks_run(where, bh_part_count_task, p, p->task_count);
    for (task = 0; task < p->task_count; task++) {
        const bh_part_memory m = bh_part_memory_of(p, task);

        for (i = 0; i < p->how.parts; i++) {
            const uint64_t rows = m.start[i];

            m.start[i] = p->counts[i];
            p->counts[i] += rows;
        }
    }
}

static int bh_partition_count(const bh__where *where, bh__partition *p)
{
    const uint64_t memory_most = (4ull << 20) + p->n / 16;
    uint64_t most = memory_most / bh_part_task_bytes(p->how.parts, p->key_bytes, p->payload_bytes);
    uint64_t bytes = bh_part_plan(where, p, most);

    if (bytes) {
        p->tasks = where->system->allocate(where->system->state, bytes);
        if (!p->tasks)
            return 0;
    }
    bh_part_count_run(where, p);
    return 1;
}

static void bh_partition_end(const bh__where *where, bh__partition *p)
{
    if (p->tasks)
        where->system->release(where->system->state, p->tasks, p->task_count * p->task_bytes);
    p->tasks = NULL;
}

/* --- scattering ------------------------------------------------------------------------------- */

/* Writes the rows [from, to) of a part's block one by one. */
BH_FN void bh_part_write_rows(uint64_t one_at, uint64_t two_at, const unsigned char *block,
                              uint32_t from, uint32_t to, const uint32_t one, const uint32_t two)
{
    void *out = (void *)(uintptr_t)one_at;
    uint32_t i;

    if (two) {
        bh_rows_out(out, block, from, to, 0, one, bh_row_bytes(one, two));
        bh_rows_out((void *)(uintptr_t)two_at, block, from, to, 1, two, bh_row_bytes(one, two));
    } else {
        for (i = from; i < to; i++)
            bh_element_set(out, one, i, bh_element(block, one, i));
    }
}

/* Writes all rows of a part's block, which are whole lines. */
BH_FN void bh_part_write_block(uint64_t one_at, uint64_t two_at, const unsigned char *block,
                               int stream, const uint32_t one, const uint32_t two)
{
    const uint32_t rows = bh_part_block_rows(one, two), row_bytes = bh_row_bytes(one, two);
    char *one_out = (char *)(uintptr_t)one_at, *two_out = (char *)(uintptr_t)two_at;
    uint32_t i;

    if (!two) {
        if (stream)
            bh_line_stream(one_out, block);
        else
            memcpy(one_out, block, 64);
        return;
    }
    for (i = 0; i < rows; i += 64 / one)
        bh_rows_line_out(one_out + i * one, block + i * row_bytes, stream, 0, one, row_bytes);
    for (i = 0; i < rows; i += 64 / two)
        bh_rows_line_out(two_out + i * two, block + i * row_bytes, stream, 1, two, row_bytes);
}

/* One or two columns that are written through blocks. A column of the input that is NULL stands for the rows'
 * indexes. */
typedef struct bh_part_columns {
    const void *from[2];
    const uint64_t *to[2];
} bh_part_columns;

BH_FN void bh_part_blocks_text(const bh__partition *p, uint64_t task, const bh_part_columns *c,
                               const uint32_t one, const uint32_t two)
{
    const bh_part_memory m = bh_part_memory_of(p, task);
    const bh_shares s = bh_part_shares(p);
    const uint64_t end = bh_share_end(&s, task);
    const uint32_t rows = bh_part_block_rows(one, two), narrow = two == 4 ? 1 : 0;
    const uint32_t narrow_bytes = narrow ? two : one;
    const void *from_one = c->from[0], *from_two = c->from[1];
    uint64_t *lines_one = m.lines[0], *lines_two = m.lines[1];
    const uint32_t block_bytes = bh_part_block_bytes(one, two), row_bytes = bh_row_bytes(one, two);
    uint32_t *ats = m.at;
    const int stream = p->n * (one + two) >= BH_PART_STREAM_BYTES;
    uint32_t part[BH_PART_BATCH], count, i;
    uint64_t row;

    for (i = 0; i < p->how.parts; i++) {
        uint64_t begin = c->to[narrow][i] + m.start[i] * narrow_bytes;

        ats[i] = m.first[i] = (uint32_t)(begin / narrow_bytes) & (rows - 1);
        lines_one[i] = c->to[0][i] + (m.start[i] - ats[i]) * one;
        if (two)
            lines_two[i] = c->to[1][i] + (m.start[i] - ats[i]) * two;
    }
    for (row = bh_share_first(&s, task); row < end; row += count) {
        count = end - row < BH_PART_BATCH ? (uint32_t)(end - row) : BH_PART_BATCH;
        bh_parts_of(p, row, count, part);
        for (i = 0; i < count; i++) {
            const uint32_t q = part[i], at = ats[q], place = at & (rows - 1);
            const uint64_t word = from_one ? bh_element(from_one, one, row + i) : row + i;
            const uint64_t word_two = !two       ? 0
                                      : from_two ? bh_element(from_two, two, row + i)
                                                 : row + i;
            unsigned char *block = m.blocks + (uint64_t)q * block_bytes;

            if (two)
                bh_row_store(block, place, bh_row_of(word, word_two, row_bytes, two), row_bytes);
            else
                bh_element_set(block, one, place, word);
            ats[q] = at + 1;
            if (place != rows - 1)
                continue;
            if (at < rows && m.first[q])
                bh_part_write_rows(lines_one[q], two ? lines_two[q] : 0, block, m.first[q], rows,
                                   one, two);
            else
                bh_part_write_block(lines_one[q], two ? lines_two[q] : 0, block, stream, one, two);
            ats[q] = rows;
            lines_one[q] += rows * one;
            if (two)
                lines_two[q] += rows * two;
        }
    }
    for (i = 0; i < p->how.parts; i++) {
        const uint32_t at = ats[i], place = at & (rows - 1);
        const uint32_t from = at < rows ? m.first[i] : 0;

        bh_part_write_rows(lines_one[i], two ? lines_two[i] : 0,
                           m.blocks + (uint64_t)i * block_bytes, from, place, one, two);
    }
    if (stream)
        bh_stream_end();
}

/* Whether both columns' lines begin at the same rows, in all parts. */
static int bh_part_lines_agree(const bh__partition *p)
{
    const uint32_t rows = bh_part_block_rows(p->key_bytes, p->payload_bytes);
    const int narrow = p->payload_bytes == 4;
    const uint32_t narrow_bytes = narrow ? p->payload_bytes : p->key_bytes;
    const uint64_t *narrow_at = narrow ? p->payloads_at : p->keys_at;
    const uint64_t *other_at = narrow ? p->keys_at : p->payloads_at;
    const uint32_t other_bytes = narrow ? p->key_bytes : p->payload_bytes;
    uint64_t differ = 0;
    uint32_t i;

    for (i = 0; i < p->how.parts; i++)
        differ |= other_at[i] - (narrow_at[i] / narrow_bytes & (rows - 1)) * other_bytes;
    return !(differ & 63);
}

#define BH_PART_INSTANCE(one, two)                                                                 \
    static void bh_part_blocks_##one##_##two(const bh__partition *p, uint64_t task,                \
                                             const bh_part_columns *c)                             \
    {                                                                                              \
        bh_part_blocks_text(p, task, c, one, two);                                                 \
    }
BH_PART_INSTANCE(4, 0)
BH_PART_INSTANCE(8, 0)
BH_PART_INSTANCE(4, 4)
BH_PART_INSTANCE(4, 8)
BH_PART_INSTANCE(8, 4)
BH_PART_INSTANCE(8, 8)
#undef BH_PART_INSTANCE

static void bh_part_blocks(const bh__partition *p, uint64_t task, const bh_part_columns *c,
                           uint32_t one, uint32_t two)
{
    static void (*const instances[2][3])(const bh__partition *, uint64_t,
                                         const bh_part_columns *) = {
        {bh_part_blocks_4_0, bh_part_blocks_4_4, bh_part_blocks_4_8},
        {bh_part_blocks_8_0, bh_part_blocks_8_4, bh_part_blocks_8_8},
    };

    instances[one / 8][two / 4](p, task, c);
}

/* Writes rows one by one to their places. `at` has for each part the number of its next row. */
BH_FN void bh_part_rows_text(const bh__partition *p, uint64_t first, uint64_t end, uint64_t *at,
                             const uint32_t key_bytes, const uint32_t payload_bytes)
{
    uint32_t part[BH_PART_BATCH], count, i;
    uint64_t row;

    for (row = first; row < end; row += count) {
        count = end - row < BH_PART_BATCH ? (uint32_t)(end - row) : BH_PART_BATCH;
        bh_parts_of(p, row, count, part);
        for (i = 0; i < count; i++) {
            const uint32_t q = part[i];
            const uint64_t to = at[q]++;

            bh_element_set((void *)(uintptr_t)p->keys_at[q], key_bytes, to,
                           bh_element(p->keys, key_bytes, row + i));
            if (payload_bytes)
                bh_element_set((void *)(uintptr_t)p->payloads_at[q], payload_bytes, to,
                               p->payloads ? bh_element(p->payloads, payload_bytes, row + i)
                                           : row + i);
        }
    }
}

static void bh_part_rows(const bh__partition *p, uint64_t first, uint64_t end, uint64_t *at)
{
    const uint32_t payload_bytes = p->payload_bytes;

    if (p->key_bytes == 4) {
        if (payload_bytes == 0)
            bh_part_rows_text(p, first, end, at, 4, 0);
        else if (payload_bytes == 4)
            bh_part_rows_text(p, first, end, at, 4, 4);
        else
            bh_part_rows_text(p, first, end, at, 4, 8);
    } else {
        if (payload_bytes == 0)
            bh_part_rows_text(p, first, end, at, 8, 0);
        else if (payload_bytes == 4)
            bh_part_rows_text(p, first, end, at, 8, 4);
        else
            bh_part_rows_text(p, first, end, at, 8, 8);
    }
}

/* A partition and what is the same for all its tasks. */
typedef struct bh_part_job {
    const bh__partition *p;
    int in_blocks;
    int together; /* both columns in one run */
} bh_part_job;

static void bh_part_scatter_task(void *argument, uint64_t task)
{
    const bh_part_job *job = (const bh_part_job *)argument;
    const bh__partition *p = job->p;
    bh_part_columns both = {{p->keys, p->payloads}, {p->keys_at, p->payloads_at}};
    bh_part_columns second = {{p->payloads, NULL}, {p->payloads_at, NULL}};
    const bh_shares s = bh_part_shares(p);

    if (!job->in_blocks) {
        bh_part_rows(p, bh_share_first(&s, task), bh_share_end(&s, task),
                     bh_part_memory_of(p, task).start);
    } else if (job->together) {
        bh_part_blocks(p, task, &both, p->key_bytes, p->payload_bytes);
    } else {
        bh_part_blocks(p, task, &both, p->key_bytes, 0);
        bh_part_blocks(p, task, &second, p->payload_bytes, 0);
    }
}

static int bh_partition_scatter(const bh__where *where, bh__partition *p)
{
    bh_part_job job = {p, bh_part_in_blocks(p), 1};

    if (!p->n)
        return 1;
    if (job.in_blocks && p->payload_bytes)
        job.together = bh_part_lines_agree(p);
    bh_tasks_run(where, bh_part_scatter_task, &job, p->task_count);
    return 1;
}

#endif
