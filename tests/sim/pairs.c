/*
 * All schedules of two calls that meet, with at most three preemptions.
 *
 * Every pair of {insert, insert_new, update, reduce, find, erase, grow, shrink}, from every one of
 * the states below, on one key or on two that have something to do with each other: the same home,
 * each other's home as their other bucket, or one in the way of the other. Buckets have two slots
 * (cmake/library.cmake), so the smallest table is two buckets. Grow is bh_reserve of one key more
 * than fit, shrink is bh_compact; in some states inserts and erases do the same by themselves. In
 * the state whose schedules are longest, insert stands for insert_new and reduce as well.
 *
 * BULKHASH_TEST_SECONDS in the environment: one preemption more, for as long as that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/support/search.h"
#include "support/check.h"

#define PREEMPTIONS 3u

typedef enum kind { INSERT, INSERT_NEW, UPDATE, REDUCE, FIND, ERASE, GROW, SHRINK, KINDS } kind;

static const char *const kind_names[KINDS] = {"insert", "insert_new", "update", "reduce",
                                              "find",   "erase",      "grow",   "shrink"};

static const uint8_t kind_ops[KINDS] = {BH_INSERT, BH_INSERT_NEW, BH_UPDATE, BH_ADD,
                                        BH_FIND,   BH_ERASE};

/* Start calls, spelt short. */
#define PUT(n, ...) {SCENE_CALL, n, {__VA_ARGS__}}
#define K(number) {BH_INSERT, number, 100 + number}
#define TAKE(number) {SCENE_CALL, 1, {{BH_ERASE, number, 0}}}
#define RESERVE(keys) {SCENE_RESERVE, keys, {{0, 0, 0}}}

#define NONE 99

typedef struct start_state {
    const char *name;
    uint8_t subject;   // what the first call is about
    uint8_t others[5]; // what the second may be about instead, then NONE
    bool is_long;      // insert stands for insert_new and reduce
    scene s;
} start_state;

#define SMALLEST .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 1, .seed = 1
#define FOUR_BUCKETS                                                                               \
    .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 6, .max_percent = 95, .seed = 1

/* Where keys live is said in scene.h. */
static const start_state states[] = {
    {"empty", 0, {1, 4, NONE}, false, {SMALLEST}},
    {"at home", 0, {1, 4, NONE}, false, {SMALLEST, .start_count = 1, .start = {PUT(1, K(0))}}},
    {"in its other bucket",
     0,
     {2, 1, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(3, K(1), K(2), K(0)), TAKE(1)}}},
    {"in its other bucket, home full",
     0,
     {1, 3, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(3, K(1), K(2), K(0))}}},
    {"missing, home full",
     0,
     {1, 3, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(2, K(1), K(2))}}},
    {"missing, its filter bit set",
     0,
     {8, 1, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(3, K(1), K(2), K(0)), TAKE(0)}}},
    {"two in each other's home",
     0,
     {6, NONE},
     false,
     {SMALLEST,
      .start_count = 4,
      .start = {PUT(3, K(4), K(5), K(6)), TAKE(4), TAKE(5), PUT(2, K(1), K(0))}}},
    {"no room",
     2,
     {0, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(3, K(0), K(1), K(4))}}},
    {"grown",
     0,
     {2, 4, NONE},
     false,
     {SMALLEST, .start_count = 1, .start = {PUT(4, K(0), K(1), K(2), K(4))}}},
    {"large, to be compacted",
     0,
     {1, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {RESERVE(9), PUT(2, K(0), K(4))}}},
    {"grown and emptied",
     0,
     {4, NONE},
     false,
     {SMALLEST,
      .start_count = 4,
      .start = {PUT(4, K(0), K(1), K(4), K(5)), PUT(1, K(2)), TAKE(2), TAKE(5)}}},
    {"both buckets full",
     0,
     {1, 2, 5, 4, NONE},
     false,
     {FOUR_BUCKETS, .start_count = 1, .start = {PUT(4, K(1), K(3), K(5), K(7))}}},
    {"both buckets full, and those behind",
     8,
     {1, 2, 10, NONE},
     true,
     {FOUR_BUCKETS,
      .start_count = 2,
      .start = {PUT(4, K(1), K(3), K(0), K(2)), PUT(2, K(10), K(11))}}},
};

