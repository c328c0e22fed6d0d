/*
 * Reads integers that are written as text, one in a line:
 *
 *     17          decimal, with a sign or without
 *     -4
 *     +0x1F       hexadecimal, likewise; digits and the x in either case
 *
 * Each line is exactly that, of up to 131,071 bytes, from -2^63 to 2^64 - 1. Lines end in LF or CR LF,
 * and the last one may have no end. Everything else, blanks and empty lines included, ends the program
 * with the number of the line: what is skipped without a word would be missing from the counts.
 *
 * The work is divided so that several threads share it. text_take() gives a thread the next lines of
 * the file, one thread at a time; text_parse() turns them into numbers and needs no lock.
 */
#ifndef BULKHASH_CLI_TEXT_H
#define BULKHASH_CLI_TEXT_H

#include "input.h"

/* Where a number of some kind stands. */
struct text_line {
    const char *path; /* NULL: there is none */
    uint64_t number;  /* from 1 */
};

/* Numbers below zero and numbers above 2^63 - 1: both may be counted, but not together, because no
 * integer type of 64 bits has room for both. */
struct text_extremes {
    struct text_line negative, large;
};

/* A file. */
struct text {
    struct input input;
    uint64_t lines;      /* lines of the file taken so far */
    unsigned char *rest; /* the beginning of a line whose end has not been read, */
    size_t rest_bytes;   /* its length */
    bool at_end;
    struct text_extremes extremes; /* of this file and those before it */
};

/* Some lines of a file, for one thread. */
struct text_block {
    unsigned char *bytes;
    size_t begin, end;         /* lines that have not been parsed; each ends in LF */
    struct text_line line;     /* the one at `begin` */
    struct text_extremes seen; /* in lines that have been parsed and not yet reported to the file */
};

/* Makes `text` ready for its first file. */
void text_init(struct text *text);

/* Opens a file; what was seen in those before it is kept. `path` must live on: lines are named by it. */
void text_open(struct text *text, const char *path);

/* Frees what text_open() has taken. */
void text_close(struct text *text);

/* Makes an empty block. */
void text_block_init(struct text_block *block);

/* Reports what was seen in the block's lines; numbers that cannot be counted together end the program. */
void text_report(struct text *text, struct text_block *block);

/* Puts the next lines into the block, which has been parsed to its end. False at the end of the file. */
bool text_take(struct text *text, struct text_block *block);

/* Parses up to `room` lines; answers how many, 0 at the end of the block. A number below zero becomes
 * its two's complement. A line that is no integer ends the program. */
size_t text_parse(struct text_block *block, uint64_t *numbers, size_t room);

void text_block_close(struct text_block *block);

#endif
