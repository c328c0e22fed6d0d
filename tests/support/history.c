/*
 * The history checker, see history.h.
 *
 * The search puts events in order one by one. The next may be any event that no other one left must
 * precede. Three things keep it short:
 *
 *   - an event that only looks (a find; an insert_new that found its key) and whose answer fits the
 *     key as it is now is put next without alternatives: it changes nothing, so if there is an
 *     order in which it comes later there is one in which it comes now;
 *   - of two events that are alike in all but their stamps, the one that ended first goes first: in
 *     an order that has them the other way round they can be exchanged;
 *   - a set of events put in order, with the key as it is then, from which no order was found is
 *     remembered as a dead end. It is kept whole, not as a hash, so two can never be confused.
 */
#include "support/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"

/* Dead ends: an open-addressing table of `words`-word entries. An entry is a value, whether the key
 * is there, and the set of events as bits; its first word is 0 in a free place. */
typedef struct dead_ends {
    uint64_t words;
    uint64_t places; /* a power of two, or 0 */
    uint64_t count;
    uint64_t *entries;
} dead_ends;

typedef struct search {
    history_event *events; /* what took effect, sorted by end */
    uint64_t *after;       /* number of the event's predecessor in its chain plus 1, or 0 */
    uint64_t *likeness;    /* events without a chain are alike if these are equal */
    uint64_t count;
    uint32_t value_bytes;
    bool present_after;
    uint64_t value_after;
    uint64_t *state; /* an entry for dead_ends: the key now, and the events put in order */
    dead_ends dead;
} search;

enum { STATE_PRESENT, STATE_VALUE, STATE_SET };

/* From so many dead ends on it is worth while to look further ahead. */
enum { HARD = 5 };

/* --- dead ends --------------------------------------------------------------------------- */

static uint64_t *dead_ends_place(const dead_ends *dead, const uint64_t *state)
{
    uint64_t hash = 0;
    uint64_t place = 0;

    for (uint64_t w = 0; w < dead->words; w++) {
        hash = random_mix64(hash + state[w] + 0x9e3779b97f4a7c15u);
    }
    place = hash & (dead->places - 1);
    for (;;) {
        uint64_t *entry = dead->entries + place * dead->words;
        if (entry[0] == 0 || memcmp(entry, state, dead->words * sizeof *state) == 0) {
            return entry;
        }
        place = (place + 1) & (dead->places - 1);
    }
}

static bool dead_ends_hold(const dead_ends *dead, const uint64_t *state)
{
    return dead->count > 0 && dead_ends_place(dead, state)[0] != 0;
}

static void dead_ends_add(dead_ends *dead, const uint64_t *state)
{
    if ((dead->count + 1) * 2 > dead->places) {
        dead_ends larger = {.words = dead->words,
                            .places = dead->places > 0 ? dead->places * 2 : 64,
                            .count = dead->count};
        uint64_t bytes = larger.places * larger.words * sizeof *larger.entries;
        larger.entries = test_allocate(bytes);
        memset(larger.entries, 0, bytes);
        for (uint64_t p = 0; p < dead->places; p++) {
            const uint64_t *entry = dead->entries + p * dead->words;
            if (entry[0] != 0) {
                memcpy(dead_ends_place(&larger, entry), entry, dead->words * sizeof *entry);
            }
        }
        free(dead->entries);
        *dead = larger;
    }
    memcpy(dead_ends_place(dead, state), state, dead->words * sizeof *state);
    dead->count++;
}

/* --- the search -------------------------------------------------------------------------- */

/* The key's part of a state. The first word is never 0. */
static void search_set_key(search *s, bool present, uint64_t value)
{
    s->state[STATE_PRESENT] = present ? 2 : 1;
    s->state[STATE_VALUE] = present ? value : 0;
}

static bool search_has(const search *s, uint64_t e)
{
    return (s->state[STATE_SET + e / 64] >> e % 64 & 1u) != 0;
}

/* Adds an event to the set, or takes it out. */
static void search_flip(search *s, uint64_t e)
{
    s->state[STATE_SET + e / 64] ^= (uint64_t)1 << e % 64;
}

/* Whether the event fits the key as it is; if so the key becomes what the event makes of it. */
static bool search_step(const search *s, uint64_t e, bool *present, uint64_t *value)
{
    const history_event *event = &s->events[e];
    uint64_t operand = event->operand;
    bh_outcome outcome = model_step(event->op, s->value_bytes, present, value, &operand);

    if (event->outcome == HISTORY_NOT_SAID) {
        return true;
    }
    return event->outcome == (uint8_t)outcome &&
           (outcome != BH_FOUND || !batch_reads((int)event->op) || event->answer == operand);
}

