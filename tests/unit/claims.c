/*
 * Insertions of DyCuckoo without locks, as kernels of a GPU do them (tables/dycuckoo/claims.h, sending.h), on this machine's memory: claims,
 * claims once more of what they have left, then ways for keys whose home is full. One thread takes the steps of some elements in
 * the order that a seed says, so that what an element has seen is old when it acts. Some keys come twice, and some are
 * there already. After all of them each pair that should be there must be in one of its buckets, once, with its value, known as a
 * guest if it is one, and counted at home.
 */
#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/check.h"
#include "support/guests.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/tables.h"

#define BH_TARGET_SCALAR 1
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include "tables/dycuckoo/ops.h"
#include "tables/dycuckoo/sending.h"

#define DY(name) BH_NAME(bh_dy_##name)
#define SLOTS BH_DY_SLOTS(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

enum { KEYS = 6000, LANES = 24, ATTEMPTS = 2, SCENES = 400 };

/* What has become of an element. PRESENT: its key was there. */
typedef enum state { OPEN, INSERTED, PRESENT, LEFT, HOME_FULL } state;

typedef struct scene {
    bh_table *table;
    const bh_dy_geometry *geometry;
    bh__slice slice;
    rng random;
    batch
        all; // keys with their values: the first `there` were inserted, and the first `erased` of them are gone
    uint64_t there, erased;
    batch elements;
    uint32_t *number; // of each element: its key's in `all`
    state *state;     // of each element
    uint64_t went_home, became_guest, left_home;
} scene;

/* An element on its way through a kernel. */
typedef struct lane {
    uint64_t at;
    int busy, phase, has_room;
    uint32_t attempts;
    uint64_t copy[BH_DY_LINE / 8];
    DY(op) op;
    bh_region region;
    DY(sender) sender;
    DY(leaver) from;
} lane;

/* Copies a line as a GPU may see it: some words before others. */
static void copy_line(scene *s, lane *l, uint64_t line)
{
    const uint32_t first = (uint32_t)random_below(&s->random, 8);
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t word = (first + i) % 8;
        l->copy[word] = bh_peek64(bh_dy_at(line + 8 * (uint64_t)word));
    }
}

static uint64_t copied(const lane *l)
{
    return (uint64_t)(uintptr_t)l->copy;
}

/* A step of claims; answers whether the element is done with this kernel. */
static bool step_claims(scene *s, lane *l)
{
    unsigned char *key, *value;
    bh_answer answer;

    if (l->phase == 0) {
        l->region = DY(begin)(&s->slice, &l->op, (uint32_t)l->at, BH_INSERT);
        l->op.home = l->region.offset; // as the target for GPUs has it from the start
        l->phase = 1;
    } else if (l->phase == 1) {
        copy_line(s, l, l->region.offset);
        l->phase = 2;
    } else {
        s->slice.room = 1;
        s->slice.reasons = 0;
        answer = DY(step_claim)(&s->slice, &l->op, BH_INSERT, copied(l), &l->region);
        l->phase = 1;
        if (answer == BH_DONE && l->op.outcome == BH_INSERTED) {
            key = DY(claimed)(&l->op, &value);
            bh_store32(key, l->op.key);
            bh_store32(value, ((const uint32_t *)s->slice.values)[l->at]);
        }
        if (answer == BH_DONE) {
            s->state[l->at] = l->op.outcome == BH_INSERTED ? INSERTED : PRESENT;
        } else if (answer == BH_STALL) {
            s->state[l->at] = s->slice.reasons == BH_REASON_PLACE ? HOME_FULL : LEFT;
        }
        return answer == BH_DONE || answer == BH_STALL;
    }
    return false;
}

