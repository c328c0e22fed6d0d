/*
 * DACHash, passes over all nodes, with the gate held alone: the stack of nodes is packed; export. And where
 * the buckets of keys are. An include-template that ops.h includes.
 *
 * To pack the stack, so that the nodes in use are those before node `end`:
 *
 *     BH_DA_PASS_HOLES   lists the free nodes before `end`
 *     BH_DA_PASS_PACK    moves chains' nodes from `end` on to them; there are as many
 *     BH_DA_PASS_STACK   sets the counts
 *
 * Export reads the array of first nodes and then the nodes of the stack, in the order of memory: nodes that
 * are not in use have no slot in use.
 */

/* BH_DA_PASS_STACK. */
BH_FN void BH_DA(see_stack)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_stack *job = (bh_da_stack *)argument;
    unsigned char *stack = bh_da_at(job->geometry->nodes);

    (void)first;
    (void)count;
    if (job->sets) {
        bh_write64(stack + BH_DA_SHELF, 0);
        bh_write64(stack + BH_DA_RETURNED, job->returned);
        bh_write64(stack + BH_DA_TAKEN, job->taken);
    }
    job->returned = bh_read64(stack + BH_DA_RETURNED);
    job->taken = bh_read64(stack + BH_DA_TAKEN);
    job->shelved = bh_read64(stack + BH_DA_SHELF);
}

/* Lists some free nodes, with one addition: threads that list them one by one wait for each other. */
BH_FN void BH_DA(list_some)(bh_da_pack *job, const uint32_t *found, uint32_t count)
{
    const uint64_t at = bh_take64(&job->listed, count);
    uint32_t i;

    for (i = 0; i < count; i++)
        job->holes[at + i] = found[i];
}

/* BH_DA_PASS_HOLES: an item is a node, from g->first on. Those behind `end` become as good as new. */
BH_FN void BH_DA(list_holes)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_pack *job = (bh_da_pack *)argument;
    const bh_da_geometry *g = job->geometry;
    uint32_t found[BH_DA_BUNCH_MOST], some = 0;
    uint64_t i;

    for (i = g->first + first; i < g->first + first + count; i++) {
        unsigned char *node = bh_da_at(bh_da_node(g, i));

        if (!(bh_read64(node) & BH_DA_FREE))
            continue;
        if (i >= job->end) {
            bh_write64(node, 0);
            continue;
        }
        found[some++] = (uint32_t)i;
        if (some == BH_DA_BUNCH_MOST) {
            BH_DA(list_some)(job, found, some);
            some = 0;
        }
    }
    if (some)
        BH_DA(list_some)(job, found, some);
}

/* BH_DA_PASS_PACK. */
BH_FN void BH_DA(pack_buckets)(void *argument, uint64_t first, uint64_t count)
{
    bh_da_pack *job = (bh_da_pack *)argument;
    const bh_da_geometry *g = job->geometry;
    uint64_t moved = 0, i;

    for (i = first; i < first + count; i++) {
        uint64_t node = g->buckets + (i << g->node_shift), header, link;

        BH_DA(bring_ahead)(g, i, first + count);
        for (; (link = bh_da_link(header = bh_read64(bh_da_at(node)))) != 0;
             node = bh_da_node(g, link)) {
            uint64_t from, to;
            uint32_t word;

            if (link < job->end)
                continue;
            from = bh_da_node(g, link);
            to = bh_da_node(g, job->holes[bh_take64(&job->filled, 1)]);
            for (word = 0; word < 1u << g->node_shift; word += 8)
                bh_write64(bh_da_at(to + word), bh_read64(bh_da_at(from + word)));
            bh_write64(bh_da_at(from), 0);
            link = bh_da_number(g, to);
            bh_write64(bh_da_at(node), (uint32_t)header | link << BH_DA_LINK_SHIFT);
            moved += bh_count((uint32_t)bh_read64(bh_da_at(to)) & g->positions);
        }
    }
    bh_add64(&job->moved, moved);
}

/* BH_DA_PASS_EXPORT, by tables/copy_parts.h: a bucket is a node here, of the array or of the stack. */
BH_FN uint64_t BH_DA(node_out)(const bh_export_part *part, uint64_t number)
{
    return part->lines + (number << ((const bh_da_geometry *)part->geometry)->node_shift);
}

BH_FN const unsigned char *BH_DA(exported_at)(const bh_export_part *part, uint64_t number)
{
    return bh_da_at(BH_DA(node_out)(part, number));
}

BH_FN uint32_t BH_DA(exported)(const bh_export_part *part, uint64_t number)
{
    const bh_da_geometry *g = (const bh_da_geometry *)part->geometry;

    return bh_export_used(part, number,
                          (uint32_t)bh_read64(BH_DA(exported_at)(part, number)) & g->positions);
}

BH_FN const unsigned char *BH_DA(key_out)(const bh_export_part *part, uint64_t number,
                                          uint32_t position)
{
    return BH_DA(key_at)(BH_DA(node_out)(part, number), position);
}

BH_FN const unsigned char *BH_DA(value_out)(const bh_export_part *part, uint64_t number,
                                            uint32_t position)
{
    return BH_DA(value_at)((const bh_da_geometry *)part->geometry, BH_DA(node_out)(part, number),
                           position);
}

#define BH_COPY BH_DA
#include "tables/copy_parts.h"

/* BH_DA_PASS_PLACES: in the middle of a doubling, the new half of the array is there in part. */
BH_FN void BH_DA(find_places)(void *argument, uint64_t first, uint64_t count)
{
    const bh__places *job = (const bh__places *)argument;
    const bh_da_geometry *g = (const bh_da_geometry *)job->geometry;
    const BH_KEY *keys = (const BH_KEY *)job->keys;
    const uint32_t doublings = (uint32_t)g->doublings, doubling = g->split != 0;
    uint64_t i;

    for (i = first; i < first + count; i++) {
        const uint64_t word = bh_hash_key(keys[i], &g->seed).one;

        job->places[i] = (bh_hash_place(word, g->mask, doublings) >> doubling |
                          (uint32_t)(word >> doublings & doubling) << 31) >>
                         (32 - job->bits);
    }
}
