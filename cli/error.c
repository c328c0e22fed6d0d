/*
 * Prints the program's one error sentence and exits (see error.h). The sentence is put together in
 * memory and written at once, after the progress line has been cleared; control characters, which
 * only a strange file name can bring in, are shown as '?' so that the sentence stays one line.
 */
#define _POSIX_C_SOURCE 200809L

#include "error.h"

#include "bulkhash/bulkhash.h"
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void report(int exit_status, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static _Noreturn void report(int exit_status, const char *format, va_list arguments)
{
    static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
    char sentence[8192]; /* holds two paths of the longest length that Linux takes, nearly */

    /* Held to the end: a thread that fails while another one does has nothing to add, and exit()
     * is not for two at once. */
    pthread_mutex_lock(&first);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    for (char *c = sentence; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
    progress_clear();
    fprintf(stderr, "bulkhash: %s\n", sentence);
    exit(exit_status);
}

_Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(EXIT_FAILED, format, arguments);
}

_Noreturn void fail_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(EXIT_USAGE, format, arguments);
}

const char *library_error(void)
{
    static char detail[1024];

    snprintf(detail, sizeof detail, "%s", bh_error_detail());
    size_t length = strlen(detail);
    while (length > 0 && (detail[length - 1] == '.' || detail[length - 1] == '\n'))
        detail[--length] = '\0';
    return detail;
}

void finish_standard_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("standard output: cannot be written: %s", strerror(errno));
}
