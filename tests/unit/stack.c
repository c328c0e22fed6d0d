/* ctest: every design */
/* ctest: every device */
/*
 * How much of a thread's stack each call of the library takes, and each task: at most the 64 KiB that
 * bulkhash.h promises to programs whose threads have small stacks.
 *
 * A call runs in a thread of its own whose stack was filled with one colour before. The deepest word
 * with another colour tells how far the call came down. The threads of a pool are started on such
 * stacks, too; they are looked at after every call. What the call is given is chosen so that the calls
 * go where the stack is used: sorting, merging, growing, searches in tables that are full. All this for
 * every instruction set of this machine, and with 1 and 4 threads.
 *
 * On the device that is none (tests/fake/module.c) what stands for kernels runs on the same stack as
 * the call that launches it, and is counted with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "tables/table.h"

/* What bulkhash.h promises. */
#define PROMISED 65536u

/* Bytes of a painted stack: enough to see how far a call goes that breaks the promise. */
#define STACK_BYTES (1u << 20)
#define GUARD_BYTES 65536u
#define COLOUR UINT64_C(0xa7a7a7a7a7a7a7a7)

/* --- painted stacks ----------------------------------------------------------------------- */

typedef struct painted {
    char *memory;   /* the stack's lowest address, above its guard */
    uint64_t clean; /* so many bytes from there on have the colour */
    uintptr_t base; /* where the thread's first function stands */
    pthread_t thread;
    void (*run)(void *argument);
    void *argument;
} painted;

static void painted_make(painted *stack)
{
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(memory != MAP_FAILED && mprotect(memory, GUARD_BYTES, PROT_NONE) == 0,
          "no memory for a stack");
    stack->memory = memory + GUARD_BYTES;
    stack->clean = 0;
}

