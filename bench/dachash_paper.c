/*
 * The experiments of the DACHash paper (Zhou, 2021, chapter 7), on cores or on a GPU, of as many pairs as
 * there: 2^22, unless --keys says otherwise.
 *
 *     dachash-fig7.1     finds, by bytes of a node
 *     dachash-fig7.2     finds, by the number of buckets that reordering combines
 *     dachash-fig7.3     one-to-one and many-to-one mapping: (a) finds, (b) a mix, by expected length
 *     dachash-fig7.4     finds, reordered or not, by expected length
 *     dachash-table7.1   how many different lines 32 elements in a row want, reordered or not
 *     dachash-fig7.5     building, by expected length
 *     dachash-fig7.6     finds: (a) by the number of pairs, (b) by expected length
 *     dachash-fig7.7     two mixes, by expected length
 *
 * What the paper compares are settings of one design here. Its *expected length* is keys / (16 * buckets) for
 * nodes of 64 bytes; where nodes have another size, as many keys per byte of first nodes. On cores a node is
 * always looked at by all lanes of a vector, which is the many-to-one mapping; so the settings with another
 * mapping are for a GPU, and a library with BULKHASH_COMPARED=ON. The profiler's counters of table 7.1 are
 * not to be had everywhere; lines are.
 */
#define BH_TARGET_SCALAR
#include "targets/target.h"

#include "on_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulkhash/experimental.h"
#include "tables/dachash/layout.h"

#define PAIRS (UINT64_C(1) << 22)
#define MOST_PAIRS (UINT64_C(1) << 25) /* of figure 7.6a; in the paper 2^28 */

/* What stands behind each other's name in a figure. */
typedef struct setting {
    const char *name;
    uint32_t node_bytes;
    bh_schedule schedule;
    bh_gpu_schedule mapping;
    uint32_t combined; /* buckets; 0: the default */
} setting;

static const setting reordered = {"reordered", 64, BH_SCHEDULE_REGIONS, BH_GPU_SCHEDULE_DEFAULT, 0};
static const setting one_to_one = {"one to one", 64, BH_SCHEDULE_WINDOW, BH_GPU_SCHEDULE_DEFAULT,
                                   0};
/* What the library chooses: large mixed calls are sorted by operation. */
static const setting chosen = {"chosen", 64, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_DEFAULT, 0};
/* A warp takes its threads' elements in turn, and looks at nodes of 128 bytes together: SlabHash. */
static const setting slab_list = {"slab list", 128, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER32, 0};

static const double lengths[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2};
#define LENGTHS (sizeof lengths / sizeof *lengths)

/* Arrays, on both sides where there are two. */
typedef struct work {
    bench *b;
    const char *experiment;
    uint64_t n; /* elements of the arrays */
    mirrored keys;
    mirrored drawn; /* the keys in another order */
    mirrored values;
    mirrored found;
    mirrored outcomes;
    mirrored ops;
} work;

/* A table of that setting and expected length for n pairs. Answers 0 when it cannot be had. */
static int table_at(const work *w, const setting *s, double length, uint64_t n, bh_table **table)
{
    const settings *o = &w->b->settings;
    const double buckets = (double)n / (length * s->node_bytes / 4);
    bh_experimental_options experimental;
    bh_table_options options;
    bh_status status;

    bh_table_options_init(&options, o->key_bytes, o->value_bytes, n);
    bh_experimental_options_init(&experimental);
    options.design = BH_DACHASH;
    options.dachash.node_bytes = s->node_bytes;
    options.max_fill =
        length * s->node_bytes / 4 / BH_DA_SLOTS(o->key_bytes, o->value_bytes, s->node_bytes);
    options.min_fill = -1;
    options.schedule = s->schedule;
    options.experimental = &experimental;
    if (w->b->on_gpu)
        experimental.gpu_schedule = s->mapping;
    else if (s->mapping != BH_GPU_SCHEDULE_DEFAULT && s != &slab_list)
        return 0;
    /* The power of two that is nearest to buckets / combined. */
    if (s->combined) {
        experimental.regions = 2;
        while (experimental.regions < 65536 &&
               experimental.regions * (double)s->combined * 1.4 < buckets)
            experimental.regions *= 2;
    }
    status = bh_table_create(w->b->context, &options, table);
    if (status != BH_ERR_UNSUPPORTED)
        check(status);
    return !status;
}

