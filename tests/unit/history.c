/*
 * The judge of histories (tests/support/history.h) is judged: it must accept what a table that
 * keeps its promises could have answered, and reject what only a broken one could.
 *
 * Good histories are made by really letting random operations take effect one after the other, each
 * at an instant inside its interval. Bad ones are made in the same way by a table with one fault:
 * it loses an insert, counts a sum twice, and so on. That a planted history is bad is not left to
 * the judge's opinion: all orders of its events, at most seven, are tried one by one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/history.h"
#include "support/memory.h"
#include "support/random.h"

enum {
    EVENTS_MOST = 400,
    ORDERS_TRIED = 7, // events of which all orders are tried
};

/* One key's history, and the content before and after it. */
typedef struct story {
    uint32_t value_bytes;
    uint64_t count;
    bool present;
    uint64_t value;
    bool present_after;
    uint64_t value_after;
    history_event events[EVENTS_MOST];
} story;

static history_verdict story_judge(const story *s)
{
    return history_judge_key(s->events, s->count, s->value_bytes, s->present, s->value,
                             s->present_after, s->value_after);
}

/* --- the judge's judge: all orders ------------------------------------------------------- */

static bool order_is_right(const story *s, const unsigned *order)
{
    bool present = s->present;
    uint64_t value = s->value;

    for (uint64_t i = 0; i < s->count; i++) {
        const history_event *event = &s->events[order[i]];
        for (uint64_t j = i + 1; j < s->count; j++) {
            const history_event *later = &s->events[order[j]];
            if (later->end < event->begin ||
                (event->chain != 0 && event->chain == later->chain && order[j] < order[i])) {
                return false;
            }
        }
    }
    for (uint64_t i = 0; i < s->count; i++) {
        const history_event *event = &s->events[order[i]];
        uint64_t operand = event->operand;
        bh_outcome outcome = BH_NOT_DONE;

        if (event->outcome == BH_NOT_DONE) {
            continue;
        }
        outcome = model_step(event->op, s->value_bytes, &present, &value, &operand);
        if (event->outcome == HISTORY_NOT_SAID) {
            continue;
        }
        if (event->outcome != (uint8_t)outcome ||
            (batch_reads((int)event->op) && outcome == BH_FOUND && event->answer != operand)) {
            return false;
        }
    }
    return present == s->present_after && (!present || value == s->value_after);
}

static void swap(unsigned *one, unsigned *other)
{
    unsigned held = *one;
    *one = *other;
    *other = held;
}

/* The next order after this one, as words in a dictionary are ordered; false after the last. */
static bool order_next(unsigned *order, uint64_t count)
{
    uint64_t head = count - 1;
    uint64_t tail = count - 1;

    while (head > 0 && order[head - 1] > order[head]) {
        head--;
    }
    if (head == 0) {
        return false;
    }
    while (order[tail] < order[head - 1]) {
        tail--;
    }
    swap(&order[head - 1], &order[tail]);
    for (tail = count - 1; head < tail; head++, tail--) {
        swap(&order[head], &order[tail]);
    }
    return true;
}

static bool story_has_an_order(const story *s)
{
    unsigned order[ORDERS_TRIED] = {0};

    check(s->count > 0 && s->count <= ORDERS_TRIED, "%" PRIu64 " events", s->count);
    for (unsigned i = 0; i < s->count; i++) {
        order[i] = i;
    }
    do {
        if (order_is_right(s, order)) {
            return true;
        }
    } while (order_next(order, s->count));
    return false;
}

/* --- histories --------------------------------------------------------------------------- */

/* What can be wrong with a table. The first ones happen to one operation while it takes effect,
 * those from MOVED_INTERVAL on are done to the record of a good history. */
