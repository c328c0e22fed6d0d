/* Cutting a pass into tasks; see run.h. */
#include "base/run.h"

typedef struct parts {
    bh__range range;
    void *argument;
    uint64_t items;
    uint64_t grain;
} parts;

static void run_part(void *argument, uint64_t index)
{
    const parts *p = argument;
    uint64_t first = index * p->grain;
    uint64_t left = p->items - first;

    p->range(p->argument, first, left < p->grain ? left : p->grain);
}

void bh__run(const bh_executor *executor, bh__range range, void *argument, uint64_t items,
             uint64_t grain)
{
    parts p = {range, argument, items, grain};

    if (items <= grain) {
        if (items)
            range(argument, 0, items);
        return;
    }
    executor->run(executor->state, run_part, &p, items / grain + (items % grain != 0));
}
