/*
 * What scenes know of a design: which key has which number, what must hold inside a table on which no
 * call runs, and from which states pairs of calls are explored (pairs.c). Each design has one of these,
 * BH_OF_DESIGN(scenes), in a file that is linked to these tests.
 */
#ifndef BULKHASH_TESTS_SIM_SUPPORT_DESIGN_H
#define BULKHASH_TESTS_SIM_SUPPORT_DESIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/support/scene.h"
#include "tables/table.h"

/* Calls of a state, spelt short: key 3 comes with the value 103. */
#define PUT(n, ...)                                                                                \
    {                                                                                              \
        SCENE_CALL, n,                                                                             \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define K(number)                                                                                  \
    {                                                                                              \
        BH_INSERT, number, 100 + number                                                            \
    }
#define TAKE(number)                                                                               \
    {                                                                                              \
        SCENE_CALL, 1,                                                                             \
        {                                                                                          \
            {                                                                                      \
                BH_ERASE, number, 0                                                                \
            }                                                                                      \
        }                                                                                          \
    }
#define RESERVE(keys)                                                                              \
    {                                                                                              \
        SCENE_RESERVE, keys,                                                                       \
        {                                                                                          \
            {                                                                                      \
                0, 0, 0                                                                            \
            }                                                                                      \
        }                                                                                          \
    }

#define START(calls, ...) .start_count = calls, .start = {__VA_ARGS__}

#define NONE 99

typedef struct scene_state {
    const char *name;
    uint8_t subject;   // what the first call is about
    uint8_t others[5]; // what the second may be about instead, then NONE
    bool is_long;      // insert stands for insert_new, find_or_insert and reduce
    scene s;           // no fibers yet, and the design is whose state it is
} scene_state;

typedef struct scene_design {
    /* Whether a key may have this number in a table that has not grown. NULL: a number is its key. */
    bool (*fits)(const bh_table *table, uint32_t number, uint64_t key);
    /* Complains of what is wrong (scene_complain). */
    void (*inspect)(const bh_table *table);
    /* Writers take turns at the gate: a preemption less leaves little out, and schedules are long. */
    bool takes_turns;
    /* Its operations heed BH_HINT_ALIKE. */
    bool heeds_alike;
    /* How full a table is follows from other options: a scene's max_percent says nothing. */
    bool fill_follows;
    uint32_t state_count;
    const scene_state *states;
} scene_design;

/* The i-th design of this build, NULL behind the last. The first is what BH_AUTO stands for. */
const scene_design *scene_design_at(uint32_t i, bh_design *number);

/* For those who check: keeps the first complaint of a run; a key's number, and the other way round. */
void scene_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint32_t scene_number_of(uint64_t key);
uint64_t scene_key(uint32_t number);

#endif
