/* ctest: long */
/*
 * Random schedules of random scenes: two to four fibers with up to four calls each, also batches
 * and calls on the whole table, from random states of tables of all widths.
 *
 * A seed makes a scene and the schedules it is run under, so a failure can be had again from its
 * seed alone: BULKHASH_TEST_SEED=N in the environment. BULKHASH_TEST_SECONDS: go on with other
 * seeds for as long as that.
 */
#include <stdio.h>
#include <string.h>

#include "sim/support/design.h"
#include "sim/support/search.h"
#include "support/check.h"
#include "targets/target.h"

/* Interleavings in a run without a time, and how many of one scene. */
#define INTERLEAVINGS (BH_BRINGS ? 2000000u : 120000u)
#define OF_ONE_SCENE 20u

static void draw_batch(rng *random, const scene *s, const uint8_t *hot, uint64_t largest,
                       scene_call *call)
{
    static const uint8_t ops[] = {BH_INSERT, BH_INSERT, BH_INSERT,     BH_ERASE,  BH_ERASE,
                                  BH_FIND,   BH_FIND,   BH_INSERT_NEW, BH_UPDATE, BH_FIND_OR_INSERT,
                                  BH_ADD,    BH_MIN,    BH_MAX};
    const uint64_t kinds = s->value_bytes > 0 ? TEST_COUNT(ops) : TEST_COUNT(ops) - 3;

    call->what = random_below(random, 4) == 0 ? SCENE_APPLY : SCENE_CALL;
    call->count = 1;
    if (random_below(random, 3) == 0) {
        call->count = (uint8_t)(1 + random_below(random, largest));
    }
    for (uint32_t e = 0; e < call->count; e++) {
        call->element[e].op = ops[random_below(random, kinds)];
        call->element[e].key = hot[random_below(random, 4)];
        call->element[e].value = random_next(random);
    }
}

/* Most calls of fibers are about a few keys, so that they meet. */
static void draw_call(rng *random, const scene *s, const uint8_t *hot, uint64_t largest,
                      scene_call *call)
{
    switch (random_below(random, 24)) {
    case 0:
    case 1:
        call->what = SCENE_RESERVE;
        call->count = (uint8_t)(1 + random_below(random, 14));
        break;
    case 2:
    case 3: call->what = SCENE_COMPACT; break;
    case 4: call->what = SCENE_CLEAR; break;
    case 5: call->what = SCENE_EXPORT; break;
    case 6: call->what = SCENE_STATS; break;
    default: draw_batch(random, s, hot, largest, call); break;
    }
}

/* Puts all numbers in some order, those of the first `together` places among themselves: six keys
 * that have the same home come first. */
static void draw_order(rng *random, uint8_t order[SCENE_KEYS], uint32_t together)
{
    static const uint8_t by_home[] = {0, 1, 2, 3, 8, 9, 4, 5, 6, 7, 10, 11};

    for (uint32_t i = 0; i < SCENE_KEYS; i++) {
        // A shuffle: each takes the place of one before it, or its own.
        const uint32_t from = i < together ? 0 : together;
        const uint32_t place = from + (uint32_t)random_below(random, i - from + 1);
        order[i] = order[place];
        order[place] = i < TEST_COUNT(by_home) ? by_home[i] : (uint8_t)i;
    }
}

/* Mostly the first, whose schedules have the most to go wrong. */
static uint16_t draw_design(rng *random)
{
    bh_design number = BH_AUTO;
    uint32_t designs = 0;

    while (scene_design_at(designs, NULL) != NULL) {
        designs++;
    }
    if (designs > 1 && random_below(random, 3) == 0) {
        (void)scene_design_at(1 + (uint32_t)random_below(random, designs - 1), &number);
    }
    return (uint16_t)number;
}

static bool heeds_alike(uint16_t number)
{
    bh_design design = BH_AUTO;
    uint32_t i = 0;

    do {
        (void)scene_design_at(i++, &design);
    } while (number != BH_AUTO && number != design);
    return scene_design_at(i - 1, NULL)->heeds_alike;
}

/* All calls of fibers do one operation, without locks. */
static void make_alike(rng *random, scene *s)
{
    static const uint8_t ops[] = {BH_INSERT,         BH_ERASE, BH_UPDATE, BH_INSERT_NEW,
                                  BH_FIND_OR_INSERT, BH_ADD,   BH_MIN,    BH_MAX};
    const uint8_t op =
        ops[random_below(random, s->value_bytes > 0 ? TEST_COUNT(ops) : TEST_COUNT(ops) - 3)];

    s->alike = (uint8_t)(BH_BRINGS ? 1 : 1 + random_below(random, 2));
    s->ordered = 0;
    for (uint32_t f = 0; f < s->fibers; f++) {
        for (uint32_t c = 0; c < s->fiber[f].count; c++) {
            scene_call *call = &s->fiber[f].call[c];
            call->what = SCENE_CALL;
            call->count = (uint8_t)(call->count == 0 ? 1 : 1 + (call->count - 1) % SCENE_ELEMENTS);
            for (uint32_t e = 0; e < SCENE_ELEMENTS; e++) {
                call->element[e].op = op;
            }
        }
    }
}