static void painted_free(painted *stack)
{
    munmap(stack->memory - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
}

static void *painted_main(void *argument)
{
    painted *stack = argument;

    stack->base = (uintptr_t)__builtin_frame_address(0);
    stack->run(stack->argument);
    return NULL;
}

static int painted_start(painted *stack, void (*run)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    int failed;

    for (uint64_t i = stack->clean / 8; i < STACK_BYTES / 8; i++) {
        ((uint64_t *)(void *)stack->memory)[i] = COLOUR;
    }
    stack->run = run;
    stack->argument = argument;
    stack->base = 0;
    pthread_attr_init(&attributes);
    failed = pthread_attr_setstack(&attributes, stack->memory, STACK_BYTES) != 0 ||
             pthread_create(&stack->thread, &attributes, painted_main, stack) != 0;
    pthread_attr_destroy(&attributes);
    return failed ? -1 : 0;
}

/* How far down the thread has come, in bytes from its first function on. It may be waiting. */
static uint64_t painted_used(painted *stack)
{
    const volatile uint64_t *words = (const volatile uint64_t *)(const void *)stack->memory;
    uint64_t i = 0;

    while (i < STACK_BYTES / 8 && words[i] == COLOUR) {
        i++;
    }
    const uintptr_t deepest = (uintptr_t)&words[i];
    stack->clean = i * 8;
    return deepest < stack->base ? stack->base - deepest : 0;
}

/* --- what was measured -------------------------------------------------------------------- */

/* The most that a call took, by name. */
typedef struct tally {
    const char *name;
    uint64_t caller;
    uint64_t pool;
    char caller_where[96];
    char pool_where[96];
} tally;

static tally tallies[32];
static size_t tally_count;

static tally *tally_of(const char *name)
{
    for (size_t i = 0; i < tally_count; i++) {
        if (strcmp(tallies[i].name, name) == 0) {
            return &tallies[i];
        }
    }
    check(tally_count < TEST_COUNT(tallies), "more calls than the test has room for");
    tallies[tally_count].name = name;
    return &tallies[tally_count++];
}

/* --- a scene: a context, a table, and what a call is given ---------------------------------- */

enum { POOL_MOST = 4 };

typedef struct scene {
    bh_system system;
    const char *target;
    uint32_t threads;
    painted caller;
    painted pool[POOL_MOST];
    uint32_t started;   /* threads of the pool */
    uint64_t pool_seen; /* the most that they took until now */

    bh_context *context;
    bh_table *table;
    bh_table_options options;
    int operation;
    batch arrays;
    uint64_t number; /* keys to reserve */
    bh_status status;
    const char *what;
    void (*body)(struct scene *s);
} scene;

static int pool_start(void *state, void (*run)(void *argument), void *argument, uint64_t *thread)
{
    scene *s = state;

    if (s->started == POOL_MOST || painted_start(&s->pool[s->started], run, argument) != 0) {
        return -1;
    }
    *thread = s->started++;
    return 0;
}

static void pool_join(void *state, uint64_t thread)
{
    scene *s = state;
    pthread_join(s->pool[thread].thread, NULL);
}

static void scene_run(void *argument)
{
    scene *s = argument;
    s->body(s);
}

static void note(uint64_t used, uint64_t *most, char *where, size_t room, const scene *s)
{
    if (used > *most) {
        *most = used;
        snprintf(where, room, "%s, %u threads, keys %u, values %u, %llu elements, %s", s->target,
                 s->threads, s->options.key_bytes, s->options.value_bytes,
                 (unsigned long long)s->arrays.n, s->what);
    }
}

/* Runs a body in a thread of its own and enters what it took under a name. */
static void measured(scene *s, const char *name, void (*body)(scene *s))
{
    tally *t = tally_of(name);
    uint64_t pool = 0;

    s->body = body;
    check(painted_start(&s->caller, scene_run, s) == 0, "no thread");
    pthread_join(s->caller.thread, NULL);
    note(painted_used(&s->caller), &t->caller, t->caller_where, sizeof t->caller_where, s);
    for (uint32_t i = 0; i < s->started; i++) {
        const uint64_t used = painted_used(&s->pool[i]);
        pool = used > pool ? used : pool;
    }
    if (pool > s->pool_seen) { // the stacks of a pool are painted once, so only what is more shows
        s->pool_seen = pool;
        note(pool, &t->pool, t->pool_where, sizeof t->pool_where, s);
    }
}

/* Full tables and refused growth are a part of what is measured. */
static void check_answer(bh_status status)
{
    check(status == BH_OK || status == BH_ERR_FULL || status == BH_ERR_MEMORY, "%s",
          bh_status_name(status));
}

static void make_context(scene *s)
{
    s->context = context_new(s->threads, NULL, &s->system);
}

static void destroy_context(scene *s)
{
    bh_context_destroy(s->context);
}

static void make_table(scene *s)
{
    check_status(bh_table_create(s->context, &s->options, &s->table), BH_OK);
}

static void destroy_table(scene *s)
{
    bh_table_destroy(s->table);
}

static void call_batch(scene *s)
{
    s->status = batch_call(s->table, s->operation, &s->arrays);
    check_answer(s->status);
}

/* Without outcomes: values are joined first where there are many elements. */
static void call_sums(scene *s)
{
    s->status = bh_reduce(s->table, BH_ADD, s->arrays.keys, s->arrays.values, s->arrays.n, NULL);
    check_answer(s->status);
}

static void call_reserve(scene *s)
{
    check_answer(bh_reserve(s->table, s->number));
}

static void call_compact(scene *s)
{
    check_answer(bh_compact(s->table));
}

static void call_clear(scene *s)
{
    check_status(bh_clear(s->table), BH_OK);
}

static void call_stats(scene *s)
{
    bh_table_stats stats;
    stats.struct_size = sizeof stats;
    check_status(bh_table_get_stats(s->table, &stats), BH_OK);
}

/* As much as the arrays have room for. */
static void call_export(scene *s)
{
    uint64_t cursor = 0, count = 0;
    check_status(
        bh_export(s->table, &cursor, s->arrays.keys, s->arrays.values, s->arrays.n, &count), BH_OK);
}

static void call_sort(scene *s)
{
    check_status(bh_sort(s->context, s->arrays.keys, s->arrays.key_bytes, s->arrays.values,
                         s->arrays.value_bytes, s->arrays.n),
                 BH_OK);
}

/* A wrong call: sentences about errors are formatted on the stack. */
static void call_wrong(scene *s)
{
    bh_table_options options = s->options;
    bh_table *table = NULL;

    options.max_fill = 0.123456789;
    options.min_fill = 7.5;
    check_status(bh_table_create(s->context, &options, &table), BH_ERR_ARGUMENT);
}

static const char *environment(void *state, const char *name)
{
    const scene *s = state;
    return strcmp(name, "BULKHASH_TARGET") == 0 ? s->target : getenv(name);
}

static void scene_start(scene *s, const char *target, uint32_t threads)
{
    memset(s, 0, sizeof *s);
    bh_system_default(&s->system);
    s->system.state = s; // the library's own functions have no use for it
    s->system.thread_start = pool_start;
    s->system.thread_join = pool_join;
    s->system.environment = environment;
    s->target = target;
    s->threads = threads;
    s->what = "";
    painted_make(&s->caller);
    for (int i = 0; i < POOL_MOST; i++) {
        painted_make(&s->pool[i]);
    }
    measured(s, "context_create", make_context);
}

static void scene_end(scene *s)
{
    measured(s, "context_destroy", destroy_context);
    painted_free(&s->caller);
    for (int i = 0; i < POOL_MOST; i++) {
        painted_free(&s->pool[i]);
    }
}

static void scene_table(scene *s, const bh_table_options *options)
{
    s->options = *options;
    measured(s, "table_create", make_table);
}

/* --- keys --------------------------------------------------------------------------------- */

/* How the keys of a call are chosen; `first` is the number of the first one. */
typedef enum keys_kind {
    KEYS_DISTINCT,
    KEYS_FEW,    /* 7 keys, each many times */
    KEYS_LADDER, /* one key for each bit, and all others 0: what a sort finds hardest to cut */
    KEYS_FALLING
} keys_kind;

static uint64_t kind_key(keys_kind kind, uint32_t key_bytes, uint64_t first, uint64_t i)
{
    switch (kind) {
    case KEYS_DISTINCT: return random_key(key_bytes, test_seed(), first + i);
    case KEYS_FEW: return random_key(key_bytes, test_seed(), first + i % 7);
    case KEYS_LADDER: return i < 8 * key_bytes ? UINT64_C(1) << i : 0;
    default: return test_width_mask(key_bytes) - i;
    }
}

static void fill(scene *s, keys_kind kind, uint64_t first, uint64_t n)
{
    static const bh_op mixed[] = {BH_INSERT,         BH_FIND, BH_UPDATE, BH_ERASE, BH_INSERT_NEW,
                                  BH_FIND_OR_INSERT, BH_ADD,  BH_MIN,    BH_MAX};

    s->arrays = batch_new(s->options.key_bytes, s->options.value_bytes, n);
    for (uint64_t i = 0; i < n; i++) {
        batch_set(&s->arrays, i, kind_key(kind, s->options.key_bytes, first, i), i);
        s->arrays.ops[i] = (uint8_t)mixed[i / 3 % (s->options.value_bytes > 0 ? 9 : 6)];
    }
}

static void drop(scene *s)
{
    batch_free(&s->arrays);
    s->arrays.n = 0;
}

static void change(scene *s, int operation, keys_kind kind, uint64_t first, uint64_t n)
{
    if (s->options.value_bytes == 0 && batch_is_reduction(operation)) {
        return;
    }
    fill(s, kind, first, n);
    s->operation = operation;
    measured(s, batch_operation_name(operation), call_batch);
    drop(s);
}

/* A mixed call of two operations, so that a slice has many elements of each. */
static void change_by_two(scene *s, bh_op one, bh_op other, keys_kind kind, uint64_t n)
{
    if (s->options.value_bytes == 0) {
        return;
    }
    fill(s, kind, 0, n);
    for (uint64_t i = 0; i < n; i++) {
        s->arrays.ops[i] = (uint8_t)(i % 2 == 0 ? one : other);
    }
    s->operation = BATCH_APPLY;
    measured(s, batch_operation_name(BATCH_APPLY), call_batch);
    drop(s);
}

/* --- the tests ---------------------------------------------------------------------------- */

/* A table's life: small calls and large ones, growing, shrinking, all that can be asked of it. */
static void life(scene *s)
{
    static const uint64_t sizes[] = {1, 60, 500, 700, 3000, 40000};
    static const int changes[] = {BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_UPDATE, BH_ADD,
                                  BH_MIN,    BH_FIND,       BATCH_APPLY,       BH_ERASE};
    static const uint64_t rooms[] = {1, 1000, 100000};
    uint64_t first = 0;

    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        for (size_t c = 0; c < TEST_COUNT(changes); c++) {
            // Half of the keys are there when the next operation comes; so tables grow all the time.
            change(s, changes[c], KEYS_DISTINCT, first + c * sizes[i] / 2, sizes[i]);
            if (sizes[i] > 60) {
                change(s, changes[c], KEYS_FEW, first, sizes[i]);
            }
        }
        change_by_two(s, BH_ADD, BH_ERASE, KEYS_FEW, sizes[i]);
        change_by_two(s, BH_ADD, BH_FIND, KEYS_FEW, sizes[i]);
        first += sizes[i] * TEST_COUNT(changes);
    }
    change_by_two(s, BH_ADD, BH_ERASE, KEYS_FEW, 5000);
    if (s->options.value_bytes > 0) {
        fill(s, KEYS_FEW, 0, 300000);
        measured(s, "reduce, joined", call_sums);
        drop(s);
    }
    s->number = 200000;
    measured(s, "reserve", call_reserve);
    measured(s, "stats", call_stats);
    change(s, BH_INSERT, KEYS_DISTINCT, 0, 100000);
    change(s, BATCH_APPLY, KEYS_DISTINCT, 50000, 100000);
    for (size_t i = 0; i < TEST_COUNT(rooms); i++) {
        fill(s, KEYS_DISTINCT, 0, rooms[i]);
        measured(s, "export", call_export);
        drop(s);
    }
    measured(s, "compact", call_compact);
    change(s, BH_ERASE, KEYS_DISTINCT, 0, 100000); // shrinks
    change(s, BH_ERASE, KEYS_DISTINCT, 100000, 49000);
    measured(s, "compact", call_compact);
    measured(s, "clear", call_clear);
    change(s, BH_INSERT, KEYS_DISTINCT, 0, 40000);
    measured(s, "clear", call_clear);
    measured(s, "stats", call_stats);
    measured(s, "table_create", call_wrong);
    measured(s, "table_destroy", destroy_table);
}

