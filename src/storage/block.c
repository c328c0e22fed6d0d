/* Blocks of memory that grow in place; see block.h. */
#include "storage/block.h"

#include <string.h>

#include "base/checked.h"
#include "base/run.h"
#include "base/system.h"

/* How much more address space is reserved than memory: a subtable doubles four times before it must move. */
#define RESERVE_FACTOR 16

/* Bytes of a part of a pass over a block: what the system gives at a time, which takes far longer than handing a part out. Stadium
 * hashing's blocks are of a few such pages, and a part of four left all threads but one idle. */
#define PASS_BYTES BH__PAGE_HUGE

int bh__block_bytes(uint64_t bytes, uint64_t *rounded)
{
    return bh__round_up(bytes, BH__PAGE_SMALL, rounded);
}

int bh__block_create(bh__block *block, const bh__memory *memory, uint64_t bytes)
{
    uint64_t committed, reserved;

    block->memory = NULL;
    if (!bh__block_bytes(bytes, &committed))
        return 0;
    if (!memory->of_device && committed < memory->reserve_least) {
        block->memory = (unsigned char *)memory->system.allocate(memory->system.state, committed);
        if (!block->memory)
            return 0;
        memset(block->memory, 0, committed);
        block->committed = committed;
        block->reserved = 0;
        return 1;
    }
    /* Where so much address space is refused (ulimit -v), the block has no room to grow in place. */
    if (memory->reserve_least && committed >= memory->reserve_least &&
        bh__mul(committed, RESERVE_FACTOR, &reserved))
        block->memory = (unsigned char *)memory->system.reserve(memory->system.state, reserved);
    if (!block->memory) {
        reserved = committed;
        block->memory = (unsigned char *)memory->system.reserve(memory->system.state, reserved);
    }
    if (!block->memory)
        return 0;
    if (memory->system.commit(memory->system.state, block->memory, committed, memory->pages)) {
        memory->system.unreserve(memory->system.state, block->memory, reserved);
        block->memory = NULL;
        return 0;
    }
    block->committed = committed;
    block->reserved = reserved;
    return 1;
}

int bh__block_extend(bh__block *block, const bh__memory *memory, uint64_t bytes, int *moving)
{
    uint64_t committed;

    *moving = 0;
    if (!bh__block_bytes(bytes, &committed))
        return 0;
    if (committed > block->reserved) {
        *moving = 1;
        return 0;
    }
    if (committed > block->committed) {
        if (memory->system.commit(memory->system.state, block->memory + block->committed,
                                  committed - block->committed, memory->pages))
            return 0;
        block->committed = committed;
    }
    return 1;
}

void bh__block_shrink(bh__block *block, const bh__memory *memory, uint64_t bytes)
{
    uint64_t committed;

    if (bh__block_bytes(bytes, &committed) && block->reserved && committed < block->committed &&
        !memory->system.decommit(memory->system.state, block->memory + committed,
                                 block->committed - committed))
        block->committed = committed;
}

static void touch_range(void *argument, uint64_t first, uint64_t count)
{
    unsigned char *memory = (unsigned char *)argument;
    uint64_t page;

    for (page = first; page < first + count; page++)
        *(volatile unsigned char *)(memory + page * BH__PAGE_SMALL) = 0;
}

void bh__block_touch(const bh__block *block, const bh_executor *executor, const bh__memory *memory,
                     uint64_t from, uint64_t to)
{
    if (memory->pages == BH_PAGES_LAZY || memory->of_device || to <= from)
        return;
    bh__run(executor, touch_range, block->memory + from, (to - from) / BH__PAGE_SMALL,
            PASS_BYTES / BH__PAGE_SMALL);
}

static void clear_range(void *argument, uint64_t first, uint64_t count)
{
    memset((unsigned char *)argument + first, 0, count);
}

void bh__block_clear(const bh__block *block, const bh_executor *executor, uint64_t bytes)
{
    bh__run(executor, clear_range, block->memory, bytes, PASS_BYTES);
}

typedef struct copy {
    unsigned char *to;
    const unsigned char *from;
} copy;

static void copy_range(void *argument, uint64_t first, uint64_t count)
{
    const copy *c = (const copy *)argument;

    memcpy(c->to + first, c->from + first, count);
}

void bh__block_copy(const bh__block *to, const bh__block *from, const bh_executor *executor,
                    uint64_t bytes)
{
    copy c;

    c.to = to->memory;
    c.from = from->memory;
    bh__run(executor, copy_range, &c, bytes, PASS_BYTES);
}

void bh__block_destroy(bh__block *block, const bh__memory *memory)
{
    const bh_system *system = &memory->system;

    if (block->memory && block->reserved)
        system->unreserve(system->state, block->memory, block->reserved);
    else if (block->memory)
        system->release(system->state, block->memory, block->committed);
    block->memory = NULL;
    block->committed = 0;
    block->reserved = 0;
}
