/*
 * peers: the tables that people choose today (peers.cpp), beside ours, in the same run.
 *
 * All are fed the same arrays. A peer that lets several threads in gets as many as ours; one that
 * does not inserts and erases with one thread, and where it allows concurrent readers finds with
 * all. In every repetition the peers take their turns, ours right before each, and the figure is the
 * ratio of the two rates. The second part is for tables that lie in cache, where waiting for memory hides
 * no other cost: 2^16 pairs, gone through many times.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "peers.h"

#define CACHED_KEYS (1u << 16)
#define LEAST_SAMPLE (1u << 22)
#define PEERS_MOST 16

enum { INSERT, FIND, MISS, ERASE, OPS };

static const bh_op op_of[OPS] = {BH_INSERT, BH_FIND, BH_FIND, BH_ERASE};
static const char *const op_name[OPS] = {"insert", "find", "find", "erase"};
static const char *const what[OPS] = {"insert", "find", "miss", "erase"};

/* What one thread is given of a loop over a peer's table. */
typedef struct loop {
    const bench *b;
    const peer *p;
    void *table;
    int op;
    const void *keys;
    void *values;
    uint64_t n;
    uint64_t parts;
    uint64_t found;
} loop;

static void run_parts(void *argument, uint64_t first, uint64_t count)
{
    loop *l = argument;
    uint64_t begin = l->n * first / l->parts, n = l->n * (first + count) / l->parts - begin;
    const void *keys = key_at(l->b, l->keys, begin);
    void *values = value_at(l->b, l->values, begin);
    uint64_t found = 0;

    if (l->op == INSERT)
        l->p->insert(l->table, keys, values, n);
    else if (l->op == ERASE)
        found = l->p->erase(l->table, keys, n);
    else
        found = l->p->find(l->table, keys, values, n);
    __atomic_fetch_add(&l->found, found, __ATOMIC_RELAXED);
}

/* Seconds that a peer takes. */
static double timed_peer(const bench *b, const peer *p, void *table, int op, const void *keys,
                         void *values, uint64_t n)
{
    const int several = op == INSERT || op == ERASE ? p->threads : p->readers;
    loop l = {b, p, table, op, keys, values, n, several ? b->info.threads : 1, 0};
    double begin = seconds(b), taken;

    bh__run(&b->backend->executor, run_parts, &l, l.parts, 1);
    taken = seconds(b) - begin;
    if (l.found != (op == FIND || op == ERASE ? n : 0))
        fail("a peer did not find what it should have");
    return taken;
}

double timed_peer_insert(const bench *b, const char *name, const void *keys, void *values,
                         uint64_t n)
{
    const peer *p;
    double taken;
    void *table;

    for (p = peers; p->name; p++)
        if (!strcmp(p->name, name) && p->key_bytes == b->settings.key_bytes &&
            p->value_bytes == b->settings.value_bytes)
            break;
    if (!p->name)
        return 0;
    table = p->create(n);
    if (!table)
        fail("a peer has not enough memory");
    taken = timed_peer(b, p, table, INSERT, keys, values, n);
    p->destroy(table);
    return taken;
}

/* The bar for a peer and an operation; 0: none is asked for. */
static double bar_of(const bench *b, const peer *p, int op, int cached)
{
    const int prefetching = !strcmp(p->name, "absl prefetch"),
              cuckoo = !strcmp(p->name, "libcuckoo");

    if (b->settings.key_bytes != 4 || b->settings.value_bytes != 4)
        return 0;
    if (cached && !strcmp(p->name, "boost")) {
        /* Only one thread may change a boost table. */
        const int alone = b->info.threads == 1;

        return op == FIND ? 2 : op == MISS ? 1.2 : !alone ? 1 : op == INSERT ? 1.3 : 1.5;
    }
    if (cached)
        return op != MISS && !strcmp(p->name, "absl") ? 1 : 0;
    if (op == FIND)
        return prefetching ? 4 : cuckoo ? 12 : 0;
    if (op == MISS)
        return prefetching ? 1.9 : 0;
    return op == INSERT && cuckoo ? 12 : 0;
}

/* The arrays of one part. */
typedef struct feed {
    uint64_t n;
    uint64_t rounds;
    void *keys;
    void *absent;
    void *values;
} feed;

