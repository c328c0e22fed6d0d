/* ctest: every target */
/* ctest: long */
/*
 * An attack: tables of random options, up to four threads that make all calls there are on each, and
 * what must hold whatever the threads do to one another.
 *
 * Keys are of three kinds. A *player*, which is a thread, has keys of its own, which no other player
 * touches: it knows whether each is there, and with which value, and what every call must answer. Shared
 * keys with *stamps* are written by all players, with values that tell whose they are, and INSERTED
 * minus ERASED over all players is their existence in the end. Shared keys with *sums* are only added
 * to and never erased, and the end must show every addition that was done.
 *
 * Beside these calls players export, reserve, compact, and ask for statistics; budgets, and in some
 * scenes refused memory, make calls stop short. bh_clear leaves nothing to expect of values and
 * accounts, so only some scenes have it, and what they check is less.
 *
 * A scene is a table with its players and follows from a seed, but for how the threads happen to meet.
 * Rounds of it begin with all players at once and end with a look at everything that the table holds.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/model.h"
#include "support/random.h"
#include "support/system.h"
#include "support/tables.h"
#include "support/threads.h"

enum { PLAYERS_MOST = 4, ROUNDS = 3, SCENES = TEST_SANITIZER ? 10 : 60 };

/* What the options of a scene are, for whoever reads a failure. */
static char described[512];

/* check(), with the scene. */
#define expect(condition, format, ...) check(condition, format "\n  %s", __VA_ARGS__, described)

/* What a player knows about a key of its own. */
typedef struct own {
    bool there;
    uint64_t value;
} own;

typedef struct player {
    rng random;
    own *own;
    int64_t *account; // of each shared key: how often INSERTED, less how often ERASED
    uint64_t *sum;    // of each shared key with a sum: what was added
} player;

typedef struct scene {
    bh_table_options options;
    bh_experimental_options experimental;
    bh_table *table;
    watched_system *watched; // NULL: memory is never refused
    bool clears;
    uint32_t players;
    uint64_t own;    // keys of each player
    uint64_t shared; // keys of all; every fourth has a sum
    uint64_t calls;  // of a player in a round
    uint64_t most;   // elements of a call
    player player[PLAYERS_MOST];
} scene;

/* What all scenes together did, to see that they do what they are for. */
static struct {
    uint64_t scenes;
    uint64_t grows;
    uint64_t shrinks;
    atomic_uint_fast64_t elements;
    atomic_uint_fast64_t not_done;
    atomic_uint_fast64_t exports;
} done;

/* --- keys -------------------------------------------------------------------------------- */

static uint64_t scene_keys(const scene *s)
{
    return s->shared + s->players * s->own;
}

static uint64_t scene_key(const scene *s, uint64_t number)
{
    return random_key(s->options.key_bytes, 4711, number);
}

static uint64_t own_number(const scene *s, uint64_t p, uint64_t k)
{
    return s->shared + p * s->own + k;
}

static bool has_sum(const scene *s, uint64_t number)
{
    return number < s->shared && number % 4 == 0 && s->options.value_bytes > 0;
}

static bool may_be_refused(const scene *s)
{
    return s->watched != NULL || s->options.max_host_bytes != 0;
}

/* --- calls on arrays --------------------------------------------------------------------- */

static bh_op draw_op(const scene *s, rng *random, bool falling)
{
    static const bh_op ops[] = {BH_INSERT, BH_INSERT, BH_INSERT_NEW, BH_FIND_OR_INSERT,
                                BH_UPDATE, BH_FIND,   BH_ERASE,      BH_ADD,
                                BH_ADD,    BH_MIN,    BH_MAX};
    const uint64_t count = TEST_COUNT(ops) - (s->options.value_bytes > 0 ? 0 : 4);

    return falling && random_below(random, 2) == 0 ? BH_ERASE : ops[random_below(random, count)];
}

/* The elements of a call: for each the number of its key and the value that it brought. */
typedef struct elements {
    batch all;
    uint64_t *number;
    uint64_t *given;
    int operation;
} elements;

