/*
 * An output file that is there whole or not at all. What is written goes to a temporary file
 * beside the target; output_commit() brings it to the disk and renames it to the target's name. If
 * the program ends before, by fail() or by a signal, the temporary file is removed and a target
 * that was there stays as it was.
 *
 * Only regular files are replaced like that. A pipe or a device is opened and written to. A path
 * that stands for a descriptor of this process ("-", /dev/stdout, /dev/fd/N) is written through
 * that descriptor: whoever opened it chose where in the file writing goes on.
 *
 * A program has one output at a time.
 */
#ifndef BULKHASH_CLI_OUTPUT_H
#define BULKHASH_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct output {
    const char *path; /* as the user wrote it, or "standard output"; for error sentences */
    char *target; /* what will be replaced: `path` with symbolic links followed; NULL: nothing */
    int descriptor;
    uint64_t end; /* where the next bytes go */
};

/* Makes the temporary file, or opens what is not replaced. Call it before long work: what is wrong with the
 * target is found here.
 * `inputs` are the statuses of the files that are read; a target that is one of them is refused.
 * `path` must live as long as the output does. */
void output_open(struct output *output, const char *path, const struct stat *inputs, size_t count);

/* Writes what follows all that was written before. */
void output_write(struct output *output, const char *bytes, size_t count);

/* The same in two steps, for several threads: output_claim() fixes the place of the bytes, one
 * thread at a time; any number may then write theirs at once. A target that is not replaced may be
 * unable to seek, so output_claim() answers false for it, and output_write() is what remains. */
bool output_claim(struct output *output, size_t count, uint64_t *place);
void output_write_at(const struct output *output, uint64_t place, const char *bytes, size_t count);

/* Waits for the disk and gives the file its name. */
void output_commit(struct output *output);

#endif
