/*
 * bulkhash-bench: how fast the table is, beside how fast the machine reads memory.
 *
 * An experiment is a file of its own, called as it is. Each prints results (bench.h), a line or an object each, as medians over the repetitions with the lowest
 * and the highest, and the bar that is asked for. Keys are fresh in every repetition and made
 * outside the timed part. Rates alone say little on a machine that others use too; what is
 * compared is a ratio to the random-line limit (limit.h) or to another rate of the same
 * repetition.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const struct {
    const char *name;
    void (*run)(bench *b);
    int by_default;
    int any_widths; /* not only u32 -> u32 */
} experiments[] = {
    {"operations", run_operations, 1, 1},
    {"growth", run_growth, 1, 1},
    {"turnover", run_turnover, 0, 1},
    {"peers", run_peers, 0, 1},
    {"hashfight", run_hashfight, 0, 1},
    {"calls", run_calls, 0, 1},
    {"threads", run_threads, 0, 1},
    {"sizes", run_sizes, 0, 1},
    {"dynamic", run_dynamic, 0, 0},
    {"hostile", run_hostile, 0, 0},
    {"lines", run_lines, 0, 0},
    {"primitives", run_primitives, 0, 1},
};

#define EXPERIMENTS (sizeof experiments / sizeof experiments[0])

static const char usage_text[] =
    "Usage: bulkhash bench [OPTION]...\n"
    "\n"
    "Measures pairs, u32 -> u32 if not told otherwise, beside the rate at which the machine reads random\n"
    "64-byte lines of as much memory (\"limit\"). Each result is the median over the\n"
    "repetitions with the lowest and highest, and whether it meets the bar.\n"
    "\n"
    "  -e, --experiment NAME  one of those below, or all; may be given several times\n"
    "                         (default: operations and growth)\n"
    "  -n, --keys N           pairs in the table (default 33554432)\n"
    "  -f, --fill F           fraction of slots in use, at most (default 0.8)\n"
    "  -w, --widths K,V       bytes of a key and of a value, 4 or 8 each (default 4,4)\n"
    "  -t, --threads N        threads (default: all)\n"
    "  -r, --repetitions N    repetitions, 1 to 99 (default 5)\n"
    "      --quick            2097152 pairs, 3 repetitions\n"
    "      --json             one JSON object per result, a line each\n"
    "  -h, --help             this text\n"
    "\n"
    "Experiments:\n"
    "  operations  each operation on a table made for its keys, as ratios to the limit;\n"
    "              keys with a skew; export, clear, memory\n"
    "  growth      a table filled from capacity 1, beside one that was reserved: time,\n"
    "              keys moved, pauses, peak memory\n"
    "  turnover    finds in a table whose keys were all replaced, three times over, beside\n"
    "              a fresh one\n"
    "  peers       other hash tables, fed the same arrays, at --keys pairs and at 65536,\n"
    "              which lie in cache; boost, absl and sorting write with one thread.\n"
    "              GLIBC_TUNABLES=glibc.malloc.hugetlb=1 gives them huge pages as ours\n"
    "  hashfight   tables that are built once: beside sorting the same pairs, beside oneTBB's\n"
    "              map, and beside the limit; with 1.03 and 1.5 slots per key\n"
    "  calls       one thread, many calls of 1, 16 and 1024 keys, beside a loop over\n"
    "              absl::flat_hash_map\n"
    "  threads     all threads beside one; several callers with calls of 1024 keys\n"
    "  sizes       tables from 65536 pairs to ten times the last cache, or --keys\n"
    "  dynamic     keys come and go as in figure 11 of the DyCuckoo paper: fill over time\n"
    "              (with its own fills, 0.5 to 0.85; a repetition is a run)\n"
    "  hostile     at most 100000 keys with one pair of buckets under a known seed, in\n"
    "              tables with random seeds, beside random keys\n"
    "  lines       lines of memory per find, of at most 4194304 keys: in a table that is\n"
    "              fresh, has grown, has had its keys turned over three times\n"
    "  primitives  sorting beside oneTBB's and Boost's, partition, scan and others beside\n"
    "              copying as much, gather and scatter beside the limit; no table\n"
    "\n"
    "Rates of a machine that does other work too are not worth reading; ratios are.\n"
    "\n"
    "Examples:\n"
    "  bulkhash bench --quick --threads 2\n"
    "  bulkhash bench --experiment growth --json >growth.json\n";

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

