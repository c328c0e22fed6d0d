/* ctest: long */
/* ctest: two halves */
/*
 * All schedules of two calls that meet, with at most three preemptions: the last of them where the schedules without it are at
 * most SCHEDULES_FEW, so that two pairs in five have three. (With three wherever they may be there are 237 million schedules
 * instead of 49.)
 *
 * Every pair of {insert, insert_new, find_or_insert, update, reduce, find, erase, grow, shrink}, from
 * every state of every design (sim/support/design.h), on one key or on two that have something to do with
 * each other: the same home, or one in the way of the other. Grow is bh_reserve of more keys than fit,
 * shrink is bh_compact; in some states inserts and erases do the same by themselves.
 * In a table that is biased to the first fiber its changes, which take no locks there, meet lookups, changes that end the
 * bias, and growth; what ends it, with one preemption less. There insertions also meet lookups as calls of two elements, which go
 * through the front of the schedule.
 * Each operation also meets itself without locks, as elements of one call do on a GPU (BH_HINT_ALIKE); in the build
 * sim_gpu by lanes (sim/support/lanes.h).
 * Once more with one preemption less, the second fiber finds its key afterwards: only who looks
 * twice sees that something was taken back. There, and in the state whose schedules are longest,
 * insert stands for insert_new, find_or_insert and reduce as well.
 *
 * Slices are counted at the gate: its other way in has schedules of its own in gate.c, and random ones in
 * random.c.
 *
 * BULKHASH_TEST_HALF in the environment, 0 or 1: every other pair alone, so that two programs share them.
 *
 * BULKHASH_TEST_SECONDS in the environment: with three preemptions, and with four where those with three are at most
 * SCHEDULES_FEW_LONG (in the build sim_gpu one less), as many of the scenes as there is time for, from one on that follows
 * from BULKHASH_TEST_SEED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/support/design.h"
#include "sim/support/search.h"
#include "support/check.h"
#include "targets/target.h"

#define PREEMPTIONS (BH_BRINGS ? 3u : 2u) /* a GPU's lanes copy regions word by word: more steps */

/* Schedules without the last preemption, up to which it is explored. With a third one, n schedules become about n * sqrt(n) / 3. */
#define SCHEDULES_FEW 1000u
#define SCHEDULES_FEW_LONG 30000u

typedef enum kind {
    INSERT,
    INSERT_NEW,
    FIND_OR_INSERT,
    UPDATE,
    REDUCE,
    FIND,
    ERASE,
    GROW,
    SHRINK,
    KINDS
} kind;

static const char *const kind_names[KINDS] = {"insert", "insert_new", "find_or_insert",
                                              "update", "reduce",     "find",
                                              "erase",  "grow",       "shrink"};

static const uint8_t kind_ops[KINDS] = {BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_UPDATE,
                                        BH_ADD,    BH_FIND,       BH_ERASE};

/* Two calls to be made at once from a state. `looks`: the second fiber finds its key afterwards,
 * so it would see a change that is taken back. */
typedef struct meeting {
    const scene_design *design;
    bh_design number;
    const scene_state *from;
    kind one;
    kind other;
    uint8_t one_key;
    uint8_t other_key;
    bool looks;
    uint8_t alike; // both are the same operation, and run as a GPU runs what is alike (scene.h)
    uint8_t biased;
    bool
        returns; // the first fiber erases its subject's key and then inserts its own, which the second looks for twice
    bool
        front; // the first fiber's call has its element twice, and so goes through the schedule's front
} meeting;

#define MEETINGS_MOST 16000u
static meeting meetings[MEETINGS_MOST];
static uint32_t meeting_count = 0;

/* Whether insert can stand for it. */
static bool is_like_insert(kind what)
{
    return what == INSERT_NEW || what == FIND_OR_INSERT || what == REDUCE;
}

/* `like` says whose state it is. */
static void add_meeting(const meeting *like, kind one, uint8_t one_key, kind other,
                        uint8_t other_key, bool looks)
{
    meeting *m = &meetings[meeting_count];

    if ((like->from->is_long || looks || (!BH_BRINGS && !like->alike)) &&
        (is_like_insert(one) || is_like_insert(other))) {
        return;
    }
    // No slice runs beside a call on the whole table, as the build sim shows.
    if (!BH_BRINGS && (one >= GROW || other >= GROW)) {
        return;
    }
    check(meeting_count < MEETINGS_MOST, "more pairs than there is room for");
    *m = *like; // alike too
    m->one = one;
    m->other = other;
    m->one_key = one_key;
    m->other_key = other_key;
    m->looks = looks;
    meeting_count++;
}

static void list_meetings(const meeting *like)
{
    const scene_state *from = like->from;
    const uint8_t subject = from->subject;

    for (kind one = INSERT; one < KINDS; one++) {
        for (kind other = one; other < KINDS; other++) {
            add_meeting(like, one, subject, other, subject, false);
        }
        for (kind other = INSERT; other < GROW; other++) {
            add_meeting(like, one, subject, other, subject, true);
        }
    }
    for (uint32_t i = 0; from->others[i] != NONE; i++) {
        const uint8_t second = from->others[i];
        for (kind other = INSERT; other < GROW; other++) {
            for (kind one = INSERT; one < GROW; one++) {
                add_meeting(like, one, subject, other, second, false);
                add_meeting(like, one, subject, other, second, true);
            }
            for (kind one = GROW; one < KINDS; one++) {
                add_meeting(like, one, 0, other, second, false);
                add_meeting(like, one, 0, other, second, true);
            }
        }
    }
}

