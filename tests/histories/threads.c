/* ctest: every design */
/* ctest: every target */
/* ctest: long */
/*
 * Histories of real threads: several threads call the same table at once, every element of every
 * call is written down with the stamps of its call, and the judge (support/history.h) must find for
 * each key one order of the elements that explains all answers and what the table holds in the end.
 *
 * A history is one round: the threads meet, make a few small calls each, and meet again. One of
 * them then reads the whole table and judges. Rounds follow one another on one table for a while,
 * which forms a scene; scenes differ in widths, options, numbers of threads and keys, and in what
 * is scarce: keys (so that the threads meet on one), slots (so that keys are displaced all the
 * time), or memory (so that calls end with BH_ERR_FULL). Tables start at capacity 1, so early
 * rounds also grow them; some calls reserve, compact, clear or export the table. bh_clear is an
 * erase of every key and bh_export a find of every key, each at one instant.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/history.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

enum {
    PLAYERS_MOST = 4,
    CALLS_MOST = 40, // of a player in a round
    CALLS_USUAL = 3,
};

/* Calls on the whole table, besides the operations of batch_call(). */
enum { CALL_RESERVE = BATCH_APPLY + 1, CALL_COMPACT, CALL_CLEAR, CALL_EXPORT };

typedef struct call {
    int kind; // a bh_op, BATCH_APPLY or one of the above
    batch all;
    uint64_t *owner; // the number of each element's key
    uint64_t *given; // the value that the element brought
    uint64_t number; // from 1 on, another one for each call of the scene
    uint64_t begin;  // stamps
    uint64_t end;
    bh_status status;
    uint64_t exported;
} call;

/* The calls of one player in one round. */
typedef struct part {
    uint64_t count;
    call calls[CALLS_MOST];
} part;

/* What is known of a key between two rounds. */
typedef struct entry {
    bool present;
    uint64_t value;
} entry;

typedef struct scene {
    const char *name;
    bh_table_options options;
    bh_experimental_options experimental;
    bool may_be_full;
    uint32_t players;
    uint64_t keys;
    uint64_t hot;   // the first keys are drawn more often
    uint64_t most;  // elements of a call
    uint64_t whole; // one call of so many is on the whole table; 0: none
    uint64_t flood; // one call of so many inserts or erases most of the keys; 0: none
    uint64_t tries; // calls of a player who is to be interrupted in one of them
    uint64_t rounds;
    uint64_t seed;
    bh_table *table;
    model *numbers; // of the keys
    entry *before;
    entry *after;
    // What a player does in this round while player 0 judges the one before lies in the other half.
    part parts[2][PLAYERS_MOST];
    atomic_uint_fast64_t stamp;
    pthread_barrier_t meeting;
    atomic_uint_fast64_t started; // how often players have been ready to start
    // Interrupting, in one round.
    atomic_uint calling;     // the player who is to be interrupted and makes calls, plus 1
    atomic_bool interrupted; // in the middle of a call
    atomic_bool over;        // all calls of that player have been made
    atomic_uint others;      // players that have made theirs meanwhile
} scene;

/* Of all scenes: how many histories were judged, and how much happened in them. */
static uint64_t histories = 0;
static uint64_t events_judged = 0;
static uint64_t histories_meeting = 0;
static uint64_t interruptions = 0;
static uint64_t too_hard = 0; // keys of a history that the judge gave up on
static uint64_t grows = 0;
static uint64_t shrinks = 0;

static uint64_t scene_key(const scene *s, uint64_t k)
{
    return random_key(s->options.key_bytes, 77, k);
}

/* --- meeting ----------------------------------------------------------------------------- */

/* Waits until all players are here. They come from scene_meet(), from which a player that had to be
 * woken returns late; this time nobody sleeps. */
static void scene_start(scene *s)
{
    const uint64_t mine = atomic_fetch_add(&s->started, 1);
    const uint64_t all = (mine / s->players + 1) * s->players;

    for (uint64_t waits = 0; atomic_load(&s->started) < all; waits++) {
        if (waits >= 200) {
            (void)sched_yield();
        }
    }
}

