/*
 * `bulkhash count`: how often each k-mer of a FASTA file, or each number of an integer array,
 * occurs. Reading fills a batch of keys; bh_reduce() adds 1 to the count of each key of a batch;
 * at the end the table goes to the output file and a summary to standard error.
 */
#define _POSIX_C_SOURCE 200809L

#include "commands.h"

#include "bulkhash/bulkhash.h"
#include "error.h"
#include "fasta.h"
#include "kmers.h"
#include "npy.h"
#include "output.h"
#include "progress.h"
#include "result.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch is large enough to be worth waking all threads, and small enough to stay in cache
 * between the reader that writes it and the table that reads it. */
enum { batch_keys = 1 << 16, first_capacity = 1 << 16, most_threads = 1024 };

static const char help[] =
    "bulkhash count: count k-mers of a FASTA file, or the numbers of an integer array\n"
    "\n"
    "usage: bulkhash count --kmers K [--canonical] FILE [--output OUT]\n"
    "       bulkhash count ARRAY.npy [--output OUT]\n"
    "\n"
    "FILE is FASTA, plain or gzip. Each run of K letters A, C, G, T (or a, c, g, t) is a k-mer;\n"
    "those that contain any other letter are skipped. ARRAY.npy is a NumPy file of integers of\n"
    "any width and shape. OUT gets one line for each distinct key: the k-mer or the number, a\n"
    "tab, how often it occurs. If the name of OUT ends in .npy, it is a NumPy file of (key,\n"
    "count) pairs; a k-mer is then a number, A=0, C=1, G=2, T=3, the first letter in the highest\n"
    "place. An existing OUT is replaced when all is done.\n"
    "\n"
    "  -k, --kmers K      length of the k-mers, 1 to 32\n"
    "  -c, --canonical    count a k-mer and its reverse complement as one: as the\n"
    "                     alphabetically smaller of the two\n"
    "  -o, --output OUT   where the counts go; without it only the summary is printed\n"
    "  -s, --sort         sort OUT by key: k-mers alphabetically, numbers by size\n"
    "  -t, --threads N    use N threads; default: one for each processor\n"
    "  -h, --help         print this\n"
    "\n"
    "The summary on standard error tells how many keys are distinct, how many were counted, the\n"
    "rate and time of counting (without writing OUT), and the memory of the table per key.\n"
    "\n"
    "examples:\n"
    "  bulkhash count --kmers 31 --canonical genome.fna.gz --output counts.tsv\n"
    "  bulkhash count --kmers 4 --sort genome.fna --output /dev/stdout | head\n"
    "  bulkhash count ids.npy --output counts.npy\n";

struct options {
    const char *file;
    const char *output;
    uint32_t k; /* 0: integers */
    uint32_t threads;
    bool canonical;
    bool sort;
};

/* A table and the batch of keys that is being filled for it. */
struct counter {
    const char *file;
    bh_context *context;
    bh_table *table;
    const struct input *input;
    const char *noun;
    uint32_t key_bytes;
    void *keys;
    uint64_t *ones; /* what each key of a batch adds to its count */
    uint64_t filled;
    uint64_t counted;
};

/* -------------------------------------- command line -------------------------------------- */

static uint32_t parse_number(const char *text, const char *option, uint32_t least, uint32_t most)
{
    uint32_t number = 0;
    bool good = *text != '\0';

    for (const char *c = text; *c != '\0' && good; c++) {
        good = *c >= '0' && *c <= '9' && number <= most;
        number = number * 10 + (uint32_t)(*c - '0');
    }
    if (!good || number < least || number > most)
        fail_usage("%s: '%s' is not a whole number from %" PRIu32 " to %" PRIu32
                   "; see bulkhash count --help",
                   option, text, least, most);
    return number;
}

