/*
 * peers on a GPU: other people's tables (gpu_peers.h) beside ours, in the same run.
 *
 * Both are fed the same arrays of keys and values, which lie on the device, and both are timed by the clock
 * on the wall, from the call until the host knows that it is done: ours returns when it is, and a peer's
 * launch is followed by waiting for its stream. A peer answers nothing for a key, so ours is asked for no
 * outcomes either. What a peer needs for erasing, an empty and an erased key, are keys that nobody else has.
 *
 * A peer has several configurations. All of them are measured, each on tables of its own, one after the
 * other; a line compares with the one that has the highest median. The figure is the ratio of our rate to
 * that one's, by repetition: above 1 ours is faster. The first repetition warms up and is not counted.
 *
 * Nothing is checked inside the timed part. After it the tables are asked how many keys they have, and all
 * their values are looked up and compared on the device.
 */
#include "gpu_peers.h"
#include "on_gpu.h"

#include <stdio.h>
#include <string.h>

#define CONFIGURATIONS_MOST 16

/* The value that stands for none, and one of its bytes. It is odd, so it is the double of no value. */
#define NOTHING_BYTE 0xa5u
#define NOTHING UINT64_C(0xa5a5a5a5a5a5a5a5)

/* Lookups and assignments are repeated until there are so many of them, but no more often than this. */
#define REPEATED_KEYS (UINT64_C(1) << 25)
#define REPEATED_MORE 15u

static const uint64_t sizes[] = {100000, 1000000, 25000000, 50000000, 300000000};
static const double fills[] = {0.5, 0.84, 0.9};

/* Tables of the second part, and the calls on them: as many as are CALLS_MOST, and no more keys than the
 * table has. */
#define CALLS_TABLE (UINT64_C(1) << 24)
#define CALLS_MOST 16u
static const uint64_t batches[] = {UINT64_C(1) << 16, UINT64_C(1) << 20, UINT64_C(1) << 22,
                                   UINT64_C(1) << 24};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- arrays and tables --------------------------------------------------------------------- */

/* What one size works with. Keys and values are as wide as each other, so `absent` also serves as
 * values that are not the first ones. */
typedef struct work {
    bench *b;
    uint64_t n;
    mirrored keys;
    mirrored absent;
    mirrored values;
    void *found; /* on the device alone */
    uint32_t salt;
} work;

/* A table of ours or, where `peer` is not NULL, of that peer's. */
typedef struct side {
    const work *w;
    const gpu_peer *peer;
    void *table;
    bh_table_stats stats; /* what expect_keys() saw last; of a peer's table keys and slots */
    double fill;          /* with all pairs in it */
} side;

/* An operation on the n elements from `first` on, in calls of `part`. */
typedef struct step {
    int ours; /* a bh_op */
    gpu_peer_op theirs;
    const mirrored *keys;
    const void *values;
    uint64_t n;
    uint64_t part;
    uint32_t more; /* how often it is repeated */
} step;

/* Whether there is the memory for one table of n pairs, and for what our insertion takes besides for a
 * while, to sort the pairs. */
static int has_memory(const bench *b, uint64_t n)
{
    const settings *s = &b->settings;
    double table = (double)n * (s->key_bytes + s->value_bytes) / s->fill;
    uint64_t bytes;

    check_gpu(gpu_there->unused(b->on_gpu->gpu, &bytes));
    return 2.5 * table < (double)bytes;
}

/* Sentences about what is not measured do not belong between objects. */
static FILE *words(const bench *b)
{
    return b->settings.json ? stderr : stdout;
}

static void say_left_out(const bench *b, uint64_t n)
{
    fprintf(words(b),
            "%llu pairs u%u->u%u, %.2f full, are left out: there is not the memory for them\n",
            (unsigned long long)n, 8 * b->settings.key_bytes, 8 * b->settings.value_bytes,
            b->settings.fill);
}

static void free_work(work *w)
{
    mirrored *arrays[] = {&w->keys, &w->absent, &w->values};
    uint32_t i;

    for (i = 0; i < COUNT(arrays); i++)
        if (arrays[i]->device)
            mirror_free(w->b, arrays[i]);
    if (w->found)
        check_gpu(gpu_there->release(w->b->on_gpu->gpu, w->found));
}

