/*
 * Where the keys of a count come from: files of one kind, read one behind the other as a single row of
 * keys. Three kinds: FASTA and FASTQ files, whose k-mers are the keys (fasta.h, kmers.h); one NumPy
 * array (npy.h); text with an integer in each line (text.h).
 *
 * Any number of threads read from a source at once, each with a reader of its own. What must be done in
 * order is done under the source's lock: reading, decompressing, making k-mers. Text is parsed by all of
 * them at once.
 */
#ifndef BULKHASH_CLI_SOURCE_H
#define BULKHASH_CLI_SOURCE_H

#include "fasta.h"
#include "kmers.h"
#include "npy.h"
#include "text.h"

#include <pthread.h>
#include <sys/stat.h>

enum source_kind { SOURCE_KMERS, SOURCE_ARRAY, SOURCE_TEXT };

struct source {
    enum source_kind kind;
    const char *noun;   /* what its keys are: "k-mers" */
    uint32_t key_bytes; /* of a key in memory, 4 or 8 */
    uint64_t size;      /* bytes of all files; 0: not known */

    _Atomic(const char *) path; /* of the file that is being read */

    pthread_mutex_t lock;  /* of all that follows */
    char **files;          /* those that have not been opened, */
    int files_left;        /* and their number */
    uint64_t bytes_before; /* in files that have been read to their end */
    uint64_t keys;         /* that have been read */
    bool at_end;
    struct fasta fasta;
    struct kmers kmers;
    const unsigned char *letters; /* of the FASTA file, of which no k-mer has been made yet */
    size_t letter_count;
    struct npy npy;
    struct text text;
};

/* What a thread needs of its own. */
struct source_reader {
    struct source *source;
    struct text_block block;
};

/* Looks at the files before the first is opened: that all can be read, and how large they are
 * together, which goes to source->size. Answers their statuses, by which output_open() knows them; the
 * caller frees them. */
struct stat *source_look(struct source *source, char **files, int count);

/* One of these follows: they open the first file that source_look() has seen. `k` and `canonical` as
 * for kmers_init(). */
void source_open_kmers(struct source *source, uint32_t k, bool canonical);
void source_open_array(struct source *source);
void source_open_text(struct source *source);

/* The name of the file that is being read, for error sentences. */
const char *source_path(struct source *source);

/* How many bytes of all files have been read. */
uint64_t source_position(struct source *source);

/* Makes a reader. */
void source_reader_open(struct source_reader *reader, struct source *source);
void source_reader_close(struct source_reader *reader);

/* Reads up to `room` (> 0) keys of source->key_bytes each; answers how many, 0 only at the end of the last
 * file. What is wrong with a file ends the program. */
size_t source_read(struct source_reader *reader, void *keys, size_t room);

/* The same of what the reader has taken from a file already: 0 does not mean that the file has ended. A
 * reader that will not read to the end must be emptied so. */
size_t source_read_taken(struct source_reader *reader, void *keys, size_t room);

/* How many keys there are in all, those read included: of an array the number, of text an estimate from
 * what has been read, of sequences the number of letters at most. 0: not known. */
uint64_t source_expected(struct source *source);

/* Copies `count` keys from all over the files into `keys`, without reading on; answers whether that is
 * possible: of an array in a plain file that has as many. */
bool source_sample(struct source *source, void *keys, size_t count);

/* Whether the file that is being read is FASTQ. */
bool source_is_fastq(struct source *source);

/* Whether keys may be below zero: in an array by its type, in text where one was read. */
bool source_is_signed(const struct source *source);

void source_close(struct source *source);

#endif
