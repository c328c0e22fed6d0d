/*
 * A GRAPH from an edge list: duplicates dropped, then breadth-first search, with vertices that are any
 * 32-bit numbers (accounts, addresses, hashes) and are never renumbered.
 *
 *     graph [VERTICES [EDGES [TIMES]]]     2,000,000 and 16,000,000, once, where nothing is said
 *
 *   edges        An edge is one 8-byte number: source in the upper half, target in the lower. bh_sort()
 *                brings equal ones together, of which one is kept, and those of a source.
 *   neighbours   A table maps a source to its first edge.
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

/* Answers how many different edges there are; *edges receives them, sorted. */
static uint64_t different_edges(bh_context *context, const uint64_t *given, uint64_t n,
                                uint64_t **edges)
{
    uint64_t *e = array(n, 8), kept = 0;

    memcpy(e, given, n * 8);
    must(bh_sort(context, e, 8, NULL, 0, n));
    for (uint64_t i = 0; i < n; i++) { /* without branches: each is written, some stay */
        e[kept] = e[i];
        kept += i + 1 == n || e[i] != e[i + 1];
    }
    *edges = e;
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

static void report_vertices(bh_table *reached)
{
    bh_table_stats stats = {.struct_size = sizeof stats};
    uint32_t *vertices, *distances;
    uint64_t position = 0, part, all = 0, digest = 0;

    must(bh_table_get_stats(reached, &stats));
    vertices = array(stats.keys, 4);
    distances = array(stats.keys, 4);
    do {
        must(bh_export(reached, &position, vertices + all, distances + all, stats.keys - all,
                       &part));
        all += part;
    } while (part);
    for (uint64_t v = 0; v < all; v++)
        digest += mixed(vertices[v], distances[v]);
    report_answer("search", all, "vertices reached", digest);
    free(vertices);
    free(distances);
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
    const uint64_t times = argument(argc, argv, 3, 1, 1000);
    uint64_t *given = array(drawn, 8), *edges = NULL, n = 0, digest = 0;
    bh_context *context = NULL;
    bh_table *reached = NULL;
    costs begun;

    must(bh_context_create("cpu", NULL, &context));
    for (uint64_t e = 0; e < drawn; e++)
        given[e] =
            (uint64_t)name_of(random_at(e) % vertices) << 32 | name_of(random_at(~e) % vertices);

    for (uint64_t i = 0; i < times; i++) {
        free(edges);
        begun = measure();
        n = different_edges(context, given, drawn, &edges);
        report_costs("edges", spent_since(begun));
    }
    for (uint64_t e = 0; e < n; e++)
        digest += random_at(edges[e]);
    report_answer("edges", n, "different", digest);

    for (uint64_t i = 0; i < times; i++) {
        bh_table_destroy(reached);
        begun = measure();
        reached = search(context, edges, n, name_of(0));
        report_costs("search", spent_since(begun));
    }
    report_vertices(reached);

    for (uint64_t i = 1; i < n; i++)
        agrees(edges[i - 1] < edges[i]);
    check_distances(reached, vertices, drawn);
    printf("checked against a search by numbers\n");

    bh_table_destroy(reached);
    bh_context_destroy(context);
    free(given);
    free(edges);
    return 0;
}
