/*
 * The .npy reader and writer (see npy.h). Nothing in the header is believed before it is checked:
 * its length against a limit, its text against the grammar below, the product of the shape for
 * overflow, and all of it against the size of the file.
 *
 *     header  = "{" pair ("," pair)* [","] "}" blanks
 *     pair    = "'descr'" ":" string | "'fortran_order'" ":" ("True" | "False")
 *             | "'shape'" ":" "(" [number ("," number)* [","]] ")"
 *
 * The order of the elements (fortran_order) does not matter for counting.
 */
#define _XOPEN_SOURCE 700

#include "npy.h"

#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The header of an array of integers is about 100 bytes; with 32 dimensions it is under 1,000. */
enum { longest_header = 1 << 16, buffer_bytes = 1 << 17 };

/* Elements of a sample that lie side by side: a page has many, and costs as much as one of them. */
enum { sample_block = 64 };

static const bool little_endian_machine = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Where we are in the text of the header. */
struct reader {
    struct npy *npy;
    const char *at;
};

static _Noreturn void fail_header(const struct npy *npy, const char *what)
{
    fail("%s: its .npy header is damaged, %s; write the array again with numpy.save()",
         npy->input.path, what);
}

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ' || (*reader->at >= '\t' && *reader->at <= '\r'))
        reader->at++;
}

/* Steps over `text` if it comes next, blanks apart. */
static bool accept(struct reader *reader, const char *text)
{
    skip_blanks(reader);
    size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static void expect(struct reader *reader, const char *text)
{
    if (!accept(reader, text)) {
        char what[64];
        snprintf(what, sizeof what, "\"%s\" is missing", text);
        fail_header(reader->npy, what);
    }
}

/* Reads a string in either kind of quotes into `text`; what does not fit is cut off. */
static void read_string(struct reader *reader, char *text, size_t room)
{
    char quote = accept(reader, "'") ? '\'' : '"';
    size_t length = 0;

    if (quote == '"')
        expect(reader, "\"");
    for (; *reader->at != quote; reader->at++) {
        if (*reader->at == '\0')
            fail_header(reader->npy, "a string has no end");
        if (length < room - 1)
            text[length++] = *reader->at;
    }
    reader->at++;
    text[length] = '\0';
}

/* Reads the type of the elements: byte order, kind, bytes, as in '<i8'. */
static void read_type(struct reader *reader)
{
    struct npy *npy = reader->npy;
    const char *path = npy->input.path;
    char type[32];

    if (accept(reader, "["))
        fail("%s: holds structured elements, not integers; save one of its fields as an array",
             path);
    read_string(reader, type, sizeof type);

    bool is_integer = strlen(type) == 3 && strchr("<>|", type[0]) != NULL &&
                      (type[1] == 'i' || type[1] == 'u') && strchr("1248", type[2]) != NULL &&
                      (type[0] != '|' || type[2] == '1');
    if (!is_integer)
        fail("%s: holds elements of type '%s', not integers of 1, 2, 4 or 8 bytes; convert them, "
             "for example with astype('int64')",
             path, type);
    npy->big_endian = type[0] == '>';
    npy->is_signed = type[1] == 'i';
    npy->item_bytes = (uint32_t)(type[2] - '0');
    npy->key_bytes = npy->item_bytes == 8 ? 8 : 4;
}

static uint64_t read_number(struct reader *reader)
{
    uint64_t number = 0;

    skip_blanks(reader);
    if (*reader->at < '0' || *reader->at > '9')
        fail_header(reader->npy, "its shape holds something that is no number");
    for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*reader->at - '0'), &number))
            fail_header(reader->npy, "its shape is larger than any file");
    }
    accept(reader, "L"); /* so ended a long number of Python 2 */
    return number;
}

/* Reads the shape and multiplies it into npy->items; the shape () is one element. */
static void read_shape(struct reader *reader)
{
    uint64_t product = 1;
    bool is_empty = false, overflow = false;

    expect(reader, "(");
    while (!accept(reader, ")")) {
        uint64_t length = read_number(reader);
        is_empty = is_empty || length == 0;
        overflow = __builtin_mul_overflow(product, length, &product) || overflow;
        if (!accept(reader, ",")) {
            expect(reader, ")");
            break;
        }
    }
    if (overflow && !is_empty)
        fail_header(reader->npy, "its shape is larger than any file");
    reader->npy->items = is_empty ? 0 : product;
}

static void read_order(struct reader *reader)
{
    if (!accept(reader, "True"))
        expect(reader, "False");
}

