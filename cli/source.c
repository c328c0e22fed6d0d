/* Reads keys from files of each kind (see source.h). */
#define _POSIX_C_SOURCE 200809L

#include "source.h"

#include "error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------ files ----------------------------------------- */

static struct input *input_of(struct source *source)
{
    switch (source->kind) {
    case SOURCE_KMERS: return &source->fasta.input;
    case SOURCE_ARRAY: return &source->npy.input;
    case SOURCE_TEXT: break;
    }
    return &source->text.input;
}

struct stat *source_look(struct source *source, char **files, int count)
{
    struct stat *status = calloc((size_t)count, sizeof *status);
    bool is_known = true, has_standard = false;

    memset(source, 0, sizeof *source);
    if (status == NULL)
        fail("%s: no memory to count it; free some and try again", files[0]);
    for (int i = 0; i < count; i++) {
        const char *file = files[i];
        bool is_standard = strcmp(file, "-") == 0;

        if (is_standard && has_standard)
            fail_usage("-: standard input can be read once, and it was named twice");
        has_standard |= is_standard;
        if ((is_standard ? fstat(STDIN_FILENO, &status[i]) : stat(file, &status[i])) != 0)
            fail("%s: cannot be opened: %s", file, strerror(errno));
        if (S_ISDIR(status[i].st_mode))
            fail("%s: is a folder; name a file in it", file);
        if (!is_standard && access(file, R_OK) != 0)
            fail("%s: cannot be opened: %s", file, strerror(errno));
        is_known &= S_ISREG(status[i].st_mode);
        source->size += S_ISREG(status[i].st_mode) ? (uint64_t)status[i].st_size : 0;
    }
    source->size = is_known ? source->size : 0;
    source->files = files;
    source->files_left = count;
    pthread_mutex_init(&source->lock, NULL);
    return status;
}

/* Opens the next file. */
static void open_file(struct source *source)
{
    const char *path = *source->files++;

    source->files_left--;
    switch (source->kind) {
    case SOURCE_KMERS: fasta_open(&source->fasta, path); break;
    case SOURCE_ARRAY: npy_open(&source->npy, path); break;
    case SOURCE_TEXT: text_open(&source->text, path);
    }
    source->path = input_of(source)->path;
}

static void close_file(struct source *source)
{
    switch (source->kind) {
    case SOURCE_KMERS: fasta_close(&source->fasta); break;
    case SOURCE_ARRAY: npy_close(&source->npy); break;
    case SOURCE_TEXT: text_close(&source->text);
    }
}

/* Goes on with the next file; answers whether there is one. */
static bool open_next(struct source *source)
{
    if (source->files_left == 0)
        return false;
    source->bytes_before += input_of(source)->position;
    close_file(source);
    open_file(source);
    return true;
}

void source_open_kmers(struct source *source, uint32_t k, bool canonical)
{
    source->kind = SOURCE_KMERS;
    source->noun = "k-mers";
    kmers_init(&source->kmers, k, canonical);
    source->key_bytes = source->kmers.key_bytes;
    open_file(source);
}

void source_open_array(struct source *source)
{
    source->kind = SOURCE_ARRAY;
    source->noun = "values";
    open_file(source);
    source->key_bytes = source->npy.key_bytes;
}

void source_open_text(struct source *source)
{
    source->kind = SOURCE_TEXT;
    source->noun = "values";
    source->key_bytes = 8;
    text_init(&source->text);
    open_file(source);
}

void source_close(struct source *source)
{
    close_file(source);
    pthread_mutex_destroy(&source->lock);
}

/* ----------------------------------------- reading ---------------------------------------- */

void source_reader_open(struct source_reader *reader, struct source *source)
{
    memset(reader, 0, sizeof *reader);
    reader->source = source;
    if (source->kind == SOURCE_TEXT)
        text_block_init(&reader->block);
}

void source_reader_close(struct source_reader *reader)
{
    struct source *source = reader->source;

    if (source->kind != SOURCE_TEXT)
        return;
    pthread_mutex_lock(&source->lock);
    text_report(&source->text, &reader->block);
    pthread_mutex_unlock(&source->lock);
    text_block_close(&reader->block);
}

