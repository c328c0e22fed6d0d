/*
 * Finding out that an address is not the host's. CUDA gives the memory of GPUs addresses in the same
 * space as the host's, so the pointer itself does not tell; but CUDA's driver does. A program that has such
 * a pointer has loaded the driver's library. So that library is looked for among those that the program has
 * loaded, once and again whenever the program has loaded or closed one, and asked. This code loads nothing.
 */
#define _GNU_SOURCE
#include "base/elsewhere.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DRIVER "libcuda.so"

/* Numbers from cuda.h of the attributes that are asked for, and of a value: part of the driver's binary
 * interface. */
enum { MEMORY_TYPE = 2, HOST_POINTER = 4, TYPE_DEVICE = 2 };

/* cuPointerGetAttributes: for addresses that it does not know it answers zeros. */
typedef int get_attributes(unsigned count, int *attributes, void **data, uintptr_t address);

/* What this thread knows of the libraries that the program has loaded. */
static _Thread_local struct {
    unsigned long long loads, closes; /* how often libraries had been, when it last looked */
    get_attributes *ask;              /* NULL: there is no driver */
    uint32_t small_calls;
} known;

/* Calls of fewer than SMALL elements: a thread looks in the first FIRST of them, and then in one of each
 * SELDOM. Chosen, not tuned. */
#define SMALL 256u
#define FIRST 256u
#define SELDOM 64u

typedef struct scan {
    int anew;        /* a library has been loaded or closed */
    char path[4096]; /* of the driver's library; "": it is not loaded */
} scan;

static int look(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    scan *s = (scan *)argument;
    const char *name = strrchr(info->dlpi_name, '/');

    if (bytes < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        return 1;
    if (!s->anew && known.loads == info->dlpi_adds && known.closes == info->dlpi_subs)
        return 1;
    s->anew = 1;
    known.loads = info->dlpi_adds;
    known.closes = info->dlpi_subs;
    name = name ? name + 1 : info->dlpi_name;
    if (!strncmp(name, DRIVER, strlen(DRIVER)))
        snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 0;
}

static get_attributes *find_driver(const char *path)
{
    void *library = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    get_attributes *ask = NULL;
    void *symbol;

    if (!library)
        return NULL;
    symbol = dlsym(library, "cuPointerGetAttributes");
    memcpy(&ask, &symbol, sizeof ask);
    /* The program, which has loaded the library, keeps it. */
    dlclose(library);
    return ask;
}

int bh__may_be_elsewhere(uint64_t n)
{
    scan s;

    /* Only without a driver: one that was there may be gone, so then each call looks. */
    if (!known.ask && n < SMALL && ++known.small_calls > FIRST && known.small_calls % SELDOM)
        return 0;
    s.anew = 0;
    s.path[0] = 0;
    dl_iterate_phdr(look, &s);
    if (s.anew)
        known.ask = find_driver(s.path);
    return known.ask != NULL;
}

int bh__is_elsewhere(const void *memory)
{
    int attributes[2] = {MEMORY_TYPE, HOST_POINTER};
    unsigned type = 0;
    void *on_host = NULL, *data[2];

    if (!memory || !known.ask)
        return 0;
    data[0] = &type;
    data[1] = &on_host;
    return !known.ask(2, attributes, data, (uintptr_t)memory) && type == TYPE_DEVICE && !on_host;
}
