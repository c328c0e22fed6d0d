/*
 * The reader of FASTA and FASTQ (see fasta.h). It is a walk over a buffer with two flags:
 * whether we stand at the start of a line, where '>' begins a record, and whether we are inside such a
 * header line. Of FASTQ it also knows which of a record's lines it is in. Line ends are found with
 * memchr(); nothing is copied.
 */
#include "fasta.h"

#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { buffer_bytes = 1 << 17 };

static bool refill(struct fasta *fasta)
{
    fasta->begin = 0;
    fasta->line_feed = 0;
    fasta->end = input_read(&fasta->input, fasta->buffer, buffer_bytes);
    return fasta->end > 0;
}

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

void fasta_open(struct fasta *fasta, const char *path)
{
    memset(fasta, 0, sizeof *fasta);
    input_open(&fasta->input, path);
    fasta->buffer = malloc(buffer_bytes);
    if (fasta->buffer == NULL)
        fail("%s: no memory to read it; free some and try again", fasta->input.path);
    fasta->at_line_start = true;

    do {
        if (fasta->begin == fasta->end && !refill(fasta))
            fail("%s: is empty; a FASTA file begins with '>', a FASTQ file with '@'",
                 fasta->input.path);
    } while (is_blank(fasta->buffer[fasta->begin]) && ++fasta->begin);

    unsigned char first = fasta->buffer[fasta->begin];
    fasta->is_fastq = first == '@';
    if (first == '>' || first == '@')
        return;
    if (first > ' ' && first < 0x7f)
        fail("%s: is neither FASTA nor FASTQ, it begins with '%c' where '>' or '@' is expected; "
             "name such a file, plain or gzip",
             fasta->input.path, first);
    fail("%s: is neither FASTA nor FASTQ, it begins with byte 0x%02x where '>' or '@' is expected; "
         "name such a file, plain or gzip",
         fasta->input.path, first);
}

/* Where the first `byte` from `first` on, before `last`, stands in the buffer; `last`: nowhere. */
static size_t find_byte(const struct fasta *fasta, int byte, size_t first, size_t last)
{
    const unsigned char *found = memchr(fasta->buffer + first, byte, last - first);
    return found != NULL ? (size_t)(found - fasta->buffer) : last;
}

/* How many bytes come before the end of the line. The place of the next LF is kept until it is
 * passed: a search for it at every line would go through the rest of the buffer each time where
 * lines end in CR alone. */
static size_t line_length(struct fasta *fasta)
{
    if (fasta->line_feed <= fasta->begin)
        fasta->line_feed = find_byte(fasta, '\n', fasta->begin, fasta->end);
    return find_byte(fasta, '\r', fasta->begin, fasta->line_feed) - fasta->begin;
}

/* Keeps the first word of a header line, which may come in several pieces. */
static void add_to_name(struct fasta *fasta, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count && !fasta->name_complete; i++) {
        if (is_blank(bytes[i]) || fasta->name_length == sizeof fasta->name - 1)
            fasta->name_complete = true;
        else
            fasta->name[fasta->name_length++] = (char)bytes[i];
    }
    fasta->name[fasta->name_length] = '\0';
}

/* A FASTQ record that cannot be right: what it `is`. */
static _Noreturn void fail_record(const struct fasta *fasta, const char *is)
{
    fail("%s: record %" PRIu64 " ('%s') %s, after %" PRIu64 " letters and %" PRIu64
         " qualities; fetch or make the file again",
         fasta->input.path, fasta->record, fasta->name, is, fasta->letters, fasta->qualities);
}

static bool is_whole(const struct fasta *fasta)
{
    return fasta->record == 0 ||
           (fasta->part == FASTQ_QUALITIES && fasta->qualities == fasta->letters);
}

