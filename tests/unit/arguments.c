/*
 * Bad input: everything a caller can get wrong is answered with a status and a sentence, and
 * changes nothing. After each refused call the table's content is compared with what it was, and
 * the caller's outcomes and values are looked at byte by byte. Nothing here depends on the
 * instruction set, so this program runs once.
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "tables/table.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"

static bh_context *context;

static int arguments_start(void **state)
{
    (void)state;
    context = context_new(2, NULL, NULL);
    return 0;
}

static int arguments_end(void **state)
{
    (void)state;
    bh_context_destroy(context);
    return 0;
}

/* Fails unless creating the table answers `expected`, and *table is NULL or a table accordingly. */
static void check_create(const bh_table_options *options, bh_status expected, const char *what)
{
    bh_table *table = (bh_table *)(void *)context; // anything but NULL
    bh_status status = bh_table_create(context, options, &table);

    check(status == expected, "%s: %s instead of %s: %s", what, bh_status_name(status),
          bh_status_name(expected), bh_error_detail());
    if (status == BH_OK) {
        check(table != NULL, "%s: no table", what);
        bh_table_destroy(table);
    } else {
        check(table == NULL, "%s: a failed create leaves a table", what);
        check(strlen(bh_error_detail()) > 10, "%s: no sentence: \"%s\"", what, bh_error_detail());
    }
}

/* The number that the last sentence names as the limit of min_fill is a legal one. */
static void ask_for_what_is_said(bh_table_options *options)
{
    static const char words[] = "must be at most ";
    const char *at = strstr(bh_error_detail(), words);

    check(at != NULL, "no limit in: %s", bh_error_detail());
    options->min_fill = strtod(at + strlen(words), NULL);
    check_create(options, BH_OK, "min_fill as the sentence says its limit");
}

static void widths(void **state)
{
    static const uint32_t others[] = {1,  2,  3,  5,    6,          7,          9,
                                      12, 16, 32, 1024, 0x80000004, 0x80000008, UINT32_MAX};
    bh_table_options options;
    (void)state;

    for (int w = 0; w < TEST_WIDTHS; w++) {
        options = table_options(test_all_widths[w].key_bytes, test_all_widths[w].value_bytes, 10);
        check_create(&options, BH_OK, "a width that every table has");
    }
    for (size_t i = 0; i < TEST_COUNT(others); i++) {
        options = table_options(others[i], 4, 10);
        check_create(&options, BH_ERR_UNSUPPORTED, "an odd key width");
        options = table_options(8, others[i], 10);
        check_create(&options, BH_ERR_UNSUPPORTED, "an odd value width");
    }
    options = table_options(0, 4, 10);
    check_create(&options, BH_ERR_UNSUPPORTED, "keys without bytes");
}

static void table_options_out_of_range(void **state)
{
    static const double bad_fills[] = {-0.1, -1e300, 0.98, 1.0, 2.0, 1e300};
    bh_table_options options;
    bh_table *table = NULL;
    (void)state;

    check_create(NULL, BH_ERR_ARGUMENT, "options NULL");
    options = table_options(4, 4, 10);
    check_status(bh_table_create(NULL, &options, &table), BH_ERR_ARGUMENT);
    check_status(bh_table_create(context, &options, NULL), BH_ERR_ARGUMENT);

    for (size_t i = 0; i < TEST_COUNT(bad_fills); i++) {
        options = table_options(4, 4, 10);
        options.max_fill = bad_fills[i];
        check_create(&options, BH_ERR_ARGUMENT, "max_fill outside (0, 0.97]");
    }
    options.max_fill = NAN;
    check_create(&options, BH_ERR_ARGUMENT, "max_fill is no number");
    options.max_fill = INFINITY;
    check_create(&options, BH_ERR_ARGUMENT, "max_fill infinite");
    options.max_fill = -INFINITY;
    check_create(&options, BH_ERR_ARGUMENT, "max_fill minus infinite");
    options.max_fill = 0.97;
    check_create(&options, BH_OK, "the largest max_fill");
    options.max_fill = 0.05;
    check_create(&options, BH_OK, "a small max_fill and the default min_fill, always legal");

    options = table_options(4, 4, 10);
    options.min_fill = NAN;
    check_create(&options, BH_ERR_ARGUMENT, "min_fill is no number");
    options.min_fill = INFINITY;
    check_create(&options, BH_ERR_ARGUMENT, "min_fill infinite");
    options.min_fill = -1;
    check_create(&options, BH_OK, "min_fill below 0: never shrink");
    // min_fill <= max_fill * d / (d + 1), for the default d = 4 and for others.
    for (uint32_t d = 2; d <= 8; d++) {
        for (int default_max = 0; default_max < 2; default_max++) {
            const double max_fill = default_max ? 0.85 : 0.6;
            const double limit = max_fill * d / (d + 1);
            options = table_options(8, 4, 10);
            options.dycuckoo.subtables = d == 4 ? 0 : d;
            options.max_fill = default_max ? 0 : max_fill;
            options.min_fill = limit - 0.001;
            check_create(&options, BH_OK, "min_fill just below its limit");
            options.min_fill = limit + 0.001;
            check_create(&options, BH_ERR_ARGUMENT, "min_fill just above its limit");
            ask_for_what_is_said(&options);
        }
    }

    for (int design = BH_STADIUM; design <= BH_HASHFIGHT; design++) {
        options = table_options(8, 4, 10);
        options.design = (bh_design)design;
        options.max_fill = design == BH_DACHASH ? 2.34567 : 0.712345;
        options.min_fill = 4;
        check_create(&options, BH_ERR_ARGUMENT, "min_fill far above its limit");
        ask_for_what_is_said(&options);
    }

    for (uint32_t d = 0; d <= 8; d++) {
        options = table_options(4, 4, 1000);
        options.dycuckoo.subtables = d;
        check_create(&options, d == 1 ? BH_ERR_ARGUMENT : BH_OK, "subtables 0 to 8");
    }
    options.dycuckoo.subtables = 9;
    check_create(&options, BH_ERR_ARGUMENT, "9 subtables");
    options.dycuckoo.subtables = UINT32_MAX;
    check_create(&options, BH_ERR_ARGUMENT, "2^32 - 1 subtables");
    options.dycuckoo.subtables = 0;
    options.dycuckoo.reserved = 1;
    check_create(&options, BH_ERR_ARGUMENT, "something in what is reserved");

    options = table_options(4, 4, UINT64_MAX);
    check_create(&options, BH_ERR_ARGUMENT, "a capacity beyond all memory");
    options = table_options(8, 8, UINT64_MAX / 2);
    check_create(&options, BH_ERR_ARGUMENT, "a capacity beyond all memory");
    options = table_options(8, 8, UINT64_MAX / 16);
    check_create(&options, BH_ERR_ARGUMENT, "a capacity beyond all memory");

    options = table_options(8, 8, 1000000);
    options.max_host_bytes = 1000000;
    check_create(&options, BH_ERR_FULL, "a capacity beyond the budget");
    options.max_host_bytes = 1;
    options.capacity = 1;
    check_create(&options, BH_ERR_FULL, "a budget of one byte");
}

