/*
 * Whether keys are counted in a table or by sorting them. A table is faster where the same keys come again
 * and again: then most of what it touches is in the cache. Where most keys are new, each costs a line of
 * memory, and sorting goes through memory in order. A sample of the keys tells which it will be.
 */
#ifndef BULKHASH_CLI_CHOOSE_H
#define BULKHASH_CLI_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

/* What was seen among some keys. */
struct sample {
    uint64_t keys;
    uint64_t distinct;
    uint64_t once;  /* distinct keys that came once, */
    uint64_t twice; /* and twice */
    uint64_t hot;   /* keys that are counted on the way (hot.h) */
};

/* Looks at sorted keys of 4 or 8 bytes; none is hot. */
void sample_look(struct sample *sample, const void *keys, uint32_t key_bytes, uint64_t count);

/* How many distinct keys there are at least among `keys`, of which the sample is a random part. */
uint64_t sample_distinct(const struct sample *sample, uint64_t keys);

/* How many of `keys` are not counted on the way. */
uint64_t sample_others(const struct sample *sample, uint64_t keys);

/* Whether to sort those of `keys`, of key_bytes each, that are not counted on the way: when sorting is faster
 * than a table, and takes no more than half of `memory`, the bytes that the system can give. */
bool choose_sorting(const struct sample *sample, uint64_t keys, uint32_t key_bytes,
                    uint64_t memory);

/* Memory that the machine, or the container, can give without swapping, in bytes; UINT64_MAX: neither says. */
uint64_t memory_available(void);

#endif
