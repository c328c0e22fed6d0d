/*
 * The data-parallel primitives, each beside the most naive way to do the same: every width, sizes
 * around the edges, keys of many kinds, outputs that begin anywhere in a line, and executors that
 * run tasks in any order. Nothing may be written but the output, nothing kept, and where the system
 * refuses memory nothing is written at all. On a GPU the same by its primitives (support/mirror.h), but for
 * what is said of the host's memory.
 */
/* ctest: every target */
/* ctest: every device */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/mirror.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"

/* The hash as any target computes it, to know where a partition by hash puts a key. */
#define BH_TARGET_SCALAR 1
#include "targets/target.h"

#include "primitives/hash.h"

/* --- where to run ------------------------------------------------------------------------- */

enum { POOL_1, POOL_2, POOL_3, IN_TURN, REVERSED, SHUFFLED, THREADS, MANY, PLACES };

static watched_system watched;
static bh_context *contexts[POOL_3 + 1];
static test_executor executors[PLACES];
static bh__where places[PLACES];
static const bh__primitives *primitives;

static int start(void **state)
{
    (void)state;
    watched_start(&watched);
    if (test_on_gpu()) {
        contexts[0] = context_new(0, NULL, NULL);
        primitives = mirror_primitives(contexts[0], &places[0]);
        for (int i = 1; i < PLACES; i++) {
            places[i] = places[0];
        }
        return 0;
    }
    for (uint32_t i = 0; i <= POOL_3; i++) {
        contexts[i] = context_new(i + 1, NULL, &watched.system);
        places[i].executor = &contexts[i]->cpu.backend.executor;
    }
    test_executor_start(&executors[IN_TURN], TEST_IN_TURN, 4);
    test_executor_start(&executors[REVERSED], TEST_REVERSED, 7);
    test_executor_start(&executors[SHUFFLED], TEST_SHUFFLED, 5);
    test_executor_start(&executors[THREADS], TEST_THREADS, 3);
    test_executor_start(&executors[MANY], TEST_REVERSED, 100000);
    for (int i = 0; i < PLACES; i++) {
        places[i].system = &watched.system;
        if (i > POOL_3) {
            places[i].executor = &executors[i].executor;
        }
    }
    primitives = contexts[0]->cpu.backend.primitives;
    check(primitives != NULL, "a backend without primitives");
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i <= POOL_3; i++) {
        bh_context_destroy(contexts[i]);
    }
    watched_end(&watched);
    return 0;
}

/* --- columns ------------------------------------------------------------------------------ */

#define GUARD 9u /* elements around a column, so that it begins somewhere in a line */
#define GUARD_BYTE 0xa5

/* An array with a guard on each side; of width 0 it has no elements and its address is NULL. */
typedef struct column {
    char *memory;
    void *at;
    uint32_t bytes;
    uint32_t skip;
    uint64_t n;
} column;

static column column_new(uint32_t bytes, uint64_t n, uint32_t skip)
{
    column c = {NULL, NULL, bytes, 0, n};

    if (bytes > 0) {
        c.skip = skip % GUARD;
        c.memory = test_allocate((n + GUARD) * bytes);
        memset(c.memory, GUARD_BYTE, (n + GUARD) * bytes);
        c.at = c.memory + (uint64_t)c.skip * bytes;
    }
    return c;
}

static void column_check_guard(const column *c)
{
    const uint64_t before = (uint64_t)c->skip * c->bytes;
    const uint64_t after = before + c->n * c->bytes;

    for (uint64_t i = 0; c->bytes > 0 && i < (c->n + GUARD) * c->bytes; i++) {
        if (i == before) {
            i = after;
        }
        check((uint8_t)c->memory[i] == GUARD_BYTE, "byte %lld of a column of %llu was written",
              (long long)i - (long long)before, (unsigned long long)(after - before));
    }
}

static void column_free(column *c)
{
    column_check_guard(c);
    free(c->memory);
    c->memory = NULL;
}

static uint64_t get(const column *c, uint64_t i)
{
    return c->bytes == 1 ? ((const uint8_t *)c->at)[i] : test_load(c->at, c->bytes, i);
}

static void put(const column *c, uint64_t i, uint64_t number)
{
    if (c->bytes == 1) {
        ((uint8_t *)c->at)[i] = (uint8_t)number;
    } else {
        test_store(c->at, c->bytes, i, number);
    }
}

static uint64_t mask_of(uint32_t bytes)
{
    return bytes == 1 ? 255 : test_width_mask(bytes);
}

static void fill_random(const column *c, rng *random)
{
    for (uint64_t i = 0; c->bytes > 0 && i < c->n; i++) {
        put(c, i, random_next(random));
    }
}

static void check_equal(const column *is, const column *wanted, uint64_t n, const char *what)
{
    for (uint64_t i = 0; is->bytes > 0 && i < n; i++) {
        check(get(is, i) == get(wanted, i), "%s: element %llu of %llu is %llx, not %llx", what,
              (unsigned long long)i, (unsigned long long)n, (unsigned long long)get(is, i),
              (unsigned long long)get(wanted, i));
    }
}

/* --- keys --------------------------------------------------------------------------------- */

