/*
 * What memory a table may have: max_host_bytes, or max_device_bytes where the table lies in a device's
 * memory. Policies ask before they take a block, so that the sentence and the sums are the same for all
 * designs.
 */
#ifndef BH_TABLES_BUDGET_H
#define BH_TABLES_BUDGET_H

#include "base/error.h"
#include "tables/table.h"

/* In bytes; 0: as much as there is. */
static inline uint64_t bh__budget(const bh_table *table)
{
    const bh_table_options *o = &table->options;

    return bh__is_far(table) ? o->max_device_bytes : o->max_host_bytes;
}

/* Whether `more` bytes beside `used` are over the budget. */
static inline int bh__over_budget(const bh_table *table, uint64_t used, uint64_t more)
{
    const uint64_t budget = bh__budget(table);

    return budget && (more > budget || used > budget - more);
}

/* Says that so many bytes in all are. */
static inline bh_status bh__fail_over_budget(const bh_table *table, uint64_t bytes)
{
    return bh__fail(BH_ERR_FULL, "the table would need %llu bytes, and max_%s_bytes allows %llu",
                    (unsigned long long)bytes, bh__is_far(table) ? "device" : "host",
                    (unsigned long long)bh__budget(table));
}

static inline bh_status bh__check_budget(const bh_table *table, uint64_t bytes)
{
    return bh__over_budget(table, 0, bytes) ? bh__fail_over_budget(table, bytes) : BH_OK;
}

/* A block that is all of a table's memory, or the first of it. */
static inline bh_status bh__table_block(const bh_table *table, bh_pages pages, uint64_t bytes,
                                        bh__block *block)
{
    const bh_system *memory = &table->backend->memory;
    uint64_t rounded;
    bh_status status;

    if (!bh__block_bytes(bytes, &rounded))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, rounded);
    if (!status && !bh__block_create(block, memory, bh__is_far(table) ? BH__PAGES_FAR : pages, bytes))
        status = bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                          (unsigned long long)rounded);
    return status;
}

#endif
