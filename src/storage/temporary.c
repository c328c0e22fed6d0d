/* Temporary memory of one call; see temporary.h. */
#include "storage/temporary.h"

/* From so many bytes on memory is mapped: then a partly used huge page wastes little. Chosen, not tuned. */
#define BLOCK_LEAST (UINT64_C(4) << 20)

int bh__temporary_take(bh__temporary *temporary, const bh__memory *memory, uint64_t bytes)
{
    temporary->bytes = bytes;
    temporary->block.memory = NULL;
    if (memory->of_device || bytes < BLOCK_LEAST)
        temporary->memory = (unsigned char *)memory->system.allocate(memory->system.state, bytes);
    else
        temporary->memory =
            bh__block_create(&temporary->block, memory, bytes) ? temporary->block.memory : NULL;
    return temporary->memory != NULL;
}

void bh__temporary_give(bh__temporary *temporary, const bh__memory *memory)
{
    if (temporary->block.memory)
        bh__block_destroy(&temporary->block, memory);
    else
        memory->system.release(memory->system.state, temporary->memory, temporary->bytes);
}
