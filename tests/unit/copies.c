/* ctest: fake device */
/* ctest: real device */
/*
 * Pageable arrays of a call on a GPU are copied by several threads of the host, piece by piece: by the
 * pool of the context, or by the caller's executor. Parts are long enough here for many pieces.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"
#include "support/threads.h"

enum { PART = 100000, N = 3 * PART + 12345 };

typedef struct arrays {
    uint64_t *keys, *values, *found;
    uint8_t *outcomes;
} arrays;

static arrays arrays_new(uint64_t salt)
{
    arrays a = {test_allocate(N * 8), test_allocate(N * 8), test_allocate(N * 8), test_allocate(N)};
    for (uint64_t i = 0; i < N; i++) {
        a.keys[i] = random_key(8, salt, i);
        a.values[i] = random_mix64(i + salt);
    }
    return a;
}

static void arrays_free(arrays *a)
{
    free(a->keys);
    free(a->values);
    free(a->found);
    free(a->outcomes);
}

static void insert_and_find(bh_context *context, uint64_t salt)
{
    arrays a = arrays_new(salt);
    bh_table *table = table_new(context, 8, 8, N);

    memset(a.outcomes, 0xee, N);
    check_status(bh_insert(table, a.keys, a.values, N, a.outcomes), BH_OK);
    for (uint64_t i = 0; i < N; i++) {
        check(a.outcomes[i] == BH_INSERTED, "element %llu: %u", (unsigned long long)i,
              a.outcomes[i]);
    }
    memset(a.outcomes, 0xee, N);
    check_status(bh_find(table, a.keys, N, a.found, a.outcomes), BH_OK);
    for (uint64_t i = 0; i < N; i++) {
        check(a.outcomes[i] == BH_FOUND && a.found[i] == a.values[i], "element %llu: %u, %llx",
              (unsigned long long)i, a.outcomes[i], (unsigned long long)a.found[i]);
    }
    bh_table_destroy(table);
    arrays_free(&a);
}

static void by_the_pool(void **state)
{
    bh_context *context = context_new(4, NULL, NULL);
    (void)state;
    insert_and_find(context, 1);
    bh_context_destroy(context);
}

static void by_an_executor(void **state)
{
    test_executor executor;
    bh_context *context = NULL;
    (void)state;

    test_executor_start(&executor, TEST_SHUFFLED, 4);
    context = context_new(0, &executor.executor, NULL);
    insert_and_find(context, 2);
    bh_context_destroy(context);
}

static void one_of_callers(void *argument, uint32_t index)
{
    insert_and_find(argument, 3 + index);
}

/* Calls of one context take turns at its pinned memory; those of two contexts do not. */
static void by_several_callers(void **state)
{
    bh_context *context = context_new(3, NULL, NULL);
    (void)state;
    threads_run(2, one_of_callers, context);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_pool),
        cmocka_unit_test(by_an_executor),
        cmocka_unit_test(by_several_callers),
    };
    setenv("BULKHASH_FAKE_PART", "100000", 1);
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
