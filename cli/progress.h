/*
 * The progress line: how far a long count has come, on standard error, only when that is a
 * terminal. It is drawn over itself a few times a second and cleared at the end, so that nothing
 * of it stays.
 */
#ifndef BULKHASH_CLI_PROGRESS_H
#define BULKHASH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the clock. Before this call the other functions do nothing. */
void progress_start(void);

/* Seconds since progress_start(). */
double progress_seconds(void);

/* Whether it is time to draw the line again; false for ever when there is no terminal. */
bool progress_due(void);

/* Draws the line. `done` of `total` bytes of input are read; total 0: not known. `counted` is how
 * many of `noun` ("k-mers") are counted so far, `distinct` how many different ones; UINT64_MAX:
 * not known. */
void progress_draw(uint64_t done, uint64_t total, uint64_t counted, const char *noun,
                   uint64_t distinct);

/* Removes the line from the terminal. */
void progress_clear(void);

#endif
