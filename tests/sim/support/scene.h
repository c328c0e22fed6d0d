/*
 * A scene: a table in a certain state and what each of a few fibers does to it, as plain data, so
 * that scenes can be listed, drawn at random, made smaller and printed.
 *
 * A scene is set up once: the table is made and the start calls run, one after the other. Its
 * memory is kept, and each run begins with a copy of it, so that a run costs microseconds. After
 * each run everything that can be known is checked: every answer against a linearizable history of
 * its key, the content by bh_find and by bh_export, the counts, and the inside of the table.
 *
 * Keys have numbers, and where the key of a number lives in a table that has not grown the design says
 * (design.h). Tables are the smallest that there can be, see cmake/library.cmake.
 */
#ifndef BULKHASH_TESTS_SIM_SUPPORT_SCENE_H
#define BULKHASH_TESTS_SIM_SUPPORT_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/support/fibers.h"

#ifndef SCENE_KEYS
#define SCENE_KEYS 12u
#endif
#define SCENE_ELEMENTS 8 /* four slices: with fewer a call asks no other threads to help */
#define SCENE_CALLS 4
#define SCENE_START_CALLS 8

typedef enum scene_what {
    SCENE_CALL,    /* bh_insert() and so on: all elements do the first one's op */
    SCENE_APPLY,   /* bh_apply() */
    SCENE_RESERVE, /* bh_reserve() of `count` keys */
    SCENE_COMPACT, /* bh_compact() */
    SCENE_CLEAR,   /* bh_clear() */
    SCENE_EXPORT,  /* bh_export() of everything at once */
    SCENE_STATS    /* bh_table_get_stats() */
} scene_what;

typedef struct scene_element {
    uint8_t op;  /* a bh_op */
    uint8_t key; /* its number */
    uint64_t value;
} scene_element;

typedef struct scene_call {
    uint8_t what;
    uint8_t count;
    scene_element element[SCENE_ELEMENTS];
} scene_call;

typedef struct scene_fiber {
    uint8_t count;
    scene_call call[SCENE_CALLS];
} scene_fiber;

typedef struct scene {
    uint16_t design; /* a bh_design */
    uint8_t key_bytes;
    uint8_t value_bytes;
    uint8_t subtables;
    uint8_t ordered; /* BH_DUPLICATES_ORDERED */
    uint8_t apart;   /* BH_VALUES_APART, else BESIDE */
    uint8_t spread;  /* BH_SPREAD_THEOREM1 */
    /* Slices have BH_HINT_ALIKE, as on a GPU: all calls of fibers are of one operation. 2: and where lanes act on keys
     * that are there they do so before all else (lanes.h). */
    uint8_t alike;
    uint8_t biased;      /* at the start the table is biased to the first fiber (cpu/bias.h) */
    uint8_t max_percent; /* max_fill in percent; 0: the default */
    uint32_t capacity;
    uint64_t seed; /* of the table's hash */
    uint8_t start_count;
    uint8_t fibers;
    scene_call start[SCENE_START_CALLS];
    scene_fiber fiber[FIBERS_MOST];
} scene;

/* Makes the scene that the runs from here on begin with; it must stay where it is. */
void scene_set_up(const scene *s);

const scene *scene_now(void);

/* Whether the system has no barrier, so that slices are counted at the gate (base/gate.h): a schedule has fewer
 * accesses then. */
extern bool scene_counts_slices;

/* Run it once under a schedule; answer NULL when all is well, else a sentence about what is not,
 * valid until the next run. */
const char *scene_run(const fibers_schedule *schedule);
const char *scene_run_priorities(const fibers_priorities *priorities);

/* Elements that were not done in all runs so far, because the keys all wanted the same few slots. */
uint64_t scene_refused(void);

/* Prints the scene and a schedule as a test that can be put into tests/sim/replays.c. */
void scene_print(FILE *to, const char *name, const scene *s, const fibers_schedule *schedule);

#endif
