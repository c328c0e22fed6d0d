/*
 * Other people's sorting, of the same pairs as ours: sort_peers.cpp, or no_peers.c in its place.
 */
#ifndef BH_BENCH_SORT_PEERS_H
#define BH_BENCH_SORT_PEERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One library's sorting of pairs of some widths, which lie as those libraries want them: a key and
 * its payload side by side, without a gap. */
typedef struct sort_peer {
    const char *name;
    const char *library;    /* Debian's package */
    uint32_t key_bytes;     /* 4 or 8 */
    uint32_t payload_bytes; /* as many */
    int parallel;           /* sorts with as many threads as it is told, else with one */
    /* Into ascending order of keys. */
    void (*sort)(void *pairs, uint64_t n, uint32_t threads);
} sort_peer;

/* Those there are, ended by one whose name is NULL. */
extern const sort_peer sort_peers[];

#ifdef __cplusplus
}
#endif

#endif
