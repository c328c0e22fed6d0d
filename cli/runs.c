/*
 * Keys in memory and their runs (see runs.h). The memory is a mapping of huge pages where the system has
 * them: of small ones 160 MB are 40,000 page faults, and those take as long as copying the keys. A
 * mapping that becomes too small is moved by the system, which copies nothing.
 */
#define _GNU_SOURCE

#include "runs.h"

#include "error.h"
#include "threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Mappings are a multiple of this, which is one of the huge page. */
static const uint64_t least_bytes = UINT64_C(4) << 20;

/* A part that one thread counts. */
enum { counted_keys = 1 << 16 };

void runs_init(struct runs *runs, uint32_t key_bytes, uint64_t most_bytes)
{
    *runs = (struct runs){.key_bytes = key_bytes, .most_bytes = most_bytes};
}

/* Brings the mapping to so many bytes. */
static bool map(struct runs *runs, uint64_t bytes)
{
    void *memory = runs->keys == NULL ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                      : mremap(runs->keys, runs->bytes, bytes, MREMAP_MAYMOVE);

    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* it works without */
    runs->keys = memory;
    runs->bytes = bytes;
    return true;
}

void *runs_room(struct runs *runs, uint64_t more, uint64_t expected)
{
    uint64_t bytes = (runs->count + more) * runs->key_bytes;

    if (bytes > runs->bytes) {
        uint64_t wanted = runs->bytes + runs->bytes / 2;

        if (wanted < expected * runs->key_bytes)
            wanted = expected * runs->key_bytes;
        if (wanted < bytes)
            wanted = bytes;
        if (wanted > runs->most_bytes)
            wanted = runs->most_bytes;
        wanted = (wanted + least_bytes - 1) / least_bytes * least_bytes;
        if (bytes > runs->most_bytes || !map(runs, wanted))
            return NULL;
    }
    return (char *)runs->keys + runs->count * runs->key_bytes;
}

void runs_close(struct runs *runs)
{
    if (runs->keys != NULL)
        munmap(runs->keys, runs->bytes);
    runs_init(runs, runs->key_bytes, runs->most_bytes);
}

/* ---------------------------- for one width of keys, a constant ---------------------------- */

#define INLINE static inline __attribute__((always_inline))

