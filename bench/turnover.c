/*
 * turnover: finds in a table whose keys were all erased and replaced by fresh ones, three times over.
 *
 * Beside it stands a fresh table of the same capacity that holds the same keys, in the same
 * repetition. Misses get slower first where keys come and go: a table that never forgets that some key
 * once went elsewhere looks there for ever. Misses are judged by the limit, and not by the fresh table
 * alone, which may be slow for another reason.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define EXPERIMENT .experiment = "turnover", .op = "find", .state = "turned over"

void run_turnover(bench *b)
{
    enum { FIND, MISS, BY_LIMIT, RESULTS };
    const uint64_t n = b->settings.keys;
    result results[RESULTS] = {
        {EXPERIMENT, .name = "find, turned over", .hit_rate = 1, .figure = "of find, fresh"},
        {EXPERIMENT, .name = "miss, turned over", .hit_rate = 0, .figure = "of miss, fresh"},
        {EXPERIMENT}, /* the misses once more */
    };
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    uint32_t repetition;
    int i;

    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        uint32_t salt = salt_of(repetition);
        couple c = {table_of(b, b->context, n), table_of(b, b->context, n), (int)(repetition % 2)};
        bh_table_stats stats;

        fill_keys(b, keys, 0, n, salt);
        fill_values(b, values, keys, n);
        check(bh_insert(c.table, keys, values, n, NULL));
        turn_over(b, c.table, keys, values, n, salt);
        check(bh_insert(c.beside, keys, values, n, NULL));
        fill_keys(b, absent, (TURNOVERS + 1) * n, n, salt);
        stats = stats_of(c.table);
        if (stats.keys != n || stats.slots != stats_of(c.beside).slots)
            fail("the table is not what it should be after its keys were turned over");
        bench_limit(b, c.table);
        memset(values, 0, n * b->settings.value_bytes);
        compare(b, &results[FIND], &c, BH_FIND, keys, values, n, n, NULL);
        check_values(b, values, keys, n);
        compare(b, &results[MISS], &c, BH_FIND, absent, values, n, n, NULL);
        for (i = 0; i < RESULTS; i++)
            result_table(&results[i], &stats);
        bh_table_destroy(c.table);
        bh_table_destroy(c.beside);
    }
    results[BY_LIMIT] = by_limit(b, &results[MISS], 0.5);
    for (i = 0; i < RESULTS; i++)
        print(b, &results[i]);
    free(keys);
    free(absent);
    free(values);
}
