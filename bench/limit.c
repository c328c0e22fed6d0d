/* The random-line limits; see limit.h. */
#include "limit.h"

#include <stdlib.h>

#include "base/run.h"
#include "storage/block.h"

#define WINDOW_MOST 512
#define PART (1u << 19) /* lines that a thread reads at a stretch */
#define LINES (1u << 24)

struct limit {
    const bh__backend *backend;
    bh__block block;
    uint64_t lines;
    uint64_t sum; /* what was read, so that the reading is not left out */
    uint32_t window;
};

limit *limit_create(const bh__backend *backend, uint64_t bytes)
{
    limit *l = malloc(sizeof *l);

    if (!l)
        return NULL;
    l->backend = backend;
    l->lines = bytes / 64 ? bytes / 64 : 1;
    l->sum = 0;
    l->window = 64;
    if (!bh__block_create(&l->block, &backend->host, l->lines * 64)) {
        free(l);
        return NULL;
    }
    bh__block_touch(&l->block, &backend->executor, &backend->host, 0, l->block.committed);
    return l;
}

void limit_destroy(limit *l)
{
    if (!l)
        return;
    bh__block_destroy(&l->block, &l->backend->host);
    free(l);
}

/* A multiply and a shift make the next line's number: less work than any hash table has. */
static unsigned char *line_of(const limit *l, uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull;

    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    return l->block.memory + 64 * (uint64_t)((__extension__(unsigned __int128) x * l->lines) >> 64);
}

/* To the second-level cache: a core can have more lines on their way there than to the first one. */
static void ask_for(const unsigned char *line)
{
    __builtin_prefetch(line, 0, 2);
}

/* What is done to each line. */
typedef enum use { READ, CHANGE, CHANGE_LOCKED } use;

/* Answers the line's first word, which all uses read. A change writes that word and the one behind it. */
static inline uint64_t use_line(unsigned char *line, use how)
{
    uint64_t *const words = (uint64_t *)(void *)line;
    uint64_t first = __atomic_load_n(words, __ATOMIC_RELAXED);

    if (how == CHANGE_LOCKED)
        (void)__atomic_compare_exchange_n(words, &first, first | 1, 0, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED);
    if (how != READ) {
        __atomic_store_n(words + 1, first, __ATOMIC_RELAXED);
        __atomic_store_n(words, first + 2, __ATOMIC_RELEASE);
    }
    return first;
}

/* `how` is a constant. */
static inline void use_lines(limit *l, uint64_t first, uint64_t count, use how)
{
    unsigned char *window[WINDOW_MOST];
    uint64_t sum = 0, i;
    uint32_t depth = l->window, at = 0;

    for (i = 0; i < depth; i++) {
        window[i] = line_of(l, first + i);
        ask_for(window[i]);
    }
    for (i = depth; i < count; i++) {
        sum += use_line(window[at], how);
        window[at] = line_of(l, first + i);
        ask_for(window[at]);
        at = at + 1 == depth ? 0 : at + 1;
    }
    for (i = 0; i < depth; i++)
        sum += use_line(window[i], how);
    __atomic_fetch_add(&l->sum, sum, __ATOMIC_RELAXED);
}

static void read_lines(void *argument, uint64_t first, uint64_t count)
{
    use_lines(argument, first, count, READ);
}

static void change_lines(void *argument, uint64_t first, uint64_t count)
{
    use_lines(argument, first, count, CHANGE);
}

static void change_lines_locked(void *argument, uint64_t first, uint64_t count)
{
    use_lines(argument, first, count, CHANGE_LOCKED);
}

/* Million lines per second that go through `work`. */
static double rate_of(limit *l, void (*work)(void *argument, uint64_t first, uint64_t count))
{
    const bh_system *system = &l->backend->system;
    uint64_t begin = system->clock_nanoseconds(system->state), end;

    bh__run(&l->backend->executor, work, l, LINES, PART);
    end = system->clock_nanoseconds(system->state);
    return LINES * 1e3 / (double)(end - begin);
}

double limit_run(limit *l)
{
    return rate_of(l, read_lines);
}

double limit_change(limit *l, int locked)
{
    return rate_of(l, locked ? change_lines_locked : change_lines);
}

uint32_t limit_tune(limit *l)
{
    double best = 0;
    uint32_t window, chosen = 16;

    for (window = 16; window <= WINDOW_MOST; window *= 2) {
        double rate;

        l->window = window;
        rate = limit_run(l);
        if (rate > best) {
            best = rate;
            chosen = window;
        }
    }
    l->window = chosen;
    return chosen;
}