/* Reads "4,8": bytes of a key and of a value. */
static int widths(const char *text, settings *s)
{
    if ((text[0] != '4' && text[0] != '8') || text[1] != ',' || (text[2] != '4' && text[2] != '8') ||
        text[3])
        return 0;
    s->key_bytes = (uint32_t)(text[0] - '0');
    s->value_bytes = (uint32_t)(text[2] - '0');
    return 1;
}

/* The bits of the experiments that a name stands for. */
static unsigned experiment(const char *name)
{
    unsigned i;

    if (!strcmp(name, "all"))
        return (1u << EXPERIMENTS) - 1;
    for (i = 0; i < EXPERIMENTS; i++)
        if (!strcmp(name, experiments[i].name))
            return 1u << i;
    fprintf(stderr,
            "bulkhash-bench: --experiment: \"%s\" is none; see bulkhash bench --help\n", name);
    exit(2);
}

static void run(const settings *s, unsigned chosen)
{
    bench b = {.settings = *s};
    bh_context_options options;
    unsigned i;

    bh_context_options_init(&options);
    options.threads = s->threads;
    check(bh_context_create("cpu", &options, &b.context));
    b.backend = &b.context->cpu.backend;
    b.info.struct_size = sizeof b.info;
    check(bh_context_get_info(b.context, &b.info));
    for (i = 0; i < EXPERIMENTS; i++)
        if (chosen >> i & 1)
            experiments[i].run(&b);
    limit_destroy(b.limit);
    bh_context_destroy(b.context);
}

int main(int argc, char **argv)
{
    enum { QUICK = 256, JSON };
    static const struct option options[] = {
        {"experiment", required_argument, NULL, 'e'},
        {"keys", required_argument, NULL, 'n'},
        {"fill", required_argument, NULL, 'f'},
        {"widths", required_argument, NULL, 'w'},
        {"threads", required_argument, NULL, 't'},
        {"repetitions", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, QUICK},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings s = {1u << 25, 0, 0.8, 4, 4, 0, 5, 0};
    unsigned chosen = 0, any, i;
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "e:n:f:w:t:r:h", options, NULL)) != -1) {
        switch (option) {
        case 'e': chosen |= experiment(optarg); break;
        case 'n':
            s.keys = number(optarg, 1, 1u << 31, "--keys");
            s.keys_given = 1;
            break;
        case 'f':
            s.fill = strtod(optarg, &end);
            if (end == optarg || *end || !(s.fill >= 0.1 && s.fill <= 0.95)) {
                fprintf(stderr, "bulkhash-bench: --fill: \"%s\" is no number from 0.1 to 0.95; "
                                "see bulkhash bench --help\n",
                        optarg);
                return 2;
            }
            break;
        case 'w':
            if (!widths(optarg, &s)) {
                fprintf(stderr, "bulkhash-bench: --widths: \"%s\" is not KEY,VALUE with 4 or 8 bytes "
                                "each, as in 8,4; see bulkhash bench --help\n",
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
            s.keys_given = 1;
            s.repetitions = 3;
            break;
        case JSON: s.json = 1; break;
        case 'h':
            fputs(usage_text, stdout);
            return fflush(stdout) ? 1 : 0;
        default: fputs("Try: bulkhash bench --help\n", stderr); return 2;
        }
    }
    any = chosen;
    if (optind < argc) {
        fprintf(stderr, "bulkhash-bench: \"%s\" is no option; see bulkhash bench --help\n",
                argv[optind]);
        return 2;
    }
    for (i = 0; i < EXPERIMENTS; i++) {
        if (!any && experiments[i].by_default)
            chosen |= 1u << i;
        if (chosen >> i & 1 && !experiments[i].any_widths && s.key_bytes + s.value_bytes > 8) {
            fprintf(stderr, "bulkhash-bench: the experiment %s is for --widths 4,4 alone\n",
                    experiments[i].name);
            return 2;
        }
    }
    run(&s, chosen);
    return fflush(stdout) ? 1 : 0;
}