/* A table that was made with these options, whatever their fills, takes keys and gives them back. */
static void check_works(const bh_table_options *options)
{
    const uint64_t n = 3000;
    bh_table *table = table_with(context, options);
    batch all = batch_new(options->key_bytes, options->value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, i, i);
    }
    check_status(bh_reserve(table, n / 2), BH_OK);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    table_check_stats(table);
    check_status(bh_compact(table), BH_OK);
    check_status(batch_call(table, BH_ERASE, &all), BH_OK);
    batch_check_all(&all, BH_ERASED);
    table_check_stats(table);
    check(options->min_fill >= 0 || table_stats(table).shrinks == 0,
          "min_fill %g, and the table shrank", options->min_fill);
    check_status(batch_call(table, BH_INSERT, &all), BH_OK);
    batch_check_all(&all, BH_INSERTED);
    check_status(bh_clear(table), BH_OK);
    batch_free(&all);
    bh_table_destroy(table);
}

/* Fills are converted to numbers of keys, which not every number can be. */
static void extreme_fills(void **state)
{
    static const double legal[] = {-1,       -0.5,      -5e-324, -1e-300, -1e10,  -1e19,  -1e300,
                                   -DBL_MAX, -INFINITY, -0.0,    5e-324,  1e-300, DBL_MIN};
    // So empty that no table could be large enough.
    static const double too_low[] = {5e-324, DBL_MIN, 1e-300, 1e-30, 1e-15};
    static const double no_slots_per_key[] = {NAN,    INFINITY, -INFINITY, 1e300,
                                              -1e300, 5e-324,   -5e-324,   DBL_MAX};
    bh_table_options options;
    bh_design design;
    (void)state;

    for (uint32_t at = 0; (design = bh__design_at(at, NULL)) != BH_AUTO; at++) {
        for (size_t i = 0; i < TEST_COUNT(legal); i++) {
            options = table_options(4, 4, 1);
            options.design = design;
            options.min_fill = legal[i];
            check_works(&options);
            options.dycuckoo.subtables = 8;
            options.hashfight.slots_per_key = 2;
            options.hashfight.tail_keys = UINT64_MAX;
            check_works(&options);
        }
        for (size_t i = 0; i < TEST_COUNT(too_low); i++) {
            options = table_options(4, 4, 1);
            options.design = design;
            options.max_fill = too_low[i];
            check_create(&options, BH_ERR_ARGUMENT, "max_fill next to nothing");
            options.capacity = UINT64_MAX;
            check_create(&options, BH_ERR_ARGUMENT, "the same for all keys that there are");
        }
    }
    options = table_options(4, 4, 1);
    options.max_fill = 1e-8;
    options.max_host_bytes = 1000000;
    check_create(&options, BH_ERR_FULL, "so low a max_fill that one key needs a gigabyte");
    for (size_t i = 0; i < TEST_COUNT(no_slots_per_key); i++) {
        options = table_options(4, 4, 1);
        options.design = BH_HASHFIGHT;
        options.hashfight.slots_per_key = no_slots_per_key[i];
        check_create(&options, BH_ERR_ARGUMENT, "slots_per_key out of range");
    }
}

