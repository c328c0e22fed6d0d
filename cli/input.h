/*
 * An input file as a stream of bytes: a plain file as it is, a gzip file decompressed on the way.
 * Which of the two it is, its first two bytes say. All that can go wrong with the file itself
 * (missing, a folder, a read error, gzip data that is damaged or cut short) ends the program here
 * with a sentence, so the readers above (fasta.h, npy.h) see only good bytes and the end.
 */
#ifndef BULKHASH_CLI_INPUT_H
#define BULKHASH_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <zlib.h>

struct input {
    const char *path;
    int descriptor;
    uint64_t size;     /* of the file; 0: not known (a pipe) */
    uint64_t position; /* bytes of the file read so far */
    bool is_gzip;
    bool in_member;     /* between the beginning and the end of one gzip member */
    z_stream stream;    /* next_in, avail_in: bytes read and not used yet, of plain files too */
    unsigned char *raw; /* what stream.next_in points into */
};

/* Opens the file, or standard input for "-"; `path` must live as long as the input does. */
void input_open(struct input *input, const char *path);

/* Reads up to `room` (> 0) bytes and answers how many; 0 only at the end of the file. */
size_t input_read(struct input *input, void *buffer, size_t room);

/* The same, but fewer than `room` only at the end of the file. */
size_t input_read_all(struct input *input, void *buffer, size_t room);

void input_close(struct input *input);

#endif
