/*
 * Stadium hashing's board, walked and counted, for tests that look inside a table on which no call runs. Whoever
 * includes this has included tables/stadium/ops.h for some target and widths.
 */
#ifndef BULKHASH_TESTS_SUPPORT_BOARD_H
#define BULKHASH_TESTS_SUPPORT_BOARD_H

#include "tables/table.h"

typedef struct board {
    uint64_t keys;
    uint64_t erased;   // tickets
    uint64_t farthest; // steps from the beginning of its path at which a key is
    const char *wrong; // NULL, or what is
} board;

static inline uint64_t board_words(const bh_st_geometry *g, const bh_st_part *part)
{
    return g->by_slot ? (part->units + g->group - 1) / g->group : part->units * BH_ST_WORDS;
}

/* How many steps from the beginning of the key's path its slot is, where its path may end no sooner; sets
 * `wrong` where a lookup would not come by. */
static inline uint64_t board_steps_to(const bh_st_geometry *g, uint64_t key, uint64_t number,
                                      uint32_t bit, board *count)
{
    const bh_hash h = bh_hash_key(key, &g->seed);
    const bh_st_part *part = bh_st_part_of(g, &h);
    bh_st_path path = bh_st_begin(part, &h);

    for (;;) {
        const uint64_t word = bh_st_word(g, &path, &h), considered = bh_st_considered(g, &path);

        if (word == number && (considered >> bit & ((1u << g->width) - 1)) != 0) {
            return path.steps;
        }
        if ((bh_st_zeros(g, bh_load64(bh_st_at(part->board + word * 8))) & considered) != 0) {
            count->wrong = "a key is behind a fresh ticket";
        }
        if (bh_st_is_bound(part, bh_st_home(g, part, &h), path.steps)) {
            count->wrong = "a key is behind its bound";
        }
        if (!bh_st_go_on(g, part, &path, &h)) {
            count->wrong = "a key is not on its path";
            return 0;
        }
    }
}

static inline void board_count_word(const bh_table *table, uint32_t p, uint64_t number,
                                    board *count)
{
    const bh_table_options *o = &table->options;
    const bh_st_geometry *g = table->policy->geometry(table);
    const bh_st_part *part = &g->part[p];
    const uint64_t word = bh_load64(bh_st_at(part->board + number * 8));

    for (uint32_t i = 0; i < g->group; i++) {
        const uint32_t bit = i * g->width, ticket = bh_st_ticket(g, word, bit);
        unsigned char *slot = bh_st_at(part->slots + ((number * g->group + i) << g->slot_shift));
        uint64_t key = 0, steps = 0;

        if (ticket <= BH_ST_ERASED) {
            count->erased += ticket;
            continue;
        }
        if (ticket % 2 == 0) {
            count->wrong = "a ticket is claimed still";
            continue;
        }
        key = o->key_bytes == 8 ? bh_load64(slot) : bh_load32(slot);
        count->keys++;
        const bh_hash h = bh_hash_key(key, &g->seed);
        if (bh_st_part_of(g, &h) != part) {
            count->wrong = "a key is in another part";
        } else if (bh_st_ready(g, &h) != ticket) {
            count->wrong = "a ticket is not its key's";
        } else {
            steps = board_steps_to(g, key, number, bit, count);
        }
        count->farthest = steps > count->farthest ? steps : count->farthest;
    }
}

static inline board board_count(const bh_table *table)
{
    const bh_st_geometry *g = table->policy->geometry(table);
    board count = {0};

    for (uint32_t p = 0; p < g->parts; p++) {
        for (uint64_t i = 0; i < board_words(g, &g->part[p]); i++) {
            board_count_word(table, p, i, &count);
        }
    }
    for (uint64_t i = 0; i <= g->lock_mask; i++) {
        if (bh_load64(bh_st_at(g->locks + i * 16)) != 0) {
            count.wrong = "a lock is held still";
        }
    }
    return count;
}

#endif
