/*
 * JOIN: all pairs of a build row and a probe row with equal keys.
 *
 *     join [BUILD [PROBE]]      10,000,000 rows with 30,000,000 where nothing is said
 *
 * Twice: with keys that are unique in the build table, and with keys that come several times there.
 *
 *   unique    The table maps a key to its row. bh_find() answers for each probe row; those FOUND are
 *             kept.
 *   several   The build side is sorted, rows along with keys, and the table maps a key to where its run
 *             begins. Behind a probe row's start the run is read to its end:
 *
 *                 sorted keys   30 30 50 70 70 70      table   30 -> 0   50 -> 2   70 -> 3
 *                 rows           1  4  3  0  2  5      a probe for 70 joins with rows 0, 2, 5
 */
#include "example.h"

/* Rows that join: as many as there are. */
typedef struct matches {
    uint32_t *build;
    uint32_t *probe;
    uint64_t count;
} matches;

static matches matches_new(uint64_t most)
{
    return (matches){array(most, 4), array(most, 4), 0};
}

static void matches_free(matches *m)
{
    free(m->build);
    free(m->probe);
}

static bh_table *table_for(bh_context *context, uint64_t keys)
{
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, 8, 4, keys);
    options.design = BH_HASHFIGHT; /* built by one call, looked up by others */
    must(bh_table_create(context, &options, &table));
    return table;
}

static matches join_unique(bh_context *context, const uint64_t *build, uint64_t builds,
                           const uint64_t *probe, uint64_t probes)
{
    uint32_t *row = array(builds > probes ? builds : probes, 4);
    uint8_t *outcomes = array(probes, 1);
    bh_table *table = table_for(context, builds);
    matches m = matches_new(probes);

    for (uint64_t i = 0; i < builds; i++)
        row[i] = (uint32_t)i;
    must(bh_insert(table, build, row, builds, NULL));
    must(bh_find(table, probe, probes, row, outcomes));
    for (uint64_t i = 0; i < probes; i++) { /* without branches: each is written, some stay */
        m.build[m.count] = row[i];
        m.probe[m.count] = (uint32_t)i;
        m.count += outcomes[i] == BH_FOUND;
    }
    bh_table_destroy(table);
    free(row);
    free(outcomes);
    return m;
}

static matches join_several(bh_context *context, const uint64_t *build, uint64_t builds,
                            const uint64_t *probe, uint64_t probes)
{
    uint64_t *sorted = array(builds, 8), *unique = array(builds, 8), total = 0;
    uint32_t *row = array(builds, 4), *start = array(builds, 4), *found = array(probes, 4),
             runs = 0;
    uint8_t *outcomes = array(probes, 1);
    bh_table *table;
    matches m;

    for (uint64_t i = 0; i < builds; i++) {
        sorted[i] = build[i];
        row[i] = (uint32_t)i;
    }
    must(bh_sort(context, sorted, 8, row, 4, builds));
    for (uint64_t i = 0; i < builds; i++) {
        if (i && sorted[i] == sorted[i - 1])
            continue;
        unique[runs] = sorted[i];
        start[runs++] = (uint32_t)i;
    }
    table = table_for(context, runs);
    must(bh_insert(table, unique, start, runs, NULL));
    must(bh_find(table, probe, probes, found, outcomes));
    for (uint64_t i = 0; i < probes; i++) {
        found[i] = outcomes[i] == BH_FOUND ? found[i] : (uint32_t)builds; /* no run begins there */
        for (uint64_t at = found[i]; at < builds && sorted[at] == probe[i]; at++)
            total++;
    }
    m = matches_new(total);
    for (uint64_t i = 0; i < probes; i++) {
        for (uint64_t at = found[i]; at < builds && sorted[at] == probe[i]; at++) {
            m.build[m.count] = row[at];
            m.probe[m.count++] = (uint32_t)i;
        }
    }
    bh_table_destroy(table);
    free(sorted);
    free(unique);
    free(row);
    free(start);
    free(found);
    free(outcomes);
    return m;
}

int main(int argc, char **argv)
{
    const uint64_t builds = argument(argc, argv, 1, 10000000, UINT32_MAX - 1);
    const uint64_t probes = argument(argc, argv, 2, 30000000, UINT32_MAX - 1);
    const uint64_t distinct = builds / 4 + 1; /* keys of the second build table */
    uint64_t *build = array(builds, 8), *probe = array(probes, 8), expected = 0;
    bh_context *context = NULL;
    double begun;
    matches m;

    must(bh_context_create("cpu", NULL, &context));

    for (uint64_t i = 0; i < builds; i++)
        build[i] = random_at(i);
    for (uint64_t i = 0; i < probes; i++)
        probe[i] = random_at(random_at(~i) % (2 * builds)); /* half of them have a partner */
    begun = seconds();
    m = join_unique(context, build, builds, probe, probes);
    printf("%llu unique keys, %llu probes: %llu pairs in %.2f s\n", (unsigned long long)builds,
           (unsigned long long)probes, (unsigned long long)m.count, seconds() - begun);
    /* The check: keys were made from numbers, which for the build rows are their indexes. */
    for (uint64_t i = 0; i < probes; i++)
        expected += random_at(~i) % (2 * builds) < builds;
    agrees(m.count == expected);
    for (uint64_t i = 0; i < m.count; i++) {
        agrees(m.build[i] == random_at(~(uint64_t)m.probe[i]) % (2 * builds));
        agrees(!i || m.probe[i - 1] < m.probe[i]);
    }
    matches_free(&m);

    for (uint64_t i = 0; i < builds; i++)
        build[i] = random_at(i % distinct);
    for (uint64_t i = 0; i < probes; i++)
        probe[i] = random_at(random_at(~i) % (2 * distinct));
    begun = seconds();
    m = join_several(context, build, builds, probe, probes);
    printf("%llu keys, each up to %llu times, %llu probes: %llu pairs in %.2f s\n",
           (unsigned long long)distinct, (unsigned long long)((builds - 1) / distinct + 1),
           (unsigned long long)probes, (unsigned long long)m.count, seconds() - begun);
    expected = 0;
    for (uint64_t i = 0; i < probes; i++) {
        const uint64_t number = random_at(~i) % (2 * distinct);

        for (uint64_t row = number; number < distinct && row < builds; row += distinct) {
            agrees(expected < m.count && m.build[expected] == row && m.probe[expected] == i);
            expected++;
        }
    }
    agrees(expected == m.count);
    matches_free(&m);
    printf("checked, pair by pair\n");

    bh_context_destroy(context);
    free(build);
    free(probe);
    return 0;
}
