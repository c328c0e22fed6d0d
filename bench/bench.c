/* What the experiments share; see bench.h. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "commit.h"
#include "primitives/hash.h" /* for its generator of random numbers */

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
    uint64_t i;

    if (!memory)
        fail("not enough memory for the arrays of this many keys");
    memset(memory, 0, n * bytes);
    /* A compiler turns malloc and memset into calloc, which touches nothing: so pages are touched here. */
    for (i = 0; i < n * bytes; i += 4096)
        ((volatile char *)memory)[i] = 0;
    return memory;
}

/* --- keys ---------------------------------------------------------------------------------- */

void *key_array(const bench *b, uint64_t n)
{
    return array(n, b->settings.key_bytes);
}

void *value_array(const bench *b, uint64_t n)
{
    return array(n, b->settings.value_bytes);
}

void *key_at(const bench *b, const void *keys, uint64_t i)
{
    return (char *)(uintptr_t)keys + i * b->settings.key_bytes;
}

void *value_at(const bench *b, const void *values, uint64_t i)
{
    return (char *)(uintptr_t)values + i * b->settings.value_bytes;
}

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

static uint64_t load(const void *array, uint64_t i, uint32_t bytes)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static void store(void *array, uint64_t i, uint32_t bytes, uint64_t x)
{
    if (bytes == 4)
        ((uint32_t *)array)[i] = (uint32_t)x;
    else
        ((uint64_t *)array)[i] = x;
}

static uint64_t value_of(uint64_t key)
{
    return (key ^ 0x5bd1e995u) * 0x9e3779b97f4a7c15ull;
}

void fill_keys(const bench *b, void *keys, uint64_t first, uint64_t n, uint32_t salt)
{
    uint64_t i;

    for (i = 0; i < n; i++) {
        /* A step of the generator is a bijection of its state. */
        uint64_t state = first + i + ((uint64_t)salt << 32);

        store(keys, i, b->settings.key_bytes,
              b->settings.key_bytes == 4 ? key_of(first + i, salt) : bh_seed_next(&state));
    }
}

void fill_values(const bench *b, void *values, const void *keys, uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        store(values, i, b->settings.value_bytes, value_of(load(keys, i, b->settings.key_bytes)));
}

void check_values(const bench *b, const void *values, const void *keys, uint64_t n)
{
    const uint64_t mask = b->settings.value_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    uint64_t i;

    for (i = 0; i < n; i++)
        if (load(values, i, b->settings.value_bytes) !=
            (value_of(load(keys, i, b->settings.key_bytes)) & mask))
            fail("a value that was found is wrong");
}

void fill_half(const bench *b, void *keys, const void *there, const void *absent, uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        memcpy(key_at(b, keys, i), key_at(b, i % 2 ? there : absent, i), b->settings.key_bytes);
}

void fill_mixed(const bench *b, uint8_t *ops, void *keys, const void *there, const void *absent,
                uint64_t n)
{
    uint64_t random = 1, i;

    for (i = 0; i < n; i++) {
        uint64_t draw = bh_seed_next(&random) >> 62;

        ops[i] = draw == 0 ? BH_INSERT : draw == 1 ? BH_ERASE : BH_FIND;
        memcpy(key_at(b, keys, i), key_at(b, draw ? there : absent, i), b->settings.key_bytes);
    }
}

void fill_groups(const bench *b, uint8_t *ops, void *keys, const void *inserted, const void *asked,
                 uint64_t each)
{
    uint64_t done[2] = {0, 0}, i;

    for (i = 0; i < 2 * each; i++) {
        uint32_t asks = i / GROUP_KEYS % 2;

        if (done[asks] == each)
            asks = !asks;
        ops[i] = asks ? BH_FIND : BH_INSERT;
        memcpy(key_at(b, keys, i), key_at(b, asks ? asked : inserted, done[asks]++),
               b->settings.key_bytes);
    }
}

uint64_t sum_of(const void *array, uint64_t n, uint32_t bytes)
{
    uint64_t sum = 0, i;

    for (i = 0; i < n; i++)
        sum += load(array, i, bytes);
    return bytes == 4 ? (uint32_t)sum : sum;
}

#define ZIPF 0.99

typedef struct zipf {
    const bench *b;
    void *drawn;
    const void *keys;
    uint64_t n;
    uint64_t seed;
    double sum; /* of 1 / i^0.99 for i from 1 to n */
} zipf;