/* Seconds of a call on the device's arrays. */
static double seconds_of(const work *w, int what, bh_table *table, const mirrored *keys,
                         const mirrored *values, uint64_t n)
{
    const gpu_call c = {
        what, table, keys->device, values->device, w->outcomes.device, w->ops.device, n, n, 0, 0};
    double taken;

    (void)gpu_timed(w->b, &c, &taken);
    return taken;
}

/* A mix of finds, updates and erasures of keys that are there, of which `changes` in a hundred are updates, and
 * as many erasures. No key comes twice, as in the paper. */
static void fill_mix(const work *w, uint64_t n, uint32_t changes, uint64_t random)
{
    uint8_t *ops = w->ops.host;
    uint64_t i;

    for (i = 0; i < n; i++) {
        const uint64_t dice = (bh_seed_next(&random) >> 32) * 100 >> 32;

        ops[i] = dice < changes ? BH_UPDATE : dice < 2 * changes ? BH_ERASE : BH_FIND;
    }
    to_device(w->b, &w->ops);
}

typedef enum kind { BUILD, FIND, MIX } kind;

/* Settings of one figure, of which the first is what the others are compared with, and what came out over all
 * points of the figure. */
#define SETTINGS_MOST 5
typedef struct figure {
    const setting *of[SETTINGS_MOST];
    uint32_t settings;
    uint32_t points;
    double best[SETTINGS_MOST];  /* million keys per second */
    double times[SETTINGS_MOST]; /* the first's, added up over all points */
} figure;

/* One measurement: a table of the setting is built, and its keys are found in another order, or mixed. */
static int measure(const work *w, result *r, const setting *s, kind what, double length, uint64_t n,
                   uint32_t changes, uint64_t salt)
{
    uint64_t random = salt;
    bh_table_stats stats;
    bh_table *table;
    double taken;

    if (!table_at(w, s, length, n, &table)) {
        r->unsupported = 1;
        return 0;
    }
    taken = seconds_of(w, BH_INSERT, table, &w->keys, &w->values, n);
    to_host(w->b, &w->outcomes);
    check_outcomes(w->outcomes.host, n, BH_INSERTED, n);
    if (what != BUILD) {
        memcpy(w->drawn.host, w->keys.host, n * w->b->settings.key_bytes);
        draw_last(w->b, w->drawn.host, n, n, &random);
        to_device(w->b, &w->drawn);
        if (what == MIX)
            fill_mix(w, n, changes, salt);
        taken = seconds_of(w, what == MIX ? GPU_APPLY : BH_FIND, table, &w->drawn, &w->found, n);
        to_host(w->b, &w->outcomes);
    }
    if (what == FIND) {
        check_outcomes(w->outcomes.host, n, BH_FOUND, n);
        to_host(w->b, &w->found);
        check_values(w->b, w->found.host, w->drawn.host, n);
    }
    stats = stats_of(table);
    result_table(r, &stats);
    enter(r, n, taken);
    bh_table_destroy(table);
    return 1;
}

/* Measures the settings one after the other in each repetition; the figure of all but the first is how many
 * times as fast as the first they are. */