static void scene_meet(scene *s)
{
    (void)pthread_barrier_wait(&s->meeting);
}

/* --- the calls --------------------------------------------------------------------------- */

/* Operations that are drawn from, so that tables fill and empty in turns. */
static bh_op scene_draw_op(const scene *s, uint64_t round, rng *random)
{
    static const bh_op tides[][7] = {
        {BH_INSERT, BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT, BH_ADD, BH_FIND, BH_UPDATE},
        {BH_INSERT, BH_FIND_OR_INSERT, BH_INSERT_NEW, BH_ERASE, BH_ERASE, BH_FIND, BH_UPDATE},
        {BH_ERASE, BH_ERASE, BH_ERASE, BH_FIND, BH_UPDATE, BH_INSERT_NEW, BH_FIND_OR_INSERT},
        {BH_ADD, BH_ADD, BH_MIN, BH_MAX, BH_FIND, BH_ERASE, BH_FIND_OR_INSERT},
        {BH_FIND, BH_FIND, BH_FIND, BH_FIND_OR_INSERT, BH_INSERT, BH_ERASE, BH_ERASE},
    };
    const uint64_t tide = random_mix64(s->seed + round / 4) % TEST_COUNT(tides);
    bh_op op = tides[tide][random_below(random, TEST_COUNT(tides[tide]))];

    return batch_is_reduction((int)op) && s->options.value_bytes == 0 ? BH_INSERT : op;
}

/* Values that only one element brings, so that it is told from all others, and values that many
 * bring. Sums are of small numbers: which of many different ones make up a sum is too hard to judge
 * (it is the knapsack problem). */
static uint64_t draw_operand(bh_op op, rng *random)
{
    if (op == BH_ADD) {
        return 1 + (random_below(random, 4) == 0);
    }
    return random_below(random, 3) == 0 ? random_below(random, 4) : random_next(random);
}

static bool owner_is_new(const call *c, uint64_t i)
{
    for (uint64_t j = 0; j < i; j++) {
        if (c->owner[j] == c->owner[i]) {
            return false;
        }
    }
    return true;
}

static void call_prepare(const scene *s, call *c, uint64_t number, uint64_t round, rng *random)
{
    const bool whole = s->whole > 0 && random_below(random, s->whole) == 0;
    const bool flood = !whole && s->flood > 0 && random_below(random, s->flood) == 0;
    const bool distinct = s->options.duplicates == BH_DUPLICATES_NONE;
    const uint64_t start = random_below(random, s->keys);
    uint64_t n = random_below(random, s->most + 1);

    c->kind = random_below(random, 2) == 0 ? BATCH_APPLY : (int)scene_draw_op(s, round, random);
    if (whole) {
        c->kind = CALL_RESERVE + (int)random_below(random, 4);
        // An export has room for all; reserve's number is the batch's size.
        n = c->kind == CALL_EXPORT ? s->keys + 1 : random_below(random, s->keys);
    } else if (flood) {
        c->kind = round / 4 % 2 == 0 ? BH_INSERT : BH_ERASE;
        n = s->keys - random_below(random, s->keys / 4);
    } else if (distinct && n > s->keys / 2) {
        n = s->keys / 2;
    }
    c->number = number;
    c->all = batch_new(s->options.key_bytes, s->options.value_bytes, n);
    c->owner = test_allocate(n * sizeof *c->owner);
    c->given = test_allocate(n * sizeof *c->given);
    for (uint64_t i = 0; i < n; i++) {
        do {
            // A hot key comes up some three times in the largest call: with many more elements at
            // the same time a history would be too hard to judge.
            c->owner[i] =
                flood ? (start + i) % s->keys
                      : random_below(random,
                                     random_below(random, s->most) < 3 * s->hot ? s->hot : s->keys);
        } while (distinct && !whole && !flood && !owner_is_new(c, i));
        c->all.ops[i] = (uint8_t)scene_draw_op(s, round, random);
        batch_set(
            &c->all, i, scene_key(s, c->owner[i]),
            draw_operand(c->kind == BATCH_APPLY ? (bh_op)c->all.ops[i] : (bh_op)c->kind, random));
        c->given[i] = batch_value(&c->all, i);
    }
}