/* How often a pair was set up, and its schedules. */
typedef struct account {
    uint64_t scenes;
    uint64_t schedules;
} account;

static account accounts[KINDS][KINDS];
static uint64_t left_out; // scenes for which there was no time

static void set_call(scene *s, uint32_t fiber, kind what, uint8_t key)
{
    scene_call *call = &s->fiber[fiber].call[0];

    s->fiber[fiber].count = 1;
    call->count = 1;
    if (what < GROW) {
        call->what = SCENE_CALL;
        call->element[0] = (scene_element){kind_ops[what], key, 200 + 100 * fiber + key};
    } else {
        call->what = what == GROW ? SCENE_RESERVE : SCENE_COMPACT;
        call->count = s->capacity > 1 ? 8 : 6;
    }
}

/* How many seconds a run may take in all; 0: as many as it takes. */
static double seconds_allowed(void)
{
    const char *text = getenv("BULKHASH_TEST_SECONDS");
    return text != NULL ? strtod(text, NULL) : 0;
}

static void explore_pair(const start_state *from, kind one, uint8_t one_key, kind other,
                         uint8_t other_key)
{
    account *a = one < other ? &accounts[one][other] : &accounts[other][one];
    scene s = from->s;
    fibers_schedule failing;
    uint32_t preemptions = TEST_SANITIZER ? PREEMPTIONS - 1 : PREEMPTIONS;

    if (from->is_long &&
        (one == INSERT_NEW || one == REDUCE || other == INSERT_NEW || other == REDUCE)) {
        return;
    }
    if (seconds_allowed() > 0) {
        preemptions++;
        if ((double)clock() / CLOCKS_PER_SEC > seconds_allowed()) {
            left_out++;
            return;
        }
    }
    s.fibers = 2;
    set_call(&s, 0, one, one_key);
    set_call(&s, 1, other, other_key);
    a->scenes++;
    if (!search_all(&s, preemptions, UINT64_MAX, &a->schedules, &failing)) {
        printf("%s and %s: %s\n", kind_names[one], kind_names[other], from->name);
        search_report(&s, &failing);
    }
}

static void explore_state(const start_state *from)
{
    const uint8_t subject = from->subject;

    for (kind one = INSERT; one < KINDS; one++) {
        for (kind other = one; other < KINDS; other++) {
            explore_pair(from, one, subject, other, subject);
        }
    }
    for (uint32_t i = 0; from->others[i] != NONE; i++) {
        for (kind one = INSERT; one < GROW; one++) {
            for (kind other = INSERT; other < GROW; other++) {
                explore_pair(from, one, subject, other, from->others[i]);
            }
            explore_pair(from, one, from->others[i], GROW, 0);
            explore_pair(from, one, from->others[i], SHRINK, 0);
        }
    }
}

static void all_pairs(void **state)
{
    uint64_t scenes = 0;
    uint64_t schedules = 0;

    (void)state;
    for (uint32_t s = 0; s < TEST_COUNT(states); s++) {
        explore_state(&states[s]);
    }
    for (kind one = INSERT; one < KINDS; one++) {
        for (kind other = one; other < KINDS; other++) {
            const account *a = &accounts[one][other];
            printf("%-10s and %-10s %5llu scenes %10llu schedules\n", kind_names[one],
                   kind_names[other], (unsigned long long)a->scenes,
                   (unsigned long long)a->schedules);
            scenes += a->scenes;
            schedules += a->schedules;
        }
    }
    printf("in all %llu scenes, %llu schedules; %llu scenes left out for want of time\n",
           (unsigned long long)scenes, (unsigned long long)schedules,
           (unsigned long long)left_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs)};

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
