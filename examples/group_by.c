/*
 * GROUP BY: aggregates of one column by the keys of another.
 *
 *     group_by [ROWS [GROUPS [TIMES]]]    30,000,000 rows, 1,000,000 groups, once where nothing is said
 *
 * Two jobs: the sum alone, and the sum, count and minimum together.
 *
 *   one       bh_reduce() does it in one call: the table maps a key to its sum.
 *   several   The table maps a key to the number of its group, and the aggregates are an array by
 *             number: as many of them as one likes, of any kind, in a plain loop. Slice by slice:
 *
 *                 keys -> bh_find(number) -> those MISSING get the next numbers: bh_find_or_insert()
 *                 groups[number] is changed by each row
 *
 *             A key that is new and comes several times in a slice is given several numbers, of which
 *             the table keeps one. The others stay empty and are left out in the end.
 */
#include "example.h"

typedef struct group {
    uint64_t key;
    uint64_t sum;
    uint64_t count;
    uint64_t least;
} group;

static bh_table *table_for(bh_context *context, uint32_t value_bytes)
{
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, 8, value_bytes, 0);
    must(bh_table_create(context, &options, &table));
    return table;
}

/* Answers how many groups there are; *keys and *sums receive them. */
static uint64_t sum_by_key(bh_context *context, const uint64_t *key, const uint64_t *value,
                           uint64_t n, uint64_t **keys, uint64_t **sums)
{
    bh_table *table = table_for(context, 8);
    bh_table_stats stats = {.struct_size = sizeof stats};
    uint64_t position = 0, part, count = 0;

    must(bh_reduce(table, BH_ADD, key, value, n, NULL));
    must(bh_table_get_stats(table, &stats));
    *keys = array(stats.keys, 8);
    *sums = array(stats.keys, 8);
    do { /* a part of the table at a time, as many as there is room for */
        must(bh_export(table, &position, *keys + count, *sums + count, stats.keys - count, &part));
        count += part;
    } while (part);
    bh_table_destroy(table);
    return count;
}

/* Answers how many groups there are; *groups receives them. */
static uint64_t aggregate_by_key(bh_context *context, const uint64_t *key, const uint64_t *value,
                                 uint64_t n, group **groups)
{
    bh_table *table = table_for(context, 4);
    uint32_t *number = array(slice_size + ahead, 4), *next = array(slice_size, 4);
    uint32_t *missing = array(slice_size, 4);
    uint64_t *new_key = array(slice_size, 8), numbers = 0, room = 0, count = 0;
    uint8_t *outcomes = array(slice_size, 1);
    group *all = NULL;

    memset(number, 0, (slice_size + ahead) * 4);
    for (uint64_t at = 0; at < n; at += slice_size) {
        const uint64_t rows = n - at < slice_size ? n - at : slice_size;
        uint64_t fresh = 0;

        must(bh_find(table, key + at, rows, number, outcomes));
        for (uint64_t i = 0; i < rows; i++) { /* without branches: each is written, some stay */
            missing[fresh] = (uint32_t)i;
            fresh += outcomes[i] == BH_MISSING;
        }
        if (numbers + fresh > room) {
            room = 2 * (numbers + fresh);
            all = resized(all, room, sizeof *all);
        }
        for (uint64_t i = 0; i < fresh; i++) {
            new_key[i] = key[at + missing[i]];
            next[i] = (uint32_t)(numbers + i);
            all[numbers + i] = (group){new_key[i], 0, 0, UINT64_MAX};
        }
        must(bh_find_or_insert(table, new_key, next, fresh, NULL));
        for (uint64_t i = 0; i < fresh; i++)
            number[missing[i]] = next[i];
        numbers += fresh;

        for (uint64_t i = 0; i < rows; i++) {
            group *g = &all[number[i]];

            __builtin_prefetch(&all[number[i + ahead]], 1);
            g->sum += value[at + i];
            g->count++;
            g->least = value[at + i] < g->least ? value[at + i] : g->least;
        }
    }
    for (uint64_t i = 0; i < numbers; i++) {
        all[count] = all[i];
        count += all[i].count > 0;
    }
    bh_table_destroy(table);
    free(number);
    free(next);
    free(missing);
    free(new_key);
    free(outcomes);
    *groups = all;
    return count;
}

static int by_key(const void *a, const void *b)
{
    const group *g = a, *h = b;

    return (g->key > h->key) - (g->key < h->key);
}

/* The groups by a plain loop: keys were made from numbers below `most`. */
static uint64_t right_groups(const uint64_t *value, uint64_t n, uint64_t most, group **groups)
{
    group *all = array(most, sizeof *all);
    uint64_t count = 0;

    for (uint64_t g = 0; g < most; g++)
        all[g] = (group){random_at(g), 0, 0, UINT64_MAX};
    for (uint64_t i = 0; i < n; i++) {
        group *g = &all[random_at(i) % most];

        g->sum += value[i];
        g->count++;
        g->least = value[i] < g->least ? value[i] : g->least;
    }
    for (uint64_t g = 0; g < most; g++) {
        all[count] = all[g];
        count += all[g].count > 0;
    }
    qsort(all, count, sizeof *all, by_key);
    *groups = all;
    return count;
}

int main(int argc, char **argv)
{
    const uint64_t n = argument(argc, argv, 1, 30000000, UINT32_MAX);
    const uint64_t most = argument(argc, argv, 2, 1000000, UINT32_MAX);
    const uint64_t times = argument(argc, argv, 3, 1, 1000);
    uint64_t *key = array(n, 8), *value = array(n, 8), *keys = NULL, *sums = NULL;
    uint64_t sum_count = 0, count = 0, digest = 0;
    bh_context *context = NULL;
    group *groups = NULL, *right;
    costs begun;

    for (uint64_t i = 0; i < n; i++) {
        key[i] = random_at(random_at(i) % most); /* sparse keys, `most` different ones */
        value[i] = random_at(~i) % 1000;
    }
    must(bh_context_create("cpu", NULL, &context));

    for (uint64_t i = 0; i < times; i++) {
        free(keys);
        free(sums);
        begun = measure();
        sum_count = sum_by_key(context, key, value, n, &keys, &sums);
        report_costs("group-sum", spent_since(begun));
    }
    for (uint64_t g = 0; g < sum_count; g++)
        digest += mixed(keys[g], sums[g]);
    report_answer("group-sum", sum_count, "groups", digest);

    for (uint64_t i = 0; i < times; i++) {
        free(groups);
        begun = measure();
        count = aggregate_by_key(context, key, value, n, &groups);
        report_costs("group-sum-count-min", spent_since(begun));
    }
    digest = 0;
    for (uint64_t g = 0; g < count; g++)
        digest +=
            mixed(mixed(mixed(groups[g].key, groups[g].sum), groups[g].count), groups[g].least);
    report_answer("group-sum-count-min", count, "groups", digest);

    agrees(sum_count == right_groups(value, n, most, &right));
    agrees(sum_count == count);
    must(bh_sort(context, keys, 8, sums, 8, sum_count));
    qsort(groups, count, sizeof *groups, by_key);
    for (uint64_t g = 0; g < count; g++) {
        agrees(keys[g] == right[g].key && sums[g] == right[g].sum);
        agrees(groups[g].key == right[g].key && groups[g].sum == right[g].sum);
        agrees(groups[g].count == right[g].count && groups[g].least == right[g].least);
    }
    printf("checked against a plain loop over numbered groups\n");

    bh_context_destroy(context);
    free(right);
    free(groups);
    free(keys);
    free(sums);
    free(key);
    free(value);
    return 0;
}
