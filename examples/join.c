/*
 * JOIN: all pairs of a build row and a probe row with equal keys.
 *
 *     join [BUILD [PROBE [TIMES]]]      10,000,000 rows with 30,000,000, once, where nothing is said
 *
 * Two jobs: with keys that are unique in the build table, and with keys that come several times there.
 *
 *   unique    The table maps a key to its row. bh_find() answers for each probe row; those FOUND are
 *             kept, slice by slice.
 *   several   The build side is sorted, rows along with keys, and the table maps a key to its run of
 *             rows: where it starts, and how many there are.
 *
 *                 sorted keys   30 30 50 70 70 70      table   30 -> 0, 2   50 -> 2, 1   70 -> 3, 3
 *                 rows           1  4  3  0  2  5      a probe for 70 joins with rows 0, 2, 5
 */
#include "example.h"

/* Rows that join, of one slice of the probe side. The whole result is an array of these. */
typedef struct matches {
    uint32_t *build;
    uint32_t *probe;
    uint64_t count;
} matches;

static uint64_t slices_of(uint64_t probes)
{
    return (probes + slice_size - 1) / slice_size;
}

static uint64_t slice_rows(uint64_t slice, uint64_t probes)
{
    const uint64_t left = probes - slice * slice_size;

    return left < slice_size ? left : slice_size;
}

static matches matches_new(uint64_t count)
{
    return (matches){array(count, 4), array(count, 4), count};
}

static void matches_free(matches *m, uint64_t probes)
{
    for (uint64_t s = 0; s < slices_of(probes); s++) {
        free(m[s].build);
        free(m[s].probe);
    }
    free(m);
}

/* A table for keys that are looked up several times each. Of its slots more than usual stay empty: then
 * nearly every key is in the first place where it is looked for. */
static bh_table *table_of(bh_context *context, const uint64_t *keys, const void *values,
                          uint32_t value_bytes, uint64_t n)
{
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, 8, value_bytes, n);
    options.max_fill = 0.6;
    must(bh_table_create(context, &options, &table));
    must(bh_insert(table, keys, values, n, NULL));
    return table;
}

/* The rows of the build side by number. */
static uint32_t *rows_of(uint64_t builds)
{
    uint32_t *row = array(builds, 4);

    for (uint64_t i = 0; i < builds; i++)
        row[i] = (uint32_t)i;
    return row;
}

static matches *join_unique(bh_context *context, const uint64_t *build, uint64_t builds,
                            const uint64_t *probe, uint64_t probes)
{
    matches *all = array(slices_of(probes), sizeof *all);
    uint32_t *row = rows_of(builds), *found = array(slice_size, 4), *hit = array(slice_size, 4);
    bh_table *table = table_of(context, build, row, 4, builds);
    uint8_t *outcomes = array(slice_size, 1);

    free(row);
    for (uint64_t s = 0; s < slices_of(probes); s++) {
        const uint64_t first = s * slice_size, n = slice_rows(s, probes);
        uint64_t hits = 0;

        must(bh_find(table, probe + first, n, found, outcomes));
        for (uint64_t i = 0; i < n; i++) { /* without branches: each is written, some stay */
            hit[hits] = (uint32_t)i;
            hits += outcomes[i] == BH_FOUND;
        }
        all[s] = matches_new(hits);
        for (uint64_t h = 0; h < hits; h++) {
            all[s].build[h] = found[hit[h]];
            all[s].probe[h] = (uint32_t)(first + hit[h]);
        }
    }
    bh_table_destroy(table);
    free(found);
    free(hit);
    free(outcomes);
    return all;
}

/* Rows of the build side with one key: a value of 8 bytes. */
typedef struct run {
    uint32_t start;
    uint32_t count;
} run;

/* Sorts the rows of the build side by key; answers a table of the runs. */
static bh_table *table_of_runs(bh_context *context, const uint64_t *build, uint32_t *row,
                               uint64_t builds)
{
    uint64_t *keys = array(builds, 8), distinct = 0;
    run *runs = array(builds, sizeof *runs);
    bh_table *table;

    memcpy(keys, build, builds * 8);
    must(bh_sort(context, keys, 8, row, 4, builds));
    for (uint64_t i = 0; i < builds; i++) {
        if (!distinct || keys[i] != keys[distinct - 1]) {
            keys[distinct] = keys[i]; /* distinct <= i: what is overwritten has been read */
            runs[distinct++] = (run){(uint32_t)i, 0};
        }
        runs[distinct - 1].count++;
    }
    table = table_of(context, keys, runs, sizeof *runs, distinct);
    free(keys);
    free(runs);
    return table;
}

