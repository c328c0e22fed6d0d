/*
 * The choice between a table and sorting (see choose.h), from two estimates.
 *
 * The share of keys that are not among the hottest, for which the cache has room: that of the keys which
 * came once in the sample, by Good and Turing. All others cost little.
 *
 * How many distinct keys there are: those of the sample, and by Chao's estimate once * once / (2 * twice)
 * which it has missed. It is right where all keys are equally frequent, and too low where they are not.
 */
#define _POSIX_C_SOURCE 200809L

#include "choose.h"

#include "pair.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* Adds a run of `length` equal keys. */
static void add_run(struct sample *sample, uint64_t length)
{
    sample->distinct++;
    sample->once += length == 1;
    sample->twice += length == 2;
}

void sample_look(struct sample *sample, const void *keys, uint32_t key_bytes, uint64_t count)
{
    uint64_t first = 0;

    *sample = (struct sample){.keys = count};
    for (uint64_t i = 1; i < count; i++) {
        if (key_at(keys, i, key_bytes) != key_at(keys, i - 1, key_bytes)) {
            add_run(sample, i - first);
            first = i;
        }
    }
    if (count > 0)
        add_run(sample, count - first);
}

uint64_t sample_distinct(const struct sample *sample, uint64_t keys)
{
    double once = (double)sample->once;
    double twice = sample->twice > 0 ? (double)sample->twice : 0.5;
    double distinct = (double)sample->distinct + once * once / (2 * twice);
    /* As many as came once is the share of new keys among those that follow. */
    double most = (double)sample->distinct;

    if (sample->keys > 0 && keys > sample->keys)
        most += (double)(keys - sample->keys) * once / (double)sample->keys;
    if (distinct > most)
        distinct = most;
    return distinct < (double)keys ? (uint64_t)distinct : keys;
}

uint64_t sample_others(const struct sample *sample, uint64_t keys)
{
    if (sample->keys == 0)
        return keys;
    return (uint64_t)((double)keys * (double)(sample->keys - sample->hot) / (double)sample->keys);
}

bool choose_sorting(const struct sample *sample, uint64_t keys, uint32_t key_bytes, uint64_t memory)
{
    /* Nanoseconds of CPU time for a key, measured with 20 million keys of 8 bytes on a Zen server core,
     * reading included. Where nearly all keys are new a table takes 160, as it grows. */
    const double sorting = 24, in_cache = 15, out_of_cache = 60;

    if (sample->keys == 0 || keys <= sample->keys)
        return false;
    double others = (double)sample_others(sample, keys);
    double colder = (double)keys * (double)sample->once / (double)sample->keys;
    double needed = 2 * others * key_bytes; /* the keys, and as much for bh_sort() */
    return needed <= (double)memory / 2 &&
           others * in_cache + colder * out_of_cache > others * sorting;
}

/* The number that a file of the system holds, or begins with; UINT64_MAX: it holds none. */
static uint64_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    uint64_t number = UINT64_MAX;

    if (file == NULL)
        return number;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = UINT64_MAX; /* "max": no limit */
    fclose(file);
    return number;
}

/* What the machine has left. */
static uint64_t memory_of_machine(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[160];
    uint64_t kib, bytes = UINT64_MAX;

    if (file == NULL)
        return bytes;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1) {
            bytes = kib << 10;
            break;
        }
    }
    fclose(file);
    return bytes;
}

uint64_t memory_available(void)
{
    uint64_t machine = memory_of_machine();
    /* A container may have less: the limit of its control group. */
    uint64_t most = number_in("/sys/fs/cgroup/memory.max");
    uint64_t used = number_in("/sys/fs/cgroup/memory.current");

    if (most == UINT64_MAX || used == UINT64_MAX)
        return machine;
    uint64_t left = used < most ? most - used : 0;
    return left < machine ? left : machine;
}
