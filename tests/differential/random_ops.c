/* ctest: every target */
/* ctest: every device */
/* ctest: long */
/*
 * Random operations against the model: the library and a simple map (tests/support/model.h) are
 * given the same long sequence of calls of every kind, from capacity 1, and must agree on every
 * outcome, every value and, again and again, on the whole content. There are sequences for each
 * pair of widths and meaning of duplicates, and everything in the list `subjects` below is put
 * through them: a new design or device is one line there. (Instruction sets are CTest's business.)
 *
 * Where the result of a call is certain (no key twice in the call, or BH_DUPLICATES_ORDERED) the
 * two are compared element by element. Where equal keys may take effect in any order, the elements
 * of each key are taken together, and the test looks for one order that explains all their
 * outcomes, all values read, and what the table holds afterwards. Small universes of keys make
 * collisions and turnover of slots; large ones make growth. The sequences have tides: for some
 * calls the table fills, for some it empties, so that it grows, shrinks and grows again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/tables.h"

/* What is put through the sequences: a design on a device, and what it likes to have varied. */
typedef struct subject {
    const char *name;
    const char *device;
    bh_design design;
    void (*vary)(bh_table_options *options, rng *random);
    void (*schedule)(bh_table_options *options, rng *random); // of all sequences; or NULL
} subject;

static void vary_dycuckoo(bh_table_options *options, rng *random)
{
    static bh_experimental_options experimental;

    bh_experimental_options_init(&experimental);
    experimental.values = (bh_value_place)random_below(random, 3);
    if (experimental.values == BH_VALUES_APART && !options->value_bytes)
        experimental.values = BH_VALUES_DEFAULT;
    experimental.spread = random_below(random, 4) == 0 ? BH_SPREAD_THEOREM1 : BH_SPREAD_HOME_FIRST;
    options->experimental = &experimental;
    options->dycuckoo.subtables = 2 + (uint32_t)random_below(random, 7);
    if (experimental.values != BH_VALUES_DEFAULT)
        options->schedule = BH_SCHEDULE_AUTO;
}

/* What small calls do not choose by themselves. */
static void schedule_by_region(bh_table_options *options, rng *random)
{
    options->schedule = (bh_schedule)random_below(random, BH_SCHEDULE_REGIONS + 1);
}

static void vary_hashfight(bh_table_options *options, rng *random)
{
    options->max_fill = 0;
    options->hashfight.slots_per_key = 1.03 + (double)random_below(random, 98) / 100;
    options->hashfight.tail_keys = random_below(random, 3) == 0 ? 1 : 0;
}

static void vary_dachash(bh_table_options *options, rng *random)
{
    options->max_fill *= 2;
    options->min_fill *= options->min_fill < 0 ? 1 : 2;
    options->dachash.node_bytes = 32u << random_below(random, 3);
}

static void vary_stadium(bh_table_options *options, rng *random)
{
    options->stadium.ticket_bits = 1u << random_below(random, 4);
    options->stadium.probe = (bh_probe)random_below(random, BH_PROBE_SLOT + 1);
    options->stadium.table_memory = (bh_table_memory)random_below(random, BH_TABLE_MEMORY_HOST + 1);
    if (options->stadium.table_memory == BH_TABLE_MEMORY_AUTO)
        options->max_device_bytes = 1u << (16 + random_below(random, 3));
    if (random_below(random, 8) == 0)
        options->max_fill = 1;
}

static void vary_nothing(bh_table_options *options, rng *random)
{
    (void)random;
    options->max_fill = 0;
}

