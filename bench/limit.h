/*
 * The limit: how many random 64-byte lines per second this machine reads from
 * memory as large as a table, with the table's allocator, page size and threads.
 * Every result of the benchmark stands beside it. Changing lines has a limit of its own, which is lower: a changed line
 * is written back, and of several threads each locks the line first.
 */
#ifndef BH_BENCH_LIMIT_H
#define BH_BENCH_LIMIT_H

#include "tables/table.h"

typedef struct limit limit;

/* Memory of `bytes`, taken and touched as a table's is. NULL: none. */
limit *limit_create(const bh__backend *backend, uint64_t bytes);
void limit_destroy(limit *l);

/* Finds the window (lines in flight per thread, 16 to 512) that reads most lines, and keeps it for
 * the runs that follow. Answers it. */
uint32_t limit_tune(limit *l);

/* Million lines per second with the window found. */
double limit_run(limit *l);

/* Million lines per second that are changed: read, and two words of them written, the least that a table
 * does. `locked`: the first of these words by a compare-and-swap before, as a bucket is locked. */
double limit_change(limit *l, int locked);

#endif
