/*
 * bulkhash-bench: how fast the table is, beside how fast the machine reads memory.
 *
 * Each experiment is a file of the same name. It prints results (bench.h), a line or an object each: medians
 * over the repetitions with the lowest and the highest, and the bar that is asked for. Keys are fresh in
 * every repetition and made outside the timed part. Rates alone say little on a shared machine; what is
 * compared is a ratio to the random-line limit (limit.h) or to another rate of the same repetition.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "on_gpu.h"

enum { ON_CPU = 1, ON_GPU = 2 };

static const struct {
    const char *name;
    void (*run)(bench *b);    /* NULL: not on the CPU */
    void (*on_gpu)(bench *b); /* NULL: not on a GPU */
    int by_default;           /* ON_CPU, ON_GPU */
    int any_widths;           /* not only u32 -> u32 */
} experiments[] = {
    {"limits", NULL, run_gpu_limits, ON_GPU, 1},
    {"operations", run_operations, run_gpu_operations, ON_CPU | ON_GPU, 1},
    {"growth", run_growth, run_gpu_growth, ON_CPU | ON_GPU, 1},
    {"host", NULL, run_gpu_host, ON_GPU, 1},
    {"turnover", run_turnover, NULL, 0, 1},
    {"peers", run_peers, run_gpu_peers, 0, 1},
    {"designs", run_designs, NULL, 0, 1},
    {"hashfight", run_hashfight, NULL, 0, 1},
    {"dachash", run_dachash, NULL, 0, 1},
    {"dachash-fig7.1", run_dachash_fig71, run_dachash_fig71, 0, 1},
    {"dachash-fig7.2", run_dachash_fig72, run_dachash_fig72, 0, 1},
    {"dachash-fig7.3", run_dachash_fig73, run_dachash_fig73, 0, 1},
    {"dachash-fig7.4", run_dachash_fig74, run_dachash_fig74, 0, 1},
    {"dachash-table7.1", run_dachash_table71, run_dachash_table71, 0, 1},
    {"dachash-fig7.5", run_dachash_fig75, run_dachash_fig75, 0, 1},
    {"dachash-fig7.6", run_dachash_fig76, run_dachash_fig76, 0, 1},
    {"dachash-fig7.7", run_dachash_fig77, run_dachash_fig77, 0, 1},
    {"stadium", run_stadium, run_gpu_stadium, 0, 1},
    {"stadium-fig13", NULL, run_stadium_fig13, 0, 1},
    {"stadium-fig14", run_stadium_fig14, run_stadium_fig14, 0, 0},
    {"stadium-fig15", run_stadium_fig15, run_stadium_fig15, 0, 0},
    {"stadium-fig16", NULL, run_stadium_fig16, 0, 0},
    {"stadium-fig17", NULL, run_stadium_fig17, 0, 0},
    {"stadium-fig18", run_stadium_fig18, run_stadium_fig18, 0, 1},
    {"stadium-fig19", run_stadium_fig19, run_stadium_fig19, 0, 1},
    {"stadium-table1", run_stadium_table1, run_stadium_table1, 0, 1},
    {"calls", run_calls, NULL, 0, 1},
    {"threads", run_threads, NULL, 0, 1},
    {"sizes", run_sizes, NULL, 0, 1},
    {"dynamic", run_dynamic, NULL, 0, 0},
    {"hostile", run_hostile, NULL, 0, 0},
    {"full", run_full, run_full, ON_GPU, 1},
    {"lines", run_lines, NULL, 0, 0},
    {"instructions", run_instructions, NULL, 0, 1},
    {"primitives", run_primitives, NULL, 0, 1},
};

#define EXPERIMENTS (sizeof experiments / sizeof experiments[0])

static const struct {
    const char *name;
    bh_design is;
} designs[] = {
    {"dycuckoo", BH_DYCUCKOO}, {"hashfight", BH_HASHFIGHT},   {"stadium", BH_STADIUM},
    {"dachash", BH_DACHASH},   {"workingset", BH_WORKINGSET},
};

