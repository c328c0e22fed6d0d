/*
 * All primitives as one table: what a unit (cpu/unit.c) hands out. What each does stands in
 * primitives.h, how it does it in the other files.
 */
#ifndef BH_PRIMITIVES_ALL_H
#define BH_PRIMITIVES_ALL_H

#include "primitives/along.h"
#include "primitives/apart.h"
#include "primitives/partition.h"
#include "primitives/sort.h"

static const bh__primitives bh_primitives = {
    bh_reduce_values,     bh_scan,
    bh_compact_rows,      bh_gather,
    bh_scatter,           bh_partition_count,
    bh_partition_scatter, bh_partition_end,
    bh_sort_by_key,       bh_reduce_by_key,
    bh_lower_bound,       BH__PARTS_MOST,
};

#endif
