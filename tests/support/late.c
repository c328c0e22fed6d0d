/* A bringer that is late; see late.h. */
#include "support/late.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "support/check.h"
#include "support/random.h"

/* A region that this thread has asked for and that was not there yet. One that falls on the same entry
 * takes its place: then it is late anew. */
typedef struct awaited {
    uint64_t offset; // 0: none
    uint32_t left;   // so often it will still be refused
} awaited;

#define AWAITED 1024

static _Thread_local awaited list[AWAITED];
static _Thread_local uint64_t drawn;
static uint64_t threads, asks, refusals, held;

static uint32_t draw(void)
{
    if (!drawn)
        drawn = test_seed() + 1000 * bh__atomic_add(&threads, 1, __ATOMIC_RELAXED);
    return (uint32_t)(random_mix64(++drawn) % 4);
}

static uint64_t ask(void *state, uint64_t offset, uint32_t bytes, int to_write)
{
    awaited *a = &list[random_mix64(offset) % AWAITED];

    (void)state;
    (void)bytes;
    (void)to_write;
    (void)bh__atomic_add(&asks, 1, __ATOMIC_RELAXED);
    if (a->offset != offset)
        *a = (awaited){offset, draw()};
    if (a->left) {
        a->left--;
        (void)bh__atomic_add(&refusals, 1, __ATOMIC_RELAXED);
        return 0;
    }
    a->offset = 0;
    (void)bh__atomic_add(&held, 1, __ATOMIC_RELAXED);
    return offset ^ LATE_BITS;
}

static void let_go(void *state, uint64_t offset, uint32_t bytes, uint64_t address, int written)
{
    (void)state;
    (void)bytes;
    (void)written;
    if (address != (offset ^ LATE_BITS) || !bh__atomic_load(&held, __ATOMIC_RELAXED)) {
        fprintf(stderr, "a region was let go of that was not brought\n");
        abort();
    }
    (void)bh__atomic_subtract(&held, 1, __ATOMIC_RELAXED);
}

static void at_end(void)
{
    if (held || (asks > 64 && !refusals)) { // one in four is refused
        fprintf(stderr, "%llu regions were not let go of; %llu were late\n",
                (unsigned long long)held, (unsigned long long)refusals);
        abort();
    }
}

const bh__bringer *late_bringer(void)
{
    static const bh__bringer bringer = {NULL, ask, let_go};
    static uint64_t asked;

    if (!getenv("BULKHASH_TEST_LATE"))
        return NULL;
    if (!bh__atomic_add(&asked, 1, __ATOMIC_RELAXED))
        atexit(at_end);
    return &bringer;
}