static void call_free(call *c)
{
    batch_free(&c->all);
    free(c->owner);
    free(c->given);
}

static void call_make(scene *s, call *c)
{
    uint64_t cursor = 0;

    c->begin = atomic_fetch_add(&s->stamp, 1);
    switch (c->kind) {
    case CALL_RESERVE: c->status = bh_reserve(s->table, c->all.n); break;
    case CALL_COMPACT: c->status = bh_compact(s->table); break;
    case CALL_CLEAR: c->status = bh_clear(s->table); break;
    case CALL_EXPORT:
        c->status =
            bh_export(s->table, &cursor, c->all.keys, c->all.values, c->all.n, &c->exported);
        break;
    default: c->status = batch_call(s->table, c->kind, &c->all); break;
    }
    c->end = atomic_fetch_add(&s->stamp, 1);
}

/* --- interrupting ------------------------------------------------------------------------ */

/*
 * A call of a few elements is over in a microsecond, and on busy processors threads run one after
 * the other: they would hardly ever see each other at work. So in every other round one player
 * makes calls until a timer interrupts it in the middle of one, at any instruction; the handler
 * waits until the others have made their calls (or wait for the interrupted one, which a time-out
 * ends). Each player has a timer and a signal of its own.
 */
typedef struct interruption {
    bool exists;
    timer_t timer;
    uint64_t length; // of the player's calls in such a round, about, in nanoseconds
} interruption;

static _Atomic(scene *) playing;

static uint64_t clock_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void interrupted(int signal)
{
    const int saved = errno;
    scene *s = atomic_load(&playing);

    // The timer may run out too late, in another round or even another scene.
    if (s != NULL && atomic_load(&s->calling) == (unsigned)(signal - SIGRTMIN) + 1) {
        const uint64_t deadline = clock_now() + 300000;
        atomic_store(&s->interrupted, true);
        while (atomic_load(&s->others) + 1 < s->players && clock_now() < deadline) {
            (void)sched_yield();
        }
    }
    errno = saved;
}

static int player_signal(uint32_t player)
{
    return SIGRTMIN + (int)player;
}

/* For the program's main(): the players' signals find nobody but the player. */
static void interruptions_prepare(void)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    for (uint32_t p = 0; p < PLAYERS_MOST; p++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = interrupted;
        action.sa_flags = SA_RESTART;
        check(sigaction(player_signal(p), &action, NULL) == 0, "no signal for the test itself");
        (void)sigaddset(&signals, player_signal(p));
    }
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static interruption interruption_start(uint32_t player)
{
    interruption i = {.length = 20000};
    struct sigevent event;
    sigset_t signals;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = player_signal(player);
    // Where there is no timer the players meet by chance alone.
    i.exists = timer_create(CLOCK_MONOTONIC, &event, &i.timer) == 0;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, player_signal(player));
    (void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    return i;
}

static void interruption_end(const interruption *i)
{
    if (i->exists) {
        (void)timer_delete(i->timer);
    }
}

/* Makes calls of this player until one was interrupted; the rest is left out. */
static void interruption_play(interruption *i, scene *s, uint32_t player, part *mine, rng *random)
{
    struct itimerspec when;
    uint64_t began = 0;
    uint64_t made = 0;

    memset(&when, 0, sizeof when);
    when.it_value.tv_nsec = 1 + (long)random_below(random, i->length);
    if (i->exists) {
        (void)timer_settime(i->timer, 0, &when, NULL);
    }
    began = clock_now();
    atomic_store(&s->calling, player + 1);
    while (made < mine->count && !atomic_load(&s->interrupted)) {
        call_make(s, &mine->calls[made++]);
    }
    atomic_store(&s->calling, 0);
    atomic_store(&s->over, true);
    if (!atomic_load(&s->interrupted)) {
        i->length = (i->length * 7 + (clock_now() - began)) / 8;
    }
    for (uint64_t c = made; c < mine->count; c++) {
        call_free(&mine->calls[c]);
    }
    mine->count = made;
}

