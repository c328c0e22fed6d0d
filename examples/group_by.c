/*
 * GROUP BY: sum, count and minimum of one column by the keys of another.
 *
 *     group_by [ROWS [GROUPS]]        30,000,000 rows, 1,000,000 groups where nothing is said
 *
 * Each row gets the number of its group first. bh_find_or_insert() gives all rows of a group the same
 * number: the index of the one row whose element inserted the key. One further pass makes these numbers
 * dense, 0 to groups - 1. Then any aggregates, as many as one likes, are plain loops over arrays:
 *
 *     key     70  30  70  50  30          bh_find_or_insert(keys, values = 0 1 2 3 4)
 *     value    0   1   0   3   1          the row that inserted the key (any of its rows, but the same)
 *     group    0   1   0   2   1          made dense
 *
 * Where one aggregate alone is wanted, bh_reduce() does it in one call: shown below for the count.
 */
#include "example.h"

typedef struct aggregates {
    uint64_t sum;
    uint64_t count;
    uint32_t least;
} aggregates;

/* Turns numbers of rows into numbers of groups; answers how many there are. */
static uint32_t make_dense(uint32_t *row, uint32_t *group, uint64_t n)
{
    uint32_t groups = 0;

    for (uint64_t i = 0; i < n; i++)
        if (row[i] == i)
            group[i] = groups++;
    for (uint64_t i = 0; i < n; i++)
        group[i] = group[row[i]]; /* of a row that inserted its key: as it is */
    return groups;
}

int main(int argc, char **argv)
{
    const uint64_t n = argument(argc, argv, 1, 30000000, UINT32_MAX);
    const uint64_t most = argument(argc, argv, 2, 1000000, UINT32_MAX);
    uint64_t *keys = array(n, 8), *exported = NULL;
    uint32_t *values = array(n, 4), *row = array(n, 4), *group = array(n, 4), *counts = NULL,
             groups;
    uint64_t position = 0, part, all = 0, total = 0;
    bh_context *context = NULL;
    bh_table_options options;
    bh_table *table = NULL;
    aggregates *of;
    double begun;

    for (uint64_t i = 0; i < n; i++) {
        keys[i] = random_at(random_at(i) % most); /* sparse keys, `most` different ones */
        values[i] = (uint32_t)random_at(~i) % 1000;
        row[i] = (uint32_t)i;
    }

    begun = seconds();
    must(bh_context_create("cpu", NULL, &context));
    bh_table_options_init(&options, 8, 4, 0);
    must(bh_table_create(context, &options, &table));
    must(bh_find_or_insert(table, keys, row, n, NULL));
    bh_table_destroy(table);
    groups = make_dense(row, group, n);
    of = array(groups, sizeof *of);
    for (uint32_t g = 0; g < groups; g++)
        of[g] = (aggregates){0, 0, UINT32_MAX};
    for (uint64_t i = 0; i < n; i++) {
        aggregates *a = &of[group[i]];

        a->sum += values[i];
        a->count++;
        a->least = values[i] < a->least ? values[i] : a->least;
    }
    printf("%llu rows, %u groups: sum, count and minimum in %.2f s\n", (unsigned long long)n,
           groups, seconds() - begun);

    /* The count alone: elements without values are counted. */
    begun = seconds();
    table = NULL;
    must(bh_table_create(context, &options, &table));
    must(bh_reduce(table, BH_ADD, keys, NULL, n, NULL));
    printf("the count alone, by bh_reduce: %.2f s\n", seconds() - begun);

    /* The check: keys were made from numbers below `most`, by which an array holds what is right. */
    aggregates *right = array(most, sizeof *right);
    for (uint64_t g = 0; g < most; g++)
        right[g] = (aggregates){0, 0, UINT32_MAX};
    for (uint64_t i = 0; i < n; i++) {
        aggregates *a = &right[random_at(i) % most];

        a->sum += values[i];
        a->count++;
        a->least = values[i] < a->least ? values[i] : a->least;
    }
    for (uint64_t i = 0; i < n; i++) {
        const aggregates *a = &of[group[i]], *b = &right[random_at(i) % most];

        agrees(a->sum == b->sum && a->count == b->count && a->least == b->least);
    }
    exported = array(groups, 8);
    counts = array(groups, 4);
    do { /* a part of the table at a time, as many as there is room for */
        must(bh_export(table, &position, exported + all, counts + all, groups - all, &part));
        all += part;
    } while (part);
    agrees(all == groups);
    for (uint64_t g = 0; g < groups; g++)
        total += counts[g];
    agrees(total == n);
    must(bh_find(table, keys, n, row, NULL));
    for (uint64_t i = 0; i < n; i++)
        agrees(row[i] == right[random_at(i) % most].count);
    printf("checked against a plain loop over numbered groups\n");

    bh_table_destroy(table);
    bh_context_destroy(context);
    free(right);
    free(of);
    free(exported);
    free(counts);
    free(keys);
    free(values);
    free(row);
    free(group);
    return 0;
}
