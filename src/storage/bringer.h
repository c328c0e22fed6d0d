/*
 * What brings regions of a memory tier that threads do not reach by an address: slots in a file, say,
 * of which some pages are in memory.
 *
 *     schedule   ask ---> 0: not yet          (it steps other operations meanwhile)
 *                ask ---> address   ... step(address) ...   let_go
 *
 * An operation holds one region at most, and a slice has a window of operations (cpu/schedule.h). So a
 * bringer with room for a window's regions for each thread that runs slices is not asked in vain for
 * ever: whoever holds a region lets go of it without being given another.
 *
 * An operation may touch the bytes of the region that it holds, at the address that was answered, and
 * no others: where the region before it lay may be other data by now. So locks and meta words that an
 * operation needs together with another line have to lie in near memory.
 *
 * Both functions are called by many threads at once, return without waiting, and are the bringer's to
 * make safe. One region may be asked for by several; all get the same memory.
 */
#ifndef BH_STORAGE_BRINGER_H
#define BH_STORAGE_BRINGER_H

#include <stdint.h>

typedef struct bh__bringer {
    void *state;
    /* Answers where the region lies now, or 0: not yet, ask again; the first time it sets out to bring
     * it. `offset` and `bytes` are those of a bh_region, `to_write` says that it may be written to. It
     * stays there until it is let go of as often as an address was answered. */
    uint64_t (*ask)(void *state, uint64_t offset, uint32_t bytes, int to_write);
    void (*let_go)(void *state, uint64_t offset, uint32_t bytes, uint64_t address, int written);
} bh__bringer;

#endif
