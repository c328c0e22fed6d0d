/*
 * The primitives that run along their arrays: reduce, scan, compact, reduce_by_key.
 *
 * All but reduce go over their input twice. First every task sums up its share: values, flags that
 * are set, runs that begin. The sum of the tasks before it then says where a task's output begins, and
 * the task goes over its share again and writes. No task waits for another, and the sums, one of each
 * task, stand on the caller's stack: these functions allocate nothing.
 */
#ifndef BH_PRIMITIVES_ALONG_H
#define BH_PRIMITIVES_ALONG_H

#include "primitives/columns.h"
#include "primitives/combine.h"

/* Flags that are looked at together. */
#define BH_ALONG_BLOCK 64u

/* What the tasks are given, and what they leave. */
typedef struct bh_along_job bh_along_job;
struct bh_along_job {
    bh_shares shares;
    bh_op op;
    const void *keys;
    const void *values;
    uint32_t key_bytes;
    uint32_t value_bytes;
    void *keys_out;
    void *out;
    uint64_t *starts;
    uint64_t sum[BH_TASKS_MOST];   /* of each share; then of the shares before it */
    uint64_t carry[BH_TASKS_MOST]; /* reduce_by_key: values of a run that began in a share before */
    uint8_t carries[BH_TASKS_MOST]; /* whether there are any */
};

/* Turns each task's sum into the sum of all tasks before it; answers the total. */
BH_FN uint64_t bh_along_sums(bh_along_job *job, uint64_t start)
{
    uint64_t task;

    for (task = 0; task < job->shares.tasks; task++) {
        const uint64_t sum = job->sum[task];

        job->sum[task] = start;
        start += sum;
    }
    return start;
}

/* --- reduce ----------------------------------------------------------------------------------- */

BH_FN uint64_t bh_reduce_none(bh_op op)
{
    return op == BH_MIN ? UINT64_MAX : 0;
}

/* Computed in the width of the values where that is enough: more of them fit in a vector register. */
BH_FN uint64_t bh_reduce_text(const void *values, uint64_t n, const bh_op op,
                              const uint32_t value_bytes)
{
    uint64_t result = bh_reduce_none(op), i;

    if (op != BH_ADD && value_bytes == 4) {
        const uint32_t *v = (const uint32_t *)values;
        uint32_t narrow = (uint32_t)result;

        for (i = 0; i < n; i++)
            narrow =
                op == BH_MIN ? (v[i] < narrow ? v[i] : narrow) : (v[i] > narrow ? v[i] : narrow);
        return n ? narrow : result;
    }
    for (i = 0; i < n; i++)
        result = bh_combine(op, 8, result, bh_element(values, value_bytes, i));
    return result;
}

static uint64_t bh_reduce_share(const void *values, uint64_t n, bh_op op, uint32_t value_bytes)
{
    if (value_bytes == 1)
        return bh_reduce_text(values, n, BH_ADD, 1); /* only scan has these */
    if (value_bytes == 4)
        return op == BH_ADD   ? bh_reduce_text(values, n, BH_ADD, 4)
               : op == BH_MIN ? bh_reduce_text(values, n, BH_MIN, 4)
                              : bh_reduce_text(values, n, BH_MAX, 4);
    return op == BH_ADD   ? bh_reduce_text(values, n, BH_ADD, 8)
           : op == BH_MIN ? bh_reduce_text(values, n, BH_MIN, 8)
                          : bh_reduce_text(values, n, BH_MAX, 8);
}

static void bh_reduce_task(void *argument, uint64_t task)
{
    bh_along_job *job = (bh_along_job *)argument;
    const uint64_t first = bh_share_first(&job->shares, task);

    job->sum[task] =
        bh_reduce_share(bh_element_of(job->values, job->value_bytes, first),
                        bh_share_end(&job->shares, task) - first, job->op, job->value_bytes);
}

static uint64_t bh_reduce_values(const bh__where *where, bh_op op, const void *values,
                                 uint32_t value_bytes, uint64_t n)
{
    uint64_t result = bh_reduce_none(op), task;
    bh_along_job job;

    job.shares = bh_shares_cut(where, n, BH_SHARE_LEAST_ALONG, BH_TASKS_MOST);
    job.op = op;
    job.values = values;
    job.value_bytes = value_bytes;
    bh_tasks_run(where, bh_reduce_task, &job, job.shares.tasks);
    for (task = 0; task < job.shares.tasks; task++)
        result = bh_combine(op, 8, result, job.sum[task]);
    return result;
}

/* --- scan ------------------------------------------------------------------------------------- */