static void unknown_enums(void **state)
{
    static const bh_design absent[] = {BH_WORKINGSET};
    bh_table_options options;
    (void)state;

    for (size_t i = 0; i < TEST_COUNT(absent); i++) {
        options = table_options(4, 4, 10);
        options.design = absent[i];
        check_create(&options, BH_ERR_UNSUPPORTED, "a design of a later version");
    }
    options = table_options(4, 4, 10);
    options.design = BH_DYCUCKOO;
    check_create(&options, BH_OK, "dycuckoo by name");
    options.design = (bh_design)6;
    check_create(&options, BH_ERR_ARGUMENT, "design 6");
    options.design = (bh_design)1000;
    check_create(&options, BH_ERR_UNSUPPORTED, "a design that only a build for tests has");
    options.design = (bh_design)2000;
    check_create(&options, BH_ERR_ARGUMENT, "design 2000");
    options.design = (bh_design)0x7fffffff;
    check_create(&options, BH_ERR_ARGUMENT, "design 2^31 - 1");
    options = table_options(4, 4, 10);
    options.duplicates = (bh_duplicates)3;
    check_create(&options, BH_ERR_ARGUMENT, "duplicates 3");
    options = table_options(4, 4, 10);
    options.schedule = (bh_schedule)3;
    check_create(&options, BH_ERR_ARGUMENT, "schedule 3");
    options.schedule = BH_SCHEDULE_REGIONS;
    check_create(&options, BH_OK, "schedule by region");
}

static void experiments(void **state)
{
    bh_table_options options = table_options(4, 4, 1000);
    bh_experimental_options experimental;
    bh_table *table = NULL;
    (void)state;

    options.design = BH_DYCUCKOO;
    options.experimental = &experimental;
    bh_experimental_options_init(&experimental);
    check_create(&options, BH_OK, "no experiment");
    experimental.values = BH_VALUES_APART;
    experimental.spread = BH_SPREAD_THEOREM1;
    check_create(&options, BH_OK, "both experiments at once");
    experimental.values = (bh_value_place)3;
    check_create(&options, BH_ERR_ARGUMENT, "an unknown place of values");
    experimental.values = BH_VALUES_DEFAULT;
    experimental.spread = (bh_spread)2;
    check_create(&options, BH_ERR_ARGUMENT, "an unknown spread");

    bh_experimental_options_init(&experimental);
    experimental.regions = 65536;
    check_create(&options, BH_OK, "many regions");
    experimental.regions = 1;
    check_create(&options, BH_ERR_ARGUMENT, "one region");
    experimental.regions = 48;
    check_create(&options, BH_ERR_ARGUMENT, "48 regions");
    experimental.regions = 1u << 17;
    check_create(&options, BH_ERR_ARGUMENT, "131,072 regions");
    bh_experimental_options_init(&experimental);
    experimental.gpu_schedule = (bh_gpu_schedule)11;
    check_create(&options, BH_ERR_ARGUMENT, "an unknown gpu_schedule");
    experimental.gpu_schedule = BH_GPU_SCHEDULE_TILE8;
    check_create(&options, BH_ERR_UNSUPPORTED, "a schedule of a GPU");
    options.schedule = BH_SCHEDULE_WINDOW;
    check_create(&options, BH_ERR_ARGUMENT, "two schedules at once");

    options = table_options(4, 0, 1000);
    options.experimental = &experimental;
    bh_experimental_options_init(&experimental);
    experimental.values = BH_VALUES_APART;
    check_create(&options, BH_ERR_ARGUMENT, "values apart in a set");

    // What was given is copied: the table goes on with it when it is gone.
    options = table_options(4, 4, 1);
    options.design = BH_DYCUCKOO;
    options.experimental = &experimental;
    table = table_with(context, &options);
    memset(&experimental, 0xff, sizeof experimental);
    for (uint32_t key = 0; key < 20000; key++) // grows
        check_status(bh_insert(table, &key, &key, 1, NULL), BH_OK);
    for (uint32_t key = 0; key < 20000; key++) {
        uint32_t value = 0;

        check_status(bh_find(table, &key, 1, &value, NULL), BH_OK);
        check(value == key, "key %u has the value %u", key, value);
    }
    bh_table_destroy(table);
}

