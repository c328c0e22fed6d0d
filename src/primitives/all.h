/*
 * All primitives as one table: what a unit (cpu/unit.c) hands out. What each does stands in
 * primitives.h, how it does it in the other files.
 */
#ifndef BH_PRIMITIVES_ALL_H
#define BH_PRIMITIVES_ALL_H

#include "primitives/partition.h"
#include "primitives/sort.h"

static const bh__primitives bh_primitives = {
    0, 0, 0, 0, 0, bh_partition_count, bh_partition_scatter, bh_partition_end, bh_sort_by_key, 0, 0,
};

#endif
