/*
 * What scenes know of Stadium hashing. A word of the board has two tickets here, and a line two words, or eight where
 * lanes of a GPU look at half a line at once (cmake/library.cmake). So the smallest table has four slots, or sixteen.
 * A key's number says where it lives in a table that has not grown, and has one line:
 *
 *     number             home word   info
 *     0, 2, 8            0           the first
 *     1, 3, 9            0           another
 *     4, 6, 10           1           the first
 *     5, 7, 11           1           another
 *
 * With eight words all keys live in the first line of the first part:
 *
 *     number             home word                  info
 *     0, 2 .. 6          0                          the first
 *     1, 3 .. 7          0                          another
 *     8 .. 15            3, then words 0, 1, 2      likewise
 *     16 .. 23           4, in the other half       likewise
 */
#include "sim/support/design.h"
#include "support/check.h"

/* The inside of a table: which keys live where. */
#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "tables/stadium/ops.h"

#include "support/board.h"

#if BH_ST_WORDS == 2
static uint32_t home_word(uint32_t number)
{
    return number < 8 ? number / 4 : (number - 8) / 2;
}
#else
static uint32_t home_word(uint32_t number)
{
    return number < 8 ? 0 : number < 16 ? 3 : 4;
}
#endif

static bool fits(const bh_table *table, uint32_t number, uint64_t key)
{
    const bh_st_geometry *g = table->policy->geometry(table);
    const bh_hash hash = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &hash);

    return hash.two % BH_ST_WORDS == home_word(number) &&
           (bh_st_ready(g, &hash) == 3) == (number % 2 == 0) &&
           (BH_ST_WORDS == 2 || (part == &g->part[0] && bh_st_home(g, part, &hash) == 0));
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

// Half of the slots may be taken; all may.
#define HALF .key_bytes = 8, .value_bytes = 8, .max_percent = 50, .capacity = 1, .seed = 1
#define ALL .key_bytes = 8, .value_bytes = 8, .max_percent = 100, .capacity = 1, .seed = 1

#if BH_ST_WORDS == 2
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
#else
// Two lines of one part.
#define LINES .key_bytes = 8, .value_bytes = 8, .max_percent = 100, .capacity = 17, .seed = 1

#define HALF_BUT_ONE PUT(7, K(1), K(3), K(5), K(7), K(9), K(11), K(13))
#define FIRST_HALF PUT(8, K(1), K(3), K(5), K(7), K(9), K(11), K(13), K(15))
#define OTHER_BUT_ONE PUT(7, K(4), K(17), K(18), K(19), K(20), K(21), K(22))
#define OTHER_HALF PUT(8, K(4), K(17), K(18), K(19), K(20), K(21), K(22), K(23))

static const scene_state states[] = {
    {"empty", 0, {1, 2, 8, NONE}, false, {ALL}},
    {"in its home word", 0, {1, 2, NONE}, false, {ALL, START(1, PUT(1, K(0)))}},
    {"behind one with its info", 0, {2, 1, NONE}, false, {ALL, START(1, PUT(2, K(2), K(0)))}},
    {"home has a ticket left", 0, {2, 3, NONE}, false, {ALL, START(1, PUT(1, K(1)))}},
    {"home is full", 0, {2, 8, NONE}, false, {ALL, START(1, PUT(2, K(1), K(2)))}},
    {"the half has a ticket left", 0, {2, 15, 16, NONE}, false, {ALL, START(1, HALF_BUT_ONE)}},
    {"the half is full", 0, {2, 16, NONE}, false, {ALL, START(1, FIRST_HALF)}},
    {"in the other half", 0, {2, 1, NONE}, true, {ALL, START(2, FIRST_HALF, PUT(1, K(0)))}},
    {"the line has a ticket left",
     0,
     {2, 23, NONE},
     true,
     {LINES, START(2, FIRST_HALF, OTHER_BUT_ONE)}},
    {"the line is full", 0, {2, 16, NONE}, true, {LINES, START(2, FIRST_HALF, OTHER_HALF)}},
    {"in the other line",
     0,
     {2, NONE},
     true,
     {LINES, START(3, FIRST_HALF, OTHER_HALF, PUT(1, K(0)))}},
    {"erased", 0, {1, 2, NONE}, false, {ALL, START(2, PUT(1, K(0)), TAKE(0))}},
    {"absent, a hole", 0, {2, 8, NONE}, true, {ALL, START(2, FIRST_HALF, TAKE(7))}},
    {"room for one", 0, {2, 15, NONE}, true, {HALF, START(1, HALF_BUT_ONE)}},
    {"no room", 0, {2, 1, NONE}, true, {HALF, START(1, FIRST_HALF)}},
    {"no slot", 0, {2, 1, NONE}, true, {ALL, START(2, FIRST_HALF, OTHER_HALF)}},
};
#endif

const scene_design bh_st_scenes = {fits,  check_board,        false, true,
                                   false, TEST_COUNT(states), states};