/* The first byte of a line of FASTQ. Answers whether a record begins with it. */
static bool begin_fastq_line(struct fasta *fasta, unsigned char byte)
{
    if (is_whole(fasta)) {
        if (byte == '@')
            return true;
        if (!is_blank(byte))
            fail_record(fasta,
                        "has more qualities than letters, or what follows does not begin with '@'");
    } else if (fasta->part == FASTQ_LETTERS && byte == '+') {
        fasta->part = FASTQ_PLUS;
    } else if (fasta->part == FASTQ_LETTERS && (byte == '@' || byte == '>')) {
        fail_record(fasta, "has no line that begins with '+' before another record begins");
    }
    return false;
}

static void end_fastq_line(struct fasta *fasta)
{
    switch (fasta->part) {
    case FASTQ_NAME: fasta->part = FASTQ_LETTERS; break;
    case FASTQ_LETTERS: break;
    case FASTQ_PLUS: fasta->part = FASTQ_QUALITIES; break;
    case FASTQ_QUALITIES:
        /* None at all: the LF behind the CR of the line of the plus ends an empty line. */
        if (fasta->qualities > 0 && fasta->qualities < fasta->letters && fasta->lines == 1)
            fail_record(fasta, "has fewer qualities than letters");
    }
}

/* Some bytes of a line of FASTQ. Answers whether they are letters. */
static bool add_fastq_bytes(struct fasta *fasta, const unsigned char *bytes, size_t count,
                            bool begins_line)
{
    switch (fasta->part) {
    case FASTQ_NAME: add_to_name(fasta, bytes, count); return false;
    case FASTQ_LETTERS:
        fasta->letters += count;
        fasta->lines += begins_line;
        return true;
    case FASTQ_PLUS: return false;
    case FASTQ_QUALITIES: break;
    }
    if (!is_whole(fasta) || !is_blank(*bytes)) /* blanks may follow a record */
        fasta->qualities += count;
    if (fasta->qualities > fasta->letters)
        fail_record(fasta, "has more qualities than letters");
    return false;
}

static void begin_record(struct fasta *fasta)
{
    fasta->begin++;
    fasta->at_line_start = false;
    fasta->in_header = true;
    fasta->part = FASTQ_NAME;
    fasta->letters = fasta->qualities = fasta->lines = 0;
    fasta->record++;
    fasta->name_length = 0;
    fasta->name[0] = '\0';
    fasta->name_complete = false;
}

enum fasta_event fasta_next(struct fasta *fasta, const unsigned char **letters, size_t *count)
{
    for (;;) {
        if (fasta->at_end || (fasta->begin == fasta->end && !refill(fasta))) {
            fasta->at_end = true;
            if (fasta->is_fastq && !is_whole(fasta))
                fail_record(fasta, "is cut short by the end of the file");
            return FASTA_END;
        }

        const unsigned char *bytes = fasta->buffer + fasta->begin;
        if (fasta->at_line_start &&
            (fasta->is_fastq ? begin_fastq_line(fasta, *bytes) : *bytes == '>')) {
            begin_record(fasta);
            return FASTA_RECORD;
        }

        size_t length = line_length(fasta);
        if (length == 0) { /* the line end itself; CR LF is a line end and an empty line */
            fasta->begin++;
            if (fasta->is_fastq)
                end_fastq_line(fasta);
            fasta->at_line_start = true;
            fasta->in_header = false;
            continue;
        }
        bool is_letters = !fasta->in_header;
        if (fasta->is_fastq)
            is_letters = add_fastq_bytes(fasta, bytes, length, fasta->at_line_start);
        else if (!is_letters)
            add_to_name(fasta, bytes, length);
        fasta->begin += length;
        fasta->at_line_start = false;
        if (is_letters) {
            *letters = bytes;
            *count = length;
            return FASTA_LETTERS;
        }
    }
}

_Noreturn void fasta_fail_byte(const struct fasta *fasta, unsigned char byte)
{
    fail("%s: is not %s or is damaged, record %" PRIu64
         " ('%s') holds byte 0x%02x among its letters; fetch or make the file again",
         fasta->input.path, fasta->is_fastq ? "FASTQ" : "FASTA", fasta->record, fasta->name, byte);
}

void fasta_close(struct fasta *fasta)
{
    free(fasta->buffer);
    input_close(&fasta->input);
}
