/*
 * Writes the output file (see output.h). Every step of write, fsync, close and rename is checked: a
 * full disk may show in any of them. The name of the temporary file is kept where the exit handler
 * and the signal handler find it; it is set and cleared with signals held back, so that there is no
 * instant at which the file exists and nobody would remove it.
 */
#define _XOPEN_SOURCE 700

#include "output.h"

#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char temporary_path[PATH_MAX];
static volatile sig_atomic_t temporary_exists;

static void remove_temporary(void)
{
    if (temporary_exists) {
        temporary_exists = 0;
        unlink(temporary_path);
    }
}

/* The signals whose usual effect is to end the program. */
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM};
enum { ending_signal_count = sizeof ending_signals / sizeof *ending_signals };

/* Removes the file and lets the signal end the program as it would have without us. */
static void on_signal(int signal_number)
{
    remove_temporary();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void handle_signals(void)
{
    struct sigaction action, old;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ending_signal_count; i++) {
        /* What the caller had ignored (nohup) stays ignored. */
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending_signals[i], &action, NULL);
    }
    /* A file size limit (ulimit -f) then shows as an error of write(). */
    signal(SIGXFSZ, SIG_IGN);
    atexit(remove_temporary);
}

static void hold_signals(sigset_t *before)
{
    sigset_t held;

    sigemptyset(&held);
    for (int i = 0; i < ending_signal_count; i++)
        sigaddset(&held, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

/* The length of the folder part of a path, its slash included; 0: the current folder. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Makes a file with a name of its own in the target's folder, the only place from where rename()
 * can put it in the target's place in one step. */
static int create_temporary(const char *path, const char *target, mode_t mode)
{
    int descriptor = -1;
    sigset_t before;

    hold_signals(&before);
    for (unsigned attempt = 0; descriptor < 0 && attempt < 1000; attempt++) {
        int length = snprintf(temporary_path, sizeof temporary_path, "%.*s.bulkhash-%ld-%u.tmp",
                              (int)folder_length(target), target, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= sizeof temporary_path) {
            errno = ENAMETOOLONG;
            break;
        }
        descriptor = open(temporary_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    int error = errno;
    temporary_exists = descriptor >= 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (descriptor < 0)
        fail("%s: cannot be written, its folder takes no new file: %s; choose another --output",
             path, strerror(error));
    return descriptor;
}

/* Gives the new file the owner and mode of the one that it will replace. Only root can give a file
 * away, so where that fails the file stays the user's own. */
static void take_over_access(int descriptor, const struct stat *old)
{
    if (fchown(descriptor, old->st_uid, old->st_gid) != 0)
        errno = 0;
    (void)fchmod(descriptor, old->st_mode & 0777);
}

/* The descriptor of this process that `path` stands for: 1 for "-", N for /proc/self/fd/N and for
 * links that lead there, as /dev/stdout, /dev/stderr and /dev/fd/N do; -1: none. Links are followed
 * one by one, because realpath() goes on to the file that is open there. */
static int own_descriptor(const char *path)
{
    enum { most_links = 40 }; /* Linux follows as many */
    char descriptors[PATH_MAX], folder[PATH_MAX], real_folder[PATH_MAX], link[PATH_MAX];
    char name[2 * PATH_MAX];

    if (strcmp(path, "-") == 0)
        return STDOUT_FILENO;
    if (strlen(path) >= PATH_MAX || realpath("/proc/self/fd", descriptors) == NULL)
        return -1;
    strcpy(name, path);
    for (int links = 0; links < most_links; links++) {
        size_t length = folder_length(name);
        if (length >= sizeof folder)
            return -1;
        memcpy(folder, name, length);
        folder[length] = '\0';
        if (realpath(length > 0 ? folder : ".", real_folder) == NULL)
            return -1;
        if (strcmp(real_folder, descriptors) == 0) {
            char *end;
            long number = strtol(name + length, &end, 10);
            return end > name + length && *end == '\0' && number <= INT_MAX ? (int)number : -1;
        }
        ssize_t link_length = readlink(name, link, sizeof link - 1);
        if (link_length < 0)
            return -1;
        link[link_length] = '\0';
        strcpy(name + (link[0] == '/' ? 0 : length), link);
    }
    return -1;
}

/* The files that are read. */
struct files {
    const struct stat *status;
    size_t count;
};

static void refuse_input(const char *path, const struct stat *status, const struct files *inputs)
{
    /* A terminal may be both: it holds nothing that could be overwritten. */
    for (size_t i = 0; i < inputs->count && !S_ISCHR(status->st_mode); i++) {
        const struct stat *input = &inputs->status[i];

        if (status->st_dev == input->st_dev && status->st_ino == input->st_ino)
            fail("%s: is the input file; choose another --output", path);
    }
}

/* Writes go to a copy of the descriptor, which shares its offset: opening the file once more would
 * begin at its first byte and overwrite what others have written. */
static void open_descriptor(struct output *output, int number, const struct files *inputs)
{
    struct stat status;
    int flags = fcntl(number, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(number, &status) != 0)
        fail("%s: is closed or open for reading only; open it for writing or choose another "
             "--output",
             output->path);
    refuse_input(output->path, &status, inputs);
    output->descriptor = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (output->descriptor < 0)
        fail("%s: cannot be written: %s; choose another --output", output->path, strerror(errno));
}

void output_open(struct output *output, const char *path, const struct stat *inputs, size_t count)
{
    const struct files files = {inputs, count};
    struct stat status;
    int number = own_descriptor(path);

    memset(output, 0, sizeof *output);
    output->path = strcmp(path, "-") == 0 ? "standard output" : path;
    if (number >= 0) {
        handle_signals();
        open_descriptor(output, number, &files);
        return;
    }

    bool exists = stat(path, &status) == 0;
    if (!exists && errno != ENOENT)
        fail("%s: cannot be written: %s; choose another --output", path, strerror(errno));
    if (path[folder_length(path)] == '\0' || (exists && S_ISDIR(status.st_mode)))
        fail("%s: is a folder; --output takes the name of a file", path);
    if (exists)
        refuse_input(path, &status, &files);
    if (exists && access(path, W_OK) != 0)
        fail("%s: cannot be written: %s; choose another --output", path, strerror(errno));
    if (!exists && lstat(path, &status) == 0)
        fail("%s: is a symbolic link that leads nowhere; remove it or choose another --output",
             path);

    handle_signals();
    if (exists && !S_ISREG(status.st_mode)) {
        output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
        if (output->descriptor < 0)
            fail("%s: cannot be written: %s; choose another --output", path, strerror(errno));
        return;
    }
    output->target = exists ? realpath(path, NULL) : strdup(path);
    if (output->target == NULL)
        fail("%s: cannot be written: %s; choose another --output", path, strerror(errno));
    mode_t mode = exists ? status.st_mode & 0777 : 0666;
    output->descriptor = create_temporary(path, output->target, mode);
    if (exists)
        take_over_access(output->descriptor, &status);
}

static _Noreturn void fail_write(const struct output *output)
{
    const char *remedy = errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                             ? "make room there or choose another --output"
                             : "choose another --output";
    fail("%s: cannot be written: %s; %s", output->path, strerror(errno), remedy);
}

/* Writes to `place`, or where `place` is NULL, behind what was written last. */
static void write_all(const struct output *output, const uint64_t *place, const char *bytes,
                      size_t count)
{
    size_t done = 0;

    while (done < count) {
        ssize_t wrote = place != NULL ? pwrite(output->descriptor, bytes + done, count - done,
                                               (off_t)(*place + done))
                                      : write(output->descriptor, bytes + done, count - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && errno == EAGAIN) { /* a pipe that its opener made non-blocking is full */
            poll(&(struct pollfd){.fd = output->descriptor, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (wrote == 0)
            errno = EIO; /* POSIX leaves open what that means; it must not be an endless loop */
        if (wrote <= 0)
            fail_write(output);
        done += (size_t)wrote;
    }
}

bool output_claim(struct output *output, size_t count, uint64_t *place)
{
    *place = output->end;
    output->end += count;
    return output->target != NULL;
}

void output_write_at(const struct output *output, uint64_t place, const char *bytes, size_t count)
{
    write_all(output, &place, bytes, count);
}

void output_write(struct output *output, const char *bytes, size_t count)
{
    uint64_t place;

    write_all(output, output_claim(output, count, &place) ? &place : NULL, bytes, count);
}

/* Brings the new name to the disk. Not all file systems can, and the file itself is safe, so what
 * this answers does not matter. */
static void sync_folder(const char *target)
{
    char folder[PATH_MAX];
    size_t length = folder_length(target);

    snprintf(folder, sizeof folder, "%.*s", (int)length, target);
    int descriptor = open(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor);
        close(descriptor);
    }
}

void output_commit(struct output *output)
{
    if (output->target != NULL && fsync(output->descriptor) != 0)
        fail_write(output);
    if (close(output->descriptor) != 0 && errno != EINTR)
        fail_write(output);
    if (output->target != NULL) {
        sigset_t before;
        hold_signals(&before);
        if (rename(temporary_path, output->target) != 0)
            fail_write(output);
        temporary_exists = 0;
        sigprocmask(SIG_SETMASK, &before, NULL);
        sync_folder(output->target);
    }
    free(output->target);
}
