/*
 * The reader of integers (see text.h). A block of the file is cut behind its last line end; the
 * beginning of a line that is left over waits in the file until a thread takes the next block. Digits
 * are read eight at a time: a block has bytes behind its end that may be read, and an LF before them,
 * so a line needs no test for the end of the block.
 */
#include "text.h"

#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a thread has in its cache besides a batch of numbers. No integer has so many digits, but for
 * leading zeros. */
enum { block_bytes = 1 << 17, padding_bytes = 8 };

/* --------------------------------------- one number --------------------------------------- */

enum verdict { GOOD, NO_INTEGER, TOO_LARGE };

static uint64_t load_8(const unsigned char *at)
{
    uint64_t bytes = 0;

    for (int i = 0; i < 8; i++) /* one instruction where the machine is little-endian */
        bytes |= (uint64_t)at[i] << (8 * i);
    return bytes;
}

/* Reads up to eight decimal digits; answers how many there are. All eight are looked at in one word,
 * the first in its lowest byte. */
static inline uint32_t read_8_digits(const unsigned char *at, uint32_t *number)
{
    uint64_t values = load_8(at) ^ UINT64_C(0x3030303030303030); /* of digits: 0 to 9 */
    /* The highest bit of each byte that is no digit. What the addition carries goes to bytes behind
     * such a one, and only the first of them counts. */
    uint64_t others =
        ((values + UINT64_C(0x7676767676767676)) | values) & UINT64_C(0x8080808080808080);
    uint32_t count = others != 0 ? (uint32_t)__builtin_ctzll(others) / 8 : 8;

    if (count == 0)
        return 0;
    values <<= 8 * (8 - count); /* leading zeros */
    values = (values * (10 * 0x100 + 1)) >> 8 & UINT64_C(0x00ff00ff00ff00ff);
    values = (values * (100 * 0x10000 + 1)) >> 16 & UINT64_C(0x0000ffff0000ffff);
    values = (values * (UINT64_C(10000) * 0x100000000 + 1)) >> 32;
    *number = (uint32_t)values;
    return count;
}

static const unsigned char *read_decimal(const unsigned char *at, uint64_t *number,
                                         enum verdict *verdict)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    uint32_t part, count = read_8_digits(at, &part);

    if (count == 0) {
        *verdict = NO_INTEGER;
        return at;
    }
    *number = part;
    while (count == 8) {
        at += 8;
        count = read_8_digits(at, &part);
        if (count > 0 && (__builtin_mul_overflow(*number, powers[count], number) ||
                          __builtin_add_overflow(*number, part, number)))
            *verdict = TOO_LARGE;
    }
    return at + count;
}

/* The digits behind "0x". */
static const unsigned char *read_hexadecimal(const unsigned char *at, uint64_t *number,
                                             enum verdict *verdict)
{
    const unsigned char *first = at;

    for (*number = 0;; at++) {
        uint32_t decimal = *at - (uint32_t)'0', letter = (*at | 0x20) - (uint32_t)'a';
        if (decimal > 9 && letter > 5)
            break;
        if (*number >> 60 != 0)
            *verdict = TOO_LARGE;
        *number = *number << 4 | (decimal <= 9 ? decimal : letter + 10);
    }
    if (at == first)
        *verdict = NO_INTEGER;
    return at;
}

/* Reads one line, its end included; answers where the next one begins. */
static inline const unsigned char *read_line(const unsigned char *at, uint64_t *number,
                                             bool *is_negative, enum verdict *verdict)
{
    *verdict = GOOD;
    *is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (*at == '0' && (at[1] | 0x20) == 'x')
        at = read_hexadecimal(at + 2, number, verdict);
    else
        at = read_decimal(at, number, verdict);
    at += at[0] == '\r' && at[1] == '\n';
    if (*at != '\n')
        *verdict = NO_INTEGER;
    else if (*verdict == GOOD && *is_negative && *number > UINT64_C(1) << 63)
        *verdict = TOO_LARGE;
    return at + 1;
}

/* ---------------------------------------- a block ----------------------------------------- */

static _Noreturn void fail_line(const struct text_line *line, const unsigned char *bytes,
                                enum verdict verdict)
{
    char text[41];
    size_t length = 0;

    while (bytes[length] != '\n' && length < sizeof text)
        length++;
    if (length > 0 && bytes[length] == '\n' && bytes[length - 1] == '\r')
        length--;
    const char *more = length == sizeof text ? "..." : "";
    length -= length == sizeof text;
    for (size_t i = 0; i < length; i++)
        text[i] = bytes[i] != '\0' ? (char)bytes[i] : '?';