#define DESIGNS (sizeof designs / sizeof designs[0])

static const char usage_text[] =
    "Usage: bulkhash bench [OPTION]...\n"
    "\n"
    "Measures pairs, u32 -> u32 if not told otherwise, beside the rate at which the machine reads random\n"
    "64-byte lines of as much memory (\"limit\"). Each result is the median over the\n"
    "repetitions with the lowest and highest, and whether it meets the bar.\n"
    "\n"
    "  -e, --experiment NAME  one of those below, or all; may be given several times\n"
    "                         (default: operations and growth; on a GPU the first five below)\n"
    "  -d, --device NAME      cpu, or cuda, or cuda:1: a GPU, whose experiments stand at the end\n"
    "      --design NAME      design of the tables on a GPU, and whose instructions are counted:\n"
    "                         dycuckoo (default), hashfight, dachash, stadium; what it cannot do on\n"
    "                         a GPU is said, and the rest measured\n"
    "  -n, --keys N           pairs in the table (default 33554432; on a GPU 50000000)\n"
    "  -f, --fill F           fraction of slots in use, at most (default 0.8; on a GPU 0.84);\n"
    "                         with --experiment instructions --design dachash up to 4\n"
    "  -w, --widths K,V       bytes of a key and of a value, 4 or 8 each (default 4,4)\n"
    "  -t, --threads N        threads (default: all)\n"
    "  -r, --repetitions N    repetitions, 1 to 99 (default 5)\n"
    "      --quick            2097152 pairs, 3 repetitions\n"
    "      --json             one JSON object per result, a line each; \"machine\" and \"commit\" say\n"
    "                         what it was measured on, and from which sources\n"
    "  -h, --help             this text\n"
    "\n";

/* Compilers need not take longer strings. */
static const char usage_experiments_text[] =
    "Experiments:\n"
    "  operations  each operation on a table made for its keys, as ratios to the limit, changes\n"
    "              also to changing as many random lines; keys with a skew; export, clear, memory\n"
    "  growth      a table filled from capacity 1, beside one that was reserved: time in small\n"
    "              calls and in one, keys moved, pauses, peak memory\n"
    "  turnover    finds in a table whose keys were all replaced, three times over, beside\n"
    "              a fresh one\n"
    "  peers       other hash tables, fed the same arrays, at --keys pairs and at 65536,\n"
    "              which lie in cache; boost, absl and sorting write with one thread.\n"
    "              GLIBC_TUNABLES=glibc.malloc.hugetlb=1 gives them huge pages as ours\n"
    "  designs     the same work on a table of each design, at --keys pairs and at 65536\n"
    "  hashfight   tables that are built once: beside sorting the same pairs, beside oneTBB's\n"
    "              map, and beside the limit; with 1.03, 1.5 and 1.75 slots per key\n"
    "  dachash     tables of chains of nodes, at three lengths, beside tables of DyCuckoo, and beside\n"
    "              the limit; mixes of finds, insertions and erasures; growth\n"
    "  dachash-fig7.1 ... dachash-fig7.7, dachash-table7.1\n"
    "              the experiments of the DACHash paper, of 4194304 pairs if not told otherwise\n"
    "  stadium     tables with a ticket-board, 0.8 and 0.95 full, beside the limit of the lines that\n"
    "              they read of the board and of the slots, and beside tables of DyCuckoo\n"
    "  stadium-fig14, stadium-fig15, stadium-fig18, stadium-fig19, stadium-table1\n"
    "              the experiments of the Stadium hashing paper, beside a plain cuckoo table, of\n"
    "              2097152 pairs if not told otherwise\n"
    "  calls       one thread, many calls of 1, 16 and 1024 keys, beside a loop over\n"
    "              absl::flat_hash_map\n"
    "  threads     all threads beside one, also in calls of 16384 keys; several callers with calls of\n"
    "              1024 and of 16 keys\n"
    "  sizes       tables from 65536 pairs to ten times the last cache, or --keys\n"
    "  dynamic     keys come and go as in figure 11 of the DyCuckoo paper: fill over time\n"
    "              (with its own fills, 0.5 to 0.85; a repetition is a run)\n"
    "  hostile     at most 100000 keys with one pair of buckets under a known seed, in\n"
    "              tables with random seeds, with that seed, and with that one and the next\n"
    "              known, beside random keys\n"
    "  full        at most 1000000 keys into tables that have the memory for half of them, of\n"
    "              8+8, 4+8 and 4+4 bytes with max_fill 0.85 to 0.97: what refusing the others\n"
    "              costs, beside placing them all\n"
    "  lines       lines of memory per find, of at most 4194304 keys: in a table that is\n"
    "              fresh, has grown, has had its keys turned over three times\n"
    "  instructions  instructions per key, counted by valgrind: one thread, AVX2 and plain C, at\n"
    "              most 2097152 pairs, and 65536, which lie in cache; \"one\": calls of one key\n"
    "  primitives  sorting beside oneTBB's and Boost's, partition, scan and others beside\n"
    "              copying as much, gather and scatter beside the limit; no table\n"
    "\n";

