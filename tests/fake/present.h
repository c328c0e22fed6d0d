/* Changes of keys that are there, which come before all others (cuda/device/present.h). */
#ifndef FAKE_PRESENT_H
#define FAKE_PRESENT_H

#include "cuda/module.h"

/* Acts on the elements of a job whose keys are there, and sets done[i] for those that it has done. */
typedef void fake_present(bh__cuda_job *job, uint8_t *done);

/* What does so for a table with these options; NULL where nothing does. */
fake_present *fake_present_of(const bh_table_options *o);

#endif
