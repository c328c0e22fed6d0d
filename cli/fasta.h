/*
 * Reads FASTA and FASTQ; the first letter of a file says which it is.
 *
 *     FASTA   >name comment        FASTQ   @name comment
 *             ACGTACGT                     ACGTACGT
 *             ACGT                         +            and anything
 *                                          IIIIIIII     a quality for each letter
 *
 * Letters and qualities of a FASTQ record may have several lines. Where the letters have one line the
 * qualities have one too: a record that lacks some is refused at the end of that line. A blank counts as a
 * letter, or as a quality.
 * The caller gets a file of any size in order, a piece of a line at a time, and never holds a
 * whole record: chromosomes of several thousand million letters need no more memory than a short
 * read. Lines may end in LF, CR LF or CR, and the last one may have no end.
 */
#ifndef BULKHASH_CLI_FASTA_H
#define BULKHASH_CLI_FASTA_H

#include "input.h"

enum fasta_event {
    FASTA_END,
    FASTA_RECORD, /* a new record begins: what follows does not join what came before */
    FASTA_LETTERS /* some letters of the record, in the order of the file */
};

/* Which line of a FASTQ record is being read. */
enum fastq_part { FASTQ_NAME, FASTQ_LETTERS, FASTQ_PLUS, FASTQ_QUALITIES };

struct fasta {
    struct input input;
    unsigned char *buffer;
    size_t begin, end; /* what lies in the buffer and is not used yet */
    size_t line_feed;  /* the first LF from `begin` on, or `end`; not known while <= `begin` */
    bool at_line_start;
    bool in_header;
    uint64_t record; /* number of the record, from 1 */
    char name[40];   /* its name, or the beginning of it: for error sentences */
    size_t name_length;
    bool name_complete;
    bool is_fastq;
    bool at_end;
    enum fastq_part part;
    uint64_t letters, qualities, lines; /* of the record so far; lines of letters */
};

/* Opens the file and looks at its beginning; what is neither FASTA nor FASTQ ends here. */
void fasta_open(struct fasta *fasta, const char *path);

/* Goes on in the file. With FASTA_LETTERS, *letters points at *count bytes that are valid until the
 * next call. They are as the file has them: lower case, blanks and anything else included. */
enum fasta_event fasta_next(struct fasta *fasta, const unsigned char **letters, size_t *count);

/* Ends the program because of a byte among the letters that no sequence can have. */
_Noreturn void fasta_fail_byte(const struct fasta *fasta, unsigned char byte);

void fasta_close(struct fasta *fasta);

#endif
