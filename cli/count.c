/*
 * `bulkhash count`: how often each k-mer of FASTA and FASTQ files, or each number of an integer array,
 * occurs. Each thread fills a batch of keys from the file, one thread at a time, and adds it to the
 * table with bh_reduce(), which adds 1 to the count of each key; meanwhile others read. At the end
 * the table goes to the output file and a summary to standard error.
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
#include "suggest.h"
#include "threads.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A batch is small enough to stay in cache between the reader that writes it and the table that
 * reads it, and for the library to add it in the thread that calls, as all threads have batches of
 * their own. The first sample_keys keys tell how large the table may become; as they may mislead,
 * it is made for most_expected at most, some 200 MB. */
enum { batch_keys = 1 << 13, sample_keys = 1 << 16, most_expected = 1 << 23, most_threads = 1024 };

static const char help[] =
    "bulkhash count: count k-mers of FASTA or FASTQ files, or the numbers of an integer array\n"
    "\n"
    "usage: bulkhash count --kmers K [--canonical] FILE... [--output OUT]\n"
    "       bulkhash count ARRAY.npy [--output OUT]\n"
    "\n"
    "Each FILE is FASTA or FASTQ, plain or gzip, or - for standard input; all are counted together.\n"
    "Each run of K letters A, C, G, T (or a, c, g, t) is a k-mer; those that contain any other\n"
    "letter are skipped, and none goes from one record to the next. ARRAY.npy is a NumPy file of\n"
    "integers of any width and shape. OUT gets one line for each distinct key: the k-mer or the\n"
    "number, a tab, how often it occurs. If the name of OUT ends in .npy, it is a NumPy file of\n"
    "(key, count) pairs; a number keeps its type, and a k-mer is an unsigned number of 8 bytes,\n"
    "A=0, C=1, G=2, T=3, the first letter in the highest place. An existing file is replaced when\n"
    "all is done; standard output (-, /dev/stdout), a pipe or a device is written to.\n"
    "\n"
    "  -k, --kmers K      length of the k-mers, 1 to 32\n"
    "  -c, --canonical    count a k-mer and its reverse complement as one: as the\n"
    "                     alphabetically smaller of the two\n"
    "  -o, --output OUT   where the counts go, - for standard output; without it only the\n"
    "                     summary is printed\n"
    "  -s, --sort         sort OUT by key: k-mers alphabetically, numbers by size\n"
    "  -m, --min-count N  leave out keys that occur fewer than N times\n"
    "  -H, --histogram    OUT gets, instead, a line for each count that there is: the count, a\n"
    "                     tab, how many distinct keys have it\n"
    "  -t, --threads N    use N threads; default: one for each processor\n"
    "  -h, --help         print this\n"
    "\n"
    "The summary on standard error tells how many keys are distinct, how many were counted, the\n"
    "rate and time of counting (without writing OUT), and the memory of the table: per key, or\n"
    "of fewer than 65,536 keys in all.\n"
    "The table is made as large as the beginning of FASTA lets expect, up to 200 MB at once.\n"
    "\n"
    "examples:\n"
    "  bulkhash count --kmers 31 --canonical genome.fna.gz --output counts.tsv\n"
    "  bulkhash count --kmers 4 --sort genome.fna --output - | head\n"
    "  bulkhash count -k 21 -c --min-count 2 reads_1.fastq.gz reads_2.fastq.gz -o solid.tsv\n"
    "  zcat reads.fastq.gz | bulkhash count -k 21 -c --histogram - --output -\n"
    "  bulkhash count ids.npy --output counts.npy\n";

struct options {
    char **files;
    int file_count;
    const char *output;
    uint32_t k; /* 0: integers */
    uint32_t least;
    uint32_t threads;
    bool canonical;
    bool sort;
    bool histogram;
};

/* Where the keys come from, one of two, and the table they go to. */
struct counter {
    const struct input *input;
    char **next_files; /* those that come behind it */
    int files_left;
    uint64_t size, position; /* bytes of all files, 0: not known; of those that have been read */
    struct fasta *fasta;     /* NULL: the keys come from npy */
    struct kmers *kmers;     /* makes them from the letters of fasta, */
    const unsigned char *letters; /* of which these wait */
    size_t letter_count;
    struct npy *npy;

    bh_context *context;
    bh_table *table;
    const char *noun;
    uint32_t key_bytes;
    uint32_t threads;

    pthread_mutex_t lock; /* of what comes from the file, and of the progress line */
    uint64_t counted;
    bool at_end;
};

/* -------------------------------------- command line -------------------------------------- */