/* For arrays of n elements, and tables for so many pairs, as full as the settings say. Answers 0, and says
 * so, where there is not the memory. */
static int make_work(bench *b, work *w, uint64_t n, uint64_t pairs)
{
    const uint64_t bytes = b->settings.key_bytes;

    memset(w, 0, sizeof *w);
    w->b = b;
    w->n = n;
    if (mirror_where_possible(b, n, bytes, &w->keys) &&
        mirror_where_possible(b, n, bytes, &w->absent) &&
        mirror_where_possible(b, n, bytes, &w->values) &&
        !gpu_there->allocate(b->on_gpu->gpu, n * bytes, &w->found) && has_memory(b, pairs))
        return 1;
    free_work(w);
    say_left_out(b, n);
    return 0;
}

static void fill_work(work *w, uint32_t salt)
{
    w->salt = salt;
    fill_mirrors(w->b, &w->keys, &w->absent, &w->values, w->n, salt);
}

/* A key that is in neither array; another one for each i. */
static uint64_t key_beyond(const work *w, uint64_t i)
{
    uint64_t key = 0;
    uint32_t half = 0;

    if (w->b->settings.key_bytes == 8) {
        fill_keys(w->b, &key, 2 * w->n + i, 1, w->salt);
        return key;
    }
    fill_keys(w->b, &half, 2 * w->n + i, 1, w->salt);
    return half;
}

/* A table for so many keys, as full as the settings say. Answers 0 where our design cannot have one. */
static int open_side(side *s, const work *w, const gpu_peer *peer, uint64_t capacity)
{
    const gpu_peer_table wanted = {gpu_there->stream(w->b->on_gpu->gpu),
                                   capacity,
                                   w->b->settings.fill,
                                   key_beyond(w, 0),
                                   key_beyond(w, 1),
                                   NOTHING};
    bh_table *table;

    memset(s, 0, sizeof *s);
    s->w = w;
    s->peer = peer;
    if (peer) {
        s->table = peer->create(&wanted);
        return 1;
    }
    if (!gpu_table_of(w->b, capacity, &table))
        return 0;
    s->table = table;
    return 1;
}

static void close_side(const side *s)
{
    if (s->peer)
        s->peer->destroy(s->table);
    else
        bh_table_destroy(s->table);
}

/* Looks again what the table holds, which has to be so many keys. */
static void expect_keys(side *s, uint64_t keys)
{
    const bench *b = s->w->b;
    char sentence[200];

    if (s->peer) {
        check_gpu(s->peer->keys(s->table, &s->stats.keys));
        s->stats.slots = s->peer->slots(s->table);
    } else {
        s->stats = stats_of(s->table);
    }
    if (s->stats.keys == keys)
        return;
    snprintf(sentence, sizeof sentence, "the table of %s (%s) holds %llu keys instead of %llu",
             s->peer ? s->peer->library : "ours",
             s->peer ? s->peer->configured : b->settings.design, (unsigned long long)s->stats.keys,
             (unsigned long long)keys);
    fail(sentence);
}

/* --- operations ---------------------------------------------------------------------------- */

static void run_peer(const side *s, const step *what)
{
    const bench *b = s->w->b;
    uint32_t time;
    uint64_t i;

    for (time = 0; time <= what->more; time++) {
        for (i = 0; i < what->n; i += what->part) {
            uint64_t n = what->n - i < what->part ? what->n - i : what->part;

            check_gpu(s->peer->run(s->table, what->theirs, key_at(b, what->keys->device, i),
                                   value_at(b, what->values, i), n));
            check_gpu(gpu_there->wait(b->on_gpu->gpu));
        }
    }
}

/* Seconds that it takes, the mean over the repetitions. Answers 0 when our design cannot do it. What
 * gpu_timed() does for ours is done here for a peer. */
static int timed_on(const side *s, const step *what, double *taken)
{
    const bench *b = s->w->b;
    gpu_call c = {what->ours,
                  s->table,
                  what->keys->device,
                  (void *)(uintptr_t)what->values,
                  NULL,
                  NULL,
                  what->n,
                  what->part,
                  1,
                  what->more};
    double from;

    if (!s->peer)
        return gpu_timed(b, &c, taken);
    check_gpu(gpu_there->wait(b->on_gpu->gpu));
    from = seconds(b);
    run_peer(s, what);
    *taken = (seconds(b) - from) / (what->more + 1.0);
    return 1;
}

