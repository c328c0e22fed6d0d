/*
 * Reads plain and gzip files (see input.h). gzip files are inflated with zlib's inflate() rather
 * than read with its gzread(): gzread() takes everything after a member that does not look like
 * another one for garbage and drops it without a word, so that a damaged second member (many
 * genome files have thousands) would go unseen. Here every byte belongs to a member or is an error.
 */
#define _POSIX_C_SOURCE 200809L

#include "input.h"

#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { raw_bytes = 1 << 17 };

/* Reads up to `room` bytes of the file; answers how many, 0 at its end. */
static size_t read_file(struct input *input, void *bytes, size_t room)
{
    ssize_t got;

    do {
        got = read(input->descriptor, bytes, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        fail("%s: cannot be read at byte %" PRIu64 ": %s", input->path, input->position,
             strerror(errno));
    input->position += (uint64_t)got;
    return (size_t)got;
}

/* Fills input->raw. False at the end of the file. */
static bool refill(struct input *input)
{
    size_t got = read_file(input, input->raw, raw_bytes);

    input->stream.next_in = input->raw;
    input->stream.avail_in = (uInt)got;
    return got > 0;
}

void input_open(struct input *input, const char *path)
{
    memset(input, 0, sizeof *input);
    bool is_standard = strcmp(path, "-") == 0;
    struct stat status;

    if (is_standard)
        path = "standard input";
    input->path = path;
    input->descriptor = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (input->descriptor < 0 || fstat(input->descriptor, &status) != 0)
        fail("%s: cannot be opened: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        fail("%s: is a folder; name a file in it", path);
    if (S_ISREG(status.st_mode))
        input->size = (uint64_t)status.st_size;

    input->raw = malloc(raw_bytes);
    if (input->raw == NULL)
        fail("%s: no memory to read it; free some and try again", path);

    refill(input);
    input->is_gzip = input->stream.avail_in >= 2 && input->raw[0] == 0x1f && input->raw[1] == 0x8b;
    if (input->is_gzip) {
        int window_bits = 15 + 16; /* the largest window; 16: gzip, not zlib's own format */
        if (inflateInit2(&input->stream, window_bits) != Z_OK)
            fail("%s: no memory to decompress it; free some and try again", path);
    }
}

static size_t read_plain(struct input *input, void *buffer, size_t room)
{
    /* What is as large as our buffer needs it no more. */
    if (input->stream.avail_in == 0 && room >= raw_bytes / 2)
        return read_file(input, buffer, room);
    if (input->stream.avail_in == 0 && !refill(input))
        return 0;
    if (room > input->stream.avail_in)
        room = input->stream.avail_in;
    memcpy(buffer, input->stream.next_in, room);
    input->stream.next_in += room;
    input->stream.avail_in -= (uInt)room;
    return room;
}

static size_t read_gzip(struct input *input, void *buffer, size_t room)
{
    z_stream *stream = &input->stream;
    uInt part = room < raw_bytes ? (uInt)room : raw_bytes;

    stream->next_out = buffer;
    stream->avail_out = part;
    while (stream->avail_out > 0) {
        if (stream->avail_in == 0 && !refill(input)) {
            if (input->in_member)
                fail("%s: the gzip data is cut short, it ends at byte %" PRIu64
                     " in the middle of a member; fetch the file again",
                     input->path, input->position);
            break;
        }
        if (!input->in_member) {
            /* Zero bytes pad files that went through tapes or whole-block copies. A member never
             * begins with one. */
            if (*stream->next_in == 0) {
                stream->next_in++;
                stream->avail_in--;
                continue;
            }
            inflateReset(stream);
            input->in_member = true;
        }
        int status = inflate(stream, Z_NO_FLUSH);
        if (status == Z_STREAM_END)
            input->in_member = false;
        else if (status == Z_MEM_ERROR)
            fail("%s: no memory to decompress it; free some and try again", input->path);
        else if (status != Z_OK)
            fail("%s: the gzip data is damaged before byte %" PRIu64 " (%s); fetch the file again",
                 input->path, input->position - stream->avail_in,
                 stream->msg != NULL ? stream->msg : "unknown reason");
    }
    return part - stream->avail_out;
}

size_t input_read(struct input *input, void *buffer, size_t room)
{
    return input->is_gzip ? read_gzip(input, buffer, room) : read_plain(input, buffer, room);
}

size_t input_read_all(struct input *input, void *buffer, size_t room)
{
    unsigned char *bytes = buffer;
    size_t done = 0;

    while (done < room) {
        size_t got = input_read(input, bytes + done, room - done);
        if (got == 0)
            break;
        done += got;
    }
    return done;
}

void input_close(struct input *input)
{
    if (input->is_gzip)
        inflateEnd(&input->stream);
    free(input->raw);
    close(input->descriptor);
}