typedef enum keys_kind {
    KEYS_RANDOM,
    KEYS_EQUAL,
    KEYS_SORTED,
    KEYS_REVERSED,
    KEYS_FEW,    /* 5 of them */
    KEYS_SKEWED, /* most are one, far from the others */
    KEYS_CLOSE,  /* differ in the lowest bits, of which there are more than rows, and once above */
    KEYS_CLUSTERS, /* random upper bits of which there are few, and random lower ones */
    KEYS_UPPER,    /* differ in the upper half of their bits */
    KEYS_RUNS,     /* a few equal ones lie together */
    KEYS_KINDS
} keys_kind;

static void fill_keys(const column *c, keys_kind kind, rng *random)
{
    const uint64_t mask = test_width_mask(c->bytes), n = c->n;
    const uint32_t bits = 8 * c->bytes;
    uint64_t few[5], last = 0;

    for (int i = 0; i < 5; i++) {
        few[i] = random_next(random);
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t r = random_next(random);
        uint64_t key = r;

        switch (kind) {
        case KEYS_EQUAL: key = few[0]; break;
        case KEYS_SORTED: key = i * (mask / n); break;
        case KEYS_REVERSED: key = (n - i) * 3; break;
        case KEYS_FEW: key = few[r % 5]; break;
        case KEYS_SKEWED: key = r % 16 != 0 ? few[0] : random_next(random); break;
        case KEYS_CLOSE: key = i == n / 2 ? mask : r >> 44; break;
        case KEYS_CLUSTERS:
            key = (few[r % 5] & ~(mask >> bits / 4)) | (r & mask >> bits / 4);
            break;
        case KEYS_UPPER: key = r & ~(mask >> bits / 2); break;
        case KEYS_RUNS: key = last = r % 4 == 0 ? random_below(random, 50) : last; break;
        default: break;
        }
        put(c, i, key);
    }
}

/* Of the sizes a random one a few rows away from an edge; and now and then any. */
static uint64_t some_size(rng *random, uint64_t most)
{
    static const uint64_t edges[] = {0,   0,    1,    2,    16,   24,   32,    63,    64,
                                     128, 1000, 2048, 4095, 4096, 8192, 16384, 32768, 65536};
    uint64_t n = random_below(random, 4) == 0 ? random_below(random, most)
                                              : edges[random_below(random, TEST_COUNT(edges))];

    n += random_below(random, 3);
    return n > most ? most : n;
}

static const uint32_t narrow_and_wide[] = {4, 8};
static const uint32_t with_bytes[] = {1, 4, 8};

/* Says what is tested when a check fails within. */
static bh__where *some_place(rng *random)
{
    return &places[random_below(random, PLACES)];
}

/* --- reduce, scan, compact ---------------------------------------------------------------- */

static void reduce(void **state)
{
    static const bh_op ops[] = {BH_ADD, BH_MIN, BH_MAX};
    rng random = random_start(test_seed());
    (void)state;

    for (uint64_t round = 0; round < test_scaled(400); round++) {
        const uint64_t n = some_size(&random, 200000);
        const uint32_t bytes = narrow_and_wide[round % 2];
        column values = column_new(bytes, n, (uint32_t)random_next(&random));

        fill_random(&values, &random);
        for (size_t o = 0; o < TEST_COUNT(ops); o++) {
            uint64_t wanted = ops[o] == BH_MIN ? UINT64_MAX : 0;
            uint64_t is = primitives->reduce(some_place(&random), ops[o], values.at, bytes, n);

            for (uint64_t i = 0; i < n; i++) {
                const uint64_t v = get(&values, i);
                wanted = ops[o] == BH_ADD   ? wanted + v
                         : ops[o] == BH_MIN ? (v < wanted ? v : wanted)
                                            : (v > wanted ? v : wanted);
            }
            check(is == wanted, "op %d of %llu values of %u bytes is %llx, not %llx", ops[o],
                  (unsigned long long)n, bytes, (unsigned long long)is, (unsigned long long)wanted);
        }
        column_free(&values);
    }
    check(primitives->reduce(&places[POOL_2], BH_MIN, NULL, 4, 0) == UINT64_MAX, "MIN of nothing");
}

static void scan(void **state)
{
    rng random = random_start(test_seed() + 1);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(400); round++) {
        const uint64_t n = some_size(&random, 200000), first = random_next(&random);
        const uint32_t bytes = with_bytes[round % 3];
        const bool in_place = bytes == 8 && random_below(&random, 2) == 0;
        const bool with_total = random_below(&random, 2) == 0;
        column values = column_new(bytes, n, (uint32_t)random_next(&random));
        column sums = column_new(8, n, (uint32_t)random_next(&random));
        column wanted = column_new(8, n, 0);
        uint64_t sum = first, total = 1;

        fill_random(&values, &random);
        for (uint64_t i = 0; i < n; i++) {
            put(&wanted, i, sum);
            sum += get(&values, i);
        }
        check(primitives->scan(some_place(&random), values.at, bytes, n, first,
                               in_place ? values.at : sums.at, with_total ? &total : NULL) == 1,
              "scan");
        check_equal(in_place ? &values : &sums, &wanted, n, "scan");
        check(!with_total || total == sum, "the total of %llu values", (unsigned long long)n);
        column_free(&values);
        column_free(&sums);
        column_free(&wanted);
    }
}