BH_FN void bh_scan_text(const void *values, uint64_t *sums, uint64_t first, uint64_t end,
                        uint64_t sum, const uint32_t value_bytes)
{
    uint64_t i;

    for (i = first; i < end; i++) {
        const uint64_t value = bh_element(values, value_bytes, i); /* may be sums[i] */

        sums[i] = sum;
        sum += value;
    }
}

static void bh_scan_task(void *argument, uint64_t task)
{
    const bh_along_job *job = (const bh_along_job *)argument;
    const uint64_t first = bh_share_first(&job->shares, task);
    const uint64_t end = bh_share_end(&job->shares, task);
    uint64_t *sums = (uint64_t *)job->out;

    if (job->value_bytes == 1)
        bh_scan_text(job->values, sums, first, end, job->sum[task], 1);
    else if (job->value_bytes == 4)
        bh_scan_text(job->values, sums, first, end, job->sum[task], 4);
    else
        bh_scan_text(job->values, sums, first, end, job->sum[task], 8);
}

static int bh_scan(const bh__where *where, const void *values, uint32_t value_bytes, uint64_t n,
                   uint64_t start, uint64_t *sums, uint64_t *total)
{
    uint64_t all;
    bh_along_job job;

    job.shares = bh_shares_cut(where, n, BH_SHARE_LEAST_ALONG, BH_TASKS_MOST);
    job.op = BH_ADD;
    job.values = values;
    job.value_bytes = value_bytes;
    job.out = sums;
    /* One share begins at `start` whatever its sum is; but the sum may be wanted. */
    if (job.shares.tasks > 1 || total)
        bh_tasks_run(where, bh_reduce_task, &job, job.shares.tasks);
    else
        job.sum[0] = 0;
    all = bh_along_sums(&job, start);
    bh_tasks_run(where, bh_scan_task, &job, job.shares.tasks);
    if (total)
        *total = all;
    return 1;
}

/* --- compact ---------------------------------------------------------------------------------- */

BH_FN uint32_t bh_flags_set(const uint8_t *flags, uint32_t n)
{
    uint32_t set = 0, i;

    for (i = 0; i < n; i++)
        set += flags[i] != 0;
    return set;
}

static void bh_flags_task(void *argument, uint64_t task)
{
    bh_along_job *job = (bh_along_job *)argument;
    const uint8_t *flags = (const uint8_t *)job->keys;
    const uint64_t end = bh_share_end(&job->shares, task);
    uint64_t i = bh_share_first(&job->shares, task), sum = 0;

    for (; end - i >= BH_ALONG_BLOCK; i += BH_ALONG_BLOCK)
        sum += bh_flags_set(flags + i, BH_ALONG_BLOCK);
    job->sum[task] = sum + bh_flags_set(flags + i, (uint32_t)(end - i));
}

/* First lists, without a branch, which rows of a block are kept, and then writes only those: the output
 * behind them is another task's. */
BH_FN void bh_compact_text(const uint8_t *flags, const void *values, uint64_t first, uint64_t end,
                           void *out, uint64_t at, const uint32_t value_bytes)
{
    uint64_t row;
    uint32_t rows, i;

    for (row = first; row < end; row += rows) {
        uint8_t kept[BH_ALONG_BLOCK + 1];
        uint32_t count = 0;

        rows = end - row < BH_ALONG_BLOCK ? (uint32_t)(end - row) : BH_ALONG_BLOCK;
        for (i = 0; i < rows; i++) {
            kept[count] = (uint8_t)i;
            count += flags[row + i] != 0;
        }
        if (values)
            for (i = 0; i < count; i++)
                bh_element_set(out, value_bytes, at + i,
                               bh_element(values, value_bytes, row + kept[i]));
        else
            for (i = 0; i < count; i++)
                bh_element_set(out, value_bytes, at + i, row + kept[i]);
        at += count;
    }
}

static void bh_compact_task(void *argument, uint64_t task)
{
    const bh_along_job *job = (const bh_along_job *)argument;
    const uint8_t *flags = (const uint8_t *)job->keys;
    const uint64_t first = bh_share_first(&job->shares, task);
    const uint64_t end = bh_share_end(&job->shares, task);

    if (job->value_bytes == 4)
        bh_compact_text(flags, job->values, first, end, job->out, job->sum[task], 4);
    else
        bh_compact_text(flags, job->values, first, end, job->out, job->sum[task], 8);
}