static void live(scene *s, bh_duplicates duplicates, bh_schedule schedule, const char *what)
{
    s->what = what;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        bh_table_options options =
            table_options(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, 1);

        options.duplicates = duplicates;
        options.schedule = schedule;
        scene_table(s, &options);
        life(s);
    }
}

/* Tables as full as they may be, and fuller than they can be: keys are searched a place for as long
 * as that takes, and calls stop short. */
static void overfill(scene *s)
{
    static const double fills[] = {0.93, 0.97};

    s->what = "full";
    for (int w = 0; w < TEST_WIDTHS; w++) {
        for (int ordered = 0; ordered < 2; ordered++) {
            bh_table_options options =
                table_options(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, 1);

            if (test_design() == BH_DYCUCKOO) {
                options.max_fill = fills[(w + ordered) % 2];
            }
            options.max_host_bytes = options.max_device_bytes = 400000;
            options.duplicates = ordered ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
            scene_table(s, &options);
            s->status = BH_OK;
            for (uint64_t first = 0; s->status == BH_OK; first += 1000) {
                change(s, BH_INSERT, KEYS_DISTINCT, first, 1000);
            }
            change(s, BH_INSERT, KEYS_DISTINCT, 1 << 20, 30);
            change(s, BH_INSERT_NEW, KEYS_DISTINCT, 1 << 20, 30);
            change(s, BH_ADD, KEYS_DISTINCT, 1 << 20, 30);
            change(s, BATCH_APPLY, KEYS_DISTINCT, 0, 500);
            s->number = 1000000;
            measured(s, "reserve", call_reserve);
            measured(s, "compact", call_compact);
            change(s, BH_ERASE, KEYS_DISTINCT, 0, 1000);
            change(s, BH_INSERT, KEYS_DISTINCT, 1 << 21, 500);
            measured(s, "table_destroy", destroy_table);
        }
    }
}