static void compact(void **state)
{
    rng random = random_start(test_seed() + 2);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(400); round++) {
        const uint64_t n = some_size(&random, 200000), rare = 1 + random_below(&random, 5);
        const uint32_t bytes = narrow_and_wide[round % 2];
        const bool indexes = random_below(&random, 3) == 0;
        column flags = column_new(1, n, (uint32_t)random_next(&random));
        column values = column_new(bytes, n, (uint32_t)random_next(&random));
        column wanted = column_new(bytes, n, 0);
        uint64_t count = 0, kept = 1;
        column out;

        fill_random(&values, &random);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t r = random_next(&random);

            put(&flags, i, rare == 5 || r % rare == 0 ? r >> 8 | 1 : 0);
            if (get(&flags, i) != 0) {
                put(&wanted, count++, indexes ? i : get(&values, i));
            }
        }
        out = column_new(bytes, count, (uint32_t)random_next(&random)); // room for no more
        check(primitives->compact(some_place(&random), flags.at, indexes ? NULL : values.at, bytes,
                                  n, out.at, &kept) == 1,
              "compact");
        check(kept == count, "%llu kept of %llu, not %llu", (unsigned long long)kept,
              (unsigned long long)n, (unsigned long long)count);
        check_equal(&out, &wanted, count, "compact");
        column_free(&flags);
        column_free(&values);
        column_free(&wanted);
        column_free(&out);
    }
}

/* --- gather, scatter, lower_bound --------------------------------------------------------- */

static void gather_and_scatter(void **state)
{
    rng random = random_start(test_seed() + 3);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(400); round++) {
        const uint64_t n = some_size(&random, 100000);
        const uint64_t from = 1 + some_size(&random, 100000);
        const uint32_t bytes = with_bytes[round % 3];
        const uint32_t index_bytes = narrow_and_wide[round / 3 % 2];
        column values = column_new(bytes, from, (uint32_t)random_next(&random));
        column indexes = column_new(index_bytes, n, (uint32_t)random_next(&random));
        column out = column_new(bytes, n, (uint32_t)random_next(&random));
        column back = column_new(bytes, from, (uint32_t)random_next(&random));
        column touched = column_new(1, from, 0);

        fill_random(&values, &random);
        memset(touched.at, 0, from);
        for (uint64_t i = 0; i < n; i++) {
            put(&indexes, i, random_below(&random, from));
            put(&touched, get(&indexes, i), 1);
        }
        primitives->gather(some_place(&random), values.at, bytes, indexes.at, index_bytes, n,
                           out.at);
        for (uint64_t i = 0; i < n; i++) {
            check(get(&out, i) == get(&values, get(&indexes, i)), "gather: element %llu of %llu",
                  (unsigned long long)i, (unsigned long long)n);
        }
        // What was gathered goes back to where it came from, by several rows if several came.
        primitives->scatter(some_place(&random), out.at, bytes, indexes.at, index_bytes, n,
                            back.at);
        for (uint64_t i = 0; i < from; i++) {
            const uint64_t untouched = 0xa5a5a5a5a5a5a5a5u & mask_of(bytes);
            check(get(&back, i) == (get(&touched, i) ? get(&values, i) : untouched),
                  "scatter: element %llu of %llu", (unsigned long long)i, (unsigned long long)from);
        }
        column_free(&values);
        column_free(&indexes);
        column_free(&out);
        column_free(&back);
        column_free(&touched);
    }
}

/* Where several rows have one index, what is there afterwards is the value of one of them. */
static void scatter_of_equal_indexes(void **state)
{
    const uint64_t n = 50000;
    column indexes = column_new(4, n, 0);
    (void)state;

    memset(indexes.at, 0, 4 * n);
    for (size_t w = 0; w < TEST_COUNT(with_bytes); w++) {
        column values = column_new(with_bytes[w], n, 0), out = column_new(with_bytes[w], 1, 3);

        for (uint64_t i = 0; i < n; i++) {
            put(&values, i, (i % 200) * 0x0101010101010101u);
        }
        for (int place = 0; place < PLACES; place++) {
            const uint64_t one = (memset(out.at, 0xff, out.bytes), 0x0101010101010101u);

            primitives->scatter(&places[place], values.at, values.bytes, indexes.at, 4, n, out.at);
            check(get(&out, 0) == (get(&out, 0) % 256 * one & mask_of(out.bytes)) &&
                      get(&out, 0) % 256 < 200,
                  "half of one value and half of another: %llx", (unsigned long long)get(&out, 0));
        }
        column_free(&values);
        column_free(&out);
    }
    column_free(&indexes);
}

