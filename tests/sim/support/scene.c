/* Setting scenes up, running and checking them; see scene.h. */
#include "sim/support/design.h"

#include <stdarg.h>
#include <string.h>

#include "sim/support/lanes.h"
#include "support/check.h"
#include "support/history.h"
#include "support/memory.h"
#include "tables/counts.h"
#include "targets/target.h"

#define BH_EACH_DESIGN "tables/design_layout.h"
#include "tables/designs.h"

#define BH_EACH_DESIGN "sim/support/design_declared.h"
#include "tables/designs.h"

static const struct {
    bh_design number;
    const scene_design *scenes;
} designs[] = {
#define BH_EACH_DESIGN "sim/support/design_row.h"
#include "tables/designs.h"
};

/* --- the system: memory that can be copied as a whole, fibers for threads ---------------- */

#define ARENA_BYTES (1u << 23)
#define PIECES_MOST 64

/* Pieces are given out one behind the other and never used again before the next scene. */
static unsigned char arena[ARENA_BYTES] __attribute__((aligned(4096)));
static unsigned char arena_at_start[ARENA_BYTES];
static uint64_t arena_used;
static uint64_t arena_used_at_start;

static void *arena_take(uint64_t bytes, uint64_t alignment)
{
    uint64_t from = (arena_used + alignment - 1) / alignment * alignment;

    if (bytes > ARENA_BYTES || from > ARENA_BYTES - bytes) {
        return NULL;
    }
    arena_used = from + bytes;
    return arena + from;
}

static void *sim_allocate(void *state, uint64_t bytes)
{
    (void)state;
    return arena_take(bytes, 64);
}

static void sim_release(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    (void)memory;
    (void)bytes;
}

/* No more address space than memory, so that there is little to copy: a block that wants sixteen
 * times as much as it needs gets just that when it asks again. */
static void *sim_reserve(void *state, uint64_t bytes)
{
    (void)state;
    return bytes > 15 * 4096 ? NULL : arena_take(bytes, 4096);
}

/* What is committed again is new, as from the system. */
static int sim_decommit(void *state, void *memory, uint64_t bytes)
{
    (void)state;
    memset(memory, 0xa5, bytes);
    return 0;
}

static int sim_commit(void *state, void *memory, uint64_t bytes, bh_pages pages)
{
    (void)state;
    (void)pages;
    memset(memory, 0, bytes);
    return 0;
}

static uint64_t sim_page_bytes(void *state, const void *memory, uint64_t bytes)
{
    (void)state;
    (void)memory;
    (void)bytes;
    return 4096;
}

static uint32_t sim_processors(void *state)
{
    (void)state;
    return 1;
}

static void sim_yield(void *state)
{
    (void)state;
    fibers_yield();
}

static void sim_sleep(void *state, uint64_t nanoseconds)
{
    (void)state;
    (void)nanoseconds;
    fibers_barrier(); // no processor holds back a store for so long
    fibers_yield();
}

bool scene_counts_slices = false;

static int sim_barrier_prepare(void *state)
{
    (void)state;
    return scene_counts_slices ? -1 : 0;
}

static int sim_barrier(void *state)
{
    (void)state;
    fibers_barrier();
    return 0;
}

static uint64_t sim_clock(void *state)
{
    (void)state;
    return 0;
}

static const char *sim_environment(void *state, const char *name)
{
    (void)state;
    (void)name;
    return NULL;
}

static uint32_t sim_width(void *state)
{
    (void)state;
    return 3;
}

static void sim_run(void *state, void (*task)(void *argument, uint64_t index), void *argument,
                    uint64_t count)
{
    (void)state;
    fibers_help((uint32_t)count, task, argument);
}

static bh_context *context_in_arena(void)
{
    bh_system system;
    bh_executor executor = {NULL, sim_width, sim_run};
    bh_context_options options;
    bh_context *context = NULL;

    bh_system_default(&system);
    system.allocate = sim_allocate;
    system.release = sim_release;
    system.reserve = sim_reserve;
    system.commit = sim_commit;
    system.decommit = sim_decommit;
    system.unreserve = sim_release;
    system.page_bytes = sim_page_bytes;
    system.processors = sim_processors;
    system.yield = sim_yield;
    system.sleep = sim_sleep;
    system.clock_nanoseconds = sim_clock;
    system.environment = sim_environment;
    system.barrier_prepare = sim_barrier_prepare;
    system.barrier = sim_barrier;
    bh_context_options_init(&options);
    options.system = &system;
    options.executor = &executor;
    check_status(bh_context_create("cpu", &options, &context), BH_OK);
    return context;
}

