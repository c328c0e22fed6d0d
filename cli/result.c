/*
 * Writes the result (see result.h). The table is exported part by part, each part is widened to
 * pairs of 64-bit key and count and turned into text. Several threads do that, each with a part of
 * its own; they write what they have made in the order in which they took the parts. Only sorting
 * needs all pairs in memory at once, twice: it is a radix sort, eight passes of one byte each, of
 * which the ones are left out where all keys have the same byte.
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
        if (format->is_npy) {
            npy_pair(pairs[i].key, pairs[i].count, (unsigned char *)end);
            end += npy_pair_bytes;
        } else {
            end = write_line(end, &pairs[i], format);
        }
    }
    return (size_t)(end - text);
}

/* Where an export has come to, and the arrays it goes through. */
struct exporter {
    uint64_t cursor;
    uint64_t keys_left;
    uint64_t values[part_pairs];
    uint64_t keys8[part_pairs];
    uint32_t keys4[part_pairs];
};

/* Puts the next pairs, at most part_pairs, into `pairs`; answers how many, 0 at the end. */
static uint64_t next_part(bh_table *table, const struct result_format *format,
                          struct exporter *exporter, struct pair *pairs,
                          const struct output *output)
{
    uint64_t count = 0;
    bool is_narrow = format->key_bytes == 4;
    void *keys = is_narrow ? (void *)exporter->keys4 : (void *)exporter->keys8;

    if (bh_export(table, &exporter->cursor, keys, exporter->values, part_pairs, &count) != BH_OK)
        fail("%s: the counts cannot be read from the table: %s; please report this", output->path,
             library_error());
    /* The .npy header has promised a number, and the sort has made room for it. */
    if (count > exporter->keys_left || (count == 0 && exporter->keys_left > 0))
        fail("%s: the table gave another number of keys than it said; please report this",
             output->path);
    exporter->keys_left -= count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = is_narrow ? exporter->keys4[i] : exporter->keys8[i];
        if (is_narrow && format->is_signed)
            key = (key ^ 0x80000000) - 0x80000000; /* copies the sign into the higher bits */
        pairs[i] = (struct pair){key, exporter->values[i]};
    }
    return count;
}

/* Sorts by key, as unsigned numbers; `scratch` is as large as `pairs`. Answers which of the two
 * arrays holds the result. */
static struct pair *radix_sort(struct pair *pairs, struct pair *scratch, uint64_t count)
{
    static uint64_t places[8][256]; /* for each byte of the key: how many keys have each value */

    memset(places, 0, sizeof places);
    for (uint64_t i = 0; i < count; i++) {
        for (int byte = 0; byte < 8; byte++)
            places[byte][pairs[i].key >> (8 * byte) & 255]++;
    }
    for (int byte = 0; byte < 8; byte++) {
        uint64_t *place = places[byte];
        uint64_t next = 0;
        if (count == 0 || place[pairs[0].key >> (8 * byte) & 255] == count)
            continue; /* all the same: nothing to order */
        for (int value = 0; value < 256; value++) {
            uint64_t here = place[value];
            place[value] = next;
            next += here;
        }
        for (uint64_t i = 0; i < count; i++)
            scratch[place[pairs[i].key >> (8 * byte) & 255]++] = pairs[i];
        struct pair *sorted = scratch;
        scratch = pairs;
        pairs = sorted;
    }
    return pairs;
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
    const struct pair *sorted; /* the pairs that are left, where they have been sorted; or NULL */
    uint64_t sorted_left;
};

/* What each thread has for itself. */
struct workspace {
    struct pair pairs[part_pairs];
    char text[part_pairs * longest_line];
};

/* Takes the next part: *pairs points at it, which may be in `space`, and *turn is its number.
 * Answers how many pairs it has, 0 at the end. */
static uint64_t take_part(struct writer *writer, struct pair *space, const struct pair **pairs,
                          uint64_t *turn)
{
    uint64_t count;

    pthread_mutex_lock(&writer->lock);
    if (writer->sorted != NULL) {
        count = writer->sorted_left < part_pairs ? writer->sorted_left : part_pairs;
        *pairs = writer->sorted;
        writer->sorted += count;
        writer->sorted_left -= count;
    } else {
        count = next_part(writer->table, writer->format, &writer->exporter, space, writer->output);
        *pairs = space;
    }
    *turn = writer->parts;
    writer->parts += count > 0;
    pthread_mutex_unlock(&writer->lock);
    return count;
}

/* Brings the text of a part into the file. Only where the parts are sorted must one wait for those
 * before it, and then only until they have been turned into text. */
static void write_text(struct writer *writer, uint64_t turn, const char *text, size_t length)
{
    uint64_t place;

    pthread_mutex_lock(&writer->lock);
    while (writer->sorted != NULL && writer->written < turn)
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
    const struct pair *pairs;
    uint64_t turn, count;

    if (space == NULL)
        fail("%s: no memory to write it; free some and try again", writer->output->path);
    while ((count = take_part(writer, space->pairs, &pairs, &turn)) > 0) {
        size_t length = write_pairs(space->text, pairs, count, writer->format);

        write_text(writer, turn, space->text, length);
    }
    free(space);
}

/* All pairs of the table, `keys` in number, in ascending order of keys. Both arrays are to be
 * freed; the pairs are in the first. */
static void sort_pairs(struct writer *writer, uint64_t keys, struct pair **pairs,
                       struct pair **scratch)
{
    uint64_t room = keys + 1; /* malloc(0) may answer NULL */
    uint64_t count = 0, got;

    *pairs = *scratch = NULL;
    if (room <= SIZE_MAX / sizeof **pairs) {
        *pairs = malloc((size_t)room * sizeof **pairs);
        *scratch = malloc((size_t)room * sizeof **scratch);
    }
    if (*pairs == NULL || *scratch == NULL)
        fail("%s: no memory to sort the lines; leave out --sort and sort the file afterwards",
             writer->output->path);
    while ((got = next_part(writer->table, writer->format, &writer->exporter, *pairs + count,
                            writer->output)) > 0)
        count += got;

    /* Of signed keys the highest bit stands for less, not for more. */
    uint64_t flip = writer->format->is_signed ? UINT64_C(1) << 63 : 0;
    for (uint64_t i = 0; i < count; i++)
        (*pairs)[i].key ^= flip;
    struct pair *sorted = radix_sort(*pairs, *scratch, count);
    if (sorted == *scratch) {
        *scratch = *pairs;
        *pairs = sorted;
    }
    for (uint64_t i = 0; i < count; i++)
        sorted[i].key ^= flip;
}

void result_write(bh_table *table, const struct result_format *format, uint32_t threads,
                  struct output *output)
{
    bh_table_stats stats;
    struct pair *pairs = NULL, *scratch = NULL;
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
        npy_pair_header(stats.keys, header);
        output_write(output, header, sizeof header);
    }
    if (format->is_sorted) {
        sort_pairs(writer, stats.keys, &pairs, &scratch);
        writer->sorted = pairs;
        writer->sorted_left = stats.keys;
    }
    threads_run(threads, write_parts, writer);

    free(pairs);
    free(scratch);
    pthread_cond_destroy(&writer->turn_ended);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
