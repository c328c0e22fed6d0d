/*
 * A block: memory of one part of a table that can grow in place.
 *
 * More address space is reserved than memory is committed:
 *
 *     memory                committed                reserved
 *     |=====================|........................|
 *
 * Growing commits memory behind it, and the content of the block stays where it
 * is. When the reservation is used up, the owner makes a larger block and copies
 * the content; for that short time both exist.
 *
 * A small block on the host (reserve_least) is allocated like any other small memory, and cannot grow or shrink in place.
 */
#ifndef BH_STORAGE_BLOCK_H
#define BH_STORAGE_BLOCK_H

#include "bulkhash/bulkhash.h"

/* Where memory comes from: system functions, of which blocks and temporary memory call `allocate`,
 * `release`, `reserve`, `commit`, `decommit`, `unreserve` and `page_bytes`. */
typedef struct bh__memory {
    bh_system system;
    bh_pages pages;
    uint8_t of_device; /* it is a GPU's: only the GPU's backend can read, clear or copy it */
    /* Blocks of so many bytes and more can grow in place, and others, on the host, are allocated; 0: none can, or is. */
    uint64_t reserve_least;
} bh__memory;

/* reserve_least on cores. To reserve and commit memory takes three system calls and a fault for each page, some 10 us a block, and two
 * mappings of the 65,530 that Linux allows a process; to copy a few pages takes far less. So small tables are made fast, and a process
 * can have very many. */
#define BH__RESERVE_LEAST (UINT64_C(1) << 16)

typedef struct bh__block {
    unsigned char *memory; /* NULL: no block */
    uint64_t committed;    /* bytes with memory under them, whole pages */
    uint64_t reserved;     /* 0: it is allocated */
} bh__block;

/* The memory of a block of `bytes`, for the budget: rounded up to whole pages. Answers 0 when that does not
 * fit in 64 bits. */
int bh__block_bytes(uint64_t bytes, uint64_t *rounded);

/* Makes a block with `bytes` of zeroed memory. Answers 0 when the system gives none. */
int bh__block_create(bh__block *block, const bh__memory *memory, uint64_t bytes);

/* Grows to `bytes` in place; the new part is zeroed. Answers 0, block as it was, when the
 * reservation is too small (*moving is set then) or the system gives no memory. */
int bh__block_extend(bh__block *block, const bh__memory *memory, uint64_t bytes, int *moving);

/* Gives up the memory beyond the first `bytes`; where the system refuses that, or the block is allocated, the memory stays. */
void bh__block_shrink(bh__block *block, const bh__memory *memory, uint64_t bytes);

/* Writes to every page of [from, to) so that later use takes no page fault; nothing when the page
 * policy is lazy. The memory must be zero. */
void bh__block_touch(const bh__block *block, const bh_executor *executor, const bh__memory *memory,
                     uint64_t from, uint64_t to);

/* Zeroes the first `bytes`; copies the first `bytes` of one block to another. In parallel. */
void bh__block_clear(const bh__block *block, const bh_executor *executor, uint64_t bytes);
void bh__block_copy(const bh__block *to, const bh__block *from, const bh_executor *executor,
                    uint64_t bytes);

void bh__block_destroy(bh__block *block, const bh__memory *memory);

#endif