/* Draws a shared key for an operation: one of four keys that lie together, of which the first has a sum.
 * No call has the same key twice where the table was promised so: then the fours are taken in turn. */
static uint64_t draw_shared(const scene *s, rng *random, bh_op op, uint64_t turn)
{
    const bool none = s->options.duplicates == BH_DUPLICATES_NONE;
    const uint64_t fours = s->shared / 4;
    const uint64_t four = (none ? turn : random_next(random)) % fours;

    if (s->options.value_bytes > 0 &&
        (op == BH_ADD || (op == BH_FIND && random_below(random, 2) == 0))) {
        return 4 * four;
    }
    return 4 * four + 1 + random_below(random, 3);
}

static elements draw_elements(scene *s, uint32_t p, bool falling)
{
    rng *random = &s->player[p].random;
    const uint64_t dice = random_below(random, 20);
    const uint64_t most = dice < 4 ? 1 : dice < 10 ? 40 : dice < 18 ? 600 : s->most;
    const bool none = s->options.duplicates == BH_DUPLICATES_NONE;
    const bool ordered = s->options.duplicates == BH_DUPLICATES_ORDERED ||
                         (s->options.design == BH_HASHFIGHT && !none);
    const uint64_t own_share = random_below(random, 4); // of 3
    uint64_t own_start = random_next(random) % s->own;
    uint64_t own_count = 0;
    uint64_t shared_start = random_next(random) % s->shared;
    uint64_t shared_count = 0;
    elements e;

    e.all = batch_new(s->options.key_bytes, s->options.value_bytes, 1 + random_below(random, most));
    e.number = test_allocate(e.all.n * sizeof *e.number);
    e.given = test_allocate(e.all.n * sizeof *e.given);
    e.operation = random_below(random, 3) == 0 ? BATCH_APPLY : (int)draw_op(s, random, falling);
    for (uint64_t i = 0; i < e.all.n; i++) {
        bh_op op = e.operation == BATCH_APPLY ? draw_op(s, random, falling) : (bh_op)e.operation;
        bool mine = random_below(random, 3) < own_share;
        uint64_t number = 0;
        uint64_t value = 0;

        // The own ones of a call are different where nothing is said about the order of equal ones,
        // and so are the shared ones if they must.
        if (none && own_count == s->own && shared_count >= s->shared / 4) {
            e.all.n = i;
            break;
        }
        if (mine ? own_count == s->own && !ordered : none && shared_count >= s->shared / 4) {
            mine = !mine;
        }
        if (mine) {
            number = own_number(
                s, p, ordered ? random_below(random, s->own) : (own_start + own_count++) % s->own);
            value = random_below(random, 3) == 0 ? random_below(random, 5) : random_next(random);
        } else {
            // A minimum or maximum of two stamps is one of them.
            number = draw_shared(s, random, op, shared_start + shared_count++);
            value = has_sum(s, number) ? random_below(random, 1000)
                                       : batch_stamp(s->options.value_bytes, scene_key(s, number),
                                                     random_next(random));
        }
        e.number[i] = number;
        e.all.ops[i] = (uint8_t)op;
        batch_set(&e.all, i, scene_key(s, number), value);
        e.given[i] = batch_value(&e.all, i);
    }
    return e;
}

static void free_elements(elements *e)
{
    batch_free(&e->all);
    free(e->number);
    free(e->given);
}

