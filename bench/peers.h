/*
 * Other people's hash tables, fed as ours is: arrays of keys and values, the same ones.
 *
 * peers.cpp and sort_peers.cpp are the only C++ of the project. Each peer is an adapter of a few lines
 * around a library that Debian ships; a library that was not there when the benchmark was built is listed
 * as missing. An adapter does what a user of that library would do: reserve, then a loop over the array;
 * where the library allows several threads, each thread loops over a part.
 */
#ifndef BH_BENCH_PEERS_H
#define BH_BENCH_PEERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of one peer for keys and values of some widths. The loops go over elements [0, n) of the
 * arrays and are called by one thread, or, where `threads` or `readers` says so, by several at once
 * with parts of the arrays. */
typedef struct peer {
    const char *name;     /* "absl", "absl prefetch", ... */
    const char *library;  /* Debian's package */
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* 4 or 8 */
    int threads;          /* several threads may insert and erase at once */
    int readers;          /* several threads may find at once, while none writes */
    int in_order;         /* build from all keys at once: insert is called once, with all of them */
    /* A table reserved for `keys` keys so that it never grows, as far as the library allows. NULL
     * when there is no memory. */
    void *(*create)(uint64_t keys);
    void (*destroy)(void *table);
    /* Insert or assign. */
    void (*insert)(void *table, const void *keys, const void *values, uint64_t n);
    /* Writes the values of those found, answers how many they were. */
    uint64_t (*find)(const void *table, const void *keys, void *values, uint64_t n);
    /* Answers how many there were. NULL: the library cannot, or not while others find. */
    uint64_t (*erase)(void *table, const void *keys, uint64_t n);
} peer;

/* The peers there are, ended by one whose name is NULL. */
extern const peer peers[];

/* Names of the libraries that were not there, with a space between; empty when none is missing. */
extern const char peers_missing[];

#ifdef __cplusplus
}
#endif

#endif
