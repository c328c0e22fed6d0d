/*
 * bulkhash-bench: how fast the table is, beside how fast the machine reads memory.
 *
 * An experiment is a file of its own: operations.c, growth.c, dynamic.c, hostile.c, lines.c. Each
 * prints results (bench.h), a line or an object each, as medians over the repetitions with the lowest
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
} experiments[] = {
    {"operations", run_operations, 1},
    {"growth", run_growth, 1},
    {"dynamic", run_dynamic, 0},
    {"hostile", run_hostile, 0},
    {"lines", run_lines, 0},
};

#define EXPERIMENTS (sizeof experiments / sizeof experiments[0])

static const char usage_text[] =
    "Usage: bulkhash bench [OPTION]...\n"
    "\n"
    "Measures u32 -> u32 pairs beside the rate at which the machine reads random\n"
    "64-byte lines of as much memory (\"limit\"). Each result is the median over the\n"
    "repetitions with the lowest and highest, and whether it meets the bar.\n"
    "\n"
    "  -e, --experiment NAME  one of those below, or all; may be given several times\n"
    "                         (default: operations and growth)\n"
    "  -n, --keys N           pairs in the table (default 33554432)\n"
    "  -f, --fill F           fraction of slots in use, at most (default 0.8)\n"
    "  -t, --threads N        threads (default: all)\n"
    "  -r, --repetitions N    repetitions, 1 to 99 (default 5)\n"
    "      --quick            2097152 pairs, 3 repetitions\n"
    "      --json             one JSON object per result, a line each\n"
    "  -h, --help             this text\n"
    "\n"
    "Experiments:\n"
    "  operations  find, insert, reduce, erase on a table made for its keys, as ratios\n"
    "              to the limit; and the cost of a call with one key\n"
    "  growth      a table filled from capacity 1, beside one that was reserved: time,\n"
    "              keys moved, pauses, peak memory\n"
    "  dynamic     keys come and go as in figure 11 of the DyCuckoo paper: fill over time\n"
    "              (with its own fills, 0.5 to 0.85; a repetition is a run)\n"
    "  hostile     at most 100000 keys with one pair of buckets under a known seed, in\n"
    "              tables with random seeds, beside random keys\n"
    "  lines       lines of memory per find, of at most 4194304 keys: in a table that is\n"
    "              fresh, has grown, has had its keys turned over three times\n"
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
        if (chosen ? chosen >> i & 1 : (unsigned)experiments[i].by_default)
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
        {"threads", required_argument, NULL, 't'},
        {"repetitions", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, QUICK},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings s = {1u << 25, 0.8, 0, 5, 0};
    unsigned chosen = 0;
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "e:n:f:t:r:h", options, NULL)) != -1) {
        switch (option) {
        case 'e': chosen |= experiment(optarg); break;
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
        case JSON: s.json = 1; break;
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
    run(&s, chosen);
    return fflush(stdout) ? 1 : 0;
}