/* One element of a key that only this player touches: what the model says. */
static void check_own(scene *s, uint32_t p, const elements *e, uint64_t i)
{
    const bh_op op = (bh_op)e->all.ops[i];
    const uint8_t outcome = e->all.outcomes[i];
    own *mine = &s->player[p].own[e->number[i] - own_number(s, p, 0)];
    uint64_t operand = e->given[i];
    uint8_t expected = BH_NOT_DONE;

    if (outcome == BH_NOT_DONE) {
        // It had no effect, and what needs no room is always done.
        expect(s->options.design != BH_DYCUCKOO || s->watched != NULL ||
                   (batch_inserts((int)op) && !mine->there),
               "%s in %s was not done, though key %#llx is %s", batch_operation_name((int)op),
               batch_operation_name(e->operation), (unsigned long long)batch_key(&e->all, i),
               mine->there ? "there" : "missing");
        return;
    }
    expected =
        (uint8_t)model_step(op, s->options.value_bytes, &mine->there, &mine->value, &operand);
    expect(outcome == expected, "%s in %s, key %#llx of player %u alone: outcome %u instead of %u",
           batch_operation_name((int)op), batch_operation_name(e->operation),
           (unsigned long long)batch_key(&e->all, i), p, outcome, expected);
    expect(batch_value(&e->all, i) == operand,
           "%s in %s, key %#llx of player %u alone: value %#llx instead of %#llx",
           batch_operation_name((int)op), batch_operation_name(e->operation),
           (unsigned long long)batch_key(&e->all, i), p,
           (unsigned long long)batch_value(&e->all, i), (unsigned long long)operand);
}

static void check_shared(scene *s, uint32_t p, const elements *e, uint64_t i)
{
    const bh_op op = (bh_op)e->all.ops[i];
    const uint8_t outcome = e->all.outcomes[i];
    const uint64_t number = e->number[i];
    player *me = &s->player[p];

    me->account[number] += outcome == BH_INSERTED;
    me->account[number] -= outcome == BH_ERASED;
    if (op == BH_ADD && outcome != BH_NOT_DONE) {
        me->sum[number] += e->given[i];
    }
    if (!batch_reads((int)op) || outcome != BH_FOUND) {
        expect(batch_value(&e->all, i) == e->given[i], "%s changed the caller's value",
               batch_operation_name((int)op));
    } else if (!has_sum(s, number)) {
        expect(
            batch_is_stamp(s->options.value_bytes, batch_key(&e->all, i), batch_value(&e->all, i)),
            "key %#llx has value %#llx, which nobody wrote for it",
            (unsigned long long)batch_key(&e->all, i), (unsigned long long)batch_value(&e->all, i));
    }
}

static void attack_batch(scene *s, uint32_t p, bool falling)
{
    elements e = draw_elements(s, p, falling);
    bool inserts = false;
    bh_status status = BH_OK;
    uint64_t not_done = 0;

    status = batch_call(s->table, e.operation, &e.all);
    for (uint64_t i = 0; i < e.all.n; i++) {
        const bh_op op = (bh_op)e.all.ops[i];

        inserts = inserts || batch_inserts((int)op);
        not_done += e.all.outcomes[i] == BH_NOT_DONE;
        expect(e.all.outcomes[i] == BH_NOT_DONE || batch_outcome_fits(op, e.all.outcomes[i]),
               "%s in %s answered %u", batch_operation_name((int)op),
               batch_operation_name(e.operation), e.all.outcomes[i]);
        if (e.number[i] < s->shared) {
            check_shared(s, p, &e, i);
        } else if (!s->clears) {
            check_own(s, p, &e, i);
        }
    }
    expect(status == BH_OK || (inserts && may_be_refused(s) &&
                               (status == BH_ERR_FULL || (s->watched && status == BH_ERR_MEMORY))),
           "%s of %" PRIu64 " answered %s: %s", batch_operation_name(e.operation), e.all.n,
           bh_status_name(status), bh_error_detail());
    expect((status != BH_OK) == (not_done > 0), "%s answered %s, and did not do %" PRIu64,
           batch_operation_name(e.operation), bh_status_name(status), not_done);
    atomic_fetch_add(&done.elements, e.all.n);
    atomic_fetch_add(&done.not_done, not_done);
    free_elements(&e);
}

/* --- calls on the whole table ------------------------------------------------------------ */

typedef struct exported {
    uint64_t key;
    uint64_t value;
} exported;

static int exported_compare(const void *one, const void *other)
{
    const exported *a = one;
    const exported *b = other;
    return a->key < b->key ? -1 : a->key > b->key;
}

static const exported *exported_key(const exported *sorted, uint64_t count, uint64_t key)
{
    const exported wanted = {key, 0};
    return bsearch(&wanted, sorted, count, sizeof *sorted, exported_compare);
}

