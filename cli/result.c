/*
 * Writes the result (see result.h). The table is exported part by part, each part is widened to
 * pairs of 64-bit key and count and turned into text. Several threads do that, each with a part of
 * its own; they write what they have made in the order in which they took the parts. Only sorting
 * needs all pairs in memory at once, and as much again: the library's bh_sort() does it, and the
 * parts are then taken from the sorted arrays.
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

struct pair {
    uint64_t key;
    uint64_t count;
};

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

/* Writes what the file will hold of these pairs to `text`; answers how many bytes. */
static size_t write_pairs(char *text, const struct pair *pairs, uint64_t count,
                          const struct result_format *format)
{
    char *end = text;

    for (uint64_t i = 0; i < count; i++) {
        if (format->is_npy)
            end = npy_pair(pairs[i].key, format->npy_bytes, pairs[i].count, end);
        else
            end = write_line(end, &pairs[i], format);
    }
    return (size_t)(end - text);
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

/* What the threads share. */
struct writer {
    bh_table *table;
    const struct result_format *format;
    struct output *output;
    pthread_mutex_t lock;
    pthread_cond_t turn_ended;
    uint64_t parts;   /* how many have been taken, */
    uint64_t written; /* and written */
    struct exporter exporter;
    void *keys; /* all of them, where they have been sorted; or NULL */
    uint64_t *counts;
    uint64_t sorted;
    uint64_t sorted_taken;
};

/* What each thread has for itself. */
struct workspace {
    struct pair pairs[part_pairs];
    char text[part_pairs * longest_line];
};

/* Takes the next part, into `pairs`; *turn is its number. Answers how many pairs it has, 0 at the
 * end. */
static uint64_t take_part(struct writer *writer, struct pair *pairs, uint64_t *turn)
{
    uint64_t first = 0, count;

    pthread_mutex_lock(&writer->lock);
    if (writer->keys != NULL) {
        first = writer->sorted_taken;
        count = writer->sorted - first < part_pairs ? writer->sorted - first : part_pairs;
        writer->sorted_taken += count;
    } else {
        count = next_part(writer->table, writer->format, &writer->exporter, pairs, writer->output);
    }
    *turn = writer->parts;
    writer->parts += count > 0;
    pthread_mutex_unlock(&writer->lock);
    if (writer->keys != NULL)
        widen(writer->format, (const char *)writer->keys + first * writer->format->key_bytes,
              writer->counts + first, count, pairs);
    return count;
}

/* Brings the text of a part into the file. Only where the parts are sorted must one wait for those
 * before it, and then only until they have been turned into text. */
static void write_text(struct writer *writer, uint64_t turn, const char *text, size_t length)
{
    uint64_t place;

    pthread_mutex_lock(&writer->lock);
    while (writer->keys != NULL && writer->written < turn)
        pthread_cond_wait(&writer->turn_ended, &writer->lock);
    bool has_place = output_claim(writer->output, length, &place);
    if (!has_place)
        output_write(writer->output, text, length);
    writer->written++;
    pthread_cond_broadcast(&writer->turn_ended);
    pthread_mutex_unlock(&writer->lock);
    if (has_place)
        output_write_at(writer->output, place, text, length);
}

/* What each thread does. */
static void write_parts(void *argument)
{
    struct writer *writer = argument;
    struct workspace *space = malloc(sizeof *space);
    uint64_t turn, count;

    if (space == NULL)
        fail("%s: no memory to write it; free some and try again", writer->output->path);
    while ((count = take_part(writer, space->pairs, &turn)) > 0) {
        size_t length = write_pairs(space->text, space->pairs, count, writer->format);

        write_text(writer, turn, space->text, length);
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

/* Takes all pairs from the table, `keys` in number, and sorts them by key. */
static void sort_pairs(bh_context *context, struct writer *writer, uint64_t keys)
{
    const struct result_format *format = writer->format;
    uint64_t room = keys + 1; /* malloc(0) may answer NULL */
    uint64_t got;

    if (room <= SIZE_MAX / sizeof *writer->counts) {
        writer->keys = malloc((size_t)room * format->key_bytes);
        writer->counts = malloc((size_t)room * sizeof *writer->counts);
    }
    if (writer->keys != NULL && writer->counts != NULL) {
        while ((got = export_part(writer->table, &writer->exporter,
                                  (char *)writer->keys + writer->sorted * format->key_bytes,
                                  writer->counts + writer->sorted, room - writer->sorted,
                                  writer->output)) > 0)
            writer->sorted += got;
        writer->sorted = keep_frequent(format, writer->keys, writer->counts, writer->sorted);
        flip_signs(writer);
        if (bh_sort(context, writer->keys, format->key_bytes, writer->counts,
                    sizeof *writer->counts, writer->sorted) == BH_OK) {
            flip_signs(writer);
            return;
        }
    }
    fail("%s: no memory to sort the lines; leave out --sort and sort the file afterwards",
         writer->output->path);
}

/* How many pairs will be written. */
static uint64_t count_frequent(bh_table *table, const struct result_format *format, uint64_t keys,
                               const struct output *output)
{
    struct exporter *exporter;
    uint64_t kept = 0, count;

    if (format->least <= 1)
        return keys;
    exporter = calloc(1, sizeof *exporter);
    if (exporter == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    exporter->keys_left = keys;
    while ((count = export_part(table, exporter, exporter->keys8, exporter->counts, part_pairs,
                                output)) > 0)
        kept += keep_frequent(format, exporter->keys8, exporter->counts, count);
    free(exporter);
    return kept;
}

bh_table *result_histogram(bh_context *context, bh_table *table, const struct result_format *format,
                           const struct output *output)
{
    struct exporter *exporter = calloc(1, sizeof *exporter);
    bh_table *histogram = NULL;
    bh_table_options options;
    bh_table_stats stats;
    uint64_t count;

    stats.struct_size = sizeof stats;
    bh_table_options_init(&options, 8, 8, 0);
    if (exporter == NULL || bh_table_get_stats(table, &stats) != BH_OK ||
        bh_table_create(context, &options, &histogram) != BH_OK)
        fail("%s: no memory to write it; free some and try again", output->path);
    exporter->keys_left = stats.keys;
    while ((count = export_part(table, exporter, exporter->keys8, exporter->counts, part_pairs,
                                output)) > 0) {
        count = keep_frequent(format, exporter->keys8, exporter->counts, count);
        if (bh_reduce(histogram, BH_ADD, exporter->counts, NULL, count, NULL) != BH_OK)
            fail("%s: the counts cannot be counted: %s", output->path, library_error());
    }
    free(exporter);
    return histogram;
}

void result_write(bh_context *context, bh_table *table, const struct result_format *format,
                  uint32_t threads, struct output *output)
{
    bh_table_stats stats;
    struct writer *writer = calloc(1, sizeof *writer);

    if (writer == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    stats.struct_size = sizeof stats;
    if (bh_table_get_stats(table, &stats) != BH_OK)
        fail("%s: the table cannot be asked for its size: %s; please report this", output->path,
             library_error());
    writer->table = table;
    writer->format = format;
    writer->output = output;
    writer->exporter.keys_left = stats.keys;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->turn_ended, NULL);

    if (format->is_npy) {
        char header[npy_pair_header_bytes];
        npy_pair_header(count_frequent(table, format, stats.keys, output), format->npy_bytes,
                        format->is_signed, header);
        output_write(output, header, sizeof header);
    }
    if (format->is_sorted)
        sort_pairs(context, writer, stats.keys);
    threads_run(threads, write_parts, writer);

    free(writer->keys);
    free(writer->counts);
    pthread_cond_destroy(&writer->turn_ended);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