typedef enum fault {
    NO_FAULT,
    LOST_INSERT,     // answers INSERTED and stores nothing
    LOST_ERASE,      // answers ERASED, and the key stays
    SECOND_COPY,     // an insert does not see the key that is there, and answers INSERTED
    LOST_ASSIGNMENT, // answers ASSIGNED, and the old value stays
    MISSED_KEY,      // a find, update or erase does not see the key
    STALE_READ,      // a find reads what an earlier operation has overwritten
    FOREIGN_VALUE,   // a find reads what nobody has written
    COUNTED_TWICE,   // a reduce
    NOT_COUNTED,     // a reduce
    OVERWRITTEN,     // insert_new or find_or_insert answers FOUND and assigns
    INSERTED_ANYWAY, // update answers MISSING and inserts
    HALF_DONE,       // answers NOT_DONE and has an effect
    MOVED_INTERVAL,  // an effect outside of its interval
    SWAPPED,         // two that do not overlap have taken effect in the wrong order
    CHAIN_REVERSED,  // two of an ordered call in the wrong order
    WRONG_END,       // the table holds something else in the end
    FAULTS
} fault;

static const char *const fault_names[] = {
    "no fault",       "lost insert",     "lost erase",    "second copy",    "lost assignment",
    "missed key",     "stale read",      "foreign value", "counted twice",  "not counted",
    "overwritten",    "inserted anyway", "half done",     "moved interval", "swapped",
    "chain reversed", "wrong end",
};

typedef struct key_state {
    bool present;
    uint64_t value;
    uint64_t value_before; // what was overwritten last, for stale reads
    bool overwritten;
} key_state;

/* Lets an event take effect, with the fault if it applies to it; answers whether it did. */
static bool take_effect(history_event *event, uint32_t value_bytes, key_state *key, fault f)
{
    const key_state was = *key;
    const uint64_t mask = test_width_mask(value_bytes);
    uint64_t operand = event->operand;

    event->outcome =
        (uint8_t)model_step(event->op, value_bytes, &key->present, &key->value, &operand);
    event->answer = batch_reads((int)event->op) && event->outcome == BH_FOUND ? operand : 0;
    if (was.present && key->present && was.value != key->value) {
        key->value_before = was.value;
        key->overwritten = true;
    }
    switch (f) {
    case LOST_INSERT:
        if (event->outcome == BH_INSERTED) {
            *key = was;
            return true;
        }
        break;
    case LOST_ERASE:
        if (event->outcome == BH_ERASED) {
            *key = was;
            return true;
        }
        break;
    case SECOND_COPY:
        if (event->op == BH_INSERT || event->op == BH_INSERT_NEW ||
            event->op == BH_FIND_OR_INSERT) {
            event->outcome = BH_INSERTED;
            return was.present;
        }
        break;
    case LOST_ASSIGNMENT:
        if (event->outcome == BH_ASSIGNED && key->value != was.value) {
            *key = was;
            return true;
        }
        break;
    case MISSED_KEY:
        if (was.present &&
            (event->op == BH_FIND || event->op == BH_UPDATE || event->op == BH_ERASE)) {
            *key = was;
            event->outcome = BH_MISSING;
            return true;
        }
        break;
    case STALE_READ:
        if (batch_reads((int)event->op) && was.present && was.overwritten) {
            event->answer = was.value_before;
            return true;
        }
        break;
    case FOREIGN_VALUE:
        if (batch_reads((int)event->op) && was.present) {
            event->answer = (was.value + 1000) & mask;
            return true;
        }
        break;
    case COUNTED_TWICE:
        if (event->op == BH_ADD) {
            key->value = (key->value + event->operand) & mask;
            return true;
        }
        break;
    case NOT_COUNTED:
        if (batch_is_reduction((int)event->op) && was.present && key->value != was.value) {
            *key = was;
            return true;
        }
        break;
    case OVERWRITTEN:
        if ((event->op == BH_INSERT_NEW || event->op == BH_FIND_OR_INSERT) && was.present) {
            key->value = event->operand;
            return true;
        }
        break;
    case INSERTED_ANYWAY:
        if (event->op == BH_UPDATE && !was.present) {
            key->present = true;
            key->value = event->operand;
            return true;
        }
        break;
    case HALF_DONE:
        if (key->present != was.present || key->value != was.value) {
            event->outcome = BH_NOT_DONE;
            return true;
        }
        break;
    default: break;
    }
    return false;
}

