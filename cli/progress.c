/*
 * Draws the progress line (see progress.h): carriage return, the text, and the control sequence
 * "erase to the end of the line", which every terminal but a "dumb" one knows.
 */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double seconds_between_drawings = 0.1;

static struct timespec start_time;
static bool on_terminal;
static bool visible;
static double next_drawing;

void progress_start(void)
{
    const char *terminal = getenv("TERM");

    clock_gettime(CLOCK_MONOTONIC, &start_time);
    on_terminal = isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    next_drawing = seconds_between_drawings;
}

double progress_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start_time.tv_sec) +
           (double)(now.tv_nsec - start_time.tv_nsec) * 1e-9;
}

bool progress_due(void)
{
    return on_terminal && progress_seconds() >= next_drawing;
}

void progress_draw(uint64_t done, uint64_t total, uint64_t counted, const char *noun,
                   uint64_t distinct)
{
    double seconds = progress_seconds();

    fputc('\r', stderr);
    if (total > 0)
        fprintf(stderr, "%3.0f%%", 100.0 * (double)done / (double)total);
    else
        fprintf(stderr, "%.0f MB", (double)done * 1e-6);
    fprintf(stderr, ", %.1f M %s/s", (double)counted * 1e-6 / seconds, noun);
    if (distinct != UINT64_MAX)
        fprintf(stderr, ", %" PRIu64 " distinct", distinct);
    fputs("\033[K", stderr);
    fflush(stderr);
    visible = true;
    next_drawing = seconds + seconds_between_drawings;
}

void progress_clear(void)
{
    if (visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        visible = false;
    }
}
