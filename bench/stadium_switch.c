/*
 * stadium-fig13: from which fill on collaborative lanes pay, measured as in figure 13 of the Stadium hashing paper
 * (stadium_paper.h). For a GPU, pairs of 4+4 bytes, and a library that was built with BULKHASH_COMPARED=ON.
 *
 * Two tables, one with a thread for each element and one with collaborative lanes, are filled with the same keys in
 * 50 chunks of the same size, each chunk in the one table right after the other. The seconds that lanes save in each
 * chunk, as a function of the fill, are fitted by a polynomial of second order:
 *
 *     saved |              . *
 *         0 |---------.-x------->  fill       x: the switch point
 *           |  * . *
 *
 * The *switch point* is where the fitted curve begins to be above zero: of the two roots of a curve that
 * opens upwards the second, as in the paper. A curve may have no root in the range at which it rises. Then lanes are used
 * always (0) where they save time altogether, else never (1).
 *
 * The paper's hybrid inserts with threads up to that fill, and with lanes above. A table has one schedule for
 * life here; so the hybrid's time is the sum of the chunks' times, each from the table whose schedule the switch
 * point chooses. That leaves out nothing but that a hybrid table's pairs may lie in other slots.
 */
#include "stadium_paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS 50u
#define FILL 0.95

enum { THREAD, LANES, SCHEDULES };

typedef struct work {
    bench *b;
    uint64_t n;
    uint32_t ticket_bits;
    mirrored keys, values, outcomes;
    samples taken[SCHEDULES][CHUNKS]; /* in the order of the repetitions */
} work;

/* The polynomial c[0] + c[1] x + c[2] x^2 for which the squares of its distances to the points have the least
 * sum. */
static void fit(const double *x, const double *y, uint32_t count, double c[3])
{
    double m[3][4] = {{0}}, factor;
    uint32_t i, row, column, other;

    for (i = 0; i < count; i++)
        for (row = 0; row < 3; row++) {
            for (column = 0; column < 3; column++)
                m[row][column] += pow(x[i], row + column);
            m[row][3] += pow(x[i], row) * y[i];
        }
    /* The matrix is positive definite: so elimination needs no other order of rows. */
    for (row = 0; row < 3; row++)
        for (other = 0; other < 3; other++) {
            factor = m[other][row] / m[row][row];
            for (column = row; other != row && column < 4; column++)
                m[other][column] -= factor * m[row][column];
        }
    for (row = 0; row < 3; row++)
        c[row] = m[row][3] / m[row][row];
}

/* Where the curve begins to be above zero between 0 and `most`; *how says how that was found. */
static double switch_point(const double c[3], double most, const char **how)
{
    const double under = c[1] * c[1] - 4 * c[2] * c[0];
    const double area = c[0] * most + c[1] * most * most / 2 + c[2] * most * most * most / 3;
    /* The one of both roots at which the curve rises; written so that c[2] may be 0. */
    const double root = c[1] > 0 ? -2 * c[0] / (c[1] + sqrt(fmax(under, 0)))
                                 : (sqrt(fmax(under, 0)) - c[1]) / (2 * c[2]);

    *how = "fill at which lanes begin";
    if (under > 0 && root > 0 && root < most)
        return root;
    *how = area > 0 ? "fill at which lanes begin (no rising root: always)"
                    : "fill at which lanes begin (no rising root: never)";
    return area > 0 ? 0 : 1;
}

static double fill_at(uint32_t chunk)
{
    return FILL * (chunk + 0.5) / CHUNKS;
}

/* Fills both tables. Answers 0 when they cannot be had. */
static int measure(work *w, const bh_gpu_schedule *schedules)
{
    setting s = {"", w->ticket_bits, BH_PROBE_SLOT, BH_GPU_SCHEDULE_DEFAULT, 0};
    bh_table *tables[SCHEDULES];
    uint32_t i, chunk;

    for (i = 0; i < SCHEDULES; i++) {
        s.schedule = schedules[i];
        if (!stadium_table_of(w->b, &s, w->n, FILL, 0, &tables[i])) {
            if (i)
                bh_table_destroy(tables[0]);
            return 0;
        }
    }
    for (chunk = 0; chunk < CHUNKS; chunk++)
        for (i = 0; i < SCHEDULES; i++) {
            const uint64_t first = chunk * w->n / CHUNKS;
            const uint64_t count = (chunk + 1) * w->n / CHUNKS - first;
            const gpu_call c = {.what = BH_INSERT,
                                .table = tables[i],
                                .keys = key_at(w->b, w->keys.device, first),
                                .values = value_at(w->b, w->values.device, first),
                                .outcomes = w->outcomes.device,
                                .n = count,
                                .part = count};
            double taken;

            (void)gpu_timed(w->b, &c, &taken);
            to_host(w->b, &w->outcomes);
            check_outcomes(w->outcomes.host, count, BH_INSERTED, count);
            sample(&w->taken[i][chunk], taken);
        }
    for (i = 0; i < SCHEDULES; i++)
        bh_table_destroy(tables[i]);
    return 1;
}