/* Makes event i another element of the ordered call that the event before it is of. */
static void story_join(story *s, uint64_t i)
{
    const history_event *before = &s->events[i - 1];
    const uint64_t chain = before->chain != 0 ? before->chain : i;
    const uint64_t begin = before->begin < s->events[i].begin ? before->begin : s->events[i].begin;
    const uint64_t end = before->end > s->events[i].end ? before->end : s->events[i].end;

    s->events[i].chain = s->events[i - 1].chain = chain;
    for (uint64_t j = i + 1; j-- > 0 && s->events[j].chain == chain;) {
        s->events[j].begin = begin;
        s->events[j].end = end;
    }
}

/* Lists the events in another order, but those of a chain in theirs. */
static void story_shuffle(story *s, rng *random)
{
    uint64_t *place = test_allocate(s->count * sizeof *place);
    history_event *listed = test_allocate(s->count * sizeof *listed);

    for (uint64_t i = 0; i < s->count; i++) {
        uint64_t j = random_below(random, i + 1);
        place[i] = j < i ? place[j] : i;
        place[j] = i;
    }
    for (uint64_t i = 0; i < s->count; i++) {
        for (uint64_t j = i + 1; j < s->count; j++) {
            uint64_t chain = s->events[place[i]].chain;
            if (chain != 0 && s->events[place[j]].chain == chain && place[j] < place[i]) {
                uint64_t held = place[i];
                place[i] = place[j];
                place[j] = held;
            }
        }
        listed[i] = s->events[place[i]];
    }
    memcpy(s->events, listed, s->count * sizeof *listed);
    free(listed);
    free(place);
}

/* Writes a history of `count` events, of which some `overlap` overlap each other. With a fault, one
 * operation that it applies to suffers it; answers whether there was one. */
static bool story_write(story *s, rng *random, uint64_t count, uint64_t overlap, fault f)
{
    static const uint32_t widths[] = {0, 4, 8};
    key_state key = {0};
    uint64_t skip = random_below(random, count); // so that it is not always the first that suffers
    bool planted = f == NO_FAULT || f >= MOVED_INTERVAL;

    memset(s, 0, sizeof *s);
    s->value_bytes = widths[random_below(random, TEST_COUNT(widths))];
    s->count = count;
    key.present = s->present = random_below(random, 2) == 0;
    key.value = s->value =
        s->present ? random_below(random, 4) & test_width_mask(s->value_bytes) : 0;
    // In the order in which they take effect; shuffled at the end.
    for (uint64_t i = 0; i < count; i++) {
        history_event *event = &s->events[i];
        const uint64_t instant = 1000 + i * 10;

        event->op = batch_draw_op(random, s->value_bytes);
        // Mostly few values, so that histories have several explanations.
        event->operand =
            random_below(random, 5) == 0 ? random_next(random) : random_below(random, 4);
        event->operand &= test_width_mask(s->value_bytes);
        event->begin = instant - random_below(random, overlap * 5);
        event->end = instant + random_below(random, overlap * 5);
        if (i > 0 && random_below(random, 6) == 0) {
            story_join(s, i);
        }
        if (!planted && i >= skip && take_effect(event, s->value_bytes, &key, f)) {
            planted = true;
        } else if (planted || i < skip) {
            (void)take_effect(event, s->value_bytes, &key, NO_FAULT);
        }
    }
    s->present_after = key.present;
    s->value_after = key.present ? key.value : 0;

    story_shuffle(s, random);
    return planted;
}

/* Forgets the outcomes of some events. */
static void story_hush(story *s, rng *random)
{
    for (uint64_t i = 0; i < s->count; i++) {
        if (random_below(random, 25) == 0) {
            s->events[i].outcome = HISTORY_NOT_SAID;
        }
    }
}

