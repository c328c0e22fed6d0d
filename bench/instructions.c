/*
 * instructions: how many instructions an operation takes per key, counted by callgrind, with one thread,
 * on the targets avx2 and scalar (callgrind does not know AVX-512), in a table of --keys pairs and in one
 * of 65536, which lies in cache.
 *
 * For each table the program starts itself under valgrind, with the hidden option --counted. That process
 * makes the calls of the steps below; callgrind counts only between entry and exit of the called function
 * (--toggle-collect). Each step ends with a call of bh_table_get_stats(), its only one, at which callgrind
 * writes down what it has counted since the step before (--dump-before). So valgrind's header is
 * not needed. The process that prints makes the same calls, not counted, to learn what the table is like.
 *
 * The seed of the tables is fixed, so that the counts of two builds differ by their code alone.
 */
#define _XOPEN_SOURCE 700
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

extern char **environ;

#define TARGET "BULKHASH_TARGET"
#define KEYS_MOST (1u << 21)
#define CACHED_KEYS (1u << 16)
#define SINGLE_CALLS 4096u

#define FIRST_CALLS 512u

/* Bars are for pairs of 4+4 bytes on AVX2; for 8+8 they are this many times as high. */
#define WIDE_BAR 1.3

/* Keys of a call: all those of the table; as many that are not in it; or one, of the table. */
enum { PRESENT, ABSENT, ONE };

/* In this order, on one table. */
static const struct step {
    const char *name;
    const char *of_op;
    bh_op op;
    int keys;
    double bar;
} steps[] = {
    {"insert", "insert", BH_INSERT, ABSENT, 95}, {"find", "find", BH_FIND, PRESENT, 55},
    {"miss", "find", BH_FIND, ABSENT, 50},       {"assign", "insert", BH_INSERT, PRESENT, 0},
    {"reduce", "add", BH_ADD, PRESENT, 75},      {"find one", "find", BH_FIND, ONE, 0},
    {"assign one", "insert", BH_INSERT, ONE, 0}, {"erase", "erase", BH_ERASE, PRESENT, 75},
};

#define STEPS (sizeof steps / sizeof steps[0])

/* --- the calls ----------------------------------------------------------------------------- */

static bh_status call(bh_op op, bh_table *table, const void *keys, void *values, uint64_t n,
                      uint8_t *outcomes)
{
    switch (op) {
    case BH_FIND: return bh_find(table, keys, n, values, outcomes);
    case BH_INSERT: return bh_insert(table, keys, values, n, outcomes);
    case BH_ERASE: return bh_erase(table, keys, n, outcomes);
    default: return bh_reduce(table, op, keys, values, n, outcomes);
    }
}

static uint64_t keys_of(const struct step *step, uint64_t n)
{
    return step->keys == ONE && n > SINGLE_CALLS ? SINGLE_CALLS : n;
}

/* Makes the calls of all steps on a table for n pairs; answers what it was like when it was full. */
static bh_table_stats make_calls(const bench *b, uint64_t n)
{
    const settings *s = &b->settings;
    void *keys = key_array(b, n), *absent = key_array(b, n), *values = value_array(b, n);
    uint8_t *outcomes = array(n, 1);
    bh_table_options options;
    bh_table_stats stats, full;
    bh_table *table;
    uint64_t i;
    uint32_t k;

    bh_table_options_init(&options, s->key_bytes, s->value_bytes, n);
    options.design = s->design_is;
    options.max_fill = s->fill;
    options.seed = 1;
    options.seed_fixed = 1;
    check(bh_table_create(b->context, &options, &table));
    fill_keys(b, keys, 0, n, salt_of(0));
    fill_keys(b, absent, n, n, salt_of(0));
    fill_values(b, values, keys, n);
    /* A thread's first small calls look whether another library has memory elsewhere. This function is not
     * counted. */
    for (i = 0; i < FIRST_CALLS; i++)
        check(bh_update(table, keys, values, 1, outcomes));
    for (k = 0; k < STEPS; k++) {
        const struct step *step = &steps[k];
        const uint64_t count = keys_of(step, n), part = step->keys == ONE ? 1 : n;
        /* What is inserted first is absent too, but not from then on. */
        const void *called = k && step->keys == ABSENT ? absent : keys;

        for (i = 0; i < count; i += part)
            check(call(step->op, table, key_at(b, called, i), value_at(b, values, i), part,
                       outcomes + i));
        stats = stats_of(table);
        if (!k)
            full = stats;
        if (stats.keys != (step->op == BH_ERASE ? 0 : n))
            fail("instructions: the table has another number of keys than it should");
    }
    bh_table_destroy(table);
    free(keys);
    free(absent);
    free(values);
    free(outcomes);
    return full;
}

/* --- callgrind ----------------------------------------------------------------------------- */

#define TO_FILE "--callgrind-out-file="

/* Runs this program for one table under callgrind; answers 0, or ENOENT when there is no valgrind, or another
 * number when something failed. */
static int start(const bench *b, uint64_t n, char *to_file)
{
    const settings *s = &b->settings;
    char path[PATH_MAX], keys[32], fill[32], widths[32];
    char *arguments[] = {"valgrind",
                         "-q",
                         "--tool=callgrind",
                         "--vgdb=no",
                         "--combine-dumps=yes",
                         "--dump-before=bh_table_get_stats",
                         "--toggle-collect=bh_insert",
                         "--toggle-collect=bh_find",
                         "--toggle-collect=bh_reduce",
                         "--toggle-collect=bh_erase",
                         to_file,
                         path,
                         "--counted",
                         "--experiment=instructions",
                         "--threads=1",
                         keys,
                         fill,
                         widths,
                         "--design",
                         (char *)(uintptr_t)s->design,
                         NULL};
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    pid_t child;
    int status;

    path[length < 0 ? 0 : length] = '\0';
    snprintf(keys, sizeof keys, "--keys=%llu", (unsigned long long)n);
    snprintf(fill, sizeof fill, "--fill=%.17g", s->fill);
    snprintf(widths, sizeof widths, "--widths=%u,%u", s->key_bytes, s->value_bytes);
    fflush(stdout);
    status = posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ);
    if (status)
        return status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status) ? 0
                                                                                            : -1;
}