static void run_point(const work *w, figure *f, kind what, double length, uint64_t n,
                      uint32_t changes, const char *point)
{
    static const char *const ops[] = {"insert", "find", "apply"};
    result results[SETTINGS_MOST];
    char names[SETTINGS_MOST][96], than[96];
    uint32_t repetition, i;

    memset(results, 0, sizeof results);
    (void)snprintf(than, sizeof than, "times %s", f->of[0]->name);
    for (i = 0; i < f->settings; i++) {
        result *r = &results[i];

        (void)snprintf(names[i], sizeof names[i], "%s, %s", point, f->of[i]->name);
        r->experiment = w->experiment;
        r->design = "dachash";
        r->name = names[i];
        r->op = ops[what];
        r->state = "fresh";
        r->hit_rate = what == FIND ? 1 : NO_HIT_RATE;
        r->batch = n;
        r->clock = w->b->on_gpu ? "events" : NULL;
        if (i)
            r->figure = than;
    }
    for (repetition = 0; repetition < w->b->settings.repetitions; repetition++) {
        const uint32_t salt = salt_of(repetition);

        fill_keys(w->b, w->keys.host, 0, n, salt);
        fill_values(w->b, w->values.host, w->keys.host, n);
        to_device(w->b, &w->keys);
        to_device(w->b, &w->values);
        for (i = 0; i < f->settings; i++)
            if (measure(w, &results[i], f->of[i], what, length, n, changes, salt) && i &&
                results[0].mops.count)
                sample(&results[i].value,
                       results[i].mops.at[repetition] / results[0].mops.at[repetition]);
    }
    f->points++;
    for (i = 0; i < f->settings; i++) {
        print(w->b, &results[i]);
        if (results[i].mops.count && median(&results[i].mops) > f->best[i])
            f->best[i] = median(&results[i].mops);
        if (results[i].value.count)
            f->times[i] += median(&results[i].value);
    }
}

/* Over all points of a figure: the highest rate, or the mean of how many times as fast as the first a setting
 * is; beside what the paper states. */
static void conclude(const work *w, const figure *f, uint32_t of, int is_mean, double paper)
{
    result r = {.experiment = w->experiment,
                .design = "dachash",
                .op = "figure",
                .state = "fresh",
                .hit_rate = NO_HIT_RATE,
                .batch = w->n,
                .keys = w->n,
                .paper = paper};
    char name[64], figure_is[96];

    (void)snprintf(name, sizeof name, "%s, %s", is_mean ? "on average" : "at best",
                   f->of[of]->name);
    (void)snprintf(figure_is, sizeof figure_is, is_mean ? "times %s" : "G/s", f->of[0]->name);
    r.name = name;
    r.figure = figure_is;
    if (is_mean ? f->times[of] > 0 : f->best[of] > 0)
        sample(&r.value, is_mean ? f->times[of] / f->points : f->best[of] * 1e-3);
    else
        r.unsupported = 1;
    print(w->b, &r);
}

static const char *at_length(char *text, uint64_t size, const char *what, double length)
{
    (void)snprintf(text, size, "%s, length %g", what, length);
    return text;
}

static work begin(bench *b, const char *experiment, uint64_t most)
{
    const settings *s = &b->settings;
    work w = {.b = b, .experiment = experiment};

    w.n = s->keys_given ? s->keys : most;
    w.keys = mirror(b, w.n, s->key_bytes);
    w.drawn = mirror(b, w.n, s->key_bytes);
    w.values = mirror(b, w.n, s->value_bytes);
    w.found = mirror(b, w.n, s->value_bytes);
    w.outcomes = mirror(b, w.n, 1);
    w.ops = mirror(b, w.n, 1);
    return w;
}

static void end(work *w)
{
    mirrored *all[] = {&w->keys, &w->drawn, &w->values, &w->found, &w->outcomes, &w->ops};
    uint32_t i;

    for (i = 0; i < sizeof all / sizeof *all; i++)
        mirror_free(w->b, all[i]);
}

