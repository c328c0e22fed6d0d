/*
 * primitives: the data-parallel primitives, compared with what limits them.
 *
 * Sorting is compared with other people's sorting of the same pairs and, like all primitives that run
 * along their arrays, with copying as many bytes; gather and scatter with the random-line limit. All
 * arrays lie in memory that is mapped like a table's, the peers' too. In every repetition each takes its
 * turn, on fresh keys.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "primitives/hash.h"
#include "sort_peers.h"
#include "storage/block.h"

#define EXPERIMENT                                                                                 \
    .experiment = "primitives", .design = "none", .state = "fresh", .hit_rate = NO_HIT_RATE
#define PARTS_BITS 9u
#define PARTS (1u << PARTS_BITS)
#define PEERS_MOST 8
#define SEARCHES (1u << 22)

enum {
    SORT,
    PARTITION,
    BY_HASH,
    PAIRS,
    SCAN,
    COMPACT,
    REDUCE,
    BY_KEY,
    GATHER,
    SCATTER,
    SEARCH,
    RESULTS
};

/* What one repetition works with. */
typedef struct work {
    bench *b;
    bh__where where;
    const bh__primitives *primitives;
    uint64_t n;
    uint32_t key_bytes;
    uint32_t payload_bytes;
    /* Columns of n elements, one behind the other. */
    unsigned char *keys;
    unsigned char *payloads;
    unsigned char *keys_out;
    unsigned char *payloads_out;
    unsigned char *keys_spare; /* and the payloads' behind it: together the peers' pairs */
    unsigned char *payloads_spare;
    uint64_t *wide;    /* [n] */
    uint32_t *indexes; /* [n] a random order */
    limit *limit;
    result results[RESULTS];
    result peers[PEERS_MOST];
} work;

/* Enters a run, and its ratio to copying so many bytes right after it. */
static void beside_copy(work *w, int at, double begin, uint64_t bytes)
{
    double taken = seconds(w->b) - begin;

    enter(&w->results[at], w->n, taken);
    sample(&w->results[at].value, timed_copy(w->b, w->keys_spare, w->keys, bytes) / taken);
}

static double run_sort(work *w)
{
    bh__sort s = {w->key_bytes, 0,           w->payload_bytes, w->keys,       w->payloads,
                  w->n,         w->keys_out, w->payloads_out,  w->keys_spare, w->payloads_spare};
    double begin = seconds(w->b), taken;

    if (!w->primitives->sort_by_key(&w->where, &s))
        fail("not enough memory to sort");
    taken = seconds(w->b) - begin;
    return taken;
}

/* Rows as the peers want them. */
static void make_pairs(void *argument, uint64_t first, uint64_t count)
{
    const work *w = argument;
    const uint32_t bytes = w->key_bytes;
    uint64_t i;

    for (i = first; i < first + count; i++) {
        memcpy(w->keys_spare + 2 * i * bytes, w->keys + i * bytes, bytes);
        memcpy(w->keys_spare + (2 * i + 1) * bytes, w->payloads + i * bytes, bytes);
    }
}

/* Runs our sort right before each peer, not in place, so that all sort the same keys and payloads. */
static void run_sorts(work *w)
{
    const uint64_t pairs_bytes = w->n * (w->key_bytes + w->payload_bytes);
    double begin = seconds(w->b);
    uint64_t at;
    uint32_t i;

    run_sort(w);
    beside_copy(w, SORT, begin, pairs_bytes);
    for (i = 0; i < PEERS_MOST && sort_peers[i].name; i++) {
        const sort_peer *p = &sort_peers[i];
        double ours, theirs;

        if (p->key_bytes != w->key_bytes || p->payload_bytes != w->payload_bytes)
            continue;
        ours = run_sort(w);
        bh__run(&w->b->backend->executor, make_pairs, w, w->n, 1u << 16);
        begin = seconds(w->b);
        p->sort(w->keys_spare, w->n, w->b->info.threads);
        theirs = seconds(w->b) - begin;
        for (at = 0; at < w->n; at++)
            if (memcmp(w->keys_spare + 2 * at * w->key_bytes, w->keys_out + at * w->key_bytes,
                       w->key_bytes))
                fail("ours and a peer's sorting have different results");
        enter(&w->peers[i], w->n, ours);
        sample(&w->peers[i].value, theirs / ours);
    }
}

