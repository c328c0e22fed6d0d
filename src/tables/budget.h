/*
 * What a table's memory comes to in each tier, and what its options allow there. Budgets are
 * checked here alone: a design says how many bytes a tier is about to have. It enters what it has in
 * bh_table.bytes itself, and calls bh__note_peak() then.
 *
 *     tier          on cores            on a GPU
 *     near          max_host_bytes      max_device_bytes
 *     host          (near memory is     max_host_bytes
 *                    the host's)
 *     file          max_file_bytes      max_file_bytes
 */
#ifndef BH_TABLES_BUDGET_H
#define BH_TABLES_BUDGET_H

#include "base/error.h"
#include "tables/table.h"

/* Whether a table that keeps `kept` bytes in a tier would pass its budget with so many more. */
int bh__over_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more);

/* BH_ERR_FULL, with a sentence that names the budget, for a table that would have so many bytes. */
bh_status bh__fail_over(const bh_table *table, bh_tier tier, uint64_t bytes);

/* Both in one: BH_OK, or BH_ERR_FULL. */
bh_status bh__check_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more);

/* A block that is all of a table's near memory, or the first of it: BH_OK, or a failure and its sentence. */
bh_status bh__table_block(const bh_table *table, const bh__memory *memory, uint64_t bytes,
                          bh__block *block);

/* Of all tiers. */
uint64_t bh__bytes_total(const bh_table *table);

/* The table's memory is what it counts, and for the moment so much more. To be called whenever either
 * has grown. */
void bh__note_peak(bh_table *table, uint64_t besides);

/* Fills the fields of the statistics that are about memory. */
void bh__bytes_stats(const bh_table *table, bh_table_stats *stats);

#endif