static int by_number(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static void sort_column(const column *c)
{
    uint64_t *all = test_allocate(c->n * 8);

    for (uint64_t i = 0; i < c->n; i++) {
        all[i] = get(c, i);
    }
    qsort(all, c->n, 8, by_number);
    for (uint64_t i = 0; i < c->n; i++) {
        put(c, i, all[i]);
    }
    free(all);
}

static void lower_bound(void **state)
{
    rng random = random_start(test_seed() + 4);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(300); round++) {
        const uint64_t n = some_size(&random, 30000), count = some_size(&random, 20000);
        const uint32_t bytes = narrow_and_wide[round % 2];
        column keys = column_new(bytes, n, (uint32_t)random_next(&random));
        column wanted = column_new(bytes, count, (uint32_t)random_next(&random));
        column positions = column_new(8, count, (uint32_t)random_next(&random));

        fill_keys(&keys, (keys_kind)(round / 2 % KEYS_KINDS), &random);
        sort_column(&keys);
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t r = random_next(&random);
            put(&wanted, i, r % 8 == 0 || n == 0 ? r : get(&keys, r % n) + r / n % 3 - 1);
        }
        if (count > 1) {
            put(&wanted, 0, 0);
            put(&wanted, 1, UINT64_MAX);
        }
        primitives->lower_bound(some_place(&random), keys.at, bytes, n, wanted.at, count,
                                positions.at);
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t at = get(&positions, i);
            check(at <= n && (at == 0 || get(&keys, at - 1) < get(&wanted, i)) &&
                      (at == n || get(&keys, at) >= get(&wanted, i)),
                  "lower_bound of %llx among %llu keys is %llu",
                  (unsigned long long)get(&wanted, i), (unsigned long long)n,
                  (unsigned long long)at);
        }
        column_free(&keys);
        column_free(&wanted);
        column_free(&positions);
    }
}

/* --- partition ---------------------------------------------------------------------------- */

typedef struct partition_case {
    uint32_t key_bytes;
    uint32_t payload_bytes;
    bool indexes;  /* as payloads */
    bool together; /* both columns' parts begin at the same rows of their lines */
    uint32_t parts;
    const bh_seed *seed; /* or NULL */
    uint64_t n;
    keys_kind kind;
} partition_case;

static uint32_t part_of(const bh__parts *how, uint64_t key)
{
    return how->seed != NULL ? (uint32_t)bh_hash_range(bh_hash_key(key, how->seed).one, how->parts)
                             : (uint32_t)(key >> how->shift) & (how->parts - 1);
}

/* Parts go to the output in reversed order, with a gap before each in which nothing may be
 * written; everything around them is compared, too. */
static void partition_check(const bh__where *where, const partition_case *c, rng *random)
{
    const uint64_t gap_most = 20, room = c->n + (c->parts + 1) * gap_most;
    const uint32_t skip = (uint32_t)random_next(random);
    column keys = column_new(c->key_bytes, c->n, (uint32_t)random_next(random));
    column payloads = column_new(c->payload_bytes, c->n, (uint32_t)random_next(random));
    column keys_out = column_new(c->key_bytes, room, skip);
    column payloads_out =
        column_new(c->payload_bytes, room, c->together ? skip : (uint32_t)random_next(random));
    column keys_wanted = column_new(c->key_bytes, room, 0);
    column payloads_wanted = column_new(c->payload_bytes, room, 0);
    uint64_t *counts = test_allocate(c->parts * 8), *keys_at = test_allocate(c->parts * 8);
    uint64_t *payloads_at = test_allocate(c->parts * 8), *next = test_allocate(c->parts * 8);
    uint64_t *wanted = test_allocate(c->parts * 8), at = 0;
    // Seldom the keys' parts are the caller's to say.
    column numbers = column_new(4, c->n, (uint32_t)random_next(random));
    const bool numbered = c->seed == NULL && random_below(random, 3) == 0;
    const column *words = numbered ? &numbers : &keys;
    bh__partition p;

    fill_keys(&keys, c->kind, random);
    fill_random(&payloads, random);
    fill_random(&numbers, random);
    memset(&p, 0x5a, sizeof p); // what is not the caller's to set has any value
    memset(wanted, 0, c->parts * 8);
    p.how.parts = c->parts;
    p.how.seed = c->seed;
    p.how.shift = (uint32_t)random_below(random, 8 * words->bytes);
    p.how.numbers = numbered ? numbers.at : NULL;
    p.key_bytes = c->key_bytes;
    p.payload_bytes = c->payload_bytes;
    p.keys = keys.at;
    p.payloads = c->indexes ? NULL : payloads.at;
    p.n = c->n;
    p.counts = counts;
    check(primitives->partition_count(where, &p) == 1, "partition_count");
    for (uint64_t i = 0; i < c->n; i++) {
        wanted[part_of(&p.how, get(words, i))]++;
    }
    for (uint32_t i = c->parts; i-- > 0;) {
        check(counts[i] == wanted[i], "part %u of %u has %llu rows, not %llu", i, c->parts,
              (unsigned long long)counts[i], (unsigned long long)wanted[i]);
        at += random_below(random, gap_most);
        next[i] = at;
        keys_at[i] = (uintptr_t)keys_out.at + at * c->key_bytes;
        payloads_at[i] = (uintptr_t)payloads_out.at + at * c->payload_bytes;
        at += counts[i];
    }
    for (uint64_t i = 0; i < c->n; i++) {
        const uint32_t part = part_of(&p.how, get(words, i));

        put(&keys_wanted, next[part], get(&keys, i));
        if (c->payload_bytes > 0) {
            put(&payloads_wanted, next[part], c->indexes ? i : get(&payloads, i));
        }
        next[part]++;
    }
    p.keys_at = keys_at;
    p.payloads_at = c->payload_bytes > 0 ? payloads_at : NULL;
    check(primitives->partition_scatter(where, &p) == 1, "partition_scatter");
    primitives->partition_end(where, &p);
    check_equal(&keys_out, &keys_wanted, room, "partition, keys");
    check_equal(&payloads_out, &payloads_wanted, room, "partition, payloads");
    column_free(&keys);
    column_free(&numbers);
    column_free(&payloads);
    column_free(&keys_out);
    column_free(&payloads_out);
    column_free(&keys_wanted);
    column_free(&payloads_wanted);
    free(counts);
    free(keys_at);
    free(payloads_at);
    free(next);
    free(wanted);
}