/* Makes up to `room` k-mers from the letters of the file; fewer only at its end. */
static size_t read_kmers(struct source *source, unsigned char *keys, size_t room)
{
    size_t found = 0;

    while (found < room) {
        if (source->letter_count == 0) {
            switch (fasta_next(&source->fasta, &source->letters, &source->letter_count)) {
            case FASTA_END:
                if (!open_next(source))
                    return found;
                break;
            case FASTA_RECORD: kmers_restart(&source->kmers); break;
            case FASTA_LETTERS: break;
            }
            continue;
        }
        size_t part = room - found; /* as no letter makes more than one */
        if (part > source->letter_count)
            part = source->letter_count;
        int bad;
        found += kmers_scan(&source->kmers, source->letters, part, keys + found * source->key_bytes,
                            &bad);
        if (bad >= 0)
            fasta_fail_byte(&source->fasta, (unsigned char)bad);
        source->letters += part;
        source->letter_count -= part;
    }
    return found;
}

/* Under the lock. */
static size_t read_in_order(struct source *source, void *keys, size_t room)
{
    size_t count = 0;

    if (!source->at_end && source->kind == SOURCE_KMERS)
        count = read_kmers(source, keys, room);
    else if (!source->at_end)
        count = npy_read(&source->npy, keys, room);
    source->at_end = count == 0;
    source->keys += count;
    return count;
}

/* Under the lock: lines for the reader. False at the end of the last file. */
static bool take_lines(struct source *source, struct text_block *block)
{
    bool taken;

    text_report(&source->text, block);
    if (source->at_end)
        return false;
    uint64_t before = source->text.lines;
    while (!(taken = text_take(&source->text, block)) && open_next(source))
        before = 0;
    source->at_end = !taken;
    source->keys += source->text.lines - before; /* a line holds a key, or ends the program */
    return taken;
}

static size_t read_text(struct source_reader *reader, uint64_t *keys, size_t room)
{
    struct source *source = reader->source;
    size_t found = 0;

    while (found < room) {
        size_t count = text_parse(&reader->block, keys + found, room - found);

        found += count;
        if (count > 0)
            continue;
        pthread_mutex_lock(&source->lock);
        bool taken = take_lines(source, &reader->block);
        pthread_mutex_unlock(&source->lock);
        if (!taken)
            break;
    }
    return found;
}

size_t source_read(struct source_reader *reader, void *keys, size_t room)
{
    struct source *source = reader->source;

    if (source->kind == SOURCE_TEXT)
        return read_text(reader, keys, room);
    pthread_mutex_lock(&source->lock);
    size_t count = read_in_order(source, keys, room);
    pthread_mutex_unlock(&source->lock);
    return count;
}

size_t source_read_taken(struct source_reader *reader, void *keys, size_t room)
{
    return reader->source->kind == SOURCE_TEXT ? text_parse(&reader->block, keys, room) : 0;
}

/* ------------------------------------- what is known -------------------------------------- */

const char *source_path(struct source *source)
{
    /* Without the lock: who holds it may wait for a pipe, and whoever asks has an error to tell. */
    return source->path;
}

uint64_t source_position(struct source *source)
{
    pthread_mutex_lock(&source->lock);
    uint64_t bytes = source->bytes_before + input_of(source)->position;
    pthread_mutex_unlock(&source->lock);
    return bytes;
}

/* Under the lock. */
static uint64_t expected_lines(struct source *source)
{
    const struct input *input = &source->text.input;
    uint64_t used = source->bytes_before + input->position - input->stream.avail_in;

    if (source->at_end)
        return source->keys;
    return used == 0 ? 0 : (uint64_t)((double)source->keys * (double)source->size / (double)used);
}

uint64_t source_expected(struct source *source)
{
    uint64_t expected = 0;

    pthread_mutex_lock(&source->lock);
    switch (source->kind) {
    /* As there are four letters, gzip packs four into a byte, and seldom finds more to save. */
    case SOURCE_KMERS: expected = source->size * (source->fasta.input.is_gzip ? 4 : 1); break;
    case SOURCE_ARRAY: expected = source->npy.items; break;
    case SOURCE_TEXT: expected = expected_lines(source);
    }
    pthread_mutex_unlock(&source->lock);
    return expected;
}

bool source_sample(struct source *source, void *keys, size_t count)
{
    return source->kind == SOURCE_ARRAY && npy_sample(&source->npy, keys, count);
}

bool source_is_fastq(struct source *source)
{
    if (source->kind != SOURCE_KMERS)
        return false;
    pthread_mutex_lock(&source->lock);
    bool is_fastq = source->fasta.is_fastq;
    pthread_mutex_unlock(&source->lock);
    return is_fastq;
}

bool source_is_signed(const struct source *source)
{
    switch (source->kind) {
    case SOURCE_KMERS: return false;
    case SOURCE_ARRAY: return source->npy.is_signed;
    case SOURCE_TEXT: break;
    }
    return source->text.extremes.negative.path != NULL;
}
