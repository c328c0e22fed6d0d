/*
 * stadium-table1: how many lanes of a warp are busy while keys are inserted, as in table I of the Stadium hashing
 * paper (stadium_paper.h).
 *
 * The paper has read a profiler's counter. Here the share is counted by a replay on the host, the same for all
 * devices: the keys are put, in their order, into a model of the table, and the 32 lanes of a warp go in lockstep.
 * In an *iteration* each busy lane makes one attempt at one slot; the share is busy lanes / (32 * iterations). The
 * paper's profiler weighs by instructions. It also counts those before the first attempt, which all lanes run
 * together, and within an iteration those that only lanes run that have succeeded, or only others. So its figures
 * show the same order, not the same numbers. One warp does all the work: so other warps do not change the fill in between, and
 * little is left over at the end.
 *
 *   cuckoo        the chains of one_slot.h. A warp takes 32 keys, and the next 32 when all are done
 *   Stash         double hashing over a prime number of slots, by the bit that says whether a slot is taken; in the
 *                 same way. (The other bits of tickets change nothing about insertions.)
 *   clStash       the same attempts, but lanes that are done take keys that were parked, as in figure 12 of the paper
 *   lanes, here   what the schedule of that name does in this library (src/cuda/device/kernels.h): a key that has
 *                 failed once is parked, and when 32 are parked they begin anew and are carried to their end
 */
#include "stadium_paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "one_slot.h"
#include "primitives/hash.h"

#define LANES 32u
#define MOST_PAIRS (UINT64_C(1) << 22) /* unless --keys says otherwise; in the paper 2^25 */

typedef struct model {
    int is_cuckoo;
    uint64_t slot_count; /* of a board a prime */
    uint64_t *slots;     /* ONE_SLOT_EMPTY, or the key that is there */
    uint64_t busy, iterations;
} model;

/* What a lane has in hand. */
typedef struct element {
    uint32_t first; /* the key with which it began */
    uint32_t key;   /* the one that it is placing: after an exchange another one */
    uint64_t place;
    uint64_t step;
} element;

static element begin(const model *m, uint32_t key)
{
    uint64_t state = key;
    element e = {key, key, 0, 0};

    if (m->is_cuckoo) {
        e.place = one_slot_place(key, 0, (uint32_t)m->slot_count);
    } else {
        e.place = bh_seed_next(&state) % m->slot_count;
        e.step = 1 + bh_seed_next(&state) % (m->slot_count - 1);
    }
    return e;
}

/* One attempt; answers whether the element is done. */
static int attempt(model *m, element *e)
{
    uint64_t *slot = &m->slots[e->place];
    const uint64_t there = *slot;

    if (there == ONE_SLOT_EMPTY || m->is_cuckoo)
        *slot = e->key;
    if (there == ONE_SLOT_EMPTY)
        return 1;
    if (m->is_cuckoo) {
        e->key = (uint32_t)there;
        e->place = one_slot_next(e->key, (uint32_t)e->place, (uint32_t)m->slot_count);
    } else {
        e->place = (e->place + e->step) % m->slot_count;
    }
    return 0;
}

/* Every element that is there makes an attempt. Those that are not done are moved to the front; answers how
 * many they are. */
static uint32_t iterate(model *m, element *lanes, uint32_t count)
{
    uint32_t left = 0, i;

    m->iterations++;
    m->busy += count;
    for (i = 0; i < count; i++)
        if (!attempt(m, &lanes[i]))
            lanes[left++] = lanes[i];
    return left;
}

static void carry(model *m, element *lanes, uint32_t count)
{
    while (count)
        count = iterate(m, lanes, count);
}

static uint32_t take(const model *m, const uint32_t *keys, uint64_t n, uint64_t at, element *lanes)
{
    uint32_t i;

    for (i = 0; i < LANES && at + i < n; i++)
        lanes[i] = begin(m, keys[at + i]);
    return i;
}

