/*
 * Writes the result (see result.h). Parts of it are made into pairs of 64-bit key and count, and those
 * into the bytes of the file. Several threads do that, each with a part of its own; where lines are to
 * be sorted they write them in the order in which they took the parts. A part is one of three things:
 *
 *     table             the next pairs that bh_export() gives
 *     table, --sort     a stretch of all pairs, which bh_sort() has brought into order: this needs them
 *                       in memory at once, and as much again
 *     sorted keys       some runs of equal keys (runs.h)
 */
#define _POSIX_C_SOURCE 200809L

#include "result.h"

#include "error.h"
#include "kmers.h"
#include "npy.h"
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Parts are large enough that threads seldom meet, and small enough that the text of one is in cache
 * still when it is written. */
enum { part_pairs = 1 << 14, longest_line = 64 };

/* Writes a number in decimal digits; answers where they end. */
static char *write_decimal(char *text, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;

    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    size_t length = sizeof digits - first;
    memcpy(text, digits + first, length);
    return text + length;
}

static char *write_line(char *text, const struct pair *pair, const struct result_format *format)
{
    if (format->k > 0) {
        kmers_decode(pair->key, format->k, text);
        text += format->k;
    } else if (format->is_signed && pair->key >> 63) {
        *text++ = '-';
        text = write_decimal(text, 0 - pair->key);
    } else {
        text = write_decimal(text, pair->key);
    }
    *text++ = '\t';
    text = write_decimal(text, pair->count);
    *text++ = '\n';
    return text;
}

/* Answers what the file will hold of these pairs, *length bytes; `room` is where they may be put. */
static const char *write_pairs(char *room, const struct pair *pairs, uint64_t count,
                               const struct result_format *format, size_t *length)
{
    char *end = room;

    if (format->is_npy)
        return npy_pairs(pairs, count, format->npy_bytes, room, length);
    for (uint64_t i = 0; i < count; i++)
        end = write_line(end, &pairs[i], format);
    *length = (size_t)(end - room);
    return room;
}

/* Where an export has come to, and the arrays it goes through. */
struct exporter {
    uint64_t cursor;
    uint64_t keys_left;
    uint64_t counts[part_pairs];
    uint64_t keys8[part_pairs];
    uint32_t keys4[part_pairs];
};

/* Turns keys as the table has them, and counts, into pairs. */
static void widen(const struct result_format *format, const void *keys, const uint64_t *counts,
                  uint64_t count, struct pair *pairs)
{
    bool is_narrow = format->key_bytes == 4;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = is_narrow ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
        if (is_narrow && format->is_signed)
            key = (key ^ 0x80000000) - 0x80000000; /* copies the sign into the higher bits */
        pairs[i] = (struct pair){key, counts[i]};
    }
}

/* Exports the next pairs, at most `room`; answers how many, 0 at the end. */
static uint64_t export_part(bh_table *table, struct exporter *exporter, void *keys,
                            uint64_t *counts, uint64_t room, const struct output *output)
{
    uint64_t count = 0;

    if (bh_export(table, &exporter->cursor, keys, counts, room, &count) != BH_OK)
        fail("%s: the counts cannot be read from the table: %s; please report this", output->path,
             library_error());
    /* The .npy header has promised a number, and the sort has made room for it. */
    if (count > exporter->keys_left || (count == 0 && exporter->keys_left > 0))
        fail("%s: the table gave another number of keys than it said; please report this",
             output->path);
    exporter->keys_left -= count;
    return count;
}

/* Keeps the pairs whose counts are large enough; answers how many. */
static uint64_t keep_frequent(const struct result_format *format, void *keys, uint64_t *counts,
                              uint64_t count)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < count; i++) {
        if (format->key_bytes == 4)
            ((uint32_t *)keys)[kept] = ((const uint32_t *)keys)[i];
        else
            ((uint64_t *)keys)[kept] = ((const uint64_t *)keys)[i];
        counts[kept] = counts[i];
        kept += counts[i] >= format->least;
    }
    return kept;
}