void run_dachash_fig71(bench *b)
{
    static const double two[] = {0.5, 1};
    work w = begin(b, "dachash-fig7.1", PAIRS);
    uint32_t i, bytes;
    char point[64];

    for (i = 0; i < 2; i++)
        for (bytes = 16; bytes <= BH_DA_NODE_MOST; bytes *= 2) {
            setting s = reordered;
            figure f = {.of = {&s}, .settings = 1};

            if (BH_DA_SLOTS_FIT(b->settings.key_bytes, b->settings.value_bytes, bytes) < 1 ||
                bytes < BH_DA_HEADER(b->settings.key_bytes, b->settings.value_bytes))
                continue;
            s.node_bytes = bytes;
            (void)snprintf(point, sizeof point, "find, length %g, %u-byte nodes", two[i], bytes);
            run_point(&w, &f, FIND, two[i], w.n, 0, point);
        }
    end(&w);
}

void run_dachash_fig72(bench *b)
{
    work w = begin(b, "dachash-fig7.2", PAIRS);
    uint32_t combined;
    char name[64];

    for (combined = 8; combined <= 1u << 17; combined *= 2) {
        setting s = reordered;
        figure f = {.of = {&one_to_one, &s}, .settings = 2};

        s.combined = combined;
        (void)snprintf(name, sizeof name, "%u buckets combined", combined);
        s.name = name;
        run_point(&w, &f, FIND, 0.5, w.n, 0, "find, length 0.5");
    }
    end(&w);
}

void run_dachash_fig73(bench *b)
{
    static const setting tiles[] = {
        {"many to one, 4", 64, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER4, 0},
        {"many to one, 8", 64, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER8, 0},
        {"many to one, 16", 64, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER16, 0},
        {"many to one, 32", 64, BH_SCHEDULE_AUTO, BH_GPU_SCHEDULE_VOTER32, 0},
    };
    figure f = {.of = {&one_to_one, &tiles[0], &tiles[1], &tiles[2], &tiles[3]}, .settings = 5};
    work w = begin(b, "dachash-fig7.3", PAIRS);
    char point[64];
    uint32_t i;

    for (i = 0; i < LENGTHS; i++)
        run_point(&w, &f, FIND, lengths[i], w.n, 0,
                  at_length(point, sizeof point, "(a) find", lengths[i]));
    for (i = 0; i < LENGTHS; i++)
        run_point(&w, &f, MIX, lengths[i], w.n, 10,
                  at_length(point, sizeof point, "(b) 80/10/10", lengths[i]));
    end(&w);
}

static void by_length(const work *w, figure *f, kind what, uint32_t changes, const char *name)
{
    char point[64];
    uint32_t i;

    for (i = 0; i < LENGTHS; i++)
        run_point(w, f, what, lengths[i], w->n, changes,
                  at_length(point, sizeof point, name, lengths[i]));
}

void run_dachash_fig74(bench *b)
{
    work w = begin(b, "dachash-fig7.4", PAIRS);
    figure f = {.of = {&one_to_one, &reordered}, .settings = 2};

    by_length(&w, &f, FIND, 0, "find");
    conclude(&w, &f, 1, 1, 4.33);
    end(&w);
}

void run_dachash_fig75(bench *b)
{
    work w = begin(b, "dachash-fig7.5", PAIRS);
    figure f = {.of = {&slab_list, &reordered, &one_to_one}, .settings = 3};

    by_length(&w, &f, BUILD, 0, "build");
    conclude(&w, &f, 0, 0, 2.9);
    conclude(&w, &f, 1, 0, 3.42);
    end(&w);
}

void run_dachash_fig76(bench *b)
{
    work w = begin(b, "dachash-fig7.6", MOST_PAIRS);
    figure a = {.of = {&slab_list, &reordered, &one_to_one}, .settings = 3}, second = a;
    char point[64];
    uint64_t n;

    for (n = UINT64_C(1) << 19; n <= w.n; n *= 2) {
        (void)snprintf(point, sizeof point, "(a) find, length 0.5, %llu pairs",
                       (unsigned long long)n);
        run_point(&w, &a, FIND, 0.5, n, 0, point);
    }
    conclude(&w, &a, 0, 0, 7.55);
    conclude(&w, &a, 1, 0, 8.66);
    conclude(&w, &a, 1, 1, 1.071);
    conclude(&w, &a, 2, 1, 0);
    w.n = w.n < PAIRS ? w.n : PAIRS;
    by_length(&w, &second, FIND, 0, "(b) find");
    conclude(&w, &second, 1, 1, 1.4153);
    conclude(&w, &second, 2, 1, 0);
    end(&w);
}

