/* ctest: long */
/* ctest: two halves */
/*
 * All schedules of two calls that meet, with at most three preemptions.
 *
 * Every pair of {insert, insert_new, find_or_insert, update, reduce, find, erase, grow, shrink}, from every one of
 * the states below, on one key or on two that have something to do with each other: the same home,
 * each other's home as their other bucket, or one in the way of the other. Buckets have two slots
 * (cmake/library.cmake), so the smallest table is two buckets. Grow is bh_reserve of one key more
 * than fit, shrink is bh_compact; in some states inserts and erases do the same by themselves.
 * Once more with one preemption less, the second fiber finds its key afterwards: only who looks
 * twice sees that something was taken back. There, and in the state whose schedules are longest,
 * insert stands for insert_new, find_or_insert and reduce as well.
 *
 * BULKHASH_TEST_HALF in the environment, 0 or 1: every other pair alone, so that two programs share them.
 *
 * BULKHASH_TEST_SECONDS in the environment: one preemption more, as many of the scenes as there is
 * time for, from one on that follows from BULKHASH_TEST_SEED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/support/search.h"
#include "support/check.h"

#define PREEMPTIONS 3u

typedef enum kind {
    INSERT, INSERT_NEW, FIND_OR_INSERT, UPDATE, REDUCE, FIND, ERASE, GROW, SHRINK, KINDS
} kind;

static const char *const kind_names[KINDS] = {"insert", "insert_new", "find_or_insert",
                                              "update", "reduce",     "find",
                                              "erase",  "grow",       "shrink"};

static const uint8_t kind_ops[KINDS] = {BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_UPDATE,
                                        BH_ADD,    BH_FIND,       BH_ERASE};

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
    bool is_long;      // insert stands for insert_new, find_or_insert and reduce
    scene s;
} start_state;

#define SMALLEST .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 1, .seed = 1
#define FOUR_BUCKETS                                                                               \
    .key_bytes = 8, .value_bytes = 8, .subtables = 2, .capacity = 6, .max_percent = 95, .seed = 1

#define FIGHT .design = BH_HASHFIGHT, .key_bytes = 8, .value_bytes = 8, .capacity = 1, .seed = 1

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
    {"missing, a guest in its home that could go home",
     0,
     {6, 1, NONE},
     false,
     {SMALLEST,
      .start_count = 4,
      .start = {PUT(3, K(4), K(5), K(6)), TAKE(4), PUT(1, K(1)), TAKE(5)}}},
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
    {"about to shrink",
     0,
     {2, 4, NONE},
     false,
     {SMALLEST, .start_count = 2, .start = {PUT(4, K(0), K(1), K(2), K(4)), TAKE(1)}}},
    {"both buckets full",
     0,
     {1, 2, 5, 4, NONE},
     false,
     {FOUR_BUCKETS, .start_count = 1, .start = {PUT(4, K(1), K(3), K(5), K(7))}}},
    {"missing, its home full of guests that share a counter",
     4,
     {8, NONE},
     false,
     {FOUR_BUCKETS,
      .start_count = 3,
      .start = {PUT(4, K(1), K(3), K(8), K(9)), TAKE(1), TAKE(3)}}},
    {"both buckets full, and those behind",
     8,
     {1, 2, 10, NONE},
     true,
     {FOUR_BUCKETS,
      .start_count = 2,
      .start = {PUT(4, K(1), K(3), K(0), K(2)), PUT(2, K(10), K(11))}}},
    // HashFight: its buffer has room for two pairs, its regions for four.
    {"HashFight, empty", 0, {1, NONE}, false, {FIGHT}},
    {"HashFight, in a full buffer",
     0,
     {2, NONE},
     false,
     {FIGHT, .start_count = 1, .start = {PUT(2, K(0), K(1))}}},
    {"HashFight, in a generation, about to shrink",
     0,
     {1, 6, NONE},
     false,
     {FIGHT,
      .start_count = 3,
      .start = {PUT(5, K(0), K(1), K(2), K(3), K(4)), PUT(1, K(5)), TAKE(4)}}},
    {"HashFight, in the second of two generations",
     6,
     {0, 8, NONE},
     false,
     {FIGHT,
      .start_count = 3,
      .start = {PUT(6, K(0), K(1), K(2), K(3), K(4), K(5)), PUT(3, K(6), K(7), K(9)),
                PUT(1, K(10))}}},
};

/* Two calls to be made at once from a state. `looks`: the second fiber finds its key afterwards,
 * so it would see a change that is taken back. */
typedef struct meeting {
    const start_state *from;
    kind one;
    kind other;
    uint8_t one_key;
    uint8_t other_key;
    bool looks;
} meeting;

#define MEETINGS_MOST 8000u
static meeting meetings[MEETINGS_MOST];
static uint32_t meeting_count = 0;

/* Whether insert can stand for it. */
static bool is_like_insert(kind what)
{
    return what == INSERT_NEW || what == FIND_OR_INSERT || what == REDUCE;
}

static void add_meeting(const start_state *from, kind one, uint8_t one_key, kind other,
                        uint8_t other_key, bool looks)
{
    if ((from->is_long || looks) && (is_like_insert(one) || is_like_insert(other))) {
        return;
    }
    check(meeting_count < MEETINGS_MOST, "more pairs than there is room for");
    meetings[meeting_count++] = (meeting){from, one, other, one_key, other_key, looks};
}

