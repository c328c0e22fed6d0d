/* ctest: fake device */
/* ctest: real device */
/*
 * Insertions and updates region by region, which a GPU chooses for large calls
 * (BH_SCHEDULE_REGIONS): tables that are filled until many keys need another bucket, or one of
 * those who live in theirs has to leave it; of every width; with keys that come several times, that
 * are there, that are not; with room for all and for fewer; and after their keys were turned over.
 * What no answer would show at once is read from DyCuckoo's memory: whether all who are guests are
 * known as guests, and counted where they are at home.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/guests.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/places.h"
#include "support/random.h"
#include "support/tables.h"

#include "tables/table.h"

enum { KEYS = 30000, MANY_KEYS = 1000000, SAMPLED_KEYS = 1 << 22, ROUNDS = 12 };

static const struct {
    uint32_t key_bytes, value_bytes;
} widths[] = {{4, 0}, {4, 4}, {4, 8}, {8, 0}, {8, 4}, {8, 8}};

/* The designs that go by region. */
static const bh_design designs[] = {BH_DYCUCKOO, BH_STADIUM};

/* A call's arrays, and what the table should hold. */
typedef struct work {
    bh_design design;
    uint32_t key_bytes, value_bytes;
    uint64_t room;
    unsigned char *keys, *values;
    uint8_t *outcomes;
    bh_context *context;
    bh_table *table;
    model *map;
} work;

static void word_set(unsigned char *array, uint32_t bytes, uint64_t i, uint64_t word)
{
    if (bytes)
        memcpy(array + i * bytes, &word, bytes); // little endian, as all machines that it runs on
}

/* Elements [first, first + count) of the array are keys `from` on of the sequence. */
static void fill(work *w, uint64_t first, uint64_t count, uint64_t from, uint64_t salt)
{
    for (uint64_t i = 0; i < count; i++) {
        word_set(w->keys, w->key_bytes, first + i, random_key(w->key_bytes, 77, from + i));
        word_set(w->values, w->value_bytes, first + i, random_mix64(first + i + salt));
    }
}

static uint64_t word_at(const unsigned char *array, uint32_t bytes, uint64_t i)
{
    uint64_t word = 0;

    if (bytes)
        memcpy(&word, array + i * bytes, bytes);
    return word;
}

static bh_status call(work *w, bh_op op, uint64_t n)
{
    memset(w->outcomes, 0xee, n);
    switch (op) {
    case BH_INSERT: return bh_insert(w->table, w->keys, w->values, n, w->outcomes);
    case BH_INSERT_NEW: return bh_insert_new(w->table, w->keys, w->values, n, w->outcomes);
    case BH_FIND_OR_INSERT: return bh_find_or_insert(w->table, w->keys, w->values, n, w->outcomes);
    case BH_UPDATE: return bh_update(w->table, w->keys, w->values, n, w->outcomes);
    case BH_ERASE: return bh_erase(w->table, w->keys, n, w->outcomes);
    default: return bh_reduce(w->table, op, w->keys, w->values, n, w->outcomes);
    }
}

/* A call on different keys, which has one answer; and what it leaves. */
static void perform(work *w, bh_op op, uint64_t n)
{
    check_status(call(w, op, n), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = word_at(w->values, w->value_bytes, i);
        const bh_outcome expected =
            model_apply(w->map, op, w->value_bytes, word_at(w->keys, w->key_bytes, i), &value);

        check(w->value_bytes == 0 || word_at(w->values, w->value_bytes, i) == value,
              "operation %d, element %llu of %llu: another value", (int)op, (unsigned long long)i,
              (unsigned long long)n);
        check(w->outcomes[i] == expected, "operation %d, element %llu of %llu: %u, not %d", (int)op,
              (unsigned long long)i, (unsigned long long)n, w->outcomes[i], (int)expected);
    }
}

/* What no call would show at once: guests are known as such, and counted in their homes. */
static void check_structure(const work *w)
{
    if (w->design == BH_DYCUCKOO)
        (void)guests_check(w->table->policy->geometry(w->table), w->key_bytes, w->value_bytes,
                           place_get);
}

