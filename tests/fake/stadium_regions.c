/*
 * Insertions region by region (src/tables/stadium/settle.h), one word and then one line after the other. So what is done
 * to words is tested wherever the tests run; how a GPU brings the keys to them is not.
 */
#include "fake/regions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BH_TARGET_SCALAR 1
#include "targets/target.h"

#include "tables/effect.h"
#include "tables/stadium/layout.h"

/* Few lines, so that small tables have many regions, and a last one that is shorter. */
enum { REGION_BITS = 3 };

#define BH_INSTANCE_FILE "fake/stadium_regions_instance.h"
#include "tables/instances.h"

typedef void performer(const bh__cuda_job *job, uint8_t *done);

bool bh_st_fake_by_region(const bh__cuda_job *job, uint32_t key_bytes, uint32_t value_bytes,
                          uint8_t *done)
{
    static performer *const by_region[2][3] = {
        {fake_by_region_k4v0_0, fake_by_region_k4v4_0, fake_by_region_k4v8_0},
        {fake_by_region_k8v0_0, fake_by_region_k8v4_0, fake_by_region_k8v8_0},
    };
    const bh_st_geometry *geometry = job->slice.geometry;
    const uint8_t op = job->slice.op;

    if (job->names || job->slice.ops || job->wanted != BH_SCHEDULE_REGIONS || !BH_OP_INSERTS(op) ||
        BH_OP_WRITES(op) || job->room < job->count || geometry->turnover || geometry->far ||
        geometry->by_slot || geometry->width != 8)
        return false;
    by_region[key_bytes / 8][value_bytes / 4](job, done);
    return true;
}
