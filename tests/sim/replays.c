/*
 * Schedules that failed once, kept so that they are tried first: what search_report() prints goes
 * in here, with a name and a sentence about what was wrong. Each is run under its schedule and,
 * because steps are counted differently when the code has changed, under all schedules with as
 * many deviations.
 */
#include "sim/support/search.h"
#include "support/check.h"

/* The insert sends key 6 from its other bucket home; a find that has looked at home before, and
 * does not look again after its other bucket, misses it. */
static void find_beside_a_guest_that_goes_home(void **state)
{
    static const scene s = {
        .key_bytes = 8,
        .value_bytes = 8,
        .subtables = 2,
        .capacity = 1,
        .seed = 1,
        .start_count = 4,
        .start =
            {
                {SCENE_CALL, 3, {{BH_INSERT, 4, 102}, {BH_INSERT, 5, 103}, {BH_INSERT, 6, 104}}},
                {SCENE_CALL, 1, {{BH_ERASE, 4, 105}}},
                {SCENE_CALL, 1, {{BH_INSERT, 1, 106}}},
                {SCENE_CALL, 1, {{BH_ERASE, 5, 107}}},
            },
        .fibers = 2,
        .fiber =
            {
                {1,
                 {
                     {SCENE_CALL, 1, {{BH_INSERT, 0, 100}}},
                 }},
                {1,
                 {
                     {SCENE_CALL, 1, {{BH_FIND, 6, 101}}},
                 }},
            },
    };
    static const fibers_schedule schedule = {0, 1, {{14, 1}}};

    (void)state;
    search_replay(&s, &schedule);
}

/* The insert moves key 1 away from home; a find that has read home's meta word, with the counter
 * still 0, and does not read it again after the line, misses it. */
static void find_beside_a_key_that_leaves_home(void **state)
{
    static const scene s = {
        .key_bytes = 8,
        .value_bytes = 8,
        .subtables = 2,
        .capacity = 6,
        .seed = 1,
        .start_count = 1,
        .start =
            {
                {SCENE_CALL,
                 4,
                 {{BH_INSERT, 1, 102},
                  {BH_INSERT, 3, 103},
                  {BH_INSERT, 5, 104},
                  {BH_INSERT, 7, 105}}},
            },
        .fibers = 2,
        .fiber =
            {
                {1,
                 {
                     {SCENE_CALL, 1, {{BH_INSERT, 0, 100}}},
                 }},
                {1,
                 {
                     {SCENE_CALL, 1, {{BH_FIND, 1, 101}}},
                 }},
            },
    };
    static const fibers_schedule schedule = {1, 1, {{5, 0}}};

    (void)state;
    search_replay(&s, &schedule);
}

/* The erase counts its key before the insert does, so the sum of both is below 0 when the statistics
 * are read. */
static void keys_counted_below_zero(void **state)
{
    static const scene s = {
        .key_bytes = 8,
        .value_bytes = 8,
        .subtables = 2,
        .capacity = 1,
        .seed = 1,
        .fibers = 2,
        .fiber =
            {
                {1,
                 {
                     {SCENE_CALL, 1, {{BH_INSERT, 0, 100}}},
                 }},
                {2,
                 {
                     {SCENE_CALL, 1, {{BH_ERASE, 0, 101}}},
                     {SCENE_STATS, 0, {{0}}},
                 }},
            },
    };
    static const fibers_schedule schedule = {0, 1, {{12, 1}}};

    (void)state;
    search_replay(&s, &schedule);
}

/* Three additions to one absent key of a table from which keys have been erased, without locks: one inserts the key,
 * one meets it with the key's lock held, one without. The second read the value, and wrote the sum over the third's. */
static void additions_with_a_lock_and_without(void **state)
{
    static const scene s = {
        .design = BH_STADIUM,
        .key_bytes = 8,
        .value_bytes = 8,
        .subtables = 2,
        .alike = 1,
        .capacity = 1,
        .seed = 1,
        .start_count = 2,
        .start = {{SCENE_CALL, 1, {{BH_MIN, 3, 103}}}, {SCENE_CALL, 1, {{BH_ERASE, 3, 104}}}},
        .fibers = 3,
        .fiber =
            {
                {1, {{SCENE_CALL, 1, {{BH_ADD, 1, 100}}}}},
                {1, {{SCENE_CALL, 1, {{BH_ADD, 1, 101}}}}},
                {1, {{SCENE_CALL, 1, {{BH_ADD, 1, 102}}}}},
            },
    };
    static const fibers_schedule schedule = {0, 2, {{9, 2}, {44, 1}}};

    (void)state;
    search_replay(&s, &schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_beside_a_guest_that_goes_home),
        cmocka_unit_test(find_beside_a_key_that_leaves_home),
        cmocka_unit_test(keys_counted_below_zero),
        cmocka_unit_test(additions_with_a_lock_and_without),
    };

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
