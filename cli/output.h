/*
 * An output file that is there whole or not at all. What is written goes to a temporary file
 * beside the target; output_commit() brings it to the disk and renames it to the target's name. If
 * the program ends before, by fail() or by a signal, the temporary file is removed and a target
 * that was there stays as it was. A target that is no regular file (/dev/stdout, a pipe) cannot be
 * renamed over and is written directly.
 *
 * A program has one output at a time.
 */
#ifndef BULKHASH_CLI_OUTPUT_H
#define BULKHASH_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { output_buffer_bytes = 1 << 20 };

struct output {
    const char *path; /* as the user wrote it; for error sentences */
    char *target;     /* what will be replaced: `path` with symbolic links followed; NULL: direct */
    int descriptor;
    char *buffer;
    size_t used;
};

/* Makes the temporary file. Call it before long work: what is wrong with the target is found here.
 * `input` is the status of the file that is being read; a target that is the same file is refused.
 * `path` must live as long as the output does. */
void output_open(struct output *output, const char *path, const struct stat *input);

void output_flush(struct output *output);

/* A place for up to `bytes` (<= output_buffer_bytes) bytes; output_wrote() says how many of them
 * were written. Inline, as it runs once for every line. */
static inline char *output_room(struct output *output, size_t bytes)
{
    if (output_buffer_bytes - output->used < bytes)
        output_flush(output);
    return output->buffer + output->used;
}

static inline void output_wrote(struct output *output, size_t bytes)
{
    output->used += bytes;
}

/* Writes out what is left, waits for the disk and gives the file its name. */
void output_commit(struct output *output);

#endif