static const char usage_gpu_text[] =
    "Experiments with --device cuda:\n"
    "  limits      random 64-byte reads, 32-byte reads, 64-bit atomic additions to memory as\n"
    "              large as the table; 32-byte reads and 8-byte and 16-byte writes of as much pinned\n"
    "              memory of the host, over the bus (\"zero-copy\"); copying\n"
    "  operations  each operation on arrays of the device, at --keys pairs and at 16 MiB of them,\n"
    "              which lie in cache: finds beside the reads, changes beside the additions; keys\n"
    "              with a skew; export and clear beside copying; calls of one key\n"
    "  growth      a table filled from capacity 1024, in one call and in calls of 1048576\n"
    "              keys, beside one that was reserved\n"
    "  host        arrays of the host, pinned or not, beside copying them in and out at once\n"
    "  peers       cuCollections' static_map, in the best of its configurations for each line,\n"
    "              fed the same arrays, where the program was built with it (BULKHASH_CUCO): 100000\n"
    "              to 300000000 pairs, at most --keys, of 4+4 and 8+8 bytes, 0.5, 0.84 and 0.9\n"
    "              full; then calls of 2^16 to 2^24 keys on a table of 2^24. --widths and --fill\n"
    "              leave one of them. All on the clock on the wall, without outcomes\n"
    "  stadium     tables with a ticket-board, 0.8 full, at --keys pairs and at 16777216: finds beside\n"
    "              32-byte reads, inserts beside DyCuckoo's, a call that does both beside two; then of\n"
    "              at most 33554432 pairs (or --keys) with slots in the host's memory, all of them and\n"
    "              in a table of four times the memory that it has on the GPU, beside zero-copy\n"
    "              reads and writes\n"
    "  full        as above\n"
    "  dachash-fig7.1 ... dachash-fig7.7, dachash-table7.1: as above; the settings with other\n"
    "              mappings in a build with BULKHASH_COMPARED=ON\n"
    "  stadium-fig13 ... stadium-fig19, stadium-table1: as above, of 16777216 pairs; 13 (from\n"
    "              which fill on collaborative lanes pay) and what compares these lanes in a build\n"
    "              with BULKHASH_COMPARED=ON; 16, 17, and half of 18 and 19: slots in the host's\n"
    "              memory\n"
    "Calls on arrays of the device are timed by events of its stream, others, and those of\n"
    "one key, by the clock on the wall; \"clock\" says which in the objects of --json.\n"
    "\n"
    "Rates of a machine that does other work too are not worth reading; ratios are.\n"
    "\n"
    "Examples:\n"
    "  bulkhash bench --quick --threads 2\n"
    "  bulkhash bench --experiment growth --json >growth.json\n"
    "  bulkhash bench --device cuda --experiment operations --widths 8,8\n";

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
    if ((text[0] != '4' && text[0] != '8') || text[1] != ',' ||
        (text[2] != '4' && text[2] != '8') || text[3])
        return 0;
    s->key_bytes = (uint32_t)(text[0] - '0');
    s->value_bytes = (uint32_t)(text[2] - '0');
    return 1;
}

