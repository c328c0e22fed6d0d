/*
 * Experiments of the Stadium hashing paper (stadium_paper.h) on cores or on a GPU, beside a cuckoo table of
 * one-pair slots (cuckoo.h): 2^21 pairs on cores and 2^24 on a GPU, unless --keys says otherwise.
 *
 *     stadium-fig14   mixed slices, (a) all queries present, (b) half of them
 *     stadium-fig15   concurrency efficiency: the time of insertions and that of lookups, added up, beside the
 *                     time of the same elements mixed
 *     stadium-fig16   figure 14 with the slots in the host's memory
 *     stadium-fig17   slots in the host's memory: (a) insertions, (b) lookups of present keys, (c) of keys of which
 *                     half are present
 *     stadium-fig18   the same operations without the board's info, and with and without collaborative lanes,
 *                     (a) with the slots in the host's memory, (b) in the GPU's
 *     stadium-fig19   by the widths of keys and values
 *
 * A *slice* is a call of 100,000 elements, in groups of 32 insertions and 32 lookups in turn. A lookup asks for a
 * key that the slice before has inserted. The cuckoo table runs a slice twice, first its insertions and then its
 * lookups, because its lookups may miss pairs while others are inserted.
 *
 * Paths are by slot, as in the paper. By bucket, the library's default, is one more setting where it matters. The
 * paper's Stash is a thread for each element, its clStash collaborative lanes, and its hybrid begins with the one
 * and ends with the other. Here a table has one schedule for life. The settings without a word about threads have
 * the one that the library chooses. Those with a thread each and with lanes are for a GPU, pairs of 4+4 bytes
 * and a library that was built with BULKHASH_COMPARED=ON; elsewhere their lines say so. Cores refill their window of
 * elements in flight whenever one of them is done, which is what collaborative lanes are for; there is no other
 * way to compare it with.
 *
 * On cores all memory is the host's. So figures 16 and 17, and the halves of 18 and 19 with slots in the host's
 * memory, are for a GPU alone.
 */
#include "stadium_paper.h"

#include <stdio.h>
#include <string.h>

#include "cuckoo.h"

#define PAIRS_ON_CORES (UINT64_C(1) << 21)
#define PAIRS_ON_GPU (UINT64_C(1) << 24)
#define LEAST_PAIRS 256u
#define WARM_PAIRS (UINT64_C(1) << 17)
#define SLICE_KEYS 50000u /* insertions of a slice, and as many lookups */
#define FILL 0.8
#define FILL_ALONE 0.85 /* where there is no cuckoo table: figures 18 and 19 */
#define SETTINGS_MOST 8u

#define CUCKOO 0, BH_PROBE_AUTO, BH_GPU_SCHEDULE_DEFAULT
#define BY_SLOT(bits) bits, BH_PROBE_SLOT, BH_GPU_SCHEDULE_DEFAULT, 0

static const setting cuckoo_table = {"cuckoo", CUCKOO, 0};
static const setting cuckoo_stops = {"cuckoo, to an empty place", CUCKOO, 1};
static const setting bits1 = {"1 bit", BY_SLOT(1)};
static const setting bits2 = {"2 bits", BY_SLOT(2)};
static const setting bits4 = {"4 bits", BY_SLOT(4)};
static const setting bits8 = {"8 bits", BY_SLOT(8)};
static const setting by_bucket = {"8 bits, by bucket", 8, BH_PROBE_BUCKET, BH_GPU_SCHEDULE_DEFAULT,
                                  0};
static const setting thread_each = {"8 bits, a thread each", 8, BH_PROBE_SLOT,
                                    BH_GPU_SCHEDULE_THREAD, 0};
static const setting in_lanes = {"8 bits, lanes", 8, BH_PROBE_SLOT, BH_GPU_SCHEDULE_LANES, 0};

/* What is measured of a table. Those up to ERASE are of one table, one after the other; each of the others is of
 * a table of its own. */
typedef enum phase { INSERT, FIND, HALF, ERASE, MIX, MIX_HALF, EFFICIENCY, PHASES } phase;

static const char *const op_of[PHASES] = {"insert", "find",  "find", "erase",
                                          "apply",  "apply", "apply"};

/* The settings of a figure, of which the first is what the others are compared with, and what came out over
 * all points. */