/* --- what the runs of a scene share ------------------------------------------------------ */

#define EVENTS_MOST (FIBERS_MOST * SCENE_CALLS * SCENE_KEYS)

typedef struct key_state {
    bool present;
    uint64_t value;
} key_state;

static const scene *current;
static bh_table *table;
static const scene_design *design;  // of the scene
static uint64_t key_of[SCENE_KEYS]; // numbers to keys
static uint32_t named[SCENE_KEYS];  // the numbers that occur in the scene
static uint32_t named_count;
static key_state at_start[SCENE_KEYS];

/* One run. */
static uint64_t stamp;
static uint32_t event_count;
static history_event event_list[EVENTS_MOST];
static bool failed;
static char sentence[256];

static uint64_t refused; // elements, in all runs so far

void scene_complain(const char *format, ...)
{
    va_list arguments;

    if (!failed) {
        va_start(arguments, format);
        (void)vsnprintf(sentence, sizeof sentence, format, arguments);
        va_end(arguments);
    }
    failed = true;
}

/* --- keys -------------------------------------------------------------------------------- */

const scene_design *scene_design_at(uint32_t i, bh_design *number)
{
    if (i >= TEST_COUNT(designs)) {
        return NULL;
    }
    if (number != NULL) {
        *number = designs[i].number;
    }
    return designs[i].scenes;
}

static const scene_design *design_of(bh_design number)
{
    for (uint32_t i = 1; i < TEST_COUNT(designs); i++) {
        if (designs[i].number == number) {
            return designs[i].scenes;
        }
    }
    check(number == BH_AUTO || number == designs[0].number, "a scene of design %d", (int)number);
    return designs[0].scenes;
}

uint64_t scene_key(uint32_t number)
{
    return key_of[number];
}

static void choose_keys(void)
{
    const uint64_t last = test_width_mask(current->key_bytes);

    for (uint32_t number = 0; number < SCENE_KEYS; number++) {
        key_of[number] = number;
    }
    for (uint32_t number = 0; number < SCENE_KEYS && design->fits != NULL; number++) {
        // Distinct, because number n looks among the keys that are n modulo 12.
        uint64_t key = number;
        while (!design->fits(table, number, key)) {
            key += SCENE_KEYS;
            check(key < last, "no key fits number %u", number);
        }
        key_of[number] = key;
    }
}

uint32_t scene_number_of(uint64_t key)
{
    uint32_t number = (uint32_t)(key % SCENE_KEYS);
    return key_of[number] == key ? number : SCENE_KEYS;
}

/* A bit for each number that occurs in the calls. */
static uint32_t numbers_in(const scene_call *calls, uint32_t count)
{
    uint32_t bits = 0;

    for (uint32_t c = 0; c < count; c++) {
        for (uint32_t e = 0; calls[c].what <= SCENE_APPLY && e < calls[c].count; e++) {
            bits |= 1u << calls[c].element[e].key;
        }
    }
    return bits;
}

static void find_named(void)
{
    uint32_t bits = numbers_in(current->start, current->start_count);

    for (uint32_t f = 0; f < current->fibers; f++) {
        bits |= numbers_in(current->fiber[f].call, current->fiber[f].count);
    }
    named_count = 0;
    for (uint32_t number = 0; number < SCENE_KEYS; number++) {
        if ((bits >> number & 1) != 0) {
            named[named_count++] = number;
        }
    }
}

/* --- calls ------------------------------------------------------------------------------- */

static void add_event(bh_op op, uint32_t number, uint64_t operand, uint64_t answer, uint8_t outcome,
                      uint64_t begin, uint64_t end, uint64_t chain)
{
    check(event_count < EVENTS_MOST, "too many events");
    event_list[event_count++] = (history_event){.key = number,
                                                .op = op,
                                                .operand = operand,
                                                .answer = answer,
                                                .outcome = outcome,
                                                .begin = begin,
                                                .end = end,
                                                .chain = chain};
}