/* 0, an unknown and a larger struct_size are refused everywhere. */
static void struct_sizes(void **state)
{
    bh_context *made = NULL;
    bh_table *table = table_new(context, 4, 4, 10);
    (void)state;

    for (int i = 0; i < 5; i++) {
        bh_table_options options = table_options(4, 4, 10);
        bh_context_options context_options;
        bh_context_info info;
        bh_table_stats stats;
        bh_experimental_options experimental;
        bh_system system;
        const int64_t off[] = {8, -1, -3, 1 << 20, 0};
        const bool zero = i == 4;

        options.struct_size = zero ? 0 : options.struct_size + (uint64_t)off[i];
        check_create(&options, BH_ERR_ARGUMENT, "table options of an unknown size");

        options = table_options(4, 4, 10);
        options.experimental = &experimental;
        bh_experimental_options_init(&experimental);
        experimental.struct_size = zero ? 0 : experimental.struct_size + (uint64_t)off[i];
        check_create(&options, BH_ERR_ARGUMENT, "experimental options of an unknown size");

        bh_context_options_init(&context_options);
        context_options.struct_size = zero ? 0 : context_options.struct_size + (uint64_t)off[i];
        made = context;
        check_status(bh_context_create("cpu", &context_options, &made), BH_ERR_ARGUMENT);
        check(made == NULL, "a failed create leaves a context");

        bh_context_options_init(&context_options);
        bh_system_default(&system);
        system.struct_size = zero ? 0 : system.struct_size + (uint64_t)off[i];
        context_options.system = &system;
        made = context;
        check_status(bh_context_create("cpu", &context_options, &made), BH_ERR_ARGUMENT);
        check(made == NULL, "a failed create leaves a context");

        memset(&info, 0x77, sizeof info);
        info.struct_size = zero ? 0 : sizeof info + (uint64_t)off[i];
        check_status(bh_context_get_info(context, &info), BH_ERR_ARGUMENT);
        check(info.threads == 0x77777777u, "a refused call wrote the info");

        memset(&stats, 0x77, sizeof stats);
        stats.struct_size = zero ? 0 : sizeof stats + (uint64_t)off[i];
        check_status(bh_table_get_stats(table, &stats), BH_ERR_ARGUMENT);
        check(stats.keys == 0x7777777777777777u, "a refused call wrote the stats");
    }
    bh_table_destroy(table);
}

/* The init functions write no further than the caller's struct, whatever its version. */
static void init_never_overruns(void **state)
{
    (void)state;
    for (uint64_t size = 0; size <= 512; size += 8) {
        unsigned char memory[1024];
        _Alignas(16) unsigned char aligned[1024];
        for (int which = 0; which < 4; which++) {
            memset(aligned, 0x3c, sizeof aligned);
            if (which == 0) {
                bh_table_options_init_sized((bh_table_options *)(void *)aligned, size, 4, 4, 1);
            } else if (which == 1) {
                bh_context_options_init_sized((bh_context_options *)(void *)aligned, size);
            } else if (which == 2) {
                bh_experimental_options_init_sized((bh_experimental_options *)(void *)aligned,
                                                   size);
            } else {
                bh_system_default_sized((bh_system *)(void *)aligned, size);
            }
            memset(memory, 0x3c, sizeof memory);
            check(memcmp(aligned + size, memory, sizeof memory - size) == 0,
                  "init %d of a struct of %llu bytes wrote beyond it", which,
                  (unsigned long long)size);
        }
    }
}

static void context_arguments(void **state)
{
    static const char *const unknown[] = {"",        "gpu",        "CPU",      "cpu ",
                                          "cpux",    "cud",        "cuda:",    "cuda:x",
                                          "cuda:1 ", "cuda:99999", "/dev/null"};
    static const char *const absent[] = {"cuda", "cuda:0", "cuda:12"};
    bh_context_options options;
    bh_context *made = NULL;
    const char *reason = "";
    bh_executor executor = {NULL, NULL, NULL};
    (void)state;

    check_status(bh_context_create("cpu", NULL, NULL), BH_ERR_ARGUMENT);
    made = context;
    check_status(bh_context_create(NULL, NULL, &made), BH_ERR_ARGUMENT);
    check(made == NULL, "a failed create leaves a context");
    for (size_t i = 0; i < TEST_COUNT(unknown); i++) {
        made = context;
        check_status(bh_context_create(unknown[i], NULL, &made), BH_ERR_ARGUMENT);
        check(made == NULL, "a failed create leaves a context");
    }
    setenv("BULKHASH_CUDA_MODULE", "./no-such-module.so", 1);
    for (size_t i = 0; i < TEST_COUNT(absent); i++) {
        made = context;
        check_status(bh_context_create(absent[i], NULL, &made), BH_ERR_UNSUPPORTED);
        check(made == NULL, "a failed create leaves a context");
    }
    unsetenv("BULKHASH_CUDA_MODULE");
    /* Beside the program, in ../lib, and where the system looks: each is named. */
    check(bh__library_symbol("libno-such-module.so", "any", &reason) == NULL, "there is one");
    for (int places = 0; places < 3; places++) {
        reason = strstr(reason, "libno-such-module.so");
        check(reason != NULL, "%d places are named", places);
        reason++;
    }
    bh_context_options_init(&options);
    options.pages = (bh_pages)3;
    check_status(bh_context_create("cpu", &options, &made), BH_ERR_ARGUMENT);
    bh_context_options_init(&options);
    options.cuda_stream = &options;
    check_status(bh_context_create("cpu", &options, &made), BH_ERR_ARGUMENT);
    bh_context_options_init(&options);
    options.executor = &executor;
    check_status(bh_context_create("cpu", &options, &made), BH_ERR_ARGUMENT);
    check_status(bh_context_get_info(context, NULL), BH_ERR_ARGUMENT);
    bh_context_destroy(NULL);
    bh_table_destroy(NULL);
}