/* The bits of the experiments that a name stands for. */
static uint64_t experiment(const char *name)
{
    unsigned i;

    if (!strcmp(name, "all"))
        return (UINT64_C(1) << EXPERIMENTS) - 1;
    for (i = 0; i < EXPERIMENTS; i++)
        if (!strcmp(name, experiments[i].name))
            return UINT64_C(1) << i;
    fprintf(stderr, "bulkhash-bench: --experiment: \"%s\" is none; see bulkhash bench --help\n",
            name);
    exit(2);
}

/* Whether a device is a GPU; ends the program when it is none at all. */
static int is_gpu_of(const char *device)
{
    const char *number = !strncmp(device, "cuda:", 5) ? device + 5 : NULL;

    if (!strcmp(device, "cpu"))
        return 0;
    if (strcmp(device, "cuda") != 0 &&
        (!number || !*number || strlen(number) > 4 || number[strspn(number, "0123456789")])) {
        fprintf(stderr,
                "bulkhash-bench: --device: \"%s\" is neither cpu nor cuda nor one as cuda:1; see "
                "bulkhash bench --help\n",
                device);
        exit(2);
    }
    return 1;
}

static void choose_design(const char *name, settings *s)
{
    unsigned i;

    for (i = 0; i < DESIGNS; i++) {
        if (!strcmp(name, designs[i].name)) {
            s->design = designs[i].name;
            s->design_is = designs[i].is;
            return;
        }
    }
    fprintf(stderr, "bulkhash-bench: --design: \"%s\" is none; see bulkhash bench --help\n", name);
    exit(2);
}

/* The experiments to run: those asked for or, if none was (0), the default ones, as far as this device and
 * these widths have them. Ends the program when one was asked for by its name and is not among them. */
static uint64_t choose(const settings *s, int is_gpu, uint64_t asked, int all)
{
    uint64_t chosen = 0;
    unsigned i;

    for (i = 0; i < EXPERIMENTS; i++) {
        int there = is_gpu ? experiments[i].on_gpu != NULL : experiments[i].run != NULL;

        if (asked ? !(asked >> i & 1) : !(experiments[i].by_default & (is_gpu ? ON_GPU : ON_CPU)))
            continue;
        if (there && (experiments[i].any_widths || s->key_bytes + s->value_bytes == 8)) {
            chosen |= UINT64_C(1) << i;
        } else if (there) {
            fprintf(stderr, "bulkhash-bench: the experiment %s is for --widths 4,4 alone\n",
                    experiments[i].name);
            exit(2);
        } else if (!all) {
            fprintf(stderr,
                    "bulkhash-bench: the experiment %s is not for --device %s; see bulkhash bench "
                    "--help\n",
                    experiments[i].name, s->device);
            exit(2);
        }
    }
    return chosen;
}

static void run(const settings *s, int is_gpu, uint64_t chosen)
{
    bench b = {.settings = *s};
    bh_context_options options;
    bh_context *cpu;
    unsigned i;

    bh_context_options_init(&options);
    options.threads = s->threads;
    check(bh_context_create("cpu", &options, &cpu));
    b.context = cpu;
    b.backend = &cpu->cpu.backend;
    if (is_gpu)
        gpu_start(&b);
    bench_machine(&b, is_gpu ? gpu_there->name(b.on_gpu->gpu) : NULL);
    b.info.struct_size = sizeof b.info;
    check(bh_context_get_info(b.context, &b.info));
    for (i = 0; i < EXPERIMENTS; i++)
        if (chosen >> i & 1)
            (is_gpu ? experiments[i].on_gpu : experiments[i].run)(&b);
    if (is_gpu)
        gpu_stop(&b);
    limit_destroy(b.limit);
    bh_context_destroy(cpu);
}

