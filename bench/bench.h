/*
 * What the experiments of the benchmark share: the settings of a run, keys, timing, and results.
 *
 * A result is one line of the output, or with --json one object. It has a rate; the rate at which
 * the machine reads random lines (limit.h), measured before and after; and often a figure. What is
 * judged is the figure or, without one, the ratio of the two rates; a figure is for example the ratio
 * to the same operation on another table, or a count. All of them are samples, one for each
 * repetition; printed are the median, the lowest and the highest. An object of --json also names the
 * machine ("machine", the processor's model or the GPU's name) and the commit ("commit", commit.h).
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
    const char *device;
    const char *design;
    bh_design design_is; /* what the name of the design stands for */
    uint64_t keys;
    int keys_given; /* by --keys or --quick */
    double fill;
    int fill_given; /* by --fill */
    uint32_t key_bytes;
    uint32_t value_bytes;
    int widths_given; /* by --widths */
    uint32_t threads;
    uint32_t repetitions;
    int json;
    int counted; /* the experiment instructions runs as what callgrind counts */
} settings;

/* One run of the program. */
typedef struct bench {
    settings settings;
    bh_context *context;
    const bh__backend *backend; /* the context's; on a GPU that of another context, on the CPU, for
                                   the host's part of the work */
    bh_context_info info;
    limit *limit; /* NULL before bench_limit() */
    uint64_t limit_bytes;
    struct on_gpu *on_gpu; /* NULL: this run is on the CPU */
    char machine[128];     /* the name of the processor or GPU */
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
    const char *design;   /* NULL: that of the settings */
    const char *state;    /* of the table: fresh, grown, turned over */
    const char *skew;     /* of the keys; NULL: uniform */
    double hit_rate;      /* fraction of keys that are there; NO_HIT_RATE where none is asked for */
    uint64_t batch;       /* keys of one call */
    uint32_t threads;     /* 0: those of the context */
    const char *clock;    /* NULL: that of the wall; "events": that of the GPU */
    const char *limit_is; /* what the limit is a number of; NULL: lines */
    int unsupported;      /* by this design on this device: the rest is not set */
    const char *figure;   /* what `value` is; NULL: the ratio to the limit is what is judged */
    double bar;           /* the least that is asked for; 0: nothing */
    int bar_is_most;      /* the bar is the most that is allowed */
    double paper;         /* what a paper states for the figure; 0: nothing */
    uint64_t keys;        /* result_table() sets this and the next three; print() the widths */
    uint64_t page_bytes;
    double fill;
    double bytes_per_key;
    const char
        *peer; /* whose rate stands beside ours, and in which configuration; NULL: nobody's, and
                         the next four are not set */
    const char *peer_commit;
    double peer_fill;
    int per_call; /* the microseconds of a call of `batch` keys are of interest */
    samples peer_mops;
    samples mops; /* million keys per second */
    samples limit;
    samples ratio; /* of mops and limit */
    samples value;
} result;

/* The experiments. */
void run_operations(bench *b);
void run_growth(bench *b);
void run_turnover(bench *b);
void run_sizes(bench *b);
void run_calls(bench *b);
void run_threads(bench *b);
void run_peers(bench *b);
void run_designs(bench *b);
void run_hashfight(bench *b);
void run_dachash(bench *b);
void run_dachash_fig71(bench *b); /* these eight, of dachash_paper.c, on the CPU and on a GPU */
void run_dachash_fig72(bench *b);
void run_dachash_fig73(bench *b);
void run_dachash_fig74(bench *b);
void run_dachash_table71(bench *b);
void run_dachash_fig75(bench *b);
void run_dachash_fig76(bench *b);
void run_dachash_fig77(bench *b);
void run_stadium(bench *b);
void run_stadium_fig13(bench *b); /* stadium_switch.c, on a GPU */
void run_stadium_fig14(bench *b); /* these six: stadium_paper.c, on the CPU and on a GPU; */
void run_stadium_fig15(bench *b);
void run_stadium_fig16(bench *b); /* but 16 and 17 on a GPU alone */
void run_stadium_fig17(bench *b);
void run_stadium_fig18(bench *b);
void run_stadium_fig19(bench *b);
void run_stadium_table1(bench *b); /* stadium_lanes.c, on the CPU and on a GPU */
void run_dynamic(bench *b);
void run_hostile(bench *b);
void run_full(bench *b); /* on the CPU and on a GPU */
void run_instructions(bench *b);
void run_primitives(bench *b);
void run_gpu_limits(bench *b);
void run_gpu_operations(bench *b);
void run_gpu_growth(bench *b);
void run_gpu_host(bench *b);
void run_gpu_peers(bench *b);
void run_gpu_stadium(bench *b);
void run_lines(bench *b); /* by lines.c in bulkhash-bench-lines, which neighbour.c starts */

/* Ends the program with a sentence; check() ends it with the library's sentence if the call failed. */
_Noreturn void fail(const char *what);
void check(bh_status status);

/* Zeroed and touched memory for `n` elements of `bytes` each; ends the program when there is
 * none. For free(). */
void *array(uint64_t n, uint64_t bytes);

