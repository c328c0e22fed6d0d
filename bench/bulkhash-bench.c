/*
 * bulkhash-bench: how fast the table is, beside how fast the machine reads memory.
 *
 * For each operation: a table of the size asked for, the random-line limit before
 * and after (limit.h), and the ratio of the two rates, as the median over the
 * repetitions with the lowest and the highest. Keys are fresh in every repetition
 * and made outside the timed part. Rates alone say little on a machine that others
 * use too; the ratio is what is compared.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "limit.h"

#define REPETITIONS_MOST 99

typedef struct settings {
    uint64_t keys;
    double fill;
    uint32_t threads;
    uint32_t repetitions;
    int grow;
} settings;

/* One operation's results over the repetitions. */
typedef struct series {
    const char *name;
    double bar; /* the ratio asked for; 0: none */
    double mops[REPETITIONS_MOST];
    double limit[REPETITIONS_MOST];
    double ratio[REPETITIONS_MOST];
    uint32_t count;
} series;

static const char usage_text[] =
    "Usage: bulkhash bench [OPTION]...\n"
    "\n"
    "Measures u32 -> u32 pairs beside the rate at which the machine reads random\n"
    "64-byte lines of as much memory (\"limit\"). Prints for each operation the median\n"
    "rate, the limit, their ratio with the lowest and highest, and the bar.\n"
    "\n"
    "  -n, --keys N         pairs in the table (default 33554432)\n"
    "  -f, --fill F         fraction of slots in use (default 0.8)\n"
    "  -t, --threads N      threads (default: all)\n"
    "  -r, --repetitions N  repetitions, 1 to 99 (default 5)\n"
    "      --quick          2097152 pairs, 3 repetitions\n"
    "  -h, --help           this text\n"
    "\n"
    "Example: bulkhash bench --quick --threads 2\n";

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Distinct 4-byte keys in no visible order: a bijection of the counter, another one each time. */
static uint32_t key_of(uint32_t counter, uint32_t salt)
{
    uint32_t x = counter + salt;

    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static void fail(const char *what)
{
    fprintf(stderr, "bulkhash-bench: %s\n", what);
    exit(1);
}

static void *array(uint64_t n, uint64_t bytes)
{
    void *memory = n <= UINT64_MAX / bytes ? malloc(n * bytes) : NULL;

    if (!memory)
        fail("not enough memory for the arrays of this many keys");
    memset(memory, 0, n * bytes);
    return memory;
}

static void check(bh_status status)
{
    if (status)
        fail(bh_error_detail());
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double seconds(const bh__backend *backend)
{
    return (double)backend->system.clock_nanoseconds(backend->system.state) * 1e-9;
}

/* Enters one timed run: `before` and the limit measured now stand around it. */
static double enter(series *s, uint64_t n, double taken, double before, limit *l)
{
    double after = limit_run(l);

    s->mops[s->count] = (double)n / taken * 1e-6;
    s->limit[s->count] = (before + after) / 2;
    s->ratio[s->count] = s->mops[s->count] / s->limit[s->count];
    s->count++;
    return after;
}

static void print(series *s)
{
    double ratio, mops, lines;

    if (!s->count)
        return;
    ratio = median(s->ratio, s->count);
    mops = median(s->mops, s->count);
    lines = median(s->limit, s->count);
    printf("%-18s %8.1f M/s   limit %7.1f M lines/s   ratio %5.2f (%.2f to %.2f)", s->name, mops,
           lines, ratio, s->ratio[0], s->ratio[s->count - 1]);
    if (s->bar > 0)
        printf("   bar %.2f %s", s->bar, ratio >= s->bar ? "met" : "NOT MET");
    if (s->ratio[s->count - 1] > 1.1 * s->ratio[0])
        printf("   spread above 10%%");
    printf("\n");
}

/* The cost of a call with one key, in nanoseconds: all in cache, so that it is the call's own. */
static void measure_single(bh_context *context)
{
    enum { CALLS = 200000 };
    const bh__backend *backend = &context->cpu.backend;
    bh_table_options options;
    bh_table *table;
    uint32_t key, value = 1;
    double begin, find, insert;
    uint32_t i;

    bh_table_options_init(&options, 4, 4, 1024);
    check(bh_table_create(context, &options, &table));
    for (key = 0; key < 512; key++)
        check(bh_insert(table, &key, &value, 1, NULL));
    begin = seconds(backend);
    for (i = 0; i < CALLS; i++) {
        key = i & 511;
        check(bh_insert(table, &key, &value, 1, NULL));
    }
    insert = seconds(backend) - begin;
    begin = seconds(backend);
    for (i = 0; i < CALLS; i++) {
        key = i & 511;
        check(bh_find(table, &key, 1, &value, NULL));
    }
    find = seconds(backend) - begin;
    printf("call with n = 1    find %.0f ns   insert %.0f ns   bar 1000 ns %s\n",
           find / CALLS * 1e9, insert / CALLS * 1e9,
           find / CALLS < 1e-6 && insert / CALLS < 1e-6 ? "met" : "NOT MET");
    bh_table_destroy(table);
}

static void run(const settings *s)
{
    series insert = {.name = "insert, reserved", .bar = 0.25};
    series find = {.name = "find, all present", .bar = 0.39};
    series miss = {.name = "find, all absent", .bar = 0.32};
    series add = {.name = "reduce, present"}, erase = {.name = "erase, present"};
    series grown = {.name = "insert, growing"};
    uint32_t *keys = array(s->keys, 4), *absent = array(s->keys, 4), *values = array(s->keys, 4);
    bh_context_options context_options;
    bh_context_info info;
    bh_table_options options;
    bh_table_stats stats;
    bh_context *context;
    const bh__backend *backend;
    limit *l = NULL;
    uint32_t repetition;
    uint64_t i;

    bh_context_options_init(&context_options);
    context_options.threads = s->threads;
    check(bh_context_create("cpu", &context_options, &context));
    backend = &context->cpu.backend;
    info.struct_size = sizeof info;
    stats.struct_size = sizeof stats;
    check(bh_context_get_info(context, &info));
    bh_table_options_init(&options, 4, 4, s->keys);
    options.max_fill = s->fill;

    for (repetition = 0; repetition < s->repetitions; repetition++) {
        uint32_t salt = (uint32_t)mix(repetition + 1);
        bh_table *table;
        double begin, taken, before;

        for (i = 0; i < s->keys; i++) {
            keys[i] = key_of((uint32_t)i, salt);
            absent[i] = key_of((uint32_t)(i + s->keys), salt);
            values[i] = keys[i] ^ 0x5bd1e995u;
        }
        check(bh_table_create(context, &options, &table));
        check(bh_table_get_stats(table, &stats));
        if (!l) {
            uint32_t window;

            l = limit_create(backend, stats.bytes_total);
            if (!l)
                fail("not enough memory to measure the limit");
            window = limit_tune(l);
            printf("%llu pairs u32->u32, fill %.3f, %.2f bytes per pair, pages of %llu KiB, "
                   "target %s, %u threads, limit with window %u, %u repetitions\n",
                   (unsigned long long)s->keys, (double)s->keys / (double)stats.slots,
                   (double)stats.bytes_total / (double)s->keys,
                   (unsigned long long)stats.page_bytes >> 10, info.target, info.threads, window,
                   s->repetitions);
        }
        before = limit_run(l);
        begin = seconds(backend);
        check(bh_insert(table, keys, values, s->keys, NULL));
        taken = seconds(backend) - begin;
        before = enter(&insert, s->keys, taken, before, l);

        begin = seconds(backend);
        check(bh_find(table, keys, s->keys, values, NULL));
        taken = seconds(backend) - begin;
        before = enter(&find, s->keys, taken, before, l);
        for (i = 0; i < s->keys; i++)
            if (values[i] != (keys[i] ^ 0x5bd1e995u))
                fail("a value that was found is wrong");

        begin = seconds(backend);
        check(bh_find(table, absent, s->keys, values, NULL));
        taken = seconds(backend) - begin;
        before = enter(&miss, s->keys, taken, before, l);

        begin = seconds(backend);
        check(bh_reduce(table, BH_ADD, keys, values, s->keys, NULL));
        taken = seconds(backend) - begin;
        before = enter(&add, s->keys, taken, before, l);

        begin = seconds(backend);
        check(bh_erase(table, keys, s->keys, NULL));
        taken = seconds(backend) - begin;
        before = enter(&erase, s->keys, taken, before, l);
        check(bh_table_get_stats(table, &stats));
        if (stats.keys || stats.grows)
            fail("the table is not what it should be after erasing everything");
        bh_table_destroy(table);

        if (s->grow) {
            uint64_t part = 1u << 16;

            options.capacity = 1;
            check(bh_table_create(context, &options, &table));
            options.capacity = s->keys;
            begin = seconds(backend);
            for (i = 0; i < s->keys; i += part)
                check(bh_insert(table, keys + i, values + i,
                                s->keys - i < part ? s->keys - i : part, NULL));
            taken = seconds(backend) - begin;
            enter(&grown, s->keys, taken, before, l);
            check(bh_table_get_stats(table, &stats));
            bh_table_destroy(table);
        }
    }
    print(&find);
    print(&miss);
    print(&insert);
    print(&add);
    print(&erase);
    print(&grown);
    if (s->grow)
        printf("growth             from capacity 1 in calls of 65536 keys: %.2f keys moved per "
               "key, longest pause %.1f ms, %.2f bytes per pair\n",
               (double)stats.keys_moved / (double)s->keys, (double)stats.longest_pause_ns * 1e-6,
               (double)stats.bytes_total / (double)s->keys);
    measure_single(context);
    limit_destroy(l);
    bh_context_destroy(context);
    free(keys);
    free(absent);
    free(values);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most, const char *option)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < least || value > most) {
        fprintf(stderr,
                "bulkhash-bench: %s: \"%s\" is no number from %llu to %llu; see bulkhash bench "
                "--help\n",
                option, text, (unsigned long long)least, (unsigned long long)most);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    enum { QUICK = 256 };
    static const struct option options[] = {
        {"keys", required_argument, NULL, 'n'},
        {"fill", required_argument, NULL, 'f'},
        {"threads", required_argument, NULL, 't'},
        {"repetitions", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, QUICK},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings s = {1u << 25, 0.8, 0, 5, 1};
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "n:f:t:r:h", options, NULL)) != -1) {
        switch (option) {
        case 'n': s.keys = number(optarg, 1, 1u << 31, "--keys"); break;
        case 'f':
            s.fill = strtod(optarg, &end);
            if (end == optarg || *end || !(s.fill >= 0.1 && s.fill <= 0.95)) {
                fprintf(stderr, "bulkhash-bench: --fill: \"%s\" is no number from 0.1 to 0.95; "
                                "see bulkhash bench --help\n",
                        optarg);
                return 2;
            }
            break;
        case 't': s.threads = (uint32_t)number(optarg, 1, 4096, "--threads"); break;
        case 'r':
            s.repetitions = (uint32_t)number(optarg, 1, REPETITIONS_MOST, "--repetitions");
            break;
        case QUICK:
            s.keys = 1u << 21;
            s.repetitions = 3;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return fflush(stdout) ? 1 : 0;
        default: fputs("Try: bulkhash bench --help\n", stderr); return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "bulkhash-bench: \"%s\" is no option; see bulkhash bench --help\n",
                argv[optind]);
        return 2;
    }
    run(&s);
    return fflush(stdout) ? 1 : 0;
}