static void make_batch(const scene_call *call)
{
    const uint32_t key_bytes = current->key_bytes;
    const uint32_t value_bytes = current->value_bytes;
    const bh_op op = (bh_op)call->element[0].op;
    uint64_t keys[SCENE_ELEMENTS] = {0};
    uint64_t values[SCENE_ELEMENTS] = {0};
    uint8_t ops[SCENE_ELEMENTS] = {0};
    uint8_t outcomes[SCENE_ELEMENTS] = {0};
    const uint64_t begin = stamp++;
    // The elements of bh_find are never in order.
    const bool is_find = call->what == SCENE_CALL && op == BH_FIND;
    const uint64_t chain = current->ordered && !is_find ? begin : 0;
    bh_status status = BH_OK;
    uint32_t not_done = 0;

    for (uint32_t i = 0; i < call->count; i++) {
        const scene_element *element = &call->element[i];
        ops[i] = call->what == SCENE_APPLY ? element->op : (uint8_t)op;
        test_store(keys, key_bytes, i, key_of[element->key]);
        test_store(values, value_bytes, i, element->value);
    }
    if (call->what == SCENE_APPLY) {
        status = bh_apply(table, ops, keys, values, call->count, outcomes);
    } else {
        switch (op) {
        case BH_FIND: status = bh_find(table, keys, call->count, values, outcomes); break;
        case BH_INSERT: status = bh_insert(table, keys, values, call->count, outcomes); break;
        case BH_INSERT_NEW:
            status = bh_insert_new(table, keys, values, call->count, outcomes);
            break;
        case BH_FIND_OR_INSERT:
            status = bh_find_or_insert(table, keys, values, call->count, outcomes);
            break;
        case BH_UPDATE: status = bh_update(table, keys, values, call->count, outcomes); break;
        case BH_ERASE: status = bh_erase(table, keys, call->count, outcomes); break;
        case BH_ADD:
        case BH_MIN:
        case BH_MAX:
        case BH_MIN_SIGNED:
        case BH_MAX_SIGNED:
        case BH_ADD_FLOAT:
            status = bh_reduce(table, op, keys, values, call->count, outcomes);
            break;
        }
    }
    if (status != BH_OK && status != BH_ERR_FULL) {
        scene_complain("a batch answered %s: %s", bh_status_name(status), bh_error_detail());
        return;
    }
    for (uint32_t i = 0; i < call->count; i++) {
        not_done += outcomes[i] == BH_NOT_DONE;
        add_event((bh_op)ops[i], call->element[i].key, call->element[i].value,
                  test_load(values, value_bytes, i), outcomes[i], begin, stamp, chain);
    }
    stamp++;
    refused += not_done;
    if ((not_done > 0) != (status == BH_ERR_FULL)) {
        scene_complain("a batch answered %s, and left out %u", bh_status_name(status), not_done);
    }
}

/* Copies everything out; answers how many keys there are, the numbers' states in `found`. */
static uint32_t export_all(key_state found[SCENE_KEYS])
{
    uint64_t keys[SCENE_KEYS + 1] = {0};
    uint64_t values[SCENE_KEYS + 1] = {0};
    uint64_t cursor = 0;
    uint64_t count = 0;

    memset(found, 0, SCENE_KEYS * sizeof *found);
    if (bh_export(table, &cursor, keys, values, SCENE_KEYS + 1, &count) != BH_OK) {
        scene_complain("bh_export failed: %s", bh_error_detail());
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint32_t number = scene_number_of(test_load(keys, current->key_bytes, i));
        if (number == SCENE_KEYS) {
            scene_complain("bh_export gives a key that nobody inserted");
        } else if (found[number].present) {
            scene_complain("bh_export gives key %u twice", number);
        } else {
            found[number].present = true;
            found[number].value = test_load(values, current->value_bytes, i);
        }
    }
    return (uint32_t)count;
}