/* One instant: no key twice, and the player's own keys are what they are. */
static void check_export(const scene *s, uint32_t p, const exported *sorted, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        expect(sorted[i - 1].key != sorted[i].key, "one export gives key %#llx twice",
               (unsigned long long)sorted[i].key);
    }
    for (uint64_t number = 0; number < s->shared; number++) {
        const exported *found = exported_key(sorted, count, scene_key(s, number));
        expect(found == NULL || has_sum(s, number) ||
                   batch_is_stamp(s->options.value_bytes, found->key, found->value),
               "an export gives key %#llx with value %#llx, which nobody wrote for it",
               (unsigned long long)found->key, (unsigned long long)found->value);
    }
    for (uint64_t k = 0; k < s->own && !s->clears; k++) {
        const own *mine = &s->player[p].own[k];
        const uint64_t key = scene_key(s, own_number(s, p, k));
        const exported *found = exported_key(sorted, count, key);
        expect((found != NULL) == mine->there && (found == NULL || found->value == mine->value),
               "key %#llx of player %u alone is %s with %#llx, and an export gives %s with %#llx",
               (unsigned long long)key, p, mine->there ? "there" : "missing",
               (unsigned long long)mine->value, found != NULL ? "it" : "nothing",
               (unsigned long long)(found != NULL ? found->value : 0));
    }
}

static void attack_export(scene *s, uint32_t p)
{
    const uint64_t all = scene_keys(s) + 1;
    const uint64_t part = 1 + random_below(&s->player[p].random, all);
    void *keys = test_allocate(all * 8);
    void *values = test_allocate(all * 8);
    exported *sorted = test_allocate(all * sizeof *sorted);
    uint64_t cursor = 0;
    uint64_t count = 0;
    bh_status status = BH_OK;

    check_status(bh_export(s->table, &cursor, keys, values, all, &count), BH_OK);
    expect(count < all, "an export gives %" PRIu64 " keys, and there are no more than %" PRIu64,
           count, all - 1);
    for (uint64_t i = 0; i < count; i++) {
        sorted[i] = (exported){test_load(keys, s->options.key_bytes, i),
                               test_load(values, s->options.value_bytes, i)};
    }
    qsort(sorted, count, sizeof *sorted, exported_compare);
    check_export(s, p, sorted, count);

    // By parts, until it ends or the table has changed.
    cursor = 0;
    for (int parts = 0; parts < 8 && status == BH_OK && (parts == 0 || count > 0); parts++) {
        status = bh_export(s->table, &cursor, keys, values, part, &count);
        expect(status == BH_OK || (status == BH_ERR_ARGUMENT && parts > 0), "%s",
               bh_status_name(status));
        expect(count <= part, "%" PRIu64 " pairs where %" PRIu64 " had room", count, part);
    }
    atomic_fetch_add(&done.exports, 1);
    free(keys);
    free(values);
    free(sorted);
}

static void attack_stats(scene *s)
{
    const bh_table_stats stats = table_stats(s->table);

    // Not of the keys that there are: one that is erased and inserted meanwhile may count twice.
    expect(stats.keys <= stats.slots, "%" PRIu64 " keys in %" PRIu64 " slots", stats.keys,
           stats.slots);
    expect(stats.max_keys <= stats.slots, "max_keys is %" PRIu64 " of %" PRIu64 " slots",
           stats.max_keys, stats.slots);
    expect(s->options.max_host_bytes == 0 || stats.bytes_host <= s->options.max_host_bytes,
           "the table takes %" PRIu64 " bytes", stats.bytes_host);
}

static void attack_whole(scene *s, uint32_t p)
{
    rng *random = &s->player[p].random;
    bh_status status = BH_OK;

    switch (random_below(random, s->clears ? 4 : 3)) {
    case 0: attack_export(s, p); break;
    case 1: status = bh_reserve(s->table, random_below(random, scene_keys(s))); break;
    case 2: status = bh_compact(s->table); break;
    default: check_status(bh_clear(s->table), BH_OK); break;
    }
    // A smaller table may have no place for some key.
    expect(status == BH_OK || status == BH_ERR_FULL || (s->watched && status == BH_ERR_MEMORY),
           "a call on the whole table answered %s: %s", bh_status_name(status), bh_error_detail());
}