/* Puts the next pairs, at most part_pairs, into `pairs`; answers how many, 0 at the end. */
static uint64_t next_part(bh_table *table, const struct result_format *format,
                          struct exporter *exporter, struct pair *pairs,
                          const struct output *output)
{
    void *keys = format->key_bytes == 4 ? (void *)exporter->keys4 : (void *)exporter->keys8;
    uint64_t count;

    do { /* until some are kept */
        count = export_part(table, exporter, keys, exporter->counts, part_pairs, output);
        if (count == 0)
            return 0;
        count = keep_frequent(format, keys, exporter->counts, count);
    } while (count == 0);
    widen(format, keys, exporter->counts, count, pairs);
    return count;
}

/* Where the parts come from. */
enum part_source { FROM_TABLE, FROM_SORTED_PAIRS, FROM_RUNS };

/* What the threads share. */
struct writer {
    const struct counts *counts;
    const struct result_format *format;
    struct output *output;
    pthread_mutex_t lock;
    pthread_cond_t turn_ended;
    uint64_t parts;   /* how many have been taken, */
    uint64_t written; /* and written */
    uint64_t pairs;   /* of these */
    enum part_source from;
    struct exporter exporter; /* FROM_TABLE */
    void *keys;               /* FROM_SORTED_PAIRS */
    uint64_t *values;
    uint64_t sorted; /* pairs */
    uint64_t taken;  /* pairs of them; or FROM_RUNS, keys */
};

/* What each thread has for itself. */
struct workspace {
    struct pair pairs[part_pairs];
    char text[part_pairs * longest_line];
};

static struct writer *writer_open(const struct counts *counts, const struct result_format *format,
                                  struct output *output)
{
    struct writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    writer->counts = counts;
    writer->format = format;
    writer->output = output;
    writer->from = counts->table != NULL ? FROM_TABLE : FROM_RUNS;
    writer->exporter.keys_left = counts->distinct;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->turn_ended, NULL);
    return writer;
}

