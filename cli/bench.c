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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* bulkhash-bench has the whole help; this stands in for it where only this program was built. */
static const char help[] =
    "bulkhash bench: measure the library\n"
    "\n"
    "usage: bulkhash bench ARGUMENTS\n"
    "\n"
    "Runs the program bulkhash-bench, which is not there yet: build or install it beside bulkhash,\n"
    "and this help lists its arguments.\n";

int bench_command(int argc, char **argv)
{
    static const char name[] = "bulkhash-bench";
    char path[PATH_MAX + sizeof name];

    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0)
        fail("bench: the folder of this program cannot be found: %s; start %s directly",
             strerror(errno), name);
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, sizeof name, "%s", name);

    argv[0] = path;
    execv(path, argv);
    if (errno == ENOENT && argc > 1 && is_help(argv[1])) {
        fputs(help, stdout);
        finish_standard_output();
        return EXIT_SUCCESS;
    }
    if (errno == ENOENT)
        fail("%s: is not there; build or install it beside bulkhash", path);
    fail("%s: cannot be started: %s; build or install it again", path, strerror(errno));
}
