/* ctest: fake device */
/* ctest: real device */
/*
 * Histories of a GPU: the elements of one call run at the same time, thousands of them, and each says
 * when it was taken up and when it was done, by the GPU's own timer (kernels.h, BH_CUDA_STAMPS). The
 * judge (support/history.h) must find for each key one order of its elements that explains all answers
 * and what the table holds afterwards, and in which none comes before another that had ended when it
 * began. The table grows under the calls, loses keys, and is full now and then.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "support/batch.h"
#include "support/check.h"
#include "support/history.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/places.h"
#include "support/random.h"
#include "support/tables.h"

/* From so many elements on a call runs in stages (src/cuda/device/gpu.h). */
enum { STAGED = 1 << 14, MOST = STAGED + 5000 };

/* The arrays of a call on the device, and in memory of the test. */
enum { KEYS, VALUES, OPS, OUTCOMES, STAMPS, ARRAYS };
static const uint64_t widths[ARRAYS] = {4, 4, 1, 1, 16};

typedef struct arrays {
    void *there[ARRAYS];
    void *own[ARRAYS];
} arrays;

typedef int stamp_function(void *stamps);

static stamp_function *stamp(void)
{
    const char *reason = "";
    const void *symbol =
        bh__library_symbol(getenv("BULKHASH_CUDA_MODULE"), "bh__cuda_stamp", &reason);
    stamp_function *function = NULL;

    check(symbol != NULL, "%s", reason);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static model *content_of(bh_table *table)
{
    model *map = model_new();
    pairs all = table_pairs(table, 4, 4, MOST);

    for (uint64_t i = 0; i < all.count; i++) {
        model_put(map, all.keys[i], all.values[i]);
    }
    pairs_free(&all);
    return map;
}

/* What an element was asked and answered. One that the policy finished has no stamps, or one: it ran at
 * some time of the call. */
static history_event event_of(const arrays *a, uint64_t i, const uint32_t *given)
{
    const uint64_t *stamps = (const uint64_t *)a->own[STAMPS] + 2 * i;
    history_event e = {
        .key = ((const uint32_t *)a->own[KEYS])[i],
        .op = (bh_op)((const uint8_t *)a->own[OPS])[i],
        .operand = given[i],
        .answer = ((const uint32_t *)a->own[VALUES])[i],
        .outcome = ((const uint8_t *)a->own[OUTCOMES])[i],
        .begin = stamps[0],
        .end = stamps[1] > 0 ? stamps[1] : UINT64_MAX,
    };
    return e;
}

static void one_call(bh_table *table, arrays *a, uint64_t n, uint64_t keys, rng *random)
{
    history_event *events = test_allocate(n * sizeof *events);
    uint32_t *given = test_allocate(n * sizeof *given);
    model *before = content_of(table);
    model *after = NULL;
    uint64_t stamped = 0;
    bh_status status;

    for (uint64_t i = 0; i < n; i++) {
        ((uint32_t *)a->own[KEYS])[i] = (uint32_t)random_key(4, 1, random_below(random, keys));
        ((uint32_t *)a->own[VALUES])[i] = given[i] = (uint32_t)random_below(random, 50);
        ((uint8_t *)a->own[OPS])[i] = (uint8_t)batch_draw_op(random, 4);
    }
    memset(a->own[STAMPS], 0, n * widths[STAMPS]);
    for (int w = 0; w < ARRAYS; w++) {
        place_set(a->there[w], a->own[w], n * widths[w]);
    }
    check(stamp()(a->there[STAMPS]) == 0, "no stamps");
    status =
        bh_apply(table, a->there[OPS], a->there[KEYS], a->there[VALUES], n, a->there[OUTCOMES]);
    check(stamp()(NULL) == 0, "stamps do not end");
    check(status == BH_OK || status == BH_ERR_FULL, "bh_apply: %s", bh_status_name(status));
    for (int w = 0; w < ARRAYS; w++) {
        place_get(a->own[w], a->there[w], n * widths[w]);
    }
    for (uint64_t i = 0; i < n; i++) {
        events[i] = event_of(a, i, given);
        stamped += events[i].end != UINT64_MAX && events[i].begin > 0;
        check(events[i].begin <= events[i].end, "element %llu ended before it began",
              (unsigned long long)i);
    }
    check(status != BH_OK || stamped > n / 2, "%llu of %llu elements have stamps",
          (unsigned long long)stamped, (unsigned long long)n);
    after = content_of(table);
    check(history_check(events, n, 4, before, after), "%llu elements of %llu keys",
          (unsigned long long)n, (unsigned long long)keys);
    model_free(before);
    model_free(after);
    free(events);
    free(given);
}

static void calls_of_many_elements(void **state)
{
    /* A few elements for each key: the judge has to try their orders. */
    static const uint64_t sizes[] = {1, 30, 500, 6000, MOST};
    const int rounds = TEST_SANITIZER ? 2 : 6;
    bh_context *context = context_new(1, NULL, NULL);
    rng random = random_start(test_seed());
    arrays a;
    (void)state;

    places_start();
    for (int w = 0; w < ARRAYS; w++) {
        a.there[w] = place_allocate(PLACE_DEVICE, MOST * widths[w]);
        a.own[w] = test_allocate(MOST * widths[w]);
    }
    for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
        for (int limited = 0; limited < 2; limited++) {
            bh_table_options options = table_options(4, 4, 1);
            const uint64_t n = sizes[s], keys = n / 4 + 1;
            bh_table *table = NULL;

            /* With room for some of the keys only, where these are many. */
            options.max_host_bytes = options.max_device_bytes = limited ? keys * 4 + 16384 : 0;
            table = table_with(context, &options);
            for (int round = 0; round < rounds; round++) {
                one_call(table, &a, n, keys, &random);
            }
            bh_table_destroy(table);
        }
    }
    for (int w = 0; w < ARRAYS; w++) {
        place_free(PLACE_DEVICE, a.there[w]);
        free(a.own[w]);
    }
    places_end();
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_many_elements),
    };
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