/* Whether an event with this outcome changes nothing, whenever it takes effect. */
static bool search_only_looks(const search *s, const history_event *event)
{
    return event->outcome == BH_FOUND || event->outcome == BH_MISSING ||
           (event->outcome == BH_ASSIGNED && s->value_bytes == 0);
}

/* Whether another event that may come next is alike and ended earlier. */
static bool search_has_better(const search *s, uint64_t e, uint64_t first_end)
{
    for (uint64_t f = 0; f < e; f++) {
        if (s->likeness[f] == s->likeness[e] && s->events[f].begin <= first_end &&
            !search_has(s, f)) {
            return true;
        }
    }
    return false;
}

/* Whether a value that is still to be read, or to be there in the end, can no longer come about:
 * every value is one that was there or was given, plus some of the numbers that are added. */
static bool search_lacks(const search *s, bool present, uint64_t value, uint64_t wanted)
{
    const uint64_t mask = test_width_mask(s->value_bytes);
    uint64_t sum = 0;

    for (uint64_t e = 0; e < s->count; e++) {
        if (s->events[e].op == BH_ADD && !search_has(s, e)) {
            // The sum of many large numbers may be anything.
            if (s->events[e].operand > mask - sum) {
                return false;
            }
            sum += s->events[e].operand;
        }
    }
    if (present && ((wanted - value) & mask) <= sum) {
        return false;
    }
    for (uint64_t e = 0; e < s->count; e++) {
        const history_event *event = &s->events[e];
        if (event->op != BH_FIND && event->op != BH_ERASE && !search_only_looks(s, event) &&
            !search_has(s, e) && ((wanted - event->operand) & mask) <= sum) {
            return false;
        }
    }
    return true;
}

static bool search_is_hopeless(const search *s, bool present, uint64_t value)
{
    for (uint64_t e = 0; e < s->count; e++) {
        const history_event *event = &s->events[e];
        if (batch_reads((int)event->op) && event->outcome == BH_FOUND && !search_has(s, e) &&
            search_lacks(s, present, value, event->answer)) {
            return true;
        }
    }
    return s->present_after && search_lacks(s, present, value, s->value_after);
}

/* Puts the `left` events in order that are not in the set yet. */
static history_verdict search_order(search *s, uint64_t left, bool present, uint64_t value)
{
    uint64_t first = 0;

    if (left == 0) {
        return present == s->present_after && (!present || value == s->value_after) ? HISTORY_GOOD
                                                                                    : HISTORY_BAD;
    }
    search_set_key(s, present, value);
    if (dead_ends_hold(&s->dead, s->state) ||
        (s->dead.count >= HARD && search_is_hopeless(s, present, value))) {
        return HISTORY_BAD;
    }
    while (search_has(s, first)) {
        first++;
    }
    // The first round only takes what needs no alternative.
    for (int round = 0; round < 2; round++) {
        for (uint64_t e = first; e < s->count; e++) {
            bool looks = search_only_looks(s, &s->events[e]);
            bool then_present = present;
            uint64_t then_value = value;
            history_verdict verdict = HISTORY_BAD;

            if (looks != (round == 0) || search_has(s, e) ||
                s->events[e].begin > s->events[first].end ||
                (s->after[e] != 0 && !search_has(s, s->after[e] - 1)) ||
                (!looks && search_has_better(s, e, s->events[first].end)) ||
                !search_step(s, e, &then_present, &then_value)) {
                continue;
            }
            search_flip(s, e);
            verdict = search_order(s, left - 1, then_present, then_value);
            search_flip(s, e);
            if (looks || verdict != HISTORY_BAD) {
                return verdict;
            }
        }
    }
    if (s->dead.count == HISTORY_MOST_DEAD_ENDS) {
        return HISTORY_GAVE_UP;
    }
    search_set_key(s, present, value);
    dead_ends_add(&s->dead, s->state);
    return HISTORY_BAD;
}

/* Sorts by end, so that what must come soon is tried first. Equal ends keep their order, so that a
 * chain's events stay in theirs. */
static void events_sort(history_event *events, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        history_event event = events[i];
        uint64_t at = i;
        for (; at > 0 && events[at - 1].end > event.end; at--) {
            events[at] = events[at - 1];
        }
        events[at] = event;
    }
}