void run_dachash_fig77(bench *b)
{
    work w = begin(b, "dachash-fig7.7", PAIRS);
    figure f = {.of = {&slab_list, &one_to_one, &reordered, &chosen}, .settings = 4};

    by_length(&w, &f, MIX, 10, "80/10/10");
    by_length(&w, &f, MIX, 20, "60/20/20");
    conclude(&w, &f, 0, 0, 4.41);
    conclude(&w, &f, 1, 0, 5.54);
    conclude(&w, &f, 1, 1, 1.1992);
    conclude(&w, &f, 2, 1, 1.1992);
    end(&w);
}

static int compare_places(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return (one > two) - (one < two);
}

/* How many different numbers there are in each 32, on average. */
static double different(const uint64_t *places, uint64_t n)
{
    uint64_t count = 0, i, j;
    uint64_t few[32];

    for (i = 0; i + 32 <= n; i += 32) {
        memcpy(few, places + i, sizeof few);
        qsort(few, 32, sizeof *few, compare_places);
        for (j = 0; j < 32; j++)
            count += j == 0 || few[j] != few[j - 1];
    }
    return (double)count / (double)(n / 32);
}

/* The paper, of the second cache, reordered beside not: 9.18 times the bandwidth, 91% hits beside 34%. */
void run_dachash_table71(bench *b)
{
    work w = begin(b, "dachash-table7.1", PAIRS);
    const uint32_t key_bytes = b->settings.key_bytes;
    uint64_t *places = array(w.n, sizeof *places), random = 1, i;
    result r = {.experiment = w.experiment,
                .design = "dachash",
                .op = "find",
                .state = "fresh",
                .hit_rate = 1,
                .batch = w.n,
                .figure = "different lines in 32 finds"};
    const bh_da_geometry *g;
    bh_table_stats stats;
    bh_table *table;

    if (!table_at(&w, &reordered, 0.5, w.n, &table))
        fail("there are no tables of this design");
    fill_keys(b, w.keys.host, 0, w.n, salt_of(0));
    draw_last(b, w.keys.host, w.n, w.n, &random);
    g = table->policy->geometry(table);
    for (i = 0; i < w.n; i++) {
        uint64_t key = 0;

        memcpy(&key, key_at(b, w.keys.host, i), key_bytes);
        key = bh_hash_key(key, &g->seed).one;
        places[i] = bh_hash_range(key, g->base) + g->base * (key & g->mask);
    }
    stats = stats_of(table);
    result_table(&r, &stats);
    r.name = "one to one";
    sample(&r.value, different(places, w.n));
    print(b, &r);
    /* As a GPU sorts them: by regions of so many buckets. (Cores sort parts of a call alone.) */
    for (i = 8; i <= 2048; i *= 16) {
        const uint64_t shift = i;
        uint64_t *by = array(w.n, sizeof *by), *first = array(stats.chains / shift + 2, 8), j;
        char name[64];

        for (j = 0; j < w.n; j++)
            first[places[j] / shift + 1]++;
        for (j = 0; j < stats.chains / shift + 1; j++)
            first[j + 1] += first[j];
        for (j = 0; j < w.n; j++)
            by[first[places[j] / shift]++] = places[j];
        (void)snprintf(name, sizeof name, "reordered, %llu buckets combined",
                       (unsigned long long)i);
        r.name = name;
        r.value.count = 0;
        sample(&r.value, different(by, w.n));
        print(b, &r);
        free(by);
        free(first);
    }
    free(places);
    bh_table_destroy(table);
    end(&w);
}
