/*
 * Writes the result (see result.h). The table is exported part by part, each part is widened to
 * pairs of 64-bit key and count and written from there. Only sorting needs all pairs in memory at
 * once, twice: it is a radix sort, eight passes of one byte each, of which the ones are left out
 * where all keys have the same byte.
 */
#include "result.h"

#include "error.h"
#include "kmers.h"
#include "npy.h"

#include <stdlib.h>
#include <string.h>

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

static void write_line(const struct pair *pair, const struct result_format *format,
                       struct output *output)
{
    char *line = output_room(output, longest_line);
    char *end = line;

    if (format->k > 0) {
        kmers_decode(pair->key, format->k, end);
        end += format->k;
    } else if (format->is_signed && pair->key >> 63) {
        *end++ = '-';
        end = write_decimal(end, 0 - pair->key);
    } else {
        end = write_decimal(end, pair->key);
    }
    *end++ = '\t';
    end = write_decimal(end, pair->count);
    *end++ = '\n';
    output_wrote(output, (size_t)(end - line));
}

static void write_pairs(const struct pair *pairs, uint64_t count,
                        const struct result_format *format, struct output *output)
{
    for (uint64_t i = 0; i < count; i++) {
        if (format->is_npy) {
            npy_pair(pairs[i].key, pairs[i].count,
                     (unsigned char *)output_room(output, npy_pair_bytes));
            output_wrote(output, npy_pair_bytes);
        } else {
            write_line(&pairs[i], format, output);
        }
    }
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

/* Writes the pairs as the table gives them. */
static void write_unsorted(bh_table *table, const struct result_format *format,
                           struct exporter *exporter, struct output *output)
{
    struct pair *pairs = malloc(part_pairs * sizeof *pairs);
    uint64_t got;

    if (pairs == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    while ((got = next_part(table, format, exporter, pairs, output)) > 0)
        write_pairs(pairs, got, format, output);
    free(pairs);
}

/* Writes the pairs, `keys` in number, in ascending order of keys. */
static void write_sorted(bh_table *table, uint64_t keys, const struct result_format *format,
                         struct exporter *exporter, struct output *output)
{
    uint64_t room = keys + 1; /* malloc(0) may answer NULL */
    struct pair *pairs = NULL, *scratch = NULL;
    uint64_t count = 0, got;

    if (room <= SIZE_MAX / sizeof *pairs) {
        pairs = malloc((size_t)room * sizeof *pairs);
        scratch = malloc((size_t)room * sizeof *scratch);
    }
    if (pairs == NULL || scratch == NULL)
        fail("%s: no memory to sort the lines; leave out --sort and sort the file afterwards",
             output->path);
    while ((got = next_part(table, format, exporter, pairs + count, output)) > 0)
        count += got;

    /* Of signed keys the highest bit stands for less, not for more. */
    uint64_t flip = format->is_signed ? UINT64_C(1) << 63 : 0;
    for (uint64_t i = 0; i < count; i++)
        pairs[i].key ^= flip;
    struct pair *sorted = radix_sort(pairs, scratch, count);
    for (uint64_t i = 0; i < count; i++)
        sorted[i].key ^= flip;
    write_pairs(sorted, count, format, output);
    free(pairs);
    free(scratch);
}

void result_write(bh_table *table, const struct result_format *format, struct output *output)
{
    bh_table_stats stats;
    struct exporter *exporter = malloc(sizeof *exporter);

    if (exporter == NULL)
        fail("%s: no memory to write it; free some and try again", output->path);
    exporter->cursor = 0;
    stats.struct_size = sizeof stats;
    if (bh_table_get_stats(table, &stats) != BH_OK)
        fail("%s: the table cannot be asked for its size: %s; please report this", output->path,
             library_error());
    exporter->keys_left = stats.keys;

    if (format->is_npy) {
        npy_pair_header(stats.keys, output_room(output, npy_pair_header_bytes));
        output_wrote(output, npy_pair_header_bytes);
    }
    if (format->is_sorted)
        write_sorted(table, stats.keys, format, exporter, output);
    else
        write_unsorted(table, format, exporter, output);
    free(exporter);
}