/* The seconds of all chunks in one repetition, lanes from the switch point on. */
static double hybrid(const work *w, uint32_t repetition, double from)
{
    double sum = 0;
    uint32_t chunk;

    for (chunk = 0; chunk < CHUNKS; chunk++)
        sum += w->taken[fill_at(chunk) < from ? THREAD : LANES][chunk].at[repetition];
    return sum;
}

/* A line for each chunk, and the switch point. */
static double report_chunks(const work *w)
{
    double x[CHUNKS], y[CHUNKS], c[3], point;
    char name[64];
    result r;
    uint32_t chunk, i;

    for (chunk = 0; chunk < CHUNKS; chunk++) {
        r = stadium_result(w->b, "stadium-fig13", "insert");
        x[chunk] = r.fill = fill_at(chunk);
        (void)snprintf(name, sizeof name, "%u-bit tickets, chunk at %.4f", w->ticket_bits,
                       x[chunk]);
        r.name = name;
        r.figure = "microseconds that lanes save";
        r.keys = (uint64_t)((double)w->n * x[chunk] / FILL);
        r.batch = w->n / CHUNKS;
        for (i = 0; i < w->taken[0][0].count; i++)
            sample(&r.value, (w->taken[THREAD][chunk].at[i] - w->taken[LANES][chunk].at[i]) * 1e6);
        y[chunk] = median(&r.value);
        print(w->b, &r);
    }
    fit(x, y, CHUNKS, c);
    r = stadium_result(w->b, "stadium-fig13", "insert");
    (void)snprintf(name, sizeof name, "%u-bit tickets, switch point", w->ticket_bits);
    r.name = name;
    r.keys = r.batch = w->n;
    point = switch_point(c, FILL, &r.figure);
    sample(&r.value, point);
    print(w->b, &r);
    return point;
}

/* All chunks together with threads, with lanes, and with the one and then the other. */
static void report_rates(const work *w, double point, int unsupported)
{
    static const char *const what[] = {"a thread each", "lanes", "hybrid, from the chunks' times",
                                       "hybrid, from the chunks' times"};
    static const char *const than[] = {NULL, "times a thread each", "times a thread each",
                                       "times lanes"};
    /* Lanes begin at: never, always, the switch point. */
    const double from[] = {1, 0, point, point}, other[] = {1, 1, 1, 0};
    uint32_t i, at;

    for (i = 0; i < sizeof what / sizeof *what; i++) {
        char name[96];
        result r = stadium_result(w->b, "stadium-fig13", "insert");

        (void)snprintf(name, sizeof name, "%u-bit tickets, %s", w->ticket_bits, what[i]);
        r.name = name;
        r.figure = than[i];
        r.keys = w->n;
        r.batch = w->n / CHUNKS;
        r.unsupported = unsupported;
        for (at = 0; !unsupported && at < w->taken[0][0].count; at++) {
            enter(&r, w->n, hybrid(w, at, from[i]));
            if (than[i])
                sample(&r.value, hybrid(w, at, other[i]) / hybrid(w, at, from[i]));
        }
        print(w->b, &r);
    }
}

static void fill(const work *w, uint32_t salt)
{
    fill_keys(w->b, w->keys.host, 0, w->n, salt);
    fill_values(w->b, w->values.host, w->keys.host, w->n);
    to_device(w->b, &w->keys);
    to_device(w->b, &w->values);
}

static void run_tickets(work *w, uint32_t ticket_bits)
{
    static const bh_gpu_schedule schedules[] = {BH_GPU_SCHEDULE_THREAD, BH_GPU_SCHEDULE_LANES};
    uint32_t repetition;
    int there;

    w->ticket_bits = ticket_bits;
    /* The first time warms up: kernels are loaded to a GPU when they are first launched. */
    fill(w, salt_of(0));
    there = measure(w, schedules);
    memset(w->taken, 0, sizeof w->taken);
    for (repetition = 0; there && repetition < w->b->settings.repetitions; repetition++) {
        fill(w, salt_of(repetition));
        there = measure(w, schedules);
    }
    report_rates(w, there ? report_chunks(w) : 1, !there);
}

void run_stadium_fig13(bench *b)
{
    work *w = array(1, sizeof *w);

    w->b = b;
    w->n = stadium_pairs(b);
    w->keys = mirror(b, w->n, b->settings.key_bytes);
    w->values = mirror(b, w->n, b->settings.value_bytes);
    w->outcomes = mirror(b, w->n / CHUNKS + 1, 1);
    run_tickets(w, 1);
    run_tickets(w, 8);
    mirror_free(b, &w->keys);
    mirror_free(b, &w->values);
    mirror_free(b, &w->outcomes);
    free(w);
}