static const uint32_t payload_widths[] = {0, 4, 8};

/* Every pair of widths, every kind of key, random sizes and numbers of parts. */
static void partition(void **state)
{
    static const uint32_t parts[] = {1, 2, 16, 256, 512, 2048, 4096};
    rng random = random_start(test_seed() + 5);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(360); round++) {
        const bh_seed seed = bh_seed_expand(random_next(&random));
        partition_case c;

        c.key_bytes = narrow_and_wide[round % 2];
        c.payload_bytes = payload_widths[round / 2 % 3];
        c.kind = (keys_kind)(round / 6 % KEYS_KINDS);
        c.n = some_size(&random, 150000);
        c.indexes = random_below(&random, 3) == 0;
        c.together = random_below(&random, 2) == 0;
        c.seed = random_below(&random, 2) == 0 ? &seed : NULL;
        c.parts = c.seed != NULL && random_below(&random, 2) == 0
                      ? 1 + (uint32_t)random_below(&random, BH__PARTS_MOST)
                      : parts[random_below(&random, TEST_COUNT(parts))];
        partition_check(some_place(&random), &c, &random);
    }
}

/* So many rows that they go by whole lines, and past the caches. */
static void partition_large(void **state)
{
    rng random = random_start(test_seed() + 6);
    (void)state;

    for (uint64_t round = 0; round < 24; round++) {
        const bh_seed seed = bh_seed_expand(random_next(&random));
        partition_case c;

        c.key_bytes = narrow_and_wide[round % 2];
        c.payload_bytes = payload_widths[round / 2 % 3];
        c.kind = (keys_kind)random_below(&random, KEYS_KINDS);
        // Bytes above those from which lines are streamed, or, less often, below.
        c.n = ((round % 4 == 3 ? 3u << 20 : 9u << 20) + random_below(&random, 1000)) /
              (c.key_bytes + c.payload_bytes);
        c.indexes = round % 5 == 4;
        c.together = round / 6 % 2 == 0;
        c.seed = round % 3 == 0 ? &seed : NULL;
        c.parts = c.seed != NULL ? 100 : 512;
        partition_check(&places[round % 7], &c, &random);
    }
}

/* Counted, and then not wanted. */
static void partition_given_up(void **state)
{
    const uint64_t n = 100000;
    column keys = column_new(4, n, 0);
    uint64_t counts[64];
    bh__partition p = {
        {64, 3, NULL, NULL}, 4, 0, keys.at, NULL, n, counts, NULL, NULL, NULL, 0, 0, 0};
    const uint64_t bytes = watched_bytes(&watched);
    (void)state;

    memset(keys.at, 0, n * 4);
    check(primitives->partition_count(&places[THREADS], &p) == 1, "partition_count");
    check(counts[0] == n && counts[1] == 0, "counts");
    primitives->partition_end(&places[THREADS], &p);
    check(watched_bytes(&watched) == bytes, "partition_end keeps memory");
    column_free(&keys);
}

/* --- sort --------------------------------------------------------------------------------- */

/* Sometimes how many bits the keys have, or more; else 0. */
static uint32_t key_bits_of(const column *keys, rng *random)
{
    uint64_t all = 0;
    uint32_t bits = 1;

    for (uint64_t i = 0; i < keys->n; i++) {
        all |= get(keys, i);
    }
    while (bits < 8 * keys->bytes && all >> bits != 0) {
        bits++;
    }
    return random_below(random, 2) == 0
               ? 0
               : bits + (uint32_t)random_below(random, 8 * keys->bytes - bits + 1);
}

typedef struct sort_case {
    uint32_t key_bytes;
    uint32_t payload_bytes;
    bool indexes; /* as payloads */
    bool keys_in_place;
    bool payloads_in_place;
    uint64_t n;
    keys_kind kind;
} sort_case;

/* The indexes of the rows in the order of their keys, those of equal keys in their own: by merging
 * longer and longer pieces. */
static uint64_t *order_of(const column *keys)
{
    uint64_t *from = test_allocate(keys->n * 8), *to = test_allocate(keys->n * 8);
    const uint64_t n = keys->n;

    for (uint64_t i = 0; i < n; i++) {
        from[i] = i;
    }
    for (uint64_t piece = 1; piece < n; piece *= 2) {
        uint64_t *swap = from;

        for (uint64_t begin = 0; begin < n; begin += 2 * piece) {
            const uint64_t middle = begin + piece < n ? begin + piece : n;
            const uint64_t stop = begin + 2 * piece < n ? begin + 2 * piece : n;
            uint64_t a = begin, b = middle;

            for (uint64_t i = begin; i < stop; i++) {
                const bool first =
                    b == stop || (a < middle && get(keys, from[a]) <= get(keys, from[b]));
                to[i] = first ? from[a++] : from[b++];
            }
        }
        from = to;
        to = swap;
    }
    free(to);
    return from;
}

