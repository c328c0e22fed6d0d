/*
 * A census: about how many different keys elements of a call have, by linear counting. After a call that inserts, a table has
 * as many keys at least, whatever it had before; so a table grows for all of them at once (batch.c), and not step by step,
 * which would move each key several times.
 */
#ifndef BH_CPU_CENSUS_H
#define BH_CPU_CENSUS_H

#include "tables/table.h"

typedef struct bh__census {
    unsigned char *marks; /* 2^bits, 0 or 1 */
    uint32_t bits;
    uint32_t key_bytes;
    uint32_t below; /* where in a scrambled key the bits begin that say whether the key counts */
    uint64_t every; /* one key of so many does, a power of two */
} bh__census;

/* Begins a census of up to `elements` elements with keys of 4 or 8 bytes; answers 0 where there is no memory. It takes 128 KiB
 * at most, from the system until bh__census_end. */
int bh__census_begin(bh__census *s, const bh_system *system, uint32_t key_bytes, uint64_t elements);
void bh__census_end(const bh__census *s, const bh_system *system);

/* Counts the keys of an array, in tasks of the executor where these are many; or those that a list names. Takes 1 to 3 ns
 * for each element. */
void bh__census_array(bh__census *s, const bh_executor *executor, const void *keys, uint64_t count);
void bh__census_list(bh__census *s, const void *keys, const uint16_t *list, uint32_t count);

/* How many different keys have been counted, with a standard error of 1.1% at most where no key comes twice, and 2.3% where each comes
 * sixteen times. (Keys that have been chosen for it make it any number.) */
uint64_t bh__census_keys(const bh__census *s);

#endif
