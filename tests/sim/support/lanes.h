/*
 * What lanes of a GPU do before all else in slices whose elements all do one operation: they act on keys that are there
 * (cuda/device/present.h), and claim places for keys in tables that are for that (cuda/device/claim.h). As there a step
 * works on a copy of its region, which is older than what other lanes have done since. A lane takes one element, and
 * lanes take turns: all regions are brought, then all lanes step.
 *
 * There is a difference: on a GPU a stage ends before the next one begins. Here other slices may be in other stages.
 */
#ifndef BULKHASH_TESTS_SIM_SUPPORT_LANES_H
#define BULKHASH_TESTS_SIM_SUPPORT_LANES_H

#include "tables/table.h"

typedef enum lanes_stage { LANES_PRESENT, LANES_CLAIM } lanes_stage;

/* Answers how many elements are left to later stages, and lists them. */
typedef uint32_t lanes_text(bh__slice *slice, lanes_stage stage);

/* That of tables with these options, or NULL. */
lanes_text *lanes_of(const bh_table_options *o);

#endif