static void run_each(model *m, const uint32_t *keys, uint64_t n)
{
    element lanes[LANES];
    uint64_t at;

    for (at = 0; at < n; at += LANES)
        carry(m, lanes, take(m, keys, n, at, lanes));
}

static void run_collaborating(model *m, const uint32_t *keys, uint64_t n)
{
    element lanes[LANES], parked[LANES];
    uint32_t stored = 0, left;
    uint64_t at;

    for (at = 0; at < n; at += LANES) {
        left = iterate(m, lanes, take(m, keys, n, at, lanes));
        while (left + stored > LANES) {
            while (left < LANES)
                lanes[left++] = parked[--stored];
            left = iterate(m, lanes, LANES);
        }
        while (left)
            parked[stored++] = lanes[--left];
    }
    carry(m, parked, stored);
}

static void run_as_here(model *m, const uint32_t *keys, uint64_t n)
{
    element lanes[LANES], parked[2 * LANES];
    uint32_t stored = 0, left, i;
    uint64_t at;

    for (at = 0; at < n; at += LANES) {
        left = iterate(m, lanes, take(m, keys, n, at, lanes));
        while (left)
            parked[stored++] = begin(m, lanes[--left].first);
        if (stored < LANES)
            continue;
        stored -= LANES;
        for (i = 0; i < LANES; i++)
            lanes[i] = parked[stored + i];
        carry(m, lanes, LANES);
    }
    carry(m, parked, stored);
}

static int is_prime(uint64_t n)
{
    uint64_t i;

    for (i = 2; i * i <= n; i++)
        if (n % i == 0)
            return 0;
    return n > 1;
}

static const double fills[] = {0.8, 0.85, 0.9, 0.95};
#define FILLS (sizeof fills / sizeof *fills)

static const struct way {
    const char *name;
    void (*run)(model *m, const uint32_t *keys, uint64_t n);
    int is_cuckoo;
    double paper[FILLS];
} ways[] = {
    {"cuckoo", run_each, 1, {25.45, 24.5, 23.5, 22.4}},
    {"Stash", run_each, 0, {49.45, 47.0, 44.2, 40.6}},
    {"clStash", run_collaborating, 0, {87.95, 87.45, 86.85, 86.1}},
    {"lanes, here", run_as_here, 0, {0, 0, 0, 0}},
};

static void run_way(const bench *b, const struct way *way, uint32_t fill, const uint32_t *keys,
                    uint64_t n)
{
    model m = {way->is_cuckoo, (uint64_t)((double)n / fills[fill]), NULL, 0, 0};
    char name[64];
    result r = stadium_result(b, "stadium-table1", "insert");

    while (!is_prime(m.slot_count))
        m.slot_count++;
    m.slots = array(m.slot_count, sizeof *m.slots);
    memset(m.slots, 0xff, m.slot_count * sizeof *m.slots);
    way->run(&m, keys, n);
    free(m.slots);
    (void)snprintf(name, sizeof name, "fill %g, %s", fills[fill], way->name);
    r.name = name;
    if (way->is_cuckoo)
        r.design = "cuckoo";
    r.clock = "none";
    r.figure = "% of lanes busy";
    r.keys = r.batch = n;
    r.fill = (double)n / (double)m.slot_count;
    r.paper = way->paper[fill];
    sample(&r.value, 100 * (double)m.busy / (LANES * (double)m.iterations));
    print(b, &r);
}

void run_stadium_table1(bench *b)
{
    uint64_t n = stadium_pairs(b), i;
    uint32_t *keys, fill, way;

    if (!b->settings.keys_given && n > MOST_PAIRS)
        n = MOST_PAIRS;
    keys = array(n, sizeof *keys);
    for (i = 0; i < n; i++)
        keys[i] = key_of(i, salt_of(0));
    for (fill = 0; fill < FILLS; fill++)
        for (way = 0; way < sizeof ways / sizeof *ways; way++)
            run_way(b, &ways[way], fill, keys, n);
    free(keys);
}