static void make_call(const scene_call *call)
{
    const uint64_t begin = stamp;
    bh_status status = BH_OK;
    bh_table_stats stats = {.struct_size = sizeof stats};
    key_state found[SCENE_KEYS];

    switch ((scene_what)call->what) {
    case SCENE_CALL:
    case SCENE_APPLY: make_batch(call); return;
    case SCENE_RESERVE: status = bh_reserve(table, call->count); break;
    case SCENE_COMPACT: status = bh_compact(table); break;
    case SCENE_CLEAR:
        stamp++;
        status = bh_clear(table);
        for (uint32_t i = 0; i < named_count; i++) {
            add_event(BH_ERASE, named[i], 0, 0, HISTORY_NOT_SAID, begin, stamp, 0);
        }
        break;
    case SCENE_EXPORT:
        stamp++;
        (void)export_all(found);
        for (uint32_t i = 0; i < named_count; i++) {
            const key_state *state = &found[named[i]];
            add_event(BH_FIND, named[i], 0, state->value, state->present ? BH_FOUND : BH_MISSING,
                      begin, stamp, 0);
        }
        break;
    case SCENE_STATS:
        status = bh_table_get_stats(table, &stats);
        if (stats.keys > stats.slots) {
            scene_complain("the table says that it has %llu keys in %llu slots",
                           (unsigned long long)stats.keys, (unsigned long long)stats.slots);
        }
        break;
    }
    stamp++;
    // A smaller table may have no place for some key; then the table stays as large as it was.
    if (status != BH_OK && !(call->what == SCENE_COMPACT && status == BH_ERR_FULL)) {
        scene_complain("a call on the whole table answered %s: %s", bh_status_name(status),
                       bh_error_detail());
    }
}

static void play(void *argument, uint32_t fiber)
{
    const scene_fiber *part = &current->fiber[fiber];

    (void)argument;
    for (uint32_t c = 0; c < part->count; c++) {
        make_call(&part->call[c]);
    }
}

/* --- checks ------------------------------------------------------------------------------ */

/* The inside of the table when no call runs. */
static void check_inside(void)
{
    if ((table->gate.word & ~BH__GATE_PRESENT) != 0) {
        scene_complain("the gate is not free: %#llx", (unsigned long long)table->gate.word);
    }
    design->inspect(table);
}

/* What bh_find says of the scene's keys. */
static void find_all(key_state found[SCENE_KEYS])
{
    uint64_t keys[SCENE_KEYS] = {0};
    uint64_t values[SCENE_KEYS] = {0};
    uint8_t outcomes[SCENE_KEYS] = {0};

    memset(found, 0, SCENE_KEYS * sizeof *found);
    for (uint32_t i = 0; i < named_count; i++) {
        test_store(keys, current->key_bytes, i, key_of[named[i]]);
    }
    if (bh_find(table, keys, named_count, values, outcomes) != BH_OK) {
        scene_complain("bh_find failed: %s", bh_error_detail());
    }
    for (uint32_t i = 0; i < named_count; i++) {
        key_state *state = &found[named[i]];
        state->present = outcomes[i] == BH_FOUND;
        state->value = state->present ? test_load(values, current->value_bytes, i) : 0;
    }
}

/* The content by two ways and the count. */
static void check_content(key_state found[SCENE_KEYS])
{
    key_state exported[SCENE_KEYS];
    uint32_t count = export_all(exported);

    find_all(found);
    for (uint32_t number = 0; number < SCENE_KEYS && !failed; number++) {
        if (found[number].present != exported[number].present ||
            found[number].value != exported[number].value) {
            scene_complain("bh_find and bh_export do not agree about key %u", number);
        }
    }
    if (count != table->keys) {
        scene_complain("bh_export gives %u keys of %llu", count, (unsigned long long)table->keys);
    }
}

static void check_histories(const key_state found[SCENE_KEYS])
{
    history_event of_key[EVENTS_MOST];

    for (uint32_t i = 0; i < named_count && !failed; i++) {
        const uint32_t number = named[i];
        const key_state *before = &at_start[number];
        const key_state *after = &found[number];
        uint32_t count = 0;

        for (uint32_t e = 0; e < event_count; e++) {
            if (event_list[e].key == number) {
                of_key[count++] = event_list[e];
            }
        }
        if (count == 0) {
            if (before->present != after->present || before->value != after->value) {
                scene_complain("key %u was touched by nobody and has changed", number);
            }
        } else if (!history_check_key(of_key, count, current->value_bytes, before->present,
                                      before->value, after->present, after->value)) {
            scene_complain("the answers about key %u fit no order of its operations", number);
        }
    }
}

static const char *check_run(bool ended)
{
    key_state found[SCENE_KEYS];

    if (!ended) {
        scene_complain("the run does not end");
    }
    bh__stripes_collect(table); // no thread is at work any more
    if (!failed) {
        check_inside(); // first: a lock that is left over would hold up those who look
    }
    if (!failed) {
        check_content(found);
    }
    if (!failed) {
        check_histories(found);
    }
    return failed ? sentence : NULL;
}

