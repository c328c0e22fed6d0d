/* ctest: every target */
/* ctest: every design */
/*
 * The front of the CPU schedule (cpu/front_rounds.h) beside the window: the same calls on two tables, in one
 * all elements at once, which the front tries first, in the other a few at a time, which go to the window
 * alone. Elements of a call are different keys, so outcomes and values have to be the same, and so has what
 * the tables hold at the end. Keys that are there, that are not, and both; calls that are no multiple of a
 * group; calls of different operations; calls that want no outcomes or no values; tables that grow meanwhile, with
 * few keys away from home and with many. Of DyCuckoo also all numbers of subtables, and keys and values side by side
 * and apart. Designs with a front of their own are held to the same. Every other call finds a table that is not biased
 * to the thread (cpu/bias.h), so its changes take locks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/operations.h"
#include "cpu/bias.h"
#include "support/check.h"
#include "support/random.h"
#include "support/tables.h"

enum { MOST = 9000, AT_ONCE = 8, EDGE = 16 };

static const struct {
    uint32_t key_bytes, value_bytes;
} widths[] = {{4, 0}, {4, 4}, {4, 8}, {8, 0}, {8, 4}, {8, 8}};

static const uint64_t sizes[] = {32, 33, 39, 40, 63, 64, 65, 500, 4096, 4103, MOST - 3};

static const bh_op ops[] = {BH_INSERT,         BH_FIND,       BH_ADD,   BH_UPDATE,
                            BH_FIND_OR_INSERT, BH_INSERT_NEW, BH_MIN,   BH_FIND,
                            BH_ERASE,          BH_FIND,       BH_INSERT};

/* One of the two tables, and the arrays of its calls; values and outcomes have EDGE elements more at both
 * ends, which no call may write to. */
typedef struct side {
    bh_table *table;
    unsigned char *values;
    uint8_t *outcomes;
} side;

typedef struct work {
    uint32_t key_bytes, value_bytes;
    unsigned char *keys;
    uint8_t *mix;
    side whole, parts;
} work;

static void perform(const work *w, const side *s, const uint8_t *mix, bh_op op, uint64_t first,
                    uint64_t n, int values, int outcomes)
{
    const unsigned char *keys = w->keys + first * w->key_bytes;
    void *v = w->value_bytes && values ? s->values + (EDGE + first) * w->value_bytes : NULL;
    uint8_t *o = outcomes ? s->outcomes + EDGE + first : NULL;
    bh_table *t = s->table;

    if (mix) {
        check_status(bh_apply(t, mix + first, keys, v, n, o), BH_OK);
        return;
    }
    switch (op) {
    case BH_INSERT: check_status(bh_insert(t, keys, v, n, o), BH_OK); break;
    case BH_INSERT_NEW: check_status(bh_insert_new(t, keys, v, n, o), BH_OK); break;
    case BH_FIND_OR_INSERT: check_status(bh_find_or_insert(t, keys, v, n, o), BH_OK); break;
    case BH_UPDATE: check_status(bh_update(t, keys, v, n, o), BH_OK); break;
    case BH_FIND: check_status(bh_find(t, keys, n, v, o), BH_OK); break;
    case BH_ERASE: check_status(bh_erase(t, keys, n, o), BH_OK); break;
    default: check_status(bh_reduce(t, op, keys, v, n, o), BH_OK); break;
    }
}

/* The same call on both sides, on the n keys from `from` on of a sequence. */
static void both(const work *w, const uint8_t *mix, bh_op op, uint64_t from, uint64_t n, int values,
                 int outcomes, uint64_t salt)
{
    const uint64_t bytes = (n + 2 * EDGE) * w->value_bytes;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t key = random_key(w->key_bytes, 5, from + i);

        memcpy(w->keys + i * w->key_bytes, &key, w->key_bytes); // little endian
    }
    for (uint64_t i = 0; i < bytes; i++)
        w->whole.values[i] = w->parts.values[i] = (unsigned char)random_mix64(salt + i);
    memset(w->whole.outcomes, 0xee, n + 2 * EDGE);
    memset(w->parts.outcomes, 0xee, n + 2 * EDGE);
    if (salt % 2 == 0) {
        bh__bias_suspend(w->whole.table);
        bh__bias_resume(w->whole.table);
    }
    perform(w, &w->whole, mix, op, 0, n, values, outcomes);
    for (uint64_t first = 0; first < n; first += AT_ONCE)
        perform(w, &w->parts, mix, op, first, n - first < AT_ONCE ? n - first : AT_ONCE, values,
                outcomes);
    check(!memcmp(w->whole.outcomes, w->parts.outcomes, n + 2 * EDGE),
          "outcomes of operation %d on %llu keys differ (%u+%u bytes)", mix ? -1 : (int)op,
          (unsigned long long)n, w->key_bytes, w->value_bytes);
    check(!memcmp(w->whole.values, w->parts.values, bytes),
          "values of operation %d on %llu keys differ (%u+%u bytes)", mix ? -1 : (int)op,
          (unsigned long long)n, w->key_bytes, w->value_bytes);
}

