/* The loop around the pass that copies pairs out; see copy_out.h. */
#include "tables/copy_out.h"

/* Cuts the arrays from a position on into parts; answers how many there are. *before: buckets of the arrays that are left
 * out. */
static uint64_t cut(bh__export *job, const bh__arrays *from, uint64_t at, uint64_t *before)
{
    uint64_t parts = 0, bucket = at / from->places;
    uint32_t i, array = 0;

    for (*before = 0; bucket >= from->array[array].count; array++) {
        bucket -= from->array[array].count;
        *before += from->array[array].count;
    }
    job->first = bucket;
    job->first_slot = (uint32_t)(at % from->places);
    job->arrays = from->count - array;
    for (i = 0; i < job->arrays; i++) {
        job->array[i] = from->array[array + i];
        job->parts[i] = parts;
        parts += (job->array[i].count - (i ? 0 : bucket) + job->part - 1) / job->part;
    }
    return parts;
}

/* Where the first `parts` parts end, as an array and a bucket of it. */
static void end_of(bh__export *job, uint64_t parts)
{
    uint32_t last = job->arrays - 1;
    uint64_t end;

    while (job->parts[last] >= parts)
        last--;
    end = (last ? 0 : job->first) + (parts - job->parts[last]) * job->part;
    job->stop_array = last;
    job->stop = end < job->array[last].count ? end : job->array[last].count;
    job->stop_slot = 0;
}

int bh__export_buckets(bh_table *table, const bh__arrays *from, uint64_t *at, bh__exported *out,
                       bh__need need)
{
    const bh__backend *backend = table->backend;
    const uint64_t part = bh__on_device(backend) ? BH_EXPORT_PART_FAR : BH_EXPORT_PART;
    uint64_t buckets = 0;
    uint32_t i;

    for (i = 0; i < from->count; i++)
        buckets += from->array[i].count;
    while (out->copied < out->room && *at / from->places < buckets) {
        const uint64_t fit = (out->room - out->copied) / (part * from->slots);
        uint64_t parts, before;
        bh__export job;

        job.geometry = table->policy->geometry(table);
        job.part = part;
        parts = cut(&job, from, *at, &before);
        /* Parts run in any order, so only a part that runs alone may meet the end of the room. */
        if (from->pairs > out->room && parts > fit)
            parts = fit ? fit : 1;
        job.keys = (unsigned char *)out->keys + out->copied * table->options.key_bytes;
        job.values = out->values
                         ? (unsigned char *)out->values + out->copied * table->options.value_bytes
                         : NULL;
        job.room = out->room - out->copied;
        job.taken = 0;
        job.stop = 0;
        job.stop_slot = 0;
        job.stop_array = job.arrays;
        if (!backend->pass(backend, table, from->pass, &job, parts, 1, need))
            return 0;
        if (job.stop_array == job.arrays)
            end_of(&job, parts);
        for (i = 0; i < job.stop_array; i++)
            before += job.array[i].count;
        out->copied += job.taken < job.room ? job.taken : job.room;
        *at = (before + job.stop) * from->places + job.stop_slot;
    }
    return 1;
}