/* A step of `send` (cuda/device/dycuckoo/make_way.h), which looks at home, at the other bucket and at home again. */
static bool step_ways(scene *s, lane *l)
{
    uint64_t meta;

    switch (l->phase++) {
    case 0:
        l->sender.key = ((const uint32_t *)s->slice.keys)[l->at];
        l->sender.value = ((const uint32_t *)s->slice.values)[l->at];
        l->sender.places = bh_dy_places_of(s->geometry, l->sender.key, BH_DY_LINE);
        copy_line(s, l, l->sender.places.home);
        return !DY(is_without_copy)(&s->slice, copied(l), l->sender.key, &l->sender.home_meta) ||
               !DY(full)(l->sender.home_meta);
    case 1:
        copy_line(s, l, l->sender.places.other);
        if (!DY(is_without_copy)(&s->slice, copied(l), l->sender.key, &meta))
            return true;
        l->has_room = !DY(full)(meta);
        return false;
    case 2: copy_line(s, l, l->sender.places.home); return l->copy[0] != l->sender.home_meta;
    case 3: return !DY(find_way)(&s->slice, copied(l), &l->sender, l->has_room, &l->from);
    default:
        if (DY(go_way)(&s->slice, &l->from, &l->sender) == BH_DY_MOVED) {
            s->state[l->at] = INSERTED;
            s->went_home += !l->from.guest;
            s->became_guest += l->from.slot == SLOTS;
            s->left_home += l->from.guest && l->from.slot < SLOTS;
            return true;
        }
        l->phase = 0;
        return ++l->attempts == ATTEMPTS;
    }
}

/* A kernel for all elements that are in a state. */
static void run(scene *s, state of, bool (*step)(scene *s, lane *l))
{
    lane lanes[LANES];
    uint64_t next = 0, busy = 0;

    memset(lanes, 0, sizeof lanes);
    s->slice.epoch++;
    do {
        lane *l = &lanes[random_below(&s->random, LANES)];
        if (!l->busy) {
            while (next < s->elements.n && s->state[next] != of) {
                next++;
            }
            if (next < s->elements.n) {
                l->at = next++;
                l->busy = 1;
                l->phase = 0;
                l->attempts = 0;
                busy++;
            }
        } else if (step(s, l)) {
            l->busy = 0;
            busy--;
        }
    } while (busy || next < s->elements.n);
}

static void read_here(void *to, const void *from, uint64_t bytes)
{
    memcpy(to, from, bytes);
}

/* A table that is rather full, with an eighth of its keys erased: homes that are full have guests, and there is room elsewhere. */
static void make_table(scene *s, bh_context *context, double fill)
{
    bh_table_options options = table_options(BH_KEY_BYTES, BH_VALUE_BYTES, KEYS);
    uint8_t *outcomes = test_allocate(s->all.n);

    options.max_fill = 0.95;
    options.min_fill = -1;
    s->table = table_with(context, &options);
    s->geometry = s->table->policy->geometry(s->table);
    s->there = (uint64_t)(fill * (double)table_stats(s->table).slots);
    s->erased = s->there / 8;
    check(s->there + s->erased < s->all.n, "the table is larger than expected");
    check_status(bh_insert(s->table, s->all.keys, s->all.values, s->there, outcomes), BH_OK);
    check_status(bh_erase(s->table, s->all.keys, s->erased, outcomes), BH_OK);
    free(outcomes);
}

/* New keys, each fifth of them twice, and some that are there. */
static void make_elements(scene *s)
{
    uint64_t n = 0;

    s->number = test_allocate(3 * s->erased * sizeof *s->number);
    for (uint64_t i = 0; i < s->erased; i++) {
        s->number[n++] = (uint32_t)(s->there + i);
        if (i % 5 == 0)
            s->number[n++] = (uint32_t)(s->there + i);
        if (i % 7 == 0)
            s->number[n++] = (uint32_t)(s->erased + i);
    }
    s->elements = batch_new(BH_KEY_BYTES, BH_VALUE_BYTES, n);
    s->state = test_allocate(n * sizeof *s->state);
    for (uint64_t i = 0; i < n; i++) {
        s->state[i] = OPEN;
        batch_set(&s->elements, i, batch_key(&s->all, s->number[i]),
                  batch_value(&s->all, s->number[i]));
    }
}