/* The tables of lanes of a GPU are larger. */
static void draw_gpu_table(rng *random, scene *s)
{
    static const uint32_t capacities[] = {1, 1, 1, 17, 17, 60};
    static const uint8_t percents[] = {0, 50, 95, 100};

    s->capacity = capacities[random_below(random, TEST_COUNT(capacities))];
    s->max_percent = percents[random_below(random, TEST_COUNT(percents))];
}

/* They are filled by insertions of all keys from one on, in place of the first calls that are drawn. */
static void fill_gpu_table(rng *random, scene *s, const uint8_t order[SCENE_KEYS])
{
    uint32_t next = 4 + (uint32_t)random_below(random, SCENE_KEYS);

    for (uint32_t c = 0; next < SCENE_KEYS; c++) {
        scene_call *call = &s->start[c];
        call->what = SCENE_CALL;
        for (call->count = 0; call->count < SCENE_ELEMENTS && next < SCENE_KEYS; call->count++) {
            call->element[call->count] =
                (scene_element){BH_INSERT, order[next++], random_next(random)};
        }
        s->start_count = (uint8_t)(s->start_count > c ? s->start_count : c + 1);
    }
}

static scene draw_scene(uint64_t seed)
{
    static const uint32_t capacities[] = {1, 1, 1, 4, 6, 7};
    rng generator = random_start(seed);
    rng *random = &generator;
    uint8_t all[SCENE_KEYS];
    uint64_t calls = 0;
    uint64_t largest = 0;
    scene s;

    memset(&s, 0, sizeof s);
    s.design = draw_design(random);
    s.key_bytes = random_below(random, 2) == 0 ? 8 : 4;
    s.value_bytes = (uint8_t)(4 * random_below(random, 3));
    s.subtables = random_below(random, 4) == 0 ? 3 : 2;
    s.ordered = random_below(random, 8) == 0;
    s.apart = s.value_bytes > 0 && random_below(random, 6) == 0;
    s.spread = random_below(random, 6) == 0;
    s.max_percent = random_below(random, 2) == 0 ? 95 : 0;
    s.capacity = capacities[random_below(random, TEST_COUNT(capacities))];
    if (!BH_BRINGS) {
        draw_gpu_table(random, &s);
    }
    s.seed = random_below(random, 1000);

    // The first four are hot; in half of the scenes they have the same home. What is there at the
    // start is drawn from all.
    draw_order(random, all, random_below(random, 2) == 0 ? 6 : SCENE_KEYS);
    s.start_count = (uint8_t)random_below(random, SCENE_START_CALLS + 1);
    for (uint32_t c = 0; c < s.start_count; c++) {
        draw_batch(random, &s, &all[4 * random_below(random, 3)], 4, &s.start[c]);
        if (random_below(random, 2) == 0) {
            s.start[c].element[0].op = BH_INSERT;
        }
    }
    if (!BH_BRINGS) {
        fill_gpu_table(random, &s, all);
    }
    // In small scenes a schedule is likelier to hit the one place that matters.
    s.fibers = (uint8_t)(2 + random_below(random, 1 + random_below(random, FIBERS_MOST - 1)));
    calls = 1 + random_below(random, SCENE_CALLS);
    largest = 1 + random_below(random, random_below(random, 4) == 0 ? SCENE_ELEMENTS : 3);
    for (uint32_t f = 0; f < s.fibers; f++) {
        s.fiber[f].count = (uint8_t)(1 + random_below(random, calls));
        for (uint32_t c = 0; c < s.fiber[f].count; c++) {
            draw_call(random, &s, all, largest, &s.fiber[f].call[c]);
        }
    }
    if (heeds_alike(s.design) && random_below(random, BH_BRINGS ? 6 : 2) == 0) {
        make_alike(random, &s);
    }
    s.biased = !s.alike && random_below(random, 3) == 0;
    return s;
}

static void random_schedules(void **state)
{
    const uint64_t scenes = test_scaled(INTERLEAVINGS) / OF_ONE_SCENE;

    (void)state;
    for (uint64_t i = 0; i < scenes; i++) {
        const uint64_t seed = test_seed() + i;
        scene s = draw_scene(seed);
        rng random = random_start(~seed);
        fibers_schedule failing;
        if (!search_random(&s, &random, OF_ONE_SCENE, &failing)) {
            printf("BULKHASH_TEST_SEED=%llu finds it at once\n", (unsigned long long)seed);
            search_report(&s, &failing);
        }
    }
    printf("%llu interleavings of %llu scenes, seeds %llu to %llu; %llu elements were refused\n",
           (unsigned long long)(scenes * OF_ONE_SCENE), (unsigned long long)scenes,
           (unsigned long long)test_seed(), (unsigned long long)(test_seed() + scenes - 1),
           (unsigned long long)scene_refused());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_schedules)};

    int failed = 0;

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    do {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    } while (failed == 0 && test_goes_on());
    return test_exit_status(failed);
}
