/*
 * How many bytes a table has in each tier, and how many its options allow there. Budgets are checked
 * here alone: a design says how many bytes a tier is about to have. The design itself enters the bytes
 * that it has in bh_table.bytes, and then calls bh__note_peak().
 *
 *     tier          on cores            on a GPU
 *     near          max_host_bytes      max_device_bytes
 *     host          (near memory is     max_host_bytes; where that is 0,
 *                    the host's)        half of the machine's memory
 *     file          max_file_bytes      max_file_bytes
 */
#ifndef BH_TABLES_BUDGET_H
#define BH_TABLES_BUDGET_H

#include "base/error.h"
#include "tables/table.h"

/* Whether a table that keeps `kept` bytes in a tier would exceed its budget with `more` bytes more. */
int bh__over_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more);

/* BH_ERR_FULL, with a sentence that names the budget, for a table that would have `bytes` bytes. */
bh_status bh__fail_over(const bh_table *table, bh_tier tier, uint64_t bytes);

/* bh__over_budget and bh__fail_over in one: BH_OK, or BH_ERR_FULL. */
bh_status bh__check_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more);

/* Creates the block that is all of a table's near memory, or the first part of it: BH_OK, or a failure
 * and its sentence. */
bh_status bh__table_block(const bh_table *table, const bh__memory *memory, uint64_t bytes,
                          bh__block *block);

/*
 * Sees to it that a block of a table's near memory, of which the first `used` bytes are in use, has `bytes`
 * bytes: in place, or as a larger block to which those are copied. BH_OK, or a failure and its sentence;
 * then everything is as it was. Enters the table's bytes.
 */
bh_status bh__table_extend(bh_table *table, bh__block *block, uint64_t used, uint64_t bytes);

/* Gives up the memory of such a block beyond `bytes`, if the system takes it. Memory that can only be freed
 * as a whole (a device's, a small block) is exchanged for a smaller block, if there is one. */
void bh__table_cut(bh_table *table, bh__block *block, uint64_t bytes);

/* The bytes of a table in all tiers. */
uint64_t bh__bytes_total(const bh_table *table);

/* Notes that the table takes the bytes it counts and, for the moment, `besides` more. To be called
 * whenever either number has grown. */
void bh__note_peak(bh_table *table, uint64_t besides);

/* Fills the fields of the statistics that are about memory. */
void bh__bytes_stats(const bh_table *table, bh_table_stats *stats);

#endif