/* Those of the device that the test is run for; a design that is listed must be there. */
static const subject subjects[] = {
    {"dycuckoo on cpu", "cpu", BH_DYCUCKOO, vary_dycuckoo, schedule_by_region},
    {"hashfight on cpu", "cpu", BH_HASHFIGHT, vary_hashfight, schedule_by_region},
    {"dachash on cpu", "cpu", BH_DACHASH, vary_dachash, schedule_by_region},
    {"stadium on cpu", "cpu", BH_STADIUM, vary_stadium, schedule_by_region},
    {"dycuckoo on cuda", "cuda", BH_DYCUCKOO, vary_dycuckoo, schedule_by_region},
    {"hashfight on cuda", "cuda", BH_HASHFIGHT, vary_hashfight, NULL},
    {"dachash on cuda", "cuda", BH_DACHASH, vary_dachash, schedule_by_region},
    {"stadium on cuda", "cuda", BH_STADIUM, vary_stadium, schedule_by_region},
};

/* Whether more keys are coming than going. */
typedef enum tide { STILL, RISING, FALLING, TIDES } tide;

/* One sequence of calls. */
typedef struct walk {
    const subject *subject;
    tide tide;
    test_widths widths;
    bh_duplicates duplicates;
    double max_fill; // 0: the default
    bool distinct;   // no key twice in a call, whatever `duplicates` says
    uint64_t universe;
    int key_kind;
    rng random;
    bh_table *table;
    model *map;
    uint64_t *order; // a permutation of the universe, from which distinct keys are drawn
} walk;

/* The u-th key of the universe: scattered, counted up, in the highest bits, or counted down from
 * all ones. Kinds 1 and 2 hold the key 0, kind 3 holds the key of all ones. */
static uint64_t walk_key(const walk *w, uint64_t u)
{
    const uint32_t bits = w->widths.key_bytes * 8;
    uint64_t key = 0;

    switch (w->key_kind) {
    case 0: return random_key(w->widths.key_bytes, 12345, u);
    case 1: return u;
    case 2:
        for (uint32_t b = 0; b < bits; b++) {
            key |= ((u >> b) & 1u) << (bits - 1 - b);
        }
        return key;
    default: return ~u & test_width_mask(w->widths.key_bytes);
    }
}

static uint64_t walk_size(walk *w)
{
    uint64_t dice = random_below(&w->random, 100);
    // Ordered calls take another way when they are large.
    const uint64_t largest = w->duplicates == BH_DUPLICATES_ORDERED ? 100000 : 25000;
    uint64_t most = dice < 45 ? 40 : dice < 80 ? 1000 : dice < 98 ? 5000 : largest;

    // A tide is to change the table's size several times over.
    if (w->tide != STILL && dice < 80) {
        return 1 + random_below(&w->random, w->universe / 2);
    }
    uint64_t n = random_below(&w->random, test_scaled(most) + 1);
    return w->distinct && n > w->universe ? w->universe : n;
}

/* Draws the keys of a call; owner[i] is the number in the universe of the key of element i. */
static void walk_draw(walk *w, batch *all, uint64_t *owner)
{
    for (uint64_t i = 0; i < all->n; i++) {
        if (w->distinct) {
            uint64_t j = i + random_below(&w->random, w->universe - i);
            uint64_t drawn = w->order[j];
            w->order[j] = w->order[i];
            w->order[i] = drawn;
            owner[i] = drawn;
        } else {
            owner[i] = random_below(&w->random, w->universe);
        }
        // Small values too, so that MIN and MAX meet equal ones.
        batch_set(all, i, walk_key(w, owner[i]),
                  random_below(&w->random, 3) == 0 ? random_below(&w->random, 5)
                                                   : random_next(&w->random));
    }
}

static bh_op element_op(const batch *all, int operation, uint64_t i)
{
    return operation == BATCH_APPLY ? (bh_op)all->ops[i] : (bh_op)operation;
}

/* What a call leaves in values[i]: only what reads a key's value may write there, where it is found. */
static void check_value_kept(const batch *all, const uint64_t *given, bh_op op, uint64_t i)
{
    check((batch_reads((int)op) && all->outcomes[i] == BH_FOUND) || batch_value(all, i) == given[i],
          "%s changed the caller's value %llu from %#llx to %#llx", batch_operation_name((int)op),
          (unsigned long long)i, (unsigned long long)given[i],
          (unsigned long long)batch_value(all, i));
}

