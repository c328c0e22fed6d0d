/*
 * What no call shows at once of a table of DyCuckoo, read from its memory: whether each key is in one of its two buckets, who is a guest
 * is known as one, and guests are counted where they are at home.
 */
#ifndef BULKHASH_TESTS_SUPPORT_GUESTS_H
#define BULKHASH_TESTS_SUPPORT_GUESTS_H

#include <stdint.h>

struct bh_dy_geometry;

/* Fails the test unless that is so; answers how many keys there are. Keys and values lie as they do by default; `read` copies from where
 * the table is. */
uint64_t guests_check(const struct bh_dy_geometry *geometry, uint32_t key_bytes,
                      uint32_t value_bytes,
                      void (*read)(void *to, const void *from, uint64_t bytes));

#endif