static void list_meetings(const start_state *from)
{
    const uint8_t subject = from->subject;

    for (kind one = INSERT; one < KINDS; one++) {
        for (kind other = one; other < KINDS; other++) {
            add_meeting(from, one, subject, other, subject, false);
        }
        for (kind other = INSERT; other < GROW; other++) {
            add_meeting(from, one, subject, other, subject, true);
        }
    }
    for (uint32_t i = 0; from->others[i] != NONE; i++) {
        const uint8_t second = from->others[i];
        for (kind other = INSERT; other < GROW; other++) {
            for (kind one = INSERT; one < GROW; one++) {
                add_meeting(from, one, subject, other, second, false);
                add_meeting(from, one, subject, other, second, true);
            }
            for (kind one = GROW; one < KINDS; one++) {
                add_meeting(from, one, 0, other, second, false);
                add_meeting(from, one, 0, other, second, true);
            }
        }
    }
}

static scene_call call_of(const start_state *from, uint32_t fiber, kind what, uint8_t key)
{
    scene_call call = {.what = SCENE_CALL, .count = 1};

    if (what < GROW) {
        call.element[0] = (scene_element){kind_ops[what], key, 200 + 100 * fiber + key};
    } else {
        call.what = what == GROW ? SCENE_RESERVE : SCENE_COMPACT;
        call.count = from->s.capacity > 1 ? 8 : 6;
    }
    return call;
}

/* Schedules of each pair, and how many scenes had them. */
typedef struct account {
    uint64_t scenes;
    uint64_t schedules;
} account;

static account accounts[KINDS][KINDS];
static account with_look; // of them, with a find afterwards

static void explore(const meeting *m, uint32_t most_preemptions)
{
    account *a = &accounts[m->one < m->other ? m->one : m->other]
                          [m->one < m->other ? m->other : m->one];
    scene s = m->from->s;
    uint64_t schedules = 0;
    fibers_schedule failing;

    s.fibers = 2;
    s.fiber[0].count = s.fiber[1].count = 1;
    s.fiber[0].call[0] = call_of(m->from, 0, m->one, m->one_key);
    s.fiber[1].call[0] = call_of(m->from, 1, m->other, m->other_key);
    if (m->looks) {
        s.fiber[1].count = 2;
        s.fiber[1].call[1] = call_of(m->from, 1, FIND, m->other_key);
    }
    // HashFight's writers take turns at the gate: a preemption less leaves little out, and its
    // schedules are long.
    most_preemptions -= m->looks || s.design == BH_HASHFIGHT;
    if (!search_all(&s, most_preemptions, UINT64_MAX, &schedules, &failing)) {
        printf("%s and %s: %s\n", kind_names[m->one], kind_names[m->other], m->from->name);
        search_report(&s, &failing);
    }
    a->scenes++;
    a->schedules += schedules;
    with_look.scenes += m->looks;
    with_look.schedules += m->looks ? schedules : 0;
}

static void print_accounts(void)
{
    account all = {0, 0};

    for (kind one = INSERT; one < KINDS; one++) {
        for (kind other = one; other < KINDS; other++) {
            const account *a = &accounts[one][other];
            printf("%-14s and %-14s %5llu scenes %10llu schedules\n", kind_names[one],
                   kind_names[other], (unsigned long long)a->scenes,
                   (unsigned long long)a->schedules);
            all.scenes += a->scenes;
            all.schedules += a->schedules;
        }
    }
    printf("in all %llu of %u scenes, %llu schedules, of them %llu and %llu with a find afterwards; "
           "%llu elements were refused\n",
           (unsigned long long)all.scenes, meeting_count, (unsigned long long)all.schedules,
           (unsigned long long)with_look.scenes, (unsigned long long)with_look.schedules,
           (unsigned long long)scene_refused());
}

/* Whether the pair belongs to the half that this program has. */
static bool is_mine(uint64_t m)
{
    const char *half = getenv("BULKHASH_TEST_HALF");

    return half == NULL || m % 2 == strtoull(half, NULL, 0);
}

static void all_pairs(void **state)
{
    const char *seconds = getenv("BULKHASH_TEST_SECONDS");
    const uint32_t preemptions = TEST_SANITIZER ? PREEMPTIONS - 1 : PREEMPTIONS;
    const time_t begin = time(NULL);

    (void)state;
    for (uint32_t s = 0; s < TEST_COUNT(states); s++) {
        list_meetings(&states[s]);
    }
    if (seconds == NULL) {
        for (uint32_t m = 0; m < meeting_count; m++) {
            if (is_mine(m)) {
                explore(&meetings[m], preemptions);
            }
        }
    } else {
        // Another part each time, in steps that are prime to the count.
        const uint64_t start = random_mix64(test_seed()) % meeting_count;
        for (uint32_t m = 0;
             m < meeting_count && difftime(time(NULL), begin) < strtod(seconds, NULL); m++) {
            const uint64_t next = (start + m * 1009ull) % meeting_count;
            if (is_mine(next)) {
                explore(&meetings[next], preemptions + 1);
            }
        }
    }
    print_accounts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs)};

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