/* --- slices that are alike --------------------------------------------------------------- */

static const bh__kernels *plain;
static lanes_text *lanes; // NULL: there are no stages before the plain one

/* Lets lanes do what they can of a slice's elements; answers whether some are left, which are listed. */
static bool are_left(bh__slice *slice)
{
    const bool inserts = BH_OP_INSERTS(slice->op);

    slice->stalled = 0;
    if (!inserts || current->alike == 2) {
        slice->listed = lanes(slice, LANES_PRESENT);
        if (slice->listed == 0) {
            return false;
        }
    }
    if (inserts && (slice->hints & BH_HINT_AT_ONCE) != 0) {
        // What is left stalls: the steps of a later stage, which take locks, must not meet claims.
        slice->stalled = lanes(slice, LANES_CLAIM);
        return false;
    }
    return true;
}

/* As a GPU's kernels that move no key have their elements: what finds both of its buckets full stalls. */
static void run_alike(bh__slice *slice, bh__slice_kind kind)
{
    const uint32_t listed = slice->listed;

    slice->hints = (slice->hints & ~BH_HINT_TURNOVER) | BH_HINT_ALIKE | BH_HINT_LATER;
    if (lanes == NULL || are_left(slice)) {
        plain->slice[kind](slice);
    }
    slice->listed = listed;
}

static void insert_alike(bh__slice *slice)
{
    run_alike(slice, BH_SLICE_INSERT);
}

static void erase_alike(bh__slice *slice)
{
    run_alike(slice, BH_SLICE_ERASE);
}

static void add_alike(bh__slice *slice)
{
    run_alike(slice, BH_SLICE_ADD);
}

static void mixed_alike(bh__slice *slice)
{
    run_alike(slice, BH_SLICE_MIXED);
}

/* Has the table's slices run so from here on. */
static void make_alike(void)
{
    static bh__kernels kernels;

    plain = table->kernels;
    lanes = BH_BRINGS ? NULL : lanes_of(&table->options);
    kernels = *plain;
    kernels.slice[BH_SLICE_INSERT] = insert_alike;
    kernels.slice[BH_SLICE_ERASE] = erase_alike;
    kernels.slice[BH_SLICE_ADD] = add_alike;
    kernels.slice[BH_SLICE_MIXED] = mixed_alike;
    table->kernels = &kernels;
}

/* --- set up and run ---------------------------------------------------------------------- */

void scene_set_up(const scene *s)
{
    bh_table_options options;
    bh_experimental_options experimental;

    current = s;
    design = design_of((bh_design)s->design);
    arena_used = 0;
    failed = false;
    event_count = 0;
    stamp = 1;
    bh_table_options_init(&options, s->key_bytes, s->value_bytes, s->capacity);
    options.design = (bh_design)s->design;
    options.dycuckoo.subtables = s->subtables;
    bh_experimental_options_init(&experimental);
    experimental.values = s->apart ? BH_VALUES_APART : BH_VALUES_BESIDE;
    experimental.spread = s->spread ? BH_SPREAD_THEOREM1 : BH_SPREAD_HOME_FIRST;
    options.experimental = &experimental;
    options.max_fill = design->fill_follows ? 0 : s->max_percent / 100.0;
    options.seed = s->seed;
    options.seed_fixed = 1;
    options.duplicates = s->ordered ? BH_DUPLICATES_ORDERED : BH_DUPLICATES_ANY;
    check_status(bh_table_create(context_in_arena(), &options, &table), BH_OK);
    choose_keys();
    find_named();
    for (uint32_t c = 0; c < s->start_count; c++) {
        event_count = 0;
        make_call(&s->start[c]);
    }
    check_inside();
    check_content(at_start);
    check(!failed, "before anything runs at once: %s", sentence);
    if (s->alike) {
        make_alike();
    }
    arena_used_at_start = arena_used;
    memcpy(arena_at_start, arena, arena_used);
}

uint64_t scene_refused(void)
{
    return refused;
}

const scene *scene_now(void)
{
    return current;
}

static void begin_run(void)
{
    arena_used = arena_used_at_start;
    memcpy(arena, arena_at_start, arena_used);
    table->biased_to = current->biased ? fibers_presence(0) : NULL;
    failed = false;
    event_count = 0;
    stamp = 1;
}

