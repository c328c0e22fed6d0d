/*
 * What the examples share and what is not about hash tables: arguments, memory, random numbers, time, and
 * how to end when something fails.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static inline void *array(uint64_t n, uint64_t bytes)
{
    void *memory = n <= SIZE_MAX / bytes ? malloc(n * bytes + 1) : NULL;

    if (!memory) {
        fprintf(stderr, "no memory for an array of %llu elements\n", (unsigned long long)n);
        exit(1);
    }
    return memory;
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

/* Seconds since some moment. */
static inline double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
