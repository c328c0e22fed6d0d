/*
 * Other people's hash tables on a GPU, fed as ours is: arrays of keys and values on the device, the same
 * ones.
 *
 * A peer is one configuration of a library's table for one pair of widths. A library can have several:
 * which is best depends on the operation, so the experiment peers measures all of them and compares with
 * the best. cuco_peers.cu has those of cuCollections, and is compiled where CMake was told the folder of
 * its sources; elsewhere no_gpu_peers.c says how. In tests fake/gpu_peer.c stands for both.
 */
#ifndef BH_BENCH_GPU_PEERS_H
#define BH_BENCH_GPU_PEERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a peer is asked for. Values of PEER_FIND are written, others read; erasing needs none. */
typedef enum gpu_peer_op {
    PEER_INSERT, /* of keys that are not there */
    PEER_ASSIGN, /* of keys that are there: insert or assign */
    PEER_ADD,    /* to the values of keys that are there */
    PEER_FIND,   /* of a key that is absent: writes gpu_peer_table.empty_value */
    PEER_ERASE
} gpu_peer_op;

/* A table to make. The empty and the erased key are no key of any call; the empty value is the value of
 * no key in a table of 8-byte keys, for which cuCollections may wait for another one. */
typedef struct gpu_peer_table {
    void *stream; /* on which the table is made, and all calls run */
    uint64_t keys;
    double fill; /* keys / slots */
    uint64_t empty_key;
    uint64_t erased_key;
    uint64_t empty_value;
} gpu_peer_table;

/* Functions that answer an int answer 0 or an error's number, as those of gpu.h do. */
typedef struct gpu_peer {
    const char *library;
    const char *configured; /* the configuration in words */
    uint32_t key_bytes;
    uint32_t value_bytes;
    /* Ends the program with a sentence where a table cannot be had. */
    void *(*create)(const gpu_peer_table *wanted);
    void (*destroy)(void *table);
    uint64_t (*slots)(const void *table);
    /* How many keys there are. Waits. */
    int (*keys)(const void *table, uint64_t *count);
    /* Runs an operation on n elements of the arrays. Does not wait. */
    int (*run)(void *table, gpu_peer_op op, const void *keys, void *values, uint64_t n);
} gpu_peer;

/* The peers there are, ended by one whose library is NULL. */
extern const gpu_peer gpu_peers[];

/* The commit of their sources, or "unknown". */
extern const char gpu_peers_commit[];

/* Where there are none: how to have them, in one sentence. Empty otherwise. */
extern const char gpu_peers_missing[];

#ifdef __cplusplus
}
#endif

#endif
