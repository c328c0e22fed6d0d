/*
 * The library's own executor: a pool of threads, started at the first job that
 * has more than one task.
 */
#ifndef BH_CPU_POOL_H
#define BH_CPU_POOL_H

#include "bulkhash/bulkhash.h"

typedef struct bh__pool bh__pool;

/* A pool in which `threads` threads run tasks, the caller of run included. NULL: no memory. */
bh__pool *bh__pool_create(const bh_system *system, uint32_t threads);
void bh__pool_destroy(bh__pool *pool);
bh_executor bh__pool_executor(bh__pool *pool);

#endif