typedef struct figure {
    const char *names[PHASES]; /* NULL: this is not measured */
    const setting *of[SETTINGS_MOST];
    uint32_t settings;
    int far; /* on a GPU: the slots are in the host's memory */
    double fill;
    uint32_t points;
    double sum[SETTINGS_MOST][PHASES]; /* of the figures of all points */
} figure;

typedef struct work {
    bench *b;
    const char *experiment;
    uint64_t n;     /* pairs */
    uint64_t slice; /* elements of a slice */
    uint64_t mixed; /* of all slices */
    mirrored keys, absent, values;
    mirrored asked, found; /* by lookups: as many as there are elements in all slices */
    mirrored ops, outcomes;
} work;

uint64_t stadium_pairs(const bench *b)
{
    const settings *s = &b->settings;
    const uint64_t n = s->keys_given ? s->keys : b->on_gpu ? PAIRS_ON_GPU : PAIRS_ON_CORES;

    return n > LEAST_PAIRS ? n : LEAST_PAIRS;
}

int stadium_table_of(const bench *b, const setting *s, uint64_t n, double fill, int far,
                     bh_table **table)
{
    bh_experimental_options experimental;
    bh_table_options options;
    bh_status status;

    if (!b->on_gpu && s->schedule != BH_GPU_SCHEDULE_DEFAULT)
        return 0;
    bh_table_options_init(&options, b->settings.key_bytes, b->settings.value_bytes, n);
    bh_experimental_options_init(&experimental);
    experimental.gpu_schedule = s->schedule;
    options.experimental = &experimental;
    options.design = BH_STADIUM;
    options.max_fill = fill;
    options.min_fill = -1;
    options.stadium.ticket_bits = s->ticket_bits;
    options.stadium.probe = s->probe;
    options.stadium.table_memory = far ? BH_TABLE_MEMORY_HOST : BH_TABLE_MEMORY_DEVICE;
    status = bh_table_create(b->context, &options, table);
    if (status != BH_ERR_UNSUPPORTED)
        check(status);
    return !status;
}

result stadium_result(const bench *b, const char *experiment, const char *op)
{
    result r = {.experiment = experiment,
                .op = op,
                .design = "stadium",
                .state = "fresh",
                .hit_rate = NO_HIT_RATE,
                .clock = b->on_gpu ? "events" : NULL};

    return r;
}

/* --- a side of a comparison ----------------------------------------------------------------- */

typedef struct side {
    bh_table *table; /* NULL: it is the cuckoo table */
    cuckoo cuckoo;
} side;

static int side_create(const work *w, const figure *f, uint32_t i, uint64_t n, side *made)
{
    const setting *s = f->of[i];

    made->table = NULL;
    if (s->ticket_bits)
        return stadium_table_of(w->b, s, n, f->fill, f->far, &made->table);
    if (!cuckoo_create(w->b, &made->cuckoo, n, f->fill, f->far))
        return 0;
    made->cuckoo.stops = (uint8_t)s->stops;
    return 1;
}

static void side_destroy(const work *w, side *s)
{
    if (s->table)
        bh_table_destroy(s->table);
    else
        cuckoo_destroy(w->b, &s->cuckoo);
}

/* Notes the table, whose keys are as many as n. */
static void side_noted(const side *s, uint64_t n, result *r)
{
    bh_table_stats stats;

    if (s->table) {
        stats = stats_of(s->table);
        result_table(r, &stats);
    } else {
        r->fill = (double)n / s->cuckoo.slot_count;
        r->bytes_per_key = sizeof *s->cuckoo.slots / r->fill;
    }
    r->keys = n;
}

/* Seconds of a call; the outcomes are then on the host. */
static double side_timed(const work *w, const side *s, int what, const mirrored *keys,
                         const mirrored *values, uint64_t first, uint64_t n, uint64_t part)
{
    const gpu_call c = {.what = what,
                        .table = s->table,
                        .keys = key_at(w->b, keys->device, first),
                        .values = value_at(w->b, values->device, first),
                        .outcomes = w->outcomes.device,
                        .ops = w->ops.device,
                        .n = n,
                        .part = part};
    double taken;

    if (s->table)
        (void)gpu_timed(w->b, &c, &taken);
    else
        taken = cuckoo_timed(w->b, &s->cuckoo, &c);
    to_host(w->b, &w->outcomes);
    return taken;
}

/* --- one table ------------------------------------------------------------------------------ */