static void check_all(work *w)
{
    check_structure(w);
    table_check_equals_model(w->table, w->key_bytes, w->value_bytes, w->map);
    table_check_stats(w->table);
}

static void begin(work *w, uint32_t which, uint64_t capacity, double max_fill, uint64_t room)
{
    bh_table_options options;

    w->key_bytes = widths[which].key_bytes;
    w->value_bytes = widths[which].value_bytes;
    w->room = room;
    w->keys = test_allocate(room * w->key_bytes);
    w->values = test_allocate(room * 8);
    w->outcomes = test_allocate(room);
    options = table_options(w->key_bytes, w->value_bytes, capacity);
    options.design = w->design;
    options.schedule = BH_SCHEDULE_REGIONS;
    options.max_fill = max_fill;
    options.min_fill = -1;
    w->table = table_with(w->context, &options);
    w->map = model_new();
}

static void end(work *w)
{
    bh_table_destroy(w->table);
    model_free(w->map);
    free(w->keys);
    free(w->values);
    free(w->outcomes);
}

/* Every operation that there is, on keys that are there and on others, in a table that is as
 * full as can be. */
static void operations(work *w, uint32_t which)
{
    const uint64_t n = test_scaled(KEYS);

    begin(w, which, n, 0.95, 2 * n);
    fill(w, 0, n, 0, 1);
    perform(w, BH_INSERT, n);
    check_all(w);
    fill(w, 0, n, 0, 2);
    perform(w, BH_INSERT, n); /* there is no room for as many */
    perform(w, BH_INSERT_NEW, n);
    fill(w, 0, n, n / 2, 3);
    perform(w, BH_UPDATE, n);
    for (int op = 0; w->value_bytes && op < BATCH_OPS; op++) {
        if (!batch_is_reduction(op))
            continue;
        fill(w, 0, n, 0, 4 + (uint64_t)op);
        perform(w, (bh_op)op, n);
    }
    check_all(w);
    /* The schedule declines this one. */
    perform(w, BH_FIND_OR_INSERT, n);
    /* Half of them are new, and the table grows for them. */
    fill(w, 0, n, n / 2, 9);
    perform(w, BH_INSERT, n);
    check_all(w);
    end(w);
}

/* Keys come and go: there are guests, whose homes have room again. */
static void turned_over(work *w, uint32_t which)
{
    const uint64_t n = test_scaled(KEYS), part = n / 4;

    begin(w, which, n, 0.93, n);
    fill(w, 0, n, 0, 1);
    perform(w, BH_INSERT, n);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        fill(w, 0, part, round * part, 0);
        perform(w, BH_ERASE, part);
        fill(w, 0, part, n + round * part, round);
        perform(w, round % 2 && w->value_bytes ? BH_ADD : BH_INSERT, part);
        check_structure(w);
    }
    check_all(w);
    /* Subtable by subtable it becomes larger, which relies on what is known of guests. */
    for (uint64_t step = 0; step < 20; step++) {
        fill(w, 0, part / 4, 100 * n + step * (part / 4), step);
        perform(w, BH_INSERT, part / 4);
    }
    check_all(w);
    end(w);
}

/* Each key some times in a call: one of them inserts it, and the others find it. */
static void several(work *w, uint32_t which)
{
    const uint64_t n = test_scaled(KEYS), times = 3;
    uint64_t outcomes[2] = {0, 0}, sum = 0, there = 0;
    pairs all;

    begin(w, which, n, 0.95, n * times);
    /* Those of a key lie in one part of the call, most of them. */
    for (uint64_t i = 0; i < n * times; i++)
        fill(w, i, 1, i / times, 0);
    for (uint64_t i = 0; i < n * times; i++) {
        word_set(w->values, w->value_bytes, i, 1 + i % 5);
        sum += w->value_bytes ? 1 + i % 5 : 0;
    }
    check_status(call(w, w->value_bytes ? BH_ADD : BH_INSERT, n * times), BH_OK);
    for (uint64_t i = 0; i < n * times; i++)
        outcomes[w->outcomes[i] == BH_INSERTED]++;
    check(outcomes[1] == n && outcomes[0] == n * (times - 1), "%llu were inserted",
          (unsigned long long)outcomes[1]);
    all = table_pairs(w->table, w->key_bytes, w->value_bytes, n);
    for (uint64_t i = 0; i < all.count; i++)
        there += all.values[i];
    check(all.count == n && there == sum, "%llu keys, with %llu in all and not %llu",
          (unsigned long long)all.count, (unsigned long long)there, (unsigned long long)sum);
    pairs_free(&all);
    check_structure(w);
    end(w);
}