static void sort_check(const bh__where *where, const sort_case *c, rng *random)
{
    column keys = column_new(c->key_bytes, c->n, (uint32_t)random_next(random));
    column payloads = column_new(c->payload_bytes, c->n, (uint32_t)random_next(random));
    column keys_out = column_new(c->key_bytes, c->n, (uint32_t)random_next(random));
    column payloads_out = column_new(c->payload_bytes, c->n, (uint32_t)random_next(random));
    column keys_spare = column_new(c->key_bytes, c->n, (uint32_t)random_next(random));
    column payloads_spare = column_new(c->payload_bytes, c->n, (uint32_t)random_next(random));
    column keys_wanted = column_new(c->key_bytes, c->n, 0);
    column payloads_wanted = column_new(c->payload_bytes, c->n, 0);
    uint64_t *order;
    bh__sort s;

    fill_keys(&keys, c->kind, random);
    fill_random(&payloads, random);
    order = order_of(&keys);
    for (uint64_t i = 0; i < c->n; i++) {
        put(&keys_wanted, i, get(&keys, order[i]));
        if (c->payload_bytes > 0) {
            put(&payloads_wanted, i, c->indexes ? order[i] : get(&payloads, order[i]));
        }
    }
    s.key_bytes = c->key_bytes;
    s.key_bits = key_bits_of(&keys, random);
    s.payload_bytes = c->payload_bytes;
    s.keys = keys.at;
    s.payloads = c->indexes ? NULL : payloads.at;
    s.n = c->n;
    s.keys_out = c->keys_in_place ? keys.at : keys_out.at;
    s.payloads_out = c->payloads_in_place ? payloads.at : payloads_out.at;
    s.keys_spare = keys_spare.at;
    s.payloads_spare = payloads_spare.at;
    check(primitives->sort_by_key(where, &s) == 1, "sort_by_key");
    check_equal(c->keys_in_place ? &keys : &keys_out, &keys_wanted, c->n, "sort, keys");
    check_equal(c->payloads_in_place ? &payloads : &payloads_out, &payloads_wanted, c->n,
                "sort, payloads");
    column_free(&keys);
    column_free(&payloads);
    column_free(&keys_out);
    column_free(&payloads_out);
    column_free(&keys_spare);
    column_free(&payloads_spare);
    column_free(&keys_wanted);
    column_free(&payloads_wanted);
    free(order);
}

static void sort_rounds(uint64_t rounds, uint64_t salt, uint64_t least, uint64_t most)
{
    rng random = random_start(test_seed() + salt);

    for (uint64_t round = 0; round < rounds; round++) {
        sort_case c;

        c.key_bytes = narrow_and_wide[round % 2];
        c.payload_bytes = payload_widths[round / 2 % 3];
        c.kind = (keys_kind)(round / 6 % KEYS_KINDS);
        c.n = least > 0 ? least + random_below(&random, most - least) : some_size(&random, most);
        c.indexes = random_below(&random, 3) == 0;
        c.keys_in_place = random_below(&random, 2) == 0;
        c.payloads_in_place = random_below(&random, 2) == 0;
        sort_check(some_place(&random), &c, &random);
    }
}

static void sort(void **state)
{
    (void)state;
    sort_rounds(test_scaled(480), 7, 0, 150000);
}

/* More than one leaf: parts that are split again, by one task and by all. */
static void sort_large(void **state)
{
    (void)state;
    sort_rounds(TEST_SANITIZER ? 6 : 60, 8, 200000, 600000);
    for (int kind = 0; kind < KEYS_KINDS; kind++) {
        rng random = random_start(test_seed() + 9);
        const sort_case wide = {8, 8, false, kind % 2 == 0, true, 400000, (keys_kind)kind};

        sort_check(&places[kind % 2 == 0 ? POOL_1 : THREADS], &wide, &random);
    }
}

/* So many rows that leaves leave past the caches, to outputs that begin anywhere in a line. */
static void sort_streams(void **state)
{
    rng random = random_start(test_seed() + 14);
    (void)state;

    for (uint64_t round = 0; round < (TEST_SANITIZER ? 6 : 18); round++) {
        sort_case c = {narrow_and_wide[round % 2],
                       payload_widths[round / 2 % 3],
                       false,
                       false,
                       false,
                       0,
                       KEYS_RANDOM};

        c.n = (9u << 20) / (c.key_bytes + c.payload_bytes);
        sort_check(&places[POOL_2], &c, &random);
    }
}

/* Two keys, each of which fills the share of one task: it takes both to see what differs. */
static void sort_of_shares_alike(void **state)
{
    const uint64_t n = 1u << 17;
    column keys = column_new(4, n, 0), spare = column_new(4, n, 0);
    const bh__sort s = {4, 0, 0, keys.at, NULL, n, keys.at, NULL, spare.at, NULL};
    (void)state;

    for (uint64_t i = 0; i < n; i++) {
        put(&keys, i, i < n / 2 ? 1u << 20 | 1 : 2);
    }
    check(primitives->sort_by_key(&places[POOL_2], &s) == 1, "sort_by_key");
    for (uint64_t i = 0; i < n; i++) {
        check(get(&keys, i) == (i < n / 2 ? 2 : 1u << 20 | 1), "row %llu", (unsigned long long)i);
    }
    column_free(&keys);
    column_free(&spare);
}

