/* Calls on keys that have numbers: see play.h. */
#include "support/play.h"

#include "support/check.h"
#include "support/tables.h"

batch play_numbered(test_widths widths, uint64_t first, uint64_t n)
{
    batch all = batch_new(widths.key_bytes, widths.value_bytes, n);

    for (uint64_t i = 0; i < n; i++) {
        batch_set(&all, i, random_key(widths.key_bytes, 815, first + i), first + i);
    }
    return all;
}

void play_call(bh_table *table, test_widths widths, bh_op op, uint64_t first, uint64_t n,
               uint8_t outcome)
{
    batch all = play_numbered(widths, first, n);

    check_status(batch_call(table, (int)op, &all), BH_OK);
    batch_check_all(&all, outcome);
    batch_free(&all);
}

void play_random(bh_context *context, const bh_table_options *options, uint64_t seed,
                 void (*inspect)(const bh_table *table))
{
    const uint32_t key_bytes = options->key_bytes, value_bytes = options->value_bytes;
    static const bh_op ops[] = {BH_INSERT, BH_INSERT, BH_FIND_OR_INSERT, BH_UPDATE, BH_ERASE};
    const uint64_t most = test_scaled(2000);
    bh_table *table = table_with(context, options);
    rng random = random_start(seed);
    model *map = model_new();

    for (uint32_t call = 0; call < 60; call++) {
        const bh_op op = ops[random_below(&random, TEST_COUNT(ops))];
        batch some = batch_new(key_bytes, value_bytes, 1 + random_below(&random, 300));
        const uint64_t first = random_below(&random, most);

        for (uint64_t i = 0; i < some.n; i++) {
            batch_set(&some, i, random_key(key_bytes, 815, first + i), random_next(&random));
        }
        for (uint64_t i = 0; i < some.n; i++) {
            uint64_t value = batch_value(&some, i);
            some.ops[i] = (uint8_t)model_apply(map, op, value_bytes, batch_key(&some, i), &value);
        }
        check_status(batch_call(table, (int)op, &some), BH_OK);
        for (uint64_t i = 0; i < some.n; i++) {
            check(some.outcomes[i] == some.ops[i], "outcome %u instead of %u", some.outcomes[i],
                  some.ops[i]);
        }
        batch_free(&some);
        if (call % 20 == 19) {
            check_status(bh_compact(table), BH_OK);
        }
        inspect(table);
    }
    table_check_equals_model(table, key_bytes, value_bytes, map);
    model_free(map);
    bh_table_destroy(table);
}