static void run_partition(work *w, int at, const bh_seed *seed, uint32_t payload_bytes)
{
    uint64_t counts[PARTS], keys_at[PARTS], payloads_at[PARTS], rows = 0;
    double begin = seconds(w->b);
    bh__partition p;
    uint32_t i;

    memset(&p, 0, sizeof p);
    p.how.parts = PARTS;
    p.how.shift = 8 * w->key_bytes - PARTS_BITS;
    p.how.seed = seed;
    p.key_bytes = w->key_bytes;
    p.payload_bytes = payload_bytes;
    p.keys = w->keys;
    p.payloads = w->payloads;
    p.n = w->n;
    p.counts = counts;
    if (!w->primitives->partition_count(&w->where, &p))
        fail("not enough memory to partition");
    for (i = 0; i < PARTS; i++) {
        keys_at[i] = (uint64_t)(uintptr_t)w->keys_out + rows * w->key_bytes;
        payloads_at[i] = (uint64_t)(uintptr_t)w->payloads_out + rows * payload_bytes;
        rows += counts[i];
    }
    p.keys_at = keys_at;
    p.payloads_at = payloads_at;
    w->primitives->partition_scatter(&w->where, &p);
    w->primitives->partition_end(&w->where, &p);
    beside_copy(w, at, begin, w->n * (w->key_bytes + payload_bytes));
}

/* What runs along its arrays once or twice. The keys of the output are sorted. */
static void run_along(work *w)
{
    const bh__primitives *p = w->primitives;
    const bench *b = w->b;
    uint8_t *flags = w->payloads_spare;
    uint64_t count, total, i, random = 1;
    double begin = seconds(b);

    if (!p->scan(&w->where, w->keys, w->key_bytes, w->n, 0, w->wide, &total))
        fail("not enough memory to scan");
    beside_copy(w, SCAN, begin, w->n * w->key_bytes);
    begin = seconds(b);
    if (p->reduce(&w->where, BH_ADD, w->keys, w->key_bytes, w->n) != total)
        fail("the sum of all keys is not what a scan says");
    beside_copy(w, REDUCE, begin, w->n * w->key_bytes);
    begin = seconds(b);
    if (!p->reduce_by_key(&w->where, BH_ADD, w->keys_out, w->key_bytes, w->payloads_out,
                          w->payload_bytes, w->n, w->keys_spare, w->payloads_spare, NULL, &count))
        fail("not enough memory to reduce");
    beside_copy(w, BY_KEY, begin, w->n * (w->key_bytes + w->payload_bytes));
    for (i = 0; i < w->n; i++)
        flags[i] = (uint8_t)(bh_seed_next(&random) >> 63);
    begin = seconds(b);
    if (!p->compact(&w->where, flags, w->keys, w->key_bytes, w->n, w->wide, &count))
        fail("not enough memory to compact");
    beside_copy(w, COMPACT, begin, w->n * w->key_bytes);
}

/* What reads or writes random lines; beside the limit. */
static void run_apart(work *w)
{
    const bh__primitives *p = w->primitives;
    const uint64_t searches = w->n < SEARCHES ? w->n : SEARCHES;
    double before, begin;

    before = limit_run(w->limit);
    begin = seconds(w->b);
    p->gather(&w->where, w->payloads, w->payload_bytes, w->indexes, 4, w->n, w->payloads_spare);
    before = enter_beside(&w->results[GATHER], w->n, seconds(w->b) - begin, before, w->limit);
    begin = seconds(w->b);
    p->scatter(&w->where, w->payloads, w->payload_bytes, w->indexes, 4, w->n, w->payloads_spare);
    before = enter_beside(&w->results[SCATTER], w->n, seconds(w->b) - begin, before, w->limit);
    begin = seconds(w->b);
    p->lower_bound(&w->where, w->keys_out, w->key_bytes, w->n, w->keys, searches, w->wide);
    enter_beside(&w->results[SEARCH], searches, seconds(w->b) - begin, before, w->limit);
}

static void run_repetition(work *w, uint32_t repetition)
{
    const bh_seed seed = bh_seed_expand(repetition);
    uint64_t random = repetition, i;

    fill_keys(w->b, w->keys, 0, w->n, salt_of(repetition));
    fill_values(w->b, w->payloads, w->keys, w->n);
    for (i = w->n; i > 1; i--) {
        uint64_t other = bh_seed_next(&random) % i;
        uint32_t index = w->indexes[i - 1];

        w->indexes[i - 1] = w->indexes[other];
        w->indexes[other] = index;
    }
    run_partition(w, PARTITION, NULL, 0);
    run_partition(w, BY_HASH, &seed, 0);
    run_partition(w, PAIRS, NULL, w->payload_bytes);
    run_sorts(w);
    run_along(w);
    run_apart(w);
}