static uint32_t parse_number(const char *text, const char *option, uint32_t least, uint32_t most)
{
    uint64_t number = 0;
    bool good = *text != '\0';

    for (const char *c = text; *c != '\0' && good; c++) {
        good = *c >= '0' && *c <= '9' && number <= most;
        number = number * 10 + (uint64_t)(*c - '0');
    }
    if (!good || number < least || number > most)
        fail_usage("%s: '%s' is not a whole number from %" PRIu32 " to %" PRIu32
                   "; see bulkhash count --help",
                   option, text, least, most);
    return (uint32_t)number;
}

static bool ends_in_npy(const char *path)
{
    size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* getopt_long() does not take `argument` for an option. `letter` is what it leaves in optopt: the
 * unknown letter, that of an option which takes no value, or 0 for an unknown word. */
static _Noreturn void fail_option(const char *argument, int letter, const struct option *names)
{
    struct suggestion suggestion;

    if (letter != 0 && strncmp(argument, "--", 2) == 0)
        fail_usage("%s: this option takes no value; see bulkhash count --help", argument);
    if (letter != 0)
        fail_usage("-%c: no such option; see bulkhash count --help", letter);
    suggestion_init(&suggestion, argument);
    for (; names->name != NULL; names++)
        suggestion_consider(&suggestion, names->name);
    suggestion_fail(&suggestion, "option", "--", "bulkhash count --help");
}

static void parse_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"kmers", required_argument, NULL, 'k'},
        {"canonical", no_argument, NULL, 'c'},
        {"output", required_argument, NULL, 'o'},
        {"sort", no_argument, NULL, 's'},
        {"min-count", required_argument, NULL, 'm'},
        {"histogram", no_argument, NULL, 'H'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    memset(options, 0, sizeof *options);
    opterr = 0; /* getopt's own messages have another form than ours */
    while ((option = getopt_long(argc, argv, ":k:co:sm:Ht:h", names, NULL)) != -1) {
        switch (option) {
        case 'k': options->k = parse_number(optarg, "--kmers", 1, kmers_longest); break;
        case 'c': options->canonical = true; break;
        case 'o': options->output = optarg; break;
        case 's': options->sort = true; break;
        case 'm': options->least = parse_number(optarg, "--min-count", 1, UINT32_MAX - 1); break;
        case 'H': options->histogram = true; break;
        case 't': options->threads = parse_number(optarg, "--threads", 1, most_threads); break;
        case 'h':
            fputs(help, stdout);
            finish_standard_output();
            exit(EXIT_SUCCESS);
        case ':':
            fail_usage("%s: needs a value after it; see bulkhash count --help", argv[optind - 1]);
        default: fail_option(argv[optind - 1], optopt, names);
        }
    }
    if (optind == argc)
        fail_usage("count: no FILE given; see bulkhash count --help");
    options->files = argv + optind;
    options->file_count = argc - optind;
    for (int i = 0; i < options->file_count; i++) {
        const char *file = options->files[i];

        if (options->k > 0 && ends_in_npy(file))
            fail_usage(
                "%s: an array has no k-mers; leave out --kmers, or name a FASTA or FASTQ file",
                file);
        if (options->k == 0 && options->canonical)
            fail_usage("--canonical: is about k-mers; add --kmers K");
        if (options->k == 0 && !ends_in_npy(file))
            fail_usage("%s: without --kmers K only arrays of integers are counted, NumPy's "
                       "FILE.npy; with it FASTA and FASTQ, plain or gzip",
                       file);
    }
    if (options->k == 0 && options->file_count > 1)
        fail_usage("%s: one array at a time, and %s was given before it; see bulkhash count --help",
                   options->files[1], options->files[0]);
    if ((options->histogram || options->least > 0) && options->output == NULL)
        fail_usage("--%s: is about what --output gets; add --output OUT",
                   options->histogram ? "histogram" : "min-count");
    if (options->output != NULL && *options->output == '\0')
        fail_usage("--output: the name is empty; see bulkhash count --help");
}

/* ---------------------------------------- counting ---------------------------------------- */

/* The table cannot take a batch. */
static _Noreturn void fail_table(const struct counter *counter)
{
    char why[1024];
    bh_table_stats stats;

    snprintf(why, sizeof why, "%s", library_error());
    stats.struct_size = sizeof stats;
    if (counter->table == NULL || bh_table_get_stats(counter->table, &stats) != BH_OK)
        fail("%s: cannot be counted: %s", counter->input->path, why);
    fail("%s: cannot be counted to the end, after %" PRIu64 " distinct %s in %" PRIu64
         " MiB of memory: %s; use a machine with more memory or split the file",
         counter->input->path, stats.keys, counter->noun, stats.bytes_total >> 20, why);
}

static _Noreturn void fail_memory(const struct counter *counter)
{
    fail("%s: no memory to count it; free some and try again", counter->input->path);
}

