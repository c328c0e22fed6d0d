/*
 * lines, as bulkhash-bench runs it: its neighbour bulkhash-bench-lines does the work, because the
 * library that counts lines is another build of the same functions.
 */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define NAME "bulkhash-bench-lines"
#define TARGET "BULKHASH_TARGET="

/* The environment without the choice of a target: that build has one of its own. */
static char **environment(void)
{
    char **copy;
    size_t count = 0, kept = 0, i;

    while (environ[count])
        count++;
    copy = array(count + 1, sizeof *copy);
    for (i = 0; i < count; i++)
        if (strncmp(environ[i], TARGET, strlen(TARGET)) != 0)
            copy[kept++] = environ[i];
    return copy;
}

void run_lines(bench *b)
{
    char path[PATH_MAX + sizeof NAME], keys[32], fill[32], threads[32];
    char *arguments[] = {path, "-e", "lines", "-n",    keys,
                         "-f", fill, "-t",    threads, b->settings.json ? "--json" : NULL,
                         NULL};
    char **variables = environment(), *slash;
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    pid_t child;
    int status;

    path[length < 0 ? 0 : length] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, sizeof NAME, "%s", NAME);
    snprintf(keys, sizeof keys, "%llu", (unsigned long long)b->settings.keys);
    snprintf(fill, sizeof fill, "%.17g", b->settings.fill);
    snprintf(threads, sizeof threads, "%u", b->info.threads);
    fflush(stdout);
    if (posix_spawn(&child, path, NULL, NULL, arguments, variables))
        fail("the program " NAME " cannot be started; build or install it beside this one");
    free(variables);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        fail("the program " NAME " failed");
}