/* --- judging ----------------------------------------------------------------------------- */

/* The events of a round, those of a key together. */
typedef struct record {
    uint64_t *first; // of each key's events; one more than there are keys
    history_event *events;
    uint64_t *next; // where the key's next event goes
} record;

static void record_add(record *r, const call *c, uint64_t k, history_event event)
{
    event.begin = c->begin;
    event.end = c->end;
    r->events[r->next[k]++] = event;
}

/* What a call on the whole table did to, or saw of, every key. */
static void record_whole(record *r, const scene *s, const call *c)
{
    history_event *seen = NULL;

    if (c->kind == CALL_CLEAR) {
        for (uint64_t k = 0; k < s->keys; k++) {
            record_add(r, c, k, (history_event){.op = BH_ERASE, .outcome = HISTORY_NOT_SAID});
        }
        return;
    }
    seen = test_allocate(s->keys * sizeof *seen);
    for (uint64_t k = 0; k < s->keys; k++) {
        seen[k] = (history_event){.op = BH_FIND, .outcome = BH_MISSING};
    }
    for (uint64_t i = 0; i < c->exported; i++) {
        uint64_t k = 0;
        check(model_get(s->numbers, batch_key(&c->all, i), &k),
              "%s: export gave key %#" PRIx64 ", which nobody ever inserted", s->name,
              batch_key(&c->all, i));
        check(seen[k].outcome == BH_MISSING, "%s: export gave key %" PRIu64 " twice", s->name, k);
        seen[k].outcome = BH_FOUND;
        seen[k].answer = batch_value(&c->all, i);
    }
    for (uint64_t k = 0; k < s->keys; k++) {
        record_add(r, c, k, seen[k]);
    }
    free(seen);
}

static void record_batch(record *r, const scene *s, const call *c)
{
    // bh_find changes nothing, so there is nothing to put in order, and it runs as in any table.
    const bool ordered = s->options.duplicates == BH_DUPLICATES_ORDERED && c->kind != BH_FIND;
    uint64_t not_done = 0;

    for (uint64_t i = 0; i < c->all.n; i++) {
        const bh_op op = c->kind == BATCH_APPLY ? (bh_op)c->all.ops[i] : (bh_op)c->kind;
        const uint8_t outcome = c->all.outcomes[i];

        check((batch_reads((int)op) && outcome == BH_FOUND) ||
                  batch_value(&c->all, i) == c->given[i],
              "%s: %s with outcome %u changed the caller's value", s->name,
              batch_operation_name((int)op), outcome);
        not_done += outcome == BH_NOT_DONE;
        record_add(r, c, c->owner[i],
                   (history_event){
                       .key = batch_key(&c->all, i),
                       .op = op,
                       .operand = c->given[i],
                       .answer = batch_value(&c->all, i),
                       .outcome = outcome,
                       .chain = ordered ? c->number : 0,
                   });
    }
    check((not_done > 0) == (c->status != BH_OK), "%s: %s answered %s with %" PRIu64 " not done",
          s->name, batch_operation_name(c->kind), bh_status_name(c->status), not_done);
}

static bool call_has_all_keys(const call *c)
{
    return c->kind == CALL_CLEAR || c->kind == CALL_EXPORT;
}

