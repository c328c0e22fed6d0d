/* Shared libraries that are looked for at run time; see library.h. */
#define _GNU_SOURCE
#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Why each place that was tried did not do, one behind the other. */
static _Thread_local char reasons[768];

/* It is never closed: what it has begun (threads, handlers) may outlast who asked for it. */
static void *open_library(const char *path)
{
    const size_t used = strlen(reasons);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        snprintf(reasons + used, sizeof reasons - used, "%s%s", used ? "; " : "", dlerror());
    return library;
}

/* Beside the file that holds this function: the shared library, or the program that it is in. */
static void *open_beside(const char *name, const char *between)
{
    static const char here = 0;
    char path[4096];
    const char *slash;
    Dl_info info;

    if (!dladdr(&here, &info) || !info.dli_fname || !(slash = strrchr(info.dli_fname, '/')))
        return NULL;
    if (snprintf(path, sizeof path, "%.*s/%s%s", (int)(slash - info.dli_fname), info.dli_fname,
                 between, name) >= (int)sizeof path)
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
