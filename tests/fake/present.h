/* What is done without locks, before all else: changes of keys that are there (cuda/device/present.h), and insertions into
 * tables that are for that (cuda/device/claim.h). */
#ifndef FAKE_PRESENT_H
#define FAKE_PRESENT_H

#include "cuda/module.h"

/* Goes through the elements of a job that are not done, and sets done[i] for those that it has done. */
typedef void fake_alike(const bh__cuda_job *job, uint8_t *done);

typedef struct fake_present {
    fake_alike *change; /* NULL: nothing does so */
    fake_alike *claim;
} fake_present;

/* Those of tables with these options. */
fake_present fake_present_of(const bh_table_options *o);

#endif