/* The counts of the steps are the first totals of the file; one more is of what came after. Answers how many
 * there are. */
static uint32_t read_counts(const char *path, double *counts)
{
    FILE *file = fopen(path, "r");
    char line[256];
    uint32_t k = 0;

    while (file && k < STEPS && fgets(line, sizeof line, file))
        if (sscanf(line, "totals: %lf", &counts[k]) == 1)
            k++;
    if (file)
        (void)fclose(file);
    return k;
}

/* Fills in how many instructions each step took; answers 0 when there is no valgrind. */
static int count(const bench *b, uint64_t n, double *counts)
{
    const char *parent = getenv("TMPDIR");
    char folder[PATH_MAX], to_file[sizeof TO_FILE + PATH_MAX + 16];
    const char *path = to_file + strlen(TO_FILE);
    uint32_t steps_there = 0;
    int status;

    snprintf(folder, sizeof folder, "%s/bulkhash-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        fail("instructions: a temporary folder cannot be made");
    snprintf(to_file, sizeof to_file, TO_FILE "%s/counts", folder);
    status = start(b, n, to_file);
    if (!status)
        steps_there = read_counts(path, counts);
    (void)unlink(path);
    (void)rmdir(folder);
    if (status == ENOENT)
        return 0;
    if (status)
        fail("instructions: valgrind failed, or this program did under valgrind");
    if (steps_there < STEPS)
        fail("instructions: callgrind's counts are not there");
    return 1;
}

/* --- the results --------------------------------------------------------------------------- */

static double bar_of(const bench *b, const struct step *step)
{
    const settings *s = &b->settings;

    if (s->design_is != BH_DYCUCKOO || strcmp(b->info.target, "avx2") != 0 ||
        s->key_bytes != s->value_bytes)
        return 0;
    return s->key_bytes == 4 ? step->bar : WIDE_BAR * step->bar;
}

/* Answers 0 when there is no valgrind. */
static int run_table(const bench *b, uint64_t n, const char *where)
{
    bh_table_stats stats = make_calls(b, n);
    double counts[STEPS];
    uint32_t k;

    if (!count(b, n, counts))
        return 0;
    for (k = 0; k < STEPS; k++) {
        const struct step *step = &steps[k];
        char name[64];
        result r = {.experiment = "instructions",
                    .state = "fresh",
                    .name = name,
                    .op = step->of_op,
                    .hit_rate = step->keys != ABSENT,
                    .batch = step->keys == ONE ? 1 : n,
                    .figure = "instructions per key",
                    .bar = bar_of(b, step),
                    .bar_is_most = 1};

        if (counts[k] <= 0)
            fail("instructions: callgrind does not find the library's functions; was this program "
                 "stripped?");
        snprintf(name, sizeof name, "%s, %s%s", step->name, b->info.target, where);
        result_table(&r, &stats);
        sample(&r.value, counts[k] / (double)keys_of(step, n));
        print(b, &r);
    }
    return 1;
}

/* A context of one thread on the target that the environment asks for; answers 0 if it is not there. */
static int open_context(bench *b)
{
    bh_context_options options;
    bh_status status;

    bh_context_options_init(&options);
    options.threads = 1;
    status = bh_context_create("cpu", &options, &b->context);
    if (status == BH_ERR_UNSUPPORTED) {
        fprintf(stderr, "bulkhash-bench: instructions: %s\n", bh_error_detail());
        return 0;
    }
    check(status);
    check(bh_context_get_info(b->context, &b->info));
    return 1;
}

static void run_targets(const bench *b)
{
    static const char *const targets[] = {"avx2", "scalar"};
    const uint64_t n = b->settings.keys < KEYS_MOST ? b->settings.keys : KEYS_MOST;
    uint32_t i;
    int there = 1;

    for (i = 0; there && i < 2; i++) {
        bench forced = *b;

        if (setenv(TARGET, targets[i], 1))
            fail("instructions: there is no memory for a variable of the environment");
        if (!open_context(&forced))
            continue;
        there = run_table(&forced, n, "");
        if (there && n > CACHED_KEYS)
            run_table(&forced, CACHED_KEYS, ", cached");
        bh_context_destroy(forced.context);
    }
    if (!there)
        fprintf(stderr, "bulkhash-bench: instructions: there is no valgrind here to count them "
                        "(scripts/setup.sh peers installs it)\n");
}

void run_instructions(bench *b)
{
    const char *chosen = getenv(TARGET);
    char *kept = NULL;

    if (b->settings.counted) {
        (void)make_calls(b, b->settings.keys);
        return;
    }
    if (SANITIZED) {
        fprintf(stderr, "bulkhash-bench: instructions: a program with a sanitizer does not run "
                        "under valgrind\n");
        return;
    }
    if (chosen) {
        kept = array(strlen(chosen) + 1, 1);
        strcpy(kept, chosen);
    }
    run_targets(b);
    if (kept ? setenv(TARGET, kept, 1) : unsetenv(TARGET))
        fail("instructions: there is no memory for a variable of the environment");
    free(kept);
}
