/*
 * A program that was compiled against an older header, and runs with the library of today: tests/CMakeLists.txt
 * compiles it once against the header of each version that is kept in a folder beside it. It uses all that
 * changes when a struct grows: options, which it hands over as large as it knows them, and statistics,
 * behind which it has something else in memory.
 */
#include <bulkhash/bulkhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 100000 };

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, bh_error_detail()); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const unsigned char behind[64] =
    "what lies behind the struct is none of the library's business";

/* Structs that the library fills, each with something behind it. */
static struct {
    bh_table_stats is;
    unsigned char behind[sizeof behind];
} stats;

static struct {
    bh_context_info is;
    unsigned char behind[sizeof behind];
} info;

static uint64_t asked_for; /* bytes, by the library */

static bh_system original;

static void *allocate(void *state, uint64_t bytes)
{
    asked_for += bytes;
    return original.allocate(state, bytes);
}

static uint32_t keys[KEYS], values[KEYS], found[KEYS];

static void use(bh_context *context, bh_design design)
{
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, 4, 4, 0);
    check(options.struct_size == sizeof options);
    options.design = design;
    options.duplicates = BH_DUPLICATES_NONE;
    options.dycuckoo.subtables = 3;
    options.hashfight.slots_per_key = 2;
    options.hashfight.tail_keys = 7; /* the last one */
    check(!bh_table_create(context, &options, &table));
    check(!bh_insert(table, keys, values, KEYS, NULL));
    memset(found, 0, sizeof found);
    check(!bh_find(table, keys, KEYS, found, NULL));
    check(!memcmp(found, values, sizeof found));

    memset(&stats.is, 0x77, sizeof stats.is);
    memcpy(stats.behind, behind, sizeof behind);
    stats.is.struct_size = sizeof stats.is;
    check(!bh_table_get_stats(table, &stats.is));
    check(stats.is.struct_size == sizeof stats.is && stats.is.keys == KEYS);
    check(stats.is.bytes_peak >= stats.is.bytes_total); /* the last one */
    check(!memcmp(stats.behind, behind, sizeof behind));
    bh_table_destroy(table);

    /* What no version had is refused. */
    options.struct_size -= 1;
    check(bh_table_create(context, &options, &table) == BH_ERR_ARGUMENT && !table);
}

int main(void)
{
    bh_context_options options;
    bh_context *context = NULL;
    bh_system system;

    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i * 2654435761u;
        values[i] = ~i;
    }
    bh_system_default(&original);
    check(original.struct_size == sizeof original);
    system = original;
    system.allocate = allocate;
    bh_context_options_init(&options);
    options.threads = 2;
    options.system = &system;
    check(!bh_context_create("cpu", &options, &context));
    check(asked_for);

    memset(&info.is, 0x77, sizeof info.is);
    memcpy(info.behind, behind, sizeof behind);
    info.is.struct_size = sizeof info.is;
    check(!bh_context_get_info(context, &info.is));
    check(!strcmp(info.is.device, "cpu") && info.is.threads == 2 && info.is.pages == BH_PAGES_AUTO);
    check(!memcmp(info.behind, behind, sizeof behind));

    use(context, BH_AUTO);
    use(context, BH_DYCUCKOO);
    use(context, BH_HASHFIGHT);
    bh_context_destroy(context);
    printf("%s, a program of %d.%d.%d\n", bh_version(), BH_VERSION_MAJOR, BH_VERSION_MINOR,
           BH_VERSION_PATCH);
    return 0;
}