/* Does one of the faults to a good history's record; answers whether it could. */
static bool story_spoil(story *s, rng *random, fault f)
{
    uint64_t i = random_below(random, s->count);
    uint64_t j = random_below(random, s->count);
    history_event *a = &s->events[i];
    history_event *b = &s->events[j];
    uint64_t held = 0;

    switch (f) {
    case MOVED_INTERVAL:
        if (a->chain != 0) {
            return false;
        }
        held = a->end - a->begin;
        a->begin = random_below(random, 2) == 0 ? a->end + 10 + random_below(random, 40)
                                                : a->begin - held - 10 - random_below(random, 40);
        a->end = a->begin + held;
        return true;
    case SWAPPED:
        if (a->chain != 0 || b->chain != 0 || a->end >= b->begin) {
            return false;
        }
        held = a->begin;
        a->begin = b->begin;
        b->begin = held;
        held = a->end;
        a->end = b->end;
        b->end = held;
        return true;
    case CHAIN_REVERSED:
        if (i == j || a->chain == 0 || a->chain != b->chain) {
            return false;
        }
        {
            history_event event = *a;
            *a = *b;
            *b = event;
        }
        return true;
    case WRONG_END:
        if (s->present_after && s->value_bytes > 0 && random_below(random, 2) == 0) {
            s->value_after ^= 1 + random_below(random, 3);
        } else {
            s->present_after = !s->present_after;
            s->value_after = s->present_after ? s->value : 0;
        }
        return true;
    default: return false;
    }
}

/* A history with this fault, not too long to try all orders. It may be good by accident. */
static void story_plant(story *s, rng *random, fault f)
{
    for (;;) {
        uint64_t count = 2 + random_below(random, ORDERS_TRIED - 1);
        uint64_t overlap = 1 + random_below(random, 6);
        if (story_write(s, random, count, overlap, f) &&
            (f < MOVED_INTERVAL || story_spoil(s, random, f))) {
            story_hush(s, random);
            return;
        }
    }
}

/* --- tests ------------------------------------------------------------------------------- */

static void good_histories_are_accepted(void **state)
{
    rng random = random_start(test_seed());
    story *s = test_allocate(sizeof *s);
    uint64_t small = test_scaled(20000);

    (void)state;
    for (uint64_t i = 0; i < small; i++) {
        (void)story_write(s, &random, 1 + random_below(&random, ORDERS_TRIED),
                          1 + random_below(&random, 8), NO_FAULT);
        story_hush(s, &random);
        check(story_judge(s) == HISTORY_GOOD, "good history %" PRIu64 " was not accepted", i);
        check(i % 8 != 0 || story_has_an_order(s), "good history %" PRIu64 " has no order", i);
    }
    free(s);
}

/* Hundreds of events, dozens of which overlap. */
static void long_good_histories_are_accepted(void **state)
{
    rng random = random_start(test_seed() + 1);
    story *s = test_allocate(sizeof *s);

    (void)state;
    for (uint64_t i = 0; i < test_scaled(200); i++) {
        uint64_t count = 20 + random_below(&random, EVENTS_MOST - 20);
        uint64_t overlap = 1 + random_below(&random, 20);
        (void)story_write(s, &random, count, overlap, NO_FAULT);
        story_hush(s, &random);
        check(story_judge(s) == HISTORY_GOOD,
              "good history %" PRIu64 " of %" PRIu64 " events, %" PRIu64
              " of which overlap, was not accepted: %d",
              i, count, overlap, (int)story_judge(s));
    }
    free(s);
}

/* INSERTED minus ERASED is the key's change in existence, so a long history that is good ceases to
 * be when its end is turned round. */
static void long_bad_histories_are_rejected(void **state)
{
    rng random = random_start(test_seed() + 5);
    story *s = test_allocate(sizeof *s);

    (void)state;
    for (uint64_t i = 0; i < test_scaled(200); i++) {
        uint64_t count = 20 + random_below(&random, EVENTS_MOST - 20);
        uint64_t overlap = 1 + random_below(&random, 10);
        (void)story_write(s, &random, count, overlap, NO_FAULT);
        s->present_after = !s->present_after;
        check(story_judge(s) == HISTORY_BAD, "bad history %" PRIu64 " of %" PRIu64 " events: %d", i,
              count, (int)story_judge(s));
    }
    free(s);
}