/* One after the other all parts of more and more levels are too large for a leaf: half of the keys
 * have bit 63 alone, half of the others bit 54, and so on. */
static void sort_deep(void **state)
{
    const uint64_t n = 300000;
    rng random = random_start(test_seed() + 10);
    (void)state;

    for (int place = 0; place < PLACES; place++) {
        column keys = column_new(8, n, 0), spare = column_new(8, n, 0);
        bh__sort s = {8, 0, 0, keys.at, NULL, n, keys.at, NULL, spare.at, NULL};

        for (uint64_t i = 0; i < n; i++) {
            const uint64_t r = random_next(&random);
            uint32_t bit = 63;

            while (bit > 9 && (r >> bit & 1) == 0) {
                bit -= 9;
            }
            put(&keys, i, r % 8 == 0 ? random_below(&random, 512) : 1ull << bit);
        }
        memcpy(spare.at, keys.at, n * 8);
        sort_column(&spare);
        column wanted = spare;
        spare = column_new(8, n, 0);
        s.keys_spare = spare.at;
        check(primitives->sort_by_key(&places[place], &s) == 1, "sort_by_key");
        check_equal(&keys, &wanted, n, "sort, deep");
        column_free(&keys);
        column_free(&spare);
        column_free(&wanted);
    }
}

/* A few rows are sorted without asking the system for anything, nor the executor. */
static void sort_of_few_asks_for_nothing(void **state)
{
    rng random = random_start(test_seed() + 11);
    const uint64_t allocations = watched_calls(&watched, WATCH_ALLOCATE);
    const uint64_t runs = atomic_load(&executors[THREADS].runs);
    const sort_case few = {4, 4, true, true, false, 1024, KEYS_RANDOM};
    (void)state;

    sort_check(&places[THREADS], &few, &random);
    check(watched_calls(&watched, WATCH_ALLOCATE) == allocations, "an allocation for 1024 rows");
    check(atomic_load(&executors[THREADS].runs) == runs, "tasks for 1024 rows");
}

/* --- reduce_by_key ------------------------------------------------------------------------ */

static uint64_t combined(bh_op op, uint64_t a, uint64_t b, uint64_t mask)
{
    switch (op) {
    case BH_ADD: return (a + b) & mask;
    case BH_MIN: return a < b ? a : b;
    case BH_MAX: return a > b ? a : b;
    case BH_INSERT: return b;
    default: return a;
    }
}

static void reduce_by_key(void **state)
{
    static const bh_op ops[] = {BH_ADD, BH_MIN, BH_MAX, BH_INSERT, BH_INSERT_NEW};
    rng random = random_start(test_seed() + 12);
    (void)state;

    for (uint64_t round = 0; round < test_scaled(600); round++) {
        const uint64_t n = some_size(&random, 200000);
        const uint32_t key_bytes = narrow_and_wide[round % 2];
        const uint32_t value_bytes = payload_widths[round / 2 % 3];
        const bh_op op = ops[round / 6 % 5];
        const bool with_starts = random_below(&random, 2) == 0;
        column keys = column_new(key_bytes, n, (uint32_t)random_next(&random));
        column values = column_new(value_bytes, n, (uint32_t)random_next(&random));
        column keys_wanted = column_new(key_bytes, n, 0);
        column values_wanted = column_new(value_bytes, n, 0);
        column starts_wanted = column_new(8, n, 0);
        uint64_t count = 0, runs = 1;
        column keys_out, values_out, starts;

        fill_keys(&keys,
                  random_below(&random, 2) == 0 ? KEYS_RUNS
                                                : (keys_kind)random_below(&random, KEYS_KINDS),
                  &random);
        fill_random(&values, &random);
        for (uint64_t i = 0; i < n; i++) {
            if (i == 0 || get(&keys, i) != get(&keys, i - 1)) {
                put(&keys_wanted, count, get(&keys, i));
                put(&starts_wanted, count, i);
                if (value_bytes > 0) {
                    put(&values_wanted, count, get(&values, i));
                }
                count++;
            } else if (value_bytes > 0) {
                put(&values_wanted, count - 1,
                    combined(op, get(&values_wanted, count - 1), get(&values, i),
                             test_width_mask(value_bytes)));
            }
        }
        keys_out = column_new(key_bytes, count, (uint32_t)random_next(&random));
        values_out = column_new(value_bytes, count, (uint32_t)random_next(&random));
        starts = column_new(8, count, (uint32_t)random_next(&random));
        check(primitives->reduce_by_key(some_place(&random), op, keys.at, key_bytes, values.at,
                                        value_bytes, n, keys_out.at, values_out.at,
                                        with_starts ? starts.at : NULL, &runs) == 1,
              "reduce_by_key");
        check(runs == count, "%llu runs of %llu rows, not %llu", (unsigned long long)runs,
              (unsigned long long)n, (unsigned long long)count);
        check_equal(&keys_out, &keys_wanted, count, "reduce_by_key, keys");
        check_equal(&values_out, &values_wanted, count, "reduce_by_key, values");
        if (with_starts) {
            check_equal(&starts, &starts_wanted, count, "reduce_by_key, starts");
        }
        column_free(&keys);
        column_free(&values);
        column_free(&keys_wanted);
        column_free(&values_wanted);
        column_free(&starts_wanted);
        column_free(&keys_out);
        column_free(&values_out);
        column_free(&starts);
    }
}

