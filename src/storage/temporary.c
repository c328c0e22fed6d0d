/* Temporary memory of one call; see temporary.h. */
#include "storage/temporary.h"

/* So many bytes are mapped: then a huge page is seldom far from full. Chosen, not tuned. */
#define BLOCK_LEAST (UINT64_C(4) << 20)

int bh__temporary_take(bh__temporary *temporary, const bh_system *system, bh_pages pages,
                       uint64_t bytes)
{
    temporary->bytes = bytes;
    temporary->block.memory = NULL;
    if (pages == BH__PAGES_FAR || bytes < BLOCK_LEAST)
        temporary->memory = (unsigned char *)system->allocate(system->state, bytes);
    else
        temporary->memory = bh__block_create(&temporary->block, system, pages, bytes)
                                ? temporary->block.memory
                                : NULL;
    return temporary->memory != NULL;
}

void bh__temporary_give(bh__temporary *temporary, const bh_system *system)
{
    if (temporary->block.memory)
        bh__block_destroy(&temporary->block, system);
    else
        system->release(system->state, temporary->memory, temporary->bytes);
}