/* The method of Gray and others, "Quickly generating billion-record synthetic databases" (SIGMOD
 * 1994): ranks 0 and 1 exactly, the others by a formula that comes close. */
static void draw_zipf(void *argument, uint64_t first, uint64_t count)
{
    const zipf *z = argument;
    const uint32_t bytes = z->b->settings.key_bytes;
    const double n = (double)z->n, two = 1 + pow(0.5, ZIPF);
    const double eta = (1 - pow(2 / n, 1 - ZIPF)) / (1 - two / z->sum);
    uint64_t random = z->seed + first, i;

    for (i = first; i < first + count; i++) {
        double u = (double)(bh_seed_next(&random) >> 11) * 0x1p-53;
        uint64_t rank = u * z->sum < 1     ? 0u
                        : u * z->sum < two ? 1u
                                           : (uint64_t)(n * pow(eta * u - eta + 1, 1 / (1 - ZIPF)));

        store(z->drawn, i, bytes, load(z->keys, rank < z->n ? rank : z->n - 1, bytes));
    }
}

void fill_zipf(const bench *b, void *drawn, const void *keys, uint64_t n, uint64_t seed)
{
    zipf z = {b, drawn, keys, n, seed, 0};
    uint64_t i, exact = n < 1u << 20 ? n : 1u << 20;

    for (i = 1; i <= exact; i++)
        z.sum += pow((double)i, -ZIPF);
    /* The rest as an integral. */
    z.sum += (pow((double)n, 1 - ZIPF) - pow((double)exact, 1 - ZIPF)) / (1 - ZIPF);
    bh__run(&b->backend->executor, draw_zipf, &z, n, 1u << 16);
}

void draw_last(const bench *b, void *keys, uint64_t count, uint64_t n, uint64_t *random)
{
    const uint32_t bytes = b->settings.key_bytes;
    uint64_t i;

    for (i = 0; i < n; i++) {
        uint64_t drawn = bh_seed_next(random) % (count - i), last = count - 1 - i;
        uint64_t key = load(keys, last, bytes);

        store(keys, last, bytes, load(keys, drawn, bytes));
        store(keys, drawn, bytes, key);
    }
}

/* --- tables and time ----------------------------------------------------------------------- */

bh_table *table_of(const bench *b, bh_context *context, uint64_t capacity)
{
    bh_table_options options;
    bh_table *table;

    bh_table_options_init(&options, b->settings.key_bytes, b->settings.value_bytes, capacity);
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

    stats = stats_of(table);
    if (b->limit && fabs((double)stats.bytes_total / (double)b->limit_bytes - 1) < 0.05)
        return b->limit;
    limit_destroy(b->limit);
    b->limit_bytes = stats.bytes_total;
    b->limit = limit_create(b->backend, stats.bytes_total);
    if (!b->limit)
        fail("not enough memory to measure the limit");
    window = limit_tune(b->limit);
    if (!b->settings.json)
        printf("pairs u%u->u%u in %.4g MB, pages of %llu KiB, target %s, %u threads, limit with "
               "window %u, %u repetitions\n",
               8 * b->settings.key_bytes, 8 * b->settings.value_bytes,
               (double)stats.bytes_total * 1e-6, (unsigned long long)stats.page_bytes >> 10,
               b->info.target, b->info.threads, window, b->settings.repetitions);
    return b->limit;
}

double seconds(const bench *b)
{
    return (double)b->backend->system.clock_nanoseconds(b->backend->system.state) * 1e-9;
}

static bh_status call(bh_op op, bh_table *table, const void *keys, void *values, uint64_t n)
{
    switch (op) {
    case BH_FIND: return bh_find(table, keys, n, values, NULL);
    case BH_INSERT: return bh_insert(table, keys, values, n, NULL);
    case BH_FIND_OR_INSERT: return bh_find_or_insert(table, keys, values, n, NULL);
    case BH_ERASE: return bh_erase(table, keys, n, NULL);
    default: return bh_reduce(table, op, keys, values, n, NULL);
    }
}

