/*
 * Temporary memory of one call: from the heap where it is little, else mapped for the call as
 * tables are, on huge pages where the context has them. A device's is never mapped.
 */
#ifndef BH_STORAGE_TEMPORARY_H
#define BH_STORAGE_TEMPORARY_H

#include "storage/block.h"

typedef struct bh__temporary {
    unsigned char *memory; /* aligned to 64 bytes, content undefined */
    uint64_t bytes;
    bh__block block; /* the block that the memory lies in; none where it is from the heap */
} bh__temporary;

/* Answers 0 when the system gives none. */
int bh__temporary_take(bh__temporary *temporary, const bh__memory *memory, uint64_t bytes);
void bh__temporary_give(bh__temporary *temporary, const bh__memory *memory);

#endif