/* --- nothing, and no memory --------------------------------------------------------------- */

static void of_no_rows(void **state)
{
    uint64_t counts[2] = {7, 7}, at[2] = {0, 0}, total = 7, kept = 7, runs = 7;
    bh__partition p = {{2, 0, NULL, NULL}, 4, 4, NULL, NULL, 0, counts, at, at, NULL, 0, 0, 0};
    const bh__sort s = {8, 0, 8, NULL, NULL, 0, NULL, NULL, NULL, NULL};
    (void)state;

    for (int i = 0; i < PLACES; i++) {
        check(primitives->reduce(&places[i], BH_ADD, NULL, 8, 0) == 0, "sum of nothing");
        check(primitives->scan(&places[i], NULL, 4, 0, 5, NULL, &total) == 1 && total == 5, "scan");
        check(primitives->compact(&places[i], NULL, NULL, 8, 0, NULL, &kept) == 1 && kept == 0,
              "compact");
        primitives->gather(&places[i], NULL, 1, NULL, 8, 0, NULL);
        primitives->scatter(&places[i], NULL, 8, NULL, 4, 0, NULL);
        check(primitives->partition_count(&places[i], &p) == 1, "partition_count");
        check(counts[0] == 0 && counts[1] == 0, "counts");
        check(primitives->partition_scatter(&places[i], &p) == 1, "partition_scatter");
        primitives->partition_end(&places[i], &p);
        check(primitives->sort_by_key(&places[i], &s) == 1, "sort_by_key");
        check(primitives->reduce_by_key(&places[i], BH_ADD, NULL, 4, NULL, 4, 0, NULL, NULL, NULL,
                                        &runs) == 1 &&
                  runs == 0,
              "reduce_by_key");
        primitives->lower_bound(&places[i], NULL, 4, 0, NULL, 0, NULL);
    }
}

/* Where memory is refused the answer is 0, and the outputs are as they were. */
static void no_memory(void **state)
{
    const uint64_t n = 300000, parts = 64;
    rng random = random_start(test_seed() + 13);
    column keys = column_new(4, n, 0), out = column_new(4, n, 0), spare = column_new(4, n, 0);
    column before = column_new(4, n, 0);
    uint64_t counts[64], at[64];
    bh__sort s = {4, 0, 0, keys.at, NULL, n, out.at, NULL, spare.at, NULL};
    bh__partition p;
    (void)state;

    fill_keys(&keys, KEYS_RANDOM, &random);
    memcpy(before.at, out.at, n * 4);
    for (int i = 0; i < PLACES && !test_on_gpu(); i++) {
        watched_refuse(&watched, WATCH_BIT(WATCH_ALLOCATE), 1, true);
        check(primitives->sort_by_key(&places[i], &s) == 0, "a sort without memory");
        check_equal(&out, &before, n, "a refused sort");
        memset(&p, 0, sizeof p);
        p.how.parts = (uint32_t)parts;
        p.key_bytes = 4;
        p.keys = keys.at;
        p.n = n;
        p.counts = counts;
        p.keys_at = at;
        check(primitives->partition_count(&places[i], &p) == 0, "a partition without memory");
        check(watched_allow(&watched) == 2, "refusals");
    }
    column_free(&keys);
    column_free(&out);
    column_free(&spare);
    column_free(&before);
}

/* What is allocated stays below what primitives.h says. */
static void memory_is_bounded(void **state)
{
    const uint64_t n = 1000000;
    column keys = column_new(8, n, 0);
    uint64_t *counts = test_allocate(BH__PARTS_MOST * 8);
    bh__partition p = {
        {BH__PARTS_MOST, 0, NULL, NULL}, 8, 8, keys.at, NULL, n, counts, NULL, NULL, NULL, 0, 0, 0};
    const uint64_t before = watched_bytes(&watched);
    (void)state;

    memset(keys.at, 0, n * 8);
    check(primitives->partition_count(&places[MANY], &p) == 1, "partition_count");
    check(watched_bytes(&watched) - before <= (4u << 20) + n / 16, "%llu bytes",
          (unsigned long long)(watched_bytes(&watched) - before));
    primitives->partition_end(&places[MANY], &p);
    column_free(&keys);
    free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce),
        cmocka_unit_test(scan),
        cmocka_unit_test(compact),
        cmocka_unit_test(gather_and_scatter),
        cmocka_unit_test(scatter_of_equal_indexes),
        cmocka_unit_test(lower_bound),
        cmocka_unit_test(partition),
        cmocka_unit_test(partition_large),
        cmocka_unit_test(partition_given_up),
        cmocka_unit_test(sort),
        cmocka_unit_test(sort_large),
        cmocka_unit_test(sort_streams),
        cmocka_unit_test(sort_of_shares_alike),
        cmocka_unit_test(sort_deep),
        cmocka_unit_test(sort_of_few_asks_for_nothing),
        cmocka_unit_test(reduce_by_key),
        cmocka_unit_test(of_no_rows),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(memory_is_bounded),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, start, end));
}