const char *scene_run(const fibers_schedule *schedule)
{
    begin_run();
    return check_run(fibers_run(current->fibers, play, NULL, schedule));
}

const char *scene_run_priorities(const fibers_priorities *priorities)
{
    begin_run();
    return check_run(fibers_run_priorities(current->fibers, play, NULL, priorities));
}

/* --- printing ---------------------------------------------------------------------------- */

static void print_call(FILE *to, const scene_call *call)
{
    static const char *const what[] = {"SCENE_CALL",    "SCENE_APPLY", "SCENE_RESERVE",
                                       "SCENE_COMPACT", "SCENE_CLEAR", "SCENE_EXPORT",
                                       "SCENE_STATS"};
    static const char *const ops[] = {"BH_FIND",       "BH_INSERT",     "BH_INSERT_NEW",
                                      "BH_UPDATE",     "BH_ERASE",      "BH_ADD",
                                      "BH_MIN",        "BH_MAX",        "BH_FIND_OR_INSERT",
                                      "BH_MIN_SIGNED", "BH_MAX_SIGNED", "BH_ADD_FLOAT"};

    fprintf(to, "{%s, %u, {", what[call->what], call->count);
    if (call->what > SCENE_APPLY) {
        fprintf(to, "{0}");
    } else {
        for (uint32_t i = 0; i < call->count; i++) {
            const scene_element *element = &call->element[i];
            fprintf(to, "%s{%s, %u, %llu}", i > 0 ? ", " : "",
                    ops[call->what == SCENE_CALL ? call->element[0].op : element->op], element->key,
                    (unsigned long long)element->value);
        }
    }
    fprintf(to, "}}");
}

static void print_calls(FILE *to, const char *indent, const scene_call *calls, uint32_t count)
{
    for (uint32_t c = 0; c < count; c++) {
        fprintf(to, "%s", indent);
        print_call(to, &calls[c]);
        fprintf(to, ",\n");
    }
}

void scene_print(FILE *to, const char *name, const scene *s, const fibers_schedule *schedule)
{
    fprintf(to, "static void %s(void **state)\n{\n    static const scene s = {\n", name);
    if (s->design != BH_AUTO && (bh_design)s->design != designs[0].number) {
        fprintf(to, "        .design = %u,\n", s->design);
    }
    fprintf(to, "        .key_bytes = %u,\n        .value_bytes = %u,\n        .subtables = %u,\n",
            s->key_bytes, s->value_bytes, s->subtables);
    if (s->ordered) {
        fprintf(to, "        .ordered = 1,\n");
    }
    if (s->apart) {
        fprintf(to, "        .apart = 1,\n");
    }
    if (s->spread) {
        fprintf(to, "        .spread = 1,\n");
    }
    if (s->alike) {
        fprintf(to, "        .alike = %u,\n", s->alike);
    }
    if (s->biased) {
        fprintf(to, "        .biased = 1,\n");
    }
    if (s->max_percent != 0) {
        fprintf(to, "        .max_percent = %u,\n", s->max_percent);
    }
    fprintf(to, "        .capacity = %u,\n        .seed = %llu,\n", s->capacity,
            (unsigned long long)s->seed);
    if (s->start_count > 0) {
        fprintf(to, "        .start_count = %u,\n        .start = {\n", s->start_count);
        print_calls(to, "            ", s->start, s->start_count);
        fprintf(to, "        },\n");
    }
    fprintf(to, "        .fibers = %u,\n        .fiber = {\n", s->fibers);
    for (uint32_t f = 0; f < s->fibers; f++) {
        fprintf(to, "            {%u, {\n", s->fiber[f].count);
        print_calls(to, "                ", s->fiber[f].call, s->fiber[f].count);
        fprintf(to, "            }},\n");
    }
    fprintf(to, "        },\n    };\n");
    fprintf(to, "    static const fibers_schedule schedule = {%u, %u, {", schedule->first,
            schedule->count);
    for (uint32_t i = 0; i < schedule->count; i++) {
        fprintf(to, "%s{%u, %u}", i > 0 ? ", " : "", schedule->at[i].step, schedule->at[i].fiber);
    }
    fprintf(to, "%s}};\n\n    (void)state;\n    search_replay(&s, &schedule);\n}\n",
            schedule->count == 0 ? "{0, 0}" : "");
}