    if (length == 0)
        fail("%s: line %" PRIu64 " is empty; each line must hold an integer, decimal or 0x",
             line->path, line->number);
    if (verdict == TOO_LARGE)
        fail("%s: line %" PRIu64 ", '%.*s%s', is out of range; integers from "
             "-9223372036854775808 to 18446744073709551615 are counted",
             line->path, line->number, (int)length, text, more);
    fail("%s: line %" PRIu64 ", '%.*s%s', is no integer; each line must hold one, decimal or 0x, "
         "and nothing else",
         line->path, line->number, (int)length, text, more);
}

void text_block_init(struct text_block *block)
{
    memset(block, 0, sizeof *block);
    /* 1: for the LF that the last line of a file may lack. */
    block->bytes = calloc(1, block_bytes + 1 + padding_bytes);
    if (block->bytes == NULL)
        fail("count: no memory to read the files; free some and try again");
}

void text_block_close(struct text_block *block)
{
    free(block->bytes);
}

size_t text_parse(struct text_block *block, uint64_t *numbers, size_t room)
{
    const unsigned char *at = block->bytes + block->begin, *end = block->bytes + block->end;
    bool is_negative;
    enum verdict verdict;
    size_t count = 0;

    while (at < end && count < room) {
        uint64_t number;
        const unsigned char *next = read_line(at, &number, &is_negative, &verdict);

        if (verdict != GOOD) {
            block->line.number += count;
            fail_line(&block->line, at, verdict);
        }
        numbers[count] = is_negative ? 0 - number : number;
        if (numbers[count] >> 63 != 0) { /* below zero, or too large for a signed type */
            struct text_line *seen = is_negative ? &block->seen.negative : &block->seen.large;

            if (seen->path == NULL)
                *seen = (struct text_line){block->line.path, block->line.number + count};
        }
        count++;
        at = next;
    }
    block->line.number += count;
    block->begin = (size_t)(at - block->bytes);
    return count;
}

/* ----------------------------------------- a file ----------------------------------------- */

void text_init(struct text *text)
{
    memset(text, 0, sizeof *text);
}

void text_open(struct text *text, const char *path)
{
    input_open(&text->input, path);
    text->lines = 0;
    text->rest_bytes = 0;
    text->at_end = false;
    text->rest = malloc(block_bytes);
    if (text->rest == NULL)
        fail("%s: no memory to read it; free some and try again", text->input.path);
}

void text_close(struct text *text)
{
    free(text->rest);
    input_close(&text->input);
}

void text_report(struct text *text, struct text_block *block)
{
    struct text_extremes *all = &text->extremes;

    if (all->negative.path == NULL)
        all->negative = block->seen.negative;
    if (all->large.path == NULL)
        all->large = block->seen.large;
    memset(&block->seen, 0, sizeof block->seen);
    if (all->negative.path != NULL && all->large.path != NULL)
        fail("%s: line %" PRIu64 " holds a number above 9223372036854775807, and line %" PRIu64
             " of %s one below zero; no integer type has room for both, count them apart",
             all->large.path, all->large.number, all->negative.number, all->negative.path);
}

/* How many lines end here. Small sums, so that the compiler can make them in many bytes at once. */
static uint64_t count_lines(const unsigned char *bytes, size_t count)
{
    uint64_t lines = 0;

    while (count > 0) {
        size_t part = count < 255 ? count : 255;
        uint8_t found = 0;

        for (size_t i = 0; i < part; i++)
            found = (uint8_t)(found + (bytes[i] == '\n'));
        lines += found;
        bytes += part;
        count -= part;
    }
    return lines;
}

/* Where the last line ends: behind its LF; 0: there is none. */
static size_t last_end(const unsigned char *bytes, size_t count)
{
    while (count > 0 && bytes[count - 1] != '\n')
        count--;
    return count;
}

bool text_take(struct text *text, struct text_block *block)
{
    unsigned char *bytes = block->bytes;
    size_t filled = text->rest_bytes, got, end;

    if (text->at_end)
        return false;
    memcpy(bytes, text->rest, filled);
    block->line = (struct text_line){text->input.path, text->lines + 1};
    do { /* until a line ends */
        if (filled == block_bytes)
            fail_line(&block->line, bytes, NO_INTEGER);
        got = input_read(&text->input, bytes + filled, block_bytes - filled);
        end = last_end(bytes + filled, got);
        end += end > 0 ? filled : 0;
        filled += got;
    } while (end == 0 && got > 0);
    text->at_end = got == 0;
    if (text->at_end && filled > 0) { /* the last line, without an end */
        bytes[filled++] = '\n';
        end = filled;
    }
    text->rest_bytes = filled - end;
    memcpy(text->rest, bytes + end, text->rest_bytes);
    text->lines += count_lines(bytes, end);
    block->begin = 0;
    block->end = end;
    return end > 0;
}