static bool events_alike(const history_event *a, const history_event *b)
{
    return a->chain == 0 && b->chain == 0 && a->op == b->op && a->operand == b->operand &&
           a->outcome == b->outcome && a->answer == b->answer;
}

/* Whether a value given can be noticed: read by a find or there in the end, after additions. */
static bool value_is_seen(const search *s, uint64_t given, uint64_t sum)
{
    const uint64_t mask = test_width_mask(s->value_bytes);

    for (uint64_t e = 0; e < s->count; e++) {
        const history_event *event = &s->events[e];
        if (batch_reads((int)event->op) && event->outcome == BH_FOUND &&
            ((event->answer - given) & mask) <= sum) {
            return true;
        }
    }
    return s->present_after && ((s->value_after - given) & mask) <= sum;
}

/* Makes values that nobody can notice the same, so that more events are alike. Not where values are
 * compared with each other. */
static void search_forget_unseen(search *s)
{
    const uint64_t mask = test_width_mask(s->value_bytes);
    const history_event *unseen = NULL;
    uint64_t sum = 0;

    for (uint64_t e = 0; e < s->count; e++) {
        const history_event *event = &s->events[e];
        if (event->op == BH_MIN || event->op == BH_MAX || event->op == BH_MIN_SIGNED ||
            event->op == BH_MAX_SIGNED || (event->op == BH_ADD && event->operand > mask - sum)) {
            return;
        }
        sum += event->op == BH_ADD ? event->operand : 0;
    }
    for (uint64_t e = 0; e < s->count; e++) {
        history_event *event = &s->events[e];
        if ((event->op == BH_INSERT || event->op == BH_INSERT_NEW || event->op == BH_UPDATE ||
             event->op == BH_FIND_OR_INSERT) &&
            !value_is_seen(s, event->operand, sum)) {
            unseen = unseen != NULL ? unseen : event;
            event->operand = unseen->operand;
        }
    }
}

history_verdict history_judge_key(const history_event *events, uint64_t count, uint32_t value_bytes,
                                  bool present, uint64_t value, bool present_after,
                                  uint64_t value_after)
{
    const uint64_t mask = test_width_mask(value_bytes);
    search s = {.value_bytes = value_bytes,
                .present_after = present_after,
                .value_after = value_after & mask};
    history_verdict verdict = HISTORY_BAD;
    uint64_t state_bytes = 0;

    s.events = test_allocate(count * sizeof *s.events);
    s.after = test_allocate(count * sizeof *s.after);
    s.likeness = test_allocate(count * sizeof *s.likeness);
    for (uint64_t i = 0; i < count; i++) {
        history_event event = events[i];

        check(event.begin <= event.end, "an event ends at %llu, before it began at %llu",
              (unsigned long long)event.end, (unsigned long long)event.begin);
        check((int)event.op < BATCH_OPS, "%d is no operation", (int)event.op);
        if (event.outcome == BH_NOT_DONE ||
            (event.outcome == HISTORY_NOT_SAID && event.op == BH_FIND)) {
            continue;
        }
        event.operand = event.op == BH_FIND ? 0 : event.operand & mask;
        event.answer =
            batch_reads((int)event.op) && event.outcome == BH_FOUND && mask != 0 ? event.answer : 0;
        s.events[s.count++] = event;
    }
    events_sort(s.events, s.count);
    search_forget_unseen(&s);
    for (uint64_t e = 0; e < s.count; e++) {
        s.after[e] = 0;
        s.likeness[e] = e;
        for (uint64_t f = e; f-- > 0;) {
            if (s.events[e].chain != 0 && s.events[f].chain == s.events[e].chain) {
                check(s.events[f].begin == s.events[e].begin && s.events[f].end == s.events[e].end,
                      "the elements of ordered call %llu have different stamps",
                      (unsigned long long)s.events[e].chain);
                s.after[e] = f + 1;
                break;
            }
            if (events_alike(&s.events[e], &s.events[f])) {
                s.likeness[e] = s.likeness[f];
                break;
            }
        }
    }
    s.dead.words = STATE_SET + (s.count + 63) / 64;
    state_bytes = s.dead.words * sizeof *s.state;
    s.state = test_allocate(state_bytes);
    memset(s.state, 0, state_bytes);

    verdict = search_order(&s, s.count, present, present ? value & mask : 0);

    free(s.dead.entries);
    free(s.state);
    free(s.likeness);
    free(s.after);
    free(s.events);
    return verdict;
}

