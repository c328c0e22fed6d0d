/* The random-line limit; see limit.h. */
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
static const unsigned char *line_of(const limit *l, uint64_t i)
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

static void read_lines(void *argument, uint64_t first, uint64_t count)
{
    limit *l = argument;
    const unsigned char *window[WINDOW_MOST];
    uint64_t sum = 0, i;
    uint32_t depth = l->window, at = 0;

    for (i = 0; i < depth; i++) {
        window[i] = line_of(l, first + i);
        ask_for(window[i]);
    }
    for (i = depth; i < count; i++) {
        sum += *(const volatile uint64_t *)(const void *)window[at];
        window[at] = line_of(l, first + i);
        ask_for(window[at]);
        at = at + 1 == depth ? 0 : at + 1;
    }
    for (i = 0; i < depth; i++)
        sum += *(const volatile uint64_t *)(const void *)window[i];
    __atomic_fetch_add(&l->sum, sum, __ATOMIC_RELAXED);
}

double limit_run(limit *l)
{
    const bh_system *system = &l->backend->system;
    uint64_t begin = system->clock_nanoseconds(system->state), end;

    bh__run(&l->backend->executor, read_lines, l, LINES, PART);
    end = system->clock_nanoseconds(system->state);
    return LINES * 1e3 / (double)(end - begin);
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