/* A table with known content and a batch of keys that are there (even) and are not (odd). */
typedef struct fixture {
    bh_table *table;
    pairs before;
    batch all;
} fixture;

enum { FIXTURE_KEYS = 64 };

static fixture fixture_new(uint32_t key_bytes, uint32_t value_bytes)
{
    fixture f;
    batch present = batch_new(key_bytes, value_bytes, FIXTURE_KEYS / 2);

    f.table = table_new(context, key_bytes, value_bytes, FIXTURE_KEYS);
    f.all = batch_new(key_bytes, value_bytes, FIXTURE_KEYS);
    for (uint64_t i = 0; i < FIXTURE_KEYS; i++) {
        batch_set(&f.all, i, random_key(key_bytes, 4, i), i + 1000);
        if (i % 2 == 0) {
            batch_set(&present, i / 2, random_key(key_bytes, 4, i), i);
        }
    }
    check_status(batch_call(f.table, BH_INSERT, &present), BH_OK);
    memset(f.all.outcomes, BATCH_UNTOUCHED, FIXTURE_KEYS);
    f.before = table_pairs(f.table, key_bytes, value_bytes, 100);
    batch_free(&present);
    return f;
}

static void fixture_free(fixture *f)
{
    bh_table_destroy(f->table);
    pairs_free(&f->before);
    batch_free(&f->all);
}

/* Fails unless table, outcomes and values are as the fixture was made. */
static void fixture_check_unchanged(fixture *f, const char *what)
{
    pairs after = table_pairs(f->table, f->all.key_bytes, f->all.value_bytes, 100);

    pairs_check_equal(&f->before, &after);
    pairs_free(&after);
    for (uint64_t i = 0; i < FIXTURE_KEYS; i++) {
        check(f->all.outcomes[i] == BATCH_UNTOUCHED, "%s: a refused call wrote outcome %llu", what,
              (unsigned long long)i);
        check(batch_key(&f->all, i) == random_key(f->all.key_bytes, 4, i),
              "%s: a refused call wrote key %llu", what, (unsigned long long)i);
        check(f->all.value_bytes == 0 || batch_value(&f->all, i) == i + 1000,
              "%s: a refused call wrote value %llu", what, (unsigned long long)i);
    }
}

/* One call with the arrays given instead of the fixture's; op as in batch_call(). */
static bh_status call_with(bh_table *table, int op, const uint8_t *ops, const void *keys,
                           void *values, uint64_t n, uint8_t *outcomes)
{
    switch (op) {
    case BH_FIND: return bh_find(table, keys, n, values, outcomes);
    case BH_INSERT: return bh_insert(table, keys, values, n, outcomes);
    case BH_INSERT_NEW: return bh_insert_new(table, keys, values, n, outcomes);
    case BH_FIND_OR_INSERT: return bh_find_or_insert(table, keys, values, n, outcomes);
    case BH_UPDATE: return bh_update(table, keys, values, n, outcomes);
    case BH_ERASE: return bh_erase(table, keys, n, outcomes);
    case BATCH_APPLY: return bh_apply(table, ops, keys, values, n, outcomes);
    default: return bh_reduce(table, (bh_op)op, keys, values, n, outcomes);
    }
}

static const int every_call[] = {
    BH_FIND, BH_INSERT,     BH_INSERT_NEW, BH_UPDATE,    BH_ERASE,          BH_ADD,     BH_MIN,
    BH_MAX,  BH_MIN_SIGNED, BH_MAX_SIGNED, BH_ADD_FLOAT, BH_FIND_OR_INSERT, BATCH_APPLY};

/* What each call does with `values`. */
static bool takes_values(int op)
{
    return op != BH_ERASE;
}

static bool writes_values(int op)
{
    return batch_reads(op);
}

static void refused(fixture *f, const char *what, bh_status status)
{
    check_status(status, BH_ERR_ARGUMENT);
    fixture_check_unchanged(f, what);
}

static void null_arrays(void **state)
{
    (void)state;
    for (size_t c = 0; c < TEST_COUNT(every_call); c++) {
        const int op = every_call[c];
        fixture f = fixture_new(4, 8);
        batch *all = &f.all;
        const uint64_t n = FIXTURE_KEYS;

        memset(all->ops, BH_INSERT, n);
        refused(&f, "table NULL",
                call_with(NULL, op, all->ops, all->keys, all->values, n, all->outcomes));
        refused(&f, "keys NULL",
                call_with(f.table, op, all->ops, NULL, all->values, n, all->outcomes));
        if (takes_values(op) && op != BH_FIND && op != BH_ADD) { // BH_ADD counts then
            refused(&f, "values NULL",
                    call_with(f.table, op, all->ops, all->keys, NULL, n, all->outcomes));
        }
        if (op == BATCH_APPLY) {
            refused(&f, "ops NULL",
                    call_with(f.table, op, NULL, all->keys, all->values, n, all->outcomes));
            memset(all->ops, BH_FIND, n); // values is an output then, and still not optional
            refused(&f, "values NULL",
                    call_with(f.table, op, all->ops, all->keys, NULL, n, all->outcomes));
        }
        fixture_free(&f);
    }
}