/* One key, and a few others: more elements than its region has room for. */
static void one_key(work *w, uint32_t which)
{
    const uint64_t n = test_scaled(KEYS);

    begin(w, which, n, 0.9, n);
    fill(w, 0, n, 0, 1);
    for (uint64_t i = 0; i < n; i++)
        if (i % 10)
            word_set(w->keys, w->key_bytes, i, 5);
    check_status(call(w, BH_INSERT, n), BH_OK);
    for (uint64_t i = 0, inserted = 0; i < n; i++) {
        inserted += i % 10 && w->outcomes[i] == BH_INSERTED;
        check(w->outcomes[i] == BH_INSERTED || (i % 10 && w->outcomes[i] == BH_ASSIGNED),
              "element %llu: %u", (unsigned long long)i, w->outcomes[i]);
        check(i < n - 1 || inserted == 1, "the key was inserted %llu times",
              (unsigned long long)inserted);
    }
    check(table_stats(w->table).keys == (n + 9) / 10 + 1, "%llu keys",
          (unsigned long long)table_stats(w->table).keys);
    end(w);
}

static void every_width(void **state)
{
    work w = {.context = context_new(0, NULL, NULL)};
    (void)state;

    for (uint32_t d = 0; d < TEST_COUNT(designs); d++) {
        w.design = designs[d];
        for (uint32_t which = 0; which < TEST_COUNT(widths); which++) {
            operations(&w, which);
            turned_over(&w, which);
            several(&w, which);
            one_key(&w, which);
        }
    }
    bh_context_destroy(w.context);
}

/* The table may not grow: who finds room is there, and who does not is marked so. */
static void a_full_table_of(bh_design design)
{
    work w = {.design = design, .context = context_new(0, NULL, NULL)};
    const uint64_t n = test_scaled(KEYS);
    uint64_t inserted = 0;
    bh_table_options options = table_options(4, 4, n);

    begin(&w, 1, n, 0.9, 2 * n);
    options.design = design;
    options.schedule = BH_SCHEDULE_REGIONS;
    options.stadium.table_memory = BH_TABLE_MEMORY_DEVICE;
    options.max_fill = 0.9;
    options.max_device_bytes = table_stats(w.table).bytes_total;
    bh_table_destroy(w.table);
    w.table = table_with(w.context, &options);
    fill(&w, 0, 2 * n, 0, 1);
    check_status(call(&w, BH_INSERT, 2 * n), BH_ERR_FULL);
    for (uint64_t i = 0; i < 2 * n; i++) {
        uint64_t value = word_at(w.values, 4, i);

        check(w.outcomes[i] == BH_INSERTED || w.outcomes[i] == BH_NOT_DONE, "element %llu: %u",
              (unsigned long long)i, w.outcomes[i]);
        inserted += w.outcomes[i] == BH_INSERTED;
        if (w.outcomes[i] == BH_INSERTED)
            (void)model_apply(w.map, BH_INSERT, 4, word_at(w.keys, 4, i), &value);
    }
    check(inserted >= n, "%llu of %llu keys found room", (unsigned long long)inserted,
          (unsigned long long)n);
    check_all(&w);
    end(&w);
    bh_context_destroy(w.context);
}

static void a_full_table(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < TEST_COUNT(designs); d++)
        a_full_table_of(designs[d]);
}