static bool ends_in_npy(const char *path)
{
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

static void parse_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"kmers", required_argument, NULL, 'k'},
        {"canonical", no_argument, NULL, 'c'},
        {"output", required_argument, NULL, 'o'},
        {"sort", no_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    memset(options, 0, sizeof *options);
    opterr = 0; /* getopt's own messages have another form than ours */
    while ((option = getopt_long(argc, argv, ":k:co:st:h", names, NULL)) != -1) {
        switch (option) {
        case 'k': options->k = parse_number(optarg, "--kmers", 1, kmers_longest); break;
        case 'c': options->canonical = true; break;
        case 'o': options->output = optarg; break;
        case 's': options->sort = true; break;
        case 't': options->threads = parse_number(optarg, "--threads", 1, most_threads); break;
        case 'h':
            fputs(help, stdout);
            finish_standard_output();
            exit(EXIT_SUCCESS);
        case ':':
            fail_usage("%s: needs a value after it; see bulkhash count --help", argv[optind - 1]);
        default:
            if (optopt != 0 && strchr("kcosth", optopt) == NULL)
                fail_usage("-%c: no such option; see bulkhash count --help", optopt);
            fail_usage("%s: no such option, or one that takes no value; see bulkhash count --help",
                       argv[optind - 1]);
        }
    }
    if (optind == argc)
        fail_usage("count: no FILE given; see bulkhash count --help");
    if (optind + 1 < argc)
        fail_usage("%s: one FILE at a time, and %s was given before it; see bulkhash count --help",
                   argv[optind + 1], argv[optind]);
    options->file = argv[optind];
    if (options->k > 0 && ends_in_npy(options->file))
        fail_usage("%s: an array has no k-mers; leave out --kmers, or name a FASTA file",
                   options->file);
    if (options->k == 0 && options->canonical)
        fail_usage("--canonical: is about k-mers; add --kmers K");
    if (options->k == 0 && !ends_in_npy(options->file))
        fail_usage("%s: the length of the k-mers is not given; add --kmers K, or name an array, "
                   "FILE.npy",
                   options->file);
    if (options->output != NULL && *options->output == '\0')
        fail_usage("--output: the name is empty; see bulkhash count --help");
}

/* ---------------------------------------- counting ---------------------------------------- */

/* The table cannot take the batch. */
static _Noreturn void fail_table(const struct counter *counter)
{
    char why[1024];
    bh_table_stats stats;

    snprintf(why, sizeof why, "%s", library_error());
    stats.struct_size = sizeof stats;
    if (counter->table == NULL || bh_table_get_stats(counter->table, &stats) != BH_OK)
        fail("%s: cannot be counted: %s", counter->file, why);
    fail("%s: cannot be counted to the end, after %" PRIu64 " distinct %s in %" PRIu64
         " MiB of memory: %s; use a machine with more memory or split the file",
         counter->file, stats.keys, counter->noun, stats.bytes_total >> 20, why);
}

static void counter_open(struct counter *counter, const struct options *options,
                         const struct input *input, uint32_t key_bytes)
{
    bh_context_options context_options;
    bh_table_options table_options;

    memset(counter, 0, sizeof *counter);
    counter->file = options->file;
    counter->input = input;
    counter->key_bytes = key_bytes;
    counter->noun = options->k > 0 ? "k-mers" : "values";

    bh_context_options_init(&context_options);
    context_options.threads = options->threads;
    bh_table_options_init(&table_options, key_bytes, 8, first_capacity);
    if (bh_context_create("cpu", &context_options, &counter->context) != BH_OK ||
        bh_table_create(counter->context, &table_options, &counter->table) != BH_OK)
        fail_table(counter);

    counter->keys = malloc(batch_keys * (size_t)key_bytes);
    counter->ones = malloc(batch_keys * sizeof *counter->ones);
    if (counter->keys == NULL || counter->ones == NULL)
        fail("%s: no memory to count it; free some and try again", options->file);
    for (size_t i = 0; i < batch_keys; i++)
        counter->ones[i] = 1;
}

static void count_batch(struct counter *counter)
{
    if (bh_reduce(counter->table, BH_ADD, counter->keys, counter->ones, counter->filled, NULL) !=
        BH_OK)
        fail_table(counter);
    counter->counted += counter->filled;
    counter->filled = 0;

    bh_table_stats stats;
    stats.struct_size = sizeof stats;
    if (progress_due() && bh_table_get_stats(counter->table, &stats) == BH_OK)
        progress_draw(counter->input->position, counter->input->size, counter->counted,
                      counter->noun, stats.keys);
}