/* Element by element, in index order. */
static void check_in_order(walk *w, const batch *all, int operation, uint64_t *given)
{
    for (uint64_t i = 0; i < all->n; i++) {
        bh_op op = element_op(all, operation, i);
        uint64_t before = given[i];
        bh_outcome expected =
            model_apply(w->map, op, w->widths.value_bytes, batch_key(all, i), &given[i]);

        check(all->outcomes[i] == (uint8_t)expected,
              "%s in %s, element %llu of %llu (key %#llx): outcome %u instead of %u",
              batch_operation_name((int)op), batch_operation_name(operation), (unsigned long long)i,
              (unsigned long long)all->n, (unsigned long long)batch_key(all, i), all->outcomes[i],
              (unsigned)expected);
        check(batch_value(all, i) == given[i],
              "%s in %s, element %llu of %llu (key %#llx): value %#llx instead of %#llx (given "
              "%#llx)",
              batch_operation_name((int)op), batch_operation_name(operation), (unsigned long long)i,
              (unsigned long long)all->n, (unsigned long long)batch_key(all, i),
              (unsigned long long)batch_value(all, i), (unsigned long long)given[i],
              (unsigned long long)before);
    }
}

/* The elements of one key in one call, and the state of the key before and after it. */
typedef struct group {
    const batch *all;
    const uint64_t *given;
    int operation;
    uint32_t value_bytes;
    const uint64_t *elements;
    uint64_t count;
    bool present;
    uint64_t value;
    bool present_after;
    uint64_t value_after;
} group;

/* The most elements of a key for which all orders are tried. */
enum { EXPLAINED = 7 };

/* Whether some order of the elements that are not yet in `used` leads from this state to the
 * state after the call, with all their answers. */
static bool group_explained(const group *g, unsigned used, bool present, uint64_t value)
{
    if (used == (1u << g->count) - 1u) {
        return present == g->present_after && (!present || value == g->value_after);
    }
    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->elements[e];
        bool then_present = present;
        uint64_t then_value = value;
        uint64_t operand = g->given[i];
        bh_outcome outcome = BH_NOT_DONE;

        if ((used >> e & 1u) != 0) {
            continue;
        }
        outcome = model_step(element_op(g->all, g->operation, i), g->value_bytes, &then_present,
                             &then_value, &operand);
        if (g->all->outcomes[i] == (uint8_t)outcome && batch_value(g->all, i) == operand &&
            group_explained(g, used | 1u << e, then_present, then_value)) {
            return true;
        }
    }
    return false;
}

