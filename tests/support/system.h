/*
 * A table of system functions that watches and fails: what lets a test prove that the library asks
 * the system for everything through bh_system, gives back what it took, and survives every
 * refusal.
 *
 * It stands in front of the library's own functions. It remembers every piece of memory and every
 * address range handed out, checks that each comes back once and with its size, counts calls by
 * kind, and refuses the n-th call of the chosen kinds, once or from then on for ever.
 */
#ifndef BULKHASH_TESTS_SUPPORT_SYSTEM_H
#define BULKHASH_TESTS_SUPPORT_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <bulkhash/bulkhash.h>

/* The kinds of calls that can be refused, as bits; and some that are only counted. */
enum {
    WATCH_ALLOCATE,
    WATCH_RESERVE,
    WATCH_COMMIT,
    WATCH_DECOMMIT,
    WATCH_THREAD,
    WATCH_RANDOM,
    WATCH_OF_MEMORY, /* the kinds before this one are what WATCH_ALL_FAULTS stands for */
    WATCH_PREPARE =
        WATCH_OF_MEMORY, /* barrier_prepare: no call fails for it, and none for the next */
    WATCH_BARRIER,
    WATCH_FAULTS, /* how many kinds can be refused */
    WATCH_CLOCK = WATCH_FAULTS,
    WATCH_STARTED, /* threads that really started */
    WATCH_JOIN,
    WATCH_KINDS
};
#define WATCH_BIT(kind) (1u << (kind))
#define WATCH_ALL_FAULTS ((1u << WATCH_OF_MEMORY) - 1u)

typedef struct watched_piece {
    const void *memory;
    uint64_t bytes;
    bool is_reservation;
} watched_piece;

typedef struct watched_system {
    bh_system system;   /* give its address to the context */
    bh_system original; /* the library's own functions */
    pthread_mutex_t lock;
    uint64_t calls[WATCH_KINDS];
    watched_piece *pieces; /* what the library holds now */
    uint64_t pieces_count;
    uint64_t pieces_room;

    unsigned fault_kinds;  /* WATCH_BITs that the countdown counts */
    uint64_t fault_in;     /* the how-manieth of those calls is refused; 0: none */
    bool fault_for_ever;   /* refuse all of them from there on */
    uint64_t faults_fired; /* how many were refused since the fault was set */

    const char *target;  /* not NULL: what the environment's BULKHASH_TARGET says */
    uint32_t processors; /* not 0: how many processors there are */
    bool random_fixed;   /* random bytes are a fixed sequence */
    uint64_t random_state;
} watched_system;

/* The struct must stay where it is, and outlive the contexts that use it. */
void watched_start(watched_system *watched);

/* Ends the watch; fails the test if the library kept anything or left a thread unjoined. */
void watched_end(watched_system *watched);

/* Refuses the `nth` (from 1) call from now on of the kinds in the mask, once or for ever. */
void watched_refuse(watched_system *watched, unsigned kinds, uint64_t nth, bool for_ever);

/* Refuses nothing any more; returns how many calls were refused. */
uint64_t watched_allow(watched_system *watched);

/* How many calls of a kind there were. */
uint64_t watched_calls(watched_system *watched, int kind);

/* Bytes of allocations and reservations that the library holds now. */
uint64_t watched_bytes(watched_system *watched);

#endif