/* Growth of tables that are kept as full as can be. */
static void grow_full(scene *s)
{
    s->what = "full and growing";
    for (int w = 0; w < TEST_WIDTHS; w++) {
        bh_table_options options =
            table_options(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, 1);

        if (test_design() == BH_DYCUCKOO) {
            options.max_fill = 0.97;
        }
        scene_table(s, &options);
        for (uint64_t first = 0; first < 60000; first += 6000) {
            change(s, BH_INSERT, KEYS_DISTINCT, first, 6000);
        }
        change(s, BH_ADD, KEYS_DISTINCT, 50000, 40000);
        measured(s, "compact", call_compact);
        measured(s, "table_destroy", destroy_table);
    }
}

static void sort(scene *s)
{
    static const uint64_t sizes[] = {2, 500, 1000, 3000, 9000, 50000, 200000};

    s->what = "sorting";
    for (int w = 0; w < TEST_WIDTHS; w++) {
        s->options.key_bytes = test_all_widths[w].key_bytes;
        s->options.value_bytes = test_all_widths[w].value_bytes;
        for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
            for (int kind = KEYS_DISTINCT; kind <= KEYS_FALLING; kind++) {
                fill(s, (keys_kind)kind, 0, sizes[i]);
                measured(s, "sort", call_sort);
                drop(s);
            }
        }
    }
}

