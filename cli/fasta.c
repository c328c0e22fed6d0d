/*
 * The FASTA reader (see fasta.h). It is a walk over a buffer with two flags: whether we stand at
 * the start of a line, where '>' begins a record, and whether we are inside such a header line.
 * Line ends are found with memchr(); nothing is copied.
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
        fail("%s: no memory to read it; free some and try again", path);
    fasta->at_line_start = true;

    do {
        if (fasta->begin == fasta->end && !refill(fasta))
            fail("%s: is empty; a FASTA file begins with '>'", path);
    } while (is_blank(fasta->buffer[fasta->begin]) && ++fasta->begin);

    unsigned char first = fasta->buffer[fasta->begin];
    if (first == '@')
        fail("%s: looks like FASTQ, it begins with '@'; convert it to FASTA, whose records begin "
             "with '>'",
             path);
    if (first != '>' && first > ' ' && first < 0x7f)
        fail("%s: is not FASTA, it begins with '%c' where '>' is expected; name a FASTA file, "
             "plain or gzip",
             path, first);
    if (first != '>')
        fail("%s: is not FASTA, it begins with byte 0x%02x where '>' is expected; name a FASTA "
             "file, plain or gzip",
             path, first);
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

enum fasta_event fasta_next(struct fasta *fasta, const unsigned char **letters, size_t *count)
{
    for (;;) {
        if (fasta->begin == fasta->end && !refill(fasta))
            return FASTA_END;

        const unsigned char *bytes = fasta->buffer + fasta->begin;
        if (fasta->at_line_start && *bytes == '>') {
            fasta->begin++;
            fasta->at_line_start = false;
            fasta->in_header = true;
            fasta->record++;
            fasta->name_length = 0;
            fasta->name_complete = false;
            return FASTA_RECORD;
        }

        size_t length = line_length(fasta);
        if (length == 0) { /* the line end itself; CR LF is a line end and an empty line */
            fasta->begin++;
            fasta->at_line_start = true;
            fasta->in_header = false;
            continue;
        }
        fasta->begin += length;
        fasta->at_line_start = false;
        if (!fasta->in_header) {
            *letters = bytes;
            *count = length;
            return FASTA_LETTERS;
        }
        add_to_name(fasta, bytes, length);
    }
}

_Noreturn void fasta_fail_byte(const struct fasta *fasta, unsigned char byte)
{
    fail("%s: is not FASTA or is damaged, record %" PRIu64
         " ('%s') holds byte 0x%02x among its letters; fetch or make the file again",
         fasta->input.path, fasta->record, fasta->name, byte);
}

void fasta_close(struct fasta *fasta)
{
    free(fasta->buffer);
    input_close(&fasta->input);
}