double timed(const bench *b, bh_op op, bh_table *table, const void *keys, void *values, uint64_t n,
             uint64_t part, double *longest)
{
    double begin = seconds(b), from = begin, now, most = 0;
    uint64_t i;

    for (i = 0; i < n; i += part) {
        check(call(op, table, key_at(b, keys, i), value_at(b, values, i),
                   n - i < part ? n - i : part));
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

#define TURNOVER_PARTS 64u

void turn_over(const bench *b, bh_table *table, void *keys, void *values, uint64_t n, uint32_t salt)
{
    uint64_t random = salt, round, part;

    if (b->settings.key_bytes == 4 && n > UINT32_MAX / (TURNOVERS + 2))
        fail("there are not enough keys of 4 bytes to turn over so many");
    for (round = 1; round <= TURNOVERS; round++) {
        draw_last(b, keys, n, n, &random);
        for (part = 0; part < TURNOVER_PARTS; part++) {
            uint64_t first = part * n / TURNOVER_PARTS;
            uint64_t count = (part + 1) * n / TURNOVER_PARTS - first;
            void *some = key_at(b, keys, first), *their_values = value_at(b, values, first);

            check(bh_erase(table, some, count, NULL));
            fill_keys(b, some, round * n + first, count, salt);
            fill_values(b, their_values, some, count);
            check(bh_insert(table, some, their_values, count, NULL));
        }
    }
}

typedef struct copy {
    char *to;
    const char *from;
    uint64_t bytes;
} copy;

#define COPY_PART (1u << 20)

static void copy_parts(void *argument, uint64_t first, uint64_t count)
{
    const copy *c = argument;
    uint64_t begin = first * COPY_PART, end = (first + count) * COPY_PART;

    memcpy(c->to + begin, c->from + begin, (end < c->bytes ? end : c->bytes) - begin);
}

double timed_copy(const bench *b, void *to, const void *from, uint64_t bytes)
{
    copy c = {to, from, bytes};
    double begin = seconds(b);

    bh__run(&b->backend->executor, copy_parts, &c, (bytes + COPY_PART - 1) / COPY_PART, 1);
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
    return s->count % 2 ? s->at[s->count / 2] : (s->at[s->count / 2 - 1] + s->at[s->count / 2]) / 2;
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

void enter_between(result *r, uint64_t n, double taken, double before, double after)
{
    double around = (before + after) / 2;

    enter(r, n, taken);
    sample(&r->limit, around);
    sample(&r->ratio, (double)n / taken * 1e-6 / around);
}

double enter_beside(result *r, uint64_t n, double taken, double before, limit *l)
{
    double after = limit_run(l);

    enter_between(r, n, taken, before, after);
    return after;
}

void compare(const bench *b, result *r, const couple *c, bh_op op, const void *keys, void *values,
             uint64_t n, uint64_t part, double *longest)
{
    double before = limit_run(b->limit), one = 0, other = 0;
    int i;

    for (i = 0; i < 2; i++)
        if (i != c->table_first)
            one = timed(b, op, c->table, keys, values, n, part, longest);
        else
            other = timed(b, op, c->beside, keys, values, n, part, NULL);
    enter_beside(r, n, one, before, b->limit);
    sample(&r->value, other / one);
    r->batch = part;
}

result by_limit(const bench *b, const result *r, double bar)
{
    result judged = *r;

    judged.figure = NULL;
    judged.bar = b->settings.key_bytes == 4 && b->settings.value_bytes == 4 ? bar : 0;
    judged.value.count = 0;
    return judged;
}

/* The text behind "model name : " where Linux lists the processors, or "unknown": not all kinds of
 * processors have that line. */
static void read_model_name(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(name, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", strlen("model name")) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file)
        fclose(file);
}

void bench_machine(bench *b, const char *gpu_name)
{
    char *c;

    if (gpu_name)
        snprintf(b->machine, sizeof b->machine, "%s", gpu_name);
    else
        read_model_name(b->machine, sizeof b->machine);
    /* What JSON would want an escape for is in no name worth keeping. */
    for (c = b->machine; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = ' ';
}

#define UNSUPPORTED "not supported"

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

/* Microseconds of a call, of which a rate was measured. */
static double per_call(const result *r, samples *mops)
{
    return mops->count ? (double)r->batch / median(mops) : 0;
}

static void print_json_peer(result *r)
{
    printf(",\"peer\":\"%s\",\"peer_commit\":\"%s\"", r->peer, r->peer_commit);
    print_number("peer_fill", r->peer_fill, r->peer_fill > 0);
    print_median("peer_mops", &r->peer_mops);
    if (!r->per_call)
        return;
    print_number("call_us", per_call(r, &r->mops), r->mops.count > 0);
    print_number("peer_call_us", per_call(r, &r->peer_mops), r->peer_mops.count > 0);
}

static void print_json(const bench *b, result *r, samples *judged, int met)
{
    printf(
        "{\"experiment\":\"%s\",\"name\":\"%s\",\"design\":\"%s\",\"device\":\"%s\","
        "\"machine\":\"%s\",\"commit\":\"%s\",\"target\":\"%s\",\"op\":\"%s\",\"keys\":%llu,\"key_bytes\":%u,\"value_bytes\":%u",
        r->experiment, r->name + strspn(r->name, " "), r->design ? r->design : b->settings.design,
        b->info.device, b->machine, bench_commit, b->info.target, r->op,
        (unsigned long long)r->keys, b->settings.key_bytes, b->settings.value_bytes);
    print_number("fill", r->fill, r->fill > 0);
    print_number("hit_rate", r->hit_rate, r->hit_rate >= 0);
    printf(",\"skew\":\"%s\",\"batch\":%llu,\"threads\":%u,\"state\":\"%s\","
           "\"page_bytes\":%llu,\"clock\":\"%s\"",
           r->skew ? r->skew : "uniform", (unsigned long long)r->batch,
           r->threads ? r->threads : b->info.threads, r->state, (unsigned long long)r->page_bytes,
           r->clock ? r->clock : "wall");
    print_median("mops", &r->mops);
    print_median("limit_mlines", &r->limit);
    printf(",\"limit_is\":\"%s\"", !r->limit.count ? "none" : r->limit_is ? r->limit_is : "lines");
    print_median("ratio_to_limit", &r->ratio);
    print_number("bytes_per_key", r->bytes_per_key, r->bytes_per_key > 0);
    printf(",\"figure\":\"%s\"", r->unsupported ? UNSUPPORTED
                                 : r->figure    ? r->figure
                                                : "ratio to the limit");
    print_median("value", judged);
    print_number("lowest", judged->at[0], judged->count > 0);
    print_number("highest", judged->at[judged->count ? judged->count - 1 : 0], judged->count > 0);
    if (r->peer)
        print_json_peer(r);
    if (r->paper > 0)
        print_number("paper", r->paper, 1);
    print_number("bar", r->bar, r->bar > 0);
    printf(",\"bar_is\":%s,\"met\":%s}\n",
           r->bar <= 0      ? "null"
           : r->bar_is_most ? "\"at most\""
                            : "\"at least\"",
           r->bar > 0 && judged->count ? met ? "true" : "false" : "null");
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

/* A GPU does in a second what cores do in a hundred. */
static void print_rate(const bench *b, samples *s, const char *unit)
{
    if (b->on_gpu)
        printf(" %8.3f G%s/s", median(s) * 1e-3, unit);
    else
        printf(" %8.1f M%s/s", median(s), unit);
}

static void print_per_call(const result *r, samples *mops)
{
    double microseconds = per_call(r, mops);

    if (r->per_call && mops->count)
        printf(" %.*f us a call", digits(microseconds), microseconds);
}

static void print_text(const bench *b, result *r, samples *judged, int met)
{
    printf("%-26s", r->name);
    if (r->unsupported)
        printf("   " UNSUPPORTED);
    if (r->mops.count) {
        print_rate(b, &r->mops, "");
        print_per_call(r, &r->mops);
    }
    if (r->peer) {
        printf("   %s", r->peer);
        print_rate(b, &r->peer_mops, "");
        print_per_call(r, &r->peer_mops);
    }
    if (r->limit.count) {
        char unit[32];

        snprintf(unit, sizeof unit, " %s", r->limit_is ? r->limit_is : "lines");
        printf("   limit");
        print_rate(b, &r->limit, unit);
        print_value("ratio", &r->ratio);
    }
    if (r->value.count)
        print_value(r->figure, &r->value);
    if (r->bar > 0 && judged->count)
        printf("   bar %s%.*f %s", r->bar_is_most ? "at most " : "", digits(r->bar), r->bar,
               met ? "met" : "NOT MET");
    if (r->paper > 0)
        printf("   the paper: %.*f", digits(r->paper), r->paper);
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
        print_text(b, r, judged, met);
    fflush(stdout);
}