bool history_check_key(const history_event *events, uint64_t count, uint32_t value_bytes,
                       bool present, uint64_t value, bool present_after, uint64_t value_after)
{
    history_verdict verdict =
        history_judge_key(events, count, value_bytes, present, value, present_after, value_after);

    check(verdict != HISTORY_GAVE_UP,
          "the history of a key with %llu events is too hard to judge; make it shorter",
          (unsigned long long)count);
    return verdict == HISTORY_GOOD;
}

/* --- many keys --------------------------------------------------------------------------- */

typedef struct keyed {
    uint64_t key;
    uint64_t number; // in the caller's list, so that the sort keeps the order of each key's events
} keyed;

static int keyed_compare(const void *one, const void *other)
{
    const keyed *a = one;
    const keyed *b = other;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static void print_content(const char *when, bool present, uint64_t value)
{
    if (present) {
        fprintf(stderr, "  %s: there, value %#llx\n", when, (unsigned long long)value);
    } else {
        fprintf(stderr, "  %s: not there\n", when);
    }
}

void history_print_key(const history_event *events, uint64_t count, uint64_t key, bool present,
                       uint64_t value, bool present_after, uint64_t value_after)
{
    fprintf(stderr, "the history of key %#llx:\n", (unsigned long long)key);
    print_content("before", present, value);
    for (uint64_t i = 0; i < count; i++) {
        const history_event *event = &events[i];
        fprintf(stderr, "  [%llu, %llu] %s given %#llx: outcome %u",
                (unsigned long long)event->begin, (unsigned long long)event->end,
                batch_operation_name((int)event->op), (unsigned long long)event->operand,
                event->outcome);
        if (batch_reads((int)event->op) && event->outcome == BH_FOUND) {
            fprintf(stderr, ", read %#llx", (unsigned long long)event->answer);
        }
        if (event->chain != 0) {
            fprintf(stderr, ", in order with others of chain %llu",
                    (unsigned long long)event->chain);
        }
        fprintf(stderr, "\n");
    }
    print_content("after", present_after, value_after);
}

/* Looks a key up in a content that may be NULL for empty. */
static bool content_get(const model *content, uint64_t key, uint64_t *value)
{
    *value = 0;
    return content != NULL && model_get(content, key, value);
}

/* Whether every key of `one` that no event names is in `other` with the same value. */
static bool contents_agree(const model *one, const model *other, const keyed *sorted,
                           uint64_t count)
{
    uint64_t position = 0;
    uint64_t key = 0;
    uint64_t value = 0;

    while (one != NULL && model_next(one, &position, &key, &value)) {
        uint64_t value_other = 0;
        uint64_t low = 0;
        uint64_t high = count;
        bool there = false;

        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (sorted[middle].key < key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < count && sorted[low].key == key) {
            continue;
        }
        there = content_get(other, key, &value_other);
        if (!there || value != value_other) {
            fprintf(stderr, "key %#llx was not touched and has changed between %#llx and %s%#llx\n",
                    (unsigned long long)key, (unsigned long long)value, there ? "" : "not there, ",
                    (unsigned long long)value_other);
            return false;
        }
    }
    return true;
}

bool history_check(const history_event *events, uint64_t count, uint32_t value_bytes,
                   const model *before, const model *after)
{
    keyed *sorted = test_allocate(count * sizeof *sorted);
    history_event *of_key = test_allocate(count * sizeof *of_key);
    bool good = true;

    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = (keyed){events[i].key, i};
    }
    qsort(sorted, count, sizeof *sorted, keyed_compare);
    for (uint64_t first = 0, next = 0; good && first < count; first = next) {
        const uint64_t key = sorted[first].key;
        uint64_t value = 0;
        uint64_t value_after = 0;
        const bool present = content_get(before, key, &value);
        const bool present_after = content_get(after, key, &value_after);

        for (next = first; next < count && sorted[next].key == key; next++) {
            of_key[next - first] = events[sorted[next].number];
        }
        good = history_check_key(of_key, next - first, value_bytes, present, value, present_after,
                                 value_after);
        if (!good) {
            fprintf(stderr, "no order explains ");
            history_print_key(of_key, next - first, key, present, value, present_after,
                              value_after);
        }
    }
    good = good && contents_agree(before, after, sorted, count) &&
           contents_agree(after, before, sorted, count);
    free(of_key);
    free(sorted);
    return good;
}