/* Each fault in a hundred histories of its own, each of which has no order. */
static void planted_histories_are_rejected(void **state)
{
    enum { EACH = 100 };
    rng random = random_start(test_seed() + 2);
    story *s = test_allocate(sizeof *s);
    uint64_t planted = 0;

    (void)state;
    for (int f = NO_FAULT + 1; f < FAULTS; f++) {
        uint64_t bad = 0;
        for (uint64_t tried = 0; bad < EACH; tried++) {
            check(tried < 100 * EACH, "%s: only %" PRIu64 " of %" PRIu64 " histories are bad",
                  fault_names[f], bad, tried);
            story_plant(s, &random, (fault)f);
            if (story_has_an_order(s)) {
                check(story_judge(s) == HISTORY_GOOD, "%s: a good history was not accepted",
                      fault_names[f]);
                continue;
            }
            check(story_judge(s) == HISTORY_BAD, "%s: bad history %" PRIu64 " was accepted",
                  fault_names[f], bad);
            bad++;
        }
        planted += bad;
    }
    check(planted >= 1000, "%" PRIu64 " bad histories", planted);
    printf("%" PRIu64 " planted bad histories of %d kinds, all rejected\n", planted, FAULTS - 1);
    free(s);
}

/* The judge and the trial of all orders agree, whatever was done to a history. */
static void judges_agree(void **state)
{
    rng random = random_start(test_seed() + 3);
    story *s = test_allocate(sizeof *s);
    uint64_t good = 0;
    uint64_t bad = 0;

    (void)state;
    for (uint64_t i = 0; i < test_scaled(100000); i++) {
        bool has_order = false;
        // Mostly up to 5 events: seven have 5,040 orders.
        uint64_t count = 1 + random_below(&random, i % 10 == 0 ? ORDERS_TRIED : 5);

        (void)story_write(s, &random, count, 1 + random_below(&random, 8),
                          (fault)random_below(&random, FAULTS));
        for (uint64_t changes = random_below(&random, 3); changes > 0; changes--) {
            history_event *event = &s->events[random_below(&random, s->count)];
            static const uint8_t outcomes[] = {BH_MISSING,      BH_FOUND,  BH_INSERTED,
                                               BH_ASSIGNED,     BH_ERASED, BH_NOT_DONE,
                                               HISTORY_NOT_SAID};
            switch (random_below(&random, 4)) {
            case 0: event->outcome = outcomes[random_below(&random, TEST_COUNT(outcomes))]; break;
            case 1:
                if (batch_reads((int)event->op)) {
                    event->answer = random_below(&random, 4) & test_width_mask(s->value_bytes);
                }
                break;
            case 2:
                if (event->chain == 0) {
                    event->begin -= random_below(&random, 20);
                    event->end = event->begin + random_below(&random, 24);
                }
                break;
            default:
                (void)story_spoil(
                    s, &random,
                    (fault)(MOVED_INTERVAL + random_below(&random, FAULTS - MOVED_INTERVAL)));
                break;
            }
        }
        has_order = story_has_an_order(s);
        check(story_judge(s) == (has_order ? HISTORY_GOOD : HISTORY_BAD),
              "history %" PRIu64 " of %" PRIu64 " events has %s order, and the judge says %d", i,
              s->count, has_order ? "an" : "no", (int)story_judge(s));
        good += has_order;
        bad += !has_order;
    }
    check(good >= test_scaled(10000) && bad >= test_scaled(10000),
          "%" PRIu64 " good and %" PRIu64 " bad histories are a poor sample", good, bad);
    printf("%" PRIu64 " good and %" PRIu64 " bad small histories, judged alike by trial of all "
           "orders\n",
           good, bad);
    free(s);
}

/* Additions of which no two subsets have the same sum, all at the same time, and a sum that none
 * makes: the judge may only say that it does not know. */
static void too_hard_is_said(void **state)
{
    enum { ADDITIONS = 40 };
    story *s = test_allocate(sizeof *s);

    (void)state;
    memset(s, 0, sizeof *s);
    s->value_bytes = 8;
    s->count = ADDITIONS;
    s->present = s->present_after = true;
    for (uint64_t i = 0; i < ADDITIONS; i++) {
        s->events[i] = (history_event){
            .op = BH_ADD, .operand = (uint64_t)1 << i, .outcome = BH_ASSIGNED, .end = 1};
        s->value_after += s->events[i].operand;
    }
    check(story_judge(s) == HISTORY_GOOD, "all sums together were not accepted");
    s->value_after--;
    check(story_judge(s) == HISTORY_GAVE_UP, "the judge knows what it cannot know");
    free(s);
}

