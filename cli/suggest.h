/*
 * What a mistyped word was probably meant to be: of the names that are known, the one that the
 * fewest slips turn into it. A slip is a letter too many, missing, wrong, or exchanged with its
 * neighbour.
 */
#ifndef BULKHASH_CLI_SUGGEST_H
#define BULKHASH_CLI_SUGGEST_H

#include <stddef.h>

struct suggestion {
    const char *word; /* as the user wrote it */
    const char *name; /* the nearest so far; NULL: none is near enough */
    size_t slips;     /* between the two; a better name has fewer */
};

void suggestion_init(struct suggestion *suggestion, const char *word);

/* Compares one known name, which must live as long as the suggestion does. Dashes in front and
 * "=VALUE" behind are no part of either. */
void suggestion_consider(struct suggestion *suggestion, const char *name);

/* Says that the word is no such `kind` ("command"), and which name is near, or if none is, that
 * `help` (a command line) lists them; ends the program. `dashes` stands before the name. */
_Noreturn void suggestion_fail(const struct suggestion *suggestion, const char *kind,
                               const char *dashes, const char *help);

#endif