static void writer_close(struct writer *writer)
{
    free(writer->keys);
    free(writer->values);
    pthread_cond_destroy(&writer->turn_ended);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

/* Takes the next part and puts its pairs into `pairs`; *turn is its number, *count that of its pairs.
 * False at the end. */
static bool take_part(struct writer *writer, struct pair *pairs, uint64_t *turn, uint64_t *count)
{
    const struct result_format *format = writer->format;
    const struct runs *runs = &writer->counts->runs;
    uint64_t first = 0, size = 0;

    pthread_mutex_lock(&writer->lock);
    switch (writer->from) {
    case FROM_TABLE:
        size = next_part(writer->counts->table, format, &writer->exporter, pairs, writer->output);
        break;
    case FROM_SORTED_PAIRS:
        first = writer->taken;
        size = writer->sorted - first < part_pairs ? writer->sorted - first : part_pairs;
        writer->taken += size;
        break;
    case FROM_RUNS: size = runs_take(runs, part_pairs, &writer->taken, &first); break;
    }
    *turn = writer->parts;
    writer->parts += size > 0;
    pthread_mutex_unlock(&writer->lock);

    *count = size;
    if (size > 0 && writer->from == FROM_SORTED_PAIRS)
        widen(format, (const char *)writer->keys + first * format->key_bytes,
              writer->values + first, size, pairs);
    if (size > 0 && writer->from == FROM_RUNS)
        *count = runs_pairs(runs, first, size, format->least, format->is_signed, pairs);
    return size > 0;
}

/* Brings the bytes of a part into the file. Only where the parts are to be in order must one wait for
 * those before it, and then only until their lengths are known. */
static void write_part(struct writer *writer, uint64_t turn, uint64_t pairs, const char *bytes,
                       size_t length)
{
    uint64_t place;

    pthread_mutex_lock(&writer->lock);
    while (writer->format->is_sorted && writer->written < turn)
        pthread_cond_wait(&writer->turn_ended, &writer->lock);
    bool has_place = output_claim(writer->output, length, &place);
    if (!has_place)
        output_write(writer->output, bytes, length);
    writer->written++;
    writer->pairs += pairs;
    pthread_cond_broadcast(&writer->turn_ended);
    pthread_mutex_unlock(&writer->lock);
    if (has_place)
        output_write_at(writer->output, place, bytes, length);
}

/* What each thread does. */
static void write_parts(void *argument)
{
    struct writer *writer = argument;
    struct workspace *space = malloc(sizeof *space);
    uint64_t turn, count;

    if (space == NULL)
        fail("%s: no memory to write it; free some and try again", writer->output->path);
    while (take_part(writer, space->pairs, &turn, &count)) {
        size_t length;
        const char *bytes = write_pairs(space->text, space->pairs, count, writer->format, &length);

        write_part(writer, turn, count, bytes, length);
    }
    free(space);
}

/* Of signed keys the highest bit stands for less, not for more: exchanges the two meanings. */
static void flip_signs(const struct writer *writer)
{
    if (!writer->format->is_signed)
        return;
    for (uint64_t i = 0; i < writer->sorted; i++) {
        if (writer->format->key_bytes == 4)
            ((uint32_t *)writer->keys)[i] ^= UINT32_C(1) << 31;
        else
            ((uint64_t *)writer->keys)[i] ^= UINT64_C(1) << 63;
    }
}

/* Takes all pairs from the table and sorts them by key. */
static void sort_pairs(struct writer *writer)
{
    const struct result_format *format = writer->format;
    uint64_t room = writer->counts->distinct + 1; /* malloc(0) may answer NULL */
    uint64_t got;

    if (room <= SIZE_MAX / sizeof *writer->values) {
        writer->keys = malloc((size_t)room * format->key_bytes);
        writer->values = malloc((size_t)room * sizeof *writer->values);
    }
    if (writer->keys != NULL && writer->values != NULL) {
        while ((got = export_part(writer->counts->table, &writer->exporter,
                                  (char *)writer->keys + writer->sorted * format->key_bytes,
                                  writer->values + writer->sorted, room - writer->sorted,
                                  writer->output)) > 0)
            writer->sorted += got;
        writer->sorted = keep_frequent(format, writer->keys, writer->values, writer->sorted);
        flip_signs(writer);
        if (bh_sort(writer->counts->context, writer->keys, format->key_bytes, writer->values,
                    sizeof *writer->values, writer->sorted) == BH_OK) {
            flip_signs(writer);
            writer->from = FROM_SORTED_PAIRS;
            return;
        }
    }
    fail("%s: no memory to sort the lines; leave out --sort and sort the file afterwards",
         writer->output->path);
}

/* How many pairs will be written. */
static uint64_t count_frequent(const struct counts *counts, const struct result_format *format,
                               const struct output *output)
{
    struct exporter *exporter;
    uint64_t kept = 0, count;

    if (format->least <= 1)
        return counts->distinct;
    if (counts->table == NULL)
        return runs_number(&counts->runs, format->least, counts->threads);
    exporter = calloc(1, sizeof *exporter);
    if (exporter == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    exporter->keys_left = counts->distinct;
    while ((count = export_part(counts->table, exporter, exporter->keys8, exporter->counts,
                                part_pairs, output)) > 0)
        kept += keep_frequent(format, exporter->keys8, exporter->counts, count);
    free(exporter);
    return kept;
}

bh_table *result_histogram(const struct counts *counts, const struct result_format *format,
                           struct output *output)
{
    struct writer *writer = writer_open(counts, format, output);
    struct pair *pairs = malloc(part_pairs * sizeof *pairs);
    uint64_t *values = malloc(part_pairs * sizeof *values);
    bh_table *histogram = NULL;
    bh_table_options options;
    uint64_t turn, count;

    bh_table_options_init(&options, 8, 8, 0);
    if (pairs == NULL || values == NULL ||
        bh_table_create(counts->context, &options, &histogram) != BH_OK)
        fail("%s: no memory to write it; free some and try again", output->path);
    while (take_part(writer, pairs, &turn, &count)) {
        for (uint64_t i = 0; i < count; i++)
            values[i] = pairs[i].count;
        if (bh_reduce(histogram, BH_ADD, values, NULL, count, NULL) != BH_OK)
            fail("%s: the counts cannot be counted: %s", output->path, library_error());
    }
    free(values);
    free(pairs);
    writer_close(writer);
    return histogram;
}

uint64_t result_write(const struct counts *counts, const struct result_format *format,
                      struct output *output)
{
    struct writer *writer = writer_open(counts, format, output);
    uint64_t pairs;

    if (format->is_npy) {
        char header[npy_pair_header_bytes];
        npy_pair_header(count_frequent(counts, format, output), format->npy_bytes,
                        format->is_signed, header);
        output_write(output, header, sizeof header);
    }
    if (format->is_sorted && writer->from == FROM_TABLE)
        sort_pairs(writer);
    threads_run(counts->threads, write_parts, writer);
    pairs = writer->pairs;
    writer_close(writer);
    return pairs;
}