static uint32_t repetitions_more(uint64_t n)
{
    return n > REPEATED_KEYS / REPEATED_MORE ? (uint32_t)(REPEATED_KEYS / n) : REPEATED_MORE;
}

static void empty_found(const work *w)
{
    check_gpu(gpu_there->fill(w->b->on_gpu->gpu, w->found, NOTHING_BYTE,
                              w->n * w->b->settings.value_bytes));
}

/* What lookups of `n` keys from `first` on wrote to `found` has to be this. */
static void expect_found(const side *s, uint64_t first, uint64_t n, const void *values,
                         uint64_t factor)
{
    const bench *b = s->w->b;
    gpu_comparison c = {value_at(b, s->w->found, first), NULL, factor, n, b->settings.value_bytes};
    char sentence[200];
    uint64_t differing;

    if (values)
        c.expected = value_at(b, values, first);
    check_gpu(gpu_there->differing(b->on_gpu->gpu, &c, &differing));
    if (!differing)
        return;
    snprintf(sentence, sizeof sentence, "%llu of %llu values are wrong in the table of %s (%s)",
             (unsigned long long)differing, (unsigned long long)n,
             s->peer ? s->peer->library : "ours",
             s->peer ? s->peer->configured : b->settings.design);
    fail(sentence);
}

static int look_up(const side *s, const mirrored *keys, uint64_t n)
{
    step what = {BH_FIND, PEER_FIND, keys, s->w->found, n, n, 0};
    double taken;

    empty_found(s->w);
    return timed_on(s, &what, &taken);
}

/* --- lines --------------------------------------------------------------------------------- */

/* One line of the output: samples of ours and of all configurations, in the same order. */
typedef struct line {
    result r;
    char name[64];
    char figure[64];
    char peer[128];
    samples mops[CONFIGURATIONS_MOST];
    double fill[CONFIGURATIONS_MOST];
} line;

/* The peers of the settings' widths. */
typedef struct peers_of_widths {
    const gpu_peer *at[CONFIGURATIONS_MOST];
    uint32_t count;
} peers_of_widths;

static peers_of_widths choose_peers(const bench *b)
{
    peers_of_widths chosen = {.count = 0};
    const gpu_peer *p;

    for (p = gpu_peers; p->library && chosen.count < CONFIGURATIONS_MOST; p++)
        if (p->key_bytes == b->settings.key_bytes && p->value_bytes == b->settings.value_bytes)
            chosen.at[chosen.count++] = p;
    return chosen;
}

static void begin_line(line *l, const char *op, double hit_rate, uint64_t batch)
{
    memset(l, 0, sizeof *l);
    l->r.experiment = "peers";
    l->r.name = l->name;
    l->r.op = op;
    l->r.state = "fresh";
    l->r.clock = "wall";
    l->r.hit_rate = hit_rate;
    l->r.batch = batch;
    l->r.figure = l->figure;
}

/* Enters n keys in so many seconds; `configuration` -1 is ours. */
static void enter_side(line *l, int configuration, const side *s, uint64_t n, double taken)
{
    if (configuration < 0) {
        enter(&l->r, n, taken);
        return;
    }
    sample(&l->mops[configuration], (double)n / taken * 1e-6);
    l->fill[configuration] = s->fill;
}

/* The table has all pairs that it is going to have while something is measured. */
static void note_table(side *s, line *lines, uint32_t count)
{
    uint32_t i;

    s->fill = (double)s->stats.keys / (double)s->stats.slots;
    for (i = 0; i < count && !s->peer; i++)
        result_table(&lines[i].r, &s->stats);
}

