/*
 * What the examples share and what is not about hash tables: arguments, memory, random numbers, what a
 * job costs, and how to end when something fails.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#define _DEFAULT_SOURCE /* for madvise() */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <bulkhash/bulkhash.h>

/* Ends the program unless a call of the library went well; the library says why it did not. */
#define must(call)                                                                                 \
    do {                                                                                           \
        if ((call) != BH_OK) {                                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, bh_error_detail());                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Ends the program unless the result agrees with the plain computation. */
#define agrees(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition);                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/*
 * Large inputs are worked on in slices of this many elements: what a call answers is still in the cache
 * when a loop reads it, and each slice has work for many threads.
 */
enum { slice_size = 1 << 18 };

/* How many elements ahead a loop asks for the memory that it will need there. */
enum { ahead = 16 };

/* An array, or `old` with another size. Large ones ask for huge pages: fewer page faults. */
static inline void *resized(void *old, uint64_t n, uint64_t bytes)
{
    void *memory = n <= (SIZE_MAX - 1) / bytes ? realloc(old, n * bytes + 1) : NULL;

    if (!memory) {
        fprintf(stderr, "no memory for an array of %llu elements\n", (unsigned long long)n);
        exit(1);
    }
#ifdef MADV_HUGEPAGE
    const uint64_t page = 4096, skipped = page - (uintptr_t)memory % page;

    if (n * bytes > (4 << 20)) /* a wish: where it is not granted, pages stay small */
        (void)madvise((char *)memory + skipped, n * bytes - skipped, MADV_HUGEPAGE);
#endif
    return memory;
}

static inline void *array(uint64_t n, uint64_t bytes)
{
    return resized(NULL, n, bytes);
}

/* The N-th argument as a number from 1 to `most`, or `otherwise` where there is none. */
static inline uint64_t argument(int argc, char **argv, int at, uint64_t otherwise, uint64_t most)
{
    char *end = NULL;
    unsigned long long number;

    if (at >= argc)
        return otherwise;
    number = strtoull(argv[at], &end, 10);
    if (argv[at][0] < '0' || argv[at][0] > '9' || *end || number < 1 || number > most) {
        fprintf(stderr, "argument %d is \"%s\", which is no number from 1 to %llu\n", at, argv[at],
                (unsigned long long)most);
        exit(2);
    }
    return number;
}

/* splitmix64: the i-th of a sequence of random numbers. */
static inline uint64_t random_at(uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/*
 * A row of a result as one number. Their sum, wrapping, is the digest of the result, whatever the order
 * of its rows: other programs that do the same job can be compared by it.
 */
static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    return random_at(random_at(a) + b);
}

/* A number of MiB in /proc/self/status, < 0 where there is none. */
static inline double status_mib(const char *field)
{
    FILE *status = fopen("/proc/self/status", "r");
    double kib = -1;
    char line[256];

    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, field, strlen(field)))
            kib = strtod(line + strlen(field), NULL);
    if (status)
        fclose(status);
    return kib < 0 ? -1 : kib / 1024;
}

/* What a job costs: seconds on the clock, seconds of all threads on processors, and the most memory
 * beyond what was there before, in MiB; < 0 where the system does not tell. */
typedef struct costs {
    double wall;
    double cpu;
    double memory;
} costs;

static inline costs costs_now(const char *memory)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (costs){(double)now.tv_sec + (double)now.tv_nsec * 1e-9,
                   (double)clock() / CLOCKS_PER_SEC, status_mib(memory)};
}

/* Begins to measure a job. */
static inline costs measure(void)
{
    FILE *refs = fopen("/proc/self/clear_refs", "w");
    int forgotten = refs && fputs("5", refs) >= 0; /* the peak so far, VmHWM */

    forgotten = refs && !fclose(refs) && forgotten;
    return costs_now(forgotten ? "VmRSS:" : "unknown:");
}

/* What was spent since. */
static inline costs spent_since(costs begun)
{
    costs now = costs_now("VmHWM:");

    now.memory = begun.memory < 0 || now.memory < 0 ? -1 : now.memory - begun.memory;
    now.wall -= begun.wall;
    now.cpu -= begun.cpu;
    return now;
}

static inline void report_costs(const char *job, costs spent)
{
    printf("%s: wall %.3f s, CPU %.3f s", job, spent.wall, spent.cpu);
    if (spent.memory >= 0)
        printf(", peak %.0f MiB", spent.memory);
    printf("\n");
}

static inline void report_answer(const char *job, uint64_t count, const char *of, uint64_t digest)
{
    printf("%s: %llu %s, digest %016llx\n", job, (unsigned long long)count, of,
           (unsigned long long)digest);
}

#endif