/* In the table is what was, and what elements have inserted, each key by one of them. */
static void check_scene(const scene *s)
{
    const uint64_t n = s->all.n;
    uint32_t *values = test_allocate(n * sizeof *values);
    uint8_t *outcomes = test_allocate(n), *is_there = test_allocate(n);
    uint64_t keys = s->there - s->erased;

    for (uint64_t i = 0; i < n; i++)
        is_there[i] = i >= s->erased && i < s->there;
    for (uint64_t i = 0; i < s->elements.n; i++) {
        check(s->state[i] != OPEN, "element %llu has not ended", (unsigned long long)i);
        if (s->state[i] != INSERTED)
            continue;
        check(!is_there[s->number[i]], "a key was inserted twice");
        is_there[s->number[i]] = 1;
        keys++;
    }
    for (uint64_t i = 0; i < s->elements.n; i++)
        check(s->state[i] != PRESENT || is_there[s->number[i]], "a key was taken for another");
    check(guests_check(s->geometry, BH_KEY_BYTES, BH_VALUE_BYTES, read_here) == keys,
          "there are not %llu keys", (unsigned long long)keys);
    check_status(bh_find(s->table, s->all.keys, n, values, outcomes), BH_OK);
    for (uint64_t i = 0; i < n; i++) {
        check(outcomes[i] == (is_there[i] ? BH_FOUND : BH_MISSING), "key %llu: outcome %d",
              (unsigned long long)i, outcomes[i]);
        check(!is_there[i] || values[i] == (uint32_t)batch_value(&s->all, i),
              "key %llu has another value", (unsigned long long)i);
    }
    free(values);
    free(outcomes);
    free(is_there);
}

/* One table, and the kernels on it. Adds up in `sum` what went where. */
static void play(bh_context *context, uint64_t seed, scene *sum)
{
    scene s;

    memset(&s, 0, sizeof s);
    s.random = random_start(seed);
    s.all = batch_new(BH_KEY_BYTES, BH_VALUE_BYTES, 2 * KEYS);
    for (uint64_t i = 0; i < s.all.n; i++)
        batch_set(&s.all, i, random_key(BH_KEY_BYTES, seed * s.all.n, i), i + seed);
    make_table(&s, context, 0.8 + 0.02 * (double)(seed % 7));
    make_elements(&s);
    s.slice.geometry = s.geometry;
    s.slice.keys = s.elements.keys;
    s.slice.values = s.elements.values;
    s.slice.op = BH_INSERT;
    s.slice.looks = BH_LOOKS_FREE;
    s.slice.hints = BH_HINT_AT_ONCE | BH_HINT_ALIKE | (seed % 3 ? BH_HINT_TURNOVER : 0);
    s.slice.epoch = (uint8_t)(1 + seed % 200);
    run(&s, OPEN, step_claims);
    run(&s, LEFT, step_claims);
    run(&s, HOME_FULL, step_ways);
    check_scene(&s);
    sum->went_home += s.went_home;
    sum->became_guest += s.became_guest;
    sum->left_home += s.left_home;
    batch_free(&s.elements);
    batch_free(&s.all);
    free(s.state);
    free(s.number);
    bh_table_destroy(s.table);
}

static void full_homes_and_equal_keys(void **unused)
{
    bh_context *context = context_new(1, NULL, NULL);
    scene sum;
    (void)unused;

    memset(&sum, 0, sizeof sum);
    for (uint64_t i = 0; i < test_scaled(SCENES); i++)
        play(context, test_seed() + i, &sum);
    check(sum.went_home && sum.became_guest && sum.left_home,
          "%llu guests went home, %llu keys became guests, %llu residents left",
          (unsigned long long)sum.went_home, (unsigned long long)sum.became_guest,
          (unsigned long long)sum.left_home);
    bh_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(full_homes_and_equal_keys)};

    return test_target_runs() ? test_exit_status(cmocka_run_group_tests(tests, NULL, NULL))
                              : TEST_SKIPPED;
}
