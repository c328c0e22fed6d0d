/*
 * A GRAPH from an edge list: duplicates dropped, then breadth-first search, with vertices that are any
 * 32-bit numbers (accounts, addresses, hashes) and are never renumbered.
 *
 *     graph [VERTICES [EDGES]]     2,000,000 and 16,000,000 where nothing is said
 *
 *   duplicates   An edge is one 8-byte key: source in the upper half, target in the lower. In a table without
 *                values bh_insert_new() answers INSERTED for one element of each edge, and that is kept.
 *   neighbours   Edges sorted as numbers lie source by source. A table maps a source to its first edge.
 *   search       A second table maps each vertex that was reached to its distance. For each round, with all
 *                calls on whole arrays:
 *
 *                    frontier -> bh_find(first edge) -> all their targets -> bh_insert_new(distance)
 *                    next frontier: the targets that were INSERTED, for they had not been reached
 */
#include "example.h"

static bh_table *table_for(bh_context *context, uint32_t key_bytes, uint32_t value_bytes)
{
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, key_bytes, value_bytes, 0);
    must(bh_table_create(context, &options, &table));
    return table;
}

/* Keeps one of each edge; answers how many are left, sorted. */
static uint64_t drop_duplicates(bh_context *context, uint64_t *edges, uint64_t n)
{
    bh_table *seen = table_for(context, 8, 0);
    uint8_t *outcomes = array(n, 1);
    uint64_t kept = 0;

    must(bh_insert_new(seen, edges, NULL, n, outcomes));
    for (uint64_t i = 0; i < n; i++) {
        edges[kept] = edges[i];
        kept += outcomes[i] == BH_INSERTED;
    }
    bh_table_destroy(seen);
    free(outcomes);
    must(bh_sort(context, edges, 8, NULL, 0, kept));
    return kept;
}

/* Maps each source to the index of its first edge. */
static bh_table *index_sources(bh_context *context, const uint64_t *edges, uint64_t n)
{
    bh_table *first = table_for(context, 4, 8);
    uint32_t *source = array(n, 4);
    uint64_t *at = array(n, 8), sources = 0;

    for (uint64_t i = 0; i < n; i++) {
        source[sources] = (uint32_t)(edges[i] >> 32);
        at[sources] = i;
        sources += !i || edges[i] >> 32 != edges[i - 1] >> 32;
    }
    must(bh_insert(first, source, at, sources, NULL));
    free(source);
    free(at);
    return first;
}

/* Answers a table of the vertices that `start` reaches, with their distances. */
static bh_table *search(bh_context *context, const uint64_t *edges, uint64_t n, uint32_t start)
{
    bh_table *first = index_sources(context, edges, n), *reached = table_for(context, 4, 4);
    uint32_t *frontier = array(n + 1, 4), *targets = array(n, 4), *distances = array(n, 4);
    uint64_t *at = array(n + 1, 8), count = 1, found;
    uint8_t *outcomes = array(n + 1, 1);

    frontier[0] = start;
    distances[0] = 0;
    must(bh_insert(reached, frontier, distances, 1, NULL));
    for (uint32_t distance = 1; count; distance++) {
        must(bh_find(first, frontier, count, at, outcomes));
        found = 0;
        for (uint64_t i = 0; i < count; i++) {
            if (outcomes[i] != BH_FOUND)
                continue; /* no edge begins here */
            for (uint64_t e = at[i]; e < n && edges[e] >> 32 == frontier[i]; e++) {
                targets[found] = (uint32_t)edges[e];
                distances[found++] = distance;
            }
        }
        must(bh_insert_new(reached, targets, distances, found, outcomes));
        count = 0;
        for (uint64_t i = 0; i < found; i++) {
            frontier[count] = targets[i];
            count += outcomes[i] == BH_INSERTED;
        }
    }
    bh_table_destroy(first);
    free(frontier);
    free(targets);
    free(distances);
    free(at);
    free(outcomes);
    return reached;
}

/* Vertex number v has this name; different ones have different names. */
static uint32_t name_of(uint64_t v)
{
    return (uint32_t)v * UINT32_C(2654435761);
}

/* The same by numbers 0 to vertices - 1, from an array of edges that has duplicates. */
static void check_distances(bh_table *reached, uint64_t vertices, uint64_t edges)
{
    uint32_t *right = array(vertices, 4), *names = array(vertices, 4), *got = array(vertices, 4);
    uint8_t *outcomes = array(vertices, 1);
    int changed = 1;

    for (uint64_t v = 0; v < vertices; v++) {
        right[v] = UINT32_MAX;
        names[v] = name_of(v);
    }
    right[0] = 0;
    for (uint32_t distance = 0; changed; distance++) {
        changed = 0;
        for (uint64_t e = 0; e < edges; e++) {
            const uint64_t from = random_at(e) % vertices, to = random_at(~e) % vertices;

            if (right[from] == distance && right[to] == UINT32_MAX) {
                right[to] = distance + 1;
                changed = 1;
            }
        }
    }
    must(bh_find(reached, names, vertices, got, outcomes));
    for (uint64_t v = 0; v < vertices; v++) {
        agrees((outcomes[v] == BH_FOUND) == (right[v] != UINT32_MAX));
        agrees(outcomes[v] != BH_FOUND || got[v] == right[v]);
    }
    free(right);
    free(names);
    free(got);
    free(outcomes);
}

int main(int argc, char **argv)
{
    const uint64_t vertices = argument(argc, argv, 1, 2000000, UINT32_MAX);
    const uint64_t drawn = argument(argc, argv, 2, 16000000, UINT64_MAX / 16);
    uint64_t *edges = array(drawn, 8), n;
    bh_context *context = NULL;
    bh_table_stats stats;
    bh_table *reached;
    double begun;

    must(bh_context_create("cpu", NULL, &context));
    for (uint64_t e = 0; e < drawn; e++)
        edges[e] =
            (uint64_t)name_of(random_at(e) % vertices) << 32 | name_of(random_at(~e) % vertices);
    begun = seconds();
    n = drop_duplicates(context, edges, drawn);
    printf("%llu edges, %llu different, in %.2f s\n", (unsigned long long)drawn,
           (unsigned long long)n, seconds() - begun);
    begun = seconds();
    reached = search(context, edges, n, name_of(0));
    stats.struct_size = sizeof stats;
    must(bh_table_get_stats(reached, &stats));
    printf("%llu of %llu vertices reached in %.2f s\n", (unsigned long long)stats.keys,
           (unsigned long long)vertices, seconds() - begun);

    for (uint64_t i = 1; i < n; i++)
        agrees(edges[i - 1] < edges[i]);
    check_distances(reached, vertices, drawn);
    printf("checked against a search by numbers\n");

    bh_table_destroy(reached);
    bh_context_destroy(context);
    free(edges);
    return 0;
}
