/*
 * Each key marks a byte. (Bits would take locked instructions where several tasks set them.) Of more than KEYS_MOST elements a part of the
 * keys counts: which keys do depends on their hash, so all elements with equal keys count, or none.
 */
#include "cpu/census.h"

#include <string.h>

#include "base/atomic.h"
#include "base/run.h"
#include "cpu/scramble.h"
#include "primitives/linear_counting.h"

/* There are eight marks for each element, but so many at least and at most, and two at least for each of KEYS_MOST elements. */
#define BITS_LEAST 12u
#define BITS_MOST 17u
#define KEYS_MOST (UINT64_C(1) << (BITS_MOST - 1))

/* Elements of a task: some 100 us. Chosen, not tuned. */
#define TASK (UINT64_C(1) << 16)

int bh__census_begin(bh__census *s, const bh_system *system, uint32_t key_bytes, uint64_t elements)
{
    s->key_bytes = key_bytes;
    s->every = 1;
    s->below = 64 - BITS_MOST;
    for (; elements / s->every > KEYS_MOST; s->every *= 2)
        s->below--;
    for (s->bits = BITS_LEAST; s->bits < BITS_MOST && elements >> (s->bits - 3); s->bits++)
        ;
    s->marks = system->allocate(system->state, UINT64_C(1) << s->bits);
    if (s->marks)
        memset(s->marks, 0, (size_t)1 << s->bits);
    return s->marks != NULL;
}

void bh__census_end(const bh__census *s, const bh_system *system)
{
    system->release(system->state, s->marks, UINT64_C(1) << s->bits);
}

static inline void mark(const bh__census *s, uint64_t key)
{
    const uint64_t word = bh__scramble(key);

    if (!(word >> s->below & (s->every - 1)))
        bh__atomic_store(&s->marks[word >> (64 - s->bits)], 1, __ATOMIC_RELAXED);
}

typedef struct job {
    bh__census census;
    const void *keys;
} job;

static void mark_range(void *argument, uint64_t first, uint64_t count)
{
    const job *j = argument;
    const bh__census s = j->census;
    uint64_t i;

    if (s.key_bytes == 4)
        for (i = first; i < first + count; i++)
            mark(&s, bh__key_at(j->keys, 4, i));
    else
        for (i = first; i < first + count; i++)
            mark(&s, bh__key_at(j->keys, 8, i));
}

void bh__census_array(bh__census *s, const bh_executor *executor, const void *keys, uint64_t count)
{
    job j = {*s, keys};

    bh__run(executor, mark_range, &j, count, TASK);
}

void bh__census_list(bh__census *s, const void *keys, const uint16_t *list, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        mark(s, bh__key_at(keys, s->key_bytes, list[i]));
}

uint64_t bh__census_keys(const bh__census *s)
{
    const uint64_t places = UINT64_C(1) << s->bits;
    uint64_t marked = 0, eight, i;

    for (i = 0; i < places; i += sizeof eight) {
        memcpy(&eight, s->marks + i, sizeof eight);
        marked += eight * 0x0101010101010101u >> 56; /* the sum of its bytes */
    }
    return bh_keys_of_places(marked, places) * s->every;
}