/* Chains have more keys than the first nodes of the buckets have slots. */
#define FILL_MOST 0.95
#define FILL_MOST_CHAINS 4.0

static int fill_refused(const char *text)
{
    fprintf(stderr,
            "bulkhash-bench: --fill: \"%s\" is no number from 0.1 to %g (with --experiment "
            "instructions --design dachash to %g); see bulkhash bench --help\n",
            text, FILL_MOST, FILL_MOST_CHAINS);
    return 2;
}

int main(int argc, char **argv)
{
    enum { QUICK = 256, JSON, DESIGN, COUNTED };
    static const struct option options[] = {
        {"experiment", required_argument, NULL, 'e'},
        {"device", required_argument, NULL, 'd'},
        {"design", required_argument, NULL, DESIGN},
        {"keys", required_argument, NULL, 'n'},
        {"fill", required_argument, NULL, 'f'},
        {"widths", required_argument, NULL, 'w'},
        {"threads", required_argument, NULL, 't'},
        {"repetitions", required_argument, NULL, 'r'},
        {"quick", no_argument, NULL, QUICK},
        {"json", no_argument, NULL, JSON},
        {"counted", no_argument, NULL, COUNTED}, /* what instructions.c starts; not in the help */
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    settings s = {.device = "cpu", .key_bytes = 4, .value_bytes = 4, .repetitions = 5};
    uint64_t asked = 0;
    int option, is_gpu, all = 0;
    const char *fill_text = NULL;
    char *end;

    while ((option = getopt_long(argc, argv, "e:d:n:f:w:t:r:h", options, NULL)) != -1) {
        switch (option) {
        case 'e':
            asked |= experiment(optarg);
            all |= !strcmp(optarg, "all");
            break;
        case 'd': s.device = optarg; break;
        case DESIGN: choose_design(optarg, &s); break;
        case 'n':
            s.keys = number(optarg, 1, 1u << 31, "--keys");
            s.keys_given = 1;
            break;
        case 'f':
            s.fill = strtod(optarg, &end);
            if (end == optarg || *end || !(s.fill >= 0.1 && s.fill <= FILL_MOST_CHAINS))
                return fill_refused(optarg);
            fill_text = optarg;
            s.fill_given = 1;
            break;
        case 'w':
            if (!widths(optarg, &s)) {
                fprintf(stderr,
                        "bulkhash-bench: --widths: \"%s\" is not KEY,VALUE with 4 or 8 bytes "
                        "each, as in 8,4; see bulkhash bench --help\n",
                        optarg);
                return 2;
            }
            s.widths_given = 1;
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
        case COUNTED: s.counted = 1; break;
        case 'h':
            fputs(usage_text, stdout);
            fputs(usage_experiments_text, stdout);
            fputs(usage_gpu_text, stdout);
            return fflush(stdout) ? 1 : 0;
        default: fputs("Try: bulkhash bench --help\n", stderr); return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "bulkhash-bench: \"%s\" is no option; see bulkhash bench --help\n",
                argv[optind]);
        return 2;
    }
    is_gpu = is_gpu_of(s.device);
    if (s.design && !is_gpu && asked != experiment("instructions")) {
        fprintf(stderr, "bulkhash-bench: --design is for --device cuda and for the experiment "
                        "instructions alone\n");
        return 2;
    }
    if (!s.design)
        choose_design("dycuckoo", &s);
    if (s.fill > FILL_MOST && (s.design_is != BH_DACHASH || asked != experiment("instructions")))
        return fill_refused(fill_text);
    if (!s.keys)
        s.keys = is_gpu ? 50000000 : 1u << 25;
    if (s.fill == 0)
        s.fill = is_gpu ? 0.84 : 0.8;
    run(&s, is_gpu, choose(&s, is_gpu, asked, all));
    return fflush(stdout) ? 1 : 0;
}
