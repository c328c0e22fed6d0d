/*
 * calls: one thread, many calls of 1, 16 and 1,024 independent keys, on the table of --keys pairs,
 * which lies in memory, and on one of 512, which lies in cache; beside a loop over
 * absl::flat_hash_map (plain) with the same keys.
 *
 * The figure is our time divided by absl's. Keys are independent, so in the loop the processor runs ahead
 * and has several lines on their way; calls of one key, too, must let the processor run ahead so.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"
#include "primitives/hash.h" /* for its generator of random numbers */

#define CALLED_KEYS (1u << 20)
#define CACHED_KEYS 512u

static const peer *absl(const bench *b)
{
    const peer *p;

    for (p = peers; p->name; p++)
        if (!strcmp(p->name, "absl") && p->key_bytes == b->settings.key_bytes &&
            p->value_bytes == b->settings.value_bytes)
            return p;
    return NULL;
}

/* `count` of n keys, drawn at random: what the calls are about. */
static void draw(const bench *b, void *drawn, uint64_t count, const void *keys, uint64_t n,
                 uint64_t random)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        memcpy(key_at(b, drawn, i), key_at(b, keys, bh_seed_next(&random) % n),
               b->settings.key_bytes);
}

/* A result once more: what a call takes. */
static void print_time(const bench *b, const result *of, double bar)
{
    result r = *of;
    uint32_t i;

    r.figure = "ns a call";
    r.bar = bar;
    r.value.count = 0;
    for (i = 0; i < r.mops.count; i++)
        sample(&r.value, (double)r.batch * 1e3 / r.mops.at[i]);
    print(b, &r);
}

static void run_table(const bench *b, bh_context *single, uint64_t n, int cached)
{
    static const uint64_t batch[] = {1, 16, 1024};
    static const double bar[] = {1.3, 1, 0.5};
    /* Of a find and of an insertion in cache, nanoseconds. */
    static const double call_bar[] = {30, 45};
    enum { BATCHES = 3, FIND = 0, INSERT = 1, OPS = 2 };
    static const bh_op op_of[OPS] = {BH_FIND, BH_INSERT};
    static const char *const what[OPS] = {"find", "insert"};
    const uint64_t called = b->settings.keys < CALLED_KEYS ? b->settings.keys : CALLED_KEYS;
    const peer *p = absl(b);
    result results[OPS][BATCHES];
    char names[OPS][BATCHES][48];
    void *keys = key_array(b, n), *values = value_array(b, n);
    void *drawn = key_array(b, called), *out = value_array(b, called);
    bh_table *table = table_of(b, single, n);
    void *theirs = p ? p->create(n) : NULL;
    bh_table_stats stats;
    uint32_t repetition;
    int op, i;

    memset(results, 0, sizeof results);
    fill_keys(b, keys, 0, n, salt_of(0));
    fill_values(b, values, keys, n);
    check(bh_insert(table, keys, values, n, NULL));
    if (p && !theirs)
        fail("absl has not enough memory");
    if (p)
        p->insert(theirs, keys, values, n);
    stats = stats_of(table);
    for (repetition = 0; repetition < b->settings.repetitions; repetition++) {
        for (op = 0; op < OPS; op++) {
            for (i = 0; i < BATCHES; i++) {
                result *r = &results[op][i];
                double begin, taken, loop;

                draw(b, drawn, called, keys, n, repetition * 8 + (uint64_t)(op * BATCHES + i));
                fill_values(b, out, drawn, called);
                if (op == FIND)
                    memset(out, 0, called * b->settings.value_bytes);
                taken = timed(b, op_of[op], table, drawn, out, called, batch[i], NULL);
                check_values(b, out, drawn, called);
                enter(r, called, taken);
                result_table(r, &stats);
                begin = seconds(b);
                if (p && op == FIND)
                    p->find(theirs, drawn, out, called);
                else if (p)
                    p->insert(theirs, drawn, out, called);
                loop = seconds(b) - begin;
                sample(&r->value, p ? taken / loop : taken / (double)called * 1e9);
                check_values(b, out, drawn, called);
            }
        }
    }
    for (op = 0; op < OPS; op++) {
        for (i = 0; i < BATCHES; i++) {
            result *r = &results[op][i];

            snprintf(names[op][i], sizeof names[op][i], "%s, calls of %llu%s", what[op],
                     (unsigned long long)batch[i], cached ? ", cached" : "");
            r->experiment = "calls";
            r->state = "fresh";
            r->name = names[op][i];
            r->op = what[op];
            r->hit_rate = 1;
            r->batch = batch[i];
            r->threads = 1;
            r->figure = p ? "times the time of a loop over absl" : "ns per key";
            r->bar = p && !cached && op == FIND ? bar[i] : 0;
            r->bar_is_most = 1;
            print(b, r);
            if (cached && batch[i] == 1)
                print_time(b, r, call_bar[op]);
        }
    }
    if (p)
        p->destroy(theirs);
    bh_table_destroy(table);
    free(keys);
    free(values);
    free(drawn);
    free(out);
}

void run_calls(bench *b)
{
    bh_context_options options;
    bh_context *single;

    bh_context_options_init(&options);
    options.threads = 1;
    check(bh_context_create("cpu", &options, &single));
    if (!absl(b) && !b->settings.json)
        printf("absl was not there when this program was built: nothing to compare with\n");
    run_table(b, single, b->settings.keys, 0);
    run_table(b, single, CACHED_KEYS, 1);
    bh_context_destroy(single);
}