/* Whether two threads were at work on a key at the same time, one of them changing it. */
static bool events_meet(const history_event *events, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint64_t j = i + 1; j < count; j++) {
            // Calls of one thread have different stamps and do not overlap.
            if (events[i].begin != events[j].begin && events[i].begin <= events[j].end &&
                events[j].begin <= events[i].end &&
                (events[i].op != BH_FIND || events[j].op != BH_FIND)) {
                return true;
            }
        }
    }
    return false;
}

/* What every key is now, by find; nobody else is at work. */
static void scene_look(scene *s, entry *entries)
{
    batch all = batch_new(s->options.key_bytes, s->options.value_bytes, s->keys);

    for (uint64_t k = 0; k < s->keys; k++) {
        batch_set(&all, k, scene_key(s, k), 0);
    }
    check_status(batch_call(s->table, BH_FIND, &all), BH_OK);
    for (uint64_t k = 0; k < s->keys; k++) {
        check(all.outcomes[k] == BH_FOUND || all.outcomes[k] == BH_MISSING, "outcome %u",
              all.outcomes[k]);
        entries[k].present = all.outcomes[k] == BH_FOUND;
        entries[k].value = batch_value(&all, k);
    }
    batch_free(&all);
}

/* Holds what find says against the whole content and the stats. */
static void scene_compare(scene *s, const entry *entries)
{
    pairs content =
        table_pairs(s->table, s->options.key_bytes, s->options.value_bytes, s->keys + 1);
    uint64_t present = 0;

    for (uint64_t k = 0; k < s->keys; k++) {
        present += entries[k].present;
    }
    check(content.count == present, "%s: export gives %" PRIu64 " keys, find %" PRIu64, s->name,
          content.count, present);
    for (uint64_t i = 0; i < content.count; i++) {
        uint64_t k = 0;
        check(model_get(s->numbers, content.keys[i], &k) && entries[k].present &&
                  entries[k].value == content.values[i],
              "%s: export and find do not agree on key %#" PRIx64, s->name, content.keys[i]);
    }
    pairs_free(&content);
    table_check_stats(s->table);
}

static void scene_judge_key(const scene *s, const history_event *events, uint64_t count, uint64_t k)
{
    const entry *before = &s->before[k];
    const entry *after = &s->after[k];

    const history_verdict verdict =
        history_judge_key(events, count, s->options.value_bytes, before->present, before->value,
                          after->present, after->value);

    too_hard += verdict == HISTORY_GAVE_UP;
    if (verdict != HISTORY_BAD) {
        return;
    }
    history_print_key(events, count, scene_key(s, k), before->present, before->value,
                      after->present, after->value);
    check(false,
          "%s: no order explains the history above (%u threads, %" PRIu64 " keys, widths %u+%u, "
          "duplicates %d, %u subtables, fill %g to %g, seed of the hash %" PRIu64 ")",
          s->name, s->players, s->keys, s->options.key_bytes, s->options.value_bytes,
          (int)s->options.duplicates, s->options.dycuckoo.subtables, s->options.min_fill,
          s->options.max_fill, s->options.seed);
}

