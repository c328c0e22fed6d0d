/* Shared libraries that are looked for at run time; see library.h. */
#define _GNU_SOURCE
#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Why the library could not be opened, for each place that was tried, one behind the other. */
static _Thread_local char reasons[768];

/* The library is never closed: threads and handlers that it has started may outlast its user. */
static void *open_library(const char *path)
{
    const size_t used = strlen(reasons);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        snprintf(reasons + used, sizeof reasons - used, "%s%s", used ? "; " : "", dlerror());
    return library;
}

/* The path of the file that holds this function: the shared library, or the program that it is linked
 * into. For a program the dynamic linker knows only the word that it was started with, which may have been
 * looked up in PATH, or be relative to a folder that the program has left. So the kernel is asked. */
static int find_this_file(char *path, size_t bytes)
{
    static const char here = 0;
    Dl_info file, program;

    if (!dladdr(&here, &file) || !file.dli_fname)
        return 0;
    if (dladdr((const void *)getauxval(AT_PHDR), &program) && program.dli_fbase == file.dli_fbase) {
        const ssize_t length = readlink("/proc/self/exe", path, bytes);

        if (length > 0 && (size_t)length < bytes) {
            path[length] = 0;
            return 1;
        }
    }
    return snprintf(path, bytes, "%s", file.dli_fname) < (int)bytes;
}

static void *open_beside(const char *name, const char *between)
{
    char path[4096], *slash;
    size_t left;

    if (!find_this_file(path, sizeof path) || !(slash = strrchr(path, '/')))
        return NULL;
    left = sizeof path - (size_t)(slash + 1 - path);
    if (snprintf(slash + 1, left, "%s%s", between, name) >= (int)left)
        return NULL;
    return open_library(path);
}

const void *bh__library_symbol(const char *path, const char *symbol, const char **reason)
{
    void *library = NULL, *found;

    reasons[0] = 0;
    *reason = reasons;
    if (!strchr(path, '/')) {
        library = open_beside(path, "");
        if (!library)
            library = open_beside(path, "../lib/");
    }
    if (!library)
        library = open_library(path);
    if (!library)
        return NULL;
    found = dlsym(library, symbol);
    if (!found)
        *reason = dlerror();
    return found;
}
