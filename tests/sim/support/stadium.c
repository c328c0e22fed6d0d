/*
 * What scenes know of Stadium hashing. A word of the board has two tickets here, and a line two words
 * (cmake/library.cmake), so the smallest table has four slots. A key's number says where it lives in a table
 * of one line:
 *
 *     number             home word   info
 *     0, 2, 8            0           the first
 *     1, 3, 9            0           another
 *     4, 6, 10           1           the first
 *     5, 7, 11           1           another
 */
#include "sim/support/design.h"
#include "support/check.h"

/* The inside of a table: which keys live where. */
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/stadium/ops.h"

#include "support/board.h"

static bool fits(const bh_table *table, uint32_t number, uint64_t key)
{
    const bh_st_geometry *g = table->policy->geometry(table);
    const bh_hash hash = bh_hash_key(key, &g->seed);
    const uint32_t word = number < 8 ? number / 4 : (number - 8) / 2;

    return (hash.two & 1) == word && (bh_st_ready(g, &hash) == 3) == (number % 2 == 0);
}

static void check_board(const bh_table *table)
{
    const board count = board_count(table);

    if (count.wrong != NULL) {
        scene_complain("%s", count.wrong);
    }
    if (count.keys != table->keys) {
        scene_complain("%llu keys on the board, and %llu counted", (unsigned long long)count.keys,
                       (unsigned long long)table->keys);
    }
    if (table->keys + table->room != table->max_keys) {
        scene_complain("%llu keys and room for %llu, of %llu in all",
                       (unsigned long long)table->keys, (unsigned long long)table->room,
                       (unsigned long long)table->max_keys);
    }
}

// Of four slots, two may be taken; all may.
#define HALF .key_bytes = 8, .value_bytes = 8, .max_percent = 50, .capacity = 1, .seed = 1
#define ALL .key_bytes = 8, .value_bytes = 8, .max_percent = 100, .capacity = 1, .seed = 1

static const scene_state states[] = {
    {"empty", 0, {1, 2, 4, NONE}, false, {ALL}},
    {"in its home word", 0, {1, 2, 4, NONE}, false, {ALL, START(1, PUT(1, K(0)))}},
    {"behind one with its info", 0, {2, 1, NONE}, false, {ALL, START(1, PUT(2, K(2), K(0)))}},
    {"in the second word", 0, {1, 2, NONE}, false, {ALL, START(1, PUT(3, K(1), K(2), K(0)))}},
    {"behind a hole", 0, {1, 2, NONE}, true, {ALL, START(2, PUT(3, K(1), K(2), K(0)), TAKE(2))}},
    {"absent, a hole", 0, {1, 2, 4, NONE}, true, {ALL, START(2, PUT(2, K(1), K(2)), TAKE(2))}},
    {"absent, a hole in the second word",
     0,
     {8, 2, NONE},
     true,
     {ALL, START(2, PUT(4, K(1), K(2), K(8), K(4)), TAKE(8))}},
    {"erased", 0, {1, 2, NONE}, false, {ALL, START(2, PUT(1, K(0)), TAKE(0))}},
    {"no room", 2, {0, 1, NONE}, false, {HALF, START(1, PUT(2, K(0), K(1)))}},
    {"no slot", 0, {1, 2, NONE}, false, {ALL, START(1, PUT(4, K(1), K(2), K(4), K(5)))}},
    {"large, to be compacted",
     0,
     {1, NONE},
     false,
     {HALF, START(2, RESERVE(9), PUT(2, K(0), K(1)))}},
    {"about to shrink",
     0,
     {1, 4, NONE},
     false,
     {HALF, START(5, PUT(5, K(0), K(1), K(2), K(4), K(5)), TAKE(1), TAKE(2), TAKE(4), TAKE(5))}},
};

const scene_design bh_st_scenes = {fits,  check_board,        false, true,
                                   false, TEST_COUNT(states), states};