/* So many that there are parts of regions. */
static void many_of(bh_design design)
{
    work w = {.design = design, .context = context_new(0, NULL, NULL)};
    const uint64_t n = test_scaled(MANY_KEYS);

    begin(&w, 1, 2 * n, 0.9, n);
    for (uint64_t i = 0; i < 2; i++) {
        fill(&w, 0, n, i * n, 1);
        check_status(call(&w, BH_INSERT, n), BH_OK);
        for (uint64_t j = 0; j < n; j++)
            check(w.outcomes[j] == BH_INSERTED, "element %llu: %u", (unsigned long long)j,
                  w.outcomes[j]);
        check(strcmp(table_stats(w.table).target, "cuda-regions") == 0, "%s ran",
              table_stats(w.table).target);
    }
    for (uint64_t i = 0; i < 2; i++) {
        fill(&w, 0, n, i * n, 1);
        memset(w.values, 0, n * 4);
        check_status(bh_find(w.table, w.keys, n, w.values, w.outcomes), BH_OK);
        for (uint64_t j = 0; j < n; j++)
            check(w.outcomes[j] == BH_FOUND &&
                      word_at(w.values, 4, j) == (uint32_t)random_mix64(j + 1),
                  "element %llu", (unsigned long long)j);
    }
    end(&w);
    bh_context_destroy(w.context);
}

static void many(void **state)
{
    (void)state;
    for (uint32_t d = 0; d < TEST_COUNT(designs); d++)
        many_of(designs[d]);
}

/* Calls so large that a sample says whether they bring new keys, onto a table that has no room for as
 * many: none is new, every other one is. Their arrays lie on the device: of others parts are smaller
 * than that, and no smaller calls are asked for a sample. */
static void a_sample_of(bh_design design)
{
    const uint64_t n = SAMPLED_KEYS, news[] = {0, n / 2};
    work w = {.design = design, .context = context_new(0, NULL, NULL)};
    void *keys = place_allocate(PLACE_DEVICE, n * 4), *values = place_allocate(PLACE_DEVICE, n * 4);
    void *outcomes = place_allocate(PLACE_DEVICE, n);
    uint64_t count = n;

    begin(&w, 1, n, 0.9, n);
    fill(&w, 0, n, 0, 1);
    check_status(call(&w, BH_INSERT, n), BH_OK);
    place_set(values, w.values, n * 4);
    for (uint64_t i = 0; i < TEST_COUNT(news); i++) {
        uint64_t inserted = 0, assigned = 0;

        fill(&w, 0, n, 0, 1);
        for (uint64_t j = 0; j < news[i]; j++)
            fill(&w, (2 * j + 1) * (n / 2 / news[i]), 1, count + j, 1);
        count += news[i];
        place_set(keys, w.keys, n * 4);
        check_status(bh_insert(w.table, keys, values, n, outcomes), BH_OK);
        place_get(w.outcomes, outcomes, n);
        for (uint64_t j = 0; j < n; j++) {
            inserted += w.outcomes[j] == BH_INSERTED;
            assigned += w.outcomes[j] == BH_ASSIGNED;
        }
        check(inserted == news[i] && assigned == n - inserted, "%llu inserted, %llu assigned",
              (unsigned long long)inserted, (unsigned long long)assigned);
        check(table_stats(w.table).keys == count, "%llu keys",
              (unsigned long long)table_stats(w.table).keys);
        check(i || table_stats(w.table).grows == 0, "it grew for nothing");
    }
    table_check_stats(w.table);
    check_structure(&w);
    end(&w);
    bh_context_destroy(w.context);
    place_free(PLACE_DEVICE, keys);
    place_free(PLACE_DEVICE, values);
    place_free(PLACE_DEVICE, outcomes);
}

static void a_sample(void **state)
{
    (void)state;
    // The host does the same for every design: one is enough for a sanitizer.
    for (uint32_t d = 0; d < (TEST_SANITIZER ? 1 : TEST_COUNT(designs)); d++)
        a_sample_of(designs[d]);
}

static int regions_start(void **state)
{
    (void)state;
    bh_context_destroy(context_new(0, NULL, NULL)); /* the test is skipped where there is none */
    places_start();
    return 0;
}

static int regions_end(void **state)
{
    (void)state;
    places_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width),
        cmocka_unit_test(a_full_table),
        cmocka_unit_test(many),
        cmocka_unit_test(a_sample),
    };

    return test_exit_status(cmocka_run_group_tests(tests, regions_start, regions_end));
}
