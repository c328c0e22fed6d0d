/* One pair of widths of dycuckoo_regions.c. */
#if BH_APART == BH_DY_APART_BY_DEFAULT(BH_KEY_BYTES, BH_VALUE_BYTES)
#include "tables/dycuckoo/ops.h"
#include "tables/dycuckoo/regions.h"

#define BH_DY(name) BH_NAME(bh_dy_##name)
#define FAKE(name) BH_NAME(fake_##name)
#define BH_DY_BUCKET_BYTES BH_DY_BUCKET(BH_KEY_BYTES, BH_VALUE_BYTES, BH_APART)

static BH_KEY FAKE(key)(const bh__cuda_job *job, const fake_element *e)
{
    return ((const BH_KEY *)job->slice.keys)[e->at];
}

static void FAKE(tell)(bh__slice *slice, uint8_t *done, const fake_element *e, uint8_t outcome)
{
    done[e->at] = 1;
    if (slice->outcomes)
        slice->outcomes[e->at] = outcome;
}

/* The first phase, of the elements of one bucket. Those that are left over come to the front;
 * answers how many. */
static uint64_t FAKE(settle)(const bh__cuda_job *job, bh__slice *slice, fake_element *e,
                             uint64_t count, uint64_t line, uint8_t *done)
{
    const bool has_room = job->room >= job->count || job->done->room_taken + count <= job->room;
    const uint64_t inserted = slice->inserted;
    uint64_t kept = 0;
    _Alignas(64) unsigned char copy[BH_DY_BUCKET_BYTES];
    BH_DY(own) own;

    memcpy(copy, bh_dy_at(line), sizeof copy);
    BH_DY(open)(&own, copy);
    for (uint64_t i = 0; i < count; i++) {
        const BH_VALUE value = (BH_VALUE)bh_value_at(slice->values, BH_VALUE_BYTES, e[i].at);
        uint8_t outcome = BH_NOT_DONE;
        const bh_dy_settled settled = BH_DY(settle)(&own, slice, slice->op, FAKE(key)(job, &e[i]),
                                                    value, e[i].counter, has_room, &outcome);
        bool listed;

        if (settled == BH_DY_SETTLED)
            FAKE(tell)(slice, done, &e[i], outcome);
        listed = settled != BH_DY_LEFT_OVER;
        for (uint64_t j = 0; j < kept && !listed; j++)
            listed = FAKE(key)(job, &e[j]) == FAKE(key)(job, &e[i]);
        if (!listed)
            e[kept++] = e[i];
    }
    BH_DY(close)(&own);
    memcpy(bh_dy_at(line), copy, sizeof copy);
    job->done->room_taken += slice->inserted - inserted + kept;
    return kept;
}

/* The second, of what the bucket has left over. */
static void FAKE(send)(const bh__cuda_job *job, bh__slice *slice, const fake_element *e,
                       uint64_t count, uint64_t line, uint8_t *done)
{
    const bh_dy_geometry *geometry = slice->geometry;
    BH_DY(sending) sending;

    BH_DY(begin_sending)(&sending, line, (job->slice.hints & BH_HINT_TURNOVER) != 0);
    for (uint64_t i = 0; i < count; i++) {
        const BH_VALUE value = (BH_VALUE)bh_value_at(slice->values, BH_VALUE_BYTES, e[i].at);
        bh_dy_sent sent;

        do
            sent = BH_DY(send_away)(geometry, &sending, FAKE(key)(job, &e[i]), value);
        while (sent == BH_DY_NOT_YET);
        job->done->moved |= sent == BH_DY_REPLACED;
        if (sent == BH_DY_NOWHERE) {
            job->done->room_taken--; /* it takes some again */
            continue;
        }
        slice->inserted++;
        FAKE(tell)(slice, done, &e[i], BH_INSERTED);
    }
    bh_write64(bh_dy_at(line), sending.meta);
}

static void FAKE(by_region)(const bh__cuda_job *job, uint8_t *done)
{
    const bh_dy_geometry *geometry = job->slice.geometry;
    const bh_dy_regions regions = bh_dy_regions_of(geometry, REGION_BITS);
    const uint64_t n = job->count;
    fake_element *e = malloc((n + 1) * sizeof *e);
    uint64_t *kept = calloc(n + 1, sizeof *kept);
    bh__slice slice = job->slice;

    if (!e || !kept)
        abort();
    slice.hints = 0;
    slice.inserted = slice.erased = slice.assigned = 0;
    for (uint64_t i = 0; i < n; i++) {
        const bh_dy_spot spot =
            bh_dy_spot_of(geometry, &regions, ((const BH_KEY *)job->slice.keys)[i]);

        e[i] = (fake_element){(uint64_t)spot.region << REGION_BITS | spot.bucket, (uint32_t)i,
                              spot.counter};
    }
    qsort(e, n, sizeof *e, fake_by_spot);
    for (uint32_t phase = 0; phase < 2; phase++) {
        for (uint64_t first = 0, end; first < n; first = end) {
            const uint64_t spot = e[first].spot;
            uint32_t buckets;
            const uint64_t line = bh_dy_region_line(geometry, &regions, spot >> REGION_BITS,
                                                    BH_DY_BUCKET_BYTES, &buckets) +
                                  BH_DY_BUCKET_BYTES * (spot & ((1u << REGION_BITS) - 1));

            if ((spot & ((1u << REGION_BITS) - 1)) >= buckets)
                abort();
            for (end = first; end < n && e[end].spot == spot; end++)
                ;
            if (phase == 0)
                kept[first] = FAKE(settle)(job, &slice, e + first, end - first, line, done);
            else if (kept[first])
                FAKE(send)(job, &slice, e + first, kept[first], line, done);
        }
    }
    job->done->schedule = BH__CUDA_REGIONS;
    job->done->inserted += slice.inserted;
    job->done->assigned += slice.assigned;
    free(e);
    free(kept);
}

#undef BH_DY
#undef FAKE
#undef BH_DY_BUCKET_BYTES
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
