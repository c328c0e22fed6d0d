/*
 * What scenes know of linear probing (sim/support/design.h). Lines have two slots there, and the smallest
 * table is two lines. A key's number says where it lives in a table that has not grown:
 *
 *     number                 0 .. 3, 8, 9    4 .. 7, 10, 11
 *     home                   line 0          line 1
 *     home in twice as many  line number%2   line 2 + number%2
 */
#include "sim/support/design.h"
#include "support/check.h"

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include "probing/ops.h"

/* The line in a table of twice as many says in which half of it. */
static bool fits(const bh_table *table, uint32_t number, uint64_t key)
{
    const uint32_t home = number < 8 ? number / 4 : number / 2 % 2;
    bh_lp_geometry g = *(const bh_lp_geometry *)table->policy->geometry(table);

    g.count *= 2;
    return bh_lp_home(&g, key) == g.lines + (2 * home + number % 2) * BH_LP_LINE;
}

/* What lies where finds and exports see; but a lock that is left over would hold them up for ever. */
static void check_locks(const bh_table *table)
{
    const bh_lp_geometry *g = table->policy->geometry(table);

    for (uint64_t i = 0; i < g->count; i++) {
        if ((bh_read64(bh_lp_at(g->lines + i * BH_LP_LINE)) & BH_LP_LOCK) != 0) {
            scene_complain("a line is still locked");
        }
    }
}

// Two lines are for three keys; three lines are for five.
#define TWO .key_bytes = 8, .value_bytes = 8, .max_percent = 95, .seed = 1
#define THREE TWO, .capacity = 5
#define FIVE PUT(5, K(1), K(2), K(3), K(4), K(8))
#define GROWN PUT(4, K(0), K(1), K(2), K(4))

static const scene_state states[] = {
    {"empty", 0, {1, 4, NONE}, false, {TWO}},
    {"at home", 0, {1, 4, NONE}, false, {TWO, START(1, PUT(1, K(0)))}},
    {"behind", 0, {1, 4, NONE}, false, {TWO, START(1, PUT(3, K(1), K(2), K(0)))}},
    {"gap at home", 0, {2, 3, 4, NONE}, false, {TWO, START(2, PUT(3, K(1), K(2), K(0)), TAKE(1))}},
    {"round the end", 4, {5, 0, NONE}, false, {TWO, START(1, PUT(3, K(5), K(6), K(4)))}},
    {"absent, home full", 0, {1, 3, 4, NONE}, false, {TWO, START(1, PUT(2, K(1), K(2)))}},
    {"absent, gap", 0, {3, 1, 4, NONE}, false, {TWO, START(2, PUT(3, K(1), K(2), K(3)), TAKE(1))}},
    {"absent, gap later", 0, {3, 4, NONE}, true, {THREE, START(2, FIVE, TAKE(3))}},
    {"no room", 2, {0, 4, NONE}, false, {TWO, START(1, PUT(3, K(0), K(1), K(4)))}},
    {"to shrink", 0, {2, 4, NONE}, false, {TWO, START(4, GROWN, TAKE(1), TAKE(2), TAKE(4))}},
};

const scene_design bh_lp_scenes = {fits,  check_locks,        false, false,
                                   false, TEST_COUNT(states), states};