/* Judges a round and makes its end the beginning of the next. */
static void scene_judge(scene *s, const part *parts)
{
    record r;
    uint64_t total = 0;
    bool meeting = false;
    entry *held = NULL;

    scene_look(s, s->after);
    r.first = test_allocate((s->keys + 1) * sizeof *r.first);
    r.next = test_allocate(s->keys * sizeof *r.next);
    memset(r.next, 0, s->keys * sizeof *r.next);
    for (uint32_t p = 0; p < s->players; p++) {
        for (uint64_t i = 0; i < parts[p].count; i++) {
            const call *c = &parts[p].calls[i];

            check(c->status == BH_OK || (s->may_be_full && c->status == BH_ERR_FULL),
                  "%s: call of kind %d answered %s", s->name, c->kind, bh_status_name(c->status));
            for (uint64_t k = 0; call_has_all_keys(c) && k < s->keys; k++) {
                r.next[k]++;
            }
            for (uint64_t e = 0; c->kind <= BATCH_APPLY && e < c->all.n; e++) {
                r.next[c->owner[e]]++;
            }
        }
    }
    for (uint64_t k = 0; k < s->keys; k++) {
        r.first[k] = total;
        total += r.next[k];
        r.next[k] = r.first[k];
    }
    r.first[s->keys] = total;
    r.events = test_allocate(total * sizeof *r.events);
    for (uint32_t p = 0; p < s->players; p++) {
        for (uint64_t i = 0; i < parts[p].count; i++) {
            const call *c = &parts[p].calls[i];
            if (call_has_all_keys(c)) {
                record_whole(&r, s, c);
            } else if (c->kind <= BATCH_APPLY) {
                record_batch(&r, s, c);
            }
        }
    }
    for (uint64_t k = 0; k < s->keys; k++) {
        const history_event *events = r.events + r.first[k];
        const uint64_t count = r.first[k + 1] - r.first[k];

        scene_judge_key(s, events, count, k);
        meeting = meeting || events_meet(events, count);
    }
    histories++;
    events_judged += total;
    histories_meeting += meeting;
    held = s->before;
    s->before = s->after;
    s->after = held;
    free(r.events);
    free(r.next);
    free(r.first);
}

/* --- scenes ------------------------------------------------------------------------------ */

static void scene_play(void *argument, uint32_t player)
{
    scene *s = argument;
    rng random = random_start(random_mix64(s->seed + 1) + player);
    interruption interrupting = interruption_start(player);

    for (uint64_t round = 0; round < s->rounds; round++) {
        part *mine = &s->parts[round % 2][player];
        const bool interrupts = s->tries > 0 && round % 2 == 0;
        const uint32_t victim = (uint32_t)(random_mix64(s->seed + round) % s->players);

        mine->count =
            interrupts && player == victim ? s->tries : 1 + random_below(&random, CALLS_USUAL);
        for (uint64_t i = 0; i < mine->count; i++) {
            call_prepare(s, &mine->calls[i], 1 + (round * PLAYERS_MOST + player) * CALLS_MOST + i,
                         round, &random);
        }
        scene_meet(s);
        if (!interrupts) {
            scene_start(s);
        }
        if (interrupts && player == victim) {
            interruption_play(&interrupting, s, player, mine, &random);
        } else {
            while (interrupts && !atomic_load(&s->interrupted) && !atomic_load(&s->over)) {
                (void)sched_yield();
            }
            for (uint64_t i = 0; i < mine->count; i++) {
                call_make(s, &mine->calls[i]);
            }
            atomic_fetch_add(&s->others, 1);
        }
        scene_meet(s);
        if (player == 0) {
            scene_judge(s, s->parts[round % 2]);
            interruptions += atomic_load(&s->interrupted);
            atomic_store(&s->interrupted, false);
            atomic_store(&s->over, false);
            atomic_store(&s->others, 0);
            if (round % 32 == 31 || round + 1 == s->rounds) {
                scene_compare(s, s->before);
            }
            for (uint32_t p = 0; p < s->players; p++) {
                for (uint64_t i = 0; i < s->parts[round % 2][p].count; i++) {
                    call_free(&s->parts[round % 2][p].calls[i]);
                }
            }
        }
    }
    interruption_end(&interrupting);
}

/* Puts most of the keys in before the first round. */
static void scene_fill(scene *s, rng *random)
{
    batch all = batch_new(s->options.key_bytes, s->options.value_bytes, s->keys);
    bh_status status = BH_OK;

    for (uint64_t k = 0; k < s->keys; k++) {
        batch_set(&all, k, scene_key(s, k), draw_operand(BH_INSERT, random));
        all.ops[k] = random_below(random, 20) == 0 ? BH_FIND : BH_INSERT;
    }
    status = batch_call(s->table, BATCH_APPLY, &all);
    check(status == BH_OK || (s->may_be_full && status == BH_ERR_FULL), "%s",
          bh_status_name(status));
    batch_free(&all);
}

