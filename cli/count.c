/*
 * `bulkhash count`: how often each k-mer of FASTA and FASTQ files, or each integer of an array or of text,
 * occurs. A sample of the keys shows which come again and again: these are counted on the way (hot.h). For
 * the others it decides between two ways (choose.h):
 *
 *     table     Each thread reads a batch of keys (source.h) and adds it to a table with bh_reduce(), which
 *               adds 1 to the count of each key; meanwhile others read.
 *     sorting   All keys are read into memory and sorted; runs of equal keys are the counts (runs.h).
 *
 * At the end the counts go to the output file (result.h) and a summary to standard error.
 */
#define _POSIX_C_SOURCE 200809L

#include "commands.h"

#include "bulkhash/bulkhash.h"
#include "choose.h"
#include "error.h"
#include "hot.h"
#include "kmers.h"
#include "npy.h"
#include "output.h"
#include "progress.h"
#include "result.h"
#include "runs.h"
#include "source.h"
#include "suggest.h"
#include "threads.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On cores a batch is small enough to stay in cache between the reader that writes it and the table that
 * reads it, and for the library to add it in the thread that calls, as all threads have batches of their
 * own. On a GPU each call costs copies and launches, and the library copies a large batch part by part while
 * the GPU works: a batch is as large as gpu_batch_keys, or as a thread's part of gpu_keys. */
enum { batch_keys = 1 << 13, gpu_batch_keys = 1 << 24, gpu_keys = 1 << 26, most_threads = 1024 };

/* So many keys tell how large the table may become, and whether to have one. As they may mislead, it is made
 * for most_expected at most, some 200 MB. */
enum { sample_keys = 1 << 16, most_expected = 1 << 23 };

/* How many keys are read at a time where they go straight into memory to be sorted. */
enum { straight_keys = 1 << 17 };

static const char help[] =
    "bulkhash count: count k-mers of FASTA or FASTQ files, or integers of an array or of text\n"
    "\n"
    "usage: bulkhash count --kmers K [--canonical] FILE... [--output OUT]\n"
    "       bulkhash count ARRAY.npy [--output OUT]\n"
    "       bulkhash count --text FILE... [--output OUT]\n"
    "\n"
    "FILE is plain or gzip, or - for standard input; several are counted together.\n"
    "--kmers: FASTA or FASTQ. Each run of K letters A, C, G, T (or a, c, g, t) is a k-mer; those\n"
    "that contain any other letter are skipped, and none goes from one record to the next.\n"
    "ARRAY.npy: a NumPy file of integers of any width and shape.\n"
    "--text: an integer in each line, from -9223372036854775808 to 18446744073709551615: decimal,\n"
    "or hexadecimal with 0x, with a sign or without. A line that holds anything else, a blank or\n"
    "nothing at all, ends the program, and so do numbers below zero together with some above\n"
    "9223372036854775807: the line is named and OUT stays as it was.\n"
    "\n"
    "OUT gets one line for each distinct key: the k-mer or the number in decimal, a tab, how often\n"
    "it occurs. If the name of OUT ends in .npy, it is a NumPy file of (key, count) pairs: a number\n"
    "of an array keeps its type, one of text is an unsigned integer of 8 bytes, or a signed one\n"
    "where some are below zero, and a k-mer is an unsigned integer of 8 bytes, A=0, C=1, G=2, T=3,\n"
    "the first letter in the highest place. An existing file is replaced when all is done;\n"
    "standard output (-, /dev/stdout), a pipe or a device is written to.\n"
    "\n"
    "  -k, --kmers K      length of the k-mers, 1 to 32\n"
    "  -c, --canonical    count a k-mer and its reverse complement as one: as the\n"
    "                     alphabetically smaller of the two\n"
    "  -T, --text         the files are text, an integer in each line\n"
    "  -o, --output OUT   where the counts go, - for standard output; without it only the\n"
    "                     summary is printed\n"
    "  -s, --sort         sort OUT by key: k-mers alphabetically, numbers by size\n"
    "  -m, --min-count N  leave out keys that occur fewer than N times\n"
    "  -H, --histogram    OUT gets, instead, a line for each count that there is: the count, a\n"
    "                     tab, how many distinct keys have it\n"
    "  -t, --threads N    use N threads; default: one for each processor\n"
    "  -d, --device D     count on cpu (the default), or on an NVIDIA GPU: cuda, or cuda:N for\n"
    "                     GPU number N; bulkhash devices tells whether there is one\n"
    "  -h, --help         print this\n"
    "\n"
    "The summary on standard error tells how many keys are distinct, how many were counted, the\n"
    "rate and time of counting (without writing OUT), and the memory of the table: per key, or\n"
    "of fewer than 65,536 keys in all. Keys of which a sample shows that many are distinct are\n"
    "sorted instead, and the summary tells in how much memory. They are not sorted on a GPU, nor\n"
    "from FASTQ, nor where nothing tells how many there will be (a pipe), and as soon as they need\n"
    "more than half of the free memory they go to a table.\n"
    "The table is made as large as a sample lets expect, up to 200 MB at once.\n"
    "\n"
    "examples:\n"
    "  bulkhash count --kmers 31 --canonical genome.fna.gz --output counts.tsv\n"
    "  bulkhash count --kmers 4 --sort genome.fna --output - | head\n"
    "  bulkhash count -k 21 -c --min-count 2 reads_1.fastq.gz reads_2.fastq.gz -o solid.tsv\n"
    "  zcat reads.fastq.gz | bulkhash count -k 21 -c --histogram - --output -\n"
    "  bulkhash count ids.npy --output counts.npy\n"
    "  cut -f 3 visits.tsv | bulkhash count --text - --min-count 100 --output -\n";