/* Arrays of keys and values, and memory for them. Their elements have the widths of the settings:
 * key_at() and value_at() find them. */
void *key_array(const bench *b, uint64_t n);
void *value_array(const bench *b, uint64_t n);
void *key_at(const bench *b, const void *keys, uint64_t i);
void *value_at(const bench *b, const void *values, uint64_t i);

/* Distinct keys in no visible order: a bijection of the counter, another one for each salt. */
uint32_t key_of(uint64_t counter, uint32_t salt);
uint32_t salt_of(uint32_t repetition);

/* n keys from counter `first` on; and the value that goes with each. */
void fill_keys(const bench *b, void *keys, uint64_t first, uint64_t n, uint32_t salt);
void fill_values(const bench *b, void *values, const void *keys, uint64_t n);

/* n keys drawn from `keys`, the i-th of them with a probability as 1 / (i + 1)^0.99. */
void fill_zipf(const bench *b, void *drawn, const void *keys, uint64_t n, uint64_t seed);

/* Moves n of `count` keys, drawn at random, to the end of the array; with n = count it shuffles them all.
 * `random` is the state of the generator of random numbers. */
void draw_last(const bench *b, void *keys, uint64_t count, uint64_t n, uint64_t *random);

/* n keys of which every second one, those with an odd index, is in the table. */
void fill_half(const bench *b, void *keys, const void *there, const void *absent, uint64_t n);

/* For bh_apply: half lookups, a quarter insertions of new keys, a quarter erasures of other keys, which are
 * in the table. */
void fill_mixed(const bench *b, uint8_t *ops, void *keys, const void *there, const void *absent,
                uint64_t n);

/* For bh_apply, 2 * each elements: insertions of `each` keys and lookups of as many others in turn, GROUP_KEYS
 * of a kind at a time, so that a warp of a GPU, too, has one kind. */
#define GROUP_KEYS 32u
void fill_groups(const bench *b, uint8_t *ops, void *keys, const void *inserted, const void *asked,
                 uint64_t each);

/* The sum of n elements of 4 or 8 bytes, as a number of the same width. */
uint64_t sum_of(const void *array, uint64_t n, uint32_t bytes);

/* Ends the program unless each value is the one that fill_values() gives its key. */
void check_values(const bench *b, const void *values, const void *keys, uint64_t n);

/* A table of pairs with the widths and the fill of the settings. */
bh_table *table_of(const bench *b, bh_context *context, uint64_t capacity);
bh_table_stats stats_of(const bh_table *table);

/* The limit of memory as large as this table. The first call for such a size measures it, and
 * prints a heading. */
limit *bench_limit(bench *b, const bh_table *table);

double seconds(const bench *b);

/* Runs an operation over n keys in calls of `part` keys; answers the seconds it took. `longest`
 * receives those of the longest call; may be NULL. */
double timed(const bench *b, bh_op op, bh_table *table, const void *keys, void *values, uint64_t n,
             uint64_t part, double *longest);

/* Seconds in which n new keys are inserted into a table of the peer of that name, reserved for them; 0 when
 * the peer is not there. */
double timed_peer_insert(const bench *b, const char *name, const void *keys, void *values,
                         uint64_t n);

/* Replaces the n keys of a table TURNOVERS times: erases them, at first those from counter 0 on, in an order
 * unrelated to that of their insertion, and inserts as many new ones, at first those from n on, a part of
 * them at a time. `keys` and `values` receive the last ones. */
#define TURNOVERS 3u
void turn_over(const bench *b, bh_table *table, void *keys, void *values, uint64_t n,
               uint32_t salt);

/* Seconds that all threads take to copy so many bytes. */
double timed_copy(const bench *b, void *to, const void *from, uint64_t bytes);

double median(samples *s);
void sample(samples *s, double value);

/* Says which table the result is about. */
void result_table(result *r, const bh_table_stats *stats);

/* Enters a run of n keys in `taken` seconds. enter_between() enters a run between two measurements of the
 * limit; enter_beside() one between the measurement `before` and one that it makes now and answers. */
void enter(result *r, uint64_t n, double taken);
void enter_between(result *r, uint64_t n, double taken, double before, double after);
double enter_beside(result *r, uint64_t n, double taken, double before, limit *l);

/* Two tables that do the same work, one right after the other, because rates on a shared machine change from
 * moment to moment: the table that a result is about, and one that it is compared with. */
typedef struct couple {
    bh_table *table;
    bh_table *beside;
    int table_first;
} couple;

/* Runs an operation on both in calls of `part` keys. The result's figure is the first table's rate divided by
 * the other's; `longest` as in timed(). */
void compare(const bench *b, result *r, const couple *c, bh_op op, const void *keys, void *values,
             uint64_t n, uint64_t part, double *longest);

/* The same measurement, judged by its ratio to the limit; the bar is for u32 -> u32. */
result by_limit(const bench *b, const result *r, double bar);

/* Notes the name of the machine: gpu_name, or where that is NULL the processor's model as the system gives
 * it, or "unknown". */
void bench_machine(bench *b, const char *gpu_name);

void print(const bench *b, result *r);

#endif
