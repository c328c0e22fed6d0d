/*
 * DACHash's chains, walked and counted, for tests that look inside a table on which no call runs. Whoever
 * includes this has included tables/dachash/ops.h for some target and widths.
 */
#ifndef BULKHASH_TESTS_SUPPORT_CHAINS_H
#define BULKHASH_TESTS_SUPPORT_CHAINS_H

#include <stdbool.h>
#include <stdlib.h>

#include "support/check.h"
#include "tables/table.h"

typedef struct chains {
    uint64_t keys;
    uint64_t nodes;    // behind the first ones
    uint64_t longest;  // nodes of a chain
    uint64_t returned; // nodes that have been taken and are free
    uint64_t taken;    // nodes that have been taken from the stack
    uint64_t shelved;  // of those returned
    const char *wrong; // NULL, or what is
} chains;

static inline void chains_walk(const bh_table *table, uint64_t first, chains *count)
{
    const bh_table_options *o = &table->options;
    const bh_da_geometry *g = table->policy->geometry(table);
    const uint32_t head = BH_DA_HEADER(o->key_bytes, o->value_bytes);
    uint64_t node = first, link = 0, nodes = 0;

    if ((bh_load64(bh_da_at(first)) & BH_DA_LOCK) != 0) {
        count->wrong = "a bucket is still locked";
    }
    do {
        const uint64_t header = bh_load64(bh_da_at(node));

        if (((uint32_t)header & ~g->positions & (uint32_t)BH_DA_USED) != 0) {
            count->wrong = "a slot is in use that there is not";
        }
        if (node != first && (header & BH_DA_FREE) != 0) {
            count->wrong = "a node of a chain is free";
        }
        for (uint32_t used = (uint32_t)header & g->positions; used != 0; used &= used - 1) {
            unsigned char *at = bh_da_at(node) + head + bh_first(used) * o->key_bytes;
            const uint64_t key = o->key_bytes == 8 ? bh_load64(at) : bh_load32(at);

            count->keys++;
            if (bh_da_first(g, bh_hash_key(key, &g->seed).one) != first) {
                count->wrong = "a key is in another bucket's chain";
            }
        }
        link = bh_da_link(header);
        // Under AddressSanitizer the scalar target notes no erasures, as on a GPU.
        if (link != 0 && !g->turnover && (~(uint32_t)header & g->positions) != 0 &&
            !TEST_ADDRESS_SANITIZER) {
            count->wrong = "a node that links to another has free slots, and no erasure is noted";
        }
        node = bh_da_node(g, link);
        nodes++;
    } while (link != 0);
    count->nodes += nodes - 1;
    count->longest = nodes > count->longest ? nodes : count->longest;
}

/* The header of a node on the shelf; if the node is not a free one that is seen the first time, says so. */
static inline uint64_t chains_shelved(const bh_da_geometry *g, chains *count, char *seen,
                                      uint64_t number)
{
    uint64_t header = 0;

    if (number < g->first || number - g->first >= count->taken) {
        count->wrong = "the shelf names a node that has not been taken";
        return 0;
    }
    header = bh_load64(bh_da_at(bh_da_node(g, number)));
    if ((header & BH_DA_FREE) == 0) {
        count->wrong = "a node on the shelf is not free";
    } else if (seen[number - g->first]++ != 0) {
        count->wrong = "a node is on the shelf twice";
    }
    count->shelved++;
    return header;
}

/* The lists on the shelf have free nodes, each once. */
static inline void chains_shelf(const bh_da_geometry *g, chains *count)
{
    uint64_t word = bh_load64(bh_da_at(g->nodes + BH_DA_SHELF));
    char *seen = calloc(count->taken + 1, 1);

    while (word != 0 && count->wrong == NULL) {
        const uint64_t first = (uint32_t)word;
        uint64_t number = first;

        for (uint64_t i = 0; i < word >> 32 && count->wrong == NULL; i++) {
            number = bh_da_link(chains_shelved(g, count, seen, number));
        }
        if (count->wrong == NULL) {
            word = bh_load64(bh_da_at(bh_da_node(g, first) + BH_DA_BELOW));
        }
    }
    free(seen);
}

static inline chains chains_count(const bh_table *table)
{
    const bh_da_geometry *g = table->policy->geometry(table);
    chains count = {.taken = bh_load64(bh_da_at(g->nodes + BH_DA_TAKEN))};

    for (uint64_t i = 0; i < g->whole + g->split; i++) {
        chains_walk(table, g->buckets + (i << g->node_shift), &count);
    }
    for (uint64_t i = g->first; i < g->first + count.taken; i++) {
        count.returned += (bh_load64(bh_da_at(bh_da_node(g, i))) & BH_DA_FREE) != 0;
    }
    chains_shelf(g, &count);
    if (count.returned != bh_load64(bh_da_at(g->nodes + BH_DA_RETURNED))) {
        count.wrong = "the stack counts other nodes than are free";
    } else if (count.nodes + count.returned != count.taken) {
        count.wrong = "nodes in chains and returned ones are not those that were taken";
    } else if (BH_BRINGS && !TEST_ADDRESS_SANITIZER && count.shelved != count.returned) {
        count.wrong = "a returned node is not on the shelf";
    } else if (count.keys != table->keys) {
        count.wrong = "other slots are in use than the table counts keys";
    }
    return count;
}

#endif
