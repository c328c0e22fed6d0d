/*
 * Finds the nearest name (see suggest.h) by the optimal string alignment distance: a table of the
 * fewest slips between each beginning of one word and each beginning of the other.
 */
#include "suggest.h"

#include "error.h"

#include <string.h>

enum { longest_word = 24 }; /* longer than any name and two slips */

/* The part of a word that is compared; answers its length. */
static size_t core_of(const char **word)
{
    while (**word == '-')
        ++*word;
    return strcspn(*word, "=");
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t count_slips(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t slips[longest_word + 1][longest_word + 1];

    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                slips[i][j] = i + j;
                continue;
            }
            size_t least = slips[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = smaller(least, smaller(slips[i - 1][j], slips[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = smaller(least, slips[i - 2][j - 2] + 1);
            slips[i][j] = least;
        }
    }
    return slips[a_length][b_length];
}

void suggestion_init(struct suggestion *suggestion, const char *word)
{
    size_t length = core_of(&(const char *){word});

    suggestion->word = word;
    suggestion->name = NULL;
    /* One slip in three letters: with more, most short words are near each other. */
    suggestion->slips = (length + 1) / 3 + 1;
}

void suggestion_consider(struct suggestion *suggestion, const char *name)
{
    const char *word = suggestion->word, *core = name;
    size_t word_length = core_of(&word), core_length = core_of(&core);

    if (word_length == 0 || word_length > longest_word || core_length > longest_word)
        return;
    size_t slips = count_slips(word, word_length, core, core_length);
    if (slips < suggestion->slips) {
        suggestion->slips = slips;
        suggestion->name = name;
    }
}

_Noreturn void suggestion_fail(const struct suggestion *suggestion, const char *kind,
                               const char *dashes, const char *help)
{
    if (suggestion->name != NULL)
        fail_usage("%s: no such %s; did you mean '%s%s'?", suggestion->word, kind, dashes,
                   suggestion->name);
    fail_usage("%s: no such %s; see %s", suggestion->word, kind, help);
}