/* n = 0 is BH_OK whatever the arrays are. */
static void no_elements(void **state)
{
    uint64_t words[4] = {0, 0, 0, 0};
    char *bytes = (char *)words;
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths wide = test_all_widths[w];
        fixture f = fixture_new(wide.key_bytes, wide.value_bytes);
        for (size_t c = 0; c < TEST_COUNT(every_call); c++) {
            const int op = every_call[c];
            void *one = bytes + 1; // misaligned, and the same for all
            if (wide.value_bytes == 0 && batch_is_reduction(op)) {
                continue;
            }
            check_status(call_with(f.table, op, NULL, NULL, NULL, 0, NULL), BH_OK);
            check_status(call_with(f.table, op, one, one, one, 0, one), BH_OK);
        }
        check(words[0] == 0, "a call without elements wrote something");
        fixture_check_unchanged(&f, "no elements");
        fixture_free(&f);
    }
}

static void misaligned_arrays(void **state)
{
    (void)state;
    for (int w = 0; w < TEST_WIDTHS; w++) {
        const test_widths wide = test_all_widths[w];
        fixture f = fixture_new(wide.key_bytes, wide.value_bytes);
        const uint64_t n = 10;
        char *keys = test_allocate((n + 1) * 8);
        char *values = test_allocate((n + 1) * 8);

        memset(keys, 1, (n + 1) * 8);
        memset(values, 1, (n + 1) * 8);
        memset(f.all.ops, BH_INSERT, n);
        for (size_t c = 0; c < TEST_COUNT(every_call); c++) {
            const int op = every_call[c];
            if (wide.value_bytes == 0 && batch_is_reduction(op)) {
                continue;
            }
            for (uint32_t off = 1; off < wide.key_bytes; off++) {
                refused(
                    &f, "misaligned keys",
                    call_with(f.table, op, f.all.ops, keys + off, f.all.values, n, f.all.outcomes));
            }
            for (uint32_t off = 1; off < wide.value_bytes && takes_values(op); off++) {
                refused(
                    &f, "misaligned values",
                    call_with(f.table, op, f.all.ops, f.all.keys, values + off, n, f.all.outcomes));
            }
        }
        free(keys);
        free(values);
        fixture_free(&f);
    }
}

/* An output array must not overlap another array of the call, not by one byte; touching is
 * allowed. All arrays are laid into one block: [room][keys][room]. */
static void overlapping_arrays(void **state)
{
    enum { N = 16, KEY = 8, VALUE = 8, BLOCK = 1024 };
    _Alignas(64) static char block[BLOCK];
    char *middle = block + BLOCK / 2;
    uint8_t ops[N];
    (void)state;

    memset(ops, BH_UPDATE, sizeof ops);
    for (size_t c = 0; c < TEST_COUNT(every_call); c++) {
        const int op = every_call[c];
        fixture f = fixture_new(KEY, VALUE);
        char *values = f.all.values;
        char *keys = f.all.keys;
        uint8_t *outcomes = f.all.outcomes;
        char copy[BLOCK];

        for (int i = 0; i < BLOCK; i++) {
            block[i] = (char)(i * 7);
        }
        memcpy(copy, block, BLOCK);
        // outcomes against keys, values and ops: by their first byte, their last, and wholly.
        const int64_t shifts[] = {-N + 1, 0, N * KEY - 1};
        for (size_t s = 0; s < TEST_COUNT(shifts); s++) {
            uint8_t *bad = (uint8_t *)middle + shifts[s];
            refused(&f, "outcomes over keys", call_with(f.table, op, ops, middle, values, N, bad));
            if (takes_values(op)) {
                refused(&f, "outcomes over values",
                        call_with(f.table, op, ops, keys, middle, N, bad));
            }
        }
        if (op == BATCH_APPLY) {
            memset(middle - N, BH_UPDATE, 3 * N);
            memcpy(copy, block, BLOCK);
            for (int shift = -N + 1; shift < N; shift += N - 1) {
                refused(&f, "outcomes over ops",
                        call_with(f.table, op, (uint8_t *)middle, keys, values, N,
                                  (uint8_t *)middle + shift));
            }
            refused(&f, "values over ops",
                    call_with(f.table, op, (uint8_t *)middle, keys, middle, N, outcomes));
            refused(&f, "values over the last op",
                    call_with(f.table, op, (uint8_t *)middle, keys, middle + N - 8, N, outcomes));
            refused(&f, "values over the first op",
                    call_with(f.table, op, (uint8_t *)middle + 7, keys, middle - N * VALUE + 8, N,
                              outcomes));
        }
        if (writes_values(op)) {
            refused(&f, "values written over keys",
                    call_with(f.table, op, ops, middle, middle, N, outcomes));
            refused(&f, "values written over the last key",
                    call_with(f.table, op, ops, middle, middle + (N - 1) * KEY, N, outcomes));
            refused(&f, "values written over the first key",
                    call_with(f.table, op, ops, middle, middle - (N - 1) * VALUE, N, outcomes));
        }
        check(memcmp(copy, block, BLOCK) == 0, "a refused call wrote its arrays");
        fixture_free(&f);

        // Arrays that touch but do not overlap: values | keys | outcomes | ops.
        f = fixture_new(KEY, VALUE);
        memset(block, 0, sizeof block);
        memset(middle + N * KEY + N, BH_UPDATE, N);
        check_status(call_with(f.table, op, (uint8_t *)middle + N * KEY + N, middle,
                               middle - N * VALUE, N, (uint8_t *)middle + N * KEY),
                     BH_OK);
        fixture_free(&f);
    }
}