/* The first key from `begin` on that is not smaller than `key`, before `end`. */
INLINE uint64_t find(const void *keys, uint64_t begin, uint64_t end, uint64_t key,
                     uint32_t key_bytes)
{
    while (begin < end) {
        uint64_t middle = begin + (end - begin) / 2;

        if (key_at(keys, middle, key_bytes) < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Where the run ends that key `i` belongs to. Most are short, so it is searched in steps that double. */
INLINE uint64_t end_of_run(const void *keys, uint64_t i, uint64_t end, uint32_t key_bytes)
{
    uint64_t key = key_at(keys, i, key_bytes), step = 1;

    while (step < end - i && key_at(keys, i + step, key_bytes) == key)
        step *= 2;
    uint64_t last = step < end - i ? i + step : end; /* not of the run, or behind all */
    return key == UINT64_MAX ? last : find(keys, i + step / 2, last, key + 1, key_bytes);
}

/* How many runs there are: each begins where a key differs from the one before. */
INLINE uint64_t distinct_in(const void *keys, uint64_t begin, uint64_t end, uint32_t key_bytes)
{
    uint64_t runs = begin < end;

    for (uint64_t i = begin + 1; i < end; i++)
        runs += key_at(keys, i, key_bytes) != key_at(keys, i - 1, key_bytes);
    return runs;
}

/* Without branches, as nobody can foretell where a run ends: each key is written with the place behind
 * it, and the next one overwrites it as long as it is the same. */
INLINE uint64_t pairs_of(const void *keys, uint64_t begin, uint64_t end, uint64_t sign,
                         struct pair *pairs, uint32_t key_bytes)
{
    uint64_t count = 0;

    for (uint64_t i = begin; i + 1 < end; i++) {
        uint64_t key = key_at(keys, i, key_bytes);

        pairs[count] = (struct pair){(key ^ sign) - sign, i + 1};
        count += key != key_at(keys, i + 1, key_bytes);
    }
    uint64_t last = key_at(keys, end - 1, key_bytes);
    pairs[count++] = (struct pair){(last ^ sign) - sign, end};
    for (uint64_t i = 0, before = begin; i < count; i++) { /* from places to lengths */
        uint64_t place = pairs[i].count;

        pairs[i].count = place - before;
        before = place;
    }
    return count;
}

static uint64_t key_of(const struct runs *runs, uint64_t i)
{
    return key_at(runs->keys, i, runs->key_bytes);
}

/* ------------------------------------- for all widths ------------------------------------- */

bool runs_add(struct runs *runs, struct pair *pairs, uint64_t count)
{
    void *room = runs_room(runs, count, 0);

    if (room == NULL)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (runs->key_bytes == 4)
            ((uint32_t *)room)[i] = (uint32_t)pairs[i].key;
        else
            ((uint64_t *)room)[i] = pairs[i].key;
        pairs[i].count--;
    }
    runs->count += count;
    runs->besides = pairs;
    runs->besides_count = count;
    return true;
}

bool runs_sort(struct runs *runs, bh_context *context, bool is_signed)
{
    if (bh_sort(context, runs->keys, runs->key_bytes, NULL, 0, runs->count) != BH_OK)
        return false;
    if (!is_signed)
        return true;
    runs->first = runs->key_bytes == 4 ? find(runs->keys, 0, runs->count, UINT64_C(1) << 31, 4)
                                       : find(runs->keys, 0, runs->count, UINT64_C(1) << 63, 8);
    if (runs->first == runs->count)
        runs->first = 0;
    return true;
}

uint64_t runs_take(const struct runs *runs, uint64_t most, uint64_t *taken, uint64_t *begin)
{
    if (*taken == runs->count)
        return 0;
    *begin = runs->first + *taken;
    uint64_t limit = runs->count;
    if (*begin >= runs->count) { /* behind those below zero */
        *begin -= runs->count;
        limit = runs->first;
    }
    uint64_t end = limit;
    if (limit - *begin > most)
        end = runs->key_bytes == 4 ? end_of_run(runs->keys, *begin + most - 1, limit, 4)
                                   : end_of_run(runs->keys, *begin + most - 1, limit, 8);
    *taken += end - *begin;
    return end - *begin;
}

/* Adds what there is besides to the pairs of a part, whose keys have the order of the list. */
static void add_besides(const struct runs *runs, uint64_t begin, uint64_t keys, uint64_t sign,
                        struct pair *pairs)
{
    const struct pair *list = runs->besides;
    uint64_t first = key_of(runs, begin), last = key_of(runs, begin + keys - 1);
    uint64_t low = 0, high = runs->besides_count;

    while (low < high) { /* to the first that is not smaller */
        uint64_t middle = low + (high - low) / 2;

        if (list[middle].key < first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < runs->besides_count && list[low].key <= last; low++) {
        while (pairs->key != (list[low].key ^ sign) - sign)
            pairs++;
        pairs->count += list[low].count;
    }
}

uint64_t runs_pairs(const struct runs *runs, uint64_t begin, uint64_t keys, uint64_t least,
                    bool is_signed, struct pair *pairs)
{
    uint64_t sign = is_signed && runs->key_bytes == 4 ? UINT64_C(1) << 31 : 0;
    uint64_t count = runs->key_bytes == 4
                         ? pairs_of(runs->keys, begin, begin + keys, sign, pairs, 4)
                         : pairs_of(runs->keys, begin, begin + keys, 0, pairs, 8);
    uint64_t kept = 0;

    add_besides(runs, begin, keys, sign, pairs);
    if (least <= 1)
        return count;
    for (uint64_t i = 0; i < count; i++) {
        pairs[kept] = pairs[i];
        kept += pairs[i].count >= least;
    }
    return kept;
}

/* What threads that count runs share. */
struct counting {
    const struct runs *runs;
    uint64_t least;
    pthread_mutex_t lock;
    uint64_t taken;
    uint64_t number;
};

static uint64_t number_in_part(const struct counting *counting, uint64_t begin, uint64_t keys,
                               struct pair *pairs)
{
    const struct runs *runs = counting->runs;

    if (counting->least > 1)
        return runs_pairs(runs, begin, keys, counting->least, false, pairs);
    return runs->key_bytes == 4 ? distinct_in(runs->keys, begin, begin + keys, 4)
                                : distinct_in(runs->keys, begin, begin + keys, 8);
}

static void count_parts(void *argument)
{
    struct counting *counting = argument;
    struct pair *pairs = counting->least > 1 ? malloc(counted_keys * sizeof *pairs) : NULL;
    uint64_t begin, keys, number = 0;

    if (counting->least > 1 && pairs == NULL)
        fail("count: no memory to count the keys; free some and try again");
    do {
        pthread_mutex_lock(&counting->lock);
        counting->number += number;
        keys = runs_take(counting->runs, counted_keys, &counting->taken, &begin);
        pthread_mutex_unlock(&counting->lock);
        if (keys > 0)
            number = number_in_part(counting, begin, keys, pairs);
    } while (keys > 0);
    free(pairs);
}

uint64_t runs_number(const struct runs *runs, uint64_t least, uint32_t threads)
{
    struct counting counting = {.runs = runs, .least = least};

    pthread_mutex_init(&counting.lock, NULL);
    threads_run(threads, count_parts, &counting);
    pthread_mutex_destroy(&counting.lock);
    return counting.number;
}