/* What can be said of a group too large to try all orders. */
static void group_check_large(const group *g)
{
    int64_t change = 0;
    uint64_t sum = g->present ? g->value : 0;
    uint64_t least = g->present ? g->value : UINT64_MAX;
    uint64_t most = g->present ? g->value : 0;
    const uint64_t sign = test_width_mask(g->value_bytes) / 2 + 1;
    uint64_t lowest = g->present ? g->value : sign - 1, highest = g->present ? g->value : sign;
    bool value_given = g->present && g->value == g->value_after;

    for (uint64_t e = 0; e < g->count; e++) {
        uint64_t i = g->elements[e];
        uint64_t operand = g->given[i];
        change += g->all->outcomes[i] == BH_INSERTED;
        change -= g->all->outcomes[i] == BH_ERASED;
        sum += operand;
        least = operand < least ? operand : least;
        most = operand > most ? operand : most;
        lowest = (operand ^ sign) < (lowest ^ sign) ? operand : lowest;
        highest = (operand ^ sign) > (highest ^ sign) ? operand : highest;
        value_given = value_given || operand == g->value_after;
    }
    check((int64_t)g->present + change == (int64_t)g->present_after,
          "key %#llx, %llu times in one %s: it was %s, INSERTED minus ERASED is %lld, it is %s",
          (unsigned long long)batch_key(g->all, g->elements[0]), (unsigned long long)g->count,
          batch_operation_name(g->operation), g->present ? "there" : "missing", (long long)change,
          g->present_after ? "there" : "missing");
    if (!g->present_after || g->value_bytes == 0) {
        return;
    }
    switch (g->operation) {
    case BH_ADD:
        check((sum & test_width_mask(g->value_bytes)) == g->value_after, "a wrong sum");
        break;
    case BH_MIN: check(least == g->value_after, "a wrong minimum"); break;
    case BH_MAX: check(most == g->value_after, "a wrong maximum"); break;
    case BH_MIN_SIGNED: check(lowest == g->value_after, "a wrong signed minimum"); break;
    case BH_MAX_SIGNED: check(highest == g->value_after, "a wrong signed maximum"); break;
    case BH_FIND_OR_INSERT: // all that do not insert find what is there, and stays there
        check(value_given, "find_or_insert left a value that was never given");
        for (uint64_t e = 0; e < g->count; e++) {
            check(batch_value(g->all, g->elements[e]) == g->value_after,
                  "find_or_insert leaves %#llx and answered %#llx",
                  (unsigned long long)g->value_after,
                  (unsigned long long)batch_value(g->all, g->elements[e]));
        }
        break;
    case BATCH_APPLY: // sums of some of them are possible: the outcomes above must do
        break;
    default:
        check(value_given, "%s left a value that was never given",
              batch_operation_name(g->operation));
        break;
    }
}

typedef struct owned {
    uint64_t owner;
    uint64_t element;
} owned;

static int owned_compare(const void *one, const void *other)
{
    const owned *a = one;
    const owned *b = other;
    if (a->owner != b->owner) {
        return a->owner < b->owner ? -1 : 1;
    }
    return a->element < b->element ? -1 : a->element > b->element;
}

/* Key by key, in whatever order; the model takes over what the table holds then. */
static void check_in_any_order(walk *w, const batch *all, int operation, const uint64_t *given,
                               const uint64_t *owner)
{
    owned *sorted = test_allocate(all->n * sizeof *sorted);
    uint64_t *elements = test_allocate(all->n * sizeof *elements);
    batch after = batch_new(w->widths.key_bytes, w->widths.value_bytes, all->n);

    memcpy(after.keys, all->keys, all->n * w->widths.key_bytes);
    check_status(batch_call(w->table, BH_FIND, &after), BH_OK);
    for (uint64_t i = 0; i < all->n; i++) {
        sorted[i] = (owned){owner[i], i};
        check_value_kept(all, given, element_op(all, operation, i), i);
    }
    qsort(sorted, all->n, sizeof *sorted, owned_compare);
    for (uint64_t first = 0, next = 0; first < all->n; first = next) {
        uint64_t i = sorted[first].element;
        uint64_t key = batch_key(all, i);
        group g = {.all = all,
                   .given = given,
                   .operation = operation,
                   .value_bytes = w->widths.value_bytes};

        for (next = first; next < all->n && sorted[next].owner == sorted[first].owner; next++) {
            elements[next - first] = sorted[next].element;
        }
        g.elements = elements;
        g.count = next - first;
        g.present = model_get(w->map, key, &g.value);
        g.present_after = after.outcomes[i] == BH_FOUND;
        g.value_after = batch_value(&after, i);
        if (g.count <= EXPLAINED) {
            check(group_explained(&g, 0, g.present, g.value),
                  "no order explains what %s answered for the %llu elements with key %#llx "
                  "(the first: op %d, given %#llx, outcome %u; before: %s %#llx; after: %s %#llx)",
                  batch_operation_name(operation), (unsigned long long)g.count,
                  (unsigned long long)key, (int)element_op(all, operation, i),
                  (unsigned long long)given[i], all->outcomes[i], g.present ? "there" : "missing",
                  (unsigned long long)g.value, g.present_after ? "there" : "missing",
                  (unsigned long long)g.value_after);
        } else {
            group_check_large(&g);
        }
        if (g.present_after) {
            model_put(w->map, key, g.value_after);
        } else {
            (void)model_remove(w->map, key);
        }
    }
    batch_free(&after);
    free(sorted);
    free(elements);
}