/* Makes the table. `counter` holds where the keys come from. */
static void counter_open(struct counter *counter, uint32_t threads)
{
    bh_context_options context_options;
    bh_context_info info;
    bh_table_options table_options;

    bh_context_options_init(&context_options);
    context_options.threads = threads;
    bh_table_options_init(&table_options, counter->key_bytes, 8, sample_keys);
    info.struct_size = sizeof info;
    if (bh_context_create("cpu", &context_options, &counter->context) != BH_OK ||
        bh_context_get_info(counter->context, &info) != BH_OK ||
        bh_table_create(counter->context, &table_options, &counter->table) != BH_OK)
        fail_table(counter);
    counter->threads = info.threads;
    pthread_mutex_init(&counter->lock, NULL);
}

/* Goes on with the next file; answers whether there is one. */
static bool open_next(struct counter *counter)
{
    if (counter->files_left == 0)
        return false;
    counter->position += counter->fasta->input.position;
    fasta_close(counter->fasta);
    fasta_open(counter->fasta, *counter->next_files++);
    counter->files_left--;
    return true;
}

/* Makes up to `room` keys from the letters of the file; fewer only at its end. */
static size_t read_kmers(struct counter *counter, unsigned char *keys, size_t room)
{
    size_t found = 0;

    while (found < room) {
        if (counter->letter_count == 0) {
            switch (fasta_next(counter->fasta, &counter->letters, &counter->letter_count)) {
            case FASTA_END:
                if (!open_next(counter))
                    return found;
                break;
            case FASTA_RECORD: kmers_restart(counter->kmers); break;
            case FASTA_LETTERS: break;
            }
            continue;
        }
        size_t part = room - found; /* as no letter makes more than one */
        if (part > counter->letter_count)
            part = counter->letter_count;
        int bad;
        found += kmers_scan(counter->kmers, counter->letters, part,
                            keys + found * counter->key_bytes, &bad);
        if (bad >= 0)
            fasta_fail_byte(counter->fasta, (unsigned char)bad);
        counter->letters += part;
        counter->letter_count -= part;
    }
    return found;
}

/* Reads up to `room` keys; answers how many, 0 at the end. */
static size_t read_keys(struct counter *counter, void *keys, size_t room)
{
    size_t count = 0;

    pthread_mutex_lock(&counter->lock);
    if (!counter->at_end)
        count = counter->fasta != NULL ? read_kmers(counter, keys, room)
                                       : npy_read(counter->npy, keys, room);
    counter->at_end = count == 0;
    counter->counted += count;

    bh_table_stats stats;
    stats.struct_size = sizeof stats;
    if (progress_due() && bh_table_get_stats(counter->table, &stats) == BH_OK)
        progress_draw(counter->position + counter->input->position, counter->size, counter->counted,
                      counter->noun, stats.keys);
    pthread_mutex_unlock(&counter->lock);
    return count;
}

static void add_keys(struct counter *counter, const void *keys, uint64_t count)
{
    if (bh_reduce(counter->table, BH_ADD, keys, NULL, count, NULL) != BH_OK) {
        /* Held to the end, so that no thread draws the progress line again. */
        pthread_mutex_lock(&counter->lock);
        fail_table(counter);
    }
}

/* What each thread does. */
static void count_batches(void *argument)
{
    struct counter *counter = argument;
    void *keys = malloc(batch_keys * (size_t)counter->key_bytes);
    size_t count;

    if (keys == NULL) {
        pthread_mutex_lock(&counter->lock);
        fail_memory(counter);
    }
    while ((count = read_keys(counter, keys, batch_keys)) > 0)
        add_keys(counter, keys, count);
    free(keys);
}

/* How many distinct k-mers the file will have if the share of new ones stays what it was in the
 * sample, of which the table holds the counts. */
static uint64_t expected_kmers(const struct counter *counter)
{
    /* As there are four letters, gzip packs four into a byte, and seldom finds more to save. */
    uint64_t letters = counter->size * (counter->input->is_gzip ? 4 : 1);
    uint64_t most = most_expected;
    bh_table_stats stats;

    stats.struct_size = sizeof stats;
    if (bh_table_get_stats(counter->table, &stats) != BH_OK)
        return 0;
    if (counter->kmers->k < 12) /* and the sample may have come before all others */
        most = UINT64_C(1) << 2 * counter->kmers->k;
    double expected = (double)letters * (double)stats.keys / sample_keys;
    return expected < (double)most ? (uint64_t)expected : most;
}

/* Counts the first keys, and makes the table as large as it will become: to grow again and again
 * would take longer than all the rest. Numbers of an array are left out, as the same few may be
 * all over it. */
