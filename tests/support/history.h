/*
 * The history checker: was there, for every element of every call that several threads made at
 * once, one instant between call and return at which it took effect? The public header promises
 * that, and this is its judge.
 *
 * A history is a list of events; an event is one element of one call, with what was asked, what was
 * answered, and the stamps of the call's begin and end. Keys do not influence one another, so each
 * is judged alone: the checker looks for one order of the key's events in which none comes before
 * another that ended before it began, and in which the model (support/model.h) gives all their
 * answers and leaves what the table holds afterwards. It is the search of Wing and Gong ("Testing
 * and Verifying Concurrent Objects", 1993), which remembers, as Lowe proposed ("Testing for
 * linearizability", 2017), from which sets of events and contents of the key it has already failed.
 *
 * The question is hard in the worst case. When the search takes more than its share of memory the
 * checker says so, and never guesses.
 */
#ifndef BULKHASH_TESTS_SUPPORT_HISTORY_H
#define BULKHASH_TESTS_SUPPORT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <bulkhash/bulkhash.h>

#include "support/model.h"

/* The outcome of an element whose outcome nobody was told: it took effect and may have answered
 * anything. For calls without an outcomes array, and for bh_clear, which is a BH_ERASE of every
 * key. No bh_outcome. */
#define HISTORY_NOT_SAID 254

typedef struct history_event {
    uint64_t key;
    bh_op op;
    uint64_t operand; /* the value given */
    uint64_t answer;  /* the value read: of BH_FIND and BH_FIND_OR_INSERT that answered BH_FOUND */
    uint8_t outcome;  /* a bh_outcome, BH_NOT_DONE for "had no effect", or HISTORY_NOT_SAID */
    uint64_t begin;   /* stamps, begin <= end: a took effect before b if a.end < b.begin */
    uint64_t end;
    uint64_t chain; /* 0, or the number of an ordered call: its elements, which have the same
                       stamps, take effect in the order in which they are listed */
} history_event;

typedef enum history_verdict {
    HISTORY_BAD,
    HISTORY_GOOD,
    HISTORY_GAVE_UP /* too hard: nothing is known */
} history_verdict;

/* How many dead ends the search remembers before it gives up. */
#define HISTORY_MOST_DEAD_ENDS 1000000u

/*
 * Judges the events of one key, whatever their `key` says, in a table whose values have
 * `value_bytes` bytes. The key was there with `value`, or not (`value` is ignored then), before all
 * events; and is so afterwards.
 */
history_verdict history_judge_key(const history_event *events, uint64_t count, uint32_t value_bytes,
                                  bool present, uint64_t value, bool present_after,
                                  uint64_t value_after);

/* The same for tests: whether the history is good; fails the test when the judge gave up. */
bool history_check_key(const history_event *events, uint64_t count, uint32_t value_bytes,
                       bool present, uint64_t value, bool present_after, uint64_t value_after);

/* Prints such a history to stderr. */
void history_print_key(const history_event *events, uint64_t count, uint64_t key, bool present,
                       uint64_t value, bool present_after, uint64_t value_after);

/*
 * Whether the events of all keys are a good history between two contents of a table; NULL is an
 * empty one. A key without events must not change. Prints the events of the first bad key to
 * stderr; fails the test when the judge gave up.
 */
bool history_check(const history_event *events, uint64_t count, uint32_t value_bytes,
                   const model *before, const model *after);

#endif