static void walk_check_fill(const walk *w)
{
    const bh_table_stats stats = table_stats(w->table);

    check(stats.keys <= stats.max_keys &&
              (w->max_fill == 0 || (double)stats.max_keys <= w->max_fill * (double)stats.slots),
          "%" PRIu64 " keys, at most %" PRIu64 ", in %" PRIu64 " slots at max_fill %g", stats.keys,
          stats.max_keys, stats.slots, w->max_fill);
}

static bh_op walk_op(walk *w)
{
    static const bh_op ops[TIDES][11] = {
        {BH_FIND, BH_INSERT, BH_INSERT_NEW, BH_UPDATE, BH_ERASE, BH_ADD, BH_MIN, BH_MAX,
         BH_FIND_OR_INSERT, BH_MIN_SIGNED, BH_MAX_SIGNED},
        {BH_INSERT, BH_INSERT, BH_INSERT_NEW, BH_ADD, BH_MIN, BH_FIND, BH_UPDATE, BH_INSERT,
         BH_FIND_OR_INSERT, BH_INSERT, BH_MAX_SIGNED},
        {BH_ERASE, BH_ERASE, BH_ERASE, BH_ERASE, BH_ERASE, BH_FIND, BH_UPDATE, BH_INSERT_NEW,
         BH_FIND_OR_INSERT, BH_ERASE, BH_MIN_SIGNED},
    };
    bh_op op = ops[w->tide][random_below(&w->random, TEST_COUNT(ops[0]))];

    // A set has no reductions.
    return batch_is_reduction((int)op) && w->widths.value_bytes == 0 ? BH_INSERT : op;
}

static void walk_batch(walk *w)
{
    const int operation = random_below(&w->random, 4) == 0 ? BATCH_APPLY : (int)walk_op(w);
    batch all = batch_new(w->widths.key_bytes, w->widths.value_bytes, walk_size(w));
    uint64_t *owner = test_allocate(all.n * sizeof *owner);
    uint64_t *given = test_allocate(all.n * sizeof *given);

    walk_draw(w, &all, owner);
    for (uint64_t i = 0; i < all.n; i++) {
        given[i] = batch_value(&all, i);
        all.ops[i] = (uint8_t)walk_op(w);
    }
    check_status(batch_call(w->table, operation, &all), BH_OK);
    if (w->distinct || w->duplicates == BH_DUPLICATES_ORDERED) {
        check_in_order(w, &all, operation, given);
    } else {
        check_in_any_order(w, &all, operation, given, owner);
    }
    walk_check_fill(w);
    check(table_stats(w->table).keys == model_count(w->map), "after %s: %llu keys instead of %llu",
          batch_operation_name(operation), (unsigned long long)table_stats(w->table).keys,
          (unsigned long long)model_count(w->map));
    free(owner);
    free(given);
    batch_free(&all);
}