/* Compares with the configuration that is fastest in the median. */
static void print_line(const bench *b, line *l, const peers_of_widths *peers)
{
    uint32_t best = 0, i;
    double highest = 0;

    for (i = 0; i < peers->count; i++) {
        samples sorted = l->mops[i];

        if (sorted.count && median(&sorted) > highest) {
            highest = median(&sorted);
            best = i;
        }
    }
    l->r.peer = l->peer;
    l->r.peer_commit = gpu_peers_commit;
    l->r.peer_fill = l->fill[best];
    l->r.peer_mops = l->mops[best];
    snprintf(l->peer, sizeof l->peer, "%s, %s", peers->at[best]->library,
             peers->at[best]->configured);
    snprintf(l->figure, sizeof l->figure, "times %s", peers->at[best]->library);
    for (i = 0; i < l->r.mops.count; i++)
        sample(&l->r.value, l->r.mops.at[i] / l->r.peer_mops.at[i]);
    print(b, &l->r);
}

static void say_heading(const bench *b, uint64_t n)
{
    const settings *s = &b->settings;

    if (!s->json)
        printf("%s, %llu pairs u%u->u%u on %s, beside commit %s of %s; %u repetitions\n", s->design,
               (unsigned long long)n, 8 * s->key_bytes, 8 * s->value_bytes,
               gpu_there->name(b->on_gpu->gpu), gpu_peers_commit, gpu_peers[0].library,
               s->repetitions);
}

/* --- one operation after the other, of all pairs -------------------------------------------- */

enum { INSERT, FIND, MISS, ADD, ASSIGN, ERASE, OPS };

static const struct {
    const char *name;
    const char *op;
    double hit_rate;
    int ours;
    gpu_peer_op theirs;
    int repeatable;
} operations[OPS] = {
    [INSERT] = {"insert", "insert", 0, BH_INSERT, PEER_INSERT, 0},
    [FIND] = {"find, present", "find", 1, BH_FIND, PEER_FIND, 1},
    [MISS] = {"find, absent", "find", 0, BH_FIND, PEER_FIND, 1},
    [ADD] = {"add, present", "add", 1, BH_ADD, PEER_ADD, 0},
    [ASSIGN] = {"assign, present", "insert", 1, BH_INSERT, PEER_ASSIGN, 1},
    [ERASE] = {"erase half", "erase", 1, BH_ERASE, PEER_ERASE, 0},
};

/* What the array of values of an operation is. */
static const void *values_of(const work *w, int op)
{
    switch (op) {
    case FIND:
    case MISS: return w->found;
    case ASSIGN: return w->absent.device;
    default: return w->values.device;
    }
}

static uint64_t keys_of(const work *w, int op)
{
    return op == ERASE ? (w->n + 1) / 2 : w->n;
}

/* Checks a table after an operation; *expected, times *factor, are the values of all keys after it. */
static void check_after(side *s, int op, const void **expected, uint64_t *factor)
{
    const work *w = s->w;
    const uint64_t erased = keys_of(w, ERASE);

    if (op == FIND)
        expect_found(s, 0, w->n, *expected, *factor);
    if (op == MISS)
        expect_found(s, 0, w->n, NULL, NOTHING);
    if (op == FIND || op == MISS)
        return;
    if (op == ADD)
        *factor += 1;
    if (op == ASSIGN) {
        *expected = w->absent.device;
        *factor = 1;
    }
    expect_keys(s, op == ERASE ? w->n - erased : w->n);
    if (!look_up(s, &w->keys, w->n))
        return;
    if (op == ERASE)
        expect_found(s, 0, erased, NULL, NOTHING);
    else
        expect_found(s, 0, erased, *expected, *factor);
    if (w->n > erased)
        expect_found(s, erased, w->n - erased, *expected, *factor);
}

/* One life of a table. */
static void live(const work *w, const gpu_peer *peer, int configuration, int counted, line *lines)
{
    const void *expected = w->values.device;
    uint64_t factor = 1;
    double taken;
    side s;
    int op;

    if (!open_side(&s, w, peer, w->n)) {
        for (op = 0; op < OPS; op++)
            gpu_unsupported(&lines[op].r, 1);
        return;
    }
    for (op = 0; op < OPS; op++) {
        const uint64_t n = keys_of(w, op);
        step what = {operations[op].ours,
                     operations[op].theirs,
                     op == MISS ? &w->absent : &w->keys,
                     values_of(w, op),
                     n,
                     n,
                     operations[op].repeatable ? repetitions_more(n) : 0};

        if (op == FIND || op == MISS)
            empty_found(w);
        if (!timed_on(&s, &what, &taken)) {
            gpu_unsupported(&lines[op].r, 1);
            continue;
        }
        check_after(&s, op, &expected, &factor);
        if (op == INSERT)
            note_table(&s, lines, OPS);
        if (counted)
            enter_side(&lines[op], configuration, &s, n, taken);
    }
    close_side(&s);
}

