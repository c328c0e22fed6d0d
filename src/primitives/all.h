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
    .reduce = bh_reduce_values,
    .scan = bh_scan,
    .compact = bh_compact_rows,
    .gather = bh_gather,
    .scatter = bh_scatter,
    .partition_count = bh_partition_count,
    .partition_scatter = bh_partition_scatter,
    .partition_end = bh_partition_end,
    .sort_by_key = bh_sort_by_key,
    .reduce_by_key = bh_reduce_by_key,
    .lower_bound = bh_lower_bound,
    .parts_most = BH__PARTS_MOST,
};

#endif