/* Every key of the universe by find, and everything by export. */
static void walk_compare(walk *w)
{
    batch all = batch_new(w->widths.key_bytes, w->widths.value_bytes, w->universe);

    for (uint64_t u = 0; u < w->universe; u++) {
        batch_set(&all, u, walk_key(w, u), 7);
    }
    check_status(batch_call(w->table, BH_FIND, &all), BH_OK);
    for (uint64_t u = 0; u < w->universe; u++) {
        uint64_t value = 7 & test_width_mask(w->widths.value_bytes);
        bool there = model_get(w->map, walk_key(w, u), &value);
        check(all.outcomes[u] == (there ? BH_FOUND : BH_MISSING), "key %#llx should be %s",
              (unsigned long long)walk_key(w, u), there ? "there" : "missing");
        check(batch_value(&all, u) == value, "key %#llx has value %#llx instead of %#llx",
              (unsigned long long)walk_key(w, u), (unsigned long long)batch_value(&all, u),
              (unsigned long long)value);
    }
    batch_free(&all);
    table_check_equals_model(w->table, w->widths.key_bytes, w->widths.value_bytes, w->map);
    table_check_stats(w->table);
}

/* What all sequences together did, to see that they do what they are for. */
static struct {
    uint64_t sequences;
    uint64_t calls;
    uint64_t grows;
    uint64_t shrinks;
} done;

static void walk_run(bh_context *context, walk *w, uint64_t steps)
{
    bh_table_options options = table_options(w->widths.key_bytes, w->widths.value_bytes, 1);
    bh_table_stats stats;

    options.design = w->subject->design;
    options.duplicates = w->duplicates;
    options.seed = random_next(&w->random);
    options.seed_fixed = 1;
    if (w->subject->schedule != NULL) {
        w->subject->schedule(&options, &w->random);
    }
    // Other options now and then, the defaults most often.
    if (random_below(&w->random, 3) == 0) {
        options.max_fill = 0.3 + (double)random_below(&w->random, 66) / 100.0;
        options.min_fill = random_below(&w->random, 2) == 0 ? -1 : options.max_fill / 4;
        w->subject->vary(&options, &w->random);
    }
    w->max_fill = options.max_fill;
    w->table = table_with(context, &options);
    w->map = model_new();
    w->order = test_allocate(w->universe * sizeof *w->order);
    for (uint64_t u = 0; u < w->universe; u++) {
        w->order[u] = u;
    }
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t dice = random_below(&w->random, 200);
        if (random_below(&w->random, 10) == 0) {
            w->tide = (tide)random_below(&w->random, TIDES);
        }
        if (dice == 0) {
            check_status(bh_clear(w->table), BH_OK);
            model_clear(w->map);
        } else if (dice <= 2) {
            check_status(bh_compact(w->table), BH_OK);
        } else if (dice == 3) {
            check_status(bh_reserve(w->table, random_below(&w->random, 2 * w->universe)), BH_OK);
        } else {
            walk_batch(w);
        }
        if (dice <= 3 || step % 25 == 24 || step + 1 == steps) {
            walk_compare(w);
        }
    }
    stats = table_stats(w->table);
    done.sequences++;
    done.calls += steps;
    done.grows += stats.grows;
    done.shrinks += stats.shrinks;
    free(w->order);
    model_free(w->map);
    bh_table_destroy(w->table);
}

/* All widths, all meanings of duplicates, small and large universes, in one context. Large ones
 * take most of the time, so a context has half of them, and the next one the others: `turn` counts
 * contexts. */
static void walk_everywhere(const subject *one, bh_context *context, uint64_t turn)
{
    static const struct {
        bh_duplicates duplicates;
        bool distinct;
    } modes[] = {
        {BH_DUPLICATES_ANY, false},
        {BH_DUPLICATES_ANY, true},
        {BH_DUPLICATES_NONE, true},
        {BH_DUPLICATES_ORDERED, false},
    };
    rng random = random_start(test_seed() + turn);

    for (int v = 0; v < TEST_WIDTHS; v++) {
        for (size_t m = 0; m < TEST_COUNT(modes); m++) {
            for (int size = 0; size < 3; size++) {
                walk w;
                // One design has those that the other has not.
                if (size == 2 && ((uint64_t)v + m + turn + one->design) % 2 == 0) {
                    (void)random_next(&random);
                    continue;
                }
                memset(&w, 0, sizeof w);
                w.subject = one;
                w.widths = test_all_widths[v];
                w.duplicates = modes[m].duplicates;
                w.distinct = modes[m].distinct;
                w.random = random_start(random_next(&random));
                w.key_kind = (int)random_below(&w.random, 4);
                // 10 to 40 keys, 40 to 200, and enough to grow many times.
                w.universe = size == 0   ? 10 + random_below(&w.random, 31)
                             : size == 1 ? 40 + random_below(&w.random, 161)
                                         : test_scaled(30000);
                const uint64_t steps = test_scaled(size == 2 ? 60 : 100);
                walk_run(context, &w, TEST_SANITIZER || test_is_long() ? steps : steps / 2);
            }
        }
    }
}