static void look_up(const work *w, const side *s, phase of, result *r, uint64_t n)
{
    double taken;

    if (of == HALF)
        fill_half(w->b, w->asked.host, w->keys.host, w->absent.host, n);
    else
        memcpy(w->asked.host, w->keys.host, n * w->b->settings.key_bytes);
    to_device(w->b, &w->asked);
    mirror_clear(w->b, &w->found);
    taken = side_timed(w, s, BH_FIND, &w->asked, &w->found, 0, n, n);
    to_host(w->b, &w->found);
    if (of == HALF) {
        check_half(w->b, w->found.host, w->outcomes.host, w->asked.host, n);
    } else {
        check_outcomes(w->outcomes.host, n, BH_FOUND, n);
        check_values(w->b, w->found.host, w->asked.host, n);
    }
    enter(r, n, taken);
}

static void measure_apart(const work *w, const figure *f, uint32_t i, uint64_t n, result *results)
{
    side s;
    int at;

    if (!side_create(w, f, i, n, &s)) {
        gpu_unsupported(results, MIX);
        return;
    }
    enter(&results[INSERT], n, side_timed(w, &s, BH_INSERT, &w->keys, &w->values, 0, n, n));
    check_outcomes(w->outcomes.host, n, BH_INSERTED, n);
    for (at = INSERT; at < MIX; at++)
        side_noted(&s, n, &results[at]);
    for (at = FIND; at <= HALF; at++)
        if (f->names[at])
            look_up(w, &s, (phase)at, &results[at], n);
    if (f->names[ERASE]) {
        enter(&results[ERASE], n, side_timed(w, &s, BH_ERASE, &w->keys, &w->found, 0, n, n));
        check_outcomes(w->outcomes.host, n, BH_ERASED, n);
    }
    side_destroy(w, &s);
}

/* --- slices ---------------------------------------------------------------------------------- */

/* Lays out slices of n pairs, the first of which are there before the first slice. */
static void cut(work *w, uint64_t n)
{
    uint64_t each = n / 4 < SLICE_KEYS ? n / 4 : SLICE_KEYS;

    each -= each % GROUP_KEYS;
    w->slice = 2 * each;
    w->mixed = (n / each - 1) * w->slice;
}

static int is_absent(phase of, uint64_t i)
{
    return of == MIX_HALF && i % 2;
}

/* The elements of all slices, and values for them: zero for lookups. */
static void fill_slices(const work *w, phase of)
{
    const bench *b = w->b;
    const uint64_t each = w->slice / 2;
    const uint8_t *ops = w->ops.host;
    uint64_t i;

    for (i = 0; i < w->mixed / w->slice; i++)
        fill_groups(b, (uint8_t *)w->ops.host + i * w->slice,
                    key_at(b, w->asked.host, i * w->slice), key_at(b, w->keys.host, (i + 1) * each),
                    key_at(b, w->keys.host, i * each), each);
    fill_values(b, w->found.host, w->asked.host, w->mixed);
    for (i = 0; i < w->mixed; i++)
        if (ops[i] == BH_FIND) {
            memset(value_at(b, w->found.host, i), 0, b->settings.value_bytes);
            if (is_absent(of, i))
                memcpy(key_at(b, w->asked.host, i), key_at(b, w->absent.host, i / 2),
                       b->settings.key_bytes);
        }
    to_device(b, &w->ops);
    to_device(b, &w->asked);
    to_device(b, &w->found);
}

static void check_slices(const work *w, phase of)
{
    static const char zero[8];
    const bench *b = w->b;
    const uint8_t *ops = w->ops.host, *outcomes = w->outcomes.host;
    uint64_t i;

    to_host(b, &w->found);
    for (i = 0; i < w->mixed; i++) {
        const int finds = ops[i] == BH_FIND, absent = finds && is_absent(of, i);

        if (outcomes[i] != (absent ? BH_MISSING : finds ? BH_FOUND : BH_INSERTED))
            fail("the outcomes of a slice are not what they should be");
        if (!absent)
            check_values(b, value_at(b, w->found.host, i), key_at(b, w->asked.host, i), 1);
        else if (memcmp(value_at(b, w->found.host, i), zero, b->settings.value_bytes) != 0)
            fail("the value of a key that is not there was written");
    }
}

/* Seconds in which a table that has the first keys runs all slices. */
static double run_slices(const work *w, const side *s, phase of)
{
    const uint64_t each = w->slice / 2;
    double taken;

    (void)side_timed(w, s, BH_INSERT, &w->keys, &w->values, 0, each, each);
    fill_slices(w, of);
    taken = side_timed(w, s, GPU_APPLY, &w->asked, &w->found, 0, w->mixed, w->slice);
    check_slices(w, of);
    return taken;
}