static void play(const char *target, uint32_t threads)
{
    scene s;

    scene_start(&s, target, threads);
    live(&s, BH_DUPLICATES_ANY, BH_SCHEDULE_AUTO, "any order");
    live(&s, BH_DUPLICATES_ORDERED, BH_SCHEDULE_AUTO, "ordered");
    if ((bh__policy_of(test_design())->regions & (test_on_gpu() ? BH_ON_GPU : BH_ON_CORES)) != 0) {
        live(&s, BH_DUPLICATES_NONE, BH_SCHEDULE_REGIONS, "by region");
    }
    overfill(&s);
    grow_full(&s);
    if (test_design() == BH_DYCUCKOO) { // the design is nothing to it
        sort(&s);
    }
    scene_end(&s);
}

/* Which instruction sets there are is asked of the library. */
static bool target_runs(const char *target)
{
    bh_context_options options;
    bh_context *context = NULL;
    scene asked;

    memset(&asked, 0, sizeof asked);
    bh_system_default(&asked.system);
    asked.system.state = &asked;
    asked.system.environment = environment;
    asked.target = target;
    bh_context_options_init(&options);
    options.system = &asked.system;
    options.threads = 1;
    bh_status status = bh_context_create("cpu", &options, &context);
    check(status == BH_OK || status == BH_ERR_UNSUPPORTED, "%s", bh_status_name(status));
    bh_context_destroy(context);
    return status == BH_OK;
}

static void every_call(void **state)
{
    static const char *const targets[] = {"scalar", "avx2", "avx512"};
    (void)state;

    if (test_on_gpu()) { // neither cores nor threads make a difference there
        play("", 2);
        return;
    }
    for (size_t t = 0; t < TEST_COUNT(targets); t++) {
        for (uint32_t threads = 1; threads <= POOL_MOST && target_runs(targets[t]);
             threads *= POOL_MOST) {
            play(targets[t], threads);
        }
    }
}

/* Last: what all of them took. */
static void within_the_promise(void **state)
{
    int beyond = 0;
    (void)state;

    for (size_t i = 0; i < tally_count; i++) {
        const tally *t = &tallies[i];
        printf("%-16s %7llu bytes in the calling thread (%s)\n", t->name,
               (unsigned long long)t->caller, t->caller_where);
        if (t->pool > 0) {
            printf("%-16s %7llu bytes in a thread of the pool (%s)\n", "",
                   (unsigned long long)t->pool, t->pool_where);
        }
        beyond += t->caller > PROMISED || t->pool > PROMISED;
    }
    check(beyond == 0, "%d of these calls take more than %u bytes of stack", beyond, PROMISED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call),
        cmocka_unit_test(within_the_promise),
    };
    if (TEST_SANITIZER) {
        printf("skipped: a sanitizer's frames are larger\n");
        return TEST_SKIPPED;
    }
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