/* A subject's context. `executor` NULL: the library's own pool of two threads. */
static bh_context *subject_context(const subject *one, const bh_executor *executor)
{
    bh_context_options options;
    bh_system system;
    bh_context *context = NULL;
    bh_status status = BH_OK;

    test_system(&system);
    bh_context_options_init(&options);
    options.system = &system;
    options.threads = executor != NULL ? 0 : 2;
    options.executor = executor;
    status = bh_context_create(one->device, &options, &context);
    if (status == BH_ERR_DEVICE && getenv("BULKHASH_TEST_SKIP") != NULL) {
        printf("%s: skipped: %s\n", one->name, bh_error_detail());
        exit(TEST_SKIPPED);
    }
    check(status == BH_OK, "%s: %s", one->name, bh_error_detail());
    return context;
}

static void walk_subject(const subject *one, const bh_executor *executor, uint64_t turn)
{
    bh_context *context = subject_context(one, executor);

    walk_everywhere(one, context, turn);
    bh_context_destroy(context);
}

static void walk_subjects(const bh_executor *executor, uint64_t turn)
{
    // A design that is asked for by name is walked through alone, listed or not.
    const bool alone = getenv("BULKHASH_TEST_DESIGN") != NULL;
    subject one = {"the one design", test_device(), BH_AUTO, vary_nothing, NULL};

    // Another executor is another way to use a processor's cores, not another device.
    if (executor != NULL && test_on_gpu()) {
        return;
    }
    for (size_t i = 0; i < TEST_COUNT(subjects) && !alone; i++) {
        if (strcmp(subjects[i].device, test_device()) == 0) {
            walk_subject(&subjects[i], executor, turn);
        }
    }
    if (alone) {
        one.design = test_design();
        walk_subject(&one, executor, turn);
    }
}

static void walk_with_executor(test_order order, uint32_t width, uint64_t turn)
{
    test_executor executor;

    test_executor_start(&executor, order, width);
    walk_subjects(&executor.executor, turn);
}

static void one_thread(void **state)
{
    (void)state;
    walk_with_executor(TEST_IN_TURN, 1, 1);
}

static void own_pool(void **state)
{
    (void)state;
    walk_subjects(NULL, 2);
}

static void shuffled_tasks(void **state)
{
    (void)state;
    walk_with_executor(TEST_SHUFFLED, 4, 3);
}

static void yielding_threads(void **state)
{
    (void)state;
    walk_with_executor(TEST_THREADS, 3, 4);
}

static int print_done(void **state)
{
    (void)state;
    printf("%" PRIu64 " sequences of %" PRIu64 " calls in all; %" PRIu64
           " times a table grew, %" PRIu64 " times it shrank\n",
           done.sequences, done.calls, done.grows, done.shrinks);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread),
        cmocka_unit_test(own_pool),
        cmocka_unit_test(shuffled_tasks),
        cmocka_unit_test(yielding_threads),
    };
    int failed = 0;

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    do {
        failed = cmocka_run_group_tests(tests, NULL, print_done);
    } while (failed == 0 && test_goes_on());
    return test_exit_status(failed);
}
