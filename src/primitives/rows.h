/*
 * Rows: a key and its payload side by side, as partition and sort keep them in memory of their own
 * while they are in the cache, so that a row is moved by one store and lies in one line. In the
 * arrays of the interface keys and payloads lie apart: this file makes rows of them and takes rows apart.
 *
 *     8 bytes     payload << 32 | key     where both have 4 bytes, or there is no payload
 *     16 bytes    key, payload            else
 */
#ifndef BH_PRIMITIVES_ROWS_H
#define BH_PRIMITIVES_ROWS_H

#include "primitives/columns.h"

typedef struct bh_row {
    uint64_t key;
    uint64_t payload;
} bh_row;

BH_FN uint32_t bh_row_bytes(uint32_t key_bytes, uint32_t payload_bytes)
{
    return key_bytes + payload_bytes <= 8 ? 8 : 16;
}

BH_FN bh_row bh_row_load(const void *rows, uint64_t i, const uint32_t row_bytes)
{
    bh_row row = {0, 0};

    if (row_bytes == 16)
        return ((const bh_row *)rows)[i];
    row.key = ((const uint64_t *)rows)[i];
    return row;
}

BH_FN void bh_row_store(void *rows, uint64_t i, bh_row row, const uint32_t row_bytes)
{
    if (row_bytes == 16)
        ((bh_row *)rows)[i] = row;
    else
        ((uint64_t *)rows)[i] = row.key;
}

/* The row of a key and a payload; payload_bytes 0: there is none. */
BH_FN bh_row bh_row_of(uint64_t key, uint64_t payload, const uint32_t row_bytes,
                       const uint32_t payload_bytes)
{
    bh_row row = {key, 0};

    if (row_bytes == 16)
        row.payload = payload;
    else if (payload_bytes)
        row.key |= payload << 32;
    return row;
}

/* The key (column 0) or the payload (column 1) of a row. */
BH_FN uint64_t bh_row_word(const void *rows, uint64_t i, const uint32_t column,
                           const uint32_t row_bytes)
{
    const uint64_t *words = (const uint64_t *)rows;

    return row_bytes == 16 ? words[2 * i + column] : words[i] >> (column ? 32 : 0);
}

/* Writes rows [from, to) of one column, of `bytes` bytes a word, to where they belong after `out`,
 * the place of row 0. */
BH_FN void bh_rows_out(void *out, const void *rows, uint64_t from, uint64_t to,
                       const uint32_t column, const uint32_t bytes, const uint32_t row_bytes)
{
    uint64_t i;

    for (i = from; i < to; i++)
        bh_element_set(out, bytes, i, bh_row_word(rows, i, column, row_bytes));
}

/* Writes rows that fill one line of the column to the line `out`. */
BH_FN void bh_rows_line_out(void *out, const void *rows, int stream, const uint32_t column,
                            const uint32_t bytes, const uint32_t row_bytes)
{
    union {
        uint64_t eights[8];
        uint32_t fours[16];
    } __attribute__((aligned(64))) line;
    uint32_t i;

    for (i = 0; i < 64 / bytes; i++)
        if (bytes == 8)
            line.eights[i % 8] = bh_row_word(rows, i, column, row_bytes);
        else
            line.fours[i] = (uint32_t)bh_row_word(rows, i, column, row_bytes);
    if (stream)
        bh_line_stream(out, &line);
    else
        memcpy(out, &line, 64);
}

/* Writes one column of n rows to an array, which may begin anywhere. */
BH_FN void bh_rows_column_out(void *out, const void *rows, uint64_t n, int stream,
                              const uint32_t column, const uint32_t bytes, const uint32_t row_bytes)
{
    uint64_t i = 0;

    if (stream) {
        i = ((0 - (uint64_t)(uintptr_t)out) & 63) / bytes;
        i = i < n ? i : n;
        bh_rows_out(out, rows, 0, i, column, bytes, row_bytes);
        for (; n - i >= 64 / bytes; i += 64 / bytes)
            bh_rows_line_out((char *)out + i * bytes, (const char *)rows + i * row_bytes, 1, column,
                             bytes, row_bytes);
    }
    bh_rows_out(out, rows, i, n, column, bytes, row_bytes);
}

#endif
