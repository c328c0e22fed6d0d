/* ctest: every design */
/* ctest: every device */
/*
 * Mixed calls on few keys, so large that a GPU runs them operation by operation because the keys come often, and calls on many
 * keys, which run as they are. For each key insertions and erasures alternate, whatever the order.
 */
#define _POSIX_C_SOURCE 200809L // setenv

#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"

// More than 2^16 elements, from which on a GPU asks whether keys come often, and than a part of the GPU that is none.
enum { ELEMENTS = 90000, ROUNDS = TEST_SANITIZER ? 1 : 3 };

static const bh_op operations[] = {BH_FIND, BH_INSERT, BH_ERASE,
                                   BH_ADD,  BH_UPDATE, BH_FIND_OR_INSERT};

static uint64_t drawn(uint64_t round, uint32_t i)
{
    return random_mix64(round << 32 | i);
}

/* Applies a call, and enters into *count how often each key was inserted more than erased. */
static void apply(bh_table *table, batch *call, uint64_t round, uint32_t keys, int32_t *count)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        batch_set(call, i, random_key(8, 3, drawn(round, i) % keys), i);
        call->ops[i] = (uint8_t)operations[(drawn(round, i) >> 40) % TEST_COUNT(operations)];
    }
    check_status(batch_call(table, BATCH_APPLY, call), BH_OK);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        const uint8_t outcome = call->outcomes[i];

        check(batch_outcome_fits((bh_op)call->ops[i], outcome), "element %u: outcome %u", i,
              outcome);
        count[drawn(round, i) % keys] += (outcome == BH_INSERTED) - (outcome == BH_ERASED);
    }
}

static void check_keys(bh_table *table, batch *call, uint32_t keys, const int32_t *count)
{
    uint64_t there = 0;

    for (uint32_t k = 0; k < keys; k++) {
        check(count[k] == 0 || count[k] == 1, "key %u was inserted %d times more than erased", k,
              (int)count[k]);
        there += (uint64_t)count[k];
        batch_set(call, k, random_key(8, 3, k), 0);
    }
    check(table_stats(table).keys == there, "%llu keys instead of %llu",
          (unsigned long long)table_stats(table).keys, (unsigned long long)there);
    table_check_stats(table);
    call->n = keys;
    check_status(batch_call(table, BH_FIND, call), BH_OK);
    for (uint32_t k = 0; k < keys; k++) {
        check(call->outcomes[k] == (count[k] ? BH_FOUND : BH_MISSING), "key %u: outcome %u", k,
              call->outcomes[k]);
    }
    call->n = ELEMENTS;
}

static void mixed_calls(void **state)
{
    static const uint32_t keys[] = {40, 5000, ELEMENTS / 2};
    static const uint64_t capacities[] = {16, ELEMENTS};
    bh_context *context = context_new(0, NULL, NULL);
    int32_t *count = test_allocate(ELEMENTS * sizeof *count);
    batch call = batch_new(8, 8, ELEMENTS);
    (void)state;

    for (size_t n = 0; n < TEST_COUNT(keys); n++) {
        for (size_t c = 0; c < TEST_COUNT(capacities); c++) {
            const bh_table_options options = table_options(8, 8, capacities[c]);
            bh_table *table = table_with(context, &options);

            memset(count, 0, ELEMENTS * sizeof *count);
            for (uint64_t round = 0; round < ROUNDS; round++) {
                apply(table, &call, round, keys[n], count);
            }
            check_keys(table, &call, keys[n], count);
            bh_table_destroy(table);
        }
    }
    batch_free(&call);
    free(count);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_calls),
    };
    setenv("BULKHASH_FAKE_PART", "70000", 1);
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
