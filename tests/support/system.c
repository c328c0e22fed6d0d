/*
 * The watching and failing system functions, see system.h. One lock covers everything the watch
 * remembers; it is never held while an original function runs, so that threads started or joined
 * through it cannot wait for it.
 */
#include "support/system.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"
#include "support/tables.h"

/* Counts a call; whether it is to be refused. */
static bool watched_count(watched_system *watched, int kind)
{
    bool refuse = false;

    pthread_mutex_lock(&watched->lock);
    watched->calls[kind]++;
    if (kind < WATCH_FAULTS && (watched->fault_kinds & WATCH_BIT(kind)) != 0) {
        if (watched->fault_in > 0) {
            watched->fault_in--;
            refuse = watched->fault_in == 0;
        } else {
            refuse = watched->fault_for_ever && watched->faults_fired > 0;
        }
    }
    watched->faults_fired += refuse;
    pthread_mutex_unlock(&watched->lock);
    return refuse;
}

static void watched_remember(watched_system *watched, const void *memory, uint64_t bytes,
                             bool is_reservation)
{
    pthread_mutex_lock(&watched->lock);
    if (watched->pieces_count == watched->pieces_room) {
        watched->pieces_room = watched->pieces_room * 2 + 16;
        watched->pieces = realloc(watched->pieces, watched->pieces_room * sizeof *watched->pieces);
    }
    check(watched->pieces != NULL, "no memory for the test itself");
    watched->pieces[watched->pieces_count++] = (watched_piece){memory, bytes, is_reservation};
    pthread_mutex_unlock(&watched->lock);
}

static void watched_forget(watched_system *watched, const void *memory, uint64_t bytes,
                           bool is_reservation)
{
    bool found = false;

    pthread_mutex_lock(&watched->lock);
    for (uint64_t i = 0; i < watched->pieces_count && !found; i++) {
        const watched_piece piece = watched->pieces[i];
        if (piece.memory == memory && piece.is_reservation == is_reservation) {
            found = true;
            watched->pieces[i] = watched->pieces[--watched->pieces_count];
            if (piece.bytes != bytes) {
                pthread_mutex_unlock(&watched->lock);
                check(piece.bytes == bytes, "%s of %llu bytes given back as one of %llu",
                      is_reservation ? "a reservation" : "an allocation",
                      (unsigned long long)piece.bytes, (unsigned long long)bytes);
            }
        }
    }
    pthread_mutex_unlock(&watched->lock);
    check(found, "%p is given back as %s, but was not taken", memory,
          is_reservation ? "a reservation" : "an allocation");
}

static void *watched_allocate(void *state, uint64_t bytes)
{
    watched_system *watched = state;
    void *memory = NULL;

    if (!watched_count(watched, WATCH_ALLOCATE)) {
        memory = watched->original.allocate(watched->original.state, bytes);
    }
    if (memory != NULL) {
        check(((uintptr_t)memory & 63u) == 0, "allocate's own result is not aligned to 64 bytes");
        watched_remember(watched, memory, bytes, false);
    }
    return memory;
}

static void watched_release(void *state, void *memory, uint64_t bytes)
{
    watched_system *watched = state;

    if (memory != NULL) {
        watched_forget(watched, memory, bytes, false);
    }
    watched->original.release(watched->original.state, memory, bytes);
}

static void *watched_reserve(void *state, uint64_t bytes)
{
    watched_system *watched = state;
    void *memory = NULL;

    if (!watched_count(watched, WATCH_RESERVE)) {
        memory = watched->original.reserve(watched->original.state, bytes);
    }
    if (memory != NULL) {
        watched_remember(watched, memory, bytes, true);
    }
    return memory;
}

/* Fails the test unless all of [memory, memory + bytes) is inside one reservation. */
static void watched_check_inside(watched_system *watched, const void *memory, uint64_t bytes,
                                 const char *what)
{
    bool inside = false;
    uintptr_t first = (uintptr_t)memory;

    pthread_mutex_lock(&watched->lock);
    for (uint64_t i = 0; i < watched->pieces_count; i++) {
        const watched_piece *piece = &watched->pieces[i];
        uintptr_t start = (uintptr_t)piece->memory;
        inside = inside || (piece->is_reservation && first >= start && bytes <= piece->bytes &&
                            first - start <= piece->bytes - bytes);
    }
    pthread_mutex_unlock(&watched->lock);
    check(inside, "%s of %llu bytes outside every reservation", what, (unsigned long long)bytes);
}

static int watched_commit(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    watched_system *watched = state;

    watched_check_inside(watched, memory, bytes, "commit");
    if (watched_count(watched, WATCH_COMMIT)) {
        return -1;
    }
    return watched->original.commit(watched->original.state, memory, bytes, pages);
}

static int watched_decommit(void *state, void *memory, uint64_t bytes)
{
    watched_system *watched = state;

    watched_check_inside(watched, memory, bytes, "decommit");
    if (watched_count(watched, WATCH_DECOMMIT)) {
        return -1;
    }
    return watched->original.decommit(watched->original.state, memory, bytes);
}

static void watched_unreserve(void *state, void *memory, uint64_t bytes)
{
    watched_system *watched = state;

    watched_forget(watched, memory, bytes, true);
    watched->original.unreserve(watched->original.state, memory, bytes);
}

static uint64_t watched_page_bytes(void *state, const void *memory, uint64_t bytes)
{
    watched_system *watched = state;
    return watched->original.page_bytes(watched->original.state, memory, bytes);
}

