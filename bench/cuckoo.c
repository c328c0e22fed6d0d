/*
 * Cuckoo tables of one-pair slots on cores and on a GPU; see cuckoo.h.
 *
 * On cores a thread takes a block of elements and goes through it in rounds: in each it visits one place of every
 * element, and prefetches the next place of those that need another one.
 */
#include "cuckoo.h"

#include <string.h>

#include "base/run.h"

#define BLOCK_KEYS 32u
#define PART_KEYS (1u << 14)

int cuckoo_create(const bench *b, cuckoo *c, uint64_t keys, double fill, int pinned)
{
    const double slots = (double)keys / fill;
    const uint64_t bytes = ((uint64_t)slots + 1) * sizeof *c->slots;
    void *memory;

    if (b->settings.key_bytes != 4 || b->settings.value_bytes != 4 || slots >= UINT32_MAX)
        return 0;
    memset(c, 0, sizeof *c);
    c->slot_count = (uint32_t)slots + 1;
    c->pinned = pinned;
    if (!b->on_gpu) {
        if (!bh__block_create(&c->block, &b->backend->host, bytes))
            return 0;
        memory = c->block.memory;
    } else if (pinned) {
        memory = gpu_pinned(b, bytes);
    } else {
        check_gpu(gpu_there->allocate(b->on_gpu->gpu, bytes, &memory));
        check_gpu(gpu_there->fill(b->on_gpu->gpu, memory, 0xff, bytes));
    }
    if (pinned || !b->on_gpu)
        memset(memory, 0xff, bytes); /* ONE_SLOT_EMPTY */
    c->slots = memory;
    return 1;
}

void cuckoo_destroy(const bench *b, cuckoo *c)
{
    if (!b->on_gpu)
        bh__block_destroy(&c->block, &b->backend->host);
    else if (c->pinned)
        gpu_free_pinned(b, c->slots);
    else
        check_gpu(gpu_there->release(b->on_gpu->gpu, c->slots));
}

/* Elements of a block that are not done: their numbers, and what is being put where, or looked up where. */
typedef struct waiting {
    uint32_t count;
    uint64_t element[BLOCK_KEYS];
    uint64_t pair[BLOCK_KEYS];
    uint32_t place[BLOCK_KEYS];
} waiting;

static void wait_for(const one_slot_call *c, waiting *w, uint64_t element, uint64_t pair,
                     uint32_t place)
{
    w->element[w->count] = element;
    w->pair[w->count] = pair;
    w->place[w->count++] = place;
    if (c->what == BH_INSERT)
        __builtin_prefetch(&c->slots[place], 1);
    else
        __builtin_prefetch(&c->slots[place], 0);
}

static void begin_block(const one_slot_call *c, waiting *w, uint64_t first, uint64_t count)
{
    uint64_t i;

    w->count = 0;
    for (i = first; i < first + count; i++)
        if (!c->ops || c->ops[i] == c->what) {
            c->outcomes[i] = c->what == BH_INSERT ? BH_INSERTED : BH_MISSING;
            wait_for(c, w, i, one_slot_pair(c->keys[i], c->what == BH_INSERT ? c->values[i] : 0),
                     one_slot_place(c->keys[i], 0, c->slot_count));
        }
}

static void insert_block(const one_slot_call *c, waiting *w)
{
    uint32_t step, i;

    for (step = 0; step < ONE_SLOT_CHAIN && w->count; step++) {
        const uint32_t count = w->count;

        w->count = 0;
        for (i = 0; i < count; i++) {
            const uint64_t out = one_slot_exchange(&c->slots[w->place[i]], w->pair[i]);

            if (out != ONE_SLOT_EMPTY)
                wait_for(c, w, w->element[i], out,
                         one_slot_next((uint32_t)out, w->place[i], c->slot_count));
        }
    }
    for (i = 0; i < w->count; i++)
        c->outcomes[w->element[i]] = BH_NOT_DONE;
}

static void find_block(const one_slot_call *c, waiting *w)
{
    uint32_t place, i;

    for (place = 1; place <= ONE_SLOT_PLACES && w->count; place++) {
        const uint32_t count = w->count;

        w->count = 0;
        for (i = 0; i < count; i++) {
            const uint64_t pair = one_slot_load(&c->slots[w->place[i]]);
            const uint32_t key = (uint32_t)w->pair[i];

            if ((uint32_t)pair == key && pair != ONE_SLOT_EMPTY) {
                c->values[w->element[i]] = (uint32_t)(pair >> 32);
                c->outcomes[w->element[i]] = BH_FOUND;
            } else if (place < ONE_SLOT_PLACES && !(c->stops && pair == ONE_SLOT_EMPTY)) {
                wait_for(c, w, w->element[i], key, one_slot_place(key, place, c->slot_count));
            }
        }
    }
}

static void run_some(void *argument, uint64_t first, uint64_t count)
{
    const one_slot_call *c = argument;
    const uint64_t end = first + count;
    waiting w;

    for (; first < end; first += BLOCK_KEYS) {
        begin_block(c, &w, first, end - first < BLOCK_KEYS ? end - first : BLOCK_KEYS);
        if (c->what == BH_INSERT)
            insert_block(c, &w);
        else
            find_block(c, &w);
    }
}

static void run(const bench *b, one_slot_call *c, bh_op what)
{
    c->what = (uint8_t)what;
    if (b->on_gpu)
        check_gpu(gpu_there->one_slot(b->on_gpu->gpu, c));
    else
        bh__run(&b->backend->executor, run_some, c, c->n, PART_KEYS);
}

double cuckoo_timed(const bench *b, const cuckoo *c, const gpu_call *call)
{
    const uint32_t *keys = call->keys;
    uint32_t *values = call->values;
    double taken, begin = seconds(b);
    uint64_t i;

    if (b->on_gpu)
        check_gpu(gpu_there->begin(b->on_gpu->gpu));
    for (i = 0; i < call->n; i += call->part) {
        const int mixed = call->what == GPU_APPLY;
        one_slot_call part = {.slots = c->slots,
                              .slot_count = c->slot_count,
                              .stops = c->stops,
                              .keys = keys + i,
                              .values = values + i,
                              .outcomes = call->outcomes + i,
                              .ops = mixed ? call->ops + i : NULL,
                              .n = call->n - i < call->part ? call->n - i : call->part};

        if (call->what != BH_FIND)
            run(b, &part, BH_INSERT);
        if (call->what != BH_INSERT)
            run(b, &part, BH_FIND);
    }
    if (!b->on_gpu)
        return seconds(b) - begin;
    check_gpu(gpu_there->end(b->on_gpu->gpu, &taken));
    return taken;
}