static void run_fill(work *w, const peers_of_widths *peers)
{
    const bench *b = w->b;
    line lines[OPS];
    uint32_t repetition, i;
    int op;

    for (op = 0; op < OPS; op++) {
        begin_line(&lines[op], operations[op].op, operations[op].hit_rate, keys_of(w, op));
        snprintf(lines[op].name, sizeof lines[op].name, "%s, %.2f full", operations[op].name,
                 b->settings.fill);
    }
    for (repetition = 0; repetition <= b->settings.repetitions; repetition++) {
        fill_work(w, salt_of(repetition));
        live(w, NULL, -1, repetition > 0, lines);
        for (i = 0; i < peers->count; i++)
            live(w, peers->at[i], (int)i, repetition > 0, lines);
    }
    for (op = 0; op < OPS; op++)
        print_line(b, &lines[op], peers);
}

static void run_size(bench *b, uint64_t n)
{
    const peers_of_widths peers = choose_peers(b);
    const double given = b->settings.fill;
    uint32_t i;
    work w;

    for (i = 0; i < COUNT(fills); i++) {
        if (b->settings.fill_given && i)
            break;
        if (!b->settings.fill_given)
            b->settings.fill = fills[i];
        if (!make_work(b, &w, n, n))
            continue;
        say_heading(b, n);
        run_fill(&w, &peers);
        free_work(&w);
    }
    b->settings.fill = given;
}

/* --- calls of some keys on a large table ----------------------------------------------------- */

enum { CALL_FIND, CALL_ASSIGN, CALL_INSERT, CALL_ERASE, CALLS };

static const struct {
    const char *name;
    const char *op;
    double hit_rate;
} calls[CALLS] = {
    [CALL_FIND] = {"find", "find", 1},
    [CALL_ASSIGN] = {"assign", "insert", 1},
    [CALL_INSERT] = {"insert new", "insert", 0},
    [CALL_ERASE] = {"erase", "erase", 1},
};

/* Keys of a call; of a small table all at once. */
static uint64_t batch_at(const work *w, uint32_t i)
{
    return !i && w->n < batches[0] ? w->n : batches[i];
}

static uint64_t calls_of(const work *w, uint64_t batch)
{
    return w->n / batch < CALLS_MOST ? w->n / batch : CALLS_MOST;
}

/* Times calls of one kind; answers 0, and notes it, when our design cannot do them. */
static int timed_calls(const side *s, const step *what, int configuration, int counted, line *l)
{
    double taken;

    if (!timed_on(s, what, &taken)) {
        gpu_unsupported(&l->r, 1);
        return 0;
    }
    if (counted)
        enter_side(l, configuration, s, what->n, taken);
    return 1;
}

/* All kinds of calls of so many keys. The table has the keys of the one array, with their values, before and
 * after. */
static void run_calls_of(side *s, uint64_t batch, int configuration, int counted, line *lines)
{
    const work *w = s->w;
    const uint64_t n = batch * calls_of(w, batch);
    const step find = {BH_FIND, PEER_FIND, &w->keys, w->found, n, batch, 0},
               assign = {BH_INSERT, PEER_ASSIGN, &w->keys, w->absent.device, n, batch, 0},
               back = {BH_INSERT, PEER_ASSIGN, &w->keys, w->values.device, n, batch, 0},
               insert = {BH_INSERT, PEER_INSERT, &w->absent, w->values.device, n, batch, 0},
               erase = {BH_ERASE, PEER_ERASE, &w->absent, w->values.device, n, batch, 0};
    double taken;

    empty_found(w);
    if (timed_calls(s, &find, configuration, counted, &lines[CALL_FIND]))
        expect_found(s, 0, n, w->values.device, 1);
    if (timed_calls(s, &assign, configuration, counted, &lines[CALL_ASSIGN])) {
        if (look_up(s, &w->keys, n))
            expect_found(s, 0, n, w->absent.device, 1);
        timed_on(s, &back, &taken);
    }
    if (!timed_calls(s, &insert, configuration, counted, &lines[CALL_INSERT]))
        return;
    expect_keys(s, w->n + n);
    if (look_up(s, &w->absent, n))
        expect_found(s, 0, n, w->values.device, 1);
    if (!timed_calls(s, &erase, configuration, counted, &lines[CALL_ERASE]))
        return;
    expect_keys(s, w->n);
    if (look_up(s, &w->absent, n))
        expect_found(s, 0, n, NULL, NOTHING);
}

