/*
 * What scenes know of HashFight. A number is its key; subtables, apart, spread and max_percent say nothing.
 * Its buffer has room for two pairs here, its regions for four (cmake/library.cmake).
 */
#include "sim/support/design.h"
#include "support/check.h"

/* What lies where an export sees: it looks at every place that may hold a key, and a find at those where
 * a lookup would. */
static void check_counts(const bh_table *table)
{
    if (table->keys > table->max_keys || table->max_keys > table->slots) {
        scene_complain("%llu keys, room for %llu, %llu slots", (unsigned long long)table->keys,
                       (unsigned long long)table->max_keys, (unsigned long long)table->slots);
    }
}

#define SMALLEST .key_bytes = 8, .value_bytes = 8, .capacity = 1, .seed = 1

static const scene_state states[] = {
    {"empty", 0, {1, NONE}, false, {SMALLEST}},
    {"in a full buffer",
     0,
     {2, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(2, K(0), K(1))}}},
    {"in a generation, about to shrink",
     0,
     {1, 6, NONE},
     false,
     {SMALLEST, .start_count = 3,
      .start = {PUT(5, K(0), K(1), K(2), K(3), K(4)), PUT(1, K(5)), TAKE(4)}}},
    {"in the second of two generations",
     6,
     {0, 8, NONE},
     false,
     {SMALLEST, .start_count = 3,
      .start = {PUT(6, K(0), K(1), K(2), K(3), K(4), K(5)), PUT(3, K(6), K(7), K(9)),
                PUT(1, K(10))}}},
};

const scene_design bh_hf_scenes = {NULL, check_counts,       true,  false,
                                   true, TEST_COUNT(states), states};
