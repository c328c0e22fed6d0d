/*
 * How passes over a whole array or table are cut into tasks for an executor.
 * A pass is a function that works on the items [first, first + count); ranges
 * may run at the same time, in any order.
 */
#ifndef BH_BASE_RUN_H
#define BH_BASE_RUN_H

#include "bulkhash/bulkhash.h"

typedef void (*bh__range)(void *argument, uint64_t first, uint64_t count);

/* Runs `range` over [0, items) in parts of `grain` items; in the calling thread when there is
 * only one part. Returns when all is done. */
void bh__run(const bh_executor *executor, bh__range range, void *argument, uint64_t items,
             uint64_t grain);

#endif
