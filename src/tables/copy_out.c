/* The loop around the pass that copies pairs out; see copy_out.h. */
#include "tables/copy_out.h"

/* Buckets of a part, on cores and on a GPU. */
#define PART 4096u
#define PART_FAR 16u

int bh__export_buckets(bh_table *table, const bh__buckets *array, uint64_t *at, bh__exported *out)
{
    const bh__backend *backend = table->backend;
    const uint64_t part = bh__on_device(backend) ? PART_FAR : PART;

    while (out->copied < out->room && *at / array->places < array->before + array->count) {
        const uint64_t fit = (out->room - out->copied) / (part * array->slots);
        bh__export job;
        uint64_t parts;

        job.geometry = table->policy->geometry(table);
        job.lines = array->lines;
        job.first = *at / array->places - array->before;
        job.first_slot = (uint32_t)(*at % array->places);
        job.part = part;
        parts = (array->count - job.first + part - 1) / part;
        /* Parts run in any order, so only a part that runs alone may meet the end of the room. */
        if (table->keys > out->room && parts > fit)
            parts = fit ? fit : 1;
        job.end = job.first + parts * part;
        job.end = job.end < array->count ? job.end : array->count;
        job.keys = (unsigned char *)out->keys + out->copied * table->options.key_bytes;
        job.values = out->values
                         ? (unsigned char *)out->values + out->copied * table->options.value_bytes
                         : NULL;
        job.room = out->room - out->copied;
        job.taken = 0;
        job.stop = job.end;
        job.stop_slot = 0;
        if (!backend->pass(backend, table, array->pass, &job, parts, 1, BH_TRY))
            return 0;
        out->copied += job.taken < job.room ? job.taken : job.room;
        *at = (array->before + job.stop) * array->places + job.stop_slot;
    }
    return 1;
}