static void play(void *argument, uint32_t p)
{
    scene *s = argument;
    rng *random = &s->player[p].random;
    bool falling = random_below(random, 2) == 0;

    for (uint64_t c = 0; c < s->calls; c++) {
        if (random_below(random, 10) == 0) {
            falling = !falling;
        }
        if (s->watched != NULL && random_below(random, 4) == 0) {
            watched_refuse(s->watched,
                           WATCH_BIT(WATCH_ALLOCATE) | WATCH_BIT(WATCH_RESERVE) |
                               WATCH_BIT(WATCH_COMMIT) | WATCH_BIT(WATCH_DECOMMIT),
                           1 + random_below(random, 12), random_below(random, 4) == 0);
        }
        if (random_below(random, 12) == 0) {
            attack_whole(s, p);
        } else {
            attack_batch(s, p, falling);
        }
        if (random_below(random, 4) == 0) {
            attack_stats(s);
        }
    }
}

/* --- scenes ------------------------------------------------------------------------------ */

/* After a round: every key by find, and everything by export, is what the players say. */
static void check_content(scene *s)
{
    batch all = batch_new(s->options.key_bytes, s->options.value_bytes, scene_keys(s));
    uint64_t present = 0;

    for (uint64_t number = 0; number < all.n; number++) {
        batch_set(&all, number, scene_key(s, number), 7);
    }
    check_status(batch_call(s->table, BH_FIND, &all), BH_OK);
    for (uint64_t number = 0; number < all.n; number++) {
        const bool found = all.outcomes[number] == BH_FOUND;
        const uint64_t value = batch_value(&all, number);

        present += found;
        if (number >= s->shared) {
            const own *mine =
                &s->player[(number - s->shared) / s->own].own[(number - s->shared) % s->own];
            expect(s->clears || (found == mine->there && (!found || value == mine->value)),
                   "key %#llx of one player alone is %s with %#llx instead of %s with %#llx",
                   (unsigned long long)batch_key(&all, number), found ? "there" : "missing",
                   (unsigned long long)value, mine->there ? "there" : "missing",
                   (unsigned long long)mine->value);
        } else {
            int64_t account = 0;
            uint64_t sum = 0;
            for (uint32_t p = 0; p < s->players; p++) {
                account += s->player[p].account[number];
                sum += s->player[p].sum[number];
            }
            expect(s->clears || account == (int64_t)found,
                   "key %#llx: INSERTED minus ERASED is %" PRId64 ", and it is %s",
                   (unsigned long long)batch_key(&all, number), account,
                   found ? "there" : "missing");
            expect(!found ||
                       (has_sum(s, number)
                            ? s->clears || value == (sum & test_width_mask(all.value_bytes))
                            : batch_is_stamp(all.value_bytes, batch_key(&all, number), value)),
                   "key %#llx has value %#llx, which is no stamp, and its sum is %#llx",
                   (unsigned long long)batch_key(&all, number), (unsigned long long)value,
                   (unsigned long long)sum);
        }
    }
    pairs content = table_pairs(s->table, all.key_bytes, all.value_bytes,
                                1 + random_below(&s->player[0].random, all.n));
    expect(content.count == present, "an export gives %" PRIu64 " keys, and %" PRIu64 " are found",
           content.count, present);
    pairs_free(&content);
    batch_free(&all);
    table_check_stats(s->table);
}

static void forget(scene *s)
{
    for (uint32_t p = 0; p < s->players; p++) {
        memset(s->player[p].own, 0, s->own * sizeof(own));
        memset(s->player[p].account, 0, s->shared * sizeof(int64_t));
        memset(s->player[p].sum, 0, s->shared * sizeof(uint64_t));
    }
}