static int watched_thread_start(void *state, void (*run)(void *argument), void *argument,
                                uint64_t *thread)
{
    watched_system *watched = state;

    if (watched_count(watched, WATCH_THREAD) ||
        watched->original.thread_start(watched->original.state, run, argument, thread) != 0) {
        return -1;
    }
    (void)watched_count(watched, WATCH_STARTED);
    return 0;
}

static void watched_thread_join(void *state, uint64_t thread)
{
    watched_system *watched = state;

    (void)watched_count(watched, WATCH_JOIN);
    watched->original.thread_join(watched->original.state, thread);
}

static uint32_t watched_processors(void *state)
{
    watched_system *watched = state;
    return watched->processors > 0 ? watched->processors
                                   : watched->original.processors(watched->original.state);
}

static void watched_yield(void *state)
{
    watched_system *watched = state;
    watched->original.yield(watched->original.state);
}

static void watched_sleep(void *state, uint64_t nanoseconds)
{
    watched_system *watched = state;
    watched->original.sleep(watched->original.state, nanoseconds);
}

static uint64_t watched_clock(void *state)
{
    watched_system *watched = state;

    (void)watched_count(watched, WATCH_CLOCK);
    return watched->original.clock_nanoseconds(watched->original.state);
}

static int watched_random(void *state, void *bytes, uint64_t count)
{
    watched_system *watched = state;
    uint8_t *bytes_out = bytes;

    if (watched_count(watched, WATCH_RANDOM)) {
        return -1;
    }
    if (!watched->random_fixed) {
        return watched->original.random(watched->original.state, bytes, count);
    }
    pthread_mutex_lock(&watched->lock);
    for (uint64_t i = 0; i < count; i++) {
        rng generator = random_start(watched->random_state++);
        bytes_out[i] = (uint8_t)random_next(&generator);
    }
    pthread_mutex_unlock(&watched->lock);
    return 0;
}

static uint64_t watched_process_id(void *state)
{
    watched_system *watched = state;
    return watched->original.process_id(watched->original.state);
}

static const char *watched_environment(void *state, const char *name)
{
    watched_system *watched = state;

    if (watched->target != NULL && strcmp(name, "BULKHASH_TARGET") == 0) {
        return watched->target;
    }
    return watched->original.environment(watched->original.state, name);
}

static int watched_barrier_prepare(void *state)
{
    watched_system *watched = state;

    return watched_count(watched, WATCH_PREPARE)
               ? -1
               : watched->original.barrier_prepare(watched->original.state);
}

static int watched_barrier(void *state)
{
    watched_system *watched = state;

    return watched_count(watched, WATCH_BARRIER)
               ? -1
               : watched->original.barrier(watched->original.state);
}

void watched_start(watched_system *watched)
{
    memset(watched, 0, sizeof *watched);
    test_system(&watched->original);
    pthread_mutex_init(&watched->lock, NULL);
    watched->system = watched->original; // struct_size, and functions a newer header may add
    watched->system.state = watched;
    watched->system.allocate = watched_allocate;
    watched->system.release = watched_release;
    watched->system.reserve = watched_reserve;
    watched->system.commit = watched_commit;
    watched->system.decommit = watched_decommit;
    watched->system.unreserve = watched_unreserve;
    watched->system.page_bytes = watched_page_bytes;
    watched->system.thread_start = watched_thread_start;
    watched->system.thread_join = watched_thread_join;
    watched->system.processors = watched_processors;
    watched->system.yield = watched_yield;
    watched->system.sleep = watched_sleep;
    watched->system.clock_nanoseconds = watched_clock;
    watched->system.random = watched_random;
    watched->system.process_id = watched_process_id;
    watched->system.environment = watched_environment;
    watched->system.barrier_prepare = watched_barrier_prepare;
    watched->system.barrier = watched_barrier;
}

void watched_end(watched_system *watched)
{
    uint64_t left = watched->pieces_count;
    uint64_t bytes = watched_bytes(watched);
    uint64_t started = watched->calls[WATCH_STARTED];
    uint64_t joined = watched->calls[WATCH_JOIN];

    free(watched->pieces);
    pthread_mutex_destroy(&watched->lock);
    check(left == 0, "%llu pieces of memory (%llu bytes) were not given back",
          (unsigned long long)left, (unsigned long long)bytes);
    check(joined == started, "%llu threads started, %llu joined", (unsigned long long)started,
          (unsigned long long)joined);
}

void watched_refuse(watched_system *watched, unsigned kinds, uint64_t nth, bool for_ever)
{
    pthread_mutex_lock(&watched->lock);
    watched->fault_kinds = kinds;
    watched->fault_in = nth;
    watched->fault_for_ever = for_ever;
    watched->faults_fired = 0;
    pthread_mutex_unlock(&watched->lock);
}

uint64_t watched_allow(watched_system *watched)
{
    uint64_t fired = 0;

    pthread_mutex_lock(&watched->lock);
    fired = watched->faults_fired;
    watched->fault_kinds = 0;
    watched->fault_in = 0;
    watched->fault_for_ever = false;
    watched->faults_fired = 0;
    pthread_mutex_unlock(&watched->lock);
    return fired;
}

uint64_t watched_calls(watched_system *watched, int kind)
{
    uint64_t calls = 0;

    pthread_mutex_lock(&watched->lock);
    calls = watched->calls[kind];
    pthread_mutex_unlock(&watched->lock);
    return calls;
}

uint64_t watched_bytes(watched_system *watched)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&watched->lock);
    for (uint64_t i = 0; i < watched->pieces_count; i++) {
        bytes += watched->pieces[i].bytes;
    }
    pthread_mutex_unlock(&watched->lock);
    return bytes;
}