static void count_sample(struct counter *counter)
{
    void *keys = malloc(sample_keys * (size_t)counter->key_bytes);
    size_t count;

    if (keys == NULL)
        fail_memory(counter);
    count = read_keys(counter, keys, sample_keys);
    add_keys(counter, keys, count);
    if (counter->fasta != NULL && count == sample_keys) {
        uint64_t expected = expected_kmers(counter);
        /* Only an empty table becomes larger at no cost. Where memory does not allow that much, it
         * grows as far as it comes. */
        if (bh_clear(counter->table) != BH_OK)
            fail_table(counter);
        (void)bh_reserve(counter->table, expected);
        add_keys(counter, keys, count);
    }
    free(keys);
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
    /* A table is made for sample_keys: with fewer, its size tells nothing about a key. */
    if (stats.keys < sample_keys)
        fprintf(stderr, ", table of %.1f MB\n", (double)stats.bytes_total * 1e-6);
    else
        fprintf(stderr, ", %.1f bytes per key\n", (double)stats.bytes_total / (double)stats.keys);
}

static void counter_close(struct counter *counter)
{
    bh_table_destroy(counter->table);
    bh_context_destroy(counter->context);
    pthread_mutex_destroy(&counter->lock);
}

/* Looks at all files before the first is read: that they can be read, and how large they are in all.
 * Answers their statuses, by which output_open() knows them. */
static struct stat *look_at_files(struct counter *counter, const struct options *options)
{
    struct stat *status = calloc((size_t)options->file_count, sizeof *status);
    bool is_known = true, has_standard = false;

    if (status == NULL)
        fail("%s: no memory to count it; free some and try again", options->files[0]);
    for (int i = 0; i < options->file_count; i++) {
        const char *file = options->files[i];
        bool is_standard = strcmp(file, "-") == 0;

        if (is_standard && has_standard)
            fail_usage("-: standard input can be read once, and it was named twice");
        has_standard |= is_standard;
        if ((is_standard ? fstat(STDIN_FILENO, &status[i]) : stat(file, &status[i])) != 0)
            fail("%s: cannot be opened: %s", file, strerror(errno));
        if (S_ISDIR(status[i].st_mode))
            fail("%s: is a folder; name a file in it", file);
        if (!is_standard && access(file, R_OK) != 0)
            fail("%s: cannot be opened: %s", file, strerror(errno));
        is_known &= S_ISREG(status[i].st_mode);
        counter->size += S_ISREG(status[i].st_mode) ? (uint64_t)status[i].st_size : 0;
    }
    counter->size = is_known ? counter->size : 0;
    return status;
}

/* Brings the counts, or how many keys have each of them, into the output. */
static void write_result(const struct counter *counter, const struct options *options,
                         struct result_format *format, struct output *output)
{
    bh_table *table = counter->table;

    if (options->histogram) {
        table = result_histogram(counter->context, table, format, output);
        *format = (struct result_format){
            .key_bytes = 8, .npy_bytes = 8, .is_sorted = true, .is_npy = format->is_npy};
    }
    result_write(counter->context, table, format, counter->threads, output);
    if (options->histogram)
        bh_table_destroy(table);
    output_commit(output);
}

int count_command(int argc, char **argv)
{
    struct options options;
    struct fasta fasta;
    struct npy npy;
    struct output output;
    struct kmers kmers;
    struct counter counter = {0};
    struct result_format format = {0};

    parse_options(argc, argv, &options);
    bool is_kmers = options.k > 0;

    /* Input, output, table: in this order what is wrong shows before anything is made, and before
     * the long work. */
    progress_start();
    struct stat *files = look_at_files(&counter, &options);
    if (is_kmers) {
        counter.next_files = options.files + 1;
        counter.files_left = options.file_count - 1;
        fasta_open(&fasta, options.files[0]);
        kmers_init(&kmers, options.k, options.canonical);
        format.k = options.k;
        format.key_bytes = kmers.key_bytes;
        format.npy_bytes = 8;
        counter.input = &fasta.input;
        counter.fasta = &fasta;
        counter.kmers = &kmers;
        counter.noun = "k-mers";
    } else {
        npy_open(&npy, options.files[0]);
        format.key_bytes = npy.key_bytes;
        format.npy_bytes = npy.item_bytes;
        format.is_signed = npy.is_signed;
        counter.input = &npy.input;
        counter.npy = &npy;
        counter.noun = "values";
    }
    if (options.output != NULL) {
        output_open(&output, options.output, files, (size_t)options.file_count);
        format.is_npy = ends_in_npy(options.output);
        format.is_sorted = options.sort;
        format.least = options.least;
    }
    free(files);
    counter.key_bytes = format.key_bytes;
    counter_open(&counter, options.threads);

    count_sample(&counter);
    threads_run(counter.threads, count_batches, &counter);
    double seconds = progress_seconds();
    progress_clear();

    if (options.output != NULL) {
        write_result(&counter, &options, &format, &output);
    }
    print_summary(&counter, &options, seconds);

    counter_close(&counter);
    if (is_kmers)
        fasta_close(&fasta);
    else
        npy_close(&npy);
    return EXIT_SUCCESS;
}