static void play_rounds(scene *s, rng *random)
{
    for (int round = 0; round < ROUNDS; round++) {
        threads_run(s->players, play, s);
        if (s->watched != NULL) {
            (void)watched_allow(s->watched);
        }
        check_content(s);
        // Where clear has been at work nobody knows what to expect, until it is called once more.
        if (s->clears || random_below(random, 4) == 0) {
            check_status(bh_clear(s->table), BH_OK);
            expect(table_stats(s->table).keys == 0, "%s", "a cleared table has keys");
            forget(s);
        }
    }
}

/* Fills that are legal, extreme ones included. */
static void draw_fills(bh_table_options *o, rng *random)
{
    static const double never[] = {-1, -5e-324, -0.5, -1e19, -1e300, -DBL_MAX, -INFINITY};
    const uint64_t kind = random_below(random, 5);
    double highest = 0.29; // HashFight with 2 slots per key

    if (o->design == BH_DYCUCKOO) {
        const double d = o->dycuckoo.subtables;
        o->max_fill =
            random_below(random, 3) == 0 ? 0 : 0.3 + (double)random_below(random, 68) / 100;
        highest = (o->max_fill > 0 ? o->max_fill : 0.85) * d / (d + 1) * (1 - 1e-12);
    }
    o->min_fill = kind == 0   ? 0
                  : kind == 1 ? never[random_below(random, TEST_COUNT(never))]
                  : kind == 2 ? highest
                  : kind == 3 ? 1e-300
                              : highest * (double)(1 + random_below(random, 99)) / 100;
}

static bh_table_options draw_options(rng *random, bh_experimental_options *e)
{
    const test_widths widths = test_all_widths[random_below(random, TEST_WIDTHS)];
    bh_table_options o;

    bh_table_options_init(&o, widths.key_bytes, widths.value_bytes,
                          random_below(random, 2) == 0 ? random_below(random, 10)
                                                       : random_below(random, 5000));
    o.design = random_below(random, 3) == 0 ? BH_HASHFIGHT : BH_DYCUCKOO;
    o.duplicates = (bh_duplicates)random_below(random, BH_DUPLICATES_NONE + 1);
    o.seed = random_next(random);
    o.seed_fixed = random_below(random, 4) > 0;
    o.dycuckoo.subtables = 2 + (uint32_t)random_below(random, 7);
    bh_experimental_options_init(e);
    e->spread = random_below(random, 4) == 0 ? BH_SPREAD_THEOREM1 : BH_SPREAD_HOME_FIRST;
    e->values = (bh_value_place)random_below(random, 3);
    if (e->values == BH_VALUES_APART && !o.value_bytes)
        e->values = BH_VALUES_DEFAULT;
    o.experimental = e;
    o.hashfight.slots_per_key = 1.03 + (double)random_below(random, 98) / 100;
    o.hashfight.tail_keys = random_below(random, 3) == 0 ? 1 : 0;
    o.schedule = (bh_schedule)random_below(
        random, o.design == BH_HASHFIGHT ? BH_SCHEDULE_REGIONS + 1 : BH_SCHEDULE_WINDOW + 1);
    draw_fills(&o, random);
    if (random_below(random, 3) == 0) {
        o.max_host_bytes = 4096 + random_below(random, 1u << (12 + random_below(random, 9)));
    }
    return o;
}

/* A table within the budget, or within the next one in which there is room for an empty table. */
static bh_table *table_within(bh_context *context, bh_table_options *options)
{
    bh_table *table = NULL;
    bh_status status = bh_table_create(context, options, &table);

    while (status == BH_ERR_FULL && options->max_host_bytes != 0) {
        options->max_host_bytes += options->max_host_bytes / 2;
        status = bh_table_create(context, options, &table);
    }
    check_status(status, BH_OK);
    return table;
}

