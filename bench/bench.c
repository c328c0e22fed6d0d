/* What the experiments share; see bench.h. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables/hash.h" /* for its generator of random numbers */

void fail(const char *what)
{
    fprintf(stderr, "bulkhash-bench: %s\n", what);
    exit(1);
}

void check(bh_status status)
{
    if (status)
        fail(bh_error_detail());
}

void *array(uint64_t n, uint64_t bytes)
{
    void *memory = n <= UINT64_MAX / bytes ? malloc(n * bytes) : NULL;

    if (!memory)
        fail("not enough memory for the arrays of this many keys");
    memset(memory, 0, n * bytes);
    return memory;
}

/* --- keys ---------------------------------------------------------------------------------- */

uint32_t key_of(uint64_t counter, uint32_t salt)
{
    uint32_t x = (uint32_t)counter + salt;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

uint32_t salt_of(uint32_t repetition)
{
    uint64_t state = repetition;

    return (uint32_t)bh_seed_next(&state);
}

uint32_t value_of(uint32_t key)
{
    return key ^ 0x5bd1e995u;
}

void fill_keys(uint32_t *keys, uint64_t first, uint64_t n, uint32_t salt)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        keys[i] = key_of(first + i, salt);
}

void fill_values(uint32_t *values, const uint32_t *keys, uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        values[i] = value_of(keys[i]);
}

void draw_last(uint32_t *keys, uint64_t count, uint64_t n, uint64_t *random)
{
    uint64_t i;

    for (i = 0; i < n; i++) {
        uint32_t *last = &keys[count - 1 - i];
        uint32_t *drawn = &keys[bh_seed_next(random) % (count - i)];
        uint32_t key = *last;

        *last = *drawn;
        *drawn = key;
    }
}

void check_values(const uint32_t *values, const uint32_t *keys, uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        if (values[i] != value_of(keys[i]))
            fail("a value that was found is wrong");
}

/* --- tables and time ----------------------------------------------------------------------- */

bh_table *table_of(const bench *b, bh_context *context, uint64_t capacity)
{
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, 4, 4, capacity);
    options.max_fill = b->settings.fill;
    check(bh_table_create(context, &options, &table));
    return table;
}

bh_table_stats stats_of(const bh_table *table)
{
    bh_table_stats stats;

    stats.struct_size = sizeof stats;
    check(bh_table_get_stats(table, &stats));
    return stats;
}

limit *bench_limit(bench *b, const bh_table *table)
{
    bh_table_stats stats;
    uint32_t window;

    if (b->limit)
        return b->limit;
    stats = stats_of(table);
    b->limit = limit_create(b->backend, stats.bytes_total);
    if (!b->limit)
        fail("not enough memory to measure the limit");
    window = limit_tune(b->limit);
    if (!b->settings.json)
        printf("%llu pairs u32->u32, fill %.3f, %.2f bytes per pair, pages of %llu KiB, target "
               "%s, %u threads, limit with window %u, %u repetitions\n",
               (unsigned long long)b->settings.keys,
               (double)b->settings.keys / (double)stats.slots,
               (double)stats.bytes_total / (double)b->settings.keys,
               (unsigned long long)stats.page_bytes >> 10, b->info.target, b->info.threads, window,
               b->settings.repetitions);
    return b->limit;
}

double seconds(const bench *b)
{
    return (double)b->backend->system.clock_nanoseconds(b->backend->system.state) * 1e-9;
}

static bh_status call(bh_op op, bh_table *table, const uint32_t *keys, uint32_t *values, uint64_t n)
{
    switch (op) {
    case BH_FIND: return bh_find(table, keys, n, values, NULL);
    case BH_INSERT: return bh_insert(table, keys, values, n, NULL);
    case BH_ERASE: return bh_erase(table, keys, n, NULL);
    default: return bh_reduce(table, op, keys, values, n, NULL);
    }
}

double timed(const bench *b, bh_op op, bh_table *table, const uint32_t *keys, uint32_t *values,
             uint64_t n, uint64_t part, double *longest)
{
    double begin = seconds(b), from = begin, now, most = 0;
    uint64_t i;

    for (i = 0; i < n; i += part) {
        check(call(op, table, keys + i, values + i, n - i < part ? n - i : part));
        if (!longest)
            continue;
        now = seconds(b);
        most = now - from > most ? now - from : most;
        from = now;
    }
    if (longest)
        *longest = most;
    return seconds(b) - begin;
}