static void scene_run(scene *s, bh_context *context, bool filled, rng *random)
{
    bh_table_stats stats;

    s->seed = random_next(random);
    s->options.seed = random_next(random);
    s->options.seed_fixed = 1;
    s->options.experimental = &s->experimental;
    s->table = table_with(context, &s->options);
    s->numbers = model_new();
    s->before = test_allocate(s->keys * sizeof *s->before);
    s->after = test_allocate(s->keys * sizeof *s->after);
    for (uint64_t k = 0; k < s->keys; k++) {
        model_put(s->numbers, scene_key(s, k), k);
    }
    if (filled) {
        scene_fill(s, random);
    }
    scene_look(s, s->before);
    atomic_init(&s->stamp, 1);
    atomic_init(&s->started, 0);
    atomic_init(&s->calling, 0);
    atomic_init(&s->interrupted, false);
    atomic_init(&s->over, false);
    atomic_init(&s->others, 0);
    check(pthread_barrier_init(&s->meeting, NULL, s->players) == 0,
          "no barrier for the test itself");
    atomic_store(&playing, s);
    threads_run(s->players, scene_play, s);
    atomic_store(&playing, NULL);
    (void)pthread_barrier_destroy(&s->meeting);
    stats = table_stats(s->table);
    grows += stats.grows;
    shrinks += stats.shrinks;
    free(s->before);
    free(s->after);
    model_free(s->numbers);
    bh_table_destroy(s->table);
}

/* A scene with options drawn at random; the caller makes it special. */
static scene scene_draw(const char *name, rng *random)
{
    static const bh_duplicates meanings[] = {BH_DUPLICATES_ANY, BH_DUPLICATES_ANY,
                                             BH_DUPLICATES_ORDERED, BH_DUPLICATES_NONE};
    const test_widths widths = test_all_widths[random_below(random, TEST_WIDTHS)];
    scene s;

    memset(&s, 0, sizeof s);
    s.name = name;
    s.options = table_options(widths.key_bytes, widths.value_bytes, 1);
    s.options.duplicates = meanings[random_below(random, TEST_COUNT(meanings))];
    s.options.dycuckoo.subtables = 2 + (uint32_t)random_below(random, 7);
    bh_experimental_options_init(&s.experimental);
    s.experimental.values =
        widths.value_bytes ? (bh_value_place)random_below(random, 3) : BH_VALUES_DEFAULT;
    s.experimental.spread =
        random_below(random, 4) == 0 ? BH_SPREAD_THEOREM1 : BH_SPREAD_HOME_FIRST;
    s.options.max_fill = 0.5 + (double)random_below(random, 46) / 100;
    s.players = 2 + (uint32_t)random_below(random, PLAYERS_MOST - 1);
    s.hot = 1 + random_below(random, 8);
    s.tries = CALLS_MOST;
    s.rounds = 60;
    return s;
}

/* As many histories as `wanted`, in scenes that `make` makes; half as many where `make test-long` does
 * not go on with other seeds. */
static void play_scenes(uint64_t salt, uint64_t wanted, bool filled, uint32_t threads,
                        scene (*make)(rng *random))
{
    bh_context *context = context_new(threads, NULL, NULL);
    rng random = random_start(random_mix64(test_seed()) + salt);
    const uint64_t end = histories + (TEST_SANITIZER   ? wanted / 16
                                      : test_is_long() ? wanted
                                                       : wanted / 2);

    while (histories < end) {
        scene s = make(&random);
        s.rounds = s.rounds < end - histories ? s.rounds : end - histories;
        scene_run(&s, context, filled, &random);
    }
    bh_context_destroy(context);
}

/* So few keys that all threads are at work on each. */
static scene scene_of_few_keys(rng *random)
{
    scene s = scene_draw("few keys", random);
    s.keys = 2 + random_below(random, 6);
    s.hot = 1 + random_below(random, s.keys);
    s.most = s.keys * 3;
    s.whole = 12;
    return s;
}