static void describe(const scene *s, bh_pages pages, uint32_t threads)
{
    const bh_table_options *o = &s->options;

    (void)snprintf(
        described, sizeof described,
        "design %d, %u+%u bytes, capacity %" PRIu64 ", %u subtables, spread %d, apart %u, "
        "slots_per_key %g, tail_keys %" PRIu64 ", min_fill %g, max_fill %g, budget %" PRIu64
        ", duplicates %d, schedule %d, seed %s%" PRIu64 ", pages %d, %u threads, %u players, "
        "%" PRIu64 "+%" PRIu64 " keys%s%s",
        (int)o->design, o->key_bytes, o->value_bytes, o->capacity, o->dycuckoo.subtables,
        (int)o->experimental->spread, (int)o->experimental->values, o->hashfight.slots_per_key,
        o->hashfight.tail_keys, o->min_fill, o->max_fill, o->max_host_bytes, (int)o->duplicates,
        (int)o->schedule, o->seed_fixed ? "" : "not ", o->seed, (int)pages, threads, s->players,
        s->shared, s->own, s->clears ? ", clear" : "", s->watched ? ", refused memory" : "");
}

static void attack(uint64_t seed)
{
    rng random = random_start(seed);
    const uint32_t threads = 1 + (uint32_t)random_below(&random, 3);
    const bool large = random_below(&random, 4) == 0;
    bh_context_options options;
    bh_context *context = NULL;
    watched_system watched;
    test_executor executor;
    scene s;

    memset(&s, 0, sizeof s);
    s.options = draw_options(&random, &s.experimental);
    s.clears = random_below(&random, 5) == 0;
    s.players = 1 + (uint32_t)random_below(&random, PLAYERS_MOST);
    s.shared = 4 * (1 + random_below(&random, random_below(&random, 2) == 0 ? 4 : 500));
    // Where they are few the table is often empty, and all players work on the same lines.
    s.own = 1 + random_below(&random, large                      ? test_scaled(20000)
                                      : random_below(&random, 2) ? 600
                                                                 : 4);
    s.most = large ? test_scaled(30000) : 2000;
    s.calls = large ? 24 : 60;

    bh_context_options_init(&options);
    options.threads = threads;
    options.pages = (bh_pages)random_below(&random, BH_PAGES_LAZY + 1);
    if (random_below(&random, 3) == 0) {
        test_executor_start(&executor, (test_order)random_below(&random, TEST_ONE_RUN + 1),
                            threads);
        options.executor = &executor.executor;
    }
    watched_start(&watched);
    options.system = &watched.system;
    s.watched = random_below(&random, 4) == 0 ? &watched : NULL;
    check_status(bh_context_create("cpu", &options, &context), BH_OK);
    s.table = table_within(context, &s.options);
    describe(&s, options.pages, threads);
    for (uint32_t p = 0; p < s.players; p++) {
        s.player[p].random = random_start(random_next(&random));
        s.player[p].own = test_allocate(s.own * sizeof(own));
        s.player[p].account = test_allocate(s.shared * sizeof(int64_t));
        s.player[p].sum = test_allocate(s.shared * sizeof(uint64_t));
    }
    forget(&s);
    play_rounds(&s, &random);

    done.scenes++;
    done.grows += table_stats(s.table).grows;
    done.shrinks += table_stats(s.table).shrinks;
    for (uint32_t p = 0; p < s.players; p++) {
        free(s.player[p].own);
        free(s.player[p].account);
        free(s.player[p].sum);
    }
    bh_table_destroy(s.table);
    bh_context_destroy(context);
    watched_end(&watched);
}

static void many_scenes(void **state)
{
    rng seeds = random_start(test_seed());
    (void)state;

    for (int i = 0; i < SCENES; i++) {
        attack(random_next(&seeds));
    }
}

static int print_done(void **state)
{
    (void)state;
    printf("%" PRIu64 " scenes, %" PRIu64 " elements, %" PRIu64 " of them not done, %" PRIu64
           " exports; tables grew %" PRIu64 " times and shrank %" PRIu64 " times\n",
           done.scenes, (uint64_t)done.elements, (uint64_t)done.not_done, (uint64_t)done.exports,
           done.grows, done.shrinks);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_scenes)};
    int failed = 0;

    if (!test_target_runs()) {
        return TEST_SKIPPED;
    }
    do {
        failed = cmocka_run_group_tests(tests, NULL, print_done);
    } while (failed == 0 && test_goes_on());
    return test_exit_status(failed);
}