/* A sum of some additions may be larger than the sum of all, which wraps; the judge, which looks
 * ahead for values that cannot come about, must not be misled. The small numbers have to come last
 * and end first, so that it tries them first and has a hard time. */
static void sums_may_wrap(void **state)
{
    static const uint64_t operands[] = {1, 2, 4, 8, 16, 1ull << 63, 1ull << 62, (1ull << 62) + 1};
    story *s = test_allocate(sizeof *s);

    (void)state;
    memset(s, 0, sizeof *s);
    s->value_bytes = 8;
    s->present = s->present_after = true;
    for (uint64_t i = 0; i < TEST_COUNT(operands); i++) {
        s->events[s->count++] = (history_event){
            .op = BH_ADD, .operand = operands[i], .outcome = BH_ASSIGNED, .end = 10 + i};
        s->value_after += operands[i];
    }
    s->events[s->count++] = (history_event){
        .op = BH_FIND, .answer = (1ull << 63) + (1ull << 62), .outcome = BH_FOUND, .end = 100};
    check(story_judge(s) == HISTORY_GOOD, "a sum that wraps was not accepted");
    s->events[s->count - 1].answer += 100;
    check(story_judge(s) == HISTORY_BAD, "a sum that none make was accepted");
    free(s);
}

/* Many keys: each is judged by itself, from its own content, and those that nobody touched must be
 * as they were. */
static void keys_are_told_apart(void **state)
{
    enum { KEYS = 20, EACH = 10 };
    rng random = random_start(test_seed() + 4);
    story *s = test_allocate(sizeof *s);
    history_event *all = test_allocate((KEYS * EACH + 1) * sizeof *all);

    (void)state;
    for (uint64_t i = 0; i < test_scaled(500); i++) {
        model *before = model_new();
        model *after = model_new();
        uint64_t count = 0;

        for (uint64_t k = 0; k < KEYS; k++) {
            do {
                (void)story_write(s, &random, EACH, 5, NO_FAULT);
            } while (s->value_bytes != 8);
            if (s->present) {
                model_put(before, k, s->value);
            }
            if (s->present_after) {
                model_put(after, k, s->value_after);
            }
            for (uint64_t e = 0; e < EACH; e++) {
                s->events[e].key = k;
                s->events[e].chain += s->events[e].chain != 0 ? k * 1000 : 0;
                // The events of the keys come in turns; those of a key keep their order.
                all[e * KEYS + k] = s->events[e];
                count++;
            }
        }
        model_put(before, 1000, 5);
        model_put(after, 1000, 5);
        check(history_check(all, count, 8, before, after), "good history %" PRIu64, i);
        if (i == 0) {
            model_put(after, 1000, 6);
            check(!history_check(all, count, 8, before, after), "an untouched key has changed");
            (void)model_remove(after, 1000);
            check(!history_check(all, count, 8, before, after), "an untouched key is gone");
            (void)model_remove(before, 1000);
            model_put(after, 1001, 5);
            check(!history_check(all, count, 8, before, after), "a key came from nowhere");
            (void)model_remove(after, 1001);
            check(history_check(all, count, 8, before, after), "good history %" PRIu64, i);
            all[count++] = (history_event){
                .key = 7, .op = BH_FIND, .answer = 999, .outcome = BH_FOUND, .end = UINT64_MAX};
            // No table of a few operations on 0 to 3 holds 999.
            check(!history_check(all, count, 8, before, after), "one key's history is bad");
        }
        model_free(before);
        model_free(after);
    }
    check(history_check(NULL, 0, 8, NULL, NULL), "nothing happened");
    free(all);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_histories_are_accepted),
        cmocka_unit_test(long_good_histories_are_accepted),
        cmocka_unit_test(long_bad_histories_are_rejected),
        cmocka_unit_test(planted_histories_are_rejected),
        cmocka_unit_test(judges_agree),
        cmocka_unit_test(too_hard_is_said),
        cmocka_unit_test(sums_may_wrap),
        cmocka_unit_test(keys_are_told_apart),
    };
    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
