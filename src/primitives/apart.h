/*
 * The primitives whose accesses lie apart: gather, scatter, lower_bound.
 *
 * Their cost is lines of memory at random addresses, so all of them prefetch lines long before they use
 * them.
 */
#ifndef BH_PRIMITIVES_APART_H
#define BH_PRIMITIVES_APART_H

#include "primitives/columns.h"

/* Rows between the prefetch of a line and its use: more than the cache misses that a core has at once. */
#define BH_APART_AHEAD 64u

/* Binary searches that run side by side. */
#define BH_APART_SEARCHES 32u
#define BH_APART_SEARCHES_LEAST 1024u

typedef struct bh_apart_job {
    bh_shares shares;
    const void *values;  /* lower_bound: what is wanted */
    const void *indexes; /* lower_bound: the keys */
    uint32_t value_bytes;
    uint32_t index_bytes;
    uint64_t n;
    void *out;
} bh_apart_job;

BH_FN const void *bh_apart_from(const void *array, uint32_t bytes, uint64_t i)
{
    return (const char *)array + i * bytes;
}

BH_FN void bh_gather_text(const bh_apart_job *job, uint64_t first, uint64_t end,
                          const uint32_t value_bytes, const uint32_t index_bytes)
{
    const uint64_t ahead = end - first > BH_APART_AHEAD ? end - BH_APART_AHEAD : first;
    uint64_t i;

    for (i = first; i < ahead; i++) {
        bh_bring(bh_apart_from(job->values, value_bytes,
                               bh_element(job->indexes, index_bytes, i + BH_APART_AHEAD)));
        bh_element_set(
            job->out, value_bytes, i,
            bh_element(job->values, value_bytes, bh_element(job->indexes, index_bytes, i)));
    }
    for (; i < end; i++)
        bh_element_set(
            job->out, value_bytes, i,
            bh_element(job->values, value_bytes, bh_element(job->indexes, index_bytes, i)));
}

/* Two tasks may have the same index. It does not matter which of them comes last, but the value must not be
 * torn: half of the one and half of the other. */
BH_FN void bh_scatter_one(const bh_apart_job *job, uint64_t i, const uint32_t value_bytes,
                          const uint32_t index_bytes)
{
    const uint64_t value = bh_element(job->values, value_bytes, i);
    const uint64_t to = bh_element(job->indexes, index_bytes, i);

    if (value_bytes == 1)
        bh__atomic_store((uint8_t *)job->out + to, (uint8_t)value, __ATOMIC_RELAXED);
    else if (value_bytes == 4)
        bh__atomic_store((uint32_t *)job->out + to, (uint32_t)value, __ATOMIC_RELAXED);
    else
        bh__atomic_store((uint64_t *)job->out + to, value, __ATOMIC_RELAXED);
}

BH_FN void bh_scatter_text(const bh_apart_job *job, uint64_t first, uint64_t end,
                           const uint32_t value_bytes, const uint32_t index_bytes)
{
    const uint64_t ahead = end - first > BH_APART_AHEAD ? end - BH_APART_AHEAD : first;
    uint64_t i;

    for (i = first; i < ahead; i++) {
        bh_bring_to_write(bh_apart_from(job->out, value_bytes,
                                        bh_element(job->indexes, index_bytes, i + BH_APART_AHEAD)));
        bh_scatter_one(job, i, value_bytes, index_bytes);
    }
    for (; i < end; i++)
        bh_scatter_one(job, i, value_bytes, index_bytes);
}

/* A task for each of the two, which picks the instance of its widths. */
#define BH_APART_TASK(name)                                                                        \
    static void name##_task(void *argument, uint64_t task)                                         \
    {                                                                                              \
        const bh_apart_job *job = (const bh_apart_job *)argument;                                  \
        const uint64_t first = bh_share_first(&job->shares, task);                                 \
        const uint64_t end = bh_share_end(&job->shares, task);                                     \
                                                                                                   \
        if (job->index_bytes == 4) {                                                               \
            if (job->value_bytes == 1)                                                             \
                name##_text(job, first, end, 1, 4);                                                \
            else if (job->value_bytes == 4)                                                        \
                name##_text(job, first, end, 4, 4);                                                \
            else                                                                                   \
                name##_text(job, first, end, 8, 4);                                                \
        } else {                                                                                   \
            if (job->value_bytes == 1)                                                             \
                name##_text(job, first, end, 1, 8);                                                \
            else if (job->value_bytes == 4)                                                        \
                name##_text(job, first, end, 4, 8);                                                \
            else                                                                                   \
                name##_text(job, first, end, 8, 8);                                                \
        }                                                                                          \
    }
