/*
 * Contexts and tables for tests, see tables.h.
 */
#include "support/tables.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "tables/table.h"

const char *test_device(void)
{
    const char *name = getenv("BULKHASH_TEST_DEVICE");
    return name != NULL ? name : "cpu";
}

bool test_on_gpu(void)
{
    return strcmp(test_device(), "cpu") != 0;
}

bool test_on_fake_gpu(void)
{
    const char *module = getenv("BULKHASH_CUDA_MODULE");
    return test_on_gpu() && module != NULL && strstr(module, "fake") != NULL;
}

/* What the kernel said about each two mebibytes, remembered at a place that their address chooses: the
 * number of the two mebibytes, and one bit for "huge". 0: not asked yet. */
static atomic_uint_fast64_t pages_seen[4096];

static uint64_t page_bytes_remembered(void *state, const void *memory, uint64_t bytes)
{
    const uint64_t small = 4096, huge = 2u << 20;
    const uint64_t number = (uint64_t)(uintptr_t)memory / huge;
    atomic_uint_fast64_t *seen = &pages_seen[number % TEST_COUNT(pages_seen)];
    const uint64_t known = atomic_load(seen);
    bh_system system;
    uint64_t answer = 0;

    if (known / 2 == number && known > 0) {
        return known % 2 == 0 ? small : huge;
    }
    bh_system_default(&system);
    answer = system.page_bytes(state, memory, bytes);
    if (answer == small || answer == huge) {
        atomic_store(seen, 2 * number + (answer == huge));
    }
    return answer;
}

void test_system(bh_system *system)
{
    bh_system_default(system);
    system->page_bytes = page_bytes_remembered;
}

bh_context *context_new(uint32_t threads, const bh_executor *executor, const bh_system *system)
{
    bh_context_options options;
    bh_system usual;
    bh_context *context = NULL;
    bh_status status;

    test_system(&usual);
    bh_context_options_init(&options);
    options.threads = threads;
    options.executor = executor;
    options.system = system != NULL ? system : &usual;
    status = bh_context_create(test_device(), &options, &context);
    if (status == BH_ERR_DEVICE && getenv("BULKHASH_TEST_SKIP") != NULL) {
        printf("skipped: %s\n", bh_error_detail());
        exit(77);
    }
    check_status(status, BH_OK);
    check(context != NULL, "bh_context_create answered BH_OK without a context");
    return context;
}

/* BULKHASH_TEST_DESIGN=far stands for slots in the host's memory of a table on a GPU, which one design has. */
static bool test_far(void)
{
    const char *name = getenv("BULKHASH_TEST_DESIGN");
    return name != NULL && strcmp(name, "far") == 0;
}

bh_design test_design(void)
{
    const char *name = getenv("BULKHASH_TEST_DESIGN");
    bh_design design;

    if (name == NULL)
        return bh__design_chosen();
    if (test_far())
        return BH_STADIUM;
    for (uint32_t i = 0; (design = bh__design_at(i, NULL)) != BH_AUTO; i++)
        if (strcmp(bh__policy_of(design)->name, name) == 0)
            return design;
    check(false, "BULKHASH_TEST_DESIGN is %s, which this build does not have", name);
    return BH_AUTO;
}

bh_table_options table_options(uint32_t key_bytes, uint32_t value_bytes, uint64_t capacity)
{
    bh_table_options options;
    bh_table_options_init(&options, key_bytes, value_bytes, capacity);
    options.design = test_design();
    if (test_far())
        options.stadium.table_memory = BH_TABLE_MEMORY_HOST;
    return options;
}

bh_table *table_with(bh_context *context, const bh_table_options *options)
{
    bh_table *table = NULL;
    check_status(bh_table_create(context, options, &table), BH_OK);
    check(table != NULL, "bh_table_create answered BH_OK without a table");
    return table;
}

bh_table *table_new(bh_context *context, uint32_t key_bytes, uint32_t value_bytes,
                    uint64_t capacity)
{
    bh_table_options options = table_options(key_bytes, value_bytes, capacity);
    return table_with(context, &options);
}

bh_table_stats table_stats(const bh_table *table)
{
    bh_table_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.struct_size = sizeof stats;
    check_status(bh_table_get_stats(table, &stats), BH_OK);
    return stats;
}

typedef struct pair {
    uint64_t key;
    uint64_t value;
} pair;

/* Sorts by key, byte after byte from the lowest: qsort() with its call for every comparison took longer
 * than what was tested. Bytes that are the same in all keys are passed over. */
static void pairs_sort(pair *sorted, uint64_t count)
{
    pair *from = sorted, *to = test_allocate((count + 1) * sizeof *to), *spare = to;

    for (uint32_t shift = 0; shift < 64 && count > 1; shift += 8) {
        uint64_t places[256] = {0};
        uint64_t place = 0;

        for (uint64_t i = 0; i < count; i++) {
            places[from[i].key >> shift & 255]++;
        }
        if (places[from[0].key >> shift & 255] == count) {
            continue;
        }
        for (uint32_t b = 0; b < 256; b++) {
            const uint64_t those = places[b];
            places[b] = place;
            place += those;
        }
        for (uint64_t i = 0; i < count; i++) {
            to[places[from[i].key >> shift & 255]++] = from[i];
        }
        pair *other = from;
        from = to;
        to = other;
    }
    if (from != sorted) {
        memcpy(sorted, from, count * sizeof *sorted);
    }
    free(spare);
}

