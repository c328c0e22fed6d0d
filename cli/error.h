/*
 * How the program fails: one sentence on standard error, in the form "bulkhash: FILE: what, where;
 * remedy", and an exit status that tells a failed run (1) from a wrong command line (2). The
 * program does one job and then ends, so an error ends it where it is found; whatever must be
 * undone then (a half-written output file) has registered itself with atexit().
 */
#ifndef BULKHASH_CLI_ERROR_H
#define BULKHASH_CLI_ERROR_H

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Both print "bulkhash: ", the sentence and a newline, and exit. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* bh_error_detail() without the full stop, so that it can stand inside a sentence. The buffer is
 * valid until the next call. */
const char *library_error(void);

/* Makes sure that what was printed to standard output has arrived there. */
void finish_standard_output(void);

#endif