/* A count whose arrays cannot lie in memory is refused before anything is read. */
static void counts_beyond_memory(void **state)
{
    static const uint64_t counts[] = {UINT64_MAX,          UINT64_MAX - 1,     UINT64_MAX / 2 + 1,
                                      UINT64_MAX / 4 + 1,  UINT64_MAX / 8 + 1, UINT64_MAX / 8 + 2,
                                      UINT64_MAX / 16 + 2, UINT64_C(1) << 59,  UINT64_C(1) << 56,
                                      UINT64_C(1) << 53};
    (void)state;
    for (size_t c = 0; c < TEST_COUNT(every_call); c++) {
        for (size_t i = 0; i < TEST_COUNT(counts); i++) {
            const int op = every_call[c];
            fixture f = fixture_new(8, 8);
            memset(f.all.ops, BH_INSERT, FIXTURE_KEYS);
            refused(&f, "a count beyond memory",
                    call_with(f.table, op, f.all.ops, f.all.keys, f.all.values, counts[i],
                              f.all.outcomes));
            if (op != BH_FIND && op != BATCH_APPLY) {
                refused(
                    &f, "a count beyond memory, no outcomes",
                    call_with(f.table, op, f.all.ops, f.all.keys, f.all.values, counts[i], NULL));
            }
            fixture_free(&f);
        }
    }
    for (size_t i = 0; i < TEST_COUNT(counts); i++) {
        fixture f = fixture_new(8, 8);
        uint64_t cursor = 0;
        uint64_t count = 99;
        refused(&f, "room beyond memory",
                bh_export(f.table, &cursor, f.all.keys, f.all.values, counts[i], &count));
        refused(&f, "room beyond memory, no values",
                bh_export(f.table, &cursor, f.all.keys, NULL, counts[i], &count));
        fixture_free(&f);
    }
}

static void bad_operations(void **state)
{
    static const int no_reduction[] = {BH_FIND,   BH_INSERT, BH_INSERT_NEW,
                                       BH_UPDATE, BH_ERASE,  BATCH_NO_OP,
                                       255,       -1,        BH_FIND_OR_INSERT};
    static const uint8_t no_op[] = {
        BATCH_NO_OP, BATCH_NO_OP + 1, 15, 16, 31, 32, 64, 100, 127, 128, 254, 255};
    static const uint64_t places[] = {0, 1, 31, 62, 63};
    (void)state;

    fixture f = fixture_new(8, 4);
    for (size_t i = 0; i < TEST_COUNT(no_reduction); i++) {
        refused(&f, "bh_reduce with another op",
                bh_reduce(f.table, (bh_op)no_reduction[i], f.all.keys, f.all.values, FIXTURE_KEYS,
                          f.all.outcomes));
    }
    for (size_t i = 0; i < TEST_COUNT(no_op); i++) {
        for (size_t p = 0; p < TEST_COUNT(places); p++) {
            for (uint64_t k = 0; k < FIXTURE_KEYS; k++) {
                f.all.ops[k] = (uint8_t)(k % BATCH_NO_OP);
            }
            f.all.ops[places[p]] = no_op[i];
            refused(&f, "an op byte that is none",
                    bh_apply(f.table, f.all.ops, f.all.keys, f.all.values, FIXTURE_KEYS,
                             f.all.outcomes));
        }
    }
    fixture_free(&f);

    // A set has nothing to reduce.
    f = fixture_new(8, 0);
    for (int op = 0; op < BATCH_NO_OP; op++) {
        uint64_t value[FIXTURE_KEYS] = {0};
        if (!batch_is_reduction(op)) {
            continue;
        }
        check_status(bh_reduce(f.table, (bh_op)op, f.all.keys, value, FIXTURE_KEYS, f.all.outcomes),
                     BH_ERR_UNSUPPORTED);
        fixture_check_unchanged(&f, "bh_reduce on a set");
        check_status(bh_reduce(f.table, (bh_op)op, f.all.keys, NULL, FIXTURE_KEYS, f.all.outcomes),
                     BH_ERR_UNSUPPORTED);
        fixture_check_unchanged(&f, "bh_reduce on a set");
        for (size_t p = 0; p < TEST_COUNT(places); p++) {
            memset(f.all.ops, BH_INSERT, FIXTURE_KEYS);
            f.all.ops[places[p]] = (uint8_t)op;
            check_status(
                bh_apply(f.table, f.all.ops, f.all.keys, NULL, FIXTURE_KEYS, f.all.outcomes),
                BH_ERR_UNSUPPORTED);
            fixture_check_unchanged(&f, "bh_apply with a reduction on a set");
        }
    }
    fixture_free(&f);
}