/* Seconds of the same insertions, and then of the same lookups, in as many calls together. */
static double run_unmixed(const work *w, const side *s)
{
    const uint64_t each = w->slice / 2, half = w->mixed / 2;
    double taken;

    (void)side_timed(w, s, BH_INSERT, &w->keys, &w->values, 0, each, each);
    taken = side_timed(w, s, BH_INSERT, &w->keys, &w->values, each, half, w->slice);
    check_outcomes(w->outcomes.host, half, BH_INSERTED, half);
    taken += side_timed(w, s, BH_FIND, &w->keys, &w->found, 0, half, w->slice);
    check_outcomes(w->outcomes.host, half, BH_FOUND, half);
    return taken;
}

static void measure_slices(const work *w, const figure *f, uint32_t i, phase of, result *r)
{
    const uint64_t n = w->slice / 2 + w->mixed / 2;
    double unmixed = 0, taken;
    side s;

    if (of == EFFICIENCY && side_create(w, f, i, n, &s)) {
        unmixed = run_unmixed(w, &s);
        side_destroy(w, &s);
    }
    if (!side_create(w, f, i, n, &s)) {
        gpu_unsupported(r, 1);
        return;
    }
    taken = run_slices(w, &s, of);
    enter(r, w->mixed, taken);
    if (of == EFFICIENCY)
        sample(&r->value, unmixed / taken);
    side_noted(&s, n, r);
    r->batch = w->slice;
    side_destroy(w, &s);
}

/* --- points ---------------------------------------------------------------------------------- */

/* Measures a setting; the figure of all but the first is how many times as fast as the first it is. */
static void measure(const work *w, const figure *f, uint32_t i, uint64_t n,
                    result (*results)[PHASES])
{
    int at;

    if (f->names[INSERT])
        measure_apart(w, f, i, n, results[i]);
    for (at = MIX; at < PHASES; at++)
        if (f->names[at])
            measure_slices(w, f, i, (phase)at, &results[i][at]);
    for (at = 0; i && at < EFFICIENCY; at++) {
        const samples *own = &results[i][at].mops, *first = &results[0][at].mops;

        if (own->count && first->count == own->count)
            sample(&results[i][at].value, own->at[own->count - 1] / first->at[own->count - 1]);
    }
}

/* What each setting's results of a point are called. */
typedef char names[SETTINGS_MOST][PHASES][96];

static void name_results(const work *w, const figure *f, const char *point, const char *than,
                         uint64_t n, names texts, result (*results)[PHASES])
{
    uint32_t i;
    int at;

    for (i = 0; i < f->settings; i++)
        for (at = 0; at < PHASES; at++) {
            result *r = &results[i][at];

            (void)snprintf(texts[i][at], sizeof texts[i][at], "%s%s, %s",
                           f->names[at] ? f->names[at] : "", point, f->of[i]->name);
            *r = stadium_result(w->b, w->experiment, op_of[at]);
            r->name = texts[i][at];
            if (!f->of[i]->ticket_bits)
                r->design = "cuckoo";
            r->keys = n;
            r->batch = n;
            r->hit_rate = at == FIND ? 1 : at == HALF ? 0.5 : NO_HIT_RATE;
            r->figure = at == EFFICIENCY ? "concurrency efficiency" : i ? than : NULL;
        }
}

static void run_repetition(work *w, const figure *f, uint64_t n, uint32_t salt,
                           result (*results)[PHASES])
{
    uint32_t i;

    cut(w, n);
    fill_keys(w->b, w->keys.host, 0, n, salt);
    fill_keys(w->b, w->absent.host, w->n, n, salt);
    fill_values(w->b, w->values.host, w->keys.host, n);
    to_device(w->b, &w->keys);
    to_device(w->b, &w->values);
    for (i = 0; i < f->settings; i++)
        measure(w, f, i, n, results);
}