static void run(bh_context *context, uint32_t key_bytes, uint32_t value_bytes, uint32_t apart,
                uint32_t subtables, double max_fill)
{
    bh_experimental_options experimental;
    work w = {.key_bytes = key_bytes, .value_bytes = value_bytes};
    bh_table_options options = table_options(key_bytes, value_bytes, 64);
    rng numbers = random_start(key_bytes * 8 + value_bytes);
    pairs one, other;

    bh_experimental_options_init(&experimental);
    experimental.values = apart ? BH_VALUES_APART : BH_VALUES_BESIDE;
    if (test_design() == BH_DYCUCKOO) {
        options.experimental = &experimental;
        options.dycuckoo.subtables = subtables;
    }
    options.max_fill = max_fill;
    options.seed = 11;
    options.seed_fixed = 1;
    w.whole.table = table_with(context, &options);
    w.parts.table = table_with(context, &options);
    w.keys = malloc(MOST * key_bytes);
    w.mix = malloc(MOST);
    w.whole.values = malloc((MOST + 2 * EDGE) * 8);
    w.parts.values = malloc((MOST + 2 * EDGE) * 8);
    w.whole.outcomes = malloc(MOST + 2 * EDGE);
    w.parts.outcomes = malloc(MOST + 2 * EDGE);
    for (uint64_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const uint64_t n = sizes[s];

        for (uint64_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            const bh_op op = ops[o];

            if (!value_bytes && (op == BH_ADD || op == BH_MIN))
                continue;
            /* Keys of the call before, of those half, none. */
            for (uint64_t part = 0; part < 3; part++)
                both(&w, NULL, op, 1000 * s + part * n / 2, n, op != BH_FIND || part != 1,
                     part != 2, random_mix64(s * 100 + o * 10 + part));
        }
        /* Lookups that find nothing at first, and then all. */
        both(&w, NULL, BH_FIND, 1000 * s + 500000, n, 1, 1, s);
        both(&w, NULL, BH_INSERT, 1000 * s + 500000 + n / 2, n, 1, 1, s);
        both(&w, NULL, BH_FIND, 1000 * s + 500000, n, 1, 1, s);
        both(&w, NULL, BH_ERASE, 1000 * s + 500000 + n / 2, n, 1, 1, s);
        for (uint64_t i = 0; i < n; i++) {
            do
                w.mix[i] = (uint8_t)(random_next(&numbers) % BH_OPS);
            while (!value_bytes && BH_OP_REDUCES(w.mix[i]));
        }
        both(&w, w.mix, BH_FIND, 1000 * s + n / 4, n, 1, 1, s);
    }
    one = table_pairs(w.whole.table, key_bytes, value_bytes, 1000);
    other = table_pairs(w.parts.table, key_bytes, value_bytes, 1000);
    check(one.count > MOST / 4, "only %llu keys are left", (unsigned long long)one.count);
    pairs_check_equal(&one, &other);
    pairs_free(&one);
    pairs_free(&other);
    bh_table_destroy(w.whole.table);
    bh_table_destroy(w.parts.table);
    free(w.keys);
    free(w.mix);
    free(w.whole.values);
    free(w.parts.values);
    free(w.whole.outcomes);
    free(w.parts.outcomes);
}

static void front_and_window_agree(void **state)
{
    bh_context *context = context_new(1, NULL, NULL);
    const uint32_t layouts = test_design() == BH_DYCUCKOO ? 2 : 1;

    (void)state;
    for (uint64_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (uint32_t apart = 0; apart < (widths[i].value_bytes ? layouts : 1); apart++) {
            run(context, widths[i].key_bytes, widths[i].value_bytes, apart, 4, 0.5);
            run(context, widths[i].key_bytes, widths[i].value_bytes, apart, 4, 0.93);
        }
    }
    // Chains of many nodes.
    for (uint64_t i = 0; test_design() == BH_DACHASH && i < sizeof widths / sizeof *widths; i++) {
        run(context, widths[i].key_bytes, widths[i].value_bytes, 0, 4, 3);
    }
    for (uint32_t subtables = 2; layouts > 1 && subtables <= 8; subtables++) {
        run(context, 4, 8, 0, subtables, 0.8);
        run(context, 4, 8, 1, subtables, 0.8);
    }
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(front_and_window_agree)};

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    return test_exit_status(cmocka_run_group_tests(tests, NULL, NULL));
}