/* Where the next keys of the batch go, and how many fit (at least one). */
static void *batch_end(const struct counter *counter)
{
    return (char *)counter->keys + counter->filled * counter->key_bytes;
}

static size_t batch_room(const struct counter *counter)
{
    return batch_keys - (size_t)counter->filled;
}

static void batch_add(struct counter *counter, size_t keys)
{
    counter->filled += keys;
    if (counter->filled == batch_keys)
        count_batch(counter);
}

static void count_kmers(struct counter *counter, struct fasta *fasta, struct kmers *kmers)
{
    const unsigned char *letters;
    size_t count;
    enum fasta_event event;

    while ((event = fasta_next(fasta, &letters, &count)) != FASTA_END) {
        if (event == FASTA_RECORD) {
            kmers_restart(kmers);
            continue;
        }
        while (count > 0) {
            size_t part = count < batch_room(counter) ? count : batch_room(counter);
            int bad;
            size_t keys = kmers_scan(kmers, letters, part, batch_end(counter), &bad);
            if (bad >= 0)
                fasta_fail_byte(fasta, (unsigned char)bad);
            batch_add(counter, keys);
            letters += part;
            count -= part;
        }
    }
    count_batch(counter);
}

static void count_items(struct counter *counter, struct npy *npy)
{
    size_t keys;

    while ((keys = npy_read(npy, batch_end(counter), batch_room(counter))) > 0)
        batch_add(counter, keys);
    count_batch(counter);
}

/* ----------------------------------------- the end ---------------------------------------- */

static void print_summary(const struct counter *counter, const struct options *options,
                          double seconds)
{
    bh_table_stats stats;

    stats.struct_size = sizeof stats;
    if (bh_table_get_stats(counter->table, &stats) != BH_OK)
        fail_table(counter);
    fprintf(stderr, "%" PRIu64 " distinct of %" PRIu64 " ", stats.keys, counter->counted);
    if (options->k > 0)
        fprintf(stderr, "%" PRIu32 "-mers", options->k);
    else
        fputs("values", stderr);
    fprintf(stderr, ", %.1f M %s/s, %.3f s", (double)counter->counted / seconds * 1e-6,
            counter->noun, seconds);
    if (stats.keys > 0)
        fprintf(stderr, ", %.1f bytes per key", (double)stats.bytes_total / (double)stats.keys);
    fputc('\n', stderr);
}

static void counter_close(struct counter *counter)
{
    bh_table_destroy(counter->table);
    bh_context_destroy(counter->context);
    free(counter->keys);
    free(counter->ones);
}

int count_command(int argc, char **argv)
{
    struct options options;
    struct fasta fasta;
    struct npy npy;
    struct output output;
    struct kmers kmers;
    struct counter counter;
    struct result_format format = {0};

    parse_options(argc, argv, &options);
    bool is_kmers = options.k > 0;
    const struct input *input = is_kmers ? &fasta.input : &npy.input;

    /* Input, output, table: in this order what is wrong shows before anything is made, and before
     * the long work. */
    progress_start();
    if (is_kmers) {
        fasta_open(&fasta, options.file);
        kmers_init(&kmers, options.k, options.canonical);
        format.k = options.k;
        format.key_bytes = kmers.key_bytes;
    } else {
        npy_open(&npy, options.file);
        format.key_bytes = npy.key_bytes;
        format.is_signed = npy.is_signed;
    }
    if (options.output != NULL) {
        output_open(&output, options.output, &input->status);
        format.is_npy = ends_in_npy(options.output);
        format.is_sorted = options.sort;
    }
    counter_open(&counter, &options, input, format.key_bytes);

    if (is_kmers)
        count_kmers(&counter, &fasta, &kmers);
    else
        count_items(&counter, &npy);
    double seconds = progress_seconds();
    progress_clear();

    if (options.output != NULL) {
        result_write(counter.table, &format, &output);
        output_commit(&output);
    }
    print_summary(&counter, &options, seconds);

    counter_close(&counter);
    if (is_kmers)
        fasta_close(&fasta);
    else
        npy_close(&npy);
    return EXIT_SUCCESS;
}
