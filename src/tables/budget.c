/* Bytes and budgets of a table, tier by tier; see budget.h. */
#include "tables/budget.h"

#include "base/error.h"

/* Kinds of memory as options and statistics name them. */
typedef enum kind { DEVICE, HOST, A_FILE } kind;

static kind kind_of(const bh_table *table, bh_tier tier)
{
    switch (tier) {
    case BH_TIER_FILE: return A_FILE;
    case BH_TIER_HOST: return HOST;
    default: return bh__on_device(table->backend) ? DEVICE : HOST;
    }
}

/* What the options say; 0: nothing. */
static uint64_t named_budget(const bh_table *table, bh_tier tier)
{
    const bh_table_options *o = &table->options;
    const uint64_t budgets[] = {o->max_device_bytes, o->max_host_bytes, o->max_file_bytes};

    return budgets[kind_of(table, tier)];
}

static uint64_t budget_of(const bh_table *table, bh_tier tier)
{
    const uint64_t named = named_budget(table, tier);

    return !named && tier == BH_TIER_HOST ? table->backend->far_most : named;
}

int bh__over_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more)
{
    const uint64_t budget = budget_of(table, tier);
    int other;

    /* On cores near memory and the host's are one kind, and share a budget. */
    for (other = 0; other < BH_TIERS; other++)
        if (other != (int)tier && kind_of(table, (bh_tier)other) == kind_of(table, tier))
            kept += table->bytes[other];
    return budget && (more > budget || kept > budget - more);
}

bh_status bh__fail_over(const bh_table *table, bh_tier tier, uint64_t bytes)
{
    static const char *const names[] = {"device", "host", "file"};

    return bh__fail(BH_ERR_FULL, "the table would need %llu bytes, and max_%s_bytes%s allows %llu",
                    (unsigned long long)bytes, names[kind_of(table, tier)],
                    named_budget(table, tier) ? "" : ", which is 0,",
                    (unsigned long long)budget_of(table, tier));
}

bh_status bh__check_budget(const bh_table *table, bh_tier tier, uint64_t kept, uint64_t more)
{
    return bh__over_budget(table, tier, kept, more) ? bh__fail_over(table, tier, kept + more)
                                                    : BH_OK;
}

bh_status bh__table_block(const bh_table *table, const bh__memory *memory, uint64_t bytes,
                          bh__block *block)
{
    uint64_t rounded;
    bh_status status;

    if (!bh__block_bytes(bytes, &rounded))
        return bh__fail(BH_ERR_ARGUMENT, "so large a table cannot be addressed");
    status = bh__check_budget(table, BH_TIER_NEAR, 0, rounded);
    if (!status && !bh__block_create(block, memory, bytes))
        status = bh__fail(BH_ERR_MEMORY, "the system gave no memory for a table of %llu bytes",
                          (unsigned long long)rounded);
    return status;
}

bh_status bh__table_extend(bh_table *table, bh__block *block, uint64_t used, uint64_t bytes)
{
    const bh__backend *backend = table->backend;
    const uint64_t kept = table->bytes[BH_TIER_NEAR] - block->committed;
    uint64_t committed = 0;
    bh__block larger;
    bh_status status;
    int moving;

    if (!bh__block_bytes(bytes, &committed))
        return bh__fail(BH_ERR_FULL, "the table is as large as tables can be");
    /* What could not be given back is there already. */
    if (committed <= block->committed)
        return BH_OK;
    status = bh__check_budget(table, BH_TIER_NEAR, kept, committed);
    if (status)
        return status;
    if (!bh__block_extend(block, &backend->growing, bytes, &moving)) {
        if (!moving || !bh__block_create(&larger, &backend->growing, bytes))
            return bh__fail(BH_ERR_MEMORY,
                            "the system gave no memory to grow a table of %llu bytes by %llu",
                            (unsigned long long)table->bytes[BH_TIER_NEAR],
                            (unsigned long long)(committed - block->committed));
        if (!backend->copy(backend, &larger, block, used, BH_TRY)) {
            bh__block_destroy(&larger, &backend->growing);
            return bh__fail(BH_ERR_DEVICE,
                            "the GPU refused to copy a part of the table; no key has moved");
        }
        bh__note_peak(table, larger.committed);
        bh__block_destroy(block, &backend->growing);
        *block = larger;
    }
    table->bytes[BH_TIER_NEAR] = kept + block->committed;
    bh__note_peak(table, 0);
    return BH_OK;
}

void bh__table_cut(bh_table *table, bh__block *block, uint64_t bytes)
{
    const bh__backend *backend = table->backend;
    const uint64_t kept = table->bytes[BH_TIER_NEAR] - block->committed;
    uint64_t rounded;
    bh__block smaller;

    if (!bh__block_bytes(bytes, &rounded) || rounded >= block->committed)
        return;
    if (!bh__on_device(backend) && block->reserved) {
        bh__block_shrink(block, &backend->growing, bytes);
    } else if (bh__block_create(&smaller, &backend->growing, bytes)) {
        bh__note_peak(table, smaller.committed);
        if (backend->copy(backend, &smaller, block, bytes, BH_TRY)) {
            bh__block larger = *block;

            *block = smaller;
            smaller = larger;
        }
        bh__block_destroy(&smaller, &backend->growing);
    }
    table->bytes[BH_TIER_NEAR] = kept + block->committed;
}

uint64_t bh__bytes_total(const bh_table *table)
{
    uint64_t bytes = 0;
    int tier;

    for (tier = 0; tier < BH_TIERS; tier++)
        bytes += table->bytes[tier];
    return bytes;
}

void bh__note_peak(bh_table *table, uint64_t besides)
{
    const uint64_t bytes = bh__bytes_total(table) + besides;

    if (table->bytes_peak < bytes)
        table->bytes_peak = bytes;
}

void bh__bytes_stats(const bh_table *table, bh_table_stats *stats)
{
    uint64_t bytes[3] = {0, 0, 0};
    int tier;

    for (tier = 0; tier < BH_TIERS; tier++)
        bytes[kind_of(table, (bh_tier)tier)] += table->bytes[tier];
    stats->bytes_device = bytes[DEVICE];
    stats->bytes_host = bytes[HOST];
    stats->bytes_file = bytes[A_FILE];
    stats->bytes_total = bh__bytes_total(table);
    stats->bytes_peak = table->bytes_peak;
}