/* The table has room for as many new keys as it has. */
static void live_calls(const work *w, const gpu_peer *peer, int configuration, int counted,
                       line (*lines)[CALLS])
{
    const step fill = {BH_INSERT, PEER_INSERT, &w->keys, w->values.device, w->n, w->n, 0};
    double taken;
    uint32_t i, j;
    side s;

    if (!open_side(&s, w, peer, 2 * w->n)) {
        for (i = 0; i < COUNT(batches); i++)
            for (j = 0; j < CALLS; j++)
                gpu_unsupported(&lines[i][j].r, 1);
        return;
    }
    if (timed_on(&s, &fill, &taken)) {
        expect_keys(&s, w->n);
        for (i = 0; i < COUNT(batches) && batch_at(w, i) <= w->n; i++) {
            note_table(&s, lines[i], CALLS);
            run_calls_of(&s, batch_at(w, i), configuration, counted, lines[i]);
            /* A design that cannot erase has the new keys for good. */
            if (s.stats.keys != w->n)
                break;
        }
    }
    close_side(&s);
}

static void run_calls_on_table(bench *b)
{
    const peers_of_widths peers = choose_peers(b);
    const uint64_t n =
        b->settings.keys_given && b->settings.keys < CALLS_TABLE ? b->settings.keys : CALLS_TABLE;
    line lines[COUNT(batches)][CALLS];
    uint32_t repetition, i, j;
    work w;

    if (!make_work(b, &w, n, 2 * n))
        return;
    say_heading(b, n);
    for (i = 0; i < COUNT(batches); i++) {
        for (j = 0; j < CALLS; j++) {
            begin_line(&lines[i][j], calls[j].op, calls[j].hit_rate, batch_at(&w, i));
            snprintf(lines[i][j].name, sizeof lines[i][j].name, "%s, calls of %llu", calls[j].name,
                     (unsigned long long)batch_at(&w, i));
            lines[i][j].r.per_call = 1;
        }
    }
    for (repetition = 0; repetition <= b->settings.repetitions; repetition++) {
        fill_work(&w, salt_of(repetition));
        live_calls(&w, NULL, -1, repetition > 0, lines);
        for (i = 0; i < peers.count; i++)
            live_calls(&w, peers.at[i], (int)i, repetition > 0, lines);
    }
    for (j = 0; j < CALLS; j++)
        for (i = 0; i < COUNT(batches) && batch_at(&w, i) <= n; i++)
            print_line(b, &lines[i][j], &peers);
    free_work(&w);
}

static void run_widths(bench *b)
{
    const settings *s = &b->settings;
    uint32_t i, sizes_run = 0;

    if (s->key_bytes != s->value_bytes) {
        fputs("peers on a GPU are compared with --widths 4,4 and 8,8 alone\n", words(b));
        return;
    }
    for (i = 0; i < COUNT(sizes); i++) {
        if (s->keys_given && sizes[i] > s->keys)
            break;
        run_size(b, sizes[i]);
        sizes_run++;
    }
    if (!sizes_run)
        run_size(b, s->keys);
    run_calls_on_table(b);
}

void run_gpu_peers(bench *b)
{
    const settings given = b->settings;

    if (*gpu_peers_missing) {
        fprintf(words(b), "%s\n", gpu_peers_missing);
        return;
    }
    for (uint32_t bytes = 4; bytes <= 8 && !given.widths_given; bytes += 4) {
        b->settings.key_bytes = b->settings.value_bytes = bytes;
        run_widths(b);
    }
    b->settings = given;
    if (given.widths_given)
        run_widths(b);
}
