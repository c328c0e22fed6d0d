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

struct output {
    const char *path; /* as the user wrote it; for error sentences */
    char *target;     /* what will be replaced: `path` with symbolic links followed; NULL: direct */
    int descriptor;
};

/* Makes the temporary file. Call it before long work: what is wrong with the target is found here.
 * `input` is the status of the file that is being read; a target that is the same file is refused.
 * `path` must live as long as the output does. */
void output_open(struct output *output, const char *path, const struct stat *input);

/* Writes at once: what is written should come in pieces that are worth it. */
void output_write(struct output *output, const char *bytes, size_t count);

/* Waits for the disk and gives the file its name. */
void output_commit(struct output *output);

#endif
