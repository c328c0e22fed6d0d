/* Giving bias and taking it away; see bias.h. */
#include "cpu/bias.h"

void bh__bias_take(bh_table *table, bh__presence *own)
{
    const uint64_t since = bh__enter_alone(table);

    if (!table->biased_to && bh__advice_load(&table->changed_by) == own)
        bh__advice_store(&table->biased_to, own);
    bh__advice_store(&table->changed_in_a_row, 0);
    bh__leave_alone(table, since);
}

void bh__bias_end(bh_table *table)
{
    const uint64_t since = bh__enter_alone(table);

    bh__advice_store(&table->biased_to, (bh__presence *)NULL);
    bh__advice_store(&table->changed_by, (bh__presence *)NULL);
    bh__advice_store(&table->changed_in_a_row, 0);
    bh__leave_alone(table, since);
}