pairs table_pairs(bh_table *table, uint32_t key_bytes, uint32_t value_bytes, uint64_t room)
{
    enum { GUARD = 2 }; // elements behind the room that must stay as they are
    const uint64_t guard = 0x5a5a5a5a5a5a5a5au;
    uint64_t expected = table_stats(table).keys;
    void *keys = test_allocate((room + GUARD) * 8);
    void *values = test_allocate((room + GUARD) * 8);
    pair *sorted = test_allocate((expected + 1) * sizeof *sorted);
    pairs content = {0, NULL, NULL};
    uint64_t cursor = 0;
    uint64_t count = 0;

    do {
        memset(keys, 0x5a, (room + GUARD) * 8);
        memset(values, 0x5a, (room + GUARD) * 8);
        check_status(bh_export(table, &cursor, keys, value_bytes > 0 ? values : NULL, room, &count),
                     BH_OK);
        check(count <= room, "export wrote %llu pairs where %llu had room",
              (unsigned long long)count, (unsigned long long)room);
        check(content.count + count <= expected,
              "export gives %llu keys or more, the stats say %llu",
              (unsigned long long)(content.count + count), (unsigned long long)expected);
        for (uint64_t i = 0; i < count; i++) {
            sorted[content.count + i].key = test_load(keys, key_bytes, i);
            sorted[content.count + i].value = test_load(values, value_bytes, i);
        }
        for (uint64_t i = count; i < room + GUARD; i++) {
            check(test_load(keys, key_bytes, i) == (guard & test_width_mask(key_bytes)) &&
                      test_load(values, value_bytes, i) == (guard & test_width_mask(value_bytes)),
                  "export said %llu pairs and wrote place %llu (room %llu)",
                  (unsigned long long)count, (unsigned long long)i, (unsigned long long)room);
        }
        content.count += count;
    } while (count > 0);
    check(content.count == expected, "export gives %llu keys, the stats say %llu",
          (unsigned long long)content.count, (unsigned long long)expected);

    pairs_sort(sorted, content.count);
    content.keys = test_allocate(content.count * sizeof *content.keys);
    content.values = test_allocate(content.count * sizeof *content.values);
    for (uint64_t i = 0; i < content.count; i++) {
        content.keys[i] = sorted[i].key;
        content.values[i] = sorted[i].value;
        check(i == 0 || sorted[i - 1].key != sorted[i].key, "key %#llx is in the table twice",
              (unsigned long long)sorted[i].key);
    }
    free(sorted);
    free(keys);
    free(values);
    return content;
}

void pairs_free(pairs *content)
{
    free(content->keys);
    free(content->values);
}

static int key_compare(const void *one, const void *other)
{
    const uint64_t *a = one;
    const uint64_t *b = other;
    return *a < *b ? -1 : *a > *b;
}

void keys_sort(uint64_t *keys, uint64_t count)
{
    qsort(keys, count, sizeof *keys, key_compare);
}

bool keys_contain(const uint64_t *sorted, uint64_t count, uint64_t key)
{
    return bsearch(&key, sorted, count, sizeof *sorted, key_compare) != NULL;
}

void pairs_check_equal(const pairs *one, const pairs *other)
{
    check(one->count == other->count, "%llu keys instead of %llu", (unsigned long long)other->count,
          (unsigned long long)one->count);
    for (uint64_t i = 0; i < one->count; i++) {
        check(one->keys[i] == other->keys[i] && one->values[i] == other->values[i],
              "pair %llu: %#llx -> %#llx instead of %#llx -> %#llx", (unsigned long long)i,
              (unsigned long long)other->keys[i], (unsigned long long)other->values[i],
              (unsigned long long)one->keys[i], (unsigned long long)one->values[i]);
    }
}

void table_check_equals_model(bh_table *table, uint32_t key_bytes, uint32_t value_bytes,
                              const model *map)
{
    pairs content = table_pairs(table, key_bytes, value_bytes, 4096);

    check(content.count == model_count(map), "the table holds %llu keys, the model %llu",
          (unsigned long long)content.count, (unsigned long long)model_count(map));
    for (uint64_t i = 0; i < content.count; i++) {
        uint64_t value = 0;
        check(model_get(map, content.keys[i], &value), "key %#llx should not be in the table",
              (unsigned long long)content.keys[i]);
        check(content.values[i] == value, "key %#llx has value %#llx instead of %#llx",
              (unsigned long long)content.keys[i], (unsigned long long)content.values[i],
              (unsigned long long)value);
    }
    pairs_free(&content);
}

/* Whether a table on a GPU may have memory of the host. */
static bool test_reaches_far(const bh_table *table)
{
    return table->options.design == BH_STADIUM &&
           table->options.stadium.table_memory != BH_TABLE_MEMORY_DEVICE;
}

void table_check_stats(const bh_table *table)
{
    bh_table_stats stats = table_stats(table);

    check(stats.keys <= stats.max_keys, "%llu keys, but max_keys is %llu",
          (unsigned long long)stats.keys, (unsigned long long)stats.max_keys);
    check(stats.max_keys <= stats.slots, "max_keys is %llu, slots are %llu",
          (unsigned long long)stats.max_keys, (unsigned long long)stats.slots);
    check(stats.bytes_total == stats.bytes_device + stats.bytes_host + stats.bytes_file,
          "bytes_total is %llu, its parts %llu + %llu + %llu",
          (unsigned long long)stats.bytes_total, (unsigned long long)stats.bytes_device,
          (unsigned long long)stats.bytes_host, (unsigned long long)stats.bytes_file);
    check((test_on_gpu() && !test_reaches_far(table) ? stats.bytes_host : 0) == 0 &&
              (test_on_gpu() || stats.bytes_device == 0) && stats.bytes_file == 0,
          "a table lies in the memory of its device alone");
    check(stats.page_bytes >= 4096 && (stats.page_bytes & (stats.page_bytes - 1)) == 0,
          "page_bytes is %llu", (unsigned long long)stats.page_bytes);
    check(stats.target != NULL, "target is NULL");
}