BH_APART_TASK(bh_gather)
BH_APART_TASK(bh_scatter)
#undef BH_APART_TASK

static void bh_apart_run(const bh__where *where, void (*task)(void *argument, uint64_t index),
                         const void *values, uint32_t value_bytes, const void *indexes,
                         uint32_t index_bytes, uint64_t n, void *out)
{
    bh_apart_job job = {bh_shares_cut(where, n, BH_SHARE_LEAST, UINT64_MAX),
                        values,
                        indexes,
                        value_bytes,
                        index_bytes,
                        n,
                        out};

    bh_tasks_run(where, task, &job, job.shares.tasks);
}

static void bh_gather(const bh__where *where, const void *values, uint32_t value_bytes,
                      const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    bh_apart_run(where, bh_gather_task, values, value_bytes, indexes, index_bytes, n, out);
}

static void bh_scatter(const bh__where *where, const void *values, uint32_t value_bytes,
                       const void *indexes, uint32_t index_bytes, uint64_t n, void *out)
{
    bh_apart_run(where, bh_scatter_task, values, value_bytes, indexes, index_bytes, n, out);
}

/*
 * Each search halves the keys left, all searches by the same steps. A step picks a half without a
 * branch and prefetches the line of the next step; then the other searches take their steps.
 */
BH_FN void bh_lower_bound_some(const void *keys, uint64_t n, const void *wanted, uint32_t count,
                               uint64_t *positions, const uint32_t key_bytes)
{
    uint64_t at[BH_APART_SEARCHES], left = n;
    uint32_t i;

    for (i = 0; i < count; i++)
        at[i] = 0;
    while (left > 1) {
        const uint64_t half = left / 2, next = (left - half) / 2;

        for (i = 0; i < count; i++) {
            const uint64_t smaller =
                bh_element(keys, key_bytes, at[i] + half - 1) < bh_element(wanted, key_bytes, i);

            at[i] += half & (0 - smaller); /* compilers would make a branch of half * smaller */
            bh_bring(bh_apart_from(keys, key_bytes, at[i] + (next ? next - 1 : 0)));
        }
        left -= half;
    }
    for (i = 0; i < count; i++)
        positions[i] =
            at[i] + (left && bh_element(keys, key_bytes, at[i]) < bh_element(wanted, key_bytes, i));
}

BH_FN void bh_lower_bound_text(const bh_apart_job *job, uint64_t first, uint64_t end,
                               const uint32_t key_bytes)
{
    uint64_t *positions = (uint64_t *)job->out, i;

    for (i = first; end - i >= BH_APART_SEARCHES; i += BH_APART_SEARCHES)
        bh_lower_bound_some(job->indexes, job->n, bh_apart_from(job->values, key_bytes, i),
                            BH_APART_SEARCHES, positions + i, key_bytes);
    if (i < end)
        bh_lower_bound_some(job->indexes, job->n, bh_apart_from(job->values, key_bytes, i),
                            (uint32_t)(end - i), positions + i, key_bytes);
}

static void bh_lower_bound_task(void *argument, uint64_t task)
{
    const bh_apart_job *job = (const bh_apart_job *)argument;
    const uint64_t first = bh_share_first(&job->shares, task);
    const uint64_t end = bh_share_end(&job->shares, task);

    if (job->value_bytes == 4)
        bh_lower_bound_text(job, first, end, 4);
    else
        bh_lower_bound_text(job, first, end, 8);
}

static void bh_lower_bound(const bh__where *where, const void *keys, uint32_t key_bytes, uint64_t n,
                           const void *wanted, uint64_t count, uint64_t *positions)
{
    bh_apart_job job = {bh_shares_cut(where, count, BH_APART_SEARCHES_LEAST, UINT64_MAX),
                        wanted,
                        keys,
                        key_bytes,
                        key_bytes,
                        n,
                        positions};

    bh_tasks_run(where, bh_lower_bound_task, &job, job.shares.tasks);
}

#endif
