/*
 * What the experiments of the benchmark share: the settings of a run, keys, timing, and results.
 *
 * A result is one line of the output, or with --json one object. It has a rate, the rate at which
 * the machine reads random lines (limit.h) measured around it, and often a figure: what is judged
 * when that is not the ratio of the two, such as a ratio to the same operation on another table, or
 * a count. All of them are samples, one for each repetition; printed are the median, the lowest
 * and the highest.
 */
#ifndef BH_BENCH_BENCH_H
#define BH_BENCH_BENCH_H

#include "api/context.h"
#include "limit.h"

#define REPETITIONS_MOST 99

/* Keys of one call where a table grows. */
#define CALL_KEYS (1u << 16)

/* As the options of the program say. */
typedef struct settings {
    uint64_t keys;
    double fill;
    uint32_t threads;
    uint32_t repetitions;
    int json;
} settings;

/* One run of the program. */
typedef struct bench {
    settings settings;
    bh_context *context;
    const bh__backend *backend; /* the context's */
    bh_context_info info;
    limit *limit; /* NULL before bench_limit() */
} bench;

typedef struct samples {
    double at[REPETITIONS_MOST];
    uint32_t count;
} samples;

#define NO_HIT_RATE (-1.0)

typedef struct result {
    const char *experiment;
    const char *name; /* how the line of text begins */
    const char *op;
    const char *state;   /* of the table: fresh, grown, turned over */
    double hit_rate;     /* fraction of keys that are there; NO_HIT_RATE where none is asked for */
    uint64_t batch;      /* keys of one call */
    const char *figure;  /* what `value` is; NULL: the ratio to the limit is what is judged */
    double bar;          /* what is asked for, at least; 0: nothing */
    int bar_is_most;     /* at most */
    uint64_t keys;       /* result_table() sets this and the next three */
    uint64_t page_bytes;
    double fill;
    double bytes_per_key;
    samples mops; /* million keys per second */
    samples limit;
    samples ratio; /* of the two */
    samples value;
} result;

/* The experiments. */
void run_operations(bench *b);
void run_growth(bench *b);
void run_dynamic(bench *b);
void run_hostile(bench *b);
void run_lines(bench *b); /* by lines.c in bulkhash-bench-lines, which neighbour.c starts */

/* Ends the program with a sentence; check() with the library's if the call failed. */
_Noreturn void fail(const char *what);
void check(bh_status status);

/* Zeroed and touched memory for `n` elements of `bytes` each; ends the program when there is
 * none. For free(). */
void *array(uint64_t n, uint64_t bytes);

/* Distinct 4-byte keys in no visible order: a bijection of the counter, another one for each
 * salt. */
uint32_t key_of(uint64_t counter, uint32_t salt);
uint32_t salt_of(uint32_t repetition);

/* The value that goes with a key. */
uint32_t value_of(uint32_t key);

/* n keys from counter `first` on; and the value of each. */
void fill_keys(uint32_t *keys, uint64_t first, uint64_t n, uint32_t salt);
void fill_values(uint32_t *values, const uint32_t *keys, uint64_t n);

/* Brings n of `count` keys, drawn at random, to their end; with n = count it shuffles them all.
 * `random` is the state that the drawing goes on from. */
void draw_last(uint32_t *keys, uint64_t count, uint64_t n, uint64_t *random);

/* Ends the program unless each value is the one that goes with its key. */
void check_values(const uint32_t *values, const uint32_t *keys, uint64_t n);

/* A table of u32 -> u32 pairs with the fill of the settings. */
bh_table *table_of(const bench *b, bh_context *context, uint64_t capacity);
bh_table_stats stats_of(const bh_table *table);

/* The limit of memory as large as this table; the first call makes it, and prints the heading. */
limit *bench_limit(bench *b, const bh_table *table);

double seconds(const bench *b);

/* Runs an operation over n keys in calls of `part` keys; answers the seconds it took. `longest`
 * receives those of the longest call; may be NULL. */
double timed(const bench *b, bh_op op, bh_table *table, const uint32_t *keys, uint32_t *values,
             uint64_t n, uint64_t part, double *longest);

double median(samples *s);
void sample(samples *s, double value);

/* Says which table the result is about. */
void result_table(result *r, const bh_table_stats *stats);

/* Enters a run of n keys in `taken` seconds; enter_beside() one that stands between the limit
 * `before` and the limit now, which it answers. */
void enter(result *r, uint64_t n, double taken);
double enter_beside(result *r, uint64_t n, double taken, double before, limit *l);

void print(const bench *b, result *r);

#endif