static matches *join_several(bh_context *context, const uint64_t *build, uint64_t builds,
                             const uint64_t *probe, uint64_t probes)
{
    matches *all = array(slices_of(probes), sizeof *all);
    uint32_t *row = rows_of(builds), *hit = array(slice_size + ahead, 4);
    bh_table *table = table_of_runs(context, build, row, builds);
    run *found = array(slice_size, sizeof *found);

    memset(hit, 0, (slice_size + ahead) * 4); /* behind the last one, too, is one to ask for */
    for (uint64_t s = 0; s < slices_of(probes); s++) {
        const uint64_t first = s * slice_size, n = slice_rows(s, probes);
        uint64_t hits = 0, count = 0, at = 0;

        memset(found, 0, n * sizeof *found); /* and a key that is missing leaves it so */
        must(bh_find(table, probe + first, n, found, NULL));
        for (uint64_t i = 0; i < n; i++) {
            hit[hits] = (uint32_t)i;
            hits += found[i].count > 0;
            count += found[i].count;
        }
        all[s] = matches_new(count);
        for (uint64_t h = 0; h < hits; h++) {
            const run r = found[hit[h]];

            __builtin_prefetch(&row[found[hit[h + ahead]].start]);
            for (uint32_t i = 0; i < r.count; i++) {
                all[s].build[at] = row[r.start + i];
                all[s].probe[at++] = (uint32_t)(first + hit[h]);
            }
        }
    }
    bh_table_destroy(table);
    free(row);
    free(hit);
    free(found);
    return all;
}

static void report_pairs(const char *job, const matches *m, uint64_t probes)
{
    uint64_t count = 0, digest = 0;

    for (uint64_t s = 0; s < slices_of(probes); s++) {
        count += m[s].count;
        for (uint64_t i = 0; i < m[s].count; i++)
            digest += mixed(m[s].build[i], m[s].probe[i]);
    }
    report_answer(job, count, "pairs", digest);
}

/* Keys were made from numbers below 2 * distinct, and that of a build row is its index % distinct. */
static void check_pairs(const matches *m, uint64_t builds, uint64_t probes, uint64_t distinct)
{
    for (uint64_t s = 0; s < slices_of(probes); s++) {
        uint64_t expected = 0;

        for (uint64_t i = s * slice_size; i < s * slice_size + slice_rows(s, probes); i++) {
            const uint64_t number = random_at(~i) % (2 * distinct);

            for (uint64_t row = number; number < distinct && row < builds; row += distinct) {
                agrees(expected < m[s].count);
                agrees(m[s].build[expected] == row && m[s].probe[expected] == i);
                expected++;
            }
        }
        agrees(expected == m[s].count);
    }
}

typedef matches *join_function(bh_context *context, const uint64_t *build, uint64_t builds,
                               const uint64_t *probe, uint64_t probes);

static void run_job(bh_context *context, const char *job, join_function *join, uint64_t builds,
                    uint64_t probes, uint64_t distinct, uint64_t times)
{
    uint64_t *build = array(builds, 8), *probe = array(probes, 8);
    matches *m = NULL;

    for (uint64_t i = 0; i < builds; i++)
        build[i] = random_at(i % distinct);
    for (uint64_t i = 0; i < probes; i++)
        probe[i] = random_at(random_at(~i) % (2 * distinct)); /* half of them have a partner */
    for (uint64_t i = 0; i < times; i++) {
        costs begun;

        if (m)
            matches_free(m, probes);
        begun = measure();
        m = join(context, build, builds, probe, probes);
        report_costs(job, spent_since(begun));
    }
    report_pairs(job, m, probes);
    check_pairs(m, builds, probes, distinct);
    matches_free(m, probes);
    free(build);
    free(probe);
}

int main(int argc, char **argv)
{
    const uint64_t builds = argument(argc, argv, 1, 10000000, UINT32_MAX - 1);
    const uint64_t probes = argument(argc, argv, 2, 30000000, UINT32_MAX - 1);
    const uint64_t times = argument(argc, argv, 3, 1, 1000);
    bh_context *context = NULL;

    must(bh_context_create("cpu", NULL, &context));
    run_job(context, "join-unique", join_unique, builds, probes, builds, times);
    run_job(context, "join-several", join_several, builds, probes, builds / 4 + 1, times);
    printf("checked, pair by pair\n");
    bh_context_destroy(context);
    return 0;
}
