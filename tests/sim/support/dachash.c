/*
 * What scenes know of DACHash. A node has one slot here (cmake/library.cmake), so each key behind the first of a bucket has a node of its own. A key's number says
 * where it lives in a table that has not grown:
 *
 *     number   bucket, where there are two   next bit of the hash
 *     0 .. 3   0                             number % 2
 *     4 .. 7   1                             number % 2
 *     8, 9     as 0 and 1
 *     10, 11   as 4 and 5
 */
#include "sim/support/design.h"
#include "support/check.h"

/* The inside of a table: which keys live where. */
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/dachash/ops.h"

#include "support/chains.h"

static bool fits(const bh_table *table, uint32_t number, uint64_t key)
{
    const bh_da_geometry *g = table->policy->geometry(table);
    const uint64_t hash = bh_hash_key(key, &g->seed).one;
    const uint32_t bucket = number < 8 ? number / 4 : number / 10;

    return (hash >> g->doublings & 1) == number % 2 &&
           (g->base != 2 || bh_hash_range(hash, 2) == bucket);
}

static void check_chains(const bh_table *table)
{
    const chains count = chains_count(table);

    if (count.wrong != NULL) {
        scene_complain("%s", count.wrong);
    }
    if (table->keys + table->room != table->max_keys) {
        scene_complain("%llu keys and room for %llu, of %llu in all",
                       (unsigned long long)table->keys, (unsigned long long)table->room,
                       (unsigned long long)table->max_keys);
    }
}

// One bucket for three keys; two for six.
#define ONE .key_bytes = 8, .value_bytes = 8, .max_percent = 250, .capacity = 1, .seed = 1
#define TWO .key_bytes = 8, .value_bytes = 8, .max_percent = 200, .capacity = 4, .seed = 1

static const scene_state states[] = {
    {"empty", 0, {1, 4, NONE}, false, {TWO}},
    {"in the first node", 0, {1, 4, NONE}, false, {TWO, START(1, PUT(1, K(0)))}},
    {"in the second node", 0, {1, 2, 4, NONE}, false, {TWO, START(1, PUT(2, K(1), K(0)))}},
    {"in the last of three", 0, {1, 3, NONE}, true, {TWO, START(1, PUT(3, K(1), K(2), K(0)))}},
    {"behind a hole", 0, {1, 3, 4, NONE}, false, {TWO, START(2, PUT(2, K(1), K(0)), TAKE(1))}},
    {"absent, no hole", 0, {1, 3, NONE}, false, {TWO, START(1, PUT(2, K(1), K(2)))}},
    {"absent, a hole", 0, {2, 1, NONE}, true, {TWO, START(2, PUT(3, K(1), K(2), K(3)), TAKE(1))}},
    {"no room", 2, {0, 1, NONE}, false, {ONE, START(1, PUT(2, K(0), K(1)))}},
    {"half split", 0, {1, 4, NONE}, true, {TWO, START(1, PUT(5, K(0), K(1), K(2), K(4), K(5)))}},
    {"large, to be compacted",
     0,
     {1, NONE},
     false,
     {ONE, START(2, RESERVE(9), PUT(2, K(0), K(1)))}},
    {"about to shrink",
     0,
     {1, 4, NONE},
     false,
     {TWO, START(5, PUT(5, K(0), K(1), K(2), K(4), K(5)), TAKE(1), TAKE(2), TAKE(4), TAKE(5))}},
};

const scene_design bh_da_scenes = {fits,  check_chains,       false, true,
                                   false, TEST_COUNT(states), states};