static void few_keys(void **state)
{
    (void)state;
    play_scenes(1, 25000, false, 1, scene_of_few_keys);
}

/* Hundreds of keys in slots that hardly hold them, and a few keys that everybody wants. */
static scene scene_of_few_slots(rng *random)
{
    scene s = scene_draw("few slots", random);
    s.options.max_fill = 0.95;
    s.keys = 30 + random_below(random, 300);
    s.most = 40;
    s.tries = 16;
    s.whole = random_below(random, 2) == 0 ? 0 : 40;
    return s;
}

static void few_slots(void **state)
{
    (void)state;
    play_scenes(2, 18000, true, 1, scene_of_few_slots);
}

/* Short scenes that take a table from its smallest size to many times that, and back. */
static scene scene_of_growth(rng *random)
{
    scene s = scene_draw("growth", random);
    s.keys = 1000;
    s.most = 100;
    s.flood = 8;
    s.tries = 6;
    s.rounds = 16;
    s.whole = 60;
    return s;
}

static void growth(void **state)
{
    (void)state;
    play_scenes(3, 5000, false, 2, scene_of_growth);
}

/* Memory for some of the keys only: calls end with BH_ERR_FULL, and what was not done had no
 * effect. */
static scene scene_without_memory(rng *random)
{
    scene s = scene_draw("no memory", random);
    s.options.max_fill = 0.95;
    s.options.dycuckoo.subtables = 2 + (uint32_t)random_below(random, 2);
    // A subtable gets no more than its first page of 64 lines; HashFight no more than its buffer.
    const uint32_t pages = test_design() == BH_HASHFIGHT ? 3 : s.options.dycuckoo.subtables;
    s.options.max_host_bytes = 4096 * (uint64_t)pages;
    s.may_be_full = true;
    s.keys = 4096 * pages / (s.options.key_bytes + s.options.value_bytes) * 11 / 10;
    s.most = 150;
    return s;
}

static void no_memory(void **state)
{
    (void)state;
    play_scenes(4, 2000, true, 1, scene_without_memory);
}

/* Calls so large that threads of the context's own pool share them. */
static scene scene_of_large_calls(rng *random)
{
    scene s = scene_draw("large calls", random);
    s.keys = s.hot = 12000;
    s.most = 30000;
    s.players = 2;
    s.tries = 0;
    s.rounds = 10;
    s.whole = 10;
    if (s.options.duplicates == BH_DUPLICATES_NONE) {
        s.options.duplicates = BH_DUPLICATES_ANY;
    }
    if (s.options.duplicates == BH_DUPLICATES_ORDERED) {
        s.most = 80000; // threads share only larger ones of those
    }
    return s;
}

static void large_calls(void **state)
{
    (void)state;
    play_scenes(5, 60, false, 3, scene_of_large_calls);
}

/* Threads that never are at work on the same key at the same time prove nothing, nor does a judge
 * that does not know. */
static void much_was_judged(void **state)
{
    (void)state;
    printf("%" PRIu64 " histories of %" PRIu64 " events judged; in %" PRIu64
           " of them threads met on a key, in %" PRIu64
           " a call was interrupted; tables grew %" PRIu64 " times and shrank %" PRIu64 " times\n",
           histories, events_judged, histories_meeting, interruptions, grows, shrinks);
    printf("%" PRIu64 " keys were too hard to judge\n", too_hard);
    check(too_hard <= histories / 10000, "too much is too hard to judge");
    check(histories_meeting > histories / 200, "the threads hardly ever met");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_keys),    cmocka_unit_test(few_slots),
        cmocka_unit_test(growth),      cmocka_unit_test(no_memory),
        cmocka_unit_test(large_calls), cmocka_unit_test(much_was_judged),
    };
    int failed = 0;

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    interruptions_prepare();
    do {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
    } while (failed == 0 && test_goes_on());
    return test_exit_status(failed);
}