static void run_point(work *w, figure *f, uint64_t n, const char *point)
{
    result results[SETTINGS_MOST][PHASES];
    char than[64];
    names texts;
    uint32_t repetition, i;
    int at;

    (void)snprintf(than, sizeof than, "times %s", f->of[0]->name);
    name_results(w, f, point, than, n, texts, results);
    /* Kernels are loaded to a GPU when they are first launched; that is not to be measured. */
    if (w->b->on_gpu && !f->points)
        run_repetition(w, f, n < WARM_PAIRS ? n : WARM_PAIRS, salt_of(0), results);
    name_results(w, f, point, than, n, texts, results);
    for (repetition = 0; repetition < w->b->settings.repetitions; repetition++)
        run_repetition(w, f, n, salt_of(repetition), results);
    f->points++;
    for (at = 0; at < PHASES; at++)
        for (i = 0; f->names[at] && i < f->settings; i++) {
            print(w->b, &results[i][at]);
            if (results[i][at].value.count)
                f->sum[i][at] += median(&results[i][at].value);
        }
}

/* The points of figures by the number of pairs: a sixteenth of them, a quarter, and all. */
static void run_sizes_of(work *w, figure *f)
{
    static const uint32_t parts[] = {16, 4, 1};
    char point[64];
    uint32_t i;

    for (i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint64_t n = w->n / parts[i] > LEAST_PAIRS ? w->n / parts[i] : LEAST_PAIRS;

        (void)snprintf(point, sizeof point, ", %llu pairs", (unsigned long long)n);
        run_point(w, f, n, point);
    }
}

/* The mean over all points, beside what the paper states; `bar` is for a GPU. 0: nothing is stated, or asked. */
static void conclude(const work *w, const figure *f, phase at, uint32_t i, double paper, double bar)
{
    char name[96], than[64];
    result r = stadium_result(w->b, w->experiment, op_of[at]);

    (void)snprintf(name, sizeof name, "on average, %s, %s", f->names[at], f->of[i]->name);
    (void)snprintf(than, sizeof than, "times %s", f->of[0]->name);
    r.name = name;
    r.figure = at == EFFICIENCY ? "concurrency efficiency" : than;
    r.keys = r.batch = w->n;
    r.paper = paper;
    r.bar = w->b->on_gpu ? bar : 0;
    if (f->sum[i][at] > 0)
        sample(&r.value, f->sum[i][at] / f->points);
    else
        r.unsupported = 1;
    print(w->b, &r);
}

/* Which of the settings' means is the lowest or, if `highest`, the highest, beside an end of the range that the paper
 * states for its ticket sizes. */
static void conclude_range(const work *w, const figure *f, phase at, int highest, double paper)
{
    uint32_t i, best = 1;

    for (i = 2; i < f->settings && f->of[i] != &by_bucket; i++)
        if (highest ? f->sum[i][at] > f->sum[best][at] : f->sum[i][at] < f->sum[best][at])
            best = i;
    conclude(w, f, at, best, paper, 0);
}

static work begin(bench *b, const char *experiment)
{
    const settings *s = &b->settings;
    work w = {.b = b, .experiment = experiment, .n = stadium_pairs(b)};

    w.keys = mirror(b, w.n, s->key_bytes);
    w.absent = mirror(b, w.n, s->key_bytes);
    w.values = mirror(b, w.n, s->value_bytes);
    w.asked = mirror(b, 2 * w.n, s->key_bytes);
    w.found = mirror(b, 2 * w.n, s->value_bytes);
    w.ops = mirror(b, 2 * w.n, 1);
    w.outcomes = mirror(b, 2 * w.n, 1);
    return w;
}

static void end(work *w)
{
    mirrored *all[] = {&w->keys,  &w->absent, &w->values,  &w->asked,
                       &w->found, &w->ops,    &w->outcomes};
    uint32_t i;

    for (i = 0; i < sizeof all / sizeof *all; i++)
        mirror_free(w->b, all[i]);
}

/* --- the figures ----------------------------------------------------------------------------- */

/* Settings 1 to 5 of a figure with the cuckoo table. */
#define BESIDE_CUCKOO                                                                              \
    .of = {&cuckoo_table, &bits1, &bits2, &bits4, &bits8, &by_bucket, &cuckoo_stops},              \
    .settings = 7, .fill = FILL

/* Figures 14 and 16, and the ends of the ranges of both halves. */
static void run_mixed(bench *b, const char *experiment, int far, const double *paper)
{
    figure f = {BESIDE_CUCKOO, .far = far};
    work w = begin(b, experiment);

    f.names[MIX] = "(a) all present";
    f.names[MIX_HALF] = "(b) half present";
    run_sizes_of(&w, &f);
    conclude_range(&w, &f, MIX, 0, paper[0]);
    conclude_range(&w, &f, MIX, 1, paper[1]);
    conclude_range(&w, &f, MIX_HALF, 0, paper[2]);
    conclude_range(&w, &f, MIX_HALF, 1, paper[3]);
    end(&w);
}