static void read_dictionary(struct npy *npy, const char *text, size_t length)
{
    static const struct {
        const char *key;
        void (*read)(struct reader *);
    } entries[] = {{"descr", read_type}, {"fortran_order", read_order}, {"shape", read_shape}};
    enum { entry_count = sizeof entries / sizeof *entries };
    struct reader reader = {npy, text};
    bool seen[entry_count] = {false};

    expect(&reader, "{");
    while (!accept(&reader, "}")) {
        char key[32];
        read_string(&reader, key, sizeof key);
        expect(&reader, ":");
        size_t i = 0;
        while (i < entry_count && strcmp(key, entries[i].key) != 0)
            i++;
        if (i == entry_count || seen[i])
            fail_header(npy, "it has an entry that does not belong there");
        seen[i] = true;
        entries[i].read(&reader);
        if (!accept(&reader, ",")) {
            expect(&reader, "}");
            break;
        }
    }
    skip_blanks(&reader);
    if (reader.at != text + length)
        fail_header(npy, "something follows its closing brace");
    for (size_t i = 0; i < entry_count; i++) {
        if (!seen[i])
            fail_header(npy, "its type, order or shape is missing");
    }
}

/* Compares what the header says with the size of the file, where that is known: before hours of
 * work rather than after. */
static void check_size(const struct npy *npy, uint64_t header_end)
{
    uint64_t bytes, end;

    if (__builtin_mul_overflow(npy->items, npy->item_bytes, &bytes) ||
        __builtin_add_overflow(bytes, header_end, &end))
        fail_header(npy, "its shape is larger than any file");
    if (npy->input.size == 0 || npy->input.is_gzip)
        return;
    if (npy->input.size < end)
        fail("%s: is cut short, its header promises %" PRIu64 " bytes and it has %" PRIu64
             "; fetch or write it again",
             npy->input.path, end, npy->input.size);
    if (npy->input.size > end)
        fail("%s: goes on after the array, its header promises %" PRIu64
             " bytes and it has %" PRIu64 "; write it again with numpy.save()",
             npy->input.path, end, npy->input.size);
}

void npy_open(struct npy *npy, const char *path)
{
    unsigned char start[12];

    memset(npy, 0, sizeof *npy);
    input_open(&npy->input, path);
    if (input_read_all(&npy->input, start, 8) < 8 || memcmp(start, "\x93NUMPY", 6) != 0)
        fail("%s: is not a .npy file, it does not begin with the bytes 0x93 NUMPY; make it with "
             "numpy.save()",
             path);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        fail("%s: is a .npy file of version %d.%d, and this program reads 1.0, 2.0 and 3.0; write "
             "it again with numpy.save()",
             path, start[6], start[7]);

    /* Version 1 gives the header's length in two bytes, the others in four. */
    size_t length_bytes = start[6] == 1 ? 2 : 4;
    if (input_read_all(&npy->input, start + 8, length_bytes) < length_bytes)
        fail_header(npy, "the file ends in it");
    uint64_t length = start[8] | (uint64_t)start[9] << 8;
    if (length_bytes == 4)
        length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
    uint64_t header_end = 8 + length_bytes + length;
    if (length > longest_header)
        fail_header(npy, "it is longer than that of any array of integers");

    char *text = malloc((size_t)length + 1);
    npy->buffer = malloc(buffer_bytes);
    if (text == NULL || npy->buffer == NULL)
        fail("%s: no memory to read it; free some and try again", path);
    if (input_read_all(&npy->input, text, (size_t)length) < length)
        fail_header(npy, "the file ends in it");
    text[length] = '\0';
    read_dictionary(npy, text, (size_t)length);
    free(text);

    check_size(npy, header_end);
    npy->header_bytes = header_end;
    npy->buffer_items = buffer_bytes / npy->item_bytes;
}

/* Turns elements as they lie in the file into keys. Width and byte order are constants where this
 * is called, so that each loop is compiled for its own. */
static inline __attribute__((always_inline)) void convert(const struct npy *npy,
                                                          const unsigned char *bytes, size_t count,
                                                          void *keys, uint32_t item_bytes,
                                                          bool big_endian)
{
    uint32_t *keys4 = keys;
    uint64_t *keys8 = keys;
    uint64_t sign = npy->is_signed ? UINT64_C(1) << (8 * item_bytes - 1) : 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t item = 0;
        for (uint32_t j = 0; j < item_bytes; j++) {
            uint32_t place = big_endian ? item_bytes - 1 - j : j;
            item |= (uint64_t)bytes[i * item_bytes + j] << (8 * place);
        }
        item = (item ^ sign) - sign; /* copies the sign into all higher bits */
        if (item_bytes == 8)
            keys8[i] = item;
        else
            keys4[i] = (uint32_t)item;
    }
}

static void convert_items(const struct npy *npy, const unsigned char *bytes, size_t count,
                          void *keys)
{
    bool big = npy->big_endian;

    switch (npy->item_bytes) {
    case 1: convert(npy, bytes, count, keys, 1, false); break;
    case 2:
        big ? convert(npy, bytes, count, keys, 2, true)
            : convert(npy, bytes, count, keys, 2, false);
        break;
    case 4:
        big ? convert(npy, bytes, count, keys, 4, true)
            : convert(npy, bytes, count, keys, 4, false);
        break;
    default:
        big ? convert(npy, bytes, count, keys, 8, true)
            : convert(npy, bytes, count, keys, 8, false);
    }
}

