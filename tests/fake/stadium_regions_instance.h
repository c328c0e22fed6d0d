/* One pair of widths of stadium_regions.c. */
#if !BH_APART
#include "tables/stadium/ops.h"
#include "tables/stadium/settle.h"

#define BH_ST(name) BH_NAME(bh_st_##name)
#define FAKE(name) BH_NAME(fake_##name)
#define FAKE_SLOTS                                                                                 \
    (8u << BH_ST_SLOT_SHIFT(BH_KEY_BYTES, BH_VALUE_BYTES)) /* bytes of a word's slots */

static BH_ST(op) FAKE(begin)(const bh__slice *slice, uint32_t at)
{
    const bh_st_geometry *g = slice->geometry;
    BH_ST(op) op = {0};

    op.at = at;
    op.key = ((const BH_KEY *)slice->keys)[at];
    op.hash = bh_hash_key(op.key, &g->seed);
    op.ready = (uint8_t)bh_st_ready(g, &op.hash);
    return op;
}

static void FAKE(tell)(bh__slice *slice, uint8_t *done, uint32_t at, uint8_t outcome)
{
    done[at] = 1;
    if (slice->outcomes)
        slice->outcomes[at] = outcome;
}

/* The elements from `first` to `end` of one line, which a GPU has a copy of: one word after the other, and then what is
 * left. */
static void FAKE(line)(bh__slice *slice, const fake_element *e, uint64_t count,
                       const bh_st_place *place, uint8_t *done)
{
    const uint64_t line = place->line + (e->spot >> 3 & ((1u << REGION_BITS) - 1));
    const uint64_t board = place->part->board + line * 64;
    const uint64_t slots = place->part->slots + line * 8 * FAKE_SLOTS;
    uint64_t bounds = bh_read64(bh_st_at(place->part->bounds + (line & ~7ull)));
    uint32_t most = 0;

    for (uint64_t i = 0; i < count; i++) {
        const uint32_t word = e[i].spot & 7;
        BH_ST(op) op = FAKE(begin)(slice, e[i].at);

        if (BH_ST(settle)(slice, &op, slice->op, board + 8ull * word, slots + word * FAKE_SLOTS))
            FAKE(tell)(slice, done, e[i].at, op.outcome);
    }
    for (uint64_t i = 0; i < count; i++) {
        BH_ST(op) op = FAKE(begin)(slice, e[i].at);
        uint32_t steps;

        if (done[e[i].at])
            continue;
        steps = BH_ST(settle_on)(slice, &op, slice->op, board, slots);
        if (steps == BH_ST_AWAY)
            continue;
        FAKE(tell)(slice, done, e[i].at, op.outcome);
        most = steps > most ? steps : most;
    }
    bounds = bh_st_raised(bounds, (uint64_t)most << line % 8 * 8);
    bh_write64(bh_st_at(place->part->bounds + (line & ~7ull)), bounds);
}

static void FAKE(by_region)(const bh__cuda_job *job, uint8_t *done)
{
    const bh_st_geometry *g = job->slice.geometry;
    const bh_st_regions regions = bh_st_regions_of(g, REGION_BITS);
    const uint64_t n = job->count;
    fake_element *e = malloc((n + 1) * sizeof *e);
    bh__slice slice = job->slice;

    if (!e)
        abort();
    slice.inserted = slice.assigned = 0;
    for (uint64_t i = 0; i < n; i++) {
        const bh_st_spot spot = bh_st_spot_of(g, &regions, ((const BH_KEY *)slice.keys)[i]);

        e[i] = (fake_element){(uint64_t)spot.region << (REGION_BITS + 3) | spot.bucket, (uint32_t)i,
                              0};
    }
    qsort(e, n, sizeof *e, fake_by_spot);
    for (uint64_t first = 0, end; first < n; first = end) {
        const bh_st_place place = bh_st_place_of(g, &regions, e[first].spot >> (REGION_BITS + 3));

        if ((e[first].spot >> 3 & ((1u << REGION_BITS) - 1)) >= place.lines)
            abort();
        for (end = first; end < n && e[end].spot >> 3 == e[first].spot >> 3; end++)
            ;
        FAKE(line)(&slice, e + first, end - first, &place, done);
    }
    job->done->schedule = BH__CUDA_REGIONS;
    job->done->inserted += slice.inserted;
    job->done->assigned += slice.assigned;
    free(e);
}

#undef BH_ST
#undef FAKE
#undef FAKE_SLOTS
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