/* --- results ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Leaves the samples sorted. */
double median(samples *s)
{
    qsort(s->at, s->count, sizeof *s->at, by_value);
    return s->count % 2 ? s->at[s->count / 2]
                        : (s->at[s->count / 2 - 1] + s->at[s->count / 2]) / 2;
}

void sample(samples *s, double value)
{
    s->at[s->count++] = value;
}

void result_table(result *r, const bh_table_stats *stats)
{
    r->keys = stats->keys;
    r->fill = (double)stats->keys / (double)stats->slots;
    r->page_bytes = stats->page_bytes;
    r->bytes_per_key = stats->keys ? (double)stats->bytes_total / (double)stats->keys : 0;
}

void enter(result *r, uint64_t n, double taken)
{
    sample(&r->mops, (double)n / taken * 1e-6);
}

double enter_beside(result *r, uint64_t n, double taken, double before, limit *l)
{
    double after = limit_run(l), around = (before + after) / 2;

    enter(r, n, taken);
    sample(&r->limit, around);
    sample(&r->ratio, (double)n / taken * 1e-6 / around);
    return after;
}

static void print_number(const char *name, double number, int known)
{
    if (known)
        printf(",\"%s\":%.6g", name, number);
    else
        printf(",\"%s\":null", name);
}

static void print_median(const char *name, samples *s)
{
    print_number(name, s->count ? median(s) : 0, s->count > 0);
}

static void print_json(const bench *b, result *r, samples *judged, int met)
{
    printf("{\"experiment\":\"%s\",\"design\":\"dycuckoo\",\"device\":\"%s\",\"target\":\"%s\","
           "\"op\":\"%s\",\"keys\":%llu,\"key_bytes\":4,\"value_bytes\":4",
           r->experiment, b->info.device, b->info.target, r->op, (unsigned long long)r->keys);
    print_number("fill", r->fill, r->fill > 0);
    print_number("hit_rate", r->hit_rate, r->hit_rate >= 0);
    printf(",\"skew\":\"uniform\",\"batch\":%llu,\"threads\":%u,\"state\":\"%s\","
           "\"page_bytes\":%llu",
           (unsigned long long)r->batch, b->info.threads, r->state,
           (unsigned long long)r->page_bytes);
    print_median("mops", &r->mops);
    print_median("limit_mlines", &r->limit);
    print_median("ratio_to_limit", &r->ratio);
    print_number("bytes_per_key", r->bytes_per_key, r->bytes_per_key > 0);
    printf(",\"figure\":\"%s\"", r->figure ? r->figure : "ratio to the limit");
    print_median("value", judged);
    print_number("lowest", judged->at[0], judged->count > 0);
    print_number("highest", judged->at[judged->count ? judged->count - 1 : 0], judged->count > 0);
    print_number("bar", r->bar, r->bar > 0);
    printf(",\"met\":%s}\n", r->bar > 0 && judged->count ? met ? "true" : "false" : "null");
}

/* Digits behind the point: three or so that count. */
static int digits(double value)
{
    return value < 10 ? 2 : value < 100 ? 1 : 0;
}

/* A figure of one sample has no range. */
static void print_value(const char *name, samples *s)
{
    double value = median(s);
    int d = digits(value);

    printf("   %s %.*f", name, d, value);
    if (s->count > 1)
        printf(" (%.*f to %.*f)", d, s->at[0], d, s->at[s->count - 1]);
}

static void print_text(result *r, samples *judged, int met)
{
    printf("%-22s", r->name);
    if (r->mops.count)
        printf(" %8.1f M/s", median(&r->mops));
    if (r->limit.count) {
        printf("   limit %7.1f M lines/s", median(&r->limit));
        print_value("ratio", &r->ratio);
    }
    if (r->value.count)
        print_value(r->figure, &r->value);
    if (r->bar > 0 && judged->count)
        printf("   bar %s%.*f %s", r->bar_is_most ? "at most " : "", digits(r->bar), r->bar,
               met ? "met" : "NOT MET");
    if (judged->count && judged->at[judged->count - 1] > 1.1 * judged->at[0])
        printf("   spread above 10%%");
    printf("\n");
}

void print(const bench *b, result *r)
{
    samples *judged = r->figure ? &r->value : &r->ratio;
    double value = judged->count ? median(judged) : 0;
    int met = r->bar_is_most ? value <= r->bar : value >= r->bar;

    if (b->settings.json)
        print_json(b, r, judged, met);
    else
        print_text(r, judged, met);
    fflush(stdout);
}