struct options {
    char **files;
    int file_count;
    const char *output;
    const char *device;
    uint32_t k; /* 0: integers */
    uint32_t least;
    uint32_t threads;
    bool canonical;
    bool text;
    bool sort;
    bool histogram;
};

/* The keys on their way from the files to the counts. */
struct counter {
    struct source *source;
    struct counts counts; /* its table is NULL as long as the keys are to be sorted */
    struct sample sample;
    struct hot hot; /* keys that are counted on the way */
    size_t batch_keys;
    pthread_mutex_t lock; /* of the counts' table and runs, and of the progress line */
    uint64_t counted;
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

/* The device as bh_context_create() knows it: cpu, cuda or cuda:N. */
static const char *parse_device(const char *text)
{
    bool good = strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0;

    if (strncmp(text, "cuda:", 5) == 0) {
        size_t digits = strspn(text + 5, "0123456789");
        good = digits >= 1 && digits <= 4 && text[5 + digits] == '\0';
    }
    if (!good)
        fail_usage("--device: '%s' is none of cpu, cuda and cuda:N; see bulkhash devices", text);
    return text;
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

/* Whether the files, by their names, are of the kind that the options say. */
static void check_kind(const struct options *options)
{
    if (options->k > 0 && options->text)
        fail_usage("--text: text has no k-mers; leave out --kmers, or --text for FASTA and FASTQ");
    for (int i = 0; i < options->file_count; i++) {
        const char *file = options->files[i];

        if (options->k > 0 && ends_in_npy(file))
            fail_usage(
                "%s: an array has no k-mers; leave out --kmers, or name a FASTA or FASTQ file",
                file);
        if (options->k == 0 && options->canonical)
            fail_usage("--canonical: is about k-mers; add --kmers K");
        if (options->text && ends_in_npy(file))
            fail_usage("%s: an array is no text; leave out --text, or name a file of text", file);
        if (options->k == 0 && !options->text && !ends_in_npy(file))
            fail_usage("%s: without --kmers K or --text only arrays of integers are counted, "
                       "NumPy's FILE.npy; --text counts an integer in each line, --kmers K FASTA "
                       "and FASTQ, plain or gzip",
                       file);
    }
    if (options->k == 0 && !options->text && options->file_count > 1)
        fail_usage("%s: one array at a time, and %s was given before it; see bulkhash count --help",
                   options->files[1], options->files[0]);
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
        {"text", no_argument, NULL, 'T'},
        {"device", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    memset(options, 0, sizeof *options);
    options->device = "cpu";
    opterr = 0; /* getopt's own messages have another form than ours */
    while ((option = getopt_long(argc, argv, ":k:co:sm:Ht:Td:h", names, NULL)) != -1) {
        switch (option) {
        case 'k': options->k = parse_number(optarg, "--kmers", 1, kmers_longest); break;
        case 'c': options->canonical = true; break;
        case 'o': options->output = optarg; break;
        case 's': options->sort = true; break;
        case 'm': options->least = parse_number(optarg, "--min-count", 1, UINT32_MAX - 1); break;
        case 'H': options->histogram = true; break;
        case 't': options->threads = parse_number(optarg, "--threads", 1, most_threads); break;
        case 'T': options->text = true; break;
        case 'd': options->device = parse_device(optarg); break;
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
    check_kind(options);
    if ((options->histogram || options->least > 0 || options->sort) && options->output == NULL)
        fail_usage("--%s: is about what --output gets; add --output OUT",
                   options->histogram ? "histogram"
                   : options->sort    ? "sort"
                                      : "min-count");
    if (options->output != NULL && *options->output == '\0')
        fail_usage("--output: the name is empty; see bulkhash count --help");
}

/* ---------------------------------------- counting ---------------------------------------- */

static bh_table_stats stats_of(bh_table *table)
{
    bh_table_stats stats;

    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    if (bh_table_get_stats(table, &stats) != BH_OK)
        fail("the table cannot be asked for its size: %s; please report this", library_error());
    return stats;
}

/* The table cannot be made, or cannot take a batch. */
static _Noreturn void fail_table(const struct counter *counter)
{
    char why[1024];
    bh_table_stats stats;

    snprintf(why, sizeof why, "%s", library_error());
    stats.struct_size = sizeof stats;
    const char *path = source_path(counter->source);
    if (counter->counts.table == NULL || bh_table_get_stats(counter->counts.table, &stats) != BH_OK)
        fail("%s: cannot be counted: %s", path, why);
    fail("%s: cannot be counted to the end, after %" PRIu64 " distinct %s in %" PRIu64
         " MiB of memory: %s; use a machine with more memory or split the file",
         path, stats.keys, counter->source->noun, stats.bytes_total >> 20, why);
}

static _Noreturn void fail_memory(const struct counter *counter)
{
    fail("%s: no memory to count it; free some and try again", source_path(counter->source));
}

/* Chooses where to count. */
static void open_context(struct counter *counter, const char *device, uint32_t threads)
{
    struct counts *counts = &counter->counts;
    bh_context_options options;
    bh_context_info info;

    bh_context_options_init(&options);
    options.threads = threads;
    info.struct_size = sizeof info;
    if (bh_context_create(device, &options, &counts->context) != BH_OK ||
        bh_context_get_info(counts->context, &info) != BH_OK) {
        if (strcmp(device, "cpu") != 0)
            fail("--device %s: cannot be used: %s; see bulkhash devices", device, library_error());
        fail_table(counter);
    }
    counts->threads = info.threads;
    counter->batch_keys = batch_keys;
    if (strcmp(info.device, "cpu") != 0) {
        counter->batch_keys = gpu_keys / info.threads;
        if (counter->batch_keys > gpu_batch_keys)
            counter->batch_keys = gpu_batch_keys;
    }
}

/* Makes a table in which `keys` distinct keys have room. */
static void open_table(struct counter *counter, uint64_t keys)
{
    bh_table_options options;

    bh_table_options_init(&options, counter->source->key_bytes, 8, keys);
    if (bh_table_create(counter->counts.context, &options, &counter->counts.table) == BH_OK)
        return;
    /* Where memory does not allow that much, it grows as far as it comes. */
    options.capacity = sample_keys;
    if (keys <= sample_keys ||
        bh_table_create(counter->counts.context, &options, &counter->counts.table) != BH_OK)
        fail_table(counter);
}

static void add_keys(struct counter *counter, const void *keys, uint64_t count)
{
    if (bh_reduce(counter->counts.table, BH_ADD, keys, NULL, count, NULL) != BH_OK) {
        /* Held to the end, so that no thread draws the progress line again. */
        pthread_mutex_lock(&counter->lock);
        fail_table(counter);
    }
}

/* How many keys will have to be sorted, those read included. */
static uint64_t expected_others(struct counter *counter)
{
    return sample_others(&counter->sample, source_expected(counter->source));
}

/* Adds keys that have come so often to the table. */
static void add_counts(struct counter *counter, const struct pair *pairs, uint64_t count)
{
    const uint32_t key_bytes = counter->source->key_bytes;
    uint64_t *keys8 = malloc(count * sizeof *keys8), *values = malloc(count * sizeof *values);
    uint32_t *keys4 = (uint32_t *)keys8;

    if (keys8 == NULL || values == NULL)
        fail_memory(counter);
    for (uint64_t i = 0; i < count; i++) {
        if (key_bytes == 4)
            keys4[i] = (uint32_t)pairs[i].key;
        else
            keys8[i] = pairs[i].key;
        values[i] = pairs[i].count;
    }
    if (bh_reduce(counter->counts.table, BH_ADD, keys8, values, count, NULL) != BH_OK)
        fail_table(counter);
    free(values);
    free(keys8);
}

/* Memory does not suffice for sorting, so what has been read goes to a table, and all that follows. With the
 * lock held as long as there are other threads. */
static void count_in_table(struct counter *counter)
{
    struct runs *runs = &counter->counts.runs;

    open_table(counter, sample_keys);
    if (bh_reduce(counter->counts.table, BH_ADD, runs->keys, NULL, runs->count, NULL) != BH_OK)
        fail_table(counter);
    if (runs->besides_count > 0)
        add_counts(counter, runs->besides, runs->besides_count);
    runs_close(runs);
}

/* With the lock held. */
static void show_progress(struct counter *counter)
{
    bh_table *table = counter->counts.table;

    if (!progress_due())
        return;
    uint64_t distinct = table != NULL ? stats_of(table).keys : UINT64_MAX;
    progress_draw(source_position(counter->source), counter->source->size, counter->counted,
                  counter->source->noun, distinct);
}

/* Brings a batch into the table, or behind the keys that will be sorted; what is hot stays with `hot`, and
 * the batch loses it. */
static void keep_keys(struct counter *counter, struct hot *hot, void *keys, size_t count)
{
    struct runs *runs = &counter->counts.runs;
    size_t others = hot_filter(hot, keys, counter->source->key_bytes, count);
    bool is_kept = false;

    pthread_mutex_lock(&counter->lock);
    counter->counted += count;
    if (counter->counts.table == NULL && source_is_fastq(counter->source)) {
        count_in_table(counter);
    } else if (counter->counts.table == NULL) {
        void *room = runs_room(runs, others, expected_others(counter));

        is_kept = room != NULL;
        if (is_kept) {
            memcpy(room, keys, others * runs->key_bytes);
            runs->count += others;
        } else {
            count_in_table(counter);
        }
    }
    show_progress(counter);
    pthread_mutex_unlock(&counter->lock);
    if (!is_kept)
        add_keys(counter, keys, others);
}

/* What each thread does. */
static void count_batches(void *argument)
{
    struct counter *counter = argument;
    struct source_reader reader;
    struct hot hot;
    void *keys = malloc(counter->batch_keys * counter->source->key_bytes);
    size_t count;

    if (keys == NULL) {
        pthread_mutex_lock(&counter->lock);
        fail_memory(counter);
    }
    pthread_mutex_lock(&counter->lock);
    hot_copy(&hot, &counter->hot);
    pthread_mutex_unlock(&counter->lock);
    source_reader_open(&reader, counter->source);
    while ((count = source_read(&reader, keys, counter->batch_keys)) > 0)
        keep_keys(counter, &hot, keys, count);
    source_reader_close(&reader);
    free(keys);
    pthread_mutex_lock(&counter->lock);
    hot_add(&counter->hot, &hot);
    pthread_mutex_unlock(&counter->lock);
    hot_close(&hot);
}

/* Reads keys to the place where they will be sorted, without a batch between: those that only one thread can
 * read at a time. What is left is for count_batches(): keys that were not expected or find no memory. */
static void read_straight(struct counter *counter)
{
    struct runs *runs = &counter->counts.runs;
    const uint64_t all = source_expected(counter->source);
    struct source_reader reader;
    size_t count = 1;

    source_reader_open(&reader, counter->source);
    while (runs->count < all && count > 0 && !source_is_fastq(counter->source)) {
        uint64_t part = all - runs->count < straight_keys ? all - runs->count : straight_keys;
        void *room = runs_room(runs, part, all);

        if (room == NULL)
            break;
        count = source_read(&reader, room, part);
        runs->count += count;
        counter->counted += count;
        show_progress(counter);
    }
    source_reader_close(&reader);
}

/* Keys that were read to look at them. */
struct beginning {
    void *keys;
    size_t count; /* 0 where the sample is of the whole array */
};

static void look_at_beginning(struct counter *counter, struct source_reader *reader,
                              struct beginning *beginning, bool on_cores)
{
    struct source *source = counter->source;
    size_t count = sample_keys;
    void *sorted = malloc(sample_keys * (size_t)source->key_bytes);

    beginning->keys = malloc(sample_keys * (size_t)source->key_bytes);
    beginning->count = 0;
    if (sorted == NULL || beginning->keys == NULL)
        fail_memory(counter);
    if (!source_sample(source, sorted, sample_keys)) {
        beginning->count = count = source_read(reader, beginning->keys, sample_keys);
        memcpy(sorted, beginning->keys, count * source->key_bytes);
    }
    if (bh_sort(counter->counts.context, sorted, source->key_bytes, NULL, 0, count) != BH_OK)
        fail_table(counter);
    sample_look(&counter->sample, sorted, source->key_bytes, count);
    if (on_cores && count == sample_keys)
        counter->sample.hot = hot_choose(&counter->hot, sorted, source->key_bytes, count);
    free(sorted);
}

/* How many distinct keys the table is made for, from the beginning on: to grow again and again would take
 * longer than all the rest. */
static uint64_t expected_distinct(const struct counter *counter)
{
    const struct sample *sample = &counter->sample;
    struct source *source = counter->source;
    uint64_t keys = source_expected(source), most = most_expected, expected;

    if (source->kind == SOURCE_KMERS) {
        /* The share of new ones stays what it was. */
        expected = (uint64_t)((double)keys * (double)sample->distinct / sample_keys);
        if (source->kmers.k < 12) /* and the sample may have come before all others */
            most = UINT64_C(1) << 2 * source->kmers.k;
    } else {
        expected = sample_distinct(sample, keys);
    }
    if (sample->keys < sample_keys || expected < sample_keys)
        return sample_keys;
    return expected < most ? expected : most;
}

/* On a GPU nothing is sorted: there a table is as fast. Nor are the reads of FASTQ, also when they come behind
 * other files: their first k-mers are distinct, but with the coverage all of them come again, and sorting
 * would take many times the memory. */
static bool is_sorting(const struct counter *counter, bool on_cores, uint64_t memory)
{
    struct source *source = counter->source;

    return on_cores && !source_is_fastq(source) && counter->sample.keys == sample_keys &&
           choose_sorting(&counter->sample, source_expected(source), source->key_bytes, memory);
}

/* Brings what was counted on the way to the other keys. */
static void add_hot(struct counter *counter)
{
    struct hot *hot = &counter->hot;
    struct counts *counts = &counter->counts;

    hot_list(hot);
    if (hot->count == 0)
        return;
    if (counts->table == NULL && runs_add(&counts->runs, hot->places, hot->count))
        return;
    if (counts->table == NULL)
        count_in_table(counter);
    add_counts(counter, hot->places, hot->count);
}

/* From the files to the counts. */
static void count_keys(struct counter *counter, bool on_cores)
{
    struct counts *counts = &counter->counts;
    struct source_reader reader;
    struct beginning beginning;
    struct hot none = {.places = NULL};

    source_reader_open(&reader, counter->source);
    look_at_beginning(counter, &reader, &beginning, on_cores);
    const uint64_t memory = memory_available();
    /* A quarter, for bh_sort() needs as much again. */
    runs_init(&counts->runs, counter->source->key_bytes, memory / 4);
    if (!is_sorting(counter, on_cores, memory))
        open_table(counter, expected_distinct(counter));
    while (beginning.count > 0) {
        keep_keys(counter, &none, beginning.keys, beginning.count);
        beginning.count = source_read_taken(&reader, beginning.keys, sample_keys);
    }
    source_reader_close(&reader);
    free(beginning.keys);

    if (counts->table == NULL && counter->hot.places == NULL &&
        counter->source->kind != SOURCE_TEXT)
        read_straight(counter);
    threads_run(counts->threads, count_batches, counter);
    add_hot(counter);
    if (counts->table == NULL &&
        !runs_sort(&counts->runs, counts->context, source_is_signed(counter->source)))
        count_in_table(counter);
    counts->distinct = counts->table != NULL ? stats_of(counts->table).keys
                                             : runs_number(&counts->runs, 1, counts->threads);
}

/* ----------------------------------------- the end ---------------------------------------- */

/* What has been counted, and how many lines of it were written where that is not plain. */
static void print_summary(const struct counter *counter, const struct options *options,
                          uint64_t written, double seconds)
{
    const struct counts *counts = &counter->counts;

    fprintf(stderr, "%" PRIu64 " distinct of %" PRIu64 " ", counts->distinct, counter->counted);
    if (options->k > 0)
        fprintf(stderr, "%" PRIu32 "-mers", options->k);
    else
        fputs(counter->source->noun, stderr);
    if (options->k > 0 && counter->counted == 0)
        fprintf(stderr, " (nowhere are there %" PRIu32 " letters A, C, G, T in a row)", options->k);
    if (options->least > 1 && !options->histogram)
        fprintf(stderr, ", %" PRIu64 " written", written);
    fprintf(stderr, ", %.1f M %s/s, %.3f s", (double)counter->counted / seconds * 1e-6,
            counter->source->noun, seconds);
    if (counts->table == NULL) {
        /* The keys, and as much again for bh_sort(). */
        double bytes = 2 * (double)counts->runs.count * counts->runs.key_bytes;
        fprintf(stderr, ", sorted in %.1f MB\n", bytes * 1e-6);
        return;
    }
    uint64_t bytes = stats_of(counts->table).bytes_total;
    /* A table is made for sample_keys: with fewer, its size tells nothing about a key. */
    if (counts->distinct < sample_keys)
        fprintf(stderr, ", table of %.1f MB\n", (double)bytes * 1e-6);
    else
        fprintf(stderr, ", %.1f bytes per key\n", (double)bytes / (double)counts->distinct);
}

static void counter_close(struct counter *counter)
{
    runs_close(&counter->counts.runs);
    hot_close(&counter->hot);
    bh_table_destroy(counter->counts.table);
    bh_context_destroy(counter->counts.context);
    pthread_mutex_destroy(&counter->lock);
}

/* Brings the counts, or how many keys have each of them, into the output; answers how many lines. */
static uint64_t write_result(const struct counts *counts, const struct options *options,
                             const struct result_format *format, struct output *output)
{
    uint64_t written;

    if (options->histogram) {
        struct counts histogram = {.context = counts->context, .threads = counts->threads};
        const struct result_format of_counts = {
            .key_bytes = 8, .npy_bytes = 8, .is_sorted = true, .is_npy = format->is_npy};

        histogram.table = result_histogram(counts, format, output);
        histogram.distinct = stats_of(histogram.table).keys;
        written = result_write(&histogram, &of_counts, output);
        bh_table_destroy(histogram.table);
    } else {
        written = result_write(counts, format, output);
    }
    output_commit(output);
    return written;
}

static void open_source(struct source *source, const struct options *options)
{
    if (options->k > 0)
        source_open_kmers(source, options->k, options->canonical);
    else if (options->text)
        source_open_text(source);
    else
        source_open_array(source);
}

/* What the output looks like, once all has been read. */
static struct result_format format_of(const struct source *source, const struct options *options)
{
    return (struct result_format){
        .key_bytes = source->key_bytes,
        .k = options->k,
        .npy_bytes = source->kind == SOURCE_ARRAY ? source->npy.item_bytes : 8,
        .is_signed = source_is_signed(source),
        .is_sorted = options->sort,
        .is_npy = ends_in_npy(options->output),
        .least = options->least,
    };
}

int count_command(int argc, char **argv)
{
    struct options options;
    struct source source;
    struct output output;
    struct counter counter = {.source = &source};
    uint64_t written = 0;

    parse_options(argc, argv, &options);

    /* Input, output, table: in this order what is wrong shows before anything is made, and before
     * the long work. */
    progress_start();
    struct stat *files = source_look(&source, options.files, options.file_count);
    open_source(&source, &options);
    if (options.output != NULL)
        output_open(&output, options.output, files, (size_t)options.file_count);
    free(files);
    pthread_mutex_init(&counter.lock, NULL);
    open_context(&counter, options.device, options.threads);

    count_keys(&counter, strcmp(options.device, "cpu") == 0);
    double seconds = progress_seconds();
    progress_clear();

    if (options.output != NULL) {
        const struct result_format format = format_of(&source, &options);
        written = write_result(&counter.counts, &options, &format, &output);
    }
    print_summary(&counter, &options, written, seconds);

    counter_close(&counter);
    source_close(&source);
    return EXIT_SUCCESS;
}
