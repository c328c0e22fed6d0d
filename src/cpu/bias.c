/* Giving bias and taking it away; see bias.h. */
#include "cpu/bias.h"

/* Threads take turns: it takes more changes in a row until one of them is favoured. */
static void wait_longer(bh_table *table)
{
    if (table->bias_ends < BH_BIAS_ENDS_MOST)
        table->bias_ends++;
}

/* Takes the gate alone and biases the table to the thread with the presence `own`, which calls, if no other one has changed it
 * meanwhile. */
static void favour(bh_table *table, bh__presence *own)
{
    const uint64_t since = bh__enter_alone(table);

    if (!table->biased_to && !bh__advice_load(&table->calls_in_tasks)) {
        if (bh__advice_load(&table->changed_by) == own)
            bh__advice_store(&table->biased_to, own);
        else
            wait_longer(table);
    }
    bh__advice_store(&table->changed_in_a_row, 0);
    bh__leave_alone(table, since);
}

void bh__bias_follow(bh_table *table, bh__presence *own, bh__note note)
{
    if (note == BH_NOTE_FAVOUR)
        favour(table, own);
    if (note == BH_NOTE_STRIPES)
        bh__stripes_give(table);
}

/* `by_another` is 1 if it is another thread that ends it. */
static void end(bh_table *table, int by_another)
{
    const uint64_t since = bh__enter_alone(table);

    if (by_another && table->biased_to)
        wait_longer(table);
    bh__advice_store(&table->biased_to, (bh__presence *)NULL);
    bh__advice_store(&table->changed_by, (bh__presence *)NULL);
    bh__advice_store(&table->changed_in_a_row, 0);
    bh__leave_alone(table, since);
}

void bh__bias_end(bh_table *table)
{
    end(table, 1);
}

void bh__bias_stay_suspended(bh_table *table)
{
    const bh__presence *to = bh__advice_load(&table->biased_to);

    if (to)
        end(table, to != bh__presence_own);
}

void bh__bias_suspend(bh_table *table)
{
    bh__atomic_add(&table->calls_in_tasks, 1, __ATOMIC_RELAXED);
    bh__bias_stay_suspended(table);
}

void bh__bias_resume(bh_table *table)
{
    bh__atomic_subtract(&table->calls_in_tasks, 1, __ATOMIC_RELAXED);
}
