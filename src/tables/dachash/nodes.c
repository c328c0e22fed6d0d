/*
 * DACHash, the stack of nodes. A table has, from the beginning, as many nodes as its keys can be expected to
 * take when it is as full as max_fill allows; the stack grows when the array of buckets does, or by an eighth
 * when chance, a poor hash or erasures have used it up. Before that, where many keys have been erased, nodes that chains could
 * do without are won back (bh__da_clean). On cores slices take these from the shelf; on a GPU the stack is packed first
 * (bh__da_pack), as it is where memory is given back.
 */
#include "tables/dachash/policy.h"

#include "base/system.h"
#include "storage/temporary.h"

/* The square root, rounded up a little. */
static double root(double of)
{
    double x = of > 1 ? of : 1;
    int i;

    for (i = 0; i < 64 && x * x > of * 1.0001; i++)
        x = (x + of / x) / 2;
    return x;
}

/*
 * Keys fall into buckets as if drawn: with m of them on average, k are in a bucket with the probability
 * m^k / k! / e^m (Poisson). A bucket of k keys takes ceil(k / slots) nodes.
 */
uint64_t bh__da_nodes_for(uint64_t keys, uint64_t buckets, uint32_t slots)
{
    const double mean = (double)keys / (double)buckets;
    double weight = 1, all = 1, nodes = 0, squares = 0, more;
    uint32_t k;

    if (!keys)
        return 0;
    for (k = 1; (double)k < mean || weight > all * 1e-12; k++) {
        weight *= mean / k;
        all += weight;
        more = k > slots ? (double)((k - 1) / slots) : 0;
        nodes += weight * more;
        squares += weight * more * more;
    }
    nodes /= all;
    squares /= all;
    return (uint64_t)(nodes * (double)buckets +
                      6 * root((squares - nodes * nodes) * (double)buckets) + 1);
}

uint64_t bh__da_stack_bytes(const bh_da_geometry *g, uint64_t nodes)
{
    uint64_t bytes;

    return nodes <= BH_DA_STACK_MOST && bh__block_bytes((g->first + nodes) << g->node_shift, &bytes)
               ? bytes
               : 0;
}

/* Reads the stack's words; answers 0 when a GPU refused to. */
static int see(const bh__da_table *t, bh_da_stack *stack)
{
    const bh_table *table = &t->table;

    stack->geometry = &t->geometry;
    return table->backend->pass(table->backend, table, BH_DA_PASS_STACK, stack, 1, 1, BH_TRY);
}

int bh__da_nodes_used(const bh__da_table *t, uint64_t *used)
{
    bh_da_stack stack = {&t->geometry, 0, 0, 0, 0};

    if (!see(t, &stack))
        return 0;
    *used = stack.taken - stack.returned;
    return 1;
}

bh_status bh__da_have_nodes(bh__da_table *t, uint64_t nodes)
{
    const bh_da_geometry *g = &t->geometry;
    const uint64_t bytes = bh__da_stack_bytes(g, nodes);
    const uint64_t used = bh__da_stack_bytes(g, g->nodes_most);
    bh_status status;

    if (nodes <= g->nodes_most)
        return BH_OK;
    if (!bytes)
        return bh__fail(BH_ERR_FULL, "the table has as many nodes as links can name");
    status = bh__da_extend(t, &t->nodes, used, bytes);
    /* Whole pages: what fits in them is there. */
    if (!status)
        bh__da_publish(t);
    return status;
}

bh_status bh__da_have_free(bh__da_table *t, uint64_t wanted)
{
    bh_da_stack stack = {&t->geometry, 0, 0, 0, 0};
    const uint64_t eighth = t->geometry.nodes_most / 8;
    bh_status status = BH_OK;
    uint64_t shelved; /* on cores all returned nodes are */

    if (!see(t, &stack))
        return bh__da_refused("to say how many nodes are free");
    shelved = stack.shelved ? stack.returned : 0;
    if (t->geometry.nodes_most - stack.taken + shelved >= wanted)
        return BH_OK;
    /* Packing reads all first nodes: not for a few, unless there is no other way. */
    if (stack.returned <= eighth || stack.returned <= wanted) {
        status = bh__da_have_nodes(t, stack.taken + (wanted > eighth ? wanted : eighth));
        if (status)
            status = bh__da_have_nodes(t, stack.taken + wanted - shelved);
        /* Packing would find no more than there is on the shelf. */
        if (!status || !stack.returned || shelved)
            return status;
    }
    bh__da_pack(t, UINT64_MAX);
    if (!see(t, &stack))
        return bh__da_refused("to say how many nodes are free");
    return t->geometry.nodes_most - stack.taken >= wanted ? BH_OK
           : status                                       ? status
                    : bh__da_have_nodes(t, stack.taken + wanted);
}

int bh__da_clean(bh__da_table *t, int all)
{
    bh_table *table = &t->table;
    bh_da_chains job = {&t->geometry, 0, 0, (uint64_t)all};

    if (!table->backend->pass(table->backend, table, BH_DA_PASS_CLEAN, &job,
                              bh__da_buckets(&t->geometry), BH_DA_PASS_ITEMS, BH_TRY))
        return 0;
    table->erases = 0;
    table->changes++;
    return 1;
}

void bh__da_cut_stack(bh__da_table *t, uint64_t keep)
{
    if (keep < t->geometry.nodes_most) {
        bh__table_cut(&t->table, &t->nodes, bh__da_stack_bytes(&t->geometry, keep));
        bh__da_publish(t);
    }
}

void bh__da_pack(bh__da_table *t, uint64_t keep)
{
    bh_table *table = &t->table;
    const bh__backend *backend = table->backend;
    bh_da_geometry *g = &t->geometry;
    bh_da_stack stack = {g, 0, 0, 0, 0};
    bh_da_pack job = {g, 0, 0, 0, 0, 0};
    bh__temporary memory;
    uint64_t taken;

    if (!see(t, &stack))
        return;
    if (stack.returned) {
        if (!bh__temporary_take(&memory, &backend->memory, stack.returned * sizeof *job.holes))
            return;
        job.holes = (uint32_t *)(void *)memory.memory;
        taken = stack.taken;
        stack.sets = 1;
        stack.taken -= stack.returned;
        stack.returned = 0;
        job.end = g->first + stack.taken;
        /* Once begun, it is carried to its end: otherwise nodes would be lost. */
        (void)backend->pass(backend, table, BH_DA_PASS_HOLES, &job, taken, BH_DA_PASS_ITEMS,
                            BH_MUST);
        (void)backend->pass(backend, table, BH_DA_PASS_PACK, &job, bh__da_buckets(g),
                            BH_DA_PASS_ITEMS, BH_MUST);
        (void)backend->pass(backend, table, BH_DA_PASS_STACK, &stack, 1, 1, BH_MUST);
        bh__temporary_give(&memory, &backend->memory);
        table->keys_moved += job.moved;
        table->changes++;
    }
    bh__da_cut_stack(t, keep > stack.taken ? keep : stack.taken);
}