/* A bad op byte at the end of a large batch is found before the first operation runs. */
static void bad_operation_late_in_a_large_batch(void **state)
{
    const uint64_t n = 300000;
    fixture f = fixture_new(4, 4);
    batch large = batch_new(4, 4, n);
    (void)state;

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&large, i, i, i);
        large.ops[i] = BH_INSERT;
    }
    large.ops[n - 1] = BATCH_NO_OP;
    check_status(batch_call(f.table, BATCH_APPLY, &large), BH_ERR_ARGUMENT);
    for (uint64_t i = 0; i < n; i++) {
        check(large.outcomes[i] == BATCH_UNTOUCHED, "a refused call wrote outcome %llu",
              (unsigned long long)i);
    }
    fixture_check_unchanged(&f, "a bad op at the end");
    batch_free(&large);
    fixture_free(&f);
}

static void whole_table_arguments(void **state)
{
    fixture f = fixture_new(8, 8);
    uint64_t keys[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t cursor = 0;
    uint64_t count = 99;
    bh_table_stats stats;
    bh_table *loaded = f.table;
    (void)state;

    check_status(bh_reserve(NULL, 1), BH_ERR_ARGUMENT);
    check_status(bh_reserve(f.table, UINT64_MAX), BH_ERR_ARGUMENT);
    check_status(bh_reserve(f.table, UINT64_MAX / 16), BH_ERR_ARGUMENT);
    check_status(bh_compact(NULL), BH_ERR_ARGUMENT);
    check_status(bh_clear(NULL), BH_ERR_ARGUMENT);
    stats.struct_size = sizeof stats;
    check_status(bh_table_get_stats(NULL, &stats), BH_ERR_ARGUMENT);
    check_status(bh_table_get_stats(f.table, NULL), BH_ERR_ARGUMENT);
    check_status(bh_context_get_info(NULL, NULL), BH_ERR_ARGUMENT);

    check_status(bh_export(NULL, &cursor, keys, values, 8, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, NULL, keys, values, 8, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, NULL, values, 8, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, keys, values, 8, NULL), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, keys, keys, 8, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, keys, keys + 7, 8, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, (char *)keys + 4, values, 7, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, keys, (char *)values + 4, 7, &count), BH_ERR_ARGUMENT);
    check_status(bh_export(f.table, &cursor, keys, values, UINT64_MAX, &count), BH_ERR_ARGUMENT);
    check(cursor == 0, "a refused export moved the cursor");
    for (uint64_t i = 0; i < 8; i++) {
        check(keys[i] == i + 1 && values[i] == i + 1, "a refused export wrote its arrays");
    }
    fixture_check_unchanged(&f, "refused calls on the whole table");

    // Cursors that no export made: refused, or harmless.
    static const uint64_t made_up[] = {1, 2, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 2};
    for (size_t i = 0; i < TEST_COUNT(made_up); i++) {
        bh_status status = BH_OK;
        cursor = made_up[i];
        count = 0;
        status = bh_export(f.table, &cursor, keys, values, 8, &count);
        check(status == BH_OK || status == BH_ERR_ARGUMENT, "%s for a made-up cursor",
              bh_status_name(status));
        check(status != BH_OK || count <= 8, "export wrote %llu pairs", (unsigned long long)count);
    }

    // Snapshots come with a later version.
    check_status(bh_save(f.table, "/nonexistent/file"), BH_ERR_UNSUPPORTED);
    check_status(bh_load(context, "/nonexistent/file", NULL, &loaded), BH_ERR_UNSUPPORTED);
    check(loaded == NULL, "a failed load leaves a table");
    fixture_check_unchanged(&f, "save and load");
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),
        cmocka_unit_test(table_options_out_of_range),
        cmocka_unit_test(extreme_fills),
        cmocka_unit_test(unknown_enums),
        cmocka_unit_test(experiments),
        cmocka_unit_test(struct_sizes),
        cmocka_unit_test(init_never_overruns),
        cmocka_unit_test(context_arguments),
        cmocka_unit_test(null_arrays),
        cmocka_unit_test(no_elements),
        cmocka_unit_test(misaligned_arrays),
        cmocka_unit_test(overlapping_arrays),
        cmocka_unit_test(counts_beyond_memory),
        cmocka_unit_test(bad_operations),
        cmocka_unit_test(bad_operation_late_in_a_large_batch),
        cmocka_unit_test(whole_table_arguments),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, arguments_start, arguments_end));
}
