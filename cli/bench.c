/*
 * `bulkhash bench ARGUMENTS`: becomes the program bulkhash-bench, which lies in the same folder.
 * The benchmark is a program of its own because it looks inside the library and knows its peers,
 * which this program must not.
 */
#define _XOPEN_SOURCE 700

#include "commands.h"

#include "error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int bench_command(int argc, char **argv)
{
    static const char name[] = "bulkhash-bench";
    char path[PATH_MAX + sizeof name];

    (void)argc;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0)
        fail("bench: the folder of this program cannot be found: %s; start %s directly",
             strerror(errno), name);
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, sizeof name, "%s", name);

    argv[0] = path;
    execv(path, argv);
    if (errno == ENOENT)
        fail("%s: is not there; build or install it beside bulkhash", path);
    fail("%s: cannot be started: %s; build or install it again", path, strerror(errno));
}