static int bh_compact_rows(const bh__where *where, const uint8_t *flags, const void *values,
                           uint32_t value_bytes, uint64_t n, void *out, uint64_t *kept)
{
    bh_along_job job;

    job.shares = bh_shares_cut(where, n, BH_SHARE_LEAST_ALONG, BH_TASKS_MOST);
    job.keys = flags;
    job.values = values;
    job.value_bytes = value_bytes;
    job.out = out;
    bh_tasks_run(where, bh_flags_task, &job, job.shares.tasks);
    *kept = bh_along_sums(&job, 0);
    bh_tasks_run(where, bh_compact_task, &job, job.shares.tasks);
    return 1;
}

/* --- reduce_by_key ---------------------------------------------------------------------------- */

BH_FN uint64_t bh_runs_text(const void *keys, uint64_t first, uint64_t end,
                            const uint32_t key_bytes)
{
    uint64_t runs = first == 0, i;

    for (i = first + (first == 0); i < end; i++)
        runs += bh_element(keys, key_bytes, i) != bh_element(keys, key_bytes, i - 1);
    return runs;
}

static void bh_runs_task(void *argument, uint64_t task)
{
    bh_along_job *job = (bh_along_job *)argument;
    const uint64_t first = bh_share_first(&job->shares, task);
    const uint64_t end = bh_share_end(&job->shares, task);

    job->sum[task] = job->key_bytes == 4 ? bh_runs_text(job->keys, first, end, 4)
                                         : bh_runs_text(job->keys, first, end, 8);
}

/* The first rows of a share may belong to a run that began in an earlier share: they are combined into the
 * share's carry. */
BH_FN void bh_by_key_text(bh_along_job *job, uint64_t task, const uint32_t key_bytes,
                          const uint32_t value_bytes)
{
    const void *keys = job->keys, *values = job->values;
    const bh_op op = job->op;
    const uint64_t end = bh_share_end(&job->shares, task);
    uint64_t i = bh_share_first(&job->shares, task), to = job->sum[task];
    int carried = i && bh_element(keys, key_bytes, i) == bh_element(keys, key_bytes, i - 1);

    job->carries[task] = (uint8_t)carried;
    while (i < end) {
        const uint64_t key = bh_element(keys, key_bytes, i), begin = i;
        uint64_t value = value_bytes ? bh_element(values, value_bytes, i) : 0;

        for (i++; i < end && bh_element(keys, key_bytes, i) == key; i++)
            if (value_bytes)
                value = bh_combine(op, value_bytes, value, bh_element(values, value_bytes, i));
        if (carried) {
            job->carry[task] = value;
            carried = 0;
            continue;
        }
        bh_element_set(job->keys_out, key_bytes, to, key);
        if (value_bytes)
            bh_element_set(job->out, value_bytes, to, value);
        if (job->starts)
            job->starts[to] = begin;
        to++;
    }
}

static void bh_by_key_task(void *argument, uint64_t task)
{
    bh_along_job *job = (bh_along_job *)argument;

    if (job->key_bytes == 4) {
        if (job->value_bytes == 0)
            bh_by_key_text(job, task, 4, 0);
        else if (job->value_bytes == 4)
            bh_by_key_text(job, task, 4, 4);
        else
            bh_by_key_text(job, task, 4, 8);
    } else {
        if (job->value_bytes == 0)
            bh_by_key_text(job, task, 8, 0);
        else if (job->value_bytes == 4)
            bh_by_key_text(job, task, 8, 4);
        else
            bh_by_key_text(job, task, 8, 8);
    }
}

static int bh_reduce_by_key(const bh__where *where, bh_op op, const void *keys, uint32_t key_bytes,
                            const void *values, uint32_t value_bytes, uint64_t n, void *keys_out,
                            void *values_out, uint64_t *starts, uint64_t *runs)
{
    bh_along_job job;
    uint64_t task;

    job.shares = bh_shares_cut(where, n, BH_SHARE_LEAST_ALONG, BH_TASKS_MOST);
    job.op = op;
    job.keys = keys;
    job.values = values;
    job.key_bytes = key_bytes;
    job.value_bytes = values ? value_bytes : 0;
    job.keys_out = keys_out;
    job.out = values_out;
    job.starts = starts;
    bh_tasks_run(where, bh_runs_task, &job, job.shares.tasks);
    *runs = bh_along_sums(&job, 0);
    bh_tasks_run(where, bh_by_key_task, &job, job.shares.tasks);
    /* A run that goes on over several shares gets what each of them carries, in their order. */
    for (task = 0; values && task < job.shares.tasks; task++)
        if (job.carries[task])
            bh_element_set(values_out, value_bytes, job.sum[task] - 1,
                           bh_combine(op, value_bytes,
                                      bh_element(values_out, value_bytes, job.sum[task] - 1),
                                      job.carry[task]));
    return 1;
}

#endif