/* The meetings of operations with themselves, as elements of one call on a GPU. */
static void list_alike(const meeting *like)
{
    const scene_state *from = like->from;

    for (kind one = INSERT; one < GROW; one++) {
        if (one != FIND) {
            add_meeting(like, one, from->subject, one, from->subject, false);
            for (uint32_t i = 0; from->others[i] != NONE; i++) {
                add_meeting(like, one, from->subject, one, from->others[i], false);
            }
        }
    }
}

/* The meetings of changes in a table that is biased to who makes them. */
static void list_biased(const meeting *like)
{
    static const kind ones[] = {INSERT, REDUCE, ERASE};
    static const kind others[] = {FIND, INSERT, GROW};
    const scene_state *from = like->from;

    // Through the front a pair takes the place of another. (Random scenes have that with locks.)
    meeting two = *like;
    two.front = true;
    add_meeting(&two, INSERT, from->subject, FIND, from->subject, true);
    for (uint32_t i = 0; from->others[i] != NONE; i++) {
        add_meeting(&two, INSERT, from->subject, FIND, from->others[i], true);
    }
    // What a reader may still know of a key that goes and comes back, or of another that has its place.
    meeting back = *like;
    back.returns = true;
    add_meeting(&back, INSERT, from->subject, FIND, from->subject, true);
    for (uint32_t i = 0; from->others[i] != NONE; i++) {
        add_meeting(&back, INSERT, from->others[i], FIND, from->others[i], true);
    }
    for (uint32_t c = 0; c < TEST_COUNT(ones); c++) {
        const kind one = ones[c];
        for (uint32_t o = 0; o < TEST_COUNT(others); o++) {
            add_meeting(like, one, from->subject, others[o], from->subject, false);
            for (uint32_t i = 0; others[o] < GROW && from->others[i] != NONE; i++) {
                add_meeting(like, one, from->subject, others[o], from->others[i], false);
            }
        }
    }
}

static scene_call call_of(const scene_state *from, uint32_t fiber, kind what, uint8_t key)
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

/* Runs a scene under all schedules with so many preemptions, or with one less, where those are more than `few`. */
static bool search(const scene *s, uint32_t most_preemptions, uint64_t few, uint64_t *schedules,
                   fibers_schedule *failing)
{
    bool good = most_preemptions == 0 ||
                search_all(s, most_preemptions - 1, UINT64_MAX, schedules, failing);

    if (good && *schedules <= few) {
        *schedules = 0;
        good = search_all(s, most_preemptions, UINT64_MAX, schedules, failing);
    }
    return good;
}

static void explore(const meeting *m, uint32_t most_preemptions, uint64_t few)
{
    account *a =
        &accounts[m->one < m->other ? m->one : m->other][m->one < m->other ? m->other : m->one];
    scene s = m->from->s;
    uint64_t schedules = 0;
    fibers_schedule failing;

    s.design = (uint16_t)m->number;
    s.alike = m->alike;
    s.biased = m->biased;
    s.fibers = 2;
    s.fiber[0].count = s.fiber[1].count = 1;
    s.fiber[0].call[0] = call_of(m->from, 0, m->one, m->one_key);
    s.fiber[1].call[0] = call_of(m->from, 1, m->other, m->other_key);
    if (m->returns) {
        s.fiber[0].count = 2;
        s.fiber[0].call[1] = s.fiber[0].call[0];
        s.fiber[0].call[0] = call_of(m->from, 0, ERASE, m->from->subject);
    }
    if (m->front) {
        s.fiber[0].call[0].count = 2;
        s.fiber[0].call[0].element[1] = s.fiber[0].call[0].element[0];
    }
    if (m->looks) {
        s.fiber[1].count = 2;
        s.fiber[1].call[1] = call_of(m->from, 1, FIND, m->other_key);
    }
    // Ending the bias takes the gate alone, which has many schedules.
    most_preemptions -= m->looks || m->design->takes_turns || (m->biased && m->other != FIND);
    if (!search(&s, most_preemptions, few, &schedules, &failing)) {
        printf("%s and %s: design %d, %s\n", kind_names[m->one], kind_names[m->other],
               (int)m->number, m->from->name);
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
    printf(
        "in all %llu of %u scenes, %llu schedules, of them %llu and %llu with a find afterwards; "
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

    meeting like = {0};

    (void)state;
    for (uint32_t d = 0; (like.design = scene_design_at(d, &like.number)) != NULL; d++) {
        for (uint32_t s = 0; s < like.design->state_count; s++) {
            like.from = &like.design->states[s];
            like.alike = 0;
            list_meetings(&like);
            for (like.alike = 1; like.design->heeds_alike && like.alike <= (BH_BRINGS ? 1 : 2);
                 like.alike++) {
                list_alike(&like);
            }
            like.alike = 0;
            like.biased = 1;
            if (like.design->heeds_alike && BH_BRINGS) {
                list_biased(&like);
            }
            like.biased = 0;
        }
    }
    if (seconds == NULL) {
        for (uint32_t m = 0; m < meeting_count; m++) {
            if (is_mine(m)) {
                explore(&meetings[m], preemptions, SCHEDULES_FEW);
            }
        }
    } else {
        // Another part each time, in steps that are prime to the count.
        const uint64_t start = random_mix64(test_seed()) % meeting_count;
        for (uint32_t m = 0;
             m < meeting_count && difftime(time(NULL), begin) < strtod(seconds, NULL); m++) {
            const uint64_t next = (start + m * 1009ull) % meeting_count;
            if (is_mine(next)) {
                explore(&meetings[next], preemptions + 1, SCHEDULES_FEW_LONG);
            }
        }
    }
    print_accounts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs)};

    scene_counts_slices = true;
    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