/* One life of a table of ours and one of a peer's, operation by operation, ours first. Seconds of
 * the operations are added to `ours` and `theirs`. */
static void live(const bench *b, const peer *p, const feed *f, double *ours, double *theirs,
                 bh_table_stats *stats)
{
    bh_table *table = table_of(b, b->context, f->n);
    void *peers_table = p->create(f->n);
    uint64_t round;
    int op;

    if (!peers_table)
        fail("a peer has not enough memory");
    for (round = 0; round < f->rounds; round++) {
        for (op = 0; op < OPS; op++) {
            const void *keys = op == MISS ? f->absent : f->keys;

            if (op == ERASE && !p->erase)
                continue;
            if (op == FIND)
                memset(f->values, 0, f->n * b->settings.value_bytes);
            ours[op] += timed(b, op_of[op], table, keys, f->values, f->n, f->n, NULL);
            if (op == FIND)
                check_values(b, f->values, f->keys, f->n);
            if (op == INSERT)
                *stats = stats_of(table);
            if (op == FIND)
                memset(f->values, 0, f->n * b->settings.value_bytes);
            theirs[op] += timed_peer(b, p, peers_table, op, keys, f->values, f->n);
            if (op == FIND)
                check_values(b, f->values, f->keys, f->n);
        }
        /* Without erase: a new table, for the next round inserts again. */
        if (!p->erase && round + 1 < f->rounds) {
            p->destroy(peers_table);
            peers_table = p->create(f->n);
            if (!peers_table)
                fail("a peer has not enough memory");
            check(bh_clear(table));
        }
    }
    p->destroy(peers_table);
    bh_table_destroy(table);
}

static void run_part(const bench *b, uint64_t n, int cached)
{
    result results[PEERS_MOST][OPS];
    char names[PEERS_MOST][OPS][48], figures[PEERS_MOST][32];
    /* With few --keys samples are small, too. */
    const uint64_t least = b->settings.keys < LEAST_SAMPLE ? b->settings.keys : LEAST_SAMPLE;
    feed f = {n, cached ? least / n : 1, key_array(b, n), key_array(b, n), value_array(b, n)};
    uint32_t repetition, i, op;

    memset(results, 0, sizeof results);
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        fill_keys(b, f.keys, 0, n, salt_of(repetition));
        fill_keys(b, f.absent, n, n, salt_of(repetition));
        fill_values(b, f.values, f.keys, n);
        for (i = 0; i < PEERS_MOST && peers[i].name; i++) {
            const peer *p = &peers[i];
            double ours[OPS] = {0}, theirs[OPS] = {0};
            bh_table_stats stats;

            if (p->key_bytes != b->settings.key_bytes || p->value_bytes != b->settings.value_bytes)
                continue;
            live(b, p, &f, ours, theirs, &stats);
            for (op = 0; op < OPS; op++) {
                result *r = &results[i][op];

                if (op == ERASE && !p->erase)
                    continue;
                result_table(r, &stats);
                enter(r, n * f.rounds, ours[op]);
                sample(&r->value, theirs[op] / ours[op]);
            }
        }
    }
    for (op = 0; op < OPS; op++) {
        for (i = 0; i < PEERS_MOST && peers[i].name; i++) {
            result *r = &results[i][op];

            if (!r->value.count)
                continue;
            snprintf(names[i][op], sizeof names[i][op], "%s%s", what[op],
                     cached ? ", in cache" : "");
            snprintf(figures[i], sizeof figures[i], "times %s", peers[i].name);
            r->experiment = "peers";
            r->state = "fresh";
            r->name = names[i][op];
            r->op = op_name[op];
            r->hit_rate = op == FIND || op == ERASE;
            r->batch = n;
            r->figure = figures[i];
            r->bar = bar_of(b, &peers[i], (int)op, cached);
            print(b, r);
        }
    }
    free(f.keys);
    free(f.absent);
    free(f.values);
}

void run_peers(bench *b)
{
    if (*peers_missing && !b->settings.json)
        printf("peers that were not there when this program was built: %s\n", peers_missing);
    run_part(b, b->settings.keys, 0);
    run_part(b, CACHED_KEYS < b->settings.keys ? CACHED_KEYS : b->settings.keys, 1);
}