void run_stadium_fig14(bench *b)
{
    static const double paper[] = {1.04, 1.19, 1.55, 1.65};

    run_mixed(b, "stadium-fig14", 0, paper);
}

void run_stadium_fig15(bench *b)
{
    figure f = {BESIDE_CUCKOO};
    work w = begin(b, "stadium-fig15");
    uint32_t i;

    f.names[EFFICIENCY] = "insert and find";
    f.settings = 6;
    run_sizes_of(&w, &f);
    for (i = 0; i < f.settings; i++)
        conclude(&w, &f, EFFICIENCY, i, i ? 0.968 : 0.613, 0);
    end(&w);
}

void run_stadium_fig16(bench *b)
{
    static const double paper[] = {1.25, 1.75, 1.23, 2.47};

    run_mixed(b, "stadium-fig16", 1, paper);
}

void run_stadium_fig17(bench *b)
{
    /* Of the settings; the paper states nothing about tickets of 1 bit. */
    static const double found[] = {0, 0, 1.14, 1.5, 1.59, 0}, half[] = {0, 0, 1.59, 3.23, 3.99, 0};
    figure f = {BESIDE_CUCKOO, .far = 1};
    work w = begin(b, "stadium-fig17");
    uint32_t i;

    f.names[INSERT] = "(a) insert";
    f.names[FIND] = "(b) find";
    f.names[HALF] = "(c) find, half present";
    run_sizes_of(&w, &f);
    for (i = 1; i < 6; i++)
        conclude(&w, &f, INSERT, i, 2, f.of[i] == &by_bucket ? 0 : 2);
    for (i = 1; i < 6; i++)
        conclude(&w, &f, FIND, i, found[i], found[i]);
    for (i = 1; i < 6; i++)
        conclude(&w, &f, HALF, i, half[i], half[i]);
    end(&w);
}

/* In the paper one more version of the table looks the slots of a path up without asking the board. Here tickets
 * of 1 bit stand for it: all keys have the same info, so a lookup compares its key with that of every taken
 * slot on its path. The only slot that it is spared is the free one at the end of the path. */
void run_stadium_fig18(bench *b)
{
    static const setting not_asked = {"board not consulted (1 bit)", BY_SLOT(1)};
    figure near = {.of = {&not_asked, &bits2, &bits4, &bits8, &by_bucket, &thread_each, &in_lanes},
                   .settings = 7,
                   .fill = FILL_ALONE};
    work w = begin(b, "stadium-fig18");
    figure far;

    near.names[INSERT] = "(b) insert";
    near.names[FIND] = "(b) find";
    near.names[HALF] = "(b) find, half present";
    far = near;
    far.far = 1;
    far.names[INSERT] = "(a) insert";
    far.names[FIND] = "(a) find";
    far.names[HALF] = "(a) find, half present";
    if (b->on_gpu)
        run_point(&w, &far, w.n, ", slots in the host's memory");
    run_point(&w, &near, w.n, "");
    end(&w);
}

void run_stadium_fig19(bench *b)
{
    static const uint32_t widths[][2] = {{4, 4}, {8, 4}, {4, 8}, {8, 8}};
    uint32_t i;
    int far;

    for (far = 0; far <= (b->on_gpu != NULL); far++)
        for (i = 0; i < sizeof widths / sizeof *widths; i++) {
            figure f = {.of = {&bits1, &bits2, &bits4, &bits8, &by_bucket},
                        .settings = 5,
                        .fill = FILL_ALONE};
            bench of_widths = *b;
            char point[64];
            work w;

            of_widths.settings.key_bytes = widths[i][0];
            of_widths.settings.value_bytes = widths[i][1];
            if (b->settings.widths_given &&
                (widths[i][0] != b->settings.key_bytes || widths[i][1] != b->settings.value_bytes))
                continue;
            w = begin(&of_widths, "stadium-fig19");
            f.far = far;
            f.names[INSERT] = far ? "(b) insert" : "(a) insert";
            f.names[FIND] = far ? "(d) find" : "(c) find";
            f.names[ERASE] = far ? "(d) erase" : "(c) erase";
            (void)snprintf(point, sizeof point, ", %u+%u bytes", widths[i][0], widths[i][1]);
            run_point(&w, &f, w.n, point);
            end(&w);
        }
}