void run_primitives(bench *b)
{
    static const result results[RESULTS] = {
        [SORT] = {EXPERIMENT, .name = "sort", .op = "sort", .figure = "of copying the pairs"},
        [PARTITION] = {EXPERIMENT, .name = "partition, 512 parts", .op = "partition",
                       .figure = "of copying the keys"},
        [BY_HASH] = {EXPERIMENT, .name = "partition, by hash", .op = "partition",
                     .figure = "of copying the keys"},
        [PAIRS] = {EXPERIMENT, .name = "partition, pairs", .op = "partition",
                   .figure = "of copying the pairs"},
        [SCAN] = {EXPERIMENT, .name = "scan", .op = "scan", .figure = "of copying the keys"},
        [COMPACT] = {EXPERIMENT, .name = "compact, half kept", .op = "compact",
                     .figure = "of copying the keys"},
        [REDUCE] = {EXPERIMENT, .name = "reduce", .op = "reduce", .figure = "of copying the keys"},
        [BY_KEY] = {EXPERIMENT, .name = "reduce by key", .op = "reduce by key",
                    .figure = "of copying the pairs"},
        [GATHER] = {EXPERIMENT, .name = "gather", .op = "gather"},
        [SCATTER] = {EXPERIMENT, .name = "scatter", .op = "scatter"},
        [SEARCH] = {EXPERIMENT, .name = "lower bound, sorted", .op = "lower bound"},
    };
    static const result beside = {EXPERIMENT, .name = "sort", .op = "sort", .bar = 5};
    const settings *s = &b->settings;
    const uint64_t n = s->keys, keys_bytes = (n * s->key_bytes + 63) / 64 * 64;
    const uint64_t payloads_bytes = (n * s->value_bytes + 63) / 64 * 64;
    char figures[PEERS_MOST][40];
    uint64_t page_bytes, i;
    uint32_t window, r;
    bh__block block;
    work *w = array(1, sizeof *w);

    w->b = b;
    w->where.system = &b->backend->system;
    w->where.executor = &b->backend->executor;
    w->primitives = b->backend->primitives;
    w->n = n;
    w->key_bytes = s->key_bytes;
    w->payload_bytes = s->value_bytes;
    if (!bh__block_create(&block, &b->backend->host,
                          3 * (keys_bytes + payloads_bytes) + 12 * n + 64))
        fail("not enough memory for the arrays of this many keys");
    bh__block_touch(&block, &b->backend->executor, &b->backend->host, 0, block.committed);
    w->keys = block.memory;
    w->payloads = w->keys + keys_bytes;
    w->keys_out = w->payloads + payloads_bytes;
    w->payloads_out = w->keys_out + keys_bytes;
    w->keys_spare = w->payloads_out + payloads_bytes;
    w->payloads_spare = w->keys_spare + keys_bytes;
    w->wide = (uint64_t *)(void *)(w->payloads_spare + payloads_bytes);
    w->indexes = (uint32_t *)(void *)(w->wide + n);
    for (i = 0; i < n; i++)
        w->indexes[i] = (uint32_t)i;
    w->limit = limit_create(b->backend, n * s->value_bytes);
    if (!w->limit)
        fail("not enough memory to measure the limit");
    window = limit_tune(w->limit);
    page_bytes =
        b->backend->system.page_bytes(b->backend->system.state, block.memory, block.committed);
    memcpy(w->results, results, sizeof results);
    if (s->key_bytes == 4)
        w->results[PARTITION].bar = 600.0 / 4700;
    for (r = 0; r < RESULTS + PEERS_MOST; r++) {
        result *at = r < RESULTS ? &w->results[r] : &w->peers[r - RESULTS];

        if (r >= RESULTS)
            *at = beside;
        at->keys = at->batch = n;
        at->page_bytes = page_bytes;
    }
    for (r = 0; r < PEERS_MOST && sort_peers[r].name; r++) {
        snprintf(figures[r], sizeof figures[r], "times %s", sort_peers[r].name);
        w->peers[r].figure = figures[r];
    }
    if (!s->json)
        printf("rows u%u, u%u: %llu, pages of %llu KiB, target %s, %u threads, limit with window "
               "%u, %u repetitions\n",
               8 * s->key_bytes, 8 * s->value_bytes, (unsigned long long)n,
               (unsigned long long)page_bytes >> 10, b->info.target, b->info.threads, window,
               s->repetitions);
    for (r = 0; r < s->repetitions; r++)
        run_repetition(w, r);
    for (r = 0; r < PEERS_MOST; r++)
        if (w->peers[r].value.count)
            print(b, &w->peers[r]);
    for (r = 0; r < RESULTS; r++)
        print(b, &w->results[r]);
    limit_destroy(w->limit);
    bh__block_destroy(&block, &b->backend->host);
    free(w);
}
