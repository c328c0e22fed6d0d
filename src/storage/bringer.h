/*
 * What brings regions of a memory tier that threads do not reach by an address: slots in a file, say,
 * of which some pages are in memory.
 *
 *     schedule   ask ---> 0: not yet          (it steps other operations meanwhile)
 *                ask ---> address   ... step(address) ...   let_go
 *
 * An operation holds one region at most, and a slice has a window of operations (cpu/schedule.h). So if a
 * bringer has room for a window's regions for each thread that runs slices, every region comes in the end:
 * an operation that holds a region lets go of it without needing another first.
 *
 * An operation may touch the bytes of the region that it holds, at the address that was answered, and
 * no others: where the region before it lay may be other data by now. So locks and meta words that an
 * operation needs together with another line have to lie in near memory.
 *
 * Both functions are called by many threads at once, so the bringer must make them thread-safe, and they
 * must return without waiting. Several operations may ask for one region; all get the same memory.
 */
#ifndef BH_STORAGE_BRINGER_H
#define BH_STORAGE_BRINGER_H

#include <stdint.h>

typedef struct bh__bringer {
    void *state;
    /* Answers the address where the region lies now, or 0: not yet, ask again; the first call begins to
     * bring the region. `offset` and `bytes` are those of a bh_region, `to_write` says that the region may
     * be written. It stays at the address until it has been let go of as often as an address was
     * answered. */
    uint64_t (*ask)(void *state, uint64_t offset, uint32_t bytes, int to_write);
    void (*let_go)(void *state, uint64_t offset, uint32_t bytes, uint64_t address, int written);
} bh__bringer;

#endif
