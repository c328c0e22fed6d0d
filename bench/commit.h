/*
 * The commit that the benchmark was built from, for its results: `git describe --always`, with
 * "-dirty" behind it when sources had been changed; "unknown" outside a git work tree.
 *
 * cmake/commit.cmake writes the definition, which is compiled anew after a commit; nothing else is.
 */
#ifndef BH_BENCH_COMMIT_H
#define BH_BENCH_COMMIT_H

extern const char bench_commit[];

#endif
