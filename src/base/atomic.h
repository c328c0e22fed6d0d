/*
 * Accesses to words that several threads share: the compilers' atomic built-ins,
 * with the order on the access. Everything in the library that threads share
 * without a lock of the system goes through here, tables' lines included
 * (targets/host.h). So one build can insert a point before each access at which
 * another thread may run: the target sim (targets/sim.h), in which a test drives all
 * interleavings of a few threads. In every other build these are the bare built-ins.
 */
#ifndef BH_BASE_ATOMIC_H
#define BH_BASE_ATOMIC_H

#include <stdint.h>

#if defined(BH_TARGET_SIM)
/* Defined by the test that links the build. A point may run other threads before it returns. A store may be
 * held back, until the same thread next changes something: then it comes before that. */
void bh__sim_point(void);
void bh__sim_hold_back(uint64_t *p, uint64_t value);
void bh__sim_let_go(void);
#define bh__shared_access() bh__sim_point()
#define bh__shared_change() (bh__sim_point(), bh__sim_let_go())
#define bh__atomic_store_ahead(p, value) bh__sim_hold_back((p), (value))
#else
#define bh__shared_access() ((void)0)
#define bh__shared_change() ((void)0)

/* Stores a uint64_t ahead of the loads that follow in the program. The compiler keeps that order; the
 * processor may not, so whoever relies on it has a barrier put between (base/gate.h). */
#define bh__atomic_store_ahead(p, value)                                                           \
    do {                                                                                           \
        __atomic_store_n((p), (value), __ATOMIC_RELAXED);                                          \
        __asm__ volatile("" ::: "memory");                                                         \
    } while (0)
#endif

/* Of numbers that only advise: whatever another thread has stored there, what follows is right. So a build for tests need not
 * run other threads in between. */
#define bh__advice_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define bh__advice_store(p, value) __atomic_store_n((p), (value), __ATOMIC_RELAXED)

#define bh__atomic_load(p, order) (bh__shared_access(), __atomic_load_n((p), (order)))
#define bh__atomic_store(p, value, order)                                                          \
    (bh__shared_change(), __atomic_store_n((p), (value), (order)))

/* These five answer the value before. */
#define bh__atomic_add(p, value, order)                                                            \
    (bh__shared_change(), __atomic_fetch_add((p), (value), (order)))
#define bh__atomic_subtract(p, value, order)                                                       \
    (bh__shared_change(), __atomic_fetch_sub((p), (value), (order)))
#define bh__atomic_or(p, value, order)                                                             \
    (bh__shared_change(), __atomic_fetch_or((p), (value), (order)))
#define bh__atomic_and(p, value, order)                                                            \
    (bh__shared_change(), __atomic_fetch_and((p), (value), (order)))

#define bh__atomic_exchange(p, value, order)                                                       \
    (bh__shared_change(), __atomic_exchange_n((p), (value), (order)))

/* If *p is *expected, stores `desired` and answers true; else reads *p into *expected. */
#define bh__atomic_swap_if(p, expected, desired, success, failure)                                 \
    (bh__shared_change(),                                                                          \
     __atomic_compare_exchange_n((p), (expected), (desired), 0, (success), (failure)))

#endif