/* Whether the elements are keys as they lie in the file. */
static bool needs_no_conversion(const struct npy *npy)
{
    return npy->item_bytes == npy->key_bytes && npy->big_endian != little_endian_machine;
}

/* Reads `count` elements, as they lie in the file. */
static void read_items(struct npy *npy, void *items, size_t count)
{
    size_t got = input_read_all(&npy->input, items, count * npy->item_bytes);

    if (got < count * npy->item_bytes)
        fail("%s: is cut short, it ends before element %" PRIu64 " of %" PRIu64
             "; fetch or write it again",
             npy->input.path, npy->items_read + got / npy->item_bytes + 1, npy->items);
    npy->items_read += count;
}

size_t npy_read(struct npy *npy, void *keys, size_t room)
{
    uint64_t left = npy->items - npy->items_read;
    size_t count = room < left ? room : (size_t)left;

    if (count == 0) {
        if (input_read(&npy->input, npy->buffer, 1) > 0)
            fail("%s: goes on after the %" PRIu64 " elements that its header promises; write it "
                 "again with numpy.save()",
                 npy->input.path, npy->items);
        return 0;
    }
    if (needs_no_conversion(npy)) {
        read_items(npy, keys, count);
        return count;
    }
    for (size_t done = 0, part; done < count; done += part) {
        part = count - done < npy->buffer_items ? count - done : npy->buffer_items;
        read_items(npy, npy->buffer, part);
        convert_items(npy, npy->buffer, part, (char *)keys + done * npy->key_bytes);
    }
    return count;
}

bool npy_sample(struct npy *npy, void *keys, size_t count)
{
    const size_t blocks = count / sample_block, bytes = sample_block * npy->item_bytes;
    const uint64_t stride = blocks > 0 ? npy->items / blocks : 0;
    uint64_t random = 1;

    if (stride < sample_block || npy->input.size == 0 || npy->input.is_gzip)
        return false;
    for (size_t i = 0; i < blocks; i++) {
        /* Somewhere in the i-th stretch: at equal distances one would see one column of a matrix. */
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t item = i * stride + (random >> 32) % (stride - sample_block + 1);
        uint64_t place = npy->header_bytes + item * npy->item_bytes;

        if (pread(npy->input.descriptor, npy->buffer, bytes, (off_t)place) != (ssize_t)bytes)
            return false;
        convert_items(npy, npy->buffer, sample_block,
                      (char *)keys + i * sample_block * npy->key_bytes);
    }
    return true;
}

void npy_close(struct npy *npy)
{
    free(npy->buffer);
    input_close(&npy->input);
}

void npy_pair_header(uint64_t pairs, uint32_t key_bytes, bool is_signed, char *header)
{
    enum { start_bytes = 10 };               /* magic string, version, length */
    char order = key_bytes == 1 ? '|' : '<'; /* a single byte has none */
    char kind = is_signed ? 'i' : 'u';
    int length = npy_pair_header_bytes - start_bytes;

    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)length;
    header[9] = 0;
    /* Blanks fill the header up, so that the elements begin at a multiple of 64 bytes. */
    memset(header + start_bytes, ' ', (size_t)length - 1);
    int written = snprintf(header + start_bytes, (size_t)length,
                           "{'descr': [('key', '%c%c%" PRIu32 "'), ('count', '<u8')], "
                           "'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                           order, kind, key_bytes, pairs);
    header[start_bytes + written] = ' '; /* where snprintf() ended its string */
    header[npy_pair_header_bytes - 1] = '\n';
}

/* Width of the key as a constant, where this is called. */
static inline __attribute__((always_inline)) size_t
copy_pairs(const struct pair *pairs, uint64_t count, uint32_t key_bytes, char *bytes)
{
    char *end = bytes;

    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < key_bytes; j++)
            *end++ = (char)(unsigned char)(pairs[i].key >> (8 * j));
        for (uint32_t j = 0; j < 8; j++)
            *end++ = (char)(unsigned char)(pairs[i].count >> (8 * j));
    }
    return (size_t)(end - bytes);
}

const char *npy_pairs(const struct pair *pairs, uint64_t count, uint32_t key_bytes, char *room,
                      size_t *length)
{
    if (key_bytes == 8 && little_endian_machine) {
        *length = count * sizeof *pairs;
        return (const char *)pairs;
    }
    switch (key_bytes) {
    case 1: *length = copy_pairs(pairs, count, 1, room); break;
    case 2: *length = copy_pairs(pairs, count, 2, room); break;
    case 4: *length = copy_pairs(pairs, count, 4, room); break;
    default: *length = copy_pairs(pairs, count, 8, room);
    }
    return room;
}
